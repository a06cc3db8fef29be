// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Judges which NICs can be used and which is best: pure functions of an array that nic.c has read
 * or a test has made.
 */
#include "nic/select.h"
#include "base/base.h"
#include "conf/conf.h"
#include "base/mac.h"

#include <stdio.h>
#include <string.h>

enum {
	STACK_MAX = 8, /* devices stacked on each other: the kernel's limit */
};

/* ---- kinds of virtual devices ---- */

enum verdict {
	USABLE,    /* as good as hardware */
	ON_NIC,    /* if the NIC below it is usable */
	ON_DEVICE, /* if hardware is below it: else it connects containers or virtual machines */
	UNUSABLE,
};

#define TUNNEL "is a tunnel: name the NIC under it"
#define TAP    "belongs to a program, such as a virtual machine or a VPN, not to a cable"
#define DUMMY  "is a dummy: nothing is behind it"

static const struct kind {
	const char *name;
	enum verdict verdict;
	const char *reason;
} kinds[] = {
	/* These have a MAC of their own: containers and virtual clusters see them as NICs. */
	{"veth", USABLE, NULL},
	{"macvlan", USABLE, NULL},
	{"dsa", USABLE, NULL},
	{"vlan", ON_NIC, "is a VLAN of an interface that cannot be used"},
	{"bond", ON_NIC, "is a bond without a usable NIC in it"},
	{"team", ON_NIC, "is a team without a usable NIC in it"},
	{"bridge", ON_DEVICE, "is a bridge without a physical NIC in it, as containers use"},
	{"ipvlan", UNUSABLE, "is an ipvlan, which shares its NIC's MAC: use a macvlan"},
	{"vrf", UNUSABLE, "is a VRF: name a NIC in it"},
	{"dummy", UNUSABLE, DUMMY},
	{"ifb", UNUSABLE, DUMMY},
	{"tun", UNUSABLE, TAP},
	{"macvtap", UNUSABLE, TAP},
	{"ipvtap", UNUSABLE, TAP},
	{"vxlan", UNUSABLE, TUNNEL},
	{"geneve", UNUSABLE, TUNNEL},
	{"gre", UNUSABLE, TUNNEL},
	{"gretap", UNUSABLE, TUNNEL},
	{"ip6gre", UNUSABLE, TUNNEL},
	{"ip6gretap", UNUSABLE, TUNNEL},
	{"erspan", UNUSABLE, TUNNEL},
	{"ip6erspan", UNUSABLE, TUNNEL},
	{"ipip", UNUSABLE, TUNNEL},
	{"sit", UNUSABLE, TUNNEL},
	{"ip6tnl", UNUSABLE, TUNNEL},
	{"vti", UNUSABLE, TUNNEL},
	{"vti6", UNUSABLE, TUNNEL},
	{"xfrm", UNUSABLE, TUNNEL},
	{"wireguard", UNUSABLE, TUNNEL},
	{"bareudp", UNUSABLE, TUNNEL},
};

const char gamma_nic_select_no_carrier[] = "has no carrier: check its cable and the switch's port";

static const struct kind hardware = {"", USABLE, NULL};
static const struct kind no_device = {"", UNUSABLE,
				      "has no device behind it, as a hypervisor's private network"};
static const struct kind unknown = {
	"", UNUSABLE, "is a kind of virtual device that GAMMA cannot use: name the NIC under it"};

static const struct kind *kind_of(const struct gamma_nic *nic)
{
	if (!nic->kind[0])
		return nic->has_device ? &hardware : &no_device;
	for (size_t i = 0; i < gamma_array_size(kinds); i++) {
		if (!strcmp(kinds[i].name, nic->kind))
			return &kinds[i];
	}
	return &unknown;
}

/* ---- stacks ---- */

static bool rests_on(const struct gamma_nic *upper, const struct gamma_nic *nic)
{
	if (!strcmp(upper->kind, "vlan"))
		return nic->ifindex == upper->lower;
	return nic->master == upper->ifindex;
}

/* Whether nic, or one that it is stacked on, is a NIC (strict: has a device). */
static bool has_nic(const struct gamma_nic *nics, size_t count, const struct gamma_nic *nic,
		    bool strict, int depth)
{
	enum verdict verdict = kind_of(nic)->verdict;

	if (nic->wireless || depth > STACK_MAX || verdict == UNUSABLE)
		return false;
	if (verdict == USABLE)
		return !strict || nic->has_device;
	/* A VLAN moved to a container: the NIC below it stays with the host. */
	if (!strcmp(nic->kind, "vlan") && nic->lower_elsewhere)
		return true;
	strict = strict || verdict == ON_DEVICE;
	for (size_t i = 0; i < count; i++) {
		if (rests_on(nic, &nics[i]) && has_nic(nics, count, &nics[i], strict, depth + 1))
			return true;
	}
	return false;
}

