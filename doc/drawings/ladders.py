#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Makes the ladder drawings of doc/protocol-overview.md: time runs downward, an arrow is a frame.

    doc/drawings/ladders.py          writes the SVG files beside this script
    doc/drawings/ladders.py FOLDER   writes them there

fabtests/unit/test_drawings.py fails when the files in the tree are not what this script writes.
"""

import math
import os
import sys
from xml.sax.saxutils import escape

# ---- measures, in pixels ----
MARGIN = 20
NOTE_WIDTH = 236   # of the columns beside the outer lifelines
GAP = 420          # between two lifelines
NOTE_GAP = 14      # between a lifeline and its notes
TOP = 96           # where the lifelines begin
LINE = 17          # of a note
SLOPE = 34         # how far an arrow falls
CHARACTER = 6.9    # mean width of a note's or label's character
FONT = "DejaVu Sans, Verdana, Helvetica, Arial, sans-serif"

INK, PALE, LIFELINE = "#222222", "#666666", "#9a9a9a"
DATA, CONTROL, LOST = "#1b4f9c", "#2f7d32", "#c0392b"


class Ladder:
    """One drawing. Lifelines are numbered from the left; `at` is a distance from their top."""

    def __init__(self, title, *ends):
        self.ends = ends
        self.height = 0
        self.shapes = []
        self.width = 2 * (MARGIN + NOTE_WIDTH + NOTE_GAP) + GAP * (len(ends) - 1)
        self.title = title

    def x(self, end):
        return MARGIN + NOTE_WIDTH + NOTE_GAP + GAP * end

    def reach(self, y):
        self.height = max(self.height, y)

    def text(self, x, y, words, size=13, colour=INK, anchor="start", weight="normal", turn=0):
        turned = ' transform="rotate(%.2f %g %g)"' % (turn, x, y) if turn else ""
        self.shapes.append(
            '<text x="%g" y="%g" font-size="%g" fill="%s" text-anchor="%s" font-weight="%s"%s>'
            "%s</text>" % (x, y, size, colour, anchor, weight, turned, escape(words)))

    def line(self, x1, y1, x2, y2, colour, width=1.6, dashes=""):
        dashed = ' stroke-dasharray="%s"' % dashes if dashes else ""
        self.shapes.append(
            '<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s" stroke-width="%g"%s/>'
            % (x1, y1, x2, y2, colour, width, dashed))

    def head(self, x, y, angle, colour):
        """An arrow's head with its tip at x, y."""
        points = []
        for length, turn in ((0, 0), (11, 2.74), (11, -2.74)):
            points.append("%.1f,%.1f" % (x + length * math.cos(angle + turn),
                                         y + length * math.sin(angle + turn)))
        self.shapes.append('<polygon points="%s" fill="%s"/>' % (" ".join(points), colour))

    def frame(self, at, sender, receiver, name, fields="", control=False, lost=False):
        """An arrow that leaves `at` and arrives SLOPE later, its name above, its fields below."""
        y1 = TOP + at
        y2 = y1 + SLOPE
        x1, x2 = self.x(sender), self.x(receiver)
        colour = CONTROL if control else DATA
        for words in (name, fields):
            if len(words) * CHARACTER > GAP - 40:
                sys.exit("%s: '%s' is too long for its arrow" % (self.title, words))
        angle = math.atan2(y2 - y1, x2 - x1)
        turn = math.degrees(math.atan((y2 - y1) / (x2 - x1)))
        if lost:
            part = 0.80
            x2, y2 = x1 + part * (x2 - x1), y1 + part * (y2 - y1)
        self.line(x1, y1, x2, y2, colour, dashes="7 4" if control else "")
        if lost:
            for sign in (1, -1):
                self.line(x2 - 7, y2 - 7 * sign, x2 + 7, y2 + 7 * sign, LOST, 2.6)
            self.text(x2 + math.copysign(14, x2 - x1), y2 + 5, "lost", 13, LOST,
                      "start" if x2 > x1 else "end", "bold")
        else:
            self.head(x2, y2, angle, colour)
        middle, height = (self.x(sender) + self.x(receiver)) / 2, y1 + SLOPE / 2
        self.text(middle, height - 7, name, 13, colour, "middle", "bold", turn)
        if fields:
            self.text(middle, height + 16, fields, 12, INK, "middle", turn=turn)
        self.reach(y1 + SLOPE + 16)

    def note(self, at, end, *lines):
        """Words beside an outer lifeline, the first line at the height of `at`."""
        left = end == 0
        x = self.x(end) + (-NOTE_GAP if left else NOTE_GAP)
        for count, words in enumerate(lines):
            if len(words) * CHARACTER > NOTE_WIDTH + 14:
                sys.exit("%s: the note '%s' is too wide" % (self.title, words))
            self.text(x, TOP + at + 4 + count * LINE, words, 13, INK, "end" if left else "start")
        self.shapes.append('<circle cx="%g" cy="%g" r="3.6" fill="%s"/>'
                           % (self.x(end), TOP + at, INK))
        self.reach(TOP + at + len(lines) * LINE)

    def inner(self, at, end, *lines):
        """Words at the right of an inner lifeline, where no arrow runs."""
        for count, words in enumerate(lines):
            self.text(self.x(end) + NOTE_GAP, TOP + at + 4 + count * LINE, words)
        self.shapes.append('<circle cx="%g" cy="%g" r="3.6" fill="%s"/>'
                           % (self.x(end), TOP + at, INK))
        self.reach(TOP + at + len(lines) * LINE)

    def wait(self, begin, after, end, *lines):
        """A stretch of time along an outer lifeline, with words in its middle."""
        left = end == 0
        x = self.x(end) + (-9 if left else 9)
        self.line(x, TOP + begin, x, TOP + after, PALE, 1.2)
        for y in (begin, after):
            self.line(x - 4, TOP + y, x + 4, TOP + y, PALE, 1.2)
        start = (begin + after) / 2 - (len(lines) - 1) * LINE / 2
        for count, words in enumerate(lines):
            self.text(x + (-8 if left else 8), TOP + start + 4 + count * LINE, words, 13, PALE,
                      "end" if left else "start")
        self.reach(TOP + after)

    def more(self, at, left, right):
        """Dots for frames that are left out."""
        for count in range(3):
            self.shapes.append('<circle cx="%g" cy="%g" r="2.2" fill="%s"/>'
                               % ((self.x(left) + self.x(right)) / 2, TOP + at + 8 * count, DATA))

    def svg(self):
        bottom = self.height + 12
        below = bottom + 34
        out = ['<svg xmlns="http://www.w3.org/2000/svg" width="%g" height="%g" '
               'viewBox="0 0 %g %g" font-family="%s">'
               % (self.width, below + 14, self.width, below + 14, FONT),
               "<title>%s</title>" % escape(self.title),
               '<rect width="100%" height="100%" fill="#ffffff"/>']
        shapes, self.shapes = self.shapes, []
        self.text(MARGIN, 32, self.title, 18, weight="bold")
        for number, name in enumerate(self.ends):
            self.shapes.append(
                '<rect x="%g" y="52" width="150" height="28" rx="5" fill="#eef2f7" stroke="%s"/>'
                % (self.x(number) - 75, LIFELINE))
            self.text(self.x(number), 71, name, 14, anchor="middle", weight="bold")
            self.line(self.x(number), 80, self.x(number), bottom, LIFELINE, 1.4)
        self.legend(below)
        out += self.shapes + shapes + ["</svg>"]
        return "\n".join(out) + "\n"

    def legend(self, y):
        x = MARGIN
        for words, colour, dashes in (("DATA: numbered, acknowledged, repeated if lost", DATA, ""),
                                      ("other kinds: neither numbered nor acknowledged", CONTROL,
                                       "7 4")):
            self.line(x, y - 4, x + 34, y - 4, colour, dashes=dashes)
            self.text(x + 42, y, words, 12, PALE)
            x += 60 + len(words) * CHARACTER
        self.text(self.width - MARGIN, y, "time runs downward", 12, PALE, "end")


