// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Unit tests of common/link/packet.c, over a veth pair in a namespace of their own (netns.h), and,
 * at MTU 1,500, those of them that make sense there of common/link/xdp.c.
 */
#include "netns.h"

#include <errno.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "link/packet.h"
#include "link/packet_socket.h"
#include "link/xdp.h"
#include "wire/codec.h"

enum { PORT = 9228, TENANT = 1000 };

static struct gamma_stats stats[2];
static struct gamma_link *out, *in; /* on g0, on g1 */

static bool over_xdp;

static struct gamma_packet_attr attr(const char *nic)
{
	return (struct gamma_packet_attr){
		.mac = nic[1] == '0' ? mac0 : mac1,
		.ifindex = (int) if_nametoindex(nic),
		.ethertype = GAMMA_ETHERTYPE,
		.port = PORT,
		.tenant = TENANT,
		.mtu = 1500,
		.ring_bytes = 1 << 20,
	};
}

/* The kernel takes its time to let go of a NIC's queue. */
static int open_link(const struct gamma_packet_attr *a, struct gamma_stats *s,
		     struct gamma_link **link)
{
	int ret = over_xdp ? -EBUSY : gamma_packet_open(a, s, link);

	for (int i = 0; ret == -EBUSY && i < 1000; i++) {
		ret = gamma_xdp_open(a, false, s, link);
		usleep(ret ? 50000 : 0);
	}
	return ret;
}

static int setup(void **state)
{
	struct gamma_packet_attr a = attr("g0"), b = attr("g1");

	(void) state;
	memset(stats, 0, sizeof(stats));
	out = in = NULL;
	if (!a.ifindex || !b.ifindex)
		return 0; /* no namespace: every test skips */
	return open_link(&a, &stats[0], &out) || open_link(&b, &stats[1], &in);
}

static int teardown(void **state)
{
	(void) state;
	if (out)
		out->ops->close(out);
	if (in)
		in->ops->close(in);
	return 0;
}

static struct gamma_fields fields(uint32_t seq)
{
	return (struct gamma_fields){
		.dst_port = PORT,
		.src_port = 1,
		.tenant = TENANT,
		.kind = GAMMA_KIND_DATA,
		.seq = seq,
	};
}

static void make(struct gamma_frame *frame, struct gamma_fields *f, const void *payload)
{
	frame->iov_count = f->payload_len ? 1 : 0;
	frame->iov[0] = (struct iovec){(void *) payload, f->payload_len};
	frame->head = gamma_codec_build(f, mac1, mac0, GAMMA_ETHERTYPE,
					frame->room + sizeof(frame->room));
	frame->head_len = (size_t) GAMMA_ETH_LEN + f->header_len;
}

static unsigned put(struct gamma_fields f, const void *payload)
{
	struct gamma_frame frame;
	int error;

	make(&frame, &f, payload);
	return out->ops->send(out, &frame, 1, &error);
}

/* The next frame, or false after some time without. */
static bool take(struct gamma_fields *f, struct gamma_arrival *arrival, int wait_ms)
{
	struct pollfd fd = {.fd = in->fd, .events = POLLIN};

	if (!in->ops->next(in, arrival)) {
		poll(&fd, 1, wait_ms);
		if (!in->ops->next(in, arrival))
			return false;
	}
	assert_int_equal(gamma_codec_parse(arrival->frame, arrival->len, f), GAMMA_OK);
	return true;
}

/* The number of the next frame; what the filter passes comes in order, so a frame that was to be
 * dropped is known to be gone when the next one is here. */
static uint32_t next_number(void)
{
	struct gamma_arrival arrival;
	struct gamma_fields f;

	assert_true(take(&f, &arrival, 1000));
	in->ops->release(in);
	return f.seq;
}

static void pass__frame_with_payload(void **state)
{
	struct gamma_arrival arrival;
	struct gamma_fields f = fields(7);

	(void) state;
	netns_needed();
	f.payload_len = 5;
	assert_int_equal(put(f, "gamma"), 1);
	assert_true(take(&f, &arrival, 1000));
	assert_int_equal(f.seq, 7);
	assert_memory_equal(arrival.frame + GAMMA_ETH_LEN + f.header_len, "gamma", 5);
	assert_true(over_xdp || arrival.stamp > 0);
	in->ops->release(in);
	assert_false(in->ops->next(in, &arrival));
}

