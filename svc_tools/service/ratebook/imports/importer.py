"""Importing official files into the user's own book, each as a whole or not at all."""

from __future__ import annotations

import hashlib
import json
import re
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from svc_tools.base.progress import stage
from svc_tools.service.ratebook import load_book
from svc_tools.service.ratebook.imports.boundary_import import import_boundary
from svc_tools.service.ratebook.imports.database import (
    Edition,
    Kind,
    editions,
    failures_named,
    open_own_book,
    replacing,
)
from svc_tools.service.ratebook.imports.draft import Finding
from svc_tools.service.ratebook.imports.overlay import (
    CONTINUES,
    OwnBook,
    continued,
    lay_over,
    own_tables,
)
from svc_tools.service.ratebook.imports.reading import (
    BrokenLine,
    FileRefused,
    Form,
    OwnTables,
    Recognised,
    column_name,
    csv_lines,
    decoded,
    named_quarter,
    quarter_begin,
    quarter_end,
    read_quarter,
    read_text,
    row_on,
    shown,
    without_blank_end,
)
from svc_tools.service.ratebook.imports.sst import RATE_COLUMNS, read_sst_rates
from svc_tools.service.ratebook.imports.states import STATE_FILES
from svc_tools.service.ratebook.names import STATE_CODES
from svc_tools.service.ratebook.own import OwnBookError

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from svc_tools.base.progress import Progress
    from svc_tools.service.ratebook.book import Book
    from svc_tools.service.ratebook.imports.reading import Reading
    from svc_tools.service.ratebook.schema import RateRow

_READERS: Mapping[Form, Callable[[str, Recognised, Book], Reading]] = {
    "sst_rates": read_sst_rates,
    **{one.form: one.read for one in STATE_FILES},
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
    found.sort(key=lambda one: one.kind == "boundary")  # stable: the rest as given
    with closing(open_own_book(own, write=True)) as connection, failures_named(own):
        for one in found:
            how = _How(today, force, fewer, progress)
            imported = _import(connection, own, one, shipped, how)
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
    present = {(one.state, one.kind): one for one in editions(connection)}
    mine = present.get((found.state, found.kind))
    texts = own_tables(connection, mine.id) if mine and mine.kind == "rates" else {}
    was = _with(shipped, own, mine, texts)
    if mine and was and not how.force and mine.digest == _file_digest(found.path):
        left_out = _stored_left_out(connection, mine)
        return Imported(mine, mine.edition, replaced_own=True, repeated=True, findings=left_out)
    before = mine.edition if mine else _shipped_edition(shipped, found.state, found.kind)
    if before and found.edition < before and not how.force:
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
        quarter_end(found.edition),
        "",
        how.today,
    )
    if found.kind == "boundary":
        return _import_boundary(connection, own, found, (new, mine), how)
    with stage(how.progress, f"Importing {new.file}", found.path.stat().st_size, "bytes") as shown:
        text, data = read_text(found.path)
        shown.advance(len(data))
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
    # laid over the shipped book before it is stored: what is stored can be read
    try:
        now = lay_over(shipped, OwnBook(own, (new,), {new.state: texts}))
    except OwnBookError as error:
        raise FileRefused(f"{new.file}: cannot be used: {error.__cause__}") from error
    if not how.fewer:
        _refuse_fewer(was or shipped, now, new)
    with replacing(connection, new, instead_of=mine.id if mine else 0) as number:
        connection.executemany(
            "INSERT INTO tables (edition_id, name, csv) VALUES (?, ?, ?)",
            [(number, name, text) for name, text in texts.items()],
        )
    return Imported(
        replace(new, id=number),
        before,
        replaced_own=mine is not None,
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


def _with(shipped: Book, own: Path, mine: Edition | None, texts: Mapping[str, str]) -> Book | None:
    """The shipped book with the present edition over it; `None` where that is damaged."""
    if mine is None or mine.kind == "boundary":
        return shipped
    try:
        return lay_over(shipped, OwnBook(own, (mine,), {mine.state: texts}))
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
    mine: Edition, texts: Mapping[str, str], new: Edition, reading: Reading
) -> tuple[Edition, Reading]:
    """A file of single quarters behind an own edition of earlier ones keeps the earlier ones."""
    if not (reading.continues and CONTINUES in texts and mine.covers_from < new.covers_from):
        return new, reading
    tables = continued(OwnTables.read(texts), reading.tables, new.covers_from, new.covers_until)
    return replace(new, covers_from=mine.covers_from), replace(reading, tables=tables)


