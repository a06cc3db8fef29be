// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Round trip time, loss, and probes. A frame is sent again only on evidence that a later
 * transmission has arrived (after RACK, RFC 8985). When nothing is heard at all, a PROBE without
 * data asks; its answer is such evidence. So a receiver that does not poll for a minute causes
 * probes, and no retransmission.
 */
#include "flow/loss.h"

#include <errno.h>
#include <stdio.h>

#include "flow/flow.h"

enum { PROBE_RTTS = 4 }; /* round trips of a probe that one of data is expected to take at most */

static struct gamma_loss_of_rail *of_rail(struct gamma_flow *flow, uint8_t rail)
{
	return gamma_likely(!rail) ? &flow->loss.first : gamma_rails_loss(flow, rail);
}

void gamma_loss_sample(struct gamma_flow *flow, uint64_t passed, uint64_t delay,
		       const struct gamma_sent *sent)
{
	struct gamma_loss_of_rail *loss = of_rail(flow, sent->rail);
	uint64_t rtt = passed - delay;
	uint64_t queue = sent->ahead * GAMMA_FRAME_US * GAMMA_NS_PER_US;
	uint64_t error;

	/* Nothing would raise it again, had a sender lost its processor before it noted the time.
	 */
	if (!loss->rtt || (!sent->approximate && rtt < loss->rtt_min))
		loss->rtt_min = rtt;
	loss->rtt = loss->rtt ? (7 * loss->rtt + rtt) / 8 : rtt;
	gamma_histogram_add(&flow->local->round_trips, rtt);
	if (gamma_unlikely(flow->congestion.on))
		gamma_congestion_measured(flow, rtt);
	/* A delay longer than a polling peer's says nothing of the next one. */
	if (delay > GAMMA_ACK_DELAY_US * GAMMA_NS_PER_US)
		return;
	/* Waiting behind own frames is allowed for by their number, when one waits: probe_timeout.
	 */
	if (rtt > loss->rtt_min)
		passed -= gamma_min(queue, rtt - loss->rtt_min);
	if (!loss->answer) {
		loss->answer = passed;
		loss->answer_var = passed / 2;
		return;
	}
	error = passed > loss->answer ? passed - loss->answer : loss->answer - passed;
	loss->answer_var = (3 * loss->answer_var + error) / 4; /* RFC 6298 */
	loss->answer = (7 * loss->answer + passed) / 8;
}

static bool owed(const struct gamma_flow *flow)
{
	return gamma_send_window_unacked(&flow->tx) || flow->owed || flow->expected ||
	       flow->credit.starved || flow->credit.reclaiming;
}

static bool waiting(const struct gamma_flow *flow)
{
	return owed(flow) || flow->loss.doubted;
}

/* Frames that may stand in queues: the own ones before the peer, and before its answer
 * those of a peer that has more to send. */
static uint64_t queued(const struct gamma_flow *flow)
{
	uint64_t frames = gamma_send_window_in_flight(&flow->tx);

	if (frames && flow->credit.bulk)
		frames += gamma_credit_window(flow);
	return frames ? frames - 1 : 0; /* of one, the usual time of answers includes it */
}

/* How long to wait for a sign before asking: as long as answers take, the peer's own delay
 * included, and as frames may queue in the NIC. A frame that did not request its acknowledgement
 * may be answered late on purpose. */
static uint64_t probe_timeout(const struct gamma_flow *flow)
{
	const struct gamma_loss *loss = &flow->loss;
	uint64_t wait = GAMMA_PROBE_FIRST_US * GAMMA_NS_PER_US;
	uint64_t longest = flow->local->limits.peer_timeout / GAMMA_PEER_TRIES;
	/* A BYE that may be forged is to be proven or refuted soon. */
	bool urgent = gamma_send_window_in_flight(&flow->tx) || flow->bye_heard;

	if (!urgent)
		wait = GAMMA_KEEPALIVE_US * GAMMA_NS_PER_US;
	else if (loss->first.answer)
		wait = gamma_max(loss->first.answer + 4 * loss->first.answer_var,
				 GAMMA_PROBE_MIN_US * GAMMA_NS_PER_US);
	if (gamma_unlikely(flow->rails))
		wait = gamma_max(wait, gamma_rails_answer_time(flow));
	wait += queued(flow) * GAMMA_FRAME_US * GAMMA_NS_PER_US;
	/* Nothing gets lost on the way to an shm peer, and its end is reported: a silent one
	 * waits for a processor. */
	if (flow->same_host)
		wait = gamma_max(wait, GAMMA_PROBE_SHM_US * GAMMA_NS_PER_US);
	if (flow->tx.asked != flow->tx.next)
		wait += 2 * GAMMA_ACK_DELAY_US * GAMMA_NS_PER_US;
	wait <<= gamma_min(loss->backoff, 16);
	longest = gamma_min(longest,
			    (urgent ? GAMMA_PROBE_MAX_US : GAMMA_KEEPALIVE_US) * GAMMA_NS_PER_US);
	return gamma_min(wait, longest);
}

