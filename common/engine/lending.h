/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Lending: the interface layer keeps using the bytes of a message after its handler has returned,
 * where they arrived. Their slot, or their record of shared memory, is released when it gives them
 * back; until then the endpoint takes no other frame.
 */
#ifndef GAMMA_LENDING_H
#define GAMMA_LENDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gamma_arrival;
struct gamma_endpoint;
struct gamma_link;
struct gamma_list;

struct gamma_lending {
	const struct gamma_list *earlier; /* messages that wait: nothing is lent before they are
					   * handled; NULL: the interface layer lends nothing */
	bool lent;                        /* something of the slot is */
	const uint8_t *slot;     /* the frame or record that is being dispatched, if any may be */
	size_t slot_len;         /* bytes */
	struct gamma_link *link; /* whose slot is to be released, while lent; else NULL */
};

/* ---- the interface layer's side ---- */

/* Until the next call handlers may lend while that list is empty: of messages that have arrived and
 * were not lent. NULL: they may not. */
void gamma_lending_allow(struct gamma_endpoint *endpoint, const struct gamma_list *earlier);
/* From a handler: its bytes stay after it has returned. False: they cannot, for instance as they
 * came out of order and stand elsewhere. */
bool gamma_lending_lend(struct gamma_endpoint *endpoint, const uint8_t *bytes, size_t len);
/* None of the bytes lent is used any more. */
void gamma_lending_return(struct gamma_endpoint *endpoint);

/* ---- the engine's side ---- */

/* A frame or record is about to be dispatched. */
void gamma_lending_begin(struct gamma_endpoint *endpoint, const struct gamma_arrival *arrival);
/* It has been. True: something of it is lent, so the link must not release it now. */
bool gamma_lending_end(struct gamma_endpoint *endpoint, struct gamma_link *link);

#endif /* GAMMA_LENDING_H */
