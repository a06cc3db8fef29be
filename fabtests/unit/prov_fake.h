/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the tests of the provider's objects stand on: a fabric and a domain on a NIC that does
 * not exist, and endpoints that do as they are told. Nothing touches the network.
 */
#ifndef GAMMA_TEST_PROV_FAKE_H
#define GAMMA_TEST_PROV_FAKE_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "gamma.h"

/* An endpoint that on_progress stands for. */
struct gamma_fi_ep {
	struct gamma_list entry;
	struct gamma_domain *domain;
	void (*on_progress)(struct gamma_fi_ep *ep); /* or NULL */
	void *arg;
	uint64_t deadline; /* ns */
	bool ready;
	bool disarmed;  /* nothing would wake who sleeps */
	bool watched;   /* somebody sleeps */
	int fd;         /* eventfd to sleep on; -1: none */
	int progressed; /* calls */
};

struct fake {
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct gamma_domain *gamma_domain;
};

/* cmocka's setup and teardown; *state is a struct fake. */
int fake_setup(void **state);
int fake_teardown(void **state);
/* The same for an application of an older libfabric, at another threading or progress. */
struct fake *fake_open(uint32_t api_version, enum fi_threading threading,
		       enum fi_progress progress);
void fake_close(struct fake *fake);

void fake_ep_enable(struct gamma_fi_ep *ep, struct fake *fake);
void fake_ep_disable(struct gamma_fi_ep *ep);
/* Makes its descriptor readable, as a frame would. */
void fake_ep_poke(struct gamma_fi_ep *ep);
void fake_ep_quiet(struct gamma_fi_ep *ep);

/* An address of a peer: the last byte of its MAC, its port and epoch (host order). */
struct gamma_addr fake_addr(uint8_t last, uint16_t port, uint32_t epoch);

/* ms of the clock since start (from gamma_now). */
unsigned int elapsed_ms(uint64_t start);

#endif /* GAMMA_TEST_PROV_FAKE_H */
