// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Unit tests of common/flow/flow.c, with engine/dispatch.c: how a flow ends by RESET and BYE, and
 * by neither if they are forged.
 */
#include "pair_fixture.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

/* ---- RESET ---- */

/* Node 1 starts again: another epoch, no flows. */
static void restart(void)
{
	struct gamma_endpoint *ep = &net->nodes[1].ep;

	while (!gamma_list_empty(&ep->local.flows))
		gamma_flow_free(gamma_list_first(&ep->local.flows, struct gamma_flow, all_entry));
	memset(ep->chains, 0, ep->chain_count * sizeof(*ep->chains));
	ep->flow_count = 0;
	ep->local.epoch++;
	ep->local.addr.epoch = htonl(ep->local.epoch);
}

static void reset__ends_what_was_meant_for_the_last_incarnation(void **state)
{
	struct gamma_flow *flow;
	struct gamma_send *send;
	struct outgoing *out;

	(void) state;
	net_exchange(net);
	flow = net_flow(net, 0, 1);
	restart();
	out = net->nodes[0].sends;
	send = &out->send;
	out->done = false;
	send->envelope.tag = 1;
	assert_int_equal(gamma_send_message(flow, send), 0);
	net_run(net, MS);
	assert_int_equal(out->error, -ECONNRESET);
	assert_int_equal(net_stats(net, 1)->resets_out, 2); /* one names the probe */
	assert_int_equal(net_stats(net, 0)->resets_in, 1);
	assert_int_equal(net_stats(net, 1)->data_frames_in, 1); /* the one before */
	assert_int_equal(flow->state, GAMMA_FLOW_FAILED);
}

static void reset__answers_a_request_for_credit_too(void **state)
{
	struct gamma_flow *flow;
	struct outgoing *out;

	(void) state;
	net_exchange(net);
	flow = net_flow(net, 0, 1);
	flow->tx.returned = flow->tx.limit - flow->tx.next;
	net->nodes[1].ep.local.epoch++;
	out = net_send(net, 0, 1, 64, GAMMA_WHEN_ARRIVED);
	net->nodes[1].next_match[0]++;
	net_run(net, MS);
	assert_int_equal(net_stats(net, 0)->requests_out, 1);
	assert_int_equal(out->error, -ECONNRESET);
}

static void forge_reset(uint32_t seq, uint32_t dst_epoch, uint32_t src_epoch)
{
	struct gamma_fields fields = net_fields(net, 1, 0, GAMMA_KIND_RESET, GAMMA_RESET_EPOCH);

	fields.seq = seq;
	fields.dst_epoch += dst_epoch;
	fields.src_epoch += src_epoch;
	net_forge(net, 1, 0, &fields, NULL);
	net_run(net, US / 2);
}

static void reset__must_match_what_is_outstanding(void **state)
{
	struct gamma_flow *flow = net_flow(net, 0, 1);

	(void) state;
	net->nodes[1].wakes = net->now + SEC;
	net_send(net, 0, 1, 64, GAMMA_WHEN_ARRIVED);
	net_send(net, 0, 1, 64, GAMMA_WHEN_ARRIVED);
	net_run(net, US);
	forge_reset(2, 0, 0); /* never sent */
	forge_reset(UINT32_MAX, 0, 0);
	forge_reset(1, 1, 0); /* not our epoch */
	forge_reset(1, 0, 1); /* not the peer's */
	assert_int_equal(flow->state, GAMMA_FLOW_OPEN);
	assert_int_equal(net_stats(net, 0)->resets_in, 0);
	assert_int_equal(net_stats(net, 0)->stray, 4);
	assert_int_equal(net_stats(net, 0)->resets_out, 0); /* RESET is never answered by RESET */
	assert_false(flow->loss.probing);
	forge_reset(1, 0, 0); /* can be guessed */
	assert_int_equal(flow->state, GAMMA_FLOW_OPEN);
	assert_true(flow->loss.probing);
	forge_reset(flow->loss.probe + 1, 0, 0);
	forge_reset(flow->loss.probe - 1, 0, 0);
	assert_int_equal(flow->state, GAMMA_FLOW_OPEN);
	forge_reset(flow->loss.probe, 0, 0);
	assert_int_equal(flow->state, GAMMA_FLOW_FAILED);
}

