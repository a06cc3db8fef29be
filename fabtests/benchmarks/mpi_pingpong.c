// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Ping-pong between two MPI processes: for each size of message the time one way. Built with an MPI
 * library's mpicc and started by its mpirun; the demonstration compares transports with it.
 *
 *	mpicc -O2 -o mpi_pingpong mpi_pingpong.c && mpirun -np 2 ./mpi_pingpong [BYTES...]
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	ROUNDS = 9,       /* of which the median counts: the machine's speed changes */
	BYTES = 2 << 20,  /* sent in a round each way, about */
	TRIPS_MAX = 1000, /* round trips of a round */
};

static const int usual[] = {0, 64, 1024, 4096, 16384, 65536, 1048576};

static int trips_of(int size)
{
	int trips = BYTES / (size + 1) + 4;

	return trips < TRIPS_MAX ? trips : TRIPS_MAX;
}

/* In us, one way. */
static double round_trip(char *buffer, int size, int rank)
{
	const int peer = !rank, trips = trips_of(size);
	double begin = MPI_Wtime();
	int trip;

	for (trip = 0; trip < trips; trip++) {
		if (!rank)
			MPI_Send(buffer, size, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
		MPI_Recv(buffer, size, MPI_BYTE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		if (rank)
			MPI_Send(buffer, size, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
	}
	return (MPI_Wtime() - begin) / trips / 2 * 1e6;
}

static int compare(const void *a, const void *b)
{
	const double one = *(const double *) a, other = *(const double *) b;

	return (one > other) - (one < other);
}

static double median(char *buffer, int size, int rank)
{
	double times[ROUNDS];
	int i;

	round_trip(buffer, size, rank);
	for (i = 0; i < ROUNDS; i++)
		times[i] = round_trip(buffer, size, rank);
	qsort(times, ROUNDS, sizeof(times[0]), compare);
	return times[ROUNDS / 2];
}

/* The sizes that the user wants, else the usual ones; how many. */
static int read_sizes(int argc, char **argv, int **sizes)
{
	int count = argc > 1 ? argc - 1 : (int) (sizeof(usual) / sizeof(usual[0])), i;

	*sizes = malloc((size_t) count * sizeof(**sizes));
	for (i = 0; *sizes && i < count; i++)
		(*sizes)[i] = argc > 1 ? atoi(argv[i + 1]) : usual[i];
	return count;
}

int main(int argc, char **argv)
{
	int rank, ranks, count, i, largest = 0, *sizes;
	char *buffer = NULL;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	count = read_sizes(argc, argv, &sizes);
	for (i = 0; sizes && i < count; i++)
		largest = sizes[i] > largest ? sizes[i] : largest;
	if (sizes)
		buffer = calloc(1, (size_t) largest + 1);
	if (ranks != 2 || !buffer) {
		fprintf(stderr, "mpi_pingpong: two processes are needed\n");
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	for (i = 0; i < count; i++) {
		const double us = median(buffer, sizes[i], rank);

		if (!rank)
			printf("%d %.3f\n", sizes[i], us);
	}
	free(buffer);
	free(sizes);
	MPI_Finalize();
	return 0;
}
