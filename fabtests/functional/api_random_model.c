// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* gamma-random: the model. Operations are numbered in the order of their calls. */
#include "api_random.h"

#include <stdlib.h>
#include <string.h>

struct op ops[OPS_MAX];
int op_count;

struct op *model_add(enum kind kind, int node)
{
	struct op *op = &ops[op_count];

	if (op_count == OPS_MAX)
		return NULL;
	*op = (struct op){.kind = kind, .id = op_count++, .node = node, .peer = ANY, .match = NONE};
	return op;
}

static uint8_t byte_at(int id, size_t i)
{
	return (uint8_t) ((size_t) id * 131 + i * 7 + (i >> 8));
}

/* Without CQ data it begins with its number. */
void model_fill(struct op *message)
{
	for (size_t i = 0; i < message->len; i++)
		message->bytes[i] = byte_at(message->id, i);
	if (message->len >= sizeof(message->id))
		memcpy(message->bytes, &message->id, sizeof(message->id));
}

static bool is_receive(const struct op *op)
{
	return op->kind == RECV || op->kind == MULTI || op->kind == PEEK || op->kind == CLAIM;
}

/* Whether a message is one that a receive, or a peek, takes. */
static bool fits(const struct op *receive, const struct op *message)
{
	return message->kind == SEND && message->sent && message->peer == receive->node &&
	       message->tagged == receive->tagged &&
	       (receive->peer == ANY || receive->peer == message->node) &&
	       (!receive->tagged || !((message->tag ^ receive->tag) & ~receive->ignore));
}

static void check_contents(const struct op *message, const uint8_t *bytes, size_t len)
{
	size_t i = 0;

	if (len >= sizeof(message->id)) {
		CHECK(!memcmp(bytes, &message->id, sizeof(message->id)));
		i = sizeof(message->id);
	}
	for (; i < len && message->len >= sizeof(message->id); i++)
		CHECK_EQ(bytes[i], byte_at(message->id, i));
}

void model_match(struct op *receive, int id, const uint8_t *bytes, size_t len)
{
	struct op *message = &ops[id];

	CHECK(id >= 0 && id < op_count);
	CHECK(fits(receive, message));
	CHECK_EQ(message->match, NONE);
	CHECK(!receive->unmatched);
	check_contents(message, bytes, len);
	message->match = receive->id;
	receive->match = id;
}

void model_peeked(struct op *peek, int id, uint64_t tag, size_t len)
{
	struct op *message = &ops[id];

	CHECK(id >= 0 && id < op_count);
	CHECK(fits(peek, message));
	CHECK_EQ(message->match, NONE);
	CHECK_EQ(message->tag, tag);
	CHECK_EQ(message->len, len);
	if (peek->discards || peek->kind == CLAIM) {
		message->match = peek->id;
		peek->match = id;
	}
}

int model_missing(int node, bool tagged)
{
	int missing = 0;

	for (int i = 0; i < op_count; i++)
		missing += ops[i].kind == SEND && ops[i].sent && ops[i].peer == node &&
			   ops[i].tagged == tagged && ops[i].match == NONE;
	return missing;
}

/* An earlier receive that also fits must have been taken by then: by an earlier message, if that is
 * of the same sender. */
static void check_order(const struct op *earlier, const struct op *message)
{
	const struct op *taken;

	if (!is_receive(earlier) || earlier->kind == PEEK || !fits(earlier, message) ||
	    earlier->cancelled)
		return;
	CHECK(earlier->match != NONE || earlier->kind == CLAIM);
	if (earlier->match == NONE)
		return;
	CHECK(earlier->kind != MULTI || earlier->released);
	taken = &ops[earlier->match];
	CHECK(taken->node != message->node || taken->id < message->id);
}

static void check_message(const struct op *message)
{
	if (!message->sent)
		return;
	CHECK(message->match != NONE);
	for (int i = 0; i < message->match; i++)
		check_order(&ops[i], message);
}

void model_check(void)
{
	for (int i = 0; i < op_count; i++) {
		CHECK(ops[i].done || ops[i].silent);
		if (ops[i].kind == SEND)
			check_message(&ops[i]);
	}
}
