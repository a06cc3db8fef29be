// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Unit tests of common/flow/credit.c. The harness checks the account after every frame: what the
 * flows hold is what the pool has granted, and no grant goes beyond slots minus reserve.
 */
#include "pair_fixture.h"

#include <errno.h>

static struct gamma_credit_pool *pool(unsigned node)
{
	return &net->nodes[node].ep.local.pool;
}

static void messages(unsigned from, unsigned to, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		net_post(net, to, 64);
		net_send(net, from, to, 64, GAMMA_WHEN_ARRIVED);
	}
}

/* ---- granting ---- */

static void first__frames_before_the_peer_is_heard_of(void **state)
{
	(void) state;
	net->nodes[1].wakes = net->now + MS;
	messages(0, 1, 20);
	net_run(net, 500 * US);
	assert_int_equal(net_stats(net, 0)->data_frames_out, GAMMA_FIRST_CREDIT);
	assert_int_equal(net_stats(net, 0)->credit_stalls, 1);
	assert_int_equal(net_stats(net, 0)->requests_out, 0);
	net_finish(net, SEC);
	assert_int_equal(net_stats(net, 0)->requests_out, 0);
}

static void grant__grows_to_an_equal_share(void **state)
{
	(void) state;
	messages(0, 1, 8);
	net_finish(net, SEC);
	assert_int_equal(pool(1)->reserve, 32);
	assert_int_equal(pool(1)->share, 224);
	assert_in_range(gamma_credit_window(net_flow(net, 1, 0)), 224 - 28, 224);
	assert_int_equal(pool(1)->granted, gamma_credit_window(net_flow(net, 1, 0)));
}

static void grant__a_long_stream_never_runs_dry(void **state)
{
	(void) state;
	net_post(net, 1, 8 << 20);
	net_send(net, 0, 1, 8 << 20, GAMMA_WHEN_ARRIVED);
	net_finish(net, SEC);
	assert_int_equal(net_stats(net, 0)->requests_out, 0);
	assert_int_equal(net_stats(net, 0)->probes_out, 0);
	assert_int_equal(net_stats(net, 0)->retransmissions, 0);
	assert_int_equal(net_stats(net, 1)->ring_drops, 0);
}

static void grant__across_the_wrap(void **state)
{
	(void) state;
	net_begin_at(net, 0, 1, UINT32_MAX - 100);
	net_begin_at(net, 1, 0, UINT32_MAX - 3);
	net_post(net, 1, 1 << 20);
	net_send(net, 0, 1, 1 << 20, GAMMA_WHEN_ARRIVED);
	messages(1, 0, 100);
	net_finish(net, SEC);
	assert_true(net_flow(net, 0, 1)->tx.next < 1000);
	assert_int_equal(net_stats(net, 0)->retransmissions, 0);
	assert_int_equal(net_stats(net, 0)->requests_out + net_stats(net, 1)->requests_out, 0);
}

/* ---- news of credit that is late, repeated or lost ---- */

static void limit__stale_and_repeated_ones_are_harmless(void **state)
{
	struct gamma_flow *flow = net_flow(net, 0, 1);

	(void) state;
	gamma_credit_receive_limit(flow, 100);
	gamma_credit_receive_limit(flow, 50);
	gamma_credit_receive_limit(flow, 100);
	assert_int_equal(flow->tx.limit, 100);
	flow->tx.limit = UINT32_MAX - 1;
	gamma_credit_receive_limit(flow, 5);
	gamma_credit_receive_limit(flow, UINT32_MAX);
	assert_int_equal(flow->tx.limit, 5);
}

/* Takes the pool away, so that node 1 has nothing to grant. */
static void drain(void)
{
	pool(1)->reserve = pool(1)->slots;
	pool(1)->share = 0;
}

static void refill(void)
{
	pool(1)->reserve = pool(1)->slots / 8;
	pool(1)->share = 100;
}

