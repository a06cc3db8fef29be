// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* An endpoint: opens its links, takes what is posted, and closes within a bounded time. */
#include "engine/endpoint.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/ipv6_names.h"
#include "engine/fastpath.h"
#include "engine/datagram_names.h"
#include "engine/groups.h"
#include "engine/open.h"
#include "engine/output.h"
#include "engine/peers.h"
#include "engine/progress.h"
#include "engine/shm_path.h"
#include "link/udp.h"
#include "message/coalesce.h"
#include "wire/pseudo_mac.h"

enum { DOUBTS_MS = 100 }; /* for the questions of peers that were informed of a failed NIC */

int gamma_endpoint_random_epoch(uint32_t *epoch)
{
	do {
		if (getrandom(epoch, sizeof(*epoch), 0) != sizeof(*epoch))
			return -EAGAIN;
	} while (*epoch == GAMMA_EPOCH_ANY);
	return 0;
}

static void fill_own_address(const struct gamma_endpoint_attr *attr, struct gamma_addr *addr)
{
	memset(addr, 0, sizeof(*addr));
	memcpy(addr->mac, attr->mac, GAMMA_MAC_LEN);
	addr->port = htons(attr->port);
	addr->epoch = htonl(attr->epoch);
	addr->version = attr->link != GAMMA_LINK_UDP       ? GAMMA_ADDR_VERSION
			: gamma_pseudo_mac_ipv4(attr->mac) ? GAMMA_ADDR_VERSION_UDP
							   : GAMMA_ADDR_VERSION_UDP6;
	addr->mtu = htons((uint16_t) gamma_min(attr->mtu, UINT16_MAX));
	addr->host = attr->host;
}

/* Of the kernel, so that nobody who is not on the path can answer for a peer. */
static int set_random_key(struct gamma_random *random)
{
	if (getrandom(random->key, sizeof(random->key), 0) != sizeof(random->key))
		return -EIO;
	return 0;
}

static void set_limits(const struct gamma_endpoint *endpoint, struct gamma_limits *limits)
{
	limits->mtu = endpoint->packet->mtu;
	limits->overhead = (uint16_t) endpoint->packet->overhead;
	limits->local_mtu = endpoint->shm->link.mtu;
	limits->eager_size = gamma_min(limits->eager_size, GAMMA_EAGER_MAX);
}

static bool read_peer_memory(struct gamma_local *local, const struct gamma_flow *flow,
			     const struct gamma_source *source, uint64_t offset,
			     const struct iovec *iov, unsigned iov_count, uint64_t len)
{
	struct gamma_endpoint *endpoint = gamma_container_of(local, struct gamma_endpoint, local);
	struct gamma_shm_addr addr = {.port = flow->port, .epoch = flow->epoch};

	memcpy(addr.mac, flow->addr.mac, GAMMA_MAC_LEN);
	return gamma_shm_read_memory(endpoint->shm, &addr, source, offset, iov, iov_count, len);
}

int gamma_endpoint_create(const struct gamma_endpoint_attr *asked,
			  const struct gamma_endpoint_handlers *handlers, void *context,
			  struct gamma_endpoint **out)
{
	struct gamma_endpoint *endpoint = calloc(1, sizeof(*endpoint));
	struct gamma_endpoint_attr attr = *asked;
	struct gamma_random random = {.count = 0};
	struct gamma_addr addr;
	int ret;

