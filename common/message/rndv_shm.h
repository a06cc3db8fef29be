/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Large messages that an shm peer reads from the sender's memory. */
#ifndef GAMMA_MESSAGE_RNDV_SHM_H
#define GAMMA_MESSAGE_RNDV_SHM_H

#include "message/message.h"
#include "wire/record.h"

/* Whether announcements to this peer carry the address of the bytes. */
bool gamma_rndv_shm_is_possible(const struct gamma_flow *flow);
/* Bytes up to which messages to this peer are eager. */
uint64_t gamma_rndv_shm_eager_size(const struct gamma_flow *flow);
/* offer: the ANNOUNCE made next carries the address of the bytes; offer_content: its fields that
 * say so; withdraw: the address is no longer valid. */
void gamma_rndv_shm_offer(struct gamma_flow *flow, struct gamma_send *send);
void gamma_rndv_shm_offer_content(const struct gamma_send *send, struct gamma_content *content);
void gamma_rndv_shm_withdraw(struct gamma_send *send);
/* The source that an ANNOUNCE frame, or an announcement without one, describes. */
void gamma_rndv_shm_frame_source(const struct gamma_flow *flow, const struct gamma_fields *fields,
				 struct gamma_source *source);
void gamma_rndv_shm_record_source(const struct gamma_flow *flow,
				  const struct gamma_announce *announce,
				  struct gamma_source *source);
/* Announces a send without a frame; false: it cannot be. */
bool gamma_rndv_shm_announce(struct gamma_flow *flow, struct gamma_send *send, bool in_chunks);
/* The receiver asks for further chunks; stop_feeding: the flow ends, no more chunks. */
void gamma_rndv_shm_more_wanted(struct gamma_flow *flow, uint32_t id);
void gamma_rndv_shm_stop_feeding(struct gamma_flow *flow);
/* Answers an announcement without a frame; false: it cannot be. */
bool gamma_rndv_shm_answer(struct gamma_inbound *inbound);
/* Reads the bytes for the matched receive from the sender's memory; false: they must be sent. */
bool gamma_rndv_shm_read_message(struct gamma_inbound *inbound);
/* Places a chunk. False: ignored, because the message is not being read or the chunk is not next.
 */
bool gamma_rndv_shm_receive_chunk(struct gamma_flow *flow, const struct gamma_chunk *chunk,
				  const uint8_t *bytes, uint32_t len);
/* For the first entry of local->reading. ask_more: asks for further chunks, once, if none come or
 * more are wanted than the unsolicited ones. read_first: reads at most `most` bytes, from the end,
 * out of the sender's memory. */
void gamma_rndv_shm_ask_more(struct gamma_local *local, bool none);
void gamma_rndv_shm_read_first(struct gamma_local *local, uint64_t most);

#endif /* GAMMA_MESSAGE_RNDV_SHM_H */
