// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* The name of a link's NIC, by which packet.c and udp.c find it again. */
#include "link/nic_name.h"

#include <string.h>
#include <sys/ioctl.h>

static bool read_mac(int fd, struct ifreq *request, uint8_t mac[GAMMA_MAC_LEN])
{
	if (ioctl(fd, SIOCGIFHWADDR, request))
		return false;
	memcpy(mac, request->ifr_hwaddr.sa_data, GAMMA_MAC_LEN);
	return true;
}

void gamma_nic_name_note(int fd, int ifindex, struct gamma_nic_name *name)
{
	struct ifreq request = {.ifr_ifindex = ifindex};

	memset(name, 0, sizeof(*name));
	if (ioctl(fd, SIOCGIFNAME, &request))
		return;
	memcpy(name->text, request.ifr_name, sizeof(name->text));
	if (!read_mac(fd, &request, name->mac))
		name->text[0] = 0;
}

int gamma_nic_name_find(int fd, const struct gamma_nic_name *name)
{
	uint8_t mac[GAMMA_MAC_LEN];
	struct ifreq request = {0};

	memcpy(request.ifr_name, name->text, sizeof(name->text));
	if (!name->text[0] || !read_mac(fd, &request, mac) ||
	    memcmp(mac, name->mac, GAMMA_MAC_LEN) || ioctl(fd, SIOCGIFINDEX, &request))
		return 0;
	return request.ifr_ifindex;
}
