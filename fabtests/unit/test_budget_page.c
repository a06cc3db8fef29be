// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Unit tests of common/nic/budget_page.c. The time is the tests' own; there is no NIC. Other
 * processes get commands, one at a time.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "nic/budget_page.h"

#define MS     GAMMA_NS_PER_MS
#define SECOND (1001 * MS) /* the group has been looked after */

enum { NOBODY = 65534, PAGE_BYTES = 4096 };

/* Of this test alone, so that tests can run at the same time. */
static uint8_t mac[GAMMA_MAC_LEN];
static uint64_t now;

static int setup(void **state)
{
	pid_t pid = getpid();

	(void) state;
	mac[0] = 0x06;
	mac[1]++;
	memcpy(mac + 2, &pid, 4);
	now = 1000 * GAMMA_NS_PER_S;
	return 0;
}

static struct gamma_budget_page *open_share(void)
{
	struct gamma_budget_page *share = gamma_budget_page_open(mac, now);

	assert_non_null(share);
	return share;
}

/* ---- another process ---- */

struct member {
	pid_t pid;
	int socket;
};

struct order {
	uint64_t now;
	uint64_t bulk; /* as wide as the other, so that nothing between goes unset */
};

/* Tells its number of bulk senders and reports what all have. */
static void serve(int fd)
{
	struct gamma_budget_page *share = NULL;
	struct order order;

	while (read(fd, &order, sizeof(order)) == sizeof(order)) {
		uint32_t all;

		if (!share)
			share = gamma_budget_page_open(mac, order.now);
		all = share ? gamma_budget_page_count_bulk(share, (uint32_t) order.bulk, order.now)
			    : UINT32_MAX;
		if (write(fd, &all, sizeof(all)) != sizeof(all))
			break;
	}
	gamma_budget_page_close(share);
	_exit(0);
}

static void start(struct member *member, uid_t uid)
{
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds), 0);
	member->pid = fork();
	assert_true(member->pid >= 0);
	if (!member->pid) {
		close(fds[0]);
		alarm(60);
		if (uid == geteuid() || !setresuid(uid, uid, uid))
			serve(fds[1]);
		_exit(1);
	}
	close(fds[1]);
	member->socket = fds[0];
}

static uint32_t bulk_of(const struct member *member, uint32_t bulk)
{
	struct order order = {.now = now, .bulk = bulk};
	uint32_t all = 0;

	assert_int_equal(write(member->socket, &order, sizeof(order)), sizeof(order));
	assert_int_equal(read(member->socket, &all, sizeof(all)), sizeof(all));
	return all;
}

static void end(struct member *member, int signal)
{
	if (signal)
		kill(member->pid, signal);
	shutdown(member->socket, SHUT_RDWR); /* later children have it too */
	close(member->socket);
	assert_int_equal(waitpid(member->pid, NULL, 0), member->pid);
}

/* Whether anybody listens on this NIC. */
static bool somebody_leads(void)
{
	char line[256], name[64];
	bool found = false;
	FILE *sockets = fopen("/proc/net/unix", "r");

	assert_non_null(sockets);
	snprintf(name, sizeof(name), "@gamma/%02x%02x%02x%02x%02x%02x/", mac[0], mac[1], mac[2],
		 mac[3], mac[4], mac[5]);
	while (fgets(line, sizeof(line), sockets))
		found |= strstr(line, name) != NULL;
	fclose(sockets);
	return found;
}

/* ---- counting ---- */

static void bulk__alone(void **state)
{
	struct gamma_budget_page *share = open_share();

	(void) state;
	assert_int_equal(gamma_budget_page_count_bulk(share, 0, now), 0);
	assert_int_equal(gamma_budget_page_count_bulk(share, 7, now + MS), 7);
	gamma_budget_page_close(share);
	assert_false(somebody_leads());
}

static void bulk__of_two_endpoints_of_a_process(void **state)
{
	struct gamma_budget_page *first = open_share(), *second = open_share();

	(void) state;
	assert_int_equal(gamma_budget_page_count_bulk(first, 3, now), 3);
	assert_int_equal(gamma_budget_page_count_bulk(second, 2, now), 5);
	assert_int_equal(gamma_budget_page_count_bulk(first, 1, now), 3);
	gamma_budget_page_close(second);
	assert_int_equal(gamma_budget_page_count_bulk(first, 1, now), 1);
	gamma_budget_page_close(first);
}

