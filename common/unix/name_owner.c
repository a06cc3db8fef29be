// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Asks the kernel's list of sockets (sock_diag). It finds a socket by inode, not by name: a socket
 * of our own is connected to the name first, and its peer is the one.
 */
#include "unix/name_owner.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* Newer than some headers: since Linux 5.3. */
enum { SHOW_UID = 0x40, ATTRIBUTE_UID = 7, ANSWER_MAX = 1024 };

struct question {
	struct nlmsghdr head;
	struct unix_diag_req request;
};

static bool send_question(int fd, uint32_t inode, uint32_t show)
{
	struct question question = {
		.head = {.nlmsg_len = sizeof(question),
			 .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			 .nlmsg_flags = NLM_F_REQUEST},
		.request = {.sdiag_family = AF_UNIX,
			    .udiag_ino = inode,
			    .udiag_states = UINT32_MAX,
			    .udiag_show = show,
			    .udiag_cookie = {UINT32_MAX, UINT32_MAX}},
	};

	return send(fd, &question, sizeof(question), 0) == sizeof(question);
}

/* The kernel has answered before the question's send() returned. */
static bool read_answer(int fd, uint16_t attribute, uint32_t *value)
{
	_Alignas(struct nlmsghdr) char bytes[ANSWER_MAX];
	ssize_t len = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
	struct nlmsghdr *head = (struct nlmsghdr *) bytes;
	struct rtattr *attr;
	int left;

	if (len < 0 || !NLMSG_OK(head, (size_t) len) || head->nlmsg_type != SOCK_DIAG_BY_FAMILY ||
	    head->nlmsg_len < NLMSG_LENGTH(sizeof(struct unix_diag_msg)))
		return false;
	attr = (struct rtattr *) ((char *) NLMSG_DATA(head) +
				  NLMSG_ALIGN(sizeof(struct unix_diag_msg)));
	left = (int) (head->nlmsg_len - NLMSG_LENGTH(sizeof(struct unix_diag_msg)));
	for (; RTA_OK(attr, left); attr = RTA_NEXT(attr, left)) {
		if (attr->rta_type != attribute || RTA_PAYLOAD(attr) < sizeof(*value))
			continue;
		memcpy(value, RTA_DATA(attr), sizeof(*value));
		return true;
	}
	return false;
}

static bool ask(int fd, uint32_t inode, uint32_t show, uint16_t attribute, uint32_t *value)
{
	return inode && send_question(fd, inode, show) && read_answer(fd, attribute, value);
}

static uint32_t inode_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) ? 0 : (uint32_t) st.st_ino;
}

int gamma_name_owner_open(struct gamma_name_owner *owner)
{
	uint32_t uid;

	owner->probe_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	owner->diag_fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	if (owner->probe_fd < 0)
		return -errno;
	return ask(owner->diag_fd, inode_of(owner->probe_fd), SHOW_UID, ATTRIBUTE_UID, &uid)
		       ? 0
		       : -ENOENT;
}

void gamma_name_owner_close(struct gamma_name_owner *owner)
{
	if (owner->probe_fd >= 0)
		close(owner->probe_fd);
	if (owner->diag_fd >= 0)
		close(owner->diag_fd);
	owner->probe_fd = owner->diag_fd = -1;
}

int gamma_name_owner_find(const struct gamma_name_owner *owner, const struct sockaddr_un *name,
			  unsigned len, uid_t *uid)
{
	const struct sockaddr nobody = {.sa_family = AF_UNSPEC};
	uint32_t peer = 0;
	int ret = 0;

	if (connect(owner->probe_fd, (const struct sockaddr *) name, len))
		return -errno;
	if (!ask(owner->diag_fd, inode_of(owner->probe_fd), UDIAG_SHOW_PEER, UNIX_DIAG_PEER,
		 &peer) ||
	    !ask(owner->diag_fd, peer, SHOW_UID, ATTRIBUTE_UID, uid))
		ret = -ENOENT;
	/* It may have been closed in between: then nobody is at that name. */
	if (ret && connect(owner->probe_fd, (const struct sockaddr *) name, len))
		ret = -errno;
	connect(owner->probe_fd, &nobody, sizeof(nobody));
	return ret;
}
