/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Asks gammad for an endpoint's sockets. The engine does, where the process may not open packet
 * sockets itself.
 */
#ifndef GAMMA_LINK_BROKER_H
#define GAMMA_LINK_BROKER_H

#include "broker/message.h"

struct gamma_brokered {
	struct gamma_broker_opened opened;
	int packet_fd;	/* ready but for its ring, which is to be mapped */
	int port_fd;	/* AF_UNIX socket bound to the port */
	int gammad_fd;	/* as long as it is open, gammad does not ask whether the endpoint lives */
};

enum { GAMMA_BROKER_WAIT_S = 120 }; /* for gammad's answer: opening many takes it a while */

/* 0, or a negative errno: -ENOENT or -ECONNREFUSED: no gammad is there. A warning has said why. */
int gamma_broker_ask(const char *path, const uint8_t mac[GAMMA_MAC_LEN], uint16_t port,
		     uint32_t epoch, uint16_t ethertype, struct gamma_brokered *brokered);

/* Whether a gammad is there: 0 or a negative errno. */
int gamma_broker_reach(const char *path);

#endif /* GAMMA_LINK_BROKER_H */
