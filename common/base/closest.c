// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* The distance between two words, row by row of the usual table. */
#include "base/closest.h"

#include <string.h>

#include "base/base.h"

unsigned gamma_closest_distance(const char *a, const char *b)
{
	size_t a_len = strnlen(a, GAMMA_CLOSEST_MAX), b_len = strnlen(b, GAMMA_CLOSEST_MAX);
	unsigned row[GAMMA_CLOSEST_MAX + 1];

	for (size_t j = 0; j <= b_len; j++)
		row[j] = (unsigned) j;
	for (size_t i = 1; i <= a_len; i++) {
		unsigned diagonal = row[0]; /* of the row before */

		row[0] = (unsigned) i;
		for (size_t j = 1; j <= b_len; j++) {
			unsigned above = row[j];
			unsigned replaced = diagonal + (a[i - 1] != b[j - 1]);

			row[j] = (unsigned) gamma_min(gamma_min(above, row[j - 1]) + 1, replaced);
			diagonal = above;
		}
	}
	return row[b_len];
}
