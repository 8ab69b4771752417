"""The arguments of a lookup, a tax and an exposure as editors and type checkers know them.

`svc_tools.lookup.options` is their table, with the classes that hold them. Here are their types for
`**arguments`, and what is made of them with pandas.
"""

from __future__ import annotations

import difflib
import inspect
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar

from svc_tools.frames.orders.deciding import SalesAnswers
from svc_tools.frames.orders.saved_layout import as_layout, filled
from svc_tools.frames.orders.sums import Answers
from svc_tools.lookup.options import AmountOptions as AmountOptions
from svc_tools.lookup.options import BreakdownArguments, option_rows
from svc_tools.lookup.options import ExposureOptions as ExposureOptions
from svc_tools.lookup.options import FileOptions as FileOptions
from svc_tools.lookup.options import LookupOptions as LookupOptions
from svc_tools.lookup.options import TaxOptions as TaxOptions
from svc_tools.lookup.options import dates_of as dates_of

if TYPE_CHECKING:
    import datetime as dt
    import threading
    from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
    from datetime import date, tzinfo
    from decimal import Decimal
    from pathlib import Path
    from typing import TypeAlias

    import pandas as pd
    import polars as pl

    from svc_sdk import Svc
    from svc_tools.base.progress import Progress
    from svc_tools.config import DeliveryAs
    from svc_tools.frames.orders.saved_layout import SalesLayout
    from svc_tools.lookup.cache import CacheChoice
    from svc_tools.lookup.options import (
        DecimalMark,
        GeocodeChoice,
        MoneyPart,
        Option,
        RateForm,
        RefundsAs,
        Rounding,
    )
    from svc_tools.nexus import Register, Thresholds
    from svc_tools.tables.places import Grain

    Nexus: TypeAlias = (
        Register | pd.DataFrame | pl.DataFrame | str | Path | Iterable[Mapping[str, object]]
    )

_Options = TypeVar("_Options")
_Method = TypeVar("_Method", bound="Callable[..., Any]")


class SharedArguments(TypedDict, total=False):
    """The arguments of a lookup that `enrich_file()` has, too."""

    tz: str | tzinfo | None
    date_format: str | None
    as_of_grain: Grain
    client: Svc | None
    prefix: str
    columns: Sequence[str] | Literal["short"] | None
    detail: bool
    review_below: Decimal | float | str | None
    cache: CacheChoice
    locked: str | Path | None
    geocode: GeocodeChoice
    concurrency: int
    deadline: float | None


class LookupArguments(SharedArguments, total=False):
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
    errors: Literal["coerce", "raise"]
    progress: bool
    rates: RateForm
    layout: SalesLayout | str | Path | None


class FileArguments(SharedArguments, BreakdownArguments, total=False):
    """The arguments of `enrich_file()` after `lookup` and `tax`; it documents them."""

    sheet: str | None
    delimiter: str | None
    encoding: str | None
    report: str | Path | None
    report_columns: Sequence[str] | None
    layout: SalesLayout | str | Path | None
    save_layout: str | Path | None
    force: bool
    resume: bool
    progress: Progress | None
    stop: threading.Event | None


class AmountArguments(TypedDict, total=False):
    """How a column of amounts that is named is read; `df.svc.tax()` documents them."""

    once: Sequence[Hashable] | Literal[False] | None
    refunds: RefundsAs | None
    order: Hashable | None
    currency: Hashable | None
    decimal: DecimalMark | None


class MoneyArguments(AmountArguments, total=False):
    """What a user says of the amounts of sales; `df.svc.tax()` documents them."""

    contains_tax: bool | None
    contains_shipping: bool | None
    parts: Mapping[Hashable, MoneyPart] | None


class TaxArguments(MoneyArguments, total=False):
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
    layout: SalesLayout | str | Path | None
    prefix: str
    errors: Literal["coerce", "raise"]


class ExposureArguments(MoneyArguments, total=False):
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
    transaction: Hashable | None


def answers_of(
    options: TaxOptions | ExposureOptions | AmountOptions, others: Iterable[Hashable] = ()
) -> SalesAnswers:
    """What the user says of the amounts; `others` are columns of something else."""
    answers = SalesAnswers(
        order=options.order,
        currency=options.currency,
        refunds=options.refunds,
        decimal=options.decimal,
        money=Answers(once=None if options.once is None else tuple(options.once or ()) or False),
        others=(*others,),
    )
    if isinstance(options, AmountOptions):
        return answers
    money = replace(
        answers.money,
        contains_tax=options.contains_tax,
        contains_shipping=options.contains_shipping,
        parts=options.parts or {},
    )
    return replace(answers, amount=options.amount, money=money)


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
    refuse_unknown(method, arguments, option_rows(kind))
    return kind(**filled(arguments, of_tax=kind is TaxOptions))


def refuse_unknown(method: str, arguments: Iterable[str], known: Iterable[str]) -> None:
    """Refuse an argument that a method does not have.

    Raises:
        TypeError: it names the argument, and the one that was perhaps meant.
    """
    names = [*known]
    for name in arguments:
        if name not in names:
            close = difflib.get_close_matches(name, names, 1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise TypeError(f"{method}() has no argument {name!r}{hint}")


def takes(arguments: type, *options: type) -> Callable[[_Method], _Method]:
    """Show `**arguments` one by one, for `help()` and for completion in IPython.

    An argument that the docstring does not describe is described there as in the table of options.

    Args:
        arguments: the `TypedDict` of `**arguments`.
        options: the classes that have their defaults and rows, of which the first counts.
    """
    types = {
        name: reference.__forward_arg__ for name, reference in arguments.__annotations__.items()
    }
    defaults: dict[str, inspect.Parameter] = {}
    rows: dict[str, Option] = {}
    for kind in reversed(options):
        defaults |= inspect.signature(kind).parameters
        rows |= option_rows(kind)
    names = dict.fromkeys(name for kind in options for name in option_rows(kind) if name in types)
    each = [
        defaults[name].replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=types[name])
        for name in names
    ]

    def decorated(method: _Method) -> _Method:
        """The method itself; its signature and its docstring are changed to name the options."""
        plain = inspect.signature(method)
        own = [
            parameter
            for parameter in plain.parameters.values()
            if parameter.kind is not parameter.VAR_KEYWORD
        ]
        first = [parameter for parameter in own if parameter.kind is not parameter.KEYWORD_ONLY]
        every = [*first, *each, *own[len(first) :]]
        method.__signature__ = plain.replace(parameters=every)  # type: ignore[attr-defined]
        text, args, listed = inspect.cleandoc(method.__doc__ or "").partition("\nArgs:\n")
        if args and "\n    **" not in listed:
            listed, *rest = listed.partition("\n\n")
            known = re.findall(r"^ {4}(\w+):", listed, re.MULTILINE)
            listed += "".join(
                f"\n    {name}: {rows[name].help}" for name in names if name not in known
            )
            method.__doc__ = "".join([text, args, listed, *rest])
        return method

    return decorated
