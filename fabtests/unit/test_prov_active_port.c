// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of prov/gamma/src/active_port.c. */
#include "prov_fake_engine.h"
#include "rdma/fi_ext_gamma.h"

#include <pthread.h>
#include <stdlib.h>

static struct fi_gamma_port_ops *ops;

/* What handlers saw. */
static char log_of[128]; /* the data, one behind the other */
static struct fi_gamma_arrival last;
static char last_head[65];
static void *kept;
static ssize_t inner; /* what a call in the handler has returned */

static void note(struct fid_ep *ep, const struct fi_gamma_arrival *arrival, void *context)
{
	(void) ep, (void) context;
	last = *arrival;
	memset(last_head, 0, sizeof(last_head));
	memcpy(last_head, arrival->head, arrival->head_len);
	strncat(log_of, arrival->data ? arrival->data : "", arrival->len);
}

static void keep(struct fid_ep *ep, const struct fi_gamma_arrival *arrival, void *context)
{
	(void) context;
	last = *arrival;
	inner = ops->keep(ep, arrival, &kept);
}

static void reply(struct fid_ep *ep, const struct fi_gamma_arrival *arrival, void *context)
{
	struct iovec iov = {.iov_base = "answer", .iov_len = 6};
	struct fi_gamma_msg msg = {
		.head = "hd", .head_len = 2, .iov = &iov, .iov_count = 1, .port = 9, .arg = 3};

	note(ep, arrival, context);
	inner = ops->reply(ep, arrival, &msg, FI_INJECT);
}

static void poll_and_close(struct fid_ep *ep, const struct fi_gamma_arrival *arrival, void *context)
{
	note(ep, arrival, context);
	assert_int_equal(ops->poll(ep, 10), 0);
	assert_int_equal(fi_close(&ep->fid), -FI_EBUSY);
	inner = 1;
}

static void fetch(struct fid_ep *ep, const struct fi_gamma_arrival *arrival, void *context)
{
	static struct iovec iov;

	note(ep, arrival, context);
	iov = (struct iovec){context, 4};
	inner = ops->receive(ep, arrival, &iov, 1, &iov, 0);
}

static void look(struct fid_ep *ep, const struct fi_gamma_arrival *arrival, void *context)
{
	note(ep, arrival, context);
	inner = fake_engine_of(ep)->lent;
	ops->keep(ep, arrival, &kept);
	if (arrival->arg == 77)
		ops->release(ep, kept);
}

static void set_with(struct fake_ep *fep, uint16_t port, fi_gamma_handler handler, void *context)
{
	struct fi_gamma_port_attr attr = {
		.size = sizeof(attr), .handler = handler, .context = context};

	assert_int_equal(ops->set(fep->ep, port, &attr), 0);
}

static void set(struct fake_ep *fep, uint16_t port, fi_gamma_handler handler)
{
	set_with(fep, port, handler, NULL);
}

static void arrive(struct gamma_flow *flow, uint16_t port, uint8_t head_len, const char *text)
{
	fake_arrive_port(flow, GAMMA_OP_SEND, 0, gamma_envelope_port_tag(port, head_len, 77), text);
}

static int open_ports(void **state)
{
	const struct fake_ep *fep = *state;

	log_of[0] = '\0';
	inner = -1;
	return fi_gamma_open_ports(fep->ep, &ops);
}

static int setup(void **state)
{
	return fake_ep_setup(state) || open_ports(state);
}

static int setup_datagram(void **state)
{
	return fake_ep_setup_dgram(state) || open_ports(state);
}

/* A datagram from the first peer of the AV, or from another one. */
static void arrive_datagram(struct fake_ep *fep, bool known, uint32_t to_group, uint8_t head_len,
			    const char *text)
{
	struct gamma_fi_ep *ep = gamma_ep_handle_of(fep->ep)->ep;
	struct gamma_addr unknown = fake_addr(2, 200, 9);
	struct gamma_envelope envelope = {
		.tag = gamma_envelope_port_tag(1, head_len, 77),
		.length = strlen(text),
		.flags = GAMMA_TAGGED | GAMMA_TO_PORT | to_group,
	};

	gamma_domain_lock(ep->domain);
	fep->engine->handlers.datagram(ep, known ? &fep->peer : &unknown, &envelope,
				       (const uint8_t *) text);
	gamma_domain_unlock(ep->domain);
}

