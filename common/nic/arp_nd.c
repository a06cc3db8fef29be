// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* From an IP address to a MAC: rtnetlink's routes, own addresses and neighbour tables. */
#include "nic/arp_nd.h"
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
	POLL_MIN_US = 250, /* first wait for an answer: typical for an idle Ethernet */
	POLL_MAX_US = 20000,
};

static bool is_address(const struct nlattr *attr, const struct gamma_ip *ip)
{
	return mnl_attr_get_payload_len(attr) == ip->len &&
	       !memcmp(mnl_attr_get_payload(attr), ip->bytes, ip->len);
}

/* How the kernel asks a neighbour, for messages. */
static const char *question(const struct gamma_ip *ip)
{
	return ip->len == 4 ? "ARP" : "neighbour discovery";
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
	const struct gamma_ip *ip;
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
	/* Of several NICs, for a link-local address, the one that it names. */
	if (owner->ip->scope && owner->ip->scope != info->ifa_index)
		return MNL_CB_OK;
	mnl_attr_for_each (attr, head, sizeof(*info)) {
		int type = mnl_attr_get_type(attr);

		/* An IPv6 address without a peer has the latter alone. */
		if ((type == IFA_LOCAL || (type == IFA_ADDRESS && owner->ip->len == 16)) &&
		    is_address(attr, owner->ip) && !owner->ifindex)
			owner->ifindex = (int) info->ifa_index;
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
	info->ifa_family = (uint8_t) gamma_ip_family(owner->ip);
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

int gamma_arp_nd_find_owner(const struct gamma_ip *ip, uint8_t mac[GAMMA_MAC_LEN], int *ifindex)
{
	struct owner owner = {.ip = ip};
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

static int find_route(const struct gamma_ip *ip, struct route *route)
{
	struct gamma_rtnetlink_request request;
	struct nlmsghdr *head = mnl_nlmsg_put_header(request.bytes);
	struct rtmsg *info;

	head->nlmsg_type = RTM_GETROUTE;
	info = mnl_nlmsg_put_extra_header(head, sizeof(*info));
	info->rtm_family = (uint8_t) gamma_ip_family(ip);
	info->rtm_dst_len = (uint8_t) (8 * ip->len);
	mnl_attr_put(head, RTA_DST, ip->len, ip->bytes);
	if (ip->scope)
		mnl_attr_put_u32(head, RTA_OIF, ip->scope);
	return ask(&request, read_route, route);
}

int gamma_arp_nd_find_route(const struct gamma_ip *ip, int *ifindex)
{
	struct route route = {0};
	int err = gamma_ip_is_host(ip) ? find_route(ip, &route) : -EINVAL;

	if (err)
		return err;
	*ifindex = route.ifindex;
	return route.type == RTN_UNICAST && route.ifindex ? 0 : -ENETUNREACH;
}

/* ---- the neighbour ---- */

enum neighbour_state { ABSENT, PENDING, KNOWN, FAILED, WITHOUT_ARP };

struct neighbour {
	const struct gamma_ip *ip;
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

		if (type == NDA_DST)
			same = is_address(attr, neighbour->ip);
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
	info->ndm_family = (uint8_t) gamma_ip_family(neighbour->ip);
	mnl_attr_put_u32(head, NDA_IFINDEX, neighbour->ifindex);
	neighbour->state = ABSENT;
	return ask(&request, read_neighbour, neighbour);
}

static int send_empty(int fd, const struct neighbour *neighbour)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(DISCARD_PORT)};
	uint32_t ifindex_be = htonl((uint32_t) neighbour->ifindex);

	memcpy(&to.sin_addr, neighbour->ip->bytes, sizeof(to.sin_addr));
	if (setsockopt(fd, IPPROTO_IP, IP_UNICAST_IF, &ifindex_be, sizeof(ifindex_be)) ||
	    sendto(fd, "", 0, MSG_DONTWAIT | MSG_DONTROUTE, (struct sockaddr *) &to, sizeof(to)))
		return -errno;
	return 0;
}

static int send_empty6(int fd, const struct neighbour *neighbour)
{
	struct sockaddr_in6 to = {.sin6_family = AF_INET6,
				  .sin6_port = htons(DISCARD_PORT),
				  .sin6_scope_id = neighbour->ip->scope};
	uint32_t ifindex_be = htonl((uint32_t) neighbour->ifindex);

	memcpy(&to.sin6_addr, neighbour->ip->bytes, sizeof(to.sin6_addr));
	if (setsockopt(fd, IPPROTO_IPV6, IPV6_UNICAST_IF, &ifindex_be, sizeof(ifindex_be)) ||
	    sendto(fd, "", 0, MSG_DONTWAIT | MSG_DONTROUTE, (struct sockaddr *) &to, sizeof(to)))
		return -errno;
	return 0;
}

/* Makes the kernel ask for the address on that NIC, without any privilege. */
static int provoke_question(const struct neighbour *neighbour)
{
	int fd = socket(gamma_ip_family(neighbour->ip), SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int err;

	if (fd < 0)
		return -errno;
	err = neighbour->ip->len == 4 ? send_empty(fd, neighbour) : send_empty6(fd, neighbour);
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
	struct gamma_ip_text ip = gamma_ip_format(neighbour->ip);
	const char *asked_by = question(neighbour->ip);
	int err = find_neighbour(neighbour);

	if (err || neighbour->state == KNOWN)
		return err;
	err = provoke_question(neighbour);
	if (err) {
		gamma_info("%s: no %s could be provoked (%s): is output filtered here?", ip.text,
			   asked_by, strerror(-err));
		return -EHOSTUNREACH;
	}
	err = await_neighbour(neighbour, timeout_ms);
	if (err || neighbour->state == KNOWN)
		return err;
	if (neighbour->state == WITHOUT_ARP)
		gamma_info("%s: %s is off on interface %d: list the host in the configuration file",
			   ip.text, asked_by, neighbour->ifindex);
	else
		gamma_info("%s: no answer to %s in %d ms: is the host up and on this Ethernet?",
			   ip.text, asked_by, timeout_ms);
	return -EHOSTUNREACH;
}

/* ---- interface ---- */

static int local_mac(const struct gamma_ip *ip, uint8_t mac[GAMMA_MAC_LEN], int *ifindex)
{
	int err = gamma_arp_nd_find_owner(ip, mac, ifindex);

	if (err == -EADDRNOTAVAIL)
		gamma_info("%s belongs to this host but not to an Ethernet NIC: name a NIC instead",
			   gamma_ip_format(ip).text);
	return err;
}

int gamma_arp_nd_resolve(const struct gamma_ip *ip, int timeout_ms, uint8_t mac[GAMMA_MAC_LEN],
			 int *ifindex)
{
	struct neighbour neighbour = {.ip = ip};
	struct gamma_ip_text shown = gamma_ip_format(ip);
	struct route route = {0};
	int err;

	if (!gamma_ip_is_host(ip) || gamma_ip_lacks_scope(ip)) {
		gamma_info("%s is no host's address%s", shown.text,
			   gamma_ip_lacks_scope(ip) ? " without %INTERFACE behind it" : "");
		return -EINVAL;
	}
	err = find_route(ip, &route);
	if (!err && route.type == RTN_LOCAL)
		return local_mac(ip, mac, ifindex);
	if (!err && route.type == RTN_BROADCAST) {
		gamma_info("%s is the broadcast address of a network: name one host", shown.text);
		return -EINVAL;
	}
	if (!err && route.type == RTN_UNICAST && route.gateway) {
		gamma_info("%s is behind a gateway: raw Ethernet frames do not cross routers",
			   shown.text);
		return -EMULTIHOP;
	}
	if (err || route.type != RTN_UNICAST || !route.ifindex) {
		gamma_info("%s is not on an Ethernet of this host (%s)", shown.text,
			   err ? strerror(-err) : "it has no way there");
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
