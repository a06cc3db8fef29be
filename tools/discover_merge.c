// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * gamma-discover --merge: one table of what --check --json has found on several hosts. Each line of
 * that output stands for itself, so that the lines of srun and pdsh may have something in front,
 * and come in any order.
 */
#include "discover.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/mac.h"

struct merge {
	struct discover *discover;
	struct discover_pairs pairs; /* what one host has measured of another */
	unsigned damaged;            /* lines */
};

/* ---- reading ---- */

/* The text behind "name": in an object; NULL: there is none. Quotes within a value have a
 * backslash, so none is taken for a name. */
static const char *value_of(const char *object, const char *name)
{
	char key[32];
	const char *at;

	snprintf(key, sizeof(key), "\"%s\": ", name);
	at = strstr(object, key);
	return at ? at + strlen(key) : NULL;
}

static double number_of(const char *object, const char *name)
{
	const char *value = object ? value_of(object, name) : NULL;

	return value ? strtod(value, NULL) : 0;
}

static bool is_true(const char *object, const char *name)
{
	const char *value = value_of(object, name);

	return value && !strncmp(value, "true", 4);
}

/* Bytes that are not printable become '?'. */
static void text_of(const char *object, const char *name, char *text, size_t room)
{
	const char *value = value_of(object, name);
	size_t len = 0;

	if (value && *value++ == '"')
		for (; *value && *value != '"' && len < room - 1; value++) {
			value += *value == '\\' && value[1];
			text[len++] = *value > ' ' && *value < 0x7f ? *value : '?';
		}
	text[len] = 0;
}

static bool mac_of(const char *object, const char *name, uint8_t mac[GAMMA_MAC_LEN])
{
	char text[GAMMA_MAC_TEXT_LEN + 1];

	text_of(object, name, text, sizeof(text));
	return gamma_mac_parse(text, mac);
}

/* Knowledge of any host about another one; a host knows most of itself. */
static void take_host(struct discover_host *host, const char *object)
{
	unsigned release[3];
	char text[24];

	if (!host->name[0])
		text_of(object, "host", host->name, sizeof(host->name));
	if (!strcmp(host->name, "?"))
		host->name[0] = 0;
	if (is_true(object, "gammad") && !host->gammad) {
		host->gammad = true;
		host->slots = (unsigned) number_of(object, "slots");
		host->endpoints = (unsigned) number_of(object, "endpoints");
	}
	if (host->nic[0] == 0)
		text_of(object, "nic", host->nic, sizeof(host->nic));
	host->mtu = (uint32_t) gamma_max(host->mtu, (uint64_t) number_of(object, "mtu"));
	host->speed = (uint32_t) gamma_max(host->speed, (uint64_t) number_of(object, "speed_mbit"));
	text_of(object, "wire", text, sizeof(text));
	host->other_version |= !strcmp(text, "other");
	host->endpoint |= text[0] >= '0' && text[0] <= '9';
	text_of(object, "release", text, sizeof(text));
	if (sscanf(text, "%3u.%3u.%3u", &release[0], &release[1], &release[2]) == 3)
		for (unsigned i = 0; i < 3; i++)
			host->release[i] = (uint8_t) release[i];
}

static uint64_t ns_of(const char *object, const char *name)
{
	return (uint64_t) (number_of(object, name) * 1e3);
}

static void add_pair(struct merge *merge, size_t from, size_t to, const char *object)
{
	const char *small = value_of(object, "small"), *large = value_of(object, "large");
	struct discover_pair pair = {
		.from = from,
		.to = to,
		.sent = (unsigned) (number_of(small, "sent") + number_of(large, "sent")),
		.lost = (unsigned) (number_of(small, "lost") + number_of(large, "lost")),
		.small = small ? ns_of(small, "quick_us") : 0,
		.large = large ? ns_of(large, "quick_us") : 0,
		.full_fails = !strncmp(value_of(object, "full_frame_passes") ?: "", "false", 5),
		.full = (uint32_t) number_of(object, "full_frame"),
	};
	discover_pairs_add(&merge->pairs, &pair);
}

static size_t index_of(struct discover *discover, const uint8_t mac[GAMMA_MAC_LEN])
{
	struct discover_host *host = discover_host(discover, mac);

	return (size_t) (host - discover->hosts);
}

