// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* gammad/group_interfaces.c: each user's groups are on an interface of that user. */
#include "gammad_fake.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct gamma_broker_group group_of(const struct gammad_open *open, uint16_t port,
					  bool receives)
{
	struct gamma_broker_group ask = {
		.port = ntohs(open->record.port),
		.group = {3, 0, 0, 0, 0, 1},
		.group_port = port,
		.receives = receives,
	};

	gamma_broker_message_init_header(&ask.header, GAMMA_BROKER_JOIN, sizeof(ask),
					 GAMMA_BROKER_OK);
	memcpy(ask.mac, open->record.mac, GAMMA_MAC_LEN);
	return ask;
}

/* As clients.c does it; the thread has not run yet. */
static struct gammad_job begin(const struct gammad_open *open, uint16_t port, bool receives)
{
	struct gammad_job job = {.request.group = group_of(open, port, receives), .fd = -1};

	assert_int_equal(gammad_groups_begin_join(&gammad_fake.gammad, open->client,
						  &job.request.group, &job),
			 GAMMA_BROKER_OK);
	return job;
}

static void work(struct gammad_job *job)
{
	if (job->makes_interface)
		job->interface = gammad_fake.make_errno
					 ? -gammad_fake.make_errno
					 : GAMMAD_FAKE_PAIRS + (int) job->own->number;
	gammad_fake.made += job->makes_interface;
	if (job->request.group.receives)
		job->fd = gammad_fake_socket();
}

static enum gamma_broker_reason end(const struct gammad_open *open, struct gammad_job *job)
{
	struct gamma_broker_joined joined = {0};
	enum gamma_broker_reason reason =
		gammad_groups_end_join(&gammad_fake.gammad, open->client, job, &joined);

	gammad_group_interfaces_finish(job);
	if (job->fd >= 0)
		close(job->fd);
	return reason;
}

static void join(const struct gammad_open *open, uint16_t port, bool receives)
{
	struct gammad_job job = begin(open, port, receives);

	work(&job);
	assert_int_equal(end(open, &job), GAMMA_BROKER_OK);
}

static int interface_of(const struct gammad_open *open)
{
	return (int) gamma_list_first(&open->members, struct gammad_membership, entry)
		->record.ifindex;
}

static void close_all_sockets(void)
{
	memset(gammad_fake.inodes, 0, sizeof(gammad_fake.inodes));
}

static struct gammad_open *open_endpoint(uid_t uid, uint16_t port)
{
	gammad_fake.gammad.conf.multicast = 64;
	return gammad_fake_open(uid, port);
}

/* ---- who may ---- */

static enum gamma_broker_reason try_begin(const struct gammad_open *open, uint16_t port)
{
	struct gammad_job job = {.request.group = group_of(open, port, true), .fd = -1};
	enum gamma_broker_reason reason = gammad_groups_begin_join(
		&gammad_fake.gammad, open->client, &job.request.group, &job);

	gammad_group_interfaces_finish(&job);
	return reason;
}

static void join__by_a_revoked_endpoint_is_refused(void **state)
{
	const struct gammad_open *open = open_endpoint(GAMMAD_FAKE_USER, 1);
	struct gammad_job job = begin(open, 7, true);

	gammad_open_revoke(*state, GAMMAD_FAKE_USER);
	work(&job);
	assert_int_equal(end(open, &job), GAMMA_BROKER_REVOKED);
	assert_int_equal(try_begin(open, 8), GAMMA_BROKER_REVOKED);
	assert_int_equal(open->member_count, 0);
}

/* Each that is under way has its ring already. */
static void join__beyond_the_limit_waits_for_no_socket(void **state)
{
	struct gammad *gammad = *state;
	const struct gammad_open *open = open_endpoint(GAMMAD_FAKE_USER, 1);
	struct gammad_job jobs[GAMMAD_WORKERS + 1];

	gammad->conf.multicast = 1;
	for (unsigned i = 0; i < gamma_array_size(jobs); i++) {
		jobs[i] = begin(open, (uint16_t) (7 + i), true);
		gammad_fake_client(GAMMAD_FAKE_USER)->job = &jobs[i];
	}
	assert_int_equal(try_begin(open, 100), GAMMA_BROKER_MEMBERSHIPS);
	for (unsigned i = 0; i < gamma_array_size(jobs); i++) {
		work(&jobs[i]);
		assert_int_equal(end(open, &jobs[i]),
				 i ? GAMMA_BROKER_MEMBERSHIPS : GAMMA_BROKER_OK);
	}
}

