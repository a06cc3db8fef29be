// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* The sockets of a UDP link: addresses, options, buffers. */
#include "link/udp_socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/udp.h>
#include <unistd.h>

#include "base/base.h"
#include "link/train.h"
#include "link/udp_connected.h"
#include "wire/ip_group.h"

enum {
	RCVBUF = 4 << 20, /* wanted, bytes */
	SLOTS_FEW = 16,   /* frames in the receive buffer: fewer are reported */
};

socklen_t gamma_udp_socket_group(const struct gamma_udp_attr *attr,
				 const uint8_t mac[GAMMA_MAC_LEN], union gamma_udp_address *to)
{
	uint8_t ip[GAMMA_IPV6_LEN];

	if (attr->ipv6)
		gamma_ip_group_ipv6(mac, ip);
	else
		gamma_ip_group_ipv4(mac, ip);
	return gamma_udp_socket_address(attr, ip, to);
}

bool gamma_udp_socket_has_address(const struct gamma_udp_attr *attr)
{
	union gamma_udp_address own;
	socklen_t len = gamma_udp_socket_address(attr, attr->ip, &own);
	int fd = socket(own.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool has = fd < 0 || !bind(fd, &own.any, len) || errno != EADDRNOTAVAIL;

	if (fd >= 0)
		close(fd);
	return has;
}

int gamma_udp_socket_stay_on_nic(const struct gamma_udp_attr *attr, int fd)
{
	uint32_t ifindex = htonl((uint32_t) attr->ifindex);

	return setsockopt(fd, IPPROTO_IP, IP_UNICAST_IF, &ifindex, sizeof(ifindex));
}

/* No fragments: the protocol's own probes find what a path carries. Groups are those of the NIC,
 * and go no further than its network, which is the default. */
static int set_ip_options(const struct gamma_udp_attr *attr, int fd)
{
	int one = 1, probe = IP_PMTUDISC_PROBE, probe6 = IPV6_PMTUDISC_PROBE;
	int loop = !attr->foreign_groups;
	struct ip_mreqn nic = {.imr_ifindex = attr->ifindex};

	if (!attr->ipv6)
		return setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &probe, sizeof(probe)) ||
		       setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &nic, sizeof(nic)) ||
		       setsockopt(fd, IPPROTO_IP, IP_MULTICAST_LOOP, &loop, sizeof(loop)) ||
		       setsockopt(fd, IPPROTO_IP, IP_RECVERR, &one, sizeof(one));
	return setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one)) ||
	       setsockopt(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, &probe6, sizeof(probe6)) ||
	       setsockopt(fd, IPPROTO_IPV6, IPV6_DONTFRAG, &one, sizeof(one)) ||
	       setsockopt(fd, IPPROTO_IPV6, IPV6_MULTICAST_LOOP, &loop, sizeof(loop)) ||
	       setsockopt(fd, IPPROTO_IPV6, IPV6_RECVERR, &one, sizeof(one));
}

/* The default suffices; less than two trains makes streams stop and go. */
static void report_buffer(int bytes, uint32_t slots)
{
	if (slots < SLOTS_FEW)
		gamma_warn("the receive buffer has %d KiB, which is room for %u frames: streams "
			   "are slow until net.core.rmem_max is raised (sysctl -w "
			   "net.core.rmem_max=%d)",
			   bytes >> 10, slots, RCVBUF);
	else if (bytes < RCVBUF)
		gamma_info("the receive buffer has %d KiB instead of %d, so peers get less credit: "
			   "raise net.core.rmem_max",
			   bytes >> 10, RCVBUF >> 10);
}

/* Of this NIC alone, whatever groups other sockets have joined on others. */
static int set_group_options(const struct gamma_udp_attr *attr, int fd,
			     const uint8_t mac[GAMMA_MAC_LEN], bool shared)
{
	int zero = 0, reuses = shared;
	struct ip_mreqn join4 = {.imr_ifindex = attr->ifindex};
	struct ipv6_mreq join6 = {.ipv6mr_interface = (unsigned) attr->ifindex};
	union gamma_udp_address group;

	gamma_udp_socket_group(attr, mac, &group);
	join4.imr_multiaddr = group.v4.sin_addr;
	join6.ipv6mr_multiaddr = group.v6.sin6_addr;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &reuses, sizeof(reuses)))
		return -1;
	if (!attr->ipv6)
		return setsockopt(fd, IPPROTO_IP, IP_MULTICAST_ALL, &zero, sizeof(zero)) ||
		       setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &join4, sizeof(join4));
	return setsockopt(fd, IPPROTO_IPV6, IPV6_JOIN_GROUP, &join6, sizeof(join6));
}

/* Merging (Linux 5.0) is an optimization: without it frames arrive singly. */
static int set_options(const struct gamma_udp_attr *attr, int fd)
{
	int one = 1, bytes = RCVBUF;

	setsockopt(fd, SOL_UDP, UDP_GRO, &one, sizeof(one));
	/* The former needs CAP_NET_ADMIN, the latter is bounded by net.core.rmem_max. */
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)))
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
	return set_ip_options(attr, fd);
}

static int open_socket(const struct gamma_udp_attr *attr)
{
	return socket(attr->ipv6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
		      0);
}

static int start_socket(const struct gamma_udp_attr *attr, int fd, const uint8_t *group,
			bool shared, uint32_t *slots)
{
	union gamma_udp_address address;
	socklen_t address_len = group ? gamma_udp_socket_group(attr, group, &address)
				      : gamma_udp_socket_address(attr, attr->ip, &address);
	int bytes = 0;
	socklen_t len = sizeof(bytes);

	address.v4.sin_port = htons(group ? gamma_ip_group_port(attr->port) : attr->port);
	if (set_options(attr, fd) || (group && set_group_options(attr, fd, group, shared)) ||
	    (attr->beside && gamma_udp_socket_stay_on_nic(attr, fd)) ||
	    getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, &len) ||
	    bind(fd, &address.any, address_len))
		return -errno;
	*slots = gamma_train_slots((uint32_t) bytes, attr->mtu);
	if (!group && !attr->beside)
		report_buffer(bytes, *slots);
	return 0;
}

int gamma_udp_socket_open(const struct gamma_udp_attr *attr, const uint8_t *group, bool shared,
			  uint32_t *slots)
{
	int fd = open_socket(attr), ret;

	if (fd < 0)
		return -errno;
	ret = start_socket(attr, fd, group, shared, slots);
	if (!ret)
		return fd;
	close(fd);
	return ret;
}

int gamma_udp_socket_open_connected(const struct gamma_udp_attr *attr, int first)
{
	union gamma_udp_address own;
	socklen_t len = gamma_udp_socket_address(attr, attr->ip, &own);
	int fd = open_socket(attr);

	own.v4.sin_port = htons(attr->port);
	if (fd < 0)
		return -1;
	if (!set_options(attr, fd) && !(attr->beside && gamma_udp_socket_stay_on_nic(attr, fd)) &&
	    !gamma_udp_connected_bind(fd, first, &own.any, len))
		return fd;
	close(fd);
	return -1;
}
