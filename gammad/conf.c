// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* gammad.conf: one keyword and its values per line. */
#include "gammad/conf.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "wire/ethertype.h"
#include "wire/wire.h"

#define BLANKS " \t\r\v\f"

enum {
	WORDS_MAX = 6,
	LIMIT_MAX = GAMMAD_SLOTS_MAX * GAMMAD_NICS_MAX, /* all slots */
	UID_OVERFLOW = 65534, /* stands for ids that have none in a user namespace */
};

struct parser {
	const char *file;
	unsigned line; /* 0: none, an error of the whole file */
	struct gammad_conf *conf;
	bool ring_seen, ethertype_seen, limit_seen, multicast_seen, metrics_seen;
	char *error;
	size_t error_len;
};

static int __attribute__((format(printf, 2, 3))) complain(struct parser *p, const char *fmt, ...)
{
	va_list args;
	int n = p->line ? snprintf(p->error, p->error_len, "%s:%u: ", p->file, p->line)
			: snprintf(p->error, p->error_len, "%s: ", p->file);

	if (n >= 0 && (size_t) n < p->error_len) {
		va_start(args, fmt);
		vsnprintf(p->error + n, p->error_len - (size_t) n, fmt, args);
		va_end(args);
	}
	return -EINVAL;
}

/* Decimal or 0x..., from min to max. */
static bool number(const char *word, uint64_t min, uint64_t max, uint64_t *value)
{
	char *end;

	if (*word < '0' || *word > '9')
		return false;
	errno = 0;
	*value = strtoull(word, &end, word[1] == 'x' ? 16 : 10);
	return !errno && !*end && *value >= min && *value <= max;
}

static int once(struct parser *p, const char *keyword, bool *seen)
{
	if (*seen)
		return complain(p, "a second `%s`; keep one", keyword);
	*seen = true;
	return 0;
}

/* ---- one keyword each; words[0] is the keyword ---- */

static int take_nic(struct parser *p, char **words, unsigned count)
{
	struct gammad_conf *conf = p->conf;
	uint64_t slots;

	if ((count != 4 && count != 5) || strcmp(words[2], "slots") ||
	    (count == 5 && strcmp(words[4], "own-address")))
		return complain(p, "a NIC needs its slots; write `nic NAME slots NUMBER`, or "
				   "`nic NAME slots NUMBER own-address`");
	if (strlen(words[1]) >= sizeof(conf->nics[0].name))
		return complain(p, "'%s' is longer than any interface's name; see `ip link`",
				gamma_printable(words[1]).text);
	if (!number(words[3], 1, GAMMAD_SLOTS_MAX, &slots))
		return complain(p, "'%s' slots; write a number from 1 to %d",
				gamma_printable(words[3]).text, GAMMAD_SLOTS_MAX);
	for (unsigned i = 0; i < conf->nic_count; i++) {
		if (!strcmp(conf->nics[i].name, words[1]))
			return complain(p, "NIC %s was named before; name it once", words[1]);
	}
	if (conf->nic_count == GAMMAD_NICS_MAX)
		return complain(p, "more than %d NICs; leave some out", GAMMAD_NICS_MAX);
	strcpy(conf->nics[conf->nic_count].name, words[1]);
	conf->nics[conf->nic_count].own_address = count == 5;
	conf->nics[conf->nic_count++].slots = (unsigned) slots;
	return 0;
}

static int take_ring(struct parser *p, char **words, unsigned count)
{
	uint64_t bytes;

	if (count != 2 || !number(words[1], GAMMAD_RING_MIN, GAMMAD_RING_MAX, &bytes))
		return complain(p, "write `ring BYTES`, from %d to %d", GAMMAD_RING_MIN,
				GAMMAD_RING_MAX);
	p->conf->ring_bytes = (uint32_t) bytes;
	return once(p, "ring", &p->ring_seen);
}