	if (!endpoint)
		return -ENOMEM;
	/* It is part of the checksum alone. */
	if (attr.link == GAMMA_LINK_UDP)
		attr.ethertype = GAMMA_ETHERTYPE;
	if (attr.datagram)
		attr.more_count = attr.optional = 0;
	ret = set_random_key(&random);
	if (!ret)
		ret = gamma_open_links(endpoint, &attr);
	if (!ret)
		ret = gamma_peers_init(endpoint);
	if (!ret && attr.more_count)
		ret = gamma_aliases_init(endpoint);
	if (ret) {
		gamma_peers_fini(endpoint);
		gamma_open_close(endpoint);
		free(endpoint);
		return ret;
	}
	fill_own_address(&attr, &addr);
	set_limits(endpoint, &attr.limits);
	gamma_message_local_init(&endpoint->messages, &addr, attr.tenant, &attr.limits,
				 gamma_links_least_slots(endpoint));
	gamma_links_begin(endpoint, &attr);
	if (!attr.more_count && endpoint->rails[1].link) {
		endpoint->local.limits.rail_mtu = endpoint->packet->mtu;
		endpoint->local.use_udp = gamma_links_use_udp;
	}
	endpoint->train = gamma_links_train(endpoint);
	endpoint->local.ethertype = attr.ethertype;
	endpoint->local.random = random;
	endpoint->local.limits.random_start = true;
	endpoint->local.flow_size = sizeof(struct gamma_peer);
	endpoint->local.forget = gamma_peers_forget;
	endpoint->messages.has_undelivered = gamma_shm_path_has_undelivered;
	if (attr.shm_bytes) {
		endpoint->messages.read_source = read_peer_memory;
		endpoint->messages.put_record = gamma_shm_path_put;
		endpoint->messages.withdraw_records = gamma_shm_path_withdraw;
	}
	endpoint->handlers = *handlers;
	endpoint->context = context;
	endpoint->messages.handlers = &endpoint->handlers.messages;
	endpoint->messages.context = context;
	endpoint->datagram = attr.datagram;
	endpoint->ifindex = attr.ifindex;
	gamma_groups_init(endpoint);
	endpoint->linger = attr.linger;
	endpoint->owner = getpid();
	/* With the NIC's own MAC: all endpoints on the NIC share its budget. */
	gamma_budget_open(endpoint, asked);
	gamma_stats_page_open(endpoint, asked);
	*out = endpoint;
	return 0;
}

const struct gamma_addr *gamma_endpoint_addr(const struct gamma_endpoint *endpoint)
{
	return &endpoint->local.addr;
}

void gamma_endpoint_show_addr(struct gamma_endpoint *endpoint, struct gamma_addr *addr)
{
	uint8_t ipv6[GAMMA_IPV6_LEN];

	if (addr->version == GAMMA_ADDR_VERSION_UDP6 &&
	    gamma_udp_ipv6_of(endpoint->packet, addr->mac, ipv6))
		gamma_addr_set_ipv6(addr, ipv6);
}

struct gamma_flow *gamma_endpoint_flow(struct gamma_endpoint *endpoint,
				       const struct gamma_addr *peer)
{
	uint32_t epoch = ntohl(peer->epoch);
	struct gamma_flow *flow =
		epoch == GAMMA_EPOCH_ANY
			? gamma_peers_any(endpoint, peer->mac, ntohs(peer->port))
			: gamma_peers_find(endpoint, peer->mac, ntohs(peer->port), epoch);

	if (flow)
		return flow;
	flow = gamma_peers_add(endpoint, peer, gamma_now());
	if (gamma_unlikely(flow && endpoint->error))
		gamma_flow_fail(flow, endpoint->error, endpoint->cause);
	return flow;
}

/* Sends what is in the queue now, or lets it wait for others to share a frame with. */
static void output_queued(struct gamma_endpoint *endpoint, struct gamma_flow *flow,
			  const struct gamma_send *send)
{
	if (flow->self ||
	    !gamma_send_coalescing_delays(flow, gamma_coalesce_send_len(flow, send),
					  send->may_delay, send->more, endpoint->round))
		gamma_output_flow(endpoint, flow);
}

int gamma_endpoint_send(struct gamma_endpoint *endpoint, struct gamma_flow *flow,
			struct gamma_send *send)
{
	int ret;

	if (flow->has_shm_channel && gamma_shm_path_announce(flow, send))
		return 0;
	ret = gamma_send_message(flow, send);
	if (!ret) {
		endpoint->local.stats.tx_queued += !flow->self;
		output_queued(endpoint, flow, send);
	}
	return ret;
}

bool gamma_endpoint_send_shm(struct gamma_endpoint *endpoint, struct gamma_flow *flow,
			     const struct iovec *iov, unsigned iov_count,
			     const struct gamma_envelope *envelope)
{
	return flow->has_shm_channel &&
	       gamma_shm_path_send(endpoint, flow, iov, iov_count, envelope);
}

