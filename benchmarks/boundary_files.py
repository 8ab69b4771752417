"""SST boundary files: single lines, and files of any size in the forms of a real one."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

RATES = """\
27,45,27,0.06875,0.06875,0.06875,0.06875,20090701,29991231
27,00,053,0.0015,0.0015,0.0015,0.0015,20070101,29991231
27,00,037,0.0025,0.0025,,,20171001,29991231
27,01,43000,0.0050,0.0050,0.0050,0.0050,20051001,29991231
27,01,58000,0.0050,0.0050,0.0050,0.0050,20051001,20240331
27,01,58000,0.0150,0.0150,0.0150,0.0150,20240401,29991231
27,01,17000,0.0100,0.0100,0.0100,0.0100,20051001,20230630
27,63,80004,0.0050,0.0050,0.0050,0.0050,20171001,29991231
27,63,80008,0.0075,0.0075,0.0075,0.0075,20231001,29991231
27,63,80009,0.0025,0.0025,0.0025,0.0025,20231001,29991231
"""
"""Rows of a real rate file of Minnesota: its state, two counties, cities and districts."""

METRO = ("80004", "80008", "80009")
MINNEAPOLIS = {"county": "053", "place": "43000", "specials": METRO}
"""What adds up to 9.025% since 2023-10-01."""


def line(
    kind: str,
    *,
    begins: str = "20160101",
    ends: str = "29991231",
    zips: str = "",
    plus4: str = "",
    numbers: str = "",
    side: str = "B",
    street: str = "",
    unit: str = "",
    zip5: str = "",
    state: str = "27",
    indicator: str | None = None,
    county: str = "",
    place: str = "",
    specials: Iterable[str] = (),
    columns: int = 89,
) -> str:
    """One line. Ranges are written `low-high`; a street `N|MAIN|ST|`, a unit `APT|1-20|B`."""
    fields = [""] * columns
    fields[0:3] = kind, begins, ends
    fields[22:26] = state, state if indicator is None else indicator, county, place
    if zips:
        fields[17], fields[19] = _ends(zips)
    if plus4:
        fields[18], fields[20] = _ends(plus4)
    if numbers:
        fields[3], fields[4] = _ends(numbers)
        fields[5] = side
    if street:
        fields[6:10] = street.split("|")
    if unit:
        fields[10], both, fields[13] = unit.split("|")
        fields[11], fields[12] = _ends(both)
    fields[15] = zip5
    for number, special in enumerate(specials):
        authority, _, code = special.rpartition(":")
        fields[29 + 3 * number : 32 + 3 * number] = "ST", code, authority or "63"
    return ",".join(fields) + "\n"


def _ends(span: str) -> tuple[str, str]:
    low, _, high = span.partition("-")
    return low, high or low


_FIRST_ZIP, _ZIPS = 55001, 1750
_STREETS = ("MAIN|ST|", "OAK|AVE|", "1ST|AVE|S", "LAKE|DR|", "COUNTY ROAD 9||", "RIVER|RD|N")
_PLACES: tuple[dict[str, object], ...] = (
    {},
    MINNEAPOLIS,
    {"county": "053", "specials": METRO},
    {"county": "037"},
    {"county": "123", "place": "58000", "specials": METRO},
    {"county": "137", "place": "17000"},
)
_ENDED = {"begins": "20161001", "ends": "20190331"}


def generated_lines(rows: int) -> Iterator[str]:
    """As many lines as asked for, always the same: 1% `Z`, 60% `4`, the rest `A` records.

    One record in eight has ended, as in a real file, which keeps its history.
    """
    whole = max(rows // 100, 1)
    ranges = rows * 6 // 10
    for number in range(rows):
        span = _ENDED if number % 8 == 0 else {}
        if number < whole:
            zip5 = _FIRST_ZIP + number % _ZIPS
            place = _PLACES[number % 5 % len(_PLACES)]
            yield line("z", zips=f"{zip5}", **span, **place)  # type: ignore[arg-type]
        elif number < whole + ranges:
            at, step = _share(number - whole, ranges)
            low = 1 + step * 9998 // (ranges // _ZIPS + 1)
            high = low + 9998 // (ranges // _ZIPS + 1) - 1
            place = _PLACES[(at + step // 7) % len(_PLACES)]
            yield line(
                "4",
                zips=f"{_FIRST_ZIP + at}",
                plus4=f"{low:04}-{max(low, high):04}",
                **span,  # type: ignore[arg-type]
                **place,  # type: ignore[arg-type]
            )
        else:
            at, step = _share(number - whole - ranges, rows - whole - ranges)
            low = 100 * (step // len(_STREETS) // 2) + 1
            yield line(
                "A",
                zip5=f"{_FIRST_ZIP + at}",
                street=f"|{_STREETS[step % len(_STREETS)]}",
                numbers=f"{low}-{low + 98}",
                side="O" if step // len(_STREETS) % 2 else "E",
                **span,  # type: ignore[arg-type]
                **_PLACES[(at + step // 9) % len(_PLACES)],  # type: ignore[arg-type]
            )


def _share(number: int, total: int) -> tuple[int, int]:
    """Which ZIP a row goes to, and how many rows of it came before."""
    each = total // _ZIPS + 1
    return number // each, number % each


def write_boundary_file(path: Path, rows: int, *, quoted: bool = False) -> Path:
    """Write a generated file; `quoted` makes it as large as the largest real ones."""
    with path.open("w", encoding="ascii", newline="") as file:
        for text in generated_lines(rows):
            if quoted:
                fields = text.rstrip("\n").split(",")
                text = ",".join(f'"{field.ljust(3)}"' for field in fields) + "\r\n"  # noqa: PLW2901
            file.write(text)
    return path
