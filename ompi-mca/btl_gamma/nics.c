// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Selects the NICs: those that the provider lists and the user's lists allow, the ones near this
 * process's processors first. Called once, by the component.
 */
#include "btl_gamma.h"
#include "base/topology.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <net/if.h>

/* Of domains over UDP, over IPv6, and over UDP and raw Ethernet together. */
static const char *const suffixes[] = {"-udp", "-udp6", "+udp"};

enum { VERBOSE = 20 }; /* btl_base_verbose from which distances are shown */

/* ---- the user's lists ---- */

static bool is_mac(const char *word, const unsigned char *mac)
{
	unsigned char wanted[GAMMA_MAC_LEN];
	int len = 0;

	return sscanf(word, "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx%n", &wanted[0], &wanted[1], &wanted[2],
		      &wanted[3], &wanted[4], &wanted[5], &len) == GAMMA_MAC_LEN &&
	       !word[len] && !memcmp(wanted, mac, GAMMA_MAC_LEN);
}

struct network {
	int family;
	unsigned char address[sizeof(struct in6_addr)];
	unsigned int bits; /* of the address that its hosts share */
};

/* WORD as 10.1.0.0/16 or fd00:1::/64. */
static bool parse_network(const char *word, struct network *network)
{
	char address[INET6_ADDRSTRLEN];
	bool ipv6 = strchr(word, ':');
	int len = 0;

	if (sscanf(word, "%45[0-9a-fA-F:.]/%3u%n", address, &network->bits, &len) != 2 ||
	    word[len] || network->bits > (ipv6 ? 128 : 32))
		return false;
	network->family = ipv6 ? AF_INET6 : AF_INET;
	return inet_pton(network->family, address, network->address) == 1;
}

static bool is_within(const struct sockaddr *address, const struct network *network)
{
	const unsigned char *bytes;
	unsigned int whole = network->bits / 8, rest = network->bits % 8;

	if (!address || address->sa_family != network->family)
		return false;
	if (address->sa_family == AF_INET)
		bytes = (const void *) &((const struct sockaddr_in *) (const void *) address)
				->sin_addr;
	else
		bytes = (const void *) &((const struct sockaddr_in6 *) (const void *) address)
				->sin6_addr;
	return !memcmp(bytes, network->address, whole) &&
	       (!rest || !((bytes[whole] ^ network->address[whole]) >> (8 - rest)));
}

/* Whether the NIC has an address in the network WORD. */
static bool is_network(const char *word, const char *nic)
{
	struct ifaddrs *all, *one;
	struct network network;
	bool found = false;

	if (!parse_network(word, &network) || getifaddrs(&all))
		return false;
	for (one = all; one && !found; one = one->ifa_next)
		found = !strcmp(one->ifa_name, nic) && is_within(one->ifa_addr, &network);
	freeifaddrs(all);
	return found;
}

size_t btl_gamma_nics_interface_len(const char *domain)
{
	size_t len = strlen(domain), i;

	for (i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		size_t suffix = strlen(suffixes[i]);

		if (len > suffix && !strcmp(domain + len - suffix, suffixes[i]))
			return len - suffix;
	}
	return len;
}

/* *place: of the entry that names it. */
static bool listed(const char *list, const struct btl_gamma_nic *nic, size_t *place)
{
	char *copy = strdup(list), *rest = NULL, *word;
	char interface[sizeof(nic->name)];
	bool found = false;

	snprintf(interface, sizeof(interface), "%.*s",
		 (int) btl_gamma_nics_interface_len(nic->name), nic->name);
	*place = 0;
	for (word = copy ? strtok_r(copy, ", ", &rest) : NULL; word && !found;
	     word = strtok_r(NULL, ", ", &rest), *place += !found)
		found = !strcmp(word, nic->name) || !strcmp(word, interface) ||
			is_mac(word, nic->mac) || is_network(word, interface);
	free(copy);
	return found;
}

static bool given(const char *list)
{
	return list && *list;
}

/* Without lists only the provider's first choice: other NICs may be on other networks. */
bool btl_gamma_nics_selects(struct btl_gamma_nic *nic, bool first)
{
	const struct btl_gamma_component *component = &mca_btl_gamma_component;
	size_t unused;

	nic->place = 0;
	if (given(component->if_include))
		return listed(component->if_include, nic, &nic->place);
	if (given(component->if_exclude))
		return !listed(component->if_exclude, nic, &unused);
	return first;
}

/* ---- distance ---- */

