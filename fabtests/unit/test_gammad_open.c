// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* gammad/open.c: who may have an endpoint, what becomes of its sockets, when it is gone. */
#include "gammad_fake.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static enum gamma_broker_reason begin_open(struct gammad *gammad, struct gammad_client *client)
{
	const struct gamma_broker_open ask = gammad_fake_request(0);
	struct tpacket_req ring;

	return gammad_open_begin(gammad, client, &ask, &ring);
}

/* As a worker's socket comes back; socket: or a negative errno. */
static enum gamma_broker_reason end_open(struct gammad_client *client, int socket,
					 const uint8_t *beside, struct gamma_broker_opened *opened)
{
	struct gammad_job job = {.client = client, .fd = socket};
	int fds[GAMMA_BROKER_FDS];
	enum gamma_broker_reason reason;

	job.request.open = gammad_fake_request(0);
	if (beside)
		memcpy(job.request.open.beside, beside, GAMMA_MAC_LEN);
	reason = gammad_open_end(&gammad_fake.gammad, client, &job, opened, fds);
	if (socket >= 0)
		close(socket);
	if (!reason)
		close(fds[1]);
	return reason;
}

static enum gamma_broker_reason try_open(uid_t uid, const uint8_t *beside)
{
	struct gamma_broker_opened opened;

	return end_open(gammad_fake_client(uid), gammad_fake_socket(), beside, &opened);
}

static void assert_nothing_left(const struct gammad *gammad)
{
	assert_true(gamma_list_empty(&gammad->opens));
	assert_int_equal(gammad_fake.slots[0].opens, 0);
}

/* ---- who may ---- */

static void begin__for_an_entitled_user_is_ok(void **state)
{
	assert_int_equal(begin_open(*state, gammad_fake_client(GAMMAD_FAKE_USER)), GAMMA_BROKER_OK);
}

static void begin__for_an_unknown_nic_is_refused(void **state)
{
	struct gamma_broker_open ask = gammad_fake_request(0);
	struct tpacket_req ring;

	ask.mac[0] ^= 4;
	assert_int_equal(
		gammad_open_begin(*state, gammad_fake_client(GAMMAD_FAKE_USER), &ask, &ring),
		GAMMA_BROKER_NO_NIC);
}

static void begin__for_another_ethertype_is_refused(void **state)
{
	struct gamma_broker_open ask = gammad_fake_request(0);
	struct tpacket_req ring;

	ask.ethertype++;
	assert_int_equal(
		gammad_open_begin(*state, gammad_fake_client(GAMMAD_FAKE_USER), &ask, &ring),
		GAMMA_BROKER_ETHERTYPE);
}

static void begin__outside_the_groups_is_refused(void **state)
{
	struct gammad *gammad = *state;
	struct gammad_client *client = gammad_fake_client(GAMMAD_FAKE_USER);

	gammad->conf.group_count = 1;
	gammad->conf.groups[0] = GAMMAD_FAKE_GROUP + 1;
	assert_int_equal(begin_open(gammad, client), GAMMA_BROKER_NO_GROUP);
}

static void begin__looks_at_the_groups_of_a_reload(void **state)
{
	struct gammad *gammad = *state;
	struct gammad_client *client = gammad_fake_client(GAMMAD_FAKE_USER);

	gammad->conf.group_count = 1;
	gammad->conf.groups[0] = GAMMAD_FAKE_GROUP;
	assert_int_equal(begin_open(gammad, client), GAMMA_BROKER_OK);
	gammad->conf.groups[0]++;
	assert_int_equal(begin_open(gammad, client), GAMMA_BROKER_NO_GROUP);
}

static void begin__of_a_revoked_user_is_refused(void **state)
{
	struct gammad *gammad = *state;

	assert_int_equal(gammad_revoked_add(&gammad->revoked, GAMMAD_FAKE_USER), 0);
	assert_int_equal(begin_open(gammad, gammad_fake_client(GAMMAD_FAKE_USER)),
			 GAMMA_BROKER_REVOKED);
	assert_int_equal(begin_open(gammad, gammad_fake_client(GAMMAD_FAKE_OTHER)),
			 GAMMA_BROKER_OK);
	assert_true(gammad_revoked_remove(&gammad->revoked, GAMMAD_FAKE_USER));
	assert_int_equal(begin_open(gammad, gammad_fake_client(GAMMAD_FAKE_USER)), GAMMA_BROKER_OK);
}

