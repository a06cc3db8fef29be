#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Holds the rule for names of functions: the name of an extern function begins with the name of its
file, so that a reader finds it. Static functions in the packet path have names of their own, so
that perf and gdb name one place. Started by `make check`, or by hand from anywhere."""

import collections
import glob
import os
import re
import sys

sys.dont_write_bytecode = True  # the tree stays as it is
# pylint: disable=wrong-import-position
from tree import TOP, check as check_one, end, read

# What the name of an extern function may begin with: {} is the file, then its folder.
PREFIXES = {
    "common/*": ("gamma_{0}", "gamma_{1}_{0}"),
    "prov/gamma/src": ("gamma_{0}", "gamma_prov_{0}"),
    "gammad": ("{0}", "gammad_{0}"),
    "ompi-mca/btl_gamma": ("btl_gamma_{0}", "mca_btl_gamma_{0}"),
    "ompi-mca/coll_gamma": ("coll_gamma_{0}",),
}
# Names that libfabric, Open MPI or the C library ask for.
DEMANDED = {"main", "fi_prov_ini"}

PACKET_PATH = ("flow", "message", "engine", "link", "shm")
VERBS = set("""
    accept add answer arm ask begin call check claim close collect copy count drain drop end enter
    explain fail feed fill find finish flush follow free get give grow handle heard init insert
    join keep load look make map mark match meet move next notify open peek poll post press
    progress publish pull push put read receive refuse refused reject release remove report reset
    resume run say send serve set settle start stop take tell try unmap update wait wake warn work
    write""".split())

FUNCTION = re.compile(r"^(?P<type>[A-Za-z_][^\n;={}#]*?)\b(?P<name>[a-z]\w*)\((?P<args>[^;{}]*)\)\n"
                      r"\{", re.M)


def functions(path):
    """(name, is static) of each function that a file defines."""
    code = re.sub(r"/\*.*?\*/", "", read(path), flags=re.S)
    code = re.sub(r"^#(?:.*\\\n)*.*$", "", code, flags=re.M)
    code = re.sub(r"__attribute__\(\(.*?\)\) ", "", code)
    for found in FUNCTION.finditer(code):
        yield found["name"], "static" in found["type"].split()


def files(folder):
    paths = sorted(glob.glob(os.path.join(TOP, folder, "*.c")))
    assert paths, folder
    return [os.path.relpath(path, TOP) for path in paths if not path.endswith(".bpf.c")]


def check(what, wrong):
    check_one(what, not wrong, "\n    ".join(["", *wrong]))


def begins_with(name, prefix):
    return name == prefix or name.startswith(prefix + "_")


def check_prefixes():
    for folder, prefixes in PREFIXES.items():
        wrong = []
        for path in files(folder):
            stem = os.path.basename(path)[:-len(".c")]
            allowed = [p.format(stem, os.path.basename(os.path.dirname(path))) for p in prefixes]
            if stem == "gammad":
                allowed = ["gammad"]
            wrong += ["%s: %s, not %s..." % (path, name, allowed[0])
                      for name, static in functions(path)
                      if not static and name not in DEMANDED and
                      not any(begins_with(name, prefix) for prefix in allowed)]
        check("extern functions of %s begin with the name of their file" % folder, wrong)


def check_packet_path():
    places = collections.defaultdict(list)
    for folder in PACKET_PATH:
        for path in files("common/" + folder):
            for name, static in functions(path):
                # One for each processor in one file is one name.
                if static and path not in places[name]:
                    places[name].append(path)
    check("static functions of the packet path are named by verb and object",
          ["%s: %s" % (", ".join(places[name]), name) for name in sorted(VERBS & set(places))])
    check("static functions of the packet path have names of their own",
          ["%s: %s" % (name, ", ".join(paths)) for name, paths in sorted(places.items())
           if len(paths) > 1])


def main():
    check_prefixes()
    check_packet_path()
    return end()


if __name__ == "__main__":
    sys.exit(main())
