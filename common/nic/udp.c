// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* The NICs' IPv4 addresses, and what UDP makes of the NICs. */
#include "nic/udp.h"

#include <errno.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#include "nic/arp_nd.h"
#include "nic/rtnetlink.h"
#include "wire/pseudo_mac.h"

enum {
	DUMP_TRIES = 20, /* dumps interrupted by changes before giving up */
};

struct addresses {
	struct gamma_nic *nics;
	size_t count;
};

/* Of several addresses of a NIC the first, which is its primary one. */
static void set_address(const struct addresses *addresses, const struct ifaddrmsg *info,
			const struct gamma_ip *ip)
{
	for (size_t i = 0; i < addresses->count; i++) {
		struct gamma_nic *nic = &addresses->nics[i];

		if (nic->ifindex != (int) info->ifa_index || nic->udp)
			continue;
		nic->udp = true;
		nic->prefix = info->ifa_prefixlen;
		gamma_pseudo_mac_make(ip->bytes, nic->mac);
	}
}

static int read_address(const struct nlmsghdr *head, void *data)
{
	const struct ifaddrmsg *info = mnl_nlmsg_get_payload(head);
	const struct nlattr *attr;
	struct gamma_ip ip = {.len = 4};

	if (head->nlmsg_type != RTM_NEWADDR || mnl_nlmsg_get_payload_len(head) < sizeof(*info))
		return MNL_CB_OK;
	mnl_attr_for_each (attr, head, sizeof(*info)) {
		if (mnl_attr_get_type(attr) != IFA_LOCAL || mnl_attr_get_payload_len(attr) != 4)
			continue;
		memcpy(ip.bytes, mnl_attr_get_payload(attr), 4);
		set_address(data, info, &ip);
	}
	return MNL_CB_OK;
}

static const char *judge(const struct gamma_nic *nic)
{
	if (nic->loopback)
		return "is the loopback interface: name a NIC";
	if (!nic->udp)
		return "has no IPv4 address, which UDP needs: give it one with `ip address add`";
	if (nic->mtu < GAMMA_NIC_MTU_MIN + GAMMA_UDP_OVERHEAD)
		return "has an MTU below 604 bytes: raise it with `ip link set ... mtu`";
	if (!nic->up)
		return "is down: set it up with `ip link set ... up`";
	return nic->carrier ? NULL : "has no carrier: check its cable and the switch's port";
}

int gamma_nic_udp_convert(struct gamma_nic *nics, size_t count)
{
	struct addresses addresses = {nics, count};
	int ret = -EAGAIN;

	for (size_t i = 0; i < count; i++)
		nics[i].udp = false;
	for (int i = 0; i < DUMP_TRIES && ret == -EAGAIN; i++) {
		struct gamma_rtnetlink_request request;
		struct nlmsghdr *head = mnl_nlmsg_put_header(request.bytes);
		struct ifaddrmsg *info;

		head->nlmsg_type = RTM_GETADDR;
		head->nlmsg_flags = NLM_F_DUMP;
		info = mnl_nlmsg_put_extra_header(head, sizeof(*info));
		info->ifa_family = AF_INET;
		ret = gamma_rtnetlink_query(&request, read_address, &addresses);
	}
	for (size_t i = 0; !ret && i < count; i++) {
		nics[i].reason = judge(&nics[i]);
		nics[i].udp = true;
		if (!nics[i].reason)
			nics[i].mtu -= GAMMA_UDP_OVERHEAD;
	}
	return ret;
}

int gamma_nic_udp_find_owner(const struct gamma_ip *ip, uint8_t mac[GAMMA_MAC_LEN], int *ifindex)
{
	uint8_t real[GAMMA_MAC_LEN];
	int ret = ip->len == 4 ? gamma_arp_nd_find_owner(ip, real, ifindex) : -EAFNOSUPPORT;

	if (!ret)
		gamma_pseudo_mac_make(ip->bytes, mac);
	return ret;
}

int gamma_nic_udp_resolve(const struct gamma_ip *ip, int timeout_ms, uint8_t mac[GAMMA_MAC_LEN],
			  int *ifindex)
{
	int ret;

	(void) timeout_ms; /* nobody is asked */
	if (ip->len != 4)
		return -EAFNOSUPPORT;
	if (!gamma_nic_udp_find_owner(ip, mac, ifindex))
		return 0;
	ret = gamma_arp_nd_find_route(ip, ifindex);
	if (!ret)
		gamma_pseudo_mac_make(ip->bytes, mac);
	return ret;
}
