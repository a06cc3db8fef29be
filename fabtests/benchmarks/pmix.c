// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * gamma-pmix: a libfabric provider between the processes of a job, which find each other through
 * PMIx: whatever starts PMIx programs (srun --mpi=pmix, mpirun, prterun) starts this one, and no
 * MPI is needed. For each pair of processes: latency, asymptotic bandwidth, half-power point and
 * transmission throughput, as figures.h defines them. --help says more.
 */
#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <pmix.h>

#include "command.h"
#include "figures.h"
#include "bench_ep.h"

enum {
	HOST_MAX = 64,
	POINTS_MAX = 34,
	WINDOW = 16,            /* messages of a stream in flight at a time */
	COUNT_MIN = 8,          /* round trips of the longest messages */
	BYTES_A_SIZE = 8 << 20, /* that round trips of one size carry each way, about */
	STREAM_FACTOR = 4       /* messages of a stream for each round trip */
};

enum { TAG_READY = 1, TAG_PING, TAG_STREAM, TAG_DONE };

static const char card_key[] = "gamma-pmix.card";

struct options {
	const char *provider, *domain;
	size_t largest;      /* bytes */
	unsigned long count; /* round trips of short messages */
	long pair[2];        /* ranks; -1: all */
	bool table, json;
};

/* What each process publishes to the others. */
struct card {
	char host[HOST_MAX];
	char name[BENCH_EP_NAME_MAX];
};

struct job {
	struct options options;
	struct bench_ep endpoint;
	pmix_proc_t self;
	uint32_t ranks;
	struct card *cards;
	fi_addr_t *addresses;
	char *in, *out;  /* options.largest bytes */
	uint64_t *times; /* options.count of them, ns */
};

static bool joined; /* PMIx knows of us: if this program ends now, the job is to end */

/* ---- PMIx ---- */

static void check_pmix(const char *what, pmix_status_t status)
{
	if (status == PMIX_SUCCESS)
		return;
	fprintf(stderr, "gamma-pmix: %s: %s\n", what, PMIx_Error_string(status));
	exit(1);
}

/* The others would wait forever. */
static void abort_job(void)
{
	if (joined)
		PMIx_Abort(1, "gamma-pmix failed", NULL, 0);
}

static void join(struct job *j)
{
	pmix_status_t status = PMIx_Init(&j->self, NULL, 0);
	pmix_value_t *value;
	pmix_proc_t all;

	if (status != PMIX_SUCCESS) {
		fprintf(stderr,
			"gamma-pmix: no PMIx server (%s): start it with srun --mpi=pmix, mpirun or "
			"prterun\n",
			PMIx_Error_string(status));
		exit(1);
	}
	joined = true;
	atexit(abort_job);
	all = j->self;
	all.rank = PMIX_RANK_WILDCARD;
	check_pmix("size of the job", PMIx_Get(&all, PMIX_JOB_SIZE, NULL, 0, &value));
	j->ranks = value->data.uint32;
	PMIX_VALUE_RELEASE(value);
}

static void leave(void)
{
	joined = false;
	check_pmix("PMIx_Finalize", PMIx_Finalize(NULL, 0));
}

static void arrived(pmix_status_t status, void *argument)
{
	__atomic_store_n((int *) argument, status == PMIX_SUCCESS ? 1 : -1, __ATOMIC_RELEASE);
}

/* Waits for all, asleep but for the provider, which may have something to repeat to a peer. */
static void fence(struct job *j, bool collect)
{
	struct timespec pause = {.tv_nsec = 500000};
	pmix_info_t info;
	int state = 0, now;

	PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
	check_pmix("PMIx_Fence", PMIx_Fence_nb(NULL, 0, &info, 1, arrived, &state));
	while (!(now = __atomic_load_n(&state, __ATOMIC_ACQUIRE))) {
		bench_ep_progress(&j->endpoint);
		nanosleep(&pause, NULL);
	}
	PMIX_INFO_DESTRUCT(&info);
	check_pmix("PMIx_Fence", now > 0 ? PMIX_SUCCESS : PMIX_ERROR);
}

