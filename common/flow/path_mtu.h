/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The largest frame that reaches a peer. */
#ifndef GAMMA_FLOW_PATH_MTU_H
#define GAMMA_FLOW_PATH_MTU_H

#include <stdbool.h>
#include <stdint.h>

struct gamma_fields;
struct gamma_flow;
struct gamma_local;
struct gamma_sent;

struct gamma_path_mtu {
	uint32_t mtu;      /* bytes after the Ethernet header, in use now on the first rail */
	uint32_t frame;    /* bytes: the same of the rail that the next frame takes */
	uint32_t large;    /* bytes: frames above this are evidence of what passes */
	uint32_t doubted;  /* size that passed before, or should have; 0: no doubt */
	uint32_t peer_mtu; /* the peer's own, 0: not known yet */
	uint32_t target;   /* size being probed, 0: none */
	uint32_t
		unanswered; /* size whose probes went unanswered, 0: none; answers may still come */
	uint32_t probe;     /* number of the last padded probe; they begin at random */
	uint64_t verified;  /* ns: when a padded probe last left only for the MTU in its answer */
	uint32_t verify_from; /* number of the first one whose answer counts for that */
	bool unverified;      /* the peer is said to have a smaller MTU, which is to be confirmed */
	uint8_t verifies;     /* padded probes for that, but the first */
	uint32_t first;       /* number of the first one whose answer counts */
	uint64_t asked;       /* ns: when the last padded probe was asked for */
	uint64_t asked_serial;   /* transmissions before it; UINT64_MAX: it has not left */
	bool not_taken;          /* the link refused it */
	uint8_t tries;           /* padded probes lost while other frames passed */
	uint8_t unsent;          /* padded probes that the link did not take */
	bool settled;            /* nothing larger to try */
	bool proven;             /* the target has passed before: the path is doubted */
	bool lowered;            /* the own MTU is smaller than the one announced to the peer */
	uint8_t losses;          /* of the large frame `suspect` in a row, while no other passed */
	uint32_t suspect;        /* its number */
	uint64_t suspect_serial; /* of its first transmission that was lost */
	uint32_t suspect_len;    /* its payload, bytes: shorter frames say nothing of it */
	uint64_t suspect_time;   /* ns: when it was lost first */
	bool blocked;            /* not even frames of the least size pass: the flow ends */
	uint64_t passed;         /* serial of the latest large transmission that arrived */
	uint64_t refused; /* ns: since when the link has refused large frames, 0: it has not */
};

/* Bytes that the frames of every Ethernet carry, whatever the own NIC's MTU is. */
uint32_t gamma_path_mtu_safe(const struct gamma_local *local);
void gamma_path_mtu_init(struct gamma_flow *flow);
/* The peer's MTU as its address, or an answer of its own, says. */
void gamma_path_mtu_learned(struct gamma_flow *flow, uint16_t peer_mtu, uint64_t now);
/* The same as any frame says: a smaller one must be confirmed. */
void gamma_path_mtu_advertised(struct gamma_flow *flow, const struct gamma_fields *fields,
			       uint64_t now);
/* The answer to the padded probe of that number. */
void gamma_path_mtu_probed(struct gamma_flow *flow, uint32_t size, uint32_t probe);
void gamma_path_mtu_unsent(struct gamma_flow *flow); /* the link took no padded probe */
void gamma_path_mtu_timeout(struct gamma_flow *flow, uint64_t now);
/* A DATA frame has arrived; evidence says that it is lost; the link did not take a large one. */
void gamma_path_mtu_delivered(struct gamma_flow *flow, const struct gamma_sent *sent);
void gamma_path_mtu_lost(struct gamma_flow *flow, uint32_t seq, uint64_t now);
void gamma_path_mtu_refused(struct gamma_flow *flow, uint64_t now);
/* The own NIC's MTU has been lowered under its flows. */
void gamma_path_mtu_set_own(struct gamma_local *local, uint32_t mtu);

#endif /* GAMMA_FLOW_PATH_MTU_H */
