// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The way from a neighbour: shared memory that it has made and handed over. Everything in it may
 * change at any time: what is looked at is copied first, and the rest is only copied.
 */
#include "shm/shm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { TURN = 16 /* frames of one neighbour before the next one's turn */ };

/* ---- taking a segment ---- */

static int open_process(pid_t pid)
{
#ifdef SYS_pidfd_open
	return pid > 0 ? (int) syscall(SYS_pidfd_open, pid, 0) : -1;
#else
	(void) pid;
	return -1;
#endif
}

static void free_inbox(struct gamma_samehost *samehost, struct gamma_inbox *inbox)
{
	if (inbox->segment)
		gamma_link_unmap(&samehost->link, inbox->segment, inbox->bytes);
	gamma_samehost_drop(samehost, &inbox->fd);
	gamma_samehost_drop(samehost, &inbox->pid_fd);
	free(inbox);
}

static bool room_for_one(struct gamma_samehost *samehost)
{
	uint32_t room = samehost->inbox_room ? 2 * samehost->inbox_room : 8;
	struct gamma_inbox **inboxes;
	const uint64_t **heads;

	if (samehost->inbox_count < samehost->inbox_room)
		return true;
	if (samehost->inbox_count >= GAMMA_INBOXES_MAX)
		return false;
	inboxes = realloc(samehost->inboxes, room * sizeof(struct gamma_inbox *));
	if (!inboxes)
		return false;
	samehost->inboxes = inboxes;
	heads = realloc(samehost->heads, room * sizeof(*heads));
	if (!heads)
		return false;
	samehost->heads = samehost->link.heads = heads;
	samehost->inbox_room = room;
	return true;
}

/* Whether it is of our kind. */
static bool acceptable(const struct gamma_samehost *samehost, const struct gamma_handover *handover)
{
	return samehost->ring_bytes && handover->magic == GAMMA_SEGMENT_MAGIC &&
	       handover->version == GAMMA_SEGMENT_VERSION;
}

static bool set_up(struct gamma_samehost *samehost, struct gamma_inbox *inbox, int segment_fd)
{
	const uint8_t taken = GAMMA_HANDOVER_TAKEN;

	if (gamma_segment_map(segment_fd, &inbox->bytes, &inbox->segment)) {
		inbox->segment = NULL;
		return false;
	}
	if (!gamma_ring_join(&inbox->ring, inbox->segment, inbox->bytes, samehost->link.mtu) ||
	    !room_for_one(samehost) || !gamma_samehost_watch(samehost, inbox->fd, &inbox->watch))
		return false;
	if (inbox->pid_fd >= 0 &&
	    !gamma_samehost_watch(samehost, inbox->pid_fd, &inbox->watch_process))
		gamma_samehost_drop(samehost, &inbox->pid_fd);
	samehost->link.stats->send_calls++;
	return send(inbox->fd, &taken, 1, MSG_DONTWAIT | MSG_NOSIGNAL) == 1 || errno == EPIPE;
}

static struct gamma_inbox *new_inbox(struct gamma_samehost *samehost,
				     const struct gamma_handover *handover,
				     const struct gamma_enclosed *enclosed)
{
	struct gamma_inbox *inbox = calloc(1, sizeof(*inbox));

	if (!inbox) {
		close(enclosed->fds[1]);
		return NULL;
	}
	inbox->watch = GAMMA_WATCH_INBOX;
	inbox->watch_process = GAMMA_WATCH_PROCESS;
	memcpy(inbox->writer.mac, handover->ethernet + GAMMA_MAC_LEN, GAMMA_MAC_LEN);
	inbox->writer.port = handover->src_port;
	inbox->writer.epoch = handover->src_epoch;
	inbox->uid = enclosed->sender.uid;
	inbox->pid = enclosed->sender.pid;
	inbox->fd = enclosed->fds[1];
	/* First: the process that then shows the nonce is the one that it stands for. */
	inbox->pid_fd = open_process(inbox->pid);
	memcpy(inbox->ethernet, handover->ethernet, GAMMA_ETH_LEN);
	inbox->readable = gamma_pull_possible(inbox->pid, handover);
	if (set_up(samehost, inbox, enclosed->fds[0]))
		return inbox;
	free_inbox(samehost, inbox);
	return NULL;
}

void gamma_inbox_accept(struct gamma_samehost *samehost, const struct gamma_handover *handover,
			struct gamma_enclosed *enclosed)
{
	struct gamma_inbox *inbox;

	if (!acceptable(samehost, handover)) {
		gamma_enclosed_close(enclosed);
		return;
	}
	inbox = new_inbox(samehost, handover, enclosed);
	close(enclosed->fds[0]);
	if (!inbox)
		return;
	gamma_ring_press(&inbox->ring, samehost->backpressure);
	samehost->heads[samehost->inbox_count] = gamma_ring_head(&inbox->ring);
	samehost->inboxes[samehost->inbox_count++] = inbox;
	samehost->link.head_count = samehost->inbox_count;
	/* Its writer has not been asked yet. */
	samehost->link.armed = false;
}