static void publish(struct job *j)
{
	struct card card = {0};
	pmix_value_t value = {.type = PMIX_BYTE_OBJECT};

	gethostname(card.host, sizeof(card.host) - 1);
	bench_ep_name(&j->endpoint, card.name);
	value.data.bo.bytes = (char *) &card;
	value.data.bo.size = sizeof(card);
	check_pmix("PMIx_Put", PMIx_Put(PMIX_GLOBAL, card_key, &value));
	check_pmix("PMIx_Commit", PMIx_Commit());
	fence(j, true);
}

static void collect(struct job *j)
{
	pmix_proc_t peer = j->self;
	pmix_value_t *value;

	for (uint32_t rank = 0; rank < j->ranks; rank++) {
		peer.rank = rank;
		check_pmix("PMIx_Get", PMIx_Get(&peer, card_key, NULL, 0, &value));
		if (value->type != PMIX_BYTE_OBJECT || value->data.bo.size != sizeof(*j->cards))
			check_pmix("PMIx_Get: another version of this program", PMIX_ERR_BAD_PARAM);
		memcpy(&j->cards[rank], value->data.bo.bytes, sizeof(*j->cards));
		PMIX_VALUE_RELEASE(value);
		j->addresses[rank] = bench_ep_insert(&j->endpoint, j->cards[rank].name);
	}
}

/* ---- what is measured ---- */

static unsigned long trips_of(const struct job *j, size_t size)
{
	unsigned long count = BYTES_A_SIZE / (size + 1) + COUNT_MIN;

	return count < j->options.count ? count : j->options.count;
}

/* Both sides do as many round trips more, first, as are a tenth of those that count. */
static unsigned long warm_up_of(unsigned long count)
{
	return count / 10 + 2;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;

	return (x > y) - (x < y);
}

/* Half the median round trip, us. */
static double lead_ping(struct job *j, fi_addr_t peer, size_t size)
{
	unsigned long count = trips_of(j, size), warm_up = warm_up_of(count);
	struct bench_ep *s = &j->endpoint;

	bench_ep_post(s, NULL, 0, TAG_READY);
	bench_ep_receive(s);
	for (unsigned long i = 0; i < count + warm_up; i++) {
		uint64_t begin;

		bench_ep_post(s, j->in, size, TAG_PING);
		begin = bench_ep_now();
		bench_ep_send(s, peer, j->out, size, TAG_PING);
		bench_ep_receive(s);
		if (i >= warm_up)
			j->times[i - warm_up] = bench_ep_now() - begin;
	}
	qsort(j->times, count, sizeof(*j->times), compare);
	return (double) j->times[count / 2] / 2e3;
}

static void follow_ping(struct job *j, fi_addr_t peer, size_t size)
{
	unsigned long count = trips_of(j, size) + warm_up_of(trips_of(j, size));
	struct bench_ep *s = &j->endpoint;

	bench_ep_post(s, j->in, size, TAG_PING);
	bench_ep_send(s, peer, NULL, 0, TAG_READY);
	for (unsigned long i = 0; i < count; i++) {
		bench_ep_receive(s);
		if (i + 1 < count)
			bench_ep_post(s, j->in, size, TAG_PING);
		bench_ep_send(s, peer, j->out, size, TAG_PING);
	}
}

/* From the first message until the word that the last one has arrived, less that word's way. */
static double lead_stream(struct job *j, fi_addr_t peer, size_t size, double latency)
{
	unsigned long count = STREAM_FACTOR * trips_of(j, size), under_way = 0;
	struct bench_ep *s = &j->endpoint;
	uint64_t begin;

	bench_ep_post(s, NULL, 0, TAG_READY);
	bench_ep_post(s, NULL, 0, TAG_DONE);
	bench_ep_receive(s);
	begin = bench_ep_now();
	for (unsigned long i = 0; i < count; i++) {
		if (under_way == WINDOW)
			bench_ep_sent(s);
		else
			under_way++;
		bench_ep_begin_send(s, peer, j->out, size, TAG_STREAM);
	}
	for (; under_way; under_way--)
		bench_ep_sent(s);
	bench_ep_receive(s);
	return (double) count * (double) size / ((double) (bench_ep_now() - begin) / 1e3 - latency);
}

