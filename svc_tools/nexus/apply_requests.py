"""From a ticked plan to the requests that it means, and whether they still fit. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from svc_sdk import _requests
from svc_tools.nexus.ability import Listed, compared
from svc_tools.shown import counted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from svc_sdk._requests import Call
    from svc_tools.nexus.plan import Plan
    from svc_tools.nexus.receipt import Record
    from svc_tools.nexus.register import Register, Registration

__all__ = [
    "ApplyError",
    "PlannedRequest",
    "Wanted",
    "addition",
    "as_listed",
    "beyond",
    "fitted",
    "misfit",
    "planned",
    "record_of",
    "removal",
    "wanted_of",
]

FIELDS = ("registered_at", "address", "notes")
"""What of a record is compared and added again, beside its state and type."""
_TOLD = 80


class ApplyError(ValueError):
    """Nothing was sent; the message says why, and what to do."""


@dataclass(frozen=True, slots=True)
class PlannedRequest:
    """One request as it will be sent, but for the key and the address of the service.

    Attributes:
        state: the state that it is about.
        nexus_type: the type; "" for all types.
        method: DELETE or POST.
        path: the path.
        params: the parameters of the address.
        body: the JSON body; `None` for none.
        purpose: what it is for, in a sentence.
        expected: how many records a removal is expected to delete; `None` for other requests.
    """

    state: str
    nexus_type: str
    method: str
    path: str
    params: tuple[tuple[str, str], ...] = ()
    body: dict[str, str] | None = None
    purpose: str = ""
    expected: int | None = None

    @property
    def key(self) -> tuple[str, str]:
        """The state and the type."""
        return self.state, self.nexus_type

    @property
    def line(self) -> str:
        """The method and the address, as they go over the wire."""
        query = f"?{urlencode(self.params)}" if self.params else ""
        return f"{self.method} {self.path}{query}"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to become of one state and type.

    Attributes:
        state: the postal code.
        nexus_type: the type; "" for all types of the state.
        action: remove, replace, remove_all or restore; add for the rest of a "replace".
        expected: how many records the removal should delete; `None` where nobody can say.
        rows: the records as they were when the person decided.
        record: the one to be added again: by "replace", or by a restore.
        loose: whether a blank field of the rows says nothing: they are of a person's own register,
            and no service was asked when the plan was made.
    """

    state: str
    nexus_type: str
    action: str
    expected: int | None
    rows: tuple[Record, ...] = field(default=())
    record: Record | None = None
    loose: bool = False

    @property
    def key(self) -> tuple[str, str]:
        """The state and the type."""
        return self.state, self.nexus_type

    @property
    def named(self) -> str:
        """The state and the type, for sentences."""
        return f"{self.state} {self.nexus_type or '(all types)'}"


def wanted_of(plan: Plan) -> tuple[Wanted, ...]:
    """What the ticks of a plan mean, in its order: one removal for each state and type.

    Raises:
        PlanError: the ticks contradict each other.
    """
    found = []
    loose = not (plan.service or plan.account)
    for one in plan.removals:
        rows = tuple(record_of(row.record) for row in one.rows)
        keep = None if one.keep is None else record_of(one.keep.record)
        action = "remove" if keep is None else "replace"
        found.append(Wanted(one.state, one.nexus_type, action, one.expected, rows, keep, loose))
    return tuple(found)


def record_of(one: Registration) -> Record:
    """A record of a register as the wire has it."""
    since = None if one.registered_at is None else one.registered_at.isoformat()
    return {
        "state": one.state,
        "nexus_type": one.nexus_type,
        "registered_at": since,
        "address": one.address,
        "notes": one.notes,
    }


def as_listed(register: Register) -> Listed:
    """A register in the form in which a service lists."""
    records: dict[tuple[str, str], tuple[Record, ...]] = {}
    for one in register.records:
        key = (one.state, str(one.nexus_type))
        records[key] = (*records.get(key, ()), record_of(one))
    return Listed(records)


def removal(wanted: Wanted) -> Call:
    """The request that removes: always of one type, unless all types are what was asked for.

    Raises:
        ApplyError: there is no type, and no act of its own that removes all types.
    """
    if not wanted.nexus_type and wanted.action != "remove_all":
        raise ApplyError(f"{wanted.state}: a removal names its type; nothing was sent")
    return _requests.remove_nexus(wanted.state, wanted.nexus_type or None)


def addition(record: Record) -> Call:
    """The request that adds a record."""
    return _requests.add_nexus(
        record["state"] or "",
        nexus_type=record["nexus_type"] or "",
        registered_at=record.get("registered_at"),
        address=record.get("address"),
        notes=record.get("notes"),
    )


def misfit(wanted: Wanted, there: tuple[Record, ...]) -> tuple[str, str] | None:
    """Why nothing may be sent for what is on the service now: a status and a sentence; or nothing.

    Every record that is there has to be one that the person saw when she decided, each another
    one: what came since is never taken along, and never written over by a restore.
    """
    alone = [record for record, row in _with_rows(wanted, there) if row is None]
    if wanted.action == "restore":
        return _not_restored(wanted, alone) if there else _not_addable(wanted, wanted.record)
    if not there:
        return "absent", f"There is no {wanted.named} on the service (any more): nothing to remove."
    if wanted.action == "remove_all":
        return None
    if alone:
        return "changed", (
            f"{wanted.named} is another record on the service than in the plan"
            f" ({_differences(wanted, alone[0])}). It was left alone; to remove it, make the plan"
            " from what the service lists now."
        )
    if len(_staying(wanted, there)) > 1:
        return "changed", (
            f"{wanted.named} was left alone: several records on the service fit the one that is to"
            " stay, and the plan does not say which it is. Make the plan from what the service"
            " lists now."
        )
    return _not_addable(wanted, fitted(wanted, there).record)


