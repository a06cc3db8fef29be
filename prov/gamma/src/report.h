/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Lines for the user of a program whose developer may not have thought of showing them. Programs
 * often wait for a peer, or print an errno's text, where gamma knows cause and cure.
 */
#ifndef GAMMA_PROV_REPORT_H
#define GAMMA_PROV_REPORT_H

#include "prov.h"

/* To libfabric's log if it shows warnings; else to standard error, the first few of a process. FMT
 * without a newline. */
void gamma_report(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The remedy for a peer that is lost by that error, to follow its cause; "" where the cause says
 * it. */
const char *gamma_report_cure(int error, bool udp);

#endif /* GAMMA_PROV_REPORT_H */
