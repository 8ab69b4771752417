"""From outcomes to columns: one value for each distinct question, taken onto the rows."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import UTC, date, datetime
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from svc_tools.config import EmbeddedSvc, service_name
from svc_tools.frames.enriched import CATEGORY_COLUMNS, DETAIL_COLUMNS, LOOKUP_COLUMNS
from svc_tools.frames.jurisdictions import encode
from svc_tools.frames.onto_rows import OntoRows
from svc_tools.lookup import Found, Outcome, refused
from svc_tools.lookup.review import as_of_status, review_reasons, told_day
from svc_tools.places import Question, Refusal, same_place

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from svc_sdk import Svc
    from svc_tools.frames.exact import RateForm
    from svc_tools.frames.questions import Asked
    from svc_tools.lookup import Component
    from svc_tools.places import Place

__all__ = ["Answerer", "answer_columns", "answerer", "results"]

MISMATCH = "place_input_mismatch"


@dataclass(frozen=True, slots=True)
class Answerer:
    """Who answers, as it stands in the rows: the service's name, and its edition where known."""

    name: str
    edition: str | None = None


def answerer(client: Svc) -> Answerer:
    """Who answers for a client."""
    edition = client.book_edition if isinstance(client, EmbeddedSvc) else None
    return Answerer(service_name(client), edition)


def answer_columns(
    asked: Asked,
    outcomes: Mapping[Place, Outcome],
    who: Answerer,
    rates: RateForm = "decimal",
    *,
    names: Collection[str] | None = None,
    detail: bool = False,
    today: date | None = None,
) -> dict[str, Any]:
    """The columns that a lookup adds, without their prefix, in the order of the rows.

    Args:
        asked: what the rows ask.
        outcomes: what became of each place.
        who: who answered.
        rates: the form of the rates.
        names: which of the columns; `None` for all of them.
        detail: whether `DETAIL_COLUMNS` are among them.
        today: the day that questions without a date are about; `None` for that of the answer.
    """
    told = _Told(asked, outcomes, who, today)
    onto = OntoRows(asked.codes)
    every = (*LOOKUP_COLUMNS, *(DETAIL_COLUMNS if detail else ()))
    wanted = every if names is None else [name for name in every if name in names]
    return {name: _column(name, told, onto, rates) for name in wanted}


def results(asked: Asked, outcomes: Mapping[Place, Outcome]) -> list[Outcome]:
    """The outcome of each question, those that are never asked among them."""
    return [
        outcomes[one.place] if isinstance(one, Question) else refused(one)
        for one in asked.questions
    ]


def _column(name: str, told: _Told, onto: OntoRows, rates: RateForm) -> Any:  # noqa: ANN401 - an array of pandas
    if name in _UNITS:
        return onto.rates(told.field(_UNITS[name]), rates)
    values = _VALUES[name](told) if name in _VALUES else told.field(name)
    if name in CATEGORY_COLUMNS:
        return onto.categories(values)
    if name in {"freight_taxable", "needs_review"}:
        return onto.truths(values)
    if name in {"effective_date", "lookup_as_of"}:
        return onto.days(values)
    return onto.moments(values) if name == "looked_up_at" else onto.texts(values)


_NOTHING: Any = type("Nothing", (), dict.fromkeys(one.name for one in fields(Found)))()
"""Where nothing was found: every field of it is `None`."""


