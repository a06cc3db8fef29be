/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A link carries frames to and from other endpoints. The engine knows links only by this table of
 * six operations. To add a link, write these six functions and an open function in one file with
 * a header of its own (packet.c and packet.h are the model), and call the open function in
 * engine/endpoint.c. Nothing else in the tree needs to know the new link.
 *
 * Operations that only shared memory has are plain functions: shm/shm.h.
 */
#ifndef GAMMA_LINK_H
#define GAMMA_LINK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/stats.h"
#include "wire/frame.h"

struct gamma_link;

struct gamma_link_ops {
	/* Sends a burst of frames and returns how many of them left. If fewer than count, the next
	 * frame could not leave now, and *error is the reason: -EAGAIN (try again later; or the
	 * other end of a virtual NIC takes no frames of that size: the kernel's error is the same),
	 * -ECONNREFUSED (no process owns that port), -EPROTO (the peer writes nonsense),
	 * -EMSGSIZE (the NIC's MTU was lowered; the link's mtu field has the new one), -ENETDOWN
	 * (the NIC is down: try again later), or -ENODEV (it was removed: no frame will
	 * leave unless a NIC of that name and address comes back). */
	unsigned (*send)(struct gamma_link *link, const struct gamma_frame *frames, unsigned count,
			 int *error);
	/* Lends the oldest frame that has arrived; false: there is none. */
	bool (*next)(struct gamma_link *link, struct gamma_arrival *arrival);
	/* Returns the lent frame. Called at most once after each next, in order. Without it the
	 * next call of next lends the same frame again. */
	void (*release)(struct gamma_link *link);
	/* Call before sleeping on fd. True: do not sleep, a frame is already there. */
	bool (*arm)(struct gamma_link *link);
	/* Adds the kernel's drop counters to stats. */
	void (*count)(struct gamma_link *link);
	/* Frees the link. A forked child may call it for a link of its parent. */
	void (*close)(struct gamma_link *link);
};

enum { GAMMA_CACHE_LINE = 64 }; /* bytes */

/* The kernel writes the same memory as fields of other types. */
typedef uint64_t __attribute__((may_alias)) gamma_link_word;

struct gamma_link {
	const struct gamma_link_ops *ops;
	struct gamma_stats *stats; /* the endpoint's */
	pid_t process;             /* that opened it; a forked child may only close it */
	int fd;                    /* readable when a frame has arrived */
	int connected_fd;          /* ditto, of a second socket; -1: there is none */
	uint32_t mtu;              /* bytes after the Ethernet header, or those of IP and UDP */
	uint32_t slots;            /* frames that can wait without loss */
	uint32_t train;            /* full frames that one call sends, or takes; 0: any number */
	/* Call it before the first frame goes to another subnet; NULL: none can. */
	void (*cross)(struct gamma_link *link);
	/* Call it before next if the last time is long ago: then next looks at both sockets. NULL:
	 * there is one. */
	void (*look)(struct gamma_link *link);
	uint8_t ecn;       /* then: enum gamma_ecn_mark of the frame that is lent */
	uint64_t frame_ns; /* send time per frame, measured on the last burst; 0: unknown */
	/* A poller may skip next while these bits of the word are 0. NULL: there is no such word.
	 */
	const gamma_link_word *word;
	uint64_t bits;
	uint32_t ahead;    /* bytes from the word to the frame, for prefetching */
	uint32_t overhead; /* bytes of the headers of IP and UDP before a frame; raw: 0 */
};

/* The kernel has begun to write the frame, and will set the bits soon. Prefetch the frame's cache
 * lines meanwhile. Polling the word again would only take its line from the writer once more. */
static inline void gamma_link_prefetch(const struct gamma_link *link)
{
	const uint8_t *frame = (const uint8_t *) link->word + link->ahead;

	__builtin_prefetch(frame);
	__builtin_prefetch(frame + GAMMA_CACHE_LINE);
}

/* True: no frame has arrived. False: call next to find out. */
static inline bool gamma_link_is_quiet(const struct gamma_link *link)
{
	uint64_t word;

	if (!link->word)
		return false;
	word = __atomic_load_n(link->word, __ATOMIC_RELAXED);
	if (word && !(word & link->bits))
		gamma_link_prefetch(link);
	return !(word & link->bits);
}

/* Unmaps memory that a forked child does not inherit (MADV_DONTFORK). In the child the same
 * addresses may hold other memory, which must stay mapped. */
static inline void gamma_link_unmap(const struct gamma_link *link, void *at, size_t len)
{
	if (link->process == getpid())
		munmap(at, len);
}

#endif /* GAMMA_LINK_H */
