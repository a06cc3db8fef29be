/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* How much two words differ: to suggest the right word for a misspelt one. */
#ifndef GAMMA_BASE_CLOSEST_H
#define GAMMA_BASE_CLOSEST_H

enum { GAMMA_CLOSEST_MAX = 48 }; /* characters of a word that are compared */

/* Characters to insert, delete or replace until a is b (Levenshtein distance). */
unsigned gamma_closest_distance(const char *a, const char *b);

#endif /* GAMMA_BASE_CLOSEST_H */
