// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Raw Ethernet through AF_XDP: rings in memory shared with the kernel (or with the NIC, if its
 * driver can), below the network stack. For privileged processes; only one process can have the
 * NIC's queue 0. A program on the NIC (xdp_program.c) directs this endpoint's frames here and
 * passes all others on. This uses the kernel's interface without libxdp: otherwise every program
 * that loads libfabric would load that library too.
 */
#include "link/xdp.h"

#include <errno.h>

#include "base/base.h"
#include "base/iov.h"
#include "link/xdp_program.h"

#ifdef GAMMA_XDP
#include <linux/if_xdp.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	CHUNK = 4096,      /* bytes: memory of a frame */
	SEND_CHUNKS = 256, /* frames that the kernel may hold; a power of two */
	QUEUE = 0,         /* on which a NIC receives frames that are not IP */
	BUSY_TRIES = 10,   /* the kernel frees a queue some time after its last owner has ended */
	BUSY_WAIT_US = 50000,
};

/* One of the kernel's rings: descriptors between two counters that only grow. */
struct ring {
	uint32_t *producer, *consumer, *flags;
	void *entries; /* uint64_t addresses, or struct xdp_desc */
	uint32_t mask;
	void *map;
	size_t map_len; /* bytes */
};

struct xdp_link {
	struct gamma_link link;
	struct gamma_xdp_program program;
	uint8_t *chunks;         /* for received frames, then for sent frames */
	size_t chunks_len;       /* bytes */
	struct ring fill, taken; /* chunks for frames to receive; chunks of frames that left */
	struct ring receive, send;
	uint32_t received;          /* frames taken so far */
	uint32_t sent;              /* frames put into the send ring so far */
	uint64_t free[SEND_CHUNKS]; /* addresses of chunks */
	uint32_t free_count;
	uint64_t drops; /* the kernel's counter when it was last read */
	int error;      /* negative errno: there is no socket; else 0 */
};

static struct xdp_link *xdp_of(struct gamma_link *link)
{
	return gamma_container_of(link, struct xdp_link, link);
}

/* ---- sending ---- */

/* Collects the chunks of frames that have left. */
static void reclaim_chunks(struct xdp_link *xdp)
{
	struct ring *ring = &xdp->taken;
	uint32_t from = *ring->consumer;
	uint32_t to = __atomic_load_n(ring->producer, __ATOMIC_ACQUIRE);
	const uint64_t *addresses = ring->entries;

	for (; from != to; from++)
		xdp->free[xdp->free_count++] = addresses[from & ring->mask];
	__atomic_store_n(ring->consumer, from, __ATOMIC_RELEASE);
}

static bool all_taken(const struct xdp_link *xdp)
{
	return __atomic_load_n(xdp->send.consumer, __ATOMIC_ACQUIRE) == xdp->sent;
}

/* Makes the kernel send what is in the ring. It takes a part at a time; whatever it cannot send
 * now stays in the ring until the next call. */
static void kick_send_ring(struct xdp_link *xdp)
{
	if (!(__atomic_load_n(xdp->send.flags, __ATOMIC_RELAXED) & XDP_RING_NEED_WAKEUP))
		return;
	for (uint32_t before = xdp->sent + 1; !all_taken(xdp);) {
		uint32_t now = __atomic_load_n(xdp->send.consumer, __ATOMIC_RELAXED);

		if (now == before)
			return;
		before = now;
		xdp->link.stats->send_calls++;
		sendto(xdp->link.fd, NULL, 0, MSG_DONTWAIT, NULL, 0);
	}
}

static void write_descriptor(struct xdp_link *xdp, const struct gamma_frame *frame)
{
	struct xdp_desc *descs = xdp->send.entries;
	uint64_t address = xdp->free[--xdp->free_count];
	uint8_t *at = xdp->chunks + address;

	memcpy(at, frame->head, frame->head_len);
	at += frame->head_len;
	at = gamma_iov_gather(frame->iov, frame->iov_count, at);
	descs[xdp->sent++ & xdp->send.mask] = (struct xdp_desc){
		.addr = address,
		.len = (uint32_t) (at - (xdp->chunks + address)),
	};
}

