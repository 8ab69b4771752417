"""The questions that the columns of a file leave open, each as a menu: nothing is preselected.

The tabs File and Nexus show them where the file is chosen; the answers are arguments of the call.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any

import ipywidgets

from svc_tools.show.display import capital, counted, plain
from svc_tools.tables.questions import OPEN, in_sentences
from svc_tools.widgets.parts import field, heading, set_visible

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Iterable, Sequence

    from svc_tools.tables.questions import Question

CHOOSE = ("Choose…", OPEN)
"""The first choice of every menu, which answers nothing."""


class NotChosenError(ValueError):
    """A field that only the user can decide was left open.

    Attributes:
        role: the field, or the argument that a question is about.
    """

    def __init__(self, role: str, message: str) -> None:
        super().__init__(message)
        self.role = role


class QuestionMenus:
    """Menus of questions, in the order in which they were asked.

    Attributes:
        menus: the menus, in the same order.
        view: all of them, and the fields that are asked about, too; hidden without any.
    """

    def __init__(self, changed: Callable[[], object]) -> None:
        self._changed = changed
        self._asked: dict[Hashable, Question] = {}
        self._menus: dict[Hashable, ipywidgets.Dropdown] = {}
        self._fields: tuple[ipywidgets.Widget, ...] = ()
        self._intro: ipywidgets.Widget | None = None
        self._enabled = self._shown = True
        self._error = ipywidgets.HTML()
        self._error.add_class("svc-error")
        self._boxes = ipywidgets.VBox()
        self._boxes.add_class("svc-questions")
        self._title = heading("", 4)
        self.view = ipywidgets.VBox([self._title, self._boxes])
        self.clear()

    @property
    def menus(self) -> tuple[ipywidgets.Dropdown, ...]:
        """The menus, in the order of the questions."""
        return tuple(self._menus.values())

    @property
    def questions(self) -> tuple[Question, ...]:
        """The questions, answered or not."""
        return tuple(self._asked.values())

    @property
    def is_open(self) -> bool:
        """Whether a question is not answered yet."""
        return self._shown and any(menu.value == OPEN for menu in self._menus.values())

    def clear(self) -> None:
        """Ask nothing."""
        self._asked, self._menus = {}, {}
        self._draw()

    def show(
        self, fields: Sequence[ipywidgets.Widget] = (), intro: ipywidgets.Widget | None = None
    ) -> None:
        """Show fields that are asked about, too, before the menus, and what is said of them."""
        self._fields, self._intro = tuple(fields), intro
        self._draw()

    def set_shown(self, *, shown: bool) -> None:
        """Set whether the menus are shown; those that are not are not open."""
        if shown != self._shown:
            self._shown = shown
            self._draw()

    def ask(self, questions: Iterable[Question]) -> None:
        """Ask these too; one that was asked before is open again."""
        for question in questions:
            about = _about(question)
            self._asked.pop(about, None)
            self._menus.pop(about, None)
            menu = ipywidgets.Dropdown(
                description=title_of(question),
                options=[
                    CHOOSE,
                    *((answer_in_words(question, of), of) for of in _values(question)),
                ],
                value=OPEN,
                disabled=not self._enabled,
            )
            menu.observe(self._chosen, "value")
            self._asked[about], self._menus[about] = question, menu
        self._draw()

    def answers(self, but: Collection[str] = ()) -> dict[str, Any]:
        """The arguments that answer the questions.

        Args:
            but: arguments that are given elsewhere; questions about them are passed over.

        Raises:
            NotChosenError: a question is open.
        """
        given: dict[str, Any] = {}
        for about, question in self._asked.items():
            if question.argument in but:
                continue
            value = self._menus[about].value
            if value == OPEN:
                raise NotChosenError(question.argument, f"{title_of(question)} Choose an answer")
            given[question.argument] = _joined(given.get(question.argument), value)
        return given

    def mark(self, text: str = "") -> None:
        """Mark the first open question, give it the focus and show the text there."""
        self.unmark()
        for about, menu in self._menus.items():
            if menu.value == OPEN:
                self._error.value = escape(text)
                menu.add_class("svc-invalid")
                self._draw(about)
                menu.focus()
                return

    def unmark(self) -> None:
        """Mark no question."""
        for menu in self._menus.values():
            menu.remove_class("svc-invalid")
        if self._error.value:
            self._error.value = ""
            self._draw()

    def focus(self) -> None:
        """Give the focus to the first open question."""
        for menu in self._menus.values():
            if menu.value == OPEN:
                menu.focus()
                return

    def set_enabled(self, *, enabled: bool) -> None:
        """Set whether something may be chosen now."""
        self._enabled = enabled
        for menu in self._menus.values():
            menu.disabled = not enabled

    def _chosen(self, _change: object) -> None:
        self.unmark()
        self._changed()

    def _draw(self, marked: Hashable = None) -> None:
        """Show the questions, with the error at the marked one."""
        boxes: list[ipywidgets.Widget] = [*self._fields]
        asked = self._asked if self._shown else {}
        for about, question in asked.items():
            box = field(self._menus[about], help_of(question))
            if about == marked:
                box.children = (*box.children, self._error)
            boxes.append(box)
        intro = [self._intro] if self._intro is not None and self._fields else []
        self._boxes.children = [*intro, *boxes]
        what = counted(len(boxes), "question")
        self._title.value = f"<h4>{escape(capital(what))} about the columns</h4>"
        set_visible(self.view, bool(boxes))


def _about(question: Question) -> Hashable:
    """What a question is about: a later one about the same takes its place."""
    return (
        (question.argument, question.columns[0])
        if question.argument == "parts"
        else question.argument
    )


def _values(question: Question) -> list[Any]:
    """The answers, each once: two columns of one name are one choice."""
    found: list[Any] = []
    for value in question.values:
        answer = list(value) if isinstance(value, tuple) else value
        if not any(answer is other or answer == other for other in found):
            found.append(answer)
    return found


def _joined(before: Any, value: Any) -> Any:  # noqa: ANN401 - values of arguments
    """Two answers to one argument as one: pairs and lists are joined."""
    if isinstance(before, Mapping) and isinstance(value, Mapping):
        return {**before, **value}
    return value


def open_questions(questions: Sequence[Question]) -> str:
    """How many questions are open, in a sentence; of a single one what was seen, too."""
    if len(questions) == 1:
        return f"1 question about the columns is open: {questions[0].why}."
    return f"{len(questions)} questions about the columns are open."


def title_of(question: Question) -> str:
    """A question in a few words, as the label of its menu."""
    first = _quoted(question.columns[0]) if question.columns else ""
    listed = " and ".join(map(_quoted, question.columns))
    titles = {
        "contains_tax": f"Is the tax in {first}?",
        "contains_shipping": f"Is the delivery in {first}?",
        "once": f"{listed}: of the whole order, or of each line?",
        "parts": f"What is {first}?",
        "refunds": "What are the refunds that have a positive amount?",
        "decimal": "Which mark stands before the cents?",
        "order": "Which column is the number of the order?",
        "currency": "Which column is the currency?",
        "amount": "Which column is the amount, before tax?",
        "country": "Which column is the country shipped to?",
        "date": "Which column is the date of the sale?",
    }
    return (
        titles.get(question.argument)
        or f"Which column is the {question.argument.replace('_', ' ')}?"
    )


def help_of(question: Question) -> str:
    """What was seen, and the likeliest answer with its reason, in sentences."""
    (text,) = in_sentences(
        [question], lambda each: f"“{answer_in_words(each, each.likely)}”", choices=False
    )
    return f"{capital(text)}."


def answer_in_words(question: Question, value: object) -> str:
    """One answer of a question, as its menu has it."""
    if isinstance(value, Mapping):
        return _PARTS.get(str(next(iter(value.values()), "")), str(value))
    first = _quoted(question.columns[0]) if question.columns else ""
    fixed: Mapping[tuple[str, object], str] = {
        ("contains_tax", True): f"Yes: the tax is in {first}",
        ("contains_tax", False): f"No: the tax comes on top of {first}",
        ("contains_shipping", True): f"Yes: the delivery is in {first}",
        ("contains_shipping", False): f"No: the delivery comes on top of {first}",
        ("once", False): "Of each line: every row counts",
        ("order", False): "None: each row is a sale of its own",
        ("currency", False): "None: all amounts are in US dollars",
        **_FIXED,
    }
    if isinstance(value, list | tuple):
        return "Of the whole order: count once"
    if value is False:
        return fixed.get((question.argument, value), "None of them")
    return fixed.get((question.argument, value)) or plain(value)


_PARTS = {
    "goods": "Goods: taxed as goods are",
    "delivery": "Delivery: taxed as delivery is",
    "discount": "A discount: take it off",
    "untaxed": "In the total, and not taxed",
    "none": "Not in the amount: leave it out",
}
_FIXED: Mapping[tuple[str, object], str] = {
    ("refunds", "subtract"): "Take them off the sales",
    ("refunds", "add"): "They are sales",
    ("refunds", "leave"): "Leave them out (0.00)",
    ("decimal", "comma"): "The comma: 1.000 is one thousand, 1,000 is one",
    ("decimal", "point"): "The point: 1,000 is one thousand, 1.000 is one",
    ("as_of", "today"): "None: rates of today",
}


def _quoted(label: object) -> str:
    return f"'{plain(label)}'"
