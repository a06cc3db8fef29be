// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* gamma-api: the domain's own thread at FI_PROGRESS_AUTO works, sleeps, and does not disturb the
 * caller. The tests count how often it and the caller gave up the processor to wait. */
#include "api.h"

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	WATCH_MS = 300,
	LINE_LEN = 256, /* bytes of a line in /proc */
};

static const struct node_options automatic = {.progress = FI_PROGRESS_AUTO};

/* A line of /proc/self/task/TID/status, TID the thread of that name. */
static void find_line(const char *thread, const char *field, char *value, size_t len)
{
	DIR *dir = opendir("/proc/self/task");
	char path[300], line[LINE_LEN], name[64];
	struct dirent *entry;

	CHECK(dir);
	*value = '\0';
	while (!*value && (entry = readdir(dir))) {
		bool found = false;
		FILE *file;

		snprintf(path, sizeof(path), "/proc/self/task/%s/status", entry->d_name);
		file = fopen(path, "r");
		while (file && fgets(line, sizeof(line), file)) {
			if (sscanf(line, "Name: %63s", name) == 1)
				found = !strcmp(name, thread);
			if (found && !strncmp(line, field, strlen(field)))
				snprintf(value, len, "%s", line + strlen(field) + 2);
		}
		if (file)
			fclose(file);
	}
	closedir(dir);
}

/* The thread may not have got its name yet. */
static void thread_line(const char *thread, const char *field, char *value, size_t len)
{
	*value = '\0';
	for (double end = now() + PATIENCE_S; now() < end && !*value; nap(1))
		find_line(thread, field, value, len);
	CHECK(*value);
	value[strcspn(value, "\n")] = '\0';
}

static long waits_of_thread(void)
{
	char value[LINE_LEN];

	thread_line("gamma-progress", "voluntary_ctxt_switches", value, sizeof(value));
	return atol(value);
}

static long waits_of_caller(void)
{
	struct rusage usage;

	CHECK_EQ(getrusage(RUSAGE_THREAD, &usage), 0);
	return usage.ru_nvcsw;
}

/* While nobody sends and nobody calls it does not wake up, but for a few timers at first. */
static void test_auto_idle(bool sender)
{
	struct node node;
	long before;

	(void) sender;
	node_open_pair(&node, &automatic);
	nap(WATCH_MS);
	before = waits_of_thread();
	nap(WATCH_MS);
	CHECK(waits_of_thread() - before <= 3);
	aside_sync();
	node_close_pair(&node);
}

/* While the caller polls, the thread looks once in a while whether it still does, and the caller
 * does not wait for it. */
static void test_auto_polling(bool sender)
{
	struct fi_cq_tagged_entry entry;
	long own, others;
	struct node node;

	(void) sender;
	node_open_pair(&node, &automatic);
	own = waits_of_caller();
	others = waits_of_thread();
	for (double end = now() + 1e-3 * WATCH_MS; now() < end;)
		CHECK_EQ(fi_cq_read(node.rx_cq, &entry, 1), -FI_EAGAIN);
	own = waits_of_caller() - own;
	others = waits_of_thread() - others;
	CHECK(others <= 2 * WATCH_MS); /* at most two in a millisecond: the pause and the lock */
	CHECK(own <= WATCH_MS);
	node_close_pair(&node);
}

/* A long message comes in, and one goes out, though neither side calls anything. */
static void test_auto_moves(bool sender)
{
	enum { LEN = 4 << 20 };
	struct message out, in;
	struct node node;
	char go = 0;

	(void) sender;
	node_open_pair(&node, &automatic);
	message_init(&in, LEN, 1);
	message_init(&out, LEN, 1);
	message_fill(&out, 1);
	message_receive(&node, &in);
	aside_exchange(&go, &go, 1);
	message_send(&node, &out);
	for (double end = now() + PATIENCE_S; now() < end && !go; nap(10))
		go = !memcmp(out.iov[0].iov_base, in.iov[0].iov_base, LEN);
	CHECK(go);
	wait_received(&node, &in, LEN);
	wait_sent(&node, &out);
	message_free(&in);
	message_free(&out);
	node_close_pair(&node);
}

/* The receiver polls while its thread sleeps, and then leaves what comes to the thread. It has
 * sent nothing itself, so that no timer of its own wakes it. */
