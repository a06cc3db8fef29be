// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * gamma-discover --write: gamma.conf from the hosts that have answered and those it already has.
 * The same hosts always give the same file. It is replaced in one step, after its changes were
 * shown.
 */
#include "discover.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "base/mac.h"

enum { EXIT_REFUSED = 1, LINE_LEN = 256 };

/* Lines of a file, without newlines. */
struct lines {
	char **line;
	size_t count;
};

static void add_line(struct lines *lines, const char *text)
{
	char **grown = realloc(lines->line, (lines->count + 1) * sizeof(*grown));

	if (!grown)
		discover_fail("out of memory");
	lines->line = grown;
	lines->line[lines->count] = strdup(text);
	if (!lines->line[lines->count++])
		discover_fail("out of memory");
}

static void free_lines(struct lines *lines)
{
	for (size_t i = 0; i < lines->count; i++)
		free(lines->line[i]);
	free(lines->line);
}

/* ---- the new file ---- */

static bool is_name(const char *name)
{
	size_t valid = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789.-_");

	return valid && !name[valid];
}

static int by_line(const void *left, const void *right)
{
	return strverscmp(*(char *const *) left, *(char *const *) right);
}

static void add_host(struct lines *lines, const char *name, const uint8_t *mac)
{
	char line[LINE_LEN + GAMMA_CONF_NAME_MAX], text[GAMMA_MAC_TEXT_LEN];
	char lower[GAMMA_CONF_NAME_MAX + 1];
	size_t len = 0;

	for (; name[len] && len < GAMMA_CONF_NAME_MAX; len++)
		lower[len] = (char) tolower((unsigned char) name[len]);
	lower[len] = 0;
	snprintf(line, sizeof(line), "%-15s %s", lower, gamma_mac_format(mac, text));
	add_line(lines, line);
}

/* Whether a host that has answered has that MAC or that name. */
static bool is_found(const struct discover *discover, const struct gamma_conf_host *listed)
{
	for (size_t i = 0; i < discover->count; i++) {
		const struct discover_host *host = &discover->hosts[i];

		if (!memcmp(host->mac, listed->mac, GAMMA_MAC_LEN) ||
		    !strcasecmp(host->name, listed->name))
			return true;
	}
	return false;
}

/* False: two hosts have one name, or a name is none; reported. */
static bool check_names(const struct discover *discover)
{
	char mac[GAMMA_MAC_TEXT_LEN], other[GAMMA_MAC_TEXT_LEN];
	bool ok = true;

	for (size_t i = 0; i < discover->count; i++) {
		const struct discover_host *host = &discover->hosts[i];

		gamma_mac_format(host->mac, mac);
		if (host->name[0] && !is_name(host->name)) {
			fprintf(stderr,
				"gamma-discover: %s: '%s' cannot be a host's name there: "
				"correct its hostname\n",
				mac, host->name);
			ok = false;
		}
		for (size_t j = i + 1; j < discover->count; j++) {
			if (!host->name[0] || strcasecmp(host->name, discover->hosts[j].name))
				continue;
			fprintf(stderr,
				"gamma-discover: %s and %s are both called %s: correct a "
				"hostname, or write the file by hand\n",
				mac, gamma_mac_format(discover->hosts[j].mac, other), host->name);
			ok = false;
		}
	}
	return ok;
}

static void make_lines(const struct discover *discover, struct lines *lines)
{
	const struct gamma_conf_host *listed;
	size_t count = gamma_conf_hosts(discover->conf, &listed);

	add_line(lines, "# name and MAC address of the data NIC; written by gamma-discover");
	for (size_t i = 0; i < discover->count; i++) {
		const struct discover_host *host = &discover->hosts[i];

		if (host->name[0] || host->conf_name[0])
			add_host(lines, discover_name(host), host->mac);
	}
	for (size_t i = 0; i < count; i++)
		if (!is_found(discover, &listed[i]))
			add_host(lines, listed[i].name, listed[i].mac);
	/* The comment comes before all names. */
	qsort(lines->line, lines->count, sizeof(*lines->line), by_line);
}

