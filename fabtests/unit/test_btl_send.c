// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* btl_gamma's fragments.c and send.c: messages on their way out. */
#include "btl_fake.h"

#include <rdma/fi_errno.h>
#include <string.h>

/* What the layer above has heard of its descriptor. */
static struct {
	unsigned int calls;
	int status;
} sent;

static void on_sent(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *peer,
		    mca_btl_base_descriptor_t *descriptor, int status)
{
	(void) btl, (void) peer, (void) descriptor;
	sent.calls++;
	sent.status = status;
}

static mca_btl_base_descriptor_t *new_message(struct btl_gamma_module *module, size_t len,
					      uint32_t flags)
{
	mca_btl_base_descriptor_t *descriptor =
		btl_gamma_fragments_alloc(&module->super, NULL, 0, len, flags);

	assert_non_null(descriptor);
	memset(descriptor->des_segments[0].seg_addr.pval, 'x', len);
	descriptor->des_cbfunc = on_sent;
	memset(&sent, 0, sizeof(sent));
	return descriptor;
}

static int send_message(struct btl_gamma_module *module, struct mca_btl_base_endpoint_t *peer,
			mca_btl_base_descriptor_t *descriptor)
{
	return btl_gamma_send(&module->super, peer, descriptor, BTL_FAKE_TAG);
}

static const uint32_t owned = MCA_BTL_DES_FLAGS_BTL_OWNERSHIP;
static const uint32_t called_back =
	MCA_BTL_DES_FLAGS_BTL_OWNERSHIP | MCA_BTL_DES_SEND_ALWAYS_CALLBACK;

/* ---- fragments ---- */

static void alloc__beyond_max_send_size_fails(void **state)
{
	struct btl_gamma_module *module = *state;

	assert_null(btl_gamma_fragments_alloc(&module->super, NULL, 0, BTL_FAKE_SEND + 1, 0));
}

static void free__keeps_the_memory_for_the_next_of_its_size(void **state)
{
	struct btl_gamma_module *module = *state;
	mca_btl_base_descriptor_t *first = new_message(module, 8, 0);

	btl_gamma_fragments_free(&module->super, first);
	assert_ptr_equal(new_message(module, 16, 0), first);
	btl_gamma_fragments_free(&module->super, first);
}

static void prepare__short_data_are_packed_behind_the_header(void **state)
{
	struct btl_gamma_module *module = *state;
	size_t size = 32;
	mca_btl_base_descriptor_t *made;

	memset(btl_fake.data, 'd', size);
	made = btl_gamma_fragments_prepare(&module->super, NULL, btl_fake_convertor(size, true), 0,
					   16, &size, 0);
	assert_non_null(made);
	assert_int_equal(made->des_segment_count, 1);
	assert_int_equal(made->des_segments[0].seg_len, 48);
	assert_memory_equal((char *) made->des_segments[0].seg_addr.pval + 16, btl_fake.data, 32);
	btl_gamma_fragments_free(&module->super, made);
}

static void prepare__long_contiguous_data_stay_in_place(void **state)
{
	struct btl_gamma_module *module = *state;
	size_t size = 2000;
	mca_btl_base_descriptor_t *made = btl_gamma_fragments_prepare(
		&module->super, NULL, btl_fake_convertor(size, true), 0, 16, &size, 0);

	assert_non_null(made);
	assert_int_equal(made->des_segment_count, 2);
	assert_ptr_equal(made->des_segments[1].seg_addr.pval, btl_fake.data);
	assert_int_equal(made->des_segments[1].seg_len, 2000);
	btl_gamma_fragments_free(&module->super, made);
}

static void prepare__data_with_gaps_are_packed(void **state)
{
	struct btl_gamma_module *module = *state;
	size_t size = 2000;
	mca_btl_base_descriptor_t *made = btl_gamma_fragments_prepare(
		&module->super, NULL, btl_fake_convertor(size, false), 0, 16, &size, 0);

	assert_non_null(made);
	assert_int_equal(made->des_segment_count, 1);
	btl_gamma_fragments_free(&module->super, made);
}

static void prepare__more_than_max_send_size_is_shortened(void **state)
{
	struct btl_gamma_module *module = *state;
	size_t size = 2 * BTL_FAKE_SEND;
	mca_btl_base_descriptor_t *made = btl_gamma_fragments_prepare(
		&module->super, NULL, btl_fake_convertor(size, true), 0, 16, &size, 0);

	assert_non_null(made);
	assert_int_equal(size, BTL_FAKE_SEND - 16);
	btl_gamma_fragments_free(&module->super, made);
}

static void prepare__failed_packing_frees_the_fragment(void **state)
{
	struct btl_gamma_module *module = *state;
	size_t size = 32, large = 2000;

	btl_fake.pack_result = -1;
	assert_null(btl_gamma_fragments_prepare(&module->super, NULL, btl_fake_convertor(32, true),
						0, 16, &size, 0));
	assert_null(btl_gamma_fragments_prepare(&module->super, NULL,
						btl_fake_convertor(2000, true), 0, 16, &large, 0));
	assert_non_null(module->pools[BTL_GAMMA_POOL_SHORT].free);
}

