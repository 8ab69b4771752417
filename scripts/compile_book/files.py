"""Files of a compilation: finding the sources, reading their figures, writing the book."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import astuple, dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from textwrap import fill
from typing import TYPE_CHECKING, NamedTuple

from svc_sdk.rates import rate_to_decimal
from svc_tools.service.ratebook.imports.draft import (
    Finding,
    FindingKind,
    Report,
    RowError,
    fraction_units,
)
from svc_tools.service.ratebook.schema import LIMITS_FOLDER, TABLES, Setting, table_text

from .facts import EDITION, LAYER

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from svc_tools.service.ratebook.imports.draft import Draft

    from .limits import PlaceLimits


class SourceFiles(NamedTuple):
    """The files a book is compiled from.

    Attributes:
        one: the newest file of each kind of `_PATTERNS`.
        several: every file of each kind of `_SEVERAL`.
        sst: rate files of states, the newest of each.
        maybe: the files that a book can do without, by kind of `_OPTIONAL`.
        limits: the limits of the cities of each state.
    """

    one: Mapping[str, Path]
    several: Mapping[str, tuple[Path, ...]]
    sst: tuple[Path, ...]
    maybe: Mapping[str, Path]
    limits: Mapping[str, Path]


_PATTERNS = {
    "history": "state_rate_history.csv",
    "taxability": "taxability.csv",
    "places": "place_counties.csv",
    "crosswalk": "zip_county_zcta*.csv",
    "shares": "zip_places.csv",
    "housing": "zip_housing.csv",
    "washington": "wa_dor_quarterly_*.csv",
    "california": "ca_cdtfa_*.csv",
    "overlays": "county_rates_nc_oh_nv.csv",
    "tables": "local_tables_*.csv",
    "members": "district_members.csv",
    "doubtful": "doubtful_rows.csv",
    "california_history": "local_history_ca_2023.csv",
    "city_history": "local_history_listed_cities.csv",
    "texas_changes": "tx_city_changes.csv",
    "new_mexico_2022": "nm_grt_2022H1_part.csv",
    "parishes": "la_parish_local_rates_part.csv",
    "alaska_members": "ak_arsstc_members_part.csv",
    "alaska_untaxed": "ak_no_general_tax.csv",
    "idaho_cities": "id_cities_over_10000.csv",
}
_SEVERAL = {
    "lists": ("local_rates_*.csv", "vt_towns.csv", "local_history_tier_b.csv"),
    "sources": ("sources*.csv",),
    "corrections": ("corrections_*.csv",),
}

_OPTIONAL = {"changes": "place_changes.csv", "bureau": "cb_*_us_place_500k.zip"}
_LIMITS = "polygons/[A-Z][A-Z].npz"

SST_NAME = re.compile(
    r"(?P<state>[A-Z]{2})R(?P<year>\d{4})Q(?P<quarter>[1-4])[A-Z]{3}\d{1,2}\.csv", re.ASCII
)
"""The name of an SST rate file: state, R, year and quarter, month and day of issue."""


def find_sources(folder: Path, report: Report) -> SourceFiles:
    """The newest file of every kind under a folder, by the editions in the names.

    A folder that is named by a month, such as `2026-12`, holds an edition: one later than
    `LAYER` is not read, so that a book stays what its sources gave on its day.

    Raises:
        RowError: the folder is not there, or a source is missing.
    """
    if not folder.is_dir():
        raise RowError(f"{folder}: not a folder; give the one that holds the source files")
    files = _of_the_edition(folder, report)
    one = {}
    for kind, pattern in _PATTERNS.items():
        path = _newest([path for path in files if path.match(pattern)], report)
        if path is None:
            raise RowError(f"{folder}: no {pattern} in it; the book needs one")
        one[kind] = path
    several = {
        kind: tuple(path for path in files if any(path.match(name) for name in names))
        for kind, names in _SEVERAL.items()
    }
    for kind, paths in several.items():
        if not paths:
            raise RowError(f"{folder}: no {' or '.join(_SEVERAL[kind])} in it; the book needs one")
    maybe = {
        kind: path
        for kind, pattern in _OPTIONAL.items()
        if (path := _newest([path for path in files if path.match(pattern)], report))
    }
    limits = {path.stem: path for path in files if path.match(_LIMITS)}
    return SourceFiles(one, several, _rate_files(files, report), maybe, limits)


_MONTH = re.compile(r"\d{4}-\d{2}", re.ASCII)


def _of_the_edition(folder: Path, report: Report) -> list[Path]:
    """The files under a folder, sorted, without those of editions later than the book's."""
    month = LAYER
    files, later = [], set()
    for path in sorted(folder.rglob("*")):
        months = {part for part in path.relative_to(folder).parts if _MONTH.fullmatch(part)}
        if max(months, default=month) > month:
            later.update(part for part in months if part > month)
        elif path.is_file():
            files.append(path)
    for name in sorted(later):
        report.add("note", "editions", name, f"later than the book's, {month}: not read")
    return files


