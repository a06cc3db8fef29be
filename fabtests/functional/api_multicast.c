// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* gamma-api: multicast groups of datagram endpoints. */
#include "api.h"

#include <stdlib.h>
#include <string.h>

enum { LEN = 1000, MEMBERS = 3 }; /* of each process; one more is in no group */

/* 01:00:5e:00:00:NUMBER, port 1000 + PORT; laid out as the manual page says. */
static void group_name(struct node *node, struct name *name, uint8_t number, uint8_t port)
{
	static const uint8_t mac[] = {0x01, 0x00, 0x5e, 0, 0};

	node_name(node, name);
	memcpy(name->bytes, mac, sizeof(mac));
	name->bytes[5] = number;
	name->bytes[6] = 1000 >> 8;
	name->bytes[7] = (1000 & 255) + port;
	memset(name->bytes + 8, 0, 4);
	name->bytes[12] = 1; /* over every link */
}

static struct fid_mc *join(struct node *node, uint8_t number, uint8_t port, uint64_t flags)
{
	struct fi_eq_entry entry;
	struct name name;
	struct fid_mc *mc;
	uint32_t event;

	group_name(node, &name, number, port);
	CHECK_EQ(fi_join(node->ep, name.bytes, flags, &mc, node), 0);
	CHECK_EQ(fi_eq_read(node->eq, &event, &entry, sizeof(entry), 0), sizeof(entry));
	CHECK_EQ(event, FI_JOIN_COMPLETE);
	CHECK(entry.fid == &mc->fid);
	CHECK(entry.context == node);
	return mc;
}

static void send_to_group(struct node *node, struct fid_mc *mc, unsigned seed)
{
	struct completion completion;
	struct message message;

	message_init(&message, LEN, 1);
	message_fill(&message, seed);
	message.send = SENDMSG;
	message.flags = FI_MULTICAST | FI_COMPLETION;
	message.addr = fi_mc_addr(mc);
	message_send(node, &message);
	wait_completion(node->tx_cq, &completion);
	CHECK(completion.entry.op_context == &message);
	CHECK_EQ(completion.entry.flags, FI_SEND | FI_MSG | FI_MULTICAST);
	message_free(&message);
}

/* To all members but the sender, wherever they are, and to nobody else. */
static void test_multicast(bool sender)
{
	struct node_options options = {.type = FI_EP_DGRAM, .caps = FI_MULTICAST, .events = true};
	struct node nodes[MEMBERS + 1];
	struct message in[MEMBERS + 1];
	struct fid_mc *mcs[MEMBERS + 1], *other;

	for (unsigned i = 0; i <= MEMBERS; i++) {
		node_open(&nodes[i], &options);
		/* Others have the same MAC or the same port, and not both. */
		mcs[i] = join(&nodes[i], i < MEMBERS ? 1 : 2, 1, 0);
		message_init(&in[i], LEN, 1);
		message_receive(&nodes[i], &in[i]);
	}
	other = join(&nodes[MEMBERS], 1, 2, 0);
	aside_sync();
	if (sender)
		send_to_group(&nodes[0], mcs[0], 7);
	for (unsigned i = sender; i < MEMBERS; i++) {
		wait_received(&nodes[i], &in[i], LEN);
		message_check(&in[i], 7, LEN);
	}
	aside_sync();
	expect_nothing(nodes[MEMBERS].rx_cq);
	if (sender)
		expect_nothing(nodes[0].rx_cq);
	CHECK_EQ(fi_close(&other->fid), 0);
	for (unsigned i = 0; i <= MEMBERS; i++) {
		CHECK_EQ(fi_close(&nodes[i].ep->fid), -FI_EBUSY);
		CHECK_EQ(fi_close(&mcs[i]->fid), 0);
		message_free(&in[i]);
	}
	aside_sync();
	for (unsigned i = 0; i <= MEMBERS; i++)
		node_close(&nodes[i]);
}

/* It has joined to receive only. */
static void refuse_to_send(struct node *node, struct fid_mc *mc)
{
	struct fi_msg msg = {.addr = fi_mc_addr(mc)};

	CHECK_EQ(fi_sendmsg(node->ep, &msg, FI_MULTICAST), -FI_EINVAL);
}

/* An endpoint may do no more in a group than elsewhere. */
static void test_multicast_one_direction(bool sender)
{
	static const uint64_t directions[] = {FI_SEND, FI_RECV};
	struct node_options options = {
		.type = FI_EP_DGRAM, .caps = FI_MULTICAST | directions[sender], .events = true};
	struct fid_mc *mc;
	struct node node;
	struct name name;

	node_open(&node, &options);
	group_name(&node, &name, 1, 1);
	CHECK_EQ(fi_join(node.ep, name.bytes, directions[!sender], &mc, NULL), -FI_EOPNOTSUPP);
	mc = join(&node, 1, 1, 0);
	if (sender)
		refuse_to_send(&node, mc);
	else
		send_to_group(&node, mc, 1);
	CHECK_EQ(fi_close(&mc->fid), 0);
	node_close_pair(&node);
}

/* A member that has left receives nothing, nor does a send-only member; a sleeping member is woken.
 */
