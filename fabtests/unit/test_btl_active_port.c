// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* btl_gamma's active_port.c: messages that the provider hands over where they arrived. */
#include "btl_fake.h"

#include <rdma/fi_errno.h>
#include <string.h>

static unsigned int callbacks;

static void on_sent(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *peer,
		    mca_btl_base_descriptor_t *descriptor, int status)
{
	(void) btl, (void) peer, (void) descriptor;
	assert_int_equal(status, OPAL_SUCCESS);
	callbacks++;
}

static mca_btl_base_descriptor_t *new_message(struct btl_gamma_module *module, size_t len)
{
	mca_btl_base_descriptor_t *descriptor = btl_gamma_fragments_alloc(
		&module->super, NULL, 0, len, MCA_BTL_DES_FLAGS_BTL_OWNERSHIP);

	assert_non_null(descriptor);
	memset(descriptor->des_segments[0].seg_addr.pval, 'x', len);
	descriptor->des_cbfunc = on_sent;
	callbacks = 0;
	return descriptor;
}

/* ---- open ---- */

static void open__sets_the_handler(void **state)
{
	struct btl_gamma_module *module = *state;

	assert_non_null(btl_fake.port.handler);
	assert_int_equal(module->port->active_max, BTL_FAKE_FRAME);
	assert_string_equal(btl_fake.output, "");
}

static void open__of_a_provider_without_ports_says_so_and_goes_on(void **state)
{
	struct btl_gamma_module *module;

	(void) state;
	mca_btl_gamma_component.ports = true;
	btl_fake.ports_result = -FI_ENOSYS;
	module = btl_fake_open();
	assert_non_null(module);
	assert_null(module->port->active);
	assert_int_equal(module->port->active_max, 0);
	assert_non_null(strstr(btl_fake.output, "no active port on fake0"));
	assert_non_null(strstr(btl_fake.output, "btl_gamma_ports"));
}

static void open__that_is_not_to_use_ports_sets_none(void **state)
{
	(void) state;
	assert_non_null(btl_fake_open());
	assert_null(btl_fake.port.handler);
}

/* ---- send ---- */

static void send__short_is_injected_to_the_port(void **state)
{
	struct btl_gamma_module *module = *state;
	const opal_process_name_t own = opal_proc_local_get()->proc_name;
	const struct btl_fake_call *call;

	assert_int_equal(btl_gamma_send(&module->super, btl_fake_peer(module, true, 2),
					new_message(module, 8), BTL_FAKE_TAG),
			 1);
	call = btl_fake_last(BTL_FAKE_TO_PORT);
	assert_non_null(call);
	assert_int_equal(call->flags, FI_INJECT);
	assert_int_equal(call->arg, BTL_FAKE_TAG);
	assert_int_equal(call->len, sizeof(own) + 8);
	assert_memory_equal(call->bytes, &own, sizeof(own));
	assert_memory_equal(call->bytes + sizeof(own), "xxxxxxxx", 8);
}

static void send__of_a_frame_leaves_from_its_place(void **state)
{
	struct btl_gamma_module *module = *state;
	size_t size = 900;
	mca_btl_base_descriptor_t *made =
		btl_gamma_fragments_prepare(&module->super, NULL, btl_fake_convertor(size, true), 0,
					    16, &size, MCA_BTL_DES_FLAGS_BTL_OWNERSHIP);

	made->des_cbfunc = on_sent;
	callbacks = 0;
	assert_int_equal(
		btl_gamma_send(&module->super, btl_fake_peer(module, true, 2), made, BTL_FAKE_TAG),
		OPAL_SUCCESS);
	assert_int_equal(btl_fake_last(BTL_FAKE_TO_PORT)->flags, FI_COMPLETION);
	assert_int_equal(btl_fake_last(BTL_FAKE_TO_PORT)->iovecs, 2);
	assert_int_equal(btl_fake_last(BTL_FAKE_TO_PORT)->len,
			 sizeof(opal_process_name_t) + 16 + 900);
	btl_fake_complete(btl_fake_last(BTL_FAKE_TO_PORT)->context);
	assert_int_equal(btl_gamma_progress(), 1);
	assert_int_equal(callbacks, 1);
}

