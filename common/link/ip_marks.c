// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* ECN bits of a UDP socket: see ip_marks.h. Where the kernel refuses, none are read. */
#include "link/ip_marks.h"

#include <netinet/in.h>
#include <string.h>

#include "wire/frame.h"

enum { ECN_BITS = 3 }; /* of the traffic class */

void gamma_ip_marks_ask(int fd, bool ipv6)
{
	int one = 1;

	if (ipv6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_RECVTCLASS, &one, sizeof(one));
	else
		setsockopt(fd, IPPROTO_IP, IP_RECVTOS, &one, sizeof(one));
}

size_t gamma_ip_marks_put(void *control, bool ipv6)
{
	const int bits = GAMMA_ECN_CAPABLE;
	struct cmsghdr *cmsg = control;

	cmsg->cmsg_level = ipv6 ? IPPROTO_IPV6 : IPPROTO_IP;
	cmsg->cmsg_type = ipv6 ? IPV6_TCLASS : IP_TOS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(bits));
	memcpy(CMSG_DATA(cmsg), &bits, sizeof(bits));
	return GAMMA_IP_MARKS_SPACE;
}

/* The type of service is one byte, the traffic class of IPv6 an int. */
uint8_t gamma_ip_marks_get(struct msghdr *msg)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		int wide;

		if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS &&
		    c->cmsg_len >= CMSG_LEN(1))
			return *CMSG_DATA(c) & ECN_BITS;
		if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_TCLASS &&
		    c->cmsg_len >= CMSG_LEN(sizeof(wide))) {
			memcpy(&wide, CMSG_DATA(c), sizeof(wide));
			return (uint8_t) (wide & ECN_BITS);
		}
	}
	return GAMMA_ECN_NONE;
}
