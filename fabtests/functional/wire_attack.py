#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""A host on the wire that attacks the exchange of two others; runs as root in a host of the lab.

wire_attack.py forge|replay|mutate|intrude --nic NIC --victim MAC --victim MAC [--kind KIND]
               [--rate FRAMES] [--seconds S] [--seed N]
wire_attack.py ... --udp OWN-ADDRESS --victim ADDRESS,MAC,PORT --victim ADDRESS,MAC,PORT

forge: off the path. It knows what LOOKUP reveals of the victims' endpoints, and invents frames in
either one's name, field by field, with good checksums. replay: on the path. Frames of the victims
again, unaltered, or with damage that the checksum must show. mutate: frames of the victims with one
field changed and the checksum repaired. intrude: its own frames to the multicast groups of the
victims, made after theirs. With --udp the frames are in UDP datagrams, and kind icmp
is ICMP errors that quote invented frames. The last line says how many frames were sent."""
import argparse
import random
import select
import socket
import struct
import sys
import time

from crc32c import crc32c
from hostile_wire import ETHERTYPE
from wire_attack_udp import UdpWire

VERSION = 1
HEADER = struct.Struct(">HHIBBBBHHIIII")
FIELDS = ("dst_port", "src_port", "tenant", "kind", "op", "header_len", "flags", "extensions",
          "payload_len", "src_epoch", "dst_epoch", "seq", "checksum")
CHECKSUM_AT = 14 + 28
KINDS = {"data": 1, "ack": 2, "credit": 3, "request": 4, "reclaim": 5, "probe": 6, "reset": 7,
         "bye": 8, "lookup": 9, "datagram": 10}
QUOTED = (1, 4, 6, 9) # kinds that an ICMP error may say something about
OPS = {1: range(1, 16), 2: range(4), 5: (0, 1), 6: range(4), 7: (0, 1, 2), 8: (0, 1), 9: range(7)}
# In the order of their bits: the sizes in bytes of their fields.
EXTENSIONS = ((4, 4), (4, 16), (4, 4), (8,), (8,), (4, 8), (8,), (4,), (2, 2), (4,), (8, 8, 8),
              (1, 1, 2), (16,), (2, 2), (4, 128))
TAGGED = struct.pack(">H", 1 << 3 | 1 << 4) # the extensions of a group's frames
LOOKUP_ASK, LOOKUP_FOUND = 0, 1
ABOUT_HOSTS = (4, 5, 6) # HOST_ASK, HOST, HOST_VIA
HOST_LEN = 108          # bytes that the last two have at least
ANY_PORT, MY_PORT, MY_EPOCH = 0, 40000, 0x5EED
KEPT = 2048       # frames of the victims that are remembered
LOOKUP_WAIT = 20  # s


def with_checksum(frame):
    """The checksum covers Ethernet header, base header without it, and the extensions."""
    end = min(14 + frame[24], len(frame))
    crc = crc32c(frame[:CHECKSUM_AT] + frame[CHECKSUM_AT + 4:end])
    return frame[:CHECKSUM_AT] + struct.pack(">I", crc) + frame[CHECKSUM_AT + 4:]


class Endpoint:
    """What LOOKUP reveals."""

    def __init__(self, mac, port, tenant, epoch):
        self.mac, self.port, self.tenant, self.epoch = mac, port, tenant, epoch


def build(source, target, fields, extensions=(), payload=b""):
    """A frame from one endpoint to another; fields take precedence over what is right."""
    bits = sum(1 << bit for bit, _ in extensions)
    body = b"".join(data for _, data in sorted(extensions))
    right = {"dst_port": target.port, "src_port": source.port, "tenant": source.tenant, "op": 0,
             "header_len": HEADER.size + len(body), "flags": 0, "extensions": bits,
             "payload_len": len(payload), "src_epoch": source.epoch, "dst_epoch": target.epoch,
             "seq": 0, "checksum": 0}
    right.update(fields)
    right["kind"] |= VERSION << 4
    header = HEADER.pack(*(right[name] for name in FIELDS))
    frame = target.mac + source.mac + struct.pack(">H", ETHERTYPE) + header + body + payload
    return with_checksum(frame.ljust(60, b"\0"))


class Wire:
    """The NIC: sends any frame, sees all that the switch delivers."""

    def __init__(self, nic, victims):
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETHERTYPE))
        self.socket.bind((nic, ETHERTYPE))
        member = struct.pack("iHH8s", socket.if_nametoindex(nic), 1, 0, b"") # PACKET_MR_PROMISC
        self.socket.setsockopt(263, 1, member) # SOL_PACKET, PACKET_ADD_MEMBERSHIP
        self.mac = self.socket.getsockname()[4]
        self.victims = [bytes.fromhex(mac.replace(":", "")) for mac in victims]
        self.sent = self.refused = 0

    def send(self, frame):
        try:
            self.socket.send(frame)
            self.sent += 1
        except OSError: # longer than the MTU
            self.refused += 1

    def frames(self, wait):
        """Those that have arrived, without the own ones."""
        while select.select([self.socket], [], [], wait)[0]:
            frame, address = self.socket.recvfrom(65535)
            if address[2] != 4 and len(frame) >= 46: # PACKET_OUTGOING
                yield frame
            wait = 0

    def port_of(self, _):
        """An endpoint of that host: any answers."""
        return ANY_PORT


def look_up(wire, mac):
    """An endpoint of that host, by the question that every one answers."""
    me = Endpoint(wire.mac, MY_PORT, 0, MY_EPOCH)
    end = time.monotonic() + LOOKUP_WAIT
    while time.monotonic() < end:
        wire.send(build(me, Endpoint(mac, wire.port_of(mac), 0, 0), {"kind": KINDS["lookup"]}))
        began = time.monotonic()
        for frame in wire.frames(0.1):
            head = dict(zip(FIELDS, HEADER.unpack_from(frame, 14)))
            if (head["kind"] & 15 == KINDS["lookup"] and head["op"] == LOOKUP_FOUND and
                    head["dst_epoch"] == MY_EPOCH and frame[6:12] == mac):
                at = 14 + head["header_len"]
                epoch, = struct.unpack_from(">I", frame, at + 8)
                return Endpoint(frame[at:at + 6], head["src_port"], head["tenant"], epoch)
            if time.monotonic() > began + 0.5:
                break
    sys.exit("wire_attack: no endpoint answers LOOKUP there")


class Attacker:
    """Draws the frames from the seed."""

    def __init__(self, options, wire):
        self.random, self.wire = random.Random(options.seed), wire
        self.kind = KINDS.get(options.kind)
        self.errors = options.kind == "icmp"
        self.groups_only = options.way == "intrude"
        self.kept = []
        self.victims = wire.victims
        asked = self.victims if options.way == "forge" else []
        self.endpoints = [look_up(wire, mac) for mac in asked]

    def number(self, size):
        """Borders, and what lies between."""
        top = 1 << 8 * size
        draw = self.random.randrange(8)
        if draw < 5:
            return self.random.randrange(top)
        return (0, 64, top - 1, top // 2, top // 2 - 1)[self.random.randrange(5)] % top

    def extension(self, bit):
        data = b"".join(self.number(size).to_bytes(size, "big") for size in EXTENSIONS[bit])
        return bit, data

    def address(self, owner):
        """A payload of LOOKUP: the owner with another epoch, or all of it drawn."""
        epoch = struct.pack(">I", self.random.getrandbits(32))
        right = owner.mac + struct.pack(">H", owner.port) + epoch + bytes((1, 0)) + bytes(10)
        return right if self.random.randrange(2) else self.random.randbytes(24)

    def forge(self):
        """Of a drawn kind, in one victim's name to the other, mostly right but for one field."""
        source, target = self.random.sample(self.endpoints, 2)
        kind = self.kind or self.random.choice(QUOTED if self.errors else list(KINDS.values()))
        fields = {"kind": kind, "op": self.random.choice(OPS.get(kind, (0,))),
                  "seq": self.random.getrandbits(32)}
        extensions, payload = [], b""
        what = self.random.randrange(6)
        if what == 0:
            extensions = [self.extension(0)]
        elif what == 1:
            extensions = [self.extension(8)]
        elif what == 2:
            bits = self.random.sample(range(len(EXTENSIONS)), self.random.randrange(1, 5))
            extensions = [self.extension(bit) for bit in bits]
        elif what == 3:
            fields["flags"] = self.random.randrange(16)
        elif what == 4:
            name = self.random.choice(("op", "header_len", "flags", "extensions", "payload_len",
                                       "src_epoch", "dst_epoch", "tenant", "dst_port", "src_port"))
            size = {"op": 1, "header_len": 1, "flags": 1, "src_epoch": 4, "dst_epoch": 4,
                    "tenant": 4}.get(name, 2)
            fields[name] = self.number(size)
        if kind == KINDS["lookup"] and fields["op"] == LOOKUP_FOUND:
            payload = self.address(source)
        elif kind == KINDS["lookup"] and fields["op"] in ABOUT_HOSTS:
            payload = target.mac + self.random.randbytes(HOST_LEN + self.random.randrange(-20, 200))
        elif kind in (KINDS["data"], KINDS["datagram"]):
            payload = self.random.randbytes(self.random.randrange(200))
        return build(source, target, fields, extensions, payload)

    def watch(self):
        """Remembers some of the victims' frames, new ones for old."""
        for count, frame in enumerate(self.wire.frames(0)):
            if self.groups_only and not (frame[0] & 1 and frame[26:28] == TAGGED):
                continue
            if frame[6:12] in self.victims and (not self.kind or frame[22] & 15 == self.kind):
                if len(self.kept) < KEPT:
                    self.kept.append(frame)
                else:
                    self.kept[self.random.randrange(KEPT)] = frame
            if count > 50:
                break

    def damaged(self, frame):
        """One byte of the header is another one, or the frame ends early."""
        if not self.random.randrange(4):
            return frame[:self.random.randrange(14, 46)]
        at = self.random.randrange(14, 14 + frame[24])
        return frame[:at] + bytes((frame[at] ^ self.random.randrange(1, 256),)) + frame[at + 1:]

    def replay(self):
        frame = self.random.choice(self.kept)
        return frame if self.random.randrange(2) else self.damaged(frame)

    def mutate(self):
        frame = self.random.choice(self.kept)
        at = self.random.randrange(14, len(frame) if self.random.randrange(2) else 14 + frame[24])
        size = self.random.choice((1, 2, 4))
        frame = frame[:at] + self.number(size).to_bytes(size, "big") + frame[at + size:]
        return with_checksum(frame)

    def intrude(self):
        """A group's frame, from this host: other bytes, of a frame and an operation near it, most
        often one that has not begun."""
        frame = bytearray(self.random.choice(self.kept))
        frame[6:12] = self.wire.mac
        if self.random.randrange(2):
            struct.pack_into(">H", frame, 14 + 2, MY_PORT)
            struct.pack_into(">I", frame, 14 + 16, MY_EPOCH)
        for at, near in ((14 + 32 + 4, 40), (14 + 40 + 4, 16)): # the tag's arg, the CQ data's end
            value, = struct.unpack_from(">I", frame, at)
            struct.pack_into(">I", frame, at, (value + self.random.randrange(near)) & 0xffffffff)
        begin = 14 + frame[24]
        frame[begin:] = self.random.randbytes(len(frame) - begin)
        return with_checksum(bytes(frame))

    def attack(self, way, rate, seconds):
        began = time.monotonic()
        count = 0
        while time.monotonic() < began + seconds:
            if way != "forge":
                self.watch()
            while count < (time.monotonic() - began) * rate:
                count += 1
                if way == "forge" or self.kept:
                    frame = getattr(self, way)()
                    (self.wire.send_error if self.errors else self.wire.send)(frame)
            time.sleep(0.002)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("way", choices=("forge", "replay", "mutate", "intrude"))
    parser.add_argument("--nic", required=True)
    parser.add_argument("--victim", action="append", required=True)
    parser.add_argument("--kind", choices=(*KINDS, "icmp"))
    parser.add_argument("--udp", metavar="OWN-ADDRESS")
    parser.add_argument("--rate", type=float, default=300)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.udp:
        wire = UdpWire(options.nic, options.udp, options.victim)
    else:
        wire = Wire(options.nic, options.victim)
    Attacker(options, wire).attack(options.way, options.rate, options.seconds)
    print(f"{wire.sent} frames sent, {wire.refused} refused by the own NIC")


if __name__ == "__main__":
    main()
