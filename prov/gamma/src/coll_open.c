// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Multicast for a group that joins: place 0 names an Ethernet group address, each member opens a
 * socket for it, in a thread since that may take long, and a test frame shows whether multicast
 * reaches all hosts. Over UDP beside raw frames is tried first, since it goes in trains, then raw
 * frames. If neither reaches all, the group is live without multicast.
 */
#include "ep.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <unistd.h>

#include "nic/igmp.h"

enum {
	HOSTS_MIN = 3,       /* fewer gain nothing */
	MEMBERS_MOST = 4096, /* more are not compared with each other */
	PAYLOAD_MIN = 256,   /* bytes */
	/* Frames that each ring holds: no sender waits for reports that are not due yet. */
	WINDOW_MIN = 2 * GAMMA_STREAM_REPORT * GAMMA_PLAN_CASTERS,
	TEST_MS = 10,        /* between two test frames */
	ASKED_MOST = 64,     /* members that are asked for their addresses as the group begins */
	TEST_LIMIT_MS = 500, /* for all hosts to have seen one */
};

#define NO_MULTICAST "%s: a group of %u members goes without multicast, which is slower: %s\n"

/* ---- hosts ---- */

/* The first member of the same host; one whose host is not known is alone on it. */
static uint32_t leader_of(const struct gamma_coll_group *group, uint32_t place)
{
	const struct gamma_av *av = group->ep->av;
	uint64_t host = gamma_av_addr(av, group->members[place])->host;

	for (uint32_t other = 0; host && other < place; other++)
		if (gamma_av_addr(av, group->members[other])->host == host)
			return other;
	return place;
}

int gamma_coll_open_init(struct gamma_coll_group *group)
{
	uint32_t *leaders;

	if (group->n > MEMBERS_MOST)
		return 0;
	leaders = group->hosts.leaders = malloc(group->n * sizeof(*leaders));
	group->indices = calloc(group->n, sizeof(*group->indices));
	group->leader_places = calloc(group->n, sizeof(*group->leader_places));
	if (!leaders || !group->indices || !group->leader_places)
		return -FI_ENOMEM;
	group->hosts_hash = 2166136261u;
	for (uint32_t place = 0; place < group->n; place++) {
		leaders[place] = leader_of(group, place);
		group->hosts_hash = (group->hosts_hash ^ leaders[place]) * 16777619u;
		if (leaders[place] != place)
			continue;
		group->indices[place] = group->hosts.count;
		group->leader_places[group->hosts.count++] = place;
	}
	/* Earlier releases report to the root alone. */
	if (group->hosts.count > GAMMA_RELAY_FAN + 1)
		group->hosts_hash ^= GAMMA_RELAY_FAN;
	return 0;
}

static bool is_leader(const struct gamma_coll_group *group, uint32_t place)
{
	return group->hosts.leaders[place] == place;
}

static bool wants_multicast(void)
{
	return gamma_settings.multicast != GAMMA_MULTICAST_0 &&
	       gamma_settings.multicast != GAMMA_MULTICAST_NO;
}

uint32_t gamma_coll_open_payload(const struct gamma_coll_group *group, unsigned path)
{
	const struct gamma_endpoint *endpoint = group->ep->endpoint;
	const uint32_t tag = gamma_codec_extensions_len(GAMMA_EXT_TAG); /* it names the frame */
	uint32_t most =
		(uint32_t) (path == GAMMA_COLL_PATH_OWN ? gamma_endpoint_datagram_max(endpoint)
							: gamma_groups_beside_max(endpoint));

	return group->hosts.leaders && wants_multicast() && most > tag ? most - tag : 0;
}

/* ---- opening ---- */

/* Whether it is IP multicast, of which the kernel reports to switches. */
static bool is_ip(const struct gamma_coll_group *group)
{
	return group->path == GAMMA_COLL_PATH_BESIDE || group->ep->domain->nic.udp;
}

/* Without an IPv4 address the frames may pass all the same: the test shows it. */
static void report_to_switches(struct gamma_coll_group *group)
{
	static const uint8_t ip_groups[] = {0x01, 0x00, 0x5e};
	const struct gamma_nic *nic = &group->ep->domain->nic;
	int fd;

	if (is_ip(group) || memcmp(group->cast_addr.mac, ip_groups, sizeof(ip_groups)))
		return;
	fd = gamma_igmp_join(nic->ifindex, group->cast_addr.mac);
	if (fd < 0)
		GAMMA_WARN(
			EP_CTRL,
			"%s: cannot report a group to switches by IGMP: %s; give the NIC an IPv4 "
			"address, or unset FI_GAMMA_GROUP_MAC\n",
			nic->name, strerror(-fd));
	else
		group->igmp_fd = fd;
}