enum gamma_endpoint_copied gamma_endpoint_send_copy(struct gamma_endpoint *endpoint,
						    struct gamma_flow *flow,
						    const struct iovec *iov, unsigned iov_count,
						    const struct gamma_envelope *envelope,
						    bool may_delay, bool more)
{
	bool waits;

	if (gamma_endpoint_send_shm(endpoint, flow, iov, iov_count, envelope))
		return GAMMA_COPIED_SENT;
	if (!gamma_send_can_copy(flow, envelope))
		return GAMMA_COPIED_NOT;
	waits = gamma_send_coalescing_delays(flow, gamma_coalesce_message_len(envelope), may_delay,
					     more, endpoint->round);
	if (!waits && !gamma_message_state(flow)->filling)
		return gamma_fastpath_send(endpoint, flow, iov, iov_count, envelope)
			       ? GAMMA_COPIED_SENT
			       : GAMMA_COPIED_NOT;
	if (gamma_unlikely(!gamma_coalesce_add(flow, iov, iov_count, envelope))) {
		gamma_output_flow(endpoint, flow); /* the shared frame is full */
		return GAMMA_COPIED_NOT;
	}
	endpoint->local.stats.tx_coalesced++;
	if (waits)
		return GAMMA_COPIED_DELAYED;
	gamma_output_flow(endpoint, flow);
	return GAMMA_COPIED_SENT;
}

int gamma_endpoint_rma(struct gamma_endpoint *endpoint, struct gamma_flow *flow,
		       struct gamma_send *send, struct gamma_rma *remote)
{
	int ret = gamma_rma_requester_post(flow, send, remote);

	if (!ret)
		output_queued(endpoint, flow, send);
	return ret;
}

void gamma_endpoint_withdraw(struct gamma_endpoint *endpoint, const void *region)
{
	uint64_t now = gamma_now();
	struct gamma_list *pos;

	gamma_list_for_each (pos, &endpoint->local.flows)
		gamma_rma_target_withdraw(gamma_list_entry(pos, struct gamma_flow, all_entry),
					  region, now);
}

/* Bytes of the largest header of a datagram. */
static uint32_t datagram_header(const struct gamma_limits *limits)
{
	uint32_t checksum =
		limits->payload_crc ? gamma_codec_extensions_len(GAMMA_EXT_PAYLOAD_CRC) : 0;

	return GAMMA_DGRAM_HEADER_MAX + checksum;
}

size_t gamma_endpoint_datagram_max(const struct gamma_endpoint *endpoint)
{
	return endpoint->local.limits.mtu - datagram_header(&endpoint->local.limits);
}

size_t gamma_endpoint_message_max(const struct gamma_endpoint *endpoint)
{
	const struct gamma_limits *limits = &endpoint->local.limits;
	uint16_t extensions = GAMMA_EXT_TAG | (limits->payload_crc ? GAMMA_EXT_PAYLOAD_CRC : 0);

	return limits->mtu - GAMMA_HEADER_LEN - gamma_codec_extensions_len(extensions);
}

/* Its envelope says how many bytes of the iovecs it has. */
static void make_datagram(const struct gamma_local *local, const uint8_t from[GAMMA_MAC_LEN],
			  const struct gamma_addr *to, const struct iovec *iov, unsigned iov_count,
			  const struct gamma_envelope *envelope, struct gamma_frame *frame)
{
	struct gamma_fields fields = {
		.kind = GAMMA_KIND_DATAGRAM,
		.dst_port = ntohs(to->port),
		.src_port = local->port,
		.tenant = local->tenant,
		.extensions = gamma_envelope_extensions(envelope),
		.tag = envelope->tag,
		.data = envelope->data,
		.payload_len = (uint16_t) envelope->length,
		.src_epoch = local->epoch,
		.dst_epoch = ntohl(to->epoch),
	};

	frame->flow = NULL;
	frame->kind = GAMMA_KIND_DATAGRAM;
	frame->ecn = false;
	frame->rail = 0;
	frame->iov_count =
		gamma_iov_slice(iov, iov_count, 0, envelope->length, frame->iov, GAMMA_FRAME_IOV);
	if (local->limits.payload_crc && fields.payload_len) {
		fields.extensions |= GAMMA_EXT_PAYLOAD_CRC;
		fields.payload_crc = gamma_crc32c_iov(0, frame->iov, frame->iov_count);
	}
	frame->head = gamma_codec_build(&fields, to->mac, from, local->ethertype,
					frame->room + sizeof(frame->room));
	frame->head_len = GAMMA_ETH_LEN + fields.header_len;
}

