#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Holds the documents and the tree together: files, functions, tests, variables, parameters and
options that a document, a manual page or a comment names must exist, and so must the sections and
experiments it refers to. Started by `make check`, or by hand from anywhere."""

import fnmatch
import os
import re
import sys

sys.dont_write_bytecode = True  # the tree stays as it is
# pylint: disable=wrong-import-position
from tree import TOP, check as check_one, end, read

FOLDERS = (".ci", "common", "config", "contrib", "debian", "doc", "examples", "fabtests", "gammad",
           "lab", "libgamma", "man", "ompi-mca", "prov", "quickstart.d", "tools")
CODE = (".c", ".h", ".sh", ".py", ".lua", ".am", ".ac", ".include", ".in", ".m4", ".conf", ".patch",
        ".service", ".spec", ".test", ".exclude")
# Logs: names in them were right when they were written.
LOGS = ("NEWS.md", "doc/experiments.md", "doc/experiments/")
# Names of other software: libfabric's, Open MPI's, the kernel's, the original library's.
FOREIGN = re.compile(r"^(fi|ofi|FI|MPI|OMPI|OPAL|UCX|PMIX|SLURM|MPICH|XDP|SO|CAP|IP|BPF|AF)_"
                     r"|^(mpi|osu|pml|mtl|btl_(tcp|ofi|sm|vader)|coll_(tuned|hcoll)|io_uring)"
                     r"|^(gro_flush_timeout|napi_defer_hard_irqs|pidfd_getfd|gamma_errno)$")
FOREIGN_TESTS = {"test_spawn", "test_ulfm", "test_cxx11"}
FOREIGN_FILES = {"op.h", "fi_prov.h"}
# These list tests and functions of other software: only names of this project are looked up.
ABOUT_OTHERS = ("doc/compatibility.md", "doc/known-issues.md", "contrib/in-tree/")
OWN = re.compile(r"^(mca_)?(btl_|coll_)?gamma|^(FI_)?GAMMA_")
# What instructions write for a name of the reader's choice.
PLACEHOLDER = re.compile(r"(^|[/_])(NAME|FILE|X)(\.|$)|^object__condition$")
# Misspelt on purpose, and not a variable.
NO_VARIABLES = re.compile(r"FI_GAMMA_(RINGSIZE|FRUIT|Q+|CONFIGURE)$|^FI_GAMMA_PORTS$")
# Parameters that Open MPI registers for every BTL.
BTL_BASE = ("bandwidth", "latency", "eager_limit", "exclusivity", "flags", "max_send_size",
            "rndv_eager_limit", "min_rdma_pipeline_size")


def check(what, wrong):
    wrong = sorted(set(wrong))
    check_one(what, not wrong, "\n    ".join(["%d" % len(wrong), *wrong]))


# ---- the tree ----

def walk():
    for name in os.listdir(TOP):
        if os.path.isfile(os.path.join(TOP, name)):
            yield name
    for part in FOLDERS:
        for folder, _, names in os.walk(os.path.join(TOP, part)):
            for name in names:
                yield os.path.relpath(os.path.join(folder, name), TOP)


def without_comments(name, text):
    return re.sub(r"/\*.*?\*/", " ", text, flags=re.S) if name.endswith((".c", ".h")) else text


def comments(text):
    return " ".join(re.findall(r"/\*(.*?)\*/", text, flags=re.S))


class Tree:
    """Names of all files, and every word of the code."""

    def __init__(self):
        self.files = sorted(walk())
        self.names = {os.path.basename(name) for name in self.files}
        self.folders = {os.path.dirname(name) for name in self.files}
        self.code = {}
        for name in self.files:
            if not name.endswith((".md", ".svg", ".pcap", ".pcapng")) and "/corpus/" not in name:
                try:
                    self.code[name] = read(name)
                except UnicodeDecodeError:
                    continue
        program = "\n".join(without_comments(name, text) for name, text in self.code.items()
                            if not re.search(r"\.[1-9]$|test_references", name))
        self.words = set(re.findall(r"[A-Za-z_]\w*", program))
        self.text = program

    def has_path(self, path):
        """A path from the top, from a folder such as common/ or doc/, or a build product's."""
        path = path.rstrip("/")
        if path in self.text:
            return True  # of the build folder: the makefile names it
        for start in ("", "common/", "doc/", "fabtests/", "prov/gamma/", "ompi-mca/",
                      "fabtests/benchmarks/"):
            whole = start + path
            if whole + ".c" in self.files or fnmatch.filter(self.files, whole) or \
                    fnmatch.filter(self.folders, whole) or \
                    any(folder.startswith(whole + "/") for folder in self.folders):
                return True
        return False

    def has_word(self, word):
        if "*" in word:
            return bool(fnmatch.filter(self.words, word))
        return word in self.words


def documents(tree):
    """{name: text} of what people read, without the logs."""
    return {name: read(name) for name in tree.files
            if (name.endswith(".md") or re.match(r"man/.*\.[1-9]$", name))
            and not name.startswith(LOGS)}


