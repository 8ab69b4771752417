"""The state of every row of an enriched frame, as numbers."""

# MERGED attention: Which rows of an enriched frame need a person, why, and what that person can do.
# MERGED review_codes: Why rows need a person, as codes: what a review and a report say alike.

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from svc_tools.display import capital
from svc_tools.frames.arrow import Coded, coded, combined, first_column
from svc_tools.frames.columns import is_label, place_role
from svc_tools.frames.lookup_columns import require_columns
from svc_tools.frames.meanings import codes_in, meaning_of, urgency, what_to_do
from svc_tools.frames.money import Money, money
from svc_tools.frames.provenance import lookups_of
from svc_tools.frames.taxes.taxed_rows import taxed_rows
from svc_tools.lookup.review import REVIEW_REASONS
from svc_tools.places import STATES, normal_zip, state_code, states_of

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping
    from decimal import Decimal

    import pandas as pd

_OF_TAX = ("tax_error", "taxable_amount", "exempt_amount")
_NOT_KNOWN = "due_not_known:"

_ANSWERED = frozenset({"ok", "partial"})


class Fault(NamedTuple):
    """Why rows need a person.

    Attributes:
        failed: they have no rate, or no tax (in a frame with taxes); else the tax is in doubt.
        kind: the most pressing of the faults: a status, `no_tax`, or a code of a review.
        reason: a sentence for each fault.
        to_do: what to do about it, a sentence for each fault.
    """

    failed: bool
    kind: str
    reason: str
    to_do: str


@dataclass(frozen=True, slots=True)
class Group:
    """The rows of one kind of fault.

    `sales`, `tax` and `at_stake` (US dollars) add up what there is; they are `None` where no row
    of the kind has any.
    """

    kind: str
    failed: bool
    rows: int
    sales: Decimal | None
    tax: Decimal | None
    at_stake: Decimal | None
    to_do: str


@dataclass(frozen=True, slots=True, eq=False)
class Attention:
    """The rows that need a person: first those that failed, then those to be reviewed.

    Failed rows come by the urgency of their fault, in each kind the largest sales first; rows to
    be reviewed by the dollars at stake, then by their tax.

    Attributes:
        rows: positions in the frame, from 0.
        codes: which of `faults` each of these rows has.
        faults: the distinct faults.
        failed: how many of `rows` failed: the first ones.
        sales: the sale of every row of the frame; missing in a frame without taxes.
        tax: the tax of every row of the frame.
        at_stake: what the tax of every row may differ by.
    """

    rows: np.ndarray
    codes: np.ndarray
    faults: tuple[Fault, ...]
    failed: int
    sales: Money
    tax: Money
    at_stake: Money

    def groups(self) -> tuple[Group, ...]:
        """The rows by kind: the failed ones first, the most pressing kinds first."""
        kinds = sorted(
            {(not fault.failed, *urgency(fault.kind)) for fault in self.faults},
        )
        return tuple(self._group(kind, failed=not passed) for passed, _, kind in kinds)

    def _group(self, kind: str, *, failed: bool) -> Group:
        of_kind = [fault.kind == kind and fault.failed == failed for fault in self.faults]
        rows = np.zeros(len(self.sales.cents), bool)
        rows[self.rows[np.array(of_kind, bool)[self.codes]]] = True
        return Group(
            kind,
            failed,
            int(rows.sum()),
            self.sales.total(rows),
            self.tax.total(rows),
            self.at_stake.total(rows),
            what_to_do(kind),
        )


def attention(frame: pd.DataFrame, *, amount: Hashable = "amount", prefix: str = "") -> Attention:
    """The rows that need a person.

    These are the rows without a whole rate, those without a tax (if the frame has taxes), and
    those that the lookup (`needs_review`) or the tax (`tax_review`) marked for review.

    Args:
        frame: what `df.svc.lookup()` returned, with or without `df.svc.tax()`.
        amount: the column of amounts that the tax was computed from.
        prefix: the prefix of the lookup's columns.

    Raises:
        ValueError: the frame has not been looked up.
    """
    status_column = f"{prefix}lookup_status"
    require_columns(frame, (status_column,), "look the rates up first: df.svc.lookup()")
    taxed = f"{prefix}tax" in frame.columns and amount in frame.columns
    sales, tax, at_stake = (
        money(frame, name if taxed else None)
        for name in (amount, f"{prefix}tax", f"{prefix}at_stake")
    )
    status = coded(frame, status_column, "not_attempted")
    cells = codes_of_rows(frame, status, prefix)
    answered = status.where(_ANSWERED.__contains__)
    failed = ~answered | (tax.missing if taxed else status.where(lambda one: one == "partial"))
    listed = np.flatnonzero(failed | cells.where(bool))
    columns = [
        status,
        coded(frame, f"{prefix}lookup_error"),
        coded(frame, f"{prefix}tax_error"),
        cells,
        _city_of_mismatch(frame, cells, prefix),
        Coded(failed.astype(np.int64), ("", "failed")),
    ]
    codes, rows = combined([Coded(column.codes[listed], column.values) for column in columns])
    faults = tuple(_fault(*row) for row in rows)
    ranks = _ranks(faults)[codes] if faults else codes
    size = np.abs(sales.cents[listed])
    keys = (  # the last one counts first
        listed,
        -size,
        sales.missing[listed],
        -np.abs(tax.cents[listed]) * ~failed[listed],
        -np.abs(at_stake.cents[listed]) * ~failed[listed],
        ranks * failed[listed],
        ~failed[listed],
    )
    order = np.lexsort(keys)
    return Attention(
        listed[order],
        codes[order],
        faults,
        int(failed[listed].sum()),
        sales,
        tax,
        at_stake,
    )


