/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What gammaping's files share: the steps and their state (gammaping.c), requests and answers on
 * the wire (lookup.c), the links (links.c), the other end (listen.c).
 */
#ifndef GAMMAPING_H
#define GAMMAPING_H

#include <signal.h>

#include "nic/resolve.h"
#include "engine/endpoint.h"
#include "nic/select.h"
#include "link/packet.h"
#include "link/port.h"
#include "shm/shm.h"

struct lookup_answer {
	uint8_t op;             /* enum gamma_lookup_op */
	uint16_t port;          /* of the endpoint that answers */
	uint32_t tenant;        /* its user */
	struct gamma_addr addr; /* FOUND: its address */
};

struct ping {
	/* options */
	const char *iface, *host, *service, *broker;
	unsigned long count;      /* 0: until interrupted */
	double interval, timeout; /* seconds */
	uint32_t size;            /* bytes of payload */
	uint16_t ethertype;
	bool quiet, listen;
	/* this host */
	struct gamma_conf *conf;
	struct gamma_nic *nics;
	size_t nic_count;
	const struct gamma_nic *nic;
	struct gamma_link *packet;
	struct gamma_shm *shm;
	struct gamma_stats stats;
	uint16_t own_port;
	uint8_t own_mac[GAMMA_MAC_LEN]; /* the NIC's, or a slot's */
	uint32_t tenant;                /* user id */
	bool through_slot;              /* no CAP_NET_RAW: all goes through a slot of gammad */
	uint32_t epoch;
	uint32_t seq;
	uint8_t *zeros; /* 64 KiB of payload */
	/* the peer */
	struct gamma_resolved peer;
	bool same_host;
	struct lookup_answer found;
	bool failed; /* a step failed that does not end the run */
};

/* SIGINT or SIGTERM was received: end soon. */
extern volatile sig_atomic_t gammaping_interrupted;

/* gammaping.c: prints one line to standard error and exits. */
void gammaping_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

/* links.c: whether gammad gives out slots on the NIC to this user. */
bool links_may_have_slot(const struct ping *ping);
/* Open the links on the NIC, or a slot of it, and set what is this end's. 0 or a negative errno. */
int links_open_nic(struct ping *ping);
int links_open_slot(struct ping *ping);

/* lookup.c: sends a request with payload bytes of padding; 0 or a negative errno. */
int lookup_send(struct ping *ping, uint16_t port, uint32_t payload);
/* The next answer to the latest request; false: none until then (ns) or before an interrupt. */
bool lookup_wait(struct ping *ping, uint64_t until, struct lookup_answer *answer);

/* listen.c: answers until interrupted; returns the exit status. */
int listen_run(const struct ping *ping);

#endif /* GAMMAPING_H */
