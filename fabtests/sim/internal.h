/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The simulator's parts, shared by the files of this folder only; sim.h is its surface. */
#ifndef GAMMA_SIM_INTERNAL_H
#define GAMMA_SIM_INTERNAL_H

#include "sim.h"
#include "totals.h"

enum { TENANT = 1000, RULES_MAX = 32, OLD_FRAMES = 64, FAILURE_LEN = 1024 };

/* ---- event.c: a binary heap ordered by time, then by insertion ---- */
enum event_kind {
	EVENT_SWITCH, /* a frame reaches the switch */
	EVENT_HOST,   /* a frame reaches its host */
	EVENT_NODE,   /* a node's turn to make progress */
	EVENT_POST,   /* an application posts a receive, */
	EVENT_SEND,   /* or sends */
	EVENT_BACK,   /* a killed endpoint's port is taken again */
	EVENT_CALL,   /* sim_at */
};

struct event {
	uint64_t time;  /* ns */
	uint64_t order; /* of insertion */
	enum event_kind kind;
	uint32_t life; /* incarnation of the node that is meant, where that matters */
	void *what;
};

struct heap {
	struct event *events;
	size_t count, size;
	uint64_t inserted;
};

void event_push(struct heap *heap, struct event event);
struct event event_pop(struct heap *heap);
void event_free(struct heap *heap);

/* ---- wire.c: frames, cables, switch, rings ---- */
struct frame {
	struct frame *next; /* in a ring, or in the free list */
	uint16_t from, to;
	uint8_t rail;  /* the NICs' place */
	uint8_t ecn;   /* enum gamma_ecn_mark */
	uint16_t port; /* UDP port that it left from, network order */
	uint8_t class; /* of its size, for the free lists */
	uint32_t life; /* of its sender, when it left */
	bool copied;   /* a duplicate or a replay */
	bool damaged;
	struct gamma_fields fields;
	struct sim_message *message; /* of DATA: whose payload; NULL: the message has ended */
	uint32_t carries; /* bytes of the DATA frame's payload, also if this is only a part of it */
	size_t len;       /* bytes */
	uint64_t landed;  /* ns: when it came into the ring, or, to be replayed, was kept */
	uint8_t bytes[];
};

enum { FRAME_CLASSES = 3 };

/* ---- attacker.c ---- */
struct attacker {
	uint64_t random;                    /* state of its dice */
	uint64_t until;                     /* ns: it stops then */
	uint64_t pause;                     /* ns between two of its frames, on average */
	bool says_bye;                      /* with all numbers right */
	struct frame *recorded[OLD_FRAMES]; /* copies of the others' */
	uint32_t count;                     /* ever recorded */
};

/* ---- node.c ---- */
enum node_state {
	NODE_ALIVE,
	NODE_CLOSING, /* waits for acknowledgements */
	NODE_PARTING, /* has said BYE */
	NODE_GONE,
};

/* ---- port.c ---- */
enum { PORT_LENT = 64 /* messages of one slot */ };

/* Messages to a node's active ports. */
struct ports {
	struct gamma_list arrived;           /* struct gamma_inbound, as they came */
	struct sim_message *lent[PORT_LENT]; /* handled where they are: */
	const uint8_t *lent_at[PORT_LENT];
	unsigned lent_count, lent_next;
	uint32_t *blocked; /* by sender: the last search that found a message of it on its way; the
			    * highest: a demoted one is */
	uint32_t searches;
	struct sim_message *running; /* whose handler runs, or NULL; then also: */
	const uint8_t *bytes;        /* its message's */
	uint8_t *taken;              /* the same if they are to be freed, or NULL */
	uint64_t until;              /* ns: when it ends */
	uint32_t order;              /* messages that have come */
	bool polls;                  /* this progress call may lend */
};

/* Between a NIC and the switch. */
struct cable {
	uint64_t nic_free;       /* ns: the NIC has sent everything by then */
	uint64_t port_free;      /* ns: ditto the switch's port to it */
	uint64_t last_at_switch; /* ns: no frame without reordering arrives there before */
	uint64_t cut_until;      /* ns: its frames vanish until then */
	uint64_t down_until;     /* ns: the NIC takes none until then */
};

/* A rail's NIC. */
struct nic {
	struct node *node;
	unsigned rail; /* its place among the host's */
	struct gamma_link link;
	struct frame *ring_head, **ring_tail;
	uint32_t ring_count;
	bool reads; /* its oldest frame has been taken and not released */
	struct cable own_cable;
	struct cable *cable; /* that one, or its twin's */
};

