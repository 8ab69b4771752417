"""The input of the tab "File": which file, how it is read, and what each column is.

Errors of the input are worded here, in terms of these fields.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ipywidgets

from svc_sdk import SvcError
from svc_tools.config import ConfigurationError, seller_delivery
from svc_tools.lookup.options import (
    ROLES,
    FileOptions,
    LookupOptions,
    TaxOptions,
    names_in,
    option_rows,
)
from svc_tools.lookup.troubles import Trouble
from svc_tools.show.display import capital, counted, plain
from svc_tools.tables.countries import country_in_name
from svc_tools.tables.csv_files import FileError
from svc_tools.tables.roles import ColumnError, place_role
from svc_tools.tables.tabular import kind_to_read
from svc_tools.widgets.parts import (
    DATE_FORMATS,
    TIME_ZONES,
    Disclosure,
    Entry,
    Form,
    button,
    field,
    grid,
    heading,
    line,
    note,
    set_visible,
    table,
    titled_table_html,
    trouble_of,
)
from svc_tools.widgets.question_menus import NotChosenError, QuestionMenus, help_of
from svc_tools.widgets.transfers import UploadButton, size_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from svc_tools.frames.files.enriching import FileView
    from svc_tools.frames.taxes.amounts import AmountsOfTax
    from svc_tools.lookup.options import Option
    from svc_tools.tables.questions import Question
    from svc_tools.widgets.parts import FormValues
    from svc_tools.widgets.session import Session

_OF_TAX = ("shipping", "exempt", "invoice")
"""The fields that only a tax has, beside its amount."""
_SELDOM = ("location", "lat", "lng")
"""Those that are shown on demand."""
_LABELS: Mapping[str, str] = {
    name: row.panel
    for kind in (LookupOptions, TaxOptions, FileOptions)
    for name, row in option_rows(kind).items()
    if row.panel
}
_FIELDS: Mapping[str, str] = {name: _LABELS[name] for name in (*ROLES, "amount", *_OF_TAX)}
"""The fields that name a column, by the argument that they stand for."""
_CHOOSE = ("choose", "")
_NONE = NO_TAX = ("none", "")
_ONE = ("one", "")
_TODAY = ("today", "")
_SUM = ("sum", "")


_DELIVERIES = (
    ("Not said: rows to review", ""),
    ("Buyers can avoid the charge (pickup)", "optional"),
    ("Every order is shipped", "only"),
)
"""The menu of whether buyers can avoid the charge for delivery: the label and the value of each."""


def _delivery_menu() -> ipywidgets.Dropdown:
    """That menu; what `SVC_DELIVERY` says can be changed in it, and not be taken back."""
    default = None
    with suppress(ConfigurationError):  # the run says what is wrong with it
        default = seller_delivery()
    options = _DELIVERIES if default is None else _DELIVERIES[1:]
    return ipywidgets.Dropdown(options=options, value=default or "")


_MENUS = {"date_format": DATE_FORMATS, "tz": TIME_ZONES}
_HELPS = {
    "date_format": "",
    "tz": "For times in UTC.",
    "delivery": "Decides in Florida, Illinois and Colorado.",
    "prefix": "Empty: as they are. svc_ makes svc_combined_rate.",
}
"""What a field says of itself, where that is not the help of the command."""


def _widget_of(name: str, row: Option) -> ipywidgets.Widget:
    """The field of an option that is no column: a menu, yes or no, or a text."""
    if name == "delivery":
        found = _delivery_menu()
    elif name in _MENUS:
        found = ipywidgets.Dropdown(options=_MENUS[name], value="")
    else:
        found = ipywidgets.Checkbox(indent=False) if row.kind is bool else ipywidgets.Text()
    found.description = row.panel
    return found


class FileChoice:
    """Choose a file; the page stores nothing of it."""

    def __init__(
        self, session: Session, opened: Callable[[], object], failed: Callable[[Exception], object]
    ) -> None:
        """Build the fields for a file and its options; no file is read yet.

        Args:
            session: where uploads are stored.
            opened: called when a file was chosen, or is to be read again.
            failed: called with the error of an upload.
        """
        self._opened, self._failed = opened, failed
        self.current: Path | None = None
        self.uploaded = False
        self._enabled = True
        self.upload = UploadButton(
            "Choose a file",
            ".csv,.tsv,.txt,.xlsx,.xlsm,.parquet,.pq",
            folder=lambda: session.folder / "uploads",
            done=lambda path: self._open(path, uploaded=True),
            failed=failed,
            limit=session.upload_limit,
        )
        self.path = Form(
            [
                Entry(
                    "path",
                    "Or the path of a file on the computer where this runs",
                    placeholder="/data/orders.csv",
                    width="whole",
                )
            ],
            submit="Open",
            on_submit=self._named,
        )
        self.sheet = ipywidgets.Combobox(description=_LABELS["sheet"], ensure_option=False)
        self.delimiter = ipywidgets.Dropdown(
            description=_LABELS["delimiter"],
            options=[
                ("detected", ""),
                ("comma", ","),
                ("semicolon", ";"),
                ("tab", "\t"),
                ("bar |", "|"),
            ],
        )
        self.encoding = ipywidgets.Combobox(
            description=_LABELS["encoding"],
            options=["utf-8", "cp1252", "latin-1", "utf-16"],
            ensure_option=False,
        )
        self.again = button("Read it again", "plain")
        self._of_book = field(self.sheet, "Empty: the first one that is not hidden.")
        self._of_text = (field(self.delimiter), field(self.encoding, "Empty: detected."))
        options = ipywidgets.VBox([grid(self._of_book, *self._of_text), line(self.again)])
        self.options = Disclosure("How the file is read", options)
        self.again.on_click(self._read_again)
        most = "" if session.upload_limit is None else f", up to {size_text(session.upload_limit)}"
        limit = f"CSV, Excel workbook or Parquet{most}. For a very large file give its path."
        self.view = ipywidgets.VBox([self.upload, note(limit), self.path, self.options.view])
        self._show_options()

    def reading(self) -> FileOptions:
        """How the file is to be read; what is left out is detected."""
        return FileOptions(
            sheet=self.sheet.value.strip() or None,
            delimiter=self.delimiter.value or None,
            encoding=self.encoding.value.strip() or None,
        )

    def offer(self, view: FileView) -> None:
        """Offer what the open file has: the sheets of a workbook, where there are several."""
        self.sheet.options = view.sheets
        if len(view.sheets) > 1:
            self.options.reveal(opened=True)

    def set_enabled(self, *, enabled: bool) -> None:
        """Set whether another file may be chosen."""
        self._enabled = enabled
        self.upload.disabled = self.again.disabled = not enabled
        self.path.busy = not enabled

    def _named(self, given: FormValues) -> None:
        """Take the path that was typed."""
        text = given.texts["path"].strip().strip("\"'")
        self.path.errors = {}
        try:
            path = Path(text).expanduser() if text else None
        except RuntimeError as error:  # "~somebody"
            self.path.errors = {"path": f"{text!r} is no path here: {error}"}
            return
        if path is None:
            self.path.errors = {"path": "Give the path of a file, or choose one above."}
            return
        self._open(path, uploaded=False)

    def _open(self, path: Path, *, uploaded: bool) -> None:
        if not self._enabled:  # it was being uploaded when something else began
            self._failed(
                ValueError(f"{path.name} was not opened: stop what runs, and choose again")
            )
            return
        self.current, self.uploaded = path, uploaded
        self.sheet.value = self.delimiter.value = self.encoding.value = ""
        self.sheet.options = ()
        self.options.reveal(opened=False)
        self._show_options()
        self._opened()

    def _show_options(self) -> None:
        """Show only the options of the chosen file's kind."""
        kind = None if self.current is None else kind_to_read(self.current)
        set_visible(self.options.view, kind in {"csv", "xlsx"})
        set_visible(self._of_book, kind == "xlsx")
        for box in self._of_text:
            set_visible(box, kind == "csv")

    def _read_again(self, _button: object) -> None:
        if self.current is not None:
            self._opened()


