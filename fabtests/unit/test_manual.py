#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Holds the manual pages and the code together: fi_gamma(7) names every FI_GAMMA_ variable with
its default and every counter, gammaping(8) every option, btl_gamma(7) every parameter; mandoc and
groff, if they are there, find no fault. Started by `make check`, or by hand from anywhere."""

import glob
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True  # the tree stays as it is
# pylint: disable=wrong-import-position
from tree import TOP, check, end, read


def section(page, title):
    return re.search(r"^\.Sh %s\n(.*?)(?=^\.Sh )" % title, page, flags=re.S | re.M).group(1)


def entries(text, macro):
    """{what an .It line names: what stands below it}"""
    parts = re.split(r"^\.It %s (\S+).*\n" % macro, text, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def settings(code):
    """{variable: default as the help text gives it}; the texts stand between name and '},'."""
    found = {}
    rows = re.findall(r'\{(NUMBER\(\w+\)|"\w+",\s+offsetof)(.*?)\},\n', code, flags=re.S)
    for name, rest in rows:
        name = re.search(r'NUMBER\((\w+)\)|"(\w+)"', name)
        text = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', rest))
        default = re.search(r"\(default: ([^)]*)\)", text)
        found["FI_GAMMA_" + (name.group(1) or name.group(2)).upper()] = \
            default.group(1) if default else ""
    return found


def check_settings(page):
    code = read("prov/gamma/src/settings.c")
    declared = settings(code)
    documented = entries(section(page, "RUNTIME PARAMETERS"), "Ev")
    check("variables of settings.c and fi_gamma(7) are the same",
          set(declared) == set(documented), str(set(declared) ^ set(documented)))
    for name in sorted(set(declared) & set(documented)):
        text = " ".join(documented[name].split())
        simple = re.fullmatch(r"[\w.]+", declared[name])
        check(name + ": default", not simple or "Default: %s." % declared[name] in text,
              "settings.c says " + declared[name])
    known = re.search(r"names\[\] = \{(.*?)\};", read("common/base/variables.c"),
                      flags=re.S).group(1)
    known = {"FI_GAMMA_" + name for name in re.findall(r'"(\w+)"', known)}
    check("variables of variables.c", known == set(declared), str(known ^ set(declared)))
    # The header knows them too; a field without variable, or the other way round, is a slip.
    fields = set(re.findall(r"/\* (FI_GAMMA_\w+):", read("prov/gamma/src/settings.h")))
    check("variables of gamma.h", fields == set(declared), str(fields ^ set(declared)))


def check_counters(page):
    declared = re.findall(r'X\((\w+),[\s\\]+"', read("common/base/stats.h"))
    documented = entries(section(page, "STATISTICS"), "Va")
    check("there are counters", len(declared) > 10)
    for name in declared:
        check("counter %s is in fi_gamma(7)" % name, documented.get(name, "").strip())
    for name in documented:
        check("counter %s is in stats.h" % name, name in declared)


def check_options():
    letters = re.search(r'getopt_long\(argc, argv, ":([^"]+)"', read("tools/gammaping.c")).group(1)
    documented = entries(section(read("man/gammaping.8"), "DESCRIPTION"), "Fl")
    known = set(letters.replace(":", "")) | {"-version"}
    check("options of gammaping(8)", known == set(documented), " ".join(documented))


def check_long_options(source, page):
    """Of tools whose options have names alone."""
    declared = set(re.findall(r'\{"([a-z-]+)", (?:no|required)_argument', read(source)))
    documented = set(re.findall(r"^\.It Fl -([a-z-]+)", read(page), flags=re.M))
    check("options of " + page, declared and declared | {"help", "version"} == documented,
          str(declared ^ documented))


def check_gammad():
    """Options of gammad and keywords of its configuration."""
    letters = re.search(r'getopt_long\(argc, argv, ":([^"]+)"', read("gammad/gammad.c")).group(1)
    documented = re.findall(r"^\.It Fl (\w)", read("man/gammad.8"), flags=re.M)
    check("options of gammad(8)", set(letters.replace(":", "")) == set(documented),
          " ".join(documented))
    keywords = re.findall(r'\{"(\w+)", take_\1\}', read("gammad/conf.c"))
    documented = re.findall(r"^\.It Cm (\w+)", read("man/gammad.conf.5"), flags=re.M)
    check("keywords of gammad.conf(5)", len(keywords) > 3 and set(keywords) == set(documented),
          " ".join(documented))


def check_parameters():
    for component in ("btl_gamma", "coll_gamma"):
        declared = re.findall(r'\bparam\("(\w+)"', read("ompi-mca/%s/params.c" % component))
        text = section(read("man/%s.7" % component), "PARAMETERS")
        check("there are parameters of %s" % component, len(declared) > 5)
        for name in declared:
            check("parameter %s is in %s(7)" % (name, component),
                  re.search(r"^\.It .*\b%s_%s\b" % (component, name), text, flags=re.M))


def check_version():
    """A page that gives a version gives that of configure.ac; NEWS.md has an entry for it."""
    version = re.search(r"AC_INIT\(\[gamma\], \[([^]]+)\]", read("configure.ac")).group(1)
    for path in sorted(glob.glob(os.path.join(TOP, "man/*.[1-9]"))):
        name = os.path.relpath(path, TOP)
        given = re.search(r"^\.Os(?: +gamma)? *(\S*)", read(name), flags=re.M).group(1)
        check("version in " + name, given in ("", version), given)
    check("NEWS.md has version " + version,
          re.search(r"^## %s\b" % re.escape(version), read("NEWS.md"), flags=re.M))


def check_documents():
    """Those who build from a tarball have the documents too."""
    lists = "".join(read(os.path.relpath(path, TOP)) for path in
                    glob.glob(os.path.join(TOP, "*/Makefile.include")) +
                    glob.glob(os.path.join(TOP, "fabtests/*/Makefile.include")))
    for path in sorted(glob.glob(os.path.join(TOP, "doc/*.md"))):
        name = os.path.relpath(path, TOP)
        check(name + " is in the tarball", re.search(r"\b%s\b" % re.escape(name), lists))


def check_lint():
    if not shutil.which("mandoc"):
        return
    for page in sorted(glob.glob(os.path.join(TOP, "man/*.[1-9]"))):
        said = subprocess.run(["mandoc", "-T", "lint", page], text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
        # Whether other manuals are installed here says nothing of these.
        said = [line for line in said.splitlines() if "referenced manual not found" not in line]
        check("mandoc: " + page, not said, "\n    ".join([""] + said))


def check_widths():
    """On a terminal of 80 columns no table's cell is broken into a word a line."""
    if not shutil.which("groff"):
        return
    for page in sorted(glob.glob(os.path.join(TOP, "man/*.[1-9]"))):
        said = subprocess.run(["groff", "-mandoc", "-w", "break", "-z", "-Tutf8", page],
                              text=True, check=False, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE).stderr
        check("groff: " + page, "break" not in said, said)


def main():
    page = read("man/fi_gamma.7")
    check_settings(page)
    check_counters(page)
    check_options()
    check_long_options("tools/flows.c", "man/gamma-flows.1")
    check_long_options("tools/stat.c", "man/gamma-stat.8")
    check_long_options("tools/discover.c", "man/gamma-discover.8")
    check_gammad()
    check_parameters()
    check_version()
    check_documents()
    check_lint()
    check_widths()
    return end()


if __name__ == "__main__":
    sys.exit(main())
