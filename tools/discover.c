// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * gamma-discover: finds the hosts of a segment that run gamma, writes gamma.conf, and checks the
 * paths from this host.
 */
#include "discover.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/about.h"
#include "base/base.h"
#include "base/live_line.h"
#include "base/mac.h"
#include "base/options.h"
#include "base/variables.h"
#include "nic/select.h"
#include "wire/ethertype.h"

enum { EXIT_FOUND = 1, EXIT_SETUP = 2 };

volatile sig_atomic_t discover_interrupted;

static void usage(FILE *to)
{
	fputs("usage: gamma-discover [--iface IFACE] [--wait SECONDS] [--json] [--through-gammad]\n"
	      "                      [--check [--own-paths]] [--write [--conf FILE] [--yes]]\n"
	      "       gamma-discover --merge [--json] FILE...\n"
	      "       gamma-discover --help | --version\n"
	      "  --check            measure the paths between all hosts; status 1 if anything is "
	      "wrong\n"
	      "  --conf FILE        the hosts known so far (default FI_GAMMA_CONF, else "
	      "/etc/gamma.conf)\n"
	      "  --iface IFACE      NIC to ask on\n"
	      "  --json             print JSON\n"
	      "  --merge            one table of what --check --json printed on several hosts; -: "
	      "standard input\n"
	      "  --own-paths        with --check: measure the paths from this host alone\n"
	      "  --through-gammad   ask from a slot of gammad's, as jobs do\n"
	      "  --wait SECONDS     how long answers may take (default 1)\n"
	      "  --write            write the hosts found to the file; show first what changes\n"
	      "  --yes              replace the file without a question\n"
	      "See gamma-discover(8).\n",
	      to);
}

void discover_fail(const char *fmt, ...)
{
	va_list args;

	fflush(stdout);
	gamma_live_line_end();
	fputs("gamma-discover: ", stderr);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	exit(EXIT_SETUP);
}

static void log_line(enum gamma_log_level level, const char *line)
{
	if (level == GAMMA_LOG_INFO)
		return;
	gamma_live_line_end();
	fprintf(stderr, "gamma-discover: %s\n", line);
}

/* ---- command line ---- */

/* The provider's variables apply to this tool as well. */
static void read_environment(struct discover *discover)
{
	const char *ethertype = getenv("FI_GAMMA_ETHERTYPE");
	const char *iface = getenv("FI_GAMMA_IFACE");
	static char first[64];
	const char *conf = getenv("FI_GAMMA_CONF");
	char *end, why[256];
	unsigned long value;

	if (gamma_variables_check(why, sizeof(why)))
		discover_fail("%s", why);
	/* Of several NICs, the first one has the address. */
	if (iface)
		snprintf(first, sizeof(first), "%.*s", (int) strcspn(iface, ","), iface);
	discover->iface = *first ? first : NULL;
	discover->conf_path = conf && *conf ? conf : NULL;
	discover->ethertype = GAMMA_ETHERTYPE;
	if (!ethertype)
		return;
	value = strtoul(ethertype, &end, 0);
	if (*end || value < 0x600 || value > 0xffff)
		discover_fail("FI_GAMMA_ETHERTYPE=%s: must be an EtherType, 0x0600 to 0xFFFF; "
			      "correct it or unset it",
			      gamma_printable(ethertype).text);
	if (gamma_ethertype_owner((uint16_t) value))
		discover_fail("FI_GAMMA_ETHERTYPE=%s is the EtherType of %s: choose a free one",
			      gamma_printable(ethertype).text,
			      gamma_ethertype_owner((uint16_t) value));
	discover->ethertype = (uint16_t) value;
}

static void read_wait(struct discover *discover, const char *text)
{
	char *end;

	discover->wait = strtod(text, &end);
	if (!*text || *end || !(discover->wait >= 0.01 && discover->wait <= 3600))
		discover_fail("--wait %s: must be a number of seconds from 0.01 to 3600",
			      gamma_printable(text).text);
}

static void take_option(struct discover *discover, int option)
{
	switch (option) {
	case 'c':
		discover->check = true;
		break;
	case 'f':
		discover->conf_path = optarg;
		break;
	case 'I':
		discover->iface = optarg;
		break;
	case 'j':
		discover->json = true;
		break;
	case 'm':
		discover->merged = discover->check = true;
		break;
	case 'o':
		discover->own_paths = true;
		break;
	case 'g':
		discover->through_gammad = true;
		break;
	case 'w':
		read_wait(discover, optarg);
		break;
	case 'W':
		discover->write_path = GAMMA_CONF_PATH;
		break;
	case 'y':
		discover->yes = true;
		break;
	default:
		break; /* refused before */
	}
}

