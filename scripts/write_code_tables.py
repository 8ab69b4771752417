"""Write the tables of codes and of exports in the documents from the code.

Run `python -m scripts.write_code_tables` after a change of a meaning. A table stands below a
comment `<!-- codes: KIND -->` or `<!-- exports -->`; its heads stay as they are in the file.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from svc_tools.codes import CODES, Kind, codes_of
from svc_tools.exports import EXPORTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from svc_tools.exports import Export, Sum

DOCS = Path(__file__).parents[1] / "docs"
_TABLE = re.compile(r"(<!-- codes: (\w+) -->\n\n(\|.*\n)(\|.*\n))((?:\|.*\n)*)")


def _rows(kind: Kind, columns: int) -> Iterator[str]:
    for code in codes_of(kind):
        row = CODES[code]
        yield f"| {' | '.join((f'`{code}`', row.meaning, row.why)[:columns])} |\n"


def written(text: str) -> str:
    """A page with its tables of codes as the code has them."""

    def table(found: re.Match[str]) -> str:
        kind = next(name for name in get_args(Kind) if name == found[2])
        return found[1] + "".join(_rows(kind, found[3].count("|") - 1))

    return _EXPORTS.sub(lambda found: found[1] + "".join(_of_exports()), _TABLE.sub(table, text))


_EXPORTS = re.compile(r"(<!-- exports -->\n\n(?:\|.*\n){2})(?:\|.*\n)*")
_ZONES = {"UTC": "UTC", "offset": "as written, with its offset", "seller": "the seller's own"}


def _of_exports() -> Iterator[str]:
    for one in EXPORTS:
        day = " or ".join(f"`{name}`" for name in one.columns["as_of"])
        known = ", ".join(f"`{name}`" for name in one.known_by)
        amount = f"{_in_words(one.amount[0])}: {one.amounts}"
        delivery = _in_words(one.shipping[0]) if one.shipping else _of_lines(one)
        cells = (one.name, known, f"{day}; {_ZONES[one.zone]}", amount, delivery, one.note)
        yield f"| {' | '.join(cells)} |\n"


def _in_words(one: Sum) -> str:
    plus = " + ".join(f"`{name}`" for name in one.plus)
    return plus + "".join(f" - `{name}`" for name in one.minus)


def _of_lines(export: Export) -> str:
    """The lines that are delivery, or none."""
    words = next(iter(export.delivery.values()), None)
    return "not stated" if words is None else f"lines of the product {', '.join(words)}"


if __name__ == "__main__":
    for page in DOCS.glob("*.md"):
        page.write_text(written(page.read_text(encoding="utf-8")), encoding="utf-8")
