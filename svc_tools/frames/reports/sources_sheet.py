"""The Sources sheet of the workbook: where rates and tax come from, and what each word means."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc_tools.frames.reports.book import Sheet
    from svc_tools.frames.reports.report_facts import Facts

__all__ = ["write_sources"]

_LAST_SOURCE_COLUMN = 5
_PER_TEXT, _PER_MEANING, _PER_SOURCE_ADVICE = 150, 62, 48
"""Characters of a line: from the second column to the last, of a meaning, of an advice."""


def write_sources(sheet: Sheet, facts: Facts) -> None:
    """Fill `sheet`: sources, the lookup, the terms of the tax, columns and codes in words."""
    sheet.widths(30, 26, 10, 16, 42, 44)
    sheet.put(0, 0, "Sources and terms", "title")
    row = _source_header(
        sheet, 2, "Sources of the rates", ("Edition", "", ">Rows", ">Tax", "Source")
    )
    for source in facts.summary.sources:
        sheet.put(row, 0, source.edition)
        sheet.put(row, 2, source.rows, "count")
        sheet.put(row, 3, source.tax, "money")
        sheet.put(row, 4, source.source, "indented")
        row += 1
    row = _texts(sheet, row + 1, "How the rates were looked up", facts.lookup)
    if facts.terms:
        row = _texts(sheet, row, "How the tax was computed", facts.terms)
    row = _codes(sheet, row, facts)
    _texts(sheet, row, "The columns that were added to the lines", facts.columns)
    sheet.on_paper(repeated_row=None)


def _source_header(sheet: Sheet, row: int, title: str, names: Sequence[str]) -> int:
    sheet.put(row, 0, title, "section")
    for column in range(_LAST_SOURCE_COLUMN + 1):
        name = names[column] if column < len(names) else ""
        sheet.put(row + 1, column, name.lstrip(">") or " ", _look(name))
    return row + 2


_INDENTED = frozenset({"Source", "Meaning"})


def _look(name: str) -> str:
    return "header_right" if ">" in name else "header_indented" if name in _INDENTED else "header"


def _texts(sheet: Sheet, row: int, title: str, texts: Sequence[tuple[str, str]]) -> int:
    row = _source_header(sheet, row, title, ())
    for name, text in texts:
        sheet.put(row, 0, name)
        lines = max(1, len(wrap(text, _PER_TEXT)))
        sheet.paragraph(row, (1, _LAST_SOURCE_COLUMN), text, lines=lines)
        row += 1
    return row + 1


def _codes(sheet: Sheet, row: int, facts: Facts) -> int:
    names = ("Code", "Column", ">Rows", "Meaning", "", "What to do")
    row = _source_header(sheet, row, "The codes that occur in the lines", names)
    for code in facts.codes:
        sheet.put(row, 0, code.code)
        sheet.put(row, 1, code.column)
        sheet.put(row, 2, code.rows, "count")
        meaning, to_do = wrap(code.meaning, _PER_MEANING), wrap(code.to_do, _PER_SOURCE_ADVICE)
        lines = max(len(meaning), len(to_do), 1)
        sheet.paragraph(row, (3, 4), code.meaning, lines=lines)
        sheet.put(row, 5, code.to_do, "wrapped")
        row += 1
    return row + 1
