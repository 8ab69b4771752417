"""Make the tables of docs/ACCURACY.md: how often the rate book's answers are right.

    python scripts/measure_accuracy.py DIR            prints the tables
    python scripts/measure_accuracy.py DIR --write    puts them into docs/ACCURACY.md

DIR holds the published rate files that the book is compiled from. A source is left out of a
scratch book, and the answers are compared with it; compositions worked by hand are compared with
the book that ships.
"""

from __future__ import annotations

import argparse
import csv
import re
import shutil
import sys
import tempfile
from collections import Counter, defaultdict
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd
from compile_book import compile_book

from svc_tools.service.ratebook import load_book
from svc_tools.service.ratebook.accuracy import LEVELS, compare, tally
from svc_tools.service.ratebook.names import name_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from svc_tools.service.ratebook import Book

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "ACCURACY.md"
COMPOSITIONS = ROOT / "docs" / "compositions.csv"
BEGIN, END = "<!-- measured: begin -->\n", "<!-- measured: end -->\n"

CALIFORNIA = "ca_cdtfa_2026-01-01.csv"
CALIFORNIA_DAY = date(2026, 2, 1)
WASHINGTON = "wa_dor_quarterly_2022Q1_2026Q2.csv"
WASHINGTON_CUT = "20240701"
WASHINGTON_DAY = date(2026, 5, 1)
TRANSCRIBED = "local_tables_2026.csv"
CORRECTIONS = "corrections_2026.csv"
STATE_RATES = "state_rates_2026-07.csv"
SAME = "the file it is compiled from"
_CA_BASE = Decimal("7.25")
_NO_CITY = re.compile(r"COUNTY|TRIBE|NATION|PTBA|HBZ| - |COLVILLE")


class Sources:
    """The published files, found by name at any depth."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path(self, name: str) -> Path:
        """The one file of a name or pattern."""
        found = sorted(self._folder.rglob(name))
        if not found:
            raise SystemExit(f"{name} is not in {self._folder}")
        return found[0]

    def rows(self, name: str) -> list[dict[str, str]]:
        """The rows of a file with a header."""
        return read(self.path(name))

    def book_without(self, name: str, replacement: Callable[[Path], None]) -> Book:
        """A scratch book: one file left out, another one written in its place."""
        with tempfile.TemporaryDirectory() as made:
            sources, book = Path(made) / "sources", Path(made) / "book"
            shutil.copytree(self._folder, sources, copy_function=shutil.copyfile)
            for path in (sources, *sources.rglob("*")):
                path.chmod(0o755 if path.is_dir() else 0o644)
            left_out = next(sources.rglob(name))
            left_out.unlink()
            replacement(left_out)
            compile_book(sources, book)
            return load_book(book)


def read(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file with a header."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        return list(csv.DictReader(file))


def units(percent: str | Decimal) -> int:
    """A percentage in units of 10^-5; one that does not fit is refused."""
    value = Decimal(percent) * 1000
    if value != int(value):
        raise ValueError(f"{percent} % does not fit five decimals")
    return int(value)


def zips_by_city(book: Book, state: str) -> dict[str, list[str]]:
    """The ZIPs whose preferred city name is a city's, by the key of the name."""
    found: dict[str, list[str]] = defaultdict(list)
    for zip5, place in sorted(book.zips.state(state).items()):
        found[name_key(place.city)].append(zip5)
    return found


class City(NamedTuple):
    """A city and the rate that its state publishes for a day."""

    name: str
    units: int
    day: date


COLUMNS = ["state", "city", "zip", "expected", "as_of"]
MODES = {"place name": (True, False), "ZIP": (False, True), "ZIP and city": (True, True)}
"""How a city is looked up, and whether its name and its ZIPs are given."""


def measured(what: str, mode: str, book: Book, rows: Iterable[tuple[object, ...]]) -> pd.DataFrame:
    """The outcomes of some lookups, under the name of a measurement and a way to look up."""
    known = pd.DataFrame(rows, columns=COLUMNS, dtype=object)
    return compare(book, known, day=WASHINGTON_DAY).assign(what=what, mode=mode)


def by_modes(what: str, book: Book, state: str, cities: list[City]) -> Iterator[pd.DataFrame]:
    """The outcomes of cities, looked up by name, by each ZIP of that name, and by both."""
    zips = zips_by_city(book, state)
    for mode, (named, by_zip) in MODES.items():
        yield measured(
            what,
            mode,
            book,
            [
                (state, city.name if named else "", zip5, city.units, city.day)
                for city in cities
                for zip5 in (zips.get(name_key(city.name), ()) if by_zip else [""])
            ],
        )