/* ---- the old file ---- */

static void read_lines(const char *path, struct lines *lines)
{
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t room = 0;
	ssize_t len;

	if (!file && errno == ENOENT)
		return;
	if (!file)
		discover_fail("%s: %s", path, strerror(errno));
	while ((len = getline(&line, &room, file)) >= 0) {
		if (len && line[len - 1] == '\n')
			line[len - 1] = 0;
		add_line(lines, line);
	}
	free(line);
	fclose(file);
}

static bool has_line(const struct lines *lines, const char *line)
{
	for (size_t i = 0; i < lines->count; i++)
		if (!strcmp(lines->line[i], line))
			return true;
	return false;
}

static bool are_equal(const struct lines *left, const struct lines *right)
{
	bool equal = left->count == right->count;

	for (size_t i = 0; equal && i < left->count; i++)
		equal = !strcmp(left->line[i], right->line[i]);
	return equal;
}

/* The lines that go and those that come; order alone changes nothing that matters. */
static void show_changes(const char *path, const struct lines *before, const struct lines *after)
{
	printf("\n%s:\n", path);
	for (size_t i = 0; i < before->count; i++)
		if (!has_line(after, before->line[i]))
			printf("-%s\n", before->line[i]);
	for (size_t i = 0; i < after->count; i++)
		if (!has_line(before, after->line[i]))
			printf("+%s\n", after->line[i]);
	fflush(stdout);
}

/* ---- replace ---- */

/* A terminal is asked; a script must say --yes. */
static bool may_replace(const struct discover *discover)
{
	char answer[16] = "";

	if (discover->yes)
		return true;
	if (!isatty(STDIN_FILENO)) {
		fprintf(stderr, "gamma-discover: %s is not replaced without --yes\n",
			discover->write_path);
		return false;
	}
	printf("replace %s? [y/N] ", discover->write_path);
	fflush(stdout);
	return fgets(answer, sizeof(answer), stdin) && (*answer == 'y' || *answer == 'Y');
}

/* As the file that it replaces has them; a user other than root owns what he writes. */
static bool take_over_rights(int fd, const char *path)
{
	struct stat old;

	if (stat(path, &old))
		return !fchmod(fd, 0644);
	return (geteuid() || !fchown(fd, old.st_uid, old.st_gid)) &&
	       !fchmod(fd, old.st_mode & 0777);
}

/* A symbolic link stays: the file behind it is replaced. */
static void replace(const char *path, const struct lines *lines)
{
	char made[PATH_MAX + sizeof(".XXXXXX")], behind[PATH_MAX];
	const char *target = realpath(path, behind) ? behind : path;
	FILE *file;
	int fd;

	if (snprintf(made, sizeof(made), "%s.XXXXXX", target) >= (int) sizeof(made))
		discover_fail("%s: %s", path, strerror(ENAMETOOLONG));
	fd = mkostemp(made, O_CLOEXEC);
	file = fd < 0 ? NULL : fdopen(fd, "w");
	if (!file)
		discover_fail("%s: %s", path, strerror(errno));
	for (size_t i = 0; i < lines->count; i++)
		fprintf(file, "%s\n", lines->line[i]);
	if (fflush(file) || fsync(fd) || !take_over_rights(fd, target) || ferror(file) ||
	    rename(made, target)) {
		int error = errno;

		unlink(made);
		discover_fail("%s: %s", path, strerror(error));
	}
	fclose(file);
}

int discover_conf_write(const struct discover *discover)
{
	struct lines before = {.count = 0}, after = {.count = 0};
	const char *path = discover->write_path;
	int status = 0;

	if (!check_names(discover))
		return EXIT_REFUSED;
	read_lines(path, &before);
	make_lines(discover, &after);
	if (are_equal(&before, &after)) {
		printf("\n%s is up to date\n", path);
	} else {
		show_changes(path, &before, &after);
		if (!before.count || may_replace(discover)) {
			replace(path, &after);
			printf("%s is written\n", path);
		} else {
			status = EXIT_REFUSED;
		}
	}
	free_lines(&before);
	free_lines(&after);
	return status;
}
