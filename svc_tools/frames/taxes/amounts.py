"""Where a tax finds its amounts: as named, as an export has them, or as the file itself proves."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from svc_tools.config import seller_delivery
from svc_tools.frames.added.names import require_columns
from svc_tools.frames.options import TaxOptions, answers_of
from svc_tools.frames.orders.currencies import heading_unit
from svc_tools.frames.orders.deciding import (
    DECIDING_ROWS,
    RatesOfRows,
    SalesAnswers,
    is_plain_column,
    money_of_file,
    rows_of_file,
)
from svc_tools.frames.orders.figures import money_table, terms_of
from svc_tools.frames.orders.kinds import kind_of, may_be_money
from svc_tools.frames.orders.orders import Orders
from svc_tools.frames.orders.reading import Reading, in_words, lines_of_export, reading_of_export
from svc_tools.frames.orders.row_kinds import below_0, counts_pieces
from svc_tools.frames.orders.saved_layout import MONEY_ARGUMENTS, as_layout, zero_columns
from svc_tools.frames.taxes.tax_lines import delivery_of
from svc_tools.lookup.columns import SALE_COLUMNS
from svc_tools.lookup.options import names_where
from svc_tools.tables.exports import recognized
from svc_tools.tables.questions import Question
from svc_tools.tables.roles import ColumnAmbiguous, ColumnMissing, refuse_opposite, single

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from svc_tools.frames.added.enriched import Enriched
    from svc_tools.frames.options import ExposureOptions
    from svc_tools.frames.orders.deciding import Decided
    from svc_tools.frames.orders.sale import Counts
    from svc_tools.tables.exports import Export
    from svc_tools.tables.roles import ColumnError


@dataclass(frozen=True, slots=True)
class AmountsOfTax:
    """Where a tax finds its amounts.

    Attributes:
        terms: the terms, with the channel of the export.
        reading: what the columns mean.
        as_it_stands: whether the amount of each row is that of one column, which is used as it is.
        notes: what was decided, in sentences.
        waits: whether the rates, which are not known yet, may decide otherwise.
        given: the arguments as they were given.
        unused: those of the sentences that say which columns were not used.
    """

    terms: TaxOptions
    reading: Reading = field(default_factory=Reading)
    notes: tuple[str, ...] = ()
    waits: bool = False
    as_it_stands: bool = False
    given: TaxOptions | None = None
    unused: tuple[str, ...] = ()

    @property
    def decided(self) -> tuple[str, ...]:
        """The sentences about what is used."""
        return tuple(note for note in self.notes if note not in self.unused)

    @property
    def proven(self) -> bool:
        """Whether the first sentence says by what the columns were found, too."""
        sums = self.reading.sums
        return sums is not None and sums.witness in {"sum", "rates"}

    @property
    def computed(self) -> bool:
        """Whether the amounts are computed from columns, and stand in columns of their own."""
        return self.reading.sums is not None and not self.as_it_stands

    @property
    def columns(self) -> tuple[Hashable, ...]:
        """The columns of money that are read."""
        sums = self.reading.sums
        if sums is None or self.as_it_stands:
            return tuple(
                label for label in (self.terms.amount, self.terms.shipping) if label is not None
            )
        terms = (*sums.goods, *sums.delivery)
        return tuple(dict.fromkeys(label for term in terms for label in term.columns))

    @property
    def sale_columns(self) -> tuple[str, ...]:
        """The columns that the amounts of a sale are put in; none where they stand as they are."""
        reading, lines = self.reading, self.reading.lines
        if not self.computed or reading.sums is None:
            return ()
        delivered = reading.sums.delivery or reading.charges  # in columns or in rows of its own
        there = (True, delivered, lines is not None and lines.taxable is not None)
        return tuple(name for name, is_there in zip(SALE_COLUMNS, there, strict=True) if is_there)

    def under(self, terms: TaxOptions) -> AmountsOfTax:
        """The same amounts under other terms."""
        found = {name: getattr(self.terms, name) for name in _FOUND}
        return replace(self, terms=replace(terms, **found))

    def of_some_rows(self) -> AmountsOfTax:
        """The same where further rows were not seen, among which there may be refunds."""
        return replace(self, as_it_stands=self.as_it_stands and self.reading.is_plain)

    def terms_with(self, columns: Mapping[str, str]) -> TaxOptions:
        """The terms, with the columns that are added for the sale instead of the file's own."""
        return replace(
            self.terms,
            amount=columns.get("sale_amount", self.terms.amount),
            shipping=columns.get("sale_shipping", self.terms.shipping),
            taxable=columns.get("sale_taxable", self.terms.taxable),
        )


