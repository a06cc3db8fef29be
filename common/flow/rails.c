// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Rails: whether those of a peer pass, and which of them has failed.
 *
 * Rails of two endpoints pair by their place. A rail is used once a probe on it was answered on it.
 * Loss is found rail by rail (loss.c): only what left later by the same rail is evidence. When a
 * rail with frames in flight is silent for longer than its answers take, it is probed. It is
 * doubted when probes stay unanswered although what left after them by another rail has arrived:
 * its frames then leave by others, and it is probed until it answers. A peer that computes answers
 * on no rail, so none is doubted.
 */
#include "flow/rails.h"

#include <stdlib.h>
#include <string.h>

#include "flow/flow.h"
#include "flow/rails_choice.h"
#include "flow/rails_list.h"
#include "flow/rails_mtu.h"
#include "flow/rails_nics.h"

enum {
	SHIFT_MAX = 12,      /* doublings of a wait */
	LEAST_US = 200,      /* no rail counts as silent before */
	LATE_PART = 8,       /* of that time: the answer to a probe may be so much later */
	DOUBT_US = 2000,     /* none is doubted for a shorter silence */
	DOUBTED_US = 250000, /* between two probes of a rail that is not used, */
	DOUBTED_IDLE_S = 4,  /* ditto when it has never answered, or nothing is said for long */
	UNPROVEN_TRIES = 8,  /* probes until then */
	UDP_TRIES = 6,       /* as GAMMA_RAIL_TRIES */
	IDLE_S = 10,         /* so long */
};

struct gamma_loss_of_rail *gamma_rails_loss(struct gamma_flow *flow, uint8_t rail)
{
	return rail ? &flow->rails->rail[rail].loss : &flow->loss.first;
}

bool gamma_rails_other_is_usable(const struct gamma_rails *rails, unsigned except)
{
	for (unsigned r = 0; r < GAMMA_RAILS_MAX; r++)
		if (r != except && gamma_rails_is_usable(rails, r))
			return true;
	return false;
}

/* What is in flight already has left by the first rail. */
static void count_in_flight(struct gamma_flow *flow)
{
	struct gamma_rail *first = &flow->rails->rail[0];

	first->since = flow->loss.last_sent;
	for (uint32_t seq = flow->tx.una; seq != flow->tx.next; seq++) {
		struct gamma_sent *sent = gamma_send_window_at(&flow->tx, seq);

		sent->counted = sent->state == GAMMA_SENT_FLYING;
		first->in_flight += sent->counted;
	}
}

void gamma_rails_init(struct gamma_flow *flow)
{
	flow->rails = calloc(1, sizeof(*flow->rails));
	if (!flow->rails)
		return;
	flow->rails->count = 1;
	flow->rails->rail[0].state = GAMMA_RAIL_USABLE;
	for (unsigned r = 0; r < GAMMA_RAILS_MAX; r++)
		flow->rails->rail[r].look = GAMMA_NEVER;
	count_in_flight(flow);
}

void gamma_rails_begin(struct gamma_flow *flow)
{
	struct gamma_local *local = flow->local;

	if (!flow->rails && !flow->same_host && local->use_udp && local->use_udp(local))
		gamma_rails_init(flow);
}

void gamma_rails_free(struct gamma_flow *flow)
{
	for (unsigned r = 0; flow->rails && r < GAMMA_RAILS_MAX; r++)
		flow->local->own_rails[r].doubted -=
			flow->rails->rail[r].state == GAMMA_RAIL_DOUBTED;
	free(flow->rails);
	flow->rails = NULL;
}

/* ---- when to look at the rails ---- */

static void look_at(struct gamma_flow *flow, uint64_t when)
{
	if (when < flow->deadlines[GAMMA_TIMER_RAILS])
		gamma_timers_set(flow, GAMMA_TIMER_RAILS, when);
}

static bool is_udp(const struct gamma_flow *flow, unsigned r)
{
	return gamma_local_rail_is_udp(flow->local, r);
}

/* As data has shown it; before that, as a probe has, whose answer may have been late. 0: nothing
 * has been answered yet. */
static uint64_t answer_time(const struct gamma_flow *flow, unsigned r)
{
	const struct gamma_rail *rail = &flow->rails->rail[r];
	const struct gamma_loss_of_rail *loss = r ? &rail->loss : &flow->loss.first;
	uint64_t by_data = loss->answer + loss->answer_var;

	return by_data && !is_udp(flow, r) ? by_data : gamma_max(by_data, 2 * rail->probe_rtt);
}

