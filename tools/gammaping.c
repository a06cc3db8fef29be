// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * gammaping: checks the path to a gamma endpoint step by step, and reports the step that fails
 * with its cure. Every request is a LOOKUP: any owner of a port answers it, also best-effort
 * endpoints and those of other users, and keeps no state for it. With -l it is the other end.
 */
#include "gammaping.h"
#include "broker/message.h"
#include "wire/ethertype.h"

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/about.h"
#include "base/live_line.h"
#include "base/mac.h"
#include "base/options.h"
#include "base/variables.h"
#include "nic/udp.h"
#include "unix/host.h"

enum {
	TRIES = 8,         /* requests until a step has failed */
	OTHERS_US = 20000, /* further endpoints of a host answer within this time */
	ANSWERS_MAX = 16,  /* endpoints of a host that are distinguished */
	MTU_WAIT_MS = 150, /* for the answer to a large frame, once small ones are answered */
};

volatile sig_atomic_t gammaping_interrupted;

/* ---- output ---- */

void gammaping_fail(const char *fmt, ...)
{
	va_list args;

	fflush(stdout);
	gamma_live_line_end();
	fputs("gammaping: ", stderr);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	exit(PING_EXIT_SETUP);
}

void gammaping_say(const struct ping *ping, const char *step, bool ok, const char *fmt, ...)
{
	va_list args;

	gamma_live_line_end();
	if (ping->quiet && ok)
		return;
	printf("%-7s %-7s ", step, ok ? "ok" : "failed");
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	putchar('\n');
	fflush(stdout);
}

void gammaping_hint(const char *text)
{
	printf("%16s%s\n", "", text);
}

static void log_line(enum gamma_log_level level, const char *line)
{
	if (level == GAMMA_LOG_INFO)
		return;
	gamma_live_line_end();
	fprintf(stderr, "gammaping: %s\n", line);
}

static void usage(FILE *to)
{
	fputs("usage: gammaping [OPTION]... HOST|MAC [PORT]\n"
	      "       gammaping -l [-u6] [-I IFACE] [PORT]\n"
	      "       gammaping --help | --version\n"
	      "  -c COUNT     round trips, 0: until interrupted (default 5)\n"
	      "  -i SECONDS   between two round trips (default 0.2)\n"
	      "  -I IFACE     NIC to use, by name or MAC address, or several: eth1,eth2\n"
	      "  -l           be the other end: answer until interrupted\n"
	      "  -q           print failures and the summary only\n"
	      "  -s BYTES     payload of each question (default 0)\n"
	      "  -t SECONDS   how long to wait for an answer (default 1)\n"
	      "  -u, --udp    over UDP\n"
	      "  -6           over UDP and IPv6\n"
	      "See gammaping(8).\n",
	      to);
}

/* ---- command line ---- */

static double number(char option, const char *text, double min, double max)
{
	char *end;
	double value = strtod(text, &end);

	if (!*text || *end || !(value >= min && value <= max))
		gammaping_fail("-%c %s: must be a number from %.12g to %.12g", option,
			       gamma_printable(text).text, min, max);
	return value;
}

static unsigned long whole_number(char option, const char *text, double max)
{
	double value = number(option, text, 0, max);

	if (value != (double) (unsigned long) value)
		gammaping_fail("-%c %s: must be a whole number", option,
			       gamma_printable(text).text);
	return (unsigned long) value;
}

/* FI_GAMMA_LINK, in the provider's words. */
static void read_link(struct ping *ping, const char *text)
{
	static const char *const words[] = {"any",    "auto",    "udp", "udp6",
					    "packet", "raw+udp", "xdp"};
	enum { AUTO = 1, UDP, UDP6 };
	unsigned link = 0;

	while (text && link < gamma_array_size(words) && strcasecmp(text, words[link]))
		link++;
	if (link == gamma_array_size(words))
		gammaping_fail("FI_GAMMA_LINK=%s: must be any, packet, xdp, auto, udp, udp6 or "
			       "raw+udp; correct it or unset it",
			       gamma_printable(text).text);
	ping->ipv6 = link == UDP6;
	ping->udp = ping->ipv6 || link == UDP;
	ping->udp_allowed = link <= AUTO;
}

