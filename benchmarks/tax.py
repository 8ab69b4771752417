"""What exact tax costs: its arithmetic, the whole call, and finding the amounts of a file."""

from __future__ import annotations

import decimal
import functools
import io
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa

from benchmarks.measure import Finding, medians, scaled, timed
from svc_tools.frames import SvcAccessor
from svc_tools.frames.values.arrow import MONEY, RATE, cents_of, decimals
from svc_tools.frames.values.rounding import rounded_tax

if TYPE_CHECKING:
    from collections.abc import Iterator

ROWS = scaled(1_000_000)
CENT = Decimal("0.01")
MODES = {
    "half_up": decimal.ROUND_HALF_UP,
    "half_even": decimal.ROUND_HALF_EVEN,
    "up": decimal.ROUND_UP,
    "down": decimal.ROUND_DOWN,
}
Pairs = list[tuple[Decimal, Decimal]]


def loop(pairs: Pairs, mode: str = "half_up") -> list[Decimal]:
    """What people write: one Decimal after the other."""
    rounding = MODES[mode]
    return [(amount * rate).quantize(CENT, rounding) for amount, rate in pairs]


@functools.cache
def rows() -> tuple[np.ndarray, np.ndarray, Pairs]:
    """Cents and rates with ties and refunds, and the same as Decimals."""
    random = np.random.default_rng(1)
    cents = random.integers(-500_000, 10_000_000, ROWS)
    units = random.integers(0, 12_000, ROWS)
    units[::3] = units[::3] // 125 * 125
    cents[::3] = cents[::3] // 100 * 100 + 50
    amounts = [Decimal(value).scaleb(-2) for value in cents.tolist()]
    rates = [Decimal(value).scaleb(-5) for value in units.tolist()]
    return cents, units, list(zip(amounts, rates, strict=True))


def arithmetic() -> Finding:
    cents, units, pairs = rows()
    for mode in MODES:
        exact = rounded_tax(cents, units, mode).tolist()
        differing = sum(
            int(theirs.scaleb(2)) != ours
            for theirs, ours in zip(loop(pairs, mode), exact, strict=True)
        )
        assert differing == 0, mode
    ours, theirs = medians(
        lambda: timed(lambda: rounded_tax(cents, units)), lambda: timed(lambda: loop(pairs))
    )
    ties = np.count_nonzero(np.abs(cents * units) % 100_000 == 50_000)
    return Finding(
        f"exact tax on {ROWS:,} rows against a loop over Decimal",
        f"{theirs / ours:.2f} x faster",
        ">= 40 x faster",
        f"{ours * 1000:.1f} ms against {theirs * 1000:.1f} ms; in each of {len(MODES)} roundings no"
        f" row differs ({ties:,} exact ties, {np.count_nonzero(cents < 0):,} refunds)",
        ">= 80 x faster",
    )


