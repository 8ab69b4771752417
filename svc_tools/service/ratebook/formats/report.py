"""What a compilation did with its sources: every row left out, settled or in conflict is listed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from textwrap import fill

__all__ = ["CompileReport", "Finding"]

KINDS = {
    "missing": "Sources that were not there",
    "left_out": "Left out",
    "corrected": "Corrections applied",
    "conflict": "Sources disagree",
    "settled": "Settled by a rule",
    "note": "Noted",
}
"""The kinds of finding, in the order of the report, and their headings."""

_SHOWN = 25
_WIDTH = 80
_NARROWEST = 40


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing a reader of the book should know about how it came to be.

    Attributes:
        kind: one of `KINDS`.
        source: file name the row stands in.
        subject: which row.
        message: what is the matter and what was done.
    """

    kind: str
    source: str
    subject: str
    message: str


@dataclass(slots=True)
class CompileReport:
    """The findings of one compilation and the number of rows written.

    Attributes:
        findings: in the order they were met.
        rows: file name of the book -> rows written.
        sizes: file name of the book -> bytes written.
        edition: the edition of the compiled book.
    """

    findings: list[Finding] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    edition: str = ""

    def add(self, kind: str, source: str, subject: str, message: str) -> None:
        """Note one finding; `kind` is one of `KINDS`."""
        if kind not in KINDS:
            raise ValueError(f"kind: {kind!r} is none of {', '.join(KINDS)}")
        self.findings.append(Finding(kind, source, subject, message))

    def of_kind(self, kind: str) -> list[Finding]:
        """The findings of one kind."""
        return [finding for finding in self.findings if finding.kind == kind]

    def render(self, *, everything: bool = False, width: int = _WIDTH) -> str:
        """The report as text for a terminal.

        Args:
            everything: list every finding; otherwise a long list of one kind and source is cut,
                and the number of those not shown is said.
            width: columns; a longer finding goes on in the next line, further in.
        """
        lines = [f"Rate book, edition {self.edition}", ""]
        lines += [
            f"  {name:<20} {count:>7,} rows {self.sizes.get(name, 0):>11,} bytes"
            for name, count in self.rows.items()
        ]
        for kind, heading in KINDS.items():
            found = self.of_kind(kind)
            if not found:
                continue
            lines += ["", f"{heading} ({len(found)})"]
            for source, total in Counter(finding.source for finding in found).items():
                here = [finding for finding in found if finding.source == source]
                shown = here if everything else here[:_SHOWN]
                lines.append(f"  {source}")
                lines += [_wrapped(f"{one.subject}: {one.message}", width) for one in shown]
                if len(shown) < total:
                    lines.append(
                        f"    ... and {total - len(shown)} more of this source (--all lists them)"
                    )
        return "\n".join(lines) + "\n"


def _wrapped(told: str, width: int) -> str:
    return fill(
        told,
        max(width, _NARROWEST),
        initial_indent="    ",
        subsequent_indent="      ",
        break_long_words=False,
        break_on_hyphens=False,
    )
