/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What tests of active ports begin with: an endpoint of a fake engine, and handlers. */
#ifndef GAMMA_TEST_PROV_PORT_FIXTURE_H
#define GAMMA_TEST_PROV_PORT_FIXTURE_H

#include "prov_fake_engine.h"
#include "rdma/fi_ext_gamma.h"

static struct fi_gamma_port_ops *ops;

/* What handlers saw. */
static char log_of[128]; /* the data, one behind the other */
static struct fi_gamma_arrival last;
static char last_head[65];
static void *kept;
static ssize_t inner; /* what a call in the handler has returned */

static void note(struct fid_ep *ep, const struct fi_gamma_arrival *arrival, void *context)
{
	(void) ep, (void) context;
	last = *arrival;
	memset(last_head, 0, sizeof(last_head));
	memcpy(last_head, arrival->head, arrival->head_len);
	strncat(log_of, arrival->data ? arrival->data : "", arrival->len);
}

static void reply(struct fid_ep *ep, const struct fi_gamma_arrival *arrival, void *context)
{
	struct iovec iov = {.iov_base = "answer", .iov_len = 6};
	struct fi_gamma_msg msg = {
		.head = "hd", .head_len = 2, .iov = &iov, .iov_count = 1, .port = 9, .arg = 3};

	note(ep, arrival, context);
	inner = ops->reply(ep, arrival, &msg, FI_INJECT);
}

static void set_with(struct fake_ep *fep, uint16_t port, fi_gamma_handler handler, void *context)
{
	struct fi_gamma_port_attr attr = {
		.size = sizeof(attr), .handler = handler, .context = context};

	assert_int_equal(ops->set(fep->ep, port, &attr), 0);
}

static void set(struct fake_ep *fep, uint16_t port, fi_gamma_handler handler)
{
	set_with(fep, port, handler, NULL);
}

static void arrive(struct gamma_flow *flow, uint16_t port, uint8_t head_len, const char *text)
{
	fake_arrive_port(flow, GAMMA_OP_SEND, 0, gamma_envelope_port_tag(port, head_len, 77), text);
}

static int open_ports(void **state)
{
	const struct fake_ep *fep = *state;

	log_of[0] = '\0';
	inner = -1;
	return fi_gamma_open_ports(fep->ep, &ops);
}

static int setup(void **state)
{
	return fake_ep_setup(state) || open_ports(state);
}

static int setup_datagram(void **state)
{
	return fake_ep_setup_dgram(state) || open_ports(state);
}

/* What the network brings during the next progress calls. */
struct network {
	struct gamma_flow *flow;
	unsigned count; /* messages, each of one letter: a, b, ... */
};

static void bring(void *arg)
{
	static char letters[26][2]; /* as a slot, they stay while lent */
	struct network *network = arg;

	for (unsigned i = 0; i < 26; i++)
		letters[i][0] = (char) ('a' + i);
	for (unsigned i = 0; i < network->count; i++)
		arrive(network->flow, 1, 0, letters[i % 26]);
	network->count = 0;
}

static struct network *bring_next(struct fake_ep *fep, unsigned count)
{
	static struct network network;

	network = (struct network){.flow = fep->flow, .count = count};
	fep->engine->on_progress = bring;
	fep->engine->arg = &network;
	return &network;
}

#define PORT_TEST(name) cmocka_unit_test_setup_teardown(name, setup, fake_ep_teardown)

#define DATAGRAM_TEST(name) cmocka_unit_test_setup_teardown(name, setup_datagram, fake_ep_teardown)

#endif /* GAMMA_TEST_PROV_PORT_FIXTURE_H */