/* ---- who has one ---- */

static void join__makes_an_interface_of_the_user(void **state)
{
	const struct gammad_open *open = open_endpoint(GAMMAD_FAKE_USER, 1);

	join(open, 7, true);
	assert_int_equal(interface_of(open), GAMMAD_FAKE_PAIRS);
	assert_int_equal(gammad_fake.bound_ifindex, GAMMAD_FAKE_PAIRS);
	assert_int_equal(gammad_fake.member_ifindex, GAMMAD_FAKE_GROUPS);
	assert_int_equal(gammad_fake.led, 1);
	assert_int_equal(gammad_fake.led_to, GAMMAD_FAKE_PAIRS);
	assert_int_equal(gammad_group_interfaces_count(*state, open->nic), 1);
}

static void join__again_shares_it(void **state)
{
	const struct gammad_open *open = open_endpoint(GAMMAD_FAKE_USER, 1);
	const struct gammad_open *second = open_endpoint(GAMMAD_FAKE_USER, 2);

	join(open, 7, true);
	join(open, 8, true);
	join(second, 7, true);
	assert_int_equal(interface_of(second), GAMMAD_FAKE_PAIRS);
	assert_int_equal(gammad_fake.made, 1);
	assert_int_equal(gammad_group_interfaces_count(*state, open->nic), 1);
}

static void join__of_another_user_makes_another(void **state)
{
	const struct gammad_open *open = open_endpoint(GAMMAD_FAKE_USER, 1);
	const struct gammad_open *other = open_endpoint(GAMMAD_FAKE_OTHER, 2);
	struct gammad_job job;

	join(open, 7, true);
	job = begin(other, 7, true);
	assert_true(job.makes_interface);
	job.interface = GAMMAD_FAKE_PAIRS + 9;
	job.fd = gammad_fake_socket();
	assert_int_equal(end(other, &job), GAMMA_BROKER_OK);
	assert_int_equal(interface_of(other), GAMMAD_FAKE_PAIRS + 9);
	assert_int_equal(interface_of(open), GAMMAD_FAKE_PAIRS);
	assert_int_equal(gammad_fake.led, 2);
	assert_int_equal(gammad_group_interfaces_count(*state, open->nic), 2);
}

/* Its frames to members of the host go there. */
static void join__to_send_only_makes_one(void **state)
{
	const struct gammad_open *open = open_endpoint(GAMMAD_FAKE_USER, 1);

	(void) state;
	join(open, 7, false);
	assert_int_equal(interface_of(open), GAMMAD_FAKE_PAIRS);
	assert_int_equal(gammad_fake.bound_ifindex, 100);
}

static void join__twice_at_a_time_makes_one(void **state)
{
	const struct gammad_open *open = open_endpoint(GAMMAD_FAKE_USER, 1);
	struct gammad_job first = begin(open, 7, true), second = begin(open, 8, true);

	(void) state;
	assert_ptr_equal(first.own, second.own);
	work(&second);
	work(&first);
	assert_int_equal(end(open, &second), GAMMA_BROKER_OK);
	assert_int_equal(end(open, &first), GAMMA_BROKER_OK);
	assert_int_equal(gammad_fake.bound_ifindex, GAMMAD_FAKE_PAIRS);
	assert_int_equal(gammad_fake.led, 1);
}

/* ---- without ---- */

static void join__without_an_interface_is_on_the_nics(void **state)
{
	const struct gammad_open *open = open_endpoint(GAMMAD_FAKE_USER, 1);
	struct gammad_job job;

	(void) state;
	gammad_fake.make_errno = EOPNOTSUPP;
	join(open, 7, true);
	assert_int_equal(interface_of(open), GAMMAD_FAKE_GROUPS);
	assert_non_null(strstr(gammad_fake.log, "CONFIG_VETH"));
	assert_int_equal(gammad_fake.led, 0);
	/* All of the user's are, then: frames are led to one interface. */
	gammad_fake.make_errno = 0;
	job = begin(open, 8, true);
	assert_false(job.makes_interface);
	work(&job);
	assert_int_equal(end(open, &job), GAMMA_BROKER_OK);
	assert_int_equal(gammad_fake.bound_ifindex, GAMMAD_FAKE_GROUPS);
	assert_int_equal(gammad_fake.led, 0);
}

