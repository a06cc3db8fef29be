// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* The frame that an ICMP error stands for: see icmp.h. */
#include "link/icmp.h"

#include <arpa/inet.h>
#include <string.h>

#include "wire/codec.h"

/* The kind and op of the answer to a quoted frame. A padded PROBE has a number of its own, and
 * nobody waits for an answer to anything else. */
static bool answer_to(const struct gamma_header *quoted, struct gamma_fields *answer)
{
	switch (quoted->version_kind & 0x0f) {
	case GAMMA_KIND_LOOKUP:
		answer->kind = GAMMA_KIND_LOOKUP;
		answer->op = GAMMA_LOOKUP_NO_PORT;
		return quoted->op == GAMMA_LOOKUP_ASK;
	case GAMMA_KIND_PROBE:
		answer->kind = GAMMA_KIND_RESET;
		answer->op = GAMMA_RESET_CLOSED;
		return quoted->op == GAMMA_PROBE_PLAIN;
	case GAMMA_KIND_DATA:
	case GAMMA_KIND_REQUEST:
		answer->kind = GAMMA_KIND_RESET;
		answer->op = GAMMA_RESET_CLOSED;
		return true;
	default:
		return false;
	}
}

bool gamma_icmp_answer(const uint8_t *quoted, size_t len, const uint8_t own[GAMMA_MAC_LEN],
		       const uint8_t peer[GAMMA_MAC_LEN], uint8_t frame[GAMMA_ICMP_ANSWER])
{
	struct gamma_fields answer = {.kind = 0};
	struct gamma_header header;

	if (len < sizeof(header))
		return false;
	memcpy(&header, quoted, sizeof(header));
	if (header.version_kind >> 4 != GAMMA_VERSION || !answer_to(&header, &answer))
		return false;
	answer.tenant = ntohl(header.tenant);
	answer.src_port = ntohs(header.dst_port);
	answer.dst_port = ntohs(header.src_port);
	answer.src_epoch = ntohl(header.dst_epoch);
	answer.dst_epoch = ntohl(header.src_epoch);
	answer.seq = ntohl(header.seq);
	gamma_codec_build(&answer, own, peer, GAMMA_ETHERTYPE, frame + GAMMA_ICMP_ANSWER);
	return true;
}
