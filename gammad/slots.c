// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Slots: each is a macvlan of its NIC in gammad's network namespace, in private mode, without
 * ARP, with the egress check. One more takes each NIC's multicast frames. After a restart they
 * are found by name.
 */
#include "gammad/gammad.h"

#include <errno.h>
#include <linux/if.h>
#include <linux/if_link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gammad/interfaces.h"
#include "nic/select.h"

/* The interface for groups follows the last slot. */
static void slot_name(const struct gammad_nic *nic, unsigned number, char name[IFNAMSIZ])
{
	if (number == nic->slot_count)
		snprintf(name, IFNAMSIZ, "g%u", (unsigned) nic->ifindex);
	else
		snprintf(name, IFNAMSIZ, "s%u-%u", (unsigned) nic->ifindex % 10000000u,
			 number % 10000u);
}

static struct gammad_slot *slot_of(struct gammad_nic *nic, unsigned number)
{
	return number == nic->slot_count ? &nic->groups : &nic->slots[number];
}

/* Call in the host's namespace, where the NIC is; the slot appears in gammad's. */
static int make_slot(const struct gammad *gammad, const struct gammad_nic *nic, const char *name)
{
	struct gamma_rtnetlink_request request;
	struct nlmsghdr *head;
	struct nlattr *info, *data;

	head = gammad_interfaces_begin(&request);
	mnl_attr_put_strz(head, IFLA_IFNAME, name);
	mnl_attr_put_u32(head, IFLA_LINK, (uint32_t) nic->ifindex);
	mnl_attr_put_u32(head, IFLA_NET_NS_FD, (uint32_t) gammad->own_ns);
	info = mnl_attr_nest_start(head, IFLA_LINKINFO);
	mnl_attr_put_str(head, IFLA_INFO_KIND, "macvlan");
	data = mnl_attr_nest_start(head, IFLA_INFO_DATA);
	mnl_attr_put_u32(head, IFLA_MACVLAN_MODE, MACVLAN_MODE_PRIVATE);
	mnl_attr_nest_end(head, data);
	mnl_attr_nest_end(head, info);
	return gammad_interfaces_make(&request);
}

/* The program is attached before the interface is up: no frame leaves unchecked. */
static int prepare(const struct gammad_nic *nic, struct gammad_slot *slot,
		   const struct gamma_nic *found, const struct gammad_programs *programs)
{
	int ret = slot == &nic->groups
			  ? gammad_attach_groups(programs, found->ifindex)
			  : gammad_attach_slot(programs, nic->translates, found->ifindex);

	if (!ret)
		ret = gammad_interfaces_set_up(found->ifindex, nic->mtu);
	slot->ifindex = found->ifindex;
	memcpy(slot->mac, found->mac, GAMMA_MAC_LEN);
	return ret;
}

/* Without log lines about interfaces that endpoints cannot use: they are no error here. */
static int list(struct gamma_nic **links, size_t *count)
{
	int ret;

	gammad_log_set_quiet(true);
	ret = gamma_nic_list(links, count);
	gammad_log_set_quiet(false);
	return ret;
}

/* In gammad's namespace: the slots, which were made before. */
int gammad_slots_prepare(struct gammad_nic *nic, const struct gammad_programs *programs)
{
	struct gamma_nic *links;
	size_t count;
	int ret = list(&links, &count);

	for (unsigned n = 0; !ret && n <= nic->slot_count; n++) {
		const struct gamma_nic *found;
		char name[IFNAMSIZ];

		slot_name(nic, n, name);
		found = gamma_nic_select_by_name(links, count, name);
		ret = found ? prepare(nic, slot_of(nic, n), found, programs) : -ENODEV;
		if (ret)
			gamma_warn("slot %s of %s cannot be set up: %s; start gammad as root", name,
				   nic->name, strerror(-ret));
	}
	gamma_nic_list_free(links);
	return ret;
}

void gammad_slots_set_mtu(const struct gammad_nic *nic)
{
	for (unsigned n = 0; n <= nic->slot_count; n++) {
		const struct gammad_slot *slot =
			n == nic->slot_count ? &nic->groups : &nic->slots[n];
		int ret = gammad_interfaces_set_up(slot->ifindex, nic->mtu);

		if (ret) {
			gamma_warn("%s: slots cannot have its MTU of %u bytes: %s; restart gammad",
				   nic->name, nic->mtu, strerror(-ret));
			return;
		}
	}
}

static int make_slots(const struct gammad *gammad, struct gammad_nic *nic)
{
	int ret = 0;

	nic->slots = calloc(nic->slot_count, sizeof(*nic->slots));
	if (!nic->slots)
		return -ENOMEM;
	for (unsigned n = 0; !ret && n <= nic->slot_count; n++) {
		char name[IFNAMSIZ];

		slot_name(nic, n, name);
		ret = make_slot(gammad, nic, name);
		if (ret == -EEXIST)
			ret = 0;
	}
	if (ret)
		gamma_warn("%s: no macvlan can be made: %s; start gammad as root, on a kernel with "
			   "CONFIG_MACVLAN",
			   nic->name, strerror(-ret));
	return ret;
}

bool gammad_slots_may_take(const struct gamma_nic *link)
{
	return !link->reason || !link->up || !link->carrier;
}

int gammad_slots_take_nic(const struct gammad *gammad, const struct gammad_programs *programs,
			  const struct gamma_nic *link, unsigned slot_count, bool own_address,
			  struct gammad_nic *nic)
{
	int ret;

