// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Unit tests of common/group/plan*.c: all members of a group run their schedules on a wire in
 * memory, in an order drawn at random, and what they get is compared with a plain computation.
 */
#include "unit.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "group/plan.h"
#include "message/atomic_ops.h"
#include "wire/wire.h"

enum { MEMBERS = 20, MESSAGES = 65536 };

/* A message under way, or a receive that waits. */
struct post {
	uint32_t from, to, index;
	bool taken;
	uint8_t *bytes; /* of a message: a copy */
	uint64_t len;
	struct gamma_schedule_step *step; /* of a receive */
};

struct member {
	struct gamma_plan_call call;
	struct gamma_schedule schedule;
	uint8_t *in, *out;
	uint64_t sent; /* bytes */
};

static struct {
	struct member members[MEMBERS];
	uint32_t n;
	struct post *messages, *receives;
	unsigned message_count, receive_count;
	uint32_t random;
	/* What goes by multicast, by root; of the takes also by member. */
	struct gamma_schedule_step *casting[MEMBERS], *takes[MEMBERS][MEMBERS];
	uint32_t casts, taken;
	uint32_t expected;        /* leaders that take each */
	uint32_t under_way, most; /* casts that not all of these have taken; at a time */
} group;

static uint32_t draw(uint32_t below)
{
	group.random = group.random * 1664525 + 1013904223;
	return (group.random >> 8) % below;
}

static bool meets(const struct post *message, const struct post *receive)
{
	return !message->taken && !receive->taken && message->from == receive->from &&
	       message->to == receive->to && message->index == receive->index;
}

static void deliver(void)
{
	for (unsigned i = 0; i < group.message_count; i++)
		for (unsigned k = 0; k < group.receive_count; k++) {
			struct post *message = &group.messages[i], *receive = &group.receives[k];

			if (!meets(message, receive))
				continue;
			assert_int_equal(message->len, receive->step->len);
			if (message->len)
				memcpy(receive->step->to, message->bytes, message->len);
			message->taken = receive->taken = true;
			free(message->bytes);
			gamma_schedule_done(&group.members[receive->to].schedule, receive->step);
		}
}

static void send_step(struct member *member, struct gamma_schedule_step *step)
{
	struct post *post = &group.messages[group.message_count++];

	assert_true(group.message_count < MESSAGES);
	assert_true(step->peer < group.n && step->peer != member->call.place);
	*post = (struct post){.from = member->call.place,
			      .to = step->peer,
			      .index = step->index,
			      .bytes = malloc(step->len + 1),
			      .len = step->len};
	if (step->len)
		memcpy(post->bytes, step->from, step->len);
	member->sent += step->len;
	gamma_schedule_done(&member->schedule, step);
}

/* To the leaders that take it, or will. */
static void cast_step(struct member *member, struct gamma_schedule_step *step)
{
	group.casting[member->call.place] = step;
	group.casts++;
	group.under_way++;
	if (group.under_way > group.most)
		group.most = group.under_way;
}

/* One root's; it ends when all leaders have it. */
static void deliver_cast_of(uint32_t root)
{
	struct gamma_schedule_step *cast = group.casting[root];
	uint32_t taken = 0;

	for (uint32_t i = 0; i < group.n; i++)
		taken += group.takes[i][root] != NULL;
	if (taken < group.expected)
		return;
	for (uint32_t i = 0; i < group.n; i++) {
		struct gamma_schedule_step *take = group.takes[i][root];

		if (!take)
			continue;
		assert_int_equal(take->len, cast->len);
		memcpy(take->to, cast->from, take->len);
		group.takes[i][root] = NULL;
		gamma_schedule_done(&group.members[i].schedule, take);
	}
	group.taken += taken;
	group.casting[root] = NULL;
	group.under_way--;
	gamma_schedule_done(&group.members[root].schedule, cast);
}

static void deliver_casts(void)
{
	for (uint32_t root = 0; root < group.n; root++)
		if (group.casting[root])
			deliver_cast_of(root);
}

