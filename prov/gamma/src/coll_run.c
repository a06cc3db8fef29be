// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Running collective operations: their steps, their messages on the way in, and what waits for
 * them. The engine calls while it receives, when nothing may be sent; what follows from a message
 * is done in the progress call behind it.
 */
#include "ep.h"

#include <arpa/inet.h>
#include <stdlib.h>

enum {
	POLLS_PER_LOOK = 64, /* progress calls between two readings of the clock */
	LOOK_US = 200,       /* that a thread sleeps while a group uses multicast */
	ASK_MS = 1000,       /* that nothing has come for: first; each time twice as long */
};

void gamma_coll_run_wake(struct gamma_fi_ep *ep)
{
	ep->coll_active = true;
}

/* ---- transfers ---- */

static struct gamma_coll *coll_of(const struct gamma_coll_op *op)
{
	return op->group->ep->coll;
}

void gamma_coll_run_look(struct gamma_coll_op *op)
{
	if (gamma_list_empty(&op->due_entry))
		gamma_list_append(&coll_of(op)->due, &op->due_entry);
	gamma_coll_run_wake(op->group->ep);
}

void gamma_coll_run_end_step(struct gamma_coll_op *op, uint32_t step)
{
	gamma_schedule_done(&op->schedule, &op->schedule.steps[step]);
	gamma_coll_run_look(op);
}

/* The transfer has ended well or not: whatever waited for it may go on. */
static void end_transfer(struct gamma_coll_transfer *transfer)
{
	struct gamma_coll_op *op = transfer->op;

	if (!transfer->repair)
		gamma_schedule_done(&op->schedule, &op->schedule.steps[transfer->step]);
	gamma_coll_transfer_put(coll_of(op), transfer);
	gamma_coll_run_look(op);
}

/* ---- the end of operations ---- */

static void write_completion(struct gamma_fi_ep *ep, const struct gamma_coll_op *op)
{
	const struct gamma_coll_group *group = op->group;
	struct gamma_completion completion = {
		.context = op->context,
		.flags = FI_COLLECTIVE,
		.len = gamma_plan_bytes(&op->call),
		.source = FI_ADDR_NOTAVAIL,
	};
	struct gamma_cntr *cntr = ep->cntrs[GAMMA_CNTR_SEND];
	char text[GAMMA_COLL_CAUSE_LEN + 16];

	if (ep->closing)
		return;
	if (cntr && op->error)
		gamma_cntr_add_error(cntr, 1);
	else if (cntr)
		gamma_cntr_add(cntr, 1);
	if (ep->tx_cq && op->error) {
		snprintf(text, sizeof(text), "%s: %s", gamma_plan_name(op->call.kind),
			 group->cause);
		gamma_cq_write_error(ep->tx_cq, &completion, -op->error, 0, text);
	} else if (ep->tx_cq && op->notify) {
		gamma_cq_write(ep->tx_cq, completion);
	}
}

static void end_op(struct gamma_coll_op *op)
{
	struct gamma_fi_ep *ep = op->group->ep;

	write_completion(ep, op);
	ep->coll->outstanding--;
	gamma_list_remove(&op->entry);
	gamma_list_remove(&op->due_entry);
	gamma_coll_cast_end(op);
	gamma_schedule_fini(&op->schedule);
	free(op);
}

void gamma_coll_run_end_ops(struct gamma_coll_group *group)
{
	struct gamma_list *pos, *tmp;

	gamma_list_for_each_safe (pos, tmp, &group->ops) {
		struct gamma_coll_op *op = gamma_list_entry(pos, struct gamma_coll_op, entry);

		op->error = group->error;
		while (!gamma_list_empty(&op->posted))
			gamma_coll_transfer_put(
				group->ep->coll,
				gamma_list_first(&op->posted, struct gamma_coll_transfer, entry));
		if (gamma_list_empty(&op->flying))
			end_op(op);
	}
}

/* ---- the way in ---- */

static uint64_t id_of(const struct gamma_envelope *envelope)
{
	return envelope->data >> GAMMA_COLL_NUMBER_BITS;
}

static uint32_t number_of(const struct gamma_envelope *envelope)
{
	return (uint32_t) envelope->data & GAMMA_COLL_NUMBER_MASK;
}

