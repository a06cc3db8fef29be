// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* How two sockets come to share one address and port. See udp_connected.h. */
#include "link/udp_connected.h"

#include <errno.h>

static int share(int fd, int on)
{
	return setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) ? -errno : 0;
}

/* The kernel lets sockets share a port only if each of them permits it and one user owns them. */
int gamma_udp_connected_bind(int fd, int first, const struct sockaddr *own, socklen_t len)
{
	int ret = share(fd, 1);

	if (!ret)
		ret = share(first, 1);
	if (!ret && bind(fd, own, len))
		ret = -errno;
	share(first, 0);
	share(fd, 0);
	if (!ret && connect(fd, own, len))
		ret = -errno;
	return ret;
}
