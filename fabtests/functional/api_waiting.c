// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* gamma-api: waiting for several objects at once: poll sets, wait sets, and fi_trywait. */
#include "api.h"
#include "../deprecated.h"

#include <poll.h>
#include <string.h>

enum { LEN = 3000 }; /* bytes of a message */

/* A node with one more endpoint, whose receives are reported to a CQ and a counter of its own. */
struct watched {
	struct node node;
	struct fid_wait *set; /* NULL: each object is waited for by itself */
	struct fid_cq *cq;
	struct fid_cntr *cntr;
	struct fid_eq *eq;
	struct fid_ep *ep;
};

static void open_objects(struct watched *watched, enum fi_wait_obj wait)
{
	struct fid_wait *set = watched->set;
	struct fi_cq_attr cq_attr = {
		.format = FI_CQ_FORMAT_TAGGED, .wait_obj = wait, .wait_set = set};
	struct fi_cntr_attr cntr_attr = {.wait_obj = wait, .wait_set = set};
	struct fi_eq_attr eq_attr = {.wait_obj = wait, .wait_set = set, .flags = FI_WRITE};
	struct node *node = &watched->node;

	CHECK_EQ(fi_cq_open(node->domain, &cq_attr, &watched->cq, &watched->cq), 0);
	CHECK_EQ(fi_cntr_open(node->domain, &cntr_attr, &watched->cntr, &watched->cntr), 0);
	CHECK_EQ(fi_eq_open(node->fabric, &eq_attr, &watched->eq, &watched->eq), 0);
}

static void open_endpoint(struct watched *watched)
{
	struct node *node = &watched->node;
	struct name own, theirs;

	CHECK_EQ(fi_endpoint(node->domain, node->info, &watched->ep, NULL), 0);
	CHECK_EQ(fi_ep_bind(watched->ep, &node->av->fid, 0), 0);
	CHECK_EQ(fi_ep_bind(watched->ep, &node->tx_cq->fid, FI_TRANSMIT), 0);
	CHECK_EQ(fi_ep_bind(watched->ep, &watched->cq->fid, FI_RECV), 0);
	CHECK_EQ(fi_ep_bind(watched->ep, &watched->cntr->fid, FI_RECV), 0);
	CHECK_EQ(fi_enable(watched->ep), 0);
	endpoint_name(watched->ep, &own);
	aside_exchange(&own, &theirs, sizeof(own));
	node->peer = node_insert(node, &theirs);
}

static void watched_open(struct watched *watched, enum fi_wait_obj wait)
{
	struct fi_wait_attr attr = {.wait_obj = FI_WAIT_FD};

	memset(watched, 0, sizeof(*watched));
	node_open_pair(&watched->node, &(struct node_options){0});
	if (wait == FI_WAIT_SET)
		CHECK_EQ(fi_wait_open(watched->node.fabric, &attr, &watched->set), 0);
	open_objects(watched, wait);
	open_endpoint(watched);
}

static void watched_close(struct watched *watched)
{
	aside_sync();
	CHECK_EQ(fi_close(&watched->ep->fid), 0);
	CHECK_EQ(fi_close(&watched->cq->fid), 0);
	CHECK_EQ(fi_close(&watched->cntr->fid), 0);
	CHECK_EQ(fi_close(&watched->eq->fid), 0);
	if (watched->set)
		CHECK_EQ(fi_close(&watched->set->fid), 0);
	node_close(&watched->node);
}

/* The peer sends when the receiver is likely to be asleep; how that wakes is the caller's. */
static void get_one(struct watched *watched, bool sender, unsigned seed,
		    void (*wait)(struct watched *, uint64_t count))
{
	struct node through = watched->node;
	struct message message;

	through.ep = watched->ep;
	through.rx_cq = watched->cq;
	message_init(&message, LEN, 1);
	if (!sender)
		message_receive(&through, &message);
	aside_sync();
	if (sender) {
		nap(30);
		message_fill(&message, seed);
		message_send(&through, &message);
		wait_sent(&through, &message);
	} else {
		wait(watched, seed);
		message_check(&message, seed, LEN);
	}
	message_free(&message);
}

static bool take_completion(struct watched *watched)
{
	struct completion completion;

	return poll_completion(watched->cq, &completion);
}

