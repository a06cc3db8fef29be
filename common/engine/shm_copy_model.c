// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Several pages to a neighbour: copied through shared memory, or read by the kernel? What the
 * kernel takes differs by a factor of two between machines: halfway is taken for it. What two
 * copies take depends on how fast a line of the cache goes from one of the two cores to the
 * other, which differs by a factor of ten, and changes when a virtual machine moves. Nobody tells
 * it, but a copy into memory that the other core has read last takes as long as its lines need to
 * come. So one is timed now and then. near.c asks with each message; near.c and output.c, which
 * hands eager frames over, tell what one took. Of chunks their reader tells how long they take,
 * too: a writer need not wait for all of its lines.
 */
#include "engine/internal.h"

enum {
	KIB = 1024,
	PULL_NS = 1700,   /* announced, read by the kernel and answered: of an empty message, */
	PULL_KIB_NS = 45, /* and of each KiB; measured: 1,050 and 40, 2,500 and 60 */
	LOOK_EVERY = 32,  /* messages between two copies that are timed, where they pay */
	REST_MAX = 1023,  /* ditto where they do not, at most: one may take eight times as long */
};

/* Of what is longer than a record the reader takes one while the next one is written. */
static bool copy_pays(uint64_t len, uint64_t kib_ns)
{
	uint64_t copied = len + gamma_min(len, GAMMA_COPY_MAX);

	return kib_ns && copied * kib_ns < len * PULL_KIB_NS + (uint64_t) PULL_NS * KIB;
}

bool gamma_shm_copy_model_in_chunks(const struct gamma_shm_copy_model *model, uint64_t len)
{
	return model->timed ||
	       (model->kib_ns && copy_pays(len, gamma_max(model->kib_ns, model->read_ns)));
}

bool gamma_shm_copy_model_choose(struct gamma_shm_copy_model *model, uint64_t len)
{
	if (model->left)
		model->left--;
	else
		model->timed = true;
	model->on = model->timed || copy_pays(len, model->kib_ns);
	return model->on;
}

/* One that took much longer may have been interrupted: then twice what was known counts. */
uint32_t gamma_shm_copy_model_smooth(uint32_t known, uint32_t kib_ns)
{
	return known ? (uint32_t) gamma_min(kib_ns, 2 * (uint64_t) known) : kib_ns;
}

/* One that took much longer than the last may have been interrupted: only the second one counts. */
void gamma_shm_copy_model_record(struct gamma_shm_copy_model *model, uint64_t len, uint64_t ns)
{
	uint32_t kib_ns = (uint32_t) gamma_min(ns * KIB / len + 1, UINT32_MAX);

	model->timed = false;
	model->doubted = model->kib_ns && !model->doubted && kib_ns / 2 > model->kib_ns;
	if (!model->doubted)
		model->kib_ns = kib_ns;
	if (model->doubted) {
		model->left = 0;
	} else if (copy_pays(len, model->kib_ns)) {
		model->rest = 0;
		model->left = LOOK_EVERY;
	} else {
		model->rest = (uint16_t) gamma_min(2 * model->rest + 1, REST_MAX);
		model->left = model->rest;
	}
}
