/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Which receivers of a multicast stream report to which others, and what they report. Receivers
 * have ranks: 0 is the sender's host, rank r reports to rank (r - 1) / FAN. So the sender hears of
 * FAN receivers, each of which speaks for all below it. Without I/O.
 */
#ifndef GAMMA_GROUP_RELAY_H
#define GAMMA_GROUP_RELAY_H

#include <stdbool.h>
#include <stdint.h>

enum { GAMMA_RELAY_FAN = 8 };

/* The receivers that report to this one. */
struct gamma_relay {
	uint32_t frames; /* of the stream */
	uint32_t count;
	struct {
		uint32_t taken; /* frames that it and all below it have, from the first on */
		bool begun;     /* it has reported, so it and all below it have begun */
	} children[GAMMA_RELAY_FAN];
};

/* rank is not 0. */
static inline uint32_t gamma_relay_parent(uint32_t rank)
{
	return (rank - 1) / GAMMA_RELAY_FAN;
}

static inline uint32_t gamma_relay_first_child(uint32_t rank)
{
	return rank * GAMMA_RELAY_FAN + 1;
}

/* Of that receiver, among n; all zero, it has no children. */
void gamma_relay_init(struct gamma_relay *relay, uint32_t rank, uint32_t n, uint32_t frames);
/* A child reports. False: it cannot. */
bool gamma_relay_report(struct gamma_relay *relay, uint32_t child, uint32_t taken);
/* Frames that this receiver and all below it have. own: those that it has itself. */
uint32_t gamma_relay_least(const struct gamma_relay *relay, uint32_t own);
/* Whether all children have reported. */
bool gamma_relay_has_begun(const struct gamma_relay *relay);
/* Whether a child does not report so many frames. */
static inline bool gamma_relay_lags(const struct gamma_relay *relay, uint32_t child, uint32_t sent)
{
	return relay->children[child].taken < sent;
}

#endif /* GAMMA_GROUP_RELAY_H */
