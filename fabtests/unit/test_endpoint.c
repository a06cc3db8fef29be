// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Unit tests of common/engine/endpoint.c and output.c on real links, from opening to sleeping; the
 * end is in test_endpoint_end.c.
 */
#include "sides.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "engine/lending.h"
#include "engine/progress.h"
#include "link/port.h"
#include "wire/codec.h"

static const uint64_t lengths[] = {0,    1,     256,   257,    1460,      1461,
				   8960, 16384, 16385, 100000, LENGTH_MAX};

/* ---- messages ---- */

static void messages__between_shm_peers(void **state)
{
	(void) state;
	netns_needed();
	for (unsigned i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		exchange(A, B, lengths[i]);
		exchange(B, A, lengths[i]);
	}
	assert_int_equal(side_stats(A)->retransmissions + side_stats(B)->retransmissions, 0);
}

/* While both poll, small messages need no system call, and large ones none to send; each byte of
 * these is copied, or read by the kernel, once. */
static void messages__of_shm_peers_need_no_system_calls(void **state)
{
	uint64_t before, copied;

	(void) state;
	netns_needed();
	exchange(A, B, 64);
	exchange(B, A, 64);
	before = side_stats(A)->send_calls + side_stats(B)->send_calls;
	for (int i = 0; i < 1000; i++) {
		exchange(A, B, 64);
		exchange(B, A, 64);
	}
	copied = side_stats(B)->bytes_copied_in;
	for (int i = 0; i < 100; i++)
		exchange(A, B, 100000);
	assert_int_equal(side_stats(A)->send_calls + side_stats(B)->send_calls, before);
	copied = side_stats(B)->bytes_copied_in - copied;
	assert_int_equal(side_stats(B)->cma_bytes + copied, 100 * 100000);
	assert_int_equal(side_stats(B)->cma_failures, 0);
	assert_int_equal(side_stats(A)->probes_out + side_stats(B)->probes_out, 0);
}

enum { LARGE_COUNT = 200, LARGE_COUNT_MAX = 50 * LARGE_COUNT };
static const uint64_t large[] = {16385, 65536, 100000, LENGTH_MAX};
static unsigned asked;      /* receives posted for these */
static unsigned last_asked; /* how many there will be; known when the last one is posted */

/* One core sends, one receives. */
static void *send_all(void *context)
{
	struct side *side = &sides[A];
	const struct gamma_addr *to = context;

	for (unsigned i = 0; i < __atomic_load_n(&last_asked, __ATOMIC_ACQUIRE); i++) {
		uint64_t length = large[i % 4];

		while (__atomic_load_n(&asked, __ATOMIC_ACQUIRE) <= i)
			gamma_endpoint_progress(side->ep);
		if (start_send(side, to, length))
			abort();
		if (i % 8 == 7) /* elsewhere meanwhile */
			usleep(100);
		while (!side->sent)
			gamma_endpoint_progress(side->ep);
	}
	return NULL;
}

static void messages__of_an_shm_peer_in_another_thread(void **state)
{
	pthread_t thread;

	(void) state;
	netns_needed();
	exchange(A, B, 64);
	exchange(B, A, 64);
	asked = 0;
	last_asked = LARGE_COUNT_MAX;
	assert_int_equal(
		pthread_create(&thread, NULL, send_all, (void *) gamma_endpoint_addr(sides[B].ep)),
		0);
	/* What goes in chunks depends on measured times: go on until some has. */
	for (unsigned i = 0; i < last_asked; i++) {
		uint64_t end = gamma_now() + 5 * GAMMA_NS_PER_S, length = large[i % 4];

		post(&sides[B], length);
		if (i + 1 >= LARGE_COUNT && side_stats(B)->chunks_in)
			__atomic_store_n(&last_asked, i + 1, __ATOMIC_RELEASE);
		__atomic_store_n(&asked, i + 1, __ATOMIC_RELEASE);
		while (!sides[B].received && gamma_now() < end)
			gamma_endpoint_progress(sides[B].ep);
		assert_true(sides[B].received && sides[B].placed == length);
		assert_memory_equal(sides[B].in, sides[A].out, length);
	}
	pthread_join(thread, NULL);
	assert_true(side_stats(B)->chunks_in > 0);
	assert_int_equal(side_stats(A)->malformed + side_stats(B)->malformed, 0);
}

