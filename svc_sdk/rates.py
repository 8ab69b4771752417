"""Decimal-safe rates: five-decimal strings, `Decimal`, and integers of 10^-5 (SPEC 2.2).

A rate is a fraction: `"0.08250"` is 8.25%. It travels as a string and is never made a binary
float on the way; a missing rate stays missing (`None`), because it must never look like zero.
"""

from __future__ import annotations

import re
from decimal import Decimal
from functools import lru_cache
from operator import index
from typing import overload

__all__ = ["rate_to_decimal", "rate_to_float", "rate_to_units", "units_to_rate"]

UNITS_PER_ONE = 100_000
"""How many units make the rate 1 (100%): a unit is 10^-5, the last of the five decimals."""

_DECIMALS = 5
_FORM = re.compile(r"-?[0-9]{1,30}(?:\.[0-9]{1,100})?", re.ASCII)
_SHORT = 12
"""Longest rate that is cached once parsed: on the wire few distinct ones recur."""


def is_rate(text: str) -> bool:
    """Whether `text` is a plain decimal string, the only form a rate may have on the wire."""
    return _is_short_rate(text) if len(text) <= _SHORT else _FORM.fullmatch(text) is not None


@lru_cache(4096)
def _is_short_rate(text: str) -> bool:
    return _FORM.fullmatch(text) is not None


@lru_cache(4096)
def _short_decimal(text: str) -> Decimal:
    return Decimal(text)


def number_to_rate(number: int | Decimal) -> str:
    """A rate string from the digits of a JSON number: at least five decimals, none dropped."""
    text = format(Decimal(number), "f")
    whole, _, fraction = text.partition(".")
    return f"{whole}.{fraction.ljust(_DECIMALS, '0')}"


@overload
def rate_to_decimal(rate: str | Decimal) -> Decimal: ...
@overload
def rate_to_decimal(rate: None) -> None: ...
def rate_to_decimal(rate: str | Decimal | None) -> Decimal | None:
    """The exact value of a rate string: `"0.08250"` gives `Decimal("0.08250")`.

    Args:
        rate: a decimal string (or a `Decimal`), or `None` for a rate that is missing.

    Returns:
        The same digits as a `Decimal`; `None` for `None`.

    Raises:
        ValueError: the text is not a plain decimal number.
        TypeError: a float, whose digits are already in doubt, or another type.
    """
    if rate is None:
        return None
    if isinstance(rate, Decimal):
        if not rate.is_finite():
            raise ValueError(f"rate: {rate} is not a finite number")
        return rate
    if not isinstance(rate, str):
        raise TypeError(
            f"rate: expected a string such as '0.08250' or a Decimal, not {type(rate).__name__}"
            " (a float has lost the exact digits)"
        )
    if not is_rate(rate):
        raise ValueError(f"rate: {rate[:40]!r} is not a decimal string such as '0.08250'")
    return _short_decimal(rate) if len(rate) <= _SHORT else Decimal(rate)


@overload
def rate_to_float(rate: str | Decimal) -> float: ...
@overload
def rate_to_float(rate: None) -> None: ...
def rate_to_float(rate: str | Decimal | None) -> float | None:
    """A rate as a float, for charts and cells; `None` for `None` (SPEC 2.2).

    Use `rate_to_decimal` or `rate_to_units` for money. Raises as `rate_to_decimal`.
    """
    exact = rate_to_decimal(rate)
    return None if exact is None else float(exact)


@overload
def rate_to_units(rate: str | Decimal) -> int: ...
@overload
def rate_to_units(rate: None) -> None: ...
def rate_to_units(rate: str | Decimal | None) -> int | None:
    """A rate as a whole number of 10^-5: `"0.08250"` gives `8250`; `None` for `None`.

    Raises:
        ValueError: not a decimal string, or it has digits beyond the fifth decimal: it is
            refused, never rounded.
        TypeError: not a string, a `Decimal` or `None`.
    """
    if rate is None:
        return None
    return _short_units(rate) if type(rate) is str and len(rate) <= _SHORT else _units(rate)


@lru_cache(4096)
def _short_units(rate: str) -> int:
    return _units(rate)


def _units(rate: str | Decimal) -> int:
    exact = rate_to_decimal(rate)
    # integer arithmetic on the digits: a Decimal context could round a long number
    sign, digits, exponent = exact.as_tuple()
    value = int("".join(map(str, digits)))
    shift = int(exponent) + _DECIMALS
    if shift >= 0:
        units = value * int(10**shift)
    else:
        units, rest = divmod(value, int(10**-shift))
        if rest:
            raise ValueError(f"rate: {rate} does not fit five decimals and is not rounded")
    return -units if sign else units


@overload
def units_to_rate(units: int) -> str: ...
@overload
def units_to_rate(units: None) -> None: ...
def units_to_rate(units: int | None) -> str | None:
    """The five-decimal string of a whole number of 10^-5: `8250` gives `"0.08250"`.

    Raises:
        TypeError: not an integer.
    """
    if units is None:
        return None
    if isinstance(units, bool) or not hasattr(units, "__index__"):
        raise TypeError(f"units: expected an integer of 10^-5, not {type(units).__name__}")
    whole, fraction = divmod(abs(index(units)), UNITS_PER_ONE)
    return f"{'-' if units < 0 else ''}{whole}.{fraction:0{_DECIMALS}d}"
