"""Models of the service's responses (SPEC 2): frozen, and tolerant of unknown fields.

Unknown fields remain reachable through `model_dump()` (SPEC 2.8). Rates are strings as they
came on the wire: fractions, `"0.08250"` is 8.25%. A missing rate is `None`, never zero.
"""

from __future__ import annotations

from copy import deepcopy
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from svc_sdk.rates import is_rate, number_to_rate, rate_to_decimal, rate_to_float

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import ModelWrapValidatorHandler  # at run time only since 2.10

__all__ = [
    "Advisory",
    "Freshness",
    "HealthResponse",
    "Meta",
    "NexusList",
    "NexusRecord",
    "NexusRemoval",
    "Rate",
    "StateFreshness",
    "TaxResponse",
    "ValidationDetail",
]

RATE_FIELDS = (
    "country_rate",
    "state_rate",
    "county_rate",
    "city_rate",
    "combined_district_rate",
    "combined_rate",
)
"""The rate fields of SPEC 2.2; the last is the sum of the five before it."""

# Beyond this a number is no rate; refusing it also bounds the text of 1e999999.
_LARGEST_EXPONENT = 20


def _rate(value: object) -> object:
    """A string unchanged; a number written out in its own digits (WIRE, Answers)."""
    if value is None or (isinstance(value, str) and is_rate(value)):
        return value
    if isinstance(value, float):
        value = Decimal(repr(value))
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        exact = Decimal(value)
        if exact.is_finite() and abs(exact.adjusted()) <= _LARGEST_EXPONENT:
            text = number_to_rate(exact)
            if is_rate(text):
                return text
    raise ValueError("a rate must be a decimal string such as '0.08250' or a number")


