// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of prov/gamma/src/active_port_run.c: messages that are handled where they arrived. */
#include "prov_port_fixture.h"

#include <pthread.h>

static void look(struct fid_ep *ep, const struct fi_gamma_arrival *arrival, void *context)
{
	note(ep, arrival, context);
	inner = fake_engine_of(ep)->lent;
	ops->keep(ep, arrival, &kept);
	if (arrival->arg == 77)
		ops->release(ep, kept);
}

static void close_other(struct fid_ep *ep, const struct fi_gamma_arrival *arrival, void *context)
{
	struct fake_ep *other = context;

	note(ep, arrival, NULL);
	fake_ep_close(other);
	inner = 0;
}

static void handler__may_close_another_endpoint_whose_messages_wait(void **state)
{
	struct fake_ep *fep = *state;
	struct fake_ep *other = fake_ep_open(fep->fake, FI_EP_RDM, 0, 0);
	struct fi_cq_tagged_entry entry;

	set(other, 1, note);
	set_with(fep, 1, close_other, other);
	arrive(other->flow, 1, 0, "lost");
	arrive(fep->flow, 1, 0, "a");
	arrive(fep->flow, 2, 0, "b");
	set(fep, 2, note);
	/* The first endpoint of the domain has its turn first. */
	assert_int_equal(fi_cq_read(fep->cq, &entry, 1), -FI_EAGAIN);
	assert_int_equal(inner, 0);
	assert_string_equal(log_of, "ab");
}

static void *poll_beside(void *arg)
{
	struct fake_ep *fep = arg;
	struct fi_cq_tagged_entry entry;

	assert_int_equal(ops->poll(fep->ep, 10), 0);
	assert_int_equal(fi_cq_read(fep->cq, &entry, 1), -FI_EAGAIN);
	return NULL;
}