def quoted(text):
    """What stands in `backquotes`, or what a manual page marks."""
    text = re.sub(r"^    .*$", "", text, flags=re.M)
    for words in re.findall(r"`([^`\n]+)`", text):
        yield from words.split()
    yield from re.findall(r"^\.(?:Pa|Ev|Va|Fn) (\S+)", text, flags=re.M)


# ---- what documents name ----

def missing_names(tree, name, text):
    """Identifiers and paths in quotes that the tree does not have."""
    for word in quoted(text):
        word = word.rstrip(".,:;)").lstrip("(")
        word = re.sub(r"\(\)?$", "", word)
        if PLACEHOLDER.search(word) or word.endswith("_") or \
                name.startswith(ABOUT_OTHERS) and not OWN.match(word):
            continue
        if re.fullmatch(r"[A-Za-z_*][\w*]*_[\w*]*", word):
            if not FOREIGN.match(word) and not tree.has_word(word):
                yield word
        elif re.fullmatch(r"[\w.+*-]+\.(c|h|sh|py|md|lua|patch|include|test)", word):
            if not fnmatch.filter(tree.names, word):
                yield word
        elif re.fullmatch(r"(%s)/[\w./*-]*" % "|".join(map(re.escape, FOLDERS)), word) or \
                re.fullmatch(r"(flow|message|engine|shm|link|nic|wire|base|unix|conf|group|broker)"
                             r"/[\w./*-]+", word):
            if not tree.has_path(word):
                yield word


def missing_tests(tree, text):
    """Tests that are named, in quotes or not: programs and functions."""
    for name in re.findall(r"\btest_\w+", text):
        if not any(re.match(re.escape(name) + r"(\.|$)", other) for other in tree.names) and \
                name not in tree.words | FOREIGN_TESTS and not PLACEHOLDER.search(name):
            yield name
    for name in re.findall(r"`(\w+__[\w*]+)`", text):
        if not tree.has_word(name) and not PLACEHOLDER.search(name):
            yield name


def missing_links(name, text):
    """Links to files, and to headings in them."""
    for target, anchor in re.findall(r"\]\(([^)#:\s]*)(?:#([^)]*))?\)", text):
        path = os.path.normpath(os.path.join(os.path.dirname(name), target)) if target else name
        if not os.path.exists(os.path.join(TOP, path)):
            yield target
        elif anchor and anchor not in anchors(read(path)):
            yield "%s#%s" % (target, anchor)


def anchors(text):
    """As GitHub makes them of headings."""
    for heading in re.findall(r"^#+ (.*)$", text, flags=re.M):
        heading = re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower())
        yield heading.replace(" ", "-")


def check_documents(tree):
    for name, text in documents(tree).items():
        check("names in %s exist" % name, missing_names(tree, name, text))
        check("tests in %s exist" % name, missing_tests(tree, text))
    for name in tree.files:
        if name.endswith(".md"):
            check("links in %s lead somewhere" % name, missing_links(name, read(name)))


# ---- what comments name ----

def missing_in_comments(tree, text):
    for word in re.findall(r"\b[\w/.-]+\.(?:c|h|sh|py|md|lua)\b", comments(text)):
        if not PLACEHOLDER.search(word) and os.path.basename(word) not in tree.names and \
                word not in FOREIGN_FILES:
            yield word
    for word in re.findall(r"\b(?:gamma|btl_gamma|coll_gamma|test)_\w+|\b[a-z]\w+(?=\(\))",
                           comments(text)):
        if not FOREIGN.match(word) and not PLACEHOLDER.search(word) and word not in tree.words and \
                word + ".c" not in tree.names and word + ".h" not in tree.names:
            yield word


def check_comments(tree):
    for name, text in tree.code.items():
        if name.endswith((".c", ".h")):
            check("names in comments of %s exist" % name, missing_in_comments(tree, text))


# ---- options ----

# Where a program reads its options: the first word of a command decides.
PROGRAMS = {
    "gammaping": ["tools/gammaping*.c"], "gamma-discover": ["tools/discover*.c"],
    "gamma-stat": ["tools/stat*.c"], "gamma-flows": ["tools/flows*.c"],
    "gammad": ["gammad/gammad.c"], "gammactl": ["gammad/gammactl*.c"],
    "quickstart": ["quickstart", "fabtests/benchmarks/bench/*.py", "fabtests/functional/soak.py"],
    "gamma-sim": ["fabtests/sim/*.c"], "lab": ["lab/*"], "configure": ["configure.ac"],
}


