// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of prov/gamma/src/submit.c, and of msg.c, tagged.c, rma.c and remote.c above it. */
#include "prov_fake_engine.h"

#include <stdlib.h>

static int contexts[4];
static char text[64] = "a message";

static ssize_t sendmsg_flags(struct fake_ep *fep, size_t len, uint64_t flags)
{
	struct iovec iov = {.iov_base = text, .iov_len = len};
	struct fi_msg msg = {.msg_iov = &iov, .iov_count = 1, .context = &contexts[0], .data = 9};

	return fi_sendmsg(fep->ep, &msg, flags);
}

static struct fi_cq_tagged_entry completed(struct fake_ep *fep, void *context)
{
	struct fi_cq_tagged_entry entry = {0};

	assert_int_equal(fi_cq_read(fep->cq, &entry, 1), 1);
	assert_ptr_equal(entry.op_context, context);
	return entry;
}

static void check_empty(struct fake_ep *fep)
{
	struct fi_cq_tagged_entry entry;

	assert_int_equal(fi_cq_read(fep->cq, &entry, 1), -FI_EAGAIN);
}

/* ---- short messages that the engine copies ---- */

static void send__copied_message_is_complete(void **state)
{
	struct fake_ep *fep = *state;
	struct fi_cq_tagged_entry entry;

	fep->engine->copied = GAMMA_COPIED_SENT;
	assert_int_equal(fi_tsenddata(fep->ep, text, 9, NULL, 55, 0, 77, &contexts[0]), 0);
	assert_int_equal(fep->engine->copies, 1);
	assert_true(fep->engine->may_delay);
	assert_int_equal(fep->engine->envelope.tag, 77);
	assert_int_equal(fep->engine->envelope.data, 55);
	assert_int_equal(fep->engine->envelope.flags, GAMMA_TAGGED | GAMMA_HAS_DATA);
	assert_memory_equal(fep->engine->bytes, text, 9);
	entry = completed(fep, &contexts[0]);
	assert_int_equal(entry.flags, FI_SEND | FI_TAGGED);
}

static void send__delayed_message_is_reported_after_progress(void **state)
{
	struct fake_ep *fep = *state;

	fep->engine->copied = GAMMA_COPIED_DELAYED;
	assert_int_equal(fi_send(fep->ep, text, 9, NULL, 0, &contexts[0]), 0);
	completed(fep, &contexts[0]);
	assert_true(fep->engine->progressed > 0);
}

static void send__completion_levels_need_an_operation(void **state)
{
	static const uint64_t levels[] = {FI_TRANSMIT_COMPLETE, FI_DELIVERY_COMPLETE,
					  FI_MATCH_COMPLETE, FI_FENCE};
	struct fake_ep *fep = *state;

	fep->engine->copied = GAMMA_COPIED_SENT;
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(sendmsg_flags(fep, 9, FI_COMPLETION | levels[i]), 0);
		assert_int_equal(fep->engine->copies, 0);
		assert_int_equal(fep->engine->sends, i + 1);
		assert_int_equal(fep->engine->send->level, i == 2   ? GAMMA_WHEN_MATCHED
							   : i == 3 ? GAMMA_WHEN_COPIED
								    : GAMMA_WHEN_ARRIVED);
		assert_int_equal(fep->engine->send->fence, i == 3);
	}
}

/* ---- messages with an operation of their own ---- */

static void send__completes_when_acknowledged(void **state)
{
	struct fake_ep *fep = *state;

	assert_int_equal(sendmsg_flags(fep, 9, FI_COMPLETION | FI_DELIVERY_COMPLETE), 0);
	check_empty(fep);
	assert_int_equal(fake_transmit(fep->flow), 1);
	check_empty(fep);
	fake_acknowledge(fep->flow);
	assert_int_equal(completed(fep, &contexts[0]).flags, FI_SEND | FI_MSG);
}

static void send__vector(void **state)
{
	struct fake_ep *fep = *state;
	struct iovec iov[GAMMA_IOV_LIMIT + 1];

	for (unsigned i = 0; i <= GAMMA_IOV_LIMIT; i++)
		iov[i] = (struct iovec){.iov_base = text + i, .iov_len = 1};
	fep->engine->copied = GAMMA_COPIED_SENT;
	assert_int_equal(fi_sendv(fep->ep, iov, NULL, GAMMA_IOV_LIMIT, 0, &contexts[0]), 0);
	assert_int_equal(fep->engine->envelope.length, GAMMA_IOV_LIMIT);
	assert_memory_equal(fep->engine->bytes, text, GAMMA_IOV_LIMIT);
	assert_int_equal(fi_sendv(fep->ep, iov, NULL, GAMMA_IOV_LIMIT + 1, 0, NULL), -FI_EINVAL);
	iov[0].iov_len = iov[1].iov_len = SIZE_MAX;
	assert_int_equal(fi_sendv(fep->ep, iov, NULL, 2, 0, NULL), -FI_EINVAL);
	iov[0].iov_len = SIZE_MAX;
	assert_int_equal(fi_sendv(fep->ep, iov, NULL, 1, 0, NULL), -FI_EINVAL);
}