def short_message():
    ladder = Ladder("Short message", "sender", "receiver")
    ladder.note(6, 0, "fi_tsend(): up to the inject", "size the bytes are copied,",
                "and the send is complete")
    ladder.frame(10, 0, 1, "DATA, op SEND", "seq 7, TAG, payload")
    ladder.note(52, 1, "a posted receive matches:", "the payload is placed,",
                "the receive is complete")
    ladder.note(116, 1, "fi_tsend(): the program", "answers within 500 us")
    ladder.frame(120, 1, 0, "DATA, op SEND", "seq 3, ACK (ack 8, limit 71), TAG, payload")
    ladder.note(162, 0, "ack 8: frame 7 has arrived,", "its copy is freed;",
                "limit 71: frames up to 70",
                "may be sent")
    ladder.wait(236, 308, 0, "nothing to send:", "the acknowledgement", "waits 500 us at most")
    ladder.frame(312, 0, 1, "ACK", "ACK (ack 4, limit 68)", control=True)
    ladder.note(354, 1, "frame 3 has arrived")
    return ladder


def rendezvous():
    ladder = Ladder("Rendezvous: 1 MiB at MTU 1,500", "sender", "receiver")
    ladder.note(6, 0, "fi_tsend(): longer than", "the eager size")
    ladder.frame(10, 0, 1, "DATA, op ANNOUNCE (RTS)",
                 "seq 7, TAG, MESSAGE (id 21, length 1048576)")
    ladder.note(52, 1, "no receive matches yet:", "only the envelope is kept")
    ladder.frame(88, 1, 0, "ACK", "ACK (ack 8, limit 71)", control=True)
    ladder.wait(126, 226, 0, "keepalive probes,", "one a second")
    ladder.note(160, 1, "fi_trecv() matches the", "envelope")
    ladder.frame(196, 1, 0, "DATA, op ACCEPT (CTS)",
                 "seq 3, MESSAGE (id 21, length 1048576), FRAGMENT (id 5)")
    ladder.frame(252, 0, 1, "DATA, op BULK", "seq 8, ACK (ack 4), FRAGMENT (id 5, offset 0)")
    ladder.frame(300, 0, 1, "DATA, op BULK", "seq 9, FRAGMENT (id 5, offset 1460)")
    ladder.note(294, 1, "placed directly in the", "receive's buffer, in any", "order of arrival")
    ladder.more(350, 0, 1)
    ladder.note(348, 0, "ACKs in between raise", "the limit")
    ladder.frame(378, 0, 1, "DATA, op BULK, ACK_REQUESTED",
                 "seq 726, FRAGMENT (id 5, offset 1048280)")
    ladder.note(420, 1, "all bytes are here: the", "receive is complete")
    ladder.frame(428, 1, 0, "ACK", "ACK (ack 727, limit 950)", control=True)
    ladder.note(470, 0, "every frame has arrived:", "the send is complete")
    return ladder


