"""The results of a lookup as they are stored with a frame.

`remember` stores the results in `frame.attrs`: copies, filters and sorts preserve them. pandas
drops the attributes of frames that are concatenated or merged, unless they come from the same
lookup. A file does not hold the results, only which service, columns and values they came from; the
cache may have them.

The column `lookup_jurisdictions` holds the parts of a rate as JSON text: a list of `{"level",
"code", "name", "rate"}` in the order of the response, the state first. Rates are five-decimal
strings (SPEC 2.2), never numbers; `code` is null where the service gives none. The cell is missing
where the response has no parts. `encode` writes and `decode` reads it.
"""

from __future__ import annotations

import contextlib
import functools
import json
import secrets
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any, Self

from svc_sdk.rates import UNITS_PER_ONE, rate_to_units, units_to_rate
from svc_tools.config import Source
from svc_tools.dates import DateStyle
from svc_tools.exports import named_export, recognized
from svc_tools.frames.columns import Inputs, free_labels, propose
from svc_tools.frames.lookup.deciding import rows_of_file
from svc_tools.frames.lookup.reading import Reading, reading_of_export
from svc_tools.frames.lookup.sources import ServiceName
from svc_tools.frames.lookup_columns import READING, stored
from svc_tools.lookup import Component

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence

    import pandas as pd

    from svc_tools.frames.lookup.sources import Results
    from svc_tools.places import Grain


RESULTS = "svc_answers"
"""The frame's attribute that holds the results."""


@dataclass(frozen=True, slots=True)
class UsedLookup:
    """One lookup of a frame, and the results that it used.

    Attributes:
        prefix: that of its columns.
        inputs: the columns and values that the queries were made of.
        source: the service and account.
        service: the service's name and edition, as they stand in the rows.
        detail: whether the responses were the detailed ones.
        grain: whether days themselves were looked up, or the first ones of their periods.
        results: what was found; `None` for a frame that was read from a file.
    """

    prefix: str
    inputs: Inputs
    source: Source
    service: ServiceName
    detail: bool
    grain: Grain
    results: Results | None

    @classmethod
    def by(cls, prefix: str, inputs: Inputs, results: Results, *, detail: bool) -> Self:
        """The lookup with these results."""
        of = (results.source, results.service)
        return cls(prefix, inputs, *of, detail, results.grain, results)


class _Remembered(str):
    """The lookups of a frame; as text (in a file's metadata) it says where the results came from.

    pandas copies the attributes of a frame deeply with every filter: a deep copy of this is the
    same object, so that no filter pays for the results. Two of them are equal only if they are of
    the same lookups, because pandas preserves the attributes of concatenated or merged frames only
    where they are equal.
    """

    __slots__ = ("lookups",)
    lookups: Mapping[str, UsedLookup]

    def __new__(cls, lookups: Mapping[str, UsedLookup]) -> Self:
        text = {
            "lookup": secrets.token_hex(8),
            "of": [_lookup_source(one) for one in lookups.values()],
        }
        made = super().__new__(cls, json.dumps(text, default=str))
        made.lookups = lookups
        return made

    def __copy__(self) -> _Remembered:
        return self

    def __deepcopy__(self, memo: object) -> _Remembered:
        return self

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        """Pickle the text alone, as a file holds it: no worker gets a copy of all results."""
        return str, (str(self),)


def remember(frame: pd.DataFrame, lookup: UsedLookup) -> None:
    """Store the results of the lookup that added a frame's columns with the frame.

    A lookup of the same prefix is replaced; those of other prefixes stay.
    """
    before = frame.attrs.get(RESULTS)
    lookups = dict(before.lookups) if isinstance(before, _Remembered) else {}
    frame.attrs[RESULTS] = _Remembered({**lookups, lookup.prefix: lookup})


def lookups_of(frame: pd.DataFrame) -> list[UsedLookup]:
    """The lookups whose columns a frame has, as far as they are stored with it.

    Those of a frame that was read from a file are without their results.
    """
    stored = frame.attrs.get(RESULTS)
    if isinstance(stored, _Remembered):
        lookups = list(stored.lookups.values())
    else:
        lookups = _from_text(stored, list(frame.columns)) if isinstance(stored, str) else []
    return [one for one in lookups if f"{one.prefix}lookup_status" in frame.columns]


def reading_of(frame: pd.DataFrame, prefix: str) -> Reading:
    """What the columns of an enriched frame mean, as its lookup or its tax has read them.

    Where that is not stored with the frame, it is read again.
    """
    with contextlib.suppress(KeyError, TypeError, ValueError):
        return Reading.from_plain(stored(frame, READING)[prefix])
    for lookup in lookups_of(frame):
        if lookup.prefix == prefix:
            return lookup.inputs.reading
    labels = free_labels(frame)
    export = recognized(labels)
    if export is not None:
        return reading_of_export(export, labels)
    return rows_of_file(frame, labels, propose(frame).found)


def remember_reading(frame: pd.DataFrame, prefix: str, reading: Reading) -> None:
    """Store with a frame what its columns mean, in plain values that a file can hold."""
    frame.attrs[READING] = {**stored(frame, READING), prefix: reading.as_plain()}


