#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Counts the frames of gamma-hostile in a capture taken outside of its host.

hostile_wire.py PCAP FILE...: the FILEs are its output, with a line "MAC PORT UID" for each endpoint
that it had. A frame with one of its marks is forged if none of these endpoints may send it."""
import re
import sys

MARKS = (b"HOSTILE", b"HONEST", b"FLIPPED")
ETHERTYPE = 0x88B5


def read_frames(path):
    with open(path, "rb") as capture:
        data = capture.read()
    offset = 24
    while offset + 16 <= len(data):
        length = int.from_bytes(data[offset + 8:offset + 12], sys.byteorder)
        yield data[offset + 16:offset + 16 + length]
        offset += 16 + length


def read_identities(paths):
    for path in paths:
        with open(path, encoding="utf-8") as output:
            text = output.read()
        for mac, port, uid in re.findall(r"^([0-9a-f:]{17}) (\d+) (\d+)$", text, re.M):
            yield bytes.fromhex(mac.replace(":", "")), int(port), int(uid)


def is_allowed(frame, allowed):
    number = int.from_bytes
    return (not frame[0] & 1 and number(frame[12:14], "big") == ETHERTYPE and
            (frame[6:12], number(frame[16:18], "big"), number(frame[18:22], "big")) in allowed)


def main():
    allowed = set(read_identities(sys.argv[2:]))
    counts = dict.fromkeys(MARKS, 0)
    forged = {}
    for frame in read_frames(sys.argv[1]):
        mark = next((mark for mark in MARKS if mark in frame), None)
        if not mark:
            continue
        counts[mark] += 1
        if mark == b"HOSTILE" or not is_allowed(frame, allowed):
            text = frame[frame.index(mark):][:24].rstrip(b"\0").decode()
            forged[text] = forged.get(text, 0) + 1
    print("forged", sum(forged.values()), "honest", counts[b"HONEST"],
          "of changing ones", counts[b"FLIPPED"], "by", len(allowed), "endpoints", forged or "")


if __name__ == "__main__":
    main()