	*nic = (struct gammad_nic){
		.ifindex = link->ifindex,
		.mtu = link->mtu,
		.up = link->up,
		.carrier = link->carrier,
		.own_address = own_address,
		.translates = own_address || gammad_kernel_is_translating(gammad, link->ifindex),
		.fd = -1,
		.slot_count = slot_count,
	};
	strcpy(nic->name, link->name);
	memcpy(nic->mac, link->mac, GAMMA_MAC_LEN);
	ret = gammad_attach_nic(programs, nic->translates, nic->ifindex);
	if (ret)
		gamma_warn("%s: no filter can be attached: %s; start gammad as root, on a "
			   "kernel "
			   "with CONFIG_NET_CLS_BPF",
			   nic->name, strerror(-ret));
	if (!ret)
		ret = make_slots(gammad, nic);
	return ret ? ret : gammad_lookup_open_reply_socket(nic);
}

static int take_configured(struct gammad *gammad, const struct gammad_programs *programs,
			   const struct gamma_nic *links, size_t count, unsigned i)
{
	const char *name = gammad->conf.nics[i].name;
	const struct gamma_nic *link = gamma_nic_select_by_name(links, count, name);

	if (!link) {
		gamma_warn("%s: %s is no interface of this host; waiting for it, see `ip link`",
			   gammad->conf_path, name);
		return 0;
	}
	if (!gammad_slots_may_take(link)) {
		gamma_warn("%s: %s %s", gammad->conf_path, name, link->reason);
		return -ENODEV;
	}
	return gammad_slots_take_nic(gammad, programs, link, gammad->conf.nics[i].slots,
				     gammad->conf.nics[i].own_address,
				     &gammad->nics[gammad->nic_count++]);
}

/* A NIC with fewer filters than addresses receives everything. The kernel shows it as
 * promiscuity for drivers that leave this to it. Call in the host's namespace. */
static void look_for_promiscuity(const struct gammad *gammad)
{
	struct gamma_nic *links;
	size_t count;

	if (list(&links, &count))
		return;
	for (unsigned i = 0; i < gammad->nic_count; i++) {
		const struct gamma_nic *link =
			gamma_nic_select_by_name(links, count, gammad->nics[i].name);

		if (link && link->promiscuity)
			gamma_warn("%s is in promiscuous mode: unless a program captures frames, "
				   "the NIC has "
				   "too few address filters for %u slots; configure fewer slots, "
				   "so that "
				   "the host does not receive other hosts' frames",
				   link->name, gammad->nics[i].slot_count);
	}
	gamma_nic_list_free(links);
}

/* Call in the host's namespace; returns in gammad's. */
int gammad_slots_make(struct gammad *gammad, const struct gammad_programs *programs)
{
	struct gamma_nic *links;
	size_t count;
	int ret = list(&links, &count);

	for (unsigned i = 0; !ret && i < gammad->conf.nic_count; i++)
		ret = take_configured(gammad, programs, links, count, i);
	gamma_nic_list_free(links);
	if (!ret)
		ret = gammad_lookup_open_nics(gammad);
	if (!ret)
		ret = gammad_setup_enter_ns(gammad->own_ns);
	for (unsigned i = 0; !ret && i < gammad->nic_count; i++)
		ret = gammad_slots_prepare(&gammad->nics[i], programs);
	if (!ret)
		ret = gammad_lookup_open_slots(gammad);
	if (!ret)
		ret = gammad_setup_enter_ns(gammad->host_ns);
	if (ret)
		return ret;
	look_for_promiscuity(gammad);
	return gammad_setup_enter_ns(gammad->own_ns);
}

struct gammad_nic *gammad_slots_find(struct gammad *gammad, const uint8_t mac[GAMMA_MAC_LEN],
				     struct gammad_slot **slot)
{
	for (unsigned i = 0; i < gammad->nic_count; i++) {
		struct gammad_nic *nic = &gammad->nics[i];

		for (unsigned n = 0; n < nic->slot_count; n++) {
			*slot = &nic->slots[n];
			if (!memcmp((*slot)->mac, mac, GAMMA_MAC_LEN))
				return nic;
		}
	}
	return NULL;
}

static void remove_link(int ifindex)
{
	int ret = gammad_interfaces_remove(ifindex);

	if (ret)
		gamma_warn("interface %d cannot be removed: %s; start gammad -r as root", ifindex,
			   strerror(-ret));
}

static void each_link(const char *kind, void (*call)(int ifindex))
{
	struct gamma_nic *links;
	size_t count;

	if (list(&links, &count))
		return;
	for (size_t i = 0; i < count; i++) {
		if (!kind || !strcmp(links[i].kind, kind))
			call(links[i].ifindex);
	}
	gamma_nic_list_free(links);
}

/* Slots first: open endpoints cannot send any more when the guards are removed. Of a pair the
 * second end goes with the first. */
int gammad_slots_remove(int host_ns, int own_ns)
{
	int ret = own_ns < 0 ? 0 : gammad_setup_enter_ns(own_ns);

	if (!ret && own_ns >= 0) {
		each_link("macvlan", remove_link);
		each_link("veth", remove_link);
		ret = gammad_setup_enter_ns(host_ns);
	}
	if (!ret) {
		each_link(NULL, gammad_attach_leave_nic);
		gammad_attach_unpin();
	}
	return ret;
}

struct gammad_nic *gammad_slots_find_nic(struct gammad *gammad, const uint8_t mac[GAMMA_MAC_LEN])
{
	for (unsigned i = 0; i < gammad->nic_count; i++) {
		if (gammad->nics[i].ifindex && !memcmp(gammad->nics[i].mac, mac, GAMMA_MAC_LEN))
			return &gammad->nics[i];
	}
	return NULL;
}
