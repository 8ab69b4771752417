"""What the client library and the exact tax cost."""

from __future__ import annotations

import subprocess
import sys
from decimal import ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.measure import Finding, medians, timed
from svc_tools.frames.tax import rounded_tax

if TYPE_CHECKING:
    from collections.abc import Iterator

CENT = Decimal("0.01")


def importing(modules: str) -> float:
    command = [sys.executable, "-c", f"import {modules}"]
    return timed(lambda: subprocess.run(command, check=True))  # noqa: S603 - our own interpreter


def import_time() -> Finding:
    ours, theirs = medians(
        lambda: importing("svc_sdk"),
        lambda: importing("httpx, pydantic"),
    )
    return Finding(
        "import svc_sdk against import httpx, pydantic",
        f"{ours / theirs:.2f} x",
        "<= 1.25 x",
        f"{ours * 1000:.1f} ms against {theirs * 1000:.1f} ms",
    )


def exact_tax(rows: int = 1_000_000) -> Finding:
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
    ours, theirs = medians(lambda: timed(lambda: rounded_tax(cents, units)), lambda: timed(loop))
    return Finding(
        f"exact tax on {rows:,} rows against a loop over Decimal",
        f"{theirs / ours:.2f} x faster",
        ">= 40 x faster",
        f"{ours * 1000:.1f} ms against {theirs * 1000:.1f} ms",
    )


def findings() -> Iterator[Finding]:
    yield import_time()
    yield exact_tax()
