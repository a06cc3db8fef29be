// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The channel to a peer of this host: shared memory that this process makes when it first sends to
 * the peer, and hands over through the peer's port socket. Frames go into it at once. If there is
 * no memory, or the peer refuses it, frames go through that socket, in the same order.
 */
#include "shm/tx_channel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/iov.h"
#include "link/port.h"
#include "unix/memfd.h"
#include "unix/scm.h"
#include "wire/codec.h"

/* Bytes that chunks leave free for announcements, answers and inline messages. */
enum { CHUNKS_LEAVE = 4096 };

/* A frame's destination, from its header. */
static void frame_addr(const uint8_t *head, struct gamma_shm_addr *addr)
{
	const uint8_t *header = head + GAMMA_ETH_LEN;

	memcpy(addr->mac, head, GAMMA_MAC_LEN);
	addr->port = (uint16_t) (header[0] << 8 | header[1]);
	memcpy(&addr->epoch, header + offsetof(struct gamma_header, dst_epoch), 4);
	addr->epoch = __builtin_bswap32(addr->epoch);
}

static unsigned channel_chain(const struct gamma_shm_addr *addr)
{
	return (addr->port ^ addr->epoch) & (GAMMA_SHM_CHAINS - 1);
}

int gamma_tx_channel_send_datagram(struct gamma_shm *shm, const uint8_t *head, size_t head_len,
				   const struct iovec *iov, unsigned iov_count)
{
	struct iovec parts[1 + GAMMA_FRAME_IOV];
	struct gamma_shm_addr addr;
	struct sockaddr_un name;
	struct msghdr msg = {
		.msg_name = &name,
		.msg_iov = parts,
		.msg_iovlen = 1 + iov_count,
	};

	frame_addr(head, &addr);
	msg.msg_namelen = gamma_port_name(addr.mac, addr.port, &name);
	parts[0] = (struct iovec){(void *) head, head_len};
	memcpy(parts + 1, iov, iov_count * sizeof(*iov));
	shm->link.stats->send_calls++;
	/* The peer answers through this process's socket, at least at first. */
	shm->alert = GAMMA_SHM_ALERT;
	return sendmsg(shm->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* ---- making one ---- */

/* The reader keeps what was written into it. */
static void release_segment(struct gamma_shm *shm, struct gamma_tx_channel *channel)
{
	if (channel->segment)
		gamma_link_unmap(&shm->link, channel->segment, channel->bytes);
	channel->segment = NULL;
	gamma_shm_close_fd(shm, &channel->fd);
	gamma_shm_close_fd(shm, &channel->segment_fd);
	gamma_shm_close_fd(shm, &channel->other_fd);
	gamma_list_remove(&channel->full_entry);
}

static int make_segment(struct gamma_shm *shm, struct gamma_tx_channel *channel)
{
	int pair[2];

	channel->bytes = GAMMA_SEGMENT_HEADER + shm->ring_bytes;
	channel->segment_fd = gamma_memfd_make(channel->bytes, &channel->segment);
	if (channel->segment_fd < 0)
		return channel->segment_fd;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair))
		return -errno;
	channel->fd = pair[0];
	channel->other_fd = pair[1];
	if (!gamma_shm_watch_fd(shm, channel->fd, &channel->watch))
		return -errno;
	/* Rings are polled one after the other: do not put all of them on the same cache sets. */
	gamma_ring_init(&channel->ring, channel->segment, shm->ring_bytes, channel->reader.epoch);
	return 0;
}

static void fall_back_to_socket(struct gamma_shm *shm, struct gamma_tx_channel *channel, int error)
{
	release_segment(shm, channel);
	channel->state = GAMMA_TX_CHANNEL_SOCKET;
	shm->link.stats->shm_refused++;
	gamma_info("no shared memory to a process of this host (%s): frames go through its socket, "
		   "which is slower",
		   strerror(-error));
}

static struct gamma_tx_channel *new_tx_channel(struct gamma_shm *shm,
					       const struct gamma_shm_addr *reader)
{
	struct gamma_tx_channel *channel = calloc(1, sizeof(*channel));
	struct gamma_tx_channel **to = &shm->tx_channels[channel_chain(reader)];
	int ret;

	if (!channel)
		return NULL;
	channel->watch = GAMMA_SHM_WATCH_TX;
	channel->reader = *reader;
	channel->fd = channel->segment_fd = channel->other_fd = -1;
	gamma_list_init(&channel->full_entry);
	ret = make_segment(shm, channel);
	if (ret)
		fall_back_to_socket(shm, channel, ret);
	channel->next = *to;
	*to = channel;
	return channel;
}

