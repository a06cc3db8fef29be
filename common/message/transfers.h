/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Ids of transfers in progress, as frames carry them. */
#ifndef GAMMA_MESSAGE_TRANSFERS_H
#define GAMMA_MESSAGE_TRANSFERS_H

#include <stdint.h>

/* Ids of announced sends and accepted receives: slot in the low 20 bits, generation above. */
struct gamma_transfers {
	struct gamma_transfer *slots;
	uint32_t size, free; /* entries; head of the free list */
};

void gamma_transfers_init(struct gamma_transfers *transfers);
void gamma_transfers_fini(struct gamma_transfers *transfers);
uint32_t gamma_transfers_add(struct gamma_transfers *transfers, void *object); /* 0: no memory */
void *gamma_transfers_find(const struct gamma_transfers *transfers, uint32_t id);
void gamma_transfers_remove(struct gamma_transfers *transfers, uint32_t id);

#endif /* GAMMA_MESSAGE_TRANSFERS_H */
