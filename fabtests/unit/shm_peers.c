// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* The links of shm_peers.h. */
#include "shm_peers.h"

#include <string.h>
#include <unistd.h>

#include "link/port.h"

uint8_t mac[GAMMA_MAC_LEN];
uint16_t ports[2];
struct gamma_stats stats[2];
struct gamma_shm *shms[2];
struct gamma_link *links[2];

int shm_peers_setup(void **state)
{
	pid_t pid = getpid();

	(void) state;
	mac[0] = 0x0a;
	memcpy(mac + 2, &pid, 4);
	memset(stats, 0, sizeof(stats));
	for (int i = 0; i < 2; i++) {
		struct gamma_shm_attr attr = {.tenant = getuid(), .ring_bytes = 65536};

		ports[i] = 0;
		attr.fd = gamma_port_claim(mac, &ports[i]);
		if (attr.fd < 0 || gamma_shm_open(&attr, &stats[i], &shms[i]))
			return 1;
		links[i] = &shms[i]->link;
	}
	return 0;
}

int shm_peers_teardown(void **state)
{
	(void) state;
	for (int i = 0; i < 2; i++)
		if (links[i])
			links[i]->ops->close(links[i]);
	return 0;
}

bool take(struct gamma_fields *fields, struct gamma_arrival *arrival)
{
	links[1]->ops->arm(links[1]);
	if (!links[1]->ops->next(links[1], arrival))
		return false;
	assert_int_equal(gamma_codec_parse(arrival->frame, arrival->len, fields), GAMMA_OK);
	return true;
}

unsigned put_shared(uint32_t seq, const void *payload, uint16_t len, int *error)
{
	struct gamma_frame frame;
	struct gamma_fields fields = {
		.dst_port = ports[1],
		.src_port = ports[0],
		.tenant = getuid(),
		.kind = GAMMA_KIND_DATAGRAM,
		.seq = seq,
		.payload_len = len,
		.dst_epoch = EPOCH,
	};

	memset(&frame, 0, sizeof(frame));
	frame.kind = fields.kind;
	frame.iov_count = len ? 1 : 0;
	frame.iov[0] = (struct iovec){(void *) payload, len};
	frame.head = gamma_codec_build(&fields, mac, mac, GAMMA_ETHERTYPE,
				       frame.room + sizeof(frame.room));
	frame.head_len = (size_t) GAMMA_ETH_LEN + fields.header_len;
	return links[0]->ops->send(links[0], &frame, 1, error);
}

struct gamma_tx_channel *open_channel(void)
{
	struct gamma_shm_addr addr = {.port = ports[1], .epoch = EPOCH};
	struct gamma_arrival arrival;
	struct gamma_fields fields;
	int error;

	memcpy(addr.mac, mac, sizeof(mac));
	assert_null(gamma_shm_find_channel(shms[0], &addr));
	assert_int_equal(put_shared(0, "x", 1, &error), 1);
	assert_null(gamma_shm_find_channel(shms[0], &addr));
	assert_true(take(&fields, &arrival));
	links[1]->ops->release(links[1]);
	assert_false(links[0]->ops->next(links[0], &arrival));
	return gamma_shm_find_channel(shms[0], &addr);
}

bool put_message(struct gamma_tx_channel *channel, uint8_t flags, const void *bytes, size_t len)
{
	struct gamma_shm_message message = {
		.tag = 0x1122334455667788,
		.data = 0x99aa,
		.len = (uint32_t) len,
		.kind = GAMMA_RECORD_INLINE,
		.flags = flags,
	};
	struct iovec iov[2] = {{(void *) bytes, len / 2},
			       {(uint8_t *) bytes + len / 2, len - len / 2}};

	return gamma_shm_put(shms[0], channel, &message, iov, 2);
}
