// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of prov/gamma/src/match.c and multi_recv.c, with completion.c above them. */
#include "prov_fake_engine.h"
#include "../deprecated.h"

#include <stdlib.h>

static char buffers[8][64];
static int contexts[8];

static void post(struct fake_ep *fep, unsigned i, size_t len)
{
	assert_int_equal(fi_recv(fep->ep, buffers[i], len, NULL, FI_ADDR_UNSPEC, &contexts[i]), 0);
}

static void post_tagged(struct fake_ep *fep, unsigned i, uint64_t tag, uint64_t ignore)
{
	assert_int_equal(
		fi_trecv(fep->ep, buffers[i], 64, NULL, FI_ADDR_UNSPEC, tag, ignore, &contexts[i]),
		0);
}

static void post_from(struct fake_ep *fep, unsigned i, fi_addr_t source)
{
	assert_int_equal(fi_recv(fep->ep, buffers[i], 64, NULL, source, &contexts[i]), 0);
}

static ssize_t call_tagged(struct fake_ep *fep, unsigned i, uint64_t tag, uint64_t flags)
{
	struct iovec iov = {.iov_base = buffers[i], .iov_len = 64};
	struct fi_msg_tagged msg = {
		.msg_iov = &iov,
		.iov_count = 1,
		.addr = FI_ADDR_UNSPEC,
		.tag = tag,
		.context = &contexts[i],
	};

	return fi_trecvmsg(fep->ep, &msg, flags);
}

static struct fi_cq_tagged_entry completed(struct fake_ep *fep, unsigned i)
{
	struct fi_cq_tagged_entry entry = {0};

	assert_int_equal(fi_cq_read(fep->cq, &entry, 1), 1);
	assert_ptr_equal(entry.op_context, &contexts[i]);
	return entry;
}

static struct fi_cq_err_entry failed(struct fake_ep *fep, unsigned i, int err)
{
	struct fi_cq_err_entry entry = {0};

	assert_int_equal(fi_cq_readerr(fep->cq, &entry, 0), 1);
	assert_ptr_equal(entry.op_context, &contexts[i]);
	assert_int_equal(entry.err, err);
	return entry;
}

static void check_empty(struct fake_ep *fep)
{
	struct fi_cq_tagged_entry entry;

	assert_int_equal(fi_cq_read(fep->cq, &entry, 1), -FI_EAGAIN);
}

static struct gamma_flow *second_peer(struct fake_ep *fep, fi_addr_t *index)
{
	struct gamma_addr addr = fake_addr(2, 200, 9);

	assert_int_equal(fi_av_insert(fep->av, &addr, 1, index, 0, NULL), 1);
	return fake_flow(fep, &addr);
}

/* ---- order ---- */

static void match__posted_receives_in_order(void **state)
{
	struct fake_ep *fep = *state;
	struct fi_cq_tagged_entry entry;

	post(fep, 0, 64);
	post(fep, 1, 64);
	fake_arrive(fep->flow, UINT64_MAX, "first");
	fake_arrive(fep->flow, UINT64_MAX, "second");
	entry = completed(fep, 0);
	assert_int_equal(entry.len, 5);
	assert_int_equal(entry.flags, FI_RECV | FI_MSG);
	assert_memory_equal(buffers[0], "first", 5);
	completed(fep, 1);
	assert_memory_equal(buffers[1], "second", 6);
	check_empty(fep);
}

static void match__unexpected_messages_in_order(void **state)
{
	struct fake_ep *fep = *state;

	fake_arrive(fep->flow, UINT64_MAX, "first");
	fake_arrive(fep->flow, UINT64_MAX, "second");
	check_empty(fep);
	post(fep, 0, 64);
	post(fep, 1, 64);
	completed(fep, 0);
	assert_memory_equal(buffers[0], "first", 5);
	completed(fep, 1);
	assert_memory_equal(buffers[1], "second", 6);
}

