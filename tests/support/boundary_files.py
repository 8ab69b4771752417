"""SST boundary files for tests: their lines, and their import into an own book."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from benchmarks.boundary_files import (
    METRO,
    MINNEAPOLIS,
    RATES,
    generated_lines,
    line,
    write_boundary_file,
)
from svc_tools.service.ratebook.imports.importer import import_files

if TYPE_CHECKING:
    from pathlib import Path

    from svc_tools.service.ratebook.imports.importer import Imported

__all__ = [
    "LOADED",
    "METRO",
    "MINNEAPOLIS",
    "RATES",
    "generated_lines",
    "imported",
    "line",
    "write_boundary_file",
]

LOADED = date(2026, 5, 2)


def imported(own: Path, *files: Path) -> list[Imported]:
    """Put official files into an own book; the first of them though the shipped ones are newer."""
    return list(import_files(files, own, today=LOADED, fewer=True, force=not own.exists()))
