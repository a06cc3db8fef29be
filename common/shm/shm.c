// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The link between processes of one host: frames to the own MAC never come back from a NIC. They go
 * through shared memory (outbox.c, inbox.c), or through the receiver's port socket (AF_UNIX
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
	FRAME_MAX = GAMMA_ETH_LEN + GAMMA_SAMEHOST_MTU,
	SEND_BUFFER = 4 << 20, /* bytes */
	UID_OVERFLOW = 65534,  /* whom this user namespace does not know */
	SLOTS = 1024,          /* nominal: the sender waits instead of losing frames */
	LOOK_EVERY = 1024,     /* polls between two looks at the descriptors */
	LOOK_AGAIN = 2,        /* polls that look after having slept */
	EVENTS = 16,           /* descriptors looked at in one go */
	LIVES_MS = 10,         /* in which the kernel cannot have used all numbers of processes */
};

bool gamma_samehost_watch(struct gamma_samehost *samehost, int fd, enum gamma_watch *watch)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = watch};

	return !epoll_ctl(samehost->link.fd, EPOLL_CTL_ADD, fd, &event);
}

void gamma_samehost_drop(struct gamma_samehost *samehost, int *fd)
{
	if (*fd < 0)
		return;
	/* A child may still have it open, so that closing alone would not end the watch. It shares
	 * the epoll, and takes nothing out. */
	if (getpid() == samehost->link.process)
		epoll_ctl(samehost->link.fd, EPOLL_CTL_DEL, *fd, NULL);
	close(*fd);
	*fd = -1;
}

/* ---- the way out ---- */

static int send_one(struct gamma_samehost *samehost, const struct gamma_frame *frame)
{
	struct gamma_outbox *outbox = gamma_outbox_for(samehost, frame);

	if (gamma_likely(outbox))
		return gamma_outbox_put(samehost, outbox, frame);
	return gamma_samehost_send_datagram(samehost, frame->head, frame->head_len, frame->iov,
					    frame->iov_count);
}

static unsigned samehost_send(struct gamma_link *link, const struct gamma_frame *frames,
			      unsigned count, int *error)
{
	struct gamma_samehost *samehost = gamma_container_of(link, struct gamma_samehost, link);
	unsigned done = 0;
	int ret = 0;

	while (done < count) {
		ret = send_one(samehost, &frames[done]);
		if (gamma_unlikely(ret))
			break;
		done++;
	}
	*error = ret == -ECONNREFUSED || ret == -EPROTO ? ret : -EAGAIN;
	return done;
}

static struct gamma_way *samehost_way(struct gamma_link *link, const struct gamma_place *place)
{
	struct gamma_samehost *samehost = gamma_container_of(link, struct gamma_samehost, link);

	return (struct gamma_way *) gamma_outbox_plain(samehost, place);
}

GAMMA_FLATTEN static bool samehost_put(struct gamma_link *link, struct gamma_way *way,
				       const struct gamma_shm_message *plain,
				       const struct iovec *iov, unsigned iov_count)
{
	struct gamma_samehost *samehost = gamma_container_of(link, struct gamma_samehost, link);

	return gamma_outbox_put_plain(samehost, (struct gamma_outbox *) way, plain, iov, iov_count);
}

static bool samehost_left(const struct gamma_way *way)
{
	return gamma_outbox_left((struct gamma_outbox *) way);
}

static void samehost_withdraw(struct gamma_way *way)
{
	gamma_outbox_withdraw((struct gamma_outbox *) way);
}

static bool samehost_room(struct gamma_link *link)
{
	struct gamma_samehost *samehost = gamma_container_of(link, struct gamma_samehost, link);

	return gamma_outbox_room(samehost);
}

/* ---- the way in ---- */

static void take_handover(struct gamma_samehost *samehost, ssize_t len,
			  struct gamma_enclosed *enclosed)
{
	struct gamma_handover handover;

	if (len == sizeof(handover)) {
		memcpy(&handover, samehost->frame, sizeof(handover));
		gamma_inbox_accept(samehost, &handover, enclosed);
		return;
	}
	samehost->link.stats->malformed++;
	gamma_enclosed_close(enclosed);
}

