/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Collective operations of reliable endpoints: the calls (coll.c), groups and how they are joined
 * (coll_group.c), what the operations of a group do (coll_run.c) and send (coll_transfer.c). All of
 * it travels as messages to an active port of the provider. Under the domain's lock.
 */
#ifndef GAMMA_PROV_COLL_H
#define GAMMA_PROV_COLL_H

#include <pthread.h>

#include "group/plan.h"
#include "group/take.h"
#include "group/turns.h"
#include "message/message.h"
#include "prov.h"

struct gamma_fi_ep;
struct gamma_inbound;

enum {
	GAMMA_COLL_PORT = 65535,        /* active port of all of these messages */
	GAMMA_COLL_MEMBERS_MAX = 65536, /* of a group */
	GAMMA_COLL_HISTORY = 64,        /* operations whose signatures are remembered */
	GAMMA_COLL_CAUSE_LEN = 160,     /* bytes of text */
	GAMMA_COLL_BUCKETS = 64,        /* a power of two: groups by id */
	GAMMA_COLL_LEFT = 32,           /* groups that were left and are remembered */
};

#define GAMMA_COLL_NO_PLACE UINT32_MAX

/* A message's CQ data has the group's id (40 bits) and the operation's number (24 bits). */
#define GAMMA_COLL_NUMBER_BITS 24
#define GAMMA_COLL_NUMBER_MASK ((1u << GAMMA_COLL_NUMBER_BITS) - 1)
/* Its argument: OPERATION, with the signature and the message's index (16 bits); else a type. */
#define GAMMA_COLL_OPERATION   (1u << 31)
#define GAMMA_COLL_INDEX_BITS  16
#define GAMMA_COLL_INDEX_MASK  ((1u << GAMMA_COLL_INDEX_BITS) - 1)

/* Numbers wrap. */
static inline bool gamma_coll_number_before(uint32_t a, uint32_t b)
{
	return ((a - b) & GAMMA_COLL_NUMBER_MASK) > GAMMA_COLL_NUMBER_MASK / 2;
}

enum gamma_coll_type {
	GAMMA_COLL_JOIN = 1, /* to place 0: the sender has joined */
	GAMMA_COLL_LIVE,     /* from place 0: all have */
	GAMMA_COLL_FAILED,   /* the group is over: struct gamma_coll_failure */
	GAMMA_COLL_CHECK,    /* the sender waits in this operation: its signature */
	GAMMA_COLL_GROUP,    /* from place 0: where multicast goes */
	GAMMA_COLL_READY,    /* to place 0: the socket is open, or why not */
	GAMMA_COLL_SEEN,     /* to place 0: a test frame has come by multicast */
	GAMMA_COLL_TAKEN,    /* towards the root: frames that are here and with those below */
	GAMMA_COLL_ASK,      /* to the root: frames that are missing */
	GAMMA_COLL_LOSSY,    /* to place 0: multicast loses too much. This and the next three:
			      * struct gamma_coll_from */
	GAMMA_COLL_HALT,     /* from place 0: begin no operation */
	GAMMA_COLL_NEXT,     /* to place 0: the sender has not begun those from that number on */
	GAMMA_COLL_FLOWS,    /* from place 0: those from that number on go without multicast */
	GAMMA_COLL_SENT,     /* from the root, and passed on: so many frames were sent */
	GAMMA_COLL_BESIDE,   /* to place 0, before JOIN: multicast may go over UDP beside raw frames
			      */
	GAMMA_COLL_GROUP_BESIDE, /* as GROUP: it does */
};
/* Instead of a type: a frame of a multicast that its receiver has asked for. */
#define GAMMA_COLL_REPAIR     (1u << 30)
/* Of an operation by multicast: more cannot be numbered in a repair. */
#define GAMMA_COLL_FRAMES_MAX GAMMA_COLL_REPAIR
/* Instead of the number of a frame, in a multicast: it tests whether it arrives. */
#define GAMMA_COLL_TEST       UINT32_MAX

/* Contents of these messages, in network order. */
struct gamma_coll_joining {
	uint32_t members, place;
	uint32_t payload; /* bytes that a multicast frame may carry to it; 0: it takes none */
	uint32_t hosts;   /* hash of the members' hosts, as the sender sees them */
} __attribute__((packed));