def transcribed_california(sources: Sources) -> dict[tuple[str, str], Decimal]:
    """(city or empty, county) -> combined percent by the transcribed table."""
    rows = [row for row in sources.rows(TRANSCRIBED) if row["state"] == "CA"]
    counties = {
        county_of(row["name"]): Decimal(row["rate_pct"])
        for row in rows
        if row["table"] == "CA_COUNTY_RATE_PCT"
    }
    found = {("", county): _CA_BASE + rate for county, rate in counties.items()}
    for row in rows:
        if row["table"] == "CA_CITIES":
            county = county_of(row["parents"])
            found[row["name"], county] = found["", county] + Decimal(row["rate_pct"])
    return found


def county_of(name: str) -> str:
    """A county's bare name."""
    return re.sub(r" (County|\(City and County\))$", "", name)


def california(sources: Sources) -> Iterator[pd.DataFrame]:
    """The state's own list left out: what the transcribed table alone would have answered."""
    table = transcribed_california(sources)

    def write(path: Path) -> None:
        with path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(("Location", "Rate", "Rate_Percent", "County", "Type", "Notes"))
            for (city, county), percent in table.items():
                kind = "City" if city else "County"
                name = city or f"{county} County"
                writer.writerow((name, percent / 100, percent, county, kind, ""))

    book = sources.book_without(CALIFORNIA, write)
    published = [row for row in sources.rows(CALIFORNIA) if row["Type"] == "City"]
    listed = {name_key(city) for city, _ in table if city}
    for what, wanted in (
        ("that the transcribed table names", True),
        ("that it does not name", False),
    ):
        cities = [
            City(row["Location"], units(Decimal(row["Rate"]) * 100), CALIFORNIA_DAY)
            for row in published
            if (name_key(row["Location"]) in listed) is wanted
        ]
        name = f"California without the state's list: cities {what}"
        yield from by_modes(name, book, "CA", cities)


def washington_cities(rows: Iterable[dict[str, str]]) -> list[City]:
    """The plain cities of the table; a name with several rates on one day is left out."""
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    for row in rows:
        if row["location_code"].isdecimal() and not _NO_CITY.search(row["location"]):
            name = re.sub(r"\s*(/\w+)?\s*(NON-RTA|RTA)?$", "", row["location"].strip())
            found[name, row["effective"]].add(row["total_rate"])
    return [
        City(name, units(Decimal(min(rates)) * 100), date.fromisoformat(day))
        for (name, day), rates in sorted(found.items())
        if len(rates) == 1
    ]


def effective(row: dict[str, str]) -> date:
    """The day a row of Washington's table took effect."""
    return date.fromisoformat(row["effective"])


def washington(sources: Sources) -> Iterator[pd.DataFrame]:
    """The last eight quarters left out; and every quarter as the book that ships has it."""
    rows = sources.rows(WASHINGTON)
    quarters = len({row["effective"] for row in rows if row["location_code"].isdecimal()})

    def write(path: Path) -> None:
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(row for row in rows if row["effective"] < WASHINGTON_CUT)

    old = sources.book_without(WASHINGTON, write)
    now = [city for city in washington_cities(rows) if city.day == date(2026, 4, 1)]
    late = [city._replace(day=WASHINGTON_DAY) for city in now]
    name = "Washington without its last eight quarters: 2026Q2 asked of an edition of 2024Q2"
    yield from by_modes(name, old, "WA", late)
    name = f"Washington in each of {quarters} quarters, against {SAME}"
    shipped = load_book()
    yield from by_modes(name, shipped, "WA", washington_cities(rows))
    codes = [
        ("WA", row["location_code"], "", units(Decimal(row["total_rate"]) * 100), effective(row))
        for row in rows
        if row["location_code"].isdecimal()  # the damaged rows of the file have none
    ]
    yield measured(name, "location code", shipped, codes)


def by_hand() -> Iterator[pd.DataFrame]:
    """The book that ships, against compositions worked by hand."""
    book = load_book()
    for state, rows in pd.DataFrame(read(COMPOSITIONS)).groupby("state"):
        name = f"{book.states[str(state)].name}: {len(rows)} ZIPs worked by hand"
        for mode in ("ZIP", "ZIP and city"):
            city = rows["city"] if mode == "ZIP and city" else ""
            expected, day = rows["rate"].map(units), rows["as_of"].map(date.fromisoformat)
            known = rows.assign(city=city, expected=expected, as_of=day)[COLUMNS]
            yield measured(name, mode, book, known.itertuples(index=False))