/* A receiver that has been idle gets the first message alone, and then all others. */
static void messages__of_shm_peers_one_and_then_the_others(void **state)
{
	struct gamma_envelope envelope = {.length = 64};
	struct iovec iov = {sides[A].out, 64};
	struct gamma_flow *flow;

	(void) state;
	netns_needed();
	exchange(A, B, 64);
	exchange(B, A, 64);
	post(&sides[B], 64);
	sides[B].endless = true;
	sides[B].messages = 0;
	for (int i = 0; i < 100; i++)
		gamma_endpoint_progress(sides[B].ep);
	flow = gamma_endpoint_flow(sides[A].ep, gamma_endpoint_addr(sides[B].ep));
	for (int i = 0; i < 10; i++)
		assert_int_equal(gamma_endpoint_send_copy(sides[A].ep, flow, &iov, 1, &envelope,
							  false, false),
				 GAMMA_COPIED_SENT);
	gamma_endpoint_progress(sides[B].ep);
	assert_int_equal(sides[B].messages, 1);
	gamma_endpoint_progress(sides[B].ep);
	assert_int_equal(sides[B].messages, 10);
	sides[B].endless = false;
}

/* The first progress call after idle ones takes one message. The budget of the second one ends with
 * the announcement, so that the rest arrives while it waits for chunks. */
static void lent__while_a_large_message_of_an_shm_peer_arrives(void **state)
{
	struct gamma_envelope envelope = {.length = 64};
	struct iovec iov = {sides[A].out, 64};
	struct gamma_list earlier;
	struct gamma_flow *flow;

	(void) state;
	netns_needed();
	exchange(A, B, 64);
	exchange(B, A, 64);
	gamma_list_init(&earlier);
	gamma_lending_allow(sides[B].ep, &earlier);
	sides[B].lends = 65;
	post(&sides[B], 100000);
	sides[B].endless = true;
	sides[B].messages = 0;
	for (int i = 0; i < 100; i++)
		gamma_endpoint_progress(sides[B].ep);
	flow = gamma_endpoint_flow(sides[A].ep, gamma_endpoint_addr(sides[B].ep));
	for (int i = 0; i < GAMMA_POLL_BUDGET; i++)
		assert_int_equal(gamma_endpoint_send_copy(sides[A].ep, flow, &iov, 1, &envelope,
							  false, false),
				 GAMMA_COPIED_SENT);
	gamma_peer(flow)->copy_model = (struct gamma_shm_copy_model){.kib_ns = 20, .left = 1000};
	assert_int_equal(start_send(&sides[A], gamma_endpoint_addr(sides[B].ep), 100000), 0);
	envelope.length = iov.iov_len = sides[B].lends;
	assert_int_equal(
		gamma_endpoint_send_copy(sides[A].ep, flow, &iov, 1, &envelope, false, false),
		GAMMA_COPIED_SENT);
	for (int i = 0; i < 1000; i++)
		gamma_endpoint_progress(sides[B].ep);
	assert_int_equal(sides[B].lent, 1);
	assert_int_equal(sides[B].messages, GAMMA_POLL_BUDGET);
	gamma_lending_return(sides[B].ep);
	/* Nothing more arrives, but the large message waits: neither sleep nor an idle call. */
	assert_true(gamma_endpoint_ready(sides[B].ep));
	gamma_endpoint_progress(sides[B].ep);
	assert_int_equal(sides[B].messages, GAMMA_POLL_BUDGET + 1);
	until(&sides[A].sent);
	assert_int_equal(sides[B].lent, 1);
	assert_memory_equal(sides[B].in, sides[A].out, 100000);
	sides[B].endless = false;
}

static void messages__in_iovecs_are_read_in_place(void **state)
{
	struct gamma_send *send = &sides[A].send;

	(void) state;
	netns_needed();
	post(&sides[B], 50000);
	sides[B].recv.iov[0] = (struct iovec){sides[B].in, 7};
	sides[B].recv.iov[1] = (struct iovec){sides[B].in + 7, 49993};
	sides[B].recv.iov_count = 2;
	sides[A].sent = false;
	memset(send, 0, sizeof(*send));
	send->iov_count = GAMMA_IOV_MAX;
	for (unsigned i = 0; i < GAMMA_IOV_MAX; i++)
		send->iov[i] = (struct iovec){sides[A].out + 10000ul * i, 10000};
	send->envelope.length = 80000;
	assert_int_equal(gamma_endpoint_send(
				 sides[A].ep,
				 gamma_endpoint_flow(sides[A].ep, gamma_endpoint_addr(sides[B].ep)),
				 send),
			 0);
	until(&sides[B].received);
	until(&sides[A].sent);
	assert_int_equal(sides[B].placed, 50000);
	assert_memory_equal(sides[B].in, sides[A].out, 50000);
	assert_int_equal(side_stats(B)->cma_bytes + side_stats(B)->bytes_copied_in, 50000);
}