static void write_event(struct watched *watched)
{
	struct fi_eq_entry entry = {.context = watched};

	CHECK_EQ(fi_eq_write(watched->eq, FI_NOTIFY, &entry, sizeof(entry), 0), sizeof(entry));
}

static bool take_event(struct watched *watched)
{
	struct fi_eq_entry entry = {0};
	uint32_t event = 0;
	ssize_t ret = fi_eq_read(watched->eq, &event, &entry, sizeof(entry), 0);

	if (ret == -FI_EAGAIN)
		return false;
	CHECK_EQ(ret, sizeof(entry));
	CHECK_EQ(event, FI_NOTIFY);
	CHECK(entry.context == watched);
	return true;
}

/* ---- poll sets ---- */

static bool is_among(const void *wanted, void *const *contexts, int count)
{
	for (int i = 0; i < count; i++)
		if (contexts[i] == wanted)
			return true;
	return false;
}

static void poll_until_both(struct fid_poll *set, struct watched *watched)
{
	bool cq = false, cntr = false;
	double end = now() + PATIENCE_S;
	void *contexts[3];

	while (!cq || !cntr) {
		int found = fi_poll(set, contexts, 3);

		CHECK(found >= 0 && found <= 2);
		CHECK(now() < end);
		cq |= is_among(&watched->cq, contexts, found);
		cntr |= is_among(&watched->cntr, contexts, found);
	}
	/* One slot: one object is reported. A CQ is reported while it has an entry, a change of a
	 * counter once. */
	CHECK_EQ(fi_poll(set, contexts, 1), 1);
	CHECK(contexts[0] == &watched->cq);
	CHECK_EQ(fi_poll(set, contexts, 0), 0);
	CHECK(take_completion(watched));
	CHECK_EQ(fi_poll(set, contexts, 3), 0);
}

static struct fid_poll *polled;

static void wait_by_polling(struct watched *watched, uint64_t count)
{
	poll_until_both(polled, watched);
	CHECK_EQ(fi_cntr_read(watched->cntr), count);
}

static void fill_poll_set(struct watched *watched)
{
	struct fi_poll_attr attr = {.flags = 1};

	CHECK_EQ(fi_poll_open(watched->node.domain, &attr, &polled), -FI_EBADFLAGS);
	attr.flags = 0;
	CHECK_EQ(fi_poll_open(watched->node.domain, &attr, &polled), 0);
	CHECK_EQ(fi_poll_add(polled, &watched->cq->fid, 1), -FI_EBADFLAGS);
	CHECK_EQ(fi_poll_add(polled, &watched->eq->fid, 0), -FI_EINVAL);
	CHECK_EQ(fi_poll_add(polled, &watched->ep->fid, 0), -FI_EINVAL);
	CHECK_EQ(fi_poll_del(polled, &watched->cq->fid, 0), -FI_EINVAL); /* not in it */
	CHECK_EQ(fi_poll_add(polled, &watched->cq->fid, 0), 0);
	CHECK_EQ(fi_poll_add(polled, &watched->cq->fid, 0), -FI_EINVAL);
	CHECK_EQ(fi_poll_add(polled, &watched->cntr->fid, 0), 0);
	CHECK_EQ(fi_poll_del(polled, &watched->cntr->fid, 1), -FI_EBADFLAGS);
}

static void test_poll_set(bool sender)
{
	struct watched watched;
	void *context;

	watched_open(&watched, FI_WAIT_NONE);
	fill_poll_set(&watched);
	CHECK_EQ(fi_poll(polled, &context, 1), 0);
	for (unsigned i = 1; i < 4; i++)
		get_one(&watched, sender, i, wait_by_polling);
	CHECK_EQ(fi_close(&watched.cq->fid), -FI_EBUSY);
	CHECK_EQ(fi_poll_del(polled, &watched.cq->fid, 0), 0);
	CHECK_EQ(fi_control(&polled->fid, FI_GETWAIT, &context), -FI_ENOSYS);
	CHECK_EQ(fi_close(&polled->fid), 0); /* lets the counter go */
	watched_close(&watched);
}

/* ---- wait sets ---- */

