// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Fuzz target: an shm peer that sends any records without frames to an endpoint with open flows
 * toward it: messages, announcements, answers, chunks of any size. The input is a list of
 * records; the link (fuzz_ring) has checked their lengths. Whatever comes, every send and receive
 * ends at most once, nothing is written beyond a receive, and nothing leaks.
 */
#include "pair.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

enum { RECORDS_MAX = 200, ID_FIRST = 0x10000 /* that transfers.c gives */ };

/* The elements of the input. */
struct record {
	uint8_t how; /* see below */
	uint8_t kind, flags;
	uint8_t id;
	uint16_t len;    /* of a message or chunk */
	uint16_t offset; /* of a chunk */
	uint32_t length; /* of the message that is announced, or asked for */
} __attribute__((packed));

enum {
	HOW_EVEN = 1 << 0,       /* len is a chunk's, or a half or quarter of it */
	HOW_NEXT = 1 << 1,       /* the chunk is the next one */
	HOW_WIDE = 1 << 2,       /* ids and lengths with more bits than are valid */
	HOW_UNREADABLE = 1 << 3, /* the kernel copies nothing from there */
	HOW_FULL = 1 << 4,       /* there is no room for the answer */
	HOW_POST = 1 << 5,       /* a receive first, */
	HOW_TIME = 1 << 6,       /* or time passes, */
	HOW_READ = 1 << 7,       /* or the kernel reads */
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct gamma_shm shm;
static struct gamma_link *wire; /* that its frames take */
static uint8_t how;             /* the present record's */

/* The linker puts these in the place of common/shm's: see fabtests/Makefile.include. */
bool __wrap_gamma_shm_put(struct gamma_shm *to, struct gamma_tx_channel *channel,
			  const struct gamma_shm_message *message, const struct iovec *iov,
			  unsigned iov_count);
void __wrap_gamma_shm_withdraw(struct gamma_tx_channel *channel);
void __wrap_gamma_shm_set_backpressure(struct gamma_shm *from, bool on);
void __wrap_gamma_shm_forget(struct gamma_shm *from, const struct gamma_flow *flow,
			     const struct gamma_shm_addr *peer);

bool __wrap_gamma_shm_put(struct gamma_shm *to, struct gamma_tx_channel *channel,
			  const struct gamma_shm_message *message, const struct iovec *iov,
			  unsigned iov_count)
{
	(void) to, (void) channel, (void) iov, (void) iov_count;
	assert_true(message->kind != GAMMA_RECORD_CHUNK ||
		    message->len > sizeof(struct gamma_chunk));
	return !(how & HOW_FULL);
}

void __wrap_gamma_shm_withdraw(struct gamma_tx_channel *channel)
{
	(void) channel;
}

void __wrap_gamma_shm_set_backpressure(struct gamma_shm *from, bool on)
{
	(void) from, (void) on;
}

void __wrap_gamma_shm_forget(struct gamma_shm *from, const struct gamma_flow *flow,
			     const struct gamma_shm_addr *peer)
{
	(void) from, (void) flow, (void) peer;
}

static unsigned send_on_wire(struct gamma_link *link, const struct gamma_frame *frames,
			     unsigned count, int *error)
{
	(void) link;
	return wire->ops->send(wire, frames, count, error);
}

/* The peer's memory addresses lead nowhere here; the kernel's copies are made up. */
static bool pull(struct gamma_local *local, const struct gamma_flow *flow,
		 const struct gamma_source *source, uint64_t offset, const struct iovec *iov,
		 unsigned iov_count, uint64_t len)
{
	static const uint8_t bytes[4096];

	(void) local, (void) flow;
	assert_true(source->iov_count > 0 && source->iov_count <= GAMMA_IOV_MAX && len > 0);
	if (how & HOW_UNREADABLE)
		return false;
	for (uint64_t at = 0; at < len; at += sizeof(bytes)) {
		uint64_t part = gamma_min(sizeof(bytes), len - at);

		assert_int_equal(gamma_iov_write(iov, iov_count, offset + at, bytes, part), part);
	}
	return true;
}

static void begin(struct net *net)
{
	static const struct gamma_link_ops ops = {.send = send_on_wire};
	static const uint64_t lengths[] = {20000, 8192, 10};
	struct gamma_endpoint *ep = &net->nodes[0].ep;
	struct gamma_flow *flow = net_flow(net, 0, 1);

	wire = &net->nodes[0].link;
	shm = (struct gamma_shm){.link = {.ops = &ops}};
	ep->shm = &shm;
	ep->shm_peers = 1;
	ep->messages.put_record = gamma_shm_path_put;
	ep->messages.withdraw_records = gamma_shm_path_withdraw;
	ep->messages.read_source = pull;
	flow->same_host = true;
	flow->has_shm_channel = true;
	gamma_peer(flow)->tx_channel = (struct gamma_tx_channel *) &shm;
	gamma_peer(flow)->copy_model =
		(struct gamma_shm_copy_model){.kib_ns = 20, .left = 1000}; /* they pay */
	net->lawless = true;
	for (unsigned i = 0; i < gamma_array_size(lengths); i++)
		net_send(net, 0, 1, lengths[i], GAMMA_WHEN_MATCHED);
}

static struct gamma_flow *flow_of(const struct net *net)
{
	const struct gamma_addr *peer = &net->nodes[1].ep.local.addr;

