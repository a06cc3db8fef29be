// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * gamma-discover --check: the paths between two other hosts. The gammad of the first asks the
 * second, and passes the answer on to this host. The path to the first has been measured before.
 * Such paths are compared with each other.
 */
#include "discover.h"

#include <stdlib.h>

#include "base/base.h"
#include "base/live_line.h"

enum {
	FEW_HOSTS = 16,
	FEW_SMALL = 500, /* questions for each path, of few hosts */
	FEW_LARGE = 100,
	MANY_SMALL = 100, /* of many: 64 hosts have 3,906 such paths */
	MANY_LARGE = 20,
	SILENT_MAX = 2, /* paths without any answer, before a host passes nothing on */
};

static bool takes_part(const struct discover_host *host)
{
	return host->gammad && !host->self && !host->other_version;
}

/* ---- one path ---- */

static void ask(struct discover *discover, const struct discover_pair *pair, uint32_t payload,
		unsigned count, struct discover_trips *trips)
{
	discover_ask_trips(discover, &discover->hosts[pair->to], &discover->hosts[pair->from],
			   payload, count, trips);
}

/* False: nothing came back. */
static bool measure_pair(struct discover *discover, struct discover_pair *pair)
{
	const struct discover_host *from = &discover->hosts[pair->from];
	const struct discover_host *to = &discover->hosts[pair->to];
	bool few = discover->count <= FEW_HOSTS;
	struct discover_trips small, large = {0};

	ask(discover, pair, 0, few ? FEW_SMALL : MANY_SMALL, &small);
	pair->full = (uint32_t) gamma_min(from->full_mtu, to->full_mtu);
	if (small.quick && from->full == DISCOVER_PASSES && to->full == DISCOVER_PASSES)
		ask(discover, pair, pair->full - GAMMA_HEADER_LEN, few ? FEW_LARGE : MANY_LARGE,
		    &large);
	pair->full_fails = large.sent && large.lost == large.sent;
	if (pair->full_fails)
		large = (struct discover_trips){0};
	pair->sent = small.sent + large.sent;
	pair->lost = small.lost + large.lost;
	pair->small = small.quick;
	pair->large = large.quick;
	return small.quick != 0;
}

/* ---- all paths of one host ---- */

struct via {
	struct discover *discover;
	struct discover_pairs pairs;
	bool *chosen; /* by index: this path is to be measured */
	size_t done, all;
};

/* Every other host, or of many the next one and some by chance. */
static void choose(struct via *via, size_t from)
{
	const struct discover *discover = via->discover;
	unsigned seed = discover->hosts[from].mac[5] | (unsigned) discover->hosts[from].mac[4] << 8;

	for (size_t i = 0; i < discover->count; i++)
		via->chosen[i] = discover->count <= DISCOVER_ALL_PAIRS;
	if (discover->count > DISCOVER_ALL_PAIRS)
		for (unsigned i = 0; i <= DISCOVER_RANDOM_PAIRS; i++)
			via->chosen[i ? (size_t) rand_r(&seed) % discover->count
				      : (from + 1) % discover->count] = true;
	for (size_t i = 0; i < discover->count; i++)
		via->chosen[i] &= i != from && takes_part(&discover->hosts[i]);
}

/* How many paths were chosen from all hosts together. */
static size_t count_all(struct via *via)
{
	size_t all = 0;

	for (size_t from = 0; from < via->discover->count; from++) {
		if (!takes_part(&via->discover->hosts[from]))
			continue;
		choose(via, from);
		for (size_t to = 0; to < via->discover->count; to++)
			all += via->chosen[to];
	}
	return all;
}

/* Paths without an answer are kept until another one from there has some: then these are broken,
 * else its gammad passes nothing on. */
static void measure_from(struct via *via, size_t from)
{
	struct discover *discover = via->discover;
	struct discover_host *host = &discover->hosts[from];
	struct discover_pair silent[SILENT_MAX];
	unsigned silent_count = 0;
	bool answered = false;

	choose(via, from);
	for (size_t to = 0; to < discover->count && !discover_interrupted; to++) {
		struct discover_pair pair = {.from = from, .to = to};

		if (!via->chosen[to])
			continue;
		gamma_live_line_show("%.24s to %-24.24s %6zu of %zu", discover_name(host),
				     discover_name(&discover->hosts[to]), ++via->done, via->all);
		if (measure_pair(discover, &pair))
			answered = true;
		else if (!answered && silent_count < SILENT_MAX) {
			silent[silent_count++] = pair;
			continue;
		} else if (!answered)
			break;
		discover_pairs_add(&via->pairs, &pair);
	}
	if (discover_interrupted)
		return;
	for (unsigned i = 0; answered && i < silent_count; i++)
		discover_pairs_add(&via->pairs, &silent[i]);
	if (silent_count && !answered)
		discover_check_note(host, "its paths to others could not be measured: its gammad "
					  "does not pass questions on (another release?), or it "
					  "reaches this host alone");
}

/* ---- all ---- */

/* Nothing is said of paths that lead over one known to be bad: from here to a host that was named,
 * or from here to all. */
static void take_over_faults(struct discover *discover)
{
	unsigned own = 0;

	for (size_t i = 0; i < discover->count; i++)
		if (discover->hosts[i].self)
			own = discover->hosts[i].faults;
	for (size_t i = 0; i < discover->count; i++)
		discover->hosts[i].faults |= own;
}

void discover_via_check(struct discover *discover)
{
	struct via via = {.discover = discover, .pairs.discover = discover};

	via.chosen = calloc(discover->count + 1, sizeof(*via.chosen));
	if (!via.chosen)
		discover_fail("out of memory");
	via.all = count_all(&via);
	for (size_t i = 0; i < discover->count && !discover_interrupted; i++)
		if (takes_part(&discover->hosts[i]))
			measure_from(&via, i);
	take_over_faults(discover);
	discover_pairs_check(&via.pairs);
	discover->via_count = via.pairs.count;
	free(via.pairs.pairs);
	free(via.chosen);
}