/* The provider's variables apply to this tool as well. */
static void read_environment(struct ping *ping)
{
	const char *ethertype = getenv("FI_GAMMA_ETHERTYPE");
	const char *iface = getenv("FI_GAMMA_IFACE");
	const char *broker = getenv("FI_GAMMA_BROKER");
	char *end, why[256];
	unsigned long value;

	if (gamma_variables_check(why, sizeof(why)))
		gammaping_fail("%s", why);
	if (iface)
		rails_take_names(ping, iface);
	ping->broker = broker && *broker ? broker : GAMMA_BROKER_PATH;
	read_link(ping, getenv("FI_GAMMA_LINK"));
	ping->ethertype = GAMMA_ETHERTYPE;
	if (!ethertype)
		return;
	value = strtoul(ethertype, &end, 0);
	if (*end || value < 0x600 || value > 0xffff)
		gammaping_fail("FI_GAMMA_ETHERTYPE=%s: must be an EtherType, 0x0600 to 0xFFFF; "
			       "correct it or unset it",
			       gamma_printable(ethertype).text);
	if (gamma_ethertype_owner((uint16_t) value))
		gammaping_fail("FI_GAMMA_ETHERTYPE=%s is the EtherType of %s: choose a free one",
			       gamma_printable(ethertype).text,
			       gamma_ethertype_owner((uint16_t) value));
	ping->ethertype = (uint16_t) value;
}

static void take_option(struct ping *ping, int option)
{
	switch (option) {
	case 'I':
		rails_take_names(ping, optarg);
		break;
	case 'c':
		ping->count = whole_number('c', optarg, 1e9);
		break;
	case 'i':
		ping->interval = number('i', optarg, 0, 86400);
		break;
	case 's':
		ping->size = (uint32_t) whole_number('s', optarg, 65535 - GAMMA_HEADER_LEN);
		break;
	case 't':
		ping->timeout = number('t', optarg, 0.001, 86400);
		break;
	case 'q':
		ping->quiet = true;
		break;
	case 'l':
		ping->listen = true;
		break;
	case 'u':
		ping->udp = true;
		break;
	case '6':
		ping->udp = ping->ipv6 = true;
		break;
	case 'h':
		usage(stdout);
		exit(0);
	default:
		break; /* refused before */
	}
}

static void read_command_line(struct ping *ping, int argc, char **argv)
{
	static const struct option names[] = {{"udp", no_argument, NULL, 'u'}, {NULL, 0, NULL, 0}};
	int option, left;

	while ((option = getopt_long(argc, argv, ":I:c:i:s:t:qu6lh", names, NULL)) != -1) {
		if (option == '?' || option == ':')
			gamma_options_refuse(argv, option, names);
		take_option(ping, option);
	}
	left = argc - optind;
	if (left < (ping->listen ? 0 : 1) || left > (ping->listen ? 1 : 2))
		gamma_options_misuse("%s", ping->listen ? "with -l a port alone may follow"
					   : left       ? "more than a host and a port"
							: "a host is missing");
	if (!ping->listen)
		ping->host = argv[optind++];
	if (optind < argc)
		ping->service = argv[optind];
}

/* ---- this host ---- */

static bool may_send_frames(void)
{
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

	if (fd >= 0)
		close(fd);
	else if (errno != EPERM && errno != EACCES)
		gammaping_fail("no packet socket: %s", strerror(errno));
	return fd >= 0;
}

/* As the provider chooses: frames of its own, else a slot of gammad, else UDP. */
static void choose_link(struct ping *ping)
{
	if (!ping->udp && !may_send_frames()) {
		enum ping_gammad gammad = links_find_gammad(ping);

		if (gammad == PING_GAMMAD_STOPPED && ping->udp_allowed)
			gammaping_fail("gammad is set up on this host, but does not run: start it "
				       "(systemctl start gammad), or use --udp");
		ping->udp = ping->udp_allowed && gammad == PING_GAMMAD_NONE;
		ping->through_slot = !ping->udp;
		if (ping->udp && !ping->quiet)
			printf("no CAP_NET_RAW and no gammad: over UDP, as programs here do\n");
	}
	if (ping->udp)
		ping->ethertype = GAMMA_ETHERTYPE; /* of the checksum */
}

static void load_nics(struct ping *ping)
{
	int ret;

	gamma_nic_list_free(ping->nics);
	ping->nics = NULL;
	ret = gamma_nic_list(&ping->nics, &ping->nic_count);
	if (!ret && ping->udp)
		ret = gamma_nic_udp_convert(ping->nics, ping->nic_count,
					    ping->ipv6 ? GAMMA_NIC_UDP_IPV6 : GAMMA_NIC_UDP_ANY);
	if (ret)
		gammaping_fail("listing the network interfaces failed: %s", strerror(-ret));
}

