// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * gammaping's requests and answers: single LOOKUP frames over a link, without a flow, so that the
 * layers above cannot interfere. Called by the steps of gammaping.c.
 */
#include "gammaping.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/live_line.h"

enum {
	SPIN_US = 2000, /* us of polling before it sleeps */
	PART_MS = 500,  /* of sleeping, between two looks at the line of progress */
};

static struct gamma_link *link_of(const struct ping *ping)
{
	return ping->same_host && !ping->udp ? &ping->shm->link : ping->packet;
}

void lookup_begin(struct ping *ping)
{
	ping->oldest = ping->seq + 1;
}

int lookup_send(struct ping *ping, uint16_t port, uint32_t payload)
{
	struct gamma_frame frame = {.iov_count = 0, .kind = GAMMA_KIND_LOOKUP};
	struct gamma_link *link = link_of(ping);
	struct gamma_fields fields = {
		.kind = GAMMA_KIND_LOOKUP,
		.op = GAMMA_LOOKUP_ASK,
		.dst_port = port,
		.src_port = ping->own_port,
		.tenant = ping->tenant,
		.src_epoch = ping->epoch,
		.dst_epoch = GAMMA_EPOCH_ANY,
		.seq = ++ping->seq,
		.payload_len = (uint16_t) payload,
	};
	int error;

	if (payload) {
		frame.iov[0] = (struct iovec){.iov_base = ping->zeros, .iov_len = payload};
		frame.iov_count = 1;
	}
	frame.head = gamma_codec_build(&fields, ping->peer.mac, ping->own_mac, ping->ethertype,
				       frame.room + sizeof(frame.room));
	frame.head_len = GAMMA_ETH_LEN + fields.header_len;
	errno = 0;
	return link->ops->send(link, &frame, 1, &error) ? 0 : -errno;
}

/* Whether a frame answers a request since lookup_begin. */
static bool is_answer(const struct ping *ping, const struct gamma_arrival *arrival,
		      struct lookup_answer *answer)
{
	const uint8_t *payload;
	struct gamma_fields fields;

	if (gamma_codec_parse(arrival->frame, arrival->len, &fields) != GAMMA_OK ||
	    fields.kind != GAMMA_KIND_LOOKUP || fields.op == GAMMA_LOOKUP_ASK ||
	    fields.dst_epoch != ping->epoch)
		return false;
	if (fields.seq - ping->oldest > ping->seq - ping->oldest)
		return false;
	if (memcmp(arrival->frame + GAMMA_MAC_LEN, ping->peer.mac, GAMMA_MAC_LEN))
		return false;
	memset(answer, 0, sizeof(*answer));
	answer->op = fields.op;
	answer->port = fields.src_port;
	answer->tenant = fields.tenant;
	payload = arrival->frame + GAMMA_ETH_LEN + fields.header_len;
	if (fields.op == GAMMA_LOOKUP_FOUND && fields.payload_len < GAMMA_ADDR_LEN)
		return false;
	if (fields.op == GAMMA_LOOKUP_FOUND)
		memcpy(&answer->addr, payload, sizeof(answer->addr));
	if (fields.op == GAMMA_LOOKUP_FOUND &&
	    fields.payload_len >= GAMMA_ADDR_LEN + sizeof(answer->rails))
		memcpy(&answer->rails, payload + GAMMA_ADDR_LEN, sizeof(answer->rails));
	answer->rails.count = (uint8_t) gamma_min(answer->rails.count, GAMMA_RAILS_MAX);
	return true;
}

/* Polls for a while, since a core that slept answers late, then sleeps until that time. */
static void wait_for_frame(const struct ping *ping, uint64_t began, uint64_t until)
{
	struct pollfd poll_fd = {.fd = link_of(ping)->fd, .events = POLLIN};
	uint64_t now = gamma_now();
	uint64_t left = until > now ? until - now : 0;
	struct timespec wait = {
		.tv_sec = (time_t) (left / GAMMA_NS_PER_S),
		.tv_nsec = (long) (left % GAMMA_NS_PER_S),
	};

	if (now < began + SPIN_US * GAMMA_NS_PER_US)
		sched_yield();
	else if (!link_of(ping)->ops->arm(link_of(ping)))
		ppoll(&poll_fd, 1, &wait, NULL);
}

bool lookup_wait(struct ping *ping, uint64_t until, struct lookup_answer *answer)
{
	struct gamma_link *link = link_of(ping);
	uint64_t began = gamma_now();
	struct gamma_arrival arrival;
	bool is_one;

	while (!gammaping_interrupted) {
		uint64_t now = gamma_now();

		if (link->ops->next(link, &arrival)) {
			is_one = is_answer(ping, &arrival, answer);
			link->ops->release(link);
			if (is_one) {
				gamma_live_line_end();
				return true;
			}
		} else if (now >= until) {
			return false;
		} else {
			gamma_live_line_show("waiting for an answer");
			wait_for_frame(ping, began,
				       gamma_min(until, now + PART_MS * GAMMA_NS_PER_MS));
		}
	}
	return false;
}

bool lookup_ask(struct ping *ping, uint32_t payload, int tries, uint64_t share)
{
	struct lookup_answer answer;

	lookup_begin(ping);
	for (int try = 0; try < tries && !gammaping_interrupted; try++)
		if (!lookup_send(ping, ping->found.port, payload) &&
		    lookup_wait(ping, gamma_now() + share, &answer))
			return true;
	return false;
}
