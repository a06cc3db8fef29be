// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Draws the hosts and the network of a run, and the chances of faults. */
#include "draw_plan.h"

enum { NODES_MAX = 64, UDP_OVERHEAD = 28 };

/* ---- hosts and network ---- */

static unsigned draw_nodes(struct plan *plan)
{
	unsigned skew = (unsigned) (dice(plan) % 100);

	if (skew < 45)
		return 2 + (unsigned) (dice(plan) % 2);
	if (skew < 75)
		return 4 + (unsigned) (dice(plan) % 5);
	if (skew < 93)
		return 9 + (unsigned) (dice(plan) % 16);
	return 25 + (unsigned) (dice(plan) % (NODES_MAX - 24));
}

static void draw_mtu(struct plan *plan)
{
	struct sim_config *config = &plan->config;

	config->mtu = (uint32_t) PICK(plan, 1500, 1500, 9000);
	if (percent(plan, 25))
		for (unsigned i = 0; i < config->nodes; i++)
			config->mtus[i] = (uint32_t) PICK(plan, 1500, 9000);
	if (percent(plan, 30))
		config->switch_mtu = (uint32_t) PICK(plan, 1500, 9000);
}

static void draw_rates(struct plan *plan)
{
	struct sim_config *config = &plan->config;
	const uint64_t giga = 1000000000;

	config->rate = PICK(plan, 1, 10, 25, 100) * giga;
	if (percent(plan, 20))
		for (unsigned i = 0; i < config->nodes; i++)
			config->rates[i] = PICK(plan, 1, 10, 25, 100) * giga;
}

/* In most runs all applications take a complete message in one step; in others each host
 * draws. It uses its own random numbers, so that the rest of a run is drawn as without it. */
static void draw_taking(struct plan *plan)
{
	struct plan own = {.random = plan->config.seed ^ 0x9e6c63d0};
	bool mixed = percent(&own, 40), late = percent(&own, 50);

	for (unsigned i = 0; mixed && i < plan->config.nodes; i++)
		plan->config.delivery[i] =
			(uint8_t) (dice(&own) % (late ? SIM_DELIVERIES : SIM_AT_ONCE_POSTS_AFTER));
}

/* One run in eight is over UDP between subnets, drawn by numbers of its own too. In half of these
 * ports mark what waits. */
static void draw_routed(struct plan *plan)
{
	struct plan own = {.random = plan->config.seed ^ 0x2c1b3c6d};

	plan->config.routed = percent(&own, 12);
	if (plan->config.routed && !plan->lossless && percent(&own, 50))
		plan->config.mark_at = spread(&own, 4 << 10, 64 << 10);
}

/* And one in eight sends and takes trains. */
static void draw_trains(struct plan *plan)
{
	struct plan own = {.random = plan->config.seed ^ 0x7f4a7c15};

	plan->config.trains = percent(&own, 12);
	if (percent(&own, 60))
		plan->config.train_gather = spread(&own, 2 * SIM_US, 20 * SIM_US);
}

/* In three runs of ten half of the messages go to active ports. */
static void draw_ports(struct plan *plan)
{
	struct plan own = {.random = plan->config.seed ^ 0x3c6ef372};

	plan->config.ports = percent(&own, 30);
}

/* As by default: a NIC's network is the same for raw frames and over UDP. */
static void draw_twins(struct sim_config *config, unsigned first, unsigned most)
{
	config->twins = true;
	for (unsigned r = first; r < most && r < 2 * first; r++) {
		uint32_t slots = config->rails[r].slots;

		config->rails[r] = config->rails[r - first];
		config->rails[r].slots = slots;
		config->rails[r].mtu =
			(config->rails[r].mtu ? config->rails[r].mtu : config->mtu) - UDP_OVERHEAD;
	}
}

/* In half of these runs some are over UDP, of most hosts, and have room for the longer headers. */
static void draw_udp_rails(struct plan *plan, unsigned most)
{
	struct plan own = {.random = plan->config.seed ^ 0x510e527f};
	struct sim_config *config = &plan->config;
	unsigned first = 1 + (unsigned) (dice(&own) % (most - 1));

	if (!percent(&own, 50))
		return;
	for (unsigned i = 0; i < config->nodes; i++)
		config->udp[i] = percent(&own, 85) ? (uint8_t) ((1u << most) - (1u << first)) : 0;
	for (unsigned r = first; r < most; r++)
		config->rails[r].mtu =
			(config->rails[r].mtu ? config->rails[r].mtu : config->mtu) - UDP_OVERHEAD;
	config->unasked = most == 2 && percent(&own, 60);
	if (percent(&own, 50))
		draw_twins(config, first, most);
}

