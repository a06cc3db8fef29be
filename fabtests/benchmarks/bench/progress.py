# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Progress for people, on standard error: a line that is rewritten where the terminal can do so,
else a line now and then. Used by the main program."""

import os
import sys
import time

INTERVAL_S = 30  # between two lines that stay


class Progress:
    """What runs now: one line that is rewritten, or, without a terminal, one now and then."""

    def __init__(self):
        self.live = sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        self.shown = time.monotonic()

    def show(self, text):
        if self.live:
            print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
        elif time.monotonic() - self.shown >= INTERVAL_S:
            self.shown = time.monotonic()
            print(f"...    {text}", file=sys.stderr, flush=True)

    def end(self):
        if self.live:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
