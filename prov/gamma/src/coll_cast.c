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

void gamma_coll_cast_plan(struct gamma_coll_op *op)
{
	struct gamma_coll_group *group = op->group;
	uint32_t frames = gamma_take_frames(gamma_plan_bytes(&op->call), group->payload);

	if (op->call.kind == GAMMA_PLAN_ALLGATHER)
		op->senders_wait =
			gamma_turns_allgather(&group->turns, frames) ? GAMMA_PLAN_CASTERS : 0;
	else if (gamma_turns_broadcast(&group->turns, op->call.root, frames))
		op->senders_wait = group->n;
}

static struct gamma_coll_cast *new_cast(struct gamma_coll_op *op, struct gamma_schedule_step *step)
{
	struct gamma_coll_cast *cast = calloc(1, sizeof(*cast));

	if (!cast)
		return NULL;
	cast->step = (uint32_t) (step - op->schedule.steps);
	cast->sends = step->kind == GAMMA_SCHEDULE_CAST;
	cast->root = cast->sends ? op->group->place : step->peer;
	return cast;
}

/* Some may have begun before. */
static void hold(const struct gamma_coll_op *op, struct gamma_stream *stream)
{
	const struct gamma_coll_group *group = op->group;

	gamma_stream_hold(stream);
	for (uint32_t i = 0; i < group->hosts.count; i++)
		if (gamma_turns_has_begun(&group->turns, group->leader_places[i], op->number))
			gamma_stream_report(stream, i, 0);
}

static struct gamma_coll_said *said_by(struct gamma_coll_group *group, uint32_t number,
				       uint32_t place)
{
	return &group->sent[(number + place) % GAMMA_COLL_HISTORY];
}

/* The root may have said how many frames it has sent. */
static void recall(struct gamma_coll_op *op, struct gamma_coll_cast *cast)
{
	const struct gamma_coll_said *said = said_by(op->group, op->number, cast->root);

	if (gamma_unlikely(said->frames && said->number == op->number && said->place == cast->root))
		gamma_coll_relay_remind(op, cast, said->frames);
}

static void begin_stream(const struct gamma_coll_group *group, struct gamma_coll_cast *cast,
			 uint32_t own)
{
	gamma_stream_excuse(&cast->stream, own);
	gamma_coll_relay_begin_stream(group, cast->root, &cast->stream);
}

int gamma_coll_cast_begin(struct gamma_coll_op *op, struct gamma_schedule_step *step)
{
	const struct gamma_coll_group *group = op->group;
	struct gamma_coll_cast *cast = new_cast(op, step);
	uint32_t window = group->window;
	bool ok;

	if (!cast)
		return -FI_ENOMEM;
	/* So that the rings hold the frames of all that send at a time. */
	if (op->call.kind == GAMMA_PLAN_ALLGATHER)
		window /= GAMMA_PLAN_CASTERS;
	if (cast->sends) {
		uint32_t own = group->indices[group->hosts.leaders[group->place]];

		ok = gamma_stream_init(&cast->stream, gamma_take_frames(step->len, group->payload),
				       group->hosts.count, window);
		if (ok)
			begin_stream(group, cast, own);
		if (ok && cast->root < op->senders_wait)
			hold(op, &cast->stream);
	} else {
		ok = gamma_take_init(&cast->take, step->to, step->len, group->payload, gamma_now());
		cast->take.announces = cast->root < op->senders_wait;
		if (ok) {
			gamma_coll_relay_begin_take(op, cast);
			recall(op, cast);
		}
	}
	if (!ok) {
		free(cast);
		return -FI_ENOMEM;
	}
	gamma_list_append(&op->casts, &cast->entry);
	return 0;
}

static void free_cast(struct gamma_coll_cast *cast)
{
	gamma_list_remove(&cast->entry);
	if (cast->sends)
		gamma_stream_fini(&cast->stream);
	else
		gamma_take_fini(&cast->take);
	free(cast);
}