/* A line is part of the output if an object of it begins there. */
static void take_line(struct merge *merge, const char *line)
{
	const char *object = strstr(line, "{\"host\": ");
	uint8_t from[GAMMA_MAC_LEN], mac[GAMMA_MAC_LEN];
	size_t from_index, to_index;

	if (!object)
		return;
	if (!mac_of(object, "from", from) || !mac_of(object, "mac", mac) || !strchr(object, '}')) {
		merge->damaged++;
		return;
	}
	from_index = index_of(merge->discover, from);
	to_index = index_of(merge->discover, mac);
	take_host(&merge->discover->hosts[to_index], object);
	if (is_true(object, "self"))
		merge->discover->hosts[to_index].reported = true;
	else if (from_index != to_index)
		add_pair(merge, from_index, to_index, object);
}

static void read_file(struct merge *merge, const char *name)
{
	FILE *file = strcmp(name, "-") ? fopen(name, "re") : stdin;
	size_t room = 0;
	char *line = NULL;

	if (!file)
		discover_fail("--merge %s: %s", gamma_printable(name).text, strerror(errno));
	while (getline(&line, &room, file) > 0)
		take_line(merge, line);
	if (ferror(file))
		discover_fail("--merge %s: %s", gamma_printable(name).text, strerror(errno));
	free(line);
	if (file != stdin)
		fclose(file);
}

/* The table shows the sum of a host's paths. */
static void sum_up(const struct merge *merge)
{
	for (size_t i = 0; i < merge->discover->count; i++) {
		struct discover_host *host = &merge->discover->hosts[i];

		discover_pairs_sum(&merge->pairs, i, &host->small);
	}
	for (size_t i = 0; i < merge->pairs.count; i++) {
		const struct discover_pair *pair = &merge->pairs.pairs[i];
		struct discover_host *to = &merge->discover->hosts[pair->to];

		if (pair->small && (!to->small.median || pair->small < to->small.median))
			to->small.median = to->rtt = pair->small;
		if (pair->large && (!to->large.median || pair->large < to->large.median))
			to->large.median = pair->large;
		if (pair->full_fails)
			to->full = DISCOVER_FAILS;
		else if (to->full == DISCOVER_UNTESTED && pair->large)
			to->full = DISCOVER_PASSES;
		to->full_mtu = (uint32_t) gamma_max(to->full_mtu, pair->full);
	}
}

static void check_names(struct discover *discover)
{
	char mac[GAMMA_MAC_TEXT_LEN];

	for (size_t i = 0; i < discover->count; i++)
		for (size_t j = 0; j < discover->count; j++)
			if (i != j && discover->hosts[i].name[0] &&
			    !strcmp(discover->hosts[i].name, discover->hosts[j].name))
				discover_check_note(&discover->hosts[i], "%s has this name, too",
						    gamma_mac_format(discover->hosts[j].mac, mac));
}

static void check_silent(struct discover *discover)
{
	for (size_t i = 0; i < discover->count; i++) {
		struct discover_host *host = &discover->hosts[i];

		if (!host->reported && !host->gammad && !host->endpoint)
			discover_check_note(host,
					    "answers nobody: it is down, has no gammad or another "
					    "EtherType, or the MAC is wrong");
		else if (!host->reported)
			discover_check_note(host,
					    "has measured nothing: gamma-discover --check did "
					    "not run there");
	}
}

unsigned discover_merge(struct discover *discover, char **files, int count)
{
	struct merge merge = {.discover = discover, .pairs.discover = discover};
	unsigned findings = 0;

	for (int i = 0; i < count; i++)
		read_file(&merge, files[i]);
	if (merge.damaged)
		fprintf(stderr, "gamma-discover: %u lines damaged or of another release\n",
			merge.damaged);
	if (!discover->count)
		discover_fail(
			"no results: give it what `gamma-discover --check --json` has printed "
			"on the hosts");
	sum_up(&merge);
	discover_pairs_check(&merge.pairs);
	check_names(discover);
	check_silent(discover);
	discover_check_settings(discover);
	for (size_t i = 0; i < discover->count; i++)
		findings += discover->hosts[i].finding_count;
	free(merge.pairs.pairs);
	return findings;
}