def _ranks(faults: tuple[Fault, ...]) -> np.ndarray:
    """The urgency of each fault's kind as a number."""
    kinds = sorted({fault.kind for fault in faults}, key=urgency)
    return np.array([kinds.index(fault.kind) for fault in faults], np.int64)


def _city_of_mismatch(frame: pd.DataFrame, reasons: Coded, prefix: str) -> Coded:
    """The city that a rate is for, where it is not the one that was given."""
    cities = coded(frame, f"{prefix}resolved_city")
    differs = reasons.where(lambda cell: "place_input_mismatch" in codes_in(cell))
    place = cities.values.index("")  # noqa: PD011 - no frame's
    return Coded(np.where(differs, cities.codes, place), cities.values)


def _fault(  # noqa: PLR0917 - a row's cells
    status: str, error: str, tax_error: str, cell: str, city: str, failed: str
) -> Fault:
    """What is wrong with a row, the most pressing fault first."""
    codes = codes_in(cell) or ("no_tax",)
    if status not in _ANSWERED:
        reason = error or f"No rate ({status}), and no reason given."
        return Fault(True, status, reason, advice_on(cell))  # noqa: FBT003
    kinds = [code for code in ("partial", "no_tax") if code in codes]
    said: list[str] = []
    if failed and "partial" not in codes:
        kinds.append("no_tax")
        said.append(f"No tax: {tax_error.removesuffix('.') or 'no reason given'}.")
    said += [_sentence(code, city) for code in codes if code != "no_tax"]
    return Fault(bool(failed), kinds[0] if failed else codes[0], " ".join(said), advice_on(cell))


def _sentence(code: str, city: str) -> str:
    if code == "place_input_mismatch" and city:
        return f"The city given is not the place the rate is for: {city}."
    meaning = meaning_of(code)
    return f"{capital(meaning)}." if meaning else f"{code}."


def known_states(given: Iterable[str]) -> frozenset[str]:
    """The codes of states that a person named, by code or by name.

    Raises:
        ValueError: one of them is none of the 50 states and DC.
    """
    names = [given] if isinstance(given, str) else list(given)
    codes = [state_code(name) for name in names]
    for name, code in zip(names, codes, strict=True):
        if not isinstance(code, str) or code not in STATES:
            raise ValueError(f"states: {name!r} is none of the 50 states and DC; 'TX' or 'Texas'")
    return frozenset(code for code in codes if isinstance(code, str))


def states_of_rows(frame: pd.DataFrame, *, prefix: str = "") -> Coded:
    """The two-letter code of each row's state; empty where no state of the 50 and DC is named.

    That is the state that was asked for. A row without an answer has the state that it names in
    the column that the lookup used (one of a usual name where that is not known any more), else
    that of its ZIP Code where that lies in one state only.
    """
    answered = coded(frame, f"{prefix}resolved_state")
    values = (*sorted(STATES), "")
    number = {code: place for place, code in enumerate(values)}
    distinct = answered.values  # noqa: PD011 - no frame's
    known = np.array([number.get(code, -1) for code in distinct], np.int64)
    codes = known[answered.codes]
    codes[answered.codes == distinct.index("")] = -1
    rest = np.flatnonzero(codes < 0)
    if len(rest):
        named = [_of(frame, role, rest, prefix) for role in ("state", "zip")]
        resolved = Coded(answered.codes[rest], distinct)
        places, cells = combined([resolved, *named])
        codes[rest] = np.array([number[_state(*cell)] for cell in cells], np.int64)[places]
    return Coded(codes, values)


def inputs_of(
    frame: pd.DataFrame, *, prefix: str = ""
) -> tuple[Mapping[str, Hashable], Mapping[str, object]]:
    """What answered the arguments of the lookup: columns that the frame still has, and values.

    Both are empty where the frame does not remember it: after a merge, for one.
    """
    lookups = {one.prefix: one.inputs for one in lookups_of(frame)}
    if prefix in lookups:
        columns: object = lookups[prefix].columns
        values: object = lookups[prefix].scalars
    else:
        note = None if lookups else frame.attrs.get("svc_lookup")
        noted = note.get("inputs") if isinstance(note, dict) else None
        columns, values = (
            (noted.get("columns"), noted.get("scalars")) if isinstance(noted, dict) else ({}, {})
        )
    there = columns if isinstance(columns, dict) else {}
    return (
        {role: label for role, label in there.items() if is_label(frame, label)},
        values if isinstance(values, dict) else {},
    )


