/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What strangers send to this process's sockets, closed in a thread apart. Who drops the last
 * descriptor of a socket that lingers (SO_LINGER), or of a message in whose queue there is one,
 * waits as long as its maker likes; that is not to be a thread of the program. (To take SO_LINGER
 * off first helps with a socket that was sent itself, not with one in the queue of that.)
 */
#ifndef GAMMA_LINK_APART_H
#define GAMMA_LINK_APART_H

#include <stdbool.h>
#include <stddef.h>

/* So many of these threads wait already that nothing of strangers is to be taken for now. */
bool gamma_deferred_close_is_full(void);
/* Without a thread to be had, by the caller all the same. */
void gamma_deferred_close_fds(const int *fds, size_t count);

#endif /* GAMMA_LINK_APART_H */
