#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# What has left the host of gamma-hostile, seen from outside: hostile_wire.py PCAP FILE..., where
# the FILEs are its output, with a line "MAC PORT UID" for each endpoint that it had. Of the frames
# that are marked as its own, those are forged that no endpoint may send.
import re
import sys

MARKS = (b"HOSTILE", b"HONEST", b"FLIPPED")
ETHERTYPE = 0x88B5


def frames(path):
    data = open(path, "rb").read()
    at = 24
    while at + 16 <= len(data):
        length = int.from_bytes(data[at + 8:at + 12], sys.byteorder)
        yield data[at + 16:at + 16 + length]
        at += 16 + length


def identities(paths):
    for path in paths:
        for mac, port, uid in re.findall(r"^([0-9a-f:]{17}) (\d+) (\d+)$", open(path).read(), re.M):
            yield bytes.fromhex(mac.replace(":", "")), int(port), int(uid)


def is_allowed(frame, allowed):
    number = int.from_bytes
    return (not frame[0] & 1 and number(frame[12:14], "big") == ETHERTYPE and
            (frame[6:12], number(frame[16:18], "big"), number(frame[18:22], "big")) in allowed)


allowed = set(identities(sys.argv[2:]))
counts = dict.fromkeys(MARKS, 0)
forged = {}
for frame in frames(sys.argv[1]):
    mark = next((mark for mark in MARKS if mark in frame), None)
    if not mark:
        continue
    counts[mark] += 1
    if mark == b"HOSTILE" or not is_allowed(frame, allowed):
        text = frame[frame.index(mark):][:24].rstrip(b"\0").decode()
        forged[text] = forged.get(text, 0) + 1
print("forged", sum(forged.values()), "honest", counts[b"HONEST"], "of changing ones", counts[b"FLIPPED"],
      "by", len(allowed), "endpoints", forged or "")
