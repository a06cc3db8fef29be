// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The link between processes of one host: frames to the own MAC never come back from a NIC. They
 * go through shared memory (tx_channel.c, rx_channel.c). Where there is none they go through the
 * receiver's port socket: AF_UNIX datagrams, which keep their order and are not lost. In both
 * cases the kernel vouches for the sender's user id.
 *
 * While frames pass through shared memory no system call is made. The descriptors behind the epoll
 * are read now and then, and whenever this process has slept.
 */
#include "shm/shm.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <unistd.h>

#include "link/port.h"
#include "shm/cma.h"
#include "shm/rx_channel.h"
#include "shm/tx_channel.h"
#include "unix/deferred_close.h"

enum {
	FRAME_MAX = GAMMA_ETH_LEN + GAMMA_SHM_SOCKET_MTU,
	SEND_BUFFER = 4 << 20, /* bytes */
	UID_OVERFLOW = 65534,  /* stands for users that this user namespace does not know */
	SLOTS = 1024,          /* nominal: a sender waits, so no frames are lost */
	LOOK_EVERY = 1024,     /* polls between two reads of the descriptors */
	LOOK_AGAIN = 2,        /* polls that read them after this process has slept */
	EVENTS = 16,           /* descriptors handled per epoll_wait */
	DATAGRAMS_MAX = 16,    /* that one poll takes: any user can send without end */
	LIVES_MS = 10,         /* too short for the kernel to reuse a process id */
};

static struct gamma_shm *shm_of(struct gamma_link *link)
{
	return gamma_container_of(link, struct gamma_shm, link);
}

bool gamma_shm_watch_fd(struct gamma_shm *shm, int fd, enum gamma_shm_watch *watch)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = watch};

	return !epoll_ctl(shm->link.fd, EPOLL_CTL_ADD, fd, &event);
}

void gamma_shm_close_fd(struct gamma_shm *shm, int *fd)
{
	if (*fd < 0)
		return;
	/* A forked child may still have it open, so closing alone would not end the watch. The
	 * child shares the epoll and must not remove anything from it. */
	if (getpid() == shm->link.process)
		epoll_ctl(shm->link.fd, EPOLL_CTL_DEL, *fd, NULL);
	close(*fd);
	*fd = -1;
}

/* ---- sending ---- */

static int send_shm_frame(struct gamma_shm *shm, const struct gamma_frame *frame)
{
	struct gamma_tx_channel *channel = gamma_tx_channel_for(shm, frame);

	if (gamma_likely(channel))
		return gamma_tx_channel_put_frame(shm, channel, frame);
	return gamma_tx_channel_send_datagram(shm, frame->head, frame->head_len, frame->iov,
					      frame->iov_count);
}

static unsigned shm_send(struct gamma_link *link, const struct gamma_frame *frames, unsigned count,
			 int *error)
{
	struct gamma_shm *shm = shm_of(link);
	unsigned done = 0;
	int ret = 0;

	while (done < count) {
		ret = send_shm_frame(shm, &frames[done]);
		if (gamma_unlikely(ret))
			break;
		done++;
	}
	*error = ret == -ECONNREFUSED || ret == -EPROTO ? ret : -EAGAIN;
	return done;
}

struct gamma_tx_channel *gamma_shm_find_channel(const struct gamma_shm *shm,
						const struct gamma_shm_addr *peer)
{
	return gamma_tx_channel_find_ready(shm, peer);
}

GAMMA_FLATTEN bool gamma_shm_put(struct gamma_shm *shm, struct gamma_tx_channel *channel,
				 const struct gamma_shm_message *message, const struct iovec *iov,
				 unsigned iov_count)
{
	return gamma_tx_channel_put_message(shm, channel, message, iov, iov_count);
}

bool gamma_shm_has_undelivered(struct gamma_tx_channel *channel)
{
	return gamma_tx_channel_has_undelivered(channel);
}

void gamma_shm_withdraw(struct gamma_tx_channel *channel)
{
	gamma_tx_channel_withdraw(channel);
}

bool gamma_shm_has_room(struct gamma_shm *shm)
{
	return gamma_tx_channel_any_room(shm);
}

/* ---- receiving ---- */

static void accept_handover(struct gamma_shm *shm, ssize_t len, struct gamma_scm *scm)
{
	struct gamma_handover handover;

	if (len == sizeof(handover)) {
		memcpy(&handover, shm->frame, sizeof(handover));
		gamma_rx_channel_accept(shm, &handover, scm);
		return;
	}
	shm->link.stats->malformed++;
	gamma_scm_close(scm);
}

/* Descriptors of another user must not enter this process: they would use up its table, and to
 * close them may take as long as that user likes. Such a datagram is left to a thread. */