/* ---- send ---- */

static void send__that_fits_is_injected_and_finished_at_once(void **state)
{
	struct btl_gamma_module *module = *state;
	struct mca_btl_base_endpoint_t *peer = btl_fake_peer(module, true, 2);
	const struct btl_fake_call *call;
	struct btl_gamma_header header;

	assert_int_equal(send_message(module, peer, new_message(module, 8, called_back)), 1);
	assert_int_equal(sent.calls, 1);
	assert_int_equal(sent.status, OPAL_SUCCESS);
	call = btl_fake_last(BTL_FAKE_INJECTED);
	assert_non_null(call);
	assert_int_equal(call->len, sizeof(header) + 8);
	memcpy(&header, call->bytes, sizeof(header));
	assert_int_equal(header.tag, BTL_FAKE_TAG);
	assert_int_equal(header.kind, BTL_GAMMA_KIND_MESSAGE);
	assert_memory_equal(call->bytes + sizeof(header), "xxxxxxxx", 8);
}

static void send__finished_at_once_calls_back_only_if_asked(void **state)
{
	struct btl_gamma_module *module = *state;

	send_message(module, btl_fake_peer(module, true, 2), new_message(module, 8, owned));
	assert_int_equal(sent.calls, 0);
}

static void send__too_long_to_inject_finishes_with_its_completion(void **state)
{
	struct btl_gamma_module *module = *state;
	struct mca_btl_base_endpoint_t *peer = btl_fake_peer(module, true, 2);
	mca_btl_base_descriptor_t *message = new_message(module, 500, owned);

	assert_int_equal(send_message(module, peer, message), OPAL_SUCCESS);
	assert_int_equal(sent.calls, 0);
	assert_true(btl_fake_last(BTL_FAKE_SENT)->flags & FI_COMPLETION);
	btl_fake_complete(btl_fake_last(BTL_FAKE_SENT)->context);
	assert_int_equal(btl_gamma_progress(), 1);
	assert_int_equal(sent.calls, 1);
	assert_int_equal(sent.status, OPAL_SUCCESS);
}

static void send__in_place_is_one_message_of_two_iovecs(void **state)
{
	struct btl_gamma_module *module = *state;
	size_t size = 2000;
	mca_btl_base_descriptor_t *made = btl_gamma_fragments_prepare(
		&module->super, NULL, btl_fake_convertor(size, true), 0, 16, &size, owned);

	send_message(module, btl_fake_peer(module, true, 2), made);
	assert_int_equal(btl_fake_last(BTL_FAKE_SENT)->iovecs, 2);
	assert_int_equal(btl_fake_last(BTL_FAKE_SENT)->len,
			 sizeof(struct btl_gamma_header) + 16 + 2000);
	btl_fake_complete(btl_fake_last(BTL_FAKE_SENT)->context);
	btl_gamma_progress();
}

static void send__without_room_is_queued_and_sent_later(void **state)
{
	struct btl_gamma_module *module = *state;
	struct mca_btl_base_endpoint_t *peer = btl_fake_peer(module, true, 2);

	btl_fake.results[BTL_FAKE_INJECTED] = -FI_EAGAIN;
	assert_int_equal(send_message(module, peer, new_message(module, 8, owned)), OPAL_SUCCESS);
	assert_true(btl_gamma_any_waiting(module));
	assert_int_equal(sent.calls, 0);
	btl_fake.results[BTL_FAKE_INJECTED] = 0;
	assert_int_equal(btl_gamma_progress(), 1);
	assert_false(btl_gamma_any_waiting(module));
	/* OPAL_SUCCESS has promised the callback. */
	assert_int_equal(sent.calls, 1);
}

static void send__behind_a_queued_one_does_not_overtake(void **state)
{
	struct btl_gamma_module *module = *state;
	struct mca_btl_base_endpoint_t *peer = btl_fake_peer(module, true, 2);

	btl_fake.results[BTL_FAKE_SENT] = -FI_EAGAIN;
	send_message(module, peer, new_message(module, 500, owned));
	assert_int_equal(send_message(module, peer, new_message(module, 8, owned)), OPAL_SUCCESS);
	assert_int_equal(btl_fake_count(BTL_FAKE_INJECTED), 0);
	btl_fake.results[BTL_FAKE_SENT] = 0;
	assert_int_equal(btl_gamma_progress(), 2);
	assert_int_equal(btl_fake.calls[1].kind, BTL_FAKE_SENT);
	assert_int_equal(btl_fake.calls[2].kind, BTL_FAKE_INJECTED);
	btl_fake_complete(btl_fake.calls[1].context);
	btl_gamma_progress();
}