static void match__tagged_and_untagged_are_apart(void **state)
{
	struct fake_ep *fep = *state;

	post(fep, 0, 64);
	post_tagged(fep, 1, 0, UINT64_MAX);
	fake_arrive(fep->flow, 77, "tagged");
	assert_int_equal(completed(fep, 1).tag, 77);
	fake_arrive(fep->flow, UINT64_MAX, "untagged");
	completed(fep, 0);
}

static void match__ignore_bits(void **state)
{
	struct fake_ep *fep = *state;

	post_tagged(fep, 0, 0x10, 0);
	post_tagged(fep, 1, 0x20, 0x0f);
	fake_arrive(fep->flow, 0x2a, "low bits are ignored");
	completed(fep, 1);
	fake_arrive(fep->flow, 0x11, "no receive fits");
	check_empty(fep);
	post_tagged(fep, 2, 0x01, 0xf0);
	completed(fep, 2);
	fake_arrive(fep->flow, 0x10, "exact");
	completed(fep, 0);
}

static void match__data_and_source(void **state)
{
	struct fake_ep *fep = *state;
	struct fi_cq_tagged_entry entry;
	fi_addr_t source;

	post(fep, 0, 64);
	fake_arrive_data(fep->flow, "data", 4711);
	assert_int_equal(fi_cq_readfrom(fep->cq, &entry, 1, &source), 1);
	assert_int_equal(entry.flags, FI_RECV | FI_MSG | FI_REMOTE_CQ_DATA);
	assert_int_equal(entry.data, 4711);
	assert_int_equal(source, 0);
}

/* ---- directed receives ---- */

static void match__directed_receive_waits_for_its_source(void **state)
{
	struct fake_ep *fep = *state;
	fi_addr_t second;
	struct gamma_flow *flow = second_peer(fep, &second);

	post_from(fep, 0, second);
	assert_int_equal(fake_expected(flow), 1);
	fake_arrive(fep->flow, UINT64_MAX, "of another peer");
	check_empty(fep);
	fake_arrive(flow, UINT64_MAX, "of the right one");
	completed(fep, 0);
	assert_int_equal(fake_expected(flow), 0);
	post_from(fep, 1, 0);
	completed(fep, 1);
}

static void match__directed_receive_ends_when_its_peer_dies(void **state)
{
	struct fake_ep *fep = *state;
	struct fi_cq_err_entry entry;
	fi_addr_t second;
	struct gamma_flow *flow = second_peer(fep, &second);
	char text[128];

	post_from(fep, 0, second);
	post(fep, 1, 64);
	fake_fail(flow, -FI_EHOSTUNREACH);
	entry = failed(fep, 0, FI_EHOSTUNREACH);
	assert_non_null(strstr(
		fi_cq_strerror(fep->cq, entry.prov_errno, entry.err_data, text, sizeof(text)),
		"declared dead"));
	check_empty(fep);
	/* One that is posted later ends at once. */
	post_from(fep, 2, second);
	failed(fep, 2, FI_EHOSTUNREACH);
	fake_arrive(fep->flow, UINT64_MAX, "others go on");
	completed(fep, 1);
}

/* ---- truncation, rendezvous ---- */

/* ---- while the address vector changes ---- */

static fi_addr_t source_of_next(struct fake_ep *fep, unsigned i)
{
	struct fi_cq_tagged_entry entry = {0};
	fi_addr_t source = 99;

	assert_int_equal(fi_cq_readfrom(fep->cq, &entry, 1, &source), 1);
	assert_ptr_equal(entry.op_context, &contexts[i]);
	return source;
}

static void remove_peer(struct fake_ep *fep, fi_addr_t index)
{
	assert_int_equal(fi_av_remove(fep->av, &index, 1, 0), 0);
}

static fi_addr_t insert_peer(struct fake_ep *fep, const struct gamma_addr *addr)
{
	fi_addr_t index;

	assert_int_equal(fi_av_insert(fep->av, addr, 1, &index, 0, NULL), 1);
	return index;
}