/* The peer answers the probe, and the flow goes on. */
static void reset__forged_is_refuted(void **state)
{
	struct gamma_flow *flow = net_flow(net, 0, 1);
	uint32_t number;

	(void) state;
	net_exchange(net);
	for (int i = 0; i < 5; i++) {
		net->nodes[1].wakes = net->now + 10 * US;
		net_post(net, 1, 64);
		net_send(net, 0, 1, 64, GAMMA_WHEN_ARRIVED);
		net_run(net, US);
		number = flow->loss.probe;
		forge_reset(flow->tx.next - 1, 0, 0);
		assert_int_not_equal(flow->loss.probe, number + 1);
		net_finish(net, SEC);
	}
	net_run(net, MS);
	assert_false(flow->loss.probing || flow->loss.doubted);
	assert_int_equal(net_stats(net, 0)->resets_in, 0);
	assert_int_equal(net_stats(net, 0)->retransmissions, 0);
}

static void reset__few_in_one_progress_call(void **state)
{
	struct gamma_fields fields;

	(void) state;
	net->nodes[1].wakes = net->now + US;
	for (int i = 0; i < 100; i++) {
		fields = net_fields(net, 0, 1, GAMMA_KIND_DATA, GAMMA_OP_SEND);
		fields.dst_epoch++;
		net_forge(net, 0, 1, &fields, NULL);
	}
	net_run(net, 10 * US);
	assert_int_equal(net_stats(net, 1)->resets_out, GAMMA_RESETS_MAX);
	assert_int_equal(net_stats(net, 1)->stray, 100);
}

/* Given up here, alive there: it learns so at its next frame. */
static void reset__informs_a_peer_that_was_declared_dead(void **state)
{
	struct outgoing *out;

	(void) state;
	net_exchange(net);
	gamma_flow_fail(net_flow(net, 1, 0), -ETIMEDOUT, "test");
	out = net_send(net, 0, 1, 64, GAMMA_WHEN_ARRIVED);
	net_run(net, MS);
	assert_int_equal(out->error, -ECONNRESET);
	assert_string_equal(net->nodes[0].last_cause,
			    "it has closed its endpoint, or declared this one dead");
}

/* ---- BYE ---- */

static void bye__is_answered_and_forgotten(void **state)
{
	(void) state;
	net_exchange(net);
	gamma_flow_bye(net_flow(net, 0, 1), net->now);
	net_run(net, MS);
	assert_true(net_flow(net, 0, 1)->bye_answered);
	assert_int_equal(net_flow(net, 1, 0)->state, GAMMA_FLOW_CLOSED);
	assert_int_equal(net->nodes[1].failures, 0); /* nothing was outstanding */
	assert_int_equal(net->nodes[1].gone, 0);
	net_run(net, 3 * SEC);
	assert_int_equal(net->nodes[1].gone, 1);
	assert_int_equal(net->nodes[1].ep.flow_count, 0);
}

static void bye__lost_is_repeated(void **state)
{
	struct gamma_flow *flow;

	(void) state;
	net_exchange(net);
	flow = net_flow(net, 0, 1);
	net_drop(net, ANY_NODE, GAMMA_KIND_BYE, 3);
	gamma_flow_bye(flow, net->now);
	net_run(net, 20 * MS);
	assert_true(flow->bye_answered);
	assert_int_equal(flow->byes, 4);
	assert_false(gamma_timers_is_set(flow, GAMMA_TIMER_BYE));
}

