"""The lookups of a session: what was asked, when, and what came."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import anywidget
import traitlets

from svc_tools.widgets.parts import HERE

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from svc_tools.lookup.trouble import Trouble

__all__ = ["History", "Past"]

_MOST = 200
"""How many lookups are kept, the newest of them."""


@dataclass(frozen=True, slots=True)
class Past:
    """A lookup that was made.

    Attributes:
        at: when.
        what: the place in words.
        day: the day asked for, as 2026-05-01.
        rate: the rate in words, or that there is none.
        status: its status (`svc_tools.lookup.STATUSES`).
        card: its card; empty where there is none.
        rate_text: the rate as it came, for the clipboard; empty where there is none.
        code: the Python that asks the same.
        trouble: what went wrong, else `None`.
    """

    at: datetime
    what: str
    day: str
    rate: str
    status: str
    card: str = ""
    rate_text: str = ""
    code: str = ""
    trouble: Trouble | None = None


class History(anywidget.AnyWidget):
    """The table of past lookups, the newest first.

    Attributes:
        rows: their numbers and cells.
        shown: the number of the one whose answer is shown; -1 for none.
    """

    _esm = HERE / "history.js"
    HEADS: ClassVar[list[str]] = ["Answer", "Time", "Place", "Day", "Rate", "Status"]
    caption = traitlets.Unicode("Lookups of this session").tag(sync=True)
    heads = traitlets.List(traitlets.Unicode(), HEADS).tag(sync=True)
    rows = traitlets.List(traitlets.Dict()).tag(sync=True)
    shown = traitlets.Int(-1).tag(sync=True)

    def __init__(self, on_show: Callable[[Past], object]) -> None:
        self._on_show = on_show
        self._next = 0
        self.past: dict[int, Past] = {}
        super().__init__()
        self.on_msg(self._received)

    def add(self, past: Past) -> None:
        """Put a lookup on top; it is the one that is shown."""
        self.past[self._next] = past
        self.shown = self._next
        self._next += 1
        while len(self.past) > _MOST:
            del self.past[min(self.past)]
        self.rows = [
            {
                "number": number,
                "cells": [
                    f"{one.at.astimezone():%H:%M:%S}",
                    one.what,
                    one.day,
                    one.rate,
                    one.status.replace("_", " "),
                ],
            }
            for number, one in sorted(self.past.items(), reverse=True)
        ]

    def show(self, number: int) -> None:
        """Show the answer of a past lookup again, as its button does; nothing is asked."""
        if number in self.past:
            self.shown = number
            self._on_show(self.past[number])

    def _received(self, _widget: object, content: dict[str, object], _buffers: object) -> None:
        number = content.get("number")
        if content.get("event") == "show" and isinstance(number, int):
            self.show(number)
