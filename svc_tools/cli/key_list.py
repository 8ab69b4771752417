"""The list of keys, as it is shown on a terminal: one line a key, whatever else there is below."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.cells import cell_len

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["key_lines", "terms_in_words"]

_GAP = "   "
_RULE = "─"
_INDENT = "    "
_FEATURES = ("history", "full", "nexus")
_TITLES = ("Id", "Plan", "Rate", "This month", "Features", "Status")
_BESIDE = ("Account", "Name", "Valid until (UTC)")


def key_lines(described: Iterable[dict[str, Any]], width: int) -> list[str]:
    """The keys as a table; what does not fit beside the figures stands below them, indented.

    Args:
        described: the keys, as the service describes them.
        width: how many cells a line has.
    """
    keys = list(described)
    facts = [_facts(one) for one in keys]
    remarks = [_remarks(one) for one in keys]
    # a column of remarks that nobody made is left out
    wanted = [any(column) for column in zip(*remarks, strict=True)]
    lines = _aligned(
        [
            (*row, *_only(wanted, beside))
            for row, beside in zip([_TITLES, *facts], [_BESIDE, *remarks], strict=True)
        ]
    )
    if all(cell_len(line) <= width for line in lines):
        return _ruled(lines)
    table = _ruled(_aligned([_TITLES, *facts]))
    lines, rows = table[:2], table[2:]
    for row, remark in zip(rows, remarks, strict=True):
        lines.append(row)
        account, name, until = remark
        below = (account, name, until and f"valid until {until} UTC")
        if any(below):
            lines.append(_INDENT + ", ".join(part for part in below if part))
    return lines


def _ruled(lines: list[str]) -> list[str]:
    """A table with a rule below its head, as every table of ours on a terminal."""
    return [lines[0], _RULE * max(map(cell_len, lines)), *lines[1:]]


def _use(one: dict[str, Any]) -> str:
    """What a key used this month: of its quota, and what is left where that is not the rest."""
    quota, used, left = one["monthly_quota"], one["used"], one["left"]
    if quota is None:
        return "no quota"
    said = f"{used:,} of {quota:,}"
    # lookups that are in the hands of a process just now, or were when it was killed
    return said if left == max(0, quota - used) else f"{said} ({left:,} left)"


def terms_in_words(row: Any) -> str:  # noqa: ANN401 - the service's own type stays behind the door
    """What a key may do, in one sentence."""
    terms = row.terms
    rate = terms.rate
    speed = f"{rate.per_minute:,} requests a minute, {rate.burst:,} at once" if rate else "any rate"
    quota = "any number of" if terms.monthly_quota is None else f"{terms.monthly_quota:,}"
    features = ", ".join(name for name in _FEATURES if name in terms.features) or "none"
    due = "; past due" if row.past_due else ""
    return (
        f"account {row.account}, plan {row.plan}: {speed}, {quota} lookups a month;"
        f" features: {features}{due}"
    )


def _facts(one: dict[str, Any]) -> tuple[str, ...]:
    rate = one["rate_per_minute"]
    return (
        one["id"],
        one["plan"],
        "any" if rate is None else f"{rate:,}/min",
        _use(one),
        _feature_text(one["features"]),
        one["status"].replace("_", " "),
    )


def _feature_text(there: list[str]) -> str:
    missing = [name for name in _FEATURES if name not in there]
    if len(missing) == 1:
        return f"no {missing[0]}"
    return (" ".join(name for name in _FEATURES if name in there) or "none") if missing else "all"


def _remarks(one: dict[str, Any]) -> tuple[str, str, str]:
    account = "" if one["account"] == "local" else one["account"]
    until = one["expires_at"] or ""
    return _shown(account), _shown(one["name"] or ""), until[:10] + until[10:16].replace("T", " ")


def _shown(text: str) -> str:
    """A text of an older database may hold what would move the cursor of a terminal."""
    return "".join(sign if sign.isprintable() else "�" for sign in text)


def _only(wanted: list[bool], cells: Iterable[str]) -> tuple[str, ...]:
    return tuple(cell for cell, there in zip(cells, wanted, strict=True) if there)


def _aligned(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    return [
        _GAP.join(
            cell + " " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True)
        ).rstrip()
        for row in rows
    ]