static unsigned xdp_send(struct gamma_link *link, const struct gamma_frame *frames, unsigned count,
			 int *error)
{
	struct xdp_link *xdp = xdp_of(link);
	unsigned done;

	if (xdp->free_count < count)
		reclaim_chunks(xdp);
	for (done = 0; done < count && xdp->free_count; done++)
		write_descriptor(xdp, &frames[done]);
	__atomic_store_n(xdp->send.producer, xdp->sent, __ATOMIC_RELEASE);
	kick_send_ring(xdp);
	*error = -EAGAIN;
	return done;
}

/* ---- receiving ---- */

static bool frame_waits(const struct xdp_link *xdp)
{
	return __atomic_load_n(xdp->receive.producer, __ATOMIC_ACQUIRE) != xdp->received;
}

/* No frame has arrived. Calls the kernel if it needs that to send or to receive frames. */
static void wake_kernel(struct xdp_link *xdp)
{
	if (gamma_unlikely(!all_taken(xdp)))
		kick_send_ring(xdp);
	if (gamma_unlikely(__atomic_load_n(xdp->fill.flags, __ATOMIC_RELAXED) &
			   XDP_RING_NEED_WAKEUP)) {
		xdp->link.stats->receive_calls++;
		recvfrom(xdp->link.fd, NULL, 0, MSG_DONTWAIT, NULL, NULL);
	}
}

static const struct xdp_desc *oldest_descriptor(const struct xdp_link *xdp)
{
	const struct xdp_desc *descs = xdp->receive.entries;

	return &descs[xdp->received & xdp->receive.mask];
}

static bool xdp_next(struct gamma_link *link, struct gamma_arrival *arrival)
{
	struct xdp_link *xdp = xdp_of(link);

	if (!frame_waits(xdp)) {
		wake_kernel(xdp);
		return false;
	}
	arrival->frame = xdp->chunks + oldest_descriptor(xdp)->addr;
	arrival->len = oldest_descriptor(xdp)->len;
	arrival->payload = NULL;
	arrival->alone = false;
	arrival->stamp = 0;
	arrival->flow = NULL;
	return true;
}

/* Gives a chunk to the kernel, for a frame to receive. */
static void give_chunk(struct xdp_link *xdp, uint64_t address)
{
	uint64_t *addresses = xdp->fill.entries;
	uint32_t given = *xdp->fill.producer;

	addresses[given & xdp->fill.mask] = address;
	__atomic_store_n(xdp->fill.producer, given + 1, __ATOMIC_RELEASE);
}

static void xdp_release(struct gamma_link *link)
{
	struct xdp_link *xdp = xdp_of(link);
	uint64_t address = oldest_descriptor(xdp)->addr / CHUNK * CHUNK;

	__atomic_store_n(xdp->receive.consumer, ++xdp->received, __ATOMIC_RELEASE);
	give_chunk(xdp, address);
}

static bool xdp_arm(struct gamma_link *link)
{
	struct xdp_link *xdp = xdp_of(link);

	wake_kernel(xdp);
	return frame_waits(xdp);
}

static void xdp_count(struct gamma_link *link)
{
	struct xdp_link *xdp = xdp_of(link);
	struct xdp_statistics counters = {0};
	socklen_t len = sizeof(counters);
	uint64_t drops;

	if (getsockopt(link->fd, SOL_XDP, XDP_STATISTICS, &counters, &len))
		return;
	drops = counters.rx_dropped + counters.rx_ring_full;
	link->stats->ring_drops += drops - xdp->drops;
	xdp->drops = drops;
}

static void unmap_xdp_ring(const struct gamma_link *link, const struct ring *ring)
{
	if (ring->map)
		gamma_link_unmap(link, ring->map, ring->map_len);
}

static void xdp_close(struct gamma_link *link)
{
	struct xdp_link *xdp = xdp_of(link);

	gamma_xdp_program_detach(&xdp->program);
	unmap_xdp_ring(link, &xdp->fill);
	unmap_xdp_ring(link, &xdp->taken);
	unmap_xdp_ring(link, &xdp->receive);
	unmap_xdp_ring(link, &xdp->send);
	if (link->fd >= 0)
		close(link->fd);
	if (xdp->chunks)
		gamma_link_unmap(link, xdp->chunks, xdp->chunks_len);
	free(xdp);
}

