// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Like threads_pthreads_mutex.h beside it: what Open MPI 5.0's headers want of a thread's own
 * data. */
#ifndef GAMMA_BTL_COMPAT_TSD_H
#define GAMMA_BTL_COMPAT_TSD_H

#include <pthread.h>

typedef pthread_key_t opal_tsd_key_t;

static inline int opal_tsd_get(opal_tsd_key_t key, void **value)
{
	*value = pthread_getspecific(key);
	return 0;
}

#endif