/* The reader refuses one channel, and the other is never offered: all frames take the sockets. */
static void messages__to_a_peer_of_the_host_without_shared_memory(void **state)
{
	(void) state;
	netns_needed();
	open_again(B, 0);
	for (unsigned i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		exchange(A, B, lengths[i]);
		exchange(B, A, lengths[i]);
	}
	assert_int_equal(side_stats(A)->shm_refused, 1);
	assert_int_equal(side_stats(A)->shm_frames_in + side_stats(B)->shm_frames_in, 0);
	assert_int_equal(side_stats(A)->cma_bytes + side_stats(B)->cma_bytes, 0);
	assert_int_equal(side_stats(A)->retransmissions + side_stats(A)->out_of_order, 0);
	assert_int_equal(side_stats(B)->retransmissions + side_stats(B)->out_of_order, 0);
}

static void messages__when_memory_is_short(void **state)
{
	struct rlimit before, little = {16384, RLIM_INFINITY};

	(void) state;
	netns_needed();
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	little.rlim_max = before.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
	for (unsigned i = 0; i < sizeof(lengths) / sizeof(*lengths); i++)
		exchange(A, B, lengths[i]);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(side_stats(A)->shm_refused, 1);
	assert_int_equal(side_stats(B)->shm_refused, 1);
	assert_int_equal(side_stats(A)->retransmissions + side_stats(B)->retransmissions, 0);
}

/* The ring of a peer that does not poll fills up, which does not affect other peers. */
static void full__stalls_only_the_flow_to_that_peer(void **state)
{
	enum { COUNT = 400 };
	static struct gamma_send sends[COUNT];
	struct gamma_flow *flow;

	(void) state;
	netns_needed();
	for (int i = 0; i < 50; i++) /* credit */
		exchange(A, B, 256);
	flow = gamma_endpoint_flow(sides[A].ep, gamma_endpoint_addr(sides[B].ep));
	memset(sends, 0, sizeof(sends));
	for (int i = 0; i < COUNT; i++) {
		sends[i].iov[0] = (struct iovec){sides[A].out, 4000};
		sends[i].iov_count = 1;
		sends[i].envelope.length = 4000;
		assert_int_equal(gamma_endpoint_send(sides[A].ep, flow, &sends[i]), 0);
	}
	assert_true(side_stats(A)->send_stalls > 0);
	assert_true(side_stats(A)->credit_stalls == 0 && gamma_send_has_frames(flow));
	/* B is not moved meanwhile. */
	for (int i = 0; i < 10; i++) {
		bool done = false;

		post(&sides[FAR], 1000);
		sides[A].sent = false;
		assert_int_equal(start_send(&sides[A], gamma_endpoint_addr(sides[FAR].ep), 1000),
				 0);
		while (!done) {
			gamma_endpoint_progress(sides[A].ep);
			gamma_endpoint_progress(sides[FAR].ep);
			done = sides[FAR].received && sides[A].sent;
		}
	}
	sides[B].endless = true;
	sides[B].messages = 0;
	post(&sides[B], 4000);
	while (sides[B].messages < COUNT) {
		sides[B].received = false;
		until(&sides[B].received);
		assert_int_equal(sides[B].placed, 4000);
	}
	assert_int_equal(side_stats(A)->retransmissions + side_stats(B)->out_of_order, 0);
}

static void messages__to_self_need_no_frames(void **state)
{
	(void) state;
	netns_needed();
	for (unsigned i = 0; i < sizeof(lengths) / sizeof(*lengths); i++)
		exchange(A, A, lengths[i]);
	assert_int_equal(side_stats(A)->tx_self, sizeof(lengths) / sizeof(*lengths));
	assert_int_equal(side_stats(A)->frames_out, 0);
	assert_int_equal(side_stats(A)->messages_out, side_stats(A)->messages_in);
}

static struct gamma_inbound *unasked;

static void keep_unasked(void *context, struct gamma_inbound *inbound)
{
	(void) context;
	unasked = inbound;
}

