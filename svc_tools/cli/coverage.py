"""`svc-tools book coverage`: what the rate book claims, state by state."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from svc_tools.cli.running import admin, explained
from svc_tools.printing import print_table, print_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["show_coverage"]

_COVERAGE_COLUMNS = ("State", "Tier", "Expect", "Oldest row", "All since", "Good until", ">Source")
_STYLES = {"high": "green", "medium": "yellow", "low": "red", "none": "dim"}
_TIERS = (
    ("A", "the state alone decides"),
    ("B", "the county, and the few cities and districts that add to it"),
    ("C", "the city, told by its name, else the county"),
    ("D", "counties and main cities of a transcribed table"),
    ("E", "the state part only"),
    ("none", "only the towns of one table"),
)


def show_coverage(
    as_json: Annotated[bool, typer.Option("--json", help="JSON for a program.")] = False,  # noqa: FBT002 - a flag
) -> None:
    """Show source, edition, history and expected confidence of every state, and what is missing.

    The same facts as the service's `/v1/freshness`.
    """
    with explained():
        found = admin().coverage()
    if as_json:
        typer.echo(json.dumps(found, indent=2))
        return
    _show_coverage(Console(highlight=False), found)


def _show_coverage(console: Console, found: Mapping[str, Any]) -> None:
    book, states = found["book"], found["states"]
    print_text(
        console,
        (f"Rate book {book['edition']}", "bold"),
        f": 50 states and DC, {book['jurisdictions']:,} jurisdictions,"
        f" {book['rates']:,} rates, loaded {book['loaded_at']}",
    )
    console.print()
    sources = _sources(states)
    print_table(console, _COVERAGE_COLUMNS, [_row(state, sources) for state in states])
    console.print()
    print_text(console, ("Sources, editions", "bold"))
    print_table(
        console,
        (">", "~"),
        [(str(number), text) for text, number in sources.items()],
        indent=2,
    )
    console.print()
    print_text(console, ("Tiers: what decides", "bold"))
    tiers = {state["tier"] for state in states}
    print_table(console, ("", "~"), [row for row in _TIERS if row[0] in tiers], indent=2)
    console.print()
    print_text(
        console,
        ("Expect", "bold"),
        " is the most that an address or a place gets for a day that the edition is good for; a"
        " later day, which today may be, gets one step less. All since: the day from which every"
        " rate of the state is known; before it some are, from the oldest row on.",
    )
    console.print()
    print_text(console, ("Missing", "bold"))
    for sentence, codes in _missing(states):
        print_text(console, f"{', '.join(codes)}: {sentence}", indent=2)


def _source(state: Mapping[str, Any]) -> str:
    return f"{state['source']}; {state['edition']}"


def _sources(states: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Every main source with its edition, numbered in the order the states name them."""
    return {text: number for number, text in enumerate(dict.fromkeys(map(_source, states)), 1)}


def _row(state: Mapping[str, Any], sources: Mapping[str, int]) -> tuple[str | Text, ...]:
    expect = str(state["confidence"])
    return (
        str(state["state"]),
        str(state["tier"]),
        Text(expect, _STYLES.get(expect, "")),
        str(state["oldest_row"]),
        str(state["history_from"]),
        str(state["covered_until"]),
        str(sources[_source(state)]),
    )


def _missing(states: Sequence[Mapping[str, Any]]) -> list[tuple[str, list[str]]]:
    """Every sentence about what is missing with the states it is said of, the widest first."""
    said: dict[str, list[str]] = {}
    for state in states:
        if state["missing"]:
            said.setdefault(str(state["missing"]), []).append(str(state["state"]))
    return sorted(said.items(), key=lambda item: (-len(item[1]), item[1]))
