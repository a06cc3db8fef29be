// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of prov/gamma/src/eq.c. */
#include "prov_fake.h"
#include "../deprecated.h"

#include <poll.h>
#include <unistd.h>

static struct fid_eq *open_eq(struct fake *fake, enum fi_wait_obj wait_obj)
{
	struct fi_eq_attr attr = {.flags = FI_WRITE, .wait_obj = wait_obj};
	struct fid_eq *eq;

	assert_int_equal(fi_eq_open(fake->fabric, &attr, &eq, NULL), 0);
	return eq;
}

static void put(struct fid_eq *eq, uint64_t number)
{
	struct fi_eq_entry entry = {.fid = &eq->fid, .data = number};

	assert_int_equal(fi_eq_write(eq, FI_NOTIFY, &entry, sizeof(entry), 0), sizeof(entry));
}

static void put_error(struct fid_eq *eq, uint64_t number, const char *text)
{
	struct fi_eq_err_entry entry = {
		.fid = &eq->fid,
		.data = number,
		.err = FI_EIO,
		.err_data = (void *) text,
		.err_data_size = strlen(text) + 1,
	};

	assert_int_equal(
		gamma_eq_report_error(gamma_container_of(eq, struct gamma_eq, eq_fid), &entry), 0);
}

static void read__in_order_and_peek(void **state)
{
	struct fid_eq *eq = open_eq(*state, FI_WAIT_NONE);
	struct fi_eq_entry entry;
	uint32_t event = 99;
	uint64_t i;

	for (i = 0; i < 3; i++)
		put(eq, i);
	for (i = 0; i < 6; i++) {
		assert_int_equal(fi_eq_read(eq, &event, &entry, sizeof(entry), i & 1 ? 0 : FI_PEEK),
				 sizeof(entry));
		assert_int_equal(event, FI_NOTIFY);
		assert_int_equal(entry.data, i / 2);
	}
	assert_int_equal(fi_eq_read(eq, &event, &entry, sizeof(entry), 0), -FI_EAGAIN);
	assert_int_equal(fi_close(&eq->fid), 0);
}

static void read__without_a_buffer_gives_the_kind(void **state)
{
	struct fid_eq *eq = open_eq(*state, FI_WAIT_NONE);
	uint32_t event = 99;

	put(eq, 1);
	assert_int_equal(fi_eq_read(eq, &event, NULL, 0, 0), 0);
	assert_int_equal(event, FI_NOTIFY);
	assert_int_equal(fi_eq_read(eq, &event, NULL, 0, 0), -FI_EAGAIN);
	assert_int_equal(fi_close(&eq->fid), 0);
}

static void read__buffer_too_small_loses_nothing(void **state)
{
	struct fid_eq *eq = open_eq(*state, FI_WAIT_NONE);
	struct fi_eq_entry entry;
	uint32_t event;

	put(eq, 1);
	assert_int_equal(fi_eq_read(eq, &event, &entry, sizeof(entry) - 1, 0), -FI_ETOOSMALL);
	assert_int_equal(fi_eq_read(eq, &event, &entry, sizeof(entry), 0), sizeof(entry));
	assert_int_equal(fi_close(&eq->fid), 0);
}

static void errors__come_first(void **state)
{
	struct fid_eq *eq = open_eq(*state, FI_WAIT_NONE);
	struct fi_eq_err_entry error = {0};
	struct fi_eq_entry entry;
	uint32_t event;
	char small[3];

	assert_int_equal(fi_eq_readerr(eq, &error, 0), -FI_EAGAIN);
	put(eq, 1);
	put_error(eq, 7, "why");
	assert_int_equal(fi_eq_read(eq, &event, &entry, sizeof(entry), 0), -FI_EAVAIL);
	error.err_data = small;
	error.err_data_size = sizeof(small);
	assert_int_equal(fi_eq_readerr(eq, &error, FI_PEEK), sizeof(error));
	assert_memory_equal(small, "why", 3);
	error.err_data = NULL;
	assert_int_equal(fi_eq_readerr(eq, &error, 0), sizeof(error));
	assert_string_equal(error.err_data, "why");
	assert_int_equal(error.err_data_size, 4);
	assert_int_equal(error.data, 7);
	assert_int_equal(fi_eq_read(eq, &event, &entry, sizeof(entry), 0), sizeof(entry));
	assert_int_equal(fi_close(&eq->fid), 0);
}

