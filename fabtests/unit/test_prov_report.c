// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* prov/gamma/src/report.c: lines on standard error, where libfabric's log shows no warnings. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "report.h"

static void report__shows_the_first_lines_of_a_process(void **state)
{
	char text[4096] = "";
	unsigned lines = 0;
	int pipes[2], old = dup(STDERR_FILENO);

	(void) state;
	assert_int_equal(pipe(pipes), 0);
	assert_true(old >= 0 && dup2(pipes[1], STDERR_FILENO) >= 0);
	for (int i = 0; i < 100; i++)
		gamma_report("peer %d: %s", i, "gone");
	dup2(old, STDERR_FILENO);
	close(old);
	close(pipes[1]);
	assert_true(read(pipes[0], text, sizeof(text) - 1) > 0);
	close(pipes[0]);
	for (const char *c = text; *c; c++)
		lines += *c == '\n';
	assert_int_equal(lines, 9);
	assert_ptr_equal(strstr(text, "gamma: peer 0: gone\ngamma: peer 1: gone\n"), text);
	assert_non_null(strstr(text, "gamma: further lines are left out; FI_LOG_LEVEL=warn"));
}

static void cure__of_what_a_user_can_mend(void **state)
{
	(void) state;
	assert_non_null(strstr(gamma_report_cure(-ETIMEDOUT, false), "EtherType"));
	assert_non_null(strstr(gamma_report_cure(-ETIMEDOUT, true), "a firewall that drops UDP"));
	assert_non_null(strstr(gamma_report_cure(-ECONNREFUSED, false), "start the program"));
	assert_non_null(strstr(gamma_report_cure(-ECONNRESET, false), "last message"));
	assert_string_equal(gamma_report_cure(-EACCES, false), ""); /* the cause says it */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(report__shows_the_first_lines_of_a_process),
		TEST(cure__of_what_a_user_can_mend),
	};

	return cmocka_run_group_tests_name("prov_report", tests, NULL, NULL);
}
