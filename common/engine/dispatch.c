// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Dispatches an arriving frame: to its flow, or to a new flow for an unknown peer. Frames that
 * belong to no flow (LOOKUP, DATAGRAM, frames for an earlier epoch) are handled and answered here.
 */
#include "base/ipv6_names.h"
#include "base/mac.h"
#include "engine/datagram_names.h"
#include "engine/dispatch.h"
#include "engine/groups.h"
#include "engine/output.h"
#include "engine/peers.h"
#include "flow/rails_list.h"
#include "wire/pseudo_mac.h"

#include <arpa/inet.h>
#include <errno.h>
#include <sched.h>
#include <string.h>

enum { NIC_ANSWERS_MS = 100 }; /* for the questions of peers that know of a failed NIC */

static void source_of(const struct gamma_endpoint *endpoint, const struct gamma_arrival *arrival,
		      const struct gamma_fields *fields, struct gamma_addr *source)
{
	memset(source, 0, sizeof(*source));
	memcpy(source->mac, gamma_dispatch_sender(arrival), GAMMA_MAC_LEN);
	source->port = htons(fields->src_port);
	source->epoch = htonl(fields->src_epoch);
	source->version = endpoint->local.addr.version;
}

/* Sends a frame without a flow back to the sender of this one. */
static void send_answer(struct gamma_endpoint *endpoint, struct gamma_link *link,
			const uint8_t *mac, struct gamma_fields *fields, const void *payload)
{
	const struct gamma_local *local = &endpoint->local;
	uint8_t rail = gamma_links_rail(endpoint, link);
	struct gamma_frame frame = {.iov_count = 0, .rail = rail};

	if (fields->payload_len) {
		frame.iov[0] = (struct iovec){(void *) payload, fields->payload_len};
		frame.iov_count = 1;
	}
	fields->tenant = local->tenant;
	if (local->limits.payload_crc)
		fields->flags |= GAMMA_FLAG_WANT_CRC;
	if (rail)
		fields->flags |= GAMMA_FLAG_RAIL;
	frame.head =
		gamma_codec_build(fields, mac, rail ? local->own_rails[rail].mac : local->addr.mac,
				  local->ethertype, frame.room + sizeof(frame.room));
	frame.head_len = GAMMA_ETH_LEN + fields->header_len;
	frame.kind = fields->kind;
	gamma_output_single(endpoint, link, &frame);
}

void gamma_dispatch_send_reset(struct gamma_endpoint *endpoint, struct gamma_link *link,
			       const uint8_t *mac, const struct gamma_fields *to,
			       enum gamma_reset_op why, bool counts)
{
	struct gamma_fields fields = {
		.kind = GAMMA_KIND_RESET,
		.op = why,
		.dst_port = to->src_port,
		.src_port = to->dst_port,
		.src_epoch = to->dst_epoch,
		.dst_epoch = to->src_epoch,
		.seq = to->seq,
	};

	if (endpoint->resets++ >= GAMMA_RESETS_MAX)
		return;
	endpoint->local.stats.resets_out += counts;
	send_answer(endpoint, link, mac, &fields, NULL);
}

static enum gamma_reset_op reset_op(const struct gamma_endpoint *endpoint)
{
	return endpoint->error == -EMSGSIZE ? GAMMA_RESET_NIC : GAMMA_RESET_CLOSED;
}

/* Peers ask by PROBE whether it is true. The program may end as soon as it knows of the failure. */
static void answer_probes(struct gamma_endpoint *endpoint)
{
	struct gamma_link *link = endpoint->packet;
	uint64_t until = gamma_now() + NIC_ANSWERS_MS * GAMMA_NS_PER_MS;
	struct gamma_arrival arrival;
	struct gamma_fields fields;

	while (gamma_now() < until) {
		if (!link->ops->next(link, &arrival)) {
			sched_yield();
			continue;
		}
		endpoint->resets = 0;
		if (!gamma_codec_parse(arrival.frame, arrival.len, &fields) &&
		    fields.kind == GAMMA_KIND_PROBE && fields.dst_port == endpoint->local.port &&
		    fields.dst_epoch == endpoint->local.epoch)
			gamma_dispatch_send_reset(endpoint, link, gamma_dispatch_sender(&arrival),
						  &fields, GAMMA_RESET_NIC, true);
		link->ops->release(link);
	}
}

