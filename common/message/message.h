/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Messages over a flow, without I/O: how one is cut into DATA frames and put together again.
 *
 *   up to one frame, or eager:  SEND, or SEND_FIRST and SEND_MORE; the receiver places the bytes
 *                               in a matched receive or keeps them until one is posted
 *   larger (rendezvous):        ANNOUNCE -> (match) -> ACCEPT -> BULK straight from the sender's
 *                               memory into the receiver's, in whatever order frames arrive
 *
 * Matching is not done here: the interface layer's handlers are asked, in the order in which the
 * peer sent.
 */
#ifndef GAMMA_MESSAGE_H
#define GAMMA_MESSAGE_H

#include "base/base.h"
#include "base/iov.h"
#include "wire/codec.h"
#include "wire/frame.h"
#include "wire/record.h"

struct gamma_flow;
struct gamma_local;
struct gamma_buffer;
struct gamma_notice;
struct gamma_sent;
struct gamma_frame;
struct gamma_rma;
struct gamma_rma_target;

enum gamma_envelope_flag {
	GAMMA_TAGGED = 1 << 0,
	GAMMA_HAS_DATA = 1 << 1,
	GAMMA_TO_GROUP = 1 << 2, /* of a datagram that has arrived: it was sent to a group */
};

enum {
	GAMMA_CHUNKS_UNSOLICITED =
		65536 /* bytes of an announced message that are written at once */
};

/* What is known of a message before its bytes. */
struct gamma_envelope {
	uint64_t tag;    /* if TAGGED */
	uint64_t data;   /* if HAS_DATA: the sender's CQ data */
	uint64_t length; /* bytes */
	uint32_t flags;  /* enum gamma_envelope_flag */
};

/* What a DATA frame says, the same in every transmission of it. */
struct gamma_content {
	uint8_t op;
	uint16_t extensions;
	uint64_t tag, data;
	uint64_t length;
	uint64_t fragment;
	uint32_t id;
	/* with RMA, ATOMIC only */
	uint64_t rma_address, rma_key, rma_length;
	uint8_t datatype, atomic_op;
	uint16_t count;
};

/* When a send is complete. */
enum gamma_completion_level {
	GAMMA_WHEN_COPIED,  /* its memory may be used again */
	GAMMA_WHEN_ARRIVED, /* acknowledged: placed, or kept, at the peer */
	GAMMA_WHEN_MATCHED, /* acknowledged after a receive matched */
};

enum gamma_send_state {
	GAMMA_SEND_QUEUED,    /* not all of its first frames are made */
	GAMMA_SEND_ANNOUNCED, /* waits for ACCEPT */
	GAMMA_SEND_STREAMING, /* accepted, BULK frames to make */
	GAMMA_SEND_FLYING,    /* all frames made, some not acknowledged */
	GAMMA_SEND_REQUESTED, /* remote memory: all frames made, waits for its result */
};

/* A message on its way out. The caller owns it and its memory until handlers->sent. */
struct gamma_send {
	struct gamma_list entry; /* in the flow's queue, streams, or announced */
	struct iovec iov[GAMMA_IOV_MAX];
	unsigned iov_count;
	struct gamma_envelope envelope;
	enum gamma_completion_level level;
	bool fence; /* begins when all earlier ones to this peer are complete, and those after it
		       wait */
	bool may_delay; /* may wait for others to share a frame with: who sends it will poll */
	bool more;      /* its sender says that others follow at once */
	/* private to message/ */
	struct gamma_rma *rma; /* what it does to the peer's memory; NULL: a message */
	struct gamma_flow *flow;
	enum gamma_send_state state;
	uint64_t made;     /* bytes already in frames */
	uint64_t wanted;   /* bytes the receiver accepts */
	uint32_t flying;   /* frames not acknowledged */
	uint32_t id;       /* own, in multi-frame and announced messages; 0: none */
	uint32_t accepted; /* the receiver's id for BULK */
	bool demoted; /* ANNOUNCED by the receiver, which could not keep it: `accepted` is known */
	uint64_t fed; /* bytes written for a neighbour, which was told where all of them stand */
	uint64_t stamp; /* a neighbour may read the memory while it is what was announced */
	bool copied;    /* a struct gamma_copied of the flow's own: nobody waits for its end */
	bool reply;     /* a struct gamma_reply of target.c: bytes that a peer reads */
	int error;      /* what it will end with: the target has refused it */
	struct gamma_send *with; /* the next one that waits for the same frame, or NULL */
	uint32_t batch_index;    /* in that frame, if it is a BATCH */
};

