// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * gammaping's steps over UDP: whether the peer's port answers, and if not what the network says
 * of it by ICMP; which datagrams the path carries. Called by gammaping.c.
 */
#include "gammaping.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/icmp6.h>
#include <netinet/ip_icmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/ipv6_names.h"
#include "nic/udp.h"
#include "unix/host.h"
#include "wire/pseudo_mac.h"

enum {
	TRIES = 8,          /* requests until a step has failed */
	SIZE_TRIES = 2,     /* datagrams of a size until it is too large */
	SIZE_WAIT_MS = 300, /* for the answer to each */
	ICMP_WAIT_S = 4, /* a router asks for a host that is not there for 3 s before it says so */
	ICMP_PART_MS = 100,
};

struct gamma_ip_text udp_walk_ip(const struct ping *ping, const uint8_t mac[GAMMA_MAC_LEN])
{
	const uint8_t *ipv4 = gamma_pseudo_mac_ipv4(mac);
	struct gamma_ip ip = {.len = ipv4 ? 4 : GAMMA_IPV6_LEN};

	if (ipv4)
		memcpy(ip.bytes, ipv4, ip.len);
	else
		gamma_ipv6_names_find(mac, ip.bytes);
	if (gamma_ip_lacks_scope(&ip))
		ip.scope = (uint32_t) ping->nic->ifindex;
	return gamma_ip_format(&ip);
}

/* Bytes of the IP and UDP headers. */
static uint32_t overhead(const struct ping *ping)
{
	return ping->nic->ipv6 ? GAMMA_UDP6_OVERHEAD : GAMMA_UDP_OVERHEAD;
}

/* ---- this host and the name ---- */

void udp_walk_say_nic(const struct ping *ping, const char *speed)
{
	gammaping_say(ping, "nic", true, "%s %s, MTU %u, %s, over UDP", ping->nic->name,
		      udp_walk_ip(ping, ping->nic->mac).text, ping->nic->mtu + overhead(ping),
		      speed);
}

void udp_walk_say_name(const struct ping *ping)
{
	const struct gamma_ip_text ip = udp_walk_ip(ping, ping->peer.mac);

	gammaping_say(ping, "name", true, "%s%s%s%s",
		      strcmp(ping->host, ip.text) ? ping->host : ip.text,
		      strcmp(ping->host, ip.text) ? " is " : " is an address",
		      strcmp(ping->host, ip.text) ? ip.text : "",
		      ping->same_host ? ": this host, no wire between" : "");
}

/* ---- what ICMP says ---- */

static const char *explain_icmp6(const struct ping_icmp *icmp)
{
	if (icmp->type == ICMP6_PACKET_TOO_BIG)
		return "the datagram is larger than the path's MTU";
	if (icmp->type == ICMP6_TIME_EXCEEDED)
		return "the way goes round in circles (hop limit exceeded): mend the routes";
	if (icmp->type != ICMP6_DST_UNREACH)
		return strerror(icmp->error);
	switch (icmp->code) {
	case ICMP6_DST_UNREACH_NOROUTE:
		return "no route to that network: mend the routes there";
	case ICMP6_DST_UNREACH_ADDR:
		return "the host is unreachable: it is down, or has another address";
	case ICMP6_DST_UNREACH_ADMIN:
		return "a firewall forbids it: allow UDP to ports from 32768 on";
	default:
		return strerror(icmp->error);
	}
}

/* The ICMP error of a host or router about the latest question, as text. */
static const char *explain(const struct ping_icmp *icmp)
{
	if (icmp->ipv6 && !icmp->local)
		return explain_icmp6(icmp);
	if (icmp->local || icmp->type != ICMP_DEST_UNREACH)
		return icmp->type == ICMP_TIME_EXCEEDED && !icmp->local
			       ? "the way goes round in circles (TTL exceeded): mend the routes"
			       : strerror(icmp->error);
	switch (icmp->code) {
	case ICMP_NET_UNREACH:
	case ICMP_NET_UNKNOWN:
		return "no route to that network: mend the routes there";
	case ICMP_HOST_UNREACH:
	case ICMP_HOST_UNKNOWN:
		return "the host is unreachable: it is down, or has another address";
	case ICMP_PROT_UNREACH:
		return "that host takes no UDP";
	case ICMP_FRAG_NEEDED:
		return "the datagram is larger than the path's MTU";
	case ICMP_NET_ANO:
	case ICMP_HOST_ANO:
	case ICMP_PKT_FILTERED:
		return "a firewall forbids it: allow UDP to ports from 32768 on";
	default:
		return strerror(icmp->error);
	}
}

