// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * How long each process of an MPI program is inside MPI, whatever the program: a library that
 *stands before Open MPI's own and times the calls that may wait or move data, from C and from
 *Fortran.
 *
 *	gcc -O2 -shared -fPIC -o mpi_time.so mpi_time.c -ldl
 *	mpirun -x LD_PRELOAD=./mpi_time.so -x MPI_TIME_FILE=FILE ... PROGRAM
 *
 * Each process appends a line of JSON to FILE when it ends: its time since it was loaded, its
 * processor time, its time inside MPI, and of that in MPI_Init and MPI_Finalize (s), and how many
 * calls.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* MPI_Sendrecv has the most, 13 in Fortran. What a caller did not pass is passed on unseen. */
#define ARGUMENTS                                                                               \
	long a, long b, long c, long d, long e, long f, long g, long h, long i, long j, long k, \
		long l, long m
#define PASSED a, b, c, d, e, f, g, h, i, j, k, l, m

static struct {
	double begun, inside; /* s */
	double ends;          /* of inside: MPI_Init and MPI_Finalize, s */
	unsigned long calls;
	unsigned int depth; /* calls from within calls are not counted */
} total;

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double) time.tv_sec + (double) time.tv_nsec / 1e9;
}

__attribute__((constructor)) static void begin(void)
{
	total.begun = now();
}

static double seconds(struct timeval time)
{
	return (double) time.tv_sec + (double) time.tv_usec / 1e6;
}

__attribute__((destructor)) static void write_times(void)
{
	const char *rank = getenv("OMPI_COMM_WORLD_RANK"), *path = getenv("MPI_TIME_FILE");
	struct rusage used;
	char line[256];
	int len, fd;

	if (!path)
		return;
	getrusage(RUSAGE_SELF, &used);
	len = snprintf(line, sizeof(line),
		       "{\"rank\":%s,\"wall_s\":%.4f,\"cpu_s\":%.4f,\"mpi_s\":%.4f,"
		       "\"ends_s\":%.4f,\"calls\":%lu}\n",
		       rank ? rank : "0", now() - total.begun,
		       seconds(used.ru_utime) + seconds(used.ru_stime), total.inside, total.ends,
		       total.calls);
	fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0 || write(fd, line, (size_t) len) != len)
		fprintf(stderr, "mpi_time: %s cannot be written\n", path);
	if (fd >= 0)
		close(fd);
}

static double entered(void)
{
	return total.depth++ ? 0 : now();
}

static void left(const char *name, double from)
{
	double took;

	if (--total.depth)
		return;
	took = now() - from;
	total.inside += took;
	total.calls++;
	if (strcasestr(name, "_init") || strcasestr(name, "_finalize"))
		total.ends += took;
}

#define TIMED(name)                                                 \
	long name(ARGUMENTS);                                       \
	long name(ARGUMENTS)                                        \
	{                                                           \
		static long (*next)(ARGUMENTS);                     \
		const double from = entered();                      \
		long result;                                        \
                                                                    \
		if (!next)                                          \
			*(void **) &next = dlsym(RTLD_NEXT, #name); \
		result = next(PASSED);                              \
		left(#name, from);                                  \
		return result;                                      \
	}

#define BOTH(name, fortran) TIMED(MPI_##name) TIMED(mpi_##fortran##_)

BOTH(Init, init)
BOTH(Init_thread, init_thread)
BOTH(Finalize, finalize)
BOTH(Send, send)
BOTH(Bsend, bsend)
BOTH(Ssend, ssend)
BOTH(Isend, isend)
BOTH(Recv, recv)
BOTH(Irecv, irecv)
BOTH(Sendrecv, sendrecv)
BOTH(Sendrecv_replace, sendrecv_replace)
BOTH(Probe, probe)
BOTH(Iprobe, iprobe)
BOTH(Test, test)
BOTH(Testany, testany)
BOTH(Testall, testall)
BOTH(Wait, wait)
BOTH(Waitany, waitany)
BOTH(Waitsome, waitsome)
BOTH(Waitall, waitall)
BOTH(Barrier, barrier)
BOTH(Bcast, bcast)
BOTH(Reduce, reduce)
BOTH(Allreduce, allreduce)
BOTH(Gather, gather)
BOTH(Gatherv, gatherv)
BOTH(Scatter, scatter)
BOTH(Scatterv, scatterv)
BOTH(Allgather, allgather)
BOTH(Allgatherv, allgatherv)
BOTH(Alltoall, alltoall)
BOTH(Alltoallv, alltoallv)
BOTH(Reduce_scatter, reduce_scatter)
BOTH(Scan, scan)
BOTH(Ibarrier, ibarrier)
BOTH(Ibcast, ibcast)
BOTH(Iallreduce, iallreduce)
BOTH(Iallgather, iallgather)
BOTH(Iallgatherv, iallgatherv)
BOTH(Iscatter, iscatter)
BOTH(Iscatterv, iscatterv)
BOTH(Comm_split, comm_split)
BOTH(Comm_dup, comm_dup)
BOTH(Comm_create, comm_create)
BOTH(Comm_free, comm_free)
BOTH(Cart_create, cart_create)
BOTH(Cart_sub, cart_sub)
BOTH(Win_create, win_create)
BOTH(Win_free, win_free)
BOTH(Win_lock_all, win_lock_all)
BOTH(Win_unlock_all, win_unlock_all)
BOTH(Win_flush_all, win_flush_all)
BOTH(Rget, rget)
