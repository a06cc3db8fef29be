/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Random runs: a seed draws hosts, network, faults and applications, and is run and checked. */
#ifndef GAMMA_SIM_DRAW_H
#define GAMMA_SIM_DRAW_H

#include "totals.h"

struct run_options {
	const char *pcap; /* file, or NULL */
	bool verbose;
};

struct run_result {
	struct totals totals;
	uint64_t digest;
	char failure[1024]; /* empty: none */
};

/* Runs that seed; false: it failed. */
bool draw_run(uint64_t seed, const struct run_options *options, struct run_result *result);

#endif /* GAMMA_SIM_DRAW_H */