def loss_and_probe():
    ladder = Ladder("Loss and probe", "sender", "receiver")
    ladder.frame(8, 0, 1, "DATA, seq 4", "")
    ladder.frame(48, 0, 1, "DATA, seq 5", "", lost=True)
    ladder.frame(88, 0, 1, "DATA, seq 6", "")
    ladder.note(130, 1, "6 arrives early: it is kept,", "and acknowledged at once")
    ladder.frame(136, 1, 0, "ACK", "ACK (ack 5, limit 68), SACK (base 5: frame 6)", control=True)
    ladder.note(176, 0, "6 left after 5 and has", "arrived: evidence of loss")
    ladder.wait(206, 250, 0, "reorder window:", "1/4 round trip")
    ladder.frame(254, 0, 1, "DATA, seq 5", "AGAIN, ACK_REQUESTED")
    ladder.note(296, 1, "5 and the kept 6 take effect,", "in order")
    ladder.frame(302, 1, 0, "ACK", "ACK (ack 7, limit 71)", control=True)
    ladder.frame(360, 0, 1, "DATA, seq 7", "the last one", lost=True)
    ladder.wait(366, 454, 0, "nothing is heard for", "the probe timeout:", "time answers take",
                "+ 4 deviations")
    ladder.frame(458, 0, 1, "PROBE", "seq 1, header only", control=True)
    ladder.frame(506, 1, 0, "ACK, op PROBED", "seq 1, ACK (ack 7, limit 71)", control=True)
    ladder.note(546, 0, "sent before the probe, not", "in its answer: 7 is lost")
    ladder.frame(572, 0, 1, "DATA, seq 7", "AGAIN, ACK_REQUESTED")
    ladder.frame(620, 1, 0, "ACK", "ACK (ack 8, limit 72)", control=True)
    return ladder


