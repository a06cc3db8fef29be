// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Unit tests of common/flow/flow.c, with engine/dispatch.c and peers.c: meeting, LOOKUP, RESET,
 * BYE, ends, and frames that are not ours.
 */
#include "pair_fixture.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

static void exchange(void)
{
	net_post(net, 1, 64);
	net_send(net, 0, 1, 64, GAMMA_WHEN_ARRIVED);
	net_finish(net, SEC);
}

static const struct gamma_stats *stats(unsigned node)
{
	return net_stats(net, node);
}

/* ---- LOOKUP: the peer's epoch is not known ---- */

/* A flow of node 0 to node 1's MAC and port. */
static struct gamma_flow *partial(void)
{
	struct gamma_addr addr = net->nodes[1].ep.local.addr;

	addr.epoch = htonl(GAMMA_EPOCH_ANY);
	addr.host = 0;
	addr.mtu = 0;
	return gamma_peers_add(&net->nodes[0].ep, &addr, net->now);
}

/* A message into such a flow: the harness finds it by the epoch that it will have. */
static struct outgoing *send_partial(struct gamma_flow **flow)
{
	struct outgoing *out;

	*flow = partial();
	(*flow)->epoch = net->nodes[1].ep.local.epoch;
	out = net_send(net, 0, 1, 64, GAMMA_WHEN_ARRIVED);
	assert_ptr_equal(out->send.flow, *flow);
	(*flow)->epoch = GAMMA_EPOCH_ANY;
	return out;
}

static void lookup__then_data(void **state)
{
	struct gamma_flow *flow;
	struct outgoing *out = send_partial(&flow);

	(void) state;
	net_post(net, 1, 64);
	assert_int_equal(flow->state, GAMMA_FLOW_LOOKUP);
	net_finish(net, SEC);
	assert_int_equal(out->error, 0);
	assert_int_equal(flow->epoch, net->nodes[1].ep.local.epoch);
	assert_int_equal(stats(0)->lookups_out, 1);
	assert_int_equal(stats(1)->lookups_in, 1);
	assert_true(flow->addr.host == net->nodes[1].ep.local.addr.host);
	assert_int_equal(flow->deadlines[GAMMA_TIMER_LOOKUP], GAMMA_NEVER);
}

static void lookup__lost_is_repeated(void **state)
{
	struct gamma_flow *flow;
	uint64_t took;

	(void) state;
	net_rule(net, (struct rule){.fate = DROP,
				    .from = ANY_NODE,
				    .kind = GAMMA_KIND_LOOKUP,
				    .op = ANY_OP,
				    .seq = ANY_SEQ,
				    .times = 2});
	send_partial(&flow);
	net_post(net, 1, 64);
	took = net_finish(net, SEC);
	assert_int_equal(stats(0)->lookups_out, 3);
	assert_in_range(took, 6 * MS, 7 * MS); /* after 2 and 4 ms */
}

static void lookup__nobody_answers(void **state)
{
	struct gamma_flow *flow;
	struct outgoing *out = send_partial(&flow);

	(void) state;
	net->nodes[1].unplugged = true;
	net_run(net, 35 * SEC);
	assert_int_equal(out->error, -ETIMEDOUT);
	assert_in_range(stats(0)->lookups_out, 20, 100);
}

/* The number of node 0's LOOKUP that is out, or any. */
static uint32_t lookup_number(void)
{
	const struct gamma_list *flows = &net->nodes[0].ep.local.flows;
	struct gamma_list *pos;

	gamma_list_for_each (pos, flows) {
		const struct gamma_flow *flow = gamma_list_entry(pos, struct gamma_flow, all_entry);

		if (flow->looking_up)
			return flow->lookup;
	}
	return 77;
}

static void answer_lookup(uint8_t op, const struct gamma_addr *addr)
{
	struct gamma_fields fields = net_fields(net, 1, 0, GAMMA_KIND_LOOKUP, op);

	fields.seq = lookup_number();
	fields.payload_len = addr ? sizeof(*addr) : 0;
	net_forge(net, 1, 0, &fields, addr);
	net_run(net, US / 2);
}

