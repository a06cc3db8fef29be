// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * A program owns a port by binding its abstract name, which any user may do, tens of thousands of
 * times. Only those names count whose user can use the NIC: root, or who has a packet socket on it,
 * which the kernel gives to nobody without CAP_NET_RAW. (AF_XDP sockets are not in that list. A
 * user who has one without being root owns no port here.)
 */
#include "gammad/ports.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/base.h"
#include "link/port.h"

enum { READINGS = 2 }; /* a socket that is closed meanwhile may hide another one */

int gammad_ports_open(struct gammad_ports *ports)
{
	int ret = gamma_name_owner_open(&ports->names);

	ports->asks = !ret;
	if (ret == -ENOENT)
		gamma_info("the kernel does not say whose a socket is (CONFIG_UNIX_DIAG): users "
			   "can keep others from ports that these ask for by number");
	ports->packets_fd = open("/proc/thread-self/net/packet", O_RDONLY | O_CLOEXEC);
	if (ret && ret != -ENOENT)
		return ret;
	return ports->packets_fd < 0 ? -errno : 0;
}

void gammad_ports_close(struct gammad_ports *ports)
{
	gamma_name_owner_close(&ports->names);
	if (ports->packets_fd >= 0)
		close(ports->packets_fd);
	ports->packets_fd = -1;
}

bool gammad_ports_has_socket(FILE *file, unsigned uid, int ifindex, uint16_t ethertype)
{
	unsigned protocol, user;
	char line[256];
	int interface;

	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%*s %*s %*s %x %d %*s %*s %u", &protocol, &interface, &user) ==
			    3 &&
		    protocol == ethertype && interface == ifindex && user == uid)
			return true;
	}
	return false;
}

/* The descriptor stays with the namespace in which it was opened. */
static bool may_use_nic(const struct gammad_ports *ports, uid_t uid, int ifindex,
			uint16_t ethertype)
{
	bool found = !uid;

	for (int i = 0; !found && i < READINGS; i++) {
		int fd = dup(ports->packets_fd);
		FILE *file = fd < 0 ? NULL : fdopen(fd, "r");

		if (!file) {
			if (fd >= 0)
				close(fd);
			return true;
		}
		rewind(file);
		found = gammad_ports_has_socket(file, uid, ifindex, ethertype);
		fclose(file);
	}
	return found;
}

bool gammad_ports_are_owned(const struct gammad_ports *ports, const uint8_t mac[GAMMA_MAC_LEN],
			    uint16_t port, int ifindex, uint16_t ethertype)
{
	struct sockaddr_un name;
	unsigned len = gamma_port_name(mac, port, &name);
	uid_t uid;
	int ret = gamma_name_owner_find(&ports->names, &name, len, &uid);

	/* In doubt it counts as owned. */
	if (ret)
		return ret == -ENOENT || (ret != -ECONNREFUSED && !ports->asks);
	return may_use_nic(ports, uid, ifindex, ethertype);
}