static void datagram__is_handled_and_answered(void **state)
{
	struct fake_ep *fep = *state;

	arrive_datagram(fep, true, GAMMA_TO_GROUP, 2, "hdfirst");
	set(fep, 1, reply);
	assert_int_equal(ops->poll(fep->ep, 10), 1);
	assert_string_equal(log_of, "first");
	assert_int_equal(last.source, 0);
	assert_int_equal(last.flags, FI_MULTICAST);
	assert_int_equal(inner, 0);
	arrive_datagram(fep, false, 0, 0, "second");
	assert_int_equal(ops->poll(fep->ep, 10), 1);
	assert_true(last.source == FI_ADDR_NOTAVAIL);
	assert_int_equal(inner, 0);
	assert_int_equal(fep->engine->datagrams, 2);
	assert_int_equal(fep->engine->envelope.flags, GAMMA_TAGGED | GAMMA_TO_PORT);
	assert_memory_equal(fep->engine->bytes, "hdanswer", 8);
}

static void datagram__to_a_group(void **state)
{
	struct fake *fake = fake_open(FI_VERSION(1, 17), FI_THREAD_SAFE, FI_PROGRESS_MANUAL);
	struct fake_ep *fep = fake_ep_open(fake, FI_EP_DGRAM, FI_MULTICAST, 0);
	struct gamma_addr group = fake_addr(1, 50, 0);
	struct fi_eq_attr attr = {.wait_obj = FI_WAIT_NONE};
	struct fi_gamma_msg msg = {.head = "all", .head_len = 3, .port = 4};
	struct fid_mc *mc;
	struct fid_eq *eq;

	(void) state;
	group.mac[0] |= 1;
	assert_int_equal(fi_eq_open(fake->fabric, &attr, &eq, NULL), 0);
	assert_int_equal(fi_domain_bind(fake->domain, &eq->fid, 0), 0);
	assert_int_equal(fi_join(fep->ep, &group, 0, &mc, NULL), 0);
	assert_int_equal(fi_gamma_open_ports(fep->ep, &ops), 0);
	msg.addr = fi_mc_addr(mc);
	assert_int_equal(ops->send(fep->ep, &msg, FI_MULTICAST | FI_INJECT), 0);
	assert_int_equal(gamma_envelope_port(&fep->engine->envelope), 4);
	assert_memory_equal(fep->engine->bytes, "all", 3);
	assert_int_equal(fi_close(&mc->fid), 0);
	fake_ep_close(fep);
	/* The event queue goes after the domain that it is bound to. */
	assert_int_equal(fi_close(&fake->domain->fid), 0);
	assert_int_equal(fi_close(&eq->fid), 0);
	assert_int_equal(fi_close(&fake->fabric->fid), 0);
	gamma_settings_free();
	free(fake);
}

static void datagram__many_without_handler_are_lost(void **state)
{
	struct fake_ep *fep = *state;

	for (unsigned i = 0; i < GAMMA_ACTIVE_PORT_DATAGRAMS + 10; i++)
		arrive_datagram(fep, true, 0, 0, "");
	set(fep, 1, note);
	assert_int_equal(ops->poll(fep->ep, SIZE_MAX), GAMMA_ACTIVE_PORT_DATAGRAMS);
	arrive_datagram(fep, true, 0, 0, "freed by the close");
}

static void open__by_name(void **state)
{
	struct fake_ep *fep = *state;
	void *any;

	assert_int_equal(ops->size, sizeof(*ops));
	assert_int_equal(fi_open_ops(&fep->ep->fid, "gamma_port_ops_9", 0, &any, NULL), -FI_ENOSYS);
	assert_int_equal(fi_open_ops(&fep->ep->fid, FI_GAMMA_PORT_OPS_1, 1, &any, NULL),
			 -FI_EINVAL);
}

static void poll__runs_the_handler_with_all_that_was_sent(void **state)
{
	struct fake_ep *fep = *state;

	set(fep, 65279, note);
	arrive(fep->flow, 65279, 4, "headdata");
	assert_string_equal(log_of, ""); /* not before the program polls */
	assert_int_equal(ops->poll(fep->ep, 10), 1);
	assert_string_equal(last_head, "head");
	assert_string_equal(log_of, "data");
	assert_int_equal(last.port, 65279);
	assert_int_equal(last.arg, 77);
	assert_int_equal(last.source, 0);
	assert_int_equal(ops->poll(fep->ep, 10), 0);
}

