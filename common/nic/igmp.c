// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* A membership in an IP group, without any IP packet but the kernel's reports. Called by the
 * interface layer, for groups whose MAC address switches with IGMP snooping know. */
#include "nic/igmp.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire/ip_group.h"

int gamma_igmp_join(int ifindex, const uint8_t mac[GAMMA_MAC_LEN])
{
	struct ip_mreqn join = {.imr_ifindex = ifindex};
	uint8_t ip[4];
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), ret;

	if (fd < 0)
		return -errno;
	gamma_ip_group_ipv4(mac, ip);
	memcpy(&join.imr_multiaddr, ip, sizeof(ip));
	if (!setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &join, sizeof(join)))
		return fd;
	ret = -errno;
	close(fd);
	return ret;
}
