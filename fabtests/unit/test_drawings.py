#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Holds the drawings of doc/protocol-overview.md and the script that makes them together: the files
in doc/drawings/ are what ladders.py writes, and the overview shows each of them. Started by
`make check`, or by hand from anywhere."""

import os
import re
import subprocess
import sys
import tempfile
from xml.etree import ElementTree

sys.dont_write_bytecode = True  # the tree stays as it is
# pylint: disable=wrong-import-position
from tree import TOP, check, end, read


def written():
    """{name: text} of what the script makes."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-B", os.path.join(TOP, "doc/drawings/ladders.py"), folder],
                       check=True)
        found = {}
        for name in sorted(os.listdir(folder)):
            with open(os.path.join(folder, name), encoding="utf-8") as source:
                found[name] = source.read()
        return found


def main():
    drawings = written()
    shown = re.findall(r"!\[.*?\]\(drawings/(.*?)\)", read("doc/protocol-overview.md"))
    check("drawings that the overview shows", sorted(shown) == sorted(drawings),
          "%s, made are %s" % (shown, list(drawings)))
    for name, text in drawings.items():
        path = "doc/drawings/" + name
        there = os.path.exists(os.path.join(TOP, path))
        check(path, there and read(path) == text, "run doc/drawings/ladders.py")
        size = ElementTree.fromstring(text).get("viewBox").split()
        outside = [place.get("x") for place in ElementTree.fromstring(text).iter()
                   if place.tag.endswith("text") and not 0 < float(place.get("x")) < float(size[2])]
        check("%s: all words begin within the drawing" % name, not outside, outside)
    return end()


if __name__ == "__main__":
    sys.exit(main())
