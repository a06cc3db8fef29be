// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* The NICs' IP addresses, and what UDP makes of the NICs. */
#include "nic/udp.h"

#include <errno.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/ipv6_names.h"
#include "nic/arp_nd.h"
#include "nic/rtnetlink.h"
#include "nic/select.h"
#include "wire/pseudo_mac.h"

enum {
	DUMP_TRIES = 20, /* dumps interrupted by changes before giving up */
};

/* The best address of a NIC so far. */
struct candidate {
	unsigned rank; /* 0: none */
	struct gamma_ip ip;
	uint8_t prefix;
};

struct addresses {
	const struct gamma_nic *nics;
	size_t count;
	enum gamma_nic_udp_choice choice;
	struct candidate *best; /* of each NIC */
};

/* 0: it cannot be used. Of equal ones the first is taken, which is the primary one. */
static unsigned rank_of(const struct addresses *addresses, const struct ifaddrmsg *info,
			uint32_t flags)
{
	enum { LINK_LOCAL = 1, TEMPORARY, LASTING, IPV4 };

	if (info->ifa_family == AF_INET)
		return addresses->choice != GAMMA_NIC_UDP_IPV6 ? IPV4 : 0;
	if (info->ifa_family != AF_INET6 || addresses->choice == GAMMA_NIC_UDP_IPV4 ||
	    info->ifa_scope == RT_SCOPE_HOST || flags & (IFA_F_DADFAILED | IFA_F_DEPRECATED) ||
	    (flags & IFA_F_TENTATIVE && !(flags & IFA_F_OPTIMISTIC)))
		return 0;
	if (info->ifa_scope == RT_SCOPE_LINK)
		return LINK_LOCAL;
	return flags & IFA_F_TEMPORARY ? TEMPORARY : LASTING;
}

static void offer_address(const struct addresses *addresses, const struct ifaddrmsg *info,
			  uint32_t flags, const struct gamma_ip *ip)
{
	unsigned rank = rank_of(addresses, info, flags);

	for (size_t i = 0; ip->len && i < addresses->count; i++) {
		struct candidate *best = &addresses->best[i];

		if (addresses->nics[i].ifindex == (int) info->ifa_index && rank > best->rank)
			*best = (struct candidate){rank, *ip, info->ifa_prefixlen};
	}
}

/* IPv4 addresses are local ones; IPv6 addresses usually have no such attribute. */
static int read_address(const struct nlmsghdr *head, void *data)
{
	const struct ifaddrmsg *info = mnl_nlmsg_get_payload(head);
	const struct nlattr *attr;
	struct gamma_ip ip = {.len = 0};
	uint32_t flags;

	if (head->nlmsg_type != RTM_NEWADDR || mnl_nlmsg_get_payload_len(head) < sizeof(*info))
		return MNL_CB_OK;
	flags = info->ifa_flags;
	mnl_attr_for_each (attr, head, sizeof(*info)) {
		unsigned len = mnl_attr_get_payload_len(attr), type = mnl_attr_get_type(attr);
		bool local = type == IFA_LOCAL || (type == IFA_ADDRESS && len == 16 && !ip.len);

		if (local && (len == 4 || len == 16)) {
			memcpy(ip.bytes, mnl_attr_get_payload(attr), len);
			ip.len = (uint8_t) len;
		} else if (type == IFA_FLAGS && len == sizeof(flags)) {
			flags = mnl_attr_get_u32(attr);
		}
	}
	offer_address(data, info, flags, &ip);
	return MNL_CB_OK;
}

static int read_addresses(struct addresses *addresses)
{
	int ret = -EAGAIN;

	for (int i = 0; i < DUMP_TRIES && ret == -EAGAIN; i++) {
		struct gamma_rtnetlink_request request;
		struct nlmsghdr *head = mnl_nlmsg_put_header(request.bytes);
		struct ifaddrmsg *info;

		memset(addresses->best, 0, addresses->count * sizeof(*addresses->best));
		head->nlmsg_type = RTM_GETADDR;
		head->nlmsg_flags = NLM_F_DUMP;
		info = mnl_nlmsg_put_extra_header(head, sizeof(*info));
		info->ifa_family = AF_UNSPEC;
		ret = gamma_rtnetlink_query(&request, read_address, addresses);
	}
	return ret;
}

