"""What the first sheet says of macros and of what cells show."""

from __future__ import annotations

from typing import NamedTuple

from svc_tools.excel.cell_errors import PARTIAL
from svc_tools.excel.workbook.layout import FROZEN, NEXUS

__all__ = ["ERROR_SAMPLES", "MACROS", "REAL_ERRORS", "SAMPLES", "Sample"]


class Sample(NamedTuple):
    """What a cell may show.

    Attributes:
        shown: what stands in it.
        look: how it looks.
        text: what that means.
    """

    shown: str | float
    look: str
    text: str


MACROS = {
    "SVC_REFRESH": "Asks the service anew for every place in use, computes everything again and"
    " says how many rates changed. Recalculation alone asks for nothing twice.",
    "SVC_FREEZE": "Turns the formulas of the selected cells, or of the whole workbook, into their"
    f" values; the sheet {FROZEN} notes their source and date. Cells without a rate stay formulas"
    " and are listed. The formulas do not come back: keep a copy of the workbook.",
    "SVC_NEXUS_LIST": f"Fills the sheet {NEXUS} with the register and with what a plan suggests.",
    "SVC_NEXUS_PREVIEW": "Shows the exact requests that your ticks mean. Sends none of them.",
    "SVC_NEXUS_REMOVE": "Removes what is ticked, after you confirmed it; each request is noted in a"
    " receipt.",
    "SVC_NEXUS_RESTORE": "Adds removed records again from a receipt, where the service can add.",
}
"""The macros of the workbook and what each does."""

SAMPLES = (
    Sample("Texas", "typed_sample", "Yellow: a cell for you to type in."),
    Sample(
        0.08625,
        "rate_sample",
        "A rate with all its digits: 8.625 % is the fraction 0.08625. 0.000% is a rate of zero; a"
        " rate that is not known never looks like one.",
    ),
    Sample("(empty)", "muted_sample", "The line is empty: nothing was asked."),
    Sample(
        PARTIAL,
        "partial_sample",
        "The answer lacks the local or district part of the rate. A street address may bring the"
        ' whole; "partial" as the last argument takes the known part, on your word.',
    ),
    Sample("low", "low_sample", "A low confidence: look at the line before you rely on its rate."),
)
"""What cells show in every spreadsheet."""

ERROR_SAMPLES = (
    Sample(
        "#UNRESOLVED …",
        "error_sample",
        "The service does not know the place, or not in that state. The text says more.",
    ),
    Sample(
        "#INVALID …",
        "error_sample",
        "What was given cannot be used: a date that can be read two ways, an amount with a fraction"
        " of a cent. The text says what is expected.",
    ),
    Sample("#UNSUPPORTED …", "error_sample", "The service does not cover it."),
    Sample(
        "#FAILED …",
        "error_sample",
        "No answer came: the network, the key, the plan. Compute again in a minute, or refresh.",
    ),
    Sample(
        "#NOT_ATTEMPTED …",
        "error_sample",
        "Not asked yet, because an earlier failure concerns all of them. Compute again in a"
        " minute, or refresh.",
    ),
)
"""What cells show where errors are texts."""

REAL_ERRORS = (
    Sample(
        "#N/A", "error_sample", "There is no answer. =SVC_STATUS(…) says which kind, in a word."
    ),
    Sample(
        "#VALUE!",
        "error_sample",
        "What was given cannot be used. =SVC_WARNINGS(…) says what is expected.",
    ),
    Sample("Err:504", "error_sample", "A cell that was given is an error itself: mend it first."),
)
"""What cells show where errors are the spreadsheet's own."""
