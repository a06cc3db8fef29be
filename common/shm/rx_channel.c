// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The channel from a peer of this host: shared memory that the peer has made and handed over. The
 * peer can change everything in it at any time. So what is parsed is copied first, and the payload
 * is only copied.
 */
#include "shm/rx_channel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shm/cma.h"
#include "unix/memfd.h"

enum { TURN = 16 /* records of one channel before the next one's turn */ };

/* ---- accepting a segment ---- */

static int open_pidfd(pid_t pid)
{
#ifdef SYS_pidfd_open
	return pid > 0 ? (int) syscall(SYS_pidfd_open, pid, 0) : -1;
#else
	(void) pid;
	return -1;
#endif
}

static void free_rx_channel(struct gamma_shm *shm, struct gamma_rx_channel *channel)
{
	if (channel->segment)
		gamma_link_unmap(&shm->link, channel->segment, channel->bytes);
	gamma_shm_close_fd(shm, &channel->fd);
	gamma_shm_close_fd(shm, &channel->pid_fd);
	free(channel);
}

static bool reserve_entry(struct gamma_shm *shm)
{
	uint32_t room = shm->rx_room ? 2 * shm->rx_room : 8;
	struct gamma_rx_channel **rx_channels;
	const uint64_t **heads;

	if (shm->rx_count < shm->rx_room)
		return true;
	if (shm->rx_count >= GAMMA_RX_CHANNELS_MAX)
		return false;
	rx_channels = realloc(shm->rx_channels, room * sizeof(struct gamma_rx_channel *));
	if (!rx_channels)
		return false;
	shm->rx_channels = rx_channels;
	heads = realloc(shm->heads, room * sizeof(*heads));
	if (!heads)
		return false;
	shm->heads = heads;
	shm->rx_room = room;
	return true;
}

/* Whether this process uses shared memory and knows this layout. */
static bool is_acceptable(const struct gamma_shm *shm, const struct gamma_handover *handover)
{
	return shm->ring_bytes && handover->magic == GAMMA_SEGMENT_MAGIC &&
	       handover->version == GAMMA_SEGMENT_VERSION;
}

static bool set_up_channel(struct gamma_shm *shm, struct gamma_rx_channel *channel, int segment_fd)
{
	const uint8_t taken = GAMMA_HANDOVER_TAKEN;

	if (gamma_memfd_map(segment_fd, &channel->bytes, &channel->segment)) {
		channel->segment = NULL;
		return false;
	}
	if (!gamma_ring_join(&channel->ring, channel->segment, channel->bytes, shm->link.mtu) ||
	    !reserve_entry(shm) || !gamma_shm_watch_fd(shm, channel->fd, &channel->watch))
		return false;
	if (channel->pid_fd >= 0 &&
	    !gamma_shm_watch_fd(shm, channel->pid_fd, &channel->watch_process))
		gamma_shm_close_fd(shm, &channel->pid_fd);
	shm->link.stats->send_calls++;
	return send(channel->fd, &taken, 1, MSG_DONTWAIT | MSG_NOSIGNAL) == 1 || errno == EPIPE;
}

static struct gamma_rx_channel *new_rx_channel(struct gamma_shm *shm,
					       const struct gamma_handover *handover,
					       const struct gamma_scm *scm)
{
	struct gamma_rx_channel *channel = calloc(1, sizeof(*channel));

	if (!channel) {
		close(scm->fds[1]);
		return NULL;
	}
	channel->watch = GAMMA_SHM_WATCH_RX;
	channel->watch_process = GAMMA_SHM_WATCH_PROCESS;
	memcpy(channel->writer.mac, handover->ethernet + GAMMA_MAC_LEN, GAMMA_MAC_LEN);
	channel->writer.port = handover->src_port;
	channel->writer.epoch = handover->src_epoch;
	channel->uid = scm->sender.uid;
	channel->pid = scm->sender.pid;
	channel->fd = scm->fds[1];
	/* Before the nonce is read: then the pidfd names the process that shows the nonce. */
	channel->pid_fd = open_pidfd(channel->pid);
	memcpy(channel->ethernet, handover->ethernet, GAMMA_ETH_LEN);
	channel->readable = gamma_cma_is_possible(channel->pid, handover);
	if (set_up_channel(shm, channel, scm->fds[0]))
		return channel;
	free_rx_channel(shm, channel);
	return NULL;
}

void gamma_rx_channel_accept(struct gamma_shm *shm, const struct gamma_handover *handover,
			     struct gamma_scm *scm)
{
	struct gamma_rx_channel *channel;

	if (!is_acceptable(shm, handover)) {
		gamma_scm_close(scm);
		return;
	}
	channel = new_rx_channel(shm, handover, scm);
	close(scm->fds[0]);
	if (!channel)
		return;
	gamma_ring_set_backpressure(&channel->ring, shm->backpressure);
	shm->heads[shm->rx_count] = gamma_ring_head(&channel->ring);
	shm->rx_channels[shm->rx_count++] = channel;
	/* The new writer has not been asked to wake this process. */
	shm->armed = false;
}

