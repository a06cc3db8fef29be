// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Looks for interrupt coalescing that costs latency. Called when a domain is opened, for the log.
 */
#include "nic/coalesce_hint.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

bool gamma_coalesce_hint_of(const char *name, const struct ethtool_coalesce *c, char *text,
			    size_t len)
{
	if (c->use_adaptive_rx_coalesce)
		snprintf(text, len,
			 "%s: holds interrupts back adaptively, which delays messages: "
			 "ethtool -C %s adaptive-rx off rx-usecs 0",
			 name, name);
	else if (c->rx_coalesce_usecs)
		snprintf(text, len,
			 "%s: holds interrupts back up to %u us, which delays messages: "
			 "ethtool -C %s rx-usecs 0",
			 name, c->rx_coalesce_usecs, name);
	return c->use_adaptive_rx_coalesce || c->rx_coalesce_usecs;
}

bool gamma_coalesce_hint(const char *name, char *text, size_t len)
{
	struct ethtool_coalesce coalesce = {.cmd = ETHTOOL_GCOALESCE};
	struct ifreq request = {.ifr_data = (void *) &coalesce};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool known;

	if (fd < 0)
		return false;
	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
	known = !ioctl(fd, SIOCETHTOOL, &request);
	close(fd);
	return known && gamma_coalesce_hint_of(name, &coalesce, text, len);
}
