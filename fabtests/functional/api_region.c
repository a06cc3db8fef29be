// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* gamma-api: see api_region.h. */
#include "api_region.h"
#include "../deprecated.h"

#include <stdlib.h>
#include <string.h>

uint8_t region_byte(unsigned seed, size_t i)
{
	return (uint8_t) (seed * 101 + i * 7 + (i >> 8) * 13 + 1);
}

void region_fill(uint8_t *bytes, unsigned seed, size_t len)
{
	for (size_t i = 0; i < len; i++)
		bytes[i] = region_byte(seed, i);
}

bool region_holds(const uint8_t *bytes, unsigned seed, size_t len)
{
	const volatile uint8_t *now_there = bytes;

	for (size_t i = 0; i < len; i++)
		if (now_there[i] != region_byte(seed, i))
			return false;
	return true;
}

void region_check(const uint8_t *bytes, unsigned seed, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (bytes[i] != region_byte(seed, i))
			fail_check(__FILE__, __LINE__, "byte of the region", bytes[i],
				   region_byte(seed, i));
}

void region_exchange(struct node *node, struct region *region)
{
	uint64_t mode = (uint64_t) node->info->domain_attr->mr_mode;
	bool virtual_addr = mode & FI_MR_VIRT_ADDR || mode == FI_MR_BASIC;
	struct there here = {
		.addr = virtual_addr ? (uintptr_t) region->bytes : 0,
		.key = fi_mr_key(region->mr),
	};

	aside_exchange(&here, &region->there, sizeof(here));
}

void region_open(struct node *node, struct region *region, uint64_t access)
{
	region->block = malloc(REGION + 2 * MARGIN);
	region->local = malloc(REGION);
	CHECK(region->block && region->local);
	memset(region->block, 0xA5, REGION + 2 * MARGIN);
	region->bytes = region->block + MARGIN;
	memset(region->bytes, 0, REGION);
	memset(region->local, 0, REGION);
	CHECK_EQ(fi_mr_reg(node->domain, region->bytes, REGION, access, 0, KEY, 0, &region->mr,
			   NULL),
		 0);
	region_exchange(node, region);
}

void region_close(struct region *region)
{
	aside_sync();
	for (size_t i = 0; i < MARGIN; i++) {
		CHECK_EQ(region->block[i], 0xA5);
		CHECK_EQ(region->bytes[REGION + i], 0xA5);
	}
	CHECK_EQ(fi_close(&region->mr->fid), 0);
	free(region->block);
	free(region->local);
}

void rma_open(struct node *node, struct region *region, struct node_options options)
{
	options.caps |= RMA_CAPS;
	node_open_pair(node, &options);
	region_open(node, region, FI_REMOTE_READ | FI_REMOTE_WRITE);
}

void rma_close(struct node *node, struct region *region)
{
	region_close(region);
	node_close_pair(node);
}

void expect_done(struct node *node, void *context, uint64_t flags)
{
	struct completion completion;

	wait_completion(node->tx_cq, &completion);
	CHECK(completion.entry.op_context == context);
	CHECK_EQ(completion.entry.flags, flags);
}

void put(struct node *node, const struct region *region, size_t from, size_t to, size_t len,
	 void *context)
{
	UNTIL_TAKEN(fi_write(node->ep, region->local + from, len, NULL, node->peer,
			     region->there.addr + to, region->there.key, context));
}

void get(struct node *node, const struct region *region, size_t from, size_t to, size_t len,
	 void *context)
{
	UNTIL_TAKEN(fi_read(node->ep, region->local + to, len, NULL, node->peer,
			    region->there.addr + from, region->there.key, context));
}

void put_and_wait(struct node *node, const struct region *region, size_t from, size_t to,
		  size_t len)
{
	put(node, region, from, to, len, node);
	expect_done(node, node, FI_RMA | FI_WRITE);
}

void get_and_wait(struct node *node, const struct region *region, size_t from, size_t to,
		  size_t len)
{
	get(node, region, from, to, len, node);
	expect_done(node, node, FI_RMA | FI_READ);
}
