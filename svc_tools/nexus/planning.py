"""Make the cleanup plan of a register: which records could be removed, and on what that rests.

The rules are one line each, over the facts of one record. A record is a candidate only where a
reason for it holds and nothing requires a review; a reason to review always wins. Sales never make
a physical record a candidate.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Literal, NamedTuple

from svc_tools.nexus.notices import REASONS
from svc_tools.nexus.plan import DECISIONS, Missing, Plan, PlanError, PlanRow
from svc_tools.nexus.register import read_register
from svc_tools.nexus.service import found_differences
from svc_tools.nexus.thresholds import read_thresholds
from svc_tools.tables.states import STATES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pandas as pd

    from svc_tools.nexus.plan import Decision
    from svc_tools.nexus.register import Register, Registration
    from svc_tools.nexus.service import Difference
    from svc_tools.nexus.thresholds import Threshold, Thresholds
NO_SALES_TAX = frozenset({"DE", "MT", "NH", "OR"})
"""States without a general sales tax. Alaska has no state tax, and many local ones."""
_ABOVE = {"over", "missing"}
_Comparison = Literal["", "same", "only_mine", "only_service", "differs"]
"""How a record compares with what the service lists; "" where nothing was listed."""


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
    """Suggest, for each record, whether it could be removed; nothing is ticked or changed.

    Without an exposure only the register and the table of thresholds decide.

    Args:
        register: a `Register`, or what `read_register` reads.
        exposure: what `exposure` or `df.svc.exposure` returned.
        thresholds: the states' thresholds; the shipped ones by default. The same as the exposure's.
        as_of: the day of the plan; that of the exposure, else today. Needed for an exposure that
            was saved: a file does not hold the day.
        listed: the register as the service lists it, where it does and `register` is another one:
            rows show where the two differ, and what only the service has becomes a row too. What
            `register` leaves blank is filled from it.
        service: the service that the plan is for, of `config.account_of`; "" for none.
        account: its account, likewise.

    Raises:
        PlanError: `exposure` is not an exposure, is for another day than `as_of` or has no
            day, or was measured against other thresholds.
        RegisterError: the register cannot be read.
    """
    mine = read_register(register)
    rows = {} if exposure is None else _read_exposure(exposure)
    measured = None if exposure is None else _measured_on(exposure)
    if as_of is not None and measured is not None and as_of != measured:
        raise PlanError(
            [f"the exposure was measured for {measured}, and the plan is to be for {as_of}"]
        )
    if exposure is not None and as_of is None and measured is None:
        raise PlanError(
            ["the exposure has lost the day for which it was measured: name the day of the plan"]
        )
    day = as_of or measured or datetime.now().astimezone().date()
    table = read_thresholds() if thresholds is None else thresholds
    _require_same_tests(rows, table, day)
    planned = [
        _row(
            one,
            RecordFacts(
                one.record,
                day,
                table.of(one.record.state, day),
                exposure is not None,
                rows.get(one.record.state),
                one.several,
                one.listed,
            ),
        )
        for one in _subjects(mine, listed)
    ]
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
            Missing(row.state, _sentence_of_missing(row))
            for row in rows.values()
            if row.band in _ABOVE and row.state not in registered
        ),
    )


@dataclass(frozen=True, slots=True)
class StateExposure:
    """One state's row of an exposure, as plain values; `None` is not known.

    Attributes: as the columns of `exposure`; `sentence` is its `why`.
    """

    state: str
    band: str
    below_all: bool | None = None
    marketplace_only: bool = False
    below_now: bool | None = None
    period_covered: bool = True
    certainty: str | None = None
    checked_on: date | None = None
    sentence: str = ""
    test: tuple[str, int | None, int | None] | None = None
    """The threshold that was measured against: logic, dollars of sales, transactions."""


@dataclass(frozen=True, slots=True)
class RecordFacts:
    """All that the suggestion for one record rests on.

    Attributes:
        record: the record.
        as_of: the day of the plan.
        threshold: the state's threshold on that day; `None` where none is known.
        sales_given: whether there is an exposure.
        exposure: the exposure of the state; `None` where it has no row for it.
        several: whether there are other records of this state and type.
        listed: how the record compares with what the service lists.
    """

    record: Registration
    as_of: date
    threshold: Threshold | None = None
    sales_given: bool = False
    exposure: StateExposure | None = None
    several: bool = False
    listed: _Comparison = ""

    @property
    def untaxed(self) -> bool:
        """Whether the state has no general sales tax, by its name and by its threshold."""
        none = self.threshold is None or self.threshold.logic == "none"
        no_tax = self.exposure is None or self.exposure.band == "no tax"
        return self.record.state in NO_SALES_TAX and none and no_tax

    @property
    def physical(self) -> bool:
        """Whether the record rests on a place."""
        return self.record.nexus_type == "physical"

    @property
    def by_sales(self) -> bool:
        """Whether sales have any bearing on the record."""
        return not self.physical and not self.untaxed

    @property
    def by_table(self) -> bool:
        """Whether the suggestion rests on the table of thresholds."""
        return not self.physical or self.untaxed

    @property
    def above(self) -> bool:
        """Whether sales are at or above the threshold, as far as is known."""
        return self.band in _ABOVE

    @property
    def band(self) -> str:
        """The band of the state's exposure; "" where no exposure was given."""
        return "" if self.exposure is None else self.exposure.band

    @property
    def incomplete(self) -> bool:
        """Whether a fact is missing without which no sales are known to be below."""
        return self.by_sales and (
            self.threshold is None
            or None
            in {
                self.threshold.base,
                self.threshold.marketplace_counts,
                self.threshold.trailing_months,
            }
        )

    @property
    def from_repealed(self) -> bool:
        """Whether the record dates from before the state repealed its transaction test."""
        dropped = None if self.threshold is None else self.threshold.transactions_dropped_on
        since = self.record.registered_at
        return (
            self.record.nexus_type == "economic"
            and dropped is not None
            and since is not None
            and since < dropped <= self.as_of
        )


