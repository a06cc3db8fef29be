// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* gammad/metrics.c: the state as text, whatever a reader sends. */
#include "gammad_fake.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static char text[64 << 10];

/* The reader's end of a connection. */
static int reader(struct gammad *gammad)
{
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
	gammad_fake.accept_fd = pair[1];
	gammad_metrics_accept(gammad);
	return pair[0];
}

static struct gammad_metrics_reader *latest(struct gammad *gammad)
{
	struct gammad_metrics_reader *found = NULL;

	for (unsigned i = 0; i < GAMMAD_METRICS_READERS; i++) {
		struct gammad_metrics_reader *one = &gammad->metrics.readers[i];

		if (one->used && one->number == gammad->metrics.accepted)
			found = one;
	}
	return found;
}

static void format__has_every_nic(void **state)
{
	struct gammad *gammad = *state;

	strcpy(gammad->nics[0].name, "a\"b");
	gammad_metrics_format(gammad, text, sizeof(text));
	assert_non_null(strstr(text, "HTTP/1.0 200 OK\r\n"));
	assert_non_null(strstr(text, "\r\n\r\n# HELP gammad_info "));
	assert_non_null(strstr(text, "\ngammad_nic_slots{nic=\"a\\\"b\"} 3\n"));
	assert_non_null(strstr(text, "\ngammad_nic_endpoints{nic=\"a\\\"b\"} 0\n"));
	assert_non_null(strstr(text, "\ngammad_clients 0\n"));
}

static void format__counts_endpoints(void **state)
{
	struct gammad *gammad = *state;

	assert_non_null(gammad_fake_open(GAMMAD_FAKE_USER, 0));
	gammad_metrics_format(gammad, text, sizeof(text));
	assert_non_null(strstr(text, "\ngammad_clients 1\n"));
	assert_non_null(strstr(text, "gammad_nic_endpoints{nic=\"fake0\"} 1\n"));
}

/* Whole lines, however little room there is. */
static void format__leaves_out_what_does_not_fit(void **state)
{
	struct gammad *gammad = *state;
	size_t all = gammad_metrics_format(gammad, text, sizeof(text));

	for (size_t room = 200; room < all; room++) {
		size_t len = gammad_metrics_format(gammad, text, room);

		assert_true(len < room);
		assert_int_equal(text[len - 1], '\n');
	}
}

static void reader__is_answered_when_it_asks(void **state)
{
	struct gammad *gammad = *state;
	int fd = reader(gammad);
	struct gammad_metrics_reader *one = latest(gammad);

	assert_int_equal(recv(fd, text, sizeof(text), 0), -1);
	assert_int_equal(send(fd, "\xff\0GET", 5, 0), 5);
	gammad_metrics_handle(gammad, one);
	assert_true(recv(fd, text, sizeof(text), 0) > 100);
	assert_int_equal(recv(fd, text, sizeof(text), 0), 0); /* and that is all */
	assert_int_equal(send(fd, "more", 4, 0), 4);
	gammad_metrics_handle(gammad, one);
	assert_true(one->used);
	close(fd);
	gammad_metrics_handle(gammad, one);
	assert_false(one->used);
}

static void reader__that_floods_is_ended(void **state)
{
	struct gammad *gammad = *state;
	int fd = reader(gammad), tries = 0;
	struct gammad_metrics_reader *one = latest(gammad);

	memset(text, 'x', sizeof(text));
	while (one->used && tries++ < 100) {
		send(fd, text, 4096, MSG_NOSIGNAL);
		gammad_metrics_handle(gammad, one);
	}
	assert_true(tries <= 20);
	close(fd);
}

/* Those that only connect hold nobody up. */
static void reader__takes_the_place_of_the_oldest(void **state)
{
	struct gammad *gammad = *state;
	int fds[3 * GAMMAD_METRICS_READERS];

	for (unsigned i = 0; i < gamma_array_size(fds); i++) {
		fds[i] = reader(gammad);
		assert_non_null(latest(gammad));
	}
	assert_int_equal(recv(fds[0], text, 1, 0), 0);
	for (unsigned i = 0; i < GAMMAD_METRICS_READERS; i++)
		assert_true(gammad->metrics.readers[i].number > 2 * GAMMAD_METRICS_READERS);
	for (unsigned i = 0; i < gamma_array_size(fds); i++)
		close(fds[i]);
}

#define METRICS_TEST(name) \
	cmocka_unit_test_setup_teardown(name, gammad_fake_setup, gammad_fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		METRICS_TEST(format__has_every_nic),
		METRICS_TEST(format__counts_endpoints),
		METRICS_TEST(format__leaves_out_what_does_not_fit),
		METRICS_TEST(reader__is_answered_when_it_asks),
		METRICS_TEST(reader__that_floods_is_ended),
		METRICS_TEST(reader__takes_the_place_of_the_oldest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