static uint64_t own_queue_time(const struct gamma_flow *flow, unsigned r)
{
	return flow->rails->rail[r].in_flight * gamma_rails_choice_frame_time(flow->rails, r);
}

static uint64_t twin_queue_time(const struct gamma_flow *flow, unsigned r)
{
	unsigned twin = gamma_local_twin(flow->local, r);

	return twin < GAMMA_RAILS_MAX ? own_queue_time(flow, twin) : 0;
}

/* That the frames in flight by its NIC take, one behind the other: its own and its twin's. */
static uint64_t queue_time(const struct gamma_flow *flow, unsigned r)
{
	return own_queue_time(flow, r) + twin_queue_time(flow, r);
}

/* How long a rail may be silent: as long as answers take on it. A probe comes behind the frames in
 * flight; its own ones, one after the other, give signs all the time. That of one whose peer is
 * known to be there, by another rail, does not grow; but over UDP: that is the same cable, so there
 * is no haste, and the peer may look at it late. */
static uint64_t silence(const struct gamma_flow *flow, unsigned r)
{
	const struct gamma_rail *rail = &flow->rails->rail[r];
	uint64_t wait = answer_time(flow, r);

	wait = wait ? gamma_max(wait, LEAST_US * GAMMA_NS_PER_US)
		    : GAMMA_PROBE_FIRST_US * GAMMA_NS_PER_US;
	if (rail->probing)
		wait += wait / LATE_PART + queue_time(flow, r);
	else
		wait += 2 * GAMMA_ACK_DELAY_US * GAMMA_NS_PER_US + twin_queue_time(flow, r);
	wait <<= gamma_min(rail->unanswered - (is_udp(flow, r) ? 0 : rail->overtaken), SHIFT_MAX);
	return gamma_min(wait, GAMMA_PROBE_MAX_US * GAMMA_NS_PER_US);
}

/* Longer than that: the rails are asked first. */
uint64_t gamma_rails_answer_time(const struct gamma_flow *flow)
{
	uint64_t longest = 0;

	for (unsigned r = 0; r < GAMMA_RAILS_MAX; r++)
		if (flow->rails->rail[r].in_flight)
			longest = gamma_max(longest, 2 * (silence(flow, r) + queue_time(flow, r)));
	return longest;
}

void gamma_rails_look_later(struct gamma_flow *flow, unsigned r, uint64_t when)
{
	flow->rails->rail[r].look = when;
	look_at(flow, when);
}

/* ---- the way out ---- */

void gamma_rails_address(const struct gamma_flow *flow, uint8_t rail, struct gamma_fields *fields,
			 const uint8_t **to, const uint8_t **from)
{
	fields->flags |= GAMMA_FLAG_RAIL;
	*to = flow->rails->rail[rail].mac;
	*from = flow->local->own_rails[rail].mac;
}

/* ---- in flight ---- */

void gamma_rails_transmitted(struct gamma_flow *flow, struct gamma_sent *sent, uint64_t now)
{
	struct gamma_rail *rail = &flow->rails->rail[sent->rail];

	if (sent->counted)
		return;
	sent->counted = true;
	if (!rail->in_flight++) {
		rail->since = now;
		rail->round_idle = true;
	}
	if (rail->look == GAMMA_NEVER)
		gamma_rails_look_later(flow, sent->rail, now + silence(flow, sent->rail));
}

void gamma_rails_lost(struct gamma_flow *flow, struct gamma_sent *sent)
{
	if (!sent->counted)
		return;
	sent->counted = false;
	flow->rails->rail[sent->rail].in_flight--;
}

/* Something has come back by it, or because of what left by it: it works. Only the answer to a
 * larger probe shows whether it passes larger frames. */
static void note_answer(struct gamma_flow *flow, unsigned r, uint64_t heard)
{
	struct gamma_rail *rail = &flow->rails->rail[r];
	bool asks_for_more =
		gamma_rails_is_usable(flow->rails, r) && r && gamma_rails_mtu_is_smaller(rail);

	rail->since = gamma_max(rail->since, heard);
	rail->unanswered = rail->overtaken = 0;
	rail->probing &= asks_for_more;
	rail->wanted &= asks_for_more;
	rail->held_up = 0;
	flow->rails->arrived++;
}