static void poll__in_the_order_of_sending_and_no_more_than_asked(void **state)
{
	struct fake_ep *fep = *state;

	set(fep, 1, note);
	set(fep, 300, note);
	for (unsigned i = 0; i < 65; i++)
		arrive(fep->flow, i % 2 ? 300 : 1, 0, i % 2 ? "b" : "a");
	assert_int_equal(ops->poll(fep->ep, 3), 3);
	assert_string_equal(log_of, "aba");
	assert_int_equal(ops->poll(fep->ep, 100), 62);
	assert_int_equal(strlen(log_of), 65);
	for (unsigned i = 0; i < 65; i++)
		assert_int_equal(log_of[i], i % 2 ? 'b' : 'a');
}

static void poll__matches_no_receive(void **state)
{
	struct fake_ep *fep = *state;
	struct fi_cq_tagged_entry entry;
	char buffer[64];

	assert_int_equal(fi_trecv(fep->ep, buffer, 64, NULL, FI_ADDR_UNSPEC, 0, UINT64_MAX, NULL),
			 0);
	set(fep, 1, note);
	arrive(fep->flow, 1, 0, "port");
	fake_arrive(fep->flow, 5, "tagged");
	assert_int_equal(ops->poll(fep->ep, 10), 1);
	assert_string_equal(log_of, "port");
	assert_int_equal(fi_cq_read(fep->cq, &entry, 1), 1);
	assert_int_equal(entry.len, 6);
}

static void set__after_arrival_and_not_any_more(void **state)
{
	struct fake_ep *fep = *state;

	arrive(fep->flow, 1, 0, "a");
	arrive(fep->flow, 2, 0, "x");
	arrive(fep->flow, 1, 0, "b");
	assert_int_equal(ops->poll(fep->ep, 10), 0);
	set(fep, 1, note);
	assert_int_equal(ops->poll(fep->ep, 10), 2); /* not held up by the other port's */
	assert_string_equal(log_of, "ab");
	assert_int_equal(ops->set(fep->ep, 1, NULL), 0);
	arrive(fep->flow, 1, 0, "c");
	assert_int_equal(ops->poll(fep->ep, 10), 0);
}

static void handler__may_not_poll_or_close_its_endpoint(void **state)
{
	struct fake_ep *fep = *state;

	set(fep, 1, poll_and_close);
	arrive(fep->flow, 1, 0, "a");
	arrive(fep->flow, 1, 0, "b");
	assert_int_equal(ops->poll(fep->ep, 1), 1);
	assert_int_equal(inner, 1);
	assert_string_equal(log_of, "a");
}

static void reply__to_a_peer_not_in_the_address_vector(void **state)
{
	struct fake_ep *fep = *state;
	struct gamma_addr unknown = fake_addr(2, 200, 9);

	fep->engine->copied = GAMMA_COPIED_SENT;
	set(fep, 1, reply);
	arrive(fake_flow(fep, &unknown), 1, 0, "question");
	assert_int_equal(ops->poll(fep->ep, 10), 1);
	assert_int_equal(inner, 0);
	assert_true(last.source == FI_ADDR_NOTAVAIL);
	assert_int_equal(fep->engine->envelope.flags, GAMMA_TAGGED | GAMMA_TO_PORT);
	assert_int_equal(gamma_envelope_port(&fep->engine->envelope), 9);
	assert_int_equal(gamma_envelope_head_len(&fep->engine->envelope), 2);
	assert_int_equal(fep->engine->envelope.length, 8);
	assert_memory_equal(fep->engine->bytes, "hdanswer", 8);
}

static void keep__until_release(void **state)
{
	struct fake_ep *fep = *state;

	set(fep, 1, keep);
	arrive(fep->flow, 1, 0, "stays");
	assert_int_equal(ops->poll(fep->ep, 10), 1);
	assert_int_equal(inner, 0);
	arrive(fep->flow, 2, 0, "other");
	assert_memory_equal(kept, "stays", 5);
	assert_int_equal(ops->release(fep->ep, kept), 0);
	assert_int_equal(ops->release(fep->ep, kept), -FI_EINVAL);
}

static void demoted__is_fetched_and_others_wait(void **state)
{
	struct fake_ep *fep = *state;
	struct gamma_active_ports *ports = &gamma_ep_handle_of(fep->ep)->ep->ports;
	uint64_t tag = gamma_envelope_port_tag(1, 1, 0);
	uint32_t id;

	set(fep, 1, note);
	fake_arrive_port(fep->flow, GAMMA_OP_ANNOUNCE, 0, tag, "hlong");
	arrive(fep->flow, 1, 0, "short");
	id = gamma_list_first(&ports->arrived, struct gamma_inbound, entry)->accepted;
	assert_int_equal(ops->poll(fep->ep, 10), 0);
	fake_arrive_port(fep->flow, GAMMA_OP_BULK, id, tag, "hlong");
	assert_int_equal(ops->poll(fep->ep, 10), 2);
	assert_string_equal(log_of, "longshort");
}

