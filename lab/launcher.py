#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Stands in for ssh: starts commands on other hosts of the lab for an ordinary user. The server
runs as root outside of the hosts for as long as its mpirun (mpirun.sh starts it); the client is
mpirun's remote shell. A command runs as the user who asked, as reported by the kernel.

    launcher.py serve SOCKET USER COMMAND...  COMMAND USER HOST sh -c WORDS for each request
    launcher.py ask SOCKET [OPTION...] HOST WORD..."""
import os
import pwd
import signal
import socket
import struct
import subprocess
import sys
import threading

REQUEST_MAX = 1 << 20  # bytes


def receive(connection):
    """The request, and the caller's standard input, output and error."""
    data, files, _, _ = socket.recv_fds(connection, REQUEST_MAX, 3)
    while not data.endswith(b"\0\0"):
        more = connection.recv(REQUEST_MAX)
        if not more:
            break
        data += more
    host, words = data.rstrip(b"\0").split(b"\0", 1)
    return host.decode(), words.decode(), files


def caller(connection):
    size = struct.calcsize("3i")
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    return pwd.getpwuid(struct.unpack("3i", credentials)[1]).pw_name


def watch(connection, process):
    """The command ends when its caller is gone."""
    connection.recv(1)
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGTERM)


def answer(connection, user, command):
    host, words, files = receive(connection)
    if caller(connection) != user:
        connection.sendall(bytes([126]))
        return
    # pylint: disable-next=consider-using-with # waited for below
    process = subprocess.Popen(command + [user, host, "sh", "-c", words], stdin=files[0],
                               stdout=files[1], stderr=files[2], start_new_session=True)
    for file in files:
        os.close(file)
    threading.Thread(target=watch, args=(connection, process), daemon=True).start()
    status = process.wait()
    try:
        connection.sendall(bytes([status if status >= 0 else 128 - status]))
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # it did not wait


def serve(path, user, command):
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(path)
    os.chown(path, pwd.getpwnam(user).pw_uid, -1)
    os.chmod(path, 0o600)
    listener.listen(64)
    print("ready", flush=True)
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=answer, args=(connection, user, command), daemon=True).start()


def ask(path, words):
    while words and words[0].startswith("-"):
        words = words[1:]
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.connect(path)
    request = words[0].encode() + b"\0" + " ".join(words[1:]).encode() + b"\0\0"
    socket.send_fds(connection, [request], [0, 1, 2])
    status = connection.recv(1)
    return status[0] if status else 255


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2], sys.argv[3], sys.argv[4:])
    sys.exit(ask(sys.argv[2], sys.argv[3:]))
