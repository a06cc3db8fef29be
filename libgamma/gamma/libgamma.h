/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The calls of the original GAMMA, for programs written for it: messages between ports that are
 * bound to each other, with a handler that runs on arrival. libgamma(3) describes them.
 */
#ifndef GAMMA_LIBGAMMA_H
#define GAMMA_LIBGAMMA_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GAMMA_PORTS      65000  /* port numbers are below this */
#define GAMMA_SEMAPHORES 65000  /* so are semaphores' */
#define GAMMA_ALL_NODES  0xffff /* as destination: every other node */

/* Use of a port's buffer after a message has come: it is used from its beginning again, or
 * from where the message ends. */
enum { GO_BACK, GO_FORWARD };

/* Runs on arrival; it learns of the message by the two variables below. */
typedef void (*gamma_handler)(void);

extern unsigned short gamma_active_port; /* to which the message came */
extern int gamma_msglen;                 /* its bytes */

/* Every call returns -1 with a line on standard error if it is refused or has failed. */

/* ---- the job; 0, or -1 ---- */
int gamma_init(unsigned short nodes, int argc, char **argv); /* nodes 0: as many as there are */
int gamma_exit(void);                                        /* after all nodes have called it */
void gamma_abort(void);                                      /* ends the job */
int gamma_sync(void);                                        /* a barrier */
int gamma_my_node(void);                                     /* from 0 on */
int gamma_my_par_pid(void);
int gamma_how_many_nodes(void);

/* ---- ports ---- */

/* Messages sent by the port go to dest_port of dest_node. One that comes is written to buf, handler
 * runs unless NULL, and the semaphore is signalled. */
int gamma_set_active_port(unsigned short port, unsigned short dest_node, unsigned char dest_par_pid,
			  unsigned short dest_port, gamma_handler handler, unsigned short semaphore,
			  unsigned char buffer_kind, void *buf, int len);
/* Only sends. */
int gamma_set_passive_port(unsigned short port, unsigned short dest_node,
			   unsigned char dest_par_pid, unsigned short dest_port);
/* The next message to the port goes there. */
int gamma_post_recv(unsigned short port, void *buf, int len);

/* ---- sending: 0, or -1 ---- */

/* Best effort, up to a frame; a longer message is flow-controlled. */
int gamma_send(unsigned short port, const void *data, int len);
/* Reliable and in order. */
int gamma_send_flowctl(unsigned short port, const void *data, int len);
/* Data in two places, one behind the other. */
int gamma_send_2p(unsigned short port, const void *data, int len, const void *more, int more_len);
int gamma_send_2p_flowctl(unsigned short port, const void *data, int len, const void *more,
			  int more_len);
/* Returns before the data has been read: it must not change until gamma_tsend or gamma_wsend. */
int gamma_isend(unsigned short port, const void *data, int len);
int gamma_isend_flowctl(unsigned short port, const void *data, int len);
int gamma_isend_2p(unsigned short port, const void *data, int len, const void *more, int more_len);
int gamma_isend_2p_flowctl(unsigned short port, const void *data, int len, const void *more,
			   int more_len);
int gamma_wsend(unsigned short port); /* waits until all gamma_isend of the port are done */
int gamma_tsend(unsigned short port); /* 1: they are; 0: not yet; -1: one has failed */

/* ---- semaphores ---- */
int gamma_signal(unsigned short semaphore);
/* Waits for so many signals, takes them. -1: a node has failed. */
int gamma_wait(unsigned short semaphore, int count);
int gamma_test(unsigned short semaphore); /* signals not taken yet */
/* handler runs when a message is lost for want of a buffer, and when a node has failed. Without it
 * gamma_wait and gamma_sync end the job then. */
int gamma_sigerr(gamma_handler handler);
/* function runs while no handler does. */
int gamma_atomic(void (*function)(void));

/* ---- memory and time ---- */
int gamma_mlock(const void *address, size_t len); /* this and the next do nothing: no need */
int gamma_munlock(const void *address, size_t len);
int gamma_munlockall(void);
unsigned long long gamma_time(void);                                    /* ns */
double gamma_time_diff(unsigned long long from, unsigned long long to); /* us */

#ifdef __cplusplus
}
#endif

#endif /* GAMMA_LIBGAMMA_H */
