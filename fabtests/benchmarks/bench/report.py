# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The reports in text: one screen at the end of a run, and a file with every row. Called by the
main program."""

import textwrap

import goals as goal_list
from comparison import number_text
from headlines import headlines
from machine import OTHERS_SHARE
from results import KEPT_MIN

QUIET_SHARE = 0.9  # of the figures; with fewer undisturbed ones the machine counts as disturbed
SCREEN_ROW = "{:33} {:>8} {:>8} {:>8} {:>8}  {}"
COLUMNS = "{:46} {:>9} {:>12} {:>24} {:>7}"
FAILURES_SHOWN = 3
MISSED_SHOWN = 12  # lines
WIDTH = 80


def machine_text(results):
    machine = results.about["machine"]
    return (f"{machine['processor']}, {machine['processors']} processors, Linux "
            f"{machine['kernel']}")


def quiet_text(results):
    """The verdict of the probes on the whole run."""
    share = results.undisturbed_share()
    bounces = sorted(mode["bounce_ns"] for mode in results.modes.values())
    text = f"{share:.0%} of the figures undisturbed"
    if bounces:
        text += f", core-to-core latency {bounces[len(bounces) // 2]:.0f} ns"
    if share >= QUIET_SHARE:
        return f"quiet: {text}"
    return f"disturbed: {text}; read ratios with care"


# ---- one screen ----

def headline_lines(results):
    rows = [row for row in headlines(results) if not row.minor]
    if not rows:
        return
    yield SCREEN_ROW.format("", "gamma", "tcp", "tcp*", "bare", "gamma is")
    for row in rows:
        figures = [number_text(figure) for figure in
                   (row.gamma, row.tcp, row.tcp_off, row.baseline)]
        yield SCREEN_ROW.format(row.measure.text, *figures, row.verdict())
    yield "tcp: the kernel's offloads on, as by default; tcp*: off. bare: packets."


def summary(goals):
    judged = [goal for goal in goals if goal.state in (goal_list.REACHED, goal_list.MISSED)]
    reached = sum(goal.state == goal_list.REACHED for goal in judged)
    return reached, len(judged)


def missed_lines(goals):
    missed = [goal for goal in goals if goal.state == goal_list.MISSED]
    for title, limit, values in goal_list.by_title(missed):
        yield from textwrap.wrap(f"{title} {limit}: {values}".replace(" :", ":"), WIDTH,
                                 initial_indent="  ", subsequent_indent="      ")


def screen(results, goals):
    """The lines of the screen."""
    about = results.about
    yield f"{machine_text(results)}; {about['date']}, {about['seconds']} s"
    yield f"The machine was {quiet_text(results)}."
    yield from headline_lines(results)
    reached, judged = summary(goals)
    if judged:
        yield f"goals: {reached} of {judged} reached" + ("; missed:" if reached < judged else "")
        missed = list(missed_lines(goals))
        yield from missed[:MISSED_SHOWN]
        if len(missed) > MISSED_SHOWN:
            yield f"  {len(missed) - MISSED_SHOWN} lines more, see the report"
    failed = [f"not measured: {part}: {case}: {texts[-1]}"
              for (part, case), texts in results.failures.items()]
    yield from failed[:FAILURES_SHOWN]
    if len(failed) > FAILURES_SHOWN:
        yield f"not measured: {len(failed) - FAILURES_SHOWN} more, see the report"


# ---- the file ----

def row_line(row):
    counted, undisturbed = row.counted()
    span = f"{number_text(min(counted))} to {number_text(max(counted))}"
    return COLUMNS.format(row.case, goal_list.size_text(row.size), number_text(row.median()), span,
                          f"{len(counted)}/{len(row.samples)}" + ("" if undisturbed else "*"))


def row_lines(results):
    """By part, and by what was measured."""
    groups, last = {}, None
    for row in results.rows.values():
        groups.setdefault((row.part, row.what, row.unit), []).append(row)
    for (part, what, unit), rows in groups.items():
        if part != last:
            yield f"\n==== {part}"
            last = part
        title = f"{what}, {unit}" if unit else what
        yield "\n" + COLUMNS.format(title, "size", "median", "least to most", "kept")
        for row in sorted(rows, key=lambda row: row.size):
            yield row_line(row)


def goal_lines(goals):
    yield f"\n==== goals\n\n{'medians of this run':70} {'goal':>8} {'value':>9}  state"
    for goal in goals:
        text = goal.title + (f", {goal.variant}" if goal.variant else "")
        value = "" if goal.value is None else number_text(goal.value)
        yield f"{text:70} {goal.limit:>8} {value:>9}  {goal.state}"


def mode_lines(results):
    yield "\n==== the machine, by probes\n"
    for part, mode in results.modes.items():
        low, high = mode["bounce_ns_range"]
        yield (f"{part:10} {mode['of_the_mode']:3} of {mode['probes']:3}: core-to-core "
               f"latency {mode['bounce_ns']:.0f} ns, a computation {mode['work_us']:.0f} us "
               f"(all: {low:.0f} to {high:.0f} ns)")
    yield ("Kept: samples between two probes of that mode, with other programs using less than "
           f"{OTHERS_SHARE:.0%} of a processor.")
    yield f"*: fewer than {KEPT_MIN} samples were kept, so all of them count."


def failure_lines(results):
    if results.failures:
        yield "\n==== not measured, or not always\n"
    for (part, case), texts in results.failures.items():
        yield f"{part}: {case}: {len(texts)} times: {texts[-1]}"


def full(results, goals):
    """The lines of the file."""
    yield from screen(results, goals)
    yield from row_lines(results)
    yield from goal_lines(goals)
    yield from failure_lines(results)
    yield from mode_lines(results)
