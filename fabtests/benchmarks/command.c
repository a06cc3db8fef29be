// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Options and numbers of a command line: see command.h. */
#include "command.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/about.h"

const char *command_usage = "";

void command_misuse(const char *fmt, ...)
{
	va_list arguments;

	fprintf(stderr, "%s: ", program_invocation_short_name);
	va_start(arguments, fmt);
	vfprintf(stderr, fmt, arguments);
	va_end(arguments);
	fprintf(stderr, "\n%s", command_usage);
	exit(2);
}

static void print_usage(FILE *to)
{
	fputs(command_usage, to);
}

/* What getopt has refused; optopt is 0 if that is a word. */
static void __attribute__((noreturn)) refuse_option(char **argv, const char *letters)
{
	const char *known = optopt ? strchr(letters, optopt) : NULL;

	if (!optopt)
		command_misuse("%s is no option", argv[optind - 1]);
	if (optopt == '-') /* a word, where there are letters only */
		command_misuse("%s is no option", argv[optind]);
	if (!known || *known == ':')
		command_misuse("-%c is no option", optopt);
	if (known[1] == ':')
		command_misuse("-%c needs a value", optopt);
	command_misuse("-%c takes no value", optopt);
}

int command_option(int argc, char **argv, const char *letters)
{
	int option;

	gamma_about_answer(argc, argv, print_usage);
	opterr = 0;
	option = getopt(argc, argv, letters);
	if (option == 'h') {
		print_usage(stdout);
		exit(0);
	}
	if (option == '?')
		refuse_option(argv, letters);
	return option;
}

int command_long_option(int argc, char **argv, const char *letters, const struct option *words)
{
	int option;

	gamma_about_answer(argc, argv, NULL);
	opterr = 0;
	option = getopt_long(argc, argv, letters, words, NULL);
	if (option == '?')
		refuse_option(argv, letters);
	return option;
}

double command_number(const char *what, const char *text, double least, double most)
{
	char *end;
	double value = strtod(text, &end);

	if (*end || end == text || !(value >= least && value <= most))
		command_misuse("%s '%s' is not a number from %.12g to %.12g", what, text, least,
			       most);
	return value;
}

unsigned long command_whole(const char *what, const char *text, unsigned long least,
			    unsigned long most)
{
	char *end;
	unsigned long value;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || value < least || value > most)
		command_misuse("%s '%s' is not a whole number from %lu to %lu", what, text, least,
			       most);
	return value;
}

unsigned command_sizes(const char *what, char *text, size_t *sizes, unsigned max,
		       unsigned long largest)
{
	unsigned count = 0;

	for (char *word; (word = strsep(&text, ","));) {
		if (count == max)
			command_misuse("%s: more than %u sizes", what, max);
		sizes[count++] = command_whole(what, word, 0, largest);
	}
	return count;
}

void command_end(int argc, char **argv)
{
	if (optind < argc)
		command_misuse("'%s' is one word too many", argv[optind]);
}

const char *command_peer(int argc, char **argv, const char *provider, bool serves)
{
	const char *peer = serves || optind == argc ? NULL : argv[optind++];

	command_end(argc, argv);
	if (!provider)
		command_misuse("-p PROVIDER is missing");
	if (!serves && !peer)
		command_misuse("the peer's name is missing, or -s");
	return peer;
}

bool command_next_line(void)
{
	int letter;

	do
		letter = getchar();
	while (letter != EOF && letter != '\n');
	return letter == '\n';
}
