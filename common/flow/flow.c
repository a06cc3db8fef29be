// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * A flow's life, and the way of every frame into it: see flow.h. Outgoing frames are in transmit.c.
 */
#include "flow/flow.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ipv6_names.h"
#include "base/mac.h"
#include "flow/upcalls.h"
#include "wire/pseudo_mac.h"

const char *gamma_flow_addr_name(const struct gamma_addr *addr, char name[GAMMA_NAME_LEN])
{
	char text[INET6_ADDRSTRLEN];
	uint8_t ipv6[GAMMA_IPV6_LEN];

	if (addr->version == GAMMA_ADDR_VERSION_UDP && gamma_pseudo_mac_ipv4(addr->mac))
		inet_ntop(AF_INET, gamma_pseudo_mac_ipv4(addr->mac), text, sizeof(text));
	else if (addr->version == GAMMA_ADDR_VERSION_UDP6 && gamma_ipv6_names_find(addr->mac, ipv6))
		inet_ntop(AF_INET6, ipv6, text, sizeof(text));
	else
		gamma_mac_format(addr->mac, text);
	snprintf(name, GAMMA_NAME_LEN, "%s port %u epoch %08x", text, ntohs(addr->port),
		 ntohl(addr->epoch));
	return name;
}

static bool is_self(const struct gamma_flow *flow)
{
	const struct gamma_addr *own = &flow->local->addr;

	return flow->addr.epoch == own->epoch && flow->addr.port == own->port &&
	       !memcmp(flow->addr.mac, own->mac, GAMMA_MAC_LEN);
}

/* Nobody who does not see this flow's frames can guess it: RFC 6528 does so for TCP. Frames of an
 * shm peer come from its host. */
static uint32_t first_number(const struct gamma_flow *flow)
{
	if (flow->same_host || !flow->local->limits.random_start)
		return 0;
	return gamma_random_next(&flow->local->random) / GAMMA_WINDOW_MAX * GAMMA_WINDOW_MAX;
}

struct gamma_flow *gamma_flow_new(struct gamma_local *local, const struct gamma_addr *peer,
				  bool same_host, uint64_t now)
{
	struct gamma_flow *flow = calloc(1, local->flow_size);

	if (!flow)
		return NULL;
	flow->local = local;
	flow->addr = *peer;
	flow->port = ntohs(peer->port);
	flow->epoch = ntohl(peer->epoch);
	flow->same_host = same_host;
	flow->self = is_self(flow);
	flow->payload_crc = local->limits.payload_crc;
	flow->state = flow->epoch == GAMMA_EPOCH_ANY ? GAMMA_FLOW_LOOKUP : GAMMA_FLOW_OPEN;
	for (int timer = 0; timer < GAMMA_TIMER_COUNT; timer++)
		flow->deadlines[timer] = GAMMA_NEVER;
	gamma_list_init(&flow->ready_entry);
	gamma_list_init(&flow->timed_entry);
	gamma_list_append(&local->flows, &flow->all_entry);
	gamma_message_flow_init(flow);
	gamma_credit_init(flow);
	gamma_send_window_begin(flow, first_number(flow));
	gamma_path_mtu_init(flow);
	if (local->rail_count > 1 && !local->use_udp && !same_host)
		gamma_rails_init(flow);
	flow->loss.heard = now;
	if (flow->state == GAMMA_FLOW_LOOKUP) {
		gamma_flow_look_up(flow);
		gamma_timers_set(flow, GAMMA_TIMER_LOOKUP, now + GAMMA_LOOKUP_US * GAMMA_NS_PER_US);
	} else if (peer->mtu) {
		gamma_path_mtu_learned(flow, ntohs(peer->mtu), now);
	}
	return flow;
}

