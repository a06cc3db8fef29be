/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Named scenarios: scenario_*.c has them, scenarios.c lists them, `gamma-sim --scenario NAME` runs
 * one. A scenario stands on sim.h only.
 */
#ifndef GAMMA_SIM_SCENARIO_H
#define GAMMA_SIM_SCENARIO_H

#include "sim.h"

struct sim_scenario {
	const char *name;
	const char *summary; /* one line: what happens and what must come of it */
	void (*configure)(struct sim_config *config); /* changes the defaults; may be NULL */
	/* Failures go to sim_fail or SIM_CHECK. What holds at the end of any run is checked
	 * afterwards by sim_check_end. */
	void (*run)(struct sim *sim);
};

extern const struct sim_scenario *const sim_scenarios[]; /* ends with NULL */

#endif /* GAMMA_SIM_SCENARIO_H */