static const struct gamma_link_ops xdp_ops = {
	.send = xdp_send,
	.next = xdp_next,
	.release = xdp_release,
	.arm = xdp_arm,
	.count = xdp_count,
	.close = xdp_close,
};

/* ---- opening ---- */

/* Frames that can wait to be received: a power of two that fits ring_bytes. */
static uint32_t receive_chunks(size_t ring_bytes)
{
	uint32_t count = GAMMA_RING_SLOTS_MIN;

	while ((size_t) count * 2 * CHUNK <= ring_bytes)
		count *= 2;
	return count;
}

/* Allocates memory for all frames and registers it with the kernel. */
static int make_chunks(struct xdp_link *xdp)
{
	struct xdp_umem_reg memory = {.chunk_size = CHUNK};

	xdp->chunks_len = ((size_t) xdp->link.slots + SEND_CHUNKS) * CHUNK;
	xdp->chunks = mmap(NULL, xdp->chunks_len, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (xdp->chunks == MAP_FAILED) {
		xdp->chunks = NULL;
		return -errno;
	}
	madvise(xdp->chunks, xdp->chunks_len, MADV_DONTFORK);
	memory.addr = (uintptr_t) xdp->chunks;
	memory.len = xdp->chunks_len;
	return setsockopt(xdp->link.fd, SOL_XDP, XDP_UMEM_REG, &memory, sizeof(memory)) ? -errno
											: 0;
}

static int make_xdp_ring(struct xdp_link *xdp, int option, uint32_t entries)
{
	return setsockopt(xdp->link.fd, SOL_XDP, option, &entries, sizeof(entries)) ? -errno : 0;
}

static int map_xdp_ring(struct xdp_link *xdp, struct ring *ring, const struct xdp_ring_offset *at,
			off_t place, uint32_t entries, size_t entry_len)
{
	uint8_t *map;

	ring->map_len = at->desc + entries * entry_len;
	map = mmap(NULL, ring->map_len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
		   xdp->link.fd, place);
	if (map == MAP_FAILED)
		return -errno;
	madvise(map, ring->map_len, MADV_DONTFORK);
	ring->map = map;
	ring->producer = (uint32_t *) (map + at->producer);
	ring->consumer = (uint32_t *) (map + at->consumer);
	ring->flags = (uint32_t *) (map + at->flags);
	ring->entries = map + at->desc;
	ring->mask = entries - 1;
	return 0;
}

static int make_xdp_rings(struct xdp_link *xdp)
{
	const struct {
		struct ring *ring;
		int option;
		off_t place;
		uint32_t entries;
		size_t entry_len, offset;
	} rings[] = {
		{&xdp->fill, XDP_UMEM_FILL_RING, XDP_UMEM_PGOFF_FILL_RING, xdp->link.slots,
		 sizeof(uint64_t), offsetof(struct xdp_mmap_offsets, fr)},
		{&xdp->taken, XDP_UMEM_COMPLETION_RING, XDP_UMEM_PGOFF_COMPLETION_RING, SEND_CHUNKS,
		 sizeof(uint64_t), offsetof(struct xdp_mmap_offsets, cr)},
		{&xdp->receive, XDP_RX_RING, XDP_PGOFF_RX_RING, xdp->link.slots,
		 sizeof(struct xdp_desc), offsetof(struct xdp_mmap_offsets, rx)},
		{&xdp->send, XDP_TX_RING, XDP_PGOFF_TX_RING, SEND_CHUNKS, sizeof(struct xdp_desc),
		 offsetof(struct xdp_mmap_offsets, tx)},
	};
	struct xdp_mmap_offsets offsets;
	socklen_t len = sizeof(offsets);
	int ret = 0;

	for (unsigned i = 0; !ret && i < gamma_array_size(rings); i++)
		ret = make_xdp_ring(xdp, rings[i].option, rings[i].entries);
	if (!ret && getsockopt(xdp->link.fd, SOL_XDP, XDP_MMAP_OFFSETS, &offsets, &len))
		ret = -errno;
	for (unsigned i = 0; !ret && i < gamma_array_size(rings); i++)
		ret = map_xdp_ring(xdp, rings[i].ring,
				   (const void *) ((const char *) &offsets + rings[i].offset),
				   rings[i].place, rings[i].entries, rings[i].entry_len);
	return ret;
}

static int start_xdp_link(struct xdp_link *xdp, const struct gamma_packet_attr *attr)
{
	struct sockaddr_xdp address = {
		.sxdp_family = AF_XDP,
		.sxdp_flags = XDP_USE_NEED_WAKEUP,
		.sxdp_ifindex = (uint32_t) attr->ifindex,
		.sxdp_queue_id = QUEUE,
	};
	int ret = make_chunks(xdp);

	if (!ret)
		ret = make_xdp_rings(xdp);
	if (ret)
		return ret;
	for (uint32_t i = 0; i < xdp->link.slots; i++)
		give_chunk(xdp, (uint64_t) i * CHUNK);
	for (uint32_t i = 0; i < SEND_CHUNKS; i++)
		xdp->free[xdp->free_count++] = ((uint64_t) xdp->link.slots + i) * CHUNK;
	if (bind(xdp->link.fd, (struct sockaddr *) &address, sizeof(address)))
		return -errno;
	/* Last: from here on frames arrive. */
	return gamma_xdp_program_attach(&xdp->program, attr, xdp->link.fd, QUEUE);
}

static struct xdp_link *new_xdp_link(const struct gamma_packet_attr *attr,
				     struct gamma_stats *stats)
{
	struct xdp_link *xdp = calloc(1, sizeof(*xdp));

	if (!xdp)
		return NULL;
	xdp->link.ops = &xdp_ops;
	xdp->link.stats = stats;
	xdp->link.process = getpid();
	xdp->link.mtu = attr->mtu;
	xdp->link.connected_fd = -1;
	xdp->link.slots = receive_chunks(attr->ring_bytes);
	xdp->program.map_fd = xdp->program.fd = xdp->program.link_fd = -1;
	xdp->link.fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
	xdp->error = xdp->link.fd < 0 ? -errno : 0;
	return xdp;
}

/* The meaning of an error, for people. */
static const char *refusal_reason(int error)
{
	switch (-error) {
	case EMSGSIZE:
		return "its MTU is above what a frame's memory holds; lower it";
	case EBUSY:
	case EEXIST:
		return "another process has its queue 0, or there is an XDP program on it already";
	case EPERM:
		return "the process lacks CAP_NET_RAW, CAP_NET_ADMIN and CAP_BPF";
	case EAFNOSUPPORT:
		return "this kernel has no AF_XDP";
	}
	return strerror(-error);
}

static int try_open_xdp(const struct gamma_packet_attr *attr, struct gamma_stats *stats,
			struct gamma_link **link)
{
	struct xdp_link *xdp = new_xdp_link(attr, stats);
	int ret;

	if (!xdp)
		return -ENOMEM;
	ret = xdp->error ? xdp->error : start_xdp_link(xdp, attr);
	if (ret)
		xdp_close(&xdp->link);
	else
		*link = &xdp->link;
	return ret;
}

int gamma_xdp_open(const struct gamma_packet_attr *attr, bool insist, struct gamma_stats *stats,
		   struct gamma_link **link)
{
	int ret = attr->mtu > GAMMA_XDP_MTU_MAX ? -EMSGSIZE : try_open_xdp(attr, stats, link);
	char name[IF_NAMESIZE] = "?";

	for (int i = 0; insist && ret == -EBUSY && i < BUSY_TRIES; i++) {
		usleep(BUSY_WAIT_US);
		ret = try_open_xdp(attr, stats, link);
	}
	if (!ret)
		return 0;
	if_indextoname((unsigned) attr->ifindex, name);
	gamma_log(insist ? GAMMA_LOG_ERROR : GAMMA_LOG_INFO, "%s: no AF_XDP at MTU %u: %s%s", name,
		  attr->mtu, refusal_reason(ret),
		  insist ? "; or set FI_GAMMA_LINK=packet" : "; a packet socket is used");
	return ret;
}

#else /* configure found no AF_XDP */

int gamma_xdp_open(const struct gamma_packet_attr *attr, bool insist, struct gamma_stats *stats,
		   struct gamma_link **link)
{
	(void) attr, (void) stats, (void) link;
	if (insist)
		gamma_error(
			"built without AF_XDP (configure --with-xdp); set FI_GAMMA_LINK=packet");
	return -EOPNOTSUPP;
}
#endif