static const char *judge(const struct gamma_nic *nic, bool has_address,
			 enum gamma_nic_udp_choice choice)
{
	static const char *const without_address[] = {
		[GAMMA_NIC_UDP_ANY] =
			"has no IP address, which UDP needs: give it one with `ip address add`",
		[GAMMA_NIC_UDP_IPV6] =
			("has no IPv6 address: give it one with `ip address add`, or use IPv4 "
			 "(FI_GAMMA_LINK=udp)"),
		[GAMMA_NIC_UDP_IPV4] = "has no IPv4 address: give it one with `ip address add`",
	};

	if (nic->loopback)
		return "is the loopback interface: name a NIC";
	if (!has_address)
		return without_address[choice];
	if (nic->mtu < GAMMA_NIC_MTU_MIN + GAMMA_UDP6_OVERHEAD)
		return "has an MTU below 624 bytes: raise it with `ip link set ... mtu`";
	if (!nic->up)
		return "is down: set it up with `ip link set ... up`";
	return nic->carrier ? NULL : gamma_nic_select_no_carrier;
}

/* Of either version. IPv6 addresses are held. */
static int make_mac(const struct gamma_ip *ip, uint8_t mac[GAMMA_MAC_LEN])
{
	if (ip->len == GAMMA_IPV6_LEN)
		return gamma_ipv6_names_hold(ip->bytes, mac);
	gamma_pseudo_mac_make(ip->bytes, mac);
	return 0;
}

static int convert(struct gamma_nic *nic, const struct candidate *best,
		   enum gamma_nic_udp_choice choice)
{
	int ret = best->rank ? make_mac(&best->ip, nic->mac) : 0;

	nic->reason = judge(nic, best->rank, choice);
	nic->udp = true;
	nic->ipv6 = best->ip.len == GAMMA_IPV6_LEN;
	nic->prefix = best->prefix;
	if (!nic->reason)
		nic->mtu -= nic->ipv6 ? GAMMA_UDP6_OVERHEAD : GAMMA_UDP_OVERHEAD;
	return ret;
}

int gamma_nic_udp_convert(struct gamma_nic *nics, size_t count, enum gamma_nic_udp_choice choice)
{
	struct addresses addresses = {nics, count, choice,
				      calloc(count + 1, sizeof(struct candidate))};
	int ret = addresses.best ? read_addresses(&addresses) : -ENOMEM;

	for (size_t i = 0; !ret && i < count; i++)
		ret = convert(&nics[i], &addresses.best[i], choice);
	free(addresses.best);
	return ret;
}

static void add_to_raw(struct gamma_nic *nic, const struct candidate *best)
{
	nic->has_udp = true;
	nic->prefix = best->prefix;
	if (best->rank)
		gamma_pseudo_mac_make(best->ip.bytes, nic->udp_mac);
	/* The reason why it cannot use raw Ethernet comes first. */
	if (!nic->reason)
		nic->reason = judge(nic, best->rank, GAMMA_NIC_UDP_IPV4);
}

int gamma_nic_udp_add(struct gamma_nic *nics, size_t count)
{
	struct addresses addresses = {nics, count, GAMMA_NIC_UDP_IPV4,
				      calloc(count + 1, sizeof(struct candidate))};
	int ret = addresses.best ? read_addresses(&addresses) : -ENOMEM;

	for (size_t i = 0; !ret && i < count; i++)
		add_to_raw(&nics[i], &addresses.best[i]);
	free(addresses.best);
	return ret;
}

void gamma_nic_udp_twin(const struct gamma_nic *nic, struct gamma_nic *twin)
{
	*twin = *nic;
	twin->udp = true;
	twin->has_udp = false;
	twin->mtu -= GAMMA_UDP_OVERHEAD;
	memcpy(twin->mac, nic->udp_mac, GAMMA_MAC_LEN);
}

int gamma_nic_udp_find_owner(const struct gamma_ip *ip, uint8_t mac[GAMMA_MAC_LEN], int *ifindex)
{
	uint8_t real[GAMMA_MAC_LEN];
	int ret = gamma_arp_nd_find_owner(ip, real, ifindex);

	return ret ? ret : make_mac(ip, mac);
}

int gamma_nic_udp_resolve(const struct gamma_ip *ip, int timeout_ms, uint8_t mac[GAMMA_MAC_LEN],
			  int *ifindex)
{
	int ret;

	(void) timeout_ms; /* nobody is asked */
	if (!gamma_nic_udp_find_owner(ip, mac, ifindex))
		return 0;
	ret = gamma_arp_nd_find_route(ip, ifindex);
	return ret ? ret : make_mac(ip, mac);
}
