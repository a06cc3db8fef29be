/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A tool's line of progress, on terminals alone: what takes more than a second or two says so. */
#ifndef GAMMA_BASE_LIVE_LINE_H
#define GAMMA_BASE_LIVE_LINE_H

/*
 * On standard error, in place of the line before. Nothing where that is no terminal, nor in the
 * first second of the work, nor more than five times a second: call it as often as you like.
 */
void gamma_live_line_show(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Takes the line away: before anything else is written, and when the work is done. */
void gamma_live_line_end(void);

#endif /* GAMMA_BASE_LIVE_LINE_H */