static void read_command_line(struct discover *discover, int argc, char **argv)
{
	static const struct option options[] = {
		{"check", no_argument, NULL, 'c'},
		{"conf", required_argument, NULL, 'f'},
		{"iface", required_argument, NULL, 'I'},
		{"json", no_argument, NULL, 'j'},
		{"merge", no_argument, NULL, 'm'},
		{"through-gammad", no_argument, NULL, 'g'},
		{"wait", required_argument, NULL, 'w'},
		{"write", no_argument, NULL, 'W'},
		{"yes", no_argument, NULL, 'y'},
		{"own-paths", no_argument, NULL, 'o'},
		{NULL, 0, NULL, 0},
	};
	int option;

	while ((option = getopt_long(argc, argv, ":", options, NULL)) != -1) {
		if (option == '?' || option == ':')
			gamma_options_refuse(argv, option, options);
		take_option(discover, option);
	}
	if (discover->merged && optind == argc)
		discover_fail("--merge needs files, or - for standard input");
	if (optind < argc && !discover->merged)
		gamma_options_misuse("'%s' is one word too many",
				     gamma_printable(argv[optind]).text);
	if (discover->own_paths && !discover->check)
		discover_fail("--own-paths says which paths --check measures: add --check");
	if (discover->yes && !discover->write_path)
		discover_fail("--yes answers the question that --write asks: add --write");
	if (discover->write_path && discover->conf_path)
		discover->write_path = discover->conf_path;
	if (discover->json && discover->write_path)
		discover_fail("--json and --write exclude each other");
}

/* Over UDP nobody has to be found: names and IP addresses do. */
static void note_udp(void)
{
	const char *link = getenv("FI_GAMMA_LINK");

	if (link && (!strcasecmp(link, "udp") || !strcasecmp(link, "udp6")))
		fprintf(stderr,
			"gamma-discover: FI_GAMMA_LINK=%s: this asks the Ethernet segment all the "
			"same; paths over UDP are tested by gammaping %s HOST\n",
			link, link[3] ? "-6" : "-u");
}

/* ---- this host ---- */

/* A file that is to be written need not exist. */
static void load_conf(struct discover *discover)
{
	const char *path = discover->conf_path;
	char why[512];
	int ret;

	if (path && discover->write_path && access(path, F_OK) && errno == ENOENT)
		ret = gamma_conf_parse(path, "", 0, &discover->conf, why, sizeof(why));
	else
		ret = gamma_conf_load(path, &discover->conf, why, sizeof(why));
	if (ret)
		discover_fail("%s", why);
}

static void choose_nic(struct discover *discover)
{
	const struct gamma_nic *nics;
	size_t count;
	uint8_t mac[GAMMA_MAC_LEN];
	char why[512];
	int ret = gamma_nic_list(&discover->nics, &discover->nic_count);

	if (ret)
		discover_fail("listing the network interfaces failed: %s", strerror(-ret));
	nics = discover->nics;
	count = discover->nic_count;
	if (!discover->iface)
		discover->nic = gamma_nic_select_default(nics, count, discover->conf);
	else if (gamma_mac_parse(discover->iface, mac))
		discover->nic = gamma_nic_select_by_mac(nics, count, mac);
	else
		discover->nic = gamma_nic_select_by_name(nics, count, discover->iface);
	if (!discover->nic && discover->iface)
		discover_fail("this host has no interface %s; ip link lists them",
			      gamma_printable(discover->iface).text);
	if (!discover->nic) {
		gamma_nic_select_explain_none(nics, count, why, sizeof(why));
		discover_fail("%s", why);
	}
	if (discover->nic->reason)
		discover_fail("%s %s", discover->nic->name, discover->nic->reason);
}

