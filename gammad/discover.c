// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Answers questions about this host: LOOKUP, op HOST_ASK, to a NIC's MAC or to broadcast. Called
 * by lookup.c for each frame that its socket receives; what concerns other hosts goes to via.c.
 */
#include "gammad/gammad.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire/codec.h"

enum {
	LAYOUT = 1,
	HEAD_MAX = GAMMA_ETH_LEN + GAMMA_HEADER_MAX,
	BITMAPS_MAX = 3 * 127 * sizeof(uint32_t), /* bytes: three, of at most 127 words */
};

/* ---- this host ---- */

/* Of the NIC now: nic->mtu may follow later. */
static uint32_t mtu_of(const struct gammad_nic *nic)
{
	struct ifreq request = {0};

	memcpy(request.ifr_name, nic->name, sizeof(request.ifr_name));
	return ioctl(nic->fd, SIOCGIFMTU, &request) ? nic->mtu : (uint32_t) request.ifr_mtu;
}

static bool ask_driver(const struct gammad_nic *nic, struct ethtool_link_settings *settings)
{
	struct ifreq request = {.ifr_data = (void *) settings};

	memcpy(request.ifr_name, nic->name, sizeof(request.ifr_name));
	return !ioctl(nic->fd, SIOCETHTOOL, &request);
}

/* The first answer has the length of the bitmaps. */
static uint32_t read_speed(const struct gammad_nic *nic)
{
	union {
		struct ethtool_link_settings settings;
		char bytes[sizeof(struct ethtool_link_settings) + BITMAPS_MAX];
	} link = {.settings = {.cmd = ETHTOOL_GLINKSETTINGS}};

	if (!ask_driver(nic, &link.settings) || link.settings.link_mode_masks_nwords >= 0)
		return 0;
	link.settings.link_mode_masks_nwords = (int8_t) -link.settings.link_mode_masks_nwords;
	link.settings.cmd = ETHTOOL_GLINKSETTINGS;
	if (!ask_driver(nic, &link.settings) || link.settings.speed == (uint32_t) SPEED_UNKNOWN)
		return 0;
	return link.settings.speed;
}

/* Mbit/s, 0 if the driver does not say. That may take it long, with the lock that all changes of
 * interfaces need, and anybody may ask: not more than once a second. */
static uint32_t speed_of(struct gammad_nic *nic)
{
	const uint64_t now = gamma_now();

	if (!nic->speed_at || now >= nic->speed_at + GAMMA_NS_PER_S) {
		nic->speed = read_speed(nic);
		nic->speed_at = now;
	}
	return nic->speed;
}

static uint16_t count_endpoints(const struct gammad *gammad, const struct gammad_nic *nic)
{
	struct gamma_list *pos;
	unsigned count = 0;

	gamma_list_for_each (pos, &gammad->opens)
		count += gamma_list_entry(pos, struct gammad_open, entry)->nic == nic;
	return (uint16_t) gamma_min(count, UINT16_MAX);
}

static void describe(const struct gammad *gammad, struct gammad_nic *nic, struct gamma_host *host)
{
	*host = (struct gamma_host){
		.mtu = htons((uint16_t) gamma_min(mtu_of(nic), UINT16_MAX)),
		.speed = htonl(speed_of(nic)),
		.version = LAYOUT,
		.release = {GAMMA_VERSION_MAJOR, GAMMA_VERSION_MINOR, GAMMA_VERSION_RELEASE},
		.slots = htons((uint16_t) gamma_min(nic->slot_count, UINT16_MAX)),
		.endpoints = htons(count_endpoints(gammad, nic)),
		.host = gammad->host,
	};
	memcpy(host->mac, nic->mac, GAMMA_MAC_LEN);
	memcpy(host->nic, nic->name, sizeof(host->nic));
	if (gethostname((char *) host->name, sizeof(host->name) - 1))
		host->name[0] = 0;
}

/* ---- questions and answers ---- */

/* room: the payload, with space for the head in front of it. Lost if the queue is full or the NIC
 * does not carry that size: that is an answer, too. */
void gammad_discover_send(const struct gammad *gammad, const struct gammad_nic *nic,
			  const uint8_t *to, const struct gamma_fields *fields, uint8_t *payload)
{
	struct gamma_fields made = *fields;
	const uint8_t *frame =
		gamma_codec_build(&made, to, nic->mac, gammad->conf.ethertype, payload);

	send(nic->fd, frame, (size_t) GAMMA_ETH_LEN + made.header_len + made.payload_len,
	     MSG_DONTWAIT);
}

static void answer_question(const struct gammad *gammad, struct gammad_nic *nic,
			    const uint8_t *asker, const struct gamma_fields *question)
{
	uint8_t room[HEAD_MAX + UINT16_MAX] = {0};
	struct gamma_host host;

	describe(gammad, nic, &host);
	memcpy(room + HEAD_MAX, &host, sizeof(host));
	gammad_discover_send(
		gammad, nic, asker,
		&(struct gamma_fields){
			.kind = GAMMA_KIND_LOOKUP,
			.op = GAMMA_LOOKUP_HOST,
			.dst_port = question->src_port,
			.dst_epoch = question->src_epoch,
			.seq = question->seq,
			.payload_len = (uint16_t) gamma_max(question->payload_len, sizeof(host)),
		},
		room + HEAD_MAX);
}

bool gammad_discover_answer(struct gammad *gammad, struct gammad_nic *nic, const uint8_t *frame,
			    size_t len)
{
	struct gamma_fields fields;

	if (gamma_codec_parse(frame, len, &fields) != GAMMA_OK || fields.kind != GAMMA_KIND_LOOKUP)
		return false;
	switch (fields.op) {
	case GAMMA_LOOKUP_HOST_ASK:
		answer_question(gammad, nic, frame + GAMMA_MAC_LEN, &fields);
		return true;
	case GAMMA_LOOKUP_HOST_VIA:
		gammad_via_pass(gammad, nic, frame, &fields);
		return true;
	case GAMMA_LOOKUP_HOST:
		gammad_via_return(gammad, nic, frame, &fields);
		return true;
	default:
		return false;
	}
}
