// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Which FI_GAMMA_ variables there are. Their values are in settings.c: test_manual.py compares.
 */
#include "base/variables.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "base/closest.h"

#define PREFIX "FI_GAMMA_"

static const char *const names[] = {
	"AUTO",         "BROKER",    "BUDGET",    "CONF",      "EAGER_SIZE",
	"ETHERTYPE",    "FABRIC",    "GROUP_MAC", "IFACE",     "INJECT_SIZE",
	"JOIN_TIMEOUT", "LINGER",    "LINK",      "MULTICAST", "PAYLOAD_CRC",
	"PEER_TIMEOUT", "RING_SIZE", "SHM_SIZE",  "STATS",     "UNEXPECTED_SIZE",
};

static bool is_name(const char *word)
{
	for (size_t i = 0; i < gamma_array_size(names); i++)
		if (!strcmp(names[i], word))
			return true;
	return false;
}

/* A question with the nearest name; "" if none is near. */
static void suggest(const char *word, char *text, size_t len)
{
	unsigned distance = 1 + gamma_max(2, (unsigned) strlen(word) / 3);
	const char *nearest = NULL;
	char upper[GAMMA_CLOSEST_MAX + 1] = "";

	for (size_t i = 0; i < GAMMA_CLOSEST_MAX && word[i]; i++)
		upper[i] = (char) toupper((unsigned char) word[i]);
	for (size_t i = 0; i < gamma_array_size(names); i++) {
		unsigned found = gamma_closest_distance(names[i], upper);

		if (found < distance) {
			distance = found;
			nearest = names[i];
		}
	}
	*text = 0;
	if (nearest)
		snprintf(text, len, " (is it " PREFIX "%s?)", nearest);
}

/* clearenv leaves no list. */
int gamma_variables_check(char *error, size_t len)
{
	const size_t prefix = strlen(PREFIX);

	for (char **variable = environ; variable && *variable; variable++) {
		char name[48], hint[64];

		if (strncmp(*variable, PREFIX, prefix))
			continue;
		snprintf(name, sizeof(name), "%.*s", (int) strcspn(*variable, "="), *variable);
		if (is_name(name + prefix))
			continue;
		suggest(name + prefix, hint, sizeof(hint));
		snprintf(error, len,
			 "%s is none of gamma's variables%s, which `fi_info -g gamma` lists; "
			 "correct its name or unset it",
			 gamma_printable(name).text, hint);
		return -EINVAL;
	}
	return 0;
}