static void pass__largest_frame(void **state)
{
	uint8_t bytes[1500 - GAMMA_HEADER_LEN];
	struct gamma_arrival arrival;
	struct gamma_fields f = fields(1);

	(void) state;
	netns_needed();
	memset(bytes, 0xa5, sizeof(bytes));
	f.payload_len = sizeof(bytes);
	assert_int_equal(put(f, bytes), 1);
	assert_true(take(&f, &arrival, 1000));
	assert_int_equal(arrival.len, GAMMA_ETH_LEN + 1500);
	assert_memory_equal(arrival.frame + GAMMA_ETH_LEN + GAMMA_HEADER_LEN, bytes, sizeof(bytes));
	in->ops->release(in);
}

static void filter__other_port_and_other_tenant(void **state)
{
	struct gamma_fields f;

	(void) state;
	netns_needed();
	f = fields(1), f.dst_port++;
	put(f, NULL);
	f = fields(2), f.dst_port = GAMMA_PORT_ANY;
	put(f, NULL);
	f = fields(3), f.tenant++;
	put(f, NULL);
	put(fields(4), NULL);
	assert_int_equal(next_number(), 4);
}

static void filter__lookup_of_any_tenant_for_this_port_or_any(void **state)
{
	struct gamma_fields f = fields(1);

	(void) state;
	netns_needed();
	f.kind = GAMMA_KIND_LOOKUP, f.tenant = 77;
	put(f, NULL);
	f.seq = 2, f.dst_port = GAMMA_PORT_ANY;
	put(f, NULL);
	f.seq = 3, f.dst_port = PORT + 1;
	put(f, NULL);
	put(fields(4), NULL);
	assert_int_equal(next_number(), 1);
	if (!over_xdp) /* else it goes to the packet sockets, of which there may be many */
		assert_int_equal(next_number(), 2);
	assert_int_equal(next_number(), 4);
}

static void filter__frames_for_another_mac_or_type(void **state)
{
	struct gamma_frame frame;
	struct gamma_fields f = fields(1);
	int error;

	(void) state;
	netns_needed();
	make(&frame, &f, NULL);
	((uint8_t *) frame.head)[5] = 9; /* not g1 */
	out->ops->send(out, &frame, 1, &error);
	make(&frame, &f, NULL);
	((uint8_t *) frame.head)[13] = 0xb6;
	out->ops->send(out, &frame, 1, &error);
	put(fields(4), NULL);
	assert_int_equal(next_number(), 4);
}

static void burst__in_order_and_in_pieces(void **state)
{
	enum { COUNT = 100 };
	static struct gamma_frame frames[COUNT];
	static char text[] = "in three pieces";
	struct gamma_arrival arrival;
	struct gamma_fields f;
	int error;

	(void) state;
	netns_needed();
	for (unsigned i = 0; i < COUNT; i++) {
		f = fields(i);
		f.payload_len = 15;
		make(&frames[i], &f, text);
		frames[i].iov[0] = (struct iovec){text, 3};
		frames[i].iov[1] = (struct iovec){text + 3, 6};
		frames[i].iov[2] = (struct iovec){text + 9, 6};
		frames[i].iov_count = 3;
	}
	assert_int_equal(out->ops->send(out, frames, COUNT, &error), COUNT);
	if (!over_xdp)
		assert_int_equal(stats[0].send_calls, 2);
	for (unsigned i = 0; i < COUNT; i++) {
		assert_true(take(&f, &arrival, 1000));
		assert_int_equal(f.seq, i);
		assert_int_equal(arrival.alone, !over_xdp && i == COUNT - 1);
		assert_memory_equal(arrival.frame + GAMMA_ETH_LEN + f.header_len, text, 15);
		in->ops->release(in);
	}
}

static void ring__goes_round_many_times(void **state)
{
	(void) state;
	netns_needed();
	for (uint32_t i = 0; i < 5 * in->slots; i++) {
		put(fields(i), NULL);
		assert_int_equal(next_number(), i);
	}
	in->ops->count(in);
	assert_int_equal(stats[1].ring_drops, 0);
}

