// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* btl_gamma's receive.c: messages that arrive, and the buffers that they arrive in. */
#include "btl_fake.h"

#include <rdma/fi_errno.h>
#include <string.h>

static void arrive(const char *text, bool last)
{
	btl_fake_arrive(BTL_GAMMA_KIND_MESSAGE, BTL_FAKE_TAG, text, strlen(text), last);
}

static void message__goes_to_the_layer_of_its_tag(void **state)
{
	(void) state;
	btl_fake_register_layer();
	arrive("hello", false);
	assert_int_equal(btl_gamma_progress(), 1);
	assert_int_equal(btl_fake_layer.messages, 1);
	assert_int_equal(btl_fake_layer.len, 5);
	assert_memory_equal(btl_fake_layer.bytes, "hello", 5);
}

static void message__shorter_than_a_header_is_dropped(void **state)
{
	(void) state;
	btl_fake_register_layer();
	arrive("", false);
	btl_fake.completions[0].len = sizeof(struct btl_gamma_header) - 1;
	btl_gamma_progress();
	assert_int_equal(btl_fake_layer.messages, 0);
}

static void message__for_a_layer_not_ready_is_delivered_later(void **state)
{
	struct btl_gamma_module *module = *state;

	arrive("early", false);
	btl_gamma_progress();
	assert_non_null(module->undelivered);
	assert_int_equal(btl_gamma_progress(), 0);
	btl_fake_register_layer();
	assert_int_equal(btl_gamma_progress(), 1);
	assert_int_equal(btl_fake_layer.messages, 1);
	assert_memory_equal(btl_fake_layer.bytes, "early", 5);
	assert_null(module->undelivered);
}

static void message__that_stays_undelivered_is_freed_with_the_module(void **state)
{
	struct btl_gamma_module *module = *state;

	arrive("never", false);
	btl_gamma_progress();
	assert_non_null(module->undelivered);
}

/* Open MPI 5 does so where a message only names a communicator. */
static void message__that_is_written_behind_harms_no_other(void **state)
{
	struct btl_gamma_module *module = *state;
	const unsigned char *memory = module->port->buffers[0].memory;
	unsigned char message[65] = "name";
	const size_t lengths[] = {0, 1, 32, 64};

	btl_fake_register_layer();
	btl_fake_layer.writes_behind = 16;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		size_t len = lengths[i], end = sizeof(struct btl_gamma_header) + len;

		btl_fake_arrive(BTL_GAMMA_KIND_MESSAGE, BTL_FAKE_CID_TAG, message, len, false);
		memset(module->port->buffers[0].memory + end, 'n', 16);
		btl_gamma_progress();
		assert_int_equal(btl_fake_layer.messages, i + 1);
		assert_int_equal(btl_fake_layer.len, len);
		assert_memory_equal(btl_fake_layer.bytes, message, len);
		assert_int_equal((uintptr_t) btl_fake_layer.at % 8, 0);
		assert_memory_equal(memory + end, "nnnnnnnnnnnnnnnn", 16);
	}
	btl_fake_layer.writes_behind = 0;
	btl_fake_arrive(BTL_GAMMA_KIND_MESSAGE, BTL_FAKE_CID_TAG, message, 65, false);
	btl_gamma_progress();
	assert_ptr_equal(btl_fake_layer.at, memory + sizeof(struct btl_gamma_header));
}

static void keepalive__reaches_no_layer(void **state)
{
	(void) state;
	btl_fake_register_layer();
	btl_fake_arrive(BTL_GAMMA_KIND_KEEPALIVE, BTL_FAKE_TAG, NULL, 0, false);
	assert_int_equal(btl_gamma_progress(), 1);
	assert_int_equal(btl_fake_layer.messages, 0);
}

/* The fake's messages are of rank 5 of another job. */
static void farewell__marks_its_sender_as_ended(void **state)
{
	struct mca_btl_base_endpoint_t *peer = btl_fake_peer(*state, false, 5);

	btl_fake_arrive(BTL_GAMMA_KIND_LEAVING, 0, NULL, 0, false);
	btl_gamma_progress();
	assert_true(peer->ended);
}

static void farewell__of_an_unknown_sender_is_ignored(void **state)
{
	struct mca_btl_base_endpoint_t *peer = btl_fake_peer(*state, false, 6);

	btl_fake_arrive(BTL_GAMMA_KIND_LEAVING, 0, NULL, 0, false);
	btl_gamma_progress();
	assert_false(peer->ended);
}

/* ---- buffers ---- */

static void buffer__stays_posted_until_its_last_message(void **state)
{
	(void) state;
	btl_fake_register_layer();
	arrive("one", false);
	btl_gamma_progress();
	assert_int_equal(btl_fake_count(BTL_FAKE_POSTED), 0);
	arrive("two", true);
	btl_gamma_progress();
	assert_int_equal(btl_fake_count(BTL_FAKE_POSTED), 1);
	assert_true(btl_fake_last(BTL_FAKE_POSTED)->flags & FI_MULTI_RECV);
	assert_int_equal(btl_fake_last(BTL_FAKE_POSTED)->len,
			 2 * (BTL_FAKE_SEND + sizeof(struct btl_gamma_header)));
}

