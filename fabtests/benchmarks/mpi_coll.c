// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Times of collective operations: from the begin at the root to the end at the last process, by
 * clocks that are compared beforehand. Without a root the last process's begin counts. All begin
 * together, after a barrier of messages that is the same for every library.
 *
 *	mpicc -O2 -o mpi_coll mpi_coll.c
 *	mpirun -np 8 ./mpi_coll [-n ROUNDS] [-w CALLS] [-b COMPONENT] [-c] [-v] NAME:BYTES...
 *
 * NAME: bcast, barrier, allreduce, reduce, allgather, gather; send (rank 0 to 1), pingpong (of
 *ranks 0 and 1, half a round trip). -w: so many calls before any is measured. -c: all processes
 *have one clock. -v: contents are compared. Prints a line for each: NAME BYTES MEDIAN LEAST, in us.
 *
 * -b: each round also makes the call on a copy of MPI_COMM_WORLD to which Open MPI does not give
 *this component for collective operations; these times follow as two more columns. Jobs of the same
 * command line differ by more than the two sides of one job.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	WARM_UP = 6,   /* calls before any is measured: groups are formed */
	SIDES = 2,     /* of a comparison: MPI_COMM_WORLD, and its copy */
	COMPARED = 64, /* round trips by which two clocks are compared */
	ROUNDS = 30,
	TRIPS = 100, /* round trips of a round of pingpong */
	ROOT = 0,
};

struct test {
	char name[16];
	size_t bytes; /* of each process */
};

static struct {
	int rank, ranks, rounds, warm_up, one_clock, verified;
	double offset; /* s: to be added to our clock to get rank 0's */
	unsigned char *from, *to;
	MPI_Comm sides[SIDES], comm; /* comm: of the call */
	int compared;                /* sides: 1 or SIDES */
} job = {.rounds = ROUNDS, .warm_up = WARM_UP, .compared = 1};

/* MPI_Wtime counts from a time of each process's own: Open MPI's from its first call. */
static double now(void)
{
	struct timespec time;

	if (!job.one_clock)
		return MPI_Wtime() + job.offset;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double) time.tv_sec + (double) time.tv_nsec * 1e-9;
}

/* ---- clocks ---- */