_OTHERS = names_where(TaxOptions, "column")
_ANSWERS = names_where(TaxOptions, "answer")
_OFF = (
    "invoice",
    *(option for option in names_where(TaxOptions, "optional") if option not in _ANSWERS),
)
"""What `False` turns off; to a question it is an answer."""
_FOUND = ("amount", "delivery", *_OFF)
_OFF_AT_MOST = 0.1
"""The share of the rows that may not add up where the sums decide."""


def amounts_of_tax(
    frame: pd.DataFrame,
    labels: Sequence[Hashable],
    terms: TaxOptions,
    reading: Reading | None = None,
    rates: RatesOfRows | None = None,
    *,
    final: bool = True,
    semicolons: bool = False,
) -> AmountsOfTax:
    """Where a tax finds its amounts: as named, else as the export has them, else as they prove.

    A column `amount` that was added to an export counts before those of the export.

    Args:
        frame: the rows, or some of them: whole orders.
        labels: the columns that are the user's own.
        terms: the arguments of the tax.
        reading: which rows are sales, as a lookup has read it.
        rates: the rates of the rows, where they are known.
        final: whether no more will be known of the rates.
        semicolons: whether semicolons separate the cells of the file.

    Raises:
        ColumnAmbiguous: the columns leave open what the amounts are; it has all questions.
        ColumnMissing: no column holds amounts.
        SaysOppositeError: what is exempt is named by a column of what is taxable, or the other way
            round.
        ValueError: both are named; or an answer names a column that is not there, or is about a
            recognized export, whose table decides.
    """
    _check_exempt(terms)
    given = terms
    terms, saved, notes = _by_layout(frame, labels, terms, reading)
    terms = replace(terms, delivery=terms.delivery or seller_delivery())
    off: dict[str, Any] = {name: None for name in _OFF if getattr(terms, name) is False}
    plain = replace(terms, **off)
    if _is_value(terms.amount, labels):
        return AmountsOfTax(plain)  # refused by the tax, which says what is expected
    if saved is not None:
        answers = _answers(replace(terms, currency=saved.currency or False), labels, saved)
        kept = replace(saved, sums=None)
        decided = money_of_file(
            frame, labels, kept, answers, semicolons=semicolons, saved=saved.sums
        )
        return replace(_as_decided(decided, labels, plain, terms), notes=(*decided.notes, *notes))
    _check_named(frame, labels, terms)
    export = recognized(labels)
    if export is not None and export.found_amount(labels) is not None:
        of_export = _of_export(export, labels, terms, plain)
        return replace(of_export, given=terms, notes=(*of_export.notes, *notes))
    _check_effect(labels, terms, given)
    if reading is None or reading.export is not None:
        reading = rows_of_file(frame, labels, {}, order=terms.order)
    elif terms.order is not None and terms.order != (reading.order or False):
        roles = {**reading.place, "as_of": reading.orders.day}
        columns = {role: label for role, label in roles.items() if label is not None}
        reading = rows_of_file(frame, labels, columns, order=terms.order)
    elif terms.order is not None:  # the number that was found is the right one
        reading = replace(reading, orders=replace(reading.orders, question=None))
    if terms.invoice is not None and reading.orders.number == terms.invoice:
        reading = replace(reading, orders=replace(reading.orders, number=None))
    answers = _answers(terms, labels)
    decided = money_of_file(
        frame, labels, reading, answers, rates=rates, final=final, semicolons=semicolons
    )
    found = _as_decided(decided, labels, plain, terms, notes)
    return replace(found, notes=(*found.notes, *notes))


