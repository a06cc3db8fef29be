// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * gamma-discover --check: measures the path to every host, compares the hosts with each other, and
 * notes on each what is wrong or differs from most others.
 */
#include "discover.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/live_line.h"
#include "base/mac.h"

enum {
	SMALL_QUESTIONS = 500, /* at 1 % loss none of these is lost once in 23,000 */
	LARGE_QUESTIONS = 100,
	LOST_LEAST = 2,   /* a single frame may be lost anywhere */
	SLOWER_TIMES = 3, /* than the median of the hosts */
	SLOWER_US = 30,   /* and by so many us: processes wake up that much later */
	COMMON_PART = 80, /* % of the hosts: what they share is a fault of this host's */
};

void discover_check_note(struct discover_host *host, const char *fmt, ...)
{
	va_list args;

	if (host->finding_count == DISCOVER_FINDINGS_MAX)
		return;
	va_start(args, fmt);
	vsnprintf(host->findings[host->finding_count++], DISCOVER_FINDING_LEN, fmt, args);
	va_end(args);
}

/* The same host chooses the same others. */
unsigned discover_check_seed(const uint8_t mac[GAMMA_MAC_LEN])
{
	return mac[5] | (unsigned) mac[4] << 8;
}

/* ---- measure ---- */

static bool is_reached(const struct discover_host *host)
{
	return !host->self && (host->gammad || host->endpoint);
}

static void measure(struct discover *discover, struct discover_host *host)
{
	gamma_live_line_show("this host to %-24.24s %6zu of %zu", discover_name(host),
			     (size_t) (host - discover->hosts) + 1, discover->count);
	discover_ask_trips(discover, host, 0, SMALL_QUESTIONS, &host->small);
	if (host->full == DISCOVER_PASSES)
		discover_ask_trips(discover, host, host->full_mtu - GAMMA_HEADER_LEN,
				   LARGE_QUESTIONS, &host->large);
	discover->own_count++;
}

/* Each host that is started there measures all others, or of many some: together they cover the
 * network. */
static void measure_all(struct discover *discover)
{
	bool *reached = calloc(discover->count + 1, sizeof(*reached));
	bool *chosen = calloc(discover->count + 1, sizeof(*chosen));
	size_t own = 0;

	if (!reached || !chosen)
		discover_fail("out of memory");
	for (size_t i = 0; i < discover->count; i++) {
		reached[i] = is_reached(&discover->hosts[i]);
		if (discover->hosts[i].self)
			own = i;
	}
	discover_rounds_choose(reached, discover->count, own,
			       discover_check_seed(discover->nic->mac), chosen);
	for (size_t i = 0; i < discover->count && !discover_interrupted; i++)
		if (chosen[i])
			measure(discover, &discover->hosts[i]);
	free(reached);
	free(chosen);
}

/* ---- loss ---- */

bool discover_check_loses(unsigned lost)
{
	return lost >= LOST_LEAST;
}

bool discover_check_is_common(unsigned bad, unsigned all)
{
	return bad && all >= DISCOVER_COMMON_LEAST && bad * 100 >= all * COMMON_PART;
}

static bool loses(const struct discover_host *host)
{
	return discover_check_loses(host->small.lost + host->large.lost);
}

static void check_loss(struct discover *discover)
{
	struct discover_host *self = NULL;
	unsigned measured = 0, losing = 0;

	for (size_t i = 0; i < discover->count; i++) {
		struct discover_host *host = &discover->hosts[i];
		unsigned sent = host->small.sent + host->large.sent;
		unsigned lost = host->small.lost + host->large.lost;

		self = host->self ? host : self;
		measured += sent != 0;
		losing += loses(host);
		if (!loses(host))
			continue;
		host->faults |= 1u << DISCOVER_LOSES;
		discover_check_note(
			host,
			"%.1f %% of the frames are lost: its NIC, cable or switch port, "
			"or its gammad is overloaded",
			100.0 * lost / sent);
	}
	if (!self || !discover_check_is_common(losing, measured))
		return;
	self->faults |= 1u << DISCOVER_LOSES;
	discover_check_note(self,
			    "frames to %u of %u hosts are lost: this host's NIC, cable or switch "
			    "port",
			    losing, measured);
}

/* ---- speed ---- */

static int by_value(const void *left, const void *right)
{
	const uint64_t a = *(const uint64_t *) left, b = *(const uint64_t *) right;

	return a < b ? -1 : a > b;
}

/* ns that the bytes of a full frame add to a round trip; 0: unknown. Of the quick ones, which did
 * not wait for a processor. */
static uint64_t bytes_time(const struct discover_host *host)
{
	if (!host->large.quick || !host->small.quick)
		return 0;
	return host->large.quick > host->small.quick ? host->large.quick - host->small.quick : 1;
}

/* The median over the hosts that have one; 0: fewer than that are to be compared. */
static uint64_t median_of(const struct discover *discover,
			  uint64_t (*value)(const struct discover_host *host))
{
	uint64_t *values = calloc(discover->count, sizeof(*values)), median;
	size_t count = 0;

	if (!values)
		discover_fail("out of memory");
	for (size_t i = 0; i < discover->count; i++) {
		values[count] = value(&discover->hosts[i]);
		count += values[count] != 0;
	}
	qsort(values, count, sizeof(*values), by_value);
	median = count >= DISCOVER_COMMON_LEAST ? values[(count - 1) / 2] : 0;
	free(values);
	return median;
}

static uint64_t small_time(const struct discover_host *host)
{
	return host->small.quick;
}

bool discover_check_is_slower(uint64_t time, uint64_t median)
{
	return median && time > SLOWER_TIMES * median &&
	       time > median + SLOWER_US * GAMMA_NS_PER_US;
}

