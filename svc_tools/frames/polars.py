"""`df.svc` of a polars frame: lookups, tax and review, computed as in `df.svc`, through Arrow.

Your own columns are never converted back. `import svc_tools` makes `df.svc` available where polars
is loaded, before or after it; this module is loaded when that is first used.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Unpack, overload

from svc_tools.base.extras import needs

with needs("df.svc", "polars"):
    import polars as pl
import pyarrow as pa

from svc_tools.frames.accessor import SvcAccessor
from svc_tools.frames.added.names import columns_of_lookups
from svc_tools.frames.lookup.enrich import LookupFailedError
from svc_tools.frames.options import (
    LookupArguments,
    LookupOptions,
    TaxArguments,
    TaxOptions,
    takes,
)
from svc_tools.frames.review.review import REVIEW_COLUMNS
from svc_tools.frames.taxes.tax import TaxFailedError
from svc_tools.frames.values.arrow import frame_of
from svc_tools.lookup.columns import LOOKED_UP, TAXES
from svc_tools.tables.roles import ColumnError
from svc_tools.tables.tabular import Chunk

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping
    from decimal import Decimal

    import pandas as pd

    from svc_tools.frames.review.review import Review, ReviewTotals
    from svc_tools.lookup.plan import Plan


class PolarsSvcAccessor:
    """Sales-tax rates for the rows of a polars frame; arguments mean what they do in `df.svc`.

    What is not here takes a pandas frame: `df.svc.to_pandas().svc.filing("WA")`.
    """

    def __init__(self, frame: pl.DataFrame, attrs: Mapping[Hashable, object] | None = None) -> None:
        self._frame = frame
        self._attrs = dict(attrs or {})

    @overload
    def lookup(self, *, dry_run: Literal[True], **arguments: Unpack[LookupArguments]) -> Plan: ...

    @overload
    def lookup(
        self, *, dry_run: Literal[False] = False, **arguments: Unpack[LookupArguments]
    ) -> pl.DataFrame: ...

    @takes(LookupArguments, LookupOptions)
    def lookup(
        self, *, dry_run: bool = False, **arguments: Unpack[LookupArguments]
    ) -> pl.DataFrame | Plan:
        """Look up the rate of every row's place, on its date; see `df.svc.lookup`.

        Returns:
            A new frame: your columns as they are, in the same order of rows, and the added ones:
            rates as `Decimal(7, 5)`, texts as `String` or `Categorical`, days as `Date`, moments
            as `Datetime("us", "UTC")`, missing as null. With `dry_run` the `Plan`.

        Raises:
            ValueError: a column of yours has one of these names, or the arguments are ambiguous.
            TypeError: an argument is an expression or a series instead of a column's name.
            ConfigurationError: a key without an address, or an address without a key.
            LookupFailedError: with `errors="raise"`; its `frame` is the result.
        """
        if dry_run:
            return self.plan(**arguments)
        with self._in_words(arguments):
            made = self.to_pandas().svc.lookup(**arguments)
        return self._result(made, arguments.get("prefix", ""), LOOKED_UP)

    @takes(LookupArguments, LookupOptions)
    def plan(
        self, *, price: str | Decimal | None = None, **arguments: Unpack[LookupArguments]
    ) -> Plan:
        """Plan a `lookup` with these arguments: nothing is requested; see `df.svc.plan`."""
        with self._in_words(arguments):
            made: Plan = self.to_pandas().svc.plan(price=price, **arguments)
        return made

    @takes(TaxArguments, TaxOptions)
    def tax(
        self,
        amount: Hashable | None = None,
        *,
        progress: bool = True,
        **arguments: Unpack[TaxArguments],
    ) -> pl.DataFrame:
        """Add the tax at the destination, exact to the cent; see `df.svc.tax`.

        `nexus` may be a polars frame, too.

        Returns:
            A new frame: your columns as they are, and those of the tax, money as `Decimal(18, 2)`.

        Raises:
            ValueError: the frame has not been looked up, a column is missing, or an argument is
                neither a column nor a valid value.
            TypeError: an argument is an expression or a series, or amounts are truth values.
            RegisterError: the registrations cannot be read; it lists every invalid record.
            TaxFailedError: with `errors="raise"`; its `frame` is the result.
        """
        with self._in_words({"amount": amount, **arguments}):
            made = self.to_pandas().svc.tax(amount, progress=progress, **arguments)
        return self._result(made, arguments.get("prefix", ""), TAXES)

    def review(
        self, *, amount: Hashable | None = None, share: int = 90, prefix: str = ""
    ) -> PolarsReview:
        """List the rows that require review, the most dollars at stake first.

        See `df.svc.review`; a frame that was derived from a result in polars (`filter`, `join`)
        does not know the terms of its tax any more: name the column of `amount`.
        """
        with self._in_words({"amount": amount}):
            made = self.to_pandas().svc.review(amount=amount, share=share, prefix=prefix)
        return PolarsReview(self._frame, made)

    def to_pandas(self) -> pd.DataFrame:
        """The frame in pandas, with Arrow types and all that its lookup and tax noted.

        Raises:
            TypeError: a column holds Python objects.
        """
        for name, kind in self._frame.schema.items():
            if kind == pl.Object:
                raise TypeError(
                    f"svc: column {name!r} is of type Object, which Arrow cannot hold: cast it, for"
                    f" instance with pl.col({name!r}).cast(pl.String), or drop it"
                )
        # Arrow's null type has no values to look at, and it has no whole numbers of 128 bits
        typed = self._frame.with_columns(pl.col(pl.Null, pl.Int128).cast(pl.String))
        frame = frame_of(Chunk(typed.to_arrow()))
        frame.attrs = dict(self._attrs)
        return frame

    def __getattr__(self, name: str) -> NoReturn:
        """Say where the methods are that take a pandas frame."""
        where = ""
        if hasattr(SvcAccessor, name):
            where = f"; it takes a pandas frame: df.svc.to_pandas().svc.{name}"
        raise AttributeError(f"df.svc of polars has no {name!r}{where}")

    def _result(self, made: pd.DataFrame, prefix: str, names: Iterable[str]) -> pl.DataFrame:
        """What was computed in pandas: the columns of these names, and all others as they are."""
        ours = columns_of_lookups(made)
        added = [f"{prefix}{name}" for name in names if f"{prefix}{name}" in ours]
        result = _with_own(self._frame, made, added)
        # as polars itself stores the accessor on a frame
        result.svc = PolarsSvcAccessor(result, made.attrs)  # type: ignore[attr-defined]
        return result

    @contextmanager
    def _in_words(self, arguments: Mapping[str, object]) -> Iterator[None]:
        """Refuse expressions, and raise the errors of the block in terms of polars."""
        for name, value in arguments.items():
            if isinstance(value, pl.Expr | pl.Series):
                raise TypeError(
                    f"{name}: expected the name of a column, such as {name}='…', or one value, not"
                    f" a polars {type(value).__name__}"
                )
        try:
            yield
        except ColumnError as error:
            if error.code in _ADVICE:
                error.advice = _ADVICE[error.code].format(vars(error).get("column"))
            raise
        except (LookupFailedError, TaxFailedError) as error:
            names = TAXES if isinstance(error, TaxFailedError) else LOOKED_UP
            prefix = str(arguments.get("prefix", ""))
            error.frame = self._result(error.frame, prefix, names)  # type: ignore[assignment]
            raise


_ADVICE = {
    "flags_ambiguous": (
        "yes and no are pl.col({!r}).cast(pl.Boolean); dollars are decimals, or text such as '1.00'"
    ),
}
"""What to do about errors of columns, where df.svc says it in terms of pandas."""


class PolarsLazySvcAccessor:
    """A `LazyFrame` has no rows to look up."""

    def __init__(self, _frame: pl.LazyFrame) -> None:
        raise TypeError(
            "svc: a LazyFrame has no rows yet, and a lookup sends requests for them: collect it"
            " first: lf.collect().svc.lookup()"
        )


class PolarsReview:
    """The rows that require review, by dollars at stake: `Review` with polars frames.

    Attributes:
        rows: those rows of the frame, the most dollars first, with the columns of the review.
        by_state: the same by state and most urgent reason.
        groups: the same by place and reasons, numbered in `review_group`.
        totals: see `ReviewTotals`.
        sentence: how few rows account for most of the dollars at stake.
        notes: what has changed in the frame since its tax was computed, in sentences.
        not_due: the rows of which no tax is due from the seller, by reason; they are not listed.
    """

    def __init__(self, frame: pl.DataFrame, made: Review) -> None:
        self._made = made
        added = [f"{made.prefix}{name}" for name in REVIEW_COLUMNS]
        self.rows = _with_own(frame[made.rows.index.to_list()], made.rows, added)
        self.by_state = _of_pandas(made.by_state)
        self.groups = _of_pandas(made.groups.reset_index())
        self.totals: ReviewTotals = made.totals
        self.sentence = made.sentence
        self.notes = made.notes
        self.not_due = made.not_due

    def __str__(self) -> str:
        """The review as text: the sentence, reasons, places, rows."""
        return str(self._made)

    def __repr__(self) -> str:
        """One line: the sentence."""
        return repr(self._made)

    def _repr_html_(self) -> str:
        return self._made._repr_html_()


def _with_own(frame: pl.DataFrame, made: pd.DataFrame, added: list[str]) -> pl.DataFrame:
    """The columns of `made`, of which those that were not added are the frame's own."""
    names = [str(name) for name in made.columns]
    ours = {*added}
    fresh = _of_pandas(made[[name for name in names if name in ours or name not in frame.columns]])
    return pl.DataFrame([fresh[name] if name in fresh.columns else frame[name] for name in names])


def _of_pandas(frame: pd.DataFrame) -> pl.DataFrame:
    """Columns of pandas as they are in Arrow; NaN is null."""
    columns: dict[str, Any] = {
        str(name): pa.array(column, from_pandas=True) for name, column in frame.items()
    }
    made = pl.from_arrow(pa.table(columns))
    if not isinstance(made, pl.DataFrame):  # a table never becomes a series
        raise TypeError(f"expected a polars.DataFrame, not {type(made).__name__}")
    return made