def _check_named(frame: pd.DataFrame, labels: Sequence[Hashable], terms: TaxOptions) -> None:
    """Refuse answers about columns that are not there: what is misspelled would answer nothing."""
    named = {
        "once": [*(terms.once or ())],
        "parts": [*(terms.parts or ())],
        "order": [terms.order],
        "currency": [terms.currency],
    }
    for argument, columns in named.items():
        absent = [
            column for column in columns if column not in {None, False} and column not in labels
        ]
        require_columns(frame, (*absent,), f"{argument}: name it as the file has it")
    for argument, label in (("amount", terms.amount), ("shipping", terms.shipping)):
        unit = None if _is_value(label, labels) or label is None else heading_unit(label)
        if unit is not None:
            raise ValueError(
                f"{argument}: {label!r} is in {unit} by its name, and a tax is computed from"
                " dollars; add a column in dollars and name that, or rename the column if it is in"
                " dollars"
            )


def _check_effect(labels: Sequence[Hashable], terms: TaxOptions, given: TaxOptions) -> None:
    """Refuse answers that would change nothing of the amounts.

    Args:
        labels: the columns that are the user's own.
        terms: the arguments of the tax, with what a layout says.
        given: the arguments without it: what a layout says may be more than is needed.

    Raises:
        ColumnMissing: an amount shall contain a tax or a delivery, and no column holds that.
        ValueError: an answer about columns that a named amount is read without.
    """
    for argument, kind in (("contains_tax", "tax"), ("contains_shipping", "delivery")):
        there = any(kind_of(label) == kind and may_be_money(label) for label in labels)
        there = there or (kind == "delivery" and terms.shipping in labels)
        there = there or (kind == "delivery" and "delivery" in (terms.parts or {}).values())
        if getattr(terms, argument) and not there:
            advice = (
                f"{argument} takes off what such a column holds: add it to the file, or leave"
                f" {argument} out"
            )
            raise ColumnMissing(argument, [*labels], advice)
    if terms.amount is None or terms.contains_tax:
        return
    as_named = f"beside amount={terms.amount!r}, which is read as it stands, it has no effect"
    used = [label for label, part in (given.parts or {}).items() if part != "none"]
    if used:
        raise ValueError(
            f"parts: {as_named} on {used[0]!r}; leave amount out, so that the amount is computed"
            " from the columns, or leave parts out"
        )


def _of_export(
    export: Export, labels: Sequence[Hashable], terms: TaxOptions, plain: TaxOptions
) -> AmountsOfTax:
    """The amounts of a recognized export, as its table says, or as they are named.

    Raises:
        ValueError: an answer is given to what the table decides.
    """
    refuse_answers(export, terms)
    reading = reading_of_export(export, labels)
    if terms.amount is None and "amount" in labels and "amount" not in export.used(labels):
        terms, plain = replace(terms, amount="amount"), replace(plain, amount="amount")
    delivery = False if _is_value(terms.shipping, labels) else terms.shipping
    reading = replace(reading.with_amounts(terms.amount, delivery), refunds=terms.refunds)
    if terms.taxable is not False:
        own = lines_of_export(export, labels)
        marks = plain.taxable is None or (own is not None and own.taxable == plain.taxable)
        lines = own if marks else lines_of_export(export, labels, taxable=False)
        reading = replace(reading, lines=lines)
        plain = replace(plain, taxable=None) if marks else plain
    if terms.channel is None:
        of_sales = "marketplace" if export.marketplace else export.found(labels).get("channel")
        plain = replace(plain, channel=of_sales)
    goods, shipping = reading.in_words()
    parts = f"amount from {goods} ({reading.meant})" if terms.amount is None else f"amount {goods}"
    parts += f", delivery from {shipping}" if shipping else ""
    notes = [f"{export.name}: {parts}"]
    if export.marketplace and terms.channel is None:
        notes.append(f"{export.name}: the marketplace collects and remits the tax, so none is due")
    return AmountsOfTax(plain, reading, tuple(notes))


