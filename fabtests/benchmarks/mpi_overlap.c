// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * How much of an MPI program's communication a computation overlaps: every process sends to the
 *next one and receives from the one before, with blocking sends, with non-blocking ones, and with
 * non-blocking ones while it computes, which takes twice as long as the communication alone.
 *
 *	mpicc -O2 -o mpi_overlap mpi_overlap.c
 *	mpirun -np 3 ./mpi_overlap [-c CPU] ROUNDS BYTES...
 *
 * With -c the program's own thread goes to that processor once MPI has begun; the transport's
 * threads stay free to run on the others that the process may use.
 *
 * Prints for each size, medians of the slowest process in us: communication alone, computation
 * alone, computing meanwhile, blocking then computing, non-blocking then computing; and the share
 * of the communication that was overlapped: the median of each round's share, from its first three
 * times. A machine's speed changes from one round to the next by more than the overlap.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS_MAX = 1000, CALIBRATION = 2000000 /* steps */, KINDS = 5 };

struct job {
	int rank, ranks, rounds, size; /* size: bytes */
	char *in, *out;
	long steps; /* of the computation */
};

typedef void (*what)(struct job *j);

static void compute(struct job *j)
{
	volatile unsigned long state = 1;
	long i;

	for (i = 0; i < j->steps; i++)
		state = state * 6364136223846793005ul + 1442695040888963407ul;
}

static void begin_receive(struct job *j, MPI_Request *request)
{
	MPI_Irecv(j->in, j->size, MPI_BYTE, (j->rank + j->ranks - 1) % j->ranks, 0, MPI_COMM_WORLD,
		  request);
}

static void begin_both(struct job *j, MPI_Request requests[2])
{
	begin_receive(j, &requests[0]);
	MPI_Isend(j->out, j->size, MPI_BYTE, (j->rank + 1) % j->ranks, 0, MPI_COMM_WORLD,
		  &requests[1]);
}

static void communicate(struct job *j)
{
	MPI_Request requests[2];

	begin_both(j, requests);
	MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void block_then_compute(struct job *j)
{
	MPI_Request request;

	begin_receive(j, &request);
	MPI_Send(j->out, j->size, MPI_BYTE, (j->rank + 1) % j->ranks, 0, MPI_COMM_WORLD);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	compute(j);
}

static void communicate_then_compute(struct job *j)
{
	communicate(j);
	compute(j);
}

static void compute_meanwhile(struct job *j)
{
	MPI_Request requests[2];

	begin_both(j, requests);
	compute(j);
	MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static int compare(const void *a, const void *b)
{
	const double one = *(const double *) a, other = *(const double *) b;

	return (one > other) - (one < other);
}

static double median(double *numbers, int count)
{
	qsort(numbers, (size_t) count, sizeof(numbers[0]), compare);
	return numbers[count / 2];
}

/* The slowest process counts, us. */
static double time_of(struct job *j, what function)
{
	double own, slowest;

	MPI_Barrier(MPI_COMM_WORLD);
	own = MPI_Wtime();
	function(j);
	own = (MPI_Wtime() - own) * 1e6;
	MPI_Allreduce(&own, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	return slowest;
}

static double median_of(struct job *j, what function)
{
	double times[ROUNDS_MAX];
	int i;

	for (i = 0; i < j->rounds; i++)
		times[i] = time_of(j, function);
	return median(times, j->rounds);
}

/* The computation takes twice as long as the communication. */
static void calibrate(struct job *j)
{
	double communication, computation;

	communicate(j);
	communication = median_of(j, communicate);
	j->steps = CALIBRATION;
	computation = median_of(j, compute);
	j->steps = (long) (2 * communication / computation * CALIBRATION) + 1;
}

/* Interleaved, since a machine's speed changes from second to second. */
static void measure(struct job *j)
{
	static const what kinds[KINDS] = {communicate, compute, compute_meanwhile,
					  block_then_compute, communicate_then_compute};
	static double times[KINDS][ROUNDS_MAX], overlap[ROUNDS_MAX];
	int i, kind;

	calibrate(j);
	for (i = 0; i < j->rounds; i++) {
		for (kind = 0; kind < KINDS; kind++)
			times[kind][i] = time_of(j, kinds[kind]);
		overlap[i] = (times[0][i] + times[1][i] - times[2][i]) / times[0][i];
	}
	if (j->rank)
		return;
	printf("%d", j->size);
	for (kind = 0; kind < KINDS; kind++)
		printf(" %.2f", median(times[kind], j->rounds));
	printf(" %.4f\n", median(overlap, j->rounds));
}

/* Takes the option away; argv[1] is the number of rounds then. */
static void stay_on_processor(int *argc, char ***argv)
{
	cpu_set_t set;

	if (*argc < 3 || strcmp((*argv)[1], "-c"))
		return;
	MPI_Barrier(MPI_COMM_WORLD);
	CPU_ZERO(&set);
	CPU_SET(atoi((*argv)[2]), &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		MPI_Abort(MPI_COMM_WORLD, 1);
	*argc -= 2;
	*argv += 2;
}

int main(int argc, char **argv)
{
	struct job j;
	int i;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &j.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &j.ranks);
	stay_on_processor(&argc, &argv);
	j.rounds = argc > 1 ? atoi(argv[1]) : 0;
	if (j.rounds < 1 || j.rounds > ROUNDS_MAX || j.ranks < 2) {
		fprintf(stderr, "mpi_overlap: ROUNDS BYTES..., with two processes or more\n");
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	for (i = 2; i < argc; i++) {
		j.size = atoi(argv[i]);
		j.in = calloc(1, (size_t) j.size + 1);
		j.out = calloc(1, (size_t) j.size + 1);
		if (!j.in || !j.out)
			MPI_Abort(MPI_COMM_WORLD, 1);
		measure(&j);
		free(j.in);
		free(j.out);
	}
	MPI_Finalize();
	return 0;
}
