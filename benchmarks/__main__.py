"""`python -m benchmarks`: what the project claims of its speed, as ratios within this one run.

Each pair is measured in turn, round by round, so that a busy machine slows both; the medians are
compared. Times are CPU times of this process or its children.
"""

from __future__ import annotations

import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from decimal import ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from svc_tools.frames.tax import rounded_tax

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS = 7
CENT = Decimal("0.01")


class Row(NamedTuple):
    """A claim: two things to run, which way their ratio is meant, and what is asked of it."""

    name: str
    ours: Callable[[], object]
    theirs: Callable[[], object]
    faster: bool
    target: str


def cpu() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def timed(work: Callable[[], object]) -> float:
    start = cpu()
    work()
    return cpu() - start


def importing(modules: str) -> Callable[[], object]:
    command = [sys.executable, "-c", f"import {modules}"]
    return lambda: subprocess.run(command, check=True)  # noqa: S603 - our own interpreter


def exact_tax(rows: int) -> Row:
    random = np.random.default_rng(1)
    cents = random.integers(-500_000, 10_000_000, rows)
    units = random.integers(0, 12_000, rows)
    amounts = [Decimal(int(value)).scaleb(-2) for value in cents]
    rates = [Decimal(int(value)).scaleb(-5) for value in units]

    def loop() -> list[Decimal]:
        pairs = zip(amounts, rates, strict=True)
        return [(amount * rate).quantize(CENT, ROUND_HALF_UP) for amount, rate in pairs]

    differing = sum(
        int(theirs.scaleb(2)) != ours
        for theirs, ours in zip(loop(), rounded_tax(cents, units).tolist(), strict=True)
    )
    assert differing == 0
    name = f"exact tax on {rows:,} rows against a loop over Decimal"
    return Row(name, lambda: rounded_tax(cents, units), loop, faster=True, target=">= 40 x faster")


def rows() -> list[Row]:
    return [
        Row(
            "import svc_sdk against import httpx, pydantic",
            importing("svc_sdk"),
            importing("httpx, pydantic"),
            faster=False,
            target="<= 1.25 x",
        ),
        exact_tax(1_000_000),
    ]


def main() -> None:
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    print(f"medians of {ROUNDS} interleaved rounds, CPU time\n")
    for row in rows():
        pairs = [(timed(row.ours), timed(row.theirs)) for _ in range(ROUNDS)]
        ours, theirs = (statistics.median(side) for side in zip(*pairs, strict=True))
        ratio = theirs / ours if row.faster else ours / theirs
        unit = "x faster" if row.faster else "x"
        print(f"{row.name}\n  {ratio:.2f} {unit}  (target {row.target})")
        print(f"  {ours * 1000:.1f} ms against {theirs * 1000:.1f} ms")


main()
