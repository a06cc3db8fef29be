// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The path that each message takes, by its counter: the table of doc/architecture.md. Every message
 * is counted on exactly one path out and one path in.
 */
#include "sides.h"

#include "engine/send_coalescing.h"
#include "engine/state.h"
#include "message/coalesce.h"

enum { SHORT = 64, LARGE = 100000 };

/* The counters of one endpoint, by path. */
struct paths {
	uint64_t self, shm_inline, shm_rndv, direct, coalesced, queued; /* out */
	uint64_t fast, ordinary, in_shm_inline, in_shm_rndv;            /* in */
};

static struct paths before[3];

static struct paths paths_of(unsigned which)
{
	const struct gamma_stats *stats = side_stats(which);

	return (struct paths){
		.self = stats->tx_self,
		.shm_inline = stats->tx_shm_inline,
		.shm_rndv = stats->tx_shm_rndv,
		.direct = stats->tx_direct,
		.coalesced = stats->tx_coalesced,
		.queued = stats->tx_queued,
		.fast = stats->rx_fast,
		.ordinary = stats->rx_ordinary,
		.in_shm_inline = stats->rx_shm_inline,
		.in_shm_rndv = stats->rx_shm_rndv,
	};
}

/* From here on paths are counted. */
static void count_from_here(void)
{
	for (unsigned which = A; which <= FAR; which++)
		before[which] = paths_of(which);
}

/* Nothing has passed at that endpoint since but this. */
static void expect(unsigned which, struct paths expected)
{
	struct paths now = paths_of(which);

	assert_int_equal(now.self - before[which].self, expected.self);
	assert_int_equal(now.shm_inline - before[which].shm_inline, expected.shm_inline);
	assert_int_equal(now.shm_rndv - before[which].shm_rndv, expected.shm_rndv);
	assert_int_equal(now.direct - before[which].direct, expected.direct);
	assert_int_equal(now.coalesced - before[which].coalesced, expected.coalesced);
	assert_int_equal(now.queued - before[which].queued, expected.queued);
	assert_int_equal(now.fast - before[which].fast, expected.fast);
	assert_int_equal(now.ordinary - before[which].ordinary, expected.ordinary);
	assert_int_equal(now.in_shm_inline - before[which].in_shm_inline, expected.in_shm_inline);
	assert_int_equal(now.in_shm_rndv - before[which].in_shm_rndv, expected.in_shm_rndv);
}

/* Both have received from the other, and everything is acknowledged. */
static void get_to_know(unsigned peer)
{
	uint64_t end;

	exchange(A, peer, SHORT);
	exchange(peer, A, SHORT);
	exchange(A, peer, SHORT);
	end = gamma_now() + 20 * GAMMA_NS_PER_MS;
	while (gamma_now() < end) {
		gamma_endpoint_progress(sides[A].ep);
		gamma_endpoint_progress(sides[peer].ep);
	}
	count_from_here();
}

static struct gamma_flow *flow_to(unsigned peer)
{
	return gamma_endpoint_flow(sides[A].ep, gamma_endpoint_addr(sides[peer].ep));
}

static enum gamma_endpoint_copied copy_to(unsigned peer, uint64_t length, bool may_delay)
{
	struct gamma_envelope envelope = {.length = length};
	struct iovec iov = {sides[A].out, length};

	return gamma_endpoint_send_copy(sides[A].ep, flow_to(peer), &iov, 1, &envelope, may_delay,
					false);
}

/* The peer's first frame after a pause comes alone: looks for nothing but that. */
static void receive_alone(unsigned peer)
{
	post(&sides[peer], SHORT);
	gamma_endpoint_progress(sides[peer].ep);
	assert_int_equal(copy_to(peer, SHORT, false), GAMMA_COPIED_SENT);
	until(&sides[peer].received);
}

static void self__needs_no_frame(void **state)
{
	(void) state;
	netns_needed();
	count_from_here();
	exchange(A, A, SHORT);
	exchange(A, A, LARGE);
	expect(A, (struct paths){.self = 2});
}

static void shm__first_message_takes_a_frame(void **state)
{
	(void) state;
	netns_needed();
	count_from_here();
	exchange(A, B, SHORT);
	expect(A, (struct paths){.queued = 1});
	expect(B, (struct paths){.ordinary = 1});
}

static void shm__short_is_inline(void **state)
{
	(void) state;
	netns_needed();
	get_to_know(B);
	post(&sides[B], SHORT);
	assert_int_equal(copy_to(B, SHORT, false), GAMMA_COPIED_SENT);
	until(&sides[B].received);
	expect(A, (struct paths){.shm_inline = 1});
	expect(B, (struct paths){.in_shm_inline = 1});
}

static void shm__large_is_announced(void **state)
{
	(void) state;
	netns_needed();
	get_to_know(B);
	exchange(A, B, LARGE);
	expect(A, (struct paths){.shm_rndv = 1});
	expect(B, (struct paths){.in_shm_rndv = 1});
}