static void run_step(struct member *member, struct gamma_schedule_step *step)
{
	switch (step->kind) {
	case GAMMA_SCHEDULE_SEND:
		send_step(member, step);
		break;
	case GAMMA_SCHEDULE_RECEIVE:
		group.receives[group.receive_count++] = (struct post){.from = step->peer,
								      .to = member->call.place,
								      .index = step->index,
								      .step = step};
		break;
	case GAMMA_SCHEDULE_CAST:
		cast_step(member, step);
		break;
	case GAMMA_SCHEDULE_TAKE:
		group.takes[member->call.place][step->peer] = step;
		break;
	default:
		gamma_plan_compute(&member->call, step);
		gamma_schedule_done(&member->schedule, step);
	}
}

/* Runs until nothing is left to do; all must have ended then, and all messages been taken. */
static void run_all(void)
{
	bool moved = true;

	while (moved) {
		uint32_t begin = draw(group.n);

		moved = false;
		for (uint32_t i = 0; i < group.n; i++) {
			struct member *member = &group.members[(begin + i) % group.n];
			struct gamma_schedule_step *step;

			while (draw(4) && (step = gamma_schedule_next(&member->schedule))) {
				run_step(member, step);
				moved = true;
			}
			moved |= member->schedule.ready != GAMMA_SCHEDULE_NONE;
		}
		deliver();
		deliver_casts();
		for (uint32_t i = 0; i < group.n; i++)
			moved |= group.members[i].schedule.ready != GAMMA_SCHEDULE_NONE;
	}
	for (uint32_t i = 0; i < group.n; i++)
		assert_true(gamma_schedule_has_ended(&group.members[i].schedule));
	for (unsigned i = 0; i < group.message_count; i++)
		assert_true(group.messages[i].taken);
}

/* blocks: of the call's bytes that each buffer holds. Operands are small numbers of place and
 * element, so that sums are exact. */
static void begin(const struct gamma_plan_call *call, uint64_t in_blocks, uint64_t out_blocks)
{
	uint64_t bytes = gamma_plan_bytes(call);

	group.n = call->n;
	group.message_count = group.receive_count = 0;
	group.casts = group.taken = group.under_way = group.most = 0;
	memset(group.casting, 0, sizeof(group.casting));
	memset(group.takes, 0, sizeof(group.takes));
	group.messages = calloc(MESSAGES, sizeof(*group.messages));
	group.receives = calloc(MESSAGES, sizeof(*group.receives));
	for (uint32_t i = 0; i < call->n; i++) {
		struct member *member = &group.members[i];

		memset(member, 0, sizeof(*member));
		member->in = calloc(in_blocks, bytes + 1);
		member->out = calloc(out_blocks, bytes + 1);
		for (uint64_t k = 0; k < in_blocks * bytes; k++)
			member->in[k] = (uint8_t) (i * 7 + k * 3 + k / 251);
		member->call = *call;
		member->call.place = i;
		member->call.from = member->in;
		member->call.to = member->out;
		gamma_schedule_init(&member->schedule);
	}
}

static void make_and_run(void)
{
	for (uint32_t i = 0; i < group.n; i++) {
		gamma_plan_make(&group.members[i].call, &group.members[i].schedule);
		assert_false(group.members[i].schedule.failed);
		gamma_schedule_start(&group.members[i].schedule);
	}
	run_all();
}

static void finish(void)
{
	for (uint32_t i = 0; i < group.n; i++) {
		gamma_schedule_fini(&group.members[i].schedule);
		free(group.members[i].in);
		free(group.members[i].out);
	}
	free(group.messages);
	free(group.receives);
}

/* Bytes of each member: nothing, one, short in all, short each, and long. */
static const uint64_t counts[] = {0, 1, 100, 4000, 16384, 16385, 50001};

typedef void check(uint32_t n, uint32_t root, uint64_t count);

static void for_all(check *one)
{
	for (uint32_t n = 1; n <= 17; n += n < 9 ? 1 : 4)
		for (uint32_t root = 0; root < n; root += 1 + n / 4)
			for (unsigned i = 0; i < gamma_array_size(counts); i++)
				one(n, root, counts[i]);
}