/* A member's frames reach its master only. A VRF takes only IP. */
static const char *judge_membership(const struct gamma_nic *nics, size_t count,
				    const struct gamma_nic *nic)
{
	const struct gamma_nic *master;

	if (!nic->master)
		return NULL;
	master = gamma_nic_select_by_ifindex(nics, count, nic->master);
	if (master && !strcmp(master->kind, "vrf"))
		return NULL;
	if (master && !strcmp(master->kind, "bridge"))
		return "is a port of a bridge: use the bridge";
	if (master && (!strcmp(master->kind, "bond") || !strcmp(master->kind, "team")))
		return "is part of a bond or team: use the bond or team";
	return "belongs to another interface: use that one";
}

static const char *judge_one(const struct gamma_nic *nics, size_t count,
			     const struct gamma_nic *nic)
{
	const struct kind *kind = kind_of(nic);
	const char *membership;

	if (nic->loopback)
		return "is the loopback interface: name a NIC";
	if (!nic->ethernet)
		return kind->verdict == UNUSABLE && kind != &no_device ? kind->reason
								       : "is not Ethernet";
	if (nic->wireless)
		return "is wireless: use a wired NIC";
	membership = judge_membership(nics, count, nic);
	if (membership)
		return membership;
	if (!has_nic(nics, count, nic, false, 0))
		return kind->reason;
	if (!gamma_mac_is_unicast(nic->mac))
		return "has no valid MAC address: set one with `ip link set ... address`";
	if (nic->mtu < GAMMA_NIC_MTU_MIN)
		return "has an MTU below 576 bytes: raise it with `ip link set ... mtu`";
	if (!nic->up)
		return "is down: set it up with `ip link set ... up`";
	return nic->carrier ? NULL : gamma_nic_select_no_carrier;
}

void gamma_nic_select_judge(struct gamma_nic *nics, size_t count)
{
	for (size_t i = 0; i < count; i++)
		nics[i].reason = judge_one(nics, count, &nics[i]);
}

/* ---- look-ups and preference ---- */

const struct gamma_nic *gamma_nic_select_by_name(const struct gamma_nic *nics, size_t count,
						 const char *name)
{
	for (size_t i = 0; i < count; i++) {
		if (!strcmp(nics[i].name, name))
			return &nics[i];
	}
	return NULL;
}

const struct gamma_nic *gamma_nic_select_by_ifindex(const struct gamma_nic *nics, size_t count,
						    int ifindex)
{
	for (size_t i = 0; i < count; i++) {
		if (nics[i].ifindex == ifindex)
			return &nics[i];
	}
	return NULL;
}

int gamma_nic_select_compare(const struct gamma_nic *a, const struct gamma_nic *b)
{
	if (!a->reason != !b->reason)
		return a->reason ? 1 : -1;
	if (a->speed != b->speed)
		return a->speed > b->speed ? -1 : 1;
	if (a->mtu != b->mtu)
		return a->mtu > b->mtu ? -1 : 1;
	return strcmp(a->name, b->name);
}

const struct gamma_nic *gamma_nic_select_by_mac(const struct gamma_nic *nics, size_t count,
						const uint8_t mac[GAMMA_MAC_LEN])
{
	const struct gamma_nic *best = NULL;

	for (size_t i = 0; i < count; i++) {
		if (memcmp(nics[i].mac, mac, GAMMA_MAC_LEN))
			continue;
		if (!best || gamma_nic_select_compare(&nics[i], best) < 0)
			best = &nics[i];
	}
	return best;
}

const struct gamma_nic *gamma_nic_select_default(const struct gamma_nic *nics, size_t count,
						 const struct gamma_conf *conf)
{
	const struct gamma_nic *best = NULL, *listed = NULL;

	for (size_t i = 0; i < count; i++) {
		const struct gamma_nic *nic = &nics[i];

		if (!best || gamma_nic_select_compare(nic, best) < 0)
			best = nic;
		if (gamma_conf_by_mac(conf, nic->mac) &&
		    (!listed || gamma_nic_select_compare(nic, listed) < 0))
			listed = nic;
	}
	if (listed && !listed->reason)
		return listed;
	if (listed)
		gamma_warn("%s, this host's NIC by the configuration file, %s; peers expect it",
			   listed->name, listed->reason);
	return best && !best->reason ? best : NULL;
}

void gamma_nic_select_explain_none(const struct gamma_nic *nics, size_t count, char *why,
				   size_t why_len)
{
	size_t used = snprintf(why, why_len, "this host has no usable NIC");
	const char *joint = ": ";

	for (size_t i = 0; i < count && used < why_len; i++) {
		/* Tunnels and the like are not worth listing. */
		if (!nics[i].ethernet || !nics[i].reason || kind_of(&nics[i])->verdict == UNUSABLE)
			continue;
		used += snprintf(why + used, why_len - used, "%s%s %s", joint, nics[i].name,
				 nics[i].reason);
		joint = "; ";
	}
}