void gamma_coll_cast_end(struct gamma_coll_op *op)
{
	while (!gamma_list_empty(&op->casts))
		free_cast(gamma_list_first(&op->casts, struct gamma_coll_cast, entry));
}

static void end_step(struct gamma_coll_op *op, struct gamma_coll_cast *cast)
{
	if (cast->step_ended)
		return;
	cast->step_ended = true;
	gamma_coll_run_end_step(op, cast->step);
}

static void end_cast(struct gamma_coll_op *op, struct gamma_coll_cast *cast)
{
	end_step(op, cast);
	free_cast(cast);
	gamma_coll_run_look(op);
}

/* A leader that does not report all frames, or that it has begun. */
static uint32_t missing_leader(const struct gamma_coll_group *group,
			       const struct gamma_stream *stream)
{
	for (uint32_t i = 0; i < group->hosts.count; i++)
		if (!stream->marks[i].relayed && stream->taken[i] < stream->frames &&
		    !(stream->absent && stream->marks[i].begun))
			return group->leader_places[i];
	return GAMMA_COLL_NO_PLACE;
}

uint32_t gamma_coll_cast_missing(const struct gamma_coll_op *op)
{
	const struct gamma_coll_cast *cast;

	if (gamma_list_empty(&op->casts))
		return GAMMA_COLL_NO_PLACE;
	cast = gamma_list_first(&op->casts, struct gamma_coll_cast, entry);
	if (cast->sends)
		return missing_leader(op->group, &cast->stream);
	return gamma_take_is_complete(&cast->take) ? gamma_coll_relay_missing(op->group, cast)
						   : cast->root;
}

/* Frames that the member at that place sends to all; NULL: nothing now. */
static struct gamma_coll_cast *find_cast(const struct gamma_coll_op *op, uint32_t place)
{
	struct gamma_list *pos;

	gamma_list_for_each (pos, &op->casts) {
		struct gamma_coll_cast *cast = gamma_list_entry(pos, struct gamma_coll_cast, entry);

		if (cast->root == place)
			return cast;
	}
	return NULL;
}

/* ---- sending ---- */

static struct gamma_group_datagram datagram_of(const struct gamma_coll_group *group,
					       uint32_t number, uint32_t what, const void *bytes,
					       uint32_t len)
{
	return (struct gamma_group_datagram){
		.bytes = {.iov_base = (void *) bytes, .iov_len = len},
		.envelope = {
			.tag = gamma_envelope_port_tag(GAMMA_COLL_PORT, 0, what),
			.data = group->id << GAMMA_COLL_NUMBER_BITS | number,
			.length = len,
			.flags = GAMMA_TAGGED | GAMMA_TO_PORT | GAMMA_HAS_DATA,
		}};
}

bool gamma_coll_cast_send(struct gamma_coll_group *group, uint32_t number, uint32_t what,
			  const void *bytes, uint32_t len)
{
	const struct gamma_group_datagram datagram = datagram_of(group, number, what, bytes, len);

	return gamma_endpoint_send_to_group(group->ep->endpoint, group->multicast, &datagram, 1);
}

/* A frame's bytes. */
static const uint8_t *bytes_of(const struct gamma_coll_op *op, const struct gamma_coll_cast *cast,
			       uint32_t frame, uint32_t *len)
{
	const struct gamma_schedule_step *step = &op->schedule.steps[cast->step];
	uint32_t payload = op->group->payload;

	*len = gamma_take_len(step->len, payload, frame);
	return (const uint8_t *) step->from + (uint64_t) frame * payload;
}

static bool is_lossy(const struct gamma_coll_group *group)
{
	return group->fallback.lossy;
}

/* A frame to all leaders in messages: multicast loses too much. */
static void send_singly(struct gamma_coll_op *op, uint32_t frame, const void *bytes, uint32_t len)
{
	struct gamma_coll_group *group = op->group;

	for (uint32_t i = 0; i < group->hosts.count; i++)
		if (group->leader_places[i] != group->hosts.leaders[group->place])
			gamma_coll_transfer_send_repair(op, group->leader_places[i], frame, bytes,
							len);
}

