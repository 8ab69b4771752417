"""Loading the book: the shipped one, with the user's own rate files laid over it.

A file that brings its own history (SST, Texas) replaces the rates of its state. One that lists
single quarters (California, Washington) replaces them from its first day on: what the book knows
of the days before stays. Nothing of the shipped book is changed; a book that holds own editions
is another `Book`, which shares everything else with it.
"""

from __future__ import annotations

import hashlib
from contextlib import closing
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from svc_tools.service.ratebook.book import Book, compiled_book
from svc_tools.service.ratebook.imports.boundary import zips_in_force
from svc_tools.service.ratebook.imports.common import OwnBookError
from svc_tools.service.ratebook.imports.database import (
    Edition,
    editions,
    failures_named,
    open_own_book,
)
from svc_tools.service.ratebook.imports.reading import OwnTables, by_jurisdiction, continued

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping
    from pathlib import Path

CONTINUES = "continues"
"""Name of the entry of an edition whose rates replace others from its first day on only."""


@dataclass(frozen=True, slots=True)
class OwnBook:
    """What an own book held at one moment.

    Attributes:
        path: the file.
        editions: its editions; two of the same path with the same editions are equal.
        texts: the tables of each edition of rates, by state.
        zips: as `Book.own_zips`.
    """

    path: Path
    editions: tuple[Edition, ...]
    texts: Mapping[str, Mapping[str, str]] = field(compare=False, repr=False)
    zips: Mapping[str, tuple[tuple[int, int], ...]] = field(
        default_factory=dict, compare=False, repr=False
    )


def load_book(path: Path | None = None, *, own: Path | None = None) -> Book:
    """The shipped book, or a compiled one of your own, with your own rate files laid over it.

    Args:
        path: folder with the files that `compile_book` writes; `None` is the book that ships
            with this package.
        own: database of imported rate files (`own_book_path()` is the user's), laid over the
            book; where there is none, the book stands alone. `None` asks for no such thing.

    Returns:
        The book; a process reads the book of a path, and lays the same editions over it, once.

    Raises:
        FileNotFoundError: a file of the book is not in the folder.
        ValueError: a file does not hold what the schema says; an `OwnBookError` where it is the
            database of imported files.
    """
    found = None if own is None else read_own_book(own)
    return compiled_book(path) if found is None else _load_over(path, found)


@lru_cache(maxsize=2)  # the one in use, and the one that takes its place
def _load_over(path: Path | None, own: OwnBook) -> Book:
    return lay_over(compiled_book(path), own)


def read_own_book(path: Path) -> OwnBook | None:
    """Read an own book; `None` where there is none, or nothing in it.

    Raises:
        OwnBookError: it is damaged, of another program or of another version.
    """
    try:
        connection = open_own_book(path)
    except FileNotFoundError:
        return None
    with closing(connection), failures_named(path):
        connection.execute("BEGIN")  # one moment for all that follows
        found = tuple(editions(connection))
        texts: dict[str, dict[str, str]] = {}
        zips: dict[str, tuple[tuple[int, int], ...]] = {}
        for edition in found:
            if edition.kind == "rates":
                texts[edition.state] = own_tables(connection, edition.id)
            else:
                zips[edition.state] = zips_in_force(connection, edition)
    return OwnBook(path, found, texts, zips) if found else None


def own_tables(connection: sqlite3.Connection, edition_id: int) -> dict[str, str]:
    """The tables of one edition of rates: CSV text by name."""
    return dict(
        connection.execute("SELECT name, csv FROM tables WHERE edition_id = ?", (edition_id,))
    )


def lay_over(book: Book, own: OwnBook) -> Book:
    """The book with the rates of the own editions in the place of its own.

    Raises:
        OwnBookError: the tables of an edition do not hold what the schema says.
    """
    laid = book.copy()
    laid.own_path = own.path
    laid.own_editions = own.editions
    laid.own_zips = own.zips
    laid.digest = _digest(book.digest, own)
    for edition in own.editions:
        if edition.kind != "rates":
            continue
        texts = own.texts[edition.state]
        try:
            tables = OwnTables.read(texts)
            _lay_state(laid, edition, tables, continues=CONTINUES in texts)
        except (ValueError, KeyError, LookupError) as error:
            raise OwnBookError(
                f"Your own book {own.path} cannot be used: the rows of {edition.file}"
                f" ({edition.state}) are damaged, or of another version of this program: {error}."
                f" Import the file again, or take it out: svc-tools book remove {edition.state}"
            ) from error
    laid.index()
    return laid


def _digest(shipped: str, own: OwnBook) -> str:
    """Of the shipped book, the files and the rows, in which earlier files may show."""
    whole = hashlib.sha256(shipped.encode())
    for edition in own.editions:
        line = f"{edition.state} {edition.kind} {edition.edition} {edition.digest}\n"
        whole.update(line.encode())
        for name, text in sorted(own.texts.get(edition.state, {}).items()):
            whole.update(f"{name} {hashlib.sha256(text.encode()).hexdigest()}\n".encode())
    return whole.hexdigest()


def _lay_state(book: Book, edition: Edition, own: OwnTables, *, continues: bool) -> None:
    """Put the tables of one state into a book that may still be changed."""
    state = edition.state
    shipped = tables_of(book, state)
    if continues:
        own = continued(shipped, own, edition.covers_from, edition.covers_until)
    _check_references(book, state, own)
    _drop_state(book, state, keep_state_rate=state not in {row.jurisdiction for row in own.rates})
    book.states = {**book.states, state: own.states[0]}
    book.sources = {**book.sources, **{row.id: row for row in own.sources}}
    book.jurisdictions = {
        **book.jurisdictions,
        **{row.id: row for row in own.jurisdictions},
    }
    book.areas = {**book.areas, **{row.id: row for row in own.areas}}
    book.rates = {**book.rates, **by_jurisdiction(own.rates)}


def _check_references(book: Book, state: str, own: OwnTables) -> None:
    """See that all that a lookup follows leads somewhere.

    Raises:
        ValueError: a row names another that is not there.
    """
    sources = {row.id for row in own.sources}
    levied = {row.jurisdiction for row in own.rates}
    known = {row.id for row in own.jurisdictions} | {state}
    lost = {row.source for row in own.rates} - sources
    lost |= levied - known
    lost |= {part for area in own.areas for part in area.components} - levied
    lost |= {
        fips for area in own.areas for fips in area.counties if (state, fips) not in book.counties
    }
    if lost:
        raise ValueError(f"rows name others that are not there: {', '.join(sorted(lost)[:5])}")


def _drop_state(book: Book, state: str, *, keep_state_rate: bool) -> None:
    gone = {key for key, row in book.jurisdictions.items() if row.state == state}
    if keep_state_rate:
        gone.discard(state)
    book.jurisdictions = {k: row for k, row in book.jurisdictions.items() if k not in gone}
    book.rates = {key: rows for key, rows in book.rates.items() if key not in gone}
    book.areas = {key: area for key, area in book.areas.items() if area.state != state}


def tables_of(book: Book, state: str) -> OwnTables:
    """The rows of one state of a book."""
    jurisdictions = [row for row in book.jurisdictions.values() if row.state == state]
    rates = [row for one in jurisdictions for row in book.rates.get(one.id, ())]
    return OwnTables(
        [book.states[state]],
        [book.sources[key] for key in dict.fromkeys(row.source for row in rates)],
        jurisdictions,
        [area for area in book.areas.values() if area.state == state],
        rates,
    )
