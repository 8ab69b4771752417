"""`svc-tools book ...`: the rate book of the embedded service."""

from __future__ import annotations

import typer

from svc_tools.cli.book_import import import_files, list_editions, remove_state
from svc_tools.cli.check import check_book
from svc_tools.cli.coverage import show_coverage

__all__ = ["book"]

book = typer.Typer(no_args_is_help=True, help="The rate book of the embedded service.")
book.command("check")(check_book)
book.command("coverage")(show_coverage)
book.command("import")(import_files)
book.command("list")(list_editions)
book.command("remove")(remove_state)