static void buffer__is_not_posted_while_the_layer_reads_it(void **state)
{
	(void) state;
	btl_fake_register_layer();
	arrive("last", true);
	btl_gamma_progress();
	assert_int_equal(btl_fake_layer.posted_meanwhile, 0);
	assert_int_equal(btl_fake_count(BTL_FAKE_POSTED), 1);
}

static void buffer__without_room_is_posted_later(void **state)
{
	struct btl_gamma_module *module = *state;

	btl_fake_register_layer();
	btl_fake.results[BTL_FAKE_POSTED] = -FI_EAGAIN;
	arrive("last", true);
	btl_gamma_progress();
	assert_true(btl_gamma_any_waiting(module));
	assert_int_equal(btl_fake.errors, 0);
	btl_fake.results[BTL_FAKE_POSTED] = 0;
	btl_gamma_progress();
	assert_false(btl_gamma_any_waiting(module));
}

static void buffer__that_cannot_be_posted_ends_the_job(void **state)
{
	(void) state;
	btl_fake_register_layer();
	btl_fake.results[BTL_FAKE_POSTED] = -FI_ENOMEM;
	arrive("last", true);
	btl_gamma_progress();
	assert_int_equal(btl_fake.errors, 1);
	assert_int_equal(btl_fake.error_flags, MCA_BTL_ERROR_FLAGS_FATAL);
	assert_non_null(strstr(btl_fake.output, "fake0: "));
}

/* ---- opening ---- */

static void open__posts_all_buffers(void **state)
{
	(void) state;
	assert_non_null(btl_fake_open());
	assert_int_equal(btl_fake_count(BTL_FAKE_POSTED), 2);
	assert_int_equal(mca_btl_gamma_component.module_count, 2);
}

static void open__without_buffers_reports_and_closes_all(void **state)
{
	(void) state;
	btl_fake.results[BTL_FAKE_POSTED] = -FI_ENOMEM;
	assert_null(btl_fake_open());
	assert_int_equal(btl_fake.open_objects, 0);
	assert_non_null(strstr(btl_fake.output, "btl_gamma_receive_buffers"));
}

static void open__without_endpoint_reports_and_closes_all(void **state)
{
	(void) state;
	btl_fake.enable_result = -FI_EMFILE;
	assert_null(btl_fake_open());
	assert_int_equal(btl_fake.open_objects, 0);
	assert_non_null(strstr(btl_fake.output, "no endpoint can be opened on fake0"));
}

static void open__says_nothing_unless_the_user_named_gamma(void **state)
{
	(void) state;
	opal_btl_base_framework.framework_selection = "^gamma";
	btl_fake.open_result = -FI_ENODATA;
	assert_null(btl_fake_open());
	assert_string_equal(btl_fake.output, "");
}

static void open__refuses_flags_without_send(void **state)
{
	(void) state;
	mca_btl_gamma_component.template.btl_flags = MCA_BTL_FLAGS_RDMA;
	assert_int_equal(btl_gamma_module_fit_sizes(), 0);
	assert_non_null(strstr(btl_fake.output, "btl_gamma_flags"));
}

static void open__refuses_messages_beyond_1_gib(void **state)
{
	(void) state;
	mca_btl_gamma_component.template.btl_max_send_size = (1u << 30) + 1;
	assert_int_equal(btl_gamma_module_fit_sizes(), 0);
	assert_non_null(strstr(btl_fake.output, "1 GiB at most"));
}

#define TEST(name)   cmocka_unit_test_setup_teardown(name, btl_fake_setup, btl_fake_teardown)
#define CLOSED(name) cmocka_unit_test_setup_teardown(name, btl_fake_setup_closed, btl_fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(message__goes_to_the_layer_of_its_tag),
		TEST(message__shorter_than_a_header_is_dropped),
		TEST(message__for_a_layer_not_ready_is_delivered_later),
		TEST(message__that_stays_undelivered_is_freed_with_the_module),
		TEST(message__that_is_written_behind_harms_no_other),
		TEST(keepalive__reaches_no_layer),
		TEST(farewell__marks_its_sender_as_ended),
		TEST(farewell__of_an_unknown_sender_is_ignored),
		TEST(buffer__stays_posted_until_its_last_message),
		TEST(buffer__is_not_posted_while_the_layer_reads_it),
		TEST(buffer__without_room_is_posted_later),
		TEST(buffer__that_cannot_be_posted_ends_the_job),
		CLOSED(open__posts_all_buffers),
		CLOSED(open__without_buffers_reports_and_closes_all),
		CLOSED(open__without_endpoint_reports_and_closes_all),
		CLOSED(open__says_nothing_unless_the_user_named_gamma),
		CLOSED(open__refuses_flags_without_send),
		CLOSED(open__refuses_messages_beyond_1_gib),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
