#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The six collective operations that coll/gamma carries, with all contents compared: sizes, types,
operations, roots, data in place and scattered, communicators that come and go, threads. Started by
fabtests/functional/test_coll.sh with mpirun.

    mpi_collectives.py [NAME...]    tests (default: all)

Rank 0 writes one line a test, "ok NAME" or "FAILED NAME: what"; exit status 1 if one failed."""
import array
import functools
import operator
import sys
import threading
import time

from mpi4py import MPI  # pylint: disable=import-error # comes as a wheel

WORLD = MPI.COMM_WORLD
# Around the payload of a frame, the limits between short and long, and far beyond.
SIZES = (1, 8, 255, 1024, 1459, 1460, 1461, 1500, 4096, 4097, 16385, 65536, 262147, (1 << 20) + 3)
PATTERN = bytes(i * 7 % 251 for i in range(251)) * 2
INTEGERS = {"b": MPI.INT8_T, "B": MPI.UINT8_T, "h": MPI.INT16_T, "H": MPI.UINT16_T,
            "i": MPI.INT32_T, "I": MPI.UINT32_T, "q": MPI.INT64_T, "Q": MPI.UINT64_T}
FLOATS = {"f": MPI.FLOAT, "d": MPI.DOUBLE}
# By their names in MPI.
ARITHMETIC = {"SUM": operator.add, "PROD": operator.mul, "MIN": min, "MAX": max}
LOGICAL = {"LAND": lambda a, b: int(bool(a) and bool(b)),
           "LOR": lambda a, b: int(bool(a) or bool(b)),
           "LXOR": lambda a, b: int(bool(a) != bool(b))}
BITWISE = {"BAND": operator.and_, "BOR": operator.or_, "BXOR": operator.xor}


class Mismatch(Exception):
    """Contents are not what they have to be."""


def expect(fits, what):
    if not fits:
        raise Mismatch(f"rank {WORLD.rank}: {what}")


def fill(seed, size):
    """SIZE bytes that differ from those of adjacent seeds, wherever they begin."""
    start = seed % 251
    return (PATTERN[start:start + 251] * (size // 251 + 1))[:size]


def roots(comm):
    return sorted({0, 1 % comm.size, comm.size // 2, comm.size - 1})


def warm_up(comm):
    """Until its processes have agreed."""
    for _ in range(4):
        comm.Barrier()


# ---- data as they are ----


def broadcast(comm=WORLD, sizes=SIZES):
    for size in sizes:
        for root in roots(comm):
            data = bytearray(fill(size + root, size) if comm.rank == root else size)
            comm.Bcast(data, root)
            expect(data == fill(size + root, size), f"broadcast of {size} from {root}")


def gather(comm=WORLD, sizes=SIZES[:12]):
    for size in sizes:
        whole = b"".join(fill(rank, size) for rank in range(comm.size))
        into = bytearray(len(whole))
        comm.Allgather(fill(comm.rank, size), into)
        expect(into == whole, f"all gather of {size}")
        for root in roots(comm):
            into = bytearray(len(whole))
            comm.Gather(fill(comm.rank, size), into if comm.rank == root else None, root)
            expect(comm.rank != root or into == whole, f"gather of {size} at {root}")


def barrier(comm=WORLD):
    """Nobody leaves before the last one comes; the hosts of a lab have one clock."""
    for late in range(comm.size):
        if comm.rank == late:
            time.sleep(0.02)
        begin = time.monotonic()
        comm.Barrier()
        end = time.monotonic()
        expect(comm.allreduce(begin, MPI.MAX) <= comm.allreduce(end, MPI.MIN),
               f"the barrier did not wait for {late}")


# ---- reductions ----


def operands(letter, rank, count):
    """Small, so that products and sums fit and floating point numbers are exact."""
    values = [(rank * 3 + i * 5) % 4 for i in range(count)]
    return array.array(letter, [v / 2 for v in values] if letter in FLOATS else values)


def reduce_one(comm, letter, datatype, name, function, count):
    op = getattr(MPI, name)
    mine = operands(letter, comm.rank, count)
    columns = zip(*(operands(letter, rank, count) for rank in range(comm.size)))
    wanted = [functools.reduce(function, column) for column in columns]
    into = array.array(letter, bytes(len(mine) * mine.itemsize))
    what = f"{name} of {count} {letter}"
    comm.Allreduce([mine, datatype], [into, datatype], op)
    expect(into.tolist() == wanted, "all reduce: " + what)
    for root in (0, comm.size - 1):
        into = array.array(letter, bytes(len(mine) * mine.itemsize))
        comm.Reduce([mine, datatype], [into, datatype] if comm.rank == root else None, op, root)
        expect(comm.rank != root or into.tolist() == wanted, "reduce: " + what)


def reduce(comm=WORLD, counts=(1, 7, 200, 3000)):
    for count in counts:
        for letter, datatype in {**INTEGERS, **FLOATS}.items():
            for op, function in ARITHMETIC.items():
                # A product of many would not fit a byte.
                if op != "PROD" or letter not in "bB" or comm.size <= 4:
                    reduce_one(comm, letter, datatype, op, function, count)
        for letter, datatype in INTEGERS.items():
            for op, function in {**LOGICAL, **BITWISE}.items():
                reduce_one(comm, letter, datatype, op, function, count)


def reduce_others():
    """What gamma does not have goes on as before: a user's operation, which does not commute, pairs
    of value and place, and a derived type."""
    def matrices(left, right, _datatype):
        a, b = (array.array("q", bytes(part)) for part in (left, right))
        product = array.array("q", [a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3],
                                    a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3]])
        right[:] = memoryview(product).cast("B")

    pack = MPI.INT64_T.Create_contiguous(4).Commit()
    op = MPI.Op.Create(matrices, commute=False)
    mine = array.array("q", [1, WORLD.rank + 1, 0, 1])
    into = array.array("q", [0] * 4)
    for _ in range(3):
        WORLD.Allreduce([mine, 1, pack], [into, 1, pack], op)
        expect(into.tolist() == [1, WORLD.size * (WORLD.size + 1) // 2, 0, 1], "matrices")
        pair, best = array.array("i", [WORLD.rank * 5 % 7, WORLD.rank]), array.array("i", [0, 0])
        WORLD.Allreduce([pair, 1, MPI.INT_INT], [best, 1, MPI.INT_INT], MPI.MAXLOC)
        wanted = max((rank * 5 % 7, -rank) for rank in range(WORLD.size))
        expect(best.tolist() == [wanted[0], -wanted[1]], "the greatest and its place")
    op.Free()
    pack.Free()


# ---- in place, and scattered ----


def in_place():
    size, root = 5000, WORLD.size - 1
    whole = b"".join(fill(rank, size) for rank in range(WORLD.size))
    mine = slice(WORLD.rank * size, (WORLD.rank + 1) * size)
    data = bytearray(len(whole))
    data[mine] = fill(WORLD.rank, size)
    WORLD.Allgather(MPI.IN_PLACE, data)
    expect(data == whole, "all gather in place")
    data = bytearray(len(whole))
    data[mine] = fill(WORLD.rank, size)
    if WORLD.rank == root:
        WORLD.Gather(MPI.IN_PLACE, data, root)
        expect(data == whole, "gather in place")
    else:
        WORLD.Gather(fill(WORLD.rank, size), None, root)
    numbers = array.array("q", range(WORLD.rank, WORLD.rank + 100))
    wanted = [WORLD.size * i + WORLD.size * (WORLD.size - 1) // 2 for i in range(100)]
    WORLD.Allreduce(MPI.IN_PLACE, [numbers, MPI.INT64_T], MPI.SUM)
    expect(numbers.tolist() == wanted, "all reduce in place")
    numbers = array.array("q", range(WORLD.rank, WORLD.rank + 100))
    if WORLD.rank == root:
        WORLD.Reduce(MPI.IN_PLACE, [numbers, MPI.INT64_T], MPI.SUM, root)
        expect(numbers.tolist() == wanted, "reduce in place")
    else:
        WORLD.Reduce([numbers, MPI.INT64_T], None, MPI.SUM, root)


def scattered():
    """Every second element, on every second process: the others have the same in a row."""
    for count in (1, 100, 20000):
        vector = MPI.INT32_T.Create_vector(count, 1, 2).Commit()
        apart = WORLD.rank % 2 == 1
        for root in roots(WORLD):
            wanted = array.array("i", range(root, root + count))
            data = array.array("i", [-1] * (2 * count if apart else count))
            if WORLD.rank == root:
                data[::2 if apart else 1] = wanted
            WORLD.Bcast([data, 1, vector] if apart else [data, MPI.INT32_T], root)
            expect(data[::2 if apart else 1] == wanted, f"{count} apart from {root}")
            expect(not apart or set(data[1::2]) == {-1}, "what is between")
        mine = array.array("i", [WORLD.rank] * (2 * count if apart else count))
        into = array.array("i", [0] * (count * WORLD.size))
        WORLD.Allgather([mine, 1, vector] if apart else [mine, MPI.INT32_T],
                        [into, count, MPI.INT32_T])
        expect(into.tolist() == [rank for rank in range(WORLD.size) for _ in range(count)],
               f"all gather of {count} apart")
        vector.Free()


# ---- communicators ----


def communicators():
    """Copies, halves and reordered ones; used while another one is, and freed."""
    for turn in range(6):
        copy = WORLD.Dup()
        half = WORLD.Split(WORLD.rank % 2, -WORLD.rank)
        for comm in (copy, half):
            warm_up(comm)
        for comm in (WORLD, copy, half, WORLD):
            broadcast(comm, (9, 3000))
            gather(comm, (9, 3000))
            reduce_one(comm, "q", MPI.INT64_T, "SUM", operator.add, 20 + turn)
        copy.Free()
        broadcast(half, (9, 3000))
        half.Free()


def many():
    """More than any limit of groups, all in use at once."""
    comms = [WORLD.Dup() for _ in range(40)]
    for _ in range(6):
        for number, comm in enumerate(comms):
            total = comm.allreduce(number)
            expect(total == number * comm.size, f"sum on communicator {number}")
            comm.Barrier()
            data = bytearray(fill(number, 100) if comm.rank == 0 else 100)
            comm.Bcast(data)
            expect(data == fill(number, 100), f"broadcast on communicator {number}")
    for comm in comms[::2] + comms[1::2]:
        comm.Free()


def alone():
    """Processes that take part in no group go their own way."""
    comm = WORLD.Split(int(WORLD.rank == 0), WORLD.rank)
    warm_up(comm)
    broadcast(comm, (9, 70000))
    reduce_one(comm, "i", MPI.INT32_T, "MAX", max, 50)
    comm.Free()


def beside_messages():
    """Messages, non-blocking operations and collective ones in between."""
    right, left = (WORLD.rank + 1) % WORLD.size, (WORLD.rank - 1) % WORLD.size
    for turn in range(20):
        into, data = bytearray(40000), bytearray(fill(turn, 900) if WORLD.rank == 0 else 900)
        requests = [WORLD.Irecv(into, left, turn),
                    WORLD.Isend(fill(turn + WORLD.rank, 40000), right, turn),
                    WORLD.Ibarrier()]
        WORLD.Bcast(data)
        total = array.array("q", [0])
        WORLD.Allreduce([array.array("q", [turn]), MPI.INT64_T], [total, MPI.INT64_T])
        MPI.Request.Waitall(requests)
        expect(data == fill(turn, 900), f"broadcast {turn}")
        expect(total[0] == turn * WORLD.size, f"sum {turn}")
        expect(into == fill(turn + left, 40000), f"message {turn}")


def threads():
    """One thread for each communicator, joined in any order."""
    if MPI.Query_thread() < MPI.THREAD_MULTIPLE:
        return
    comms, failures = [WORLD.Dup() for _ in range(4)], []

    def work(number, comm):
        try:
            for turn in range(25):
                size = (number * 37 + turn * 211) % 5000 + 1
                broadcast(comm, (size,))
                reduce_one(comm, "q", MPI.INT64_T, "SUM", operator.add, 1 + turn)
                comm.Barrier()
        except Mismatch as mismatch:
            failures.append(mismatch)

    workers = [threading.Thread(target=work, args=pair) for pair in enumerate(comms)]
    for worker in workers if WORLD.rank % 2 else workers[::-1]:
        worker.start()
    for worker in workers:
        worker.join()
    for comm in comms:
        comm.Free()
    if failures:
        raise failures[0]


TESTS = [broadcast, gather, barrier, reduce, reduce_others, in_place, scattered, communicators,
         many, alone, beside_messages, threads]


def main():
    names, failed = sys.argv[1:], 0
    warm_up(WORLD)
    for test in TESTS:
        if names and test.__name__ not in names:
            continue
        text = ""
        try:
            test()
        except Mismatch as mismatch:
            text = str(mismatch)
        texts = [text for text in WORLD.allgather(text) if text]
        failed += bool(texts)
        if WORLD.rank == 0:
            print(f"FAILED {test.__name__}: {texts[0]}" if texts else f"ok {test.__name__}",
                  flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
