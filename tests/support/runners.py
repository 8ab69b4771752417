"""The same rows by four runners: a frame, a file in chunks, a Dask frame in parts, a polars frame.

A test with the fixture `run` says what every runner gives; one with `elsewhere`, that the others
give what the frame does. The embedded service is one for a folder of tests, and `served` has the
same rates over HTTP.
"""

from __future__ import annotations

from itertools import pairwise

import pandas as pd
import pytest

import svc_tools
from support.faults import KEY
from support.frames import timeless
from svc_sdk import Svc
from svc_tools.frames import enrich_file
from svc_tools.lookup.options import OF_FILE


class Runner:
    """A lookup of rows, and their tax where there are terms of one.

    Attributes:
        size: the rows of a chunk of the file; also those of a part of Dask, where it is set.
    """

    def __init__(self, client, folder, monkeypatch):
        self.client, self.folder, self._patch = client, folder, monkeypatch
        self.size = None

    def __call__(self, frame, *, tax=None, **lookup):
        """The enriched rows as a frame of pandas."""
        given = {"client": self.client, "progress": False, **lookup}
        made = self._frame(frame).svc.lookup(**given)
        if tax is not None:
            made = made.svc.tax(progress=False, prefix=lookup.get("prefix", ""), **tax)
        return self._pandas(made)

    @staticmethod
    def _frame(frame):
        return frame

    @staticmethod
    def _pandas(made):
        return made


class Frame(Runner):
    """`df.svc` of pandas."""


class Polars(Runner):
    """`df.svc` of polars."""

    @staticmethod
    def _frame(frame):
        import polars as pl  # noqa: PLC0415 - most tests of frames do without it

        return pl.from_pandas(frame.reset_index(drop=True))

    @staticmethod
    def _pandas(made):
        return made.to_pandas(use_pyarrow_extension_array=True)


class Dask(Runner):
    """`ddf.svc`, in parts of which one is empty; what it says it will be is what it is."""

    def __call__(self, frame, *, tax=None, **lookup):
        import dask  # noqa: PLC0415 - it takes seconds, and most tests of frames do without it
        import dask.dataframe as dd  # noqa: PLC0415 - as above

        count, size = len(frame), self.size
        edges = [0, 1, 1, count // 3, 2 * count // 3, count]
        if size is not None:
            edges = [*range(0, count, size), count]
        parts = [dask.delayed(frame.iloc[start:stop]) for start, stop in pairwise(edges)]
        lazy = dd.from_delayed(parts, meta=frame.iloc[:0], verify_meta=False)
        with dask.config.set(scheduler="threads"):
            given = {"client": self.client, "progress": False, **lookup}
            made = lazy.svc.lookup(**given)
            if tax is not None:
                made = made.svc.tax(prefix=lookup.get("prefix", ""), **tax)
            found = made.compute()
        assert [*made.columns] == [*found.columns]
        return found


class File(Runner):
    """`enrich_file`, from Parquet to Parquet."""

    def __call__(self, frame, *, tax=None, **lookup):
        self._patch.setattr("svc_tools.tables.tabular._PARQUET_ROWS", self.size or 7)
        source, output = self.folder / "in.parquet", self.folder / "out.parquet"
        frame.to_parquet(source)
        own = {name: lookup.pop(name) for name in [*lookup] if name in OF_FILE}
        given = {"client": self.client, "lookup": lookup, "tax": tax, "force": True, **own}
        enrich_file(source, output, **given)
        return pd.read_parquet(output)


def _made(request):
    fixtures = (request.getfixturevalue(name) for name in ("embedded", "tmp_path", "monkeypatch"))
    return request.param(*fixtures)


RUNNERS = [Frame, File, Dask, Polars]
_NAMES = [runner.__name__.lower() for runner in RUNNERS]


@pytest.fixture(scope="session")
def embedded(_own_home):
    """The embedded service."""
    with svc_tools.connect("embedded") as client:
        yield client


@pytest.fixture
def served(service):
    """The same rates over HTTP."""
    with Svc(KEY, base_url=service) as client:
        yield client


@pytest.fixture(params=RUNNERS, ids=_NAMES)
def run(request):
    """One runner after the other."""
    return _made(request)


@pytest.fixture(params=RUNNERS[1:], ids=_NAMES[1:])
def elsewhere(request):
    """One runner after the other, but for the frame of pandas."""
    return _made(request)


@pytest.fixture
def by_frame(embedded, tmp_path, monkeypatch):
    """The frame of pandas, with which the others are compared."""
    return Frame(embedded, tmp_path, monkeypatch)


def by_rows(frame):
    """The cells as text, `None` where missing, whatever kinds of columns hold them.

    Of the moments only whether there is one: every run has its own.
    """
    columns = {}
    for name, column in timeless(frame).items():
        cells = column.astype(object).where(column.notna(), None).tolist()
        columns[name] = [None if cell is None else str(cell) for cell in cells]
    return columns