static void test_auto_polled(bool sender)
{
	enum { LEN = 1000 };
	struct message message;
	volatile uint8_t *last;
	struct node node;
	uint8_t before;

	node_open_pair(&node, &automatic);
	if (sender)
		send_one(&node, LEN, 2);
	else
		receive_one(&node, LEN, 2);
	message_init(&message, LEN, 1);
	last = (uint8_t *) message.iov[0].iov_base + LEN - 1;
	before = *last;
	if (!sender)
		message_receive(&node, &message);
	aside_sync();
	nap(WATCH_MS);
	expect_nothing(node.rx_cq);
	aside_sync();
	if (sender) {
		nap(WATCH_MS);
		send_filled(&node, &message, 1);
	} else {
		for (double end = now() + PATIENCE_S; now() < end && *last == before; nap(1))
			;
		CHECK(*last != before);
		receive_filled(&node, &message, 1);
	}
	node_close_pair(&node);
}

/* Injected messages share frames, and all of them leave though the sender polls no more. */
static void test_auto_injected(bool sender)
{
	enum { ROW = 40, LEN = 8 };
	const struct node_options manual = {.progress = FI_PROGRESS_MANUAL};
	struct message message;
	struct node node;

	for (int i = 0; i < 2; i++) {
		node_open_pair(&node, i ? &manual : &automatic);
		message_init(&message, LEN, 1);
		message.send = INJECT;
		if (sender) {
			unsigned long before;

			send_one(&node, LEN, 0);
			aside_sync();
			before = node_frames_sent(&node);
			for (unsigned k = 0; k < ROW; k++) {
				message_fill(&message, k);
				message_send(&node, &message);
			}
			aside_sync();
			CHECK(node_frames_sent(&node) - before <= ROW / 2);
		} else {
			receive_one(&node, LEN, 0);
			aside_sync();
			for (unsigned k = 0; k < ROW; k++)
				receive_one(&node, LEN, k);
			aside_sync();
		}
		message_free(&message);
		node_close_pair(&node);
	}
}

/* Longer than the thread's pause: it wants the lock, which the interrupted thread may hold. */
static void leave(int number)
{
	(void) number;
	nap(30);
	exit(0);
}

/* Polls until a signal's handler ends the process, as libraries install them. */
static void poll_until_signalled(const struct node_options *options, unsigned ms)
{
	const struct itimerval timer = {.it_value.tv_usec = 1000 * ms};
	struct node node;

	node_open(&node, options);
	signal(SIGALRM, leave);
	setitimer(ITIMER_REAL, &timer, NULL);
	for (;;)
		fi_cq_read(node.rx_cq, NULL, 0);
}

static void test_auto_exit(bool sender)
{
	enum { CHILDREN = 10 };
	const struct node_options manual = {.progress = FI_PROGRESS_MANUAL};

	(void) sender;
	fflush(stdout);
	for (unsigned i = 0; i < CHILDREN; i++) {
		double end = now() + PATIENCE_S;
		pid_t child = fork();
		int status = 0;

		CHECK(child >= 0);
		if (!child)
			poll_until_signalled(i % 2 ? &manual : &automatic, 20 + i);
		while (!waitpid(child, &status, WNOHANG) && now() < end)
			nap(5);
		if (now() >= end)
			kill(child, SIGKILL);
		CHECK(now() < end);
		CHECK_EQ(status, 0);
	}
}

/* GAMMA_API_CPUS: the processors it should run on, as the kernel prints them. */
static void test_auto_bound(bool sender)
{
	const char *should = getenv("GAMMA_API_CPUS");
	double end = now() + PATIENCE_S;
	char is[LINE_LEN] = "";
	struct node node;

	(void) sender;
	CHECK(should);
	node_open_pair(&node, &automatic);
	while (strcmp(is, should)) {
		CHECK(now() < end);
		nap(10);
		thread_line("gamma-progress", "Cpus_allowed_list", is, sizeof(is));
	}
	thread_line("gamma-api", "Cpus_allowed_list", is, sizeof(is));
	printf("the program may use %s\n", is);
	node_close_pair(&node);
}

const struct test progress_tests[] = {
	{.name = "auto_idle", .run = test_auto_idle},
	{.name = "auto_polling", .run = test_auto_polling},
	{.name = "auto_moves", .run = test_auto_moves},
	{.name = "auto_polled", .run = test_auto_polled, .both_ways = true},
	{.name = "auto_injected", .run = test_auto_injected, .both_ways = true},
	{.name = "auto_exit", .run = test_auto_exit},
	{.name = "auto_bound", .run = test_auto_bound, .on_request = true},
	{0},
};
