/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Receive moderation: the packet link is not polled while a long message arrives. */
#ifndef GAMMA_ENGINE_RX_MODERATION_H
#define GAMMA_ENGINE_RX_MODERATION_H

#include "message/local.h"

enum {
	GAMMA_RX_MODERATION_US = 20,      /* the packet link is not polled for so long, at most */
	GAMMA_RX_MODERATION_LEAST_US = 3, /* ditto, at least: less is not worth while */
	GAMMA_RX_MODERATION_NS_BYTE = 4,  /* ns per byte: slower frames are polled for as usual */
	GAMMA_RX_MODERATION_WINDOW = 8, /* part of the granted credit that may be used meanwhile */
};

/* The packet link is not polled while a long message arrives: rx_moderation.c */
struct gamma_rx_moderation {
	uint64_t until;  /* ns: until then; 0: it is polled */
	uint64_t looked; /* ns: when frames were last found */
	uint64_t bytes;  /* received by then */
};

/* So many frames have been found, all there were: how long to let others gather. */
void gamma_rx_moderation_plan(struct gamma_rx_moderation *moderation,
			      const struct gamma_message_local *messages, unsigned taken,
			      uint64_t now);

#endif /* GAMMA_ENGINE_RX_MODERATION_H */
