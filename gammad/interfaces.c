// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Interfaces that gammad makes, changes and removes in the kernel, by rtnetlink. */
#include "gammad/interfaces.h"

#include <errno.h>
#include <linux/if.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

static int no_answer(const struct nlmsghdr *head, void *data)
{
	(void) head;
	(void) data;
	return MNL_CB_OK;
}

static struct ifinfomsg *begin(struct gamma_rtnetlink_request *request, uint16_t type,
			       uint16_t flags)
{
	struct nlmsghdr *head = mnl_nlmsg_put_header(request->bytes);
	struct ifinfomsg *info;

	head->nlmsg_type = type;
	head->nlmsg_flags = flags;
	info = mnl_nlmsg_put_extra_header(head, sizeof(*info));
	info->ifi_family = AF_UNSPEC;
	return info;
}

struct nlmsghdr *gammad_interfaces_begin(struct gamma_rtnetlink_request *request)
{
	begin(request, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL);
	return (struct nlmsghdr *) request->bytes;
}

int gammad_interfaces_make(struct gamma_rtnetlink_request *request)
{
	return gamma_rtnetlink_query(request, no_answer, NULL);
}

int gammad_interfaces_set_up(int ifindex, uint32_t mtu)
{
	struct gamma_rtnetlink_request request;
	struct ifinfomsg *info = begin(&request, RTM_NEWLINK, 0);

	info->ifi_index = ifindex;
	info->ifi_flags = info->ifi_change = IFF_UP | IFF_NOARP;
	if (mtu)
		mnl_attr_put_u32((struct nlmsghdr *) request.bytes, IFLA_MTU, mtu);
	return gamma_rtnetlink_query(&request, no_answer, NULL);
}

int gammad_interfaces_remove(int ifindex)
{
	struct gamma_rtnetlink_request request;
	struct ifinfomsg *info = begin(&request, RTM_DELLINK, 0);
	int ret;

	info->ifi_index = ifindex;
	ret = gamma_rtnetlink_query(&request, no_answer, NULL);
	return ret == -ENODEV ? 0 : ret;
}
