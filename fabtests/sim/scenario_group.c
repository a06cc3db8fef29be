// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Broadcasts by multicast: group.h has the model. */
#include "group.h"
#include "scenario.h"

/* 1 MiB at 1 Gbit/s. */
static struct sim_group mebibyte(uint32_t hosts)
{
	return (struct sim_group){
		.seed = 1,
		.hosts = hosts,
		.bytes = 1 << 20,
		.payload = 1452,
		.slots = 256,
		.window = 224,
		.frame_ns = 12200,
		.latency = 10 * SIM_US,
		.lose = UINT32_MAX,
	};
}

static double ms(uint64_t ns)
{
	return (double) ns / SIM_MS;
}

static void one_loss(struct sim *sim)
{
	struct sim_group group = mebibyte(8);
	struct sim_group_result whole = sim_group_run(sim, &group), lost;

	group.lose = 300;
	group.losers = 1;
	lost = sim_group_run(sim, &group);
	SIM_CHECK(sim, lost.again_one == 1 && !lost.again_all,
		  "the lost frame was sent %llu times to one and %llu times to all",
		  (unsigned long long) lost.again_one, (unsigned long long) lost.again_all);
	SIM_CHECK(sim, lost.time <= whole.time + SIM_MS, "the loss cost %.2f ms",
		  ms(lost.time - whole.time));
	scenario_report("%.2f ms, %.2f ms without the loss", ms(lost.time), ms(whole.time));
}

static void all_lose_one(struct sim *sim)
{
	struct sim_group group = mebibyte(64);
	struct sim_group_result lost;

	group.lose = 300;
	group.losers = 63;
	lost = sim_group_run(sim, &group);
	SIM_CHECK(sim, lost.again_all == 1 && !lost.again_one,
		  "the frame was sent again %llu times to all and %llu times to one",
		  (unsigned long long) lost.again_all, (unsigned long long) lost.again_one);
	scenario_report("63 hosts asked, one frame left again; %.2f ms", ms(lost.time));
}

/* Its frames stay in its ring, and the root waits. */
static void late(struct sim *sim)
{
	struct sim_group group = mebibyte(8);
	struct sim_group_result result;

	group.delay = SIM_SEC;
	result = sim_group_run(sim, &group);
	SIM_CHECK(sim, !result.again_one && !result.again_all, "frames were sent again");
	SIM_CHECK(sim, result.kept <= group.window, "%llu frames waited",
		  (unsigned long long) result.kept);
	scenario_report("%llu frames waited for 1 s, none was dropped or sent again",
			(unsigned long long) result.kept);
}

/* Time and messages against the number of hosts. */
static void hosts(struct sim *sim)
{
	static const uint32_t counts[] = {8, 64, 256, 1024};
	struct sim_group_result results[4], lossy;
	struct sim_group group;

	for (unsigned i = 0; i < 4; i++) {
		group = mebibyte(counts[i]);
		results[i] = sim_group_run(sim, &group);
		SIM_CHECK(sim, results[i].frames == 723, "%llu frames left",
			  (unsigned long long) results[i].frames);
	}
	SIM_CHECK(sim, results[3].time <= results[0].time * 11 / 10,
		  "1,024 hosts take %.2f ms, 8 hosts %.2f", ms(results[3].time),
		  ms(results[0].time));
	group = mebibyte(64);
	group.loss = 1000;
	lossy = sim_group_run(sim, &group);
	scenario_report("%.2f, %.2f, %.2f and %.2f ms for 8, 64, 256 and 1,024 hosts, %llu "
			"reports each; with 0.1 %% loss at each of 64: %.2f ms",
			ms(results[0].time), ms(results[1].time), ms(results[2].time),
			ms(results[3].time), (unsigned long long) (results[3].reports / 1023),
			ms(lossy.time));
}

const struct sim_scenario scenario_group_one_loss = {
	"group-one-loss",
	"a broadcast of 1 MiB to 7 hosts, one of which loses a frame: it alone gets it again",
	NULL,
	one_loss,
};

const struct sim_scenario scenario_group_all_lose_one = {
	"group-all-lose-one",
	"63 hosts lose the same frame of a broadcast: it is sent again once, to all",
	NULL,
	all_lose_one,
};

const struct sim_scenario scenario_group_late = {
	"group-late",
	"one host calls a broadcast 1 s later: nothing is dropped, copied or sent again",
	NULL,
	late,
};

const struct sim_scenario scenario_group_hosts = {
	"group-hosts",
	"a broadcast of 1 MiB to 8, 64, 256 and 1,024 hosts takes the same time",
	NULL,
	hosts,
};
