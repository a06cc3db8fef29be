// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of prov/gamma/src/active_port.c. */
#include "prov_port_fixture.h"

#include <pthread.h>
#include <stdlib.h>

static void keep(struct fid_ep *ep, const struct fi_gamma_arrival *arrival, void *context)
{
	(void) context;
	last = *arrival;
	inner = ops->keep(ep, arrival, &kept);
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
	arrive(fep->flow, 1, 0, "stays"); /* the address sanitizer checks */
	assert_int_equal(ops->poll(fep->ep, 10), 1);
}

static void query__returns_what_ports_take(void **state)
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
		PORT_TEST(query__returns_what_ports_take),
		DATAGRAM_TEST(query__of_best_effort_is_a_frame),
		PORT_TEST(bad_input),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
