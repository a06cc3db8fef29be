// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Which rail a frame takes: what is ordered the one with the shortest round trip, a long message's
 * frames the one by which they are through first, and so how long frames take by each.
 */
#include "flow/rails_choice.h"

#include "flow/flow.h"

enum { TRUST_PART = 8 }; /* a time that could not be measured again falls by such a part */

/* ---- how long frames take ---- */

/* Of the fastest rail, as far as known. */
static uint64_t least_frame_time(const struct gamma_rails *rails)
{
	uint64_t least = GAMMA_NEVER;

	for (unsigned r = 0; r < GAMMA_RAILS_MAX; r++)
		if (gamma_rails_is_usable(rails, r) && rails->rail[r].frame_ns)
			least = gamma_min(least, rails->rail[r].frame_ns);
	return least == GAMMA_NEVER ? GAMMA_FRAME_US * GAMMA_NS_PER_US : least;
}

/* A rail that has not been measured gets as many frames as the fastest one: that shows. */
uint64_t gamma_rails_choice_frame_time(const struct gamma_rails *rails, unsigned r)
{
	uint64_t known = rails->rail[r].frame_ns;

	return known ? known : least_frame_time(rails);
}

/* A round has lasted so long, ns. One in which the peer was away counts little; a rail by which
 * nothing has come may have failed, and how long its frames take is then not known. */
static void measure_rail(struct gamma_rails *rails, struct gamma_rail *rail, uint64_t passed)
{
	uint64_t known = rail->frame_ns;
	uint64_t time = gamma_max(passed / gamma_max(rail->round_frames, 1), 1);

	if (!rail->round_frames)
		return;
	if (!rail->round_idle)
		rail->frame_ns = known ? (3 * known + gamma_min(time, 2 * known) + 3) / 4 : time;
	else if (known)
		rail->frame_ns = gamma_max(known - known / TRUST_PART, least_frame_time(rails));
}

/* All rails are measured by the same round: a receiver that reports late, or much at once, changes
 * their times alike, and only their ratio divides the frames. Frames arrive as fast as a rail
 * carries them if it never ran empty: if all that arrived had left before the round began. Else
 * they came as fast as they were sent, which says nothing of the rail: it is trusted with a little
 * more, until it does not run empty. So one that has few frames does not go on with few. */
static void end_round(struct gamma_rails *rails)
{
	uint64_t passed = rails->round_heard - rails->round;

	for (unsigned r = 0; r < GAMMA_RAILS_MAX; r++) {
		struct gamma_rail *rail = &rails->rail[r];

		if (gamma_rails_is_usable(rails, r) && passed)
			measure_rail(rails, rail, passed);
		rail->round_frames = 0;
		rail->round_idle = !rail->in_flight;
	}
	rails->round = rails->round_heard;
	rails->round_frames = 0;
}

/* The frames of one acknowledgement belong to one round. */
void gamma_rails_choice_measure(struct gamma_rails *rails, const struct gamma_sent *sent,
				uint64_t heard)
{
	struct gamma_rail *rail = &rails->rail[sent->rail];

	if (heard > rails->round_heard && rails->round_frames >= GAMMA_RAIL_ROUND)
		end_round(rails);
	rails->round_heard = gamma_max(rails->round_heard, heard);
	rails->round_frames++;
	rail->round_frames++;
	rail->round_idle |= sent->time > rails->round;
}

/* ---- choice ---- */

static uint64_t shortest_rtt(struct gamma_flow *flow, unsigned r)
{
	uint64_t rtt = gamma_rails_loss(flow, (uint8_t) r)->rtt_min;

	return rtt ? rtt : flow->rails->rail[r].probe_rtt;
}

/* What is ordered: a raw rail is always better for it than one over UDP. */
static bool is_better(struct gamma_flow *flow, unsigned r, unsigned than)
{
	if (!gamma_rails_is_usable(flow->rails, than))
		return true;
	if (gamma_local_rail_is_udp(flow->local, r) != gamma_local_rail_is_udp(flow->local, than))
		return gamma_local_rail_is_udp(flow->local, than);
	return shortest_rtt(flow, r) && 4 * shortest_rtt(flow, r) < 3 * shortest_rtt(flow, than);
}

/* What is ordered takes the rail with the shortest round trip. It changes for a clear gain only. */
void gamma_rails_choice_of_ordered(struct gamma_flow *flow)
{
	struct gamma_rails *rails = flow->rails;
	unsigned best = flow->rail;

	for (unsigned r = 0; r < GAMMA_RAILS_MAX; r++)
		if (gamma_rails_is_usable(rails, r) && r != best && is_better(flow, r, best))
			best = r;
	flow->rail = (uint8_t) best;
	gamma_rails_choice_use(flow, flow->rail);
}

