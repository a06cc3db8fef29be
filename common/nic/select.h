/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Which of the listed NICs can be used, which is the default, and look-ups in the list. */
#ifndef GAMMA_NIC_SELECT_H
#define GAMMA_NIC_SELECT_H

#include "nic/nic.h"

struct gamma_conf;

/* The reason of a NIC that lacks nothing but a cable. */
extern const char gamma_nic_select_no_carrier[];

/* Sets reason in each NIC, from its other fields and those of the NICs above and below it. */
void gamma_nic_select_judge(struct gamma_nic *nics, size_t count);

const struct gamma_nic *gamma_nic_select_by_name(const struct gamma_nic *nics, size_t count,
						 const char *name);
const struct gamma_nic *gamma_nic_select_by_ifindex(const struct gamma_nic *nics, size_t count,
						    int ifindex);
/*
 * Several NICs may share a MAC (a bond and its slaves, a NIC and its VLANs). Returns the best
 * usable one, else an unusable one with its reason, else NULL.
 */
const struct gamma_nic *gamma_nic_select_by_mac(const struct gamma_nic *nics, size_t count,
						const uint8_t mac[GAMMA_MAC_LEN]);

/*
 * Negative if a comes before b: usable NICs first, then by speed, then by MTU, then by name in
 * byte order (eth10 before eth2).
 */
int gamma_nic_select_compare(const struct gamma_nic *a, const struct gamma_nic *b);

/*
 * The NIC to use if none is named: the usable one whose MAC conf lists, else the first by
 * gamma_nic_select_compare; NULL if none is usable. conf may be NULL. Warns about a NIC that conf
 * lists but that cannot be used.
 */
const struct gamma_nic *gamma_nic_select_default(const struct gamma_nic *nics, size_t count,
						 const struct gamma_conf *conf);

/* If gamma_nic_select_default found none: one line with the reason for each relevant NIC. */
void gamma_nic_select_explain_none(const struct gamma_nic *nics, size_t count, char *why,
				   size_t why_len);

#endif /* GAMMA_NIC_SELECT_H */