/* Those of other senders do not. */
static void demoted__does_not_delay_other_senders(void **state)
{
	struct fake_ep *fep = *state;
	struct gamma_addr unknown = fake_addr(2, 200, 9);
	uint64_t tag = gamma_envelope_port_tag(1, 0, 0);
	struct gamma_flow *other = fake_flow(fep, &unknown);

	set(fep, 1, note);
	fake_arrive_port(fep->flow, GAMMA_OP_ANNOUNCE, 0, tag, "never");
	arrive(fep->flow, 1, 0, "behind");
	arrive(other, 1, 0, "a");
	assert_int_equal(ops->poll(fep->ep, 10), 1);
	arrive(other, 1, 0, "b");
	assert_int_equal(ops->poll(fep->ep, 10), 1);
	assert_string_equal(log_of, "ab");
	fake_fail(fep->flow, -ETIMEDOUT);
	assert_int_equal(ops->poll(fep->ep, 10), 1);
	assert_string_equal(log_of, "abbehind");
}

static void failed__messages_that_are_not_here_are_dropped(void **state)
{
	struct fake_ep *fep = *state;

	set(fep, 1, note);
	arrive(fep->flow, 1, 0, "here");
	fake_arrive_port(fep->flow, GAMMA_OP_ANNOUNCE, 0, gamma_envelope_port_tag(1, 0, 0),
			 "there");
	fake_fail(fep->flow, -ETIMEDOUT);
	assert_int_equal(ops->poll(fep->ep, 10), 1);
	assert_string_equal(log_of, "here");
	assert_true(gamma_list_empty(&gamma_ep_handle_of(fep->ep)->ep->ports.arrived));
}

/* What the network brings during the next progress calls. */
struct network {
	struct gamma_flow *flow;
	unsigned count; /* messages, each of one letter: a, b, ... */
};

static void bring(void *arg)
{
	static char letters[26][2]; /* as a slot, they stay while lent */
	struct network *network = arg;

	for (unsigned i = 0; i < 26; i++)
		letters[i][0] = (char) ('a' + i);
	for (unsigned i = 0; i < network->count; i++)
		arrive(network->flow, 1, 0, letters[i % 26]);
	network->count = 0;
}

static struct network *bring_next(struct fake_ep *fep, unsigned count)
{
	static struct network network;

