// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Adds runs up and prints what they covered: what never happened was not tested. */
#include "internal.h"

#include <stdio.h>
#include <string.h>

#define COUNT(array) gamma_array_size(array)

static const char *const size_names[SIZE_CLASSES] = {"0 bytes", "copied",     "one frame",
						     "eager",   "rendezvous", "1 MiB"};
static const char *const level_names[LEVELS] = {"copied", "arrived", "matched"};
static const char *const endpoint_names[ENDPOINT_CLASSES] = {"2",    "3-4",   "5-8",
							     "9-16", "17-32", "33-64"};
static const char *const timer_names[GAMMA_TIMER_COUNT] = {
	[GAMMA_TIMER_ACK] = "ack",       [GAMMA_TIMER_LOSS] = "loss",
	[GAMMA_TIMER_PROBE] = "probe",   [GAMMA_TIMER_REQUEST] = "request",
	[GAMMA_TIMER_LOOKUP] = "lookup", [GAMMA_TIMER_MTU] = "mtu",
	[GAMMA_TIMER_BYE] = "bye",       [GAMMA_TIMER_FORGET] = "forget",
	[GAMMA_TIMER_RAILS] = "rails",
};
static const char *const state_names[FLOW_STATES] = {"lookup", "open", "closed", "failed"};
static const char *const kind_names[GAMMA_KIND_DATAGRAM + 1] = {
	"none",  "data",  "ack", "credit", "request",  "reclaim",
	"probe", "reset", "bye", "lookup", "datagram",
};
static const char *const op_names[] = {
	"0",     "send",  "send_first", "send_more", "announce", "accept", "bulk",    "cut",
	"batch", "write", "read",       "reply",     "atomic",   "fetch",  "compare", "failed",
};

static const char *const taking_names[SIM_DELIVERIES] = {[SIM_AT_ONCE] = "endpoints in one step",
							 [SIM_IN_STEPS] = "in two",
							 [SIM_AT_ONCE_POSTS_AFTER] = "late"};

enum size_class totals_size_class(uint64_t length, const struct sim_config *config)
{
	if (!length)
		return SIZE_ZERO;
	if (length <= config->inject_size)
		return SIZE_INJECT;
	if (length == 1 << 20)
		return SIZE_MIB;
	if (length > config->eager_size)
		return SIZE_RENDEZVOUS;
	return length <= config->mtu - GAMMA_HEADER_LEN - 8 ? SIZE_FRAME : SIZE_EAGER;
}

void totals_add(struct totals *to, const struct totals *from)
{
	uint64_t *sum = (uint64_t *) to;
	const uint64_t *part = (const uint64_t *) from;
	size_t all = sizeof(*to) / sizeof(*sum);

	for (size_t i = 0; i < all - TOTALS_MAXIMA; i++)
		sum[i] += part[i];
	for (size_t i = all - TOTALS_MAXIMA; i < all; i++)
		sum[i] = gamma_max(sum[i], part[i]);
}

static void row(const char *title, const char *const *names, const uint64_t *values, size_t count)
{
	size_t column = (size_t) printf("%-12s", title);

	for (size_t i = 0; i < count; i++) {
		if (column > 90)
			column = (size_t) printf("\n%-12s", "") - 1;
		column += (size_t) printf(" %s %llu%s", names[i], (unsigned long long) values[i],
					  i + 1 < count ? "," : "");
	}
	putchar('\n');
}

static void print_frames(const struct totals *totals)
{
	row("data frames", op_names + 1, totals->kinds[GAMMA_KIND_DATA] + 1, GAMMA_OP_FAILED);
	printf("%-12s", "others");
	for (unsigned kind = GAMMA_KIND_ACK; kind < COUNT(totals->kinds); kind++) {
		if (kind == GAMMA_KIND_PROBE)
			printf("\n%-12s", "");
		printf(" %s", kind_names[kind]);
		for (unsigned op = 0; op < 4; op++)
			if (op == 0 || totals->kinds[kind][op])
				printf("%c%llu", op ? '/' : ' ',
				       (unsigned long long) totals->kinds[kind][op]);
		putchar(kind + 1 < COUNT(totals->kinds) ? ',' : '\n');
	}
}

