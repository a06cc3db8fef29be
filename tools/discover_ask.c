// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * gamma-discover's questions and answers: single LOOKUP frames, HOST_ASK to gammad, and ASK for
 * hosts where only an endpoint may answer.
 */
#include "discover.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "base/live_line.h"
#include "link/packet.h"
#include "link/port.h"
#include "wire/codec.h"

enum {
	RING_BYTES = 4 << 20,
	ROUNDS = 3,          /* questions to all, at least */
	ROUNDS_MAX = 12,     /* at most: as long as hosts answer that have not before */
	LISTED_BURST = 8,    /* hosts of gamma.conf that are asked together */
	LISTED_WAIT_MS = 30, /* for their answers; twice as long in each further round */
	SPIN_US = 2000,      /* us of polling before it sleeps, where times are measured */
	TRIP_WAIT_MS = 20,   /* for an answer, before the next question */
	LATE_WAIT_MS = 150,  /* for answers that were late */
	FULL_TRIES = 3,      /* large frames until the host fails */
	FULL_WAIT_MS = 100,  /* for the answer to each */
	TRIPS_MAX = 4096,    /* questions of one measurement */
	LATE_LIMIT = 50,     /* unanswered ones after which a measurement ends */
};

#define SHOW_NS (500 * GAMMA_NS_PER_MS) /* between two looks at a line of progress */

static const uint8_t everybody[GAMMA_MAC_LEN] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

/* ---- the link ---- */

static int open_raw(struct discover *discover)
{
	struct gamma_packet_attr attr = {
		.ifindex = discover->nic->ifindex,
		.ethertype = discover->ethertype,
		.tenant = geteuid(),
		.mtu = (uint32_t) gamma_min(discover->nic->mtu, UINT16_MAX),
		.ring_bytes = RING_BYTES,
	};
	int fd = gamma_port_claim(discover->nic->mac, &discover->port);

	if (fd < 0)
		return fd;
	attr.port = discover->port;
	memcpy(discover->mac, discover->nic->mac, GAMMA_MAC_LEN);
	return gamma_packet_open(&attr, &discover->stats, &discover->link);
}

/* A slot of gammad's has a MAC of its own, as the endpoints of jobs have. */
static int open_slot(struct discover *discover)
{
	struct gamma_broker_open ask = {
		.epoch = discover->epoch,
		.ethertype = discover->ethertype,
		.ring_bytes = RING_BYTES,
	};
	int ret;

	memcpy(ask.mac, discover->nic->mac, GAMMA_MAC_LEN);
	ret = gamma_broker_open(GAMMA_BROKER_PATH, &ask, &discover->brokered);
	if (ret)
		return ret;
	memcpy(discover->mac, discover->brokered.opened.mac, GAMMA_MAC_LEN);
	discover->port = discover->brokered.opened.port;
	return gamma_packet_adopt(&discover->brokered, &discover->stats, &discover->link);
}

void discover_ask_open(struct discover *discover)
{
	int ret;

	discover->payload = calloc(1, UINT16_MAX);
	if (!discover->payload ||
	    getrandom(&discover->epoch, sizeof(discover->epoch), 0) != sizeof(discover->epoch))
		discover_fail("out of memory");
	discover->epoch |= 1; /* never 0, which means any */
	ret = discover->through_gammad ? -EPERM : open_raw(discover);
	if (ret == -EPERM || ret == -EACCES) {
		discover->through_gammad = true;
		ret = open_slot(discover);
		if (ret) /* the cause has been reported */
			exit(2);
	}
	if (ret)
		discover_fail("%s: cannot open a link: %s", discover->nic->name, strerror(-ret));
}

/* ---- questions ---- */

/* The payload is zeros: about, if not NULL, is the MAC at its beginning. */
static int ask_about(struct discover *discover, const uint8_t *mac, uint8_t op, uint32_t payload,
		     const uint8_t *about)
{
	struct gamma_frame frame = {.kind = GAMMA_KIND_LOOKUP};
	struct gamma_fields fields = {
		.kind = GAMMA_KIND_LOOKUP,
		.op = op,
		.src_port = discover->port,
		.tenant = geteuid(),
		.src_epoch = discover->epoch,
		.seq = ++discover->seq,
		.payload_len = (uint16_t) payload,
	};
	int error = 0;

	if (about)
		memcpy(discover->payload, about, GAMMA_MAC_LEN);
	else
		memset(discover->payload, 0, GAMMA_MAC_LEN);
	if (payload) {
		frame.iov[0] = (struct iovec){.iov_base = discover->payload, .iov_len = payload};
		frame.iov_count = 1;
	}
	frame.head = gamma_codec_build(&fields, mac, discover->mac, discover->ethertype,
				       frame.room + sizeof(frame.room));
	frame.head_len = GAMMA_ETH_LEN + fields.header_len;
	return discover->link->ops->send(discover->link, &frame, 1, &error) ? 0 : error;
}

