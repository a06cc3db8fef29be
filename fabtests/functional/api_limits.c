// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* gamma-api: as many addresses and peers as documented, and the memory that each takes. */
#include "api.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum {
	ADDRESSES = 10000,
	ADDRESS_BYTES = 128, /* of memory for each, as the manual page promises */
	PEERS = 1000,
	PEER_BYTES = 4096, /* ditto */
	HELLO = 100,       /* bytes of a peer's message */
};

/* Number i's: another MAC, and for every third one the same with another port. */
static void make_name(struct name *name, const struct name *own, unsigned i)
{
	*name = *own;
	name->bytes[3] = (uint8_t) (i / 3 >> 16);
	name->bytes[4] = (uint8_t) (i / 3 >> 8);
	name->bytes[5] = (uint8_t) (i / 3);
	name->bytes[7] = (uint8_t) (own->bytes[7] + i % 3);
	memset(name->bytes + 16, 0, 8); /* of another host */
}

static size_t allocated(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

static void look_up_all(struct fid_av *av, const struct name *own, const fi_addr_t *addrs)
{
	char text[100], again[100];
	struct name expected, found;
	size_t len;

	for (unsigned i = 0; i < ADDRESSES; i++) {
		make_name(&expected, own, i);
		found.len = sizeof(found.bytes);
		CHECK_EQ(fi_av_lookup(av, addrs[i], found.bytes, &found.len), 0);
		CHECK_EQ(found.len, expected.len);
		CHECK(!memcmp(found.bytes, expected.bytes, found.len));
		len = sizeof(text);
		fi_av_straddr(av, found.bytes, text, &len);
		CHECK_EQ(len, strlen(text) + 1);
		len = 5;
		fi_av_straddr(av, found.bytes, again, &len);
		CHECK_EQ(len, strlen(text) + 1);
		CHECK_EQ(strlen(again), 4);
	}
}

/* Inserted in one go, looked up, every other one removed and inserted again. */
static void fill_av(struct node *node, enum fi_av_type type)
{
	static uint8_t names[ADDRESSES * ADDR_MAX];
	static fi_addr_t addrs[ADDRESSES];
	struct fi_av_attr attr = {.type = type};
	struct name own, name;
	struct fid_av *av;
	size_t before;

	node_name(node, &own);
	for (unsigned i = 0; i < ADDRESSES; i++) {
		make_name(&name, &own, i);
		memcpy(names + i * own.len, name.bytes, own.len);
	}
	before = allocated();
	CHECK_EQ(fi_av_open(node->domain, &attr, &av, NULL), 0);
	CHECK_EQ(fi_av_insert(av, names, ADDRESSES, addrs, 0, NULL), ADDRESSES);
	CHECK(allocated() - before <= ADDRESSES * ADDRESS_BYTES);
	for (unsigned i = 0; i < ADDRESSES; i++)
		CHECK_EQ(addrs[i], i);
	look_up_all(av, &own, addrs);
	for (unsigned i = 0; i < ADDRESSES; i += 2) {
		CHECK_EQ(fi_av_remove(av, &addrs[i], 1, 0), 0);
		CHECK_EQ(fi_av_lookup(av, addrs[i], name.bytes, &name.len), -FI_EINVAL);
	}
	for (unsigned i = 0; i < ADDRESSES; i += 2) {
		CHECK_EQ(fi_av_insert(av, names + i * own.len, 1, &addrs[i], 0, NULL), 1);
		CHECK_EQ(addrs[i], i); /* the lowest that is free */
	}
	look_up_all(av, &own, addrs);
	CHECK_EQ(fi_close(&av->fid), 0);
}

static void test_many_addresses(bool sender)
{
	struct node node;

	(void) sender;
	node_open(&node, &(struct node_options){0});
	fill_av(&node, FI_AV_MAP);
	fill_av(&node, FI_AV_TABLE);
	node_close(&node);
}

/* ---- peers ---- */

static unsigned count_of_peers(void)
{
	const char *text = getenv("GAMMA_API_PEERS");

	return text ? (unsigned) strtoul(text, NULL, 10) : PEERS;
}

static void open_files(unsigned peers)
{
	struct rlimit limit;

	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
	if (limit.rlim_cur > 4 * peers)
		return;
	limit.rlim_cur = limit.rlim_max;
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* Each peer sends its number twice and receives it twice; the hub serves them in order of arrival.
 */
static void hub(struct node *node, unsigned peers, const struct name *names)
{
	static struct message in[2 * PEERS], out[2 * PEERS];
	struct completion completion;
	size_t memory;

	for (unsigned i = 0; i < peers; i++)
		CHECK_EQ(node_insert(node, &names[i]), i);
	for (unsigned i = 0; i < 2 * peers; i++) {
		message_init(&in[i], HELLO, 1);
		message_init(&out[i], HELLO, 1);
	}
	memory = allocated();
	aside_sync();
	for (unsigned i = 0; i < 2 * peers; i++) {
		message_receive(node, &in[i]);
		wait_completion(node->rx_cq, &completion);
		CHECK(completion.entry.op_context == &in[i]);
		CHECK(completion.source < peers && completion.source == completion.entry.data);
		message_check(&in[i], (unsigned) completion.source, HELLO);
		message_fill(&out[i], (unsigned) completion.source);
		out[i].addr = completion.source;
		message_send(node, &out[i]);
	}
	for (unsigned i = 0; i < 2 * peers; i++)
		wait_done(node->tx_cq, &out[i]);
	printf("%zu bytes a peer\n", (allocated() - memory) / peers);
	CHECK(allocated() - memory <= (size_t) peers * PEER_BYTES);
	for (unsigned i = 0; i < 2 * peers; i++) {
		message_free(&in[i]);
		message_free(&out[i]);
	}
}

/* Endpoints on the objects of one node. */
static void crowd(struct node *node, unsigned peers, struct fid_ep **eps)
{
	static struct message in[PEERS], out[PEERS];
	struct node one = *node;

	aside_sync();
	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < peers; i++) {
			one.ep = eps[i];
			message_init(&in[i], HELLO, 1);
			message_init(&out[i], HELLO, 1);
			message_fill(&out[i], i);
			out[i].send = SENDDATA;
			out[i].data = i;
			message_receive(&one, &in[i]);
			message_send(&one, &out[i]);
		}
		for (unsigned i = 0; i < peers; i++) {
			wait_done(node->tx_cq, &out[i]);
			wait_done(node->rx_cq, &in[i]);
			message_check(&in[i], i, HELLO);
			message_free(&in[i]);
			message_free(&out[i]);
		}
	}
}

