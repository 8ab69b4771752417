"""Options that answer what a sales file leaves open about its amounts, as commands read them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from svc_tools.lookup.options import PARTS

if TYPE_CHECKING:
    from collections.abc import Collection

ANSWERS = {
    "parts": "--part",
    "contains_tax True": "--contains-tax yes",
    "contains_tax False": "--contains-tax no",
    "contains_shipping True": "--contains-shipping yes",
    "contains_shipping False": "--contains-shipping no",
}
"""The option of each argument, with its value where that is another text."""


def in_python(named: dict[str, Any]) -> dict[str, Any]:
    """The options as the arguments of Python: yes and no as truth values, parts by their columns.

    Raises:
        ValueError: one has another value than is expected.
    """
    read = dict(named)
    for name in ("contains_tax", "contains_shipping"):
        if name in named:
            read[name] = _yes_or_no(f"--{name.replace('_', '-')}", named[name])
    if "part" in read:
        read["parts"] = dict(map(_part, read.pop("part")))
    return read


def refuse_both(named: Collection[str], left_out: Collection[str]) -> None:
    """Refuse a column that is named and left out in one command."""
    for name in left_out:
        if name in named:
            option = name.replace("_", "-")
            raise ValueError(f"--{option} and --without {option}: leave one of them out")


def _yes_or_no(option: str, given: str) -> bool:
    if given not in {"yes", "no"}:
        raise ValueError(f"{option}: given {given!r}, expected yes or no")
    return given == "yes"


def _part(given: str) -> tuple[str, str]:
    """A column, whose name may have "=" in it, and what it is."""
    label, _, what = given.rpartition("=")
    if not label or what not in PARTS:
        *most, last = PARTS
        raise ValueError(
            f"--part: given {given!r}, expected a column, = and one of {', '.join(most)} or {last},"
            ' as "Service Fee=untaxed"'
        )
    return label, what
