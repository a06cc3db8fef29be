// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* From an IPv4 address to a MAC: rtnetlink's routes, own addresses and ARP neighbour table. */
#include "nic/arp.h"
#include "base/base.h"
#include "nic/rtnetlink.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
	ASK_TRIES = 20,    /* dumps interrupted by changes before giving up */
	DISCARD_PORT = 9,  /* UDP: discards whatever arrives (RFC 863) */
	POLL_MIN_US = 250, /* first wait for an ARP answer: typical for an idle Ethernet */
	POLL_MAX_US = 20000,
};

/* An address as text, for messages. */
struct shown {
	char text[INET_ADDRSTRLEN];
};

static struct shown show(uint32_t ipv4_be)
{
	struct shown out;

	inet_ntop(AF_INET, &ipv4_be, out.text, sizeof(out.text));
	return out;
}

/* As gamma_rtnetlink_query, but repeats an interrupted dump: for replies that may see an answer
 * twice. */
static int ask(struct gamma_rtnetlink_request *request, mnl_cb_t reply, void *data)
{
	int err = -EAGAIN;

	for (int i = 0; i < ASK_TRIES && err == -EAGAIN; i++)
		err = gamma_rtnetlink_query(request, reply, data);
	return err;
}

/* ---- the own addresses ---- */

struct owner {
	uint32_t ipv4_be;
	int ifindex; /* 0: not found */
	bool loopback;
	bool has_mac;
	uint8_t mac[GAMMA_MAC_LEN];
};

static int read_address(const struct nlmsghdr *head, void *data)
{
	const struct ifaddrmsg *info = mnl_nlmsg_get_payload(head);
	struct owner *owner = data;
	const struct nlattr *attr;

	if (head->nlmsg_type != RTM_NEWADDR || mnl_nlmsg_get_payload_len(head) < sizeof(*info))
		return MNL_CB_OK;
	mnl_attr_for_each (attr, head, sizeof(*info)) {
		if (mnl_attr_get_type(attr) == IFA_LOCAL &&
		    mnl_attr_validate(attr, MNL_TYPE_U32) >= 0 &&
		    mnl_attr_get_u32(attr) == owner->ipv4_be && !owner->ifindex)
			owner->ifindex = info->ifa_index;
	}
	return MNL_CB_OK;
}

static int find_address(struct owner *owner)
{
	struct gamma_rtnetlink_request request;
	struct nlmsghdr *head = mnl_nlmsg_put_header(request.bytes);
	struct ifaddrmsg *info;

	head->nlmsg_type = RTM_GETADDR;
	head->nlmsg_flags = NLM_F_DUMP;
	info = mnl_nlmsg_put_extra_header(head, sizeof(*info));
	info->ifa_family = AF_INET;
	return ask(&request, read_address, owner);
}

static int read_mac(const struct nlmsghdr *head, void *data)
{
	const struct ifinfomsg *info = mnl_nlmsg_get_payload(head);
	struct owner *owner = data;
	const struct nlattr *attr;

	if (head->nlmsg_type != RTM_NEWLINK || mnl_nlmsg_get_payload_len(head) < sizeof(*info))
		return MNL_CB_OK;
	owner->loopback = info->ifi_flags & IFF_LOOPBACK;
	mnl_attr_for_each (attr, head, sizeof(*info)) {
		if (mnl_attr_get_type(attr) == IFLA_ADDRESS &&
		    mnl_attr_get_payload_len(attr) == GAMMA_MAC_LEN) {
			memcpy(owner->mac, mnl_attr_get_payload(attr), GAMMA_MAC_LEN);
			owner->has_mac = true;
		}
	}
	return MNL_CB_OK;
}

static int find_mac(struct owner *owner)
{
	struct gamma_rtnetlink_request request;
	struct nlmsghdr *head = mnl_nlmsg_put_header(request.bytes);
	struct ifinfomsg *info;

	head->nlmsg_type = RTM_GETLINK;
	info = mnl_nlmsg_put_extra_header(head, sizeof(*info));
	info->ifi_family = AF_UNSPEC;
	info->ifi_index = owner->ifindex;
	return ask(&request, read_mac, owner);
}

int gamma_arp_find_owner(uint32_t ipv4_be, uint8_t mac[GAMMA_MAC_LEN], int *ifindex)
{
	struct owner owner = {.ipv4_be = ipv4_be};
	int err = find_address(&owner);

	if (!err && owner.ifindex)
		err = find_mac(&owner);
	if (err)
		return err;
	if (!owner.ifindex || owner.loopback || !owner.has_mac)
		return -EADDRNOTAVAIL;
	memcpy(mac, owner.mac, GAMMA_MAC_LEN);
	*ifindex = owner.ifindex;
	return 0;
}

