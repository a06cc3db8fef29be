// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * A large message between processes of one host: its announcement says where the bytes are, and
 * the receiver reads them from there once a receive has matched. Its answer then wants no bytes,
 * which completes the send. Bytes that cannot be read are sent, as to any other peer. Announcement
 * and answer are frames (ANNOUNCE, ACCEPT), or go without where messages may.
 */
#include "message/rndv_shm.h"

#include "message/receive.h"
#include "message/send.h"

enum { PULL_MIN = 4096 /* bytes: below, two copies cost less than a call of the kernel */ };

bool gamma_rndv_shm_is_possible(const struct gamma_flow *flow)
{
	return flow->same_host && gamma_message_local(flow->local)->read_source &&
	       !gamma_message_state(flow)->no_cma && !flow->payload_crc;
}

uint64_t gamma_rndv_shm_eager_size(const struct gamma_flow *flow)
{
	const struct gamma_limits *limits = &flow->local->limits;

	if (gamma_likely(!gamma_rndv_shm_is_possible(flow) || gamma_message_state(flow)->copies))
		return limits->eager_size;
	return gamma_min(limits->eager_size, gamma_max(limits->inject_size, PULL_MIN));
}

/* number: the frame's, or the id of what goes without. No other announcement of the same send
 * has it while the receiver might read. */
static uint64_t stamp_of(uint32_t receiver, uint32_t number)
{
	return (uint64_t) receiver << 32 | number;
}

static uint64_t address_of(const struct gamma_send *send)
{
	return (uintptr_t) (send->iov_count == 1 ? send->iov[0].iov_base
						 : (const void *) send->iov);
}

void gamma_rndv_shm_offer(struct gamma_flow *flow, struct gamma_send *send)
{
	send->stamp = gamma_rndv_shm_is_possible(flow) && send->envelope.length
			      ? stamp_of(flow->epoch, flow->tx.next)
			      : 0;
}

void gamma_rndv_shm_offer_content(const struct gamma_send *send, struct gamma_content *content)
{
	if (!send->stamp)
		return;
	content->extensions |= GAMMA_EXT_RMA;
	content->rma_address = address_of(send);
	content->rma_key = (uintptr_t) &send->stamp;
	content->rma_length = send->iov_count;
}

bool gamma_rndv_shm_announce(struct gamma_flow *flow, struct gamma_send *send, bool in_chunks)
{
	uint32_t head_len = gamma_envelope_announced_len(&send->envelope);
	struct {
		struct gamma_announce announce;
		uint8_t head[GAMMA_PORT_HEAD_MAX];
	} said;
	struct gamma_shm_message plain = {
		.kind = GAMMA_RECORD_ANNOUNCE,
		.flags = (uint8_t) (send->envelope.flags |
				    (in_chunks ? GAMMA_SHM_MESSAGE_CHUNKS : 0)),
		.tag = send->envelope.tag,
		.data = send->envelope.data,
		.bytes = (const uint8_t *) &said,
		.len = (uint32_t) sizeof(said.announce) + head_len,
	};

	said.announce = (struct gamma_announce){
		.length = send->envelope.length,
		.address = address_of(send),
		.stamp_at = (uintptr_t) &send->stamp,
		.id = send->id,
		.iov_count = send->iov_count,
	};
	if (gamma_unlikely(head_len))
		gamma_iov_read(send->iov, send->iov_count, 0, said.head, head_len);
	send->stamp = stamp_of(flow->epoch, send->id);
	if (gamma_message_local(flow->local)->put_record &&
	    gamma_message_local(flow->local)->put_record(flow, &plain))
		return true;
	send->stamp = 0;
	return false;
}

/* Before the memory is its owner's again, and so that every reader sees it in this order. */
void gamma_rndv_shm_withdraw(struct gamma_send *send)
{
	if (gamma_likely(!send->stamp))
		return;
	if (gamma_unlikely(gamma_message_state(send->flow)->feeding == send))
		gamma_rndv_shm_stop_feeding(send->flow);
	__atomic_store_n(&send->stamp, 0, __ATOMIC_SEQ_CST);
	if (send->state == GAMMA_SEND_ANNOUNCED &&
	    gamma_message_local(send->flow->local)->withdraw_records)
		gamma_message_local(send->flow->local)->withdraw_records(send->flow);
}

void gamma_rndv_shm_frame_source(const struct gamma_flow *flow, const struct gamma_fields *fields,
				 struct gamma_source *source)
{
	*source = (struct gamma_source){.iov_count = 0};
	if (!flow->same_host || !(fields->extensions & GAMMA_EXT_RMA) ||
	    fields->rma_length > GAMMA_IOV_MAX)
		return;
	source->address = fields->rma_address;
	source->stamp_at = fields->rma_key;
	source->stamp = stamp_of(flow->local->epoch, fields->seq);
	source->iov_count = (uint32_t) fields->rma_length;
}

void gamma_rndv_shm_record_source(const struct gamma_flow *flow,
				  const struct gamma_announce *announce,
				  struct gamma_source *source)
{
	*source = (struct gamma_source){.iov_count = 0};
	if (announce->iov_count > GAMMA_IOV_MAX)
		return;
	source->address = announce->address;
	source->stamp_at = announce->stamp_at;
	source->stamp = stamp_of(flow->local->epoch, announce->id);
	source->iov_count = announce->iov_count;
	source->by_record = true;
}

