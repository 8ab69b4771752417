"""`python -m benchmarks [--share N] [part …]`: what the project claims of its speed, as a table.

Each pair is measured in turn, round by round, so that a busy machine slows both; the medians are
compared. Times are CPU times unless said otherwise. Without a part it is all of them. A row that
needs a missing program is skipped, and a group of rows that fails does not keep the others back.

With `--share 0.01` each row is measured once, at a hundredth of its size: that none is broken. What
has no size, such as a start, takes as long as ever, and no figure is held against its target.
"""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import sys
import traceback
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.measure import ROUNDS, SHARE, Finding, share, show, table
from benchmarks.tools import ToolError

MOST_CHARACTERS = 100

PARTS: dict[str, tuple[str, ...]] = {
    "start": ("start",),
    "client": ("client",),
    "bulk": ("bulk",),
    "cache": ("cache",),
    "frames": ("frames",),
    "tax": ("tax",),
    "analysis": ("analysis",),
    "nexus": ("nexus",),
    "dask_frames": ("dask_frames",),
    "files": ("files",),
    "excel": ("excel", "excel_officejs", "excel_com", "excel_calc"),
    "service": ("service",),
    "boundaries": ("boundaries",),
    "points": ("points",),
}
"""The groups of each part: modules of this package with a function `findings()`.

A group that needs a tool has `NAMES`, those of its rows, which are shown without it too.
"""


def machine() -> str:
    """What the figures were measured on."""
    told = Path("/proc/cpuinfo")
    lines = told.read_text(encoding="utf-8").splitlines() if told.is_file() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    processor = models[0] if models else platform.processor() or platform.machine()
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return f"{processor}, {os.cpu_count()} cores, {platform.system()}, {python}"


def measured(group: str) -> tuple[list[Finding], bool]:
    """The rows of a group, each shown at once; and whether it failed.

    Where it ends early, the rows that are left say why: a tool is missing, or an error.
    """
    found: list[Finding] = []
    rows: tuple[str, ...] = (f"{group}: what was left",)
    failed = False
    try:
        module = importlib.import_module(f"benchmarks.{group}")
        rows = getattr(module, "NAMES", rows)
        for finding in module.findings():
            found.append(finding if share() == 1 else finding._replace(target="", aim=""))
            show(found[-1])
    except ToolError as error:
        reason = f"skipped: {error}"
    except Exception as error:  # noqa: BLE001 - the other groups are measured all the same
        traceback.print_exc()
        reason = f"failed: {type(error).__name__}: {error}"
        failed = True
    else:
        return found, failed
    names = {finding.name for finding in found}
    for row in rows:
        if row not in names:
            found.append(Finding(row, shortened(reason), "", ""))
            show(found[-1])
    return found, failed


def shortened(text: str) -> str:
    """The text in one line that a cell of the table can hold."""
    line = " ".join(text.split())
    return line if len(line) <= MOST_CHARACTERS else f"{line[: MOST_CHARACTERS - 4]} ..."


def share_of(text: str) -> float:
    given = float(text)
    if not 0 < given <= 1:
        raise argparse.ArgumentTypeError(f"{text}: expected a number above 0, and up to 1")
    return given


def main() -> int:
    """Measure the wanted parts; the status is 1 where a group failed, not where it was skipped."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument("part", nargs="*", help=f"any of {', '.join(PARTS)}; by default all")
    parser.add_argument(
        "--share", type=share_of, default=1.0, help="run each once, at this share of its size"
    )
    given = parser.parse_args()
    wanted = given.part or list(PARTS)
    if unknown := set(wanted) - set(PARTS):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; expected any of {', '.join(PARTS)}")
    os.environ[SHARE] = str(given.share)  # before a group, which has its sizes, is imported
    how = (
        f"medians of {ROUNDS} interleaved rounds, unless said otherwise"
        if share() == 1
        else f"one round at {share():g} of each size, which shows that all run, not how fast"
    )
    where = f"{machine()}; {datetime.now(UTC):%Y-%m-%d}"
    print(f"{where}\n{how}\n", flush=True)
    groups = [measured(group) for part in wanted for group in PARTS[part]]
    print(f"\n{table([one for found, _ in groups for one in found])}\n\n{where}")
    return int(any(failed for _, failed in groups))


if __name__ == "__main__":
    sys.exit(main())
