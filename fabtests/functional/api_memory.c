// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * gamma-api: what a long run costs. Memory must not grow with the number of messages, nor with the
 * number of endpoints that have come and gone. Started by test_memory.sh.
 */
#include "api.h"

#include <malloc.h>
#include <string.h>
#include <unistd.h>

struct memory {
	long long heap;     /* bytes in use, of malloc */
	long long resident; /* bytes */
};

static struct memory memory_now(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	struct mallinfo2 heap = mallinfo2();
	long long pages = 0;

	CHECK(file);
	CHECK_EQ(fscanf(file, "%*d %lld", &pages), 1);
	fclose(file);
	return (struct memory){.heap = (long long) (heap.uordblks + heap.hblkhd),
			       .resident = pages * sysconf(_SC_PAGESIZE)};
}

/* Not a leak: buffers of frames under way, kept for the next ones. A window is 1,024 frames, here
 * 2.5 MB, and how full it gets varies. One allocation leaked in ten
 * messages is more. Endpoints that come and go take theirs with them. Nor are pages touched for
 * the first time a leak. */
enum { WINDOW_SLACK = 3 << 20, ENDPOINT_SLACK = 64 << 10, RESIDENT_SLACK = 4 << 20 };

static void print_growth(const char *of, struct memory before, long long heap_slack)
{
	struct memory after = memory_now();

	printf("memory after %s: heap %+lld bytes, resident %+lld KiB\n", of,
	       after.heap - before.heap, (after.resident - before.resident) / 1024);
	fflush(stdout);
	CHECK(after.heap - before.heap <= heap_slack);
	CHECK(after.resident - before.resident <= RESIDENT_SLACK);
}

/* ---- a million messages ---- */

enum { MILLION = 1000000, WARM = MILLION / 10, SLOTS = 64, LARGE = 100000 };

static size_t length_of(unsigned number)
{
	return number % 2000 == 1999 ? LARGE : number % 600;
}

static void begin(struct node *node, struct message *message, unsigned number, bool sender)
{
	message_init(message, length_of(number), 1);
	if (sender) {
		message_fill(message, number);
		message_send(node, message);
	} else {
		message_receive(node, message);
	}
}

static void end(struct node *node, struct message *message, unsigned number, bool sender)
{
	wait_done(sender ? node->tx_cq : node->rx_cq, message);
	if (!sender)
		message_check(message, number, length_of(number));
	message_free(message);
}

/* Messages from..to-1, SLOTS of them under way at a time; at the end none. */
static void stream(struct node *node, unsigned from, unsigned to, bool sender)
{
	static struct message slots[SLOTS];

	for (unsigned i = from; i < to + SLOTS; i++) {
		if (i >= from + SLOTS)
			end(node, &slots[i % SLOTS], i - SLOTS, sender);
		if (i < to)
			begin(node, &slots[i % SLOTS], i, sender);
	}
}

static void test_million(bool sender)
{
	struct memory before;
	struct node node;

	node_open_pair(&node, &(struct node_options){0});
	stream(&node, 0, WARM, sender);
	before = memory_now();
	stream(&node, WARM, MILLION, sender);
	print_growth("a million messages", before, WINDOW_SLACK);
	node_close_pair(&node);
}

/* ---- a thousand endpoints, one after another ---- */

enum { CYCLES = 1000, WARM_CYCLES = 20 };

static void cycle(unsigned number, bool sender)
{
	struct node node;

	node_open_pair(&node, &(struct node_options){.counters = number & 1});
	if (sender) {
		struct message message;

		message_init(&message, length_of(number), 1);
		message_fill(&message, number);
		message_send(&node, &message);
		wait_done(node.tx_cq, &message);
		message_free(&message);
	} else {
		receive_one(&node, length_of(number), number);
	}
	node_close_pair(&node);
}

static void test_cycles(bool sender)
{
	struct memory before = {0};

	for (unsigned i = 0; i < CYCLES; i++) {
		if (i == WARM_CYCLES)
			before = memory_now();
		cycle(i, sender);
	}
	print_growth("a thousand endpoints", before, ENDPOINT_SLACK);
}

const struct test memory_tests[] = {
	{.name = "million", .run = test_million, .on_request = true},
	{.name = "cycles", .run = test_cycles, .on_request = true},
	{0},
};
