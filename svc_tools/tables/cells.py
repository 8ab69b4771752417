"""The text of a cell, and which cells are missing."""

from __future__ import annotations

import re

_FORMULA = re.compile(r'="((?:[^"]|"")*)"', re.DOTALL)
MISSING_WORDS = frozenset({"", "nan", "none", "null", "n/a", "na", "#n/a", "<na>", "nat", "-"})
"""Texts of a missing cell, in small letters."""


def text_of_formula(text: str) -> str:
    """The text of a cell that is written as a formula, `="02138"`: so spreadsheets keep its zeros.

    Any other text is returned as it is.
    """
    found = _FORMULA.fullmatch(text) if text.startswith('="') else None
    return text if found is None else found[1].replace('""', '"')


def text_of(value: object) -> str | None:
    """The cell's text with single blanks, `None` where it is missing in one of the usual ways."""
    try:
        if value is None or value != value:  # noqa: PLR0124 - NaN and NaT differ from themselves
            return None
    except (TypeError, ValueError):
        pass  # comparing pandas' NA raises: its text is among the words below
    text = " ".join(text_of_formula(str(value).strip()).split())
    return None if text.lower() in MISSING_WORDS else text
