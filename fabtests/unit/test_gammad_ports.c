// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * gammad/ports.c: which names of ports count. With the kernel's own lists, in a network namespace
 * of this test's; what another user does is done with that user's id for files.
 */
#include "unit.h"

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "gammad/ports.h"
#include "link/port.h"
#include "netns.h"
#include "wire/wire.h"

enum { USER = 1234, PORT = 4711 };

static const uint8_t mac[GAMMA_MAC_LEN] = {2, 0, 0, 0, 0, 0};
static struct gammad_ports ports;

static int setup(void **state)
{
	int ret = netns_setup(state);

	return ret ? ret : gammad_ports_open(&ports);
}

static int teardown(void **state)
{
	(void) state;
	gammad_ports_close(&ports);
	return 0;
}

static bool owned(void)
{
	return gammad_ports_are_owned(&ports, mac, PORT, (int) if_nametoindex("g0"),
				      GAMMA_ETHERTYPE);
}

/* The kernel notes that id as the socket's owner. */
static int claim_as(uid_t uid)
{
	uint16_t port = PORT;
	int fd;

	setfsuid(uid);
	fd = gamma_port_claim(mac, &port);
	setfsuid(0);
	assert_true(fd >= 0);
	return fd;
}

static int packet_socket_as(uid_t uid, const char *nic, uint16_t protocol)
{
	struct sockaddr_ll address = {.sll_family = AF_PACKET,
				      .sll_protocol = htons(protocol),
				      .sll_ifindex = (int) if_nametoindex(nic)};
	int fd;

	setfsuid(uid);
	fd = socket(AF_PACKET, SOCK_RAW, 0);
	setfsuid(0);
	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *) &address, sizeof(address)), 0);
	return fd;
}

static void owned__by_no_process(void **state)
{
	(void) state;
	netns_needed();
	assert_false(owned());
}

static void owned__name_of_root_counts(void **state)
{
	int fd;

	(void) state;
	netns_needed();
	fd = claim_as(0);
	assert_true(owned());
	close(fd);
	assert_false(owned());
}

/* Any user may bind any name. */
static void owned__name_of_a_user_alone_does_not_count(void **state)
{
	int fd;

	(void) state;
	netns_needed();
	fd = claim_as(USER);
	assert_false(owned());
	close(fd);
}

/* gammad cannot connect to such a socket, and so cannot ask whose it is. */
static void owned__name_that_talks_to_one_only_does_not_count(void **state)
{
	struct sockaddr_un name;
	unsigned len;
	int fd, other;
	uint16_t port = PORT + 1;

	(void) state;
	netns_needed();
	fd = claim_as(USER);
	other = gamma_port_claim(mac, &port);
	len = gamma_port_name(mac, port, &name);
	assert_int_equal(connect(fd, (struct sockaddr *) &name, len), 0);
	assert_false(owned());
	close(other);
	close(fd);
}

static void owned__name_of_a_user_of_the_nic_counts(void **state)
{
	int fd, packets;

	(void) state;
	netns_needed();
	fd = claim_as(USER);
	packets = packet_socket_as(USER, "g0", GAMMA_ETHERTYPE);
	assert_true(owned());
	close(packets);
	assert_false(owned());
	close(fd);
}

static void owned__sockets_elsewhere_are_no_proof(void **state)
{
	int fd, nic, protocol, other;

	(void) state;
	netns_needed();
	fd = claim_as(USER);
	nic = packet_socket_as(USER, "g1", GAMMA_ETHERTYPE);
	protocol = packet_socket_as(USER, "g0", GAMMA_ETHERTYPE + 1);
	other = packet_socket_as(USER + 1, "g0", GAMMA_ETHERTYPE);
	assert_false(owned());
	close(nic);
	close(protocol);
	close(other);
	close(fd);
}

/* Asked twice, the probe's earlier peer is not taken for the later one. */
static void owned__asks_anew_each_time(void **state)
{
	int fd;

	(void) state;
	netns_needed();
	fd = claim_as(0);
	assert_true(owned());
	close(fd);
	fd = claim_as(USER);
	assert_false(owned());
	close(fd);
}

#define HEAD "sk               RefCnt Type Proto  Iface R Rmem   User   Inode\n"
#define LINE "0000000000000000 3      3    88b5   5     1 0      1000   4242\n"

static bool has(const char *text, unsigned uid, int ifindex, uint16_t ethertype)
{
	FILE *file = fmemopen((void *) (uintptr_t) text, strlen(text), "r");
	bool found = gammad_ports_has_socket(file, uid, ifindex, ethertype);

	fclose(file);
	return found;
}

static void has_socket__user_nic_and_protocol(void **state)
{
	(void) state;
	assert_true(has(HEAD LINE, 1000, 5, 0x88b5));
	assert_false(has(HEAD LINE, 1001, 5, 0x88b5));
	assert_false(has(HEAD LINE, 1000, 6, 0x88b5));
	assert_false(has(HEAD LINE, 1000, 5, 0x88b6));
	assert_false(has(HEAD, 1000, 5, 0x88b5));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(owned__by_no_process),
		TEST(owned__name_of_root_counts),
		TEST(owned__name_of_a_user_alone_does_not_count),
		TEST(owned__name_that_talks_to_one_only_does_not_count),
		TEST(owned__name_of_a_user_of_the_nic_counts),
		TEST(owned__sockets_elsewhere_are_no_proof),
		TEST(owned__asks_anew_each_time),
		TEST(has_socket__user_nic_and_protocol),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