/* Asks when so much has passed since then, but not at once. */
static void rearm(struct gamma_flow *flow, uint64_t since, uint64_t now)
{
	uint64_t wait;

	if (!waiting(flow)) {
		gamma_timers_stop(flow, GAMMA_TIMER_PROBE);
		flow->loss.waiting_since = 0;
		return;
	}
	if (!flow->loss.waiting_since)
		flow->loss.waiting_since = now;
	wait = probe_timeout(flow);
	gamma_timers_set(flow, GAMMA_TIMER_PROBE, gamma_max(since + wait, now + wait / 2));
}

void gamma_loss_rearm(struct gamma_flow *flow, uint64_t now)
{
	rearm(flow, now, now);
}

void gamma_loss_transmitted(struct gamma_flow *flow, uint64_t now)
{
	flow->loss.last_sent = now;
	gamma_loss_rearm(flow, now);
}

/* Remembers the latest transmission that has arrived. An answer faster than any round trip seen
 * belongs to an earlier transmission of the frame. */
void gamma_loss_delivered(struct gamma_flow *flow, struct gamma_sent *sent, uint64_t heard)
{
	struct gamma_loss_of_rail *loss = &flow->loss.first;
	uint64_t passed = heard > sent->time ? heard - sent->time : 0;

	if (gamma_unlikely(flow->rails)) {
		gamma_rails_delivered(flow, sent, heard);
		return;
	}
	if (sent->serial <= loss->rack_serial)
		return;
	if (sent->again && passed < loss->rtt_min)
		return;
	loss->rack_serial = sent->serial;
	loss->rack_rtt = passed;
}

uint64_t gamma_loss_evidence(const struct gamma_flow *flow)
{
	return gamma_likely(!flow->rails) ? flow->loss.first.rack_serial : flow->rails->arrived;
}

/* Wider where frames overtake each other by more, up to two round trips: the frame that gave the
 * evidence may have been quick there and back. */
static uint64_t reorder_window(const struct gamma_flow *flow, const struct gamma_loss_of_rail *loss)
{
	uint64_t least = gamma_max(loss->rtt_min / 4, GAMMA_REORDER_MIN_US * GAMMA_NS_PER_US);

	return gamma_max(least, gamma_min(least << flow->loss.wide, 2 * loss->rtt));
}

uint64_t gamma_loss_reorder_window(const struct gamma_flow *flow)
{
	return reorder_window(flow, &flow->loss.first);
}

/* Once for the frames in flight: the same mistake is reported several times. */
void gamma_loss_spurious(struct gamma_flow *flow)
{
	struct gamma_loss *loss = &flow->loss;

	flow->local->stats.spurious++;
	if (loss->wide &&
	    flow->tx.serial < loss->wide_serial + gamma_send_window_unacked(&flow->tx))
		return;
	loss->wide = (uint8_t) gamma_min(loss->wide + 2, GAMMA_REORDER_WIDER);
	loss->wide_serial = flow->tx.serial;
}

/* Paths change: a window that was not needed for long shrinks. */
static void narrow(struct gamma_flow *flow)
{
	struct gamma_loss *loss = &flow->loss;

	if (flow->tx.serial < loss->wide_serial + GAMMA_REORDER_KEEP)
		return;
	loss->wide--;
	loss->wide_serial = flow->tx.serial;
}

/* When exactly a frame left may not be known: no round trip is quicker than all others. */
static uint64_t grace_of(const struct gamma_flow *flow, const struct gamma_loss_of_rail *loss)
{
	return gamma_max(loss->rack_rtt, loss->rtt_min) + reorder_window(flow, loss);
}

