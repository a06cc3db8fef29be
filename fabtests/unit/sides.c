// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* The endpoints of sides.h. */
#include "sides.h"

#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/lending.h"

enum {
	CALM_US = 500, /* a round of progress takes less, unless the processor is taken away */
	CALM_TRIES = 50,
	HANGS_S = 60, /* a machine with a high load may need ten */
};

struct side sides[3];
const uint8_t udp0[GAMMA_MAC_LEN] = {2, 4, 10, 1, 0, 1};
const uint8_t udp1[GAMMA_MAC_LEN] = {2, 4, 10, 1, 0, 2};
static uint64_t longest_round; /* ns, of all in `until` */

/* ---- handlers ---- */

static struct gamma_recv *on_match(void *context, struct gamma_flow *flow,
				   const struct gamma_envelope *envelope)
{
	struct side *side = context;

	(void) flow, (void) envelope;
	assert_true(side->posted);
	side->posted = side->endless;
	return &side->recv;
}

static void on_unexpected(void *context, struct gamma_inbound *inbound)
{
	(void) context, (void) inbound;
	fail_msg("every receive is posted");
}

static void on_received(void *context, struct gamma_recv *recv, struct gamma_flow *flow,
			const struct gamma_envelope *envelope, uint64_t placed, int error)
{
	struct side *side = context;

	(void) recv, (void) flow, (void) envelope;
	side->received = true;
	side->messages++;
	side->placed = placed;
	side->receive_error = error;
}

static void on_sent(void *context, struct gamma_send *send, struct gamma_flow *flow, int error)
{
	struct side *side = context;

	(void) send, (void) flow;
	side->sent = true;
	side->send_error = error;
}

static void on_failed(void *context, struct gamma_flow *flow, int error, const char *cause)
{
	struct side *side = context;

	(void) flow, (void) error;
	snprintf(side->cause, sizeof(side->cause), "%s", cause);
}

static uint64_t on_whole(void *context, struct gamma_flow *flow,
			 const struct gamma_envelope *envelope, const uint8_t *bytes)
{
	struct side *side = context;
	struct gamma_recv *recv;
	uint64_t placed;

	if (side->lends && envelope->length == side->lends) {
		assert_true(gamma_lending_lend(side->ep, bytes, envelope->length));
		side->lent++;
		return 0;
	}
	recv = on_match(context, flow, envelope);
	if (!recv)
		return GAMMA_UNMATCHED;
	placed = gamma_iov_write(recv->iov, recv->iov_count, 0, bytes, envelope->length);
	on_received(context, recv, flow, envelope, placed, 0);
	return placed;
}

static void on_datagram(void *context, const struct gamma_addr *source,
			const struct gamma_envelope *envelope, const uint8_t *payload)
{
	struct side *side = context;

	side->datagrams++;
	side->datagram_length = envelope->length;
	side->datagram_data = envelope->flags & GAMMA_HAS_DATA ? envelope->data : 0;
	side->datagram_source = *source;
	memcpy(side->in, payload, envelope->length);
}

static void on_gone(void *context, struct gamma_flow *flow)
{
	(void) flow;
	((struct side *) context)->gone++;
}

const struct gamma_endpoint_handlers side_handlers = {
	.messages = {.deliver = on_whole,
		     .match = on_match,
		     .unexpected = on_unexpected,
		     .received = on_received,
		     .sent = on_sent,
		     .failed = on_failed},
	.datagram = on_datagram,
	.gone = on_gone,
};

/* ---- opening and moving ---- */

struct gamma_endpoint_attr side_attr(unsigned which)
{
	struct gamma_endpoint_attr attr = {
		.ifindex = (int) if_nametoindex(which == FAR ? "g1" : "g0"),
		.mtu = 9000,
		.ethertype = GAMMA_ETHERTYPE,
		.tenant = TENANT,
		.host = which == FAR ? 2 : 1,
		.ring_bytes = 4 << 20,
		.shm_bytes = 65536,
		.linger = GAMMA_NS_PER_S,
		.limits =
			{
				.inject_size = 256,
				.eager_size = 16384,
				.peer_timeout = 10 * GAMMA_NS_PER_S,
				.forget = GAMMA_NS_PER_S,
			},
	};

	memcpy(attr.mac, which == FAR ? mac1 : mac0, GAMMA_MAC_LEN);
	return attr;
}

void open_side_with(unsigned which, const struct gamma_endpoint_attr *attr)
{
	struct side *side = &sides[which];

	memset(side, 0, sizeof(*side));
	side->in = malloc(LENGTH_MAX);
	side->out = malloc(LENGTH_MAX);
	for (size_t i = 0; i < LENGTH_MAX; i++)
		side->out[i] = (uint8_t) (i * 31 + (i >> 9) + which);
	assert_int_equal(gamma_endpoint_create(attr, &side_handlers, side, &side->ep), 0);
}

