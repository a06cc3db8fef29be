// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Unit tests of common/flow/loss.c: what is lost is sent again once, on evidence; silence is
 * answered by probes alone. Times are virtual; the wire's round trip is 2 us.
 */
#include "pair_fixture.h"

#include <errno.h>
#include <string.h>

/* The round trip is known, the grants are there, all is acknowledged. */
static void warm_up(void)
{
	for (int i = 0; i < 20; i++) {
		net_post(net, 1, 64);
		net_send(net, 0, 1, 64, GAMMA_WHEN_ARRIVED);
		net_finish(net, SEC);
	}
	net_run(net, 10 * MS);
	assert_int_equal(net_stats(net, 0)->probes_out, 0);
}

static uint64_t again(unsigned node)
{
	return net_stats(net, node)->retransmissions;
}

/* So many messages of that length, posted, under that rule; returns the time they take. */
static uint64_t transfer(unsigned count, uint64_t length, struct rule rule)
{
	struct rule *placed = net_rule(net, rule);
	uint64_t took;

	for (unsigned i = 0; i < count; i++) {
		net_post(net, 1, length);
		net_send(net, 0, 1, length, GAMMA_WHEN_ARRIVED);
	}
	took = net_finish(net, SEC);
	assert_true(placed->met > 0);
	net_run(net, 100 * MS);
	return took;
}

/* ---- one frame is lost ---- */

static void lost__in_the_middle(void **state)
{
	uint64_t took;

	(void) state;
	warm_up();
	took = transfer(10, 1000, (struct rule){.fate = DROP, .seq = 24, .times = 1});
	assert_int_equal(again(0), 1);
	assert_int_equal(net_stats(net, 0)->probes_out, 0);
	assert_true(took < 30 * US);
}

static void lost__at_the_tail(void **state)
{
	uint64_t took;

	(void) state;
	warm_up();
	took = transfer(10, 1000, (struct rule){.fate = DROP, .seq = 29, .times = 1});
	assert_int_equal(again(0), 1);
	assert_int_equal(net_stats(net, 0)->probes_out, 1);
	assert_true(took < 200 * US);
}

static void lost__the_only_frame_of_a_new_peer(void **state)
{
	uint64_t took;

	(void) state;
	took = transfer(1, 64, (struct rule){.fate = DROP, .seq = 0, .times = 1});
	assert_int_equal(again(0), 1);
	assert_int_equal(net_stats(net, 0)->probes_out, 1);
	assert_true(took < (GAMMA_PROBE_FIRST_US + 100) * US);
}

static void lost__twice(void **state)
{
	uint64_t took;

	(void) state;
	warm_up();
	took = transfer(10, 1000, (struct rule){.fate = DROP, .seq = 24, .times = 2});
	assert_int_equal(again(0), 2);
	assert_true(took < 500 * US);
}

static void lost__every_other_frame(void **state)
{
	struct rule *first;

	(void) state;
	warm_up();
	for (unsigned i = 0; i < 5; i++)
		net_rule(net, (struct rule){.fate = DROP, .seq = 21 + 2 * i, .times = 1});
	first = net->rules;
	assert_true(transfer(12, 1000, (struct rule){.fate = PASS, .seq = ANY_SEQ}) < 200 * US);
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(first[i].met, 1);
	assert_int_equal(again(0), 5);
}

static void lost__the_acknowledgement(void **state)
{
	uint64_t took;

	(void) state;
	warm_up();
	took = transfer(1, 64,
			(struct rule){.fate = DROP,
				      .from = 1,
				      .kind = GAMMA_KIND_ACK,
				      .seq = ANY_SEQ,
				      .times = 1});
	assert_int_equal(again(0), 0);
	assert_int_equal(net_stats(net, 0)->probes_out, 1);
	assert_int_equal(net_stats(net, 1)->duplicates, 0);
	assert_true(took < 200 * US);
}

