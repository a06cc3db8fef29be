/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Shared by gammaping's files: the steps and their state (gammaping.c; over UDP udp_walk.c),
 * requests and answers on the wire (lookup.c), the links (links.c, udp_link.c), the NICs of an
 * endpoint with several (rails.c), the round trips (round_trips.c), the other end (listen.c).
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
	uint8_t op;                    /* enum gamma_lookup_op */
	uint16_t port;                 /* of the endpoint that answers */
	uint32_t tenant;               /* its user */
	struct gamma_addr addr;        /* FOUND: its address */
	struct gamma_rails_list rails; /* ditto: its NICs; count 0: one, or an older release */
};

/* Where the other end listens over UDP if no port is given: nobody can be asked for a list. */
enum { PING_UDP_PORT = 47593 };

enum { PING_EXIT_LOST = 1, PING_EXIT_SETUP = 2 };

/* Over UDP: what a host, a router or the own kernel has reported of a question. */
struct ping_icmp {
	bool known;
	bool local;           /* by this host's kernel */
	bool ipv6;            /* of ICMPv6 */
	uint8_t type, code;   /* of ICMP */
	int error;            /* errno */
	uint32_t mtu;         /* bytes of a packet; 0: none was reported */
	struct gamma_ip from; /* len 0: unknown */
};

struct ping {
	/* options */
	const char *iface, *host, *service, *broker;
	unsigned long count;      /* 0: until interrupted */
	double interval, timeout; /* seconds */
	uint32_t size;            /* bytes of payload */
	uint16_t ethertype;
	bool quiet, listen, udp;
	bool ipv6;        /* over UDP: asked for, or the host has no IPv4 address */
	bool udp_allowed; /* by FI_GAMMA_LINK, where there is nothing else */
	/* this host */
	struct gamma_conf *conf;
	struct gamma_nic *nics;
	size_t nic_count;
	const struct gamma_nic *nic;
	const char *more_names; /* of the NICs behind it, from a comma on; NULL: none */
	const struct gamma_nic *more[GAMMA_RAILS_MAX - 1];
	unsigned more_count;
	struct gamma_link *packet;
	struct gamma_shm *shm;
	struct gamma_stats stats;
	uint16_t own_port;
	uint8_t own_mac[GAMMA_MAC_LEN]; /* the NIC's, or a slot's */
	uint32_t tenant;                /* user id */
	bool through_slot;              /* no CAP_NET_RAW: all goes through a slot of gammad */
	uint32_t epoch;
	uint32_t seq;    /* of the latest request */
	uint32_t oldest; /* an answer to a request before it is too late */
	uint8_t *zeros;  /* 64 KiB of payload */
	/* the peer */
	struct gamma_resolved peer;
	bool same_host;
	struct lookup_answer found;
	struct ping_icmp icmp;
	bool failed; /* a step failed that does not end the run */
};

static inline uint64_t gammaping_seconds(double s)
{
	return (uint64_t) (s * (double) GAMMA_NS_PER_S);
}

/* SIGINT or SIGTERM was received: end soon. */
extern volatile sig_atomic_t gammaping_interrupted;

/* gammaping.c: prints one line to standard error and exits. */
void gammaping_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

/* A line for a step, and a line below it. */
void gammaping_say(const struct ping *ping, const char *step, bool ok, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
void gammaping_hint(const char *text);

/* The NIC with that name or MAC address; NULL: there is none. */
const struct gamma_nic *gammaping_find_nic(const struct ping *ping, const char *name);
/* Whether frames of so many bytes reach the endpoint that was found. */
bool gammaping_passes(struct ping *ping, uint32_t mtu);

/* links.c: whether gammad gives out slots on the NIC to this user. */
bool links_may_have_slot(const struct ping *ping);
/* Of this host: none is set up, it does not run, it runs. */
enum ping_gammad { PING_GAMMAD_NONE, PING_GAMMAD_STOPPED, PING_GAMMAD_RUNS };
enum ping_gammad links_find_gammad(const struct ping *ping);
/* Open the links on the NIC, or a slot of it, and set what is this end's. 0 or a negative errno. */
int links_open_nic(struct ping *ping);
int links_open_slot(struct ping *ping);
int links_make_epoch(struct ping *ping);
/* The one of these that fits. */
int links_open(struct ping *ping);
/* udp_link.c: the same, over UDP. */
int links_open_udp(struct ping *ping);

/* udp_walk.c: the address that a pseudo MAC address stands for, and steps over UDP. */
struct gamma_ip_text udp_walk_ip(const struct ping *ping, const uint8_t mac[GAMMA_MAC_LEN]);
void udp_walk_say_nic(const struct ping *ping, const char *speed);
void udp_walk_say_name(const struct ping *ping);
void udp_walk_lookup(struct ping *ping);
void udp_walk_mtu(struct ping *ping);

/* lookup.c: a new question: answers to the requests so far are too late. */
void lookup_begin(struct ping *ping);
/* Sends a request with payload bytes of padding; 0 or a negative errno. */
int lookup_send(struct ping *ping, uint16_t port, uint32_t payload);
/*
 * The next answer to a request since lookup_begin; false: none until then (ns) or before an
 * interrupt.
 */
bool lookup_wait(struct ping *ping, uint64_t until, struct lookup_answer *answer);
/* Asks the peer that was found until it answers, so often, each time for that long (ns). */
bool lookup_ask(struct ping *ping, uint32_t payload, int tries, uint64_t share);

/* rails.c: the first of several names is the NIC; the NICs of the others; the step. */
void rails_take_names(struct ping *ping, const char *names);
void rails_find_nics(struct ping *ping);
void rails_step(struct ping *ping);

/* round_trips.c: the last step; returns the exit status. */
int round_trips_step(struct ping *ping);

/* listen.c: answers until interrupted; returns the exit status. */
int listen_run(const struct ping *ping);

#endif /* GAMMAPING_H */
