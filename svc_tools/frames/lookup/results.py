"""The results of a lookup as they are stored with a frame.

The stamp of the frame has them: copies, filters and sorts preserve it. pandas drops the attributes
of frames that are concatenated or merged, unless they come from the same lookup. A file does not
hold the results, only which service, columns and values they came from; the cache may have them.

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

import numpy as np
import pandas as pd
import pyarrow as pa

from svc_sdk.rates import UNITS_PER_ONE, rate_to_units, units_to_rate
from svc_tools.base.shares import share_text
from svc_tools.config import Source
from svc_tools.frames.added.enriched import Enriched, fact_of_all
from svc_tools.frames.added.stamp import Stamp
from svc_tools.frames.lookup.columns import Inputs, free_labels, propose
from svc_tools.frames.lookup.sources import ServiceName
from svc_tools.frames.orders.deciding import rows_of_file
from svc_tools.frames.orders.reading import Reading, reading_of_export
from svc_tools.lookup import Component
from svc_tools.tables.dates import DateStyle
from svc_tools.tables.exports import named_export, recognized

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence

    from svc_tools.frames.lookup.sources import Results
    from svc_tools.tables.places import Grain


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
        geocoder: the name of the geocoder whose positions decided; empty where there was none.
        rows: the cells that it read, and the query of each row; `None` where not known.
    """

    prefix: str
    inputs: Inputs
    source: Source
    service: ServiceName
    detail: bool
    grain: Grain
    results: Results | None
    geocoder: str = ""
    rows: QueryRows | None = None

    @classmethod
    def by(
        cls,
        prefix: str,
        inputs: Inputs,
        results: Results,
        *,
        detail: bool,
        rows: QueryRows | None = None,
    ) -> Self:
        """The lookup with these results."""
        of = (results.source, results.service)
        return cls(prefix, inputs, *of, detail, results.grain, results, results.geocoder, rows)


@dataclass(frozen=True, slots=True)
class QueryRows:
    """The cells that the places and dates were read from, and the query of each row."""

    cells: Mapping[Hashable, pa.ChunkedArray | np.ndarray]
    codes: np.ndarray

    @classmethod
    def of(
        cls, frame: pd.DataFrame, labels: Collection[Hashable], codes: np.ndarray
    ) -> Self | None:
        """Those of a frame; `None` where a column is missing, twice there, or of Python objects."""
        if not frame.columns.is_unique or not {*labels} <= {*frame.columns}:
            return None
        held: dict[Hashable, pa.ChunkedArray | np.ndarray] = {}
        for label in labels:
            cells = _cells_of(frame[label])
            if cells is None:
                return None
            held[label] = cells.copy() if isinstance(cells, np.ndarray) else cells
        kind = np.min_scalar_type(int(codes.max(initial=0)))
        return cls(held, codes.astype(kind, copy=False))

    def are_those_of(self, frame: pd.DataFrame) -> bool:
        """Whether a frame has the same cells in each row."""
        return (
            len(frame) == len(self.codes)
            and frame.columns.is_unique
            and {*self.cells} <= {*frame.columns}
            and all(_are_same(held, _cells_of(frame[label])) for label, held in self.cells.items())
        )


def _cells_of(column: pd.Series) -> pa.ChunkedArray | np.ndarray | None:
    """The cells of a column as Arrow has them, which never change, or as plain numbers."""
    if isinstance(column.array, pd.arrays.ArrowExtensionArray | pd.arrays.ArrowStringArray):
        held = column.array.__arrow_array__()
        return held if isinstance(held, pa.ChunkedArray) else None
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "iufM":
        return column.to_numpy()
    return None


def _are_same(one: object, other: object) -> bool:
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other, equal_nan=True)
    return one is other


def lookups_of(frame: pd.DataFrame) -> list[UsedLookup]:
    """The lookups whose columns a frame has, as far as they are stored with it.

    Those of a frame that was read from a file are without their results.
    """
    stamp = Stamp.of(frame)
    every = (_lookup_of(frame, stamp, prefix) for prefix in stamp.lookups)
    return [lookup for lookup in every if lookup is not None]