static void load_host(struct ping *ping)
{
	const char *conf = getenv("FI_GAMMA_CONF");
	char why[512];

	if (gamma_conf_load(conf && *conf ? conf : NULL, &ping->conf, why, sizeof(why)))
		gammaping_fail("%s", why);
	load_nics(ping);
}

static int resolve(struct ping *ping, char *why, size_t why_len)
{
	return gamma_resolve(ping->host, ping->service, ping->listen, ping->conf, ping->nics,
			     ping->nic_count, &ping->peer, why, why_len);
}

/* As the provider does: a host with IPv6 addresses alone decides for IPv6. */
static int find_peer(struct ping *ping, char *why, size_t why_len)
{
	int ret = resolve(ping, why, why_len);

	if (ret != -EAFNOSUPPORT || ping->ipv6)
		return ret;
	ping->ipv6 = true;
	load_nics(ping);
	return resolve(ping, why, why_len);
}

const struct gamma_nic *gammaping_find_nic(const struct ping *ping, const char *name)
{
	uint8_t mac[GAMMA_MAC_LEN];

	return gamma_mac_parse(name, mac)
		       ? gamma_nic_select_by_mac(ping->nics, ping->nic_count, mac)
		       : gamma_nic_select_by_name(ping->nics, ping->nic_count, name);
}

static void speed_text(const struct gamma_nic *nic, char *text, size_t len)
{
	if (nic->speed >= 1000000000)
		snprintf(text, len, "%g Gbit/s", (double) nic->speed / 1e9);
	else if (nic->speed)
		snprintf(text, len, "%g Mbit/s", (double) nic->speed / 1e6);
	else
		snprintf(text, len, "speed unknown");
}

/* The NIC that is named, else the one on the route to the peer, else the default. */
static void step_nic(struct ping *ping)
{
	char mac[GAMMA_MAC_TEXT_LEN], speed[32], why[512];

	if (ping->iface)
		ping->nic = gammaping_find_nic(ping, ping->iface);
	else if (ping->peer.nic)
		ping->nic = ping->peer.nic;
	else
		ping->nic = gamma_nic_select_default(ping->nics, ping->nic_count, ping->conf);
	if (!ping->nic && ping->iface) {
		gammaping_say(ping, "nic", false,
			      "this host has no interface %s; ip link lists them", ping->iface);
		exit(PING_EXIT_SETUP);
	}
	if (!ping->nic) {
		gamma_nic_select_explain_none(ping->nics, ping->nic_count, why, sizeof(why));
		gammaping_say(ping, "nic", false, "%s", why);
		exit(PING_EXIT_SETUP);
	}
	if (ping->nic->reason) {
		gammaping_say(ping, "nic", false, "%s %s", ping->nic->name, ping->nic->reason);
		exit(PING_EXIT_SETUP);
	}
	if (ping->through_slot && !links_may_have_slot(ping))
		gammaping_fail(
			"no CAP_NET_RAW, so no raw Ethernet, and no gammad that serves %s to this "
			"user: run as root, or give the program the capability (setcap "
			"cap_net_raw+ep PROGRAM)",
			ping->nic->name);
	if (ping->udp && ping->peer.nic && ping->peer.nic->ipv6 != ping->nic->ipv6)
		gammaping_fail("%s is used with IPv%d here, and the address of %s is of IPv%d: "
			       "give both hosts addresses of one version, or name another NIC",
			       ping->nic->name, ping->nic->ipv6 ? 6 : 4, ping->host,
			       ping->nic->ipv6 ? 4 : 6);
	speed_text(ping->nic, speed, sizeof(speed));
	if (ping->udp)
		udp_walk_say_nic(ping, speed);
	else
		gammaping_say(ping, "nic", true, "%s %s, MTU %u, %s", ping->nic->name,
			      gamma_mac_format(ping->nic->mac, mac), ping->nic->mtu, speed);
}

/* ---- the name ---- */

/* The MAC, and the rule of gamma_resolve that found it, in its order. */
static void how_resolved(const struct ping *ping, char *text, size_t len)
{
	const struct gamma_conf_host *host = gamma_conf_by_name(ping->conf, ping->host);
	const char *way = ping->same_host ? "own address" : "found by ARP";
	char mac[GAMMA_MAC_TEXT_LEN];
	uint8_t parsed[GAMMA_MAC_LEN];

	gamma_mac_format(ping->peer.mac, mac);
	if (gamma_mac_parse(ping->host, parsed))
		snprintf(text, len, "a MAC address");
	else if (gamma_nic_select_by_name(ping->nics, ping->nic_count, ping->host))
		snprintf(text, len, "%s (an interface of this host)", mac);
	else if (host)
		snprintf(text, len, "%s (%s line %u)", mac, gamma_conf_file(ping->conf),
			 host->line);
	else
		snprintf(text, len, "%s (%s)", mac, way);
}

