// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * gamma-discover's findings about the paths between hosts: a fault that shows on nearly all paths
 * of a host is the host's, or its cable's or switch port's; one that shows on a single path is
 * between switches. Used by --merge, and by --check for the paths that it measures by way of other
 * hosts.
 */
#include "discover.h"

#include <stdlib.h>

#include "base/base.h"

void discover_pairs_add(struct discover_pairs *pairs, const struct discover_pair *pair)
{
	struct discover_pair *added;

	if (pairs->count == pairs->size) {
		pairs->size = pairs->size ? 2 * pairs->size : 256;
		pairs->pairs = realloc(pairs->pairs, pairs->size * sizeof(*pair));
		if (!pairs->pairs)
			discover_fail("out of memory");
	}
	added = &pairs->pairs[pairs->count++];
	*added = *pair;
	if (added->small && added->large)
		added->bytes = added->large > added->small ? added->large - added->small : 1;
}

/* ---- which paths are bad ---- */

static int by_value(const void *left, const void *right)
{
	const uint64_t a = *(const uint64_t *) left, b = *(const uint64_t *) right;

	return a < b ? -1 : a > b;
}

/* Over the pairs that have one; 0: too few to be compared. The two directions between two hosts say
 * nothing about each other. */
static uint64_t median_of(const struct discover_pairs *pairs,
			  uint64_t (*value)(const struct discover_pair *pair))
{
	uint64_t *values = calloc(pairs->count + 1, sizeof(*values)), median;
	size_t count = 0;

	if (!values)
		discover_fail("out of memory");
	for (size_t i = 0; i < pairs->count; i++) {
		values[count] = value(&pairs->pairs[i]);
		count += values[count] != 0;
	}
	qsort(values, count, sizeof(*values), by_value);
	median = count >= DISCOVER_COMMON_LEAST ? values[(count - 1) / 2] : 0;
	free(values);
	return median;
}

static uint64_t small_of(const struct discover_pair *pair)
{
	return pair->small;
}

static uint64_t bytes_of(const struct discover_pair *pair)
{
	return pair->bytes;
}

static bool has_fault(const struct discover_pairs *pairs, const struct discover_pair *pair,
		      enum discover_fault fault)
{
	switch (fault) {
	case DISCOVER_LOSES:
		return discover_check_loses(pair->lost);
	case DISCOVER_SLOW_BYTES:
		return discover_check_is_slower(pair->bytes, pairs->median_bytes);
	case DISCOVER_SLOW_TRIPS:
		return discover_check_is_slower(pair->small, pairs->median_small);
	default:
		return pair->full_fails;
	}
}

/* Of a host's paths, both ways. */
struct tally {
	unsigned paths, bad, sent, lost;
	uint64_t worst; /* ns, of the bad ones */
};

static uint64_t time_of(const struct discover_pair *pair, enum discover_fault fault)
{
	return fault == DISCOVER_SLOW_BYTES ? pair->bytes : pair->small;
}

static struct tally tally_of(const struct discover_pairs *pairs, size_t host,
			     enum discover_fault fault)
{
	struct tally tally = {0};

	for (size_t i = 0; i < pairs->count; i++) {
		const struct discover_pair *pair = &pairs->pairs[i];

		if ((pair->from != host && pair->to != host) || (!pair->sent && !pair->full_fails))
			continue;
		tally.paths++;
		tally.sent += pair->sent;
		tally.lost += pair->lost;
		if (!has_fault(pairs, pair, fault))
			continue;
		tally.bad++;
		tally.worst = gamma_max(tally.worst, time_of(pair, fault));
	}
	return tally;
}

/* ---- what is said ---- */