static void starved__asks_and_is_served(void **state)
{
	(void) state;
	drain();
	messages(0, 1, 30);
	net_run(net, GAMMA_REQUEST_US * US / 2);
	assert_int_equal(net_stats(net, 0)->data_frames_out, GAMMA_FIRST_CREDIT);
	assert_int_equal(net_stats(net, 0)->requests_out, 0); /* the last frame said BACKLOG */
	net_run(net, GAMMA_REQUEST_US * US);
	assert_int_equal(net_stats(net, 0)->requests_out, 1);
	assert_int_equal(net_stats(net, 1)->requests_in, 1);
	refill();
	net_finish(net, 10 * MS);
	assert_int_equal(net_stats(net, 0)->data_frames_out, 30);
	assert_int_equal(net_stats(net, 0)->retransmissions, 0);
	assert_int_equal(net_stats(net, 0)->credit_stalls, 1);
}

static void starved__lost_request_is_repeated(void **state)
{
	struct rule *rule = net_rule(net, (struct rule){.fate = DROP,
							.kind = GAMMA_KIND_REQUEST,
							.op = ANY_OP,
							.seq = ANY_SEQ,
							.times = 1});

	(void) state;
	drain();
	messages(0, 1, 30);
	net_run(net, 100 * US);
	refill();
	net_finish(net, 4 * GAMMA_REQUEST_US * US);
	assert_int_equal(rule->met, 1);
	assert_int_equal(net_stats(net, 0)->requests_out, 2);
	assert_int_equal(net_stats(net, 0)->retransmissions, 0);
}

static void starved__lost_grant_is_repeated(void **state)
{
	struct rule *rule;

	(void) state;
	drain();
	messages(0, 1, 30);
	net_run(net, 100 * US);
	refill();
	rule = net_rule(net, (struct rule){.fate = DROP,
					   .from = 1,
					   .kind = GAMMA_KIND_ACK,
					   .op = ANY_OP,
					   .seq = ANY_SEQ,
					   .times = 1});
	net_finish(net, 5 * GAMMA_REQUEST_US * US);
	assert_int_equal(rule->met, 1);
	assert_int_equal(net_stats(net, 0)->retransmissions, 0);
}

static void starved__requests_back_off(void **state)
{
	(void) state;
	drain();
	messages(0, 1, 30);
	net_run(net, 10 * SEC);
	assert_in_range(net_stats(net, 0)->requests_out, 10, 40);
	assert_int_equal(net->nodes[0].failures, 0);
}

/* A receiver that lives and has nothing to give is not a dead one. */
static void starved__for_longer_than_the_peer_timeout(void **state)
{
	(void) state;
	drain();
	messages(0, 1, 30);
	net_run(net, 100 * SEC);
	assert_int_equal(net->nodes[0].failures, 0);
	refill();
	net_finish(net, SEC);
}

static void starved__by_a_dead_receiver(void **state)
{
	(void) state;
	drain();
	messages(0, 1, 30);
	net_run(net, MS);
	net->nodes[1].unplugged = true;
	net_run(net, 35 * SEC);
	assert_int_equal(net->nodes[0].failures, 1);
	assert_int_equal(net->nodes[0].last_error, -ETIMEDOUT);
}

/* A peer that sends more than it was granted gets no more for it, and the account stays right
 * (the harness checks that). */
static void overrun__is_not_paid_for(void **state)
{
	(void) state;
	drain();
	net_flow(net, 0, 1)->tx.limit += 20;
	messages(0, 1, GAMMA_FIRST_CREDIT + 20);
	net_run(net, MS);
	assert_int_equal(gamma_credit_window(net_flow(net, 1, 0)), 0);
	assert_int_equal(pool(1)->granted, 0);
	refill();
	messages(0, 1, 50);
	net_finish(net, 10 * MS);
}

/* ---- giving back ---- */

static void ask_back(void)
{
	struct gamma_flow *flow = net_flow(net, 1, 0);

	flow->credit.reclaiming = true;
	gamma_flow_want(flow, GAMMA_PENDING_RECLAIM);
	net_run(net, 100 * US);
}

static void reclaim__idle_sender_gives_all_back(void **state)
{
	(void) state;
	messages(0, 1, 20);
	net_finish(net, SEC);
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
	messages(0, 1, 20);
	net_finish(net, SEC);
	net_post(net, 1, 1 << 20);
	net_send(net, 0, 1, 1 << 20, GAMMA_WHEN_ARRIVED);
	net_run(net, 50 * US);
	ask_back();
	assert_int_equal(net_flow(net, 0, 1)->tx.returned, 0);
	net_finish(net, SEC);
	assert_int_equal(net_stats(net, 0)->requests_out, 0);
}