static void send__refused_reports_the_peer_once_with_a_cure(void **state)
{
	struct btl_gamma_module *module = *state;
	struct mca_btl_base_endpoint_t *peer = btl_fake_peer(module, true, 2);
	mca_btl_base_descriptor_t *message = new_message(module, 8, 0);

	btl_fake.results[BTL_FAKE_INJECTED] = -FI_ECONNRESET;
	assert_int_equal(send_message(module, peer, message), OPAL_ERR_UNREACH);
	assert_int_equal(send_message(module, peer, message), OPAL_ERR_UNREACH);
	assert_int_equal(btl_fake.errors, 1);
	assert_int_equal(btl_fake.error_flags, MCA_BTL_ERROR_FLAGS_FATAL);
	assert_non_null(strstr(btl_fake.output, "rank 2 on node2 cannot be reached"));
	assert_non_null(strstr(btl_fake.output, "The process there has ended"));
	assert_int_equal(sent.calls, 0);
	/* The caller has it back as it was. */
	assert_int_equal(message->des_flags, 0);
	btl_gamma_fragments_free(&module->super, message);
}

/* ---- send immediate ---- */

static int send_header(struct btl_gamma_module *module, struct mca_btl_base_endpoint_t *peer,
		       size_t len, mca_btl_base_descriptor_t **descriptor)
{
	static char header[BTL_FAKE_INJECT] = "header";

	return btl_gamma_send_immediate(&module->super, peer, NULL, header, len, 0, 0, 0,
					BTL_FAKE_TAG, descriptor);
}

static void send_immediate__that_fits_is_injected(void **state)
{
	struct btl_gamma_module *module = *state;
	const struct btl_fake_call *call;

	assert_int_equal(send_header(module, btl_fake_peer(module, true, 2), 6, NULL),
			 OPAL_SUCCESS);
	call = btl_fake_last(BTL_FAKE_INJECTED);
	assert_int_equal(call->len, sizeof(struct btl_gamma_header) + 6);
	assert_memory_equal(call->bytes + sizeof(struct btl_gamma_header), "header", 6);
}

static void send_immediate__too_long_gives_a_descriptor(void **state)
{
	struct btl_gamma_module *module = *state;
	mca_btl_base_descriptor_t *descriptor = NULL;

	assert_int_equal(
		send_header(module, btl_fake_peer(module, true, 2), BTL_FAKE_INJECT, &descriptor),
		OPAL_ERR_RESOURCE_BUSY);
	assert_non_null(descriptor);
	assert_int_equal(btl_fake.call_count, 0);
	btl_gamma_fragments_free(&module->super, descriptor);
}

static void send_immediate__does_not_overtake_queued_ones(void **state)
{
	struct btl_gamma_module *module = *state;
	struct mca_btl_base_endpoint_t *peer = btl_fake_peer(module, true, 2);

	btl_fake.results[BTL_FAKE_INJECTED] = -FI_EAGAIN;
	send_message(module, peer, new_message(module, 8, owned));
	btl_fake.results[BTL_FAKE_INJECTED] = 0;
	assert_int_equal(send_header(module, peer, 6, NULL), OPAL_ERR_RESOURCE_BUSY);
	assert_int_equal(btl_fake_count(BTL_FAKE_INJECTED), 1);
	btl_gamma_progress();
}

static void send_immediate__without_room_is_the_callers_again(void **state)
{
	struct btl_gamma_module *module = *state;

	btl_fake.results[BTL_FAKE_INJECTED] = -FI_EAGAIN;
	assert_int_equal(send_header(module, btl_fake_peer(module, true, 2), 6, NULL),
			 OPAL_ERR_RESOURCE_BUSY);
	assert_false(btl_gamma_any_waiting(module));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, btl_fake_setup, btl_fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(alloc__beyond_max_send_size_fails),
		TEST(free__keeps_the_memory_for_the_next_of_its_size),
		TEST(prepare__short_data_are_packed_behind_the_header),
		TEST(prepare__long_contiguous_data_stay_in_place),
		TEST(prepare__data_with_gaps_are_packed),
		TEST(prepare__more_than_max_send_size_is_shortened),
		TEST(prepare__failed_packing_frees_the_fragment),
		TEST(send__that_fits_is_injected_and_finished_at_once),
		TEST(send__finished_at_once_calls_back_only_if_asked),
		TEST(send__too_long_to_inject_finishes_with_its_completion),
		TEST(send__in_place_is_one_message_of_two_iovecs),
		TEST(send__without_room_is_queued_and_sent_later),
		TEST(send__behind_a_queued_one_does_not_overtake),
		TEST(send__refused_reports_the_peer_once_with_a_cure),
		TEST(send_immediate__that_fits_is_injected),
		TEST(send_immediate__too_long_gives_a_descriptor),
		TEST(send_immediate__does_not_overtake_queued_ones),
		TEST(send_immediate__without_room_is_the_callers_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