static void begin__for_a_user_with_limit_0_is_refused(void **state)
{
	struct gammad *gammad = *state;

	gammad->conf.uid_count = 1;
	gammad->conf.uids[0].uid = GAMMAD_FAKE_USER;
	assert_int_equal(begin_open(gammad, gammad_fake_client(GAMMAD_FAKE_USER)),
			 GAMMA_BROKER_LIMIT);
	assert_int_equal(begin_open(gammad, gammad_fake_client(GAMMAD_FAKE_OTHER)),
			 GAMMA_BROKER_OK);
}

static void begin__twice_on_one_connection_is_refused(void **state)
{
	struct gammad_open *open = gammad_fake_open(GAMMAD_FAKE_USER, 1);

	assert_non_null(open);
	assert_int_equal(begin_open(*state, open->client), GAMMA_BROKER_TWICE);
}

static void begin__plans_no_more_ring_than_configured(void **state)
{
	struct gammad *gammad = *state;
	struct gamma_broker_open ask = gammad_fake_request(0);
	struct tpacket_req ring;

	ask.ring_bytes = 64 << 20;
	gammad_open_begin(gammad, gammad_fake_client(GAMMAD_FAKE_USER), &ask, &ring);
	assert_true((size_t) ring.tp_block_size * ring.tp_block_nr <= 2u * gammad->conf.ring_bytes);
}

/* ---- limits and slots ---- */

static void open__gives_the_first_free_slot(void **state)
{
	const struct gammad_open *open = gammad_fake_open(GAMMAD_FAKE_USER, 12);
	struct gammad_endpoint record;

	(void) state;
	assert_non_null(open);
	assert_ptr_equal(open->slot, &gammad_fake.slots[0]);
	assert_int_equal(open->slot->opens, 1);
	record = gammad_fake_record(open->record.handle);
	assert_memory_equal(record.mac, gammad_fake_slot(0), GAMMA_MAC_LEN);
	assert_int_equal(record.port, htons(12));
	assert_int_equal(record.tenant, htonl(GAMMAD_FAKE_USER));
	assert_int_equal(record.revoked, 0);
}

static void open__describes_the_endpoint(void **state)
{
	struct gamma_broker_opened opened = {0};

	(void) state;
	assert_int_equal(
		end_open(gammad_fake_client(GAMMAD_FAKE_USER), gammad_fake_socket(), NULL, &opened),
		GAMMA_BROKER_OK);
	assert_memory_equal(opened.mac, gammad_fake_slot(0), GAMMA_MAC_LEN);
	assert_int_equal(opened.port, 4000);
	assert_int_equal(opened.tenant, GAMMAD_FAKE_USER);
	assert_int_equal(opened.mtu, 1500);
}

/* Reading the kernel's list is what a refusal costs: others wait meanwhile. */
static void open__refused_again_and_again_reads_the_list_once(void **state)
{
	struct gammad *gammad = *state;

	assert_int_equal(try_open(GAMMAD_FAKE_USER, NULL), GAMMA_BROKER_OK);
	assert_int_equal(try_open(GAMMAD_FAKE_USER, NULL), GAMMA_BROKER_OK);
	gammad_open_sweep(gammad);
	/* Now, for as long as this test takes. */
	gammad->swept_ms += 3600000;
	gammad_fake.lists_read = 0;
	for (int i = 0; i < 5; i++)
		assert_int_equal(try_open(GAMMAD_FAKE_USER, NULL), GAMMA_BROKER_LIMIT);
	assert_int_equal(gammad_fake.lists_read, 0);
	gammad->sweep_pending = true;
	assert_int_equal(try_open(GAMMAD_FAKE_USER, NULL), GAMMA_BROKER_LIMIT);
	assert_in_range(gammad_fake.lists_read, 1, 4);
}

