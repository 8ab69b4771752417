"""The options of a lookup, a tax, an exposure and a file: each is one row of this table.

A row says what an option is, and how it appears in each interface: in the methods of frames, in
`enrich_file` and `exposure_of_file`, in the commands, in Dask, in polars, and in the panel. The
classes hold and validate what was given. `frames.options` has what needs pandas.
"""

from __future__ import annotations

import csv
import difflib
import warnings
from dataclasses import Field, dataclass, field, fields, replace
from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypedDict, TypeVar, get_args

from svc_sdk import Svc
from svc_tools.base.shares import SHARES_PER_ONE
from svc_tools.config import DELIVERIES, review_below, seller_zone
from svc_tools.lookup.columns import DETAIL_COLUMNS, SHORT_COLUMNS, lookup_columns
from svc_tools.tables.dates import DateTerms, checked_format, time_zone
from svc_tools.tables.places import GRAINS

if TYPE_CHECKING:
    import datetime as dt
    import threading
    from collections.abc import Callable, Hashable, Mapping, Sequence
    from datetime import date, tzinfo
    from decimal import Decimal

    from svc_tools.base.progress import Progress
    from svc_tools.config import DeliveryAs
    from svc_tools.lookup.cache import CacheChoice
    from svc_tools.tables.places import Grain

RateForm: TypeAlias = Literal["decimal", "string", "float"]
"""How rates stand in a frame: exactly, as text with five decimals, or as floats."""
Rounding: TypeAlias = Literal["half_up", "half_even", "up", "down"]
"""What happens to a fraction of a cent. Every mode is symmetric: a refund mirrors its sale.

- half_up: to the nearest cent, half a cent away from zero;
- half_even: to the nearest cent, half a cent to the even one;
- up: any fraction away from zero;
- down: any fraction dropped, toward zero.
"""
ROUNDINGS: tuple[Rounding, ...] = get_args(Rounding)
MoneyPart: TypeAlias = Literal["goods", "delivery", "discount", "untaxed", "none"]
"""What a user says that a column is."""
MONEY_PARTS: tuple[MoneyPart, ...] = get_args(MoneyPart)
RefundsAs: TypeAlias = Literal["subtract", "add", "leave"]
"""What refunds written with a positive amount are: taken off, sales like others, or no sale."""
DecimalMark: TypeAlias = Literal["point", "comma"]
"""What a user may say of the decimal mark of a column."""

Road: TypeAlias = Literal["frame", "file", "command", "dask", "polars", "panel"]
"""A way to a lookup, a tax or an exposure."""
WrittenAs: TypeAlias = Literal["", "names", "yes or no", "parts"]
"""How a command writes what is no single text: names with commas between them, and so on."""
Fact: TypeAlias = Literal["column", "answer", "table", "optional", "figures", "breakdown"]
"""What the code asks of the options, and so does not have to list:

- column: it names a column that nothing else reads, beside the amounts;
- answer: it answers a question about the columns;
- table: the table of a recognized export has that answer;
- optional: it can be left out, though its column would be found;
- figures: it decides the figures of a tax;
- breakdown: it requests the table of that name.
"""


class SupportsGeocode(Protocol):
    """A geocoder, as those of geopy are."""

    def geocode(self, address: str, /) -> object:
        """The location of an address, with `latitude` and `longitude`; `None` for no match."""


GeocodeChoice: TypeAlias = (
    "Literal['census', 'off', False] | SupportsGeocode | Callable[[str], object] | None"
)
"""A geocoder: "census", one of geopy, or a function from an address to a point or `None`."""

_Value = TypeVar("_Value")
_EVERYWHERE: Mapping[Road, str] = {}
PLACES, TAX, FILES, RUN, SALES = "Places and dates", "Tax", "Files", "The run", "Sales"
GROUPS = (PLACES, TAX, FILES, RUN, SALES)
"""The headings of the options in the help of a command."""


