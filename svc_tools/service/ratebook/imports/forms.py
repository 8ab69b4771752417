"""Which form an official file has, of which state and of which quarter it is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from svc_tools.service.ratebook.imports.reading import (
    BrokenLine,
    FileForm,
    FileRefused,
    Recognised,
    column_name,
    csv_lines,
    decoded,
    named_quarter,
    read_quarter,
    read_text,
    shown,
    without_blank_end,
)
from svc_tools.service.ratebook.imports.sst import SST_RATE_COLUMNS
from svc_tools.service.ratebook.imports.states import STATE_FILES
from svc_tools.service.ratebook.names import STATE_CODES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


FORMS: dict[FileForm, str] = {
    "sst_rates": "SST rate file: 9 columns without a header, such as"
    " 27,00,053,0.0015,0.0015,0.0015,0.0015,20070101,29991231",
    "sst_boundary": "SST boundary file: 29 columns and more, the first is Z, 4 or A",
    **{state_file.form: state_file.looks for state_file in STATE_FILES},
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
    for state_file in STATE_FILES:
        if state_file.form == form and state_file.quarter is not None:
            quarter = state_file.quarter(read_text(path)[0], path.name)
    return Recognised(path, form, state, _quarter_of_file(path.name, quarter, edition))


def recognise_text(
    text: str, name: str, fips: Mapping[str, str]
) -> tuple[FileForm, str, str | None]:
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
        for state_file in STATE_FILES:
            if state_file.columns and state_file.columns.keys() <= columns:
                return state_file.form, state_file.state, None
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


def _headerless(fields: Sequence[str]) -> tuple[FileForm, str] | None:
    """The form of one line of an SST file and its state's FIPS code."""
    short = without_blank_end(fields, SST_RATE_COLUMNS)
    if len(short) == SST_RATE_COLUMNS:
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
