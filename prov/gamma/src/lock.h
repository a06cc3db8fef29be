/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The domain's lock: one atomic operation while it is uncontended, inlined, since every call of the
 * library takes it. Waiting threads sleep in the kernel (lock.c).
 */
#ifndef GAMMA_LOCK_H
#define GAMMA_LOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"

struct gamma_lock {
	uint32_t held;    /* 0 or 1 */
	uint32_t waiting; /* threads that wait for it */
};

/* Waits for it. */
void gamma_lock_wait(struct gamma_lock *lock);
/* The same, unless it is held while *stop, which is atomic, is true. False: not taken. */
bool gamma_lock_take_unless(struct gamma_lock *lock, const bool *stop);
/* The same, for at most some ms. False: not taken. */
bool gamma_lock_take_within(struct gamma_lock *lock, unsigned ms);
/* Wakes one that waits. */
void gamma_lock_wake(struct gamma_lock *lock);

static inline void gamma_lock_take(struct gamma_lock *lock)
{
	if (gamma_unlikely(__atomic_exchange_n(&lock->held, 1, __ATOMIC_ACQUIRE)))
		gamma_lock_wait(lock);
}

static inline bool gamma_lock_is_wanted(const struct gamma_lock *lock)
{
	return __atomic_load_n(&lock->waiting, __ATOMIC_RELAXED) > 0;
}

static inline void gamma_lock_release(struct gamma_lock *lock)
{
	__atomic_store_n(&lock->held, 0, __ATOMIC_RELEASE);
	if (gamma_unlikely(gamma_lock_is_wanted(lock)))
		gamma_lock_wake(lock);
}

#endif /* GAMMA_LOCK_H */
