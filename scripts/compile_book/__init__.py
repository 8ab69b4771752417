"""Compiling the rate book that ships from a folder of published figures.

python -m scripts.compile_book ../shared/data --output svc_tools/service/ratebook/data
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc_tools.service.ratebook.imports.draft import Draft, RowError, spans_overlap

from .alaska_idaho import read_alaska, read_idaho_cities
from .city_history import add_city_history, add_new_mexico_2022
from .files import CompileReport, find_sources, write_book
from .geography import read_counties, read_places, read_postal, read_zips
from .limits import read_limits
from .listed import read_listed, read_sources, with_history
from .local import CALIFORNIA_LIST_BEGINS, add_listed_states, read_lists
from .louisiana import read_parishes
from .states import (
    read_california,
    read_delivery,
    read_sst,
    read_state_history,
    read_states,
    read_washington,
    settle_states,
)
from .tables import add_listed_cities, read_tables

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["CompileReport", "RowError", "compile_book"]


def compile_book(source_dir: Path, out_dir: Path) -> CompileReport:
    """Compile the sources under a folder into a rate book.

    The same sources give the same bytes: nothing depends on the clock.

    Args:
        source_dir: folder that holds the source files, at any depth.
        out_dir: folder to write the book's CSV files to; made if it is not there. Its files are
            replaced only after everything was read and checked.

    Returns:
        What was written and everything that was left out, corrected, settled or in conflict.

    Raises:
        RowError: a source that a book cannot do without is missing or not what its name says, or
            the rows of a jurisdiction contradict each other.
    """
    report = CompileReport()
    found = find_sources(source_dir, report)
    one, several = found.one, found.several
    draft = Draft(report)
    read_states(draft)
    read_delivery(one["taxability"], draft)
    read_state_history(one["history"], draft)
    read_counties(draft)
    places = read_places(one["places"], draft)
    read_zips(one["crosswalk"], one["shares"], one["housing"], draft)
    read_postal(draft)
    for path in found.sst:
        read_sst(path, draft)
    read_washington(one["washington"], draft)
    read_california(one["california"], draft)
    read_sources(several["sources"], _DATED_BY_EDITION, draft)
    listed = read_lists(several["lists"])
    if "CA" in listed:
        present = [area.undated(begin=CALIFORNIA_LIST_BEGINS) for area in listed["CA"]]
        older = read_listed(one["california_history"], certainty=True)
        listed["CA"] = with_history(present, older)
    tables = read_tables(
        one["tables"], several["corrections"], one["members"], one["doubtful"], report
    )
    add_listed_states(listed, tables, one["overlays"], places, draft)
    add_listed_cities(tables, listed, places, draft)
    add_city_history(one["city_history"], one["texas_changes"], draft)
    add_new_mexico_2022(one["new_mexico_2022"], draft)
    read_parishes(one["parishes"], draft)
    read_idaho_cities(one["idaho_cities"], draft)
    read_alaska(one["alaska_members"], one["alaska_untaxed"], draft)
    settle_states(draft)
    _check(draft)
    write_book(draft, read_limits(found, draft), report, out_dir)
    return report


_DATED_BY_EDITION = (
    "ca-cdtfa-2026-07",
    "tx-comptroller-2026q3",
    "il-idor-2026-08",
    "co-dr1002-2025-07",
)
"""Lists whose rows are dated by their edition alone."""


def _check(draft: Draft) -> None:
    """The last look at the whole: spans, references, sums within bounds."""
    for key, rows in draft.rates.items():
        reason = spans_overlap(rows)
        if reason:
            raise RowError(f"{key}: {reason}")
    for area in draft.areas.values():
        for part in area.components:
            if part not in draft.rates:
                raise RowError(f"{area.id}: its part {part} has no rate")
        exact = [part for part in area.components if any(r.published for r in draft.rates[part])]
        if len(exact) > 1:
            raise RowError(f"{area.id}: {', '.join(exact)} are rounded: their sum may be off")
    for state in draft.states:
        if state not in draft.rates:
            raise RowError(f"{state}: no state rate")