/* The words that came with an error, in whole or as far as the reader's memory goes. */
static void errors__in_words(void **state)
{
	struct fid_eq *eq = open_eq(*state, FI_WAIT_NONE);
	struct fi_eq_err_entry error = {
		.err = FI_EIO,
		.prov_errno = GAMMA_PROV_ERRNO_TEXT + FI_EIO,
		.err_data = (void *) "the cable is out",
		.err_data_size = sizeof("the cable is out"),
	};
	char small[4], text[64];

	for (int i = 0; i < 2; i++)
		assert_int_equal(gamma_eq_report_error(
					 gamma_container_of(eq, struct gamma_eq, eq_fid), &error),
				 0);
	memset(&error, 0, sizeof(error));
	assert_int_equal(fi_eq_readerr(eq, &error, 0), sizeof(error));
	assert_string_equal(
		fi_eq_strerror(eq, error.prov_errno, error.err_data, text, sizeof(text)),
		"the cable is out");
	error.err_data = small;
	error.err_data_size = sizeof(small);
	assert_int_equal(fi_eq_readerr(eq, &error, 0), sizeof(error));
	assert_string_equal(fi_eq_strerror(eq, error.prov_errno, error.err_data, NULL, 0), "the");
	assert_string_equal(fi_eq_strerror(eq, error.prov_errno, NULL, NULL, 0),
			    fi_strerror(FI_EIO));
	assert_int_equal(fi_close(&eq->fid), 0);
}

static void errors__entry_used_again(void **state)
{
	struct fid_eq *eq = open_eq(*state, FI_WAIT_NONE);
	struct fi_eq_err_entry error = {0};

	put_error(eq, 1, "why");
	put_error(eq, 2, "for a longer reason");
	assert_int_equal(fi_eq_readerr(eq, &error, FI_PEEK), sizeof(error));
	assert_int_equal(fi_eq_readerr(eq, &error, 0), sizeof(error));
	assert_string_equal(error.err_data, "why");
	assert_int_equal(fi_eq_readerr(eq, &error, 0), sizeof(error));
	assert_string_equal(error.err_data, "for a longer reason");
	assert_int_equal(fi_close(&eq->fid), 0);
}

static void errors__old_structure_is_not_overrun(void **state)
{
	struct fake *fake = fake_open(FI_VERSION(1, 4), FI_THREAD_SAFE, FI_PROGRESS_MANUAL);
	struct fid_eq *eq = open_eq(fake, FI_WAIT_NONE);
	struct fi_eq_err_entry error = {.err_data_size = 0xdead};

	(void) state;
	put_error(eq, 7, "why");
	assert_int_equal(fi_eq_readerr(eq, &error, 0),
			 offsetof(struct fi_eq_err_entry, err_data_size));
	assert_int_equal(error.err_data_size, 0xdead);
	assert_int_equal(fi_close(&eq->fid), 0);
	fake_close(fake);
}

static void write__only_if_opened_for_it(void **state)
{
	struct fake *fake = *state;
	struct fi_eq_attr attr = {.wait_obj = FI_WAIT_NONE};
	struct fid_eq *eq;

	assert_int_equal(fi_eq_open(fake->fabric, &attr, &eq, NULL), 0);
	assert_int_equal(fi_eq_write(eq, FI_NOTIFY, &attr, sizeof(attr), 0), -FI_EINVAL);
	assert_int_equal(fi_close(&eq->fid), 0);
}

static void descriptor__follows_the_queue(void **state)
{
	struct fake *fake = *state;
	struct fid_eq *eq = open_eq(fake, FI_WAIT_FD);
	struct fid *fids[] = {&eq->fid};
	struct pollfd pfd = {.events = POLLIN};
	struct fi_eq_err_entry error = {0};
	struct fi_eq_entry entry;
	uint32_t event;

	assert_int_equal(fi_control(&eq->fid, FI_GETWAIT, &pfd.fd), 0);
	assert_int_equal(fi_trywait(fake->fabric, fids, 1), 0);
	assert_int_equal(poll(&pfd, 1, 0), 0);
	put(eq, 1);
	put_error(eq, 1, "why");
	assert_int_equal(fi_trywait(fake->fabric, fids, 1), -FI_EAGAIN);
	assert_int_equal(fi_eq_readerr(eq, &error, 0), sizeof(error));
	assert_int_equal(poll(&pfd, 1, 0), 1);
	assert_int_equal(fi_eq_read(eq, &event, &entry, sizeof(entry), 0), sizeof(entry));
	assert_int_equal(poll(&pfd, 1, 0), 0);
	assert_int_equal(fi_close(&eq->fid), 0);
}

