// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The cluster's configuration file, parsed into an array of hosts sorted by name and an index
 * sorted by MAC. The names stay in a private copy of the text.
 */
#include "conf/conf.h"
#include "base/base.h"
#include "base/mac.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLANKS " \t\r\v\f"

struct gamma_conf {
	char *file;                            /* the file's name */
	char *text;                            /* the file's content, split into words */
	struct gamma_conf_host *hosts;         /* sorted by name */
	const struct gamma_conf_host **by_mac; /* the same, sorted by MAC */
	size_t count;
};

/* State of a parse. */
struct parser {
	const char *file; /* name for messages */
	unsigned int line;
	struct gamma_conf *conf;
	size_t room; /* hosts that conf->hosts can hold */
	char *error;
	size_t error_len;
};

/* ---- messages ---- */

static int __attribute__((format(printf, 2, 3))) complain(struct parser *p, const char *fmt, ...)
{
	va_list args;
	int n = snprintf(p->error, p->error_len, "%s:%u: ", p->file, p->line);

	if (n < 0 || (size_t) n >= p->error_len)
		return -EINVAL;
	va_start(args, fmt);
	vsnprintf(p->error + n, p->error_len - n, fmt, args);
	va_end(args);
	return -EINVAL;
}

/* ---- one line ---- */

/* Lower-cases the name in place, so that look-ups compare bytes, independent of the locale. */
static int check_name(struct parser *p, char *name)
{
	size_t len = strlen(name);

	if (len > GAMMA_CONF_NAME_MAX)
		return complain(p, "host name '%s' has %zu characters; the most is %d",
				gamma_printable(name).text, len, GAMMA_CONF_NAME_MAX);
	if (*name == '.' || *name == '-')
		return complain(p, "host name '%s' begins with '%c'; begin with a letter or digit",
				gamma_printable(name).text, *name);
	for (char *c = name; *c; c++) {
		if (*c >= 'A' && *c <= 'Z')
			*c += 'a' - 'A';
		if (!(*c >= 'a' && *c <= 'z') && !(*c >= '0' && *c <= '9') && !strchr("-._", *c))
			return complain(p,
					"host name '%s' has a character that no host name has; "
					"use letters, digits, '-', '.' and '_'",
					gamma_printable(name).text);
	}
	return 0;
}

/* "0x1" or "0x01": the value, or -1. */
static int parse_byte(const char *word)
{
	int high, low;

	if (word[0] != '0' || (word[1] != 'x' && word[1] != 'X'))
		return -1;
	high = gamma_mac_hex_digit(word[2]);
	if (high < 0 || !word[3])
		return high;
	low = gamma_mac_hex_digit(word[3]);
	return low < 0 || word[4] ? -1 : high << 4 | low;
}

static int parse_bytes(struct parser *p, char **words, size_t count, uint8_t mac[GAMMA_MAC_LEN])
{
	for (size_t i = 0; i < count && i < GAMMA_MAC_LEN; i++) {
		int byte = parse_byte(words[i]);

		if (byte < 0)
			return complain(p,
					"'%s' is no byte of a MAC; write each like 0x1f, "
					"or the whole like 01:23:45:67:89:ab",
					gamma_printable(words[i]).text);
		mac[i] = byte;
	}
	if (count > GAMMA_MAC_LEN)
		return complain(p, "more than six bytes of MAC; write one host and its MAC a line");
	if (count < GAMMA_MAC_LEN)
		return complain(p, "%zu byte%s of MAC after the host name; write all six", count,
				count == 1 ? "" : "s");
	return 0;
}

static int check_mac(struct parser *p, const char *name, const uint8_t mac[GAMMA_MAC_LEN])
{
	char text[GAMMA_MAC_TEXT_LEN];

	if (gamma_mac_is_unicast(mac))
		return 0;
	return complain(p, "%s is a %s address, not the MAC of a NIC; see `ip link` on '%s'",
			gamma_mac_format(mac, text), mac[0] & 1 ? "multicast" : "zero",
			gamma_printable(name).text);
}

static int add_host(struct parser *p, const char *name, const uint8_t mac[GAMMA_MAC_LEN])
{
	struct gamma_conf *conf = p->conf;
	struct gamma_conf_host *host;

	if (conf->count == p->room) {
		size_t room = p->room ? 2 * p->room : 64;

		host = realloc(conf->hosts, room * sizeof(*host));
		if (!host)
			return -ENOMEM;
		conf->hosts = host;
		p->room = room;
	}
	host = &conf->hosts[conf->count++];
	host->name = name;
	host->line = p->line;
	memcpy(host->mac, mac, GAMMA_MAC_LEN);
	return 0;
}

