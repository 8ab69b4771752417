"""A file of known rates, as `svc-tools book check` reads it.

The header names the columns: a state, a ZIP or a city or both, the expected combined rate, and
maybe a date. A rate is a fraction (`0.0825`) or a percentage (`8.25`), one kind in a file: the
column's name or the size of the first rate decides. A percent sign makes any rate a percentage.
"""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from svc_tools.base.extras import needs
from svc_tools.tables.roles import ColumnMissing, Role, find
from svc_tools.tables.tabular import cell_text, read_rows

with needs("Checking rates", "pandas"):
    import pandas as pd

if TYPE_CHECKING:
    from pathlib import Path

_NAMES = {
    "state": "state|state_code|st",
    "city": "city|place|location|city_name",
    "zip": "zip|zip5|zip_code|zipcode|postal_code",
    "as_of": "as_of|asof|date|effective_date",
    "rate": "rate|expected|expected_rate|combined_rate|total_rate|combined|total|tax_rate",
}
_ROLES = [
    Role(name, re.compile(rf"(?:{usual})(?:_pct|_percent)?"), needed=name in {"state", "rate"})
    for name, usual in _NAMES.items()
]
_PERCENT = re.compile(r"%|(?:pct|percent)\W*$", re.IGNORECASE)
_ZIP = re.compile(r"(\d{3,5})(?:-?(\d{4}))?(?:\.0)?")
_LOWEST, _HIGHEST = Decimal("0.5"), Decimal(20)  # percent: no combined rate is outside
_FRACTIONS, _PERCENTAGES = (0.005, 0.2), (0.5, 20.0)


def read_rates(path: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Read a file of known rates: CSV, or the first sheet of a workbook.

    Returns:
        The rows: `line`, `state`, `city`, `zip`, `expected` (units of 10^-5) and `as_of`; and
        the `line` and `reason` of each row that cannot be read.

    Raises:
        ValueError: the file cannot be read, or its header is not usable.
    """
    rows = [(line, [cell_text(cell).strip() for cell in cells]) for line, cells in read_rows(path)]
    rows = [(line, cells) for line, cells in rows if any(cells)]
    header = rows[0][1] if rows else []
    columns = _columns(header, path.name)
    given = [
        (line, cells, {role: cells[at] for role, at in columns.items() if at < len(cells)})
        for line, cells in rows[1:]
    ]
    by_size = (_is_percent(row.get("rate", "")) for *_, row in given)
    clear = (percent for percent in by_size if percent is not None)
    percent = bool(_PERCENT.search(header[columns["rate"]])) or next(clear, False)
    read, unreadable = [], []
    for line, cells, row in given:
        try:
            if len(cells) > len(header):
                raise ValueError(f"{len(cells)} cells, expected {len(header)}")  # noqa: TRY301 - listed
            read.append({"line": line} | _known(dict.fromkeys(_NAMES, "") | row, percent=percent))
        except ValueError as error:
            unreadable.append({"line": line, "reason": str(error)})
    names = ["line", "state", "city", "zip", "expected", "as_of"]
    return pd.DataFrame(read, columns=names, dtype=object), pd.DataFrame(unreadable)


def _is_percent(text: str) -> bool | None:
    """Whether a rate is a percentage, by its size; `None` where that does not tell."""
    try:
        size = float(text)  # floats decide the kind, and no more
    except ValueError:
        return None
    fraction, percentage = (low <= size <= high for low, high in (_FRACTIONS, _PERCENTAGES))
    return percentage if fraction or percentage else None


def _columns(header: list[str], name: str) -> dict[str, int]:
    """The position of each role's column."""
    found = find(header, _ROLES)
    problems = [problem.fact for problem in found.problems]
    if not {"zip", "city"} & found.columns.keys() and not problems:
        problems = [ColumnMissing("zip or city", header).fact]
    if problems:
        raise ValueError(
            f"{name}: {problems[0]}; expected state, zip or city or both, rate, and maybe as_of,"
            " each in one column"
        )
    return {role: header.index(str(label)) for role, label in found.columns.items()}


def _known(row: dict[str, str], *, percent: bool) -> dict[str, Any]:
    """A row of the file, read; the ZIP with the zeros that spreadsheets drop."""
    if not row["state"] or not (row["city"] or row["zip"]):
        raise ValueError("expected a state, and a city or a ZIP or both")
    found = _ZIP.fullmatch(row["zip"])
    if row["zip"] and not found:
        raise ValueError(f"zip: given {row['zip'][:20]!r}, expected five digits or ZIP+4")
    zip5 = found[1].zfill(5) + (f"-{found[2]}" if found[2] else "") if found else ""
    try:
        day = date.fromisoformat(row["as_of"]) if row["as_of"] else None
    except ValueError:
        raise ValueError(f"as_of: given {row['as_of'][:20]!r}, expected YYYY-MM-DD") from None
    place = {"state": row["state"].upper(), "city": row["city"], "zip": zip5}
    return place | {"expected": _units(row["rate"], percent=percent), "as_of": day}


def _units(text: str, *, percent: bool) -> int:
    """A rate in units of 10^-5, exact; with a sign it is a percentage in any file."""
    percent = percent or text.endswith("%")
    try:
        units = Decimal(text.removesuffix("%").strip()) * (1_000 if percent else 100_000)
        if not units or (_LOWEST <= units / 1_000 <= _HIGHEST and units == int(units)):
            return int(units)
    except ArithmeticError:  # not a number
        pass
    form = "percentages such as 8.25" if percent else "fractions such as 0.0825"
    raise ValueError(
        f"rate: given {text[:20]!r}, expected {form} throughout, of 0.5% to 20%, with at most"
        " five decimals as a fraction"
    )