static void *open_multicast(void *arg)
{
	struct gamma_coll_group *group = arg;

	if (is_leader(group, group->place))
		report_to_switches(group);
	group->open_error = gamma_groups_open(
		group->ep->endpoint, &group->cast_addr, is_leader(group, group->place),
		group->path == GAMMA_COLL_PATH_BESIDE, &group->multicast);
	__atomic_store_n(&group->opened, true, __ATOMIC_RELEASE);
	return NULL;
}

/* What was tried before has not reached all. */
static void leave_multicast(struct gamma_coll_group *group)
{
	if (group->multicast)
		gamma_groups_leave(group->ep->endpoint, group->multicast);
	group->multicast = NULL;
	group->seen = false;
	gamma_list_remove(&group->cast_entry);
}

/* Its end is noticed by gamma_coll_open_progress. */
static void start_opening(struct gamma_coll_group *group, unsigned path,
			  const struct gamma_coll_named *named)
{
	leave_multicast(group);
	group->path = path;
	group->cast_addr.version = GAMMA_ADDR_VERSION;
	memcpy(group->cast_addr.mac, named->mac, GAMMA_MAC_LEN);
	group->cast_addr.port = named->port;
	group->payload = ntohl(named->payload);
	/* The thread may end before pthread_create does, and then says so. */
	group->opening = path == GAMMA_COLL_PATH_OWN &&
			 !pthread_create(&group->opener, NULL, open_multicast, group);
	if (path == GAMMA_COLL_PATH_BESIDE) {
		open_multicast(group);
	} else if (!group->opening) {
		group->open_error = -FI_ENOMEM;
		group->opened = true;
	}
	gamma_list_append(&group->ep->coll->casting, &group->cast_entry);
}

static void end_opening(struct gamma_coll_group *group)
{
	if (group->opening)
		pthread_join(group->opener, NULL);
	group->opening = false;
}

void gamma_coll_open_fini(struct gamma_coll_group *group)
{
	struct gamma_fi_ep *ep = group->ep;

	gamma_list_remove(&group->cast_entry);
	if (group->opening) {
		gamma_domain_unlock(ep->domain);
		end_opening(group);
		gamma_domain_lock(ep->domain);
	}
	if (group->multicast)
		gamma_groups_leave(ep->endpoint, group->multicast);
	group->multicast = NULL;
	if (group->igmp_fd >= 0)
		close(group->igmp_fd);
	group->igmp_fd = -1;
}

/* At place 0. False: not all members offer it, or it makes no sense. */
static bool try_path(struct gamma_coll_group *group, unsigned path)
{
	struct gamma_coll_named named = {.mac = {0x03, 0x47, 0x4d}};
	uint32_t random[2];

	if (group->offers[path] < group->n || group->payloads[path] < PAYLOAD_MIN ||
	    group->hosts.count < HOSTS_MIN || gamma_endpoint_random_epoch(&random[0]) ||
	    gamma_endpoint_random_epoch(&random[1]))
		return false;
	memcpy(named.mac + 3, random, 3);
	if (gamma_settings.group_mac == GAMMA_GROUP_MAC_IP) {
		memcpy(named.mac, (const uint8_t[]){0x01, 0x00, 0x5e}, 3);
		named.mac[3] &= 0x7f; /* 25 bits are IP's */
	}
	named.port = htons((uint16_t) (random[1] % 65535 + 1));
	named.payload = htonl(group->payloads[path]);
	for (uint32_t place = 0; place < group->n; place++)
		group->joined[place] = GAMMA_COLL_HAS_JOINED;
	group->ready = group->seen_count = 0;
	group->slots = UINT32_MAX;
	group->test_at = group->test_until = GAMMA_NEVER;
	gamma_coll_group_send_all(
		group, path == GAMMA_COLL_PATH_OWN ? GAMMA_COLL_GROUP : GAMMA_COLL_GROUP_BESIDE,
		&named, sizeof(named));
	start_opening(group, path, &named);
	return true;
}

/* A member that offers UDP beside raw frames offers these, too, unless its view of the hosts is
 * another one. Where IP multicast has not passed it does not pass now. */
