// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * gamma-api: which tests run. Started by test_api.sh as a server on one host and a client on
 * another or the same; both run the same tests at the same time, in step.
 *
 *	gamma-api -l			names of the tests
 *	gamma-api PORT [TEST...]	server: listens on a TCP port for the out-of-band exchange
 *	gamma-api -c HOST PORT [TEST...]	client
 */
#include "api.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const struct test *const groups[] = {
	transfer_tests,      matching_tests, completion_tests, life_tests,
	multi_tests,         shared_tests,   scalable_tests,   work_tests,
	multicast_tests,     progress_tests, limit_tests,      call_tests,
	cancel_tests,        control_tests,  waiting_tests,    exchange_tests,
	memory_tests,        rma_tests,      target_tests,     atomic_tests,
	atomic_shared_tests, port_tests,     port_life_tests,  NULL};
static const char *running = "start";

double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double) time.tv_sec + 1e-9 * (double) time.tv_nsec;
}

void nap(unsigned milliseconds)
{
	usleep(milliseconds * 1000);
}

void fail_check(const char *file, int line, const char *what, long long is, long long should)
{
	printf("not ok %s: %s:%d: %s", running, strrchr(file, '/') ? strrchr(file, '/') + 1 : file,
	       line, what);
	if (is != should)
		printf(" (%lld, not %lld)", is, should);
	printf("\n");
	fflush(stdout);
	_exit(1);
}

static bool is_wanted(const struct test *test, char **names)
{
	if (!*names)
		return !test->on_request;
	for (; *names; names++)
		if (!strcmp(*names, test->name))
			return true;
	return false;
}

static void run(const struct test *test, bool client)
{
	double begin = now();

	running = test->name;
	aside_sync();
	test->run(client);
	if (test->both_ways) {
		aside_sync();
		test->run(!client);
	}
	printf("ok %s (%.0f ms)\n", test->name, 1e3 * (now() - begin));
	fflush(stdout);
}

static void for_each_test(char **names, void (*act)(const struct test *, bool), bool client)
{
	for (const struct test *const *group = groups; *group; group++)
		for (const struct test *test = *group; test->name; test++)
			if (is_wanted(test, names))
				act(test, client);
}

static void list(const struct test *test, bool client)
{
	(void) client;
	printf("%s\n", test->name);
}

int main(int argc, char **argv)
{
	bool client = argc > 1 && !strcmp(argv[1], "-c");
	char *all[] = {NULL};

	if (argc == 2 && !strcmp(argv[1], "-l")) {
		for_each_test(all, list, false);
		return 0;
	}
	if (argc < 2 || (client && argc < 4)) {
		fprintf(stderr, "usage: gamma-api -l | PORT [TEST...] | -c HOST PORT [TEST...]\n");
		return 2;
	}
	if (client)
		aside_connect(argv[2], argv[3]);
	else
		aside_listen(argv[1]);
	for_each_test(argv + (client ? 4 : 2), run, client);
	return 0;
}
