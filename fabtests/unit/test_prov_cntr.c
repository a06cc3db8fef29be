// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of prov/gamma/src/cntr.c, and of mr.c, whose regions count on counters. */
#include "prov_fake.h"
#include "../deprecated.h"

#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

static struct fid_cntr *open_cntr(struct fake *fake, enum fi_wait_obj wait_obj)
{
	struct fi_cntr_attr attr = {.wait_obj = wait_obj};
	struct fid_cntr *cntr;

	assert_int_equal(fi_cntr_open(fake->domain, &attr, &cntr, NULL), 0);
	return cntr;
}

static void values__set_add_and_errors(void **state)
{
	struct fid_cntr *cntr = open_cntr(*state, FI_WAIT_NONE);

	assert_int_equal(fi_cntr_set(cntr, 5), 0);
	assert_int_equal(fi_cntr_add(cntr, 3), 0);
	assert_int_equal(fi_cntr_read(cntr), 8);
	assert_int_equal(fi_cntr_seterr(cntr, 2), 0);
	assert_int_equal(fi_cntr_adderr(cntr, 1), 0);
	assert_int_equal(fi_cntr_readerr(cntr), 3);
	assert_int_equal(fi_cntr_read(cntr), 8);
	assert_int_equal(fi_close(&cntr->fid), 0);
}

static void read__moves_the_domain(void **state)
{
	struct fid_cntr *cntr = open_cntr(*state, FI_WAIT_NONE);
	struct gamma_fi_ep ep = {0};
	int before;

	fake_ep_enable(&ep, *state);
	before = ep.progressed;
	fi_cntr_read(cntr);
	assert_true(ep.progressed > before);
	before = ep.progressed;
	fi_cntr_readerr(cntr);
	assert_true(ep.progressed > before);
	before = ep.progressed;
	assert_int_equal(fi_cntr_wait(cntr, 1, 0), -FI_ETIMEDOUT);
	assert_true(ep.progressed > before);
	fake_ep_disable(&ep);
	assert_int_equal(fi_close(&cntr->fid), 0);
}

static void wait__threshold_or_timeout(void **state)
{
	static const enum fi_wait_obj objs[] = {FI_WAIT_NONE, FI_WAIT_UNSPEC, FI_WAIT_FD,
						FI_WAIT_YIELD};
	size_t i;

	for (i = 0; i < gamma_array_size(objs); i++) {
		struct fid_cntr *cntr = open_cntr(*state, objs[i]);
		uint64_t start = gamma_now();

		assert_int_equal(fi_cntr_wait(cntr, 0, 0), 0);
		assert_int_equal(fi_cntr_wait(cntr, 2, 20), -FI_ETIMEDOUT);
		assert_in_range(elapsed_ms(start), 20, 1000);
		fi_cntr_add(cntr, 3);
		assert_int_equal(fi_cntr_wait(cntr, 2, -1), 0);
		assert_int_equal(fi_close(&cntr->fid), 0);
	}
}

static void wait__ends_at_an_error_once(void **state)
{
	struct fid_cntr *cntr = open_cntr(*state, FI_WAIT_UNSPEC);

	fi_cntr_adderr(cntr, 1);
	assert_int_equal(fi_cntr_wait(cntr, 1, -1), -FI_EAVAIL);
	assert_int_equal(fi_cntr_wait(cntr, 1, 10), -FI_ETIMEDOUT);
	fi_cntr_adderr(cntr, 1);
	assert_int_equal(fi_cntr_readerr(cntr), 2);
	assert_int_equal(fi_cntr_wait(cntr, 1, 10), -FI_ETIMEDOUT);
	assert_int_equal(fi_close(&cntr->fid), 0);
}

static void *add_later(void *arg)
{
	usleep(20000);
	fi_cntr_add(arg, 1);
	return NULL;
}

static void wait__woken_by_another_thread(void **state)
{
	struct fid_cntr *cntr = open_cntr(*state, FI_WAIT_UNSPEC);
	uint64_t start = gamma_now();
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, add_later, cntr), 0);
	assert_int_equal(fi_cntr_wait(cntr, 1, 10000), 0);
	assert_in_range(elapsed_ms(start), 10, 5000);
	pthread_join(thread, NULL);
	assert_int_equal(fi_close(&cntr->fid), 0);
}

static void *wait_in_vain(void *arg)
{
	return (void *) (intptr_t) fi_cntr_wait(arg, 1, 5000);
}

