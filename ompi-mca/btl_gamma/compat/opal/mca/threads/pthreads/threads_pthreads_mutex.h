// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * In the place of a header that Open MPI 5.0 includes and does not install: its locks are those of
 * the C library. Only what its other headers name; looked for last, so the real one is preferred.
 */
#ifndef GAMMA_BTL_COMPAT_MUTEX_H
#define GAMMA_BTL_COMPAT_MUTEX_H

#include <pthread.h>
#include <stdbool.h>

typedef pthread_mutex_t opal_thread_internal_mutex_t;
typedef pthread_cond_t opal_thread_internal_cond_t;

#define OPAL_THREAD_INTERNAL_MUTEX_INITIALIZER PTHREAD_MUTEX_INITIALIZER
#define OPAL_THREAD_INTERNAL_COND_INITIALIZER  PTHREAD_COND_INITIALIZER
#ifdef PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP
#define OPAL_THREAD_INTERNAL_RECURSIVE_MUTEX_INITIALIZER PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP
#endif

/* Open MPI's own inline functions call these two; the components' code does not. */
static inline int opal_thread_internal_mutex_init(opal_thread_internal_mutex_t *mutex,
						  bool recursive)
{
	pthread_mutexattr_t attr;
	int rc;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr,
				  recursive ? PTHREAD_MUTEX_RECURSIVE : PTHREAD_MUTEX_NORMAL);
	rc = pthread_mutex_init(mutex, &attr);
	pthread_mutexattr_destroy(&attr);
	return rc;
}

static inline int opal_thread_internal_cond_init(opal_thread_internal_cond_t *cond)
{
	return pthread_cond_init(cond, NULL);
}

#define opal_thread_internal_mutex_lock(mutex)    ((void) pthread_mutex_lock(mutex))
#define opal_thread_internal_mutex_trylock(mutex) (pthread_mutex_trylock(mutex) ? 1 : 0)
#define opal_thread_internal_mutex_unlock(mutex)  ((void) pthread_mutex_unlock(mutex))
#define opal_thread_internal_mutex_destroy(mutex) ((void) pthread_mutex_destroy(mutex))
#define opal_thread_internal_cond_signal(cond)    ((void) pthread_cond_signal(cond))
#define opal_thread_internal_cond_destroy(cond)   ((void) pthread_cond_destroy(cond))

#endif