/* Apart, so that a search that finds nothing stays short. */
static GAMMA_NOINLINE void lose(struct gamma_flow *flow, uint32_t seq, uint64_t now)
{
	const struct gamma_sent *sent = gamma_send_window_at(&flow->tx, seq);

	gamma_path_mtu_lost(flow, seq, now);
	if (gamma_unlikely(flow->congestion.on))
		gamma_congestion_lost(flow, sent);
	flow->repair.lost += sent->again;
	gamma_send_window_mark_lost(flow, seq);
}

/* Frames sent before one that has arrived by the same rail are lost, once they could have been
 * overtaken by no more than the reorder window; the timer looks again at those not yet due. */
void gamma_loss_detect(struct gamma_flow *flow, uint64_t now)
{
	const struct gamma_loss_of_rail *loss = &flow->loss.first;
	uint64_t grace = 0, next = GAMMA_NEVER; /* mostly nothing is early enough to need it */

	if (gamma_unlikely(flow->loss.wide))
		narrow(flow);
	for (uint32_t seq = flow->tx.una; seq != flow->tx.next; seq++) {
		const struct gamma_sent *sent = gamma_send_window_at(&flow->tx, seq);

		if (gamma_unlikely(flow->rails) && sent->state == GAMMA_SENT_FLYING) {
			loss = gamma_rails_loss(flow, sent->rail);
			grace = 0;
		}
		if (sent->state != GAMMA_SENT_FLYING || sent->serial >= loss->rack_serial)
			continue;
		if (!grace)
			grace = grace_of(flow, loss);
		if (now >= sent->time + grace) {
			lose(flow, seq, now);
		} else {
			next = gamma_min(next, sent->time + grace);
		}
	}
	if (next != GAMMA_NEVER)
		gamma_timers_set(flow, GAMMA_TIMER_LOSS, next);
	else
		gamma_timers_stop(flow, GAMMA_TIMER_LOSS);
	if (gamma_unlikely(flow->tx.lost))
		gamma_repair_adapt(flow);
}

void gamma_loss_acked(struct gamma_flow *flow, bool progress, uint64_t now)
{
	if (progress) {
		flow->loss.backoff = 0;
		flow->loss.waiting_since = 0;
		/* The last frame's answer is due when it has been under way for long enough. */
		rearm(flow, gamma_send_window_in_flight(&flow->tx) ? flow->loss.last_sent : now,
		      now);
	} else if (!waiting(flow)) {
		gamma_loss_rearm(flow, now);
	}
}

/* Data may have been measured while the peer was stopped, and be lost ever since. The network is
 * not slower than the probe, and will not be much slower with data on it. */
void gamma_loss_take_probe_time(struct gamma_loss_of_rail *loss, uint64_t passed)
{
	loss->rtt_min = gamma_min(loss->rtt_min, passed);
	loss->rtt = gamma_min(loss->rtt, PROBE_RTTS * passed);
}

/* The answer to a probe: everything sent before the probe has arrived by now, or is lost. */
void gamma_loss_probed(struct gamma_flow *flow, const struct gamma_fields *answer, uint64_t now)
{
	struct gamma_loss *loss = &flow->loss;
	struct gamma_loss_of_rail *rail;

	if (!loss->probing || answer->seq != loss->probe)
		return;
	loss->probing = loss->doubted = false;
	if (gamma_unlikely(!flow->rx.proven) && answer->extensions & GAMMA_EXT_DELAY) {
		gamma_receive_window_prove(flow, answer->echo, now);
		if (!gamma_flow_usable(flow))
			return;
	}
	gamma_flow_refute_bye(flow);
	loss->backoff = 0;
	loss->waiting_since = 0;
	rail = of_rail(flow, loss->probe_rail);
	if (loss->probe_serial >= rail->rack_serial) {
		rail->rack_serial = loss->probe_serial + 1;
		rail->rack_rtt = now - loss->probe_time;
		gamma_repair_probed(flow, rail->rack_serial);
	}
	gamma_loss_take_probe_time(rail, now - loss->probe_time);
	/* An answer that has not come before this one never will: the question, or it, was lost. */
	if (flow->credit.reclaiming)
		gamma_flow_want(flow, GAMMA_PENDING_RECLAIM);
	gamma_loss_detect(flow, now);
	gamma_loss_rearm(flow, now);
}

