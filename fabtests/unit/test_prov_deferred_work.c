// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of prov/gamma/src/deferred_work.c: operations that wait for a counter. */
#include "prov_fake_engine.h"

#include <rdma/fi_trigger.h>
#include <stdlib.h>

/* One queued request with all that it refers to; it must stay until it has ended. */
struct request {
	struct fi_deferred_work work;
	struct fi_op_msg msg;
	struct fi_op_tagged tagged;
	struct fi_op_rma rma;
	struct fi_op_atomic atomic;
	struct fi_op_cntr cntr;
	struct iovec iov;
	struct fi_rma_iov target;
	struct fi_ioc ioc;
	struct fi_rma_ioc atomic_target;
	char byte;
	uint64_t operand;
};

struct fixture {
	struct fake_ep *fep;
	struct fid_cntr *trigger, *completion;
	struct request requests[4];
};

static struct fid_cntr *open_cntr(struct fake *fake)
{
	struct fi_cntr_attr attr = {.events = FI_CNTR_EVENTS_COMP};
	struct fid_cntr *cntr;

	assert_int_equal(fi_cntr_open(fake->domain, &attr, &cntr, NULL), 0);
	return cntr;
}

static int setup(void **state)
{
	struct fake *fake = fake_open(FI_VERSION(1, 17), FI_THREAD_SAFE, FI_PROGRESS_MANUAL);
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->fep = fake_ep_open(fake, FI_EP_RDM, FI_TRIGGER | FI_RMA | FI_ATOMIC, 0);
	f->fep->engine->copied = GAMMA_COPIED_NOT;
	f->trigger = open_cntr(fake);
	f->completion = open_cntr(fake);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	struct fake *fake = f->fep->fake;

	assert_int_equal(fi_control(&fake->domain->fid, FI_FLUSH_WORK, NULL), 0);
	fake_ep_close(f->fep);
	assert_int_equal(fi_close(&f->trigger->fid), 0);
	assert_int_equal(fi_close(&f->completion->fid), 0);
	fake_close(fake);
	free(f);
	return 0;
}

static int queue(struct fixture *f, struct request *r)
{
	return fi_control(&f->fep->fake->domain->fid, FI_QUEUE_WORK, &r->work);
}

/* A send of one byte, its value, at that threshold. */
static struct request *fill_send(struct fixture *f, unsigned i, char byte, size_t threshold)
{
	struct request *r = &f->requests[i];

	r->byte = byte;
	r->iov = (struct iovec){.iov_base = &r->byte, .iov_len = 1};
	r->msg.ep = f->fep->ep;
	r->msg.msg.msg_iov = &r->iov;
	r->msg.msg.iov_count = 1;
	r->work.threshold = threshold;
	r->work.triggering_cntr = f->trigger;
	r->work.completion_cntr = f->completion;
	r->work.op_type = FI_OP_SEND;
	r->work.op.msg = &r->msg;
	return r;
}

static char sent_byte(struct fixture *f)
{
	char byte = 0;

	assert_non_null(f->fep->engine->send);
	gamma_iov_read(f->fep->engine->send->iov, f->fep->engine->send->iov_count, 0,
		       (uint8_t *) &byte, 1);
	return byte;
}

static void add(struct fixture *f, uint64_t value)
{
	assert_int_equal(fi_cntr_add(f->trigger, value), 0);
}

/* ---- thresholds ---- */

static void queue__waits_for_its_threshold(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(queue(f, fill_send(f, 0, 'a', 2)), 0);
	add(f, 1);
	assert_int_equal(f->fep->engine->sends, 0);
	add(f, 1);
	assert_int_equal(f->fep->engine->sends, 1);
	assert_int_equal(sent_byte(f), 'a');
}

static void queue__threshold_reached_already(void **state)
{
	struct fixture *f = *state;

	add(f, 5);
	assert_int_equal(queue(f, fill_send(f, 0, 'a', 5)), 0);
	assert_int_equal(f->fep->engine->sends, 1);
}

