/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What tests of rails share: two endpoints with two rails each, in virtual time. */
#ifndef GAMMA_TEST_RAILS_FIXTURE_H
#define GAMMA_TEST_RAILS_FIXTURE_H

#include "pair_fixture.h"

enum { LONG = 1 << 20, EAGER = 16384 };

static inline struct gamma_rail *rail(unsigned from, unsigned r)
{
	return &net_flow(net, from, 1 - from)->rails->rail[r];
}

static inline void send_long(unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		net_post(net, 1, LONG);
		net_send(net, 0, 1, LONG, GAMMA_WHEN_ARRIVED);
	}
}

static inline void forge_list(uint8_t op, struct gamma_rails_list list, bool crc)
{
	struct gamma_fields fields = net_fields(net, 0, 1, GAMMA_KIND_PROBE, op);

	fields.payload_len = sizeof(list);
	fields.extensions = crc ? GAMMA_EXT_PAYLOAD_CRC : 0;
	fields.payload_crc = gamma_crc32c(0, &list, sizeof(list));
	net_forge(net, 0, 1, &fields, &list);
	net_run(net, MS);
}

static inline struct net *two_nics(uint64_t second_latency, uint32_t mtu, uint32_t second_mtu)
{
	struct net_options options = net_defaults();

	options.nics = 2;
	options.mtu = mtu;
	options.second_mtu = second_mtu;
	options.second_latency = second_latency;
	net_free(net);
	net = net_new(2, &options);
	return net;
}

static inline int setup_two(void **state)
{
	setup(state);
	two_nics(20 * US, 1500, 1500);
	net_exchange(net);
	net_run(net, 50 * MS);
	return 0;
}

#define RAILS_TEST(name) cmocka_unit_test_setup_teardown(name, setup_two, teardown)

#endif /* GAMMA_TEST_RAILS_FIXTURE_H */