static void lookup__no_such_port_or_another_tenant(void **state)
{
	struct gamma_flow *flow;
	struct outgoing *out;

	(void) state;
	out = send_partial(&flow);
	net->nodes[1].unplugged = true; /* it is gammad that answers */
	net_run(net, GAMMA_NO_PORT_US * US);
	net->nodes[1].unplugged = false;
	answer_lookup(GAMMA_LOOKUP_NO_PORT, NULL);
	assert_int_equal(out->error, -ECONNREFUSED);
	out = send_partial(&flow);
	answer_lookup(GAMMA_LOOKUP_OTHER_TENANT, NULL);
	assert_int_equal(out->error, -EACCES);
	assert_int_equal(net->nodes[0].failures, 2);
}

/* Programs do not start at the same moment: who has just begun to ask goes on. */
static void lookup__no_such_port_yet(void **state)
{
	struct gamma_flow *flow;
	struct outgoing *out = send_partial(&flow);

	(void) state;
	answer_lookup(GAMMA_LOOKUP_NO_PORT, NULL);
	net_post(net, 1, 64);
	net_finish(net, SEC);
	assert_int_equal(out->error, 0);
	assert_int_equal(net->nodes[0].failures, 0);
}

static void lookup__answer_of_an_owner_who_is_another_user(void **state)
{
	struct gamma_flow *flow;
	struct outgoing *out = send_partial(&flow);

	(void) state;
	net->nodes[1].ep.local.tenant++;
	net_run(net, SEC);
	assert_int_equal(out->error, -EACCES);
	assert_int_equal(stats(1)->data_frames_in, 0);
}

static void lookup__impossible_answers_are_malformed(void **state)
{
	struct gamma_addr addr = net->nodes[1].ep.local.addr, bad;
	struct gamma_flow *flow;

	(void) state;
	send_partial(&flow);
	bad = addr, bad.mac[0] |= 1;
	answer_lookup(GAMMA_LOOKUP_FOUND, &bad);
	bad = addr, bad.port ^= 1;
	answer_lookup(GAMMA_LOOKUP_FOUND, &bad);
	bad = addr, bad.epoch = 0;
	answer_lookup(GAMMA_LOOKUP_FOUND, &bad);
	answer_lookup(GAMMA_LOOKUP_FOUND, NULL);
	answer_lookup(77, &addr);
	assert_int_equal(stats(0)->malformed, 5);
	assert_int_equal(net->nodes[0].failures, 0);
}

/* gammad answers on the NIC's address for an endpoint that has one of its own. */
static void lookup__found_at_another_address(void **state)
{
	const struct gamma_endpoint *asker = &net->nodes[0].ep;
	struct gamma_addr addr = net->nodes[1].ep.local.addr, own = addr;
	struct gamma_flow *flow;

	(void) state;
	own.mac[5] ^= 0x55;
	send_partial(&flow);
	answer_lookup(GAMMA_LOOKUP_FOUND, &own);
	assert_int_equal(flow->state, GAMMA_FLOW_OPEN);
	assert_memory_equal(flow->addr.mac, own.mac, GAMMA_MAC_LEN);
	assert_ptr_equal(gamma_peers_find(asker, own.mac, flow->port, flow->epoch), flow);
	assert_null(gamma_peers_find(asker, addr.mac, flow->port, flow->epoch));
	assert_null(gamma_peers_find(asker, addr.mac, flow->port, GAMMA_EPOCH_ANY));
	assert_int_equal(stats(0)->malformed, 0);
}

/* Only those who have seen the question know its number. */
static void lookup__answer_with_another_number(void **state)
{
	struct gamma_fields fields = net_fields(net, 1, 0, GAMMA_KIND_LOOKUP, GAMMA_LOOKUP_NO_PORT);
	struct gamma_flow *flow;

	(void) state;
	send_partial(&flow);
	net->nodes[1].unplugged = true;
	net_run(net, GAMMA_NO_PORT_US * US);
	net->nodes[1].unplugged = false;
	for (int op = GAMMA_LOOKUP_FOUND; op <= GAMMA_LOOKUP_OTHER_TENANT; op++) {
		fields.op = (uint8_t) op;
		fields.seq = flow->lookup + (uint32_t) op;
		net_forge(net, 1, 0, &fields, NULL);
	}
	net_run(net, US / 2);
	assert_int_equal(flow->state, GAMMA_FLOW_LOOKUP);
	assert_int_equal(stats(0)->stray, 3);
}

