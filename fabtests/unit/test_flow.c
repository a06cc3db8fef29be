// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Unit tests of common/flow/flow.c, with engine/dispatch.c and peers.c: meeting, LOOKUP,
 * failed flows, and frames that are forged or not ours.
 */
#include "pair_fixture.h"

#include <arpa/inet.h>
#include <errno.h>

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
	assert_int_equal(net_stats(net, 0)->lookups_out, 1);
	assert_int_equal(net_stats(net, 1)->lookups_in, 1);
	assert_true(flow->addr.host == net->nodes[1].ep.local.addr.host);
	assert_int_equal(flow->deadlines[GAMMA_TIMER_LOOKUP], GAMMA_NEVER);
}

static void lookup__lost_is_repeated(void **state)
{
	struct gamma_flow *flow;
	uint64_t took;

	(void) state;
	net_drop(net, ANY_NODE, GAMMA_KIND_LOOKUP, 2);
	send_partial(&flow);
	net_post(net, 1, 64);
	took = net_finish(net, SEC);
	assert_int_equal(net_stats(net, 0)->lookups_out, 3);
	assert_in_range(took, 6 * MS, 7 * MS); /* after 2 and 4 ms */
}

static void lookup__without_answer(void **state)
{
	struct gamma_flow *flow;
	struct outgoing *out = send_partial(&flow);

	(void) state;
	net->nodes[1].unplugged = true;
	net_run(net, 35 * SEC);
	assert_int_equal(out->error, -ETIMEDOUT);
	assert_in_range(net_stats(net, 0)->lookups_out, 20, 100);
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
	net_answer_lookup(net, GAMMA_LOOKUP_NO_PORT, NULL);
	assert_int_equal(out->error, -ECONNREFUSED);
	out = send_partial(&flow);
	net_answer_lookup(net, GAMMA_LOOKUP_OTHER_TENANT, NULL);
	assert_int_equal(out->error, -EACCES);
	assert_int_equal(net->nodes[0].failures, 2);
}

/* Programs do not start at the same moment: who has just begun to ask goes on. */
static void lookup__no_such_port_yet(void **state)
{
	struct gamma_flow *flow;
	struct outgoing *out = send_partial(&flow);

	(void) state;
	net_answer_lookup(net, GAMMA_LOOKUP_NO_PORT, NULL);
	net_post(net, 1, 64);
	net_finish(net, SEC);
	assert_int_equal(out->error, 0);
	assert_int_equal(net->nodes[0].failures, 0);
}

static void lookup__answer_of_another_users_endpoint(void **state)
{
	struct gamma_flow *flow;
	struct outgoing *out = send_partial(&flow);

	(void) state;
	net->nodes[1].ep.local.tenant++;
	net_run(net, SEC);
	assert_int_equal(out->error, -EACCES);
	assert_int_equal(net_stats(net, 1)->data_frames_in, 0);
}

static void lookup__impossible_answers_are_malformed(void **state)
{
	struct gamma_addr addr = net->nodes[1].ep.local.addr, bad;
	struct gamma_flow *flow;

	(void) state;
	send_partial(&flow);
	bad = addr, bad.mac[0] |= 1;
	net_answer_lookup(net, GAMMA_LOOKUP_FOUND, &bad);
	bad = addr, bad.port ^= 1;
	net_answer_lookup(net, GAMMA_LOOKUP_FOUND, &bad);
	bad = addr, bad.epoch = 0;
	net_answer_lookup(net, GAMMA_LOOKUP_FOUND, &bad);
	net_answer_lookup(net, GAMMA_LOOKUP_FOUND, NULL);
	net_answer_lookup(net, 77, &addr);
	assert_int_equal(net_stats(net, 0)->malformed, 5);
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
	net_answer_lookup(net, GAMMA_LOOKUP_FOUND, &own);
	assert_int_equal(flow->state, GAMMA_FLOW_OPEN);
	assert_memory_equal(flow->addr.mac, own.mac, GAMMA_MAC_LEN);
	assert_ptr_equal(gamma_peers_find(asker, own.mac, flow->port, flow->epoch), flow);
	assert_null(gamma_peers_find(asker, addr.mac, flow->port, flow->epoch));
	assert_null(gamma_peers_find(asker, addr.mac, flow->port, GAMMA_EPOCH_ANY));
	assert_int_equal(net_stats(net, 0)->malformed, 0);
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
	assert_int_equal(net_stats(net, 0)->stray, 3);
}

/* Nor is an answer believed when nothing was asked. */
static void lookup__answer_to_an_open_flow(void **state)
{
	struct gamma_flow *flow;

	(void) state;
	net_exchange(net);
	flow = net_flow(net, 0, 1);
	for (int op = GAMMA_LOOKUP_FOUND; op <= GAMMA_LOOKUP_OTHER_TENANT; op++)
		net_answer_lookup(net, (uint8_t) op, NULL);
	assert_int_equal(flow->state, GAMMA_FLOW_OPEN);
	assert_int_equal(net_stats(net, 0)->stray, 3);
	assert_int_equal(net_stats(net, 0)->malformed, 0);
}

static void lookup__answer_that_was_not_asked_for(void **state)
{
	(void) state;
	net_answer_lookup(net, GAMMA_LOOKUP_FOUND, &net->nodes[1].ep.local.addr);
	assert_int_equal(net_stats(net, 0)->stray, 1);
	assert_true(gamma_list_empty(&net->nodes[0].ep.local.flows));
}

