"""Every option of a tax together, and a return of its lines, against the rules written anew.

The rules are those of docs/TAX.md and docs/RECONCILE.md, row by row in fractions.
"""

from __future__ import annotations

import datetime as dt
import random
from collections import defaultdict
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction

import pandas as pd
import pyarrow as pa
import pytest
from support.frames import MONEY, RATE, found, half, line, lost, parts, taxed

import svc_tools  # noqa: F401 - registers df.svc
from svc_tools.tables.text_dtype import text_dtype


def cents(value):
    return int(value.scaleb(2))


LEVELS = ("state_tax", "county_tax", "city_tax", "combined_district_tax")
BY_ORIGIN = {"AZ", "CA", "IL", "MO", "MS", "OH", "PA", "TN", "TX", "UT", "VA"}
CAPS = {"FL": 500_000, "TN": 160_000}
NO_TAX = ("tax", "taxable_amount", "exempt_amount", "shipping_tax", *LEVELS)


@dataclass
class Sale:
    """One row; money in cents and rates in units of 10^-5, `None` where they are missing."""

    status: str | None = "ok"
    rate: int | None = 0
    parts: tuple[int, int, int, int] | None = None
    low: int | None = None
    high: int | None = None
    freight: bool | None = None
    doubt: str | None = None
    state: str | None = None
    day: dt.date | None = None
    amount: int | None = 0
    shipping: int | None = 0
    exempt: int | None = 0
    flag: bool | None = False
    order: str | None = None
    channel: str | None = None
    origin: str | None = None


@dataclass
class Terms:
    """The options in their plainest form; `exempt` is a form, not a value."""

    rounding: str = "half_up"
    shipping: bool = False
    delivery: str | None = None
    exempt: str | None = None  # "all", "flags", "dollars", or cents of one amount
    invoice: bool = False
    partial: bool = False
    register: list[tuple[str, str, dt.date | None]] | None = None
    channel: str | None = None  # "column", "direct", "marketplace"
    ship_from: str | None = None  # "column" or a state


@dataclass
class Computed:
    """What the columns of a row must hold: cents, and words."""

    figures: dict[str, int | None] = field(default_factory=dict)
    error: str | None = None
    """The first word of `tax_error`."""
    review: tuple[str, ...] = ()
    reason: str | None = None


def rounded(exact: Fraction, how: str) -> int:
    """Cents of an exact figure in cents; a refund mirrors its sale."""
    size = abs(exact)
    whole = size.numerator // size.denominator
    rest = size - whole
    half = Fraction(1, 2)
    up = {
        "half_up": rest >= half,
        "half_even": rest > half or (rest == half and whole % 2 == 1),
        "up": rest > 0,
        "down": False,
    }[how]
    size_in_cents = whole + up
    return -size_in_cents if exact < 0 else size_in_cents