static void open__beyond_the_users_limit_is_refused(void **state)
{
	(void) state;
	assert_int_equal(try_open(GAMMAD_FAKE_USER, NULL), GAMMA_BROKER_OK);
	assert_int_equal(try_open(GAMMAD_FAKE_USER, NULL), GAMMA_BROKER_OK);
	assert_int_equal(try_open(GAMMAD_FAKE_USER, NULL), GAMMA_BROKER_LIMIT);
	assert_int_equal(try_open(GAMMAD_FAKE_OTHER, NULL), GAMMA_BROKER_OK);
}

static void open__without_a_free_slot_is_refused(void **state)
{
	struct gammad *gammad = *state;

	gammad->conf.limit = 10;
	for (unsigned i = 0; i < GAMMAD_FAKE_SLOTS; i++)
		assert_int_equal(try_open(GAMMAD_FAKE_USER, NULL), GAMMA_BROKER_OK);
	assert_int_equal(try_open(GAMMAD_FAKE_OTHER, NULL), GAMMA_BROKER_NO_SLOT);
}

static void open__takes_the_slot_of_an_endpoint_just_closed(void **state)
{
	struct gammad *gammad = *state;
	struct gammad_open *open = gammad_fake_open(GAMMAD_FAKE_USER, 1);

	gammad->conf.limit = 1;
	gammad_fake_close_socket(open);
	assert_int_equal(try_open(GAMMAD_FAKE_USER, NULL), GAMMA_BROKER_OK);
	assert_int_equal(gammad_fake.slots[0].opens, 1);
}

static void open__beside_an_endpoint_of_the_user_shares_its_slot(void **state)
{
	const struct gammad_open *open = gammad_fake_open(GAMMAD_FAKE_USER, 1);

	(void) state;
	assert_int_equal(try_open(GAMMAD_FAKE_USER, open->slot->mac), GAMMA_BROKER_OK);
	assert_int_equal(open->slot->opens, 2);
}

static void open__beside_another_users_endpoint_is_refused(void **state)
{
	const struct gammad_open *open = gammad_fake_open(GAMMAD_FAKE_USER, 1);

	(void) state;
	assert_int_equal(try_open(GAMMAD_FAKE_OTHER, open->slot->mac), GAMMA_BROKER_NO_SLOT);
}

static void open__beside_a_full_slot_is_refused(void **state)
{
	struct gammad *gammad = *state;
	const struct gammad_open *open = gammad_fake_open(GAMMAD_FAKE_USER, 1);

	gammad->conf.limit = 100;
	for (int i = 1; i < GAMMAD_SLOT_ENDPOINTS_MAX; i++)
		assert_int_equal(try_open(GAMMAD_FAKE_USER, open->slot->mac), GAMMA_BROKER_OK);
	assert_int_equal(try_open(GAMMAD_FAKE_USER, open->slot->mac), GAMMA_BROKER_NO_SLOT);
}

/* ---- endpoints with the NIC's own MAC ---- */

static void own__endpoint_has_the_nics_mac_and_a_slot(void **state)
{
	const struct gammad_open *open;

	gammad_fake.gammad.nics[0].own_address = true;
	open = gammad_fake_open(GAMMAD_FAKE_USER, 12);
	assert_non_null(open);
	assert_memory_equal(open->record.mac, gammad_fake_nic, GAMMA_MAC_LEN);
	assert_ptr_equal(open->slot, &gammad_fake.slots[0]);
	assert_int_equal(gammad_fake.translated, htons(12));
	assert_memory_equal(gammad_fake.translated_to, gammad_fake_slot(0), GAMMA_MAC_LEN);
	assert_ptr_equal(gammad_open_find(*state, gammad_fake_nic, 12), open);
}

static void own__translation_ends_with_the_endpoint(void **state)
{
	struct gammad_open *open;

	gammad_fake.gammad.nics[0].own_address = true;
	open = gammad_fake_open(GAMMAD_FAKE_USER, 12);
	gammad_fake_close_socket(open);
	gammad_open_sweep(*state);
	assert_int_equal(gammad_fake.translated, 0);
	assert_nothing_left(*state);
}

