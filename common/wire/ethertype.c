// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* The protocols whose frames hosts and switches act on. */
#include "wire/ethertype.h"

#include <stddef.h>

static const struct {
	uint16_t ethertype;
	const char *owner;
} owners[] = {
	{0x0800, "IPv4"},
	{0x0806, "ARP"},
	{0x0842, "Wake-on-LAN"},
	{0x22EA, "stream reservation"},
	{0x22F3, "TRILL"},
	{0x6558, "transparent Ethernet bridging"},
	{0x8035, "RARP"},
	{0x809B, "AppleTalk"},
	{0x80F3, "AppleTalk ARP"},
	{0x8100, "VLAN tags"},
	{0x8137, "IPX"},
	{0x86DD, "IPv6"},
	{0x8808, "Ethernet flow control"},
	{0x8809, "link aggregation"},
	{0x8847, "MPLS"},
	{0x8848, "MPLS multicast"},
	{0x8863, "PPPoE discovery"},
	{0x8864, "PPPoE"},
	{0x888E, "802.1X"},
	{0x8892, "PROFINET"},
	{0x88A2, "ATA over Ethernet"},
	{0x88A4, "EtherCAT"},
	{0x88A8, "provider bridging"},
	{0x88CC, "LLDP"},
	{0x88E5, "MACsec"},
	{0x88F5, "MVRP"},
	{0x88F7, "PTP"},
	{0x8902, "connectivity fault management"},
	{0x8906, "Fibre Channel over Ethernet"},
	{0x8914, "FCoE initialization"},
	{0x8915, "RoCE"},
	{0x9000, "the loopback test protocol"},
	{0x9100, "stacked VLAN tags"},
};

const char *gamma_ethertype_owner(uint16_t ethertype)
{
	for (size_t i = 0; i < sizeof(owners) / sizeof(*owners); i++) {
		if (owners[i].ethertype == ethertype)
			return owners[i].owner;
	}
	return NULL;
}