static void queue__errors_count_as_well(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(queue(f, fill_send(f, 0, 'a', 2)), 0);
	add(f, 1);
	assert_int_equal(fi_cntr_adderr(f->trigger, 1), 0);
	assert_int_equal(f->fep->engine->sends, 1);
}

static char order[8];
static unsigned order_len;

static void note_order(struct fixture *f)
{
	if (f->fep->engine->sends > order_len) {
		order[order_len] = sent_byte(f);
		order_len = f->fep->engine->sends;
	}
}

static void queue__order_of_thresholds(void **state)
{
	struct fixture *f = *state;

	order_len = 0;
	assert_int_equal(queue(f, fill_send(f, 0, 'c', 3)), 0);
	assert_int_equal(queue(f, fill_send(f, 1, 'a', 1)), 0);
	assert_int_equal(queue(f, fill_send(f, 2, 'b', 2)), 0);
	for (int i = 0; i < 3; i++) {
		add(f, 1);
		note_order(f);
	}
	assert_memory_equal(order, "abc", 3);
}

static void queue__same_threshold_in_order_of_submission(void **state)
{
	struct fixture *f = *state;
	struct gamma_list *pos;
	char bytes[4] = {0};
	unsigned count = 0;

	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(queue(f, fill_send(f, i, (char) ('a' + i), 1)), 0);
	add(f, 1);
	assert_int_equal(f->fep->engine->sends, 3);
	gamma_list_for_each (pos, &gamma_ep_handle_of(f->fep->ep)->ep->sends) {
		const struct gamma_tx *tx = gamma_list_entry(pos, struct gamma_tx, entry);

		gamma_iov_read(tx->send.iov, tx->send.iov_count, 0, (uint8_t *) &bytes[count++], 1);
	}
	assert_string_equal(bytes, "abc");
}

/* ---- completion ---- */

static void completion__counts_and_is_no_queue_entry(void **state)
{
	struct fixture *f = *state;
	struct fi_cq_tagged_entry entry;

	assert_int_equal(queue(f, fill_send(f, 0, 'a', 1)), 0);
	add(f, 1);
	fake_transmit(f->fep->flow);
	fake_acknowledge(f->fep->flow);
	assert_int_equal(fi_cntr_read(f->completion), 1);
	assert_int_equal(fi_cq_read(f->fep->cq, &entry, 1), -FI_EAGAIN);
}

static void completion__queue_entry_on_request(void **state)
{
	struct fixture *f = *state;
	struct fi_cq_tagged_entry entry;
	struct request *r = fill_send(f, 0, 'a', 1);

	r->msg.flags = FI_COMPLETION;
	assert_int_equal(queue(f, r), 0);
	add(f, 1);
	fake_transmit(f->fep->flow);
	fake_acknowledge(f->fep->flow);
	assert_int_equal(fi_cntr_read(f->completion), 1);
	assert_int_equal(fi_cq_read(f->fep->cq, &entry, 1), 1);
}

static void completion__error_counts_as_error(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(queue(f, fill_send(f, 0, 'a', 1)), 0);
	f->fep->engine->send_error = -FI_EHOSTUNREACH;
	add(f, 1);
	assert_int_equal(fi_cntr_read(f->completion), 0);
	assert_int_equal(fi_cntr_readerr(f->completion), 1);
}

static void retry__after_progress_and_in_order(void **state)
{
	struct fixture *f = *state;
	struct fi_cq_tagged_entry entry;

	f->fep->engine->send_error = -FI_EAGAIN;
	assert_int_equal(queue(f, fill_send(f, 0, 'a', 1)), 0);
	assert_int_equal(queue(f, fill_send(f, 1, 'b', 1)), 0);
	add(f, 1);
	assert_int_equal(f->fep->engine->sends, 0);
	f->fep->engine->send_error = 0;
	assert_int_equal(fi_cq_read(f->fep->cq, &entry, 1), -FI_EAGAIN);
	assert_int_equal(f->fep->engine->sends, 2);
	assert_int_equal(sent_byte(f), 'b');
}

/* ---- kinds of operations ---- */

