// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Unit tests of common/flow/credit.c: RECLAIM, by which a receiver gets unused credit back. The
 * harness checks the account after every frame.
 */
#include "credit_fixture.h"

static void reclaim__idle_sender_gives_all_back(void **state)
{
	(void) state;
	exchange(0, 1, 20);
	ask_back();
	assert_int_equal(net_stats(net, 1)->reclaims_out, 1);
	assert_int_equal(pool(1)->granted, 0);
	assert_int_equal(pool(1)->active, 0);
	assert_false(gamma_send_window_is_open(net_flow(net, 0, 1)));
}

static void reclaim__then_asks_for_more_and_goes_on(void **state)
{
	(void) state;
	for (int i = 0; i < 5; i++) {
		messages(0, 1, 100);
		net_finish(net, 10 * MS);
		net_run(net, MS);
		ask_back();
		assert_int_equal(pool(1)->granted, 0);
	}
	assert_int_equal(net_stats(net, 0)->requests_out, 4);
	assert_int_equal(net_stats(net, 0)->retransmissions, 0);
}

static void reclaim__busy_sender_keeps_its_credit(void **state)
{
	(void) state;
	exchange(0, 1, 20);
	net_post(net, 1, 1 << 20);
	net_send(net, 0, 1, 1 << 20, GAMMA_WHEN_ARRIVED);
	net_run(net, 50 * US);
	ask_back();
	assert_int_equal(net_flow(net, 0, 1)->tx.returned, 0);
	net_finish(net, SEC);
	assert_int_equal(net_stats(net, 0)->requests_out, 0);
}

/* The receiver's side of a flow whose sender has given back all its credit. */
static struct gamma_flow *given_back(void)
{
	exchange(0, 1, 20);
	ask_back();
	return net_flow(net, 1, 0);
}

static void reclaim__repeated_and_stale_answers(void **state)
{
	struct gamma_flow *flow = given_back();
	uint32_t returned;

	(void) state;
	returned = flow->credit.returned;
	assert_true(returned > 0);
	gamma_credit_receive_reclaimed(flow, returned);
	gamma_credit_receive_reclaimed(flow, returned - 1);
	gamma_credit_receive_reclaimed(flow, 0);
	gamma_credit_receive_reclaimed(flow, returned + 1000); /* more than it has */
	assert_int_equal(flow->credit.returned, returned);
	assert_int_equal(pool(1)->granted, 0);
	exchange(0, 1, 20);
}

/* A late answer with an old total, just before the peer asks for credit. What the peer says again
 * and again is believed: this side's total may be the wrong one. */
static void reclaim__stale_answer_before_a_request(void **state)
{
	struct gamma_flow *flow = given_back();
	uint32_t returned = flow->credit.returned, seq = flow->rx.next;

	(void) state;
	gamma_credit_receive_reclaimed(flow, returned - 1);
	gamma_credit_receive_request(flow, seq, net->now);
	assert_int_equal(flow->credit.returned, returned);
	gamma_credit_receive_reclaimed(flow, returned - 2);
	gamma_credit_receive_request(flow, seq, net->now);
	assert_int_equal(flow->credit.returned, returned);
	gamma_credit_receive_reclaimed(flow, returned - 2);
	gamma_credit_receive_request(flow, seq, net->now);
	assert_int_equal(flow->credit.returned, returned - 2);
}

/* Without credit the flow has no frames under way, so a larger total is accepted. */
static void reclaim__believed_of_a_flow_without_credit(void **state)
{
	struct gamma_flow *flow = given_back();
	uint32_t returned;

	(void) state;
	assert_false(flow->credit.active);
	returned = flow->credit.returned + 1000;
	gamma_credit_receive_reclaimed(flow, returned);
	gamma_credit_receive_request(flow, flow->rx.highest, net->now);
	assert_int_equal(flow->credit.returned, returned);
	assert_true(gamma_credit_window(flow) > 0);
}

/* Node 0 has two senders. */
static void three_nodes(void)
{
	net_free(net);
	net = net_new(3, NULL);
}