def credit_exhausted():
    ladder = Ladder("Credit exhausted", "sender A", "receiver", "sender B, idle")
    ladder.note(8, 0, "limit 8 before the", "receiver has been heard")
    ladder.frame(14, 0, 1, "DATA, seq 0", "")
    ladder.more(58, 0, 1)
    ladder.frame(88, 0, 1, "DATA, seq 7", "BACKLOG, ACK_REQUESTED")
    ladder.note(92, 0, "the credit is used up,", "and more waits")
    ladder.inner(130, 1, "the receive ring is granted to", "others: A is queued")
    ladder.frame(140, 1, 0, "ACK", "ACK (ack 8, limit 8)", control=True)
    ladder.wait(178, 256, 0, "no credit, nothing", "in flight: ask, after", "1 ms because of",
                "BACKLOG")
    ladder.frame(260, 0, 1, "REQUEST", "seq 8", control=True)
    ladder.frame(302, 1, 2, "RECLAIM, op ASK", "", control=True)
    ladder.note(344, 2, "no data waits: gives back", "16 unused frames")
    ladder.frame(350, 2, 1, "RECLAIM, op ANSWER", "seq 16 (frames returned in all)", control=True)
    ladder.inner(402, 1, "16 slots are free: serve A")
    ladder.frame(408, 1, 0, "ACK", "ACK (ack 8, limit 24)", control=True)
    ladder.note(450, 0, "a limit only ever grows:", "a late or repeated ACK", "does no harm")
    ladder.frame(462, 0, 1, "DATA, seq 8", "BACKLOG")
    ladder.more(510, 0, 1)
    return ladder


def close():
    ladder = Ladder("Close", "closing endpoint", "peer")
    ladder.note(8, 0, "fi_close(): what waits is", "sent first")
    ladder.frame(14, 0, 1, "DATA, seq 40", "ACK_REQUESTED")
    ladder.frame(62, 1, 0, "ACK", "ACK (ack 41, limit 104)", control=True)
    ladder.note(104, 0, "everything is acknowledged")
    ladder.frame(112, 0, 1, "BYE, op ASK", "seq 41, ACK (ack 12, limit 76)", control=True,
                 lost=True)
    ladder.wait(122, 180, 0, "sent again after 1 ms,", "doubling; 5 in all")
    ladder.frame(184, 0, 1, "BYE, op ASK", "seq 41, ACK (ack 12, limit 76)", control=True)
    ladder.note(226, 1, "takes the ACK; was it", "the peer that said it?")
    ladder.frame(236, 1, 0, "PROBE", "random number", control=True)
    ladder.frame(284, 0, 1, "RESET, op CLOSED", "that number, ACK (ack 12, limit 76)", control=True)
    ladder.note(326, 1, "all other operations of", "this flow end with",
                "\"connection reset\"")
    ladder.frame(336, 1, 0, "BYE, op ANSWER", "", control=True)
    ladder.note(378, 0, "all flows have answered:", "everything is freed.",
                "The linger bound (1 s)", "ends any wait")
    ladder.wait(390, 460, 1, "the flow stays CLOSED", "for 30 s: no late frame", "opens it again")
    return ladder


DRAWINGS = {
    "short-message": short_message,
    "rendezvous": rendezvous,
    "loss-and-probe": loss_and_probe,
    "credit-exhausted": credit_exhausted,
    "close": close,
}


def main(folder):
    for name, draw in DRAWINGS.items():
        with open(os.path.join(folder, name + ".svg"), "w", encoding="utf-8") as out:
            out.write(draw().svg())


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__)))