static void step_name(struct ping *ping, int resolved, const char *why)
{
	char how[512];

	if (resolved) {
		gammaping_say(ping, "name", false, "%s", why);
		exit(PING_EXIT_SETUP);
	}
	ping->same_host = gamma_nic_select_by_mac(ping->nics, ping->nic_count, ping->peer.mac);
	if (ping->udp) {
		udp_walk_say_name(ping);
		return;
	}
	how_resolved(ping, how, sizeof(how));
	gammaping_say(ping, "name", true, "%s is %s%s", ping->host, how,
		      ping->same_host ? ": this host, no wire between" : "");
}

/* ---- links ---- */

static void open_links(struct ping *ping)
{
	const uint32_t most = (uint32_t) gamma_min(ping->nic->mtu, UINT16_MAX) - GAMMA_HEADER_LEN;
	int ret = links_open(ping);

	if (ret)
		gammaping_fail("%s: cannot open a link: %s", ping->nic->name, strerror(-ret));
	ping->zeros = calloc(1, UINT16_MAX);
	if (!ping->zeros)
		gammaping_fail("out of memory");
	if (ping->size > most)
		gammaping_fail("-s %u: frames of %s carry at most %u bytes", ping->size,
			       ping->nic->name, most);
}

/* ---- LOOKUP ---- */

/* The next owned port of this host's NIC, from the kernel's list of socket names. */
static bool next_local_port(FILE *list, const struct ping *ping, uint16_t *port)
{
	const uint8_t *mac = ping->peer.mac;
	char line[512], prefix[32];
	const char *name;

	snprintf(prefix, sizeof(prefix), "@gamma/%02x%02x%02x%02x%02x%02x/", mac[0], mac[1], mac[2],
		 mac[3], mac[4], mac[5]);
	while (fgets(line, sizeof(line), list)) {
		name = strstr(line, prefix);
		*port = name ? (uint16_t) strtoul(name + strlen(prefix), NULL, 10) : 0;
		if (*port && (*port != ping->own_port || memcmp(mac, ping->own_mac, GAMMA_MAC_LEN)))
			return true;
	}
	return false;
}

/* Within a host there is no broadcast to all ports: each owned port is asked. */
static unsigned ask_local_ports(struct ping *ping, struct lookup_answer *answers)
{
	FILE *list = fopen("/proc/net/unix", "re");
	unsigned count = 0;
	uint16_t port;

	if (!list)
		return 0;
	while (count < ANSWERS_MAX && next_local_port(list, ping, &port)) {
		lookup_begin(ping);
		if (!lookup_send(ping, port, 0) &&
		    lookup_wait(ping, gamma_now() + gammaping_seconds(ping->timeout) / TRIES,
				&answers[count]))
			count++;
	}
	fclose(list);
	return count;
}

/* Whether the last one is of an endpoint that answered an earlier request before. */
static bool is_known(const struct lookup_answer *answers, unsigned last)
{
	for (unsigned i = 0; i < last; i++)
		if (answers[i].port == answers[last].port && answers[i].op == answers[last].op)
			return true;
	return false;
}

/* Asks for a port, 0 for any; returns how many endpoints answer. */
static unsigned look_up(struct ping *ping, uint16_t port, struct lookup_answer *answers)
{
	uint64_t share = gammaping_seconds(ping->timeout) / TRIES;
	unsigned count = 0;

	if (ping->same_host && !port)
		return ask_local_ports(ping, answers);
	lookup_begin(ping);
	for (int try = 0; try < TRIES && !count && !gammaping_interrupted; try++) {
		int ret = lookup_send(ping, port, 0);
		uint64_t until = gamma_now() + share;

		if (ret == -ECONNREFUSED) /* on this host: nobody has it */
			return 0;
		if (ret) {
			gammaping_say(ping, "lookup", false, "%s: a frame could not be sent: %s",
				      ping->nic->name, strerror(-ret));
			exit(PING_EXIT_LOST);
		}
		while (count < ANSWERS_MAX && lookup_wait(ping, until, &answers[count])) {
			until = gamma_now() + OTHERS_US * GAMMA_NS_PER_US;
			count += !is_known(answers, count);
			if (port)
				break;
		}
	}
	return count;
}

