// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Messages of collective operations on their way out: steps, repairs and control messages; and the
 * memory for those under way, in both directions. Called by coll_run.c and its siblings.
 */
#include "ep.h"

#include <stdlib.h>

/* ---- memory ---- */

struct gamma_coll_transfer *gamma_coll_transfer_get(struct gamma_coll *coll)
{
	struct gamma_coll_transfer *transfer;

	if (gamma_list_empty(&coll->pool)) {
		transfer = malloc(sizeof(*transfer));
		if (!transfer)
			return NULL;
		gamma_list_init(&transfer->entry);
	} else {
		transfer = gamma_list_first(&coll->pool, struct gamma_coll_transfer, entry);
		gamma_list_remove(&transfer->entry);
	}
	transfer->op = NULL;
	transfer->repair = false;
	transfer->flow = NULL;
	transfer->bytes = NULL;
	return transfer;
}

/* Its peer is no longer expected to send for it. */
void gamma_coll_transfer_stop_expecting(struct gamma_coll_transfer *transfer)
{
	if (transfer->flow)
		transfer->flow->expected--;
	transfer->flow = NULL;
}

void gamma_coll_transfer_put(struct gamma_coll *coll, struct gamma_coll_transfer *transfer)
{
	gamma_coll_transfer_stop_expecting(transfer);
	free(transfer->bytes);
	transfer->bytes = NULL;
	gamma_list_remove(&transfer->entry);
	gamma_list_append(coll->pool.next, &transfer->entry);
}

/* ---- sending ---- */

static struct gamma_envelope envelope_of(uint64_t id, uint32_t number, uint32_t arg, uint64_t len)
{
	return (struct gamma_envelope){
		.tag = gamma_envelope_port_tag(GAMMA_COLL_PORT, 0, arg),
		.data = id << GAMMA_COLL_NUMBER_BITS | number,
		.length = len,
		.flags = GAMMA_TAGGED | GAMMA_TO_PORT | GAMMA_HAS_DATA,
	};
}

static void fill_send(struct gamma_send *send, const struct gamma_envelope *envelope,
		      const struct iovec *iov)
{
	send->iov[0] = *iov;
	send->iov_count = envelope->length != 0;
	send->envelope = *envelope;
	send->level = GAMMA_WHEN_COPIED;
	send->fence = false;
	send->more = false;
	send->may_delay = false;
}

static bool send_copy(struct gamma_fi_ep *ep, struct gamma_flow *flow,
		      const struct gamma_envelope *envelope, const struct iovec *iov)
{
	return envelope->length <= gamma_settings.inject_size &&
	       gamma_endpoint_send_copy(ep->endpoint, flow, iov, envelope->length != 0, envelope,
					false, false) != GAMMA_COPIED_NOT;
}

int gamma_coll_transfer_send_step(struct gamma_coll_op *op, struct gamma_schedule_step *step)
{
	struct gamma_coll_group *group = op->group;
	struct gamma_fi_ep *ep = group->ep;
	struct gamma_flow *flow = gamma_submit_find_flow(ep, group->members[step->peer]);
	uint32_t arg = GAMMA_COLL_OPERATION | op->signature << GAMMA_COLL_INDEX_BITS |
		       (step->index & GAMMA_COLL_INDEX_MASK);
	struct gamma_envelope envelope = envelope_of(group->id, op->number, arg, step->len);
	struct iovec iov = {.iov_base = (void *) step->from, .iov_len = step->len};
	struct gamma_coll_transfer *transfer;
	int ret;

	if (!flow)
		return -FI_EADDRNOTAVAIL;
	if (gamma_likely(send_copy(ep, flow, &envelope, &iov))) {
		gamma_schedule_done(&op->schedule, step);
		return 0;
	}
	transfer = gamma_coll_transfer_get(ep->coll);
	if (!transfer)
		return -FI_ENOMEM;
	fill_send(&transfer->send, &envelope, &iov);
	transfer->op = op;
	transfer->step = (uint32_t) (step - op->schedule.steps);
	gamma_list_append(&op->flying, &transfer->entry);
	ret = gamma_endpoint_send(ep->endpoint, flow, &transfer->send);
	if (ret)
		gamma_coll_transfer_put(ep->coll, transfer);
	return ret;
}

void gamma_coll_transfer_send_repair(struct gamma_coll_op *op, uint32_t place, uint32_t frame,
				     const void *bytes, uint32_t len)
{
	struct gamma_fi_ep *ep = op->group->ep;
	struct gamma_flow *flow = gamma_submit_find_flow(ep, op->group->members[place]);
	struct gamma_envelope envelope =
		envelope_of(op->group->id, op->number, GAMMA_COLL_REPAIR | frame, len);
	struct iovec iov = {.iov_base = (void *) bytes, .iov_len = len};
	struct gamma_coll_transfer *transfer;

	if (!flow || !gamma_flow_usable(flow) || send_copy(ep, flow, &envelope, &iov))
		return;
	transfer = gamma_coll_transfer_get(ep->coll);
	if (!transfer)
		return; /* it will be asked for again */
	fill_send(&transfer->send, &envelope, &iov);
	transfer->op = op;
	transfer->repair = true;
	gamma_list_append(&op->flying, &transfer->entry);
	if (gamma_endpoint_send(ep->endpoint, flow, &transfer->send))
		gamma_coll_transfer_put(ep->coll, transfer);
}

/* bytes: kept until it has been sent. */
static void queue_control(struct gamma_fi_ep *ep, struct gamma_flow *flow,
			  const struct gamma_envelope *envelope, const struct iovec *iov)
{
	struct gamma_coll_transfer *transfer = gamma_coll_transfer_get(ep->coll);
	struct iovec copy = *iov;

	if (!transfer)
		return;
	if (envelope->length) {
		transfer->bytes = malloc(sizeof(*transfer->bytes));
		if (!transfer->bytes) {
			gamma_coll_transfer_put(ep->coll, transfer);
			return;
		}
		copy.iov_base = transfer->bytes->bytes;
		memcpy(copy.iov_base, iov->iov_base, iov->iov_len);
	}
	fill_send(&transfer->send, envelope, &copy);
	gamma_list_append(&ep->coll->sends, &transfer->entry);
	if (gamma_endpoint_send(ep->endpoint, flow, &transfer->send))
		gamma_coll_transfer_put(ep->coll, transfer);
}

void gamma_coll_transfer_send_control(struct gamma_fi_ep *ep, fi_addr_t to, uint64_t id,
				      enum gamma_coll_type type, uint32_t number, const void *bytes,
				      size_t len)
{
	struct gamma_flow *flow = gamma_submit_find_flow(ep, to);
	struct gamma_envelope envelope = envelope_of(id, number, type, len);
	struct iovec iov = {.iov_base = (void *) bytes, .iov_len = len};

	if (flow && gamma_flow_usable(flow) && !send_copy(ep, flow, &envelope, &iov))
		queue_control(ep, flow, &envelope, &iov);
}
