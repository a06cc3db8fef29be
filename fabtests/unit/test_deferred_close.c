// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of common/unix/deferred_close.c, and of its callers. */
#include "netns.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unix/deferred_close.h"
#include "unix/scm.h"
#include "link/port.h"
#include "shm/shm.h"
#include "nic/budget_page.h"

enum { NOBODY = 65534, ALL = GAMMA_SCM_FDS, FDS = 64 };

static const uint8_t mac[GAMMA_MAC_LEN] = {2, 0, 0, 0, 0, 7};

/* So many sockets that linger, none of them ours any more. */
static bool send_lingering(int fd, const struct sockaddr_un *name, unsigned len, int count)
{
	int fds[ALL] = {-1, -1};

	for (int i = 0; i < count; i++) {
		fds[i] = netns_lingering();
		if (fds[i] < 0)
			return false;
	}
	if (gamma_scm_send(fd, name, len, "", 1, fds, (size_t) count))
		return false;
	for (int i = 0; i < count; i++)
		close(fds[i]);
	return true;
}

/* ---- the thread ---- */

static int receive_all(void)
{
	struct gamma_scm scm;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) ||
	    !send_lingering(pair[0], NULL, 0, ALL) ||
	    gamma_scm_receive(pair[1], &(char){0}, 1, &scm) != 1 || scm.fds[1] < 0 ||
	    scm.more_count)
		return 1;
	gamma_deferred_close_fds(scm.fds, ALL);
	return 0;
}

static void close__does_not_wait(void **state)
{
	pid_t child;

	(void) state;
	netns_needed();
	child = fork();
	if (!child)
		_exit(receive_all());
	assert_true(netns_ends(child));
}

static int fill(void)
{
	int threads = 0;

	while (!gamma_deferred_close_is_full() && threads < 1000) {
		int fd = netns_lingering();

		gamma_deferred_close_fds(&fd, 1);
		threads++;
	}
	if (threads != 16)
		return 1;
	/* A child has no such threads. */
	if (!fork())
		_exit(gamma_deferred_close_is_full());
	wait(&threads);
	return threads != 0;
}

static void full__so_many_wait(void **state)
{
	pid_t child;

	(void) state;
	netns_needed();
	child = fork();
	if (!child)
		_exit(fill());
	assert_true(netns_ends(child));
}

/* ---- more descriptors than are asked for ---- */

static void receive__all_there_are(void **state)
{
	int pair[2], sent[GAMMA_SCM_MORE], free_fd = dup(0);
	struct gamma_scm scm;
	union {
		char space[CMSG_SPACE(sizeof(sent))];
		struct cmsghdr align;
	} control = {.space = {0}};
	struct iovec iov = {.iov_base = "", .iov_len = 1};
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.space,
		.msg_controllen = sizeof(control.space),
	};
	struct cmsghdr *head = CMSG_FIRSTHDR(&msg);

	(void) state;
	memset(sent, 0, sizeof(sent));
	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof(sent));
	memcpy(CMSG_DATA(head), sent, sizeof(sent));
	close(free_fd);
	assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair), 0);
	assert_int_equal(sendmsg(pair[0], &msg, 0), 1);
	assert_int_equal(gamma_scm_receive(pair[1], &(char){0}, 1, &scm), 1);
	assert_int_equal(scm.more_count, GAMMA_SCM_MORE - GAMMA_SCM_FDS);
	gamma_scm_close(&scm);
	close(pair[0]);
	close(pair[1]);
	assert_int_equal(dup(0), free_fd);
	close(free_fd);
}

/* ---- unknown processes ---- */

typedef bool sends(const void *to);

static pid_t unknown;

/* Another user, who has sent something and lives on: else nothing would linger. */
static bool unknown_sends(sends *send, const void *to)
{
	int words[2];
	char word = 0;

	if (pipe(words))
		return false;
	unknown = fork();
	if (!unknown) {
		/* It must not keep its parent's descriptors. */
		for (int fd = 3; fd < FDS; fd++)
			if (fd != words[1])
				close(fd);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		word = !setresuid(NOBODY, NOBODY, NOBODY) && send(to);
		if (write(words[1], &word, 1) == 1)
			pause();
		_exit(0);
	}
	return read(words[0], &word, 1) == 1 && word;
}

static void unknown_ends(void)
{
	kill(unknown, SIGKILL);
	waitpid(unknown, NULL, 0);
}