static int take_ethertype(struct parser *p, char **words, unsigned count)
{
	uint64_t value;

	if (count != 2 || !number(words[1], 0x600, 0xffff, &value))
		return complain(p, "write `ethertype NUMBER`, from 0x0600 to 0xffff");
	if (gamma_ethertype_owner((uint16_t) value))
		return complain(p, "EtherType 0x%04X is that of %s; choose a free one",
				(unsigned) value, gamma_ethertype_owner((uint16_t) value));
	p->conf->ethertype = (uint16_t) value;
	return once(p, "ethertype", &p->ethertype_seen);
}

static int take_multicast(struct parser *p, char **words, unsigned count)
{
	uint64_t most;

	if (count != 2 || !number(words[1], 0, LIMIT_MAX, &most))
		return complain(p, "write `multicast NUMBER`, from 0 to %d", LIMIT_MAX);
	p->conf->multicast = (unsigned) most;
	return once(p, "multicast", &p->multicast_seen);
}

static int take_metrics(struct parser *p, char **words, unsigned count)
{
	uint64_t port = 0;

	if (count != 2 ||
	    (strcmp(words[1], "socket") && !number(words[1], 1024, UINT16_MAX, &port)))
		return complain(p, "write `metrics socket`, or `metrics PORT` from 1024 to 65535");
	p->conf->metrics = port ? (int) port : GAMMAD_METRICS_UNIX;
	return once(p, "metrics", &p->metrics_seen);
}

static int take_limit(struct parser *p, char **words, unsigned count)
{
	struct gammad_conf *conf = p->conf;
	uint64_t limit, uid;

	if ((count != 2 && !(count == 4 && !strcmp(words[2], "uid"))) ||
	    !number(words[1], 0, LIMIT_MAX, &limit))
		return complain(p, "write `limit NUMBER` or `limit NUMBER uid UID`, from 0 to %d",
				LIMIT_MAX);
	if (count == 2) {
		conf->limit = (unsigned) limit;
		return once(p, "limit", &p->limit_seen);
	}
	if (!number(words[3], 0, UINT32_MAX - 1, &uid))
		return complain(p, "'%s' is no user id; `id -u NAME` shows it",
				gamma_printable(words[3]).text);
	for (unsigned i = 0; i < conf->uid_count; i++) {
		if (conf->uids[i].uid == uid)
			return complain(p, "user %s has a limit already; keep one", words[3]);
	}
	if (conf->uid_count == GAMMAD_UIDS_MAX)
		return complain(p, "more than %d users with limits of their own; leave some out",
				GAMMAD_UIDS_MAX);
	conf->uids[conf->uid_count].uid = (uid_t) uid;
	conf->uids[conf->uid_count++].limit = (unsigned) limit;
	return 0;
}

static int take_group(struct parser *p, char **words, unsigned count)
{
	struct gammad_conf *conf = p->conf;
	const struct group *group;
	uint64_t gid;

	if (count != 2)
		return complain(p, "write `group NAME`, one a line");
	if (conf->group_count == GAMMAD_GROUPS_MAX)
		return complain(p, "more than %d groups; leave some out", GAMMAD_GROUPS_MAX);
	if (!number(words[1], 0, UINT32_MAX - 1, &gid)) {
		group = getgrnam(words[1]);
		if (!group)
			return complain(p, "no group '%s' on this host; `getent group` lists them",
					gamma_printable(words[1]).text);
		gid = group->gr_gid;
	}
	conf->groups[conf->group_count++] = (gid_t) gid;
	return 0;
}

/* Merges it with those that it touches: consecutive ranges, as tools make them, need one place. */
static bool add_range(struct gammad_conf *conf, uint64_t first, uint64_t last)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < conf->range_count; i++) {
		struct gammad_uid_range range = conf->ranges[i];

		if (range.last + 1ULL < first || last + 1 < range.first) {
			conf->ranges[kept++] = range;
			continue;
		}
		first = gamma_min(first, (uint64_t) range.first);
		last = gamma_max(last, (uint64_t) range.last);
	}
	conf->range_count = kept;
	if (kept == GAMMAD_RANGES_MAX)
		return false;
	conf->ranges[conf->range_count++] =
		(struct gammad_uid_range){.first = (uid_t) first, .last = (uid_t) last};
	return true;
}