/* What the pool of node 0 has left. */
static uint32_t left_of_pool(void)
{
	return pool(0)->slots - pool(0)->reserve - pool(0)->granted;
}

static void give_all(struct gamma_flow *flow)
{
	uint32_t rest = left_of_pool();

	pool(0)->granted += rest;
	flow->credit.limit += rest;
}

static void take_all_back(struct gamma_flow *flow)
{
	gamma_credit_receive_reclaimed(flow, flow->credit.returned + gamma_credit_window(flow));
}

static void ask_for_credit(struct gamma_flow *flow)
{
	gamma_credit_receive_request(flow, flow->rx.highest, net->now);
}

/* All credit is with a peer that has reported a backlog. */
static struct gamma_flow *slow_holder(struct gamma_flow *asker)
{
	struct gamma_flow *holder = net_flow(net, 0, 1);

	messages(1, 0, 20);
	exchange(2, 0, 20);
	take_all_back(asker);
	give_all(holder);
	holder->credit.used_at = pool(0)->arrivals;
	ask_for_credit(holder);
	return holder;
}

static void reclaim__not_from_a_sender_with_a_backlog(void **state)
{
	struct gamma_flow *asker, *holder;

	(void) state;
	three_nodes();
	asker = net_flow(net, 0, 2);
	holder = slow_holder(asker);
	ask_for_credit(asker);
	assert_false(holder->credit.reclaiming);
	/* Others go on sending, and it does not. */
	pool(0)->arrivals += 2 * pool(0)->slots;
	ask_for_credit(asker);
	assert_true(holder->credit.reclaiming);
}

/* A stream has little credit, because peers that have long been idle hold the rest. */
static void reclaim__from_the_idle_for_a_stream_with_little(void **state)
{
	struct gamma_flow *idle, *busy;
	uint32_t rest;

	(void) state;
	three_nodes();
	idle = net_flow(net, 0, 1);
	busy = net_flow(net, 0, 2);
	messages(1, 0, 20);
	exchange(2, 0, 20);
	rest = left_of_pool() + gamma_credit_window(busy) - 2;
	busy->credit.limit -= gamma_credit_window(busy) - 2;
	idle->credit.limit += rest;
	pool(0)->granted = pool(0)->slots - pool(0)->reserve;
	gamma_credit_arrived(busy, busy->rx.highest - 1, GAMMA_FLAG_BACKLOG);
	assert_false(idle->credit.reclaiming); /* it may be about to send */
	pool(0)->arrivals += 2 * pool(0)->slots;
	gamma_credit_arrived(busy, busy->rx.highest - 1, GAMMA_FLAG_BACKLOG);
	assert_true(idle->credit.reclaiming);
}

static void reclaim__from_any_flow_if_nothing_comes(void **state)
{
	struct gamma_flow *asker, *holder;

	(void) state;
	three_nodes();
	asker = net_flow(net, 0, 2);
	holder = slow_holder(asker);
	ask_for_credit(asker);
	ask_for_credit(asker);
	assert_true(holder->credit.reclaiming);
}

/* A peer got credit because it asked, and may have stopped or died since. */
static void reclaim__from_a_flow_that_asked_and_has_sent_nothing_since(void **state)
{
	struct gamma_flow *asker, *holder;

	(void) state;
	three_nodes();
	asker = net_flow(net, 0, 2);
	holder = net_flow(net, 0, 1);
	messages(1, 0, 20);
	exchange(2, 0, 20);
	take_all_back(asker);
	take_all_back(holder);
	ask_for_credit(holder);
	assert_true(gamma_credit_window(holder) > 0);
	give_all(holder);
	ask_for_credit(asker);
	ask_for_credit(asker);
	assert_true(holder->credit.reclaiming);
}

/* The receiver still counts credit that the sender has given back: the sender repeats its answer.
 */