static void join__with_its_name_taken_says_so(void **state)
{
	const struct gammad_open *open = open_endpoint(GAMMAD_FAKE_USER, 1);

	(void) state;
	gammad_fake.make_errno = EEXIST;
	join(open, 7, true);
	assert_int_equal(interface_of(open), GAMMAD_FAKE_GROUPS);
	assert_non_null(strstr(gammad_fake.log, "/run/gammad/net"));
	/* Once. */
	gammad_fake.log[0] = 0;
	join(open_endpoint(GAMMAD_FAKE_OTHER, 2), 7, true);
	assert_string_equal(gammad_fake.log, "");
}

/* The first one began when all of the user's were on the NIC's interface. */
static void join__that_ends_after_a_later_one_shares_its_interface(void **state)
{
	struct gammad_open *open = open_endpoint(GAMMAD_FAKE_USER, 1);
	struct gamma_broker_group ask = group_of(open, 7, false);
	struct gammad_job first;

	gammad_fake.make_errno = ENOMEM;
	join(open, 7, false);
	first = begin(open, 8, true);
	assert_null(first.own);
	assert_int_equal(gammad_groups_leave(*state, open->client, &ask), GAMMA_BROKER_OK);
	gammad_fake.make_errno = 0;
	join(open, 9, true);
	work(&first);
	assert_int_equal(end(open, &first), GAMMA_BROKER_OK);
	assert_int_equal(gammad_fake.bound_ifindex, GAMMAD_FAKE_PAIRS);
	assert_int_equal(gammad_fake.led, 1);
}

/* ... and the later one's interface is not made yet. */
static void join__that_ends_before_a_later_one_keeps_both_on_the_nics(void **state)
{
	struct gammad_open *open = open_endpoint(GAMMAD_FAKE_USER, 1);
	struct gamma_broker_group ask = group_of(open, 7, false);
	struct gammad_job first, second;

	gammad_fake.make_errno = ENOMEM;
	join(open, 7, false);
	first = begin(open, 8, true);
	assert_int_equal(gammad_groups_leave(*state, open->client, &ask), GAMMA_BROKER_OK);
	gammad_fake.make_errno = 0;
	second = begin(open, 9, true);
	work(&first);
	work(&second);
	assert_int_equal(end(open, &first), GAMMA_BROKER_OK);
	assert_int_equal(end(open, &second), GAMMA_BROKER_OK);
	assert_int_equal(gammad_fake.bound_ifindex, GAMMAD_FAKE_GROUPS);
	assert_int_equal(gammad_fake.led, 0);
}

/* ---- their end ---- */

static void sweep__removes_it_some_time_after_the_last_membership(void **state)
{
	const struct gammad_open *open = open_endpoint(GAMMAD_FAKE_USER, 1);
	const struct gammad_nic *nic = open->nic;
	struct gammad *gammad = *state;
	uint64_t now;

	join(open, 7, true);
	assert_false(gammad_group_interfaces_need_sweep(gammad));
	close_all_sockets();
	gammad_open_sweep(gammad);
	assert_true(gammad_group_interfaces_need_sweep(gammad));
	now = gammad->swept_ms;
	gammad_group_interfaces_sweep(gammad, now + GAMMAD_GROUP_KEEP_MS - 1);
	assert_int_equal(gammad_group_interfaces_count(gammad, nic), 1);
	gammad_group_interfaces_sweep(gammad, now + GAMMAD_GROUP_KEEP_MS);
	assert_int_equal(gammad_group_interfaces_count(gammad, nic), 0);
	assert_int_equal(gammad_fake.led, 0);
	gammad_fake_work();
	assert_int_equal(gammad_fake.removed, GAMMAD_FAKE_PAIRS);
	assert_false(gammad_group_interfaces_need_sweep(gammad));
}

static void sweep__keeps_what_is_joined_again_and_again(void **state)
{
	const struct gammad_open *open = open_endpoint(GAMMAD_FAKE_USER, 1);
	struct gammad *gammad = *state;
	struct gamma_broker_group ask = group_of(open, 7, false);

	for (uint64_t now = 1; now < 10 * GAMMAD_GROUP_KEEP_MS; now += GAMMAD_GROUP_KEEP_MS / 2) {
		join(open, 7, false);
		gammad_group_interfaces_sweep(gammad, now);
		assert_int_equal(gammad_groups_leave(gammad, open->client, &ask), GAMMA_BROKER_OK);
		gammad_group_interfaces_sweep(gammad, now + 1);
	}
	assert_int_equal(gammad_fake.made, 1);
	assert_int_equal(gammad_fake.removed, 0);
}