class PlanningRule(NamedTuple):
    """A reason, the decision it leads to, and when it holds; "" only adds its sentence."""

    code: str
    decision: Decision | Literal[""]
    holds: Callable[[RecordFacts], bool]


def suggest(facts: RecordFacts) -> tuple[Decision, tuple[str, ...]]:
    """What is suggested for a record, and the codes of the reasons, those of the decision first.

    The codes of what else holds follow: a record to review may also have reasons for removing
    it. Every record has a reason.
    """
    holding = [rule for rule in RULES if rule.holds(facts)]
    decisions = {rule.decision for rule in holding}
    decision: Decision = (
        "review" if "review" in decisions else "candidate" if "candidate" in decisions else "keep"
    )
    first = [rule.code for rule in holding if rule.decision == decision]
    return decision, (*first, *(rule.code for rule in holding if rule.code not in first))


def _stale(facts: RecordFacts) -> bool:
    """Whether a threshold was last checked more than a year before the day of the plan."""
    today = (facts.as_of.year, facts.as_of.month, facts.as_of.day)
    days = [one.checked_on for one in (facts.threshold, facts.exposure) if one is not None]
    return facts.by_table and any(
        day is not None and (day.year + 1, day.month, day.day) < today for day in days
    )


def _low_certainty(facts: RecordFacts) -> bool:
    rows = (facts.threshold, facts.exposure)
    return facts.by_table and any(one is not None and one.certainty == "low" for one in rows)


def _unknown(facts: RecordFacts, name: str) -> bool:
    """Whether a fact of the threshold is not known that sales are measured by."""
    row = facts.threshold
    return facts.by_sales and row is not None and getattr(row, name) is None


def _not_settled(facts: RecordFacts) -> bool:
    """Whether the sales leave open if they were below."""
    exposure = facts.exposure
    if not facts.by_sales or facts.above or exposure is None or exposure.below_all is not None:
        return False
    return not exposure.period_covered or not facts.incomplete


def _below_all(facts: RecordFacts, *, is_so: bool) -> bool:
    """Whether sales are known to have been below all the time (or, not `is_so`, not all of it)."""
    exposure = facts.exposure
    known = exposure is not None and exposure.below_all is is_so
    return facts.by_sales and known and not facts.above


def _held_by_repealed(facts: RecordFacts) -> bool:
    """Whether nothing in force today was met, and a test repealed since the registration was."""
    exposure = facts.exposure
    below = exposure is not None and (exposure.below_all is True or exposure.below_now is True)
    return facts.by_sales and facts.from_repealed and below and not facts.above


