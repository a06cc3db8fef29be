// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* btl_gamma's remote.c: put, get, atomic operations and registered memory. */
#include "btl_fake.h"

#include <rdma/fi_errno.h>
#include <string.h>

static struct {
	unsigned int calls;
	int status;
	void *local, *context, *data;
} ended;

static char local[64];
static mca_btl_base_registration_handle_t there = {.key = 9, .base = 0x1000};

static void on_end(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *peer, void *memory,
		   mca_btl_base_registration_handle_t *handle, void *context, void *data,
		   int status)
{
	(void) btl, (void) peer, (void) handle;
	ended.calls++;
	ended.status = status;
	ended.local = memory;
	ended.context = context;
	ended.data = data;
}

static struct mca_btl_base_endpoint_t *new_peer(void)
{
	memset(&ended, 0, sizeof(ended));
	return btl_fake_peer(btl_fake_remote_module(), true, 2);
}

static int put_8(struct mca_btl_base_endpoint_t *peer)
{
	mca_btl_base_module_t *btl = &btl_fake_remote_module()->super;

	return btl->btl_put(btl, peer, local, 0x1010, NULL, &there, 8, 0, 0, on_end, &ended, local);
}

static int add_to(struct mca_btl_base_endpoint_t *peer, mca_btl_base_atomic_op_t op, int flags)
{
	mca_btl_base_module_t *btl = &btl_fake_remote_module()->super;

	return btl->btl_atomic_op(btl, peer, 0x1010, &there, op, 3, flags, 0, on_end, NULL, NULL);
}

static void put__writes_at_the_offset_in_the_region(void **state)
{
	const struct btl_fake_call *call;

	(void) state;
	assert_int_equal(put_8(new_peer()), OPAL_SUCCESS);
	call = btl_fake_last(BTL_FAKE_WRITTEN);
	assert_int_equal(call->address, 0x10);
	assert_int_equal(call->key, 9);
	assert_int_equal(call->len, 8);
	assert_true(call->flags & FI_DELIVERY_COMPLETE);
	btl_fake_complete(call->context);
	btl_gamma_progress();
	assert_int_equal(ended.calls, 1);
	assert_int_equal(ended.status, OPAL_SUCCESS);
	assert_ptr_equal(ended.local, local);
	assert_ptr_equal(ended.context, &ended);
	assert_ptr_equal(ended.data, local);
}

static void get__reads(void **state)
{
	mca_btl_base_module_t *btl = &btl_fake_remote_module()->super;

	(void) state;
	assert_int_equal(btl->btl_get(btl, new_peer(), local, 0x1020, NULL, &there, 16, 0, 0,
				      on_end, NULL, NULL),
			 OPAL_SUCCESS);
	assert_int_equal(btl_fake_last(BTL_FAKE_READ)->address, 0x20);
	assert_int_equal(btl_fake_last(BTL_FAKE_READ)->len, 16);
	btl_fake_complete(btl_fake_last(BTL_FAKE_READ)->context);
	btl_gamma_progress();
	assert_int_equal(ended.calls, 1);
}

static void put__without_room_is_queued_and_written_later(void **state)
{
	(void) state;
	btl_fake.results[BTL_FAKE_WRITTEN] = -FI_EAGAIN;
	assert_int_equal(put_8(new_peer()), OPAL_SUCCESS);
	assert_true(btl_gamma_any_waiting(btl_fake_remote_module()));
	btl_fake.results[BTL_FAKE_WRITTEN] = 0;
	btl_gamma_progress();
	assert_int_equal(btl_fake_count(BTL_FAKE_WRITTEN), 2);
	btl_fake_complete(btl_fake_last(BTL_FAKE_WRITTEN)->context);
	btl_gamma_progress();
	assert_int_equal(ended.calls, 1);
}

static void put__refused_is_unreachable_without_a_callback(void **state)
{
	(void) state;
	btl_fake.results[BTL_FAKE_WRITTEN] = -FI_EHOSTUNREACH;
	assert_int_equal(put_8(new_peer()), OPAL_ERR_UNREACH);
	assert_int_equal(ended.calls, 0);
	assert_non_null(strstr(btl_fake.output, "cannot be reached"));
}

static void put__that_fails_later_calls_back_with_the_error(void **state)
{
	(void) state;
	put_8(new_peer());
	btl_fake_fail(btl_fake_last(BTL_FAKE_WRITTEN)->context, FI_WRITE, FI_EACCES, NULL);
	btl_gamma_progress();
	assert_int_equal(ended.calls, 1);
	assert_int_equal(ended.status, OPAL_ERR_UNREACH);
}

