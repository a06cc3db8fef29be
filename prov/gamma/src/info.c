// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * fi_getinfo: which NICs can serve a query, under which addresses. One RDM and one DGRAM
 * info a NIC, the default NIC first and, except for an inventory, alone. select.c says whether
 * to answer, attr.c what is offered.
 */
#include "gamma.h"
#include "iface_list.h"
#include "link/broker.h"
#include "link/packet_socket.h"
#include "base/ipv6_names.h"
#include "base/mac.h"
#include "nic/resolve.h"
#include "wire/wire.h"

#include <arpa/inet.h>
#include <limits.h>
#include <net/if.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/*
 * libfabric's core sets these when one of its layers (ofi_rxd, ofi_rxm, ...) looks for a
 * provider below it; they are no flags of the interface. RDM endpoints are native here, and
 * "gamma;ofi_rxd" would be listed before them.
 */
#define LAYERING_FLAGS (0xfull << 58)

static const enum fi_ep_type types[] = {FI_EP_RDM, FI_EP_DGRAM};

/* One query and what is known of this host. */
struct query {
	uint32_t version;
	const struct fi_info *hints; /* or NULL */
	bool named;
	bool all_nics; /* an inventory; else the best NIC alone */
	bool numeric;  /* FI_NUMERICHOST: do not resolve names */
	/* Of the open domain that the hints name; else "". */
	char open_domain[GAMMA_DOMAIN_NAME_LEN];
	struct gamma_conf *conf;
	struct gamma_nic *nics;
	size_t nic_count;
	struct gamma_iface_list only; /* find_iface(); empty: any */
	struct gamma_resolved source;
	bool has_dest;
	struct gamma_resolved dest;
	struct gamma_addr dest_addr; /* from dest or the hints; MAC zero: the NIC's own */
};

static const char *hinted_domain(const struct fi_info *hints)
{
	return hints && hints->domain_attr ? hints->domain_attr->name : NULL;
}

/* ---- this host ---- */

/* Whether packet sockets can be opened: 0, -EPERM, or another reason. Closing one takes the kernel
 * milliseconds, so a success is remembered. */
static int try_packet_socket(void)
{
	static bool granted; /* atomic */
	int ret;

	if (__atomic_load_n(&granted, __ATOMIC_RELAXED))
		return 0;
	ret = gamma_packet_socket_try();
	if (!ret)
		__atomic_store_n(&granted, true, __ATOMIC_RELAXED);
	return ret;
}

/* The NICs of FI_GAMMA_IFACE, else those of a domain that the hints name, if these are several. */
static int find_iface(struct query *query, char *why, size_t why_len)
{
	const char *iface = gamma_settings.iface, *domain = hinted_domain(query->hints);
	struct gamma_domain_name several = {.text = ""};
	enum gamma_nic_list_kind kind;
	char cause[256];

	if (!iface && domain && strchr(domain, ',')) {
		several = gamma_nic_list_interface(domain, &kind);
		iface = several.text;
	}
	if (!iface || !gamma_iface_list_find(query->nics, query->nic_count, iface, &query->only,
					     cause, sizeof(cause)))
		return 0;
	snprintf(why, why_len, "%s%s: %s", several.text[0] ? "domain " : "FI_GAMMA_IFACE=", iface,
		 cause);
	return -FI_ENODATA;
}

static bool any_usable(const struct query *query)
{
	size_t i;

	for (i = 0; i < query->nic_count; i++)
		if (!query->nics[i].reason)
			return true;
	return false;
}

static bool is_served(const struct gamma_broker_served *served, const uint8_t mac[GAMMA_MAC_LEN])
{
	uint32_t i;

	for (i = 0; i < served->count; i++)
		if (!memcmp(served->macs[i], mac, GAMMA_MAC_LEN))
			return true;
	return false;
}

/* A NIC that gammad serves may be down just now. */
static void explain_unserved(const struct query *query, const struct gamma_broker_served *served,
			     char *why, size_t why_len)
{
	size_t i;

	for (i = 0; i < query->nic_count; i++) {
		const struct gamma_nic *nic = &query->nics[i];

		if (!is_served(served, nic->mac))
			continue;
		snprintf(why, why_len, "%s, which gammad serves, %s", nic->name, nic->reason);
		return;
	}
	snprintf(why, why_len,
		 "gammad at %.128s serves no NIC that can be used: add one to gammad.conf, or see "
		 "`gammactl status` (FI_LOG_LEVEL=info says why each is left out)",
		 gamma_settings.broker);
}