/* Short frames still pass: so peers know of it at once, and not from their timeout. */
static void inform_peers(struct gamma_endpoint *endpoint)
{
	const struct gamma_local *local = &endpoint->local;
	struct gamma_list *pos;
	bool any = false;

	gamma_list_for_each (pos, &local->flows) {
		const struct gamma_flow *flow = gamma_list_entry(pos, struct gamma_flow, all_entry);
		const struct gamma_fields next = {
			.src_port = flow->port,
			.dst_port = local->port,
			.src_epoch = flow->epoch,
			.dst_epoch = local->epoch,
			.seq = flow->rx.next,
		};

		if (flow->same_host || flow->state != GAMMA_FLOW_OPEN || !flow->rx.begun)
			continue;
		endpoint->resets = 0;
		gamma_dispatch_send_reset(endpoint, endpoint->packet, flow->addr.mac, &next,
					  GAMMA_RESET_NIC, true);
		any = true;
	}
	if (any && !endpoint->lending.lent)
		answer_probes(endpoint);
}

void gamma_dispatch_end_by_mtu(struct gamma_endpoint *endpoint)
{
	if (endpoint->error)
		return;
	inform_peers(endpoint);
	gamma_peers_fail_all(endpoint, -EMSGSIZE, GAMMA_NIC_MTU_TOO_SMALL);
}

/* The payload of FOUND. A question that is as long as that learns the endpoint's NICs, too: no
 * answer is longer than its question, so that it cannot be used to flood others. */
struct found {
	struct gamma_addr addr;
	struct gamma_rails_list rails;
} __attribute__((packed));

static uint16_t fill_found(const struct gamma_local *local, const struct gamma_fields *asked,
			   struct found *found)
{
	found->addr = local->addr;
	gamma_ipv6_names_show_addr(&found->addr);
	if (local->rail_count <= 1 || asked->payload_len < sizeof(*found))
		return sizeof(found->addr);
	gamma_rails_list_fill(local, &found->rails);
	return sizeof(*found);
}

static void answer_lookup(struct gamma_endpoint *endpoint, struct gamma_link *link,
			  const struct gamma_arrival *arrival, const struct gamma_fields *asked)
{
	const struct gamma_local *local = &endpoint->local;
	bool entitled = asked->tenant == local->tenant;
	struct found found;
	struct gamma_fields fields = {
		.kind = GAMMA_KIND_LOOKUP,
		.op = entitled ? GAMMA_LOOKUP_FOUND : GAMMA_LOOKUP_OTHER_TENANT,
		.dst_port = asked->src_port,
		.src_port = local->port,
		.src_epoch = entitled ? local->epoch : GAMMA_EPOCH_ANY,
		.dst_epoch = asked->src_epoch,
		.seq = asked->seq,
		.payload_len = entitled ? fill_found(local, asked, &found) : 0,
	};

	endpoint->local.stats.lookups_in++;
	if (entitled && (local->limits.payload_crc || asked->flags & GAMMA_FLAG_WANT_CRC)) {
		fields.extensions = GAMMA_EXT_PAYLOAD_CRC;
		fields.payload_crc = gamma_crc32c(0, &found, fields.payload_len);
	}
	send_answer(endpoint, link, gamma_dispatch_sender(arrival), &fields, &found);
}

/* Over IPv6 an endpoint answers from its own address. */
static bool take_ipv6(const struct gamma_arrival *arrival, struct gamma_addr *found)
{
	uint8_t ipv6[GAMMA_IPV6_LEN];

	gamma_addr_ipv6(found, ipv6);
	found->mtu = 0;
	found->host = 0;
	gamma_pseudo_mac_make_ipv6(ipv6, found->mac);
	return found->version == GAMMA_ADDR_VERSION_UDP6 &&
	       !memcmp(found->mac, gamma_dispatch_sender(arrival), GAMMA_MAC_LEN);
}

/* The address in a LOOKUP answer; false: it is not valid. */
static bool found_address(const struct gamma_endpoint *endpoint,
			  const struct gamma_arrival *arrival, const struct gamma_fields *fields,
			  struct gamma_addr *found)
{
	if (fields->op != GAMMA_LOOKUP_FOUND || fields->payload_len < GAMMA_ADDR_LEN)
		return false;
	memcpy(found, gamma_dispatch_payload(arrival, fields), sizeof(*found));
	if (endpoint->local.addr.version == GAMMA_ADDR_VERSION_UDP6 && !take_ipv6(arrival, found))
		return false;
	/* gammad answers from the NIC's address, but its endpoints have addresses of their own. */
	return gamma_mac_is_unicast(found->mac) && ntohs(found->port) == fields->src_port &&
	       ntohl(found->epoch) != GAMMA_EPOCH_ANY;
}

