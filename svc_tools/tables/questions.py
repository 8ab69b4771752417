"""The questions that the columns of a file leave open, and the lines that answer them.

A line names for each question the value that seems likeliest: as arguments in Python, as options
of a command for a shell. Where nothing seems likely, it has `…` in its place.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from svc_tools.base.operating_system import is_windows, typed

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable

OPEN: Final = "…"
"""Stands in a line for a value that the user has to choose."""


@dataclass(frozen=True, slots=True)
class Question:
    """One decision that the columns of a file leave open.

    Attributes:
        role: what is asked about, such as `country`, `amount` or `refunds`.
        columns: the columns that it is about, the likeliest first.
        values: the values of the argument that answer it, such as a column's name or `False`.
        likely: the one of them that seems likeliest; `None` where none does.
        why: what was seen, in a sentence without a full stop.
        argument: the argument that answers it, such as `once`.
        because: why `likely` seems likeliest, in words; may be empty where `why` says it.
        choices: what each value stands for, for hosts that do not list them in words.
    """

    role: str
    columns: tuple[Hashable, ...]
    values: tuple[object, ...]
    likely: object
    why: str
    argument: str
    because: str = ""
    choices: str = ""


def answers(questions: Iterable[Question]) -> dict[str, object]:
    """The likeliest value by argument, in the order of the questions.

    Lists are joined, and so are mappings.
    """
    found: dict[str, object] = {}
    for one in questions:
        likely = OPEN if one.likely is None else one.likely
        before = found.get(one.argument, likely)
        if isinstance(before, list | tuple) and isinstance(likely, list | tuple):
            found[one.argument] = [*dict.fromkeys([*before, *likely])]
        elif isinstance(before, Mapping) and isinstance(likely, Mapping):
            found[one.argument] = {**likely, **before}
        else:
            found[one.argument] = before
    return found


def in_python(questions: Iterable[Question], call: str = "lookup") -> str:
    """One line of Python, such as `lookup(zip='Ship Zip', as_of='Order Date', country=False)`.

    Args:
        questions: what is asked.
        call: the method of which these are arguments; one that ends in "=" is an argument that
            takes them as a dictionary: `lookup={'zip': 'Ship Zip'}`.
    """
    found = answers(questions)
    if call.endswith("="):
        return call + "{" + ", ".join(f"{name!r}: {one!r}" for name, one in found.items()) + "}"
    return f"{call}({', '.join(f'{name}={one!r}' for name, one in found.items())})"


def in_shell(questions: Iterable[Question], options: Mapping[str, str]) -> str:
    """One line of options, such as `--zip "Ship Zip" --as-of "Order Date" --without country`.

    Args:
        questions: what is asked.
        options: the option of an argument where it has another name (`"amount": "--tax"`), or all
            that stands for one value of it (`"amount False": "--no-tax"`). By default `zip` is
            `--zip`, `False` for `country` is `--without country`, and a mapping has one option for
            each of its pairs (`"Service Fee=untaxed"`).
    """
    found = answers(questions)
    return " ".join(_options_of(name, value, options) for name, value in found.items())


def option_line(argument: str, value: object) -> str:
    """The option of an argument with its value, such as `--taxable "Taxable?"`."""
    return _options_of(argument, value, {})


def _options_of(argument: str, value: object, options: Mapping[str, str]) -> str:
    if (whole := options.get(f"{argument} {value}")) is not None:
        return whole
    plain = argument.replace("_", "-")
    if value is False:
        return f"--without {plain}"
    name = options.get(argument, f"--{plain}")
    if value is True:
        return name
    each = value if isinstance(value, list | tuple) else [value]
    if isinstance(value, Mapping):
        each = [f"{label}={what}" for label, what in value.items()]
    return " ".join(f"{name} {_quoted(str(one))}" for one in each)


_BARE = re.compile(r"[A-Za-z0-9_./:@%+=-]+|…")
_IN_DOUBLE_QUOTES = re.compile(r"[^\"\\`$!%\x00-\x1f\x7f]+")
"""What every shell reads as it stands between double quotes."""


def _quoted(word: str) -> str:
    """A word for a shell: in double quotes, which all of them know, wherever they suffice."""
    if _BARE.fullmatch(word) and (not is_windows() or "%" not in word):
        return word
    return f'"{word}"' if _IN_DOUBLE_QUOTES.fullmatch(word) else typed([word])


def in_sentences(
    questions: Iterable[Question],
    answer: Callable[[Question], str] | None = None,
    *,
    choices: bool = True,
) -> list[str]:
    """Each question in a sentence without a full stop: what was seen, what is likeliest, and why.

    Args:
        questions: what is asked.
        answer: how the likeliest value of a question is written; by default as in Python.
        choices: whether to say what each value stands for.
    """
    written = _in_python if answer is None else answer
    seen = [(one, _seen(one, choices=choices)) for one in questions]
    return [
        text if one.likely is None else f"{text}; likeliest: {written(one)}{_reason(one)}"
        for one, text in seen
    ]


def _seen(one: Question, *, choices: bool) -> str:
    return f"{one.why}; {one.choices}" if choices and one.choices else one.why


def _in_python(one: Question) -> str:
    return f"{one.argument}={one.likely!r}"


def _reason(one: Question) -> str:
    return f" ({one.because})" if one.because else ""