/* Whether gammad is set up on this host, and so will be there again if it is not now: its lock is
 * in the folder of its socket from its first start until its setup is undone. */
static bool gammad_is_set_up(void)
{
	const char *socket = gamma_settings.broker, *slash = strrchr(socket, '/');
	char lock[PATH_MAX];

	if (!slash || snprintf(lock, sizeof(lock), "%.*s/lock", (int) (slash - socket), socket) >=
			      (int) sizeof(lock))
		return false;
	return !access(lock, F_OK);
}

/* Only NICs on which gammad opens endpoints can be used; the reason if there is none. */
static int ask_gammad(struct query *query, bool *runs, char *why, size_t why_len)
{
	struct gamma_broker_served served;
	int ret = gamma_broker_nics(gamma_settings.broker, &served, why, why_len);
	size_t i;

	*runs = ret != -ENOENT && ret != -ECONNREFUSED;
	if (ret)
		return -FI_ENODATA;
	if (served.ethertype != gamma_settings.ethertype) {
		snprintf(why, why_len,
			 "gammad at %.128s uses EtherType 0x%04X, this program 0x%04X: set "
			 "FI_GAMMA_ETHERTYPE to gammad's",
			 gamma_settings.broker, served.ethertype, gamma_settings.ethertype);
		return -FI_ENODATA;
	}
	if (served.wire_version ? served.wire_version != GAMMA_VERSION : GAMMA_VERSION != 1) {
		snprintf(why, why_len,
			 "gammad at %.128s is of version %u of the protocol on the wire, this "
			 "program's gamma of %u: install one release, and restart gammad",
			 gamma_settings.broker, served.wire_version ? served.wire_version : 1,
			 GAMMA_VERSION);
		return -FI_ENODATA;
	}
	for (i = 0; i < query->nic_count; i++) {
		struct gamma_nic *nic = &query->nics[i];

		if (nic->reason || is_served(&served, nic->mac))
			continue;
		nic->reason = "is not served by gammad: add it to gammad.conf";
		GAMMA_INFO(CORE, "%s %s\n", nic->name, nic->reason);
	}
	if (find_iface(query, why, why_len))
		return -FI_ENODATA;
	if (any_usable(query))
		return 0;
	explain_unserved(query, &served, why, why_len);
	return -FI_ENODATA;
}

static int load_nics(struct query *query, enum gamma_nic_list_kind kind, char *why, size_t why_len)
{
	int ret;

	gamma_nic_list_free(query->nics);
	query->nics = NULL;
	query->only.count = 0;
	ret = gamma_nic_list_read(kind, &query->nics, &query->nic_count);
	if (ret) {
		snprintf(why, why_len, "listing the network interfaces failed: %s", strerror(-ret));
		return -FI_ENODATA;
	}
	if (find_iface(query, why, why_len))
		return -FI_ENODATA;
	if (any_usable(query))
		return 0;
	snprintf(why, why_len,
		 "no usable network interface: it takes %s "
		 "(FI_LOG_LEVEL=info says why each is left out)",
		 kind == GAMMA_NICS_ETHERNET  ? "an Ethernet NIC that is up"
		 : kind == GAMMA_NICS_RAW_UDP ? "an Ethernet NIC that is up and has an IPv4 address"
		 : kind == GAMMA_NICS_UDP     ? "one with an IP address"
					      : "one with an IPv6 address");
	return -FI_ENODATA;
}

static bool may_choose_udp(void)
{
	return gamma_settings.link == GAMMA_LINK_SETTING_ANY ||
	       gamma_settings.link == GAMMA_LINK_SETTING_AUTO ||
	       gamma_settings.link == GAMMA_LINK_SETTING_UDP;
}

/* Which kind of UDP an address is of; Ethernet: none, or no address. */
static enum gamma_nic_list_kind kind_of_address(const void *addr, size_t len)
{
	struct gamma_addr copy;

	if (!addr || len < sizeof(copy))
		return GAMMA_NICS_ETHERNET;
	memcpy(&copy, addr, sizeof(copy));
	return copy.version == GAMMA_ADDR_VERSION_UDP6  ? GAMMA_NICS_UDP6
	       : copy.version == GAMMA_ADDR_VERSION_UDP ? GAMMA_NICS_UDP
							: GAMMA_NICS_ETHERNET;
}

