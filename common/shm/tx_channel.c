// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The way to a neighbour: shared memory that this process makes when it first has something to
 * say to it, and hands over through the neighbour's port socket. Frames go in at once. Where the
 * memory cannot be had, or is not taken, they go through that socket, in the same order.
 */
#include "shm/shm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/iov.h"
#include "wire/codec.h"

enum { CHUNKS_LEAVE = 4096 /* bytes of the data: for announcements, answers, short messages */ };

/* Where a frame goes, from the fixed places of its header. */
static void place_of(const uint8_t *head, struct gamma_place *place)
{
	const uint8_t *header = head + GAMMA_ETH_LEN;

	memcpy(place->mac, head, GAMMA_MAC_LEN);
	place->port = (uint16_t) (header[0] << 8 | header[1]);
	memcpy(&place->epoch, header + offsetof(struct gamma_header, dst_epoch), 4);
	place->epoch = __builtin_bswap32(place->epoch);
}

static unsigned chain(const struct gamma_place *place)
{
	return (place->port ^ place->epoch) & (GAMMA_SAMEHOST_CHAINS - 1);
}

int gamma_samehost_send_datagram(struct gamma_samehost *samehost, const uint8_t *head,
				 size_t head_len, const struct iovec *iov, unsigned iov_count)
{
	struct iovec pieces[1 + GAMMA_FRAME_IOV];
	struct gamma_place place;
	struct sockaddr_un name;
	struct msghdr msg = {
		.msg_name = &name,
		.msg_iov = pieces,
		.msg_iovlen = 1 + iov_count,
	};

	place_of(head, &place);
	msg.msg_namelen = gamma_port_name(place.mac, place.port, &name);
	pieces[0] = (struct iovec){(void *) head, head_len};
	memcpy(pieces + 1, iov, iov_count * sizeof(*iov));
	samehost->link.stats->send_calls++;
	/* Whoever is spoken to this way answers this way, at least at first. */
	samehost->alert = GAMMA_SAMEHOST_ALERT;
	return sendmsg(samehost->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* ---- making one ---- */

/* Without shared memory; what was written into it stays its reader's. */
static void let_go(struct gamma_samehost *samehost, struct gamma_outbox *outbox)
{
	if (outbox->segment)
		gamma_link_unmap(&samehost->link, outbox->segment, outbox->bytes);
	outbox->segment = NULL;
	gamma_samehost_drop(samehost, &outbox->fd);
	gamma_samehost_drop(samehost, &outbox->segment_fd);
	gamma_samehost_drop(samehost, &outbox->other_fd);
	gamma_list_remove(&outbox->full_entry);
}

static int make_ring(struct gamma_samehost *samehost, struct gamma_outbox *outbox)
{
	int pair[2];

	outbox->bytes = GAMMA_SEGMENT_HEADER + samehost->ring_bytes;
	outbox->segment_fd = gamma_segment_make(outbox->bytes, &outbox->segment);
	if (outbox->segment_fd < 0)
		return outbox->segment_fd;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair))
		return -errno;
	outbox->fd = pair[0];
	outbox->other_fd = pair[1];
	if (!gamma_samehost_watch(samehost, outbox->fd, &outbox->watch))
		return -errno;
	/* Rings that are polled in turn should not all be in the same lines of the cache. */
	gamma_ring_begin(&outbox->ring, outbox->segment, samehost->ring_bytes,
			 outbox->reader.epoch);
	return 0;
}

static void use_socket(struct gamma_samehost *samehost, struct gamma_outbox *outbox, int error)
{
	let_go(samehost, outbox);
	outbox->state = GAMMA_OUTBOX_SOCKET;
	samehost->link.stats->rings_refused++;
	gamma_info("no shared memory to a process of this host (%s): frames go through its socket, "
		   "which is slower",
		   strerror(-error));
}

static struct gamma_outbox *new_outbox(struct gamma_samehost *samehost,
				       const struct gamma_place *reader)
{
	struct gamma_outbox *outbox = calloc(1, sizeof(*outbox));
	struct gamma_outbox **to = &samehost->outboxes[chain(reader)];
	int ret;

	if (!outbox)
		return NULL;
	outbox->watch = GAMMA_WATCH_OUTBOX;
	outbox->reader = *reader;
	outbox->fd = outbox->segment_fd = outbox->other_fd = -1;
	gamma_list_init(&outbox->full_entry);
	ret = make_ring(samehost, outbox);
	if (ret)
		use_socket(samehost, outbox, ret);
	outbox->next = *to;
	*to = outbox;
	return outbox;
}