static void check_speed(struct discover *discover)
{
	const uint64_t bytes = median_of(discover, bytes_time);
	const uint64_t small = median_of(discover, small_time);

	for (size_t i = 0; i < discover->count; i++) {
		struct discover_host *host = &discover->hosts[i];

		if (discover_check_is_slower(bytes_time(host), bytes)) {
			host->faults |= 1u << DISCOVER_SLOW_BYTES;
			discover_check_note(host,
					    "full frames take %.1f us longer than small ones, "
					    "elsewhere %.1f us: "
					    "its link or switch port is slower",
					    (double) bytes_time(host) / 1e3, (double) bytes / 1e3);
		}
		if (discover_check_is_slower(small_time(host), small)) {
			host->faults |= 1u << DISCOVER_SLOW_TRIPS;
			discover_check_note(host, "a round trip takes %.1f us, elsewhere %.1f us",
					    (double) small_time(host) / 1e3, (double) small / 1e3);
		}
	}
}

/* ---- configuration ---- */

static uint64_t mtu_value(const struct discover_host *host)
{
	return host->mtu;
}

static uint64_t speed_value(const struct discover_host *host)
{
	return host->speed;
}

static uint64_t release_value(const struct discover_host *host)
{
	return host->gammad || host->self
		       ? (uint64_t) host->release[0] << 16 | (uint64_t) host->release[1] << 8 |
				 host->release[2] | 1u << 24
		       : 0;
}

/* The value that most hosts have; 0: none has one. */
static uint64_t most_common(const struct discover *discover,
			    uint64_t (*value)(const struct discover_host *host))
{
	uint64_t best = 0;
	size_t best_count = 0;

	for (size_t i = 0; i < discover->count; i++) {
		uint64_t this = value(&discover->hosts[i]);
		size_t count = 0;

		for (size_t j = 0; j < discover->count; j++)
			count += value(&discover->hosts[j]) == this;
		if (this && count > best_count) {
			best = this;
			best_count = count;
		}
	}
	return best;
}

void discover_check_settings(struct discover *discover)
{
	const uint64_t mtu = most_common(discover, mtu_value);
	const uint64_t speed = most_common(discover, speed_value);
	const uint64_t release = most_common(discover, release_value);

	for (size_t i = 0; i < discover->count; i++) {
		struct discover_host *host = &discover->hosts[i];

		if (host->mtu && host->mtu != mtu)
			discover_check_note(host, "MTU %u, most others %u", host->mtu,
					    (unsigned) mtu);
		if (host->speed && host->speed != speed)
			discover_check_note(host, "%u Mbit/s, most others %u", host->speed,
					    (unsigned) speed);
		if (release_value(host) && release_value(host) != release)
			discover_check_note(host, "release %u.%u.%u, most others %u.%u.%u",
					    host->release[0], host->release[1], host->release[2],
					    (unsigned) (release >> 16) & 255,
					    (unsigned) (release >> 8) & 255,
					    (unsigned) release & 255);
		if (host->other_version)
			discover_check_note(
				host, "another version of the protocol: install the same release");
		if (host->full == DISCOVER_FAILS && !discover->merged)
			discover_check_note(host,
					    "frames of %u bytes do not pass: the MTU of a switch",
					    host->full_mtu);
		if (!host->gammad && (!discover->merged || host->endpoint))
			discover_check_note(host,
					    "no gammad: programs of ordinary users use UDP there");
	}
}

/* ---- names ---- */

static void check_names(struct discover *discover)
{
	char mac[GAMMA_MAC_TEXT_LEN];

	for (size_t i = 0; i < discover->count; i++) {
		struct discover_host *host = &discover->hosts[i];
		const struct gamma_conf_host *listed =
			gamma_conf_by_name(discover->conf, host->name);

		for (size_t j = 0; j < discover->count; j++)
			if (i != j && host->name[0] && !strcmp(host->name, discover->hosts[j].name))
				discover_check_note(host, "%s has this name, too",
						    gamma_mac_format(discover->hosts[j].mac, mac));
		if (host->conf_name[0] && host->name[0] &&
		    (!listed || memcmp(listed->mac, host->mac, GAMMA_MAC_LEN)))
			discover_check_note(host, "%s calls it %s", gamma_conf_file(discover->conf),
					    host->conf_name);
		else if (listed && memcmp(listed->mac, host->mac, GAMMA_MAC_LEN))
			discover_check_note(host, "%s has %s for it",
					    gamma_conf_file(discover->conf),
					    gamma_mac_format(listed->mac, mac));
	}
}

/* Hosts of gamma.conf that have not answered become hosts with that finding. */
static void add_silent(struct discover *discover)
{
	const struct gamma_conf_host *listed;
	size_t count = gamma_conf_hosts(discover->conf, &listed), found = discover->count;

	for (size_t i = 0; i < count; i++) {
		struct discover_host *host = discover_host(discover, listed[i].mac);

		if (discover->count == found)
			continue;
		found = discover->count;
		snprintf(host->conf_name, sizeof(host->conf_name), "%s", listed[i].name);
		discover_check_note(
			host, "does not answer: it is down, has no gammad or another EtherType, "
			      "or the MAC is wrong");
	}
}

unsigned discover_check_hosts(struct discover *discover)
{
	unsigned findings = 0;

	measure_all(discover);
	check_loss(discover);
	check_speed(discover);
	if (!discover->own_paths)
		discover_via_check(discover);
	discover_check_settings(discover);
	check_names(discover);
	add_silent(discover);
	for (size_t i = 0; i < discover->count; i++)
		findings += discover->hosts[i].finding_count;
	return findings;
}
