// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Future events, ordered by time; events of the same time in the order of their insertion. */
#include "internal.h"

#include <stdlib.h>

static bool before(const struct event *a, const struct event *b)
{
	return a->time != b->time ? a->time < b->time : a->order < b->order;
}

void event_push(struct heap *heap, struct event event)
{
	size_t at = heap->count++;

	if (heap->count > heap->size) {
		heap->size = heap->size ? 2 * heap->size : 1024;
		heap->events = realloc(heap->events, heap->size * sizeof(*heap->events));
		if (!heap->events)
			abort();
	}
	event.order = heap->inserted++;
	while (at && before(&event, &heap->events[(at - 1) / 2])) {
		heap->events[at] = heap->events[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	heap->events[at] = event;
}

struct event event_pop(struct heap *heap)
{
	struct event first = heap->events[0], last = heap->events[--heap->count];
	size_t at = 0, child;

	while ((child = 2 * at + 1) < heap->count) {
		if (child + 1 < heap->count &&
		    before(&heap->events[child + 1], &heap->events[child]))
			child++;
		if (!before(&heap->events[child], &last))
			break;
		heap->events[at] = heap->events[child];
		at = child;
	}
	heap->events[at] = last;
	return first;
}

void event_free(struct heap *heap)
{
	free(heap->events);
	heap->events = NULL;
	heap->count = heap->size = 0;
}
