"""A file of the reader's machine: it comes in pieces, goes to disk, and is kept nowhere else.

A notebook's own upload field holds the file in the page, is saved with it, and breaks the
connection where a file is larger than one message may be. This one does none of that.
"""

from __future__ import annotations

import os
import re
from itertools import count
from pathlib import Path, PureWindowsPath
from typing import TYPE_CHECKING, Any, BinaryIO

import anywidget
import traitlets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


_PIECE = 1 << 20
"""Bytes in one message: below what any host takes."""
_BINARY: int = getattr(os, "O_BINARY", 0)
"""Without it Windows would write other ends of lines."""
_LONGEST = 120
"""Bytes of each part of a name that are kept: systems allow 255 for all of it."""
_DEVICES = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?=\.|$)", re.IGNORECASE)
"""Names that Windows takes for devices."""


class UploadButton(anywidget.AnyWidget):
    """A button that takes a file from the reader's machine into a folder.

    Only the file's own owner may read what is written. What did not arrive whole is removed.

    Args:
        label: what stands on the button.
        accept: the ends of names that are offered, such as ".csv,.xlsx".
        folder: gives the folder; it is asked when a file comes, and the folder is made.
        done: called with the file, under the name it had, made safe, and a number where that is
            taken.
        failed: called with what kept it from being written.
        limit: bytes that are taken at most; `None` for what the disk holds.

    Attributes:
        disabled: whether nothing may be chosen now.
    """

    _esm = Path(__file__).with_name("upload.js")
    _css = Path(__file__).with_name("actions.css")
    label = traitlets.Unicode().tag(sync=True)
    accept = traitlets.Unicode().tag(sync=True)
    disabled = traitlets.Bool(default_value=False).tag(sync=True)
    piece = traitlets.Int(_PIECE).tag(sync=True)
    limit = traitlets.Int(None, allow_none=True).tag(sync=True)

    def __init__(
        self,
        label: str,
        accept: str,
        *,
        folder: Callable[[], Path],
        done: Callable[[Path], object],
        failed: Callable[[Exception], object],
        limit: int | None = None,
    ) -> None:
        self._folder, self._done, self._failed = folder, done, failed
        self._coming: _Coming | None = None
        super().__init__(label=label, accept=accept, limit=limit)
        self.on_msg(self._heard)

    def _heard(self, _widget: object, said: Any, buffers: Sequence[bytes]) -> None:  # noqa: ANN401 - JSON
        """A message of a view of the page: a file begins, goes on, ends, or is given up."""
        if not isinstance(said, dict):
            return
        who, what = str(said.get("who", "")), said.get("say")
        try:
            if what == "begin":
                self._begin(who, str(said.get("name", "")))
            elif self._coming is None or self._coming.who != who:
                return
            elif what == "piece":
                self._coming.write(buffers[0], self.limit)
            elif what == "end":
                self._end(int(said.get("size", -1)))
            else:
                self._drop()
        except (OSError, ValueError) as error:
            self._drop()
            self.send({"who": who, "tell": "trouble"})
            self._failed(error)
        else:
            self.send({"who": who, "tell": "got"})

    def _begin(self, who: str, name: str) -> None:
        self._drop()
        folder = self._folder()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._coming = _Coming(who, folder, name)

    def _end(self, size: int) -> None:
        coming, self._coming = self._coming, None
        if coming is not None:
            self._done(coming.whole(size))

    def _drop(self) -> None:
        if self._coming is not None:
            self._coming.remove()
        self._coming = None


class _Coming:
    """A file that is on its way."""

    def __init__(self, who: str, folder: Path, name: str) -> None:
        self.who = who
        for path in free_name(folder, name):
            try:
                handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, 0o600)
            except FileExistsError:
                continue
            break
        self._path = path
        self._file: BinaryIO = os.fdopen(handle, "wb")

    def write(self, piece: bytes, limit: int | None) -> None:
        """Take the next piece.

        Raises:
            OSError: the disk does not take it.
            ValueError: the file is too large.
        """
        if limit is not None and self._file.tell() + len(piece) > limit:
            raise ValueError(f"{self._path.name} is too large to be uploaded: give its path")
        self._file.write(piece)

    def whole(self, size: int) -> Path:
        """The file, which has this size in bytes.

        Raises:
            OSError: the disk does not take it, or not all of it came.
        """
        self._file.close()
        if self._path.stat().st_size != size:
            self.remove()
            raise OSError(f"{self._path.name} did not arrive whole: choose it once more")
        return self._path

    def remove(self) -> None:
        """Leave nothing of it."""
        self._file.close()
        self._path.unlink(missing_ok=True)


def free_name(folder: Path, name: str) -> Iterator[Path]:
    """Paths in `folder` for a file of this name, with a number from the second one on.

    No part of the name leads out of the folder.
    """
    # a browser sends a bare name, whoever speaks in its place may not
    bare = PureWindowsPath(name.replace("\0", "")).name
    safe = re.sub(r"[^\w .()+-]", "_", bare).strip(" .") or "file"
    if _DEVICES.match(safe):
        safe = f"_{safe}"
    stem, suffix = _cut(Path(safe).stem), _cut(Path(safe).suffix)
    yield folder / f"{stem}{suffix}"
    yield from (folder / f"{stem}-{number}{suffix}" for number in count(2))


def _cut(text: str) -> str:
    return text.encode()[:_LONGEST].decode(errors="ignore")