@dataclass(frozen=True, slots=True)
class Option:
    """How an option appears in each interface.

    Attributes:
        help: what it is, in one line.
        group: what it is about: its heading in the help of a command.
        panel: its label in the panel.
        kind: the type that the command line reads.
        flag: its name there, where that is not made from its own name.
        form: how it is written there, where the text is not the value.
        after: the option that it follows there, where that is not the one above it.
        least: the lowest number that is accepted there.
        hidden: whether it is a former name.
        not_on: why an interface does not have it, by the interface.
        choices: what it can be, unless it is left as it is; empty for anything.
        says: what the code asks of it.
    """

    help: str
    group: str
    panel: str
    kind: object
    flag: str
    form: WrittenAs
    after: str
    least: int | None
    hidden: bool
    not_on: Mapping[Road, str]
    choices: tuple[object, ...]
    says: tuple[Fact, ...]


def option(
    default: _Value,
    text: str,
    group: str = "",
    panel: str = "",
    *,
    kind: object = None,
    flag: str = "",
    form: WrittenAs = "",
    after: str = "",
    least: int | None = None,
    hidden: bool = False,
    not_on: Mapping[Road, str] = _EVERYWHERE,
    choices: tuple[object, ...] = (),
    says: tuple[Fact, ...] = (),
) -> _Value:
    """A field of a class of options, with its row: see `Option`."""
    kind = kind or (type(default) if isinstance(default, bool | int) else str | None)
    row = Option(
        *(text, group, panel, kind, flag, form, after, least, hidden, not_on, choices, says)
    )
    return field(default=default, metadata={"option": row})


def like(default: _Value, kind: type, name: str, group: str = "", panel: str = "") -> _Value:
    """A field whose row is that of another class, under another heading."""
    row = replace(option_rows(kind)[name], group=group)
    return field(default=default, metadata={"option": replace(row, panel=panel or row.panel)})


def option_rows(kind: type) -> dict[str, Option]:
    """The rows of a class of options, by name."""
    return {entry.name: entry.metadata["option"] for entry in fields(kind)}


def in_order(*kinds: type) -> list[Field[Any]]:
    """The options of these classes in the order of a help: by heading, each after its `after`."""
    groups: dict[str, list[Field[Any]]] = {name: [] for name in (*GROUPS, "")}
    for entry in (entry for kind in kinds for entry in fields(kind)):
        row: Option = entry.metadata["option"]
        above = [other.name for other in groups[row.group]]
        at = above.index(row.after) + 1 if row.after else len(above)
        groups[row.group].insert(at, entry)
    return [entry for group in groups.values() for entry in group]


def names_where(kind: type, says: Fact) -> tuple[str, ...]:
    """The options of a class of which the table says this, in the order of the help."""
    return tuple(entry.name for entry in in_order(kind) if says in entry.metadata["option"].says)


def names_in(text: str) -> list[str]:
    """The names in a text, with commas between them; one that has a comma is in double quotes."""
    names = next(csv.reader([text], skipinitialspace=True), [])
    return [name.strip() for name in names] or [""]


def flag_of(name: str, row: Option) -> str:
    """An option as it is typed on the command line."""
    return row.flag or f"--{name.replace('_', '-')}"


ROLES = ("state", "zip", "address", "city", "location", "lat", "lng", "country", "as_of")
"""The arguments that say where the place and the date of each row are."""
_ALWAYS = ("lookup_status", "lookup_error")
"""The columns that are always added, so that no failure is hidden."""
_ASKED: Mapping[Road, str] = {"panel": "a menu asks where the columns leave it open"}
_SELDOM: Mapping[Road, str] = {"panel": "seldom used; use enrich_file or the command"}
_OF_FILES: tuple[Road, ...] = ("file", "command", "panel")
_ROWS: Mapping[Road, str] = dict.fromkeys(_OF_FILES, "each row says what it lacks")
_EXACT: Mapping[Road, str] = dict.fromkeys(_OF_FILES, "a file has exact rates")
_OF_FILE: Mapping[Road, str] = dict.fromkeys(_OF_FILES, "that of the file")
_OF_LOOKUP: Mapping[Road, str] = dict.fromkeys(_OF_FILES, "that of the lookup")
_ANSWER: tuple[Fact, ...] = ("answer", "table")
_OPTIONAL: tuple[Fact, ...] = ("answer", "table", "optional")
_ERRORS = ("coerce", "raise")
_SHOWN: Mapping[Road, str] = {"command": "--quiet leaves it out", "panel": "always shown"}
_CACHE: Mapping[Road, str] = dict.fromkeys(("command", "panel"), "as SVC_CACHE says")
_SERVICE: Mapping[Road, str] = {"command": "--embedded, --base-url", "panel": "chosen above"}


