// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Unit tests of common/message/demote.c and its receiver's side: messages that nobody has asked for
 * and for which there is no memory wait at their sender.
 */
#include "pair.h"

#include <errno.h>

static struct net *net;

static void begin(uint64_t unexpected_size)
{
	struct net_options options = net_defaults();

	options.unexpected_size = unexpected_size;
	net = net_new(2, &options);
}

static int setup(void **state)
{
	(void) state;
	begin(0);
	return 0;
}

static int teardown(void **state)
{
	(void) state;
	net_free(net);
	return 0;
}

static const uint64_t lengths[] = {1, 64, 512, 513, 1460, 1461, 5000, 16384};

static void send_all(enum gamma_completion_level level)
{
	for (unsigned i = 0; i < gamma_array_size(lengths); i++)
		net_send(net, 0, 1, lengths[i], level);
}

static void receive_all(void)
{
	for (unsigned i = 0; i < gamma_array_size(lengths); i++)
		net_post(net, 1, 20000);
	net_finish(net, SEC);
	assert_int_equal(net->nodes[1].received, gamma_array_size(lengths));
	assert_int_equal(net->nodes[0].send_errors, 0);
	assert_int_equal(net->nodes[0].ep.messages.buffered, 0);
	assert_int_equal(net->nodes[1].ep.messages.buffered, 0);
}

static void each_size(enum gamma_completion_level level)
{
	send_all(level);
	net_run(net, 10 * MS);
	assert_int_equal(net_stats(net, 1)->unexpected, gamma_array_size(lengths));
	assert_int_equal(net_stats(net, 1)->demoted, gamma_array_size(lengths));
	assert_int_equal(net_flow(net, 0, 1)->tx.cuts_seen, gamma_array_size(lengths));
	assert_false(net_flow(net, 0, 1)->tx.held_back);
	receive_all();
	assert_int_equal(net_stats(net, 0)->retransmissions, 0);
	assert_int_equal(net_stats(net, 0)->malformed + net_stats(net, 1)->malformed, 0);
}

static void copied__each_size_waits_at_its_sender(void **state)
{
	(void) state;
	each_size(GAMMA_WHEN_COPIED);
}

static void not_copied__each_size_waits_at_its_sender(void **state)
{
	(void) state;
	each_size(GAMMA_WHEN_ARRIVED);
}

static void empty__needs_no_memory(void **state)
{
	(void) state;
	net_send(net, 0, 1, 0, GAMMA_WHEN_ARRIVED);
	net_run(net, MS);
	assert_int_equal(net->nodes[0].sent, 1);
	assert_int_equal(net_stats(net, 1)->demoted, 0);
}

static void arrived__is_said_when_it_has(void **state)
{
	struct outgoing *out;

	(void) state;
	out = net_send(net, 0, 1, 64, GAMMA_WHEN_ARRIVED);
	net_run(net, 100 * MS);
	assert_false(out->done);
	net_post(net, 1, 64);
	net_finish(net, SEC);
	assert_int_equal(out->error, 0);
}

static void batch__single_messages_of_it(void **state)
{
	(void) state;
	teardown(NULL);
	begin(100);
	for (unsigned i = 0; i < 40; i++)
		net_send(net, 0, 1, 20, GAMMA_WHEN_COPIED);
	net_run(net, MS);
	assert_int_equal(net_stats(net, 1)->demoted, 35);
	assert_int_equal(net->nodes[1].ep.messages.buffered, 100);
	for (unsigned i = 0; i < 40; i++)
		net_post(net, 1, 64);
	net_finish(net, SEC);
	assert_int_equal(net->nodes[1].received, 40);
	assert_int_equal(net->nodes[1].ep.messages.buffered, 0);
}

