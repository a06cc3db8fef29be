// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Finds the pages of endpoints: descriptors named memfd:gamma-stat of all processes. The text that
 * a process has written there is copied before it is read.
 */
#include "stat_read.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TRIES = 1000, ENVIRONMENT_MAX = 1 << 20 };

static const char link_name[] = "/memfd:" GAMMA_STATS_PAGE_NAME " (deleted)";

/* ---- the process ---- */

/* Bytes that are not printable become '?'. */
static void make_printable(char *text)
{
	for (; *text; text++)
		if (*text < ' ' || *text > '~')
			*text = '?';
}

static ssize_t read_file(int folder, const char *name, char *text, size_t room)
{
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t ret = -1;

	while (fd >= 0 && len < room - 1 && (ret = read(fd, text + len, room - 1 - len)) > 0)
		len += (size_t) ret;
	if (fd >= 0)
		close(fd);
	text[len] = 0;
	return ret < 0 ? -1 : (ssize_t) len;
}

/* Variables set by the resource manager or mpirun; "" if nothing is known. */
static void read_job(int folder, char job[STAT_TEXT_LEN])
{
	static const char *const names[] = {
		"SLURM_JOB_ID=", "PBS_JOBID=", "OMPI_MCA_ess_base_jobid="};
	char *environment = malloc(ENVIRONMENT_MAX);
	ssize_t len = environment ? read_file(folder, "environ", environment, ENVIRONMENT_MAX) : -1;

	job[0] = 0;
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]) && !job[0]; i++) {
		for (ssize_t at = 0; at < len; at += (ssize_t) strlen(environment + at) + 1) {
			if (strncmp(environment + at, names[i], strlen(names[i])))
				continue;
			snprintf(job, STAT_TEXT_LEN, "%s", environment + at + strlen(names[i]));
			break;
		}
	}
	make_printable(job);
	free(environment);
}

static void read_process(int folder, struct stat_endpoint *endpoint)
{
	struct stat status;

	endpoint->uid = fstat(folder, &status) ? (uid_t) -1 : status.st_uid;
	if (read_file(folder, "comm", endpoint->command, sizeof(endpoint->command)) < 0)
		endpoint->command[0] = 0;
	endpoint->command[strcspn(endpoint->command, "\n")] = 0;
	make_printable(endpoint->command);
	read_job(folder, endpoint->job);
}

/* ---- a page ---- */

/* The copy is whole if nothing was written meanwhile. A process that ended in the middle leaves it
 * as it is. */
static bool copy_page(int fd, struct gamma_stats_page *page)
{
	for (int try = 0; try < TRIES; try++) {
		uint64_t before, after;
		ssize_t len = pread(fd, page, sizeof(*page), 0);

		if (len < (ssize_t) offsetof(struct gamma_stats_page, addr))
			return false;
		if (len < (ssize_t) sizeof(*page)) { /* of a release with another layout */
			memset((char *) page + len, 0, sizeof(*page) - (size_t) len);
			page->version =
				page->version == GAMMA_STATS_PAGE_VERSION ? 0 : page->version;
			return true;
		}
		before = page->sequence;
		if (pread(fd, &after, sizeof(after), offsetof(struct gamma_stats_page, sequence)) !=
		    sizeof(after))
			return false;
		if (before == after && !(before & 1))
			return true;
	}
	return true;
}

/* Whether a page is of this layout; false with *other: of another release. */
static bool is_known(const struct gamma_stats_page *page, bool *other)
{
	*other = page->magic == GAMMA_STATS_PAGE_MAGIC &&
		 (page->version != GAMMA_STATS_PAGE_VERSION ||
		  page->count != sizeof(page->stats) / sizeof(uint64_t));
	return page->magic == GAMMA_STATS_PAGE_MAGIC && !*other;
}

/* Nothing that a process writes is believed. */
static void check_counts(struct gamma_stats_page *page)
{
	if (page->peer_count > GAMMA_STATS_PAGE_PEERS)
		page->peer_count = GAMMA_STATS_PAGE_PEERS;
	if (page->rail_count > GAMMA_STATS_PAGE_RAILS)
		page->rail_count = GAMMA_STATS_PAGE_RAILS;
	for (uint32_t r = 0; r < page->rail_count; r++) {
		page->rails[r].nic[sizeof(page->rails[r].nic) - 1] = 0;
		make_printable(page->rails[r].nic);
	}
}

static struct stat_endpoint *add(struct stat_list *list)
{
	if (list->count == list->size) {
		size_t size = list->size ? 2 * list->size : 64;
		void *grown = realloc(list->endpoint, size * sizeof(*list->endpoint));

		if (!grown)
			return NULL;
		list->endpoint = grown;
		list->size = size;
	}
	return &list->endpoint[list->count];
}

static bool has(const struct stat_list *list, ino_t inode)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->endpoint[i].inode == inode)
			return true;
	return false;
}

/* A descriptor of a process; forked children have those of their parent, too. */
static int read_descriptor(int process, int descriptors, const char *name, pid_t pid,
			   struct stat_list *list)
{
	char target[sizeof(link_name)];
	ssize_t len = readlinkat(descriptors, name, target, sizeof(target));
	struct stat_endpoint *endpoint;
	struct stat status;
	bool other = false;
	int fd, ret = 0;

	if (len != sizeof(link_name) - 1 || memcmp(target, link_name, (size_t) len))
		return 0;
	fd = openat(descriptors, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return 0;
	endpoint = add(list);
	if (!endpoint) {
		ret = -ENOMEM;
	} else if (!fstat(fd, &status) && !has(list, status.st_ino) &&
		   copy_page(fd, &endpoint->page)) {
		endpoint->pid = pid;
		endpoint->inode = status.st_ino;
		endpoint->page.nic[sizeof(endpoint->page.nic) - 1] = 0;
		make_printable(endpoint->page.nic);
		check_counts(&endpoint->page);
		if (is_known(&endpoint->page, &other)) {
			read_process(process, endpoint);
			list->count++;
		}
		list->other_releases += other;
	}
	close(fd);
	return ret;
}

static int read_descriptors(int process, pid_t pid, struct stat_list *list)
{
	int folder = openat(process, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *descriptors = folder < 0 ? NULL : fdopendir(folder);
	const struct dirent *entry;
	int ret = 0;

	if (!descriptors) {
		list->hidden += errno == EACCES;
		if (folder >= 0)
			close(folder);
		return 0; /* not this user's, or it has just ended */
	}
	while (!ret && (entry = readdir(descriptors)))
		ret = read_descriptor(process, folder, entry->d_name, pid, list);
	closedir(descriptors);
	return ret;
}

int stat_read_all(const char *proc, struct stat_list *list)
{
	DIR *folder = opendir(proc);
	const struct dirent *entry;
	int ret = 0;

	*list = (struct stat_list){.count = 0};
	if (!folder)
		return -errno;
	while (!ret && (entry = readdir(folder))) {
		char *end;
		long pid = strtol(entry->d_name, &end, 10);
		int process;

		if (pid <= 0 || *end)
			continue;
		process = openat(dirfd(folder), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (process < 0)
			continue;
		ret = read_descriptors(process, (pid_t) pid, list);
		close(process);
	}
	closedir(folder);
	return ret;
}

void stat_read_free(struct stat_list *list)
{
	free(list->endpoint);
	*list = (struct stat_list){.count = 0};
}