/* most: bytes that the link can carry in one frame. */
static int send_datagram(struct gamma_endpoint *endpoint, struct gamma_link *link, uint64_t most,
			 const struct gamma_addr *peer, const struct iovec *iov, unsigned iov_count,
			 const struct gamma_envelope *envelope)
{
	const struct gamma_local *local = &endpoint->local;
	struct gamma_frame frame = {.iov_count = 0};

	if (endpoint->error)
		return endpoint->error;
	if (envelope->length > gamma_endpoint_datagram_max(endpoint) || envelope->length > most)
		return -EMSGSIZE;
	make_datagram(local, local->addr.mac, peer, iov, iov_count, envelope, &frame);
	if (!gamma_output_single(endpoint, link, &frame))
		/* The link has just found that the NIC's MTU is smaller, or it is full. */
		return envelope->length > gamma_endpoint_datagram_max(endpoint) ? -EMSGSIZE
										: -EAGAIN;
	endpoint->local.stats.datagrams_out++;
	return 0;
}

int gamma_endpoint_send_datagram(struct gamma_endpoint *endpoint, const struct gamma_addr *peer,
				 const struct iovec *iov, unsigned iov_count,
				 const struct gamma_envelope *envelope)
{
	uint64_t most = UINT64_MAX;
	bool same_host;

	if (gamma_unlikely(gamma_datagram_names_apply(peer)))
		peer = gamma_datagram_names_find(endpoint, peer, iov, iov_count, envelope);
	same_host = gamma_peers_same_host(endpoint, peer);
	if (same_host)
		most = GAMMA_SHM_SOCKET_MTU - datagram_header(&endpoint->local.limits);
	endpoint->host_datagrams |= same_host;
	return send_datagram(endpoint, same_host ? &endpoint->shm->link : endpoint->packet, most,
			     peer, iov, iov_count, envelope);
}

int gamma_endpoint_send_group(struct gamma_endpoint *endpoint, const struct gamma_group *group,
			      const struct iovec *iov, unsigned iov_count,
			      const struct gamma_envelope *envelope)
{
	return send_datagram(endpoint, group->out, UINT64_MAX, &group->addr, iov, iov_count,
			     envelope);
}

unsigned gamma_endpoint_send_to_group(struct gamma_endpoint *endpoint,
				      const struct gamma_group *group,
				      const struct gamma_group_datagram *datagrams, unsigned count)
{
	const struct gamma_local *local = &endpoint->local;
	const uint8_t *from = group->rail ? local->own_rails[group->rail].mac : local->addr.mac;

	count = endpoint->error ? 0 : (unsigned) gamma_min(count, GAMMA_BURST);
	for (unsigned i = 0; i < count; i++) {
		make_datagram(local, from, &group->addr, &datagrams[i].bytes, 1,
			      &datagrams[i].envelope, &endpoint->burst[i]);
		endpoint->burst[i].rail = group->rail;
	}
	if (count)
		count = gamma_output_burst(endpoint, group->out, endpoint->burst, count);
	endpoint->local.stats.datagrams_out += count;
	return count;
}

/* ---- progress ---- */

bool gamma_endpoint_progress(struct gamma_endpoint *endpoint)
{
	const struct gamma_local *local = &endpoint->local;
	bool look_shm = !gamma_shm_is_quiet(endpoint->shm);

	endpoint->round++;
	if (look_shm || local->deferred.flow || gamma_engine_progress_network_waits(endpoint) ||
	    !gamma_list_empty(&local->ready) || !gamma_list_empty(&local->stalled) ||
	    !gamma_list_empty(&endpoint->groups) || endpoint->unread + 1 >= GAMMA_IDLE_SKIP)
		return gamma_engine_progress(endpoint, look_shm);
	/* Nothing has arrived, nothing waits, and the clock need not be read yet. */
	endpoint->idle++;
	endpoint->unread++;
	return false;
}

uint64_t gamma_endpoint_deadline(struct gamma_endpoint *endpoint)
{
	uint64_t when;

	gamma_fastpath_process_any(endpoint);
	when = endpoint->local.next_deadline;
	return endpoint->stalled_until ? gamma_min(when, endpoint->stalled_until) : when;
}

