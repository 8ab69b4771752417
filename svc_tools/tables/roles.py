"""The columns of a table by role: found by usual names, refused where several could be meant.

ColumnError              a column cannot be used for its role
├── ColumnMissing        no column has the role
├── ColumnAmbiguous      several columns could have it
├── ColumnsOfTwoParties  the columns found may belong to different parties
├── ColumnTaken          columns have the names of those that are added
│   └── ColumnBetween    columns stand among those that an earlier run added
├── FlagsAmbiguous       a column of exempt lines holds only 0 and 1
├── SaysOpposite         a column of exempt lines says what is taxable, or the other way round
├── DatesAmbiguous       the dates could be month first or day first
└── NoUsableRows         no row of a file names a place and a date that can be looked up

Each error has a `code`, its fields, a `fact` that holds in every host, and an `advice` in terms of
Python's arguments, for which other hosts have their own.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias, TypeVar

from svc_tools.tables.questions import Question, in_python, in_sentences

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence

_MOST_SHOWN = 20
_IN_WORDS = {
    "zip": "ZIP Code",
    "lat": "latitude",
    "lng": "longitude",
    "as_of": "date of the sale",
    "contains_tax": "tax",
    "contains_shipping": "delivery",
    "registered_at": "day of the registration",
}


class ColumnError(ValueError):
    """A column cannot be used for its role; `code` names the fault.

    Attributes:
        role: the role, such as `zip` or `amount`.
        fact: what is wrong.
        advice: what to do in Python; may be empty.
        questions: what is open, where a value of an argument answers it; none for other faults.
    """

    code: ClassVar[str]
    questions: tuple[Question, ...] = ()
    role: str
    fact: str
    advice: str

    def __str__(self) -> str:
        """The fact and the advice."""
        return f"{self.fact}; {self.advice}" if self.advice else self.fact


class ColumnMissing(ColumnError):  # noqa: N818 - the fault in the user's words
    """No column has the role.

    Attributes:
        columns: the columns that there are.
        passed: columns that look like it and cannot be it, with why, in sentences.
    """

    code = "column_missing"

    def __init__(
        self,
        role: str,
        columns: Sequence[Hashable],
        advice: str | None = None,
        passed: Sequence[str] = (),
    ) -> None:
        super().__init__(role, columns, advice, passed)
        self.role, self.columns, self.passed = role, tuple(columns), tuple(passed)
        listed = ", ".join(map(str, self.columns[:_MOST_SHOWN])) or "none"
        more = ", …" if len(self.columns) > _MOST_SHOWN else ""
        self.fact = f"no column holds the {_in_words(role)} (the columns: {listed}{more})"
        self.fact += "".join(f"; {sentence}" for sentence in self.passed)
        self.advice = f"name it with {role}='…'" if advice is None else advice


class ColumnAmbiguous(ColumnError):  # noqa: N818 - as above
    """Several columns could have the role, or a file leaves open what its columns mean.

    Attributes:
        candidates: those columns; for dates levels of the index too, in words. With several
            questions, those of the first.
        alike: whether some of them have one name, so that no name says which one is meant.
        questions: all that is open, where it is asked at once; at least one.
        of_columns: whether it is the one question which of the columns has the role.
    """

    code = "column_ambiguous"

    def __init__(
        self,
        role: str,
        candidates: Sequence[Hashable],
        advice: str | None = None,
        questions: Sequence[Question] = (),
        call: str = "lookup",
    ) -> None:
        """Describe what is open, and make the advice of the questions unless `advice` is given."""
        super().__init__(role, candidates, advice, questions, call)
        self.role, self.candidates = role, tuple(candidates)
        self.of_columns = advice is not None or not questions
        self.alike = len({*self.candidates}) < len(self.candidates)
        self.questions = tuple(questions) or (question_of_columns(role, self.candidates),)
        self.fact = "; ".join(question.why for question in self.questions)
        if len(self.questions) > 1:
            self.fact = f"{len(self.questions)} questions about the columns are open: {self.fact}"
            self.advice = f"{ALL_LIKELIEST}: {in_python(self.questions, call)}"
        elif self.alike:
            self.advice = "rename all but one"
        elif advice is not None:
            self.advice = advice
        elif questions:
            self.advice = _choices(self.questions[0])
        else:
            self.advice = f"say which one with {role}='…', or {role}=False for none of them"

    @classmethod
    def of(cls, questions: Sequence[Question], call: str = "lookup") -> ColumnAmbiguous:
        """All questions of a stage as one error.

        Args:
            questions: what is asked, at least one question.
            call: the method of which the answers are arguments, as for `in_python`.
        """
        return cls(questions[0].role, questions[0].columns, None, questions, call)

    def __str__(self) -> str:
        """The fact and the advice; several questions one to a line."""
        if len(self.questions) == 1:
            return super().__str__()
        lines = [f"{len(self.questions)} questions about the columns are open:"]
        lines += [f"- {sentence}" for sentence in in_sentences(self.questions)]
        return "\n".join([*lines, f"{self.advice[0].upper()}{self.advice[1:]}"])


def raise_all(problems: Sequence[ColumnError], call: str = "lookup") -> None:
    """Raise what is wrong with columns: one fault as it is, several as one error that asks all.

    Args:
        problems: the faults, each with its questions; none raises nothing.
        call: the method of which the answers are arguments, as for `in_python`.

    Raises:
        ColumnError: the fault; of several its role and candidates are those of the first.
    """
    if len(problems) == 1:
        raise problems[0]
    if problems:
        first = problems[0]
        asked: list[Question] = [question for each in problems for question in each.questions]
        columns = getattr(first, "candidates", asked[0].columns)
        raise ColumnAmbiguous(first.role, columns, None, asked, call)


ALL_LIKELIEST = "this answers all of them with what seems likeliest"


def _choices(question: Question) -> str:
    """How to answer one question in Python, the likeliest value first."""
    ways = sorted(question.values, key=lambda value: value != question.likely)
    each = " or ".join(f"{question.argument}={value!r}" for value in ways)
    if question.likely is None:
        return f"say {each}"
    because = f" ({question.because})" if question.because else ""
    return f"say {each}; the first seems likeliest{because}"


def question_of_columns(
    role: str,
    candidates: Sequence[Hashable],
    likely: object = None,
    because: str = "",
    others: Sequence[object] = (False,),
) -> Question:
    """Which of several columns has a role, or whether a single one has.

    Args:
        role: the role, which is the argument, too.
        candidates: the columns.
        likely: the one that seems likeliest; by default the only one shipped to.
        because: why, in words.
        others: what else answers the question.
    """
    listed = ", ".join(map(repr, candidates))
    why = (
        f"several columns could hold the {_in_words(role)}: {listed}"
        if len(candidates) > 1  # a date may be another than that of the sale
        else f"it is not certain that {listed} holds the {_in_words(role)}"
    )
    if likely is None and role in PLACES:
        shipped = [label for label in candidates if _names_shipping(label)]
        if len(shipped) == 1:
            likely, because = shipped[0], _SHIPPED_TO
    if len({*candidates}) < len(candidates):
        likely, why = None, f"{why} (rename all but one)"
    first = [label for label in candidates if label == likely and likely is not None]
    ordered = dict.fromkeys([*first, *candidates])
    return Question(role, tuple(ordered), (*ordered, *others), likely, why, role, because)


class ColumnsOfTwoParties(ColumnError):  # noqa: N818 - as above
    """The columns found may belong to different parties, such as buyer and seller.

    Attributes:
        found: the column of each role.
        others: further columns that name a place.
    """

    code = "columns_of_two_parties"
    role = "place"

    def __init__(self, found: Mapping[str, Hashable], others: Sequence[Hashable]) -> None:
        super().__init__(found, others)
        self.found, self.others = dict(found), tuple(others)
        listed = ", ".join(f"{role} {label!r}" for role, label in found.items())
        self.fact = (
            f"the columns found may be of two parties ({listed}; there are also"
            f" {', '.join(map(repr, others))}), and the place shipped to counts"
        )
        self.advice = "name the columns in the call, and False for one that is not to be used"
        self.questions = _questions_of_parties(self.found, self.fact)


def _questions_of_parties(found: Mapping[str, Hashable], fact: str) -> tuple[Question, ...]:
    """For each role whether its column counts: likeliest those shipped to, if they are a place."""
    shipped = {role for role, label in found.items() if is_shipped_to(label)}
    enough = any(shipped >= place for place in _WHOLE_PLACES)
    asked: list[Question] = []
    for role, label in found.items():
        likely: object = (label if role in shipped else False) if enough else None
        why = fact if not asked else f"{label!r} may be of another party"
        because = "" if likely is None else _SHIPPED_TO if likely else "not said to be shipped to"
        asked.append(Question(role, (label,), (label, False), likely, why, role, because))
    return tuple(asked)


_WHOLE_PLACES = ({"zip"}, {"address", "city"}, {"city", "state"}, {"lat", "lng"})
_SHIPPED_TO = "the place shipped to counts"


class ColumnTaken(ColumnError):  # noqa: N818 - as above
    """Columns have the names of those that a lookup or a tax adds; a prefix makes others of these.

    Attributes:
        columns: those columns.
        prefix: one with which no column has such a name.
    """

    code = "column_taken"
    role = "prefix"

    def __init__(self, columns: Sequence[Hashable], prefix: str, *, of_tax: bool = False) -> None:
        super().__init__(columns, prefix)
        self.columns, self.prefix, self.of_tax = tuple(columns), prefix, of_tax
        listed = ", ".join(map(repr, columns))
        added = "a tax adds" if of_tax else "a lookup or a tax adds"
        has = "has the name of one" if len(columns) == 1 else "have the names of some"
        self.fact = f"{listed} of your columns {has} that {added}"
        self.advice = f"put a prefix before the names of those that are added: prefix={prefix!r}"
        if of_tax:
            self.advice += ", in the lookup and in the tax"
        self.questions = (Question("prefix", self.columns, (prefix,), prefix, self.fact, "prefix"),)


class ColumnBetween(ColumnTaken):
    """Columns stand among those that an earlier run added: which are the user's is not known.

    Attributes:
        between: those columns.
    """

    code = "column_between"

    def __init__(
        self, between: Sequence[Hashable], columns: Sequence[Hashable], prefix: str
    ) -> None:
        super().__init__(columns, prefix)
        self.args = (between, columns, prefix)  # for a copy through pickle
        self.between = tuple(between)
        listed = ", ".join(map(repr, between))
        is_single = len(between) == 1
        stands = "column {} stands" if is_single else "columns {} stand"
        them = "it" if is_single else "them"
        self.fact = f"{stands.format(listed)} among the added columns"
        self.advice = f"move {them} in front of or behind the added columns, and run again"
        self.questions = ()


class DatesAmbiguous(ColumnError):  # noqa: N818 - as above
    """The dates of a column could be month, day or year first, or are not all the same.

    Attributes:
        column: the column; `None` for a single value.
        shown: one or two of its values.
        kind: `either` where no value decides, `both` where they decide differently, `exchanged`
            where a spreadsheet seems to have read day and month in the wrong order, `year` where
            the day or the year could be first.
    """

    code = "dates_ambiguous"

    def __init__(
        self,
        role: str,
        column: Hashable,
        values: Sequence[str],
        kind: Literal["either", "both", "exchanged", "year"],
    ) -> None:
        """Describe what is not decided, with the values that show it."""
        super().__init__(role, column, values, kind)
        self.role, self.column, self.shown, self.kind = role, column, tuple(values), kind
        of = "the value" if column is None else f"column {column!r}"
        listed = " and ".join(map(repr, values))
        self.fact = (
            f"{_in_words(role)}: {of} "
            + {
                "either": f"could be month first or day first: {listed}",
                "both": f"is both month first and day first: {listed}",
                "exchanged": f"has dates such as {values[-1]} and the text {values[0]!r}: where a"
                " spreadsheet takes the month for the day, it leaves such texts, and exchanges the"
                " two in its dates",
                "year": f"could be day first or year first: {listed}",
            }[kind]
        )
        other = "year" if kind == "year" else "month"
        self.advice = f"say which with date_format='{other} first' or date_format='day first'"


class FlagsAmbiguous(ColumnError):  # noqa: N818 - as above
    """A column of exempt or taxable lines holds only 0 and 1: yes and no, or dollars.

    Attributes:
        column: the column.
    """

    code = "flags_ambiguous"

    def __init__(self, column: Hashable, role: str = "exempt") -> None:
        super().__init__(column, role)
        self.column, self.role = column, role
        self.fact = (
            f"{role}: column {column!r} holds only 0 and 1, which may be yes and no, or dollars"
        )
        self.advice = (
            f"yes and no are df[{column!r}].astype('boolean'), of text through 'Int8'; dollars are"
            " decimals, or text such as '1.00'"
        )


class SaysOpposite(ColumnError):  # noqa: N818 - as above
    """The column of what is exempt says what is taxable, or the other way round.

    Attributes:
        column: the column.
        instead: the argument that takes it: `taxable` or `exempt`.
    """

    code = "says_the_opposite"

    def __init__(self, role: str, column: Hashable) -> None:
        super().__init__(role, column)
        self.role, self.column = role, column
        self.instead = _OPPOSITES[role]
        self.fact = (
            f"{role}: column {column!r} says by its name what is {self.instead}, the opposite"
        )
        self.advice = f"write {self.instead}={column!r} instead"


_OPPOSITES = {"exempt": "taxable", "taxable": "exempt"}


class NoUsableRows(ColumnError):  # noqa: N818 - as above
    """No row of a file names a place and a date that can be looked up.

    Attributes:
        role: what most rows lack: `as_of` for the date, else a part of the place, or `place`.
        rows: the rows of the file.
        reasons: status, reason and number of rows, the most frequent first.
    """

    code = "no_usable_rows"

    def __init__(
        self, name: str, reasons: Sequence[tuple[str, str, int]], columns: Mapping[str, Hashable]
    ) -> None:
        """Describe the most frequent reason, by the column in `columns` that it is about."""
        super().__init__(name, reasons, columns)
        self.reasons = tuple(reasons)
        self.rows = sum(rows for *_, rows in self.reasons)
        _, reason, main = self.reasons[0]
        role, colon, what = reason.partition(": ")
        self.role = role if colon and role.isidentifier() else "place"
        if self.role in columns:
            reason = f"{_in_words(role)} (column {columns[role]!r}): {what}"
        self.fact = (
            f"{name}: no row can be used, so nothing was looked up and nothing is written. The"
            f" main reason, in {main:,} of {self.rows:,} rows: {reason}"
        )
        self.advice = "name the columns of the places in lookup={…}"
        if self.role == "as_of":
            self.advice = "give date_format, or the column of dates in lookup={'as_of': '…'}"


@dataclass(frozen=True, slots=True)
class Role:
    """What a column can be.

    Attributes:
        name: the role.
        usual: the usual names, as `plain_name` gives them: a set, or a pattern that matches them.
        needed: whether a table without such a column is refused.
        specific: a pattern of the names to prefer where several are usual, such as codes.
    """

    name: str
    usual: frozenset[str] | re.Pattern[str]
    needed: bool = False
    specific: re.Pattern[str] | None = None

    def fits(self, label: Hashable) -> bool:
        """Whether a label is a usual name of the role."""
        plain = plain_name(label)
        if isinstance(self.usual, frozenset):
            return plain in self.usual
        return self.usual.fullmatch(plain) is not None

    def candidates(self, labels: Sequence[Hashable]) -> list[Hashable]:
        """The labels that are usual names; only the most specific one where there is one."""
        return self.preferred([label for label in labels if self.fits(label)])

    def preferred(self, labels: list[Hashable]) -> list[Hashable]:
        """Of several labels for the role the one most specific, where there is one."""
        if self.specific is None:
            return labels
        best = [label for label in labels if self.specific.search(plain_name(label))]
        return best if len(best) == 1 else labels


@dataclass(frozen=True, slots=True)
class FoundColumns:
    """The column of each role, what is wrong with the others, and notes in sentences."""

    columns: dict[str, Hashable]
    problems: tuple[ColumnError, ...]
    notes: tuple[str, ...] = ()

    def checked(self) -> dict[str, Hashable]:
        """The columns.

        Raises:
            ColumnError: a column is missing or ambiguous.
        """
        for problem in self.problems:
            raise problem
        return self.columns


def find(
    columns: Sequence[Hashable],
    roles: Sequence[Role],
    given: Mapping[str, object] | None = None,
) -> FoundColumns:
    """Find the column of each role.

    Args:
        columns: the labels of a table's columns.
        roles: what the columns can be.
        given: by role a label, or `False` for no column; other roles are found by usual names
            among the columns that are not given.
    """
    given = {name: value for name, value in (given or {}).items() if value is not None}
    found: dict[str, Hashable] = {}
    problems: list[ColumnError] = []
    named = [value for value in given.values() if value is not False]
    free = [label for label in columns if label not in named]
    for role in roles:
        if role.name not in given:
            candidates = role.candidates(free)
        elif given[role.name] is False:
            continue
        else:
            candidates = [label for label in columns if label == given[role.name]][:1]
        if len(candidates) > 1:
            problems.append(ColumnAmbiguous(role.name, candidates))
        elif candidates:
            found[role.name] = candidates[0]
        elif role.needed or role.name in given:
            problems.append(ColumnMissing(role.name, columns))
    return FoundColumns(found, tuple(problems))


_TAXABLE_WORDS = re.compile(
    r"(?<![a-z])(?P<off>(?:(?:not|non|no|isn_t|isnt|un|never|without)_?(?:(?:is|be|us|sales?|tax)_)*)?)"
    r"(?:(?P<taxable>taxables?|taxed|taxability|subject_to_(?:sales_)?tax(?:es)?"
    r"|(?:charge|apply|applies|collect)_(?:sales_)?tax(?:es)?|(?:liable|liability)_(?:for|to)_tax"
    r"|tax(?:es)?_(?:applies|applicable|liable))"
    r"|(?P<exempt>exempt(?:ed|ion|ions|s)?|tax_?free|untaxed|untaxable))(?![a-z])"
)
"""What a name says of taxes, with the word before it that turns it round."""


def says_of_tax(label: Hashable) -> Literal["exempt", "taxable"] | None:
    """Whether a column says by its name what is taxable, or what is exempt; `None` for neither.

    "Not taxable" and "nontaxable" say what is exempt, "non-exempt" what is taxable. A name with
    both ("Taxable/Exempt") says neither: its cells do.
    """
    meanings = {
        "exempt" if (match["exempt"] is None) == bool(match["off"]) else "taxable"
        for match in _TAXABLE_WORDS.finditer(plain_name(label))
    }
    if len(meanings) != 1:
        return None
    return "exempt" if "exempt" in meanings else "taxable"


def refuse_opposite(role: str, label: object) -> None:
    """Refuse a column as that of exempt, or of taxable lines that says the opposite by its name.

    Raises:
        SaysOpposite: it does.
    """
    if isinstance(label, str) and says_of_tax(label) == _OPPOSITES[role]:
        raise SaysOpposite(role, label)


_Label = TypeVar("_Label", bound="Hashable")


def single(labels: Iterable[_Label]) -> list[_Label]:
    """The labels that stand there once."""
    return [label for label, count in Counter(labels).items() if count == 1]


def plain_name(label: Hashable) -> str:
    """A label as names are compared: "Ship-to ZIP" and "shipToZip" are `ship_to_zip`."""
    text = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", str(label))
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")


def usual_places(
    free: Sequence[Hashable], given: Mapping[str, object] | None = None
) -> FoundColumns:
    """The columns of a place found by the usual names: one for each role, all of one party.

    The country, which names and values decide, is not among them (see `countries`).

    Args:
        free: the labels to choose from.
        given: by role the value of an argument that is given; its role is not looked for.
    """
    given = given or {}
    roles = [role for role in PLACES.values() if role.name != "country"]
    named = find(free, roles, dict.fromkeys(given, False))
    known = named.columns.keys() | {role for role, value in given.items() if value is not False}
    pair = {"lat", "lng"}
    usable = {
        role: label for role, label in named.columns.items() if role not in pair or pair <= known
    }
    problems, parties = named.problems, usable
    asked = {problem.role for problem in problems}
    if not {"zip", "address"}.isdisjoint(known | asked) and pair.isdisjoint(given):
        # coordinates that were not named are not used beside these: nothing of them is asked
        problems = tuple(problem for problem in problems if problem.role not in pair)
        parties = {role: label for role, label in usable.items() if role not in pair}
    shipping = {found[1] for label in parties.values() if (found := place_role(label))}
    others = [
        label
        for label in free
        if label not in usable.values()
        and _names_a_place(label)
        and not PLACES["country"].fits(label)
    ]
    passed_over = any(map(_names_shipping, others)) and False in shipping
    if others and usable and not problems and (len(shipping) > 1 or passed_over):
        return FoundColumns({}, (ColumnsOfTwoParties(usable, others),))
    return FoundColumns(usable, problems)


def names_below(rows: Sequence[Sequence[object]]) -> int | None:
    """The position of the row that the names of the columns seem to stand in, below other rows.

    `None` where the first row that is not empty names as many places and dates as any other. It is
    a guess that explains why columns were not found, and reads nothing. One name is enough in a row
    that is fuller than every row above it, as below a title.
    """
    named = [len(_roles_named(cells)) for cells in rows]
    filled = [sum(cell not in {None, ""} for cell in cells) for cells in rows]
    top = next((at for at, count in enumerate(filled) if count), 0)
    best = max(range(len(named)), key=named.__getitem__, default=0)
    if best <= top or named[best] <= named[top]:
        return None
    return best if named[best] > 1 or filled[best] > max(filled[:best]) else None


def _roles_named(cells: Sequence[object]) -> set[str]:
    """The roles whose usual names stand in a row; none where it is plainly no row of names."""
    filled = [cell for cell in cells if cell not in {None, ""}]
    if any(not isinstance(cell, str) or _NO_NAME.fullmatch(cell) for cell in filled):
        return set()
    places = {found[0] for cell in filled if (found := place_role(str(cell)))}
    return places | {"as_of" for cell in filled if _SALE.fullmatch(plain_name(str(cell)))}


_NO_NAME = re.compile(r"[^a-z]*[0-9][^a-z]*", re.IGNORECASE)
_SHIP_WORDS = (
    r"ship(?:ping|ment)?(?:_?to)?|deliver(?:y|_?to)|destination|dest|recipient|consignee|receiver"
)
_SHIP = rf"(?P<ship>{_SHIP_WORDS})(?:_?address(?=_))?"
_EVENT = (
    "orders?|sales?|sold|invoiced?|inv|transactions?|trans?|txn|trx|purchased?|ordered|checkout"
    "|receipt|tax|document|doc|posting|posted"
)
_PLACE_WORDS = {
    "state",
    "province",
    "zip",
    "zipcode",
    "postal",
    "postcode",
    "city",
    "street",
    "address",
    "country",
}
_DATE_WORDS = {"date", "datetime", "timestamp", "dt", "day"}
_DATE = ("date", "fecha", "datum")
_PERIOD_WORDS = {"period", "month", "quarter", "year"}
_YEAR, _MONTH, _DAY = r"(?:19|20)[0-9]{2}", r"(?:0?[1-9]|1[0-2])", r"(?:0?[1-9]|[12][0-9]|3[01])"
_NAMED = r"(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]*\.?"
_SPECIFIC = re.compile(r"(?:code|address_?1|line_?1)$")
"""A code rather than a name, the first line of an address rather than the street."""
PLACES: Mapping[str, Role] = {
    role: Role(
        role,
        re.compile(rf"(?:{_SHIP}_?)?(?:{names})"),
        specific=None if role == "zip" else _SPECIFIC,  # of two ZIP Codes neither is more exact
    )
    for role, names in {
        "state": r"(?:us_)?state(?:_(?:code|name|abb?r(?:ev(?:iation)?)?|us))?"
        r"|state_?(?:or_)?(?:prov(?:ince)?(?:_(?:or_)?region)?|region)(?:_code)?"
        r"|(?:region|province)_(?:or_)?state|province(?:_code)?"
        r"|(?(ship)region(?:_code)?|(?!))",  # a region that nothing is shipped to may be "Midwest"
        "zip": r"zip(?:_?(?:code|5|4|plus4))?|(?:zip_)?post(?:al)?_?code|postal|zip_postal",
        "address": r"street_?address|address(?:_?line)?_?1?|street(?:_?line)?_?1?",
        "city": r"city(?:_?name)?|town",
        "lat": r"lat(?:itude)?",
        "lng": r"lng|lon|long|longitude",
        "country": r"country(?:_?(?:code|name))?",
    }.items()
}
_SALE = re.compile(
    rf"(?:(?:{_EVENT})_?)?(?:date|dt|datetime|date_time|timestamp)(?:_local)?"
    rf"|(?:{_EVENT})_?(?:day|time)"
    r"|(?:created|ordered|sold|purchased|invoiced|processed|placed)(?:_(?:at|on))?"
    rf"|date_?(?:of_)?(?:{_EVENT})"
    r"|as_?of(?:_date)?"
)
_LOOKS_DATED = re.compile(
    rf"{_YEAR}([-/.]){_MONTH}\1{_DAY}(?:[T ].*)?"
    rf"|{_DAY}([-/.]){_DAY}\2{_YEAR}(?:[T ].*)?|[0-9]{{1,2}}/[0-9]{{1,2}}/[0-9]{{2}}"
    rf"|{_DAY}[- ]?{_NAMED}[-, ]*(?:{_YEAR}|[0-9]{{2}})(?: .*)?"
    rf"|(?:[a-z]{{3,9}},? )?{_NAMED} {_DAY},? {_YEAR}(?: .*)?",
    re.IGNORECASE,
)
_LOOKS_PERIODIC = re.compile(
    rf"{_YEAR}[-/]{_MONTH}|{_MONTH}/{_YEAR}|{_NAMED}[- ]{_YEAR}"
    rf"|{_YEAR}[- ]?Q[1-4]|Q[1-4][- ]?{_YEAR}|{_YEAR}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])",
    re.IGNORECASE,
)
"""A month, a quarter, or digits that may be a date and may be a number."""
_MAY_BE_PERIOD = re.compile(rf"{_YEAR}(?:0[1-9]|1[0-2])?|{_MONTH}|Q?[1-4]|{_NAMED}", re.IGNORECASE)
"""Values that are periods in a column that is named as one."""


def place_role(label: Hashable) -> tuple[str, bool] | None:
    """The role of a place that a column of this name has, and whether it names a destination."""
    plain = plain_name(label)
    for name, role in PLACES.items():
        if match := role.usual.fullmatch(plain):  # type: ignore[union-attr]  # a pattern here
            return name, match["ship"] is not None
    return None


def is_shipped_to(label: Hashable) -> bool:
    """Whether a column of this name is part of the place something is shipped to."""
    found = place_role(label)
    return found is not None and found[1]


def names_a_state(label: Hashable) -> bool:
    """Whether a name may be that of a column of states, no matter of which address."""
    words = set(plain_name(label).split("_"))
    return bool(words & {"state", "province", "region"}) and not words & {"tax", "rate", "amount"}


def _names_a_place(label: Hashable) -> bool:
    """Whether a name is that of an address, no matter whose."""
    words = set(plain_name(label).split("_"))
    named = words & _PLACE_WORDS or ("region" in words and words & _OF_AN_ADDRESS)
    return bool(named) and not words & {"email", "mail", "ip", "url", "web"}


def _names_shipping(label: Hashable) -> bool:
    """Whether a name is that of a place something is shipped to."""
    return re.search(rf"(?:^|_)(?:{_SHIP_WORDS})(?:_|$)", plain_name(label)) is not None


DateKind: TypeAlias = Literal["sale", "other", "period"]


def date_kind(
    label: Hashable, sample: Sequence[str] | None, *, numeric: bool = False
) -> DateKind | None:
    """Whether a column is the date of the sale by its name, another date, or no date (`None`).

    "period" is a month, a quarter or a year, or digits that may be a date or a number: it counts
    where nothing else is a date.

    Args:
        label: the name of the column.
        sample: some of its values as text; `None` where they are dates.
        numeric: whether they are numbers or truth values.
    """
    plain = plain_name(label)
    if _SALE.fullmatch(plain):
        return "sale"
    if sample is None or _mostly(_LOOKS_DATED, sample):
        return "other"
    words = plain.split("_")
    if _mostly(_LOOKS_PERIODIC, sample) or (
        words[-1] in _PERIOD_WORDS and _mostly(_MAY_BE_PERIOD, sample)
    ):
        return "period"
    if numeric:
        return None
    named = words[-1] in _DATE_WORDS or words[0] in _DATE or words[-1].endswith(_DATE)
    return "other" if named or (len(words) > 1 and words[-1] in {"at", "on"}) else None


def sale_date(
    kinds: Sequence[tuple[Hashable, DateKind | None]],
    advice: str,
    *,
    unnamed: Sequence[Hashable] = (),
) -> list[Hashable]:
    """The one column that is the date of the sale, if there is a date.

    Args:
        kinds: the columns with their `date_kind`.
        advice: what to do where it is not certain.
        unnamed: those of them that no argument can name, such as levels of an index.

    Raises:
        ColumnAmbiguous: several are dates, or one that is not that of the sale by its name.
    """
    dates = [(label, kind) for label, kind in kinds if kind not in {None, "period"}]
    dates = dates or [(label, kind) for label, kind in kinds if kind]
    if [kind for _, kind in dates] in ([], ["sale"]):
        return [label for label, _ in dates]
    labels = [label for label, _ in dates]
    likely, because = _likeliest_date(
        [candidate for candidate in dates if candidate[0] not in unnamed]
    )
    question = question_of_columns("as_of", labels, likely, because, ("today",))
    values = tuple(value for value in question.values if value not in unnamed)
    raise ColumnAmbiguous("as_of", labels, advice, [replace(question, values=values)])


_OF_AN_ORDER = re.compile(r"(?:order|sale|sold|purchase).*|date_?(?:of_)?(?:order|sale|purchase)")


def _likeliest_date(dates: Sequence[tuple[Hashable, DateKind | None]]) -> tuple[Hashable, str]:
    """The column that is likeliest the date of the sale, and why; `None` for none."""
    sales = [label for label, kind in dates if kind == "sale"]
    orders = [label for label in sales if _OF_AN_ORDER.fullmatch(plain_name(label))]
    for named in (sales, orders):
        if len(named) == 1:
            return named[0], "named as the date of the sale"
    if len(dates) == 1 and dates[0][1] == "other":
        words = plain_name(dates[0][0]).split("_")
        if _OF_ANOTHER_DAY.isdisjoint(words):
            return dates[0][0], "the only column of dates"
    return None, ""


def _mostly(looks: re.Pattern[str], sample: Sequence[str]) -> bool:
    """Whether at least half of a sample matches: exports have other texts among their dates."""
    return bool(sample) and 2 * sum(looks.fullmatch(text) is not None for text in sample) >= len(
        sample
    )


def _in_words(role: str) -> str:
    return _IN_WORDS.get(role, role.replace("_", " "))


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PARTIES = _words(
    "ship shipping shipto bill billing billto sold deliver delivery destination customer cust"
    " client buyer purchaser recipient receiver consignee contact payer payee payor card cardholder"
    " holder guest person employee staff team member salesperson owner sender return user"
    " subscriber attendee donor home work mailing residential primary secondary to from of"
)
"""Words for a person, or for the address that a name or a street belongs to."""
_OF_ANOTHER_DAY = _words(
    "due birth born dob expiry expires expiration expire valid until update updated modified"
    " changed paid payment payout refund refunded cancel cancelled canceled return returned ship"
    " shipped delivery delivered fulfilled fulfillment start end printed exported"
)
"""Words of dates that are not those of the sale."""
_OF_AN_ADDRESS = _PARTIES | _words("dest orig origin")
"""Words with which a region is part of an address, and not one of your sales."""
_PERSONAL = (
    (
        _words("email phone telephone tel mobile cell fax ip ipaddress"),
        _words("address number no nr line id order account login receipt browser remote"),
    ),
    (
        _words(
            "name fullname firstname lastname fname lname surname username nickname attn attention"
        ),
        _words("full first last middle given family second user and address"),
    ),
    (
        _words("address addr street apt apartment suite"),
        _words("line full name no number po box district neighborhood"),
    ),
    (_words("company organization note message instruction"), _words("name address")),
)
"""Words that make a column personal, with the words that may stand beside them."""
_ONLY_OF_A_PARTY = _PERSONAL[-1][0]
"""A company alone is no person, and a note alone may be your own."""
_ALONE = _words(
    "customer client buyer purchaser recipient receiver consignee contact payer payee cardholder"
    " card_holder guest employee team_member salesperson sales_rep staff user ship_to bill_to"
    " shipto billto sold_to deliver_to customer_description buyer_user_id cashier first_name"
    " last_name po_box care_of"
)
"""Labels that are personal as they stand: a person, or an address as one block."""


def is_personal(label: Hashable) -> bool:
    """Whether a column holds names, e-mails, phones, street addresses or IP addresses of persons.

    Decided by all words of the label: "Shipping Name" and "Customer Full Name" are personal,
    "Lineitem name" and "Shipping Province Name" are not. City, state, ZIP Code, country, numbers of
    orders and customers, and amounts are none. "Name" alone is personal, although an export may
    have the number of the order there (see `exports`).
    """
    plain = re.sub(r"[0-9]+", "", plain_name(label).replace("e_mail", "email"))
    words = [word for word in plain.split("_") if word]
    if "_".join(words) in _ALONE:
        return True
    for kinds, beside in _PERSONAL:
        known = kinds | _PARTIES | beside
        singular = [word if word in known else word.removesuffix("s") for word in words]
        found = kinds.intersection(singular)
        if not found or not known.issuperset(singular):
            continue
        if found.isdisjoint(_ONLY_OF_A_PARTY) or not _PARTIES.isdisjoint(singular):
            return True
    return False