static int ask(struct discover *discover, const uint8_t *mac, uint8_t op, uint32_t payload)
{
	return ask_about(discover, mac, op, payload, NULL);
}

static int ask_host(struct discover *discover, const struct discover_host *host, uint32_t payload)
{
	return ask(discover, host->mac, host->gammad ? GAMMA_LOOKUP_HOST_ASK : GAMMA_LOOKUP_ASK,
		   payload);
}

/* ---- answers ---- */

struct answer {
	uint8_t mac[GAMMA_MAC_LEN]; /* that it came from */
	uint8_t op;
	uint32_t seq;
	uint32_t payload_len;
	bool other_version;
	struct gamma_host host;
	struct gamma_addr addr;
};

static bool read_answer(const struct discover *discover, const struct gamma_arrival *arrival,
			struct answer *answer)
{
	struct gamma_fields fields;
	enum gamma_malformed wrong = gamma_codec_parse(arrival->frame, arrival->len, &fields);
	const uint8_t *payload;

	*answer = (struct answer){.other_version = wrong == GAMMA_BAD_VERSION};
	memcpy(answer->mac, arrival->frame + GAMMA_MAC_LEN, GAMMA_MAC_LEN);
	if (answer->other_version)
		return true;
	if (wrong || fields.kind != GAMMA_KIND_LOOKUP || fields.dst_epoch != discover->epoch)
		return false;
	answer->op = fields.op;
	answer->seq = fields.seq;
	answer->payload_len = fields.payload_len;
	payload = arrival->frame + GAMMA_ETH_LEN + fields.header_len;
	if (fields.op == GAMMA_LOOKUP_HOST && fields.payload_len >= sizeof(answer->host))
		memcpy(&answer->host, payload, sizeof(answer->host));
	else if (fields.op == GAMMA_LOOKUP_FOUND && fields.payload_len >= sizeof(answer->addr))
		memcpy(&answer->addr, payload, sizeof(answer->addr));
	else
		return fields.op == GAMMA_LOOKUP_OTHER_TENANT;
	return true;
}

/* Where times are measured it polls for a while, since a core that slept answers late. Else it
 * sleeps: the hosts that are to answer may be on this core. */
static void wait_for_frame(struct discover *discover, uint64_t began, uint64_t until)
{
	struct pollfd polls = {.fd = discover->link->fd, .events = POLLIN};
	uint64_t now = gamma_now();
	struct timespec wait = {.tv_nsec = 0};

	if (until <= now)
		return;
	wait.tv_sec = (time_t) ((until - now) / GAMMA_NS_PER_S);
	wait.tv_nsec = (long) ((until - now) % GAMMA_NS_PER_S);
	if (discover->times && now < began + SPIN_US * GAMMA_NS_PER_US)
		sched_yield();
	else if (!discover->link->ops->arm(discover->link))
		ppoll(&polls, 1, &wait, NULL);
}

/* The next answer; false: none until then, or interrupted. */
static bool next_answer(struct discover *discover, uint64_t until, struct answer *answer)
{
	struct gamma_link *link = discover->link;
	uint64_t began = gamma_now();
	struct gamma_arrival arrival;

	while (!discover_interrupted) {
		if (link->ops->next(link, &arrival)) {
			bool is_one = read_answer(discover, &arrival, answer);

			link->ops->release(link);
			if (is_one)
				return true;
		} else if (gamma_now() >= until) {
			return false;
		} else {
			wait_for_frame(discover, began, until);
		}
	}
	return false;
}

/* ---- all hosts ---- */

/* Bytes that are not printable, which a name has not, become '?'. */
static void copy_text(char *to, size_t room, const uint8_t *from, size_t len)
{
	size_t i;

	for (i = 0; i < gamma_min(len, room - 1) && from[i]; i++)
		to[i] = from[i] > ' ' && from[i] < 0x7f ? (char) from[i] : '?';
	to[i] = 0;
}

static void take_host(struct discover_host *host, const struct gamma_host *said)
{
	host->gammad = true;
	copy_text(host->name, sizeof(host->name), said->name, sizeof(said->name));
	copy_text(host->nic, sizeof(host->nic), said->nic, sizeof(said->nic));
	host->mtu = ntohs(said->mtu);
	host->speed = ntohl(said->speed);
	memcpy(host->release, said->release, sizeof(host->release));
	host->slots = ntohs(said->slots);
	host->endpoints = ntohs(said->endpoints);
}

