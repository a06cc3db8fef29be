/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Closes descriptors that unknown processes have sent to this process's sockets, in a thread of its
 * own. To close the last descriptor of a socket with SO_LINGER takes as long as the sender chose,
 * and so does to close a socket whose queue has such a descriptor. That must not block a thread of
 * the program. (Clearing SO_LINGER first would help only with sockets that were sent themselves,
 * not with those in their queues.)
 */
#ifndef GAMMA_DEFERRED_CLOSE_H
#define GAMMA_DEFERRED_CLOSE_H

#include <stdbool.h>
#include <stddef.h>

/* True: so many of these threads are busy that nothing should be received from unknown processes.
 */
bool gamma_deferred_close_is_full(void);
/* Closes them in a thread; if none can be started, in the caller's. */
void gamma_deferred_close_fds(const int *fds, size_t count);

#endif /* GAMMA_DEFERRED_CLOSE_H */
