// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * fi_info.nic: what libfabric reports of the NIC behind a domain. Each instance owns its texts;
 * fi_freeinfo closes it and fi_dupinfo asks it for a copy.
 */
#include "gamma.h"
#include "base/mac.h"

#include <stdlib.h>

/* One allocation each for the parts, so that closing needs no bookkeeping. */
struct nic_info {
	struct fid_nic fid_nic;
	struct fi_device_attr device;
	struct fi_bus_attr bus;
	struct fi_link_attr link;
	struct gamma_nic nic; /* the texts point into it */
	char mac[GAMMA_MAC_TEXT_LEN];
	char network[sizeof("Ethernet")];
};

static int nic_close(struct fid *fid)
{
	free(gamma_container_of(fid, struct nic_info, fid_nic.fid));
	return 0;
}

static int nic_control(struct fid *fid, int command, void *arg)
{
	struct nic_info *info = gamma_container_of(fid, struct nic_info, fid_nic.fid);
	struct fid_nic **copy = arg;

	if (command != FI_DUP)
		return -FI_ENOSYS;
	*copy = gamma_nic_info_new(&info->nic);
	return *copy ? 0 : -FI_ENOMEM;
}

/* For fi_tostr and fi_info -v: adds to the text in buf, where len bytes are left after it. */
static int nic_tostr(const struct fid *fid, char *buf, size_t len)
{
	const struct nic_info *info = gamma_container_of(fid, struct nic_info, fid_nic.fid);
	static const char *const states[] = {"FI_LINK_UNKNOWN", "FI_LINK_DOWN", "FI_LINK_UP"};

	snprintf(buf + strlen(buf), len,
		 "nic:\n    fi_device_attr:\n        name: %s\n        driver: %s\n"
		 "    fi_bus_attr:\n        bus_type: %s\n        address: %s\n"
		 "    fi_link_attr:\n        address: %s\n        mtu: %zu\n        speed: %zu\n"
		 "        state: %s\n        network_type: %s\n",
		 info->device.name, info->device.driver ? info->device.driver : "(unknown)",
		 info->bus.bus_type == FI_BUS_PCI ? "FI_BUS_PCI" : "FI_BUS_UNKNOWN",
		 info->nic.pci[0] ? info->nic.pci : "(none)", info->mac, info->link.mtu,
		 info->link.speed, states[info->link.state], info->network);
	return 0;
}

static struct fi_ops nic_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = nic_close,
	.bind = gamma_fabric_unsupported_bind,
	.control = nic_control,
	.ops_open = gamma_fabric_unsupported_ops_open,
	.tostr = nic_tostr,
	.ops_set = gamma_fabric_unsupported_ops_set,
};

static void fill_bus(struct fi_bus_attr *bus, const char *pci)
{
	unsigned int domain, number, device, function;

	if (sscanf(pci, "%x:%x:%x.%x", &domain, &number, &device, &function) != 4)
		return;
	bus->bus_type = FI_BUS_PCI;
	bus->attr.pci.domain_id = domain;
	bus->attr.pci.bus_id = number;
	bus->attr.pci.device_id = device;
	bus->attr.pci.function_id = function;
}

struct fid_nic *gamma_nic_info_new(const struct gamma_nic *nic)
{
	struct nic_info *info = calloc(1, sizeof(*info));

	if (!info)
		return NULL;
	info->nic = *nic;
	info->fid_nic.fid.fclass = FI_CLASS_NIC;
	info->fid_nic.fid.ops = &nic_fid_ops;
	info->fid_nic.device_attr = &info->device;
	info->fid_nic.bus_attr = &info->bus;
	info->fid_nic.link_attr = &info->link;
	info->device.name = info->nic.name;
	info->device.driver = info->nic.driver[0] ? info->nic.driver : NULL;
	fill_bus(&info->bus, nic->pci);
	memcpy(info->network, "Ethernet", sizeof(info->network));
	info->link.address = (char *) gamma_mac_format(nic->mac, info->mac);
	info->link.mtu = nic->mtu;
	info->link.speed = nic->speed;
	info->link.state = nic->up && nic->carrier ? FI_LINK_UP : FI_LINK_DOWN;
	info->link.network_type = info->network;
	return &info->fid_nic;
}
