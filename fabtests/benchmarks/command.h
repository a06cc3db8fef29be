/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Command lines of the benchmarks: what is wrong with one is told in a line, followed by how the
 * program is used, and ends it with status 2.
 */
#ifndef COMMAND_H
#define COMMAND_H

#include <stdbool.h>

struct option;

/* How the program is used; to be set before anything else here. */
extern const char *command_usage;

void command_misuse(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* The next option as of getopt, -1 after the last one. -h tells how the program is used. */
int command_option(int argc, char **argv, const char *letters);
/* The same as of getopt_long; what -h tells is left to the caller, who has more to tell. */
int command_long_option(int argc, char **argv, const char *letters, const struct option *words);

/* What WHAT, as "-n", has to be. */
double command_number(const char *what, const char *text, double least, double most);
unsigned long command_whole(const char *what, const char *text, unsigned long least,
			    unsigned long most);

/* None but options. */
void command_end(int argc, char **argv);
/* Whom a client names behind its options; NULL for a server. Both have to name a provider. */
const char *command_peer(int argc, char **argv, const char *provider, bool serves);

/* Whether another line has come on the standard input. */
bool command_next_line(void);

#endif