static void test_multicast_leave(bool sender)
{
	struct node_options options = {
		.type = FI_EP_DGRAM, .caps = FI_MULTICAST, .events = true, .wait = FI_WAIT_FD};
	struct fi_cq_tagged_entry entry;
	struct message in;
	struct fid_mc *mc;
	struct node node;

	node_open(&node, &options);
	message_init(&in, LEN, 1);
	message_receive(&node, &in);
	mc = join(&node, 1, 1, sender ? FI_SEND : FI_RECV);
	aside_sync();
	if (sender) {
		nap(50);
		send_to_group(&node, mc, 1);
	} else {
		CHECK_EQ(fi_cq_sread(node.rx_cq, &entry, 1, NULL, 1000 * PATIENCE_S), 1);
		CHECK_EQ(entry.flags, FI_RECV | FI_MSG | FI_MULTICAST);
		message_check(&in, 1, LEN);
		refuse_to_send(&node, mc);
		CHECK_EQ(fi_close(&mc->fid), 0);
		message_receive(&node, &in);
	}
	aside_sync();
	if (sender)
		send_to_group(&node, mc, 2);
	aside_sync();
	for (double end = now() + 0.05; now() < end;)
		expect_nothing(node.rx_cq);
	if (!sender)
		mc = join(&node, 1, 1, 0);
	aside_sync();
	if (sender)
		send_to_group(&node, mc, 3);
	else
		wait_received(&node, &in, LEN);
	message_check(&in, 3, sender ? 0 : LEN);
	CHECK_EQ(fi_close(&mc->fid), 0);
	message_free(&in);
	node_close_pair(&node);
}

/* Calls without flags, to a group by the endpoint's default ones. */
static void test_multicast_default(bool sender)
{
	struct node_options options = {.type = FI_EP_DGRAM,
				       .caps = FI_MULTICAST,
				       .tx_op_flags = FI_MULTICAST,
				       .events = true};
	struct message in, out;
	struct fid_mc *mc;
	struct node node;

	node_open(&node, &options);
	mc = join(&node, 1, 1, 0);
	for (unsigned i = 0; i < 2; i++) {
		message_init(&in, LEN, 1);
		message_init(&out, LEN, 1);
		message_fill(&out, i);
		out.send = i ? INJECT : SEND;
		out.addr = fi_mc_addr(mc);
		if (!sender)
			message_receive(&node, &in);
		aside_sync();
		if (sender)
			message_send(&node, &out);
		if (sender && !i)
			wait_sent(&node, &out);
		if (!sender) {
			wait_received(&node, &in, LEN);
			message_check(&in, i, LEN);
		}
		message_free(&in);
		message_free(&out);
	}
	aside_sync();
	CHECK_EQ(fi_close(&mc->fid), 0);
	node_close_pair(&node);
}

static void test_multicast_arguments(bool sender)
{
	struct node_options options = {.type = FI_EP_DGRAM, .caps = FI_MULTICAST, .events = true};
	struct fi_msg msg = {.addr = 12345};
	struct node node, plain;
	struct fid_mc *mc;
	struct name name;

	(void) sender;
	node_open(&node, &options);
	node_name(&node, &name);
	CHECK_EQ(fi_join(node.ep, name.bytes, 0, &mc, NULL), -FI_EINVAL); /* of one host */
	CHECK_EQ(fi_join(node.ep, NULL, 0, &mc, NULL), -FI_EINVAL);
	group_name(&node, &name, 1, 1);
	CHECK_EQ(fi_join(node.ep, name.bytes, FI_COLLECTIVE, &mc, NULL), -FI_EOPNOTSUPP);
	CHECK_EQ(fi_join(node.ep, name.bytes, FI_MORE, &mc, NULL), -FI_EBADFLAGS);
	CHECK_EQ(fi_sendmsg(node.ep, &msg, FI_MULTICAST), -FI_EINVAL);
	CHECK_EQ(fi_sendmsg(node.ep, &msg, FI_TRANSMIT_COMPLETE), -FI_EINVAL); /* of the address */
	CHECK_EQ(fi_sendmsg(node.ep, &msg, FI_DELIVERY_COMPLETE), -FI_EBADFLAGS);
	CHECK_EQ(fi_sendmsg(node.ep, &msg, FI_MATCH_COMPLETE), -FI_EBADFLAGS);
	CHECK_EQ(fi_sendmsg(node.ep, &msg, FI_FENCE), -FI_EBADFLAGS);
	options.caps = 0;
	node_open(&plain, &options);
	CHECK_EQ(fi_join(plain.ep, name.bytes, 0, &mc, NULL), -FI_EOPNOTSUPP);
	node_close(&plain);
	options.caps = FI_MULTICAST;
	options.events = false;
	node_open(&plain, &options);
	CHECK_EQ(fi_join(plain.ep, name.bytes, 0, &mc, NULL), -FI_ENOEQ);
	node_close(&plain);
	options.type = FI_EP_RDM;
	options.caps = 0;
	node_open(&plain, &options);
	CHECK_EQ(fi_join(plain.ep, name.bytes, 0, &mc, NULL), -FI_ENOSYS);
	node_close(&plain);
	node_close_pair(&node);
}

const struct test multicast_tests[] = {
	{.name = "multicast", .run = test_multicast, .both_ways = true},
	{.name = "multicast_leave", .run = test_multicast_leave, .both_ways = true},
	{.name = "multicast_default", .run = test_multicast_default, .both_ways = true},
	{.name = "multicast_one_direction", .run = test_multicast_one_direction},
	{.name = "multicast_arguments", .run = test_multicast_arguments},
	{0},
};
