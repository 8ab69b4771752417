"""Files of a compilation: finding the sources, reading their figures, writing the book."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import astuple, dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from textwrap import fill
from typing import TYPE_CHECKING

from svc_sdk.rates import rate_to_decimal
from svc_tools.service.ratebook.formats.draft import (
    Finding,
    FindingKind,
    Report,
    RowError,
    fraction_units,
)
from svc_tools.service.ratebook.schema import TABLES, Setting, write_rows

from .facts import FACTS_READ

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from svc_tools.service.ratebook.formats.draft import Draft


@dataclass(frozen=True, slots=True)
class SourceFiles:
    """The files a book is compiled from; `None` where one is not there."""

    states: Path
    crosswalk: Path
    sst: tuple[Path, ...]
    washington: Path | None
    california: Path | None
    county_rates: Path | None
    local_tables: Path | None
    corrections: Path | None
    members: Path | None
    texas: Path | None


_PATTERNS = {
    "states": "state_rates_*.csv",
    "crosswalk": "zip_county_zcta*.csv",
    "washington": "wa_dor_quarterly_*.csv",
    "california": "ca_cdtfa_*.csv",
    "county_rates": "county_rates_nc_oh_nv.csv",
    "local_tables": "local_tables_*.csv",
    "corrections": "corrections_*.csv",
    "members": "district_members.csv",
    "texas": "tx_taxrates_*.txt",
}

SST_NAME = re.compile(
    r"(?P<state>[A-Z]{2})R(?P<year>\d{4})Q(?P<quarter>[1-4])[A-Z]{3}\d{1,2}\.csv", re.ASCII
)
"""The name of an SST rate file: state, R, year and quarter, month and day of issue."""

_NEEDED = ("states", "crosswalk")


def find_sources(folder: Path, report: Report) -> SourceFiles:
    """The newest file of every kind under a folder, by the editions in the names.

    Raises:
        RowError: the folder is not there, or a source no book can do without is missing.
    """
    if not folder.is_dir():
        raise RowError(f"{folder}: not a folder; give the one that holds the source files")
    names = {
        kind: _newest(sorted(folder.rglob(pattern)), report) for kind, pattern in _PATTERNS.items()
    }
    for kind, path in names.items():
        if path is None and kind in _NEEDED:
            raise RowError(f"{folder}: no {_PATTERNS[kind]} in it; a book needs one")
        if path is None:
            report.add("missing", _PATTERNS[kind], str(kind), "no such file: left out")
    states, crosswalk = names.pop("states"), names.pop("crosswalk")
    if states is None or crosswalk is None:
        raise RowError(f"{folder}: sources are missing")
    return SourceFiles(states, crosswalk, _rate_files(folder, report), **names)


def _newest(paths: list[Path], report: Report) -> Path | None:
    ordered = sorted(paths, key=lambda path: path.name)
    for path in ordered[:-1]:
        report.add("settled", path.name, "edition", f"{ordered[-1].name} is newer and was used")
    return ordered[-1] if ordered else None


def _rate_files(folder: Path, report: Report) -> tuple[Path, ...]:
    """One SST rate file for each state, the newest quarter."""
    by_state: dict[str, list[Path]] = {}
    for path in folder.rglob("*.csv"):
        match = SST_NAME.fullmatch(path.name)
        if match:
            by_state.setdefault(match["state"], []).append(path)
    newest = []
    for _, paths in sorted(by_state.items()):
        latest = _newest(paths, report)
        if latest:
            newest.append(latest)
    return tuple(newest)


_HEADINGS: dict[FindingKind, str] = {
    "missing": "Sources that were not there",
    "left_out": "Left out",
    "corrected": "Corrections applied",
    "conflict": "Sources disagree",
    "settled": "Settled by a rule",
    "note": "Noted",
}
"""The kinds of finding, in the order of the report, and their headings."""

_SHOWN = 25
_WIDTH = 80
_NARROWEST = 40


@dataclass(slots=True)
class CompileReport(Report):
    """The findings of one compilation and what was written.

    Attributes:
        rows: file name of the book -> rows written.
        sizes: file name of the book -> bytes written.
        edition: the edition of the compiled book.
    """

    rows: dict[str, int] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    edition: str = ""

    def of_kind(self, kind: FindingKind) -> list[Finding]:
        """The findings of one kind."""
        return [finding for finding in self.findings if finding.kind == kind]

    def render(self, *, everything: bool = False, width: int = _WIDTH) -> str:
        """The report as text for a terminal.

        Args:
            everything: list every finding; otherwise a long list of one kind and source is cut,
                and the number of those not shown is said.
            width: columns; a longer finding goes on in the next line, further in.
        """
        lines = [f"Rate book, edition {self.edition}", ""]
        lines += [
            f"  {name:<20} {count:>7,} rows {self.sizes.get(name, 0):>11,} bytes"
            for name, count in self.rows.items()
        ]
        for kind, heading in _HEADINGS.items():
            found = self.of_kind(kind)
            if not found:
                continue
            lines += ["", f"{heading} ({len(found)})"]
            for source, total in Counter(finding.source for finding in found).items():
                here = [finding for finding in found if finding.source == source]
                shown = here if everything else here[:_SHOWN]
                lines.append(f"  {source}")
                lines += [_wrapped(f"{one.subject}: {one.message}", width) for one in shown]
                if len(shown) < total:
                    lines.append(
                        f"    ... and {total - len(shown)} more of this source (--all lists them)"
                    )
        return "\n".join(lines) + "\n"


def _wrapped(told: str, width: int) -> str:
    return fill(
        told,
        max(width, _NARROWEST),
        initial_indent="    ",
        subsequent_indent="      ",
        break_long_words=False,
        break_on_hyphens=False,
    )


_SCHEMA = "1"


def _sorted(rows: Sequence[object]) -> list[object]:
    return sorted(rows, key=lambda row: tuple("" if v is None else str(v) for v in _values(row)))


def _values(row: object) -> tuple[object, ...]:
    return row if isinstance(row, tuple) else astuple(row)  # type: ignore[call-overload]  # a dataclass


def write_book(draft: Draft, report: CompileReport, out_dir: Path) -> None:
    """Write every file of the book and put rows, sizes and edition into the report."""
    edition = FACTS_READ.isoformat()
    used = {row.source for row in draft.rates}
    rates = sorted(draft.rates, key=lambda row: (row.jurisdiction, str(row.begin or "")))
    tables: dict[str, list[object]] = {
        "book.csv": [
            Setting("schema", _SCHEMA),
            Setting("edition", edition),
            Setting("loaded_at", edition),
        ],
        "sources.csv": _sorted([s for key, s in draft.sources.items() if key in used]),
        "states.csv": _sorted(list(draft.states.values())),
        "counties.csv": _sorted(list(draft.counties.values())),
        "jurisdictions.csv": _sorted(list(draft.jurisdictions.values())),
        "areas.csv": _sorted(list(draft.areas.values())),
        "rates.csv": list(rates),
        "zip_counties.csv": list(draft.zip_counties),
    }
    out_dir.mkdir(parents=True, exist_ok=True)
    report.edition = edition
    for name, row_class in TABLES.items():
        data = write_rows(tables[name], row_class).encode("utf-8")
        partial = out_dir / f"{name}.partial"
        partial.write_bytes(data)
        partial.replace(out_dir / name)
        report.rows[name] = len(tables[name])
        report.sizes[name] = len(data)


def percent_units(text: str) -> int:
    """Units of a rate given in percent: `"8.25"` gives `8250`. Raises as `fraction_units`."""
    try:
        percent = rate_to_decimal(text.strip())
    except ValueError as error:
        raise RowError(str(error)) from error
    return fraction_units(format(percent * Decimal("0.01"), "f"))


def month_later(day: date, months: int) -> date:
    """The last day of a span of whole months that begins on `day` (a day up to the 28th)."""
    index = day.year * 12 + day.month - 1 + months
    return date(index // 12, index % 12 + 1, day.day) - timedelta(days=1)
