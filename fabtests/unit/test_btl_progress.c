// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* btl_gamma's progress.c, keepalive.c and report.c: completions, queued operations, dead peers. */
#include "btl_fake.h"

#include <rdma/fi_errno.h>
#include <string.h>

enum { CALLS = 1024 }; /* of progress between two checks for dead peers: keepalive.c */

/* An operation that notes its name when it is started, and when it ends. */
struct op {
	struct btl_gamma_op op;
	char name;
	int result; /* of its start */
	int status; /* that it ended with */
	bool ended;
};

static void note(char name)
{
	const size_t len = strlen(btl_fake.callback_order);

	assert_true(len + 1 < sizeof(btl_fake.callback_order));
	btl_fake.callback_order[len] = name;
}

static int start_op(struct btl_gamma_op *base)
{
	struct op *op = btl_gamma_container(base, struct op, op);

	note(op->name);
	return op->result;
}

static void end_op(struct btl_gamma_op *base, int status)
{
	struct op *op = btl_gamma_container(base, struct op, op);

	note((char) (op->name - 'a' + 'A'));
	op->status = status;
	op->ended = true;
}

static struct op new_op(struct btl_gamma_module *module, struct mca_btl_base_endpoint_t *peer,
			char name, int result)
{
	return (struct op){
		.op = {.module = module, .peer = peer, .start = start_op, .done = end_op},
		.name = name,
		.result = result,
	};
}

/* ---- completions ---- */

static void progress__without_events_returns_0(void **state)
{
	(void) state;
	assert_int_equal(btl_gamma_progress(), 0);
}

static void completion__ends_its_operation(void **state)
{
	struct op op = new_op(*state, NULL, 'a', BTL_GAMMA_STARTED);

	btl_fake_complete(&op.op);
	assert_int_equal(btl_gamma_progress(), 1);
	assert_true(op.ended);
	assert_int_equal(op.status, OPAL_SUCCESS);
}

static void completions__end_in_their_order(void **state)
{
	struct op a = new_op(*state, NULL, 'a', 0), b = new_op(*state, NULL, 'b', 0);

	btl_fake_complete(&b.op);
	btl_fake_complete(&a.op);
	assert_int_equal(btl_gamma_progress(), 2);
	assert_string_equal(btl_fake.callback_order, "BA");
}

static void completions__make_room_before_queued_operations_are_tried(void **state)
{
	struct op a = new_op(*state, NULL, 'a', 0), b = new_op(*state, NULL, 'b', -FI_EAGAIN);

	btl_gamma_progress_start(&b.op);
	b.result = BTL_GAMMA_FINISHED;
	btl_fake_complete(&a.op);
	btl_gamma_progress();
	assert_string_equal(btl_fake.callback_order, "bAbB");
}

/* ---- queued operations ---- */

static void queue__keeps_the_order_of_starts(void **state)
{
	struct op a = new_op(*state, NULL, 'a', -FI_EAGAIN);
	struct op b = new_op(*state, NULL, 'b', BTL_GAMMA_FINISHED);

	assert_int_equal(btl_gamma_progress_start(&a.op), BTL_GAMMA_STARTED);
	assert_int_equal(btl_gamma_progress_start(&b.op), BTL_GAMMA_STARTED);
	a.result = BTL_GAMMA_FINISHED;
	assert_int_equal(btl_gamma_progress(), 2);
	assert_string_equal(btl_fake.callback_order, "aaAbB");
}

static void queue__stops_at_the_first_without_room(void **state)
{
	struct btl_gamma_module *module = *state;
	struct op a = new_op(module, NULL, 'a', -FI_EAGAIN), b = new_op(module, NULL, 'b', 0);

	btl_gamma_progress_start(&a.op);
	btl_gamma_progress_start(&b.op);
	assert_int_equal(btl_gamma_progress(), 0);
	assert_string_equal(btl_fake.callback_order, "aa");
	assert_int_equal(module->waiting.count, 2);
}

