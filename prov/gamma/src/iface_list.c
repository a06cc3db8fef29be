// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Finds the NICs of a list, and refuses those that cannot be the rails of one endpoint. */
#include "iface_list.h"

#include "base/mac.h"
#include "base/base.h"
#include "nic/select.h"

static const struct gamma_nic *find_one(const struct gamma_nic *nics, size_t nic_count,
					const char *name)
{
	uint8_t mac[GAMMA_MAC_LEN];

	return gamma_mac_parse(name, mac) ? gamma_nic_select_by_mac(nics, nic_count, mac)
					  : gamma_nic_select_by_name(nics, nic_count, name);
}

bool gamma_iface_list_has(const struct gamma_iface_list *list, const struct gamma_nic *nic)
{
	for (unsigned i = 0; i < list->count; i++)
		if (list->nics[i] == nic)
			return true;
	return false;
}

/* Peers distinguish the rails by their addresses. False, and why. */
static bool fits_the_others(const struct gamma_iface_list *list, const struct gamma_nic *nic,
			    char *why, size_t why_len)
{
	char mac[GAMMA_MAC_TEXT_LEN];

	if (gamma_iface_list_has(list, nic)) {
		snprintf(why, why_len, "%s is named twice: name each NIC once", nic->name);
		return false;
	}
	for (unsigned i = 0; i < list->count; i++) {
		if (memcmp(list->nics[i]->mac, nic->mac, GAMMA_MAC_LEN))
			continue;
		snprintf(
			why, why_len,
			"%s and %s have the same address, %s, as a NIC and its VLANs or parts of a "
			"bond have: name one of them, or the bond",
			list->nics[i]->name, nic->name, gamma_mac_format(nic->mac, mac));
		return false;
	}
	if (nic->has_udp && 2 * (list->count + 1) > GAMMA_RAILS_MAX) {
		snprintf(why, why_len,
			 "raw Ethernet and UDP together take at most %d NICs: name fewer, or set "
			 "FI_GAMMA_LINK=packet",
			 GAMMA_RAILS_MAX / 2);
		return false;
	}
	if (list->count && (nic->ipv6 || list->nics[0]->ipv6)) {
		snprintf(why, why_len,
			 "over UDP, several NICs of an endpoint need IPv4 addresses, and %s has an "
			 "IPv6 address: name one NIC",
			 nic->ipv6 ? nic->name : list->nics[0]->name);
		return false;
	}
	return true;
}

/* First contact takes the first NIC. Another one may wait for its cable. */
static bool is_usable(const struct gamma_iface_list *list, const struct gamma_nic *nic)
{
	return !nic->reason || (list->count && nic->reason == gamma_nic_select_no_carrier);
}

/* False, and why. */
static bool add_one(const struct gamma_nic *nics, size_t nic_count, const char *name,
		    struct gamma_iface_list *list, char *why, size_t why_len)
{
	const struct gamma_nic *nic = find_one(nics, nic_count, name);

	if (!*name) {
		snprintf(why, why_len, "a name is missing beside a comma: separate NICs by one");
		return false;
	}
	if (!nic) {
		snprintf(why, why_len, "this host has no interface %s; ip link lists them",
			 gamma_printable(name).text);
		return false;
	}
	if (!is_usable(list, nic)) {
		snprintf(why, why_len, "%s %s", nic->name, nic->reason);
		return false;
	}
	if (list->count == GAMMA_RAILS_MAX) {
		snprintf(why, why_len, "an endpoint has at most %d NICs: name fewer",
			 GAMMA_RAILS_MAX);
		return false;
	}
	if (!fits_the_others(list, nic, why, why_len))
		return false;
	list->nics[list->count++] = nic;
	return true;
}

int gamma_iface_list_find(const struct gamma_nic *nics, size_t nic_count, const char *text,
			  struct gamma_iface_list *list, char *why, size_t why_len)
{
	char name[64];

	list->count = 0;
	for (const char *at = text;; at++) {
		size_t len = strcspn(at, ",");

		snprintf(name, sizeof(name), "%.*s", (int) gamma_min(len, sizeof(name)), at);
		if (!add_one(nics, nic_count, name, list, why, why_len))
			return -FI_ENODATA;
		at += len;
		if (!*at)
			return 0;
	}
}

struct gamma_domain_name gamma_iface_list_domain(const struct gamma_iface_list *list)
{
	struct gamma_domain_name name = {.text = ""};
	size_t at = 0;

	for (unsigned i = 0; i + 1 < list->count; i++)
		at += (size_t) snprintf(name.text + at, sizeof(name.text) - at, "%s,",
					list->nics[i]->name);
	snprintf(name.text + at, sizeof(name.text) - at, "%s",
		 gamma_nic_list_domain(list->nics[list->count - 1]).text);
	return name;
}