def shared(total: int, exact: list[Fraction], keys: list[tuple[object, ...]]) -> list[int]:
    """Cents shared out: what is left after the fractions are dropped goes to the largest ones."""
    sign = -1 if sum(exact) < 0 else 1
    mirrored = [one * sign for one in exact]
    floors = [one.numerator // one.denominator for one in mirrored]
    rests = [one - floor for one, floor in zip(mirrored, floors, strict=True)]
    left = total * sign - sum(floors)
    ranked = sorted(range(len(exact)), key=lambda n: (-rests[n], *keys[n]))
    assert 0 <= left <= sum(rest > 0 for rest in rests), (total, exact)
    for lucky in ranked[:left]:
        floors[lucky] += 1
    return [floor * sign for floor in floors]


def exact_tax(cents: int, rate: int) -> Fraction:
    return Fraction(cents * rate, 100_000)


@dataclass
class _Line:
    """What is known of a row before anything is rounded."""

    goods: int = 0
    delivery: int = 0
    taxable_goods: int = 0
    following: int = 0
    freight_unknown: bool = False
    if_taxed: int = 0
    doubt: str | None = None
    unreadable: str | None = None
    error: str | None = None
    rate: int = 0

    @property
    def taxable(self) -> int:
        return self.taxable_goods + self.following


def _line(sale: Sale, terms: Terms) -> _Line:
    line = _Line(rate=sale.rate or 0)
    exempt = _exempt(sale, terms, line)
    if terms.shipping and sale.shipping is None:
        line.unreadable = line.unreadable or "shipping"
    if line.unreadable is None:
        assert sale.amount is not None
        line.goods = sale.amount
        line.delivery = (sale.shipping or 0) if terms.shipping else 0
        line.taxable_goods = sale.amount - exempt
        wholly = terms.exempt == "all" or (terms.exempt == "flags" and sale.flag)
        line.following = _following(sale.amount, exempt, line.delivery, wholly=bool(wholly))
        taxed, doubt, line.if_taxed = sale.freight, sale.doubt, line.following
        if terms.delivery and doubt == "delivery_optional_unknown":
            taxed, doubt = terms.delivery == "only", None
        if terms.shipping and taxed is False:
            line.following = 0
        matters = bool(terms.shipping and line.if_taxed and line.rate > 0)
        line.freight_unknown = matters and taxed is None
        line.doubt = doubt if matters and taxed is not None else None
    if sale.status is None or sale.status not in {"ok", "partial"}:
        line.error = "no rate"
    elif sale.status == "partial" and not terms.partial:
        line.error = "the rate lacks its local or district part"
    elif sale.rate is None:
        line.error = "the row has no rate"
    else:
        line.error = line.unreadable or ("shipping" if line.freight_unknown else None)
    return line


def _exempt(sale: Sale, terms: Terms, line: _Line) -> int:
    if sale.amount is None:
        line.unreadable = "amount"
        return 0
    amount = sale.amount
    if terms.exempt is None:
        return 0
    if terms.exempt == "all":
        return amount
    if terms.exempt == "flags":
        if sale.flag is None:
            line.unreadable = "exempt"
        return amount if sale.flag else 0
    if terms.exempt == "dollars":
        exempt = sale.exempt
    else:
        side = (amount > 0) - (amount < 0)
        exempt = int(terms.exempt) * side
    if exempt is None or not min(0, amount) <= exempt <= max(0, amount):
        line.unreadable = "exempt"
        return 0
    return exempt


def _following(amount: int, exempt: int, delivery: int, *, wholly: bool) -> int:
    if wholly or (exempt and exempt == amount):
        return 0
    if not exempt:
        return delivery
    return rounded(Fraction(delivery * (amount - exempt), amount), "half_up")


def computed(sales: list[Sale], terms: Terms) -> list[Computed]:
    """What the tax of these rows must be."""
    lines = [_line(sale, terms) for sale in sales]
    taxes: list[int | None] = [
        None if line.error else rounded(exact_tax(line.taxable, line.rate), terms.rounding)
        for line in lines
    ]
    incomplete: set[int] = set()
    if terms.invoice:
        orders: dict[str, list[int]] = {}
        for row, sale in enumerate(sales):
            if sale.order is not None and sale.order.strip():
                orders.setdefault(sale.order, []).append(row)
        for rows in orders.values():
            taxed = [row for row in rows if lines[row].error is None]
            exact = [exact_tax(lines[row].taxable, lines[row].rate) for row in taxed]
            sign = -1 if sum(exact) < 0 else 1
            keys = [
                (-one * sign, -lines[row].rate, row) for one, row in zip(exact, taxed, strict=True)
            ]
            total = rounded(sum(exact, Fraction(0)), terms.rounding)
            for row, cents in zip(taxed, shared(total, exact, keys), strict=True):
                taxes[row] = cents
            if len(taxed) < len(rows):
                incomplete.update(taxed)
    return [
        _row(sale, line, tax, terms, incomplete=row in incomplete)
        for row, (sale, line, tax) in enumerate(zip(sales, lines, taxes, strict=True))
    ]


def _row(sale: Sale, line: _Line, tax: int | None, terms: Terms, *, incomplete: bool) -> Computed:
    out = Computed(error=line.error)
    figures = out.figures
    for name in NO_TAX:
        figures[name] = None
    if tax is not None:
        figures["tax"] = tax
        figures["taxable_amount"] = line.taxable
        figures["exempt_amount"] = line.goods + line.delivery - line.taxable
        if sale.parts is not None and sum(sale.parts) == line.rate:
            exact = [exact_tax(line.taxable, part) for part in sale.parts]
            levels = shared(tax, exact, [(place,) for place in range(4)])
            figures.update(zip(LEVELS, levels, strict=True))
        both = [exact_tax(one, line.rate) for one in (line.taxable_goods, line.following)]
        figures["shipping_tax"] = shared(tax, both, [(0,), (1,)])[1]
    low, high = _range(sale, line, tax, terms)
    figures["tax_low"], figures["tax_high"] = low, high
    figures["at_stake"] = None if low is None or high is None else abs(high - low)
    marks = _marks(sale, line, tax, terms, incomplete=incomplete)
    out.review = tuple(marks)
    if terms.register is not None or terms.channel is not None:
        out.reason = _why_not_due(sale, tax, terms)
        if out.reason in {"marketplace_facilitated", "no_nexus", "not_registered_yet"}:
            out.review = ()
        figures["tax_due"] = tax if out.reason is None else None
    return out


def _range(sale: Sale, line: _Line, tax: int | None, terms: Terms) -> tuple[int | None, int | None]:
    if line.unreadable:
        return None, None
    least = sale.rate if sale.low is None else sale.low
    most = sale.rate if sale.high is None else sale.high
    if tax is not None and least == most == sale.rate and line.doubt is None:
        low: int | None = tax
        high: int | None = tax
    else:
        open_ = line.freight_unknown or line.doubt is not None
        without = line.taxable_goods if open_ else line.taxable
        with_it = line.taxable_goods + line.if_taxed if open_ else line.taxable
        low = None if least is None else rounded(exact_tax(without, least), terms.rounding)
        high = None if most is None else rounded(exact_tax(with_it, most), terms.rounding)
        if tax is not None and low is not None and high is not None:
            upward = high > low or (high == low and line.taxable >= 0)
            ends = (min(low, tax), max(high, tax)) if upward else (max(low, tax), min(high, tax))
            low, high = ends
    return low, None if sale.status == "partial" else high


def _marks(
    sale: Sale, line: _Line, tax: int | None, terms: Terms, *, incomplete: bool
) -> list[str]:
    marks = []
    if tax is not None and sale.status == "partial":
        marks.append("partial_rate")
    if line.freight_unknown:
        marks.append("freight_taxable_unknown")
    if line.doubt:
        marks.append(line.doubt)
    cap = CAPS.get(sale.state or "")
    local = line.rate > (0 if sale.parts is None else sale.parts[0])
    if cap and abs(line.goods) > cap and line.taxable_goods and local:
        marks.append("over_cap")
    marks += _of_origin(sale, terms)
    if incomplete:
        marks.append("invoice_incomplete")
    channel = _channel(sale, terms)
    if channel == "unknown":
        marks.append("channel_unknown")
    if terms.register is not None and channel in {None, "direct"}:
        begun = {
            kind
            for kind, since in _records(sale, terms)
            if since is None or (sale.day is not None and since <= sale.day)
        }
        if begun == {"marketplace"}:
            marks.append("marketplace_record_only")
    return marks


def _of_origin(sale: Sale, terms: Terms) -> list[str]:
    if terms.ship_from is None or sale.state not in BY_ORIGIN:
        return []
    origin = sale.origin if terms.ship_from == "column" else terms.ship_from
    if origin is None:
        return ["origin_unknown"]
    return ["origin_sourced"] if origin == sale.state else []


def _records(sale: Sale, terms: Terms) -> list[tuple[str, dt.date | None]]:
    return [(kind, since) for state, kind, since in terms.register or () if state == sale.state]


def _channel(sale: Sale, terms: Terms) -> str | None:
    if terms.channel == "column":
        return sale.channel if sale.channel in {"direct", "marketplace"} else "unknown"
    return terms.channel


def _why_not_due(sale: Sale, tax: int | None, terms: Terms) -> str | None:
    channel = _channel(sale, terms)
    if channel == "marketplace":
        return "marketplace_facilitated"
    by_register = None if terms.register is None else _by_register(sale, terms)
    if by_register is None and channel == "unknown":
        return "channel_unknown"
    return by_register or ("no_tax" if tax is None else None)


def _by_register(sale: Sale, terms: Terms) -> str | None:
    days = [since for _, since in _records(sale, terms)]
    if sale.state is None:
        return "state_unknown"
    if not days:
        return "no_nexus"
    if None in days:
        return None
    if sale.day is None:
        return "date_unknown"
    first = min(day for day in days if day is not None)
    return "not_registered_yet" if sale.day < first else None


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
    *("tax", "taxable_amount", "exempt_amount", "state_tax", "county_tax", "city_tax"),
    *("combined_district_tax", "tax_low", "tax_high", "at_stake", "shipping_tax", "tax_due"),
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
    doubts = [None, "delivery_optional_unknown", "delivery_unsettled"]
    sale.doubt = draw.choices(doubts, [6, 2, 1])[0]
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
        delivery=draw.choice([None, "optional", "only"]),
        exempt=draw.choice([None, "all", "flags", "dollars", "dollars", "150", "0"]),
        invoice=draw.random() < 0.5,
        partial=draw.random() < 0.5,
        register=REGISTER if draw.random() < 0.5 else None,
        channel=draw.choice([None, "column", "direct", "marketplace"]),
        ship_from=draw.choice([None, "column", "TX", "CA"]),
    )