/* Until the counter too has changed, which wakes the set. */
static void wait_by_set(struct watched *watched, uint64_t count)
{
	double end = now() + PATIENCE_S;
	bool taken = false;

	while (!taken || fi_cntr_read(watched->cntr) < count) {
		CHECK(now() < end);
		CHECK_EQ(fi_wait(watched->set, 1000 * PATIENCE_S), 0);
		taken |= take_completion(watched);
	}
	CHECK_EQ(fi_cntr_read(watched->cntr), count);
}

static void expect_timeout(struct watched *watched)
{
	double begin = now();
	int ret;

	/* A change of the counter that has not been reported comes first. */
	while ((ret = fi_wait(watched->set, 50)) == 0)
		CHECK(now() - begin < PATIENCE_S);
	CHECK_EQ(ret, -FI_ETIMEDOUT);
	begin = now();
	CHECK_EQ(fi_wait(watched->set, 50), -FI_ETIMEDOUT);
	CHECK(now() - begin > 0.045);
	CHECK_EQ(fi_wait(watched->set, 0), -FI_ETIMEDOUT);
}

static void check_refusals_of_sets(struct watched *watched)
{
	struct fi_wait_attr attr = {.wait_obj = FI_WAIT_FD, .flags = 1};
	struct fi_cq_attr cq_attr = {.wait_obj = FI_WAIT_SET};
	struct fi_cntr_attr cntr_attr = {.wait_obj = FI_WAIT_SET};
	struct fi_eq_attr eq_attr = {.wait_obj = FI_WAIT_SET};
	struct node *node = &watched->node;
	struct fi_eq_entry entry;
	struct fid_wait *set;
	struct fid_cntr *cntr;
	struct fid_cq *cq;
	struct fid_eq *eq;
	uint32_t event;

	CHECK_EQ(fi_wait_open(node->fabric, NULL, &set), -FI_EINVAL);
	CHECK_EQ(fi_wait_open(node->fabric, &attr, &set), -FI_EBADFLAGS);
	attr = (struct fi_wait_attr){.wait_obj = FI_WAIT_SET};
	CHECK_EQ(fi_wait_open(node->fabric, &attr, &set), -FI_ENOSYS);
	attr.wait_obj = FI_WAIT_MUTEX_COND;
	CHECK_EQ(fi_wait_open(node->fabric, &attr, &set), -FI_ENOSYS);
	CHECK_EQ(fi_cq_open(node->domain, &cq_attr, &cq, NULL), -FI_EINVAL); /* no set */
	CHECK_EQ(fi_cntr_open(node->domain, &cntr_attr, &cntr, NULL), -FI_EINVAL);
	CHECK_EQ(fi_eq_open(node->fabric, &eq_attr, &eq, NULL), -FI_EINVAL);
	/* Its members are waited for through the set alone. */
	CHECK_EQ(fi_cq_sread(watched->cq, &entry, 1, NULL, -1), -FI_ENOSYS);
	CHECK_EQ(fi_cntr_wait(watched->cntr, 1000, -1), -FI_ENOSYS);
	CHECK_EQ(fi_eq_sread(watched->eq, &event, &entry, sizeof(entry), -1, 0), -FI_ENOSYS);
	CHECK_EQ(fi_close(&watched->set->fid), -FI_EBUSY);
}

static void test_wait_set(bool sender)
{
	struct watched watched;

	watched_open(&watched, FI_WAIT_SET);
	check_refusals_of_sets(&watched);
	expect_timeout(&watched);
	for (unsigned i = 1; i < 9; i++)
		get_one(&watched, sender, i, wait_by_set);
	expect_timeout(&watched);
	write_event(&watched);
	CHECK_EQ(fi_wait(watched.set, -1), 0);
	CHECK(take_event(&watched));
	expect_timeout(&watched);
	watched_close(&watched);
}

/* ---- fi_trywait ---- */

static int descriptor_of(struct fid *fid)
{
	enum fi_wait_obj obj = FI_WAIT_NONE;
	int fd = -1;

	CHECK_EQ(fi_control(fid, FI_GETWAITOBJ, &obj), 0);
	CHECK(obj == FI_WAIT_FD || obj == FI_WAIT_SET);
	CHECK_EQ(fi_control(fid, FI_GETWAIT, &fd), 0);
	CHECK(fd >= 0);
	CHECK_EQ(fi_control(fid, FI_GETWAIT, NULL), -FI_EINVAL);
	CHECK_EQ(fi_control(fid, FI_GETWAITOBJ, NULL), -FI_EINVAL);
	CHECK_EQ(fi_control(fid, FI_BACKLOG, &fd), -FI_ENOSYS);
	return fd;
}

