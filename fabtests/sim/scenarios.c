// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* The list of scenarios. */
#include "scenario.h"

extern const struct sim_scenario scenario_exchange, scenario_one_loss;

const struct sim_scenario *const sim_scenarios[] = {
	&scenario_exchange,
	&scenario_one_loss,
	NULL,
};
