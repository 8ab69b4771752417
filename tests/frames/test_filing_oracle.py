"""A return against the rules of docs/RECONCILE.md written anew, line by line in fractions."""

from __future__ import annotations

import random
from collections import defaultdict
from decimal import Decimal

import pytest
from support.tax_oracle import exact_tax, rounded, shared
from support.taxed import half, line, lost, parts, taxed

COLUMNS = ("county_tax", "city_tax", "combined_district_tax")
PLACES = [
    ("state 27 Minnesota 6875", "county 053 Hennepin 150", "city 43000 Minneapolis 500"),
    (
        "state 27 Minnesota 6875",
        "county 053 Hennepin 150",
        "city 43000 Minneapolis 500",
        "district 80004 Hennepin Transit 500",
        "district 80008 Metro Transportation 750",
        "district 80009 Metro Housing 250",
    ),
    ("state 27 Minnesota 6875",),
    ("state 27 Minnesota 6875", "city - Somewhere 875", "district x-1 Some 125"),
    ("state 27 Minnesota 6875", "county 053 Hennepin 250"),
]


def cents(value):
    return int(value.scaleb(2))


def expected(frame):
    """Rows, taxable, exempt and tax by level, code or name, and rate."""
    table = defaultdict(lambda: [0, 0, 0, 0])
    for row in frame.to_dict("records"):
        place = PLACES[row["place"]]
        if row["lookup_status"] != "ok":
            continue
        found = parts(*place)
        taxable = cents(row["taxable_amount"])
        by_level = {"state": cents(row["state_tax"])}
        for level, name in zip(("county", "city", "district"), COLUMNS, strict=True):
            by_level[level] = cents(row[name])
        for level, total in by_level.items():
            here = [part for part in found if part.level == level]
            exact = [exact_tax(taxable, part.units) for part in here]
            shares = shared(total, exact, [(n,) for n in range(len(here))]) if here else []
            for part, share in zip(here, shares, strict=True):
                sums = table[level, part.code or part.name, part.units]
                for n, figure in enumerate((1, taxable, cents(row["exempt_amount"]), share)):
                    sums[n] += figure
    return dict(table)


@pytest.mark.parametrize("seed", range(12))
def test_every_row_of_a_return_is_what_the_rules_say(seed):
    draw = random.Random(seed)  # noqa: S311 - no secrets are drawn
    rows = 150
    places = [draw.randrange(len(PLACES)) for _ in range(rows)]
    lines = [
        draw.choices([line("MN", parts(*PLACES[place])), half("MN"), lost(state="MN")], [90, 5, 5])[
            0
        ]
        for place in places
    ]
    amounts = [
        Decimal(draw.choice([5, 300, 90_000]) - draw.randint(0, 60_000)) / 100 for _ in lines
    ]
    terms = {
        "rounding": draw.choice(["half_up", "half_even", "up", "down"]),
        "invoice": draw.choice([None, "order"]),
        "exempt": "exempt",
        "shipping": draw.choice([None, "1.99"]),
    }
    frame = taxed(
        lines,
        amounts,
        terms=terms,
        place=places,
        order=[draw.randrange(40) for _ in lines],
        exempt=[draw.choice([Decimal(0), amount, round(amount / 3, 2)]) for amount in amounts],
    )
    made = frame.svc.filing("MN")
    made.check()
    found = {
        (level, code if isinstance(code, str) else name, cents(rate * 1000)): [
            count,
            cents(taxable),
            cents(exempt),
            cents(tax),
        ]
        for level, code, name, rate, count, taxable, exempt, tax in made.table[
            ["level", "code", "name", "rate", "rows", "taxable", "exempt", "tax"]
        ].itertuples(index=False)
    }
    assert found == expected(frame)
    for row in made.table.itertuples():
        once = rounded(exact_tax(cents(row.taxable), cents(row.rate * 1000)), "half_up")
        assert cents(row.tax_of_total) == once
