"""The survey of the rows of a table: their distinct queries, and which row has which.

A frame is one chunk, a file many, and a Dask frame the distinct rows of all partitions. Whoever has
read a chunk here has read it once: what was found is later taken by the rows.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from svc_tools.frames.lookup.queries import DAY_SPAN, ParsedRows, Queries
from svc_tools.tables.dates import decide

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from svc_tools.frames.lookup.columns import Inputs
    from svc_tools.tables.dates import DateStyle, Parsed
    from svc_tools.tables.places import PlaceQuery, Refusal


class Survey:
    """The queries of all rows, chunk by chunk: `add` each, then `settle`.

    Args:
        inputs: which columns and values the queries are made of.
        every_date: the dates of each chunk, for a column that has to decide how they are read;
            `None` where the first chunk is all there is.

    Attributes:
        inputs: with what the column of dates has decided.
        rows: how many there are so far.
        whole: whether all were read.
        queries: those of all chunks, once it is settled.
        codes: for each chunk the number of the query of each row, likewise.
    """

    queries: Queries

    def __init__(
        self, inputs: Inputs, every_date: Callable[[], Iterable[Parsed]] | None = None
    ) -> None:
        self.inputs, self.rows, self.whole = inputs, 0, False
        self.codes: list[np.ndarray] = []
        self._every_date = every_date
        self._parts: list[PlaceQuery | Refusal] = []
        self._numbers: dict[PlaceQuery | Refusal, int] = {}
        self._keys: list[np.ndarray] = []
        self._rows: list[np.ndarray] = []
        self._rests: Counter[str] = Counter()

    @classmethod
    def of(cls, frame: pd.DataFrame, inputs: Inputs, weights: np.ndarray | None = None) -> Survey:
        """The survey of a whole frame.

        Args:
            frame: the rows.
            inputs: which columns and values the queries are made of.
            weights: how many rows each row stands for; one where left out.

        Raises:
            DatesAmbiguous: its dates do not decide how they are read.
        """
        survey = cls(inputs)
        survey.add(frame, weights)
        survey.settle()
        return survey

    def add(self, frame: pd.DataFrame, weights: np.ndarray | None = None) -> None:
        """Read the next chunk; `weights` as in `of`.

        Raises:
            DatesAmbiguous: the column of dates does not decide how they are read.
        """
        rows, style = ParsedRows.of(frame, self.inputs), self.inputs.style
        if rows.dates is not None and style.needs_decision(rows.dates.cells):
            every = [rows.dates.cells] if self._every_date is None else self._every_date()
            self._decided(decide(every, style))
        codes, queries = rows.queries(self.inputs)
        self._keys.append(self._part_of(queries) * DAY_SPAN + queries.days)
        self._rows.append(
            queries.rows
            if weights is None
            else np.bincount(codes, weights, len(queries.rows)).astype(np.int64)
        )
        self.codes.append(codes)
        self.rows += len(codes)
        self._rests += queries.rests

    def _part_of(self, queries: Queries) -> np.ndarray:
        """For each query of a chunk the number of its part among those of all chunks."""
        if not self._parts:  # of a frame there is only one: no part has to be compared
            self._parts = [*queries.parts]
            return queries.part_of
        if not self._numbers:
            self._numbers = {part: number for number, part in enumerate(self._parts)}
        numbers, parts = self._numbers, self._parts
        each = []
        for part in queries.parts:
            number = numbers.setdefault(part, len(parts))
            if number == len(parts):
                parts.append(part)
            each.append(number)
        return queries.of_parts(each, np.int64)

    def settle(self, *, whole: bool = True) -> None:
        """Number the queries of all chunks together; `whole` unless the reading was stopped."""
        self._decided(self.inputs.style.settled())
        numbers, uniques = pd.factorize(np.concatenate([np.empty(0, np.int64), *self._keys]))
        rows = np.zeros(len(uniques), np.int64)
        np.add.at(rows, numbers, np.concatenate([np.empty(0, np.int64), *self._rows]))
        if len(self.codes) > 1 or len(uniques) < len(numbers):
            ends = np.cumsum([len(keys) for keys in self._keys])[:-1]
            of_chunks = np.split(numbers.astype(np.min_scalar_type(len(uniques))), ends)
            pairs = zip(of_chunks, self.codes, strict=False)
            self.codes = [of.take(codes) for of, codes in pairs]
        part_of, days = np.divmod(uniques, DAY_SPAN)
        self.queries = Queries(self._parts, part_of, days, rows, self._rests)
        self._keys, self._rows, self._numbers, self.whole = [], [], {}, whole

    def codes_at(self, numbers: Sequence[int]) -> np.ndarray:
        """The number of the query of some rows, by their numbers in the table."""
        if not self.codes:  # a file without rows
            return np.zeros(0, np.int64)
        codes: np.ndarray = np.concatenate(self.codes)[[*numbers]]
        return codes

    def _decided(self, style: DateStyle) -> None:
        if style is not self.inputs.style:
            self.inputs = replace(self.inputs, style=style)
