// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * A page of memory that the endpoints of one user on one NIC share, one entry each. It is a memfd
 * and exists as long as a process maps it. The process that binds the abstract AF_UNIX name of NIC
 * and user leads the group and gives the page to those that come later. Nothing is left behind,
 * however a process ends: stale entries do not count, and another process of the group takes over
 * the name, with the page that it has mapped.
 *
 * Entries are written by other processes. At worst they make this endpoint's share small.
 */
#include "nic/budget_page.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/base.h"
#include "unix/deferred_close.h"
#include "unix/scm.h"
#include "unix/memfd.h"

#define PAGE_MAGIC 0x67616d6d61303031ull /* changes with the layout */

enum {
	PAGE_BYTES = 4096,
	ENTRIES = 127,
	BULK_MAX = 65535,  /* senders that one endpoint may claim to have */
	JOIN_TRIES = 3,    /* the name may come and go meanwhile */
	HAND_OUT_MAX = 64, /* pages handed out in one check */
	NAME_LEN = 64,     /* bytes of a memfd's name with the final 0 */
};

struct entry {
	uint64_t id;    /* random; 0: never used */
	uint64_t stamp; /* ns, CLOCK_MONOTONIC: when this entry was written */
	uint32_t bulk;  /* senders of bulk data */
	uint32_t pid;   /* shown to people */
	uint64_t lost;  /* ns, CLOCK_MONOTONIC: when it last saw evidence of loss; 0: never */
};

/* Any process may write any field at any time. Fields are accessed atomically and checked. */
struct page {
	uint64_t magic;
	uint32_t leader; /* pid of the process that listens; 0: none */
	uint32_t used;   /* entries before this one have been used */
	uint64_t unused[2];
	struct entry entries[ENTRIES];
};
_Static_assert(sizeof(struct page) == PAGE_BYTES, "one page");

struct gamma_budget_page {
	uint8_t mac[GAMMA_MAC_LEN];
	bool leads;    /* socket listens for others; else it waits for the page, or is -1 */
	bool reported; /* why there is no group */
	int socket;
	int page_fd;
	struct page *page; /* NULL: alone */
	int index;         /* own entry, -1: none */
	uint64_t id;
	uint64_t check_at; /* ns */
	pid_t owner;       /* a forked child leaves the page alone */
};

#define GET(field)        __atomic_load_n(&(field), __ATOMIC_RELAXED)
#define SET(field, value) __atomic_store_n(&(field), (value), __ATOMIC_RELAXED)

/* ---- entries ---- */

static bool within(uint64_t stamp, uint64_t now, uint64_t ms)
{
	uint64_t distance = stamp > now ? stamp - now : now - stamp;

	return distance < ms * GAMMA_NS_PER_MS;
}