static int take_uids(struct parser *p, char **words, unsigned count)
{
	char *dash = count == 2 ? strchr(words[1], '-') : NULL;
	uint64_t first, last;

	if (dash)
		*dash = 0;
	if (!dash || !number(words[1], 0, UINT32_MAX - 1, &first) ||
	    !number(dash + 1, first, UINT32_MAX - 1, &last))
		return complain(p, "write `uids FIRST-LAST`, for instance `uids 1000-59999`");
	p->conf->uids_named = true;
	return add_range(p->conf, first, last) ? 0
					       : complain(p,
							  "more than %d ranges of user ids; "
							  "leave some out",
							  GAMMAD_RANGES_MAX);
}

static const struct keyword {
	const char *name;
	int (*take)(struct parser *p, char **words, unsigned count);
} keywords[] = {
	{"nic", take_nic},     {"ring", take_ring},
	{"limit", take_limit}, {"multicast", take_multicast},
	{"group", take_group}, {"ethertype", take_ethertype},
	{"uids", take_uids},   {"metrics", take_metrics},
};

/* line is writable and ends with 0 at line[len]. */
static int parse_line(struct parser *p, char *line, size_t len)
{
	char *words[WORDS_MAX], *rest = NULL;
	unsigned count = 0;

	if (strlen(line) < len)
		return complain(p, "NUL byte; the file must be plain text");
	line[strcspn(line, "#")] = 0;
	for (char *word = strtok_r(line, BLANKS, &rest); word && count < WORDS_MAX;
	     word = strtok_r(NULL, BLANKS, &rest))
		words[count++] = word;
	if (!count)
		return 0;
	for (size_t i = 0; i < sizeof(keywords) / sizeof(*keywords); i++) {
		if (!strcmp(keywords[i].name, words[0]))
			return keywords[i].take(p, words, count);
	}
	return complain(p,
			"unknown keyword '%s'; there are nic, ring, limit, multicast, group, "
			"uids, ethertype, metrics",
			gamma_printable(words[0]).text);
}

static int parse_lines(struct parser *p, char *text, size_t len)
{
	char *line = text, *end = text + len;
	int ret = 0;

	while (!ret && line < end) {
		char *newline = memchr(line, '\n', (size_t) (end - line));
		char *stop = newline ? newline : end;

		*stop = 0;
		p->line++;
		ret = parse_line(p, line, (size_t) (stop - line));
		line = stop + 1;
	}
	p->line = 0;
	if (!ret && !p->conf->nic_count)
		ret = complain(p, "no NIC is named; add a line `nic NAME slots NUMBER`");
	return ret;
}

int gammad_conf_parse(const char *name, const char *text, size_t len, struct gammad_conf *conf,
		      char *error, size_t error_len)
{
	struct parser p = {.file = name, .conf = conf, .error = error, .error_len = error_len};
	char *copy = malloc(len + 1);
	int ret;

	*conf = (struct gammad_conf){
		.ring_bytes = 4 << 20, .ethertype = GAMMA_ETHERTYPE, .limit = 64, .multicast = 64};
	if (!copy) {
		snprintf(error, error_len, "%s: no memory to read it; free some", name);
		return -ENOMEM;
	}
	if (len)
		memcpy(copy, text, len);
	copy[len] = 0;
	ret = parse_lines(&p, copy, len);
	free(copy);
	return ret;
}

/* NAME:FIRST:COUNT; tools that use the file pass over what they do not understand. */
static void parse_subuids(const char *line, size_t len, uint64_t *first, uint64_t *count)
{
	const char *colon = memchr(line, ':', len);
	char numbers[64], *second;

	*count = 0;
	if (!colon)
		return;
	snprintf(numbers, sizeof(numbers), "%.*s",
		 (int) gamma_min((size_t) (line + len - colon - 1), sizeof(numbers) - 1),
		 colon + 1);
	second = strchr(numbers, ':');
	if (!second)
		return;
	*second = 0;
	if (!number(numbers, 0, UINT32_MAX - 1, first) || !number(second + 1, 1, UINT32_MAX, count))
		*count = 0;
}