static struct gamma_recv *match_none(void *context, struct gamma_flow *flow,
				     const struct gamma_envelope *envelope)
{
	(void) context, (void) flow, (void) envelope;
	return NULL;
}

/* A short one is copied, and its send complete; a long one, or one that waits for its match, is
 * copied once, when a receive has come. */
static void messages__to_self_before_the_receive(void **state)
{
	struct gamma_endpoint_handlers late = side_handlers;
	struct gamma_endpoint_attr a = side_attr(A);
	struct side *side = &sides[A];

	(void) state;
	netns_needed();
	late.messages.deliver = NULL;
	late.messages.match = match_none;
	late.messages.unexpected = keep_unasked;
	gamma_endpoint_destroy(side->ep);
	a.limits.unexpected_size = 1 << 20;
	assert_int_equal(gamma_endpoint_create(&a, &late, side, &side->ep), 0);
	for (unsigned i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		bool copied = lengths[i] <= a.limits.eager_size;

		post(side, lengths[i]);
		assert_int_equal(start_send(side, gamma_endpoint_addr(side->ep), lengths[i]), 0);
		assert_int_equal(side->sent, copied);
		assert_false(side->received);
		if (copied)
			memset(side->out, 0, 1);
		gamma_receive_accept(unasked, &side->recv);
		assert_true(side->sent && side->received);
		assert_int_equal(side->placed, lengths[i]);
		side->out[0] = (uint8_t) A;
		assert_memory_equal(side->in, side->out, lengths[i]);
	}
	assert_int_equal(start_send(side, gamma_endpoint_addr(side->ep), LENGTH_MAX), 0);
	assert_false(side->sent);
	gamma_receive_discard(unasked);
	assert_true(side->sent);
	/* One that nobody asks for does not outlast its endpoint. */
	assert_int_equal(start_send(side, gamma_endpoint_addr(side->ep), LENGTH_MAX), 0);
}

/* A process that was woken finds the message with its first poll. */
static void messages__first_of_an_shm_peer_wakes_once(void **state)
{
	(void) state;
	netns_needed();
	post(&sides[B], 64);
	gamma_endpoint_progress(sides[B].ep);
	assert_false(gamma_endpoint_ready(sides[B].ep));
	assert_int_equal(start_send(&sides[A], gamma_endpoint_addr(sides[B].ep), 64), 0);
	gamma_endpoint_progress(sides[B].ep);
	assert_true(sides[B].received);
}

static void messages__over_ethernet(void **state)
{
	(void) state;
	netns_needed();
	for (unsigned i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		exchange(A, FAR, lengths[i]);
		exchange(FAR, A, lengths[i]);
	}
	assert_int_equal(side_stats(A)->ring_drops + side_stats(FAR)->ring_drops, 0);
	assert_int_equal(side_stats(A)->malformed + side_stats(FAR)->malformed, 0);
}

static char warning[256];
static unsigned warnings;

static void listen_to_warnings(enum gamma_log_level level, const char *line)
{
	if (level == GAMMA_LOG_INFO)
		return;
	warnings++;
	snprintf(warning, sizeof(warning), "%s", line);
}

/* From the wire, as a release sends it whose protocol has that version. */
static void send_version(uint8_t version, bool intact)
{
	struct sockaddr_ll to = {.sll_family = AF_PACKET,
				 .sll_ifindex = (int) if_nametoindex("g1")};
	struct gamma_fields fields = {
		.dst_port = ntohs(gamma_endpoint_addr(sides[A].ep)->port),
		.src_port = 7,
		.tenant = TENANT,
		.kind = GAMMA_KIND_ACK,
	};
	uint8_t room[GAMMA_ETH_LEN + GAMMA_HEADER_MAX], *frame;
	int fd = socket(AF_PACKET, SOCK_RAW, 0);

	frame = gamma_codec_build(&fields, mac0, mac1, GAMMA_ETHERTYPE, room + sizeof(room));
	frame[GAMMA_ETH_LEN + GAMMA_VERSION_AT] = (uint8_t) (version << 4 | GAMMA_KIND_ACK);
	if (intact) {
		uint8_t *sum = frame + GAMMA_ETH_LEN + GAMMA_HEADER_LEN - 4;
		uint32_t value = htonl(gamma_crc32c(0, frame, (size_t) (sum - frame)));

		memcpy(sum, &value, sizeof(value));
	}
	assert_true(sendto(fd, frame, (size_t) GAMMA_ETH_LEN + fields.header_len, 0,
			   (struct sockaddr *) &to, sizeof(to)) > 0);
	close(fd);
}

