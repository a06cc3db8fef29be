/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * References that keep an object from being closed: its close function returns -FI_EBUSY while
 * there are any.
 */
#ifndef GAMMA_PROV_REFS_H
#define GAMMA_PROV_REFS_H

#include <stdbool.h>

static inline void gamma_refs_take(int *refs)
{
	__atomic_add_fetch(refs, 1, __ATOMIC_RELAXED);
}

static inline void gamma_refs_drop(int *refs)
{
	__atomic_sub_fetch(refs, 1, __ATOMIC_RELEASE);
}

static inline bool gamma_refs_any(int *refs)
{
	return __atomic_load_n(refs, __ATOMIC_ACQUIRE) > 0;
}

#endif /* GAMMA_PROV_REFS_H */
