"""What the client library costs."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from benchmarks.measure import Finding, medians, timed

if TYPE_CHECKING:
    from collections.abc import Iterator


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
        "<= 1.1 x",
    )


def findings() -> Iterator[Finding]:
    yield import_time()