def newer_shipped(edition: Edition) -> str | None:
    """The quarter of the shipped book's figures for a state, where they are newer than a file's.

    The file is used until it is replaced or removed.
    """
    shipped = _shipped_edition(load_book(), edition.state, edition.kind)
    return shipped if shipped and shipped > edition.edition else None


def _shipped_edition(shipped: Book, state: str, kind: Kind) -> str | None:
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
    official = [one for one in found if one.trust in _OFFICIAL]
    if len(official) * 2 < len(found):
        return None
    quarters = {named_quarter(one.edition) for one in official}
    return max((quarter for quarter in quarters if quarter), default=None)


def _import_boundary(
    connection: sqlite3.Connection,
    own: Path,
    found: Recognised,
    editions_: tuple[Edition, Edition | None],
    how: _How,
) -> Imported:
    new, mine = editions_
    result = import_boundary(
        connection,
        found.path,
        new,
        load_book(own=own),
        how.progress,
        least=mine.rows // 2 if mine and not how.fewer else 0,
    )
    imported = next(one for one in editions(connection) if one.id == result.edition_id)
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
        mine.edition if mine else None,
        replaced_own=mine is not None,
        findings=tuple(findings),
    )


FORMS: dict[Form, str] = {
    "sst_rates": "SST rate file: 9 columns without a header, such as"
    " 27,00,053,0.0015,0.0015,0.0015,0.0015,20070101,29991231",
    "sst_boundary": "SST boundary file: 29 columns and more, the first is Z, 4 or A",
    **{one.form: one.looks for one in STATE_FILES},
}
"""Every form that is known, and what it looks like."""

_HEAD_BYTES = 256 * 1024
_HEAD_LINES = 25
"""How far the form is looked for: a first line may be damaged, a title may come first."""

_BOUNDARY_COLUMNS = 29
_STATE_COLUMN = 22
_EIGHT_DIGITS = re.compile(r"\d{8}", re.ASCII)
_FIPS = re.compile(r"\d{1,2}", re.ASCII)
_TX_PERIOD = re.compile(r"(?:19|20)\d{2}[1-4]", re.ASCII)
_TX_RATE = re.compile(r"0?\.\d+", re.ASCII)
_SST_NAME = re.compile(r"(?P<state>[A-Z]{2})(?P<kind>[RB])(?P<year>\d{4})Q[1-4]", re.ASCII)
_BINARY = {
    b"\x1f\x8b": "compressed (gzip): unpack it",
    b"BZh": "compressed (bzip2): unpack it",
    b"\xfd7zXZ\x00": "compressed (xz): unpack it",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive: unpack it",
    b"Rar!": "a RAR archive: unpack it",
    b"\xff\xfe": "text in UTF-16: save it as UTF-8, or download it again",
    b"\xfe\xff": "text in UTF-16: save it as UTF-8, or download it again",
    b"PK\x03\x04": "a ZIP archive or a spreadsheet: unpack it, or save its sheet as CSV",
    b"\xd0\xcf\x11\xe0": "an old spreadsheet: save its sheet as CSV",
    b"%PDF": "a PDF: the figures are needed as CSV or text",
    b"SQLite format 3": "a database",
}


