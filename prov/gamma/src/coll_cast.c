// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The part of an operation that goes by multicast: frames to the group's address, which are
 * datagrams to the provider's port, and the messages by which receivers report and ask.
 */
#include "ep.h"

#include <arpa/inet.h>
#include <stdlib.h>

enum { BUDGET = 64 }; /* frames each way, in one progress call */

static struct gamma_stats *stats_of(const struct gamma_coll_group *group)
{
	return gamma_endpoint_counters(group->ep->endpoint);
}

/* ---- beginning and ending ---- */

static struct gamma_coll_cast *new_cast(struct gamma_coll_op *op, struct gamma_schedule_step *step)
{
	struct gamma_coll_cast *cast = calloc(1, sizeof(*cast));

	if (!cast)
		return NULL;
	cast->step = (uint32_t) (step - op->schedule.steps);
	cast->root = op->call.root;
	cast->sends = step->kind == GAMMA_SCHEDULE_CAST;
	return cast;
}

int gamma_coll_cast_begin(struct gamma_coll_op *op, struct gamma_schedule_step *step)
{
	const struct gamma_coll_group *group = op->group;
	struct gamma_coll_cast *cast = new_cast(op, step);
	bool ok;

	if (!cast)
		return -FI_ENOMEM;
	if (cast->sends) {
		ok = gamma_stream_init(&cast->stream, gamma_take_frames(step->len, group->payload),
				       group->hosts.count, group->window);
		if (ok)
			gamma_stream_excuse(&cast->stream,
					    group->indices[group->hosts.leaders[group->place]]);
	} else {
		ok = gamma_take_init(&cast->take, step->to, step->len, group->payload, gamma_now());
	}
	if (!ok) {
		free(cast);
		return -FI_ENOMEM;
	}
	op->cast = cast;
	return 0;
}

void gamma_coll_cast_end(struct gamma_coll_op *op)
{
	if (!op->cast)
		return;
	if (op->cast->sends)
		gamma_stream_fini(&op->cast->stream);
	else
		gamma_take_fini(&op->cast->take);
	free(op->cast);
	op->cast = NULL;
}

/* ---- sending ---- */

int gamma_coll_cast_send(struct gamma_coll_group *group, uint32_t number, uint32_t what,
			 const void *bytes, uint32_t len)
{
	struct iovec iov = {.iov_base = (void *) bytes, .iov_len = len};
	struct gamma_envelope envelope = {
		.tag = gamma_envelope_port_tag(GAMMA_COLL_PORT, 0, what),
		.data = group->id << GAMMA_COLL_NUMBER_BITS | number,
		.length = len,
		.flags = GAMMA_TAGGED | GAMMA_TO_PORT | GAMMA_HAS_DATA,
	};

	return gamma_endpoint_send_group(group->ep->endpoint, group->multicast, &iov, len != 0,
					 &envelope);
}

/* A frame's bytes. */
static const uint8_t *bytes_of(const struct gamma_coll_op *op, uint32_t frame, uint32_t *len)
{
	const struct gamma_schedule_step *step = &op->schedule.steps[op->cast->step];
	uint32_t payload = op->group->payload;

	*len = gamma_take_len(step->len, payload, frame);
	return (const uint8_t *) step->from + (uint64_t) frame * payload;
}

static void repair_frames(struct gamma_coll_op *op, uint64_t now)
{
	struct gamma_coll_group *group = op->group;
	struct gamma_stream_repair repair;

	while (gamma_stream_next_repair(&op->cast->stream, now, &repair)) {
		uint32_t len;
		const uint8_t *bytes = bytes_of(op, repair.frame, &len);

		stats_of(group)->multicast_again++;
		if (repair.receiver == GAMMA_STREAM_ALL)
			gamma_coll_cast_send(group, op->number, repair.frame, bytes, len);
		else
			gamma_coll_run_send_repair(op, group->leader_places[repair.receiver],
						   repair.frame, bytes, len);
	}
}

static void send_frames(struct gamma_coll_op *op, uint64_t now)
{
	struct gamma_stream *stream = &op->cast->stream;
	uint32_t frame, len;
	const uint8_t *bytes;

	repair_frames(op, now);
	for (unsigned i = 0; i < BUDGET && gamma_stream_next(stream, &frame); i++) {
		bytes = bytes_of(op, frame, &len);
		if (gamma_coll_cast_send(op->group, op->number, frame, bytes, len)) {
			gamma_stream_unsend(stream);
			break;
		}
		stats_of(op->group)->multicast_out++;
	}
	if (!gamma_stream_is_stable(stream))
		return;
	op->cast->done = true;
	gamma_coll_run_end_step(op, op->cast->step);
}

/* ---- receiving ---- */

static void tell_root(struct gamma_coll_op *op, enum gamma_coll_type type, const void *bytes,
		      size_t len)
{
	struct gamma_coll_group *group = op->group;

	gamma_coll_run_send_control(group->ep, group->members[op->cast->root], group->id, type,
				    op->number, bytes, len);
}

/* looked: at all frames that have come, so that others are missing. */
static void report_frames(struct gamma_coll_op *op, uint64_t now, bool looked)
{
	struct gamma_take *take = &op->cast->take;
	struct gamma_coll_taken taken;
	struct gamma_stream_ask asked;
	struct gamma_coll_ask ask;
	uint32_t frames;

	if (gamma_take_report(take, &frames)) {
		taken.frames = htonl(frames);
		tell_root(op, GAMMA_COLL_TAKEN, &taken, sizeof(taken));
	}
	if (looked && gamma_take_ask(take, now, &asked)) {
		ask.base = htonl(asked.base);
		ask.seen = htonl(asked.seen);
		for (unsigned i = 0; i < GAMMA_STREAM_ASK_WORDS; i++)
			ask.bits[i] = htonl(asked.bits[i]);
		stats_of(op->group)->multicast_asks += gamma_take_lost(take, &asked);
		tell_root(op, GAMMA_COLL_ASK, &ask, sizeof(ask));
	}
	if (!gamma_take_is_complete(take))
		return;
	op->cast->done = true;
	gamma_coll_run_end_step(op, op->cast->step);
}

