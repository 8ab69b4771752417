"""Invented orders, of which the samples of exports are made; nobody is named in them."""

# ruff: noqa: PLR2004 - which of the orders is unusual is a number

from __future__ import annotations

import csv
import io
import random
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROWS = 200
"""The rows of a sample, where nothing else is said."""
_CHICAGO = timezone(timedelta(hours=-5))
_FIRST = datetime(2026, 8, 1, 9, 12, 31, tzinfo=_CHICAGO)

_PLACES = [
    ("Boston", "MA", "Massachusetts", "02134", 625),
    ("Austin", "TX", "Texas", "78701", 825),
    ("Seattle", "WA", "Washington", "98101", 1035),
    ("Newark", "NJ", "New Jersey", "07102", 663),
    ("Los Angeles", "CA", "California", "90012", 950),
    ("Chicago", "IL", "Illinois", "60601", 1025),
    ("Denver", "CO", "Colorado", "80202", 881),
    ("Atlanta", "GA", "Georgia", "30303", 890),
    ("Minneapolis", "MN", "Minnesota", "55401", 903),
    ("New York", "NY", "New York", "10001", 888),
    ("Miami", "FL", "Florida", "33130", 700),
    ("Portland", "OR", "Oregon", "97205", 0),
    ("Philadelphia", "PA", "Pennsylvania", "19103", 800),
    ("Raleigh", "NC", "North Carolina", "27601", 725),
    ("Columbus", "OH", "Ohio", "43215", 800),
    ("Burlington", "VT", "Vermont", "05401", 700),
    ("Providence", "RI", "Rhode Island", "02903", 700),
    ("Hartford", "CT", "Connecticut", "06103", 635),
    ("Madison", "WI", "Wisconsin", "53703", 550),
    ("Concord", "NH", "New Hampshire", "03301", 0),
]
_STREETS = ["Main St", "Oak Ave", "2nd St", "Washington St", "Elm St", "Park Ave", "Cedar Ln"]
_ITEMS = [
    ("Tea, black", "TEA-01", 1250),
    ("Tea, green", "TEA-02", 1400),
    ('Mug 12"', "MUG-12", 1899),
    ("Notebook | lined", "NOTE-1", 650),
    ("Lamp", "LAMP-3", 8900),
    ("Desk", "DESK-9", 104900),
]


@dataclass(frozen=True)
class Order:
    """An invented order; amounts are cents."""

    number: int
    placed: datetime
    city: str
    state: str
    state_name: str
    zip: str
    country: str
    street: str
    items: list[tuple[str, str, int, int]]
    discount: int
    shipping: int
    tax: int
    refunded: int
    cancelled: bool

    @property
    def goods(self) -> int:
        """The items, before the discount."""
        return sum(price * pieces for _, _, price, pieces in self.items)

    @property
    def total(self) -> int:
        """What was paid."""
        return self.goods - self.discount + self.shipping + self.tax

    @property
    def customer(self) -> int:
        """Who ordered."""
        return self.number * 7 % 61


def orders(seed: int) -> Iterator[Order]:
    """Orders without end; some have no ZIP, go abroad or to a PO box, are cancelled or refunded."""
    chance = random.Random(seed)  # noqa: S311 - invented orders
    placed = _FIRST
    number = 1000
    while True:
        number += 1
        placed += timedelta(minutes=chance.randrange(40, 700))
        city, state, state_name, zip_code, rate = chance.choice(_PLACES)
        country, street = "US", f"{chance.randrange(1, 990)} {chance.choice(_STREETS)}"
        if number % 25 == 4:
            zip_code = ""
        if number % 25 == 9:
            street = f"PO Box {chance.randrange(10, 9000)}"
        if number % 25 == 14:
            city, state, state_name, zip_code, rate = "Toronto", "ON", "Ontario", "M5V 2T6", 0
            country = "CA"
        items = [
            (*item, chance.randrange(1, 4))
            for item in chance.sample(_ITEMS, chance.choice([1, 1, 1, 2, 3]))
        ]
        goods = sum(price * pieces for _, _, price, pieces in items)
        discount = goods // 10 if number % 6 == 0 else 0
        shipping = 0 if goods > 20_000 else 795
        tax = ((goods - discount) * rate + 5_000) // 10_000
        cancelled = number % 25 == 19
        refunded = items[0][2] if number % 25 == 22 else 0
        yield Order(
            *(number, placed, city, state, state_name, zip_code, country, street, items, discount),
            *(shipping, tax, refunded, cancelled),
        )


def dollars(cents: int) -> str:
    """Cents as they are mostly written: 1234.50."""
    return f"{'-' if cents < 0 else ''}{abs(cents) // 100}.{abs(cents) % 100:02}"


def grouped(cents: int) -> str:
    """Cents with commas between thousands: 1,234.50."""
    return f"{'-' if cents < 0 else ''}{abs(cents) // 100:,}.{abs(cents) % 100:02}"


COUNTRIES = {"US": "United States", "CA": "Canada"}
"""The names of the countries."""
Row = dict[str, object]
"""A row of a sample: its cells by the names of the columns."""


def text(
    header: str, rows: Iterator[Row], *, size: int = ROWS, quoting: int = csv.QUOTE_MINIMAL
) -> str:
    """The rows as a CSV with these columns."""
    names = header.split(",")
    file = io.StringIO()
    writer = csv.DictWriter(file, names, restval="", lineterminator="\n", quoting=quoting)
    writer.writeheader()
    writer.writerows(islice(rows, size))
    return file.getvalue()
