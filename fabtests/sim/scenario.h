/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Named scenarios: scenario_*.c has them, scenarios.c lists them, `gamma-sim --scenario NAME`
 * runs one. Scenarios use sim.h only.
 */
#ifndef GAMMA_SIM_SCENARIO_H
#define GAMMA_SIM_SCENARIO_H

#include "sim.h"

struct sim_scenario {
	const char *name;
	const char *summary; /* one line: what happens and what must result */
	void (*configure)(struct sim_config *config); /* changes the defaults; may be NULL */
	/* Failures go to sim_fail or SIM_CHECK. What holds at the end of any run is checked
	 * afterwards by sim_check_end. */
	void (*run)(struct sim *sim);
};

extern const struct sim_scenario *const sim_scenarios[]; /* ends with NULL */

/* ---- scenarios.c: what the scenarios share ---- */

/* The measured result, in one line, for people. */
void scenario_report(const char *format, ...) __attribute__((format(printf, 1, 2)));
const char *scenario_result(void);

/* Another simulation beside the scenario's own, for comparison. The caller ends it by
 * scenario_end, which checks what holds at the end of any run and passes a failure on. */
struct sim *scenario_begin(struct sim *sim, const struct sim_config *config);
void scenario_end(struct sim *sim, struct sim *side);

/* ns in round trips of a header between nodes 0 and 1. */
double scenario_trips(const struct sim *sim, uint64_t ns);
/* A rule that loses one frame, after `skip` of that kind and op between these nodes. */
struct sim_rule scenario_lose(int from, int to, uint8_t kind, uint8_t op, unsigned skip);
/* Retransmissions and so on of all nodes together. */
struct gamma_stats scenario_stats(struct sim *sim);

/* Messages one behind the other, with a number of them in flight at any time. */
struct scenario_stream {
	unsigned from, to;
	uint64_t length; /* bytes of each */
	enum gamma_completion_level level;
	unsigned count, window; /* messages: all, in flight */
	unsigned begun, ended;
	uint64_t began_at, ended_at; /* ns */
};
void scenario_stream(struct sim *sim, struct scenario_stream *stream);
/* The same, and runs until all have arrived; limit: ns from now. */
void scenario_stream_run(struct sim *sim, struct scenario_stream *stream, uint64_t limit);
/* Payload bits per second, from the first send to the last byte received. */
double scenario_goodput(const struct scenario_stream *stream);

#endif /* GAMMA_SIM_SCENARIO_H */