/* The receiver's side of a flow whose sender has given all its credit back. */
static struct gamma_flow *given_back(void)
{
	messages(0, 1, 20);
	net_finish(net, SEC);
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
	messages(0, 1, 20);
	net_finish(net, SEC);
}

/* It has nothing that could be lost, and asks. */
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

/* The receiver believes that there is credit, the sender has given it back: it says so again. */
/* All credit is with a peer that has said that it has more to send. */
static struct gamma_flow *slow_holder(struct gamma_flow *asker)
{
	struct gamma_flow *holder = net_flow(net, 0, 1);
	uint32_t rest;

	messages(1, 0, 20);
	messages(2, 0, 20);
	net_finish(net, SEC);
	gamma_credit_receive_reclaimed(asker, asker->credit.returned + gamma_credit_window(asker));
	rest = pool(0)->slots - pool(0)->reserve - pool(0)->granted;
	pool(0)->granted += rest;
	holder->credit.limit += rest;
	holder->credit.used_at = pool(0)->arrivals;
	gamma_credit_receive_request(holder, holder->rx.highest, net->now);
	return holder;
}

static void reclaim__not_from_who_has_more_to_send(void **state)
{
	struct gamma_flow *asker, *holder;

	(void) state;
	teardown(NULL);
	net = net_new(3, NULL);
	asker = net_flow(net, 0, 2);
	holder = slow_holder(asker);
	gamma_credit_receive_request(asker, asker->rx.highest, net->now);
	assert_false(holder->credit.reclaiming);
	/* Others go on sending, and it does not. */
	pool(0)->arrivals += 2 * pool(0)->slots;
	gamma_credit_receive_request(asker, asker->rx.highest, net->now);
	assert_true(holder->credit.reclaiming);
}

/* A stream has credit, but little, as others that have long been idle hold the rest. */
static void reclaim__from_the_idle_for_a_stream_with_little(void **state)
{
	struct gamma_flow *idle, *busy;
	uint32_t rest;

	(void) state;
	teardown(NULL);
	net = net_new(3, NULL);
	idle = net_flow(net, 0, 1);
	busy = net_flow(net, 0, 2);
	messages(1, 0, 20);
	messages(2, 0, 20);
	net_finish(net, SEC);
	rest = pool(0)->slots - pool(0)->reserve - pool(0)->granted;
	rest += gamma_credit_window(busy) - 2;
	busy->credit.limit -= gamma_credit_window(busy) - 2;
	idle->credit.limit += rest;
	pool(0)->granted = pool(0)->slots - pool(0)->reserve;
	gamma_credit_arrived(busy, busy->rx.highest - 1, GAMMA_FLAG_BACKLOG);
	assert_false(idle->credit.reclaiming); /* it may be about to send */
	pool(0)->arrivals += 2 * pool(0)->slots;
	gamma_credit_arrived(busy, busy->rx.highest - 1, GAMMA_FLAG_BACKLOG);
	assert_true(idle->credit.reclaiming);
}

static void reclaim__from_anybody_if_nothing_comes(void **state)
{
	struct gamma_flow *asker, *holder;

	(void) state;
	teardown(NULL);
	net = net_new(3, NULL);
	asker = net_flow(net, 0, 2);
	holder = slow_holder(asker);
	gamma_credit_receive_request(asker, asker->rx.highest, net->now);
	gamma_credit_receive_request(asker, asker->rx.highest, net->now);
	assert_true(holder->credit.reclaiming);
}

/* It was granted credit because it asked, and may be stopped or dead since. */
static void reclaim__from_who_asked_and_has_sent_nothing_since(void **state)
{
	struct gamma_flow *asker, *holder;
	uint32_t rest;

	(void) state;
	teardown(NULL);
	net = net_new(3, NULL);
	asker = net_flow(net, 0, 2);
	holder = net_flow(net, 0, 1);
	messages(1, 0, 20);
	messages(2, 0, 20);
	net_finish(net, SEC);
	gamma_credit_receive_reclaimed(asker, asker->credit.returned + gamma_credit_window(asker));
	gamma_credit_receive_reclaimed(holder,
				       holder->credit.returned + gamma_credit_window(holder));
	gamma_credit_receive_request(holder, holder->rx.highest, net->now);
	assert_true(gamma_credit_window(holder) > 0);
	rest = pool(0)->slots - pool(0)->reserve - pool(0)->granted;
	pool(0)->granted += rest;
	holder->credit.limit += rest;
	gamma_credit_receive_request(asker, asker->rx.highest, net->now);
	gamma_credit_receive_request(asker, asker->rx.highest, net->now);
	assert_true(holder->credit.reclaiming);
}