static void queue__operation_that_fails_later_reports_its_peer(void **state)
{
	struct mca_btl_base_endpoint_t *peer = btl_fake_peer(*state, true, 3);
	struct op a = new_op(*state, peer, 'a', -FI_EAGAIN);

	btl_gamma_progress_start(&a.op);
	a.result = -FI_ENOMEM;
	btl_gamma_progress();
	assert_int_equal(a.status, OPAL_ERR_UNREACH);
	assert_int_equal(btl_fake.errors, 1);
}

/* ---- errors ---- */

static void error__reports_the_peer_with_the_providers_words(void **state)
{
	struct mca_btl_base_endpoint_t *peer = btl_fake_peer(*state, true, 3);
	struct op a = new_op(*state, peer, 'a', 0);

	btl_fake_fail(&a.op, FI_SEND, FI_ETIMEDOUT, "no answer");
	assert_int_equal(btl_gamma_progress(), 1);
	assert_int_equal(a.status, OPAL_ERR_UNREACH);
	assert_int_equal(btl_fake.errors, 1);
	assert_non_null(strstr(btl_fake.output, "rank 3 on node2"));
	assert_non_null(strstr(btl_fake.output, "no answer"));
	assert_non_null(strstr(btl_fake.output, "btl_gamma_peer_timeout"));
}

static void error__of_the_same_peer_is_reported_once(void **state)
{
	struct mca_btl_base_endpoint_t *peer = btl_fake_peer(*state, true, 3);
	struct op a = new_op(*state, peer, 'a', 0), b = new_op(*state, peer, 'b', 0);

	btl_fake_fail(&a.op, FI_SEND, FI_ETIMEDOUT, NULL);
	btl_gamma_progress();
	btl_fake_fail(&b.op, FI_SEND, FI_ETIMEDOUT, NULL);
	btl_gamma_progress();
	assert_int_equal(b.status, OPAL_ERR_UNREACH);
	assert_int_equal(btl_fake.errors, 1);
}

static void error__of_a_receive_ends_the_job(void **state)
{
	struct btl_gamma_module *module = *state;

	btl_fake_fail(&module->port->buffers[0].op, FI_RECV, FI_EIO, NULL);
	assert_int_equal(btl_gamma_progress(), 1);
	assert_int_equal(btl_fake.errors, 1);
	assert_non_null(strstr(btl_fake.output, "a message could not be received"));
}

/* ---- dead peers ---- */

static void poll_until_check(void)
{
	int i;

	for (i = 0; i < CALLS; i++)
		btl_gamma_progress();
}

static void dead_peer__makes_all_peers_be_probed(void **state)
{
	struct mca_btl_base_endpoint_t *a = btl_fake_peer(*state, true, 2);
	struct mca_btl_base_endpoint_t *b = btl_fake_peer(*state, true, 3);

	btl_fake.dead_peer = true;
	poll_until_check();
	assert_int_equal(btl_fake_count(BTL_FAKE_SENT), 2);
	assert_true(btl_fake_last(BTL_FAKE_SENT)->flags & FI_DELIVERY_COMPLETE);
	assert_true(a->probing && b->probing);
}

static void probe__is_not_repeated_before_its_answer(void **state)
{
	struct mca_btl_base_endpoint_t *peer = btl_fake_peer(*state, true, 2);

	btl_fake.dead_peer = true;
	poll_until_check();
	btl_fake.dead_peer = true;
	poll_until_check();
	assert_int_equal(btl_fake_count(BTL_FAKE_SENT), 1);
	btl_fake_complete(btl_fake_last(BTL_FAKE_SENT)->context);
	btl_gamma_progress();
	assert_false(peer->probing);
	assert_int_equal(btl_fake.errors, 0);
}