static void one_broadcast(uint32_t n, uint32_t root, uint64_t count)
{
	const struct gamma_plan_call call = {.kind = GAMMA_PLAN_BROADCAST,
					     .n = n,
					     .root = root,
					     .datatype = GAMMA_UINT8,
					     .unit = 1,
					     .count = count};

	begin(&call, 1, 1);
	group.members[root].call.to = group.members[root].in;
	make_and_run();
	for (uint32_t i = 0; i < n; i++)
		if (i != root)
			assert_memory_equal(group.members[i].out, group.members[root].in, count);
	finish();
}

static void broadcast__reaches_all(void **state)
{
	(void) state;
	for_all(one_broadcast);
}

static void broadcast__long_leaves_each_member_once(void **state)
{
	const struct gamma_plan_call call = {.kind = GAMMA_PLAN_BROADCAST,
					     .n = 8,
					     .root = 3,
					     .datatype = GAMMA_UINT8,
					     .unit = 1,
					     .count = 1 << 20};

	(void) state;
	begin(&call, 1, 1);
	group.members[3].call.to = group.members[3].in;
	make_and_run();
	for (uint32_t i = 0; i < 8; i++)
		assert_int_equal(group.members[i].sent, i == 2 ? 0 : 1 << 20);
	finish();
}

/* Members of one host are not next to each other. */
static void broadcast__by_multicast_leaves_the_root_once(void **state)
{
	uint32_t leaders[MEMBERS];
	struct gamma_plan_hosts hosts = {leaders, 4};

	(void) state;
	for (uint32_t n = 4; n <= 13; n += 3)
		for (uint32_t root = 0; root < n; root++) {
			const struct gamma_plan_call call = {.kind = GAMMA_PLAN_BROADCAST,
							     .n = n,
							     .root = root,
							     .datatype = GAMMA_UINT8,
							     .unit = 1,
							     .hosts = &hosts,
							     .count = 50000};

			for (uint32_t i = 0; i < n; i++)
				leaders[i] = i % 4;
			group.expected = 3;
			begin(&call, 1, 1);
			group.members[root].call.to = group.members[root].in;
			make_and_run();
			for (uint32_t i = 0; i < n; i++)
				if (i != root)
					assert_memory_equal(group.members[i].out,
							    group.members[root].in, 50000);
			assert_int_equal(group.casts, 1);
			assert_int_equal(group.taken, 3);
			finish();
		}
}

static void one_gather(uint32_t n, uint32_t root, uint64_t count)
{
	const struct gamma_plan_call call = {.kind = GAMMA_PLAN_GATHER,
					     .n = n,
					     .root = root,
					     .datatype = GAMMA_UINT8,
					     .unit = 1,
					     .count = count};

	begin(&call, 1, n);
	make_and_run();
	for (uint32_t i = 0; i < n; i++)
		assert_memory_equal(group.members[root].out + i * count, group.members[i].in,
				    count);
	finish();
}

static void gather__brings_blocks_in_order(void **state)
{
	(void) state;
	for_all(one_gather);
}

static void one_allgather(uint32_t n, uint32_t root, uint64_t count)
{
	const struct gamma_plan_call call = {.kind = GAMMA_PLAN_ALLGATHER,
					     .n = n,
					     .datatype = GAMMA_UINT8,
					     .unit = 1,
					     .count = count};

	if (root)
		return;
	begin(&call, 1, n);
	make_and_run();
	for (uint32_t k = 0; k < n; k++)
		for (uint32_t i = 0; i < n; i++)
			assert_memory_equal(group.members[k].out + i * count, group.members[i].in,
					    count);
	finish();
}

static void allgather__brings_blocks_to_all(void **state)
{
	(void) state;
	for_all(one_allgather);
}

/* Each block leaves its member once, and no more members send at a time than the rings allow. */
static void allgather__by_multicast_has_few_senders(void **state)
{
	uint32_t leaders[MEMBERS];
	struct gamma_plan_hosts hosts = {leaders, 4};

	(void) state;
	group.expected = 3;
	for (uint32_t n = 4; n <= 13; n += 3)
		for (unsigned way = 0; way < 2; way++) {
			const struct gamma_plan_call call = {.kind = GAMMA_PLAN_ALLGATHER,
							     .n = n,
							     .datatype = GAMMA_UINT8,
							     .unit = 1,
							     .hosts = &hosts,
							     .count = GAMMA_PLAN_CAST_BLOCK};

			/* Members of a host stand apart, or side by side. */
			for (uint32_t i = 0; i < n; i++)
				leaders[i] = way ? i % 4 : (i * 4 / n * n + 3) / 4;
			begin(&call, 1, n);
			make_and_run();
			for (uint32_t k = 0; k < n; k++)
				for (uint32_t i = 0; i < n; i++)
					assert_memory_equal(group.members[k].out + i * call.count,
							    group.members[i].in, call.count);
			assert_int_equal(group.casts, n);
			assert_int_equal(group.taken, 3 * n);
			assert_true(group.most <= GAMMA_PLAN_CASTERS);
			finish();
		}
}