def recognise(path: Path, fips: Mapping[str, str], *, edition: str | None = None) -> Recognised:
    """Tell what a file is, of which state and of which quarter.

    Args:
        path: the file.
        fips: two-digit FIPS code -> two-letter code of the states.
        edition: the quarter, where neither the content nor the name says it.

    Raises:
        FileRefused: it cannot be read, it has no known form, its state is unknown, or
            its quarter is not known, or contradicts the one given.
    """
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
            whole = not file.read(1)
    except OSError as error:
        raise FileRefused(f"{path}: cannot be read: {error.strerror or error}") from error
    for magic, what in _BINARY.items():
        if head.startswith(magic):
            raise FileRefused(f"{path.name} is {what}")
    if not whole:
        head = head[: head.rfind(b"\n") + 1] or head  # the last line of the head is cut
    form, state, quarter = recognise_text(decoded(head), path.name, fips)
    for one in STATE_FILES:
        if one.form == form and one.quarter is not None:
            quarter = one.quarter(read_text(path)[0], path.name)
    return Recognised(path, form, state, _quarter_of_file(path.name, quarter, edition))


def recognise_text(text: str, name: str, fips: Mapping[str, str]) -> tuple[Form, str, str | None]:
    """The form, the state and (where the text says it) the quarter of a file's first lines.

    Raises:
        FileRefused: as `recognise`.
    """
    tabbed = [line.split("\t") for line in text.split("\n")[:_HEAD_LINES] if "\t" in line]
    for fields in tabbed[:1]:
        if len(fields) > 4 and _TX_PERIOD.fullmatch(fields[1]) and _TX_RATE.fullmatch(fields[4]):  # noqa: PLR2004 - the fifth is the rate
            return "tx_taxrates", "TX", read_quarter(fields[1])
    rows = _head_rows(text, name)
    for fields in rows:
        columns = {column_name(field) for field in fields}
        for one in STATE_FILES:
            if one.columns and one.columns.keys() <= columns:
                return one.form, one.state, None
    for fields in rows:
        form_state = _headerless(fields)
        if form_state:
            form, code = form_state
            return form, _state_of_code(code, name, fips), None
    raise FileRefused(_unknown_form(text, name))


def _head_rows(text: str, name: str) -> list[list[str]]:
    rows: list[list[str]] = []
    try:
        for _, fields in csv_lines(text, name):
            rows.append(fields)
            if len(rows) == _HEAD_LINES:
                break
    except BrokenLine:
        pass  # what was read until there decides
    return rows


def _headerless(fields: Sequence[str]) -> tuple[Form, str] | None:
    """The form of one line of an SST file and its state's FIPS code."""
    short = without_blank_end(fields, RATE_COLUMNS)
    if len(short) == RATE_COLUMNS:
        dates = all(_EIGHT_DIGITS.fullmatch(field.strip()) for field in short[7:])
        if dates and all(_FIPS.fullmatch(field.strip()) for field in short[:2]):
            return "sst_rates", fields[0].strip().zfill(2)
    elif len(fields) >= _BOUNDARY_COLUMNS and fields[0].strip().upper() in {"Z", "4", "A"}:
        code = fields[_STATE_COLUMN].strip()
        if _EIGHT_DIGITS.fullmatch(fields[1].strip()) and _FIPS.fullmatch(code):
            return "sst_boundary", code.zfill(2)
    return None


def _state_of_code(code: str, name: str, fips: Mapping[str, str]) -> str:
    state = fips.get(code)
    if state is None:
        raise FileRefused(
            f"{name}: its rows are of the state {code}, which is no state's FIPS code"
        )
    named = _SST_NAME.search(name)
    if named and named["state"] != state and named["state"] in STATE_CODES.values():
        raise FileRefused(
            f"{name}: its name says {named['state']}, its rows are of {state} (FIPS {code});"
            " download it again, or rename it if the rows are right"
        )
    return state


def _quarter_of_file(name: str, stated: str | None, given: str | None) -> str:
    """The quarter of a file: by its content, else by its name, else as given."""
    quarter = read_quarter(given) if given else None
    if stated and quarter and stated != quarter:
        raise FileRefused(f"{name} is of {stated} by its own first line, not of {quarter}")
    named = named_quarter(name)
    if not stated and named and quarter and named != quarter:
        raise FileRefused(
            f"{name} is of {named} by its name, not of {quarter}: leave --edition out, or rename"
            " the file if its name is wrong"
        )
    found = stated or named or quarter
    if found is None:
        raise FileRefused(
            f"{name}: neither its content nor its name has its quarter; give it, for"
            " example: --edition 2026Q3"
        )
    return found


