"""Makes the demo's order lines, the same ones for the same seed.

    python benchmarks/make_orders.py svc_tools/demo/orders.csv

The ZIP Codes are real (the `zipcodes` package, standard ones, every state and DC, by population).
The +4 digits, shops, streets and orders are made up. The columns are as messy as an export of a
shop system: states in words and in lower case, ZIP Codes that a spreadsheet has taken for numbers,
cities by nickname, returns, and a few rows that no US sales-tax rate can exist for.
"""

from __future__ import annotations

import argparse
import csv
import io
import math
import random
from collections import Counter
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path

import zipcodes

SEED = 20261121
ORDERS = 860
SHIP_TOS = 560
FIRST_DAY = date(2022, 1, 3)
LAST_DAY = date(2026, 11, 20)

COLUMNS = (
    "order_id",
    "order_date",
    "sku",
    "description",
    "ship_to_address",
    "ship_to_city",
    "state",
    "zip",
    "quantity",
    "unit_price",
    "amount",
)

# state: (name, residents in hundreds of thousands, rounded, at least 6 so that each one shows up)
STATES = {
    "AL": ("Alabama", 51),
    "AK": ("Alaska", 7),
    "AZ": ("Arizona", 74),
    "AR": ("Arkansas", 31),
    "CA": ("California", 390),
    "CO": ("Colorado", 59),
    "CT": ("Connecticut", 36),
    "DE": ("Delaware", 10),
    "DC": ("District of Columbia", 7),
    "FL": ("Florida", 226),
    "GA": ("Georgia", 110),
    "HI": ("Hawaii", 14),
    "ID": ("Idaho", 20),
    "IL": ("Illinois", 125),
    "IN": ("Indiana", 69),
    "IA": ("Iowa", 32),
    "KS": ("Kansas", 29),
    "KY": ("Kentucky", 45),
    "LA": ("Louisiana", 46),
    "ME": ("Maine", 14),
    "MD": ("Maryland", 62),
    "MA": ("Massachusetts", 70),
    "MI": ("Michigan", 100),
    "MN": ("Minnesota", 57),
    "MS": ("Mississippi", 29),
    "MO": ("Missouri", 62),
    "MT": ("Montana", 11),
    "NE": ("Nebraska", 20),
    "NV": ("Nevada", 32),
    "NH": ("New Hampshire", 14),
    "NJ": ("New Jersey", 93),
    "NM": ("New Mexico", 21),
    "NY": ("New York", 196),
    "NC": ("North Carolina", 108),
    "ND": ("North Dakota", 8),
    "OH": ("Ohio", 118),
    "OK": ("Oklahoma", 41),
    "OR": ("Oregon", 42),
    "PA": ("Pennsylvania", 130),
    "RI": ("Rhode Island", 11),
    "SC": ("South Carolina", 54),
    "SD": ("South Dakota", 9),
    "TN": ("Tennessee", 71),
    "TX": ("Texas", 305),
    "UT": ("Utah", 34),
    "VT": ("Vermont", 6),
    "VA": ("Virginia", 87),
    "WA": ("Washington", 78),
    "WV": ("West Virginia", 18),
    "WI": ("Wisconsin", 59),
    "WY": ("Wyoming", 6),
}

# general merchandise, taxable wherever there is a sales tax: nothing to eat, to wear or to cure
GOODS = (
    ("DSK-110", "LED desk lamp", "34.95"),
    ("DSK-204", "Desk organizer, bamboo", "21.50"),
    ("DSK-310", "Monitor stand", "48.00"),
    ("CHR-015", "Office chair, mesh", "189.99"),
    ("CHR-022", "Chair mat, 36 x 48 in", "64.25"),
    ("CBL-006", "USB-C cable, 6 ft", "12.49"),
    ("CBL-012", "HDMI cable, 12 ft", "18.99"),
    ("PWR-065", "Wall charger, 65 W", "39.00"),
    ("PWR-200", "Power strip, 8 outlets", "27.75"),
    ("KEY-101", "Keyboard, wireless", "59.95"),
    ("MSE-044", "Mouse, wireless", "24.95"),
    ("HDS-300", "Headset with microphone", "79.50"),
    ("CAM-720", "Web camera, 1080p", "68.49"),
    ("KTL-017", "Electric kettle, 1.7 L", "44.90"),
    ("MUG-012", "Travel mug, 12 oz", "16.25"),
    ("PAN-028", "Frying pan, 11 in", "37.80"),
    ("KNF-008", "Kitchen knife, 8 in", "52.15"),
    ("BIN-045", "Storage bin, 45 qt", "19.35"),
    ("SHF-005", "Shelving unit, 5 tiers", "112.40"),
    ("TLK-039", "Tool kit, 39 pieces", "45.65"),
    ("DRL-020", "Cordless drill, 20 V", "99.00"),
    ("TPE-003", "Packing tape, 3 rolls", "9.99"),
    ("PEN-050", "Ballpoint pens, box of 50", "13.60"),
    ("PPR-500", "Copy paper, 500 sheets", "8.45"),
    ("WTB-002", "Whiteboard, 24 x 36 in", "41.05"),
)

