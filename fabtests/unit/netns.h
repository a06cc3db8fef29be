/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A network namespace of the test program's own, gone with it:
 *
 *   lo, up; and
 *   g0 02:00:00:00:00:00  ---- veth pair ----  g1 02:00:00:00:00:01, MTU 9000, both up
 */
#ifndef GAMMA_TEST_NETNS_H
#define GAMMA_TEST_NETNS_H

#include "unit.h"

#include <sys/types.h>

#include "wire/wire.h"

static const uint8_t mac0[GAMMA_MAC_LEN] = {2, 0, 0, 0, 0, 0};
static const uint8_t mac1[GAMMA_MAC_LEN] = {2, 0, 0, 0, 0, 1};

/* cmocka's group setup; without root or `ip` netns_needed skips. */
int netns_setup(void **state);
/* Adds the veth pair g0 and g1 again, after a test that removed it. */
bool netns_add_nics(void);
/* First line of every test that needs it. */
void netns_needed(void);
/* Runs a command of `ip`; 0: it worked. */
int netns_ip(const char *arguments);

/* Waits until fd00::HOST, just added, is the namespace's own address, which a thread of the kernel
 * does later: from then on a datagram to itself arrives. */
void netns_await_ipv6(uint8_t host);

/* A socket on the loopback with a linger time of one hour: its last close blocks for that long, as
 * its peer reads nothing. -1: there is none. */
int netns_lingering(void);
/* Waits for a child that may block like that; false: it does. Its exit status must be 0. */
bool netns_ends(pid_t child);

#endif /* GAMMA_TEST_NETNS_H */
