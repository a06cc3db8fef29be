// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of common/link/port.c. Abstract names need no privilege; the MAC is nobody's. */
#include "unit.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "link/port.h"

/* Of this process alone, so that tests can run at the same time. */
static uint8_t mac[GAMMA_MAC_LEN];

static int setup(void **state)
{
	pid_t pid = getpid();

	(void) state;
	mac[0] = 0x06;
	memcpy(mac + 2, &pid, 4);
	return 0;
}

static void claim__is_exclusive(void **state)
{
	uint16_t port = 4711;
	int fd = gamma_port_claim(mac, &port);

	(void) state;
	assert_true(fd >= 0);
	assert_int_equal(gamma_port_claim(mac, &port), -EADDRINUSE);
	close(fd);
	fd = gamma_port_claim(mac, &port);
	assert_true(fd >= 0);
	close(fd);
}

static void claim__other_nic_same_port(void **state)
{
	uint8_t other[GAMMA_MAC_LEN];
	uint16_t port = 4711;
	int first = gamma_port_claim(mac, &port), second;

	(void) state;
	memcpy(other, mac, sizeof(other));
	other[1] ^= 1;
	second = gamma_port_claim(other, &port);
	assert_true(first >= 0 && second >= 0);
	close(first);
	close(second);
}

static void claim__chooses_an_ephemeral_port(void **state)
{
	uint16_t first = 0, second = 0;
	int a = gamma_port_claim(mac, &first), b = gamma_port_claim(mac, &second);

	(void) state;
	assert_true(a >= 0 && b >= 0);
	assert_true(first >= 32768 && second >= 32768);
	assert_int_not_equal(first, second);
	close(a);
	close(b);
}

/* A process that is killed leaves nothing behind. */
static void claim__free_after_a_kill(void **state)
{
	uint16_t port = 4712;
	int ready[2];
	pid_t pid;
	char byte;
	int fd;

	(void) state;
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		byte = gamma_port_claim(mac, &port) >= 0;
		if (write(ready[1], &byte, 1) == 1)
			pause();
		_exit(1);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(byte, 1);
	assert_int_equal(gamma_port_claim(mac, &port), -EADDRINUSE);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	fd = gamma_port_claim(mac, &port);
	assert_true(fd >= 0);
	close(fd);
	close(ready[0]);
	close(ready[1]);
}

/* The owner of the name, with or without access to the NIC; gammad checks that as well. */
static void owner__is_the_user_who_has_the_name(void **state)
{
	uint16_t port = 4713;
	int fd = gamma_port_claim(mac, &port);
	uid_t uid = 0;

	(void) state;
	assert_true(fd >= 0);
	assert_int_equal(gamma_port_owner(mac, port, &uid), 0);
	assert_int_equal(uid, geteuid());
	close(fd);
	assert_int_equal(gamma_port_owner(mac, port, &uid), -ECONNREFUSED);
}

/* gammad's names must not be an endpoint's: programs trust what comes from them. */
static void gammad_mac__is_never_an_endpoints(void **state)
{
	static const uint8_t nic[GAMMA_MAC_LEN] = {2, 0, 0, 0, 0, 1}, slot[GAMMA_MAC_LEN] = {6};
	uint8_t found[GAMMA_MAC_LEN];

	(void) state;
	gamma_port_gammad_mac(nic, slot, found);
	assert_memory_equal(found, nic, GAMMA_MAC_LEN);
	gamma_port_gammad_mac(nic, nic, found);
	assert_memory_not_equal(found, nic, GAMMA_MAC_LEN);
	assert_int_equal(found[0] & 1, 1);
}

static void name__is_abstract_and_readable(void **state)
{
	static const uint8_t some[GAMMA_MAC_LEN] = {2, 0x47, 0x41, 0x4d, 0, 0xff};
	struct sockaddr_un name;
	unsigned len = gamma_port_name(some, 65535, &name);

	(void) state;
	assert_int_equal(name.sun_family, AF_UNIX);
	assert_int_equal(name.sun_path[0], 0);
	assert_int_equal(len, offsetof(struct sockaddr_un, sun_path) + 1 +
				      strlen("gamma/0247414d00ff/65535"));
	assert_memory_equal(name.sun_path + 1, "gamma/0247414d00ff/65535", 24);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(claim__is_exclusive),
		TEST(claim__other_nic_same_port),
		TEST(claim__chooses_an_ephemeral_port),
		TEST(claim__free_after_a_kill),
		TEST(owner__is_the_user_who_has_the_name),
		TEST(gammad_mac__is_never_an_endpoints),
		TEST(name__is_abstract_and_readable),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