static void repair_frames(struct gamma_coll_op *op, struct gamma_coll_cast *cast, uint64_t now)
{
	struct gamma_coll_group *group = op->group;
	struct gamma_stream_repair repair;

	while (gamma_stream_next_repair(&cast->stream, now, &repair)) {
		uint32_t len;
		const uint8_t *bytes = bytes_of(op, cast, repair.frame, &len);

		stats_of(group)->multicast_again++;
		gamma_coll_fallback_note(group, 0, 1);
		if (repair.receiver != GAMMA_STREAM_ALL)
			gamma_coll_transfer_send_repair(op, group->leader_places[repair.receiver],
							repair.frame, bytes, len);
		else if (is_lossy(group))
			send_singly(op, repair.frame, bytes, len);
		else
			gamma_coll_cast_send(group, op->number, repair.frame, bytes, len);
	}
}

/* The last frames may be lost, which nothing behind them shows. */
static void remind(struct gamma_coll_op *op, struct gamma_coll_cast *cast, uint64_t now)
{
	const struct gamma_coll_group *group = op->group;
	const struct gamma_coll_count sent = {.frames = htonl(cast->stream.sent)};

	if (gamma_likely(!gamma_stream_remind(&cast->stream, now)))
		return;
	for (uint32_t i = 0; i < group->hosts.count; i++)
		if (gamma_stream_lags(&cast->stream, i))
			gamma_coll_transfer_send_control(
				group->ep, group->members[group->leader_places[i]], group->id,
				GAMMA_COLL_SENT, op->number, &sent, GAMMA_COLL_COUNT_SHORT);
}

/* As many as may leave, in one call. */
static void send_to_all(struct gamma_coll_op *op, struct gamma_coll_cast *cast)
{
	struct gamma_group_datagram datagrams[BUDGET];
	struct gamma_coll_group *group = op->group;
	struct gamma_stream *stream = &cast->stream;
	unsigned count = 0, sent;
	uint32_t frame, len;

	while (count < BUDGET && gamma_stream_next(stream, &frame)) {
		const uint8_t *bytes = bytes_of(op, cast, frame, &len);

		datagrams[count++] = datagram_of(group, op->number, frame, bytes, len);
	}
	sent = gamma_endpoint_send_to_group(group->ep->endpoint, group->multicast, datagrams,
					    count);
	stats_of(group)->multicast_out += sent;
	gamma_coll_fallback_note(group, sent, 0);
	for (; sent < count; sent++)
		gamma_stream_unsend(stream);
}

static void send_singly_to_all(struct gamma_coll_op *op, struct gamma_coll_cast *cast)
{
	uint32_t frame, len;

	for (unsigned i = 0; i < BUDGET && gamma_stream_next(&cast->stream, &frame); i++) {
		const uint8_t *bytes = bytes_of(op, cast, frame, &len);

		send_singly(op, frame, bytes, len);
	}
}

static void send_frames(struct gamma_coll_op *op, struct gamma_coll_cast *cast, uint64_t now)
{
	struct gamma_stream *stream = &cast->stream;

	repair_frames(op, cast, now);
	if (is_lossy(op->group))
		send_singly_to_all(op, cast);
	else
		send_to_all(op, cast);
	remind(op, cast, now);
	if (gamma_stream_is_stable(stream))
		end_cast(op, cast);
}

/* ---- receiving ---- */

static void send_to_place(struct gamma_coll_op *op, uint32_t place, enum gamma_coll_type type,
			  const void *bytes, size_t len)
{
	struct gamma_coll_group *group = op->group;

	gamma_coll_transfer_send_control(group->ep, group->members[place], group->id, type,
					 op->number, bytes, len);
}

