"""Comparing place names: case, accents, punctuation and the usual short forms do not count."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

__all__ = ["bare_county", "name_key", "name_keys", "title_name"]

_SHORT = {
    "st": "saint",
    "ste": "sainte",
    "mt": "mount",
    "mtn": "mountain",
    "ft": "fort",
    "pt": "point",
    "hts": "heights",
    "spgs": "springs",
    "jct": "junction",
    "twp": "township",
    "vlg": "village",
    "is": "island",
    "bch": "beach",
    "n": "north",
    "s": "south",
    "e": "east",
    "w": "west",
    "co": "county",
    "cty": "county",
}
_WORD = re.compile(r"[a-z0-9]+")
_PREFIXES = (("city", "of"), ("town", "of"), ("county", "of"), ("village", "of"), ("borough", "of"))
_COUNTY_WORDS = frozenset({"county", "parish", "borough", "city"})


@lru_cache(maxsize=65_536)
def _words(text: str) -> tuple[str, ...]:
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii").casefold()
    plain = plain.replace("'", "").replace("`", "").replace("&", " and ")
    return tuple(_SHORT.get(word, word) for word in _WORD.findall(plain))


def name_key(text: str) -> str:
    """One key for all the ways to write a name: `"St. Louis"` and `"SAINT LOUIS"` agree.

    Blanks are dropped too, so that `"De Soto"` meets `"DeSoto"`. Empty when the text has no
    letter or digit of the Latin alphabet.
    """
    return "".join(_words(text))


def name_keys(text: str) -> list[str]:
    """The keys to try for what a caller wrote, the literal one first (`"City of Seattle"`)."""
    words = _words(text)
    keys = ["".join(words)]
    if words[:2] in _PREFIXES:
        rest = words[2:]
        keys.append("".join(rest) + ("county" if words[0] == "county" else ""))
    if "unincorporated" in words:  # "Unincorporated King County", "Kern (unincorporated area)"
        rest = tuple(word for word in words if word not in {"unincorporated", "area"})
        keys.append("".join(rest) + ("" if rest[-1:] == ("county",) else "county"))
    return [key for key in keys if key]


def bare_county(name: str) -> str:
    """The key of a county's name without its last word: `"Miami-Dade County"` -> `"miamidade"`."""
    words = _words(name)
    if len(words) > 1 and words[-1] in _COUNTY_WORDS:
        words = words[:-1]
    return "".join(words)


def title_name(text: str) -> str:
    """A name of an official table in capitals as a person writes it: `"OAK HARBOR"`."""
    lowered = re.sub(
        r"[A-Za-z]+(?:'[A-Za-z]+)?", lambda found: found.group().capitalize(), text.strip()
    )
    for word in ("Rta", "Ptba", "Hbz", "Non-rta"):
        lowered = re.sub(rf"\b{word}\b", word.upper(), lowered)
    return re.sub(r"\b(Of|The|And)\b", lambda found: found.group().lower(), lowered)