static void own__that_cannot_be_marked_leaves_no_translation(void **state)
{
	gammad_fake.gammad.nics[0].own_address = true;
	gammad_fake.mark_errno = EPERM;
	assert_int_equal(try_open(GAMMAD_FAKE_USER, NULL), GAMMA_BROKER_SYSTEM);
	assert_int_equal(gammad_fake.translated, 0);
	assert_nothing_left(*state);
}

static void own__beside_shares_the_users_latest_slot(void **state)
{
	(void) state;
	gammad_fake.gammad.conf.limit = 10;
	gammad_fake.gammad.nics[0].own_address = true;
	assert_int_equal(try_open(GAMMAD_FAKE_OTHER, NULL), GAMMA_BROKER_OK);
	assert_int_equal(try_open(GAMMAD_FAKE_USER, gammad_fake_nic), GAMMA_BROKER_NO_SLOT);
	assert_int_equal(try_open(GAMMAD_FAKE_USER, NULL), GAMMA_BROKER_OK);
	assert_int_equal(try_open(GAMMAD_FAKE_USER, gammad_fake_nic), GAMMA_BROKER_OK);
	assert_int_equal(gammad_fake.slots[0].opens, 1);
	assert_int_equal(gammad_fake.slots[1].opens, 2);
}

static void slot__mac_needs_no_translation(void **state)
{
	(void) state;
	assert_non_null(gammad_fake_open(GAMMAD_FAKE_USER, 12));
	assert_int_equal(gammad_fake.translated, 0);
}

/* ---- what the kernel refuses ---- */

static void open__of_a_taken_port_is_refused(void **state)
{
	gammad_fake.claim_errno = EADDRINUSE;
	assert_int_equal(try_open(GAMMAD_FAKE_USER, NULL), GAMMA_BROKER_PORT_TAKEN);
	assert_nothing_left(*state);
}

static void open__of_a_port_of_a_program_of_the_host_is_refused(void **state)
{
	gammad_fake.host_owns = true;
	assert_int_equal(try_open(GAMMAD_FAKE_USER, NULL), GAMMA_BROKER_PORT_TAKEN);
	assert_nothing_left(*state);
}

/* As if programs of the host had most of them. */
static void open__of_any_port_tries_others(void **state)
{
	(void) state;
	gammad_fake.host_taken = 50;
	assert_int_equal(try_open(GAMMAD_FAKE_USER, NULL), GAMMA_BROKER_OK);
	assert_int_equal(gammad_fake.host_taken, 0);
}

static void open__without_a_socket_uses_up_no_handle(void **state)
{
	struct gamma_broker_opened opened;
	struct gammad_counts counts;

	assert_int_equal(end_open(gammad_fake_client(GAMMAD_FAKE_USER), -ENOMEM, NULL, &opened),
			 GAMMA_BROKER_SYSTEM);
	gammad_kernel_read_counts(*state, &counts);
	assert_int_equal(counts.opened, 0);
	assert_nothing_left(*state);
	assert_non_null(strstr(gammad_fake.log, "fake0: no socket for user 1000"));
}

static void open__without_a_handle_says_so(void **state)
{
	gammad_fake.no_handles = true;
	assert_int_equal(try_open(GAMMAD_FAKE_USER, NULL), GAMMA_BROKER_NO_HANDLE);
	assert_nothing_left(*state);
}

static void open__that_cannot_be_bound_leaves_nothing(void **state)
{
	gammad_fake.bind_errno = ENETDOWN;
	assert_int_equal(try_open(GAMMAD_FAKE_USER, NULL), GAMMA_BROKER_SYSTEM);
	assert_nothing_left(*state);
}

static void open__that_cannot_be_marked_may_not_send(void **state)
{
	gammad_fake.mark_errno = EPERM;
	assert_int_equal(try_open(GAMMAD_FAKE_USER, NULL), GAMMA_BROKER_SYSTEM);
	assert_int_equal(gammad_fake_record(GAMMAD_HANDLE_FIRST).handle, 0);
	assert_nothing_left(*state);
}