/* Memory for a message to come in, the interface layer's posted receive. */
struct gamma_recv {
	struct iovec iov[GAMMA_IOV_MAX];
	unsigned iov_count;
	uint64_t capacity; /* bytes in iov */
};

enum gamma_inbound_state {
	GAMMA_INBOUND_ARRIVING,  /* eager fragments are still to come */
	GAMMA_INBOUND_ANNOUNCED, /* rendezvous, not accepted yet */
	GAMMA_INBOUND_ACCEPTED,  /* rendezvous, bytes are coming in */
	GAMMA_INBOUND_COMPLETE,  /* all here (kept for a receive that is not posted yet) */
};

/* A message on its way in that is not a single matched frame. */
struct gamma_inbound {
	struct gamma_list entry;      /* for the interface layer, while it is unexpected */
	struct gamma_list flow_entry; /* in the flow's incoming list */
	struct gamma_list
		arriving_entry; /* in the flow's arriving list, in ARRIVING; in local->reading
				 * while it is ACCEPTED and comes in chunks */
	struct gamma_flow *flow;
	struct gamma_envelope envelope;
	enum gamma_inbound_state state;
	int error;                   /* the peer failed: what a receive that matches gets */
	uint32_t id;                 /* the sender's */
	uint32_t accepted;           /* ours, of ANNOUNCED and ACCEPTED ones; 0: none */
	struct gamma_notice *accept; /* an ACCEPT frame that has not been used, or NULL */
	struct gamma_send *own;     /* a message to the own endpoint that was not copied, or NULL */
	struct gamma_source source; /* its bytes, if a neighbour told where they stand */
	uint64_t arrived;           /* bytes */
	uint64_t wanted; /* bytes that are to come: all, or what the receive can take, or, in
			  * chunks, those before what has been read from the sender's memory */
	bool asked;      /* for further chunks */
	struct gamma_recv *recv; /* matched, or NULL */
	uint8_t *buffered;       /* bytes kept until a match, or NULL */
	uint64_t buffered_size;  /* bytes */
	bool demoted;            /* its bytes were left with the sender for want of memory */
	bool discarded;          /* take the rest in and drop it */
	void *user;              /* the interface layer's */
};

/* Ids of announced sends and accepted receives: slot in the low 20 bits, generation above. */
struct gamma_transfers {
	struct gamma_transfer *slots;
	uint32_t size, free; /* entries; head of the free list */
};

/* Per flow. */
struct gamma_message_state {
	struct gamma_list queue;     /* sends whose first frames are to be made, in order */
	struct gamma_list announced; /* sends that wait for ACCEPT */
	struct gamma_list flying;    /* sends whose frames are all made but not all acknowledged */
	struct gamma_list streams;   /* sends with BULK frames to make, served in turn */
	struct gamma_list incoming;  /* struct gamma_inbound, unfinished or unexpected */
	struct gamma_list arriving;  /* those of them whose eager fragments are still to come */
	struct gamma_list notices; /* struct gamma_notice: ACCEPT, CUT, FAILED frames to be made */
	struct gamma_list requested;                 /* sends that wait for a result: remote.c */
	struct gamma_buffer *replies, **replies_end; /* short results to be sent: target.c */
	struct gamma_buffer
		*filling;       /* a frame that takes further messages until it leaves, or NULL */
	uint32_t filling_room;  /* bytes of payload that it can take */
	uint32_t filling_count; /* messages in it */
	struct gamma_write_in *write_in; /* the peer's WRITE under way; NULL: none yet: target.c */
	struct gamma_rma_keys
		*keys;    /* of the peer's operation of several pieces; NULL: none yet: target.c */
	uint32_t reading; /* REPLY streams to the peer: target.c */
	uint32_t cuts;    /* messages of the peer that were cut here, and operations refused */
	uint32_t cuts_seen;   /* own ones that were cut or refused there, as its notices say */
	uint32_t batch_taken; /* items taken of the BATCH whose turn it is */
	struct gamma_send *feeding;   /* announced, its receiver wants further chunks; or NULL */
	struct gamma_list feed_entry; /* in local->feeding then */
	uint32_t owed;     /* messages that wait for the peer: announced, or half received */
	uint32_t expected; /* receives posted for this very peer: the interface layer's count */
	uint32_t next_id;  /* for multi-frame eager messages */
	uint32_t frames_since_stream; /* message frames sent while a stream waited */
	bool no_cma; /* the neighbour cannot read this process's memory, as it has shown */
};

