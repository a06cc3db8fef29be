// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* btl_gamma's collective.c: what coll/gamma finds there, and the events of joins and dead peers. */
#include "btl_fake.h"
#include "collective.h"

#include <rdma/fi_errno.h>
#include <string.h>

static const struct btl_gamma_collective *door = &mca_btl_gamma_collective;

static struct {
	unsigned int ended, closings;
	int status; /* that the last one ended with */
} seen;

static void join_done(struct btl_gamma_op *op, int status)
{
	(void) op;
	seen.ended++;
	seen.status = status;
}

static void closing(void)
{
	seen.closings++;
}

static opal_proc_t *own_process(const opal_process_name_t name)
{
	(void) name;
	return opal_proc_local_get();
}

static int set_up(void **state)
{
	opal_proc_for_name = own_process;
	seen.ended = seen.closings = 0;
	seen.status = 1;
	return btl_fake_setup_closed(state);
}

static int tear_down(void **state)
{
	door->on_close(NULL);
	return btl_fake_teardown(state);
}

/* ---- the port ---- */

static void interface__has_magic_and_sizes(void **state)
{
	(void) state;
	assert_true(door->magic == BTL_GAMMA_COLLECTIVE_MAGIC);
	assert_int_equal(door->size, sizeof(*door));
	assert_int_equal(door->op_size, sizeof(struct btl_gamma_op));
}

static void is_wanted__if_btl_names_gamma_or_by_default(void **state)
{
	(void) state;
	assert_true(door->is_wanted());
	opal_btl_base_framework.framework_selection = "self,tcp";
	assert_false(door->is_wanted());
	mca_btl_gamma_component.by_default = true;
	assert_true(door->is_wanted());
	mca_btl_gamma_component.by_default = false;
}

static void port__carries_collectives(void **state)
{
	struct btl_gamma_module *module = btl_fake_open();

	(void) state;
	assert_true(module->port->info->caps & FI_COLLECTIVE);
	assert_ptr_equal(door->port(), module->port);
}

static void port__of_an_older_provider_carries_none(void **state)
{
	struct btl_gamma_module *module;

	(void) state;
	btl_fake.no_collective = true;
	module = btl_fake_open();
	assert_non_null(module);
	assert_true(module->port->info->caps & FI_MSG);
	assert_false(module->port->info->caps & FI_COLLECTIVE);
	assert_null(door->port());
}

static void carries__is_published(void **state)
{
	const opal_process_name_t own = opal_proc_local_get()->proc_name;

	(void) state;
	btl_fake_open();
	assert_true(door->carries(own));
}

static void carries__is_false_without_collectives(void **state)
{
	const opal_process_name_t own = opal_proc_local_get()->proc_name;

	(void) state;
	btl_fake.no_collective = true;
	btl_fake_open();
	assert_false(door->carries(own));
}

/* ---- events ---- */

static void poll__join_ends_its_operation(void **state)
{
	struct btl_gamma_op op;

	(void) state;
	btl_fake_open();
	door->prepare(&op, join_done);
	btl_fake.joined = &op;
	door->poll();
	door->poll();
	assert_int_equal(seen.ended, 1);
	assert_int_equal(seen.status, OPAL_SUCCESS);
}

static void poll__failed_join_says_why(void **state)
{
	struct btl_gamma_op op;

	(void) state;
	btl_fake_open();
	door->prepare(&op, join_done);
	btl_fake.join_failed = &op;
	btl_fake.error_text = "member 3: it has not joined";
	door->poll();
	assert_int_equal(seen.ended, 1);
	assert_int_equal(seen.status, OPAL_ERR_UNREACH);
	assert_non_null(strstr(btl_fake.output, "member 3: it has not joined"));
}

static void poll__dead_peer_stays_to_be_probed(void **state)
{
	struct btl_gamma_module *module = btl_fake_open();

	(void) state;
	btl_fake.dead_peer = true;
	door->poll();
	door->poll();
	assert_true(btl_gamma_collective_read_events(module));
	assert_false(btl_gamma_collective_read_events(module));
}

static void completion__failed_operation_says_why(void **state)
{
	struct btl_gamma_op op;

	(void) state;
	btl_fake_open();
	door->prepare(&op, join_done);
	btl_fake_fail(&op, FI_COLLECTIVE, FI_ECONNRESET, "member 2 has left");
	btl_gamma_progress();
	assert_int_equal(seen.ended, 1);
	assert_int_equal(seen.status, OPAL_ERR_UNREACH);
	assert_non_null(
		strstr(btl_fake.output, "a collective operation failed: member 2 has left"));
}

static void completion__unreported_operation_says_nothing(void **state)
{
	struct btl_gamma_op op;

	(void) state;
	btl_fake_open();
	door->prepare(&op, join_done);
	op.unreported = true;
	btl_fake_fail(&op, FI_COLLECTIVE, FI_ECONNRESET, "member 2 has left");
	btl_gamma_progress();
	assert_int_equal(seen.status, OPAL_ERR_UNREACH);
	assert_null(strstr(btl_fake.output, "member 2 has left"));
}

/* ---- the end ---- */

static void finalize__reports_before_the_endpoint_is_closed(void **state)
{
	struct btl_gamma_module *module = btl_fake_open();

	(void) state;
	door->on_close(closing);
	module->super.btl_finalize(&module->super);
	assert_int_equal(seen.closings, 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(interface__has_magic_and_sizes),
		TEST(is_wanted__if_btl_names_gamma_or_by_default),
		TEST(port__carries_collectives),
		TEST(port__of_an_older_provider_carries_none),
		TEST(carries__is_published),
		TEST(carries__is_false_without_collectives),
		TEST(poll__join_ends_its_operation),
		TEST(poll__failed_join_says_why),
		TEST(poll__dead_peer_stays_to_be_probed),
		TEST(completion__failed_operation_says_why),
		TEST(completion__unreported_operation_says_nothing),
		TEST(finalize__reports_before_the_endpoint_is_closed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