static uint32_t mtu_of(const struct gamma_flow *flow, uint8_t rail)
{
	return rail ? flow->rails->rail[rail].mtu : flow->path_mtu.mtu;
}

void gamma_rails_choice_use(struct gamma_flow *flow, uint8_t rail)
{
	flow->path_mtu.frame = mtu_of(flow, rail);
}

void gamma_rails_choice_polled(struct gamma_flow *flow)
{
	gamma_rails_choice_use(flow, flow->rail);
}

/* Bits: raw rails of NICs by which nothing goes over UDP, though it does by others. */
static uint8_t raw_alone(const struct gamma_flow *flow, uint8_t free)
{
	uint8_t alone = 0;

	for (unsigned r = 0; r < flow->local->rail_count; r++) {
		unsigned twin = gamma_local_twin(flow->local, r);

		if (twin < GAMMA_RAILS_MAX && !(free >> twin & 1) &&
		    !gamma_local_rail_is_udp(flow->local, r))
			alone |= (uint8_t) (free & 1u << r);
	}
	return alone;
}

/* Bits: rails that take a long message's frames now. Over UDP they leave in trains: while a NIC
 * takes them so, it takes no raw ones. Through a slow port no more than a few frames may be under
 * way, and a train would only keep short messages waiting. */
static uint8_t rails_of_long(const struct gamma_flow *flow)
{
	uint8_t free = 0, udp = flow->rails->raw_left ? 0 : flow->local->rails_udp;

	for (unsigned r = 0; r < GAMMA_RAILS_MAX; r++)
		if (gamma_rails_is_usable(flow->rails, r))
			free |= (uint8_t) (1u << r);
	free &= (uint8_t) ~flow->local->rails_busy;
	if (free & udp)
		return (uint8_t) ((free & udp) | raw_alone(flow, free));
	return free & ~flow->local->rails_udp ? (uint8_t) (free & ~flow->local->rails_udp) : free;
}

static bool takes_trains(const struct gamma_flow *flow, unsigned r)
{
	return gamma_local_rail_is_udp(flow->local, r) && gamma_rails_is_usable(flow->rails, r) &&
	       !(flow->local->rails_busy >> r & 1);
}

bool gamma_rails_choice_has_trains(const struct gamma_flow *flow)
{
	if (flow->rails->raw_left)
		return false;
	for (unsigned r = 1; r < flow->local->rail_count; r++)
		if (takes_trains(flow, r))
			return true;
	return false;
}

/* A peer that has just taken frames there goes on looking for a while. So does one that has just
 * sent some there: it waits for their acknowledgement. */
bool gamma_rails_choice_is_expected(const struct gamma_flow *flow, uint64_t now)
{
	for (unsigned r = 1; r < flow->local->rail_count; r++) {
		const struct gamma_rail *rail = &flow->rails->rail[r];
		uint64_t last = gamma_max(rail->since, rail->came_at);

		if (takes_trains(flow, r) &&
		    (rail->in_flight || now < last + GAMMA_RAIL_EXPECTED_US * GAMMA_NS_PER_US))
			return true;
	}
	return false;
}

/* The rail on which one more frame would be through first. */
static uint8_t least_loaded(const struct gamma_flow *flow)
{
	const struct gamma_rails *rails = flow->rails;
	uint64_t least = UINT64_MAX;
	uint8_t best = flow->rail, candidates = rails_of_long(flow);

	for (unsigned r = 0; r < GAMMA_RAILS_MAX; r++) {
		uint64_t time =
			(rails->rail[r].in_flight + 1) * gamma_rails_choice_frame_time(rails, r);

		if (candidates >> r & 1 && time < least) {
			least = time;
			best = r;
		}
	}
	return best;
}

/* The receiver bounds what is under way: it gets raw frames, and for a while after that, since the
 * bound comes and goes while it measures. */
static void note_bound(struct gamma_flow *flow, bool spread)
{
	struct gamma_rails *rails = flow->rails;

	if (gamma_unlikely(flow->tx.bounded)) {
		rails->turn = rails->raw_left ? rails->turn : 0;
		rails->raw_left = GAMMA_RAIL_RAW;
	} else if (spread && rails->raw_left) {
		rails->raw_left--;
	}
}

/* As measured, else as the NICs say; 0: it does not matter. */
static uint64_t likely_frame_time(const struct gamma_flow *flow, unsigned r)
{
	uint64_t said = flow->local->limits.frame_ns;

	if (flow->rails->rail[r].frame_ns)
		return flow->rails->rail[r].frame_ns;
	if (said || rails_of_long(flow) == 1u << r) /* alone, it keeps no other one waiting */
		return said;
	return gamma_rails_choice_frame_time(flow->rails, r);
}