#define GAMMA_UNMATCHED UINT64_MAX

/* Called from within the flow: they must not send. */
struct gamma_handlers {
	/* A message is here. Places its bytes in the receive that it matches, which ends with that,
	 * and returns how many; GAMMA_UNMATCHED: none does, nothing has been done. NULL: match and
	 * received are called instead. */
	uint64_t (*deliver)(void *context, struct gamma_flow *flow,
			    const struct gamma_envelope *envelope, const uint8_t *bytes);
	/* A message begins. Returns the receive that it matches, now consumed, or NULL. */
	struct gamma_recv *(*match)(void *context, struct gamma_flow *flow,
				    const struct gamma_envelope *envelope);
	/* No receive matched: hold on to it until gamma_receive_accept or _discard. */
	void (*unexpected)(void *context, struct gamma_inbound *inbound);
	/* A receive that matched is finished: placed bytes; error 0 or a negative errno. */
	void (*received)(void *context, struct gamma_recv *recv, struct gamma_flow *flow,
			 const struct gamma_envelope *envelope, uint64_t placed, int error);
	/* A send is finished. */
	void (*sent)(void *context, struct gamma_send *send, struct gamma_flow *flow, int error);
	/* A flow is coming to its end with something outstanding, which ends after this call;
	 * cause: for people. */
	void (*failed)(void *context, struct gamma_flow *flow, int error, const char *cause);
	/* Operations on this endpoint's memory: remote.h. NULL: every one is refused. */
	const struct gamma_rma_target *target;
};

/* ---- send.c ---- */
void gamma_send_init(struct gamma_flow *flow);
/* Takes a message; handlers->sent tells its end, perhaps as soon as the flow is polled. Returns 0,
 * or a negative errno with nothing taken. */
int gamma_send_message(struct gamma_flow *flow, struct gamma_send *send);
/* The same for a large message that a neighbour can read by itself, when nothing stands before
 * it: its announcement leaves at once, without a frame, and says whether chunks follow. False:
 * nothing has been done. */
bool gamma_send_shm_announce(struct gamma_flow *flow, struct gamma_send *send, bool in_chunks);
/* Puts a send into the queue as it is when nothing of it has been sent. */
void gamma_send_enqueue(struct gamma_flow *flow, struct gamma_send *send);
/* Ends a send with -ECANCELED if nothing of it has been sent. False: it is too late. */
bool gamma_send_cancel(struct gamma_send *send);
/* An ACCEPT, CUT or FAILED frame, to be sent later: memory for it, freed by free(), or NULL. */
struct gamma_notice *gamma_send_new_notice(void);
/* It is to be sent, and then freed: id and length for MESSAGE, fragment for FRAGMENT. */
void gamma_send_notice(struct gamma_flow *flow, struct gamma_notice *notice, enum gamma_op op,
		       uint32_t id, uint64_t length, uint64_t fragment);
/* An ACCEPT frame, or an answer without one, has arrived: of the announcement `id` (0: of what the
 * receiver has cut) it wants so many bytes, by its own id `accepted`. */
void gamma_send_accepted(struct gamma_flow *flow, uint32_t id, uint64_t wanted, uint32_t accepted);
/* Makes the next new DATA frame: fills sent's send, buffer, offset, len, op, and flags of the
 * frame (ACK_REQUESTED). False: nothing to send. */