def refuse_answers(export: Export, options: TaxOptions | ExposureOptions) -> None:
    """Refuse answers to what the table of an export decides.

    Raises:
        ValueError: there is one.
    """
    of_table = names_where(type(options), "table")
    given = [name for name in of_table if getattr(options, name) not in (None, {})]
    if given:
        raise ValueError(
            f"{given[0]}: the columns are those of {export.name}, of which this is known; leave it"
            " out"
        )


def _check_exempt(terms: TaxOptions) -> None:
    """Refuse what is exempt by a column that says what is taxable, and both at once."""
    named = {
        name: getattr(terms, name)
        for name in ("exempt", "taxable")
        if getattr(terms, name) not in (None, False)
    }
    if len(named) > 1:
        raise ValueError(
            f"exempt and taxable: {named['exempt']!r} and {named['taxable']!r} both say what is not"
            " taxed; leave one of them out"
        )
    for name, label in named.items():
        refuse_opposite(name, label)


def _answers(
    terms: TaxOptions, labels: Sequence[Hashable], saved: Reading | None = None
) -> SalesAnswers:
    """What the arguments of a tax, and a layout, say of a file of sales."""
    sums = None if saved is None else saved.sums
    read = [] if sums is None else [term for _, term in terms_of(sums)]
    read += [] if sums is None or sums.total is None else [sums.total]
    return replace(
        answers_of(terms, [label for name in _OTHERS if (label := getattr(terms, name)) in labels]),
        shipping=False if _is_value(terms.shipping, labels) else terms.shipping,
        decimal=terms.decimal or (None if saved is None else saved.decimal),
        read=tuple(dict.fromkeys(term.label for term in read)),
    )


def _by_layout(
    frame: pd.DataFrame, labels: Sequence[Hashable], terms: TaxOptions, rows: Reading | None
) -> tuple[TaxOptions, Reading | None, list[str]]:
    """The terms with what their layout says of the amounts, unless an argument says otherwise.

    Returns:
        The terms; what the layout decided, `None` where the amounts are to be decided anew; and
        what has changed since it was saved, in sentences.

    Raises:
        LayoutError: the file lacks a column that the layout reads.
    """
    if terms.layout is None:
        return terms, None, []
    layout = as_layout(terms.layout)
    held = layout.of_tax()
    given = [name for name in MONEY_ARGUMENTS if getattr(terms, name) not in (None, {})]
    layout.check(labels, amounts=not given)
    used = {name: held[name] for name in MONEY_ARGUMENTS if name in held and name not in given}
    used["parts"] = {**held.get("parts", {}), **(terms.parts or {})} or None
    used["delivery"] = terms.delivery or held.get("delivery")
    notes = [*layout.new(frame, labels), *layout.gone(labels)]
    terms = replace(terms, **used)
    changed = [*layout.no_longer_zero(frame)] if terms.amount is None else []
    notes += [f"{label!r} {NOT_ZERO_ANY_MORE}" for label in changed]
    reading = layout.reading
    if rows is not None and not {*reading.orders.place, reading.orders.day} <= {*labels, None}:
        day, place = rows.orders.day, rows.orders.place  # other columns are named instead
        reading = replace(reading, orders=replace(reading.orders, day=day, place=place))
        reading = replace(reading, place=rows.place, country=rows.country)
    anew = given or changed or reading.sums is None or terms.amount is not None
    return terms, None if anew else reading, notes


