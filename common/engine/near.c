// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Short messages to and from neighbours without frames, and large ones' announcements and answers:
 * what is written into shared memory is not lost, damaged or overtaken, so there is nothing to
 * number, acknowledge or time. All else takes frames through the same memory, in the same order.
 * Called by endpoint.c, output.c, and the message layer (put).
 */
#include "engine/internal.h"

#include <string.h>

_Static_assert((int) GAMMA_PLAIN_TAGGED == GAMMA_TAGGED && (int) GAMMA_PLAIN_DATA == GAMMA_HAS_DATA,
	       "an envelope's flags are a record's");

/* ---- the way out ---- */

/* The peer knows this flow if it has answered it, or spoken first. */
void gamma_near_look(struct gamma_endpoint *endpoint, struct gamma_flow *flow)
{
	struct gamma_place place = {.port = flow->port, .epoch = flow->epoch};

	if (flow->self || !flow->heard_of || flow->state != GAMMA_FLOW_OPEN)
		return;
	memcpy(place.mac, flow->addr.mac, GAMMA_MAC_LEN);
	flow->way = endpoint->samehost->ops->way(endpoint->samehost, &place);
}

/* Nothing of the flow waits that it would overtake. */
static bool is_next(const struct gamma_flow *flow)
{
	return flow->state == GAMMA_FLOW_OPEN && gamma_list_empty(&flow->ready_entry) &&
	       gamma_list_empty(&flow->messages.queue) && !flow->messages.filling && !flow->tx.lost;
}

/* Above the inject size copies do not always pay. */
static bool put_large(struct gamma_endpoint *endpoint, struct gamma_flow *flow,
		      const struct gamma_plain *plain, const struct iovec *iov, unsigned iov_count)
{
	bool timed;
	uint64_t begin;

	if (plain->len > GAMMA_COPY_MAX || !gamma_copying_next(&flow->copying, plain->len))
		return false;
	timed = flow->copying.timed && plain->len >= GAMMA_COPY_MIN;
	begin = timed ? gamma_now() : 0;
	if (!endpoint->samehost->ops->put(endpoint->samehost, flow->way, plain, iov, iov_count))
		return false;
	if (timed)
		gamma_copying_took(&flow->copying, plain->len, gamma_now() - begin);
	return true;
}

bool gamma_near_send(struct gamma_endpoint *endpoint, struct gamma_flow *flow,
		     const struct iovec *iov, unsigned iov_count,
		     const struct gamma_envelope *envelope)
{
	const struct gamma_limits *limits = &endpoint->local.limits;
	struct gamma_stats *stats = &endpoint->local.stats;
	struct gamma_plain plain = {
		.tag = envelope->tag,
		.data = envelope->data,
		.len = (uint32_t) envelope->length,
		.kind = GAMMA_RECORD_PLAIN,
		.flags = (uint8_t) envelope->flags,
	};

	if (gamma_unlikely(!is_next(flow) || flow->payload_crc ||
			   envelope->length > limits->eager_size))
		return false;
	if (gamma_likely(envelope->length <= limits->inject_size)
		    ? !endpoint->samehost->ops->put(endpoint->samehost, flow->way, &plain, iov,
						    iov_count)
		    : !put_large(endpoint, flow, &plain, iov, iov_count))
		return false;
	stats->messages_out++;
	stats->bytes_copied_out += plain.len;
	return true;
}

/* Shorter ones were asked for when they could not be sent as a copy. */
bool gamma_near_announce(struct gamma_flow *flow, struct gamma_send *send)
{
	if (send->envelope.length > GAMMA_COPY_MAX &&
	    send->envelope.length <= flow->local->limits.eager_size)
		gamma_copying_next(&flow->copying, send->envelope.length);
	return is_next(flow) && gamma_message_announce(flow, send);
}

