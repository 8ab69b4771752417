"""On which terms a tax was computed: what was asked for, and what the frame remembers of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from svc_tools.frames.enriched import TERMS
from svc_tools.frames.taxes.due import register_of
from svc_tools.frames.taxes.rounding import ROUNDINGS, Rounding

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    import pandas as pd

    from svc_tools.frames.taxes.due import Nexus
    from svc_tools.nexus import Register

__all__ = ["TaxTerms", "remember", "terms_of"]


@dataclass(frozen=True, slots=True)
class TaxTerms:
    """The arguments of `df.svc.tax()`, which documents them."""

    amount: Hashable = "amount"
    shipping: Hashable | None = None
    exempt: Hashable | None = None
    rounding: Rounding = "half_up"
    invoice: Hashable | None = None
    partial: Literal["use"] | None = None
    nexus: Nexus | None = None
    channel: Hashable | None = None
    ship_from: Hashable | None = None

    def __post_init__(self) -> None:
        """Refuse words that are not known.

        Raises:
            ValueError: it names the argument and what is expected.
        """
        if self.partial not in (None, "use"):  # what was given may have no hash
            raise ValueError(f"partial: {self.partial!r} is not known; expected 'use' or None")
        if self.rounding not in ROUNDINGS:
            raise ValueError(
                f"rounding: {self.rounding!r} is not known; expected {', '.join(ROUNDINGS)}"
            )

    def register(self) -> Register | None:
        """The register of nexus, read; `None` where none was given."""
        return None if self.nexus is None else register_of(self.nexus)


def remember(frame: pd.DataFrame, prefix: str, terms: TaxTerms, register: Register | None) -> None:
    """Note the terms in the frame's attributes, in plain values that a file can hold."""
    said: dict[str, object] = {
        "amount": _plain(terms.amount),
        "shipping": _plain(terms.shipping),
        "exempt": _plain(terms.exempt),
        "rounding": terms.rounding,
        "invoice": _plain(terms.invoice),
        "partial": terms.partial,
        "nexus": None,
        "channel": _plain(terms.channel),
        "ship_from": _plain(terms.ship_from),
    }
    if register is not None:
        file = Path(terms.nexus).name if isinstance(terms.nexus, str | Path) else None
        said["nexus"] = {
            "file": file,
            "records": len(register.records),
            "states": sorted(register.states),
        }
    known = frame.attrs.get(TERMS)
    frame.attrs[TERMS] = {**(known if isinstance(known, dict) else {}), prefix: said}


def terms_of(frame: pd.DataFrame, prefix: str) -> Mapping[str, Any]:
    """How the tax of this prefix was computed, as `df.svc.tax()` noted it; empty if it is lost."""
    noted = frame.attrs.get(TERMS)
    terms = noted.get(prefix) if isinstance(noted, dict) else None
    return terms if isinstance(terms, dict) else {}


def _plain(value: object) -> object:
    return value if value is None or isinstance(value, str | bool | int) else str(value)
