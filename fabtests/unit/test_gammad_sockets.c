// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* gammad/sockets.c: which packet sockets are open. */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "gammad/sockets.h"

#define HEAD        "sk               RefCnt Type Proto  Iface R Rmem   User   Inode\n"
#define LINE(inode) "0000000000000000 3      3    88b5   5     1 0      1000   " #inode "\n"

/* One text a reading, the last one for all that follow. */
static const char *const *texts;
static unsigned readings;

static FILE *next_list(void)
{
	const char *text = *texts;

	readings++;
	if (texts[1])
		texts++;
	return text ? fmemopen((void *) (uintptr_t) text, strlen(text), "r") : NULL;
}

static bool read_all(struct gammad_sockets *sockets, const char *const lists[])
{
	texts = lists;
	readings = 0;
	return gammad_sockets_read(sockets, next_list);
}

static void read__all_lines(void **state)
{
	static const char *const lists[] = {HEAD LINE(30) LINE(10) LINE(20), NULL};
	struct gammad_sockets sockets;

	(void) state;
	assert_true(read_all(&sockets, lists));
	assert_int_equal(readings, 2);
	assert_int_equal(sockets.count, 3);
	assert_true(gammad_sockets_has(&sockets, 10) && gammad_sockets_has(&sockets, 30));
	assert_false(gammad_sockets_has(&sockets, 25));
	free(sockets.inodes);
}

static void read__none(void **state)
{
	static const char *const lists[] = {HEAD, NULL};
	struct gammad_sockets sockets;

	(void) state;
	assert_true(read_all(&sockets, lists));
	assert_false(gammad_sockets_has(&sockets, 0));
	free(sockets.inodes);
}

/* 10 closes after it was listed, so that 20 takes its position and is skipped. */
static void read__one_closes_meanwhile(void **state)
{
	static const char *const lists[] = {HEAD LINE(10) LINE(30), HEAD LINE(20) LINE(30), NULL};
	struct gammad_sockets sockets;

	(void) state;
	assert_true(read_all(&sockets, lists));
	assert_int_equal(readings, 3);
	assert_false(gammad_sockets_has(&sockets, 10));
	assert_true(gammad_sockets_has(&sockets, 20) && gammad_sockets_has(&sockets, 30));
	free(sockets.inodes);
}

static void read__never_the_same(void **state)
{
	static const char *const lists[] = {
		HEAD LINE(1),  HEAD LINE(2),  HEAD LINE(3),  HEAD LINE(4),  HEAD LINE(5),
		HEAD LINE(6),  HEAD LINE(7),  HEAD LINE(8),  HEAD LINE(9),  HEAD LINE(10),
		HEAD LINE(11), HEAD LINE(12), HEAD LINE(13), HEAD LINE(14), HEAD LINE(15),
		HEAD LINE(16), NULL};
	struct gammad_sockets sockets;

	(void) state;
	assert_false(read_all(&sockets, lists));
	assert_int_equal(errno, EAGAIN);
	free(sockets.inodes);
}

static void read__no_list(void **state)
{
	static const char *const lists[] = {NULL, NULL};
	struct gammad_sockets sockets;

	(void) state;
	assert_false(read_all(&sockets, lists));
	free(sockets.inodes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(read__all_lines),
		cmocka_unit_test(read__none),
		cmocka_unit_test(read__one_closes_meanwhile),
		cmocka_unit_test(read__never_the_same),
		cmocka_unit_test(read__no_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