static uint32_t signature_of(const struct gamma_envelope *envelope)
{
	return ((uint32_t) envelope->tag & ~GAMMA_COLL_OPERATION) >> GAMMA_COLL_INDEX_BITS;
}

static bool is_operation(const struct gamma_envelope *envelope)
{
	return envelope->tag & GAMMA_COLL_OPERATION;
}

struct gamma_coll_op *gamma_coll_run_find(const struct gamma_coll_group *group, uint32_t number)
{
	struct gamma_list *pos;

	gamma_list_for_each (pos, &group->ops) {
		struct gamma_coll_op *op = gamma_list_entry(pos, struct gamma_coll_op, entry);

		if (op->number == number)
			return op;
	}
	return NULL;
}

static void spoil_different(struct gamma_coll_group *group, uint32_t place)
{
	gamma_coll_group_spoil(group, place, -FI_EINVAL, true,
			       "it calls another operation, length or root than member %u",
			       group->place);
}

/* All members call the same; this member's call of that number may be over, or to come. */
static void compare_calls(struct gamma_coll_group *group, uint32_t place, uint32_t number,
			  uint32_t signature)
{
	uint32_t ago = (group->next - number) & GAMMA_COLL_NUMBER_MASK;

	if (ago && ago <= GAMMA_COLL_HISTORY &&
	    group->signatures[number % GAMMA_COLL_HISTORY] != signature)
		spoil_different(group, place);
}

static bool is_repair(const struct gamma_envelope *envelope)
{
	return !is_operation(envelope) && envelope->tag & GAMMA_COLL_REPAIR;
}

static uint32_t frame_of(const struct gamma_envelope *envelope)
{
	return (uint32_t) envelope->tag & (GAMMA_COLL_REPAIR - 1);
}

/* The group of a message of an operation, if a member has sent it; else NULL. */
static struct gamma_coll_group *group_of(struct gamma_fi_ep *ep, struct gamma_flow *flow,
					 const struct gamma_envelope *envelope, uint32_t *place)
{
	struct gamma_coll_group *group;

	if (!ep->coll || (!is_operation(envelope) && !is_repair(envelope)) ||
	    !(envelope->flags & GAMMA_HAS_DATA))
		return NULL;
	group = gamma_coll_group_find(ep->coll, id_of(envelope));
	if (!group || group->error)
		return NULL;
	*place = gamma_coll_group_place(group, gamma_source_of(ep, flow));
	return *place == GAMMA_COLL_NO_PLACE ? NULL : group;
}

static bool is_for_step(const struct gamma_schedule_step *step, uint32_t place,
			const struct gamma_envelope *envelope)
{
	return step->peer == place &&
	       ((step->index ^ (uint32_t) envelope->tag) & GAMMA_COLL_INDEX_MASK) == 0;
}

/* The receive that waits for a message, now under way; or NULL. */
static struct gamma_coll_transfer *take_posted(struct gamma_fi_ep *ep, struct gamma_flow *flow,
					       const struct gamma_envelope *envelope)
{
	uint32_t place;
	struct gamma_coll_group *group = group_of(ep, flow, envelope, &place);
	struct gamma_coll_op *op = group ? gamma_coll_run_find(group, number_of(envelope)) : NULL;
	struct gamma_list *pos;

	if (!op || op->signature != signature_of(envelope))
		return NULL;
	gamma_list_for_each (pos, &op->posted) {
		struct gamma_coll_transfer *transfer =
			gamma_list_entry(pos, struct gamma_coll_transfer, entry);

		if (!is_for_step(&op->schedule.steps[transfer->step], place, envelope))
			continue;
		/* Signatures of different calls may be the same. */
		if (gamma_unlikely(transfer->recv.capacity != envelope->length)) {
			spoil_different(group, place);
			return NULL;
		}
		gamma_coll_transfer_stop_expecting(transfer);
		gamma_list_remove(&transfer->entry);
		gamma_list_append(&op->flying, &transfer->entry);
		return transfer;
	}
	return NULL;
}

