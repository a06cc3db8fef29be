/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A page shared by all endpoints that receive on one NIC, so that together they grant no more than
 * the NIC can take. Each endpoint publishes how many senders of bulk data it has, and when frames
 * were last lost. Called by the engine.
 */
#ifndef GAMMA_NIC_BUDGET_PAGE_H
#define GAMMA_NIC_BUDGET_PAGE_H

#include <stdint.h>

#include "wire/wire.h"

enum {
	GAMMA_BUDGET_PAGE_FRESH_MS = 10,   /* older entries do not count */
	GAMMA_BUDGET_PAGE_CHECK_MS = 1000, /* how often the group's leader is checked */
};

struct gamma_budget_page;

/* Joins the group of this user's endpoints on that NIC and in this network namespace, or founds it.
 * NULL: no memory. If no group is possible, the endpoint counts as the only one. */
struct gamma_budget_page *gamma_budget_page_open(const uint8_t mac[GAMMA_MAC_LEN], uint64_t now);
void gamma_budget_page_close(struct gamma_budget_page *share);

/* Publishes how many bulk senders this endpoint has (own), and returns how many all endpoints have
 * (at least own). now: ns, CLOCK_MONOTONIC. */
uint32_t gamma_budget_page_count_bulk(struct gamma_budget_page *share, uint32_t own, uint64_t now);
/* Call after gamma_budget_page_count_bulk. Publishes when frames to this endpoint were last lost
 * (own), and returns when that last happened to another endpoint, if recently. Times in ns, 0:
 * never. */
uint64_t gamma_budget_page_report_loss(struct gamma_budget_page *share, uint64_t own, uint64_t now);

#endif /* GAMMA_NIC_BUDGET_PAGE_H */
