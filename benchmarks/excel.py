"""A sheet of 5,000 formulas over 500 places: what batching saves in each adapter.

The service is a process of its own that answers from bytes (`benchmarks.answering`), and counts.
Office.js is the shipped JavaScript in Node, over Excel's stand-in of the tests, which has six
questions under way at once, as a browser has.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import uvicorn
from pydantic import SecretStr

from benchmarks import excel_calc, excel_com
from benchmarks.bulk import KEY, answering
from benchmarks.measure import Finding, medians
from svc_sdk import Svc
from svc_tools.excel.desk import Desk
from svc_tools.excel.evaluating import Call, evaluate
from svc_tools.excel.officejs.app import make_app
from svc_tools.excel.officejs.gate import Gate
from svc_tools.excel.officejs.script import functions_script
from svc_tools.excel.officejs.sockets import bound

if TYPE_CHECKING:
    from collections.abc import Iterator

FORMULAS = 5_000
PLACES = 500
ROUNDS = 5
HOST = Path(__file__).parents[1] / "tests" / "excel" / "js" / "host.mjs"

SHEET = [
    {
        "id": "TAX",
        "args": [[[1 + row / 100]], [["TX"]], [[10_000 + row % PLACES]], [["2026-05-01"]]],
    }
    for row in range(FORMULAS)
]
"""Formulas that all differ, as amounts do."""


@contextlib.contextmanager
def local_server(base: str) -> Iterator[str]:
    """The local server with nothing in its memory; the script as Excel loads it."""
    sockets = bound(0)
    gate = Gate(sockets[0].getsockname()[1], SecretStr("benchmark"))
    with Svc(KEY, base_url=base) as client:
        app = make_app(Desk(client, cache=False), gate)
        server = uvicorn.Server(
            uvicorn.Config(app, log_config=None, access_log=False, ws="none", lifespan="off")
        )
        thread = threading.Thread(target=server.run, kwargs={"sockets": sockets})
        thread.start()
        try:
            yield functions_script(gate)
        finally:
            server.should_exit = True
            thread.join()
            for one in sockets:
                one.close()


def in_node(script: str, *bursts: list[object]) -> dict[str, object]:
    asked = {"script": script, "bursts": bursts, "warm": [{"id": "FIELDS", "args": []}]}
    done = subprocess.run(  # noqa: S603 - our own
        [shutil.which("node") or "node", str(HOST)],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout)
    for burst in found["shown"]:
        assert all(isinstance(cell, list) for cell in burst), "a cell shows an error"
    return found


def one_by_one(script: str) -> str:
    """The same script, each call in a question of its own."""
    changed = script.replace("MOST_CALLS = 20_000", "MOST_CALLS = 1")
    assert changed != script
    return changed


def lookups(base: str) -> int:
    return int(httpx.get(f"{base}/count", trust_env=False).text)


def questions() -> Finding:
    with answering() as base, local_server(base) as script:
        sent = in_node(script, SHEET)["sent"]
        found = lookups(base)
    return Finding(
        f"a sheet of {FORMULAS:,} formulas, {PLACES} places: lookups, and POSTs from Excel",
        f"{found} lookups, {len(sent)} POST",
        f"<= {PLACES}, <= 1",
        "counted at the service and in Node",
    )


def office_js() -> Finding:
    """With an empty memory each time, so the 500 lookups are part of both."""
    with answering() as base:

        def sheet(*, batched: bool) -> float:
            with local_server(base) as script:
                ms = in_node(script if batched else one_by_one(script), SHEET)["ms"]
            return float(str(ms))

        ours, single = medians(
            lambda: sheet(batched=True), lambda: sheet(batched=False), rounds=ROUNDS
        )
    return Finding(
        f"Office.js: {FORMULAS:,} formulas in one POST against one POST a cell (time)",
        f"{single / ours:.1f} x faster",
        ">= 5 x faster",
        f"{ours:,.0f} ms against {single:,.0f}, {PLACES} lookups each; median of {ROUNDS}",
        ">= 10 x faster",
    )


def recalculated() -> Finding:
    """All places are known: what remains is the way from the cells to the server and back."""
    with answering() as base:

        def sheet(*, batched: bool) -> float:
            with local_server(base) as script:
                in_node(script, SHEET)
                before = lookups(base)
                ms = in_node(script if batched else one_by_one(script), SHEET)["ms"]
                assert lookups(base) == before, "a recalculation asks the service nothing"
            return float(str(ms))

        ours, single = medians(
            lambda: sheet(batched=True), lambda: sheet(batched=False), rounds=ROUNDS
        )
    return Finding(
        f"Office.js: the same {FORMULAS:,} formulas recalculated, against one POST a cell (time)",
        f"{single / ours:.1f} x faster",
        ">= 5 x faster",
        f"{ours:,.0f} ms against {single:,.0f}, no lookup; median of {ROUNDS}",
        ">= 10 x faster",
    )


def core() -> Finding:
    """What every adapter stands on: a burst of calls known together, against cell after cell."""
    calls = [Call(f"SVC_{one['id']}", tuple(rows[0][0] for rows in one["args"])) for one in SHEET]
    with answering() as base, Svc(KEY, base_url=base) as client:

        def sheet(bursts: list[list[Call]]) -> float:
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
    yield questions()
    yield core()
    yield office_js()
    yield recalculated()
    yield from excel_com.findings()
    yield from excel_calc.findings()
