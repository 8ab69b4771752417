"""An answer for a person to read, in 80 columns, with colour or without."""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING

from rich.text import Text

from svc_sdk._reading import (
    CONFIDENCE_MEANINGS,
    DECIDED_BY,
    PARTS,
    known_part,
    lacking,
    percent,
    sentence,
)
from svc_tools.cli.show_full import reason_of_choice, show_full
from svc_tools.printing import print_table, print_text

if TYPE_CHECKING:
    from rich.console import Console

    from svc_sdk import TaxResponse

__all__ = ["show_answer"]

_COLOURS = {"exact": "green", "high": "green", "medium": "yellow", "low": "red", "none": "red"}
_LABEL = len("Confidence")
_PERIOD = re.compile(r"(\d{4})([1-4])")


def show_answer(console: Console, answer: TaxResponse, *, service: str, as_of: str | None) -> None:
    """Print place, rate, parts, confidence, warnings and source; and the rest of a full answer.

    Args:
        console: where to.
        answer: the answer, of either mode.
        service: who answered.
        as_of: the date or the period that was asked for; `None` for today.
    """
    rate = answer.rate
    total = rate.combined_rate_decimal
    place = ", ".join(part for part in (rate.city, rate.county, rate.state) if part)
    print_text(console, (" ".join(part for part in (place, rate.zip) if part), "bold"))
    shown = "no rate" if total is None else percent(total)
    day = _day(as_of)
    if lacking(answer):
        partial = ("PARTIAL: a part is not known", "bold")
        print_text(console, (shown, "bold yellow"), "  ", partial, f", {day}")
    else:
        print_text(console, (shown, "bold cyan"), f"  combined, {day}")
    print_table(console, ("", ">"), _parts(answer), indent=2)
    grounds = [("Confidence", _confidence(answer))]
    if decided := _decided_by(answer):
        grounds.append(("Decided by", Text(decided)))
    print_table(console, ("", "~"), grounds)
    marked = [(Text("!", "yellow"), sentence(warning)) for warning in answer.warnings]
    print_table(console, ("", "~"), marked, indent=2)
    origin = [("Source".ljust(_LABEL), _source(answer)), ("Service", service)]
    print_table(console, ("", "~"), origin)
    show_full(console, answer)


def _day(as_of: str | None) -> str:
    """The date that was asked for; a quarter's first day decides (WIRE, period)."""
    if as_of is None:
        return f"today, {datetime.now().astimezone().date()}"
    quarter = _PERIOD.fullmatch(as_of)
    if quarter is None:
        return as_of
    year, number = quarter[1], int(quarter[2])
    return f"{year} Q{number} (from {year}-{3 * number - 2:02}-01)"


def _parts(answer: TaxResponse) -> list[tuple[str, str]]:
    rows = []
    for name, field in PARTS:
        part = known_part(answer, field)
        rows.append((name, "not known" if part is None else percent(part)))
    freight = answer.rate.freight_taxable
    known = {True: "taxable", False: "not taxable"} if isinstance(freight, bool) else {}
    return [*rows, ("Delivery", known.get(freight is True, "not known"))]


def _confidence(answer: TaxResponse) -> Text:
    level = answer.confidence or ""
    meaning = f": {CONFIDENCE_MEANINGS[level]}" if level in CONFIDENCE_MEANINGS else ""
    return Text.assemble((level or "not stated", _COLOURS.get(level, "")), meaning)


def _decided_by(answer: TaxResponse) -> str | None:
    """What decided the rate, as far as the answer tells; a full one says it more closely."""
    via = answer.meta.resolved_via
    if via is None:
        return None
    decided, why = DECIDED_BY.get(via, via), reason_of_choice(answer)
    return f"{decided} ({why})" if why else decided


def _source(answer: TaxResponse) -> str:
    extra = answer.meta.model_extra or {}
    edition = extra.get("edition")
    parts = [extra.get("source"), f"edition {edition}" if edition else None]
    if answer.meta.effective_date:
        parts.append(f"in force since {answer.meta.effective_date}")
    return ", ".join(str(part) for part in parts if part) or "not stated"
