"""The sheet of `benchmarks.excel` in a real LibreOffice Calc: what looking ahead saves.

Calc computes cell after cell and waits for each. The add-in reads the document's formulas once a
burst begins; a twin of it that never does asks for each cell alone.
"""

from __future__ import annotations

import contextlib
import json
import tempfile
import time
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.bulk import KEY, answering
from benchmarks.calc import Calc, running_calc
from benchmarks.excel import FORMULAS, PLACES, ROUNDS
from benchmarks.excel_officejs import local_server
from benchmarks.measure import Finding, medians
from svc_sdk import Svc
from svc_tools.excel.calc import write_addin
from svc_tools.excel.desk import Desk
from svc_tools.excel.officejs import app
from svc_tools.excel.officejs.guard import origin_of

if TYPE_CHECKING:
    from collections.abc import Iterator

NAMES = (
    f"a sheet of {FORMULAS:,} formulas, {PLACES} places: lookups, and POSTs from Calc",
    f"Calc: {FORMULAS:,} single formulas that look ahead against one POST a cell (time)",
)
LOOKS_AHEAD = b"if patience.is_due():"
DAY = '"2026-05-01"'


def never_looking_ahead(addin: Path) -> Path:
    """The same add-in, which never looks ahead."""
    twin = addin.with_name("twin.oxt")
    with zipfile.ZipFile(addin) as ours, zipfile.ZipFile(twin, "w") as changed:
        for name in ours.namelist():
            content = ours.read(name)
            if name.endswith("svc_calc_cells.py"):
                assert LOOKS_AHEAD in content
                content = content.replace(LOOKS_AHEAD, b"if False:")
            changed.writestr(name, content)
    return twin


class Sheet:
    """A running Calc with the formulas in it, all of which differ, as amounts do."""

    def __init__(self, calc: Calc, folder: Path) -> None:
        self.calc, self.folder = calc, folder
        self.calc.do("open")
        rows = range(FORMULAS)
        given = [[f"'{10_000 + row % PLACES}", str(1 + row / 100)] for row in rows]
        self.calc.do("fill_rows", address=f"A1:B{FORMULAS}", rows=given)
        single = [[f'=SVC_TAX(B{row + 1};"TX";A{row + 1};{DAY})'] for row in rows]
        self.calc.do("fill_rows", address=f"C1:C{FORMULAS}", rows=single)

    def computed(self, base: str) -> tuple[float, int, int]:
        """Milliseconds, POSTs and places looked up, with nothing cached yet."""
        posts = []
        real = app.evaluate
        app.evaluate = lambda *given, **more: posts.append(1) or real(*given, **more)
        try:
            with Svc(KEY, base_url=base) as client:
                desk = Desk(client, cache=False)
                with local_server(desk) as guard:
                    told = {"url": origin_of(guard), "token": guard.token.get_secret_value()}
                    (self.folder / "server.json").write_text(json.dumps(told))
                    begun = time.perf_counter()
                    self.calc.do("calculate")
                    ms = (time.perf_counter() - begun) * 1_000
                shown = self.calc.do("column", address=f"C1:C{FORMULAS}")
                assert all(isinstance(one, float) for one in shown), "a cell shows an error"
                return ms, len(posts), desk.cached
        finally:
            app.evaluate = real


@contextlib.contextmanager
def sheets() -> Iterator[tuple[Sheet, Sheet]]:
    """Ours, and that of the twin."""
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as running:
        folder = Path(name)
        addin = write_addin(folder / "svc-tools.oxt")
        found = []
        for one in (addin, never_looking_ahead(addin)):
            own = folder / one.stem
            own.mkdir()
            found.append(Sheet(running.enter_context(running_calc(own, one, own)), own))
        yield found[0], found[1]


def findings() -> Iterator[Finding]:
    with sheets() as (ours, twin), answering() as base:
        _, posts, places = ours.computed(base)
        _, single_posts, _ = twin.computed(base)
        yield Finding(
            NAMES[0],
            f"{places} lookups, {posts} POSTs",
            f"<= {PLACES}, <= 2",
            f"counted at the desk and the server; {single_posts:,} POSTs without looking ahead",
        )
        ahead, single = medians(
            lambda: ours.computed(base)[0], lambda: twin.computed(base)[0], rounds=ROUNDS
        )
        yield Finding(
            NAMES[1],
            f"{single / ahead:.1f} x faster",
            ">= 3 x faster",
            f"{ahead:,.0f} ms against {single:,.0f}, {PLACES} lookups each; median of {ROUNDS}",
            ">= 5 x faster",
        )