static void lost__an_acknowledgement_in_a_stream(void **state)
{
	(void) state;
	warm_up();
	transfer(1, 1 << 20,
		 (struct rule){.fate = DROP,
			       .from = 1,
			       .kind = GAMMA_KIND_ACK,
			       .seq = ANY_SEQ,
			       .skip = 3,
			       .times = 1});
	assert_int_equal(again(0), 0);
}

static void lost__the_probe_too(void **state)
{
	(void) state;
	warm_up();
	net_rule(net, (struct rule){.fate = DROP,
				    .kind = GAMMA_KIND_PROBE,
				    .op = ANY_OP,
				    .seq = ANY_SEQ,
				    .times = 3});
	assert_true(transfer(1, 64, (struct rule){.fate = DROP, .seq = 20, .times = 1}) < 2 * MS);
	assert_int_equal(again(0), 1);
	assert_int_equal(net_stats(net, 0)->probes_out, 4);
}

static void lost__an_announcement(void **state)
{
	uint64_t took;

	(void) state;
	warm_up();
	took = transfer(
		1, 100000,
		(struct rule){.fate = DROP, .op = GAMMA_OP_ANNOUNCE, .seq = ANY_SEQ, .times = 1});
	assert_int_equal(again(0) + again(1), 1);
	assert_true(took < 3 * MS);
}

static void lost__an_accept(void **state)
{
	uint64_t took;

	(void) state;
	warm_up();
	took = transfer(1, 100000,
			(struct rule){.fate = DROP,
				      .op = GAMMA_OP_ACCEPT,
				      .from = 1,
				      .seq = ANY_SEQ,
				      .times = 1});
	assert_int_equal(again(0), 0);
	assert_int_equal(again(1), 1);
	assert_true(took < 10 * MS);
}

static void lost__a_frame_of_bulk(void **state)
{
	(void) state;
	warm_up();
	transfer(
		1, 100000,
		(struct rule){
			.fate = DROP, .op = GAMMA_OP_BULK, .seq = ANY_SEQ, .skip = 20, .times = 1});
	assert_int_equal(again(0), 1);
	assert_int_equal(net_stats(net, 0)->probes_out, 0);
}

/* ---- damaged, doubled, overtaken ---- */

static void damaged__is_counted_and_sent_again(void **state)
{
	(void) state;
	warm_up();
	transfer(10, 1000, (struct rule){.fate = CORRUPT, .seq = 25, .times = 1});
	assert_int_equal(again(0), 1);
	assert_int_equal(net_stats(net, 1)->malformed, 1);
}

static void doubled__is_counted_and_harmless(void **state)
{
	(void) state;
	warm_up();
	transfer(10, 1000,
		 (struct rule){.fate = DUPLICATE,
			       .op = ANY_OP,
			       .from = ANY_NODE,
			       .seq = ANY_SEQ,
			       .delay = 700});
	assert_int_equal(again(0) + again(1), 0);
	assert_int_equal(net_stats(net, 1)->duplicates, 10);
	assert_int_equal(net_stats(net, 1)->malformed, 0);
	assert_int_equal(net_stats(net, 0)->malformed, 0);
}

/* Overtaken by less than the reorder window: nothing is sent again. */
static void overtaken__by_little(void **state)
{
	(void) state;
	warm_up();
	transfer(10, 100, (struct rule){.fate = DELAY, .seq = 24, .delay = 1500, .times = 1});
	assert_int_equal(again(0), 0);
	assert_true(net_stats(net, 1)->out_of_order > 0);
}

static void overtaken__by_much(void **state)
{
	(void) state;
	warm_up();
	transfer(10, 100, (struct rule){.fate = DELAY, .seq = 24, .delay = 100 * US, .times = 1});
	assert_int_equal(again(0), 1);
	assert_int_equal(net_stats(net, 1)->duplicates, 1);
}

/* ---- silence ---- */