struct gamma_rx_channel *gamma_rx_channel_find(const struct gamma_shm *shm,
					       const struct gamma_shm_addr *writer)
{
	for (uint32_t i = 0; i < shm->rx_count; i++)
		if (gamma_shm_addr_same(&shm->rx_channels[i]->writer, writer))
			return shm->rx_channels[i];
	return NULL;
}

/* ---- frames ---- */

/* Lends the frame as a network link would, with its head in memory of this process. */
static bool present_frame(struct gamma_shm *shm, struct gamma_rx_channel *channel,
			  const uint8_t *frame, uint32_t len, struct gamma_arrival *arrival)
{
	uint8_t *head = shm->frame;
	const struct gamma_header *header = (void *) (head + GAMMA_ETH_LEN);
	uint32_t copied = (uint32_t) gamma_min(len, GAMMA_SHM_HEAD_COPY - GAMMA_ETH_LEN);

	memcpy(head + GAMMA_ETH_LEN, frame, copied);
	if (gamma_unlikely(len < GAMMA_HEADER_LEN ||
			   !gamma_shm_is_entitled(shm, channel->uid, head)))
		return false;
	memcpy(head, channel->ethernet, GAMMA_ETH_LEN);
	arrival->frame = head;
	arrival->len = GAMMA_ETH_LEN + (size_t) len;
	arrival->payload = copied == len ? NULL : frame + header->header_len;
	arrival->stamp = 0;
	return true;
}

/* least: its length without the head of a message to a port. */
static bool is_announcement(uint8_t flags, uint32_t len, uint32_t least)
{
	return len == least || (flags & GAMMA_SHM_MESSAGE_PORT && len > least &&
				len <= least + GAMMA_PORT_HEAD_MAX);
}

/* Whether flags and length fit the record's kind. */
static bool is_sound_message(const struct gamma_shm_message *message, uint32_t head, uint32_t len)
{
	const uint8_t flags =
		GAMMA_SHM_MESSAGE_TAGGED | GAMMA_SHM_MESSAGE_DATA | GAMMA_SHM_MESSAGE_PORT;

	if (gamma_likely(message->kind == GAMMA_RECORD_INLINE))
		return !(message->flags & ~flags) && len >= head;
	if (message->kind == GAMMA_RECORD_ANNOUNCE)
		return !(message->flags & ~(flags | GAMMA_SHM_MESSAGE_CHUNKS)) &&
		       is_announcement(message->flags, len, head + sizeof(struct gamma_announce));
	if (message->flags)
		return false;
	if (message->kind == GAMMA_RECORD_CHUNK)
		return len > sizeof(struct gamma_chunk);
	return len == (message->kind == GAMMA_RECORD_ANSWER ? sizeof(struct gamma_answer)
							    : sizeof(struct gamma_more));
}

/* Lends a record that is not a frame; false: it is malformed. */
static bool present_message(const struct gamma_shm *shm, struct gamma_rx_channel *channel,
			    const uint8_t *record, uint32_t len, struct gamma_arrival *arrival)
{
	struct gamma_shm_message *message = &arrival->shm;
	uint32_t head = gamma_shm_message_head_len(channel->ring.flags);

	message->kind = channel->ring.kind;
	message->flags = channel->ring.flags;
	if (gamma_unlikely(!is_sound_message(message, head, len)))
		return false;
	if (message->flags & GAMMA_SHM_MESSAGE_TAGGED)
		memcpy(&message->tag, record, sizeof(message->tag));
	if (message->flags & GAMMA_SHM_MESSAGE_DATA)
		memcpy(&message->data, record + head - sizeof(message->data),
		       sizeof(message->data));
	/* A peer may have written a full ring before it noticed back-pressure, but not more. */
	if (message->kind == GAMMA_RECORD_INLINE)
		channel->beyond = shm->backpressure ? channel->beyond + channel->ring.lent : 0;
	if (gamma_unlikely(channel->beyond > 2 * channel->ring.size))
		return false;
	message->bytes = record + head;
	message->len = len - head;
	arrival->frame = NULL;
	return true;
}

static void mark_writer_ended(struct gamma_shm *shm, struct gamma_rx_channel *channel)
{
	if (channel->ended)
		return;
	channel->ended = true;
	shm->ended++;
}

static bool next_record(struct gamma_shm *shm, struct gamma_rx_channel *channel,
			struct gamma_arrival *arrival)
{
	const uint8_t *record;
	uint32_t len;