static void bulk__what_is_stale_does_not_count(void **state)
{
	struct gamma_budget_page *first = open_share(), *second = open_share();

	(void) state;
	gamma_budget_page_count_bulk(first, 3, now);
	assert_int_equal(gamma_budget_page_count_bulk(second, 2, now + 9 * MS), 5);
	assert_int_equal(gamma_budget_page_count_bulk(second, 2, now + 10 * MS), 2);
	/* Nor does a time that is yet to come, but clocks are read at different moments. */
	gamma_budget_page_count_bulk(first, 3, now + 100 * MS);
	assert_int_equal(gamma_budget_page_count_bulk(second, 2, now + 95 * MS), 5);
	assert_int_equal(gamma_budget_page_count_bulk(second, 2, now + 50 * MS), 2);
	gamma_budget_page_close(second);
	gamma_budget_page_close(first);
}

static void lost__is_known_to_the_others_for_a_while(void **state)
{
	struct gamma_budget_page *first = open_share(), *second = open_share();

	(void) state;
	gamma_budget_page_count_bulk(first, 1, now);
	gamma_budget_page_count_bulk(second, 1, now);
	assert_int_equal(gamma_budget_page_report_loss(second, 0, now), 0);
	assert_int_equal(gamma_budget_page_report_loss(first, now, now),
			 0); /* its own does not count */
	assert_int_equal(gamma_budget_page_report_loss(second, 0, now + MS), now);
	assert_int_equal(gamma_budget_page_report_loss(second, 0, now + 10 * MS), 0);
	gamma_budget_page_close(second);
	gamma_budget_page_close(first);
}

static void bulk__other_nics_are_separate(void **state)
{
	struct gamma_budget_page *first = open_share(), *second;

	(void) state;
	mac[0] ^= 0x10;
	second = open_share();
	mac[0] ^= 0x10;
	gamma_budget_page_count_bulk(first, 3, now);
	assert_int_equal(gamma_budget_page_count_bulk(second, 2, now), 2);
	gamma_budget_page_close(second);
	gamma_budget_page_close(first);
}

/* More endpoints than entries: those without one hear the others all the same. */
static void bulk__more_than_there_is_room_for(void **state)
{
	enum { COUNT = 130, ENTRIES = 127 };
	struct gamma_budget_page *shares[COUNT];

	(void) state;
	for (int i = 0; i < COUNT; i++) {
		shares[i] = open_share();
		assert_int_equal(gamma_budget_page_count_bulk(shares[i], 1, now),
				 i < ENTRIES ? i + 1 : ENTRIES + 1);
	}
	/* An endpoint that is silent for long loses its entry, and takes another one later. */
	now += SECOND;
	assert_int_equal(gamma_budget_page_count_bulk(shares[COUNT - 1], 1, now), 1);
	assert_int_equal(gamma_budget_page_count_bulk(shares[0], 5, now), 6);
	assert_int_equal(gamma_budget_page_count_bulk(shares[1], 5, now), 11);
	for (int i = 0; i < COUNT; i++)
		gamma_budget_page_close(shares[i]);
}

/* ---- processes that come and go ---- */

static void group__four_processes(void **state)
{
	struct member members[4];

	(void) state;
	for (unsigned i = 0; i < 4; i++) {
		start(&members[i], geteuid());
		assert_int_equal(bulk_of(&members[i], 1 + i), (i + 1) * (i + 2) / 2);
	}
	assert_int_equal(bulk_of(&members[0], 1), 10);
	for (unsigned i = 0; i < 4; i++)
		end(&members[i], 0);
	assert_false(somebody_leads());
}

