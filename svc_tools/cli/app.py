"""The application: every command of `svc-tools`, each loaded when it is used.

A command reads its arguments, calls one function of the toolkit and shows the result.
"""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

_HELP = {
    "lookup": "Look up the rate of one place.",
    "enrich": "Add the rate and the tax to every row of a file.",
    "review": "List the rows of a file that require review, the most dollars first.",
    "reconcile": "Compare the tax collected with the tax of each row of a file, exact to the cent.",
    "panel": "Serve the panel as a page on this machine until Ctrl+C, and open the browser.",
    "serve": "Serve the embedded service until Ctrl+C.",
    "demo": "See the main job done: orders with messy places, their rates and tax, three files.",
    "book": "The rate book of the embedded service.",
    "cache": "The cached results of lookups, so that no lookup is billed twice.",
    "excel": "Rates and nexus as functions of a spreadsheet: Excel through xlwings (Windows) or a"
    " separate add-in (Windows, macOS, web), and LibreOffice Calc.",
    "keys": "API keys of the embedded service: their plans, their limits, what they used.",
    "nexus": "Your nexus records: list and add them, plan a cleanup, remove what you ticked, and"
    " undo it.",
}
"""The commands, in the order of the help, with the first sentence of each one's own help."""
_MODULES = {"panel": "programs", "serve": "programs", "demo": "programs"}
"""The modules of commands that have another name than theirs."""


class _Later(TyperCommand):
    """A command whose module is loaded when it runs, or shows its own help.

    The modules of all commands together would cost `svc-tools --help` most of a second.
    """

    def load(self) -> Any:  # noqa: ANN401 - a command of Typer, which has two classes for them
        """The command itself."""
        name = str(self.name)
        found = getattr(import_module(f"svc_tools.cli.{_MODULES.get(name, name)}"), name)
        if isinstance(found, typer.Typer):
            command: Any = typer.main.get_group(found)
        else:
            alone = typer.Typer(add_completion=False)
            alone.command(name)(found)
            command = typer.main.get_command(alone)
        command.name = name
        return command

    def make_context(self, *given: Any, **options: Any) -> Any:  # noqa: ANN401 - passed on as it is
        """The context of the command itself."""
        return self.load().make_context(*given, **options)


class _Commands(TyperGroup):
    """All commands, none of which is loaded."""

    def __init__(self, **given: Any) -> None:  # noqa: ANN401 - as above
        super().__init__(**given)
        for name, text in _HELP.items():
            self.add_command(_Later(name, help=text), name)


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="US sales-tax rates: look them up, serve them, see what the toolkit does.",
)


def _version(wanted: bool) -> None:  # noqa: FBT001 - Typer's callback signature
    if wanted:
        from svc_sdk import __version__  # noqa: PLC0415 - loads the HTTP client

        typer.echo(f"svc-tools {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """US sales-tax rates on the command line."""
