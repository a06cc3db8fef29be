/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Bulk data that may be in flight to this endpoint's NIC, shared between its endpoints. */
#ifndef GAMMA_ENGINE_BUDGET_H
#define GAMMA_ENGINE_BUDGET_H

#include "engine/endpoint.h"
#include "nic/budget_page.h"

/* Bulk data that may be in flight to this endpoint's NIC: budget.c */
struct gamma_budget {
	struct gamma_budget_page
		*share;          /* shared with the NIC's other endpoints; NULL: not shared */
	uint64_t least;          /* bytes: the NICs' budget, if the path does not hold more */
	uint64_t speed;          /* of all its NICs, bits/s; 0: unknown */
	uint32_t frames;         /* of this endpoint's MTU: the NIC's budget */
	uint64_t measure_at;     /* ns: when frames is computed again */
	uint32_t bulk;           /* senders of bulk data seen lately */
	uint64_t bulk_at;        /* ns: when */
	uint32_t halved;         /* the pool's counter when it was last read */
	uint64_t lost;           /* ns: when it last rose */
	uint64_t lost_elsewhere; /* ns: the latest loss of another endpoint that is known */
};

void gamma_budget_open(struct gamma_endpoint *endpoint, const struct gamma_endpoint_attr *attr);
/* Now and then while frames arrive: the part for this endpoint's senders. */
void gamma_budget_divide(struct gamma_endpoint *endpoint, uint64_t now);
void gamma_budget_close(struct gamma_endpoint *endpoint);

#endif /* GAMMA_ENGINE_BUDGET_H */
