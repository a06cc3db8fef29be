// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Builds the frames that a flow sends: the header, what rides on it, and where the payload stands.
 */
#include "flow/build.h"

#include "flow/flow.h"
#include "flow/rails.h"
#include "flow/upcalls.h"

void gamma_build_begin(const struct gamma_flow *flow, struct gamma_fields *fields, uint8_t kind,
		       uint8_t op)
{
	const struct gamma_local *local = flow->local;

	fields->dst_port = flow->port;
	fields->src_port = local->port;
	fields->tenant = local->tenant;
	fields->kind = kind;
	fields->op = op;
	fields->flags = local->limits.payload_crc ? GAMMA_FLAG_WANT_CRC : 0;
	fields->extensions = 0;
	fields->payload_len = 0;
	fields->src_epoch = local->epoch;
	fields->dst_epoch = flow->epoch;
	fields->seq = 0;
}

void gamma_build_frame(const struct gamma_flow *flow, struct gamma_fields *fields, uint8_t *payload,
		       struct gamma_frame *frame)
{
	const struct gamma_local *local = flow->local;
	const uint8_t *to = flow->addr.mac, *from = local->addr.mac;

	if (gamma_unlikely(frame->rail))
		gamma_rails_address(flow, frame->rail, fields, &to, &from);
	frame->head = gamma_codec_build(fields, to, from, local->ethertype, payload);
	frame->head_len = GAMMA_ETH_LEN + fields->header_len;
	frame->kind = fields->kind;
	frame->op = fields->op;
	frame->seq = fields->seq;
	frame->reports_mtu = fields->extensions & GAMMA_EXT_MTU;
}

void gamma_build_attach_mtu(struct gamma_flow *flow, struct gamma_fields *fields)
{
	fields->extensions |= GAMMA_EXT_MTU;
	fields->mtu = (uint16_t) flow->local->limits.mtu;
	fields->probe = 0;
	flow->mtu_reported++;
}

/* Does the frame still fit with these extensions too? */
static bool fits(const struct gamma_flow *flow, const struct gamma_fields *fields,
		 uint16_t extensions)
{
	if (gamma_likely(fields->payload_len + (uint32_t) GAMMA_HEADER_MAX <= flow->path_mtu.frame))
		return true;
	return GAMMA_HEADER_LEN + gamma_codec_extensions_len(fields->extensions | extensions) +
		       fields->payload_len <=
	       flow->path_mtu.frame;
}

/* The checksum of the payload as it leaves now. A frame built before the peer asked for
 * checksums may have no room for one. */
static void attach_payload_crc(const struct gamma_flow *flow, const struct gamma_sent *sent,
			       const struct gamma_frame *frame, struct gamma_fields *fields)
{
	if (!fields->payload_len || !fits(flow, fields, GAMMA_EXT_PAYLOAD_CRC))
		return;
	fields->extensions |= GAMMA_EXT_PAYLOAD_CRC;
	fields->payload_crc = sent->buffer ? gamma_crc32c(0, sent->buffer->payload, sent->len)
					   : gamma_crc32c_iov(0, frame->iov, frame->iov_count);
}

/* Extensions that may ride on data: the acknowledgement, and on the first frames the own MTU. */
static void attach(struct gamma_flow *flow, struct gamma_fields *fields, uint64_t now)
{
	bool news = flow->ack.owed || flow->ack.now || flow->ack.sent_limit != flow->credit.limit;

	if (news && flow->heard_of &&
	    fits(flow, fields, GAMMA_EXT_ACK | GAMMA_EXT_SACK | GAMMA_EXT_DELAY | GAMMA_EXT_CUTS))
		gamma_ack_attach(flow, fields, false, now);
	if (gamma_unlikely(flow->mtu_reported < GAMMA_MTU_REPORTS &&
			   (!flow->path_mtu.settled || flow->path_mtu.lowered ||
			    flow->local->limits.mtu < GAMMA_SAFE_MTU)) &&
	    fits(flow, fields, GAMMA_EXT_MTU))
		gamma_build_attach_mtu(flow, fields);
}

/* Where the payload stands, or from `at` on a part of it. */
static unsigned pieces(const struct gamma_sent *sent, uint32_t at, uint32_t len, struct iovec *iov)
{
	struct gamma_sent part = *sent;

	if (sent->buffer) {
		iov[0] = (struct iovec){sent->buffer->payload + at, len};
		return 1;
	}
	part.offset += at;
	part.len = len;
	return gamma_send_frame_iov(&part, iov, GAMMA_FRAME_IOV);
}

