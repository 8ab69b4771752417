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
from dataclasses import dataclass, field, fields
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from svc_sdk.rates import rate_to_units, units_to_rate
from svc_tools.config import Source
from svc_tools.lookup.cache_rows import place_key
from svc_tools.lookup.outcomes import STATUSES, Component, Found, Outcome, not_attempted
from svc_tools.places import Place

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

_FORMAT = "svclock"
_VERSION = 1
_AGAIN = "freeze the lookup again, or fetch the file again from where it was kept"

_RATES = {
    "combined": "combined_rate",
    "state": "state_rate",
    "county": "county_rate",
    "city": "city_rate",
    "districts": "combined_district_rate",
    "low": "rate_low",
    "high": "rate_high",
}
"""The fields of `Found` that are rates, and what a line calls them (SPEC 2.2)."""
_LISTS = ("warnings", "accepted_places")
_OUTCOME = ("status", "error", "support_reference", "error_code")


class LockFileError(ValueError):
    """A lock file cannot be trusted, or read by this release; the message says why."""


@dataclass(frozen=True, slots=True)
class Lock:
    """Frozen results. They never expire, and no request is sent for other places.

    It implements `ResultStore`, as the cache does.

    Attributes:
        file: the name of the file, for messages.
        frozen_at: when it was frozen (aware).
        today: the day of queries without a date.
        service: the name of the service, as the lookup shows it.
        source: the service and the account's fingerprint, as in the cache.
        edition: the edition of the service's data where single results do not give theirs.
        answers: the outcomes by place.
        full: the places whose results are full ones (`detail=True`).
        notes: sentences for the user: when the results were frozen.
    """

    file: str
    frozen_at: datetime
    today: date
    service: str
    source: Source
    edition: str | None
    answers: Mapping[Place, Outcome]
    full: frozenset[Place] = frozenset()
    notes: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The name of the service, for the source of a lookup."""
        return f"{self.service} as frozen on {self.frozen_at.date()} ({self.file})"

    def known(
        self, source: Source, places: Collection[Place], *, detail: bool
    ) -> dict[Place, Outcome]:
        """The outcomes that are in it, whichever service `source` is."""
        del source
        if detail:
            places = [place for place in places if place in self.full]
        get = self.answers.get
        return {place: outcome for place in places if (outcome := get(place)) is not None}

    def outcomes(self, places: Collection[Place], *, detail: bool) -> dict[Place, Outcome]:
        """An outcome for every place: those that are not in it are `not_attempted`."""
        known = self.known(self.source, places, detail=detail)
        here = f"in {self.file}, frozen on {self.frozen_at.date()}"
        absent = not_attempted(
            f"this place and date are not {here}; look it up without locked=, and freeze again"
        )
        simple = not_attempted(
            f"the answer {here}, is a simple one; look it up with detail=True, and freeze again"
        )
        return {
            place: known.get(place) or (simple if place in self.answers else absent)
            for place in places
        }

    def store(
        self, source: Source, outcomes: Sequence[tuple[Place, Outcome]], *, detail: bool
    ) -> None:
        """Nothing: it is frozen."""

    def quota(self, source: Source) -> int | None:
        """`None`: no request is sent."""
        del source
        return None

    def store_quota(self, source: Source, remaining: int) -> None:
        """Nothing: it is frozen."""


def lock_lines(
    answers: Mapping[Place, Outcome],
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
    known = {place: one for place, one in answers.items() if one.status != "not_attempted"}
    editions = {one.found.edition for one in known.values() if one.found and one.found.edition}
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
    rows = (line_of(one, known[one], detail=one in full) for one in sorted(known, key=place_key))
    for row in (head, *rows):
        line = json.dumps(row, ensure_ascii=True) + "\n"
        digest.update(line.encode())
        yield line
    yield json.dumps({"sha256": digest.hexdigest()}) + "\n"


def read_lock(path: str | Path) -> Lock:
    """Read a lock file and check all of it.

    Raises:
        LockFileError: it is damaged, cut off or changed, or of a version that cannot be read.
        OSError: it is missing, or cannot be read.
    """
    path = Path(path)
    lines = path.read_bytes().splitlines(keepends=True)
    try:
        return _lock(path.name, lines)
    except LockFileError:
        raise
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise LockFileError(f"{path.name} is no lock file that can be read: {error}") from error


def _lock(name: str, lines: Sequence[bytes]) -> Lock:
    head = _head(name, lines)
    last = _object(lines[-1]) if len(lines) > 1 and lines[-1].endswith(b"\n") else {}
    if "sha256" not in last:
        raise LockFileError(f"{name} is cut off: its last line is missing; {_AGAIN}")
    if hashlib.sha256(b"".join(lines[:-1])).hexdigest() != last["sha256"]:
        raise LockFileError(f"{name} was changed since it was written, or is damaged; {_AGAIN}")
    if len(lines) - 2 != head["answers"]:
        raise LockFileError(
            f"{name} should hold {head['answers']} answers and holds {len(lines) - 2}; {_AGAIN}"
        )
    answers: dict[Place, Outcome] = {}
    full: set[Place] = set()
    for number, line in enumerate(lines[1:-1], 2):
        try:
            place, outcome, detail = answer_of(json.loads(line))
        except (ValueError, TypeError, AttributeError) as error:
            raise LockFileError(f"{name}, line {number}, is no answer: {error}") from error
        if place in answers:
            raise LockFileError(f"{name}, line {number}, answers a place for the second time")
        answers[place] = outcome
        if detail:
            full.add(place)
    frozen = datetime.fromisoformat(head["frozen_at"])
    return Lock(
        file=name,
        frozen_at=frozen,
        today=date.fromisoformat(head["today"]),
        service=str(head["service"]),
        source=Source(str(head["source"]), str(head["account"])),
        edition=head["edition"],
        answers=answers,
        full=frozenset(full),
        notes=[f"answers as frozen on {frozen.date()} in {name}: nothing is asked beside them"],
    )


def _head(name: str, lines: Sequence[bytes]) -> dict[str, Any]:
    head = _object(lines[0]) if lines else {}
    if head.get("format") != _FORMAT:
        raise LockFileError(f"{name} is no lock file; expected one that df.svc.freeze() wrote")
    if head.get("version") != _VERSION:
        raise LockFileError(
            f"{name} is of version {head.get('version')}; this release reads version {_VERSION}:"
            " use the release that wrote it, or a newer one"
        )
    return head


def _object(line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


_FOUND = tuple(field.name for field in fields(Found))
_PLACE = tuple(field.name for field in fields(Place))


def line_of(place: Place, outcome: Outcome, *, detail: bool) -> dict[str, Any]:
    """One result as the JSON object of a line."""
    line: dict[str, Any] = {"question": _without_missing({n: getattr(place, n) for n in _PLACE})}
    if place.as_of is not None:
        line["question"]["as_of"] = place.as_of.isoformat()
    if detail:
        line["detail"] = True
    line |= _without_missing({name: getattr(outcome, name) for name in _OUTCOME})
    if outcome.looked_up_at is not None:
        line["looked_up_at"] = outcome.looked_up_at.astimezone(UTC).isoformat()
    if outcome.found is not None:
        line["answer"] = _answer(outcome.found)
    return line


def _without_missing(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _answer(found: Found) -> dict[str, Any]:
    line: dict[str, Any] = {}
    for name in _FOUND:
        value = getattr(found, name)
        if value is None or value == ():
            continue
        if name in _RATES:
            line[_RATES[name]] = units_to_rate(value)
        elif name == "components":
            line[name] = [_component(one) for one in value]
        else:
            line[name] = list(value) if name in _LISTS else value
    return line


def _component(one: Component) -> dict[str, Any]:
    values = {"level": one.level, "name": one.name, "code": one.code}
    return _without_missing(values | {"rate": units_to_rate(one.units)})


def answer_of(line: Mapping[str, Any]) -> tuple[Place, Outcome, bool]:
    """The place of a line, its outcome (`cached`), and whether that is a full one.

    Raises:
        ValueError: the line is not one that `line_of` makes; the message says why.
    """
    rest = dict(line)
    place = _place(_taken(rest, "question", dict))
    detail = bool(rest.pop("detail", False))
    status = _taken(rest, "status", str)
    if status not in STATUSES:
        raise ValueError(f"its status is {status!r}, which is none of {', '.join(STATUSES)}")
    moment = rest.pop("looked_up_at", None)
    answer = rest.pop("answer", None)
    error, reference, code = (_text(rest, name) for name in _OUTCOME[1:])
    _check_empty(rest)
    return (
        place,
        Outcome(
            status,
            error,
            None if answer is None else _found(answer),
            reference,
            code,
            None if moment is None else _moment(moment),
            cached=True,
        ),
        detail,
    )


def _place(question: Mapping[str, Any]) -> Place:
    rest = dict(question)
    as_of = rest.pop("as_of", None)
    state, mode = _taken(rest, "state", str), _taken(rest, "mode", str)
    point = {name: _number(rest, name) for name in ("lat", "lng")}
    texts = {name: _text(rest, name) for name in ("address", "city", "zip", "location")}
    _check_empty(rest)
    day = None if as_of is None else date.fromisoformat(as_of)
    return Place(state, mode, **texts, **point, as_of=day)  # type: ignore[arg-type]  # as written


def _found(answer: Mapping[str, Any]) -> Found:
    rest = dict(answer)
    values: dict[str, Any] = {}
    for column, name in _RATES.items():
        rate = rest.pop(name, None)
        values[column] = None if rate is None else _units(name, rate)
    if values["combined"] is None:
        raise ValueError("its answer has no combined_rate")
    for name in _LISTS:
        values[name] = tuple(_list_of(str, rest.pop(name, []), name))
    parts = _list_of(dict, rest.pop("components", []), "components")
    values["components"] = tuple(_read_component(part) for part in parts)
    values["freight_taxable"] = _read(rest, "freight_taxable", bool)
    for name in _FOUND:
        if name not in values:
            values[name] = _text(rest, name)
    _check_empty(rest)
    return Found(**values)


def _read_component(part: Mapping[str, Any]) -> Component:
    rest = dict(part)
    level, name = _taken(rest, "level", str), _taken(rest, "name", str)
    code, rate = _text(rest, "code"), _taken(rest, "rate", str)
    _check_empty(rest)
    return Component(level, name, code, _units("rate", rate))


def _units(name: str, rate: object) -> int:
    if not isinstance(rate, str):
        raise ValueError(f"its {name} is {rate!r}, not a text such as '0.08250'")  # noqa: TRY004 - of the file
    return rate_to_units(rate)


def _moment(value: object) -> datetime:
    moment = datetime.fromisoformat(str(value))
    if moment.tzinfo is None:
        raise ValueError(f"its looked_up_at {value!r} has no time zone")
    return moment.astimezone(UTC)


def _read(rest: dict[str, Any], name: str, kind: type | tuple[type, ...]) -> Any:  # noqa: ANN401 - of that kind
    value = rest.pop(name, None)
    # to Python, True is a number
    if value is not None and (
        not isinstance(value, kind) or isinstance(value, bool) > (kind is bool)
    ):
        raise ValueError(f"its {name} is {value!r}")
    return value


def _taken(rest: dict[str, Any], name: str, kind: type) -> Any:  # noqa: ANN401 - of that kind
    value = _read(rest, name, kind)
    if value is None:
        raise ValueError(f"it has no {name}")
    return value


def _text(rest: dict[str, Any], name: str) -> str | None:
    text: str | None = _read(rest, name, str)
    return text


def _number(rest: dict[str, Any], name: str) -> float | None:
    number: float | None = _read(rest, name, (int, float))
    return number


def _list_of(kind: type, values: object, name: str) -> list[Any]:
    if not isinstance(values, list) or not all(isinstance(one, kind) for one in values):
        raise ValueError(f"its {name} are {values!r}")
    return values


def _check_empty(rest: Mapping[str, Any]) -> None:
    if rest:
        raise ValueError(f"it has {', '.join(map(repr, rest))}, which this release does not know")
