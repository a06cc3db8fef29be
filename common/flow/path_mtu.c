// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The largest frame toward a peer: what every Ethernet passes, until a padded probe of the
 * smaller of both MTUs is answered. That the hosts say 9,000 does not mean that the switch
 * between them passes it, nor that it always will: when large frames begin to vanish, or the
 * link to refuse them, small ones are used at once, and padded probes decide again. These are
 * numbered: an answer counts, however late, if its probe left after the path was last doubted.
 * Some paths carry less than 1,500 bytes (tunnels, a port that was set so): then the least size
 * that GAMMA needs is used at once, and padded probes look for a larger one, downward.
 */
#include "flow/path_mtu.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>

#include "flow/flow.h"
#include "flow/rails_mtu.h"

enum {
	BACKOFF_MAX = 2,       /* doublings of the time between two padded probes */
	NUMBERS_ANSWERED = 16, /* padded probes whose answers show that the peer has seen them */
};

/* Sizes tried below 1,500, largest first: tunnels and overlays, IPv6's least, old links. Headers of
 * IP and UDP are in them. */
static const uint16_t sizes[] = {GAMMA_SAFE_MTU, 1400, 1280, 1006};

uint32_t gamma_path_mtu_safe(const struct gamma_local *local)
{
	return GAMMA_SAFE_MTU - local->limits.overhead;
}

/* The next smaller size to try, 0: none. */
static uint32_t smaller_size(const struct gamma_flow *flow, uint32_t size)
{
	const uint32_t overhead = flow->local->limits.overhead;

	for (unsigned i = 0; i < gamma_array_size(sizes); i++)
		if (sizes[i] - overhead < size)
			return sizes[i] - overhead;
	return size > GAMMA_LEAST_MTU ? GAMMA_LEAST_MTU : 0;
}

/* Frames above `large` are watched: those that smaller ones could replace or, where nothing
 * smaller is used, those well above control frames. */
static void use(struct gamma_flow *flow, uint32_t mtu)
{
	struct gamma_path_mtu *path = &flow->path_mtu;

	path->mtu = mtu;
	if (!flow->rail)
		path->frame = mtu;
	path->large = mtu > GAMMA_LEAST_MTU ? GAMMA_LEAST_MTU : GAMMA_SMALL_FRAME;
}

static void ask_for_probe(struct gamma_flow *flow, uint64_t now)
{
	flow->path_mtu.asked = now;
	flow->path_mtu.asked_serial = UINT64_MAX;
	flow->path_mtu.not_taken = false;
	gamma_flow_want(flow, GAMMA_PENDING_MTU);
	gamma_timers_set(flow, GAMMA_TIMER_MTU,
			 now + (GAMMA_PROBE_FIRST_US * GAMMA_NS_PER_US
				<< gamma_min(flow->path_mtu.tries, BACKOFF_MAX)));
}

/* What is asked from now on, 0: nothing; answers to what was asked before do not count. */
static void aim(struct gamma_path_mtu *path, uint32_t size)
{
	path->target = size;
	path->unanswered = 0;
	path->first = path->probe + 1;
	path->settled = !size;
	path->tries = 0;
	path->unsent = 0;
}

/* What is used whenever larger frames are in doubt. */
static uint32_t safe(const struct gamma_flow *flow)
{
	return (uint32_t) gamma_min(gamma_path_mtu_safe(flow->local), flow->local->limits.mtu);
}

/* Small frames at once; a padded probe of the former size shows whether they remain. */
static void doubt(struct gamma_flow *flow, uint64_t now)
{
	struct gamma_path_mtu *path = &flow->path_mtu;

	path->doubted = (uint32_t) gamma_max(path->mtu, path->target);
	aim(path, path->doubted);
	use(flow, path->mtu > safe(flow) ? safe(flow) : GAMMA_LEAST_MTU);
	path->proven = true;
	path->losses = 0;
	path->refused = 0;
	ask_for_probe(flow, now);
}

/* A full queue says nothing of the path; a link that refuses the size again and again does. */
void gamma_path_mtu_unsent(struct gamma_flow *flow)
{
	flow->local->stats.mtu_probes_out--;
	flow->path_mtu.not_taken = true;
}

void gamma_path_mtu_init(struct gamma_flow *flow)
{
	const struct gamma_limits *limits = &flow->local->limits;

	use(flow, flow->same_host ? limits->local_mtu : safe(flow));
	flow->path_mtu.settled = flow->same_host || limits->mtu <= gamma_path_mtu_safe(flow->local);
	flow->path_mtu.probe = gamma_random_next(&flow->local->random);
	flow->path_mtu.first = flow->path_mtu.probe + 1;
}