static void group__outlives_its_leader(void **state)
{
	struct member members[4], late;

	(void) state;
	for (unsigned i = 0; i < 4; i++) {
		start(&members[i], geteuid());
		bulk_of(&members[i], 1);
	}
	end(&members[0], SIGKILL);
	assert_false(somebody_leads());
	assert_int_equal(bulk_of(&members[1], 1), 4); /* the dead one's word holds for 10 ms */
	now += SECOND;
	for (unsigned i = 1; i < 4; i++)
		assert_int_equal(bulk_of(&members[i], 1), i);
	assert_true(somebody_leads());
	start(&late, geteuid());
	assert_int_equal(bulk_of(&late, 1), 4);
	end(&late, SIGKILL);
	for (unsigned i = 1; i < 4; i++)
		end(&members[i], SIGKILL);
	assert_false(somebody_leads());
}

/* A newcomer finds no leader and founds a group of its own: the others come over. */
static void group__newcomer_before_the_survivors_notice(void **state)
{
	struct member first, second, third, late;

	(void) state;
	start(&first, geteuid());
	start(&second, geteuid());
	start(&third, geteuid());
	bulk_of(&first, 1);
	bulk_of(&second, 1);
	bulk_of(&third, 1);
	end(&first, SIGKILL);
	start(&late, geteuid());
	assert_int_equal(bulk_of(&late, 1), 1);
	now += SECOND;
	bulk_of(&second, 1);
	bulk_of(&third, 1);
	assert_int_equal(bulk_of(&late, 1), 3);
	assert_int_equal(bulk_of(&second, 1), 3);
	end(&second, 0);
	end(&third, 0);
	end(&late, 0);
}

/* The leader closes an endpoint in an orderly way, its process lives on. */
static void group__leader_closes(void **state)
{
	struct gamma_budget_page *first = open_share(), *second = open_share(), *third;

	(void) state;
	gamma_budget_page_close(first);
	gamma_budget_page_count_bulk(second, 2, now + SECOND);
	third = open_share();
	assert_int_equal(gamma_budget_page_count_bulk(third, 1, now + SECOND), 3);
	gamma_budget_page_close(third);
	gamma_budget_page_close(second);
}

/* A forked child ends: neither the name nor the entry goes with it. */
static void group__forked_child_leaves_it_alone(void **state)
{
	struct gamma_budget_page *first = open_share(), *second = open_share();
	pid_t pid;

	(void) state;
	gamma_budget_page_count_bulk(first, 3, now);
	pid = fork();
	if (!pid) {
		gamma_budget_page_close(first);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_true(somebody_leads());
	assert_int_equal(gamma_budget_page_count_bulk(second, 2, now), 5);
	gamma_budget_page_close(second);
	gamma_budget_page_close(first);
}

/* A limit on the size of files, which this is one of, ends no process that would go beyond it. */
static void alone__where_no_file_may_be_so_large(void **state)
{
	const struct rlimit limit = {PAGE_BYTES - 1, PAGE_BYTES - 1};
	int status;
	pid_t pid;

	(void) state;
	pid = fork();
	if (!pid) {
		struct gamma_budget_page *share;

		setrlimit(RLIMIT_FSIZE, &limit);
		share = gamma_budget_page_open(mac, now);
		_exit(!share || gamma_budget_page_count_bulk(share, 3, now) != 3);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* ---- users ---- */

static void users__do_not_share(void **state)
{
	struct gamma_budget_page *share;
	struct member other;

	(void) state;
	if (geteuid())
		skip();
	share = open_share();
	gamma_budget_page_count_bulk(share, 3, now);
	start(&other, NOBODY);
	assert_int_equal(bulk_of(&other, 1), 1);
	assert_int_equal(gamma_budget_page_count_bulk(share, 3, now), 3);
	end(&other, 0);
	gamma_budget_page_close(share);
}

/* The name belongs to another user: nothing is taken from him. */
static void users__impostor(void **state)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	struct member victim;
	int fd, len;

	(void) state;
	if (geteuid())
		skip();
	len = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1,
		       "gamma/%02x%02x%02x%02x%02x%02x/share/%d", mac[0], mac[1], mac[2], mac[3],
		       mac[4], mac[5], NOBODY);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, (struct sockaddr *) &name,
			      (socklen_t) (offsetof(struct sockaddr_un, sun_path) + 1 + len)),
			 0);
	assert_int_equal(listen(fd, 5), 0);
	start(&victim, NOBODY);
	assert_int_equal(bulk_of(&victim, 4), 4);
	now += SECOND;
	assert_int_equal(bulk_of(&victim, 4), 4);
	end(&victim, 0);
	close(fd);
}

