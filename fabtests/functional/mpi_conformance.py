#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""All that an MPI program may ask of the layer below, with every byte compared. Started by
fabtests/functional/mpi.sh with mpirun, on any MPI library that mpi4py can load.

    mpi_conformance.py [GROUP...]   messages collective onesided threads spawn sessions
                                    (default: all but sessions)

Rank 0 writes one line a test, "ok NAME", "skip NAME: why" or "FAILED NAME: what"; exit
status 1 if one failed."""
import array
import os
import sys
import threading

from mpi4py import MPI  # pylint: disable=import-error # comes as a wheel

WORLD = MPI.COMM_WORLD
# Around the limits at which a provider or a library changes its way of sending.
SIZES = (0, 1, 8, 64, 255, 1023, 1460, 1500, 4095, 4096, 4097, 9001, 16384, 16385, 65537,
         1 << 20, (3 << 20) + 5)
PATTERN = bytes(i * 7 % 251 for i in range(251)) * 2


class Mismatch(Exception):
    """A byte, a count or a status is not what it has to be."""


def expect(got, wanted, what):
    if got != wanted:
        raise Mismatch(f"rank {WORLD.rank}: {what}: {str(got)[:60]}, not {str(wanted)[:60]}")


def fill(seed, size):
    """SIZE bytes that differ from those of adjacent seeds, wherever they begin."""
    start = seed % 251
    return (PATTERN[start:start + 251] * (size // 251 + 1))[:size]


def ring_peers(comm):
    return (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size


def ints(values):
    return array.array("q", values)


def int_buffer(values):
    return [values, MPI.INT64_T]


# ---- messages ----


def messages_sizes():
    right, left = ring_peers(WORLD)
    for number, size in enumerate(SIZES):
        into = bytearray(size)
        WORLD.Sendrecv(fill(number + WORLD.rank, size), right, number, into, left, number)
        expect(into == fill(number + left, size), True, f"{size} bytes around the ring")


def messages_modes():
    right, left = ring_peers(WORLD)
    MPI.Attach_buffer(bytearray(1 << 20))
    for size in (0, 100, 5000, 100000):
        for tag, send in enumerate((WORLD.Isend, WORLD.Issend, WORLD.Ibsend, WORLD.Irsend)):
            into = bytearray(size)
            receive = WORLD.Irecv(into, left, tag)
            WORLD.Barrier()  # a ready send needs the receive
            request = send(fill(tag + WORLD.rank, size), right, tag)
            MPI.Request.Waitall([receive, request])
            expect(into == fill(tag + left, size), True, f"mode {tag} of {size} bytes")
    MPI.Detach_buffer()


def messages_persistent():
    right, left = ring_peers(WORLD)
    out, into = bytearray(3000), bytearray(3000)
    requests = [WORLD.Recv_init(into, left, 9), WORLD.Send_init(out, right, 9)]
    for turn in range(20):
        out[:] = fill(turn + WORLD.rank, 3000)
        MPI.Prequest.Startall(requests)
        MPI.Request.Waitall(requests)
        expect(into == fill(turn + left, 3000), True, f"turn {turn}")
    for request in requests:
        request.Free()


def messages_unexpected():
    """Sent long before they are received, and received in the opposite order."""
    count, right, left = 60, *ring_peers(WORLD)
    sizes = [SIZES[tag % (len(SIZES) - 2)] for tag in range(count)]
    sends = [WORLD.Isend(fill(tag, sizes[tag]), right, tag) for tag in range(count)]
    for tag in reversed(range(count)):
        into = bytearray(sizes[tag])
        WORLD.Recv(into, left, tag)
        expect(into == fill(tag, sizes[tag]), True, f"message {tag}")
    MPI.Request.Waitall(sends)


def messages_order():
    """Of one tag, short and long alternating: they match in the order of sending."""
    right, left = ring_peers(WORLD)
    sizes = [(1, 20000, 300, 5000, 70000)[i % 5] for i in range(300)]
    sends = [WORLD.Isend(fill(i, size), right, 3) for i, size in enumerate(sizes)]
    for i, size in enumerate(sizes):
        into, status = bytearray(70000), MPI.Status()
        WORLD.Recv(into, left, 3, status)
        expect(status.Get_count(MPI.BYTE), size, f"length of message {i}")
        expect(into[:size] == fill(i, size), True, f"message {i}")
    MPI.Request.Waitall(sends)


def messages_wildcards():
    each = 25
    if WORLD.rank == 0:
        next_of = [0] * WORLD.size
        for _ in range(each * (WORLD.size - 1)):
            into, status = bytearray(9000), MPI.Status()
            WORLD.Recv(into, MPI.ANY_SOURCE, MPI.ANY_TAG, status)
            source, tag = status.Get_source(), status.Get_tag()
            expect(tag, next_of[source], f"tag from {source}")
            next_of[source] += 1
            expect(status.Get_count(MPI.BYTE), tag * 350, "length")
            expect(into[:tag * 350] == fill(source + tag, tag * 350), True, "contents")
    else:
        for tag in range(each):
            WORLD.Send(fill(WORLD.rank + tag, tag * 350), 0, tag)


def messages_probe():
    right, left = ring_peers(WORLD)
    for size in (0, 40, 12000, 300000):
        send = WORLD.Isend(fill(size, size), right, 21)
        status = MPI.Status()
        WORLD.Probe(MPI.ANY_SOURCE, 21, status)
        expect((status.Get_source(), status.Get_count(MPI.BYTE)), (left, size), "probed")
        while not WORLD.Iprobe(left, 21, status):
            pass
        message = WORLD.Mprobe(left, 21, status)
        expect(WORLD.Iprobe(left, 21), False, "probe of a message that was taken")
        into = bytearray(size)
        message.Recv(into, status)
        expect(into == fill(size, size), True, f"{size} bytes of a probed message")
        send.Wait()
        WORLD.Barrier()
    expect(WORLD.Iprobe(MPI.ANY_SOURCE, 22), False, "probe of nothing")


def messages_truncated():
    right, left = ring_peers(WORLD)
    for size in (100, 10000, 200000):
        send = WORLD.Isend(fill(5, size), right, 8)
        try:
            WORLD.Recv(bytearray(size // 2), left, 8)
            raise Mismatch(f"{size} bytes into {size // 2} are no error")
        except MPI.Exception as error:
            expect(error.Get_error_class(), MPI.ERR_TRUNCATE, "error class")
        send.Wait()
        into = bytearray(size)
        WORLD.Sendrecv(fill(6, size), right, 8, into, left, 8)
        expect(into == fill(6, size), True, "the message after")


def messages_cancelled():
    request, status = WORLD.Irecv(bytearray(10), ring_peers(WORLD)[1], 99), MPI.Status()
    request.Cancel()
    request.Wait(status)
    expect(status.Is_cancelled(), True, "cancelled")


def messages_self():
    for size in SIZES:
        into = bytearray(size)
        request = WORLD.Irecv(into, WORLD.rank, 1)
        WORLD.Send(fill(size, size), WORLD.rank, 1)
        request.Wait()
        expect(into == fill(size, size), True, f"{size} bytes to oneself")


def messages_strided():
    right, left = ring_peers(WORLD)
    column = MPI.INT64_T.Create_vector(500, 3, 7).Commit()
    out = ints(range(WORLD.rank, WORLD.rank + 3500))
    into = ints([-1] * 3500)
    WORLD.Sendrecv([out, 1, column], right, 2, [into, 1, column], left, 2)
    wanted = [left + i if i % 7 < 3 else -1 for i in range(3500)]
    expect(into.tolist() == wanted, True, "every third of seven")
    column.Free()


def messages_flood():
    """Everybody to everybody at once, more than credits or queues hold."""
    each, size = 200, 2000
    into = [[bytearray(size) for _ in range(each)] for _ in range(WORLD.size)]
    requests = [WORLD.Irecv(into[peer][i], peer, i)
                for peer in range(WORLD.size) for i in range(each)]
    requests += [WORLD.Isend(fill(i + WORLD.rank, size), peer, i)
                 for i in range(each) for peer in range(WORLD.size)]
    MPI.Request.Waitall(requests)
    for peer in range(WORLD.size):
        for i in range(each):
            expect(into[peer][i] == fill(i + peer, size), True, f"message {i} from {peer}")


# ---- collective ----


def communicators():
    yield WORLD
    copy = WORLD.Dup()
    yield copy
    copy.Free()
    half = WORLD.Split(WORLD.rank % 2, -WORLD.rank)
    yield half
    half.Free()


def collective_broadcast():
    for comm in communicators():
        for size in (0, 1, 3000, 50000, 1 << 20):
            for root in sorted({0, comm.size - 1}):
                data = bytearray(fill(size, size) if comm.rank == root else size)
                comm.Bcast(data, root)
                expect(data == fill(size, size), True, f"{size} bytes from {root}")


def collective_reduce():
    for comm in communicators():
        for count in (1, 100, 20000):
            mine = ints(range(comm.rank, comm.rank + count))
            total = ints([0] * count)
            base = comm.size * (comm.size - 1) // 2
            wanted = [base + comm.size * i for i in range(count)]
            comm.Allreduce(int_buffer(mine), int_buffer(total), MPI.SUM)
            expect(total.tolist() == wanted, True, f"sums of {count}")
            comm.Reduce(int_buffer(mine), int_buffer(total), MPI.MAX, 0)
            if comm.rank == 0:
                expect(total.tolist() == list(range(comm.size - 1, comm.size - 1 + count)), True,
                       f"maxima of {count}")
        one = ints([0])
        comm.Scan(int_buffer(ints([comm.rank + 1])), int_buffer(one))
        expect(one[0], (comm.rank + 1) * (comm.rank + 2) // 2, "scan")


def collective_gather():
    for comm in communicators():
        for size in (1, 2000, 60000):
            whole = b"".join(fill(rank, size) for rank in range(comm.size))
            mine, into = fill(comm.rank, size), bytearray(size * comm.size)
            comm.Allgather(mine, into)
            expect(into == whole, True, f"all gather {size}")
            into = bytearray(size * comm.size)
            comm.Gather(mine, into if comm.rank == 0 else None, 0)
            expect(comm.rank != 0 or into == whole, True, f"gather {size}")
            part = bytearray(size)
            comm.Scatter(whole if comm.rank == 0 else None, part, 0)
            expect(part == mine, True, f"scatter {size}")


def collective_alltoall():
    for comm in communicators():
        for size in (1, 1000, 40000):
            out = b"".join(fill(comm.rank * 16 + to, size) for to in range(comm.size))
            wanted = b"".join(fill(of * 16 + comm.rank, size) for of in range(comm.size))
            into = bytearray(len(out))
            comm.Alltoall(out, into)
            expect(into == wanted, True, f"all to all {size}")


def collective_uneven():
    counts = [1000 * rank + 1 for rank in range(WORLD.size)]
    mine, into = fill(WORLD.rank, counts[WORLD.rank]), bytearray(sum(counts))
    WORLD.Allgatherv(mine, [into, counts, MPI.BYTE])
    expect(into == b"".join(fill(r, n) for r, n in enumerate(counts)), True, "all gather v")


def collective_outstanding():
    """Several at once, on one communicator, completed together."""
    mine, sums = [ints([i]) for i in range(10)], [ints([0]) for _ in range(10)]
    data = [bytearray(fill(i, 3000) if WORLD.rank == i % WORLD.size else 3000)
            for i in range(10)]
    requests = []
    for i in range(10):
        requests.append(WORLD.Iallreduce(int_buffer(mine[i]), int_buffer(sums[i])))
        requests.append(WORLD.Ibcast(data[i], i % WORLD.size))
        requests.append(WORLD.Ibarrier())
    MPI.Request.Waitall(requests)
    for i in range(10):
        expect(sums[i][0], i * WORLD.size, f"sum {i}")
        expect(data[i] == fill(i, 3000), True, f"broadcast {i}")


def collective_communicators():
    """Groups come and go; their messages keep apart."""
    for turn in range(20):
        comm = WORLD.Split(turn % 2 and WORLD.rank % 2, WORLD.rank)
        total = ints([0])
        comm.Allreduce(int_buffer(ints([turn])), int_buffer(total))
        expect(total[0], turn * comm.size, f"turn {turn}")
        comm.Free()


# ---- onesided ----


def make_windows(size):
    """SIZE zeros each: in the library's memory, then in the program's."""
    window = MPI.Win.Allocate(size, 1, comm=WORLD)
    memory = window.tomemory()
    memory[:] = bytes(size)
    WORLD.Barrier()
    yield window, memory
    window.Free()
    memory = bytearray(size)
    window = MPI.Win.Create(memory, 1, comm=WORLD)
    yield window, memoryview(memory)
    window.Free()


def onesided_fence():
    right, left = ring_peers(WORLD)
    for window, memory in make_windows(1 << 20):
        for size in (1, 8, 1000, 4097, 100000, 1 << 20):
            window.Fence()
            out = fill(WORLD.rank, size)  # to be kept until the operation is over
            window.Put([out, MPI.BYTE], right)
            window.Fence()
            expect(bytes(memory[:size]) == fill(left, size), True, f"put {size}")
            into = bytearray(size)
            window.Fence()
            window.Get([into, MPI.BYTE], right)
            window.Fence()
            expect(into == fill(WORLD.rank, size), True, f"got {size}")


def onesided_start_post():
    right, left = ring_peers(WORLD)
    everybody = WORLD.Get_group()
    to, of = everybody.Incl([right]), everybody.Incl([left])
    for window, memory in make_windows(5000):
        for turn in range(10):
            window.Post(of)
            window.Start(to)
            out = fill(WORLD.rank + turn, 5000)
            window.Put([out, MPI.BYTE], right)
            window.Complete()
            window.Wait()
            expect(bytes(memory) == fill(left + turn, 5000), True, f"turn {turn}")


def onesided_lock():
    """One after the other writes its block at rank 0, and reads all that are there."""
    size = 3000
    for window, _ in make_windows(size * WORLD.size):
        for turn in range(5):
            window.Lock(0)
            out = fill(WORLD.rank + turn, size)
            window.Put([out, MPI.BYTE], 0, WORLD.rank * size)
            window.Unlock(0)
            WORLD.Barrier()
            into = bytearray(size * WORLD.size)
            window.Lock(0, MPI.LOCK_SHARED)
            window.Get([into, MPI.BYTE], 0)
            window.Unlock(0)
            for rank in range(WORLD.size):
                expect(into[rank * size:(rank + 1) * size] == fill(rank + turn, size), True,
                       f"block {rank}")
            WORLD.Barrier()


def onesided_accumulate():
    count = 1000
    for window, memory in make_windows(8 * count):
        mine = ints(range(count))
        window.Fence()
        for peer in range(WORLD.size):
            window.Accumulate(int_buffer(mine), peer, 0, MPI.SUM)
        window.Fence()
        expect(ints_of(memory) == [i * WORLD.size for i in range(count)], True, "sums")
        window.Fence()


def ints_of(memory):
    values = array.array("q")
    values.frombytes(bytes(memory))
    return values.tolist()


def onesided_types():
    """Of each type what its size and kind make different."""
    for code, datatype in (("b", MPI.INT8_T), ("H", MPI.UINT16_T), ("i", MPI.INT32_T),
                           ("f", MPI.FLOAT), ("d", MPI.DOUBLE)):
        zeros = array.array(code, [1, 2, 3])
        for window, memory in make_windows(len(zeros.tobytes())):
            memory[:] = zeros.tobytes()
            WORLD.Barrier()
            for operation in (MPI.SUM, MPI.MAX):
                fours = array.array(code, [4, 4, 4])
                window.Lock_all()
                window.Accumulate([fours, datatype], 0, 0, operation)
                window.Unlock_all()
                WORLD.Barrier()
            after = array.array(code)
            after.frombytes(bytes(memory))
            if WORLD.rank == 0:
                expect(after.tolist(), [i + 4 * WORLD.size for i in (1, 2, 3)], f"type {code}")
            WORLD.Barrier()


def onesided_unsigned():
    """The least and the greatest of numbers that would be negative if they had a sign."""
    for code, datatype, large in (("I", MPI.UINT32_T, (1 << 32) - 16),
                                  ("Q", MPI.UINT64_T, (1 << 64) - 16)):
        before = array.array(code, [5, large])
        for window, memory in make_windows(len(before.tobytes())):
            memory[:] = before.tobytes()
            WORLD.Barrier()
            if WORLD.rank == WORLD.size - 1:
                window.Lock(0)
                window.Accumulate([array.array(code, [large]), datatype], 0, 0, MPI.MAX)
                got = array.array(code, [0])
                window.Fetch_and_op([array.array(code, [5]), datatype], [got, datatype], 0,
                                    before.itemsize, MPI.MIN)
                window.Unlock(0)
                expect(got[0], large, f"fetched {code}")
            WORLD.Barrier()
            after = array.array(code)
            after.frombytes(bytes(memory))
            if WORLD.rank == 0:
                expect(after.tolist(), [large, 5], f"type {code}")
            WORLD.Barrier()


def onesided_fetch():
    """A counter at rank 0: everybody gets other numbers, and none is left out."""
    each = 50
    for window, _ in make_windows(8):
        got = []
        window.Lock_all()
        for _ in range(each):
            one, before = ints([1]), ints([-1])
            window.Fetch_and_op(int_buffer(one), int_buffer(before), 0)
            window.Flush(0)
            got.append(before[0])
        window.Unlock_all()
        together = WORLD.allgather(got)
        expect(sorted(sum(together, [])), list(range(each * WORLD.size)), "numbers")
        expect(got, sorted(got), "order of my own")


def onesided_compare():
    """Compare and swap as a lock around a read and a write."""
    each, one, zero = 20, ints([1]), ints([0])
    for window, memory in make_windows(16):
        window.Lock_all()
        for _ in range(each):
            seen = ints([1])
            while seen[0]:
                window.Compare_and_swap(int_buffer(one), int_buffer(zero), int_buffer(seen), 0)
                window.Flush(0)
            value = ints([0])
            window.Get(int_buffer(value), 0, 8)
            window.Flush(0)
            value[0] += 1
            window.Put(int_buffer(value), 0, 8)
            window.Flush(0)
            window.Fetch_and_op(int_buffer(zero), int_buffer(seen), 0, 0, MPI.REPLACE)
            window.Flush(0)
        window.Unlock_all()
        WORLD.Barrier()
        if WORLD.rank == 0:
            window.Lock(0)
            expect(ints_of(memory), [0, each * WORLD.size], "lock and counter")
            window.Unlock(0)
        WORLD.Barrier()


def onesided_get_accumulate():
    count = 200
    for window, _ in make_windows(8 * count):
        mine, before = ints([1] * count), ints([-1] * count)
        window.Lock(0)
        window.Get_accumulate(int_buffer(mine), int_buffer(before), 0)
        window.Unlock(0)
        expect(len(set(before.tolist())), 1, "all elements at once")
        turns = sorted(WORLD.allgather(before[0]))
        expect(turns, list(range(WORLD.size)), "one after the other")


def onesided_requests():
    right = ring_peers(WORLD)[0]
    for window, _ in make_windows(40000):
        out = [fill(i, 1000) for i in range(40)]
        window.Lock_all()
        puts = [window.Rput([out[i], MPI.BYTE], right, 1000 * i) for i in range(40)]
        MPI.Request.Waitall(puts)
        window.Flush_all()
        into = [bytearray(1000) for _ in range(40)]
        MPI.Request.Waitall([window.Rget([into[i], MPI.BYTE], right, 1000 * i)
                             for i in range(40)])
        for i in range(40):
            expect(into[i] == fill(i, 1000), True, f"part {i}")
        window.Unlock_all()


def onesided_dynamic():
    right, left = ring_peers(WORLD)
    window = MPI.Win.Create_dynamic(comm=WORLD)
    memory = MPI.memory.allocate(5000) if hasattr(MPI, "memory") else bytearray(5000)
    window.Attach(memory)
    places = WORLD.allgather(MPI.Get_address(memory))
    out = fill(WORLD.rank, 5000)
    window.Fence()
    window.Put([out, MPI.BYTE], right, places[right])
    window.Fence()
    expect(bytes(memory) == fill(left, 5000), True, "put into attached memory")
    WORLD.Barrier()
    window.Detach(memory)
    window.Free()


# ---- threads ----

THREADS = 4


def in_threads(work):
    """Runs work(number) in THREADS threads and passes on what one of them raised."""
    raised = []

    def run(number):
        try:
            work(number)
        except Exception as error:  # pylint: disable=broad-exception-caught
            raised.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if raised:
        raise raised[0]


def threads_tags():
    """One communicator; each thread has its own tag, and they send and receive at once."""
    right, left = ring_peers(WORLD)

    def work(number):
        for turn in range(30):
            size = (8, 3000, 20000)[turn % 3]
            into = bytearray(size)
            request = WORLD.Irecv(into, left, number)
            WORLD.Send(fill(number + turn, size), right, number)
            request.Wait()
            expect(into == fill(number + turn, size), True, f"thread {number} turn {turn}")

    in_threads(work)


def threads_communicators():
    """Each thread with collectives of its own."""
    comms = [WORLD.Dup() for _ in range(THREADS)]

    def work(number):
        for turn in range(15):
            total = ints([0] * 100)
            comms[number].Allreduce(int_buffer(ints([turn] * 100)), int_buffer(total))
            expect(total.tolist(), [turn * WORLD.size] * 100, f"thread {number} turn {turn}")

    in_threads(work)
    for comm in comms:
        comm.Free()


# ---- spawn ----


def count_all(everybody, wanted):
    """That all of a new communicator reach each other, with short messages and long ones."""
    expect(everybody.size, wanted, "size of all")
    expect(everybody.allreduce(1), wanted, "count of all")
    right, left = ring_peers(everybody)
    for size in (8, 5000, 300000):
        into = bytearray(size)
        everybody.Sendrecv(fill(everybody.rank, size), right, 1, into, left, 1)
        expect(into == fill(left, size), True, f"{size} bytes around the ring of all")


def spawn_child(parent):
    everybody = parent.Merge(True)
    count_all(everybody, everybody.size)
    everybody.Free()
    parent.Disconnect()


def spawn_connecting_child(parent):
    """Of two groups of children: one opens a port, the other receives its name."""
    serves = WORLD.rank == 0 and parent.recv(source=0, tag=1)
    if WORLD.bcast(serves):
        port = MPI.Open_port() if WORLD.rank == 0 else ""
        if WORLD.rank == 0:
            parent.send(port, 0, 2)
        others = WORLD.Accept(port)
    else:
        port = parent.recv(source=0, tag=2) if WORLD.rank == 0 else ""
        others = WORLD.Connect(port)
    everybody = others.Merge(False)
    count_all(everybody, WORLD.size + others.remote_size)
    everybody.Free()
    others.Disconnect()
    parent.Disconnect()


def spawn(count, kind):
    return WORLD.Spawn(sys.executable, [os.path.abspath(__file__), kind], count)


def spawn_two():
    children = spawn(2, "--child")
    everybody = children.Merge(False)
    count_all(everybody, WORLD.size + 2)
    everybody.Free()
    children.Disconnect()


def spawn_repeated():
    """What is known of children has to be forgotten when they are gone."""
    for _ in range(5):
        spawn_two()


def spawn_connected():
    """Two groups that know nothing of each other meet at a port."""
    server, client = spawn(2, "--connecting-child"), spawn(1, "--connecting-child")
    if WORLD.rank == 0:
        server.send(True, 0, 1)
        client.send(False, 0, 1)
        client.send(server.recv(source=0, tag=2), 0, 2)
    server.Disconnect()
    client.Disconnect()


CHILDREN = {"--child": spawn_child, "--connecting-child": spawn_connecting_child}


# ---- sessions ----


def sessions_ring():
    """Each with a communicator of its own, one inside the other and one after the other."""
    outer = MPI.Session.Init()
    for turn in range(3):
        inner = MPI.Session.Init()
        for session in (outer, inner):
            group = session.Create_group("mpi://WORLD")
            comm = MPI.Intracomm.Create_from_group(group, f"ring {turn}")
            count_all(comm, WORLD.size)
            comm.Free()
            group.Free()
        inner.Finalize()
    outer.Finalize()


# ---- running them ----


def has_sessions():
    """Open MPI 5.0 has them, and says that it is MPI 3.1."""
    try:
        MPI.Session.Init().Finalize()
    except NotImplementedError:
        return False
    return True


def why_not(group):
    if group == "threads" and MPI.Query_thread() < MPI.THREAD_MULTIPLE:
        return "this library was built without MPI_THREAD_MULTIPLE"
    if group == "sessions" and not has_sessions():
        return "this library has no sessions"
    return ""


def run_test(name, function):
    """True if it went well on every rank."""
    problem = ""
    try:
        function()
    except (Mismatch, MPI.Exception) as error:
        problem = str(error)
        print(f"rank {WORLD.rank}: {name}: {problem}", file=sys.stderr, flush=True)
    problems = [text for text in WORLD.allgather(problem) if text]
    if WORLD.rank == 0:
        print(f"FAILED {name}: {problems[0]}" if problems else f"ok {name}", flush=True)
    return not problems


def main():
    groups = sys.argv[1:] or ["messages", "collective", "onesided", "threads", "spawn"]
    good = True
    for group in groups:
        reason = why_not(group)
        if reason:
            if WORLD.rank == 0:
                print(f"skip {group}: {reason}", flush=True)
            continue
        for name, function in list(globals().items()):
            # A test by its full name, or all of a group.
            if name == group and "_" in name or name.startswith(group + "_") and \
                    function not in CHILDREN.values():
                good = run_test(name, function) and good
    return 0 if good else 1


if __name__ == "__main__":
    if len(sys.argv) == 2 and sys.argv[1] in CHILDREN:
        CHILDREN[sys.argv[1]](MPI.Comm.Get_parent())
        sys.exit(0)
    sys.exit(main())