def _lookup_of(frame: pd.DataFrame, stamp: Stamp, prefix: str) -> UsedLookup | None:
    """The lookup of a prefix, if its columns are in the frame and it is stored with it."""
    if f"{prefix}lookup_status" not in frame.columns:
        return None
    used: UsedLookup | None = stamp.used.get(prefix)
    if used is not None:
        return used
    with contextlib.suppress(ValueError, TypeError, LookupError, AttributeError):
        return _lookup(prefix, stamp.lookups[prefix], list(frame.columns))
    return None


@fact_of_all
def lookup_of(rows: Enriched) -> UsedLookup | None:
    """The lookup of enriched rows, if it is stored with them."""
    return _lookup_of(rows.frame, rows.stamp, rows.prefix)


@fact_of_all
def reading_of(rows: Enriched) -> Reading:
    """What the columns of a frame mean, as its lookup or its tax has read them.

    Where that is not stored with the frame, it is read again.
    """
    with contextlib.suppress(KeyError, TypeError, ValueError):
        return Reading.from_plain(rows.stamp.readings[rows.prefix])
    if (lookup := lookup_of(rows)) is not None:
        return lookup.inputs.reading
    frame = rows.frame
    labels = free_labels(frame)
    export = recognized(labels)
    if export is not None:
        return reading_of_export(export, labels)
    return rows_of_file(frame, labels, propose(frame).found)


def record_of(
    lookup: UsedLookup, results: Results, *, rows: int, notes: Iterable[str], below: int
) -> dict[str, Any]:
    """What the stamp of a frame holds of a lookup, as JSON can hold it."""
    inputs = lookup.inputs
    return {
        "id": secrets.token_hex(8),  # two lookups are never taken for the same
        "rows": rows,
        "asked": results.asked,
        "cached": results.cached,
        "requests": results.requests,
        "service": lookup.service.name,
        "edition": lookup.service.edition,
        "notes": list(notes),
        "stopped": results.stopped,
        "detail": lookup.detail,
        "grain": lookup.grain,
        "review_below": share_text(below),
        "geocoder": lookup.geocoder,
        "inputs": {
            "columns": {role: _json(label) for role, label in inputs.columns.items()},
            "scalars": {role: _json(value) for role, value in inputs.scalars.items()},
            "tz": None if inputs.style.terms.tz is None else str(inputs.style.terms.tz),
            **({} if inputs.point_named else {"point_named": False}),
        },
        # without them the lookup of a file is not read again: its columns cannot be named
        "dates": inputs.style.as_json() if all(map(_is_held, inputs.columns.values())) else None,
        "export": inputs.export and inputs.export.name,
        "reading": inputs.reading.as_plain(),
        "address": lookup.source.service,
        "account": lookup.source.account,
    }


def _is_held(label: object) -> bool:
    """Whether a file holds a label as it is."""
    return isinstance(label, str | int)


def _json(value: object) -> object:
    if isinstance(value, date):
        return value.isoformat()
    return value if isinstance(value, str | int | float | bool) else str(value)


def _lookup(prefix: str, record: Mapping[str, Any], labels: Sequence[Hashable]) -> UsedLookup:
    """The lookup that a file's record describes."""
    scalars = dict(record["inputs"]["scalars"])
    if isinstance(day := scalars.get("as_of"), str):
        scalars["as_of"] = date.fromisoformat(day)
    columns = record["inputs"]["columns"]
    if None in columns.values():
        raise ValueError("a column has a label that JSON cannot hold")
    export = named_export(record.get("export"))
    if "reading" in record:
        reading = Reading.from_plain(record["reading"])
    else:  # a file of an earlier release
        reading = Reading() if export is None else reading_of_export(export, labels)
    return UsedLookup(
        prefix=prefix,
        inputs=Inputs(
            columns,
            scalars,
            (),
            DateStyle.from_json(record["dates"]),
            reading,
            record["inputs"].get("point_named", True),
        ),
        source=Source(record["address"], record["account"]),
        service=ServiceName(record["service"], record["edition"]),
        detail=record["detail"],
        grain=record["grain"],
        results=None,
        geocoder=record.get("geocoder", ""),
    )


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
