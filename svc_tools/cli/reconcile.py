"""`svc-tools reconcile`: the tax collected in a file against the tax of its rows."""

from __future__ import annotations

from functools import partial
from pathlib import Path  # noqa: TC003 - Typer reads the annotations
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from svc_tools.cli.common import Service, explained, grouped
from svc_tools.cli.enriched import (
    CONTINUED,
    EXPLAINED,
    Output,
    checked_output,
    opened,
    options_of,
    require_column,
    show_figures,
    write_rows,
)

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from svc_tools.cli.enriched import Rows

_USUAL = "tax_collected"
"""The column of what was collected in a file that is no known export."""


@partial(grouped, given=options_of())
def reconcile(
    source: Annotated[Path, typer.Argument(help="A .csv, .tsv, .xlsx or .parquet file.")],
    output: Output = None,
    *,
    collected: Annotated[
        str | None,
        typer.Option(help="Column of the tax collected, else that of the export."),
    ] = None,
    tolerance: Annotated[
        str, typer.Option(help="Dollars of difference accepted in a row.")
    ] = "0.01",
    by: Annotated[
        list[str] | None, typer.Option(help="Column to add up by; may be repeated.")
    ] = None,
    period: Annotated[
        str | None, typer.Option(help="month, quarter or year: add up by it, too.")
    ] = None,
    date: Annotated[
        str | None, typer.Option(help="Column of dates for --period, else the day looked up.")
    ] = None,
    worst: Annotated[
        int, typer.Option(min=0, help="How many of the rows that differ most to list.")
    ] = 10,
    given: dict[str, Any],
    service: Service,
) -> None:
    """Compare the tax collected with the tax of each row of a file, exact to the cent.

    A file that svc-tools enrich or df.svc has written is read as it is, and
    nothing is requested; where it has no tax, that is computed from its
    rates. Any other is enriched first, with the options of svc-tools enrich;
    its rows are not written. The figures are those of df.svc.reconcile()
    (docs/RECONCILE.md). With --output every row is written with its
    difference, whole or not at all.

    Exit codes:

    0 the comparison is whole, whatever it shows

    1 a file was enriched first, and some rows have no outcome: the service
    failed, or the run ended early (key, quota, deadline)

    2 the command or a file is not usable, or no row of it

    130 interrupted (143 by SIGTERM, 129 by SIGHUP)
    """
    with explained(options=EXPLAINED, interrupted=CONTINUED):
        from svc_tools.frames.accessor import SvcAccessor  # noqa: PLC0415 - loads pandas
        from svc_tools.frames.analysis.reconcile import LINE_COLUMNS  # noqa: PLC0415 - as above
        from svc_tools.frames.lookup.columns import free_labels  # noqa: PLC0415 - as above

        kind = checked_output(output, source, force=given["force"])
        _check(tolerance, period, date)
        named = [*(("--by", label) for label in by or ()), *([("--date", date)] if date else [])]
        ready = partial(_check_columns, collected, named)
        rows = opened(source, given, service, ready=ready, needs_tax=True)
        label = _column(collected, free_labels(rows.frame))
        for flag, column in named:
            require_column(flag, column, [*rows.frame.columns])
        if period is not None and date is None:
            _require_days(rows)
        made = SvcAccessor(rows.frame).reconcile(
            label,
            tolerance=tolerance,
            by=[*by] if by else None,
            period=period,  # type: ignore[arg-type]  # as checked
            date=date,
            worst=worst,
            prefix=rows.file.prefix,
            tz=given.get("tz"),
            date_format=given.get("date_format"),
            **rows.answers,
        )
        written = write_rows(rows, made.lines, output, kind, made=LINE_COLUMNS, numbers=[label])
    parts = made.parts(width=Console().width, worst=worst)
    show_figures(rows, made, parts, written=written, given=given)
    raise typer.Exit(rows.exit_code)


def _check(tolerance: str, period: str | None, date: str | None) -> None:
    """Refuse values before anything is requested."""
    from typing import get_args  # noqa: PLC0415 - with the next

    from svc_tools.frames.analysis.periods import Period  # noqa: PLC0415 - loads pandas
    from svc_tools.frames.values.money import one_amount  # noqa: PLC0415 - as above

    if one_amount(tolerance, "--tolerance") < 0:
        raise ValueError(f"--tolerance: {tolerance} is negative; expected 0 dollars or more")
    if period is not None and period not in get_args(Period):
        raise ValueError(f"--period: given {period!r}, expected month, quarter or year")
    if date is not None and period is None:
        raise ValueError("--date is for --period month, quarter or year; give that too")


def _check_columns(
    collected: str | None, named: Sequence[tuple[str, str]], labels: Sequence[Hashable]
) -> None:
    """Refuse columns that the file has not, before anything is requested.

    One with the name of an added column may be there afterwards.
    """
    from svc_tools.lookup.columns import ADDED_COLUMNS  # noqa: PLC0415 - few commands read files

    _column(collected, labels)
    for flag, label in named:
        if not label.endswith(ADDED_COLUMNS):
            require_column(flag, label, labels)


def _require_days(rows: Rows) -> None:
    """Refuse periods where the lookup left out the days."""
    days = f"{rows.file.prefix}lookup_as_of"
    if days not in rows.frame.columns:
        raise ValueError(
            f"--period: {rows.name} has no column {days!r}; name a column of dates with --date"
        )


def _column(named: str | None, labels: Sequence[Hashable]) -> Hashable:
    """The column of what was collected: the one named, else that of the export, else the usual one.

    Raises:
        ColumnMissing: there is none.
    """
    from svc_tools.tables.exports import recognized  # noqa: PLC0415 - few commands read files
    from svc_tools.tables.roles import ColumnMissing  # noqa: PLC0415 - as above

    if named is not None:
        require_column("--collected", named, labels)
        return named
    export = recognized(labels)
    found = None if export is None else export.found(labels).get("collected")
    if found is None and _USUAL in labels:
        return _USUAL
    if found is None:
        raise ColumnMissing("collected", labels)
    return found
