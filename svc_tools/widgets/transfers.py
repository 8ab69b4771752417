"""Files and texts between the kernel and the user's machine: upload, download, copy.

A file travels in pieces and is on disk only. A notebook's own upload field holds the file in the
page, saves it with the notebook, and breaks the connection where a file is larger than a message.
"""

from __future__ import annotations

import os
import re
from itertools import count
from pathlib import Path, PureWindowsPath
from typing import TYPE_CHECKING, Any, BinaryIO

import anywidget
import traitlets

from svc_tools.base.operating_system import BINARY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


_PIECE = 1 << 20
"""Bytes in one message: below the limit of any host."""
_LONGEST = 120
"""Bytes that are left of each part of a name: systems allow 255 for the whole."""
_DEVICES = re.compile(r"(?:con|prn|aux|nul|(?:com|lpt)[0-9¹²³])(?= *(?:\.|$))", re.IGNORECASE)
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
        """A message of a view of the page: a file begins, continues, ends, or is canceled."""
        if not isinstance(content, dict):
            return
        view, what = str(content.get("view", "")), content.get("type")
        try:
            if what == "begin":
                self._begin(view, str(content.get("name", "")))
            elif self._arriving is None or self._arriving.view != view:
                return
            elif what == "piece":
                self._arriving.write(buffers[0], self.limit)
            elif what == "end":
                self._end(int(content.get("size", -1)))
            else:
                self._drop()
        except (OSError, ValueError) as error:
            self._drop()
            self.send({"view": view, "type": "trouble"})
            self._failed(error)
        else:
            self.send({"view": view, "type": "got"})

    def _begin(self, view: str, name: str) -> None:
        self._drop()
        folder = self._folder()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._arriving = _Arriving(view, folder, name)

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

    def __init__(self, view: str, folder: Path, name: str) -> None:
        self.view = view
        for path in free_name(folder, name):
            try:
                handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | BINARY, 0o600)
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
    # Windows drops blanks and dots at the end of a name
    return text.encode()[:_LONGEST].decode(errors="ignore").rstrip(" .")


class _Action(anywidget.AnyWidget):
    """A button for what only the page can do, and a line that reports how it went."""

    _esm = Path(__file__).with_name("actions.js")
    _css = Path(__file__).with_name("actions.css")
    kind = traitlets.Unicode().tag(sync=True)
    label = traitlets.Unicode().tag(sync=True)


class CopyButton(_Action):
    """A button that copies a text to the clipboard.

    Args:
        label: the label of the button.
        text: what is copied; it may be changed at any time. It is part of the saved page, so it is
            never a secret.
    """

    text = traitlets.Unicode().tag(sync=True)

    def __init__(self, label: str, text: str = "") -> None:
        super().__init__(kind="copy", label=label, text=text)


LARGE = 10_000_000
"""Bytes above which a file is linked, or its path shown, instead of sent through the kernel."""
_PIECE = 1 << 20
"""Bytes in one message: the page stays responsive between two."""


class DownloadButton(_Action):
    """A button that saves a file of the kernel's machine on the user's.

    A file above `LARGE` is not sent through the kernel: where its host serves it, the button is a
    link to it; else the page shows where the file is, with a button that copies the path.

    Args:
        label: the label of the button.
        path: the file; `None` shows nothing.
        url: the address under which the page's host serves the file, where it does.
    """

    name = traitlets.Unicode().tag(sync=True)
    size = traitlets.Unicode().tag(sync=True)
    place = traitlets.Unicode().tag(sync=True)
    url = traitlets.Unicode().tag(sync=True)

    def __init__(self, label: str, path: Path | None = None, *, url: str | None = None) -> None:
        self._path: Path | None = None
        super().__init__(kind="download", label=label)
        self.on_msg(self._received)
        self.show(path, url=url)

    def show(self, path: Path | None, *, url: str | None = None) -> None:
        """Offer another file, or none.

        Raises:
            OSError: there is no such file.
        """
        size = 0 if path is None else path.stat().st_size
        large = size > LARGE
        self._path = path
        with self.hold_sync():
            self.name = "" if path is None else path.name
            self.size = "" if path is None else size_text(size)
            self.place = str(path) if large and url is None else ""
            self.url = url or "" if large else ""

    def pieces(self) -> Iterator[bytes]:
        """The file, piece by piece.

        Raises:
            OSError: it is gone.
        """
        if self._path is not None:
            with self._path.open("rb") as file:
                while piece := file.read(_PIECE):
                    yield piece

    def _received(self, _widget: object, content: Any, _buffers: object) -> None:  # noqa: ANN401 - JSON
        """Send the file to the view that requests it."""
        requested = isinstance(content, dict) and content.get("type") == "request"
        if not requested or self.place or self.url:
            return
        view = str(content.get("view", ""))
        try:
            for piece in self.pieces():
                self.send({"view": view, "type": "piece"}, [piece])
        except OSError as error:
            self.send({"view": view, "type": "trouble", "why": error.strerror or str(error)})
        else:
            self.send({"view": view, "type": "end", "name": self.name})


_UNITS = ("bytes", "kB", "MB", "GB", "TB")


def size_text(count: int) -> str:
    """A size for people: 512 bytes, 9.5 kB, 12 MB."""
    size, unit = float(count), 0
    while size >= 1_000 and unit < len(_UNITS) - 1:  # noqa: PLR2004 - decimal units
        size, unit = size / 1_000, unit + 1
    digits = 1 if unit and size < 10 else 0  # noqa: PLR2004 - tenths of small figures
    return f"{size:.{digits}f} {_UNITS[unit]}"
