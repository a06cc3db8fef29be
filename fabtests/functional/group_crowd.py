# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Multicast through gammad, asked for by its socket's messages: a crowd that joins as many groups
as a user may, a member that counts what arrives, and a sender. test_gammad_groups.sh runs it."""

import array
import os
import socket
import struct
import sys
import time

OPEN, JOIN, LEAVE = 1, 12, 14
EACH = 16  # groups of an endpoint
GROUP, PORT = bytes.fromhex("03000000aa01"), 77
ETHERTYPE, KIND = 0x88B5, 1 << 4 | 1
SOL_PACKET, PACKET_STATISTICS, SO_RCVBUFFORCE = 263, 6, 33
MARK = b"GROUP OF ANOTHER USER"


def ask(kind, body):
    """The connection, the answer and its descriptors."""
    to = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    to.connect("/run/gammad/socket")
    to.send(struct.pack("=IHHII", 0x676D6264, 2, kind, 16 + len(body), 0) + body)
    data, control = to.recvmsg(200, socket.CMSG_SPACE(8))[:2]
    fds = array.array("i")
    for _, _, bytes_ in control:
        fds.frombytes(bytes_)
    return to, data, list(fds)


class Endpoint:
    """One of the calling user."""

    def __init__(self, nic):
        self.held, data, self.fds = ask(OPEN, struct.pack("=6sHIH6sI", nic, 0, 7, ETHERTYPE,
                                                          bytes(6), 65536))
        self.reason = struct.unpack_from("=I", data, 12)[0]
        if not self.reason:
            self.mac, self.port, self.tenant = struct.unpack_from("=6sHI", data, 16)
            self.socket = socket.socket(fileno=self.fds[0])

    def group(self, kind, group, port, receives):
        """The reason, 0 for none, and the group's socket."""
        _, data, fds = ask(kind, struct.pack("=6sH6sHII", self.mac, self.port, group, port,
                                             receives, 0))
        return struct.unpack_from("=I", data, 12)[0], fds[0] if fds else -1

    def frame(self):
        return GROUP + self.mac + struct.pack("!HHHI", ETHERTYPE, PORT, self.port, self.tenant) + \
            bytes([KIND, 0]) + bytes(24) + MARK


def become(uid):
    """That user, without any capability."""
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def say(*words):
    print(*words, flush=True)


def wait():
    """Until the test has made the file that says so."""
    while not os.path.exists(f"{sys.argv[0]}.{sys.argv[1]}.done"):
        time.sleep(0.02)


def crowd(nic):
    """Joins until it is refused; stays."""
    kept, count, reason = [], 0, 0
    while not reason:
        endpoint = Endpoint(nic)
        reason = endpoint.reason
        for i in range(0 if reason else EACH):
            group = bytes([3, 0, 0, 1, count >> 8, count & 255])
            reason, fd = endpoint.group(JOIN, group, 1000 + i, 1)
            if reason:
                break
            kept.append((endpoint, fd))
            count += 1
    say("joined", count)
    wait()


def member(nic):
    """Joins one group, stays, and says what arrived on the way."""
    endpoint = Endpoint(nic)
    reason, fd = endpoint.group(JOIN, GROUP, PORT, 1)
    say("member", reason)
    wait()
    arrived = socket.socket(fileno=fd).getsockopt(SOL_PACKET, PACKET_STATISTICS, 8)
    say("arrived", struct.unpack("=II", arrived)[0])


def sender(nic, count):
    """Sends to the group; with what each frame took, for those who measure."""
    endpoint = Endpoint(nic)
    say("sender", endpoint.group(JOIN, GROUP, PORT, 0)[0])
    frame, times = endpoint.frame(), []
    for _ in range(count):
        begin = time.perf_counter()
        endpoint.socket.send(frame)
        times.append(time.perf_counter() - begin)
    times.sort()
    say("sent", count, "median_us", round(times[count // 2] * 1e6, 1))


def churn(nic, count):
    """Joins and leaves again and again."""
    endpoint = Endpoint(nic)
    for _ in range(count):
        endpoint.group(JOIN, GROUP, PORT, 0)
        endpoint.group(LEAVE, GROUP, PORT, 0)
    say("churned", count)


def tap(names):
    """In gammad's namespace, as root: the frames of the sender on each of these interfaces."""
    taps = {}
    for name in names:
        taps[name] = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        taps[name].setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 16 << 20)
        taps[name].bind((name, 0))
    say("taps")
    wait()
    for name, one in taps.items():
        seen = 0
        one.setblocking(False)
        try:
            while True:
                seen += MARK in one.recv(2000)
        except BlockingIOError:
            pass
        say(name.split(".")[0], seen)


if __name__ == "__main__":
    if sys.argv[1] == "tap":
        tap(sys.argv[2:])
    else:
        become(int(sys.argv[2]))
        globals()[sys.argv[1]](bytes.fromhex(sys.argv[3].replace(":", "")),
                               *map(int, sys.argv[4:]))
