"""How the benchmarks measure, and how they print what they found."""

from __future__ import annotations

import resource
import statistics
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ROUNDS = 7


class Finding(NamedTuple):
    """One claim: what was found, what is asked of it, and the figures behind it."""

    name: str
    found: str
    target: str
    figures: str


def cpu() -> float:
    """CPU seconds of this process and of its children that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def resident() -> int:
    """Bytes of memory that this process holds; where that is not told, the most it ever held."""
    told = Path("/proc/self/statm")
    if told.is_file():
        return int(told.read_text().split()[1]) * resource.getpagesize()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def timed(work: Callable[[], object]) -> float:
    start = cpu()
    work()
    return cpu() - start


def medians(*sides: Callable[[], float], rounds: int = ROUNDS) -> Sequence[float]:
    """The median of each side; all take their turn in each round, so a busy machine slows all."""
    measured = [[side() for side in sides] for _ in range(rounds)]
    return [statistics.median(side) for side in zip(*measured, strict=True)]


def show(finding: Finding) -> None:
    print(f"{finding.name}\n  {finding.found}  (target {finding.target})")
    print(f"  {finding.figures}", flush=True)