static void follow_stream(struct job *j, fi_addr_t peer, size_t size)
{
	unsigned long count = STREAM_FACTOR * trips_of(j, size), posted;
	struct bench_ep *s = &j->endpoint;

	for (posted = 0; posted < count && posted < WINDOW; posted++)
		bench_ep_post(s, j->in, size, TAG_STREAM);
	bench_ep_send(s, peer, NULL, 0, TAG_READY);
	for (unsigned long i = 0; i < count; i++) {
		bench_ep_receive(s);
		if (posted++ < count)
			bench_ep_post(s, j->in, size, TAG_STREAM);
	}
	bench_ep_send(s, peer, NULL, 0, TAG_DONE);
}

/* 0, then the powers of two, and the largest. */
static size_t sizes(const struct job *j, size_t list[POINTS_MAX])
{
	size_t count = 0;

	list[count++] = 0;
	for (size_t size = 1; size < j->options.largest; size *= 2)
		list[count++] = size;
	list[count++] = j->options.largest;
	return count;
}

static void measure(struct job *j, uint32_t rank, struct figures_point *points)
{
	size_t list[POINTS_MAX], count = sizes(j, list);
	fi_addr_t peer = j->addresses[rank];

	for (size_t i = 0; i < count; i++) {
		points[i].bytes = (double) list[i];
		points[i].delay = lead_ping(j, peer, list[i]);
		points[i].stream = lead_stream(j, peer, list[i], points[0].delay);
	}
}

static void follow(struct job *j, uint32_t rank)
{
	size_t list[POINTS_MAX], count = sizes(j, list);
	fi_addr_t peer = j->addresses[rank];

	for (size_t i = 0; i < count; i++) {
		follow_ping(j, peer, list[i]);
		follow_stream(j, peer, list[i]);
	}
}

/* ---- output ---- */

static void print_table(FILE *to, const struct figures_point *points, size_t count)
{
	fprintf(to, "# %10s %12s %12s %12s\n", "bytes", "delay us", "T MB/s", "stream MB/s");
	for (size_t i = 0; i < count; i++)
		fprintf(to, "%12.0f %12.3f %12.2f %12.2f\n", points[i].bytes, points[i].delay,
			figures_throughput(&points[i]), points[i].stream);
}

static void print_text(FILE *to, const char *pair, const struct figures *f)
{
	fprintf(to, "%s: latency %.3f us, asymptotic bandwidth %.2f MB/s, ", pair, f->latency,
		f->asymptotic);
	if (f->half_power > 0)
		fprintf(to, "half-power point %.0f bytes, ", f->half_power);
	else
		fprintf(to, "half-power point not reached, ");
	fprintf(to, "transmission throughput %.2f MB/s with %.0f bytes\n", f->stream,
		f->stream_bytes);
}

static void print_json(FILE *to, const struct job *j, uint32_t rank, const struct figures *f,
		       const struct figures_point *points, size_t count)
{
	fprintf(to,
		"{\"provider\":\"%s\",\"ranks\":[%u,%u],\"hosts\":[\"%s\",\"%s\"],"
		"\"latency_us\":%.3f,\"asymptotic_MBps\":%.2f,\"half_power_bytes\":%.0f,"
		"\"transmission_MBps\":%.2f,\"transmission_bytes\":%.0f,\"sizes\":[",
		j->options.provider, j->self.rank, rank, j->cards[j->self.rank].host,
		j->cards[rank].host, f->latency, f->asymptotic, f->half_power, f->stream,
		f->stream_bytes);
	for (size_t i = 0; i < count; i++)
		fprintf(to, "%s{\"bytes\":%.0f,\"delay_us\":%.3f,\"stream_MBps\":%.2f}",
			i ? "," : "", points[i].bytes, points[i].delay, points[i].stream);
	fprintf(to, "]}\n");
}

