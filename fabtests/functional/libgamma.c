// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * gamma-libgamma: what programs of the original GAMMA do, on every node of a job, with checks.
 *
 *	gamma-libgamma             all calls
 *	gamma-libgamma side LETTER broadcasts beside those of another job, which has another letter
 *	gamma-libgamma crash       node 1 dies, and the others must hear of it
 *	gamma-libgamma outside     calls without a job
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "linux/gamma/libgamma.h"

enum {
	RING = 1, /* ports; the ring's is bound to the next node, others to node 0 or to all */
	BROADCAST,
	THREADED,
	APPENDED,
	TO_ALL,
	UNSAFE,
	ASKED,
	ANSWERED,
	COUNTED = 7, /* semaphores */
	SEEN,
	JOINED,
	WRITTEN,
	ALL_SEEN,
	ALL_ASKED,
	ALL_ANSWERED,
	SHORT = 100, /* bytes */
	LONG = 3 << 20,
	ROUNDS = 200,
	THREADS = 4,
	OF_EACH = 100, /* messages */
	PIECES = 50,
	COPIES = 20,
	QUESTIONS = 40,
	QUESTION = 30000,
	SIDE = 3000,
};

static char in[LONG], out[LONG], appended[PIECES * SHORT], asked[QUESTION], answered[QUESTION];
static char all_in[LONG];
static int handled, threaded, lost, foreign;
static char letter; /* of this job */

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
	check("a length that no node has sent", gamma_msglen == SHORT);
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
		if (i % 4 == 1) {
			check("gamma_isend_flowctl", !gamma_isend_flowctl(RING, out, len));
			check("gamma_wsend", !gamma_wsend(RING));
		} else if (i % 4 == 3) {
			check("gamma_isend_2p_flowctl",
			      !gamma_isend_2p_flowctl(RING, out, len / 5, out + len / 5,
						      len - len / 5));
			while (!gamma_tsend(RING))
				;
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

static void on_all(void)
{
	char first = all_in[0];

	check("a length that no node has broadcast", gamma_msglen == SHORT);
	for (int i = 1; i < SHORT; i++)
		check("a broadcast of two", all_in[i] == first);
}

/* Every thread has bytes of its own. */
static void *broadcast_many(void *number)
{
	char data[SHORT];

	memset(data, 'a' + (int) (size_t) number, sizeof(data));
	for (int i = 0; i < OF_EACH; i++) {
		check("a thread's reliable broadcast", !gamma_send_flowctl(TO_ALL, data, SHORT));
		check("a thread's broadcast at best effort",
		      !gamma_isend_2p(UNSAFE, data, 1, data + 1, SHORT - 1));
	}
	return NULL;
}

/* All threads of all nodes broadcast on the same two ports at once. */
static void broadcasts_of_threads(void)
{
	pthread_t all[THREADS];

	for (size_t i = 0; i < THREADS; i++)
		check("a thread", !pthread_create(&all[i], NULL, broadcast_many, (void *) i));
	for (int i = 0; i < THREADS; i++)
		pthread_join(all[i], NULL);
	gamma_wait(ALL_SEEN, (gamma_how_many_nodes() - 1) * THREADS * OF_EACH);
	check("gamma_sync", !gamma_sync());
	check("none comes twice", !gamma_test(ALL_SEEN));
}

/* A handler gives its port another buffer, and sends more than is sent without waiting. */
static void on_asked(void)
{
	check("a question's length", gamma_msglen == QUESTION);
	check("gamma_post_recv of a handler", !gamma_post_recv(ASKED, asked, QUESTION));
	check("a handler that sends", !gamma_send_flowctl(ANSWERED, asked, QUESTION));
	check("a handler that must not wait", gamma_wait(ALL_ANSWERED, 1 << 20) < 0);
	check("a handler in a barrier", gamma_sync() < 0);
}

static void *ask_many(void *none)
{
	for (int i = 0; i < QUESTIONS; i++) {
		check("a question", !gamma_send_flowctl(ASKED, out, QUESTION));
		check("an answer", !gamma_wait(ALL_ANSWERED, 1));
	}
	return none;
}

/* All nodes ask the next one, by several threads, and the handlers that answer run in any of them.
 */
static void handlers_that_send(void)
{
	pthread_t all[THREADS];

	fill(QUESTION, 77);
	check("gamma_sync", !gamma_sync());
	for (int i = 0; i < THREADS; i++)
		check("a thread", !pthread_create(&all[i], NULL, ask_many, NULL));
	gamma_wait(ALL_ASKED, THREADS * QUESTIONS);
	for (int i = 0; i < THREADS; i++)
		pthread_join(all[i], NULL);
	check_content(answered, QUESTION, 77);
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

/* ---- other jobs, crashes, no job ---- */

static void on_side(void)
{
	for (int i = 0; i < SHORT; i++)
		foreign += all_in[i] != letter;
}

static int side(void)
{
	gamma_set_active_port(TO_ALL, GAMMA_ALL_NODES, 0, TO_ALL, on_side, ALL_SEEN, GO_BACK,
			      all_in, LONG);
	gamma_sync();
	memset(out, letter, SHORT);
	for (int i = 0; i < SIDE; i++) {
		check("a broadcast", !gamma_send(TO_ALL, out, SHORT));
		check("gamma_test", gamma_test(ALL_SEEN) >= 0);
	}
	gamma_sync();
	check("some broadcast has come", gamma_test(ALL_SEEN));
	check("no broadcast of another job", !foreign);
	return gamma_exit();
}

static int crash(void)
{
	gamma_sigerr(on_lost);
	gamma_set_active_port(RING, 1, 0, RING, NULL, COUNTED, GO_BACK, in, LONG);
	gamma_sync();
	if (gamma_my_node() == 1)
		raise(SIGKILL);
	check("a wait for a dead node", gamma_wait(COUNTED, 1) < 0);
	check("gamma_sigerr's function has run", lost == 1);
	check("a send to a dead node", gamma_send_flowctl(RING, out, SHORT) < 0);
	check("a barrier with a dead node", gamma_sync() < 0);
	check("gamma_exit with a dead node", gamma_exit() < 0);
	return 0;
}

static void nothing(void)
{
}

static int outside(void)
{
	int refused = 0;

	refused += gamma_send(1, out, 1) < 0;
	refused += gamma_isend_2p_flowctl(1, out, 1, out, 1) < 0;
	refused += gamma_wsend(1) < 0;
	refused += gamma_tsend(1) < 0;
	refused += gamma_post_recv(1, in, 1) < 0;
	refused += gamma_set_active_port(1, 0, 0, 1, NULL, 1, GO_BACK, in, 1) < 0;
	refused += gamma_set_passive_port(1, 0, 0, 1) < 0;
	refused += gamma_signal(1) < 0;
	refused += gamma_wait(1, 1) < 0;
	refused += gamma_test(1) < 0;
	refused += gamma_atomic(nothing) < 0;
	refused += gamma_sync() < 0;
	refused += gamma_my_node() < 0;
	refused += gamma_my_par_pid() < 0;
	refused += gamma_how_many_nodes() < 0;
	refused += gamma_exit() < 0;
	return refused == 16 ? 0 : 1;
}

static int run(char **argv)
{
	letter = argv[2] ? *argv[2] : 'a';
	return !strcmp(argv[1], "side") ? side() : crash();
}

int main(int argc, char **argv)
{
	unsigned short node, next;

	if (argc > 1 && !strcmp(argv[1], "outside"))
		return outside();
	if (gamma_init(0, argc, argv))
		return 1;
	node = (unsigned short) gamma_my_node();
	next = (unsigned short) ((node + 1) % gamma_how_many_nodes());
	if (argc > 1) {
		if (run(argv))
			return 1;
		printf("node %u: all is well\n", node);
		return outside();
	}
	gamma_sigerr(on_lost);
	gamma_set_active_port(RING, next, (unsigned char) gamma_my_par_pid(), RING, on_ring,
			      COUNTED, GO_BACK, in, LONG);
	gamma_set_active_port(BROADCAST, GAMMA_ALL_NODES, 0, BROADCAST, NULL, SEEN, GO_BACK, in,
			      LONG);
	gamma_set_active_port(THREADED, 0, 0, THREADED, on_threaded, JOINED, GO_BACK, in, LONG);
	gamma_set_active_port(APPENDED, 0, 0, APPENDED, NULL, WRITTEN, GO_FORWARD, appended,
			      sizeof(appended));
	gamma_set_active_port(TO_ALL, GAMMA_ALL_NODES, 0, TO_ALL, on_all, ALL_SEEN, GO_BACK, all_in,
			      LONG);
	gamma_set_active_port(UNSAFE, GAMMA_ALL_NODES, 0, UNSAFE, on_all, COUNTED, GO_BACK, all_in,
			      LONG);
	gamma_set_active_port(ASKED, next, 0, ASKED, on_asked, ALL_ASKED, GO_BACK, asked, QUESTION);
	gamma_set_active_port(
		ANSWERED,
		(unsigned short) ((node + gamma_how_many_nodes() - 1) % gamma_how_many_nodes()), 0,
		ANSWERED, NULL, ALL_ANSWERED, GO_BACK, answered, QUESTION);
	check("a port of no node",
	      gamma_set_passive_port(99, (unsigned short) gamma_how_many_nodes(), 0, 99) < 0);
	gamma_sync();
	ring();
	broadcast();
	threads();
	handlers_that_send();
	broadcasts_of_threads();
	append();
	if (gamma_exit())
		return 1;
	printf("node %u: all is well\n", node);
	return 0;
}