/* ---- sweep ---- */

static void sweep__frees_the_slot_of_a_closed_endpoint(void **state)
{
	struct gammad *gammad = *state;
	struct gammad_open *open = gammad_fake_open(GAMMAD_FAKE_USER, 1);
	struct gammad_client *client = open->client;
	const uint32_t handle = open->record.handle;

	gammad_open_sweep(gammad);
	assert_ptr_equal(client->open, open);
	gammad_fake_close_socket(open);
	gammad_open_sweep(gammad);
	assert_null(client->open);
	assert_int_equal(gammad_fake_record(handle).handle, 0);
	assert_nothing_left(gammad);
}

static void sweep__without_the_kernels_list_takes_no_client_for_gone(void **state)
{
	struct gammad_open *open = gammad_fake_open(GAMMAD_FAKE_USER, 1);

	gammad_fake_close_socket(open);
	gammad_fake.list_fails = true;
	gammad_open_sweep(*state);
	assert_false(gamma_list_empty(&gammad_fake.gammad.opens));
	assert_non_null(strstr(gammad_fake.log, "mount /proc"));
}

static void sweep__is_needed_once_a_client_has_hung_up(void **state)
{
	struct gammad_open *open = gammad_fake_open(GAMMAD_FAKE_USER, 1);

	assert_false(gammad_open_needs_sweep(*state));
	open->client->open = NULL;
	open->client = NULL;
	assert_true(gammad_open_needs_sweep(*state));
}

/* ---- revoke ---- */

static void revoke__stops_all_endpoints_of_that_user_alone(void **state)
{
	const struct gammad_open *a = gammad_fake_open(GAMMAD_FAKE_USER, 1);
	const struct gammad_open *b = gammad_fake_open(GAMMAD_FAKE_USER, 2);
	const struct gammad_open *other = gammad_fake_open(GAMMAD_FAKE_OTHER, 3);

	assert_int_equal(gammad_open_revoke(*state, GAMMAD_FAKE_USER), 2);
	assert_int_equal(gammad_fake_record(a->record.handle).revoked, 1);
	assert_int_equal(gammad_fake_record(b->record.handle).revoked, 1);
	assert_int_equal(gammad_fake_record(other->record.handle).revoked, 0);
	assert_int_equal(gammad_fake.frames, 2);
	assert_int_equal(gammad_open_revoke(*state, GAMMAD_FAKE_USER), 0);
}

static void revoke__is_reported_again_if_the_endpoints_queue_is_full(void **state)
{
	struct gammad_open *open = gammad_fake_open(GAMMAD_FAKE_USER, 1);

	gammad_fake.sendto_errno = EAGAIN;
	gammad_open_revoke(*state, GAMMAD_FAKE_USER);
	assert_true(gammad_open_needs_sweep(*state));
	gammad_fake.sendto_errno = 0;
	gammad_open_sweep(*state);
	assert_true(open->revoke_sent);
	assert_false(gammad_open_needs_sweep(*state));
}

static void revoke__keeps_the_slot_until_the_socket_is_closed(void **state)
{
	gammad_fake_open(GAMMAD_FAKE_USER, 1);
	gammad_open_revoke(*state, GAMMAD_FAKE_USER);
	gammad_open_sweep(*state);
	assert_int_equal(gammad_fake.slots[0].opens, 1);
}

/* ---- after a restart ---- */

static struct gammad_endpoint earlier(uint64_t inode)
{
	struct gammad_endpoint record = {
		.port = htons(8),
		.tenant = htonl(GAMMAD_FAKE_USER),
		.handle = GAMMAD_HANDLE_FIRST + 3,
		.nic_ifindex = GAMMAD_FAKE_IFINDEX,
		.slot = 1,
		.inode = inode,
	};

	memcpy(record.mac, gammad_fake_slot(1), GAMMA_MAC_LEN);
	return record;
}

