"""Which column of a frame is which argument of a lookup, found by usual names and by contents.

Where it could be two, it is an error that lists them: a place or a date picked wrongly gives a
rate that looks right. An argument may also be one value for all rows, which is checked so that a
mistyped column name is not taken for a value.
"""

from __future__ import annotations

import difflib
import math
from dataclasses import dataclass, field, replace
from datetime import UTC, date
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from svc_tools.frames.added.names import columns_of_lookups, require_columns, require_one
from svc_tools.frames.orders.deciding import rows_of_file
from svc_tools.frames.orders.reading import Reading, reading_of_export
from svc_tools.frames.values.arrow import first_column
from svc_tools.tables.cells import text_of
from svc_tools.tables.countries import find_country
from svc_tools.tables.dates import DateStyle, DateTerms, decide, parse, read_one
from svc_tools.tables.exports import DECIDING_ROLES, recognized, usual_columns
from svc_tools.tables.questions import option_line
from svc_tools.tables.roles import (
    PLACES,
    ColumnAmbiguous,
    ColumnError,
    ColumnMissing,
    ColumnsOfTwoParties,
    date_kind,
    is_shipped_to,
    names_a_state,
    place_role,
    raise_all,
    sale_date,
)
from svc_tools.tables.states import normal_zip, state_code

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence

    from svc_tools.lookup.options import LookupOptions
    from svc_tools.tables.countries import Country, RowReader
    from svc_tools.tables.exports import Export
    from svc_tools.tables.questions import Question
    from svc_tools.tables.roles import DateKind


@dataclass(frozen=True, slots=True)
class Inputs:
    """The arguments of a lookup: a column's label, or one value for all rows."""

    columns: Mapping[str, Hashable]
    scalars: Mapping[str, object]
    notes: tuple[str, ...]
    """How the arguments were found, in sentences."""
    style: DateStyle = field(default_factory=DateStyle)
    """How the dates of the column `as_of` are read."""
    reading: Reading = field(default_factory=Reading)
    """What the columns of the file mean, apart from its amounts."""
    point_named: bool = True
    """Whether the coordinates decide beside a ZIP or an address: not where they were only found."""

    @property
    def used(self) -> dict[str, Hashable]:
        """The columns that are used for every row: not coordinates found beside a ZIP."""
        passed = () if self.point_named else ("lat", "lng")
        return {role: label for role, label in self.columns.items() if role not in passed}

    @property
    def export(self) -> Export | None:
        """The export that the columns were recognized as."""
        return self.reading.export

    @property
    def dated(self) -> bool:
        """Whether rows carry dates: a row without one is then refused."""
        return "as_of" in self.columns


def inputs_by(
    options: LookupOptions,
    frame: pd.DataFrame,
    *,
    rows: RowReader | None = None,
    call: str = "lookup",
    in_shell: bool = False,
) -> Inputs:
    """What the queries are made of, by the options of a lookup; see `find_inputs`."""
    given, dates = options.given, options.dates()
    return find_inputs(frame, given, dates, rows=rows, call=call, in_shell=in_shell)


