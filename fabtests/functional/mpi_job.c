// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * A parallel job for test_slurm.sh, which builds it with mpicc: each process exchanges messages
 * with each, contents checked. "mpi_job wait" then waits for messages that nobody sends, to be
 * ended from outside.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SIZE_MAX_BYTES = 1 << 20, SIZES = 5 };

static const int sizes[SIZES] = {0, 1, 1000, 70000, SIZE_MAX_BYTES};

static int rank, ranks;
static char *out, *in;

/* What process `from` sends to `to`, at each place another. */
static char content(int from, int to, int place)
{
	return (char) (from * 31 + to * 7 + place);
}

static void exchange(int to, int from, int size)
{
	int i;

	for (i = 0; i < size; i++)
		out[i] = content(rank, to, i);
	MPI_Sendrecv(out, size, MPI_BYTE, to, size, in, size, MPI_BYTE, from, size, MPI_COMM_WORLD,
		     MPI_STATUS_IGNORE);
	for (i = 0; i < size && in[i] == content(from, rank, i); i++)
		;
	if (i < size) {
		fprintf(stderr, "rank %d: %d bytes from %d are damaged at %d\n", rank, size, from,
			i);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
}

static void exchange_with_all(void)
{
	int distance, i, sum = 0;

	for (distance = 0; distance < ranks; distance++)
		for (i = 0; i < SIZES; i++)
			exchange((rank + distance) % ranks, (rank + ranks - distance) % ranks,
				 sizes[i]);
	MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (sum != ranks * (ranks - 1) / 2)
		MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char **argv)
{
	char host[64] = "", nothing[8];

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	gethostname(host, sizeof(host) - 1);
	out = malloc(SIZE_MAX_BYTES);
	in = malloc(SIZE_MAX_BYTES);
	if (!out || !in)
		MPI_Abort(MPI_COMM_WORLD, 1);
	exchange_with_all();
	printf("rank %d of %d on %s, user %u: all arrived\n", rank, ranks, host,
	       (unsigned) getuid());
	fflush(stdout);
	if (argc > 1 && !strcmp(argv[1], "wait"))
		MPI_Recv(nothing, sizeof(nothing), MPI_BYTE, (rank + 1) % ranks, 0, MPI_COMM_WORLD,
			 MPI_STATUS_IGNORE);
	free(out);
	free(in);
	MPI_Finalize();
	return 0;
}