static void stop_timers(struct gamma_flow *flow)
{
	for (int timer = 0; timer < GAMMA_TIMER_COUNT; timer++)
		gamma_timers_stop(flow, timer);
	flow->pending = 0;
	flow->looking_up = false;
	flow->ack.now = false;
	gamma_list_remove(&flow->ready_entry);
	gamma_credit_release(flow);
	gamma_send_window_drop(flow);
	gamma_receive_window_free(flow);
}

void gamma_flow_free(struct gamma_flow *flow)
{
	stop_timers(flow);
	gamma_message_flow_drop(flow, 0);
	gamma_list_remove(&flow->timed_entry);
	gamma_list_remove(&flow->all_entry);
	gamma_rails_free(flow);
	free(flow->tx.sent);
	free(flow);
}

/* Ends everything that is outstanding. */
static void end_flow(struct gamma_flow *flow, enum gamma_flow_state state, int error)
{
	stop_timers(flow);
	flow->state = state;
	flow->error = error;
	gamma_message_flow_drop(flow, error);
}

void gamma_flow_fail(struct gamma_flow *flow, int error, const char *cause)
{
	if (!gamma_flow_usable(flow))
		return;
	gamma_message_flow_failed(flow, error, cause);
	end_flow(flow, GAMMA_FLOW_FAILED, error);
}

static void forget_later(struct gamma_flow *flow, uint64_t now)
{
	gamma_timers_set(flow, GAMMA_TIMER_FORGET, now + flow->local->limits.forget);
}

void gamma_flow_fail_for_good(struct gamma_flow *flow, int error, const char *cause, uint64_t now)
{
	gamma_flow_fail(flow, error, cause);
	forget_later(flow, now);
}

/* Where no message has gone either way both may begin anew. */
static bool has_history(const struct gamma_flow *flow)
{
	return flow->rx.arrived != flow->rx.first || flow->tx.next != flow->tx.first;
}

void gamma_flow_declare_dead(struct gamma_flow *flow, int error, const char *cause, uint64_t now)
{
	flow->declared_dead = has_history(flow);
	gamma_flow_fail_for_good(flow, error, cause, now);
}

void gamma_flow_declare_dead_idle(struct gamma_flow *flow, int error, const char *cause,
				  uint64_t now)
{
	flow->unreported = cause;
	flow->declared_dead = has_history(flow);
	end_flow(flow, GAMMA_FLOW_FAILED, error);
	forget_later(flow, now);
}

void gamma_flow_process_ended(struct gamma_flow *flow, const char *cause, bool left, uint64_t now)
{
	if (flow->state != GAMMA_FLOW_OPEN)
		return;
	if (left || gamma_flow_unacked(flow) || flow->owed || flow->expected)
		gamma_message_flow_failed(flow, -ECONNRESET, cause);
	else
		flow->unreported = cause;
	end_flow(flow, GAMMA_FLOW_CLOSED, -ECONNRESET);
	forget_later(flow, now);
}

int gamma_flow_refuse_post(struct gamma_flow *flow)
{
	const char *cause = flow->unreported;

	flow->unreported = NULL;
	if (cause)
		gamma_message_flow_failed(flow, flow->error, cause);
	return flow->error ? flow->error : -EHOSTUNREACH;
}

void gamma_flow_look_up(struct gamma_flow *flow)
{
	if (!flow->looking_up)
		flow->lookup = gamma_random_next(&flow->local->random);
	flow->looking_up = true;
	gamma_flow_want(flow, GAMMA_PENDING_LOOKUP);
}

bool gamma_flow_is_looking_up(const struct gamma_flow *flow, uint32_t number)
{
	return flow->looking_up && flow->lookup == number;
}

void gamma_flow_still_there(struct gamma_flow *flow, uint64_t now)
{
	struct gamma_loss *loss = &flow->loss;
	char name[GAMMA_NAME_LEN];

	flow->looking_up = false;
	gamma_flow_refute_bye(flow);
	loss->doubted = false;
	if (!loss->waiting_since)
		return;
	loss->waiting_since = now;
	if (loss->stall_logged || now - loss->heard < flow->local->limits.peer_timeout)
		return;
	loss->stall_logged = true;
	gamma_error(
		"peer %s has not answered for %.1f s, but its process is there: if it was stopped, "
		"continue or end it; if it runs, `gammaping` from its host shows what does not "
		"pass",
		gamma_flow_addr_name(&flow->addr, name), (double) (now - loss->heard) / 1e9);
}

