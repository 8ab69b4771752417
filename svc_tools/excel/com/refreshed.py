"""Ask anew, compute everything again, and say which cells changed."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from svc_tools.excel.values import ErrorCell
from svc_tools.shown import counted

if TYPE_CHECKING:
    from svc_tools.excel.com.workbook import Workbook
    from svc_tools.excel.desk import Desk
    from svc_tools.excel.values import Scalar

__all__ = ["refresh"]

_SHOWN = 10

_log = logging.getLogger(__name__)


def refresh(workbook: Workbook, desk: Desk) -> str:
    """Ask anew for every place of this session, then compute the workbook again.

    Returns:
        What was asked and changed, with the first cells that show something else than before.
    """
    before = _shown(workbook)
    report = desk.refresh()
    try:
        workbook.calculate()
    except Exception as error:  # noqa: BLE001 - pywintypes.com_error, which only Windows has
        _log.warning("the workbook could not be computed: %s", type(error).__name__)
        return f"{report.sentence} Excel could not compute the workbook; press Ctrl+Alt+F9."
    after = _shown(workbook)
    changed = [(where, before[where], now) for where, now in after.items() if where in before]
    changed = [one for one in changed if one[1] != one[2]]
    if not changed:
        return f"{report.sentence} No cell changed."
    lines = [f"{where}: {_text(was)} -> {_text(now)}" for where, was, now in changed[:_SHOWN]]
    more = len(changed) - len(lines)
    lines += [f"and {more:,} more"] if more else []
    return "\n".join([f"{report.sentence} {counted(len(changed), 'cell')} changed:", *lines])


def _shown(workbook: Workbook) -> dict[str, Scalar]:
    """What the formulas that call our functions show."""
    return {
        f"{sheet.name}!{cell.address}": value
        for sheet in workbook.sheets
        for cell, value in sheet.calls().items()
    }


def _text(value: Scalar) -> str:
    if isinstance(value, ErrorCell):
        return value.text
    return (
        "(empty)" if value is None else f"{value:.15g}" if isinstance(value, float) else str(value)
    )
