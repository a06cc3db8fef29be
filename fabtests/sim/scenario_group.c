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
		.turns = 1,
		.lose = UINT32_MAX,
		.filter = UINT32_MAX,
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

/* Nothing comes behind it that would show the loss. */
static void tail(struct sim *sim)
{
	struct sim_group_result results[2], silent = {.time = 0};

	for (unsigned all = 0; all < 2; all++) {
		struct sim_group group = mebibyte(8), whole;

		group.hosts = 3;
		group.bytes = 4096;
		whole = group;
		group.lose = all ? 0 : 2;
		group.loses = all ? 3 : 1;
		group.losers = 2;
		results[all] = sim_group_run(sim, &group);
		SIM_CHECK(sim, results[all].complete == 3, "%u hosts have ended the broadcast",
			  results[all].complete);
		SIM_CHECK(sim,
			  results[all].time <= sim_group_run(sim, &whole).time + 5 * SIM_MS &&
				  results[all].reminders == 2,
			  "the loss cost %.2f ms, and %llu reminders left", ms(results[all].time),
			  (unsigned long long) results[all].reminders);
		group.silent = true;
		silent = sim_group_run(sim, &group);
	}
	scenario_report("4 KiB to 2 hosts that lose the last frame %.2f ms, that lose all three "
			"%.2f ms; if the root did not say it %.2f ms",
			ms(results[0].time), ms(results[1].time), ms(silent.time));
}

/* Time and messages against the number of hosts, which work 1 us for each message. */
static void hosts(struct sim *sim)
{
	static const uint32_t counts[] = {8, 64, 256, 1024};
	struct sim_group_result results[4], lossy, direct;
	struct sim_group group;

	for (unsigned i = 0; i < 4; i++) {
		group = mebibyte(counts[i]);
		group.message_ns = SIM_US;
		results[i] = sim_group_run(sim, &group);
		SIM_CHECK(sim, results[i].frames == 723, "%llu frames left",
			  (unsigned long long) results[i].frames);
		SIM_CHECK(sim, results[i].root_messages <= 8 * 46,
			  "%llu messages came to the root of %u hosts",
			  (unsigned long long) results[i].root_messages, counts[i]);
		SIM_CHECK(sim, results[i].time <= results[0].time * 11 / 10,
			  "%u hosts take %.2f ms, 8 hosts %.2f", counts[i], ms(results[i].time),
			  ms(results[0].time));
	}
	group.loss = 1000;
	lossy = sim_group_run(sim, &group);
	SIM_CHECK(sim, lossy.root_messages <= 8 * 46 + lossy.asks, "%llu messages came to the root",
		  (unsigned long long) lossy.root_messages);
	group = mebibyte(256);
	group.message_ns = SIM_US;
	group.direct = true;
	direct = sim_group_run(sim, &group);
	scenario_report("%.2f, %.2f, %.2f and %.2f ms for 8, 64, 256 and 1,024 hosts, %llu "
			"reports to the root; with 0.1 %% loss at each of 1,024 %.2f ms and %llu "
			"messages; if all 256 report to the root %.2f ms and %llu",
			ms(results[0].time), ms(results[1].time), ms(results[2].time),
			ms(results[3].time), (unsigned long long) results[3].root_messages,
			ms(lossy.time), (unsigned long long) lossy.root_messages, ms(direct.time),
			(unsigned long long) direct.root_messages);
}

/* Host 1 reports for hosts 9 to 16, and for more behind these. */
static void relay(struct sim *sim)
{
	struct sim_group group = mebibyte(64);
	struct sim_group_result late, stopped, dead;

	group.victim = 1;
	group.delay = SIM_SEC;
	late = sim_group_run(sim, &group);
	group.delay = 0;
	group.stops = 4 * SIM_MS;
	group.stopped = 3 * SIM_SEC;
	stopped = sim_group_run(sim, &group);
	SIM_CHECK(sim, late.complete == 64 && stopped.complete == 64,
		  "%u and %u hosts have ended the broadcast", late.complete, stopped.complete);
	SIM_CHECK(sim,
		  !late.again_one && !late.again_all && !stopped.again_one && !stopped.again_all,
		  "frames were sent again");
	SIM_CHECK(sim, late.kept <= group.window && stopped.kept <= group.window,
		  "%llu and %llu frames waited", (unsigned long long) late.kept,
		  (unsigned long long) stopped.kept);
	SIM_CHECK(sim, stopped.time <= group.stops + group.stopped + 10 * SIM_MS, "it took %.2f ms",
		  ms(stopped.time));
	group.stopped = 0;
	group.dies = 4 * SIM_MS;
	group.found_after = 5 * SIM_SEC;
	dead = sim_group_run(sim, &group);
	SIM_CHECK(sim, !dead.complete, "%u hosts have ended a broadcast that one lacks",
		  dead.complete);
	scenario_report("late by 1 s %.2f ms, stopped for 3 s %.2f ms, no frame sent again; dead: "
			"the root waits after %llu of 723 frames",
			ms(late.time), ms(stopped.time), (unsigned long long) dead.frames);
}

