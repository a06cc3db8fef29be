/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Requests to gammad: for the sockets of endpoints and groups, if the process may not open packet
 * sockets itself (called by the engine), and for the NICs that gammad serves (called by
 * fi_getinfo).
 */
#ifndef GAMMA_LINK_BROKER_H
#define GAMMA_LINK_BROKER_H

#include "broker/message.h"

struct gamma_brokered {
	struct gamma_broker_opened opened;
	int packet_fd; /* ready to use, except that its ring must be mapped */
	int port_fd;   /* AF_UNIX socket bound to the port */
	int gammad_fd; /* while it is open, gammad takes the endpoint for alive */
};

enum { GAMMA_BROKER_WAIT_S = 120 }; /* for an answer; gammad opens endpoints one at a time */

/* Each function returns 0, or a negative errno after it has logged a warning with the cause.
 * -ENOENT and -ECONNREFUSED: gammad does not run. The header of ask is filled in. */
int gamma_broker_open(const char *path, const struct gamma_broker_open *ask,
		      struct gamma_brokered *brokered);
/* Opens count endpoints on one interface, with consecutive ports. */
int gamma_broker_open_range(const char *path, const struct gamma_broker_open *ask, unsigned count,
			    struct gamma_brokered *brokered);
/* *fd: the socket that receives the group's frames, or -1 if ask does not want them. */
int gamma_broker_join(const char *path, const struct gamma_broker_group *ask,
		      struct gamma_broker_joined *joined, int *fd);
int gamma_broker_leave(const char *path, const struct gamma_broker_group *ask);
void gamma_broker_close(struct gamma_brokered *brokered);

/* Gets the NICs on which this process may have endpoints: 0, or a negative errno with cause and
 * cure in why. */
int gamma_broker_nics(const char *path, struct gamma_broker_served *served, char *why,
		      size_t why_len);

#endif /* GAMMA_LINK_BROKER_H */
