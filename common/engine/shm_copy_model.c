// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Should several pages to a peer of this host be copied through shared memory, or read by the
 * kernel (CMA)? The kernel's cost differs by a factor of two between machines, so the mean is
 * assumed. The cost of two copies depends on the core-to-core latency. That differs by a factor of
 * ten, changes when a virtual machine moves, and no interface reports it. But a copy into memory
 * that the other core has read last takes as long as its cache lines take to arrive. So a copy is
 * timed now and then. shm_path.c asks for each message; shm_path.c and output.c, which sends eager
 * frames, report how long a copy took. The reader of chunks reports its time as well, because a
 * writer need not wait for all of its cache lines.
 */
#include "engine/shm_copy_model.h"

#include "base/base.h"

enum {
	KIB = 1024,
	PULL_NS =
		1700, /* ns for an announcement, a CMA read and the answer, of an empty message, */
	PULL_KIB_NS = 45, /* and ns for each KiB; measured: 1,050 and 40, 2,500 and 60 */
	LOOK_EVERY = 32,  /* messages between two timed copies, where copies pay */
	REST_MAX = 1023, /* ditto where they do not, at most: a copy may take eight times as long */
};

/* Of a message longer than a record, one chunk is read while the next is written. */
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
	return model->timed || copy_pays(len, model->kib_ns);
}

/* A copy that took much longer may have been interrupted: at most twice the old value counts. */
uint32_t gamma_shm_copy_model_smooth(uint32_t known, uint32_t kib_ns)
{
	return known ? (uint32_t) gamma_min(kib_ns, 2 * (uint64_t) known) : kib_ns;
}

/* A copy that took much longer than the last may have been interrupted: only a second one counts.
 */
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
