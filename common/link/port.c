// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Claims ports by binding the abstract AF_UNIX name of NIC and port. The kernel makes that
 * exclusive in the network namespace and frees the name when the process ends, however it ends.
 */
#include "link/port.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "unix/name_owner.h"

enum { EPHEMERAL_FIRST = 32768, EPHEMERAL_TRIES = 64 };

unsigned gamma_port_name(const uint8_t mac[GAMMA_MAC_LEN], uint16_t port, struct sockaddr_un *name)
{
	int len;

	name->sun_family = AF_UNIX;
	name->sun_path[0] = '\0';
	len = snprintf(name->sun_path + 1, sizeof(name->sun_path) - 1,
		       "gamma/%02x%02x%02x%02x%02x%02x/%u", mac[0], mac[1], mac[2], mac[3], mac[4],
		       mac[5], port);
	return (unsigned) (offsetof(struct sockaddr_un, sun_path) + 1 + (size_t) len);
}

void gamma_port_gammad_mac(const uint8_t nic[GAMMA_MAC_LEN], const uint8_t endpoint[GAMMA_MAC_LEN],
			   uint8_t mac[GAMMA_MAC_LEN])
{
	memcpy(mac, nic, GAMMA_MAC_LEN);
	if (!memcmp(nic, endpoint, GAMMA_MAC_LEN))
		mac[0] |= 1; /* a group's */
}

static int bind_port(int fd, const uint8_t mac[GAMMA_MAC_LEN], uint16_t port)
{
	struct sockaddr_un name;
	unsigned len = gamma_port_name(mac, port, &name);

	return bind(fd, (struct sockaddr *) &name, len) ? -errno : 0;
}

static int bind_ephemeral(int fd, const uint8_t mac[GAMMA_MAC_LEN], uint16_t *port)
{
	int ret = -EADDRINUSE;

	for (int i = 0; i < EPHEMERAL_TRIES && ret == -EADDRINUSE; i++) {
		uint16_t number;

		if (getrandom(&number, sizeof(number), 0) != sizeof(number))
			return -EAGAIN;
		*port = number | EPHEMERAL_FIRST;
		ret = bind_port(fd, mac, *port);
	}
	return ret;
}

int gamma_port_claim(const uint8_t mac[GAMMA_MAC_LEN], uint16_t *port)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int ret;

	if (fd < 0)
		return -errno;
	ret = *port ? bind_port(fd, mac, *port) : bind_ephemeral(fd, mac, port);
	if (ret) {
		close(fd);
		return ret;
	}
	return fd;
}

int gamma_port_owner(const uint8_t mac[GAMMA_MAC_LEN], uint16_t port, uid_t *uid)
{
	struct gamma_name_owner owner;
	struct sockaddr_un name;
	unsigned len = gamma_port_name(mac, port, &name);
	int ret = gamma_name_owner_open(&owner);

	if (!ret)
		ret = gamma_name_owner_find(&owner, &name, len, uid);
	gamma_name_owner_close(&owner);
	return ret;
}

static int claim_range_from(const uint8_t mac[GAMMA_MAC_LEN], uint16_t port, unsigned count,
			    int *fds)
{
	unsigned claimed = 0;
	int ret = 0;

	while (!ret && claimed < count) {
		uint16_t next = (uint16_t) (port + claimed);
		int fd = next > claimed ? gamma_port_claim(mac, &next) : -EADDRINUSE;

		if (fd < 0)
			ret = fd;
		else
			fds[claimed++] = fd;
	}
	while (ret && claimed)
		close(fds[--claimed]);
	return ret;
}

int gamma_port_claim_range(const uint8_t mac[GAMMA_MAC_LEN], uint16_t *port, unsigned count,
			   int *fds)
{
	int ret = -EADDRINUSE;

	if (*port)
		return claim_range_from(mac, *port, count, fds);
	for (int i = 0; i < EPHEMERAL_TRIES && ret == -EADDRINUSE; i++) {
		if (getrandom(port, sizeof(*port), 0) != sizeof(*port))
			return -EAGAIN;
		*port |= EPHEMERAL_FIRST;
		ret = claim_range_from(mac, *port, count, fds);
	}
	return ret;
}
