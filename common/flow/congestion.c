// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Congestion control on routed paths, after CUBIC (RFC 9438), with which it shares a bottleneck
 * fairly. The receiver's credit still holds: the smaller of both counts.
 *
 *  - slow start: a frame more for each that arrives, until one is lost, or the round trip of a
 *    whole window is longer than the shortest one by an eighth (HyStart, RFC 9406);
 *  - after that the window is a cubic function of the time since it was last reduced, and not less
 *    than Reno's;
 *  - a loss, or a router's mark (ecn.c), reduces it to 7/10, once for all frames that were under
 *    way; silence to two frames.
 *
 * Loss is what loss.c finds, on evidence. Frames leave when acknowledgements come. The sender asks
 * for one each eighth of a window, so that a window does not leave as one burst.
 */
#include "flow/congestion.h"

#include "flow/flow.h"

enum {
	UNIT = GAMMA_CONGESTION_UNIT,
	FIRST = 10,          /* frames: RFC 6928 */
	LEAST = 2,           /* frames */
	KEEP_TENTHS = 7,     /* of the window, after a loss */
	TURNS = 8,           /* in which a window leaves */
	TURN_MIN = 2,        /* frames */
	ROUND_SAMPLES = 4,   /* that give the round trip of a window */
	RISE_MIN_US = 4000,  /* of the round trip: more, and a queue has begun; an eighth of it, */
	RISE_MAX_US = 16000, /* between these */
	STEP_MAX = UNIT / 2, /* of the window for one frame: not faster than half slow start */
	AWAY_SILENCES = 2,   /* unanswered probes, until the path counts as choked */
};

void gamma_congestion_start(struct gamma_flow *flow)
{
	gamma_ecn_start(flow);
	flow->congestion = (struct gamma_congestion){
		.on = true, .slow_start = true, .window = (uint64_t) FIRST * UNIT};
}

/* Frames that neither have arrived nor are known to be lost. */
static uint32_t count_under_way(const struct gamma_flow *flow)
{
	return gamma_send_window_unacked(&flow->tx) - flow->congestion.arrived - flow->tx.lost;
}

bool gamma_congestion_is_open(const struct gamma_flow *flow)
{
	return ((uint64_t) count_under_way(flow) + 1) * UNIT <= flow->congestion.window;
}

void gamma_congestion_filled(struct gamma_flow *flow)
{
	flow->congestion.full = flow->tx.serial;
}

uint32_t gamma_congestion_turn(const struct gamma_flow *flow)
{
	return (uint32_t) gamma_max(flow->congestion.window / UNIT / TURNS, TURN_MIN);
}

/* ---- growth ---- */

/* The cube root, rounded down; of at most 2^60. */
static uint64_t cube_root(uint64_t value)
{
	uint64_t root = 0;

	for (int bit = 20; bit >= 0; bit--) {
		uint64_t more = root | 1ull << bit;

		if (more * more * more <= value)
			root = more;
	}
	return root;
}

/* Where the cubic curve is so long after the last reduction: 0.4 frames for the cube of a second,
 * from the plateau on. */
static uint64_t cubic_window(const struct gamma_congestion *congestion, uint64_t since)
{
	bool before = since < congestion->plateau;
	uint64_t away = before ? congestion->plateau - since : since - congestion->plateau;
	uint64_t ms = gamma_min(away / GAMMA_NS_PER_MS, 100000);
	uint64_t change = ms * ms * ms / 1000 * UNIT / 2500000;

	if (!before)
		return congestion->most + change;
	return congestion->most > change ? congestion->most - change : 0;
}

static void begin_growth(struct gamma_congestion *congestion, uint64_t now)
{
	uint64_t below =
		congestion->most > congestion->window ? congestion->most - congestion->window : 0;

	/* ms: the cube root of what is missing, in frames, through 0.4 */
	congestion->plateau = cube_root(below * 2500000 / UNIT * 1000) * GAMMA_NS_PER_MS;
	congestion->began = now;
	congestion->reno = congestion->window;
}

