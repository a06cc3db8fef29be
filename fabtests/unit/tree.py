# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""For tests that read the tree instead of running it: where it is, and what held of it."""

import os

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.environ.get("top_srcdir") or os.path.join(HERE, "../..")
results = {"passed": 0, "failed": 0}


def read(path):
    """A file of the tree, by its path in it."""
    with open(os.path.join(TOP, path), encoding="utf-8") as source:
        return source.read()


def check(what, holds, detail=""):
    results["passed" if holds else "failed"] += 1
    if not holds:
        print("NOT OK: %s%s" % (what, detail and ": " + detail))


def end():
    """The last line, and the program's exit status."""
    print("%(passed)d passed, %(failed)d failed" % results)
    return 1 if results["failed"] else 0