def _newest(paths: list[Path], report: Report) -> Path | None:
    ordered = sorted(paths, key=lambda path: path.name)
    for path in ordered[:-1]:
        report.add("settled", path.name, "edition", f"{ordered[-1].name} is newer and was used")
    return ordered[-1] if ordered else None


def _rate_files(files: Sequence[Path], report: Report) -> tuple[Path, ...]:
    """One SST rate file for each state, the newest quarter."""
    by_state: dict[str, list[Path]] = {}
    for path in files:
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


_SCHEMA = "3"


def _sorted(rows: Sequence[object]) -> list[object]:
    return sorted(rows, key=lambda row: tuple("" if v is None else str(v) for v in _values(row)))


def _values(row: object) -> tuple[object, ...]:
    return row if isinstance(row, tuple) else astuple(row)  # type: ignore[call-overload]  # a dataclass


def write_book(draft: Draft, limits: PlaceLimits, report: CompileReport, out_dir: Path) -> None:
    """Write every file of the book and put rows, sizes and edition into the report."""
    edition = EDITION.isoformat()
    every = [row for rows in draft.rates.values() for row in rows]
    used = {row.source for row in every}
    rates = sorted(every, key=lambda row: (row.jurisdiction, str(row.begin or "")))
    tables: dict[str, list[object]] = {
        "book.csv": [
            Setting("schema", _SCHEMA),
            Setting("edition", edition),
            Setting("loaded_at", edition),
        ],
        "sources.csv": _sorted([s for key, s in draft.sources.items() if key in used]),
        "states.csv": _sorted(list(draft.states.values())),
        "delivery.csv": list(draft.delivery),
        "counties.csv": _sorted(list(draft.counties.values())),
        "jurisdictions.csv": _sorted(list(draft.jurisdictions.values())),
        "areas.csv": _sorted(list(draft.areas.values())),
        "rates.csv": list(rates),
        "places.csv": list(draft.places),
        "zips.csv": list(draft.zips),
        "postal.csv": list(draft.postal),
        "changed_places.csv": sorted(limits.changed),
    }
    out_dir.mkdir(parents=True, exist_ok=True)
    report.edition = edition
    for name, row_class in TABLES.items():
        data = table_text(tables[name], row_class).encode("utf-8")
        _write(out_dir / name, data)
        report.rows[name] = len(tables[name])
        report.sizes[name] = len(data)
    folder = out_dir / LIMITS_FOLDER
    if limits.files:
        folder.mkdir(exist_ok=True)
    for path in folder.glob("*.npz"):
        if path.stem not in limits.files:
            path.unlink()
    for state, data in limits.files.items():
        _write(folder / f"{state}.npz", data)
    report.rows[LIMITS_FOLDER] = len(limits.files)
    report.sizes[LIMITS_FOLDER] = sum(map(len, limits.files.values()))


def _write(path: Path, data: bytes) -> None:
    partial = path.with_name(f"{path.name}.partial")
    partial.write_bytes(data)
    partial.replace(path)


_FIFTH = Decimal("0.00001")


def rounded_units(text: str) -> tuple[int, str]:
    """Units of a rate given as a fraction, rounded half up, and the rate where that changed it.

    `"0.033125"` gives `(3313, "0.033125")`, `"0.0275"` gives `(2750, "")`. Raises as
    `fraction_units`.
    """
    try:
        exact = rate_to_decimal(text.strip()).normalize()
    except ValueError as error:
        raise RowError(str(error)) from error
    rounded = exact.quantize(_FIFTH, ROUND_HALF_UP)
    units = fraction_units(format(rounded, "f"))
    return units, "" if rounded == exact else format(exact, "f")


def percent_units(text: str) -> int:
    """Units of a rate given in percent: `"8.25"` gives `8250`. Raises as `fraction_units`."""
    try:
        percent = rate_to_decimal(text.strip())
    except ValueError as error:
        raise RowError(str(error)) from error
    return fraction_units(format(percent * Decimal("0.01"), "f"))
