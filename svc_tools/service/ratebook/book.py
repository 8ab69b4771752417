"""The book in memory: read once, never changed, indexed for lookups."""

from __future__ import annotations

import gc
import hashlib
from collections import defaultdict
from copy import copy
from functools import lru_cache
from importlib import metadata, resources
from typing import TYPE_CHECKING, TypeVar

from svc_tools.service.ratebook.freshness import freshness_report
from svc_tools.service.ratebook.schema import (
    TABLES,
    Area,
    County,
    Jurisdiction,
    RateRow,
    Setting,
    Source,
    StateRow,
    ZipCounties,
    read_rows,
)
from svc_tools.service.ratebook.zips import ZipIndex

if TYPE_CHECKING:
    from collections.abc import Mapping
    from importlib.resources.abc import Traversable
    from pathlib import Path

    from svc_tools.service.ratebook.imports.database import Edition


_GEOGRAPHY = ("zipcodes", "bokeh_sampledata")
_SCHEMA = "1"
_Row = TypeVar("_Row")


class Book:
    """A compiled rate book, read and indexed. Treat it as immutable.

    Attributes:
        digest: sha256 in hex of the book's files and of the versions of the packages its
            geography comes from: equal digests give equal answers, so caches can key on it.
        edition: name of the compiled book, such as `2026-11-21`.
        loaded_at: the day its sources were loaded, as ISO text.
        states: what the book claims for each state, by code.
        sources: where rows come from, by id.
        counties: every county by (state, three-digit FIPS code).
        jurisdictions: who levies rates, by id.
        areas: the pieces of map it tells apart, by id.
        rates: the rate rows of each jurisdiction, the oldest first.
        county_areas: the areas in a county, the first in rank first.
        zips: every ZIP, its place and its counties.
        own_editions: the user's own files it holds, by state and kind; none in a shipped book.
        own_path: the database of those; `None` without any.
        own_zips: the ZIPs that a record of the user's own boundary file of a state holds in the
            quarter of the file, as ranges of first and last, by state.
        memo: answers to internal questions that depend on the book alone; owned by the modules
            that fill it, safe to drop.
    """

    __slots__ = (
        "areas",
        "counties",
        "county_areas",
        "digest",
        "edition",
        "jurisdictions",
        "loaded_at",
        "memo",
        "own_editions",
        "own_path",
        "own_zips",
        "rates",
        "sources",
        "states",
        "zips",
    )

    def __init__(self, files: Mapping[str, bytes]) -> None:
        """Read a book from its files' bytes.

        Raises:
            ValueError: a file does not hold what the schema says, or is of another schema.
        """
        settings = {row.name: row.value for row in _rows(files, "book.csv", Setting)}
        if settings.get("schema") != _SCHEMA:
            raise ValueError(
                f"book.csv: schema {settings.get('schema')!r}, expected {_SCHEMA!r}:"
                " compile the book again with this version"
            )
        self.edition: str = settings["edition"]
        self.loaded_at: str = settings["loaded_at"]
        self.digest: str = _digest(files)
        self.states: Mapping[str, StateRow] = {
            row.state: row for row in _rows(files, "states.csv", StateRow)
        }
        self.sources: Mapping[str, Source] = {
            row.id: row for row in _rows(files, "sources.csv", Source)
        }
        self.counties: Mapping[tuple[str, str], County] = {
            (row.state, row.fips): row for row in _rows(files, "counties.csv", County)
        }
        self.jurisdictions: Mapping[str, Jurisdiction] = {
            row.id: row for row in _rows(files, "jurisdictions.csv", Jurisdiction)
        }
        self.areas: Mapping[str, Area] = {row.id: row for row in _rows(files, "areas.csv", Area)}
        self.rates: Mapping[str, tuple[RateRow, ...]] = _by_jurisdiction(
            _rows(files, "rates.csv", RateRow)
        )
        self.zips = ZipIndex(self.counties.values(), _rows(files, "zip_counties.csv", ZipCounties))
        self.own_editions: tuple[Edition, ...] = ()
        self.own_path: Path | None = None
        self.own_zips: Mapping[str, tuple[tuple[int, int], ...]] = {}
        self.county_areas: Mapping[tuple[str, str], tuple[Area, ...]]
        self.memo: dict[object, object]
        self.index()

    def copy(self) -> Book:
        """Another book of the same rows, for whoever lays other rows over it and indexes it."""
        return copy(self)

    def index(self) -> None:
        """Index the areas anew and forget what was remembered of other rows."""
        self.county_areas = _by_county(self.areas)
        self.memo = {}

    def freshness(self) -> dict[str, object]:
        """How old and how complete the book is, state by state: JSON for `GET /v1/freshness`."""
        return freshness_report(self)


def _rows(files: Mapping[str, bytes], name: str, row_class: type[_Row]) -> list[_Row]:
    return read_rows(files[name].decode("utf-8"), row_class, name)


def _digest(files: Mapping[str, bytes]) -> str:
    whole = hashlib.sha256()
    for name in TABLES:
        whole.update(hashlib.sha256(files[name]).digest())
    for package in _GEOGRAPHY:
        whole.update(f"{package}=={metadata.version(package)}\n".encode())
    return whole.hexdigest()


def _by_jurisdiction(rows: list[RateRow]) -> dict[str, tuple[RateRow, ...]]:
    found: dict[str, list[RateRow]] = defaultdict(list)
    for row in rows:
        found[row.jurisdiction].append(row)
    return {
        key: tuple(sorted(group, key=lambda row: str(row.begin or "")))
        for key, group in found.items()
    }


def _by_county(areas: Mapping[str, Area]) -> dict[tuple[str, str], tuple[Area, ...]]:
    found: dict[tuple[str, str], list[Area]] = defaultdict(list)
    for area in areas.values():
        for fips in area.counties:
            found[area.state, fips].append(area)
    return {
        key: tuple(sorted(group, key=lambda area: (area.rank, area.id)))
        for key, group in found.items()
    }


@lru_cache(maxsize=8)
def compiled_book(path: Path | None) -> Book:
    """The book compiled to a folder (`None`: the shipped one), read once in a process.

    Raises:
        FileNotFoundError: a file of the book is not in the folder.
        ValueError: a file does not hold what the schema says.
    """
    folder: Traversable = (
        path if path is not None else resources.files(__package__).joinpath("data")
    )
    files = {}
    for name in TABLES:
        file = folder.joinpath(name)
        if not file.is_file():
            raise FileNotFoundError(
                f"{name} is not in {folder}: expected a folder that a book was compiled to"
            )
        files[name] = file.read_bytes()
    collecting = gc.isenabled()
    gc.disable()  # a hundred thousand rows that all stay: nothing to collect while they are made
    try:
        return Book(files)
    finally:
        if collecting:
            gc.enable()