/* Only the root's frames count. */
static bool is_from(const struct gamma_coll_group *group, uint32_t place,
		    const struct gamma_addr *source)
{
	const struct gamma_addr *addr = gamma_av_addr(group->ep->av, group->members[place]);

	return addr && !memcmp(addr, source, offsetof(struct gamma_addr, epoch)) &&
	       (addr->epoch == source->epoch || addr->epoch == GAMMA_EPOCH_ANY);
}

/* False: it is of an operation that is not called here yet, and stays where it is. */
static bool take_frame(struct gamma_coll_group *group, const struct gamma_group_frame *frame,
		       uint64_t now)
{
	const struct gamma_envelope *envelope = &frame->envelope;
	uint32_t number = (uint32_t) envelope->data & GAMMA_COLL_NUMBER_MASK;
	uint32_t index = (uint32_t) envelope->tag;
	struct gamma_coll_op *op;

	if (!(envelope->flags & GAMMA_HAS_DATA) || index == GAMMA_COLL_TEST ||
	    envelope->data >> GAMMA_COLL_NUMBER_BITS != group->id)
		return true;
	if (!gamma_coll_number_before(number, group->next))
		return false;
	op = gamma_coll_run_find(group, number);
	if (op && op->cast && !op->cast->sends && !op->cast->done && !op->error &&
	    is_from(group, op->cast->root, &frame->source) &&
	    gamma_take_frame(&op->cast->take, index, frame->payload, (uint32_t) envelope->length,
			     now) == GAMMA_TAKE_NEW)
		stats_of(group)->multicast_in++;
	return true;
}

/* False: there may be more. */
static bool take_frames(struct gamma_coll_group *group, uint64_t now)
{
	struct gamma_fi_ep *ep = group->ep;
	struct gamma_group_frame frame;

	for (unsigned i = 0; i < BUDGET; i++) {
		if (!gamma_groups_next(ep->endpoint, group->multicast, &frame) ||
		    !take_frame(group, &frame, now))
			return true;
		gamma_groups_release(ep->endpoint, group->multicast);
	}
	return false;
}

/* ---- frames that were asked for ---- */

void *gamma_coll_cast_place(struct gamma_coll_op *op, uint32_t place, uint32_t frame, uint64_t len)
{
	struct gamma_coll_cast *cast = op->cast;
	struct gamma_take *take;

	if (!cast || cast->sends || cast->done || op->error || place != cast->root)
		return NULL;
	take = &cast->take;
	if (frame >= take->frames || len != gamma_take_len(take->bytes, take->payload, frame))
		return NULL;
	return take->to + (uint64_t) frame * take->payload;
}

void gamma_coll_cast_repaired(struct gamma_coll_op *op, uint32_t frame, uint32_t len)
{
	struct gamma_take *take;

	if (!op->cast || op->cast->done)
		return;
	take = &op->cast->take;
	gamma_take_frame(take, frame, take->to + (uint64_t) frame * take->payload, len,
			 gamma_now());
	gamma_coll_run_wake(op->group->ep);
}

/* ---- the root hears ---- */

void gamma_coll_cast_control(struct gamma_coll_group *group, uint32_t place,
			     const struct gamma_coll_control *control)
{
	const struct gamma_coll_taken *taken = (const void *) control->bytes;
	const struct gamma_coll_ask *ask = (const void *) control->bytes;
	struct gamma_coll_op *op = gamma_coll_run_find(group, control->number);
	struct gamma_stream_ask asked;
	struct gamma_stream *stream;

	if (!op || !op->cast || !op->cast->sends || op->cast->done || op->error ||
	    group->hosts.leaders[place] != place)
		return;
	stream = &op->cast->stream;
	if (control->type == GAMMA_COLL_TAKEN && control->len == sizeof(*taken)) {
		gamma_stream_report(stream, group->indices[place], ntohl(taken->frames));
	} else if (control->type == GAMMA_COLL_ASK && control->len == sizeof(*ask)) {
		asked.base = ntohl(ask->base);
		asked.seen = ntohl(ask->seen);
		for (unsigned i = 0; i < GAMMA_STREAM_ASK_WORDS; i++)
			asked.bits[i] = ntohl(ask->bits[i]);
		gamma_stream_ask(stream, group->indices[place], &asked, gamma_now());
	}
}

/* ---- progress ---- */

static void run_group(struct gamma_coll_group *group, uint64_t now)
{
	bool looked = !group->multicast || take_frames(group, now);
	struct gamma_list *pos;

	gamma_list_for_each (pos, &group->ops) {
		struct gamma_coll_op *op = gamma_list_entry(pos, struct gamma_coll_op, entry);

		if (!op->cast || op->cast->done || op->error)
			continue;
		if (op->cast->sends)
			send_frames(op, now);
		else
			report_frames(op, now, looked);
	}
}

void gamma_coll_cast_progress(struct gamma_fi_ep *ep)
{
	uint64_t now = gamma_now();
	struct gamma_list *pos;

	gamma_list_for_each (pos, &ep->coll->casting) {
		struct gamma_coll_group *group =
			gamma_list_entry(pos, struct gamma_coll_group, cast_entry);

		if (group->error)
			continue;
		if (!group->live)
			gamma_coll_open_progress(group, now);
		else if (!gamma_list_empty(&group->ops))
			run_group(group, now);
	}
}
