// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* The host's identity, from /proc. */
#include "unix/host.h"
#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#define BOOT_ID       "/proc/sys/kernel/random/boot_id"
/* The thread's namespace, because its sockets are created there. */
#define NET_NAMESPACE "/proc/thread-self/ns/net"

/* FNV-1a. */
static uint64_t mix(uint64_t hash, const void *data, size_t len)
{
	const uint8_t *bytes = data;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ bytes[i]) * 0x100000001b3ull;
	return hash;
}

/* Spreads the last bytes over all bits, which FNV-1a alone does not (splitmix64). */
static uint64_t finish(uint64_t hash)
{
	hash = (hash ^ hash >> 30) * 0xbf58476d1ce4e5b9ull;
	hash = (hash ^ hash >> 27) * 0x94d049bb133111ebull;
	return hash ^ hash >> 31;
}

/* Without a boot id, use the host name: it also differs between the nodes of a cluster. */
static uint64_t mix_boot(uint64_t hash)
{
	struct utsname name;
	char id[64];
	ssize_t len = -1;
	int fd = open(BOOT_ID, O_RDONLY | O_CLOEXEC);

	if (fd >= 0) {
		len = read(fd, id, sizeof(id));
		close(fd);
	}
	if (len > 0)
		return mix(hash, id, len);
	gamma_warn(BOOT_ID
		   " cannot be read: the host name identifies the host instead; mount /proc");
	return uname(&name) ? hash : mix(hash, name.nodename, strlen(name.nodename));
}

uint64_t gamma_host_identity(void)
{
	uint64_t hash = mix_boot(0xcbf29ce484222325ull);
	struct stat st;

	if (!stat(NET_NAMESPACE, &st))
		hash = mix(hash, &st.st_ino, sizeof(st.st_ino));
	else
		gamma_warn(NET_NAMESPACE ": %s: containers of this host count as one; mount /proc",
			   strerror(errno));
	hash = finish(hash);
	return hash ? hash : 1;
}
