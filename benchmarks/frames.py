"""What a lookup of a frame costs beside a bare merge of the same columns, and its memory."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from benchmarks.measure import Finding, medians, timed
from svc_sdk import Svc
from svc_tools.config import source_of
from svc_tools.frames import SvcAccessor
from svc_tools.frames.enriched import LOOKUP_COLUMNS
from svc_tools.lookup import Found, Outcome
from svc_tools.lookup.cache import Cache
from svc_tools.places import STATES, Place, states_of

if TYPE_CHECKING:
    from collections.abc import Iterator

ROWS = 1_000_000
PLACES = 10_000
KEYS = ["state", "zip"]


def places(count: int) -> list[tuple[str, str]]:
    """As many states and ZIPs, each ZIP in its state."""
    found = []
    for number in range(100_000):
        zip5 = f"{number:05d}"
        (state, *others) = [*states_of(zip5), ""]
        if state in STATES and others == [""]:
            found.append((state, zip5))
    step = len(found) // count
    return found[: step * count : step]


def found_for(number: int, state: str, zip5: str) -> Found:
    """An answer as the service gives them: one in five with several rates, a few conflicts."""
    combined = 4_000 + number % 5_000
    doubtful = number % 5 == 0
    return Found(
        combined=combined,
        state=4_000,
        county=combined - 4_000,
        city=0,
        districts=0,
        freight_taxable=number % 2 == 0,
        confidence="medium" if doubtful else "high",
        warnings=("zip_spans_jurisdictions",) if doubtful else (),
        resolved_via="zip5",
        effective_date=f"20{20 + number % 6}-0{1 + number % 9}-01",
        effective_date_basis="publisher_effective_date",
        resolved_state=state,
        resolved_zip=zip5,
        resolved_city=f"Town {number % 3_000}",
        resolved_county=f"Some County {number % 900}",
        source=f"Local sales and use tax rates of {STATES[state]}, quarterly",
        edition="2026Q4",
        low=combined - 100 if doubtful else None,
        high=combined if doubtful else None,
    )


@contextlib.contextmanager
def warm(count: int) -> Iterator[tuple[Svc, Cache, list[tuple[str, str]]]]:
    """A client that must never be asked, and a cache that knows as many places."""
    asked = places(count)
    now = datetime.now(UTC)
    with (
        tempfile.TemporaryDirectory() as folder,
        Svc("benchmark-key-0123", base_url="http://127.0.0.1:9", max_retries=0) as client,
    ):
        cache = Cache(Path(folder, "answers.db"))
        answered = [
            (
                Place(state, "zip", zip=zip5),
                Outcome("ok", None, found_for(number, state, zip5), looked_up_at=now),
            )
            for number, (state, zip5) in enumerate(asked)
        ]
        cache.keep(source_of(client), answered, detail=False)
        yield client, cache, asked


def orders(asked: list[tuple[str, str]], rows: int) -> pd.DataFrame:
    """Order lines as a shop exports them, with the demo's columns."""
    random = np.random.default_rng(7)
    where = random.integers(0, len(asked), rows)
    cents = random.integers(100, 100_000, rows)
    number = np.arange(rows)

    def text(values: object) -> pd.api.extensions.ExtensionArray:
        return pd.array(np.asarray(values, object), dtype="str")

    def pick(choices: list[str]) -> pd.api.extensions.ExtensionArray:
        return text(choices).take(random.integers(0, len(choices), rows))

    return pd.DataFrame(
        {
            "order_id": text([f"S{1_000_000 + one}" for one in number.tolist()]),
            "order_date": pick([f"2024-{1 + n % 12:02d}-{1 + n % 28:02d}" for n in range(365)]),
            "sku": pick([f"SKU-{n:03d}" for n in range(400)]),
            "description": pick([f"Kitchen thing number {n}" for n in range(400)]),
            "ship_to_address": pick([f"{n} Main Street" for n in range(100, 9_000)]),
            "ship_to_city": text([f"Town {n % 3_000}" for n in range(len(asked))]).take(where),
            "state": text([state for state, _ in asked]).take(where),
            "zip": text([zip5 for _, zip5 in asked]).take(where),
            "quantity": random.integers(1, 9, rows),
            "unit_price": cents / 100,
            "amount": cents / 100,
        }
    )


