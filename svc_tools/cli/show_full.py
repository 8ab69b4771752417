"""What a full answer holds beyond the simple one (SPEC 2.5): components and candidates.

Its layout is the service's own, so everything is read with care: what is not as expected is left
out, and nothing is made up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc_sdk._reading import percent
from svc_sdk.rates import rate_to_decimal
from svc_tools.printing import print_table, print_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console

    from svc_sdk import TaxResponse

__all__ = ["reason_of_choice", "show_full"]


_COMPONENT = ("~Level", "~Name", ">Rate", "In force since", "~Source")
_CANDIDATE = ("~Name", "~County", ">Rate", "~Why")
_THIRD_HAND = "third_hand"


def show_full(console: Console, answer: TaxResponse) -> None:
    """Print the components and the candidates of an answer; nothing for a simple one."""
    components, candidates = (_rows(answer, name) for name in ("components", "candidates"))
    if components:
        print_text(console)
        print_text(console, ("Components", "bold"))
        print_table(console, _COMPONENT, map(_component, components), indent=2)
    if len(candidates) > 1:
        print_text(console)
        print_text(console, ("Candidates, the one answered first", "bold"))
        print_table(console, _CANDIDATE, map(_candidate, candidates), indent=2)
    elif candidates:
        print_text(console)
        print_text(console, "No other candidates.")


def reason_of_choice(answer: TaxResponse) -> str | None:
    """Why a full answer took the first of its candidates; `None` where it does not say so."""
    candidates = _rows(answer, "candidates")
    why = candidates[0].get("why") if candidates else None
    return why if isinstance(why, str) else None


def _rows(answer: TaxResponse, name: str) -> list[Mapping[str, object]]:
    value = (answer.model_extra or {}).get(name)
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _component(one: Mapping[str, object]) -> tuple[str, ...]:
    edition = one.get("edition")
    said = (
        one.get("source"),
        f"edition {edition}" if edition else None,
        "third hand" if one.get("trust") == _THIRD_HAND else None,
        one.get("note"),
    )
    return (
        _text(one.get("level")),
        _text(one.get("name")),
        _percent(one.get("rate")),
        _text(one.get("effective_date")) or "not published",
        ", ".join(_text(part) for part in said if part),
    )


def _candidate(one: Mapping[str, object]) -> tuple[str, ...]:
    rate = _percent(one.get("combined_rate"))
    return _text(one.get("name")), _text(one.get("county")), rate, _text(one.get("why"))


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _percent(value: object) -> str:
    """A rate on the wire as a percentage; what is none is shown as it came."""
    try:
        return percent(rate_to_decimal(value)) if isinstance(value, str) else _text(value)
    except ValueError:
        return _text(value)
