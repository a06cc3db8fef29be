// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Trains, as over UDP: losses within them, a path that passes less, and frames of other processes.
 */
#include "scenario.h"

enum {
	MESSAGES = 24, /* of 1 MiB */
	TUNNEL = 1400, /* bytes that the path passes */
	TRICKLE = 40,  /* messages behind the stream */
	FOREIGN = 200, /* frames of another process */
};

static void in_trains(struct sim_config *config)
{
	config->trains = true;
	config->train_gather = 5 * SIM_US;
	config->latency = 20 * SIM_US;
}

static struct scenario_stream mebibytes(void)
{
	return (struct scenario_stream){.from = 0,
					.to = 1,
					.length = 1 << 20,
					.level = GAMMA_WHEN_ARRIVED,
					.count = MESSAGES,
					.window = 4};
}

struct passage {
	double goodput;           /* bit/s */
	struct gamma_stats stats; /* of both */
	uint64_t cut, reordered;  /* frames lost at a train's end; trains overtaken */
};

/* A stream while those faults occur. */
static struct passage pass(struct sim *sim, const struct sim_chances *chances)
{
	struct scenario_stream stream = mebibytes();
	struct sim *side = scenario_begin(sim, NULL);
	struct passage passage;

	*sim_chances(side) = *chances;
	sim_chances(side)->until = GAMMA_NEVER;
	scenario_stream_run(side, &stream, 10 * SIM_SEC);
	sim_chances(side)->until = 0;
	sim_finish(side, SIM_SEC);
	passage = (struct passage){.goodput = scenario_goodput(&stream),
				   .stats = scenario_stats(side),
				   .cut = sim_fault_count(side, SIM_TRAIN_CUT),
				   .reordered = sim_fault_count(side, SIM_TRAIN_REORDER)};
	scenario_end(sim, side);
	return passage;
}

static void lose(struct sim *sim)
{
	struct passage whole = pass(sim, &(struct sim_chances){0});
	struct passage within = pass(sim, &(struct sim_chances){.loss = 10000});
	struct passage cut = pass(sim, &(struct sim_chances){.train_cut = 50000});
	struct passage late = pass(
		sim, &(struct sim_chances){.train_reorder = 50000, .reorder_delay = 100 * SIM_US});

	SIM_CHECK(sim, !whole.stats.retransmissions, "%llu frames sent again without a loss",
		  (unsigned long long) whole.stats.retransmissions);
	SIM_CHECK(sim, cut.cut && late.reordered, "no train was cut short, or none overtaken");
	SIM_CHECK(sim, within.goodput > 0.8 * whole.goodput, "%.2f of the rate at 1 %% loss",
		  within.goodput / whole.goodput);
	SIM_CHECK(sim, cut.goodput > 0.8 * whole.goodput, "%.2f of the rate with trains cut short",
		  cut.goodput / whole.goodput);
	SIM_CHECK(sim, cut.stats.retransmissions <= cut.cut + cut.cut / 50,
		  "%llu frames sent again for %llu lost ones",
		  (unsigned long long) cut.stats.retransmissions, (unsigned long long) cut.cut);
	SIM_CHECK(sim, late.goodput > 0.7 * whole.goodput, "%.2f of the rate with overtaken trains",
		  late.goodput / whole.goodput);
	scenario_report("%.2f Gbit/s; 1 %% loss %.2f of it; 5 %% of the trains cut short %.2f "
			"(%llu sent again for %llu lost), overtaken %.2f",
			whole.goodput / 1e9, within.goodput / whole.goodput,
			cut.goodput / whole.goodput, (unsigned long long) cut.stats.retransmissions,
			(unsigned long long) cut.cut, late.goodput / whole.goodput);
}

const struct sim_scenario scenario_train_loss = {
	.name = "train-loss",
	.summary = "frames lost within trains, trains cut short, trains overtaken: the rate stays",
	.configure = in_trains,
	.run = lose,
};

static void lower(struct sim *sim, void *arg)
{
	(void) arg;
	sim_switch_mtu(sim, TUNNEL);
}

static void below(struct sim *sim)
{
	struct scenario_stream stream = mebibytes();
	uint32_t mtu;

	sim_at(sim, sim_now(sim) + 5 * SIM_MS, lower, NULL);
	scenario_stream_run(sim, &stream, 5 * SIM_SEC);
	/* A little more at intervals, since large frames are tried only while others pass. */
	for (unsigned i = 0; i < TRICKLE; i++) {
		sim_exchange(sim, 0, 1, 1000, GAMMA_WHEN_ARRIVED);
		sim_run(sim, 5 * SIM_MS);
	}
	sim_finish(sim, SIM_SEC);
	mtu = sim_flow(sim, 0, 1)->path_mtu.mtu;
	SIM_CHECK(sim, stream.ended == MESSAGES, "%u messages of %u", stream.ended, MESSAGES);
	SIM_CHECK(sim, mtu == TUNNEL, "frames of %u bytes are used", mtu);
	SIM_CHECK(sim, sim_stats(sim, 0)->parts_out, "no frame went in parts");
	scenario_report("frames of %u bytes after %llu padded probes, 24 MiB in %.0f ms", mtu,
			(unsigned long long) sim_stats(sim, 0)->mtu_probes_out,
			(double) (stream.ended_at - stream.began_at) / 1e6);
}

const struct sim_scenario scenario_train_mtu = {
	.name = "train-mtu",
	.summary = "the path under a stream in trains falls to 1,400: the flow finds it",
	.configure = in_trains,
	.run = below,
};

static void intrude(struct sim *sim, void *arg)
{
	(void) arg;
	sim_foreign(sim, 0, 1);
	sim_foreign(sim, 1, 0);
}

static void foreign(struct sim *sim)
{
	struct scenario_stream stream = mebibytes();

	for (unsigned i = 0; i < FOREIGN; i++)
		sim_at(sim, sim_now(sim) + i * 50 * SIM_US, intrude, NULL);
	scenario_stream_run(sim, &stream, SIM_SEC);
	sim_finish(sim, SIM_SEC);
	SIM_CHECK(sim, stream.ended == MESSAGES, "%u messages of %u", stream.ended, MESSAGES);
	SIM_CHECK(sim, scenario_stats(sim).stray == 2 * FOREIGN, "%llu strays",
		  (unsigned long long) scenario_stats(sim).stray);
	SIM_CHECK(sim, !scenario_stats(sim).retransmissions, "frames were sent again");
	scenario_report("%u frames with all numbers right, all dropped and counted as stray",
			2 * FOREIGN);
}

const struct sim_scenario scenario_foreign_source = {
	.name = "foreign-source",
	.summary = "another process of either host sends in the endpoints' names: nothing happens",
	.configure = in_trains,
	.run = foreign,
};