def figures(sources: Sources) -> Iterator[tuple[str, int, int]]:
    """Transcribed or compiled figures beside official ones: what, how many, how many differ."""
    official = {
        (row["Location"] if row["Type"] == "City" else "", row["County"]): Decimal(row["Rate"])
        for row in sources.rows(CALIFORNIA)
        if row["Type"] in {"City", "County"}
    }
    table = transcribed_california(sources)
    for what, kind in (("California, counties", False), ("California, cities", True)):
        both = [key for key in table if bool(key[0]) is kind and key in official]
        wrong = sum(table[key] / 100 != official[key] for key in both)
        yield f"{what}, against the state's list", len(both), wrong
    table_rows = pd.DataFrame(sources.rows(TRANSCRIBED))
    rated = (table_rows["rate_pct"] != "") & ~table_rows["table"].str.endswith("STATE_RATE_PCT")
    rows = Counter(table_rows[rated]["state"])
    corrected = Counter(row["state"] for row in sources.rows(CORRECTIONS))
    names = load_book().states
    for state, count in sorted(corrected.items()):
        yield f"{names[state].name}, against the corrections found since", rows[state], count
    compiled = {row["code"]: row["state_rate_pct"] for row in sources.rows(STATE_RATES)}
    checked = official_state_rates(sources)
    differ = sum(Decimal(compiled[state]) != rate for state, rate in checked.items())
    yield f"State rates of {', '.join(sorted(checked))}, compiled", len(checked), differ


def official_state_rates(sources: Sources) -> dict[str, Decimal]:
    """Percent by state, of the files that carry a state's own row, in force on 2026-05-01."""
    found = {"CA": _CA_BASE, "WA": Decimal("6.5")}
    for pattern in ("GAR*.csv", "MNR*.csv", "WIR*.csv"):
        path = sources.path(pattern)
        with path.open(newline="", encoding="utf-8-sig") as file:
            for row in csv.reader(file):
                if row[1] == "45" and row[7] <= "20260501" <= row[8]:
                    found[path.name[:2]] = Decimal(row[3]) * 100
    return found


def share(part: int, whole: int) -> str:
    """Percent with one decimal, cut and not rounded."""
    return f"{part * 1000 // whole / 10:.1f}" if whole else ""


def markdown(heads: str, rows: Iterable[Iterable[object]]) -> str:
    """A table; the heads are separated by `|`."""
    names = heads.split("|")
    lines = [f"| {' | '.join(names)} |", f"| {' | '.join(['---'] * len(names))} |"]
    lines += [f"| {' | '.join(str(cell) for cell in row)} |" for row in rows]
    return "\n".join(lines) + "\n"


HEADS = "rows|right|wrong|in range|partial|no answer|right %"


def counted(results: pd.DataFrame, first: Iterable[str] = ()) -> Iterator[list[object]]:
    """The rows of a table by confidence, the strongest first."""
    counts = tally(results, "confidence").to_dict("index")
    for level in sorted(counts, key=LEVELS.index):
        row = counts[level]
        figures = [f"{count:,}" for count in row.values()]
        yield [*first, level, *figures, share(row["right"], row["rows"])]


def report(folder: Path) -> str:
    """The measured part of the page."""
    sources = Sources(folder)
    results = pd.concat([*california(sources), *washington(sources), *by_hand()])
    independent = results[~results["what"].str.endswith(SAME)]
    parts = ["### By confidence\n", markdown(f"confidence|{HEADS}", counted(independent))]
    for what, group in results.groupby("what", sort=False):
        modes = group.groupby("mode", sort=False)
        rows = (row for mode, one in modes for row in counted(one, [str(mode)]))
        parts += [f"### {what}\n", markdown(f"asked by|confidence|{HEADS}", rows)]
    compared = (
        [what, count, differ, share(count - differ, count)]
        for what, count, differ in figures(sources)
    )
    parts += [
        "### Transcribed figures beside official ones\n",
        markdown("figures|compared|differ|equal %", compared),
    ]
    return "\n".join(parts)


def main() -> None:
    """Print the tables, or put them into the page."""
    parser = argparse.ArgumentParser(description="Measure how often answers are right.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--write", action="store_true", help=f"into {PAGE.name}")
    given = parser.parse_args()
    tables = report(given.folder)
    if not given.write:
        sys.stdout.write(tables)
        return
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n{tables}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