def _lookup_source(lookup: UsedLookup) -> dict[str, Any]:
    """Where the results of a lookup came from, as JSON can hold it."""
    inputs = lookup.inputs
    return {
        "prefix": lookup.prefix,
        "service": lookup.source.service,
        "account": lookup.source.account,
        "name": lookup.service.name,
        "edition": lookup.service.edition,
        "detail": lookup.detail,
        "columns": {
            role: label if isinstance(label, str | int) else None
            for role, label in inputs.columns.items()
        },
        "scalars": {
            role: {"date": value.isoformat()} if isinstance(value, date) else value
            for role, value in inputs.scalars.items()
        },
        "dates": inputs.style.as_json(),
        "grain": lookup.grain,
        "export": inputs.export and inputs.export.name,
        "reading": inputs.reading.as_plain(),
    }


def _from_text(text: str, labels: Sequence[Hashable]) -> list[UsedLookup]:
    """The lookups described in a file's text; none where the text is another program's."""
    try:
        return [_lookup(one, labels) for one in json.loads(text)["of"]]
    except (ValueError, TypeError, LookupError, AttributeError):
        return []


def _lookup(stored: Mapping[str, Any], labels: Sequence[Hashable]) -> UsedLookup:
    if None in stored["columns"].values():
        raise ValueError("a column has a label that JSON cannot hold")
    scalars = {
        role: date.fromisoformat(value["date"]) if isinstance(value, dict) else value
        for role, value in stored["scalars"].items()
    }
    export = named_export(stored.get("export"))
    if "reading" in stored:
        reading = Reading.from_plain(stored["reading"])
    else:  # a file of an earlier release
        reading = Reading() if export is None else reading_of_export(export, labels)
    inputs = Inputs(
        *(stored["columns"], scalars, ()),
        DateStyle.from_json(stored["dates"]),
        reading,
    )
    return UsedLookup(
        prefix=stored["prefix"],
        inputs=inputs,
        source=Source(stored["service"], stored["account"]),
        service=ServiceName(stored["name"], stored["edition"]),
        detail=stored["detail"],
        grain=stored["grain"],
        results=None,
    )


def note_of(
    lookup: UsedLookup, results: Results, *, rows: int, notes: Iterable[str]
) -> dict[str, object]:
    """The value of the frame's attribute `svc_lookup`: the lookup as JSON can hold it."""
    inputs = lookup.inputs
    return {
        "prefix": lookup.prefix,
        "rows": rows,
        "asked": results.asked,
        "cached": results.cached,
        "requests": results.requests,
        "service": lookup.service.name,
        "notes": list(notes),
        "stopped": results.stopped,
        "detail": lookup.detail,
        "grain": lookup.grain,
        "inputs": {
            "columns": {role: _json(label) for role, label in inputs.columns.items()},
            "scalars": {role: _json(value) for role, value in inputs.scalars.items()},
            "tz": None if inputs.style.terms.tz is None else str(inputs.style.terms.tz),
        },
    }


def _json(value: object) -> object:
    if isinstance(value, date):
        return value.isoformat()
    return value if isinstance(value, str | int | float | bool) else str(value)


def encode(components: Sequence[Component]) -> str | None:
    """The cell of some components; `None` without components.

    Raises:
        ValueError: a rate is not a fraction from 0 to 1.
    """
    if not components:
        return None
    parts = [
        {"level": part.level, "code": part.code, "name": part.name, "rate": _rate(part.units)}
        for part in components
    ]
    text = json.dumps(parts, ensure_ascii=False, separators=(", ", ": "))
    try:
        text.encode()
    except UnicodeEncodeError:  # a lone surrogate, which JSON can hold and a text column cannot
        return json.dumps(parts, separators=(", ", ": "))
    return text


@functools.lru_cache(maxsize=16_384)
def decode(text: str | None) -> tuple[Component, ...]:
    """The components of a cell; none where it is missing or empty.

    Raises:
        ValueError: the text is not such a cell.
    """
    if text is None or not text.strip():
        return ()
    try:
        return tuple(map(_component, _parts(json.loads(text))))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        shown = text if len(text) <= 60 else f"{text[:60]}…"  # noqa: PLR2004
        why = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
        raise ValueError(
            f"lookup_jurisdictions: {shown!r} cannot be read ({why}); expected a list of objects"
            " with level, code, name and rate, as df.svc.lookup(detail=True) writes it"
        ) from None


def _parts(cell: object) -> list[object]:
    if not isinstance(cell, list):
        raise TypeError("it is no list")
    return cell


def _component(part: object) -> Component:
    if not isinstance(part, dict):
        raise TypeError(f"{part!r} is no object")
    level, name, code, rate = part["level"], part["name"], part["code"], part["rate"]
    if not all(isinstance(value, str) for value in (level, name, rate)):
        raise TypeError("level, name and rate are texts")
    if not isinstance(code, str | None):
        raise TypeError("code is a text or null")
    units = rate_to_units(rate)
    _rate(units)
    return Component(level, name, code, units)


def _rate(units: int) -> str:
    if not 0 <= units < UNITS_PER_ONE:
        raise ValueError(f"a rate of {units} units of 10^-5 is not a fraction from 0 to 1")
    return units_to_rate(units)