static ssize_t pass_by_unknown(struct gamma_shm *shm, struct gamma_scm *scm)
{
	bool descriptors;
	uint8_t first;
	ssize_t len;

	if (gamma_unlikely(gamma_deferred_close_is_full() || gamma_deferred_close_is_taking()))
		return -EAGAIN;
	len = gamma_scm_peek(shm->fd, scm, &first, &descriptors);
	if (len < 0 || !descriptors || gamma_shm_trusts(shm, scm->sender.uid))
		return len;
	shm->link.stats->malformed++;
	gamma_deferred_close_take(shm->fd, first, (size_t) len);
	return -EAGAIN;
}

/* A handover has exactly two descriptors; all others are closed here. */
static ssize_t receive_datagram(struct gamma_shm *shm, struct gamma_scm *scm)
{
	ssize_t len = pass_by_unknown(shm, scm);

	shm->link.stats->receive_calls++;
	if (len < 0)
		return len;
	len = gamma_scm_receive(shm->fd, shm->frame, FRAME_MAX, scm);
	if (len < 0)
		return len;
	if (gamma_unlikely(scm->truncated))
		gamma_warn("no free descriptors for shared memory with process %d: messages to it "
			   "are slow; raise ulimit -n",
			   scm->sender.pid);
	if (scm->fds[1] < 0 || scm->more_count)
		gamma_scm_close(scm);
	return len;
}

/* Only gammad can give sockets such names in the endpoint's network namespace, which is gammad's.
 * Its user id (root) would prove nothing in a container. */
static bool is_gammad(const struct gamma_shm *shm, const struct gamma_scm *scm)
{
	unsigned len = shm->gammad_len;

	return len && scm->name_len > len && !memcmp(&scm->name, &shm->gammad, len);
}

/* From the port that the frame names as its sender's. */
static bool comes_from_its_port(const struct gamma_scm *scm, const uint8_t *frame)
{
	struct sockaddr_un name;
	uint16_t port;
	unsigned len;

	memcpy(&port, frame + GAMMA_ETH_LEN + offsetof(struct gamma_header, src_port),
	       sizeof(port));
	len = gamma_port_name(frame + GAMMA_MAC_LEN, ntohs(port), &name);
	return scm->name_len == len && !memcmp(&scm->name, &name, len);
}

/* Other users, too, may ask who owns a port, and answer that it is theirs. Their other frames are
 * about flows, which they do not have. */
static bool is_from_own_or_polite(const struct gamma_shm *shm, const struct gamma_scm *scm)
{
	const struct gamma_header *header = (const void *) (shm->frame + GAMMA_ETH_LEN);

	if (!gamma_shm_is_entitled(shm, scm->sender.uid, shm->frame))
		return false;
	if (gamma_shm_trusts(shm, scm->sender.uid))
		return true;
	return (header->version_kind & 0x0f) == GAMMA_KIND_LOOKUP &&
	       (header->op == GAMMA_LOOKUP_ASK || header->op == GAMMA_LOOKUP_OTHER_TENANT) &&
	       comes_from_its_port(scm, shm->frame);
}

static bool next_datagram(struct gamma_shm *shm, struct gamma_arrival *arrival)
{
	struct gamma_scm scm;

	for (unsigned i = 0; i < DATAGRAMS_MAX; i++) {
		ssize_t len = receive_datagram(shm, &scm);

		shm->readable = len >= 0;
		if (len < 0)
			return false;
		shm->alert = GAMMA_SHM_ALERT;
		if (scm.fds[0] >= 0) {
			accept_handover(shm, len, &scm);
			continue;
		}
		if (len < GAMMA_ETH_LEN + GAMMA_HEADER_LEN ||
		    (!is_from_own_or_polite(shm, &scm) && !is_gammad(shm, &scm))) {
			shm->link.stats->malformed++;
			continue;
		}
		arrival->frame = shm->frame;
		arrival->len = (size_t) len;
		arrival->payload = NULL;
		arrival->stamp = 0;
		arrival->flow = NULL;
		return true;
	}
	return false;
}

static void handle_event(struct gamma_shm *shm, enum gamma_shm_watch *watch)
{
	switch (*watch) {
	case GAMMA_SHM_WATCH_PORT:
		shm->readable = true;
		break;
	case GAMMA_SHM_WATCH_TX:
		gamma_tx_channel_read_events(
			shm, gamma_container_of(watch, struct gamma_tx_channel, watch));
		break;
	case GAMMA_SHM_WATCH_RX:
		gamma_rx_channel_read_events(
			shm, gamma_container_of(watch, struct gamma_rx_channel, watch));
		break;
	case GAMMA_SHM_WATCH_PROCESS:
		gamma_rx_channel_process_ended(
			shm, gamma_container_of(watch, struct gamma_rx_channel, watch_process));
		break;
	}
}

