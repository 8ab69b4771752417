"""The sheet of `benchmarks.excel` through the functions of xlwings: what looking ahead saves.

Excel calls a function cell after cell. Here a loop does, with a stand-in for the ranges of xlwings,
so what xlwings and Excel cost is not in the figures. A twin never looks at the other cells of its
column, so that each new place is a request of its own.
"""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from benchmarks.bulk import KEY, answering
from benchmarks.excel import FORMULAS, PLACES, ROUNDS
from benchmarks.measure import Finding, medians
from svc_sdk import Svc
from svc_tools.excel import desk as desks
from svc_tools.excel.com import udfs
from svc_tools.excel.registry import function
from svc_tools.excel.values import OMITTED

if TYPE_CHECKING:
    from collections.abc import Iterator

NAMES = (
    f"a sheet of {FORMULAS:,} formulas, {PLACES} places: lookups, and batches through COM",
    f"COM: {FORMULAS:,} single formulas that look ahead against a question a place (time)",
)
FORMULA = '=SVC_TAX(A{row},"TX",B{row},"2026-05-01")'
COLUMNS = (
    [1 + row / 100 for row in range(1, FORMULAS + 1)],
    [str(10_000 + row % PLACES) for row in range(1, FORMULAS + 1)],
    [FORMULA.format(row=row) for row in range(1, FORMULAS + 1)],
)
"""Amounts, ZIP Codes and formulas, which all differ, as amounts do."""


class Sheet:
    """A sheet as `xlwings.Sheet` shows it."""

    name = "Orders"
    book = SimpleNamespace(name="orders.xlsm", api=SimpleNamespace(Date1904=False))

    @property
    def used_range(self) -> Range:
        return self.range((1, 1), (FORMULAS, len(COLUMNS)))

    def range(self, first: tuple[int, int], last: tuple[int, int]) -> Range:
        shape = (last[0] - first[0] + 1, last[1] - first[1] + 1)
        return Range(self, *first, shape)


@dataclass
class Range:
    """Cells as `xlwings.Range` shows them."""

    sheet: Sheet
    row: int
    column: int
    shape: tuple[int, int] = (1, 1)

    def _column(self) -> list[Any]:
        return COLUMNS[self.column - 1][self.row - 1 : self.row - 1 + self.shape[0]]

    @property
    def value(self) -> list[list[Any]]:
        return [[one] for one in self._column()]

    @property
    def api(self) -> SimpleNamespace:
        cells = tuple((one,) for one in self._column())
        return SimpleNamespace(Formula=cells if len(cells) > 1 else cells[0][0], ListObject=None)

    def options(self, **_: object) -> Range:
        return self


def computed(base: str, *, ahead: bool) -> tuple[float, int, int]:
    """Milliseconds, runs of lookups and places looked up, with nothing known yet."""
    runs: list[int] = []
    real = desks.look_up

    def counted(*given: Any, **more: Any) -> Any:  # noqa: ANN401 - as it is
        runs.append(len(given[1]))
        return real(*given, **more)

    sheet = Sheet()
    left_out = [OMITTED] * (len(function("SVC_TAX").parameters) - 4)
    with Svc(KEY, base_url=base) as client, contextlib.ExitStack() as changed:
        changed.enter_context(patch.object(desks, "look_up", counted))
        desk = desks.Desk(client, cache=False)
        changed.enter_context(patch.object(desks, "_desks", [desk]))
        udfs._patience.clear()  # noqa: SLF001 - a new session
        if not ahead:
            column = udfs._Column.__name__  # noqa: SLF001 - a name that mypy knows
            changed.enter_context(
                patch.object(udfs, column, lambda *_: SimpleNamespace(others=list))
            )
        begun = time.perf_counter()
        shown = [
            udfs.SVC_TAX(
                [[amount]], [["TX"]], [[zip5]], [["2026-05-01"]], *left_out, Range(sheet, row, 3)
            )
            for row, (amount, zip5, _) in enumerate(zip(*COLUMNS, strict=True), start=1)
        ]
        ms = (time.perf_counter() - begun) * 1_000
    assert all(isinstance(one, float) for one in shown), "a cell shows an error"
    return ms, len(runs), sum(runs)


def findings() -> Iterator[Finding]:
    with answering() as base:
        _, runs, places = computed(base, ahead=True)
        _, single_runs, _ = computed(base, ahead=False)
        yield Finding(
            NAMES[0],
            f"{places} lookups, {runs} batch",
            f"<= {PLACES}, <= 1",
            f"by the functions of xlwings; {single_runs:,} batches without looking ahead",
        )
        ours, single = medians(
            lambda: computed(base, ahead=True)[0],
            lambda: computed(base, ahead=False)[0],
            rounds=ROUNDS,
        )
        yield Finding(
            NAMES[1],
            f"{single / ours:.1f} x faster",
            ">= 2 x faster",
            f"{ours:,.0f} ms against {single:,.0f}, {PLACES} lookups each; median of {ROUNDS}",
        )
