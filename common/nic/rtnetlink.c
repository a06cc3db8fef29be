// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Each rtnetlink request has a socket of its own, so callers need no locking. */
#include "nic/rtnetlink.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

static int read_answers(struct mnl_socket *nl, uint32_t seq, mnl_cb_t reply, void *data)
{
	_Alignas(struct nlmsghdr) char answer[GAMMA_RTNETLINK_ANSWER_MAX];
	unsigned int port = mnl_socket_get_portid(nl);
	int more = MNL_CB_OK;

	while (more > MNL_CB_STOP) {
		ssize_t n = mnl_socket_recvfrom(nl, answer, sizeof(answer));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		more = mnl_cb_run(answer, n, seq, port, reply, data);
	}
	/* libmnl reports an interrupted dump as EINTR. */
	if (more < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	return 0;
}

int gamma_rtnetlink_query(struct gamma_rtnetlink_request *request, mnl_cb_t reply, void *data)
{
	struct nlmsghdr *head = (struct nlmsghdr *) request->bytes;
	struct mnl_socket *nl = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	int err = 0;

	if (!nl)
		return -errno;
	head->nlmsg_seq = 1;
	head->nlmsg_flags |= NLM_F_REQUEST;
	/* A single answer has no end mark; the acknowledgement ends it. */
	if ((head->nlmsg_flags & NLM_F_DUMP) != NLM_F_DUMP)
		head->nlmsg_flags |= NLM_F_ACK;
	if (mnl_socket_bind(nl, 0, MNL_SOCKET_AUTOPID) < 0 ||
	    mnl_socket_sendto(nl, head, head->nlmsg_len) < 0)
		err = -errno;
	if (!err)
		err = read_answers(nl, head->nlmsg_seq, reply, data);
	mnl_socket_close(nl);
	return err;
}