/* A program may name a domain, or an own address, of one kind. */
static enum gamma_nic_list_kind kind_named(const struct fi_info *hints)
{
	const char *domain = hinted_domain(hints);
	enum gamma_nic_list_kind kind = GAMMA_NICS_ETHERNET;

	if (domain)
		gamma_nic_list_interface(domain, &kind);
	return kind || !hints ? kind : kind_of_address(hints->src_addr, hints->src_addrlen);
}

/* Raw Ethernet, alone or with UDP. */
static enum gamma_nic_list_kind raw_kind(const struct query *query)
{
	if (gamma_settings.link == GAMMA_LINK_SETTING_RAW_UDP)
		return GAMMA_NICS_RAW_UDP;
	return kind_named(query->hints) == GAMMA_NICS_RAW_UDP ? GAMMA_NICS_RAW_UDP
							      : GAMMA_NICS_ETHERNET;
}

/* UDP alone; Ethernet: it does not name that. */
static enum gamma_nic_list_kind udp_named(const struct fi_info *hints)
{
	enum gamma_nic_list_kind kind = kind_named(hints);

	return kind == GAMMA_NICS_RAW_UDP ? GAMMA_NICS_ETHERNET : kind;
}

/* If it is to be UDP: over which version of IP. The peer's address decides, if it is known. */
static enum gamma_nic_list_kind udp_kind(const struct query *query, const char *node)
{
	enum gamma_nic_list_kind kind = udp_named(query->hints);
	struct gamma_addr addr;

	if (gamma_settings.link == GAMMA_LINK_SETTING_UDP6)
		return GAMMA_NICS_UDP6;
	if (!kind && query->hints)
		kind = kind_of_address(query->hints->dest_addr, query->hints->dest_addrlen);
	if (!kind && gamma_address_text_matches(node) && gamma_address_text_read(node, &addr))
		kind = kind_of_address(&addr, sizeof(addr));
	return kind ? kind : GAMMA_NICS_UDP;
}

static bool wants_udp(const struct query *query)
{
	if (gamma_settings.link == GAMMA_LINK_SETTING_UDP ||
	    gamma_settings.link == GAMMA_LINK_SETTING_UDP6)
		return true;
	return may_choose_udp() && udp_named(query->hints);
}

/* By gammad, or over UDP, which needs no privilege. */
static int without_packet_sockets(struct query *query, enum gamma_nic_list_kind udp, char *why,
				  size_t why_len)
{
	bool runs;
	int ret = ask_gammad(query, &runs, why, why_len);

	if (!ret || runs || gamma_settings.link == GAMMA_LINK_SETTING_PACKET ||
	    gamma_settings.link == GAMMA_LINK_SETTING_XDP || raw_kind(query) == GAMMA_NICS_RAW_UDP)
		return ret;
	/* The other ranks of a job, which asked while gammad ran, use packet sockets. */
	if (gammad_is_set_up()) {
		snprintf(why, why_len,
			 "gammad is set up on this host, but does not run: start it (systemctl "
			 "start gammad), or set FI_GAMMA_LINK=udp on all hosts");
		return ret;
	}
	GAMMA_INFO(CORE, "no CAP_NET_RAW and no gammad: UDP is used\n");
	return load_nics(query, udp, why, why_len);
}

/* Reads configuration and NICs; the reason if gamma cannot serve on this host. */
static int load_host(struct query *query, const char *node, char *why, size_t why_len)
{
	enum gamma_nic_list_kind udp = udp_kind(query, node);
	int ret;

	if (gamma_init_error()) {
		snprintf(why, why_len, "%s", gamma_init_error());
		return -FI_ENODATA;
	}
	if (gamma_conf_load(gamma_settings.conf_path, &query->conf, why, why_len))
		return -FI_ENODATA;
	if (wants_udp(query))
		return load_nics(query, udp, why, why_len);
	ret = load_nics(query, raw_kind(query), why, why_len);
	if (ret)
		return ret;
	ret = try_packet_socket();
	if (ret == -EPERM)
		return without_packet_sockets(query, udp, why, why_len);
	if (ret)
		snprintf(why, why_len, "no packet socket: %s; see the process's limits (ulimit)",
			 strerror(-ret));
	return ret ? -FI_ENODATA : 0;
}

