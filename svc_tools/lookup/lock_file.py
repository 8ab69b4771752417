"""Lock files: frozen results, with which figures can be computed again and stay the same.

A `.svclock` file is text in UTF-8, one JSON object a line, readable without this toolkit:

- first the header: `format`, `version`, when it was frozen, from which service and account (a
  fingerprint), by which editions, what day "today" meant, and how many results follow;
- then one result a line, in an order that depends on the queries alone. Names are the
  specification's, rates are five-decimal strings, and missing values are left out;
- last the SHA-256 of all lines before, in hex. It finds damage; it is not a signature.
"""

from __future__ import annotations

import hashlib
import json
from codecs import BOM_UTF8
from dataclasses import dataclass, field, fields
from datetime import UTC, date, datetime
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    ValidationError,
)
from pydantic_core import PydanticCustomError

from svc_sdk.rates import units_to_rate
from svc_tools.base.shares import share_text, share_units
from svc_tools.config import Source
from svc_tools.lookup.cache_store import place_key
from svc_tools.lookup.columns import FACTS
from svc_tools.lookup.expiry import CLOCK_SKEW
from svc_tools.lookup.outcomes import (
    FIRST_FIELDS,
    FOUND_FIELDS,
    Found,
    Outcome,
    check_stored,
    not_attempted,
    rate_units,
    with_sum_checked,
)
from svc_tools.show.display import printable
from svc_tools.tables.places import Place
from svc_tools.tables.statuses import StatusText

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

_FORMAT = "svclock"
_VERSION = 2 + len(FOUND_FIELDS) - len(FIRST_FIELDS)
"""The version of the lines: a new field of `Found` raises it by one, as the position did."""
_NEWER = "a newer release of svc-tools wrote it; upgrade to that one, or freeze the lookup again"
_UNKNOWN = f"not known to this release; {_NEWER}"
_AGAIN = "freeze the lookup again, or fetch the file again from where it was stored"


class LockFileError(ValueError):
    """A lock file cannot be trusted, or read by this release; the message gives the reason."""


