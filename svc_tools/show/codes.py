"""The table of codes: what each means, why it matters, what to do; and rates in words. Pure.

Every status, warning, reason to review, basis and error has one row in `CODES`. The tables of
docs/COLUMNS.md and docs/TAX.md are written from it (`scripts/write_code_tables.py`); the command
line, reports, the panel and the spreadsheet show its texts.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Literal

from svc_sdk.rates import rate_to_decimal
from svc_tools.show.official_pages import GENERIC_PAGE, OFFICIAL_PAGES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from svc_sdk.models import Advisory, TaxResponse
    from svc_tools.show.official_pages import OfficialPage

CodeKind = Literal[
    "status",  # of `lookup_status`
    "review",  # of `lookup_review_reason`
    "warning",  # an advisory that is no reason to review a row
    "mark",  # why a review lists a row that the lookup did not mark
    "use",  # what a row can be used for
    "tax_review",
    "tax_due",  # of `tax_due_reason`
    "compared",  # of a reconciliation
    "stake",  # of `review_basis`
    "confidence",
    "via",  # of `resolved_via`
    "basis",  # of `effective_date_basis`
    "error",  # of the service
]


@dataclass(frozen=True, slots=True)
class Code:
    """One row of the table: everything known about a code.

    Attributes:
        kinds: where it occurs.
        meaning: what it means.
        why: why it matters, for a reason to review.
        to_do: what to do about it, a sentence.
        review: a rate requires review when its response carries the code as a warning.
        other_date: the rate is that of another date than the one of the query.
        disproves_date: a published date proves nothing, as with `other_date` and `partial`.
        partial: the parts that the rate may lack (WIRE).
        other_city: another city may be meant; the warning may say what its rates are (WIRE).
        other_place: another place of the state may be meant, of which no rates are known; no reason
            to review in a state that has one rate.
        delivery: it is in doubt whether delivery is taxed.
        doubtful: a confidence that is a reason to review where nothing else says why.
        own_records: one's own records settle it, no state's page; so of `mark` and `tax_due`.
        not_due: the seller owes nothing on such sales, which are these.
        replaces: a code that says the same less precisely, and is not shown beside this one.
    """

    kinds: tuple[CodeKind, ...]
    meaning: str
    why: str = ""
    to_do: str = ""
    review: bool = False
    other_date: bool = False
    disproves_date: bool = False
    partial: tuple[str, ...] = ()
    other_city: bool = False
    other_place: bool = False
    delivery: bool = False
    doubtful: bool = False
    own_records: bool = False
    not_due: str = ""
    replaces: str = ""


_AGAIN = "Run the lookup again."
_CHECK_PLACE = "Check the place against the order."
_ASK_STATE = "Check the rate with the state."
_ASK_FOR_DATE = "Check the rate for this date with the state."
_WHICH = "Find out in which of them the address lies:"
_GEOCODER = 'geocode="census" (docs/GEOCODING.md)'
_FULL_ADDRESS = (
    f"{_WHICH} look it up with the street address (for that the embedded service needs the state's"
    f" boundary file, or {_GEOCODER}), or ask the state."
)
_WHICH_SIDE = (
    "Find out on which side it lies: look the address up with the state; where you gave the"
    " coordinates, check those."
)
_LOCAL_PART = "Get the local rate from the state before you charge or file tax."
_WRONG_PLACE = "the city or the ZIP is wrong, and with it perhaps the rate"
_OTHER_STATE = "another state would have another rate"
_OFF_MAP = "it may lie where no state's rate applies"
_OTHER_DATE = "the rate is that of another date"
_MAY_HAVE_CHANGED = "the rate may have changed since"
_ERRORS = {
    "unauthorized": (
        "The service does not accept the key",
        "Check the API key and the address of the service, then enter the key again.",
    ),
    "payment_required": (
        "The account has a billing problem",
        "Settle it with the service, then try again: until then the same request is refused.",
    ),
    "forbidden": (
        "The account's plan does not include this",
        "Get a plan that includes it, or use another account.",
    ),
    "not_found": (
        "The service has no rate for this place",
        "Check state, ZIP Code and city; if they are right, get the rate from the state.",
    ),
    "too_many_requests": (
        "The service limits how many requests it accepts",
        "Wait a moment, then try again.",
    ),
    "quota_exceeded": (
        "The account's quota is used up",
        "Wait for the next period, or get a larger quota: until then requests are refused.",
    ),
    "invalid_request": (
        "The service does not accept the request",
        "Correct what is named, then try again.",
    ),
    "service_error": (
        "The service has a problem",
        "Try again in a few minutes; if it persists, quote the reference to support.",
    ),
    "no_connection": (
        "The service does not respond",
        "Check its address and the network, then try again.",
    ),
    "extra_missing": (
        "A package that this needs is not installed",
        "Install it with the command that is named, then try again.",
    ),
    "not_started": (
        "The embedded service cannot start for this",
        "Do what is named, then try again; its lookups work meanwhile.",
    ),
    "wrong_address": (
        "No service is at this address",
        "Correct the address of the service, then try again.",
    ),
    "not_the_service": (
        "The response is not from the service",
        "Check the address of the service: another program responded, such as a gateway.",
    ),
}
"""Errors of the service (SPEC 5), as titles of messages; what to do."""
_VIA = {
    "address": "the street address",
    "zip4": "the ZIP+4",
    "zip5": "the ZIP Code",
    "place": "the name of the place",
    "coordinates": "the coordinates",
    "state": "the state alone",
}
"""What decided a rate, by `resolved_via` (WIRE)."""
_BASIS = {
    "publisher_effective_date": "the publisher gives this date",
    "edition_only": "the publisher gives an edition, and no date for the rate",
    "no_published_date": "no date is published",
}
"""What an effective date rests on, by `effective_date_basis` (SPEC 2.3)."""
_STAKE = {
    "range": (
        "the tax at the highest rate of the places that fit less that at the lowest; where only the"
        " tax on delivery is in doubt, that tax"
    ),
    "expected": (
        "an expected amount: that difference times the share of the ZIP's housing that has another"
        " rate (1 \N{MINUS SIGN} lookup_share)"
    ),
    "tax": "the whole tax of the row",
    "tax_high": "no tax: the most that it can be (tax_high)",
    "estimate": (
        "no tax: what is taxable of the sale at the highest rate found for its state in the"
        " frame (of any state where its own has none), or tax_low where that is more"
    ),
    "sale": "the frame has no tax: the sale itself",
}
"""What the dollars of a row are, by `review_basis`; the sign of a refund is dropped."""
_COMPARED = {
    "no_rate": "no tax is known: the lookup gave no whole rate (its status follows the colon)",
    "due_not_known": "whether tax is due is not known (the code of tax_due_reason follows)",
    "collected_missing": "nothing is recorded as collected: not the same as 0.00",
    "collected_unreadable": "what was collected is not a whole number of cents",
    "nothing_due": "no tax is due from the seller, and none was collected",
    "not_due": "tax was collected though none is due (the code of tax_due_reason follows)",
    "agrees": "collected is the tax, to the cent",
    "within_tolerance": "collected differs from the tax by no more than the tolerance",
    "collected_nothing": "0.00 was collected",
    "sign_differs": (
        "collected is the tax with the other sign: a refund booked as a sale, or the reverse"
    ),
    "collected_on_exempt": "tax was collected on a sale that is wholly exempt",
    "collected_at_zero_rate": "tax was collected where the rate is 0",
    "collected_without_sale": "tax was collected on a taxable amount of 0.00",
    "rounding": "the tax of this line rounded the other way: less than a cent from the product",
    "at_state_rate_only": "equals the tax at the state's rate alone",
    "without_county": "equals the tax without the part of the county",
    "without_city": "equals the tax without the part of the city",
    "without_districts": "equals the tax without the part of the districts",
    "without_county_city": "equals the tax without the part of county and city",
    "without_county_districts": "equals the tax without the part of county and districts",
    "without_city_districts": "equals the tax without the part of city and districts",
    "at_rate_low": "equals the tax at rate_low, the lowest rate of the places that fit",
    "at_rate_high": "equals the tax at rate_high, the highest rate of the places that fit",
    "without_shipping": "equals the tax on the goods alone: delivery, taxable here, was not taxed",
    "on_shipping_too": "equals the tax with delivery included, which is not taxable here",
    "on_exempt_too": "equals the tax on the whole sale, its exempt part included",
    "tax_included": "equals the tax if the amount already contained it",
    "within_range": "lies between tax_low and tax_high: the place decides, and it is not certain",
    "rate_differs": "none of these: implied_rate says at which rate it was collected",
}
"""Reasons of a reconciliation: rows that cannot be compared, agree, or differ."""


def _words(kind: CodeKind, meanings: Mapping[str, str]) -> dict[str, Code]:
    """Rows of which nothing but a meaning is said."""
    return {code: Code((kind,), meaning) for code, meaning in meanings.items()}


CODES: Mapping[str, Code] = {
    # statuses without a whole rate, the most urgent first
    "failed": Code(
        ("review", "status"),
        "the service gave no usable response",
        "run again: the rate may be available then",
        _AGAIN,
        own_records=True,
    ),
    "not_attempted": Code(
        ("review", "status"),
        "the run ended before the row was looked up",
        "run again: only what is missing is looked up",
        _AGAIN,
        own_records=True,
    ),
    "invalid": Code(
        ("review", "status"),
        "the row names no usable place or date",
        "it was not looked up; it has no tax until it is corrected",
        "Correct the row, then look it up again.",
        own_records=True,
    ),
    "unresolved": Code(
        ("review", "status"),
        "the service has no rate for the place",
        "the row has no tax until its place is corrected or the state gives its rate",
        "Check state, ZIP Code and city; if they are right, get the rate from the state.",
    ),
    "partial": Code(
        ("review", "status"),
        "the rate lacks its local or district part",
        "the rate is a lower bound: no tax is computed from it unless you choose to",
        _LOCAL_PART,
    ),
    "unsupported": Code(
        ("review", "status"),
        "the row lies outside the states and DC",
        "no state's sales tax applies; something else may",
        "Handle it by hand: no US state sales-tax rate applies here.",
        own_records=True,
    ),
    "no_tax": Code(
        ("mark", "tax_due", "compared"),
        "there is no tax: tax_error says why",
        to_do="Correct what is named, then compute the tax again.",
    ),
    "ok": Code(("status",), "a whole rate: state + county + city + districts"),
    # reasons to review a rate, the most urgent first
    "rate_too_high": Code(
        ("review",),
        "the rate is above 20%, which no sales tax in the US is",
        "the rate is wrong, and with it the tax that is computed from it",
        _ASK_STATE,
    ),
    "place_input_mismatch": Code(
        ("review",),
        "the city given is not the place that the rate is for",
        _WRONG_PLACE,
        _CHECK_PLACE,
        review=True,
        other_city=True,
        own_records=True,
    ),
    "zip_not_used": Code(
        ("review",),
        "the ZIP given leads to no rate, and the city decided",
        _WRONG_PLACE,
        "Check the ZIP Code against the order.",
        review=True,
        other_city=True,
        own_records=True,
    ),
    "several_rates": Code(
        ("review",),
        "the place fits several jurisdictions, and their rates differ",
        "rate_low and rate_high say how far the rate may be off; a full address decides",
        _FULL_ADDRESS,
        replaces="zip_spans_jurisdictions",
    ),
    "zip_spans_jurisdictions": Code(
        ("review",),
        "the ZIP lies in several jurisdictions, and their rates may differ",
        "whether they differ is not known; a full address decides",
        _FULL_ADDRESS,
    ),
    "address_near_boundary": Code(
        ("review",),
        "the point or address is near a limit of a city or county, and the rate beyond is another",
        "rate_low and rate_high say how far the rate may be off; the exact side decides",
        _WHICH_SIDE,
        review=True,
    ),
    "address_match_contradicts": Code(
        ("review",),
        "the address that the geocoder found is in another state, ZIP or city than the one given",
        _WRONG_PLACE,
        "Check the address against the order.",
        review=True,
        own_records=True,
    ),
    "point_not_used": Code(
        ("review",),
        "the coordinates are not exact, or cannot be those of the row's place, and its ZIP or"
        " address decided",
        "the coordinates or the ZIP are wrong, and with them perhaps the rate",
        "Check the coordinates, which need four decimals, and the ZIP Code against the order.",
        review=True,
        other_place=True,
        own_records=True,
    ),
    "point_coarse": Code(
        ("review",),
        "the coordinates have fewer than four decimals: the point may be a kilometer off",
        "another city or county may have another rate, and the row names neither ZIP nor address",
        "Give the coordinates with four decimals or more, or the ZIP Code or street address.",
        review=True,
        other_place=True,
        own_records=True,
    ),
    "zip_of_another_state": Code(
        ("review",),
        "only a part of the ZIP lies in the state of the row",
        _OTHER_STATE,
        _CHECK_PLACE,
        review=True,
        own_records=True,
    ),
    "zip_crosses_state_line": Code(
        ("review",),
        "a part of the ZIP lies in another state",
        _OTHER_STATE,
        _CHECK_PLACE,
        review=True,
        own_records=True,
    ),
    "near_state_line": Code(
        ("review",),
        "the point is closer to another state than the map is exact",
        _OTHER_STATE,
        _CHECK_PLACE,
        review=True,
    ),
    "near_map_edge": Code(
        ("review",),
        "the point is near the sea or another country",
        _OFF_MAP,
        _CHECK_PLACE,
        review=True,
    ),
    "point_off_map": Code(
        ("review",),
        "the point lies in no county: the rate is that of the nearest one",
        _OFF_MAP,
        _CHECK_PLACE,
        review=True,
    ),
    "source_conflict": Code(
        ("review",),
        "published sources disagree on the rate",
        "only the state can say which is right",
        _ASK_STATE,
        review=True,
        disproves_date=True,
    ),
    "as_of_before_history": Code(
        ("review",),
        "the sale is before the oldest rate known, which was used",
        _OTHER_DATE,
        _ASK_FOR_DATE,
        review=True,
        other_date=True,
    ),
    "as_of_after_edition": Code(
        ("review",),
        "the sale is after what the rates cover; the newest was used",
        _MAY_HAVE_CHANGED,
        _ASK_FOR_DATE,
        review=True,
        other_date=True,
    ),
    "stale_rate": Code(
        ("review",),
        "the rate was last published for an earlier date, and no newer exact figure exists",
        _MAY_HAVE_CHANGED,
        _ASK_FOR_DATE,
        review=True,
        other_date=True,
    ),
    "effective_after_sale": Code(
        ("review",), "the rate took effect after the day of the row", _OTHER_DATE, _ASK_FOR_DATE
    ),
    "seasonal_rates": Code(
        ("review",),
        "towns of the state have other rates in winter",
        "the rate may be that of the other season",
        _ASK_FOR_DATE,
        review=True,
        disproves_date=True,
    ),
    "parts_do_not_add_up": Code(
        ("review",),
        "the parts of the rate are not its sum",
        "either the rate or a part is wrong: the tax by level is not known",
        _ASK_STATE,
        review=True,
        disproves_date=True,
    ),
    "uncoded_warning": Code(
        ("review",),
        "the service sent a warning that cannot be read",
        "what it warns of is not known",
        _ASK_STATE,
        review=True,
    ),
    "confidence_unknown": Code(
        ("review",),
        "the service gives no confidence in the rate, or one with no known meaning",
        "how certain the rate is, is not known",
        _ASK_STATE,
    ),
    "low_confidence": Code(
        ("review",),
        "the service has little confidence in the rate, and no other reason here says why",
        "only the state can say whether the rate is right",
        _ASK_STATE,
    ),
    # advisories that are no reason to review a row
    "local_rates_not_covered": Code(
        ("warning",),
        "the rate is the state's part alone",
        to_do=_LOCAL_PART,
        partial=("county_rate", "city_rate", "combined_district_rate"),
    ),
    "districts_not_covered": Code(
        ("warning",),
        "a city or district rate may come on top",
        to_do="Ask the state whether a city or district tax comes on top there.",
        partial=("city_rate", "combined_district_rate"),
    ),
    "address_not_matched": Code(
        ("warning",),
        "decided by the ZIP Code or place, not by the street address",
        to_do="Check the street address; the embedded service needs the state's boundary file for"
        " it.",
    ),
    "address_districts_not_covered": Code(
        ("warning",),
        "districts drawn by address may add to the rate",
        to_do="Look the address up with the state: districts add tax.",
    ),
    "rate_rounded": Code(
        ("warning",),
        "the published rate has more than five decimals, and is rounded half up",
        to_do="Nothing up to $2,000: the tax is off by a cent at most. Above that, use the rate as"
        " published, which the warning has.",
    ),
    "unreadable_field": Code(
        ("warning",),
        "a field of the response, such as its city, cannot be read: it is missing here",
        to_do="Report it to the service; svc-tools lookup with --json shows what was sent.",
    ),
    # why a review lists a row that has no reason in its columns
    "needs_review": Code(
        ("mark",),
        "the lookup marked the rate for review; the reason column is not in the frame",
        to_do="Look it up with the column lookup_review_reason, which says why.",
    ),
    "mostly_not_taxable": Code(
        ("mark",),
        "the export marks more than half of the state's sales as not taxable; the rows are not"
        " listed one by one",
        to_do="Check in the shop that these goods are not taxable there; to tax them:"
        " taxable=False.",
    ),
    # `tax_review` in the order in which a cell lists them
    "amounts_do_not_add_up": Code(
        ("tax_review",),
        "the columns of the order do not add up to its total: something is in it that has no"
        " column, such as a tip, a gift card or another discount, or the tax is in the amount",
        to_do="Look the order up in the shop, and enter what was sold for how much before tax.",
        own_records=True,
    ),
    "partial_rate": Code(
        ("tax_review",),
        "the tax was computed from a rate that lacks its local or district part: a lower bound",
        to_do=_LOCAL_PART,
    ),
    "freight_taxable_unknown": Code(
        ("tax_review",),
        "whether delivery is taxable there is not known: tax_low is without, tax_high with it",
        to_do="Ask the state whether delivery is taxable, then compute again.",
        delivery=True,
    ),
    "delivery_optional_unknown": Code(
        ("tax_review", "warning"),
        "the state exempts delivery only where the buyer could avoid the charge, and it is not"
        " known whether yours can",
        to_do="Say once whether your buyers can avoid the charge: delivery optional (they can pick"
        " the goods up, say) or only (every order is shipped).",
        delivery=True,
        own_records=True,
    ),
    "delivery_unsettled": Code(
        ("tax_review", "warning"),
        "sources disagree whether delivery was taxable there on that day",
        to_do="Ask the state whether delivery was taxable on that day.",
        delivery=True,
    ),
    "over_cap": Code(
        ("tax_review",),
        "the amount is above what the local tax of that state applies to on one item (Florida"
        " $5,000, Tennessee $1,600): if this is one item, the local part is too high, and"
        " Tennessee also has a state tax on single articles",
        to_do="Compute the part above the state's cap by hand: no cap is applied here.",
        own_records=True,
    ),
    "origin_sourced": Code(
        ("tax_review",),
        "shipped within a state that taxes such sales, in whole or in part, by where they are"
        " shipped from; the tax is that of where they are shipped to",
        to_do="Check whether the rate at the seller's place applies instead.",
    ),
    "origin_unknown": Code(
        ("tax_review",),
        "the state taxes sales within it by their origin, and where this one was shipped from"
        " is not known",
        to_do="Say where the sale was shipped from, then compute again.",
        own_records=True,
    ),
    "invoice_incomplete": Code(
        ("tax_review",),
        "other lines of the same invoice have no tax: it was rounded without them",
        to_do="Complete the invoice's other lines, then compute the tax again.",
        own_records=True,
    ),
    "channel_unknown": Code(
        ("tax_review", "tax_due"),
        "the channel says neither direct nor marketplace: who pays the tax is not known",
        to_do="Say whether the sale was direct or through a marketplace.",
    ),
    "marketplace_record_only": Code(
        ("tax_review",),
        "on the day of the sale the register covers the state by a marketplace record only, and"
        " the sale is not marked as a marketplace's: decide whether you owe its tax",
        to_do="Check whether the seller must register for direct sales there.",
        own_records=True,
    ),
    # `tax_due_reason`, why tax due is missing
    "marketplace_facilitated": Code(
        ("tax_due",),
        "the marketplace collects and pays the tax of this sale",
        to_do="Nothing to pay: the marketplace collects and remits this tax.",
        not_due="marketplace sales",
    ),
    "no_nexus": Code(
        ("tax_due",),
        "the register has no record for the state of the sale",
        to_do="Check the register: no record says that the seller collects in this state.",
        not_due="sales in states where you are not registered",
    ),
    "not_registered_yet": Code(
        ("tax_due",),
        "the sale is before the first record of its state begins",
        to_do="Check the register: the sale is before the record's date.",
        not_due="sales before you were registered",
    ),
    "registered_in_period": Code(
        ("tax_due",),
        "the state's first record begins within the month or quarter that was looked up:"
        " whether the sale came before is not known",
        to_do="Compare the sale's own day with that of the register's record.",
    ),
    "state_unknown": Code(
        ("tax_due",),
        "the result names no state, so the register cannot be searched",
        to_do=_CHECK_PLACE,
    ),
    "date_unknown": Code(
        ("tax_due",),
        "the state's first record has a date, and the sale has none",
        to_do="Give the date of the sale, then look it up again.",
    ),
    **{code: Code(("error",), title, to_do=to_do) for code, (title, to_do) in _ERRORS.items()},
    # what a row can be used for
    "ready": Code(("use",), "a whole rate, and nothing to review"),
    "check": Code(("use",), "a whole rate that requires review before it is used"),
    "incomplete": Code(("use",), "the rate lacks its local or district part"),
    "none": Code(
        ("use", "confidence"),
        "no rate, for example outside the US, not found, or not looked up",
        doubtful=True,
    ),
    # `confidence` (SPEC 2.1), from the best to the worst
    "exact": Code(("confidence",), "decided by an official code or boundary record"),
    "high": Code(("confidence",), "one published rate fits the place"),
    "medium": Code(
        ("confidence",),
        "likely, but unsure in one way: several rates, the place, the date, or the list",
    ),
    "low": Code(("confidence",), "uncertain, dated or incomplete: check before use", doubtful=True),
    **_words("via", _VIA),
    **_words("basis", _BASIS),
    **_words("stake", _STAKE),
    **_words("compared", _COMPARED),
}
"""Every code of the toolkit and of the service's responses, the most urgent first."""


