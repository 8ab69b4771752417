"""What the sheets and the macros agree on: names of sheets, of cells and of columns. Light."""

from __future__ import annotations

__all__ = [
    "AS_OF",
    "CONFIG",
    "FROZEN",
    "LOOKUP",
    "MODULE",
    "NEXUS",
    "NEXUS_COLUMNS",
    "NEXUS_HEADINGS",
    "NEXUS_MARKS",
    "NEXUS_MESSAGE",
    "ORDERS",
    "ORDERS_TABLE",
    "ROUNDING",
    "START",
]

START, LOOKUP, ORDERS, NEXUS = "Start", "Lookup", "Orders", "Nexus"
"""The sheets, in their order."""
FROZEN = "SVC frozen"
"""The sheet that a freeze adds: source and date of what was frozen."""
CONFIG = "xlwings.conf"
"""The sheet of settings that xlwings reads; it overrides the settings of the user."""
MODULE = "svc_udfs"
"""The Python module beside the workbook that has its functions and macros."""

AS_OF = "SVC_AS_OF"
"""The cell with the day that every formula passes which has no date of its own."""
ROUNDING = "SVC_ROUNDING"
"""The cell that says what becomes of a fraction of a cent."""
ORDERS_TABLE = "Orders"
"""The table of order lines; its formulas and totals grow with it."""

NEXUS_COLUMNS = (
    "remove",
    "state",
    "type",
    "registered_at",
    "address",
    "notes",
    "decision",
    "reason",
    "evidence",
    "outcome",
    "receipt",
)
"""The headings of the cleanup, one record in each row below: values, never formulas, so that a tick
stays with its record."""
NEXUS_MARKS = ("plan", "row", "expected", "register_row")
"""The headings right of them: the plan's own marks, by which it is known again."""
NEXUS_HEADINGS = "SVC_NEXUS_HEADINGS"
"""The row of those headings."""
NEXUS_MESSAGE = "SVC_NEXUS_MESSAGE"
"""The cell in which the macros say what they did, or would send."""
