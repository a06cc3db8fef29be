// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * gamma-instructions: small messages to and fro, whose sending and receiving are functions of their
 * own, so that callgrind tells how many instructions each takes. test_small_message.sh runs it.
 *
 *   gamma-instructions PIPE                       the partner, which is not measured
 *   gamma-instructions PIPE MESSAGES PARTNER      the one that is
 *
 * Once the partner's answer is there, which is when its send returns, it writes into the named pipe:
 * so each message is found at the first look, and no look in vain is counted.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

#include "station.h"

enum { BYTES = 8, TAG_NAME = 1, TAG_MESSAGE };

void measured_send(struct station *s, fi_addr_t peer, const void *buf);
void measured_receive(struct station *s, void *buf);

void __attribute__((noinline)) measured_send(struct station *s, fi_addr_t peer, const void *buf)
{
	struct fi_cq_tagged_entry entry;

	if (fi_tsend(s->ep, buf, BYTES, NULL, peer, TAG_MESSAGE, NULL) ||
	    fi_cq_read(s->tx, &entry, 1) != 1)
		station_fail("a send that is complete at once", -FI_EOTHER);
}

/* The receive was posted before; this takes its message and posts the next. */
void __attribute__((noinline)) measured_receive(struct station *s, void *buf)
{
	struct fi_cq_tagged_entry entry;

	if (fi_cq_read(s->rx, &entry, 1) != 1 ||
	    fi_trecv(s->ep, buf, BYTES, NULL, FI_ADDR_UNSPEC, TAG_MESSAGE, 0, NULL))
		station_fail("a message that is there", -FI_EOTHER);
}

static void serve(struct station *s, int pipe)
{
	char name[STATION_NAME_MAX], in[BYTES], out[BYTES] = {0};
	fi_addr_t peer;

	station_post(s, name, sizeof(name), TAG_NAME);
	puts("ready");
	fflush(stdout);
	station_receive(s);
	peer = station_insert(s, name);
	station_post(s, in, BYTES, TAG_MESSAGE);
	station_send(s, peer, "", 0, TAG_NAME);
	for (in[0] = 0; !in[0];) {
		station_receive(s);
		station_post(s, in, BYTES, TAG_MESSAGE);
		station_send(s, peer, out, BYTES, TAG_MESSAGE);
		if (write(pipe, "", 1) != 1)
			station_fail("pipe", -FI_EIO);
	}
}

/* The last message says so. */
static void ask(struct station *s, int pipe, int messages)
{
	char name[STATION_NAME_MAX] = {0}, in[BYTES], out[BYTES] = {0}, there;
	fi_addr_t peer = station_insert(s, s->info->dest_addr);

	station_name(s, name);
	station_post(s, NULL, 0, TAG_NAME);
	station_send(s, peer, name, sizeof(name), TAG_NAME);
	station_receive(s);
	station_post(s, in, BYTES, TAG_MESSAGE);
	for (int i = 0; i < messages; i++) {
		out[0] = i + 1 == messages;
		measured_send(s, peer, out);
		if (read(pipe, &there, 1) != 1)
			station_fail("pipe", -FI_EIO);
		measured_receive(s, in);
	}
}

int main(int argc, char **argv)
{
	struct station_choice choice = {.provider = "gamma", .domain = "gam0", .service = "7414"};
	bool server = argc == 2;
	struct station s;
	int pipe;

	station_program = "gamma-instructions";
	if (!server && argc != 4) {
		fprintf(stderr, "usage: gamma-instructions PIPE [MESSAGES PARTNER]\n");
		return 2;
	}
	pipe = open(argv[1], O_RDWR | O_CLOEXEC);
	if (pipe < 0) {
		perror("gamma-instructions: pipe");
		return 1;
	}
	choice.flags = server ? FI_SOURCE : 0;
	choice.node = server ? NULL : argv[3];
	station_open(&s, &choice);
	if (server)
		serve(&s, pipe);
	else
		ask(&s, pipe, atoi(argv[2]));
	station_close(&s);
	close(pipe);
	return 0;
}