static void shm__backpressure_makes_frames(void **state)
{
	(void) state;
	netns_needed();
	get_to_know(B);
	gamma_shm_set_backpressure(sides[B].ep->shm, true);
	post(&sides[B], SHORT);
	assert_int_equal(copy_to(B, SHORT, false), GAMMA_COPIED_SENT);
	until(&sides[B].received);
	expect(A, (struct paths){.direct = 1});
	expect(B, (struct paths){.ordinary = 1});
}

static void network__short_is_sent_directly(void **state)
{
	(void) state;
	netns_needed();
	get_to_know(FAR);
	receive_alone(FAR);
	expect(A, (struct paths){.direct = 1});
	expect(FAR, (struct paths){.fast = 1});
}

static void network__burst_shares_a_frame(void **state)
{
	enum { COUNT = GAMMA_COALESCE_AFTER + 3, TINY = 16 };

	(void) state;
	netns_needed();
	get_to_know(FAR);
	post(&sides[FAR], SHORT);
	sides[FAR].endless = true;
	sides[FAR].messages = 0;
	for (int i = 0; i < COUNT; i++)
		assert_int_equal(copy_to(FAR, TINY, true), i < GAMMA_COALESCE_AFTER
								   ? GAMMA_COPIED_SENT
								   : GAMMA_COPIED_DELAYED);
	for (uint64_t end = gamma_now() + 5 * GAMMA_NS_PER_S; sides[FAR].messages < COUNT;) {
		assert_true(gamma_now() < end);
		gamma_endpoint_progress(sides[A].ep);
		gamma_endpoint_progress(sides[FAR].ep);
	}
	sides[FAR].endless = false;
	/* Several frames have come at once, so each takes the ordinary path. */
	expect(A, (struct paths){.direct = GAMMA_COALESCE_AFTER, .coalesced = 3});
	expect(FAR, (struct paths){.ordinary = GAMMA_COALESCE_AFTER + 1});
}

static void network__above_the_inject_size_is_queued(void **state)
{
	const uint64_t length = side_attr(A).limits.inject_size + 1;

	(void) state;
	netns_needed();
	get_to_know(FAR);
	assert_int_equal(copy_to(FAR, length, false), GAMMA_COPIED_NOT);
	exchange(A, FAR, length);
	expect(A, (struct paths){.queued = 1});
}

static void network__unknown_epoch_is_queued(void **state)
{
	struct gamma_addr partial;

	(void) state;
	netns_needed();
	count_from_here();
	partial = *gamma_endpoint_addr(sides[FAR].ep);
	partial.epoch = GAMMA_EPOCH_ANY;
	post(&sides[FAR], SHORT);
	assert_int_equal(start_send(&sides[A], &partial, SHORT), 0);
	until(&sides[FAR].received);
	until(&sides[A].sent);
	expect(A, (struct paths){.queued = 1});
}

static void every_message__is_counted_once(void **state)
{
	const struct gamma_stats *stats;

	(void) state;
	netns_needed();
	get_to_know(B);
	get_to_know(FAR);
	for (unsigned to = A; to <= FAR; to++)
		for (uint64_t length = 1; length <= LARGE; length *= 10)
			exchange(A, to, length);
	receive_alone(FAR);
	receive_alone(B);
	stats = side_stats(A);
	assert_int_equal(stats->messages_out, stats->tx_self + stats->tx_shm_inline +
						      stats->tx_shm_rndv + stats->tx_direct +
						      stats->tx_coalesced + stats->tx_queued);
}

static void datagram__has_a_counter_of_its_own(void **state)
{
	struct gamma_envelope envelope = {.length = SHORT};
	struct iovec iov = {NULL, SHORT};

	(void) state;
	netns_needed();
	count_from_here();
	iov.iov_base = sides[A].out;
	assert_int_equal(gamma_endpoint_send_datagram(sides[A].ep,
						      gamma_endpoint_addr(sides[FAR].ep), &iov, 1,
						      &envelope),
			 0);
	assert_int_equal(side_stats(A)->datagrams_out, 1);
	expect(A, (struct paths){0});
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		EP_TEST(self__needs_no_frame),
		EP_TEST(shm__first_message_takes_a_frame),
		EP_TEST(shm__short_is_inline),
		EP_TEST(shm__large_is_announced),
		EP_TEST(shm__backpressure_makes_frames),
		EP_TEST(network__short_is_sent_directly),
		EP_TEST(network__burst_shares_a_frame),
		EP_TEST(network__above_the_inject_size_is_queued),
		EP_TEST(network__unknown_epoch_is_queued),
		EP_TEST(every_message__is_counted_once),
		DGRAM_TEST(datagram__has_a_counter_of_its_own),
	};

	return cmocka_run_group_tests(tests, netns_setup, NULL);
}