	arrival->flow = &channel->flow;
	/* A peer that fills the ring with malformed records must not keep this loop running. */
	for (unsigned i = 0; i < TURN && gamma_ring_next(&channel->ring, &record, &len); i++) {
		shm->lent = channel;
		shm->lent_index = shm->turn;
		if (channel->ring.kind >= GAMMA_RECORD_INLINE &&
		    channel->ring.kind <= GAMMA_RECORD_MORE) {
			if (gamma_likely(present_message(shm, channel, record, len, arrival)))
				return true;
			channel->ring.damaged = true;
			shm->lent = NULL;
			break;
		}
		if (channel->ring.kind == GAMMA_RECORD_FRAME &&
		    present_frame(shm, channel, record, len, arrival))
			return true;
		shm->link.stats->malformed++;
		gamma_rx_channel_release(shm);
	}
	if (gamma_unlikely(channel->ring.damaged && !channel->ended)) {
		shm->link.stats->malformed++;
		mark_writer_ended(shm, channel);
	}
	return false;
}

bool gamma_rx_channel_next(struct gamma_shm *shm, struct gamma_arrival *arrival)
{
	uint32_t count = shm->rx_count;

	for (uint32_t i = 0; i < count; i++) {
		if (shm->turn >= count || !shm->turn_left) {
			shm->turn = shm->turn + 1 < count ? shm->turn + 1 : 0;
			shm->turn_left = TURN;
		}
		if (next_record(shm, shm->rx_channels[shm->turn], arrival)) {
			shm->turn_left--;
			return true;
		}
		shm->turn_left = 0;
	}
	return false;
}

void gamma_rx_channel_release(struct gamma_shm *shm)
{
	struct gamma_rx_channel *channel = shm->lent;

	gamma_ring_release(&channel->ring);
	shm->heads[shm->lent_index] = gamma_ring_head(&channel->ring);
	shm->lent = NULL;
}

void gamma_rx_channel_set_backpressure(struct gamma_shm *shm, bool on)
{
	shm->backpressure = on;
	for (uint32_t i = 0; i < shm->rx_count; i++)
		gamma_ring_set_backpressure(&shm->rx_channels[i]->ring, on);
}

void gamma_rx_channel_forget(struct gamma_shm *shm, const struct gamma_flow *flow)
{
	for (uint32_t i = 0; i < shm->rx_count; i++)
		if (shm->rx_channels[i]->flow == flow)
			shm->rx_channels[i]->flow = NULL;
}

bool gamma_rx_channel_any_record(const struct gamma_shm *shm)
{
	for (uint32_t i = 0; i < shm->rx_count; i++)
		if (gamma_ring_has_record(&shm->rx_channels[i]->ring))
			return true;
	return false;
}

/* ---- sleeping ---- */

bool gamma_rx_channel_arm(struct gamma_shm *shm)
{
	for (uint32_t i = 0; i < shm->rx_count; i++)
		gamma_ring_sleep(&shm->rx_channels[i]->ring);
	return gamma_rx_channel_any_record(shm);
}

void gamma_rx_channel_disarm(struct gamma_shm *shm)
{
	for (uint32_t i = 0; i < shm->rx_count; i++)
		gamma_ring_wake(&shm->rx_channels[i]->ring);
}

/* ---- the writer's end ---- */

/* Bytes only wake this process. End of file means that the peer has ended. */
void gamma_rx_channel_read_events(struct gamma_shm *shm, struct gamma_rx_channel *channel)
{
	uint8_t bytes[16];
	ssize_t len;

	if (channel->fd < 0)
		return;
	do {
		shm->link.stats->receive_calls++;
		len = recv(channel->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
	} while (len > 0 || (len < 0 && errno == EINTR));
	if (!len || errno != EAGAIN)
		gamma_rx_channel_process_ended(shm, channel);
}

/* Closes both descriptors, which would otherwise stay readable. */
void gamma_rx_channel_process_ended(struct gamma_shm *shm, struct gamma_rx_channel *channel)
{
	gamma_shm_close_fd(shm, &channel->fd);
	gamma_shm_close_fd(shm, &channel->pid_fd);
	mark_writer_ended(shm, channel);
}

static void remove_channel(struct gamma_shm *shm, uint32_t index)
{
	free_rx_channel(shm, shm->rx_channels[index]);
	shm->rx_channels[index] = shm->rx_channels[--shm->rx_count];
	shm->heads[index] = shm->heads[shm->rx_count];
}

const char *gamma_rx_channel_take_ended(struct gamma_shm *shm, struct gamma_shm_addr *writer)
{
	const char *cause;

	for (uint32_t i = 0; i < shm->rx_count; i++) {
		if (!shm->rx_channels[i]->ended)
			continue;
		*writer = shm->rx_channels[i]->writer;
		cause = shm->rx_channels[i]->ring.damaged ? GAMMA_SHM_NONSENSE
							  : GAMMA_SHM_PROCESS_ENDED;
		remove_channel(shm, i);
		return cause;
	}
	return NULL;
}

void gamma_rx_channel_close_all(struct gamma_shm *shm)
{
	while (shm->rx_count)
		remove_channel(shm, shm->rx_count - 1);
	free(shm->rx_channels);
	free(shm->heads);
	shm->rx_channels = NULL;
	shm->heads = NULL;
}