/* Of a frame that was transmitted twice it is not known by which rail it came. */
void gamma_rails_delivered(struct gamma_flow *flow, struct gamma_sent *sent, uint64_t heard)
{
	struct gamma_loss_of_rail *loss = gamma_rails_loss(flow, sent->rail);
	struct gamma_rail *rail = &flow->rails->rail[sent->rail];
	uint64_t passed = heard > sent->time ? heard - sent->time : 0;

	if (sent->counted)
		gamma_rails_choice_measure(flow->rails, sent, heard);
	if (sent->again && sent->state == GAMMA_SENT_FLYING)
		gamma_repair_arrived(flow, sent, passed);
	gamma_rails_lost(flow, sent);
	if (sent->again || sent->serial <= loss->rack_serial)
		return;
	loss->rack_serial = sent->serial;
	loss->rack_rtt = passed;
	rail->sent_arrived = gamma_max(rail->sent_arrived, sent->time);
	note_answer(flow, sent->rail, heard);
}

/* ---- probes ---- */

void gamma_rails_want_probe(struct gamma_flow *flow, uint8_t rail)
{
	struct gamma_rail *it = &flow->rails->rail[rail];

	if (!it->probing) {
		it->probe = gamma_random_next(&flow->local->random);
		it->probing = true;
		it->probe_first = 0;
		it->unanswered = it->overtaken = 0;
	}
	it->wanted = true;
	gamma_flow_want(flow, GAMMA_PENDING_RAILS);
}

void gamma_rails_want_probes(struct gamma_flow *flow)
{
	for (unsigned r = 0; r < GAMMA_RAILS_MAX; r++)
		if (gamma_rails_is_usable(flow->rails, r) &&
		    gamma_rails_other_is_usable(flow->rails, r))
			gamma_rails_want_probe(flow, r);
}

/* The number stays while the size does: a late answer is one, too. */
void gamma_rails_probing(struct gamma_flow *flow, uint8_t rail, uint64_t now)
{
	struct gamma_rail *it = &flow->rails->rail[rail];
	uint32_t size = gamma_rails_mtu_probe_size(flow, rail);

	if (size != it->probe_size && it->probe_first)
		it->probe = gamma_random_next(&flow->local->random);
	it->probe_size = size;
	it->probe_refused = false;
	it->wanted = false;
	it->held_up = 0;
	it->probe_last = now;
	if (!it->probe_first) {
		it->probe_first = now;
		it->probe_serial = flow->tx.serial;
	}
	if (it->look > now + silence(flow, rail))
		gamma_rails_look_later(flow, rail, now + silence(flow, rail));
}

/* Until the next look at a rail, the longer the more often its probe could not leave: dozens of
 * flows may look at one NIC that is down. */
static uint64_t look_time(const struct gamma_flow *flow, uint8_t r)
{
	uint64_t wait = silence(flow, r) << flow->rails->rail[r].held_up;

	return gamma_min(wait, GAMMA_PROBE_MAX_US * GAMMA_NS_PER_US);
}

/* A look that is due before is not postponed: its probe may be asked for again and again. */
void gamma_rails_probe_later(struct gamma_flow *flow, uint8_t rail, uint64_t now)
{
	struct gamma_rail *it = &flow->rails->rail[rail];

	it->wanted = false;
	it->held_up = (uint8_t) gamma_min(it->held_up + 1, SHIFT_MAX);
	if (it->look > now + look_time(flow, rail))
		gamma_rails_look_later(flow, rail, now + look_time(flow, rail));
}

/* ---- what the peer says ---- */

/* With a new number: an answer to an earlier question may be older than what is asked for. */
void gamma_rails_ask_anew(struct gamma_flow *flow, uint64_t now)
{
	struct gamma_rails *rails = flow->rails;

	rails->asks = 1;
	rails->outdated = false;
	rails->asking = rails->ask_wanted = true;
	rails->ask = gamma_random_next(&flow->local->random);
	rails->ask_look = now + GAMMA_PROBE_FIRST_US * GAMMA_NS_PER_US;
	look_at(flow, rails->ask_look);
	gamma_flow_want(flow, GAMMA_PENDING_RAILS);
}