static void test_many_peers(bool sender)
{
	static struct fid_ep *eps[PEERS];
	static struct name names[PEERS];
	struct node_options options = {.caps = FI_SOURCE, .av_type = FI_AV_TABLE};
	unsigned peers = count_of_peers();
	struct name own, theirs;
	struct node node;

	CHECK(peers && peers <= PEERS);
	open_files(peers);
	node_open(&node, &options);
	node_name(&node, &own);
	for (unsigned i = 0; sender && i < peers; i++) {
		eps[i] = i ? node_another_endpoint(&node, &options) : node.ep;
		endpoint_name(eps[i], &names[i]);
	}
	aside_exchange(&own, &theirs, sizeof(own));
	aside_exchange(names, names, sizeof(names[0]) * peers);
	if (sender) {
		node.peer = node_insert(&node, &theirs);
		crowd(&node, peers, eps);
	} else {
		hub(&node, peers, names);
	}
	aside_sync();
	for (unsigned i = 1; sender && i < peers; i++)
		CHECK_EQ(fi_close(&eps[i]->fid), 0);
	node_close(&node);
}

const struct test limit_tests[] = {
	{.name = "many_addresses", .run = test_many_addresses},
	{.name = "many_peers", .run = test_many_peers, .on_request = true},
	{0},
};