static void reclaim__lost_answer_is_repeated(void **state)
{
	struct rule *rule = net_rule(net, (struct rule){.fate = DROP,
							.kind = GAMMA_KIND_RECLAIM,
							.op = GAMMA_ANSWER,
							.seq = ANY_SEQ,
							.times = 1});

	(void) state;
	messages(0, 1, 20);
	net_finish(net, SEC);
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
	messages(0, 1, 20);
	net_finish(net, SEC);
	ask_back();
	net_run(net, 100 * SEC);
	net->nodes[1].wakes = net->now + 20 * MS;
	net_post(net, 1, 64);
	out = net_send(net, 0, 1, 64, GAMMA_WHEN_ARRIVED);
	net_run(net, SEC);
	assert_true(out->done && !out->error);
}

static void release__returns_what_a_failed_flow_held(void **state)
{
	(void) state;
	messages(0, 1, 20);
	net_finish(net, SEC);
	assert_true(pool(1)->granted > 0);
	gamma_flow_fail(net_flow(net, 1, 0), -ETIMEDOUT, "test");
	assert_int_equal(pool(1)->granted, 0);
	assert_int_equal(pool(1)->active, 0);
}

/* ---- many peers ---- */

enum { PEERS = 100 };

static struct net *crowd(void)
{
	teardown(NULL);
	net = net_new(PEERS + 1, NULL);
	return net;
}

/* One after the other, each with more than its first credit: grants of idle ones come back. */
static void crowd__one_after_the_other(void **state)
{
	(void) state;
	crowd();
	for (unsigned peer = 1; peer <= PEERS; peer++) {
		messages(peer, 0, 30);
		net_finish(net, 100 * MS);
	}
	assert_int_equal(net->nodes[0].received, PEERS * 30);
	assert_true(net_stats(net, 0)->reclaims_out > 0);
	assert_int_equal(net_stats(net, 0)->ring_drops, 0);
	for (unsigned peer = 1; peer <= PEERS; peer++)
		assert_int_equal(net_stats(net, peer)->retransmissions, 0);
}

/* Everybody at once: first credits alone overrun the ring, which is repaired; then all is fair. */
static void crowd__all_at_once(void **state)
{
	(void) state;
	crowd();
	for (unsigned peer = 1; peer <= PEERS; peer++)
		messages(peer, 0, 60);
	net_finish(net, 100 * MS);
	assert_int_equal(net->nodes[0].received, PEERS * 60);
}

/* ---- several senders with a backlog ---- */

static void bulk_streams(unsigned senders, uint64_t length)
{
	teardown(NULL);
	net = net_new(senders + 1, NULL);
	for (unsigned peer = 1; peer <= senders; peer++) {
		net_post(net, 0, length);
		net_send(net, peer, 0, length, GAMMA_WHEN_ARRIVED);
	}
}

static void bulk__is_known_by_what_frames_say(void **state)
{
	(void) state;
	bulk_streams(2, 1 << 20);
	net_run(net, 100 * US);
	assert_int_equal(pool(0)->bulk, 2);
	net_finish(net, SEC);
	assert_int_equal(pool(0)->bulk, 0);
	assert_int_equal(pool(0)->bulk_granted, 0);
	assert_int_equal(pool(0)->bound, pool(0)->slots - pool(0)->reserve);
}

static void bulk__loss_lowers_the_bound_and_quiet_raises_it(void **state)
{
	uint32_t bound;

	(void) state;
	bulk_streams(3, 4 << 20);
	net_run(net, 200 * US);
	net_drop(net, 1, GAMMA_KIND_DATA, 1);
	net_run(net, 400 * US);
	bound = pool(0)->bound;
	assert_in_range(bound, GAMMA_BUDGET, 150);
	net_finish(net, SEC);
	assert_true(pool(0)->bound > bound);
	assert_int_equal(net_stats(net, 0)->ring_drops, 0);
	assert_int_equal(net_stats(net, 1)->requests_out + net_stats(net, 2)->requests_out, 0);
}