void gamma_path_mtu_learned(struct gamma_flow *flow, uint16_t peer_mtu, uint64_t now)
{
	struct gamma_path_mtu *path = &flow->path_mtu;

	uint32_t own = flow->local->limits.mtu;
	uint32_t smaller = (uint32_t) gamma_min(own, peer_mtu);
	uint32_t before = (uint32_t) gamma_min(own, path->peer_mtu);

	path->peer_mtu = peer_mtu;
	if (flow->same_host)
		return;
	if (smaller <= path->mtu) {
		use(flow, (uint32_t) gamma_max(smaller, GAMMA_HEADER_MAX + 64));
		aim(path, 0);
	} else if (!path->settled && (!path->target || path->target > smaller ||
				      (path->target == before && smaller > before))) {
		aim(path, smaller);
		ask_for_probe(flow, now);
	} else if (path->unanswered > smaller) {
		path->unanswered = 0;
	}
}

/* Whether the frame answers a padded probe, whose number nobody off the path can know. */
static bool is_answer(const struct gamma_path_mtu *path, const struct gamma_fields *fields)
{
	return fields->kind == GAMMA_KIND_ACK && fields->op == GAMMA_ACK_PROBED && fields->probe &&
	       path->probe - fields->seq < NUMBERS_ANSWERED;
}

/* Asks for the peer's MTU by a padded probe that surely passes, until it is answered. While a
 * larger size is being probed, the answers to these probes count. */
static void verify(struct gamma_flow *flow, uint64_t now)
{
	struct gamma_path_mtu *path = &flow->path_mtu;

	path->verified = now;
	path->verify_from = path->probe + 1;
	gamma_flow_want(flow, GAMMA_PENDING_MTU_VERIFY);
	if (!path->target)
		gamma_timers_set(flow, GAMMA_TIMER_MTU,
				 now + (GAMMA_PROBE_FIRST_US * GAMMA_NS_PER_US
					<< gamma_min(path->verifies, BACKOFF_MAX)));
}

static void verify_again(struct gamma_flow *flow, uint64_t now)
{
	struct gamma_path_mtu *path = &flow->path_mtu;

	if (path->unverified && ++path->verifies < GAMMA_MTU_VERIFIES)
		verify(flow, now);
	else
		path->unverified = false;
}

/* A forged MTU would make all frames small for good. So a padded probe is sent, whose answer has
 * the peer's MTU. */
void gamma_path_mtu_advertised(struct gamma_flow *flow, const struct gamma_fields *fields,
			       uint64_t now)
{
	struct gamma_path_mtu *path = &flow->path_mtu;
	uint32_t smaller = (uint32_t) gamma_min(flow->local->limits.mtu, fields->mtu);

	if (is_answer(path, fields)) {
		path->unverified &= gamma_seq_before(fields->seq, path->verify_from);
		gamma_path_mtu_learned(flow, fields->mtu, now);
	} else if (smaller >= gamma_max(path->mtu, path->target)) {
		gamma_path_mtu_learned(flow, fields->mtu, now);
	} else if (!flow->same_host &&
		   (!path->unverified ||
		    now - path->verified >= GAMMA_PROBE_FIRST_US * GAMMA_NS_PER_US)) {
		path->unverified = true;
		path->verifies = 0;
		verify(flow, now);
	}
}

static void warn_smaller(struct gamma_flow *flow, uint32_t tried)
{
	char name[GAMMA_NAME_LEN], own[GAMMA_NAME_LEN];

	gamma_warn("frames of %u bytes do not reach %s (from %s), those of %u do: falling back to "
		   "them; the MTU of a switch port or NIC on the way is smaller than the hosts'",
		   tried, gamma_flow_addr_name(&flow->addr, name),
		   gamma_flow_addr_name(&flow->local->addr, own), flow->path_mtu.mtu);
}

/* A padded probe of this size came through and back; if its answer was so late that asking had
 * ended, the warning does not hold any more. */
void gamma_path_mtu_probed(struct gamma_flow *flow, uint32_t size, uint32_t probe)
{
	struct gamma_path_mtu *path = &flow->path_mtu;
	bool late = !path->target;
	char name[GAMMA_NAME_LEN];

	if (size != (late ? path->unanswered : path->target) ||
	    gamma_seq_before(probe, path->first) || gamma_seq_before(path->probe, probe))
		return;
	use(flow, size);
	aim(path, 0);
	gamma_timers_stop(flow, GAMMA_TIMER_MTU);
	if (size < path->doubted)
		warn_smaller(flow, path->doubted);
	else if (late)
		gamma_warn("frames of %u bytes do reach %s, whose answer came late: they are used, "
			   "and nothing need be done",
			   size, gamma_flow_addr_name(&flow->addr, name));
	path->doubted = 0;
}

