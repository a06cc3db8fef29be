// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Names are asked for at the first datagram, and again while datagrams are sent: the endpoint may
 * be another one by then. Datagrams that wait have left for the NIC's address, too: where the
 * endpoint has that, as without gammad, they have arrived, and their copies are dropped.
 */
#include "engine/datagram_names.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "engine/output.h"
#include "engine/peers.h"
#include "wire/codec.h"

enum {
	CHAINS = 256,
	NAMES_MAX = 4096,    /* further ones take the NIC's address */
	HELD_MAX = 64,       /* datagrams that wait for one answer */
	TRIES = 4,           /* questions in a row */
	AGAIN_US = 1000000,  /* until the next one, */
	REFUSED_US = 100000, /* if the answer was that nobody has that port */
};

struct held {
	struct gamma_list entry;
	struct gamma_envelope envelope;
	uint8_t bytes[];
};

struct name {
	struct name *next;         /* in its chain */
	struct gamma_list waiting; /* of those that have been asked for */
	struct gamma_addr asked;   /* the NIC's address, and the port */
	struct gamma_addr found;
	bool is_found; /* and is not the NIC's */
	bool asking;
	uint8_t tries;
	uint32_t number; /* of the question that is out */
	uint64_t ask_at; /* ns: when to ask again */
	struct gamma_list held;
	unsigned held_count;
};

struct gamma_datagram_names {
	struct name *chains[CHAINS];
	struct gamma_list waiting;
	unsigned count;
};

static unsigned chain_of(const struct gamma_addr *addr)
{
	unsigned hash = addr->port;

	for (unsigned i = 0; i < GAMMA_MAC_LEN; i++)
		hash = hash * 31 + addr->mac[i];
	return hash % CHAINS;
}

static struct name *find_name(const struct gamma_datagram_names *names, const uint8_t *mac,
			      uint16_t port)
{
	struct gamma_addr addr = {.port = port};
	struct name *name;

	memcpy(addr.mac, mac, sizeof(addr.mac));
	for (name = names->chains[chain_of(&addr)]; name; name = name->next)
		if (name->asked.port == port && !memcmp(name->asked.mac, mac, sizeof(addr.mac)))
			return name;
	return NULL;
}

static struct name *make_name(struct gamma_endpoint *endpoint, const struct gamma_addr *peer)
{
	struct gamma_datagram_names *names = endpoint->datagram_names;
	struct name *name;

	if (!names) {
		names = endpoint->datagram_names = calloc(1, sizeof(*names));
		if (!names)
			return NULL;
		gamma_list_init(&names->waiting);
	}
	name = find_name(names, peer->mac, peer->port);
	if (name || names->count == NAMES_MAX)
		return name;
	name = calloc(1, sizeof(*name));
	if (!name)
		return NULL;
	name->asked = *peer;
	gamma_list_init(&name->waiting);
	gamma_list_init(&name->held);
	name->next = names->chains[chain_of(peer)];
	names->chains[chain_of(peer)] = name;
	names->count++;
	return name;
}

static void drop_held(struct name *name)
{
	while (!gamma_list_empty(&name->held)) {
		struct held *held = gamma_list_first(&name->held, struct held, entry);

		gamma_list_remove(&held->entry);
		free(held);
	}
	name->held_count = 0;
}

static void end_question(struct name *name, uint64_t again_us, uint64_t now)
{
	gamma_list_remove(&name->waiting);
	drop_held(name);
	name->asking = false;
	name->tries = 0;
	name->ask_at = now + again_us * GAMMA_NS_PER_US;
}

static void send_question(struct gamma_endpoint *endpoint, const struct name *name)
{
	const struct gamma_local *local = &endpoint->local;
	struct gamma_frame frame = {.iov_count = 0, .kind = GAMMA_KIND_LOOKUP};
	struct gamma_fields fields = {
		.kind = GAMMA_KIND_LOOKUP,
		.op = GAMMA_LOOKUP_ASK,
		.flags = local->limits.payload_crc ? GAMMA_FLAG_WANT_CRC : 0,
		.dst_port = ntohs(name->asked.port),
		.src_port = local->port,
		.tenant = local->tenant,
		.src_epoch = local->epoch,
		.dst_epoch = GAMMA_EPOCH_ANY,
		.seq = name->number,
	};
	struct gamma_link *link = gamma_peers_same_host(endpoint, &name->asked)
					  ? &endpoint->shm->link
					  : endpoint->packet;

	endpoint->local.stats.lookups_out++;
	frame.head = gamma_codec_build(&fields, name->asked.mac, local->addr.mac, local->ethertype,
				       frame.room + sizeof(frame.room));
	frame.head_len = GAMMA_ETH_LEN + fields.header_len;
	gamma_output_single(endpoint, link, &frame); /* or it is lost, and repeated */
}

