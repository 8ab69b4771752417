"""The tax once more, row by row in fractions, written from docs/TAX.md alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import datetime as dt

CENT = Fraction(1)
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
        if terms.shipping and sale.freight is False:
            line.following = 0
        line.freight_unknown = bool(
            terms.shipping and sale.freight is None and line.following and line.rate > 0
        )
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
        figures["tax_due"] = tax if out.reason is None else None
    return out


def _range(sale: Sale, line: _Line, tax: int | None, terms: Terms) -> tuple[int | None, int | None]:
    if line.unreadable:
        return None, None
    least = sale.rate if sale.low is None else sale.low
    most = sale.rate if sale.high is None else sale.high
    if tax is not None and least == most == sale.rate:
        low: int | None = tax
        high: int | None = tax
    else:
        without = line.taxable_goods if line.freight_unknown else line.taxable
        low = None if least is None else rounded(exact_tax(without, least), terms.rounding)
        high = None if most is None else rounded(exact_tax(line.taxable, most), terms.rounding)
        if tax is not None and low is not None and high is not None:
            size = min if line.taxable >= 0 else max
            other = max if line.taxable >= 0 else min
            low, high = size(low, tax), other(high, tax)
    return low, None if sale.status == "partial" else high


def _marks(
    sale: Sale, line: _Line, tax: int | None, terms: Terms, *, incomplete: bool
) -> list[str]:
    marks = []
    if tax is not None and sale.status == "partial":
        marks.append("partial_rate")
    if line.freight_unknown:
        marks.append("freight_taxable_unknown")
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
