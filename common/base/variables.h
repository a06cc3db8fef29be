/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The names of the environment's FI_GAMMA_ variables, which the provider and the tools share. */
#ifndef GAMMA_BASE_VARIABLES_H
#define GAMMA_BASE_VARIABLES_H

#include <stddef.h>

/*
 * A name that is misspelt would leave the default in force, unseen. 0, or -EINVAL with a line in
 * ERROR that names the variable and the nearest right one.
 */
int gamma_variables_check(char *error, size_t len);

#endif /* GAMMA_BASE_VARIABLES_H */
