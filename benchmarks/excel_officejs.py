"""The sheet of `benchmarks.excel` through the shipped JavaScript: what one POST for all saves.

Node.js runs it over a stand-in for Excel, which has six requests under way at once, as a browser
has.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
from pydantic import SecretStr

from benchmarks import tools
from benchmarks.bulk import KEY, answering
from benchmarks.excel import FORMULAS, PLACES, ROUNDS, SHEET
from benchmarks.measure import Finding, medians
from svc_sdk import Svc
from svc_tools.base.loopback import LocalGuard, listen_on_localhost, serve_in_thread
from svc_tools.excel.desk import Desk
from svc_tools.excel.officejs.app import addin_app
from svc_tools.excel.officejs.pages import functions_script

if TYPE_CHECKING:
    from collections.abc import Iterator

STAND_IN = Path(__file__).with_name("excel_stand_in.mjs")
NAMES = (
    f"a sheet of {FORMULAS:,} formulas, {PLACES} places: lookups, and POSTs from Excel",
    f"Office.js: {FORMULAS:,} formulas in one POST against one POST a cell (time)",
    f"Office.js: the same {FORMULAS:,} formulas recalculated, against one POST a cell (time)",
)


@contextlib.contextmanager
def local_server(desk: Desk) -> Iterator[LocalGuard]:
    """The local server over a desk, for the length of the block."""
    sockets = listen_on_localhost(0)
    guard = LocalGuard(sockets[0].getsockname()[1], token=SecretStr("benchmark"))
    running = serve_in_thread(addin_app(desk, guard), sockets)
    try:
        yield guard
    finally:
        running.close()


@contextlib.contextmanager
def served_script(base: str) -> Iterator[str]:
    """The script as Excel loads it, from a server with nothing in its memory."""
    with Svc(KEY, base_url=base) as client, local_server(Desk(client, cache=False)) as guard:
        yield functions_script(guard)


def in_node(script: str, *bursts: list[object]) -> dict[str, object]:
    asked = {"script": script, "bursts": bursts, "warm": [{"id": "FIELDS", "args": []}]}
    done = subprocess.run(  # noqa: S603 - our own
        [tools.node(), str(STAND_IN)],
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
    with answering() as base, served_script(base) as script:
        sent = in_node(script, SHEET)["sent"]
        found = lookups(base)
    return Finding(
        NAMES[0],
        f"{found} lookups, {len(sent)} POST",
        f"<= {PLACES}, <= 1",
        "counted at the service and in Node",
    )


def office_js() -> Finding:
    """With an empty memory each time, so the 500 lookups are part of both."""
    with answering() as base:

        def sheet(*, batched: bool) -> float:
            with served_script(base) as script:
                ms = in_node(script if batched else one_by_one(script), SHEET)["ms"]
            return float(str(ms))

        ours, single = medians(
            lambda: sheet(batched=True), lambda: sheet(batched=False), rounds=ROUNDS
        )
    return Finding(
        NAMES[1],
        f"{single / ours:.1f} x faster",
        ">= 5 x faster",
        f"{ours:,.0f} ms against {single:,.0f}, {PLACES} lookups each; median of {ROUNDS}",
        ">= 10 x faster",
    )


def recalculated() -> Finding:
    """All places are known: what remains is the way from the cells to the server and back."""
    with answering() as base:

        def sheet(*, batched: bool) -> float:
            with served_script(base) as script:
                in_node(script, SHEET)
                before = lookups(base)
                ms = in_node(script if batched else one_by_one(script), SHEET)["ms"]
                assert lookups(base) == before, "a recalculation asks the service nothing"
            return float(str(ms))

        ours, single = medians(
            lambda: sheet(batched=True), lambda: sheet(batched=False), rounds=ROUNDS
        )
    return Finding(
        NAMES[2],
        f"{single / ours:.1f} x faster",
        ">= 5 x faster",
        f"{ours:,.0f} ms against {single:,.0f}, no lookup; median of {ROUNDS}",
        ">= 10 x faster",
    )


def findings() -> Iterator[Finding]:
    if not tools.works(tools.node(), "--version"):
        raise tools.ToolError("Node.js does not start")
    yield questions()
    yield office_js()
    yield recalculated()
