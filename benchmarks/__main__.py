"""`python -m benchmarks [client|service|boundaries]`: what the project claims of its speed.

Each pair is measured in turn, round by round, so that a busy machine slows both; the medians are
compared. Times are CPU times unless said otherwise.
"""

from __future__ import annotations

import os
import platform
import sys

from benchmarks import boundaries, client, service
from benchmarks.measure import ROUNDS, show

PARTS = {"client": client.findings, "service": service.findings, "boundaries": boundaries.findings}


def main() -> None:
    wanted = sys.argv[1:] or list(PARTS)
    if unknown := set(wanted) - set(PARTS):
        sys.exit(f"unknown: {', '.join(sorted(unknown))}; expected any of {', '.join(PARTS)}")
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    print(f"medians of {ROUNDS} interleaved rounds\n")
    for name in wanted:
        for finding in PARTS[name]():
            show(finding)


main()