static void queue__receive(void **state)
{
	struct fixture *f = *state;
	struct request *r = fill_send(f, 0, 0, 1);

	r->msg.msg.addr = FI_ADDR_UNSPEC;
	r->work.op_type = FI_OP_RECV;
	assert_int_equal(queue(f, r), 0);
	fake_arrive(f->fep->flow, UINT64_MAX, "x");
	assert_int_equal(r->byte, 0);
	add(f, 1);
	assert_int_equal(r->byte, 'x');
	assert_int_equal(fi_cntr_read(f->completion), 1);
}

static void queue__tagged(void **state)
{
	struct fixture *f = *state;
	struct request *r = fill_send(f, 0, 'a', 1);

	r->tagged.ep = f->fep->ep;
	r->tagged.msg.msg_iov = &r->iov;
	r->tagged.msg.iov_count = 1;
	r->tagged.msg.tag = 9;
	r->work.op_type = FI_OP_TSEND;
	r->work.op.tagged = &r->tagged;
	assert_int_equal(queue(f, r), 0);
	add(f, 1);
	assert_int_equal(f->fep->engine->send->envelope.tag, 9);
	f->requests[1] = *r;
	r = &f->requests[1];
	r->iov.iov_base = &r->byte;
	r->tagged.msg.msg_iov = &r->iov;
	r->tagged.msg.addr = FI_ADDR_UNSPEC;
	r->work.op_type = FI_OP_TRECV;
	r->work.op.tagged = &r->tagged;
	assert_int_equal(queue(f, r), 0);
	fake_arrive(f->fep->flow, 9, "t");
	assert_int_equal(r->byte, 't');
}

static struct request *fill_rma(struct fixture *f, unsigned i, enum fi_op_type type)
{
	struct request *r = fill_send(f, i, 'a', 1);

	r->target = (struct fi_rma_iov){.addr = 0x100, .len = 1, .key = 3};
	r->rma.ep = f->fep->ep;
	r->rma.msg.msg_iov = &r->iov;
	r->rma.msg.iov_count = 1;
	r->rma.msg.rma_iov = &r->target;
	r->rma.msg.rma_iov_count = 1;
	r->work.op_type = type;
	r->work.op.rma = &r->rma;
	return r;
}

static void queue__remote_memory(void **state)
{
	struct fixture *f = *state;
	struct request *r;

	assert_int_equal(queue(f, fill_rma(f, 0, FI_OP_WRITE)), 0);
	add(f, 1);
	assert_int_equal(f->fep->engine->rma->op, GAMMA_OP_WRITE);
	assert_int_equal(f->fep->engine->rma->segments[0].key, 3);
	assert_int_equal(queue(f, fill_rma(f, 1, FI_OP_READ)), 0);
	assert_int_equal(f->fep->engine->rma->op, GAMMA_OP_READ);
	r = fill_send(f, 2, 'a', 1);
	r->ioc = (struct fi_ioc){.addr = &r->operand, .count = 1};
	r->atomic_target = (struct fi_rma_ioc){.addr = 0x100, .count = 1, .key = 3};
	r->atomic.ep = f->fep->ep;
	r->atomic.msg.msg_iov = &r->ioc;
	r->atomic.msg.iov_count = 1;
	r->atomic.msg.rma_iov = &r->atomic_target;
	r->atomic.msg.rma_iov_count = 1;
	r->atomic.msg.datatype = FI_UINT64;
	r->atomic.msg.op = FI_SUM;
	r->work.op_type = FI_OP_ATOMIC;
	r->work.op.atomic = &r->atomic;
	assert_int_equal(queue(f, r), 0);
	assert_int_equal(f->fep->engine->rma->op, GAMMA_OP_ATOMIC);
}