/* The size does not pass: the next smaller one is tried, if it is larger than what is used. */
static void probe_smaller_size(struct gamma_flow *flow, uint64_t now)
{
	struct gamma_path_mtu *path = &flow->path_mtu;
	char name[GAMMA_NAME_LEN], own[GAMMA_NAME_LEN];

	gamma_flow_addr_name(&flow->addr, name);
	gamma_flow_addr_name(&flow->local->addr, own);
	if (smaller_size(flow, path->target) > path->mtu) {
		aim(path, smaller_size(flow, path->target));
		ask_for_probe(flow, now);
		return;
	}
	if (path->mtu < gamma_path_mtu_safe(flow->local) && path->doubted)
		warn_smaller(flow, path->doubted);
	else if (path->proven)
		gamma_warn("frames of %u bytes do not reach %s any more (from %s): falling back "
			   "to %u; the MTU of a switch port or NIC on the way has become smaller",
			   path->target, name, own, path->mtu);
	else
		gamma_warn("frames of %u bytes do not reach %s though both hosts are set to them: "
			   "staying at %u; set the MTU of the switch ports between them",
			   path->target, name, path->mtu);
	path->unanswered = path->target;
	path->target = 0;
	path->settled = true;
}

/* Has anything that left after the padded probe arrived? */
static bool overtaken(const struct gamma_flow *flow)
{
	return flow->loss.first.rack_serial > flow->path_mtu.asked_serial;
}

/* Only silence about the large frame while later ones pass is evidence against it: it may still
 * wait in a queue. If nothing else is under way, a plain probe goes after it; if nothing was heard
 * at all, asking waits until something is. */
static void wait_longer(struct gamma_flow *flow, uint64_t now)
{
	bool heard = flow->loss.heard > flow->path_mtu.asked;
	uint64_t wait = heard ? GAMMA_PROBE_FIRST_US << BACKOFF_MAX : GAMMA_PROBE_MAX_US;

	if (gamma_unlikely(flow->rails)) {
		if (flow->rails->rail[0].state == GAMMA_RAIL_USABLE)
			gamma_rails_want_probe(flow, 0);
		else
			wait = GAMMA_PROBE_MAX_US;
	} else if (heard && !gamma_send_window_in_flight(&flow->tx)) {
		gamma_loss_want_probe(flow);
	}
	gamma_timers_set(flow, GAMMA_TIMER_MTU, now + wait * GAMMA_NS_PER_US);
}

void gamma_path_mtu_timeout(struct gamma_flow *flow, uint64_t now)
{
	struct gamma_path_mtu *path = &flow->path_mtu;
	bool refused = path->not_taken;
	char cause[192];

	if (path->blocked) {
		snprintf(cause, sizeof(cause),
			 "frames of up to %u bytes do not pass, small ones do: raise the MTU of "
			 "its NIC, or of the switch ports on the way, to %u or more",
			 path->mtu, GAMMA_LEAST_MTU);
		gamma_flow_declare_dead(flow, -EMSGSIZE, cause, now);
		return;
	}
	if (!path->target) {
		verify_again(flow, now);
		return;
	}
	if (!overtaken(flow)) {
		wait_longer(flow, now);
		return;
	}
	if (refused && ++path->unsent < GAMMA_MTU_REFUSALS)
		ask_for_probe(flow, now);
	else if (++path->tries >= GAMMA_MTU_TRIES)
		probe_smaller_size(flow, now);
	else
		ask_for_probe(flow, now);
}

void gamma_path_mtu_delivered(struct gamma_flow *flow, const struct gamma_sent *sent)
{
	struct gamma_path_mtu *path = &flow->path_mtu;

	if (gamma_likely(!sent->large))
		return;
	if (gamma_unlikely(sent->rail)) {
		gamma_rails_mtu_passed(flow, sent);
		return;
	}
	path->refused = 0;
	if (gamma_unlikely(path->losses) && sent->len >= path->suspect_len)
		path->passed = gamma_max(path->passed, sent->serial);
}

/* It may have been taken in a smaller shape, without an acknowledgement riding on it: that says
 * nothing of large frames, and it will not be lost again. */
static bool suspect_arrived(const struct gamma_flow *flow)
{
	uint32_t seq = flow->path_mtu.suspect;

	return gamma_seq_before(seq, flow->tx.una) ||
	       gamma_send_window_at(&flow->tx, seq)->state == GAMMA_SENT_ARRIVED;
}

/* Lost frames are sent again lowest first, and a small window may never come to the suspect while
 * this one before it vanishes again and again. */
