"""The tab "Nexus": a cleanup from the register to the receipt and its undo.

There are five steps from top to bottom; each is a call of `svc_tools.nexus`, and shows it as code.
The inputs are here: the register, and the sales with the exposure computed from them.
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
from svc_tools.display import NOTHING, counted, prose, render
from svc_tools.widgets.nexus_changes import ApplySection, ReceiptSection, WholeStateSection
from svc_tools.widgets.nexus_earlier import HistorySection, LeftOverSection
from svc_tools.widgets.nexus_plan import PlanSection
from svc_tools.widgets.nexus_section import (
    MOST_ROWS,
    Cleanup,
    Section,
    box_html,
    more_html,
    records_html,
)
from svc_tools.widgets.parts import (
    HERE,
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
    table_html,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from svc_tools.nexus import Register, Thresholds
    from svc_tools.widgets.nexus_section import Change
    from svc_tools.widgets.session import Session

_DIFFERENCES = {
    "only_mine": "Only in your register",
    "only_service": "Only on the service",
    "registered_at": "Another day of registration",
    "address": "Another address",
    "notes": "Other notes",
}


class NexusTab:
    """Clean up nexus registrations, with a receipt, and with an undo where the service can add."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.cleanup = Cleanup()
        self.register = RegisterSection(session, self.cleanup)
        self.exposure = ExposureSection(session, self.cleanup)
        self.plan = PlanSection(session, self.cleanup)
        self.apply = ApplySection(session, self.cleanup)
        self.receipt = ReceiptSection(session, self.cleanup, self.plan.open)
        self.history = HistorySection(session, self.cleanup)
        self.whole_state = WholeStateSection(session, self.cleanup)
        self.left_over = LeftOverSection(session, self.cleanup, self.plan.use)
        steps = (
            self.left_over,
            self.register,
            self.exposure,
            self.plan,
            self.apply,
            self.receipt,
            self.history,
            self.whole_state,
        )
        css = (HERE / "nexus.css").read_text(encoding="utf-8")
        looks = w.HTML(f"<style>{css}</style>", layout={"display": "none"})
        self.view = w.VBox([looks, *(step.view for step in steps)])
        self.view.add_class("svc-nexus")
        self.cleanup.on_change(self._changed)
        session.on_change(self._account_changed)

    def opened(self) -> None:
        """Look for what is left over, now that the tab is shown.

        A host may make the panel long before anybody sees it.
        """
        self.left_over.look()

    def _changed(self, what: Change) -> None:
        if what == "register":
            self.exposure.register_changed()
            self.whole_state.show()
        if what in {"register", "exposure"}:
            self.plan.register_changed()
        if what in {"plan", "ticks"}:
            self.apply.drop("The ticks have changed: preview the requests again.")
        if what == "receipt":
            self.receipt.show()

    def _account_changed(self) -> None:
        self.cleanup.abilities = None
        self.left_over.look_again()
        self.register.forget_service()
        self.plan.show()
        self.apply.drop("The account has changed: preview the requests again.")
        self.receipt.drop()
        self.whole_state.show()


class RegisterSection(Section):
    """Lists the account's records, reads the user's register, and shows where the two differ."""

    def __init__(self, session: Session, cleanup: Cleanup) -> None:
        super().__init__(session, cleanup, "1. The register")
        self.list_button = button("List from the service", kind="primary")
        self.file = Form(
            [
                Entry(
                    "path",
                    "Register file",
                    help="A CSV or XLSX file on the computer where this runs, or upload one.",
                    placeholder="nexus.csv",
                    width="whole",
                )
            ],
            submit="Read the register",
            on_submit=lambda values: self.read(values.texts["path"]),
            label="Your own register",
        )
        self.upload = self.uploader(
            "Upload a register", ".csv,.xlsx", lambda path: self.file.submit(path=str(path))
        )
        self.source = w.Dropdown(
            options=[
                ("My own file, compared with the service's list", "mine"),
                ("The service's list alone", "service"),
            ],
            value="mine",
            description="Make the plan from",
        )
        self._choice = field(self.source)
        self.records = w.HTML()
        self.differences = w.HTML()
        self.code = CodeView()
        self.list_button.on_click(lambda _: self.list())
        self.source.observe(lambda _: self._chosen(), "value")
        self.compose(
            note(
                "The records that the service has for your account, or a register of your own"
                " (CSV or XLSX with state, nexus_type, registered_at, address, notes). With both,"
                " the differences are shown."
            ),
            self.list_button,
            self.file,
            self.upload,
            self.status,
            self._choice,
            self.differences,
            self.records,
            self.code,
        )
        cleanup.on_change(lambda what: self._show() if what == "register" else None)
        self._show()
        if session.register is not None:
            self._read(session.register)

    def list(self) -> None:
        """List the service's records."""
        client = self.session.client
        if client is None:
            self.message.show_note("No service is connected: give a key above, or read a file.")
            return
        self.run(
            "Listing the records…",
            lambda: nexus.list_register(client),
            self._listed,
        )

    def read(self, path: str) -> None:
        """Read the user's own register."""
        if not path.strip():
            self.file.errors = {"path": "Give the path of a file, or upload one."}
            return
        self.file.errors = {}
        self._read(Path(path.strip()).expanduser())

    def forget_service(self) -> None:
        """Drop the list of the former account: another one is used from now on."""
        self.cancel()
        if self.cleanup.listed is not None:
            self.cleanup.listed = None
            self.message.show_note("The account has changed: list its records again.")
            self.cleanup.changed("register")

    def _read(self, source: object) -> None:
        self.run(
            "Reading the register…",
            lambda: nexus.read_register(source),
            lambda register: self._took_mine(register, source),
            forms=[self.file],
        )

    def _listed(self, register: Register) -> None:
        self.cleanup.listed = register
        self.cleanup.changed("register")

    def _took_mine(self, register: Register, source: object) -> None:
        self.cleanup.mine = register
        self.cleanup.mine_path = str(source) if isinstance(source, str | Path) else ""
        self.cleanup.changed("register")

    def _chosen(self) -> None:
        self.cleanup.use_mine = self.source.value == "mine"
        self.cleanup.changed("register")

    def _show(self) -> None:
        mine, listed = self.cleanup.mine, self.cleanup.listed
        set_visible(self._choice, mine is not None and listed is not None)
        register = self.cleanup.register
        used_mine = register is not None and register is mine
        self.records.value = "" if register is None else _records(register, mine=used_mine)
        self.differences.value = (
            _differences(mine, listed) if mine is not None and listed is not None else ""
        )
        self._show_code()

    def _show_code(self) -> None:
        lines = []
        if self.cleanup.listed is not None or self.cleanup.mine is None:
            lines.append("listed = " + as_code("nexus.list_register", Name("client")))
        if self.cleanup.mine is not None:
            source = self.cleanup.mine_path or Name("register")
            lines.append("mine = " + as_code("nexus.read_register", source))
        if len(lines) > 1:
            lines.append(as_code("nexus.differences", Name("mine"), Name("listed")))
        self.code.show("\n".join(["from svc_tools import nexus", "", *lines]))