/* Descriptors come in pairs: otherwise they are nobody's. */
static ssize_t receive(struct gamma_samehost *samehost, struct gamma_enclosed *enclosed)
{
	ssize_t len = -EAGAIN;

	if (gamma_unlikely(gamma_apart_full()))
		return len;
	len = gamma_enclosed_receive(samehost->fd, samehost->frame, FRAME_MAX, enclosed);
	samehost->link.stats->receive_calls++;
	if (len < 0)
		return len;
	if (!gamma_samehost_trusts(samehost, enclosed->sender.uid))
		gamma_enclosed_close_apart(enclosed);
	else if (enclosed->fds[1] < 0 || enclosed->more_count)
		gamma_enclosed_close(enclosed);
	return len;
}

/* Nobody else can give sockets such names where the endpoint's is: in gammad's network
 * namespace. Its user id, root's, says nothing in a container. */
static bool is_gammad(const struct gamma_samehost *samehost, const struct gamma_enclosed *enclosed)
{
	unsigned len = samehost->gammad_len;

	return len && enclosed->name_len > len && !memcmp(&enclosed->name, &samehost->gammad, len);
}

static bool next_datagram(struct gamma_samehost *samehost, struct gamma_arrival *arrival)
{
	struct gamma_enclosed enclosed;
	ssize_t len;

	while ((len = receive(samehost, &enclosed)) >= 0) {
		samehost->alert = GAMMA_SAMEHOST_ALERT;
		if (enclosed.fds[0] >= 0) {
			take_handover(samehost, len, &enclosed);
			continue;
		}
		if (len < GAMMA_ETH_LEN + GAMMA_HEADER_LEN ||
		    (!gamma_samehost_entitled(samehost, enclosed.sender.uid, samehost->frame) &&
		     !is_gammad(samehost, &enclosed))) {
			samehost->link.stats->malformed++;
			continue;
		}
		arrival->frame = samehost->frame;
		arrival->len = (size_t) len;
		arrival->payload = NULL;
		arrival->stamp = 0;
		arrival->flow = NULL;
		return true;
	}
	samehost->readable = false;
	return false;
}

/* One of the descriptors has something to say. */
static void heard(struct gamma_samehost *samehost, enum gamma_watch *watch)
{
	switch (*watch) {
	case GAMMA_WATCH_PORT:
		samehost->readable = true;
		break;
	case GAMMA_WATCH_OUTBOX:
		gamma_outbox_heard(samehost, gamma_container_of(watch, struct gamma_outbox, watch));
		break;
	case GAMMA_WATCH_INBOX:
		gamma_inbox_heard(samehost, gamma_container_of(watch, struct gamma_inbox, watch));
		break;
	case GAMMA_WATCH_PROCESS:
		gamma_inbox_process_ended(
			samehost, gamma_container_of(watch, struct gamma_inbox, watch_process));
		break;
	}
}

static void look(struct gamma_samehost *samehost)
{
	struct epoll_event events[EVENTS];
	uint64_t now = gamma_clock_ns(CLOCK_MONOTONIC_COARSE);
	int count;

	samehost->link.stats->receive_calls++;
	count = epoll_wait(samehost->link.fd, events, EVENTS, 0);
	if (count < EVENTS)
		samehost->looked_at = now;
	/* What was to wake a sleeper is taken here, and its writer has to be asked again. */
	if (count > 0)
		samehost->link.armed = false;
	for (int i = 0; i < count; i++)
		heard(samehost, events[i].data.ptr);
}

static void wake_up(struct gamma_samehost *samehost)
{
	gamma_inbox_disarm(samehost);
	samehost->link.armed = false;
	if (samehost->alert < LOOK_AGAIN)
		samehost->alert = LOOK_AGAIN;
}

/* Until the next look at the descriptors nothing can be found but in shared memory. */
static void rest(struct gamma_samehost *samehost)
{
	if (samehost->alert || samehost->link.armed)
		return;
	samehost->link.rest = LOOK_EVERY - 1 - samehost->polls % LOOK_EVERY;
	samehost->polls += samehost->link.rest;
}