/* Each of the waiting threads hears of it, even if another has read the errors by then. */
static void wait__an_error_ends_it_for_all(void **state)
{
	struct fid_cntr *cntr = open_cntr(*state, FI_WAIT_UNSPEC);
	struct gamma_cntr *inside = gamma_container_of(cntr, struct gamma_cntr, cntr_fid);
	pthread_t threads[3];
	void *result;
	size_t i;

	for (i = 0; i < gamma_array_size(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, wait_in_vain, cntr), 0);
	do { /* until all of them sleep */
		usleep(1000);
		gamma_domain_lock(inside->domain);
		i = (size_t) inside->waiter.sleepers;
		gamma_domain_unlock(inside->domain);
	} while (i < gamma_array_size(threads));
	assert_int_equal(fi_close(&cntr->fid), -FI_EBUSY);
	fi_cntr_adderr(cntr, 1);
	assert_int_equal(fi_cntr_readerr(cntr), 1);
	for (i = 0; i < gamma_array_size(threads); i++) {
		pthread_join(threads[i], &result);
		assert_int_equal((intptr_t) result, -FI_EAVAIL);
	}
	assert_int_equal(fi_cntr_wait(cntr, 1, 10), -FI_ETIMEDOUT);
	assert_int_equal(fi_close(&cntr->fid), 0);
}

static void trywait__reports_a_change_once(void **state)
{
	struct fake *fake = *state;
	struct fid_cntr *cntr = open_cntr(fake, FI_WAIT_FD);
	struct fid *fids[] = {&cntr->fid};
	struct pollfd pfd = {.events = POLLIN};

	assert_int_equal(fi_control(&cntr->fid, FI_GETWAIT, &pfd.fd), 0);
	fi_cntr_add(cntr, 1);
	assert_int_equal(fi_trywait(fake->fabric, fids, 1), -FI_EAGAIN);
	assert_int_equal(fi_trywait(fake->fabric, fids, 1), 0);
	assert_int_equal(poll(&pfd, 1, 0), 0);
	fi_cntr_add(cntr, 1);
	assert_int_equal(poll(&pfd, 1, 0), 1);
	assert_int_equal(fi_cntr_read(cntr), 2);
	assert_int_equal(fi_trywait(fake->fabric, fids, 1), 0);
	assert_int_equal(fi_close(&cntr->fid), 0);
}

static void poll_set__reports_a_change(void **state)
{
	struct fake *fake = *state;
	struct fid_cntr *cntr = open_cntr(fake, FI_WAIT_NONE);
	struct fi_poll_attr attr = {0};
	struct fid_poll *poll;
	void *context;

	assert_int_equal(fi_poll_open(fake->domain, &attr, &poll), 0);
	assert_int_equal(fi_poll_add(poll, &cntr->fid, 0), 0);
	assert_int_equal(fi_poll(poll, &context, 1), 0);
	fi_cntr_adderr(cntr, 1);
	assert_int_equal(fi_poll(poll, &context, 1), 1);
	assert_int_equal(fi_poll(poll, &context, 1), 0);
	/* A set that closes lets its members go. */
	assert_int_equal(fi_close(&poll->fid), 0);
	assert_int_equal(fi_close(&cntr->fid), 0);
}

static void region__keys(void **state)
{
	struct fake *fake = *state;
	uint64_t key = 0xfedcba9876543210ull;
	struct fid_mr *mr, *other;
	static char buf[100];

	assert_int_equal(
		fi_mr_reg(fake->domain, buf, sizeof(buf), FI_REMOTE_WRITE, 0, key, 0, &mr, NULL),
		0);
	assert_int_equal(fi_mr_key(mr), key);
	assert_int_equal(fi_mr_reg(fake->domain, buf, 10, FI_REMOTE_READ, 0, key, 0, &other, NULL),
			 -FI_ENOKEY);
	assert_ptr_equal(&gamma_mr_find(fake->gamma_domain, key)->mr_fid, mr);
	assert_null(gamma_mr_find(fake->gamma_domain, key + 1));
	assert_int_equal(gamma_mr_find(fake->gamma_domain, key)->len, sizeof(buf));
	assert_int_equal(gamma_mr_find(fake->gamma_domain, key)->offset, 0);
	assert_int_equal(fi_close(&fake->domain->fid), -FI_EBUSY);
	assert_int_equal(fi_close(&mr->fid), 0);
	assert_null(gamma_mr_find(fake->gamma_domain, key));
}