static void source__receive_keeps_it_when_another_peer_takes_its_index(void **state)
{
	struct fake_ep *fep = *state;
	struct gamma_flow *other;
	fi_addr_t index;

	post_from(fep, 0, 0);
	remove_peer(fep, 0);
	other = second_peer(fep, &index);
	assert_int_equal(index, 0);
	fake_arrive(other, UINT64_MAX, "other");
	check_empty(fep);
	assert_int_equal(insert_peer(fep, &fep->peer), 1);
	fake_arrive(fep->flow, UINT64_MAX, "peer");
	assert_int_equal(source_of_next(fep, 0), 1);
	assert_memory_equal(buffers[0], "peer", 4);
	post_from(fep, 1, index);
	assert_int_equal(source_of_next(fep, 1), 0);
}

static void source__receive_keeps_a_removed_one(void **state)
{
	struct fake_ep *fep = *state;
	fi_addr_t index;
	struct gamma_flow *other = second_peer(fep, &index);

	post_from(fep, 0, 0);
	remove_peer(fep, 0);
	fake_arrive(other, UINT64_MAX, "other");
	check_empty(fep);
	fake_arrive(fep->flow, UINT64_MAX, "peer");
	assert_int_equal(source_of_next(fep, 0), FI_ADDR_NOTAVAIL);
	assert_int_equal(fake_expected(fep->flow), 0);
	post_from(fep, 1, index);
	assert_int_equal(source_of_next(fep, 1), index);
}

static void source__of_messages_from_before_the_peer_is_known(void **state)
{
	struct fake_ep *fep = *state;
	struct gamma_addr addr = fake_addr(2, 200, 9);
	struct gamma_flow *other = fake_flow(fep, &addr);

	fake_arrive(other, UINT64_MAX, "early");
	fake_arrive(other, UINT64_MAX, "early");
	post(fep, 0, 64);
	assert_int_equal(source_of_next(fep, 0), FI_ADDR_NOTAVAIL);
	post_from(fep, 1, 1);
	check_empty(fep);
	assert_int_equal(fi_cancel(&fep->ep->fid, &contexts[1]), 0);
	failed(fep, 1, FI_ECANCELED);
	assert_int_equal(insert_peer(fep, &addr), 1);
	post_from(fep, 2, 1);
	assert_int_equal(source_of_next(fep, 2), 1);
}

/* The AV has the MAC of the NIC, and gammad has named another one, from which frames come. */
static void find_by_name(struct fake_ep *fep)
{
	assert_int_equal(fi_send(fep->ep, "hi", 2, NULL, 0, NULL), 0);
	fep->flow->addr.mac[0] ^= 0x40;
	fep->flow->user = NULL;
}

static void source__peer_that_was_looked_up_stays_known(void **state)
{
	struct fake_ep *fep = *state;
	fi_addr_t index;

	find_by_name(fep);
	post_from(fep, 0, 0);
	post_from(fep, 1, 0);
	fake_arrive(fep->flow, UINT64_MAX, "before");
	assert_int_equal(source_of_next(fep, 0), 0);
	second_peer(fep, &index);
	fake_arrive(fep->flow, UINT64_MAX, "after");
	assert_int_equal(source_of_next(fep, 1), 0);
}

static void source__peer_that_was_looked_up_and_removed(void **state)
{
	struct fake_ep *fep = *state;
	fi_addr_t index;

	find_by_name(fep);
	post_from(fep, 0, 0);
	post_from(fep, 1, 0);
	remove_peer(fep, 0);
	fake_arrive(fep->flow, UINT64_MAX, "meanwhile");
	assert_int_equal(source_of_next(fep, 0), FI_ADDR_NOTAVAIL);
	second_peer(fep, &index);
	assert_int_equal(insert_peer(fep, &fep->peer), 1);
	fake_arrive(fep->flow, UINT64_MAX, "again");
	assert_int_equal(source_of_next(fep, 1), 1);
	post_from(fep, 2, 1);
	fake_arrive(fep->flow, UINT64_MAX, "again");
	assert_int_equal(source_of_next(fep, 2), 1);
	/* What is sent to it goes there, without another look-up. */
	assert_int_equal(fi_send(fep->ep, "hi", 2, NULL, 1, NULL), 0);
	assert_ptr_equal(gamma_ep_handle_of(fep->ep)->ep->flows[1], fep->flow);
}

