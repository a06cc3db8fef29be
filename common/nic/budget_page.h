/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the receivers on one NIC tell each other, so that together they ask for no more than the
 * NIC can take: how many senders of bulk data each of them has now, and when frames got lost. The
 * engine tells and asks.
 */
#ifndef GAMMA_LINK_NIC_SHARE_H
#define GAMMA_LINK_NIC_SHARE_H

#include <stdint.h>

#include "wire/wire.h"

enum {
	GAMMA_BUDGET_PAGE_FRESH_MS = 10,   /* what was told longer ago counts for nothing */
	GAMMA_BUDGET_PAGE_CHECK_MS = 1000, /* how often the group is looked after */
};

struct gamma_budget_page;

/* Joins the endpoints of this user on that NIC in this network namespace, or founds their group.
 * NULL: no memory. Where no group can be had the endpoint counts as the only one. */
struct gamma_budget_page *gamma_budget_page_open(const uint8_t mac[GAMMA_MAC_LEN], uint64_t now);
void gamma_budget_page_close(struct gamma_budget_page *share);

/* Tells the others how many bulk senders this endpoint has, and returns how many all have: own at
 * least. now: ns, CLOCK_MONOTONIC. */
uint32_t gamma_budget_page_count_bulk(struct gamma_budget_page *share, uint32_t own, uint64_t now);
/* After gamma_budget_page_count_bulk. Tells when frames to this endpoint last got lost, and returns
 * when that last happened to another one, if it was just now. Times in ns, 0: never. */
uint64_t gamma_budget_page_report_loss(struct gamma_budget_page *share, uint64_t own, uint64_t now);

#endif /* GAMMA_LINK_NIC_SHARE_H */