struct gamma_tx_channel *gamma_tx_channel_find(const struct gamma_shm *shm,
					       const struct gamma_shm_addr *addr)
{
	struct gamma_tx_channel *channel = shm->tx_channels[channel_chain(addr)];

	while (channel && !gamma_shm_addr_same(&channel->reader, addr))
		channel = channel->next;
	return channel;
}

struct gamma_tx_channel *gamma_tx_channel_for(struct gamma_shm *shm,
					      const struct gamma_frame *frame)
{
	struct gamma_tx_channel *channel = shm->last;
	struct gamma_shm_addr addr;

	frame_addr(frame->head, &addr);
	if (gamma_likely(channel && gamma_shm_addr_same(&channel->reader, &addr)))
		return channel;
	channel = gamma_tx_channel_find(shm, &addr);
	/* Frames without a flow are too few to make a segment for. */
	if (!channel && shm->ring_bytes && addr.epoch != GAMMA_EPOCH_ANY &&
	    (frame->flow || frame->kind == GAMMA_KIND_DATAGRAM))
		channel = new_tx_channel(shm, &addr);
	if (channel)
		shm->last = channel;
	return channel;
}

/* ---- handing over ---- */

static int hand_over_segment(struct gamma_shm *shm, struct gamma_tx_channel *channel,
			     const uint8_t *head)
{
	struct gamma_handover handover = {
		.magic = GAMMA_SEGMENT_MAGIC,
		.version = GAMMA_SEGMENT_VERSION,
		.dst_epoch = channel->reader.epoch,
		.nonce_at = (uintptr_t) shm->nonce,
	};
	const uint8_t *header = head + GAMMA_ETH_LEN;
	struct sockaddr_un name;
	unsigned len = gamma_port_name(channel->reader.mac, channel->reader.port, &name);
	int ret;

	memcpy(handover.ethernet, head, GAMMA_ETH_LEN);
	handover.src_port = (uint16_t) (header[2] << 8 | header[3]);
	memcpy(&handover.src_epoch, header + offsetof(struct gamma_header, src_epoch), 4);
	handover.src_epoch = __builtin_bswap32(handover.src_epoch);
	memcpy(handover.nonce, shm->nonce, sizeof(handover.nonce));
	shm->link.stats->send_calls++;
	ret = gamma_scm_send(shm->fd, &name, len, &handover, sizeof(handover),
			     (int[]){channel->segment_fd, channel->other_fd}, 2);
	if (ret == -EAGAIN || ret == -ETOOMANYREFS || ret == -ENOBUFS)
		return -EAGAIN;
	if (ret == -ECONNREFUSED)
		return ret;
	if (ret) {
		fall_back_to_socket(shm, channel, ret);
		return 0;
	}
	gamma_shm_close_fd(shm, &channel->segment_fd);
	gamma_shm_close_fd(shm, &channel->other_fd);
	channel->state = GAMMA_TX_CHANNEL_RING;
	/* The peer's answer comes in a segment of its own, through the socket. */
	shm->alert = GAMMA_SHM_ALERT;
	return 0;
}

/* ---- frames ---- */