/* Polls that were counted in advance and have not been made. */
static void end_rest(struct gamma_samehost *samehost)
{
	samehost->polls -= samehost->link.rest;
	samehost->link.rest = 0;
}

static bool samehost_next(struct gamma_link *link, struct gamma_arrival *arrival)
{
	struct gamma_samehost *samehost = gamma_container_of(link, struct gamma_samehost, link);
	bool found;

	samehost->lent = NULL; /* what was not released comes again */
	/* Of the polls that do not look at the descriptors. */
	if (gamma_likely(link->rest && !samehost->alert)) {
		link->rest--;
		return gamma_inbox_next(samehost, arrival);
	}
	end_rest(samehost);
	if (gamma_unlikely(link->armed && !link->watched))
		wake_up(samehost);
	if (gamma_unlikely(samehost->alert || ++samehost->polls % LOOK_EVERY == 0)) {
		samehost->alert -= samehost->alert > 0;
		if (!samehost->readable)
			look(samehost);
		if (samehost->readable && next_datagram(samehost, arrival))
			return true;
	}
	found = samehost->inbox_count && gamma_inbox_next(samehost, arrival);
	rest(samehost);
	return found;
}

static void samehost_release(struct gamma_link *link)
{
	struct gamma_samehost *samehost = gamma_container_of(link, struct gamma_samehost, link);

	if (gamma_unlikely(!samehost->lent))
		return;
	if (samehost->lent->ring.kind == GAMMA_RECORD_FRAME)
		link->stats->ring_frames_in++;
	else
		link->stats->plain_in++;
	gamma_inbox_release(samehost);
}

static void samehost_press(struct gamma_link *link, bool backpressure)
{
	gamma_inbox_press(gamma_container_of(link, struct gamma_samehost, link), backpressure);
}

static void samehost_forget(struct gamma_link *link, const struct gamma_flow *flow,
			    const struct gamma_place *place)
{
	struct gamma_samehost *samehost = gamma_container_of(link, struct gamma_samehost, link);

	gamma_inbox_forget(samehost, flow);
	gamma_outbox_forget(samehost, place);
}

static bool samehost_arm(struct gamma_link *link)
{
	struct gamma_samehost *samehost = gamma_container_of(link, struct gamma_samehost, link);

	link->armed = true;
	end_rest(samehost);
	return gamma_inbox_arm(samehost) || samehost->readable || samehost->ended;
}

/* What a neighbour has sent before its end is taken first. */
static const char *samehost_lost(struct gamma_link *link, struct gamma_place *place, bool *left)
{
	struct gamma_samehost *samehost = gamma_container_of(link, struct gamma_samehost, link);
	struct gamma_outbox *outbox;
	const char *cause;

	*left = false;
	if (gamma_likely(!samehost->ended) || samehost->readable || gamma_inbox_waits(samehost))
		return NULL;
	samehost->ended--;
	cause = gamma_outbox_lost(samehost, place, left);
	if (cause)
		return cause;
	cause = gamma_inbox_lost(samehost, place);
	outbox = cause ? gamma_outbox_find(samehost, place) : NULL;
	*left = outbox && gamma_outbox_left(outbox);
	return cause;
}

/* Its process has been seen so lately that no other can have got its number. */
static bool surely_lives(const struct gamma_samehost *samehost, const struct gamma_inbox *inbox)
{
	uint64_t now = gamma_clock_ns(CLOCK_MONOTONIC_COARSE);

	return inbox->pid_fd >= 0 && !inbox->ended &&
	       now - samehost->looked_at <= LIVES_MS * GAMMA_NS_PER_MS;
}