class ColumnsForm:
    """Map the columns of a file, and answer what they leave open."""

    def __init__(self, changed: Callable[[], object], answered: Callable[[], object]) -> None:
        """Build the menus and fields, empty and without a file.

        Args:
            changed: called after each change by the user.
            answered: called once all open questions of a file are answered.
        """
        self._changed = changed
        self._columns: tuple[str, ...] = ()
        self._found: set[str] = set()
        self._shown: dict[str, tuple[str, str]] = {}
        self._asked_about: tuple[str, str] | None = None
        self._is_export = self._filling = False
        self.roles = {
            role: ipywidgets.Dropdown(description=label) for role, label in _FIELDS.items()
        }
        self.one_state = ipywidgets.Text(description="State of all rows", placeholder="TX")
        self.one_date = ipywidgets.DatePicker(description="Date of all rows")
        rows = option_rows(TaxOptions) | option_rows(LookupOptions)
        self.further = {
            name: _widget_of(name, row)
            for name, row in rows.items()
            if row.panel and name not in _FIELDS
        }
        self.date_format, self.tz = self.further["date_format"], self.further["tz"]
        self.delivery, self.prefix = self.further["delivery"], self.further["prefix"]
        self.export, self.question = ipywidgets.HTML(), note("")
        self.questions = QuestionMenus(answered)
        self._asked: list[str] = []
        self.decided = ipywidgets.HTML()
        self.decided.add_class("svc-note")
        self.preview = table((), (), "")
        self._one_state = field(self.one_state, "Two letters or a name.")
        self._one_date = field(self.one_date)
        further = {
            name: field(widget, _HELPS.get(name, rows[name].help))
            for name, widget in self.further.items()
        }
        self._helps = {
            "as_of": "Decides which rate applies.",
            "amount": "With it, tax is added.",
            "shipping": "Taxed where the state taxes it.",
            "exempt": "Yes or no, or exempt dollars.",
            "invoice": "Tax is rounded once for each.",
        }
        self._why = {role: note("") for role in self.roles}
        self.fields = {role: field(widget) for role, widget in self.roles.items()}
        for role, box in self.fields.items():
            box.children = (*box.children, self._why[role])
            self._explain(role)
        self._error = ipywidgets.HTML()
        self._error.add_class("svc-error")
        self._boxes = {**self.fields, **further}
        self._boxes |= {"one_state": self._one_state, "one_date": self._one_date}
        self._format, self._tz = further.pop("date_format"), further.pop("tz")
        self._delivery = further.pop("delivery")
        self._below = {*_SELDOM, *further}
        when = [self.fields["as_of"], self._one_date, self._format, self._tz]
        where = [self.fields[role] for role in ("state", "zip", "address", "city", "country")]
        tax = [self.fields[role] for role in ("amount", *_OF_TAX)]
        tax.insert(2, self._delivery)
        seldom = [*(self.fields[role] for role in _SELDOM), *further.values()]
        self._grids = {
            grid(): boxes for boxes in (when, [where[0], self._one_state, *where[1:]], tax, seldom)
        }
        *usual, more = self._grids
        self.more = Disclosure("More: place name, coordinates, prefix", more)
        parts = [heading("Columns", 4), self.export, self.preview, self.questions.view]
        parts += [*usual, self.decided]
        self.view = ipywidgets.VBox([*parts, self.more.view])
        for widget in (*self.roles.values(), *self._others()):
            widget.observe(self._edited, "value")
        self._show_extras()

    def show(self, view: FileView) -> None:
        """Offer the columns of a file, and choose those that are clear."""
        self._filling = True
        asked = {
            question.argument: question
            for question in view.questions
            if question.argument in self.roles
        }
        menus = [question for question in view.questions if question.argument not in self.roles]
        sums = dict(view.sums)
        if menus and not {"amount"} & (view.found.keys() | view.unclear.keys() | sums.keys()):
            sums["amount"] = _BY_ANSWERS
        try:
            self._columns = view.columns
            named = [(plain(name), ("column", name)) for name in dict.fromkeys(view.columns)]
            for role, widget in self.roles.items():
                unclear = role in view.unclear
                special = _SPECIAL.get(role, [("Not used", _NONE)])
                first = [("Choose…", _CHOOSE)] if unclear else []
                if role in sums:
                    first = [(plain(sums[role], _LONGEST_SUM), _SUM)]
                widget.options = options = [*first, *special, *named]
                column = view.found.get(role)
                widget.value = options[0][1] if column is None else ("column", column)
                self._explain(role, asked.get(role))
            self._shown = {
                role: self.roles[role].value
                for role in ("amount", "shipping")
                if role in {*view.found, *sums}
            }
            self._asked = [*asked.keys() | view.unclear.keys()]
            self.questions.clear()
            self.questions.ask(menus)
            self._asked_about = self.roles["amount"].value if menus else None
            self._is_export = view.export is not None
            self.one_state.value, self.one_date.value = "", None
            for name, widget in self.further.items():
                if name != "delivery":  # which is that of the seller
                    widget.value = type(widget.value)()
            self._found = {*view.found, *sums}
            self.decided.value = _decided(view.decided, view.unused, waits=view.waits)
            self.export.value = _export(view)
            self.question.value = note(_question(view)).value if view.unclear else ""
            rows = [[*map(plain, row)] for row in view.rows]
            caption = "The first rows, as they are read" if view.more else "The rows, as read"
            self.preview.value = titled_table_html(
                [plain(name) or "(no name)" for name in view.columns], rows, caption
            )
        finally:
            self._filling = False
        self._place()
        self.more.reveal(opened=any(self.roles[role].value != _NONE for role in _SELDOM))
        self.mark(None)
        self._show_extras()

    def lookup(self) -> dict[str, object]:
        """The argument `lookup` of `enrich_file`.

        Raises:
            NotChosenError: a field was left open.
        """
        chosen = {role: self._chosen(role) for role in ROLES}
        used = {name for kind, name in chosen.values() if kind == "column"}
        given: dict[str, object] = {}
        for role, (kind, name) in chosen.items():
            if kind == "column":
                given[role] = name
            elif kind == "today":
                given[role] = "today"
            elif kind == "one":
                given[role] = self._one(role)
            elif any(_role(column) == role for column in set(self._columns) - used):
                given[role] = False
        return given

    def tax(self) -> dict[str, Any] | None:
        """The argument `tax` of `enrich_file`; `None` for no tax.

        Raises:
            NotChosenError: a field was left open.
        """
        chosen = {role: self._chosen(role) for role in ("amount", *_OF_TAX)}
        if chosen["amount"] == NO_TAX:
            return None
        as_shown = {role for role, value in self._shown.items() if chosen[role] == value}
        if "amount" not in as_shown and not self._is_export:
            if chosen["shipping"] == _SUM:
                raise NotChosenError("shipping", f"{_FIELDS['shipping']}: choose a column or none")
            as_shown = set()  # next to an amount that is named, the file decides nothing
        given: dict[str, Any] = {}
        for role, (kind, name) in chosen.items():
            if role in as_shown:
                continue
            if kind == "column":
                given[role] = name
            elif kind == "none" and role == "shipping" and role in self._found:
                given[role] = False
        given |= self.settings(TaxOptions)
        return {**given, **(self.questions.answers() if self._asks() else {})}

    def show_source(self, source: AmountsOfTax) -> None:
        """Show how a run has read the amounts, unless they are those of an export."""
        if not self._is_export:
            off = [_TAKEN_OFF] if source.reading.contains_tax else []
            self.decided.value = _decided([*source.decided, *off], source.unused, waits=False)
            self._show_extras()

    def ask(self, questions: Sequence[Question]) -> None:
        """Ask what was found to be open: in the field of a column, or in a menu of its own."""
        self._filling = True
        menus = [question for question in questions if question.argument not in self.roles]
        try:
            for question in questions:
                if question.argument in self.roles:
                    widget = self.roles[question.argument]
                    if widget.options[0][1] != _CHOOSE:
                        widget.options = [("Choose…", _CHOOSE), *widget.options]
                    widget.value = _CHOOSE
                    self._shown.pop(question.argument, None)
                    self._explain(question.argument, question)
                    self._asked.append(question.argument)
            if menus:
                if not self._asks():  # those before were about another amount
                    self.questions.clear()
                self.questions.ask(menus)
                self._asked_about = self.roles["amount"].value
        finally:
            self._filling = False
        self.question.value = ""
        self._place()
        self._show_extras()
        first = next(
            (question.argument for question in questions if question.argument in self.roles), None
        )
        if menus:
            self.questions.focus()
        elif first is not None:
            self.roles[first].focus()

    def settings(self, kind: type) -> dict[str, Any]:
        """The arguments of this class that name no column, as far as they were given."""
        given: dict[str, Any] = {}
        for name, row in option_rows(kind).items():
            if row.panel and name in self.further and (name not in _MENUS or self._dated()):
                value = self.further[name].value
                value = value.strip() if isinstance(value, str) else value
                given |= {name: names_in(value) if row.form == "names" else value} if value else {}
        return given

    def _dated(self) -> bool:
        return bool(self.roles["as_of"].value[0] == "column")

    def set_enabled(self, *, enabled: bool) -> None:
        """Whether something may be chosen now."""
        for widget in (*self.roles.values(), *self._others()):
            widget.disabled = not enabled
        self.questions.set_enabled(enabled=enabled)

    def mark(self, role: str | None, text: str = "") -> None:
        """Mark the field that an error is about, and give it the focus; `None` marks none.

        The text stands there too: where the page is narrow, the message is out of sight.
        """
        self.questions.unmark()
        if role is not None and role not in self._boxes:
            self.questions.mark("Choose an answer.")
        for name, box in self._boxes.items():
            widget, *others = (child for child in box.children if child is not self._error)
            widget.remove_class("svc-invalid")
            if name == role:
                if role in self._below:
                    self.more.reveal(opened=True)
                self._error.value = escape(text)
                others.append(self._error)
                widget.add_class("svc-invalid")
                widget.focus()
            box.children = (widget, *others)

    def _chosen(self, role: str) -> tuple[str, str]:
        """The choice of a field: its kind, and the column."""
        kind, name = self.roles[role].value
        if kind == "choose":
            raise NotChosenError(
                role,
                f"{_FIELDS[role]}: several columns could be meant; choose one, or the line that"
                " says it is not used",
            )
        return kind, name

    def _one(self, role: str) -> str:
        """The one value of all rows."""
        if role == "state":
            if not self.one_state.value.strip():
                raise NotChosenError("one_state", "State of all rows: give a state, such as TX")
            return str(self.one_state.value.strip())
        if self.one_date.value is None:
            raise NotChosenError("one_date", "Date of all rows: give a date")
        return str(self.one_date.value.isoformat())

    def _others(self) -> tuple[ipywidgets.Widget, ...]:
        return (self.one_state, self.one_date, *self.further.values())

    def _place(self) -> None:
        """Put the fields that are asked about with the questions, and the others into their grids.

        An answered one stays there until another file is opened.
        """
        asked = [box for role, box in self.fields.items() if role in self._asked]
        for grid_, boxes in self._grids.items():
            grid_.children = [box for box in boxes if box not in asked]
        self.questions.show(asked, self.question if self.question.value else None)

    def _explain(self, role: str, asked: Question | None = None) -> None:
        """Say below a field what is asked about it; else what it is for."""
        text = self._helps.get(role, "") if asked is None else help_of(asked)
        self.roles[role].tooltip = text or None
        self._why[role].value = note(text).value if text else ""
        set_visible(self._why[role], bool(text))

    def _asks(self) -> bool:
        """Whether the questions are about the amount that is chosen now."""
        amount = self.roles["amount"].value
        return amount != NO_TAX and self._asked_about in {amount, _CHOOSE}

    def _edited(self, _change: object) -> None:
        if not self._filling:
            self.mark(None)
            self._show_extras()
            self._changed()

    def _show_extras(self) -> None:
        """Show only the fields that apply to what is chosen now."""
        self.questions.set_shown(shown=self._asks())
        state, dated = self.roles["state"].value, self.roles["as_of"].value
        column = dated is not None and dated[0] == "column"
        amount, shipping = self.roles["amount"].value, self.roles["shipping"].value
        taxed = amount not in {None, _NONE}
        for box, shown in {
            self._one_state: state == _ONE,
            self._one_date: dated == _ONE,
            self._format: column,
            self._tz: column,
            **{self.fields[role]: taxed for role in _OF_TAX},
            self._delivery: taxed and shipping not in {None, _NONE, _CHOOSE},
            self.decided: self._shown.get("amount") == amount and bool(self.decided.value),
        }.items():
            set_visible(box, shown)


