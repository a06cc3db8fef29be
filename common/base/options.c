// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Messages of tools about a wrong command line: see options.h. */
#include "base/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/closest.h"

enum { EXIT_USAGE = 2 };

void gamma_options_misuse(const char *fmt, ...)
{
	va_list args;

	fflush(stdout);
	fprintf(stderr, "%s: ", program_invocation_short_name);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fprintf(stderr, "; %s --help shows the usage\n", program_invocation_short_name);
	exit(EXIT_USAGE);
}

/* The long option nearest to a word without its value and dashes; NULL if none is near. */
static const char *nearest(const char *word, const struct option *options)
{
	unsigned distance = 1 + gamma_max(2, (unsigned) strlen(word) / 3);
	const char *found = NULL;

	for (; options && options->name; options++) {
		unsigned that = gamma_closest_distance(options->name, word);

		if (that < distance) {
			distance = that;
			found = options->name;
		}
	}
	return found;
}

static void __attribute__((noreturn)) refuse_long(const char *word, const struct option *options)
{
	char name[GAMMA_CLOSEST_MAX + 1];
	const char *hint;

	snprintf(name, sizeof(name), "%.*s", (int) strcspn(word + 2, "="), word + 2);
	hint = nearest(name, options);
	if (hint)
		gamma_options_misuse("--%s is no option (is it --%s?)", gamma_printable(name).text,
				     hint);
	gamma_options_misuse("--%s is no option", gamma_printable(name).text);
}

void gamma_options_refuse(char **argv, int result, const struct option *options)
{
	const char *word = argv[optind - 1];
	bool is_long = !strncmp(word, "--", 2);

	if (is_long && !optopt)
		refuse_long(word, options);
	if (result == ':' && is_long)
		gamma_options_misuse("%s needs a value", gamma_printable(word).text);
	if (result == ':')
		gamma_options_misuse("-%c needs a value", optopt);
	/* Letters that are left in a word leave optind at it. */
	if (is_long && strchr(word, '='))
		gamma_options_misuse("%.*s takes no value", (int) strcspn(word, "="), word);
	gamma_options_misuse("-%c is no option", optopt > ' ' && optopt < 0x7f ? optopt : '?');
}