/* A process that changed its user may not be looked into: it hands the page over itself. */
static void users__page_is_handed_over(void **state)
{
	struct member leader, member;

	(void) state;
	if (geteuid())
		skip();
	start(&leader, NOBODY);
	start(&member, NOBODY);
	bulk_of(&leader, 3);
	assert_int_equal(bulk_of(&member, 2), 2);
	now += SECOND;
	bulk_of(&leader, 3);
	assert_int_equal(bulk_of(&member, 2), 5);
	assert_int_equal(bulk_of(&leader, 3), 5);
	end(&leader, SIGKILL);
	now += SECOND;
	assert_int_equal(bulk_of(&member, 2), 2);
	assert_true(somebody_leads());
	end(&member, 0);
}

/* ---- others' words ---- */

/* The page that this process shares. */
static int page_fd(void)
{
	for (int fd = 0; fd < 1024; fd++) {
		char path[64], target[128];
		ssize_t len;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		len = readlink(path, target, sizeof(target) - 1);
		target[len > 0 ? len : 0] = '\0';
		if (strstr(target, "gamma-nic-"))
			return fd;
	}
	return -1;
}

static uint8_t *map_page(void)
{
	return mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, page_fd(), 0);
}

static void page__whatever_stands_in_it(void **state)
{
	struct gamma_budget_page *first = open_share(), *second = open_share();
	uint8_t *page = map_page();

	(void) state;
	assert_true(page != MAP_FAILED);
	srandom(1);
	for (unsigned round = 0; round < 20000; round++) {
		uint32_t all;

		if (round % 100 == 0)
			for (unsigned i = 0; i < PAGE_BYTES; i++)
				page[i] = round % 300 ? (uint8_t) random() : round & 1 ? 0xff : 0;
		page[random() % PAGE_BYTES] = (uint8_t) random();
		/* Stamps that count, too. */
		memcpy(page + 40 + 32 * (random() % 127), &now, sizeof(now));
		now += (uint64_t) (random() % 3) * MS;
		all = gamma_budget_page_count_bulk(first, 5, now);
		assert_in_range(all, 5, 5 + 127 * 65535);
		assert_in_range(gamma_budget_page_count_bulk(second, 1, now), 1, 1 + 127 * 65535);
	}
	munmap(page, PAGE_BYTES);
	gamma_budget_page_close(second);
	gamma_budget_page_close(first);
}

/* It cannot be cut off under those who read it. */
static void page__cannot_shrink(void **state)
{
	struct gamma_budget_page *share = open_share();
	int fd = page_fd();

	(void) state;
	assert_true(fd >= 0 && fcntl(fd, F_GET_SEALS) > 0);
	assert_int_equal(ftruncate(fd, 0), -1);
	gamma_budget_page_close(share);
}

#define SHARE_TEST(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SHARE_TEST(bulk__alone),
		SHARE_TEST(bulk__of_two_endpoints_of_a_process),
		SHARE_TEST(bulk__what_is_stale_does_not_count),
		SHARE_TEST(lost__is_known_to_the_others_for_a_while),
		SHARE_TEST(bulk__other_nics_are_separate),
		SHARE_TEST(bulk__more_than_there_is_room_for),
		SHARE_TEST(group__four_processes),
		SHARE_TEST(group__outlives_its_leader),
		SHARE_TEST(group__newcomer_before_the_survivors_notice),
		SHARE_TEST(group__leader_closes),
		SHARE_TEST(group__forked_child_leaves_it_alone),
		SHARE_TEST(alone__where_no_file_may_be_so_large),
		SHARE_TEST(users__do_not_share),
		SHARE_TEST(users__impostor),
		SHARE_TEST(users__page_is_handed_over),
		SHARE_TEST(page__whatever_stands_in_it),
		SHARE_TEST(page__cannot_shrink),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