static void match__message_longer_than_the_receive(void **state)
{
	struct fake_ep *fep = *state;
	struct fi_cq_err_entry entry;

	post(fep, 0, 3);
	fake_arrive(fep->flow, UINT64_MAX, "truncated");
	entry = failed(fep, 0, FI_ETRUNC);
	assert_int_equal(entry.len, 3);
	assert_int_equal(entry.olen, 6);
	fake_arrive(fep->flow, UINT64_MAX, "unexpected");
	post(fep, 1, 4);
	assert_int_equal(failed(fep, 1, FI_ETRUNC).olen, 6);
}

static void match__announced_message_is_accepted(void **state)
{
	struct fake_ep *fep = *state;
	unsigned before = fep->engine->progressed;

	fake_announce(fep->flow, 5, 1u << 20);
	assert_int_equal(fake_transmit(fep->flow), 0);
	post_tagged(fep, 0, 5, 0);
	assert_true(fep->engine->progressed > before);
	assert_int_equal(fake_transmit(fep->flow), 1);
	check_empty(fep);
}

static void match__announced_message_finds_a_posted_receive(void **state)
{
	struct fake_ep *fep = *state;

	post_tagged(fep, 0, 5, 0);
	fake_announce(fep->flow, 5, 1u << 20);
	assert_int_equal(fake_transmit(fep->flow), 1);
	fake_fail(fep->flow, -FI_EHOSTUNREACH);
	failed(fep, 0, FI_EHOSTUNREACH);
}

/* ---- FI_PEEK, FI_CLAIM, FI_DISCARD ---- */

static void peek__no_message(void **state)
{
	struct fake_ep *fep = *state;
	unsigned before = fep->engine->progressed;

	assert_int_equal(call_tagged(fep, 0, 3, FI_PEEK), 0);
	assert_int_equal(fep->engine->progressed, before + 1);
	assert_int_equal(failed(fep, 0, FI_ENOMSG).tag, 3);
}

static void peek__leaves_the_message(void **state)
{
	struct fake_ep *fep = *state;
	struct fi_cq_tagged_entry entry;

	fake_arrive(fep->flow, 3, "peeked");
	assert_int_equal(call_tagged(fep, 0, 3, FI_PEEK), 0);
	entry = completed(fep, 0);
	assert_int_equal(entry.len, 6);
	assert_int_equal(entry.tag, 3);
	post_tagged(fep, 1, 3, 0);
	completed(fep, 1);
	assert_memory_equal(buffers[1], "peeked", 6);
}

static void peek__discards_the_message(void **state)
{
	struct fake_ep *fep = *state;

	fake_arrive(fep->flow, 3, "discarded");
	assert_int_equal(call_tagged(fep, 0, 3, FI_PEEK | FI_DISCARD), 0);
	completed(fep, 0);
	post_tagged(fep, 1, 3, 0);
	check_empty(fep);
}

static void claim__keeps_the_message_from_others(void **state)
{
	struct fake_ep *fep = *state;

	fake_arrive(fep->flow, 3, "claimed");
	assert_int_equal(call_tagged(fep, 0, 3, FI_PEEK | FI_CLAIM), 0);
	completed(fep, 0);
	post_tagged(fep, 1, 3, 0);
	check_empty(fep);
	assert_int_equal(call_tagged(fep, 0, 3, FI_CLAIM), 0);
	assert_int_equal(completed(fep, 0).len, 7);
	assert_memory_equal(buffers[0], "claimed", 7);
}

static void claim__discards_the_message(void **state)
{
	struct fake_ep *fep = *state;

	fake_arrive(fep->flow, 3, "claimed");
	assert_int_equal(call_tagged(fep, 0, 3, FI_PEEK | FI_CLAIM), 0);
	completed(fep, 0);
	assert_int_equal(call_tagged(fep, 0, 3, FI_CLAIM | FI_DISCARD), 0);
	completed(fep, 0);
	assert_int_equal(call_tagged(fep, 0, 3, FI_CLAIM), -FI_EINVAL);
}

