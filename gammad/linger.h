/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Unwanted descriptors: the kernel closes them when a message is read or dropped. Closing the
 * last descriptor of a lingering socket (SO_LINGER) blocks as long as its owner has set, unless a
 * signal comes. From Linux 6.16 on, a socket can refuse descriptors: scm.h.
 */
#ifndef GAMMAD_LINGER_H
#define GAMMAD_LINGER_H

/* From now on this thread blocks some milliseconds at most, in all, for such sockets between
 * begin and end: 0 or a negative errno. Without this call begin and end do nothing. */
int gammad_linger_init(void);
void gammad_linger_begin(void);
void gammad_linger_end(void);
/* close() of a socket whose queue may hold such descriptors. */
void gammad_linger_close(int fd);

#endif /* GAMMAD_LINGER_H */