STREETS = (
    "Main St",
    "Oak Ave",
    "Maple Ave",
    "Park Ave",
    "Elm St",
    "Washington St",
    "2nd St",
    "Lake Rd",
    "Hill St",
    "Walnut St",
    "Spring St",
    "N Church St",
    "Ridge Rd",
    "Cedar Ln",
    "Highland Ave",
    "W 5th St",
    "Mill Rd",
    "River Rd",
    "Sunset Dr",
    "Railroad Ave",
    "Commerce Blvd",
    "Industrial Pkwy",
)
UNITS = ("Apt 2", "Apt 4B", "Unit 12", "Ste 200", "# 7", "Fl 3")
NICKNAMES = {
    "New York": "NYC",
    "Los Angeles": "LA",
    "Philadelphia": "Phila",
    "San Francisco": "San Fran",
    "Las Vegas": "LV",
    "Washington": "Washington DC",
}
SHORT_WORDS = {"Saint": "St", "Fort": "Ft", "Mount": "Mt", "North": "N", "Heights": "Hts"}


@dataclass(frozen=True)
class ShipTo:
    """Where an order goes, as the shop knows it: clean."""

    address: str
    city: str
    state: str
    zip5: str
    plus4: str


def standard_zips() -> dict[str, list[tuple[str, str]]]:
    """(ZIP, city) of each state's standard ZIP Codes, in order."""
    found: dict[str, list[tuple[str, str]]] = {code: [] for code in STATES}
    for row in zipcodes.list_all():  # type: ignore[no-untyped-call]  # the package has no types
        if row["zip_code_type"] == "STANDARD" and row["active"] and row["state"] in found:
            found[row["state"]].append((row["zip_code"], row["city"]))
    return {code: sorted(rows) for code, rows in found.items()}


def make_ship_tos(rng: random.Random) -> list[ShipTo]:
    """Ship-to places: two in each state at least, the others by population and size of city."""
    zips = standard_zips()
    sizes = {code: Counter(city for _, city in rows) for code, rows in zips.items()}
    codes = list(STATES)
    drawn = codes * 2
    weights = [STATES[code][1] for code in codes]
    drawn += rng.choices(codes, weights=weights, k=SHIP_TOS - len(drawn))
    places = []
    for code in drawn:
        rows = zips[code]
        zip5, city = rng.choices(rows, weights=[sizes[code][city] for _, city in rows])[0]
        address = f"{rng.randint(1, 9800)} {rng.choice(STREETS)}"
        if rng.random() < 0.2:
            address += f" {rng.choice(UNITS)}"
        places.append(ShipTo(address, city, code, zip5, f"{rng.randint(1000, 9999)}"))
    return places


def messy_state(rng: random.Random, code: str) -> str:
    name = STATES[code][0]
    kinds = (code, code.lower(), name, name.lower(), f"{code} ", f" {code}", "")
    return rng.choices(kinds, weights=(80, 7, 6, 1, 3, 1, 2))[0]


def messy_zip(rng: random.Random, place: ShipTo) -> str:
    five = place.zip5
    if five[0] == "0" and rng.random() < 0.45:
        five = five.lstrip("0")  # what is left once a spreadsheet has made it a number
        return f"{five}.0" if rng.random() < 0.3 else five
    kinds = (
        five,
        f"{five}-{place.plus4}",
        f"{five}{place.plus4}",
        f"{five}.0",
        f" {five} ",
        f"{five} ",
    )
    return rng.choices(kinds, weights=(74, 8, 3, 8, 3, 4))[0]


def messy_city(rng: random.Random, city: str) -> str:
    words = city.split()
    if city in NICKNAMES and rng.random() < 0.3:
        return NICKNAMES[city]
    if words[0] in SHORT_WORDS and rng.random() < 0.5:
        return " ".join([SHORT_WORDS[words[0]], *words[1:]])
    return rng.choices((city, city.upper(), city.lower(), f"{city} "), weights=(88, 7, 2, 3))[0]


def messy_address(rng: random.Random, address: str) -> str:
    return rng.choices((address, address.upper(), f"{address} "), weights=(90, 6, 4))[0]