static void one_scatter(uint32_t n, uint32_t root, uint64_t count)
{
	const struct gamma_plan_call call = {.kind = GAMMA_PLAN_SCATTER,
					     .n = n,
					     .root = root,
					     .datatype = GAMMA_UINT8,
					     .unit = 1,
					     .count = count};

	begin(&call, n, 1);
	make_and_run();
	for (uint32_t i = 0; i < n; i++)
		assert_memory_equal(group.members[i].out, group.members[root].in + i * count,
				    count);
	finish();
}

static void scatter__gives_each_its_block(void **state)
{
	(void) state;
	for_all(one_scatter);
}

/* What a sum of bytes over all members is, element by element. */
static void check_sum(const uint8_t *result, uint64_t count)
{
	for (uint64_t k = 0; k < count; k++) {
		uint8_t sum = 0;

		for (uint32_t i = 0; i < group.n; i++)
			sum = (uint8_t) (sum + (uint8_t) (i * 7 + k * 3 + k / 251));
		assert_int_equal(result[k], sum);
	}
}

static void one_reduce(uint32_t n, uint32_t root, uint64_t count)
{
	const struct gamma_plan_call call = {.kind = GAMMA_PLAN_REDUCE,
					     .n = n,
					     .root = root,
					     .datatype = GAMMA_UINT8,
					     .op = GAMMA_ATOMIC_SUM,
					     .unit = 1,
					     .count = count};

	begin(&call, 1, 1);
	make_and_run();
	check_sum(group.members[root].out, count);
	finish();
}

static void reduce__sums_at_the_root(void **state)
{
	(void) state;
	for_all(one_reduce);
}

static void one_allreduce(uint32_t n, uint32_t root, uint64_t count)
{
	const struct gamma_plan_call call = {.kind = GAMMA_PLAN_ALLREDUCE,
					     .n = n,
					     .datatype = GAMMA_UINT8,
					     .op = GAMMA_ATOMIC_SUM,
					     .unit = 1,
					     .count = count};

	if (root)
		return;
	begin(&call, 1, 1);
	for (uint32_t i = 0; i < n && n % 2; i++) /* in place */
		group.members[i].call.to = group.members[i].in;
	make_and_run();
	for (uint32_t i = 0; i < n; i++)
		check_sum(group.members[i].call.to, count);
	finish();
}

static void allreduce__sums_everywhere(void **state)
{
	(void) state;
	for_all(one_allreduce);
}

/* Sums of floats depend on their order: all members, and all runs, have the same. */
static void allreduce__floats_are_the_same_bits(void **state)
{
	const uint64_t lengths[] = {5, 30001};
	float first[30001];

	(void) state;
	for (unsigned l = 0; l < 2; l++)
		for (unsigned run = 0; run < 4; run++) {
			const struct gamma_plan_call call = {.kind = GAMMA_PLAN_ALLREDUCE,
							     .n = 7,
							     .datatype = GAMMA_FLOAT,
							     .op = GAMMA_ATOMIC_SUM,
							     .unit = 4,
							     .count = lengths[l]};

			begin(&call, 1, 1);
			for (uint32_t i = 0; i < 7; i++)
				for (uint64_t k = 0; k < lengths[l]; k++)
					((float *) (void *) group.members[i].in)[k] =
						(float) (i + 1) * 1e7f / (float) (3 * k + 1);
			make_and_run();
			if (!run)
				memcpy(first, group.members[0].out, 4 * lengths[l]);
			for (uint32_t i = 0; i < 7; i++)
				assert_memory_equal(group.members[i].out, first, 4 * lengths[l]);
			finish();
		}
}