/* Nor is an answer believed when nothing was asked. */
static void lookup__answer_to_an_open_flow(void **state)
{
	struct gamma_flow *flow;

	(void) state;
	exchange();
	flow = net_flow(net, 0, 1);
	for (int op = GAMMA_LOOKUP_FOUND; op <= GAMMA_LOOKUP_OTHER_TENANT; op++)
		answer_lookup((uint8_t) op, NULL);
	assert_int_equal(flow->state, GAMMA_FLOW_OPEN);
	assert_int_equal(stats(0)->stray, 3);
	assert_int_equal(stats(0)->malformed, 0);
}

static void lookup__answer_that_was_not_asked_for(void **state)
{
	(void) state;
	answer_lookup(GAMMA_LOOKUP_FOUND, &net->nodes[1].ep.local.addr);
	assert_int_equal(stats(0)->stray, 1);
	assert_true(gamma_list_empty(&net->nodes[0].ep.local.flows));
}

/* While it is being looked up the peer speaks first: that says as much. */
static void lookup__answered_by_the_peers_own_data(void **state)
{
	struct gamma_flow *flow;

	(void) state;
	net_rule(net, (struct rule){.fate = DROP,
				    .from = 0,
				    .kind = GAMMA_KIND_LOOKUP,
				    .op = ANY_OP,
				    .seq = ANY_SEQ});
	send_partial(&flow);
	net_post(net, 1, 64);
	net_post(net, 0, 64);
	net_send(net, 1, 0, 64, GAMMA_WHEN_ARRIVED);
	net_finish(net, SEC);
	assert_int_equal(flow->state, GAMMA_FLOW_OPEN);
	assert_int_equal(net->nodes[0].ep.flow_count, 1);
}

/* ---- LOOKUP: a peer with a full address is silent ---- */

static void silent__another_user(void **state)
{
	struct outgoing *out;

	(void) state;
	net->lawless = true;
	net->nodes[1].ep.local.tenant++;
	out = net_send(net, 0, 1, 64, GAMMA_WHEN_ARRIVED);
	net_run(net, 3 * SEC);
	assert_int_equal(out->error, -EACCES);
	assert_int_equal(stats(0)->lookups_out, 1);
}

static void silent__its_port_is_nobodys_or_anothers(void **state)
{
	struct gamma_addr addr = net->nodes[1].ep.local.addr;
	struct outgoing *out;

	(void) state;
	net->lawless = true;
	net->nodes[1].wakes = net->now + 100 * SEC;
	out = net_send(net, 0, 1, 64, GAMMA_WHEN_ARRIVED);
	net_run(net, 2 * SEC);
	answer_lookup(GAMMA_LOOKUP_NO_PORT, NULL);
	assert_int_equal(out->error, -ECONNRESET);
	net->nodes[1].ep.local.addr.epoch ^= 1;
	net->nodes[1].ep.local.epoch = ntohl(net->nodes[1].ep.local.addr.epoch);
	addr.epoch ^= htonl(0x100);
	out = net_send(net, 0, 1, 64, GAMMA_WHEN_ARRIVED);
	net_run(net, 2 * SEC);
	answer_lookup(GAMMA_LOOKUP_FOUND, &addr);
	assert_int_equal(out->error, -ECONNRESET);
	assert_int_equal(stats(0)->stray + stats(0)->malformed, 0);
}

/* Its process does not move, but gammad knows that it is there: it is waited for beyond the peer
 * timeout, which is 30 s here. */
static void silent__is_waited_for_while_it_is_there(void **state)
{
	struct gamma_addr addr = net->nodes[1].ep.local.addr;
	struct outgoing *out;
	uint64_t answered = 0;

	(void) state;
	exchange();
	net->nodes[1].wakes = net->now + 100 * SEC;
	out = net_send(net, 0, 1, 64, GAMMA_WHEN_ARRIVED);
	for (int i = 0; i < 90; i++) {
		net_run(net, SEC);
		if (stats(0)->lookups_out == answered)
			continue;
		answered = stats(0)->lookups_out;
		answer_lookup(GAMMA_LOOKUP_FOUND, &addr);
	}
	assert_in_range(answered, 40, 91);
	assert_int_equal(stats(0)->retransmissions, 0);
	assert_false(out->done);
	net_post(net, 1, 64);
	net_finish(net, 20 * SEC);
	assert_int_equal(out->error, 0);
}

