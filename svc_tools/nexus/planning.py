"""Make the cleanup plan of a register: which records could be removed, and on what that rests."""

from __future__ import annotations

import secrets
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, NamedTuple

from svc_tools.nexus.listing import found_differences
from svc_tools.nexus.plan import DECISIONS, Missing, Plan, PlanError, PlanRow
from svc_tools.nexus.plan_rules import Facts, decided
from svc_tools.nexus.plan_seen import evidence_of, exposed_on, other_test, read_exposure
from svc_tools.nexus.register_file import read_register
from svc_tools.nexus.thresholds import read_thresholds
from svc_tools.nexus.words import REASONS
from svc_tools.places import STATES

if TYPE_CHECKING:
    import pandas as pd

    from svc_tools.nexus.listing import Difference
    from svc_tools.nexus.plan_rules import Listed
    from svc_tools.nexus.plan_seen import Seen
    from svc_tools.nexus.register import Register, Registration
    from svc_tools.nexus.thresholds import Thresholds

__all__ = ["make_plan"]

_ABOVE = {"over", "missing"}
_NO_RECORD = "The register has no record."


def make_plan(
    register: object,
    *,
    exposure: pd.DataFrame | None = None,
    thresholds: Thresholds | None = None,
    as_of: date | None = None,
    listed: Register | None = None,
    service: str = "",
    account: str = "",
) -> Plan:
    """Suggest, for each record, whether it could be removed; nothing is ticked and nothing is sent.

    Without an exposure only what the register and the table of thresholds say can be decided.

    Args:
        register: a `Register`, or what `read_register` reads.
        exposure: what `exposure` or `df.svc.exposure` returned.
        thresholds: the states' thresholds; the shipped ones by default. The same as the exposure's.
        as_of: the day of the plan; that of the exposure, else today. Needed for an exposure that
            was saved: a file does not keep the day.
        listed: the register as the service lists it, where it does and `register` is another one:
            rows say where the two differ, and what only the service has becomes a row too. What
            `register` leaves blank is filled from it.
        service: the service that the plan is for, of `config.account_of`; "" for none.
        account: its account, likewise.

    Raises:
        PlanError: the exposure is none, of another day than `as_of` or of a day that it does not
            say, or was measured against other thresholds.
        RegisterError: the register cannot be read.
    """
    mine = read_register(register)
    rows = {} if exposure is None else read_exposure(exposure)
    measured = None if exposure is None else exposed_on(exposure)
    if as_of is not None and measured is not None and as_of != measured:
        raise PlanError(
            [f"the exposure was measured for {measured}, and the plan is to be for {as_of}"]
        )
    if exposure is not None and as_of is None and measured is None:
        raise PlanError(["the exposure does not say for which day it was measured; give as_of"])
    day = as_of or measured or datetime.now().astimezone().date()
    table = read_thresholds() if thresholds is None else thresholds
    _require_same_tests(rows, table, day)
    situation = _Situation(rows, exposure is not None, table, day)
    planned = [_row(one, situation) for one in _subjects(mine, listed)]
    order = {decision: place for place, decision in enumerate(DECISIONS)}
    planned.sort(key=lambda row: (order[row.decision], row.state, row.nexus_type, row.row))
    made_at = datetime.now(UTC).replace(microsecond=0)
    registered = mine.states | (listed.states if listed is not None else frozenset())
    return Plan(
        tuple(replace(row, number=number) for number, row in enumerate(planned, 1)),
        f"plan-{made_at:%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}",
        service,
        account,
        day,
        made_at,
        tuple(
            Missing(seen.state, _sentence_of_missing(seen))
            for seen in rows.values()
            if seen.band in _ABOVE and seen.state not in registered
        ),
    )


def _require_same_tests(rows: dict[str, Seen], table: Thresholds, day: date) -> None:
    """Sales below one threshold say nothing of another."""
    told = {state: other_test(seen, table.of(state, day)) for state, seen in rows.items()}
    problems = [
        f"the sales of {state} were measured against {other}; give make_plan the same thresholds="
        for state, other in told.items()
        if other
    ]
    if problems:
        raise PlanError(problems)


class _Situation(NamedTuple):
    """What is the same for all records."""

    seen: dict[str, Seen]
    sales_given: bool
    thresholds: Thresholds
    as_of: date


class _Subject(NamedTuple):
    """A record, and what is known of it beside its state's sales."""

    record: Registration
    several: bool
    expected: int
    listed: Listed
    differs: str


def _subjects(mine: Register, listed: Register | None) -> list[_Subject]:
    """The records of one's own register, and those that only the service has."""
    ours = mine.groups()
    theirs = ours if listed is None else listed.groups()
    found = [] if listed is None else found_differences(mine, listed)

    def subject(record: Registration, unlike: list[Difference]) -> _Subject:
        blanks = [one for one in unlike if one.mine == ""]
        differing = [one for one in unlike if one.mine != ""]
        record = _filled(record, blanks)
        there = len(theirs.get(record.key, ()))
        several = max(there, len(ours.get(record.key, ()))) > 1
        on_service = "" if listed is None else _listed(differing)
        return _Subject(record, several, there, on_service, _told(differing))

    subjects = [
        subject(record, [one for one in found if one.record is record]) for record in mine.records
    ]
    subjects += [
        subject(replace(one.listed, row=0), [one])
        for one in found
        if one.record is None and one.listed is not None
    ]
    return subjects


def _filled(record: Registration, blanks: list[Difference]) -> Registration:
    """The record with what only the service says of it: a removal compares with the service."""
    listed = blanks[0].listed if blanks else None
    if listed is None:
        return record
    return replace(record, **{one.difference: getattr(listed, one.difference) for one in blanks})


def _listed(found: list[Difference]) -> Listed:
    """What the service says of a record, from where it differs."""
    kinds = {one.difference for one in found}
    if "only_mine" in kinds:
        return "only_mine"
    if "only_service" in kinds:
        return "only_service"
    return "differs" if kinds else "same"


def _told(found: list[Difference]) -> str:
    """The differences of one record in a sentence."""
    told = [
        f"{one.difference} is {one.mine or 'empty'} in your register and"
        f" {one.service or 'empty'} on the service"
        for one in found
        if one.difference not in {"only_mine", "only_service"}
    ]
    return f"Differences: {'; '.join(told)}." if told else ""


def _row(subject: _Subject, situation: _Situation) -> PlanRow:
    record = subject.record
    threshold = situation.thresholds.of(record.state, situation.as_of)
    seen = situation.seen.get(record.state)
    facts = Facts(
        record,
        situation.as_of,
        threshold,
        situation.sales_given,
        seen,
        subject.several,
        subject.listed,
    )
    decision, codes = decided(facts)
    # a threshold is no evidence for a place
    figures = (threshold, seen) if facts.by_table else (None, None)
    evidence = evidence_of(record, *figures, situation.as_of)
    return PlanRow(
        number=0,
        state=record.state,
        nexus_type=record.nexus_type,
        registered_at=record.registered_at,
        address=record.address,
        notes=record.notes,
        decision=decision,
        reasons=codes,
        why=tuple(REASONS[code] for code in codes),
        evidence=" ".join(filter(None, (subject.differs, evidence))),
        row=record.row,
        expected=subject.expected,
    )


def _sentence_of_missing(seen: Seen) -> str:
    name = STATES.get(seen.state, seen.state)
    told = f"{name} has no record, and your sales are above its threshold."
    return f"{told} {seen.sentence.removesuffix(_NO_RECORD)}".strip()