static void probe__without_answer_ends_the_job(void **state)
{
	struct mca_btl_base_endpoint_t *peer = btl_fake_peer(*state, true, 2);

	btl_fake.dead_peer = true;
	poll_until_check();
	btl_fake_fail(&peer->probe, FI_SEND, FI_ETIMEDOUT, "no answer");
	btl_gamma_progress();
	assert_int_equal(btl_fake.errors, 1);
	assert_false(peer->probing);
}

/* It may be the first to leave MPI_Finalize. */
static void probe__refused_by_the_own_job_is_an_error_the_second_time(void **state)
{
	struct mca_btl_base_endpoint_t *peer = btl_fake_peer(*state, true, 2);

	peer->probe = (struct btl_gamma_op){.module = *state, .peer = peer};
	assert_true(btl_gamma_keepalive_may_have_ended(&peer->probe, FI_ECONNRESET));
	assert_false(btl_gamma_keepalive_may_have_ended(&peer->probe, FI_ECONNRESET));
	assert_false(btl_gamma_keepalive_may_have_ended(&peer->probe, FI_ETIMEDOUT));
}

static void probe__refused_by_another_job_is_no_error(void **state)
{
	struct mca_btl_base_endpoint_t *peer = btl_fake_peer(*state, false, 2);

	btl_fake.results[BTL_FAKE_SENT] = -FI_ECONNREFUSED;
	btl_fake.dead_peer = true;
	poll_until_check();
	assert_true(peer->ended);
	assert_int_equal(btl_fake.errors, 0);
	btl_fake.dead_peer = true;
	poll_until_check();
	assert_int_equal(btl_fake_count(BTL_FAKE_SENT), 1);
}

static void probe__without_room_is_tried_at_the_next_check(void **state)
{
	btl_fake_peer(*state, true, 2);
	btl_fake.results[BTL_FAKE_SENT] = -FI_EAGAIN;
	btl_fake.dead_peer = true;
	poll_until_check();
	btl_fake.results[BTL_FAKE_SENT] = 0;
	btl_fake.dead_peer = true;
	poll_until_check();
	assert_int_equal(btl_fake_count(BTL_FAKE_SENT), 2);
	assert_int_equal(btl_fake.errors, 0);
}

static void keepalive__0_probes_no_peer(void **state)
{
	btl_fake_peer(*state, true, 2);
	poll_until_check();
	poll_until_check();
	assert_int_equal(btl_fake.call_count, 0);
}

static void leave__says_farewell_to_other_jobs_alone(void **state)
{
	btl_fake_peer(*state, true, 2);
	btl_fake_peer(*state, false, 3);
	btl_gamma_keepalive_leave_all(*state);
	assert_int_equal(btl_fake_count(BTL_FAKE_INJECTED), 1);
	assert_int_equal(btl_fake_last(BTL_FAKE_INJECTED)->len, sizeof(struct btl_gamma_header));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, btl_fake_setup, btl_fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(progress__without_events_returns_0),
		TEST(completion__ends_its_operation),
		TEST(completions__end_in_their_order),
		TEST(completions__make_room_before_queued_operations_are_tried),
		TEST(queue__keeps_the_order_of_starts),
		TEST(queue__stops_at_the_first_without_room),
		TEST(queue__operation_that_fails_later_reports_its_peer),
		TEST(error__reports_the_peer_with_the_providers_words),
		TEST(error__of_the_same_peer_is_reported_once),
		TEST(error__of_a_receive_ends_the_job),
		TEST(dead_peer__makes_all_peers_be_probed),
		TEST(probe__is_not_repeated_before_its_answer),
		TEST(probe__without_answer_ends_the_job),
		TEST(probe__refused_by_the_own_job_is_an_error_the_second_time),
		TEST(probe__refused_by_another_job_is_no_error),
		TEST(probe__without_room_is_tried_at_the_next_check),
		TEST(keepalive__0_probes_no_peer),
		TEST(leave__says_farewell_to_other_jobs_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
