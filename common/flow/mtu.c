// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The largest frame toward a peer: what every Ethernet passes, until a padded probe of the
 * smaller of both MTUs is answered. That the hosts say 9,000 does not mean that the switch
 * between them passes it.
 */
#include "flow/flow.h"

void gamma_path_init(struct gamma_flow *flow)
{
	const struct gamma_limits *limits = &flow->local->limits;

	flow->path.mtu = flow->same_host ? limits->local_mtu
					 : (uint32_t) gamma_min(GAMMA_SAFE_MTU, limits->mtu);
	flow->path.settled = flow->same_host || limits->mtu <= GAMMA_SAFE_MTU;
}

static void ask(struct gamma_flow *flow, uint64_t now)
{
	flow->path.asked = now;
	gamma_flow_want(flow, GAMMA_PENDING_MTU);
	gamma_timer_set(flow, GAMMA_TIMER_MTU,
			now + (GAMMA_PROBE_FIRST_US * GAMMA_NS_PER_US << flow->path.tries));
}

void gamma_path_learned(struct gamma_flow *flow, uint16_t peer_mtu, uint64_t now)
{
	struct gamma_path *path = &flow->path;

	uint32_t smaller = (uint32_t) gamma_min(flow->local->limits.mtu, peer_mtu);

	path->peer_mtu = peer_mtu;
	if (flow->same_host)
		return;
	if (smaller <= path->mtu) {
		path->mtu = (uint32_t) gamma_max(smaller, GAMMA_HEADER_MAX + 64);
		path->target = 0;
		path->settled = true;
	} else if (!path->settled && !path->target) {
		path->target = smaller;
		ask(flow, now);
	}
}

/* A padded probe of this size came through and back. */
void gamma_path_probed(struct gamma_flow *flow, uint32_t size, uint64_t now)
{
	struct gamma_path *path = &flow->path;

	(void) now;
	if (!path->target || size != path->target)
		return;
	path->mtu = path->target;
	path->target = 0;
	path->settled = true;
	gamma_timer_stop(flow, GAMMA_TIMER_MTU);
}

/* Only silence about the large frame while small ones pass is evidence against it. If nothing was
 * heard at all, asking waits until something is. */
void gamma_path_timeout(struct gamma_flow *flow, uint64_t now)
{
	struct gamma_path *path = &flow->path;
	char name[GAMMA_NAME_LEN];

	if (!path->target)
		return;
	if (flow->loss.heard <= path->asked) {
		gamma_timer_set(flow, GAMMA_TIMER_MTU, now + GAMMA_PROBE_MAX_US * GAMMA_NS_PER_US);
		return;
	}
	if (++path->tries >= GAMMA_MTU_TRIES) {
		gamma_warn("frames of %u bytes do not reach %s though both hosts are set to them: "
			   "staying at %u; set the MTU of the switch ports between them",
			   path->target, gamma_addr_name(&flow->addr, name), path->mtu);
		path->target = 0;
		path->settled = true;
		return;
	}
	ask(flow, now);
}