/* In one run in eight hosts have several NICs, whose networks differ in rate, delay and MTU. Flows
 * are forgotten sooner, so that some are. */
static void draw_rails(struct plan *plan)
{
	struct plan own = {.random = plan->config.seed ^ 0xb5297a4d};
	struct sim_config *config = &plan->config;
	unsigned most = percent(&own, 60) ? 2 : SIM_RAILS_MAX;

	if (!percent(&own, 12) || config->trains || config->routed)
		return;
	for (unsigned i = 0; i < config->nodes; i++)
		config->nics[i] =
			percent(&own, 80) ? (uint8_t) most : (uint8_t) (1 + dice(&own) % most);
	for (unsigned r = 1; r < most; r++)
		config->rails[r] = (struct sim_rail){
			.rate = PICK(&own, 0, 0, 1, 10, 100) * 1000000000,
			.latency = percent(&own, 50) ? config->latency * spread(&own, 1, 16) : 0,
			.mtu = (uint32_t) PICK(&own, 0, 0, 1500, 9000),
			.slots = (uint32_t) PICK(&own, 0, 64, 256, 2048),
			.loss = plan->lossless || percent(&own, 70) ? 0 : 20000,
		};
	config->forget = 6 * SIM_SEC;
	plan->rails = most;
	draw_udp_rails(plan, most);
}

void draw_config(struct plan *plan)
{
	struct sim_config *config = &plan->config;

	sim_config_default(config);
	config->nodes = draw_nodes(plan);
	config->slots = (uint32_t) PICK(plan, 64, 64, 128, 256, 512, 2048);
	draw_mtu(plan);
	draw_rates(plan);
	config->latency = spread(plan, SIM_US, 100 * SIM_US);
	config->port_buffer = plan->lossless ? 256 << 20 : spread(plan, 32 << 10, 4 << 20);
	config->nic_queue = spread(plan, 32 << 10, 1 << 20);
	config->inject_size = (uint32_t) PICK(plan, 64, 512, 512, 1024);
	config->eager_size = PICK(plan, 4096, 16384, 16384, 65536);
	config->peer_timeout = percent(plan, 10) ? 2 * SIM_SEC : 30 * SIM_SEC;
	config->cost_frame = PICK(plan, 50, 100, 300, 1000);
	config->cost_kib = PICK(plan, 60, 120, 300);
	config->watched = percent(plan, 70);
	config->unexpected_size = PICK(plan, 0, 1000, 20000, 1 << 20, 64 << 20, 64 << 20);
	config->payload_crc = percent(plan, 25);
	config->steps_max = 20000000;
}

/* What has been added since: the numbers drawn before it stay what they were. */
void draw_config_more(struct plan *plan)
{
	draw_taking(plan);
	draw_routed(plan);
	draw_trains(plan);
	draw_ports(plan);
	draw_rails(plan);
}

/* ---- faults by chance ---- */

static void draw_losses(struct plan *plan, struct sim_chances *chances)
{
	if (percent(plan, 50))
		chances->loss = share(plan, 100000);
	if (percent(plan, 30)) {
		chances->burst_begin = share(plan, 20000);
		chances->burst_end = (uint32_t) spread(plan, 10000, 300000);
		chances->burst_loss = (uint32_t) PICK(plan, 300000, 700000, 1000000);
	}
	if (percent(plan, 30))
		chances->header_damage = share(plan, 30000);
	if (plan->config.payload_crc && percent(plan, 30))
		chances->payload_damage = share(plan, 30000);
}

static void draw_disorder(struct plan *plan, struct sim_chances *chances)
{
	chances->reorder_delay = spread(plan, SIM_US, 2 * SIM_MS);
	if (percent(plan, 35))
		chances->duplicate = share(plan, 60000);
	if (percent(plan, 35))
		chances->reorder = share(plan, 200000);
	if (percent(plan, 25)) {
		chances->replay = share(plan, 20000);
		chances->replay_delay = spread(plan, SIM_MS, 5 * SIM_SEC);
	}
}

void draw_config_chances(struct plan *plan, struct sim_chances *chances)
{
	if (percent(plan, 30))
		chances->jitter = spread(plan, SIM_US, 500 * SIM_US);
	if (percent(plan, 25))
		chances->partly = share(plan, 200000);
	if (plan->lossless)
		return;
	do {
		draw_losses(plan, chances);
		draw_disorder(plan, chances);
	} while (plan->faults < 2);
}