static void claim__announced_message_is_accepted(void **state)
{
	struct fake_ep *fep = *state;

	fake_announce(fep->flow, 3, 1u << 20);
	assert_int_equal(call_tagged(fep, 0, 3, FI_PEEK | FI_CLAIM), 0);
	assert_int_equal(completed(fep, 0).len, 1u << 20);
	assert_int_equal(call_tagged(fep, 0, 3, FI_CLAIM), 0);
	assert_int_equal(fake_transmit(fep->flow), 1);
}

static void peek__bad_flags(void **state)
{
	struct fake_ep *fep = *state;
	struct fi_msg_tagged no_context = {.addr = FI_ADDR_UNSPEC};

	assert_int_equal(call_tagged(fep, 0, 3, FI_DISCARD), -FI_EINVAL);
	assert_int_equal(fi_trecvmsg(fep->ep, &no_context, FI_CLAIM), -FI_EINVAL);
	assert_int_equal(fi_trecvmsg(fep->ep, &no_context, FI_PEEK | FI_CLAIM), -FI_EINVAL);
}

/* ---- cancel ---- */

static void cancel__posted_receive(void **state)
{
	struct fake_ep *fep = *state;

	post(fep, 0, 64);
	post_tagged(fep, 1, 1, 0);
	assert_int_equal(fi_cancel(&fep->ep->fid, &contexts[0]), 0);
	failed(fep, 0, FI_ECANCELED);
	assert_int_equal(fi_cancel(&fep->ep->fid, &contexts[1]), 0);
	failed(fep, 1, FI_ECANCELED);
	assert_int_equal(fi_cancel(&fep->ep->fid, &contexts[1]), 0);
	check_empty(fep);
	assert_int_equal(fi_rx_size_left(fep->ep), GAMMA_RX_SIZE);
}

static void cancel__matched_receive_goes_on(void **state)
{
	struct fake_ep *fep = *state;

	post_tagged(fep, 0, 5, 0);
	fake_announce(fep->flow, 5, 1u << 20);
	assert_int_equal(fi_cancel(&fep->ep->fid, &contexts[0]), 0);
	check_empty(fep);
}

/* ---- FI_MULTI_RECV ---- */

static void post_multi(struct fake_ep *fep, unsigned i, void *buf, size_t len)
{
	struct iovec iov = {.iov_base = buf, .iov_len = len};
	struct fi_msg msg = {
		.msg_iov = &iov,
		.iov_count = 1,
		.addr = FI_ADDR_UNSPEC,
		.context = &contexts[i],
	};

	assert_int_equal(fi_recvmsg(fep->ep, &msg, FI_MULTI_RECV), 0);
}

static void set_min_multi(struct fake_ep *fep, size_t min)
{
	assert_int_equal(
		fi_setopt(&fep->ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &min, sizeof(min)),
		0);
}

static void multi_recv__messages_stand_one_behind_the_other(void **state)
{
	struct fake_ep *fep = *state;
	struct fi_cq_tagged_entry entry;
	char buf[16];

	set_min_multi(fep, 8);
	fake_arrive(fep->flow, UINT64_MAX, "abc");
	post_multi(fep, 0, buf, sizeof(buf));
	entry = completed(fep, 0);
	assert_ptr_equal(entry.buf, buf);
	fake_arrive(fep->flow, UINT64_MAX, "defg");
	entry = completed(fep, 0);
	assert_ptr_equal(entry.buf, buf + 3);
	assert_false(entry.flags & FI_MULTI_RECV);
	fake_arrive(fep->flow, UINT64_MAX, "hi");
	entry = completed(fep, 0);
	assert_true(entry.flags & FI_MULTI_RECV);
	assert_memory_equal(buf, "abcdefghi", 9);
	fake_arrive(fep->flow, UINT64_MAX, "the buffer is used up");
	check_empty(fep);
}