void gamma_flow_no_port(struct gamma_flow *flow, uint64_t now)
{
	uint64_t grace =
		gamma_min(GAMMA_NO_PORT_US * GAMMA_NS_PER_US, flow->local->limits.peer_timeout / 2);

	if (flow->state == GAMMA_FLOW_OPEN)
		gamma_flow_fail_for_good(flow, -ECONNRESET,
					 "no process there owns its port any more", now);
	else if (now - flow->loss.heard >= grace) /* since it was made: nothing has been */
		gamma_flow_fail_for_good(flow, -ECONNREFUSED, "no process there owns that port",
					 now);
}

void gamma_flow_found(struct gamma_flow *flow, const struct gamma_addr *peer, uint64_t now)
{
	if (flow->state != GAMMA_FLOW_LOOKUP)
		return;
	flow->addr = *peer;
	flow->epoch = ntohl(peer->epoch);
	flow->self = is_self(flow);
	flow->state = GAMMA_FLOW_OPEN;
	flow->loss.heard = now;
	flow->loss.waiting_since = 0;
	flow->looking_up = false;
	flow->pending &= ~GAMMA_PENDING_LOOKUP;
	gamma_timers_stop(flow, GAMMA_TIMER_LOOKUP);
	if (peer->mtu)
		gamma_path_mtu_learned(flow, ntohs(peer->mtu), now);
	gamma_flow_ready(flow);
}

void gamma_flow_hand_over(struct gamma_flow *from, struct gamma_flow *to)
{
	gamma_message_flow_hand_over(from, to);
	gamma_flow_ready(to);
}

bool gamma_flow_unacked(const struct gamma_flow *flow)
{
	return gamma_flow_usable(flow) &&
	       (gamma_send_window_unacked(&flow->tx) || gamma_send_has_frames(flow) ||
		gamma_message_flow_has_announced(flow));
}

/* A peer that asks whether this endpoint is there waits for something from it. */
static bool has_asked(const struct gamma_flow *flow, uint64_t now)
{
	return flow->probed_time && now < flow->probed_time + GAMMA_PROBED_US * GAMMA_NS_PER_US;
}

/* Its program may wait for this endpoint alone, and would wait out the peer timeout: BYE is sent a
 * few times, or, if the peer is known to wait, as often as there is time for. On the way to an shm
 * peer nothing gets lost. */
static bool may_have_missed_bye(const struct gamma_flow *flow, uint64_t now)
{
	return gamma_timers_is_set(flow, GAMMA_TIMER_BYE) && !flow->same_host &&
	       (flow->byes <= GAMMA_BYE_TRIES || has_asked(flow, now));
}

bool gamma_flow_unfinished(const struct gamma_flow *flow, uint64_t now)
{
	if (!gamma_flow_usable(flow) || flow->bye_answered)
		return false;
	return gamma_flow_unacked(flow) || flow->ack.owed || flow->ack.now ||
	       (flow->last_data && now - flow->last_data < GAMMA_ACK_SETTLE_US * GAMMA_NS_PER_US) ||
	       may_have_missed_bye(flow, now);
}

uint64_t gamma_flow_drain_time(uint64_t linger)
{
	uint64_t byes = GAMMA_BYE_US * GAMMA_NS_PER_US << GAMMA_BYE_TRIES;

	return linger - gamma_min(byes, linger / 8);
}