/* ---- the addresses asked for ---- */

static bool address_valid(const void *addr, size_t len)
{
	const struct gamma_addr *gamma_addr = addr;

	return len >= GAMMA_ADDR_LEN && gamma_nic_list_link_name(gamma_addr->version);
}

static int take_address(const void *from, size_t len, struct gamma_addr *addr)
{
	if (!address_valid(from, len))
		return -FI_ENODATA;
	memcpy(addr, from, sizeof(*addr));
	return gamma_ipv6_names_hold_addr(addr);
}

/* A group as destination: a group MAC, or an IP multicast address, which maps to an Ethernet
 * address. */
static bool group_mac(const struct query *query, const char *node, uint8_t mac[GAMMA_MAC_LEN])
{
	struct in6_addr ipv6;
	struct in_addr ipv4;
	uint32_t low;

	if (!node || !query->hints || !(query->hints->caps & FI_MULTICAST))
		return false;
	if (gamma_mac_parse(node, mac))
		return mac[0] & 1;
	if (inet_pton(AF_INET6, node, &ipv6) == 1 && IN6_IS_ADDR_MULTICAST(&ipv6)) {
		memset(mac, 0x33, 2);
		memcpy(mac + 2, ipv6.s6_addr + 12, 4);
		return true;
	}
	if (inet_pton(AF_INET, node, &ipv4) != 1 || !IN_MULTICAST(ntohl(ipv4.s_addr)))
		return false;
	low = htonl(ntohl(ipv4.s_addr) & 0x7fffff);
	memcpy(mac, (uint8_t[]){0x01, 0x00, 0x5e}, 3);
	memcpy(mac + 3, (uint8_t *) &low + 1, 3);
	return true;
}

/* An address as node needs no service. */
static int take_text(struct query *query, const char *node, const char *service, bool source)
{
	struct gamma_resolved *out = source ? &query->source : &query->dest;
	struct gamma_addr addr;

	if (service || !gamma_address_text_read(node, &addr)) {
		gamma_select_explain(query->named,
				     "a node fi_addr_gamma://MAC:PORT/EPOCH is to be whole, "
				     "as fi_av_straddr writes it, and without a service");
		return -FI_ENODATA;
	}
	if (gamma_ipv6_names_hold_addr(&addr))
		return -FI_ENODATA;
	memcpy(out->mac, addr.mac, GAMMA_MAC_LEN);
	out->port = ntohs(addr.port);
	out->nic = gamma_nic_select_by_mac(query->nics, query->nic_count, addr.mac);
	if (source)
		return 0;
	query->has_dest = true;
	query->dest_addr = addr;
	return 0;
}

static bool is_numeric(const char *node)
{
	uint8_t mac[GAMMA_MAC_LEN];
	struct gamma_ip ip;

	return gamma_mac_parse(node, mac) || gamma_ip_parse(node, &ip);
}

/* A node with IPv6 addresses alone decides for IPv6, unless the user has decided. */
static int resolve(struct query *query, const char *node, const char *service, bool source,
		   struct gamma_resolved *out, char *why, size_t why_len)
{
	int ret = gamma_resolve(node, service, source, query->conf, query->nics, query->nic_count,
				out, why, why_len);

	if (ret != -EAFNOSUPPORT || !may_choose_udp() || hinted_domain(query->hints))
		return ret;
	ret = load_nics(query, GAMMA_NICS_UDP6, why, why_len);
	return ret ? ret
		   : gamma_resolve(node, service, source, query->conf, query->nics,
				   query->nic_count, out, why, why_len);
}