static void hint_icmp(const struct ping *ping)
{
	const struct ping_icmp *icmp = &ping->icmp;
	char line[256];

	if (!icmp->known)
		return;
	if (icmp->from.len)
		snprintf(line, sizeof(line), "%s reports: %s (ICMP%s type %u code %u)",
			 gamma_ip_format(&icmp->from).text, explain(icmp), icmp->ipv6 ? "v6" : "",
			 icmp->type, icmp->code);
	else
		snprintf(line, sizeof(line), "this host's kernel reports: %s", explain(icmp));
	gammaping_hint(line);
}

/* ---- the port ---- */

static void __attribute__((noreturn)) cannot_send(const struct ping *ping, int error)
{
	gammaping_say(ping, "lookup", false, "%s: a datagram could not be sent: %s",
		      ping->nic->name, strerror(-error));
	if (error == -EPERM)
		gammaping_hint("a firewall of this host forbids it: nft list ruleset");
	hint_icmp(ping);
	exit(PING_EXIT_LOST);
}

static void __attribute__((noreturn)) nothing_answers(const struct ping *ping)
{
	const struct gamma_ip_text ip = udp_walk_ip(ping, ping->peer.mac);
	const char *option = ping->nic->ipv6 ? "-6" : "--udp";
	char line[256];

	gammaping_say(ping, "lookup", false, "nothing answers at UDP port %u of %s",
		      ping->peer.port, ip.text);
	if (ping->icmp.known) {
		hint_icmp(ping);
		exit(PING_EXIT_LOST);
	}
	snprintf(line, sizeof(line),
		 "run `gammaping -l %s` there and `gammaping %s %s` here:", option, option,
		 ip.text);
	gammaping_hint(line);
	gammaping_hint("  if that answers, no gamma program has the port, or it computes and does "
		       "not poll;");
	gammaping_hint("  if not, a firewall or security group drops UDP in silence, the host is "
		       "down,");
	gammaping_hint("  or the addresses are translated on the way (NAT), which gamma does not "
		       "support");
	gammaping_hint("both hosts need gamma of one release: another version of the protocol does "
		       "not answer");
	exit(PING_EXIT_LOST);
}

static bool is_answered(struct ping *ping)
{
	lookup_begin(ping);
	for (int try = 0; try < TRIES && !gammaping_interrupted; try++) {
		int ret = lookup_send(ping, ping->peer.port, 0);
		uint64_t share = (uint64_t) (ping->timeout * (double) GAMMA_NS_PER_S) / TRIES;

		if (ret)
			cannot_send(ping, ret);
		if (lookup_wait(ping, gamma_now() + share, &ping->found))
			return true;
	}
	return false;
}

/* Or a late answer. */
static bool is_answered_late(struct ping *ping)
{
	const uint64_t until = gamma_now() + ICMP_WAIT_S * GAMMA_NS_PER_S;

	while (!ping->icmp.known && !gammaping_interrupted && gamma_now() < until)
		if (lookup_wait(ping, gamma_now() + ICMP_PART_MS * GAMMA_NS_PER_MS, &ping->found))
			return true;
	return false;
}

