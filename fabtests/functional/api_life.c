// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* gamma-api: the life of endpoints: opening and closing, many of them, many threads, messages to
 * self.
 */
#include "api.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

/* Removed and inserted again while a receive is posted, which survives that. */
static void test_av(enum fi_av_type type, bool sender)
{
	struct message message;
	struct name name = {.len = ADDR_MAX};
	struct node node;

	node_open_pair(&node, &(struct node_options){.av_type = type});
	message_init(&message, 100, 1);
	if (!sender)
		message_receive(&node, &message);
	aside_sync();
	CHECK_EQ(fi_av_lookup(node.av, node.peer, name.bytes, &name.len), 0);
	CHECK_EQ(name.len, node.info->src_addrlen);
	CHECK_EQ(fi_av_remove(node.av, &node.peer, 1, 0), 0);
	CHECK_EQ(fi_send(node.ep, message.iov[0].iov_base, 1, NULL, node.peer, NULL), -FI_EINVAL);
	CHECK(fi_av_lookup(node.av, node.peer, name.bytes, &name.len) < 0);
	node.peer = node_insert(&node, &name);
	if (sender) {
		send_one(&node, 100, 1);
		CHECK_EQ(fi_av_remove(node.av, &node.peer, 1, 0), 0);
		node.peer = node_insert(&node, &name);
		send_one(&node, 100000, 2);
	} else {
		wait_received(&node, &message, 100);
		message_check(&message, 1, 100);
		receive_one(&node, 100000, 2);
	}
	message_free(&message);
	node_close_pair(&node);
}

static void test_av_map(bool sender)
{
	test_av(FI_AV_MAP, sender);
}

static void test_av_table(bool sender)
{
	test_av(FI_AV_TABLE, sender);
}

static void test_self(bool sender)
{
	static const size_t lens[] = {0, 1, 100, 4000, 20000, 1 << 20};
	struct message out, in;
	struct name name;
	struct node node;
	fi_addr_t self;

	(void) sender;
	node_open_pair(&node, &(struct node_options){0});
	node_name(&node, &name);
	self = node_insert(&node, &name);
	for (unsigned i = 0; i < 2 * sizeof(lens) / sizeof(*lens); i++) {
		message_init(&out, lens[i / 2], 1);
		message_init(&in, lens[i / 2], 1);
		message_fill(&out, i);
		out.addr = self;
		if (i & 1)
			message_receive(&node, &in);
		message_send(&node, &out);
		if (!(i & 1))
			message_receive(&node, &in);
		wait_received(&node, &in, in.len);
		message_check(&in, i, in.len);
		wait_sent(&node, &out);
		message_free(&out);
		message_free(&in);
	}
	node_close_pair(&node);
}

enum { CROWD = 20, ALL = 2 * CROWD }; /* endpoints of a process, of both */

static size_t crowd_len(unsigned from, unsigned to)
{
	return (from * 997 + to * 331) % 20000;
}

/* The tag encodes sender and receiver. */
static void crowd_post(struct node *nodes, struct message *in, struct message *out, bool sender)
{
	unsigned first = sender ? CROWD : 0; /* number of the process's first endpoint */

	for (unsigned i = 0; i < CROWD; i++)
		for (unsigned other = 0; other < ALL; other++) {
			struct message *message = &in[i * ALL + other];

			message_init(message, crowd_len(other, first + i), 1);
			message->tagged = true;
			message->tag = other * ALL + first + i;
			message_receive(&nodes[i], message);
		}
	aside_sync();
	for (unsigned i = 0; i < CROWD; i++)
		for (unsigned other = 0; other < ALL; other++) {
			struct message *message = &out[i * ALL + other];

			message_init(message, crowd_len(first + i, other), 1);
			message_fill(message, (first + i) * ALL + other);
			message->tagged = true;
			message->tag = (first + i) * ALL + other;
			message->addr = other; /* AV_TABLE: in the order of insertion */
			message_send(&nodes[i], message);
		}
}

static void crowd_meet(struct node *nodes, bool sender)
{
	static struct name names[ALL];
	struct name *own = sender ? names + CROWD : names, *theirs = sender ? names : names + CROWD;

	for (unsigned i = 0; i < CROWD; i++) {
		node_open(&nodes[i], &(struct node_options){.av_type = FI_AV_TABLE});
		node_name(&nodes[i], &own[i]);
	}
	aside_exchange(own, theirs, CROWD * sizeof(*own));
	for (unsigned i = 0; i < CROWD; i++)
		for (unsigned other = 0; other < ALL; other++)
			CHECK_EQ(node_insert(&nodes[i], &names[other]), other);
}

