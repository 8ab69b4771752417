"""Write the tables of codes, columns, options, delivery and official pages in the documents.

Run `python -m scripts.write_code_tables` after a change of a meaning, an option or the book. A
table stands below a comment `<!-- codes: KIND -->`, `<!-- columns: WHICH -->`,
`<!-- options: KIND -->`, `<!-- delivery -->` or `<!-- official pages -->`; its heads stay as they
are, and so do the parts of the order of columns, each with its first one.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from svc_tools.lookup.columns import ADDED_COLUMNS, COLUMNS, DETAIL_COLUMNS, DTYPES, LOOKUP_COLUMNS
from svc_tools.lookup.options import (
    ROLES,
    ExposureOptions,
    FileOptions,
    LookupOptions,
    TaxOptions,
    flag_of,
    option_rows,
)
from svc_tools.service.ratebook import load_book
from svc_tools.show.codes import CODES, CodeKind, codes_of
from svc_tools.show.official_pages import OFFICIAL_PAGES
from svc_tools.tables.states import STATES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from svc_tools.lookup.options import Road

DOCS = Path(__file__).parents[1] / "docs"
_TABLE = re.compile(r"(<!-- codes: (\w+) -->\n\n(\|.*\n)(\|.*\n))((?:\|.*\n)*)")
_COLUMNS = re.compile(r"(<!-- columns: (\w+) -->\n\n(?:\|.*\n){2})((?:\|.*\n)*)")
_OPTIONS = re.compile(r"(<!-- options: (\w+) -->\n\n(?:\|.*\n){2})((?:\|.*\n)*)")
_KINDS = {
    "lookup": LookupOptions,
    "tax": TaxOptions,
    "file": FileOptions,
    "exposure": ExposureOptions,
}
_DELIVERY = re.compile(r"(<!-- delivery -->\n\n(?:\|.*\n){2})((?:\|.*\n)*)")
_PAGES = re.compile(r"(<!-- official pages -->\n\n(?:\|.*\n){2})((?:\|.*\n)*)")
_TREATMENTS = {
    "follows_goods": "taxed as the goods are",
    "taxable": "taxed",
    "exempt_if_separate": "not taxed where stated separately",
    "exempt_if_optional": "not taxed where the buyer could avoid it",
}


def _rows(kind: CodeKind, columns: int) -> Iterator[str]:
    for code in codes_of(kind):
        row = CODES[code]
        yield f"| {' | '.join((f'`{code}`', row.meaning, row.why)[:columns])} |\n"


def _columns(which: str, former: str) -> Iterator[str]:
    if which == "order":
        yield from _order(former)
        return
    names = {"lookup": LOOKUP_COLUMNS, "detail": DETAIL_COLUMNS}[which]
    for one in COLUMNS:
        if one.name in names:
            yield f"| `{one.name}` | `{DTYPES[one.form]}` | {one.meaning} |\n"


def _order(former: str) -> Iterator[str]:
    """The parts of the order of the columns: each begins with the column that it began with."""
    parts = [row.split(" | ") for row in former.splitlines()]
    firsts = [ADDED_COLUMNS.index(re.findall(r"`(\w+)`", row)[0]) for _, row in parts]
    for (part, _), start, end in zip(parts, firsts, [*firsts[1:], None], strict=True):
        yield f"{part} | {', '.join(f'`{name}`' for name in ADDED_COLUMNS[start:end])} |\n"


def _options(kind: str) -> Iterator[str]:
    """An option in Python, in a file's call, in the command, and in the panel; or why it is not."""
    for name, row in option_rows(_KINDS[kind]).items():
        held = "tax" if kind == "tax" else "lookup" if kind == "lookup" and name in ROLES else ""
        ways: dict[Road, str] = {
            "file": f"`{held}={{'{name}': …}}`" if held else f"`{name}`",
            "command": f"`{flag_of(name, row)}`",
            "panel": row.panel,
        }
        cells = [f"`{name}`", row.help]
        cells += [
            f"no ({row.not_on[road]})" if road in row.not_on else way for road, way in ways.items()
        ]
        yield f"| {' | '.join(cells)} |\n"


def _rules() -> Iterator[str]:
    book = load_book()
    for state, rules in sorted(book.delivery.items()):
        for rule in rules:
            source = f"[{rule.source}](<{rule.url}>)" if rule.url else rule.source
            cells = (
                book.states[state].name,
                _TREATMENTS[rule.treatment] + (" (in doubt)" if rule.doubt else ""),
                rule.begin or "",
                rule.end or "",
                rule.certainty,
                f"{rule.law}: {source}" if rule.law else source,
                rule.checked,
            )
            yield f"| {' | '.join(str(cell).replace('|', '/') for cell in cells)} |\n"


def _pages() -> Iterator[str]:
    """Each state's lookup of single addresses, and the web address of it or of another page."""
    for state, name in STATES.items():
        page = OFFICIAL_PAGES.get(state)
        if page is None:
            continue
        lookup, other = (part.removeprefix("the ") for part in (page.lookup, page.other))
        if page.url:
            lookup, other = (
                (lookup, f"[{other}](<{page.url}>)") if other else (f"[{lookup}](<{page.url}>)", "")
            )
        yield f"| {name} | {lookup} | {other} |\n"


def written(text: str) -> str:
    """A page with its tables of codes as the code has them."""

    def table(found: re.Match[str]) -> str:
        kind = next(name for name in get_args(CodeKind) if name == found[2])
        return found[1] + "".join(_rows(kind, found[3].count("|") - 1))

    text = _TABLE.sub(table, text)
    text = _COLUMNS.sub(lambda found: found[1] + "".join(_columns(found[2], found[3])), text)
    text = _OPTIONS.sub(lambda found: found[1] + "".join(_options(found[2])), text)
    text = _DELIVERY.sub(lambda found: found[1] + "".join(_rules()), text)
    return _PAGES.sub(lambda found: found[1] + "".join(_pages()), text)


if __name__ == "__main__":
    for page in DOCS.glob("*.md"):
        page.write_text(written(page.read_text(encoding="utf-8")), encoding="utf-8")