/* The flow that asked, with this very number: one in LOOKUP state, or one that checks whether its
 * peer is alive. */
static struct gamma_flow *flow_that_asked(const struct gamma_endpoint *endpoint,
					  const struct gamma_arrival *arrival,
					  const struct gamma_fields *fields)
{
	if (fields->dst_epoch != endpoint->local.epoch)
		return NULL;
	return gamma_peers_looking_up(endpoint, gamma_dispatch_sender(arrival), fields->src_port,
				      fields->seq);
}

static void open_found(struct gamma_endpoint *endpoint, struct gamma_flow *flow,
		       const struct gamma_addr *found, const struct gamma_fields *fields,
		       uint64_t now)
{
	struct gamma_flow *known =
		gamma_peers_find(endpoint, found->mac, fields->src_port, ntohl(found->epoch));

	if (!known) {
		gamma_peers_found(endpoint, flow, found, now);
	} else if (gamma_flow_usable(known)) {
		/* Meanwhile a flow with the full address has been opened. */
		gamma_flow_hand_over(flow, known);
		if (endpoint->handlers.merged)
			endpoint->handlers.merged(endpoint->context, flow, known);
		gamma_peers_forget(&endpoint->local, flow, now);
		flow = known;
	} else {
		gamma_flow_fail_for_good(flow, -EHOSTDOWN, GAMMA_DECLARED_DEAD, now);
	}
	if (fields->flags & GAMMA_FLAG_WANT_CRC)
		flow->payload_crc = true;
}

/* An answer about where datagrams go. */
static bool answers_datagrams(struct gamma_endpoint *endpoint, const struct gamma_arrival *arrival,
			      const struct gamma_fields *fields)
{
	struct gamma_addr found;
	bool is_found = found_address(endpoint, arrival, fields, &found);

	return fields->dst_epoch == endpoint->local.epoch &&
	       gamma_datagram_names_answered(endpoint, gamma_dispatch_sender(arrival), fields,
					     is_found ? &found : NULL);
}

static void handle_lookup_answer(struct gamma_endpoint *endpoint,
				 const struct gamma_arrival *arrival,
				 const struct gamma_fields *fields, uint64_t now)
{
	struct gamma_flow *flow = flow_that_asked(endpoint, arrival, fields);
	struct gamma_addr found;

	if (endpoint->datagram && answers_datagrams(endpoint, arrival, fields))
		return;
	if (!flow)
		endpoint->local.stats.stray++;
	else if (fields->op == GAMMA_LOOKUP_NO_PORT)
		gamma_flow_no_port(flow, now);
	else if (fields->op == GAMMA_LOOKUP_OTHER_TENANT)
		gamma_flow_fail_for_good(
			flow, -EACCES,
			"that port belongs to another user: use the same user id on all hosts",
			now);
	else if (!found_address(endpoint, arrival, fields, &found))
		endpoint->local.stats.malformed++;
	else if (flow->state == GAMMA_FLOW_LOOKUP)
		open_found(endpoint, flow, &found, fields, now);
	else if (flow->epoch == ntohl(found.epoch))
		gamma_flow_still_there(flow, now);
	else
		gamma_flow_fail_for_good(flow, -ECONNRESET, "its endpoint is another one now", now);
}

static void handle_lookup(struct gamma_endpoint *endpoint, struct gamma_link *link,
			  const struct gamma_arrival *arrival, const struct gamma_fields *fields,
			  uint64_t now)
{
	if (fields->op == GAMMA_LOOKUP_ASK && arrival->behind)
		endpoint->local.stats.stray++;
	else if (fields->op == GAMMA_LOOKUP_ASK)
		answer_lookup(endpoint, link, arrival, fields);
	else
		handle_lookup_answer(endpoint, arrival, fields, now);
}

