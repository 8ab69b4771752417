"""Every option of a tax together, against the rules of docs/TAX.md written anew in fractions."""

from __future__ import annotations

import datetime as dt
import random
from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pytest
from support.tax_oracle import Sale, Terms, computed

import svc_tools  # noqa: F401 - registers df.svc

MONEY = pd.ArrowDtype(pa.decimal128(18, 2))
RATE = pd.ArrowDtype(pa.decimal128(7, 5))
STATES = ["FL", "TN", "TX", "CA", "NY", "OR", None]
DAYS = [dt.date(2024, 12, 31), dt.date(2025, 1, 1), dt.date(2025, 6, 1), dt.date(2026, 3, 1), None]
REGISTER = [
    ("FL", "physical", None),
    ("TX", "economic", dt.date(2025, 1, 1)),
    ("TX", "marketplace", dt.date(2024, 1, 1)),
    ("CA", "marketplace", None),
    ("NY", "physical", dt.date(2025, 6, 1)),
    ("NY", "physical", dt.date(2026, 3, 1)),
    ("TN", "economic", dt.date(2026, 1, 1)),
    ("TN", "marketplace", dt.date(2026, 3, 1)),
]
WRITTEN = {"amount": "amount", "shipping": "delivery", "exempt": "food"}
FIGURES = (
    "tax",
    "taxable_amount",
    "exempt_amount",
    "state_tax",
    "county_tax",
    "city_tax",
    "combined_district_tax",
    "tax_low",
    "tax_high",
    "at_stake",
    "shipping_tax",
    "tax_due",
)
FORMS = ("arrow", "object", "text", "float", "category", "arrow text", "wide")