bool gamma_coll_open_begin(struct gamma_coll_group *group)
{
	bool ip = !group->ep->coll->no_ip_multicast;

	if (group->offers[GAMMA_COLL_PATH_OWN] < group->n)
		return false;
	return (ip && try_path(group, GAMMA_COLL_PATH_BESIDE)) ||
	       ((ip || !group->ep->domain->nic.udp) && try_path(group, GAMMA_COLL_PATH_OWN));
}

/* ---- the test, at place 0 ---- */

static uint32_t window_of(const struct gamma_coll_group *group)
{
	return (uint32_t) gamma_min(group->slots - group->slots / 8, GAMMA_STREAM_WINDOW_MAX);
}

static void end_test(struct gamma_coll_group *group, bool works)
{
	struct gamma_coll_live live = {.payload = 0};

	group->test_at = group->test_until = GAMMA_NEVER;
	if (works) {
		live.payload = htonl(group->payload);
		live.window = htonl(window_of(group));
	}
	gamma_coll_group_send_all(group, GAMMA_COLL_LIVE, &live, sizeof(live));
	gamma_coll_group_live(group, &live);
}

/* Many networks pass no IP multicast, which nobody has asked for. */
static void warn_no_multicast(const struct gamma_coll_group *group, const char *why)
{
	const char *nic = group->ep->domain->nic.name;

	if (is_ip(group) && gamma_settings.multicast == GAMMA_MULTICAST_AUTO)
		GAMMA_INFO(EP_CTRL, NO_MULTICAST, nic, group->n, why);
	else
		GAMMA_WARN(EP_CTRL, NO_MULTICAST, nic, group->n, why);
}

static void warn_about_member(const struct gamma_coll_group *group, uint32_t place,
			      const char *what)
{
	char name[GAMMA_NAME_LEN], why[GAMMA_COLL_CAUSE_LEN];

	gamma_coll_group_name(group, place, name);
	snprintf(why, sizeof(why), "member %u (%s) %s", place, name, what);
	warn_no_multicast(group, why);
}

/* Raw frames may be left to try; else the reason is given. */
static bool has_other_path(struct gamma_coll_group *group)
{
	group->ep->coll->no_ip_multicast |= is_ip(group);
	return group->path == GAMMA_COLL_PATH_BESIDE && try_path(group, GAMMA_COLL_PATH_OWN);
}

static void note_ready(struct gamma_coll_group *group, uint32_t place, uint32_t slots)
{
	uint64_t now = gamma_now();

	if (group->live || group->error || group->joined[place] != GAMMA_COLL_HAS_JOINED)
		return;
	group->joined[place] = GAMMA_COLL_IS_READY;
	if (slots < group->slots)
		group->least = place;
	group->slots = (uint32_t) gamma_min(group->slots, slots);
	if (++group->ready < group->n)
		return;
	if (window_of(group) < WINDOW_MIN && has_other_path(group))
		return;
	if (!group->slots) {
		warn_about_member(group, group->least, "cannot open a socket for it, and says why");
		end_test(group, false);
		return;
	}
	if (window_of(group) < WINDOW_MIN) {
		warn_about_member(
			group, group->least,
			"has a receive ring for too few frames; see `ring` in gammad.conf");
		end_test(group, false);
		return;
	}
	group->test_at = now;
	group->test_until = now + TEST_LIMIT_MS * GAMMA_NS_PER_MS;
}

bool gamma_coll_open_end(struct gamma_coll_group *group)
{
	uint32_t place = 0;

	if (group->place || group->joined_count < group->n)
		return false;
	while (place + 1 < group->n && group->joined[place] >= GAMMA_COLL_IS_READY)
		place++;
	warn_about_member(group, place, "has not opened a socket for it in time");
	end_test(group, false);
	return true;
}

static void note_seen(struct gamma_coll_group *group, uint32_t place)
{
	if (group->place || group->live || group->test_until == GAMMA_NEVER ||
	    !is_leader(group, place) || group->joined[place] != GAMMA_COLL_IS_READY)
		return;
	group->joined[place] = GAMMA_COLL_HAS_SEEN;
	if (++group->seen_count == group->hosts.count - 1)
		end_test(group, true);
}

