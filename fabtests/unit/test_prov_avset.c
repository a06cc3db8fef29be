// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of prov/gamma/src/avset.c. */
#include "avset.h"
#include "prov_fake.h"

#include <arpa/inet.h>

enum { ADDRESSES = 10, REMOVED = 5 };

static struct fid_av *av;

static int open_av(void **state)
{
	struct fi_av_attr attr = {.type = FI_AV_TABLE};
	fi_addr_t index;
	struct fake *fake;

	assert_int_equal(fake_setup(state), 0);
	fake = *state;
	assert_int_equal(fi_av_open(fake->domain, &attr, &av, NULL), 0);
	for (unsigned i = 0; i < ADDRESSES; i++) {
		struct gamma_addr addr = fake_addr((uint8_t) (i + 1), 1000, 7);

		assert_int_equal(fi_av_insert(av, &addr, 1, &index, 0, NULL), 1);
	}
	index = REMOVED;
	assert_int_equal(fi_av_remove(av, &index, 1, 0), 0);
	return 0;
}

static int close_av(void **state)
{
	assert_int_equal(fi_close(&av->fid), 0);
	return fake_teardown(state);
}

static struct fid_av_set *open_set(fi_addr_t start, fi_addr_t end, uint64_t stride, uint64_t flags)
{
	struct fi_av_set_attr attr = {
		.start_addr = start, .end_addr = end, .stride = stride, .flags = flags};
	struct fid_av_set *set;

	assert_int_equal(fi_av_set(av, &attr, &set, NULL), 0);
	return set;
}

static void expect(struct fid_av_set *set_fid, size_t count, const fi_addr_t *members)
{
	const struct gamma_avset *set = gamma_container_of(set_fid, struct gamma_avset, set_fid);

	assert_int_equal(set->count, count);
	assert_memory_equal(set->members, members, count * sizeof(*members));
	assert_int_equal(fi_close(&set_fid->fid), 0);
}

#define EXPECT(set, ...)                                                     \
	do {                                                                 \
		const fi_addr_t members_[] = {__VA_ARGS__};                  \
                                                                             \
		expect(set, sizeof(members_) / sizeof(*members_), members_); \
	} while (0)

static void open__takes_the_addresses_of_the_range(void **state)
{
	(void) state;
	EXPECT(open_set(2, 4, 1, 0), 2, 3, 4);
	EXPECT(open_set(2, 4, 0, 0), 2, 3, 4);
	EXPECT(open_set(1, 9, 2, 0), 1, 3, 7, 9);
	EXPECT(open_set(8, 1000, 1, 0), 8, 9);
	EXPECT(open_set(4, 4, UINT64_MAX, 0), 4);
	EXPECT(open_set(0, 0, 0, FI_UNIVERSE), 0, 1, 2, 3, 4, 6, 7, 8, 9);
	expect(open_set(FI_ADDR_NOTAVAIL, FI_ADDR_NOTAVAIL, 0, 0), 0, NULL);
}

static void open__refuses_what_makes_no_sense(void **state)
{
	struct fi_av_set_attr attr = {.start_addr = 3, .end_addr = 2, .stride = 1};
	struct fid_av_set *set;

	(void) state;
	assert_int_equal(fi_av_set(av, NULL, &set, NULL), -FI_EINVAL);
	assert_int_equal(fi_av_set(av, &attr, &set, NULL), -FI_EINVAL);
	attr = (struct fi_av_set_attr){.start_addr = FI_ADDR_NOTAVAIL, .end_addr = 2};
	assert_int_equal(fi_av_set(av, &attr, &set, NULL), -FI_EINVAL);
	attr = (struct fi_av_set_attr){.comm_key_size = 4};
	assert_int_equal(fi_av_set(av, &attr, &set, NULL), -FI_EINVAL);
	attr = (struct fi_av_set_attr){.start_addr = FI_ADDR_NOTAVAIL,
				       .end_addr = FI_ADDR_NOTAVAIL,
				       .count = SIZE_MAX / sizeof(fi_addr_t) + 1};
	assert_int_equal(fi_av_set(av, &attr, &set, NULL), -FI_ENOMEM);
	attr = (struct fi_av_set_attr){.flags = FI_MORE};
	assert_int_equal(fi_av_set(av, &attr, &set, NULL), -FI_EBADFLAGS);
}