struct gamma_coll_beside {
	uint32_t payload; /* as in a JOIN */
} __attribute__((packed));

struct gamma_coll_named {
	uint8_t mac[GAMMA_MAC_LEN];
	uint16_t port;
	uint32_t payload; /* bytes of a frame */
} __attribute__((packed));

struct gamma_coll_ready {
	uint32_t slots; /* frames that can wait; 0: there is no socket; UINT32_MAX: it only sends */
} __attribute__((packed));

struct gamma_coll_live {
	uint32_t payload; /* bytes of a frame; 0: nothing goes by multicast */
	uint32_t window;  /* frames */
} __attribute__((packed));

/* TAKEN and SENT. To a root, and from it, without the last field. */
struct gamma_coll_count {
	uint32_t frames;
	uint32_t root; /* place */
} __attribute__((packed));
#define GAMMA_COLL_COUNT_SHORT offsetof(struct gamma_coll_count, root)

struct gamma_coll_ask {
	uint32_t base, seen, bits[GAMMA_STREAM_ASK_WORDS];
} __attribute__((packed));

struct gamma_coll_from {
	uint32_t number; /* of an operation; 0 where it says nothing */
} __attribute__((packed));

struct gamma_coll_failure {
	uint32_t error; /* positive errno */
	char cause[GAMMA_COLL_CAUSE_LEN];
} __attribute__((packed));

struct gamma_coll_waiting {
	uint32_t signature;
} __attribute__((packed));

/* One of them, as it has come. */
struct gamma_coll_control {
	struct gamma_list entry; /* in coll->controls or coll->early */
	fi_addr_t source;        /* FI_ADDR_NOTAVAIL: not in the address vector ... */
	struct gamma_addr addr;  /* ... when it came */
	uint64_t id;
	uint32_t type, number;
	size_t len;
	uint8_t bytes[sizeof(struct gamma_coll_failure)];
};

/* A message of an operation, or a control message on its way out. */
struct gamma_coll_transfer {
	struct gamma_list entry;  /* in op->posted, op->flying, coll->sends or the pool */
	struct gamma_coll_op *op; /* NULL: a control message */
	uint32_t step;            /* of its schedule */
	bool repair;             /* it is a frame that `step`, a place, sends to all, instead ... */
	uint32_t frame;          /* ... with that number */
	struct gamma_flow *flow; /* of a posted receive: whose peer is expected to send */
	struct gamma_send send;  /* one of the two */
	struct gamma_recv recv;
	struct gamma_coll_control *bytes; /* of a control message */
};

/* A stream of frames by multicast: one member of the operation sends it, its root. */
struct gamma_coll_cast {
	struct gamma_list entry; /* in op->casts, until its step is done */
	bool sends;              /* this member is the root */
	bool step_ended;         /* here; it still reports for others */
	uint32_t step;           /* of the schedule */
	uint32_t root;           /* place */
	union {
		struct gamma_stream stream;
		struct gamma_take take;
	};
};

struct gamma_coll_op {
	struct gamma_list entry;     /* in group->ops */
	struct gamma_list due_entry; /* in coll->due */
	struct gamma_coll_group *group;
	uint32_t number, signature;
	struct gamma_plan_call call;
	struct gamma_schedule schedule;
	struct gamma_list posted; /* receives that no message has met */
	struct gamma_list flying; /* transfers under way, which use the caller's memory */
	struct gamma_list casts;  /* struct gamma_coll_cast: what goes by multicast now */
	uint64_t look_at;         /* ns: when it is time to ask why nothing comes ... */
	uint64_t asks_after;      /* ns: ... after so long */
	uint32_t senders_wait;    /* members below that send nothing until all have begun */
	bool held;                /* it begins when the group knows whether by multicast */
	int error;                /* it ends with that once nothing is under way */
	bool notify;
	void *context;
};

/* In group->joined, at place 0. */
enum {
	GAMMA_COLL_MAY_JOIN,    /* it has not */
	GAMMA_COLL_HAS_OFFERED, /* ditto, but said BESIDE */
	GAMMA_COLL_HAS_JOINED,
	GAMMA_COLL_IS_READY,
	GAMMA_COLL_HAS_SEEN,
	GAMMA_COLL_HAS_HALTED,
};