/* A frame that was asked for, whole. */
static void take_repair(struct gamma_fi_ep *ep, struct gamma_flow *flow,
			const struct gamma_envelope *envelope, const uint8_t *bytes)
{
	uint32_t place, frame = frame_of(envelope);
	struct gamma_coll_group *group = group_of(ep, flow, envelope, &place);
	struct gamma_coll_op *op = group ? gamma_coll_run_find(group, number_of(envelope)) : NULL;
	void *at = op ? gamma_coll_cast_place(op, place, frame, envelope->length) : NULL;

	if (!at)
		return;
	memcpy(at, bytes, envelope->length);
	gamma_coll_cast_repaired(op, place, frame, (uint32_t) envelope->length);
}

/* The same of one that comes in pieces: where it goes, or NULL. */
static struct gamma_recv *match_repair(struct gamma_fi_ep *ep, struct gamma_flow *flow,
				       const struct gamma_envelope *envelope)
{
	uint32_t place, frame = frame_of(envelope);
	struct gamma_coll_group *group = group_of(ep, flow, envelope, &place);
	struct gamma_coll_op *op = group ? gamma_coll_run_find(group, number_of(envelope)) : NULL;
	void *at = op ? gamma_coll_cast_place(op, place, frame, envelope->length) : NULL;
	struct gamma_coll_transfer *transfer = at ? gamma_coll_transfer_get(ep->coll) : NULL;

	if (!transfer)
		return NULL;
	transfer->op = op;
	transfer->step = place;
	transfer->repair = true;
	transfer->frame = frame;
	transfer->recv.iov[0] = (struct iovec){.iov_base = at, .iov_len = envelope->length};
	transfer->recv.iov_count = 1;
	transfer->recv.capacity = envelope->length;
	gamma_list_append(&op->flying, &transfer->entry);
	return &transfer->recv;
}

static void keep_control(struct gamma_fi_ep *ep, struct gamma_flow *flow,
			 const struct gamma_envelope *envelope, const uint8_t *bytes)
{
	struct gamma_coll_control *control;

	if (envelope->length > sizeof(control->bytes) || !(envelope->flags & GAMMA_HAS_DATA))
		return;
	control = malloc(sizeof(*control));
	if (!control)
		return;
	control->source = gamma_source_of(ep, flow);
	control->addr = flow->addr;
	control->id = id_of(envelope);
	control->number = number_of(envelope);
	control->type = (uint32_t) envelope->tag;
	control->len = envelope->length;
	if (envelope->length)
		memcpy(control->bytes, bytes, envelope->length);
	gamma_list_append(&ep->coll->controls, &control->entry);
	ep->coll->control_count++;
	gamma_coll_run_wake(ep);
}

uint64_t gamma_coll_run_deliver(struct gamma_fi_ep *ep, struct gamma_flow *flow,
				const struct gamma_envelope *envelope, const uint8_t *bytes)
{
	struct gamma_coll_transfer *transfer;

	if (!ep->coll || ep->closing)
		return 0;
	if (is_repair(envelope)) {
		take_repair(ep, flow, envelope, bytes);
		return 0;
	}
	if (!is_operation(envelope)) {
		keep_control(ep, flow, envelope, bytes);
		return 0;
	}
	transfer = take_posted(ep, flow, envelope);
	if (!transfer)
		return GAMMA_UNMATCHED;
	if (envelope->length)
		memcpy(transfer->recv.iov[0].iov_base, bytes, envelope->length);
	end_transfer(transfer);
	return envelope->length;
}

struct gamma_recv *gamma_coll_run_match(struct gamma_fi_ep *ep, struct gamma_flow *flow,
					const struct gamma_envelope *envelope)
{
	struct gamma_coll_transfer *transfer;

	if (is_repair(envelope))
		return match_repair(ep, flow, envelope);
	transfer = take_posted(ep, flow, envelope);
	return transfer ? &transfer->recv : NULL;
}

