"""Finding the source files of a book by their names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from svc_tools.service.ratebook.formats.checks import RowError
from svc_tools.service.ratebook.formats.sst import NAME as SST_NAME

if TYPE_CHECKING:
    from pathlib import Path

    from svc_tools.service.ratebook.formats.report import CompileReport

__all__ = ["SourceFiles", "find_sources"]


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
_NEEDED = ("states", "crosswalk")


def find_sources(folder: Path, report: CompileReport) -> SourceFiles:
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


def _newest(paths: list[Path], report: CompileReport) -> Path | None:
    ordered = sorted(paths, key=lambda path: path.name)
    for path in ordered[:-1]:
        report.add("settled", path.name, "edition", f"{ordered[-1].name} is newer and was used")
    return ordered[-1] if ordered else None


def _rate_files(folder: Path, report: CompileReport) -> tuple[Path, ...]:
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