static void report_taken(struct gamma_coll_op *op, const struct gamma_coll_cast *cast,
			 uint32_t frames)
{
	const struct gamma_coll_count taken = {.frames = htonl(frames), .root = htonl(cast->root)};
	uint32_t parent = gamma_coll_relay_parent(op->group, cast->root);

	send_to_place(op, parent, GAMMA_COLL_TAKEN, &taken,
		      parent == cast->root ? GAMMA_COLL_COUNT_SHORT : sizeof(taken));
}

/* looked: at all frames that have come, so that others are missing. */
static void report_frames(struct gamma_coll_op *op, struct gamma_coll_cast *cast, uint64_t now,
			  bool looked)
{
	struct gamma_take *take = &cast->take;
	struct gamma_stream_ask asked;
	struct gamma_coll_ask ask;
	uint32_t frames;

	if (gamma_take_report(take, &frames))
		report_taken(op, cast, frames);
	if (looked && gamma_take_ask(take, now, &asked)) {
		ask.base = htonl(asked.base);
		ask.seen = htonl(asked.seen);
		for (unsigned i = 0; i < GAMMA_STREAM_ASK_WORDS; i++)
			ask.bits[i] = htonl(asked.bits[i]);
		stats_of(op->group)->multicast_asks += gamma_take_lost(take, &asked);
		send_to_place(op, cast->root, GAMMA_COLL_ASK, &ask, sizeof(ask));
	}
	if (gamma_take_is_complete(take))
		end_step(op, cast);
	if (gamma_take_has_ended(take))
		end_cast(op, cast);
}

static bool is_from(const struct gamma_coll_group *group, uint32_t place,
		    const struct gamma_addr *source)
{
	const struct gamma_addr *addr = gamma_av_addr(group->ep->av, group->members[place]);

	return addr && !memcmp(addr, source, offsetof(struct gamma_addr, epoch)) &&
	       (addr->epoch == source->epoch || addr->epoch == GAMMA_EPOCH_ANY);
}

static bool is_member(const struct gamma_coll_group *group, const struct gamma_addr *source)
{
	for (uint32_t place = 0; place < group->n; place++)
		if (is_from(group, place, source))
			return true;
	return false;
}

/* The operation of the frame; NULL: none that is expected. Only roots' frames count. */
static struct gamma_coll_cast *cast_of(const struct gamma_coll_group *group, uint32_t number,
				       const struct gamma_addr *source)
{
	struct gamma_coll_op *op = gamma_coll_run_find(group, number);
	struct gamma_list *pos;

	if (!op || op->error)
		return NULL;
	gamma_list_for_each (pos, &op->casts) {
		struct gamma_coll_cast *cast = gamma_list_entry(pos, struct gamma_coll_cast, entry);

		if (!cast->sends && is_from(group, cast->root, source))
			return cast;
	}
	return NULL;
}

/* Whether it is of an operation that has not begun here. */
static bool is_early(const struct gamma_coll_group *group, uint32_t number)
{
	const struct gamma_coll_op *op;

	if (!gamma_coll_number_before(number, group->next))
		return true;
	if (gamma_likely(group->fallback.state != GAMMA_FALLBACK_HALTED))
		return false;
	op = gamma_coll_run_find(group, number);
	return op && op->held;
}

/* Whether it stays where it is, with all behind it, until its operation begins here. Frames of
 * others than members may not. Asked in every progress call, so the members are looked through
 * once for each frame. */
static bool frame_waits(struct gamma_coll_group *group, uint32_t number,
			const struct gamma_addr *source)
{
	if (!is_early(group, number))
		return false;
	if (!group->front_waits)
		group->front_waits = is_member(group, source);
	return group->front_waits;
}

/* Whether the source may be a member, which is asked for its addresses: the frame waits until it
 * answers. */
static bool source_waits(struct gamma_coll_group *group, const struct gamma_addr *source)
{
	for (uint32_t place = 0; place < group->n; place++) {
		const struct gamma_addr *addr = gamma_av_addr(group->ep->av, group->members[place]);

		if (addr && addr->port == source->port &&
		    (addr->epoch == source->epoch || addr->epoch == GAMMA_EPOCH_ANY) &&
		    gamma_groups_ask(group->ep->endpoint, addr))
			return true;
	}
	return false;
}