/* Questions and repairs are messages on flows, which the switch passes. */
static void filter(struct sim *sim)
{
	struct sim_group group = mebibyte(8);
	struct sim_group_result result;

	group.filter = 300;
	result = sim_group_run(sim, &group);
	SIM_CHECK(sim, result.complete == 8, "%u hosts have ended the broadcast", result.complete);
	SIM_CHECK(sim, result.again_one >= 7 * (723 - 300), "only %llu frames went in messages",
		  (unsigned long long) result.again_one);
	SIM_CHECK(sim, result.time <= 10 * SIM_SEC, "it took %.0f ms", ms(result.time));
	scenario_report("%.0f ms; %llu frames went in messages", ms(result.time),
			(unsigned long long) result.again_one);
}

/* A host may be a root while a slow one has still the frames of earlier roots in its ring. */
static void roots(struct sim *sim)
{
	static const uint64_t sizes[] = {4096, 40000, 300000};
	uint64_t kept = 0;

	for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		for (unsigned late = 0; late < 3; late++) {
			struct sim_group group = mebibyte(late == 2 ? 24 : 8);
			struct sim_group_result result;

			group.bytes = sizes[i];
			group.turns = 24;
			group.slots = 128;
			group.window = 112;
			group.delay = late ? 100 * SIM_MS : 0;
			result = sim_group_run(sim, &group);
			SIM_CHECK(sim, result.complete == group.hosts, "%u hosts have ended",
				  result.complete);
			SIM_CHECK(sim, !result.again_one && !result.again_all,
				  "frames were sent again");
			kept = gamma_max(kept, result.kept);
		}
	scenario_report(
		"24 broadcasts from 8 or 24 roots in turn, one host late: of 128 slots %llu were "
		"full, no frame was dropped",
		(unsigned long long) kept);
}

/* Until its flow finds it dead, and the group ends. */
static void death(struct sim *sim)
{
	struct sim_group group = mebibyte(8);
	struct sim_group_result whole = sim_group_run(sim, &group), result;

	group.dies = 4 * SIM_MS;
	group.found_after = 5 * SIM_SEC;
	result = sim_group_run(sim, &group);
	SIM_CHECK(sim, !result.complete, "%u hosts have ended a broadcast that one lacks",
		  result.complete);
	SIM_CHECK(sim, result.frames < whole.frames && result.frames > group.window,
		  "%llu frames left", (unsigned long long) result.frames);
	SIM_CHECK(sim, !result.again_all && result.again_one < 8 * group.window,
		  "frames were sent again %llu times to one and %llu times to all",
		  (unsigned long long) result.again_one, (unsigned long long) result.again_all);
	scenario_report("the root waits after %llu of 723 frames, and keeps its memory; %llu "
			"questions in 5 s",
			(unsigned long long) result.frames, (unsigned long long) result.asks);
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

const struct sim_scenario scenario_group_tail = {
	"group-tail",
	"two hosts lose the last frames of a broadcast: the root says how many there were",
	NULL,
	tail,
};

const struct sim_scenario scenario_group_hosts = {
	"group-hosts",
	"a broadcast of 1 MiB to 8, 64, 256 and 1,024 hosts takes the same time, and the root as "
	"many messages",
	NULL,
	hosts,
};

const struct sim_scenario scenario_group_relay = {
	"group-relay",
	"a host that reports for others is late, stopped for 3 s, or dies amid a broadcast",
	NULL,
	relay,
};

const struct sim_scenario scenario_group_filter = {
	"group-filter",
	"a switch begins to filter multicast amid a broadcast: the rest comes in messages",
	NULL,
	filter,
};

const struct sim_scenario scenario_group_roots = {
	"group-roots",
	"broadcasts from 8 and 24 roots in turn to small rings, one host late: none is ever full",
	NULL,
	roots,
};

const struct sim_scenario scenario_group_death = {
	"group-death",
	"a host dies amid a broadcast: the root waits and keeps its memory until the group ends",
	NULL,
	death,
};
