/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Which nodes of the job have failed. A program that waits sends nothing, and so would never hear
 * of a dead node: an empty message goes to every node at intervals, and at once when the provider
 * has found one that does not answer.
 */
#ifndef LIBGAMMA_WATCH_H
#define LIBGAMMA_WATCH_H

#include <stdbool.h>
#include <stdint.h>

struct endpoints;
struct job;

/* port: of the empty messages, whose number is arg. 0, or -1 with a line on standard error. */
int watch_open(struct endpoints *endpoints, const struct job *job, uint16_t port, uint32_t arg);
void watch_close(void);
/* Whether the context is that of an empty message, which is dealt with then; error: FI_E* or 0. */
bool watch_completed(void *context, int error);
/* An operation has failed: which node is it? */
void watch_suspect(void);
/* Sends what is due. Called again and again by whatever waits. */
void watch_poll(void);
/* The job ends: from now on a node that is gone may have left. */
void watch_leaving(void);
bool watch_failed(unsigned short node);
/* How many nodes have failed. */
unsigned watch_failures(void);

#endif /* LIBGAMMA_WATCH_H */