def _of(frame: pd.DataFrame, role: str, rows: np.ndarray, prefix: str) -> Coded:
    """The cells of those rows that name the state or the ZIP Code, as text."""
    columns, values = inputs_of(frame, prefix=prefix)
    if role in values:
        return Coded(np.zeros(len(rows), np.int64), (str(values[role]),))
    label = columns.get(role) if columns or values else _usual(frame, role)
    column = None if label is None else first_column(frame, label)
    if column is None:
        return Coded(np.zeros(len(rows), np.int64), ("",))
    return coded(column.iloc[rows].to_frame(role), role)


def _usual(frame: pd.DataFrame, role: str) -> Hashable | None:
    """A column of a usual name: where the goods go, rather than where somebody lives."""
    found = [(name, of) for name in frame.columns if (of := place_role(name)) and of[0] == role]
    return max(found, key=lambda one: one[1][1])[0] if found else None


def _state(resolved: str, state: str, zip_code: str) -> str:
    named = resolved or state
    if named.strip():
        code = state_code(named)
        return code if isinstance(code, str) and code in STATES else ""
    try:
        known = normal_zip(zip_code, None) if zip_code.strip() else None
    except ValueError:
        return ""
    lies_in = states_of(known) & STATES.keys() if isinstance(known, str) else frozenset[str]()
    return next(iter(lies_in)) if len(lies_in) == 1 else ""


_REVIEWED = REVIEW_REASONS.keys() - {"zip_spans_jurisdictions"}


def codes_of_rows(frame: pd.DataFrame, status: Coded, prefix: str) -> Coded:
    """The codes for which each row needs a person, separated by "; ", the most pressing first.

    Empty where a row needs nobody. They are the status of a row without a whole rate, what the
    lookup noted (`lookup_review_reason`, where `needs_review`), what the tax noted
    (`tax_review`), `no_tax`, and why it is not known whether a tax is due.
    """
    marked = first_column(frame, f"{prefix}needs_review")
    marks = (
        Coded(status.codes * 0, ("unknown",))
        if marked is None
        else Coded(marked.fillna(value=True).to_numpy(bool).astype(np.int64), ("", "marked"))
    )
    names = ("lookup_review_reason", "confidence", "warnings", "tax_review")
    codes, rows = combined(
        [
            status,
            marks,
            *(coded(frame, f"{prefix}{name}") for name in names),
            _why_no_tax(frame, status, prefix),
        ]
    )
    cells = [_cell(*row) for row in rows]
    distinct = list(dict.fromkeys(cells))
    number = {cell: place for place, cell in enumerate(distinct)}
    return Coded(np.array([number[cell] for cell in cells], np.int64)[codes], tuple(distinct))


def _why_no_tax(frame: pd.DataFrame, status: Coded, prefix: str) -> Coded:
    """What `taxed_rows` says, also of a frame with some of the columns of its tax only."""
    tax = first_column(frame, f"{prefix}tax")
    if tax is None:
        return Coded(status.codes * 0, ("",))
    if {f"{prefix}{name}" for name in _OF_TAX} <= set(frame.columns):
        return taxed_rows(frame, prefix).why
    lacks = status.where(lambda one: one == "ok") & tax.isna().to_numpy()
    return Coded(lacks.astype(np.int64), ("", "no_tax"))


def advice_on(cell: str) -> str:
    """What to do about the codes of a row, each sentence once."""
    return " ".join(dict.fromkeys(what_to_do(code) for code in codes_in(cell)))


def _cell(  # noqa: PLR0917 - a row's cells
    status: str,
    marked: str,
    of_rate: str,
    confidence: str,
    warnings: str,
    of_tax: str,
    why: str,
) -> str:
    if marked == "unknown":  # a lookup that was asked for some of its columns only
        found = _judged(status, confidence, warnings)
    else:
        found = list(codes_in(of_rate)) if marked else []
    if status != "ok" and status not in found:
        found.append(status)
    if marked == "marked" and not found:  # the column with the reason was not asked for
        found.append("needs_review")
    found += codes_in(of_tax)
    if why.startswith("no_tax"):
        found.append(why.partition(":")[2] if why.endswith("freight_taxable_unknown") else "no_tax")
    if why.startswith(_NOT_KNOWN):
        found.append(why.removeprefix(_NOT_KNOWN))
    return "; ".join(sorted(dict.fromkeys(found), key=urgency))


def _judged(status: str, confidence: str, warnings: str) -> list[str]:
    """The codes that the rules of a lookup come to, as far as its warnings tell."""
    if status not in _ANSWERED:
        return []
    codes = [code for code in codes_in(warnings) if code in _REVIEWED]
    codes += [status] if status != "ok" else []
    return codes or (["low_confidence"] if confidence in {"low", "none"} else [])
