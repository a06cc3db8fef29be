// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Between processes of one host: frames to the own MAC never come back from a NIC, so they go
 * through the receiver's port socket (AF_UNIX datagrams, which keep order and are not lost). The
 * kernel vouches for the sender's user id.
 */
#include "link/link.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/base.h"

enum {
	FRAME_MAX = GAMMA_ETH_LEN + GAMMA_SAMEHOST_MTU,
	SEND_BUFFER = 4 << 20, /* bytes */
	SLOTS = 1024,	       /* nominal: the sender waits instead of losing frames */
};

struct samehost_link {
	struct gamma_link link;
	uint8_t *frame; /* FRAME_MAX bytes, the one lent */
};

static bool send_one(struct gamma_link *link, const struct gamma_frame *frame)
{
	struct iovec iov[1 + GAMMA_FRAME_IOV];
	struct sockaddr_un name;
	uint16_t port = (uint16_t) (frame->head[GAMMA_ETH_LEN] << 8 | frame->head[GAMMA_ETH_LEN + 1]);
	struct msghdr msg = {
		.msg_name = &name,
		.msg_namelen = gamma_port_name(frame->head, port, &name),
		.msg_iov = iov,
		.msg_iovlen = 1 + frame->iov_count,
	};

	iov[0].iov_base = (void *) frame->head;
	iov[0].iov_len = frame->head_len;
	memcpy(iov + 1, frame->iov, frame->iov_count * sizeof(*iov));
	link->stats->send_calls++;
	return sendmsg(link->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}

static unsigned samehost_send(struct gamma_link *link, const struct gamma_frame *frames,
			      unsigned count, int *error)
{
	unsigned done = 0;

	while (done < count && send_one(link, &frames[done]))
		done++;
	*error = done < count && errno == ECONNREFUSED ? -ECONNREFUSED : -EAGAIN;
	return done;
}

/* May this user send in the tenant's name that the frame bears? Root may in any. */
static bool entitled(const struct msghdr *msg, const uint8_t *frame)
{
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(msg);
	struct ucred cred;
	uint32_t tenant;

	if (!cmsg || cmsg->cmsg_level != SOL_SOCKET || cmsg->cmsg_type != SCM_CREDENTIALS)
		return false;
	memcpy(&cred, CMSG_DATA(cmsg), sizeof(cred));
	memcpy(&tenant, frame + GAMMA_ETH_LEN + offsetof(struct gamma_header, tenant), 4);
	return cred.uid == 0 || cred.uid == __builtin_bswap32(tenant);
}

static bool samehost_next(struct gamma_link *link, struct gamma_arrival *arrival)
{
	struct samehost_link *samehost = gamma_container_of(link, struct samehost_link, link);
	union {
		char space[CMSG_SPACE(sizeof(struct ucred))];
		struct cmsghdr align;
	} control;
	struct iovec iov = {.iov_base = samehost->frame, .iov_len = FRAME_MAX};

	for (;;) {
		struct msghdr msg = {
			.msg_iov = &iov,
			.msg_iovlen = 1,
			.msg_control = control.space,
			.msg_controllen = sizeof(control.space),
		};
		ssize_t len;

		link->stats->receive_calls++;
		len = recvmsg(link->fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
		if (len < 0)
			return false;
		if (len < GAMMA_ETH_LEN + GAMMA_HEADER_LEN || !entitled(&msg, samehost->frame)) {
			link->stats->malformed++;
			continue;
		}
		arrival->frame = samehost->frame;
		arrival->len = (size_t) len;
		arrival->stamp = 0;
		return true;
	}
}

static void samehost_release(struct gamma_link *link)
{
	(void) link;
}

static void samehost_count(struct gamma_link *link)
{
	(void) link;
}

static void samehost_close(struct gamma_link *link)
{
	struct samehost_link *samehost = gamma_container_of(link, struct samehost_link, link);

	close(link->fd);
	free(samehost->frame);
	free(samehost);
}

static const struct gamma_link_ops samehost_ops = {
	.send = samehost_send,
	.next = samehost_next,
	.release = samehost_release,
	.count = samehost_count,
	.close = samehost_close,
};

int gamma_samehost_open(int fd, struct gamma_stats *stats, struct gamma_link **link)
{
	struct samehost_link *samehost = calloc(1, sizeof(*samehost));
	int one = 1, bytes = SEND_BUFFER;

	if (samehost)
		samehost->frame = malloc(FRAME_MAX);
	if (!samehost || !samehost->frame) {
		free(samehost);
		return -ENOMEM;
	}
	if (setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &one, sizeof(one))) {
		free(samehost->frame);
		free(samehost);
		return -errno;
	}
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	samehost->link.ops = &samehost_ops;
	samehost->link.stats = stats;
	samehost->link.fd = fd;
	samehost->link.mtu = GAMMA_SAMEHOST_MTU;
	samehost->link.slots = SLOTS;
	*link = &samehost->link;
	return 0;
}