def find_inputs(
    frame: pd.DataFrame,
    given: Mapping[str, object],
    dates: DateTerms | None = None,
    *,
    rows: RowReader | None = None,
    call: str = "lookup",
    in_shell: bool = False,
) -> Inputs:
    """Find the column or the value of each argument.

    An argument is a column label, else a value for all rows; `False` excludes columns. Arguments
    that are not given are found by the usual names ("zip", "zip_code", "postal_code"…). `dates`
    says how dates are read, `rows` gives rows of columns that decide what is a country (by default
    rows of the frame), and `call` is what takes the arguments, for an error. With `in_shell` the
    notes name the options of a command.

    Raises:
        ColumnAmbiguous: several columns have usual names for one argument, several look like a
            date, or a country is doubtful: all that is open at once.
        ValueError: the columns belong to different parties, none names a place, or labels are not
            unique.
        TypeError: the columns are a MultiIndex, or an argument is a whole column.
    """
    require_flat(frame)
    dates = dates or DateTerms()
    named = {role: value for role, value in given.items() if value is not None}
    columns, scalars = _as_given(frame, named, dates)
    free = [label for label in free_labels(frame) if label not in columns.values()]
    export = recognized(free_labels(frame))
    usual = usual_columns(
        export,
        free,
        named,
        sample=lambda label: _texts(first_column(frame, label)),
        rows=rows or partial(sampled_rows, frame),
        named=columns,
    )
    columns |= usual.columns
    problems = list(usual.problems)
    asked = {question.role for problem in problems for question in problem.questions}
    _check_index(frame, columns.keys() | named.keys() | asked)
    if not DECIDING_ROLES & (columns.keys() | scalars.keys() | asked):
        raise _no_place(frame, export)
    note, left = "", [label for label in free if label not in columns.values()]
    if "as_of" not in columns:
        try:
            dated, note = _date(frame, left, named)
        except ColumnAmbiguous as error:
            problems.append(error)
        else:
            columns |= dict(zip(["as_of"], dated, strict=False))
    raise_all(problems, call)
    if scalars.get("as_of") == "today":
        del scalars["as_of"]
    for role, label in columns.items():
        require_one(frame, label, role)
    style = style_of(dates, "as_of", columns.get("as_of"), export, frame)
    if "as_of" in scalars:
        style = decide([parse([named["as_of"]], dates)], style)
    if dates.date_format and "as_of" not in {**columns, **scalars}:
        raise ValueError("date_format: no column is the date of the sale; choose it")
    billing = "" if export is None else _billing_note(export, frame)
    inputs = Inputs(columns, scalars, (), style, point_named=_decides(columns, scalars, named))
    used = used_notes(inputs.used, scalars, export)
    known = inputs.used.keys() | scalars.keys()
    no_state = "" if "state" in named else _no_state_note(known, left)
    points = _points_note(inputs, named, left, in_shell=in_shell)
    notes = tuple(filter(None, (*used, *usual.notes, points, no_state, billing, note)))
    own = free_labels(frame)
    reading = (
        rows_of_file(frame, own, columns) if export is None else reading_of_export(export, own)
    )
    return replace(inputs, notes=notes, reading=reading)


def _decides(
    columns: Mapping[str, Hashable], scalars: Mapping[str, object], named: Mapping[str, object]
) -> bool:
    """Whether coordinates decide: they were named, or stand beside neither a ZIP nor an address."""
    if "lat" not in columns or "lat" in named or "lng" in named:
        return True
    return {"zip", "address"}.isdisjoint(columns.keys() | scalars.keys())


def _points_note(
    inputs: Inputs, named: Mapping[str, object], left: Iterable[Hashable], *, in_shell: bool
) -> str:
    """That coordinates were found and not used, and how they are."""
    where = ""
    if not inputs.point_named:
        where = " where a row has a ZIP or an address"
        each = {role: [inputs.columns[role]] for role in _PAIR}
    elif not inputs.columns.keys().isdisjoint(_PAIR) or not named.keys().isdisjoint(_PAIR):
        return ""
    else:
        found = [(role[0], label) for label in left if (role := place_role(label))]
        each = {one: [label for role, label in found if role == one] for one in _PAIR}
        if not all(each.values()):
            return ""
    write = option_line if in_shell else "{}={!r}".format
    which = [" or ".join(write(role, label) for label in each[role]) for role in _PAIR]
    line = (" " if in_shell else ", ").join(which)
    return f"coordinates found, not used{where}. To use them: {line}"


_PAIR = ("lat", "lng")


def _as_given(
    frame: pd.DataFrame, given: Mapping[str, object], dates: DateTerms
) -> tuple[dict[str, Hashable], dict[str, object]]:
    """The columns and the values for all rows that are given."""
    columns: dict[str, Hashable] = {}
    scalars: dict[str, object] = {}
    for role, value in given.items():
        if is_label(frame, value):
            columns[role] = value
        elif value is not False:
            scalars[role] = one_value(role, value, frame, dates)
    return columns, scalars


def _no_place(frame: pd.DataFrame, export: Export | None) -> ColumnMissing:
    advice = "say which: zip=…, or address= and city=, or location=, or lat= and lng="
    if export is not None:
        advice = f"these are {export.name}: {export.note} Otherwise {advice}"
    return ColumnMissing("place", list(frame.columns), advice)


def style_of(
    dates: DateTerms, role: str, label: Hashable, export: Export | None, frame: pd.DataFrame
) -> DateStyle:
    """How a column of dates is read: by the convention of an export of which it is the date."""
    style = dates.style(role, label)
    if export is None or export.found(frame.columns).get("as_of", export) != label:
        return style
    zone = UTC if export.zone == "UTC" else None
    return replace(style, month_first=export.month_first, zone=zone)


