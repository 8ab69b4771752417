"""What follows a tax: reconciling, filing and reviewing 400,000 rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyarrow as pa

from benchmarks.measure import Finding, medians, scaled, timed
from svc_tools.frames import SvcAccessor
from svc_tools.frames.lookup.results import encode
from svc_tools.frames.values.arrow import MONEY, RATE, cents_of, decimals
from svc_tools.lookup.outcomes import Component

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROWS, PLACES = scaled(400_000), scaled(20_000)
STATES = ("WA", "TX", "FL", "MN")
LEVELS = ("state", "county", "city", "district")


def taxed() -> pd.DataFrame:
    """A taxed book of four states: each place with its own code; one row in ten to be reviewed."""
    random = np.random.default_rng(4)
    none = np.zeros(ROWS, bool)
    place = random.integers(0, PLACES, ROWS)
    parts = random.integers(0, 4, (PLACES, len(LEVELS))) * 125 + (6_000, 0, 0, 0)
    rates = parts[place]
    combined = rates.sum(axis=1)
    status = pd.array(["ok", "partial", "unresolved"], dtype="str")
    chosen = random.choice(3, ROWS, p=[0.9, 0.06, 0.04])
    ranged = random.random(ROWS) < 0.1
    cells = [
        encode(
            [
                Component(level, f"{level} {number}", f"{number:05}", int(units))
                for level, units in zip(LEVELS, of_place, strict=True)
            ]
        )
        for number, of_place in enumerate(parts)
    ]
    days = pa.array(random.integers(20_000, 20_365, ROWS).astype("int32")).cast(pa.date32())
    reasons = pd.array([None, "several_rates", "partial", "unresolved"], dtype="str")
    marked = np.where(chosen > 0, chosen + 1, np.where(ranged, 1, 0))
    names = (*(f"{level}_rate" for level in LEVELS[:3]), "combined_district_rate")
    frame = pd.DataFrame(
        {
            "amount": decimals(random.integers(-20_000, 900_000, ROWS), none, MONEY),
            "order": random.integers(0, ROWS // 3, ROWS),
            "zip": pd.array([f"{number:05}" for number in range(PLACES)], dtype="str").take(place),
            "combined_rate": decimals(combined, chosen == 2, RATE),
            **{name: decimals(rates[:, at], none, RATE) for at, name in enumerate(names)},
            "rate_low": decimals(combined - 250, ~ranged, RATE),
            "rate_high": decimals(combined + 250, ~ranged, RATE),
            "resolved_state": pd.array(STATES, dtype="str").take(place % len(STATES)),
            "lookup_status": status.take(chosen),
            "lookup_as_of": pd.array(days, dtype=pd.ArrowDtype(pa.date32())),
            "needs_review": pd.array(marked > 0, dtype="boolean"),
            "lookup_review_reason": reasons.take(marked),
            "lookup_jurisdictions": pd.array(cells, dtype="str").take(place),
        }
    )
    return SvcAccessor(frame).tax(invoice="order", progress=False)


def with_collected(frame: pd.DataFrame) -> pd.DataFrame:
    """One row in five collected at another rate; a few not known."""
    random = np.random.default_rng(5)
    cents, missing = cents_of(frame["tax"])
    off = random.random(ROWS) < 0.2
    cents = np.where(off, cents + random.integers(-500, 500, ROWS), cents)
    collected = decimals(cents, missing | (random.random(ROWS) < 0.01), MONEY)
    return frame.assign(collected=collected)


def findings() -> Iterator[Finding]:
    frame = with_collected(taxed())
    accessor = SvcAccessor(frame)
    calls: dict[str, Callable[[], object]] = {
        "reconcile(), by state, reason and month": lambda: accessor.reconcile(
            "collected", period="month"
        ),
        "filing() of a state with a quarter of them, by month": lambda: accessor.filing(
            "WA", period="month"
        ),
        "review()": accessor.review,
    }
    accessor.filing("WA").check()
    sums = accessor.reconcile("collected").totals
    assert sums.collected is not None
    assert sums.expected is not None
    assert sums.difference == sums.collected - sums.expected
    took = medians(*(lambda call=call: timed(call) for call in calls.values()), rounds=3)
    for (name, call), seconds in zip(calls.items(), took, strict=True):
        made = call()
        text = timed(lambda made=made: str(made))
        yield Finding(
            f"df.svc.{name}: {ROWS:,} rows",
            f"{seconds:.2f} s",
            "reported",
            f"{PLACES:,} places; {text:.2f} s more to print it",
        )
