"""The text of a cell."""

from __future__ import annotations

__all__ = ["text_of"]

_MISSING_WORDS = {"", "nan", "none", "null", "n/a", "na", "#n/a", "<na>", "nat", "-"}


def text_of(value: object) -> str | None:
    """The cell's text with single blanks, `None` where it is missing in one of the usual ways."""
    try:
        if value is None or value != value:  # noqa: PLR0124 - NaN and NaT differ from themselves
            return None
    except (TypeError, ValueError):
        pass  # of pandas' NA nobody can say: its text is among the words below
    text = " ".join(str(value).split())
    return None if text.lower() in _MISSING_WORDS else text
