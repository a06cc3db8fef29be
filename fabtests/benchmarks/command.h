/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Command lines of the benchmarks. A wrong one ends the program with status 2, after a line that
 * names the error, and the usage.
 */
#ifndef COMMAND_H
#define COMMAND_H

#include <stdbool.h>
#include <stddef.h>

struct option;

/* The usage text; to be set before anything else here. */
extern const char *command_usage;

void command_misuse(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* The next option as of getopt, -1 after the last one. -h and --help print the usage, --version the
 * version. */
int command_option(int argc, char **argv, const char *letters);
/* The same as of getopt_long; -h and --help are left to the caller, which prints more. */
int command_long_option(int argc, char **argv, const char *letters, const struct option *words);

/* The value of WHAT, such as "-n". */
double command_number(const char *what, const char *text, double least, double most);
unsigned long command_whole(const char *what, const char *text, unsigned long least,
			    unsigned long most);

/* TEXT, numbers up to LARGEST between commas, is split into words; returns how many, at most MAX.
 */
unsigned command_sizes(const char *what, char *text, size_t *sizes, unsigned max,
		       unsigned long largest);

/* None but options. */
void command_end(int argc, char **argv);
/* The peer that a client names after its options; NULL for a server. Both must name a provider. */
const char *command_peer(int argc, char **argv, const char *provider, bool serves);

/* Whether another line has come on the standard input. */
bool command_next_line(void);

#endif
