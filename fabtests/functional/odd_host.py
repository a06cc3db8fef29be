#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""For test_discover_odd.sh: answers questions about its host as a gammad of another release would,
or of another version of the protocol.

usage: odd_host.py NIC RELEASE NAME [VERSION]"""

import socket
import struct
import sys

from wire_attack import CHECKSUM_AT, ETHERTYPE, KINDS, Endpoint, build, with_checksum

HOST_ASK, HOST = 4, 5


def describe(mac, release, name):
    numbers = [int(number) for number in release.split(".")]
    begin = mac + struct.pack(">HIB3BHHQ", 1500, 10000, 1, *numbers, 64, 0, 1)
    return begin + b"gam0".ljust(16, b"\0") + name.encode().ljust(64, b"\0")


def main():
    nic, release, name = sys.argv[1:4]
    version = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETHERTYPE))
    wire.bind((nic, ETHERTYPE))
    mac = wire.getsockname()[4]
    print("ready", flush=True)
    while True:
        frame, address = wire.recvfrom(65535)
        if address[2] == 4 or frame[22] & 15 != KINDS["lookup"] or frame[23] != HOST_ASK:
            continue
        port, epoch = struct.unpack(">H", frame[16:18])[0], struct.unpack(">I", frame[30:34])[0]
        asked = int.from_bytes(frame[28:30], "big")
        payload = describe(mac, release, name).ljust(asked, b"\0")
        answer = build(Endpoint(mac, 0, 0, 0), Endpoint(frame[6:12], port, 0, epoch),
                       {"kind": KINDS["lookup"], "op": HOST,
                        "seq": int.from_bytes(frame[38:42], "big")}, (), payload)
        answer = answer[:22] + bytes((version << 4 | KINDS["lookup"],)) + answer[23:]
        wire.send(with_checksum(answer))


if __name__ == "__main__":
    assert CHECKSUM_AT == 42
    main()