/* Each frame needs many notices, so that both windows fill before all have left. */
static void both_ways__notices_wait_for_no_notice(void **state)
{
	enum { MESSAGES = 30000 };

	(void) state;
	for (unsigned i = 0; i < MESSAGES; i++) {
		net_send(net, 0, 1, 20, GAMMA_WHEN_COPIED);
		net_send(net, 1, 0, 20, GAMMA_WHEN_COPIED);
	}
	net_run(net, SEC);
	for (unsigned node = 0; node < 2; node++) {
		assert_int_equal(net_stats(net, node)->demoted, MESSAGES);
		assert_int_equal(net_flow(net, node, 1 - node)->tx.cuts_seen, MESSAGES);
		assert_false(net_flow(net, node, 1 - node)->tx.held_back);
		for (unsigned i = 0; i < MESSAGES; i++)
			net_post(net, node, 64);
	}
	net_finish(net, SEC);
	assert_int_equal(net->nodes[0].received, MESSAGES);
	assert_int_equal(net->nodes[1].received, MESSAGES);
}

static void memory__is_bounded_and_comes_back(void **state)
{
	(void) state;
	teardown(NULL);
	begin(10000);
	for (unsigned round = 0; round < 5; round++) {
		for (unsigned i = 0; i < 100; i++)
			net_send(net, 0, 1, 1000, GAMMA_WHEN_ARRIVED);
		net_run(net, 10 * MS);
		assert_int_equal(net->nodes[1].ep.messages.buffered, 10000);
		assert_int_equal(net_stats(net, 1)->demoted, 90 * (round + 1));
		for (unsigned i = 0; i < 100; i++)
			net_post(net, 1, 1000);
		net_finish(net, SEC);
		assert_int_equal(net->nodes[1].ep.messages.buffered, 0);
	}
}

static void discarded__ends_at_the_sender(void **state)
{
	(void) state;
	send_all(GAMMA_WHEN_ARRIVED);
	net_run(net, 10 * MS);
	for (unsigned i = 0; i < gamma_array_size(lengths); i++)
		net_discard(net, 1);
	net_finish(net, SEC);
	assert_int_equal(net->nodes[0].sent, gamma_array_size(lengths));
	assert_int_equal(net_stats(net, 0)->malformed + net_stats(net, 1)->malformed, 0);
}

/* ---- what gets lost ---- */

static void lost__one_frame_of_each_number(void **state)
{
	(void) state;
	for (uint32_t from = 0; from < 2; from++) {
		for (uint32_t seq = 0; seq < 24; seq++) {
			teardown(NULL);
			begin(seq % 2 ? 0 : 600);
			net_rule(net, (struct rule){.fate = DROP,
						    .from = (int) from,
						    .kind = GAMMA_KIND_DATA,
						    .op = ANY_OP,
						    .seq = seq,
						    .times = 1});
			send_all(seq % 3 ? GAMMA_WHEN_COPIED : GAMMA_WHEN_ARRIVED);
			net_run(net, seq % 5 * 10 * US);
			receive_all();
		}
	}
}

/* The acknowledgement comes, the notice that it counts is lost: nothing may be released. */
static void lost__notice_while_acknowledgements_pass(void **state)
{
	struct rule *rule = net_rule(net, (struct rule){.fate = DROP,
							.from = 1,
							.kind = GAMMA_KIND_DATA,
							.op = GAMMA_OP_CUT,
							.seq = ANY_SEQ});

	(void) state;
	send_all(GAMMA_WHEN_COPIED);
	net_run(net, 50 * MS);
	assert_true(net_flow(net, 0, 1)->tx.held_back);
	assert_int_equal(net_flow(net, 0, 1)->tx.una, 0);
	assert_int_equal(net_stats(net, 0)->retransmissions, 0);
	rule->times = rule->met;
	receive_all();
	assert_false(net_flow(net, 0, 1)->tx.held_back);
}

static void killed__peer_ends_what_it_could_not_keep(void **state)
{
	struct outgoing *out;

	(void) state;
	out = net_send(net, 0, 1, 64, GAMMA_WHEN_ARRIVED);
	net_send(net, 0, 1, 64, GAMMA_WHEN_COPIED);
	net_run(net, 10 * MS);
	net->nodes[1].unplugged = true;
	net_run(net, 40 * SEC);
	assert_int_equal(out->error, -ETIMEDOUT);
}