/* Frames that are overtaken by more than the window all the time: few are repeated needlessly. */
static void overtaken__the_window_learns(void **state)
{
	struct net_options options = net_defaults();

	(void) state;
	options.latency = 50 * US;
	net_free(net);
	net = net_new(2, &options);
	for (unsigned i = 0; i < 40; i++)
		net_post(net, 1, 100000);
	net_rule(net, (struct rule){.fate = DELAY,
				    .from = 0,
				    .kind = GAMMA_KIND_DATA,
				    .op = GAMMA_OP_ANNOUNCE,
				    .seq = ANY_SEQ,
				    .delay = 60 * US});
	for (unsigned i = 0; i < 40; i++) {
		net_send(net, 0, 1, 100000, GAMMA_WHEN_ARRIVED);
		net_send(net, 0, 1, 1000, GAMMA_WHEN_ARRIVED);
		net_post(net, 1, 1000);
		net_run(net, 600 * US);
	}
	net_finish(net, SEC);
	assert_true(net_flow(net, 0, 1)->loss.wide > 0);
	assert_in_range(again(0), 1, 6);
}

static void silence__receiver_stopped_for_ten_seconds(void **state)
{
	(void) state;
	warm_up();
	net->nodes[1].wakes = net->now + 10 * SEC;
	for (int i = 0; i < 100; i++) {
		net_post(net, 1, 1000);
		net_send(net, 0, 1, 1000, GAMMA_WHEN_ARRIVED);
	}
	net_finish(net, 11 * SEC);
	net_run(net, SEC);
	assert_int_equal(again(0), 0);
	assert_int_equal(net_stats(net, 1)->duplicates, 0);
	assert_int_equal(net_stats(net, 1)->ring_drops, 0);
	/* Backing off to two a second. */
	assert_in_range(net_stats(net, 0)->probes_out, 10, 40);
}

static void silence__sender_stopped_for_ten_seconds(void **state)
{
	(void) state;
	warm_up();
	net_post(net, 1, 1 << 20);
	net_send(net, 0, 1, 1 << 20, GAMMA_WHEN_ARRIVED);
	net_run(net, 100 * US);
	net->nodes[0].wakes = net->now + 10 * SEC;
	net_finish(net, 11 * SEC);
	assert_int_equal(again(0) + again(1), 0);
}

static void silence__cable_pulled_and_put_back(void **state)
{
	(void) state;
	warm_up();
	net->nodes[0].unplugged = true;
	net_post(net, 1, 1000);
	net_send(net, 0, 1, 1000, GAMMA_WHEN_ARRIVED);
	net_run(net, 20 * SEC);
	net->nodes[0].unplugged = false;
	assert_true(net_finish(net, SEC) < 600 * MS);
	assert_int_equal(again(0), 1);
	assert_int_equal(net->nodes[0].failures, 0);
}

static void silence__peer_is_given_up(void **state)
{
	struct outgoing *out;

	(void) state;
	warm_up();
	net->nodes[1].unplugged = true;
	out = net_send(net, 0, 1, 64, GAMMA_WHEN_ARRIVED);
	net_run(net, 29 * SEC);
	assert_false(out->done);
	net_run(net, 2 * SEC);
	assert_true(out->done);
	assert_int_equal(out->error, -ETIMEDOUT);
	assert_int_equal(net->nodes[0].failures, 1);
	assert_non_null(strstr(net->nodes[0].last_cause, "nothing heard of it for 30."));
	assert_int_equal(net_stats(net, 0)->peer_timeouts, 1);
	assert_int_equal(again(0), 0);
	out = net_send(net, 0, 1, 64, GAMMA_WHEN_ARRIVED);
	assert_int_equal(out->error, -ETIMEDOUT);
}