def _having(says: Callable[[Code], object]) -> tuple[str, ...]:
    return tuple(code for code, row in CODES.items() if says(row))


# what rows say, as sets: see the attributes of `Code`
REVIEWED = frozenset(_having(lambda row: row.review))
OTHER_DATE = frozenset(_having(lambda row: row.other_date))
DISPROVING = OTHER_DATE.union(_having(lambda row: row.disproves_date or row.partial))
PARTIAL_CODES = {code: CODES[code].partial for code in _having(lambda row: row.partial)}
OTHER_CITY_CODES = frozenset(_having(lambda row: row.other_city))
OTHER_PLACE_CODES = frozenset(_having(lambda row: row.other_city or row.other_place))
OF_DELIVERY = frozenset(_having(lambda row: row.delivery))
DELIVERY_WARNINGS = _having(lambda row: row.delivery and "warning" in row.kinds)
DOUBTFUL = frozenset(_having(lambda row: row.doubtful))
NOT_DUE = {code: CODES[code].not_due for code in _having(lambda row: row.not_due)}
REPLACES = {code: CODES[code].replaces for code in _having(lambda row: row.replaces)}
_OWN_RECORDS = frozenset(
    _having(lambda row: row.own_records or {"mark", "tax_due"}.intersection(row.kinds))
)
_RANK = {code: rank for rank, code in enumerate(CODES)}