void gamma_coll_run_unexpected(struct gamma_fi_ep *ep, struct gamma_inbound *inbound)
{
	const struct gamma_envelope *envelope = &inbound->envelope;
	struct gamma_coll_group *group;
	struct gamma_coll_op *op;
	uint32_t place;

	if (!ep->coll) {
		gamma_list_append(&ep->ports.arrived, &inbound->entry);
		return;
	}
	group = is_repair(envelope) ? NULL : group_of(ep, inbound->flow, envelope, &place);
	if (!group)
		gamma_endpoint_counters(ep->endpoint)->stray++;
	if (!group || gamma_coll_number_before(number_of(envelope), group->next)) {
		op = group ? gamma_coll_run_find(group, number_of(envelope)) : NULL;
		if (group)
			compare_calls(group, place, number_of(envelope), signature_of(envelope));
		if (!op || group->error) {
			gamma_list_append(&ep->coll->strays, &inbound->entry);
			gamma_coll_run_wake(ep);
			return;
		}
	}
	gamma_list_append(&group->unexpected, &inbound->entry);
}

void gamma_coll_run_received(struct gamma_fi_ep *ep, struct gamma_recv *recv, int error)
{
	struct gamma_coll_transfer *transfer =
		gamma_container_of(recv, struct gamma_coll_transfer, recv);
	struct gamma_coll_op *op = transfer->op;

	if (transfer->repair) {
		if (!error)
			gamma_coll_cast_repaired(op, transfer->step, transfer->frame,
						 (uint32_t) transfer->recv.capacity);
	} else if (error) {
		gamma_coll_group_spoil(op->group, op->schedule.steps[transfer->step].peer, error,
				       true, "%s", ep->cause);
	}
	end_transfer(transfer);
}

void gamma_coll_run_sent(struct gamma_fi_ep *ep, struct gamma_send *send, int error)
{
	struct gamma_coll_transfer *transfer =
		gamma_container_of(send, struct gamma_coll_transfer, send);
	struct gamma_coll_op *op = transfer->op;

	if (!op) {
		gamma_coll_transfer_put(ep->coll, transfer);
		return;
	}
	if (error && !transfer->repair)
		gamma_coll_group_spoil(op->group, op->schedule.steps[transfer->step].peer, error,
				       true, "%s", ep->cause);
	end_transfer(transfer);
}

/* ---- receives ---- */

/* The peer counts as dead if it does not even answer probes. That of an address without epoch may
 * not have started yet. */
static int expect_peer(struct gamma_coll_group *group, struct gamma_coll_transfer *transfer,
		       uint32_t place)
{
	struct gamma_fi_ep *ep = group->ep;
	fi_addr_t index = group->members[place];
	const struct gamma_addr *addr = gamma_av_addr(ep->av, index);
	bool known = index < ep->flow_count && ep->flows[index];
	struct gamma_flow *flow;

	if (!addr)
		return -FI_EADDRNOTAVAIL;
	if (addr->epoch == GAMMA_EPOCH_ANY && !known)
		return 0;
	flow = gamma_submit_find_flow(ep, index);
	if (!flow)
		return -FI_ENOMEM;
	if (!gamma_flow_usable(flow))
		return gamma_flow_refuse_post(flow);
	transfer->flow = flow;
	flow->expected++;
	if (!gamma_timers_is_set(flow, GAMMA_TIMER_PROBE))
		gamma_loss_rearm(flow, gamma_now());
	return 0;
}

static struct gamma_inbound *find_unexpected(struct gamma_coll_op *op,
					     const struct gamma_schedule_step *step)
{
	struct gamma_coll_group *group = op->group;
	struct gamma_list *pos;

	gamma_list_for_each (pos, &group->unexpected) {
		struct gamma_inbound *inbound = gamma_list_entry(pos, struct gamma_inbound, entry);
		fi_addr_t source = gamma_source_of(group->ep, inbound->flow);

		if (number_of(&inbound->envelope) == op->number &&
		    is_for_step(step, gamma_coll_group_place(group, source), &inbound->envelope))
			return inbound;
	}
	return NULL;
}