static void atomic_op__is_translated(void **state)
{
	static const struct {
		mca_btl_base_atomic_op_t from;
		enum fi_op to;
	} table[] = {
		{MCA_BTL_ATOMIC_ADD, FI_SUM},
		{MCA_BTL_ATOMIC_AND, FI_BAND},
		{MCA_BTL_ATOMIC_OR, FI_BOR},
		{MCA_BTL_ATOMIC_XOR, FI_BXOR},
		{MCA_BTL_ATOMIC_SWAP, FI_ATOMIC_WRITE},
	};
	struct mca_btl_base_endpoint_t *peer = new_peer();
	size_t i;

	(void) state;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		assert_int_equal(add_to(peer, table[i].from, 0), OPAL_SUCCESS);
		assert_int_equal(btl_fake_last(BTL_FAKE_ATOMIC)->op, table[i].to);
		assert_int_equal(btl_fake_last(BTL_FAKE_ATOMIC)->type, FI_INT64);
		assert_int_equal(btl_fake_last(BTL_FAKE_ATOMIC)->bytes[0], 3);
		btl_fake_complete(btl_fake_last(BTL_FAKE_ATOMIC)->context);
		btl_gamma_progress();
	}
	assert_int_equal(ended.calls, i);
}

static void atomic_op__of_32_bits_has_that_type(void **state)
{
	(void) state;
	add_to(new_peer(), MCA_BTL_ATOMIC_ADD, MCA_BTL_ATOMIC_FLAG_32BIT);
	assert_int_equal(btl_fake_last(BTL_FAKE_ATOMIC)->type, FI_INT32);
	btl_fake_complete(btl_fake_last(BTL_FAKE_ATOMIC)->context);
	btl_gamma_progress();
}

static void atomic_op__min_and_floats_are_not_supported(void **state)
{
	struct mca_btl_base_endpoint_t *peer = new_peer();

	(void) state;
	assert_int_equal(add_to(peer, MCA_BTL_ATOMIC_MIN, 0), OPAL_ERR_NOT_SUPPORTED);
	assert_int_equal(add_to(peer, MCA_BTL_ATOMIC_ADD, MCA_BTL_ATOMIC_FLAG_FLOAT),
			 OPAL_ERR_NOT_SUPPORTED);
	assert_int_equal(btl_fake.call_count, 0);
}

static void atomic_fop__fetches(void **state)
{
	mca_btl_base_module_t *btl = &btl_fake_remote_module()->super;

	(void) state;
	assert_int_equal(btl->btl_atomic_fop(btl, new_peer(), local, 0x1008, NULL, &there,
					     MCA_BTL_ATOMIC_ADD, 5, 0, 0, on_end, NULL, NULL),
			 OPAL_SUCCESS);
	assert_int_equal(btl_fake_last(BTL_FAKE_FETCH)->address, 8);
	assert_int_equal(btl_fake_last(BTL_FAKE_FETCH)->bytes[0], 5);
	btl_fake_complete(btl_fake_last(BTL_FAKE_FETCH)->context);
	btl_gamma_progress();
	assert_ptr_equal(ended.local, local);
}

static void atomic_cswap__compares_and_swaps(void **state)
{
	mca_btl_base_module_t *btl = &btl_fake_remote_module()->super;

	(void) state;
	assert_int_equal(btl->btl_atomic_cswap(btl, new_peer(), local, 0x1000, NULL, &there, 1, 2,
					       0, 0, on_end, NULL, NULL),
			 OPAL_SUCCESS);
	assert_int_equal(btl_fake_last(BTL_FAKE_COMPARE)->op, FI_CSWAP);
	assert_int_equal(btl_fake_last(BTL_FAKE_COMPARE)->bytes[0], 2);
	btl_fake_complete(btl_fake_last(BTL_FAKE_COMPARE)->context);
	btl_gamma_progress();
}

static void atomic_cswap__without_endpoint_is_not_supported(void **state)
{
	mca_btl_base_module_t *btl = &btl_fake_remote_module()->super;

	(void) state;
	assert_int_equal(btl->btl_atomic_cswap(btl, NULL, local, 0x1000, NULL, &there, 1, 2, 0, 0,
					       on_end, NULL, NULL),
			 OPAL_ERR_NOT_SUPPORTED);
}

static void register__gives_every_region_its_own_key(void **state)
{
	mca_btl_base_module_t *btl = &btl_fake_remote_module()->super;
	mca_btl_base_registration_handle_t *a, *b;

	(void) state;
	a = btl->btl_register_mem(btl, NULL, local, 32, MCA_BTL_REG_FLAG_REMOTE_WRITE);
	b = btl->btl_register_mem(btl, NULL, local, 32, MCA_BTL_REG_FLAG_REMOTE_READ);
	assert_non_null(a);
	assert_non_null(b);
	assert_true(a->key != b->key);
	assert_int_equal(a->base, (uintptr_t) local);
	btl->btl_deregister_mem(btl, a);
	btl->btl_deregister_mem(btl, b);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, btl_fake_setup, btl_fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(put__writes_at_the_offset_in_the_region),
		TEST(get__reads),
		TEST(put__without_room_is_queued_and_written_later),
		TEST(put__refused_is_unreachable_without_a_callback),
		TEST(put__that_fails_later_calls_back_with_the_error),
		TEST(atomic_op__is_translated),
		TEST(atomic_op__of_32_bits_has_that_type),
		TEST(atomic_op__min_and_floats_are_not_supported),
		TEST(atomic_fop__fetches),
		TEST(atomic_cswap__compares_and_swaps),
		TEST(atomic_cswap__without_endpoint_is_not_supported),
		TEST(register__gives_every_region_its_own_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
