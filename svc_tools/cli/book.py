"""`svc-tools book ...`: the rate book of the embedded service."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - Typer reads the annotations
from shutil import get_terminal_size
from typing import Annotated

import typer

from svc_tools.cli.book_import import import_files, list_editions, remove_state
from svc_tools.cli.check import check_book
from svc_tools.cli.coverage import show_coverage
from svc_tools.cli.running import admin, explained

__all__ = ["book"]

book = typer.Typer(no_args_is_help=True, help="The rate book of the embedded service.")
book.command("check")(check_book)
book.command("coverage")(show_coverage)
book.command("import")(import_files)
book.command("list")(list_editions)
book.command("remove")(remove_state)


@book.command("compile")
def compile_book(
    source: Annotated[Path, typer.Argument(help="Folder of published rate files.")],
    output: Annotated[Path, typer.Option(help="Folder for the compiled book.")],
    everything: Annotated[bool, typer.Option("--all", help="Cut no list of findings.")] = False,  # noqa: FBT002 - a flag
) -> None:
    """Compile published rate files into a rate book, and say what was left out and why."""
    with explained():
        report = admin().compile_book(source, output)
        width = get_terminal_size().columns
        typer.echo(report.render(everything=everything, width=width), nl=False)
