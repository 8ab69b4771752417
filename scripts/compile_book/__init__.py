"""Compiling the rate book that ships from a folder of published figures.

python -m scripts.compile_book ../shared/data --output svc_tools/service/ratebook/data
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc_tools.service.ratebook.formats.draft import Draft, RowError, spans_overlap

from .counties import read_counties, read_county_rates, read_crosswalk
from .files import CompileReport, find_sources, write_book
from .states import (
    add_state_rates,
    read_california,
    read_sst,
    read_states,
    read_texas,
    read_washington,
    settle_states,
)
from .tables import read_local_tables

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["CompileReport", "RowError", "compile_book"]


def compile_book(source_dir: Path, out_dir: Path) -> CompileReport:
    """Compile the sources under a folder into a rate book.

    The state table (`state_rates_YYYY-MM.csv`) and the ZIP crosswalk (`zip_county_zcta2020.csv`)
    must be there; a state whose local source is not keeps its state part only. The same sources
    give the same bytes: nothing depends on the clock.

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
    draft = Draft(report)
    read_states(found.states, draft)
    read_counties(draft)
    read_crosswalk(found.crosswalk, draft)
    for path in found.sst:
        read_sst(path, draft)
    if found.washington:
        read_washington(found.washington, draft)
    if found.california:
        read_california(found.california, draft)
    if found.county_rates:
        read_county_rates(found.county_rates, draft)
    if found.texas:
        read_texas(found.texas, draft)
    add_state_rates(found.states, draft)
    if found.local_tables and found.corrections and found.members:  # official figures went before
        read_local_tables(found.local_tables, found.corrections, found.members, draft)
    settle_states(draft)
    _check(draft)
    write_book(draft, report, out_dir)
    return report


def _check(draft: Draft) -> None:
    """The last look at the whole: spans, references, sums within bounds."""
    by_jurisdiction: dict[str, list[int]] = {}
    for number, row in enumerate(draft.rates):
        by_jurisdiction.setdefault(row.jurisdiction, []).append(number)
    for key, numbers in by_jurisdiction.items():
        reason = spans_overlap(draft.rates[number] for number in numbers)
        if reason:
            raise RowError(f"{key}: {reason}")
    for area in draft.areas.values():
        for part in area.components:
            if part not in by_jurisdiction:
                raise RowError(f"{area.id}: its part {part} has no rate")
    for state in draft.states:
        if state not in by_jurisdiction:
            raise RowError(f"{state}: no state rate")
