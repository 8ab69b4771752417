"""Which column says what: a field for each argument of the lookup, filled in where it is clear."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ipywidgets

from svc_tools.frames.usual_names import place_role
from svc_tools.shown import plain
from svc_tools.widgets.file_layout import grid
from svc_tools.widgets.file_spoken import FIELDS
from svc_tools.widgets.parts import field, heading, note, table, table_html

if TYPE_CHECKING:
    from collections.abc import Callable

    from svc_tools.frames.files.file_view import FileView

__all__ = ["ColumnsForm", "NotChosenError"]

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
    """A field that only a person can decide was left open."""


class ColumnsForm:
    """Map the columns of a file.

    Args:
        changed: called when something was chosen otherwise.

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
            "as_of": "The rate of that day is asked for.",
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
        """Offer the columns of a file, those that are clear already chosen."""
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
            self.question.value = ""
            if view.unclear:
                self.question.value = note(_question(view)).value
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
            elif any(found == role for found in map(_role, set(self._columns) - used)):
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
        """Whose calendar decides the date of a moment; `None` where nobody said so."""
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
            box.layout.display = "" if shown else "none"


def _role(column: str) -> str | None:
    found = place_role(column)
    return None if found is None else found[0]


def _question(view: FileView) -> str:
    asked = [
        f"{FIELDS[role]}: {', '.join(map(plain, some))}" for role, some in view.unclear.items()
    ]
    return (
        "Please choose, because the names do not say it: where was it shipped to, and when was it"
        f" sold? {'; '.join(asked)}."
    )