/* In one piece: the lines of several processes are not to be mixed. */
static void print_pair(const struct job *j, uint32_t rank, const struct figures_point *points,
		       size_t count)
{
	struct figures f = figures_of(points, count);
	char *text = NULL, pair[2 * HOST_MAX + 64];
	size_t len;
	FILE *to = open_memstream(&text, &len);

	snprintf(pair, sizeof(pair), "%s (rank %u) - %s (rank %u)", j->cards[j->self.rank].host,
		 j->self.rank, j->cards[rank].host, rank);
	if (j->options.json) {
		print_json(to, j, rank, &f, points, count);
	} else {
		if (j->options.table)
			print_table(to, points, count);
		print_text(to, pair, &f);
	}
	fclose(to);
	fwrite(text, 1, len, stdout);
	fflush(stdout);
	free(text);
}

/* ---- the job ---- */

static bool is_asked_for(const struct job *j, uint32_t a, uint32_t b)
{
	const long *pair = j->options.pair;

	return pair[0] < 0 || (a == pair[0] && b == pair[1]);
}

/* One pair after the other; the rest sleeps meanwhile. */
static void measure_pairs(struct job *j)
{
	struct figures_point points[POINTS_MAX];
	size_t list[POINTS_MAX];

	for (uint32_t a = 0; a < j->ranks; a++)
		for (uint32_t b = a + 1; b < j->ranks; b++) {
			if (!is_asked_for(j, a, b))
				continue;
			if (j->self.rank == a) {
				measure(j, b, points);
				print_pair(j, b, points, sizes(j, list));
			} else if (j->self.rank == b) {
				follow(j, a);
			}
			fence(j, false);
		}
}

static void begin(struct job *j)
{
	struct bench_ep_choice choice = {
		.provider = j->options.provider,
		.domain = j->options.domain,
		.flags = 0,
	};

	join(j);
	if (j->ranks < 2 || j->options.pair[1] >= (long) j->ranks) {
		fprintf(stderr,
			"gamma-pmix: a job of %u processes, as in srun -N2 -n2 --mpi=pmix, "
			"has no such pair\n",
			j->ranks);
		exit(1);
	}
	j->cards = bench_ep_allocate(j->ranks, sizeof(*j->cards));
	j->addresses = bench_ep_allocate(j->ranks, sizeof(*j->addresses));
	j->in = bench_ep_allocate(j->options.largest, 1);
	j->out = bench_ep_allocate(j->options.largest, 1);
	j->times = bench_ep_allocate(j->options.count, sizeof(*j->times));
	bench_ep_open(&j->endpoint, &choice);
	publish(j);
	collect(j);
}

static void end(struct job *j)
{
	bench_ep_close(&j->endpoint);
	leave();
	free(j->cards);
	free(j->addresses);
	free(j->in);
	free(j->out);
	free(j->times);
}

/* ---- command line ---- */

static const char usage[] = "usage: srun -N2 -n2 --mpi=pmix gamma-pmix [OPTION...]\n"
			    "       mpirun -np 2 --map-by node gamma-pmix [OPTION...]\n"
			    "       prterun -np 2 --map-by node gamma-pmix [OPTION...]\n"
			    "       gamma-pmix --help\n";