RULES: tuple[PlanningRule, ...] = (
    PlanningRule("only_service", "review", lambda facts: facts.listed == "only_service"),
    PlanningRule("only_mine", "review", lambda facts: facts.listed == "only_mine"),
    PlanningRule("differs", "review", lambda facts: facts.listed == "differs"),
    PlanningRule("duplicate", "review", lambda facts: facts.several),
    PlanningRule(
        "physical_without_address",
        "review",
        lambda facts: facts.physical and not facts.record.address,
    ),
    PlanningRule(
        "marketplace_only",
        "review",
        lambda facts: (
            facts.by_table and facts.exposure is not None and facts.exposure.marketplace_only
        ),
    ),
    PlanningRule(
        "no_threshold", "review", lambda facts: facts.by_table and facts.threshold is None
    ),
    PlanningRule("low_certainty", "review", _low_certainty),
    PlanningRule("stale_threshold", "review", _stale),
    PlanningRule("unknown_base", "review", lambda facts: _unknown(facts, "base")),
    PlanningRule(
        "unknown_marketplace", "review", lambda facts: _unknown(facts, "marketplace_counts")
    ),
    PlanningRule(
        # how long a duty lasts after sales have fallen is no question while they have not
        "unknown_trailing",
        "review",
        lambda facts: _unknown(facts, "trailing_months") and not facts.above,
    ),
    PlanningRule("not_covered", "review", _not_settled),
    PlanningRule(
        "no_sales_of_state",
        "review",
        lambda facts: facts.by_sales and facts.sales_given and facts.exposure is None,
    ),
    PlanningRule(
        "maybe_repealed",
        "review",
        lambda facts: facts.by_sales and not facts.sales_given and facts.from_repealed,
    ),
    PlanningRule("near", "review", lambda facts: facts.by_sales and facts.band == "90-100"),
    PlanningRule("no_sales_tax", "candidate", lambda facts: facts.untaxed),
    PlanningRule("below_all", "candidate", lambda facts: _below_all(facts, is_so=True)),
    PlanningRule("repealed_test", "candidate", _held_by_repealed),
    PlanningRule("over", "keep", lambda facts: facts.by_sales and facts.above),
    PlanningRule(
        "still_trailing",
        "keep",
        lambda facts: _below_all(facts, is_so=False) and not _held_by_repealed(facts),
    ),
    PlanningRule("physical", "keep", lambda facts: facts.physical and not facts.untaxed),
    PlanningRule("sales_not_given", "keep", lambda facts: facts.by_sales and not facts.sales_given),
    PlanningRule("watch", "", lambda facts: facts.by_sales and facts.band == "70-90"),
    PlanningRule("alaska", "", lambda facts: facts.by_table and facts.record.state == "AK"),
)
"""All rules, in the order in which their sentences are listed."""


def _require_same_tests(rows: dict[str, StateExposure], table: Thresholds, day: date) -> None:
    """Refuse other thresholds than the exposure's: sales below one prove nothing about another."""
    others = {state: _other_test(row, table.of(state, day)) for state, row in rows.items()}
    problems = [
        f"the sales of {state} were measured against {other}: use the same thresholds for both"
        for state, other in others.items()
        if other
    ]
    if problems:
        raise PlanError(problems)


class _Subject(NamedTuple):
    """A record, and how it compares with the other records and with the service's."""

    record: Registration
    several: bool
    expected: int
    listed: _Comparison
    differs: str


def _subjects(mine: Register, listed: Register | None) -> list[_Subject]:
    """The records of the user's register, and those that only the service has."""
    own = mine.groups()
    on_service = own if listed is None else listed.groups()
    found = [] if listed is None else found_differences(mine, listed)

    def subject(record: Registration, unlike: list[Difference]) -> _Subject:
        blanks = [one for one in unlike if one.mine == ""]
        differing = [one for one in unlike if one.mine != ""]
        record = _filled(record, blanks)
        expected = len(on_service.get(record.key, ()))
        several = max(expected, len(own.get(record.key, ()))) > 1
        comparison = "" if listed is None else _comparison(differing)
        return _Subject(record, several, expected, comparison, _differences(differing))

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
    """The record with the details that only the service has: a removal compares with those."""
    listed = blanks[0].listed if blanks else None
    if listed is None:
        return record
    return replace(record, **{one.difference: getattr(listed, one.difference) for one in blanks})


def _comparison(found: list[Difference]) -> _Comparison:
    """How a record compares with the service's, from its differences."""
    kinds = {one.difference for one in found}
    if "only_mine" in kinds:
        return "only_mine"
    if "only_service" in kinds:
        return "only_service"
    return "differs" if kinds else "same"


def _differences(found: list[Difference]) -> str:
    """The differences of one record in a sentence."""
    texts = [
        f"{one.difference} is {one.mine or 'empty'} in your register and"
        f" {one.service or 'empty'} on the service"
        for one in found
        if one.difference not in {"only_mine", "only_service"}
    ]
    return f"Differences: {'; '.join(texts)}." if texts else ""


def _row(subject: _Subject, facts: RecordFacts) -> PlanRow:
    record = subject.record
    decision, codes = suggest(facts)
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
        evidence=" ".join(filter(None, (subject.differs, _evidence(facts)))),
        row=record.row,
        expected=subject.expected,
    )


