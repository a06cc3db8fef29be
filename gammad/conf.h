/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* gammad.conf: the NICs, limits and groups. gammad reads it at start and at each reload. */
#ifndef GAMMAD_CONF_H
#define GAMMAD_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define GAMMAD_CONF_PATH    "/etc/gammad.conf"
#define GAMMAD_SUBUIDS_PATH "/etc/subuid"

enum {
	GAMMAD_NICS_MAX = 16,
	GAMMAD_SLOTS_MAX = 1024, /* of one NIC */
	GAMMAD_GROUPS_MAX = 32,
	GAMMAD_UIDS_MAX = 64,         /* users with a limit of their own */
	GAMMAD_RANGES_MAX = 64,       /* ranges of user ids, adjacent ones merged */
	GAMMAD_CONF_MAX = 64 << 10,   /* bytes, of the file */
	GAMMAD_SUBUIDS_MAX = 4 << 20, /* bytes, of /etc/subuid */
	GAMMAD_RING_MIN = 64 << 10,   /* bytes */
	GAMMAD_RING_MAX = 1 << 30,    /* bytes */
	GAMMAD_METRICS_UNIX = -1,     /* metrics: the socket in /run/gammad */
};

struct gammad_uid_range {
	uid_t first, last;
};

struct gammad_conf {
	struct {
		char name[16];
		unsigned slots;   /* endpoints at a time */
		bool own_address; /* endpoints have the NIC's own MAC */
	} nics[GAMMAD_NICS_MAX];
	unsigned nic_count;
	uint32_t ring_bytes; /* bytes, of an endpoint's receive ring */
	uint16_t ethertype;
	unsigned limit;     /* endpoints of a user at a time */
	unsigned multicast; /* memberships of a user in multicast groups at a time */
	struct {
		uid_t uid;
		unsigned limit;
	} uids[GAMMAD_UIDS_MAX];
	unsigned uid_count;
	gid_t groups[GAMMAD_GROUPS_MAX]; /* groups that may have endpoints; none: everyone may */
	unsigned group_count;
	bool uids_named; /* the ranges may have endpoints, and nobody else; false: all others may */
	struct gammad_uid_range ranges[GAMMAD_RANGES_MAX];
	unsigned range_count;
	int metrics; /* port on localhost, GAMMAD_METRICS_UNIX, or 0: nowhere */
};

/* 0, or -EINVAL with "file:line: cause; cure" in error. name is the file's name in that text. */
int gammad_conf_parse(const char *name, const char *text, size_t len, struct gammad_conf *conf,
		      char *error, size_t error_len);
/* Unless the configuration names user ids itself: refuses those that a file like /etc/subuid gives
 * away, since one user is many there. 0 or -EINVAL with an error as above. */
int gammad_conf_refuse_subuids(const char *name, const char *text, size_t len,
			       struct gammad_conf *conf, char *error, size_t error_len);
/* Both from files; also returns the errors of reading them. There need not be a /etc/subuid. */
int gammad_conf_load(const char *path, struct gammad_conf *conf, char *error, size_t error_len);

unsigned gammad_conf_limit(const struct gammad_conf *conf, uid_t uid);
/* Whether this user id may have endpoints, whatever its groups. Root always may. */
bool gammad_conf_permits_uid(const struct gammad_conf *conf, uid_t uid);
bool gammad_conf_allows(const struct gammad_conf *conf, gid_t gid);

#endif /* GAMMAD_CONF_H */
