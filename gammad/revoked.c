// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Users whose endpoints were revoked: they get no others until they are allowed again. The list is
 * in a file as well, one user id a line, so that it outlives a restart of gammad.
 */
#include "gammad/revoked.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"

static int position_of(const struct gammad_revoked *revoked, uid_t uid)
{
	for (unsigned i = 0; i < revoked->count; i++) {
		if (revoked->uids[i] == uid)
			return (int) i;
	}
	return -1;
}

bool gammad_revoked_has(const struct gammad_revoked *revoked, uid_t uid)
{
	return position_of(revoked, uid) >= 0;
}

/* A reader finds the old list or the new one, never a part. */
static int store(const struct gammad_revoked *revoked)
{
	char path[256];
	FILE *file;
	int ret = 0;

	snprintf(path, sizeof(path), "%s.new", revoked->path);
	file = fopen(path, "we");
	if (!file)
		return -errno;
	for (unsigned i = 0; i < revoked->count; i++)
		fprintf(file, "%u\n", (unsigned) revoked->uids[i]);
	if (ferror(file))
		ret = -EIO;
	if (fclose(file) || (!ret && rename(path, revoked->path)))
		ret = -errno;
	if (ret)
		unlink(path);
	return ret;
}

static int append(struct gammad_revoked *revoked, uid_t uid)
{
	uid_t *uids;

	if (revoked->count == GAMMAD_REVOKED_MAX)
		return -ENOSPC;
	uids = realloc(revoked->uids, (revoked->count + 1) * sizeof(*uids));
	if (!uids)
		return -ENOMEM;
	uids[revoked->count++] = uid;
	revoked->uids = uids;
	return 0;
}

static void warn_if(const struct gammad_revoked *revoked, int ret)
{
	if (ret)
		gamma_warn("%s: %s; a restart of gammad would allow revoked users again: free "
			   "space in /run",
			   revoked->path, strerror(-ret));
}

int gammad_revoked_add(struct gammad_revoked *revoked, uid_t uid)
{
	int ret;

	if (gammad_revoked_has(revoked, uid))
		return 0;
	ret = append(revoked, uid);
	if (!ret)
		warn_if(revoked, store(revoked));
	return ret;
}

bool gammad_revoked_remove(struct gammad_revoked *revoked, uid_t uid)
{
	int i = position_of(revoked, uid);

	if (i < 0)
		return false;
	revoked->uids[i] = revoked->uids[--revoked->count];
	warn_if(revoked, store(revoked));
	return true;
}

void gammad_revoked_clear(struct gammad_revoked *revoked)
{
	revoked->count = 0;
	if (unlink(revoked->path) && errno != ENOENT)
		warn_if(revoked, -errno);
}

int gammad_revoked_load(struct gammad_revoked *revoked, const char *path)
{
	char line[32];
	FILE *file;
	int ret = 0;

	*revoked = (struct gammad_revoked){.path = path};
	file = fopen(path, "re");
	if (!file)
		return errno == ENOENT ? 0 : -errno;
	while (!ret && fgets(line, sizeof(line), file)) {
		char *end;
		unsigned long uid = strtoul(line, &end, 10);

		if (end == line || *end != '\n' || uid >= UINT32_MAX)
			ret = -EINVAL;
		else if (!gammad_revoked_has(revoked, (uid_t) uid))
			ret = append(revoked, (uid_t) uid);
	}
	fclose(file);
	return ret;
}
