/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* gammad.conf: what gammad may give to whom. Read at its start and at each reload. */
#ifndef GAMMAD_CONF_H
#define GAMMAD_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define GAMMAD_CONF_PATH "/etc/gammad.conf"

enum {
	GAMMAD_NICS_MAX = 16,
	GAMMAD_SLOTS_MAX = 1024, /* of one NIC */
	GAMMAD_GROUPS_MAX = 32,
	GAMMAD_UIDS_MAX = 64,       /* with a limit of their own */
	GAMMAD_CONF_MAX = 64 << 10, /* bytes of the file */
	GAMMAD_RING_MIN = 64 << 10, /* bytes */
	GAMMAD_RING_MAX = 1 << 30,  /* bytes */
};

struct gammad_conf {
	struct {
		char name[16];
		unsigned slots; /* endpoints that it can have at a time */
	} nics[GAMMAD_NICS_MAX];
	unsigned nic_count;
	uint32_t ring_bytes; /* of an endpoint's receive ring */
	uint16_t ethertype;
	unsigned limit; /* endpoints of a user at a time */
	struct {
		uid_t uid;
		unsigned limit;
	} uids[GAMMAD_UIDS_MAX];
	unsigned uid_count;
	gid_t groups[GAMMAD_GROUPS_MAX]; /* whose members may have endpoints; none: everybody */
	unsigned group_count;
};

/* 0, or -EINVAL with "file:line: cause; cure" in error. name stands for the file. */
int gammad_conf_parse(const char *name, const char *text, size_t len, struct gammad_conf *conf,
		      char *error, size_t error_len);
/* The same from a file; other errors too. */
int gammad_conf_load(const char *path, struct gammad_conf *conf, char *error, size_t error_len);

unsigned gammad_conf_limit(const struct gammad_conf *conf, uid_t uid);
bool gammad_conf_allows(const struct gammad_conf *conf, gid_t gid);

#endif /* GAMMAD_CONF_H */