_SPECIAL: Mapping[str, list[tuple[str, tuple[str, str]]]] = {
    "state": [("Not used", _NONE), ("One state for all rows", _ONE)],
    "as_of": [("Rates of today", _TODAY), ("One date for all rows", _ONE)],
    "amount": [("No tax, rates only", _NONE)],
}
"""What can be chosen instead of a column, by field; the first is the default."""


_LONGEST_SUM = 200
_BY_ANSWERS = "By the answers above"
"""The amount while questions about it are open."""


def _role(column: str) -> str | None:
    found = place_role(column)
    if found is None:
        return "country" if country_in_name(column) is not None else None
    return found[0]


def _export(view: FileView) -> str:
    """What the file was recognized as, and what to mind about it."""
    export = view.export
    if export is None:
        return ""
    meant = export.amounts_among(view.columns)
    joined = ", and the amount is " if meant == export.amounts else "; "
    amount = joined + meant if meant else ""
    text = (
        f"Recognized by its columns as {export.name}: the fields below are filled in"
        f" accordingly{amount}."
    )
    return f'<p>{escape(text)}</p><p class="svc-help">{escape(export.note)}</p>'


def _decided(decided: Sequence[str], unused: Sequence[str], *, waits: bool) -> str:
    """What the file shows of its amounts, and, to be opened, what it does not use."""
    sentences = [_sentence(capital(text)) for text in (*decided, *([_BY_RATES] if waits else []))]
    return (f"<p>{escape(' '.join(sentences))}</p>" if sentences else "") + unused_html(unused)