/* It may wait for this endpoint alone, and no other host would report the end later. */
static void bye__waits_for_an_answer_a_few_times(void **state)
{
	struct gamma_flow *flow;

	(void) state;
	net_exchange(net);
	net_run(net, SEC);
	flow = net_flow(net, 0, 1);
	net_drop(net, 0, GAMMA_KIND_BYE, 0);
	assert_false(gamma_flow_unfinished(flow, net->now));
	gamma_flow_bye(flow, net->now);
	flow->same_host = true; /* nothing gets lost there */
	assert_false(gamma_flow_unfinished(flow, net->now));
	flow->same_host = false;
	net_run(net, 14 * MS);
	assert_true(gamma_flow_unfinished(flow, net->now));
	net_run(net, 2 * MS);
	assert_int_equal(flow->byes, GAMMA_BYE_TRIES);
	assert_true(gamma_flow_unfinished(flow, net->now)); /* the last one may be asked about */
	net_run(net, 16 * MS);
	assert_false(gamma_flow_unfinished(flow, net->now));
}

/* Node 1 waits for something of node 0, and asks whether it is there; node 0's flow. */
static struct gamma_flow *exchange_and_ask(void)
{
	net_exchange(net);
	net_flow(net, 1, 0)->expected++;
	gamma_loss_rearm(net_flow(net, 1, 0), net->now);
	net_run(net, 2 * SEC);
	assert_int_not_equal(net->nodes[0].ep.local.stats.probes_in, 0);
	return net_flow(net, 0, 1);
}

/* A peer that asked whether this endpoint is there waits for it: five lost BYEs are not enough. */
static void bye__waits_longer_for_one_that_has_asked(void **state)
{
	struct gamma_flow *flow = exchange_and_ask();

	(void) state;
	net_drop(net, 0, GAMMA_KIND_BYE, GAMMA_BYE_TRIES + 2);
	net_drop(net, 0, GAMMA_KIND_RESET, 1);
	gamma_flow_bye(flow, net->now);
	net_run(net, 100 * MS);
	assert_int_equal(flow->byes, GAMMA_BYE_TRIES + 2);
	assert_true(gamma_flow_unfinished(flow, net->now));
	net_run(net, 100 * MS);
	assert_false(gamma_flow_unfinished(flow, net->now));
	assert_int_equal(net_flow(net, 1, 0)->state, GAMMA_FLOW_CLOSED);
	assert_int_equal(net->nodes[1].failures, 1);
}

static void bye__does_not_wait_for_one_that_asked_long_ago(void **state)
{
	struct gamma_flow *flow = exchange_and_ask();

	(void) state;
	net_flow(net, 1, 0)->expected--;
	net_run(net, 4 * SEC);
	net_drop(net, 0, GAMMA_KIND_BYE, 0);
	gamma_flow_bye(flow, net->now);
	net_run(net, 32 * MS);
	assert_false(gamma_flow_unfinished(flow, net->now));
}

static void bye__answered_is_not_waited_for(void **state)
{
	struct gamma_flow *flow;

	(void) state;
	net_exchange(net);
	net_run(net, SEC);
	flow = net_flow(net, 0, 1);
	gamma_flow_bye(flow, net->now);
	assert_true(gamma_flow_unfinished(flow, net->now));
	net_run(net, MS / 2);
	assert_int_equal(flow->byes, 1);
	assert_false(gamma_flow_unfinished(flow, net->now));
}

static void drain_time__leaves_time_for_byes(void **state)
{
	(void) state;
	assert_int_equal(gamma_flow_drain_time(0), 0);
	assert_int_equal(gamma_flow_drain_time(8 * MS), 7 * MS);
	assert_int_equal(gamma_flow_drain_time(SEC), 968 * MS);
}

