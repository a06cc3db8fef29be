#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Holds the vocabulary: words that this project once used in a sense of its own do not come back
where networking, libfabric or MPI have a standard term. Ordinary English and the standard meaning
of a word pass (an ARP neighbour, a row of a table). In doc/experiments*, which is a log, only
headings are looked at. Started by `make check`, or by hand from anywhere."""

import os
# pylint: disable=line-too-long # one pattern a line
import re
import subprocess
import sys

sys.dont_write_bytecode = True  # the tree stays as it is
# pylint: disable=wrong-import-position
from tree import TOP, check, end, read

CODE = r"\.(c|h|py|sh|lua|patch)$"
TEXT = r"\.(md|[1-9]|svg|conf)$|^[A-Z]+$"
ANY = ""
ARP = re.compile(r"(\b|_)arp(\b|_)|\bnd_|nud_|ndmsg|newneigh|getneigh|neighbour[- _](entry|entries|table|state|cache|discovery)"
                 r"|ip neigh", re.I)

# Without \w* in front, which would be tried from each letter of each word.
# Standard term: pattern of the private one; files that it is looked for in; lines that may pass.
WORDS = [
    ("shm peer, intra-node", r"samehost|\bneighbourly\b|\bgamma_near\w*|\bnear_(ops|peer)\w*", ANY),
    ("shm peer", r"neighbours?\b", ANY, ARP),
    ("inline shm message", r"\bplain[ _](message|record)s?\b|gamma_plain\w*|\bplain_(in|out)\b"
     r"|RECORD_PLAIN", ANY),
    ("shm channel, tx, rx", r"(out|in)box|gamma_way\b|->way\b", CODE),
    ("prefetch", r"foresee", ANY),
    ("declared dead", r"\bgiven[ _]up\b|give_up\b", ANY),
    ("spurious, unsuccessful", r"\bin[ _]vain\b", ANY),
    ("should_yield", r"\bin_the_way\b", ANY),
    ("raw baseline", r"\b(the|a|raw|its|above|over|of) floor\b|floor's\b|\bfloor_\w|\w_floor\b", ANY),
    ("interleaved", r"\bin turns\b", ANY),
    ("low or high core-to-core latency", r"\b(near|far) mode\b|\bnear/far\b", ANY),
    ("GAMMA_FLATTEN, GAMMA_NOINLINE", r"GAMMA_(FLAT|APART)\b", ANY),
    ("send coalescing, burst", r"gamma_row\w*|GAMMA_ROW\w*|->row\b|\b(row|rows) of messages\b", ANY),
    ("receive moderation", r"gamma_rest\w*|GAMMA_REST_\w+|->rest\.", ANY),
    ("deferred ACK processing", r"gamma_late(?!ncy)\w*|(->|\.)late\b|gamma_(flow_|fastpath_)?settle\w*", ANY),
    ("back-pressure on, off", r"_press\b|->pressed\b|\brelieves?d?\b|gamma_\w*relieve\w*", ANY),
    ("eager-to-rendezvous demotion", r"gamma_\w*_cut\b|->cut\b|message_cut\w*|\b(is|are|was|were) cut\b(?! (off|short|to))",
     ANY),
    ("dead peers, reap", r"tombstone|\bbury\b|\bburied\b", ANY),
    ("may_delay, flush timer", r"\bpatient\b|\bpatience\b", ANY),
    ("iovecs", r"\bpieces? of memory\b|\blists? of memory\b|->pieces\b", ANY),
    ("cache line", r"\blines? of the cache\b|\bcache's lines?\b", ANY),
    ("unknown peer", r"\bstrangers?\b", ANY),
    ("slow port", r"gamma_pace\w*|GAMMA_PACE_\w+|->pace\b|\bpace\.c\b", ANY),
    ("frame parts, reassembly", r"gamma_parts\w*|\bparts\.c\b", ANY),
    ("CMA read", r"gamma_pull\w*|bytes_pulled|pulls_failed", ANY),
    ("deferred close", r"gamma_apart\w*|\bapart\.[ch]\b", ANY),
    ("scm", r"enclosed\b", CODE),
    ("shm copy model", r"gamma_copying\w*|->copying\b", ANY),
    ("report, send, advertise, distinguish", r"\b(tells?|told|untold)\b|_tells?\b|_told\b|\btells?_\w+", ANY,
     re.compile(r"NEWS\.md|test_names\.py")),
    ("a subject of its own", r"(^|/\* |\* |\. |: )Who(ever)?\s+(?!is\b.*\?)\w+(?![^.]*\?)", ANY),
]
SKIP = re.compile(r"^(LICENSE|fabtests/unit/test_vocabulary\.py|doc/glossary\.md|\.git)")


def tracked():
    """The tree's files; without git, all that are there."""
    try:
        names = subprocess.check_output(["git", "-C", TOP, "ls-files"], text=True,
                                        stderr=subprocess.DEVNULL).splitlines()
    except (OSError, subprocess.CalledProcessError):
        names = []
    if not names:
        names = [os.path.relpath(os.path.join(folder, name), TOP)
                 for part in ("common", "prov", "gammad", "ompi-mca", "tools", "fabtests", "lab",
                              "doc", "man")
                 for folder, _, found in os.walk(os.path.join(TOP, part)) for name in found]
    return sorted(name for name in names
                  if not SKIP.match(name) and os.path.isfile(os.path.join(TOP, name)))


def lines_of(name):
    try:
        lines = read(name).splitlines()
    except UnicodeDecodeError:
        return []
    if name.startswith("doc/experiments"):
        return [(i, line) for i, line in enumerate(lines, 1) if line.startswith("#")]
    return list(enumerate(lines, 1))


def main():
    tree = [(name, lines, "\n".join(line for _, line in lines))
            for name in tracked() for lines in [lines_of(name)]]
    for term, pattern, where, *passes in WORDS:
        private = re.compile(pattern)
        # A look at the whole file is quicker than at its lines; what may end before a "." must not
        # see the next ones.
        anywhere = re.compile(pattern if "[^.]" not in pattern else "", re.M)
        found = ["%s:%d: %s" % (name, number, line.strip())
                 for name, lines, text in tree
                 if re.search(where, name) and anywhere.search(text)
                 for number, line in lines
                 if private.search(line) and not any(p.search(line + name) for p in passes)]
        check("say %r instead" % term, not found, "\n    ".join(["%d places" % len(found), *found]))
    return end()


if __name__ == "__main__":
    sys.exit(main())
