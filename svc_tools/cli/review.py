"""`svc-tools review`: the rows of a file that require review, the most dollars first."""

from __future__ import annotations

from functools import partial
from pathlib import Path  # noqa: TC003 - Typer reads the annotations
from typing import TYPE_CHECKING, Annotated, Any

import typer

from svc_tools.cli.common import Service, explained, grouped
from svc_tools.cli.enriched import (
    CONTINUED,
    EXPLAINED,
    Output,
    Untaxed,
    checked_output,
    opened,
    options_of,
    require_column,
    show_figures,
    write_rows,
)
from svc_tools.show.display import counted

if TYPE_CHECKING:
    from collections.abc import Hashable

    from svc_tools.cli.enriched import Rows
    from svc_tools.frames.review.review import Review


@partial(grouped, given=options_of(Untaxed))
def review(
    source: Annotated[Path, typer.Argument(help="A .csv, .tsv, .xlsx or .parquet file.")],
    output: Output = None,
    *,
    amount: Annotated[
        str | None, typer.Option(help="Column of amounts, else that of the tax.")
    ] = None,
    share: Annotated[
        int, typer.Option(min=1, max=100, help="Percent of the dollars to report on.")
    ] = 90,
    given: dict[str, Any],
    service: Service,
) -> None:
    """List the rows of a file that require review, the most dollars first.

    A file that svc-tools enrich or df.svc has written is read as it is, and
    nothing is requested. Any other is enriched first, with the options of
    svc-tools enrich; its rows are not written. The figures are those of
    df.svc.review() (docs/RECONCILE.md). With --output the rows that require
    review are written, whole or not at all.

    Exit codes:

    0 the review is whole, whatever it lists

    1 a file was enriched first, and some rows have no outcome: the service
    failed, or the run ended early (key, quota, deadline)

    2 the command or a file is not usable, or no row of it

    130 interrupted (143 by SIGTERM, 129 by SIGHUP)
    """
    options = dict(EXPLAINED)
    with explained(options=options, interrupted=CONTINUED):
        from svc_tools.frames.accessor import SvcAccessor  # noqa: PLC0415 - loads pandas
        from svc_tools.frames.review.review import REVIEW_COLUMNS  # noqa: PLC0415 - as above

        kind = checked_output(output, source, force=given["force"])
        ready = partial(_check_amount, amount)
        rows = opened(source, given, service, ready=ready, needs_tax=False)
        options["amount"] = "--amount"  # what is open from here on is not that of the tax
        answers = rows.answers if rows.run is None or amount is not None else {}
        made = SvcAccessor(rows.frame).review(
            amount=amount, share=share, prefix=rows.file.prefix, **answers
        )
        lines = _on_amounts(rows, made, amount)
        numbers = [] if amount is None else [amount]
        written = write_rows(rows, made.rows, output, kind, made=REVIEW_COLUMNS, numbers=numbers)
    show_figures(rows, made, made.parts(), written=written, given=given, lines=lines)
    raise typer.Exit(rows.exit_code)


def _check_amount(amount: str | None, labels: list[Hashable]) -> None:
    if amount is not None:
        require_column("--amount", amount, labels)


def _on_amounts(rows: Rows, made: Review, amount: str | None) -> list[str]:
    """What is not known of the amounts, where a figure rests on them."""
    from svc_tools.frames.added.enriched import Enriched  # noqa: PLC0415 - loads pandas
    from svc_tools.frames.taxes.taxed_rows import amount_label  # noqa: PLC0415 - as above

    totals, lines = made.totals, []
    unknown = amount is None and amount_label(Enriched(rows.frame, rows.file.prefix), None) is None
    if unknown and totals.unknown_rows:
        lines.append(
            f"Which column holds the amounts is not known: name it with --amount, for the dollars"
            f" of {counted(totals.unknown_rows, 'row')}."
        )
    if totals.estimated and not rows.file.remembers:
        delivery = f"{rows.file.prefix}sale_shipping" in rows.frame.columns
        lacks = "" if delivery else "lack the delivery, and "
        lines.append(f"Estimates {lacks}include exempt sales: the file does not say which.")
    return lines
