// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Questions by way of this host: LOOKUP, op HOST_VIA. gammad asks the host that the question names
 * and passes its answer on to the asker. It remembers what it has asked, so that nothing else makes
 * it write to anybody. Called by discover.c.
 */
#include "gammad/gammad.h"

#include <string.h>
#include <sys/random.h>

#include "base/base.h"
#include "base/mac.h"
#include "wire/codec.h"

enum {
	HEAD_MAX = GAMMA_ETH_LEN + GAMMA_HEADER_MAX,
	RATE = 4000,        /* questions passed on in a second: gamma-discover sends 2,000 */
	WARN_PAUSE_S = 600, /* s between two log lines about more */
};

static bool is_unicast(const uint8_t mac[GAMMA_MAC_LEN])
{
	static const uint8_t none[GAMMA_MAC_LEN] = {0};

	return !(mac[0] & 1) && memcmp(mac, none, GAMMA_MAC_LEN);
}

/* ---- how many a second ---- */

static void refill(struct gammad_via *via, uint64_t now)
{
	const uint64_t each = GAMMA_NS_PER_S / RATE;
	uint64_t more;

	if (now < via->refilled + each)
		return;
	more = (now - via->refilled) / each;
	if (via->tokens + more >= GAMMAD_VIA_MAX) {
		via->tokens = GAMMAD_VIA_MAX;
		via->refilled = now;
	} else {
		via->tokens += (unsigned) more;
		via->refilled += more * each;
	}
}

static bool may_pass(struct gammad_via *via, const uint8_t *asker)
{
	uint64_t now = gamma_now();
	char mac[GAMMA_MAC_TEXT_LEN];

	refill(via, now);
	if (via->tokens) {
		via->tokens--;
		return true;
	}
	if (!via->warned || now > via->warned + WARN_PAUSE_S * GAMMA_NS_PER_S) {
		via->warned = now;
		gamma_warn("more than %d questions a second are to be passed on to other hosts, "
			   "the latest for %s: some are ignored; check from one host at a time",
			   RATE, gamma_mac_format(asker, mac));
	}
	return false;
}

/* ---- questions ---- */

/* A secret, so that only the hosts that were asked can answer; false: there is none now. */
static bool has_epoch(struct gammad_via *via)
{
	if (!via->epoch &&
	    getrandom(&via->epoch, sizeof(via->epoch), GRND_NONBLOCK) == sizeof(via->epoch))
		via->epoch |= 1; /* never 0, which means any */
	return via->epoch != 0;
}

void gammad_via_pass(struct gammad *gammad, const struct gammad_nic *nic, const uint8_t *frame,
		     const struct gamma_fields *question)
{
	const uint8_t *asker = frame + GAMMA_MAC_LEN;
	const uint8_t *to = frame + GAMMA_ETH_LEN + question->header_len;
	struct gammad_via *via = &gammad->via;
	struct gammad_via_asked *asked = &via->asked[(via->seq + 1) % GAMMAD_VIA_MAX];
	uint8_t room[HEAD_MAX + UINT16_MAX] = {0};

	/* No later frame is longer than a question of that length. */
	if (question->payload_len < sizeof(struct gamma_host) ||
	    memcmp(frame, nic->mac, GAMMA_MAC_LEN) || !is_unicast(asker) || !is_unicast(to) ||
	    !memcmp(to, nic->mac, GAMMA_MAC_LEN) || !has_epoch(via) || !may_pass(via, asker))
		return;
	*asked = (struct gammad_via_asked){
		.nic = nic,
		.number = ++via->seq,
		.port = question->src_port,
		.epoch = question->src_epoch,
		.seq = question->seq,
		.payload_len = question->payload_len,
	};
	memcpy(asked->asker, asker, GAMMA_MAC_LEN);
	memcpy(asked->to, to, GAMMA_MAC_LEN);
	gammad_discover_send(gammad, nic, to,
			     &(struct gamma_fields){
				     .kind = GAMMA_KIND_LOOKUP,
				     .op = GAMMA_LOOKUP_HOST_ASK,
				     .src_epoch = via->epoch,
				     .seq = asked->number,
				     .payload_len = question->payload_len,
			     },
			     room + HEAD_MAX);
}

/* ---- answers ---- */

void gammad_via_return(struct gammad *gammad, const struct gammad_nic *nic, const uint8_t *frame,
		       const struct gamma_fields *answer)
{
	struct gammad_via *via = &gammad->via;
	struct gammad_via_asked *asked = &via->asked[answer->seq % GAMMAD_VIA_MAX];
	uint8_t room[HEAD_MAX + UINT16_MAX];

	if (!via->epoch || answer->dst_epoch != via->epoch || asked->nic != nic ||
	    asked->number != answer->seq || asked->payload_len != answer->payload_len ||
	    memcmp(frame, nic->mac, GAMMA_MAC_LEN) ||
	    memcmp(frame + GAMMA_MAC_LEN, asked->to, GAMMA_MAC_LEN))
		return;
	asked->nic = NULL; /* one answer to each */
	memcpy(room + HEAD_MAX, frame + GAMMA_ETH_LEN + answer->header_len, answer->payload_len);
	gammad_discover_send(gammad, nic, asked->asker,
			     &(struct gamma_fields){
				     .kind = GAMMA_KIND_LOOKUP,
				     .op = GAMMA_LOOKUP_HOST,
				     .dst_port = asked->port,
				     .dst_epoch = asked->epoch,
				     .seq = asked->seq,
				     .payload_len = answer->payload_len,
			     },
			     room + HEAD_MAX);
}