@dataclass(frozen=True, slots=True)
class Lock:
    """Frozen results. They never expire, and no request is sent for other places.

    Attributes:
        file: the name of the file, for messages.
        frozen_at: when it was frozen (aware).
        today: the day of queries without a date.
        service: the name of the service, as the lookup shows it.
        source: the service and the account's fingerprint, as in the cache.
        edition: the edition of the service's data where single results do not give theirs.
        results: the outcomes by place.
        full: the places whose results are full ones (`detail=True`).
        notes: sentences for the user: when the results were frozen.
    """

    file: str
    frozen_at: datetime
    today: date
    service: str
    source: Source
    edition: str | None
    results: Mapping[Place, Outcome]
    full: frozenset[Place] = frozenset()
    notes: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The name of the service, for the source of a lookup."""
        return f"{self.service} as frozen on {self.frozen_at.date()} ({self.file})"

    def outcomes(self, places: Collection[Place], *, detail: bool) -> dict[Place, Outcome]:
        """An outcome for every place: those that are not in it are `not_attempted`."""
        usable: Collection[Place] = self.full if detail else self.results
        here = f"in {self.file}, frozen on {self.frozen_at.date()}"
        absent = not_attempted(
            f"this place and date are not {here}; look it up without the lock file,"
            " and freeze the lookup again"
        )
        simple = not_attempted(
            f"the result {here}, is a simple one; look it up with details, and"
            " freeze the lookup again"
        )
        return {
            place: self.results.get(place, absent)
            if place in usable or place not in self.results
            else simple
            for place in places
        }


def lock_lines(
    results: Mapping[Place, Outcome],
    *,
    full: Collection[Place],
    frozen_at: datetime,
    today: date,
    service: str,
    source: Source,
    edition: str | None,
) -> Iterator[str]:
    """The lines of a lock file, each with its end; the arguments are `Lock`'s.

    Places that were not attempted are left out.
    """
    known = {place: outcome for place, outcome in results.items() if outcome.means.attempted}
    editions = {
        outcome.found.edition
        for outcome in known.values()
        if outcome.found and outcome.found.edition
    }
    digest = hashlib.sha256()
    head = {
        "format": _FORMAT,
        "version": _VERSION,
        "frozen_at": frozen_at.isoformat(timespec="seconds"),
        "today": today.isoformat(),
        "service": service,
        "source": source.service,
        "account": source.account,
        "edition": edition,
        "editions": sorted(editions),
        "answers": len(known),
    }
    rows = (
        line_of(place, known[place], detail=place in full) for place in sorted(known, key=place_key)
    )
    for row in (head, *rows):
        line = json.dumps(row, ensure_ascii=True) + "\n"
        digest.update(line.encode())
        yield line
    yield json.dumps({"sha256": digest.hexdigest()}) + "\n"


def read_lock(path: str | Path) -> Lock:
    """Read a lock file and check all of it.

    Raises:
        LockFileError: it is damaged, cut off or changed, of a version that cannot be read, or has
            results dated after now.
        OSError: it is missing, or cannot be read.
    """
    path = Path(path)
    lines = path.read_bytes().splitlines(keepends=True)
    try:
        return _lock(path.name, lines)
    except LockFileError:
        raise
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError) as error:
        raise LockFileError(f"{path.name} is not a lock file that can be read: {error}") from error


def _lock(name: str, lines: Sequence[bytes]) -> Lock:
    """The content of a lock file that is complete, unchanged and not of the future.

    Args:
        name: the file's name, for messages.
        lines: all of its lines, with their ends.

    Raises:
        LockFileError: any of these checks fails, or a line is not a result.
    """
    if lines and lines[0].startswith(BOM_UTF8):  # as some editors write it
        raise LockFileError(f"{name} was changed since it was written, or is damaged; {_AGAIN}")
    head = _head(name, lines)
    count = head.answers
    last = _object(lines[-1]) if len(lines) > 1 and lines[-1].endswith(b"\n") else {}
    if "sha256" not in last:
        raise LockFileError(f"{name} is cut off: its last line is missing; {_AGAIN}")
    if hashlib.sha256(b"".join(lines[:-1])).hexdigest() != last["sha256"]:
        raise LockFileError(f"{name} was changed since it was written, or is damaged; {_AGAIN}")
    if len(lines) - 2 != count:
        raise LockFileError(
            f"{name} should have {count} results and has {len(lines) - 2}; {_AGAIN}"
        )
    results: dict[Place, Outcome] = {}
    full: set[Place] = set()
    for number, line in enumerate(lines[1:-1], 2):
        try:
            place, outcome, detail = outcome_of(line)
            check_stored(place, outcome)
        except ValueError as error:
            raise LockFileError(f"{name}, line {number}, is not a result: {error}") from error
        if place in results:
            raise LockFileError(f"{name}, line {number}, has a place for the second time")
        results[place] = with_sum_checked(outcome)
        if detail:
            full.add(place)
    frozen = head.frozen_at
    now = datetime.now(UTC)
    latest = max([frozen, *(outcome.looked_up_at or frozen for outcome in results.values())])
    if latest > now + CLOCK_SKEW:
        raise LockFileError(
            f"{name} is of {latest.date()}, and by the clock of this machine it is {now.date()}:"
            f" set the clock, or {_AGAIN}"
        )
    return Lock(
        file=name,
        frozen_at=frozen,
        today=head.today,
        service=printable(head.service),
        source=Source(head.source, head.account),
        edition=None if head.edition is None else printable(head.edition),
        results=results,
        full=frozenset(full),
        notes=[f"results as frozen on {frozen.date()} in {name}: no requests are sent"],
    )


def _head(name: str, lines: Sequence[bytes]) -> _Head:
    head = _object(lines[0]) if lines else {}
    if head.get("format") != _FORMAT:
        raise LockFileError(f"{name} is not a lock file; expected one that df.svc.freeze() wrote")
    version = head.get("version")
    if type(version) is not int or version < 1:
        raise LockFileError(f"{name} does not say of which version it is; {_AGAIN}")
    if version > _VERSION:
        raise LockFileError(
            f"{name} is of version {version}; this release reads version {_VERSION}: {_NEWER}"
        )
    try:
        return _Head.model_validate_json(lines[0])
    except ValidationError as error:
        raise ValueError(_first_fault(error)) from None


def _first_fault(error: ValidationError) -> str:
    first = error.errors()[0]
    top, *rest = first["loc"] or ("",)
    ours = top == "answer" and first["type"] != _FAULT  # the name of a field, not the line's
    names = _NAMES | _PART_NAMES if ours else {}
    where = ".".join([str(top), *(names.get(str(part), str(part)) for part in rest)])
    if first["type"] in {"extra_forbidden", "unexpected_keyword_argument"}:
        return f"{where}: {_UNKNOWN}"
    reason = first["msg"].removeprefix("Value error, ")
    return f"{where}: {reason}" if where else reason


def _object(line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _units(rate: object) -> int | None:
    if rate is not None and not isinstance(rate, str):
        raise ValueError(f"expected a text such as '0.08250', not {rate!r}")
    return rate_units("rate", rate)


def _in_utc(moment: datetime) -> datetime:
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError("expected a moment of the years 1 to 9999 in UTC") from None


def _plausible(place: Place) -> Place:
    given = place.lat, place.lng, *(place.position or ())[:2]
    if not all(isfinite(degrees) for degrees in given if degrees is not None):
        raise ValueError("expected latitude and longitude in degrees")
    return place


_Moment = Annotated[AwareDatetime, AfterValidator(_in_utc)]
_Place = Annotated[Place, AfterValidator(_plausible)]


class _Head(BaseModel):
    """The first line; fields that it does not need are ignored."""

    model_config = ConfigDict(strict=True)

    frozen_at: _Moment
    today: date
    service: str
    source: str
    account: str
    edition: str | None = None
    answers: int


_RATES = {column.fact: column.name for column in FACTS if column.form == "rate"}
"""The fields of `Found` that are rates, and what a line calls them (SPEC 2.2)."""
_NAMES = {name: _RATES.get(name, name) for name in FOUND_FIELDS}
"""What a line calls the fields of `Found`."""
_PART_NAMES = {"level": "level", "name": "name", "code": "code", "units": "rate"}
"""What a line calls the fields of `Component`."""
_FIELDS = {name: field for field, name in (_NAMES | _PART_NAMES).items()}
_RATE_NAMES = {*_RATES.values(), "rate"}
_SHARES = {column.fact for column in FACTS if column.form == "share"}
"""The fields of `Found` that are shares: text with four decimals in a line."""
_FAULT: Literal["fault"] = "fault"


def _as_fields(row: object, *where: str | int) -> object:
    """An answer, or a part of it, as our fields: their names, rates in units, lists as tuples.

    Of which types they are, and what is missing, says the class that is made of them.
    """
    if not isinstance(row, dict):
        return row
    read: dict[str, object] = {"code": None} if where else {}  # the code of a jurisdiction
    for name, value in row.items():
        if name not in _FIELDS:
            raise _fault((*where, name), _UNKNOWN)
        if name in _RATE_NAMES:
            try:
                read[_FIELDS[name]] = _units(value)
            except ValueError as error:
                raise _fault((*where, name), str(error)) from None
        elif name in _SHARES:
            read[name] = share_units(value)
            if read[name] is None or not isinstance(value, str):
                raise _fault((*where, name), "expected a share such as '0.9300'")
        elif isinstance(value, list):
            parts = (_as_fields(item, *where, name, index) for index, item in enumerate(value))
            read[name] = tuple(parts)
        else:
            read[_FIELDS[name]] = value
    return read


_Answer = Annotated[Found, BeforeValidator(_as_fields)]


def _fault(at: tuple[str | int, ...], why: str) -> ValidationError:
    error = PydanticCustomError(_FAULT, "{why}", {"why": why})
    return ValidationError.from_exception_data("", [{"type": error, "loc": at, "input": None}])


class _Line(BaseModel):
    """A result: the query, its outcome, and whether it is a full one.

    Every field, of its parts too, is of its type, and known to this release.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    question: _Place
    detail: bool = False
    status: StatusText
    error: str | None = None
    support_reference: str | None = None
    error_code: str | None = None
    looked_up_at: _Moment | None = None
    answer: _Answer | None = None


