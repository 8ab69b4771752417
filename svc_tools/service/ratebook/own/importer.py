"""Importing official files into the user's own book, each as a whole or not at all."""

from __future__ import annotations

import hashlib
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from svc_tools.service.ratebook.book import load_book
from svc_tools.service.ratebook.compile.report import Finding
from svc_tools.service.ratebook.own.boundary_import import import_boundary
from svc_tools.service.ratebook.own.california import read_california
from svc_tools.service.ratebook.own.changes import Changes, changes
from svc_tools.service.ratebook.own.continuing import continued
from svc_tools.service.ratebook.own.database import (
    Edition,
    Kind,
    editions,
    failures_named,
    open_own_book,
    replacing,
)
from svc_tools.service.ratebook.own.errors import FileRefused, OwnBookError
from svc_tools.service.ratebook.own.lines import read_text
from svc_tools.service.ratebook.own.overlay import (
    CONTINUES,
    OwnBook,
    lay_over,
    own_tables,
)
from svc_tools.service.ratebook.own.quarters import named_quarter, quarter_begin
from svc_tools.service.ratebook.own.reading import OwnTables, quarter_ends
from svc_tools.service.ratebook.own.recognise import recognise
from svc_tools.service.ratebook.own.sst_rates import read_sst_rates
from svc_tools.service.ratebook.own.texas import read_texas
from svc_tools.service.ratebook.own.washington import read_washington

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import date
    from pathlib import Path

    from svc_tools.service.ratebook.book import Book
    from svc_tools.service.ratebook.own.reading import Reading
    from svc_tools.service.ratebook.own.recognise import Form, Recognised

__all__ = ["Imported", "import_files", "newer_shipped"]

_READERS: Mapping[Form, Callable[[str, Recognised, Book], Reading]] = {
    "sst_rates": read_sst_rates,
    "cdtfa": read_california,
    "wa_dor": read_washington,
    "wa_dor_table": read_washington,
    "tx_taxrates": read_texas,
}
_OFFICIAL = frozenset(("official", "official_copy"))


@dataclass(frozen=True, slots=True)
class Imported:
    """What became of one file.

    Attributes:
        edition: the edition it is in the own book.
        before: the quarter of what it takes the place of; `None` where there was nothing.
        replaced_own: whether that was an edition of the own book too, not of the shipped one.
        repeated: whether the same file was there already: nothing was done.
        changes: how the rates of the state changed; `None` for boundaries.
        findings: rows left out and settled, with their lines, and what to know besides.
    """

    edition: Edition
    before: str | None
    replaced_own: bool
    repeated: bool = False
    changes: Changes | None = None
    findings: tuple[Finding, ...] = ()


def import_files(
    paths: Sequence[Path],
    own: Path,
    *,
    today: date,
    edition: str | None = None,
    force: bool = False,
    told: Callable[[Path, int, int], object] = lambda _path, _done, _total: None,
) -> Iterator[Imported]:
    """Import files one after the other, the rates of a state before its boundaries.

    Every file is looked at before the first is imported. What was handed out is in the book,
    whatever happens to the files after it.

    Args:
        paths: the files.
        own: the own book; made where there is none.
        today: the day they are imported.
        edition: the quarter of files that do not say it.
        force: import an older edition than the one present, or the same file again.
        told: called with a file, the bytes done and the bytes in all, again and again.

    Yields:
        What became of each file, when it is in the book.

    Raises:
        FileRefused: a file is not known or older than what is present, or a line is broken.
        OwnBookError: the own book cannot be read or written.
    """
    shipped = load_book()
    fips = {row.fips: state for state, row in shipped.states.items()}
    found = [recognise(path, fips, edition=edition) for path in dict.fromkeys(paths)]
    found.sort(key=lambda one: one.kind == "boundary")  # stable: the rest as given
    with closing(open_own_book(own, write=True)) as connection, failures_named(own):
        for one in found:
            yield _import(connection, own, one, shipped, today=today, force=force, told=told)