static void ring__full_is_counted(void **state)
{
	unsigned sent = 0;

	(void) state;
	netns_needed();
	for (uint32_t i = 0; i < in->slots + 50; i++)
		sent += put(fields(i), NULL);
	assert_int_equal(sent, in->slots + 50);
	for (uint32_t i = 0; i < in->slots; i++)
		assert_int_equal(next_number(), i);
	in->ops->count(in);
	assert_int_equal(stats[1].ring_drops, 50);
	in->ops->count(in);
	assert_int_equal(stats[1].ring_drops, 50);
	put(fields(1000), NULL);
	assert_int_equal(next_number(), 1000);
}

static void slots__as_many_as_fit_but_not_fewer_than_256(void **state)
{
	struct gamma_packet_attr a = attr("g1");
	struct gamma_link *link;

	(void) state;
	netns_needed();
	a.port++;
	a.ring_bytes = 4 << 20;
	assert_int_equal(gamma_packet_open(&a, &stats[1], &link), 0);
	assert_in_range(link->slots, (4 << 20) / 1700, (4 << 20) / 1500);
	link->ops->close(link);
	a.mtu = 9000;
	a.ring_bytes = 0;
	assert_int_equal(gamma_packet_open(&a, &stats[1], &link), 0);
	assert_in_range(link->slots, 256, 300);
	link->ops->close(link);
}

/* Two cache lines, of which the second holds a short frame's header. */
static void slots__begin_with_a_pair_of_cache_lines(void **state)
{
	const uint32_t mtus[] = {576, 1499, 1500, 9000, 65535};
	struct tpacket_req req;

	(void) state;
	for (size_t i = 0; i < gamma_array_size(mtus); i++) {
		gamma_packet_socket_plan_ring(mtus[i], 4 << 20, &req);
		assert_int_equal(req.tp_frame_size % 128, 0);
		assert_in_range(req.tp_frame_size, mtus[i] + 80, mtus[i] + 80 + 127);
		assert_int_equal(req.tp_block_size % (uint32_t) getpagesize(), 0);
		assert_in_range(req.tp_block_size / req.tp_frame_size * req.tp_block_nr,
				req.tp_frame_nr, req.tp_frame_nr);
	}
}

/* A frame that the kernel is still writing, with its length already set: not to be taken yet. */
static void quiet__until_the_frame_is_whole(void **state)
{
	uint32_t slot[64] = {0};
	struct gamma_link link = {
		.word = (gamma_link_word *) slot, .bits = TP_STATUS_USER, .ahead = 66};

	(void) state;
	assert_true(gamma_link_is_quiet(&link));
	slot[1] = 70;
	assert_true(gamma_link_is_quiet(&link));
	slot[0] = TP_STATUS_USER;
	assert_false(gamma_link_is_quiet(&link));
}

static void quiet__after_the_last_frame(void **state)
{
	(void) state;
	netns_needed();
	assert_true(gamma_link_is_quiet(in));
	put(fields(1), NULL);
	put(fields(2), NULL);
	assert_int_equal(next_number(), 1);
	assert_int_equal(next_number(), 2);
	assert_true(gamma_link_is_quiet(in));
	assert_int_equal(*in->word, 0);
}

/* Nothing leaves, and the link says why. */
static void send_fails(int error)
{
	struct gamma_fields f = fields(1);
	struct gamma_frame frame;
	int given = 0;

	make(&frame, &f, NULL);
	assert_int_equal(out->ops->send(out, &frame, 1, &given), 0);
	assert_int_equal(given, error);
}

/* What is put leaves and arrives, soon. */
static void send_passes(void)
{
	for (int i = 0; i < 1000 && !put(fields(2), NULL); i++)
		usleep(1000);
	assert_int_equal(next_number(), 2);
}

static void send__link_down_takes_nothing(void **state)
{
	(void) state;
	netns_needed();
	assert_int_equal(netns_ip("link set g0 down"), 0);
	send_fails(-ENETDOWN);
	assert_int_equal(netns_ip("link set g0 up"), 0);
	send_passes();
}

static void send__nic_removed(void **state)
{
	(void) state;
	netns_needed();
	assert_int_equal(netns_ip("link delete g0"), 0);
	send_fails(-ENODEV);
	assert_true(netns_add_nics());
}