bool gamma_near_put(struct gamma_flow *flow, struct gamma_plain *plain)
{
	struct gamma_endpoint *endpoint =
		gamma_container_of(flow->local, struct gamma_endpoint, local);
	struct iovec iov = {(void *) plain->bytes, plain->len};

	return flow->way && flow->state == GAMMA_FLOW_OPEN &&
	       endpoint->samehost->ops->put(endpoint->samehost, flow->way, plain, &iov, 1);
}

void gamma_near_withdraw(struct gamma_flow *flow)
{
	struct gamma_endpoint *endpoint =
		gamma_container_of(flow->local, struct gamma_endpoint, local);

	if (flow->way)
		endpoint->samehost->ops->withdraw(flow->way);
}

bool gamma_near_left(const struct gamma_flow *flow)
{
	struct gamma_endpoint *endpoint =
		gamma_container_of(flow->local, struct gamma_endpoint, local);

	return flow->way && endpoint->samehost->ops->left(flow->way);
}

/* ---- the way in ---- */

/* It has been given up here, and should not go on in vain. */
static void refuse(struct gamma_endpoint *endpoint, const struct gamma_flow *flow)
{
	endpoint->local.stats.stray++;
	if (flow && flow->state == GAMMA_FLOW_FAILED) {
		struct gamma_fields to = {
			.src_port = flow->port,
			.dst_port = endpoint->local.port,
			.src_epoch = flow->epoch,
			.dst_epoch = endpoint->local.epoch,
			.seq = flow->rx.next,
		};

		gamma_send_reset(endpoint, endpoint->samehost, flow->addr.mac, &to,
				 GAMMA_RESET_CLOSED);
	}
}

/* More is kept than is allowed: from now on neighbours send frames, whose bytes can be left
 * there. */
static void press(struct gamma_endpoint *endpoint)
{
	if (endpoint->pressed)
		return;
	endpoint->pressed = true;
	endpoint->samehost->ops->press(endpoint->samehost, true);
}

void gamma_near_relieve(struct gamma_endpoint *endpoint)
{
	if (endpoint->local.kept > endpoint->local.limits.unexpected_size / 2)
		return;
	endpoint->pressed = false;
	endpoint->samehost->ops->press(endpoint->samehost, false);
}

/* An announcement, or the answer to one: others may write where it stands. */
static bool take_other(struct gamma_flow *flow, struct gamma_envelope *envelope,
		       const struct gamma_plain *plain)
{
	struct gamma_announce announce;
	struct gamma_answer answer;

	if (plain->kind == GAMMA_RECORD_ANNOUNCE) {
		memcpy(&announce, plain->bytes, sizeof(announce));
		envelope->length = announce.length;
		return gamma_message_announced(flow, envelope, &announce);
	}
	memcpy(&answer, plain->bytes, sizeof(answer));
	gamma_message_accepted(flow, answer.id, answer.wanted, answer.accepted);
	return true;
}

bool gamma_near_arrived(struct gamma_endpoint *endpoint, const struct gamma_arrival *arrival)
{
	const struct gamma_plain *plain = &arrival->plain;
	struct gamma_flow *flow = *arrival->flow;
	struct gamma_envelope envelope = {
		.tag = plain->flags & GAMMA_PLAIN_TAGGED ? plain->tag : 0,
		.data = plain->flags & GAMMA_PLAIN_DATA ? plain->data : 0,
		.length = plain->len,
		.flags = plain->flags,
	};

	if (gamma_unlikely(!flow || flow->state != GAMMA_FLOW_OPEN)) {
		refuse(endpoint, flow);
		return true;
	}
	if (gamma_unlikely(plain->kind != GAMMA_RECORD_PLAIN))
		return take_other(flow, &envelope, plain);
	if (gamma_unlikely(!gamma_message_plain(flow, &envelope, plain->bytes)))
		return false;
	if (gamma_unlikely(endpoint->local.kept > endpoint->local.limits.unexpected_size))
		press(endpoint);
	return true;
}
