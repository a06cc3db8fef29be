// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* What is lent of the frame or record that arrived last: see lending.h. */
#include "engine/lending.h"
#include "engine/state.h"

void gamma_lending_allow(struct gamma_endpoint *endpoint, const struct gamma_list *earlier)
{
	endpoint->lending.earlier = earlier;
	endpoint->lending.slot = NULL;
}

void gamma_lending_begin(struct gamma_endpoint *endpoint, const struct gamma_arrival *arrival)
{
	struct gamma_lending *lending = &endpoint->lending;

	if (gamma_likely(!lending->earlier))
		return;
	if (arrival->frame && !arrival->payload) {
		lending->slot = arrival->frame;
		lending->slot_len = arrival->len;
	} else {
		lending->slot = arrival->frame ? arrival->payload : arrival->shm.bytes;
		lending->slot_len = arrival->frame ? arrival->len : arrival->shm.len;
	}
}

bool gamma_lending_lend(struct gamma_endpoint *endpoint, const uint8_t *bytes, size_t len)
{
	struct gamma_lending *lending = &endpoint->lending;

	if (!lending->slot || bytes < lending->slot ||
	    bytes + len > lending->slot + lending->slot_len)
		return false;
	if (!lending->earlier || !gamma_list_empty(lending->earlier))
		return false;
	lending->lent = true;
	return true;
}

bool gamma_lending_end(struct gamma_endpoint *endpoint, struct gamma_link *link)
{
	struct gamma_lending *lending = &endpoint->lending;

	if (gamma_likely(!lending->lent))
		return false;
	lending->slot = NULL;
	lending->link = link;
	return true;
}

/* A slot that also waits for the deferred part of its frame is released with that. */
void gamma_lending_return(struct gamma_endpoint *endpoint)
{
	struct gamma_lending *lending = &endpoint->lending;

	if (!lending->link)
		return;
	if (lending->link != endpoint->holds)
		lending->link->ops->release(lending->link);
	lending->lent = false;
	lending->link = NULL;
}
