"""The arguments of a lookup, a tax and an exposure, once for frames, files, Dask and commands.

`LookupOptions`, `TaxOptions` and `ExposureOptions` hold and validate them. `LookupArguments`,
`TaxArguments` and `ExposureArguments` are their types for `**arguments`, so that editors and type
checkers know each of them by name. `AmountArguments` say how one column of amounts is read.
"""

from __future__ import annotations

import difflib
import inspect
import warnings
from dataclasses import dataclass, fields
from datetime import UTC
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar

from svc_sdk import Svc
from svc_tools.config import DELIVERIES, seller_zone
from svc_tools.dates import DateTerms, checked_format, time_zone
from svc_tools.frames.lookup.deciding import SalesAnswers
from svc_tools.frames.lookup.saved_layout import as_layout, filled
from svc_tools.frames.lookup.sums import PARTS, Answers
from svc_tools.frames.taxes.rounding import ROUNDINGS
from svc_tools.lookup.columns import DETAIL_COLUMNS, SHORT_COLUMNS, lookup_columns
from svc_tools.places import GRAINS

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
    from datetime import date, tzinfo
    from pathlib import Path
    from typing import TypeAlias

    import pandas as pd
    import polars as pl

    from svc_tools.config import DeliveryAs
    from svc_tools.frames.arrow import RateForm
    from svc_tools.frames.decimal_marks import DecimalMark
    from svc_tools.frames.lookup.row_kinds import RefundsAs
    from svc_tools.frames.lookup.saved_layout import SalesLayout
    from svc_tools.frames.lookup.sums import Part
    from svc_tools.frames.taxes.rounding import Rounding
    from svc_tools.lookup.cache import CacheChoice
    from svc_tools.nexus import Register, Thresholds
    from svc_tools.places import Grain

    Nexus: TypeAlias = (
        Register | pd.DataFrame | pl.DataFrame | str | Path | Iterable[Mapping[str, object]]
    )

_Options = TypeVar("_Options")
_Method = TypeVar("_Method", bound="Callable[..., Any]")

_ALWAYS = ("lookup_status", "lookup_error")
"""The columns that are always added, so that no failure is hidden."""
ROLES = ("state", "zip", "address", "city", "location", "lat", "lng", "country", "as_of")
"""The arguments that say where the place and the date of each row are."""

_CHOICES: dict[str, tuple[str, ...]] = {
    "errors": ("coerce", "raise"),
    "rates": ("decimal", "string", "float"),
    "as_of_grain": GRAINS,
}


class LookupArguments(TypedDict, total=False):
    """The arguments of `df.svc.lookup()`, which documents them."""

    state: Hashable | None
    zip: Hashable | None
    address: Hashable | None
    city: Hashable | None
    location: Hashable | None
    lat: Hashable | None
    lng: Hashable | None
    country: Hashable | None
    as_of: Hashable | date | None
    tz: str | tzinfo | None
    date_format: str | None
    as_of_grain: Grain
    client: Svc | None
    prefix: str
    columns: Sequence[str] | Literal["short"] | None
    detail: bool
    errors: Literal["coerce", "raise"]
    progress: bool
    rates: RateForm
    cache: CacheChoice
    locked: str | Path | None
    concurrency: int
    deadline: float | None
    layout: SalesLayout | str | Path | None


