// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* gamma-api: handlers of active ports that fork, end their process, or do not return. */
#include "api.h"

#include <rdma/fi_ext_gamma.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	PORT = 5,
	FORKS = 30,      /* messages, each of which forks */
	STATUS = 7,      /* of a process that a handler ends */
	STUCK_MS = 6000, /* more than the provider thinks right */
	POLL_MS = 1,
};

static struct fi_gamma_port_ops *ops;
static unsigned handled;

static void set(struct fid_ep *ep, fi_gamma_handler handler)
{
	struct fi_gamma_port_attr attr = {.size = sizeof(attr), .handler = handler};

	handled = 0;
	CHECK_EQ(fi_gamma_open_ports(ep, &ops), 0);
	CHECK_EQ(ops->set(ep, PORT, &attr), 0);
}

static void send_number(struct fid_ep *ep, fi_addr_t to, uint32_t number)
{
	struct fi_gamma_msg msg = {.addr = to, .port = PORT, .arg = number};
	ssize_t ret;

	while ((ret = ops->send(ep, &msg, FI_INJECT)) == -FI_EAGAIN)
		progress_all();
	CHECK_EQ(ret, 0);
}

static void handle_until(struct fid_ep *ep, unsigned count)
{
	double end = now() + PATIENCE_S;

	while (handled < count) {
		CHECK(now() < end);
		ops->wait(ep, POLL_MS);
	}
}

/* The child ends by each of the ways there are, and the parent's endpoint is as before. */
static void on_fork(struct fid_ep *ep, const struct fi_gamma_arrival *arrival, void *context)
{
	pid_t pid = fork();
	int status;

	(void) ep, (void) context;
	CHECK_EQ(arrival->arg, handled);
	CHECK(pid >= 0);
	if (!pid && arrival->arg % 3 == 0)
		_exit(STATUS);
	if (!pid && arrival->arg % 3 == 1)
		exit(STATUS);
	if (!pid) {
		execl("/bin/sh", "sh", "-c", "exit 7", (char *) NULL);
		_exit(1);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == STATUS);
	handled++;
}

static void test_ports_fork(bool sender)
{
	struct node node;

	node_open_pair(&node, &(struct node_options){0});
	set(node.ep, on_fork);
	aside_sync();
	for (uint32_t i = 0; sender && i < FORKS; i++)
		send_number(node.ep, node.peer, i);
	if (!sender)
		handle_until(node.ep, FORKS);
	node_close_pair(&node);
}

static void on_exit_of_process(struct fid_ep *ep, const struct fi_gamma_arrival *arrival,
			       void *context)
{
	(void) ep, (void) arrival, (void) context;
	exit(STATUS);
}

/* A child's two endpoints: one's handler ends the process. */
static void exit_in_child(void)
{
	struct node nodes[2];
	struct name name;
	fi_addr_t to;

	alarm(PATIENCE_S);
	for (unsigned i = 0; i < 2; i++)
		node_open(&nodes[i], &(struct node_options){.wait = FI_WAIT_FD});
	set(nodes[1].ep, on_exit_of_process);
	node_name(&nodes[1], &name);
	to = node_insert(&nodes[0], &name);
	for (uint32_t i = 0;; i++) {
		send_number(nodes[0].ep, to, i);
		ops->wait(nodes[1].ep, POLL_MS);
	}
}

static void test_ports_exit(bool sender)
{
	struct node node;
	pid_t pid;
	int status;

	(void) sender;
	node_open_pair(&node, &(struct node_options){0});
	for (unsigned i = 0; i < 3; i++) {
		pid = fork();
		CHECK(pid >= 0);
		if (!pid)
			exit_in_child();
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == STATUS);
	}
	node_close_pair(&node);
}

static void on_long_work(struct fid_ep *ep, const struct fi_gamma_arrival *arrival, void *context)
{
	(void) ep, (void) context;
	if (!arrival->arg)
		nap(STUCK_MS);
	handled++;
}

/* The provider reports the first one, and nothing is lost. */
static void test_ports_stuck(bool sender)
{
	enum { MESSAGES = 2000 };
	struct node node;

	node_open_pair(&node, &(struct node_options){0});
	set(node.ep, on_long_work);
	aside_sync();
	for (uint32_t i = 0; sender && i < MESSAGES; i++)
		send_number(node.ep, node.peer, i);
	if (!sender)
		handle_until(node.ep, MESSAGES);
	node_close_pair(&node);
}

const struct test port_life_tests[] = {
	{.name = "ports_fork", .run = test_ports_fork, .both_ways = true},
	{.name = "ports_exit", .run = test_ports_exit},
	{.name = "ports_stuck", .run = test_ports_stuck, .on_request = true},
	{0},
};