static int receive_step(struct gamma_coll_op *op, struct gamma_schedule_step *step)
{
	struct gamma_coll_transfer *transfer = gamma_coll_transfer_get(coll_of(op));
	struct gamma_inbound *inbound;

	if (!transfer)
		return -FI_ENOMEM;
	transfer->op = op;
	transfer->step = (uint32_t) (step - op->schedule.steps);
	transfer->recv.iov[0] = (struct iovec){.iov_base = step->to, .iov_len = step->len};
	transfer->recv.iov_count = step->len != 0;
	transfer->recv.capacity = step->len;
	inbound = gamma_list_empty(&op->group->unexpected) ? NULL : find_unexpected(op, step);
	if (!inbound) {
		gamma_list_append(&op->posted, &transfer->entry);
		return expect_peer(op->group, transfer, step->peer);
	}
	if (gamma_unlikely(inbound->envelope.length != step->len)) {
		gamma_coll_transfer_put(coll_of(op), transfer);
		spoil_different(op->group, step->peer);
		return 0;
	}
	gamma_list_remove(&inbound->entry);
	gamma_list_append(&op->flying, &transfer->entry);
	gamma_receive_accept(inbound, &transfer->recv);
	return 0;
}

/* ---- operations ---- */

static void run_step(struct gamma_coll_op *op, struct gamma_schedule_step *step)
{
	int ret = 0;

	switch (step->kind) {
	case GAMMA_SCHEDULE_SEND:
		ret = gamma_coll_transfer_send_step(op, step);
		break;
	case GAMMA_SCHEDULE_RECEIVE:
		ret = receive_step(op, step);
		break;
	case GAMMA_SCHEDULE_CAST:
	case GAMMA_SCHEDULE_TAKE:
		ret = gamma_coll_cast_begin(op, step);
		break;
	default:
		gamma_plan_compute(&op->call, step);
		gamma_schedule_done(&op->schedule, step);
	}
	if (ret)
		gamma_coll_group_spoil(op->group, step->peer, ret, true, "%s", fi_strerror(-ret));
}

static void run_op(struct gamma_coll_op *op)
{
	struct gamma_schedule_step *step;

	while (!op->group->error && (step = gamma_schedule_next(&op->schedule)))
		run_step(op, step);
	gamma_list_remove(&op->due_entry);
	if (op->error ? gamma_list_empty(&op->flying)
		      : !op->group->error && gamma_schedule_has_ended(&op->schedule) &&
				gamma_list_empty(&op->flying) && gamma_list_empty(&op->casts))
		end_op(op);
}

/* Earlier reports of others about this operation. */
static void compare_early(struct gamma_coll_group *group, const struct gamma_coll_op *op)
{
	struct gamma_list *pos;

	if (group->check.set && group->check.number == op->number) {
		group->check.set = false;
		compare_calls(group, group->check.place, op->number, group->check.signature);
	}
	gamma_list_for_each (pos, &group->unexpected) {
		struct gamma_inbound *inbound = gamma_list_entry(pos, struct gamma_inbound, entry);
		fi_addr_t source = gamma_source_of(group->ep, inbound->flow);

		if (number_of(&inbound->envelope) == op->number)
			compare_calls(group, gamma_coll_group_place(group, source), op->number,
				      signature_of(&inbound->envelope));
	}
}

static void make_plan(struct gamma_coll_op *op)
{
	struct gamma_coll_group *group = op->group;

	if (gamma_coll_fallback_casts(group, op->number) &&
	    gamma_plan_bytes(&op->call) / group->payload < GAMMA_COLL_FRAMES_MAX)
		op->call.hosts = &group->hosts;
	if (gamma_plan_casts(&op->call))
		gamma_coll_cast_plan(op);
	gamma_plan_make(&op->call, &op->schedule);
}

void gamma_coll_run_begin_held(struct gamma_coll_group *group)
{
	struct gamma_list *pos;

	gamma_list_for_each (pos, &group->ops) {
		struct gamma_coll_op *op = gamma_list_entry(pos, struct gamma_coll_op, entry);

		if (!op->held)
			continue;
		op->held = false;
		make_plan(op);
		if (op->schedule.failed) {
			gamma_coll_group_spoil(group, group->place, -FI_ENOMEM, true, "%s",
					       fi_strerror(FI_ENOMEM));
			return;
		}
		gamma_schedule_start(&op->schedule);
		gamma_coll_run_look(op);
	}
}

