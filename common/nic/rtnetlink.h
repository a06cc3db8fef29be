/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One rtnetlink request and its replies: for NICs, addresses, routes and ARP neighbours. There is
 * no state between requests.
 */
#ifndef GAMMA_NIC_RTNETLINK_H
#define GAMMA_NIC_RTNETLINK_H

#include <libmnl/libmnl.h>

enum {
	GAMMA_RTNETLINK_REQUEST_MAX = 256,      /* bytes: room for a few attributes */
	GAMMA_RTNETLINK_ANSWER_MAX = 32 * 1024, /* bytes: the most that the kernel sends at once */
};

/* Build it with mnl_nlmsg_put_header(request.bytes) and so on. */
struct gamma_rtnetlink_request {
	_Alignas(struct nlmsghdr) char bytes[GAMMA_RTNETLINK_REQUEST_MAX];
};

/*
 * Sends the request in the calling thread's network namespace (with NLM_F_DUMP: for a whole table)
 * and calls reply for each answer. Returns 0 or the kernel's error as a negative errno. -EAGAIN:
 * the table changed while it was read; discard the answers and ask again.
 */
int gamma_rtnetlink_query(struct gamma_rtnetlink_request *request, mnl_cb_t reply, void *data);

#endif /* GAMMA_NIC_RTNETLINK_H */