struct gamma_inbox *gamma_inbox_of(const struct gamma_samehost *samehost,
				   const struct gamma_place *writer)
{
	for (uint32_t i = 0; i < samehost->inbox_count; i++)
		if (gamma_place_same(&samehost->inboxes[i]->writer, writer))
			return samehost->inboxes[i];
	return NULL;
}

/* ---- frames ---- */

/* The frame as it would have come from the wire: its head in memory of our own. */
static bool present(struct gamma_samehost *samehost, struct gamma_inbox *inbox,
		    const uint8_t *frame, uint32_t len, struct gamma_arrival *arrival)
{
	uint8_t *head = samehost->frame;
	const struct gamma_header *header = (void *) (head + GAMMA_ETH_LEN);
	uint32_t copied = (uint32_t) gamma_min(len, GAMMA_HEAD_COPY - GAMMA_ETH_LEN);

	memcpy(head + GAMMA_ETH_LEN, frame, copied);
	if (gamma_unlikely(len < GAMMA_HEADER_LEN ||
			   !gamma_samehost_entitled(samehost, inbox->uid, head)))
		return false;
	memcpy(head, inbox->ethernet, GAMMA_ETH_LEN);
	arrival->frame = head;
	arrival->len = GAMMA_ETH_LEN + (size_t) len;
	arrival->payload = copied == len ? NULL : frame + header->header_len;
	arrival->stamp = 0;
	return true;
}

/* Whether what is said to be behind it can be. */
static bool is_sound(const struct gamma_shm_message *plain, uint32_t head, uint32_t len)
{
	const uint8_t flags = GAMMA_SHM_MESSAGE_TAGGED | GAMMA_SHM_MESSAGE_DATA;

	if (gamma_likely(plain->kind == GAMMA_RECORD_PLAIN))
		return !(plain->flags & ~flags) && len >= head;
	if (plain->kind == GAMMA_RECORD_ANNOUNCE)
		return !(plain->flags & ~(flags | GAMMA_SHM_MESSAGE_CHUNKS)) &&
		       len == head + sizeof(struct gamma_announce);
	if (plain->flags)
		return false;
	if (plain->kind == GAMMA_RECORD_CHUNK)
		return len > sizeof(struct gamma_chunk);
	return len == (plain->kind == GAMMA_RECORD_ANSWER ? sizeof(struct gamma_answer)
							  : sizeof(struct gamma_more));
}

/* False: nonsense. */
static bool present_plain(const struct gamma_samehost *samehost, struct gamma_inbox *inbox,
			  const uint8_t *record, uint32_t len, struct gamma_arrival *arrival)
{
	struct gamma_shm_message *plain = &arrival->shm;
	uint32_t head = gamma_shm_message_head_len(inbox->ring.flags);

	plain->kind = inbox->ring.kind;
	plain->flags = inbox->ring.flags;
	if (gamma_unlikely(!is_sound(plain, head, len)))
		return false;
	if (plain->flags & GAMMA_SHM_MESSAGE_TAGGED)
		memcpy(&plain->tag, record, sizeof(plain->tag));
	if (plain->flags & GAMMA_SHM_MESSAGE_DATA)
		memcpy(&plain->data, record + head - sizeof(plain->data), sizeof(plain->data));
	/* What it had written before it could know; more is ill will. */
	if (plain->kind == GAMMA_RECORD_PLAIN)
		inbox->beyond = samehost->backpressure ? inbox->beyond + inbox->ring.lent : 0;
	if (gamma_unlikely(inbox->beyond > 2 * inbox->ring.size))
		return false;
	plain->bytes = record + head;
	plain->len = len - head;
	arrival->frame = NULL;
	return true;
}

static void end(struct gamma_samehost *samehost, struct gamma_inbox *inbox)
{
	if (inbox->ended)
		return;
	inbox->ended = true;
	samehost->ended++;
}

static bool next_of(struct gamma_samehost *samehost, struct gamma_inbox *inbox,
		    struct gamma_arrival *arrival)
{
	const uint8_t *record;
	uint32_t len;

	arrival->flow = &inbox->flow;
	/* Whoever fills all of the data with what is skipped must not keep us here for ever. */
	for (unsigned i = 0; i < TURN && gamma_ring_next(&inbox->ring, &record, &len); i++) {
		samehost->lent = inbox;
		samehost->lent_index = samehost->turn;
		if (inbox->ring.kind >= GAMMA_RECORD_PLAIN &&
		    inbox->ring.kind <= GAMMA_RECORD_MORE) {
			if (gamma_likely(present_plain(samehost, inbox, record, len, arrival)))
				return true;
			inbox->ring.damaged = true;
			samehost->lent = NULL;
			break;
		}
		if (inbox->ring.kind == GAMMA_RECORD_FRAME &&
		    present(samehost, inbox, record, len, arrival))
			return true;
		samehost->link.stats->malformed++;
		gamma_inbox_release(samehost);
	}
	if (gamma_unlikely(inbox->ring.damaged && !inbox->ended)) {
		samehost->link.stats->malformed++;
		end(samehost, inbox);
	}
	return false;
}

