"""Which export a table is, told by its columns; and reports with titles, headings and totals."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from svc_tools.tables.countries import find_country
from svc_tools.tables.exports.layout import PLACE_ROLES, by_name
from svc_tools.tables.exports.shops import EXPORTS
from svc_tools.tables.roles import (
    ColumnAmbiguous,
    FoundColumns,
    is_shipped_to,
    plain_name,
    usual_places,
)
from svc_tools.tables.states import state_code

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence

    from svc_tools.tables.countries import RowReader
    from svc_tools.tables.exports.layout import Export


def recognized(columns: Iterable[Hashable]) -> Export | None:
    """The export that a table with these columns is; `None` where it is none or could be two."""
    fit = fitting(columns)
    return fit[0] if len(fit) == 1 else None


def fitting(columns: Iterable[Hashable]) -> list[Export]:
    """Every export that a table with these columns may be: that which knows most of them first."""
    labels = [*columns]
    names = by_name(labels).keys()
    fit = [one for one in EXPORTS if one.fits(names)]
    return sorted(fit, key=lambda one: len(one.known(labels)), reverse=True)


DECIDING_ROLES = frozenset({"zip", "address", "city", "location", "lat"})
"""The roles of which a place needs one."""


def usual_columns(
    export: Export | None,
    free: Sequence[Hashable],
    given: Mapping[str, object] | None = None,
    *,
    sample: Callable[[Hashable], Sequence[str | None]],
    rows: RowReader | None = None,
    named: Mapping[str, Hashable] | None = None,
) -> FoundColumns:
    """The columns of place and date of an export, or else of the place by their usual names.

    Args:
        export: the export that the table is, where it is one that is known.
        free: the labels to choose from.
        given: by role the value of an argument that is given; its role is not looked for.
        sample: some values of a column as text. A column named just "Region" is that of the states
            where most of its values are states.
        rows: some rows of columns, which show whether a country is that of the place.
        named: the columns among the given values, by role.
    """
    given = {role: value for role, value in (given or {}).items() if value is not None}
    known = {} if export is None else export.found(free)
    of_export = {
        role: known[role] for role in (*PLACE_ROLES, "as_of") if role in known and role not in given
    }
    found = _places(free, given, of_export, sample)
    wanted = {role for role, value in given.items() if value is not False}
    if (
        export is None
        and not found.problems
        and DECIDING_ROLES.isdisjoint(wanted | found.columns.keys())
    ):
        found = replace(found, columns=found.columns | _place_names(free, given, sample))
    if "country" in {**given, **of_export}:
        return found
    columns = {**_likeliest(found), **found.columns, **(named or {})}
    country = find_country(
        free, columns, sample, rows, delivered=any(map(is_shipped_to, columns.values()))
    )
    problems = (*found.problems, *([country.problem] if country.problem else []))
    # the table of an export decides which columns count
    return FoundColumns(
        {**found.columns, **country.found}, problems, () if known else country.notes
    )


def _likeliest(found: FoundColumns) -> dict[str, Hashable]:
    """The likeliest column of each role that is asked."""
    asked = (one for problem in found.problems for one in problem.questions)
    return {one.role: one.columns[0] for one in asked if one.likely is not False}


def _places(
    free: Sequence[Hashable],
    given: Mapping[str, object],
    of_export: Mapping[str, Hashable],
    sample: Callable[[Hashable], Sequence[str | None]],
) -> FoundColumns:
    """The columns of the place, the country apart, and of the date of an export."""
    if DECIDING_ROLES & of_export.keys():
        return FoundColumns(dict(of_export), ())
    usual = usual_places([label for label in free if label not in of_export.values()], given)
    columns = {**usual.columns, **of_export}
    shipping = any(map(is_shipped_to, columns.values()))
    if shipping or usual.problems or "state" in {**columns, **given}:
        return FoundColumns(columns, usual.problems)
    named = [label for label in free if plain_name(label) in _REGION]
    regions = [label for label in named if _are_states(sample(label))]
    if len(regions) > 1:
        return FoundColumns(columns, (ColumnAmbiguous("state", regions),))
    return FoundColumns(columns | dict(zip(["state"], regions, strict=False)), ())


def _place_names(
    free: Sequence[Hashable],
    given: Mapping[str, object],
    sample: Callable[[Hashable], Sequence[str | None]],
) -> dict[str, Hashable]:
    """The column `location`, the specification's name of a place, where nothing else names one.

    In exports, and beside an address, it is a store or a warehouse: it comes after every other
    column of a place, and its values must look like names. Of several none is taken.
    """
    named = [label for label in free if plain_name(label) == "location"]
    if "location" in given or len(named) != 1:
        return {}
    texts = [text for text in sample(named[0]) if text]
    names = sum(_NAME.fullmatch(text) is not None for text in texts)
    return {"location": named[0]} if texts and 2 * names > len(texts) else {}


_NAME = re.compile(r"[^0-9@#:/]{2,64}")
_REGION = {"region", "region_code", "region_name"}


def _are_states(texts: Sequence[str | None]) -> bool:
    there = [text for text in texts if text]
    return 2 * sum(state_code(text) is not None for text in there) >= max(len(there), 1)


def named_export(name: str | None) -> Export | None:
    """The export of this name; `None` where there is none."""
    return next((one for one in EXPORTS if one.name == name), None)


_TITLE_ROWS = 12
"""The rows among which the names of a report's columns are looked for."""


def report_of(first: Sequence[Sequence[object]]) -> tuple[Export, Sequence[object]] | None:
    """The report that a file is whose first rows these are, and the row with the names.

    `None` where the names stand in the first row, as in other files.
    """
    for row in first[1:_TITLE_ROWS]:
        export = recognized([cell for cell in row if _is_filled(cell)])
        if export is not None and export.report:
            return export, row
    return None


def lines_of(
    rows: Iterable[Sequence[object]], export: Export, names: Sequence[object]
) -> Iterator[list[object]]:
    """The names of a report's columns, then its lines, each with the heading above it.

    The heading goes into the first column, where that has no name: it is the customer's. A line
    has a date, or is a further row of the order above it.
    """
    grouped = not _is_filled(names[0])
    found = export.found(filter(_is_filled, names))
    dated, numbered = [*names].index(found["as_of"]), [*names].index(found["order"])
    below, heading, order = iter(rows), None, None
    for row in below:
        if [*row] == [*names]:
            break
    yield ["Customer", *names[1:]] if grouped else [*names]
    for row in below:
        further = export.once and row[numbered : numbered + 1] == [order]
        if further or (len(row) > dated and _is_filled(row[dated])):
            order = row[numbered] if _is_filled(row[numbered]) else None
            line = [*row, *[None] * (len(names) - len(row))]
            yield [heading, *line[1:]] if grouped and not _is_filled(line[0]) else line
        elif row and _is_filled(row[0]):
            heading = row[0]


def _is_filled(cell: object) -> bool:
    return cell is not None and str(cell).strip() != ""