/* node and service name the source with FI_SOURCE, else the destination. */
static int resolve_names(struct query *query, const char *node, const char *service, bool source)
{
	struct gamma_resolved *out = source ? &query->source : &query->dest;
	uint8_t group[GAMMA_MAC_LEN];
	bool is_group = !source && group_mac(query, node, group);
	char why[256];

	if (!node && !service)
		return 0;
	if (gamma_address_text_matches(node))
		return take_text(query, node, service, source);
	if (query->numeric && node && !is_numeric(node)) {
		snprintf(why, sizeof(why),
			 "node '%.64s' is no MAC and no IP address, and FI_NUMERICHOST says that "
			 "no name is to be looked up",
			 node);
		gamma_select_explain(query->named, why);
		return -FI_ENODATA;
	}
	/* Only the port of a group is resolved, as for a source on any NIC. */
	if (resolve(query, is_group ? NULL : node, service, source || is_group, out, why,
		    sizeof(why))) {
		gamma_select_explain(query->named, why);
		return -FI_ENODATA;
	}
	if (source)
		return 0;
	query->has_dest = true;
	query->dest_addr.version =
		is_group ? GAMMA_ADDR_VERSION
			 : gamma_nic_list_addr_version(out->nic ? out->nic : query->nics);
	memcpy(query->dest_addr.mac, is_group ? group : out->mac, GAMMA_MAC_LEN);
	/* A group has a port too, so that one address serves several. */
	query->dest_addr.port = htons(is_group && !out->port ? GAMMA_GROUP_PORT : out->port);
	return 0;
}

/* The hints may give what the names left open. */
static int take_hinted_addresses(struct query *query, bool source_named)
{
	const struct fi_info *hints = query->hints;
	struct gamma_addr addr;

	if (hints && hints->src_addr && !source_named) {
		if (take_address(hints->src_addr, hints->src_addrlen, &addr))
			return -FI_ENODATA;
		memcpy(query->source.mac, addr.mac, GAMMA_MAC_LEN);
		query->source.port = ntohs(addr.port);
	}
	if (hints && hints->dest_addr && !query->has_dest) {
		if (take_address(hints->dest_addr, hints->dest_addrlen, &query->dest_addr))
			return -FI_ENODATA;
		query->has_dest = true;
	}
	return 0;
}

/* ---- the answer ---- */

/* name: of the domain, whose first NIC it is. */
static bool domain_fits(const struct query *query, const struct gamma_nic *nic, const char *name)
{
	static const uint8_t any[GAMMA_MAC_LEN];
	const char *domain = hinted_domain(query->hints);

	if (nic->reason || (query->only.count && !gamma_iface_list_has(&query->only, nic)))
		return false;
	if (domain && strcmp(domain, name))
		return false;
	if (query->open_domain[0] && strcmp(query->open_domain, name))
		return false;
	if (query->source.nic && nic != query->source.nic)
		return false;
	if (memcmp(query->source.mac, any, sizeof(any)) &&
	    memcmp(query->source.mac, nic->mac, sizeof(any)))
		return false;
	/* The route to the destination decides unless the user has. */
	return domain || query->open_domain[0] || query->only.count || query->source.nic ||
	       !query->dest.nic || nic == query->dest.nic;
}

static bool nic_fits(const struct query *query, const struct gamma_nic *nic)
{
	return domain_fits(query, nic, gamma_nic_list_domain(nic).text);
}

/* The domain of all NICs that are asked for, if these are several. */
static bool list_fits(const struct query *query)
{
	return query->only.count > 1 &&
	       domain_fits(query, query->only.nics[0], gamma_iface_list_domain(&query->only).text);
}

/* Complete but for epoch and, unless asked for, port: those are the endpoint's. */
static void own_address(struct gamma_addr *addr, const struct gamma_nic *nic, uint16_t port)
{
	memset(addr, 0, sizeof(*addr));
	memcpy(addr->mac, nic->mac, GAMMA_MAC_LEN);
	addr->port = htons(port);
	addr->version = gamma_nic_list_addr_version(nic);
	addr->mtu = htons((uint16_t) gamma_min(nic->mtu, UINT16_MAX));
	addr->host = gamma_host_identity();
}

static int set_address(void **field, size_t *len, const struct gamma_addr *addr)
{
	*field = malloc(sizeof(*addr));
	if (!*field)
		return -FI_ENOMEM;
	memcpy(*field, addr, sizeof(*addr));
	gamma_ipv6_names_show_addr(*field);
	*len = sizeof(*addr);
	return 0;
}

static int set_addresses(struct fi_info *info, const struct query *query,
			 const struct gamma_nic *nic)
{
	static const uint8_t unset[GAMMA_MAC_LEN];
	struct gamma_addr addr;

	own_address(&addr, nic, query->source.port);
	if (set_address(&info->src_addr, &info->src_addrlen, &addr))
		return -FI_ENOMEM;
	if (!query->has_dest)
		return 0;
	addr = query->dest_addr;
	if (!memcmp(addr.mac, unset, sizeof(unset)))
		own_address(&addr, nic, ntohs(addr.port));
	else if (!addr.host && gamma_nic_select_by_mac(query->nics, query->nic_count, addr.mac))
		addr.host = gamma_host_identity();
	return set_address(&info->dest_addr, &info->dest_addrlen, &addr);
}

