"""What a reader makes of one rate file: rows in the book's own schema, and what it left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from svc_tools.service.ratebook.formats.checks import quarter_end, spans_overlap
from svc_tools.service.ratebook.formats.draft import Draft
from svc_tools.service.ratebook.formats.report import CompileReport
from svc_tools.service.ratebook.imports.errors import FileRefused
from svc_tools.service.ratebook.imports.quarters import quarter_begin
from svc_tools.service.ratebook.schema import (
    Area,
    Jurisdiction,
    RateRow,
    Source,
    StateRow,
    read_rows,
    write_rows,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import date

    from svc_tools.service.ratebook.book import Book
    from svc_tools.service.ratebook.imports.recognise import Recognised

__all__ = [
    "OwnTables",
    "Reading",
    "add_source",
    "by_jurisdiction",
    "checked",
    "quarter_ends",
    "seeded",
]

_TABLES: dict[str, type] = {
    "states": StateRow,
    "sources": Source,
    "jurisdictions": Jurisdiction,
    "areas": Area,
    "rates": RateRow,
}


@dataclass(frozen=True, slots=True)
class OwnTables:
    """The rows of one rate file in the schema of the book.

    Attributes:
        states: one row: what the book claims for the state with these rates.
        sources: where the rows come from.
        jurisdictions: who levies them.
        areas: whose rates add up where.
        rates: the rates. Where the file names no state rate, the shipped book's serves.
    """

    states: list[StateRow]
    sources: list[Source]
    jurisdictions: list[Jurisdiction]
    areas: list[Area]
    rates: list[RateRow]

    def texts(self) -> dict[str, str]:
        """CSV text by name of the table."""
        return {name: write_rows(getattr(self, name), row) for name, row in _TABLES.items()}

    @staticmethod
    def read(texts: Mapping[str, str]) -> OwnTables:
        """The rows of CSV texts, which another release may have written.

        Raises:
            ValueError: a table is not there, or does not hold what the schema says.
        """
        missing = _TABLES.keys() - texts.keys()
        if missing:
            raise ValueError(f"without the tables {', '.join(sorted(missing))}")
        return OwnTables(
            *(
                read_rows(texts[name], row, name, other_release=True)
                for name, row in _TABLES.items()
            )
        )


@dataclass(frozen=True, slots=True)
class Reading:
    """One rate file, read.

    Attributes:
        tables: its rows.
        edition: the quarter it is of.
        covers_from: the first day it speaks of.
        covers_until: the last day its figures are good for.
        continues: whether it lists the rates of its own quarters only, so that those of earlier
            days stay as the book had them; otherwise it brings its own history.
        report: what was left out, settled, noted.
        rows: how many lines were taken over.
    """

    tables: OwnTables
    edition: str
    covers_from: date
    covers_until: date
    continues: bool
    report: CompileReport
    rows: int


def by_jurisdiction(rows: Iterable[RateRow]) -> dict[str, tuple[RateRow, ...]]:
    """The rows of each jurisdiction, the oldest first."""
    found: dict[str, list[RateRow]] = {}
    for row in rows:
        found.setdefault(row.jurisdiction, []).append(row)
    return {
        key: tuple(sorted(group, key=lambda row: str(row.begin or "")))
        for key, group in found.items()
    }


def seeded(book: Book) -> Draft:
    """A draft that knows the states and counties of a book, and nothing else of it."""
    return Draft(CompileReport(), states=dict(book.states), counties=dict(book.counties))


def quarter_ends(edition: str, *, later: int = 0) -> date:
    """The last day of a quarter named as editions are, or of the one `later` quarters on."""
    begin = quarter_begin(edition)
    return quarter_end(begin.year, (begin.month + 2) // 3, later=later)


def add_source(
    draft: Draft, found: Recognised, name: str, publisher: str, *, complete_from: date | None = None
) -> str:
    """Add the file as a source; its id is unlike any of the shipped book."""
    key = f"own-{found.state.lower()}-{found.edition}"
    draft.sources[key] = Source(
        key,
        f"{name} ({found.path.name})",
        publisher,
        found.edition,
        "official figures, imported by the user",
        "official",
        complete_from,
        quarter_ends(found.edition),
        quarter_ends(found.edition, later=2),
    )
    return key


def checked(
    draft: Draft, found: Recognised, *, covers_from: date, continues: bool, rows: int
) -> Reading:
    """The draft of one state as a reading, after a last look at the whole.

    Raises:
        FileRefused: the rows contradict each other, or there are none.
    """
    name = found.path.name
    if not draft.rates:
        raise FileRefused(f"{name}: not one rate in it can be used")
    for key, group in by_jurisdiction(draft.rates).items():
        reason = spans_overlap(group)
        if reason:
            raise FileRefused(f"{name}: {key}: {reason}")
    tables = OwnTables(
        [draft.states[found.state]],
        list(draft.sources.values()),
        sorted(draft.jurisdictions.values(), key=lambda row: row.id),
        sorted(draft.areas.values(), key=lambda row: row.id),
        sorted(draft.rates, key=lambda row: (row.jurisdiction, str(row.begin or ""))),
    )
    return Reading(
        tables,
        found.edition,
        covers_from,
        quarter_ends(found.edition),
        continues,
        draft.report,
        rows,
    )