/* While it is being looked up the peer speaks first: that says as much. */
static void lookup__answered_by_the_peers_own_data(void **state)
{
	struct gamma_flow *flow;

	(void) state;
	net_drop(net, 0, GAMMA_KIND_LOOKUP, 0);
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
	assert_int_equal(net_stats(net, 0)->lookups_out, 1);
}

static void silent__its_port_has_no_owner_or_another(void **state)
{
	struct gamma_addr addr = net->nodes[1].ep.local.addr;
	struct outgoing *out;

	(void) state;
	net->lawless = true;
	net->nodes[1].wakes = net->now + 100 * SEC;
	out = net_send(net, 0, 1, 64, GAMMA_WHEN_ARRIVED);
	net_run(net, 2 * SEC);
	net_answer_lookup(net, GAMMA_LOOKUP_NO_PORT, NULL);
	assert_int_equal(out->error, -ECONNRESET);
	net->nodes[1].ep.local.addr.epoch ^= 1;
	net->nodes[1].ep.local.epoch = ntohl(net->nodes[1].ep.local.addr.epoch);
	addr.epoch ^= htonl(0x100);
	out = net_send(net, 0, 1, 64, GAMMA_WHEN_ARRIVED);
	net_run(net, 2 * SEC);
	net_answer_lookup(net, GAMMA_LOOKUP_FOUND, &addr);
	assert_int_equal(out->error, -ECONNRESET);
	assert_int_equal(net_stats(net, 0)->stray + net_stats(net, 0)->malformed, 0);
}

/* Its process does not move, but gammad knows that it is there: it is waited for beyond the peer
 * timeout, which is 30 s here. */
static void silent__is_waited_for_while_it_is_there(void **state)
{
	struct gamma_addr addr = net->nodes[1].ep.local.addr;
	struct outgoing *out;
	uint64_t answered = 0;

	(void) state;
	net_exchange(net);
	net->nodes[1].wakes = net->now + 100 * SEC;
	out = net_send(net, 0, 1, 64, GAMMA_WHEN_ARRIVED);
	for (int i = 0; i < 90; i++) {
		net_run(net, SEC);
		if (net_stats(net, 0)->lookups_out == answered)
			continue;
		answered = net_stats(net, 0)->lookups_out;
		net_answer_lookup(net, GAMMA_LOOKUP_FOUND, &addr);
	}
	assert_in_range(answered, 40, 91);
	assert_int_equal(net_stats(net, 0)->retransmissions, 0);
	assert_false(out->done);
	net_post(net, 1, 64);
	net_finish(net, 20 * SEC);
	assert_int_equal(out->error, 0);
}

static void silent__not_asked_after_an_answer(void **state)
{
	(void) state;
	net_exchange(net);
	net_run(net, 10 * SEC);
	assert_int_equal(net_stats(net, 0)->lookups_out, 0);
}

/* ---- forged frames ---- */

/* It says that notices are to come for messages that the peer could not keep. */
static void cuts__forged_hold_nothing_back(void **state)
{
	struct gamma_fields fields = net_fields(net, 1, 0, GAMMA_KIND_RECLAIM, GAMMA_ANSWER);
	const struct gamma_flow *flow = net_flow(net, 0, 1);
	struct outgoing *out;

	(void) state;
	net_exchange(net);
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

/* ---- a failed flow ---- */

static void fail__everything_outstanding_once(void **state)
{
	struct outgoing *out[4];

	(void) state;
	net_exchange(net);
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
	assert_int_equal(net_stats(net, 1)->stray, 4);
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
	assert_int_equal(net_stats(net, 1)->stray, sizeof(kinds));
	assert_int_equal(net_stats(net, 1)->frames_out, 0);
	assert_int_equal(net->nodes[1].ep.flow_count, 0);
}

static void malformed__acknowledges_what_was_never_sent(void **state)
{
	struct gamma_fields fields;

	(void) state;
	net_exchange(net);
	fields = net_fields(net, 1, 0, GAMMA_KIND_ACK, GAMMA_ACK_PLAIN);
	fields.extensions = GAMMA_EXT_ACK;
	fields.ack = 1000;
	fields.limit = 2000;
	net_forge(net, 1, 0, &fields, NULL);
	net_run(net, MS);
	assert_int_equal(net_stats(net, 0)->malformed, 1);
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
		NET_TEST(lookup__without_answer),
		NET_TEST(lookup__no_such_port_or_another_tenant),
		NET_TEST(lookup__no_such_port_yet),
		NET_TEST(lookup__answer_of_another_users_endpoint),
		NET_TEST(silent__another_user),
		NET_TEST(silent__its_port_has_no_owner_or_another),
		NET_TEST(silent__is_waited_for_while_it_is_there),
		NET_TEST(silent__not_asked_after_an_answer),
		NET_TEST(lookup__impossible_answers_are_malformed),
		NET_TEST(lookup__found_at_another_address),
		NET_TEST(lookup__answer_with_another_number),
		NET_TEST(lookup__answer_to_an_open_flow),
		NET_TEST(lookup__answer_that_was_not_asked_for),
		NET_TEST(lookup__answered_by_the_peers_own_data),
		NET_TEST(cuts__forged_hold_nothing_back),
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