/* Every endpoint sends to every other, on its own host, on the other one, and to itself. */
static void test_many_endpoints(bool sender)
{
	static struct message in[CROWD * ALL], out[CROWD * ALL];
	static struct node nodes[CROWD];

	crowd_meet(nodes, sender);
	crowd_post(nodes, in, out, sender);
	for (unsigned i = 0; i < CROWD * ALL; i++) {
		wait_done(nodes[i / ALL].rx_cq, &in[i]);
		message_check(&in[i], (unsigned) in[i].tag, in[i].len);
		wait_done(nodes[i / ALL].tx_cq, &out[i]);
		message_free(&in[i]);
		message_free(&out[i]);
	}
	aside_sync();
	for (unsigned i = 0; i < CROWD; i++)
		node_close(&nodes[i]);
}

static unsigned open_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned count = 0;

	CHECK(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

static void test_reopen(bool sender)
{
	static const enum fi_wait_obj waits[] = {FI_WAIT_NONE, FI_WAIT_FD, FI_WAIT_UNSPEC};
	unsigned before = 0;
	struct node node;

	(void) sender;
	for (unsigned i = 0; i < 60; i++) {
		if (i == 10)
			before = open_descriptors();
		node_open(&node, &(struct node_options){.wait = waits[i % 3],
							.counters = i & 1,
							.type = i % 5 ? FI_EP_RDM : FI_EP_DGRAM});
		node_close(&node);
	}
	CHECK_EQ(open_descriptors(), before);
}

/* One endpoint a port; closed, it is free at once, and what went to its old owner stays away. */
static void test_port(bool sender)
{
	struct node_options options = {.port = sender ? "9341" : "9342"};
	struct node node, other;

	for (unsigned round = 0; round < 5; round++) {
		node_open_pair(&node, &options);
		CHECK_EQ(node_try_open(&other, &options), -FI_EADDRINUSE);
		if (sender)
			send_one(&node, 5000, round);
		else
			receive_one(&node, 5000, round);
		node_close_pair(&node);
	}
}

/* Sends until the endpoint knows that the peer is gone: refuses, or completes with an error. */
static void send_in_vain(struct node *node, struct message *message)
{
	struct fi_cq_err_entry error;
	ssize_t ret;

	message->addr = node->peer;
	ret = message_try_send(node, message);
	if (ret) {
		CHECK_EQ(ret, -FI_ECONNRESET);
		return;
	}
	wait_error(node->tx_cq, &error);
	CHECK(error.op_context == message);
	CHECK(error.err > 0);
}

/* The peer announces its close: no send to it hangs, not even one that it was about to receive. */
static void test_peer_closed(bool sender)
{
	struct fi_cq_err_entry error;
	struct message message;
	struct node node;
	char text[256];

	node_open_pair(&node, &(struct node_options){0});
	if (!sender) {
		receive_one(&node, 100, 0);
		aside_sync();
		node_close(&node);
		aside_sync();
		return;
	}
	send_one(&node, 100, 0);
	message_init(&message, 200000, 1);
	message_send(&node, &message);
	aside_sync();
	wait_error(node.tx_cq, &error);
	CHECK(error.op_context == &message);
	fi_cq_strerror(node.tx_cq, error.prov_errno, error.err_data, text, sizeof(text));
	CHECK(strstr(text, node_peer_text())); /* names the peer */
	send_in_vain(&node, &message);
	message_free(&message);
	aside_sync();
	node_close(&node);
}

/* A node whose events go to its domain's queue. */
static void open_with_domain_events(struct node *node, const struct node *first)
{
	struct fi_av_attr av_attr = {.type = FI_AV_TABLE};
	struct fi_cq_attr cq_attr = {.format = FI_CQ_FORMAT_TAGGED};
	struct fi_eq_attr eq_attr = {.wait_obj = FI_WAIT_NONE};
	struct name peer = {.len = ADDR_MAX};

	memset(node, 0, sizeof(*node));
	CHECK_EQ(fi_domain(first->fabric, first->info, &node->domain, NULL), 0);
	CHECK_EQ(fi_eq_open(first->fabric, &eq_attr, &node->eq, NULL), 0);
	CHECK_EQ(fi_domain_bind(node->domain, &node->eq->fid, 0), 0);
	CHECK_EQ(fi_av_open(node->domain, &av_attr, &node->av, NULL), 0);
	CHECK_EQ(fi_cq_open(node->domain, &cq_attr, &node->tx_cq, NULL), 0);
	CHECK_EQ(fi_endpoint(node->domain, first->info, &node->ep, NULL), 0);
	CHECK_EQ(fi_ep_bind(node->ep, &node->av->fid, 0), 0);
	CHECK_EQ(fi_ep_bind(node->ep, &node->tx_cq->fid, FI_TRANSMIT | FI_RECV), 0);
	CHECK_EQ(fi_enable(node->ep), 0);
	CHECK_EQ(fi_av_lookup(first->av, first->peer, peer.bytes, &peer.len), 0);
	node->peer = node_insert(node, &peer);
}

static void close_with_domain_events(struct node *node)
{
	CHECK_EQ(fi_close(&node->ep->fid), 0);
	CHECK_EQ(fi_close(&node->tx_cq->fid), 0);
	CHECK_EQ(fi_close(&node->av->fid), 0);
	CHECK_EQ(fi_close(&node->eq->fid), -FI_EBUSY);
	CHECK_EQ(fi_close(&node->domain->fid), 0);
	CHECK_EQ(fi_close(&node->eq->fid), 0);
}

static void expect_lost_peer(struct node *node)
{
	struct fi_eq_err_entry error = {0};
	double end = now() + PATIENCE_S;
	char text[256];

	while (fi_eq_readerr(node->eq, &error, 0) <= 0) {
		CHECK(now() < end);
		fi_cq_read(node->tx_cq, NULL, 0);
	}
	CHECK(error.fid == &node->ep->fid);
	CHECK(error.err > 0);
	fi_eq_strerror(node->eq, error.prov_errno, error.err_data, text, sizeof(text));
	CHECK(strstr(text, node_peer_text()));
}

/* The endpoint has no event queue of its own: the domain's receives its events. */
static void test_peer_closed_event(bool sender)
{
	struct message message;
	struct node node, informed;

	node_open_pair(&node, &(struct node_options){0});
	if (!sender) {
		receive_one(&node, 100, 0);
		aside_sync();
		node_close(&node);
		return;
	}
	open_with_domain_events(&informed, &node);
	send_one(&informed, 100, 0);
	message_init(&message, 200000, 1);
	message_send(&informed, &message);
	aside_sync();
	expect_lost_peer(&informed);
	close_with_domain_events(&informed);
	message_free(&message);
	node_close(&node);
}

/* Operations directed at that peer end when it closes. */
static void wait_given_up(struct node *node, void *context, uint64_t flags)
{
	struct fi_cq_err_entry error;

	wait_error(node->rx_cq, &error);
	CHECK_EQ(error.err, FI_ECONNRESET);
	CHECK(error.op_context == context);
	CHECK_EQ(error.flags & FI_MULTI_RECV, flags);
}

/* A buffer for many messages that begins with one that was announced before. */
static void wait_for_more(struct node *node, size_t len)
{
	struct iovec iov = {.iov_base = calloc(2, len), .iov_len = 2 * len};
	struct fi_msg msg = {.msg_iov = &iov, .iov_count = 1, .addr = node->peer, .context = &iov};
	struct fi_cq_err_entry error = {0};
	struct completion completion;
	struct fi_cq_tagged_entry entry;
	double end = now() + PATIENCE_S;

	CHECK_EQ(fi_recvmsg(node->ep, &msg, FI_PEEK), 0);
	while (fi_cq_read(node->rx_cq, &entry, 1) != 1) {
		CHECK(now() < end);
		CHECK_EQ(fi_cq_readerr(node->rx_cq, &error, 0), 1);
		CHECK_EQ(fi_recvmsg(node->ep, &msg, FI_PEEK), 0);
	}
	CHECK_EQ(entry.len, len);
	CHECK_EQ(fi_recvmsg(node->ep, &msg, FI_MULTI_RECV), 0);
	wait_completion(node->rx_cq, &completion);
	CHECK_EQ(completion.entry.len, len);
	aside_sync();
	wait_given_up(node, &iov, FI_MULTI_RECV);
	free(iov.iov_base);
}

/* An address without epoch, which turns out to be that of a known peer. */
static void wait_by_place(struct node *node)
{
	struct message in, out[2];
	struct name name = {.len = ADDR_MAX};
	char text[80];
	size_t len = sizeof(text);
	fi_addr_t place;

	CHECK_EQ(fi_av_lookup(node->av, node->peer, name.bytes, &name.len), 0);
	fi_av_straddr(node->av, name.bytes, text, &len);
	CHECK(strrchr(text, '/') > strrchr(text, ':'));
	*strrchr(text, '/') = 0; /* before the epoch */
	CHECK_EQ(fi_av_insertsvc(node->av, text, NULL, &place, 0, NULL), 1);
	message_init(&in, 100, 1);
	in.addr = place;
	for (unsigned i = 0; i < 2; i++) {
		message_init(&out[i], 100, 1);
		message_fill(&out[i], 1);
		out[i].addr = i ? node->peer : place;
		message_send(node, &out[i]);
		if (!i)
			message_receive(node, &in);
	}
	for (unsigned i = 0; i < 2; i++)
		wait_done(node->tx_cq, &out[i]);
	aside_sync();
	wait_given_up(node, &in, 0);
	for (unsigned i = 0; i < 2; i++)
		message_free(&out[i]);
	message_free(&in);
}

static void test_peer_closed_directed(bool sender)
{
	enum { LONG = 200000 };
	struct node_options options = {.caps = FI_DIRECTED_RECV | FI_SOURCE | FI_MULTI_RECV};

	for (unsigned i = 0; i < 2; i++) {
		struct node node;

		node_open_pair(&node, &options);
		if (!sender && i)
			wait_by_place(&node);
		else if (!sender)
			wait_for_more(&node, LONG);
		if (sender && i) {
			nap(5); /* it does not answer at once */
			receive_one(&node, 100, 1);
			receive_one(&node, 100, 1);
		} else if (sender) {
			send_one(&node, LONG, 1);
		}
		if (sender)
			aside_sync();
		node_close(&node);
	}
}

enum { THREADS = 4, EACH = 500 };

struct worker {
	struct node *node;
	unsigned number;
	pthread_t thread;
};

/* Sends EACH messages with the thread's own tag and receives as many, through shared queues. */
static void *work(void *argument)
{
	struct worker *worker = argument;
	struct node *node = worker->node;
	struct message in, out;

	for (unsigned i = 0; i < EACH; i++) {
		size_t len = i % 50 ? (i * 37) % 3000 : 40000;

		message_init(&in, len, 1);
		message_init(&out, len, 1);
		message_fill(&out, worker->number * EACH + i);
		in.tagged = out.tagged = true;
		in.tag = out.tag = worker->number;
		message_receive(node, &in);
		message_send(node, &out);
		wait_done(node->rx_cq, &in);
		message_check(&in, worker->number * EACH + i, len);
		wait_done(node->tx_cq, &out);
		message_free(&in);
		message_free(&out);
	}
	return NULL;
}

static void work_together(enum fi_progress progress)
{
	struct worker workers[THREADS];
	struct node node;

	node_open_pair(&node, &(struct node_options){.threading = FI_THREAD_SAFE,
						     .progress = progress,
						     .one_cq = true});
	for (unsigned i = 0; i < THREADS; i++) {
		workers[i].node = &node;
		workers[i].number = i;
		CHECK_EQ(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
	}
	for (unsigned i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_join(workers[i].thread, NULL), 0);
	node_close_pair(&node);
}

static void test_threads(bool sender)
{
	(void) sender;
	work_together(FI_PROGRESS_MANUAL);
}

static void test_threads_auto(bool sender)
{
	(void) sender;
	work_together(FI_PROGRESS_AUTO);
}

/* Closed with sends and receives outstanding: nothing is written afterwards, nothing hangs. */
static void test_close_outstanding(bool sender)
{
	struct message out[3], in[3];
	struct node node;
	double begin;

	node_open_pair(&node, &(struct node_options){0});
	for (unsigned i = 0; i < 3; i++) {
		message_init(&out[i], i == 2 ? 1 << 20 : 100, 1);
		message_init(&in[i], 100, 1);
		in[i].tagged = true;
		message_receive(&node, &in[i]);
		if (sender)
			message_send(&node, &out[i]);
	}
	aside_sync();
	begin = now();
	node_close(&node);
	CHECK(now() - begin < 5);
	for (unsigned i = 0; i < 3; i++) {
		message_check(&in[i], 0, 0);
		message_free(&in[i]);
		message_free(&out[i]);
	}
	aside_sync();
}

/* A child closes all that it inherited and ends; no lock that it needs stays locked. */
static void close_in_child(struct node *node)
{
	pid_t pid = fork();
	int status;

	CHECK(pid >= 0);
	if (!pid) {
		alarm(PATIENCE_S);
		node_close(node);
		exit(0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
}

/* The child is forked while the domain's own thread is busy, and what it closes stays open in the
 * parent: messages still arrive there, and wake it. */
static void test_fork(bool sender)
{
	enum { FORKS = 8 };
	struct fi_cq_tagged_entry entry;
	struct message message;
	struct node node;

	node_open_pair(&node, &(struct node_options){.wait = FI_WAIT_UNSPEC});
	for (unsigned i = 0; i < FORKS; i++) {
		message_init(&message, 16 << 20, 1);
		if (sender)
			message_send(&node, &message);
		else
			message_receive(&node, &message);
		if (!sender) {
			nap(20 + i);
			close_in_child(&node);
			CHECK_EQ(fi_cq_sread(node.rx_cq, &entry, 1, NULL, 1000 * PATIENCE_S), 1);
		} else {
			wait_sent(&node, &message);
		}
		message_free(&message);
		aside_sync();
		if (!sender)
			send_one(&node, 100, i);
		else
			receive_one(&node, 100, i);
	}
	node_close_pair(&node);
}

static volatile sig_atomic_t forks_left;

/* In the middle of a call of the library, too: that takes up to 100 ms each. */
static void fork_in_handler(int signal)
{
	int status, error = errno;
	pid_t pid;

	(void) signal;
	if (!forks_left)
		return;
	forks_left--;
	pid = fork();
	if (!pid)
		_exit(0);
	if (pid > 0)
		waitpid(pid, &status, 0);
	errno = error;
}

static void test_fork_in_handler(bool sender)
{
	enum { MESSAGES = 300, PERIOD_US = 3000, FORKS = 20 };
	const struct itimerval period = {.it_interval.tv_usec = PERIOD_US,
					 .it_value.tv_usec = PERIOD_US};
	struct sigaction action = {.sa_handler = fork_in_handler, .sa_flags = SA_RESTART}, before;
	struct node node;

	node_open_pair(&node, &(struct node_options){.wait = FI_WAIT_UNSPEC});
	forks_left = FORKS;
	sigaction(SIGPROF, &action, &before);
	setitimer(ITIMER_PROF, &period, NULL);
	for (unsigned i = 0; i < MESSAGES; i++) {
		if (sender)
			send_one(&node, 100, i);
		else
			receive_one(&node, 100, i);
	}
	setitimer(ITIMER_PROF, &(struct itimerval){0}, NULL);
	sigaction(SIGPROF, &before, NULL);
	node_close_pair(&node);
}

/* A process that ends without closing anything ends well. */
static void end_in_child(void)
{
	pid_t pid = fork();
	struct node nodes[3];
	int status;

	CHECK(pid >= 0);
	if (!pid) {
		alarm(PATIENCE_S);
		for (unsigned i = 0; i < 3; i++)
			node_open(&nodes[i], &(struct node_options){.wait = FI_WAIT_FD});
		nap(15);
		exit(0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
}

static void test_exit(bool sender)
{
	struct node node;

	(void) sender;
	node_open_pair(&node, &(struct node_options){0});
	for (unsigned i = 0; i < 3; i++)
		end_in_child();
	node_close_pair(&node);
}

const struct test life_tests[] = {
	{.name = "av_map", .run = test_av_map, .both_ways = true},
	{.name = "av_table", .run = test_av_table, .both_ways = true},
	{.name = "self", .run = test_self},
	{.name = "many_endpoints", .run = test_many_endpoints},
	{.name = "reopen", .run = test_reopen},
	{.name = "port", .run = test_port, .both_ways = true},
	{.name = "peer_closed", .run = test_peer_closed, .both_ways = true},
	{.name = "peer_closed_event", .run = test_peer_closed_event},
	{.name = "peer_closed_directed", .run = test_peer_closed_directed, .both_ways = true},
	{.name = "threads", .run = test_threads},
	{.name = "threads_auto", .run = test_threads_auto},
	{.name = "close_outstanding", .run = test_close_outstanding},
	{.name = "fork", .run = test_fork, .both_ways = true},
	{.name = "fork_in_handler", .run = test_fork_in_handler, .both_ways = true},
	{.name = "exit", .run = test_exit},
	{0},
};
