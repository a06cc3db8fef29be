// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Ids by which a peer names an announced send or an accepted receive: an index for a look-up
 * without search, and a generation so that a late frame of the last user of a slot finds nothing.
 */
#include "message/transfers.h"

#include <stdlib.h>

#include "base/base.h"
#include "wire/wire.h"

#define SLOT_BITS 20
#define SLOT_MAX  (1u << SLOT_BITS)
#define NO_SLOT   UINT32_MAX

struct gamma_transfer {
	void *object; /* NULL: free */
	uint32_t id;  /* current, or next when free */
	uint32_t next_free;
};

void gamma_transfers_init(struct gamma_transfers *transfers)
{
	transfers->slots = NULL;
	transfers->size = 0;
	transfers->free = NO_SLOT;
}

void gamma_transfers_fini(struct gamma_transfers *transfers)
{
	free(transfers->slots);
	gamma_transfers_init(transfers);
}

static bool grow_slots(struct gamma_transfers *transfers)
{
	uint32_t size = transfers->size ? 2 * transfers->size : 64;
	struct gamma_transfer *slots;

	if (size > SLOT_MAX)
		return false;
	slots = realloc(transfers->slots, size * sizeof(*slots));
	if (!slots)
		return false;
	for (uint32_t i = transfers->size; i < size; i++) {
		slots[i].object = NULL;
		slots[i].id = i | SLOT_MAX; /* generation 1: an id is never 0 */
		slots[i].next_free = i + 1 < size ? i + 1 : NO_SLOT;
	}
	transfers->free = transfers->size;
	transfers->slots = slots;
	transfers->size = size;
	return true;
}

uint32_t gamma_transfers_add(struct gamma_transfers *transfers, void *object)
{
	struct gamma_transfer *slot;

	if (transfers->free == NO_SLOT && !grow_slots(transfers))
		return 0;
	slot = &transfers->slots[transfers->free];
	transfers->free = slot->next_free;
	slot->object = object;
	return slot->id;
}

void *gamma_transfers_find(const struct gamma_transfers *transfers, uint32_t id)
{
	uint32_t index = id & (SLOT_MAX - 1);

	if (index >= transfers->size || transfers->slots[index].id != id)
		return NULL;
	return transfers->slots[index].object;
}

void gamma_transfers_remove(struct gamma_transfers *transfers, uint32_t id)
{
	uint32_t index = id & (SLOT_MAX - 1);
	struct gamma_transfer *slot = &transfers->slots[index];

	slot->object = NULL;
	slot->id = (id + SLOT_MAX) & GAMMA_ID_MASK;
	if (slot->id < SLOT_MAX)
		slot->id |= SLOT_MAX;
	slot->next_free = transfers->free;
	transfers->free = index;
}
