/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* --help and --version, which every program of this project answers alike. */
#ifndef GAMMA_BASE_ABOUT_H
#define GAMMA_BASE_ABOUT_H

#include <stdio.h>

/*
 * Looks for --help and --version among the words up to "--". --version prints "NAME (gamma)
 * VERSION", --help what PRINT_HELP writes (NULL: the caller does that itself); both go to the
 * standard output and end the program with status 0. Call it before options are read.
 *
 * Standard files that are closed are taken, so that nothing else gets their numbers. From then on
 * a program whose standard output could not be written, as on a full disk, says so as it ends, with
 * status 2.
 */
void gamma_about_answer(int argc, char **argv, void (*print_help)(FILE *to));

#endif