def codes_of(kind: CodeKind) -> tuple[str, ...]:
    """The codes of a kind, the most urgent first; those that are of another kind too come last."""
    codes = (code for code, row in CODES.items() if kind in row.kinds)
    return tuple(sorted(codes, key=lambda code: CODES[code].kinds[0] != kind))


def meaning_of(code: str) -> str:
    """The meaning of a code, also of one with details after a colon; empty where it is unknown."""
    name, _, details = code.partition(":")
    if details.startswith(" "):  # a sentence about a field, such as "state: 'x' is not ..."
        return ""
    row = CODES.get(code) or CODES.get(name)
    return row.meaning if row else ""


_OF_STATE = re.compile(r"\b(from|with|[Aa]sk) the state\b(?!')")
AddressGiven = Literal["no", "some", "all"]
"""Whether rows have a street address that did not decide their rate."""


def what_to_do(code: str, state: str = "", *, address: AddressGiven = "no") -> str:
    """What to do about a status or a code; a general sentence for one that is not in the table.

    Args:
        code: the status or the code.
        state: the code of the state; the rates of Alaska are those of its boroughs and cities.
        address: whether a street address was given that did not decide the rate
            (`address_not_matched`), in the rows that it is about.
    """
    row = CODES.get(code)
    text = (row.to_do if row else "") or _ASK_STATE
    if text == _FULL_ADDRESS and address == "all":
        text = (
            f"{_WHICH} look the street address up at {lookup_page(state)}, or have the embedded"
            f" service locate it with {_GEOCODER}."
        )
    elif text == _FULL_ADDRESS and address == "some":
        text = (
            f"{_WHICH} look it up with the street address; where that was given already, look it"
            f" up at {lookup_page(state)}, or have the embedded service locate it with {_GEOCODER}."
        )
    if state == "AK":
        text = _OF_STATE.sub(r"\1 the borough or city", text)
    return text


