"""Text into HTML: nothing that comes from data ever becomes markup."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Markup", "Right", "Wide", "joined", "table", "tag"]

_NOT_IN_HTML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufdd0-\ufdef\ufffe\uffff]")
_EMPTY_TAGS = frozenset({"meta", "rect", "circle", "path", "br"})


class Markup(str):
    """Text that is markup of ours already: the only kind that is not escaped."""

    __slots__ = ()


def _text(value: object) -> Markup:
    if isinstance(value, Markup):
        return value
    whole = str(value).encode("utf-8", "replace").decode("utf-8")  # half a surrogate pair
    return Markup(escape(_NOT_IN_HTML.sub("\ufffd", whole), quote=True))


def tag(name: str, /, *children: object, **attributes: object) -> Markup:
    """An element; children and the attributes' values are escaped unless they are `Markup`.

    `class_` is written `class`, other underscores as dashes; an attribute that is `None` or
    `False` is left out, one that is `True` has no value.
    """
    said = "".join(
        f" {_name(key)}" if value is True else f' {_name(key)}="{_text(value)}"'
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if name in _EMPTY_TAGS and not children:
        return Markup(f"<{name}{said}>" if name in {"meta", "br"} else f"<{name}{said}/>")
    return Markup(f"<{name}{said}>{joined(children)}</{name}>")


def _name(key: str) -> str:
    return key.removesuffix("_").replace("_", "-") if key != "viewBox" else key


def joined(parts: Iterable[object]) -> Markup:
    """Parts one after the other."""
    return Markup("".join(map(_text, parts)))


class Right(str):
    """The head of a column of figures, which stand on the right."""

    __slots__ = ()


class Wide(str):
    """The head of a column of sentences, which need room."""

    __slots__ = ()


def table(
    caption: str,
    heads: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    total: Sequence[object] | None = None,
    captioned: bool = True,
) -> Markup:
    """A table in a box of its own that scrolls sideways; `Right` heads stand right.

    Without a caption that is seen, it still has one for a screen reader.
    """
    looks = [
        "n" if isinstance(head, Right) else "w" if isinstance(head, Wide) else None
        for head in heads
    ]

    def line(cells: Sequence[object]) -> Markup:
        return tag(
            "tr",
            *(
                tag("td", "" if cell is None else cell, class_=look)
                for cell, look in zip(cells, looks, strict=True)
            ),
        )

    head = tag(
        "tr",
        *(
            tag("th", text, scope="col", class_=look)
            for text, look in zip(heads, looks, strict=True)
        ),
    )
    parts = [
        tag("caption", caption) if captioned else "",
        tag("thead", head),
        tag("tbody", *map(line, rows)),
    ]
    if total is not None:
        parts.append(tag("tfoot", line(total)))
    whole = tag("table", *parts)
    return tag("div", whole, class_="scroll", role="region", aria_label=caption, tabindex="0")
