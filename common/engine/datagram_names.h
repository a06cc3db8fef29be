/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Where datagrams go whose address came from a host's name: gammad gives each endpoint a MAC
 * address of its own, and answers LOOKUP at the NIC's, which the name stands for.
 */
#ifndef GAMMA_ENGINE_DATAGRAM_NAMES_H
#define GAMMA_ENGINE_DATAGRAM_NAMES_H

#include "engine/state.h"
#include "message/message.h"

/* Whether an address says which NIC and port, but not which endpoint. Over UDP it says enough. */
static inline bool gamma_datagram_names_apply(const struct gamma_addr *peer)
{
	return peer->epoch == GAMMA_EPOCH_ANY && peer->version == GAMMA_ADDR_VERSION;
}

/* The address that a datagram to such a peer takes now. As long as the peer has not answered that
 * is the NIC's, and a copy of the datagram waits for the answer, if there is memory for it. */
const struct gamma_addr *gamma_datagram_names_find(struct gamma_endpoint *endpoint,
						   const struct gamma_addr *peer,
						   const struct iovec *iov, unsigned iov_count,
						   const struct gamma_envelope *envelope);
/* An answer to LOOKUP with the address that it brings, or NULL: it brings none. False: nobody
 * asked. */
bool gamma_datagram_names_answered(struct gamma_endpoint *endpoint, const uint8_t *sender,
				   const struct gamma_fields *fields,
				   const struct gamma_addr *found);
/* Repeats questions. */
void gamma_datagram_names_timeout(struct gamma_endpoint *endpoint, uint64_t now);
void gamma_datagram_names_free(struct gamma_endpoint *endpoint);

#endif /* GAMMA_ENGINE_DATAGRAM_NAMES_H */
