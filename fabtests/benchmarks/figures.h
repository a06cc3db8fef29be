// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * What describes a path for messages, from measured delays: the definitions of GAMMA's own
 * benchmarks. D(S), the message delay, is half the round trip of S bytes. Used by pmix.c.
 */
#ifndef FIGURES_H
#define FIGURES_H

#include <stddef.h>

/* Of messages of one size. */
struct figures_point {
	double bytes;  /* S */
	double delay;  /* D(S), us */
	double stream; /* transmission throughput, bytes/us: of a long one-way stream */
};

/* bytes/us are MB/s. */
struct figures {
	double latency;    /* D of the smallest size, us */
	double asymptotic; /* B = (S - Smin) / (D(S) - D(Smin)) of the largest size, bytes/us; 0: it
			    * was measured to take no longer than the smallest */
	double half_power; /* H, the size with H / D(H) = B / 2, bytes; 0: none of those measured */
	double stream;     /* the best transmission throughput, bytes/us */
	double stream_bytes; /* the size of its messages */
};

/* End-to-end throughput T(S) = S / D(S), bytes/us. */
double figures_throughput(const struct figures_point *point);

/* Of at least two points with rising sizes. */
struct figures figures_of(const struct figures_point *points, size_t count);

#endif