struct node {
	struct sim *sim;
	unsigned index;
	struct gamma_endpoint ep;
	struct nic nics[SIM_RAILS_MAX];
	uint32_t known_mtu; /* bytes: of the link, as far as the endpoint can know */
	enum node_state state;
	uint32_t life;             /* incarnations before this one */
	uint32_t epoch;            /* of this one */
	uint32_t known_epoch;      /* the epoch that the other nodes know */
	struct gamma_train *train; /* NULL: frames come and go one by one */
	uint32_t train_frames;     /* of the ring, that the train still has */
	uint64_t buffer;           /* bytes: the receive buffer of a node with trains, */
	uint64_t buffer_free;      /* the part of it that takes frames, */
	uint64_t buffer_kept;      /* and the one that was read but is still counted as full */
	uint64_t train_delay;      /* ns that the train that leaves is delayed */
	bool train_cut;            /* what leaves now of that train gets lost */
	uint64_t run_at;           /* ns: of the EVENT_NODE that counts */
	uint64_t busy;             /* ns: the processor is taken until then */
	uint64_t away;             /* ns: the application does not poll before */
	uint64_t away_since;
	bool stopped; /* its thread does not run either */
	bool watched;
	bool excused;           /* its messages may end with an error */
	bool rebooted;          /* at some time in the run */
	uint64_t closing_until; /* ns */
	uint64_t refuses;       /* ns: its link refuses frames until then */
	bool bad_cable;         /* it has burst losses now */
	uint64_t *cut_until;    /* ns, by peer: frames to it vanish until then */
	struct ports ports;
	uint32_t idle_runs; /* progress calls in a row without any frame */
	uint32_t runs;
};

struct sim {
	struct sim_config config;
	struct node *nodes;
	uint64_t now;
	uint64_t random;
	uint64_t digest;
	uint64_t steps;
	struct heap heap;
	struct frame *free_frames[FRAME_CLASSES];
	struct frame *old[OLD_FRAMES]; /* copies, for replays */
	uint32_t old_count;            /* ever stored */
	struct sim_message **messages;
	unsigned message_count;
	struct sim_remote **remotes;
	unsigned remote_count;
	struct area **areas; /* by the node that it is at, and the peer that it is for */
	struct sim_chances chances;
	struct sim_rule rules[RULES_MAX];
	unsigned rule_count;
	struct sim_tap tap;
	struct totals totals;
	bool quiet;    /* nothing has been lost, duplicated or reordered so far */
	bool shrunk;   /* the switch's MTU has been lowered */
	bool virtual;  /* NICs are virtual: they refuse what the switch would drop as too large */
	bool attacked; /* frames were forged */
	bool lossless; /* no fault was drawn but an attack */
	struct attacker attacker;
	bool verbose;
	struct pcap *pcap;
	char failure[FAILURE_LEN]; /* empty: none */
};

static inline struct node *node_of(struct sim *sim, unsigned index)
{
	return &sim->nodes[index];
}

static inline bool failed(const struct sim *sim)
{
	return sim->failure[0];
}

static inline void digest(struct sim *sim, uint64_t value)
{
	sim->digest = (sim->digest ^ value) * 0x9e3779b97f4a7c15ull;
	sim->digest ^= sim->digest >> 29;
}

void sim_push(struct sim *sim, uint64_t when, enum event_kind kind, uint32_t life, void *what);

extern const struct gamma_link_ops wire_link_ops;
void wire_at_switch(struct sim *sim, struct frame *frame);
void wire_at_host(struct sim *sim, struct frame *frame);
struct frame *wire_frame_copy(struct sim *sim, const struct frame *frame);
/* A frame of the attacker's, from the host that it claims to come from. */
struct frame *wire_frame_new(struct sim *sim, const uint8_t *bytes, size_t len);
void wire_frame_free(struct sim *sim, struct frame *frame);
void wire_drop(struct sim *sim, struct frame *frame, enum sim_fault why);
/* A frame of these bytes behind the Ethernet header of `from`, which it was made as. */
void wire_transmit(struct node *node, const struct gamma_frame *from, const uint8_t *bytes,
		   size_t len);
void wire_ring_pop(struct nic *nic); /* the oldest frame is done with */
void wire_ring_clear(struct node *node);
void wire_free(struct sim *sim);
uint64_t wire_rate(const struct sim *sim, unsigned node);
uint64_t wire_time(uint64_t bytes, uint64_t rate); /* ns, framing included */

