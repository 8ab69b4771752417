"""What a file is, told by its content: the name is only asked for what the content does not say."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from svc_tools.service.ratebook.fips import STATE_CODES
from svc_tools.service.ratebook.imports import california, washington
from svc_tools.service.ratebook.imports.errors import BrokenLine, FileRefused
from svc_tools.service.ratebook.imports.lines import csv_lines, decoded, read_text, shown
from svc_tools.service.ratebook.imports.quarters import named_quarter, read_quarter
from svc_tools.service.ratebook.imports.sst_lines import RATE_COLUMNS, without_blank_end
from svc_tools.service.ratebook.imports.tables import column_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

__all__ = ["FORMS", "Form", "Recognised", "recognise", "recognise_text"]

Form = Literal["sst_rates", "sst_boundary", "cdtfa", "wa_dor", "wa_dor_table", "tx_taxrates"]

FORMS: dict[Form, str] = {
    "sst_rates": "SST rate file: 9 columns without a header, such as"
    " 27,00,053,0.0015,0.0015,0.0015,0.0015,20070101,29991231",
    "sst_boundary": "SST boundary file: 29 columns and more, the first is Z, 4 or A",
    "cdtfa": "California (CDTFA): a header with Location, Rate, County, Type",
    "wa_dor": "Washington (Department of Revenue): a header with Name, Code, State, Local, RTA,"
    " Rate, Effective Date, Expiration Date",
    "wa_dor_table": "Washington, several quarters: a header with effective, expiration,"
    " location_code, location, state_rate, local_rate, rta, total_rate",
    "tx_taxrates": "Texas (Comptroller's taxrates.txt): separated by tabs; its first line has the"
    " period and the state's rate",
}
"""Every form that is known, and what it looks like."""

_COLUMNS: Mapping[Form, Mapping[str, str]] = {
    "cdtfa": california.COLUMNS,
    "wa_dor": washington.PUBLISHED,
    "wa_dor_table": washington.TABLE,
}
_STATE_OF: Mapping[Form, str] = {
    "cdtfa": "CA",
    "wa_dor": "WA",
    "wa_dor_table": "WA",
    "tx_taxrates": "TX",
}

_HEAD = 256 * 1024
_LINES = 25
"""How far the form is looked for: a first line may be damaged, a title may come first."""

_BOUNDARY_COLUMNS = 29
_STATE_COLUMN = 22
_DATE = re.compile(r"\d{8}", re.ASCII)
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


@dataclass(frozen=True, slots=True)
class Recognised:
    """What a file is.

    Attributes:
        path: where it is.
        form: one of `FORMS`.
        state: the state it is of, two letters.
        edition: the quarter it is of, such as `2026Q2`.
    """

    path: Path
    form: Form
    state: str
    edition: str

    @property
    def kind(self) -> Literal["rates", "boundary"]:
        """What it holds, as editions are kept."""
        return "boundary" if self.form == "sst_boundary" else "rates"


def recognise(path: Path, fips: Mapping[str, str], *, edition: str | None = None) -> Recognised:
    """Tell what a file is, of which state and of which quarter.

    Args:
        path: the file.
        fips: two-digit FIPS code -> two-letter code of the states.
        edition: the quarter, where neither the content nor the name says it.

    Raises:
        FileRefused: it cannot be read, it is none of the known forms, its state is unknown, or
            its quarter is neither said nor given, or said and given differently.
    """
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
            whole = not file.read(1)
    except OSError as error:
        raise FileRefused(f"{path}: cannot be read: {error.strerror or error}") from error
    for magic, what in _BINARY.items():
        if head.startswith(magic):
            raise FileRefused(f"{path.name} is {what}")
    if not whole:
        head = head[: head.rfind(b"\n") + 1] or head  # the last line of the head is cut
    form, state, quarter = recognise_text(decoded(head), path.name, fips)
    if state == "WA" and form in _COLUMNS:
        quarter = washington.last_quarter(read_text(path)[0], path.name)
    return Recognised(path, form, state, _edition(path.name, quarter, edition))


def recognise_text(text: str, name: str, fips: Mapping[str, str]) -> tuple[Form, str, str | None]:
    """The form, the state and (where the text says it) the quarter of a file's first lines.

    Raises:
        FileRefused: as `recognise`.
    """
    tabbed = [line.split("\t") for line in text.split("\n")[:_LINES] if "\t" in line]
    for fields in tabbed[:1]:
        if len(fields) > 4 and _TX_PERIOD.fullmatch(fields[1]) and _TX_RATE.fullmatch(fields[4]):  # noqa: PLR2004 - the fifth is the rate
            return "tx_taxrates", "TX", read_quarter(fields[1])
    rows = _head_rows(text, name)
    for fields in rows:
        columns = {column_name(field) for field in fields}
        for form, needed in _COLUMNS.items():
            if needed.keys() <= columns:
                return form, _STATE_OF[form], None
    for fields in rows:
        form_state = _headerless(fields)
        if form_state:
            form, code = form_state
            return form, _state(code, name, fips), None
    raise FileRefused(_unknown(text, name))


def _head_rows(text: str, name: str) -> list[list[str]]:
    rows: list[list[str]] = []
    try:
        for _, fields in csv_lines(text, name):
            rows.append(fields)
            if len(rows) == _LINES:
                break
    except BrokenLine:
        pass  # what was read until there decides
    return rows


def _headerless(fields: Sequence[str]) -> tuple[Form, str] | None:
    """The form of one line of an SST file and its state's FIPS code."""
    short = without_blank_end(fields, RATE_COLUMNS)
    if len(short) == RATE_COLUMNS:
        dates = all(_DATE.fullmatch(field.strip()) for field in short[7:])
        if dates and all(_FIPS.fullmatch(field.strip()) for field in short[:2]):
            return "sst_rates", fields[0].strip().zfill(2)
    elif len(fields) >= _BOUNDARY_COLUMNS and fields[0].strip().upper() in {"Z", "4", "A"}:
        code = fields[_STATE_COLUMN].strip()
        if _DATE.fullmatch(fields[1].strip()) and _FIPS.fullmatch(code):
            return "sst_boundary", code.zfill(2)
    return None