static void queue__counters(void **state)
{
	struct fixture *f = *state;
	struct request *r = fill_send(f, 0, 0, 1);

	r->cntr = (struct fi_op_cntr){.cntr = f->completion, .value = 7};
	r->work.op_type = FI_OP_CNTR_SET;
	r->work.op.cntr = &r->cntr;
	assert_int_equal(queue(f, r), -FI_EINVAL); /* it has no completion to count */
	r->work.completion_cntr = NULL;
	assert_int_equal(queue(f, r), 0);
	f->requests[1] = *r;
	f->requests[1].work.op_type = FI_OP_CNTR_ADD;
	f->requests[1].work.op.cntr = &f->requests[1].cntr;
	f->requests[1].cntr.cntr = f->completion;
	assert_int_equal(queue(f, &f->requests[1]), 0);
	add(f, 1);
	assert_int_equal(fi_cntr_read(f->completion), 14);
}

static void queue__counter_sets_off_another(void **state)
{
	struct fixture *f = *state;
	struct request *r = fill_send(f, 0, 0, 1);

	r->cntr = (struct fi_op_cntr){.cntr = f->trigger, .value = 9};
	r->work.completion_cntr = NULL;
	r->work.op_type = FI_OP_CNTR_ADD;
	r->work.op.cntr = &r->cntr;
	assert_int_equal(queue(f, fill_send(f, 1, 'z', 10)), 0);
	assert_int_equal(queue(f, r), 0);
	add(f, 1);
	assert_int_equal(fi_cntr_read(f->trigger), 10);
	assert_int_equal(f->fep->engine->sends, 1);
}

static void queue__bad_requests(void **state)
{
	struct fixture *f = *state;
	struct request *r = fill_send(f, 0, 'a', 1);

	assert_int_equal(fi_control(&f->fep->fake->domain->fid, FI_QUEUE_WORK, NULL), -FI_EINVAL);
	r->work.triggering_cntr = NULL;
	assert_int_equal(queue(f, r), -FI_EINVAL);
	r->work.triggering_cntr = f->trigger;
	r->work.op_type = (enum fi_op_type) 99;
	assert_int_equal(queue(f, r), -FI_ENOSYS);
	r->work.op_type = FI_OP_SEND;
	r->msg.flags = FI_INJECT;
	assert_int_equal(queue(f, r), -FI_EINVAL);
	r->msg.flags = 0;
	r->msg.ep = NULL;
	assert_int_equal(queue(f, r), -FI_EINVAL);
	r->work.op.msg = NULL;
	assert_int_equal(queue(f, r), -FI_EINVAL);
}

/* ---- taking back ---- */

static void cancel__one_request(void **state)
{
	struct fixture *f = *state;
	struct fid *domain = &f->fep->fake->domain->fid;
	struct request *a = fill_send(f, 0, 'a', 1), *b = fill_send(f, 1, 'b', 1);

	assert_int_equal(queue(f, a), 0);
	assert_int_equal(queue(f, b), 0);
	assert_int_equal(fi_control(domain, FI_CANCEL_WORK, NULL), -FI_EINVAL);
	assert_int_equal(fi_control(domain, FI_CANCEL_WORK, &a->work), 0);
	assert_int_equal(fi_control(domain, FI_CANCEL_WORK, &a->work), -FI_ENOENT);
	add(f, 1);
	assert_int_equal(f->fep->engine->sends, 1);
	assert_int_equal(sent_byte(f), 'b');
	/* The endpoint keeps it until its completion: too late. */
	assert_int_equal(fi_control(domain, FI_CANCEL_WORK, &b->work), -FI_ENOENT);
}

static void flush__all_requests(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(queue(f, fill_send(f, 0, 'a', 1)), 0);
	assert_int_equal(queue(f, fill_send(f, 1, 'b', 2)), 0);
	assert_int_equal(fi_close(&f->trigger->fid), -FI_EBUSY);
	assert_int_equal(fi_control(&f->fep->fake->domain->fid, FI_FLUSH_WORK, NULL), 0);
	add(f, 2);
	assert_int_equal(f->fep->engine->sends, 0);
}

/* ---- triggered operations ---- */

static struct fi_triggered_context triggered(struct fixture *f, size_t threshold)
{
	return (struct fi_triggered_context){
		.event_type = FI_TRIGGER_THRESHOLD,
		.trigger.threshold = {.cntr = f->trigger, .threshold = threshold},
	};
}