void gamma_rails_heard(struct gamma_flow *flow, uint64_t now)
{
	const uint8_t rail = flow->local->rail;

	flow->rails->came |= (uint8_t) (1u << rail);
	flow->rails->came_last = rail;
	if (rail)
		flow->rails->rail[rail].came_at = now;
	gamma_rails_ask(flow, now);
}

void gamma_rails_ask(struct gamma_flow *flow, uint64_t now)
{
	if (gamma_unlikely(!flow->rails->asks))
		gamma_rails_ask_anew(flow, now);
}

bool gamma_rails_asked(struct gamma_flow *flow, const struct gamma_fields *fields,
		       const uint8_t *payload, uint64_t now)
{
	struct gamma_rails *rails = flow->rails;
	uint8_t rail = flow->local->rail;

	if (fields->op == GAMMA_PROBE_RAILS) {
		struct gamma_rails_list list;

		if (!gamma_rails_list_read(fields, payload, &list)) {
			flow->local->stats.malformed++;
			return true;
		}
		/* Where a peer's UDP rail is, its raw frames say. */
		if (!gamma_local_rail_is_udp(flow->local, rail))
			gamma_rails_list_enter(flow, &list, false);
		if (rails->outdated && rails->asks && !rails->asking)
			gamma_rails_ask_anew(flow, now);
		rails->listed = fields->seq;
		rails->lists = rails->has_listed = true;
		rails->lists_on = rail;
	} else if (fields->op == GAMMA_PROBE_RAIL) {
		rails->rail[rail].asked = fields->seq;
		rails->rail[rail].answers = true;
		gamma_rails_nics_asked(flow, now);
	} else {
		return false;
	}
	gamma_flow_want(flow, GAMMA_PENDING_RAILS);
	return true;
}

void gamma_rails_try(struct gamma_flow *flow, uint8_t r, uint64_t now)
{
	struct gamma_rail *rail = &flow->rails->rail[r];

	if (flow->local->own_rails[r].mtu < GAMMA_LEAST_MTU)
		return;
	rail->state = GAMMA_RAIL_UNPROVEN;
	rail->since = now;
	gamma_rails_want_probe(flow, r);
}

/* The peer's rails are known: those that both have are tried. */
static void try_rails(struct gamma_flow *flow, uint64_t now)
{
	struct gamma_rails *rails = flow->rails;

	for (uint8_t r = 1; r < rails->count; r++) {
		if (rails->rail[r].proven && rails->rail[r].state == GAMMA_RAIL_NONE)
			gamma_rails_try(flow, r, now);
		else if (gamma_rails_is_usable(rails, r) &&
			 gamma_rails_mtu_is_smaller(&rails->rail[r]))
			gamma_rails_look_later(flow, r, now);
	}
}

static void begin_to_use(struct gamma_flow *flow, uint8_t r)
{
	struct gamma_rail *rail = &flow->rails->rail[r];
	struct gamma_own_rail *own = &flow->local->own_rails[r];
	bool returns = rail->state == GAMMA_RAIL_DOUBTED;

	rail->state = GAMMA_RAIL_USABLE;
	rail->frame_ns = 0;
	own->no_carrier = false;
	flow->local->stats.rails_proven++;
	own->returns += returns;
	if (!returns || --own->doubted)
		return;
	if (is_udp(flow, r) && flow->local->use_udp)
		gamma_info("UDP is used again: peers answer on it");
	else if (is_udp(flow, r))
		gamma_warn("UDP is used again: peers answer on it");
	else
		gamma_warn("NIC %u of this endpoint (%02x:%02x:%02x:%02x:%02x:%02x) is used again: "
			   "peers answer on it",
			   r + 1, own->mac[0], own->mac[1], own->mac[2], own->mac[3], own->mac[4],
			   own->mac[5]);
}