def export(rng: random.Random, place: ShipTo) -> ShipTo:
    """The same ship-to as one order of the export spells it (its ZIP+4 goes into the ZIP)."""
    return ShipTo(
        messy_address(rng, place.address),
        messy_city(rng, place.city),
        messy_state(rng, place.state),
        messy_zip(rng, place),
        "",
    )


def odd_orders(places: list[ShipTo]) -> list[ShipTo]:
    """Orders that need a person: foreign, military, territories, and places that contradict."""
    by_state = {place.state: place for place in places}
    elsewhere = {
        "CA": "Sacramento",
        "NJ": "Trenton",
        "OH": "Dayton",
        "WA": "Spokane",
        "FL": "Ocala",
    }
    return [
        ShipTo("80 Calle Fortaleza", "San Juan", "PR", "00901", ""),
        ShipTo("14 Calle Luna", "Ponce", "PR", "00730", ""),
        ShipTo("PSC 3 Box 1204", "APO", "AE", "09021", ""),
        ShipTo("Unit 45012 Box 88", "APO", "AP", "96338", ""),
        ShipTo("220 King St W", "Toronto", "ON", "M5H 1K4", ""),
        replace(by_state["NY"], state="CA"),
        replace(by_state["GA"], state="FL"),
        replace(by_state["OR"], state="Washington"),
        replace(by_state["TX"], zip5="75999"),
        replace(by_state["MI"], zip5="00000"),
        replace(by_state["PA"], zip5="1910"),
        replace(by_state["IL"], zip5="see notes"),
        replace(by_state["MA"], zip5="", city=""),
        *(replace(by_state[code], city=city) for code, city in elsewhere.items()),
    ]


def order_days(rng: random.Random, count: int) -> list[date]:
    """Days of orders, ascending; a fast-growing shop, busier from October to December."""
    span = (LAST_DAY - FIRST_DAY).days
    days = [FIRST_DAY + timedelta(days=day) for day in range(span + 1)]
    weights = [
        math.exp(6 * number / span) * (1.6 if day.month in {10, 11, 12} else 1)
        for number, day in enumerate(days)
    ]
    return sorted(rng.choices(days, weights=weights, k=count))


def order_lines(rng: random.Random, number: int, day: date, to: ShipTo) -> list[tuple[str, ...]]:
    """One order's lines; about one order in thirty is a return, with negative amounts."""
    back = rng.random() < 0.035
    count = rng.choices((1, 2, 3, 4, 5, 6, 8), weights=(22, 25, 20, 15, 10, 5, 3))[0]
    lines: list[tuple[str, ...]] = []
    for sku, text, price in rng.sample(GOODS, 1 if back else count):
        # older orders are at older prices
        unit = (Decimal(price) * (100 - 3 * (LAST_DAY.year - day.year)) / 100).quantize(
            Decimal("0.01")
        )
        quantity = rng.choices((1, 2, 3, 4, 6, 10, 12, 40), weights=(50, 20, 9, 7, 6, 4, 3, 1))[0]
        quantity = -min(quantity, 2) if back else quantity
        place = (to.address, to.city, to.state, to.zip5)
        lines.append(
            (
                f"{'R' if back else 'S'}{number}",
                day.isoformat(),
                sku,
                text,
                *place,
                str(quantity),
                str(unit),
                str(unit * quantity),
            )
        )
    return lines


def make_orders(seed: int = SEED) -> str:
    """The whole file as text (CSV, a header line, LF)."""
    rng = random.Random(seed)
    places = make_ship_tos(rng)
    odd = odd_orders(places)
    # every place orders once, some come back, a few very often
    regulars = rng.choices(places[:120], k=ORDERS - len(places) - len(odd))
    orders = [export(rng, place) for place in [*places, *regulars]]
    orders += odd
    rng.shuffle(orders)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    blank_after = len(orders) // 3
    for number, (day, to) in enumerate(zip(order_days(rng, len(orders)), orders, strict=True)):
        writer.writerows(order_lines(rng, 10_001 + number, day, to))
        if number == blank_after:
            writer.writerow([""] * len(COLUMNS))  # exports have those, too
    return out.getvalue()


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the demo's order lines.")
    parser.add_argument("path", type=Path)
    parser.add_argument("--seed", type=int, default=SEED)
    given = parser.parse_args()
    text = make_orders(given.seed)
    given.path.write_text(text, encoding="utf-8", newline="")
    print(f"{given.path}: {text.count(chr(10)) - 1} lines, {len(text.encode())} bytes")


if __name__ == "__main__":
    main()
