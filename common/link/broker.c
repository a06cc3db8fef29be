// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* One question to gammad: an endpoint's sockets, as SCM_RIGHTS hands them over. */
#include "link/broker.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/base.h"
#include "link/enclosed.h"

static int connect_to(const char *path)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int fd, ret;

	if (strlen(path) >= sizeof(name.sun_path))
		return -ENAMETOOLONG;
	strcpy(name.sun_path, path);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (!connect(fd, (struct sockaddr *) &name, sizeof(name)))
		return fd;
	ret = -errno;
	close(fd);
	return ret;
}

int gamma_broker_reach(const char *path)
{
	int fd = connect_to(path);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

static int receive(int fd, struct gamma_broker_opened *opened, struct gamma_enclosed *enclosed)
{
	struct pollfd polls = {.fd = fd, .events = POLLIN};
	int ret;
	ssize_t len;

	do
		ret = poll(&polls, 1, GAMMA_BROKER_WAIT_S * 1000);
	while (ret < 0 && errno == EINTR);
	if (ret <= 0)
		return ret ? -errno : -ETIMEDOUT;
	len = gamma_enclosed_receive(fd, opened, sizeof(*opened), enclosed);
	if (len <= 0)
		return len ? (int) len : -ECONNRESET;
	if (gamma_broker_is(opened, (size_t) len, GAMMA_BROKER_OPENED, sizeof(*opened)))
		return 0;
	/* Nothing but a refusal is shorter. */
	return gamma_broker_is(opened, (size_t) len, GAMMA_BROKER_DONE,
			       sizeof(struct gamma_broker_done)) &&
			       opened->header.reason
		       ? 0
		       : -EPROTO;
}

static int ask(int fd, const struct gamma_broker_open *open, struct gamma_brokered *brokered)
{
	struct gamma_enclosed enclosed = {.fds = {-1, -1}};
	int ret;

	if (send(fd, open, sizeof(*open), MSG_NOSIGNAL) != sizeof(*open))
		return errno ? -errno : -EPROTO;
	ret = receive(fd, &brokered->opened, &enclosed);
	if (!ret && brokered->opened.header.reason)
		ret = gamma_broker_error(brokered->opened.header.reason);
	else if (!ret && (enclosed.fds[0] < 0 || enclosed.fds[1] < 0))
		ret = -EMFILE; /* this process may have no more descriptors */
	brokered->packet_fd = enclosed.fds[0];
	brokered->port_fd = enclosed.fds[1];
	brokered->gammad_fd = fd;
	return ret;
}

static void close_all(struct gamma_brokered *brokered)
{
	if (brokered->packet_fd >= 0)
		close(brokered->packet_fd);
	if (brokered->port_fd >= 0)
		close(brokered->port_fd);
}

int gamma_broker_ask(const char *path, const uint8_t mac[GAMMA_MAC_LEN], uint16_t port,
		     uint32_t epoch, uint16_t ethertype, struct gamma_brokered *brokered)
{
	struct gamma_broker_open open = {.port = port, .epoch = epoch, .ethertype = ethertype};
	int fd = connect_to(path);
	int ret;

	memset(brokered, 0, sizeof(*brokered));
	brokered->packet_fd = brokered->port_fd = -1;
	if (fd < 0) {
		gamma_warn("no CAP_NET_RAW and no gammad at %s (%s): start gammad, or run as root",
			   path, strerror(-fd));
		return fd;
	}
	gamma_broker_head(&open.header, GAMMA_BROKER_OPEN, sizeof(open), GAMMA_BROKER_OK);
	memcpy(open.mac, mac, GAMMA_MAC_LEN);
	ret = ask(fd, &open, brokered);
	if (!ret)
		return 0;
	gamma_warn("gammad at %s: %s", path,
		   brokered->opened.header.reason ? gamma_broker_text(brokered->opened.header.reason)
						  : strerror(-ret));
	close_all(brokered);
	close(fd);
	return ret;
}