/* sent: when the question left that this answers, ns; 0: an earlier one. */
static void take_answer(struct discover *discover, const struct answer *answer, uint64_t sent)
{
	struct discover_host *host = discover_host(discover, answer->mac);
	uint64_t rtt = sent ? gamma_now() - sent : UINT64_MAX;

	if (answer->other_version)
		host->other_version = true;
	else if (answer->op == GAMMA_LOOKUP_HOST)
		take_host(host, &answer->host);
	else
		host->endpoint = true;
	if (answer->op == GAMMA_LOOKUP_FOUND && !host->gammad)
		host->mtu = ntohs(answer->addr.mtu);
	if (!answer->other_version && sent && (!host->rtt || rtt < host->rtt))
		host->rtt = rtt;
}

static bool has_answered(const struct discover *discover, const uint8_t *mac)
{
	for (size_t i = 0; i < discover->count; i++)
		if (!memcmp(discover->hosts[i].mac, mac, GAMMA_MAC_LEN))
			return true;
	return false;
}

/* Some of the hosts of gamma.conf, which are asked together. */
struct burst {
	uint32_t first;              /* number of the first question */
	unsigned count;              /* of questions */
	unsigned answered;           /* of them */
	uint64_t sent[LISTED_BURST]; /* ns: when each left */
};

/* Until all are answered, or it is time. Answers to earlier questions count, too. */
static void take_burst(struct discover *discover, struct burst *burst, uint64_t until)
{
	struct answer answer;

	while (burst->answered < burst->count && next_answer(discover, until, &answer)) {
		uint32_t index = answer.seq - burst->first;

		take_answer(discover, &answer, index < burst->count ? burst->sent[index] : 0);
		burst->answered += index < burst->count;
	}
}

static void ask_in_burst(struct discover *discover, struct burst *burst,
			 const struct gamma_conf_host *host, uint8_t op)
{
	if (!burst->count)
		burst->first = discover->seq + 1;
	burst->sent[burst->count++] = gamma_now();
	ask(discover, host->mac, op, 0); /* a later round repeats what the link did not take */
}

/* Each host of gamma.conf that has not answered, one question each, a few at a time: answers of all
 * at once are more than a busy host takes. */
static void ask_listed(struct discover *discover, uint8_t op, uint64_t wait)
{
	const struct gamma_conf_host *listed;
	size_t count = gamma_conf_hosts(discover->conf, &listed);
	struct burst burst = {.count = 0};

	for (size_t i = 0; i < count && !discover_interrupted; i++) {
		if (!has_answered(discover, listed[i].mac)) {
			gamma_live_line_show("asking %.40s, which has not answered",
					     listed[i].name);
			ask_in_burst(discover, &burst, &listed[i], op);
		}
		if (burst.count < LISTED_BURST && (i + 1 < count || !burst.count))
			continue;
		take_burst(discover, &burst, gamma_now() + wait);
		burst = (struct burst){.count = 0};
	}
}

/* One question to all, and so long for the answers. */
static void ask_everybody_once(struct discover *discover, uint64_t wait)
{
	uint64_t sent = gamma_now(), until = sent + wait;
	int ret = ask(discover, everybody, GAMMA_LOOKUP_HOST_ASK, 0);
	uint32_t seq = discover->seq;
	struct answer answer;

	if (ret && ret != -EAGAIN)
		discover_fail("%s: a frame could not be sent: %s", discover->nic->name,
			      strerror(-ret));
	while (gamma_now() < until && !discover_interrupted) {
		gamma_live_line_show("asking all hosts: %zu so far", discover->count);
		if (next_answer(discover, gamma_min(until, gamma_now() + SHOW_NS), &answer))
			take_answer(discover, &answer, answer.seq == seq ? sent : 0);
	}
}

/* The kernel lets no broadcast out of a slot. Where the machine is busy, or answers got lost, hosts
 * are heard of only in a later round: there is another one as long as the last brought one. */
static void ask_everybody(struct discover *discover)
{
	uint64_t part = (uint64_t) (discover->wait * (double) GAMMA_NS_PER_S) / ROUNDS;
	size_t before = 0;

	for (int round = 0; round < ROUNDS_MAX && !discover_interrupted; round++) {
		if (round >= ROUNDS && discover->count == before)
			break;
		before = discover->count;
		ask_everybody_once(discover, part);
	}
}

static void ask_listed_often(struct discover *discover, uint8_t op)
{
	for (int round = 0; round < ROUNDS; round++)
		ask_listed(discover, op, LISTED_WAIT_MS * GAMMA_NS_PER_MS << round);
}

