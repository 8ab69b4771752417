"""Write the tables of codes in the documents from the code.

Run `python -m scripts.write_code_tables` after a change of a meaning. A table stands below a
comment `<!-- codes: KIND -->`; its heads stay as they are in the file.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from svc_tools.codes import CODES, Kind, codes_of

if TYPE_CHECKING:
    from collections.abc import Iterator

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

    return _TABLE.sub(table, text)


if __name__ == "__main__":
    for page in DOCS.glob("*.md"):
        page.write_text(written(page.read_text(encoding="utf-8")), encoding="utf-8")
