# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""TCP traffic in the background, as a file server's clients make it: one connection that is always
full, both sides asleep while there is nothing to do. Started by parts_shaped.py on two hosts.

    background.py PORT            receives until the other side ends; prints "ready" first
    background.py PORT ADDRESS    sends for as long as it lives
"""

import socket
import sys

PIECE = 1 << 18  # bytes


def receive(port):
    with socket.create_server(("", port)) as listener:
        print("ready", flush=True)
        with listener.accept()[0] as connection:
            while connection.recv(PIECE):
                pass


def send(port, address):
    piece = bytes(PIECE)
    with socket.create_connection((address, port)) as connection:
        print("ready", flush=True)
        while True:
            connection.sendall(piece)


if __name__ == "__main__":
    if len(sys.argv) == 2:
        receive(int(sys.argv[1]))
    else:
        send(int(sys.argv[1]), sys.argv[2])