_TAKEN_OFF = "it contains the tax, which is taken off"
_BY_RATES = "the rates of the places check this: tax or delivery in it is taken off, and said"


def unused_html(sentences: Sequence[str]) -> str:
    """Which columns are not used and why: a line that opens."""
    if not sentences:
        return ""
    each = "".join(f"<li>{escape(_sentence(capital(text)))}</li>" for text in sentences)
    what = counted(len(sentences), "column")
    summary = f"{capital(what)} of amounts or statuses not used"
    return f'<details class="svc-unused"><summary>{summary}</summary><ul>{each}</ul></details>'


def _question(view: FileView) -> str:
    choices = [
        f"{_FIELDS[role]}: {', '.join(map(plain, some))}" for role, some in view.unclear.items()
    ]
    asked = {
        **dict.fromkeys(ROLES, "where was it shipped to"),
        "country": "which column is the country that it was shipped to, if any",
        "as_of": "when was it sold",
        "amount": "what was it sold for, before tax",
        **dict.fromkeys(_OF_TAX, "which column is meant"),
    }
    questions = " and ".join(dict.fromkeys(asked[role] for role in view.unclear))
    return f"Please choose, because the names are ambiguous: {questions}? {'; '.join(choices)}."


_ADVICE = {
    "column_missing": (
        "choose a ZIP Code, or street address and city, or a place name, or both coordinates"
    ),
    "column_ambiguous": "choose one, or “Not used”",
    "columns_of_two_parties": "choose the columns, and “Not used” for the other party",
    "dates_ambiguous": "choose the “Date format”",
    "no_usable_rows": "choose the columns of the place",
    "column_between": "move what stands there in front of or behind them, and run again",
    "column_taken": "choose a prefix, such as svc_, under “Prefix of added columns”",
    "flags_ambiguous": "write yes and no, or dollars such as 1.00, in the file",
    "says_the_opposite": "choose a column of what is exempt, or turn its yes and no round",
}
"""What to do about an error of `svc_tools.tables.roles`, by its code."""
_NAMED = {
    *("no_usable_rows", "dates_ambiguous", "flags_ambiguous", "says_the_opposite"),
    *("column_between", "column_taken"),
}
"""Codes of those that name the file or the column themselves."""
_ADVICE_ON_DATES = {
    "column_ambiguous": "choose it, or “Rates of today”",
    "no_usable_rows": "choose the “Date format”, or another column under “Date of sale”",
}
"""The same where it is about the date of the sale."""
_OF_DATES = {
    "dates_ambiguous": "date_format",
    "no_usable_rows": "date_format",
}
"""The field that settles an error about the column of dates, by its code."""
_READING_FAULTS = {"encoding", "delimiter", "sheet"}
"""Codes of errors of a file that another way of reading it may avoid."""