static void take_malformed(uint64_t count)
{
	for (int i = 0; side_stats(A)->malformed < count && i < 100000; i++)
		gamma_endpoint_progress(sides[A].ep);
	assert_int_equal(side_stats(A)->malformed, count);
}

static void frames__of_another_version_are_logged_once(void **state)
{
	(void) state;
	netns_needed();
	gamma_log_set_sink(listen_to_warnings);
	for (uint8_t i = 2; i < 8; i++)
		send_version(i, false);
	take_malformed(6);
	assert_int_equal(warnings, 0);
	for (int i = 0; i < 9; i++)
		send_version(2, true);
	take_malformed(15);
	assert_int_equal(warnings, 1);
	assert_string_equal(
		warning,
		"frames from 02:00:00:00:00:01 are of version 2 of the protocol, this host "
		"(02:00:00:00:00:00) has 1: install the same release of gamma on all hosts, and "
		"restart gammad");
	gamma_log_set_sink(NULL);
}

static void messages__to_a_partial_address(void **state)
{
	struct gamma_addr addr;

	(void) state;
	netns_needed();
	addr = *gamma_endpoint_addr(sides[FAR].ep);
	addr.epoch = 0, addr.host = 0, addr.mtu = 0;
	post(&sides[FAR], 64);
	assert_int_equal(start_send(&sides[A], &addr, 64), 0);
	until(&sides[A].sent);
	assert_int_equal(sides[A].send_error, 0);
	assert_int_equal(side_stats(A)->lookups_out, 1);
	/* The flow that was found is also the one of the whole address. */
	assert_ptr_equal(gamma_endpoint_flow(sides[A].ep, &addr),
			 gamma_endpoint_flow(sides[A].ep, gamma_endpoint_addr(sides[FAR].ep)));
}

/* ---- gammad's word that an endpoint has been revoked ---- */

static void send_revoked(const struct side *side, uint32_t epoch)
{
	const struct gamma_addr *addr = gamma_endpoint_addr(side->ep);
	struct gamma_fields fields = {
		.kind = GAMMA_KIND_RESET,
		.op = GAMMA_RESET_REVOKED,
		.dst_port = ntohs(addr->port),
		.src_port = ntohs(addr->port),
		.tenant = TENANT,
		.dst_epoch = epoch,
	};
	uint8_t room[GAMMA_ETH_LEN + GAMMA_HEADER_MAX];
	const uint8_t *frame =
		gamma_codec_build(&fields, addr->mac, mac1, GAMMA_ETHERTYPE, room + sizeof(room));
	struct sockaddr_un name;
	unsigned len = gamma_port_name(addr->mac, ntohs(addr->port), &name);
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	assert_int_equal(sendto(fd, frame, GAMMA_ETH_LEN + GAMMA_HEADER_LEN, 0,
				(struct sockaddr *) &name, len),
			 GAMMA_ETH_LEN + GAMMA_HEADER_LEN);
	close(fd);
	for (int i = 0; i < 3000; i++)
		gamma_endpoint_progress(side->ep);
}

static void revoked__all_ends_with_an_error(void **state)
{
	const struct gamma_addr *far;

	(void) state;
	netns_needed();
	far = gamma_endpoint_addr(sides[FAR].ep);
	assert_int_equal(start_send(&sides[A], far, 100000), 0);
	send_revoked(&sides[A], ntohl(gamma_endpoint_addr(sides[A].ep)->epoch) + 1);
	assert_false(sides[A].sent);
	send_revoked(&sides[A], ntohl(gamma_endpoint_addr(sides[A].ep)->epoch));
	assert_true(sides[A].sent);
	assert_int_equal(sides[A].send_error, -EACCES);
	assert_string_equal(sides[A].cause, GAMMA_REVOKED);
	assert_int_equal(start_send(&sides[A], far, 64), -EACCES);
	assert_int_equal(start_send(&sides[A], gamma_endpoint_addr(sides[B].ep), 64), -EACCES);
}

