"""`python -m benchmarks [part …]`: what the project claims of its speed, as a table.

Each pair is measured in turn, round by round, so that a busy machine slows both; the medians are
compared. Times are CPU times unless said otherwise. Without a part it is all of them.
"""

from __future__ import annotations

import importlib
import os
import platform
import sys
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.measure import ROUNDS, Finding, show, table

PARTS = (
    "client",
    "bulk",
    "cache",
    "frames",
    "tax",
    "analysis",
    "nexus",
    "dask_frames",
    "files",
    "excel",
    "service",
    "boundaries",
)
"""Modules of this package with a function `findings()`."""


def machine() -> str:
    """What the figures were measured on."""
    told = Path("/proc/cpuinfo")
    lines = told.read_text().splitlines() if told.is_file() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    processor = models[0] if models else platform.processor() or platform.machine()
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return f"{processor}, {os.cpu_count()} cores, {platform.system()}, {python}"


def main() -> None:
    wanted = sys.argv[1:] or PARTS
    if unknown := set(wanted) - set(PARTS):
        sys.exit(f"unknown: {', '.join(sorted(unknown))}; expected any of {', '.join(PARTS)}")
    where = f"{machine()}; {datetime.now(UTC):%Y-%m-%d}"
    print(f"{where}\nmedians of {ROUNDS} interleaved rounds, unless said otherwise\n")
    found: list[Finding] = []
    for name in wanted:
        for finding in importlib.import_module(f"benchmarks.{name}").findings():
            show(finding)
            found.append(finding)
    print(f"\n{table(found)}\n\n{where}")


if __name__ == "__main__":
    main()
