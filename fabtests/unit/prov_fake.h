/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Endpoints that a test scripts, for unit tests of the objects that endpoints report to: queues,
 * counters, progress. Linked in place of ep.c.
 */
#ifndef GAMMA_TEST_PROV_FAKE_H
#define GAMMA_TEST_PROV_FAKE_H

#include "prov_fake_domain.h"

/* An endpoint whose progress is on_progress. */
struct gamma_fi_ep {
	struct gamma_list entry;
	struct gamma_domain *domain;
	void (*on_progress)(struct gamma_fi_ep *ep); /* or NULL */
	void *arg;
	uint64_t deadline; /* ns */
	bool ready;
	bool disarmed;  /* nothing would wake a sleeping thread */
	bool watched;   /* a thread sleeps */
	int fd;         /* eventfd to sleep on; -1: none */
	int progressed; /* calls */
};

void fake_ep_enable(struct gamma_fi_ep *ep, struct fake *fake);
void fake_ep_disable(struct gamma_fi_ep *ep);
/* Makes its descriptor readable, as a frame would. */
void fake_ep_poke(struct gamma_fi_ep *ep);
void fake_ep_quiet(struct gamma_fi_ep *ep);

#endif /* GAMMA_TEST_PROV_FAKE_H */
