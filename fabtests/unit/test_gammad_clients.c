// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* gammad/clients.c: connections, requests and their answers. */
#include "gammad_fake.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "unix/scm.h"

/* A connection: the test's end, and what gammad makes of the other one. */
struct connection {
	int fd;
	struct gammad_client *client; /* NULL: gammad has ended it */
};

static struct gammad_client *last_client(const struct gammad *gammad)
{
	struct gammad_client *last = NULL;
	struct gamma_list *pos;

	gamma_list_for_each (pos, &gammad->clients)
		last = gamma_list_entry(pos, struct gammad_client, entry);
	return last;
}

static struct connection connect_as(struct gammad *gammad, uid_t uid)
{
	const struct gammad_client *before = last_client(gammad);
	struct connection made;
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair), 0);
	gammad_fake.uid = uid;
	gammad_fake.accept_fd = pair[1];
	gammad_clients_accept(gammad);
	made.fd = pair[0];
	made.client = last_client(gammad);
	if (made.client == before)
		made.client = NULL;
	return made;
}

static bool is_connected(const struct gammad *gammad, const struct connection *connection)
{
	struct gamma_list *pos;

	gamma_list_for_each (pos, &gammad->clients) {
		if (gamma_list_entry(pos, struct gammad_client, entry) == connection->client)
			return true;
	}
	return false;
}

static void ask(struct gammad *gammad, const struct connection *connection, const void *request,
		size_t len)
{
	assert_int_equal(send(connection->fd, request, len, 0), len);
	gammad_clients_handle_event(gammad, connection->client, EPOLLIN);
}

static void ask_type(struct gammad *gammad, const struct connection *connection,
		     enum gamma_broker_type type)
{
	struct gamma_broker_header header;

	gamma_broker_message_init_header(&header, type, sizeof(header), GAMMA_BROKER_OK);
	ask(gammad, connection, &header, sizeof(header));
}

static void ask_open(struct gammad *gammad, const struct connection *connection)
{
	const struct gamma_broker_open request = gammad_fake_request(0);

	ask(gammad, connection, &request, sizeof(request));
}

/* The reason in an answer of that type. */
static enum gamma_broker_reason answer_reason(const struct connection *connection,
					      enum gamma_broker_type type)
{
	union {
		struct gamma_broker_header header;
		char room[GAMMA_BROKER_MAX];
	} answer;
	const ssize_t len = recv(connection->fd, &answer, sizeof(answer), MSG_DONTWAIT);

	assert_true(len >= (ssize_t) sizeof(answer.header));
	assert_int_equal(answer.header.type, type);
	return answer.header.reason;
}