static void send__engine_refuses(void **state)
{
	struct fake_ep *fep = *state;

	fep->engine->send_error = -FI_EACCES;
	assert_int_equal(fi_send(fep->ep, text, 9, NULL, 0, NULL), -FI_EACCES);
	fep->engine->send_error = -FI_EHOSTUNREACH;
	assert_int_equal(fi_inject(fep->ep, text, 9, 0), -FI_EHOSTUNREACH);
	assert_int_equal(gamma_ep_handle_of(fep->ep)->ep->tx_used, 0);
	check_empty(fep);
}

static void send__no_such_address(void **state)
{
	struct fake_ep *fep = *state;

	assert_int_equal(fi_send(fep->ep, text, 9, NULL, 1, NULL), -FI_EINVAL);
	assert_int_equal(fi_inject(fep->ep, text, 9, FI_ADDR_UNSPEC), -FI_EINVAL);
}

static void send__address_removed_and_inserted_again(void **state)
{
	struct fake_ep *fep = *state;
	struct gamma_addr addr = fake_addr(2, 200, 9);
	fi_addr_t index = 0;

	assert_int_equal(fi_send(fep->ep, text, 9, NULL, 0, NULL), 0);
	assert_ptr_equal(fep->engine->send->flow, fep->flow);
	assert_int_equal(fi_av_remove(fep->av, &index, 1, 0), 0);
	assert_int_equal(fi_send(fep->ep, text, 9, NULL, 0, NULL), -FI_EINVAL);
	assert_int_equal(fi_av_insert(fep->av, &addr, 1, &index, 0, NULL), 1);
	assert_int_equal(index, 0);
	assert_int_equal(fi_send(fep->ep, text, 9, NULL, 0, NULL), 0);
	assert_ptr_equal(fep->engine->send->flow, fake_flow(fep, &addr));
}

static void send__queue_is_full(void **state)
{
	struct fake_ep *fep = *state;
	struct fi_cq_tagged_entry entry;
	unsigned taken = 0, progressed, done = 0;

	while (sendmsg_flags(fep, 9, FI_COMPLETION | FI_DELIVERY_COMPLETE) == 0)
		taken++;
	assert_int_equal(taken, GAMMA_TX_SIZE);
	progressed = fep->engine->progressed;
	assert_int_equal(sendmsg_flags(fep, 9, 0), -FI_EAGAIN);
	assert_int_equal(fep->engine->progressed, progressed + 1);
	while (fake_transmit(fep->flow))
		fake_acknowledge(fep->flow);
	while (fi_cq_read(fep->cq, &entry, 1) == 1)
		done++;
	assert_true(done > 0);
	assert_int_equal(sendmsg_flags(fep, 9, 0), 0);
}

static void send__peer_dies(void **state)
{
	struct fake_ep *fep = *state;
	struct fi_cq_err_entry error = {0};

	assert_int_equal(sendmsg_flags(fep, 9, FI_COMPLETION | FI_DELIVERY_COMPLETE), 0);
	fake_fail(fep->flow, -FI_EHOSTUNREACH);
	assert_int_equal(fi_cq_readerr(fep->cq, &error, 0), 1);
	assert_int_equal(error.err, FI_EHOSTUNREACH);
	assert_ptr_equal(error.op_context, &contexts[0]);
	assert_int_equal(error.flags, FI_SEND | FI_MSG);
}

static void send__cancelled_before_it_leaves(void **state)
{
	struct fake_ep *fep = *state;
	struct fi_cq_err_entry error = {0};

	assert_int_equal(sendmsg_flags(fep, 9, FI_COMPLETION | FI_DELIVERY_COMPLETE), 0);
	assert_int_equal(fi_cancel(&fep->ep->fid, &contexts[0]), 0);
	assert_int_equal(fi_cq_readerr(fep->cq, &error, 0), 1);
	assert_int_equal(error.err, FI_ECANCELED);
	assert_int_equal(fake_transmit(fep->flow), 0);
}

/* ---- injecting ---- */

static void inject__to_a_shm_peer_needs_no_operation(void **state)
{
	struct fake_ep *fep = *state;

	fep->engine->shm = true;
	assert_int_equal(fi_inject(fep->ep, text, 9, 0), 0);
	/* The first message has looked the peer up. */
	assert_int_equal(fep->engine->shm_sends, 0);
	assert_int_equal(fi_tinjectdata(fep->ep, text, 9, 3, 0, 44), 0);
	assert_int_equal(fep->engine->shm_sends, 1);
	assert_int_equal(fep->engine->envelope.tag, 44);
	assert_int_equal(fep->engine->envelope.data, 3);
	check_empty(fep);
}