def _billing_note(export: Export, frame: pd.DataFrame) -> str:
    """That the billing address counts where there is no other, if the export has one."""
    billing = export.found_billing(frame.columns)
    if not billing:
        return ""
    named = ", ".join(map(repr, billing.values()))
    return f"where nothing is shipped (these columns are empty), the place is that of {named}"


def _no_state_note(known: Collection[str], free: Iterable[Hashable]) -> str:
    """That no column of states was found, where a conflict with the ZIP Code would be seen."""
    if "state" in known or "lat" in known:
        return ""
    passed = [label for label in free if names_a_state(label)]
    unused = f" ({', '.join(map(repr, passed))} not used)" if passed else ""
    return (
        f"no column of states was found{unused}: the state is read from the ZIP Code, the address"
        " or the name of the place"
    )


def require_flat(frame: pd.DataFrame) -> None:
    """Refuse a frame whose columns are a MultiIndex.

    Raises:
        TypeError: they are; the message names the way to flatten them.
    """
    if isinstance(frame.columns, pd.MultiIndex):
        raise TypeError(
            "the frame has MultiIndex columns; flatten them first, for instance with"
            " df.columns = ['_'.join(map(str, c)) for c in df.columns]"
        )


def free_labels(frame: pd.DataFrame) -> list[Hashable]:
    """The labels of the columns that no lookup or tax added."""
    added = columns_of_lookups(frame)
    return [label for label in frame.columns if label not in added]


def used_notes(
    columns: Mapping[str, Hashable], values: Mapping[str, object], export: Export | None = None
) -> list[str]:
    """Which columns and which values for all rows are used, in at most two sentences."""
    used = ", ".join(f"{role} from column {label!r}" for role, label in columns.items())
    if export is not None:
        used = f"{export.name}, recognized by the column names: {used}"
    fixed = ", ".join(f"{role} {value!s} for all rows" for role, value in values.items())
    return [*filter(None, (used, fixed))]


@dataclass(frozen=True, slots=True)
class Proposal:
    """The arguments that a lookup would find by the usual names, and those that are ambiguous."""

    found: Mapping[str, Hashable]
    """The column of each argument that is clear."""
    unclear: Mapping[str, tuple[Hashable, ...]]
    """The columns that an argument could be; a single one may be another party's."""
    export: Export | None = None
    """The export that the columns were recognized as."""
    questions: tuple[Question, ...] = ()
    """What is ambiguous, as `find_inputs` asks it."""


def propose(frame: pd.DataFrame) -> Proposal:
    """What `find_inputs` would find without arguments, and what it would refuse as ambiguous.

    Raises:
        TypeError: the columns are a MultiIndex.
    """
    require_flat(frame)
    free = free_labels(frame)
    export = recognized(free)
    usual = usual_columns(
        export,
        free,
        sample=lambda label: _texts(first_column(frame, label)),
        rows=partial(sampled_rows, frame),
    )
    found = dict(usual.columns)
    if not _decides(found, {}, {}):  # the panel names what is proposed, and they would decide
        found = {role: label for role, label in found.items() if role not in _PAIR}
    unclear = {
        problem.role: problem.candidates
        for problem in usual.problems
        if isinstance(problem, ColumnAmbiguous)
    }
    if any(isinstance(problem, ColumnsOfTwoParties) for problem in usual.problems):
        found = {}
        unclear |= {
            role.name: tuple(labels)
            for role in PLACES.values()
            if (labels := role.candidates(free))
        }
    questions = tuple(question for problem in usual.problems for question in problem.questions)
    if "as_of" in found:
        return Proposal(found, unclear, export, questions)
    left = [label for label in free if label not in found.values()]
    try:
        dates, _ = _date(frame, left, {})
    except ColumnAmbiguous as error:
        questions = (*questions, *error.questions)
        dated = (label for label, column in frame.items() if date_kind_of(label, column))
        unclear["as_of"] = tuple(label for label in dated if label in set(left))
    else:
        if dates:
            found["as_of"] = dates[0]
    return Proposal(found, unclear, export, questions)


def is_label(frame: pd.DataFrame, value: object) -> bool:
    """Whether a value is the name of one of the frame's columns."""
    try:
        return not isinstance(value, bool) and value in frame.columns
    except TypeError:
        return False