def where_to_do(code: str, state: str) -> OfficialPage | None:
    """Where to do it: the state's official page; `None` where that is no help, or none exists."""
    if code in _OWN_RECORDS:
        return None
    return OFFICIAL_PAGES.get(state) if state else GENERIC_PAGE


def urgency(code: str) -> tuple[int, str]:
    """A sort key of statuses and codes: the most urgent first."""
    return _RANK.get(code, len(_RANK)), code


def codes_in(cell: str) -> tuple[str, ...]:
    """The codes in a cell, which separates them by semicolons."""
    return tuple(filter(None, (code.strip() for code in cell.split(";"))))


def lookup_page(state: str) -> str:
    """The name of the official page where the rate of an address in a state can be looked up."""
    return OFFICIAL_PAGES.get(state, GENERIC_PAGE).lookup or GENERIC_PAGE.lookup


RATE_PARTS = (
    ("State", "state_rate"),
    ("County", "county_rate"),
    ("City", "city_rate"),
    ("Districts", "combined_district_rate"),
)
"""The parts of a rate that are displayed, and their fields (SPEC 2.2)."""
HIGHEST_RATE = Decimal("0.20000")
"""No combined rate of sales tax in the US is above this; the highest are below 14%."""
CONFIDENCES = codes_of("confidence")
"""The values of `confidence` (SPEC 2.1), from the best to the worst."""
SURE = frozenset(CONFIDENCES) - DOUBTFUL
"""Those that are no reason to review a rate."""
_RATE = re.compile(r"(?<![\d.])[01]\.\d{5}(?![\d.]\d|\d)")