static void multi_recv__unexpected_messages_use_up_the_buffer(void **state)
{
	struct fake_ep *fep = *state;
	char buf[8];

	set_min_multi(fep, 4);
	fake_arrive(fep->flow, UINT64_MAX, "abcd");
	fake_arrive(fep->flow, UINT64_MAX, "efg");
	fake_arrive(fep->flow, UINT64_MAX, "later");
	post_multi(fep, 0, buf, sizeof(buf));
	assert_false(completed(fep, 0).flags & FI_MULTI_RECV);
	assert_true(completed(fep, 0).flags & FI_MULTI_RECV);
	check_empty(fep);
	post(fep, 1, 64);
	assert_int_equal(completed(fep, 1).len, 5);
}

static void multi_recv__truncated_message_releases_the_buffer(void **state)
{
	struct fake_ep *fep = *state;
	struct fi_cq_err_entry entry;
	char buf[8];

	set_min_multi(fep, 1);
	post_multi(fep, 0, buf, sizeof(buf));
	fake_arrive(fep->flow, UINT64_MAX, "longer than it");
	entry = failed(fep, 0, FI_ETRUNC);
	assert_int_equal(entry.len, 8);
	assert_true(entry.flags & FI_MULTI_RECV);
}

static void multi_recv__cancelled(void **state)
{
	struct fake_ep *fep = *state;
	char buf[64];

	set_min_multi(fep, 1);
	post_multi(fep, 0, buf, sizeof(buf));
	assert_int_equal(fi_cancel(&fep->ep->fid, &contexts[0]), 0);
	assert_true(failed(fep, 0, FI_ECANCELED).flags & FI_MULTI_RECV);
	check_empty(fep);
}

static void multi_recv__cancelled_while_a_message_arrives(void **state)
{
	struct fake_ep *fep = *state;
	struct fi_cq_err_entry entry;
	char *buf = malloc(1u << 20);

	assert_non_null(buf);
	post_multi(fep, 0, buf, 1u << 20);
	fake_announce(fep->flow, UINT64_MAX, 1u << 18);
	assert_int_equal(fi_cancel(&fep->ep->fid, &contexts[0]), 0);
	check_empty(fep);
	fake_fail(fep->flow, -FI_EHOSTUNREACH);
	entry = failed(fep, 0, FI_EHOSTUNREACH);
	assert_false(entry.flags & FI_MULTI_RECV);
	failed(fep, 0, FI_ECANCELED);
	free(buf);
}

/* ---- the engine's other events ---- */

static void revoked__receives_end_and_none_is_taken(void **state)
{
	struct fake_ep *fep = *state;
	struct gamma_fi_ep *ep = gamma_ep_handle_of(fep->ep)->ep;

	post(fep, 0, 64);
	post_tagged(fep, 1, 1, 0);
	gamma_domain_lock(ep->domain);
	fep->engine->handlers.ended(ep, -FI_EACCES, GAMMA_REVOKED);
	gamma_domain_unlock(ep->domain);
	failed(fep, 0, FI_EACCES);
	failed(fep, 1, FI_EACCES);
	assert_int_equal(fi_recv(fep->ep, buffers[2], 64, NULL, FI_ADDR_UNSPEC, NULL), -FI_EACCES);
}

static void merged__directed_receives_follow_the_peer(void **state)
{
	struct fake_ep *fep = *state;
	struct gamma_fi_ep *ep = gamma_ep_handle_of(fep->ep)->ep;
	struct gamma_addr addr = fake_addr(3, 300, 11);
	struct gamma_flow *other = fake_flow(fep, &addr);

	post_from(fep, 0, 0);
	assert_int_equal(fake_expected(fep->flow), 1);
	gamma_domain_lock(ep->domain);
	fep->engine->handlers.merged(ep, fep->flow, other);
	gamma_domain_unlock(ep->domain);
	assert_int_equal(fake_expected(fep->flow), 0);
	assert_int_equal(fake_expected(other), 1);
	/* The AV knows the first address; the look-up leads to the other flow. */
	fake_arrive(other, UINT64_MAX, "from the same peer");
	completed(fep, 0);
}

