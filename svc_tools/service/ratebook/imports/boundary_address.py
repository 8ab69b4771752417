"""Which address records an address falls into. Pure decisions over records already found."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NamedTuple

from svc_tools.service.ratebook.imports.boundary_lines import UNSURE
from svc_tools.service.ratebook.imports.boundary_streets import (
    PO_BOX,
    House,
    Street,
    Unit,
    house_number,
    split_street,
    unit_kind,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc_tools.service.ratebook.imports.boundary_store import AddressRow

__all__ = ["AskedAddress", "matching", "read_street"]

_RANGE = re.compile(r"(\d+)\s*-\s*(\d+)")
_NOT_THE_STREET = ("Occupancy", "SubaddressType", "SubaddressIdentifier", "USPSBox", "Recipient")


class AskedAddress(NamedTuple):
    """The street a caller names.

    Attributes:
        house: the house number.
        street: the street in comparable parts.
        unit: the suite, where one is named.
        last: the last number of several, such as 110 of "100-110 Main St".
    """

    house: House
    street: Street
    unit: Unit | None
    last: House | None = None

    @property
    def plain(self) -> House:
        """The house number without a letter behind it: 12A stands between 1 and 99.

        Letters before it stay: N64W150 is another house than 150.
        """
        lead, bar, _ = self.house.letters.partition("|")
        return House(lead + bar, self.house.number)


def read_street(text: str) -> AskedAddress | None:
    """The house number, street and suite of a caller's street line; `None` without a number."""
    import usaddress  # noqa: PLC0415 - loads its model: only where an address needs it

    words = [(word.strip(","), label) for word, label in usaddress.parse(text)]
    if not any(label == "AddressNumber" for _, label in words):
        box = [word for word, label in words if label == "USPSBoxID"]
        house = house_number(box[0]) if box else None
        if house:
            return AskedAddress(house, Street("", PO_BOX, "", ""), None)
        words = [(word, "") for word, _ in words]  # "7 Elm" is taken for a flat
    unit = _unit(words)
    rest = [word for word, label in words if not label.startswith(_NOT_THE_STREET)]
    while rest and not rest[0][:1].isdigit() and house_number(rest[0]) is None:
        rest.pop(0)  # a name of a house or a company before the number
    if not rest:
        return None
    first = rest.pop(0)
    several = _RANGE.fullmatch(first)
    house = house_number(several[1] if several else first)
    last = house_number(several[2]) if several else None
    if rest and re.fullmatch(r"\d/\d", rest[0]):
        rest.pop(0)
    street = split_street(" ".join(rest))
    return AskedAddress(house, street, unit, last) if house and street.name else None


def _unit(words: Sequence[tuple[str, str]]) -> Unit | None:
    kinds = [word for word, label in words if label in {"OccupancyType", "SubaddressType"}]
    names = [
        word.strip("#")
        for word, label in words
        if label in {"OccupancyIdentifier", "SubaddressIdentifier"}
    ]
    names = [name for name in names if name]
    return Unit(unit_kind(kinds[0]) if kinds else "", names[0].upper()) if names else None


def matching(
    asked: AskedAddress, rows: Sequence[AddressRow]
) -> tuple[list[AddressRow], Literal["address", "street", "vague"]]:
    """The records an address falls into, and how sure that is.

    Records of exactly the street go before those that differ by a direction or a suffix which
    only one side has: "100 Main" may be on N Main St. Of the records of a house, those of the
    suite asked for go before those of the whole house.

    Returns:
        The records, and `address` where they are this address's; `street` where a part of the
        street was not said, or a suite of a house whose suites alone have records; `vague` where
        a record that does not say which houses of the street it holds has another composition.
    """
    clear = [row for row in rows if row.parity != UNSURE]
    numbered = [row for row in clear if _holds_number(asked.house, row)]
    if not numbered:
        numbered = [row for row in clear if _holds_number(asked.plain, row)]
    numbered += [row for row in rows if row.parity == UNSURE]
    exact = [row for row in numbered if row.street.whole == asked.street.whole]
    found = exact or [row for row in numbered if _compatible(asked.street, row.street)]
    found = _of_unit(asked.unit, found)
    sure = {row.span.composite for row in found if row.parity != UNSURE}
    if any(row.span.composite not in sure for row in found):
        return found, "vague"
    suites = asked.unit is None and all(row.unit_low for row in found)
    return found, "address" if exact and not suites else "street"


def _holds_number(house: House, row: AddressRow) -> bool:
    return (
        house.letters == row.letters
        and row.low <= house.number <= row.high
        and _has_parity(house.number, row.parity)
    )


def _has_parity(number: int, parity: str) -> bool:
    return parity == "B" or (number % 2 == 1) == (parity == "O")


def _compatible(asked: Street, row: Street) -> bool:
    """Whether two streets of one name differ only by parts that one of them does not say."""
    pairs = ((asked.pre, row.pre), (asked.suffix, row.suffix), (asked.post, row.post))
    return asked.name == row.name and all(a == b or not a or not b for a, b in pairs)


def _of_unit(unit: Unit | None, rows: list[AddressRow]) -> list[AddressRow]:
    """The records of the suite asked for, else those of the whole house; all without a suite."""
    if unit is None:
        return rows
    own = [row for row in rows if row.unit_low and _holds_unit(unit, row)]
    return own or [row for row in rows if not row.unit_low]


def _holds_unit(unit: Unit, row: AddressRow) -> bool:
    if unit.kind != row.unit:
        return False
    low, high, name = row.unit_low, row.unit_high, unit.name
    if low.isdecimal() and high.isdecimal():
        return (
            name.isdecimal()
            and int(low) <= int(name) <= int(high)
            and _has_parity(int(name), row.unit_parity)
        )
    return len(low) == len(name) == len(high) and low <= name <= high