def _text(value: object) -> object:
    """Text, also where a service writes a code as a number; `None` where it is neither."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


_WORDS = dict.fromkeys(("true", "yes", "y", "1"), True)
_WORDS |= dict.fromkeys(("false", "no", "n", "0"), False)


def _truth(value: object) -> object:
    """The truth of `"false"` or 0; a word that is neither stays text, a missing one missing."""
    if value is None or isinstance(value, bool):
        return value
    if value in (0, 1):
        return bool(value)
    text = str(value)
    return _WORDS.get(text.strip().lower(), text)


def _advisories(value: object) -> object:
    """A list of strings and advisories, whatever was sent: a rate is not lost for its warning."""
    if value is None:
        return []
    return [_advisory(item) for item in (value if isinstance(value, list | tuple) else [value])]


def _advisory(value: object) -> object:
    if isinstance(value, str | Advisory):
        return value
    if not isinstance(value, dict):
        return {"code": UNCODED, "value": value}
    code = value.get("code")
    text = _text(code)
    if isinstance(text, str) and text.strip():
        return value | {"code": text}
    sent = {"value": code} if code and not isinstance(code, str) else {}
    return sent | value | {"code": UNCODED}


COUNTS = ("count", "deleted_count", "deletedCount", "removed", "n_deleted")
"""The names by which a service may give the number of records that it removed, but `deleted`."""
_MOST_DIGITS = 18


def _count(value: object) -> int | None:
    """A whole number, also as text; `None` for anything else."""
    if isinstance(value, str):
        digits = value.strip()
        whole = digits.isascii() and digits.isdecimal() and len(digits) <= _MOST_DIGITS
        return int(digits) if whole else None
    return value if type(value) is int and value >= 0 else None


RateString = Annotated[str | None, BeforeValidator(_rate)]
Text = Annotated[str | None, BeforeValidator(_text)]
_Shown = Annotated[
    str | None, BeforeValidator(lambda value: value if value is None else str(value))
]
"""Text that is only shown, whatever was sent."""


class _Answer(BaseModel):
    # built with the first client: importing the library stays cheap
    model_config = ConfigDict(frozen=True, extra="allow", protected_namespaces=(), defer_build=True)

    @property
    def unreadable_fields(self) -> tuple[str, ...]:
        """The fields that are `None` because something else than expected was sent.

        An object where a city is expected, for instance: it remains in `model_dump()`.
        """
        return tuple(self.__pydantic_private__ or ())

    @model_validator(mode="wrap")
    @classmethod
    def _keep_unreadable(cls, value: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:  # noqa: ANN401 - whatever was sent
        result = handler(value)
        missing = {name for name, found in result.__dict__.items() if found is None}
        if missing and isinstance(value, dict):
            unreadable = {
                name: sent for name, sent in value.items() if sent is not None and name in missing
            }
            if unreadable:  # not declared: pydantic would make one of each model, in half its time
                object.__setattr__(result, "__pydantic_private__", unreadable)
        return result

    @model_serializer(mode="wrap")
    def _with_unreadable(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        written: dict[str, Any] = handler(self)
        unreadable = self.__pydantic_private__ or {}
        for name in written.keys() & unreadable.keys():
            written[name] = deepcopy(unreadable[name])
        return written


class Rate(_Answer):
    """The resolved rate and the place it is for (SPEC 2.2).

    Each rate field is a string, a fraction with five decimals, or `None` where the service
    gave none. `<field>_as_float()` gives its float, `as_decimal(field)` its exact value.
    `freight_taxable` says whether separately stated delivery is taxable; `None`: not known. Words
    such as "false" or "Y" are read; any other text stays text, and means neither.
    """

    state: Text = None
    zip: Text = None
    city: Text = None
    county: Text = None
    country: Text = None
    country_rate: RateString = None
    state_rate: RateString = None
    county_rate: RateString = None
    city_rate: RateString = None
    combined_district_rate: RateString = None
    combined_rate: RateString = None
    freight_taxable: Annotated[bool | str | None, BeforeValidator(_truth)] = None

    def as_decimal(self, field: str) -> Decimal | None:
        """The exact value of one rate field, `None` where it is missing.

        Raises:
            ValueError: `field` is not one of the six rate fields of SPEC 2.2.
        """
        if field not in RATE_FIELDS:
            raise ValueError(
                f"field: {field!r} is not a rate field; one of {', '.join(RATE_FIELDS)}"
            )
        value: str | None = getattr(self, field)
        return rate_to_decimal(value) if value is not None else None

    @property
    def combined_rate_decimal(self) -> Decimal | None:
        """The total rate, exact; `None` where it is missing."""
        return self.as_decimal("combined_rate")

    def country_rate_as_float(self) -> float | None:
        """`country_rate` as a float; `None` where it is missing."""
        return rate_to_float(self.country_rate) if self.country_rate is not None else None

    def state_rate_as_float(self) -> float | None:
        """`state_rate` as a float; `None` where it is missing."""
        return rate_to_float(self.state_rate) if self.state_rate is not None else None

    def county_rate_as_float(self) -> float | None:
        """`county_rate` as a float; `None` where it is missing."""
        return rate_to_float(self.county_rate) if self.county_rate is not None else None

    def city_rate_as_float(self) -> float | None:
        """`city_rate` as a float; `None` where it is missing."""
        return rate_to_float(self.city_rate) if self.city_rate is not None else None

    def combined_district_rate_as_float(self) -> float | None:
        """`combined_district_rate` as a float; `None` where it is missing."""
        value = self.combined_district_rate
        return rate_to_float(value) if value is not None else None

    def combined_rate_as_float(self) -> float | None:
        """`combined_rate` as a float; `None` where it is missing."""
        return rate_to_float(self.combined_rate) if self.combined_rate is not None else None


UNCODED = "uncoded_warning"
"""The code of an advisory that the service sent without a code that can be read."""


class Advisory(_Answer):
    """A warning that carries a code (SPEC 2.4); the fields that explain it remain.

    What is neither text nor an object with a code is an advisory, too: its `code` is
    "uncoded_warning", and it has the fields of the object, or the `value` that was sent.
    For `place_input_mismatch`: `customer_input_place` is the place the caller gave,
    `resolved_place_name` the one it resolved to.
    """

    code: str
    customer_input_place: _Shown = None
    resolved_place_name: _Shown = None


class Meta(_Answer):
    """How the rate was resolved and how far to trust it (SPEC 2.3).

    `effective_date` is an ISO date, `None` unless the source publishes one for the row; `period`
    is deprecated in favour of it. `confidence` is one of exact, high, medium, low, none.
    """

    resolved_via: Text = None
    confidence: Text = None
    effective_date: Text = None
    effective_date_basis: Text = None
    period: Text = None
    warnings: Annotated[list[str | Advisory], BeforeValidator(_advisories)] = Field(
        default_factory=list
    )


class TaxResponse(_Answer):
    """A lookup's response (SPEC 2.1); with `mode="full"` also the verbose fields (SPEC 2.5)."""

    rate: Rate
    meta: Annotated[Meta, BeforeValidator(lambda value: Meta() if value is None else value)] = (
        Field(default_factory=Meta)
    )

    @property
    def combined_rate(self) -> float | None:
        """The total rate as a float, for display; `None` where it is missing."""
        return self.rate.combined_rate_as_float()

    @property
    def combined_rate_string(self) -> str | None:
        """The total rate as it came on the wire, lossless: `"0.08250"`."""
        return self.rate.combined_rate

    @property
    def combined_rate_decimal(self) -> Decimal | None:
        """The total rate, exact, for money."""
        return self.rate.combined_rate_decimal

    @property
    def confidence(self) -> str | None:
        """One of exact, high, medium, low, none; `None` where the service did not say."""
        return self.meta.confidence

    @property
    def warnings(self) -> list[str | Advisory]:
        """The advisories: plain strings, or objects with a `code` (SPEC 2.4)."""
        return self.meta.warnings


