// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of common/link/icmp.c: which frame an ICMP error stands for. */
#include "unit.h"

#include <string.h>

#include "base/base.h"
#include "link/icmp.h"
#include "wire/codec.h"

static const uint8_t own[GAMMA_MAC_LEN] = {2, 4, 10, 0, 0, 1};
static const uint8_t peer[GAMMA_MAC_LEN] = {2, 4, 10, 0, 0, 2};

static const struct gamma_fields sent = {
	.tenant = 1000,
	.src_port = 9001,
	.dst_port = 9002,
	.src_epoch = 0x11111111,
	.dst_epoch = 0x22222222,
	.seq = 0x12345678,
};

static uint8_t quoted[GAMMA_ETH_LEN + GAMMA_HEADER_MAX], answer[GAMMA_ICMP_ANSWER];

/* The answer to a frame of that kind and op, of which `len` bytes are quoted. */
static bool answer_to(uint8_t kind, uint8_t op, size_t len)
{
	struct gamma_fields fields = sent;
	uint8_t *head;

	fields.kind = kind;
	fields.op = op;
	head = gamma_codec_build(&fields, peer, own, GAMMA_ETHERTYPE, quoted + sizeof(quoted));
	return gamma_icmp_answer(head + GAMMA_ETH_LEN, len, own, peer, answer);
}

static void expect(uint8_t kind, uint8_t op, struct gamma_fields *fields)
{
	assert_int_equal(gamma_codec_parse(answer, sizeof(answer), fields), GAMMA_OK);
	assert_int_equal(fields->kind, kind);
	assert_int_equal(fields->op, op);
	assert_memory_equal(answer, own, GAMMA_MAC_LEN);
	assert_memory_equal(answer + GAMMA_MAC_LEN, peer, GAMMA_MAC_LEN);
}

static void answer__by_kind(void **state)
{
	static const struct {
		uint8_t kind, op, answer_kind, answer_op;
	} cases[] = {
		{GAMMA_KIND_DATA, GAMMA_OP_SEND, GAMMA_KIND_RESET, GAMMA_RESET_CLOSED},
		{GAMMA_KIND_PROBE, GAMMA_PROBE_PLAIN, GAMMA_KIND_RESET, GAMMA_RESET_CLOSED},
		{GAMMA_KIND_REQUEST, 0, GAMMA_KIND_RESET, GAMMA_RESET_CLOSED},
		{GAMMA_KIND_LOOKUP, GAMMA_LOOKUP_ASK, GAMMA_KIND_LOOKUP, GAMMA_LOOKUP_NO_PORT},
	};

	(void) state;
	for (size_t i = 0; i < gamma_array_size(cases); i++) {
		struct gamma_fields fields;

		assert_true(answer_to(cases[i].kind, cases[i].op, GAMMA_HEADER_LEN));
		expect(cases[i].answer_kind, cases[i].answer_op, &fields);
		assert_int_equal(fields.src_port, sent.dst_port);
		assert_int_equal(fields.dst_port, sent.src_port);
		assert_int_equal(fields.src_epoch, sent.dst_epoch);
		assert_int_equal(fields.dst_epoch, sent.src_epoch);
		assert_int_equal(fields.tenant, sent.tenant);
		assert_int_equal(fields.seq, sent.seq);
	}
}

static void answer__none(void **state)
{
	static const struct {
		uint8_t kind, op;
	} cases[] = {
		{GAMMA_KIND_ACK, GAMMA_ACK_PLAIN},
		{GAMMA_KIND_CREDIT, 0},
		{GAMMA_KIND_RECLAIM, GAMMA_ASK},
		{GAMMA_KIND_RESET, GAMMA_RESET_EPOCH},
		{GAMMA_KIND_BYE, GAMMA_ASK},
		{GAMMA_KIND_PROBE, GAMMA_PROBE_MTU},
		{GAMMA_KIND_LOOKUP, GAMMA_LOOKUP_FOUND},
	};

	(void) state;
	for (size_t i = 0; i < gamma_array_size(cases); i++)
		assert_false(answer_to(cases[i].kind, cases[i].op, GAMMA_HEADER_LEN));
}

static void answer__none_to_what_is_not_a_whole_header(void **state)
{
	(void) state;
	assert_false(answer_to(GAMMA_KIND_PROBE, GAMMA_PROBE_PLAIN, 0));
	assert_false(answer_to(GAMMA_KIND_PROBE, GAMMA_PROBE_PLAIN, GAMMA_HEADER_LEN - 1));
}

static void answer__none_to_another_version(void **state)
{
	struct gamma_header header = {.version_kind = (GAMMA_VERSION + 1) << 4 | GAMMA_KIND_DATA};

	(void) state;
	assert_false(
		gamma_icmp_answer((const uint8_t *) &header, sizeof(header), own, peer, answer));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answer__by_kind),
		cmocka_unit_test(answer__none),
		cmocka_unit_test(answer__none_to_what_is_not_a_whole_header),
		cmocka_unit_test(answer__none_to_another_version),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