def written(values, form):
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
    return pd.Series(texts, dtype="category" if form == "category" else text_dtype())


def rates(values):
    exact = [None if value is None else Decimal(value).scaleb(-5) for value in values]
    return pd.Series(exact, dtype=RATE)


def framed(sales, draw):
    ours = {
        "combined_rate": rates([one.rate for one in sales]),
        "rate_low": rates([one.low for one in sales]),
        "rate_high": rates([one.high for one in sales]),
        "freight_taxable": pd.Series([one.freight for one in sales], dtype="boolean"),
        "warnings": pd.Series([one.doubt for one in sales], dtype=text_dtype()),
        "resolved_state": pd.Series([one.state for one in sales], dtype=text_dtype()),
        "lookup_status": pd.Series([one.status for one in sales], dtype=text_dtype()),
        "lookup_as_of": pd.Series([one.day for one in sales], dtype=pd.ArrowDtype(pa.date32())),
        "resale": pd.Series([one.flag for one in sales], dtype="boolean"),
        "order": pd.Series([one.order for one in sales], dtype=object),
        "channel": pd.Series([one.channel for one in sales], dtype=text_dtype()),
        "origin": pd.Series([one.origin for one in sales], dtype=text_dtype()),
    }
    for place, name in enumerate(
        ("state_rate", "county_rate", "city_rate", "combined_district_rate")
    ):
        ours[name] = rates([None if one.parts is None else one.parts[place] for one in sales])
    for side, name in WRITTEN.items():
        ours[name] = written([getattr(one, side) for one in sales], draw.choice(FORMS))
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
        "shipping": "delivery" if terms.shipping else False,
        "delivery": terms.delivery,
        "exempt": str(Decimal(terms.exempt).scaleb(-2)) if one else exempt[terms.exempt],
        "invoice": "order" if terms.invoice else None,
        "partial": "use" if terms.partial else None,
        "nexus": register,
        "channel": "channel" if terms.channel == "column" else terms.channel,
        "ship_from": "origin" if terms.ship_from == "column" else terms.ship_from,
    }


def compare(sales, terms, draw):
    frame = framed(sales, draw).svc.tax(progress=False, **options(terms))
    expected = computed(sales, terms)
    for name in FIGURES:
        if name not in frame.columns:
            continue
        cents_found = [None if one is None else cents(one) for one in found(frame, name)]
        wrong = [
            (sales[row], terms, name, one, of.figures[name])
            for row, (one, of) in enumerate(zip(cents_found, expected, strict=True))
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
            words_found = found(frame, name)
            if name == "tax_error":
                words_found = [
                    None if one is None else one.split(" (")[0].split(":")[0] for one in words_found
                ]
            wrong = [
                (sales[row], terms, name, words_found[row], of[row])
                for row in range(len(sales))
                if words_found[row] != of[row]
            ]
            assert not wrong, wrong[0]
    assert ("tax_due" in frame) == (terms.register is not None or terms.channel is not None)


@pytest.mark.parametrize("seed", range(60))
def test_every_option_together_gives_what_the_rules_say(seed):
    draw = random.Random(seed)  # noqa: S311 - no secrets are drawn
    terms = some_terms(draw)
    compare([some_sale(draw) for _ in range(120)], terms, draw)


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