/* hwloc does not know where virtual NICs are: their distance is 0. */
static void measure(struct btl_gamma_nic *nics, size_t count)
{
	const char *why;
	struct gamma_topology *topology = gamma_topology_load(&why);
	size_t i;

	if (!topology) {
		opal_output_verbose(VERBOSE, opal_btl_base_framework.framework_output,
				    "btl_gamma: NICs are taken in the order of their names: %s",
				    why);
		return;
	}
	for (i = 0; i < count; i++) {
		const int levels = gamma_topology_distance(topology, nics[i].name);

		nics[i].distance = levels > 0 ? (unsigned int) levels : 0;
		opal_output_verbose(VERBOSE, opal_btl_base_framework.framework_output,
				    "btl_gamma: distance of %s: %d", nics[i].name, levels);
	}
	gamma_topology_free(topology);
}

/* ---- together ---- */

static bool known(const struct btl_gamma_nic *nics, size_t count, const char *name)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (!strcmp(nics[i].name, name))
			return true;
	return false;
}

static size_t count_infos(const struct fi_info *info)
{
	size_t count = 0;

	for (; info; info = info->next)
		count++;
	return count;
}

static bool read_nic(const struct fi_info *info, struct btl_gamma_nic *nic)
{
	*nic = (struct btl_gamma_nic){0};
	if (!info->domain_attr->name || strlen(info->domain_attr->name) >= sizeof(nic->name))
		return false;
	strcpy(nic->name, info->domain_attr->name);
	if (info->src_addr && info->src_addrlen >= GAMMA_MAC_LEN)
		memcpy(nic->mac, info->src_addr, GAMMA_MAC_LEN);
	return true;
}

static int compare_distance(const void *a, const void *b)
{
	const struct btl_gamma_nic *one = a, *other = b;

	if (one->distance != other->distance)
		return one->distance < other->distance ? -1 : 1;
	return strcmp(one->name, other->name);
}

static void report_none_wanted(const struct fi_info *list)
{
	const struct btl_gamma_component *component = &mca_btl_gamma_component;
	char names[256] = "";
	size_t len = 0;

	for (; list && len < sizeof(names); list = list->next)
		len += (size_t) snprintf(names + len, sizeof(names) - len, " %s",
					 list->domain_attr->name);
	btl_gamma_report_unused(
		"no NIC is left by btl_gamma_if_include \"%s\" and btl_gamma_if_exclude "
		"\"%s\". The provider has:%s.",
		"Name NICs by interface, MAC address or network (10.1.0.0/16, fd00:1::/64).",
		given(component->if_include) ? component->if_include : "",
		given(component->if_exclude) ? component->if_exclude : "", names);
}

static size_t choose(const struct fi_info *list, struct btl_gamma_nic *nics)
{
	const struct fi_info *info;
	size_t count = 0;

	for (info = list; info; info = info->next) {
		if (!read_nic(info, &nics[count]) || known(nics, count, nics[count].name) ||
		    !btl_gamma_nics_selects(&nics[count], info == list))
			continue;
		nics[count].rank = count;
		count++;
	}
	if (!count)
		report_none_wanted(list);
	if (btl_gamma_one_endpoint_is_wanted())
		count = btl_gamma_one_endpoint_join(nics, count);
	if (count > 1)
		measure(nics, count);
	qsort(nics, count, sizeof(*nics), compare_distance);
	return count;
}

static bool lists_clash(void)
{
	const struct btl_gamma_component *component = &mca_btl_gamma_component;

	if (!given(component->if_include) || !given(component->if_exclude))
		return false;
	btl_gamma_report_unused(
		"btl_gamma_if_include is \"%s\", and btl_gamma_if_exclude is \"%s\".",
		"Set one of the two; openmpi-mca-params.conf may have the other.",
		component->if_include, component->if_exclude);
	return true;
}

/* Interface names have no slash: a word with a slash that is no network matches no NIC
 * anywhere. */
static bool has_no_network(const char *param, const char *list)
{
	struct network network;
	char word[64];

	for (; list && *list; list += strcspn(list, ", ")) {
		list += strspn(list, ", ");
		snprintf(word, sizeof(word), "%.*s", (int) strcspn(list, ", "), list);
		if (!strchr(word, '/') || parse_network(word, &network))
			continue;
		btl_gamma_report_unused("%s has \"%s\", which is no network.",
					"Write one as 10.1.0.0/16 or fd00:1::/64, or name NICs by "
					"interface or MAC address.",
					param, word);
		return true;
	}
	return false;
}

static bool lists_fit(void)
{
	const struct btl_gamma_component *component = &mca_btl_gamma_component;

	return !lists_clash() && !has_no_network("btl_gamma_if_include", component->if_include) &&
	       !has_no_network("btl_gamma_if_exclude", component->if_exclude);
}

size_t btl_gamma_nics_find(struct btl_gamma_nic **nics, size_t max_message)
{
	struct fi_info *list = lists_fit() ? btl_gamma_provider_query(max_message) : NULL;
	size_t count = 0;

	if (!list)
		return 0;
	*nics = calloc(count_infos(list), sizeof(**nics));
	if (*nics)
		count = choose(list, *nics);
	fi_freeinfo(list);
	return count;
}
