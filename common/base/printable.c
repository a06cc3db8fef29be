// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Words of files and variables in messages: whatever they hold, a message stays one short line. */
#include "base/base.h"

#include <string.h>

struct gamma_printable gamma_printable(const char *word)
{
	static const char cut[] = "...";
	struct gamma_printable out;
	const size_t room = sizeof(out.text) - sizeof(cut);
	size_t i;

	for (i = 0; i < room && word[i]; i++)
		out.text[i] = word[i] >= ' ' && word[i] <= '~' ? word[i] : '?';
	strcpy(out.text + i, word[i] ? cut : "");
	return out;
}