static void assert_silent(const struct connection *connection)
{
	char byte;

	assert_int_equal(recv(connection->fd, &byte, 1, MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
}

static void assert_ended(const struct gammad *gammad, const struct connection *connection)
{
	char byte;

	assert_false(is_connected(gammad, connection));
	assert_int_equal(recv(connection->fd, &byte, 1, MSG_DONTWAIT), 0);
}

/* ---- connections ---- */

static void accept__takes_a_member_of_a_group(void **state)
{
	struct gammad *gammad = *state;
	struct connection connection;

	gammad->conf.group_count = 1;
	gammad->conf.groups[0] = GAMMAD_FAKE_GROUP;
	connection = connect_as(gammad, GAMMAD_FAKE_USER);
	assert_true(gammad_clients_in_group(gammad, connection.client));
	close(connection.fd);
}

static void accept__takes_a_member_by_supplementary_group(void **state)
{
	struct gammad *gammad = *state;
	struct connection connection;

	gammad->conf.group_count = 1;
	gammad->conf.groups[0] = GAMMAD_FAKE_GROUP;
	gammad_fake.gid = 1;
	connection = connect_as(gammad, GAMMAD_FAKE_USER);
	assert_true(gammad_clients_in_group(gammad, connection.client));
	close(connection.fd);
}

static void accept__of_others_lets_them_only_ask(void **state)
{
	struct gammad *gammad = *state;
	struct connection connection;

	gammad->conf.group_count = 1;
	gammad->conf.groups[0] = GAMMAD_FAKE_GROUP;
	gammad_fake.gid = gammad_fake.group = 1;
	connection = connect_as(gammad, GAMMAD_FAKE_USER);
	ask_open(gammad, &connection);
	assert_int_equal(answer_reason(&connection, GAMMA_BROKER_OPENED), GAMMA_BROKER_NO_GROUP);
	ask_type(gammad, &connection, GAMMA_BROKER_NICS);
	assert_int_equal(answer_reason(&connection, GAMMA_BROKER_SERVED), GAMMA_BROKER_NO_GROUP);
	close(connection.fd);
}

static void accept__bounds_the_connections_of_all_refused_ids_together(void **state)
{
	struct connection connections[GAMMAD_CLIENTS_EXTRA + 1];
	struct gammad *gammad = *state;

	gammad->conf.ranges[0] = (struct gammad_uid_range){.first = 100000, .last = 165535};
	gammad->conf.range_count = 1;
	for (unsigned i = 0; i <= GAMMAD_CLIENTS_EXTRA; i++)
		connections[i] = connect_as(gammad, 100000 + i);
	assert_null(connections[GAMMAD_CLIENTS_EXTRA].client);
	ask_open(gammad, &connections[0]);
	assert_int_equal(answer_reason(&connections[0], GAMMA_BROKER_OPENED), GAMMA_BROKER_NO_USER);
	for (unsigned i = 0; i <= GAMMAD_CLIENTS_EXTRA; i++)
		close(connections[i].fd);
}

static void accept__bounds_the_connections_of_a_user_but_roots(void **state)
{
	struct gammad *gammad = *state;
	const unsigned int most = 2 * gammad->conf.limit + GAMMAD_CLIENTS_EXTRA;
	struct connection connection;

	for (unsigned int i = 0; i < most; i++)
		gammad_fake_client(GAMMAD_FAKE_USER);
	connection = connect_as(gammad, GAMMAD_FAKE_USER);
	assert_null(connection.client);
	close(connection.fd);
	connection = connect_as(gammad, GAMMAD_FAKE_OTHER);
	assert_non_null(connection.client);
	close(connection.fd);
	connection = connect_as(gammad, 0);
	assert_non_null(connection.client);
	close(connection.fd);
}

static void accept__without_descriptors_turns_the_client_away(void **state)
{
	struct gammad *gammad = *state;

	gammad_fake.accept_errno = EMFILE;
	gammad_clients_accept(gammad);
	assert_true(gamma_list_empty(&gammad->clients));
	assert_true(gammad->spare_fd >= 0);
	assert_non_null(strstr(gammad_fake.log, "raise LimitNOFILE"));
}

/* Nobody would notice what it asks, or that it has gone. */
static void accept__of_a_client_that_cannot_be_watched_ends_the_connection(void **state)
{
	struct gammad *gammad = *state;
	const int epoll = gammad->epoll;
	struct connection connection;

	gammad->epoll = -1;
	connection = connect_as(gammad, GAMMAD_FAKE_USER);
	gammad->epoll = epoll;
	assert_true(gamma_list_empty(&gammad->clients));
	assert_ended(gammad, &connection);
	close(connection.fd);
}

/* ---- requests ---- */

static void request__malformed_is_answered_and_ends_the_connection(void **state)
{
	struct connection connection = connect_as(*state, GAMMAD_FAKE_USER);

	ask(*state, &connection, "nonsense", 8);
	assert_int_equal(answer_reason(&connection, GAMMA_BROKER_DONE), GAMMA_BROKER_MALFORMED);
	assert_ended(*state, &connection);
	close(connection.fd);
}

static void request__of_another_version_is_answered(void **state)
{
	struct connection connection = connect_as(*state, GAMMAD_FAKE_USER);
	struct gamma_broker_open request = gammad_fake_request(0);

	request.header.version++;
	ask(*state, &connection, &request, sizeof(request));
	assert_int_equal(answer_reason(&connection, GAMMA_BROKER_DONE), GAMMA_BROKER_OTHER_VERSION);
	assert_true(is_connected(*state, &connection));
	close(connection.fd);
}

static void request__longer_than_any_is_malformed(void **state)
{
	struct connection connection = connect_as(*state, GAMMAD_FAKE_USER);
	char request[2 * GAMMA_BROKER_MAX] = {0};

	ask(*state, &connection, request, sizeof(request));
	assert_int_equal(answer_reason(&connection, GAMMA_BROKER_DONE), GAMMA_BROKER_MALFORMED);
	close(connection.fd);
}

static void request__with_descriptors_ends_the_connection(void **state)
{
	struct connection connection = connect_as(*state, GAMMAD_FAKE_USER);
	const struct gamma_broker_open request = gammad_fake_request(0);

	assert_int_equal(gamma_scm_send(connection.fd, NULL, 0, &request, sizeof(request),
					&connection.fd, 1),
			 0);
	gammad_clients_handle_event(*state, connection.client, EPOLLIN);
	assert_ended(*state, &connection);
	close(connection.fd);
}

static void request__for_root_is_refused_to_users(void **state)
{
	struct connection user = connect_as(*state, GAMMAD_FAKE_USER);
	struct connection root = connect_as(*state, 0);

	ask_type(*state, &user, GAMMA_BROKER_LIST);
	assert_int_equal(answer_reason(&user, GAMMA_BROKER_DONE), GAMMA_BROKER_NOT_ROOT);
	assert_true(is_connected(*state, &user));
	ask_type(*state, &root, GAMMA_BROKER_LIST);
	assert_int_equal(answer_reason(&root, GAMMA_BROKER_DONE), GAMMA_BROKER_OK);
	close(user.fd);
	close(root.fd);
}

/* ---- open ---- */

static void open__is_answered_when_the_socket_is_made(void **state)
{
	struct gammad *gammad = *state;
	struct connection connection = connect_as(gammad, GAMMAD_FAKE_USER);
	struct gamma_broker_opened opened;
	struct gamma_scm scm;

	ask_open(gammad, &connection);
	assert_silent(&connection);
	assert_non_null(connection.client->job);
	gammad_clients_handle_finished(gammad);
	assert_int_equal(gamma_scm_receive(connection.fd, &opened, sizeof(opened), &scm),
			 sizeof(opened));
	assert_int_equal(opened.header.reason, GAMMA_BROKER_OK);
	assert_true(scm.fds[0] >= 0 && scm.fds[1] >= 0);
	assert_null(connection.client->job);
	assert_non_null(connection.client->open);
	gamma_scm_close(&scm);
	close(connection.fd);
}

static void open__is_checked_again_when_the_socket_is_made(void **state)
{
	struct gammad *gammad = *state;
	struct connection first = connect_as(gammad, GAMMAD_FAKE_USER);
	struct connection second = connect_as(gammad, GAMMAD_FAKE_USER);

	gammad->conf.limit = 1;
	ask_open(gammad, &first);
	ask_open(gammad, &second);
	gammad_clients_handle_finished(gammad);
	assert_int_equal(answer_reason(&first, GAMMA_BROKER_OPENED), GAMMA_BROKER_OK);
	assert_int_equal(answer_reason(&second, GAMMA_BROKER_OPENED), GAMMA_BROKER_LIMIT);
	assert_int_equal(gammad_fake.closed, 2);
	close(first.fd);
	close(second.fd);
}

/* Each that is under way has its ring already: not one for each connection. */
static void open__beyond_the_limit_waits_for_no_socket(void **state)
{
	struct connection connections[GAMMAD_WORKERS + 2];
	struct gammad *gammad = *state;
	struct connection other = connect_as(gammad, GAMMAD_FAKE_OTHER);
	const unsigned count = gamma_array_size(connections);

	gammad->conf.limit = 1;
	for (unsigned i = 0; i < count; i++) {
		connections[i] = connect_as(gammad, GAMMAD_FAKE_USER);
		ask_open(gammad, &connections[i]);
	}
	assert_non_null(connections[count - 2].client->job);
	assert_null(connections[count - 1].client->job);
	assert_int_equal(answer_reason(&connections[count - 1], GAMMA_BROKER_OPENED),
			 GAMMA_BROKER_LIMIT);
	ask_open(gammad, &other);
	assert_non_null(other.client->job);
	gammad_clients_handle_finished(gammad);
	assert_int_equal(answer_reason(&connections[0], GAMMA_BROKER_OPENED), GAMMA_BROKER_OK);
	for (unsigned i = 0; i < count; i++)
		close(connections[i].fd);
	close(other.fd);
}

static void open__of_a_client_that_hung_up_before_is_cancelled(void **state)
{
	struct gammad *gammad = *state;
	struct connection connection = connect_as(gammad, GAMMAD_FAKE_USER);

	ask_open(gammad, &connection);
	close(connection.fd);
	gammad_clients_handle_event(gammad, connection.client, EPOLLHUP);
	assert_false(is_connected(gammad, &connection));
	assert_true(gamma_list_empty(&gammad_fake.jobs));
}

static void open__of_a_client_that_hung_up_meanwhile_closes_the_socket(void **state)
{
	struct gammad *gammad = *state;
	struct connection connection = connect_as(gammad, GAMMAD_FAKE_USER);

	ask_open(gammad, &connection);
	connection.client->job->started = true;
	close(connection.fd);
	gammad_clients_handle_event(gammad, connection.client, EPOLLHUP);
	assert_false(is_connected(gammad, &connection));
	gammad_clients_handle_finished(gammad);
	assert_int_equal(gammad_fake.closed, 1);
	assert_true(gamma_list_empty(&gammad->opens));
}

/* A child of the process may use it still. */
static void open__outlives_its_client(void **state)
{
	struct gammad *gammad = *state;
	struct connection connection = connect_as(gammad, GAMMAD_FAKE_USER);

	ask_open(gammad, &connection);
	gammad_clients_handle_finished(gammad);
	close(connection.fd);
	gammad_clients_handle_event(gammad, connection.client, EPOLLHUP);
	assert_false(is_connected(gammad, &connection));
	assert_false(gamma_list_empty(&gammad->opens));
	assert_true(gammad->sweep_pending);
	gammad_open_sweep(gammad);
	assert_false(gamma_list_empty(&gammad->opens));
}

/* ---- other requests ---- */

static void details__of_every_nic(void **state)
{
	struct gammad *gammad = *state;
	struct connection connection = connect_as(gammad, GAMMAD_FAKE_USER);
	struct gamma_broker_bounds bounds;
	struct gamma_broker_interface nic;

	gammad->conf.nic_count = 2;
	strcpy(gammad->conf.nics[0].name, "fake0");
	strcpy(gammad->conf.nics[1].name, "fake1");
	gammad->conf.multicast = 7;
	gammad->nics[0].up = true;
	gammad_fake_open(GAMMAD_FAKE_USER, 1);
	ask_type(gammad, &connection, GAMMA_BROKER_DETAILS);
	assert_int_equal(recv(connection.fd, &bounds, sizeof(bounds), 0), sizeof(bounds));
	assert_int_equal(bounds.endpoints, 2);
	assert_int_equal(bounds.memberships, 7);
	assert_int_equal(recv(connection.fd, &nic, sizeof(nic), 0), sizeof(nic));
	assert_string_equal(nic.name, "fake0");
	assert_int_equal(nic.state, GAMMA_BROKER_NIC_NO_CARRIER);
	assert_int_equal(nic.mtu, 1500);
	assert_int_equal(nic.slots, GAMMAD_FAKE_SLOTS);
	assert_int_equal(nic.endpoints, 1);
	assert_int_equal(recv(connection.fd, &nic, sizeof(nic), 0), sizeof(nic));
	assert_string_equal(nic.name, "fake1");
	assert_int_equal(nic.state, GAMMA_BROKER_NIC_MISSING);
	assert_int_equal(nic.endpoints, 0);
	assert_int_equal(answer_reason(&connection, GAMMA_BROKER_DONE), GAMMA_BROKER_OK);
	close(connection.fd);
}

static void status__counts_endpoints_slots_and_drops(void **state)
{
	struct connection connection = connect_as(*state, GAMMAD_FAKE_USER);
	struct gamma_broker_state status;

	gammad_fake_open(GAMMAD_FAKE_USER, 1);
	ask_type(*state, &connection, GAMMA_BROKER_STATUS);
	assert_int_equal(recv(connection.fd, &status, sizeof(status), 0), sizeof(status));
	assert_int_equal(status.nics, 1);
	assert_int_equal(status.slots, GAMMAD_FAKE_SLOTS);
	assert_int_equal(status.endpoints, 1);
	assert_int_equal(status.opened, 1);
	assert_int_equal(status.dropped, 5);
	close(connection.fd);
}

static void nics__are_named_with_their_ethertype(void **state)
{
	struct connection connection = connect_as(*state, GAMMAD_FAKE_USER);
	struct gamma_broker_served served;

	ask_type(*state, &connection, GAMMA_BROKER_NICS);
	assert_int_equal(recv(connection.fd, &served, sizeof(served), 0), sizeof(served));
	assert_int_equal(served.header.reason, GAMMA_BROKER_OK);
	assert_int_equal(served.count, 1);
	assert_int_equal(served.ethertype, GAMMA_ETHERTYPE);
	assert_memory_equal(served.macs[0], gammad_fake_nic, GAMMA_MAC_LEN);
	close(connection.fd);
}

/* REVOKE or ALLOW for GAMMAD_FAKE_USER: the count that is answered. */
static uint32_t ask_for_user(struct gammad *gammad, const struct connection *connection,
			     enum gamma_broker_type type)
{
	struct gamma_broker_revoke request = {.uid = GAMMAD_FAKE_USER};
	struct gamma_broker_done done;

	gamma_broker_message_init_header(&request.header, type, sizeof(request), GAMMA_BROKER_OK);
	ask(gammad, connection, &request, sizeof(request));
	assert_int_equal(recv(connection->fd, &done, sizeof(done), 0), sizeof(done));
	assert_int_equal(done.header.reason, GAMMA_BROKER_OK);
	return done.count;
}

static void revoke__answers_how_many(void **state)
{
	struct connection connection = connect_as(*state, 0);

	gammad_fake_open(GAMMAD_FAKE_USER, 1);
	assert_int_equal(ask_for_user(*state, &connection, GAMMA_BROKER_REVOKE), 1);
	close(connection.fd);
}

static void revoke__ends_the_users_connections_and_lasts(void **state)
{
	struct connection root = connect_as(*state, 0);
	struct connection user = connect_as(*state, GAMMAD_FAKE_USER);
	struct connection other = connect_as(*state, GAMMAD_FAKE_OTHER);

	assert_int_equal(ask_for_user(*state, &root, GAMMA_BROKER_REVOKE), 0);
	assert_ended(*state, &user);
	assert_true(is_connected(*state, &other));
	close(user.fd);
	user = connect_as(*state, GAMMAD_FAKE_USER);
	ask_open(*state, &user);
	assert_int_equal(answer_reason(&user, GAMMA_BROKER_OPENED), GAMMA_BROKER_REVOKED);
	close(user.fd);
	close(other.fd);
	close(root.fd);
}

static void allow__ends_a_revocation_once(void **state)
{
	struct connection root = connect_as(*state, 0);
	struct connection user;

	ask_for_user(*state, &root, GAMMA_BROKER_REVOKE);
	assert_int_equal(ask_for_user(*state, &root, GAMMA_BROKER_ALLOW), 1);
	assert_int_equal(ask_for_user(*state, &root, GAMMA_BROKER_ALLOW), 0);
	user = connect_as(*state, GAMMAD_FAKE_USER);
	ask_open(*state, &user);
	gammad_clients_handle_finished(*state);
	assert_int_equal(answer_reason(&user, GAMMA_BROKER_OPENED), GAMMA_BROKER_OK);
	gammad_fake.inode_count = 0;
	close(user.fd);
	close(root.fd);
}

static void reload__is_answered_when_the_file_is_read(void **state)
{
	struct connection connection = connect_as(*state, 0);

	ask_type(*state, &connection, GAMMA_BROKER_RELOAD);
	assert_silent(&connection);
	gammad_clients_handle_finished(*state);
	assert_int_equal(answer_reason(&connection, GAMMA_BROKER_DONE), GAMMA_BROKER_OK);
	close(connection.fd);
}

static void reload__of_a_wrong_file_says_so(void **state)
{
	struct connection connection = connect_as(*state, 0);

	ask_type(*state, &connection, GAMMA_BROKER_RELOAD);
	strcpy(connection.client->job->reading->error, "gammad.conf:1: wrong");
	gammad_clients_handle_finished(*state);
	assert_int_equal(answer_reason(&connection, GAMMA_BROKER_DONE), GAMMA_BROKER_BAD_CONF);
	close(connection.fd);
}

/* ---- slow readers ---- */

/* Fills the queue toward the client. */
static void fill_queue(const struct gammad_client *client)
{
	while (send(client->fd, "x", 1, MSG_DONTWAIT) == 1)
		;
	assert_int_equal(errno, EAGAIN);
}

static void answer__to_a_client_that_does_not_read_ends_the_connection(void **state)
{
	struct connection connection = connect_as(*state, GAMMAD_FAKE_USER);

	fill_queue(connection.client);
	ask_type(*state, &connection, GAMMA_BROKER_STATUS);
	assert_false(is_connected(*state, &connection));
	close(connection.fd);
}

static void list__longer_than_the_queue_goes_on_when_it_is_read(void **state)
{
	struct connection connection = connect_as(*state, 0);
	char byte;

	gammad_fake_open(GAMMAD_FAKE_USER, 1);
	gammad_fake_open(GAMMAD_FAKE_USER, 2);
	fill_queue(connection.client);
	ask_type(*state, &connection, GAMMA_BROKER_LIST);
	assert_true(connection.client->listing);
	while (recv(connection.fd, &byte, 1, MSG_DONTWAIT) == 1)
		;
	gammad_clients_handle_event(*state, connection.client, EPOLLOUT);
	assert_false(connection.client->listing);
	assert_int_equal(answer_reason(&connection, GAMMA_BROKER_ENTRY), GAMMA_BROKER_OK);
	assert_int_equal(answer_reason(&connection, GAMMA_BROKER_ENTRY), GAMMA_BROKER_OK);
	assert_int_equal(answer_reason(&connection, GAMMA_BROKER_DONE), GAMMA_BROKER_OK);
	close(connection.fd);
}

#undef TEST
#define TEST(name) cmocka_unit_test_setup_teardown(name, gammad_fake_setup, gammad_fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(accept__takes_a_member_of_a_group),
		TEST(accept__takes_a_member_by_supplementary_group),
		TEST(accept__of_others_lets_them_only_ask),
		TEST(accept__bounds_the_connections_of_a_user_but_roots),
		TEST(accept__bounds_the_connections_of_all_refused_ids_together),
		TEST(accept__without_descriptors_turns_the_client_away),
		TEST(accept__of_a_client_that_cannot_be_watched_ends_the_connection),
		TEST(request__malformed_is_answered_and_ends_the_connection),
		TEST(request__of_another_version_is_answered),
		TEST(request__longer_than_any_is_malformed),
		TEST(request__with_descriptors_ends_the_connection),
		TEST(request__for_root_is_refused_to_users),
		TEST(open__is_answered_when_the_socket_is_made),
		TEST(open__is_checked_again_when_the_socket_is_made),
		TEST(open__beyond_the_limit_waits_for_no_socket),
		TEST(open__of_a_client_that_hung_up_before_is_cancelled),
		TEST(open__of_a_client_that_hung_up_meanwhile_closes_the_socket),
		TEST(open__outlives_its_client),
		TEST(details__of_every_nic),
		TEST(status__counts_endpoints_slots_and_drops),
		TEST(nics__are_named_with_their_ethertype),
		TEST(revoke__answers_how_many),
		TEST(revoke__ends_the_users_connections_and_lasts),
		TEST(allow__ends_a_revocation_once),
		TEST(reload__is_answered_when_the_file_is_read),
		TEST(reload__of_a_wrong_file_says_so),
		TEST(answer__to_a_client_that_does_not_read_ends_the_connection),
		TEST(list__longer_than_the_queue_goes_on_when_it_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