static void nic_removed__all_ends_with_an_error(void **state)
{
	const struct gamma_addr *far;

	(void) state;
	netns_needed();
	far = gamma_endpoint_addr(sides[FAR].ep);
	assert_int_equal(netns_ip("link delete g0"), 0);
	assert_int_equal(start_send(&sides[A], far, 100000), 0);
	assert_true(sides[A].sent);
	assert_int_equal(sides[A].send_error, -ENODEV);
	assert_string_equal(sides[A].cause, GAMMA_NIC_REMOVED);
	assert_int_equal(start_send(&sides[A], far, 64), -ENODEV);
	assert_true(netns_add_nics());
}

static void nic_mtu__below_the_least_all_ends_with_an_error(void **state)
{
	const struct gamma_addr *far;

	(void) state;
	netns_needed();
	far = gamma_endpoint_addr(sides[FAR].ep);
	assert_int_equal(netns_ip("link set g0 mtu 200"), 0);
	assert_int_equal(start_send(&sides[A], far, 100000), 0);
	assert_int_equal(netns_ip("link delete g0"), 0);
	assert_true(sides[A].sent);
	assert_int_equal(sides[A].send_error, -EMSGSIZE);
	assert_string_equal(sides[A].cause, GAMMA_NIC_MTU_TOO_SMALL);
	assert_int_equal(start_send(&sides[A], far, 64), -EMSGSIZE);
	assert_true(netns_add_nics());
}

/* ---- identity ---- */

static void create__port_in_use(void **state)
{
	struct gamma_endpoint_attr a = side_attr(A);
	struct gamma_endpoint *ep;

	(void) state;
	netns_needed();
	a.port = ntohs(gamma_endpoint_addr(sides[A].ep)->port);
	assert_int_equal(gamma_endpoint_create(&a, &side_handlers, NULL, &ep), -EADDRINUSE);
}

static void create__address_is_complete(void **state)
{
	const struct gamma_addr *a, *b;

	(void) state;
	netns_needed();
	a = gamma_endpoint_addr(sides[A].ep);
	b = gamma_endpoint_addr(sides[B].ep);
	assert_memory_equal(a->mac, mac0, GAMMA_MAC_LEN);
	assert_true(a->port && a->epoch && a->host == 1);
	assert_int_equal(a->version, GAMMA_ADDR_VERSION);
	assert_int_equal(ntohs(a->mtu), 9000);
	assert_int_not_equal(a->port, b->port);
	assert_int_not_equal(a->epoch, b->epoch);
}

/* ---- sleeping ---- */

static void fds__wake_for_an_arrival(void **state)
{
	struct pollfd polls[GAMMA_ENDPOINT_FDS];
	int fds[GAMMA_ENDPOINT_FDS];
	unsigned count;

	(void) state;
	netns_needed();
	exchange(A, FAR, 64);
	count = gamma_endpoint_fds(sides[FAR].ep, fds);
	assert_int_equal(count, 2);
	for (unsigned i = 0; i < count; i++)
		polls[i] = (struct pollfd){.fd = fds[i], .events = POLLIN};
	assert_int_equal(poll(polls, count, 0), 0);
	assert_false(gamma_endpoint_ready(sides[FAR].ep));
	post(&sides[FAR], 64);
	assert_int_equal(start_send(&sides[A], gamma_endpoint_addr(sides[FAR].ep), 64), 0);
	assert_int_equal(poll(polls, count, 1000), 1);
	assert_true(gamma_endpoint_ready(sides[FAR].ep));
	assert_true(gamma_endpoint_deadline(sides[A].ep) < gamma_now() + GAMMA_NS_PER_S);
	until(&sides[FAR].received);
}

/* ---- datagrams ---- */

static void datagram(unsigned from, unsigned to, uint64_t length)
{
	const struct gamma_addr *addr = gamma_endpoint_addr(sides[to].ep);
	struct iovec iov = {sides[from].out, length};
	struct gamma_envelope envelope = {.length = length, .data = 77, .flags = GAMMA_HAS_DATA};
	unsigned before = sides[to].datagrams;
	uint64_t end = gamma_now() + GAMMA_NS_PER_S;

	assert_int_equal(gamma_endpoint_send_datagram(sides[from].ep, addr, &iov, 1, &envelope), 0);
	while (sides[to].datagrams == before && gamma_now() < end)
		gamma_endpoint_progress(sides[to].ep);
	assert_int_equal(sides[to].datagrams, before + 1);
	assert_int_equal(sides[to].datagram_length, length);
	assert_int_equal(sides[to].datagram_data, 77);
	assert_memory_equal(sides[to].in, sides[from].out, length);
	assert_int_equal(sides[to].datagram_source.epoch,
			 gamma_endpoint_addr(sides[from].ep)->epoch);
}