void gamma_flow_bye(struct gamma_flow *flow, uint64_t now)
{
	uint64_t wait = GAMMA_BYE_US * GAMMA_NS_PER_US << gamma_min(flow->byes, 7);

	if (flow->state != GAMMA_FLOW_OPEN || gamma_timers_is_set(flow, GAMMA_TIMER_BYE))
		return;
	flow->byes++;
	gamma_flow_want(flow, GAMMA_PENDING_BYE);
	gamma_timers_set(flow, GAMMA_TIMER_BYE, now + wait);
}

/* ---- arriving frames other than DATA ---- */

static void receive_probe(struct gamma_flow *flow, const struct gamma_fields *fields,
			  const uint8_t *payload, uint64_t arrived, uint64_t now)
{
	flow->local->stats.probes_in++;
	if (fields->op == GAMMA_PROBE_RAILS)
		gamma_rails_begin(flow);
	if (gamma_unlikely(flow->rails) && gamma_rails_asked(flow, fields, payload, now))
		return;
	if (fields->op == GAMMA_PROBE_MTU && fields->extensions & GAMMA_EXT_MTU) {
		flow->mtu_probed = fields->seq;
		flow->mtu_probed_size = fields->probe;
		gamma_flow_want(flow, GAMMA_PENDING_MTU_PROBED);
		return;
	}
	flow->probed = fields->seq;
	flow->probed_time = arrived;
	flow->probed_rail = flow->rails ? flow->local->rail : 0;
	/* After BYE the peer may ask whether it was this endpoint that said it. */
	gamma_flow_want(flow, flow->byes ? GAMMA_PENDING_CLOSED : GAMMA_PENDING_PROBED);
}

static void receive_ack(struct gamma_flow *flow, const struct gamma_fields *fields,
			const uint8_t *payload, uint64_t now)
{
	flow->local->stats.acks_in++;
	if (gamma_unlikely(fields->flags & GAMMA_FLAG_AGAIN))
		gamma_loss_spurious(flow);
	if (gamma_unlikely(flow->congestion.on) && fields->op == GAMMA_ACK_PLAIN)
		gamma_ecn_heard(flow, fields);
	if (fields->op == GAMMA_ACK_PLAIN ||
	    (flow->rails && gamma_rails_answered(flow, fields, payload, now)) ||
	    fields->op != GAMMA_ACK_PROBED)
		return;
	if (fields->extensions & GAMMA_EXT_MTU && fields->probe)
		gamma_path_mtu_probed(flow, fields->probe, fields->seq);
	else
		gamma_loss_probed(flow, fields, now);
}

/* Is that the number of a question which is out? Nobody who is not on the path can guess it. */
static bool is_probe(const struct gamma_flow *flow, uint32_t seq)
{
	return (flow->loss.probing && seq == flow->loss.probe) ||
	       (flow->rails && gamma_rails_is_probe(flow, seq));
}

/* Does that number belong to something that the peer could answer by RESET? Inline shm messages
 * have none: an shm peer gives the number of the frame that would come next. */
static bool outstanding(const struct gamma_flow *flow, uint32_t seq)
{
	bool data = !gamma_seq_before(seq, flow->tx.una) && gamma_seq_before(seq, flow->tx.next);
	bool request = (flow->credit.starved || flow->has_shm_channel) && seq == flow->tx.next;

	return data || request || is_probe(flow, seq);
}

static void bye_answered(struct gamma_flow *flow)
{
	flow->bye_answered = true;
	flow->pending &= ~GAMMA_PENDING_BYE;
	gamma_timers_stop(flow, GAMMA_TIMER_BYE);
}

/* A host off the path can guess the number of a DATA frame, but not that of a probe: a
 * RESET for anything else is a reason to send one. Frames of an shm peer come from the host. */