int gamma_coll_run_begin(struct gamma_coll_group *group, struct gamma_coll_op *op)
{
	struct gamma_coll *coll = group->ep->coll;

	op->group = group;
	gamma_list_init(&op->due_entry);
	gamma_list_init(&op->posted);
	gamma_list_init(&op->flying);
	gamma_list_init(&op->casts);
	gamma_schedule_init(&op->schedule);
	op->number = group->next;
	op->held = group->fallback.state == GAMMA_FALLBACK_HALTED;
	if (!op->held)
		make_plan(op);
	if (op->schedule.failed) {
		gamma_schedule_fini(&op->schedule);
		return -FI_ENOMEM;
	}
	op->signature = gamma_plan_signature(&op->call);
	op->asks_after = ASK_MS * GAMMA_NS_PER_MS;
	op->look_at = gamma_now() + op->asks_after;
	coll->look_at = gamma_min(coll->look_at, op->look_at);
	group->next = (group->next + 1) & GAMMA_COLL_NUMBER_MASK;
	group->signatures[op->number % GAMMA_COLL_HISTORY] = op->signature;
	gamma_list_append(&group->ops, &op->entry);
	coll->outstanding++;
	gamma_coll_run_wake(group->ep);
	compare_early(group, op);
	if (op->held)
		return 0;
	gamma_schedule_start(&op->schedule);
	run_op(op);
	return 0;
}

void gamma_coll_run_check(struct gamma_coll_group *group, uint32_t place,
			  const struct gamma_coll_control *control)
{
	const struct gamma_coll_waiting *waiting = (const void *) control->bytes;
	uint32_t signature;

	if (control->len != sizeof(*waiting))
		return;
	signature = ntohl(waiting->signature);
	if (gamma_coll_number_before(control->number, group->next)) {
		compare_calls(group, place, control->number, signature);
		return;
	}
	group->check.set = true;
	group->check.number = control->number;
	group->check.signature = signature;
	group->check.place = place;
}

static void send_check(const struct gamma_coll_op *op, uint32_t place)
{
	const struct gamma_coll_group *group = op->group;
	const struct gamma_coll_waiting waiting = {.signature = htonl(op->signature)};

	gamma_coll_transfer_send_control(group->ep, group->members[place], group->id,
					 GAMMA_COLL_CHECK, op->number, &waiting, sizeof(waiting));
}

/* A member that the operation waits for here; NO_PLACE: none is known. */
static uint32_t missing_of(const struct gamma_coll_op *op)
{
	const struct gamma_coll_transfer *first =
		gamma_list_first(&op->posted, struct gamma_coll_transfer, entry);

	return gamma_list_empty(&op->posted) ? gamma_coll_cast_missing(op)
					     : op->schedule.steps[first->step].peer;
}

/* Those between the next member and the missing one may have ended the operation, and ask nobody.
 */
static void send_checks(const struct gamma_coll_op *op)
{
	uint32_t next = (op->group->place + 1) % op->group->n, missing = missing_of(op);

	send_check(op, next);
	if (missing != next && missing != GAMMA_COLL_NO_PLACE)
		send_check(op, missing);
}

uint64_t gamma_coll_run_expire(struct gamma_coll_group *group, uint64_t now)
{
	uint64_t next = GAMMA_NEVER;
	struct gamma_list *pos;

	gamma_list_for_each (pos, &group->ops) {
		struct gamma_coll_op *op = gamma_list_entry(pos, struct gamma_coll_op, entry);

		if (now >= op->look_at) {
			send_checks(op);
			op->asks_after *= 2;
			op->look_at = now + op->asks_after;
		}
		next = gamma_min(next, op->look_at);
	}
	return next;
}

/* ---- peers that end ---- */

void gamma_coll_run_failed(struct gamma_fi_ep *ep, struct gamma_flow *flow, int error,
			   const char *cause)
{
	struct gamma_list *pos;
	fi_addr_t source;

	if (!ep->coll)
		return;
	source = gamma_source_of(ep, flow);
	for (unsigned i = 0; i < GAMMA_COLL_BUCKETS; i++)
		gamma_list_for_each (pos, &ep->coll->groups[i]) {
			struct gamma_coll_group *group =
				gamma_list_entry(pos, struct gamma_coll_group, entry);
			uint32_t place = gamma_coll_group_place(group, source);

			if (place != GAMMA_COLL_NO_PLACE)
				gamma_coll_group_spoil(group, place, error, true, "%s", cause);
		}
}