_OUTCOME = ("status", "error", "support_reference", "error_code", "looked_up_at")
_PLACE = tuple(field.name for field in fields(Place))


def line_of(place: Place, outcome: Outcome, *, detail: bool) -> dict[str, Any]:
    """One result as the JSON object of a line; missing values are left out."""
    query = {name: getattr(place, name) for name in _PLACE}
    if place.as_of is not None:
        query["as_of"] = place.as_of.isoformat()
    if place.position is not None:
        named = place.position._asdict().items()
        query["position"] = {name: value for name, value in named if value != ""}
    line: dict[str, Any] = {"question": _present(query), "detail": detail or None}
    line |= {name: getattr(outcome, name) for name in _OUTCOME}
    if outcome.looked_up_at is not None:
        line["looked_up_at"] = outcome.looked_up_at.astimezone(UTC).isoformat()
    if (found := outcome.found) is not None:
        result = {name: getattr(found, column) for column, name in _NAMES.items()}
        result |= {name: units_to_rate(result[name]) for name in _RATES.values()}
        result |= {
            name: None if result[name] is None else share_text(result[name]) for name in _SHARES
        }
        result["components"] = [
            _present({"level": component.level, "name": component.name, "code": component.code})
            | {"rate": units_to_rate(component.units)}
            for component in found.components
        ]
        line["answer"] = _present(result)
    return _present(line)


def _present(values: dict[str, Any]) -> dict[str, Any]:
    """The values that are not missing; an empty list is missing too."""
    return {name: value for name, value in values.items() if value not in (None, (), [])}


def outcome_of(line: bytes) -> tuple[Place, Outcome, bool]:
    """The place of a line, its outcome (`cached`), and whether that is a full one.

    Raises:
        ValueError: the line is not one that `line_of` makes; the message gives the reason.
    """
    try:
        read = _Line.model_validate_json(line)
    except ValidationError as error:
        raise ValueError(_first_fault(error)) from None
    failure = (read.support_reference, read.error_code)
    outcome = Outcome(
        read.status, read.error, read.answer, *failure, read.looked_up_at, cached=True
    )
    return read.question, outcome, read.detail