static bool precedes_suspect(const struct gamma_flow *flow, uint32_t seq)
{
	uint32_t suspect = flow->path_mtu.suspect;

	return gamma_seq_before(seq, suspect) &&
	       gamma_send_window_at(&flow->tx, suspect)->state == GAMMA_SENT_LOST;
}

/* Every Ethernet passes 1,500 bytes, nearly: a crowded switch that drops the same frame again and
 * again is the likelier cause, for as long as that usually takes. */
static uint64_t evidence_time(const struct gamma_flow *flow)
{
	return flow->path_mtu.mtu > safe(flow) ? 0 : GAMMA_MTU_BELOW_US * GAMMA_NS_PER_US;
}

/* Nothing smaller is left to try. Loss, or a crowded link, may have been the reason so far: that
 * takes as long as silence until it counts. The flow ends from its timer, not amid the search for
 * lost frames. */
static void block(struct gamma_flow *flow, uint64_t since, uint64_t now)
{
	if (now - since < flow->local->limits.peer_timeout)
		return;
	flow->path_mtu.blocked = true;
	gamma_timers_set(flow, GAMMA_TIMER_MTU, now);
}

/* One frame after another is watched. That it is lost means that a later one, or a probe, passed;
 * if that happens again and again while no large frame passes, then size is why. */
void gamma_path_mtu_lost(struct gamma_flow *flow, uint32_t seq, uint64_t now)
{
	const struct gamma_sent *sent = gamma_send_window_at(&flow->tx, seq);
	struct gamma_path_mtu *path = &flow->path_mtu;

	if (!sent->large || flow->same_host)
		return;
	if (gamma_unlikely(sent->rail)) {
		gamma_rails_mtu_lost(flow, sent, now);
		return;
	}
	if (!path->losses || path->passed >= path->suspect_serial || suspect_arrived(flow) ||
	    precedes_suspect(flow, seq)) {
		path->suspect = seq;
		path->suspect_serial = sent->serial;
		path->suspect_len = sent->len;
		path->suspect_time = now;
		path->losses = 1;
	} else if (seq == path->suspect && ++path->losses >= GAMMA_MTU_LOSSES) {
		path->losses = GAMMA_MTU_LOSSES;
		if (path->mtu <= GAMMA_LEAST_MTU && !path->target)
			block(flow, path->suspect_time, now);
		else if (path->mtu > GAMMA_LEAST_MTU &&
			 now - path->suspect_time >= evidence_time(flow))
			doubt(flow, now);
	}
}

/* The peer has been heard all along, while the link took no large frame: it has a carrier. */
static bool heard_meanwhile(const struct gamma_flow *flow)
{
	return flow->loss.heard >= flow->path_mtu.refused + flow->local->limits.peer_timeout / 2;
}

/* A full queue or a lost carrier refuses frames of any size, and soon takes them again; a virtual
 * NIC whose peer has a smaller MTU always refuses the large ones. */
void gamma_path_mtu_refused(struct gamma_flow *flow, uint64_t now)
{
	struct gamma_path_mtu *path = &flow->path_mtu;

	if (flow->same_host)
		return;
	if (!path->refused)
		path->refused = now;
	else if (path->mtu > GAMMA_LEAST_MTU &&
		 now - path->refused >=
			 gamma_max(GAMMA_MTU_REFUSED_US * GAMMA_NS_PER_US, evidence_time(flow)))
		doubt(flow, now);
	else if (path->mtu <= GAMMA_LEAST_MTU && heard_meanwhile(flow))
		block(flow, path->refused, now);
}

static void lower(struct gamma_flow *flow, uint32_t mtu)
{
	struct gamma_path_mtu *path = &flow->path_mtu;

	use(flow, (uint32_t) gamma_max(gamma_min(path->mtu, mtu), GAMMA_HEADER_MAX + 64));
	if (path->target > mtu)
		aim(path, mtu > path->mtu ? mtu : 0);
	if (path->unanswered > mtu)
		path->unanswered = 0;
	path->settled |= mtu <= path->mtu;
	path->lowered = true;
	flow->mtu_reported = 0;
}

void gamma_path_mtu_set_own(struct gamma_local *local, uint32_t mtu)
{
	char name[GAMMA_NAME_LEN];
	struct gamma_list *pos;

	gamma_warn("the MTU of the NIC of %s has been lowered from %u to %u: larger frames are not "
		   "used any more",
		   gamma_flow_addr_name(&local->addr, name), local->limits.mtu, mtu);
	local->limits.mtu = mtu;
	local->addr.mtu = htons((uint16_t) mtu);
	gamma_list_for_each (pos, &local->flows) {
		struct gamma_flow *flow = gamma_list_entry(pos, struct gamma_flow, all_entry);

		if (!flow->same_host)
			lower(flow, mtu);
	}
}