/* How multicast goes, or at place 0: may go: by the endpoint's first link, or over UDP beside raw
 * frames. */
enum { GAMMA_COLL_PATH_OWN, GAMMA_COLL_PATH_BESIDE, GAMMA_COLL_PATHS };

/* How a live group leaves multicast: coll_fallback.c. */
struct gamma_coll_fallback {
	enum {
		GAMMA_FALLBACK_NO,
		GAMMA_FALLBACK_HALTED, /* operations are held */
		GAMMA_FALLBACK_DONE,
	} state;
	uint32_t from;        /* operations from that number on go without multicast */
	bool over;            /* one of these has begun: no later one asks for `from` */
	uint32_t answers;     /* at place 0: members that hold operations */
	uint32_t sent, again; /* frames, lately */
	bool lossy;           /* this member's frames go to each leader in messages */
};

/* A report to this member, which has to pass it on, but has not begun with that root yet. */
struct gamma_coll_report {
	struct gamma_list entry; /* in group->early */
	uint32_t number, root, child, frames;
};

/* A root's reports about an operation that is not called yet here. */
struct gamma_coll_said {
	uint32_t number, place, frames; /* frames 0: nothing */
};

struct gamma_coll_group {
	struct fid_mc mc_fid;
	struct gamma_list entry; /* in a bucket of coll->groups */
	struct gamma_fi_ep *ep;
	uint64_t id, set; /* the set's hash */
	uint32_t n, place;
	fi_addr_t *members; /* by place; FI_ADDR_NOTAVAIL: removed from the address vector */
	uint32_t *places;   /* by fi_addr_t; GAMMA_COLL_NO_PLACE: no member */
	size_t place_count;
	bool live;                               /* all have joined */
	uint64_t join_by;                        /* ns: else it has failed */
	uint8_t *joined;                         /* at place 0: by place */
	uint32_t joined_count;                   /* of them */
	uint32_t offers[GAMMA_COLL_PATHS];       /* ditto: those that offer that path */
	uint32_t payloads[GAMMA_COLL_PATHS];     /* ditto: bytes of a frame by it, to all */
	uint32_t next;                           /* number of the next operation */
	uint32_t signatures[GAMMA_COLL_HISTORY]; /* of the last ones, by number */
	struct gamma_list ops;                   /* outstanding */
	struct gamma_list unexpected;            /* struct gamma_inbound */
	struct {
		bool set;
		uint32_t number, signature, place;
	} check; /* the last CHECK of an operation that is not called yet here */
	struct gamma_coll_said sent[GAMMA_COLL_HISTORY]; /* by number and place */
	struct gamma_list early;                         /* struct gamma_coll_report ... */
	uint32_t early_count;                            /* ... that came early */
	/* multicast: coll_open.c */
	struct gamma_plan_hosts hosts; /* leaders NULL: none */
	uint32_t *indices;             /* by place, of a leader: among the leaders */
	uint32_t *leader_places;       /* by index */
	struct gamma_list cast_entry;  /* in coll->casting */
	struct gamma_group *multicast; /* the engine's; NULL: none */
	unsigned path;                 /* by which it goes */
	bool front_waits;              /* its first frame is a member's, of an operation to come */
	struct gamma_addr cast_addr;
	uint32_t payload, window; /* bytes, frames; 0: nothing goes by multicast */
	struct gamma_turns turns; /* of those that do */
	uint32_t hosts_hash;
	int igmp_fd; /* keeps the IP group that switches have heard of; -1 */
	struct gamma_coll_fallback fallback;
	pthread_t opener; /* opens multicast, if `opening` */
	bool opening;
	bool opened; /* it has ended; atomic */
	int open_error;
	bool seen;                    /* a test frame, and place 0 has heard */
	uint32_t ready, slots, least; /* at place 0: members with a socket; the least ring; whose */
	uint32_t seen_count;          /* at place 0 */
	uint64_t test_at, test_until; /* ns, at place 0; GAMMA_NEVER */
	int error;                    /* the group is over */
	char cause[GAMMA_COLL_CAUSE_LEN];
	bool reports; /* the others have to hear of it */
	bool bad;     /* error is new */
};

/* How often a set's members have joined. */
struct gamma_coll_set {
	struct gamma_list entry; /* in coll->sets */
	uint64_t hash;
	uint32_t joins;
};