void open_side(unsigned which, bool datagram)
{
	struct gamma_endpoint_attr a = side_attr(which);

	a.datagram = datagram;
	open_side_with(which, &a);
}

/* The same again, with so much shared memory for each peer of this host. */
void open_again(unsigned which, uint64_t shm_bytes)
{
	struct gamma_endpoint_attr a = side_attr(which);

	gamma_endpoint_destroy(sides[which].ep);
	a.shm_bytes = shm_bytes;
	assert_int_equal(gamma_endpoint_create(&a, &side_handlers, &sides[which], &sides[which].ep),
			 0);
}

struct gamma_endpoint_nic side_over_udp(unsigned which)
{
	struct gamma_endpoint_nic nic = {.udp = true};

	nic.ifindex = (int) if_nametoindex("lo");
	nic.mtu = side_attr(which).mtu - 28;
	memcpy(nic.mac, which == FAR ? udp1 : udp0, GAMMA_MAC_LEN);
	return nic;
}

void sides_add_ip_addresses(void)
{
	netns_needed();
	netns_ip("addr replace 10.1.0.1/24 dev g0");
	netns_ip("addr replace 10.1.0.2/24 dev g1");
}

void reopen_side(unsigned which, struct gamma_endpoint_attr attr)
{
	gamma_endpoint_destroy(sides[which].ep);
	assert_int_equal(
		gamma_endpoint_create(&attr, &side_handlers, &sides[which], &sides[which].ep), 0);
}

void close_side(unsigned which)
{
	struct side *side = &sides[which];

	if (side->ep)
		gamma_endpoint_destroy(side->ep);
	side->ep = NULL;
	free(side->in);
	free(side->out);
	side->in = side->out = NULL;
}

int sides_setup(void **state)
{
	(void) state;
	if (if_nametoindex("g0"))
		for (unsigned which = A; which <= FAR; which++)
			open_side(which, false);
	return 0;
}

int sides_setup_datagram(void **state)
{
	(void) state;
	if (if_nametoindex("g0"))
		for (unsigned which = A; which <= FAR; which++)
			open_side(which, true);
	return 0;
}

int sides_teardown(void **state)
{
	(void) state;
	for (unsigned which = A; which <= FAR; which++)
		close_side(which);
	return 0;
}

void until(const bool *flag)
{
	uint64_t now = gamma_now(), end = now + HANGS_S * GAMMA_NS_PER_S;

	while (!*flag) {
		uint64_t began = now;

		assert_true(now < end);
		for (unsigned which = A; which <= FAR; which++)
			if (sides[which].ep)
				gamma_endpoint_progress(sides[which].ep);
		now = gamma_now();
		longest_round = gamma_max(longest_round, now - began);
	}
}

void run_calmly(void (*run)(void))
{
	for (unsigned i = 0; i < CALM_TRIES; i++) {
		longest_round = 0;
		run();
		if (longest_round < CALM_US * GAMMA_NS_PER_US)
			return;
	}
	print_message("the processor was taken away in each of %d runs\n", CALM_TRIES);
	skip();
}

void post(struct side *side, uint64_t length)
{
	side->recv.iov[0] = (struct iovec){side->in, length};
	side->recv.iov_count = 1;
	side->recv.capacity = length;
	side->posted = true;
	side->received = false;
	memset(side->in, 0, LENGTH_MAX);
}

int start_send(struct side *from, const struct gamma_addr *to, uint64_t length)
{
	from->sent = false;
	memset(&from->send, 0, sizeof(from->send));
	from->send.iov[0] = (struct iovec){from->out, length};
	from->send.iov_count = 1;
	from->send.envelope.length = length;
	from->send.level = GAMMA_WHEN_ARRIVED;
	return gamma_endpoint_send(from->ep, gamma_endpoint_flow(from->ep, to), &from->send);
}

void exchange(unsigned from, unsigned to, uint64_t length)
{
	post(&sides[to], length);
	assert_int_equal(start_send(&sides[from], gamma_endpoint_addr(sides[to].ep), length), 0);
	until(&sides[to].received);
	until(&sides[from].sent);
	assert_int_equal(sides[to].receive_error, 0);
	assert_int_equal(sides[from].send_error, 0);
	assert_int_equal(sides[to].placed, length);
	assert_memory_equal(sides[to].in, sides[from].out, length);
}

const struct gamma_stats *side_stats(unsigned which)
{
	return gamma_endpoint_stats(sides[which].ep);
}