/* Keys may be handed over raw, though nothing needs it; the base is what addresses count from. */
static void region__raw_keys(void **state)
{
	static const int modes[] = {0, FI_MR_VIRT_ADDR};
	struct fake *fake = *state;
	uint64_t base = 1, key = 0;
	static char buf[100];
	struct fid_mr *mr;
	uint8_t raw[9];
	size_t len, i;

	for (i = 0; i < gamma_array_size(modes); i++) {
		fake->gamma_domain->mr_mode = (uint32_t) modes[i];
		assert_int_equal(fi_mr_reg(fake->domain, buf, sizeof(buf), FI_REMOTE_READ, 0,
					   0xfedcba9876543210ull, 0, &mr, NULL),
				 0);
		len = 0;
		assert_int_equal(fi_mr_raw_attr(mr, &base, NULL, &len, 0), -FI_ETOOSMALL);
		assert_int_equal(len, 8);
		len = sizeof(raw);
		assert_int_equal(fi_mr_raw_attr(mr, &base, raw, &len, 0), 0);
		assert_int_equal(len, 8);
		assert_int_equal(base, modes[i] ? (uintptr_t) buf : 0);
		assert_int_equal(fi_mr_map_raw(fake->domain, base, raw, 7, &key, 0), -FI_EINVAL);
		assert_int_equal(fi_mr_map_raw(fake->domain, base, raw, len, &key, 0), 0);
		assert_int_equal(key, fi_mr_key(mr));
		assert_int_equal(fi_mr_unmap_key(fake->domain, key), 0);
		assert_int_equal(fi_close(&mr->fid), 0);
	}
}

/* Without FI_HMEM, which is not offered, nobody looks at whose memory it is. */
static void region__interface_is_ignored(void **state)
{
	struct fake *fake = *state;
	struct iovec iov = {.iov_base = fake, .iov_len = 8};
	struct fi_mr_attr attr = {
		.mr_iov = &iov, .iov_count = 1, .requested_key = 1, .iface = FI_HMEM_CUDA};
	struct fid_mr *mr;

	assert_int_equal(fi_mr_regattr(fake->domain, &attr, 0, &mr), 0);
	assert_int_equal(fi_close(&mr->fid), 0);
}

/* fi_mr_attr since 2.0, which the headers here need not have. */
struct newer_attr {
	struct fi_mr_attr attr;
	uint64_t more[8];
};

static int register_part(struct fake *fake, struct iovec *iov, struct fid_mr *base,
			 struct fid_mr **mr)
{
	struct newer_attr newer = {.attr = {.mr_iov = iov,
					    .iov_count = 1,
					    .access = FI_REMOTE_READ,
					    .requested_key = 2}};
	size_t place = offsetof(struct fi_mr_attr, device) + 3 * 8;

	memcpy((char *) &newer + place, &base, sizeof(base));
	return fi_mr_regattr(fake->domain, &newer.attr, 0, mr);
}

/* It is a region as others are, which its base does not leave alone. */
static void region__part_of_another(void **state)
{
	static char buf[100];
	struct iovec iov = {.iov_base = buf + 90, .iov_len = 10};
	struct fid_mr *base, *part;
	struct fake *fake = *state;

	fake->gamma_domain->fabric->api_version = FI_VERSION(2, 0);
	assert_int_equal(
		fi_mr_reg(fake->domain, buf + 1, 99, FI_REMOTE_WRITE, 0, 1, 0, &base, NULL), 0);
	assert_int_equal(register_part(fake, &iov, base, &part), 0);
	assert_int_equal(gamma_mr_find(fake->gamma_domain, 2)->access, FI_REMOTE_READ);
	assert_int_equal(fi_close(&base->fid), -FI_EBUSY);
	assert_non_null(gamma_mr_find(fake->gamma_domain, 1));
	assert_int_equal(fi_close(&part->fid), 0);
	iov.iov_len = 11;
	assert_int_equal(register_part(fake, &iov, base, &part), -FI_EINVAL);
	iov.iov_base = buf;
	assert_int_equal(register_part(fake, &iov, base, &part), -FI_EINVAL);
	assert_int_equal(fi_close(&base->fid), 0);
}

/* Older programs' structures end before it. */
static void region__part_of_another_is_unknown_to_old_versions(void **state)
{
	struct fid_mr *base = (struct fid_mr *) 1, *mr;
	struct fake *fake = *state;
	struct iovec iov = {.iov_base = fake, .iov_len = 8};

	assert_int_equal(register_part(fake, &iov, base, &mr), 0);
	assert_int_equal(fi_close(&mr->fid), 0);
}

static void region__provider_keys_and_addresses(void **state)
{
	struct fake *fake = *state;
	struct fid_mr *mr[2];
	static char buf[100];
	int i;

	fake->gamma_domain->mr_mode = FI_MR_PROV_KEY | FI_MR_VIRT_ADDR;
	for (i = 0; i < 2; i++)
		assert_int_equal(fi_mr_reg(fake->domain, buf, sizeof(buf), FI_REMOTE_WRITE, 0, 7, 0,
					   &mr[i], NULL),
				 0);
	assert_int_not_equal(fi_mr_key(mr[0]), fi_mr_key(mr[1]));
	assert_int_equal(gamma_mr_find(fake->gamma_domain, fi_mr_key(mr[1]))->offset,
			 (uintptr_t) buf);
	for (i = 0; i < 2; i++)
		assert_int_equal(fi_close(&mr[i]->fid), 0);
}