static void gone__receives_forget_the_flow(void **state)
{
	struct fake_ep *fep = *state;
	struct gamma_fi_ep *ep = gamma_ep_handle_of(fep->ep)->ep;

	post_from(fep, 0, 0);
	gamma_domain_lock(ep->domain);
	fep->engine->handlers.gone(ep, fep->flow);
	gamma_domain_unlock(ep->domain);
	gamma_flow_free(fep->flow);
	/* The next message of that peer makes a new one. */
	fep->flow = fake_flow(fep, &fep->peer);
	fake_arrive(fep->flow, UINT64_MAX, "again");
	completed(fep, 0);
}

/* ---- a shared context ---- */

static void shared_ctx__receives_serve_all_its_endpoints(void **state)
{
	struct fake *fake = *state;
	struct fi_cq_attr cq_attr = {.format = FI_CQ_FORMAT_TAGGED};
	struct fi_av_attr av_attr = {.type = FI_AV_TABLE};
	struct fi_info *info = fake_info(FI_EP_RDM, FI_DIRECTED_RECV | FI_SOURCE);
	struct gamma_addr addr = fake_addr(1, 100, 7);
	struct fi_cq_tagged_entry entry;
	struct fid_ep *eps[2], *srx;
	struct fid_cq *cqs[2];
	struct fid_av *av;

	assert_int_equal(fi_srx_context(fake->domain, info->rx_attr, &srx, NULL), 0);
	info->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
	assert_int_equal(fi_av_open(fake->domain, &av_attr, &av, NULL), 0);
	assert_int_equal(fi_av_insert(av, &addr, 1, NULL, 0, NULL), 1);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(fi_cq_open(fake->domain, &cq_attr, &cqs[i], NULL), 0);
		assert_int_equal(fi_endpoint(fake->domain, info, &eps[i], NULL), 0);
		assert_int_equal(fi_ep_bind(eps[i], &cqs[i]->fid, FI_TRANSMIT | FI_RECV), 0);
		assert_int_equal(fi_ep_bind(eps[i], &av->fid, 0), 0);
		assert_int_equal(fi_ep_bind(eps[i], &srx->fid, 0), 0);
		assert_int_equal(fi_enable(eps[i]), 0);
	}
	assert_int_equal(fi_close(&srx->fid), -FI_EBUSY);
	assert_int_equal(fi_recv(eps[0], buffers[0], 64, NULL, FI_ADDR_UNSPEC, NULL), -FI_ENOSYS);
	for (int i = 0; i < 3; i++)
		assert_int_equal(fi_recv(srx, buffers[i], 64, NULL, i == 2 ? 0 : FI_ADDR_UNSPEC,
					 &contexts[i]),
				 0);
	fake_arrive(gamma_endpoint_flow(fake_engine_of(eps[1]), &addr), UINT64_MAX, "second");
	assert_int_equal(fi_cq_read(cqs[0], &entry, 1), -FI_EAGAIN);
	assert_int_equal(fi_cq_read(cqs[1], &entry, 1), 1);
	assert_ptr_equal(entry.op_context, &contexts[0]);
	/* One endpoint leaves; its unexpected messages go with it, the receives stay. */
	fake_arrive(gamma_endpoint_flow(fake_engine_of(eps[0]), &addr), 9, "unexpected");
	assert_int_equal(fi_close(&eps[0]->fid), 0);
	fake_arrive(gamma_endpoint_flow(fake_engine_of(eps[1]), &addr), UINT64_MAX, "third");
	assert_int_equal(fi_cq_read(cqs[1], &entry, 1), 1);
	assert_ptr_equal(entry.op_context, &contexts[1]);
	fake_arrive(gamma_endpoint_flow(fake_engine_of(eps[1]), &addr), UINT64_MAX, "fourth");
	assert_int_equal(fi_cq_read(cqs[1], &entry, 1), 1);
	assert_ptr_equal(entry.op_context, &contexts[2]);
	assert_int_equal(fi_close(&eps[1]->fid), 0);
	assert_int_equal(fi_recv(srx, buffers[0], 64, NULL, FI_ADDR_UNSPEC, NULL), 0);
	assert_int_equal(fi_close(&srx->fid), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(fi_close(&cqs[i]->fid), 0);
	assert_int_equal(fi_close(&av->fid), 0);
	fi_freeinfo(info);
}

/* ---- datagrams ---- */