/* In trains more of them, up to a whole train, where they are through soon: through a slow port
 * the other rails would have nothing to do meanwhile. */
static uint8_t turn_of(const struct gamma_flow *flow, unsigned r)
{
	uint64_t train = gamma_min(flow->local->own_rails[r].train, UINT8_MAX);
	uint64_t time = likely_frame_time(flow, r);
	uint64_t frames = time ? GAMMA_RAIL_TURN_US * GAMMA_NS_PER_US / time : train;

	return (uint8_t) gamma_max(gamma_min(frames, train), GAMMA_RAIL_TURN);
}

/* A rail by which nothing is under way begins anew: a message that one turn can carry is not
 * divided. */
static bool begins_turn(const struct gamma_flow *flow)
{
	const struct gamma_rails *rails = flow->rails;

	return !rails->turn || !gamma_rails_is_usable(rails, rails->spread) ||
	       flow->local->rails_busy >> rails->spread & 1 ||
	       !rails->rail[rails->spread].in_flight;
}

/* A few frames in a row, since they leave in one call and arrive together. */
uint8_t gamma_rails_choice_next(struct gamma_flow *flow, bool spread)
{
	struct gamma_rails *rails = flow->rails;
	uint8_t rail = flow->rail;

	if (flow->local->rails_udp)
		note_bound(flow, spread);
	if (spread) {
		if (begins_turn(flow)) {
			rails->spread = least_loaded(flow);
			rails->turn = turn_of(flow, rails->spread);
		}
		rails->turn--;
		rail = rails->spread;
	}
	gamma_rails_choice_use(flow, rail);
	return rail;
}

/* Over UDP alone: raw frames gain little, and may have to wait for a bound's end. Where there is
 * one such rail its turn does not end. */
unsigned gamma_rails_choice_run(struct gamma_flow *flow, uint8_t rail, unsigned most)
{
	struct gamma_rails *rails = flow->rails;
	uint8_t candidates = rails_of_long(flow);

	if (rail != rails->spread || rails->raw_left || !(candidates >> rail & 1) ||
	    !flow->local->own_rails[rail].train)
		return 0;
	if (candidates == 1u << rail)
		return most;
	most = (unsigned) gamma_min(most, rails->turn);
	rails->turn = (uint8_t) (rails->turn - most);
	return most;
}

bool gamma_rails_choice_turn_is_over(const struct gamma_flow *flow)
{
	return !flow->rails->turn;
}

static bool takes(const struct gamma_flow *flow, uint8_t rail, const struct gamma_sent *sent)
{
	return gamma_rails_is_usable(flow->rails, rail) && !(flow->local->rails_busy >> rail & 1) &&
	       sent->len + GAMMA_HEADER_MAX <= mtu_of(flow, rail);
}

/* One made for a larger MTU leaves whole by a rail that has it, if there is one. One whose parts
 * are leaving goes on by the same rail. */
uint8_t gamma_rails_choice_again(struct gamma_flow *flow, struct gamma_sent *sent, bool spread)
{
	uint8_t rail;

	if (sent->unsent && sent->part) {
		if (gamma_rails_is_usable(flow->rails, sent->rail)) {
			gamma_rails_choice_use(flow, sent->rail);
			return sent->rail;
		}
		sent->part = 0;
		sent->unsent = 0;
	}
	rail = gamma_rails_choice_next(flow, spread);
	for (uint8_t r = 0; r < GAMMA_RAILS_MAX && !takes(flow, rail, sent); r++) {
		if (takes(flow, r, sent)) {
			gamma_rails_choice_use(flow, r);
			return r;
		}
	}
	return rail;
}

/* One by which frames came: the others may have failed. */
uint8_t gamma_rails_choice_of_ack(struct gamma_flow *flow)
{
	struct gamma_rails *rails = flow->rails;
	uint8_t came = rails->came;

	rails->came = 0;
	if (came >> flow->rail & 1 && gamma_rails_is_usable(rails, flow->rail))
		return flow->rail;
	came &= (uint8_t) ~flow->local->rails_busy;
	for (unsigned r = 0; r < GAMMA_RAILS_MAX; r++)
		if (came >> r & 1 && gamma_rails_is_usable(rails, r))
			return r;
	if (flow->local->rails_busy >> rails->came_last & 1)
		return flow->rail;
	return gamma_rails_is_usable(rails, rails->came_last) ? rails->came_last : flow->rail;
}
