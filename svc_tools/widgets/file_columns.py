"""The fields of the tab "File" that map columns, and messages in terms of those fields.

There is a field for each argument of the lookup, filled in where the file is clear. `reworded`
turns what the tools say to Python and command line into the names of these fields.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import ipywidgets

from svc_sdk import SvcError
from svc_tools.display import capital, plain
from svc_tools.frames.columns import place_role
from svc_tools.widgets.parts import (
    field,
    grid,
    heading,
    note,
    set_visible,
    table,
    table_html,
    trouble_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from svc_tools.frames.files.enriching import FileView
    from svc_tools.lookup.errors import Trouble

FIELDS: Mapping[str, str] = {
    "state": "State",
    "zip": "ZIP Code",
    "address": "Street address",
    "city": "City",
    "location": "Place name",
    "lat": "Latitude",
    "lng": "Longitude",
    "country": "Country",
    "as_of": "Date of the sale",
    "amount": "Amount",
}
"""The fields that name a column, by the argument that they stand for."""
_OTHERS: Mapping[str, str] = {
    "date_format": "How dates are written",
    "tz": "Time zone of the dates",
    "prefix": "Prefix of added columns",
    "sheet": "Sheet of a workbook",
    "delimiter": "Between the cells of a CSV",
    "encoding": "Encoding of a CSV",
}
_LABELS = {**FIELDS, **_OTHERS}
_CHOOSE = ("choose", "")
_NONE = ("none", "")
_ONE = ("one", "")
_TODAY = ("today", "")
_FORMATS = ["%m/%d/%Y", "%d/%m/%Y", "%m/%d/%y", "%m-%d-%Y", "%d.%m.%Y", "%Y%m%d", "%b %d, %Y"]
_ZONES = [
    "America/New_York",
    "America/Chicago",
    "America/Denver",
    "America/Phoenix",
    "America/Los_Angeles",
    "America/Anchorage",
    "Pacific/Honolulu",
    "UTC",
]


class NotChosenError(ValueError):
    """A field that only the user can decide was left open."""


class ColumnsForm:
    """Map the columns of a file.

    Args:
        changed: called when a choice was changed.

    Attributes:
        roles: a dropdown for each argument of the lookup, and for the amount; its values are pairs,
            such as `("column", "ship_zip")`, `("none", "")`, `("choose", "")`.
        one_state: the state of all rows, where that is chosen.
        one_date: the date of all rows, where that is chosen.
        date_format: how the dates are written.
        tz: whose calendar decides the date of a moment.
        prefix: stands before the names of the added columns.
    """

    def __init__(self, changed: Callable[[], object]) -> None:
        self._changed = changed
        self._columns: tuple[str, ...] = ()
        self._filling = False
        self.roles = {
            role: ipywidgets.Dropdown(description=label) for role, label in FIELDS.items()
        }
        self.one_state = ipywidgets.Text(description="State of all rows", placeholder="TX")
        self.one_date = ipywidgets.DatePicker(description="Date of all rows")
        self.date_format = ipywidgets.Combobox(
            description="How dates are written", options=_FORMATS, ensure_option=False
        )
        self.tz = ipywidgets.Combobox(
            description="Time zone of the dates", options=_ZONES, ensure_option=False
        )
        self.prefix = ipywidgets.Text(description="Prefix of added columns")
        self.question = note("")
        self.preview = table((), (), "")
        self._one_state = field(self.one_state, "Two letters or a name.")
        self._one_date = field(self.one_date)
        self._format = field(self.date_format, "Empty: 2026-05-31. %m/%d/%Y means 05/31/2026.")
        self._tz = field(self.tz, "Only for times with a time zone.")
        helps = {
            "as_of": "The rate of that day is looked up.",
            "amount": "Chosen, it adds the tax to every row.",
        }
        fields = {role: field(widget, helps.get(role, "")) for role, widget in self.roles.items()}
        extras = {"state": [self._one_state], "as_of": [self._one_date, self._format, self._tz]}
        ordered: list[ipywidgets.Widget] = []
        for role, box in fields.items():
            ordered += [box, *extras.get(role, [])]
        ordered.append(field(self.prefix, "Empty: as they are. svc_ makes svc_combined_rate."))
        self.view = ipywidgets.VBox(
            [heading("Columns", 4), self.preview, self.question, grid(*ordered)]
        )
        for widget in (*self.roles.values(), *self._texts()):
            widget.observe(self._edited, "value")
        self._show_extras()

    def show(self, view: FileView) -> None:
        """Offer the columns of a file, and choose those that are clear."""
        self._filling = True
        try:
            self._columns = view.columns
            named = [(plain(name), ("column", name)) for name in dict.fromkeys(view.columns)]
            for role, widget in self.roles.items():
                unclear = role in view.unclear
                special = {
                    "state": [("One state for all rows", _ONE)],
                    "as_of": [("Rates of today", _TODAY), ("One date for all rows", _ONE)],
                    "amount": [("No tax, rates only", _NONE)],
                }.get(role, [])
                if role not in {"as_of", "amount"}:
                    special = [("Not used", _NONE), *special]
                options = [("Choose…", _CHOOSE)] if unclear else []
                widget.options = [*options, *special, *named]
                first = _CHOOSE if unclear else special[0][1]
                column = view.found.get(role)
                widget.value = first if column is None else ("column", column)
            self.one_state.value = self.date_format.value = self.tz.value = ""
            self.prefix.value = ""
            self.one_date.value = None
            self.question.value = note(_question(view)).value if view.unclear else ""
            rows = [[*map(plain, row)] for row in view.rows]
            caption = "The first rows, as they are read" if view.more else "The rows, as read"
            self.preview.value = table_html(
                [plain(name) or "(no name)" for name in view.columns], rows, caption
            )
        finally:
            self._filling = False
        self._show_extras()

    def lookup(self) -> dict[str, object]:
        """The argument `lookup` of `enrich_file`.

        Raises:
            NotChosenError: a field was left open.
        """
        chosen = {role: widget.value for role, widget in self.roles.items() if role != "amount"}
        used = {name for kind, name in chosen.values() if kind == "column"}
        given: dict[str, object] = {}
        for role, (kind, name) in chosen.items():
            label = self.roles[role].description
            if kind == "choose":
                raise NotChosenError(
                    f"{label}: several columns could be meant; choose one, or the line that says it"
                    " is not used"
                )
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
        """The argument `tax` of `enrich_file`; `None` for no tax."""
        kind, name = self.roles["amount"].value
        return {"amount": name} if kind == "column" else None

    def written(self) -> str | None:
        """How the dates of a column are written; `None` for ISO dates."""
        return self.date_format.value.strip() or None if self._dated() else None

    def zone(self) -> str | None:
        """Whose calendar decides the date of a moment; `None` where none is given."""
        return self.tz.value.strip() or None if self._dated() else None

    def _dated(self) -> bool:
        return bool(self.roles["as_of"].value[0] == "column")

    def set_enabled(self, *, enabled: bool) -> None:
        """Whether something may be chosen now."""
        for widget in (*self.roles.values(), *self._texts()):
            widget.disabled = not enabled

    def _one(self, role: str) -> str:
        """The one value of all rows."""
        if role == "state":
            if not self.one_state.value.strip():
                raise NotChosenError("State of all rows: give a state, such as TX")
            return str(self.one_state.value.strip())
        if self.one_date.value is None:
            raise NotChosenError("Date of all rows: give a date")
        return str(self.one_date.value.isoformat())

    def _texts(self) -> tuple[ipywidgets.Widget, ...]:
        return self.one_state, self.one_date, self.date_format, self.tz, self.prefix

    def _edited(self, _change: object) -> None:
        if not self._filling:
            self._show_extras()
            self._changed()

    def _show_extras(self) -> None:
        state, dated = self.roles["state"].value, self.roles["as_of"].value
        column = dated is not None and dated[0] == "column"
        for box, shown in {
            self._one_state: state == _ONE,
            self._one_date: dated == _ONE,
            self._format: column,
            self._tz: column,
        }.items():
            set_visible(box, shown)


def _role(column: str) -> str | None:
    found = place_role(column)
    return None if found is None else found[0]


def _question(view: FileView) -> str:
    choices = [
        f"{FIELDS[role]}: {', '.join(map(plain, some))}" for role, some in view.unclear.items()
    ]
    return (
        "Please choose, because the names do not say it: where was it shipped to, and when was it"
        f" sold? {'; '.join(choices)}."
    )


_ROLE = "|".join(FIELDS)
_ARGUMENT = re.compile(rf"^({'|'.join(_LABELS)}): ")
_USED = re.compile(rf"\b({_ROLE}) from column (?=['\"\d])")
_FIXED = re.compile(rf"\b({_ROLE})=(.{{1,40}}?) for all rows")
_READ = "under “How the file is read”"
_REWORDED: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(message), instead)
    for message, instead in (
        (r"with --(?:sheet|delimiter|encoding) \([^()]*\)", _READ),
        (r"say so with --encoding ([\w-]+) \([^()]*\)", rf"choose \1 {_READ}"),
        (r"or name the delimiter$", f"or say what lies between the cells, {_READ}"),
        (r", or replace it with --force \(force=True\)", ""),
        (r"run the same command again", "show the plan again"),
        (r"so the same command will", "so another run will"),
        (
            r"convert the column first, for instance with pd\.to_datetime\(\.\.\., format='(.*)'\)",
            r"say how they are written under “How dates are written”, for instance \1",
        ),
        (
            r"convert the column first, for instance with pd\.to_datetime\(\.\.\., unit.*\)",
            "it is a spreadsheet's number: give the cells of the column the form 2026-05-01 there",
        ),
        (
            r"for instance with tz='([\w/]+)'(, or convert it first: .*)?",
            r"under “Time zone of the dates”, for instance \1",
        ),
        (
            r"Say which: zip=…, or address= and city=, or location=, or lat= and lng=",
            "Choose a ZIP Code, or street address and city, or a place name, or both coordinates",
        ),
        (
            rf"several columns look like ({_ROLE}): (.*); say which one with .*",
            r"several columns could be meant: \2; choose one, or “Not used”",
        ),
        (
            r"Name the columns in the call, and False for one that is not to be used",
            "Choose the columns, and “Not used” for what is not of that place",
        ),
        (
            r"say so with as_of='…'.*, or as_of='today' for today's rates",
            "choose it, or “Rates of today”",
        ),
        (
            r"(or choose a prefix|or look up with a prefix), for instance prefix='(\w+)'",
            r"or put \2 under “Prefix of added columns”",
        ),
        (r"choose another, for instance prefix='(\w+)'", r"choose another, for instance \1"),
        (r"; name it with as_of$", "; choose it under “Date of the sale”"),
        (r"^((?:\w+: )?)(the|a) frame\b", r"\1\2 file"),
    )
)
"""Messages for Python and the command line, and what the panel says instead."""


def reworded(text: str, name: str = "") -> str:
    """A message about a file as a sentence in terms of the panel's fields.

    Args:
        text: the message.
        name: the file's name, which is not capitalized where the sentence begins with it.
    """
    line = " ".join(text.split())
    for message, instead in _REWORDED:
        line = message.sub(instead, line)
    line = _ARGUMENT.sub(lambda found: f"{_LABELS[found[1]]}: ", line)
    line = _USED.sub(lambda found: f"{FIELDS[found[1]]} from column ", line)
    line = _FIXED.sub(lambda found: f"{FIELDS[found[1]]} {found[2]} for all rows", line)
    if not (name and line.startswith(name)):
        line = capital(line)
    return line if line.endswith((".", "!", "?", "…")) else f"{line}."


def file_trouble(error: BaseException, name: str = "") -> Trouble:
    """An error of this tab in words; `name` is that of the file."""
    trouble = trouble_of(error)
    if isinstance(error, SvcError) or not isinstance(error, ValueError):
        return trouble
    return replace(trouble, text=reworded(str(error), name))