/* The frame's content: as it stands in its buffer, else put into *made. */
static const struct gamma_content *content_of(const struct gamma_sent *sent,
					      struct gamma_content *made)
{
	if (sent->buffer)
		return &sent->buffer->content;
	gamma_send_frame_content(sent, made);
	return made;
}

static void begin_data(const struct gamma_flow *flow, const struct gamma_sent *sent, uint32_t seq,
		       uint8_t flags, struct gamma_fields *fields)
{
	struct gamma_content made;
	const struct gamma_content *content = content_of(sent, &made);

	gamma_build_begin(flow, fields, GAMMA_KIND_DATA, sent->op);
	fields->flags |= flags | (gamma_send_has_frames(flow) ? GAMMA_FLAG_BACKLOG : 0);
	fields->payload_len = (uint16_t) sent->len;
	fields->seq = seq;
	gamma_envelope_content_fields(content, fields);
}

void gamma_build_data(struct gamma_flow *flow, struct gamma_sent *sent, uint32_t seq, uint8_t flags,
		      uint64_t now, struct gamma_frame *frame)
{
	struct gamma_fields fields;

	begin_data(flow, sent, seq, flags, &fields);
	frame->iov_count = sent->buffer ? 0 : pieces(sent, 0, sent->len, frame->iov);
	if (gamma_unlikely(flow->payload_crc))
		attach_payload_crc(flow, sent, frame, &fields);
	attach(flow, &fields, now);
	if (sent->buffer) {
		gamma_build_frame(flow, &fields, sent->buffer->payload, frame);
		frame->head_len += sent->len;
	} else {
		gamma_build_frame(flow, &fields, frame->room + sizeof(frame->room), frame);
	}
	sent->large = fields.header_len + sent->len > flow->path_mtu.large;
}

bool gamma_build_is_too_large(const struct gamma_flow *flow, const struct gamma_sent *sent)
{
	struct gamma_content made;

	if (gamma_likely(sent->len + GAMMA_HEADER_MAX <= flow->path_mtu.frame))
		return false;
	return GAMMA_HEADER_LEN + gamma_codec_extensions_len(content_of(sent, &made)->extensions) +
		       sent->len >
	       flow->path_mtu.frame;
}

/* Payload bytes of a part whose frame has these extensions. */
static uint32_t part_room(const struct gamma_flow *flow, uint16_t *extensions)
{
	*extensions |= GAMMA_EXT_PART | (flow->payload_crc ? GAMMA_EXT_PAYLOAD_CRC : 0);
	return flow->path_mtu.frame - GAMMA_HEADER_LEN - gamma_codec_extensions_len(*extensions);
}

uint8_t gamma_build_count_parts(const struct gamma_flow *flow, const struct gamma_sent *sent)
{
	struct gamma_content made;
	uint16_t extensions;
	uint32_t room;

	if (gamma_likely(!gamma_build_is_too_large(flow, sent)))
		return 1;
	extensions = content_of(sent, &made)->extensions;
	room = part_room(flow, &extensions);
	return (uint8_t) gamma_min((sent->len + room - 1) / room, UINT8_MAX);
}

void gamma_build_part(struct gamma_flow *flow, struct gamma_sent *sent, uint32_t seq, uint64_t now,
		      struct gamma_frame *frame)
{
	struct gamma_fields fields;
	uint32_t room;

	begin_data(flow, sent, seq, GAMMA_FLAG_ACK_REQUESTED | (sent->again ? GAMMA_FLAG_AGAIN : 0),
		   &fields);
	room = part_room(flow, &fields.extensions);
	fields.payload_len = (uint16_t) gamma_min(sent->len - sent->part, room);
	fields.part_offset = (uint16_t) sent->part;
	fields.part_total = (uint16_t) sent->len;
	frame->iov_count = pieces(sent, sent->part, fields.payload_len, frame->iov);
	fields.payload_crc =
		flow->payload_crc ? gamma_crc32c_iov(0, frame->iov, frame->iov_count) : 0;
	attach(flow, &fields, now);
	gamma_build_frame(flow, &fields, frame->room + sizeof(frame->room), frame);
	frame->part = true;
	frame->again = sent->again != 0;
	frame->part_at = fields.part_offset;
	sent->large = (sent->part && sent->large) ||
		      fields.header_len + fields.payload_len > flow->path_mtu.large;
	sent->part += fields.payload_len;
}