static void killed__sender_ends_the_receive(void **state)
{
	(void) state;
	send_all(GAMMA_WHEN_COPIED);
	net_run(net, 10 * MS);
	gamma_flow_fail(net_flow(net, 1, 0), -ECONNRESET, "test");
	for (unsigned i = 0; i < gamma_array_size(lengths); i++)
		net_post(net, 1, 20000);
	assert_int_equal(net->nodes[1].receive_errors, gamma_array_size(lengths));
	assert_int_equal(net->nodes[1].last_error, -ECONNRESET);
}

/* ---- nonsense ---- */

static void forge_cut(uint32_t number, uint64_t length, uint64_t index)
{
	struct gamma_fields fields = net_fields(net, 1, 0, GAMMA_KIND_DATA, GAMMA_OP_CUT);

	fields.extensions = GAMMA_EXT_MESSAGE | GAMMA_EXT_FRAGMENT;
	fields.seq = net_flow(net, 0, 1)->rx.next;
	fields.id = number;
	fields.length = length;
	fields.fragment = 0x12345ull << GAMMA_FRAGMENT_OFFSET_BITS | index;
	net_forge(net, 1, 0, &fields, NULL);
	net_run(net, 0);
}

static void malformed__notices(void **state)
{
	struct outgoing *out;

	(void) state;
	net->nodes[1].unplugged = true;
	out = net_send(net, 0, 1, 64, GAMMA_WHEN_ARRIVED);
	net_send(net, 0, 1, 64, GAMMA_WHEN_COPIED);
	net_send(net, 0, 1, 64, GAMMA_WHEN_COPIED);
	net_send(net, 0, 1, 100000, GAMMA_WHEN_ARRIVED);
	net_run(net, 10 * US);
	net->nodes[1].unplugged = false;
	forge_cut(1000, 64, 0);  /* never sent */
	forge_cut(0, 63, 0);     /* another length */
	forge_cut(1, 64, 2);     /* not that many in the batch */
	forge_cut(2, 100000, 0); /* was announced by itself */
	assert_int_equal(net_stats(net, 0)->malformed, 4);
	forge_cut(0, 64, 0);
	forge_cut(0, 64, 0); /* twice */
	assert_int_equal(net_stats(net, 0)->malformed, 5);
	assert_false(out->done);
}

static void late__fragments_of_a_cut_message_are_ignored(void **state)
{
	struct rule *rule = net_rule(net, (struct rule){.fate = DELAY,
							.from = 0,
							.op = GAMMA_OP_SEND_MORE,
							.seq = ANY_SEQ,
							.delay = 500 * US,
							.times = 3});

	(void) state;
	net_send(net, 0, 1, 5000, GAMMA_WHEN_ARRIVED);
	net_run(net, 100 * US);
	net_post(net, 1, 5000);
	net_finish(net, SEC);
	net_run(net, 10 * MS);
	assert_int_equal(rule->met, 3);
	assert_int_equal(net_stats(net, 1)->malformed, 0);
	assert_int_equal(net->nodes[1].received, 1);
}

#define NET_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		NET_TEST(copied__each_size_waits_at_its_sender),
		NET_TEST(not_copied__each_size_waits_at_its_sender),
		NET_TEST(empty__needs_no_memory),
		NET_TEST(arrived__is_said_when_it_has),
		NET_TEST(batch__single_messages_of_it),
		NET_TEST(both_ways__notices_wait_for_no_notice),
		NET_TEST(memory__is_bounded_and_comes_back),
		NET_TEST(discarded__ends_at_the_sender),
		NET_TEST(lost__one_frame_of_each_number),
		NET_TEST(lost__notice_while_acknowledgements_pass),
		NET_TEST(killed__peer_ends_what_it_could_not_keep),
		NET_TEST(killed__sender_ends_the_receive),
		NET_TEST(malformed__notices),
		NET_TEST(late__fragments_of_a_cut_message_are_ignored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