	network = (struct network){.flow = fep->flow, .count = count};
	fep->engine->on_progress = bring;
	fep->engine->arg = &network;
	return &network;
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
static void set__wakes_who_waits(void **state)
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

/* The bytes come of a message for which the handler has posted a receive. */
static void arrive_accepted(struct fake_ep *fep, uint64_t tag, const char *text)
{
	fake_arrive_port(fep->flow, GAMMA_OP_BULK,
			 gamma_list_first(&gamma_message_state(fep->flow)->incoming,
					  struct gamma_inbound, flow_entry)
				 ->accepted,
			 tag, text);
}

static void announced__received_where_the_handler_says(void **state)
{
	struct fake_ep *fep = *state;
	struct fi_cq_tagged_entry entry;
	char memory[4];
	uint64_t tag = gamma_envelope_port_tag(1, 0, 5);
	struct gamma_message_local *local = &fep->engine->messages;
	uint64_t eager = gamma_settings.eager_size;

	gamma_settings.eager_size = 3;
	set_with(fep, 1, fetch, memory);
	fake_arrive_port(fep->flow, GAMMA_OP_ANNOUNCE, 0, tag, "long");
	assert_int_equal(ops->poll(fep->ep, 10), 1);
	assert_int_equal(inner, 0);
	assert_true(last.flags & FI_GAMMA_ANNOUNCED);
	assert_int_equal(last.len, 4);
	assert_null(last.data);
	arrive_accepted(fep, tag, "long");
	gamma_settings.eager_size = eager;
	assert_int_equal(fi_cq_read(fep->cq, &entry, 1), 1);
	assert_int_equal(entry.flags & (FI_RECV | FI_MSG), FI_RECV | FI_MSG);
	assert_int_equal(entry.len, 4);
	assert_memory_equal(memory, "long", 4);
	assert_int_equal(local->buffered, 0);
}

static void announced__with_its_head(void **state)
{
	struct fake_ep *fep = *state;
	struct fi_cq_tagged_entry entry;
	char memory[4];
	uint64_t tag = gamma_envelope_port_tag(1, 2, 5), eager = gamma_settings.eager_size;

	gamma_settings.eager_size = 3;
	set_with(fep, 1, fetch, memory);
	fake_arrive_port(fep->flow, GAMMA_OP_ANNOUNCE, 0, tag, "hdlong");
	assert_int_equal(ops->poll(fep->ep, 10), 1);
	gamma_settings.eager_size = eager;
	assert_int_equal(inner, 0);
	assert_true(last.flags & FI_GAMMA_ANNOUNCED);
	assert_int_equal(last.head_len, 2);
	assert_string_equal(last_head, "hd");
	assert_int_equal(last.len, 4);
	assert_null(last.data);
	arrive_accepted(fep, tag, "hdlong");
	assert_int_equal(fi_cq_read(fep->cq, &entry, 1), 1);
	assert_int_equal(entry.len, 4);
	assert_ptr_equal(entry.buf, memory);
	assert_memory_equal(memory, "long", 4);
}

static void announced__with_its_head_into_too_little_memory(void **state)
{
	struct fake_ep *fep = *state;
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry error = {0};
	char memory[4];
	uint64_t tag = gamma_envelope_port_tag(1, 2, 5), eager = gamma_settings.eager_size;

	gamma_settings.eager_size = 3;
	set_with(fep, 1, fetch, memory);
	fake_arrive_port(fep->flow, GAMMA_OP_ANNOUNCE, 0, tag, "hdlonger");
	assert_int_equal(ops->poll(fep->ep, 10), 1);
	gamma_settings.eager_size = eager;
	arrive_accepted(fep, tag, "hdlong");
	assert_int_equal(fi_cq_read(fep->cq, &entry, 1), -FI_EAVAIL);
	assert_int_equal(fi_cq_readerr(fep->cq, &error, 0), 1);
	assert_int_equal(error.err, FI_ETRUNC);
	assert_int_equal(error.len, 4);
	assert_int_equal(error.olen, 2);
	assert_memory_equal(memory, "long", 4);
}

static void fetch_in_pieces(struct fid_ep *ep, const struct fi_gamma_arrival *arrival,
			    void *context)
{
	struct iovec iov[GAMMA_IOV_LIMIT];

	for (unsigned i = 0; i < GAMMA_IOV_LIMIT; i++)
		iov[i] = (struct iovec){(char *) context + i, 1};
	assert_int_equal(ops->receive(ep, arrival, iov, GAMMA_IOV_LIMIT, NULL, 0), -FI_EINVAL);
	inner = ops->receive(ep, arrival, iov, GAMMA_IOV_LIMIT - 1, NULL, FI_COMPLETION);
}

static void announced__with_its_head_leaves_one_entry_less(void **state)
{
	struct fake_ep *fep = *state;
	struct fi_cq_tagged_entry entry;
	char memory[GAMMA_IOV_LIMIT + 1] = "";
	uint64_t tag = gamma_envelope_port_tag(1, 1, 0), eager = gamma_settings.eager_size;

	gamma_settings.eager_size = 3;
	set_with(fep, 1, fetch_in_pieces, memory);
	fake_arrive_port(fep->flow, GAMMA_OP_ANNOUNCE, 0, tag, "hlonger");
	assert_int_equal(ops->poll(fep->ep, 10), 1);
	gamma_settings.eager_size = eager;
	assert_int_equal(inner, 0);
	arrive_accepted(fep, tag, "hlonger");
	assert_int_equal(fi_cq_read(fep->cq, &entry, 1), 1);
	assert_string_equal(memory, "longer");
}

static ssize_t send_with(struct fake_ep *fep, struct iovec *iov, uint64_t flags)
{
	struct fi_gamma_msg msg = {.head = "head",
				   .head_len = 4,
				   .iov = iov,
				   .iov_count = 1,
				   .port = 1,
				   .context = fep};

	return ops->send(fep->ep, &msg, flags);
}

static void send__injected_or_copied_is_complete_at_once(void **state)
{
	struct fake_ep *fep = *state;
	struct iovec iov = {"data", 4};
	struct fi_cq_tagged_entry entry;

	fep->engine->copied = GAMMA_COPIED_SENT;
	assert_int_equal(send_with(fep, &iov, FI_INJECT), 0);
	assert_int_equal(fi_cq_read(fep->cq, &entry, 1), 1); /* as of fi_sendmsg */
	assert_int_equal(send_with(fep, &iov, FI_INJECT_COMPLETE | FI_COMPLETION), 0);
	assert_int_equal(fi_cq_read(fep->cq, &entry, 1), 1);
	assert_int_equal(entry.flags, FI_SEND | FI_MSG);
	assert_ptr_equal(entry.op_context, fep);
	assert_memory_equal(fep->engine->bytes, "headdata", 8);
	assert_false(fep->engine->more);
	assert_int_equal(send_with(fep, &iov, FI_MORE), 0);
	assert_true(fep->engine->more);
}

/* Memory of an injected one is the caller's again, though it waits behind another. */
static void send__injected_and_not_sent_yet(void **state)
{
	struct fake_ep *fep = *state;
	char data[] = "data";
	struct iovec iov = {data, 4};

	assert_int_equal(send_with(fep, &iov, FI_DELIVERY_COMPLETE), 0);
	assert_int_equal(send_with(fep, &iov, FI_INJECT), 0);
	memset(data, 'x', 4);
	assert_memory_equal(fep->engine->send->iov[0].iov_base, "headdata", 8);
	iov.iov_len = gamma_settings.inject_size - 3;
	assert_int_equal(send_with(fep, &iov, FI_INJECT), -FI_EMSGSIZE);
}

static void send__levels_and_fence(void **state)
{
	static const struct {
		uint64_t flag;
		enum gamma_completion_level level;
	} sends[] = {{FI_TRANSMIT_COMPLETE, GAMMA_WHEN_ARRIVED},
		     {FI_DELIVERY_COMPLETE, GAMMA_WHEN_ARRIVED},
		     {FI_MATCH_COMPLETE, GAMMA_WHEN_MATCHED},
		     {FI_FENCE, GAMMA_WHEN_COPIED},
		     {FI_FENCE | FI_DELIVERY_COMPLETE, GAMMA_WHEN_ARRIVED}};
	struct fake_ep *fep = *state;
	struct iovec iov = {"data", 4};

	fep->engine->copied = GAMMA_COPIED_SENT;
	for (unsigned i = 0; i < 5; i++) {
		assert_int_equal(send_with(fep, &iov, FI_COMPLETION | sends[i].flag), 0);
		assert_int_equal(fep->engine->sends, i + 1);
		assert_int_equal(fep->engine->send->level, sends[i].level);
		assert_int_equal(fep->engine->send->fence, (sends[i].flag & FI_FENCE) != 0);
	}
	assert_int_equal(fep->engine->copies, 0);
	assert_int_equal(send_with(fep, &iov, FI_FENCE | FI_MATCH_COMPLETE), -FI_EBADFLAGS);
	assert_int_equal(send_with(fep, &iov, FI_REMOTE_CQ_DATA), -FI_EBADFLAGS);
	assert_int_equal(send_with(fep, &iov, FI_TRIGGER), -FI_EBADFLAGS);
	assert_int_equal(send_with(fep, &iov, FI_MULTICAST), -FI_EBADFLAGS);
}

static void send__delivered_is_complete_when_acknowledged(void **state)
{
	struct fake_ep *fep = *state;
	struct iovec iov = {"data", 4};
	struct fi_cq_tagged_entry entry;

	fep->engine->copied = GAMMA_COPIED_SENT;
	assert_int_equal(send_with(fep, &iov, FI_COMPLETION | FI_DELIVERY_COMPLETE), 0);
	assert_int_equal(fake_transmit(fep->flow), 1);
	assert_int_equal(fi_cq_read(fep->cq, &entry, 1), -FI_EAGAIN);
	fake_acknowledge(fep->flow);
	assert_int_equal(fi_cq_read(fep->cq, &entry, 1), 1);
	assert_int_equal(entry.flags, FI_SEND | FI_MSG);
}

static void send__levels_of_best_effort(void **state)
{
	struct fake_ep *fep = *state;
	struct iovec iov = {"data", 4};

	assert_int_equal(send_with(fep, &iov, FI_INJECT_COMPLETE), 0);
	assert_int_equal(send_with(fep, &iov, FI_TRANSMIT_COMPLETE | FI_MORE), 0);
	assert_int_equal(fep->engine->datagrams, 2);
	assert_int_equal(send_with(fep, &iov, FI_DELIVERY_COMPLETE), -FI_EBADFLAGS);
	assert_int_equal(send_with(fep, &iov, FI_FENCE), -FI_EBADFLAGS);
}

static void send__long_with_a_head(void **state)
{
	struct fake_ep *fep = *state;
	static char bytes[100000];
	struct iovec iov = {bytes, sizeof(bytes)};
	struct fi_gamma_msg msg = {
		.head = "head", .head_len = 4, .iov = &iov, .iov_count = 1, .port = 1};

	assert_int_equal(ops->send(fep->ep, &msg, 0), 0);
	assert_int_equal(fep->engine->send->envelope.length, sizeof(bytes) + 4);
	assert_int_equal(gamma_envelope_announced_len(&fep->engine->send->envelope), 4);
	assert_memory_equal(fep->engine->send->iov[0].iov_base, "head", 4);
}

static void announced__dropped_unless_received(void **state)
{
	struct fake_ep *fep = *state;
	uint64_t eager = gamma_settings.eager_size;

	gamma_settings.eager_size = 3;
	set(fep, 1, keep);
	fake_arrive_port(fep->flow, GAMMA_OP_ANNOUNCE, 0, gamma_envelope_port_tag(1, 0, 5), "long");
	assert_int_equal(ops->poll(fep->ep, 10), 1);
	gamma_settings.eager_size = eager;
	assert_int_equal(inner, -FI_EINVAL); /* nothing to keep */
	assert_true(gamma_list_empty(&gamma_message_state(fep->flow)->incoming));
}

static void poll_set__names_the_queue_whose_reader_runs_handlers(void **state)
{
	struct fake_ep *fep = *state;
	struct fi_cq_tagged_entry entry;
	struct fi_poll_attr attr = {0};
	struct fid_poll *poll;
	void *context;

	assert_int_equal(fi_poll_open(fep->fake->domain, &attr, &poll), 0);
	assert_int_equal(fi_poll_add(poll, &fep->cq->fid, 0), 0);
	set(fep, 1, note);
	arrive(fep->flow, 2, 0, "of no handler");
	assert_int_equal(fi_poll(poll, &context, 1), 0);
	arrive(fep->flow, 1, 0, "a");
	assert_int_equal(fi_poll(poll, &context, 1), 1);
	assert_string_equal(log_of, ""); /* it has a lock */
	assert_int_equal(fi_cq_read(fep->cq, &entry, 1), -FI_EAGAIN);
	assert_string_equal(log_of, "a");
	assert_int_equal(fi_poll_del(poll, &fep->cq->fid, 0), 0);
	assert_int_equal(fi_close(&poll->fid), 0);
}

static void wait__until_a_handler_has_run(void **state)
{
	struct fake_ep *fep = *state;

	set(fep, 1, note);
	assert_int_equal(ops->wait(fep->ep, 1), -FI_ETIMEDOUT);
	bring_next(fep, 1);
	assert_int_equal(ops->wait(fep->ep, -1), 0);
	assert_string_equal(log_of, "a");
}

static void close__frees_what_is_kept(void **state)
{
	struct fake_ep *fep = *state;

	set(fep, 1, keep);
	arrive(fep->flow, 1, 0, "stays"); /* the address sanitizer tells */
	assert_int_equal(ops->poll(fep->ep, 10), 1);
}

static void query__tells_what_ports_take(void **state)
{
	struct fake_ep *fep = *state;
	const size_t mtu = fep->engine->messages.local.limits.mtu;
	struct fi_gamma_port_info info = {.size = sizeof(info)}, other = {.size = 8};

	assert_int_equal(ops->query(fep->ep, 0, &info), 0);
	assert_int_equal(info.head_max, FI_GAMMA_HEAD_MAX);
	assert_int_equal(info.frame_max, mtu - GAMMA_HEADER_LEN);
	assert_int_equal(info.whole_max, gamma_settings.eager_size);
	assert_int_equal(ops->query(fep->ep, 0, &other), -FI_EINVAL);
	assert_int_equal(ops->query(fep->ep, 0, NULL), -FI_EINVAL);
}

static void query__of_best_effort_is_a_frame(void **state)
{
	struct fake_ep *fep = *state;
	struct fi_gamma_port_info info = {.size = sizeof(info)};

	assert_int_equal(ops->query(fep->ep, 0, &info), 0);
	assert_int_equal(info.whole_max, info.frame_max);
	assert_int_equal(info.frame_max,
			 fep->engine->messages.local.limits.mtu - GAMMA_DGRAM_HEADER_MAX);
}

static void bad_input(void **state)
{
	struct fake_ep *fep = *state;
	struct fi_gamma_port_attr attr = {.size = sizeof(attr), .handler = note};
	struct fi_gamma_port_info info = {.size = sizeof(info)};
	struct fi_gamma_msg msg = {.port = 65280};

	assert_int_equal(ops->set(fep->ep, 65280, &attr), -FI_EINVAL);
	attr.handler = NULL;
	assert_int_equal(ops->set(fep->ep, 1, &attr), -FI_EINVAL);
	attr = (struct fi_gamma_port_attr){.size = sizeof(attr) - 1, .handler = note};
	assert_int_equal(ops->set(fep->ep, 1, &attr), -FI_EINVAL); /* an older program */
	attr.size = sizeof(attr) + 8;
	assert_int_equal(ops->set(fep->ep, 1, &attr), -FI_EINVAL); /* a newer one */
	attr = (struct fi_gamma_port_attr){.size = sizeof(attr), .handler = note, .flags = 1};
	assert_int_equal(ops->set(fep->ep, 1, &attr), -FI_EINVAL);
	assert_int_equal(ops->send(fep->ep, &msg, 0), -FI_EINVAL);
	msg = (struct fi_gamma_msg){.head = "", .head_len = 65};
	assert_int_equal(ops->send(fep->ep, &msg, 0), -FI_EINVAL);
	msg.head_len = 0;
	assert_int_equal(ops->send(fep->ep, &msg, FI_MULTI_RECV), -FI_EBADFLAGS);
	assert_int_equal(ops->reply(fep->ep, &last, &msg, 0), -FI_EINVAL);
	assert_int_equal(ops->keep(fep->ep, &last, &kept), -FI_EINVAL);
	assert_int_equal(ops->release(fep->ep, &last), -FI_EINVAL);
	assert_int_equal(ops->query(fep->ep, 0, &info), 0);
	assert_int_equal(info.head_max, FI_GAMMA_HEAD_MAX);
	info.size = 1;
	assert_int_equal(ops->query(fep->ep, 0, &info), -FI_EINVAL);
	info.size = sizeof(info) + 8;
	assert_int_equal(ops->query(fep->ep, 0, &info), -FI_EINVAL);
}

#define PORT_TEST(name) cmocka_unit_test_setup_teardown(name, setup, fake_ep_teardown)

#define DATAGRAM_TEST(name) cmocka_unit_test_setup_teardown(name, setup_datagram, fake_ep_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		DATAGRAM_TEST(datagram__is_handled_and_answered),
		DATAGRAM_TEST(datagram__many_without_handler_are_lost),
		cmocka_unit_test(datagram__to_a_group),
		PORT_TEST(open__by_name),
		PORT_TEST(poll__runs_the_handler_with_all_that_was_sent),
		PORT_TEST(poll__in_the_order_of_sending_and_no_more_than_asked),
		PORT_TEST(poll__matches_no_receive),
		PORT_TEST(set__after_arrival_and_not_any_more),
		PORT_TEST(handler__may_not_poll_or_close_its_endpoint),
		PORT_TEST(reply__to_a_peer_not_in_the_address_vector),
		PORT_TEST(keep__until_release),
		PORT_TEST(demoted__is_fetched_and_others_wait),
		PORT_TEST(demoted__does_not_delay_other_senders),
		PORT_TEST(failed__messages_that_are_not_here_are_dropped),
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
		PORT_TEST(set__wakes_who_waits),
		PORT_TEST(lent__flow_gone_while_it_waits_for_its_turn),
		PORT_TEST(announced__received_where_the_handler_says),
		PORT_TEST(announced__with_its_head),
		PORT_TEST(announced__with_its_head_into_too_little_memory),
		PORT_TEST(announced__with_its_head_leaves_one_entry_less),
		PORT_TEST(send__injected_or_copied_is_complete_at_once),
		PORT_TEST(send__injected_and_not_sent_yet),
		PORT_TEST(send__levels_and_fence),
		PORT_TEST(send__delivered_is_complete_when_acknowledged),
		DATAGRAM_TEST(send__levels_of_best_effort),
		PORT_TEST(send__long_with_a_head),
		PORT_TEST(announced__dropped_unless_received),
		PORT_TEST(poll_set__names_the_queue_whose_reader_runs_handlers),
		PORT_TEST(wait__until_a_handler_has_run),
		PORT_TEST(close__frees_what_is_kept),
		PORT_TEST(query__tells_what_ports_take),
		DATAGRAM_TEST(query__of_best_effort_is_a_frame),
		PORT_TEST(bad_input),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