struct gamma_outbox *gamma_outbox_find(const struct gamma_samehost *samehost,
				       const struct gamma_place *place)
{
	struct gamma_outbox *outbox = samehost->outboxes[chain(place)];

	while (outbox && !gamma_place_same(&outbox->reader, place))
		outbox = outbox->next;
	return outbox;
}

struct gamma_outbox *gamma_outbox_for(struct gamma_samehost *samehost,
				      const struct gamma_frame *frame)
{
	struct gamma_outbox *outbox = samehost->last;
	struct gamma_place place;

	place_of(frame->head, &place);
	if (gamma_likely(outbox && gamma_place_same(&outbox->reader, &place)))
		return outbox;
	outbox = gamma_outbox_find(samehost, &place);
	/* Questions and answers without a flow are too few to make memory for. */
	if (!outbox && samehost->ring_bytes && place.epoch != GAMMA_EPOCH_ANY &&
	    (frame->flow || frame->kind == GAMMA_KIND_DATAGRAM))
		outbox = new_outbox(samehost, &place);
	if (outbox)
		samehost->last = outbox;
	return outbox;
}

/* ---- handing over ---- */

static int hand_over(struct gamma_samehost *samehost, struct gamma_outbox *outbox,
		     const uint8_t *head)
{
	struct gamma_handover handover = {
		.magic = GAMMA_SEGMENT_MAGIC,
		.version = GAMMA_SEGMENT_VERSION,
		.dst_epoch = outbox->reader.epoch,
		.nonce_at = (uintptr_t) samehost->nonce,
	};
	const uint8_t *header = head + GAMMA_ETH_LEN;
	struct sockaddr_un name;
	unsigned len = gamma_port_name(outbox->reader.mac, outbox->reader.port, &name);
	int ret;

	memcpy(handover.ethernet, head, GAMMA_ETH_LEN);
	handover.src_port = (uint16_t) (header[2] << 8 | header[3]);
	memcpy(&handover.src_epoch, header + offsetof(struct gamma_header, src_epoch), 4);
	handover.src_epoch = __builtin_bswap32(handover.src_epoch);
	memcpy(handover.nonce, samehost->nonce, sizeof(handover.nonce));
	samehost->link.stats->send_calls++;
	ret = gamma_enclosed_send(samehost->fd, &name, len, &handover, sizeof(handover),
				  (int[]){outbox->segment_fd, outbox->other_fd}, 2);
	if (ret == -EAGAIN || ret == -ETOOMANYREFS || ret == -ENOBUFS)
		return -EAGAIN;
	if (ret == -ECONNREFUSED)
		return ret;
	if (ret) {
		use_socket(samehost, outbox, ret);
		return 0;
	}
	gamma_samehost_drop(samehost, &outbox->segment_fd);
	gamma_samehost_drop(samehost, &outbox->other_fd);
	outbox->state = GAMMA_OUTBOX_RING;
	/* Its answer comes in a segment of its own. */
	samehost->alert = GAMMA_SAMEHOST_ALERT;
	return 0;
}

/* ---- frames ---- */