/* ---- train.c ---- */
/* An endpoint begins, with a receive buffer for config.slots frames; returns the frames that the
 * product counts on. */
uint32_t train_open(struct node *node, uint32_t mtu);
bool train_has_room(const struct node *node, const struct frame *frame);
void train_landed(struct node *node, const struct frame *frame); /* in the receive buffer */
void train_transmit(struct node *node, const struct gamma_frame *frames, unsigned count);
bool train_next(struct node *node, struct gamma_arrival *arrival);
void train_release(struct node *node);
void train_clear(struct node *node);

/* ---- fault.c ---- */
/* What happens to a frame on its cable; delay: ns, of REORDER and of a duplicate. */
enum sim_fault fault_of(struct sim *sim, const struct frame *frame, uint64_t *delay);
void fault_count(struct sim *sim, enum sim_fault fault);
void fault_damage(struct sim *sim, struct frame *frame, enum sim_fault how);
bool fault_now(const struct sim *sim, uint32_t per_million_set);
bool fault_chance(struct sim *sim, uint32_t per_million);
void fault_remember(struct sim *sim, const struct frame *frame);
/* One of these, to be replayed after that delay (ns), or NULL. */
const struct frame *fault_recall(struct sim *sim, uint64_t delay);

/* ---- attacker.c ---- */
void attacker_record(struct sim *sim, const struct frame *frame);
void attacker_free(struct sim *sim);

/* ---- sim.c ---- */
/* A list of that many pointers, all of them used, with room for one more. */
void *sim_grow_list(void *list, unsigned count);

/* ---- node.c ---- */
void node_init(struct sim *sim, unsigned index);
void node_end(struct node *node);  /* the endpoint and all that it holds */
void node_wake(struct node *node); /* there may be work for it */
void node_run(struct node *node);
void node_back(struct node *node);
struct gamma_flow *node_flow_to(struct node *node, unsigned peer, bool partial);

/* ---- app.c ---- */
extern const struct gamma_endpoint_handlers app_handlers;
void app_taken(struct sim_message *message, uint32_t payload);
/* The receive that a message's bytes go into. */
struct gamma_recv *app_consume(struct sim_message *message);
void app_node_ended(struct node *node);
void app_node_back(struct node *node);
void app_free(struct sim *sim);
void app_event(struct sim *sim, struct event event);

/* ---- port.c ---- */
/* The message of an envelope to a port. */
static inline uint32_t port_message_id(const struct gamma_envelope *envelope)
{
	return (uint32_t) envelope->tag;
}
void port_begin(struct node *node);
/* Before a progress call, and after it. */
void port_allow(struct node *node);
void port_run(struct node *node);
uint64_t port_due(struct node *node);
/* A whole message: true if it is handled where it is. */
bool port_lend(struct node *node, struct sim_message *message, const uint8_t *bytes);
void port_later(struct node *node, struct sim_message *message, struct gamma_inbound *inbound);
/* Bytes that had stayed with their sender have come, or never will. */
void port_received(struct node *node, struct sim_message *message, const uint8_t *bytes, int error);
void port_end(struct node *node);

/* ---- remote.c ---- */
extern const struct gamma_rma_target remote_target;
void remote_sent(struct node *node, struct gamma_send *send, int error);
bool remote_settled(struct sim *sim);
void remote_explain(struct sim *sim); /* fails and names what has not ended */
void remote_node_ended(struct node *node);
void remote_check_end(struct sim *sim);
void remote_free(struct sim *sim);

/* ---- check.c ---- */
void check_step(struct node *node);     /* after every progress call and every frame accepted */
void check_progress(struct node *node); /* after a progress call */
void check_ring_drop(struct node *node, const struct frame *frame);
void check_closed(struct node *node);
/* All is whole again, and was for seconds: whether each rail is used. */
bool check_rails(struct sim *sim, bool fail);

/* ---- pcap.c ---- */
struct pcap *pcap_open(const char *path);
void pcap_add(struct pcap *pcap, uint64_t time, const uint8_t *bytes, size_t len);
void pcap_close(struct pcap *pcap); /* writes the file, in order of time */

/* ---- memory.c: counts what this program holds ---- */
extern uint64_t memory_live;      /* blocks */
extern uint64_t memory_bytes;     /* in them */
extern uint64_t memory_bytes_max; /* since it was last set */

#endif /* GAMMA_SIM_INTERNAL_H */
