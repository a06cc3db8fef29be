/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Messages over a flow, without I/O: divides one into DATA frames and reassembles it.
 *
 *   up to one frame, or eager:  SEND, or SEND_FIRST and SEND_MORE; the receiver places the bytes
 *                               in a matched receive or keeps them until one is posted
 *   larger (rendezvous):        ANNOUNCE -> (match) -> ACCEPT -> BULK straight from the sender's
 *                               memory into the receiver's, in whatever order frames arrive
 *
 * Matching is the interface layer's: its handlers are called in the order in which the peer sent.
 */
#ifndef GAMMA_MESSAGE_H
#define GAMMA_MESSAGE_H

#include "base/iov.h"
#include "flow/flow.h"
#include "message/transfers.h"
#include "wire/frame.h"

struct gamma_copied;
struct gamma_notice;
struct gamma_rma;
struct gamma_rma_target;

enum {
	GAMMA_CHUNKS_UNSOLICITED =
		65536 /* bytes of an announced message that are written at once */
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
	bool may_delay; /* may wait for others to share a frame with: the caller will poll */
	bool more;      /* others follow at once (FI_MORE) */
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
	uint64_t fed; /* bytes written in chunks to an shm peer, which knows their address */
	uint64_t stamp; /* an shm peer may read the memory while this is the announced one */
	bool copied;    /* a struct gamma_copied of the flow's own: nothing waits for its end */
	bool reply;     /* a struct gamma_reply of rma_target.c: bytes that a peer reads */
	int error;      /* it ends with this: the target has refused it */
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
	struct gamma_source source; /* its bytes, if an shm peer announced their address */
	uint64_t arrived;           /* bytes */
	uint64_t wanted; /* bytes that are to come: all, or what the receive can take, or, in
			  * chunks, those before what has been read from the sender's memory */
	bool asked;      /* for further chunks */
	struct gamma_recv *recv; /* matched, or NULL */
	uint8_t *head;           /* that an announcement to a port has brought, or NULL */
	uint8_t *buffered;       /* bytes kept until a match, or NULL */
	uint64_t buffered_size;  /* bytes */
	bool demoted;            /* its bytes stayed with the sender, for lack of memory */
	bool discarded;          /* receive the remaining bytes and drop them */
	void *user;              /* the interface layer's */
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
	struct gamma_list requested; /* sends that wait for a result: rma_requester.c */
	struct gamma_buffer *replies, **replies_end; /* short results to be sent: rma_target.c */
	struct gamma_buffer
		*filling;       /* a frame that takes further messages until it leaves, or NULL */
	uint32_t filling_room;  /* bytes of payload that it can take */
	uint32_t filling_count; /* messages in it */
	struct gamma_write_in
		*write_in; /* the peer's WRITE in progress; NULL: none yet: rma_target.c */
	struct gamma_rma_keys
		*keys; /* of the peer's operation on several areas; NULL: none yet: rma_target.c */
	uint32_t reading;             /* REPLY streams to the peer: rma_target.c */
	uint32_t batch_taken;         /* items taken of the BATCH whose turn it is */
	struct gamma_send *feeding;   /* announced, its receiver wants further chunks; or NULL */
	struct gamma_list feed_entry; /* in local->feeding then */
	uint32_t next_id;             /* for multi-frame eager messages */
	uint32_t frames_since_stream; /* message frames sent while a stream waited */
	bool no_cma;          /* the shm peer has shown that it cannot read this process's memory */
	bool copies;          /* the engine copies what was posted last to an shm peer */
	uint32_t own_read_ns; /* what a KiB of the chunks that it writes takes here, ns: sent to it;
			       * 0: not known */
};

/* A flow, as message/ sees it: flow/ knows the first member alone. */
struct gamma_message_flow {
	struct gamma_flow flow;
	struct gamma_message_state messages;
};

static inline struct gamma_message_state *gamma_message_state(const struct gamma_flow *flow)
{
	return &gamma_container_of(flow, struct gamma_message_flow, flow)->messages;
}

#define GAMMA_UNMATCHED UINT64_MAX

/* Called from within the flow: they must not send. */
struct gamma_handlers {
	/* A complete message. Places its bytes in the receive that it matches, which completes,
	 * and returns their number; GAMMA_UNMATCHED: no receive matches, nothing was done. NULL:
	 * match and received are called instead. */
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
	/* A flow fails with operations outstanding, which end after this call; cause: text for
	 * users. */
	void (*failed)(void *context, struct gamma_flow *flow, int error, const char *cause);
	/* Operations on this endpoint's memory: rma.h. NULL: all are refused. */
	const struct gamma_rma_target *target;
};

/* State that the messages of one endpoint share; flow/ knows the first member alone. */
struct gamma_message_local {
	struct gamma_local local;
	const struct gamma_handlers *handlers;
	void *context; /* handed to handlers */
	/* The long message whose bytes came last, and its bytes that are still to come; the engine
	 * sets it to 0 before it looks for frames. */
	uint64_t arriving_bytes;
	struct gamma_flow *arriving_from;
	uint64_t buffered;           /* bytes kept of unexpected messages */
	struct gamma_list reading;   /* struct gamma_inbound that come in chunks: rndv_shm.c */
	struct gamma_list feeding;   /* struct gamma_message_state, by feed_entry: messages whose
				      * receivers want further chunks */
	struct gamma_inbound *spare; /* for the next one, with its notice; or NULL */
	struct gamma_transfers announced; /* sends that wait for ACCEPT, by own id */
	struct gamma_transfers accepted;  /* receives that BULK frames come in for, by own id */
	struct gamma_transfers requests;  /* operations on remote memory that wait for results */
	/* Its bytes are to be copied behind its frames: the engine then calls gamma_copies_take.
	 * NULL: none. */
	struct gamma_copied *deferred_copy;
	/* The engine's: reads len bytes of an shm peer's announced message from its memory, from
	 * offset on; false: that cannot be. NULL: never. */
	bool (*read_source)(struct gamma_local *local, const struct gamma_flow *flow,
			    const struct gamma_source *source, uint64_t offset,
			    const struct iovec *iov, unsigned iov_count, uint64_t len);
	/* The engine's: writes an announcement, or an answer to one, to an shm peer; false: it
	 * must go in a frame. NULL: always. */
	bool (*put_record)(struct gamma_flow *flow, struct gamma_shm_message *record);
	/* The engine's: revokes what was announced to an shm peer. NULL: nothing was. */
	void (*withdraw_records)(struct gamma_flow *flow);
	/* The engine's: whether messages that went without frames have not been taken. NULL: none
	 * do. */
	bool (*has_undelivered)(const struct gamma_flow *flow);
};

static inline struct gamma_message_local *gamma_message_local(const struct gamma_local *local)
{
	return gamma_container_of(local, struct gamma_message_local, local);
}

/* Bytes of a message were placed, and `bytes` are still to come. */
static inline void gamma_message_note_arriving(struct gamma_flow *flow, uint64_t bytes)
{
	struct gamma_message_local *messages = gamma_message_local(flow->local);

	messages->arriving_bytes = bytes;
	messages->arriving_from = flow;
}

#endif /* GAMMA_MESSAGE_H */