def distinct_values(
    frame: pd.DataFrame, label: Hashable, argument: str
) -> tuple[np.ndarray, list[object]]:
    """The number of each row's value (-1: missing), and the values by number.

    Raises:
        ValueError: there is no such column, or several of that name.
    """
    require_columns(frame, (label,), f"say which with {argument}='…'")
    require_one(frame, label, argument)
    codes, values = pd.factorize(frame[label])
    found = list(values)
    if isinstance(frame[label].dtype, pd.ArrowDtype):  # in which NaN is a value, not a missing one
        nans = [isinstance(value, float) and math.isnan(value) for value in found]
        codes = np.where(np.array([*nans, False], bool)[codes], -1, codes)
    return codes, found


def _date(
    frame: pd.DataFrame, free: list[Hashable], given: Mapping[str, object]
) -> tuple[list[Hashable], str]:
    """The one column that is the date of the sale; or none, with a note if rates are today's."""
    if "as_of" in given:
        value = given["as_of"]
        today = value is False or (isinstance(value, str) and value == "today")
        return [], "rates as of today, as requested" if today else ""
    # by place, not by label: several columns may have one label, and none is passed over
    known = set(free)
    of_free = ((label, column) for label, column in frame.items() if label in known)
    kinds: list[tuple[Hashable, DateKind | None]] = [
        (label, date_kind_of(label, column)) for label, column in of_free
    ]
    levels = _dated_levels(frame)
    kinds += [(level, "other") for level in levels]
    how = " (make the index a column with df.reset_index())" if levels else ""
    advice = f"say which with as_of='…'{how}, or as_of='today' for today's rates"
    dated = sale_date(kinds, advice, unnamed=levels)
    return dated, "" if dated else "no date column: rates as of today"


def _check_index(frame: pd.DataFrame, known: Collection[str]) -> None:
    """Refuse a part of the place in the index: only columns are read.

    Raises:
        ValueError: it names the level and the argument that it would be.
    """
    for name in frame.index.names:
        found = None if name is None else place_role(name)
        if found is not None and found[0] not in known:
            raise ValueError(
                f"the index {name!r} names the {found[0]} of the place, and only columns are read;"
                f" make it a column with df.reset_index(), or say {found[0]}=False"
            )


_SAMPLE, _ROWS_SAMPLED = 20, 1_000
"""As many values of a column are read, out of as many rows."""


def date_kind_of(label: Hashable, column: pd.Series) -> DateKind | None:
    """The `date_kind` of a column, by its name and its values."""
    dtype = column.dtype
    numeric = pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_bool_dtype(dtype)
    return date_kind(label, None if _has_dates(column) else _sample(column), numeric=numeric)


def _dated_levels(frame: pd.DataFrame) -> list[IndexLevel]:
    """The levels of the index that hold dates."""
    index = frame.index
    levels: Iterable[pd.Index] = index.levels if isinstance(index, pd.MultiIndex) else [index]
    return [
        IndexLevel(name)
        for name, level in zip(index.names, levels, strict=True)
        if not isinstance(level, pd.RangeIndex)
        and date_kind_of("" if name is None else name, level[:_ROWS_SAMPLED].to_series())
        in {"sale", "other"}
    ]


class IndexLevel(NamedTuple):
    """A level of a frame's index, by its name."""

    name: Hashable

    def __repr__(self) -> str:
        """The level in words."""
        return "the index" if self.name is None else f"the index {self.name!r}"


def _has_dates(column: pd.Series) -> bool:
    dtype = column.dtype
    return _is_date_dtype(
        dtype.categories.dtype if isinstance(dtype, pd.CategoricalDtype) else dtype
    )


def _sample(column: pd.Series | None) -> list[str]:
    """Some values of the column, as text; none where they cannot be dates."""
    if (
        column is None
        or pd.api.types.is_bool_dtype(column.dtype)
        or pd.api.types.is_float_dtype(column.dtype)
    ):
        return []
    values = column.iloc[:_ROWS_SAMPLED].dropna()
    values = values if len(values) else column.dropna().iloc[:_ROWS_SAMPLED]
    single = (value for value in values.tolist() if isinstance(value, str | int | date | pd.Period))
    there = (text for value in single if (text := text_of(value)) is not None)
    return list(islice(there, _SAMPLE))