static void datagrams__to_shm_peers_and_over_ethernet(void **state)
{
	size_t most;

	(void) state;
	netns_needed();
	most = gamma_endpoint_datagram_max(sides[A].ep);
	for (unsigned to = B; to <= FAR; to++) {
		datagram(A, to, 0);
		datagram(A, to, 64);
		datagram(A, to, most);
	}
	assert_int_equal(side_stats(A)->datagrams_out, 6);
	assert_int_equal(side_stats(B)->datagrams_in, 3);
}

/* Number of empty polls until the caller should yield. */
static int empty_polls_of(unsigned side)
{
	int polls = 1;

	while (!gamma_endpoint_progress(sides[side].ep))
		polls++;
	return polls;
}

static void datagrams__with_a_peer_on_the_host_yield_sooner(void **state)
{
	int far;

	(void) state;
	netns_needed();
	datagram(A, FAR, 64);
	far = empty_polls_of(FAR);
	datagram(A, B, 64);
	assert_true(empty_polls_of(A) * 2 < far);
}

/* They are lost, as on the network: a sender that got -EAGAIN would try again forever. It makes no
 * difference whether the peer had received something before. */
static void datagrams__to_an_shm_peer_that_has_ended(void **state)
{
	struct iovec iov = {sides[A].out, 64};
	struct gamma_envelope envelope = {.length = 64};
	struct gamma_addr addr;

	(void) state;
	netns_needed();
	for (int known = 0; known < 2; known++) {
		if (known)
			datagram(A, B, 64);
		addr = *gamma_endpoint_addr(sides[B].ep);
		close_side(B);
		for (int i = 0; i < 3; i++) {
			assert_int_equal(gamma_endpoint_send_datagram(sides[A].ep, &addr, &iov, 1,
								      &envelope),
					 0);
			gamma_endpoint_progress(sides[A].ep);
		}
		open_side(B, true);
	}
	datagram(A, B, 64);
}

static void datagrams__too_long(void **state)
{
	struct gamma_envelope envelope = {0};
	struct iovec iov = {NULL, 0};

	(void) state;
	netns_needed();
	iov.iov_base = sides[A].out;
	envelope.length = iov.iov_len = gamma_endpoint_datagram_max(sides[A].ep) + 1;
	assert_int_equal(gamma_endpoint_send_datagram(sides[A].ep,
						      gamma_endpoint_addr(sides[FAR].ep), &iov, 1,
						      &envelope),
			 -EMSGSIZE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		EP_TEST(messages__between_shm_peers),
		EP_TEST(messages__of_shm_peers_need_no_system_calls),
		EP_TEST(messages__of_an_shm_peer_in_another_thread),
		EP_TEST(messages__of_shm_peers_one_and_then_the_others),
		EP_TEST(lent__while_a_large_message_of_an_shm_peer_arrives),
		EP_TEST(messages__in_iovecs_are_read_in_place),
		EP_TEST(messages__to_a_peer_of_the_host_without_shared_memory),
		EP_TEST(messages__when_memory_is_short),
		EP_TEST(full__stalls_only_the_flow_to_that_peer),
		EP_TEST(messages__to_self_need_no_frames),
		EP_TEST(messages__to_self_before_the_receive),
		EP_TEST(messages__first_of_an_shm_peer_wakes_once),
		EP_TEST(messages__over_ethernet),
		EP_TEST(frames__of_another_version_are_logged_once),
		EP_TEST(messages__to_a_partial_address),
		EP_TEST(revoked__all_ends_with_an_error),
		EP_TEST(nic_removed__all_ends_with_an_error),
		EP_TEST(nic_mtu__below_the_least_all_ends_with_an_error),
		EP_TEST(create__port_in_use),
		EP_TEST(create__address_is_complete),
		EP_TEST(fds__wake_for_an_arrival),
		DGRAM_TEST(datagrams__to_shm_peers_and_over_ethernet),
		DGRAM_TEST(datagrams__with_a_peer_on_the_host_yield_sooner),
		DGRAM_TEST(datagrams__to_an_shm_peer_that_has_ended),
		DGRAM_TEST(datagrams__too_long),
	};

	return cmocka_run_group_tests(tests, netns_setup, NULL);
}