static void restore__finds_an_open_endpoint_and_its_slot(void **state)
{
	int fd = gammad_fake_socket();
	struct gammad_endpoint record = earlier(gammad_fake.inodes[0]);

	gammad_fake_restore(&record);
	assert_int_equal(gammad_open_restore(*state), 0);
	assert_non_null(gammad_open_find(*state, gammad_fake_slot(1), 8));
	assert_int_equal(gammad_fake.slots[1].opens, 1);
	assert_non_null(strstr(gammad_fake.log, "1 endpoints were open"));
	close(fd);
}

static void restore__forgets_an_endpoint_that_was_closed_meanwhile(void **state)
{
	struct gammad_endpoint record = earlier(12345);

	gammad_fake_restore(&record);
	assert_int_equal(gammad_open_restore(*state), 0);
	assert_null(gammad_open_find(*state, gammad_fake_slot(1), 8));
	assert_int_equal(gammad_fake.slots[1].opens, 0);
}

static void restore__keeps_an_endpoint_whose_nic_is_not_configured(void **state)
{
	int fd = gammad_fake_socket();
	struct gammad_endpoint record = earlier(gammad_fake.inodes[0]);

	record.nic_ifindex++;
	gammad_fake_restore(&record);
	gammad_open_restore(*state);
	assert_null(gammad_open_find(*state, gammad_fake_slot(1), 8)->nic);
	close(fd);
}

#undef TEST
#define TEST(name) cmocka_unit_test_setup_teardown(name, gammad_fake_setup, gammad_fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(begin__for_an_entitled_user_is_ok),
		TEST(open__refused_again_and_again_reads_the_list_once),
		TEST(begin__for_an_unknown_nic_is_refused),
		TEST(own__endpoint_has_the_nics_mac_and_a_slot),
		TEST(own__translation_ends_with_the_endpoint),
		TEST(own__that_cannot_be_marked_leaves_no_translation),
		TEST(own__beside_shares_the_users_latest_slot),
		TEST(slot__mac_needs_no_translation),
		TEST(begin__for_another_ethertype_is_refused),
		TEST(begin__outside_the_groups_is_refused),
		TEST(begin__looks_at_the_groups_of_a_reload),
		TEST(begin__of_a_revoked_user_is_refused),
		TEST(begin__for_a_user_with_limit_0_is_refused),
		TEST(begin__twice_on_one_connection_is_refused),
		TEST(begin__plans_no_more_ring_than_configured),
		TEST(open__gives_the_first_free_slot),
		TEST(open__describes_the_endpoint),
		TEST(open__beyond_the_users_limit_is_refused),
		TEST(open__without_a_free_slot_is_refused),
		TEST(open__takes_the_slot_of_an_endpoint_just_closed),
		TEST(open__beside_an_endpoint_of_the_user_shares_its_slot),
		TEST(open__beside_another_users_endpoint_is_refused),
		TEST(open__beside_a_full_slot_is_refused),
		TEST(open__of_a_taken_port_is_refused),
		TEST(open__of_a_port_of_a_program_of_the_host_is_refused),
		TEST(open__of_any_port_tries_others),
		TEST(open__without_a_socket_uses_up_no_handle),
		TEST(open__without_a_handle_says_so),
		TEST(open__that_cannot_be_bound_leaves_nothing),
		TEST(open__that_cannot_be_marked_may_not_send),
		TEST(sweep__frees_the_slot_of_a_closed_endpoint),
		TEST(sweep__without_the_kernels_list_takes_no_client_for_gone),
		TEST(sweep__is_needed_once_a_client_has_hung_up),
		TEST(revoke__stops_all_endpoints_of_that_user_alone),
		TEST(revoke__is_reported_again_if_the_endpoints_queue_is_full),
		TEST(revoke__keeps_the_slot_until_the_socket_is_closed),
		TEST(restore__finds_an_open_endpoint_and_its_slot),
		TEST(restore__forgets_an_endpoint_that_was_closed_meanwhile),
		TEST(restore__keeps_an_endpoint_whose_nic_is_not_configured),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