/* Of several endpoints the first that we may talk to. */
static void choose(struct ping *ping, const struct lookup_answer *answers, unsigned count)
{
	ping->found = answers[0];
	for (unsigned i = 0; i < count; i++) {
		if (answers[i].op == GAMMA_LOOKUP_FOUND) {
			ping->found = answers[i];
			return;
		}
	}
}

static void __attribute__((noreturn)) nothing_answers(struct ping *ping, uint16_t port)
{
	char mac[GAMMA_MAC_TEXT_LEN];
	struct lookup_answer answers[ANSWERS_MAX];
	unsigned others = port ? look_up(ping, 0, answers) : 0;
	char text[128];

	gamma_mac_format(ping->peer.mac, mac);
	if (others && answers[0].op != GAMMA_LOOKUP_NO_PORT) {
		gammaping_say(ping, "lookup", false, "%s answers, but nobody there has port %u",
			      mac, port);
		gammaping_hint(
			"start the program there, or name a port that it has; these have owners:");
		for (unsigned i = 0; i < others; i++)
			printf("%18sport %u of user %u\n", "", answers[i].port, answers[i].tenant);
	} else if (ping->same_host) {
		gammaping_say(ping, "lookup", false, "no gamma program of this host has %s",
			      port ? "that port" : "a port");
		gammaping_hint("start one, or `gammaping -l`");
	} else {
		gammaping_say(ping, "lookup", false,
			      "nothing answers: does this network pass EtherType 0x%04X?",
			      ping->ethertype);
		snprintf(text, sizeof(text),
			 "run `gammaping -l` there and `gammaping %s` here:", mac);
		gammaping_hint(text);
		gammaping_hint("  if that answers, no gamma program runs there, or it computes and "
			       "does not "
			       "poll;");
		gammaping_hint(
			"  if not, the host is down, the MAC is wrong, the ports are in different "
			"VLANs or");
		gammaping_hint(
			"  segments, or a filter (nftables, ebtables, switch) drops these frames");
		gammaping_hint(
			"both hosts need the same FI_GAMMA_ETHERTYPE, and gamma of one release: "
			"another");
		gammaping_hint("  version of the protocol does not answer");
	}
	exit(PING_EXIT_LOST);
}

static void say_found(const struct ping *ping, unsigned count)
{
	const struct gamma_addr *addr = &ping->found.addr;
	char others[64] = "";

	if (count > 1)
		snprintf(others, sizeof(others), "; %u endpoints answer", count);
	gammaping_say(ping, "lookup", true, "port %u, epoch %08x, MTU %u, host %016llx%s%s",
		      ping->found.port, ntohl(addr->epoch), ntohs(addr->mtu),
		      (unsigned long long) addr->host,
		      addr->host == gamma_host_identity() ? " (this one)" : "", others);
}

static void step_lookup(struct ping *ping)
{
	struct lookup_answer answers[ANSWERS_MAX];
	unsigned count = look_up(ping, ping->peer.port, answers);

	if (!count && gammaping_interrupted)
		exit(PING_EXIT_LOST);
	if (!count)
		nothing_answers(ping, ping->peer.port);
	choose(ping, answers, count);
	if (ping->found.op == GAMMA_LOOKUP_FOUND) {
		say_found(ping, count);
	} else if (ping->found.op == GAMMA_LOOKUP_NO_PORT && !ping->peer.port) {
		gammaping_say(ping, "lookup", true, "gammad answers; no endpoint is open there");
	} else if (ping->found.op == GAMMA_LOOKUP_NO_PORT) {
		gammaping_say(ping, "lookup", false,
			      "nobody there has port %u: start the program there", ping->peer.port);
		exit(PING_EXIT_LOST);
	} else if (ping->peer.port) {
		gammaping_say(ping, "lookup", false,
			      "port %u belongs to user %u, this is user %u: both must be the same",
			      ping->found.port, ping->found.tenant, ping->tenant);
		exit(PING_EXIT_LOST);
	} else {
		gammaping_say(ping, "lookup", true,
			      "port %u, of user %u (this is user %u, which may not talk to it)",
			      ping->found.port, ping->found.tenant, ping->tenant);
	}
}

/* ---- the way through a slot ---- */

