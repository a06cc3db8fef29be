// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* gamma-api: sending and receiving messages by every call, and checking their contents. */
#include "api.h"

#include <stdlib.h>
#include <string.h>

enum {
	GAP = 64, /* bytes between two segments */
	UNTOUCHED = 0xA5,
};

/* ---- contents ---- */

static uint8_t content(unsigned seed, size_t i)
{
	return (uint8_t) (seed * 131 + i * 7 + (i >> 8) * 13 + (i >> 16));
}

/* Segments of uneven length, one of them empty; together they make up the message. */
static size_t piece_len(size_t len, size_t segments, size_t i)
{
	size_t share = len / segments;

	if (segments > 2 && i == 1)
		return 0;
	if (i + 1 < segments)
		return i == 0 ? share / 2 : share;
	return len - (segments > 2    ? share / 2 + (segments - 3) * share
		      : segments == 2 ? share / 2
				      : 0);
}

void message_init(struct message *message, size_t len, size_t segments)
{
	uint8_t *at;

	memset(message, 0, sizeof(*message));
	message->addr = FI_ADDR_UNSPEC;
	message->len = len;
	message->segments = segments;
	message->memory = malloc(len + (segments + 1) * GAP);
	CHECK(message->memory);
	memset(message->memory, UNTOUCHED, len + (segments + 1) * GAP);
	at = (uint8_t *) message->memory + GAP;
	for (size_t i = 0; i < segments; i++) {
		message->iov[i].iov_base = at;
		message->iov[i].iov_len = piece_len(len, segments, i);
		at += message->iov[i].iov_len + GAP;
	}
}

void message_fill(struct message *message, unsigned seed)
{
	size_t offset = 0;

	message->seed = seed;
	for (size_t i = 0; i < message->segments; i++) {
		uint8_t *at = message->iov[i].iov_base;

		for (size_t k = 0; k < message->iov[i].iov_len; k++)
			at[k] = content(seed, offset++);
	}
}

void content_check(const void *bytes, unsigned seed, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (((const uint8_t *) bytes)[i] != content(seed, i))
			fail_check(__FILE__, __LINE__, "contents differ at offset", (long long) i,
				   -1);
}

static void check_gap(const uint8_t *at)
{
	for (size_t k = 0; k < GAP; k++)
		CHECK_EQ(at[k], UNTOUCHED);
}

void message_check(const struct message *message, unsigned seed, size_t len)
{
	size_t offset = 0;

	check_gap(message->memory);
	for (size_t i = 0; i < message->segments; i++) {
		const uint8_t *at = message->iov[i].iov_base;

		for (size_t k = 0; k < message->iov[i].iov_len; k++, offset++)
			if (at[k] != (offset < len ? content(seed, offset) : UNTOUCHED))
				fail_check(__FILE__, __LINE__, "contents differ at offset",
					   (long long) offset, -1);
		check_gap(at + message->iov[i].iov_len);
	}
}

void message_free(struct message *message)
{
	free(message->memory);
	message->memory = NULL;
}

/* ---- calls ---- */

static ssize_t send_plain(struct node *node, struct message *m)
{
	const void *buf = m->iov[0].iov_base;
	size_t len = m->iov[0].iov_len;
	struct fi_msg msg = {.msg_iov = m->iov,
			     .iov_count = m->segments,
			     .addr = m->addr,
			     .context = m,
			     .data = m->data};

	switch (m->send) {
	case SEND:
		return fi_send(node->ep, buf, len, NULL, m->addr, m);
	case SENDV:
		return fi_sendv(node->ep, m->iov, NULL, m->segments, m->addr, m);
	case SENDMSG:
		return fi_sendmsg(node->ep, &msg, m->flags | (m->has_data ? FI_REMOTE_CQ_DATA : 0));
	case SENDDATA:
		return fi_senddata(node->ep, buf, len, NULL, m->data, m->addr, m);
	case INJECT:
		return fi_inject(node->ep, buf, len, m->addr);
	case INJECTDATA:
		return fi_injectdata(node->ep, buf, len, m->data, m->addr);
	case SEND_KINDS:
		break;
	}
	return -FI_EINVAL;
}

