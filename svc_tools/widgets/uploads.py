"""Uploads: a file of the user's machine arrives in pieces and is stored on disk only.

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
"""Bytes in one message: below the limit of any host."""
_BINARY: int = getattr(os, "O_BINARY", 0)
"""Without it Windows would change the ends of lines."""
_LONGEST = 120
"""Bytes that are left of each part of a name: systems allow 255 for the whole."""
_DEVICES = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?=\.|$)", re.IGNORECASE)
"""Names that Windows takes for devices."""


class UploadButton(anywidget.AnyWidget):
    """A button that stores a file of the user's machine in a folder.

    Only its owner may read the stored file. A file that did not arrive whole is removed.

    Args:
        label: the label of the button.
        accept: the ends of names that are offered, such as ".csv,.xlsx".
        folder: returns the folder; called when a file arrives, and the folder is made.
        done: called with the file, under the name it had, made safe, and a number where that is
            taken.
        failed: called with the error where it could not be stored.
        limit: the most bytes of a file; `None` for no limit but the disk.

    Attributes:
        disabled: whether no file may be chosen.
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
        self._arriving: _Arriving | None = None
        super().__init__(label=label, accept=accept, limit=limit)
        self.on_msg(self._received)

    def _received(self, _widget: object, content: Any, buffers: Sequence[bytes]) -> None:  # noqa: ANN401 - JSON
        """A message of a view of the page: a file begins, continues, ends, or is cancelled."""
        if not isinstance(content, dict):
            return
        who, what = str(content.get("who", "")), content.get("say")
        try:
            if what == "begin":
                self._begin(who, str(content.get("name", "")))
            elif self._arriving is None or self._arriving.who != who:
                return
            elif what == "piece":
                self._arriving.write(buffers[0], self.limit)
            elif what == "end":
                self._end(int(content.get("size", -1)))
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
        self._arriving = _Arriving(who, folder, name)

    def _end(self, size: int) -> None:
        arriving, self._arriving = self._arriving, None
        if arriving is not None:
            self._done(arriving.whole(size))

    def _drop(self) -> None:
        if self._arriving is not None:
            self._arriving.remove()
        self._arriving = None


class _Arriving:
    """A file that is being uploaded."""

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
        """Write the next piece.

        Raises:
            OSError: the disk cannot store it.
            ValueError: the file is too large.
        """
        if limit is not None and self._file.tell() + len(piece) > limit:
            raise ValueError(f"{self._path.name} is too large to be uploaded: give its path")
        self._file.write(piece)

    def whole(self, size: int) -> Path:
        """The file, which has this size in bytes.

        Raises:
            OSError: the disk cannot store it, or not all of it arrived.
        """
        self._file.close()
        if self._path.stat().st_size != size:
            self.remove()
            raise OSError(f"{self._path.name} did not arrive whole: choose it once more")
        return self._path

    def remove(self) -> None:
        """Remove what was written."""
        self._file.close()
        self._path.unlink(missing_ok=True)


def free_name(folder: Path, name: str) -> Iterator[Path]:
    """Paths in `folder` for a file of this name, with a number from the second one on.

    No part of the name leads out of the folder.
    """
    # a browser sends a bare name; a forged message may not
    bare = PureWindowsPath(name.replace("\0", "")).name
    safe = re.sub(r"[^\w .()+-]", "_", bare).strip(" .") or "file"
    if _DEVICES.match(safe):
        safe = f"_{safe}"
    stem, suffix = _cut(Path(safe).stem), _cut(Path(safe).suffix)
    yield folder / f"{stem}{suffix}"
    yield from (folder / f"{stem}-{number}{suffix}" for number in count(2))


def _cut(text: str) -> str:
    return text.encode()[:_LONGEST].decode(errors="ignore")