/* False: it is of an operation that has not begun here, and stays where it is. */
static bool take_frame(struct gamma_coll_group *group, const struct gamma_group_frame *frame,
		       uint64_t now)
{
	const struct gamma_envelope *envelope = &frame->envelope;
	uint32_t number = (uint32_t) envelope->data & GAMMA_COLL_NUMBER_MASK;
	uint32_t index = (uint32_t) envelope->tag;
	struct gamma_coll_cast *cast;

	if (!(envelope->flags & GAMMA_HAS_DATA) || index == GAMMA_COLL_TEST ||
	    envelope->data >> GAMMA_COLL_NUMBER_BITS != group->id)
		return true;
	if (gamma_unlikely(frame->unknown) && source_waits(group, &frame->source))
		return false;
	if (frame_waits(group, number, &frame->source))
		return false;
	cast = cast_of(group, number, &frame->source);
	if (gamma_unlikely(!cast) && !is_member(group, &frame->source))
		stats_of(group)->stray++;
	if (cast && gamma_take_frame(&cast->take, index, frame->payload,
				     (uint32_t) envelope->length, now) == GAMMA_TAKE_NEW)
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
		group->front_waits = false;
		gamma_groups_release(ep->endpoint, group->multicast);
	}
	return false;
}

/* ---- frames that were asked for ---- */

void *gamma_coll_cast_place(struct gamma_coll_op *op, uint32_t place, uint32_t frame, uint64_t len)
{
	struct gamma_coll_cast *cast = find_cast(op, place);
	struct gamma_take *take;

	if (!cast || cast->sends || op->error)
		return NULL;
	take = &cast->take;
	if (frame >= take->frames || len != gamma_take_len(take->bytes, take->payload, frame))
		return NULL;
	return take->to + (uint64_t) frame * take->payload;
}

void gamma_coll_cast_repaired(struct gamma_coll_op *op, uint32_t place, uint32_t frame,
			      uint32_t len)
{
	struct gamma_coll_cast *cast = find_cast(op, place);
	struct gamma_take *take;

	if (!cast || cast->sends)
		return;
	take = &cast->take;
	gamma_take_frame(take, frame, take->to + (uint64_t) frame * take->payload, len,
			 gamma_now());
	gamma_coll_run_wake(op->group->ep);
}

/* Of TAKEN or SENT: whose frames it counts; NONE: it is malformed. other: what a short one means.
 */
static uint32_t root_of(const struct gamma_coll_group *group,
			const struct gamma_coll_control *control, uint32_t other)
{
	const struct gamma_coll_count *count = (const void *) control->bytes;

	if (control->len == GAMMA_COLL_COUNT_SHORT)
		return other;
	return control->len == sizeof(*count) && ntohl(count->root) < group->n
		       ? ntohl(count->root)
		       : GAMMA_COLL_NO_PLACE;
}

void gamma_coll_cast_sent(struct gamma_coll_group *group, uint32_t place,
			  const struct gamma_coll_control *control)
{
	const struct gamma_coll_count *sent = (const void *) control->bytes;
	struct gamma_coll_op *op = gamma_coll_run_find(group, control->number);
	uint32_t root = root_of(group, control, place);
	struct gamma_coll_cast *cast;

	if (root == GAMMA_COLL_NO_PLACE)
		return;
	cast = op ? find_cast(op, root) : NULL;
	if (cast && !cast->sends)
		gamma_coll_relay_remind(op, cast, ntohl(sent->frames));
	else
		*said_by(group, control->number, root) = (struct gamma_coll_said){
			.number = control->number, .place = root, .frames = ntohl(sent->frames)};
}

/* ---- the root hears ---- */

