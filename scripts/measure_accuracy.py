"""Make the tables of docs/ACCURACY.md: how often the rate book is right.

    python scripts/measure_accuracy.py DIR            prints the tables
    python scripts/measure_accuracy.py DIR --write    puts them into docs/ACCURACY.md

DIR holds the published rate files that the book is compiled from. One source after the other is
left out of a scratch book, whose rates are compared with it.
"""

from __future__ import annotations

import argparse
import csv
import shutil
import sys
import tempfile
from collections import Counter, defaultdict
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
from compile_book import compile_book

from svc_tools.base.shares import LIKELY_SHARE, SHARES_PER_ONE, SURE_SHARE, share_text
from svc_tools.service.ratebook import NotResolved, Query, load_book, resolve
from svc_tools.service.ratebook.accuracy import RESULT_LEVELS, judged, tally
from svc_tools.service.ratebook.gazetteer import bases_of
from svc_tools.service.ratebook.names import name_key
from svc_tools.service.ratebook.rating import Rated, rate_area
from svc_tools.show.codes import PARTIAL_CODES, REVIEWED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from svc_tools.service.ratebook import Book
    from svc_tools.service.ratebook.schema import Area

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "ACCURACY.md"
COMPOSITIONS = ROOT / "docs" / "compositions.csv"
BEGIN, END = "<!-- measured: begin -->\n", "<!-- measured: end -->\n"
TODAY = date(2026, 11, 29)
"""The edition of the book; "today" on the page."""
DAYS = (date(2022, 3, 1), date(2024, 6, 1), date(2026, 2, 15), TODAY)
OWN = "its own list"
"""End of the name of a measurement against the list that the book is compiled from."""
DATES = {"as_of_before_history", "as_of_after_edition"}
SPANS = "zip_spans_jurisdictions"
DOUBTS = REVIEWED | PARTIAL_CODES.keys() | {SPANS}
"""Warnings with which the lookup of a ZIP alone requires review."""
ZIPS = (
    "AK 99801 AL 35203 AR 72201 AZ 85004 CA 90012 CO 80202 CT 06103 DC 20001 DE 19801 FL 33130"
    " GA 30303 HI 96813 IA 50309 ID 83702 IL 60602 IN 46204 KS 67203 KY 40202 LA 70112 MA 02108"
    " MD 21202 ME 04101 MI 48226 MN 55401 MO 64106 MS 39201 MT 59101 NC 28202 ND 58102 NE 68102"
    " NH 03101 NJ 07102 NM 87102 NV 89101 NY 10007 OH 43215 OK 73102 OR 97204 PA 19107 RI 02903"
    " SC 29401 SD 57104 TN 38103 TX 77002 UT 84101 VA 23219 VT 05401 WA 98101 WI 53202 WV 25301"
    " WY 82001"
)
"""One ZIP of the largest city of every state."""

Case = tuple[str, Query, int]
"""A lookup to measure: its mode, the query, the rate expected."""


class Sources:
    """The published files, found by name at any depth."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def rows(self, pattern: str) -> list[dict[str, str]]:
        """The rows of the one file of a name or pattern, which has a header."""
        return read(self.path(pattern))

    def path(self, pattern: str) -> Path:
        """The one file of a name or pattern."""
        found = sorted(self._folder.rglob(pattern))
        if not found:
            raise SystemExit(f"{pattern} is not in {self._folder}")
        return found[0]

    def book_without(self, *patterns: str, cut: str = "") -> Book:
        """A scratch book without some files, and Washington's table cut before a day."""
        with tempfile.TemporaryDirectory() as made:
            sources, book = Path(made) / "sources", Path(made) / "book"
            shutil.copytree(self._folder, sources, copy_function=shutil.copyfile)
            for path in (sources, *sources.rglob("*")):
                path.chmod(0o755 if path.is_dir() else 0o644)
            for path in [path for one in patterns for path in sources.rglob(one)]:
                path.unlink()
            if cut:
                table = next(sources.rglob("wa_dor_quarterly_*.csv"))
                lines = table.read_text(encoding="utf-8-sig").splitlines(keepends=True)
                rows = csv.DictReader(lines)
                earlier = [
                    line
                    for line, row in zip(lines[1:], rows, strict=True)
                    if row["effective"] < cut
                ]
                table.write_text("".join([lines[0], *earlier]), encoding="utf-8")
            compile_book(sources, book)
            return load_book(book)