static void silent__not_asked_after_an_answer(void **state)
{
	(void) state;
	exchange();
	net_run(net, 10 * SEC);
	assert_int_equal(stats(0)->lookups_out, 0);
}

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
	exchange();
	flow = net_flow(net, 0, 1);
	restart();
	out = net->nodes[0].sends;
	send = &out->send;
	out->done = false;
	send->envelope.tag = 1;
	assert_int_equal(gamma_send_message(flow, send), 0);
	net_run(net, MS);
	assert_int_equal(out->error, -ECONNRESET);
	assert_int_equal(stats(1)->resets_out, 2); /* the second names the probe that asks back */
	assert_int_equal(stats(0)->resets_in, 1);
	assert_int_equal(stats(1)->data_frames_in, 1); /* the one before */
	assert_int_equal(flow->state, GAMMA_FLOW_FAILED);
}

static void reset__answers_a_request_for_credit_too(void **state)
{
	struct gamma_flow *flow;
	struct outgoing *out;

	(void) state;
	exchange();
	flow = net_flow(net, 0, 1);
	flow->tx.returned = flow->tx.limit - flow->tx.next;
	net->nodes[1].ep.local.epoch++;
	out = net_send(net, 0, 1, 64, GAMMA_WHEN_ARRIVED);
	net->nodes[1].next_match[0]++;
	net_run(net, MS);
	assert_int_equal(stats(0)->requests_out, 1);
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
	assert_int_equal(stats(0)->resets_in, 0);
	assert_int_equal(stats(0)->stray, 4);
	assert_int_equal(stats(0)->resets_out, 0); /* RESET is never answered by RESET */
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
	exchange();
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
	assert_int_equal(stats(0)->resets_in, 0);
	assert_int_equal(stats(0)->retransmissions, 0);
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
	assert_int_equal(stats(1)->resets_out, GAMMA_RESETS_MAX);
	assert_int_equal(stats(1)->stray, 100);
}

/* Given up here, alive there: it learns so at its next frame. */
static void reset__tells_a_peer_that_was_given_up(void **state)
{
	struct outgoing *out;

	(void) state;
	exchange();
	gamma_flow_fail(net_flow(net, 1, 0), -ETIMEDOUT, "test");
	out = net_send(net, 0, 1, 64, GAMMA_WHEN_ARRIVED);
	net_run(net, MS);
	assert_int_equal(out->error, -ECONNRESET);
	assert_string_equal(net->nodes[0].last_cause,
			    "it has closed its endpoint, or given this one up");
}

/* ---- BYE ---- */

static void bye__is_answered_and_forgotten(void **state)
{
	(void) state;
	exchange();
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
	exchange();
	flow = net_flow(net, 0, 1);
	net_rule(net, (struct rule){.fate = DROP,
				    .from = ANY_NODE,
				    .kind = GAMMA_KIND_BYE,
				    .op = ANY_OP,
				    .seq = ANY_SEQ,
				    .times = 3});
	gamma_flow_bye(flow, net->now);
	net_run(net, 20 * MS);
	assert_true(flow->bye_answered);
	assert_int_equal(flow->byes, 4);
	assert_false(gamma_timers_is_set(flow, GAMMA_TIMER_BYE));
}

/* It may wait for this endpoint alone, and nobody would tell it later. */
static void bye__waits_for_an_answer_a_few_times(void **state)
{
	struct gamma_flow *flow;

	(void) state;
	exchange();
	net_run(net, SEC);
	flow = net_flow(net, 0, 1);
	net_rule(net, (struct rule){.fate = DROP,
				    .from = 0,
				    .kind = GAMMA_KIND_BYE,
				    .op = ANY_OP,
				    .seq = ANY_SEQ});
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
	exchange();
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
	net_rule(net, (struct rule){.fate = DROP,
				    .from = 0,
				    .kind = GAMMA_KIND_BYE,
				    .op = ANY_OP,
				    .seq = ANY_SEQ,
				    .times = GAMMA_BYE_TRIES + 2});
	net_rule(net, (struct rule){.fate = DROP,
				    .from = 0,
				    .kind = GAMMA_KIND_RESET,
				    .op = ANY_OP,
				    .seq = ANY_SEQ,
				    .times = 1});
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
	net_rule(net, (struct rule){.fate = DROP,
				    .from = 0,
				    .kind = GAMMA_KIND_BYE,
				    .op = ANY_OP,
				    .seq = ANY_SEQ});
	gamma_flow_bye(flow, net->now);
	net_run(net, 32 * MS);
	assert_false(gamma_flow_unfinished(flow, net->now));
}

