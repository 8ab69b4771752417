"""Importing official files into the user's own book, each as a whole or not at all."""

from __future__ import annotations

import hashlib
import json
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from svc_tools.base.progress import stage
from svc_tools.service.ratebook import load_book
from svc_tools.service.ratebook.changes import Changes, changes
from svc_tools.service.ratebook.imports.boundary_import import import_boundary
from svc_tools.service.ratebook.imports.database import (
    Edition,
    ImportKind,
    editions,
    failures_named,
    open_own_book,
    replacing,
)
from svc_tools.service.ratebook.imports.draft import Finding
from svc_tools.service.ratebook.imports.forms import recognise
from svc_tools.service.ratebook.imports.overlay import (
    CONTINUES,
    OwnBook,
    continued,
    lay_over,
    own_tables,
)
from svc_tools.service.ratebook.imports.reading import (
    FileForm,
    FileRefused,
    OwnTables,
    Recognised,
    named_quarter,
    quarter_begin,
    quarter_end,
    read_text,
)
from svc_tools.service.ratebook.imports.sst import read_sst_rates
from svc_tools.service.ratebook.imports.states import STATE_FILES
from svc_tools.service.ratebook.own import OwnBookError

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import date
    from pathlib import Path

    from svc_tools.base.progress import Progress
    from svc_tools.service.ratebook.book import Book
    from svc_tools.service.ratebook.imports.reading import ReadRateFile

_READERS: Mapping[FileForm, Callable[[str, Recognised, Book], ReadRateFile]] = {
    "sst_rates": read_sst_rates,
    **{state_file.form: state_file.read for state_file in STATE_FILES},
}

_ENOUGH_PLACES = 20
"""Fewer places with a tax than this may well be halved by law."""

_OFFICIAL = frozenset(("official", "second_hand"))
"""Whose figures a state published, in its own file or as others re-express it."""


@dataclass(frozen=True, slots=True)
class Imported:
    """The result of importing one file.

    Attributes:
        edition: the edition it is in the own book.
        before: the quarter of what it takes the place of; `None` where there was nothing.
        replaced_own: whether that was an edition of the own book too, not of the shipped one.
        repeated: whether the same file was there already: nothing was done, and the findings are
            the rows that were left out then.
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
    fewer: bool = False,
    progress: Progress | None = None,
) -> Iterator[Imported]:
    """Import files one after the other, the rates of a state before its boundaries.

    Every file is recognized before the first is imported. A file that was yielded is in the book,
    whatever happens to the files after it.

    Args:
        paths: the files.
        own: the own book; created if it does not exist.
        today: the day they are imported.
        edition: the quarter of files that do not say it.
        force: import an older edition than the one present, or the same file again.
        fewer: import a file that has less than half of the places, or of the boundary records,
            of what it takes the place of; without it such a file is taken for one cut off.
        progress: shows the bytes read, a stage for each file.

    Yields:
        The result for each file, when it is in the book.

    Raises:
        FileRefused: a file is not known, older than what is present or far smaller, or a line is
            broken.
        OwnBookError: the own book cannot be read or written.
    """
    shipped = load_book()
    fips = {row.fips: state for state, row in shipped.states.items()}
    found = [recognise(path, fips, edition=edition) for path in dict.fromkeys(paths)]
    found.sort(key=lambda file: file.kind == "boundary")  # stable: the rest as given
    with closing(open_own_book(own, write=True)) as connection, failures_named(own):
        for file in found:
            how = _How(today, force, fewer, progress)
            imported = _import(connection, own, file, shipped, how)
            if not imported.repeated:
                _store_left_out(connection, imported)
            yield imported


class _How(NamedTuple):
    """What holds for every file of an import; see `import_files`."""

    today: date
    force: bool
    fewer: bool
    progress: Progress | None


def _import(
    connection: sqlite3.Connection, own: Path, found: Recognised, shipped: Book, how: _How
) -> Imported:
    """Import one official file into the own book, in place of the edition that it has of its kind.

    Nothing is written before the new rates were laid over the shipped book.

    Raises:
        FileRefused: it is older, cannot be used, or has far fewer places than before.
    """
    present = {(edition.state, edition.kind): edition for edition in editions(connection)}
    former = present.get((found.state, found.kind))
    texts = own_tables(connection, former.id) if former and former.kind == "rates" else {}
    was = _with(shipped, own, former, texts)
    if former and was and not how.force and former.digest == _file_digest(found.path):
        left_out = _stored_left_out(connection, former)
        return Imported(former, former.edition, replaced_own=True, repeated=True, findings=left_out)
    before = former.edition if former else _shipped_edition(shipped, found.state, found.kind)
    if before and found.edition < before and not how.force:
        whose = "your own book" if former else "the shipped book"
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
        quarter_end(found.edition),
        "",
        how.today,
    )
    if found.kind == "boundary":
        return _import_boundary(connection, own, found, (new, former), how)
    with stage(how.progress, f"Importing {new.file}", found.path.stat().st_size, "bytes") as shown:
        text, data = read_text(found.path)
        shown.advance(len(data))
    digest = hashlib.sha256(data).hexdigest()
    # what is known of location codes goes on, elsewhere a file stands for itself
    base = was if was and found.state == "WA" else shipped
    reading = _READERS[found.form](text, found, base)
    new = replace(new, covers_from=reading.covers_from, digest=digest, rows=reading.rows)
    if former and was:
        new, reading = _after(former, texts, new, reading)
    texts = reading.tables.texts()
    if reading.continues:
        texts[CONTINUES] = ""
    # laid over the shipped book before it is stored: what is stored can be read
    try:
        now = lay_over(shipped, OwnBook(own, (new,), {new.state: texts}))
    except OwnBookError as error:
        raise FileRefused(f"{new.file}: cannot be used: {error.__cause__}") from error
    if not how.fewer:
        _refuse_fewer(was or shipped, now, new)
    with replacing(connection, new, instead_of=former.id if former else 0) as number:
        connection.executemany(
            "INSERT INTO tables (edition_id, name, csv) VALUES (?, ?, ?)",
            [(number, name, text) for name, text in texts.items()],
        )
    return Imported(
        replace(new, id=number),
        before,
        replaced_own=former is not None,
        changes=changes(was or shipped, now, new.state),
        findings=tuple(reading.report.findings),
    )


_LEFT_OUT = "left_out"
"""Name of the entry of an edition with the rows of its file that were left out."""


def _store_left_out(connection: sqlite3.Connection, imported: Imported) -> None:
    rows = [
        (found.subject, found.message) for found in imported.findings if found.kind == _LEFT_OUT
    ]
    if rows:
        connection.execute(
            "INSERT OR REPLACE INTO tables (edition_id, name, csv) VALUES (?, ?, ?)",
            (imported.edition.id, _LEFT_OUT, json.dumps(rows)),
        )


def _stored_left_out(connection: sqlite3.Connection, edition: Edition) -> tuple[Finding, ...]:
    text = own_tables(connection, edition.id).get(_LEFT_OUT, "[]")
    return tuple(Finding("left_out", edition.file, *row) for row in json.loads(text))


def _refuse_fewer(was: Book, now: Book, new: Edition) -> None:
    """Refuse a file with which most of a state's places would lose their tax: it may be cut off.

    Raises:
        FileRefused: it has less than half of the places with a local tax that there are now.
    """
    before, after = (_taxing_places(book, new.state) for book in (was, now))
    if before >= _ENOUGH_PLACES and after * 2 < before:
        places = "place" if after == 1 else "places"
        raise FileRefused(
            f"{new.file}: {after:,} {places} with a local tax, where the book has {before:,} for"
            f" {new.state}: it may be cut off, or a part only. Download it again, or take it as it"
            " is with --force"
        )


def _taxing_places(book: Book, state: str) -> int:
    """How many areas of a state have a local tax that has not ended."""
    taxing = {
        key
        for key, rows in book.rates.of(state).items()
        if key != state and rows[-1].units and rows[-1].end is None
    }
    areas = book.areas.of(state).values()
    return sum(not taxing.isdisjoint(area.components) for area in areas)


def _with(
    shipped: Book, own: Path, former: Edition | None, texts: Mapping[str, str]
) -> Book | None:
    """The shipped book with the present edition over it; `None` where that is damaged."""
    if former is None or former.kind == "boundary":
        return shipped
    try:
        return lay_over(shipped, OwnBook(own, (former,), {former.state: texts}))
    except OwnBookError:
        return None  # this import repairs it


def _file_digest(path: Path) -> str:
    """Sha256 of a file, in hex, without holding it in memory."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise FileRefused(f"{path}: cannot be read: {error.strerror or error}") from error