static void wake_reader(struct gamma_shm *shm, struct gamma_tx_channel *channel)
{
	const uint8_t byte = GAMMA_HANDOVER_WAKE;

	shm->link.stats->send_calls++;
	shm->link.stats->shm_wakes++;
	/* If the socket pair is full, the reader has been woken often enough. */
	send(channel->fd, &byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void mark_reader_ended(struct gamma_shm *shm, struct gamma_tx_channel *channel)
{
	if (channel->ended)
		return;
	channel->ended = true;
	shm->ended++;
}

static int put_frame_in_ring(struct gamma_shm *shm, struct gamma_tx_channel *channel,
			     const struct gamma_frame *frame, size_t len)
{
	uint8_t *to = gamma_ring_reserve(&channel->ring, (uint32_t) (len - GAMMA_ETH_LEN));

	if (gamma_unlikely(!to)) {
		if (channel->ring.damaged)
			return -EPROTO;
		if (gamma_list_empty(&channel->full_entry))
			gamma_list_append(&shm->full, &channel->full_entry);
		return -EAGAIN;
	}
	memcpy(to, frame->head + GAMMA_ETH_LEN, frame->head_len - GAMMA_ETH_LEN);
	to += frame->head_len - GAMMA_ETH_LEN;
	gamma_iov_gather(frame->iov, frame->iov_count, to);
	shm->link.stats->shm_frames_out++;
	if (gamma_unlikely(gamma_ring_publish(&channel->ring, GAMMA_RECORD_FRAME, 0)))
		wake_reader(shm, channel);
	return 0;
}

struct gamma_tx_channel *gamma_tx_channel_find_ready(const struct gamma_shm *shm,
						     const struct gamma_shm_addr *reader)
{
	struct gamma_tx_channel *channel = gamma_tx_channel_find(shm, reader);

	return channel && channel->taken && !channel->ended &&
			       channel->state == GAMMA_TX_CHANNEL_RING
		       ? channel
		       : NULL;
}

bool gamma_tx_channel_has_undelivered(struct gamma_tx_channel *channel)
{
	return channel->segment && !gamma_ring_has_taken(&channel->ring, channel->message_end);
}

void gamma_tx_channel_withdraw(struct gamma_tx_channel *channel)
{
	if (channel->segment)
		gamma_ring_withdraw(&channel->ring);
}

/* A reader with back-pressure on still takes announcements and answers. Chunks leave room for
 * records that cannot travel otherwise. A request for more chunks wakes nobody. */
static bool reader_accepts(struct gamma_tx_channel *channel,
			   const struct gamma_shm_message *message)
{
	if (gamma_likely(message->kind == GAMMA_RECORD_INLINE))
		return !gamma_ring_has_backpressure(&channel->ring);
	if (message->kind == GAMMA_RECORD_CHUNK)
		return gamma_ring_has_free(&channel->ring, message->len + CHUNKS_LEAVE);
	return message->kind != GAMMA_RECORD_MORE || !gamma_ring_is_asleep(&channel->ring);
}

bool gamma_tx_channel_put_message(struct gamma_shm *shm, struct gamma_tx_channel *channel,
				  const struct gamma_shm_message *message, const struct iovec *iov,
				  unsigned iov_count)
{
	uint32_t len = message->len + gamma_shm_message_head_len(message->flags);
	uint8_t *to;

	if (gamma_unlikely(channel->ended || len > shm->link.mtu ||
			   !reader_accepts(channel, message)))
		return false;
	to = gamma_ring_reserve(&channel->ring, len);
	if (gamma_unlikely(!to))
		return false;
	if (message->flags & GAMMA_SHM_MESSAGE_TAGGED) {
		memcpy(to, &message->tag, sizeof(message->tag));
		to += sizeof(message->tag);
	}
	if (message->flags & GAMMA_SHM_MESSAGE_DATA) {
		memcpy(to, &message->data, sizeof(message->data));
		to += sizeof(message->data);
	}
	gamma_iov_gather(iov, iov_count, to);
	shm->link.stats->shm_records_out++;
	if (gamma_unlikely(gamma_ring_publish(&channel->ring, message->kind, message->flags)))
		wake_reader(shm, channel);
	if (message->kind == GAMMA_RECORD_INLINE)
		channel->message_end = channel->ring.position;
	return true;
}

/* Sends what is still in a ring that nobody reads through the socket: 0 or a negative errno. The
 * peer was given the ring and may have written to it, so each record is checked. */
static int drain_to_socket(struct gamma_shm *shm, struct gamma_tx_channel *channel)
{
	const uint8_t *frame;
	uint32_t len;
	int ret;

	while (gamma_ring_next(&channel->unread, &frame, &len)) {
		struct iovec iov = {(void *) (frame + GAMMA_HEADER_LEN), len - GAMMA_HEADER_LEN};
		uint8_t head[GAMMA_ETH_LEN + GAMMA_HEADER_LEN];

		if (len < GAMMA_HEADER_LEN)
			return -EPROTO;
		memcpy(head, channel->ethernet, GAMMA_ETH_LEN);
		memcpy(head + GAMMA_ETH_LEN, frame, GAMMA_HEADER_LEN);
		ret = gamma_tx_channel_send_datagram(shm, head, sizeof(head), &iov, 1);
		if (ret)
			return ret;
		gamma_ring_release(&channel->unread);
	}
	if (channel->unread.position != channel->ring.position)
		return -EPROTO;
	release_segment(shm, channel);
	channel->state = GAMMA_TX_CHANNEL_SOCKET;
	return 0;
}

static size_t frame_len(const struct gamma_frame *frame)
{
	size_t len = frame->head_len;

	for (unsigned i = 0; i < frame->iov_count; i++)
		len += frame->iov[i].iov_len;
	return len;
}

static int put_frame_by_state(struct gamma_shm *shm, struct gamma_tx_channel *channel,
			      const struct gamma_frame *frame)
{
	size_t len = frame_len(frame);
	int ret = 0;

	if (gamma_unlikely(channel->state == GAMMA_TX_CHANNEL_NEW)) {
		memcpy(channel->ethernet, frame->head, GAMMA_ETH_LEN);
		ret = hand_over_segment(shm, channel, frame->head);
	} else if (gamma_unlikely(channel->state == GAMMA_TX_CHANNEL_DRAIN)) {
		ret = drain_to_socket(shm, channel);
	}
	if (gamma_unlikely(ret))
		return ret;
	/* Longer only if it is a datagram and the NIC has a very large MTU. */
	if (channel->state == GAMMA_TX_CHANNEL_RING && len <= GAMMA_ETH_LEN + shm->link.mtu)
		return put_frame_in_ring(shm, channel, frame, len);
	return gamma_tx_channel_send_datagram(shm, frame->head, frame->head_len, frame->iov,
					      frame->iov_count);
}

static void free_tx_channel(struct gamma_shm *shm, struct gamma_tx_channel *channel)
{
	struct gamma_tx_channel **at = &shm->tx_channels[channel_chain(&channel->reader)];

	while (*at != channel)
		at = &(*at)->next;
	*at = channel->next;
	if (shm->last == channel)
		shm->last = NULL;
	release_segment(shm, channel);
	free(channel);
}

int gamma_tx_channel_put_frame(struct gamma_shm *shm, struct gamma_tx_channel *channel,
			       const struct gamma_frame *frame)
{
	int ret;

	if (gamma_unlikely(channel->ended))
		return -ECONNREFUSED;
	ret = put_frame_by_state(shm, channel, frame);
	/* No process owns that port. If the reader uses the segment, its socket pair reports its
	 * end instead. */
	if (gamma_unlikely(ret == -ECONNREFUSED && !channel->taken))
		free_tx_channel(shm, channel);
	return ret;
}

bool gamma_tx_channel_any_room(struct gamma_shm *shm)
{
	struct gamma_list *pos, *tmp;
	bool any = false;

	gamma_list_for_each_safe (pos, tmp, &shm->full) {
		struct gamma_tx_channel *channel =
			gamma_list_entry(pos, struct gamma_tx_channel, full_entry);

		if (gamma_ring_has_room(&channel->ring)) {
			gamma_list_remove(&channel->full_entry);
			any = true;
		}
	}
	return any;
}

/* ---- the reader's end ---- */

/* The reader has closed its end of the socket pair. If it had not confirmed the segment, it
 * refuses the segment or has ended; sending to its port's socket shows which. */
static void handle_hang_up(struct gamma_shm *shm, struct gamma_tx_channel *channel)
{
	gamma_shm_close_fd(shm, &channel->fd);
	if (channel->taken) {
		mark_reader_ended(shm, channel);
		return;
	}
	shm->link.stats->shm_refused++;
	gamma_list_remove(&channel->full_entry);
	gamma_ring_reread(&channel->ring, &channel->unread, shm->link.mtu);
	channel->state = GAMMA_TX_CHANNEL_DRAIN;
	if (drain_to_socket(shm, channel) == -ECONNREFUSED)
		mark_reader_ended(shm, channel);
}

void gamma_tx_channel_read_events(struct gamma_shm *shm, struct gamma_tx_channel *channel)
{
	uint8_t byte;
	ssize_t len;

	if (channel->fd < 0)
		return;
	do {
		shm->link.stats->receive_calls++;
		len = recv(channel->fd, &byte, 1, MSG_DONTWAIT);
		if (len == 1 && byte == GAMMA_HANDOVER_TAKEN)
			channel->taken = true;
	} while (len > 0 || (len < 0 && errno == EINTR));
	if (!len || errno != EAGAIN)
		handle_hang_up(shm, channel);
}

void gamma_tx_channel_forget(struct gamma_shm *shm, const struct gamma_shm_addr *reader)
{
	struct gamma_tx_channel *channel = gamma_tx_channel_find(shm, reader);

	if (channel && !channel->ended) /* else gamma_tx_channel_take_ended frees it */
		free_tx_channel(shm, channel);
}

const char *gamma_tx_channel_take_ended(struct gamma_shm *shm, struct gamma_shm_addr *reader,
					bool *undelivered)
{
	for (unsigned i = 0; i < GAMMA_SHM_CHAINS; i++) {
		struct gamma_tx_channel *channel = shm->tx_channels[i];

		while (channel && !channel->ended)
			channel = channel->next;
		if (channel) {
			*reader = channel->reader;
			*undelivered = gamma_tx_channel_has_undelivered(channel);
			free_tx_channel(shm, channel);
			return GAMMA_SHM_PROCESS_ENDED;
		}
	}
	return NULL;
}

void gamma_tx_channel_close_all(struct gamma_shm *shm)
{
	for (unsigned i = 0; i < GAMMA_SHM_CHAINS; i++)
		while (shm->tx_channels[i])
			free_tx_channel(shm, shm->tx_channels[i]);
}