static ssize_t send_triggered(struct fixture *f, struct fi_triggered_context *context)
{
	struct iovec iov = {.iov_base = "t", .iov_len = 1};
	struct fi_msg msg = {.msg_iov = &iov, .iov_count = 1, .context = context};

	return fi_sendmsg(f->fep->ep, &msg, FI_TRIGGER | FI_COMPLETION);
}

static void trigger__send(void **state)
{
	struct fixture *f = *state;
	struct fi_triggered_context context = triggered(f, 1);
	struct fi_cq_tagged_entry entry;

	assert_int_equal(send_triggered(f, &context), 0);
	assert_int_equal(f->fep->engine->sends, 0);
	add(f, 1);
	assert_int_equal(f->fep->engine->sends, 1);
	fake_transmit(f->fep->flow);
	fake_acknowledge(f->fep->flow);
	assert_int_equal(fi_cq_read(f->fep->cq, &entry, 1), 1);
	assert_ptr_equal(entry.op_context, &context);
}

static void trigger__cancelled(void **state)
{
	struct fixture *f = *state;
	struct fi_triggered_context context = triggered(f, 1);
	struct fi_cq_err_entry error = {0};

	assert_int_equal(send_triggered(f, &context), 0);
	assert_int_equal(fi_cancel(&f->fep->ep->fid, &context), 0);
	assert_int_equal(fi_cq_readerr(f->fep->cq, &error, 0), 1);
	assert_int_equal(error.err, FI_ECANCELED);
	assert_ptr_equal(error.op_context, &context);
	add(f, 1);
	assert_int_equal(f->fep->engine->sends, 0);
}

static void trigger__bad_contexts(void **state)
{
	struct fixture *f = *state;
	struct fi_triggered_context context = triggered(f, 1);

	assert_int_equal(send_triggered(f, NULL), -FI_EINVAL);
	context.event_type = (enum fi_trigger_event) 99;
	assert_int_equal(send_triggered(f, &context), -FI_ENOSYS);
	context = triggered(f, 1);
	context.trigger.threshold.cntr = NULL;
	assert_int_equal(send_triggered(f, &context), -FI_EINVAL);
}

static void trigger__fails_when_it_is_due(void **state)
{
	struct fixture *f = *state;
	struct fi_triggered_context context = triggered(f, 1);
	struct fi_cq_err_entry error = {0};

	f->fep->engine->send_error = -FI_EHOSTUNREACH;
	assert_int_equal(send_triggered(f, &context), 0);
	add(f, 1);
	assert_int_equal(fi_cq_readerr(f->fep->cq, &error, 0), 1);
	assert_int_equal(error.err, FI_EHOSTUNREACH);
}

static void close__endpoint_with_waiting_operations(void **state)
{
	struct fixture *f = *state;
	struct fake_ep *other = fake_ep_open(f->fep->fake, FI_EP_RDM, FI_TRIGGER, 0);
	struct request *r = fill_send(f, 0, 'a', 1);

	r->msg.ep = other->ep;
	assert_int_equal(queue(f, r), 0);
	fake_ep_close(other);
	add(f, 1);
	assert_int_equal(fi_cntr_read(f->completion), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(queue__waits_for_its_threshold),
		TEST(queue__threshold_reached_already),
		TEST(queue__errors_count_as_well),
		TEST(queue__order_of_thresholds),
		TEST(queue__same_threshold_in_order_of_submission),
		TEST(completion__counts_and_is_no_queue_entry),
		TEST(completion__queue_entry_on_request),
		TEST(completion__error_counts_as_error),
		TEST(retry__after_progress_and_in_order),
		TEST(queue__receive),
		TEST(queue__tagged),
		TEST(queue__remote_memory),
		TEST(queue__counters),
		TEST(queue__counter_sets_off_another),
		TEST(queue__bad_requests),
		TEST(cancel__one_request),
		TEST(flush__all_requests),
		TEST(trigger__send),
		TEST(trigger__cancelled),
		TEST(trigger__bad_contexts),
		TEST(trigger__fails_when_it_is_due),
		TEST(close__endpoint_with_waiting_operations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
