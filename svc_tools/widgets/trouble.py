"""What went wrong, for a person: a sentence, what to do, and the reference for support. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc_sdk import SvcError
from svc_tools.config import ConfigurationError
from svc_tools.lookup.trouble import Trouble, one_line, told_of_service

if TYPE_CHECKING:
    from types import UnionType

__all__ = ["Trouble", "told"]

_OF_OTHERS: tuple[tuple[type[BaseException] | UnionType, str, str], ...] = (
    (ConfigurationError, "The configuration cannot be used", "Correct it, then open this again."),
    (ImportError, "A part is not installed", "Install it, then start the kernel again."),
    (FileNotFoundError, "There is no such file", "Check the path."),
    (
        PermissionError,
        "The file may not be used",
        "Close it in other programs, or choose another place; then try again.",
    ),
    (TimeoutError, "It took too long", "Try again."),
    (
        OSError,
        "A file cannot be read or written",
        "Check the place and the room left on the disk, then try again.",
    ),
    (ValueError | TypeError, "This cannot be used as it is", "Correct it, then try again."),
    (MemoryError, "The memory is full", "Close other notebooks, then try again."),
)
"""By kind, the narrower one first: what happened, and what to do."""


def told(error: BaseException) -> Trouble:
    """What to say of an error, of every kind that a tab can meet.

    An error that nobody foresaw is said to be one: with its kind, and without a stack trace.
    """
    if isinstance(error, SvcError):
        return told_of_service(error)
    text = one_line(str(error)) or type(error).__name__
    if isinstance(error, OSError):
        text = _of_file(error, text)
    for kind, title, what_to_do in _OF_OTHERS:
        if isinstance(error, kind):
            return Trouble(title, text, what_to_do)
    name = type(error).__name__
    return Trouble(
        "Something went wrong that was not foreseen",
        text if text == name else f"{name}: {text}",
        "Try again; if it stays so, report these words.",
    )


def _of_file(error: OSError, text: str) -> str:
    """The path, and why, without the number of the error."""
    if error.filename is None or not error.strerror:
        return text
    return f"{error.strerror}: {error.filename}"
