"""ZIPs repaired from what spreadsheets make of them, and the states they lie in."""

from __future__ import annotations

import csv
import functools
import math
import re
from importlib import resources

from svc_tools.places.states import MILITARY, TERRITORIES, Elsewhere

_ZIP = re.compile(r"([0-9]{5})(?:[-\s]*([0-9]{4}))?-?")
_SHORT = re.compile(r"([0-9]{3,4})(?:-([0-9]{4}))?|([0-9]{3,4})([0-9]{4})")
_CANADIAN = re.compile(r"[A-Z][0-9][A-Z][\s-]*[0-9][A-Z][0-9]", re.IGNORECASE)
_DASHES = str.maketrans({"\N{EN DASH}": "-", "\N{EM DASH}": "-", "\N{NON-BREAKING HYPHEN}": "-"})
_EXPECTED = "expected five digits such as 78701, or ZIP+4 such as 78701-1234"


def states_of(zip_code: str) -> frozenset[str]:
    """The codes of the states (or territories) in which a ZIP lies; empty where none is known."""
    table = _table()
    return table.get(zip_code[:5]) or table.get(zip_code[:3]) or frozenset()


@functools.cache
def _table() -> dict[str, frozenset[str]]:
    """States by ZIP where it differs from its neighbors, else by its first three digits."""
    source = resources.files("svc_tools.places") / "zip_states.csv"
    with source.open(encoding="ascii") as file:
        return {row["zip"]: frozenset(row["states"].split()) for row in csv.DictReader(file)}


def normal_zip(value: object, state: str | None) -> str | Elsewhere:
    """A cell as a ZIP: "94105", or "94105-1804" with its add-on.

    Understands what spreadsheets make of ZIPs: numbers (94105.0), blanks around them, a
    ZIP+4 without its dash, a zero lost in front. The zero comes back only where the padded ZIP
    belongs to the row's state.

    Args:
        value: the cell: text or a number.
        state: the row's state code, `None` where it is not known.

    Returns:
        The ZIP, or `Elsewhere` for a military, territorial or foreign one.

    Raises:
        ValueError: it cannot be a ZIP; the message names the value and what is expected.
    """
    text = _digits(value)
    if _CANADIAN.fullmatch(text):
        return Elsewhere(f"{text} is a Canadian postal code")
    match = _ZIP.fullmatch(text)
    if match is None:
        return _padded(text, state)
    return _checked(match[1], match[2], state)


def _digits(value: object) -> str:
    if isinstance(value, float):
        if not (math.isfinite(value) and value.is_integer()):
            raise ValueError(f"zip: {value} is not a ZIP; {_EXPECTED}")
        value = int(value)
    text = str(value).translate(_DASHES).strip().lstrip("'").strip()
    return re.sub(r"(?<=[0-9])\.0+$", "", text)


def _padded(text: str, state: str | None) -> str | Elsewhere:
    """A ZIP whose leading zeros were lost, where the row's state confirms it."""
    match = _SHORT.fullmatch(text)
    if match is None:
        raise ValueError(f"zip: {text[:40]!r} is not a ZIP; {_EXPECTED}")
    zip5, extra = (match[1] or match[3]).zfill(5), match[2] or match[4]
    lies_in = states_of(zip5)
    if state is None:
        raise ValueError(
            f"zip: {text!r} has lost a leading zero, perhaps, but no state is given that"
            f" would confirm {zip5}; {_EXPECTED}"
        )
    if state not in lies_in:
        where = f"which lies in {' or '.join(sorted(lies_in))}" if lies_in else "which is no ZIP"
        raise ValueError(
            f"zip: {text!r} is too short, and padded it would be {zip5}, {where}, not in {state};"
            f" {_EXPECTED}"
        )
    return _checked(zip5, extra, state)


def _checked(zip5: str, extra: str | None, state: str | None) -> str | Elsewhere:
    lies_in = states_of(zip5)
    if lies_in and lies_in <= MILITARY.keys():
        return Elsewhere(f"{zip5} is a military ZIP: no state's rate applies")
    if lies_in and lies_in <= TERRITORIES.keys() and state is None:
        return Elsewhere(f"{zip5} lies in a territory ({' or '.join(sorted(lies_in))})")
    # 0000 is a filler, not an add-on
    return zip5 if extra in {None, "0000"} else f"{zip5}-{extra}"
