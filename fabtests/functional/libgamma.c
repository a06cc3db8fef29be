// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* gamma-libgamma: what programs of the original GAMMA do, on every node of a job, with checks. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "linux/gamma/libgamma.h"

enum {
	RING = 1, /* ports; the ring's is bound to the next node, others to node 0 or to all */
	BROADCAST,
	THREADED,
	APPENDED,
	COUNTED = 7, /* semaphores */
	SEEN,
	JOINED,
	WRITTEN,
	SHORT = 100, /* bytes */
	LONG = 3 << 20,
	ROUNDS = 200,
	THREADS = 4,
	OF_EACH = 100, /* messages */
	PIECES = 50,
	COPIES = 20,
};

static char in[LONG], out[LONG], appended[PIECES * SHORT];
static int handled, threaded, lost;

static void check(const char *what, int condition)
{
	if (condition)
		return;
	fprintf(stderr, "node %u: %s\n", gamma_my_node(), what);
	gamma_abort();
}

static void on_ring(void)
{
	check("port of a handler", gamma_active_port == RING);
	handled += gamma_msglen;
	gamma_post_recv(RING, in, LONG);
}

static void on_threaded(void)
{
	check("a length that nobody has sent", gamma_msglen == SHORT);
	threaded++;
}

static void on_lost(void)
{
	lost++;
}

static void fill(int len, int seed)
{
	for (int i = 0; i < len; i++)
		out[i] = (char) (i * 7 + seed);
}

static void check_content(const char *from, int len, int seed)
{
	for (int i = 0; i < len; i++)
		check("damaged bytes", from[i] == (char) (i * 7 + seed));
}

/* Each sends to the next and hears from the one before, short messages and long ones. */
static void ring(void)
{
	int len, bytes = 0;

	for (int i = 0; i < ROUNDS; i++) {
		len = i % 50 == 49 ? LONG : i * 40;
		fill(len, i);
		if (i & 1) {
			check("gamma_isend_flowctl", !gamma_isend_flowctl(RING, out, len));
			check("gamma_wsend", !gamma_wsend(RING));
		} else {
			check("gamma_send_2p_flowctl",
			      !gamma_send_2p_flowctl(RING, out, len / 3, out + len / 3,
						     len - len / 3));
		}
		gamma_wait(COUNTED, 1);
		check_content(in, len, i);
		bytes += len;
		check("gamma_sync", !gamma_sync());
	}
	check("bytes handled", handled == bytes);
}

/* From node 0 to all: once reliably, and often at best effort, of which one comes. */
static void broadcast(void)
{
	for (int i = 0; i < 1 + COPIES; i++) {
		fill(SHORT, i ? 91 : 90);
		if (!gamma_my_node())
			check("a broadcast",
			      !(i ? gamma_send : gamma_send_flowctl)(BROADCAST, out, SHORT));
		else if (i < 2)
			gamma_wait(SEEN, 1);
		if (gamma_my_node() && i < 2)
			check_content(in, SHORT, i ? 91 : 90);
		if (!i)
			check("gamma_sync", !gamma_sync());
	}
	check("gamma_sync", !gamma_sync());
}

static void *send_many(void *none)
{
	for (int i = 0; i < OF_EACH; i++)
		check("a thread's send", !gamma_send_flowctl(THREADED, out, SHORT));
	return none;
}

/* Several threads on one port. */
static void threads(void)
{
	pthread_t all[THREADS];
	int senders = gamma_how_many_nodes() - 1;

	for (int i = 0; gamma_my_node() && i < THREADS; i++)
		check("a thread", !pthread_create(&all[i], NULL, send_many, NULL));
	for (int i = 0; gamma_my_node() && i < THREADS; i++)
		pthread_join(all[i], NULL);
	if (!gamma_my_node())
		gamma_wait(JOINED, senders * THREADS * OF_EACH);
	check("messages of threads", gamma_my_node() || threaded == senders * THREADS * OF_EACH);
	check("gamma_sync", !gamma_sync());
}

/* One behind the other in the buffer; the last has no room. */
static void append(void)
{
	if (gamma_my_node() == 1)
		for (int i = 0; i <= PIECES; i++) {
			fill(SHORT, i);
			check("gamma_send_flowctl", !gamma_send_flowctl(APPENDED, out, SHORT));
		}
	gamma_sync();
	if (!gamma_my_node()) {
		gamma_wait(WRITTEN, PIECES);
		for (int i = 0; i < PIECES; i++)
			check_content(appended + i * SHORT, SHORT, i);
		while (!lost)
			gamma_test(WRITTEN);
	}
	check("messages lost", lost == !gamma_my_node());
}

int main(int argc, char **argv)
{
	unsigned short node, next;

	if (gamma_init(0, argc, argv))
		return 1;
	node = gamma_my_node();
	next = (unsigned short) ((node + 1) % gamma_how_many_nodes());
	gamma_sigerr(on_lost);
	gamma_set_active_port(RING, next, gamma_my_par_pid(), RING, on_ring, COUNTED, GO_BACK, in,
			      LONG);
	gamma_set_active_port(BROADCAST, GAMMA_ALL_NODES, 0, BROADCAST, NULL, SEEN, GO_BACK, in,
			      LONG);
	gamma_set_active_port(THREADED, 0, 0, THREADED, on_threaded, JOINED, GO_BACK, in, LONG);
	gamma_set_active_port(APPENDED, 0, 0, APPENDED, NULL, WRITTEN, GO_FORWARD, appended,
			      sizeof(appended));
	check("a port of no node", gamma_set_passive_port(9, gamma_how_many_nodes(), 0, 9) < 0);
	gamma_sync();
	ring();
	broadcast();
	threads();
	append();
	if (gamma_exit())
		return 1;
	printf("node %u: all is well\n", node);
	return 0;
}