static void datagram(struct fake_ep *fep, const char *text)
{
	struct gamma_envelope envelope = {.length = strlen(text)};
	struct gamma_fi_ep *ep = gamma_ep_handle_of(fep->ep)->ep;

	gamma_domain_lock(ep->domain);
	fep->engine->handlers.datagram(ep, &fep->peer, &envelope, (const uint8_t *) text);
	gamma_domain_unlock(ep->domain);
}

static void datagram__finds_the_oldest_receive(void **state)
{
	struct fake_ep *fep = *state;

	post(fep, 0, 64);
	post(fep, 1, 64);
	datagram(fep, "first");
	completed(fep, 0);
	assert_memory_equal(buffers[0], "first", 5);
}

static void datagram__is_kept_for_a_later_receive(void **state)
{
	struct fake_ep *fep = *state;

	datagram(fep, "first");
	datagram(fep, "second");
	post(fep, 0, 64);
	assert_int_equal(completed(fep, 0).len, 5);
	check_empty(fep);
}

static void datagram__too_many_are_dropped(void **state)
{
	struct fake_ep *fep = *state;
	unsigned kept = 0;

	for (int i = 0; i < 2000; i++)
		datagram(fep, "x");
	for (int i = 0; i < 2000; i++) {
		struct fi_cq_tagged_entry entry;

		post(fep, 0, 64);
		kept += fi_cq_read(fep->cq, &entry, 1) == 1;
	}
	assert_int_equal(kept, 1024);
}

static void datagram__cannot_be_peeked(void **state)
{
	struct fake_ep *fep = *state;
	struct fi_msg msg = {.addr = FI_ADDR_UNSPEC};

	assert_int_equal(fi_recvmsg(fep->ep, &msg, FI_PEEK), -FI_ENOSYS);
}

#define TEST(name)  cmocka_unit_test_setup_teardown(name, fake_ep_setup, fake_ep_teardown)
#define DGRAM(name) cmocka_unit_test_setup_teardown(name, fake_ep_setup_dgram, fake_ep_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(match__posted_receives_in_order),
		TEST(match__unexpected_messages_in_order),
		TEST(match__tagged_and_untagged_are_apart),
		TEST(match__ignore_bits),
		TEST(match__data_and_source),
		TEST(match__directed_receive_waits_for_its_source),
		TEST(match__directed_receive_ends_when_its_peer_dies),
		TEST(source__receive_keeps_it_when_another_peer_takes_its_index),
		TEST(source__receive_keeps_a_removed_one),
		TEST(source__of_messages_from_before_the_peer_is_known),
		TEST(source__peer_that_was_looked_up_stays_known),
		TEST(source__peer_that_was_looked_up_and_removed),
		TEST(match__message_longer_than_the_receive),
		TEST(match__announced_message_is_accepted),
		TEST(match__announced_message_finds_a_posted_receive),
		TEST(peek__no_message),
		TEST(peek__leaves_the_message),
		TEST(peek__discards_the_message),
		TEST(claim__keeps_the_message_from_others),
		TEST(claim__discards_the_message),
		TEST(claim__announced_message_is_accepted),
		TEST(peek__bad_flags),
		TEST(cancel__posted_receive),
		TEST(cancel__matched_receive_goes_on),
		TEST(multi_recv__messages_stand_one_behind_the_other),
		TEST(multi_recv__unexpected_messages_use_up_the_buffer),
		TEST(multi_recv__truncated_message_releases_the_buffer),
		TEST(multi_recv__cancelled),
		TEST(multi_recv__cancelled_while_a_message_arrives),
		TEST(revoked__receives_end_and_none_is_taken),
		TEST(merged__directed_receives_follow_the_peer),
		TEST(gone__receives_forget_the_flow),
		cmocka_unit_test_setup_teardown(shared_ctx__receives_serve_all_its_endpoints,
						fake_setup, fake_teardown),
		DGRAM(datagram__finds_the_oldest_receive),
		DGRAM(datagram__is_kept_for_a_later_receive),
		DGRAM(datagram__too_many_are_dropped),
		DGRAM(datagram__cannot_be_peeked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