static void bulk__an_overtaken_frame_tells_old_news(void **state)
{
	(void) state;
	bulk_streams(1, 5000);
	net_rule(net, (struct rule){.fate = DELAY,
				    .from = 1,
				    .kind = GAMMA_KIND_DATA,
				    .op = ANY_OP,
				    .seq = 2,
				    .delay = 50 * US,
				    .times = 1});
	net_finish(net, SEC);
	assert_true(net_stats(net, 0)->out_of_order > 0);
	assert_int_equal(pool(0)->bulk, 0);
}

static void bulk__one_alone_is_bounded_too(void **state)
{
	(void) state;
	bulk_streams(1, 4 << 20);
	net_run(net, 200 * US);
	net_drop(net, 1, GAMMA_KIND_DATA, 1);
	net_run(net, MS);
	assert_in_range(pool(0)->bound, GAMMA_BUDGET, 150);
	net_finish(net, SEC);
	assert_int_equal(net_stats(net, 1)->retransmissions, 1);
}

/* Those that would share the bound have died with all of it: nobody else waits for them. */
static void bulk__dead_holders_do_not_stop_the_others(void **state)
{
	(void) state;
	bulk_streams(6, 4 << 20);
	gamma_credit_pool_set_budget(pool(0), 16);
	pool(0)->bound = 16;
	net_run(net, 300 * US);
	for (unsigned peer = 1; peer <= 6; peer++)
		if (gamma_credit_window(net_flow(net, 0, peer)) > 2)
			net->nodes[peer].unplugged = true;
	net_run(net, SEC);
	for (unsigned peer = 1; peer <= 6; peer++)
		assert_true(net->nodes[peer].unplugged || net->nodes[peer].sent);
}

static void bulk__loss_elsewhere_on_the_nic_lowers_it_too(void **state)
{
	(void) state;
	bulk_streams(1, 8 << 20);
	gamma_credit_pool_set_budget(pool(0), 40);
	net_run(net, 500 * US);
	gamma_credit_pool_lost(pool(0));
	assert_in_range(pool(0)->bound, 40, 112);
	gamma_credit_pool_lost(pool(0)); /* of the same loss, perhaps */
	assert_in_range(pool(0)->bound, 56, 112);
	net_finish(net, SEC);
}

static void budget__sets_the_minimum(void **state)
{
	(void) state;
	gamma_credit_pool_set_budget(pool(0), 300);
	assert_int_equal(pool(0)->bound, 224);
	pool(0)->bound = 64;
	gamma_credit_pool_set_budget(pool(0), 100);
	assert_int_equal(pool(0)->bound, 100);
	gamma_credit_pool_set_budget(pool(0), 0);
	assert_int_equal(pool(0)->bound, 224);
}

/* Those that would be asked first die. */
static void kill_holders(unsigned count)
{
	struct gamma_list *pos;

	gamma_list_for_each (pos, &pool(0)->holders) {
		struct gamma_flow *flow =
			gamma_list_entry(pos, struct gamma_flow, credit.grant_entry);

		if (!gamma_credit_window(flow) || !count)
			continue;
		net->nodes[flow->addr.mac[5]].unplugged = true;
		count--;
	}
	assert_int_equal(count, 0);
}

/* The peer that would have to give back is dead; the others must not starve because of it. */
static void crowd__with_dead_holders(void **state)
{
	(void) state;
	crowd();
	for (unsigned peer = 1; peer <= 20; peer++) {
		messages(peer, 0, 10);
		net_finish(net, 100 * MS);
	}
	kill_holders(2);
	for (unsigned peer = 21; peer <= PEERS; peer++) {
		messages(peer, 0, 30);
		net_finish(net, SEC);
	}
	assert_int_equal(net->nodes[0].received, 20 * 10 + 80 * 30);
}

/* Peers that hold the whole of a small ring, and later another that wants some of it. */
static void small_ring(void)
{
	struct net_options options = net_defaults();

	options.slots = 64;
	net_free(net);
	net = net_new(5, &options);
	messages(1, 0, 20);
	net_finish(net, SEC);
	messages(2, 0, 3);
	net_finish(net, SEC);
	assert_int_equal(pool(0)->granted, pool(0)->slots - pool(0)->reserve);
}

