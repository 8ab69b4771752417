"""What tests run on the workers of a Dask cluster, which import it by name."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
import pandas as pd

from svc_tools.frames.dask.pace import turn


def environment(**values: str | None) -> dict[str, str | None]:
    """Set the worker's environment; what it was before."""
    before = {name: os.environ.get(name) for name in values}
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    return before


def in_turn(name: str, times: int, start: float) -> list[tuple[float, float]]:
    """When this worker had its turns from `start` on, by the clock of the machine."""
    had = []
    while time.monotonic() < start:
        os.sched_yield()
    for _ in range(times):
        with turn(name):
            begun = time.monotonic()
            while time.monotonic() < begun + 0.03:  # long enough to meet the other's
                os.sched_yield()
            had.append((begun, time.monotonic()))
    return had


def most_held() -> int:
    """The most bytes that this worker ever held; 0 where the system does not say."""
    told = Path("/proc/self/status")
    lines = told.read_text().splitlines() if told.is_file() else []
    peaks = [int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM")]
    return peaks[0] if peaks else 0


def orders(number: int, rows: int, places: list[tuple[str, str]]) -> pd.DataFrame:
    """One partition of orders: always the same ones for the same number."""
    random = np.random.default_rng(number)
    which = random.integers(0, len(places), rows)
    states, zips = (np.array(column) for column in zip(*places, strict=True))
    return pd.DataFrame(
        {
            "state": pd.array(states[which], dtype="str"),
            "zip": pd.array(zips[which], dtype="str"),
            "amount": random.integers(100, 1_000_000, rows) / 100,
        }
    )
