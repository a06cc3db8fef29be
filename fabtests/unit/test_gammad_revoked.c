// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* gammad/revoked.c: the list of revoked users, and its file. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"

#include "gammad/revoked.h"

static char path[64];

static int setup(void **state)
{
	struct gammad_revoked *revoked = calloc(1, sizeof(*revoked));
	int fd;

	assert_non_null(revoked);
	strcpy(path, "/tmp/gamma-test-XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	unlink(path);
	assert_int_equal(gammad_revoked_load(revoked, path), 0);
	*state = revoked;
	return 0;
}

static int teardown(void **state)
{
	struct gammad_revoked *revoked = *state;

	free(revoked->uids);
	free(revoked);
	unlink(path);
	return 0;
}

static void write_file(const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static void load__without_a_file_is_empty(void **state)
{
	const struct gammad_revoked *revoked = *state;

	assert_int_equal(revoked->count, 0);
	assert_false(gammad_revoked_has(revoked, 0));
}

static void add__outlives_a_restart(void **state)
{
	struct gammad_revoked *revoked = *state, later;

	assert_int_equal(gammad_revoked_add(revoked, 1000), 0);
	assert_int_equal(gammad_revoked_add(revoked, 1000), 0);
	assert_int_equal(gammad_revoked_add(revoked, 4000000000u), 0);
	assert_int_equal(gammad_revoked_load(&later, path), 0);
	assert_int_equal(later.count, 2);
	assert_true(gammad_revoked_has(&later, 1000));
	assert_true(gammad_revoked_has(&later, 4000000000u));
	assert_false(gammad_revoked_has(&later, 1001));
	free(later.uids);
}

static void remove__of_one_leaves_the_others(void **state)
{
	struct gammad_revoked *revoked = *state, later;

	gammad_revoked_add(revoked, 1);
	gammad_revoked_add(revoked, 2);
	gammad_revoked_add(revoked, 3);
	assert_true(gammad_revoked_remove(revoked, 1));
	assert_false(gammad_revoked_remove(revoked, 1));
	assert_int_equal(gammad_revoked_load(&later, path), 0);
	assert_int_equal(later.count, 2);
	assert_true(gammad_revoked_has(&later, 2) && gammad_revoked_has(&later, 3));
	free(later.uids);
}

static void clear__removes_the_file(void **state)
{
	struct gammad_revoked *revoked = *state;

	gammad_revoked_add(revoked, 1);
	gammad_revoked_clear(revoked);
	assert_int_equal(revoked->count, 0);
	assert_int_equal(access(path, F_OK), -1);
	gammad_revoked_clear(revoked);
}

static void load__of_a_damaged_file_is_refused(void **state)
{
	static const char *const texts[] = {"12\nx\n", "12 13\n", "-\n", "4294967295\n", "7"};
	struct gammad_revoked *revoked = *state;

	for (size_t i = 0; i < gamma_array_size(texts); i++) {
		write_file(texts[i]);
		assert_int_equal(gammad_revoked_load(revoked, path), -EINVAL);
		free(revoked->uids);
		revoked->uids = NULL;
	}
}

static void add__beyond_the_bound_is_refused(void **state)
{
	struct gammad_revoked *revoked = *state;

	revoked->uids = calloc(GAMMAD_REVOKED_MAX, sizeof(*revoked->uids));
	assert_non_null(revoked->uids);
	revoked->count = GAMMAD_REVOKED_MAX;
	assert_int_equal(gammad_revoked_add(revoked, 5), -ENOSPC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(load__without_a_file_is_empty, setup, teardown),
		cmocka_unit_test_setup_teardown(add__outlives_a_restart, setup, teardown),
		cmocka_unit_test_setup_teardown(remove__of_one_leaves_the_others, setup, teardown),
		cmocka_unit_test_setup_teardown(clear__removes_the_file, setup, teardown),
		cmocka_unit_test_setup_teardown(load__of_a_damaged_file_is_refused, setup,
						teardown),
		cmocka_unit_test_setup_teardown(add__beyond_the_bound_is_refused, setup, teardown),
	};

	return cmocka_run_group_tests_name("gammad_revoked", tests, NULL, NULL);
}
