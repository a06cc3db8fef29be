/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The network links of an endpoint: one, or one for each rail. */
#ifndef GAMMA_ENGINE_LINKS_H
#define GAMMA_ENGINE_LINKS_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/address.h"

struct gamma_endpoint;
struct gamma_endpoint_attr;
struct gamma_link;
struct gamma_local;

/* Of a rail but the first, whose link is endpoint->packet. */
struct gamma_rail_link {
	struct gamma_link *link;
	uint64_t until;  /* ns: it takes no frame before; 0: it does */
	uint32_t stalls; /* in a row, nothing taken in between */
	int port_fd;     /* owns the port on that NIC; -1: nothing does */
	/* Of one over UDP, beside raw ones: */
	uint32_t idle;    /* looks at it in a row that found nothing */
	uint32_t skipped; /* times that gamma_links_wait was called since the last look */
	uint64_t look_at; /* ns: when it is looked at next if it is idle */
	bool due;         /* it is to be looked at */
};

enum {
	GAMMA_LINKS_IDLE = 256,   /* looks that found nothing: then it is looked at seldom, */
	GAMMA_LINKS_LOOK_US = 50, /* so much later at the earliest; */
	GAMMA_LINKS_SKIP = 64,    /* polls between two times that the clock is read for that */
	GAMMA_LINKS_EXPECT = 128, /* looks one after the other when frames are expected */
	GAMMA_LINKS_DEFER = 4,    /* polls that a look waits while the program may be answering */
};

/* One more rail: of a NIC with that MAC address and MTU; udp: over UDP, beside raw ones, each on
 * the NIC of the raw one at the same place. The first call is for the first rail, whose link is
 * there already. */
void gamma_links_add(struct gamma_endpoint *endpoint, struct gamma_link *link,
		     const uint8_t mac[GAMMA_MAC_LEN], bool udp);
/* All of them, in order; their links are open. Nothing if the endpoint has one NIC. */
void gamma_links_begin(struct gamma_endpoint *endpoint, const struct gamma_endpoint_attr *attr);
/* The link over UDP that the endpoint has opened unasked (open.c) is its second rail from now on.
 * False: there is none, or no memory. For gamma_local. */
bool gamma_links_use_udp(struct gamma_local *local);
/* Credit is for the smallest ring, so that frames may come by any rail: slots, or those of this
 * link's if it has fewer; NULL: none. */
uint32_t gamma_links_slots(uint32_t slots, const struct gamma_link *link);
/* Of the endpoint's smallest ring. */
uint32_t gamma_links_least_slots(const struct gamma_endpoint *endpoint);
/* From that one on, which is not the first rail. */
void gamma_links_close(struct gamma_endpoint *endpoint, unsigned first);
/* The first link over UDP beside raw ones, used or not; NULL: there is none. */
struct gamma_link *gamma_links_udp(const struct gamma_endpoint *endpoint);
struct gamma_link *gamma_links_of_rail(const struct gamma_endpoint *endpoint, uint8_t rail);
/* The rail that frames of this link come by; 0 also if it is none's. */
uint8_t gamma_links_rail(const struct gamma_endpoint *endpoint, const struct gamma_link *link);
/* Once in a poll: whether another rail than the first may have frames. */
bool gamma_links_wait(struct gamma_endpoint *endpoint);
/* Whether to look at that rail in this poll. A look at one over UDP costs a system call, as much as
 * a short message may take by a raw one: unless frames come by it, it is seldom worth while. */
bool gamma_links_is_due(const struct gamma_endpoint *endpoint, uint8_t rail);
/* It is looked at now. */
void gamma_links_look(struct gamma_endpoint *endpoint, uint8_t rail);
/* So many frames were found there. */
void gamma_links_looked(struct gamma_endpoint *endpoint, uint8_t rail, unsigned taken);
/* Frames may come over UDP now. */
void gamma_links_expect(struct gamma_endpoint *endpoint);
/* Full frames in the longest train of any link; 0: none has trains. */
unsigned gamma_links_train(const struct gamma_endpoint *endpoint);
/* Whether frames have come in trains lately. */
bool gamma_links_brings_trains(const struct gamma_endpoint *endpoint);
/* Before sleeping: true if another one has a frame already. */
bool gamma_links_arm(struct gamma_endpoint *endpoint);
/* Some peers are on other subnets: routers may mark frames. */
void gamma_links_cross(struct gamma_endpoint *endpoint);
/* The shortest round trip to a peer by that rail, ns; 0: none was measured. */
uint64_t gamma_links_round_trip(const struct gamma_endpoint *endpoint, uint8_t rail);
/* Uses NICs again that were removed and are back with another index, or whose MTU had become too
 * small; ends all flows if the first one's has. Called often. */
void gamma_links_look_for_nics(struct gamma_endpoint *endpoint, uint64_t now);
/* Looks at NICs by which no frame comes any more, though others bring some. Called about once in a
 * millisecond. */
void gamma_links_look_at_carriers(struct gamma_endpoint *endpoint, uint64_t now);
/* Reads the kernel's counters of all but the first. */
void gamma_links_count(const struct gamma_endpoint *endpoint);

#endif /* GAMMA_ENGINE_LINKS_H */