NOT_ZERO_ANY_MORE = (
    "was 0.00 throughout when the layout was saved, and is not any more, so that the file decides"
    " anew what its amounts are"
)


def _as_decided(
    decided: Decided,
    labels: Sequence[Hashable],
    plain: TaxOptions,
    given: TaxOptions,
    changed: Sequence[str] = (),
) -> AmountsOfTax:
    """The amounts of a file that is no known export.

    Args:
        decided: what its columns mean.
        labels: the columns that are the user's own.
        plain: the terms.
        given: the terms as they were given.
        changed: what has changed since its layout was saved, in sentences.
    """
    if decided.questions:
        first, *others = decided.questions
        because = "; ".join(change for change in changed if change.endswith(NOT_ZERO_ANY_MORE))
        first = replace(first, why=f"{because}: {first.why}" if because else first.why)
        raise ColumnAmbiguous.of([first, *others], call="tax")
    sums = decided.reading.sums
    if sums is None:
        raise _no_amount(labels, decided)
    if decided.is_plain:
        named = sums.delivery[0].label if sums.delivery else plain.shipping
        plain = replace(plain, amount=sums.goods[0].label, shipping=named)
    return AmountsOfTax(
        *(plain, decided.reading, decided.notes, decided.waits),
        as_it_stands=decided.is_plain,
        given=given,
        unused=decided.unused,
    )


def _no_amount(labels: Sequence[Hashable], decided: Decided) -> ColumnError:
    """What is wrong with a file in which no column is the amount, with the columns that look so."""
    amounts = [label for label in labels if kind_of(label) == "amount" and may_be_money(label)]
    once = frozenset(single(amounts))
    twice = [label for label in amounts if label not in once]
    if twice:
        same = [label for label in twice if label == twice[0]]
        why = f"{len(same)} columns are named {same[0]!r} (rename all but one)"
        question = Question("amount", tuple(same), (same[0],), None, why, "amount")
        return ColumnAmbiguous.of([question], call="tax")
    paid = [label for label, why in decided.passed if why == "a payment"]
    if looking_so := tuple(dict.fromkeys(paid)):
        names = " and ".join(map(repr, looking_so))
        what = "holds" if len(looking_so) == 1 else "hold"
        why = (
            f"no column is named as an amount; {names} {what} amounts, and payments may contain tax"
            " and delivery"
        )
        question = Question("amount", looking_so, looking_so, None, why, "amount")
        return ColumnAmbiguous.of([question], call="tax")
    advice = "name the column of amounts: amount='…'"
    return ColumnMissing("amount", [*labels], advice, decided.unused)


def refuse_if_open(counts: Counts, reading: Reading, *, call: str = "tax") -> None:
    """Refuse what the rows that decided did not show, and the whole file does.

    Args:
        counts: what was counted of all rows.
        reading: what their columns mean.
        call: the method that takes the answers.

    Raises:
        ColumnAmbiguous: more than a tenth of the rows do not add up, or there are refunds that are
            written with a positive amount.
    """
    sums, asked = reading.sums, list[Question]()
    if reading.refunds is None and (refunds := counts.kinds.question()) is not None:
        asked.append(refunds)
    off, rows = counts.rows["off"], counts.rows["counted"]
    proven = sums is not None and sums.witness == "sum"
    if sums is not None and proven and off > _OFF_AT_MOST * rows:
        why = (
            f"{in_words(sums.goods)} and the other columns add up to {reading.total!r} in some"
            f" rows, and not in {off:,} of {rows:,}"
        )
        columns = (sums.goods[0].label, reading.total)
        asked.append(Question("amount", columns, columns, columns[0], why, "amount"))
    if asked:
        raise ColumnAmbiguous.of(asked, call=call)


