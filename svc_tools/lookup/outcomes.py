"""What became of a question: a status, a reason, and what was found. Pure."""

# MERGED outcome_shown: How an outcome reads in a notebook. Pure.
# MERGED alike: Reasons that differ only in the value that they quote, counted as one. Pure.
# MERGED trouble: What went wrong with the service, for a person: a sentence, what to do, a reference. Pure.
# MERGED stopping: Why a run ends before every place was asked for. Pure.
# MERGED many_objects: Making many objects at once.

from __future__ import annotations

import gc
import re
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Literal, TypeVar, get_args

from svc_sdk import (
    Advisory,
    AuthError,
    ForbiddenError,
    NotFoundError,
    PaymentRequiredError,
    RateLimitError,
    ServiceError,
    SvcError,
    TaxResponse,
    TransportError,
    ValidationError,
)
from svc_sdk.rates import UNITS_PER_ONE, rate_to_decimal, rate_to_units, units_to_rate
from svc_tools.codes import lacking, part_is_known
from svc_tools.display import NOTHING, Table, as_html, capital, counted, printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from datetime import datetime

    from svc_tools.places import Place, Refusal

Status = Literal["ok", "partial", "unresolved", "invalid", "unsupported", "failed", "not_attempted"]
_PARTS = ("country_rate", "state_rate", "county_rate", "city_rate", "combined_district_rate")
NO_SUM = "parts_do_not_add_up"
"""Our own warning: the parts of the rate are all there, and their sum is another."""

_SHOWN_PARTS = (
    ("state", "State"),
    ("county", "County"),
    ("city", "City"),
    ("districts", "Districts"),
)

_OF_SERVICE: Mapping[type[SvcError], tuple[str, str]] = {
    AuthError: (
        "The service does not accept the key",
        "Check the API key and the address of the service, then give the key again.",
    ),
    PaymentRequiredError: (
        "The account has a billing problem",
        "Settle it with the service, then try again: the same request is refused until then.",
    ),
    ForbiddenError: (
        "The account's plan does not include this",
        "Ask for a plan that includes it, or use another account.",
    ),
    NotFoundError: (
        "The service knows no rate for this place",
        "Check state, ZIP Code and city; if they are right, get the rate from the state.",
    ),
    RateLimitError: (
        "The service asks for fewer requests",
        "Wait a moment, then try again.",
    ),
    ValidationError: (
        "The service does not accept the request",
        "Correct what is named, then try again.",
    ),
    ServiceError: (
        "The service has trouble of its own",
        "Try again in a few minutes; if it stays so, quote the reference to support.",
    ),
    TransportError: (
        "The service does not answer",
        "Check its address and the network, then try again.",
    ),
}
_FOREIGN = (
    "The answer is not the service's",
    "Check the address of the service: another program answered, such as a gateway.",
)
_QUOTA = (
    "The account's quota is used up",
    "Wait for the next period, or ask for a larger quota: more requests are refused until then.",
)

STOPPED = "it was stopped"
"""Why a run ended that somebody stopped through its event."""
_NEVER_REACHED = 8
"""How many failures mean that a service that never answered is not there."""
_GIVE_UP = 40
"""How many failures in a row, retries spent, mean that a service that did answer is gone."""
_DOUBTFUL = 32
"""How many requests in a row may go wrong before no further places are begun for now."""
TOO_MANY = 429
_FATAL = (AuthError, PaymentRequiredError, ForbiddenError)

STATUSES: tuple[str, ...] = get_args(Status)
"""Every status a row can have, from the best to the least known."""
_BREAKS = re.compile(r"\s+")
Text = TypeVar("Text", str, str | None)


@dataclass(frozen=True, slots=True)
class Component:
    """One jurisdiction's part of a rate, as `mode=full` tells it (SPEC 2.5, WIRE).

    `code` is the official code of the jurisdiction (FIPS, or the state's own location code);
    `units` is its rate in integers of 10^-5.
    """

    level: str
    name: str
    code: str | None
    units: int


