"""What can go wrong with the user's own book and the files it is made of.

FileRefused              a file cannot be imported, and why
└── BrokenLine           one of its lines does not hold what it should: nothing of it is kept
OwnBookError             the book itself cannot be read or written
OwnBookChanged           the book holds other editions than the one in memory
"""

from __future__ import annotations

__all__ = ["BrokenLine", "FileRefused", "OwnBookChanged", "OwnBookError"]


class FileRefused(ValueError):  # noqa: N818 - said to a person as it is
    """A file cannot be imported; the message names it, says why and what to do."""


class BrokenLine(FileRefused):
    """A line of a file does not hold what it should.

    Attributes:
        file: the file's name.
        line: the number of the line, from 1.
    """

    def __init__(self, file: str, line: int, given: str, expected: str) -> None:
        super().__init__(
            f"{file}, line {line}: {given}; expected {expected}. Nothing of it is kept"
        )
        self.file = file
        self.line = line


class OwnBookError(ValueError):
    """The own book cannot be read or written: damaged, of another program, locked, disk full."""


class OwnBookChanged(Exception):  # noqa: N818 - an event, not a fault: load the book again
    """The own book holds other editions than the book in memory was loaded with.

    Load the book again (`load_book(own=...)`) and ask once more.
    """