/* Nobody answers on the wire for the host that asks. */
static void add_this_host(struct discover *discover)
{
	struct discover_host *host = discover_host(discover, discover->nic->mac);
	struct gamma_broker_served served = {.count = 0};
	char why[512];

	host->self = true;
	host->mtu = discover->nic->mtu;
	host->speed = (uint32_t) (discover->nic->speed / 1000000);
	host->release[0] = GAMMA_VERSION_MAJOR;
	host->release[1] = GAMMA_VERSION_MINOR;
	host->release[2] = GAMMA_VERSION_RELEASE;
	snprintf(host->nic, sizeof(host->nic), "%s", discover->nic->name);
	if (gethostname(host->name, sizeof(host->name) - 1))
		host->name[0] = 0;
	if (gamma_broker_nics(GAMMA_BROKER_PATH, &served, why, sizeof(why)))
		return;
	for (uint32_t i = 0; i < served.count && i < GAMMA_BROKER_NICS_MAX; i++)
		host->gammad |= !memcmp(served.macs[i], discover->nic->mac, GAMMA_MAC_LEN);
}

/* ---- hosts ---- */

struct discover_host *discover_host(struct discover *discover, const uint8_t mac[GAMMA_MAC_LEN])
{
	struct discover_host *host;

	for (size_t i = 0; i < discover->count; i++)
		if (!memcmp(discover->hosts[i].mac, mac, GAMMA_MAC_LEN))
			return &discover->hosts[i];
	if (discover->count == discover->size) {
		discover->size = discover->size ? 2 * discover->size : 64;
		discover->hosts = realloc(discover->hosts, discover->size * sizeof(*host));
		if (!discover->hosts)
			discover_fail("out of memory");
	}
	host = &discover->hosts[discover->count++];
	*host = (struct discover_host){.finding_count = 0};
	memcpy(host->mac, mac, GAMMA_MAC_LEN);
	return host;
}

const char *discover_name(const struct discover_host *host)
{
	return host->name[0] ? host->name : host->conf_name[0] ? host->conf_name : "?";
}

static void name_by_conf(struct discover *discover)
{
	const struct gamma_conf_host *listed;

	for (size_t i = 0; i < discover->count; i++) {
		listed = gamma_conf_by_mac(discover->conf, discover->hosts[i].mac);
		if (listed)
			snprintf(discover->hosts[i].conf_name, sizeof(discover->hosts[i].conf_name),
				 "%s", listed->name);
	}
}

/* node2 before node10; hosts without a name last. */
static int by_name(const void *left, const void *right)
{
	const struct discover_host *a = left, *b = right;
	const char *a_name = discover_name(a), *b_name = discover_name(b);
	int order;

	if ((*a_name == '?') != (*b_name == '?'))
		return *a_name == '?' ? 1 : -1;
	order = strverscmp(a_name, b_name);
	return order ? order : memcmp(a->mac, b->mac, GAMMA_MAC_LEN);
}

/* ---- all ---- */

static void on_signal(int number)
{
	(void) number;
	discover_interrupted = 1;
}

static void catch_signals(void)
{
	struct sigaction action = {.sa_handler = on_signal};

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

static int report(const struct discover *discover, unsigned findings)
{
	gamma_live_line_end();
	if (discover->json)
		discover_print_json(discover);
	else
		discover_print_table(discover);
	return findings || discover_interrupted ? EXIT_FOUND : 0;
}

int main(int argc, char **argv)
{
	struct discover discover = {.wait = 1};
	int status, written;

	gamma_about_answer(argc, argv, usage);
	gamma_log_set_sink(log_line);
	read_environment(&discover);
	read_command_line(&discover, argc, argv);
	if (discover.merged) {
		unsigned findings = discover_merge(&discover, argv + optind, argc - optind);

		qsort(discover.hosts, discover.count, sizeof(*discover.hosts), by_name);
		return report(&discover, findings);
	}
	catch_signals();
	note_udp();
	load_conf(&discover);
	choose_nic(&discover);
	discover_ask_open(&discover);
	add_this_host(&discover);
	discover_ask_all(&discover);
	name_by_conf(&discover);
	qsort(discover.hosts, discover.count, sizeof(*discover.hosts), by_name);
	for (size_t i = 0; i < discover.count; i++) {
		gamma_live_line_show("full frames to %.40s", discover_name(&discover.hosts[i]));
		discover_ask_full(&discover, &discover.hosts[i]);
	}
	status = report(&discover, discover.check ? discover_check_hosts(&discover) : 0);
	if (!discover.write_path || discover_interrupted)
		return status;
	written = discover_conf_write(&discover);
	return written ? written : status;
}