bool gamma_endpoint_ready(struct gamma_endpoint *endpoint)
{
	struct gamma_link *shm = &endpoint->shm->link;

	gamma_fastpath_process_any(endpoint);
	if (endpoint->view.page)
		gamma_stats_page_write(endpoint, gamma_now());
	endpoint->moderation.until = 0;
	if (gamma_unlikely(endpoint->lending.lent))
		return true; /* what waits behind it cannot be seen */
	if (gamma_unlikely(!gamma_list_empty(&endpoint->messages.reading)))
		return true; /* it was left for a message that was lent */
	/* The next progress call must find whatever wakes the caller, so it skips nothing. */
	endpoint->idle = endpoint->unread = GAMMA_IDLE_SKIP - 1;
	return endpoint->packet->ops->arm(endpoint->packet) || shm->ops->arm(shm) ||
	       gamma_links_arm(endpoint) || gamma_groups_arm(endpoint) ||
	       !gamma_list_empty(&endpoint->local.ready);
}

bool gamma_endpoint_has_host_peers(const struct gamma_endpoint *endpoint)
{
	return endpoint->shm_peers || endpoint->host_datagrams;
}

void gamma_endpoint_watch(struct gamma_endpoint *endpoint, bool asleep)
{
	endpoint->shm->watched = asleep;
}

bool gamma_endpoint_armed(const struct gamma_endpoint *endpoint)
{
	return endpoint->shm->armed;
}

unsigned gamma_endpoint_fds(const struct gamma_endpoint *endpoint, int fds[GAMMA_ENDPOINT_FDS])
{
	unsigned count = 0;

	fds[count++] = endpoint->shm->link.fd;
	for (unsigned r = 0; r < GAMMA_RAILS_MAX; r++) {
		const struct gamma_link *link = gamma_links_of_rail(endpoint, (uint8_t) r);

		if (!link)
			continue;
		fds[count++] = link->fd;
		if (link->connected_fd >= 0)
			fds[count++] = link->connected_fd;
	}
	if (endpoint->groups_fd >= 0)
		fds[count++] = endpoint->groups_fd;
	return count;
}

const struct gamma_stats *gamma_endpoint_stats(struct gamma_endpoint *endpoint)
{
	endpoint->packet->ops->count(endpoint->packet);
	gamma_links_count(endpoint);
	return &endpoint->local.stats;
}

/* The first rail has what no other has sent. */
static void count_first_rail(const struct gamma_endpoint *endpoint,
			     struct gamma_endpoint_rail rails[GAMMA_RAILS_MAX])
{
	const struct gamma_stats *stats = &endpoint->local.stats;
	uint64_t repeated = 0;

	rails[0].frames_out = stats->frames_out - endpoint->same_host_frames;
	rails[0].bytes_out = stats->bytes_out - endpoint->same_host_bytes;
	for (uint8_t r = 1; r < endpoint->local.rail_count; r++) {
		rails[0].frames_out -= rails[r].frames_out;
		rails[0].bytes_out -= rails[r].bytes_out;
		repeated += rails[r].retransmissions;
	}
	/* Those of the others count when the link takes them, of all when they are built. */
	rails[0].retransmissions =
		stats->retransmissions - gamma_min(stats->retransmissions, repeated);
}

unsigned gamma_endpoint_rails(const struct gamma_endpoint *endpoint,
			      struct gamma_endpoint_rail rails[GAMMA_RAILS_MAX])
{
	for (uint8_t r = 0; r < endpoint->local.rail_count; r++) {
		const struct gamma_own_rail *own = &endpoint->local.own_rails[r];

		rails[r] = (struct gamma_endpoint_rail){
			.frames_out = own->frames_out,
			.bytes_out = own->bytes_out,
			.retransmissions = own->retransmissions,
			.doubted = own->doubts,
			.returned = own->returns,
			.round_trip = gamma_links_round_trip(endpoint, r),
		};
	}
	if (endpoint->local.rail_count)
		count_first_rail(endpoint, rails);
	return endpoint->local.rail_count;
}

struct gamma_stats *gamma_endpoint_counters(struct gamma_endpoint *endpoint)
{
	return &endpoint->local.stats;
}

void gamma_endpoint_count_port(struct gamma_endpoint *endpoint, bool in_place)
{
	endpoint->local.stats.ports_in++;
	endpoint->local.stats.ports_in_place += in_place;
}

/* ---- closing ---- */

