"""What tests run on the workers of a Dask cluster, which import it by name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd


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