static void deliver_datagram(struct gamma_endpoint *endpoint, const struct gamma_arrival *arrival,
			     const struct gamma_fields *fields, bool to_group)
{
	struct gamma_envelope envelope;
	struct gamma_addr source;

	if (!endpoint->datagram) {
		endpoint->local.stats.stray++;
		return;
	}
	gamma_envelope_of(fields, fields->payload_len, &envelope);
	if (gamma_unlikely(!gamma_envelope_port_is_valid(&envelope))) {
		endpoint->local.stats.malformed++;
		return;
	}
	envelope.flags |= to_group ? GAMMA_TO_GROUP : 0;
	source_of(endpoint, arrival, fields, &source);
	endpoint->local.stats.datagrams_in++;
	endpoint->handlers.datagram(endpoint->context, &source, &envelope,
				    gamma_dispatch_payload(arrival, fields));
}

/* Only accepted from this host, where gammad sends it. */
static void handle_revocation(struct gamma_endpoint *endpoint, const struct gamma_link *link,
			      const struct gamma_fields *fields)
{
	if (link != gamma_shm_link(endpoint->shm) || fields->dst_epoch != endpoint->local.epoch) {
		endpoint->local.stats.stray++;
		return;
	}
	gamma_peers_fail_all(endpoint, -EACCES, GAMMA_REVOKED);
}

/* Whether this kind may open a flow. Other kinds answer something this endpoint never sent. */
static bool opens_flow(const struct gamma_endpoint *endpoint, const struct gamma_fields *fields)
{
	if (endpoint->datagram || fields->src_epoch == GAMMA_EPOCH_ANY)
		return false;
	return fields->kind == GAMMA_KIND_DATA || fields->kind == GAMMA_KIND_PROBE ||
	       fields->kind == GAMMA_KIND_REQUEST;
}

/* A frame from a peer without a flow. It also answers a LOOKUP of that peer. */
static struct gamma_flow *open_flow_to_unknown(struct gamma_endpoint *endpoint,
					       struct gamma_link *link,
					       const struct gamma_arrival *arrival,
					       const struct gamma_fields *fields, uint64_t now)
{
	struct gamma_addr source;
	struct gamma_flow *flow;

	source_of(endpoint, arrival, fields, &source);
	if (link == gamma_shm_link(endpoint->shm))
		source.host = endpoint->local.addr.host;
	flow = gamma_peers_find(endpoint, source.mac, fields->src_port, GAMMA_EPOCH_ANY);
	if (flow && flow->state == GAMMA_FLOW_LOOKUP) {
		gamma_flow_found(flow, &source, now);
		return flow;
	}
	gamma_peers_sweep(endpoint, now);
	/* Invented senders must not exhaust the memory; one that has ended could not answer. */
	return endpoint->flow_count < GAMMA_FLOWS_MAX && !endpoint->error
		       ? gamma_peers_add(endpoint, &source, now)
		       : NULL;
}

static struct gamma_flow *flow_of(struct gamma_endpoint *endpoint, struct gamma_link *link,
				  const struct gamma_arrival *arrival,
				  const struct gamma_fields *fields, uint64_t now)
{
	struct gamma_flow *flow = gamma_peers_find(endpoint, gamma_dispatch_sender(arrival),
						   fields->src_port, fields->src_epoch);

	if (gamma_likely(flow) || !opens_flow(endpoint, fields) || fields->flags & GAMMA_FLAG_RAIL)
		return flow;
	return open_flow_to_unknown(endpoint, link, arrival, fields, now);
}

/* Answers a BYE for a flow that is gone, or for the port's previous owner: its sender waits. */
static bool answer_bye(struct gamma_endpoint *endpoint, struct gamma_link *link,
		       const struct gamma_arrival *arrival, const struct gamma_fields *fields)
{
	struct gamma_fields bye = {
		.kind = GAMMA_KIND_BYE,
		.op = GAMMA_ANSWER,
		.dst_port = fields->src_port,
		.src_port = fields->dst_port,
		.src_epoch = fields->dst_epoch,
		.dst_epoch = fields->src_epoch,
	};

	if (fields->kind != GAMMA_KIND_BYE || fields->op != GAMMA_ASK || arrival->behind)
		return false;
	send_answer(endpoint, link, gamma_dispatch_sender(arrival), &bye, NULL);
	return true;
}

/* Whether the payload matches its checksum, if it has one. */
static bool payload_intact(const struct gamma_arrival *arrival, const struct gamma_fields *fields)
{
	if (gamma_likely(!(fields->extensions & GAMMA_EXT_PAYLOAD_CRC)))
		return true;
	return gamma_crc32c(0, gamma_dispatch_payload(arrival, fields), fields->payload_len) ==
	       fields->payload_crc;
}

