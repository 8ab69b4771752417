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
]

_NOTHING_CHANGED = "Nothing was changed."
_NO_WAY_BACK = "The formulas do not come back: keep a copy of the workbook."

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
    chosen = book.selected()
    blocks, left = find(book, chosen) if chosen is not None else ([], [])
    where = "the selected cells"
    if not blocks and not left:
        blocks, left = find(book)
        where = "the whole workbook"
    if not blocks and not left:
        return f"No formula of the workbook has an SVC function. {_NOTHING_CHANGED}"
    cells = sum(block.size for block in blocks)
    stay = f" {counted(len(left), 'formula')} without a value will stay." if left else ""
    question = f"Freeze {counted(cells, 'cell')} of {where}?{stay} {_NO_WAY_BACK}"
    if blocks and not book.confirmed(question):
        return _NOTHING_CHANGED
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return freeze(book, the_desk(), blocks, left, at=now).sentence
