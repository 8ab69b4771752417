"""Text of published files: UTF-8 or the older Windows set, with or without a byte order mark."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from svc_tools.service.ratebook.imports.errors import BrokenLine, FileRefused

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["LARGEST", "csv_lines", "decoded", "read_text", "shown", "tab_lines"]

LARGEST = 64 * 1024 * 1024
"""Bytes that a rate file may have: the largest published ones have a few millions."""

_SHOWN = 80


def shown(text: str) -> str:
    """A text for a message: quoted, and cut where it is long."""
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}...")


def decoded(data: bytes) -> str:
    """The text of bytes: UTF-8 (with or without a byte order mark), else the older Windows set."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", errors="replace")


def read_text(path: Path) -> tuple[str, bytes]:
    """A rate file's text and its bytes.

    Raises:
        FileRefused: it cannot be read, or it is too large to be a rate file.
    """
    try:
        if path.stat().st_size > LARGEST:
            raise FileRefused(
                f"{path.name}: larger than {LARGEST // 2**20} MB; a rate file is not, so it may be"
                " another kind of file"
            )
        data = path.read_bytes()
    except OSError as error:
        raise FileRefused(f"{path}: cannot be read: {error.strerror or error}") from error
    return decoded(data), data


def csv_lines(text: str, name: str) -> Iterator[tuple[int, list[str]]]:
    """Number and fields of every line that is not blank.

    Raises:
        BrokenLine: a field runs on for ever, as behind a quotation mark that is never closed.
    """
    reader = csv.reader(io.StringIO(text, newline=""))
    while True:
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise BrokenLine(
                name, reader.line_num, str(error), "fields separated by commas"
            ) from error
        if any(field.strip() for field in fields):
            yield reader.line_num, fields


def tab_lines(text: str) -> Iterator[tuple[int, list[str]]]:
    """Number and fields of every line that is not blank, separated by tabs."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield number, line.rstrip("\r").split("\t")
