#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Holds the layers of doc/architecture.md: a folder of common/ includes only what is below it or
beside it, the protocol asks neither clock nor system, and Open MPI's component knows libfabric and
hardly anything of common/. Started by `make check`, or by hand from anywhere."""

import glob
import os
import re
import sys

sys.dont_write_bytecode = True  # the tree stays as it is
# pylint: disable=wrong-import-position
from tree import TOP, check as check_one, end, read

# What each folder of common/ may include besides its own files.
MAY = {
    "wire": set(),
    "base": {"wire"},
    "unix": {"base", "wire"},
    "broker": {"base", "wire"},
    "conf": {"base", "wire"},
    "nic": {"base", "wire", "unix", "conf"},
    "link": {"base", "wire", "unix", "broker"},
    "shm": {"base", "wire", "unix", "link"},
    "flow": {"base", "wire"},
    "message": {"base", "wire", "flow"},
    "group": {"base", "wire", "message"},
    "engine": {"base", "wire", "unix", "broker", "conf", "nic", "link", "shm", "flow", "message",
               "group"},
}
# Sans I/O: functions of (state, frame, now).
PURE = ("wire", "flow", "message", "group")
PURE_HEADERS = {
    "arm_acle.h", "arpa/inet.h", "complex.h", "errno.h", "immintrin.h", "pthread.h", "stdbool.h",
    "stddef.h", "stdint.h", "stdio.h", "stdlib.h", "string.h", "sys/uio.h",
}
IMPURE_CALLS = ("gamma_clock_ns", "gamma_now", "clock_gettime", "getrandom", "rand")
COMPONENT_MAY = {"base/topology.h", "wire/address.h"}


def check(what, wrong):
    check_one(what, not wrong, "\n    ".join(["", *wrong]))


def sources(folder):
    paths = sorted(glob.glob(os.path.join(TOP, folder, "*.[ch]")))
    assert paths, folder
    for path in paths:
        name = os.path.relpath(path, TOP)
        yield name, read(name)


def includes(code, marks):
    return re.findall(r"^#include %s([^%s]+)" % (marks[0], marks[1]), code, flags=re.M)


def below_of(folder):
    """All folders that one may include, directly or through others."""
    found, new = set(), set(MAY[folder])
    while new:
        found |= new
        new = {name for other in new for name in MAY[other]} - found
    return found


def check_common():
    folders = {os.path.basename(os.path.dirname(path))
               for path in glob.glob(os.path.join(TOP, "common/*/*.[ch]"))}
    check("folders of common/", folders ^ set(MAY))
    check("the layers are a strict partial order",
          ["%s may include itself through another folder" % folder
           for folder in MAY if folder in below_of(folder)])
    for folder, below in MAY.items():
        check("common/%s includes what is below it" % folder,
              ["%s includes %s" % (path, name) for path, code in sources("common/" + folder)
               for name in includes(code, '""') if name.split("/")[0] not in below | {folder}])


def check_pure():
    calls = re.compile(r"\b(%s)\(" % "|".join(IMPURE_CALLS))
    for folder in PURE:
        check("common/%s does no I/O" % folder,
              ["%s includes <%s>" % (path, name) for path, code in sources("common/" + folder)
               for name in includes(code, "<>") if name not in PURE_HEADERS] +
              ["%s calls %s" % (path, name) for path, code in sources("common/" + folder)
               for name in calls.findall(code)])


def check_component():
    for folder in ("ompi-mca/btl_gamma", "ompi-mca/coll_gamma"):
        check("%s knows libfabric alone" % folder,
              ["%s includes %s" % (path, name) for path, code in sources(folder)
               for name in includes(code, '""')
               if name.split("/")[0] in MAY and name not in COMPONENT_MAY])
    check("ompi-mca/coll_gamma knows of btl_gamma the door alone",
          ["%s includes %s" % (path, name) for path, code in sources("ompi-mca/coll_gamma")
           for name in includes(code, '""')
           if "btl_gamma" in name and name != "btl_gamma/collective.h"])


def main():
    check_common()
    check_pure()
    check_component()
    return end()


if __name__ == "__main__":
    sys.exit(main())
