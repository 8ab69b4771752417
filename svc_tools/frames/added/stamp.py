"""What a frame remembers of its lookups and its taxes: one attribute, the `Stamp`.

pandas copies the attributes of a frame deeply with every filter, compares them where frames are
concatenated, and writes them to Parquet as JSON. So a stamp is a dictionary of plain values that is
never changed once it is made: a copy of it is itself. The results of the lookups are with it only
as long as the frame is in memory.
"""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    Parts = Mapping[str, Mapping[str, Mapping[str, Any]]]

KEY = "svc"
"""The attribute of a frame that holds its stamp."""
_PARTS = ("lookups", "columns", "readings", "terms", "layouts")


class Stamp(dict[str, "Mapping[str, Mapping[str, Any]]"]):
    """What a frame remembers, by part and prefix, in plain values that a file can hold.

    Attributes:
        used: the lookups with their results, by prefix, as long as the frame is in memory.
    """

    __slots__ = ("used",)

    def __init__(self, parts: Parts, used: Mapping[str, Any] | None = None) -> None:
        super().__init__(parts)
        self.used: Mapping[str, Any] = used or {}

    @classmethod
    def of(cls, frame: pd.DataFrame) -> Stamp:
        """The stamp of a frame, also of one that was read from a file or by an earlier release."""
        return cls.of_attributes(frame.attrs)

    @classmethod
    def of_attributes(cls, attributes: Mapping[Any, Any]) -> Stamp:
        """The stamp among the attributes of a frame, or of a file."""
        found = attributes.get(KEY)
        if isinstance(found, Stamp):
            return found
        parts = found if isinstance(found, dict) else _of_earlier(attributes)
        return cls({name: part for name in _PARTS if (part := _records(parts.get(name)))})

    @property
    def lookups(self) -> Mapping[str, Mapping[str, Any]]:
        """How each lookup was made: rows, requests, service, columns, notes."""
        return self.get("lookups", _NOTHING)

    @property
    def columns(self) -> Mapping[str, Mapping[str, str]]:
        """The columns that were added, with their dtypes."""
        return self.get("columns", _NOTHING)

    @property
    def readings(self) -> Mapping[str, Mapping[str, Any]]:
        """What the columns of the user mean, as they were read for the tax."""
        return self.get("readings", _NOTHING)

    @property
    def terms(self) -> Mapping[str, Mapping[str, Any]]:
        """The arguments of each tax."""
        return self.get("terms", _NOTHING)

    @property
    def layouts(self) -> Mapping[str, Mapping[str, Any]]:
        """What a layout keeps of each tax."""
        return self.get("layouts", _NOTHING)

    def put(self, prefix: str, used: object = None, **parts: Mapping[str, Any] | None) -> Stamp:
        """The stamp with these parts for a prefix; `None` and empty ones are left out."""
        made = self.without(prefix, *parts)
        every = {
            **made,
            **{name: {**made.get(name, {}), prefix: part} for name, part in parts.items() if part},
        }
        return Stamp(every, made.used if used is None else {**made.used, prefix: used})

    def without(self, prefix: str, *parts: str) -> Stamp:
        """The stamp without these parts of a prefix."""
        rest = {
            name: {of: record for of, record in part.items() if of != prefix or name not in parts}
            for name, part in self.items()
        }
        return Stamp({name: part for name, part in rest.items() if part}, self.used)

    def write(self, frame: pd.DataFrame) -> None:
        """Store the stamp with a frame, in place of an earlier one."""
        others = {name: value for name, value in frame.attrs.items() if name not in _EVERY_KEY}
        frame.attrs = {**others, KEY: self} if self else others

    def on(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The frame with the stamp in its form, so that pandas copies no plain values of a file."""
        if not self or frame.attrs.get(KEY) is self:
            return frame
        stamped = frame.copy(deep=False)
        self.write(stamped)
        return stamped

    def __copy__(self) -> Self:
        """Itself: it is never changed."""
        return self

    def __deepcopy__(self, _memo: object) -> Self:
        """Itself: no filter pays for the results."""
        return self

    def __reduce__(self) -> tuple[type[dict[str, Any]], tuple[dict[str, Any]]]:
        """Pickle the plain values alone, as a file holds them: no worker gets all results."""
        return dict, (dict(self),)


_NOTHING: Mapping[str, Mapping[str, Any]] = {}


def _records(part: object) -> dict[str, Mapping[str, Any]]:
    """Those records of a part that have the form of ours: a file may be another program's."""
    if not isinstance(part, dict):
        return {}
    return {
        prefix: record
        for prefix, record in part.items()
        if isinstance(prefix, str) and isinstance(record, dict)
    }


_EARLIER = {
    "svc_columns": "columns",
    "svc_reading": "readings",
    "svc_tax_terms": "terms",
    "svc_layout": "layouts",
}
"""The attributes in which earlier frames and files have the other parts than the lookups."""
_EVERY_KEY = frozenset((KEY, "svc_lookup", "svc_answers", *_EARLIER))


def _day(value: Any) -> Any:  # noqa: ANN401 - any value of JSON
    return value["date"] if isinstance(value, dict) else value


def _of_earlier(attributes: Mapping[Any, Any]) -> dict[str, Any]:
    """The parts as earlier frames and files have them: in six attributes."""
    parts = {part: attributes.get(name) for name, part in _EARLIER.items()}
    lookups: dict[str, dict[str, Any]] = {}
    with contextlib.suppress(ValueError, TypeError, LookupError, AttributeError):
        for lookup in json.loads(attributes.get("svc_answers", "{}"))["of"]:
            scalars = {role: _day(value) for role, value in lookup["scalars"].items()}
            inputs = {"columns": lookup["columns"], "scalars": scalars}
            known = {"inputs": inputs, "service": lookup["name"], "address": lookup["service"]}
            lookups[lookup["prefix"]] = {**lookup, **known}
    note = attributes.get("svc_lookup")
    if isinstance(note, dict):  # of the last lookup alone
        known = lookups.get(note.get("prefix", ""), {})
        lookups[note.get("prefix", "")] = {**note, **known}
    return {**parts, "lookups": lookups}
