/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The users who get no endpoints since `gammactl revoke`, until `gammactl allow` or a reload. */
#ifndef GAMMAD_REVOKED_H
#define GAMMAD_REVOKED_H

#include <stdbool.h>
#include <sys/types.h>

enum { GAMMAD_REVOKED_MAX = 4096 }; /* users */

struct gammad_revoked {
	const char *path; /* of the file that has the list too */
	uid_t *uids;
	unsigned count;
};

/* Reads the list that an earlier gammad left. 0 or a negative errno; path stays the caller's. */
int gammad_revoked_load(struct gammad_revoked *revoked, const char *path);
bool gammad_revoked_has(const struct gammad_revoked *revoked, uid_t uid);
/* 0, -ENOSPC or -ENOMEM. If only the file cannot be written, it says so and returns 0. */
int gammad_revoked_add(struct gammad_revoked *revoked, uid_t uid);
/* Whether the user was in the list. */
bool gammad_revoked_remove(struct gammad_revoked *revoked, uid_t uid);
void gammad_revoked_clear(struct gammad_revoked *revoked);

#endif /* GAMMAD_REVOKED_H */
