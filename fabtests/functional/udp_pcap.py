#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Puts the frames of captures into UDP datagrams for test_dissector.sh: each IPv4 address is the
last four bytes of a MAC address, the checksum is that over UDP, and frames of one size that follow
each other become trains. With a seed frames are damaged before.

usage: udp_pcap.py SEED|- OUT.pcap IN.pcap..."""

import random
import struct
import sys

from crc32c import crc32c
from mutate_pcap import CHECKSUM_AT, ETH_LEN, HEADER_LEN, LENGTH_AT, Mutator, frames_of

TRAIN_MAX = 8
AGAIN_SEED = 7


def is_whole(frame):
    """Whether the header's checksum is right, as it stands in the capture."""
    if len(frame) < ETH_LEN + HEADER_LEN:
        return False
    end = ETH_LEN + frame[ETH_LEN + LENGTH_AT]
    at = ETH_LEN + CHECKSUM_AT
    return len(frame) >= end >= ETH_LEN + HEADER_LEN and \
        struct.unpack_from(">I", frame, at)[0] == crc32c(bytes(frame[:at] + frame[at + 4:end]))


def over_udp(frame):
    """The frame without its Ethernet header, with the checksum over the pseudo MAC addresses."""
    if len(frame) < ETH_LEN + HEADER_LEN:
        return frame[ETH_LEN:]
    whole = is_whole(frame)
    length = frame[ETH_LEN + LENGTH_AT] + struct.unpack_from(">H", frame, ETH_LEN + 14)[0]
    pseudo = bytearray(b"\2\4" + frame[2:6] + b"\2\4" + frame[8:12] + b"\x88\xb5" +
                       frame[ETH_LEN:])
    if whole:
        end, at = ETH_LEN + frame[ETH_LEN + LENGTH_AT], ETH_LEN + CHECKSUM_AT
        struct.pack_into(">I", pseudo, at, crc32c(bytes(pseudo[:at] + pseudo[at + 4:end])))
        return pseudo[ETH_LEN:ETH_LEN + length]  # Ethernet's padding is left out
    return pseudo[ETH_LEN:]


def datagram(frame, payload):
    """Ethernet, IPv4 and UDP in front of the payload."""
    ports = payload[2:4] + payload[0:2] if len(payload) >= 4 else b"\0\1\0\2"
    udp = ports + struct.pack(">HH", 8 + len(payload), 0) + payload
    head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(udp), 0, 0x4000, 64, 17, 0)
    return frame[:12] + b"\x08\x00" + head + frame[8:12] + frame[2:6] + udp


def trains(frames):
    """Pairs of a first frame and the payload of its datagram."""
    draw, first, payload, size = random.Random(AGAIN_SEED), b"", b"", 0
    for frame in frames:
        part = bytes(over_udp(frame))
        joins = first and part and frame[:12] == first[:12] and \
            part[:4] == payload[:4] and len(part) == size and is_whole(frame) and \
            len(payload) < TRAIN_MAX * size and draw.random() < 0.8
        if not joins and first:
            yield first, payload
        if not joins:
            first, payload, size = frame, b"", len(part)
        payload += part
    if first:
        yield first, payload


def main():
    frames = [bytearray(frame) for path in sys.argv[3:] for frame in frames_of(path)]
    if sys.argv[1] != "-":
        mutator = Mutator(int(sys.argv[1]))
        for frame in frames:
            mutator.damage(frame)
    with open(sys.argv[2], "wb") as target:
        target.write(struct.pack("=IHHIIII", 0xA1B23C4D, 2, 4, 0, 0, 65549, 1))
        for index, (first, payload) in enumerate(trains(frames)):
            whole = datagram(bytes(first), payload)
            target.write(struct.pack("=IIII", index // 1000, index % 1000 * 1000, len(whole),
                                     len(whole)))
            target.write(whole)


if __name__ == "__main__":
    main()