static void bye__answered_is_not_waited_for(void **state)
{
	struct gamma_flow *flow;

	(void) state;
	exchange();
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
	exchange();
	net_rule(net, (struct rule){.fate = DROP,
				    .from = 1,
				    .kind = GAMMA_KIND_ACK,
				    .seq = ANY_SEQ,
				    .times = 1});
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
static void bye__in_silence_is_told_to_the_next_who_posts(void **state)
{
	struct gamma_flow *flow;

	(void) state;
	exchange();
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

/* In node 1's name, with what node 0 may expect, or something else. */
static void forge_bye(uint32_t beyond)
{
	struct gamma_fields fields = net_fields(net, 1, 0, GAMMA_KIND_BYE, GAMMA_ASK);

	fields.seq = net_flow(net, 0, 1)->rx.highest + beyond;
	fields.extensions = GAMMA_EXT_ACK;
	fields.ack = net_flow(net, 0, 1)->tx.next;
	net_forge(net, 1, 0, &fields, NULL);
	net_run(net, US / 2);
}

static void bye__forged_is_refuted(void **state)
{
	const struct gamma_flow *flow = net_flow(net, 0, 1);
	static const uint32_t numbers[] = {GAMMA_WINDOW_MAX + 1, UINT32_MAX, 1u << 31};
	struct gamma_fields fields = net_fields(net, 1, 0, GAMMA_KIND_BYE, GAMMA_ASK);

	(void) state;
	exchange();
	for (unsigned i = 0; i < gamma_array_size(numbers); i++)
		forge_bye(numbers[i]);
	assert_int_equal(stats(0)->stray, gamma_array_size(numbers));
	fields.seq = flow->rx.highest;
	net_forge(net, 1, 0, &fields, NULL); /* without an acknowledgement */
	fields.extensions = GAMMA_EXT_ACK;
	fields.ack = flow->tx.una - 1;
	net_forge(net, 1, 0, &fields, NULL);
	net_run(net, US / 2);
	assert_int_equal(stats(0)->stray, gamma_array_size(numbers) + 2);
	assert_false(flow->bye_heard || flow->loss.probing);
	for (uint32_t beyond = 0; beyond < 3; beyond++) {
		forge_bye(beyond);
		assert_true(flow->bye_heard && flow->loss.probing);
		net_run(net, MS);
		assert_false(flow->bye_heard || flow->loss.probing || flow->loss.doubted);
	}
	assert_int_equal(stats(0)->probes_out, 3);
	exchange();
	assert_int_equal(net->nodes[0].failures, 0);
}

/* The peer computes, and its host says that it is there. */
static void bye__forged_is_refuted_by_lookup(void **state)
{
	const struct gamma_flow *flow = net_flow(net, 0, 1);
	struct gamma_addr addr = net->nodes[1].ep.local.addr;
	uint64_t answered = 0;

	(void) state;
	exchange();
	net->nodes[1].wakes = net->now + 20 * SEC;
	for (int i = 0; i < 10; i++) {
		forge_bye(0);
		net_run(net, SEC);
		if (stats(0)->lookups_out == answered)
			continue;
		answered = stats(0)->lookups_out;
		answer_lookup(GAMMA_LOOKUP_FOUND, &addr);
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
	exchange();
	net_forge(net, 1, 0, &fields, NULL);
	net_run(net, MS);
	assert_false(net_flow(net, 0, 1)->bye_answered);
	assert_int_equal(stats(0)->stray, 1);
}

/* This program computed while the peer closed and went: nobody confirms its BYE. */
static void bye__of_a_peer_that_has_gone_is_believed_in_the_end(void **state)
{
	const struct gamma_flow *flow = net_flow(net, 0, 1);

	(void) state;
	exchange();
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
static void bye__lost_is_said_to_one_who_asks(void **state)
{
	struct gamma_flow *flow = exchange_and_ask();

	(void) state;
	net_rule(net, (struct rule){.fate = DROP,
				    .from = 0,
				    .kind = GAMMA_KIND_BYE,
				    .op = ANY_OP,
				    .seq = ANY_SEQ});
	gamma_flow_bye(flow, net->now);
	net_run(net, 2 * SEC);
	assert_int_equal(net_flow(net, 1, 0)->state, GAMMA_FLOW_FAILED);
	assert_int_equal(net->nodes[1].last_error, -ECONNRESET);
}

/* It says that notices are to come for messages that the peer could not keep. */
static void cuts__forged_hold_nothing_back(void **state)
{
	struct gamma_fields fields = net_fields(net, 1, 0, GAMMA_KIND_RECLAIM, GAMMA_ANSWER);
	const struct gamma_flow *flow = net_flow(net, 0, 1);
	struct outgoing *out;

	(void) state;
	exchange();
	fields.extensions = GAMMA_EXT_ACK | GAMMA_EXT_CUTS;
	fields.cuts = INT32_MAX;
	for (uint32_t back = 0; back < 2; back++) {
		fields.ack = flow->tx.una - back;
		net_forge(net, 1, 0, &fields, NULL);
		net_run(net, US / 2);
		assert_false(flow->tx.held_back);
	}
	out = net_send(net, 0, 1, 64, GAMMA_WHEN_ARRIVED);
	fields.ack = flow->tx.next; /* right by chance: until the peer's own comes */
	net_forge(net, 1, 0, &fields, NULL);
	net_run(net, MS);
	assert_int_equal(out->error, 0);
	assert_int_equal(flow->tx.una, flow->tx.next);
	net_send(net, 0, 1, 64, GAMMA_WHEN_ARRIVED);
	net_finish(net, SEC);
}

/* A peer that goes on after the end of this side learns it at once. */
static void closed__flow_answers_by_reset(void **state)
{
	struct outgoing *out;

	(void) state;
	exchange();
	gamma_flow_process_ended(net_flow(net, 1, 0), "test", false, net->now);
	assert_int_equal(net_flow(net, 1, 0)->state, GAMMA_FLOW_CLOSED);
	out = net_send(net, 0, 1, 64, GAMMA_WHEN_ARRIVED);
	net_run(net, MS);
	assert_int_equal(out->error, -ECONNRESET);
	assert_int_equal(stats(1)->resets_out, 1); /* that to the PROBE is no news */
}

static void bye__to_one_who_does_not_know_us(void **state)
{
	struct gamma_fields fields = net_fields(net, 0, 1, GAMMA_KIND_BYE, GAMMA_ASK);

	(void) state;
	net_forge(net, 0, 1, &fields, NULL);
	net_run(net, MS);
	assert_int_equal(net->nodes[1].ep.flow_count, 0);
	assert_int_equal(stats(1)->frames_out, 1); /* the answer */
	assert_int_equal(stats(0)->stray, 1);
}

static void bye__both_at_once(void **state)
{
	(void) state;
	exchange();
	gamma_flow_bye(net_flow(net, 0, 1), net->now);
	gamma_flow_bye(net_flow(net, 1, 0), net->now);
	net_run(net, 100 * MS);
	assert_false(gamma_flow_unfinished(net_flow(net, 0, 1), net->now));
	assert_false(gamma_flow_unfinished(net_flow(net, 1, 0), net->now));
	assert_int_equal(stats(0)->frames_out + stats(1)->frames_out, 1 + 1 + 4);
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

/* ---- a failed flow ---- */

static void fail__everything_outstanding_once(void **state)
{
	struct outgoing *out[4];

	(void) state;
	exchange();
	out[0] = net_send(net, 0, 1, 100, GAMMA_WHEN_ARRIVED);
	out[1] = net_send(net, 0, 1, 5000, GAMMA_WHEN_ARRIVED);
	out[2] = net_send(net, 0, 1, 100000, GAMMA_WHEN_ARRIVED);
	net_run(net, 0);
	out[3] = net_send(net, 0, 1, 100, GAMMA_WHEN_ARRIVED); /* not even made */
	gamma_flow_fail(net_flow(net, 0, 1), -EIO, "test");
	gamma_flow_fail(net_flow(net, 0, 1), -EPERM, "again");
	for (int i = 0; i < 4; i++)
		assert_int_equal(out[i]->error, -EIO);
	assert_int_equal(net->nodes[0].failures, 1);
	assert_null(gamma_transfers_find(&net->nodes[0].ep.messages.announced, out[2]->send.id));
	assert_int_equal(net_flow(net, 0, 1)->owed, 0);
	net_run(net, SEC);
}

/* ---- frames that are not ours ---- */

static void stray__other_port_tenant_or_epoch(void **state)
{
	struct gamma_fields fields = net_fields(net, 0, 1, GAMMA_KIND_DATA, GAMMA_OP_SEND);

	(void) state;
	fields.dst_port++;
	net_forge(net, 0, 1, &fields, NULL);
	fields.dst_port--, fields.tenant++;
	net_forge(net, 0, 1, &fields, NULL);
	fields.tenant--, fields.dst_epoch = GAMMA_EPOCH_ANY;
	net_forge(net, 0, 1, &fields, NULL);
	fields = net_fields(net, 0, 1, GAMMA_KIND_DATA, GAMMA_OP_SEND);
	fields.src_epoch = GAMMA_EPOCH_ANY;
	net_forge(net, 0, 1, &fields, NULL);
	net_run(net, MS);
	assert_int_equal(stats(1)->stray, 4);
	assert_int_equal(net->nodes[1].ep.flow_count, 0);
}

static void stray__answers_to_what_was_never_asked(void **state)
{
	static const uint8_t kinds[] = {GAMMA_KIND_ACK, GAMMA_KIND_CREDIT, GAMMA_KIND_RECLAIM,
					GAMMA_KIND_RESET, GAMMA_KIND_DATAGRAM};
	struct gamma_fields fields;

	(void) state;
	for (unsigned i = 0; i < sizeof(kinds); i++) {
		fields = net_fields(net, 0, 1, kinds[i], 0);
		net_forge(net, 0, 1, &fields, NULL);
	}
	net_run(net, MS);
	assert_int_equal(stats(1)->stray, sizeof(kinds));
	assert_int_equal(stats(1)->frames_out, 0);
	assert_int_equal(net->nodes[1].ep.flow_count, 0);
}

static void malformed__acknowledges_what_was_never_sent(void **state)
{
	struct gamma_fields fields;

	(void) state;
	exchange();
	fields = net_fields(net, 1, 0, GAMMA_KIND_ACK, GAMMA_ACK_PLAIN);
	fields.extensions = GAMMA_EXT_ACK;
	fields.ack = 1000;
	fields.limit = 2000;
	net_forge(net, 1, 0, &fields, NULL);
	net_run(net, MS);
	assert_int_equal(stats(0)->malformed, 1);
	assert_true(net_flow(net, 0, 1)->tx.limit < 2000);
}

/* ---- the table of peers ---- */

static void peers__hundreds_are_found_again(void **state)
{
	struct gamma_endpoint *ep = &net->nodes[0].ep;
	struct gamma_addr addr = net->nodes[1].ep.local.addr;
	struct gamma_flow *flows[500];

	(void) state;
	for (uint16_t i = 0; i < 500; i++) {
		addr.port = htons(i);
		addr.mac[5] = (uint8_t) (i * 7);
		flows[i] = gamma_peers_add(ep, &addr, net->now);
	}
	assert_int_equal(ep->chain_count, 512);
	for (uint16_t i = 0; i < 500; i++) {
		addr.mac[5] = (uint8_t) (i * 7);
		assert_ptr_equal(gamma_peers_find(ep, addr.mac, i, ntohl(addr.epoch)), flows[i]);
		assert_ptr_equal(gamma_peers_any(ep, addr.mac, i), flows[i]);
		assert_null(gamma_peers_find(ep, addr.mac, i, 1));
	}
}

static void name__of_an_address(void **state)
{
	struct gamma_addr addr = {.mac = {2, 0x47, 0x41, 0x4d, 0, 0xfe},
				  .port = htons(9228),
				  .epoch = htonl(0x1a2b3c4d)};
	char name[GAMMA_NAME_LEN];

	(void) state;
	assert_string_equal(gamma_flow_addr_name(&addr, name),
			    "02:47:41:4d:00:fe port 9228 epoch 1a2b3c4d");
}

/* ---- one peer by two addresses ---- */

static void partial__finds_its_peer(void **state)
{
	struct outgoing *out;

	(void) state;
	net_post(net, 1, 64);
	out = net_send_partial(net, 0, 1, 64, GAMMA_WHEN_ARRIVED);
	net_finish(net, SEC);
	assert_int_equal(out->error, 0);
	assert_int_equal(net_stats(net, 0)->lookups_out, 1);
}

static void partial__goes_over_to_the_flow_of_the_full_address(void **state)
{
	struct outgoing *partial, *full;

	(void) state;
	net->lawless = true; /* two addresses, two orders */
	net_post(net, 1, 100000);
	net_post(net, 1, 100000);
	partial = net_send_partial(net, 0, 1, 50000, GAMMA_WHEN_ARRIVED);
	full = net_send(net, 0, 1, 64, GAMMA_WHEN_ARRIVED);
	net_finish(net, SEC);
	assert_int_equal(partial->error, 0);
	assert_int_equal(full->error, 0);
	assert_int_equal(net->nodes[0].ep.flow_count, 1);
	assert_int_equal(net->nodes[0].gone, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		NET_TEST(lookup__then_data),
		NET_TEST(lookup__lost_is_repeated),
		NET_TEST(lookup__nobody_answers),
		NET_TEST(lookup__no_such_port_or_another_tenant),
		NET_TEST(lookup__no_such_port_yet),
		NET_TEST(lookup__answer_of_an_owner_who_is_another_user),
		NET_TEST(silent__another_user),
		NET_TEST(silent__its_port_is_nobodys_or_anothers),
		NET_TEST(silent__is_waited_for_while_it_is_there),
		NET_TEST(silent__not_asked_after_an_answer),
		NET_TEST(lookup__impossible_answers_are_malformed),
		NET_TEST(lookup__found_at_another_address),
		NET_TEST(lookup__answer_with_another_number),
		NET_TEST(lookup__answer_to_an_open_flow),
		NET_TEST(lookup__answer_that_was_not_asked_for),
		NET_TEST(lookup__answered_by_the_peers_own_data),
		NET_TEST(reset__ends_what_was_meant_for_the_last_incarnation),
		NET_TEST(reset__answers_a_request_for_credit_too),
		NET_TEST(reset__must_match_what_is_outstanding),
		NET_TEST(reset__forged_is_refuted),
		NET_TEST(reset__few_in_one_progress_call),
		NET_TEST(reset__tells_a_peer_that_was_given_up),
		NET_TEST(bye__is_answered_and_forgotten),
		NET_TEST(bye__lost_is_repeated),
		NET_TEST(bye__waits_for_an_answer_a_few_times),
		NET_TEST(bye__waits_longer_for_one_that_has_asked),
		NET_TEST(bye__does_not_wait_for_one_that_asked_long_ago),
		NET_TEST(bye__answered_is_not_waited_for),
		TEST(drain_time__leaves_time_for_byes),
		NET_TEST(bye__ends_what_is_outstanding),
		NET_TEST(bye__in_silence_is_told_to_the_next_who_posts),
		NET_TEST(bye__forged_is_refuted),
		NET_TEST(bye__forged_is_refuted_by_lookup),
		NET_TEST(bye__answer_that_was_not_asked_for),
		NET_TEST(bye__of_a_peer_that_has_gone_is_believed_in_the_end),
		NET_TEST(bye__lost_is_said_to_one_who_asks),
		NET_TEST(cuts__forged_hold_nothing_back),
		NET_TEST(closed__flow_answers_by_reset),
		NET_TEST(bye__to_one_who_does_not_know_us),
		NET_TEST(bye__both_at_once),
		NET_TEST(unfinished__until_acknowledged_and_settled),
		NET_TEST(fail__everything_outstanding_once),
		NET_TEST(stray__other_port_tenant_or_epoch),
		NET_TEST(stray__answers_to_what_was_never_asked),
		NET_TEST(malformed__acknowledges_what_was_never_sent),
		NET_TEST(peers__hundreds_are_found_again),
		NET_TEST(name__of_an_address),
		NET_TEST(partial__finds_its_peer),
		NET_TEST(partial__goes_over_to_the_flow_of_the_full_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