void udp_walk_lookup(struct ping *ping)
{
	const struct gamma_addr *addr = &ping->found.addr;

	if (!is_answered(ping) && !is_answered_late(ping)) {
		if (gammaping_interrupted)
			exit(PING_EXIT_LOST);
		nothing_answers(ping);
	}
	if (ping->found.op == GAMMA_LOOKUP_NO_PORT) {
		gammaping_say(ping, "lookup", false,
			      "UDP reaches %s, but nobody there has port %u: start the program, or "
			      "`gammaping -l %s`",
			      udp_walk_ip(ping, ping->peer.mac).text, ping->peer.port,
			      ping->nic->ipv6 ? "-6" : "--udp");
		exit(PING_EXIT_LOST);
	}
	if (ping->found.op != GAMMA_LOOKUP_FOUND) {
		gammaping_say(ping, "lookup", false,
			      "port %u belongs to user %u, this is user %u: both must be the same",
			      ping->found.port, ping->found.tenant, ping->tenant);
		exit(PING_EXIT_LOST);
	}
	if (addr->version == GAMMA_ADDR_VERSION_UDP6) { /* which has neither MTU nor host */
		ping->found.addr.mtu = 0;
		gammaping_say(ping, "lookup", true, "port %u, epoch %08x%s", ping->found.port,
			      ntohl(addr->epoch), ping->same_host ? " (this host)" : "");
		return;
	}
	gammaping_say(ping, "lookup", true, "port %u, epoch %08x, MTU %u, host %016llx%s",
		      ping->found.port, ntohl(addr->epoch), ntohs(addr->mtu) + overhead(ping),
		      (unsigned long long) addr->host,
		      addr->host == gamma_host_identity() ? " (this one)" : "");
}

/* ---- what the path carries ---- */

/* Whether datagrams of a payload of so many bytes are answered. */
static bool passes(struct ping *ping, uint32_t bytes)
{
	return lookup_ask(ping, bytes - GAMMA_HEADER_LEN, SIZE_TRIES,
			  SIZE_WAIT_MS * GAMMA_NS_PER_MS);
}

/* The largest payload that passes, of those below one that does not; 0: not even the smallest. */
static uint32_t find_size(struct ping *ping, uint32_t fails)
{
	const uint32_t least = GAMMA_NIC_MTU_MIN - overhead(ping);
	uint32_t good = least, reported = ping->icmp.mtu;

	if (!passes(ping, least))
		return 0;
	if (reported > least + overhead(ping) && reported - overhead(ping) < fails &&
	    passes(ping, reported - overhead(ping))) {
		good = reported - overhead(ping);
		if (!passes(ping, good + 1))
			return good;
		good++;
	}
	while (fails - good > 1 && !gammaping_interrupted) {
		uint32_t middle = good + (fails - good) / 2;

		if (passes(ping, middle))
			good = middle;
		else
			fails = middle;
	}
	return good;
}

static void say_smaller(struct ping *ping, uint32_t bytes)
{
	uint32_t good = find_size(ping, bytes);

	if (gammaping_interrupted)
		return;
	ping->failed = true;
	if (!good) {
		gammaping_say(
			ping, "mtu", false,
			"packets of %u bytes do not pass, short ones do: mend what is between",
			GAMMA_NIC_MTU_MIN);
		return;
	}
	gammaping_say(ping, "mtu", false,
		      "packets of %u bytes do not pass, those of %u do: gamma uses these; set the "
		      "MTU of the hosts to it to save its search",
		      bytes + overhead(ping), good + overhead(ping));
	if (ping->icmp.mtu)
		hint_icmp(ping);
	else
		gammaping_hint("no router reports it: ICMP is filtered, so TCP may hang there");
}

void udp_walk_mtu(struct ping *ping)
{
	uint32_t own = ping->packet->mtu;
	uint32_t theirs = ntohs(ping->found.addr.mtu) ? ntohs(ping->found.addr.mtu) : own;
	uint32_t bytes = (uint32_t) gamma_min(own, theirs);

	if (ping->same_host)
		return;
	ping->icmp.mtu = 0;
	if (!passes(ping, bytes))
		say_smaller(ping, bytes);
	else if (own == theirs)
		gammaping_say(ping, "mtu", true, "packets of %u bytes pass",
			      bytes + overhead(ping));
	else
		gammaping_say(
			ping, "mtu", true, "packets of %u bytes pass; here the MTU is %u, there %u",
			bytes + overhead(ping), own + overhead(ping), theirs + overhead(ping));
}
