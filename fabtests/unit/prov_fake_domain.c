// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The fakes of prov_fake_domain.h, linked in place of common/nic/nic.c, common/unix/host.c and
 * common/nic/resolve.c.
 */
#include "prov_fake_domain.h"

#include <arpa/inet.h>
#include <stdlib.h>

#include "base/mac.h"
#include "nic/resolve.h"

/* ---- NICs and names ---- */

int gamma_nic_list(struct gamma_nic **nics, size_t *count)
{
	*nics = calloc(1, sizeof(**nics));
	if (!*nics)
		return -ENOMEM;
	*count = 1;
	strcpy((*nics)->name, "fake0");
	memcpy((*nics)->mac, "\x02\x47\x41\x4d\x00\x01", GAMMA_MAC_LEN);
	(*nics)->mtu = 1500;
	(*nics)->up = (*nics)->carrier = (*nics)->ethernet = true;
	return 0;
}

void gamma_nic_list_free(struct gamma_nic *nics)
{
	free(nics);
}

uint64_t gamma_host_identity(void)
{
	return 42;
}

/* hostN is at 02:00:00:00:00:N, decimal. */
int gamma_resolve(const char *node, const char *service, bool source, const struct gamma_conf *conf,
		  const struct gamma_nic *nics, size_t nic_count, struct gamma_resolved *out,
		  char *why, size_t why_len)
{
	(void) source, (void) conf, (void) nics, (void) nic_count;
	memset(out, 0, sizeof(*out));
	out->port = service ? (uint16_t) atoi(service) : 0;
	if (strncmp(node, "host", 4)) {
		snprintf(why, why_len, "%s: no such host", node);
		return -ENOENT;
	}
	out->mac[0] = 2;
	out->mac[5] = (uint8_t) atoi(node + 4);
	return 0;
}

/* ---- fabric and domain ---- */

struct fake *fake_open(uint32_t api_version, enum fi_threading threading, enum fi_progress progress)
{
	struct fake *fake = calloc(1, sizeof(*fake));
	struct fi_fabric_attr attr = {.name = "gamma", .api_version = api_version};
	struct fi_info *info = fi_allocinfo();
	struct fi_info hints = {0};
	char error[256];

	assert_non_null(fake);
	assert_non_null(info);
	assert_int_equal(gamma_settings_load(error, sizeof(error)), 0);
	assert_int_equal(gamma_prov.fabric(&attr, &fake->fabric, NULL), 0);
	gamma_attr_fill_info(info, api_version, FI_EP_RDM, 1500, &hints);
	info->domain_attr->name = strdup("fake0");
	info->domain_attr->threading = threading;
	info->domain_attr->data_progress = progress;
	assert_int_equal(fi_domain(fake->fabric, info, &fake->domain, NULL), 0);
	fi_freeinfo(info);
	fake->gamma_domain = gamma_container_of(fake->domain, struct gamma_domain, domain_fid);
	return fake;
}

void fake_close(struct fake *fake)
{
	assert_int_equal(fi_close(&fake->domain->fid), 0);
	assert_int_equal(fi_close(&fake->fabric->fid), 0);
	gamma_settings_free();
	free(fake);
}

int fake_setup(void **state)
{
	*state = fake_open(FI_VERSION(1, 17), FI_THREAD_SAFE, FI_PROGRESS_MANUAL);
	return 0;
}

int fake_teardown(void **state)
{
	fake_close(*state);
	return 0;
}

struct gamma_addr fake_addr(uint8_t last, uint16_t port, uint32_t epoch)
{
	struct gamma_addr addr = {
		.mac = {2, 0, 0, 0, 0, last},
		.port = htons(port),
		.epoch = htonl(epoch),
		.version = GAMMA_ADDR_VERSION,
	};

	return addr;
}

unsigned int elapsed_ms(uint64_t start)
{
	return (gamma_now() - start) / GAMMA_NS_PER_MS;
}
