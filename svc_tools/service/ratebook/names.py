"""Comparing place names: case, accents, punctuation and the usual short forms do not count."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

__all__ = ["bare_county", "name_key", "name_keys", "title_name"]

_SHORT = {
    "st": "saint", "ste": "sainte", "sta": "santa", "mt": "mount", "mtn": "mountain",
    "mtns": "mountains", "ft": "fort", "frt": "fort", "pt": "point", "prt": "port",
    "hts": "heights", "hgts": "heights", "ht": "heights", "spg": "spring", "spgs": "springs",
    "spng": "spring", "spngs": "springs", "jct": "junction", "jctn": "junction",
    "twp": "township", "twnshp": "township", "boro": "borough", "vlg": "village",
    "vill": "village", "is": "island", "isl": "island", "bch": "beach", "hl": "hill",
    "hls": "hills", "vly": "valley", "vlly": "valley", "lk": "lake", "lks": "lakes",
    "ctr": "center", "cntr": "center", "centre": "center", "cnr": "center", "ctrs": "centers",
    "gdns": "gardens", "gdn": "garden", "pk": "park", "vw": "view", "hbr": "harbor",
    "harbour": "harbor", "crk": "creek", "fls": "falls", "grv": "grove", "rdg": "ridge",
    "riv": "river", "rvr": "river", "mdws": "meadows", "mdw": "meadow", "pln": "plain",
    "plns": "plains", "lndg": "landing", "mls": "mills", "cyn": "canyon", "frk": "fork",
    "frks": "forks", "frst": "forest", "gln": "glen", "hvn": "haven", "shrs": "shores",
    "shr": "shore", "brg": "bridge", "bnd": "bend", "xing": "crossing", "ests": "estates",
    "sq": "square", "pl": "place", "n": "north", "s": "south", "so": "south", "e": "east",
    "w": "west",
    "co": "county", "cnty": "county", "cty": "county",
}  # fmt: skip
"""The usual short forms; both names are written out before they are compared."""

_OTHERWISE = {"pt": "port", "cty": "city", "no": "north", "mt": "mountain"}
"""What a short form may mean too: tried where the first meaning leads nowhere."""

_WORD = re.compile(r"[a-z0-9]+")
_KINDS = {
    "city": "", "town": "", "village": "", "borough": "", "township": "", "municipality": "",
    "county": "county", "parish": "parish",
}  # fmt: skip
"""Words in "Town of Vienna", and what stands behind the bare name in the full one."""
_SUFFIXES = frozenset({"city", "town", "village", "borough", "cdp"})
_COUNTY_WORDS = frozenset({"county", "parish", "borough", "city"})


@lru_cache(maxsize=65_536)
def _raw(text: str) -> tuple[str, ...]:
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii").casefold()
    plain = plain.replace("'", "").replace("`", "").replace("&", " and ")
    return tuple(_WORD.findall(plain))


@lru_cache(maxsize=65_536)
def _words(text: str) -> tuple[str, ...]:
    return tuple(_SHORT.get(word, word) for word in _raw(text))


def name_key(text: str) -> str:
    """One key for all the ways to write a name: `"St. Louis"` and `"SAINT LOUIS"` agree.

    Blanks are dropped too, so that `"De Soto"` meets `"DeSoto"`. Empty when the text has no
    letter or digit of the Latin alphabet.
    """
    return "".join(_words(text))


def name_keys(text: str) -> list[str]:
    """The keys to try for what a caller wrote, the literal one first (`"City of Seattle"`)."""
    return list(_name_keys(text))


@lru_cache(maxsize=4096)
def _name_keys(text: str) -> tuple[str, ...]:
    words = _words(text)
    keys = ["".join(words)]
    if words[:1] == ("the",):
        keys.append("".join(words[1:]))
    if words[:4] == ("city", "and", "county", "of"):
        keys += ["".join(words[4:]) + "county", "".join(words[4:])]
    elif words[1:2] == ("of",) and words[0] in _KINDS:
        keys.append("".join(words[2:]) + _KINDS[words[0]])
    if "unincorporated" in words:  # "Unincorporated King County", "Kern (unincorporated area)"
        rest = tuple(word for word in words if word not in {"unincorporated", "area"})
        keys.append("".join(rest) + ("" if rest[-1:] == ("county",) else "county"))
    for number, word in enumerate(_raw(text)):
        if word in _OTHERWISE:  # "Pt St Lucie", "No Hollywood"
            other = (*words[:number], _OTHERWISE[word], *words[number + 1 :])
            keys.append("".join(other))
            if other[1:2] == ("of",) and other[0] in _KINDS:
                keys.append("".join(other[2:]))
    if len(words) > 1 and words[-1] in _SUFFIXES:  # "Charlotte city", as the census writes it
        keys.append("".join(words[:-1]))
    return tuple(dict.fromkeys(key for key in keys if key))


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