def _texts(column: pd.Series | None) -> list[str]:
    """Some distinct values of the column as text, from all of its rows."""
    if column is None:
        return []
    values = column.iloc[:: max(1, len(column) // _ROWS_SAMPLED)].dropna().iloc[:_ROWS_SAMPLED]
    single = (value for value in values.tolist() if isinstance(value, str | int | float | date))
    there = (text for value in single if (text := text_of(value)) is not None)
    return list(dict.fromkeys(there))


def country_of_frame(
    frame: pd.DataFrame, free: Sequence[Hashable], place: Mapping[str, Hashable]
) -> Country:
    """The column of the country among these, beside the columns of the place by role."""
    return find_country(
        free,
        place,
        lambda label: _texts(first_column(frame, label)),
        partial(sampled_rows, frame),
        delivered=any(map(is_shipped_to, place.values())),
    )


def sampled_rows(frame: pd.DataFrame, labels: Sequence[Hashable]) -> Iterable[tuple[object, ...]]:
    """The cells of some rows of these columns, spread over the frame."""
    columns = [first_column(frame, label) for label in labels]
    every = slice(None, None, max(1, len(frame) // (2 * _ROWS_SAMPLED)))
    return zip(
        *(column.iloc[every].tolist() for column in columns if column is not None), strict=True
    )


def _is_date_dtype(dtype: object) -> bool:
    return str(dtype).startswith(("datetime64", "date32", "date64", "timestamp", "period"))


_ALIKE = 0.8
_SHOWN = 12
_EXPECTED = {"state": "a state", "zip": "a ZIP", "lat": "degrees", "lng": "degrees"}


def one_value(
    role: str, value: object, frame: pd.DataFrame, dates: DateTerms | None = None
) -> object:
    """The value of an argument that is not a column; of a date its day.

    Raises:
        ValueError: it is missing, or is not valid for the argument, or is almost the name of a
            column.
        TypeError: it is a whole column, or a value of another type.
    """
    if isinstance(value, np.generic):
        value = pd.Timestamp(value) if isinstance(value, np.datetime64) else value.item()
    if not isinstance(value, str | int | float | date) or isinstance(value, bool):
        raise TypeError(
            f"{role}: expected a column's name or one value, not {type(value).__name__}"
            " (a whole column goes into the frame first)"
        )
    if pd.isna(value):
        raise ValueError(f"{role}: the value is missing ({value}); leave the argument out instead")
    labels = [str(label) for label in frame.columns]
    there = ", ".join(labels[:_SHOWN])
    if isinstance(value, str):
        folded = {label.casefold(): label for label in labels}
        # a valid value may be similar to the name of a column: TX and tax
        alike = 1.0 if _is_clear(role, value) else _ALIKE
        close = difflib.get_close_matches(value.strip().casefold(), folded, 1, alike)
        if close:
            raise ValueError(
                f"{role}: there is no column {value!r}; did you mean {folded[close[0]]!r}?"
            )
    if not _fits(role, value):
        expected = _EXPECTED.get(role, "text")
        raise ValueError(f"{role}: {value!r} is neither a column ({there}) nor {expected}")
    return _day(value, there, dates or DateTerms()) if role == "as_of" else value


def _is_clear(role: str, value: str) -> bool:
    """Whether a text is certainly a value of the argument and not a mistyped name."""
    if role == "state":
        return state_code(value) is not None
    try:
        if role == "zip":
            normal_zip(value, None)
        elif role == "as_of":
            read_one(value, DateTerms().style())
    except ValueError:
        return False
    return role in {"zip", "as_of"}


def _fits(role: str, value: object) -> bool:
    if role == "state":
        return state_code(value) is not None
    if role == "zip":
        return any(character.isdigit() for character in str(value))
    if role in {"lat", "lng"}:
        return isinstance(value, int | float)
    return role == "as_of" or isinstance(value, str)


def _day(value: object, there: str, dates: DateTerms) -> object:
    expected = "a column's name, a date such as '2026-05-01', or 'today'"
    if value == "today":
        return value
    if not isinstance(value, date | str):
        raise TypeError(f"as_of: expected {expected}, not {type(value).__name__}")
    try:
        return read_one(value, dates.style())
    except ColumnError:
        raise
    except ValueError:
        raise ValueError(f"as_of: {value!r} is not {expected}; the columns: {there}") from None
