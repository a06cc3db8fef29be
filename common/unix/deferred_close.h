/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Closes descriptors in a thread of its own, where that may block: packet sockets, and what unknown
 * processes have sent to this process's sockets. To close the last descriptor of a socket with
 * SO_LINGER takes as long as the sender chose, and so does to close a socket whose queue has such a
 * descriptor. That must not block a thread of the program. (Clearing SO_LINGER first would help
 * only with sockets that were sent themselves, not with those in their queues.)
 */
#ifndef GAMMA_DEFERRED_CLOSE_H
#define GAMMA_DEFERRED_CLOSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Receives the message at the head of the socket's queue in a thread: the kernel drops its
 * descriptors there, and none enters this process. first is the message's first byte, len its
 * bytes. Nobody else may read such a message from the socket, and nothing at all while is_taking.
 */
void gamma_deferred_close_take(int fd, uint8_t first, size_t len);
/* Whether the last such message may still be in the queue. */
bool gamma_deferred_close_is_taking(void);
/* True: so many of these threads are busy that nothing should be received from unknown processes.
 */
bool gamma_deferred_close_is_full(void);
/* Closes them in a thread; if none can be started, in the caller's. */
void gamma_deferred_close_fds(const int *fds, size_t count);

#endif /* GAMMA_DEFERRED_CLOSE_H */