class HealthResponse(_Answer):
    """The response of a liveness check (SPEC 2.6)."""

    status: str


class NexusRecord(_Answer):
    """A nexus registration, identified by state and type (SPEC 2.7).

    `nexus_type` is one of physical, economic, marketplace; `registered_at` an ISO date or `None`.
    """

    state: str
    nexus_type: str
    registered_at: Text = None
    address: Text = None
    notes: Text = None


class NexusList(_Answer):
    """The account's nexus registrations, ordered by state, then type.

    Iterate over it, or take its `len()`: it is a collection of its records. `count` is the
    service's own number of them.
    """

    nexus: list[NexusRecord]
    count: int | None = None

    def __iter__(self) -> Iterator[NexusRecord]:  # type: ignore[override]
        """Its records; for the names and values of the fields see `model_dump()`."""
        return iter(self.nexus)

    def __len__(self) -> int:
        """How many records it holds."""
        return len(self.nexus)


class NexusRemoval(_Answer):
    """The result of a removal (SPEC 4.1): how many records, and of which state and type.

    `deleted` is `None` where the service accepted the removal without a number that can be read,
    as with 202 or 204: how many records it removed, or whether it has yet, is not known.
    """

    deleted: Annotated[int | None, BeforeValidator(_count)] = None
    state: Text = None
    nexus_type: Text = None

    @model_validator(mode="before")
    @classmethod
    def _with_count(cls, value: Any) -> Any:  # noqa: ANN401 - whatever was sent
        if not isinstance(value, dict) or _count(value.get("deleted")) is not None:
            return value
        counts = {_count(value.get(name)) for name in COUNTS} - {None}
        return value | {"deleted": counts.pop() if len(counts) == 1 else None}


class StateFreshness(_Answer):
    """How old and how complete the data of one state is."""

    state: str
    source: Text = None
    edition: Text = None
    loaded_at: Text = None


class Freshness(_Answer):
    """The age and coverage of the service's data, state by state."""

    states: list[StateFreshness]


class ValidationDetail(_Answer):
    """One item of a 422 body (SPEC 4.1): where, what, and the kind of error."""

    loc: tuple[int | str, ...]
    msg: str
    type: str
    input: Any = None
    ctx: dict[str, Any] | None = None
