// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Counts allocations, so that a run can be checked for leaks. The linker redirects every call of
 * malloc and its kin in this program here (--wrap).
 */
#include "internal.h"

#include <malloc.h>
#include <stdlib.h>

uint64_t memory_live, memory_bytes, memory_bytes_max;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void __real_free(void *block);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void __wrap_free(void *block);

static void *count(void *block)
{
	if (!block)
		return NULL;
	memory_live++;
	memory_bytes += malloc_usable_size(block);
	memory_bytes_max = gamma_max(memory_bytes_max, memory_bytes);
	return block;
}

static void uncount(void *block)
{
	if (!block)
		return;
	memory_live--;
	memory_bytes -= malloc_usable_size(block);
}

void *__wrap_malloc(size_t size)
{
	return count(__real_malloc(size));
}

void *__wrap_calloc(size_t number, size_t size)
{
	return count(__real_calloc(number, size));
}

void *__wrap_realloc(void *old, size_t size)
{
	uncount(old);
	return count(__real_realloc(old, size));
}

void __wrap_free(void *block)
{
	uncount(block);
	__real_free(block);
}