static void receive_reset(struct gamma_flow *flow, const struct gamma_fields *fields, uint64_t now)
{
	bool proven = flow->same_host || is_probe(flow, fields->seq);
	bool closed = fields->op == GAMMA_RESET_CLOSED || fields->op == GAMMA_RESET_NIC;

	if (!outstanding(flow, fields->seq)) {
		if (fields->op == GAMMA_RESET_NIC && flow->state == GAMMA_FLOW_OPEN) {
			gamma_loss_challenge(flow, now); /* it was sent unasked */
			return;
		}
		/* After BYE it may answer a probe that was repeated since. */
		flow->local->stats.stray += !flow->bye_heard && !flow->byes;
		return;
	}
	if (!proven) {
		gamma_loss_challenge(flow, now);
		return;
	}
	if (closed && flow->bye_heard) {
		gamma_flow_believe_bye(flow, now);
		return;
	}
	/* The peer has closed the flow because this endpoint has said BYE. */
	if (closed && flow->byes) {
		bye_answered(flow);
		return;
	}
	flow->local->stats.resets_in++;
	if (fields->op == GAMMA_RESET_NIC)
		gamma_flow_fail_for_good(flow, -EMSGSIZE,
					 "the MTU of its host's NIC was lowered below 576 bytes: "
					 "raise it there (ip link set mtu), and start again",
					 now);
	else
		gamma_flow_fail_for_good(
			flow, -ECONNRESET,
			closed ? "it has closed its endpoint, or declared this one dead"
			       : "its endpoint is another one now",
			now);
}

void gamma_flow_refute_bye(struct gamma_flow *flow)
{
	flow->bye_heard = 0;
}

void gamma_flow_believe_bye(struct gamma_flow *flow, uint64_t now)
{
	gamma_flow_process_ended(flow, "it has closed its endpoint",
				 gamma_message_flow_has_undelivered(flow), now);
	gamma_flow_want(flow, GAMMA_PENDING_BYE_ANSWER);
}

/* Whether a peer that closes could have come to that frame number, and has heard of what it has
 * acknowledged before; its acknowledgement has been taken. */
static bool is_plausible_bye(const struct gamma_flow *flow, const struct gamma_fields *fields)
{
	bool acked = fields->extensions & GAMMA_EXT_ACK
			     ? !gamma_seq_before(fields->ack, flow->tx.una)
			     : flow->tx.una == flow->tx.first;

	return acked && !gamma_seq_before(fields->seq, flow->rx.highest) &&
	       fields->seq - flow->rx.next <= GAMMA_WINDOW_MAX;
}

/* As long as nothing is acknowledged, a wrong acknowledgement may be the peer's, which has taken a
 * forged first frame. */
static void doubt_acks(struct gamma_flow *flow, uint64_t now)
{
	if (flow->tx.una == flow->tx.first && !flow->same_host)
		gamma_loss_challenge(flow, now);
}

/* A host off the path may have guessed the number. So the peer is asked by a
 * probe, which one that has said BYE answers by RESET. BYE is answered only then, so that the peer
 * is still there. */
static void receive_bye(struct gamma_flow *flow, const struct gamma_fields *fields, uint64_t now)
{
	if (fields->op == GAMMA_ANSWER) {
		if (!flow->byes) {
			flow->local->stats.stray++;
			return;
		}
		bye_answered(flow);
		return;
	}
	if (!is_plausible_bye(flow, fields)) {
		flow->local->stats.stray++;
		doubt_acks(flow, now);
	} else if (flow->same_host || flow->byes) {
		gamma_flow_believe_bye(flow, now);
	} else {
		flow->bye_heard = now;
		gamma_loss_challenge(flow, now);
	}
}

static void receive_other(struct gamma_flow *flow, const struct gamma_fields *fields,
			  const uint8_t *payload, uint64_t arrived, uint64_t now)
{
	switch (fields->kind) {
	case GAMMA_KIND_ACK:
		receive_ack(flow, fields, payload, now);
		break;
	case GAMMA_KIND_PROBE:
		receive_probe(flow, fields, payload, arrived, now);
		break;
	case GAMMA_KIND_REQUEST:
		flow->local->stats.requests_in++;
		gamma_credit_receive_request(flow, fields->seq, now);
		break;
	case GAMMA_KIND_RECLAIM:
		if (fields->op == GAMMA_ASK)
			gamma_credit_give_back(flow);
		else
			gamma_credit_receive_reclaimed(flow, fields->seq);
		break;
	case GAMMA_KIND_RESET:
		receive_reset(flow, fields, now);
		break;
	case GAMMA_KIND_BYE:
		receive_bye(flow, fields, now);
		break;
	}
}

