/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A hint about interrupt coalescing settings of a NIC that cost latency. */
#ifndef GAMMA_NIC_COALESCE_HINT_H
#define GAMMA_NIC_COALESCE_HINT_H

#include <stdbool.h>
#include <stddef.h>

struct ethtool_coalesce;

/* Writes one line with the setting and its cure. False: there is nothing to say. */
bool gamma_coalesce_hint(const char *name, char *text, size_t len);
/* The same for settings that have been read. */
bool gamma_coalesce_hint_of(const char *name, const struct ethtool_coalesce *coalesce, char *text,
			    size_t len);

#endif /* GAMMA_NIC_COALESCE_HINT_H */