def _state(code: str, name: str, fips: Mapping[str, str]) -> str:
    state = fips.get(code)
    if state is None:
        raise FileRefused(
            f"{name}: its rows are of the state {code}, which is no state's FIPS code"
        )
    said = _SST_NAME.search(name)
    if said and said["state"] != state and said["state"] in STATE_CODES.values():
        raise FileRefused(
            f"{name}: its name says {said['state']}, its rows are of {state} (FIPS {code});"
            " download it again, or rename it if the rows are right"
        )
    return state


def _edition(name: str, said: str | None, given: str | None) -> str:
    """The quarter of a file: what its content says, else its name, else what was given."""
    quarter = read_quarter(given) if given else None
    if said and quarter and said != quarter:
        raise FileRefused(f"{name} is of {said} by its own first line, not of {quarter}")
    named = named_quarter(name)
    if not said and named and quarter and named != quarter:
        raise FileRefused(
            f"{name} is of {named} by its name, not of {quarter}: leave --edition out, or rename"
            " the file if its name is wrong"
        )
    found = said or named or quarter
    if found is None:
        raise FileRefused(
            f"{name}: neither its content nor its name says the quarter it is of; say it, for"
            " example: --edition 2026Q3"
        )
    return found


def _unknown(text: str, name: str) -> str:
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    known = "\n".join(f"  {what}" for what in FORMS.values())
    if not first:
        return f"{name} is empty; expected one of\n{known}"
    what = " (a web page)" if first.lower().startswith(("<!doctype", "<html")) else ""
    return f"{name} is none of the known forms{what}. It begins {shown(first)}; expected\n{known}"