/* What arrived is complete, the rest fails, at once. */
static void bye__ends_what_is_outstanding(void **state)
{
	struct outgoing *arrived, *waiting;

	(void) state;
	net_exchange(net);
	net_drop(net, 1, GAMMA_KIND_ACK, 1);
	arrived = net_send(net, 0, 1, 64, GAMMA_WHEN_ARRIVED);
	waiting = net_send(net, 0, 1, 100000, GAMMA_WHEN_ARRIVED);
	net_run(net, 5 * US);
	gamma_flow_bye(net_flow(net, 1, 0), net->now);
	net_run(net, 5 * US);
	assert_true(arrived->done && !arrived->error);
	assert_int_equal(waiting->error, -ECONNRESET);
	assert_int_equal(net->nodes[0].failures, 1);
	assert_string_equal(net->nodes[0].last_cause, "it has closed its endpoint");
}

/* Nobody was waiting for anything: who wants something later learns it then. */
static void bye__in_silence_is_reported_at_the_next_post(void **state)
{
	struct gamma_flow *flow;

	(void) state;
	net_exchange(net);
	flow = net_flow(net, 0, 1);
	gamma_flow_bye(net_flow(net, 1, 0), net->now);
	net_run(net, 5 * US);
	assert_int_equal(flow->state, GAMMA_FLOW_CLOSED);
	assert_int_equal(net->nodes[0].failures, 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(gamma_flow_refuse_post(flow), -ECONNRESET);
		assert_int_equal(net->nodes[0].failures, 1);
	}
	assert_string_equal(net->nodes[0].last_cause, "it has closed its endpoint");
}

static void bye__forged_is_refuted(void **state)
{
	struct gamma_flow *flow = net_flow(net, 0, 1);
	static const uint32_t numbers[] = {GAMMA_WINDOW_MAX + 1, UINT32_MAX, 1u << 31};
	struct gamma_fields fields = net_fields(net, 1, 0, GAMMA_KIND_BYE, GAMMA_ASK);

	(void) state;
	net_exchange(net);
	flow->rx.begun = flow->rx.proven = true; /* the peer has said where its numbers begin */
	for (unsigned i = 0; i < gamma_array_size(numbers); i++)
		net_forge_bye(net, numbers[i]);
	assert_int_equal(net_stats(net, 0)->stray, gamma_array_size(numbers));
	fields.seq = flow->rx.highest;
	net_forge(net, 1, 0, &fields, NULL); /* without an acknowledgement */
	fields.extensions = GAMMA_EXT_ACK;
	fields.ack = flow->tx.una - 1;
	net_forge(net, 1, 0, &fields, NULL);
	net_run(net, US / 2);
	assert_int_equal(net_stats(net, 0)->stray, gamma_array_size(numbers) + 2);
	assert_false(flow->bye_heard || flow->loss.probing);
	for (uint32_t beyond = 0; beyond < 3; beyond++) {
		net_forge_bye(net, beyond);
		assert_true(flow->bye_heard && flow->loss.probing);
		net_run(net, MS);
		assert_false(flow->bye_heard || flow->loss.probing || flow->loss.doubted);
	}
	assert_int_equal(net_stats(net, 0)->probes_out, 3);
	net_exchange(net);
	assert_int_equal(net->nodes[0].failures, 0);
}

/* The peer computes, and its host says that it is there. */
static void bye__forged_is_refuted_by_lookup(void **state)
{
	const struct gamma_flow *flow = net_flow(net, 0, 1);
	struct gamma_addr addr = net->nodes[1].ep.local.addr;
	uint64_t answered = 0;

	(void) state;
	net_exchange(net);
	net->nodes[1].wakes = net->now + 20 * SEC;
	for (int i = 0; i < 10; i++) {
		net_forge_bye(net, 0);
		net_run(net, SEC);
		if (net_stats(net, 0)->lookups_out == answered)
			continue;
		answered = net_stats(net, 0)->lookups_out;
		net_answer_lookup(net, GAMMA_LOOKUP_FOUND, &addr);
		assert_false(flow->bye_heard);
	}
	assert_in_range(answered, 3, 10);
	assert_int_equal(flow->state, GAMMA_FLOW_OPEN);
}

