"""SST boundary files for tests: their lines, their import into an own book, and lookups in it."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

from benchmarks.boundary_files import (
    METRO,
    MINNEAPOLIS,
    RATES,
    generated_lines,
    line,
    write_boundary_file,
)
from svc_tools.service.ratebook import Query, load_book, resolve
from svc_tools.service.ratebook.imports.importer import import_files

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from svc_tools.service.ratebook import ResolvedRate
    from svc_tools.service.ratebook.imports.importer import Imported

__all__ = [
    "AROUND_MINNEAPOLIS",
    "DAY",
    "ENDED",
    "HENNEPIN",
    "LOADED",
    "METRO",
    "MINNEAPOLIS",
    "RATES",
    "ST_PAUL",
    "asking_in",
    "generated_lines",
    "imported",
    "line",
    "told",
    "write_boundary_file",
]

LOADED = date(2026, 5, 2)


def imported(own: Path, *files: Path) -> list[Imported]:
    """Put official files into an own book; the first of them though the shipped ones are newer."""
    return list(import_files(files, own, today=LOADED, fewer=True, force=not own.exists()))


DAY = date(2026, 5, 1)
ST_PAUL = {"county": "123", "place": "58000"}
HENNEPIN = {"county": "053", "specials": METRO}
ENDED = {"begins": "20161001", "ends": "20190331"}

AROUND_MINNEAPOLIS = (
    line("Z", zips="55401", **HENNEPIN),
    line("4", zips="55401", plus4="0001-4999", **MINNEAPOLIS),
    line("4", zips="55401", plus4="5000-9999", **HENNEPIN),
    line("4", zips="55101", plus4="0001-0009", **ENDED, county="037"),
    line("4", zips="55101", plus4="0001-0009", begins="20190401", **ST_PAUL),
    line("4", zips="55102-55104", plus4="5000-4000", **ST_PAUL),
    line("4", zips="55105", plus4="0001-0009", **MINNEAPOLIS),
    line("4", zips="55105", plus4="0001-0009", **ST_PAUL),
    line("Z", zips="55106-55107", **ST_PAUL),
    line("A", zip5="55402", street="N|MAIN|ST|", numbers="101-199", side="O", **MINNEAPOLIS),
    line("A", zip5="55402", street="N|MAIN|ST|", numbers="100-198", side="E", **HENNEPIN),
    line("A", zip5="55402", street="S|MAIN|ST|", numbers="100-198", side="B", **ST_PAUL),
    line("A", zip5="55402", street="|OAK|AVE|", numbers="1-9", unit="APT|1-20|", **HENNEPIN),
    line("A", zip5="55402", street="|OAK|AVE|", numbers="1-9", unit="APT|21-40|", **ST_PAUL),
    line("A", zip5="55402", street="|ELM|ST|", numbers="1-99", **MINNEAPOLIS),
    line("A", zip5="55402", street="|ELM|ST|", numbers="5", unit="BLDG|C-D|", **ST_PAUL),
    line("A", zip5="55402", street="|GRID|RD|", numbers="N64W100-N64W200", **ST_PAUL),
    line("A", zip5="55402", street="|GRID|RD|", numbers="1-500", **HENNEPIN),
    line("A", zip5="55402", street="|PO BOX||", numbers="1-500", **MINNEAPOLIS),
    line("Z", zips="55402", **HENNEPIN),
    line("4", zips="55403", plus4="0001-0009", county="053", specials=["99999"]),
    line("4", zips="55404", plus4="0001-0009", county="053", indicator=""),
)
"""A few records of each kind."""


def asking_in(
    folder: Path, *lines: str, rates: str = RATES, state: str = "MN", rate_quarter: str = "2026Q2"
) -> Callable[..., ResolvedRate]:
    """Import lines over the rates of a state; the result answers lookups there, on a day."""
    own = folder / "book.db"
    rate_file = folder / f"{state}R{rate_quarter}FEB18.csv"
    rate_file.write_text(rates)
    boundary_file = folder / f"{state}B2026Q2FEB18.csv"
    boundary_file.write_text("".join(lines))
    imported(own, *([rate_file] if rates else []), boundary_file)
    book = load_book(own=own)

    def ask(day: date = DAY, **query: Any) -> ResolvedRate:
        return resolve(book, Query(state, as_of=day, **query), today=day)

    return ask


def told(answer: ResolvedRate) -> tuple[str, str, int]:
    """What decided an answer, how sure it is, and its rate."""
    return answer.location.via, answer.confidence, answer.chosen.combined