static void inject__buffer_may_be_reused_at_once(void **state)
{
	struct fake_ep *fep = *state;
	char own[9] = "injected";

	assert_int_equal(fi_inject(fep->ep, own, sizeof(own), 0), 0);
	assert_int_equal(fep->engine->sends, 1);
	if (fep->engine->send->iov_count)
		assert_ptr_not_equal(fep->engine->send->iov[0].iov_base, own);
	check_empty(fep);
	fake_transmit(fep->flow);
	fake_acknowledge(fep->flow);
	check_empty(fep);
}

static void inject__too_long(void **state)
{
	struct fake_ep *fep = *state;
	size_t len = gamma_settings.inject_size + 1;
	char *buf = calloc(1, len);

	assert_non_null(buf);
	assert_int_equal(fi_inject(fep->ep, buf, len, 0), -FI_EMSGSIZE);
	free(buf);
}

static void inject__silent_but_inject_flag_completes(void **state)
{
	struct fake_ep *fep = *state;

	fep->engine->copied = GAMMA_COPIED_SENT;
	assert_int_equal(fi_injectdata(fep->ep, text, 9, 5, 0), 0);
	check_empty(fep);
	assert_int_equal(sendmsg_flags(fep, 9, FI_INJECT | FI_COMPLETION), 0);
	completed(fep, &contexts[0]);
}

/* ---- flags, states, bad arguments ---- */

static void send__selective_completion(void **state)
{
	struct fake *fake = *state;
	struct fake_ep *fep = fake_ep_open(fake, FI_EP_RDM, 0, FI_SELECTIVE_COMPLETION);

	fep->engine->copied = GAMMA_COPIED_SENT;
	assert_int_equal(sendmsg_flags(fep, 9, 0), 0);
	check_empty(fep);
	assert_int_equal(sendmsg_flags(fep, 9, FI_COMPLETION), 0);
	completed(fep, &contexts[0]);
	fake_ep_close(fep);
}

static void send__unknown_flags(void **state)
{
	struct fake_ep *fep = *state;

	assert_int_equal(sendmsg_flags(fep, 9, FI_PEEK), -FI_EBADFLAGS);
	assert_int_equal(sendmsg_flags(fep, 9, FI_FENCE | FI_MATCH_COMPLETE), -FI_EBADFLAGS);
}

static void submit__endpoint_not_enabled(void **state)
{
	struct fake *fake = *state;
	struct fi_info *info = fake_info(FI_EP_RDM, FI_RMA);
	struct fid_ep *ep;

	assert_int_equal(fi_endpoint(fake->domain, info, &ep, NULL), 0);
	assert_int_equal(fi_send(ep, text, 9, NULL, 0, NULL), -FI_EOPBADSTATE);
	assert_int_equal(fi_inject(ep, text, 9, 0), -FI_EOPBADSTATE);
	assert_int_equal(fi_recv(ep, text, 9, NULL, FI_ADDR_UNSPEC, NULL), -FI_EOPBADSTATE);
	assert_int_equal(fi_read(ep, text, 9, NULL, 0, 0, 0, NULL), -FI_EOPBADSTATE);
	assert_int_equal(fi_close(&ep->fid), 0);
	fi_freeinfo(info);
}

static void recv__bad_arguments(void **state)
{
	struct fake_ep *fep = *state;
	struct iovec iov[2] = {{.iov_base = text, .iov_len = SIZE_MAX},
			       {.iov_base = text, .iov_len = 2}};
	struct fi_msg msg = {.msg_iov = iov, .iov_count = 2, .addr = FI_ADDR_UNSPEC};

	assert_int_equal(fi_recvv(fep->ep, iov, NULL, 2, FI_ADDR_UNSPEC, NULL), -FI_EINVAL);
	assert_int_equal(fi_recvv(fep->ep, iov, NULL, GAMMA_IOV_LIMIT + 1, FI_ADDR_UNSPEC, NULL),
			 -FI_EINVAL);
	iov[0].iov_len = 2;
	assert_int_equal(fi_recvmsg(fep->ep, &msg, FI_MULTI_RECV), -FI_EINVAL);
	assert_int_equal(fi_recvmsg(fep->ep, &msg, FI_FENCE), -FI_EBADFLAGS);
}

static void recv__queue_is_full(void **state)
{
	struct fake_ep *fep = *state;
	unsigned taken = 0, progressed;

	while (fi_recv(fep->ep, text, 9, NULL, FI_ADDR_UNSPEC, NULL) == 0)
		taken++;
	assert_int_equal(taken, GAMMA_RX_SIZE);
	progressed = fep->engine->progressed;
	assert_int_equal(fi_recv(fep->ep, text, 9, NULL, FI_ADDR_UNSPEC, NULL), -FI_EAGAIN);
	assert_int_equal(fep->engine->progressed, progressed + 1);
}

