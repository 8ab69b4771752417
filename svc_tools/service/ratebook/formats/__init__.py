"""Compiling a rate book from a folder of published figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc_tools.service.ratebook.formats.book_files import write_book
from svc_tools.service.ratebook.formats.checks import RowError, spans_overlap
from svc_tools.service.ratebook.formats.draft import Draft
from svc_tools.service.ratebook.formats.report import CompileReport, Finding
from svc_tools.service.ratebook.formats.sources import find_sources

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["CompileReport", "Finding", "RowError", "compile_book"]


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
    from svc_tools.service.ratebook.formats import (  # noqa: PLC0415 - readers load boundaries
        california,
        counties,
        county_rates,
        local_tables,
        sst,
        states,
        texas,
        washington,
    )

    report = CompileReport()
    found = find_sources(source_dir, report)
    draft = Draft(report)
    states.read_states(found.states, draft)
    counties.read_counties(draft)
    counties.read_crosswalk(found.crosswalk, draft)
    for path in found.sst:
        sst.read_sst(path, draft)
    if found.washington:
        washington.read_washington(found.washington, draft)
    if found.california:
        california.read_california(found.california, draft)
    if found.county_rates:
        county_rates.read_county_rates(found.county_rates, draft)
    if found.texas:
        texas.read_texas(found.texas, draft)
    states.add_state_rates(found.states, draft)
    if found.local_tables and found.corrections and found.members:  # official figures went before
        local_tables.read_local_tables(found.local_tables, found.corrections, found.members, draft)
    states.settle_states(draft)
    _check(draft)
    write_book(draft, out_dir)
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