/* Frames of another protocol version are not answered, so say once why. */
static void warn_version(struct gamma_endpoint *endpoint, const struct gamma_arrival *arrival)
{
	char mac[GAMMA_MAC_TEXT_LEN], own[GAMMA_MAC_TEXT_LEN];

	if (endpoint->version_reported)
		return;
	endpoint->version_reported = true;
	gamma_error("frames from %s are of version %u of the protocol, this host (%s) has %u: "
		    "install the same release of gamma on all hosts, and restart gammad",
		    gamma_mac_format(gamma_dispatch_sender(arrival), mac),
		    arrival->frame[GAMMA_ETH_LEN + GAMMA_VERSION_AT] >> 4,
		    gamma_mac_format(endpoint->local.addr.mac, own), GAMMA_VERSION);
}

/* The kernel has checked the UDP checksum, so the frame is as it was sent, but to or from another
 * address. Anybody can send such a frame, so it ends nothing. */
static void warn_translated(struct gamma_endpoint *endpoint, const struct gamma_arrival *arrival)
{
	struct gamma_addr from = {.version = endpoint->local.addr.version};
	char name[GAMMA_NAME_LEN];

	if (endpoint->translation_reported || from.version == GAMMA_ADDR_VERSION ||
	    arrival->frame[GAMMA_ETH_LEN + GAMMA_VERSION_AT] >> 4 != GAMMA_VERSION)
		return;
	endpoint->translation_reported = true;
	memcpy(from.mac, gamma_dispatch_sender(arrival), GAMMA_MAC_LEN);
	memcpy(&from.port, arrival->frame + GAMMA_ETH_LEN + offsetof(struct gamma_header, src_port),
	       sizeof(from.port));
	gamma_error(
		"a frame that came from %s was sent from or to another address: network address "
		"translation (NAT) between hosts is not supported; give them addresses that "
		"reach each other",
		gamma_flow_addr_name(&from, name));
}

bool gamma_dispatch_is_named(const struct gamma_endpoint *endpoint, uint8_t rail,
			     const struct gamma_arrival *arrival)
{
	const uint8_t *sender = gamma_dispatch_sender(arrival);
	const struct gamma_flow *flow;
	struct gamma_header header;

	if (arrival->len < GAMMA_ETH_LEN + sizeof(header))
		return false;
	memcpy(&header, arrival->frame + GAMMA_ETH_LEN, sizeof(header));
	flow = gamma_peers_find(endpoint, sender, ntohs(header.src_port), ntohl(header.src_epoch));
	return flow && header.flags & GAMMA_FLAG_RAIL && gamma_aliases_is(flow, rail, sender);
}