/* The kernel still has one of that name. */
static void sweep__keeps_the_number_until_it_is_removed(void **state)
{
	const struct gammad_open *open = open_endpoint(GAMMAD_FAKE_USER, 1);
	struct gammad *gammad = *state;
	struct gamma_broker_group ask = group_of(open, 7, false);
	struct gammad_job job;

	join(open, 7, false);
	gammad_groups_leave(gammad, open->client, &ask);
	gammad_group_interfaces_sweep(gammad, 1);
	gammad_group_interfaces_sweep(gammad, 1 + GAMMAD_GROUP_KEEP_MS);
	job = begin(open, 7, false);
	assert_int_equal(job.own->number, 1);
	work(&job);
	assert_int_equal(end(open, &job), GAMMA_BROKER_OK);
	gammad_fake_work();
	assert_int_equal(gammad_fake.removed, GAMMAD_FAKE_PAIRS);
	assert_int_equal(interface_of(open), GAMMAD_FAKE_PAIRS + 1);
	assert_int_equal(gammad_fake.led, 1);
}

static void finish__without_the_client_keeps_it_for_a_while(void **state)
{
	const struct gammad_open *open = open_endpoint(GAMMAD_FAKE_USER, 1);
	struct gammad *gammad = *state;
	struct gammad_job job = begin(open, 7, true);

	gammad_group_interfaces_sweep(gammad, 1);
	gammad_group_interfaces_sweep(gammad, 1 + GAMMAD_GROUP_KEEP_MS);
	assert_int_equal(gammad_group_interfaces_count(gammad, open->nic), 1);
	work(&job);
	gammad_group_interfaces_finish(&job);
	close(job.fd);
	assert_int_equal(job.own->ifindex, GAMMAD_FAKE_PAIRS);
	assert_int_equal(gammad_fake.led, 0);
	job = begin(open, 7, true);
	assert_false(job.makes_interface);
	work(&job);
	assert_int_equal(end(open, &job), GAMMA_BROKER_OK);
	assert_int_equal(gammad_fake.led_to, GAMMAD_FAKE_PAIRS);
}

static void lose_nic__leads_nothing_any_more(void **state)
{
	const struct gammad_open *open = open_endpoint(GAMMAD_FAKE_USER, 1);
	struct gammad *gammad = *state;
	const struct gammad_nic *nic = open->nic;

	join(open, 7, true);
	gammad_open_lose_nic(gammad, nic);
	assert_int_equal(gammad_fake.led, 0);
	assert_int_equal(gammad_group_interfaces_count(gammad, nic), 0);
	/* It may come back; then the user gets another one. */
	gammad->nics[0].slots[0].opens = 0;
	open = open_endpoint(GAMMAD_FAKE_USER, 2);
	join(open, 7, true);
	assert_int_equal(interface_of(open), GAMMAD_FAKE_PAIRS + 1);
}

#undef TEST
#define TEST(name) cmocka_unit_test_setup_teardown(name, gammad_fake_setup, gammad_fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(join__by_a_revoked_endpoint_is_refused),
		TEST(join__beyond_the_limit_waits_for_no_socket),
		TEST(join__makes_an_interface_of_the_user),
		TEST(join__again_shares_it),
		TEST(join__of_another_user_makes_another),
		TEST(join__to_send_only_makes_one),
		TEST(join__twice_at_a_time_makes_one),
		TEST(join__without_an_interface_is_on_the_nics),
		TEST(join__with_its_name_taken_says_so),
		TEST(join__that_ends_after_a_later_one_shares_its_interface),
		TEST(join__that_ends_before_a_later_one_keeps_both_on_the_nics),
		TEST(sweep__removes_it_some_time_after_the_last_membership),
		TEST(sweep__keeps_what_is_joined_again_and_again),
		TEST(sweep__keeps_the_number_until_it_is_removed),
		TEST(finish__without_the_client_keeps_it_for_a_while),
		TEST(lose_nic__leads_nothing_any_more),
	};

	return cmocka_run_group_tests_name("gammad_group_interfaces", tests, NULL, NULL);
}