def file_trouble(error: BaseException, name: str = "") -> Trouble:
    """An error of this tab in words; `name` is that of the file."""
    trouble = trouble_of(error)
    if isinstance(error, SvcError) or not isinstance(error, ValueError):
        return trouble
    if isinstance(error, ColumnError):
        named = error.code in _NAMED
        about = "" if named else f"{_LABELS.get(error.role, 'Columns')}: "
        own = _ADVICE_ON_DATES if error.role == "as_of" else {}
        advice = own.get(error.code) or _ADVICE[error.code]
        text = f"{about}{error.fact}; {advice}"
        return replace(
            trouble, text=_sentence(text if name and text.startswith(name) else capital(text))
        )
    text = reason_in_words(str(error), name)
    if isinstance(error, NotChosenError):
        return Trouble("A choice is missing", text, "Then go on.")
    if isinstance(error, FileError) and error.code in _READING_FAULTS:
        text = f"{text} Choose it under “How the file is read”."
    return replace(trouble, text=text)


def field_of(error: BaseException) -> str | None:
    """The field of the form that an error is about; `None` for none."""
    if isinstance(error, NotChosenError):
        return error.role
    if isinstance(error, ColumnError) and error.role == "as_of":
        return _OF_DATES.get(error.code, "as_of")
    role = getattr(error, "role", str(error).partition(": ")[0])
    return role if role in _LABELS else None


def reason_in_words(reason: str, name: str = "") -> str:
    """A reason such as "zip: '787' is too short" as a sentence about the field it names.

    Args:
        reason: the argument that it is about, if any, and what is wrong.
        name: the file's name, which is not capitalized where the sentence begins with it.
    """
    line = " ".join(reason.split()).replace(" (tz)", "")  # an argument, and here a menu
    argument, colon, rest = line.partition(": ")
    if colon and argument in _LABELS:
        line = f"{_LABELS[argument]}: {rest}"
    return _sentence(line if name and line.startswith(name) else capital(line))


def _sentence(line: str) -> str:
    return line if line.endswith((".", "!", "?", "…")) else f"{line}."