static bool take_entry(struct gamma_budget_page *share, unsigned index, uint64_t now)
{
	struct entry *entry = &share->page->entries[index];
	uint64_t id = GET(entry->id);
	uint32_t used = GET(share->page->used);

	if (within(GET(entry->stamp), now, GAMMA_BUDGET_PAGE_CHECK_MS) ||
	    !__atomic_compare_exchange_n(&entry->id, &id, share->id, false, __ATOMIC_RELAXED,
					 __ATOMIC_RELAXED))
		return false;
	while (used < index + 1 &&
	       !__atomic_compare_exchange_n(&share->page->used, &used, index + 1, false,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	SET(entry->pid, (uint32_t) share->owner);
	share->index = (int) index;
	return true;
}

/* The own entry, or a new one if another process has taken it because it was stale. */
static struct entry *own_entry(struct gamma_budget_page *share, uint64_t now)
{
	if (share->index >= 0 && GET(share->page->entries[share->index].id) == share->id)
		return &share->page->entries[share->index];
	share->index = -1;
	for (unsigned i = 0; i < ENTRIES; i++)
		if (take_entry(share, i, now))
			return &share->page->entries[i];
	return NULL;
}

static uint32_t others(const struct gamma_budget_page *share, uint64_t now)
{
	unsigned used = gamma_min(GET(share->page->used), ENTRIES);
	uint32_t bulk = 0;

	for (unsigned i = 0; i < used; i++) {
		const struct entry *entry = &share->page->entries[i];

		if ((int) i != share->index &&
		    within(GET(entry->stamp), now, GAMMA_BUDGET_PAGE_FRESH_MS))
			bulk += gamma_min(GET(entry->bulk), BULK_MAX);
	}
	return bulk;
}

/* ---- the page ---- */

static void memfd_name(const struct gamma_budget_page *share, char name[NAME_LEN])
{
	const uint8_t *mac = share->mac;

	snprintf(name, NAME_LEN, "gamma-nic-%02x%02x%02x%02x%02x%02x", mac[0], mac[1], mac[2],
		 mac[3], mac[4], mac[5]);
}

static void leave_page(struct gamma_budget_page *share)
{
	if (!share->page)
		return;
	if (share->index >= 0 && share->owner == getpid() &&
	    GET(share->page->entries[share->index].id) == share->id)
		SET(share->page->entries[share->index].stamp, 0);
	munmap(share->page, PAGE_BYTES);
	close(share->page_fd);
	share->page = NULL;
	share->page_fd = -1;
	share->index = -1;
}

static struct page *map(int fd)
{
	struct page *page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return page == MAP_FAILED ? NULL : page;
}

/* Whether its size is fixed, so that no access can fail, and this user made it. */
static bool is_page(int fd, struct stat *st)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

	return !fstat(fd, st) && st->st_uid == geteuid() && st->st_size == PAGE_BYTES &&
	       (fcntl(fd, F_GET_SEALS) & (seals | F_SEAL_WRITE)) == seals;
}

/* Takes over fd if it is the page that leader (0: any process) listens for. */
static bool adopt_page(struct gamma_budget_page *share, int fd, pid_t leader)
{
	struct page *page = NULL;
	struct stat st, own;

	if (is_page(fd, &st))
		page = map(fd);
	if (!page || GET(page->magic) != PAGE_MAGIC ||
	    (leader && GET(page->leader) != (uint32_t) leader)) {
		if (page)
			munmap(page, PAGE_BYTES);
		close(fd);
		return false;
	}
	if (share->page && !fstat(share->page_fd, &own) && own.st_ino == st.st_ino) {
		munmap(page, PAGE_BYTES);
		close(fd);
		return true;
	}
	leave_page(share);
	share->page = page;
	share->page_fd = fd;
	return true;
}

static int create_page(struct gamma_budget_page *share)
{
	char name[NAME_LEN];
	int fd, ret;

	memfd_name(share, name);
	fd = gamma_memfd_file(name, PAGE_BYTES);
	if (fd < 0)
		return fd;
	share->page = map(fd);
	if (share->page) {
		share->page_fd = fd;
		SET(share->page->magic, PAGE_MAGIC);
		return 0;
	}
	ret = -errno;
	close(fd);
	return ret;
}

/* ---- the group ---- */

static socklen_t group_name(const struct gamma_budget_page *share, struct sockaddr_un *name)
{
	const uint8_t *mac = share->mac;
	int len;

	memset(name, 0, sizeof(*name));
	name->sun_family = AF_UNIX;
	len = snprintf(name->sun_path + 1, sizeof(name->sun_path) - 1,
		       "gamma/%02x%02x%02x%02x%02x%02x/share/%u", mac[0], mac[1], mac[2], mac[3],
		       mac[4], mac[5], geteuid());
	return (socklen_t) (offsetof(struct sockaddr_un, sun_path) + 1 + (size_t) len);
}

static int lead(struct gamma_budget_page *share)
{
	struct sockaddr_un name;
	socklen_t len = group_name(share, &name);
	int ret = share->page ? 0 : create_page(share);
	int fd;

	if (ret)
		return ret;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	/* On recent kernels clients cannot send descriptors, which could take long to close. */
	gamma_scm_refuse(fd);
	if (!bind(fd, (struct sockaddr *) &name, len)) {
		SET(share->page->leader, (uint32_t) share->owner);
		if (!listen(fd, SOMAXCONN)) {
			share->socket = fd;
			share->leads = true;
			return 0;
		}
	}
	ret = -errno;
	close(fd);
	return ret;
}

/* Opens the page through /proc, without the leader's help. The kernel allows that only if this
 * user may trace the leader, which excludes leaders with capabilities of their own. */
static bool page_of_process(struct gamma_budget_page *share, pid_t leader)
{
	char path[NAME_LEN], target[2 * NAME_LEN], name[NAME_LEN];
	bool found = false;
	struct dirent *item;
	DIR *dir;
	int fd;

	memfd_name(share, name);
	snprintf(path, sizeof(path), "/proc/%d/fd", (int) leader);
	dir = opendir(path);
	while (dir && !found && (item = readdir(dir))) {
		ssize_t len = readlinkat(dirfd(dir), item->d_name, target, sizeof(target) - 1);

		target[len > 0 ? len : 0] = '\0';
		if (!strstr(target, name))
			continue;
		fd = openat(dirfd(dir), item->d_name, O_RDWR | O_CLOEXEC | O_NONBLOCK);
		found = fd >= 0 && adopt_page(share, fd, leader);
	}
	if (dir)
		closedir(dir);
	return found;
}

static bool same_user(int fd, pid_t *pid)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) || peer.uid != geteuid())
		return false;
	*pid = peer.pid;
	return true;
}

/* 0: the page is mapped, or the leader will send it; -ECONNREFUSED: there is no leader. */
static int follow(struct gamma_budget_page *share)
{
	struct sockaddr_un name;
	socklen_t len = group_name(share, &name);
	pid_t leader;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int ret = 0;

	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *) &name, len))
		ret = -errno;
	else if (!same_user(fd, &leader))
		ret = -EACCES;
	else if (!leader || !page_of_process(share, leader)) {
		share->socket = fd;
		return 0;
	}
	close(fd);
	return ret;
}