def some_cents(draw, *, most=10_000_000):
    kind = draw.random()
    if kind < 0.06:
        return None
    if kind < 0.12:
        return 0
    if kind < 0.2:  # what the caps are, and equal products at other rates
        return draw.choice([500_000, -500_000, 160_000, 160_001, 20, 40, 80, -20])
    if kind < 0.4:  # small, so that ties and whole cents are frequent
        return draw.randint(-300, 300)
    return draw.randint(-most // 4, most)


def some_sale(draw):
    status = draw.choices(["ok", "partial", "unresolved", "failed", None], [80, 10, 4, 3, 3])[0]
    sale = Sale(status=status, state=draw.choice(STATES), day=draw.choice(DAYS))
    sale.amount = some_cents(draw)
    sale.shipping = some_cents(draw, most=5_000)
    within = sale.amount or 0
    sale.exempt = draw.choice(
        [0, within, within // 2, draw.randint(min(0, within), max(0, within)), within + 1, None]
    )
    sale.flag = draw.choices([True, False, None], [3, 6, 1])[0]
    sale.freight = draw.choice([True, False, None])
    sale.order = draw.choice(["A", "B", "C", "D", " ", None])
    sale.channel = draw.choice(["direct", "marketplace", "other", None])
    sale.origin = draw.choice(["FL", "TX", "CA", None])
    if status not in {"ok", "partial"}:
        return sale
    step = draw.choice([1, 25, 125, 500, 1_250, 1_250])
    parts = tuple(draw.randint(0, 7_000) // step * step for _ in range(4))
    if step == 1_250:  # few rates: ties within an invoice
        parts = (draw.choice([1_250, 2_500, 5_000, 10_000]), 0, 0, 0)
    if draw.random() < 0.1:
        parts = (0, 0, 0, 0)
    sale.rate = sum(parts)
    sale.parts = parts
    if draw.random() < 0.1:
        sale.parts = (parts[0] + 1, *parts[1:])  # they do not add up
    if draw.random() < 0.05:
        sale.rate = None
    elif draw.random() < 0.3:
        sale.low = draw.choice([sale.rate, draw.randint(0, sale.rate)])
        sale.high = draw.choice([sale.rate, draw.randint(sale.rate, 30_000)])
    return sale


def some_terms(draw):
    return Terms(
        rounding=draw.choice(["half_up", "half_even", "up", "down"]),
        shipping=draw.random() < 0.6,
        exempt=draw.choice([None, "all", "flags", "dollars", "dollars", "150", "0"]),
        invoice=draw.random() < 0.5,
        partial=draw.random() < 0.5,
        register=REGISTER if draw.random() < 0.5 else None,
        channel=draw.choice([None, "column", "direct", "marketplace"]),
        ship_from=draw.choice([None, "column", "TX", "CA"]),
    )


def money(values, form):
    exact = [None if value is None else Decimal(value).scaleb(-2) for value in values]
    if form == "arrow":
        return pd.Series(exact, dtype=MONEY)
    if form == "wide":
        return pd.Series(exact, dtype=pd.ArrowDtype(pa.decimal128(38, 6)))
    if form == "object":
        return pd.Series(exact, dtype=object)
    if form == "float":
        return pd.Series([None if one is None else float(one) for one in exact], dtype=float)
    texts = [None if one is None else f"${one:,}".replace("$-", "-$") for one in exact]
    if form == "arrow text":
        return pd.Series(texts, dtype=pd.ArrowDtype(pa.string()))
    return pd.Series(texts, dtype="category" if form == "category" else "str")


def rates(values):
    exact = [None if value is None else Decimal(value).scaleb(-5) for value in values]
    return pd.Series(exact, dtype=RATE)


def framed(sales, draw):
    ours = {
        "combined_rate": rates([one.rate for one in sales]),
        "rate_low": rates([one.low for one in sales]),
        "rate_high": rates([one.high for one in sales]),
        "freight_taxable": pd.Series([one.freight for one in sales], dtype="boolean"),
        "resolved_state": pd.Series([one.state for one in sales], dtype="str"),
        "lookup_status": pd.Series([one.status for one in sales], dtype="str"),
        "lookup_as_of": pd.Series([one.day for one in sales], dtype=pd.ArrowDtype(pa.date32())),
        "resale": pd.Series([one.flag for one in sales], dtype="boolean"),
        "order": pd.Series([one.order for one in sales], dtype=object),
        "channel": pd.Series([one.channel for one in sales], dtype="str"),
        "origin": pd.Series([one.origin for one in sales], dtype="str"),
    }
    for place, name in enumerate(
        ("state_rate", "county_rate", "city_rate", "combined_district_rate")
    ):
        ours[name] = rates([None if one.parts is None else one.parts[place] for one in sales])
    for field, name in WRITTEN.items():
        ours[name] = money([getattr(one, field) for one in sales], draw.choice(FORMS))
    return pd.DataFrame(ours)


def options(terms):
    exempt = {"all": True, "flags": "resale", "dollars": "food", None: None}
    register = terms.register and [
        {"state": state, "nexus_type": kind, "registered_at": since}
        for state, kind, since in terms.register
    ]
    one = terms.exempt not in exempt
    return {
        "rounding": terms.rounding,
        "shipping": "delivery" if terms.shipping else None,
        "exempt": str(Decimal(terms.exempt).scaleb(-2)) if one else exempt[terms.exempt],
        "invoice": "order" if terms.invoice else None,
        "partial": "use" if terms.partial else None,
        "nexus": register,
        "channel": "channel" if terms.channel == "column" else terms.channel,
        "ship_from": "origin" if terms.ship_from == "column" else terms.ship_from,
    }


def cells(frame, name):
    column = frame[name]
    return [None if gone else value for value, gone in zip(column, column.isna(), strict=True)]


def compare(sales, terms, draw):
    frame = framed(sales, draw).svc.tax(progress=False, **options(terms))
    expected = computed(sales, terms)
    for name in FIGURES:
        if name not in frame.columns:
            continue
        found = [None if one is None else int(one.scaleb(2)) for one in cells(frame, name)]
        wrong = [
            (sales[row], terms, name, one, of.figures[name])
            for row, (one, of) in enumerate(zip(found, expected, strict=True))
            if one != of.figures[name]
        ]
        assert not wrong, wrong[0]
    words = {
        "tax_error": [one.error for one in expected],
        "tax_review": ["; ".join(one.review) or None for one in expected],
        "tax_due_reason": [one.reason for one in expected],
    }
    for name, of in words.items():
        if name in frame.columns:
            found = cells(frame, name)
            if name == "tax_error":
                found = [None if one is None else one.split(" (")[0].split(":")[0] for one in found]
            wrong = [
                (sales[row], terms, name, found[row], of[row])
                for row in range(len(sales))
                if found[row] != of[row]
            ]
            assert not wrong, wrong[0]
    assert ("tax_due" in frame) == (terms.register is not None or terms.channel is not None)


@pytest.mark.parametrize("seed", range(60))
def test_every_option_together_gives_what_the_rules_say(seed):
    draw = random.Random(seed)  # noqa: S311 - no secrets are drawn
    terms = some_terms(draw)
    compare([some_sale(draw) for _ in range(120)], terms, draw)
