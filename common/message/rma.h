/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Operations on a peer's memory, without I/O. rma_requester.c and rma_target.c are the two sides;
 * the interface layer posts operations and decides which memory peers may access.
 *
 *   WRITE (address, key, bytes) ------------->  reach(): where is that? placed there, in order
 *         <------------------- acknowledged     all of it: touched(); the WRITE is complete
 *   READ (address, key, id) ----------------->  reach()
 *         <-------- REPLY (id, offset, bytes)   up to a frame: copied when the READ comes; else
 *                                               straight from memory, in turn with the messages
 *   ATOMIC (..., operands) ------------------>  apply(); complete when acknowledged
 *   FETCH, COMPARE (..., id, operands) ------>  apply(), which fills in what was there before
 *         <-------- REPLY (id, offset, result)
 *   any of them <--------------- FAILED (why)   refused; it ends with an error at the requester
 *
 * They stand in the flow's queue with the messages, take effect at the peer in the order in which
 * they were posted, each frame exactly once, and are paid for by the ordinary credit. A WRITE or
 * ATOMIC is complete when its frames are acknowledged, since the peer acknowledges what it has
 * carried out (see CUTS in doc/protocol.md for refusals); the others when all of the result is
 * here.
 *
 * Atomics are the same machinery with `unit` set: frames hold whole elements, every frame
 * names its own address and count and is applied by itself, so any number of elements will do.
 * The requester fills in a struct gamma_rma and posts it; the target provides apply(). Operands
 * are gathered from send->iov: those of all elements, for COMPARE followed by all comparands.
 */
#ifndef GAMMA_MESSAGE_RMA_H
#define GAMMA_MESSAGE_RMA_H

#include "message/message.h"

enum { GAMMA_RMA_IOV_MAX = 8 }; /* areas of remote memory in one operation */

/* An area of the peer's memory. */
struct gamma_rma_iov {
	uint64_t address, key;
	uint64_t length; /* bytes */
};

/*
 * The operation of a send on the peer's memory. Its bytes to go are send->iov (operands; nothing
 * for READ); envelope.data with GAMMA_HAS_DATA goes along with a WRITE or ATOMIC. `level` does not
 * matter: completion is always delivery. The caller owns it until handlers->sent.
 */
struct gamma_rma {
	enum gamma_op op; /* WRITE, READ, ATOMIC, FETCH or COMPARE */
	uint8_t operands; /* vectors as long as the memory touched that go with it: WRITE, ATOMIC 1;
			   * READ 0; FETCH 1, or 0 if it only reads; COMPARE 2 */
	uint8_t unit;     /* atomics: bytes of an element; else 0 */
	uint8_t datatype, atomic_op; /* atomics: as enum fi_datatype and enum fi_op number them */
	unsigned segment_count;      /* at least 1 */
	struct gamma_rma_iov segments[GAMMA_RMA_IOV_MAX];
	struct iovec result[GAMMA_IOV_MAX]; /* READ, FETCH, COMPARE: where the result goes */
	unsigned result_count;
	/* to be read when it has ended with an error */
	enum gamma_refusal refusal; /* the target's; 0: it did not refuse */
	/* private to rma_requester.c */
	uint64_t length;  /* bytes of all segments */
	unsigned segment; /* whose frames are made next */
	uint64_t before;  /* bytes of the segments before that */
	uint64_t made;    /* bytes of remote memory that frames have been made for */
	uint64_t arrived; /* bytes of the result */
	bool in_place;    /* frames under way refer to the caller's memory */
};

/*
 * Posts an operation: send->iov, iov_count, envelope.data and flags, fence, and remote are filled
 * in. handlers->sent reports its end, perhaps before the flow is polled. 0, or a negative errno
 * with nothing posted: -EMSGSIZE: longer than 2^40 bytes.
 */
int gamma_rma_requester_post(struct gamma_flow *flow, struct gamma_send *send,
			     struct gamma_rma *remote);
/* Whether the caller's operands may be overwritten: all of them have been copied into frames. */
bool gamma_rma_requester_is_copied(const struct gamma_send *send);
/* Text for users: "no region has that key", and so on. */
const char *gamma_rma_requester_refusal_name(enum gamma_refusal refusal);
/* As a negative errno. */
int gamma_rma_requester_refusal_error(enum gamma_refusal refusal);

/* ---- the target's side, provided by the interface layer ---- */

/* Keys of the areas of an operation but its last, each once, and their length together. */
struct gamma_rma_keys {
	uint64_t length; /* bytes */
	unsigned count;
	uint64_t key[GAMMA_RMA_IOV_MAX];
};

/* A peer's request for access to memory here; nothing of it is verified yet. */
struct gamma_rma_access {
	enum gamma_op op;
	uint64_t address, key;
	uint64_t length;             /* bytes */
	uint8_t datatype, atomic_op; /* atomics */
	uint16_t count;              /* atomics: elements */
	uint32_t operands;           /* atomics: bytes of them that came */
	/* of an operation's last area, when it has been touched; else NULL */
	const struct gamma_rma_keys *before;
};

struct gamma_rma_region {
	struct iovec iov[GAMMA_IOV_MAX];
	unsigned iov_count;
	void *region; /* the interface layer's */
};

/* They are called from within the flow and must not send. */
struct gamma_rma_target {
	/* Finds the memory at `address`. The result is valid during this call only: a region may be
	 * closed at any time, so each frame of a WRITE asks again, and gamma_rma_target_withdraw
	 * revokes what READs are about to read. length is not 0. */
	enum gamma_refusal (*reach)(void *context, struct gamma_flow *flow,
				    const struct gamma_rma_access *access,
				    struct gamma_rma_region *reached);
	/* Checks and carries out an atomic. Operands (and then comparands) stand one after the
	 * other, not aligned. FETCH, COMPARE: result has room for access->length bytes, at most
	 * GAMMA_ATOMIC_BYTES, aligned to 16. It must not be applied in part when it is refused. */
	enum gamma_refusal (*apply)(void *context, struct gamma_flow *flow,
				    const struct gamma_rma_access *access, const uint8_t *operands,
				    uint8_t *result);
	/* An area was written, or read (all of it has left), or updated; last: with it the peer's
	 * operation is complete. length is of this area. data: CQ data or NULL. */
	void (*touched)(void *context, struct gamma_flow *flow,
			const struct gamma_rma_access *access, bool last, const uint64_t *data);
};

/* A region is about to be closed: a peer that still reads it gets a refusal after what was sent. */
void gamma_rma_target_withdraw(struct gamma_flow *flow, const void *region, uint64_t now);

#endif /* GAMMA_MESSAGE_RMA_H */
