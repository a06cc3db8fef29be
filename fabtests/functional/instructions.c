// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * gamma-instructions: round trips of small messages, one at a time and then in bursts of ROW.
 * Sending and receiving are functions of their own, so that callgrind reports the instructions of
 * each. test_small_message.sh runs it.
 *
 *   gamma-instructions PIPE                       the partner, which is not measured
 *   gamma-instructions PIPE TIMES PARTNER         the one that is
 *
 * The partner writes into the named pipe once its answer has been sent: so the first poll finds
 * each message, and no empty poll is counted.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

#include "bench_ep.h"

enum { BYTES = 8, ROW = 64, TAG_NAME = 1, TAG_MESSAGE };

void measured_send(struct bench_ep *s, fi_addr_t peer, const void *buf);
void measured_receive(struct bench_ep *s, void *buf);
void measured_row_send(struct bench_ep *s, fi_addr_t peer, const void *buf);
void measured_row_receive(struct bench_ep *s, void *buf);

void __attribute__((noinline)) measured_send(struct bench_ep *s, fi_addr_t peer, const void *buf)
{
	struct fi_cq_tagged_entry entry;

	if (fi_tsend(s->ep, buf, BYTES, NULL, peer, TAG_MESSAGE, NULL) ||
	    fi_cq_read(s->tx, &entry, 1) != 1)
		bench_ep_fail("a send that is complete at once", -FI_EOTHER);
}

/* The receive was posted before; this takes its message and posts the next. */
void __attribute__((noinline)) measured_receive(struct bench_ep *s, void *buf)
{
	struct fi_cq_tagged_entry entry;

	if (fi_cq_read(s->rx, &entry, 1) != 1 ||
	    fi_trecv(s->ep, buf, BYTES, NULL, FI_ADDR_UNSPEC, TAG_MESSAGE, 0, NULL))
		bench_ep_fail("a message that is there", -FI_EOTHER);
}

/* All are complete by the second look: the first may have left before the others. */
void __attribute__((noinline))
measured_row_send(struct bench_ep *s, fi_addr_t peer, const void *buf)
{
	struct fi_cq_tagged_entry entries[ROW];
	ssize_t ret, done = 0;

	for (int i = 0; i < ROW; i++)
		if (fi_tsend(s->ep, buf, BYTES, NULL, peer, TAG_MESSAGE, NULL))
			bench_ep_fail("a message of a row", -FI_EOTHER);
	for (int look = 0; look < 2 && done < ROW; look++) {
		ret = fi_cq_read(s->tx, entries, ROW);
		done += ret > 0 ? ret : 0;
	}
	if (done != ROW)
		bench_ep_fail("a row that is complete", -FI_EOTHER);
}

/* All are there at the first look, but on a busy machine, whose kernel may still hold frames back.
 */
void __attribute__((noinline)) measured_row_receive(struct bench_ep *s, void *buf)
{
	struct fi_cq_tagged_entry entries[ROW];
	ssize_t ret, done = 0;

	while (done < ROW) {
		ret = fi_cq_read(s->rx, entries, ROW);
		if (ret < 0 && ret != -FI_EAGAIN)
			bench_ep_fail("a row that is there", (int) ret);
		done += ret > 0 ? ret : 0;
	}
	for (int i = 0; i < ROW; i++)
		if (fi_trecv(s->ep, buf, BYTES, NULL, FI_ADDR_UNSPEC, TAG_MESSAGE, 0, NULL))
			bench_ep_fail("a receive", -FI_EOTHER);
}

static void post_row(struct bench_ep *s, void *buf)
{
	for (int i = 0; i < ROW; i++)
		bench_ep_post(s, buf, BYTES, TAG_MESSAGE);
}

static void signal_parent(int pipe)
{
	if (write(pipe, "", 1) != 1)
		bench_ep_fail("pipe", -FI_EIO);
}

/* Until a burst is marked as the last. */
static void serve_rows(struct bench_ep *s, fi_addr_t peer, int pipe)
{
	char in[BYTES], out[BYTES] = {0};

	post_row(s, in);
	signal_parent(pipe);
	for (in[0] = 0; !in[0];) {
		for (int i = 0; i < ROW; i++)
			bench_ep_receive(s);
		post_row(s, in);
		measured_row_send(s, peer, out);
		signal_parent(pipe);
	}
}

static void serve(struct bench_ep *s, int pipe)
{
	char name[BENCH_EP_NAME_MAX], in[BYTES], out[BYTES] = {0};
	fi_addr_t peer;

	bench_ep_post(s, name, sizeof(name), TAG_NAME);
	puts("ready");
	fflush(stdout);
	bench_ep_receive(s);
	peer = bench_ep_insert(s, name);
	bench_ep_post(s, in, BYTES, TAG_MESSAGE);
	bench_ep_send(s, peer, "", 0, TAG_NAME);
	for (in[0] = 0; !in[0];) {
		bench_ep_receive(s);
		bench_ep_post(s, in, BYTES, TAG_MESSAGE);
		bench_ep_send(s, peer, out, BYTES, TAG_MESSAGE);
		signal_parent(pipe);
	}
	serve_rows(s, peer, pipe);
}

static void hear(int pipe)
{
	char there;

	if (read(pipe, &there, 1) != 1)
		bench_ep_fail("pipe", -FI_EIO);
}

static void ask_rows(struct bench_ep *s, fi_addr_t peer, int pipe, int rows)
{
	char in[BYTES], out[BYTES] = {0};

	/* One receive is left of the single messages. */
	for (int i = 1; i < ROW; i++)
		bench_ep_post(s, in, BYTES, TAG_MESSAGE);
	hear(pipe);
	for (int i = 0; i < rows; i++) {
		out[0] = i + 1 == rows;
		measured_row_send(s, peer, out);
		hear(pipe);
		measured_row_receive(s, in);
	}
}

/* The last message and those of the last burst are marked. */
static void ask(struct bench_ep *s, int pipe, int times)
{
	char name[BENCH_EP_NAME_MAX] = {0}, in[BYTES], out[BYTES] = {0};
	fi_addr_t peer = bench_ep_insert(s, s->info->dest_addr);

	bench_ep_name(s, name);
	bench_ep_post(s, NULL, 0, TAG_NAME);
	bench_ep_send(s, peer, name, sizeof(name), TAG_NAME);
	bench_ep_receive(s);
	bench_ep_post(s, in, BYTES, TAG_MESSAGE);
	for (int i = 0; i < times; i++) {
		out[0] = i + 1 == times;
		measured_send(s, peer, out);
		hear(pipe);
		measured_receive(s, in);
	}
	ask_rows(s, peer, pipe, times);
}

int main(int argc, char **argv)
{
	struct bench_ep_choice choice = {.provider = "gamma", .domain = "gam0", .service = "7414"};
	bool server = argc == 2;
	struct bench_ep s;
	int pipe;

	if (!server && argc != 4) {
		fprintf(stderr, "usage: gamma-instructions PIPE [TIMES PARTNER]\n");
		return 2;
	}
	pipe = open(argv[1], O_RDWR | O_CLOEXEC);
	if (pipe < 0) {
		perror("gamma-instructions: pipe");
		return 1;
	}
	choice.flags = server ? FI_SOURCE : 0;
	choice.node = server ? NULL : argv[3];
	bench_ep_open(&s, &choice);
	if (server)
		serve(&s, pipe);
	else
		ask(&s, pipe, atoi(argv[2]));
	bench_ep_close(&s);
	close(pipe);
	return 0;
}