bool gamma_inbox_next(struct gamma_samehost *samehost, struct gamma_arrival *arrival)
{
	uint32_t count = samehost->inbox_count;

	for (uint32_t i = 0; i < count; i++) {
		if (samehost->turn >= count || !samehost->turn_left) {
			samehost->turn = samehost->turn + 1 < count ? samehost->turn + 1 : 0;
			samehost->turn_left = TURN;
		}
		if (next_of(samehost, samehost->inboxes[samehost->turn], arrival)) {
			samehost->turn_left--;
			return true;
		}
		samehost->turn_left = 0;
	}
	return false;
}

void gamma_inbox_release(struct gamma_samehost *samehost)
{
	struct gamma_inbox *inbox = samehost->lent;

	gamma_ring_release(&inbox->ring);
	samehost->heads[samehost->lent_index] = gamma_ring_head(&inbox->ring);
	samehost->lent = NULL;
}

void gamma_inbox_press(struct gamma_samehost *samehost, bool backpressure)
{
	samehost->backpressure = backpressure;
	for (uint32_t i = 0; i < samehost->inbox_count; i++)
		gamma_ring_press(&samehost->inboxes[i]->ring, backpressure);
}

void gamma_inbox_forget(struct gamma_samehost *samehost, const struct gamma_flow *flow)
{
	for (uint32_t i = 0; i < samehost->inbox_count; i++)
		if (samehost->inboxes[i]->flow == flow)
			samehost->inboxes[i]->flow = NULL;
}

bool gamma_inbox_waits(const struct gamma_samehost *samehost)
{
	for (uint32_t i = 0; i < samehost->inbox_count; i++)
		if (gamma_ring_waits(&samehost->inboxes[i]->ring))
			return true;
	return false;
}

/* ---- sleeping ---- */

bool gamma_inbox_arm(struct gamma_samehost *samehost)
{
	for (uint32_t i = 0; i < samehost->inbox_count; i++)
		gamma_ring_sleep(&samehost->inboxes[i]->ring);
	return gamma_inbox_waits(samehost);
}

void gamma_inbox_disarm(struct gamma_samehost *samehost)
{
	for (uint32_t i = 0; i < samehost->inbox_count; i++)
		gamma_ring_wake(&samehost->inboxes[i]->ring);
}

/* ---- the writer's end ---- */

/* Words that were meant to wake say nothing more; an end does. */
void gamma_inbox_heard(struct gamma_samehost *samehost, struct gamma_inbox *inbox)
{
	uint8_t bytes[16];
	ssize_t len;

	if (inbox->fd < 0)
		return;
	do {
		samehost->link.stats->receive_calls++;
		len = recv(inbox->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
	} while (len > 0 || (len < 0 && errno == EINTR));
	if (!len || errno != EAGAIN)
		gamma_inbox_process_ended(samehost, inbox);
}

/* Both descriptors would go on saying so. */
void gamma_inbox_process_ended(struct gamma_samehost *samehost, struct gamma_inbox *inbox)
{
	gamma_samehost_drop(samehost, &inbox->fd);
	gamma_samehost_drop(samehost, &inbox->pid_fd);
	end(samehost, inbox);
}

static void take_out(struct gamma_samehost *samehost, uint32_t index)
{
	free_inbox(samehost, samehost->inboxes[index]);
	samehost->inboxes[index] = samehost->inboxes[--samehost->inbox_count];
	samehost->heads[index] = samehost->heads[samehost->inbox_count];
	samehost->link.head_count = samehost->inbox_count;
}

const char *gamma_inbox_lost(struct gamma_samehost *samehost, struct gamma_place *writer)
{
	const char *cause;

	for (uint32_t i = 0; i < samehost->inbox_count; i++) {
		if (!samehost->inboxes[i]->ended)
			continue;
		*writer = samehost->inboxes[i]->writer;
		cause = samehost->inboxes[i]->ring.damaged ? GAMMA_NONSENSE : GAMMA_PROCESS_ENDED;
		take_out(samehost, i);
		return cause;
	}
	return NULL;
}

void gamma_inbox_close_all(struct gamma_samehost *samehost)
{
	while (samehost->inbox_count)
		take_out(samehost, samehost->inbox_count - 1);
	free(samehost->inboxes);
	free(samehost->heads);
	samehost->inboxes = NULL;
	samehost->heads = samehost->link.heads = NULL;
}