def _unknown_form(text: str, name: str) -> str:
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    known = "\n".join(f"  {what}" for what in FORMS.values())
    if not first:
        return f"{name} is empty; expected one of\n{known}"
    what = " (a web page)" if first.lower().startswith(("<!doctype", "<html")) else ""
    return f"{name} has no known form{what}. It begins {shown(first)}; expected\n{known}"


@dataclass(frozen=True, slots=True)
class RateChange:
    """One rate that differs.

    Attributes:
        jurisdiction: id of who levies it, such as `MN:county:053`.
        name: its name.
        before: units of 10^-5 in the book before; `None` where its rate was not known.
        after: units in the book after, likewise.
        since: the first day on which they differ.
    """

    jurisdiction: str
    name: str
    before: int | None
    after: int | None
    since: date


@dataclass(frozen=True, slots=True)
class Changes:
    """How the rates of a state in two books differ.

    Attributes:
        added: names of jurisdictions that only the later book has.
        removed: names of jurisdictions that only the earlier one has.
        rates: rates that differ, the latest first.
        earliest_before: the first day the earlier book has a rate of the state for.
        earliest_after: likewise for the later book.
    """

    added: tuple[str, ...]
    removed: tuple[str, ...]
    rates: tuple[RateChange, ...]
    earliest_before: date | None
    earliest_after: date | None


def changes(before: Book, after: Book, state: str) -> Changes:
    """Compare the rates of a state in two books.

    A rate that only one of two books knows on a day is no change of it: a longer history, or one
    that ended. Nor is one that is split in another way while the sum of its areas stays.
    """
    old = {key: rows for key, rows in before.rates.items() if _is_of(before, key, state)}
    new = {key: rows for key, rows in after.rates.items() if _is_of(after, key, state)}
    found = [
        RateChange(key, after.jurisdictions[key].name, was, now, day)
        for key in old.keys() & new.keys()
        for day, was, now in _differences(old[key], new[key])
        if None in {was, now} or not _split_only(before, after, key, day)
    ]
    found.sort(key=lambda change: (-change.since.toordinal(), change.name, change.jurisdiction))
    return Changes(
        tuple(after.jurisdictions[key].name for key in new if key not in old),
        tuple(before.jurisdictions[key].name for key in old if key not in new),
        tuple(found),
        _earliest(old),
        _earliest(new),
    )


def _is_of(book: Book, key: str, state: str) -> bool:
    return book.jurisdictions[key].state == state


_Pair: TypeAlias = tuple[int | None, int | None]


def _differences(
    old: tuple[RateRow, ...], new: tuple[RateRow, ...]
) -> list[tuple[date, int | None, int | None]]:
    """The days from which two histories have different rates, and the rates."""
    found: list[tuple[date, int | None, int | None]] = []
    last: _Pair | None = None
    for day in sorted({row.begin or date.min for row in (*old, *new)}):
        rows = row_on(old, day), row_on(new, day)
        was, now = (row.units if row and row.use != "unknown" else None for row in rows)
        pair = (was, now) if all(rows) and was != now else None
        if pair and pair != last:
            found.append((day, *pair))
        last = pair
    return found


def _split_only(before: Book, after: Book, key: str, day: date) -> bool:
    """Whether every area that a rate is a part of has the same sum in both books."""
    state = after.jurisdictions[key].state
    areas = [a for a in after.areas.values() if a.state == state and key in a.components]
    return bool(areas) and all(
        area.id in before.areas
        and _sum_on(before, before.areas[area.id].components, day)
        == _sum_on(after, area.components, day)
        for area in areas
    )


def _sum_on(book: Book, parts: Iterable[str], day: date) -> int:
    return sum(_units_on(book.rates[part], day) or 0 for part in parts)


def _units_on(rows: tuple[RateRow, ...], day: date) -> int | None:
    row = row_on(rows, day)
    return row.units if row else None


def _earliest(rates: dict[str, tuple[RateRow, ...]]) -> date | None:
    return min((row.begin for rows in rates.values() for row in rows if row.begin), default=None)
