#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""contrib/in-tree/lay-out: what it puts into another project's tree is complete. The trees are
stubs; fabtests/functional/test_in_tree.sh builds real ones. Started by `make check`, or by hand
from anywhere."""

import filecmp
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the tree stays as it is
# pylint: disable=wrong-import-position
from tree import TOP, check, end, read

LIBFABRIC = {"configure.ac": "FI_PROVIDER_SETUP([udp])\n",
             "Makefile.am": "include prov/udp/Makefile.include\n",
             "include/ofi_prov.h": "#if (HAVE_UDP)\nUDP_INI ;\n#endif\n",
             "src/fabric.c": "\tofi_register_provider(UDP_INIT, NULL);\n",
             "man/man7/fi_udp.7": ""}
# Open MPI by its release: a file of the top folder shows it.
OPENMPI = {release: {"VERSION": f"major={release}\n", "opal/mca/btl/btl.h": ""}
           for release in (4, 5)}
COMPONENTS = ("opal/mca/btl/gamma", "ompi/mca/coll/gamma")


def make_stub(folder, files):
    """A source tree with what lay-out looks at."""
    for name, text in files.items():
        os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)


def lay_out(project, folder):
    """Runs it; true if it succeeds."""
    return subprocess.run([os.path.join(TOP, "contrib/in-tree/lay-out"), project, folder],
                          stdout=subprocess.DEVNULL, check=False).returncode == 0


def files_below(folder):
    """Paths from there."""
    return {os.path.relpath(os.path.join(place, name), folder)
            for place, _, names in os.walk(folder) for name in names}


def text_of(folder, name):
    """A file's text."""
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return file.read()


def own_headers():
    """Headers of this tree, by the ends of their paths: files are included by these."""
    ends = set()
    for part in ("common", "prov", "ompi-mca"):
        for name in files_below(os.path.join(TOP, part)):
            if name.endswith(".h"):
                words = name.split("/")
                ends |= {"/".join(words[at:]) for at in range(len(words))}
    return ends


def missing_headers(folder, roots):
    """Headers of this tree that the files include, and that no folder of roots has."""
    own = own_headers()
    for name in sorted(files_below(folder)):
        if not name.endswith((".c", ".h")):
            continue
        for header in re.findall(r'^\s*#\s*include\s+["<]([^">]+)', text_of(folder, name), re.M):
            places = [os.path.dirname(name), *roots]
            if header in own and not any(
                    os.path.exists(os.path.join(folder, place, header)) for place in places):
                yield f"{name} includes {header}"


def listed(makefile, prefix=""):
    """The sources that a makefile names, without their folder."""
    return {name.removeprefix(prefix)
            for name in re.findall(r"^\t([\w./-]+\.[ch])\b", makefile, re.M)}


def check_complete(what, folder, roots, makefile, prefix=""):
    """All that is included is there, and the makefile names all that is there."""
    missing = list(missing_headers(folder, roots))
    check(f"{what}: headers", not missing, ", ".join(missing))
    sources = {name for name in files_below(folder) if name.endswith((".c", ".h"))}
    text = text_of(folder, makefile)
    check(f"{what}: sources of its makefile", listed(text, prefix) == sources,
          " ".join(sorted(listed(text, prefix) ^ sources)))
    left = re.findall(r"@(?!OMPI_|OPAL_)\w+@", text + text_of(folder, "configure.m4"))
    check(f"{what}: filled in", not left, " ".join(left))


def check_same(what, project, folder):
    """A second run changes nothing."""
    before = tempfile.mkdtemp(dir=os.path.dirname(folder))
    subprocess.run(["cp", "-a", f"{folder}/.", before], check=True)
    check(f"{what}: twice", lay_out(project, folder))
    names = files_below(before) | files_below(folder)
    different = filecmp.cmpfiles(before, folder, names, shallow=False)
    check(f"{what}: a second run changes nothing", not different[1] + different[2],
          " ".join(different[1] + different[2]))


def check_libfabric(work):
    """The provider: with each source that this project's own makefiles build it of."""
    folder = os.path.join(work, "libfabric")
    make_stub(folder, LIBFABRIC)
    check("libfabric", lay_out("libfabric", folder))
    provider = os.path.join(folder, "prov/gamma")
    check_complete("libfabric", provider, ("common", "src", "include"), "Makefile.include",
                   "prov/gamma/")
    makefiles = read("prov/gamma/Makefile.include") + read("common/Makefile.include")
    built = {name.removeprefix("prov/gamma/")
             for name in re.findall(r"(?:prov/gamma/src|common)/[\w./-]+\.c\b", makefiles)}
    lost = built - files_below(provider) - {"common/base/about.c"}
    check("libfabric: all that is built", not lost and len(built) > 100, " ".join(sorted(lost)))
    for name in set(LIBFABRIC) - {"man/man7/fi_udp.7"}:
        check(f"libfabric: {name}", "gamma" in text_of(folder, name).lower())
    check_same("libfabric", "libfabric", folder)


def check_openmpi(work, release):
    """Both components."""
    what = f"Open MPI {release}"
    folder = os.path.join(work, f"openmpi{release}")
    make_stub(folder, OPENMPI[release])
    check(what, lay_out("openmpi", folder))
    for place in COMPONENTS:
        check_complete(f"{what}: {place}", os.path.join(folder, place), (".",), "Makefile.am")
    check_same(what, "openmpi", folder)


def check_flags():
    """What this project's own makefiles link the components with."""
    laid = read("contrib/in-tree/openmpi-Makefile.am.in")
    library = re.search(r"^mca_\S+_la_LDFLAGS = (.*)$", laid, re.M).group(1)
    for name in ("btl", "coll"):
        own = read(f"ompi-mca/{name}_gamma/Makefile.include")
        for flag in re.findall(r"-Wl,-z,\w+", own):
            check(f"{name} in Open MPI's tree: {flag}", flag in library)


def main():
    """All trees."""
    with tempfile.TemporaryDirectory() as work:
        check_libfabric(work)
        for release in OPENMPI:
            check_openmpi(work, release)
    check_flags()
    return end()


if __name__ == "__main__":
    sys.exit(main())