/* As after its driver was loaded anew: it has another index. */
static void send__nic_is_back(void **state)
{
	(void) state;
	netns_needed();
	assert_int_equal(netns_ip("link delete g0"), 0);
	send_fails(-ENODEV);
	assert_true(netns_add_nics());
	send_fails(-EAGAIN);
	gamma_packet_look_for_nic(in); /* it sends nothing */
	send_passes();
}

/* The name may be another NIC's by now. */
static void send__another_nic_has_the_name(void **state)
{
	(void) state;
	netns_needed();
	assert_int_equal(netns_ip("link delete g0"), 0);
	assert_int_equal(netns_ip("link add g0 type veth peer name g1"), 0);
	send_fails(-ENODEV);
	assert_int_equal(netns_ip("link delete g0"), 0);
	assert_true(netns_add_nics());
}

/* That wakes a sleeper once, and not again and again. */
static void arm__link_down_lets_sleep(void **state)
{
	struct pollfd fd = {.events = POLLIN};

	(void) state;
	netns_needed();
	fd.fd = out->fd;
	assert_false(out->ops->arm(out));
	assert_int_equal(netns_ip("link set g0 down"), 0);
	assert_false(out->ops->arm(out));
	assert_int_equal(poll(&fd, 1, 20), 0);
	assert_int_equal(netns_ip("link set g0 up"), 0);
	send_passes();
}

/* What a link says of a frame of so many bytes, alone or behind a small one; 0: it took it. */
static int refusal(uint16_t bytes, unsigned before)
{
	static const uint8_t payload[9000];
	struct gamma_fields f[2] = {fields(0), fields(1)};
	struct gamma_frame frames[2];
	int error = 0;

	f[before].payload_len = (uint16_t) (bytes - GAMMA_HEADER_LEN);
	for (unsigned i = 0; i <= before; i++)
		make(&frames[i], &f[i], payload);
	return out->ops->send(out, frames, before + 1, &error) == before + 1 ? 0 : error;
}

static void send__mtu_lowered_says_to_what(void **state)
{
	(void) state;
	netns_needed();
	out->mtu = 9000;
	assert_int_equal(netns_ip("link set dev g0 mtu 4000"), 0);
	assert_int_equal(refusal(4000, 0), 0);
	assert_int_equal(refusal(4001, 0), -EMSGSIZE);
	assert_int_equal(out->mtu, 4000);
	assert_int_equal(refusal(4001, 0), -EAGAIN); /* that has been said */
	assert_int_equal(netns_ip("link set dev g0 mtu 3000"), 0);
	/* A burst of which the first frame leaves: the next call reports why the second did not. */
	assert_int_equal(refusal(4000, 1), -EAGAIN);
	assert_int_equal(refusal(4000, 0), -EMSGSIZE);
	assert_int_equal(out->mtu, 3000);
	assert_int_equal(netns_ip("link set dev g0 mtu 9000"), 0);
	assert_int_equal(refusal(9000, 0), 0);
}

/* The kernel only says that there is no room. */
static void send__veth_peer_with_a_smaller_mtu(void **state)
{
	(void) state;
	netns_needed();
	assert_int_equal(netns_ip("link set dev g1 mtu 1500"), 0);
	assert_int_equal(refusal(1500, 0), 0);
	assert_int_equal(refusal(9000, 0), -EAGAIN);
	assert_int_equal(refusal(1500, 0), 0);
	assert_int_equal(netns_ip("link set dev g1 mtu 9000"), 0);
}

static void open__nic_that_is_not_there(void **state)
{
	struct gamma_packet_attr a = attr("g1");
	struct gamma_link *link;

	(void) state;
	netns_needed();
	a.ifindex = 9999;
	assert_int_equal(gamma_packet_open(&a, &stats[1], &link), -ENODEV);
}