static void join(struct gamma_budget_page *share)
{
	int ret = -EADDRINUSE;

	for (int i = 0; i < JOIN_TRIES && ret == -EADDRINUSE; i++) {
		ret = follow(share);
		if (ret == -ECONNREFUSED)
			ret = lead(share);
	}
	if (!ret || share->reported)
		return;
	share->reported = true;
	gamma_info("receivers of this host do not share the NIC's budget: %s", strerror(-ret));
}

/* Sends the page to processes of the same user that could not open it themselves. */
static void hand_out(struct gamma_budget_page *share)
{
	pid_t pid;
	int ret;

	for (int i = 0; i < HAND_OUT_MAX && !gamma_deferred_close_is_full(); i++) {
		int fd = accept4(share->socket, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0)
			return;
		if (!same_user(fd, &pid)) {
			gamma_deferred_close_fds(&fd, 1);
			continue;
		}
		ret = gamma_scm_send(fd, NULL, 0, "", 1, &share->page_fd, 1);
		/* The client has opened the page itself and is gone. */
		if (ret && ret != -EPIPE)
			gamma_info("handing over the NIC's page failed: %s", strerror(-ret));
		close(fd);
	}
}

/* Closes the connections that still wait, with descriptors that clients may have sent, in a thread
 * of their own. */
static void turn_all_away(struct gamma_budget_page *share)
{
	int fds[HAND_OUT_MAX];
	size_t count;

	shutdown(share->socket, SHUT_RD);
	do {
		for (count = 0; count < HAND_OUT_MAX; count++) {
			fds[count] = accept4(share->socket, NULL, NULL, SOCK_CLOEXEC);
			if (fds[count] < 0)
				break;
		}
		if (count)
			gamma_deferred_close_fds(fds, count);
	} while (count == HAND_OUT_MAX);
}

/* -EAGAIN: it has not been sent yet. */
static int receive_page(struct gamma_budget_page *share)
{
	struct gamma_scm scm;
	char byte;
	ssize_t got = gamma_scm_receive(share->socket, &byte, 1, &scm);
	int fd = scm.fds[0];

	if (got == -EAGAIN)
		return -EAGAIN;
	close(share->socket);
	share->socket = -1;
	scm.fds[0] = -1;
	gamma_scm_close(&scm); /* exactly one page is expected */
	if (fd < 0)
		return -ECONNRESET;
	return adopt_page(share, fd, 0) ? 0 : -EACCES;
}

/* Whether the leader listens for this page; else a new process leads, with another page. */
static bool leader_lives(const struct gamma_budget_page *share)
{
	uint32_t leader = share->page ? GET(share->page->leader) : 0;

	return leader && leader <= INT32_MAX && (!kill((pid_t) leader, 0) || errno == EPERM);
}

static void check(struct gamma_budget_page *share, uint64_t now)
{
	share->check_at = now + GAMMA_BUDGET_PAGE_CHECK_MS * GAMMA_NS_PER_MS;
	if (share->leads)
		hand_out(share);
	else if (share->socket >= 0)
		receive_page(share);
	/* If the leader has closed or ended, the first process that tries becomes the leader. */
	else if ((!share->page || lead(share) == -EADDRINUSE) && !leader_lives(share))
		join(share);
}

/* ---- for the engine ---- */

struct gamma_budget_page *gamma_budget_page_open(const uint8_t mac[GAMMA_MAC_LEN], uint64_t now)
{
	struct gamma_budget_page *share = calloc(1, sizeof(*share));

	if (!share)
		return NULL;
	memcpy(share->mac, mac, GAMMA_MAC_LEN);
	share->owner = getpid();
	share->socket = share->page_fd = share->index = -1;
	while (!share->id)
		if (getrandom(&share->id, sizeof(share->id), 0) != sizeof(share->id))
			share->id = (uint64_t) share->owner << 32 | (now & UINT32_MAX);
	check(share, now);
	return share;
}

void gamma_budget_page_close(struct gamma_budget_page *share)
{
	if (!share)
		return;
	if (share->leads && share->owner == getpid())
		SET(share->page->leader, 0);
	if (share->leads && share->owner == getpid())
		turn_all_away(share);
	if (share->socket >= 0)
		close(share->socket);
	leave_page(share);
	free(share);
}

uint32_t gamma_budget_page_count_bulk(struct gamma_budget_page *share, uint32_t own, uint64_t now)
{
	struct entry *entry;

	if (now >= share->check_at)
		check(share, now);
	if (!share->page)
		return own;
	entry = own_entry(share, now);
	if (entry) {
		SET(entry->bulk, own);
		SET(entry->stamp, now);
	}
	return own + others(share, now);
}

uint64_t gamma_budget_page_report_loss(struct gamma_budget_page *share, uint64_t own, uint64_t now)
{
	unsigned used = share->page ? gamma_min(GET(share->page->used), ENTRIES) : 0;
	uint64_t latest = 0;

	for (unsigned i = 0; i < used; i++) {
		struct entry *entry = &share->page->entries[i];
		uint64_t lost = GET(entry->lost);

		if ((int) i == share->index)
			SET(entry->lost, own);
		else if (within(lost, now, GAMMA_BUDGET_PAGE_FRESH_MS))
			latest = gamma_max(latest, lost);
	}
	return latest;
}