def speed(columns: list[str] | None, name: str, target: str, aim: str) -> Finding:
    with warm(PLACES) as (client, cache, asked):
        frame = orders(asked, ROWS)[["order_id", *KEYS, "amount"]]
        chosen = {"client": client, "cache": cache, "as_of": "today", "progress": False}

        def lookup() -> pd.DataFrame:
            return SvcAccessor(frame).lookup(columns=columns, **chosen)

        one_each = pd.DataFrame(asked, columns=KEYS, dtype="str")
        table = SvcAccessor(one_each).lookup(columns=columns, **chosen)
        added = [one for one in LOOKUP_COLUMNS if one in (columns or LOOKUP_COLUMNS)]
        table = table[[*KEYS, *added]]

        def merge() -> pd.DataFrame:
            return frame.merge(table, on=KEYS, how="left")

        looked, merged = lookup(), merge()
        assert (looked["lookup_status"] == "ok").all()
        pd.testing.assert_frame_equal(looked[added], merged[added])
        as_text = table.astype(dict.fromkeys(table.select_dtypes("category"), "str"))

        def merge_of_text() -> pd.DataFrame:
            return frame.merge(as_text, on=KEYS, how="left")

        sides = (lookup, merge, merge_of_text)
        ours, bare, text = medians(*(lambda side=side: timed(side) for side in sides))
    return Finding(
        f"warm lookup of {ROWS:,} rows, {PLACES:,} places, {name}, against a bare merge of them",
        f"{ours / bare:.2f} x",
        target,
        f"{ours * 1000:.0f} ms against {bare * 1000:.0f} ms; {ours / text:.2f} x of a merge with"
        f" all texts as text, as a table from a file has them ({text * 1000:.0f} ms)",
        aim,
    )


_MEASURING = """
import json, sys
sys.path.insert(0, sys.argv[1])
from benchmarks.frames import measured_memory
print(json.dumps(measured_memory()))
"""


def measured_memory() -> dict[str, int]:
    """Bytes: the frame, the result as pandas counts it, and the process before, after, at most."""
    from benchmarks.measure import resident  # noqa: PLC0415 - a process of its own

    with warm(PLACES) as (client, cache, asked):
        small = orders(asked, 1_000)
        chosen = {"client": client, "cache": cache, "as_of": "today", "progress": False}
        chosen |= {"zip": "zip", "state": "state", "address": False, "city": "ship_to_city"}
        SvcAccessor(small).lookup(**chosen)  # what is loaded at first use is not the frame's
        frame = orders(asked, ROWS)
        before = resident()
        with contextlib.suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from here
        result = SvcAccessor(frame).lookup(**chosen)
        status = Path("/proc/self/status")
        peak = resident()
        if status.is_file():
            peak = int(status.read_text().split("VmHWM:")[1].split()[0]) * 1024
        return {
            "frame": int(frame.memory_usage(deep=True).sum()),
            "result": int(result.memory_usage(deep=True).sum()),
            "before": before,
            "after": resident(),
            "peak": peak,
        }


def memory() -> Finding:
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", _MEASURING, str(Path(__file__).parents[1])],
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout)
    own = found["frame"]
    peak = own + found["peak"] - found["before"]
    return Finding(
        f"memory of {ROWS:,} rows enriched with all columns, against the frame itself",
        f"{peak / own:.2f} x at the peak",
        "<= 3 x",
        f"frame {own / 1e6:.0f} MB, with all columns {found['result'] / 1e6:.0f} MB"
        f" ({found['result'] / own:.2f} x); the process grew by"
        f" {(found['after'] - found['before']) / 1e6:.0f} MB,"
        f" at most by {(found['peak'] - found['before']) / 1e6:.0f} MB",
    )


def findings() -> Iterator[Finding]:
    yield speed(["combined_rate"], "the rate only", "<= 1.0 x", "<= 0.5 x")
    yield speed(None, f"all {len(LOOKUP_COLUMNS)} columns", "<= 0.5 x", "<= 0.3 x")
    yield memory()
