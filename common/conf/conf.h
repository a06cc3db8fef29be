/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The cluster's configuration file, /etc/gamma.conf: the MAC of each host's data NIC, the same file
 * on every node. The interface layer loads it; name resolution and the choice of the default NIC
 * use it.
 *
 * Each line is a host: its name, then the MAC as six words (0x01 0x23 0x45 0x67 0x89 0xab) or as
 * one (01:23:45:67:89:ab). '#' starts a comment; blank lines are skipped.
 */
#ifndef GAMMA_CONF_H
#define GAMMA_CONF_H

#include <stddef.h>
#include <stdint.h>

#include "wire/address.h"

#define GAMMA_CONF_PATH "/etc/gamma.conf"

enum {
	GAMMA_CONF_FILE_MAX = 16 << 20, /* bytes; enough for 300,000 hosts */
	GAMMA_CONF_LINE_MAX = 1024,     /* bytes without the newline, comment included */
	GAMMA_CONF_NAME_MAX = 253,      /* bytes: the longest DNS name */
};

struct gamma_conf_host {
	const char *name; /* in lower case; lives as long as its gamma_conf */
	uint8_t mac[GAMMA_MAC_LEN];
	unsigned int line; /* of the file, from 1 */
};

/* A loaded file. It is immutable, so threads may share it. */
struct gamma_conf;

/*
 * Loads the file; path NULL means GAMMA_CONF_PATH. If the default file does not exist, the
 * configuration is empty; a file that the user named must exist. Returns 0, or a negative errno
 * with *conf NULL and the line "file:line: cause; cure" in error (-EINVAL: the content is wrong).
 */
int gamma_conf_load(const char *path, struct gamma_conf **conf, char *error, size_t error_len);

/* The same on text in memory (not necessarily ended by 0); name stands for the file in error. */
int gamma_conf_parse(const char *name, const char *text, size_t len, struct gamma_conf **conf,
		     char *error, size_t error_len);

/* NULL is allowed. */
void gamma_conf_free(struct gamma_conf *conf);

/* The file's name as given, GAMMA_CONF_PATH for NULL: for messages. */
const char *gamma_conf_file(const struct gamma_conf *conf);

/* All hosts, in the order of their names; returns how many. */
size_t gamma_conf_hosts(const struct gamma_conf *conf, const struct gamma_conf_host **hosts);

/*
 * The host of that name, in any case, or NULL. Short and fully qualified names match each other:
 * pc001.cluster finds pc001, and pc001 finds pc001.cluster if no other domain in the file has a
 * pc001. A conf of NULL is empty, here and below.
 */
const struct gamma_conf_host *gamma_conf_by_name(const struct gamma_conf *conf, const char *name);

const struct gamma_conf_host *gamma_conf_by_mac(const struct gamma_conf *conf,
						const uint8_t mac[GAMMA_MAC_LEN]);

#endif /* GAMMA_CONF_H */