int gammad_conf_refuse_subuids(const char *name, const char *text, size_t len,
			       struct gammad_conf *conf, char *error, size_t error_len)
{
	const char *end = text + len;
	bool fits = true;

	if (conf->uids_named)
		return 0;
	conf->range_count = 0;
	add_range(conf, UID_OVERFLOW, UID_OVERFLOW);
	for (const char *line = text; fits && line < end;) {
		const char *newline = memchr(line, '\n', (size_t) (end - line));
		const char *stop = newline ? newline : end;
		uint64_t first, count;

		parse_subuids(line, (size_t) (stop - line), &first, &count);
		if (count)
			fits = add_range(conf, first,
					 gamma_min(first + count - 1, (uint64_t) UINT32_MAX - 1));
		line = stop + 1;
	}
	if (!fits)
		snprintf(error, error_len,
			 "%s: more than %d separate ranges; write `uids FIRST-LAST` in gammad.conf "
			 "for the ids of people",
			 name, GAMMAD_RANGES_MAX);
	return fits ? 0 : -EINVAL;
}

/* Bytes read into *text, which the caller frees, or -errno. */
static ssize_t read_file(const char *path, size_t most, char **text)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t len = -1, got;

	*text = malloc(most + 1);
	if (fd >= 0 && *text) {
		len = 0;
		while ((got = read(fd, *text + len, most + 1 - (size_t) len)) > 0)
			len += got;
		if (got < 0)
			len = -1;
	}
	if (len < 0)
		len = *text ? -errno : -ENOMEM;
	if (fd >= 0)
		close(fd);
	return len > (ssize_t) most ? -EFBIG : len;
}

static int load_subuids(const char *path, struct gammad_conf *conf, char *error, size_t error_len)
{
	char *text;
	ssize_t len = conf->uids_named ? 0 : read_file(path, GAMMAD_SUBUIDS_MAX, &text);
	int ret;

	if (conf->uids_named)
		return 0;
	if (len == -ENOENT)
		len = 0;
	if (len < 0) {
		snprintf(error, error_len,
			 "%s: cannot be read: %s; write `uids FIRST-LAST` in gammad.conf", path,
			 strerror((int) -len));
		ret = (int) len;
	} else {
		ret = gammad_conf_refuse_subuids(path, text, (size_t) len, conf, error, error_len);
	}
	free(text);
	return ret;
}

int gammad_conf_load(const char *path, struct gammad_conf *conf, char *error, size_t error_len)
{
	char *text;
	ssize_t len = read_file(path, GAMMAD_CONF_MAX, &text);
	int ret = len < 0 ? (int) len : 0;

	if (ret)
		snprintf(error, error_len, "%s: cannot be read: %s; write one as in gammad.conf(5)",
			 path, strerror(-ret));
	else
		ret = gammad_conf_parse(path, text, (size_t) len, conf, error, error_len);
	free(text);
	return ret ? ret : load_subuids(GAMMAD_SUBUIDS_PATH, conf, error, error_len);
}

bool gammad_conf_permits_uid(const struct gammad_conf *conf, uid_t uid)
{
	bool inside = false;

	for (unsigned i = 0; i < conf->range_count; i++)
		inside |= uid >= conf->ranges[i].first && uid <= conf->ranges[i].last;
	return !uid || inside == conf->uids_named;
}

unsigned gammad_conf_limit(const struct gammad_conf *conf, uid_t uid)
{
	for (unsigned i = 0; i < conf->uid_count; i++) {
		if (conf->uids[i].uid == uid)
			return conf->uids[i].limit;
	}
	return conf->limit;
}

bool gammad_conf_allows(const struct gammad_conf *conf, gid_t gid)
{
	for (unsigned i = 0; i < conf->group_count; i++) {
		if (conf->groups[i] == gid)
			return true;
	}
	return !conf->group_count;
}
