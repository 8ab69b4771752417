"""Writing a compiled draft as the CSV files of a book."""

from __future__ import annotations

from dataclasses import astuple
from typing import TYPE_CHECKING

from svc_tools.service.ratebook.formats.facts import FACTS_READ
from svc_tools.service.ratebook.schema import TABLES, Setting, write_rows

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from svc_tools.service.ratebook.formats.draft import Draft

__all__ = ["write_book"]

_SCHEMA = "1"


def _sorted(rows: Sequence[object]) -> list[object]:
    return sorted(rows, key=lambda row: tuple("" if v is None else str(v) for v in _values(row)))


def _values(row: object) -> tuple[object, ...]:
    return row if isinstance(row, tuple) else astuple(row)  # type: ignore[call-overload]  # a dataclass


def write_book(draft: Draft, out_dir: Path) -> None:
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
    draft.report.edition = edition
    for name, row_class in TABLES.items():
        data = write_rows(tables[name], row_class).encode("utf-8")
        partial = out_dir / f"{name}.partial"
        partial.write_bytes(data)
        partial.replace(out_dir / name)
        draft.report.rows[name] = len(tables[name])
        draft.report.sizes[name] = len(data)
