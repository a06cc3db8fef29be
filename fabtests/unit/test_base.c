// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of common/base: numbers that wrap, lists, the log hook, words shown. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/closest.h"
#include "base/variables.h"

static void seq__before_and_after_the_wrap(void **state)
{
	(void) state;
	assert_true(gamma_seq_before(1, 2));
	assert_false(gamma_seq_before(2, 1));
	assert_false(gamma_seq_before(5, 5));
	assert_true(gamma_seq_before(UINT32_MAX, 0));
	assert_false(gamma_seq_before(0, UINT32_MAX));
	assert_true(gamma_seq_before(0, INT32_MAX));
}

struct item {
	int number;
	struct gamma_list entry;
};

static void list__keeps_order_and_forgets(void **state)
{
	struct gamma_list head, *pos, *tmp;
	struct item items[4];
	int expected = 0;

	(void) state;
	gamma_list_init(&head);
	assert_true(gamma_list_empty(&head));
	for (int i = 0; i < 4; i++) {
		items[i].number = i;
		gamma_list_append(&head, &items[i].entry);
	}
	gamma_list_for_each (pos, &head)
		assert_int_equal(gamma_list_entry(pos, struct item, entry)->number, expected++);
	gamma_list_for_each_safe (pos, tmp, &head)
		if (gamma_list_entry(pos, struct item, entry)->number % 2)
			gamma_list_remove(pos);
	assert_ptr_equal(gamma_list_first(&head, struct item, entry), &items[0]);
	assert_ptr_equal(items[0].entry.next, &items[2].entry);
	gamma_list_remove(&items[1].entry); /* not in a list: nothing happens */
	assert_true(gamma_list_empty(&items[1].entry));
}

static char heard[600];
static enum gamma_log_level heard_level;

static void listen(enum gamma_log_level level, const char *line)
{
	heard_level = level;
	snprintf(heard, sizeof(heard), "%s", line);
}

static void log__goes_where_it_is_directed(void **state)
{
	(void) state;
	gamma_warn("nobody %s", "listens");
	gamma_log_set_sink(listen);
	gamma_warn("eth%d: no carrier", 0);
	assert_string_equal(heard, "eth0: no carrier");
	assert_int_equal(heard_level, GAMMA_LOG_WARN);
	gamma_info("left out");
	assert_int_equal(heard_level, GAMMA_LOG_INFO);
	gamma_log_set_sink(NULL);
	gamma_warn("nobody listens again");
	assert_string_equal(heard, "left out");
}

static void log__long_line_is_truncated(void **state)
{
	char text[1000];

	(void) state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	gamma_log_set_sink(listen);
	gamma_warn("%s", text);
	assert_int_equal(strlen(heard), 511);
	gamma_log_set_sink(NULL);
}

static void printable__short_and_on_one_line(void **state)
{
	static const struct {
		const char *word, *shown;
	} rows[] = {
		{"node01", "node01"},
		{"", ""},
		{"two words", "two words"},
		{"1\n2\t\x1b[31m", "1?2??[31m"},
		{"\xef\xbb\xbfnic", "???nic"},
		{"12345678901234567890123456789012345678901234",
		 "12345678901234567890123456789012345678901234"},
		{"123456789012345678901234567890123456789012345",
		 "12345678901234567890123456789012345678901234..."},
	};

	(void) state;
	for (size_t i = 0; i < gamma_array_size(rows); i++)
		assert_string_equal(gamma_printable(rows[i].word).text, rows[i].shown);
}

static void closest__counts_edits(void **state)
{
	static const struct {
		const char *a, *b;
		unsigned distance;
	} rows[] = {
		{"RINGSIZE", "RING_SIZE", 1},
		{"RING_SIZE", "RING_SIZE", 0},
		{"", "LINK", 4},
		{"LINK", "", 4},
		{"ETHERTIPE", "ETHERTYPE", 1},
		{"STAT", "STATS", 1},
		{"IFCAE", "IFACE", 2},
		{"CONF", "LINK", 3},
	};
	char word[100] = {0};

	(void) state;
	for (size_t i = 0; i < gamma_array_size(rows); i++)
		assert_int_equal(gamma_closest_distance(rows[i].a, rows[i].b), rows[i].distance);
	memset(word, 'x', sizeof(word) - 1);
	assert_int_equal(gamma_closest_distance(word, word), 0);
	assert_int_equal(gamma_closest_distance(word, "x"), GAMMA_CLOSEST_MAX - 1);
}

static void variables__names_the_nearest(void **state)
{
	static const struct {
		const char *name, *nearest; /* nearest NULL: none is near */
	} rows[] = {
		{"FI_GAMMA_RINGSIZE", "(is it FI_GAMMA_RING_SIZE?)"},
		{"FI_GAMMA_iface", "(is it FI_GAMMA_IFACE?)"},
		{"FI_GAMMA_", NULL},
		{"FI_GAMMA_QQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQ", NULL},
	};
	char error[256];

	(void) state;
	setenv("FI_GAMMA_LINK", "udp", 1);
	assert_int_equal(gamma_variables_check(error, sizeof(error)), 0);
	unsetenv("FI_GAMMA_LINK");
	for (size_t i = 0; i < gamma_array_size(rows); i++) {
		setenv(rows[i].name, "1", 1);
		assert_int_equal(gamma_variables_check(error, sizeof(error)), -EINVAL);
		assert_int_equal(!strstr(error, "is it"), !rows[i].nearest);
		if (rows[i].nearest)
			assert_non_null(strstr(error, rows[i].nearest));
		unsetenv(rows[i].name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(seq__before_and_after_the_wrap),   TEST(list__keeps_order_and_forgets),
		TEST(log__goes_where_it_is_directed),   TEST(log__long_line_is_truncated),
		TEST(printable__short_and_on_one_line), TEST(closest__counts_edits),
		TEST(variables__names_the_nearest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
