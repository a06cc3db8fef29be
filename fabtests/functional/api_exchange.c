// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * gamma-api: an exchange that lasts while something is done to the network or to the processes, and
 * then either ends with everything verified, or in an error that names the peer. It reports either
 *in a line for the script that started it. From its environment:
 *
 * GAMMA_API_MIB: it ends after so many MiB from each side (client only)
 * GAMMA_API_ENOUGH: path; it ends when this file exists (client only). After an error the process
 *	stays until then, as one with other peers would
 * GAMMA_API_OWN_PORT: port of the endpoint, default any
 */
#include "api.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What each side sends in a round: all ways of sending, and frames of all sizes. */
static const size_t lens[] = {0, 1, 100, 1400, 5000, 20000, 65536, 300000, 1 << 20};
enum { ROUND = sizeof(lens) / sizeof(*lens) };

struct exchange {
	struct node node;
	struct message in[ROUND], out[ROUND];
	unsigned round;
	bool client;
	uint64_t bytes;     /* received and verified */
	double begin, last; /* when it began, when something was last complete: s */
	unsigned errors;
};

static bool is_enough(void)
{
	const char *path = getenv("GAMMA_API_ENOUGH");

	return path && !access(path, F_OK);
}

static bool is_last_round(const struct exchange *exchange)
{
	const char *mib = getenv("GAMMA_API_MIB");

	return is_enough() || (mib && exchange->bytes >> 20 >= strtoul(mib, NULL, 10));
}

static unsigned seed_of(const struct exchange *exchange, unsigned i, bool from_client)
{
	return 2 * (exchange->round * ROUND + i) + from_client;
}

static void report_loss(struct exchange *exchange, int error, const char *cause)
{
	printf("lost: %s, %.2f s after the last completion: %s\n", fi_strerror(error),
	       now() - exchange->last, cause);
	fflush(stdout);
	CHECK(strstr(cause, node_peer_text()));
	exchange->errors++;
}

/* Posts one operation. False: the endpoint knows already that the peer is lost. It has reported
 * that to the event queue, as no operation was outstanding. */
static bool post(struct exchange *exchange, struct message *message,
		 ssize_t (*act)(struct node *, struct message *))
{
	struct fi_eq_err_entry event = {0};
	ssize_t ret = act(&exchange->node, message);

	CHECK(ret != -FI_EAGAIN); /* never more than a round outstanding */
	if (!ret)
		return true;
	CHECK(fi_eq_readerr(exchange->node.eq, &event, 0) > 0);
	CHECK_EQ(event.err, -ret);
	report_loss(exchange, event.err,
		    fi_eq_strerror(exchange->node.eq, event.prov_errno, event.err_data, NULL, 0));
	return false;
}

static void post_round(struct exchange *exchange, bool last)
{
	for (unsigned i = 0; i < ROUND; i++) {
		struct message *in = &exchange->in[i];

		message_init(in, lens[i], 1);
		in->tagged = true;
		in->tag = i;
		in->addr = exchange->node.peer;
		if (!post(exchange, in, message_try_receive))
			return;
	}
	for (unsigned i = 0; i < ROUND; i++) {
		struct message *out = &exchange->out[i];

		message_init(out, lens[i], 1);
		message_fill(out, seed_of(exchange, i, exchange->client));
		out->send = SENDDATA;
		out->tagged = true;
		out->tag = i;
		out->data = last;
		out->addr = exchange->node.peer;
		if (!post(exchange, out, message_try_send))
			return;
	}
}

static void note_error(struct exchange *exchange, struct fid_cq *cq)
{
	struct fi_cq_err_entry error = {0};
	char text[256];

	CHECK_EQ(fi_cq_readerr(cq, &error, 0), 1);
	fi_cq_strerror(cq, error.prov_errno, error.err_data, text, sizeof(text));
	report_loss(exchange, error.err, text);
}

/* The CQ data of any completion says whether the peer's round is its last one. */
static unsigned read_queue(struct exchange *exchange, struct fid_cq *cq, bool *last)
{
	struct fi_cq_tagged_entry entry;
	ssize_t ret = fi_cq_read(cq, &entry, 1);

	if (ret == -FI_EAVAIL)
		note_error(exchange, cq);
	if (ret != 1)
		return 0;
	if (cq == exchange->node.rx_cq) {
		struct message *in = entry.op_context;

		CHECK_EQ(entry.len, in->len);
		CHECK_EQ(entry.flags & FI_REMOTE_CQ_DATA, FI_REMOTE_CQ_DATA);
		*last = entry.data;
	}
	exchange->last = now();
	return 1;
}

static void free_round(struct exchange *exchange)
{
	for (unsigned i = 0; i < ROUND; i++) {
		message_free(&exchange->in[i]);
		message_free(&exchange->out[i]);
	}
}

/* Returns true if another round follows. */
static bool run_round(struct exchange *exchange)
{
	bool last = exchange->client && is_last_round(exchange), theirs = false;
	unsigned sent = 0, received = 0;

	post_round(exchange, last);
	while ((sent < ROUND || received < ROUND) && !exchange->errors) {
		sent += read_queue(exchange, exchange->node.tx_cq, &theirs);
		received += read_queue(exchange, exchange->node.rx_cq, &theirs);
	}
	if (exchange->errors)
		return false; /* the buffers stay until the endpoint is closed */
	for (unsigned i = 0; i < ROUND; i++) {
		message_check(&exchange->in[i], seed_of(exchange, i, !exchange->client), lens[i]);
		exchange->bytes += lens[i];
	}
	free_round(exchange);
	exchange->round++;
	return !(exchange->client ? last : theirs);
}

/* The endpoint stays open and answers, so that a peer that noticed nothing learns what happened.
 */
static void stay(struct exchange *exchange)
{
	double end = now() + 3 * PATIENCE_S;

	while (getenv("GAMMA_API_ENOUGH") && !is_enough() && now() < end) {
		progress_all();
		nap(1);
	}
	node_close(&exchange->node);
	free_round(exchange);
}

static void test_exchange(bool sender)
{
	struct exchange exchange = {.client = sender};

	node_open_pair(&exchange.node,
		       &(struct node_options){.caps = FI_DIRECTED_RECV,
					      .events = true,
					      .port = getenv("GAMMA_API_OWN_PORT")});
	printf("ready\n");
	fflush(stdout);
	exchange.begin = exchange.last = now();
	while (run_round(&exchange))
		continue;
	if (exchange.errors) {
		stay(&exchange);
		return;
	}
	printf("verified %.0f MiB in %.2f s\n", (double) exchange.bytes / (1 << 20),
	       now() - exchange.begin);
	node_close_pair(&exchange.node);
}

const struct test exchange_tests[] = {
	{.name = "exchange", .run = test_exchange, .on_request = true},
	{0},
};