bool gamma_send_next_frame(struct gamma_flow *flow, struct gamma_sent *sent, uint8_t *flags);
/* Whether nothing is to be sent because what waits is fenced. */
bool gamma_send_is_fenced(const struct gamma_flow *flow);
/* What a frame says that is not in a buffer, and its bytes. */
void gamma_send_frame_content(const struct gamma_sent *sent, struct gamma_content *content);
unsigned gamma_send_frame_iov(const struct gamma_sent *sent, struct iovec *iov, unsigned max);
/* A frame of it was acknowledged. */
void gamma_send_acked(struct gamma_flow *flow, struct gamma_sent *sent);
/* All sends end with error; silently if error is 0. */
void gamma_send_drop_all(struct gamma_flow *flow, int error);

/* What a DATA frame, or an item of a BATCH, says besides its bytes. */
static inline void gamma_envelope_content_fields(const struct gamma_content *content,
						 struct gamma_fields *fields)
{
	fields->extensions = content->extensions;
	fields->tag = content->tag;
	fields->data = content->data;
	fields->id = content->id;
	fields->length = content->length;
	fields->fragment = content->fragment;
	if (gamma_unlikely(content->extensions & GAMMA_EXT_RMA)) {
		fields->rma_address = content->rma_address;
		fields->rma_key = content->rma_key;
		fields->rma_length = content->rma_length;
		fields->datatype = content->datatype;
		fields->atomic_op = content->atomic_op;
		fields->count = content->count;
	}
}

/* The envelope's flags as extensions, and the other way round. */
static inline uint16_t gamma_envelope_extensions(const struct gamma_envelope *envelope)
{
	return (envelope->flags & GAMMA_TAGGED ? GAMMA_EXT_TAG : 0) |
	       (envelope->flags & GAMMA_HAS_DATA ? GAMMA_EXT_CQ_DATA : 0);
}
static inline uint32_t gamma_envelope_flags(uint16_t extensions)
{
	return (extensions & GAMMA_EXT_TAG ? GAMMA_TAGGED : 0) |
	       (extensions & GAMMA_EXT_CQ_DATA ? GAMMA_HAS_DATA : 0);
}
/* What a frame, or an item of a BATCH, says of its message; length: of a whole one the bytes that
 * are here, whatever else the frame says. */
static inline void gamma_envelope_of(const struct gamma_fields *fields, uint64_t length,
				     struct gamma_envelope *envelope)
{
	envelope->flags = gamma_envelope_flags(fields->extensions);
	envelope->tag = envelope->flags & GAMMA_TAGGED ? fields->tag : 0;
	envelope->data = envelope->flags & GAMMA_HAS_DATA ? fields->data : 0;
	envelope->length = length;
}
/* Whether the frame of len bytes that makes `made` of `wanted` bytes is the last but one of
 * many. */
bool gamma_send_is_last_but_one(uint64_t made, uint64_t wanted, uint32_t len);
/* Payload bytes that a frame with these extensions can carry now. */
uint32_t gamma_send_frame_room(const struct gamma_flow *flow, uint16_t extensions);
/* Whether the next frame to be made will have no room for an acknowledgement. */
bool gamma_send_fills_frame(const struct gamma_flow *flow);
/* Whether a message can share a frame with others: short, and copied. */
bool gamma_send_is_short(const struct gamma_flow *flow, const struct gamma_send *send);
/* A message has left the queue for good. */
void gamma_send_finish(struct gamma_flow *flow, struct gamma_send *send, int error);

/* ---- pull.c: a neighbour reads an announced message from its sender's memory ---- */
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

/* ---- cut.c: the sender's side of messages that the receiver could not keep ---- */
/* A copy of a message that belongs to the flow, or NULL: no memory. */
struct gamma_send *gamma_demote_copy_send(struct gamma_flow *flow, const struct iovec *iov,
					  unsigned iov_count,
					  const struct gamma_envelope *envelope);
void gamma_demote_free_copy(struct gamma_send *send);
/* A CUT frame has arrived. False: no memory, treat it as not arrived. */
bool gamma_demote_receive_notice(struct gamma_flow *flow, const struct gamma_fields *fields);
/* The announced send that the receiver knows by this id of its own, or NULL. */
struct gamma_send *gamma_demote_find_send(const struct gamma_flow *flow, uint32_t accepted);

/* ---- batch.c: several short messages, or operations, in one frame ---- */
/* The frame that is filling, else one with the first of the queue; flags as in
 * gamma_send_next_frame. False: there are not two that fit, or no memory. */