static void send__longer_than_a_frame_goes_to_a_buffer(void **state)
{
	struct btl_gamma_module *module = *state;
	struct mca_btl_base_endpoint_t *peer = btl_fake_peer(module, true, 2);
	const size_t fits = BTL_FAKE_FRAME - sizeof(opal_process_name_t);

	btl_gamma_send(&module->super, peer, new_message(module, fits), BTL_FAKE_TAG);
	assert_int_equal(btl_fake_count(BTL_FAKE_TO_PORT), 1);
	btl_gamma_send(&module->super, peer, new_message(module, fits + 1), BTL_FAKE_TAG);
	assert_int_equal(btl_fake_count(BTL_FAKE_TO_PORT), 1);
	assert_int_equal(btl_fake_count(BTL_FAKE_SENT), 1);
	btl_fake_complete(btl_fake_last(BTL_FAKE_TO_PORT)->context);
	btl_fake_complete(btl_fake_last(BTL_FAKE_SENT)->context);
	btl_gamma_progress();
}

static void send__to_a_peer_without_ports_goes_to_a_buffer(void **state)
{
	struct btl_gamma_module *module = *state;
	struct mca_btl_base_endpoint_t *peer = btl_fake_peer(module, true, 2);
	static char header[6] = "header";

	peer->active_max = 0;
	btl_gamma_send(&module->super, peer, new_message(module, 8), BTL_FAKE_TAG);
	assert_int_equal(btl_gamma_send_immediate(&module->super, peer, NULL, header, 6, 0, 0, 0,
						  BTL_FAKE_TAG, NULL),
			 OPAL_SUCCESS);
	assert_int_equal(btl_fake_count(BTL_FAKE_TO_PORT), 0);
	assert_int_equal(btl_fake_count(BTL_FAKE_INJECTED), 2);
}

static void send__without_room_is_queued_and_sent_later(void **state)
{
	struct btl_gamma_module *module = *state;

	btl_fake.results[BTL_FAKE_TO_PORT] = -FI_EAGAIN;
	assert_int_equal(btl_gamma_send(&module->super, btl_fake_peer(module, true, 2),
					new_message(module, 8), BTL_FAKE_TAG),
			 OPAL_SUCCESS);
	assert_int_equal(callbacks, 0);
	btl_fake.results[BTL_FAKE_TO_PORT] = 0;
	assert_int_equal(btl_gamma_progress(), 1);
	assert_int_equal(callbacks, 1);
}

static void send_immediate__goes_to_the_port(void **state)
{
	struct btl_gamma_module *module = *state;
	static char header[6] = "header";
	const struct btl_fake_call *call;

	assert_int_equal(btl_gamma_send_immediate(&module->super, btl_fake_peer(module, true, 2),
						  NULL, header, 6, 0, 0, 0, BTL_FAKE_TAG, NULL),
			 OPAL_SUCCESS);
	call = btl_fake_last(BTL_FAKE_TO_PORT);
	assert_int_equal(call->len, sizeof(opal_process_name_t) + 6);
	assert_memory_equal(call->bytes + sizeof(opal_process_name_t), "header", 6);
}

/* ---- arrivals ---- */

static void arrival__reaches_the_layer_where_it_is(void **state)
{
	(void) state;
	btl_fake_register_layer();
	btl_fake_arrive_at_port(BTL_GAMMA_KIND_MESSAGE, BTL_FAKE_TAG, "hello", 5);
	assert_int_equal(btl_gamma_progress(), 1);
	assert_int_equal(btl_fake_layer.messages, 1);
	assert_int_equal(btl_fake_layer.len, 5);
	assert_memory_equal(btl_fake_layer.bytes, "hello", 5);
	assert_int_equal((uintptr_t) btl_fake_layer.at % 8, 0);
	assert_int_equal(btl_gamma_progress(), 0);
}