/* A group that was left: asked about later operations it says so. */
struct gamma_coll_left {
	uint64_t id;
	uint32_t next;
};

struct gamma_coll {
	struct gamma_list groups[GAMMA_COLL_BUCKETS];
	struct gamma_list sets;     /* struct gamma_coll_set */
	struct gamma_list controls; /* struct gamma_coll_control, to be looked at */
	struct gamma_list early;    /* JOINs of groups that are not joined here yet */
	unsigned control_count;     /* of both */
	struct gamma_list strays;   /* struct gamma_inbound of no group */
	struct gamma_list casting;  /* struct gamma_coll_group that use multicast, or try to */
	struct gamma_list due;      /* struct gamma_coll_op with something to do */
	struct gamma_list pool;     /* struct gamma_coll_transfer */
	struct gamma_list sends;    /* control messages under way */
	struct gamma_coll_left left[GAMMA_COLL_LEFT];
	unsigned left_count;
	bool no_ip_multicast; /* as place 0 of a group has found */
	bool bad;             /* some group's error is new */
	unsigned outstanding; /* operations, and groups that wait for others */
	unsigned polls;       /* since the clock was read */
	uint64_t look_at;     /* ns: the earliest deadline */
};

/* ---- coll.c ---- */
extern struct fi_ops_collective gamma_coll_ops;

/* ---- coll_query.c ---- */
/* 0: not offered. */
enum gamma_plan_kind gamma_coll_query_kind(enum fi_collective_op coll);
/* Bytes of an element; 0: there is no such type, or the operation does not compute with it. */
uint32_t gamma_coll_query_unit(enum gamma_plan_kind kind, uint32_t datatype, uint32_t op);
int gamma_coll_query(struct fid_domain *domain, enum fi_collective_op coll,
		     struct fi_collective_attr *attr, uint64_t flags);

/* ---- coll_group.c ---- */
/* Of an endpoint with FI_COLLECTIVE: 0 or -FI_ENOMEM. */
int gamma_coll_group_init(struct gamma_fi_ep *ep);
/* The endpoint's engine has ended, and no group is left. */
void gamma_coll_group_fini(struct gamma_fi_ep *ep);
/* fi_join with FI_COLLECTIVE. */
int gamma_coll_group_join(struct gamma_fi_ep *ep, const struct fi_collective_addr *addr,
			  uint64_t flags, struct fid_mc **mc, void *context);
struct gamma_coll_group *gamma_coll_group_find(const struct gamma_coll *coll, uint64_t id);
/* An address leaves the address vector: whoever gets its number is no member. */
void gamma_coll_group_forget(struct gamma_coll *coll, fi_addr_t addr);
/* The place of an address, or GAMMA_COLL_NO_PLACE. */
uint32_t gamma_coll_group_place(struct gamma_coll_group *group, fi_addr_t addr);
/* A member's name for people. */
void gamma_coll_group_name(const struct gamma_coll_group *group, uint32_t place,
			   char name[GAMMA_NAME_LEN]);
/* The group is over: everything outstanding will end with that. place: of the member that is the
 * cause, or NO_PLACE; report: the others do not know it yet. The first cause counts. */
void gamma_coll_group_spoil(struct gamma_coll_group *group, uint32_t place, int error, bool report,
			    const char *format, ...) __attribute__((format(printf, 5, 6)));
/* An error is new: all members hear of it, and what is outstanding ends. */
void gamma_coll_group_end(struct gamma_coll_group *group);
/* A control message has come, and is freed or kept. */
void gamma_coll_group_control(struct gamma_fi_ep *ep, struct gamma_coll_control *control);
/* Ends groups that wait for members too long, asks where operations hang; returns when to look
 * again. */
uint64_t gamma_coll_group_expire(struct gamma_fi_ep *ep, uint64_t now);

/* All members have joined: the group is live, perhaps with multicast. */
void gamma_coll_group_live(struct gamma_coll_group *group, const struct gamma_coll_live *live);
/* A control message to all others. */
void gamma_coll_group_send_all(struct gamma_coll_group *group, enum gamma_coll_type type,
			       const void *bytes, size_t len);