static void silence__given_up_while_the_link_takes_nothing(void **state)
{
	struct net_options options = net_defaults();
	struct outgoing *out;

	(void) state;
	options.peer_timeout = SEC;
	net_free(net);
	net = net_new(2, &options);
	net_post(net, 1, 64);
	net_send(net, 0, 1, 64, GAMMA_WHEN_ARRIVED);
	net_finish(net, SEC);
	net->nodes[0].link_error = -ENOBUFS;
	out = net_send(net, 0, 1, 64, GAMMA_WHEN_ARRIVED);
	net_run(net, 900 * MS);
	assert_false(out->done);
	net_run(net, 200 * MS);
	assert_int_equal(out->error, -ETIMEDOUT);
}

static void silence__given_up_while_a_message_waits_for_its_match(void **state)
{
	struct outgoing *out;

	(void) state;
	warm_up();
	out = net_send(net, 0, 1, 100000, GAMMA_WHEN_ARRIVED);
	net_run(net, 60 * SEC); /* alive, and not interested */
	assert_false(out->done);
	net->nodes[1].unplugged = true;
	net_run(net, 33 * SEC);
	assert_int_equal(out->error, -ETIMEDOUT);
}

static void silence__given_up_while_a_receive_is_posted_for_it(void **state)
{
	struct gamma_flow *flow;

	(void) state;
	warm_up();
	flow = net_flow(net, 0, 1);
	flow->expected++;
	gamma_loss_rearm(flow, net->now);
	net_run(net, 60 * SEC); /* alive, with nothing to say */
	assert_int_equal(net->nodes[0].failures, 0);
	net->nodes[1].unplugged = true;
	net_run(net, 33 * SEC);
	assert_int_equal(net->nodes[0].failures, 1);
	assert_int_equal(net->nodes[0].last_error, -ETIMEDOUT);
}

static void silence__while_stopped_itself_says_nothing(void **state)
{
	struct outgoing *out;

	(void) state;
	warm_up();
	out = net_send(net, 0, 1, 100000, GAMMA_WHEN_ARRIVED);
	net_run(net, 5 * SEC);
	net->nodes[0].wakes = net->now + 100 * SEC;
	net_run(net, 101 * SEC);
	assert_int_equal(net->nodes[0].failures, 0);
	net_post(net, 1, 100000);
	net_finish(net, SEC);
	assert_int_equal(out->error, 0);
}

static void silence__given_up_while_bulk_is_awaited(void **state)
{
	(void) state;
	warm_up();
	net_rule(net, (struct rule){.fate = DROP, .op = GAMMA_OP_BULK, .seq = ANY_SEQ, .skip = 5});
	net_post(net, 1, 100000);
	net_send(net, 0, 1, 100000, GAMMA_WHEN_ARRIVED);
	net_run(net, 50 * US);
	net->nodes[0].unplugged = true;
	net_run(net, 33 * SEC);
	assert_int_equal(net->nodes[1].receive_errors, 1);
	assert_int_equal(net->nodes[1].last_error, -ETIMEDOUT);
}

/* A long pause is no sign of death: what counts begins with the next message. */
static void silence__given_up_within_an_eager_message(void **state)
{
	(void) state;
	net_post(net, 1, 16384);
	net_rule(net, (struct rule){.fate = DROP, .op = GAMMA_OP_SEND_MORE, .seq = ANY_SEQ});
	net_send(net, 0, 1, 8000, GAMMA_WHEN_ARRIVED);
	net_run(net, 100 * US);
	assert_false(gamma_list_empty(&net->nodes[1].receives));
	net->nodes[0].unplugged = true;
	net_run(net, 32 * SEC);
	assert_int_equal(net->nodes[1].receive_errors, 1);
	assert_int_equal(net->nodes[1].last_error, -ETIMEDOUT);
}

static void silence__waiting_begins_anew_after_a_pause(void **state)
{
	struct gamma_flow *flow;

	(void) state;
	flow = net_flow(net, 1, 0);
	/* As the interface layer counts a receive that names its source; satisfied at once. */
	flow->expected = 1;
	gamma_loss_rearm(flow, net->now);
	flow->expected = 0;
	net_run(net, 60 * SEC);
	flow->expected = 1;
	gamma_loss_rearm(flow, net->now);
	net_run(net, 10 * SEC);
	assert_int_equal(net->nodes[1].failures, 0);
}