bool gamma_loss_peer_dead(struct gamma_flow *flow, uint64_t now)
{
	uint64_t since = gamma_max(gamma_max(flow->loss.heard, flow->loss.waiting_since),
				   flow->local->resumed);
	char cause[192];
	int len;

	if (now - since < flow->local->limits.peer_timeout)
		return false;
	flow->local->stats.peer_timeouts++;
	if (flow->state == GAMMA_FLOW_OPEN && !owed(flow)) {
		gamma_flow_declare_dead_idle(flow, -ETIMEDOUT, "nothing heard of it for long", now);
		return true;
	}
	len = snprintf(cause, sizeof(cause), "nothing heard of it for %.1f s",
		       (double) (now - since) / 1e9);
	if (flow->path_mtu.refused)
		snprintf(cause + len, sizeof(cause) - (size_t) len,
			 ", and this host's NIC took no frame of %u bytes: see its state and MTU, "
			 "and those of the switch port (ip link)",
			 flow->path_mtu.mtu);
	gamma_flow_declare_dead(flow, -ETIMEDOUT, cause, now);
	return true;
}

void gamma_loss_suspect_peer(struct gamma_flow *flow, uint64_t now)
{
	struct gamma_loss *loss = &flow->loss;

	/* The end of an shm peer is reported by its host. */
	if (flow->state != GAMMA_FLOW_OPEN || flow->same_host || waiting(flow) ||
	    now - loss->heard < GAMMA_IDLE_S * GAMMA_NS_PER_S)
		return;
	loss->doubted = true;
	rearm(flow, now, now);
}

void gamma_loss_want_probe(struct gamma_flow *flow)
{
	flow->loss.probe = gamma_random_next(&flow->local->random);
	flow->loss.probing = true;
	gamma_flow_want(flow, GAMMA_PENDING_PROBE);
}

void gamma_loss_challenge(struct gamma_flow *flow, uint64_t now)
{
	struct gamma_loss *loss = &flow->loss;

	loss->doubted = true;
	/* A new number would make the answer to the probe that is under way worthless. */
	if (!loss->probing || now - loss->probe_time >= GAMMA_PROBE_FIRST_US * GAMMA_NS_PER_US)
		gamma_loss_want_probe(flow);
	rearm(flow, now, now);
}

/* For how long a peer may be silent before others are asked, ns. */
static uint64_t silent_time(const struct gamma_flow *flow)
{
	return gamma_min(GAMMA_SILENT_US * GAMMA_NS_PER_US,
			 flow->local->limits.peer_timeout / GAMMA_SILENT_PART);
}

/* Only the peer answers probes. LOOKUP is also answered by gammad, which knows the owner of the
 * port, and by a peer that would refuse this one. An shm peer that was heard lives until its end is
 * reported. */
static void ask_whether_there(struct gamma_flow *flow, uint64_t now)
{
	struct gamma_loss *loss = &flow->loss;
	uint64_t since = gamma_max(gamma_max(loss->heard, loss->waiting_since),
				   gamma_max(loss->asked, flow->local->resumed));

	if (now - since < silent_time(flow) || (flow->same_host && flow->heard_of))
		return;
	loss->asked = now;
	gamma_flow_look_up(flow);
}

/* It has said BYE, and neither it nor anybody who would know says otherwise: it is gone already. */
static bool left_after_bye(const struct gamma_flow *flow, uint64_t now)
{
	return flow->bye_heard &&
	       now - gamma_max(flow->loss.heard, flow->local->resumed) >= 2 * silent_time(flow);
}

void gamma_loss_timeout(struct gamma_flow *flow, uint64_t now)
{
	struct gamma_loss *loss = &flow->loss;

	if (!waiting(flow)) {
		loss->waiting_since = 0;
		return;
	}
	if (!loss->waiting_since)
		loss->waiting_since = now;
	if (left_after_bye(flow, now)) {
		gamma_flow_believe_bye(flow, now);
		return;
	}
	if (gamma_loss_peer_dead(flow, now))
		return;
	ask_whether_there(flow, now);
	if (gamma_unlikely(flow->congestion.on))
		gamma_congestion_silent(flow);
	gamma_loss_want_probe(flow);
	if (gamma_unlikely(flow->rails))
		gamma_rails_want_probes(flow);
	gamma_timers_set(flow, GAMMA_TIMER_PROBE, now + probe_timeout(flow));
	if (loss->backoff < 16)
		loss->backoff++;
}
