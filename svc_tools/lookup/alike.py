"""Reasons that differ only in the value that they quote, counted as one. Pure."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["counted_alike"]

_VALUE = re.compile(r"""^(\w+: )('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")""")


def counted_alike(reasons: Iterable[tuple[str, str, int]]) -> list[tuple[str, str, int]]:
    """Add up reasons that say the same of different cells; the most frequent first.

    A column of dates in another form would else be as many reasons as it has dates, each rarer
    than any other fault.

    Args:
        reasons: status, reason and rows.

    Returns:
        The same; where several were added up, the most frequent of them speaks for all and says
        how many other values there are.
    """
    rows: Counter[tuple[str, str]] = Counter()
    values: Counter[tuple[str, str]] = Counter()
    shown: dict[tuple[str, str], tuple[int, str]] = {}
    for status, reason, count in reasons:
        kind = status, _VALUE.sub(r"\1", reason)
        rows[kind] += count
        values[kind] += 1
        if kind not in shown or count > shown[kind][0]:
            shown[kind] = count, reason
    return [
        (kind[0], _with_others(shown[kind][1], values[kind] - 1), count)
        for kind, count in rows.most_common()
    ]


def _with_others(reason: str, others: int) -> str:
    if not others:
        return reason
    value = "value" if others == 1 else "values"
    return _VALUE.sub(lambda found: f"{found[0]} (and {others:,} other {value})", reason)
