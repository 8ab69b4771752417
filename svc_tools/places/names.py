"""Whether two place names mean the same place, as far as spelling can tell."""

from __future__ import annotations

import functools
import re
import unicodedata

__all__ = ["same_place"]

_WORDS = {
    "st": "saint",
    "ste": "sainte",
    "ft": "fort",
    "mt": "mount",
    "mtn": "mountain",
    "n": "north",
    "s": "south",
    "e": "east",
    "w": "west",
    "hts": "heights",
    "spgs": "springs",
    "spg": "spring",
    "bch": "beach",
    "twp": "township",
    "vlg": "village",
    "jct": "junction",
    "pt": "point",
    "is": "island",
    "ctr": "center",
    "centre": "center",
}
_KNOWN_AS = {
    "nyc": "new york",
    "washington dc": "washington",
    "washington d c": "washington",
    "new york city": "new york",
    "sf": "san francisco",
}
_ENDINGS = (" city", " town", " township", " village", " county")


def same_place(one: str, other: str) -> bool:
    """Whether two names differ only in spelling: case, accents, "St." for "Saint", "City"."""
    return _plain(one) == _plain(other)


@functools.lru_cache(maxsize=65536)
def _plain(name: str) -> str:
    bare = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    words = re.sub(r"[^a-z0-9]+", " ", bare.replace("'", "")).split()
    text = " ".join(_WORDS.get(word, word) for word in words)
    text = _KNOWN_AS.get(text, text)
    for ending in _ENDINGS:
        text = text.removesuffix(ending)
    return text.replace(" ", "")
