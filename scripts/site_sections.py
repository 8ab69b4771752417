"""Sections of the documentation site that are written from the code when it is built.

A page has `<!-- generated: NAME -->` where the section of that name belongs. A picture whose name
ends in `_light_wide` becomes four; the site shows the one for the theme and width of the reader.
"""

from __future__ import annotations

import re
from itertools import product
from typing import TYPE_CHECKING, Any

import typer

from svc_tools.cli.app import app
from svc_tools.excel.registry import EXAMPLES, FUNCTIONS, formula
from svc_tools.show import codes
from svc_tools.tables.exports import EXPORTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from svc_tools.tables.exports import Sum

PAGES = (
    "svc_tools/service/ratebook/data/SOURCES.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
)
"""The pages outside of the folders of the documentation."""

_PLACE = re.compile(r"^<!-- generated: ([a-z ]+) -->$", re.MULTILINE)

_PICTURE = re.compile(r"^!\[([^\]]+)\]\((\w+)_light_wide\.png\)$", re.MULTILINE)

_FILE = re.compile(r"\[([A-Z]+)\.md\]\(")


def filled(page: str) -> str:
    """A page with its generated sections; links to files have the names of their pages.

    Raises:
        KeyError: there is no section of that name.
    """
    page = _PLACE.sub(lambda found: "\n".join(_SECTIONS[found[1]]()), page)
    page = _PICTURE.sub(lambda found: "\n".join(_pictures(found[1], found[2])), page)
    return _FILE.sub(lambda found: f"[{found[1].capitalize()}](", page)


def _pictures(described: str, name: str) -> Iterator[str]:
    for theme, width in product(("light", "dark"), ("wide", "narrow")):
        yield f"```{{image}} {name}_{theme}_{width}.png"
        yield f":alt: {described}"
        yield f":class: only-{theme} {width}"
        yield ":loading: lazy"
        yield "```"


def _table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    yield ""
    yield f"| {' | '.join(heads)} |"
    yield re.sub(r"[^|]+", " --- ", f"|{'|'.join(heads)}|")
    for row in rows:
        cells = (" ".join(cell.split()).replace("|", r"\|") for cell in row)
        yield f"| {' | '.join(cells)} |"
    yield ""


_KINDS: dict[codes.CodeKind, str] = {
    "status": "Statuses of a row: `lookup_status`",
    "review": "Reasons to review a row: `lookup_review_reason`",
    "warning": "Warnings that flag no row",
    "mark": "Why a review lists a row that the lookup did not mark",
    "confidence": "Confidence in a rate",
    "via": "What decided the rate: `resolved_via`",
    "basis": "What the date of a rate rests on: `effective_date_basis`",
    "use": "What a row can be used for: `split()`",
    "tax_review": "Reasons to review a tax: `tax_review`",
    "tax_due": "Whether the tax is yours to remit: `tax_due_reason`",
    "compared": "What a reconciliation finds: `difference_reason`",
    "stake": "What the dollars of a review are: `review_basis`",
    "error": "Errors of the service",
}


def _confidence() -> Iterator[str]:
    yield from _table(
        ("Confidence", "Meaning"),
        ((f"`{code}`", codes.CODES[code].meaning) for code in codes.codes_of("confidence")),
    )


def _codes() -> Iterator[str]:
    for kind, title in _KINDS.items():
        rows = {code: codes.CODES[code] for code in codes.codes_of(kind)}
        with_why = any(row.why for row in rows.values())
        with_to_do = any(row.to_do for row in rows.values())
        yield f"## {title}"
        heads = ["Code", "Meaning"]
        heads += ["Why it matters"] * with_why + ["What to do"] * with_to_do
        yield from _table(
            heads,
            (
                [f"`{code}`", row.meaning] + [row.why] * with_why + [row.to_do] * with_to_do
                for code, row in rows.items()
            ),
        )


def commands() -> Iterator[tuple[str, Any]]:
    """Every command of the command line with its whole name, a group before its commands."""
    waiting = [("svc-tools", typer.main.get_command(app))]
    while waiting:
        name, command = waiting.pop(0)
        command = command.load() if hasattr(command, "load") else command
        yield name, command
        below = getattr(command, "commands", {})
        waiting = [(f"{name} {one}", sub) for one, sub in sorted(below.items())] + waiting


