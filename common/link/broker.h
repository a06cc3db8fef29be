/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Asks gammad: for an endpoint's sockets and its groups' (the engine does, where the process may
 * not open packet sockets itself), and which NICs it serves (fi_getinfo).
 */
#ifndef GAMMA_LINK_BROKER_H
#define GAMMA_LINK_BROKER_H

#include "broker/message.h"

struct gamma_brokered {
	struct gamma_broker_opened opened;
	int packet_fd; /* ready but for its ring, which is to be mapped */
	int port_fd;   /* AF_UNIX socket bound to the port */
	int gammad_fd; /* as long as it is open, gammad does not ask whether the endpoint lives */
};

enum { GAMMA_BROKER_WAIT_S = 120 }; /* for gammad's answer: opening many takes it a while */

/* Each returns 0, or a negative errno after a warning that says why: -ENOENT or -ECONNREFUSED: no
 * gammad is there. ask's header need not be filled in. */
int gamma_broker_open(const char *path, const struct gamma_broker_open *ask,
		      struct gamma_brokered *brokered);
/* So many endpoints on one interface, with ports in a row. */
int gamma_broker_open_range(const char *path, const struct gamma_broker_open *ask, unsigned count,
			    struct gamma_brokered *brokered);
/* *fd: the socket with the frames of the group, or -1 if they are not wanted. */
int gamma_broker_join(const char *path, const struct gamma_broker_group *ask,
		      struct gamma_broker_joined *joined, int *fd);
int gamma_broker_leave(const char *path, const struct gamma_broker_group *ask);
void gamma_broker_close(struct gamma_brokered *brokered);

/* Whether this process may have endpoints from gammad, and on which NICs: 0, or a negative errno
 * with cause and cure in why. */
int gamma_broker_nics(const char *path, struct gamma_broker_served *served, char *why,
		      size_t why_len);

#endif /* GAMMA_LINK_BROKER_H */
