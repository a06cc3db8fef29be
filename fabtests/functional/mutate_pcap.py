#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Damages the frames of captures for test_dissector.sh, from a seed. Half of the frames get a right
checksum again, so that readers go on to what stands behind it.

usage: mutate_pcap.py SEED FRAMES OUT.pcap IN.pcap..."""

import random
import struct
import sys

from crc32c import crc32c

ETH_LEN = 14
HEADER_LEN = 32
FLAGS_AT, EXTENSIONS_AT, LENGTH_AT, CHECKSUM_AT = 11, 12, 10, 28
EXTENSION_BYTES = (8, 20, 8, 8, 8, 12, 8, 4, 4, 4, 24, 4, 16, 4, 132)


def frames_of(path):
    """Frames of a classic pcap file in this machine's byte order."""
    with open(path, "rb") as source:
        data = source.read()
    found, at = [], 24
    while at + 16 <= len(data):
        length = struct.unpack_from("=I", data, at + 8)[0]
        found.append(data[at + 16:at + 16 + length])
        at += 16 + length
    return found


def seal(frame):
    """The checksum that belongs to the header as it is now."""
    if len(frame) < ETH_LEN + HEADER_LEN:
        return
    end = ETH_LEN + max(HEADER_LEN, frame[ETH_LEN + LENGTH_AT])
    at = ETH_LEN + CHECKSUM_AT
    struct.pack_into(">I", frame, at, crc32c(bytes(frame[:at] + frame[at + 4:end])))


class Mutator:
    """Ways to damage a frame."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def bits(self, frame):
        for _ in range(self.random.randint(1, 8)):
            at = self.random.randrange(ETH_LEN, len(frame))
            frame[at] ^= 1 << self.random.randrange(8)

    def header(self, frame):
        at = ETH_LEN + self.random.randrange(HEADER_LEN)
        frame[at] = self.random.choice((0, 1, 15, 0x7F, 0xFF, self.random.randrange(256)))

    def kind(self, frame):
        frame[ETH_LEN + 8] = 0x10 | self.random.randrange(1, 11)
        frame[ETH_LEN + 9] = self.random.randrange(17)
        frame[ETH_LEN + FLAGS_AT] = self.random.randrange(16)

    def extensions(self, frame):
        """Other extensions, with a header length that fits; their values are what stood there."""
        bits = self.random.randrange(1 << 15)
        if self.random.random() < 0.8:
            bits &= ~(1 << 14)
        length = HEADER_LEN + sum(size for bit, size in enumerate(EXTENSION_BYTES)
                                  if bits >> bit & 1)
        if length < 256:
            frame[ETH_LEN + LENGTH_AT] = length
            struct.pack_into(">H", frame, ETH_LEN + EXTENSIONS_AT, bits)

    def payload(self, frame):
        first = ETH_LEN + frame[ETH_LEN + LENGTH_AT]
        for at in range(first, min(len(frame), first + 64)):
            frame[at] = self.random.choice((0, 0xFF, self.random.randrange(256)))

    def cut(self, frame):
        del frame[self.random.randrange(len(frame)):]

    def grow(self, frame):
        frame += bytes(self.random.randrange(256) for _ in range(self.random.randrange(64)))

    def damage(self, frame):
        """Half are whole again but for their meaning."""
        ways = (self.bits, self.header, self.kind, self.extensions, self.payload, self.cut,
                self.grow)
        for _ in range(self.random.randint(1, 3)):
            if len(frame) >= ETH_LEN + HEADER_LEN:
                self.random.choice(ways)(frame)
        if self.random.random() < 0.5:
            seal(frame)


def main():
    seed, count, out = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    sources = [frames_of(path) for path in sys.argv[4:]]
    mutator = Mutator(seed)
    with open(out, "wb") as target:
        target.write(struct.pack("=IHHIIII", 0xA1B23C4D, 2, 4, 0, 0, 65549, 1))
        for index in range(count):
            source = sources[index % len(sources)]
            frame = bytearray(source[index // len(sources) % len(source)])
            mutator.damage(frame)
            # Some are longer than the capture kept.
            length = len(frame) + mutator.random.choice((0, 0, 0, 1, 9000))
            target.write(struct.pack("=IIII", index // 1000, index % 1000 * 1000, len(frame),
                                     length))
            target.write(frame)


if __name__ == "__main__":
    main()