static void read_descriptors(struct gamma_shm *shm)
{
	struct epoll_event events[EVENTS];
	uint64_t now = gamma_clock_ns(CLOCK_MONOTONIC_COARSE);
	int count;

	shm->link.stats->receive_calls++;
	count = epoll_wait(shm->link.fd, events, EVENTS, 0);
	if (count < EVENTS)
		shm->looked_at = now;
	/* A wake-up for a sleeper may be consumed here, so its writer must be asked again. */
	if (count > 0)
		shm->armed = false;
	for (int i = 0; i < count; i++)
		handle_event(shm, events[i].data.ptr);
}

static void disarm_all(struct gamma_shm *shm)
{
	gamma_rx_channel_disarm(shm);
	shm->armed = false;
	if (shm->alert < LOOK_AGAIN)
		shm->alert = LOOK_AGAIN;
}

/* Until the descriptors are read next, only shared memory can have anything new. */
static void plan_quiet_polls(struct gamma_shm *shm)
{
	if (shm->alert || shm->armed)
		return;
	shm->quiet_polls = LOOK_EVERY - 1 - shm->polls % LOOK_EVERY;
	shm->polls += shm->quiet_polls;
}

/* Takes back polls that were counted in advance and have not been made. */
static void cancel_quiet_polls(struct gamma_shm *shm)
{
	shm->polls -= shm->quiet_polls;
	shm->quiet_polls = 0;
}

static bool shm_next(struct gamma_link *link, struct gamma_arrival *arrival)
{
	struct gamma_shm *shm = shm_of(link);
	bool found;

	shm->lent = NULL; /* what was not released comes again */
	/* One of the polls that do not read the descriptors. */
	if (gamma_likely(shm->quiet_polls && !shm->alert)) {
		shm->quiet_polls--;
		return gamma_rx_channel_next(shm, arrival);
	}
	cancel_quiet_polls(shm);
	if (gamma_unlikely(shm->armed && !shm->watched))
		disarm_all(shm);
	if (gamma_unlikely(shm->alert || ++shm->polls % LOOK_EVERY == 0)) {
		shm->alert -= shm->alert > 0;
		if (!shm->readable)
			read_descriptors(shm);
		if (shm->readable && next_datagram(shm, arrival))
			return true;
	}
	found = shm->rx_count && gamma_rx_channel_next(shm, arrival);
	plan_quiet_polls(shm);
	return found;
}

static void shm_release(struct gamma_link *link)
{
	struct gamma_shm *shm = shm_of(link);

	if (gamma_unlikely(!shm->lent))
		return;
	if (shm->lent->ring.kind == GAMMA_RECORD_FRAME)
		link->stats->shm_frames_in++;
	else
		link->stats->shm_records_in++;
	gamma_rx_channel_release(shm);
}

void gamma_shm_set_backpressure(struct gamma_shm *shm, bool on)
{
	gamma_rx_channel_set_backpressure(shm, on);
}

void gamma_shm_forget(struct gamma_shm *shm, const struct gamma_flow *flow,
		      const struct gamma_shm_addr *peer)
{
	gamma_rx_channel_forget(shm, flow);
	gamma_tx_channel_forget(shm, peer);
}

static bool shm_arm(struct gamma_link *link)
{
	struct gamma_shm *shm = shm_of(link);

	shm->armed = true;
	cancel_quiet_polls(shm);
	return gamma_rx_channel_arm(shm) || shm->readable || shm->ended;
}

/* Messages that a peer sent before its end are taken first. */
const char *gamma_shm_take_ended(struct gamma_shm *shm, struct gamma_shm_addr *peer,
				 bool *undelivered)
{
	struct gamma_tx_channel *channel;
	const char *cause;

	*undelivered = false;
	if (gamma_likely(!shm->ended) || shm->readable || gamma_rx_channel_any_record(shm))
		return NULL;
	shm->ended--;
	cause = gamma_tx_channel_take_ended(shm, peer, undelivered);
	if (cause)
		return cause;
	cause = gamma_rx_channel_take_ended(shm, peer);
	channel = cause ? gamma_tx_channel_find(shm, peer) : NULL;
	*undelivered = channel && gamma_tx_channel_has_undelivered(channel);
	return cause;
}

/* Its process was alive so recently that its id cannot have been reused. */
static bool is_surely_alive(const struct gamma_shm *shm, const struct gamma_rx_channel *channel)
{
	uint64_t now = gamma_clock_ns(CLOCK_MONOTONIC_COARSE);

	return channel->pid_fd >= 0 && !channel->ended &&
	       now - shm->looked_at <= LIVES_MS * GAMMA_NS_PER_MS;
}

