/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Endpoints of this process on real links: two on g0, connected by shared memory, and one on g1,
 * across the veth pair (see netns.h).
 */
#ifndef GAMMA_TEST_SIDES_H
#define GAMMA_TEST_SIDES_H

#include "netns.h"

#include "engine/endpoint.h"

enum { LENGTH_MAX = 1 << 20, TENANT = 0 };

/* An endpoint with at most one receive and one send under way. */
struct side {
	struct gamma_endpoint *ep;
	struct gamma_recv recv;
	struct gamma_send send;
	uint8_t *in, *out; /* LENGTH_MAX bytes */
	bool posted, received, sent;
	bool endless;      /* the receive is posted again as soon as it has matched */
	unsigned messages; /* received */
	uint64_t lends;    /* messages of so many bytes are lent, not received; 0: none */
	unsigned lent;     /* messages */
	int receive_error, send_error;
	uint64_t placed;
	char cause[128];
	unsigned datagrams, gone;
	uint64_t datagram_length, datagram_data;
	struct gamma_addr datagram_source;
};

enum { A, B, FAR };
extern struct side sides[3];
extern const struct gamma_endpoint_handlers side_handlers;

/* What an endpoint of that side is created with. */
struct gamma_endpoint_attr side_attr(unsigned which);
void open_side(unsigned which, bool datagram);
void open_side_with(unsigned which, const struct gamma_endpoint_attr *attr);
/* The same again, with so much shared memory for each peer of this host. */
void open_again(unsigned which, uint64_t shm_bytes);
/* The same again, with these attributes. */
void reopen_side(unsigned which, struct gamma_endpoint_attr attr);
void close_side(unsigned which);
/* Pseudo addresses of A and FAR over UDP, by the loopback interface: both ends are on this host. */
extern const uint8_t udp0[GAMMA_MAC_LEN], udp1[GAMMA_MAC_LEN];
struct gamma_endpoint_nic side_over_udp(unsigned which);
/* What these need; skips the test where there are no namespaces. */
void sides_add_ip_addresses(void);
int sides_setup(void **state);
int sides_setup_datagram(void **state);
int sides_teardown(void **state);
/* Moves all endpoints until the flag is set, for 5 s at most. */
void until(const bool *flag);
/* Runs it, which opens the endpoints anew, until the processor was never taken away for long
 * meanwhile: counters are those of a calm machine then. Skips the test on one that never is. */
void run_calmly(void (*run)(void));
void post(struct side *side, uint64_t length);
int start_send(struct side *from, const struct gamma_addr *to, uint64_t length);
void exchange(unsigned from, unsigned to, uint64_t length);
const struct gamma_stats *side_stats(unsigned which);

#define EP_TEST(name)    cmocka_unit_test_setup_teardown(name, sides_setup, sides_teardown)
#define DGRAM_TEST(name) cmocka_unit_test_setup_teardown(name, sides_setup_datagram, sides_teardown)

#endif /* GAMMA_TEST_SIDES_H */