def _import(
    connection: sqlite3.Connection,
    own: Path,
    found: Recognised,
    shipped: Book,
    *,
    today: date,
    force: bool,
    told: Callable[[Path, int, int], object],
) -> Imported:
    present = {(one.state, one.kind): one for one in editions(connection)}
    mine = present.get((found.state, found.kind))
    texts = own_tables(connection, mine.id) if mine and mine.kind == "rates" else {}
    was = _with(shipped, own, mine, texts)
    if mine and was and not force and mine.digest == _digest(found.path):
        return Imported(mine, mine.edition, replaced_own=True, repeated=True)
    before = mine.edition if mine else _shipped_edition(shipped, found.state, found.kind)
    if before and found.edition < before and not force:
        whose = "your own book" if mine else "the shipped book"
        raise FileRefused(
            f"{found.path.name} is of {found.edition}, and {whose} has {before} for {found.state}:"
            " import a newer file, or take the older one with --force"
        )
    new = Edition(
        found.state,
        found.kind,
        found.path.name,
        found.edition,
        quarter_begin(found.edition),
        quarter_ends(found.edition),
        "",
        today,
    )
    if found.kind == "boundary":
        return _import_boundary(connection, own, found, (new, mine), told)
    text, data = read_text(found.path)
    digest = hashlib.sha256(data).hexdigest()
    # what is known of location codes goes on, elsewhere a file stands for itself
    base = was if was and found.state == "WA" else shipped
    reading = _READERS[found.form](text, found, base)
    new = replace(new, covers_from=reading.covers_from, digest=digest, rows=reading.rows)
    if mine and was:
        new, reading = _after(mine, texts, new, reading)
    texts = reading.tables.texts()
    if reading.continues:
        texts[CONTINUES] = ""
    # laid over the shipped book before it is kept: what is kept can be read
    try:
        now = lay_over(shipped, OwnBook(own, (new,), {new.state: texts}))
    except OwnBookError as error:
        raise FileRefused(f"{new.file}: cannot be used: {error.__cause__}") from error
    with replacing(connection, new) as number:
        connection.executemany(
            "INSERT INTO tables (edition_id, name, csv) VALUES (?, ?, ?)",
            [(number, name, text) for name, text in texts.items()],
        )
    told(found.path, len(data), len(data))
    return Imported(
        replace(new, id=number),
        before,
        replaced_own=mine is not None,
        changes=changes(was or shipped, now, new.state),
        findings=tuple(reading.report.findings),
    )


def _with(shipped: Book, own: Path, mine: Edition | None, texts: Mapping[str, str]) -> Book | None:
    """The shipped book with the present edition over it; `None` where that is damaged."""
    if mine is None or mine.kind == "boundary":
        return shipped
    try:
        return lay_over(shipped, OwnBook(own, (mine,), {mine.state: texts}))
    except OwnBookError:
        return None  # this import mends it


def _digest(path: Path) -> str:
    """Sha256 of a file, in hex, without holding it in memory."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise FileRefused(f"{path}: cannot be read: {error.strerror or error}") from error


def _after(
    mine: Edition, texts: Mapping[str, str], new: Edition, reading: Reading
) -> tuple[Edition, Reading]:
    """A file of single quarters behind an own edition of earlier ones keeps the earlier ones."""
    if not (reading.continues and CONTINUES in texts and mine.covers_from < new.covers_from):
        return new, reading
    tables = continued(OwnTables.read(texts), reading.tables, new.covers_from, new.covers_until)
    return replace(new, covers_from=mine.covers_from), replace(reading, tables=tables)


def newer_shipped(edition: Edition) -> str | None:
    """The quarter of the shipped book's figures for a state, where they are newer than a file's.

    The file answers all the same, until it is replaced or taken out.
    """
    shipped = _shipped_edition(load_book(), edition.state, edition.kind)
    return shipped if shipped and shipped > edition.edition else None


def _shipped_edition(shipped: Book, state: str, kind: Kind) -> str | None:
    """The quarter of the newest official local rates that the shipped book has for a state."""
    if kind == "boundary":
        return None
    sources = {
        shipped.sources[row.source]
        for key, rows in shipped.rates.items()
        if key != state and shipped.jurisdictions[key].state == state
        for row in rows
    }
    quarters = [named_quarter(one.edition) for one in sources if one.trust in _OFFICIAL]
    return max((quarter for quarter in quarters if quarter), default=None)


def _import_boundary(
    connection: sqlite3.Connection,
    own: Path,
    found: Recognised,
    editions_: tuple[Edition, Edition | None],
    told: Callable[[Path, int, int], object],
) -> Imported:
    new, mine = editions_
    result = import_boundary(
        connection,
        found.path,
        new,
        load_book(own=own),
        lambda done, total, _rows: told(found.path, done, total),
    )
    kept = next(one for one in editions(connection) if one.id == result.edition_id)
    findings = [Finding("note", found.path.name, found.state, note) for note in result.notes]
    findings += [
        Finding(
            "left_out",
            found.path.name,
            f"special district {code}",
            f"has no rate in the rate file and stands in {count} compositions: places there are"
            " not answered exactly",
        )
        for code, count in sorted(result.without_rate.items())
    ]
    return Imported(
        kept,
        mine.edition if mine else None,
        replaced_own=mine is not None,
        findings=tuple(findings),
    )
