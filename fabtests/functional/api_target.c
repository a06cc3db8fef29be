// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * gamma-api: the target of RMA: what it refuses, regions and endpoints that close meanwhile, how
 * regions are addressed, and a passive program.
 */
#include "api_region.h"
#include "../deprecated.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ---- errors ---- */

static void expect_refusal(struct node *node, uint64_t flags, int err, const char *words)
{
	struct fi_cq_err_entry error = {0};
	char text[256];

	wait_error(node->tx_cq, &error);
	CHECK_EQ(error.err, err);
	CHECK_EQ(error.flags, flags);
	CHECK(error.op_context == node);
	CHECK(strstr(
		fi_cq_strerror(node->tx_cq, error.prov_errno, error.err_data, text, sizeof(text)),
		words));
}

static void try_forbidden(struct node *node, const struct region *region, uint64_t key,
			  uint64_t addr, size_t len, int err, const char *words)
{
	UNTIL_TAKEN(fi_write(node->ep, region->local, len, NULL, node->peer, addr, key, node));
	expect_refusal(node, FI_RMA | FI_WRITE, err, words);
	UNTIL_TAKEN(fi_read(node->ep, region->local, len, NULL, node->peer, addr, key, node));
	expect_refusal(node, FI_RMA | FI_READ, err, words);
}

static void test_rma_refused(bool sender)
{
	struct region region;
	struct fid_mr *mr;
	struct node node;

	rma_open(&node, &region, (struct node_options){0});
	CHECK_EQ(fi_mr_reg(node.domain, region.bytes, 100, FI_READ | FI_WRITE, 0, KEY + 1, 0, &mr,
			   NULL),
		 0);
	aside_sync();
	if (sender) {
		uint64_t addr = region.there.addr, key = region.there.key;

		try_forbidden(&node, &region, key + 7, addr, 8, FI_EACCES, "no memory region");
		try_forbidden(&node, &region, key, addr + REGION - 7, 8, FI_EINVAL, "within");
		try_forbidden(&node, &region, key, addr - 1, 8, FI_EINVAL, "within");
		try_forbidden(&node, &region, key, UINT64_MAX - 3, 8, FI_EINVAL, "within");
		try_forbidden(&node, &region, key, addr + 1, REGION, FI_EINVAL, "within");
		try_forbidden(&node, &region, key + 1, addr, 8, FI_EACCES, "registered");
		/* Operations of no bytes need no region: fi_writedata as a mere signal. */
		UNTIL_TAKEN(fi_write(node.ep, NULL, 0, NULL, node.peer, 0, key + 7, &node));
		expect_done(&node, &node, FI_RMA | FI_WRITE);
		region_fill(region.local, 4, LONG);
		put_and_wait(&node, &region, 0, 0, LONG);
		CHECK_EQ(fi_write(node.ep, region.local, 1, NULL, 77, addr, key, NULL), -FI_EINVAL);
		CHECK_EQ(fi_inject_write(node.ep, region.local, node.info->tx_attr->inject_size + 1,
					 node.peer, addr, key),
			 -FI_EMSGSIZE);
	}
	aside_sync();
	if (!sender) {
		region_check(region.bytes, 4, LONG);
		for (size_t i = LONG; i < REGION; i++)
			CHECK_EQ(region.bytes[i], 0);
	}
	CHECK_EQ(fi_close(&mr->fid), 0);
	rma_close(&node, &region);
}

/* So many operations end, in one way or the other. Returns how many failed. */
static unsigned settle(struct node *node, unsigned count)
{
	double end = now() + PATIENCE_S;
	struct fi_cq_err_entry error = {0};
	struct fi_cq_tagged_entry entry;
	unsigned failed = 0;

	while (count) {
		ssize_t ret = fi_cq_read(node->tx_cq, &entry, 1);

		CHECK(ret == 1 || ret == -FI_EAGAIN || ret == -FI_EAVAIL);
		count -= ret == 1;
		if (ret == -FI_EAVAIL && fi_cq_readerr(node->tx_cq, &error, 0) == 1) {
			failed++;
			count--;
		}
		CHECK(now() < end);
	}
	return failed;
}

/* The target closes its region, and has not even the memory any more, while the other one is at
 * it. */