@dataclass(frozen=True, slots=True)
class Found:
    """An answer, reduced to what a table needs. Rates are integers of 10^-5 or missing.

    `low` and `high` are the lowest and the highest combined rate among the candidates, where the
    answer names several; else missing. `components` is empty unless the full answer was asked for.
    """

    combined: int
    state: int | None
    county: int | None
    city: int | None
    districts: int | None
    freight_taxable: bool | None
    confidence: str | None
    warnings: tuple[str, ...]
    resolved_via: str | None
    effective_date: str | None
    effective_date_basis: str | None
    resolved_state: str | None
    resolved_zip: str | None
    resolved_city: str | None
    resolved_county: str | None
    source: str | None
    edition: str | None
    accepted_places: tuple[str, ...] = ()
    low: int | None = None
    high: int | None = None
    components: tuple[Component, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one place.

    Attributes:
        status: see `STATUSES`.
        error: the reason, where there is no whole rate.
        found: what was found; `None` where there is no rate.
        support_reference: what to quote to support, where the service refused or failed.
        error_code: the service's machine-readable code of that error.
        looked_up_at: when the service answered (UTC); `None` where it was not asked.
        cached: whether the answer came from the cache (or a lock file), not over the wire.
    """

    status: Status
    error: str | None = None
    found: Found | None = None
    support_reference: str | None = None
    error_code: str | None = None
    looked_up_at: datetime | None = None
    cached: bool = False

    def _repr_html_(self) -> str:
        return outcome_html(self)


def of_answer(place: Place, answer: TaxResponse, *, at: datetime | None = None) -> Outcome:
    """The outcome of an answer: `ok`, `partial`, `unresolved`; `failed` where it cannot be used.

    That is where it has no rate, or is for another place than the one that was asked about.

    Args:
        place: what was asked.
        answer: what came.
        at: when the service answered (aware, UTC).
    """
    if answer.confidence == "none":
        why = "the service found no rate it could stand by (confidence none)"
        return Outcome("unresolved", why, looked_up_at=at)
    try:
        _check_place(place, answer)
        found = _found(answer)
    except ValueError as error:
        return Outcome("failed", f"the answer cannot be used: {error}", looked_up_at=at)
    codes = lacking(answer)
    if codes:
        return Outcome("partial", ", ".join(codes), found, looked_up_at=at)
    return Outcome("ok", None, found, looked_up_at=at)


def failed(error: SvcError, *, at: datetime | None = None) -> Outcome:
    """The outcome of a call that failed: a 404 of the service's is `unresolved`, others `failed`.

    What the service said to quote to support is kept. `at` counts where the service answered at
    all: a connection that failed has no such moment.
    """
    # a page that is not there says nothing of the place
    gone = isinstance(error, NotFoundError) and not is_foreign(error)
    return Outcome(
        "unresolved" if gone else "failed",
        _sentence(error.message if gone else _without_reference(error)),
        support_reference=_clean(error.support_reference),
        error_code=_clean(error.error_code),
        looked_up_at=at if error.status_code is not None else None,
    )


def refused(refusal: Refusal) -> Outcome:
    """The outcome of a row that is never asked for."""
    return Outcome(refusal.status, refusal.reason)


def not_attempted(cause: str) -> Outcome:
    """The outcome of a place that was not asked for because the run had stopped."""
    return Outcome("not_attempted", cause)


def _found(answer: TaxResponse) -> Found:
    rate, meta = answer.rate, answer.meta
    extra = meta.model_extra or {}
    combined = _units("combined_rate", rate.combined_rate)
    if combined is None:
        raise ValueError("it has no combined_rate")
    freight = rate.freight_taxable
    places = extra.get("accepted_places")
    low, high = _range(answer, combined)
    return Found(
        combined=combined,
        state=_units("state_rate", rate.state_rate),
        county=_part(answer, "county_rate"),
        city=_part(answer, "city_rate"),
        districts=_part(answer, "combined_district_rate"),
        freight_taxable=freight if isinstance(freight, bool) else None,
        confidence=_clean(meta.confidence),
        warnings=_warnings(answer),
        resolved_via=_clean(meta.resolved_via),
        effective_date=_clean(meta.effective_date),
        effective_date_basis=_clean(meta.effective_date_basis),
        resolved_state=_clean(rate.state),
        resolved_zip=_clean(rate.zip),
        resolved_city=_clean(rate.city),
        resolved_county=_clean(rate.county),
        source=_text(extra.get("source")),
        edition=_text(extra.get("edition")),
        accepted_places=tuple(_clean(str(one)) for one in places)
        if isinstance(places, list)
        else (),
        low=low,
        high=high,
        components=_components(answer),
    )


def _range(answer: TaxResponse, combined: int) -> tuple[int | None, int | None]:
    """The lowest and the highest combined rate that the place may have; missing where it is one.

    Told by the advisories of a doubt about the place, and by the candidates of a full answer. What
    is not a rate there is left out: it says nothing, and the rate itself is not in doubt for it.
    """
    told = [
        units
        for one in answer.warnings
        if isinstance(one, Advisory) and one.model_extra
        for name in ("lowest_combined_rate", "highest_combined_rate")
        if (units := _told_units(one.model_extra.get(name))) is not None
    ]
    rows = list(_rows(answer, "candidates"))
    candidates = [_told_units(one.get("combined_rate")) for one in rows]
    if len(rows) > 1:
        told += [units for units in candidates if units is not None]
    return (min(*told, combined), max(*told, combined)) if told else (None, None)


def _components(answer: TaxResponse) -> tuple[Component, ...]:
    """The jurisdictions of a full answer; none where one of them cannot be read.

    A list with a hole would look whole, and a filing by jurisdiction would lose what is missing.
    """
    components = []
    for one in _rows(answer, "components"):
        level, name = one.get("level"), one.get("name")
        units = _told_units(one.get("rate"))
        if not (isinstance(level, str) and isinstance(name, str)) or units is None:
            return ()
        code = one.get("code")
        known = isinstance(code, str | int) and not isinstance(code, bool) and code != ""
        official = _clean(str(code)) if known else None
        components.append(Component(_clean(level), _clean(name), official, units))
    return tuple(components)


def _rows(answer: TaxResponse, name: str) -> Iterator[Mapping[str, object]]:
    value = answer.model_extra.get(name) if answer.model_extra else None
    if isinstance(value, list):
        for one in value:  # what is no object is kept as an empty one: it counts, and says nothing
            yield one if isinstance(one, dict) else {}


def _told_units(rate: object) -> int | None:
    """A rate that explains an answer, in units; `None` where it is none."""
    if not isinstance(rate, str):
        return None
    try:
        return _units("rate", rate)
    except ValueError:
        return None


def _check_place(place: Place, answer: TaxResponse) -> None:
    state, zip_code = answer.rate.state, answer.rate.zip
    if state and state.upper() != place.state:
        raise ValueError(f"it is for {state}, not for {place.state}")
    if place.mode == "zip" and place.zip and zip_code and zip_code[:5] != place.zip[:5]:
        raise ValueError(f"it is for ZIP {zip_code}, not for {place.zip}")


def _warnings(answer: TaxResponse) -> tuple[str, ...]:
    codes = [one.code if isinstance(one, Advisory) else one for one in answer.warnings]
    parts = [getattr(answer.rate, field) for field in _PARTS]
    if None not in parts and sum(map(rate_to_decimal, parts)) != answer.combined_rate_decimal:
        codes.append(NO_SUM)
    return tuple(map(_clean, codes))


def _part(answer: TaxResponse, field: str) -> int | None:
    return _units(field, getattr(answer.rate, field)) if part_is_known(answer, field) else None


def _units(field: str, rate: str | None) -> int | None:
    if rate is None:
        return None
    units = rate_to_units(rate)
    if not 0 <= units < UNITS_PER_ONE:
        raise ValueError(f"{field} is {rate}, which is not a fraction from 0 to 1")
    return units


def _text(value: object) -> str | None:
    return _clean(value) if isinstance(value, str) and value else None


def _without_reference(error: SvcError) -> str:
    """The error in a sentence; equal failures read equally, so that they can be counted."""
    return str(error).replace(f"support reference {error.support_reference}, ", "")


def _sentence(text: str) -> str:
    return _BREAKS.sub(" ", _clean(text))


def _clean(text: Text) -> Text:
    """The text, with a question mark for what no file can hold: half of a character (JSON can)."""
    if text is None or text.isascii():
        return text
    return text.encode("utf-8", "replace").decode()


def outcome_html(outcome: Outcome) -> str:
    """The outcome as HTML: what became of the question, then the rate and what it rests on."""
    found = outcome.found
    tables = () if found is None else (_rates(found), _facts(found))
    return as_html(_title(outcome), _sentences(outcome), tables)


def _title(outcome: Outcome) -> str:
    found = outcome.found
    if found is None:
        return f"{outcome.status}: no rate"
    rate = units_to_rate(found.combined)
    if outcome.status == "partial":
        return f"partial: {rate} is known, and lacks a part of the rate"
    return f"{outcome.status}: {rate}, confidence {found.confidence or 'not said'}"


def _sentences(outcome: Outcome) -> list[str]:
    said = [] if outcome.error is None else [outcome.error]
    if outcome.looked_up_at is not None:
        how = "Answer from the cache, given" if outcome.cached else "Answered"
        said.append(f"{how} {outcome.looked_up_at.isoformat(' ', 'seconds')}.")
    if outcome.support_reference is not None:
        said.append(f"Support reference: {outcome.support_reference}.")
    return said


def _rates(found: Found) -> Table:
    """The parts; what is not known is a dash, never 0."""
    rows = [(label, units_to_rate(getattr(found, name)) or NOTHING) for name, label in _SHOWN_PARTS]
    rows.append(("Together", units_to_rate(found.combined)))
    return Table("Rate", ("Part", ">Rate"), tuple(rows))


def _facts(found: Found) -> Table:
    places = (found.resolved_city, found.resolved_county, found.resolved_state, found.resolved_zip)
    between = f"{units_to_rate(found.low)} to {units_to_rate(found.high)}"
    facts = {
        "Place": ", ".join(filter(None, places)),
        "Decided by": found.resolved_via,
        "Confidence": found.confidence,
        "Warnings": ", ".join(found.warnings),
        "May lie between": between if found.low is not None else None,
        "Effective date": found.effective_date,
        "Basis of the date": found.effective_date_basis,
        "Source": found.source,
        "Edition": found.edition,
    }
    rows = tuple((name, printable(value) if value else NOTHING) for name, value in facts.items())
    return Table("What it rests on", ("Fact", "~Value"), rows)


_VALUE = re.compile(r"""^(\w+: )('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")""")


def counted_alike(reasons: Iterable[tuple[str, str, int]]) -> list[tuple[str, str, int]]:
    """Add up reasons that say the same of different cells; the most frequent first.

    A column of dates in another form would else be as many reasons as it has dates, each rarer
    than any other fault.

    Args:
        reasons: status, reason and rows.

    Returns:
        The same; where several were added up, the most frequent of them speaks for all and says
        how many other values there are.
    """
    rows: Counter[tuple[str, str]] = Counter()
    values: Counter[tuple[str, str]] = Counter()
    shown: dict[tuple[str, str], tuple[int, str]] = {}
    for status, reason, count in reasons:
        kind = status, _VALUE.sub(r"\1", reason)
        rows[kind] += count
        values[kind] += 1
        if kind not in shown or count > shown[kind][0]:
            shown[kind] = count, reason
    return [
        (kind[0], _with_others(shown[kind][1], values[kind] - 1), count)
        for kind, count in rows.most_common()
    ]


def _with_others(reason: str, others: int) -> str:
    if not others:
        return reason
    value = "value" if others == 1 else "values"
    return _VALUE.sub(lambda found: f"{found[0]} (and {others:,} other {value})", reason)


_ARGUMENT = re.compile(r"[a-z_]{2,20}: (?=\S)")


@dataclass(frozen=True, slots=True)
class Trouble:
    """What is said of an error.

    Attributes:
        title: what happened, in a few words.
        text: the sentence that says what it was.
        what_to_do: what the person can do.
        reference: what to quote to support; `None` where the service gave none.
    """

    title: str
    text: str
    what_to_do: str
    reference: str | None = None


def told_of_service(error: SvcError) -> Trouble:
    """What to say of a call that failed."""
    title, what_to_do = _OF_SERVICE.get(type(error), _OF_SERVICE[ServiceError])
    if is_foreign(error) and not isinstance(error, AuthError):
        title, what_to_do = _FOREIGN
    elif isinstance(error, RateLimitError):
        if error.error_code == "QUOTA_EXCEEDED":
            title, what_to_do = _QUOTA
        elif error.retry_after:
            seconds = ceil(error.retry_after)
            what_to_do = f"Wait {counted(seconds, 'second')}, then try again."
    facts = [f"status {error.status_code}" if error.status_code is not None else ""]
    facts += [f"after {error.attempts} attempts" if error.attempts > 1 else ""]
    known = ", ".join(fact for fact in facts if fact)
    text = one_line(error.message)
    return Trouble(
        title, f"{text} ({known})" if known else text, what_to_do, error.support_reference
    )


def one_line(text: str) -> str:
    """The message on one line, without the name of an argument before it."""
    line = " ".join(text.split())
    found = _ARGUMENT.match(line)
    rest = line[found.end() :] if found else line
    return capital(rest)


SERVER_ERRORS = range(500, 600)


def is_fatal(error: SvcError) -> bool:
    """Whether every further request would be refused too: the key, the plan, the quota."""
    return isinstance(error, _FATAL) or (
        isinstance(error, RateLimitError) and error.error_code == "QUOTA_EXCEEDED"
    )


def is_transient(error: SvcError) -> bool:
    """Whether the same request may be answered some time later."""
    return error.status_code == TOO_MANY or error.status_code in SERVER_ERRORS


def is_foreign(error: SvcError) -> bool:
    """Whether an answer came that is not the service's: a redirect, a page, nothing at all.

    So answer a wrong address, a gateway, a login page. What the service refuses, it explains in
    JSON; a 5xx and a 429 need no explanation.
    """
    if error.status_code is None or is_transient(error):
        return False
    explained = error.error_code is not None or isinstance(error.response_body, dict)
    return isinstance(error, ServiceError) or not explained


class Health:
    """Whether the service is worth asking."""

    def __init__(self) -> None:
        self._alive = False
        self._bad_requests = 0
        self._failures = 0
        self._unreadable = 0

    @property
    def good(self) -> bool:
        """Whether new places may be begun while others wait for their next try."""
        return self._alive and self._bad_requests < _DOUBTFUL

    def answered(self) -> None:
        """The service answered, be it to say that it does not know a place."""
        self._alive = True
        self._bad_requests = 0
        self._failures = 0

    def read(self, *, usable: bool) -> bool:
        """An answer was, or was not, one of the service's; whether too many in a row were not.

        Apart from the rest, because good answers are read later than they come.
        """
        self._unreadable = 0 if usable else self._unreadable + 1
        return self._unreadable >= _GIVE_UP

    def troubled(self) -> None:
        """A request went wrong, and may be tried again."""
        self._bad_requests += 1

    def is_gone(self, error: SvcError) -> bool:
        """Whether it has failed so many places in a row that it will fail the rest."""
        if not isinstance(error, TransportError | ServiceError | RateLimitError):
            self.answered()
            return False
        self._failures += 1
        return self._failures >= (_GIVE_UP if self._alive else _NEVER_REACHED)


@contextmanager
def all_stay() -> Iterator[None]:
    """The objects that are made in the block all stay: nobody looks for garbage among them.

    Looking would double what they cost, and the more so the more a notebook holds already.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