bool gamma_coalesce_next(struct gamma_flow *flow, struct gamma_sent *sent, uint8_t *flags);
/* Copies a short message into the frame that is filling, behind which nothing may be queued: it
 * leaves when the flow is polled. False: no room in it, or no memory. */
bool gamma_coalesce_add(struct gamma_flow *flow, const struct iovec *iov, unsigned iov_count,
			const struct gamma_envelope *envelope);
/* Bytes of payload of such a frame. */
uint32_t gamma_coalesce_room(const struct gamma_flow *flow);
/* Bytes of them that a message takes. */
static inline uint64_t gamma_coalesce_message_len(const struct gamma_envelope *envelope)
{
	return sizeof(struct gamma_batch_item) + (envelope->flags & GAMMA_TAGGED ? 8 : 0) +
	       (envelope->flags & GAMMA_HAS_DATA ? 8 : 0) + envelope->length;
}
/* Bytes that one of the queue takes there; 0: it must have a frame to itself. */
uint64_t gamma_coalesce_send_len(const struct gamma_flow *flow, const struct gamma_send *send);
/* An empty frame for items, or NULL; its last item stands in it, and it is what is sent. */
struct gamma_buffer *gamma_coalesce_new_frame(struct gamma_flow *flow);
void gamma_coalesce_finish_frame(struct gamma_buffer *buffer, struct gamma_sent *sent);
/* Adds an item for which there is room; returns where its bytes go. */
uint8_t *gamma_coalesce_put_item(struct gamma_buffer *buffer, const struct gamma_fields *item);
/* Reads the item at *offset and moves on; false: there is none, or it is nonsense. */
bool gamma_batch_item(const uint8_t *payload, uint32_t len, uint32_t *offset,
		      struct gamma_fields *item, const uint8_t **bytes);

/* ---- receive.c ---- */
/* Extensions without which a frame says nothing, by its op. */
extern const uint16_t gamma_receive_needed_extensions[GAMMA_OP_FAILED + 1];
/* In order. False: no memory to keep it, treat the frame as not arrived. */
bool gamma_receive_frame(struct gamma_flow *flow, const struct gamma_fields *fields,
			 const uint8_t *payload);
/* A message of a neighbour that came without a frame, in order. False: no memory, it must come
 * again. */
bool gamma_receive_shm_message(struct gamma_flow *flow, const struct gamma_envelope *envelope,
			       const uint8_t *bytes);
/* An announcement of a neighbour's that came without a frame, in order. False: ditto. */
bool gamma_receive_shm_announce(struct gamma_flow *flow, const struct gamma_envelope *envelope,
				const struct gamma_announce *announce, bool in_chunks);
/* What a receive wants of an announced message has been read, or must be sent. */
void gamma_receive_answer(struct gamma_inbound *inbound, bool read);
/* Can this early frame be used before its turn? */
bool gamma_receive_is_placeable(const struct gamma_flow *flow, const struct gamma_fields *fields);
/* Takes a message to the own endpoint without frames, and ends it or, if it must wait for a receive
 * that is not posted yet, leaves it in the flow's flying list, where it is. False: no memory. */
bool gamma_receive_from_self(struct gamma_flow *flow, struct gamma_send *send);
/* The interface layer found a receive for an unexpected message. It may be finished, and
 * handlers->received called, before this returns. The inbound is consumed. */
void gamma_receive_accept(struct gamma_inbound *inbound, struct gamma_recv *recv);
/* The interface layer does not want it. The inbound is consumed. */
void gamma_receive_discard(struct gamma_inbound *inbound);
/* Memory kept for the next message. */
void gamma_receive_fini(struct gamma_local *local);
void gamma_receive_drop_all(struct gamma_flow *flow, int error);

/* ---- transfers.c ---- */
void gamma_transfers_init(struct gamma_transfers *transfers);
void gamma_transfers_fini(struct gamma_transfers *transfers);
uint32_t gamma_transfers_add(struct gamma_transfers *transfers, void *object); /* 0: no memory */
void *gamma_transfers_find(const struct gamma_transfers *transfers, uint32_t id);
void gamma_transfers_remove(struct gamma_transfers *transfers, uint32_t id);

#endif /* GAMMA_MESSAGE_H */