static bool send_to_port(const void *to)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	struct sockaddr_un name;
	unsigned len = gamma_port_name(mac, *(const uint16_t *) to, &name);

	return send_lingering(fd, &name, len, ALL) && send_lingering(fd, &name, len, 1);
}

/* What it has sent is read, or still in the queue at the end. */
static void must_end(int (*meet)(bool read))
{
	for (int read = 0; read < 2; read++) {
		pid_t child = fork();

		if (!child)
			_exit(meet(read));
		assert_true(netns_ends(child));
	}
}

/* That are open: some may be inherited from whoever runs the test, at any number. */
static int descriptors(void)
{
	int count = 0;

	for (int fd = 0; fd < FDS; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

/* Another user's, to a port: read, or still there when the port is closed. */
static int unknown_at_port(bool read)
{
	struct gamma_shm_attr attr = {.tenant = getuid(), .ring_bytes = 65536};
	struct gamma_stats stats = {0};
	struct gamma_arrival arrival;
	struct gamma_link *link;
	struct gamma_shm *shm;
	uint16_t port = 0;
	int before;

	attr.fd = gamma_port_claim(mac, &port);
	if (attr.fd < 0 || gamma_shm_open(&attr, &stats, &shm))
		return 1;
	link = &shm->link;
	if (!unknown_sends(send_to_port, &port))
		return 2;
	before = descriptors();
	for (int i = 0; read && stats.malformed < 2 && i < 10000; i++) {
		link->ops->arm(link);
		if (link->ops->next(link, &arrival))
			return 3;
		usleep(100);
	}
	if (read && stats.malformed != 2)
		return 4;
	/* A duplicate of the port's socket for each of the two threads, and nothing else. A third
	 * thread may have begun, which finds nothing and ends. */
	for (int i = 0; descriptors() > before + 2; i++) {
		if (i == 10000)
			return 5;
		usleep(100);
	}
	link->ops->close(link);
	unknown_ends();
	return 0;
}

static void port__unknown_process(void **state)
{
	(void) state;
	netns_needed();
	must_end(unknown_at_port);
}

/* From Linux 6.16 on it cannot send them. */
static bool send_to_group(const void *to)
{
	const struct sockaddr_un *name = to;
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	socklen_t len = (socklen_t) (offsetof(struct sockaddr_un, sun_path) + 1 +
				     strlen(name->sun_path + 1));

	if (connect(fd, to, len))
		return false;
	send_lingering(fd, NULL, 0, ALL);
	return true;
}

static int unknown_at_group(bool served)
{
	struct gamma_budget_page *share = gamma_budget_page_open(mac, 1);
	struct sockaddr_un name = {.sun_family = AF_UNIX};

	if (!share)
		return 1;
	snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "gamma/020000000007/share/%u",
		 geteuid());
	if (!unknown_sends(send_to_group, &name))
		return 2;
	if (served)
		gamma_budget_page_count_bulk(share, 0, UINT64_MAX / 2);
	gamma_budget_page_close(share);
	unknown_ends();
	return 0;
}

static void group__unknown_process(void **state)
{
	(void) state;
	netns_needed();
	must_end(unknown_at_group);
}

/* ---- the library ---- */

/* libfabric unloads its providers when a program ends, and a thread may still run then. */
static void close__keeps_its_library_loaded(void **state)
{
	const char *build = getenv("abs_top_builddir");
	void (*close_fds)(const int *fds, size_t count);
	char path[4096];
	void *library;
	int fd;

	(void) state;
	snprintf(path, sizeof(path), "%s/.libs/libgamma-unloaded.so", build ? build : ".");
	library = dlopen(path, RTLD_NOW);
	if (!library)
		skip();
	*(void **) &close_fds = dlsym(library, "gamma_deferred_close_fds");
	assert_non_null(close_fds);
	fd = dup(0);
	close_fds(&fd, 1);
	dlclose(library);
	assert_non_null(dlopen(path, RTLD_NOW | RTLD_NOLOAD));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(close__does_not_wait),
		cmocka_unit_test(full__so_many_wait),

		cmocka_unit_test(receive__all_there_are),
		cmocka_unit_test(port__unknown_process),
		cmocka_unit_test(group__unknown_process),
		cmocka_unit_test(close__keeps_its_library_loaded),
	};

	return cmocka_run_group_tests(tests, netns_setup, NULL);
}