/* ---- the route ---- */

struct route {
	int type; /* RTN_LOCAL, RTN_UNICAST, ... */
	int ifindex;
	bool gateway;
};

static int read_route(const struct nlmsghdr *head, void *data)
{
	const struct rtmsg *info = mnl_nlmsg_get_payload(head);
	struct route *route = data;
	const struct nlattr *attr;

	if (head->nlmsg_type != RTM_NEWROUTE || mnl_nlmsg_get_payload_len(head) < sizeof(*info))
		return MNL_CB_OK;
	route->type = info->rtm_type;
	mnl_attr_for_each (attr, head, sizeof(*info)) {
		int type = mnl_attr_get_type(attr);

		if (type == RTA_OIF && mnl_attr_validate(attr, MNL_TYPE_U32) >= 0)
			route->ifindex = mnl_attr_get_u32(attr);
		if (type == RTA_GATEWAY || type == RTA_VIA)
			route->gateway = true;
	}
	return MNL_CB_OK;
}

static int find_route(uint32_t ipv4_be, struct route *route)
{
	struct gamma_rtnetlink_request request;
	struct nlmsghdr *head = mnl_nlmsg_put_header(request.bytes);
	struct rtmsg *info;

	head->nlmsg_type = RTM_GETROUTE;
	info = mnl_nlmsg_put_extra_header(head, sizeof(*info));
	info->rtm_family = AF_INET;
	info->rtm_dst_len = 32;
	mnl_attr_put_u32(head, RTA_DST, ipv4_be);
	return ask(&request, read_route, route);
}

/* ---- the ARP neighbour ---- */

enum neighbour_state { ABSENT, PENDING, KNOWN, FAILED, WITHOUT_ARP };

struct neighbour {
	uint32_t ipv4_be;
	int ifindex;
	enum neighbour_state state;
	uint8_t mac[GAMMA_MAC_LEN]; /* if KNOWN */
};

static enum neighbour_state state_of(uint16_t nud, bool has_mac)
{
	if (nud & (NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE | NUD_PERMANENT))
		return has_mac ? KNOWN : PENDING;
	if (nud & NUD_FAILED)
		return FAILED;
	return nud & NUD_NOARP ? WITHOUT_ARP : PENDING;
}

static int read_neighbour(const struct nlmsghdr *head, void *data)
{
	const struct ndmsg *info = mnl_nlmsg_get_payload(head);
	const struct nlattr *attr, *mac = NULL;
	struct neighbour *neighbour = data;
	bool same = false;

	if (head->nlmsg_type != RTM_NEWNEIGH || mnl_nlmsg_get_payload_len(head) < sizeof(*info) ||
	    info->ndm_ifindex != neighbour->ifindex)
		return MNL_CB_OK;
	mnl_attr_for_each (attr, head, sizeof(*info)) {
		int type = mnl_attr_get_type(attr);

		if (type == NDA_DST && mnl_attr_validate(attr, MNL_TYPE_U32) >= 0)
			same = mnl_attr_get_u32(attr) == neighbour->ipv4_be;
		if (type == NDA_LLADDR && mnl_attr_get_payload_len(attr) == GAMMA_MAC_LEN)
			mac = attr;
	}
	if (!same)
		return MNL_CB_OK;
	neighbour->state = state_of(info->ndm_state, mac);
	if (neighbour->state == KNOWN)
		memcpy(neighbour->mac, mnl_attr_get_payload(mac), GAMMA_MAC_LEN);
	return MNL_CB_OK;
}

/* A dump of one NIC's table, because kernels before 5.0 cannot be asked for one entry. */
static int find_neighbour(struct neighbour *neighbour)
{
	struct gamma_rtnetlink_request request;
	struct nlmsghdr *head = mnl_nlmsg_put_header(request.bytes);
	struct ndmsg *info;

	head->nlmsg_type = RTM_GETNEIGH;
	head->nlmsg_flags = NLM_F_DUMP;
	info = mnl_nlmsg_put_extra_header(head, sizeof(*info));
	info->ndm_family = AF_INET;
	mnl_attr_put_u32(head, NDA_IFINDEX, neighbour->ifindex);
	neighbour->state = ABSENT;
	return ask(&request, read_neighbour, neighbour);
}

