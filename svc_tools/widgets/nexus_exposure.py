"""Step 2 of the Nexus tab: how near the sales in each state come to its threshold.

The table shows the standing in words and a mark, and the share used as a bar. A missing figure is
a dash, never a 0.
"""

from __future__ import annotations

from datetime import date
from decimal import ROUND_DOWN, Decimal
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ipywidgets as w
import pandas as pd

from svc_tools import nexus
from svc_tools.display import NOTHING, as_columns, counted, number
from svc_tools.widgets.nexus_section import Section, box_html
from svc_tools.widgets.parts import (
    CodeView,
    Entry,
    Form,
    Name,
    as_code,
    button,
    field,
    line,
    note,
    set_visible,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from svc_tools.display import Column
    from svc_tools.nexus import Thresholds
    from svc_tools.widgets.nexus_section import Cleanup
    from svc_tools.widgets.session import Session

COLUMNS = {
    "state": "State",
    "date": "Date of sale",
    "amount": "Amount",
    "channel": "Channel (direct or marketplace)",
    "retail": "Retail amount",
    "taxable": "Taxable amount",
    "transaction": "Order number",
}
"""What a column of sales can be, as `exposure_of_file` names it."""
_BY_NAME = "(by its name)"
_HELP = (
    "Optional. Sales of this year and the three before (CSV, XLSX or Parquet) with state,"
    " day, amount and, where marketplaces sell for you, the channel. Nothing of it is sent"
    " anywhere."
)

BANDS = {
    "missing": ("!", "Above, and no record"),
    "over": ("\N{BLACK UP-POINTING TRIANGLE}", "Above"),
    "90-100": ("\N{BLACK DIAMOND}", "90 to 100%"),
    "70-90": ("\N{WHITE DIAMOND}", "70 to 90%"),
    "below 70": ("\N{WHITE CIRCLE}", "Below 70%"),
    "no tax": (NOTHING, "No general sales tax"),
    "unknown": ("?", "Unknown"),
}
"""Each band's mark and words, those that need attention first."""
_HEADS = as_columns(
    (
        "State",
        "Standing",
        number("Used"),
        number("Sales"),
        number("Transactions"),
        "First crossed",
        "Certainty",
    )
)


class ExposureSection(Section):
    """Reads sales from a file and shows each state's standing against its threshold.

    Attributes:
        file: the path of the sales, the day for which the exposure is computed, the days for
            which the sales are complete, the user's own thresholds over those that ship, and the
            button that computes.
        upload: or the file itself.
        columns: what each column of the file is, where its name is unclear.
        columns_button: reads the file's columns, to choose from.
        result: the states as a table.
        code: the same in Python.
    """

    def __init__(self, session: Session, cleanup: Cleanup) -> None:
        super().__init__(session, cleanup, "2. Sales and exposure")
        self._sent: dict[str, Any] = {}
        self.file = Form(
            [
                Entry(
                    "path",
                    "Sales file",
                    help="On the computer where this runs, or upload it. Several files: ; between.",
                    placeholder="sales.csv",
                    width="whole",
                ),
                Entry(
                    "as_of",
                    "As of",
                    kind="date",
                    help="Optional: else the last day with a sale.",
                    width="narrow",
                ),
                Entry(
                    "first",
                    "Complete from",
                    kind="date",
                    help="Optional: else the first day with a sale.",
                    width="narrow",
                ),
                Entry(
                    "last",
                    "Complete to",
                    kind="date",
                    help="Optional: else the last day with a sale.",
                    width="narrow",
                ),
                Entry(
                    "thresholds",
                    "Your own thresholds",
                    help="Optional: rows of your own over those that ship, in the same columns.",
                    placeholder="thresholds.csv",
                ),
            ],
            submit="Compute exposure",
            on_submit=lambda values: self.compute(values.texts),
            label="Sales",
        )
        self.upload = self.uploader(
            "Upload the sales", ".csv,.tsv,.txt,.gz,.xlsx,.xlsm,.parquet,.pq", self._uploaded
        )
        self.columns = {
            role: w.Dropdown(options=[(_BY_NAME, None)], description=words)
            for role, words in COLUMNS.items()
        }
        self._mapping = w.VBox([field(one) for one in self.columns.values()])
        self.columns_button = button("Choose the columns", kind="plain")
        self.result = w.HTML()
        self.code = CodeView()
        self.columns_button.on_click(lambda _: self.read_columns())
        set_visible(self._mapping, visible=False)
        self.compose(
            note(_HELP),
            self.file,
            line(self.upload, self.columns_button),
            self._mapping,
            self.status,
            self.result,
            self.code,
        )
        self._show_code()

    @property
    def _texts(self) -> dict[str, str]:
        return dict(self.file.values)

    def read_columns(self) -> None:
        """Read the names of the file's columns, and offer them."""
        paths = self._paths(self._texts.get("path", ""))
        if paths:
            self.run(
                "Reading the columns…",
                lambda: _names(paths[0]),
                self._offer,
                forms=[self.file],
            )

    def compute(self, texts: Mapping[str, str]) -> None:
        """Compute the exposure of the files that the form names, counted together."""
        paths = self._paths(texts["path"])
        if not paths:
            return
        chosen: dict[str, Any] = {
            role: one.value for role, one in self.columns.items() if one.value is not None
        }
        try:
            chosen |= _days(texts)
        except _NotADayError as error:
            self.file.errors = {error.name: str(error)}
            return
        own, register = texts["thresholds"].strip(), self.cleanup.register
        sent = {"paths": [str(path) for path in paths], "thresholds": own, **chosen}

        def work() -> tuple[pd.DataFrame, Thresholds | None]:
            from svc_tools.frames import exposure_of_file  # noqa: PLC0415 - loads pyarrow

            thresholds = nexus.read_thresholds(own) if own else None
            found = exposure_of_file(
                *paths, register=register, thresholds=thresholds, progress=False, **chosen
            )
            return found, thresholds

        self.run(
            "Reading the sales…",
            work,
            lambda computed: self._computed(sent, *computed),
            forms=[self.file],
        )

    def register_changed(self) -> None:
        """Report that the exposure, which shows the states with a record, is outdated."""
        if self.cleanup.exposure is not None:
            self.message.show_note("The register has changed: compute the exposure again.")

    def _uploaded(self, path: Path) -> None:
        self.file.values = {**self._texts, "path": str(path)}
        self.read_columns()

    def _paths(self, text: str) -> list[Path]:
        named = [part.strip() for part in text.split(";") if part.strip()]
        missing = "Give the path of a file of sales, or upload one."
        self.file.errors = {} if named else {"path": missing}
        return [Path(part).expanduser() for part in named]

    def _offer(self, names: list[str]) -> None:
        for dropdown in self.columns.values():
            former = dropdown.value
            dropdown.options = [(_BY_NAME, None), *((name, name) for name in names)]
            dropdown.value = former if former in names else None
        set_visible(self._mapping, visible=True)
        self.message.show_note("Choose a column only where its name is unclear, then compute.")

    def _computed(
        self, sent: dict[str, Any], exposure: pd.DataFrame, thresholds: Thresholds | None
    ) -> None:
        self._sent = sent  # only now: what failed or was canceled is not shown
        self.cleanup.thresholds = thresholds
        self.cleanup.exposure, self.cleanup.as_of = exposure, sent.get("as_of")
        self._show_code()
        self.result.value = exposure_notes(exposure) + exposure_html(exposure)
        self.cleanup.changed("exposure")

    def _show_code(self) -> None:
        sent = dict(self._sent)
        paths, own = sent.pop("paths", ["sales.csv"]), sent.pop("thresholds", "")
        lines = ["from svc_tools.frames import exposure_of_file", ""]
        if own:
            lines.insert(0, "from svc_tools import nexus")
            lines.append("thresholds = " + as_code("nexus.read_thresholds", own))
        call = as_code(
            "exposure_of_file",
            *paths,
            **sent,
            register=None if self.cleanup.register is None else Name("register"),
            thresholds=Name("thresholds") if own else None,
        )
        self.code.show("\n".join([*lines, f"exposure = {call}"]))


class _NotADayError(ValueError):
    """A text that is not a day, or only one of two days that go together."""

    def __init__(self, name: str, message: str) -> None:
        self.name = name
        super().__init__(message)


def _days(texts: Mapping[str, str]) -> dict[str, Any]:
    """The days of the form, as `exposure_of_file` takes them."""
    found: dict[str, date] = {}
    for name in ("as_of", "first", "last"):
        if text := texts.get(name, "").strip():
            try:
                found[name] = date.fromisoformat(text)
            except ValueError:
                raise _NotADayError(name, "Give a day such as 2026-05-01.") from None
    given: dict[str, Any] = {"as_of": found["as_of"]} if "as_of" in found else {}
    if ("first" in found) != ("last" in found):
        empty = "last" if "first" in found else "first"
        raise _NotADayError(empty, "Give both days for which the sales are complete, or neither.")
    if "first" in found:
        given["covers"] = (found["first"], found["last"])
    return given


def _names(path: Path) -> list[str]:
    from svc_tools.tabular import open_table  # noqa: PLC0415 - loads pyarrow

    rows = open_table(path)
    try:
        return [str(name) for name in rows.schema.names]
    finally:
        rows.close()


def exposure_html(exposure: pd.DataFrame) -> str:
    """The states in the frame's own order; those without sales and record are folded away.

    Everything is escaped.
    """
    rows = exposure.to_dict("records")
    quiet = [row for row in rows if _is_quiet(row)]
    loud = [row for row in rows if not _is_quiet(row)]
    folded = ""
    if quiet:
        words = f"{counted(len(quiet), 'state')} without sales and without a record"
        folded = (
            f'<details class="svc-details"><summary>{words}</summary>'
            f"{_table(quiet, words)}</details>"
        )
    return _table(loud, "Exposure by state: what needs attention first") + folded


def _table(rows: Sequence[Mapping[Any, Any]], caption: str) -> str:
    heads = "".join(f'<th scope="col"{_number(column)}>{column.head}</th>' for column in _HEADS)
    return (
        f'<div class="svc-scroll" tabindex="0" role="region" aria-label="{escape(caption)}">'
        f'<table class="svc-table svc-exposure"><caption>{escape(caption)}</caption>'
        f"<thead><tr>{heads}</tr></thead><tbody>{''.join(map(_row, rows))}</tbody></table></div>"
    )


def _is_quiet(row: Mapping[Any, Any]) -> bool:
    """Whether there is nothing of this state in the sales and in the register."""
    figures = (row["sales"], row["transactions"], row.get("marketplace_sales"))
    return not row.get("registered") and all(not _missing(one) and not one for one in figures)


def exposure_notes(exposure: pd.DataFrame) -> str:
    """What the figures cover: the day, the first and last sale, the rows left out and why."""
    facts = exposure.attrs.get("svc_exposure", {})
    sentences = []
    if "as_of" in facts:
        sentences.append(f"As of {facts['as_of']}.")
    first, last = facts.get("first_day"), facts.get("last_day")
    if first is not None and last is not None:
        sentences.append(f"Sales from {first} to {last}.")
    left_out = sum(int(one["rows"]) for one in facts.get("left_out", ()))
    if left_out:
        sentences.append(f"{counted(left_out, 'row')} left out: in no figure below.")
    notes = "".join(f"<li>{escape(str(note))}</li>" for note in facts.get("notes", ()))
    box = f"<p>{escape(' '.join(sentences))}</p><ul>{notes}</ul>"
    return box_html(box, trouble=left_out > 0)


def share_of(used: object) -> str:
    """The share of the threshold in whole percent, rounded down: 99.99% is not yet 100%."""
    if _missing(used):
        return NOTHING
    return f"{(Decimal(str(used)) * 100).to_integral_value(ROUND_DOWN):,}%"


def used_html(used: object) -> str:
    """The share as a small bar with its figure; the bar ends at 100%."""
    if _missing(used):
        return NOTHING
    percent = max(Decimal(0), min(Decimal(100), Decimal(str(used)) * 100))
    width = percent.to_integral_value(ROUND_DOWN)
    return (
        '<span class="svc-used"><span class="svc-used-bar" aria-hidden="true">'
        f'<span style="width:{width}%"></span></span>'
        f'<span class="svc-used-figure">{share_of(used)}</span></span>'
    )


def _row(row: Mapping[Any, Any]) -> str:
    mark, words = BANDS.get(row["band"], ("?", str(row["band"])))
    crossed = NOTHING if _missing(row["first_crossed"]) else str(row["first_crossed"])[:10]
    standing = (
        f'<span class="svc-mark"><span aria-hidden="true">{mark}</span> {escape(words)}</span>'
    )
    numbers = (
        used_html(row["used"]),
        _of(_dollars(row["sales"]), _whole(row["threshold_sales"], "$")),
        _of(_whole(row["transactions"]), _whole(row["threshold_transactions"])),
    )
    certainty = escape(_text(row.get("certainty")) or NOTHING)
    band = str(row["band"]).replace(" ", "-")
    return (
        f'<tr class="svc-band-{band}"><th scope="row">{escape(row["state"])}</th>'
        f"<td>{standing}</td>"
        + "".join(f'<td class="svc-number">{number}</td>' for number in numbers)
        + f"<td>{escape(crossed)}</td><td>{certainty}</td></tr>"
        f'<tr class="svc-why"><td></td><td colspan="{len(_HEADS) - 1}">'
        f"<div>{escape(_text(row.get('why')))}</div></td></tr>"
    )


def _of(figure: str, threshold: str) -> str:
    return (
        figure
        if threshold == NOTHING
        else f'{figure}<br><span class="svc-why">of {threshold}</span>'
    )


def _dollars(value: object) -> str:
    return NOTHING if _missing(value) else f"${Decimal(str(value)):,.2f}"


def _whole(value: object, sign: str = "") -> str:
    return NOTHING if _missing(value) else f"{sign}{int(str(value)):,}"


def _text(value: object) -> str:
    return "" if _missing(value) else str(value)


def _missing(value: object) -> bool:
    return value is None or value is pd.NA or value is pd.NaT or value != value  # noqa: PLR0124  # NaN


def _number(column: Column) -> str:
    return ' class="svc-number"' if column.kind == "number" else ""
