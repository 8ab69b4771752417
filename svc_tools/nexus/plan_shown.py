"""How a plan reads: as a frame, on a terminal, in a notebook. What needs a person comes first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc_tools.nexus.register import day_column
from svc_tools.nexus.words import DECISION_WORDS, NOT_TICKED_NOTE
from svc_tools.shown import NOTHING, Table, as_html, as_text, counted, printable

if TYPE_CHECKING:
    import pandas as pd

    from svc_tools.nexus.plan import Plan, PlanRow

__all__ = [
    "FRAME_COLUMNS",
    "frame_of",
    "html_of_plan",
    "made_for_whom",
    "sentence_of",
    "text_of_plan",
]

FRAME_COLUMNS = (
    "number",
    "remove",
    "state",
    "nexus_type",
    "registered_at",
    "address",
    "notes",
    "decision",
    "reasons",
    "why",
    "evidence",
)
_HEADS = (">Row", "Record", "Registered at", "Suggestion")
_ELSEWHERE = "The figures and the source behind every row are in frame() and in the file."
_LACKING = "States without a record, above their threshold"


def sentence_of(plan: Plan) -> str:
    """How many records there are, what is suggested for them, and how many are ticked."""
    counts = plan.counts
    told = f"{counted(counts['records'], 'record')}: " + ", ".join(
        f"{counts[name]:,} {words}"
        for name, words in (
            ("candidate", "could be removed"),
            ("review", "to look at first"),
            ("keep", "to keep"),
        )
    )
    if counts["missing"]:
        lack = "lacks" if counts["missing"] == 1 else "lack"
        told = f"{counted(counts['missing'], 'state')} {lack} a record; {told}"
    return f"{told}; {counts['ticked'] or 'nothing'} ticked."


def made_for_whom(plan: Plan) -> str:
    """The service that a plan was made for, in words."""
    if not plan.service:
        return "made without a service"
    return f"for {plan.service}" if "://" in plan.service else f"for the {plan.service}"


def frame_of(plan: Plan) -> pd.DataFrame:
    """The plan as a frame, with `FRAME_COLUMNS`.

    States without a record come first (`decision` is "missing", `number` and the record are
    missing). `remove` is what was ticked; `reasons` has the codes, separated by "; ".
    """
    import pandas as pd  # noqa: PLC0415 - nexus works without it

    lacking = [
        (None, "", one.state, None, None, None, None, "missing", "missing", one.sentence, "")
        for one in plan.missing_states
    ]
    rows = [
        (
            row.number,
            row.action,
            row.state,
            row.nexus_type,
            row.registered_at,
            row.address,
            row.notes,
            row.decision,
            "; ".join(row.reasons),
            " ".join(row.why),
            row.evidence,
        )
        for row in plan.rows
    ]
    frame = pd.DataFrame([*lacking, *rows], columns=[*FRAME_COLUMNS])
    days = day_column(frame["registered_at"])
    kinds = {name: "str" for name in FRAME_COLUMNS if name not in {"number", "registered_at"}}
    return frame.assign(registered_at=days).astype({"number": "Int64", **kinds})


def text_of_plan(plan: Plan) -> str:
    """The plan as plain text, without the sentences of each row."""
    return as_text(plan.sentence, (NOT_TICKED_NOTE,), _tables(plan, evidence=False))


def html_of_plan(plan: Plan) -> str:
    """The plan as HTML: the reasons of each row, and the evidence of what could go; all escaped."""
    return as_html(plan.sentence, (NOT_TICKED_NOTE, _ELSEWHERE), _tables(plan, evidence=True))


def _tables(plan: Plan, *, evidence: bool) -> tuple[Table, ...]:
    tables = []
    if plan.missing_states:
        lacking = tuple((one.state, one.sentence) for one in plan.missing_states)
        tables.append(Table(_LACKING, ("State", "~Why"), lacking))
    if plan.rows:
        ticked = bool(plan.ticked)
        made_for = f"{plan.plan_id}, as of {plan.as_of}, {made_for_whom(plan)}"
        heads = (*_HEADS, *(("Tick",) if ticked else ()), *(("~Why",) if evidence else ()))
        rows = tuple(_cells(row, ticked=ticked, evidence=evidence) for row in plan.rows)
        tables.append(Table(f"Plan {made_for}", heads, rows))
    return tuple(tables)


def _cells(row: PlanRow, *, ticked: bool, evidence: bool) -> tuple[str, ...]:
    telling = row.decision == "candidate" or "differs" in row.reasons
    why = " ".join((*row.why, *((printable(row.evidence),) if telling else ())))
    return (
        f"{row.number:,}",
        f"{row.state} {row.nexus_type}",
        NOTHING if row.registered_at is None else row.registered_at.isoformat(),
        DECISION_WORDS[row.decision],
        *((row.action or NOTHING,) if ticked else ()),
        *((why,) if evidence else ()),
    )
