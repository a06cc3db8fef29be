// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Like threads_pthreads_mutex.h beside it: what Open MPI 5.0's headers want of threads. */
#ifndef GAMMA_BTL_COMPAT_THREADS_H
#define GAMMA_BTL_COMPAT_THREADS_H

#include <sched.h>

static inline void opal_thread_yield(void)
{
	sched_yield();
}

#endif