static void send_test(struct gamma_coll_group *group, uint64_t now)
{
	void *bytes = calloc(1, group->payload);

	if (bytes)
		gamma_coll_cast_send(group, 0, GAMMA_COLL_TEST, bytes, group->payload);
	free(bytes);
	group->test_at = now + TEST_MS * GAMMA_NS_PER_MS;
}

/* ---- all places ---- */

/* So that the first frames do not wait for the answers. With more members only those are asked that
 * send. */
void gamma_coll_open_live(struct gamma_coll_group *group)
{
	if (!group->payload || group->path != GAMMA_COLL_PATH_BESIDE || group->n > ASKED_MOST)
		return;
	for (uint32_t place = 0; place < group->n; place++) {
		const struct gamma_addr *addr = gamma_av_addr(group->ep->av, group->members[place]);

		if (addr && place != group->place &&
		    group->hosts.leaders[place] != group->hosts.leaders[group->place])
			gamma_groups_ask(group->ep->endpoint, addr);
	}
}

bool gamma_coll_open_is_ready(const struct gamma_coll_group *group,
			      const struct gamma_coll_live *live)
{
	/* While it is being opened, a thread fills in multicast. */
	return !group->opening && group->multicast && ntohl(live->payload) == group->payload &&
	       ntohl(live->window) >= WINDOW_MIN;
}

static void report_ready(struct gamma_coll_group *group)
{
	struct gamma_coll_ready ready = {.slots = 0};
	uint32_t slots = group->open_error                ? 0
			 : is_leader(group, group->place) ? gamma_groups_slots(group->multicast)
							  : UINT32_MAX;

	group->opened = false;
	ready.slots = htonl(slots);
	if (!group->place)
		note_ready(group, 0, slots);
	else
		gamma_coll_transfer_send_control(group->ep, group->members[0], group->id,
						 GAMMA_COLL_READY, 0, &ready, sizeof(ready));
}

static void look_for_test(struct gamma_coll_group *group)
{
	struct gamma_group_frame frame;

	while (group->multicast &&
	       gamma_groups_next(group->ep->endpoint, group->multicast, &frame)) {
		/* Others may know already that the group is live. */
		if ((uint32_t) frame.envelope.tag != GAMMA_COLL_TEST)
			return;
		if (!group->seen && group->place)
			gamma_coll_transfer_send_control(group->ep, group->members[0], group->id,
							 GAMMA_COLL_SEEN, 0, NULL, 0);
		group->seen = true;
		gamma_groups_release(group->ep->endpoint, group->multicast);
	}
}

void gamma_coll_open_progress(struct gamma_coll_group *group, uint64_t now)
{
	if (__atomic_load_n(&group->opened, __ATOMIC_ACQUIRE)) {
		end_opening(group);
		report_ready(group);
	}
	if (!group->opening)
		look_for_test(group);
	if (now >= group->test_until && has_other_path(group))
		return;
	if (now >= group->test_until) {
		warn_no_multicast(group, "a test frame did not reach all hosts; see IGMP snooping "
					 "and storm control in doc/tuning.md");
		end_test(group, false);
	} else if (now >= group->test_at) {
		send_test(group, now);
	}
}

/* payload: as place 0 says. Raw frames may be tried after UDP beside them. */
static bool may_open(const struct gamma_coll_group *group, unsigned path, uint32_t payload)
{
	bool first = gamma_list_empty(&group->cast_entry);

	return group->place && group->hosts.leaders && (first || group->path > path) &&
	       !group->live && !group->error && payload >= PAYLOAD_MIN &&
	       payload <= gamma_coll_open_payload(group, path);
}

void gamma_coll_open_control(struct gamma_coll_group *group, uint32_t place,
			     const struct gamma_coll_control *control)
{
	const struct gamma_coll_named *named = (const void *) control->bytes;
	const struct gamma_coll_ready *ready = (const void *) control->bytes;
	bool beside = control->type == GAMMA_COLL_GROUP_BESIDE;
	unsigned path = beside ? GAMMA_COLL_PATH_BESIDE : GAMMA_COLL_PATH_OWN;

	if ((beside || control->type == GAMMA_COLL_GROUP) && !place &&
	    control->len == sizeof(*named) && may_open(group, path, ntohl(named->payload)))
		start_opening(group, path, named);
	else if (control->type == GAMMA_COLL_READY && !group->place &&
		 control->len == sizeof(*ready))
		note_ready(group, place, ntohl(ready->slots));
	else if (control->type == GAMMA_COLL_SEEN)
		note_seen(group, place);
}