/* ---- remote memory ---- */

static void rma__operation_describes_both_sides(void **state)
{
	struct fake *fake = *state;
	struct fake_ep *fep = fake_ep_open(fake, FI_EP_RDM, FI_RMA | FI_ATOMIC, 0);

	assert_int_equal(fi_write(fep->ep, text, 9, NULL, 0, 0x1000, 42, &contexts[0]), 0);
	assert_int_equal(fep->engine->rma->op, GAMMA_OP_WRITE);
	assert_int_equal(fep->engine->rma->segment_count, 1);
	assert_int_equal(fep->engine->rma->segments[0].address, 0x1000);
	assert_int_equal(fep->engine->rma->segments[0].key, 42);
	assert_int_equal(fep->engine->rma->segments[0].length, 9);
	assert_int_equal(fi_read(fep->ep, text, 9, NULL, 0, 0x1000, 42, &contexts[0]), 0);
	assert_int_equal(fep->engine->rma->op, GAMMA_OP_READ);
	assert_int_equal(fep->engine->rma->result_count, 1);
	fake_ep_close(fep);
}

static void rma__bad_arguments(void **state)
{
	struct fake *fake = *state;
	struct fake_ep *fep = fake_ep_open(fake, FI_EP_RDM, FI_RMA, 0);
	struct iovec iov = {.iov_base = text, .iov_len = 9};
	struct fi_rma_iov target = {.addr = 0, .len = 8, .key = 1};
	struct fi_msg_rma msg = {
		.msg_iov = &iov, .iov_count = 1, .rma_iov = &target, .rma_iov_count = 1};
	char *big = calloc(1, gamma_settings.inject_size + 1);

	assert_int_equal(fi_writemsg(fep->ep, &msg, 0), -FI_EINVAL);
	msg.rma_iov_count = 0;
	assert_int_equal(fi_writemsg(fep->ep, &msg, 0), -FI_EINVAL);
	assert_int_equal(fi_write(fep->ep, text, 9, NULL, 7, 0, 0, NULL), -FI_EINVAL);
	assert_int_equal(fi_inject_write(fep->ep, big, gamma_settings.inject_size + 1, 0, 0, 0),
			 -FI_EMSGSIZE);
	free(big);
	fep->engine->send_error = -FI_EACCES;
	assert_int_equal(fi_write(fep->ep, text, 9, NULL, 0, 0, 0, NULL), -FI_EACCES);
	assert_int_equal(gamma_ep_handle_of(fep->ep)->ep->tx_used, 0);
	fake_ep_close(fep);
}

/* ---- datagrams ---- */

static void datagram__is_complete_when_sent(void **state)
{
	struct fake_ep *fep = *state;

	assert_int_equal(fi_senddata(fep->ep, text, 9, NULL, 8, 0, &contexts[0]), 0);
	assert_int_equal(fep->engine->datagrams, 1);
	assert_int_equal(fep->engine->envelope.data, 8);
	completed(fep, &contexts[0]);
	assert_int_equal(fi_send(fep->ep, text, 9, NULL, 3, NULL), -FI_EINVAL);
	fep->engine->send_error = -FI_EAGAIN;
	assert_int_equal(fi_send(fep->ep, text, 9, NULL, 0, NULL), -FI_EAGAIN);
	check_empty(fep);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fake_ep_setup, fake_ep_teardown)
#define BARE(name) cmocka_unit_test_setup_teardown(name, fake_setup, fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(send__copied_message_is_complete),
		TEST(send__delayed_message_is_reported_after_progress),
		TEST(send__completion_levels_need_an_operation),
		TEST(send__completes_when_acknowledged),
		TEST(send__vector),
		TEST(send__engine_refuses),
		TEST(send__no_such_address),
		TEST(send__address_removed_and_inserted_again),
		TEST(send__queue_is_full),
		TEST(send__peer_dies),
		TEST(send__cancelled_before_it_leaves),
		TEST(inject__to_a_shm_peer_needs_no_operation),
		TEST(inject__buffer_may_be_reused_at_once),
		TEST(inject__too_long),
		TEST(inject__silent_but_inject_flag_completes),
		BARE(send__selective_completion),
		TEST(send__unknown_flags),
		BARE(submit__endpoint_not_enabled),
		TEST(recv__bad_arguments),
		TEST(recv__queue_is_full),
		BARE(rma__operation_describes_both_sides),
		BARE(rma__bad_arguments),
		cmocka_unit_test_setup_teardown(datagram__is_complete_when_sent,
						fake_ep_setup_dgram, fake_ep_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