static const struct fid_fabric *hinted_fabric(const struct fi_info *hints)
{
	return hints && hints->fabric_attr ? hints->fabric_attr->fabric : NULL;
}

static const struct fid_domain *hinted_instance(const struct fi_info *hints)
{
	return hints && hints->domain_attr ? hints->domain_attr->domain : NULL;
}

/* Programs may use open objects instead of opening them again, and some do. */
static void set_opened(struct fi_info *info, const struct query *query)
{
	const struct fi_info *hints = query->hints;
	struct gamma_domain *domain;

	info->fabric_attr->fabric = gamma_fabric_find_opened(query->version, hinted_fabric(hints));
	domain = gamma_domain_find_opened(info, hinted_instance(hints));
	info->domain_attr->domain = domain ? &domain->domain_fid : NULL;
}

static struct fi_info *make_info(const struct query *query, const struct gamma_nic *nic,
				 const char *domain, enum fi_ep_type type)
{
	struct fi_info *info = fi_allocinfo();

	if (!info)
		return NULL;
	gamma_attr_fill_info(info, query->version, type, nic->mtu, query->hints);
	info->domain_attr->name = strdup(domain);
	info->fabric_attr->name = strdup(gamma_settings.fabric_name);
	info->nic = gamma_nic_info_new(nic);
	if (info->domain_attr->name && info->fabric_attr->name && info->nic &&
	    !set_addresses(info, query, nic)) {
		set_opened(info, query);
		return info;
	}
	fi_freeinfo(info);
	return NULL;
}

/* Appends the infos of one domain; *tail is where the next one goes. */
static int offer_domain(const struct query *query, const struct gamma_nic *nic, const char *domain,
			struct fi_info ***tail)
{
	size_t i;

	for (i = 0; i < gamma_array_size(types); i++) {
		const char *field =
			gamma_attr_check_hints(query->version, types[i], nic->mtu, query->hints);

		if (field)
			continue;
		**tail = make_info(query, nic, domain, types[i]);
		if (!**tail)
			return -FI_ENOMEM;
		*tail = &(**tail)->next;
	}
	return 0;
}

static int offer_nic(const struct query *query, const struct gamma_nic *nic, struct fi_info ***tail)
{
	return offer_domain(query, nic, gamma_nic_list_domain(nic).text, tail);
}

static int offer_list(const struct query *query, struct fi_info ***tail)
{
	return offer_domain(query, query->only.nics[0], gamma_iface_list_domain(&query->only).text,
			    tail);
}

static int by_rank(const void *a, const void *b)
{
	return gamma_nic_select_compare(*(const struct gamma_nic *const *) a,
					*(const struct gamma_nic *const *) b);
}

static int answer(const struct query *query, struct fi_info **info)
{
	const struct gamma_nic *first =
		gamma_nic_select_default(query->nics, query->nic_count, query->conf);
	const struct gamma_nic **order = calloc(query->nic_count + 1, sizeof(*order));
	struct fi_info **tail = info;
	size_t i;
	int ret = 0;

	if (!order)
		return -FI_ENOMEM;
	for (i = 0; i < query->nic_count; i++)
		order[i] = &query->nics[i];
	qsort(order, query->nic_count, sizeof(*order), by_rank);
	if (list_fits(query))
		ret = offer_list(query, &tail);
	if (!ret && first && nic_fits(query, first) && (query->all_nics || !*info))
		ret = offer_nic(query, first, &tail);
	/* Programs spread their processes over all answers as if they led to one network, which the
	 * provider cannot know of two NICs. So several are offered only in an inventory. */
	for (i = 0; !ret && (query->all_nics || !*info) && i < query->nic_count; i++)
		if (order[i] != first && nic_fits(query, order[i]))
			ret = offer_nic(query, order[i], &tail);
	free(order);
	if (ret) {
		fi_freeinfo(*info);
		*info = NULL;
	}
	return ret ? ret : *info ? 0 : -FI_ENODATA;
}