/* ---- coll_open.c ---- */
/* Finds out who is on which host. */
int gamma_coll_open_init(struct gamma_coll_group *group);
/* Waits for the thread that opens; called with the lock, which is let go meanwhile. */
void gamma_coll_open_fini(struct gamma_coll_group *group);
/* Bytes that a multicast frame may carry to this member by that path; 0: it takes none. */
uint32_t gamma_coll_open_payload(const struct gamma_coll_group *group, unsigned path);
/* At place 0, once all have joined: multicast is tried. False: it makes no sense. */
bool gamma_coll_open_begin(struct gamma_coll_group *group);
void gamma_coll_open_control(struct gamma_coll_group *group, uint32_t place,
			     const struct gamma_coll_control *control);
/* Whether this member can do what place 0 says: send and take such frames. */
bool gamma_coll_open_is_ready(const struct gamma_coll_group *group,
			      const struct gamma_coll_live *live);
/* At place 0, which has waited long enough: the group is live without multicast if all have joined.
 * False: they have not. */
bool gamma_coll_open_end(struct gamma_coll_group *group);
/* It is live now. */
void gamma_coll_open_live(struct gamma_coll_group *group);
/* Of a group that is not live. */
void gamma_coll_open_progress(struct gamma_coll_group *group, uint64_t now);

/* ---- coll_cast.c ---- */
/* An operation that goes by multicast, in the order of their numbers. */
void gamma_coll_cast_plan(struct gamma_coll_op *op);
/* Begins a CAST or TAKE step; 0 or -FI_ENOMEM. */
int gamma_coll_cast_begin(struct gamma_coll_op *op, struct gamma_schedule_step *step);
void gamma_coll_cast_end(struct gamma_coll_op *op);
/* A member that what goes by multicast waits for here; NO_PLACE: none. */
uint32_t gamma_coll_cast_missing(const struct gamma_coll_op *op);
void gamma_coll_cast_control(struct gamma_coll_group *group, uint32_t place,
			     const struct gamma_coll_control *control);
/* A root says how many frames it has sent, or another member passes that on. */
void gamma_coll_cast_sent(struct gamma_coll_group *group, uint32_t place,
			  const struct gamma_coll_control *control);
/* Sends a frame of a group to all; what: its number, or TEST. False: it could not leave. */
bool gamma_coll_cast_send(struct gamma_coll_group *group, uint32_t number, uint32_t what,
			  const void *bytes, uint32_t len);
/* A frame that was asked for, from that member: where it goes; NULL: nobody wants it. */
void *gamma_coll_cast_place(struct gamma_coll_op *op, uint32_t place, uint32_t frame, uint64_t len);
/* It is there. */
void gamma_coll_cast_repaired(struct gamma_coll_op *op, uint32_t place, uint32_t frame,
			      uint32_t len);
/* Takes frames, sends some, runs timers. */
void gamma_coll_cast_progress(struct gamma_fi_ep *ep);

/* ---- coll_relay.c ---- */
/* Where this member, a leader, reports what it has of what `root` sends: a place. */
uint32_t gamma_coll_relay_parent(const struct gamma_coll_group *group, uint32_t root);
/* This member sends: others report for most. */
void gamma_coll_relay_begin_stream(const struct gamma_coll_group *group, uint32_t root,
				   struct gamma_stream *stream);
/* This member takes: others may report to it, and may have done so. */
void gamma_coll_relay_begin_take(struct gamma_coll_op *op, struct gamma_coll_cast *cast);
void gamma_coll_relay_fini(struct gamma_coll_group *group);
/* A report to this member, which is not the root. op, cast: that it is about; NULL: not begun. */
void gamma_coll_relay_report(struct gamma_coll_group *group, struct gamma_coll_op *op,
			     struct gamma_coll_cast *cast, uint32_t place, uint32_t number,
			     const struct gamma_coll_count *count);
/* Of those that report to this member one that does not have all; NO_PLACE: none. */
uint32_t gamma_coll_relay_missing(const struct gamma_coll_group *group,
				  const struct gamma_coll_cast *cast);
/* The root has sent so many frames: those below this member have to know, too. */
void gamma_coll_relay_remind(struct gamma_coll_op *op, struct gamma_coll_cast *cast, uint32_t sent);