static ssize_t send_tagged(struct node *node, struct message *m)
{
	const void *buf = m->iov[0].iov_base;
	size_t len = m->iov[0].iov_len;
	struct fi_msg_tagged msg = {.msg_iov = m->iov,
				    .iov_count = m->segments,
				    .addr = m->addr,
				    .tag = m->tag,
				    .context = m,
				    .data = m->data};

	switch (m->send) {
	case SEND:
		return fi_tsend(node->ep, buf, len, NULL, m->addr, m->tag, m);
	case SENDV:
		return fi_tsendv(node->ep, m->iov, NULL, m->segments, m->addr, m->tag, m);
	case SENDMSG:
		return fi_tsendmsg(node->ep, &msg,
				   m->flags | (m->has_data ? FI_REMOTE_CQ_DATA : 0));
	case SENDDATA:
		return fi_tsenddata(node->ep, buf, len, NULL, m->data, m->addr, m->tag, m);
	case INJECT:
		return fi_tinject(node->ep, buf, len, m->addr, m->tag);
	case INJECTDATA:
		return fi_tinjectdata(node->ep, buf, len, m->data, m->addr, m->tag);
	case SEND_KINDS:
		break;
	}
	return -FI_EINVAL;
}

ssize_t message_try_send(struct node *node, struct message *message)
{
	if (message->send == SENDDATA || message->send == INJECTDATA)
		message->has_data = true;
	if (message->send == INJECT || message->send == INJECTDATA)
		message->is_silent = true;
	return message->tagged ? send_tagged(node, message) : send_plain(node, message);
}

ssize_t message_try_receive(struct node *node, struct message *m)
{
	struct fid_ep *ep = node->srx ? node->srx : node->ep;
	void *buf = m->iov[0].iov_base;
	size_t len = m->iov[0].iov_len;
	struct fi_msg msg = {
		.msg_iov = m->iov, .iov_count = m->segments, .addr = m->addr, .context = m};
	struct fi_msg_tagged tagged = {.msg_iov = m->iov,
				       .iov_count = m->segments,
				       .addr = m->addr,
				       .tag = m->tag,
				       .ignore = m->ignore,
				       .context = m};

	switch (m->recv) {
	case RECV:
		return m->tagged ? fi_trecv(ep, buf, len, NULL, m->addr, m->tag, m->ignore, m)
				 : fi_recv(ep, buf, len, NULL, m->addr, m);
	case RECVV:
		return m->tagged ? fi_trecvv(ep, m->iov, NULL, m->segments, m->addr, m->tag,
					     m->ignore, m)
				 : fi_recvv(ep, m->iov, NULL, m->segments, m->addr, m);
	case RECVMSG:
		return m->tagged ? fi_trecvmsg(ep, &tagged, m->flags)
				 : fi_recvmsg(ep, &msg, m->flags);
	case RECV_KINDS:
		break;
	}
	return -FI_EINVAL;
}

static void insist(struct node *node, struct message *message,
		   ssize_t (*act)(struct node *, struct message *))
{
	double end = now() + PATIENCE_S;
	ssize_t ret;

	while ((ret = act(node, message)) == -FI_EAGAIN) {
		CHECK(now() < end);
		progress_all();
	}
	CHECK_EQ(ret, 0);
}

void message_send(struct node *node, struct message *message)
{
	if (message->addr == FI_ADDR_UNSPEC)
		message->addr = node->peer;
	insist(node, message, message_try_send);
}

void message_receive(struct node *node, struct message *message)
{
	insist(node, message, message_try_receive);
}

/* ---- completions ---- */

static void show_error(struct fid_cq *cq)
{
	struct fi_cq_err_entry error = {0};
	char text[200];

	if (fi_cq_readerr(cq, &error, 0) != 1)
		return;
	fi_cq_strerror(cq, error.prov_errno, error.err_data, text, sizeof(text));
	printf("completion with error %d (%s): %s\n", error.err, fi_strerror(error.err), text);
}

