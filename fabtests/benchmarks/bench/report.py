# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""What is told at the end: tables for people, JSON for machines. Called by the main program."""

import json
import statistics

from machine import OTHERS_SHARE

COLUMNS = "{:46} {:>9} {:>12} {:>24} {:>7}"


def size_text(size):
    for unit, bytes_ in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= bytes_ and size % bytes_ == 0:
            return f"{size // bytes_} {unit}"
    return f"{size} B"


def number_text(value):
    if value == 0 or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.2f}" if abs(value) >= 1 else f"{value:.3f}"


def row_line(turns, row):
    kept, usual = turns.kept(row)
    span = f"{number_text(min(kept))} to {number_text(max(kept))}"
    return COLUMNS.format(row.case, size_text(row.size), number_text(statistics.median(kept)), span,
                          f"{len(kept)}/{len(row.samples)}" + ("" if usual else "*"))


def groups(turns):
    """Rows by part, and by what was measured."""
    found = {}
    for row in turns.rows.values():
        found.setdefault((row.part, row.what, row.unit), []).append(row)
    return found


def tables(turns, say):
    part = None
    for (name, what, unit), rows in groups(turns).items():
        if name != part:
            say(f"\n==== {name}")
            part = name
        say("\n" + COLUMNS.format(f"{what}, {unit}", "size", "median", "least to most", "kept"))
        for row in sorted(rows, key=lambda row: row.size):
            say(row_line(turns, row))


def goal_table(goals, say):
    say("\n==== goals")
    say(f"\n{'medians of this run':80} {'goal':>8} {'value':>9}  state")
    for goal in goals:
        wanted = f"{goal.relation} {goal.wanted:g}" if goal.relation else ""
        value = "" if goal.value is None else number_text(goal.value)
        say(f"{goal.text:80} {wanted:>8} {value:>9}  {goal.state}")


def failures(turns, say):
    if turns.failures:
        say("\n==== not measured, or not always")
    for (part, case), texts in turns.failures.items():
        say(f"{part}: {case}: {len(texts)} times: {texts[-1]}")


def mode(turns, say):
    say("\n==== the machine's mode, by probes\n")
    for part, span in turns.probes.items():
        told = turns.probe.summary(*span)
        low, high = told["bounce_ns_range"]
        say(f"{part:10} {told['of_the_usual_mode']:3} of {told['probes']:3}: a cache line crosses "
            f"in {told['bounce_ns']:.0f} ns, the computation takes {told['work_us']:.0f} us "
            f"(all: {low:.0f} to {high:.0f} ns)")
    say("Kept: measurements between two probes of that mode, with other programs taking less than "
        f"{OTHERS_SHARE:.0%} of a processor, of all; * none was, so all count.")


def samples(turns, row):
    usual = turns.usual(row.part)
    return [{
        "value": sample.number,
        "kept": turns.counts(sample, usual),
        "others": round(sample.others, 3),
    } for sample in row.samples]


def write_json(path, turns, goals, about):
    result = {
        **about,
        "modes": {part: turns.probe.summary(*span) for part, span in turns.probes.items()},
        "rows": [{
            "part": row.part, "case": row.case, "what": row.what, "bytes": row.size,
            "unit": row.unit, "median": statistics.median(turns.kept(row)[0]),
            "samples": samples(turns, row),
        } for row in turns.rows.values()],
        "goals": [{"text": goal.text, "relation": goal.relation, "wanted": goal.wanted,
                   "value": goal.value, "state": goal.state} for goal in goals],
        "failures": [{"part": part, "case": case, "texts": texts}
                     for (part, case), texts in turns.failures.items()],
    }
    with open(path, "w", encoding="utf-8") as file:
        json.dump(result, file, indent=1)
        file.write("\n")
