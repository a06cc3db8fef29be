/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What happened in one run, or in many: plain numbers that are added up. */
#ifndef GAMMA_SIM_TOTALS_H
#define GAMMA_SIM_TOTALS_H

#include "sim.h"

enum size_class {
	SIZE_ZERO,
	SIZE_INJECT, /* copied */
	SIZE_FRAME,
	SIZE_EAGER,
	SIZE_RENDEZVOUS,
	SIZE_MIB, /* 1 MiB */
	SIZE_CLASSES
};
enum { ENDPOINT_CLASSES = 6, LEVELS = 3, FLOW_STATES = GAMMA_FLOW_FAILED + 1 };

/* Every field is a uint64_t: totals_add treats them as an array, but for the maxima at the end. */
struct totals {
	uint64_t seeds;
	uint64_t endpoints[ENDPOINT_CLASSES]; /* up to 2, 4, 8, 16, 32, 64 */
	uint64_t faulty;                      /* seeds with two kinds of faults or more */
	uint64_t lossless; /* seeds in which nothing was lost, doubled or reordered */
	uint64_t wrapped;  /* seeds whose frame numbers begin near 2^32 */
	uint64_t events;
	uint64_t virtual_ms;
	uint64_t messages, bytes;
	uint64_t sizes[SIZE_CLASSES];
	uint64_t levels[LEVELS];
	uint64_t sends_failed, receives_failed;
	uint64_t unposted;                      /* messages that were never received */
	uint64_t partial;                       /* messages to addresses without epoch */
	uint64_t takings[SIM_DELIVERIES];       /* endpoints by enum sim_delivery */
	uint64_t whole_taken;                   /* messages taken in one step */
	uint64_t whole_refused;                 /* without a receive yet */
	uint64_t whole_late;                    /* whose receive was posted just after that */
	uint64_t ports_handled, ports_in_place; /* messages to active ports, */
	uint64_t ports_kept, ports_fetched, ports_announced; /* and of these */
	uint64_t remotes, remotes_failed;                    /* RMA operations */
	uint64_t kinds[GAMMA_KIND_DATAGRAM + 1][16];         /* frames by kind and op */
	uint64_t timers[GAMMA_TIMER_COUNT];                  /* gone off */
	uint64_t states[FLOW_STATES];                        /* flows seen in them at a check */
	uint64_t faults[SIM_FAULTS];                         /* frames */
	uint64_t stops, computes, kills, reboots, closes, cuts, refusals, late_posts, lowered,
		rails_cut, rails_down;
	uint64_t trains_sent, trains_taken; /* of two frames or more */
	uint64_t runs_taken;                /* received together */
	uint64_t credit_checks, evidence_checks;
	struct gamma_stats stats;
	/* maxima */
	uint64_t max_settle_us;      /* from the end of the faults until all was settled */
	uint64_t max_settle_percent; /* of the bound */
	uint64_t max_rails_ms;       /* after that, until all rails were used again */
	uint64_t max_memory;         /* bytes */
	uint64_t max_unexpected;     /* bytes that one node held */
};
#define TOTALS_MAXIMA 5

void totals_add(struct totals *to, const struct totals *from);
void totals_print(const struct totals *totals, double seconds);
enum size_class totals_size_class(uint64_t length, const struct sim_config *config);

#endif /* GAMMA_SIM_TOTALS_H */