@dataclass(frozen=True, kw_only=True)
class LookupOptions:
    """The arguments of `df.svc.lookup()`, which documents them.

    Raises:
        ValueError: a choice, a time zone or a column's name is not known.
        TypeError: an argument has the wrong type.
    """

    # fmt: off
    state: Hashable | None = option(None, "Column of states, or one state.", PLACES, "State")
    zip: Hashable | None = option(None, "Column of ZIP Codes.", PLACES, "ZIP Code")
    address: Hashable | None = option(None, "Column of street addresses.", PLACES, "Street address")
    city: Hashable | None = option(None, "Column of cities.", PLACES, "City")
    location: Hashable | None = option(None, "Column of place names.", PLACES, "Place name")
    lat: Hashable | None = option(
        None, "Column of latitudes; where named, the point decides.", PLACES, "Latitude")
    lng: Hashable | None = option(None, "Column of longitudes, with lat.", PLACES, "Longitude")
    country: Hashable | None = option(None, "Column of countries.", PLACES, "Country")
    as_of: Hashable | date | None = option(
        None, "Column of sale dates, a date, or today.", PLACES, "Date of sale")
    tz: str | tzinfo | None = option(
        None, "Whose date counts, as America/Chicago (else SVC_TZ).", PLACES, "Time zone")
    date_format: str | None = option(
        None, "month first, day first, or as %m/%d/%Y.", PLACES, "Date format", after="as_of")
    as_of_grain: Grain = option("day", "day, month or quarter: fewer lookups.", PLACES, kind=str,
        choices=GRAINS, not_on=_SELDOM)
    client: Svc | None = option(None, "The service to use.", RUN, not_on=_SERVICE)
    prefix: str = option(
        "", "Before the added columns' names.", FILES, "Prefix of added columns", kind=str)
    columns: Sequence[str] | Literal["short"] | None = option(
        None, "Columns to add: short, or a,b,c.", FILES, form="names", not_on=_SELDOM)
    detail: bool = option(False, "Add the jurisdictions.", FILES, not_on=_SELDOM)
    review_below: Decimal | float | str | None = option(
        None, "Flag a row if less than this share of the ZIP's homes has its rate (default 0.90).",
        FILES, "Review below", kind=str | None)
    errors: Literal["coerce", "raise"] = option(
        "coerce", "raise: an exception where a row has no usable result.", not_on=_ROWS,
        choices=_ERRORS)
    progress: bool = option(
        True, "Show how the columns were read, and a progress bar.",
        not_on={"file": "its own", **_SHOWN})
    rates: RateForm = option(
        "decimal", "decimal, string or float.", not_on=_EXACT, choices=get_args(RateForm))
    cache: CacheChoice = option(None, "The path of the cache; False for none.", RUN, not_on=_CACHE)
    locked: str | Path | None = option(
        None, "Results of a .svclock file.", RUN, kind=Path | None,
        not_on=_SELDOM)
    geocode: GeocodeChoice = option(
        None, "census: send street addresses to the Census Bureau's geocoder.", RUN, not_on=_SELDOM)
    concurrency: int = option(16, "Requests under way at once.", RUN, least=1, not_on=_SELDOM)
    deadline: float | None = option(
        None, "Seconds for the requests.", RUN, kind=float | None, not_on=_SELDOM)
    layout: object = option(None, "Read the columns by this layout.", not_on=_OF_FILE)
    # fmt: on

    def __post_init__(self) -> None:
        """Validate every option; which column has which role is decided by the rows."""
        _check_choices(self)
        check_geocode(self.geocode)
        if self.locked is not None and is_geocoded(self.geocode):
            raise ValueError(
                "locked and geocode: a locked lookup requests nothing; leave one of them out"
            )
        if self.client is not None and not isinstance(self.client, Svc):
            raise TypeError(f"client: expected svc_sdk.Svc, not {type(self.client).__name__}")
        if self.locked is not None and self.client is not None:
            raise ValueError(
                "locked and client: a locked lookup requests nothing; leave one of them out"
            )
        object.__setattr__(self, "tz", time_zone(self.tz))
        object.__setattr__(self, "review_below", review_below(self.review_below))
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
    def below(self) -> int:
        """`review_below` in the units of `Found.share`."""
        return review_threshold(self.review_below)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that will be added, in their order, without the prefix."""
        return lookup_columns(detail=self.detail) if self.columns is None else tuple(self.columns)


def review_threshold(given: object = None) -> int:
    """What `config.review_below` gives, in the units of `Found.share`."""
    return int(review_below(given) * SHARES_PER_ONE)


OF_FILE = tuple(
    name
    for name, row in option_rows(LookupOptions).items()
    if name not in ROLES and "file" not in row.not_on
)
"""The options of a lookup that a file has in the same words; its places are in `lookup`."""


def dates_of(date_format: str | None, tz: str | tzinfo | None) -> DateTerms:
    """What these arguments say of dates; times in UTC are those of the seller's zone.

    Raises:
        ValueError: the format does not give year, month and day, or there is no such zone.
        TypeError: an argument has the wrong type.
    """
    return DateTerms(date_format, time_zone(tz), seller_zone() or UTC)


def is_geocoded(choice: object) -> bool:
    """Whether an argument `geocode` names a geocoder."""
    return not (choice is None or choice is False or choice == "off")


def check_geocode(choice: object) -> None:
    """Refuse what is no geocoder.

    Raises:
        ValueError: a name that is not known.
        TypeError: no name, and nothing that can be called.
    """
    if not is_geocoded(choice):
        return
    if isinstance(choice, str):
        if choice != "census":
            raise ValueError(f"geocode: {choice!r} is not known; expected 'census' or 'off'")
    elif not callable(getattr(choice, "geocode", choice)):
        raise TypeError(
            "geocode: expected 'census', 'off', a geocoder of geopy, or a function from an address"
            f" to latitude and longitude, not {type(choice).__name__}"
        )


def _columns(given: Any, *, detail: bool) -> tuple[str, ...] | None:  # noqa: ANN401 - checked here
    """The columns that a lookup adds, in the order of the table; `None` where all were asked for.

    Raises:
        TypeError: not "short" and no list.
        ValueError: no such column, or one of the details, which are not requested.
    """
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


@dataclass(frozen=True, slots=True)
class TaxOptions:
    """The arguments of `df.svc.tax()`, which documents them.

    Raises:
        ValueError: a choice is not known; it names the argument and what is expected.
    """

    # fmt: off
    amount: Hashable | None = option(
        None, "Column of amounts, else found by its name.", TAX, "Amount", flag="--tax",
        says=("figures",))
    shipping: Hashable | None = option(
        None, "Column of delivery charges.", TAX, "Shipping", says=("optional", "figures"))
    exempt: Hashable | None = option(
        None, "Column of exempt lines.", TAX, "Exempt", says=("column", "figures"))
    rounding: Rounding = option(
        "half_up", "half_up, half_even, up or down.", TAX, choices=ROUNDINGS, says=("figures",),
        not_on=_SELDOM)
    invoice: Hashable | None = option(
        None, "Column of invoices: round once each.", TAX, "Invoice", after="exempt",
        says=("column", "figures"))
    partial: Literal["use"] | None = option(
        None, "use: tax from partial rates too.", TAX, choices=("use", None), says=("figures",),
        not_on=_SELDOM)
    nexus: object = option(
        None, "CSV of nexus registrations: what is due.", TAX, kind=Path | None, not_on=_SELDOM)
    channel: Hashable | None = option(
        None, "Column of sales channels.", TAX, says=("column", "optional"), not_on=_SELDOM)
    ship_from: Hashable | None = option(
        None, "State goods are sent from.", TAX, says=("column",), not_on=_SELDOM)
    taxable: Hashable | None = option(
        None, "Column of taxable lines.", TAX, after="exempt",
        says=("column", "optional", "figures"), not_on=_SELDOM)
    delivery: DeliveryAs | None = option(
        None, "optional: buyers can avoid it (pick up); only: all is shipped.", TAX, "Delivery",
        after="shipping", choices=DELIVERIES, says=("figures",))
    once: Sequence[Hashable] | Literal[False] | None = option(
        None, "Column to count once for each order, such as 'Order Total' on each line.", TAX,
        kind=list[str] | None, says=_OPTIONAL, not_on=_ASKED)
    contains_tax: bool | None = option(
        None, "yes or no: whether the amount does.", TAX, form="yes or no",
        choices=(True, False), says=_ANSWER, not_on=_ASKED)
    contains_shipping: bool | None = option(
        None, "As --contains-tax, of delivery.", TAX, form="yes or no",
        choices=(True, False), says=_ANSWER, not_on=_ASKED)
    parts: Mapping[Hashable, MoneyPart] | None = option(
        None, "COLUMN=goods, delivery, discount, untaxed or none.", TAX, kind=list[str] | None,
        flag="--part", form="parts", says=_ANSWER, not_on=_ASKED)
    refunds: RefundsAs | None = option(
        None, "With amounts above 0: subtract, add or leave.", TAX, choices=get_args(RefundsAs),
        says=("answer",), not_on=_ASKED)
    order: Hashable | None = option(
        None, "Column of order numbers.", TAX, says=_OPTIONAL, not_on=_ASKED)
    currency: Hashable | None = option(
        None, "Column of currencies.", TAX, says=_OPTIONAL, not_on=_ASKED)
    decimal: DecimalMark | None = option(
        None, "point or comma: the decimal mark.", TAX, choices=get_args(DecimalMark),
        says=_ANSWER, not_on=_ASKED)
    layout: object = option(
        None, "Read the columns by this layout.",
        not_on={"command": "that of the file", **_SELDOM})
    prefix: str = option("", "The prefix of the lookup.", not_on=_OF_LOOKUP)
    errors: Literal["coerce", "raise"] = option(
        "coerce", "raise: an exception where a row has no tax.", not_on=_ROWS, choices=_ERRORS)
    # fmt: on

    def __post_init__(self) -> None:
        """Refuse choices that are not known."""
        _check_choices(self)
        _check_money(self.once, self.parts)


@dataclass(frozen=True, slots=True)
class ExposureOptions:
    """The arguments of `df.svc.exposure()`, which documents them.

    Raises:
        ValueError: a choice is not known; it names the argument and what is expected.
    """

    # fmt: off
    amount: Hashable | None = option(None, "Column of amounts, without the tax.", SALES, "Amount")
    date: Hashable | None = option(None, "Column of dates.", SALES, "Date of sale")
    state: Hashable | None = option(None, "Column of states.", SALES, "State")
    channel: Hashable | None = option(
        None, "Column of channels.", SALES, "Channel (direct or marketplace)")
    retail: Hashable | None = option(None, "Column of retail amounts.", SALES, "Retail amount")
    taxable: Hashable | None = option(None, "Column of taxable amounts.", SALES, "Taxable amount")
    as_of: dt.date | str | None = option(None, "Day of the comparison.", panel="As of")
    register: object = option(
        None, "Your own register.", not_on={"panel": "the register of the step above"})
    thresholds: object = option(
        None, "A CSV whose rows replace the shipped thresholds.", panel="Your own thresholds")
    covers: tuple[dt.date | str, dt.date | str] | None = option(
        None, "First and last day that the sales are complete for.", panel="Complete from")
    tz: str | tzinfo | None = like(None, LookupOptions, "tz")
    date_format: str | None = like(None, LookupOptions, "date_format")
    country: Hashable | None = option(
        None, "Column of countries.", SALES, "Country", says=("optional",))
    once: Sequence[Hashable] | Literal[False] | None = option(
        None, "Column to count once for each order.", SALES, kind=list[str] | None,
        says=_OPTIONAL, not_on=_ASKED)
    contains_tax: bool | None = like(None, TaxOptions, "contains_tax", SALES)
    contains_shipping: bool | None = like(None, TaxOptions, "contains_shipping", SALES)
    parts: Mapping[Hashable, MoneyPart] | None = like(None, TaxOptions, "parts", SALES)
    refunds: RefundsAs | None = like(None, TaxOptions, "refunds", SALES)
    order: Hashable | None = option(
        None, "Column of order numbers: one counts once.", SALES, "Order number",
        says=("optional",))
    currency: Hashable | None = like(None, TaxOptions, "currency", SALES)
    decimal: DecimalMark | None = like(None, TaxOptions, "decimal", SALES)
    transaction: Hashable | None = option(
        None, "The former name of order.", SALES, hidden=True, not_on={"panel": "a former name"})
    # fmt: on

    def __post_init__(self) -> None:
        """Refuse choices that are not known; the former name of `order` is still accepted."""
        _check_choices(self)
        _check_money(self.once, self.parts)
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


@dataclass(frozen=True, slots=True)
class AmountOptions:
    """How a column of amounts that is named is read.

    Raises:
        ValueError: a choice is not known; it names the argument and what is expected.
    """

    # fmt: off
    once: Sequence[Hashable] | Literal[False] | None = option(
        None, "The columns of the whole order: as for `tax`, and so are the following.")
    refunds: RefundsAs | None = option(None, "See there.", choices=get_args(RefundsAs))
    order: Hashable | None = option(None, "See there.")
    currency: Hashable | None = option(None, "See there.")
    decimal: DecimalMark | None = option(None, "See there.", choices=get_args(DecimalMark))
    # fmt: on

    def __post_init__(self) -> None:
        """Refuse choices that are not known."""
        _check_choices(self)
        _check_money(self.once)


class BreakdownArguments(TypedDict, total=False):
    """The breakdowns of `FileOptions`, as editors know them."""

    by_month: bool


@dataclass(frozen=True, kw_only=True)
class FileOptions:
    """The arguments of `enrich_file()` about its files and its run, which documents them."""

    # fmt: off
    sheet: str | None = option(None, "Sheet of a workbook, else the first.", FILES, "Sheet")
    delimiter: str | None = option(None, "Between the cells of a CSV.", FILES, "Delimiter")
    encoding: str | None = option(None, "Of a CSV, as cp1252.", FILES, "Encoding")
    report: str | Path | None = option(
        None, "Write a report: .xlsx, .html.", FILES, kind=Path | None,
        not_on={"panel": "a button"})
    report_columns: Sequence[str] | None = option(
        None, "Your columns in it: a,b,c.", FILES, form="names", not_on=_SELDOM)
    layout: object = option(
        None, "Read the columns by this layout.", FILES, kind=Path | None, not_on=_SELDOM)
    save_layout: str | Path | None = option(
        None, "Keep the layout for the next file.", FILES, kind=Path | None, not_on=_SELDOM)
    force: bool = option(
        False, "Replace the output.", FILES, not_on={"panel": "no file is ever replaced"})
    resume: bool = option(
        True, "Use the results in the cache.", RUN, after="locked",
        not_on={"panel": "it always does"})
    progress: Progress | None = option(None, "Shows the stages of the run.", not_on=_SHOWN)
    by_month: bool = option(
        False, "Sums by state and month.", FILES, after="report_columns", says=("breakdown",),
        not_on=_SELDOM)
    stop: threading.Event | None = option(
        None, "Ends the run once another thread sets it.",
        not_on={"command": "Ctrl+C", "panel": "a button"})
    # fmt: on

    @property
    def reading(self) -> dict[str, str | None]:
        """How a table is opened."""
        return {"sheet": self.sheet, "delimiter": self.delimiter, "encoding": self.encoding}

    @property
    def breakdowns(self) -> tuple[str, ...]:
        """The tables of sums that are requested, by name."""
        rows = option_rows(FileOptions)
        return tuple(
            name for name in rows if "breakdown" in rows[name].says and getattr(self, name)
        )


def _check_choices(options: LookupOptions | TaxOptions | ExposureOptions | AmountOptions) -> None:
    for entry in fields(options):
        value, known = getattr(options, entry.name), entry.metadata["option"].choices
        if known and value != entry.default and value not in known:
            *most, last = map(repr, known)
            raise ValueError(
                f"{entry.name}: {value!r} is not known; expected {', '.join(most)} or {last}"
            )


def _check_money(once: object, parts: Mapping[Hashable, MoneyPart] | None = None) -> None:
    if not (once is None or once is False) and (
        isinstance(once, str) or not hasattr(once, "__iter__")
    ):
        raise ValueError(f"once: expected a list of columns such as ['Order Total'], not {once!r}")
    for label, part in (parts or {}).items():
        if part not in MONEY_PARTS:
            raise ValueError(
                f"parts: {label!r} is {part!r}, which is not known;"
                f" expected {', '.join(MONEY_PARTS)}"
            )