/* The peer may have taken a forged first frame, and then acknowledges what was never sent. Its
 * answer to a PROBE counts nevertheless, and retransmitted frames show it where the numbers begin.
 */
static bool answers_probe(const struct gamma_flow *flow, const struct gamma_fields *fields)
{
	if (fields->kind == GAMMA_KIND_RESET)
		return is_probe(flow, fields->seq);
	/* Their numbers are looked at there. */
	if (flow->rails && fields->kind == GAMMA_KIND_ACK && fields->op > GAMMA_ACK_PROBED)
		return true;
	return fields->kind == GAMMA_KIND_ACK && fields->op == GAMMA_ACK_PROBED &&
	       flow->loss.probing && fields->seq == flow->loss.probe;
}

void gamma_flow_receive(struct gamma_flow *flow, const struct gamma_fields *fields,
			const uint8_t *payload, uint64_t arrived, uint64_t now)
{
	if (gamma_unlikely(!gamma_flow_usable(flow))) {
		/* A late frame of a flow that has ended; a BYE that was not answered is repeated.
		 */
		if (fields->kind == GAMMA_KIND_BYE && fields->op == GAMMA_ASK)
			gamma_flow_want(flow, GAMMA_PENDING_BYE_ANSWER);
		return;
	}
	if (gamma_unlikely(!flow->rx.proven) &&
	    gamma_unlikely(!gamma_receive_window_admits(flow, fields, now))) {
		flow->local->stats.stray++;
		return;
	}
	flow->loss.heard = now;
	flow->heard_of = true;
	if (gamma_unlikely(flow->rails))
		gamma_rails_heard(flow, now);
	if (gamma_unlikely(fields->flags & GAMMA_FLAG_WANT_CRC))
		flow->payload_crc = true;
	if (fields->extensions & GAMMA_EXT_ACK &&
	    !gamma_send_window_receive_ack(flow, fields, arrived, now)) {
		flow->local->stats.malformed++;
		if (fields->kind == GAMMA_KIND_BYE)
			doubt_acks(flow, now);
		if (!answers_probe(flow, fields))
			return;
	}
	if (gamma_unlikely(fields->extensions & GAMMA_EXT_MTU && fields->mtu &&
			   flow->path_mtu.peer_mtu != fields->mtu))
		gamma_path_mtu_advertised(flow, fields, now);
	if (gamma_likely(fields->kind == GAMMA_KIND_DATA))
		gamma_receive_window_data(flow, fields, payload, arrived, now);
	else
		receive_other(flow, fields, payload, arrived, now);
	if (gamma_unlikely(flow->tx.held_back))
		gamma_send_window_resume(flow, now);
	/* All may have come, so that nothing but the sender's questions do any more. */
	gamma_receive_window_retry(flow);
}

/* Everything that a frame might ask for, but acknowledging, goes the ordinary way. */
bool gamma_flow_receive_message(struct gamma_flow *flow, const struct gamma_fields *fields,
				const uint8_t *payload, uint64_t arrived)
{
	bool has_ack = fields->extensions & GAMMA_EXT_ACK;

	if (flow->state != GAMMA_FLOW_OPEN || !flow->credit.active || flow->tx.held_back ||
	    (has_ack && gamma_seq_before(flow->tx.next, fields->ack)) ||
	    !gamma_receive_window_message(flow, fields, payload, arrived))
		return false;
	if (gamma_unlikely(flow->rails))
		flow->rails->came |= (uint8_t) (1u << flow->local->rail);
	flow->local->deferred = (struct gamma_deferred_ack){
		.flow = flow,
		.has_ack = has_ack,
		.ack = fields->ack,
		.limit = fields->limit,
		.seq = fields->seq,
		.arrived = arrived,
	};
	return true;
}