def _sentence_of_missing(exposure: StateExposure) -> str:
    name = STATES.get(exposure.state, exposure.state)
    measured = exposure.sentence.removesuffix("The register has no record.")
    return f"{name} has no record, and your sales are above its threshold. {measured}".strip()


def _read_exposure(frame: pd.DataFrame) -> dict[str, StateExposure]:
    """The exposure's rows by state.

    Raises:
        PlanError: it is not an exposure: columns are missing, a state has several rows, or a cell
            that is true, false or missing holds something else.
    """
    needed = ("state", "band", "below_all", "marketplace_only")
    absent = [name for name in needed if name not in frame.columns]
    if absent:
        raise PlanError(
            [f"the exposure has no column {', '.join(absent)}; give what exposure() returned"]
        )
    found: dict[str, StateExposure] = {}
    for row in frame.astype(object).where(frame.notna(), None).to_dict("records"):
        exposure = _state_exposure({str(name): value for name, value in row.items()})
        if exposure.state in found:
            raise PlanError([f"the exposure has several rows for {exposure.state}"])
        found[exposure.state] = exposure
    return found


def _measured_on(frame: pd.DataFrame) -> date | None:
    """The day for which an exposure was measured, if it is known."""
    about = frame.attrs.get("svc_exposure")
    day = about.get("as_of") if isinstance(about, dict) else None
    return date.fromisoformat(day) if isinstance(day, str) else _day(day)


def _evidence(facts: RecordFacts) -> str:
    """The figures and the source that a suggestion rests on, as sentences on one line."""
    since, row, exposure = facts.record.registered_at, facts.threshold, facts.exposure
    sentences = [
        f"Registered since {since}." if since else "The day of the registration is not known."
    ]
    if not facts.by_table:
        return sentences[0]  # a threshold is no evidence for a place
    untaxed = row is not None and row.logic == "none"
    if exposure is not None and not (untaxed and exposure.band == "no tax"):
        sentences.append(exposure.sentence)
    if row is not None:
        test = "none" if untaxed else _test_words(row.logic, row.sales, row.transactions)
        sentences.append(
            f"Threshold on {facts.as_of}: {test}; certainty {row.certainty}, checked"
            f" {row.checked_on}; source: {row.source.rstrip('.')}."
        )
    return " ".join(filter(None, sentences))


def _other_test(exposure: StateExposure, threshold: Threshold | None) -> str:
    """How the exposure's threshold differs from the plan's; "" where it does not."""
    if exposure.test is None or threshold is None:
        return ""
    here = (threshold.logic, threshold.sales, threshold.transactions)
    return (
        "" if exposure.test == here else f"{_test_words(*exposure.test)}, not {_test_words(*here)}"
    )


def _test_words(logic: str, sales: int | None, transactions: int | None) -> str:
    if logic == "none":
        return "no general sales tax"
    amount = f"${sales:,} of sales" if sales is not None else ""
    count = f"{transactions:,} transactions" if transactions is not None else ""
    joined = f" {logic if logic in {'and', 'or'} else 'with'} "
    test = joined.join(filter(None, (amount, count))) or "not known"
    return f"{test}; whether transactions count is not known" if logic == "unknown" else test


def _state_exposure(cells: Mapping[str, object]) -> StateExposure:
    below, covered = _truth(cells, "below_all"), _truth(cells, "period_covered")
    logic = _text(cells.get("logic"))
    test = (_whole(cells, "threshold_sales"), _whole(cells, "threshold_transactions"))
    return StateExposure(
        state=str(cells["state"]),
        band=str(cells["band"]),
        below_all=below,
        marketplace_only=_truth(cells, "marketplace_only") is True,
        below_now=_truth(cells, "below_now"),
        # an exposure without this column is not taken to cover it
        period_covered=below is not None if covered is None else covered,
        certainty=_text(cells.get("certainty")),
        checked_on=_day(cells.get("checked_on")),
        sentence=_text(cells.get("why")) or "",
        test=None if logic is None else (logic, *test),
    )


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _truth(cells: Mapping[str, object], name: str) -> bool | None:
    """A cell that is true, false or missing; a text "False" is not taken for true."""
    value = cells.get(name)
    if value is None or value in {True, False}:
        return None if value is None else bool(value)
    raise PlanError([f"the exposure has {value!r} in {name}, which is neither true nor false"])


def _whole(cells: Mapping[str, object], name: str) -> int | None:
    value = cells.get(name)
    return None if value is None else int(Decimal(str(value)))


def _day(value: object) -> date | None:
    if isinstance(value, datetime):
        return value.date()
    return value if isinstance(value, date) else None