/* Its reader sleeps, so it cannot be closed. */
static void *put_later(void *arg)
{
	struct fid_eq *eq = arg;

	usleep(20000);
	assert_int_equal(fi_close(&eq->fid), -FI_EBUSY);
	put(eq, 5);
	return NULL;
}

static void sread__event_or_timeout(void **state)
{
	static const enum fi_wait_obj objs[] = {FI_WAIT_UNSPEC, FI_WAIT_FD, FI_WAIT_YIELD};
	struct fi_eq_entry entry;
	uint32_t event;
	size_t i;

	for (i = 0; i < gamma_array_size(objs); i++) {
		struct fid_eq *eq = open_eq(*state, objs[i]);
		uint64_t start = gamma_now();
		pthread_t thread;

		assert_int_equal(fi_eq_sread(eq, &event, &entry, sizeof(entry), 30, 0), -FI_EAGAIN);
		assert_in_range(elapsed_ms(start), 30, 1000);
		assert_int_equal(pthread_create(&thread, NULL, put_later, eq), 0);
		assert_int_equal(fi_eq_sread(eq, &event, &entry, sizeof(entry), 10000, 0),
				 sizeof(entry));
		pthread_join(thread, NULL);
		assert_int_equal(fi_close(&eq->fid), 0);
	}
}

static void *close_wait_set(void *arg)
{
	usleep(20000);
	return (void *) (intptr_t) fi_close(arg);
}

static void wait_set__not_closed_while_a_thread_waits(void **state)
{
	struct fake *fake = *state;
	struct fi_wait_attr attr = {.wait_obj = FI_WAIT_UNSPEC};
	struct fid_wait *wait;
	pthread_t thread;
	void *closed;

	assert_int_equal(fi_wait_open(fake->fabric, &attr, &wait), 0);
	assert_int_equal(pthread_create(&thread, NULL, close_wait_set, &wait->fid), 0);
	assert_int_equal(fi_wait(wait, 300), -FI_ETIMEDOUT);
	pthread_join(thread, &closed);
	assert_int_equal((intptr_t) closed, -FI_EBUSY);
	assert_int_equal(fi_close(&wait->fid), 0);
}

static void wait_set__sees_events(void **state)
{
	struct fake *fake = *state;
	struct fi_wait_attr wait_attr = {.wait_obj = FI_WAIT_FD};
	struct fi_eq_attr attr = {.flags = FI_WRITE, .wait_obj = FI_WAIT_SET};
	struct fi_eq_entry entry;
	struct fid_wait *wait;
	struct fid_eq *eq;
	uint32_t event;

	assert_int_equal(fi_wait_open(fake->fabric, &wait_attr, &wait), 0);
	attr.wait_set = wait;
	assert_int_equal(fi_eq_open(fake->fabric, &attr, &eq, NULL), 0);
	assert_int_equal(fi_wait(wait, 10), -FI_ETIMEDOUT);
	put(eq, 1);
	assert_int_equal(fi_wait(wait, 5000), 0);
	assert_int_equal(fi_eq_sread(eq, &event, &entry, sizeof(entry), 0, 0), -FI_ENOSYS);
	assert_int_equal(fi_close(&eq->fid), 0);
	assert_int_equal(fi_close(&wait->fid), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fake_setup, fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(read__in_order_and_peek),
		TEST(read__without_a_buffer_gives_the_kind),
		TEST(read__buffer_too_small_loses_nothing),
		TEST(errors__come_first),
		TEST(errors__in_words),
		TEST(errors__entry_used_again),
		cmocka_unit_test(errors__old_structure_is_not_overrun),
		TEST(write__only_if_opened_for_it),
		TEST(descriptor__follows_the_queue),
		TEST(sread__event_or_timeout),
		TEST(wait_set__not_closed_while_a_thread_waits),
		TEST(wait_set__sees_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
