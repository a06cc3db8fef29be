/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Large messages that a shm peer reads from their sender's memory. */
#ifndef GAMMA_MESSAGE_RNDV_SHM_H
#define GAMMA_MESSAGE_RNDV_SHM_H

#include "message/message.h"
#include "wire/record.h"

/* Whether messages to it are announced with the place of their bytes. */
bool gamma_rndv_shm_is_possible(const struct gamma_flow *flow);
/* Bytes up to which a message to it is sent before its receiver has a buffer. */
uint64_t gamma_rndv_shm_eager_size(const struct gamma_flow *flow);
/* The ANNOUNCE made next tells the batch_index; that it says so; that it does not hold any more. */
void gamma_rndv_shm_offer(struct gamma_flow *flow, struct gamma_send *send);
void gamma_rndv_shm_offer_content(const struct gamma_send *send, struct gamma_content *content);
void gamma_rndv_shm_withdraw(struct gamma_send *send);
/* What an ANNOUNCE, or an announcement without a frame, says of it. */
void gamma_rndv_shm_frame_source(const struct gamma_flow *flow, const struct gamma_fields *fields,
				 struct gamma_source *source);
void gamma_rndv_shm_record_source(const struct gamma_flow *flow,
				  const struct gamma_announce *announce,
				  struct gamma_source *source);
/* Announces it without a frame, by its id; false: it cannot be. */
bool gamma_rndv_shm_announce(struct gamma_flow *flow, struct gamma_send *send, bool in_chunks);
/* Its receiver would take further chunks; nobody would, because it is ending. */
void gamma_rndv_shm_more_wanted(struct gamma_flow *flow, uint32_t id);
void gamma_rndv_shm_stop_feeding(struct gamma_flow *flow);
/* Answers it without a frame; false: it cannot be. */
bool gamma_rndv_shm_answer(struct gamma_inbound *inbound);
/* Fetches the bytes for the receive that has matched; false: they must be sent. */
bool gamma_rndv_shm_read_message(struct gamma_inbound *inbound);
/* A chunk has come. False: ignored, the message is not being read or it is not the next one. */
bool gamma_rndv_shm_receive_chunk(struct gamma_flow *flow, const struct gamma_chunk *chunk,
				  const uint8_t *bytes, uint32_t len);
/* Of the first of local->reading: asks for further chunks, once, if none come or more are wanted
 * than come unasked; reads as many bytes, from the end, out of its sender's memory. */
void gamma_rndv_shm_ask_more(struct gamma_local *local, bool none);
void gamma_rndv_shm_read_first(struct gamma_local *local, uint64_t most);

#endif /* GAMMA_MESSAGE_RNDV_SHM_H */