/* Programs by gammad have addresses of their own, which some networks drop. */
static void step_slot(struct ping *ping)
{
	struct ping slot = *ping;
	char mac[GAMMA_MAC_TEXT_LEN];
	bool answered;

	if (ping->through_slot || ping->same_host || !links_may_have_slot(ping))
		return;
	slot.own_port = 0;
	if (links_open_slot(&slot)) {
		gammaping_say(ping, "slot", false,
			      "gammad gives no slot of %s; the line above says why",
			      ping->nic->name);
		return;
	}
	answered = lookup_ask(&slot, 0, TRIES, gammaping_seconds(slot.timeout) / TRIES);
	slot.packet->ops->close(slot.packet);
	slot.shm->link.ops->close(&slot.shm->link);
	gamma_mac_format(slot.own_mac, mac);
	if (answered) {
		gammaping_say(ping, "slot", true,
			      "frames from a slot of gammad (%s) are answered too", mac);
	} else if (!gammaping_interrupted) {
		ping->failed = true;
		gammaping_say(ping, "slot", false,
			      "frames from a slot of gammad (%s) are not answered", mac);
		gammaping_hint(
			"this network drops addresses that are not the NIC's: allow them at the "
			"switch port");
		gammaping_hint("(port security) and in the hypervisor (spoof check of a VF, forged "
			       "transmits), or");
		gammaping_hint("have endpoints use the NIC's: write `own-address` behind its slots "
			       "in");
		gammaping_hint("gammad.conf, or set FI_GAMMA_LINK=udp on all hosts");
	}
}

/* ---- MTU ---- */

bool gammaping_passes(struct ping *ping, uint32_t mtu)
{
	return lookup_ask(ping, mtu - GAMMA_HEADER_LEN, TRIES, MTU_WAIT_MS * GAMMA_NS_PER_MS);
}

static void step_mtu(struct ping *ping)
{
	uint32_t own = ping->packet->mtu;
	uint32_t theirs = ntohs(ping->found.addr.mtu) ? ntohs(ping->found.addr.mtu) : own;
	uint32_t mtu = (uint32_t) gamma_min(own, theirs);

	if (ping->same_host)
		return;
	if (gammaping_passes(ping, mtu)) {
		if (own == theirs)
			gammaping_say(ping, "mtu", true, "frames of %u bytes pass", mtu);
		else
			gammaping_say(ping, "mtu", true,
				      "frames of %u bytes pass; here the MTU is %u, there %u", mtu,
				      own, theirs);
		return;
	}
	if (gammaping_interrupted)
		return;
	ping->failed = true;
	if (mtu > GAMMA_SAFE_MTU && gammaping_passes(ping, GAMMA_SAFE_MTU))
		gammaping_say(
			ping, "mtu", false,
			"frames of %u bytes do not pass, those of %u do: set the MTU of the switch "
			"ports between (gamma stays at %u)",
			mtu, GAMMA_SAFE_MTU, GAMMA_SAFE_MTU);
	else
		gammaping_say(ping, "mtu", false,
			      "frames of %u bytes do not pass, small ones do: set the MTU of the "
			      "hosts to "
			      "what the network between carries",
			      (uint32_t) gamma_min(mtu, GAMMA_SAFE_MTU));
}

/* ---- all ---- */

static void on_signal(int number)
{
	(void) number;
	gammaping_interrupted = 1;
}

static void catch_signals(void)
{
	struct sigaction action = {.sa_handler = on_signal};

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

static int walk(struct ping *ping, int resolved, const char *why)
{
	step_name(ping, resolved, why);
	open_links(ping);
	if (ping->udp) {
		udp_walk_lookup(ping);
		udp_walk_mtu(ping);
	} else {
		step_lookup(ping);
		step_slot(ping);
		step_mtu(ping);
	}
	rails_step(ping);
	return round_trips_step(ping);
}

int main(int argc, char **argv)
{
	struct ping ping = {.count = 5, .interval = 0.2, .timeout = 1};
	char why[512];
	int resolved;

	gamma_about_answer(argc, argv, usage);
	gamma_log_set_sink(log_line);
	read_environment(&ping);
	read_command_line(&ping, argc, argv);
	choose_link(&ping);
	catch_signals();
	load_host(&ping);
	resolved = find_peer(&ping, why, sizeof(why));
	if (resolved && ping.listen)
		gammaping_fail("%s", why);
	if (ping.udp && !ping.peer.port)
		ping.peer.port = PING_UDP_PORT;
	step_nic(&ping);
	rails_find_nics(&ping);
	return ping.listen ? listen_run(&ping) : walk(&ping, resolved, why);
}