static void holders_die(void)
{
	for (unsigned peer = 1; peer <= 3; peer++)
		net->nodes[peer].unplugged = true;
	assert_int_equal(pool(0)->granted, pool(0)->slots - pool(0)->reserve);
	messages(4, 0, 30);
	net_run(net, 70 * SEC);
	assert_int_equal(net->nodes[4].sent, 30);
}

/* They owe nothing but the answer to RECLAIM; that is enough to notice. */
static void dead__holders_that_owe_nothing(void **state)
{
	(void) state;
	small_ring();
	holders_die();
}

/* They had more to send, of which nothing comes any more. */
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
	messages(3, 0, 30);
	net_finish(net, SEC);
	assert_int_equal(rule->met, 1);
	net_run(net, 10 * SEC);
	assert_false(net_flow(net, 0, 1)->credit.reclaiming);
	assert_false(net_flow(net, 0, 2)->credit.reclaiming);
}

/* ---- forged credit: nobody waits for ever ---- */

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

/* In node 0's name: so much has been given back. */
static void forge_returned(uint32_t returned)
{
	struct gamma_fields fields = net_fields(net, 0, 1, GAMMA_KIND_RECLAIM, GAMMA_ANSWER);

	fields.seq = returned;
	net_forge(net, 0, 1, &fields, NULL);
	net_run(net, US / 2);
}

static void forged__limit_that_nobody_grants(void **state)
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

/* The sender gives back what it never had: both count differently then, until it asks. */
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

/* What nobody asked for is granted, and the frame that tells it gets lost: it comes back as well.
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

/* Also if the answer's forger asks for credit in the sender's name. */
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
		NET_TEST(first__frames_before_the_peer_is_heard_of),
		NET_TEST(grant__grows_to_an_equal_share),
		NET_TEST(grant__a_long_stream_never_runs_dry),
		NET_TEST(grant__across_the_wrap),
		NET_TEST(limit__stale_and_repeated_ones_are_harmless),
		NET_TEST(starved__asks_and_is_served),
		NET_TEST(starved__lost_request_is_repeated),
		NET_TEST(starved__lost_grant_is_repeated),
		NET_TEST(starved__requests_back_off),
		NET_TEST(starved__for_longer_than_the_peer_timeout),
		NET_TEST(starved__by_a_dead_receiver),
		NET_TEST(overrun__is_not_paid_for),
		NET_TEST(reclaim__idle_sender_gives_all_back),
		NET_TEST(reclaim__then_asks_for_more_and_goes_on),
		NET_TEST(reclaim__busy_sender_keeps_its_credit),
		NET_TEST(reclaim__repeated_and_stale_answers),
		NET_TEST(reclaim__believed_of_a_flow_without_credit),
		NET_TEST(reclaim__not_from_who_has_more_to_send),
		NET_TEST(reclaim__from_the_idle_for_a_stream_with_little),
		NET_TEST(reclaim__from_anybody_if_nothing_comes),
		NET_TEST(reclaim__from_who_asked_and_has_sent_nothing_since),
		NET_TEST(reclaim__lost_answer_is_repeated),
		NET_TEST(reclaim__after_a_long_pause_is_no_sign_of_death),
		NET_TEST(release__returns_what_a_failed_flow_held),
		NET_TEST(crowd__one_after_the_other),
		NET_TEST(crowd__all_at_once),
		NET_TEST(crowd__with_dead_holders),
		NET_TEST(dead__holders_that_owe_nothing),
		NET_TEST(dead__holders_with_a_backlog),
		NET_TEST(reclaim__lost_question_is_repeated),
		NET_TEST(bulk__is_known_by_what_frames_say),
		NET_TEST(bulk__loss_lowers_the_bound_and_quiet_raises_it),
		NET_TEST(bulk__an_overtaken_frame_tells_old_news),
		NET_TEST(bulk__one_alone_is_bounded_too),
		NET_TEST(bulk__dead_holders_do_not_stop_the_others),
		NET_TEST(bulk__loss_elsewhere_on_the_nic_lowers_it_too),
		NET_TEST(budget__sets_the_minimum),
		NET_TEST(forged__limit_that_nobody_grants),
		NET_TEST(forged__limit_and_reclaim),
		NET_TEST(forged__request_whose_grant_is_lost),
		NET_TEST(forged__answer_to_reclaim),
		NET_TEST(forged__answer_to_reclaim_and_request),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
