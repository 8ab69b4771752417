"""What a cell shows where there is no value: typed errors that every adapter words its own way."""

from __future__ import annotations

__all__ = ["PARTIAL", "BadValueError", "CellError", "NotAvailableError"]

PARTIAL = "#PARTIAL"
"""What a cell shows, as text in every spreadsheet, where an answer lacks a part of the rate."""


class CellError(Exception):
    """A cell has no value; the message says why, in a sentence.

    - NotAvailableError: there is no answer (`#N/A`).
    - BadValueError: what was given cannot be used (`#VALUE!`).

    Attributes:
        message: what was given, what is expected, what to do. Never a key, never a stack trace.
        word: the status behind it, in capitals, for spreadsheets that know no errors of ours: their
            cells show "#WORD message".
    """

    def __init__(self, message: str, word: str) -> None:
        super().__init__(message)
        self.message = message
        self.word = word

    @property
    def text(self) -> str:
        """The error as a text that starts with "#"."""
        return f"#{self.word} {self.message}"


class NotAvailableError(CellError):
    """There is no answer: not found, refused, failed, elsewhere, or not asked for."""

    def __init__(self, message: str, word: str = "N/A") -> None:
        super().__init__(message, word)


class BadValueError(CellError):
    """An argument cannot be used as it was given."""

    def __init__(self, message: str, word: str = "INVALID") -> None:
        super().__init__(message, word)