def _is_value(given: Hashable | None, labels: Sequence[Hashable]) -> bool:
    """Whether something else than a column is given."""
    return given is not None and (given is False or given not in labels)


def sample_of(frame: pd.DataFrame, reading: Reading) -> pd.DataFrame:
    """Rows of whole orders that decide what the columns mean; all of a small frame."""
    if len(frame) <= DECIDING_ROWS:
        return frame
    spread = frame.iloc[np.linspace(0, len(frame) - 1, DECIDING_ROWS).astype(np.int64)]
    if reading.order is None or reading.order not in frame.columns:
        return spread
    numbers = spread[reading.order].iloc[::4]
    if numbers.dtype.kind in "iu":  # a table of them is faster than to hash each
        found = np.isin(frame[reading.order].to_numpy(), numbers.to_numpy())
    else:
        found = frame[reading.order].isin(numbers).to_numpy(bool)
    rows = np.flatnonzero(found)
    return spread if len(rows) <= len(numbers) else frame.iloc[rows[: 4 * DECIDING_ROWS]]


def with_late_parts(
    frame: pd.DataFrame, sample: pd.DataFrame, labels: Sequence[Hashable], reading: Reading
) -> pd.DataFrame:
    """A sample with orders in which a column says what it says nowhere in the sample."""
    rows = late_rows(frame, silent_columns(sample, labels, reading))
    if not len(rows):
        return sample
    taken = np.isin(np.arange(len(frame)), rows)
    if reading.order in frame.columns:
        codes = Orders(frame, reading).codes
        if codes is not None:
            taken |= np.isin(codes, codes[rows][codes[rows] >= 0])
    taken &= ~frame.index.isin(sample.index) if frame.index.is_unique else True
    return pd.concat([sample, frame[taken]])


_MOST_LATE = 200


def silent_columns(
    sample: pd.DataFrame, labels: Sequence[Hashable], reading: Reading
) -> tuple[Hashable, ...]:
    """The columns that change no amount in a sample, and may in further rows.

    They are those of money that are 0 throughout, and quantities of which none is below 0.
    """
    read = {*reading.kinds.labels, *reading.columns}
    plain = [label for label in labels if counts_pieces(label) and is_plain_column(sample[label])]
    pieces = [label for label in plain if label not in read]
    quiet = [label for label in pieces if not below_0(sample[label]).any()]
    return (*zero_columns(sample, labels, reading), *quiet)


def late_rows(frame: pd.DataFrame, labels: Sequence[Hashable]) -> np.ndarray:
    """The positions of the first rows of each of these columns that are not silent."""
    pieces = [label for label in labels if counts_pieces(label)]
    money = [label for label in labels if label not in pieces]
    found = money_table(frame, money, named=money).columns.values()
    there = [*(column.cents for column in found), *(below_0(frame[label]) for label in pieces)]
    rows = [np.flatnonzero(values)[:_MOST_LATE] for values in there]
    return np.unique(np.concatenate(rows)) if rows else np.zeros(0, np.int64)


def rates_known(rows: Enriched) -> RatesOfRows | None:
    """The rates of the rows of an enriched frame, where they are whole; `None` without a lookup."""
    for name in ("combined_rate", "lookup_status", "freight_taxable"):
        if (rows.frame.columns == rows.label(name)).sum() > 1:
            return None  # refused by the tax, which names it
    if not rows.has("combined_rate", "lookup_status"):
        return None
    rates = rows.rates("combined_rate")
    whole = rows.where(lambda status: status.usable)
    units = np.where(whole & ~rates.missing, rates.units, 0)
    freight = np.full(len(rows), -1, np.int64)
    if rows.has("freight_taxable"):
        found = delivery_of(rows, None)
        open_ = np.logical_or.reduce([found.unknown, *found.doubts.values()])
        freight = np.where(open_, -1, np.where(found.untaxed, 0, 1))
    return RatesOfRows(units, freight)
