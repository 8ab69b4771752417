"""The text of a CSV as UTF-8, in blocks that no line end is cut apart by."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Utf8", "open_bytes"]


def open_bytes(path: Path) -> pa.NativeFile:
    """The file's bytes, unpacked where it is compressed (`.gz`)."""
    return pa.input_stream(str(path), compression="detect")


class Utf8:
    """A file to be read in blocks, of which none but the last ends in a carriage return.

    Empty lines above the first line that holds anything are left out: that line names the columns.
    Arrow takes a line feed at the start of a block for the rest of a line end where the block
    before ended in a carriage return, also inside of a cell, and leaves it out.
    """

    def __init__(self, path: Path, encoding: str) -> None:
        self._file = open_bytes(path)
        self._held = b""
        self._ended = False
        self._begun = False
        self.closed = False
        plain = codecs.lookup(encoding).name == "utf-8"
        self._decoder = None if plain else codecs.getincrementaldecoder(encoding)()

    def read(self, size: int) -> bytes:
        """At most so many bytes; none at the end."""
        while len(self._held) < size and not self._ended:
            block = self._file.read(size)
            self._ended = not block
            self._held += self._as_utf8(block)
            if not self._begun:
                self._held = self._held.removeprefix(codecs.BOM_UTF8).lstrip(b"\r\n")
                self._begun = bool(self._held)
        cut = size
        if size < len(self._held) or not self._ended:
            cut = len(self._held[:size].rstrip(b"\r")) or size
        text, self._held = self._held[:cut], self._held[cut:]
        return text

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()
        self.closed = True

    def _as_utf8(self, block: bytes) -> bytes:
        if self._decoder is None:
            return block
        return self._decoder.decode(block, final=not block).encode()
