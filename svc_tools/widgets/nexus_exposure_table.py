"""The exposure of each state as a table: standing in words and a mark, share used as a bar. Pure.

What cannot be said stays unsaid: a missing figure is a dash, never a 0.
"""

from __future__ import annotations

from decimal import ROUND_DOWN, Decimal
from html import escape
from typing import TYPE_CHECKING, Any

import pandas as pd

from svc_tools.shown import NOTHING, counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["BANDS", "exposure_html", "exposure_notes", "share_of", "used_html"]

BANDS = {
    "missing": ("!", "Above, and no record"),
    "over": ("\N{BLACK UP-POINTING TRIANGLE}", "Above"),
    "90-100": ("\N{BLACK DIAMOND}", "90 to 100 %"),
    "70-90": ("\N{WHITE DIAMOND}", "70 to 90 %"),
    "below 70": ("\N{WHITE CIRCLE}", "Below 70 %"),
    "no tax": (NOTHING, "No general sales tax"),
    "unknown": ("?", "Cannot be said"),
}
"""Each band's mark and words, those that need attention first."""

_HEADS = ("State", "Standing", ">Used", ">Sales", ">Transactions", "First crossed", "Certainty")


def exposure_html(exposure: pd.DataFrame) -> str:
    """The states in the frame's own order; those without sales and record are folded away.

    Everything is escaped.
    """
    rows = exposure.to_dict("records")
    quiet = [row for row in rows if _is_quiet(row)]
    loud = [row for row in rows if not _is_quiet(row)]
    folded = ""
    if quiet:
        words = f"{counted(len(quiet), 'state')} without sales and without a record"
        folded = (
            f'<details class="svc-details"><summary>{words}</summary>'
            f"{_table(quiet, words)}</details>"
        )
    return _table(loud, "Exposure by state: what needs attention first") + folded


def _table(rows: Sequence[Mapping[Any, Any]], caption: str) -> str:
    heads = "".join(f'<th scope="col"{_number(head)}>{head.lstrip(">")}</th>' for head in _HEADS)
    return (
        f'<div class="svc-scroll" tabindex="0" role="region" aria-label="{escape(caption)}">'
        f'<table class="svc-table svc-exposure"><caption>{escape(caption)}</caption>'
        f"<thead><tr>{heads}</tr></thead><tbody>{''.join(map(_row, rows))}</tbody></table></div>"
    )


def _is_quiet(row: Mapping[Any, Any]) -> bool:
    """Whether there is nothing of this state in the sales and in the register."""
    figures = (row["sales"], row["transactions"], row.get("marketplace_sales"))
    return not row.get("registered") and all(not _missing(one) and not one for one in figures)


def exposure_notes(exposure: pd.DataFrame) -> str:
    """What the figures are of: the day, the first and last sale, the rows left out and why."""
    said = exposure.attrs.get("svc_exposure", {})
    sentences = []
    if "as_of" in said:
        sentences.append(f"As of {said['as_of']}.")
    first, last = said.get("first_day"), said.get("last_day")
    if first is not None and last is not None:
        sentences.append(f"Sales from {first} to {last}.")
    left_out = sum(int(one["rows"]) for one in said.get("left_out", ()))
    if left_out:
        sentences.append(f"{counted(left_out, 'row')} left out: in no figure below.")
    looks = "svc-box svc-trouble" if left_out else "svc-box svc-said"
    notes = "".join(f"<li>{escape(str(note))}</li>" for note in said.get("notes", ()))
    return f'<div class="{looks}"><p>{escape(" ".join(sentences))}</p><ul>{notes}</ul></div>'


def share_of(used: object) -> str:
    """The share of the threshold in whole percent, rounded down: 99.99 % is not yet 100 %."""
    if _missing(used):
        return NOTHING
    return f"{(Decimal(str(used)) * 100).to_integral_value(ROUND_DOWN):,} %"


def used_html(used: object) -> str:
    """The share as a small bar with its figure; the bar ends at 100 %."""
    if _missing(used):
        return NOTHING
    percent = max(Decimal(0), min(Decimal(100), Decimal(str(used)) * 100))
    width = percent.to_integral_value(ROUND_DOWN)
    return (
        '<span class="svc-used"><span class="svc-used-bar" aria-hidden="true">'
        f'<span style="width:{width}%"></span></span>'
        f'<span class="svc-used-figure">{share_of(used)}</span></span>'
    )


def _row(row: Mapping[Any, Any]) -> str:
    mark, words = BANDS.get(row["band"], ("?", str(row["band"])))
    crossed = NOTHING if _missing(row["first_crossed"]) else str(row["first_crossed"])[:10]
    standing = (
        f'<span class="svc-mark"><span aria-hidden="true">{mark}</span> {escape(words)}</span>'
    )
    numbers = (
        used_html(row["used"]),
        _of(_dollars(row["sales"]), _whole(row["threshold_sales"], "$")),
        _of(_whole(row["transactions"]), _whole(row["threshold_transactions"])),
    )
    certainty = escape(_text(row.get("certainty")) or NOTHING)
    return (
        f'<tr class="svc-band-{_class(row["band"])}"><th scope="row">{escape(row["state"])}</th>'
        f"<td>{standing}</td>"
        + "".join(f'<td class="svc-number">{number}</td>' for number in numbers)
        + f"<td>{escape(crossed)}</td><td>{certainty}</td></tr>"
        f'<tr class="svc-why"><td></td><td colspan="{len(_HEADS) - 1}">'
        f"<div>{escape(_text(row.get('why')))}</div></td></tr>"
    )


def _of(figure: str, threshold: str) -> str:
    return (
        figure
        if threshold == NOTHING
        else f'{figure}<br><span class="svc-why">of {threshold}</span>'
    )


def _dollars(value: object) -> str:
    return NOTHING if _missing(value) else f"${Decimal(str(value)):,.2f}"


def _whole(value: object, sign: str = "") -> str:
    return NOTHING if _missing(value) else f"{sign}{int(str(value)):,}"


def _text(value: object) -> str:
    return "" if _missing(value) else str(value)


def _missing(value: object) -> bool:
    return value is None or value is pd.NA or value is pd.NaT or value != value  # noqa: PLR0124  # NaN


def _class(band: object) -> str:
    return str(band).replace(" ", "-")


def _number(head: str) -> str:
    return ' class="svc-number"' if head.startswith(">") else ""
