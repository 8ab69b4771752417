"""From sales to exposure: of a frame, and of a file of any size."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from svc_tools.frames.files.opening import open_rows
from svc_tools.frames.notes import say
from svc_tools.frames.sales.adding import SLICE, Adding
from svc_tools.frames.sales.columns import find_sales_columns
from svc_tools.frames.sales.together import together
from svc_tools.nexus import Register, Thresholds, exposure, read_register, read_thresholds
from svc_tools.places import time_zone

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping
    from datetime import tzinfo
    from typing import TypeAlias

    from svc_tools.frames.sales.columns import SalesColumns
    from svc_tools.frames.taxes.due import Nexus

    Days: TypeAlias = tuple[date | str, date | str]
    Table: TypeAlias = Thresholds | str | Path

__all__ = ["daily_sales", "daily_sales_of_file", "exposure_of_file", "exposure_of_frame"]


def exposure_of_frame(
    frame: pd.DataFrame,
    given: Mapping[str, object],
    *,
    as_of: date | str | None,
    register: Nexus | None,
    thresholds: Table | None,
    covers: Days | None,
    tz: str | tzinfo | None,
    progress: bool,
) -> pd.DataFrame:
    """See `NexusMethods.exposure` for the meaning of the arguments."""
    terms = _terms(register, thresholds)  # a register that cannot be read is said at once
    return _exposed(daily_sales(frame, given, tz=tz), terms, as_of, covers, progress=progress)


def exposure_of_file(
    path: str | Path,
    *more: str | Path,
    amount: Hashable | None = None,
    date: Hashable | None = None,
    state: Hashable | None = None,
    channel: Hashable | None = None,
    retail: Hashable | None = None,
    taxable: Hashable | None = None,
    transaction: Hashable | None = None,
    as_of: date | str | None = None,
    register: Nexus | None = None,
    thresholds: Table | None = None,
    covers: Days | None = None,
    tz: str | tzinfo | None = None,
    sheet: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    progress: bool = True,
) -> pd.DataFrame:
    """`df.svc.exposure()` for a CSV, XLSX or Parquet file of any size: it is read in chunks.

    Args:
        path: the file.
        more: further files of the same columns, counted together with it. An order whose lines lie
            in several files counts once in each.
        amount: as in `df.svc.exposure()`, and so are the following.
        date: see there.
        state: see there.
        channel: see there.
        retail: see there.
        taxable: see there.
        transaction: see there.
        as_of: see there.
        register: see there.
        thresholds: see there.
        covers: see there.
        tz: see there.
        sheet: the name of a workbook's sheet; the first one if it is left out.
        delimiter: what separates the cells of a CSV; found if it is left out.
        encoding: the encoding of a CSV; found if it is left out.
        progress: say how the file was understood, and what was left out and why.

    Returns:
        What `df.svc.exposure()` returns.

    Raises:
        FileError: the file cannot be read.
        ValueError: as for `df.svc.exposure()`; or a file is given twice.
    """
    terms = _terms(register, thresholds)
    given = _given(amount, date, state, channel, retail, taxable, transaction)
    paths = [Path(one) for one in (path, *more)]
    twice = [one for one, times in Counter(one.resolve() for one in paths).items() if times > 1]
    if twice:
        raise ValueError(f"{twice[0].name} is given twice: its sales would count twice")
    dailies = [
        daily_sales_of_file(one, given, tz=tz, sheet=sheet, delimiter=delimiter, encoding=encoding)
        for one in paths
    ]
    return _exposed(together(dailies, paths), terms, as_of, covers, progress=progress)


def daily_sales(
    frame: pd.DataFrame, given: Mapping[str, object], *, tz: str | tzinfo | None = None
) -> pd.DataFrame:
    """The sales of a frame as totals by state, day and channel; `given` names columns by role."""
    columns = find_sales_columns(frame, given)
    narrow = frame[list(dict.fromkeys(columns.columns.values()))]
    slices = (narrow.iloc[start : start + SLICE] for start in range(0, len(narrow), SLICE))
    return _added_up(columns, slices, tz)


def daily_sales_of_file(
    path: Path,
    given: Mapping[str, object],
    *,
    tz: str | tzinfo | None = None,
    sheet: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
) -> pd.DataFrame:
    """The sales of a file as totals by state, day and channel, read chunk by chunk."""
    with closing(open_rows(path, sheet=sheet, delimiter=delimiter, encoding=encoding)) as rows:
        names = list(rows.schema.names)
        first = next(
            (chunk.frame(range(len(names))) for chunk in rows.chunks()),
            pd.DataFrame(columns=pd.Index(names, dtype=object)),
        )
        columns = find_sales_columns(first, given)
        wanted = list(dict.fromkeys(columns.columns.values()))
        positions = [names.index(str(label)) for label in wanted]

        def frames() -> Iterator[pd.DataFrame]:
            for chunk in rows.chunks(positions):
                yield chunk.frame(range(len(positions)))

        return _added_up(columns, frames(), tz, [*rows.notes])


def _added_up(
    columns: SalesColumns,
    frames: Iterable[pd.DataFrame],
    tz: str | tzinfo | None,
    notes: Iterable[str] = (),
) -> pd.DataFrame:
    adding = Adding(columns, time_zone(tz))
    for frame in frames:
        adding.take(frame)
    daily = adding.daily()
    if adding.rows and adding.left_out.total == adding.rows:
        raise ValueError("no row can be counted; " + "; ".join(adding.left_out.sentences()))
    daily.attrs["svc_sales"]["notes"] = [*notes, *daily.attrs["svc_sales"]["notes"]]
    return daily


def _given(*values: object) -> dict[str, object]:
    roles = ("amount", "date", "state", "channel", "retail", "taxable", "transaction")
    return dict(zip(roles, values, strict=True))


def _terms(register: Nexus | None, thresholds: Table | None) -> tuple[Register | None, Thresholds]:
    """The register and the thresholds, read."""
    table = thresholds if isinstance(thresholds, Thresholds) else read_thresholds(thresholds)
    if register is None or isinstance(register, Register):
        return register, table
    return read_register(register), table


def _exposed(
    daily: pd.DataFrame,
    terms: tuple[Register | None, Thresholds],
    as_of: date | str | None,
    covers: Days | None,
    *,
    progress: bool,
) -> pd.DataFrame:
    register, thresholds = terms
    day = _as_of(as_of, daily)
    result = exposure(daily, as_of=day, thresholds=thresholds, register=register, covers=covers)
    if progress:
        say(result.attrs["svc_exposure"]["notes"])
    return result


def _as_of(as_of: date | str | None, daily: pd.DataFrame) -> date:
    """The day that is asked about: as it is given, else the last day with a sale, or today."""
    today = datetime.now().astimezone().date()
    if as_of is None:
        last = daily["day"].max() if len(daily) else None
        return today if last is None else min(last.date(), today)
    if as_of == "today":
        return today
    if isinstance(as_of, str):
        try:
            return date.fromisoformat(as_of)
        except ValueError:
            raise ValueError(
                f"as_of: {as_of!r} is no date such as '2026-05-01', nor 'today'"
            ) from None
    return as_of