bool gamma_shm_read_memory(struct gamma_shm *shm, const struct gamma_shm_addr *peer,
			   const struct gamma_source *source, uint64_t offset,
			   const struct iovec *iov, unsigned iov_count, uint64_t len)
{
	struct gamma_rx_channel *channel = gamma_rx_channel_find(shm, peer);
	struct gamma_stats *stats = shm->link.stats;
	bool lives;

	if (!channel || !channel->readable)
		return false;
	lives = source->by_record && is_surely_alive(shm, channel);
	stats->receive_calls++;
	if (!gamma_cma_read(channel->pid, source, offset, iov, iov_count, len, lives) ||
	    (lives && gamma_ring_withdrawn(&channel->ring))) {
		stats->cma_failures++;
		return false;
	}
	stats->cma_bytes += len;
	return true;
}

static void shm_count(struct gamma_link *link)
{
	(void) link; /* nothing is dropped here */
}

/* ---- opening and closing ---- */

static void free_shm(struct gamma_shm *shm)
{
	if (shm->link.fd >= 0)
		close(shm->link.fd);
	free(shm->frame);
	free(shm);
}

/* Descriptors that unknown peers have left in the queue may take long to close, so the kernel must
 * not close them in this thread. */
static void close_port_socket(struct gamma_shm *shm)
{
	struct gamma_scm scm;
	bool descriptors;

	shutdown(shm->fd, SHUT_RD);
	while (receive_datagram(shm, &scm) >= 0)
		gamma_scm_close(&scm);
	if (gamma_scm_peek(shm->fd, &scm, &(uint8_t){0}, &descriptors) >= 0)
		gamma_deferred_close_fds(&shm->fd, 1);
	else
		close(shm->fd);
}

static void shm_close(struct gamma_link *link)
{
	struct gamma_shm *shm = shm_of(link);

	gamma_tx_channel_close_all(shm);
	gamma_rx_channel_close_all(shm);
	/* In a forked child it is not the last descriptor, and the parent still reads. */
	if (shm->link.process == getpid())
		close_port_socket(shm);
	else
		close(shm->fd);
	free_shm(shm);
}

static const struct gamma_link_ops shm_ops = {
	.send = shm_send,
	.next = shm_next,
	.release = shm_release,
	.arm = shm_arm,
	.count = shm_count,
	.close = shm_close,
};

/* A power of two within bounds; 0 stays 0. */
static uint32_t round_ring_size(uint64_t wanted)
{
	uint32_t size = GAMMA_SEGMENT_MIN;

	if (!wanted)
		return 0;
	while (size < wanted && size < GAMMA_SEGMENT_MAX)
		size *= 2;
	return size;
}

static int set_up_port_socket(struct gamma_shm *shm, const struct gamma_shm_attr *attr)
{
	int one = 1, bytes = SEND_BUFFER;

	shm->frame = malloc(FRAME_MAX);
	if (!shm->frame)
		return -ENOMEM;
	shm->link.fd = epoll_create1(EPOLL_CLOEXEC);
	if (shm->link.fd < 0 || setsockopt(attr->fd, SOL_SOCKET, SO_PASSCRED, &one, sizeof(one)) ||
	    !gamma_shm_watch_fd(shm, attr->fd, &shm->watch))
		return -errno;
	setsockopt(attr->fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	if (getrandom(shm->nonce, sizeof(shm->nonce), 0) != sizeof(shm->nonce))
		return -EAGAIN;
	return 0;
}

/* A process without a user id of its own in this namespace cannot be distinguished from others. */
static void set_identity(struct gamma_shm *shm, const struct gamma_shm_attr *attr)
{
	shm->tenant = attr->tenant;
	shm->uid = geteuid();
	if (shm->uid == UID_OVERFLOW && attr->tenant != UID_OVERFLOW)
		shm->uid = (uid_t) -1;
	/* The name without its port, which is one digit here. */
	if (attr->gammad)
		shm->gammad_len = gamma_port_name(attr->gammad, 0, &shm->gammad) - 1;
}

int gamma_shm_open(const struct gamma_shm_attr *attr, struct gamma_stats *stats,
		   struct gamma_shm **out)
{
	struct gamma_shm *shm = calloc(1, sizeof(*shm));
	int ret;

	if (!shm)
		return -ENOMEM;
	shm->link = (struct gamma_link){
		.ops = &shm_ops,
		.stats = stats,
		.process = getpid(),
		.fd = -1,
		.mtu = GAMMA_SHM_RING_MTU,
		.slots = SLOTS,
	};
	shm->fd = attr->fd;
	shm->watch = GAMMA_SHM_WATCH_PORT;
	set_identity(shm, attr);
	shm->ring_bytes = round_ring_size(attr->ring_bytes);
	gamma_list_init(&shm->full);
	ret = set_up_port_socket(shm, attr);
	if (ret) {
		free_shm(shm);
		return ret;
	}
	*out = shm;
	return 0;
}