static void open__without_the_privilege(void **state)
{
	struct gamma_packet_attr a = attr("g1");
	struct gamma_link *link;
	int status;
	pid_t pid;

	(void) state;
	netns_needed();
	pid = fork();
	if (!pid)
		_exit(setresuid(65534, 65534, 65534) ||
		      gamma_packet_open(&a, &stats[1], &link) != -EPERM);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* ---- AF_XDP alone ---- */

/* Built with it, on a kernel that has it? */
static bool have_xdp(void)
{
#ifdef GAMMA_XDP
	int fd = socket(AF_XDP, SOCK_RAW, 0);

	if (fd >= 0 || errno != EAFNOSUPPORT)
		return close(fd), true;
#endif
	return false;
}

static int xdp_setup(void **state)
{
	(void) state;
	over_xdp = true;
	netns_setup(state);
	return netns_ip("link set dev g0 mtu 1500"), netns_ip("link set dev g1 mtu 1500"), 0;
}

static void xdp__frames_of_others_go_where_they_went(void **state)
{
	struct gamma_packet_attr a = attr("g1");
	struct gamma_link *mine = in, *other;
	struct gamma_fields f = fields(5);

	(void) state;
	netns_needed();
	a.port++;
	assert_int_equal(gamma_packet_open(&a, &stats[1], &other), 0);
	f.dst_port++;
	put(f, NULL);
	put(fields(6), NULL);
	assert_int_equal(next_number(), 6);
	in = other;
	assert_int_equal(next_number(), 5);
	in = mine;
	other->ops->close(other);
}

static void xdp__queue_has_one_owner_and_is_free_after_it(void **state)
{
	struct gamma_packet_attr a = attr("g1");
	struct gamma_link *link;

	(void) state;
	netns_needed();
	assert_int_equal(gamma_xdp_open(&a, false, &stats[1], &link), -EBUSY);
	in->ops->close(in);
	in = NULL;
	assert_int_equal(open_link(&a, &stats[1], &in), 0);
	put(fields(1), NULL);
	assert_int_equal(next_number(), 1);
}

static void xdp__mtu_above_a_page_is_refused(void **state)
{
	struct gamma_packet_attr a = attr("g1");
	struct gamma_link *link;

	(void) state;
	netns_needed();
	a.mtu = GAMMA_XDP_MTU_MAX + 1;
	assert_int_equal(gamma_xdp_open(&a, false, &stats[1], &link), -EMSGSIZE);
}

#define LINK_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		LINK_TEST(pass__frame_with_payload),
		LINK_TEST(pass__largest_frame),
		LINK_TEST(filter__other_port_and_other_tenant),
		LINK_TEST(filter__lookup_of_any_tenant_for_this_port_or_any),
		LINK_TEST(filter__frames_for_another_mac_or_type),
		LINK_TEST(burst__in_order_and_in_pieces),
		LINK_TEST(ring__goes_round_many_times),
		LINK_TEST(ring__full_is_counted),
		LINK_TEST(slots__as_many_as_fit_but_not_fewer_than_256),
		LINK_TEST(slots__begin_with_a_pair_of_cache_lines),
		LINK_TEST(quiet__until_the_frame_is_whole),
		LINK_TEST(quiet__after_the_last_frame),
		LINK_TEST(send__link_down_takes_nothing),
		LINK_TEST(send__nic_removed),
		LINK_TEST(send__nic_is_back),
		LINK_TEST(send__another_nic_has_the_name),
		LINK_TEST(arm__link_down_lets_sleep),
		LINK_TEST(send__mtu_lowered_says_to_what),
		LINK_TEST(send__veth_peer_with_a_smaller_mtu),
		LINK_TEST(open__nic_that_is_not_there),
		LINK_TEST(open__without_the_privilege),
	};

	const struct CMUnitTest xdp_tests[] = {
		LINK_TEST(pass__frame_with_payload),
		LINK_TEST(pass__largest_frame),
		LINK_TEST(filter__other_port_and_other_tenant),
		LINK_TEST(filter__lookup_of_any_tenant_for_this_port_or_any),
		LINK_TEST(filter__frames_for_another_mac_or_type),
		LINK_TEST(burst__in_order_and_in_pieces),
		LINK_TEST(ring__goes_round_many_times),
		LINK_TEST(ring__full_is_counted),
		LINK_TEST(arm__link_down_lets_sleep),
		LINK_TEST(xdp__frames_of_others_go_where_they_went),
		LINK_TEST(xdp__queue_has_one_owner_and_is_free_after_it),
		LINK_TEST(xdp__mtu_above_a_page_is_refused),
	};
	int failed = cmocka_run_group_tests(tests, netns_setup, NULL);

	return failed + (have_xdp() ? cmocka_run_group_tests(xdp_tests, xdp_setup, NULL) : 0);
}
