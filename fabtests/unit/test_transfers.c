// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of common/message/transfers.c: ids that a peer may repeat late or make up. */
#include "unit.h"

#include "message/message.h"

static int objects[70000];

static void add__is_found_and_removed(void **state)
{
	struct gamma_transfers transfers;
	uint32_t id;

	(void) state;
	gamma_transfers_init(&transfers);
	id = gamma_transfers_add(&transfers, &objects[0]);
	assert_int_not_equal(id, 0);
	assert_ptr_equal(gamma_transfers_find(&transfers, id), &objects[0]);
	gamma_transfers_remove(&transfers, id);
	assert_null(gamma_transfers_find(&transfers, id));
	gamma_transfers_fini(&transfers);
}

static void find__made_up_ids(void **state)
{
	struct gamma_transfers transfers;
	uint32_t id;

	(void) state;
	gamma_transfers_init(&transfers);
	assert_null(gamma_transfers_find(&transfers, 0));
	assert_null(gamma_transfers_find(&transfers, UINT32_MAX));
	id = gamma_transfers_add(&transfers, &objects[0]);
	assert_null(gamma_transfers_find(&transfers, 0));
	assert_null(gamma_transfers_find(&transfers, id + 1));
	assert_null(gamma_transfers_find(&transfers, id + (1u << 20)));
	assert_null(gamma_transfers_find(&transfers, UINT32_MAX));
	gamma_transfers_fini(&transfers);
}

/* A slot's ids differ from use to use, fit into 24 bits, and are never 0. */
static void remove__late_id_finds_nothing(void **state)
{
	struct gamma_transfers transfers;
	uint32_t last = 0;

	(void) state;
	gamma_transfers_init(&transfers);
	for (int use = 0; use < 1000; use++) {
		uint32_t id = gamma_transfers_add(&transfers, &objects[use]);

		assert_int_not_equal(id, 0);
		assert_int_not_equal(id, last);
		assert_int_equal(id & ~GAMMA_ID_MASK, 0);
		assert_null(gamma_transfers_find(&transfers, last));
		gamma_transfers_remove(&transfers, id);
		last = id;
	}
	gamma_transfers_fini(&transfers);
}

static void add__as_many_as_there_are_slots(void **state)
{
	struct gamma_transfers transfers;
	static uint32_t ids[1 << 20];

	(void) state;
	gamma_transfers_init(&transfers);
	for (int i = 0; i < 1 << 20; i++) {
		ids[i] = gamma_transfers_add(&transfers, &ids[i]);
		assert_int_not_equal(ids[i], 0);
	}
	assert_int_equal(gamma_transfers_add(&transfers, &objects[0]), 0);
	for (int i = 0; i < 1 << 20; i++)
		assert_ptr_equal(gamma_transfers_find(&transfers, ids[i]), &ids[i]);
	gamma_transfers_remove(&transfers, ids[77]);
	assert_int_not_equal(gamma_transfers_add(&transfers, &objects[1]), 0);
	gamma_transfers_fini(&transfers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(add__is_found_and_removed),
		TEST(find__made_up_ids),
		TEST(remove__late_id_finds_nothing),
		TEST(add__as_many_as_there_are_slots),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
