// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Answers of programs to --help and --version: see about.h. */
#include "base/about.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_NO_OUTPUT = 2 };

/* A file or socket that the program opens must not become its input or output: what is written to
 * the latter fails instead. */
static void take_standard_files(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 &&
		    open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
			_exit(EXIT_NO_OUTPUT);
}

/* A script keeps what a program has written if its status is 0. */
static void check_output(void)
{
	int failed = ferror(stdout), error = fflush(stdout) ? errno : 0;

	if (!failed && !error)
		return;
	fprintf(stderr, "%s: the output is incomplete%s%s\n", program_invocation_short_name,
		error ? ": " : "", error ? strerror(error) : "");
	_exit(EXIT_NO_OUTPUT);
}

void gamma_about_answer(int argc, char **argv, void (*print_help)(FILE *to))
{
	take_standard_files();
	atexit(check_output);
	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++) {
		if (!strcmp(argv[i], "--version")) {
			printf("%s (" PACKAGE_NAME ") " PACKAGE_VERSION "\n",
			       program_invocation_short_name);
			exit(EXIT_SUCCESS);
		}
		if (print_help && !strcmp(argv[i], "--help")) {
			print_help(stdout);
			exit(EXIT_SUCCESS);
		}
	}
}