/* One more question. After so many in a row what waits is dropped. */
static void ask_for_name(struct gamma_endpoint *endpoint, struct name *name, uint64_t now)
{
	struct gamma_local *local = &endpoint->local;

	if (name->tries == TRIES) {
		end_question(name, AGAIN_US, now);
		return;
	}
	if (!name->asking) {
		name->number = gamma_random_next(&local->random);
		gamma_list_append(&endpoint->datagram_names->waiting, &name->waiting);
	}
	name->asking = true;
	name->ask_at = now + (GAMMA_LOOKUP_US * GAMMA_NS_PER_US << name->tries++);
	local->next_deadline = gamma_min(local->next_deadline, name->ask_at);
	send_question(endpoint, name);
}

static void hold(struct name *name, const struct iovec *iov, unsigned iov_count,
		 const struct gamma_envelope *envelope)
{
	struct held *held;

	if (name->held_count == HELD_MAX)
		return;
	held = malloc(sizeof(*held) + envelope->length);
	if (!held)
		return;
	held->envelope = *envelope;
	gamma_iov_read(iov, iov_count, 0, held->bytes, envelope->length);
	gamma_list_append(&name->held, &held->entry);
	name->held_count++;
}

const struct gamma_addr *gamma_datagram_names_find(struct gamma_endpoint *endpoint,
						   const struct gamma_addr *peer,
						   const struct iovec *iov, unsigned iov_count,
						   const struct gamma_envelope *envelope)
{
	struct name *name = make_name(endpoint, peer);
	uint64_t now;

	if (!name)
		return peer;
	now = gamma_now();
	if (!name->asking && now >= name->ask_at)
		ask_for_name(endpoint, name, now);
	if (name->is_found)
		return &name->found;
	if (name->asking && envelope->length <= gamma_endpoint_datagram_max(endpoint))
		hold(name, iov, iov_count, envelope);
	return peer;
}

/* Datagrams that do not leave are lost, as on the network. */
static void send_held(struct gamma_endpoint *endpoint, const struct name *name)
{
	struct gamma_list *pos;

	gamma_list_for_each (pos, &name->held) {
		struct held *held = gamma_list_entry(pos, struct held, entry);
		struct iovec iov = {held->bytes, held->envelope.length};

		gamma_endpoint_send_datagram(endpoint, &name->found, &iov, 1, &held->envelope);
	}
}

bool gamma_datagram_names_answered(struct gamma_endpoint *endpoint, const uint8_t *sender,
				   const struct gamma_fields *fields,
				   const struct gamma_addr *found)
{
	struct name *name = endpoint->datagram_names ? find_name(endpoint->datagram_names, sender,
								 htons(fields->src_port))
						     : NULL;
	bool before;

	if (!name || !name->asking || name->number != fields->seq)
		return false;
	before = name->is_found;
	name->is_found = found && memcmp(found->mac, name->asked.mac, GAMMA_MAC_LEN);
	if (name->is_found) {
		name->found = *found;
		if (!before)
			send_held(endpoint, name);
	}
	end_question(name, found ? AGAIN_US : REFUSED_US, gamma_now());
	return true;
}

void gamma_datagram_names_timeout(struct gamma_endpoint *endpoint, uint64_t now)
{
	struct gamma_local *local = &endpoint->local;
	struct gamma_list *pos, *next;

	gamma_list_for_each_safe (pos, next, &endpoint->datagram_names->waiting) {
		struct name *name = gamma_list_entry(pos, struct name, waiting);

		if (name->ask_at <= now)
			ask_for_name(endpoint, name, now);
		else
			local->next_deadline = gamma_min(local->next_deadline, name->ask_at);
	}
}

void gamma_datagram_names_free(struct gamma_endpoint *endpoint)
{
	struct gamma_datagram_names *names = endpoint->datagram_names;
	struct name *name, *next;

	for (unsigned i = 0; names && i < CHAINS; i++)
		for (name = names->chains[i]; name; name = next) {
			next = name->next;
			drop_held(name);
			free(name);
		}
	free(names);
	endpoint->datagram_names = NULL;
}
