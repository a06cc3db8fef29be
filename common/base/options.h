/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Wrong command lines, which every tool answers alike: one line, and status 2. */
#ifndef GAMMA_BASE_OPTIONS_H
#define GAMMA_BASE_OPTIONS_H

struct option;

/* Says what is wrong and where to look, and ends the program with status 2. */
void gamma_options_misuse(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

/*
 * The same, of an option that getopt or getopt_long does not take: for its result '?', and ':',
 * which it returns where LETTERS begin with ":" (behind "+"), which also keeps it quiet. OPTIONS:
 * the long ones, or NULL; the nearest is named.
 */
void gamma_options_refuse(char **argv, int result, const struct option *options)
	__attribute__((noreturn));

#endif /* GAMMA_BASE_OPTIONS_H */
