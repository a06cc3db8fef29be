/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Calls of a flow to the layer above it. message/ defines these functions; flow/ knows no more of
 * messages than this. They are plain functions, so that the compiler can inline them across files.
 * None of them may poll or free the flow.
 */
#ifndef GAMMA_FLOW_UPCALLS_H
#define GAMMA_FLOW_UPCALLS_H

#include <sys/uio.h>

#include "flow/flow.h"

/* ---- a flow's life: message/flow.c ---- */
/* The flow is new: its memory is zero but for what flow/ has set. */
void gamma_message_flow_init(struct gamma_flow *flow);
/* The flow fails (negative errno) with something outstanding: reports it to the interface layer
 * before anything ends; cause: one line for people. */
void gamma_message_flow_failed(struct gamma_flow *flow, int error, const char *cause);
/* Everything outstanding ends with error (negative errno); silently if error is 0. */
void gamma_message_flow_drop(struct gamma_flow *flow, int error);
/* Operations posted and not begun go to another flow of the same peer. */
void gamma_message_flow_hand_over(struct gamma_flow *from, struct gamma_flow *to);
/* Whether messages are announced to the peer and not accepted yet. */
bool gamma_message_flow_has_announced(const struct gamma_flow *flow);
/* Whether messages that went to the peer without frames have not been taken by it. */
bool gamma_message_flow_has_undelivered(const struct gamma_flow *flow);

/* ---- the way out: message/send.c ---- */
/* Whether frames of messages wait to be made. */
bool gamma_send_has_frames(const struct gamma_flow *flow);
/* Whether the next of them is a notice: ACCEPT, CUT or FAILED. */
bool gamma_send_has_notices(const struct gamma_flow *flow);
/* Makes the next new DATA frame: fills sent's send, buffer, offset, len, op, and flags of the
 * frame (ACK_REQUESTED). False: nothing to send. */
bool gamma_send_next_frame(struct gamma_flow *flow, struct gamma_sent *sent, uint8_t *flags);
/* Whether nothing is to be sent because what waits is fenced. */
bool gamma_send_is_fenced(const struct gamma_flow *flow);
/* Whether the next frame to be made will have no room for an acknowledgement. */
bool gamma_send_fills_frame(const struct gamma_flow *flow);
/* Whether the next frame to be made has its place at the receiver, whatever arrives before it. */
bool gamma_send_is_placed(const struct gamma_flow *flow);
/* Whether it is one of an eager message, or of a WRITE, of more than GAMMA_SEND_FEW frames: the
 * first, or another one. */
enum { GAMMA_SEND_FEW = 1 }; /* frames that are there sooner by themselves than in a train */
enum gamma_send_part { GAMMA_SEND_ALONE, GAMMA_SEND_BEGINS, GAMMA_SEND_GOES_ON };
enum gamma_send_part gamma_send_part_of(const struct gamma_flow *flow);
/* Whether it is one of a long WRITE, not the first: the receiver keeps what comes early, so that
 * several NICs may carry it. */
enum { GAMMA_SEND_MANY = 16 }; /* frames of a WRITE from which on that gains: two NICs' turns */
bool gamma_send_is_divided(const struct gamma_flow *flow);
/* Payload bytes that a frame with these extensions can carry now. */
uint32_t gamma_send_frame_room(const struct gamma_flow *flow, uint16_t extensions);
/* The content of a frame that is not in a buffer; and its bytes as at most `max` iovecs, how many.
 */
void gamma_send_frame_content(const struct gamma_sent *sent, struct gamma_content *content);
unsigned gamma_send_frame_iov(const struct gamma_sent *sent, struct iovec *iov, unsigned max);
/* How many frames behind this one, the newest, bring the next bytes of the same message, as many
 * each, and are not among its last two: `most` at most. *bytes: where their payload stands, in one
 * piece. */
uint32_t gamma_send_run_begin(const struct gamma_flow *flow, const struct gamma_sent *last,
			      uint32_t most, const uint8_t **bytes);
/* So many of them have been made. */
void gamma_send_run_end(const struct gamma_sent *last, uint32_t count);
/* A frame was acknowledged: its memory may be used again. */
void gamma_send_acked(struct gamma_flow *flow, struct gamma_sent *sent);

/* ---- the way in: message/receive.c ---- */
/* A DATA frame, in order. False: no memory to keep it, treat it as not arrived. */
bool gamma_receive_frame(struct gamma_flow *flow, const struct gamma_fields *fields,
			 const uint8_t *payload);
/* Whether an early frame can be used before its turn: its bytes have their place already. */
bool gamma_receive_is_placeable(const struct gamma_flow *flow, const struct gamma_fields *fields);

#endif /* GAMMA_FLOW_UPCALLS_H */
