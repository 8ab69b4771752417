"""How the benchmarks measure, and how they print what they found."""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

with suppress(ImportError):  # Windows, which measures none of what follows but runs its tests
    import resource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

ROUNDS = 7
SHARE = "BENCHMARKS_SHARE"
"""The environment variable with the share of each size that is measured, for our processes too."""
HOMES = ("HOME", "LOCALAPPDATA", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME")
"""The environment variables of the folders in which the user's book, cache and settings are."""

_NUMBER = r"[0-9][0-9,]*(?:\.[0-9]+)?"
_HEAD = ("what", "found", "target", "aim", "")


class Finding(NamedTuple):
    """One claim: what was found, what is asked of it, and the figures behind it.

    A target or an aim is a limit such as "<= 2.5 x", several parted by commas, or a word where
    nothing is asked. Each limit is for the number in the same place of what was found.
    """

    name: str
    found: str
    target: str
    figures: str
    aim: str = ""


def share() -> float:
    """The share of each size that is measured: 1, or less where a run only shows that all runs."""
    return float(os.environ.get(SHARE, "1"))


def scaled(size: int, least: int = 1) -> int:
    """The share of a size that is measured; `least` is what it needs in order to run."""
    return max(round(size * share()), least)


def cpu() -> float:
    """CPU seconds of this process and of its children that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def resident() -> int:
    """Bytes of memory that this process holds; where that is not told, the most it ever held."""
    told = Path("/proc/self/statm")
    if told.is_file():
        return int(told.read_text(encoding="utf-8").split()[1]) * resource.getpagesize()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def most_held() -> int:
    """The most bytes that this process ever held."""
    told = Path("/proc/self/status")
    if told.is_file():  # what the kernel counts for a child begins with its parent's size
        return int(told.read_text(encoding="utf-8").split("VmHWM:")[1].split()[0]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def timed(work: Callable[[], object]) -> float:
    start = cpu()
    work()
    return cpu() - start


def medians(*sides: Callable[[], float], rounds: int = ROUNDS) -> Sequence[float]:
    """The median of each side; all take their turn in each round, so a busy machine slows all.

    There is one round where only a share is measured.
    """
    measured = [[side() for side in sides] for _ in range(rounds if share() == 1 else 1)]
    return [statistics.median(side) for side in zip(*measured, strict=True)]


_MEASURING = """
import importlib, json, sys
module, name, arguments = json.load(sys.stdin)
sys.path.insert(0, sys.argv[1])
print(json.dumps(getattr(importlib.import_module(module), name)(*arguments)))
"""


def in_a_process(
    function: Callable[..., dict[str, float]], *arguments: object, **variables: str
) -> dict[str, float]:
    """What one of our functions measures in a process of its own, with more variables.

    Its home is a fresh one, with no cache, no settings, and nothing imported into its book.
    """
    own = {name: value for name, value in os.environ.items() if not name.startswith("SVC_")}
    with tempfile.TemporaryDirectory() as home:
        done = subprocess.run(  # noqa: S603 - our own program
            [sys.executable, "-c", _MEASURING, str(Path(__file__).parents[1])],
            input=json.dumps([function.__module__, function.__name__, arguments]),
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            env=own | dict.fromkeys(HOMES, home) | variables,
        )
    measured: dict[str, float] = json.loads(done.stdout)
    return measured


def size_of(folder: Path) -> int:
    """Bytes of all files in a folder; 0 where there is none."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def keeps(found: str, limits: str) -> bool | None:
    """Whether what was found keeps within the limits; `None` where there are none."""
    asked = [re.match(rf"\s*([<>]=?)\s*({_NUMBER})", limit) for limit in re.split(r",\s", limits)]
    if not asked or None in asked:
        return None
    numbers = [_number(text) for text in re.findall(_NUMBER, found)]
    if len(numbers) < len(asked):
        raise ValueError(f"found {found!r} has fewer numbers than the target {limits!r} limits")
    return all(
        _within(number, *limit.groups())
        for number, limit in zip(numbers, asked, strict=False)
        if limit is not None
    )


def verdict(finding: Finding) -> str:
    """Met, missed, or that even the aim is met; nothing where nothing was asked."""
    met = keeps(finding.found, finding.target)
    if met is None:
        return ""
    return "missed" if not met else "aim met" if keeps(finding.found, finding.aim) else "met"


def show(finding: Finding) -> None:
    """Say one finding as soon as it is there."""
    told = ", ".join(
        text for text in (finding.aim and f"aim {finding.aim}", verdict(finding)) if text
    )
    asked = f"  (target {finding.target}{told and f'; {told}'})" if finding.target else ""
    figures = finding.figures and f"\n  {finding.figures}"
    print(f"{finding.name}\n  {finding.found}{asked}{figures}", flush=True)


def table(findings: Iterable[Finding]) -> str:
    """All findings as a table, which is Markdown too."""
    rows = [(one.name, one.found, one.target, one.aim, verdict(one)) for one in findings]
    widths = [max(map(len, column)) for column in zip(_HEAD, *rows, strict=True)]
    rule = tuple("-" * width for width in widths)
    lines = (
        [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        for row in (_HEAD, rule, *rows)
    )
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _number(text: str) -> float:
    return float(text.replace(",", ""))


def _within(number: float, sign: str, limit: str) -> bool:
    bound = _number(limit)
    return {
        "<": number < bound,
        "<=": number <= bound,
        ">": number > bound,
        ">=": number >= bound,
    }[sign]