static void wake(struct gamma_samehost *samehost, struct gamma_outbox *outbox)
{
	const uint8_t byte = GAMMA_HANDOVER_WAKE;

	samehost->link.stats->send_calls++;
	samehost->link.stats->ring_wakes++;
	/* If the pair is full it has been woken often enough. */
	send(outbox->fd, &byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void end(struct gamma_samehost *samehost, struct gamma_outbox *outbox)
{
	if (outbox->ended)
		return;
	outbox->ended = true;
	samehost->ended++;
}

static int put_in_ring(struct gamma_samehost *samehost, struct gamma_outbox *outbox,
		       const struct gamma_frame *frame, size_t len)
{
	uint8_t *to = gamma_ring_reserve(&outbox->ring, (uint32_t) (len - GAMMA_ETH_LEN));

	if (gamma_unlikely(!to)) {
		if (outbox->ring.damaged)
			return -EPROTO;
		if (gamma_list_empty(&outbox->full_entry))
			gamma_list_append(&samehost->full, &outbox->full_entry);
		return -EAGAIN;
	}
	memcpy(to, frame->head + GAMMA_ETH_LEN, frame->head_len - GAMMA_ETH_LEN);
	to += frame->head_len - GAMMA_ETH_LEN;
	gamma_iov_gather(frame->iov, frame->iov_count, to);
	samehost->link.stats->ring_frames_out++;
	if (gamma_unlikely(gamma_ring_publish(&outbox->ring, GAMMA_RECORD_FRAME, 0)))
		wake(samehost, outbox);
	return 0;
}

struct gamma_outbox *gamma_outbox_plain(const struct gamma_samehost *samehost,
					const struct gamma_place *reader)
{
	struct gamma_outbox *outbox = gamma_outbox_find(samehost, reader);

	return outbox && outbox->taken && !outbox->ended && outbox->state == GAMMA_OUTBOX_RING
		       ? outbox
		       : NULL;
}

bool gamma_outbox_left(struct gamma_outbox *outbox)
{
	return outbox->segment && !gamma_ring_has_taken(&outbox->ring, outbox->plain_end);
}

void gamma_outbox_withdraw(struct gamma_outbox *outbox)
{
	if (outbox->segment)
		gamma_ring_withdraw(&outbox->ring);
}

/* Who has no memory for messages still takes announcements and answers. Chunks, which can be had
 * otherwise, leave room for what cannot; and nobody is woken to write some. */
static bool welcome(struct gamma_outbox *outbox, const struct gamma_shm_message *plain)
{
	if (gamma_likely(plain->kind == GAMMA_RECORD_PLAIN))
		return !gamma_ring_pressed(&outbox->ring);
	if (plain->kind == GAMMA_RECORD_CHUNK)
		return gamma_ring_spares(&outbox->ring, plain->len + CHUNKS_LEAVE);
	return plain->kind != GAMMA_RECORD_MORE || !gamma_ring_is_asleep(&outbox->ring);
}

bool gamma_outbox_put_plain(struct gamma_samehost *samehost, struct gamma_outbox *outbox,
			    const struct gamma_shm_message *plain, const struct iovec *iov,
			    unsigned iov_count)
{
	uint32_t len = plain->len + gamma_shm_message_head_len(plain->flags);
	uint8_t *to;

	if (gamma_unlikely(outbox->ended || len > samehost->link.mtu || !welcome(outbox, plain)))
		return false;
	to = gamma_ring_reserve(&outbox->ring, len);
	if (gamma_unlikely(!to))
		return false;
	if (plain->flags & GAMMA_SHM_MESSAGE_TAGGED) {
		memcpy(to, &plain->tag, sizeof(plain->tag));
		to += sizeof(plain->tag);
	}
	if (plain->flags & GAMMA_SHM_MESSAGE_DATA) {
		memcpy(to, &plain->data, sizeof(plain->data));
		to += sizeof(plain->data);
	}
	gamma_iov_gather(iov, iov_count, to);
	samehost->link.stats->plain_out++;
	if (gamma_unlikely(gamma_ring_publish(&outbox->ring, plain->kind, plain->flags)))
		wake(samehost, outbox);
	if (plain->kind == GAMMA_RECORD_PLAIN)
		outbox->plain_end = outbox->ring.place;
	return true;
}

/* What is still in a ring that nobody reads leaves through the socket: 0, or why it cannot. Whoever
 * was given the ring may have written there. */
static int drain(struct gamma_samehost *samehost, struct gamma_outbox *outbox)
{
	const uint8_t *frame;
	uint32_t len;
	int ret;

	while (gamma_ring_next(&outbox->rest, &frame, &len)) {
		struct iovec iov = {(void *) (frame + GAMMA_HEADER_LEN), len - GAMMA_HEADER_LEN};
		uint8_t head[GAMMA_ETH_LEN + GAMMA_HEADER_LEN];

		if (len < GAMMA_HEADER_LEN)
			return -EPROTO;
		memcpy(head, outbox->ethernet, GAMMA_ETH_LEN);
		memcpy(head + GAMMA_ETH_LEN, frame, GAMMA_HEADER_LEN);
		ret = gamma_samehost_send_datagram(samehost, head, sizeof(head), &iov, 1);
		if (ret)
			return ret;
		gamma_ring_release(&outbox->rest);
	}
	if (outbox->rest.place != outbox->ring.place)
		return -EPROTO;
	let_go(samehost, outbox);
	outbox->state = GAMMA_OUTBOX_SOCKET;
	return 0;
}

static size_t frame_len(const struct gamma_frame *frame)
{
	size_t len = frame->head_len;

	for (unsigned i = 0; i < frame->iov_count; i++)
		len += frame->iov[i].iov_len;
	return len;
}

static int put(struct gamma_samehost *samehost, struct gamma_outbox *outbox,
	       const struct gamma_frame *frame)
{
	size_t len = frame_len(frame);
	int ret = 0;

	if (gamma_unlikely(outbox->state == GAMMA_OUTBOX_NEW)) {
		memcpy(outbox->ethernet, frame->head, GAMMA_ETH_LEN);
		ret = hand_over(samehost, outbox, frame->head);
	} else if (gamma_unlikely(outbox->state == GAMMA_OUTBOX_DRAIN)) {
		ret = drain(samehost, outbox);
	}
	if (gamma_unlikely(ret))
		return ret;
	/* A datagram of a NIC with a very large MTU. */
	if (outbox->state == GAMMA_OUTBOX_RING && len <= GAMMA_ETH_LEN + samehost->link.mtu)
		return put_in_ring(samehost, outbox, frame, len);
	return gamma_samehost_send_datagram(samehost, frame->head, frame->head_len, frame->iov,
					    frame->iov_count);
}

static void free_outbox(struct gamma_samehost *samehost, struct gamma_outbox *outbox)
{
	struct gamma_outbox **at = &samehost->outboxes[chain(&outbox->reader)];

	while (*at != outbox)
		at = &(*at)->next;
	*at = outbox->next;
	if (samehost->last == outbox)
		samehost->last = NULL;
	let_go(samehost, outbox);
	free(outbox);
}

int gamma_outbox_put(struct gamma_samehost *samehost, struct gamma_outbox *outbox,
		     const struct gamma_frame *frame)
{
	int ret;

	if (gamma_unlikely(outbox->ended))
		return -ECONNREFUSED;
	ret = put(samehost, outbox, frame);
	/* Nobody has that port any more. The end of one that uses the segment is told by its pair.
	 */
	if (gamma_unlikely(ret == -ECONNREFUSED && !outbox->taken))
		free_outbox(samehost, outbox);
	return ret;
}

bool gamma_outbox_room(struct gamma_samehost *samehost)
{
	struct gamma_list *pos, *tmp;
	bool any = false;

	gamma_list_for_each_safe (pos, tmp, &samehost->full) {
		struct gamma_outbox *outbox =
			gamma_list_entry(pos, struct gamma_outbox, full_entry);

		if (gamma_ring_has_room(&outbox->ring)) {
			gamma_list_remove(&outbox->full_entry);
			any = true;
		}
	}
	return any;
}

/* ---- the reader's end ---- */

/* The pair has ended. A reader that had not taken the segment will not: it refuses, or is no more,
 * which its port's socket will tell. */
static void hung_up(struct gamma_samehost *samehost, struct gamma_outbox *outbox)
{
	gamma_samehost_drop(samehost, &outbox->fd);
	if (outbox->taken) {
		end(samehost, outbox);
		return;
	}
	samehost->link.stats->rings_refused++;
	gamma_list_remove(&outbox->full_entry);
	gamma_ring_reread(&outbox->ring, &outbox->rest, samehost->link.mtu);
	outbox->state = GAMMA_OUTBOX_DRAIN;
	if (drain(samehost, outbox) == -ECONNREFUSED)
		end(samehost, outbox);
}

void gamma_outbox_heard(struct gamma_samehost *samehost, struct gamma_outbox *outbox)
{
	uint8_t byte;
	ssize_t len;

	if (outbox->fd < 0)
		return;
	do {
		samehost->link.stats->receive_calls++;
		len = recv(outbox->fd, &byte, 1, MSG_DONTWAIT);
		if (len == 1 && byte == GAMMA_HANDOVER_TAKEN)
			outbox->taken = true;
	} while (len > 0 || (len < 0 && errno == EINTR));
	if (!len || errno != EAGAIN)
		hung_up(samehost, outbox);
}

void gamma_outbox_forget(struct gamma_samehost *samehost, const struct gamma_place *reader)
{
	struct gamma_outbox *outbox = gamma_outbox_find(samehost, reader);

	if (outbox && !outbox->ended) /* else gamma_outbox_lost does */
		free_outbox(samehost, outbox);
}

const char *gamma_outbox_lost(struct gamma_samehost *samehost, struct gamma_place *reader,
			      bool *left)
{
	for (unsigned i = 0; i < GAMMA_SAMEHOST_CHAINS; i++) {
		struct gamma_outbox *outbox = samehost->outboxes[i];

		while (outbox && !outbox->ended)
			outbox = outbox->next;
		if (outbox) {
			*reader = outbox->reader;
			*left = gamma_outbox_left(outbox);
			free_outbox(samehost, outbox);
			return GAMMA_PROCESS_ENDED;
		}
	}
	return NULL;
}

void gamma_outbox_close_all(struct gamma_samehost *samehost)
{
	for (unsigned i = 0; i < GAMMA_SAMEHOST_CHAINS; i++)
		while (samehost->outboxes[i])
			free_outbox(samehost, samehost->outboxes[i]);
}
