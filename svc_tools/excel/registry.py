"""The functions of the spreadsheet: names, arguments and help, the same in every adapter.

What they compute is in `functions`; the adapters convert the values of each host. `EXAMPLES` has a
formula for each function, which the task pane inserts and the guide shows.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

CATEGORY = "Sales tax"
"""The category of the functions in a spreadsheet."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """An argument of a function; one cell, a range or a constant.

    Attributes:
        name: its name in the spreadsheet.
        help: what to give, in a sentence.
        optional: whether it may be left out.
    """

    name: str
    help: str
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the spreadsheet.

    Attributes:
        name: its name in a formula.
        help: what it returns, in a sentence or two.
        parameters: its arguments, the optional ones last.
        spills: whether one cell of input may give several cells of output. The others give one
            cell for each cell of their ranges.
        volatile: whether every recalculation computes it again.
    """

    name: str
    help: str
    parameters: tuple[Parameter, ...] = ()
    spills: bool = False
    volatile: bool = False

    @property
    def signature(self) -> str:
        """The name with its arguments, the optional ones in brackets."""
        shown = (f"[{one.name}]" if one.optional else one.name for one in self.parameters)
        return f"{self.name}({', '.join(shown)})"

    @property
    def zeros(self) -> list[int]:
        """The positions of the arguments where the number 0 is not an empty cell.

        Desktop Excel passes the empty cells of a range as the number 0, Excel on the web as null.
        No state, ZIP, day or name is 0, and no place of the country lies at 0 degrees: there a 0
        is an empty cell. In an amount an empty cell counts as much as a 0.
        """
        amounts = {("SVC_TAX", "amount"), ("SVC_SUM", "range")}
        return [at for at, one in enumerate(self.parameters) if (self.name, one.name) in amounts]


_STATE = Parameter("state", "The state: TX or Texas. One cell, or a range like that of the ZIPs.")
_ZIP = Parameter("zip", "The ZIP Code or ZIP+4, as text or number (2134 is read as 02134).")
_AS_OF = Parameter(
    "as_of",
    "The day of the sale: a date cell, or text such as 2026-05-01. Left out: today, so that the"
    " cell changes with time.",
    optional=True,
)
_ONE_ZIP = (_STATE, _ZIP, _AS_OF)
_ACCEPT = Parameter(
    "accept",
    '"partial" also takes a rate that lacks its local or district part; left out, such a cell'
    " shows #PARTIAL.",
    optional=True,
)
FUNCTIONS: tuple[Function, ...] = (
    Function(
        "SVC_RATE",
        "The combined sales-tax rate of a ZIP Code on a day, as a fraction: 0.0825 is 8.25%.",
        (*_ONE_ZIP, _ACCEPT),
    ),
    Function(
        "SVC_RATE_ADDRESS",
        "The combined sales-tax rate of a street address on a day, as a fraction.",
        (
            _STATE,
            Parameter("address", "The street address, or the whole address in one line."),
            Parameter("city", "The city, where the address does not name it.", optional=True),
            Parameter("zip", "The ZIP Code, where the address does not name it.", optional=True),
            _AS_OF,
            _ACCEPT,
        ),
    ),
    Function(
        "SVC_RATE_PLACE",
        "The combined sales-tax rate of a city or county by its name on a day, as a fraction.",
        (_STATE, Parameter("place", "The name of the city or county."), _AS_OF, _ACCEPT),
    ),
    Function(
        "SVC_RATE_GEO",
        "The combined sales-tax rate of a point on a day, as a fraction.",
        (
            _STATE,
            Parameter("lat", "The latitude in degrees, such as 30.2672."),
            Parameter("lng", "The longitude in degrees, such as -97.7431."),
            _AS_OF,
            _ACCEPT,
        ),
    ),
    Function(
        "SVC_TAX",
        "The tax on an amount, computed exactly and rounded to the cent.",
        (
            Parameter("amount", "The taxable amount in dollars, a whole number of cents."),
            *_ONE_ZIP,
            Parameter(
                "rounding",
                "half_up (left out), half_even, up or down: how a fraction of a cent is rounded.",
                optional=True,
            ),
            _ACCEPT,
        ),
    ),
    Function(
        "SVC_SUM",
        "The exact sum of amounts; an error where a cell holds an error or a text (also a number"
        " stored as text), which SUM would skip.",
        (Parameter("range", "The amounts. Empty cells count as zero."),),
    ),
    Function(
        "SVC_LOOKUP",
        "The fields of the result for each row of a range, side by side.",
        (
            Parameter(
                "range",
                "Rows of state, ZIP and (if there is a third column) day; or columns under"
                " headings: state, zip, address, city, place, lat, lng, as_of.",
            ),
            Parameter(
                "fields",
                "Which fields, as a list in one text or as a range; SVC_FIELDS() lists them all.",
                optional=True,
            ),
            Parameter("headers", "TRUE puts the names of the fields on top.", optional=True),
        ),
        spills=True,
    ),
    Function(
        "SVC_FIELD",
        "One field of the result for a ZIP Code; SVC_FIELDS() lists them all.",
        (Parameter("field", "The name of the field, such as county_rate."), *_ONE_ZIP),
    ),
    Function(
        "SVC_CONFIDENCE",
        "The confidence of the rate: exact, high, medium or low.",
        _ONE_ZIP,
    ),
    Function(
        "SVC_WARNINGS",
        "Warnings on the rate, or why it is missing, in sentences; empty without any.",
        _ONE_ZIP,
    ),
    Function(
        "SVC_STATUS",
        "The status in one word to branch on: ok, review (a rate that requires review: SVC_WARNINGS"
        " says why), partial, unresolved, invalid, unsupported, failed or not_attempted.",
        _ONE_ZIP,
    ),
    Function(
        "SVC_FIELDS",
        "The fields of a result under headings, with their forms and meanings.",
        spills=True,
    ),
    Function(
        "SVC_ASOF",
        "When the rate of a ZIP Code was looked up (UTC); without arguments, the oldest lookup of"
        " this session.",
        tuple(Parameter(one.name, one.help, optional=True) for one in _ONE_ZIP),
        volatile=True,
    ),
    Function(
        "SVC_SOURCE",
        "The service and its rate book; for a ZIP Code, the source of its rate.",
        tuple(Parameter(one.name, one.help, optional=True) for one in _ONE_ZIP),
        volatile=True,
    ),
    Function(
        "SVC_NEXUS",
        "The nexus registrations of the account under headings: state, type, date, address and"
        " notes.",
        (Parameter("state", "One state; all of them where left out.", optional=True),),
        spills=True,
    ),
    Function(
        "SVC_NEXUS_STATUS",
        'Whether the account is registered in a state: "registered" or "not registered".',
        (
            Parameter("state", "The state: TX or Texas."),
            Parameter(
                "type", "physical, economic or marketplace; any where left out.", optional=True
            ),
        ),
    ),
)
_BY_NAME = {one.name: one for one in FUNCTIONS}


