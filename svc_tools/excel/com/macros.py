"""The macros of the workbook: what Alt+F8 and its buttons run.

Each does one thing on the workbook that is in front, and ends with a message that says what was
done. Nothing here is ever run by a formula.
"""

# ruff: noqa: N802 - the names are what Excel shows
from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import xlwings as xw

from svc_sdk import SvcError
from svc_tools.excel.cell_errors import CellError
from svc_tools.excel.com.freezing import find, freeze
from svc_tools.excel.com.nexus_cleanup import list_records, preview, remove, undo
from svc_tools.excel.com.refreshed import refresh
from svc_tools.excel.com.unfreezing import frozen_now, unfreeze
from svc_tools.excel.com.workbook import Workbook
from svc_tools.excel.desk import the_desk
from svc_tools.shown import counted

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "SVC_FREEZE",
    "SVC_NEXUS_LIST",
    "SVC_NEXUS_PREVIEW",
    "SVC_NEXUS_REMOVE",
    "SVC_NEXUS_RESTORE",
    "SVC_REFRESH",
    "SVC_UNFREEZE",
]

_NOTHING_CHANGED = "Nothing was changed."

_log = logging.getLogger(__name__)


@xw.sub
def SVC_REFRESH():  # type: ignore[no-untyped-def]  # noqa: ANN201 - xlwings reads annotations
    """Ask anew for every rate of this session, and compute the workbook again."""
    _run("SVC_REFRESH", lambda book: refresh(book, the_desk()))


@xw.sub
def SVC_FREEZE():  # type: ignore[no-untyped-def]  # noqa: ANN201
    """Turn formulas into their values: the selected ones, else all of the workbook."""
    _run("SVC_FREEZE", _freeze)


@xw.sub
def SVC_UNFREEZE():  # type: ignore[no-untyped-def]  # noqa: ANN201
    """Put frozen formulas back, where the cell still holds what was frozen."""
    _run("SVC_UNFREEZE", _unfreeze)


@xw.sub
def SVC_NEXUS_LIST():  # type: ignore[no-untyped-def]  # noqa: ANN201
    """Fill the sheet Nexus with the account's records and what a plan suggests."""
    _run("SVC_NEXUS_LIST", lambda book: list_records(book, the_desk()))


@xw.sub
def SVC_NEXUS_PREVIEW():  # type: ignore[no-untyped-def]  # noqa: ANN201
    """Show exactly what the ticks of the sheet Nexus would send; nothing is sent."""
    _run("SVC_NEXUS_PREVIEW", lambda book: preview(book, the_desk()))


@xw.sub
def SVC_NEXUS_REMOVE():  # type: ignore[no-untyped-def]  # noqa: ANN201
    """Remove the ticked records of the sheet Nexus, after a confirmation."""
    _run("SVC_NEXUS_REMOVE", lambda book: remove(book, the_desk()))


@xw.sub
def SVC_NEXUS_RESTORE():  # type: ignore[no-untyped-def]  # noqa: ANN201
    """Add the records of a receipt again, after a confirmation."""
    _run("SVC_NEXUS_RESTORE", lambda book: undo(book, the_desk()))


def _run(name: str, act: Callable[[Workbook], str]) -> None:
    """Do it on the workbook in front, and show what came of it, also where it failed."""
    book = Workbook(xw.Book.caller())
    try:
        told = act(book)
    except (ValueError, OSError, ImportError, SvcError, CellError) as error:
        told = str(error)
    except Exception as error:  # noqa: BLE001 - a message that a person can read, and no more
        _log.warning("%s failed: %s", name, type(error).__name__)
        told = f"{name} could not be finished ({type(error).__name__})."
    book.tell(told)


def _freeze(book: Workbook) -> str:
    if not book.is_calculated:
        return f"Excel has not computed everything yet; press F9, then freeze. {_NOTHING_CHANGED}"
    desk = the_desk()
    chosen = book.selected()
    blocks, left = find(book, desk, chosen) if chosen is not None else ([], [])
    where = "the selected cells"
    if not blocks and not left:
        blocks, left = find(book, desk)
        where = "the whole workbook"
    if not blocks and not left:
        return f"No formula of the workbook has an SVC function. {_NOTHING_CHANGED}"
    cells = sum(block.area.height * block.area.width for block in blocks)
    stay = f" {counted(len(left), 'formula')} with an error will stay." if left else ""
    if blocks and not book.confirmed(f"Freeze {counted(cells, 'cell')} of {where}?{stay}"):
        return _NOTHING_CHANGED
    return freeze(book, blocks, left, at=_now()).sentence


def _unfreeze(book: Workbook) -> str:
    groups = frozen_now(book)
    if not groups:
        return f"Nothing is frozen. {_NOTHING_CHANGED}"
    if not book.confirmed(f"Put {counted(len(groups), 'frozen formula')} back?"):
        return _NOTHING_CHANGED
    return unfreeze(book, groups, at=_now()).sentence


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
