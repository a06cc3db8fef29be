// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* From node and service as text to MAC, port and local NIC. */
#include "nic/resolve.h"
#include "base/base.h"
#include "base/mac.h"
#include "nic/arp_nd.h"
#include "nic/select.h"
#include "nic/udp.h"
#include "wire/pseudo_mac.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

/* A node's text in a message is truncated so that the cause still fits. */
#define NODE "%.64s"

enum {
	ADDRESSES_MAX = 8, /* of one host name that are tried */
	/* The node is not of this kind: try the next. */
	NO_MATCH = 1,
};

struct query {
	const struct gamma_resolve_ops *ops;
	const char *node;
	bool source;
	const struct gamma_conf *conf;
	const struct gamma_nic *nics;
	size_t nic_count;
	struct gamma_resolved *out;
	char *why;
	size_t why_len;
};

static int __attribute__((format(printf, 3, 4)))
fail(const struct query *q, int err, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(q->why, q->why_len, fmt, args);
	va_end(args);
	return err;
}

/* ---- results ---- */

static int take_nic(const struct query *q, const struct gamma_nic *nic)
{
	if (nic->reason)
		return fail(q, -ENODEV, NODE ": interface %s %s", q->node, nic->name, nic->reason);
	q->out->nic = nic;
	return 0;
}

static int take_own(const struct query *q, const struct gamma_nic *nic)
{
	int err = take_nic(q, nic);

	if (!err)
		memcpy(q->out->mac, nic->mac, GAMMA_MAC_LEN);
	return err;
}

static int take_mac(const struct query *q, const uint8_t mac[GAMMA_MAC_LEN])
{
	const struct gamma_nic *nic = gamma_nic_select_by_mac(q->nics, q->nic_count, mac);
	char text[GAMMA_MAC_TEXT_LEN];

	if (!gamma_mac_is_unicast(mac))
		return fail(q, -EINVAL, NODE " is a multicast or zero MAC: name that of one NIC",
			    q->node);
	if (nic)
		return take_own(q, nic);
	if (q->nic_count && q->nics[0].udp && !gamma_pseudo_mac_ipv4(mac))
		return fail(q, -EINVAL, NODE " is a MAC: over UDP name a host or an IP address",
			    q->node);
	if (q->source)
		return fail(q, -EADDRNOTAVAIL,
			    "source " NODE ": no interface of this host has MAC %s; see `ip link`",
			    q->node, gamma_mac_format(mac, text));
	memcpy(q->out->mac, mac, GAMMA_MAC_LEN);
	return 0;
}

static int take_default(const struct query *q)
{
	const struct gamma_nic *nic = gamma_nic_select_default(q->nics, q->nic_count, q->conf);

	if (nic)
		return take_own(q, nic);
	gamma_nic_select_explain_none(q->nics, q->nic_count, q->why, q->why_len);
	return -ENODEV;
}

/* ---- IP addresses ---- */

static const char *explain(int err)
{
	switch (-err) {
	case ENETUNREACH:
		return "is not on an Ethernet of this host: it has no route there; see `ip route`";
	case EMULTIHOP:
		return "is behind a router, which raw Ethernet frames do not cross: set "
		       "FI_GAMMA_LINK=udp on all hosts";
	case EHOSTUNREACH:
		return "does not answer to ARP or neighbour discovery; check that the host is up, "
		       "or "
		       "list it in the configuration file";
	case EADDRNOTAVAIL:
		return "is not an address of an Ethernet NIC of this host; see `ip address`";
	case EINVAL:
		return "is not the address of one host";
	case EEXIST:
		return "has the same short form as another IPv6 address: give the host another one";
	default:
		return strerror(-err);
	}
}

static int take_ip(const struct query *q, const struct gamma_ip *ip)
{
	const struct gamma_nic *nic;
	uint8_t mac[GAMMA_MAC_LEN];
	struct gamma_ip_text shown;
	int ifindex = 0, err;
	bool named; /* unless the node's text is the address */

	if (gamma_ip_is_loopback(ip))
		return take_default(q);
	shown = gamma_ip_format(ip);
	if (gamma_ip_lacks_scope(ip))
		return fail(q, -EINVAL,
			    NODE
			    ": %s is link-local: write the interface behind it, as in %s%%eth0",
			    q->node, shown.text, shown.text);
	if (q->source)
		err = q->ops->owner(ip, mac, &ifindex);
	else
		err = q->ops->arp_nd(ip, GAMMA_ARP_TIMEOUT_MS, mac, &ifindex);
	named = strcmp(q->node, shown.text);
	if (err)
		return fail(q, err, "%s" NODE "%s%s%s %s", q->source ? "source " : "", q->node,
			    named ? " is at " : "", named ? shown.text : "", named ? ", which" : "",
			    explain(err));
	nic = gamma_nic_select_by_ifindex(q->nics, q->nic_count, ifindex);
	if (!nic)
		return fail(q, -ENODEV,
			    NODE ": %s is on interface number %d, which has just appeared; "
				 "try again",
			    q->node, shown.text, ifindex);
	if (!nic->reason && nic->udp && nic->ipv6 != (ip->len == GAMMA_IPV6_LEN))
		return fail(q, -EAFNOSUPPORT,
			    NODE "%s%s is an IPv%d address, and %s is used with IPv%d: set "
				 "FI_GAMMA_LINK=udp%s on all hosts",
			    q->node, named ? ": " : "", named ? shown.text : "", nic->ipv6 ? 4 : 6,
			    nic->name, nic->ipv6 ? 6 : 4, nic->ipv6 ? "" : "6");
	memcpy(q->out->mac, mac, GAMMA_MAC_LEN);
	return take_nic(q, nic);
}

/* ---- the kinds of node, in their order ---- */