def read(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file with a header."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        return list(csv.DictReader(file))


def units(fraction: str) -> int:
    """A rate in units of 10^-5; one that does not fit is refused."""
    value = Decimal(fraction) * 100_000
    if value != int(value):
        raise ValueError(f"{fraction} does not fit five decimals")
    return int(value)


def quarters(first: int, last: tuple[int, int]) -> list[date]:
    """The first days of the quarters from a year on to a quarter, inclusive."""
    every = [date(year, month, 1) for year in range(first, last[0] + 1) for month in (1, 4, 7, 10)]
    return [day for day in every if (day.year, (day.month + 2) // 3) <= last]


def measured(what: str, book: Book, cases: Iterable[Case]) -> pd.DataFrame:
    """The outcomes of some lookups under the name of a measurement."""
    rows = [
        {"what": what, "mode": mode, "state": query.state}
        | judged(book, query, expected, day=TODAY)
        for mode, query, expected in cases
    ]
    return pd.DataFrame(rows)


def known(book: Book, area: Area, day: date) -> int | None:
    """The whole rate of an area on a day; `None` where the book does not have one."""
    found = rate_area(book, area.state, area, day)
    if not isinstance(found, Rated) or found.history_from or found.lacks or day > found.edition_end:
        return None
    return found.combined


def by_name(book: Book, states: Iterable[str], days: Iterable[date]) -> Iterator[Case]:
    """Every county and city of some states by its name, as another book rates it.

    A county whose rest has several rates is left out: its name alone means no one of them.
    """
    for area in book.areas.values():
        if area.state not in states or area.kind == "named":
            continue
        county = book.counties[area.state, area.counties[0]].name
        name = f"{area.cities[0]}, {county}" if area.cities else county
        bases = bases_of(book, area.state, area.counties[0])
        if (area.kind == "city") is not bool(area.cities) or (not area.cities and len(bases) > 1):
            continue
        for day in days:
            expected = known(book, area, day)
            if expected is not None and day <= date(2026, 6, 30):
                yield "place name", Query(area.state, location=name, as_of=day), expected


def by_zip(place: tuple[str, str, str], expected: int, day: date) -> Iterator[Case]:
    """A ZIP (of a state, with a city), the ZIP with its city, an address line.

    Not the middle of the ZIP: that need not lie in the city that it is named after.
    """
    state, zip5, city = place
    yield "ZIP", Query(state, zip=zip5, as_of=day), expected
    street = Query(state, street="1 Main St", city=city, zip=zip5, as_of=day)
    yield "ZIP and city", street, expected
    line = f"1 Main St, {city}, {state} {zip5}"
    yield "address line", Query(state, address=line, as_of=day), expected


def rate_files(sources: Sources, shipped: Book) -> Iterator[pd.DataFrame]:
    """The states' own rate files left out, and their counties and cities looked up."""
    book = sources.book_without("GAR*.csv", "MNR*.csv", "WIR*.csv", cut="20220401")
    days = quarters(2022, (2026, 2))
    for state in ("GA", "MN", "WI"):
        name = (
            f"{shipped.states[state].name} without the state's rate file: its rates of 18 quarters"
        )
        yield measured(name, book, by_name(shipped, {state}, days))
    name = "Washington without the state's table after 2022Q1: its rates of 17 quarters"
    yield measured(name, book, by_name(shipped, {"WA"}, days[1:]))
    cities = read(COMPOSITIONS)
    yield measured(
        "ZIPs of Georgia, Minnesota and Wisconsin worked by hand",
        shipped,
        (
            case
            for row in cities
            for case in by_zip(
                (row["state"], row["zip"], row["city"]),
                units(str(Decimal(row["rate"]) / 100)),
                date.fromisoformat(row["as_of"]),
            )
        ),
    )


def california(sources: Sources, shipped: Book) -> Iterator[pd.DataFrame]:
    """California's list of January compared with the later one; ZIPs by a third list."""
    changed = {
        name_key(row["place_name"] or row["county_name"])
        for row in sources.rows("local_rates_ca_*.csv")
        if row["from_kind"] == "change"
    }
    day = date(2026, 5, 1)
    listed = [row for row in sources.rows("ca_cdtfa_*.csv") if row["Type"] == "City"]
    rates = {
        name_key(row["Location"]): units(row["Rate"])
        for row in listed
        if name_key(row["Location"]) not in changed
    }
    yield measured(
        "California: the list of 2026-01-01 by the list of 2026-07-01, on 2026-05-01",
        shipped,
        (
            ("place name", Query("CA", location=row["Location"], as_of=day), rates[key])
            for row in listed
            if (key := name_key(row["Location"])) in rates
        ),
    )
    cities = [row for row in sources.rows("local_tables_*.csv") if row["table"] == "CA_CITIES"]
    yield measured(
        "California: ZIPs of cities by the transcribed table, with the rates of the state's list",
        shipped,
        (
            case
            for row in cities
            if (key := name_key(row["name"])) in rates
            for zip5 in row["zips"].split()
            for case in by_zip(("CA", zip5, row["name"]), rates[key], day)
        ),
    )


def county_tables(sources: Sources, shipped: Book) -> Iterator[pd.DataFrame]:
    """Tables of counties that the book does not use, compared with the lists that it does."""
    days = {"NC": date(2026, 7, 15), "OH": date(2026, 2, 15), "NV": date(2025, 11, 15)}
    for state, day in days.items():
        rows = [
            row
            for row in sources.rows("county_rates_nc_oh_nv.csv")
            if (row["state"], row["level"]) == (state, "county")
        ]
        name = f"{shipped.states[state].name}: the counties of another copy of the state's table"
        cases = (
            (
                "place name",
                Query(state, location=row["name"], as_of=day),
                units(str(Decimal(row["combined_rate_pct"]) / 100)),
            )
            for row in rows
        )
        yield measured(name, shipped, cases)
    yield from transcribed(sources, shipped)


TABLES = {
    "FL": "FL_COUNTY_SURTAX_PCT",
    "HI": "HI_COUNTY_RATE_PCT",
    "MS": "MS_COUNTY_RATE_PCT",
    "NY": "NY_COUNTY_RATE_PCT",
    "PA": "PA_COUNTY_RATE_PCT",
    "SC": "SC_COUNTY_RATE_PCT",
    "VA": "VA_COUNTY_RATE_PCT",
}
"""Tables of counties, by state, that the book does not take its rates from."""
CITY_COUNTIES = {f"{name} County" for name in ("Bronx", "Kings", "New York", "Queens", "Richmond")}
"""Counties whose row of that table is without New York City's rate."""


def transcribed(sources: Sources, shipped: Book) -> Iterator[pd.DataFrame]:
    """Counties of the transcribed tables, corrected, with the districts they are in."""
    rows = sources.rows("local_tables_*.csv")
    fixes = {
        (row["state"], row["table"], row["name"]): row["should_be_pct"]
        for row in sources.rows("corrections_2026.csv")
    }
    districts = {
        (row["state"], row["name"] or "MCTD 0.375"): Decimal(row["rate_pct"])
        for row in rows
        if row["table"] in {"VA_DISTRICT_RATE_PCT", "NY_MCTD_RATE"}
    }
    extra: dict[tuple[str, str], Decimal] = defaultdict(Decimal)
    for row in sources.rows("district_members.csv"):
        extra[row["state"], row["locality"]] += districts.get((row["state"], row["district"]), 0)
    day = date(2026, 8, 1)
    for state, table in TABLES.items():
        base = Decimal(shipped.rates[state][-1].units) / 1000

        def cases(state: str = state, table: str = table, base: Decimal = base) -> Iterator[Case]:
            for row in rows:
                if row["table"] == table and row["name"] not in CITY_COUNTIES:
                    percent = Decimal(fixes.get((state, table, row["name"]), row["rate_pct"]))
                    whole = base + percent + extra[state, row["name"]]
                    query = Query(state, location=row["name"], as_of=day)
                    yield "place name", query, units(str(whole / 100))

        name = f"{shipped.states[state].name}: the counties of the transcribed table, corrected"
        yield measured(name, shipped, cases())


def own_lists(shipped: Book) -> Iterator[pd.DataFrame]:
    """ZIPs named after a place that holds at least half of their land, with the list's own rate."""
    day = DAYS[2]
    for state, row in shipped.states.items():
        if row.tier not in {"B", "C"}:
            continue
        yield measured(
            f"ZIPs of their main place, against {OWN}", shipped, main_places(shipped, state, day)
        )


def main_places(book: Book, state: str, day: date) -> Iterator[Case]:
    """ZIPs named after the place that holds most of their land."""
    for zip5, place in book.zips.state(state).items():
        shares = book.zips.shares(zip5, state)
        if not shares or shares[0][1] < 500 or place.kind != "STANDARD":  # noqa: PLR2004 - half
            continue
        main = book.places(state)[shares[0][0]]
        one_county = book.zips.touched(zip5, state) == (main.counties.split()[0],)
        if name_key(main.name) != name_key(place.city) or not one_county:
            continue
        county = book.counties[state, main.counties.split()[0]].name
        try:
            found = resolve(
                book, Query(state, location=f"{main.name}, {county}", as_of=day), today=TODAY
            )
        except NotResolved:
            continue
        yield from by_zip((state, zip5, main.name), found.chosen.combined, day)


def every_state(shipped: Book) -> Iterator[list[str]]:
    """One ZIP of every state on some days: rate, confidence, and what it warns of."""
    codes = ZIPS.split()
    for state, zip5 in sorted(zip(codes[::2], codes[1::2], strict=True)):
        row = [state, zip5]
        for day in DAYS:
            try:
                found = resolve(shipped, Query(state, zip=zip5, as_of=day), today=TODAY)
            except NotResolved as missing:
                row.append(missing.code)
                continue
            warned = [
                str(one["code"])
                for one in found.advisories
                if one["code"] in DOUBTS and not is_likely(one)
            ]
            status = "check" if warned else "ready"
            status = "partial" if PARTIAL_CODES.keys() & set(warned) else status
            rate = f"{found.chosen.combined / 1000:.3f}".rstrip("0").rstrip(".")
            row.append(f"{rate} {found.confidence} {status}")
        yield row


def review_load(shipped: Book) -> Iterator[list[object]]:
    """How many ZIPs with land require review on some days, looked up by the ZIP alone."""
    for day in DAYS:
        counts: Counter[str] = Counter()
        for state in shipped.states:
            for zip5, place in shipped.zips.state(state).items():
                if place.kind != "STANDARD":
                    continue
                counts["ZIPs"] += 1
                try:
                    found = resolve(shipped, Query(state, zip=zip5, as_of=day), today=TODAY)
                except NotResolved:
                    counts["none"] += 1
                    continue
                codes = {str(one["code"]) for one in found.advisories} & DOUBTS
                sure = {SPANS} if any(map(is_likely, found.advisories)) else set()
                counts["review"] += bool(codes - sure) or found.confidence == "low"
                counts["partial"] += bool(codes & PARTIAL_CODES.keys())
                counts["several"] += SPANS in codes - sure
                counts["dates"] += bool(codes & DATES)
        shares = (
            share(counts[key], counts["ZIPs"]) for key in ("review", "partial", "several", "dates")
        )
        yield [day, f"{counts['ZIPs']:,}", *shares, counts["none"]]


def level_of(share_to: float) -> str:
    """The level of rates whose share of the housing of a ZIP is just below this."""
    return (
        "high"
        if share_to > SURE_SHARE / SHARES_PER_ONE
        else "medium"
        if share_to > LIKELY_SHARE / SHARES_PER_ONE
        else "low"
    )


def by_housing(sources: Sources) -> Iterator[list[object]]:
    """Addresses in ZIPs with several rates, by the share of the housing that has the rate given."""
    for row in sources.rows("calibration_zip.csv"):
        if (row["choice"], row["claim"]) == ("housing majority", "housing units"):
            band = f"{percent(row['from'])} to {percent(row['to'])}"
            figures = (
                row["zips"],
                row["addresses"],
                percent(row["claimed"]),
                percent(row["right"]),
            )
            yield [band, level_of(float(row["to"])), *figures, percent(row["right_today"])]


def by_city(sources: Sources) -> Iterator[list[object]]:
    """The same with the city of the address, where it names a place that the ZIP touches."""
    for row in sources.rows("calibration_city.csv"):
        if row["city"].startswith("names a place"):
            figures = (row["addresses"], percent(row["share"]), percent(row["right"]))
            yield [f"to {percent(row['share_to'])}", level_of(float(row["share_to"])), *figures]


def by_distance(sources: Sources) -> Iterator[list[object]]:
    """Points by their distance to the nearest city limit, in meters."""
    for row in sources.rows("calibration_point.csv"):
        if row["year"] == "2023":
            band = (
                f"{row['from_m']} to {row['to_m']}" if row["to_m"] else f"{row['from_m']} and more"
            )
            inside, outside = (
                [row[kind], percent(row[f"right_{kind}"])] for kind in ("inside", "outside")
            )
            yield [row["sample"], band, *inside, *outside, percent(row["right_by_zip"])]


def drift(sources: Sources) -> Iterator[list[object]]:
    """Points whose city of 2023 is another than that of 2015, by their distance to the limit."""
    for row in sources.rows("drift_2015_2023.csv"):
        if row["inside"]:
            band = (
                f"{row['from_m']} to {row['to_m']}" if row["to_m"] else f"{row['from_m']} and more"
            )
            yield [row["state"], band] + [
                cell
                for kind in ("inside", "outside")
                for cell in (row[kind], share(int(row[f"changed_{kind}"]), int(row[kind])))
            ]


def percent(fraction: str) -> str:
    """A fraction in percent, `0.9312` as `93.1`; empty where there is none."""
    return f"{Decimal(fraction) * 100:.1f}".removesuffix(".0") if fraction else ""


def is_likely(advisory: dict[str, object]) -> bool:
    """Whether the rate of most housing is so likely that several rates require no review."""
    return advisory["code"] == SPANS and str(advisory.get("share", "")) >= share_text(LIKELY_SHARE)


def later(sources: Sources) -> Iterator[list[object]]:
    """How many figures of Washington's table are the same some quarters later."""
    rates: dict[str, dict[str, str]] = defaultdict(dict)
    for row in sources.rows("wa_dor_quarterly_*.csv"):
        if row["location_code"].isdecimal():
            rates[row["effective"]][row["location_code"]] = row["total_rate"]
    days = sorted(rates)
    for lag in (1, 2, 4, 8, 16):
        pairs = [
            (rate, rates[after][code])
            for day, after in zip(days, days[lag:], strict=False)
            for code, rate in rates[day].items()
            if code in rates[after]
        ]
        same = sum(one == other for one, other in pairs)
        yield [lag, f"{len(pairs):,}", share(same, len(pairs))]


def share(part: int, whole: int) -> str:
    """Percent with one decimal, cut and not rounded."""
    return f"{part * 1000 // whole / 10:.1f}" if whole else ""


def markdown(heads: str, rows: Iterable[Iterable[object]]) -> str:
    """A table; the heads are separated by `|`."""
    names = heads.split("|")
    lines = [f"| {' | '.join(names)} |", f"| {' | '.join(['---'] * len(names))} |"]
    lines += [f"| {' | '.join(str(cell) for cell in row)} |" for row in rows]
    return "\n".join(lines) + "\n"


HEADS = "rows|right|wrong|in range|partial|no rate|right %"


def counted(results: pd.DataFrame, first: Iterable[str] = ()) -> Iterator[list[object]]:
    """The rows of a table by confidence, the strongest first."""
    counts: dict[Any, Any] = tally(results, "confidence").to_dict("index")
    for level in sorted(counts, key=RESULT_LEVELS.index):
        row = counts[level]
        figures = [f"{count:,}" for count in row.values()]
        yield [*first, level, *figures, share(row["right"], row["rows"])]


def by_state(results: pd.DataFrame) -> Iterator[list[object]]:
    """State and mode: rows and the share that is right at each level of confidence."""
    for (state, mode), group in results.groupby(["state", "mode"], sort=True):
        row: list[object] = [state, mode]
        for level in ("high", "medium", "low"):
            one = group[group["confidence"] == level]
            right = int((one["outcome"] == "right").sum())
            row += [f"{len(one):,}", share(right, len(one))]
        yield row


def report(folder: Path) -> str:
    """The measured part of the page."""
    sources, shipped = Sources(folder), load_book()
    results = pd.concat(
        [
            *rate_files(sources, shipped),
            *california(sources, shipped),
            *county_tables(sources, shipped),
            *own_lists(shipped),
        ]
    )
    own = results["what"].str.endswith(OWN)
    levels = "high|right %|medium|right %|low|right %"
    parts = [
        "### By confidence, a source left out\n",
        markdown(f"confidence|{HEADS}", counted(results[~own])),
        "### The same by state and mode\n",
        markdown(f"state|query|{levels}", by_state(results[~own])),
        "### By measurement\n",
        markdown(
            f"measurement|query|confidence|{HEADS}",
            (
                row
                for (what, mode), group in results[~own].groupby(["what", "mode"], sort=False)
                for row in counted(group, [str(what), str(mode)])
            ),
        ),
        f"### ZIPs of their main place on {DAYS[2]}, against {OWN}\n",
        markdown(f"state|query|{levels}", by_state(results[own])),
        "### Addresses in ZIPs with several rates, by the share of housing\n",
        markdown(
            "share of housing %|level|ZIPs|addresses|claimed %|right %|by land %",
            by_housing(sources),
        ),
        "### The same, with a city that names a place of the ZIP\n",
        markdown("share of housing %|level|addresses|claimed %|right %", by_city(sources)),
        "### Points, by the distance to the nearest city limit in meters\n",
        markdown(
            "points|distance|inside a city|right %|outside|right %|by ZIP, right %",
            by_distance(sources),
        ),
        "### Points whose city was another one in 2023 than in 2015\n",
        markdown(
            "points|distance in 2015|inside a city|changed %|outside|changed %", drift(sources)
        ),
        "### Washington's figures some quarters later\n",
        markdown("quarters later|figures|the same %", later(sources)),
        "### One ZIP of every state: rate in percent, confidence, use (ready, check, partial)\n",
        markdown("state|ZIP|" + "|".join(str(day) for day in DAYS), every_state(shipped)),
        "### What requires review, of all ZIPs with land (one ZIP may be in several columns)\n",
        markdown(
            "day|ZIPs|review %|partial %|several rates %|dates %|no rate", review_load(shipped)
        ),
    ]
    return "\n".join(parts)


def main() -> None:
    """Print the tables, or put them into the page."""
    parser = argparse.ArgumentParser(description="Measure how often the rate book is right.")
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
