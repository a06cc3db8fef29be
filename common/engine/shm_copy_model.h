/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Whether several pages to an shm peer are copied, and in chunks. */
#ifndef GAMMA_ENGINE_SHM_COPY_MODEL_H
#define GAMMA_ENGINE_SHM_COPY_MODEL_H

#include <stdbool.h>
#include <stdint.h>

enum {
	GAMMA_COPY_MIN = 4096,  /* bytes: shorter copies are not timed */
	GAMMA_COPY_MAX = 16384, /* bytes: more does not fit in a record */
};

/* Whether several pages to an shm peer are copied: shm_copy_model.c */
struct gamma_shm_copy_model {
	uint32_t kib_ns; /* what a copy of 1,024 bytes took; 0: not known */
	uint32_t
		read_ns; /* until the peer has as much of what comes in chunks, as it says; ditto */
	uint64_t second_at; /* ns: when the second chunk of a message came */
	uint16_t left;      /* such messages before the next copy that is timed */
	uint16_t rest;      /* of them, after the last one that took too long */
	bool timed;         /* the next copy is to be timed */
	bool doubted;       /* the last timed copy took much longer than those before */
};

/* Whether the several pages that have been posted, len bytes, are to be copied: also in `on`. */
bool gamma_shm_copy_model_choose(struct gamma_shm_copy_model *model, uint64_t len);
/* Whether they are to be written in chunks, if they can be. */
bool gamma_shm_copy_model_in_chunks(const struct gamma_shm_copy_model *model, uint64_t len);
/* The time of a copy of a KiB, averaged over the copies, in ns. */
uint32_t gamma_shm_copy_model_smooth(uint32_t known, uint32_t kib_ns);
/* How long one copy of them, or of a part, took: of the first after `timed` has been set. */
void gamma_shm_copy_model_record(struct gamma_shm_copy_model *model, uint64_t len, uint64_t ns);

#endif /* GAMMA_ENGINE_SHM_COPY_MODEL_H */
