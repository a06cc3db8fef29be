// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The link between processes of one host: frames to the own MAC never come back from a NIC. They go
 * through shared memory (channel.c, rx_channel.c), or through the receiver's port socket (AF_UNIX
 * datagrams, which keep order and are not lost) where there is none. The kernel vouches for the
 * sender's user id in both cases.
 *
 * While frames come and go through shared memory no system call is made; the descriptors behind
 * the epoll are looked at now and then, and whenever this process has slept.
 */
#include "shm/shm.h"
#include "unix/deferred_close.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/un.h>
#include <unistd.h>

enum {
	FRAME_MAX = GAMMA_ETH_LEN + GAMMA_SHM_SOCKET_MTU,
	SEND_BUFFER = 4 << 20, /* bytes */
	UID_OVERFLOW = 65534,  /* whom this user namespace does not know */
	SLOTS = 1024,          /* nominal: the sender waits instead of losing frames */
	LOOK_EVERY = 1024,     /* polls between two looks at the descriptors */
	LOOK_AGAIN = 2,        /* polls that look after having slept */
	EVENTS = 16,           /* descriptors looked at in one go */
	LIVES_MS = 10,         /* in which the kernel cannot have used all numbers of processes */
};

bool gamma_shm_watch_fd(struct gamma_shm *shm, int fd, enum gamma_shm_watch *watch)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = watch};

	return !epoll_ctl(shm->link.fd, EPOLL_CTL_ADD, fd, &event);
}

void gamma_shm_close_fd(struct gamma_shm *shm, int *fd)
{
	if (*fd < 0)
		return;
	/* A child may still have it open, so that closing alone would not end the watch. It shares
	 * the epoll, and takes nothing out. */
	if (getpid() == shm->link.process)
		epoll_ctl(shm->link.fd, EPOLL_CTL_DEL, *fd, NULL);
	close(*fd);
	*fd = -1;
}

/* ---- the way out ---- */

static int send_one(struct gamma_shm *shm, const struct gamma_frame *frame)
{
	struct gamma_tx_channel *channel = gamma_tx_channel_for(shm, frame);

	if (gamma_likely(channel))
		return gamma_tx_channel_put_frame(shm, channel, frame);
	return gamma_shm_send_datagram(shm, frame->head, frame->head_len, frame->iov,
				       frame->iov_count);
}

static unsigned samehost_send(struct gamma_link *link, const struct gamma_frame *frames,
			      unsigned count, int *error)
{
	struct gamma_shm *shm = gamma_container_of(link, struct gamma_shm, link);
	unsigned done = 0;
	int ret = 0;

	while (done < count) {
		ret = send_one(shm, &frames[done]);
		if (gamma_unlikely(ret))
			break;
		done++;
	}
	*error = ret == -ECONNREFUSED || ret == -EPROTO ? ret : -EAGAIN;
	return done;
}

static struct gamma_tx_channel *samehost_way(struct gamma_link *link,
					     const struct gamma_shm_addr *addr)
{
	struct gamma_shm *shm = gamma_container_of(link, struct gamma_shm, link);

	return (struct gamma_tx_channel *) gamma_tx_channel_find_ready(shm, addr);
}

GAMMA_FLATTEN static bool samehost_put(struct gamma_link *link, struct gamma_tx_channel *way,
				       const struct gamma_shm_message *plain,
				       const struct iovec *iov, unsigned iov_count)
{
	struct gamma_shm *shm = gamma_container_of(link, struct gamma_shm, link);

	return gamma_tx_channel_put_message(shm, (struct gamma_tx_channel *) way, plain, iov,
					    iov_count);
}

static bool samehost_left(const struct gamma_tx_channel *way)
{
	return gamma_tx_channel_has_undelivered((struct gamma_tx_channel *) way);
}

static void samehost_withdraw(struct gamma_tx_channel *way)
{
	gamma_tx_channel_withdraw((struct gamma_tx_channel *) way);
}

static bool samehost_room(struct gamma_link *link)
{
	struct gamma_shm *shm = gamma_container_of(link, struct gamma_shm, link);

	return gamma_tx_channel_any_room(shm);
}

/* ---- the way in ---- */

static void take_handover(struct gamma_shm *shm, ssize_t len, struct gamma_scm *scm)
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

/* Descriptors come in pairs: otherwise they are nobody's. */
static ssize_t receive(struct gamma_shm *shm, struct gamma_scm *scm)
{
	ssize_t len = -EAGAIN;

	if (gamma_unlikely(gamma_deferred_close_is_full()))
		return len;
	len = gamma_scm_receive(shm->fd, shm->frame, FRAME_MAX, scm);
	shm->link.stats->receive_calls++;
	if (len < 0)
		return len;
	if (!gamma_shm_trusts(shm, scm->sender.uid))
		gamma_scm_close_deferred(scm);
	else if (scm->fds[1] < 0 || scm->more_count)
		gamma_scm_close(scm);
	return len;
}