/* Until fi_trywait reports that something is there: it sleeps only if fi_trywait allows it. */
static void sleep_until_ready(struct watched *watched, struct fid *fid)
{
	struct pollfd set = {.fd = descriptor_of(fid), .events = POLLIN};
	double end = now() + PATIENCE_S;
	int ret;

	while ((ret = fi_trywait(watched->node.fabric, &fid, 1)) == 0) {
		CHECK_EQ(poll(&set, 1, 1000 * PATIENCE_S), 1);
		CHECK(now() < end);
	}
	CHECK_EQ(ret, -FI_EAGAIN);
}

static void wait_for_cq(struct watched *watched, uint64_t count)
{
	double end = now() + PATIENCE_S;

	do {
		CHECK(now() < end);
		sleep_until_ready(watched, &watched->cq->fid);
	} while (!take_completion(watched));
	CHECK_EQ(fi_cntr_read(watched->cntr), count);
}

static void wait_for_cntr(struct watched *watched, uint64_t count)
{
	while (fi_cntr_read(watched->cntr) < count)
		sleep_until_ready(watched, &watched->cntr->fid);
	CHECK(take_completion(watched));
}

static void wait_for_set(struct watched *watched, uint64_t count)
{
	double end = now() + PATIENCE_S;

	do {
		CHECK(now() < end);
		sleep_until_ready(watched, &watched->set->fid);
	} while (!take_completion(watched));
	CHECK_EQ(fi_cntr_read(watched->cntr), count);
}

static void check_refusals_of_trywait(struct watched *watched)
{
	struct node *node = &watched->node;
	struct fid *fids[] = {&watched->cq->fid, &watched->cntr->fid, &watched->eq->fid,
			      &node->domain->fid};
	double end = now() + PATIENCE_S;
	int fd;

	CHECK_EQ(fi_trywait(node->fabric, fids, 0), 0);
	/* -FI_EAGAIN as long as a frame is being taken in. */
	while (fi_trywait(node->fabric, fids, 3) != 0)
		CHECK(now() < end);
	CHECK_EQ(fi_trywait(node->fabric, fids, 4), -FI_EINVAL);
	/* Nothing to sleep on: the node's own CQ is for polling. */
	CHECK_EQ(fi_control(&node->rx_cq->fid, FI_GETWAIT, &fd), -FI_ENODATA);
}

static void test_trywait(bool sender)
{
	struct watched watched;

	watched_open(&watched, FI_WAIT_FD);
	check_refusals_of_trywait(&watched);
	for (unsigned i = 1; i < 9; i++)
		get_one(&watched, sender, i, i & 1 ? wait_for_cq : wait_for_cntr);
	write_event(&watched);
	sleep_until_ready(&watched, &watched.eq->fid);
	CHECK(take_event(&watched));
	watched_close(&watched);
}

static void test_trywait_set(bool sender)
{
	struct watched watched;

	watched_open(&watched, FI_WAIT_SET);
	CHECK_EQ(descriptor_of(&watched.cq->fid), descriptor_of(&watched.set->fid));
	CHECK_EQ(descriptor_of(&watched.cntr->fid), descriptor_of(&watched.set->fid));
	CHECK_EQ(descriptor_of(&watched.eq->fid), descriptor_of(&watched.set->fid));
	for (unsigned i = 1; i < 9; i++)
		get_one(&watched, sender, i, wait_for_set);
	write_event(&watched);
	sleep_until_ready(&watched, &watched.set->fid);
	CHECK(take_event(&watched));
	watched_close(&watched);
}

const struct test waiting_tests[] = {
	{.name = "poll_set", .run = test_poll_set, .both_ways = true},
	{.name = "wait_set", .run = test_wait_set, .both_ways = true},
	{.name = "trywait", .run = test_trywait, .both_ways = true},
	{.name = "trywait_set", .run = test_trywait_set, .both_ways = true},
	{0},
};
