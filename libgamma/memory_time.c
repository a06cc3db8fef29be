// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* The calls that need no job: memory, which need not be locked, and time. */
#include <time.h>

#include "gamma/libgamma.h"

int gamma_mlock(const void *address, size_t len)
{
	(void) address, (void) len;
	return 0;
}

int gamma_munlock(const void *address, size_t len)
{
	(void) address, (void) len;
	return 0;
}

int gamma_munlockall(void)
{
	return 0;
}

unsigned long long gamma_time(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (unsigned long long) time.tv_sec * 1000000000 + (unsigned long long) time.tv_nsec;
}

double gamma_time_diff(unsigned long long from, unsigned long long to)
{
	return (double) (to - from) / 1000;
}