	return gamma_peers_find(&net->nodes[0].ep, peer->mac, ntohs(peer->port),
				ntohl(peer->epoch));
}

static uint64_t next_offset(const struct gamma_local *local, uint32_t id)
{
	struct gamma_list *pos;

	gamma_list_for_each (pos, &gamma_message_local(local)->reading) {
		const struct gamma_inbound *inbound =
			gamma_list_entry(pos, struct gamma_inbound, arriving_entry);

		if (inbound->id == id)
			return inbound->arrived;
	}
	return 0;
}

/* The header in front of a message's or chunk's bytes, if there is one. */
union said {
	struct gamma_announce announce;
	struct gamma_answer answer;
	struct gamma_chunk chunk;
	struct gamma_more more;
};

static uint32_t say(struct net *net, const struct record *record, union said *said)
{
	const bool wide = record->how & HOW_WIDE;
	uint64_t length = wide ? (uint64_t) record->length << 24 : record->length % (1 << 21);
	uint32_t his = wide ? record->length : record->id % 4;
	uint32_t ours = wide ? record->length : ID_FIRST + record->id % 8;

	switch (record->kind % 5) {
	case 0:
		said->announce = (struct gamma_announce){.length = length,
							 .address = 1,
							 .id = his,
							 .iov_count = record->offset % 20};
		return sizeof(said->announce);
	case 1:
		said->answer = (struct gamma_answer){
			.wanted = length, .id = ours, .accepted = record->offset};
		return sizeof(said->answer);
	case 2:
		said->chunk = (struct gamma_chunk){.offset = record->offset, .id = his};
		if (record->how & HOW_NEXT)
			said->chunk.offset = next_offset(&net->nodes[0].ep.local, his);
		return sizeof(said->chunk);
	case 3:
		said->more = (struct gamma_more){.id = ours};
		return sizeof(said->more);
	}
	return 0;
}

static void arrive(struct net *net, const struct record *record)
{
	static const uint8_t kinds[] = {GAMMA_RECORD_ANNOUNCE, GAMMA_RECORD_ANSWER,
					GAMMA_RECORD_CHUNK, GAMMA_RECORD_MORE, GAMMA_RECORD_INLINE};
	struct gamma_flow *flow = flow_of(net);
	uint8_t kind = kinds[record->kind % 5];
	uint32_t len = record->how & HOW_EVEN ? GAMMA_CHUNK >> record->len % 3
					      : record->len % (GAMMA_CHUNK + 1);
	struct gamma_arrival arrival = {
		.flow = &flow,
		.shm =
			{
				.kind = kind,
				.flags = record->flags &
					 (GAMMA_SHM_MESSAGE_TAGGED | GAMMA_SHM_MESSAGE_DATA |
					  GAMMA_SHM_MESSAGE_PORT),
				.tag = record->id,
			},
	};
	union said said;
	uint32_t head = say(net, record, &said);
	uint8_t *bytes;

	if (kind == GAMMA_RECORD_ANNOUNCE)
		arrival.shm.flags |= record->flags & GAMMA_SHM_MESSAGE_CHUNKS;
	else if (kind != GAMMA_RECORD_INLINE)
		arrival.shm.flags = 0;
	if (kind == GAMMA_RECORD_CHUNK && !len)
		len = 1;
	arrival.shm.len = head + (!head || kind == GAMMA_RECORD_CHUNK ? len : 0);
	/* The link lets pass any head that there may be. */
	if (kind == GAMMA_RECORD_ANNOUNCE && arrival.shm.flags & GAMMA_SHM_MESSAGE_PORT) {
		uint32_t behind = record->len % (GAMMA_PORT_HEAD_MAX + 1);

		arrival.shm.len += behind;
		if (record->how & HOW_EVEN)
			arrival.shm.tag |= (uint64_t) behind << GAMMA_PORT_TAG_HEAD_SHIFT;
	}
	/* So that reading beyond is noticed. */
	bytes = calloc(1, arrival.shm.len);
	memcpy(bytes, &said, head);
	arrival.shm.bytes = bytes;
	gamma_shm_path_receive(&net->nodes[0].ep, &arrival);
	free(bytes);
}

/* The other work of progress. */
static void go_on(struct net *net, const struct record *record)
{
	struct gamma_endpoint *ep = &net->nodes[0].ep;

	if (record->how & HOW_POST)
		net_post(net, 0, record->length % (1 << 18));
	else if (record->how & HOW_TIME)
		net_run(net, record->len * 100ull);
	else if (record->how & HOW_READ && !gamma_list_empty(&ep->messages.reading))
		gamma_rndv_shm_read_first(&ep->local, 1 + record->length % (1 << 18));
	if (!gamma_list_empty(&ep->messages.reading))
		gamma_rndv_shm_ask_more(&ep->local, record->flags & 1);
	gamma_shm_path_feed(ep);
	if (ep->backpressure)
		gamma_shm_path_relax(ep);
}

/* Two of the peer's messages are being read already, and one has no receive yet. */
static void begin_his(struct net *net)
{
	static const struct record announced[] = {
		{.id = 0, .flags = GAMMA_SHM_MESSAGE_CHUNKS, .offset = 1, .length = 100000},
		{.id = 1, .flags = GAMMA_SHM_MESSAGE_CHUNKS, .offset = 1, .length = 20000},
		{.id = 2, .flags = GAMMA_SHM_MESSAGE_CHUNKS, .offset = 1, .length = 40000},
	};

	for (unsigned i = 0; i < gamma_array_size(announced); i++) {
		if (i < 2)
			net_post(net, 0, announced[i].length);
		arrive(net, &announced[i]);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct net_options options = net_defaults();
	struct net *net;

	options.peer_timeout = 100 * MS;
	options.unexpected_size = 32768;
	how = 0;
	net = net_new(2, &options);
	begin(net);
	begin_his(net);
	for (int i = 0; i < RECORDS_MAX && size >= sizeof(struct record); i++) {
		struct record record;

		memcpy(&record, data, sizeof(record));
		data += sizeof(record);
		size -= sizeof(record);
		how = record.how;
		go_on(net, &record);
		arrive(net, &record);
	}
	while (!gamma_list_empty(&net->nodes[0].unexpected)) {
		net_discard(net, 0);
		if (!gamma_list_empty(&net->nodes[0].unexpected))
			net_post(net, 0, 1000);
	}
	net_run(net, SEC);
	net_free(net);
	return 0;
}