/* Asked before any system call: could any NIC's endpoints satisfy the hints? */
static bool attributes_fit(uint32_t version, const struct fi_info *hints)
{
	const char *name = hints && hints->fabric_attr ? hints->fabric_attr->name : NULL;
	const char *field = NULL;
	size_t i;

	if (name && gamma_settings.fabric_name && strcmp(name, gamma_settings.fabric_name)) {
		GAMMA_INFO(CORE, "hints ask for fabric %s, this is %s\n", name,
			   gamma_settings.fabric_name);
		return false;
	}
	for (i = 0; i < gamma_array_size(types); i++) {
		field = gamma_attr_check_hints(version, types[i], UINT16_MAX, hints);
		if (!field)
			return true;
		GAMMA_INFO(CORE, "%s endpoints cannot satisfy hints->%s\n",
			   types[i] == FI_EP_RDM ? "RDM" : "DGRAM", field);
	}
	return false;
}

/* Hints may name open objects; those of other providers, and closed ones, do not count. */
static bool take_opened(struct query *query)
{
	const struct fid_fabric *fabric = hinted_fabric(query->hints);
	const struct fid_domain *named = hinted_instance(query->hints);
	struct gamma_domain *domain = named ? gamma_domain_find_opened(NULL, named) : NULL;

	if ((named && !domain) || (fabric && !gamma_fabric_find_opened(0, fabric))) {
		GAMMA_INFO(CORE, "the hints name a fabric or domain that is not open here\n");
		return false;
	}
	if (domain)
		snprintf(query->open_domain, sizeof(query->open_domain), "%s", domain->name);
	return true;
}

static bool any_fits(const struct query *query)
{
	size_t i;

	for (i = 0; i < query->nic_count; i++)
		if (nic_fits(query, &query->nics[i]))
			return true;
	return list_fits(query);
}

/* Why no interface is offered, though the names resolve and the attributes are possible. */
static void explain_nothing(const struct query *query)
{
	const char *domain = hinted_domain(query->hints);
	enum gamma_nic_list_kind kind;
	const struct gamma_nic *nic =
		domain ? gamma_nic_select_by_name(query->nics, query->nic_count,
						  gamma_nic_list_interface(domain, &kind).text)
		       : NULL;
	char why[256];

	if (any_fits(query)) {
		GAMMA_INFO(CORE, "the hints ask for more than the interface's MTU allows\n");
		return;
	}
	if (domain && !nic)
		snprintf(why, sizeof(why),
			 "domain %.64s: this host has no such interface; ip link lists them",
			 domain);
	else if (nic && nic->reason)
		snprintf(why, sizeof(why), "domain %s %s", domain, nic->reason);
	else
		snprintf(why, sizeof(why),
			 "no one interface has the domain, the source address and the "
			 "FI_GAMMA_IFACE asked for; fi_info -p gamma -v lists them");
	gamma_select_explain(query->named && (domain || query->source.nic), why);
}

static int run_query(struct query *query, const char *node, const char *service, bool source,
		     struct fi_info **info)
{
	char why[512];
	int ret;

	if (load_host(query, node, why, sizeof(why))) {
		gamma_select_explain(query->named, why);
		return -FI_ENODATA;
	}
	ret = resolve_names(query, node, service, source);
	if (!ret)
		ret = take_hinted_addresses(query, source && (node || service));
	if (ret)
		return ret;
	ret = answer(query, info);
	if (ret == -FI_ENODATA)
		explain_nothing(query);
	return ret;
}

int gamma_info_get(uint32_t version, const char *node, const char *service, uint64_t flags,
		   const struct fi_info *hints, struct fi_info **info)
{
	struct query query = {.version = version, .hints = hints};
	int ret;

	*info = NULL;
	if ((flags & LAYERING_FLAGS) || !gamma_select_answers(node, service, hints) ||
	    !attributes_fit(version, hints) || !take_opened(&query))
		return -FI_ENODATA;
	query.numeric = flags & FI_NUMERICHOST;
	query.named = gamma_select_is_named(hints);
	query.all_nics = gamma_select_lists_all(node, service, hints);
	ret = run_query(&query, node, service, flags & FI_SOURCE, info);
	gamma_nic_list_free(query.nics);
	gamma_conf_free(query.conf);
	return ret;
}