/* Of the shortest round trip, which was delayed least. */
static void compare_clock(int peer)
{
	double sent, theirs, best = 1e9, trip;
	int i;

	for (i = 0; i < COMPARED; i++) {
		sent = MPI_Wtime();
		MPI_Send(NULL, 0, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
		MPI_Recv(&theirs, 1, MPI_DOUBLE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		trip = MPI_Wtime() - sent;
		if (trip >= best)
			continue;
		best = trip;
		job.offset = theirs - (sent + trip / 2);
	}
}

static void answer_clock(int peer)
{
	double own;
	int i;

	for (i = 0; i < COMPARED; i++) {
		MPI_Recv(NULL, 0, MPI_BYTE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		own = MPI_Wtime();
		MPI_Send(&own, 1, MPI_DOUBLE, peer, 1, MPI_COMM_WORLD);
	}
}

static void compare_clocks(void)
{
	int peer;

	if (job.one_clock)
		return;
	for (peer = 1; peer < job.ranks; peer++) {
		if (!job.rank)
			answer_clock(peer);
		else if (job.rank == peer)
			compare_clock(0);
	}
}

/* ---- the calls ---- */

/* Of messages, whatever the library's own is. */
static void gather_up(void)
{
	int distance;

	for (distance = 1; distance < job.ranks; distance *= 2)
		MPI_Sendrecv(NULL, 0, MPI_BYTE, (job.rank + distance) % job.ranks, 2, NULL, 0,
			     MPI_BYTE, (job.rank - distance + job.ranks) % job.ranks, 2,
			     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void ping_pong(int bytes)
{
	int trip;

	for (trip = 0; trip < TRIPS && job.rank < 2; trip++) {
		if (!job.rank)
			MPI_Send(job.from, bytes, MPI_BYTE, 1, 3, job.comm);
		MPI_Recv(job.to, bytes, MPI_BYTE, !job.rank, 3, job.comm, MPI_STATUS_IGNORE);
		if (job.rank)
			MPI_Send(job.from, bytes, MPI_BYTE, 0, 3, job.comm);
	}
}

static void call(const struct test *test)
{
	const int bytes = (int) test->bytes, elements = bytes / (int) sizeof(long);

	if (!strcmp(test->name, "bcast"))
		MPI_Bcast(job.rank == ROOT ? job.from : job.to, bytes, MPI_BYTE, ROOT, job.comm);
	else if (!strcmp(test->name, "barrier"))
		MPI_Barrier(job.comm);
	else if (!strcmp(test->name, "allreduce"))
		MPI_Allreduce(job.from, job.to, elements, MPI_LONG, MPI_SUM, job.comm);
	else if (!strcmp(test->name, "reduce"))
		MPI_Reduce(job.from, job.to, elements, MPI_LONG, MPI_SUM, ROOT, job.comm);
	else if (!strcmp(test->name, "allgather"))
		MPI_Allgather(job.from, bytes, MPI_BYTE, job.to, bytes, MPI_BYTE, job.comm);
	else if (!strcmp(test->name, "gather"))
		MPI_Gather(job.from, bytes, MPI_BYTE, job.to, bytes, MPI_BYTE, ROOT, job.comm);
	else if (!strcmp(test->name, "pingpong"))
		ping_pong(bytes);
	else if (job.rank == 0)
		MPI_Send(job.from, bytes, MPI_BYTE, 1, 3, job.comm);
	else if (job.rank == 1)
		MPI_Recv(job.to, bytes, MPI_BYTE, 0, 3, job.comm, MPI_STATUS_IGNORE);
}

/* ---- contents ---- */

static unsigned char pattern(int rank, size_t at, int round)
{
	return (unsigned char) (at * 7 + at / 251 + (size_t) rank * 31 + (size_t) round);
}

static void fill(const struct test *test, int round)
{
	const int sums = strstr(test->name, "reduce") != NULL;
	size_t i;

	for (i = 0; i < test->bytes; i++)
		job.from[i] = sums ? 0 : pattern(job.rank, i, round);
	for (i = 0; sums && i + sizeof(long) <= test->bytes; i += sizeof(long))
		*(long *) (job.from + i) = (long) i + job.rank + round;
	memset(job.to, 0xee, test->bytes * (size_t) job.ranks);
}

static int sums_fit(const struct test *test, int round)
{
	const long ranks = job.ranks, of_ranks = ranks * (ranks - 1) / 2;
	size_t i;

	for (i = 0; i + sizeof(long) <= test->bytes; i += sizeof(long))
		if (*(long *) (job.to + i) != ranks * ((long) i + round) + of_ranks)
			return 0;
	return 1;
}

static int bytes_fit(const struct test *test, int from, int parts, int round)
{
	size_t i;
	int part;

	for (part = 0; part < parts; part++)
		for (i = 0; i < test->bytes; i++)
			if (job.to[(size_t) part * test->bytes + i] !=
			    pattern(from + part, i, round))
				return 0;
	return 1;
}

static int fits(const struct test *test, int round)
{
	if (!strcmp(test->name, "allreduce") || (!strcmp(test->name, "reduce") && job.rank == ROOT))
		return sums_fit(test, round);
	if (!strcmp(test->name, "allgather") || (!strcmp(test->name, "gather") && job.rank == ROOT))
		return bytes_fit(test, 0, job.ranks, round);
	if (!strcmp(test->name, "bcast") && job.rank != ROOT)
		return bytes_fit(test, ROOT, 1, round);
	return 1;
}

static void check(const struct test *test, int round)
{
	if (fits(test, round))
		return;
	fprintf(stderr, "mpi_coll: %s of %zu bytes, round %d: rank %d got wrong contents\n",
		test->name, test->bytes, round, job.rank);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

/* ---- rounds ---- */

static int compare(const void *a, const void *b)
{
	const double one = *(const double *) a, other = *(const double *) b;

	return (one > other) - (one < other);
}

/* Of all rounds, s; first and last at rank 0: of all processes. */
struct times {
	double *begins, *ends, *first, *last;
};

static void run_call(const struct test *test, int round, const struct times *times)
{
	double begin;

	if (job.verified)
		fill(test, round);
	gather_up();
	begin = now();
	call(test);
	if (round >= 0) {
		times->begins[round] = begin;
		times->ends[round] = now();
	}
	if (job.verified)
		check(test, round);
}

/* The sides take turns in being first. The copy needs few calls to be warm. */
static void run_rounds(const struct test *test, const struct times times[SIDES])
{
	int round, i, side;

	for (round = -job.warm_up; round < job.rounds; round++)
		for (i = 0; i < job.compared; i++) {
			side = job.compared > 1 ? i ^ (round & 1) : 0;
			if (side && round < -WARM_UP)
				continue;
			job.comm = job.sides[side];
			run_call(test, round, &times[side]);
		}
}

static int has_root(const struct test *test)
{
	return !strcmp(test->name, "bcast") || !strcmp(test->name, "send") ||
	       !strcmp(test->name, "pingpong");
}

/* At rank 0 the durations are in `last` then, the least one first. */
static void reduce_times(const struct test *test, const struct times *times)
{
	int round;

	for (round = 0; has_root(test) && job.rank && round < job.rounds; round++)
		times->begins[round] = -1e300;
	MPI_Reduce(times->begins, times->first, job.rounds, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
	MPI_Reduce(times->ends, times->last, job.rounds, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
	if (job.rank)
		return;
	for (round = 0; round < job.rounds; round++)
		times->last[round] = (times->last[round] - times->first[round]) * 1e6 /
				     (strcmp(test->name, "pingpong") ? 1 : 2 * TRIPS);
	qsort(times->last, (size_t) job.rounds, sizeof(*times->last), compare);
}

/* memory: 4 * SIDES * rounds. */
static void measure(const struct test *test, double *memory)
{
	struct times times[SIDES];
	int side;

	for (side = 0; side < SIDES; side++, memory += 4 * job.rounds)
		times[side] = (struct times){memory, memory + job.rounds, memory + 2 * job.rounds,
					     memory + 3 * job.rounds};
	run_rounds(test, times);
	for (side = 0; side < job.compared; side++)
		reduce_times(test, &times[side]);
	if (job.rank)
		return;
	printf("%s %zu", test->name, test->bytes);
	for (side = 0; side < job.compared; side++)
		printf(" %.2f %.2f", times[side].last[job.rounds / 2], times[side].last[0]);
	printf("\n");
}

/* component: that the copy is without. */
static void make_copy(const char *component)
{
	char without[64];
	MPI_Info info;

	snprintf(without, sizeof(without), "^%s", component);
	MPI_Info_create(&info);
	MPI_Info_set(info, "ompi_comm_coll_preference", without);
	MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &job.sides[1]);
	MPI_Info_free(&info);
	job.compared = SIDES;
}

/* ---- the command line ---- */

static void refuse(const char *text)
{
	static const char *const usage =
		"usage: mpi_coll [-n ROUNDS] [-w CALLS] [-b COMPONENT] [-c] [-v] NAME:BYTES...\n"
		"NAME: bcast barrier allreduce reduce allgather gather send pingpong\n";

	if (!job.rank)
		fprintf(stderr, "mpi_coll: %s\n%s", text, usage);
	MPI_Abort(MPI_COMM_WORLD, 2);
}

static void read_test(const char *word, struct test *test)
{
	static const char *const names[] = {"bcast",     "barrier", "allreduce", "reduce",
					    "allgather", "gather",  "send",      "pingpong"};
	const char *colon = strchr(word, ':');
	size_t i, len = colon ? (size_t) (colon - word) : 0;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (len == strlen(names[i]) && !strncmp(word, names[i], len))
			break;
	if (i == sizeof(names) / sizeof(names[0]))
		refuse("an argument names no operation");
	strcpy(test->name, names[i]);
	test->bytes = strtoul(colon + 1, NULL, 10);
	if (test->bytes > 1 << 28)
		refuse("more than 256 MiB");
}

static void read_options(int argc, char **argv)
{
	int option;

	while ((option = getopt(argc, argv, "n:w:b:cv")) != -1) {
		if (option == 'n')
			job.rounds = atoi(optarg);
		else if (option == 'w')
			job.warm_up = atoi(optarg);
		else if (option == 'b')
			make_copy(optarg);
		else if (option == 'c')
			job.one_clock = 1;
		else if (option == 'v')
			job.verified = 1;
		else
			refuse("an option that it does not have");
	}
	if (job.rounds < 1)
		refuse("-n needs a number of rounds");
	if (optind == argc)
		refuse("no operation is named");
}

int main(int argc, char **argv)
{
	struct test *tests;
	double *times;
	size_t largest = 0;
	int i, count;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &job.ranks);
	job.sides[0] = job.comm = MPI_COMM_WORLD;
	read_options(argc, argv);
	count = argc - optind;
	tests = calloc((size_t) count, sizeof(*tests));
	times = calloc(4 * SIDES * (size_t) job.rounds, sizeof(*times));
	for (i = 0; i < count; i++) {
		read_test(argv[optind + i], &tests[i]);
		largest = tests[i].bytes > largest ? tests[i].bytes : largest;
	}
	job.from = calloc(1, largest + sizeof(long));
	job.to = calloc((size_t) job.ranks, largest + sizeof(long));
	if (job.ranks < 2 || !tests || !times || !job.from || !job.to)
		refuse("two processes at least, and memory for all data, are needed");
	compare_clocks();
	for (i = 0; i < count; i++)
		measure(&tests[i], times);
	if (job.compared > 1)
		MPI_Comm_free(&job.sides[1]);
	MPI_Finalize();
	return 0;
}
