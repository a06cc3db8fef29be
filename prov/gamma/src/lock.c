// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Waiting for a lock that another thread holds: see lock.h. */
#include "lock.h"

#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The release looks for waiters without a barrier and may miss one that comes at that moment, so
 * each waiter looks again after this time. */
static const struct timespec look_again = {.tv_nsec = 1000000};

bool gamma_lock_take_unless(struct gamma_lock *lock, const bool *stop)
{
	bool taken = true;

	if (!__atomic_exchange_n(&lock->held, 1, __ATOMIC_ACQUIRE))
		return true;
	__atomic_add_fetch(&lock->waiting, 1, __ATOMIC_SEQ_CST);
	while (__atomic_exchange_n(&lock->held, 1, __ATOMIC_ACQUIRE)) {
		if (__atomic_load_n(stop, __ATOMIC_ACQUIRE)) {
			taken = false;
			break;
		}
		syscall(SYS_futex, &lock->held, FUTEX_WAIT_PRIVATE, 1, &look_again, NULL, 0);
	}
	__atomic_sub_fetch(&lock->waiting, 1, __ATOMIC_RELAXED);
	return taken;
}

bool gamma_lock_take_within(struct gamma_lock *lock, unsigned ms)
{
	bool taken = !__atomic_exchange_n(&lock->held, 1, __ATOMIC_ACQUIRE);

	if (taken)
		return true;
	__atomic_add_fetch(&lock->waiting, 1, __ATOMIC_SEQ_CST);
	while (!taken && ms--) {
		syscall(SYS_futex, &lock->held, FUTEX_WAIT_PRIVATE, 1, &look_again, NULL, 0);
		taken = !__atomic_exchange_n(&lock->held, 1, __ATOMIC_ACQUIRE);
	}
	__atomic_sub_fetch(&lock->waiting, 1, __ATOMIC_RELAXED);
	return taken;
}

void gamma_lock_wait(struct gamma_lock *lock)
{
	static const bool never = false;

	gamma_lock_take_unless(lock, &never);
}

void gamma_lock_wake(struct gamma_lock *lock)
{
	syscall(SYS_futex, &lock->held, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}