static int try_mac(const struct query *q)
{
	uint8_t mac[GAMMA_MAC_LEN];

	return gamma_mac_parse(q->node, mac) ? take_mac(q, mac) : NO_MATCH;
}

static int try_interface(const struct query *q)
{
	const struct gamma_nic *nic = gamma_nic_select_by_name(q->nics, q->nic_count, q->node);

	return nic ? take_own(q, nic) : NO_MATCH;
}

static int try_conf(const struct query *q)
{
	const struct gamma_conf_host *host = gamma_conf_by_name(q->conf, q->node);

	return host ? take_mac(q, host->mac) : NO_MATCH;
}

static int try_ip(const struct query *q)
{
	struct gamma_ip ip;

	return gamma_ip_parse(q->node, &ip) ? take_ip(q, &ip) : NO_MATCH;
}

/* A name may have several addresses: use the first that is reachable on this Ethernet. */
static int try_host_name(const struct query *q)
{
	struct gamma_ip ips[ADDRESSES_MAX];
	int count = q->ops->lookup(q->node, ips, ADDRESSES_MAX);
	int err = NO_MATCH;

	for (int i = 0; i < count && err; i++)
		err = take_ip(q, &ips[i]);
	return err;
}

static int resolve_node(const struct query *q)
{
	static int (*const rules[])(const struct query *) = {
		try_mac, try_interface, try_conf, try_ip, try_host_name,
	};

	for (size_t i = 0; i < gamma_array_size(rules); i++) {
		int err = rules[i](q);

		if (err != NO_MATCH)
			return err;
	}
	return fail(q, -ENOENT,
		    "node '" NODE
		    "' is no MAC, interface, host of %s, IP address or host name known "
		    "here",
		    q->node, gamma_conf_file(q->conf));
}

/* ---- all ---- */

/* Control characters would break the message into lines. */
static bool is_one_line(const char *text)
{
	for (; *text; text++) {
		if ((unsigned char) *text < ' ' || *text == 0x7f)
			return false;
	}
	return true;
}

static int parse_service(const struct query *q, const char *service)
{
	unsigned long port = 0;
	size_t len = strnlen(service, 6);

	if (len && len < 6 && strspn(service, "0123456789") == len) {
		for (size_t i = 0; i < len; i++)
			port = 10 * port + (service[i] - '0');
	}
	if (!port || port > UINT16_MAX)
		return fail(q, -EINVAL, "service '%.32s' is no port: use a number from 1 to 65535",
			    is_one_line(service) ? service : "...");
	q->out->port = port;
	return 0;
}

static int check_node(const struct query *q)
{
	if (!*q->node)
		return fail(q, -EINVAL, "node is empty: name a host, an interface or a MAC");
	if (strnlen(q->node, GAMMA_NODE_MAX + 1) > GAMMA_NODE_MAX)
		return fail(q, -EINVAL,
			    "node has more than %d characters: name a host, an interface "
			    "or a MAC",
			    GAMMA_NODE_MAX);
	if (!is_one_line(q->node))
		return fail(q, -EINVAL,
			    "node has control characters: name a host, an interface "
			    "or a MAC");
	return 0;
}

int gamma_resolve_with(const struct gamma_resolve_ops *ops, const char *node, const char *service,
		       bool source, const struct gamma_conf *conf, const struct gamma_nic *nics,
		       size_t nic_count, struct gamma_resolved *out, char *why, size_t why_len)
{
	struct query q = {ops, node, source, conf, nics, nic_count, out, why, why_len};
	int err = 0;

	memset(out, 0, sizeof(*out));
	if (why_len)
		*why = 0;
	if (service)
		err = parse_service(&q, service);
	if (!err && node)
		err = check_node(&q);
	if (!err && !node && !source)
		err = fail(&q, -EINVAL,
			   "a destination needs a node: a host, an interface or a MAC");
	if (!err && node)
		err = resolve_node(&q);
	if (err)
		memset(out, 0, sizeof(*out));
	else if (why_len)
		*why = 0; /* from an address of the host that could not be used */
	return err;
}

/* Appends those of one IP version. */
static int append_addresses(const struct addrinfo *list, int family, struct gamma_ip *ips,
			    int count, int room)
{
	for (; list && count < room; list = list->ai_next) {
		if (list->ai_family == family && gamma_ip_from_sockaddr(list->ai_addr, &ips[count]))
			count++;
	}
	return count;
}

static int lookup(const char *name, struct gamma_ip *ips, int room)
{
	struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_DGRAM};
	struct addrinfo *list;
	int count;

	if (getaddrinfo(name, NULL, &hints, &list))
		return -ENOENT;
	count = append_addresses(list, AF_INET, ips, 0, room);
	count = append_addresses(list, AF_INET6, ips, count, room);
	freeaddrinfo(list);
	return count;
}

int gamma_resolve(const char *node, const char *service, bool source, const struct gamma_conf *conf,
		  const struct gamma_nic *nics, size_t nic_count, struct gamma_resolved *out,
		  char *why, size_t why_len)
{
	static const struct gamma_resolve_ops system_ops = {
		.owner = gamma_arp_nd_find_owner,
		.arp_nd = gamma_arp_nd_resolve,
		.lookup = lookup,
	};

	static const struct gamma_resolve_ops udp_ops = {
		.owner = gamma_nic_udp_find_owner,
		.arp_nd = gamma_nic_udp_resolve,
		.lookup = lookup,
	};
	const bool udp = nic_count && nics[0].udp;

	/* The configuration file has MAC addresses, which UDP has no use for. */
	return gamma_resolve_with(udp ? &udp_ops : &system_ops, node, service, source,
				  udp ? NULL : conf, nics, nic_count, out, why, why_len);
}