/* Frames that left by it before the probe have arrived by now, or are lost. */
static void take_answer(struct gamma_flow *flow, uint8_t r, uint64_t now)
{
	struct gamma_loss_of_rail *loss = gamma_rails_loss(flow, r);
	struct gamma_rail *rail = &flow->rails->rail[r];
	bool once = !rail->unanswered && rail->probe_last == rail->probe_first;

	if (once || !rail->probe_rtt)
		rail->probe_rtt = now - rail->probe_first;
	if (rail->probe_serial >= loss->rack_serial) {
		loss->rack_serial = rail->probe_serial + 1;
		gamma_repair_probed(flow, loss->rack_serial);
		loss->rack_rtt = now - rail->probe_first;
	}
	if (once)
		gamma_loss_take_probe_time(loss, rail->probe_rtt);
	rail->sent_arrived = gamma_max(rail->sent_arrived, rail->probe_first);
	if (r) /* the own NIC's MTU may have been lowered since it left */
		gamma_rails_mtu_take(rail, (uint32_t) gamma_min(rail->probe_size, rail->most));
	note_answer(flow, r, now);
	if (rail->state != GAMMA_RAIL_USABLE)
		begin_to_use(flow, r);
	gamma_rails_choice_of_ordered(flow);
	if (!r || rail->in_flight || gamma_rails_mtu_is_smaller(rail))
		gamma_rails_look_later(flow, r, now + silence(flow, r));
	gamma_loss_detect(flow, now);
	gamma_loss_rearm(flow, now);
	gamma_flow_ready(flow);
}

static bool is_rail_probe(const struct gamma_rail *rail, uint32_t seq)
{
	return rail->probing && rail->probe_first && seq == rail->probe;
}

/* Repeated unasked, it says which of the peer's NICs have no carrier. */
static void take_list(struct gamma_flow *flow, const struct gamma_fields *fields,
		      const uint8_t *payload, uint64_t now)
{
	struct gamma_rails *rails = flow->rails;
	struct gamma_rails_list list;

	if (!gamma_rails_list_read(fields, payload, &list)) {
		flow->local->stats.malformed++;
		return;
	}
	if (rails->asking) {
		gamma_rails_list_enter(flow, &list, true);
		rails->asking = rails->ask_wanted = false;
		try_rails(flow, now);
	}
	gamma_rails_nics_heard(flow, gamma_rails_list_down(flow, &list), now);
}

bool gamma_rails_answered(struct gamma_flow *flow, const struct gamma_fields *fields,
			  const uint8_t *payload, uint64_t now)
{
	struct gamma_rails *rails = flow->rails;
	uint8_t r = flow->local->rail;
	bool of_list = rails->asking && fields->seq == rails->ask;

	if (fields->op == GAMMA_ACK_RAILS) {
		if (rails->asks && fields->seq == rails->ask && !is_udp(flow, r))
			take_list(flow, fields, payload, now);
		return true;
	}
	if (fields->op == GAMMA_ACK_RAIL) {
		if (is_rail_probe(&rails->rail[r], fields->seq))
			take_answer(flow, r, now);
		return true;
	}
	/* A peer that has one rail, or does not know of more yet, takes them for plain probes. */
	if (fields->op != GAMMA_ACK_PROBED)
		return false;
	if (of_list) {
		rails->asking = rails->ask_wanted = false;
		return true;
	}
	if (!is_rail_probe(&rails->rail[r], fields->seq))
		return false;
	take_answer(flow, r, now);
	return true;
}

bool gamma_rails_is_probe(const struct gamma_flow *flow, uint32_t seq)
{
	const struct gamma_rails *rails = flow->rails;

	if (rails->asking && seq == rails->ask)
		return true;
	for (unsigned r = 0; r < GAMMA_RAILS_MAX; r++)
		if (is_rail_probe(&rails->rail[r], seq))
			return true;
	return false;
}

/* ---- doubt ---- */

/* A UDP rail that was not configured is not missed. */
static void warn_udp(const struct gamma_local *local)
{
	if (local->use_udp)
		gamma_info("UDP port %u does not reach a peer, raw Ethernet does: long messages "
			   "take that, which is slower",
			   local->port);
	else
		gamma_warn("UDP port %u does not reach a peer, raw Ethernet does: long messages "
			   "take that, which is slower; allow this port in the firewalls of both "
			   "hosts",
			   local->port);
}

static void warn_doubt(const struct gamma_local *local, uint8_t r)
{
	const struct gamma_own_rail *own = &local->own_rails[r];

	if (gamma_local_rail_is_udp(local, r)) {
		warn_udp(local);
		return;
	}
	gamma_warn("NIC %u of this endpoint (%02x:%02x:%02x:%02x:%02x:%02x) does not reach "
		   "a peer, another one does: frames take that; check cable, switch port "
		   "and `ip link`",
		   r + 1, own->mac[0], own->mac[1], own->mac[2], own->mac[3], own->mac[4],
		   own->mac[5]);
}