def enriched() -> pd.DataFrame:
    """Rows as a lookup leaves them: levels, ranges for one in five, a few without a rate."""
    cents, units, _ = rows()
    random = np.random.default_rng(2)
    none = np.zeros(ROWS, bool)
    single = random.random(ROWS) < 0.8
    state = units // 2
    county = (units - state) // 2
    statuses = pd.array(["ok", "partial", "unresolved"], dtype="str")
    states = pd.array(["FL", "TX", "NY"], dtype="str")
    days = random.integers(20_000, 20_500, ROWS).astype("int32")
    return pd.DataFrame(
        {
            "amount": decimals(cents, none, MONEY),
            "delivery": decimals(random.integers(0, 2_000, ROWS), none, MONEY),
            "order": random.integers(0, ROWS // 3, ROWS),
            "combined_rate": decimals(units, none, RATE),
            "state_rate": decimals(state, none, RATE),
            "county_rate": decimals(county, none, RATE),
            "city_rate": decimals(units - state - county, none, RATE),
            "combined_district_rate": decimals(np.zeros(ROWS, np.int64), none, RATE),
            "rate_low": decimals(units // 2, single, RATE),
            "rate_high": decimals(units + 500, single, RATE),
            "freight_taxable": pd.array(random.random(ROWS) < 0.6, dtype="boolean"),
            "lookup_status": statuses.take(random.choice(3, ROWS, p=[0.9, 0.07, 0.03])),
            "resolved_state": states.take(random.integers(0, 3, ROWS)),
            "lookup_as_of": pd.array(
                pa.array(days).cast(pa.date32()), dtype=pd.ArrowDtype(pa.date32())
            ),
        }
    )


def whole_calls() -> Iterator[Finding]:
    frame = enriched()
    pairs = rows()[2]
    register = [
        {"state": "TX", "nexus_type": "physical", "registered_at": "2025-01-01"},
        {"state": "FL", "nexus_type": "economic"},
    ]
    every = {
        "shipping": "delivery",
        "exempt": "3.00",
        "invoice": "order",
        "nexus": register,
        "channel": "direct",
        "ship_from": "TX",
    }
    named: dict[str, dict[str, Any]] = {
        "the amount alone": {},
        "invoice=": {"invoice": "order"},
        "every argument": every,
    }

    def call(terms: dict[str, Any]) -> pd.DataFrame:
        own = {"shipping": False, "once": False, **terms}  # what is not named is found
        return SvcAccessor(frame).tax("amount", progress=False, **own)

    tax, missing = cents_of(call({})["tax"])
    cents, units, _ = rows()
    assert (tax == rounded_tax(cents, units))[~missing].all()
    theirs, *ours = medians(
        lambda: timed(lambda: loop(pairs)),
        *(lambda terms=terms: timed(lambda: call(terms)) for terms in named.values()),
    )
    for (name, terms), took in zip(named.items(), ours, strict=True):
        columns = len(call(terms).columns) - len(frame.columns)
        yield Finding(
            f"df.svc.tax() with {name}: {columns} columns for {ROWS:,} rows",
            f"{took:.2f} s",
            "reported",
            f"beside {theirs:.2f} s of a loop over Decimal that gives `tax` alone",
        )


def sales() -> Iterator[tuple[str, pd.DataFrame]]:
    """Rows of text as a file of sales has them: with one amount, and with the parts of a total."""
    random = np.random.default_rng(3)
    goods = random.integers(100, 50_000, ROWS)
    discount = np.where(random.random(ROWS) < 0.2, goods // 10, 0)
    delivery = np.where(random.random(ROWS) < 0.7, 795, 0)
    tax = (goods - discount + delivery) * 8 // 100
    rows = pd.DataFrame({"Order ID": np.char.add("A", np.arange(ROWS).astype(str))}, dtype="str")

    def text(cents: np.ndarray) -> pd.Series:
        return pd.Series(decimals(cents, np.zeros(ROWS, bool), MONEY)).astype("str")

    yield "one amount", rows.assign(Amount=text(goods))
    parts = {"Subtotal": goods, "Discount": discount, "Shipping": delivery, "Tax": tax}
    parts["Total"] = goods - discount + delivery + tax
    yield "the parts of a total", rows.assign(**{name: text(of) for name, of in parts.items()})


def readings() -> Iterator[Finding]:
    """What it costs to find the amounts of a file by what its columns hold, and to check them."""
    rates = enriched().drop(columns=["delivery", "order"])
    for name, own in sales():
        frame = SvcAccessor(pd.concat([own, rates.drop(columns="amount")], axis=1))
        exact = SvcAccessor(pd.concat([own[["Order ID"]], rates], axis=1))
        csv = own.to_csv(index=False)
        read, named, found = medians(
            lambda csv=csv: timed(lambda: pd.read_csv(io.StringIO(csv), dtype="str")),
            lambda exact=exact: timed(lambda: exact.tax("amount", progress=False)),
            lambda frame=frame: timed(lambda: frame.tax(progress=False)),
        )
        yield Finding(
            f"df.svc.tax() that finds {name} in {len(own.columns)} columns of text, {ROWS:,} rows",
            f"{found / named:.2f} x",
            "reported",
            f"{found:.2f} s against {named:.2f} s with exact amounts by name; pd.read_csv of the"
            f" columns: {read:.2f} s",
        )


def findings() -> Iterator[Finding]:
    yield arithmetic()
    yield from whole_calls()
    yield from readings()