static void test_rma_region_closed(bool sender)
{
	struct node_options options = {.caps = RMA_CAPS};
	struct region region = {.mr = NULL};
	struct node node;
	unsigned failed;

	node_open_pair(&node, &options);
	region.local = malloc(REGION);
	CHECK(region.local);
	region_fill(region.local, 1, REGION);
	region.bytes =
		mmap(NULL, REGION, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(region.bytes != MAP_FAILED);
	CHECK_EQ(fi_mr_reg(node.domain, region.bytes, REGION, FI_REMOTE_READ | FI_REMOTE_WRITE, 0,
			   KEY, 0, &region.mr, NULL),
		 0);
	region_exchange(&node, &region);
	if (!sender) {
		for (int i = 0; i < 20; i++) {
			progress_all();
			nap(1);
		}
		CHECK_EQ(fi_close(&region.mr->fid), 0);
		CHECK_EQ(munmap(region.bytes, REGION), 0);
	}
	for (int i = 0; sender && i < 40; i++) {
		put(&node, &region, 0, 0, REGION, NULL);
		get(&node, &region, 0, 0, REGION, NULL);
	}
	failed = sender ? settle(&node, 80) : 0;
	CHECK(!sender || failed >= 2);
	aside_sync();
	if (sender) {
		CHECK_EQ(fi_close(&region.mr->fid), 0);
		CHECK_EQ(munmap(region.bytes, REGION), 0);
	}
	free(region.local);
	node_close_pair(&node);
}

static void *close_endpoint(void *ep)
{
	CHECK_EQ(fi_close(&((struct fid_ep *) ep)->fid), 0);
	return NULL;
}

/* The same while another thread of the target is closing the endpoint, which waits for the acks of
 * what it sends from the region. */
static void test_rma_region_closed_last(bool sender)
{
	struct node_options options = {.caps = RMA_CAPS};
	struct region region = {.mr = NULL};
	struct name own, theirs;
	struct fid_ep *second;
	struct node node;
	pthread_t thread;

	node_open_pair(&node, &options);
	second = node_another_endpoint(&node, &options);
	endpoint_name(second, &own);
	aside_exchange(&own, &theirs, sizeof(own));
	node.peer = node_insert(&node, &theirs);
	region.local = malloc(REGION);
	CHECK(region.local);
	region.bytes =
		mmap(NULL, REGION, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(region.bytes != MAP_FAILED);
	region_fill(region.bytes, 1, REGION);
	CHECK_EQ(fi_mr_reg(node.domain, region.bytes, REGION, FI_REMOTE_READ, 0, KEY, 0, &region.mr,
			   NULL),
		 0);
	region_exchange(&node, &region);
	for (int i = 0; sender && i < 40; i++)
		get(&node, &region, 0, 0, REGION, NULL);
	for (int i = 0; !sender && i < 10; i++) {
		progress_all();
		nap(1);
	}
	CHECK_EQ(pthread_create(&thread, NULL, close_endpoint, second), 0);
	if (!sender)
		nap(2);
	CHECK_EQ(fi_close(&region.mr->fid), 0);
	CHECK_EQ(munmap(region.bytes, REGION), 0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	CHECK(!sender || settle(&node, 40) > 0);
	free(region.local);
	node_close_pair(&node);
}

/* The target closes its endpoint before all is done. */
static void test_rma_peer_closed(bool sender)
{
	struct node_options options = {.caps = RMA_CAPS};
	struct region region;
	struct node node;

	node_open_pair(&node, &options);
	region_open(&node, &region, FI_REMOTE_READ | FI_REMOTE_WRITE);
	if (sender) /* so that the peer knows which endpoint to notify */
		put_and_wait(&node, &region, 0, 0, 1);
	for (int i = 0; sender && i < 10; i++) {
		get(&node, &region, 0, 0, REGION, NULL);
		put(&node, &region, 0, 0, REGION, NULL);
	}
	aside_sync();
	CHECK(!sender || settle(&node, 20) > 0);
	CHECK_EQ(fi_close(&region.mr->fid), 0);
	node_close(&node);
	aside_sync();
	free(region.block);
	free(region.local);
}

/* ---- regions ---- */

static void test_rma_modes(bool sender)
{
	static const int modes[] = {FI_MR_BASIC,
				    FI_MR_SCALABLE,
				    FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY,
				    FI_MR_VIRT_ADDR,
				    FI_MR_PROV_KEY | FI_MR_LOCAL | FI_MR_ENDPOINT,
				    FI_MR_RMA_EVENT | FI_MR_ENDPOINT};

	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		struct region region;
		struct node node;

		rma_open(&node, &region, (struct node_options){.mr_mode = modes[i]});
		if (modes[i] & FI_MR_ENDPOINT) {
			CHECK_EQ(fi_mr_bind(region.mr, &node.ep->fid, 0), 0);
			CHECK_EQ(fi_mr_enable(region.mr), 0);
		}
		aside_sync();
		region_fill(region.local, (unsigned) i, 5000);
		if (sender) {
			put_and_wait(&node, &region, 0, 100, 5000);
			memset(region.local, 0, 5000);
			get_and_wait(&node, &region, 100, 0, 5000);
			region_check(region.local, (unsigned) i, 5000);
		}
		rma_close(&node, &region);
	}
}

/* Keys of 64 bits, twice the same, and regions of several pieces. */
static void test_rma_keys(bool sender)
{
	const uint64_t keys[] = {0, UINT64_MAX, 1ull << 63, 0x123456789abcdef0ull};
	struct fid_mr *mr[4], *pieces, *twice;
	struct region region;
	struct node node;

	rma_open(&node, &region, (struct node_options){0});
	CHECK(node.info->domain_attr->mr_key_size == 8);
	for (int i = 0; i < 4; i++) {
		CHECK_EQ(fi_mr_reg(node.domain, region.bytes + 1000 * i, 1000, FI_REMOTE_WRITE, 0,
				   keys[i], 0, &mr[i], NULL),
			 0);
		CHECK(fi_mr_key(mr[i]) == keys[i]);
		CHECK_EQ(fi_mr_reg(node.domain, region.bytes, 1, FI_REMOTE_WRITE, 0, keys[i], 0,
				   &twice, NULL),
			 -FI_ENOKEY);
	}
	struct iovec iov[3] = {{region.bytes + 20000, 700},
			       {region.bytes + 10000, 3000},
			       {region.bytes + 30000, 300}};
	CHECK_EQ(fi_mr_regv(node.domain, iov, 3, FI_REMOTE_WRITE | FI_REMOTE_READ, 0, KEY + 9, 0,
			    &pieces, NULL),
		 0);
	aside_sync();
	region_fill(region.local, 1, 4000);
	for (int i = 0; sender && i < 4; i++) {
		UNTIL_TAKEN(
			fi_write(node.ep, region.local, 1000, NULL, node.peer, 0, keys[i], &node));
		expect_done(&node, &node, FI_RMA | FI_WRITE);
	}
	if (sender) {
		region.there.key = KEY + 9;
		put_and_wait(&node, &region, 0, 0, 4000);
		get_and_wait(&node, &region, 0, 5000, 4000);
		region_check(region.local + 5000, 1, 4000);
	}
	aside_sync();
	for (int i = 0; !sender && i < 4; i++)
		region_check(region.bytes + 1000 * i, 1, 1000);
	if (!sender) {
		region_check(region.bytes + 20000, 1, 700);
		CHECK_EQ(region.bytes[10000], region_byte(1, 700));
		CHECK_EQ(region.bytes[30299], region_byte(1, 3999));
	}
	for (int i = 0; i < 4; i++)
		CHECK_EQ(fi_close(&mr[i]->fid), 0);
	CHECK_EQ(fi_close(&pieces->fid), 0);
	rma_close(&node, &region);
}

/* One's own memory, by way of one's own address. */
static void test_rma_self(bool sender)
{
	struct region region;
	struct name name;
	struct node node;

	(void) sender;
	rma_open(&node, &region, (struct node_options){0});
	node_name(&node, &name);
	node.peer = node_insert(&node, &name);
	region.there.key = fi_mr_key(region.mr);
	region_fill(region.local, 8, LONG);
	put_and_wait(&node, &region, 0, 1000, LONG);
	region_check(region.bytes + 1000, 8, LONG);
	get_and_wait(&node, &region, 1000, LONG, LONG);
	region_check(region.local + LONG, 8, LONG);
	rma_close(&node, &region);
}

/* The target's program is busy elsewhere: it sees the result, but need not make progress. */
static void test_rma_target_idle(bool sender)
{
	struct region region;
	struct node node;

	rma_open(&node, &region, (struct node_options){0});
	region_fill(region.bytes, 2, LONG);
	aside_sync();
	if (sender) {
		get_and_wait(&node, &region, 0, 0, LONG);
		region_check(region.local, 2, LONG);
		region_fill(region.local, 6, LONG);
		put_and_wait(&node, &region, 0, 0, LONG);
		char done = 'd', in;

		aside_exchange(&done, &in, 1);
	} else {
		char done = 'd', in;

		for (double end = now() + PATIENCE_S; now() < end; nap(10))
			if (region_holds(region.bytes, 6, LONG))
				break;
		region_check(region.bytes, 6, LONG); /* it has called nothing all the time */
		aside_exchange(&done, &in, 1);
	}
	rma_close(&node, &region);
}

const struct test target_tests[] = {
	{.name = "rma_refused", .run = test_rma_refused},
	{.name = "rma_region_closed", .run = test_rma_region_closed},
	{.name = "rma_region_closed_last", .run = test_rma_region_closed_last},
	{.name = "rma_peer_closed", .run = test_rma_peer_closed},
	{.name = "rma_modes", .run = test_rma_modes},
	{.name = "rma_keys", .run = test_rma_keys},
	{.name = "rma_self", .run = test_rma_self},
	{.name = "rma_target_idle", .run = test_rma_target_idle},
	{0},
};