static void arrival__for_a_layer_not_ready_is_delivered_later(void **state)
{
	(void) state;
	btl_fake_arrive_at_port(BTL_GAMMA_KIND_MESSAGE, BTL_FAKE_TAG, "early", 5);
	btl_gamma_progress();
	assert_int_equal(btl_fake_layer.messages, 0);
	btl_fake_register_layer();
	assert_int_equal(btl_gamma_progress(), 1);
	assert_memory_equal(btl_fake_layer.bytes, "early", 5);
}

static void arrival__without_a_sender_is_dropped(void **state)
{
	struct btl_gamma_module *module = *state;
	const struct fi_gamma_arrival without = {
		.size = sizeof(without), .data = "short", .len = 5, .arg = BTL_FAKE_TAG};
	const struct fi_gamma_arrival announced = {
		.size = sizeof(announced), .len = 100, .flags = FI_GAMMA_ANNOUNCED};

	btl_fake_register_layer();
	btl_fake.port.handler(module->port->ep, &without, btl_fake.port.context);
	btl_fake.port.handler(module->port->ep, &announced, btl_fake.port.context);
	assert_int_equal(btl_fake_layer.messages, 0);
}

static void arrival__of_a_farewell_marks_its_sender(void **state)
{
	struct mca_btl_base_endpoint_t *peer = btl_fake_peer(*state, false, 5);

	btl_fake_arrive_at_port(BTL_GAMMA_KIND_LEAVING, 0, "", 0);
	btl_gamma_progress();
	assert_true(peer->ended);
}

/* A layer may wait for a completion: its thread may poll, and so may others. */
static void arrival__lets_its_layer_poll(void **state)
{
	struct btl_gamma_module *module = *state;

	btl_fake_register_layer();
	btl_fake_layer.polls = true;
	for (int threads = 0; threads < 2; threads++) {
		opal_set_using_threads(threads);
		btl_gamma_send(&module->super, btl_fake_peer(module, true, 2 + (uint32_t) threads),
			       new_message(module, 500), BTL_FAKE_TAG);
		btl_fake_complete(btl_fake_last(BTL_FAKE_TO_PORT)->context);
		btl_fake_arrive_at_port(BTL_GAMMA_KIND_MESSAGE, BTL_FAKE_TAG, "poll", 4);
		assert_int_equal(btl_gamma_progress(), 1);
		assert_int_equal(btl_fake_layer.polled, 1);
		assert_int_equal(callbacks, 1);
		assert_false(module->port->poller_known);
		assert_int_equal(pthread_mutex_trylock(&module->port->polling), 0);
		pthread_mutex_unlock(&module->port->polling);
	}
	opal_set_using_threads(false);
}

#define TEST(name)   cmocka_unit_test_setup_teardown(name, btl_fake_setup_ports, btl_fake_teardown)
#define CLOSED(name) cmocka_unit_test_setup_teardown(name, btl_fake_setup_closed, btl_fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(open__sets_the_handler),
		CLOSED(open__of_a_provider_without_ports_says_so_and_goes_on),
		CLOSED(open__that_is_not_to_use_ports_sets_none),
		TEST(send__short_is_injected_to_the_port),
		TEST(send__of_a_frame_leaves_from_its_place),
		TEST(send__longer_than_a_frame_goes_to_a_buffer),
		TEST(send__to_a_peer_without_ports_goes_to_a_buffer),
		TEST(send__without_room_is_queued_and_sent_later),
		TEST(send_immediate__goes_to_the_port),
		TEST(arrival__reaches_the_layer_where_it_is),
		TEST(arrival__for_a_layer_not_ready_is_delivered_later),
		TEST(arrival__without_a_sender_is_dropped),
		TEST(arrival__of_a_farewell_marks_its_sender),
		TEST(arrival__lets_its_layer_poll),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