static void replace_in_group(struct gamma_coll_group *group, const struct gamma_flow *flow,
			     struct gamma_flow *other)
{
	struct gamma_list *pos, *at;

	gamma_list_for_each (pos, &group->ops)
		gamma_list_for_each (at,
				     &gamma_list_entry(pos, struct gamma_coll_op, entry)->posted) {
			struct gamma_coll_transfer *transfer =
				gamma_list_entry(at, struct gamma_coll_transfer, entry);

			if (transfer->flow != flow)
				continue;
			gamma_coll_transfer_stop_expecting(transfer);
			transfer->flow = other;
			if (other)
				other->expected++;
		}
}

void gamma_coll_run_replace(struct gamma_fi_ep *ep, const struct gamma_flow *flow,
			    struct gamma_flow *other)
{
	struct gamma_list *pos;

	for (unsigned i = 0; ep->coll && i < GAMMA_COLL_BUCKETS; i++)
		gamma_list_for_each (pos, &ep->coll->groups[i])
			replace_in_group(gamma_list_entry(pos, struct gamma_coll_group, entry),
					 flow, other);
}

/* ---- progress ---- */

static void end_bad_groups(struct gamma_coll *coll)
{
	struct gamma_list *pos, *tmp;

	coll->bad = false;
	for (unsigned i = 0; i < GAMMA_COLL_BUCKETS; i++)
		gamma_list_for_each_safe (pos, tmp, &coll->groups[i]) {
			struct gamma_coll_group *group =
				gamma_list_entry(pos, struct gamma_coll_group, entry);

			if (group->bad)
				gamma_coll_group_end(group);
		}
}

static bool has_work(const struct gamma_coll *coll)
{
	return coll->bad || !gamma_list_empty(&coll->controls) ||
	       !gamma_list_empty(&coll->strays) || !gamma_list_empty(&coll->due);
}

static void look_at_clock(struct gamma_fi_ep *ep)
{
	struct gamma_coll *coll = ep->coll;
	uint64_t now;

	if (++coll->polls < POLLS_PER_LOOK)
		return;
	coll->polls = 0;
	now = gamma_now();
	if (now >= coll->look_at)
		coll->look_at = gamma_coll_group_expire(ep, now);
}

GAMMA_NOINLINE void gamma_coll_run_progress(struct gamma_fi_ep *ep)
{
	struct gamma_coll *coll = ep->coll;

	while (!gamma_list_empty(&coll->controls)) {
		struct gamma_coll_control *control =
			gamma_list_first(&coll->controls, struct gamma_coll_control, entry);

		gamma_list_remove(&control->entry);
		gamma_coll_group_control(ep, control);
	}
	if (gamma_unlikely(coll->bad))
		end_bad_groups(coll);
	if (coll->outstanding && !gamma_list_empty(&coll->casting))
		gamma_coll_cast_progress(ep);
	while (gamma_unlikely(!gamma_list_empty(&coll->strays))) {
		struct gamma_inbound *inbound =
			gamma_list_first(&coll->strays, struct gamma_inbound, entry);

		gamma_list_remove(&inbound->entry);
		gamma_receive_discard(inbound);
	}
	while (!gamma_list_empty(&coll->due))
		run_op(gamma_list_first(&coll->due, struct gamma_coll_op, due_entry));
	if (coll->outstanding)
		look_at_clock(ep);
	ep->coll_active = coll->outstanding || has_work(coll);
}

uint64_t gamma_coll_run_deadline(const struct gamma_fi_ep *ep)
{
	if (!ep->coll_active)
		return GAMMA_NEVER;
	if (has_work(ep->coll))
		return 0;
	/* Nothing wakes a thread for frames that come by multicast. */
	if (ep->coll->outstanding && !gamma_list_empty(&ep->coll->casting))
		return gamma_min(ep->coll->look_at, gamma_now() + LOOK_US * GAMMA_NS_PER_US);
	return ep->coll->look_at;
}
