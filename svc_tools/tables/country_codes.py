"""The country that a cell names: a code, a number, or a name in one of six languages. Pure.

The table is `country_codes.csv`: codes and numbers of ISO 3166-1, and names in English, Spanish,
French, German, Portuguese and Italian as the Unicode CLDR has them, with usual other ones.
"""

from __future__ import annotations

import csv
import functools
import re
import unicodedata
from pathlib import Path

_NUMBER = re.compile(r"([0-9]{1,3})(?:\.0+)?")
_IN_BRACKETS = re.compile(r"\(([^()]*)\)|\[([^\[\]]*)\]")
_BETWEEN = re.compile(r"[-\u2013\u2014/:|,;]")


@functools.lru_cache(maxsize=4096)
def country_code(text: str) -> str | None:
    """The ISO code of a country: "US" for "usa", "840", "U.S.", "US - United States".

    Returns:
        The code of two letters; `None` for anything else, also where the parts of a text name
        different countries ("US - Germany"): unknown text is never guessed at.
    """
    code = _named(text)
    if code is not None:
        return code
    inner = [_named(first or second) for first, second in _IN_BRACKETS.findall(text)]
    parts = [part for part in _BETWEEN.split(_IN_BRACKETS.sub(" ", text)) if _plain(part)]
    outer = {_named(_IN_BRACKETS.sub(" ", text))} if len(parts) == 1 else set(map(_named, parts))
    named = outer | ({*inner} - {None})
    return named.pop() if len(named) == 1 else None


def country_name(code: str) -> str:
    """The English name of a country by its ISO code of two letters: "Canada" for "CA"."""
    return _names()[code]


@functools.cache
def _names() -> dict[str, str]:
    """The English names by code."""
    return {row["code"]: row["names"].partition(";")[0] for row in _rows()}


def _named(text: str) -> str | None:
    """The code of a text that is one code, number or name."""
    if number := _NUMBER.fullmatch(text.strip()):
        return _table().get(number[1].zfill(3))
    plain = _plain(text)
    return _table().get(plain) or _table().get(plain.removeprefix("the"))


def _plain(text: str) -> str:
    """A text as names are compared: without case, accents, blanks and marks."""
    letters = unicodedata.normalize("NFKD", text).casefold()
    return "".join(letter for letter in letters if letter.isalnum())


@functools.cache
def _table() -> dict[str, str]:
    """The codes by all that is written for a country."""
    found: dict[str, str] = {}
    for row in _rows():
        written = (row["code"], row["alpha_3"], row["number"], *row["names"].split(";"))
        found |= dict.fromkeys(map(_plain, written), row["code"])
    return found


def _rows() -> list[dict[str, str]]:
    """The rows of the table."""
    with Path(__file__).with_name("country_codes.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))