static void silence__after_a_long_pause(void **state)
{
	struct outgoing *out;

	(void) state;
	warm_up();
	net_run(net, 100 * SEC);
	net->nodes[1].wakes = net->now + 20 * SEC;
	out = net_send(net, 0, 1, 64, GAMMA_WHEN_ARRIVED);
	net_run(net, 21 * SEC);
	assert_true(out->done && !out->error);
}

static void idle__nothing_is_sent(void **state)
{
	uint64_t frames;

	(void) state;
	warm_up();
	frames = net_stats(net, 0)->frames_out + net_stats(net, 1)->frames_out;
	net_run(net, 1000 * SEC);
	assert_int_equal(net_stats(net, 0)->frames_out + net_stats(net, 1)->frames_out, frames);
}

/* ---- estimates ---- */

static void sample(struct gamma_flow *flow, uint64_t passed, uint64_t delay, uint16_t ahead)
{
	gamma_loss_sample(flow, passed, delay, &(struct gamma_sent){.ahead = ahead});
}

static void sample__first_and_following(void **state)
{
	struct gamma_flow *flow = net_flow(net, 0, 1);

	(void) state;
	sample(flow, 1000, 0, 0);
	assert_int_equal(flow->loss.first.rtt, 1000);
	assert_int_equal(flow->loss.first.rtt_min, 1000);
	assert_int_equal(flow->loss.first.answer, 1000);
	assert_int_equal(flow->loss.first.answer_var, 500);
	sample(flow, 2600, 800, 0);
	assert_int_equal(flow->loss.first.rtt, 1100);
	assert_int_equal(flow->loss.first.rtt_min, 1000);
	assert_int_equal(flow->loss.first.answer, 1200);
	assert_int_equal(flow->loss.first.answer_var, (3 * 500 + 1600) / 4);
	sample(flow, 900 + MS, MS, 0); /* a peer that did not poll */
	assert_int_equal(flow->loss.first.rtt_min, 900);
	assert_int_equal(flow->loss.first.answer, 1200);
}

/* For percentiles: of the network, without what the peer reports as its own. */
static void sample__is_counted_by_its_length(void **state)
{
	struct gamma_flow *flow = net_flow(net, 0, 1);
	const struct gamma_histogram *histogram = &flow->local->round_trips;
	const uint32_t before = histogram->counts[gamma_histogram_class(40000)];

	(void) state;
	sample(flow, 40000, 0, 0);
	sample(flow, 40000 + MS, MS, 0);
	assert_int_equal(histogram->counts[gamma_histogram_class(40000)], before + 2);
}

/* A sender may lose its processor before it notes when a frame left: then the round trip seems
 * shorter than any is, and nothing would correct the shortest one. */
static void sample__of_a_rough_time_is_no_minimum(void **state)
{
	struct gamma_flow *flow = net_flow(net, 0, 1);
	struct gamma_sent rough = {.approximate = 1};

	(void) state;
	gamma_loss_sample(flow, 1000, 0, &rough); /* the first: better than none */
	assert_int_equal(flow->loss.first.rtt_min, 1000);
	gamma_loss_sample(flow, 200, 0, &rough);
	assert_int_equal(flow->loss.first.rtt_min, 1000);
	assert_int_equal(flow->loss.first.rtt, 900);
	rough.ahead = 100;
	gamma_loss_sample(flow, 900, 0, &rough);
	assert_true(flow->loss.first.answer <= 1000 && flow->loss.first.answer_var <= 1000);
	sample(flow, 600, 0, 0);
	assert_int_equal(flow->loss.first.rtt_min, 600);
}