/* Another thread polls meanwhile, and waits for nothing. */
static void be_polled(struct fid_ep *ep, const struct fi_gamma_arrival *arrival, void *context)
{
	struct fake_ep *fep = context;
	pthread_t thread;

	note(ep, arrival, NULL);
	assert_int_equal(pthread_create(&thread, NULL, poll_beside, fep), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	inner = fake_engine_of(ep)->lent;
}

static void handler__second_poller_runs_none_and_leaves_the_slot_lent(void **state)
{
	struct fake_ep *fep = *state;

	set_with(fep, 1, be_polled, fep);
	bring_next(fep, 3);
	assert_int_equal(ops->poll(fep->ep, 10), 3);
	assert_string_equal(log_of, "abc");
	assert_int_equal(inner, 1);
	assert_int_equal(fep->engine->returned, 1);
}

static void cq_read__runs_handlers_where_messages_arrived(void **state)
{
	struct fake_ep *fep = *state;
	struct fi_cq_tagged_entry entry;
	const struct gamma_stats *stats = gamma_endpoint_stats(fep->engine);

	set(fep, 1, note);
	bring_next(fep, 3);
	assert_int_equal(fi_cq_read(fep->cq, &entry, 1), -FI_EAGAIN);
	assert_string_equal(log_of, "abc");
	assert_true(last.flags & FI_GAMMA_IN_PLACE);
	assert_int_equal(fep->engine->returned, 1);
	assert_int_equal(stats->ports_in, 3);
	assert_int_equal(stats->ports_in_place, 3);
	assert_int_equal(stats->bytes_copied_in, 0);
}

static void posting__runs_none_and_lends_none(void **state)
{
	struct fake_ep *fep = *state;
	char byte;

	set(fep, 1, note);
	bring_next(fep, 3);
	assert_int_equal(
		fi_trecvmsg(fep->ep,
			    &(struct fi_msg_tagged){.addr = FI_ADDR_UNSPEC, .context = &byte},
			    FI_PEEK),
		0); /* which makes progress */
	assert_string_equal(log_of, "");
	assert_int_equal(ops->poll(fep->ep, 10), 3);
	assert_string_equal(log_of, "abc");
	assert_false(last.flags & FI_GAMMA_IN_PLACE);
}

static void lent__no_more_than_are_handled_and_the_rest_in_order(void **state)
{
	struct fake_ep *fep = *state;

	set(fep, 1, note);
	bring_next(fep, 5);
	assert_int_equal(ops->poll(fep->ep, 2), 2);
	assert_false(fep->engine->lent);
	bring_next(fep, 1); /* behind those that wait */
	assert_int_equal(ops->poll(fep->ep, 10), 4);
	assert_string_equal(log_of, "abcdea");
	assert_int_equal(gamma_endpoint_stats(fep->engine)->ports_in_place, 2);
}

static void lent__65_at_once(void **state)
{
	struct fake_ep *fep = *state;

	set(fep, 1, note);
	bring_next(fep, 65);
	assert_int_equal(ops->poll(fep->ep, 100), 65);
	for (unsigned i = 0; i < 65; i++)
		assert_int_equal(log_of[i], 'a' + i % 26);
	assert_int_equal(gamma_endpoint_stats(fep->engine)->ports_in_place, 64);
}

static void keep__gives_the_slot_back(void **state)
{
	struct fake_ep *fep = *state;

	set(fep, 1, look);
	bring_next(fep, 1);
	assert_int_equal(ops->poll(fep->ep, 10), 1);
	assert_int_equal(inner, 1); /* lent while the handler runs */
	assert_int_equal(fep->engine->returned, 1);
	assert_false(fep->engine->lent);
}

static void keep_first(struct fid_ep *ep, const struct fi_gamma_arrival *arrival, void *context)
{
	note(ep, arrival, context);
	if (strlen(log_of) > 1)
		return;
	assert_int_equal(ops->keep(ep, arrival, &kept), 0);
	inner = fake_engine_of(ep)->lent;
}

/* Those that came with it in a frame keep no slot either, and keep their order. */
static void keep__gives_the_slot_back_with_messages_behind(void **state)
{
	struct fake_ep *fep = *state;

	set(fep, 1, keep_first);
	bring_next(fep, 6);
	assert_int_equal(ops->poll(fep->ep, 4), 4);
	assert_int_equal(inner, 0);
	assert_int_equal(fep->engine->returned, 1);
	assert_false(last.flags & FI_GAMMA_IN_PLACE);
	assert_int_equal(ops->poll(fep->ep, 10), 2);
	assert_string_equal(log_of, "abcdef");
	assert_int_equal(fep->engine->messages.buffered, 0);
}

static void unset(struct fid_ep *ep, const struct fi_gamma_arrival *arrival, void *context)
{
	note(ep, arrival, context);
	assert_int_equal(ops->set(ep, arrival->port, NULL), 0);
}

static void unset__by_the_handler_of_the_message_before(void **state)
{
	struct fake_ep *fep = *state;

	set(fep, 1, unset);
	bring_next(fep, 3);
	assert_int_equal(ops->poll(fep->ep, 10), 1);
	assert_false(fep->engine->lent);
	assert_int_equal(ops->poll(fep->ep, 10), 0);
	bring_next(fep, 1);
	set(fep, 1, note);
	assert_int_equal(ops->poll(fep->ep, 10), 3);
	assert_string_equal(log_of, "abca");
}

static void bring_datagrams(void *arg)
{
	static char letters[3][2] = {"a", "b", "c"};
	struct fake_ep *fep = arg;

	fep->engine->on_progress = NULL;
	for (unsigned i = 0; i < 3; i++) {
		struct gamma_envelope envelope = {
			.tag = gamma_envelope_port_tag(1, 0, 77),
			.length = 1,
			.flags = GAMMA_TAGGED | GAMMA_TO_PORT,
		};

		fep->engine->handlers.datagram(fep->engine->context, &fep->peer, &envelope,
					       (const uint8_t *) letters[i]);
	}
}

static void unset__datagrams_behind_wait(void **state)
{
	struct fake_ep *fep = *state;

	set(fep, 1, unset);
	fep->engine->on_progress = bring_datagrams;
	fep->engine->arg = fep;
	assert_int_equal(ops->poll(fep->ep, 10), 1);
	assert_false(fep->engine->lent);
	set(fep, 1, note);
	assert_int_equal(ops->poll(fep->ep, 10), 2);
	assert_string_equal(log_of, "abc");
	assert_int_equal(last.source, 0);
}

/* What has been fetched from its sender is not fetched again. */
static void unset__while_a_message_is_fetched(void **state)
{
	struct fake_ep *fep = *state;
	struct gamma_active_ports *ports = &gamma_ep_handle_of(fep->ep)->ep->ports;
	uint64_t tag = gamma_envelope_port_tag(1, 1, 0);
	uint32_t id;

	set(fep, 1, note);
	set(fep, 2, note);
	fake_arrive_port(fep->flow, GAMMA_OP_ANNOUNCE, 0, tag, "hlong");
	arrive(fep->flow, 2, 0, "b");
	id = gamma_list_first(&ports->arrived, struct gamma_inbound, entry)->accepted;
	assert_int_equal(ops->poll(fep->ep, 10), 0);
	assert_int_equal(ops->set(fep->ep, 1, NULL), 0);
	fake_arrive_port(fep->flow, GAMMA_OP_BULK, id, tag, "hlong");
	assert_int_equal(ops->poll(fep->ep, 10), 1); /* not held up by the other port's */
	set(fep, 1, note);
	assert_int_equal(ops->poll(fep->ep, 10), 1);
	assert_string_equal(log_of, "blong");
	assert_string_equal(last_head, "h");
}

static void *wait_for_any(void *arg)
{
	struct fake_ep *fep = arg;

	return ops->wait(fep->ep, -1) ? fep : NULL;
}

/* A thread that sleeps since before the port had a handler. */
static void set__wakes_waiting_threads(void **state)
{
	struct fake_ep *fep = *state;
	struct gamma_active_ports *ports = &gamma_ep_handle_of(fep->ep)->ep->ports;
	pthread_t thread;
	void *failed;

	arrive(fep->flow, 1, 0, "a");
	assert_int_equal(pthread_create(&thread, NULL, wait_for_any, fep), 0);
	while (!__atomic_load_n(&ports->waiter.sleepers, __ATOMIC_RELAXED))
		sched_yield();
	set(fep, 1, note);
	assert_int_equal(pthread_join(thread, &failed), 0);
	assert_null(failed);
	assert_string_equal(log_of, "a");
}

static void lent__flow_gone_while_it_waits_for_its_turn(void **state)
{
	struct fake_ep *fep = *state;
	struct gamma_active_ports *ports = &gamma_ep_handle_of(fep->ep)->ep->ports;

	set(fep, 1, reply);
	ports->lent_count = 1;
	ports->lent[0] = (struct gamma_active_port_lent){
		.flow = fep->flow,
		.envelope = {.tag = gamma_envelope_port_tag(1, 0, 0), .flags = GAMMA_TO_PORT},
		.bytes = (const uint8_t *) ""};
	fep->engine->handlers.gone(fep->engine->context, fep->flow);
	assert_int_equal(ops->poll(fep->ep, 10), 1);
	assert_true(last.source == FI_ADDR_NOTAVAIL);
	assert_int_equal(inner, -FI_EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PORT_TEST(handler__may_close_another_endpoint_whose_messages_wait),
		PORT_TEST(handler__second_poller_runs_none_and_leaves_the_slot_lent),
		PORT_TEST(cq_read__runs_handlers_where_messages_arrived),
		PORT_TEST(posting__runs_none_and_lends_none),
		PORT_TEST(lent__no_more_than_are_handled_and_the_rest_in_order),
		PORT_TEST(lent__65_at_once),
		PORT_TEST(keep__gives_the_slot_back),
		PORT_TEST(keep__gives_the_slot_back_with_messages_behind),
		PORT_TEST(unset__by_the_handler_of_the_message_before),
		DATAGRAM_TEST(unset__datagrams_behind_wait),
		PORT_TEST(unset__while_a_message_is_fetched),
		PORT_TEST(set__wakes_waiting_threads),
		PORT_TEST(lent__flow_gone_while_it_waits_for_its_turn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
