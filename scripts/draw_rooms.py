"""Draw the rooms of the project, from its imports: the pictures of CONTRIBUTING.md.

    python -m scripts.draw_rooms            draws docs/rooms.svg and docs/rooms_frames.svg

A room stands above all that it imports. Of the arrows, only those are drawn that do not follow from
others: `cli` imports `base` too, by way of `frames`. Run it after a change of the layers.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING

import grimp

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

DOCS = Path(__file__).parents[1] / "docs"
_WIDE, _HIGH, _PASSAGE, _GAP, _FLOOR, _EDGE = 150, 44, 12, 26, 86, 24
_SWEEPS = 12
_INK, _LINE, _BOX, _DOOR = "#1f2937", "#64748b", "#e0ecff", "#fff3d6"

HOUSE = {
    "cli": "the command line",
    "page": "the panel as a page",
    "widgets": "the panel",
    "excel": "spreadsheets",
    "demo": "the demo",
    "frames": "df.svc",
    "geocoding": "positions of addresses",
    "lookup": "many lookups",
    "nexus": "registrations",
    "config": "key and address",
    "tables": "tables and cells",
    "show": "how things look",
    "service": "the embedded service",
    "ratebook": "the rates",
    "base": "system, files, ports",
    "svc_sdk": "the client library",
}
"""The rooms of the house, and what each of them holds, in a few words."""
FRAMES = {
    "files": "enrich a file",
    "polars": "df.svc of polars",
    "dask": "df.svc of Dask",
    "accessor": "df.svc",
    "reports": "pages, workbooks",
    "charting": "charts",
    "analysis": "reconcile, filing",
    "review": "what rows can be used for",
    "sales": "exposure",
    "taxes": "exact tax",
    "lookup": "rows to rates",
    "options": "the arguments",
    "plain": "standard types",
    "orders": "what columns mean",
    "added": "what a frame remembers",
    "values": "exact columns",
}
"""The rooms of `svc_tools/frames`, and what each of them holds."""


def room_of_house(module: str) -> str | None:
    """The room of a module; none for the doors at the top of the package."""
    if module.startswith("svc_tools.service.ratebook"):
        return "ratebook"
    first, _, rest = module.partition(".")
    return first if first == "svc_sdk" else rest.partition(".")[0]


def room_of_frames(module: str) -> str | None:
    """The room of a module of frames; none for those of other rooms."""
    return module.removeprefix("svc_tools.frames.").partition(".")[0]


@dataclass(frozen=True)
class Plan:
    """Rooms on their floors, the ground first, and the arrows that are drawn."""

    floors: dict[str, int]
    arrows: frozenset[tuple[str, str]]


def plan_of(rooms: Mapping[str, str], room_of: Callable[[str], str | None]) -> Plan:
    """The plan of some rooms: who imports whom, lazily and for typing too."""
    graph = grimp.build_graph(
        "svc_sdk", "svc_tools", exclude_type_checking_imports=False, cache_dir=None
    )
    below: dict[str, set[str]] = {room: set() for room in rooms}
    for module in graph.modules:
        room = room_of(module)
        for imported in graph.find_modules_directly_imported_by(module):
            other = room_of(imported)
            if room in rooms and other in rooms and room != other:
                below[room].add(other)

    def height(room: str) -> int:
        return 1 + max(map(height, below[room]), default=-1)

    def reaches(room: str, goal: str) -> bool:
        return room == goal or any(reaches(other, goal) for other in below[room])

    floors = {room: height(room) for room in rooms}
    for room in sorted(rooms, key=floors.__getitem__, reverse=True):
        above = [floors[other] for other in rooms if room in below[other]]
        floors[room] = min(above) - 1 if above and floors[room] else floors[room]
    arrows = frozenset(
        (room, other)
        for room in rooms
        for other in below[room]
        if not any(reaches(way, other) for way in below[room] - {other})
    )
    return Plan(floors, arrows)


_Spot = tuple[str, ...]
"""A room, or where the arrow between two rooms passes a floor: (room, other, floor)."""


def _rows(plan: Plan) -> tuple[list[list[_Spot]], dict[tuple[str, str], list[_Spot]]]:
    """The spots of each floor, the ground first, in an order with few crossings; and each way."""
    rows: list[list[_Spot]] = [[] for _ in range(1 + max(plan.floors.values()))]
    for room, floor in plan.floors.items():
        rows[floor].append((room,))
    ways: dict[tuple[str, str], list[_Spot]] = {}
    for room, other in sorted(plan.arrows):
        between = range(plan.floors[room] - 1, plan.floors[other], -1)
        passed: list[_Spot] = [(room, other, str(floor)) for floor in between]
        for floor, spot in zip(between, passed, strict=True):
            rows[floor].append(spot)
        ways[room, other] = [(room,), *passed, (other,)]
    joined = [pair for way in ways.values() for pair in pairwise(way)]
    for _ in range(_SWEEPS):
        for floors in (range(len(rows)), range(len(rows) - 1, -1, -1)):
            for floor in floors:
                place = {spot: left + _wide(spot) / 2 for row in rows for spot, left in _lefts(row)}

                def pull(spot: _Spot, place: Mapping[_Spot, float] = place) -> float:
                    tied = [{*pair} - {spot} for pair in joined if spot in pair]
                    return mean(place[other] for (other,) in tied) if tied else place[spot]

                rows[floor].sort(key=pull)
    return rows, ways


def _wide(spot: _Spot) -> int:
    return _WIDE if len(spot) == 1 else _PASSAGE


def _lefts(row: list[_Spot]) -> list[tuple[_Spot, float]]:
    """The left end of each spot of a floor, whose middle is 0."""
    ends = [*accumulate((_wide(spot) + _GAP for spot in row), initial=0)]
    return [(spot, end - (ends[-1] - _GAP) / 2) for spot, end in zip(row, ends, strict=False)]


def drawn(rooms: Mapping[str, str], plan: Plan, title: str) -> str:
    """A plan as SVG: the highest floor on top, an arrow from each room to what it stands on."""
    rows, ways = _rows(plan)
    width = 2 * _EDGE + max(sum(map(_wide, row)) + _GAP * (len(row) - 1) for row in rows)
    height = 2 * _EDGE + (len(rows) - 1) * _FLOOR + _HIGH
    spots = {
        spot: (width / 2 + left, _EDGE + level * _FLOOR)
        for level, row in enumerate(reversed(rows))
        for spot, left in _lefts(row)
    }
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
            f' width="{width}" height="{height}" role="img" aria-label="{title}"'
            ' font-family="system-ui, sans-serif" text-anchor="middle">'
        ),
        f"<title>{title}</title>",
        (
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7"'
            f' markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z"'
            f' fill="{_LINE}"/></marker></defs>'
        ),
        f'<rect width="{width}" height="{height}" rx="10" fill="#ffffff"/>',
    ]
    for way in ways.values():
        line = ""
        for above, under in pairwise(way):
            (begin, top), (end, lower) = spots[above], spots[under]
            begin, end, top = begin + _wide(above) / 2, end + _wide(under) / 2, top + _HIGH
            middle = (top + lower) / 2
            line += (
                f"{'L' if line else 'M'}{begin:g} {top:g}"
                f"C{begin:g} {middle:g} {end:g} {middle:g} {end:g} {lower:g}"
            )
        parts.append(f'<path d="{line}" fill="none" stroke="{_LINE}" marker-end="url(#tip)"/>')
    for spot, (left, top) in spots.items():
        room = spot[0]
        middle = left + _WIDE / 2
        if len(spot) == 1:
            parts.append(
                f'<rect x="{left:g}" y="{top:g}" width="{_WIDE}" height="{_HIGH}" rx="6"'
                f' fill="{_DOOR if room == "svc_sdk" else _BOX}" stroke="{_LINE}"/>'
                f'<text x="{middle:g}" y="{top + 19:g}" font-size="14" font-weight="600"'
                f' fill="{_INK}">{room}</text>'
                f'<text x="{middle:g}" y="{top + 35:g}" font-size="11" fill="{_INK}">'
                f"{rooms[room]}</text>"
            )
    return "\n".join([*parts, "</svg>", ""])


def pictures() -> dict[str, str]:
    """The pictures by the name of their file."""
    return {
        "rooms.svg": drawn(HOUSE, plan_of(HOUSE, room_of_house), "The rooms of svc_tools"),
        "rooms_frames.svg": drawn(
            FRAMES, plan_of(FRAMES, room_of_frames), "The rooms of svc_tools/frames"
        ),
    }


def main() -> int:
    """Write the pictures."""
    for name, picture in pictures().items():
        (DOCS / name).write_text(picture, encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