/* It has never answered: a firewall may be in the way. */
static void warn_silent(struct gamma_local *local, uint8_t r)
{
	if (!gamma_local_rail_is_udp(local, r) || local->own_rails[r].silent_reported)
		return;
	local->own_rails[r].silent_reported = true;
	warn_udp(local);
}

/* Its frames leave by other rails. */
void gamma_rails_doubt(struct gamma_flow *flow, uint8_t r, uint64_t now)
{
	struct gamma_rail *rail = &flow->rails->rail[r];
	struct gamma_own_rail *own = &flow->local->own_rails[r];

	rail->state = GAMMA_RAIL_DOUBTED;
	rail->blocked = false;
	rail->look = now + DOUBTED_US * GAMMA_NS_PER_US;
	flow->local->stats.rails_doubted++;
	own->doubts++;
	if (!own->doubted++ && own->mtu >= GAMMA_LEAST_MTU)
		warn_doubt(flow->local, r);
	for (uint32_t seq = flow->tx.una; seq != flow->tx.next; seq++) {
		struct gamma_sent *sent = gamma_send_window_at(&flow->tx, seq);

		if (sent->state == GAMMA_SENT_FLYING && sent->rail == r)
			gamma_send_window_mark_lost(flow, seq);
	}
	if (flow->tx.lost) /* what was sent again by this rail is not under way any more */
		gamma_repair_adapt(flow);
	gamma_rails_choice_of_ordered(flow);
	look_at(flow, rail->look);
	gamma_flow_ready(flow);
}

/* Has what left by another rail after the last probe of this one arrived? */
static bool is_overtaken(const struct gamma_rails *rails, unsigned r)
{
	for (unsigned other = 0; other < GAMMA_RAILS_MAX; other++)
		if (other != r && rails->rail[other].sent_arrived >= rails->rail[r].probe_last)
			return true;
	return false;
}

/* Probes leave as soon as answers may have come; other hosts' frames may stand before them in a
 * queue, besides its own. */
static bool is_silent_for_long(const struct gamma_flow *flow, uint8_t r, uint64_t now)
{
	const struct gamma_rail *rail = &flow->rails->rail[r];

	return is_udp(flow, r) ||
	       now - rail->since >=
		       (DOUBT_US + (uint64_t) rail->in_flight * GAMMA_FRAME_US) * GAMMA_NS_PER_US;
}

/* Probes until it is doubted. Over UDP there are more, unless the same NIC is doubted already. */
static uint32_t tries_of(const struct gamma_flow *flow, uint8_t r)
{
	unsigned twin = gamma_local_twin(flow->local, r);

	if (!is_udp(flow, r))
		return GAMMA_RAIL_TRIES;
	if (twin < GAMMA_RAILS_MAX && flow->rails->rail[twin].state == GAMMA_RAIL_DOUBTED)
		return 1;
	return UDP_TRIES;
}

/* The same NIC over UDP is silent as well: that takes longer to find out there (silence). */
static void doubt_twin(struct gamma_flow *flow, uint8_t r, uint64_t now)
{
	uint8_t twin = (uint8_t) gamma_local_twin(flow->local, r);

	if (twin < GAMMA_RAILS_MAX && gamma_rails_is_usable(flow->rails, twin) &&
	    gamma_rails_other_is_usable(flow->rails, twin) && flow->rails->rail[twin].probing &&
	    flow->rails->rail[twin].unanswered) {
		gamma_rails_want_probe(flow, twin);
		gamma_rails_doubt(flow, twin, now);
	}
}

/* The probe of a rail is not answered yet. */
static void probe_again(struct gamma_flow *flow, uint8_t r, uint64_t now)
{
	struct gamma_rail *rail = &flow->rails->rail[r];

	/* Of a rail that is used, silence about a larger frame says nothing but that; and not even
	 * that of a peer that computes. */
	if (gamma_rails_is_usable(flow->rails, r) && rail->probe_size > rail->mtu) {
		if (flow->loss.heard > rail->probe_last)
			rail->mtu_tries++;
		else
			rail->unanswered++;
		gamma_rails_want_probe(flow, r);
		rail->look = now + silence(flow, r);
		return;
	}
	rail->unanswered++;
	if (rail->state == GAMMA_RAIL_UNPROVEN && rail->unanswered == UNPROVEN_TRIES)
		warn_silent(flow->local, r);
	if (gamma_rails_is_usable(flow->rails, r) && gamma_rails_other_is_usable(flow->rails, r)) {
		rail->overtaken += is_overtaken(flow->rails, r);
		if (rail->overtaken >= tries_of(flow, r) && is_silent_for_long(flow, r, now)) {
			gamma_rails_doubt(flow, r, now);
			doubt_twin(flow, r, now);
			return;
		}
		/* Only their answers show whether this rail or the peer is silent. */
		gamma_rails_want_probes(flow);
	}
	gamma_rails_want_probe(flow, r);
	rail->look = now + silence(flow, r);
}