static void note_host(const struct discover_pairs *pairs, size_t index, enum discover_fault fault,
		      const struct tally *tally)
{
	struct discover_host *host = &pairs->discover->hosts[index];

	switch (fault) {
	case DISCOVER_LOSES:
		discover_check_note(
			host,
			"%.1f %% of the frames on %u of its %u paths are lost: its NIC, "
			"cable or switch port",
			100.0 * tally->lost / tally->sent, tally->bad, tally->paths);
		break;
	case DISCOVER_SLOW_BYTES:
		discover_check_note(
			host,
			"full frames take up to %.1f us longer than small ones on %u of "
			"its %u paths, elsewhere %.1f us: its link or switch port is "
			"slower",
			(double) tally->worst / 1e3, tally->bad, tally->paths,
			(double) pairs->median_bytes / 1e3);
		break;
	case DISCOVER_SLOW_TRIPS:
		discover_check_note(host,
				    "a round trip takes up to %.1f us on %u of its %u paths, "
				    "elsewhere %.1f us",
				    (double) tally->worst / 1e3, tally->bad, tally->paths,
				    (double) pairs->median_small / 1e3);
		break;
	default:
		discover_check_note(
			host,
			"full frames do not pass on %u of its %u paths: its MTU or that "
			"of its switch port",
			tally->bad, tally->paths);
	}
}

static void note_path(const struct discover_pairs *pairs, const struct discover_pair *pair,
		      enum discover_fault fault)
{
	struct discover_host *host = &pairs->discover->hosts[pair->from];
	const char *to = discover_name(&pairs->discover->hosts[pair->to]);

	if (fault == DISCOVER_LOSES)
		discover_check_note(host,
				    "on the path to %s %.1f %% of the frames are lost, and not on "
				    "most others: a link between switches",
				    to, 100.0 * pair->lost / pair->sent);
	else if (fault == DISCOVER_FULL_FAILS)
		discover_check_note(
			host,
			"on the path to %s frames of %u bytes do not pass: the MTU of a "
			"switch between",
			to, pair->full);
	else if (fault == DISCOVER_SLOW_BYTES)
		discover_check_note(host,
				    "on the path to %s full frames take %.1f us longer than small "
				    "ones, elsewhere %.1f us: a link between switches is slower",
				    to, (double) pair->bytes / 1e3,
				    (double) pairs->median_bytes / 1e3);
	else
		discover_check_note(host,
				    "on the path to %s a round trip takes %.1f us, elsewhere "
				    "%.1f us",
				    to, (double) pair->small / 1e3,
				    (double) pairs->median_small / 1e3);
}

/* Hosts first: the paths of a host that is named say nothing more. */
static void check_fault(const struct discover_pairs *pairs, enum discover_fault fault)
{
	struct discover *discover = pairs->discover;
	bool *named = calloc(discover->count + 1, sizeof(*named));

	if (!named)
		discover_fail("out of memory");
	for (size_t i = 0; i < discover->count; i++) {
		struct tally tally = tally_of(pairs, i, fault);

		named[i] = discover->hosts[i].faults & 1u << fault;
		if (named[i] || !discover_check_is_common(tally.bad, tally.paths))
			continue;
		named[i] = true;
		note_host(pairs, i, fault, &tally);
	}
	for (size_t i = 0; i < pairs->count; i++) {
		const struct discover_pair *pair = &pairs->pairs[i];

		if (!named[pair->from] && !named[pair->to] && has_fault(pairs, pair, fault))
			note_path(pairs, pair, fault);
	}
	free(named);
}

void discover_pairs_check(struct discover_pairs *pairs)
{
	pairs->median_small = median_of(pairs, small_of);
	pairs->median_bytes = median_of(pairs, bytes_of);
	for (int fault = 0; fault < DISCOVER_FAULTS; fault++)
		check_fault(pairs, (enum discover_fault) fault);
}

void discover_pairs_sum(const struct discover_pairs *pairs, size_t host,
			struct discover_trips *trips)
{
	struct tally tally = tally_of(pairs, host, DISCOVER_LOSES);

	*trips = (struct discover_trips){.sent = tally.sent, .lost = tally.lost};
}