static void print_whole(const struct totals *totals)
{
	printf("whole        %llu messages taken in one step, %llu refused, %llu of these taken "
	       "just "
	       "after\n",
	       (unsigned long long) totals->whole_taken, (unsigned long long) totals->whole_refused,
	       (unsigned long long) totals->whole_late);
	row("taken by", taking_names, totals->takings, SIM_DELIVERIES);
}

static void print_stats(const struct gamma_stats *stats)
{
	static const char *const names[] = {
#define NAME(name, meaning) #name,
		GAMMA_STATS_TABLE(NAME)
#undef NAME
	};

	row("counters", names, (const uint64_t *) stats, COUNT(names));
}

void totals_print(const struct totals *totals, double seconds)
{
	static const char *const happened[] = {
		"stops",    "computes",   "kills",        "reboots",   "closes",    "cuts",
		"refusals", "late posts", "NICs lowered", "rails cut", "rails down"};

	printf("seeds        %llu in %.1f s, %.1f a second; %llu with two kinds of faults or more, "
	       "%llu lossless, %llu near the wrap\n",
	       (unsigned long long) totals->seeds, seconds,
	       seconds > 0 ? (double) totals->seeds / seconds : 0,
	       (unsigned long long) totals->faulty, (unsigned long long) totals->lossless,
	       (unsigned long long) totals->wrapped);
	row("endpoints", endpoint_names, totals->endpoints, ENDPOINT_CLASSES);
	printf("messages     %llu, %llu MiB; sends failed %llu, receives failed %llu, nobody's "
	       "%llu, "
	       "to partial addresses %llu\n",
	       (unsigned long long) totals->messages, (unsigned long long) totals->bytes >> 20,
	       (unsigned long long) totals->sends_failed,
	       (unsigned long long) totals->receives_failed, (unsigned long long) totals->unposted,
	       (unsigned long long) totals->partial);
	print_whole(totals);
	printf("ports        %llu messages handled, %llu of these in place, %llu kept, %llu "
	       "fetched; "
	       "%llu announced\n",
	       (unsigned long long) totals->ports_handled,
	       (unsigned long long) totals->ports_in_place, (unsigned long long) totals->ports_kept,
	       (unsigned long long) totals->ports_fetched,
	       (unsigned long long) totals->ports_announced);
	printf("remote       %llu operations, %llu refused or failed\n",
	       (unsigned long long) totals->remotes, (unsigned long long) totals->remotes_failed);
	row("sizes", size_names, totals->sizes, SIZE_CLASSES);
	row("complete", level_names, totals->levels, LEVELS);
	print_frames(totals);
	row("timers", timer_names, totals->timers, GAMMA_TIMER_COUNT);
	row("flow states", state_names, totals->states, FLOW_STATES);
	row("faults", sim_fault_names + 1, totals->faults + 1, SIM_FAULTS - 1);
	row("hosts", happened, &totals->stops, COUNT(happened));
	printf("trains       %llu sent, %llu taken; %llu times frames received together\n",
	       (unsigned long long) totals->trains_sent, (unsigned long long) totals->trains_taken,
	       (unsigned long long) totals->runs_taken);
	print_stats(&totals->stats);
	printf("checks       %llu of credit, %llu of repair; %llu events in %llu virtual seconds\n",
	       (unsigned long long) totals->credit_checks,
	       (unsigned long long) totals->evidence_checks, (unsigned long long) totals->events,
	       (unsigned long long) totals->virtual_ms / 1000);
	printf("worst        settled %.3f s after the faults, %llu %% of the bound; "
	       "all rails used again %.1f s after that; %llu KiB of memory; %llu KiB unexpected at "
	       "one node\n",
	       (double) totals->max_settle_us / 1e6,
	       (unsigned long long) totals->max_settle_percent, (double) totals->max_rails_ms / 1e3,
	       (unsigned long long) totals->max_memory >> 10,
	       (unsigned long long) totals->max_unexpected >> 10);
}