static void region__refuses_what_it_cannot_do(void **state)
{
	struct fake *fake = *state;
	struct iovec iov[GAMMA_IOV_LIMIT + 1] = {{NULL, SIZE_MAX}, {NULL, 1}};
	struct fid_mr *mr;

	assert_int_equal(fi_mr_regv(fake->domain, iov, GAMMA_IOV_LIMIT + 1, 0, 0, 1, 0, &mr, NULL),
			 -FI_EINVAL);
	assert_int_equal(fi_mr_regv(fake->domain, iov, 0, 0, 0, 1, 0, &mr, NULL), -FI_EINVAL);
	assert_int_equal(fi_mr_regv(fake->domain, iov, 2, 0, 0, 1, 0, &mr, NULL), -FI_EINVAL);
	assert_int_equal(fi_mr_regv(fake->domain, iov, 1, 0, 0, 1, 1ull << 40, &mr, NULL),
			 -FI_EBADFLAGS);
	/* All of memory is a region, too. */
	assert_int_equal(fi_mr_regv(fake->domain, iov, 1, 0, 0, 1, 0, &mr, NULL), 0);
	assert_int_equal(fi_close(&mr->fid), 0);
}

static void region__holds_its_counter(void **state)
{
	struct fake *fake = *state;
	struct fid_cntr *cntr = open_cntr(fake, FI_WAIT_NONE);
	struct fid_mr *mr;

	assert_int_equal(
		fi_mr_reg(fake->domain, fake, 8, FI_REMOTE_WRITE, 0, 1, FI_RMA_EVENT, &mr, NULL),
		0);
	assert_int_equal(fi_mr_bind(mr, &cntr->fid, FI_SEND), -FI_EBADFLAGS);
	assert_int_equal(fi_mr_bind(mr, &cntr->fid, FI_REMOTE_WRITE), 0);
	assert_int_equal(fi_mr_enable(mr), 0);
	assert_int_equal(fi_close(&cntr->fid), -FI_EBUSY);
	assert_int_equal(fi_close(&mr->fid), 0);
	assert_int_equal(fi_close(&cntr->fid), 0);
}

/* Only if the domain's event queue is to be informed: then there is an event for each that
 * succeeds. */
static void region__informs_the_event_queue(void **state)
{
	struct fake *fake = fake_open(FI_VERSION(1, 17), FI_THREAD_SAFE, FI_PROGRESS_MANUAL);
	struct fi_eq_attr attr = {0};
	struct fi_eq_entry entry;
	struct fid_mr *mr, *other;
	struct fid_eq *eq;
	uint32_t event;

	(void) state;
	assert_int_equal(fi_eq_open(fake->fabric, &attr, &eq, NULL), 0);
	assert_int_equal(fi_domain_bind(fake->domain, &eq->fid, GAMMA_REG_MR), 0);
	assert_int_equal(fi_mr_reg(fake->domain, fake, 8, FI_REMOTE_READ, 0, 1, 0, &mr, fake), 0);
	assert_int_equal(fi_mr_reg(fake->domain, fake, 8, FI_REMOTE_READ, 0, 1, 0, &other, fake),
			 -FI_ENOKEY);
	assert_int_equal(fi_eq_read(eq, &event, &entry, sizeof(entry), 0), sizeof(entry));
	assert_int_equal(event, FI_MR_COMPLETE);
	assert_ptr_equal(entry.fid, &mr->fid);
	assert_ptr_equal(entry.context, fake);
	assert_int_equal(fi_eq_read(eq, &event, &entry, sizeof(entry), 0), -FI_EAGAIN);
	assert_int_equal(fi_close(&mr->fid), 0);
	assert_int_equal(fi_close(&fake->domain->fid), 0);
	assert_int_equal(fi_close(&eq->fid), 0);
	assert_int_equal(fi_close(&fake->fabric->fid), 0);
	free(fake);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fake_setup, fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(values__set_add_and_errors),
		TEST(read__moves_the_domain),
		TEST(wait__threshold_or_timeout),
		TEST(wait__ends_at_an_error_once),
		TEST(wait__woken_by_another_thread),
		TEST(wait__an_error_ends_it_for_all),
		TEST(trywait__reports_a_change_once),
		TEST(poll_set__reports_a_change),
		TEST(region__keys),
		TEST(region__raw_keys),
		TEST(region__interface_is_ignored),
		TEST(region__part_of_another),
		TEST(region__part_of_another_is_unknown_to_old_versions),
		TEST(region__provider_keys_and_addresses),
		TEST(region__refuses_what_it_cannot_do),
		TEST(region__holds_its_counter),
		TEST(region__informs_the_event_queue),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