void gamma_dispatch(struct gamma_endpoint *endpoint, struct gamma_link *link,
		    const struct gamma_arrival *arrival, uint64_t now)
{
	struct gamma_local *local = &endpoint->local;
	enum gamma_malformed malformed;
	struct gamma_fields fields;
	struct gamma_flow *flow;

	local->stats.frames_in++;
	local->stats.bytes_in += arrival->len;
	malformed = gamma_codec_parse(arrival->frame, arrival->len, &fields);
	if (gamma_unlikely(malformed != GAMMA_OK)) {
		local->stats.malformed++;
		if (malformed == GAMMA_BAD_VERSION)
			warn_version(endpoint, arrival);
		else if (malformed == GAMMA_BAD_CHECKSUM && link == endpoint->packet)
			warn_translated(endpoint, arrival);
		return;
	}
	if (gamma_unlikely(!payload_intact(arrival, &fields))) {
		local->stats.corrupt++;
		return;
	}
	if (gamma_unlikely(fields.kind == GAMMA_KIND_LOOKUP)) {
		handle_lookup(endpoint, link, arrival, &fields, now);
		return;
	}
	if (gamma_unlikely(fields.tenant != local->tenant || fields.dst_port != local->port)) {
		local->stats.stray++;
		return;
	}
	if (gamma_unlikely(fields.kind == GAMMA_KIND_RESET && fields.op == GAMMA_RESET_REVOKED)) {
		handle_revocation(endpoint, link, &fields);
		return;
	}
	if (fields.kind == GAMMA_KIND_DATAGRAM &&
	    (fields.dst_epoch == GAMMA_EPOCH_ANY || fields.dst_epoch == local->epoch)) {
		deliver_datagram(endpoint, arrival, &fields, false);
		return;
	}
	if (gamma_unlikely(fields.dst_epoch != local->epoch)) {
		local->stats.stray++;
		if (opens_flow(endpoint, &fields) && !arrival->behind)
			gamma_dispatch_send_reset(endpoint, link, gamma_dispatch_sender(arrival),
						  &fields, GAMMA_RESET_EPOCH, true);
		answer_bye(endpoint, link, arrival, &fields);
		return;
	}
	flow = flow_of(endpoint, link, arrival, &fields, now);
	/* A peer with a directed receive from this endpoint may never have sent a frame before. */
	if (gamma_unlikely(!flow)) {
		local->stats.stray += !answer_bye(endpoint, link, arrival, &fields);
		return;
	}
	/* An shm peer says so through shared memory: the wire knows nothing of its end. */
	if (gamma_unlikely((fields.kind == GAMMA_KIND_BYE || fields.kind == GAMMA_KIND_RESET) &&
			   flow->same_host && link != gamma_shm_link(endpoint->shm))) {
		local->stats.stray++;
		return;
	}
	/* Ended here, but alive: it must not wait for answers that will never come. */
	if (gamma_unlikely(!gamma_flow_usable(flow)) && opens_flow(endpoint, &fields) &&
	    !arrival->behind) {
		/* After BYE the peer may ask whether that was true: no error. */
		gamma_dispatch_send_reset(
			endpoint, link, gamma_dispatch_sender(arrival), &fields, reset_op(endpoint),
			flow->state == GAMMA_FLOW_FAILED || fields.kind != GAMMA_KIND_PROBE);
		return;
	}
	if (arrival->flow)
		*arrival->flow = flow;
	local->stats.rx_ordinary += fields.kind == GAMMA_KIND_DATA;
	gamma_flow_receive(flow, &fields, gamma_dispatch_payload(arrival, &fields),
			   gamma_dispatch_arrival_time(endpoint, arrival, now), now);
}

/* The kernel also delivers an endpoint's own frames to a group that it has joined. */
static bool is_own_frame(const struct gamma_local *local, const struct gamma_arrival *arrival,
			 const struct gamma_fields *fields)
{
	return fields->src_port == local->port && fields->src_epoch == local->epoch &&
	       !memcmp(gamma_dispatch_sender(arrival), local->addr.mac, GAMMA_MAC_LEN);
}

bool gamma_dispatch_read_group(struct gamma_endpoint *endpoint, const struct gamma_group *group,
			       const struct gamma_arrival *arrival, struct gamma_group_frame *frame)
{
	struct gamma_local *local = &endpoint->local;
	struct gamma_fields fields;

	if (gamma_codec_parse(arrival->frame, arrival->len, &fields) != GAMMA_OK) {
		local->stats.malformed++;
		return false;
	}
	if (!payload_intact(arrival, &fields)) {
		local->stats.corrupt++;
		return false;
	}
	if (fields.tenant != local->tenant || fields.dst_port != ntohs(group->addr.port) ||
	    fields.kind != GAMMA_KIND_DATAGRAM || fields.dst_epoch != GAMMA_EPOCH_ANY ||
	    is_own_frame(local, arrival, &fields)) {
		local->stats.stray++;
		return false;
	}
	gamma_envelope_of(&fields, fields.payload_len, &frame->envelope);
	source_of(endpoint, arrival, &fields, &frame->source);
	frame->payload = gamma_dispatch_payload(arrival, &fields);
	return true;
}

void gamma_dispatch_group(struct gamma_endpoint *endpoint, const struct gamma_group *group,
			  const struct gamma_arrival *arrival)
{
	struct gamma_local *local = &endpoint->local;
	struct gamma_fields fields;

	local->stats.frames_in++;
	local->stats.bytes_in += arrival->len;
	if (gamma_codec_parse(arrival->frame, arrival->len, &fields) != GAMMA_OK)
		local->stats.malformed++;
	else if (!payload_intact(arrival, &fields))
		local->stats.corrupt++;
	else if (fields.tenant != local->tenant || fields.dst_port != ntohs(group->addr.port) ||
		 fields.kind != GAMMA_KIND_DATAGRAM || fields.dst_epoch != GAMMA_EPOCH_ANY)
		local->stats.stray++;
	else if (!is_own_frame(local, arrival, &fields))
		deliver_datagram(endpoint, arrival, &fields, true);
}