static void help(void)
{
	printf("%s"
	       "\n"
	       "Measures a libfabric provider's reliable messages between the processes of a "
	       "job,\n"
	       "one pair after the other while the others sleep. The processes exchange their\n"
	       "addresses through PMIx; no MPI takes part.\n"
	       "\n"
	       "  -p, --provider NAME   libfabric's name of it (default: gamma)\n"
	       "  -d, --domain NAME     its domain, such as the NIC's name (default: the first)\n"
	       "  -P, --pair A,B        ranks A and B only (default: all pairs)\n"
	       "  -S, --largest BYTES   the longest message; the sizes are 0, the powers of two\n"
	       "                        below, and this one (default: 4194304)\n"
	       "  -n, --count N         round trips for a size; fewer of long messages\n"
	       "                        (default: 1000)\n"
	       "  -t, --table           what was measured of each size, too\n"
	       "  -j, --json            a line of JSON for each pair instead\n"
	       "  -h, --help            this text\n"
	       "\n"
	       "What the figures are. D(S), the message delay, is half the round trip of S "
	       "bytes;\n"
	       "of all round trips of a size the median counts. 1 MB is 1,000,000 bytes.\n"
	       "\n"
	       "  latency                  D(0)\n"
	       "  T                        end-to-end throughput T(S) = S / D(S)\n"
	       "  asymptotic bandwidth     B = S / (D(S) - D(0)) for the longest message\n"
	       "  half-power point         the size H with T(H) = B / 2\n"
	       "  stream                   transmission throughput: the rate of a long one-way\n"
	       "                           stream of messages of one size, %d of them in flight\n"
	       "                           at a time, until the last one has arrived; the\n"
	       "                           summary has the best one and its size\n"
	       "\n"
	       "gamma needs gammad, or CAP_NET_RAW, for raw Ethernet. Exit status: 0, 1 if "
	       "something\n"
	       "failed (the whole job ends then), 2 for a wrong command line.\n"
	       "\n"
	       "example: srun -N2 -n2 -w node03,node07 --mpi=pmix gamma-pmix --table\n",
	       usage, WINDOW);
}

/* Two ranks in any order; the lower one leads. TEXT is split into words. */
static void parse_pair(struct options *o, char *text)
{
	char *word = strsep(&text, ",");
	long first, second;

	if (!text)
		command_misuse("--pair '%s' is no pair of ranks such as 0,3", word);
	first = (long) command_whole("--pair", word, 0, UINT32_MAX - 1);
	second = (long) command_whole("--pair", text, 0, UINT32_MAX - 1);
	if (first == second)
		command_misuse("--pair takes two ranks, not %ld twice", first);
	o->pair[0] = first < second ? first : second;
	o->pair[1] = first < second ? second : first;
}

static void parse(struct options *o, int argc, char **argv)
{
	static const struct option words[] = {
		{"provider", required_argument, NULL, 'p'},
		{"domain", required_argument, NULL, 'd'},
		{"pair", required_argument, NULL, 'P'},
		{"largest", required_argument, NULL, 'S'},
		{"count", required_argument, NULL, 'n'},
		{"table", no_argument, NULL, 't'},
		{"json", no_argument, NULL, 'j'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	int opt;

	while ((opt = command_long_option(argc, argv, "p:d:P:S:n:tjh", words)) != -1)
		switch (opt) {
		case 'p':
			o->provider = optarg;
			break;
		case 'd':
			o->domain = optarg;
			break;
		case 'P':
			parse_pair(o, optarg);
			break;
		case 'S':
			o->largest = command_whole("--largest", optarg, 1, 1ul << 30);
			break;
		case 'n':
			o->count = command_whole("--count", optarg, 1, 100000000);
			break;
		case 't':
			o->table = true;
			break;
		case 'j':
			o->json = true;
			break;
		case 'h':
			help();
			exit(0);
		}
	command_end(argc, argv);
}

int main(int argc, char **argv)
{
	struct job j = {
		.options = {.provider = "gamma",
			    .largest = 4 << 20,
			    .count = 1000,
			    .pair = {-1, -1}},
	};

	command_usage = usage;
	parse(&j.options, argc, argv);
	begin(&j);
	measure_pairs(&j);
	end(&j);
	return 0;
}
