/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Wrong command lines, which every tool answers alike: one line, and status 2. */
#ifndef GAMMA_BASE_OPTIONS_H
#define GAMMA_BASE_OPTIONS_H

struct option;

/* How every tool ends. Each names what status 1 is to it; 0 also if a signal has ended it in time.
 */
enum gamma_options_status {
	GAMMA_OPTIONS_DONE,  /* done, and nothing is wrong */
	GAMMA_OPTIONS_FOUND, /* done, and something is: what was looked for, or the answer was no */
	GAMMA_OPTIONS_CANNOT, /* not done: wrong usage, a file that cannot be read, or this host is
			       * not set up for it */
};

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