class _Told:
    """What is known of each question; each thing found out when a column needs it."""

    def __init__(
        self,
        asked: Asked,
        outcomes: Mapping[Place, Outcome],
        who: Answerer,
        today: date | None,
    ) -> None:
        self.questions = asked.questions
        self.own_days = asked.days
        self.who = who
        self.today = today
        self.results = results(asked, outcomes)
        self.found = [result.found for result in self.results]
        self._fields_of = [one or _NOTHING for one in self.found]

    def field(self, name: str) -> list[Any]:
        """A field of what was found; `None` where there is nothing."""
        return list(map(attrgetter(name), self._fields_of))

    def result(self, name: str) -> list[Any]:
        """A field of the outcome."""
        return list(map(attrgetter(name), self.results))

    @cached_property
    def warnings(self) -> list[tuple[str, ...]]:
        return [_warnings(*pair) for pair in zip(self.questions, self.found, strict=True)]

    @cached_property
    def asked_days(self) -> list[date | None]:
        """The day that was asked about: the row's own, else the day of the answer."""
        days = [
            None if isinstance(one, Refusal) else one.place.as_of or self.today
            for one in self.questions
        ]
        if None not in days:
            return days
        answered = [result.looked_up_at for result in self.results]
        moments = [moment for moment in answered if moment is not None] or [datetime.now(UTC)]
        first, last = _local_day(min(moments)), _local_day(max(moments))
        for index, one in enumerate(self.questions):
            if days[index] is None and isinstance(one, Question):
                moment = None if first == last else answered[index]
                days[index] = last if moment is None else _local_day(moment)
        return days

    @cached_property
    def days(self) -> list[date | None]:
        """The day of the row: its own, else the one that was asked about."""
        return [own or day for own, day in zip(self.own_days, self.asked_days, strict=True)]

    @cached_property
    def reasons(self) -> list[str | None]:
        rows = zip(self.results, self.warnings, self.days, strict=True)
        return ["; ".join(review_reasons(*row)) or None for row in rows]

    def as_of_statuses(self) -> Sequence[str | None]:
        rows = zip(self.found, self.asked_days, self.days, strict=True)
        return [as_of_status(*row) for row in rows]

    def components(self) -> list[tuple[Component, ...]]:
        return [() if one is None else one.components for one in self.found]

    def sources(self) -> Sequence[str | None]:
        """Who answered, and from what, where the service says so."""
        name = self.who.name
        return [f"{name}: {one.source}" if one and one.source else name for one in self.found]

    def editions(self) -> Sequence[str | None]:
        known = self.who.edition
        return [one.edition or known if one else known for one in self.found]


_UNITS = {
    "combined_rate": "combined",
    "state_rate": "state",
    "county_rate": "county",
    "city_rate": "city",
    "combined_district_rate": "districts",
    "rate_low": "low",
    "rate_high": "high",
}
_VALUES: dict[str, Callable[[_Told], Sequence[Any]]] = {
    "warnings": lambda told: ["; ".join(codes) or None for codes in told.warnings],
    "effective_date": lambda told: list(map(told_day, told.field("effective_date"))),
    "lookup_as_of": lambda told: told.asked_days,
    "as_of_status": _Told.as_of_statuses,
    "needs_review": lambda told: [reason is not None for reason in told.reasons],
    "lookup_review_reason": lambda told: told.reasons,
    "lookup_status": lambda told: told.result("status"),
    "lookup_error": lambda told: told.result("error"),
    "support_reference": lambda told: told.result("support_reference"),
    "lookup_source": _Told.sources,
    "lookup_edition": _Told.editions,
    "looked_up_at": lambda told: told.result("looked_up_at"),
    "lookup_jurisdictions": lambda told: list(map(encode, told.components())),
}


def _warnings(one: Question | Refusal, found: Found | None) -> tuple[str, ...]:
    """The warnings of the answer, each once, and ours where the row's city is another (SPEC 2.4).

    That is compared here where the city was not sent.
    """
    if found is None:
        return ()
    codes = found.warnings
    if isinstance(one, Question) and one.named_city and found.resolved_city:
        known = (found.resolved_city, *found.accepted_places)
        if not any(same_place(one.named_city, name) for name in known):
            codes = (*codes, MISMATCH)
    return tuple(dict.fromkeys(codes)) if len(codes) > 1 else codes


def _local_day(moment: datetime) -> date:
    """The person's own day."""
    return moment.astimezone().date()