/* Between two probes of a rail that is not used. */
static uint64_t retry_time(const struct gamma_flow *flow, const struct gamma_rail *rail,
			   uint64_t now)
{
	bool idle =
		now - gamma_max(flow->loss.last_sent, flow->last_data) > IDLE_S * GAMMA_NS_PER_S;

	if (rail->state == GAMMA_RAIL_UNPROVEN && rail->unanswered < UNPROVEN_TRIES)
		return GAMMA_PROBE_FIRST_US * GAMMA_NS_PER_US << rail->unanswered;
	if (rail->state == GAMMA_RAIL_UNPROVEN || idle)
		return DOUBTED_IDLE_S * GAMMA_NS_PER_S;
	return DOUBTED_US * GAMMA_NS_PER_US;
}

static void look_at_rail(struct gamma_flow *flow, uint8_t r, uint64_t now)
{
	struct gamma_rail *rail = &flow->rails->rail[r];
	bool used = rail->state == GAMMA_RAIL_USABLE;
	uint64_t quiet = rail->since + silence(flow, r);

	rail->look = GAMMA_NEVER;
	if (rail->blocked && used && gamma_rails_other_is_usable(flow->rails, r)) {
		gamma_rails_want_probe(flow, r);
		gamma_rails_doubt(flow, r, now);
		return;
	}
	rail->blocked = false;
	if (rail->state == GAMMA_RAIL_NONE ||
	    (used && !rail->in_flight && !rail->probing && !gamma_rails_mtu_is_smaller(rail)))
		return;
	if (used && now >= quiet && !gamma_rails_nics_look(flow->local, r, now) &&
	    rail->state == GAMMA_RAIL_DOUBTED)
		return;
	if (rail->wanted) /* it has not left */
		rail->look = now + silence(flow, r);
	else if (rail->probing && !rail->held_up)
		probe_again(flow, r, now);
	else if (used && r && gamma_rails_mtu_is_smaller(rail))
		gamma_rails_want_probe(flow, r); /* a rail that is busy is not quiet for long */
	else if (used && now < quiet)
		rail->look = quiet;
	else if (used && gamma_rails_other_is_usable(flow->rails, r))
		gamma_rails_want_probes(flow); /* their answers show whether it is this rail */
	else
		gamma_rails_want_probe(flow, r);
	if (rail->look == GAMMA_NEVER)
		rail->look = now + look_time(flow, r);
	if (!used)
		rail->look = now + retry_time(flow, rail, now);
}

static void ask_again(struct gamma_flow *flow, uint64_t now)
{
	struct gamma_rails *rails = flow->rails;
	uint64_t wait = GAMMA_PROBE_FIRST_US * GAMMA_NS_PER_US << gamma_min(rails->asks, SHIFT_MAX);

	rails->asks = (uint8_t) gamma_min(rails->asks + 1, UINT8_MAX);
	rails->ask_wanted = true;
	rails->ask_look = now + gamma_min(wait, GAMMA_PROBE_MAX_US * GAMMA_NS_PER_US);
	gamma_flow_want(flow, GAMMA_PENDING_RAILS);
}

void gamma_rails_timeout(struct gamma_flow *flow, uint64_t now)
{
	struct gamma_rails *rails = flow->rails;

	if (flow->state != GAMMA_FLOW_OPEN)
		return;
	if (rails->asking && rails->ask_look <= now)
		ask_again(flow, now);
	if (rails->asking)
		look_at(flow, rails->ask_look);
	for (unsigned r = 0; r < GAMMA_RAILS_MAX; r++) {
		if (rails->rail[r].look <= now)
			look_at_rail(flow, r, now);
		if (rails->rail[r].look != GAMMA_NEVER)
			look_at(flow, rails->rail[r].look);
	}
}
