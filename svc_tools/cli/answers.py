"""The table of options as commands show it, and read what was given."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from svc_tools.lookup.options import MONEY_PARTS, flag_of, in_order, names_in, option_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from dataclasses import Field

    from svc_tools.lookup.options import MoneyPart, Option, WrittenAs

_WORDS = {"yes": True, "no": False}


def answers(kind: type) -> dict[str, str]:
    """The option of each argument that has another name, or a word for its value."""
    rows = option_rows(kind)
    flags = {name: row.flag for name, row in rows.items() if row.flag}
    words = [name for name, row in rows.items() if row.form == "yes or no"]
    return flags | {
        f"{name} {value}": f"{flag_of(name, rows[name])} {word}"
        for name in words
        for word, value in _WORDS.items()
    }


def parameters(*kinds: type) -> dict[str, inspect.Parameter]:
    """The rows of these classes that a command has, as Typer reads them, by name and in order."""
    rows = {entry: entry.metadata["option"] for entry in in_order(*kinds)}
    shown = [entry for entry, row in rows.items() if row.group and "command" not in row.not_on]
    return {entry.name: _parameter(entry) for entry in shown}


def _parameter(entry: Field[Any]) -> inspect.Parameter:
    """An option of a command as Typer reads it."""
    row: Option = entry.metadata["option"]
    flag = flag_of(entry.name, row)
    shown = typer.Option(
        *([flag] if row.flag or entry.default is False else []),  # Typer adds --no-… of its own
        help=row.help,
        rich_help_panel=row.group,
        min=row.least,
        hidden=row.hidden,
    )
    return inspect.Parameter(
        flag.removeprefix("--").replace("-", "_"),
        inspect.Parameter.KEYWORD_ONLY,
        default=None if type(None) in get_args(row.kind) else entry.default,
        annotation=Annotated[row.kind, shown],
    )


def in_python(kind: type, given: Mapping[str, Any]) -> dict[str, Any]:
    """Those options that are of this class, as the arguments of Python.

    Names stand in a list, yes and no are truth values, and parts stand by their columns.

    Raises:
        ValueError: one has another value than is expected.
    """
    rows = option_rows(kind)
    return {
        name: _READ[rows[name].form](flag_of(name, rows[name]), value)
        for name, value in given.items()
        if name in rows and rows[name].group
    }


def optional_columns(kind: type) -> list[str]:
    """The options of a class that `--without` leaves out; `once` may be several columns."""
    optional = [name for name, row in option_rows(kind).items() if "optional" in row.says]
    return sorted(optional, key="once".__eq__)


def refuse_both(named: Collection[str], left_out: Collection[str]) -> None:
    """Refuse a column that is named and left out in one command."""
    for name in left_out:
        if name in named:
            option = name.replace("_", "-")
            raise ValueError(f"--{option} and --without {option}: leave one of them out")


def _yes_or_no(option: str, given: str) -> bool:
    if given not in _WORDS:
        raise ValueError(f"{option}: given {given!r}, expected yes or no")
    return _WORDS[given]


def _parts(option: str, given: Iterable[str]) -> dict[str, MoneyPart]:
    """Columns, whose names may have "=" in them, and what each is."""
    parts: dict[str, MoneyPart] = {}
    for text in given:
        label, _, what = text.rpartition("=")
        if not label or what not in MONEY_PARTS:
            *most, last = MONEY_PARTS
            raise ValueError(
                f"{option}: given {text!r}, expected a column, = and one of {', '.join(most)} or"
                f' {last}, as "Service Fee=untaxed"'
            )
        parts[label] = what
    return parts


_READ: dict[WrittenAs, Callable[[str, Any], object]] = {
    "": lambda _option, given: given,
    "names": lambda _option, given: names_in(given),
    "yes or no": _yes_or_no,
    "parts": _parts,
}
"""Reads the text of an option, by the form in which it is written."""