/* An answer to BYE says nothing to an endpoint that has not said it. */
static void bye__answer_that_was_not_asked_for(void **state)
{
	struct gamma_fields fields = net_fields(net, 1, 0, GAMMA_KIND_BYE, GAMMA_ANSWER);

	(void) state;
	net_exchange(net);
	net_forge(net, 1, 0, &fields, NULL);
	net_run(net, MS);
	assert_false(net_flow(net, 0, 1)->bye_answered);
	assert_int_equal(net_stats(net, 0)->stray, 1);
}

/* This program computed while the peer closed and went: nobody confirms its BYE. */
static void bye__of_a_peer_that_has_gone_is_believed_in_the_end(void **state)
{
	const struct gamma_flow *flow = net_flow(net, 0, 1);

	(void) state;
	net_exchange(net);
	gamma_flow_bye(net_flow(net, 1, 0), net->now);
	net->nodes[0].wakes = net->now + MS;
	net_run(net, MS / 2);
	net->nodes[1].unplugged = true;
	net_run(net, SEC);
	assert_int_equal(flow->state, GAMMA_FLOW_OPEN);
	net_run(net, 2 * SEC);
	assert_int_equal(flow->state, GAMMA_FLOW_CLOSED);
	assert_int_equal(net->nodes[0].failures, 0);
}

/* An endpoint that closes says so to one that asks, also if all its BYEs were lost. */
static void bye__lost_is_repeated_to_a_peer_that_asks(void **state)
{
	struct gamma_flow *flow = exchange_and_ask();

	(void) state;
	net_drop(net, 0, GAMMA_KIND_BYE, 0);
	gamma_flow_bye(flow, net->now);
	net_run(net, 2 * SEC);
	assert_int_equal(net_flow(net, 1, 0)->state, GAMMA_FLOW_FAILED);
	assert_int_equal(net->nodes[1].last_error, -ECONNRESET);
}

/* What the peer says of its side, once this one has said BYE, is no failure of the peer's. */
static void reset__after_the_own_bye_is_an_answer(void **state)
{
	struct gamma_flow *flow;
	struct outgoing *out;

	(void) state;
	net_exchange(net);
	flow = net_flow(net, 0, 1);
	net_drop(net, 1, GAMMA_KIND_BYE, 0);
	out = net_send(net, 0, 1, 100000, GAMMA_WHEN_ARRIVED);
	net_run(net, MS);
	gamma_flow_bye(flow, net->now);
	net_run(net, MS);
	assert_int_equal(net_flow(net, 1, 0)->state, GAMMA_FLOW_CLOSED);
	assert_false(flow->bye_answered);
	gamma_loss_challenge(flow, net->now);
	net_run(net, MS);
	assert_true(flow->bye_answered);
	assert_int_equal(net->nodes[0].failures, 0);
	assert_false(out->done);
}

/* A peer that goes on after the end of this side learns it at once. */
static void closed__flow_answers_by_reset(void **state)
{
	struct outgoing *out;

	(void) state;
	net_exchange(net);
	gamma_flow_process_ended(net_flow(net, 1, 0), "test", false, net->now);
	assert_int_equal(net_flow(net, 1, 0)->state, GAMMA_FLOW_CLOSED);
	out = net_send(net, 0, 1, 64, GAMMA_WHEN_ARRIVED);
	net_run(net, MS);
	assert_int_equal(out->error, -ECONNRESET);
	assert_int_equal(net_stats(net, 1)->resets_out,
			 1); /* the one to the PROBE does not count */
}

static void bye__to_a_peer_without_a_flow(void **state)
{
	struct gamma_fields fields = net_fields(net, 0, 1, GAMMA_KIND_BYE, GAMMA_ASK);

	(void) state;
	net_forge(net, 0, 1, &fields, NULL);
	net_run(net, MS);
	assert_int_equal(net->nodes[1].ep.flow_count, 0);
	assert_int_equal(net_stats(net, 1)->frames_out, 1); /* the answer */
	assert_int_equal(net_stats(net, 0)->stray, 1);
}

