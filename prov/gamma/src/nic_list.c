// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* NICs, the names of their domains, and the version of their addresses. */
#include "nic_list.h"

#include "nic/udp.h"

#define SUFFIX "-udp"

int gamma_nic_list_read(bool udp, struct gamma_nic **nics, size_t *count)
{
	int ret = gamma_nic_list(nics, count);

	if (!ret && udp)
		ret = gamma_nic_udp_convert(*nics, *count);
	if (ret && *nics) {
		gamma_nic_list_free(*nics);
		*nics = NULL;
	}
	return ret;
}

struct gamma_domain_name gamma_nic_list_domain(const struct gamma_nic *nic)
{
	struct gamma_domain_name name;

	snprintf(name.text, sizeof(name.text), "%s%s", nic->name, nic->udp ? SUFFIX : "");
	return name;
}

struct gamma_domain_name gamma_nic_list_interface(const char *domain, bool *udp)
{
	size_t len = strlen(domain), suffix = strlen(SUFFIX);
	struct gamma_domain_name name;

	*udp = len > suffix && !strcmp(domain + len - suffix, SUFFIX);
	if (*udp)
		len -= suffix;
	snprintf(name.text, sizeof(name.text), "%.*s", (int) gamma_min(len, sizeof(name.text)),
		 domain);
	return name;
}

uint8_t gamma_nic_list_addr_version(const struct gamma_nic *nic)
{
	return nic->udp ? GAMMA_ADDR_VERSION_UDP : GAMMA_ADDR_VERSION;
}
