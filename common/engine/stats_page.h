/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Shows an endpoint's counters to gamma-stat: a copy, now and then. */
#ifndef GAMMA_ENGINE_STATS_PAGE_H
#define GAMMA_ENGINE_STATS_PAGE_H

#include "engine/endpoint.h"

struct gamma_stats_page;

/* Part of an endpoint. */
struct gamma_stats_view {
	uint64_t at;                   /* ns: when to copy again */
	struct gamma_stats_page *page; /* NULL: there is none */
	uint32_t path;                 /* enum gamma_stats_path: of the NIC's link */
	int fd;                        /* keeps it in /proc; -1: there is none */
};

/* Makes the page if attr has a name for it. Without memory or descriptors there is none. */
void gamma_stats_page_open(struct gamma_endpoint *endpoint, const struct gamma_endpoint_attr *attr);
/* Copies the counters. */
void gamma_stats_page_write(struct gamma_endpoint *endpoint, uint64_t now);
void gamma_stats_page_close(struct gamma_endpoint *endpoint);

#endif /* GAMMA_ENGINE_STATS_PAGE_H */
