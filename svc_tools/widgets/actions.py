"""Two things that a page can do and Python cannot: fill the clipboard, and save a file.

Their code and their looks are in files of this package; a page loads nothing from elsewhere.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import anywidget
import traitlets

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["LARGE", "CopyButton", "DownloadButton", "told_size"]

LARGE = 10_000_000
"""Bytes above which a file is not sent through the kernel's connection: it is linked, or named."""
_PIECE = 1 << 20
"""Bytes in one message: the page stays alive between two."""
_UNITS = ("bytes", "kB", "MB", "GB", "TB")
_STEP = 1_000


class _Action(anywidget.AnyWidget):
    """A button with a line beside it that says what became of the click."""

    _esm = Path(__file__).with_name("actions.js")
    _css = Path(__file__).with_name("actions.css")
    kind = traitlets.Unicode().tag(sync=True)
    label = traitlets.Unicode().tag(sync=True)


class CopyButton(_Action):
    """A button that copies a text to the clipboard, and says so.

    Args:
        label: what stands on the button.
        text: what is copied; it may be set anew at any time. It is part of the saved page, so it
            is never a secret.
    """

    text = traitlets.Unicode().tag(sync=True)

    def __init__(self, label: str, text: str = "") -> None:
        super().__init__(kind="copy", label=label, text=text)


class DownloadButton(_Action):
    """A button that saves a file of the kernel's machine on the reader's.

    A file above `LARGE` is not sent through the kernel: where its host serves it, the button is a
    link to it; else the page says where the file lies, with a button that copies the path.

    Args:
        label: what stands on the button.
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
        self.on_msg(self._asked)
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
            self.size = "" if path is None else told_size(size)
            self.place = str(path) if large and url is None else ""
            self.url = url or "" if large else ""

    def pieces(self) -> Iterator[bytes]:
        """The file, piece by piece.

        Raises:
            OSError: it is not there any more.
        """
        if self._path is not None:
            with self._path.open("rb") as file:
                while piece := file.read(_PIECE):
                    yield piece

    def _asked(self, _widget: object, asked: Any, _buffers: object) -> None:  # noqa: ANN401 - JSON
        """Send the file to the view that asked for it."""
        if not isinstance(asked, dict) or asked.get("ask") != "file" or self.place or self.url:
            return
        who = str(asked.get("who", ""))
        try:
            for piece in self.pieces():
                self.send({"who": who, "tell": "piece"}, [piece])
        except OSError as error:
            self.send({"who": who, "tell": "trouble", "why": error.strerror or str(error)})
        else:
            self.send({"who": who, "tell": "end", "name": self.name})


def told_size(count: int) -> str:
    """A size of a file as one reads it: 512 bytes, 9.5 kB, 12 MB."""
    size, unit = float(count), 0
    while size >= _STEP and unit < len(_UNITS) - 1:
        size, unit = size / _STEP, unit + 1
    digits = 1 if unit and size < 10 else 0  # noqa: PLR2004 - tenths of small figures
    return f"{size:.{digits}f} {_UNITS[unit]}"