bool poll_completion(struct fid_cq *cq, struct completion *completion)
{
	ssize_t ret = fi_cq_readfrom(cq, &completion->entry, 1, &completion->source);

	if (ret == -FI_EAVAIL)
		show_error(cq);
	if (ret != -FI_EAGAIN)
		CHECK_EQ(ret, 1);
	return ret == 1;
}

void wait_completion(struct fid_cq *cq, struct completion *completion)
{
	double end = now() + PATIENCE_S;

	while (!poll_completion(cq, completion)) {
		CHECK(now() < end);
		progress_all();
	}
}

void wait_error(struct fid_cq *cq, struct fi_cq_err_entry *error)
{
	double end = now() + PATIENCE_S;
	struct fi_cq_tagged_entry entry;
	ssize_t ret;

	while ((ret = fi_cq_read(cq, &entry, 1)) == -FI_EAGAIN) {
		CHECK(now() < end);
		progress_all();
	}
	CHECK_EQ(ret, -FI_EAVAIL);
	memset(error, 0, sizeof(*error));
	CHECK_EQ(fi_cq_readerr(cq, error, 0), 1);
}

void expect_nothing(struct fid_cq *cq)
{
	struct completion completion;

	CHECK(!poll_completion(cq, &completion));
}

void wait_sent(struct node *node, struct message *message)
{
	struct completion completion;

	if (message->is_silent)
		return;
	wait_completion(node->tx_cq, &completion);
	CHECK(completion.entry.op_context == message);
	CHECK_EQ(completion.entry.flags & (FI_SEND | FI_RECV | FI_MSG | FI_TAGGED),
		 FI_SEND | (message->tagged ? FI_TAGGED : FI_MSG));
}

void wait_received(struct node *node, struct message *message, size_t len)
{
	struct completion completion;
	const struct fi_cq_tagged_entry *entry = &completion.entry;

	wait_completion(node->rx_cq, &completion);
	CHECK(entry->op_context == message);
	CHECK_EQ(entry->len, len);
	CHECK_EQ(entry->flags & (FI_SEND | FI_RECV | FI_MSG | FI_TAGGED),
		 FI_RECV | (message->tagged ? FI_TAGGED : FI_MSG));
	CHECK_EQ(!!(entry->flags & FI_REMOTE_CQ_DATA), message->has_data);
	if (message->has_data)
		CHECK_EQ(entry->data, message->data);
	if (message->tagged)
		CHECK_EQ(entry->tag | message->ignore, message->tag | message->ignore);
}

/* Several threads may do this on one queue: each marks every completion that it finds. */
void wait_done(struct fid_cq *cq, struct message *message)
{
	double end = now() + PATIENCE_S;
	struct completion completion;

	while (!__atomic_load_n(&message->done, __ATOMIC_ACQUIRE)) {
		CHECK(now() < end);
		if (poll_completion(cq, &completion)) {
			struct message *found = completion.entry.op_context;

			__atomic_store_n(&found->done, true, __ATOMIC_RELEASE);
		} else {
			progress_all();
		}
	}
}

/* ---- from end to end ---- */

void send_filled(struct node *node, struct message *message, unsigned seed)
{
	message_fill(message, seed);
	message_send(node, message);
	wait_sent(node, message);
	message_free(message);
}

void receive_filled(struct node *node, struct message *message, unsigned seed)
{
	wait_received(node, message, message->len);
	message_check(message, seed, message->len);
	message_free(message);
}

void send_one(struct node *node, size_t len, unsigned seed)
{
	struct message message;

	message_init(&message, len, 1);
	send_filled(node, &message, seed);
}

void receive_one(struct node *node, size_t len, unsigned seed)
{
	struct message message;

	message_init(&message, len, 1);
	message_receive(node, &message);
	receive_filled(node, &message, seed);
}

void post_tag(struct node *node, struct message *message, size_t len, uint64_t tag, uint64_t ignore)
{
	message_init(message, len, 1);
	message->tagged = true;
	message->tag = tag;
	message->ignore = ignore;
	message_receive(node, message);
}