def missing_options(tree, text):
    """Long options in commands, in quotes or in a block of code."""
    commands = re.findall(r"`([^`\n]+)`", text) + re.findall(r"^ {4}(.*)$", text, flags=re.M)
    for command in commands:
        words = re.sub(r"^(sudo |\S+[$#] |[A-Z_]+=\S+ )+", "",
                       re.sub(r" (run|exec) .*", "", command)).split()
        program = os.path.basename(words[0]) if words else ""
        if program not in PROGRAMS:
            continue
        source = "".join(tree.code[name] for name in tree.code
                         if any(fnmatch.fnmatch(name, pattern) for pattern in PROGRAMS[program]))
        for option in re.findall(r"(?<=\s)--([a-z][\w-]*)", " ".join(words)):
            plain = re.sub(r"^(enable|disable|with|without)-", "", option)
            if option not in ("help", "version", "prefix", "build", "host") and not \
                    re.search(r'"%s"|--%s\b|\[%s\]' % (option, option, plain), source):
                yield "%s --%s" % (program, option)


def check_options(tree):
    for name, text in documents(tree).items():
        if name.endswith(".md") and not name.startswith(ABOUT_OTHERS):
            check("options in %s exist" % name, missing_options(tree, text))


# ---- variables and parameters ----

def check_variables(tree):
    """FI_GAMMA_*: settings.c has the list; test_manual.py compares it with fi_gamma(7)."""
    settings = read("prov/gamma/src/settings.c")
    known = {"FI_GAMMA_" + name.upper() for pair in
             re.findall(r'\{(?:NUMBER\((\w+)\)|"(\w+)",\s+offsetof)', settings)
             for name in pair if name}
    known |= set(re.findall(r"\bFI_GAMMA_\w+", read("prov/gamma/include/rdma/fi_ext_gamma.h")))
    for name in tree.files:
        if name.startswith(LOGS) or name.startswith("fabtests/unit/test_references"):
            continue
        text = tree.code.get(name) or (read(name) if name.endswith(".md") else "")
        check("FI_GAMMA_ variables in %s exist" % name,
              [word for word in re.findall(r"\bFI_GAMMA_[A-Z_0-9]*[A-Z0-9]\b", text)
               if word not in known and not NO_VARIABLES.search(word)])


def check_parameters(tree):
    known = {component + "_" + name for component in ("btl_gamma", "coll_gamma") for name in
             re.findall(r'\bparam\("(\w+)"', read("ompi-mca/%s/params.c" % component))}
    known |= {"btl_gamma_" + name for name in
              (*BTL_BASE, *re.findall(r'X\((\w+),[\s\\]+"', read("common/base/stats.h")))}
    for name, text in documents(tree).items():
        check("MCA parameters in %s exist" % name,
              [word for word in re.findall(r"\b(?:btl|coll)_gamma_[a-z_]*[a-z]\b", text)
               if word not in known and not tree.has_word(word)])


# ---- sections and experiments ----

def check_sections(tree):
    """Sections of protocol.md, and those that a document names of itself."""
    protocol = "".join(read(name) for name in tree.files if re.match(r"doc/protocol.*\.md", name))
    known = set(re.findall(r"^#* ?(\d+(?:\.\d+)?) ", protocol, flags=re.M))
    for name in tree.files:
        if name.startswith(LOGS[1:]):
            continue
        text = tree.code.get(name) or (read(name) if name.endswith(".md") else "")
        named = re.findall(r"protocol(?:-[a-z]+)?\.md,? (?:section )?(\d+(?:\.\d+)?)", text)
        if name == "doc/reliability.md":  # it says so at its beginning
            named += re.findall(r"\((\d\.\d)\)", text)
        check("sections of protocol.md in %s exist" % name, set(named) - known)
    for name in tree.files:
        if name.endswith(".md") and not name.startswith(LOGS) and "protocol" not in name:
            text = read(name)
            own = set(re.findall(r"^#+ (\d+(?:\.\d+)?) ", text, flags=re.M))
            named = set(re.findall(r"\bsections? (\d+(?:\.\d+)?)", text))
            check("sections in %s exist" % name, named - own if own else [])


def check_experiments(tree):
    log = "".join(read(name) for name in tree.files if name.startswith("doc/experiments/"))
    known = re.findall(r"^## (\d+)\. ", log, flags=re.M)
    index = re.findall(r"^\| (\d+) \|", read("doc/experiments.md"), flags=re.M)
    check("numbers of experiments are used once", [n for n in known if known.count(n) > 1])
    check("doc/experiments.md lists all experiments", set(known) ^ set(index))
    for name in tree.files:
        text = tree.code.get(name) or (read(name) if name.endswith(".md") else "")
        named = re.findall(r"\bexperiments? ((?:\d+(?:, | and | to )?)+)", text)
        named = re.findall(r"\d+", " ".join(named))
        check("experiments in %s exist" % name, set(named) - set(known))


def main():
    tree = Tree()
    check_documents(tree)
    check_comments(tree)
    check_options(tree)
    check_variables(tree)
    check_parameters(tree)
    check_sections(tree)
    check_experiments(tree)
    return end()


if __name__ == "__main__":
    sys.exit(main())