/* Behind own frames it may have waited for as long as the timer allows for them anyway. */
static void sample__without_own_queue(void **state)
{
	struct gamma_flow *flow = net_flow(net, 0, 1);

	(void) state;
	sample(flow, 40 * US, 0, 0);
	sample(flow, 100 * US, 0, 200);
	assert_int_equal(flow->loss.first.rtt_min, 40 * US);
	assert_int_equal(flow->loss.first.rtt, (7 * 40 + 100) * US / 8);
	assert_int_equal(flow->loss.first.answer, 40 * US);
	sample(flow, 400 * US, 100 * US, 5);
	assert_int_equal(flow->loss.first.answer, (7 * 40 + 400 - 5 * GAMMA_FRAME_US) * US / 8);
}

/* The other host has, of what is under way, only these: bit 0 is the oldest. */
static struct gamma_fields sack(const struct gamma_flow *flow, uint64_t bits)
{
	struct gamma_fields fields = net_fields(net, 1, 0, GAMMA_KIND_ACK, GAMMA_ACK_PLAIN);

	fields.extensions = GAMMA_EXT_ACK | GAMMA_EXT_SACK;
	fields.ack = fields.sack_base = flow->tx.una;
	fields.limit = flow->tx.limit;
	fields.sack[0] = bits;
	return fields;
}

/* So many frames that get no answer, sent to a host whose cable is pulled. */
static struct gamma_flow *unanswered(uint64_t rtt_min, int count)
{
	struct gamma_flow *flow;

	warm_up();
	flow = net_flow(net, 0, 1);
	flow->loss.first.rtt_min = rtt_min;
	net->nodes[1].unplugged = true;
	for (int i = 0; i < count; i++)
		net_send(net, 0, 1, ALONE, GAMMA_WHEN_ARRIVED);
	return flow;
}

/* The first round trips were long, and so was the wait for an overtaken frame. */
static void sample__shorter_than_before_ends_the_wait(void **state)
{
	struct gamma_flow *flow = unanswered(100 * MS, 3);
	struct gamma_fields fields;

	(void) state;
	net_run(net, 20 * US);
	fields = sack(flow, 1 << 2);
	gamma_flow_receive(flow, &fields, NULL, net->now, net->now);
	net_run(net, 10 * US);
	assert_int_equal(flow->tx.lost, 0);
	fields.extensions |= GAMMA_EXT_DELAY;
	fields.sack[0] |= 1 << 1;
	fields.echo = flow->tx.una + 1;
	fields.delay =
		(uint32_t) (net->now - gamma_send_window_at(&flow->tx, fields.echo)->time - 2 * US);
	gamma_flow_receive(flow, &fields, NULL, net->now, net->now);
	assert_int_equal(flow->tx.lost, 1);
}

/* A sender that loses its processor just when a frame has left believes that it left later: its
 * answer seems to have been quicker than any, which is no evidence against those sent before. */
static void sample__quicker_than_any_is_not_believed(void **state)
{
	struct gamma_flow *flow = unanswered(10 * MS, 2);
	struct gamma_fields fields;

	(void) state;
	net_run(net, 6 * MS); /* more than the window, less than a round trip and the window */
	gamma_send_window_at(&flow->tx, flow->tx.una + 1)->time = net->now;
	fields = sack(flow, 1 << 1);
	gamma_flow_receive(flow, &fields, NULL, net->now, net->now);
	assert_int_equal(flow->loss.first.rack_rtt, 0);
	assert_int_equal(flow->tx.lost, 0);
}

/* Where links do not report when frames arrived, an answer that was taken late is no evidence. */
static void sample__none_after_being_stopped(void **state)
{
	struct gamma_flow *flow = net_flow(net, 0, 1);

	(void) state;
	net->unstamped = true;
	net_post(net, 1, 64);
	net_send(net, 0, 1, 64, GAMMA_WHEN_ARRIVED);
	net_step(net, SEC);
	net->nodes[0].wakes = net->now + 10 * SEC;
	net_finish(net, 20 * SEC);
	assert_int_equal(flow->loss.first.rtt, 0);
	transfer(1, 64, (struct rule){.fate = PASS, .seq = 1, .times = 1});
	assert_in_range(flow->loss.first.rtt, 1, 10 * US);
}