def _records(register: Register, *, mine: bool) -> str:
    where = "your own file" if mine else "the service's list"
    count = len(register.records)
    summary = escape(
        f"{counted(count, 'record')} in {counted(len(register.states), 'state')}, from {where}."
    )
    if not count:
        return f"<p>{summary}</p>"
    table = records_html(register.records[:MOST_ROWS], "The register") + more_html(count)
    return f'<details class="svc-details"><summary>{summary}</summary>{table}</details>'


def _differences(mine: Register, listed: Register) -> str:
    found = nexus.differences(mine, listed)
    if found.empty:
        return "<p>Your register and the service's list hold the same records.</p>"
    rows = [
        (
            str(one["state"]),
            str(one["nexus_type"]),
            _DIFFERENCES.get(one["difference"], str(one["difference"])),
            _cell(one["mine"]),
            _cell(one["service"]),
        )
        for one in found.head(MOST_ROWS).to_dict("records")
    ]
    title = f"{counted(len(found), 'difference')} between your register and the service's list"
    heads = ("State", "Type", "Difference", prose("Yours"), prose("The service's"))
    return table_html(heads, rows, title) + more_html(len(found))


def _cell(value: object) -> str:
    text = "" if value is None else str(value)
    return NOTHING if text in {"", "nan", "NaT", "None", "<NA>"} else text


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


class ExposureSection(Section):
    """Reads sales from a file and shows each state's standing against its threshold."""

    def __init__(self, session: Session, cleanup: Cleanup) -> None:
        super().__init__(session, cleanup, "2. Sales and exposure")
        self._sent: dict[str, Any] = {}
        self.file = Form(
            [
                Entry(
                    "path",
                    "Sales file",
                    help="On the computer where this runs, or uploaded. Separate files with ;",
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
    """The states in the frame's own order; those without sales and record are folded away."""
    rows = exposure.to_dict("records")
    quiet = [_shown(row) for row in rows if _is_quiet(row)]
    loud = [_shown(row) for row in rows if not _is_quiet(row)]
    folded = f"{counted(len(quiet), 'state')} without sales and without a record"
    return render("exposure.html", loud=loud, quiet=quiet, folded=folded)


def _is_quiet(row: Mapping[Any, Any]) -> bool:
    """Whether there is nothing of this state in the sales and in the register."""
    figures = (row["sales"], row["transactions"], row.get("marketplace_sales"))
    return not row.get("registered") and all(not _missing(one) and not one for one in figures)


def _shown(row: Mapping[Any, Any]) -> dict[str, object]:
    """A state as the template shows it."""
    mark, words = BANDS.get(row["band"], ("?", str(row["band"])))
    share, width = NOTHING, None
    if not _missing(row["used"]):  # rounded down: 99.99% is not yet 100%
        percent = int((Decimal(str(row["used"])) * 100).to_integral_value(ROUND_DOWN))
        share, width = f"{percent:,}%", max(0, min(100, percent))
    return {
        "state": row["state"],
        "band": str(row["band"]),
        "mark": mark,
        "words": words,
        "share": share,
        "width": width,
        "sales": _formatted(row["sales"], "${:,.2f}") or NOTHING,
        "sales_of": _formatted(row["threshold_sales"], "${:,.0f}"),
        "transactions": _formatted(row["transactions"], "{:,.0f}") or NOTHING,
        "transactions_of": _formatted(row["threshold_transactions"], "{:,.0f}"),
        "crossed": NOTHING if _missing(row["first_crossed"]) else str(row["first_crossed"])[:10],
        "certainty": NOTHING if _missing(row.get("certainty")) else row["certainty"],
        "why": "" if _missing(row.get("why")) else row["why"],
    }


def _formatted(value: object, form: str) -> str:
    return "" if _missing(value) else form.format(Decimal(str(value)))


def _missing(value: object) -> bool:
    return value is None or value is pd.NA or value is pd.NaT or value != value  # noqa: PLR0124  # NaN


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
