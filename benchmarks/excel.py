"""A sheet of 5,000 formulas over 500 places: what batching saves, in one process.

The service is a process of its own that answers from bytes (`benchmarks.answering`), and counts.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from benchmarks.bulk import KEY, answering
from benchmarks.measure import Finding, medians, scaled
from svc_sdk import Svc
from svc_tools.excel.desk import Desk
from svc_tools.excel.functions import FunctionCall, evaluate

if TYPE_CHECKING:
    from collections.abc import Iterator

FORMULAS = scaled(5_000)
PLACES = scaled(500)
ROUNDS = 5

SHEET = [
    {
        "id": "TAX",
        "args": [[[1 + row / 100]], [["TX"]], [[10_000 + row % PLACES]], [["2026-05-01"]]],
    }
    for row in range(FORMULAS)
]
"""Formulas that all differ, as amounts do."""


def core() -> Finding:
    """What every adapter stands on: a burst of calls known together, against cell after cell."""
    calls = [
        FunctionCall(f"SVC_{one['id']}", tuple(rows[0][0] for rows in one["args"])) for one in SHEET
    ]
    with answering() as base, Svc(KEY, base_url=base) as client:

        def sheet(bursts: list[list[FunctionCall]]) -> float:
            desk = Desk(client, cache=False)
            start = time.perf_counter()
            found = [one for burst in bursts for one in evaluate(desk, burst)]
            elapsed = time.perf_counter() - start
            assert all(isinstance(one, float) for one in found), "a cell shows an error"
            return elapsed

        together, single = medians(
            lambda: sheet([calls]), lambda: sheet([[one] for one in calls]), rounds=ROUNDS
        )
    return Finding(
        f"in one process: {FORMULAS:,} formulas known together against cell after cell (time)",
        f"{single / together:.1f} x faster",
        ">= 4 x faster",
        f"{together * 1000:,.0f} ms against {single * 1000:,.0f}, {PLACES} lookups each; median of"
        f" {ROUNDS}",
        ">= 8 x faster",
    )


def findings() -> Iterator[Finding]:
    yield core()
