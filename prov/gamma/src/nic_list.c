// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* NICs, the names of their domains, and the version of their addresses. */
#include "nic_list.h"

#include "nic/udp.h"

static const char *const suffixes[] = {
	[GAMMA_NICS_ETHERNET] = "",
	[GAMMA_NICS_UDP] = "-udp",
	[GAMMA_NICS_UDP6] = "-udp6",
	[GAMMA_NICS_RAW_UDP] = "+udp",
};

int gamma_nic_list_read(enum gamma_nic_list_kind kind, struct gamma_nic **nics, size_t *count)
{
	int ret = gamma_nic_list(nics, count);

	if (!ret && kind == GAMMA_NICS_RAW_UDP)
		ret = gamma_nic_udp_add(*nics, *count);
	else if (!ret && kind != GAMMA_NICS_ETHERNET)
		ret = gamma_nic_udp_convert(*nics, *count,
					    kind == GAMMA_NICS_UDP6 ? GAMMA_NIC_UDP_IPV6
								    : GAMMA_NIC_UDP_ANY);
	if (ret && *nics) {
		gamma_nic_list_free(*nics);
		*nics = NULL;
	}
	return ret;
}

enum gamma_nic_list_kind gamma_nic_list_kind_of(const struct gamma_nic *nic)
{
	if (nic->udp)
		return nic->ipv6 ? GAMMA_NICS_UDP6 : GAMMA_NICS_UDP;
	return nic->has_udp ? GAMMA_NICS_RAW_UDP : GAMMA_NICS_ETHERNET;
}

struct gamma_domain_name gamma_nic_list_domain(const struct gamma_nic *nic)
{
	struct gamma_domain_name name;

	snprintf(name.text, sizeof(name.text), "%s%s", nic->name,
		 suffixes[gamma_nic_list_kind_of(nic)]);
	return name;
}

static bool ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), end_len = strlen(end);

	return len > end_len && !strcmp(text + len - end_len, end);
}

struct gamma_domain_name gamma_nic_list_interface(const char *domain,
						  enum gamma_nic_list_kind *kind)
{
	struct gamma_domain_name name;
	size_t len;

	*kind = GAMMA_NICS_RAW_UDP;
	while (*kind != GAMMA_NICS_ETHERNET && !ends_with(domain, suffixes[*kind]))
		(*kind)--;
	len = strlen(domain) - strlen(suffixes[*kind]);
	snprintf(name.text, sizeof(name.text), "%.*s", (int) gamma_min(len, sizeof(name.text)),
		 domain);
	return name;
}

uint8_t gamma_nic_list_addr_version(const struct gamma_nic *nic)
{
	static const uint8_t versions[] = {
		[GAMMA_NICS_ETHERNET] = GAMMA_ADDR_VERSION,
		[GAMMA_NICS_UDP] = GAMMA_ADDR_VERSION_UDP,
		[GAMMA_NICS_UDP6] = GAMMA_ADDR_VERSION_UDP6,
		[GAMMA_NICS_RAW_UDP] = GAMMA_ADDR_VERSION,
	};

	return versions[gamma_nic_list_kind_of(nic)];
}

const char *gamma_nic_list_link_name(uint8_t addr_version)
{
	switch (addr_version) {
	case GAMMA_ADDR_VERSION:
		return "Ethernet";
	case GAMMA_ADDR_VERSION_UDP:
		return "UDP over IPv4";
	case GAMMA_ADDR_VERSION_UDP6:
		return "UDP over IPv6";
	default:
		return NULL;
	}
}