/* Nobody else can give sockets such names where the endpoint's is: in gammad's network
 * namespace. Its user id, root's, says nothing in a container. */
static bool is_gammad(const struct gamma_shm *shm, const struct gamma_scm *scm)
{
	unsigned len = shm->gammad_len;

	return len && scm->name_len > len && !memcmp(&scm->name, &shm->gammad, len);
}

static bool next_datagram(struct gamma_shm *shm, struct gamma_arrival *arrival)
{
	struct gamma_scm scm;
	ssize_t len;

	while ((len = receive(shm, &scm)) >= 0) {
		shm->alert = GAMMA_SHM_ALERT;
		if (scm.fds[0] >= 0) {
			take_handover(shm, len, &scm);
			continue;
		}
		if (len < GAMMA_ETH_LEN + GAMMA_HEADER_LEN ||
		    (!gamma_shm_is_entitled(shm, scm.sender.uid, shm->frame) &&
		     !is_gammad(shm, &scm))) {
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
	shm->readable = false;
	return false;
}

/* One of the descriptors has something to say. */
static void heard(struct gamma_shm *shm, enum gamma_shm_watch *watch)
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

static void look(struct gamma_shm *shm)
{
	struct epoll_event events[EVENTS];
	uint64_t now = gamma_clock_ns(CLOCK_MONOTONIC_COARSE);
	int count;

	shm->link.stats->receive_calls++;
	count = epoll_wait(shm->link.fd, events, EVENTS, 0);
	if (count < EVENTS)
		shm->looked_at = now;
	/* What was to wake a sleeper is taken here, and its writer has to be asked again. */
	if (count > 0)
		shm->link.armed = false;
	for (int i = 0; i < count; i++)
		heard(shm, events[i].data.ptr);
}

static void wake_up(struct gamma_shm *shm)
{
	gamma_rx_channel_disarm(shm);
	shm->link.armed = false;
	if (shm->alert < LOOK_AGAIN)
		shm->alert = LOOK_AGAIN;
}

/* Until the next look at the descriptors nothing can be found but in shared memory. */
static void rest(struct gamma_shm *shm)
{
	if (shm->alert || shm->link.armed)
		return;
	shm->link.quiet_polls = LOOK_EVERY - 1 - shm->polls % LOOK_EVERY;
	shm->polls += shm->link.quiet_polls;
}

/* Polls that were counted in advance and have not been made. */
static void end_rest(struct gamma_shm *shm)
{
	shm->polls -= shm->link.quiet_polls;
	shm->link.quiet_polls = 0;
}

static bool samehost_next(struct gamma_link *link, struct gamma_arrival *arrival)
{
	struct gamma_shm *shm = gamma_container_of(link, struct gamma_shm, link);
	bool found;

	shm->lent = NULL; /* what was not released comes again */
	/* Of the polls that do not look at the descriptors. */
	if (gamma_likely(link->quiet_polls && !shm->alert)) {
		link->quiet_polls--;
		return gamma_rx_channel_next(shm, arrival);
	}
	end_rest(shm);
	if (gamma_unlikely(link->armed && !link->watched))
		wake_up(shm);
	if (gamma_unlikely(shm->alert || ++shm->polls % LOOK_EVERY == 0)) {
		shm->alert -= shm->alert > 0;
		if (!shm->readable)
			look(shm);
		if (shm->readable && next_datagram(shm, arrival))
			return true;
	}
	found = shm->rx_count && gamma_rx_channel_next(shm, arrival);
	rest(shm);
	return found;
}

static void samehost_release(struct gamma_link *link)
{
	struct gamma_shm *shm = gamma_container_of(link, struct gamma_shm, link);

	if (gamma_unlikely(!shm->lent))
		return;
	if (shm->lent->ring.kind == GAMMA_RECORD_FRAME)
		link->stats->shm_frames_in++;
	else
		link->stats->shm_records_in++;
	gamma_rx_channel_release(shm);
}

static void samehost_press(struct gamma_link *link, bool backpressure)
{
	gamma_rx_channel_set_backpressure(gamma_container_of(link, struct gamma_shm, link),
					  backpressure);
}

static void samehost_forget(struct gamma_link *link, const struct gamma_flow *flow,
			    const struct gamma_shm_addr *addr)
{
	struct gamma_shm *shm = gamma_container_of(link, struct gamma_shm, link);

	gamma_rx_channel_forget(shm, flow);
	gamma_tx_channel_forget(shm, addr);
}

static bool samehost_arm(struct gamma_link *link)
{
	struct gamma_shm *shm = gamma_container_of(link, struct gamma_shm, link);

	link->armed = true;
	end_rest(shm);
	return gamma_rx_channel_arm(shm) || shm->readable || shm->ended;
}

/* What a neighbour has sent before its end is taken first. */
static const char *samehost_lost(struct gamma_link *link, struct gamma_shm_addr *addr, bool *left)
{
	struct gamma_shm *shm = gamma_container_of(link, struct gamma_shm, link);
	struct gamma_tx_channel *channel;
	const char *cause;

	*left = false;
	if (gamma_likely(!shm->ended) || shm->readable || gamma_rx_channel_any_record(shm))
		return NULL;
	shm->ended--;
	cause = gamma_tx_channel_take_ended(shm, addr, left);
	if (cause)
		return cause;
	cause = gamma_rx_channel_take_ended(shm, addr);
	channel = cause ? gamma_tx_channel_find(shm, addr) : NULL;
	*left = channel && gamma_tx_channel_has_undelivered(channel);
	return cause;
}

/* Its process has been seen so lately that no other can have got its number. */
static bool surely_lives(const struct gamma_shm *shm, const struct gamma_rx_channel *rx_channel)
{
	uint64_t now = gamma_clock_ns(CLOCK_MONOTONIC_COARSE);

	return rx_channel->pid_fd >= 0 && !rx_channel->ended &&
	       now - shm->looked_at <= LIVES_MS * GAMMA_NS_PER_MS;
}

static bool samehost_pull(struct gamma_link *link, const struct gamma_shm_addr *addr,
			  const struct gamma_source *source, uint64_t offset,
			  const struct iovec *iov, unsigned iov_count, uint64_t len)
{
	struct gamma_shm *shm = gamma_container_of(link, struct gamma_shm, link);
	struct gamma_rx_channel *rx_channel = gamma_rx_channel_find(shm, addr);
	bool lives;

	if (!rx_channel || !rx_channel->readable)
		return false;
	lives = source->near && surely_lives(shm, rx_channel);
	link->stats->receive_calls++;
	if (!gamma_cma_read(rx_channel->pid, source, offset, iov, iov_count, len, lives) ||
	    (lives && gamma_ring_withdrawn(&rx_channel->ring))) {
		link->stats->cma_failures++;
		return false;
	}
	link->stats->cma_bytes += len;
	return true;
}

static void samehost_count(struct gamma_link *link)
{
	(void) link;
}

/* ---- life ---- */

static void free_link(struct gamma_shm *shm)
{
	if (shm->link.fd >= 0)
		close(shm->link.fd);
	free(shm->frame);
	free(shm);
}

/* What strangers have left there is not for this thread to throw away. */
static void drain(struct gamma_shm *shm)
{
	struct gamma_scm scm;

	shutdown(shm->fd, SHUT_RD);
	while (receive(shm, &scm) >= 0)
		gamma_scm_close(&scm);
}

static void samehost_close(struct gamma_link *link)
{
	struct gamma_shm *shm = gamma_container_of(link, struct gamma_shm, link);

	gamma_tx_channel_close_all(shm);
	gamma_rx_channel_close_all(shm);
	/* In a forked child it is not the last descriptor, and the parent goes on reading. */
	if (shm->link.process == getpid())
		drain(shm);
	close(shm->fd);
	free_link(shm);
}

static const struct gamma_link_ops shm_ops = {
	.send = samehost_send,
	.room = samehost_room,
	.tx_channel = samehost_way,
	.put = samehost_put,
	.withdraw = samehost_withdraw,
	.press = samehost_press,
	.forget = samehost_forget,
	.next = samehost_next,
	.release = samehost_release,
	.arm = samehost_arm,
	.lost = samehost_lost,
	.left = samehost_left,
	.pull = samehost_pull,
	.count = samehost_count,
	.close = samehost_close,
};

/* A power of two within bounds; 0 stays 0. */
static uint32_t ring_size(uint64_t wanted)
{
	uint32_t size = GAMMA_SEGMENT_MIN;

	if (!wanted)
		return 0;
	while (size < wanted && size < GAMMA_SEGMENT_MAX)
		size *= 2;
	return size;
}

static int set_up(struct gamma_shm *shm, const struct gamma_shm_attr *attr)
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

/* Without an own user id in this namespace others could not be told from us. */
static void identify(struct gamma_shm *shm, const struct gamma_shm_attr *attr)
{
	shm->tenant = attr->tenant;
	shm->uid = geteuid();
	if (shm->uid == UID_OVERFLOW && attr->tenant != UID_OVERFLOW)
		shm->uid = (uid_t) -1;
	/* All but the port, of one digit here. */
	if (attr->gammad)
		shm->gammad_len = gamma_port_name(attr->gammad, 0, &shm->gammad) - 1;
}

int gamma_shm_open(const struct gamma_shm_attr *attr, struct gamma_stats *stats,
		   struct gamma_link **link)
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
	identify(shm, attr);
	shm->ring_bytes = ring_size(attr->ring_bytes);
	gamma_list_init(&shm->full);
	ret = set_up(shm, attr);
	if (ret) {
		free_link(shm);
		return ret;
	}
	*link = &shm->link;
	return 0;
}