def function(name: str) -> Function:
    """The function of that name, in capitals.

    Raises:
        KeyError: there is no such function.
    """
    return _BY_NAME[name]


Argument: TypeAlias = "str | float | bool | date | list[list[str | float]]"
"""A constant, or rows of constants for a range."""
_DAY = date(2026, 2, 1)
_ONE: tuple[Argument, ...] = ("CA", "94105", _DAY)
EXAMPLES: Mapping[str, tuple[Argument, ...]] = {
    "SVC_RATE": _ONE,
    "SVC_RATE_ADDRESS": ("NJ", "95 River St", "Hoboken", "07030", _DAY),
    "SVC_RATE_PLACE": ("WA", "Seattle", date(2024, 6, 1)),
    "SVC_RATE_GEO": ("CA", 34.0537, -118.2428, _DAY),
    "SVC_TAX": (19.99, *_ONE),
    "SVC_SUM": ([[19.99], [4.0]],),
    "SVC_LOOKUP": ([["CA", "94105"], ["WA", "98101"]], "combined_rate, confidence", True),
    "SVC_FIELD": ("county_rate", *_ONE),
    "SVC_CONFIDENCE": _ONE,
    "SVC_WARNINGS": _ONE,
    "SVC_STATUS": _ONE,
    "SVC_FIELDS": (),
    "SVC_ASOF": _ONE,
    "SVC_SOURCE": (),
    "SVC_NEXUS": (),
    "SVC_NEXUS_STATUS": ("TX",),
}
"""The arguments of an example of each function, by its name."""


def formula(name: str, arguments: Sequence[Argument]) -> str:
    """The formula as typed into a cell of an English Excel.

    Args:
        name: the name of the function in the spreadsheet.
        arguments: its arguments, in order.
    """
    return f"={name}({', '.join(map(_typed, arguments))})"


def _typed(argument: Argument) -> str:
    if isinstance(argument, list):
        return "{" + "; ".join(", ".join(map(_typed, row)) for row in argument) + "}"
    if isinstance(argument, bool):
        return str(argument).upper()
    if isinstance(argument, date):
        return f"DATE({argument.year}, {argument.month}, {argument.day})"
    if isinstance(argument, str):
        doubled = argument.replace('"', '""')
        return f'"{doubled}"'
    return f"{argument:.15g}"