static void take_ask(struct gamma_coll_group *group, struct gamma_stream *stream, uint32_t place,
		     const struct gamma_coll_ask *ask)
{
	struct gamma_stream_ask asked = {.base = ntohl(ask->base), .seen = ntohl(ask->seen)};

	for (unsigned i = 0; i < GAMMA_STREAM_ASK_WORDS; i++)
		asked.bits[i] = ntohl(ask->bits[i]);
	gamma_stream_ask(stream, group->indices[place], &asked, gamma_now());
}

static void take_taken(struct gamma_coll_group *group, struct gamma_coll_op *op, uint32_t place,
		       const struct gamma_coll_control *control)
{
	const struct gamma_coll_count *taken = (const void *) control->bytes;
	uint32_t root = root_of(group, control, group->place);
	struct gamma_coll_cast *cast;

	if (root == GAMMA_COLL_NO_PLACE || (op && op->error))
		return;
	cast = op ? find_cast(op, root) : NULL;
	if (root != group->place) {
		gamma_coll_relay_report(group, op, cast, place, control->number, taken);
		return;
	}
	if (!taken->frames)
		gamma_turns_announce(&group->turns, place, control->number);
	if (cast && group->hosts.leaders[place] == place)
		gamma_stream_report(&cast->stream, group->indices[place], ntohl(taken->frames));
}

void gamma_coll_cast_control(struct gamma_coll_group *group, uint32_t place,
			     const struct gamma_coll_control *control)
{
	struct gamma_coll_op *op = gamma_coll_run_find(group, control->number);
	struct gamma_coll_cast *cast;

	if (!group->hosts.leaders)
		return;
	if (control->type == GAMMA_COLL_TAKEN) {
		take_taken(group, op, place, control);
		return;
	}
	cast = op && !op->error ? find_cast(op, group->place) : NULL;
	if (cast && group->hosts.leaders[place] == place &&
	    control->len == sizeof(struct gamma_coll_ask))
		take_ask(group, &cast->stream, place, (const void *) control->bytes);
}

/* ---- progress ---- */

/* first: no earlier operation takes frames, so that the ring has none of one. */
static void run_casts(struct gamma_coll_op *op, uint64_t now, bool looked, bool first)
{
	struct gamma_list *pos, *tmp;

	gamma_list_for_each_safe (pos, tmp, &op->casts) {
		struct gamma_coll_cast *cast = gamma_list_entry(pos, struct gamma_coll_cast, entry);

		if (cast->sends)
			send_frames(op, cast, now);
		else if (first || !cast->take.announces)
			report_frames(op, cast, now, looked);
	}
}

static void run_group(struct gamma_coll_group *group, uint64_t now)
{
	bool looked = group->opening || !group->multicast || take_frames(group, now);
	bool first = true;
	struct gamma_list *pos;

	gamma_list_for_each (pos, &group->ops) {
		struct gamma_coll_op *op = gamma_list_entry(pos, struct gamma_coll_op, entry);

		if (op->error)
			continue;
		run_casts(op, now, looked, first);
		first &= gamma_list_empty(&op->casts);
	}
}

/* Nothing of the group goes by multicast any more. */
static bool has_left_multicast(const struct gamma_coll_group *group)
{
	struct gamma_list *pos;

	if (gamma_likely(!group->fallback.over))
		return false;
	gamma_list_for_each (pos, &group->ops)
		if (gamma_list_entry(pos, struct gamma_coll_op, entry)->call.hosts)
			return false;
	return true;
}

void gamma_coll_cast_progress(struct gamma_fi_ep *ep)
{
	uint64_t now = gamma_now();
	struct gamma_list *pos, *tmp;

	gamma_list_for_each_safe (pos, tmp, &ep->coll->casting) {
		struct gamma_coll_group *group =
			gamma_list_entry(pos, struct gamma_coll_group, cast_entry);

		if (group->error)
			continue;
		if (!group->live)
			gamma_coll_open_progress(group, now);
		else if (has_left_multicast(group))
			gamma_list_remove(&group->cast_entry);
		else if (!gamma_list_empty(&group->ops))
			run_group(group, now);
	}
}
