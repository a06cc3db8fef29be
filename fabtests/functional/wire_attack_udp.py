# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""For wire_attack.py: the same frames in UDP datagrams over IPv4. Inside, a frame has the pseudo
Ethernet header that its checksum covers; on the wire it is a datagram with any source address. ICMP
errors that quote such a datagram can be forged, too."""
import select
import socket
import struct

from hostile_wire import ETHERTYPE

ETH_P_IP, UDP, ICMP = 0x0800, 17, 1
MY_PORT = 40000
ICMP_UNREACHABLE, ICMP_PORT = 3, 3
ICMP_QUOTES = 92 # bytes of the datagram, with its IP header


def pseudo_mac(address):
    return b"\x02\x04" + socket.inet_aton(address)


def sum16(data):
    """The checksum of IP and ICMP."""
    total = sum(struct.unpack(f">{len(data) // 2}H", data[:len(data) & ~1]))
    if len(data) % 2:
        total += data[-1] << 8
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def ip_packet(source, target, protocol, body):
    head = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(body), 0, 0x4000, 64, protocol, 0,
                       source, target)
    return head[:10] + struct.pack(">H", sum16(head)) + head[12:] + body


class UdpWire:
    """As wire_attack.Wire. A victim is ADDRESS,MAC,PORT."""

    def __init__(self, nic, address, victims):
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_IP))
        self.socket.bind((nic, ETH_P_IP))
        member = struct.pack("iHH8s", socket.if_nametoindex(nic), 1, 0, b"") # PACKET_MR_PROMISC
        self.socket.setsockopt(263, 1, member) # SOL_PACKET, PACKET_ADD_MEMBERSHIP
        self.hardware = self.socket.getsockname()[4]
        self.mac = pseudo_mac(address)
        # The kernel answers what comes for a port without a socket.
        self.sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sink.bind((address, MY_PORT))
        self.hosts = {self.mac: (self.hardware, MY_PORT)}
        self.victims = []
        for victim in victims:
            ip, mac, port = victim.split(",")
            self.victims.append(pseudo_mac(ip))
            self.hosts[pseudo_mac(ip)] = bytes.fromhex(mac.replace(":", "")), int(port)
        self.sent = self.refused = 0

    def port_of(self, mac):
        return self.hosts[mac][1]

    def datagram(self, frame):
        """The IP packet with that frame, from its source's port to its target's."""
        target, source = frame[0:6], frame[6:12]
        body = frame[14:]
        if len(body) >= 32: # what pads a short frame is no part of it
            length = frame[24] + int.from_bytes(frame[28:30], "big")
            body = body[:length] if length >= 32 else body
        head = struct.pack(">HHHH", self.port_of(source), self.port_of(target), 8 + len(body), 0)
        return ip_packet(source[2:], target[2:], UDP, head + body)

    def emit(self, target, packet):
        try:
            self.socket.send(self.hosts[target][0] + self.hardware +
                             struct.pack(">H", ETH_P_IP) + packet)
            self.sent += 1
        except OSError: # longer than the MTU
            self.refused += 1

    def send(self, frame):
        self.emit(frame[0:6], self.datagram(frame))

    def send_error(self, frame):
        """Port unreachable, as if the frame's source had sent it to a port without an owner."""
        quoted = self.datagram(frame)[:ICMP_QUOTES]
        icmp = struct.pack(">BBHI", ICMP_UNREACHABLE, ICMP_PORT, 0, 0) + quoted
        icmp = icmp[:2] + struct.pack(">H", sum16(icmp)) + icmp[4:]
        self.emit(frame[6:12], ip_packet(frame[2:6], frame[8:12], ICMP, icmp))

    def frames(self, wait):
        """Those that have arrived, without the own ones."""
        while select.select([self.socket], [], [], wait)[0]:
            packet, address = self.socket.recvfrom(65535)
            wait = 0
            if address[2] == 4 or len(packet) < 74 or packet[14] != 0x45 or packet[23] != UDP:
                continue
            source, target = b"\x02\x04" + packet[26:30], b"\x02\x04" + packet[30:34]
            if source in self.hosts and target in self.hosts:
                yield target + source + struct.pack(">H", ETHERTYPE) + packet[42:]