static void probed__old_answer_is_no_evidence(void **state)
{
	struct gamma_flow *flow;

	(void) state;
	warm_up();
	flow = net_flow(net, 0, 1);
	net->nodes[1].wakes = net->now + 50 * MS;
	net_send(net, 0, 1, 64, GAMMA_WHEN_ARRIVED);
	net_run(net, 10 * MS);
	assert_true(flow->loss.probing);
	gamma_loss_probed(flow, &(struct gamma_fields){.seq = flow->loss.probe - 1}, net->now);
	assert_true(flow->loss.probing);
	assert_int_equal(flow->tx.lost, 0);
	gamma_loss_probed(flow, &(struct gamma_fields){.seq = flow->loss.probe + 1}, net->now);
	assert_true(flow->loss.probing);
}

/* A peer that was stopped when the first frames left answers them late: that is not the network's
 * round trip, and frames that are lost later must not wait for as long. */
static void probed__shorter_than_before_ends_the_wait(void **state)
{
	struct gamma_flow *flow = unanswered(10 * SEC, 1);

	(void) state;
	flow->loss.first.rtt = 10 * SEC;
	flow->loss.wide = 16; /* the reorder window, which two round trips bound */
	net_run(net, 20 * MS);
	assert_true(flow->loss.probing);
	assert_int_equal(flow->tx.lost, 0);
	net->nodes[1].unplugged = false;
	net_run(net, 2 * SEC);
	assert_true(flow->loss.first.rtt_min < 20 * MS);
	assert_true(gamma_loss_reorder_window(flow) < 200 * MS);
	assert_int_equal(flow->tx.una, flow->tx.next);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		NET_TEST(lost__in_the_middle),
		NET_TEST(lost__at_the_tail),
		NET_TEST(lost__the_only_frame_of_a_new_peer),
		NET_TEST(lost__twice),
		NET_TEST(lost__every_other_frame),
		NET_TEST(lost__the_acknowledgement),
		NET_TEST(lost__an_acknowledgement_in_a_stream),
		NET_TEST(lost__the_probe_too),
		NET_TEST(lost__an_announcement),
		NET_TEST(lost__an_accept),
		NET_TEST(lost__a_frame_of_bulk),
		NET_TEST(damaged__is_counted_and_sent_again),
		NET_TEST(doubled__is_counted_and_harmless),
		NET_TEST(overtaken__by_little),
		NET_TEST(overtaken__by_much),
		NET_TEST(overtaken__the_window_learns),
		NET_TEST(silence__receiver_stopped_for_ten_seconds),
		NET_TEST(silence__sender_stopped_for_ten_seconds),
		NET_TEST(silence__cable_pulled_and_put_back),
		NET_TEST(silence__peer_is_given_up),
		NET_TEST(silence__given_up_while_the_link_takes_nothing),
		NET_TEST(silence__given_up_while_a_message_waits_for_its_match),
		NET_TEST(silence__given_up_while_a_receive_is_posted_for_it),
		NET_TEST(silence__while_stopped_itself_says_nothing),
		NET_TEST(silence__given_up_while_bulk_is_awaited),
		NET_TEST(silence__given_up_within_an_eager_message),
		NET_TEST(silence__waiting_begins_anew_after_a_pause),
		NET_TEST(silence__after_a_long_pause),
		NET_TEST(idle__nothing_is_sent),
		NET_TEST(sample__first_and_following),
		NET_TEST(sample__is_counted_by_its_length),
		NET_TEST(sample__of_a_rough_time_is_no_minimum),
		NET_TEST(sample__without_own_queue),
		NET_TEST(sample__shorter_than_before_ends_the_wait),
		NET_TEST(sample__quicker_than_any_is_not_believed),
		NET_TEST(sample__none_after_being_stopped),
		NET_TEST(probed__old_answer_is_no_evidence),
		NET_TEST(probed__shorter_than_before_ends_the_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