@dataclass(frozen=True, kw_only=True)
class LookupOptions:
    """The arguments of `df.svc.lookup()`, which documents them.

    Raises:
        ValueError: a choice, a time zone or a column's name is not known.
        TypeError: an argument has the wrong type.
    """

    state: Hashable | None = None
    zip: Hashable | None = None
    address: Hashable | None = None
    city: Hashable | None = None
    location: Hashable | None = None
    lat: Hashable | None = None
    lng: Hashable | None = None
    country: Hashable | None = None
    as_of: Hashable | date | None = None
    tz: str | tzinfo | None = None
    date_format: str | None = None
    as_of_grain: Grain = "day"
    client: Svc | None = None
    prefix: str = ""
    columns: Sequence[str] | Literal["short"] | None = None
    detail: bool = False
    errors: Literal["coerce", "raise"] = "coerce"
    progress: bool = True
    rates: RateForm = "decimal"
    cache: CacheChoice = None
    locked: str | Path | None = None
    concurrency: int = 16
    deadline: float | None = None
    layout: SalesLayout | str | Path | None = None

    def __post_init__(self) -> None:
        """Validate every option; which column has which role is decided by the rows."""
        for name, known in _CHOICES.items():
            value = getattr(self, name)
            if value not in known:
                *most, last = map(repr, known)
                raise ValueError(
                    f"{name}: {value!r} is not known; expected {', '.join(most)} or {last}"
                )
        if self.client is not None and not isinstance(self.client, Svc):
            raise TypeError(f"client: expected svc_sdk.Svc, not {type(self.client).__name__}")
        if self.locked is not None and self.client is not None:
            raise ValueError(
                "locked and client: a locked lookup requests nothing; leave one of them out"
            )
        object.__setattr__(self, "tz", time_zone(self.tz))
        checked_format(self.date_format)
        object.__setattr__(self, "columns", _columns(self.columns, detail=self.detail))

    @property
    def given(self) -> dict[str, object]:
        """The arguments that name places and dates."""
        return {role: getattr(self, role) for role in ROLES}

    def dates(self) -> DateTerms:
        """What is said of how dates are read; the rest is decided by a column's cells."""
        return dates_of(self.date_format, self.tz)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that will be added, in their order, without the prefix."""
        return lookup_columns(detail=self.detail) if self.columns is None else tuple(self.columns)


def dates_of(date_format: str | None, tz: str | tzinfo | None) -> DateTerms:
    """What these arguments say of dates; times in UTC are those of the seller's zone.

    Raises:
        ValueError: the format does not give year, month and day, or there is no such zone.
        TypeError: an argument has the wrong type.
    """
    return DateTerms(date_format, time_zone(tz), seller_zone() or UTC)


def _columns(given: Any, *, detail: bool) -> tuple[str, ...] | None:  # noqa: ANN401 - checked here
    if given is None:
        return None
    known = lookup_columns(detail=True)
    if (isinstance(given, str) and given != "short") or not hasattr(given, "__iter__"):
        raise TypeError(
            "columns: expected 'short', or a list of names such as ['combined_rate'],"
            f" not {given!r}"
        )
    wanted = {given} if isinstance(given, str) else set(given)
    if "short" in wanted:
        details = DETAIL_COLUMNS if detail else ()
        wanted = (wanted - {"short"}).union(details, set(SHORT_COLUMNS) & set(known))
    for name in wanted - set(known):
        close = difflib.get_close_matches(str(name), known, 1)
        hint = f"did you mean {close[0]!r}?" if close else f"expected {', '.join(known)}"
        raise ValueError(f"columns: a lookup adds no column {name!r}; {hint}")
    needs = [name for name in DETAIL_COLUMNS if name in wanted]
    if needs and not detail:
        raise ValueError(f"columns: {needs[0]!r} is a detail; request the details too")
    return tuple(name for name in known if name in wanted | set(_ALWAYS))


class TaxArguments(TypedDict, total=False):
    """The arguments of `df.svc.tax()` after `amount`; it documents them."""

    shipping: Hashable | None
    exempt: Hashable | None
    rounding: Rounding
    invoice: Hashable | None
    partial: Literal["use"] | None
    nexus: Nexus | None
    channel: Hashable | None
    ship_from: Hashable | None
    taxable: Hashable | None
    delivery: DeliveryAs | None
    once: Sequence[Hashable] | Literal[False] | None
    contains_tax: bool | None
    contains_shipping: bool | None
    parts: Mapping[Hashable, Part] | None
    refunds: RefundsAs | None
    order: Hashable | None
    currency: Hashable | None
    decimal: DecimalMark | None
    layout: SalesLayout | str | Path | None
    prefix: str
    errors: Literal["coerce", "raise"]


@dataclass(frozen=True, slots=True)
class TaxOptions:
    """The arguments of `df.svc.tax()`, which documents them.

    Raises:
        ValueError: a choice is not known; it names the argument and what is expected.
    """

    amount: Hashable | None = None
    shipping: Hashable | None = None
    exempt: Hashable | None = None
    rounding: Rounding = "half_up"
    invoice: Hashable | None = None
    partial: Literal["use"] | None = None
    nexus: Nexus | None = None
    channel: Hashable | None = None
    ship_from: Hashable | None = None
    taxable: Hashable | None = None
    delivery: DeliveryAs | None = None
    once: Sequence[Hashable] | Literal[False] | None = None
    contains_tax: bool | None = None
    contains_shipping: bool | None = None
    parts: Mapping[Hashable, Part] | None = None
    refunds: RefundsAs | None = None
    order: Hashable | None = None
    currency: Hashable | None = None
    decimal: DecimalMark | None = None
    layout: SalesLayout | str | Path | None = None
    prefix: str = ""
    errors: Literal["coerce", "raise"] = "coerce"

    def __post_init__(self) -> None:
        """Refuse choices that are not known."""
        if self.errors not in ("coerce", "raise"):
            raise ValueError(f"errors: {self.errors!r} is not known; expected 'coerce' or 'raise'")
        checked_answers(self)
        if self.partial not in (None, "use"):  # as above
            raise ValueError(f"partial: {self.partial!r} is not known; expected 'use' or None")
        if self.rounding not in ROUNDINGS:
            raise ValueError(
                f"rounding: {self.rounding!r} is not known; expected {', '.join(ROUNDINGS)}"
            )


class ExposureArguments(TypedDict, total=False):
    """The arguments of `df.svc.exposure()` after `amount`; it documents them."""

    date: Hashable | None
    state: Hashable | None
    channel: Hashable | None
    retail: Hashable | None
    taxable: Hashable | None
    as_of: dt.date | str | None
    register: Nexus | None
    thresholds: Thresholds | str | Path | None
    covers: tuple[dt.date | str, dt.date | str] | None
    tz: str | tzinfo | None
    date_format: str | None
    country: Hashable | None
    once: Sequence[Hashable] | Literal[False] | None
    contains_tax: bool | None
    contains_shipping: bool | None
    parts: Mapping[Hashable, Part] | None
    refunds: RefundsAs | None
    order: Hashable | None
    currency: Hashable | None
    decimal: DecimalMark | None
    transaction: Hashable | None


@dataclass(frozen=True, slots=True)
class ExposureOptions:
    """The arguments of `df.svc.exposure()`, which documents them.

    Raises:
        ValueError: a choice is not known; it names the argument and what is expected.
    """

    amount: Hashable | None = None
    date: Hashable | None = None
    state: Hashable | None = None
    channel: Hashable | None = None
    retail: Hashable | None = None
    taxable: Hashable | None = None
    as_of: dt.date | str | None = None
    register: Nexus | None = None
    thresholds: Thresholds | str | Path | None = None
    covers: tuple[dt.date | str, dt.date | str] | None = None
    tz: str | tzinfo | None = None
    date_format: str | None = None
    country: Hashable | None = None
    once: Sequence[Hashable] | Literal[False] | None = None
    contains_tax: bool | None = None
    contains_shipping: bool | None = None
    parts: Mapping[Hashable, Part] | None = None
    refunds: RefundsAs | None = None
    order: Hashable | None = None
    currency: Hashable | None = None
    decimal: DecimalMark | None = None
    transaction: Hashable | None = None

    def __post_init__(self) -> None:
        """Refuse choices that are not known; the former name of `order` is still accepted."""
        checked_answers(self)
        if self.transaction is None:
            return
        if self.order is not None:
            raise ValueError("transaction: this is the former name of order; leave it out")
        warnings.warn(
            "transaction= of exposure is called order= now: it also says which rows are one order",
            DeprecationWarning,
            stacklevel=5,
        )
        object.__setattr__(self, "order", self.transaction)

    def dates(self) -> DateTerms:
        """What is said of how dates are read."""
        return dates_of(self.date_format, self.tz)

    def answers(self, others: Iterable[Hashable] = ()) -> SalesAnswers:
        """What the user says of the amounts; `others` are columns of something else."""
        return SalesAnswers(
            amount=self.amount,
            order=self.order,
            currency=self.currency,
            refunds=self.refunds,
            decimal=self.decimal,
            money=Answers(
                once=once_of(self.once),
                contains_tax=self.contains_tax,
                contains_shipping=self.contains_shipping,
                parts=self.parts or {},
            ),
            others=(*others,),
        )


def once_of(
    given: Sequence[Hashable] | Literal[False] | None,
) -> tuple[Hashable, ...] | Literal[False] | None:
    """The columns of the whole order as they are given; an empty list is none of them."""
    return None if given is None else tuple(given or ()) or False


class AmountArguments(TypedDict, total=False):
    """How a column of amounts that is named is read; `df.svc.tax()` documents them."""

    once: Sequence[Hashable] | Literal[False] | None
    refunds: RefundsAs | None
    order: Hashable | None
    currency: Hashable | None
    decimal: DecimalMark | None


@dataclass(frozen=True, slots=True)
class AmountOptions:
    """How a column of amounts that is named is read.

    Raises:
        ValueError: a choice is not known; it names the argument and what is expected.
    """

    once: Sequence[Hashable] | Literal[False] | None = None
    refunds: RefundsAs | None = None
    order: Hashable | None = None
    currency: Hashable | None = None
    decimal: DecimalMark | None = None

    def __post_init__(self) -> None:
        """Refuse choices that are not known."""
        checked_answers(self)

    def answers(self) -> SalesAnswers:
        """What the user says of the column."""
        return SalesAnswers(
            order=self.order,
            currency=self.currency,
            refunds=self.refunds,
            decimal=self.decimal,
            money=Answers(once=once_of(self.once)),
        )


def checked_answers(options: object) -> None:
    """Refuse answers about a file's amounts that are not known.

    Raises:
        ValueError: it names the argument and what is expected.
    """
    for name, known in _ANSWERS.items():
        value = getattr(options, name, None)
        if value is not None and value not in known:
            *most, last = map(repr, known)
            raise ValueError(
                f"{name}: {value!r} is not known; expected {', '.join(most)} or {last}"
            )
    once, parts = getattr(options, "once", None), getattr(options, "parts", None)
    if once is not None and once is not False and (isinstance(once, str) or not _is_list(once)):
        raise ValueError(f"once: expected a list of columns such as ['Order Total'], not {once!r}")
    for label, part in (parts or {}).items():
        if part not in PARTS:
            raise ValueError(
                f"parts: {label!r} is {part!r}, which is not known; expected {', '.join(PARTS)}"
            )


def _is_list(value: object) -> bool:
    return hasattr(value, "__iter__")


_ANSWERS: dict[str, tuple[object, ...]] = {
    "contains_tax": (True, False),
    "contains_shipping": (True, False),
    "refunds": ("subtract", "add", "leave"),
    "decimal": ("point", "comma"),
    "delivery": DELIVERIES,
}


def check_layout(options: LookupOptions, labels: Sequence[Hashable]) -> None:
    """Refuse rows that lack a column of the place or the date which the layout reads.

    Raises:
        LayoutError: it names the columns.
    """
    if options.layout is not None:
        as_layout(options.layout).check(labels, options.given.values(), amounts=False)


def options_of(kind: type[_Options], method: str, arguments: Mapping[str, Any]) -> _Options:
    """The options of a method from its arguments, and from the layout among them.

    Raises:
        LayoutError: the layout is none.
        TypeError: the method has no argument of that name.
    """
    known = [one.name for one in fields(kind)]  # type: ignore[arg-type]  # a dataclass
    for name in arguments:
        if name not in known:
            close = difflib.get_close_matches(name, known, 1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise TypeError(f"{method}() has no argument {name!r}{hint}")
    return kind(**filled(arguments, of_tax=kind is TaxOptions))


def takes(arguments: type, options: type) -> Callable[[_Method], _Method]:
    """Show `**arguments` one by one, for `help()` and for completion in IPython.

    Args:
        arguments: the `TypedDict` of `**arguments`.
        options: the class that has their defaults.
    """

    def decorated(method: _Method) -> _Method:
        plain = inspect.signature(method)
        defaults = inspect.signature(options).parameters
        own = [one for one in plain.parameters.values() if one.kind is not one.VAR_KEYWORD]
        first = [one for one in own if one.kind is not one.KEYWORD_ONLY]
        each = [
            defaults[name].replace(kind=inspect.Parameter.KEYWORD_ONLY)
            for name in arguments.__annotations__
        ]
        every = [*first, *each, *own[len(first) :]]
        method.__signature__ = plain.replace(parameters=every)  # type: ignore[attr-defined]
        return method

    return decorated
