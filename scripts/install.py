"""Install into the environment that runs this, and print every few seconds what is installed.

For the Makefile. pip is silent while it downloads a large file over a slow line, and while it
unpacks: for minutes nobody knows whether it works. With the standard library alone, for nothing
is installed yet.
"""

from __future__ import annotations

import queue
import re
import subprocess
import sys
import sysconfig
import threading
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

EVERY = 10.0
"""Seconds between two lines."""
PIP = (sys.executable, "-m", "pip")
_STEP = re.compile(
    r"\s*((?:Collecting|Downloading|Using cached|Preparing|Building|Getting) \S.*)", re.DOTALL
)
_UNPACKING = "Installing collected packages: "


def main(arguments: Sequence[str], say: Callable[[str], object] = print) -> int:
    """Run `pip install` with these arguments.

    Args:
        arguments: those of `pip install`.
        say: gets each line.

    Returns:
        The exit code of pip, which prints its errors itself.
    """
    options = ("--disable-pip-version-check", "--no-compile", "--progress-bar", "off")
    command = [*PIP, "install", *options, *arguments]
    lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    begun = said = time.monotonic()
    step, unpacked = "starting pip", None
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, errors="replace") as pip:  # noqa: S603 - our own command
        threading.Thread(target=_read, args=(pip.stdout, lines), daemon=True).start()
        while True:
            try:
                line = lines.get(timeout=max(0.0, said + EVERY - time.monotonic()))
            except queue.Empty:
                said = time.monotonic()
                say(f"  {said - begun:3.0f} s: {step if unpacked is None else unpacked.step()}")
                continue
            if line is None:
                break
            if line.startswith(_UNPACKING):
                unpacked = _Unpacked(line.removeprefix(_UNPACKING).strip().split(", "))
            elif found := _STEP.match(line):
                step = found[1].strip()
        return pip.wait()


def _read(text: IO[str] | None, lines: queue.SimpleQueue[str | None]) -> None:
    for line in text or ():
        lines.put(line)
    lines.put(None)


class _Unpacked:
    """What pip has unpacked of these packages."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._folder = Path(sysconfig.get_path("purelib"))
        self._before = {path.name for path in self._found()}

    def _found(self) -> list[Path]:
        return [*self._folder.glob("*.dist-info")]

    def step(self) -> str:
        new = [path for path in self._found() if path.name not in self._before]
        names = [path.name.partition("-")[0] for path in sorted(new, key=_time)]
        last = f"{names[-1]} is in" if names else f"{self._names[0]} is the first"
        return f"Unpacking, {len(names)} of {len(self._names)} packages: {last}"


def _time(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:  # pip renames what it has not finished
        return 0.0


if __name__ == "__main__":
    try:  # a pipe, as the log of a build, gets each line at once, too
        sys.exit(main(sys.argv[1:], say=lambda line: print(line, flush=True)))  # noqa: T201 - the product
    except KeyboardInterrupt:
        sys.exit(130)