bool gamma_rndv_shm_answer(struct gamma_inbound *inbound)
{
	struct gamma_flow *flow = inbound->flow;
	struct gamma_answer answer = {
		.wanted = inbound->wanted,
		.id = inbound->id,
		.accepted = inbound->wanted ? inbound->accepted
					    : gamma_message_state(flow)->own_read_ns,
	};
	struct gamma_shm_message plain = {
		.kind = GAMMA_RECORD_ANSWER,
		.bytes = (const uint8_t *) &answer,
		.len = sizeof(answer),
	};

	return !inbound->demoted && gamma_message_local(flow->local)->put_record &&
	       gamma_message_local(flow->local)->put_record(flow, &plain);
}

bool gamma_rndv_shm_read_message(struct gamma_inbound *inbound)
{
	struct gamma_local *local = inbound->flow->local;
	const struct gamma_recv *recv = inbound->recv;
	uint64_t wanted = inbound->wanted;

	if (!inbound->source.iov_count || !gamma_message_local(local)->read_source || !recv ||
	    !wanted)
		return false;
	return gamma_message_local(local)->read_source(local, inbound->flow, &inbound->source, 0,
						       recv->iov, recv->iov_count, wanted);
}

/* ---- in chunks ---- */

void gamma_rndv_shm_more_wanted(struct gamma_flow *flow, uint32_t id)
{
	struct gamma_send *send =
		gamma_transfers_find(&gamma_message_local(flow->local)->announced, id);

	if (!send || send->flow != flow) {
		flow->local->stats.stray++;
		return;
	}
	gamma_message_state(flow)->feeding = send;
	if (gamma_list_empty(&gamma_message_state(flow)->feed_entry))
		gamma_list_append(&gamma_message_local(flow->local)->feeding,
				  &gamma_message_state(flow)->feed_entry);
}

void gamma_rndv_shm_stop_feeding(struct gamma_flow *flow)
{
	gamma_message_state(flow)->feeding = NULL;
	gamma_list_remove(&gamma_message_state(flow)->feed_entry);
}

static struct gamma_inbound *find_reading(const struct gamma_flow *flow, uint32_t id)
{
	struct gamma_list *pos;

	gamma_list_for_each (pos, &gamma_message_local(flow->local)->reading) {
		struct gamma_inbound *inbound =
			gamma_list_entry(pos, struct gamma_inbound, arriving_entry);

		if (inbound->flow == flow && inbound->id == id)
			return inbound;
	}
	return NULL;
}

bool gamma_rndv_shm_receive_chunk(struct gamma_flow *flow, const struct gamma_chunk *chunk,
				  const uint8_t *bytes, uint32_t len)
{
	struct gamma_inbound *inbound = find_reading(flow, chunk->id);
	struct gamma_stats *stats = &flow->local->stats;

	/* Nobody has asked for that message yet, or it has been read already. */
	if (!inbound)
		return false;
	if (chunk->offset != inbound->arrived) {
		stats->malformed++;
		return false;
	}
	len = (uint32_t) gamma_min(len, inbound->wanted - inbound->arrived);
	stats->chunks_in++;
	stats->bytes_copied_in += gamma_iov_write(inbound->recv->iov, inbound->recv->iov_count,
						  inbound->arrived, bytes, len);
	inbound->arrived += len;
	if (inbound->arrived == inbound->wanted)
		gamma_receive_answer(inbound, true);
	return true;
}

static struct gamma_inbound *first_reading(const struct gamma_local *local)
{
	return gamma_list_first(&gamma_message_local(local)->reading, struct gamma_inbound,
				arriving_entry);
}

void gamma_rndv_shm_ask_more(struct gamma_local *local, bool none)
{
	struct gamma_inbound *inbound = first_reading(local);
	struct gamma_more more = {.id = inbound->id};
	struct gamma_shm_message plain = {
		.kind = GAMMA_RECORD_MORE,
		.bytes = (const uint8_t *) &more,
		.len = sizeof(more),
	};

	if (inbound->asked || (!none && inbound->wanted <= GAMMA_CHUNKS_UNSOLICITED))
		return;
	gamma_message_local(local)->put_record(inbound->flow, &plain);
	inbound->asked = true;
}

/* From the end, since further chunks may come meanwhile. */
void gamma_rndv_shm_read_first(struct gamma_local *local, uint64_t most)
{
	struct gamma_inbound *inbound = first_reading(local);
	const struct gamma_recv *recv = inbound->recv;
	uint64_t len = gamma_min(inbound->wanted - inbound->arrived, most);
	uint64_t offset = inbound->wanted - len;

	if (!gamma_message_local(local)->read_source(local, inbound->flow, &inbound->source, offset,
						     recv->iov, recv->iov_count, len)) {
		gamma_receive_answer(inbound, false);
		return;
	}
	inbound->wanted = offset;
	if (inbound->arrived == inbound->wanted)
		gamma_receive_answer(inbound, true);
}
