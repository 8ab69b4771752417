"""The sheet of `benchmarks.excel` through xlwings' own COM code: what looking ahead saves.

Excel calls a function cell after cell. No machine here has one: the small Excel of the tests calls
the real `xlwings.udfs.call_udf` for each cell. A twin never looks at the other cells of its column,
so that each new place is a question of its own.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from benchmarks.bulk import KEY, answering
from benchmarks.measure import Finding, medians
from svc_sdk import Svc
from svc_tools.excel import desk as desks
from svc_tools.excel import lookups

if TYPE_CHECKING:
    from collections.abc import Iterator

TESTS = Path(__file__).parents[1] / "tests"
FORMULAS = 5_000
PLACES = 500
ROUNDS = 5


@contextlib.contextmanager
def windows() -> Iterator[Any]:
    """The real COM code of xlwings over the stand-ins of the tests."""
    sys.path.append(str(TESTS))
    from support import com_stand_ins  # noqa: PLC0415 - the tests' own

    with tempfile.TemporaryDirectory() as name:
        folder = SimpleNamespace(mktemp=lambda _: Path(name))
        with com_stand_ins.windows(folder) as real:
            yield lambda: com_stand_ins.Excel(real)


class Sheet:
    """A sheet with the formulas in it, all of which differ, as amounts do."""

    def __init__(self, excel: Any, base: str) -> None:  # noqa: ANN401 - a stand-in
        from support.com_cells import Cell  # noqa: PLC0415 - the tests' own

        self.excel, self.base = excel, base
        self.sheet = excel.book.add("Orders")
        for row in range(1, FORMULAS + 1):
            self.sheet.cells[row, 1] = Cell(1 + row / 100)
            self.sheet.cells[row, 2] = Cell(str(10_000 + row % PLACES))
            formula = f'=SVC_TAX(A{row},"TX",B{row},"2026-05-01")'
            self.sheet.cells[row, 3] = Cell(None, formula)

    def computed(self, *, ahead: bool) -> tuple[float, int, int]:
        """Milliseconds, runs of lookups and places asked for, with nothing known yet."""
        from svc_tools.excel.com import filled_down, udfs  # noqa: PLC0415 - xlwings is patched by now

        runs: list[int] = []
        real = lookups.look_up

        def counted(*given: Any, **more: Any) -> Any:  # noqa: ANN401 - as it is
            runs.append(len(given[1]))
            return real(*given, **more)

        with Svc(KEY, base_url=self.base) as client, contextlib.ExitStack() as changed:
            changed.enter_context(patch.object(lookups, "look_up", counted))
            desk = desks.Desk(client, cache=False)
            changed.enter_context(patch.object(desks, "_desks", [desk]))
            changed.enter_context(patch.object(filled_down, "_looks", filled_down._Looks()))  # noqa: SLF001 - a new session
            if not ahead:
                changed.enter_context(patch.object(udfs, "calls_filled_down", lambda *_: ()))
            begun = time.perf_counter()
            for row in range(1, FORMULAS + 1):
                self.excel.app.calculate(self.sheet, (row, 3))
            ms = (time.perf_counter() - begun) * 1_000
        shown = [self.sheet.cells[row, 3].value for row in range(1, FORMULAS + 1)]
        assert all(isinstance(one, float) for one in shown), "a cell shows an error"
        return ms, len(runs), sum(runs)


def findings() -> Iterator[Finding]:
    with answering() as base, windows() as an_excel:
        sheet = Sheet(an_excel(), base)
        _, runs, places = sheet.computed(ahead=True)
        _, single_runs, _ = sheet.computed(ahead=False)
        yield Finding(
            f"a sheet of {FORMULAS:,} formulas, {PLACES} places: lookups, and batches through COM",
            f"{places} lookups, {runs} batch",
            f"<= {PLACES}, <= 1",
            f"xlwings over stand-ins for Excel; {single_runs:,} batches without looking ahead",
        )
        ours, single = medians(
            lambda: sheet.computed(ahead=True)[0],
            lambda: sheet.computed(ahead=False)[0],
            rounds=ROUNDS,
        )
        yield Finding(
            f"COM: {FORMULAS:,} single formulas that look ahead against a question a place (time)",
            f"{single / ours:.1f} x faster",
            ">= 2 x faster",
            f"{ours:,.0f} ms against {single:,.0f}, {PLACES} lookups each; median of {ROUNDS}",
        )
