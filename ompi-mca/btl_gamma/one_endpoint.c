// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Several NICs in one endpoint, which goes on when one of them fails: their order, the domain that
 * the provider has for all of them, and whether those of another host fit. Called by nics.c,
 * provider.c and peers.c.
 *
 * The provider pairs the NICs of two hosts by their places. So their order is that of the user's
 * list, which all hosts have, then the provider's, and not that of distance.
 */
#include "btl_gamma.h"

#include <ifaddrs.h>
#include <net/if_arp.h>
#include <netpacket/packet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <net/if.h>

/* ---- before the provider is asked ---- */

static bool is_ethernet(const struct ifaddrs *it)
{
	const struct sockaddr_ll *link = (const void *) it->ifa_addr;

	return link && link->sll_family == AF_PACKET && link->sll_hatype == ARPHRD_ETHER &&
	       it->ifa_flags & IFF_UP;
}

/* Ethernet interfaces of this host that the user's lists select. */
static size_t count_selected(void)
{
	struct ifaddrs *all, *it;
	size_t count = 0;

	if (getifaddrs(&all))
		return 0;
	for (it = all; it; it = it->ifa_next) {
		struct btl_gamma_nic nic = {.distance = 0};

		if (!is_ethernet(it))
			continue;
		snprintf(nic.name, sizeof(nic.name), "%s", it->ifa_name);
		memcpy(nic.mac,
		       ((const struct sockaddr_ll *) (const void *) it->ifa_addr)->sll_addr,
		       sizeof(nic.mac));
		count += btl_gamma_nics_selects(&nic, false);
	}
	freeifaddrs(all);
	return count;
}

/* The provider reads its variables, of which one depends on this, before it lists its NICs. */
bool btl_gamma_one_endpoint_is_wanted(void)
{
	return mca_btl_gamma_component.one_endpoint && count_selected() > 1;
}

/* ---- the domain of all ---- */

static int compare_place(const void *a, const void *b)
{
	const struct btl_gamma_nic *one = a, *other = b;

	if (one->place != other->place)
		return one->place < other->place ? -1 : 1;
	return one->rank < other->rank ? -1 : 1;
}

/* The interfaces, separated by commas, and the suffix that the domain of each has. False: it is
 * longer than any. */
static bool name_domain(const struct btl_gamma_nic *nics, size_t count,
			char name[BTL_GAMMA_NIC_NAME])
{
	size_t at = 0, i;

	for (i = 0; i < count && at < BTL_GAMMA_NIC_NAME; i++)
		at += (size_t) snprintf(name + at, BTL_GAMMA_NIC_NAME - at, "%s%.*s", i ? "," : "",
					(int) btl_gamma_nics_interface_len(nics[i].name),
					nics[i].name);
	if (at < BTL_GAMMA_NIC_NAME)
		at += (size_t) snprintf(name + at, BTL_GAMMA_NIC_NAME - at, "%s",
					nics[0].name + btl_gamma_nics_interface_len(nics[0].name));
	return at < BTL_GAMMA_NIC_NAME;
}

static bool is_offered(const char *domain)
{
	struct fi_info *hints = btl_gamma_provider_hints(domain), *info = NULL;
	bool found = hints && !fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info);

	if (hints)
		fi_freeinfo(hints);
	if (found)
		fi_freeinfo(info);
	return found;
}

/* Puts one entry for all in the place of the first. Returns the new count: the old one if the
 * provider cannot use them together. */
size_t btl_gamma_one_endpoint_join(struct btl_gamma_nic *nics, size_t count)
{
	char name[BTL_GAMMA_NIC_NAME] = "";

	if (count < 2)
		return count;
	qsort(nics, count, sizeof(*nics), compare_place);
	if (!name_domain(nics, count, name) || !is_offered(name)) {
		btl_gamma_report_slow("the NICs %.60s cannot be used by one endpoint. Each has an "
				      "endpoint of its "
				      "own, and the job ends when one of them fails.",
				      "The provider's message says why. Name other NICs, or set "
				      "btl_gamma_one_endpoint to 0 if this is\nintended.",
				      name);
		return count;
	}
	memcpy(nics[0].name, name, sizeof(name));
	return 1;
}

/* ---- other hosts ---- */

/* Of an interface's name in a domain's, which names several; -1: it is not there. */
static int place_of(const char *interface, size_t len, const char *domain)
{
	const char *end = domain + btl_gamma_nics_interface_len(domain);
	int place;

	for (place = 0; domain < end; place++) {
		size_t other = strcspn(domain, ",");

		if (domain + other > end)
			other = (size_t) (end - domain);
		if (other == len && !strncmp(domain, interface, len))
			return place;
		domain += other + 1;
	}
	return -1;
}

/* Where the other one has the first of these interfaces. */
static int place_of_first(const char *domain, const char *other)
{
	size_t all = btl_gamma_nics_interface_len(domain), first = strcspn(domain, ",");

	return place_of(domain, first < all ? first : all, other);
}

/* First contact takes the first NIC of each endpoint. One that has another place at the other end
 * is on another network. */
bool btl_gamma_one_endpoint_fits(const char *ours, const char *theirs)
{
	return !mca_btl_gamma_component.one_endpoint ||
	       (place_of_first(ours, theirs) <= 0 && place_of_first(theirs, ours) <= 0);
}