_ADVISORIES = frozenset((*codes_of("review"), *codes_of("warning")))


def unknown_warnings(counts: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    """The warnings of a service that are not in the table, with their rows, the most first.

    Args:
        counts: codes as a column has them, and the rows of each; a code may occur several times.
    """
    rows: Counter[str] = Counter()
    for code, count in counts:
        if code not in _ADVISORIES:
            rows[code] += count
    return sorted(rows.items(), key=lambda row: (-row[1], row[0]))


def code_of(warning: str | Advisory) -> str:
    """The code of a warning, or its text; a known code whatever its case and the blanks around."""
    text = warning if isinstance(warning, str) else warning.code
    if text in _ADVISORIES:
        return text
    known = text.strip().casefold()
    return known if known in _ADVISORIES else text


def all_warnings(result: TaxResponse) -> list[str | Advisory]:
    """The warnings of a response, and one of its fields that cannot be read, if there are any."""
    fields = [*result.rate.unreadable_fields, *result.meta.unreadable_fields]
    if not fields:
        return result.warnings
    from svc_sdk import Advisory  # noqa: PLC0415 - few need it, and models load slowly

    named = " and ".join(filter(None, (", ".join(fields[:-1]), fields[-1])))
    message = f"What the service sent as {named} cannot be read, and is missing here"
    advisory = Advisory.model_validate({"code": "unreadable_field", "message": message})
    return [*result.warnings, advisory]


def lacking(result: TaxResponse) -> tuple[str, ...]:
    """The warnings of a response that its rate lacks a part."""
    return tuple(code for code in map(code_of, result.warnings) if code in PARTIAL_CODES)


def confidence_of(result: TaxResponse) -> str | None:
    """The confidence in lower case, as SPEC 2.1 writes it; `None` where it is missing."""
    return (result.confidence or "").strip().casefold() or None


def total_rate(result: TaxResponse) -> Decimal | None:
    """The combined rate; `None` without one that may be shown as a rate, or relied on at all."""
    total = result.rate.combined_rate_decimal
    usable = total is not None and 0 <= total < 1 and confidence_of(result) != "none"
    return total if usable else None


def part_is_known(result: TaxResponse, field: str) -> bool:
    """Whether a part of the rate is known; the zero of a part that is not covered is not."""
    rate = getattr(result.rate, field)
    if rate is None or not result.warnings or rate_to_decimal(rate) != 0:
        return rate is not None
    return is_covered(field, lacking(result))


def is_covered(field: str, codes: Iterable[str]) -> bool:
    """Whether no warning says that a part of the rate is not covered, whose zero is none then."""
    return not any(field in PARTIAL_CODES.get(code, ()) for code in codes)


def known_part(result: TaxResponse, field: str) -> Decimal | None:
    """A part of the rate, exact; `None` where it is not known."""
    return result.rate.as_decimal(field) if part_is_known(result, field) else None


def percent(rate: Decimal) -> str:
    """A rate as a percentage with at least two decimals: 8.25%, 8.625%."""
    sign, digits, exponent = rate.as_tuple()
    # no arithmetic: a Decimal context would round a long number
    hundredfold = Decimal((sign, digits, int(exponent) + 2))
    whole, _, fraction = f"{hundredfold:f}".partition(".")
    return f"{whole}.{fraction.rstrip('0').ljust(2, '0')}%"


_LONGEST = 200


def sentence(warning: str | Advisory) -> str:
    """A warning (SPEC 2.4) as a sentence, its rates as percentages."""
    code = code_of(warning)
    if isinstance(warning, str):
        return with_percentages(meaning_of(code) or warning)
    message = (warning.model_extra or {}).get("message")
    if not isinstance(message, str):
        message = meaning_of(code)
        given, found = warning.customer_input_place, warning.resolved_place_name
        if given and found:
            message = f"The place given is {given}, and the rate is that of {found}"
        elif code == "uncoded_warning":
            extra = warning.model_extra or {}
            message = f"{message}: {str(extra.get('value', extra))[:_LONGEST]}"
    return f"{with_percentages(message)} ({warning.code})" if message else warning.code


def with_percentages(message: str) -> str:
    """A message with its rates as percentages."""
    return _RATE.sub(lambda found: percent(Decimal(found[0])), message)
