/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Shared by the tests of common/engine/shm_path.c: two nodes on one host. A list replaces the
 * shared memory for records; the receiver reads the sender's memory, which is this process's own.
 */
#ifndef GAMMA_TEST_SHM_PATH_FIXTURE_H
#define GAMMA_TEST_SHM_PATH_FIXTURE_H

#include "pair_fixture.h"

#include <string.h>

enum {
	RECORDS = 128,
	CHUNKS = 32,                     /* records: with so many, there is no room for chunks */
	RECORD_MAX = GAMMA_SHM_RING_MTU, /* bytes */
	LARGE = 100000,
	MEDIUM = 8192, /* announced or copied */
};

static struct record {
	unsigned to;
	struct gamma_shm_message shm;
	uint8_t bytes[RECORD_MAX];
} records[RECORDS];
static unsigned made, taken; /* records */
static unsigned withdrawn;   /* calls */
static bool full, unreadable;
static struct gamma_shm shms[2]; /* by node */

static inline unsigned other(unsigned node)
{
	return !node;
}

/* The linker replaces the functions of common/shm by these: see fabtests/Makefile.include. */
bool __wrap_gamma_shm_put(struct gamma_shm *shm, struct gamma_tx_channel *channel,
			  const struct gamma_shm_message *message, const struct iovec *iov,
			  unsigned iov_count);
void __wrap_gamma_shm_withdraw(struct gamma_tx_channel *channel);

bool __wrap_gamma_shm_put(struct gamma_shm *shm, struct gamma_tx_channel *channel,
			  const struct gamma_shm_message *message, const struct iovec *iov,
			  unsigned iov_count)
{
	struct record *record = &records[made % RECORDS];

	(void) channel;
	if (full || made - taken == RECORDS ||
	    (message->kind == GAMMA_RECORD_CHUNK && made - taken >= CHUNKS))
		return false;
	assert_true(message->len <= RECORD_MAX);
	record->to = other((unsigned) (shm - shms));
	record->shm = *message;
	record->shm.bytes = record->bytes;
	gamma_iov_read(iov, iov_count, 0, record->bytes, message->len);
	made++;
	return true;
}

void __wrap_gamma_shm_withdraw(struct gamma_tx_channel *channel)
{
	(void) channel;
	withdrawn++;
}

/* Frames go over the wire, as between hosts. */
static inline unsigned send_on_wire(struct gamma_link *link, const struct gamma_frame *frames,
				    unsigned count, int *error)
{
	struct gamma_link *wire =
		&net->nodes[gamma_container_of(link, struct gamma_shm, link) - shms].link;

	return wire->ops->send(wire, frames, count, error);
}

static inline bool pull(struct gamma_local *local, const struct gamma_flow *flow,
			const struct gamma_source *source, uint64_t offset, const struct iovec *iov,
			unsigned iov_count, uint64_t len)
{
	const uint64_t *stamp = (const void *) (uintptr_t) source->stamp_at;
	const uint8_t *bytes = (const void *) (uintptr_t) source->address;

	(void) local, (void) flow;
	assert_int_equal(source->iov_count, 1);
	if (unreadable || *stamp != source->stamp)
		return false;
	gamma_iov_write(iov, iov_count, offset, bytes + offset, len);
	return true;
}

/* Fixes whether copies pay; the model does not measure for a while. */
static inline void copies_pay(unsigned node, bool pay)
{
	gamma_peer(net_flow(net, node, other(node)))->copy_model =
		(struct gamma_shm_copy_model){.kib_ns = pay ? 20 : 500, .left = 1000};
}

/* Both are shm peers that know each other, and copies do not pay. */
static inline int setup_shm(void **state)
{
	static const struct gamma_link_ops ops = {.send = send_on_wire};

	setup(state);
	made = taken = withdrawn = 0;
	full = unreadable = false;
	for (unsigned i = 0; i < 2; i++) {
		struct gamma_endpoint *ep = &net->nodes[i].ep;
		struct gamma_flow *flow = net_flow(net, i, other(i));

		shms[i] = (struct gamma_shm){.link = {.ops = &ops}};
		ep->shm = &shms[i];
		ep->messages.put_record = gamma_shm_path_put;
		ep->messages.withdraw_records = gamma_shm_path_withdraw;
		ep->messages.read_source = pull;
		flow->same_host = true;
		flow->has_shm_channel = true;
		gamma_peer(flow)->tx_channel = (struct gamma_tx_channel *) &records;
		copies_pay(i, false);
	}
	return 0;
}

#define SHM_TEST(name) cmocka_unit_test_setup_teardown(name, setup_shm, teardown)

/* The oldest record reaches its reader. */
static inline bool deliver(void)
{
	struct record *record = &records[taken % RECORDS];
	struct gamma_flow *flow;
	struct gamma_arrival arrival = {.shm = record->shm, .flow = &flow};

	if (taken == made)
		return false;
	flow = net_flow(net, record->to, other(record->to));
	assert_true(gamma_shm_path_receive(&net->nodes[record->to].ep, &arrival));
	taken++;
	return true;
}

static inline void deliver_all(void)
{
	while (deliver())
		;
}

static inline void no_frames(void)
{
	assert_true(net_quiet(net));
	assert_int_equal(net_stats(net, 0)->frames_out + net_stats(net, 1)->frames_out, 0);
}

static inline bool copy(uint64_t len)
{
	static const uint8_t bytes[LARGE];
	struct iovec iov = {(void *) bytes, len};
	const struct gamma_envelope envelope = {.length = len};

	return gamma_shm_path_send(&net->nodes[0].ep, net_flow(net, 0, 1), &iov, 1, &envelope);
}

/* shm: the kind, and the other fields of a record's header. */
static inline void forge_record(unsigned to, struct gamma_shm_message shm, const void *bytes,
				uint32_t len)
{
	struct record *record = &records[made++ % RECORDS];

	record->to = to;
	record->shm = shm;
	record->shm.bytes = record->bytes;
	record->shm.len = len;
	memcpy(record->bytes, bytes, len);
	assert_true(deliver());
}

static inline void forge(unsigned to, enum gamma_record_kind kind, const void *bytes, uint32_t len)
{
	forge_record(to, (struct gamma_shm_message){.kind = (uint8_t) kind}, bytes, len);
}

#endif /* GAMMA_TEST_SHM_PATH_FIXTURE_H */
