// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Unit tests of common/flow/credit.c: forged frames about credit. No flow may wait forever because
 * of one, and the harness checks the account after every frame.
 */
#include "credit_fixture.h"

static void forge(uint8_t kind, uint8_t op, uint32_t seq, uint32_t limit)
{
	struct gamma_fields fields = net_fields(net, 1, 0, kind, op);

	fields.seq = seq;
	if (kind == GAMMA_KIND_ACK) {
		fields.extensions = GAMMA_EXT_ACK;
		fields.ack = net_flow(net, 0, 1)->tx.una;
		fields.limit = limit;
	}
	net_forge(net, 1, 0, &fields, NULL);
	net_run(net, US / 2);
}

static void forge_limit(uint32_t beyond)
{
	forge(GAMMA_KIND_ACK, GAMMA_ACK_PLAIN, 0, net_flow(net, 0, 1)->tx.next + beyond);
}

/* In node 0's name: the total of the credit given back. */
static void forge_returned(uint32_t returned)
{
	struct gamma_fields fields = net_fields(net, 0, 1, GAMMA_KIND_RECLAIM, GAMMA_ANSWER);

	fields.seq = returned;
	net_forge(net, 0, 1, &fields, NULL);
	net_run(net, US / 2);
}

static void forged__limit_beyond_any_grant(void **state)
{
	struct gamma_flow *flow = net_flow(net, 0, 1);
	uint32_t limit;

	(void) state;
	messages(0, 1, 20);
	net_finish(net, SEC);
	limit = flow->tx.limit;
	forge_limit(GAMMA_WINDOW_MAX + 1);
	forge_limit(1u << 20);
	forge_limit(INT32_MAX);
	assert_int_equal(flow->tx.limit, limit);
	assert_int_equal(net_stats(net, 0)->malformed, 3);
	messages(0, 1, 1000);
	net_finish(net, SEC);
	assert_int_equal(net_stats(net, 0)->requests_out, 0);
}

/* The sender gives back credit that it never had: the counts of both sides differ until it asks. */
static void forged__limit_and_reclaim(void **state)
{
	static const uint32_t beyond[] = {1000, GAMMA_WINDOW_MAX, 300, 1u << 31, INT32_MAX};

	(void) state;
	messages(0, 1, 20);
	net_finish(net, SEC);
	for (unsigned i = 0; i < gamma_array_size(beyond); i++) {
		forge_limit(beyond[i]);
		forge(GAMMA_KIND_RECLAIM, GAMMA_ASK, 0, 0);
		messages(0, 1, 100);
		net_finish(net, SEC);
	}
	assert_int_equal(net->nodes[0].failures, 0);
	assert_int_not_equal(net_stats(net, 0)->requests_out, 0);
}

/* A forged request gets a grant, and the frame with the grant is lost: that credit comes back too.
 */
static void forged__request_whose_grant_is_lost(void **state)
{
	struct gamma_fields fields = net_fields(net, 0, 1, GAMMA_KIND_REQUEST, 0);
	uint32_t limit;

	(void) state;
	messages(0, 1, 20);
	net_finish(net, SEC);
	ask_back();
	limit = net_flow(net, 0, 1)->tx.limit;
	net_rule(net, (struct rule){.fate = DROP,
				    .from = 1,
				    .kind = GAMMA_KIND_ACK,
				    .op = ANY_OP,
				    .seq = ANY_SEQ,
				    .times = 1});
	fields.seq = net_flow(net, 0, 1)->tx.next;
	net_forge(net, 0, 1, &fields, NULL);
	net_run(net, 100 * US);
	assert_int_not_equal(pool(1)->granted, 0);
	assert_int_equal(net_flow(net, 0, 1)->tx.limit, limit);
	ask_back();
	assert_int_equal(pool(1)->granted, 0);
}

/* The peer has sent no frame yet, so that the forged one says where its numbers begin. It knows
 * nothing of the credit, and its answers to RECLAIM do not fit. */
static void forged__request_before_the_first_frame(void **state)
{
	static const uint32_t numbers[] = {-4u * GAMMA_WINDOW_MAX, 4 * GAMMA_WINDOW_MAX,
					   -1u * GAMMA_WINDOW_MAX, 1u << 31};

	for (unsigned i = 0; i < gamma_array_size(numbers); i++) {
		struct gamma_fields fields;

		teardown(state);
		setup(state);
		messages(1, 0, 1);
		net_finish(net, SEC);
		fields = net_fields(net, 0, 1, GAMMA_KIND_REQUEST, 0);
		fields.seq = numbers[i];
		net_forge(net, 0, 1, &fields, NULL);
		net_run(net, MS);
		assert_int_not_equal(pool(1)->granted, 0);
		ask_back();
		net_run(net, SEC);
		assert_int_equal(pool(1)->granted, 0);
		messages(0, 1, 100);
		net_finish(net, SEC);
		assert_int_equal(net->nodes[0].failures + net->nodes[1].failures, 0);
	}
}

static void forged__answer_to_reclaim(void **state)
{
	const struct gamma_flow *in = net_flow(net, 1, 0);

	(void) state;
	messages(0, 1, 20);
	net_finish(net, SEC);
	for (unsigned i = 0; i < 40; i++) {
		forge_returned(in->credit.returned + gamma_credit_window(in) / (1 + i % 3));
		messages(0, 1, 30);
		net_finish(net, SEC);
	}
	for (unsigned i = 0; i < 32; i++) {
		forge_returned(1u << i);
		messages(0, 1, 300);
		net_finish(net, SEC);
	}
	assert_int_equal(net->nodes[0].failures, 0);
}

/* The forger of the answer also asks for credit in the sender's name. */
static void forged__answer_to_reclaim_and_request(void **state)
{
	struct gamma_fields fields;

	(void) state;
	messages(0, 1, 20);
	net_finish(net, SEC);
	for (unsigned i = 0; i < 32; i++) {
		forge_returned(1u << i);
		fields = net_fields(net, 0, 1, GAMMA_KIND_REQUEST, 0);
		fields.seq = net_flow(net, 0, 1)->tx.next + i * 40;
		net_forge(net, 0, 1, &fields, NULL);
		net_run(net, US / 2);
		messages(0, 1, 300);
		net_finish(net, 10 * SEC);
	}
	assert_int_equal(net->nodes[0].failures, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		NET_TEST(forged__limit_beyond_any_grant),
		NET_TEST(forged__limit_and_reclaim),
		NET_TEST(forged__request_whose_grant_is_lost),
		NET_TEST(forged__request_before_the_first_frame),
		NET_TEST(forged__answer_to_reclaim),
		NET_TEST(forged__answer_to_reclaim_and_request),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