/* ---- coll_fallback.c ---- */
/* Frames that this member has sent by multicast for the first time, and again. */
void gamma_coll_fallback_note(struct gamma_coll_group *group, uint32_t sent, uint32_t again);
/* Whether an operation may go by multicast that begins now, in the order of their numbers. */
bool gamma_coll_fallback_casts(struct gamma_coll_group *group, uint32_t number);
void gamma_coll_fallback_control(struct gamma_coll_group *group, uint32_t place,
				 const struct gamma_coll_control *control);

/* ---- coll_transfer.c ---- */
/* NULL: no memory. */
struct gamma_coll_transfer *gamma_coll_transfer_get(struct gamma_coll *coll);
/* Its peer is no longer expected to send for it. */
void gamma_coll_transfer_stop_expecting(struct gamma_coll_transfer *transfer);
void gamma_coll_transfer_put(struct gamma_coll *coll, struct gamma_coll_transfer *transfer);
/* Sends the message of a step; a negative FI_E* if it cannot. */
int gamma_coll_transfer_send_step(struct gamma_coll_op *op, struct gamma_schedule_step *step);
/* Sends a frame that a member has asked for. */
void gamma_coll_transfer_send_repair(struct gamma_coll_op *op, uint32_t place, uint32_t frame,
				     const void *bytes, uint32_t len);
/* Sends a control message. */
void gamma_coll_transfer_send_control(struct gamma_fi_ep *ep, fi_addr_t to, uint64_t id,
				      enum gamma_coll_type type, uint32_t number, const void *bytes,
				      size_t len);

/* ---- coll_run.c ---- */
/* The outstanding operation of that number, or NULL. */
struct gamma_coll_op *gamma_coll_run_find(const struct gamma_coll_group *group, uint32_t number);
/* A step has ended: what waits for it may go on. */
void gamma_coll_run_end_step(struct gamma_coll_op *op, uint32_t step);
/* Something of it has ended: it may end itself. */
void gamma_coll_run_look(struct gamma_coll_op *op);
/* Begins an operation whose call and context are set, and takes it over. */
int gamma_coll_run_begin(struct gamma_coll_group *group, struct gamma_coll_op *op);
/* Begins what was held. */
void gamma_coll_run_begin_held(struct gamma_coll_group *group);
/* Its next poll has something to do. */
void gamma_coll_run_wake(struct gamma_fi_ep *ep);
/* Ends the operations of a group that is over, as far as nothing of them is under way. */
void gamma_coll_run_end_ops(struct gamma_coll_group *group);
/* A member waits in an operation: it must be the one that this member calls, or has called. */
void gamma_coll_run_check(struct gamma_coll_group *group, uint32_t place,
			  const struct gamma_coll_control *control);
/* Asks on behalf of operations that hang; returns when to look again. */
uint64_t gamma_coll_run_expire(struct gamma_coll_group *group, uint64_t now);
/* After the engine's progress. */
void gamma_coll_run_progress(struct gamma_fi_ep *ep);
/* When to call that again, ns. */
uint64_t gamma_coll_run_deadline(const struct gamma_fi_ep *ep);

/* The engine's side: messages to the provider's port. */
static inline bool gamma_coll_is_ours(const struct gamma_envelope *envelope)
{
	return envelope->flags & GAMMA_TO_PORT && gamma_envelope_port(envelope) == GAMMA_COLL_PORT;
}
uint64_t gamma_coll_run_deliver(struct gamma_fi_ep *ep, struct gamma_flow *flow,
				const struct gamma_envelope *envelope, const uint8_t *bytes);
struct gamma_recv *gamma_coll_run_match(struct gamma_fi_ep *ep, struct gamma_flow *flow,
					const struct gamma_envelope *envelope);
void gamma_coll_run_unexpected(struct gamma_fi_ep *ep, struct gamma_inbound *inbound);
void gamma_coll_run_received(struct gamma_fi_ep *ep, struct gamma_recv *recv, int error);
void gamma_coll_run_sent(struct gamma_fi_ep *ep, struct gamma_send *send, int error);
/* The flow's peer is dead. */
void gamma_coll_run_failed(struct gamma_fi_ep *ep, struct gamma_flow *flow, int error,
			   const char *cause);
/* A flow ends; other: the one that takes its place, or NULL. */
void gamma_coll_run_replace(struct gamma_fi_ep *ep, const struct gamma_flow *flow,
			    struct gamma_flow *other);

#endif /* GAMMA_PROV_COLL_H */
