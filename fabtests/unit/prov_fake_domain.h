/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A fabric and a domain of the provider on a NIC that does not exist, for unit tests of the
 * provider's objects. Nothing touches the network.
 */
#ifndef GAMMA_TEST_PROV_FAKE_DOMAIN_H
#define GAMMA_TEST_PROV_FAKE_DOMAIN_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "gamma.h"

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

/* An address of a peer: the last byte of its MAC, its port and epoch (host order). */
struct gamma_addr fake_addr(uint8_t last, uint16_t port, uint32_t epoch);

/* ms of the clock since start (from gamma_now). */
unsigned int elapsed_ms(uint64_t start);

#endif /* GAMMA_TEST_PROV_FAKE_DOMAIN_H */
