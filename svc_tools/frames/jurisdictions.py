"""The column `lookup_jurisdictions`: the parts of a rate with their official codes, as JSON text.

A cell is a list of `{"level", "code", "name", "rate"}`, in the order of the answer: the state
first. Rates are five-decimal strings (SPEC 2.2), never numbers. `code` is null where the service
gives none. A cell is missing where the answer carried no parts.
"""

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING

from svc_sdk.rates import UNITS_PER_ONE, rate_to_units, units_to_rate
from svc_tools.lookup import Component

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["decode", "encode"]

_EXPECTED = (
    "a list of objects with level, code, name and rate, as df.svc.lookup(detail=True) writes it"
)
_SHOWN = 60


def encode(components: Sequence[Component]) -> str | None:
    """The cell of some components; `None` where there are none.

    Raises:
        ValueError: a rate is no fraction from 0 to 1.
    """
    if not components:
        return None
    parts = [
        {"level": part.level, "code": part.code, "name": part.name, "rate": _rate(part.units)}
        for part in components
    ]
    text = json.dumps(parts, ensure_ascii=False, separators=(", ", ": "))
    try:
        text.encode()
    except UnicodeEncodeError:  # half a character, as JSON may carry it: no text column can
        return json.dumps(parts, separators=(", ", ": "))
    return text


@functools.lru_cache(maxsize=16_384)
def decode(text: str | None) -> tuple[Component, ...]:
    """The components of a cell; none where it is missing or empty.

    Raises:
        ValueError: the text is not such a cell; it says what it is and what is expected.
    """
    if text is None or not text.strip():
        return ()
    try:
        return tuple(map(_component, _parts(json.loads(text))))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
        why = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
        raise ValueError(
            f"lookup_jurisdictions: {shown!r} cannot be read ({why}); expected {_EXPECTED}"
        ) from None


def _parts(cell: object) -> list[object]:
    if not isinstance(cell, list):
        raise TypeError("it is no list")
    return cell


def _component(part: object) -> Component:
    if not isinstance(part, dict):
        raise TypeError(f"{part!r} is no object")
    level, name, code, rate = part["level"], part["name"], part["code"], part["rate"]
    if not all(isinstance(value, str) for value in (level, name, rate)):
        raise TypeError("level, name and rate are texts")
    if not isinstance(code, str | None):
        raise TypeError("code is a text or null")
    units = rate_to_units(rate)
    _rate(units)
    return Component(level, name, code, units)


def _rate(units: int) -> str:
    if not 0 <= units < UNITS_PER_ONE:
        raise ValueError(f"a rate of {units} units of 10^-5 is not a fraction from 0 to 1")
    return units_to_rate(units)
