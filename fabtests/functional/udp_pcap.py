#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Puts the frames of captures into UDP datagrams for test_dissector.sh and test_flows.sh: each IPv4
address is the last four bytes of a MAC address, each IPv6 address fd00:78:: and these, the checksum
is that over UDP, and frames of one size that follow each other become trains. With a seed frames
are damaged before. Destinations of multicast groups are the groups' IP addresses.

usage: udp_pcap.py 4|6 SEED|- OUT.pcap IN.pcap..."""

import random
import struct
import sys

from crc32c import crc32c
from mutate_pcap import CHECKSUM_AT, ETH_LEN, HEADER_LEN, LENGTH_AT, Mutator, frames_of

TRAIN_MAX = 8
AGAIN_SEED = 7
MASK = (1 << 64) - 1


def is_whole(frame):
    """Whether the header's checksum is right, as it stands in the capture."""
    if len(frame) < ETH_LEN + HEADER_LEN:
        return False
    end = ETH_LEN + frame[ETH_LEN + LENGTH_AT]
    at = ETH_LEN + CHECKSUM_AT
    return len(frame) >= end >= ETH_LEN + HEADER_LEN and \
        struct.unpack_from(">I", frame, at)[0] == crc32c(bytes(frame[:at] + frame[at + 4:end]))


def pseudo_mac(address):
    """The bytes that stand for an IP address in the header's checksum."""
    if len(address) == 4:
        return b"\2\4" + address
    high, low = struct.unpack(">QQ", address)
    mixed = high * 0x9E3779B97F4A7C15 & MASK
    mixed = (mixed ^ mixed >> 32) + low & MASK
    mixed = (mixed ^ mixed >> 32) * 0xD6E8FEB86659FD93 & MASK
    mixed ^= mixed >> 32
    return b"\6" + mixed.to_bytes(8, "big")[3:]


class Version:
    """IP of one version: addresses and headers."""

    def __init__(self, number):
        self.number = number

    def address(self, mac):
        """The host's, or the group's."""
        if mac[0] & 1:
            return b"\xef" + mac[3:] if self.number == 4 else \
                b"\xff\x12" + bytes(6) + b"GA" + mac
        return bytes(mac[2:]) if self.number == 4 else b"\xfd\0\0\x78" + bytes(8) + mac[2:]

    def pseudo(self, mac):
        """What the checksum covers in place of the MAC address."""
        return bytes(mac) if mac[0] & 1 else pseudo_mac(self.address(mac))

    def over_udp(self, frame):
        """Without its Ethernet header, with the checksum over the pseudo MAC addresses."""
        if len(frame) < ETH_LEN + HEADER_LEN:
            return frame[ETH_LEN:]
        whole = is_whole(frame)
        length = frame[ETH_LEN + LENGTH_AT] + struct.unpack_from(">H", frame, ETH_LEN + 14)[0]
        pseudo = bytearray(self.pseudo(frame[:6]) + self.pseudo(frame[6:12]) + b"\x88\xb5" +
                           frame[ETH_LEN:])
        if whole:
            end, at = ETH_LEN + frame[ETH_LEN + LENGTH_AT], ETH_LEN + CHECKSUM_AT
            struct.pack_into(">I", pseudo, at, crc32c(bytes(pseudo[:at] + pseudo[at + 4:end])))
            return pseudo[ETH_LEN:ETH_LEN + length]  # Ethernet's padding is left out
        return pseudo[ETH_LEN:]

    def datagram(self, frame, payload):
        """Ethernet, IP and UDP in front of the payload."""
        ports = payload[2:4] + payload[0:2] if len(payload) >= 4 else b"\0\1\0\2"
        if frame and frame[0] & 1 and ports[2] < 4:
            ports = ports[:2] + bytes((ports[2] | 0xF0, ports[3])) # a low port of a group
        udp = ports + struct.pack(">HH", 8 + len(payload), 0) + payload
        frame = frame.ljust(12, b"\0")
        dst, src = self.address(frame[:6]), self.address(frame[6:12])
        if self.number == 6:
            head = struct.pack(">IHBB", 6 << 28, len(udp), 17, 64)
            return frame[:12] + b"\x86\xdd" + head + src + dst + udp
        head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(udp), 0, 0x4000, 64, 17, 0)
        return frame[:12] + b"\x08\x00" + head + src + dst + udp


def trains(version, frames):
    """Pairs of a first frame and the payload of its datagram."""
    draw, first, payload, size = random.Random(AGAIN_SEED), b"", b"", 0
    for frame in frames:
        part = bytes(version.over_udp(frame))
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
    version = Version(int(sys.argv[1]))
    frames = [bytearray(frame) for path in sys.argv[4:] for frame in frames_of(path)]
    if sys.argv[2] != "-":
        mutator = Mutator(int(sys.argv[2]))
        for frame in frames:
            mutator.damage(frame)
    with open(sys.argv[3], "wb") as target:
        target.write(struct.pack("=IHHIIII", 0xA1B23C4D, 2, 4, 0, 0, 65549, 1))
        for index, (first, payload) in enumerate(trains(version, frames)):
            whole = version.datagram(bytes(first), payload)
            target.write(struct.pack("=IIII", index // 1000, index % 1000 * 1000, len(whole),
                                     len(whole)))
            target.write(whole)


if __name__ == "__main__":
    main()