void discover_ask_all(struct discover *discover)
{
	if (!discover->through_gammad)
		ask_everybody(discover);
	ask_listed_often(discover, GAMMA_LOOKUP_HOST_ASK);
	ask_listed_often(discover, GAMMA_LOOKUP_ASK);
}

/* ---- one host ---- */

static int by_time(const void *left, const void *right)
{
	const uint64_t a = *(const uint64_t *) left, b = *(const uint64_t *) right;

	return a < b ? -1 : a > b;
}

/* The times of questions by their number; an answer that is late still counts. */
struct trips {
	uint32_t first; /* number of the first question */
	unsigned sent, answered;
	uint64_t began[TRIPS_MAX], took[TRIPS_MAX]; /* ns; took 0: no answer yet */
};

/* Until the latest question is answered, or all are. */
static void take_trips(struct discover *discover, const struct discover_host *from,
		       struct trips *trips, uint64_t until, bool all)
{
	struct answer answer;

	while (trips->answered < trips->sent && next_answer(discover, until, &answer)) {
		uint32_t index = answer.seq - trips->first;

		if (memcmp(answer.mac, from->mac, GAMMA_MAC_LEN) || index >= trips->sent ||
		    trips->took[index])
			continue;
		trips->took[index] = gamma_max(1, gamma_now() - trips->began[index]);
		trips->answered++;
		if (!all && index == trips->sent - 1)
			return;
	}
}

struct discover_trips discover_ask_sum(uint64_t *took, unsigned sent, unsigned lost)
{
	struct discover_trips trips = {.sent = sent, .lost = lost};

	qsort(took, sent, sizeof(*took), by_time);
	if (lost < sent) {
		trips.quick = took[lost + (sent - lost) / 10];
		trips.median = took[lost + (sent - lost) / 2];
	}
	return trips;
}

void discover_ask_trips(struct discover *discover, const struct discover_host *host,
			uint32_t payload, unsigned count, struct discover_trips *result)
{
	struct trips *trips = calloc(1, sizeof(*trips));

	if (!trips)
		discover_fail("out of memory");
	discover->times = true;
	trips->first = discover->seq + 1;
	for (unsigned i = 0; i < gamma_min(count, TRIPS_MAX) && !discover_interrupted; i++) {
		if (trips->sent - trips->answered >= LATE_LIMIT && !trips->answered)
			break; /* nothing comes back */
		trips->began[i] = gamma_now();
		trips->sent++;
		/* Questions that the link does not take are lost, too. */
		if (!ask_host(discover, host, payload))
			take_trips(discover, host, trips,
				   trips->began[i] + TRIP_WAIT_MS * GAMMA_NS_PER_MS, false);
	}
	take_trips(discover, host, trips, gamma_now() + LATE_WAIT_MS * GAMMA_NS_PER_MS, true);
	*result = discover_ask_sum(trips->took, trips->sent, trips->sent - trips->answered);
	discover->times = false;
	free(trips);
}

int discover_ask_via(struct discover *discover, const struct discover_host *host,
		     const struct discover_host *via, uint32_t payload, uint32_t *seq)
{
	int ret = ask_about(discover, via->mac, GAMMA_LOOKUP_HOST_VIA,
			    (uint32_t) gamma_max(payload, sizeof(struct gamma_host)), host->mac);

	*seq = discover->seq;
	return ret;
}

bool discover_ask_next(struct discover *discover, uint64_t until, uint8_t mac[GAMMA_MAC_LEN],
		       uint32_t *seq)
{
	struct answer answer;

	bool found;

	discover->times = true;
	found = next_answer(discover, until, &answer);
	discover->times = false;
	if (!found)
		return false;
	memcpy(mac, answer.mac, GAMMA_MAC_LEN);
	*seq = answer.seq;
	return true;
}

void discover_ask_full(struct discover *discover, struct discover_host *host)
{
	uint32_t first = discover->seq + 1;
	struct answer answer;

	host->full_mtu = (uint32_t) gamma_min(discover->link->mtu, host->mtu);
	if (!host->full_mtu || host->self)
		return;
	host->full = DISCOVER_FAILS;
	for (int try = 0; try < FULL_TRIES && !discover_interrupted; try++) {
		if (ask_host(discover, host, host->full_mtu - GAMMA_HEADER_LEN))
			continue;
		while (next_answer(discover, gamma_now() + FULL_WAIT_MS * GAMMA_NS_PER_MS,
				   &answer)) {
			/* A late answer to an earlier try says as much. */
			if ((int32_t) (answer.seq - first) < 0 ||
			    memcmp(answer.mac, host->mac, GAMMA_MAC_LEN))
				continue;
			host->full = DISCOVER_PASSES;
			return;
		}
	}
}