static bool any_flow(struct gamma_endpoint *endpoint, bool unacked_only, uint64_t now)
{
	struct gamma_list *pos;

	gamma_list_for_each (pos, &endpoint->local.flows) {
		struct gamma_flow *flow = gamma_list_entry(pos, struct gamma_flow, all_entry);

		if (unacked_only ? gamma_flow_unacked(flow) : gamma_flow_unfinished(flow, now))
			return true;
	}
	return false;
}

/* One call may not send everything: the last BYE, or an answer to one, may still wait. */
static bool anything_left(struct gamma_endpoint *endpoint, uint64_t now)
{
	return any_flow(endpoint, false, now) || !gamma_list_empty(&endpoint->local.ready);
}

static void say_bye(struct gamma_endpoint *endpoint, uint64_t now)
{
	struct gamma_list *pos;

	gamma_list_for_each (pos, &endpoint->local.flows)
		gamma_flow_bye(gamma_list_entry(pos, struct gamma_flow, all_entry), now);
	gamma_output(endpoint, now);
}

/* Sleeps until an event, so that the peer gets the processor if both share one. */
static void sleep_for_event(struct gamma_endpoint *endpoint, uint64_t until,
			    gamma_endpoint_asleep *asleep)
{
	struct pollfd polls[GAMMA_ENDPOINT_FDS];
	int fds[GAMMA_ENDPOINT_FDS];
	uint64_t now = gamma_now();
	uint64_t when = gamma_min(until, gamma_endpoint_deadline(endpoint));
	struct timespec wait = {0};
	unsigned count;

	if (!gamma_endpoint_ready(endpoint) && when > now) {
		wait.tv_sec = (time_t) ((when - now) / GAMMA_NS_PER_S);
		wait.tv_nsec = (long) ((when - now) % GAMMA_NS_PER_S);
	}
	count = gamma_endpoint_fds(endpoint, fds);
	for (unsigned i = 0; i < count; i++)
		polls[i] = (struct pollfd){.fd = fds[i], .events = POLLIN};
	if (asleep)
		asleep(endpoint->messages.context, true);
	if (wait.tv_sec || wait.tv_nsec)
		ppoll(polls, count, &wait, NULL);
	if (asleep)
		asleep(endpoint->messages.context, false);
}

/* Peers know by a RESET that the NIC has failed, and ask by PROBE whether that is true. */
static void answer_doubts(struct gamma_endpoint *endpoint, uint64_t until,
			  gamma_endpoint_asleep *asleep)
{
	while (endpoint->error == -EMSGSIZE && gamma_now() < until) {
		sleep_for_event(endpoint, until, asleep);
		gamma_endpoint_progress(endpoint);
	}
}

/* First everything sent must be acknowledged, then the peers must know that this endpoint closes.
 */
void gamma_endpoint_linger(struct gamma_endpoint *endpoint, gamma_endpoint_asleep *asleep)
{
	uint64_t now = gamma_now();
	uint64_t drained = now + gamma_flow_drain_time(endpoint->linger);
	uint64_t until = now + endpoint->linger;

	if (getpid() != endpoint->owner)
		return;
	gamma_fastpath_process_any(endpoint);
	gamma_endpoint_watch(endpoint, false);
	while (any_flow(endpoint, true, now) && now < drained) {
		sleep_for_event(endpoint, drained, asleep);
		gamma_endpoint_progress(endpoint);
		now = gamma_now();
	}
	say_bye(endpoint, now);
	answer_doubts(endpoint, gamma_min(until, now + DOUBTS_MS * GAMMA_NS_PER_MS), asleep);
	while (anything_left(endpoint, now) && now < until) {
		sleep_for_event(endpoint, until, asleep);
		gamma_endpoint_progress(endpoint);
		now = gamma_now();
	}
}

void gamma_endpoint_destroy(struct gamma_endpoint *endpoint)
{
	gamma_budget_close(endpoint);
	gamma_stats_page_close(endpoint);
	/* A forked child does not have the shared memory in which its peers would see it. */
	if (getpid() != endpoint->owner)
		endpoint->messages.withdraw_records = NULL;
	gamma_peers_drop_addresses(endpoint);
	gamma_message_local_fini(&endpoint->messages);
	gamma_groups_close(endpoint);
	gamma_datagram_names_free(endpoint);
	gamma_open_close(endpoint);
	gamma_peers_fini(endpoint);
	free(endpoint);
}
