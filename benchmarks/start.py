"""What a start costs, against loading the two libraries that every use of the project needs."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.measure import Finding, medians, timed

if TYPE_CHECKING:
    from collections.abc import Iterator

_FRAME = """
import pandas as pd, svc_tools
orders = pd.DataFrame({"state": ["CA", "TX", "NJ"], "zip": ["94105", "78701", "07030"]})
with svc_tools.connect("embedded") as client:
    orders.svc.lookup(client=client, cache=False, progress=False)
"""
_STARTS = (
    ("svc-tools --help", ("-m", "svc_tools", "--help"), "<= 1.3 x"),
    (
        "svc-tools lookup TX --zip 78701 --embedded",
        ("-m", "svc_tools", "lookup", "TX", "--zip", "78701", "--embedded"),
        "<= 3 x",
    ),
    ("import svc_tools", ("-c", "import svc_tools"), "<= 1.2 x"),
    ("import pandas, and the first lookup of a frame", ("-c", _FRAME), "reported"),
)


def findings() -> Iterator[Finding]:
    with tempfile.TemporaryDirectory() as folder:
        own = {"SVC_DATABASE_URL": str(Path(folder) / "service.db"), "SVC_CACHE": "off"}
        environment = {**os.environ, **own}
        # where Python stores no bytecode, each start would compile the project, but no library
        environment.pop("PYTHONDONTWRITEBYTECODE", None)

        def run(*arguments: str) -> None:
            command = [sys.executable, *arguments]
            subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)  # noqa: S603 - our own interpreter

        for _, given, _ in _STARTS:  # the first ones make the database, and the bytecode
            run(*given)
        floor, *ours = medians(
            lambda: timed(lambda: run("-c", "import httpx, pydantic")),
            *(lambda given=given: timed(lambda: run(*given)) for _, given, _ in _STARTS),
        )
    for (name, _, target), cost in zip(_STARTS, ours, strict=True):
        yield Finding(
            f"{name}, against import httpx, pydantic",
            f"{cost / floor:.2f} x",
            target,
            f"{cost * 1000:.0f} ms against {floor * 1000:.0f} ms of CPU",
        )