def _commands() -> Iterator[str]:
    for name, command in commands():
        yield f"{'###' if name.count(' ') > 1 else '##'} `{name}`"
        yield ""
        yield f"    {name} {_usage(command)}".rstrip()
        yield ""
        # the mark keeps a paragraph as it is on a terminal
        yield _linked((command.help or "").replace("\b", ""))
        yield ""
        rows = [
            (_written(one), _linked(one.help or "") + (" Required." if one.required else ""))
            for one in command.params
            if not getattr(one, "hidden", False) and one.name != "help"
        ]
        if rows:
            yield from _table(("Argument or option", "Meaning"), rows)


def _usage(command: Any) -> str:  # noqa: ANN401 - a class of Typer's own copy of click
    given = [one for one in command.params if one.param_type_name == "argument"]
    words = [one.name.upper() + ("..." if one.nargs == -1 else "") for one in given]
    words = [word if one.required else f"[{word}]" for word, one in zip(words, given, strict=True)]
    if getattr(command, "commands", None):
        words.append("COMMAND")
    elif len(command.params) > len(given):
        words.append("[OPTIONS]")
    return " ".join(words)


def _written(one: Any) -> str:  # noqa: ANN401 - as above
    if one.param_type_name == "argument":
        return f"`{one.name.upper()}`"
    value = "" if one.is_flag or one.count else f" {(one.metavar or one.name).upper()}"
    flags = ", ".join(f"`{flag}{value}`" for flag in one.opts)
    others = ", ".join(f"`{flag}`" for flag in one.secondary_opts)
    return f"{flags} / {others}" if others else flags


def _linked(text: str) -> str:
    """A text of the help with its mentions of pages as links, and no accidental Markdown."""
    text = re.sub(r"([*_<\[])", r"\\\1", text)
    return re.sub(r"docs/([A-Z_]+\.md)", r"[\1](\1)", text)


def _functions() -> Iterator[str]:
    for one in FUNCTIONS:
        yield f"## `{one.name}`"
        yield ""
        yield f"    ={one.signature}"
        yield ""
        yield f"{one.help} For example `{formula(one.name, EXAMPLES[one.name])}`."
        if one.parameters:
            yield from _table(
                ("Argument", "What to give"),
                (
                    (f"`{each.name}`" + (" (optional)" if each.optional else ""), each.help)
                    for each in one.parameters
                ),
            )
        yield ""


def _shops() -> Iterator[str]:
    for one in EXPORTS:
        day = " or ".join(f"`{name}`" for name in one.columns["as_of"])
        known = ", ".join(f"`{name}`" for name in one.known_by)
        yield f"## {one.name}"
        yield ""
        yield f"- **Recognized by** the columns {known}."
        yield f"- **Date of the sale**: {day}{_ZONES[one.zone]}."
        yield f"- **Amount**: {_in_words(one.amount[0])}: {one.amounts}."
        if one.shipping:
            yield f"- **Delivery**: {_in_words(one.shipping[0])}."
        for column, words in one.sale.items():
            sold, back = (", ".join(some) for some in (words, one.refund.get(column, ())))
            yield f"- **Sales** are rows whose `{column}` is one of: {sold}. **Refunds**: {back}."
        if taxable := one.lines.taxable:
            yield f"- **Lines that are not taxable** are marked in `{taxable[0]}`."
        if one.marketplace:
            yield "- **Who remits**: the marketplace. The tax is computed; none is due from you."
        if one.seen:
            yield f"- **Seen in**: {one.seen}."
        yield ""
        yield one.note
        yield ""


def _in_words(one: Sum) -> str:
    plus = " + ".join(f"`{name}`" for name in one.plus)
    return plus + "".join(f" - `{name}`" for name in one.minus)


_ZONES = {
    "UTC": ", in UTC: set your own zone with `--tz America/Chicago`, or `SVC_TZ` once",
    "offset": ", as written with its offset",
    "seller": ", in your own time zone",
}

_SECTIONS: dict[str, Callable[[], Iterator[str]]] = {
    "codes": _codes,
    "confidence": _confidence,
    "commands": _commands,
    "functions": _functions,
    "shops": _shops,
}