static void bye__both_at_once(void **state)
{
	(void) state;
	net_exchange(net);
	gamma_flow_bye(net_flow(net, 0, 1), net->now);
	gamma_flow_bye(net_flow(net, 1, 0), net->now);
	net_run(net, 100 * MS);
	assert_false(gamma_flow_unfinished(net_flow(net, 0, 1), net->now));
	assert_false(gamma_flow_unfinished(net_flow(net, 1, 0), net->now));
	assert_int_equal(net_stats(net, 0)->frames_out + net_stats(net, 1)->frames_out, 1 + 1 + 4);
}

static void unfinished__until_acknowledged_and_settled(void **state)
{
	struct gamma_flow *flow = net_flow(net, 0, 1);

	(void) state;
	assert_false(gamma_flow_unfinished(flow, net->now));
	net_send(net, 0, 1, 100000, GAMMA_WHEN_ARRIVED);
	assert_true(gamma_flow_unacked(flow));
	net_run(net, MS);
	assert_true(gamma_flow_unacked(flow)); /* announced */
	net_post(net, 1, 100000);
	net_finish(net, SEC);
	assert_false(gamma_flow_unacked(flow));
	assert_true(gamma_flow_unfinished(net_flow(net, 1, 0), net->now)); /* an ack may be lost */
	net_run(net, SEC);
	assert_false(gamma_flow_unfinished(net_flow(net, 1, 0), net->now));
}

/* The peer hears of it at once, asks by PROBE, and ends with the same error. */
static void reset__of_a_peer_whose_nic_has_too_small_an_mtu(void **state)
{
	struct outgoing *out;

	(void) state;
	net_exchange(net);
	net->nodes[1].wakes = net->now + MS;
	out = net_send(net, 0, 1, 64, GAMMA_WHEN_ARRIVED);
	net_run(net, 100 * US);
	gamma_dispatch_end_by_mtu(&net->nodes[1].ep);
	net_run(net, 5 * MS);
	assert_true(out->done);
	assert_int_equal(out->error, -EMSGSIZE);
	assert_int_equal(net_flow(net, 0, 1)->state, GAMMA_FLOW_FAILED);
	assert_non_null(strstr(net->nodes[0].last_cause, "the MTU of its host's NIC was lowered"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		NET_TEST(reset__ends_what_was_meant_for_the_last_incarnation),
		NET_TEST(reset__answers_a_request_for_credit_too),
		NET_TEST(reset__must_match_what_is_outstanding),
		NET_TEST(reset__forged_is_refuted),
		NET_TEST(reset__few_in_one_progress_call),
		NET_TEST(reset__informs_a_peer_that_was_declared_dead),
		NET_TEST(bye__is_answered_and_forgotten),
		NET_TEST(bye__lost_is_repeated),
		NET_TEST(reset__after_the_own_bye_is_an_answer),
		NET_TEST(bye__waits_for_an_answer_a_few_times),
		NET_TEST(bye__waits_longer_for_one_that_has_asked),
		NET_TEST(bye__does_not_wait_for_one_that_asked_long_ago),
		NET_TEST(bye__answered_is_not_waited_for),
		TEST(drain_time__leaves_time_for_byes),
		NET_TEST(bye__ends_what_is_outstanding),
		NET_TEST(bye__in_silence_is_reported_at_the_next_post),
		NET_TEST(bye__forged_is_refuted),
		NET_TEST(bye__forged_is_refuted_by_lookup),
		NET_TEST(bye__answer_that_was_not_asked_for),
		NET_TEST(bye__of_a_peer_that_has_gone_is_believed_in_the_end),
		NET_TEST(bye__lost_is_repeated_to_a_peer_that_asks),
		NET_TEST(closed__flow_answers_by_reset),
		NET_TEST(bye__to_a_peer_without_a_flow),
		NET_TEST(bye__both_at_once),
		NET_TEST(unfinished__until_acknowledged_and_settled),
		NET_TEST(reset__of_a_peer_whose_nic_has_too_small_an_mtu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