/* A program may say which operations the set is for. */
static void open__operations_of_a_set(void **state)
{
	struct fi_av_set_attr attr = {.flags = FI_UNIVERSE | FI_BARRIER_SET | FI_ALLTOALL_SET};
	struct fid_av_set *set;

	(void) state;
	EXPECT(open_set(2, 3, 1, FI_BARRIER_SET | FI_BROADCAST_SET | FI_ALLREDUCE_SET), 2, 3);
	EXPECT(open_set(2, 3, 1, FI_ALLGATHER_SET | FI_REDUCE_SET | FI_SCATTER_SET | FI_GATHER_SET),
	       2, 3);
	assert_int_equal(fi_av_set(av, &attr, &set, NULL), -FI_ENOSYS);
	attr.flags = FI_REDUCE_SCATTER_SET;
	assert_int_equal(fi_av_set(av, &attr, &set, NULL), -FI_ENOSYS);
}

static void set__keeps_its_vector_open(void **state)
{
	struct fid_av_set *set = open_set(0, 1, 1, 0);

	(void) state;
	assert_int_equal(fi_close(&av->fid), -FI_EBUSY);
	assert_int_equal(fi_close(&set->fid), 0);
}

static void insert__appends_and_remove_keeps_the_order(void **state)
{
	struct fid_av_set *set = open_set(2, 3, 1, 0);

	(void) state;
	assert_int_equal(fi_av_set_insert(set, 9), 0);
	assert_int_equal(fi_av_set_insert(set, 0), 0);
	assert_int_equal(fi_av_set_insert(set, 9), -FI_EINVAL);
	assert_int_equal(fi_av_set_insert(set, REMOVED), -FI_EINVAL);
	assert_int_equal(fi_av_set_insert(set, FI_ADDR_NOTAVAIL), -FI_EINVAL);
	assert_int_equal(fi_av_set_remove(set, 3), 0);
	assert_int_equal(fi_av_set_remove(set, 3), -FI_EINVAL);
	EXPECT(set, 2, 9, 0);
}

static void sets__are_combined(void **state)
{
	struct fid_av_set *other = open_set(3, 6, 1, 0), *set;

	(void) state;
	set = open_set(1, 3, 1, 0);
	assert_int_equal(fi_av_set_union(set, other), 0);
	EXPECT(set, 1, 2, 3, 4, 6);
	set = open_set(0, 9, 1, 0);
	assert_int_equal(fi_av_set_intersect(set, other), 0);
	EXPECT(set, 3, 4, 6);
	set = open_set(0, 9, 1, 0);
	assert_int_equal(fi_av_set_diff(set, other), 0);
	EXPECT(set, 0, 1, 2, 7, 8, 9);
	assert_int_equal(fi_av_set_diff(other, other), 0);
	expect(other, 0, NULL);
}

static void sets__of_two_vectors_are_not_combined(void **state)
{
	struct fi_av_attr av_attr = {.type = FI_AV_TABLE};
	struct fi_av_set_attr attr = {.start_addr = FI_ADDR_NOTAVAIL, .end_addr = FI_ADDR_NOTAVAIL};
	struct fid_av_set *set = open_set(0, 1, 1, 0), *other;
	struct fake *fake = *state;
	struct fid_av *another;

	assert_int_equal(fi_av_open(fake->domain, &av_attr, &another, NULL), 0);
	assert_int_equal(fi_av_set(another, &attr, &other, NULL), 0);
	assert_int_equal(fi_av_set_union(set, other), -FI_EINVAL);
	assert_int_equal(fi_av_set_intersect(set, other), -FI_EINVAL);
	assert_int_equal(fi_close(&other->fid), 0);
	assert_int_equal(fi_close(&another->fid), 0);
	EXPECT(set, 0, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_av, close_av)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(open__takes_the_addresses_of_the_range),
		TEST(open__refuses_what_makes_no_sense),
		TEST(open__operations_of_a_set),
		TEST(set__keeps_its_vector_open),
		TEST(insert__appends_and_remove_keeps_the_order),
		TEST(sets__are_combined),
		TEST(sets__of_two_vectors_are_not_combined),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
