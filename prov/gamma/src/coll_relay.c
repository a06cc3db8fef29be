// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Reports of what comes by multicast, from leader to leader (group/relay.h). A leader that others
 * report to stays in the operation until these have all frames, so that it can pass on what they
 * report. It may be called there later than they: what they report before is kept.
 */
#include "ep.h"

#include <arpa/inet.h>
#include <stdlib.h>

/* More cannot be ahead, since rings hold no more frames. */
enum { EARLY_MAX = 65536 };

/* ---- ranks ---- */

static uint32_t host_of(const struct gamma_coll_group *group, uint32_t place)
{
	return group->indices[group->hosts.leaders[place]];
}

/* Of that leader's host, in what `root` sends. */
static uint32_t rank_of(const struct gamma_coll_group *group, uint32_t root, uint32_t place)
{
	uint32_t n = group->hosts.count;

	return (host_of(group, place) + n - host_of(group, root)) % n;
}

/* The place of a rank. */
static uint32_t place_of(const struct gamma_coll_group *group, uint32_t root, uint32_t rank)
{
	if (!rank)
		return root;
	return group->leader_places[(host_of(group, root) + rank) % group->hosts.count];
}

uint32_t gamma_coll_relay_parent(const struct gamma_coll_group *group, uint32_t root)
{
	return place_of(group, root, gamma_relay_parent(rank_of(group, root, group->place)));
}

/* ---- beginning and ending ---- */

void gamma_coll_relay_begin_stream(const struct gamma_coll_group *group, uint32_t root,
				   struct gamma_stream *stream)
{
	for (uint32_t rank = GAMMA_RELAY_FAN + 1; rank < group->hosts.count; rank++)
		gamma_stream_relay(stream, host_of(group, place_of(group, root, rank)));
}

static void free_report(struct gamma_coll_group *group, struct gamma_coll_report *report)
{
	gamma_list_remove(&report->entry);
	group->early_count--;
	free(report);
}

static bool take_report(const struct gamma_coll_group *group, struct gamma_coll_cast *cast,
			uint32_t place, uint32_t frames)
{
	uint32_t own = rank_of(group, cast->root, group->place);
	uint32_t child = rank_of(group, cast->root, place) - gamma_relay_first_child(own);

	return gamma_relay_report(&cast->take.relay, child, frames);
}

void gamma_coll_relay_begin_take(struct gamma_coll_op *op, struct gamma_coll_cast *cast)
{
	struct gamma_coll_group *group = op->group;
	struct gamma_list *pos, *tmp;

	gamma_relay_init(&cast->take.relay, rank_of(group, cast->root, group->place),
			 group->hosts.count, cast->take.frames);
	gamma_list_for_each_safe (pos, tmp, &group->early) {
		struct gamma_coll_report *report =
			gamma_list_entry(pos, struct gamma_coll_report, entry);

		if (report->number != op->number || report->root != cast->root)
			continue;
		take_report(group, cast, report->child, report->frames);
		free_report(group, report);
	}
}

void gamma_coll_relay_fini(struct gamma_coll_group *group)
{
	while (!gamma_list_empty(&group->early))
		free_report(group,
			    gamma_list_first(&group->early, struct gamma_coll_report, entry));
}

/* ---- what comes ---- */

/* Only the newest of each. */
static struct gamma_coll_report *find_report(struct gamma_coll_group *group,
					     const struct gamma_coll_report *like)
{
	struct gamma_list *pos;

	gamma_list_for_each (pos, &group->early) {
		struct gamma_coll_report *report =
			gamma_list_entry(pos, struct gamma_coll_report, entry);

		if (report->number == like->number && report->root == like->root &&
		    report->child == like->child)
			return report;
	}
	return NULL;
}

static void keep_report(struct gamma_coll_group *group, const struct gamma_coll_report *like)
{
	struct gamma_coll_report *report = find_report(group, like);

	if (report) {
		report->frames = (uint32_t) gamma_max(report->frames, like->frames);
		return;
	}
	report = group->early_count < EARLY_MAX ? malloc(sizeof(*report)) : NULL;
	if (!report) {
		gamma_coll_group_spoil(group, like->child, -FI_ENOMEM, true,
				       "no memory for what it reports");
		return;
	}
	*report = *like;
	gamma_list_append(&group->early, &report->entry);
	group->early_count++;
}

void gamma_coll_relay_report(struct gamma_coll_group *group, struct gamma_coll_op *op,
			     struct gamma_coll_cast *cast, uint32_t place, uint32_t number,
			     const struct gamma_coll_count *count)
{
	const struct gamma_coll_report report = {
		.number = number,
		.root = ntohl(count->root),
		.child = place,
		.frames = ntohl(count->frames),
	};

	if (cast)
		take_report(group, cast, place, report.frames);
	else if (report.root < group->n && group->hosts.leaders[place] == place &&
		 (op || !gamma_coll_number_before(number, group->next)))
		keep_report(group, &report);
}

uint32_t gamma_coll_relay_missing(const struct gamma_coll_group *group,
				  const struct gamma_coll_cast *cast)
{
	const struct gamma_take *take = &cast->take;
	uint32_t first = gamma_relay_first_child(rank_of(group, cast->root, group->place));

	for (uint32_t i = 0; i < take->relay.count; i++)
		if (gamma_relay_lags(&take->relay, i, take->frames))
			return place_of(group, cast->root, first + i);
	return GAMMA_COLL_NO_PLACE;
}

void gamma_coll_relay_remind(struct gamma_coll_op *op, struct gamma_coll_cast *cast, uint32_t sent)
{
	struct gamma_coll_group *group = op->group;
	uint32_t first = gamma_relay_first_child(rank_of(group, cast->root, group->place));
	const struct gamma_coll_count count = {.frames = htonl(sent), .root = htonl(cast->root)};

	gamma_take_remind(&cast->take, sent, gamma_now());
	for (uint32_t i = 0; i < cast->take.relay.count; i++)
		if (gamma_relay_lags(&cast->take.relay, i, sent))
			gamma_coll_transfer_send_control(
				group->ep, group->members[place_of(group, cast->root, first + i)],
				group->id, GAMMA_COLL_SENT, op->number, &count, sizeof(count));
}
