/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One question to the kernel's rtnetlink and its answers. Called where NICs, addresses,
 * routes and neighbours are looked up; holds no state between questions.
 */
#ifndef GAMMA_LINK_RTNETLINK_H
#define GAMMA_LINK_RTNETLINK_H

#include <libmnl/libmnl.h>

enum {
	GAMMA_RTNETLINK_REQUEST_MAX = 256,      /* bytes: enough for a few attributes */
	GAMMA_RTNETLINK_ANSWER_MAX = 32 * 1024, /* bytes: what the kernel fills at most in one go */
};

/* A request being built: set it up with mnl_nlmsg_put_header(request.bytes) and so on. */
struct gamma_rtnetlink_request {
	_Alignas(struct nlmsghdr) char bytes[GAMMA_RTNETLINK_REQUEST_MAX];
};

/*
 * Sends the request (with NLM_F_DUMP: a whole table; else a single question) in the calling
 * thread's network namespace and hands each answer to reply. Returns 0, or a negative errno:
 * the kernel's, or -EAGAIN if a table changed while it was read: drop what came and ask again.
 */
int gamma_rtnetlink_query(struct gamma_rtnetlink_request *request, mnl_cb_t reply, void *data);

#endif /* GAMMA_LINK_RTNETLINK_H */