/* line is writable and ends with 0 at line[len]. */
static int parse_line(struct parser *p, char *line, size_t len)
{
	char *words[GAMMA_MAC_LEN + 2]; /* name, six bytes, and one more to detect too many */
	uint8_t mac[GAMMA_MAC_LEN] = {0};
	char *rest = NULL;
	size_t count = 0;
	int err;

	if (len > GAMMA_CONF_LINE_MAX)
		return complain(p, "line of %zu bytes; the most is %d", len, GAMMA_CONF_LINE_MAX);
	if (strlen(line) < len)
		return complain(p, "NUL byte; the file must be plain text");
	line[strcspn(line, "#")] = 0;
	for (char *word = strtok_r(line, BLANKS, &rest);
	     word && count < sizeof(words) / sizeof(*words); word = strtok_r(NULL, BLANKS, &rest))
		words[count++] = word;
	if (!count)
		return 0;
	err = check_name(p, words[0]);
	if (err)
		return err;
	if (count != 2 || !gamma_mac_parse(words[1], mac)) {
		err = parse_bytes(p, words + 1, count - 1, mac);
		if (err)
			return err;
	}
	err = check_mac(p, words[0], mac);
	return err ? err : add_host(p, words[0], mac);
}

/* ---- the whole ---- */

static int parse_lines(struct parser *p, size_t len)
{
	char *line = p->conf->text, *end = line + len;

	while (line < end) {
		char *newline = memchr(line, '\n', end - line);
		char *stop = newline ? newline : end;
		int err;

		*stop = 0;
		p->line++;
		err = parse_line(p, line, stop - line);
		if (err)
			return err;
		line = stop + 1;
	}
	return 0;
}

static int compare_names(const void *a, const void *b)
{
	const struct gamma_conf_host *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : (x->line > y->line) - (x->line < y->line);
}

static int compare_macs(const void *a, const void *b)
{
	const struct gamma_conf_host *x = *(const struct gamma_conf_host *const *) a;
	const struct gamma_conf_host *y = *(const struct gamma_conf_host *const *) b;
	int order = memcmp(x->mac, y->mac, GAMMA_MAC_LEN);

	return order ? order : (x->line > y->line) - (x->line < y->line);
}

/* Sorts the hosts, and rejects duplicates, which are adjacent then. */
static int index_hosts(struct parser *p)
{
	struct gamma_conf *conf = p->conf;
	char text[GAMMA_MAC_TEXT_LEN];

	if (!conf->count)
		return 0;
	conf->by_mac = malloc(conf->count * sizeof(*conf->by_mac));
	if (!conf->by_mac)
		return -ENOMEM;
	qsort(conf->hosts, conf->count, sizeof(*conf->hosts), compare_names);
	for (size_t i = 0; i < conf->count; i++)
		conf->by_mac[i] = &conf->hosts[i];
	qsort(conf->by_mac, conf->count, sizeof(*conf->by_mac), compare_macs);
	for (size_t i = 1; i < conf->count; i++) {
		const struct gamma_conf_host *a = &conf->hosts[i - 1], *b = &conf->hosts[i];

		p->line = b->line;
		if (!strcmp(a->name, b->name))
			return complain(p, "host '%s' is on line %u already; remove one of the two",
					gamma_printable(b->name).text, a->line);
		a = conf->by_mac[i - 1];
		b = conf->by_mac[i];
		p->line = b->line;
		if (!memcmp(a->mac, b->mac, GAMMA_MAC_LEN))
			return complain(p,
					"MAC %s is that of line %u already; each NIC has its own",
					gamma_mac_format(b->mac, text), a->line);
	}
	return 0;
}

static int parse(struct parser *p, const char *text, size_t len)
{
	int err;

	p->conf->file = strdup(p->file);
	p->conf->text = malloc(len + 1);
	if (!p->conf->file || !p->conf->text)
		return -ENOMEM;
	if (len)
		memcpy(p->conf->text, text, len);
	err = parse_lines(p, len);
	return err ? err : index_hosts(p);
}

int gamma_conf_parse(const char *name, const char *text, size_t len, struct gamma_conf **conf,
		     char *error, size_t error_len)
{
	struct parser p = {.file = name, .error = error, .error_len = error_len};
	int err = -ENOMEM;

	if (error_len)
		*error = 0;
	*conf = NULL;
	p.conf = calloc(1, sizeof(*p.conf));
	if (p.conf)
		err = parse(&p, text, len);
	if (err == -ENOMEM)
		snprintf(error, error_len, "%s: no memory to read it; free some", name);
	if (err) {
		gamma_conf_free(p.conf);
		return err;
	}
	*conf = p.conf;
	return 0;
}

/* ---- the file ---- */

