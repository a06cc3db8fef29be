# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""What was measured: rows of samples, and which samples count. Filled by interleave.py; read by the
goals, the reports and the plots. Saved as JSON and read back from it."""

import json
import statistics
from dataclasses import dataclass, field
from typing import Callable

KEPT_MIN = 3  # samples; a median of fewer says little


@dataclass
class Value:
    """What a case measured once."""
    what: str    # such as "half round trip"
    unit: str
    number: float
    size: int = 0  # bytes of a message; 0 is a size too


@dataclass
class Case:
    """Something to be measured: returns its values, or raises Failure."""
    name: str
    run: Callable


@dataclass
class Sample:
    """One measurement, and the state of the machine meanwhile."""

    number: float
    others: float      # share of one processor that other programs took
    probes: tuple = () # numbers of the probe before and the one after
    kept: bool = True  # the machine was in the mode that counts, and ours


@dataclass
class Row:
    """The samples of one quantity of one case at one size."""

    part: str
    case: str
    what: str
    size: int
    unit: str
    samples: list = field(default_factory=list)

    def counted(self):
        """The numbers that count, and whether they are undisturbed: the kept samples if there are
        enough of them, else all."""
        kept = [sample.number for sample in self.samples if sample.kept]
        if len(kept) >= KEPT_MIN:
            return kept, True
        return [sample.number for sample in self.samples], False

    def median(self):
        return statistics.median(self.counted()[0])


class Results:
    """about: machine, date, command; modes: of each part, what the probes saw."""

    def __init__(self):
        self.about, self.modes = {}, {}
        self.rows = {}      # (part, case, what, size) -> Row
        self.failures = {}  # (part, case) -> texts

    def add(self, part, case, values, others, probes):
        for value in values:
            key = (part, case, value.what, value.size)
            row = self.rows.setdefault(key, Row(*key, value.unit))
            row.samples.append(Sample(value.number, others, probes))

    def fail(self, part, case, text):
        self.failures.setdefault((part, case), []).append(text)

    def of_part(self, part):
        return [row for row in self.rows.values() if row.part == part]

    def median(self, part, case, what, size=0):
        """None if it was not measured."""
        row = self.rows.get((part, case, what, size))
        return row.median() if row else None

    def sizes(self, part, case, what):
        """Medians by size: {bytes: median}."""
        return {row.size: row.median() for row in sorted(self.of_part(part), key=lambda r: r.size)
                if (row.case, row.what) == (case, what)}

    def undisturbed_share(self):
        """Of the rows: those whose median is of undisturbed samples only."""
        rows = self.rows.values()
        return sum(row.counted()[1] for row in rows) / len(rows) if rows else 0

    # ---- JSON ----

    def save(self, path, goals):
        result = {
            **self.about,
            "modes": self.modes,
            "rows": [{
                "part": row.part, "case": row.case, "what": row.what, "bytes": row.size,
                "unit": row.unit, "median": row.median(), "undisturbed": row.counted()[1],
                "samples": [{"value": sample.number, "kept": sample.kept,
                             "others": round(sample.others, 3)} for sample in row.samples],
            } for row in self.rows.values()],
            "goals": goals,
            "failures": [{"part": part, "case": case, "texts": texts}
                         for (part, case), texts in self.failures.items()],
        }
        with open(path, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)
            file.write("\n")

    @classmethod
    def load(cls, path):
        """What `save` has written; raises OSError, ValueError or KeyError."""
        with open(path, encoding="utf-8") as file:
            saved = json.load(file)
        results = cls()
        for entry in saved.pop("rows"):
            key = (entry["part"], entry["case"], entry["what"], entry["bytes"])
            samples = [Sample(s["value"], s["others"], kept=s["kept"]) for s in entry["samples"]]
            results.rows[key] = Row(*key, entry["unit"], samples)
        for entry in saved.pop("failures"):
            results.failures[entry["part"], entry["case"]] = entry["texts"]
        saved.pop("goals")
        results.modes = saved.pop("modes")
        results.about = saved
        return results