static void grow_cubic(struct gamma_flow *flow, uint64_t now)
{
	struct gamma_congestion *congestion = &flow->congestion;
	uint64_t window = congestion->window, target;

	if (!congestion->began)
		begin_growth(congestion, now);
	/* Reno's window that is reduced to 7/10 grows by 9/17 of a frame in a round trip. */
	congestion->reno += 9ull * UNIT * UNIT / 17 / window;
	target = cubic_window(congestion, now - congestion->began + flow->loss.first.rtt);
	if (target > window)
		window += gamma_min((target - window) * UNIT / window, STEP_MAX);
	congestion->window = gamma_max(window, congestion->reno);
}

/* A window that was not used does not grow. */
void gamma_congestion_arrived(struct gamma_flow *flow, const struct gamma_sent *sent, uint64_t now)
{
	struct gamma_congestion *congestion = &flow->congestion;

	congestion->arrived++;
	gamma_ecn_delivered(flow);
	if (sent->serial > congestion->full ||
	    congestion->window >= (uint64_t) GAMMA_WINDOW_MAX * UNIT)
		return;
	if (congestion->slow_start)
		congestion->window += UNIT;
	else
		grow_cubic(flow, now);
}

void gamma_congestion_released(struct gamma_flow *flow, uint32_t count)
{
	flow->congestion.arrived -= count;
}

/* ---- the end of slow start ---- */

static void leave_slow_start(struct gamma_congestion *congestion)
{
	congestion->slow_start = false;
	congestion->most = congestion->window;
	congestion->began = 0;
}

void gamma_congestion_measured(struct gamma_flow *flow, uint64_t rtt)
{
	struct gamma_congestion *congestion = &flow->congestion;
	uint64_t rise;

	if (!congestion->slow_start)
		return;
	if (flow->loss.first.rack_serial >= congestion->round) {
		congestion->round = flow->tx.serial + 1;
		congestion->round_samples = 0;
		congestion->round_rtt = rtt;
	}
	congestion->round_rtt = gamma_min(congestion->round_rtt, rtt);
	rise = gamma_max(gamma_min(flow->loss.first.rtt_min / 8, RISE_MAX_US * GAMMA_NS_PER_US),
			 RISE_MIN_US * GAMMA_NS_PER_US);
	if (++congestion->round_samples >= ROUND_SAMPLES &&
	    congestion->round_rtt > flow->loss.first.rtt_min + rise)
		leave_slow_start(congestion);
}

/* ---- reduction ---- */

/* serial: of a transmission that was lost, or that has come behind a mark. Frames under way at the
 * last reduction are no new evidence. */
static void reduce(struct gamma_flow *flow, uint64_t serial)
{
	struct gamma_congestion *congestion = &flow->congestion;
	uint64_t window = congestion->window;

	if (serial <= congestion->reduced)
		return;
	congestion->reduced = flow->tx.serial;
	congestion->slow_start = false;
	/* One that had less than the last time leaves room to others sooner. */
	congestion->most = window < congestion->most ? window * (10 + KEEP_TENTHS) / 20 : window;
	congestion->window = gamma_max(window * KEEP_TENTHS / 10, (uint64_t) LEAST * UNIT);
	congestion->began = 0;
	flow->local->stats.window_reductions++;
}

void gamma_congestion_lost(struct gamma_flow *flow, const struct gamma_sent *sent)
{
	reduce(flow, sent->serial);
}

/* By which of several NICs the marked frame came is not known. */
static uint64_t latest_arrived(struct gamma_flow *flow)
{
	uint64_t serial = flow->loss.first.rack_serial;

	for (uint8_t r = 1; flow->rails && r < GAMMA_RAILS_MAX; r++)
		serial = gamma_max(serial, gamma_rails_loss(flow, r)->rack_serial);
	return serial;
}

void gamma_congestion_marked(struct gamma_flow *flow)
{
	reduce(flow, latest_arrived(flow));
}

void gamma_congestion_silent(struct gamma_flow *flow)
{
	struct gamma_congestion *congestion = &flow->congestion;

	if (flow->loss.backoff < AWAY_SILENCES || !gamma_send_window_in_flight(&flow->tx))
		return;
	congestion->window = (uint64_t) LEAST * UNIT;
	congestion->slow_start = true;
	congestion->reduced = flow->tx.serial;
	congestion->began = 0;
}