/* Only in the usual state of a stream. While a slow port is measured each frame counts by itself.
 */
bool gamma_flow_takes_run(const struct gamma_flow *flow, uint32_t seq)
{
	const struct gamma_receive_window *rx = &flow->rx;

	return flow->state == GAMMA_FLOW_OPEN && flow->credit.active && !flow->tx.held_back &&
	       rx->begun && seq == rx->next && rx->next == rx->highest && !rx->no_memory &&
	       flow->local->pool.slow_port.state == GAMMA_SLOW_PORT_WATCH &&
	       !gamma_ecn_is_marked(flow);
}

void gamma_flow_receive_run(struct gamma_flow *flow, uint32_t count, uint8_t flags,
			    uint64_t arrived, uint64_t now)
{
	flow->loss.heard = now;
	if (gamma_unlikely(flow->rails))
		gamma_rails_heard(flow, now);
	gamma_receive_window_run(flow, count, flags, arrived, now);
}

void gamma_flow_process_deferred(struct gamma_local *local, uint64_t now)
{
	const struct gamma_deferred_ack *deferred = &local->deferred;
	struct gamma_flow *flow = deferred->flow;
	struct gamma_fields fields;

	local->deferred.flow = NULL;
	if (gamma_unlikely(flow->state != GAMMA_FLOW_OPEN))
		return;
	flow->loss.heard = flow->last_data = now;
	if (gamma_unlikely(flow->rails))
		gamma_rails_ask(flow, now);
	if (gamma_likely(deferred->has_ack)) {
		fields.kind = GAMMA_KIND_DATA;
		fields.extensions = GAMMA_EXT_ACK;
		fields.ack = deferred->ack;
		fields.limit = deferred->limit;
		gamma_send_window_receive_ack(flow, &fields, gamma_min(deferred->arrived, now),
					      now);
	}
	gamma_receive_window_account(flow, deferred->seq, 0, now);
}

/* ---- passing time ---- */

static void lookup_timeout(struct gamma_flow *flow, uint64_t now)
{
	uint64_t wait = GAMMA_LOOKUP_US * GAMMA_NS_PER_US << gamma_min(++flow->lookups, 8);

	if (!flow->loss.waiting_since)
		flow->loss.waiting_since = now;
	if (gamma_loss_peer_dead(flow, now))
		return;
	gamma_flow_look_up(flow);
	gamma_timers_set(flow, GAMMA_TIMER_LOOKUP,
			 now + gamma_min(wait, GAMMA_PROBE_MAX_US * GAMMA_NS_PER_US));
}

static bool due(struct gamma_flow *flow, enum gamma_timer timer, uint64_t now)
{
	if (flow->deadlines[timer] > now)
		return false;
	gamma_timers_stop(flow, timer);
	return true;
}

void gamma_flow_timeout(struct gamma_flow *flow, uint64_t now)
{
	if (due(flow, GAMMA_TIMER_ACK, now))
		gamma_ack_now(flow);
	if (due(flow, GAMMA_TIMER_LOSS, now))
		gamma_loss_detect(flow, now);
	if (due(flow, GAMMA_TIMER_PROBE, now))
		gamma_loss_timeout(flow, now);
	if (due(flow, GAMMA_TIMER_REQUEST, now))
		gamma_credit_timeout(flow, now);
	if (due(flow, GAMMA_TIMER_LOOKUP, now))
		lookup_timeout(flow, now);
	if (due(flow, GAMMA_TIMER_MTU, now))
		gamma_path_mtu_timeout(flow, now);
	if (due(flow, GAMMA_TIMER_BYE, now))
		gamma_flow_bye(flow, now);
	if (due(flow, GAMMA_TIMER_RAILS, now))
		gamma_rails_timeout(flow, now);
}
