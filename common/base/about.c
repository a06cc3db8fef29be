// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Answers of programs to --help and --version: see about.h. */
#include "base/about.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void gamma_about_answer(int argc, char **argv, void (*print_help)(FILE *to))
{
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