def _after(
    former: Edition, texts: Mapping[str, str], new: Edition, reading: ReadRateFile
) -> tuple[Edition, ReadRateFile]:
    """A file of single quarters behind an own edition of earlier ones keeps the earlier ones."""
    if not (reading.continues and CONTINUES in texts and former.covers_from < new.covers_from):
        return new, reading
    tables = continued(OwnTables.read(texts), reading.tables, new.covers_from, new.covers_until)
    return replace(new, covers_from=former.covers_from), replace(reading, tables=tables)


def newer_shipped(edition: Edition) -> str | None:
    """The quarter of the shipped book's figures for a state, where they are newer than a file's.

    The file is used until it is replaced or removed.
    """
    shipped = _shipped_edition(load_book(), edition.state, edition.kind)
    return shipped if shipped and shipped > edition.edition else None


def _shipped_edition(shipped: Book, state: str, kind: ImportKind) -> str | None:
    """The quarter of the newest official local rates that the shipped book has for a state.

    `None` where most of its rates there are not official: a file of any quarter is better.
    """
    if kind == "boundary":
        return None
    found = [
        shipped.sources[row.source]
        for key, rows in shipped.rates.of(state).items()
        if key != state
        for row in rows
    ]
    official = [source for source in found if source.trust in _OFFICIAL]
    if len(official) * 2 < len(found):
        return None
    quarters = {named_quarter(source.edition) for source in official}
    return max((quarter for quarter in quarters if quarter), default=None)


def _import_boundary(
    connection: sqlite3.Connection,
    own: Path,
    found: Recognised,
    editions_: tuple[Edition, Edition | None],
    how: _How,
) -> Imported:
    """Import a boundary file into the own book, with findings on what has no exact rate."""
    new, former = editions_
    result = import_boundary(
        connection,
        found.path,
        new,
        load_book(own=own),
        how.progress,
        least=former.rows // 2 if former and not how.fewer else 0,
    )
    imported = next(edition for edition in editions(connection) if edition.id == result.edition_id)
    name = found.path.name
    findings = [Finding("note", name, found.state, note) for note in result.notes]
    if result.unsure_records:
        vague = f"{result.unsure_records:,} address records without their houses"
        rule = "each may hold any house of its street, and none for sure"
        findings.append(Finding("settled", name, vague, rule))
        findings += [Finding("settled", name, f"line {n}", fault) for n, fault in result.unsure]
    findings += [
        Finding(
            "left_out",
            found.path.name,
            f"special district {code}",
            f"has no rate in the rate file and is named by {count} of the sums of rates:"
            " places there have no exact rate",
        )
        for code, count in sorted(result.without_rate.items())
    ]
    return Imported(
        imported,
        former.edition if former else None,
        replaced_own=former is not None,
        findings=tuple(findings),
    )