static void barrier__ends_when_all_have_come(void **state)
{
	(void) state;
	for (uint32_t n = 1; n <= 17; n++) {
		const struct gamma_plan_call call = {.kind = GAMMA_PLAN_BARRIER, .n = n};

		begin(&call, 1, 1);
		for (uint32_t i = 0; i < n; i++)
			gamma_plan_make(&group.members[i].call, &group.members[i].schedule);
		/* The last one is late: nobody ends before it. */
		for (uint32_t i = 0; i + 1 < n; i++)
			gamma_schedule_start(&group.members[i].schedule);
		group.members[n - 1].schedule.left = group.members[n - 1].schedule.count;
		for (unsigned turn = 0; turn < 100; turn++) {
			for (uint32_t i = 0; i + 1 < n; i++) {
				struct member *member = &group.members[i];
				struct gamma_schedule_step *step;

				while ((step = gamma_schedule_next(&member->schedule)))
					run_step(member, step);
			}
			deliver();
		}
		for (uint32_t i = 0; i + 1 < n; i++)
			assert_false(gamma_schedule_has_ended(&group.members[i].schedule));
		gamma_schedule_start(&group.members[n - 1].schedule);
		run_all();
		finish();
	}
}

static void check_most_messages(enum gamma_plan_kind kind, uint32_t n, uint32_t most)
{
	const struct gamma_plan_call call = {.kind = kind,
					     .n = n,
					     .datatype = GAMMA_UINT8,
					     .op = GAMMA_ATOMIC_SUM,
					     .unit = 1,
					     .count = kind == GAMMA_PLAN_BARRIER ? 0 : 8};
	uint32_t sent[MEMBERS] = {0};

	begin(&call, 1, 1);
	make_and_run();
	for (unsigned i = 0; i < group.message_count; i++)
		sent[group.messages[i].from]++;
	for (uint32_t i = 0; i < n; i++)
		assert_true(sent[i] <= most);
	finish();
}

/* While one member sends to all others, these do nothing but wait. */
static void short_operations_without_a_root__no_member_sends_to_all(void **state)
{
	(void) state;
	for (uint32_t n = 2, rounds = 1; n <= 16; n++) {
		rounds += n > 1u << rounds;
		check_most_messages(GAMMA_PLAN_BARRIER, n, rounds);
	}
	for (uint32_t rounds = 1; rounds <= 4; rounds++)
		check_most_messages(GAMMA_PLAN_ALLREDUCE, 1u << rounds, rounds);
}

static void signature__differs_with_what_must_agree(void **state)
{
	const struct gamma_plan_call call = {.kind = GAMMA_PLAN_REDUCE,
					     .n = 4,
					     .root = 1,
					     .datatype = GAMMA_UINT8,
					     .op = GAMMA_ATOMIC_SUM,
					     .unit = 1,
					     .count = 9};
	struct gamma_plan_call other[] = {call, call, call, call, call};
	uint32_t signature = gamma_plan_signature(&call);

	(void) state;
	other[0].kind = GAMMA_PLAN_GATHER;
	other[1].root = 2;
	other[2].datatype = GAMMA_INT8;
	other[3].op = GAMMA_ATOMIC_MAX;
	other[4].count = 10;
	for (unsigned i = 0; i < gamma_array_size(other); i++)
		assert_int_not_equal(gamma_plan_signature(&other[i]), signature);
	other[0] = call;
	other[0].place = 3;
	assert_int_equal(gamma_plan_signature(&other[0]), signature);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(broadcast__reaches_all),
		TEST(broadcast__long_leaves_each_member_once),
		TEST(broadcast__by_multicast_leaves_the_root_once),
		TEST(gather__brings_blocks_in_order),
		TEST(allgather__brings_blocks_to_all),
		TEST(allgather__by_multicast_has_few_senders),
		TEST(scatter__gives_each_its_block),
		TEST(reduce__sums_at_the_root),
		TEST(allreduce__sums_everywhere),
		TEST(allreduce__floats_are_the_same_bits),
		TEST(barrier__ends_when_all_have_come),
		TEST(short_operations_without_a_root__no_member_sends_to_all),
		TEST(signature__differs_with_what_must_agree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