static void reclaim__lost_answer_is_repeated(void **state)
{
	struct rule *rule = net_rule(net, (struct rule){.fate = DROP,
							.kind = GAMMA_KIND_RECLAIM,
							.op = GAMMA_ANSWER,
							.seq = ANY_SEQ,
							.times = 1});

	(void) state;
	exchange(0, 1, 20);
	ask_back();
	assert_int_equal(rule->met, 1);
	messages(0, 1, 20);
	assert_true(net_finish(net, SEC) < 2 * GAMMA_REQUEST_US * US);
	assert_int_equal(net_stats(net, 0)->requests_out, 2);
}

static void reclaim__after_a_long_pause_is_no_sign_of_death(void **state)
{
	struct outgoing *out;

	(void) state;
	exchange(0, 1, 20);
	ask_back();
	net_run(net, 100 * SEC);
	net->nodes[1].wakes = net->now + 20 * MS;
	net_post(net, 1, 64);
	out = net_send(net, 0, 1, 64, GAMMA_WHEN_ARRIVED);
	net_run(net, SEC);
	assert_true(out->done && !out->error);
}

/* Peers hold the whole of a small ring; later another peer needs a part. */
static void small_ring(void)
{
	struct net_options options = net_defaults();

	options.slots = 64;
	net_free(net);
	net = net_new(5, &options);
	exchange(1, 0, 20);
	exchange(2, 0, 3);
	assert_int_equal(left_of_pool(), 0);
}

static void holders_die(void)
{
	for (unsigned peer = 1; peer <= 3; peer++)
		net->nodes[peer].unplugged = true;
	assert_int_equal(left_of_pool(), 0);
	messages(4, 0, 30);
	net_run(net, 70 * SEC);
	assert_int_equal(net->nodes[4].sent, 30);
}

/* They owe only the answer to RECLAIM; that suffices to declare them dead. */
static void dead__holders_that_owe_nothing(void **state)
{
	(void) state;
	small_ring();
	holders_die();
}

/* They had a backlog, and their frames no longer arrive. */
static void dead__holders_with_a_backlog(void **state)
{
	(void) state;
	small_ring();
	for (int peer = 1; peer <= 2; peer++) {
		net_rule(net, (struct rule){.fate = DROP,
					    .from = peer,
					    .op = ANY_OP,
					    .seq = ANY_SEQ,
					    .skip = 1});
		messages((unsigned) peer, 0, 10);
	}
	net_run(net, 10 * US);
	messages(3, 0, 4);
	net_run(net, MS);
	assert_int_equal(pool(0)->bulk, 2);
	holders_die();
}

static void reclaim__lost_question_is_repeated(void **state)
{
	struct rule *rule;

	(void) state;
	small_ring();
	rule = net_rule(net, (struct rule){.fate = DROP,
					   .from = 0,
					   .kind = GAMMA_KIND_RECLAIM,
					   .op = ANY_OP,
					   .seq = ANY_SEQ,
					   .times = 1});
	exchange(3, 0, 30);
	assert_int_equal(rule->met, 1);
	net_run(net, 10 * SEC);
	assert_false(net_flow(net, 0, 1)->credit.reclaiming);
	assert_false(net_flow(net, 0, 2)->credit.reclaiming);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		NET_TEST(reclaim__idle_sender_gives_all_back),
		NET_TEST(reclaim__then_asks_for_more_and_goes_on),
		NET_TEST(reclaim__busy_sender_keeps_its_credit),
		NET_TEST(reclaim__repeated_and_stale_answers),
		NET_TEST(reclaim__stale_answer_before_a_request),
		NET_TEST(reclaim__believed_of_a_flow_without_credit),
		NET_TEST(reclaim__not_from_a_sender_with_a_backlog),
		NET_TEST(reclaim__from_the_idle_for_a_stream_with_little),
		NET_TEST(reclaim__from_any_flow_if_nothing_comes),
		NET_TEST(reclaim__from_a_flow_that_asked_and_has_sent_nothing_since),
		NET_TEST(reclaim__lost_answer_is_repeated),
		NET_TEST(reclaim__after_a_long_pause_is_no_sign_of_death),
		NET_TEST(dead__holders_that_owe_nothing),
		NET_TEST(dead__holders_with_a_backlog),
		NET_TEST(reclaim__lost_question_is_repeated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
