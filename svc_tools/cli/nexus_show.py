"""Registers and plans for a person to read, in 80 columns, and for a program as JSON."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

from rich.text import Text

from svc_tools.nexus.plan_shown import made_for_whom
from svc_tools.nexus.register import FIELDS
from svc_tools.nexus.words import NOT_TICKED_NOTE, REASONS
from svc_tools.printing import print_table, print_text
from svc_tools.shown import NOTHING, capital, counted, plain, printable

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from svc_tools.nexus.adding import Added
    from svc_tools.nexus.listing import Difference
    from svc_tools.nexus.plan import Plan, PlanRow
    from svc_tools.nexus.register import Register, Registration

__all__ = [
    "plan_as_json",
    "register_as_json",
    "show_added",
    "show_differences",
    "show_plan",
    "show_register",
]

_COLOURS = {"candidate": "yellow", "review": "cyan", "keep": "green"}
_TITLES = {
    "candidate": "Could be removed",
    "review": "To look at first",
    "keep": "To keep",
}
_KINDS = {"only_mine": "only in your register", "only_service": "only on the service"}


def show_register(console: Console, register: Register, *, of: str) -> None:
    """Print the records, in their order."""
    print_text(console, ("Nexus register", "bold"), f", {of}: {register.sentence}")
    if register.records:
        console.print()
        heads = ("State", "Type", "Registered at", "~Address", "~Notes")
        print_table(console, heads, [_cells(one) for one in register.records])


def show_differences(console: Console, found: list[Difference], *, service: str) -> None:
    """Print where one's own register and the service's differ."""
    console.print()
    if not found:
        print_text(console, f"The service ({service}) has the same records.")
        return
    differ = counted(len(found), "difference")
    print_text(console, (differ, "bold"), f" between your register and the service ({service})")
    console.print()
    rows = [
        (
            one.state,
            one.nexus_type,
            _KINDS.get(one.difference, one.difference),
            plain(one.mine or "") or NOTHING,
            plain(one.service or "") or NOTHING,
        )
        for one in found
    ]
    print_table(console, ("State", "Type", "Difference", "~Yours", "~The service's"), rows)


def show_added(console: Console, added: Added, *, service: str) -> None:
    """Print what was added or changed."""
    what = "Updated" if added.before is not None else "Added"
    of = f"{added.record.state} {added.record.nexus_type}"
    print_text(console, (f"{what}: ", "bold green"), f"{of} ({service}).")
    if added.before is not None:
        for name, before, now in zip(FIELDS, added.before.texts, added.record.texts, strict=True):
            if before != now:
                told = f"{name}: {plain(before) or 'empty'} -> {plain(now) or 'empty'}"
                print_text(console, told, indent=2)
    if not added.looked:
        print_text(
            console,
            "The service does not list its records, so whether there was one before is not known.",
        )


def show_plan(
    console: Console, plan: Plan, path: Path, *, notes: list[str], embedded: bool
) -> None:
    """Print the plan: states without a record first, then what could be removed, and why."""
    print_text(console, ("Cleanup plan", "bold"), f" as of {plan.as_of}, {made_for_whom(plan)}")
    print_text(console, plan.sentence)
    if plan.missing_states:
        console.print()
        print_text(console, ("States without a record, above their threshold", "bold red"))
        for one in plan.missing_states:
            console.print()
            print_text(console, (f"{one.state}  ", "bold"), one.sentence, indent=2)
    for decision, title in _TITLES.items():
        rows = [row for row in plan.rows if row.decision == decision]
        if rows:
            console.print()
            print_text(console, (f"{title}: {counted(len(rows), 'record')}", "bold"))
            console.print()
            heads = (">Row", "State", "Type", "Registered", "~Reasons")
            print_table(console, heads, [_plan_cells(row) for row in rows])
        if decision == "candidate":
            for row in rows:
                console.print()
                named = (f"{row.number}  {row.state} {row.nexus_type}. ", "bold")
                print_text(console, named, printable(row.evidence))
    _show_reasons(console, plan)
    console.print()
    for note in notes:
        print_text(console, f"- {capital(note)}")
    if notes:
        console.print()
    print_text(console, f"Written to {path}. {NOT_TICKED_NOTE}")
    print_text(console, "Put an x into its column remove, then see what would be sent:")
    where = " --embedded" if embedded else ""
    command = f"  svc-tools nexus apply {quote(str(path))}{where}"
    console.print(command, markup=False, soft_wrap=True)  # to be copied in one piece


def register_as_json(
    register: Register, found: list[Difference] | None, *, service: str, note: str
) -> dict[str, object]:
    """The records and, where two registers were compared, their differences."""
    told: dict[str, object] = {
        "service": service or None,
        "records": [_record(one) for one in register.records],
        "duplicates": [list(key) for key in register.duplicates()],
    }
    if found is not None:
        told["differences"] = [
            dict(zip(type(one)._fields[:5], one[:5], strict=True)) for one in found
        ]
    return told | ({"note": note} if note else {})


def plan_as_json(plan: Plan, path: Path, *, notes: list[str]) -> dict[str, object]:
    """The plan, with the codes of its reasons and its figures."""
    return {
        "plan_id": plan.plan_id,
        "path": str(path),
        "service": plan.service or None,
        "account": plan.account or None,
        "as_of": plan.as_of.isoformat(),
        "counts": plan.counts,
        "missing": [{"state": one.state, "sentence": one.sentence} for one in plan.missing_states],
        "rows": [
            {
                "number": row.number,
                **_record(row.record),
                "decision": row.decision,
                "reasons": list(row.reasons),
                "why": list(row.why),
                "evidence": row.evidence,
            }
            for row in plan.rows
        ],
        "notes": notes,
    }


def _record(record: Registration) -> dict[str, str | None]:
    return {name: text or None for name, text in zip(FIELDS, record.texts, strict=True)}


def _cells(record: Registration) -> list[str]:
    return [plain(text) or NOTHING for text in record.texts]


def _plan_cells(row: PlanRow) -> tuple[str | Text, ...]:
    return (
        f"{row.number:,}",
        Text(row.state, style=_COLOURS[row.decision]),
        row.nexus_type,
        NOTHING if row.registered_at is None else row.registered_at.isoformat(),
        "; ".join(map(_words, row.reasons)),
    )


def _words(code: str) -> str:
    return code.replace("_", " ")


def _show_reasons(console: Console, plan: Plan) -> None:
    """What the reasons mean: once each, in the order of the rules."""
    used = {code for row in plan.rows for code in row.reasons}
    if used:
        console.print()
        print_text(console, ("What the reasons mean", "bold"))
        console.print()
        rows = [(_words(code), told) for code, told in REASONS.items() if code in used]
        print_table(console, ("Reason", "~Meaning"), rows)
