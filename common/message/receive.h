/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Incoming messages. The functions that flow/ calls are declared in flow/upcalls.h. */
#ifndef GAMMA_MESSAGE_RECEIVE_H
#define GAMMA_MESSAGE_RECEIVE_H

#include "flow/upcalls.h"
#include "message/message.h"
#include "wire/record.h"

/* Extensions that a DATA frame must have, by its op. */
extern const uint16_t gamma_receive_needed_extensions[GAMMA_OP_FAILED + 1];
/* A message of an shm peer that came without a frame, in order. False: no memory, it must come
 * again. */
bool gamma_receive_shm_message(struct gamma_flow *flow, const struct gamma_envelope *envelope,
			       const uint8_t *bytes);
/* An announcement of an shm peer that came without a frame, in order; head: what followed it.
 * False: ditto. */
bool gamma_receive_shm_announce(struct gamma_flow *flow, const struct gamma_envelope *envelope,
				const struct gamma_announce *announce, const uint8_t *head,
				uint32_t head_len, bool in_chunks);
/* Answers an announced message that was matched. read: its bytes were read from the sender's
 * memory; else they must be sent. */
void gamma_receive_answer(struct gamma_inbound *inbound, bool read);
/* The interface layer found a receive for an unexpected message. It may be finished, and
 * handlers->received called, before this returns. The inbound is consumed. */
void gamma_receive_accept(struct gamma_inbound *inbound, struct gamma_recv *recv);
/* The interface layer discards it. The inbound is consumed. */
void gamma_receive_discard(struct gamma_inbound *inbound);
/* A copy of a message that has been delivered, as if it had been unexpected: the interface layer
 * cannot use it yet after all. NULL: no memory. */
struct gamma_inbound *gamma_receive_keep(struct gamma_flow *flow,
					 const struct gamma_envelope *envelope,
					 const uint8_t *bytes);
/* The head of an announced message to a port. */
void gamma_receive_read_head(const struct gamma_inbound *inbound, uint8_t *head);
/* Ends an unexpected message that is whole; its bytes, which may be NULL, are the caller's to free.
 */
uint8_t *gamma_receive_take(struct gamma_inbound *inbound);
/* The message that this fragment, which has FRAGMENT, goes on with; NULL: none. */
struct gamma_inbound *gamma_receive_find(const struct gamma_flow *flow,
					 const struct gamma_fields *fields);
/* So many more of its bytes have their place. It may be finished, and freed. */
void gamma_receive_placed(struct gamma_inbound *inbound, uint64_t len);
void gamma_receive_drop_all(struct gamma_flow *flow, int error);

#endif /* GAMMA_MESSAGE_RECEIVE_H */
