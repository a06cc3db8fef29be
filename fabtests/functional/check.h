/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Checks of gamma-api and gamma-coll, each of which has its own fail_check. */
#ifndef GAMMA_FUNCTIONAL_CHECK_H
#define GAMMA_FUNCTIONAL_CHECK_H

/* A failed check ends the process; the others notice and end as well. */
void fail_check(const char *file, int line, const char *what, long long is, long long should);
#define CHECK(condition)                                                  \
	do {                                                              \
		if (!(condition))                                         \
			fail_check(__FILE__, __LINE__, #condition, 0, 0); \
	} while (0)
#define CHECK_EQ(is, should)                                                              \
	do {                                                                              \
		long long is_ = (long long) (is), should_ = (long long) (should);         \
		if (is_ != should_)                                                       \
			fail_check(__FILE__, __LINE__, #is " == " #should, is_, should_); \
	} while (0)

#endif /* GAMMA_FUNCTIONAL_CHECK_H */