/* Reads at most GAMMA_CONF_FILE_MAX + 1 bytes; the caller frees *text also on failure. */
static int read_all(int fd, char **text, size_t *len)
{
	size_t room = 0;

	for (;;) {
		ssize_t n;

		if (*len == room) {
			char *grown = realloc(*text, room = room ? 2 * room : 16384);

			if (!grown)
				return -ENOMEM;
			*text = grown;
		}
		n = read(fd, *text + *len, room - *len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		*len += n;
		if (!n || *len > GAMMA_CONF_FILE_MAX)
			return 0;
	}
}

static int load_open(int fd, const char *path, struct gamma_conf **conf, char *error,
		     size_t error_len)
{
	char *text = NULL;
	struct stat st;
	size_t len = 0;
	int err;

	if (!fstat(fd, &st) && !S_ISREG(st.st_mode)) {
		snprintf(error, error_len, "%s: %s; name a text file", path,
			 S_ISDIR(st.st_mode) ? "is a directory" : "is not a regular file");
		return S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
	}
	err = read_all(fd, &text, &len);
	if (err) {
		snprintf(error, error_len, "%s: cannot be read (%s); check the file", path,
			 strerror(-err));
	} else if (len > GAMMA_CONF_FILE_MAX) {
		snprintf(error, error_len, "%s: is larger than %d bytes; is it the right file?",
			 path, GAMMA_CONF_FILE_MAX);
		err = -EFBIG;
	} else {
		err = gamma_conf_parse(path, text, len, conf, error, error_len);
	}
	free(text);
	return err;
}

int gamma_conf_load(const char *path, struct gamma_conf **conf, char *error, size_t error_len)
{
	int fd, err;

	*conf = NULL;
	if (error_len)
		*error = 0;
	if (!path)
		path = GAMMA_CONF_PATH;
	/* Opening a FIFO must not wait for a writer. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0) {
		err = -errno;
		if (err == -ENOENT && !strcmp(path, GAMMA_CONF_PATH))
			return gamma_conf_parse(path, "", 0, conf, error, error_len);
		snprintf(error, error_len,
			 "%s: cannot be opened (%s); check its name and permissions", path,
			 strerror(-err));
		return err;
	}
	err = load_open(fd, path, conf, error, error_len);
	close(fd);
	return err;
}

void gamma_conf_free(struct gamma_conf *conf)
{
	if (!conf)
		return;
	free(conf->by_mac);
	free(conf->hosts);
	free(conf->text);
	free(conf->file);
	free(conf);
}

/* ---- look-ups ---- */

const char *gamma_conf_file(const struct gamma_conf *conf)
{
	return conf ? conf->file : GAMMA_CONF_PATH;
}

size_t gamma_conf_hosts(const struct gamma_conf *conf, const struct gamma_conf_host **hosts)
{
	*hosts = conf ? conf->hosts : NULL;
	return conf ? conf->count : 0;
}

/* Index of the first host whose name is not before key. */
static size_t lower_bound(const struct gamma_conf *conf, const char *key)
{
	size_t low = 0, high = conf->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(conf->hosts[middle].name, key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static const struct gamma_conf_host *find_exact(const struct gamma_conf *conf, const char *key)
{
	size_t i = lower_bound(conf, key);

	return i < conf->count && !strcmp(conf->hosts[i].name, key) ? &conf->hosts[i] : NULL;
}

/* The only host whose name begins with prefix, NULL if none or several do. */
static const struct gamma_conf_host *find_only(const struct gamma_conf *conf, const char *prefix)
{
	size_t i = lower_bound(conf, prefix), len = strlen(prefix);

	if (i >= conf->count || strncmp(conf->hosts[i].name, prefix, len))
		return NULL;
	if (i + 1 < conf->count && !strncmp(conf->hosts[i + 1].name, prefix, len))
		return NULL;
	return &conf->hosts[i];
}

const struct gamma_conf_host *gamma_conf_by_name(const struct gamma_conf *conf, const char *name)
{
	char key[GAMMA_CONF_NAME_MAX + 2]; /* with room for a dot at the end */
	const struct gamma_conf_host *host;
	struct in_addr ipv4;
	size_t len = strnlen(name, GAMMA_CONF_NAME_MAX + 1);
	char *dot;

	if (!conf || !len || len > GAMMA_CONF_NAME_MAX)
		return NULL;
	for (size_t i = 0; i <= len; i++)
		key[i] = name[i] >= 'A' && name[i] <= 'Z' ? name[i] + 'a' - 'A' : name[i];
	host = find_exact(conf, key);
	/* 10.0.0.1 is not host 10 of a domain. */
	if (host || inet_pton(AF_INET, key, &ipv4) == 1)
		return host;
	dot = strchr(key, '.');
	if (dot) {
		*dot = 0;
		return find_exact(conf, key);
	}
	strcpy(key + len, ".");
	return find_only(conf, key);
}

const struct gamma_conf_host *gamma_conf_by_mac(const struct gamma_conf *conf,
						const uint8_t mac[GAMMA_MAC_LEN])
{
	size_t low = 0, high = conf ? conf->count : 0;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = memcmp(conf->by_mac[middle]->mac, mac, GAMMA_MAC_LEN);

		if (!order)
			return conf->by_mac[middle];
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}
