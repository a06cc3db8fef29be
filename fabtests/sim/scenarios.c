// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* The list of scenarios, and what they share. */
#include "scenario.h"

#include <stdio.h>

extern const struct sim_scenario scenario_group_one_loss, scenario_group_all_lose_one,
	scenario_group_late, scenario_group_hosts, scenario_group_relay, scenario_group_filter,
	scenario_group_roots, scenario_group_death, scenario_group_tail;
extern const struct sim_scenario scenario_exchange, scenario_one_loss, scenario_ping_pong,
	scenario_one_way, scenario_batch, scenario_loss_cost, scenario_random_loss, scenario_incast,
	scenario_stopped, scenario_computing, scenario_too_long, scenario_behind,
	scenario_all_to_all, scenario_restarted, scenario_small_switch, scenario_large_switch,
	scenario_lowered_switch, scenario_below_1500, scenario_lowered_host, scenario_partition,
	scenario_declared_dead, scenario_closing, scenario_credit, scenario_remote,
	scenario_remote_loss, scenario_slow_port, scenario_slow_port_trains,
	scenario_slow_port_away, scenario_routed_fair, scenario_bottleneck_fair,
	scenario_bottleneck_marked, scenario_two_nics_marked, scenario_train_loss,
	scenario_train_loss_cost, scenario_train_mtu, scenario_foreign_source, scenario_rails,
	scenario_rail_fails, scenario_rail_virtual;

const struct sim_scenario *const sim_scenarios[] = {
	&scenario_exchange,
	&scenario_one_loss,
	&scenario_ping_pong,
	&scenario_one_way,
	&scenario_batch,
	&scenario_loss_cost,
	&scenario_random_loss,
	&scenario_incast,
	&scenario_slow_port,
	&scenario_slow_port_trains,
	&scenario_slow_port_away,
	&scenario_stopped,
	&scenario_computing,
	&scenario_too_long,
	&scenario_behind,
	&scenario_all_to_all,
	&scenario_restarted,
	&scenario_small_switch,
	&scenario_large_switch,
	&scenario_lowered_switch,
	&scenario_below_1500,
	&scenario_lowered_host,
	&scenario_partition,
	&scenario_declared_dead,
	&scenario_closing,
	&scenario_credit,
	&scenario_remote,
	&scenario_remote_loss,
	&scenario_routed_fair,
	&scenario_bottleneck_fair,
	&scenario_bottleneck_marked,
	&scenario_two_nics_marked,
	&scenario_train_loss,
	&scenario_train_loss_cost,
	&scenario_train_mtu,
	&scenario_foreign_source,
	&scenario_group_one_loss,
	&scenario_group_all_lose_one,
	&scenario_group_late,
	&scenario_group_hosts,
	&scenario_group_relay,
	&scenario_group_filter,
	&scenario_group_roots,
	&scenario_group_death,
	&scenario_group_tail,
	&scenario_rails,
	&scenario_rail_fails,
	&scenario_rail_virtual,
	NULL,
};

/* ---- the verdict ---- */

static char result[512] = "nothing measured";

void scenario_report(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(result, sizeof(result), format, args);
	va_end(args);
}

const char *scenario_result(void)
{
	return result;
}

struct sim *scenario_begin(struct sim *sim, const struct sim_config *config)
{
	return sim_new(config ? config : sim_config(sim));
}

void scenario_end(struct sim *sim, struct sim *side)
{
	if (!sim_failure(side))
		sim_check_end(side);
	if (sim_failure(side))
		sim_fail(sim, "a run beside it: %s", sim_failure(side));
	sim_free(side);
}

/* ---- measures ---- */

double scenario_trips(const struct sim *sim, uint64_t ns)
{
	return (double) ns / (double) sim_round_trip(sim, 0, 1);
}

struct gamma_stats scenario_stats(struct sim *sim)
{
	struct gamma_stats sum = {0};
	uint64_t *to = (uint64_t *) &sum;

	for (unsigned node = 0; node < sim_config(sim)->nodes; node++) {
		const uint64_t *from = (const uint64_t *) sim_stats(sim, node);

		for (size_t i = 0; sim_alive(sim, node) && i < sizeof(sum) / sizeof(*to); i++)
			to[i] += from[i];
	}
	return sum;
}

struct sim_rule scenario_lose(int from, int to, uint8_t kind, uint8_t op, unsigned skip)
{
	return (struct sim_rule){.fate = SIM_RULE,
				 .from = from,
				 .to = to,
				 .kind = kind,
				 .op = op,
				 .seq = SIM_ANY_SEQ,
				 .skip = skip,
				 .times = 1};
}

/* ---- streams ---- */

static void next_of_stream(struct sim_message *message, void *arg);

static void begin_one(struct sim *sim, struct scenario_stream *stream)
{
	struct sim_message *message =
		sim_message(sim, stream->from, stream->to, stream->length, stream->level);

	message->on_received = next_of_stream;
	message->arg = stream;
	stream->begun++;
	sim_post(message, stream->length);
	sim_send(message);
}

static void begin_more(struct sim *sim, void *arg)
{
	struct scenario_stream *stream = arg;

	while (stream->begun < stream->count && stream->begun - stream->ended < stream->window)
		begin_one(sim, stream);
}

/* Called from within the receiver's progress: the sender continues at its own next call. */
static void next_of_stream(struct sim_message *message, void *arg)
{
	struct scenario_stream *stream = arg;

	stream->ended++;
	stream->ended_at = sim_now(message->sim);
	if (stream->begun < stream->count)
		sim_at(message->sim, stream->ended_at, begin_more, stream);
}

void scenario_stream(struct sim *sim, struct scenario_stream *stream)
{
	stream->began_at = sim_now(sim);
	begin_more(sim, stream);
}

static bool stream_over(struct sim *sim, void *arg)
{
	const struct scenario_stream *stream = arg;

	(void) sim;
	return stream->ended == stream->count;
}

void scenario_stream_run(struct sim *sim, struct scenario_stream *stream, uint64_t limit)
{
	scenario_stream(sim, stream);
	if (!sim_run_until(sim, stream_over, stream, limit))
		sim_fail(sim, "only %u of %u messages have come", stream->ended, stream->count);
	sim_finish(sim, limit);
}

double scenario_goodput(const struct scenario_stream *stream)
{
	double bits = 8.0 * (double) stream->length * stream->ended;

	return bits * 1e9 / (double) (stream->ended_at - stream->began_at);
}