/* Makes the kernel send an ARP request on that NIC, without any privilege. */
static int provoke_arp(const struct neighbour *neighbour)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_port = htons(DISCARD_PORT),
		.sin_addr.s_addr = neighbour->ipv4_be,
	};
	uint32_t ifindex_be = htonl(neighbour->ifindex);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int err = 0;

	if (fd < 0)
		return -errno;
	if (setsockopt(fd, IPPROTO_IP, IP_UNICAST_IF, &ifindex_be, sizeof(ifindex_be)) ||
	    sendto(fd, "", 0, MSG_DONTWAIT | MSG_DONTROUTE, (struct sockaddr *) &to, sizeof(to)))
		err = -errno;
	close(fd);
	return err;
}

static uint64_t now_us(void)
{
	return gamma_now() / GAMMA_NS_PER_US;
}

/* Waits for the answer. Reading the table costs microseconds, so the first sleeps are short. */
static int await_neighbour(struct neighbour *neighbour, int timeout_ms)
{
	uint64_t end = now_us() + (timeout_ms > 0 ? timeout_ms * 1000ull : 0);
	unsigned int nap = POLL_MIN_US;

	for (;;) {
		int err = find_neighbour(neighbour);
		uint64_t now = now_us();

		if (err && err != -EAGAIN)
			return err;
		if (neighbour->state == KNOWN || neighbour->state == FAILED ||
		    neighbour->state == WITHOUT_ARP || now >= end)
			return 0;
		usleep(gamma_min(nap, end - now));
		nap = gamma_min(2 * nap, POLL_MAX_US);
	}
}

static int ask_neighbour(struct neighbour *neighbour, int timeout_ms)
{
	struct shown ip = show(neighbour->ipv4_be);
	int err = find_neighbour(neighbour);

	if (err || neighbour->state == KNOWN)
		return err;
	err = provoke_arp(neighbour);
	if (err) {
		gamma_info("%s: no ARP request could be provoked (%s): is output filtered here?",
			   ip.text, strerror(-err));
		return -EHOSTUNREACH;
	}
	err = await_neighbour(neighbour, timeout_ms);
	if (err || neighbour->state == KNOWN)
		return err;
	if (neighbour->state == WITHOUT_ARP)
		gamma_info(
			"%s: ARP is off on interface %d: list the host in the configuration file",
			ip.text, neighbour->ifindex);
	else
		gamma_info("%s: no answer to ARP in %d ms: is the host up and on this Ethernet?",
			   ip.text, timeout_ms);
	return -EHOSTUNREACH;
}

/* ---- interface ---- */

static bool is_host_address(uint32_t ipv4_be)
{
	uint32_t ip = ntohl(ipv4_be);

	return ip >> 24 != 0 && ip >> 28 < 0xe;
}

static int local_mac(uint32_t ipv4_be, uint8_t mac[GAMMA_MAC_LEN], int *ifindex)
{
	int err = gamma_arp_find_owner(ipv4_be, mac, ifindex);

	if (err == -EADDRNOTAVAIL)
		gamma_info("%s belongs to this host but not to an Ethernet NIC: name a NIC instead",
			   show(ipv4_be).text);
	return err;
}

int gamma_arp_resolve(uint32_t ipv4_be, int timeout_ms, uint8_t mac[GAMMA_MAC_LEN], int *ifindex)
{
	struct neighbour neighbour = {.ipv4_be = ipv4_be};
	struct shown ip = show(ipv4_be);
	struct route route = {0};
	int err;

	if (!is_host_address(ipv4_be)) {
		gamma_info("%s is no host's address", ip.text);
		return -EINVAL;
	}
	err = find_route(ipv4_be, &route);
	if (!err && route.type == RTN_LOCAL)
		return local_mac(ipv4_be, mac, ifindex);
	if (!err && route.type == RTN_BROADCAST) {
		gamma_info("%s is the broadcast address of a network: name one host", ip.text);
		return -EINVAL;
	}
	if (err || route.type != RTN_UNICAST || route.gateway || !route.ifindex) {
		gamma_info("%s is not on an Ethernet of this host (%s): GAMMA does not go through "
			   "routers",
			   ip.text, err ? strerror(-err) : "it is behind a gateway");
		return -ENETUNREACH;
	}
	neighbour.ifindex = route.ifindex;
	err = ask_neighbour(&neighbour, timeout_ms);
	if (err)
		return err;
	memcpy(mac, neighbour.mac, GAMMA_MAC_LEN);
	*ifindex = neighbour.ifindex;
	return 0;
}