def _not_restored(wanted: Wanted, alone: list[Record]) -> tuple[str, str]:
    if alone:
        return "changed", f"{wanted.named} is there again as another record; it was left alone."
    return "restored", f"{wanted.named} is there as it was; nothing was sent."


def _not_addable(wanted: Wanted, record: Record | None) -> tuple[str, str] | None:
    try:
        if record is not None:
            addition(record)
    except ValueError as error:  # a day that another service wrote in another way
        told = f"{wanted.named} was left alone, for it could not be added again: {error}."
        return "refused", told
    return None


def fitted(wanted: Wanted, there: tuple[Record, ...]) -> Wanted:
    """The same, where what is to be added again is the record as the service has it.

    A file that a person ticked may have less of it, or write it in another way.
    """
    if wanted.action != "replace" or wanted.record is None:
        return wanted
    staying = _staying(wanted, there)
    return replace(wanted, record=staying[0]) if staying else wanted


def beyond(wanted: Wanted, there: tuple[Record, ...]) -> str:
    """What the service has of the records that the plan does not say, in words; "" for nothing."""
    return "; ".join(
        f"{name} {_said(compared(record, name))}"
        for record, row in _with_rows(wanted, there)
        for name in FIELDS
        if row is not None and compared(row, name) is None and compared(record, name) is not None
    )


def planned(wanted: Iterable[Wanted], listed: Listed | None) -> tuple[PlannedRequest, ...]:
    """The requests of what is wanted, in order, but for those that would not be sent."""
    found = []
    for one in wanted:
        there = None if listed is None else listed.of(*one.key)
        if there is not None and misfit(one, there):
            continue
        record = one.record if there is None else fitted(one, there).record
        expected = one.expected if there is None else len(there)
        if one.action not in {"add", "restore"}:
            found.append(_removal_planned(one, expected))
        if record is not None:
            purpose = f"Then add this record of {one.named} again."
            if one.action == "restore":
                purpose = f"Add the record of {one.named} again, as it was."
            found.append(_as_planned(one, addition(record), purpose))
    return tuple(found)


def _removal_planned(one: Wanted, expected: int | None) -> PlannedRequest:
    every = "every record" if one.action == "remove_all" else f"the {one.nexus_type} record"
    purpose = f"Remove {every} of {one.state}"
    if expected is not None and expected > 1:
        purpose += f" ({counted(expected, 'record')})"
    return _as_planned(one, removal(one), f"{purpose}.", expected)


def _as_planned(
    one: Wanted, call: Call, purpose: str, expected: int | None = None
) -> PlannedRequest:
    """What a call is for, and how many records it should delete, beside what is sent."""
    return PlannedRequest(
        one.state,
        one.nexus_type,
        call.method,
        call.path,
        call.params,
        call.json,
        purpose,
        expected,
    )


def _unlike(row: Record, there: Record, *, loose: bool) -> list[str]:
    """The fields in which two records differ, in words."""
    triples = [(name, compared(row, name), compared(there, name)) for name in FIELDS]
    return [
        f"{name} {_said(is_there)} there, {_said(in_plan)} in the plan"
        for name, in_plan, is_there in triples
        if in_plan != is_there and not (loose and in_plan is None)
    ]


def _with_rows(wanted: Wanted, there: tuple[Record, ...]) -> list[tuple[Record, Record | None]]:
    """Each record that is there with the row of the plan most like it, each row for one record.

    A record that fits no row that is left has `None`.
    """
    left = [*wanted.rows]
    found: list[tuple[Record, Record | None]] = []
    for record in there:
        fits = [row for row in left if not _unlike(row, record, loose=wanted.loose)]
        row = min(fits, key=lambda row: len(_unlike(row, record, loose=False)), default=None)
        if row is not None:
            left.remove(row)
        found.append((record, row))
    return found


def _staying(wanted: Wanted, there: tuple[Record, ...]) -> list[Record]:
    """The records that the one to be added again may be, each once."""
    fitting: list[Record] = []
    for record, row in _with_rows(wanted, there):
        is_it = row is not None and row == wanted.record
        if is_it and all(_unlike(one, record, loose=False) for one in fitting):
            fitting.append(record)
    return fitting if wanted.action == "replace" else []


def _differences(wanted: Wanted, there: Record) -> str:
    """What differs from the most alike of the rows, in words."""
    found = [_unlike(row, there, loose=wanted.loose) for row in wanted.rows]
    fewest = min(found, key=len, default=["the plan has no such record"])
    return "; ".join(fewest) or "there are more of them"


def _said(value: str | None) -> str:
    if value is None:
        return "missing"
    return repr(value if len(value) <= _TOLD else f"{value[:_TOLD]}\u2026")