static bool samehost_pull(struct gamma_link *link, const struct gamma_place *place,
			  const struct gamma_source *source, uint64_t offset,
			  const struct iovec *iov, unsigned iov_count, uint64_t len)
{
	struct gamma_samehost *samehost = gamma_container_of(link, struct gamma_samehost, link);
	struct gamma_inbox *inbox = gamma_inbox_of(samehost, place);
	bool lives;

	if (!inbox || !inbox->readable)
		return false;
	lives = source->near && surely_lives(samehost, inbox);
	link->stats->receive_calls++;
	if (!gamma_pull(inbox->pid, source, offset, iov, iov_count, len, lives) ||
	    (lives && gamma_ring_withdrawn(&inbox->ring))) {
		link->stats->pulls_failed++;
		return false;
	}
	link->stats->bytes_pulled += len;
	return true;
}

static void samehost_count(struct gamma_link *link)
{
	(void) link;
}

/* ---- life ---- */

static void free_link(struct gamma_samehost *samehost)
{
	if (samehost->link.fd >= 0)
		close(samehost->link.fd);
	free(samehost->frame);
	free(samehost);
}

/* What strangers have left there is not for this thread to throw away. */
static void drain(struct gamma_samehost *samehost)
{
	struct gamma_enclosed enclosed;

	shutdown(samehost->fd, SHUT_RD);
	while (receive(samehost, &enclosed) >= 0)
		gamma_enclosed_close(&enclosed);
}

static void samehost_close(struct gamma_link *link)
{
	struct gamma_samehost *samehost = gamma_container_of(link, struct gamma_samehost, link);

	gamma_outbox_close_all(samehost);
	gamma_inbox_close_all(samehost);
	/* In a forked child it is not the last descriptor, and the parent goes on reading. */
	if (samehost->link.process == getpid())
		drain(samehost);
	close(samehost->fd);
	free_link(samehost);
}

static const struct gamma_link_ops samehost_ops = {
	.send = samehost_send,
	.room = samehost_room,
	.way = samehost_way,
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

static int set_up(struct gamma_samehost *samehost, const struct gamma_samehost_attr *attr)
{
	int one = 1, bytes = SEND_BUFFER;

	samehost->frame = malloc(FRAME_MAX);
	if (!samehost->frame)
		return -ENOMEM;
	samehost->link.fd = epoll_create1(EPOLL_CLOEXEC);
	if (samehost->link.fd < 0 ||
	    setsockopt(attr->fd, SOL_SOCKET, SO_PASSCRED, &one, sizeof(one)) ||
	    !gamma_samehost_watch(samehost, attr->fd, &samehost->watch))
		return -errno;
	setsockopt(attr->fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	if (getrandom(samehost->nonce, sizeof(samehost->nonce), 0) != sizeof(samehost->nonce))
		return -EAGAIN;
	return 0;
}

/* Without an own user id in this namespace others could not be told from us. */
static void identify(struct gamma_samehost *samehost, const struct gamma_samehost_attr *attr)
{
	samehost->tenant = attr->tenant;
	samehost->uid = geteuid();
	if (samehost->uid == UID_OVERFLOW && attr->tenant != UID_OVERFLOW)
		samehost->uid = (uid_t) -1;
	/* All but the port, of one digit here. */
	if (attr->gammad)
		samehost->gammad_len = gamma_port_name(attr->gammad, 0, &samehost->gammad) - 1;
}

int gamma_samehost_open(const struct gamma_samehost_attr *attr, struct gamma_stats *stats,
			struct gamma_link **link)
{
	struct gamma_samehost *samehost = calloc(1, sizeof(*samehost));
	int ret;

	if (!samehost)
		return -ENOMEM;
	samehost->link = (struct gamma_link){
		.ops = &samehost_ops,
		.stats = stats,
		.process = getpid(),
		.fd = -1,
		.mtu = GAMMA_RING_MTU,
		.slots = SLOTS,
	};
	samehost->fd = attr->fd;
	samehost->watch = GAMMA_WATCH_PORT;
	identify(samehost, attr);
	samehost->ring_bytes = ring_size(attr->ring_bytes);
	gamma_list_init(&samehost->full);
	ret = set_up(samehost, attr);
	if (ret) {
		free_link(samehost);
		return ret;
	}
	*link = &samehost->link;
	return 0;
}
