/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Descriptors that nobody wants: the kernel closes them when a message is read, or thrown away. Who
 * drops the last descriptor of a socket that lingers (SO_LINGER) waits as long as its maker likes,
 * unless a signal comes. From Linux 6.16 on none can be sent in the first place: scm.h.
 */
#ifndef GAMMAD_LINGER_H
#define GAMMAD_LINGER_H

/* From now on what this thread does between begin and end waits some milliseconds for such sockets,
 * all together: 0 or a negative errno. Without it they do nothing. */
int gammad_linger_init(void);
void gammad_linger_begin(void);
void gammad_linger_end(void);
/* As close, of a socket in whose queue there may be some. */
void gammad_linger_close(int fd);

#endif /* GAMMAD_LINGER_H */
