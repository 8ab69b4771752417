"""The figures that each output states, each under the name of its fact, to compare them."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from decimal import Decimal, InvalidOperation
from html import unescape
from html.parser import HTMLParser
from typing import NamedTuple

import openpyxl

from svc_tools.frames.added.enriched import Enriched
from svc_tools.frames.review.summary import summarize
from svc_tools.show.codes import CODES
from svc_tools.show.display import NOTHING, capital

REVIEW, USES, STATES = "Rows to review by state and reason", "What can be used", "Tax by state"
NAMES = {"Use": USES, "By state and reason": REVIEW}
"""Titles of tables, and the first head of one without a title, by the name of their facts."""
COMPARED = {
    *(USES, REVIEW, STATES, "Rows by status", "Rows with a result by confidence"),
    *("Rows by advisory", "Tax by confidence", "Tax by level", "Tax that the seller owes"),
    *("Sources of the rates", "The codes that occur in the lines", "Added up"),
}
WORDS = {capital(one.meaning): code for code, one in CODES.items()}


class Grid(NamedTuple):
    """A table of an output: its title, its heads, and its cells."""

    title: str
    heads: list
    rows: list


def number(cell):
    """A count or dollars as an exact number; `None` where there is none."""
    if cell is None or isinstance(cell, bool):
        return None
    text = f"{cell:.2f}" if isinstance(cell, float) else str(cell)
    with contextlib.suppress(InvalidOperation):
        return Decimal(text.replace("$", "").replace(",", "").strip())
    return None


def of_grids(grids):
    """The figures of tables that several outputs have, by title, line and head."""
    found = {}
    for title, heads, rows in grids:
        name = NAMES.get(title) or NAMES.get(str(heads[0]), title)
        name = name.partition(", US dollars")[0].partition(", and why")[0]
        if name not in COMPARED:
            continue
        keys = 2 if name in {REVIEW, "Sources of the rates"} else 1
        if name == "The codes that occur in the lines":
            keys = 2
        for row in rows:
            line = sorted(_key(cell) for cell in row[:keys]) if keys > 1 else [_key(row[0])]
            for head, cell in zip(heads, row, strict=False):
                if str(head).strip() in {"Rows", "Dollars", "Tax", "Sales", "Tax due", *_OF_STATES}:
                    found[name, *line, str(head)] = number(cell) or Decimal(0)
    return found


_OF_STATES = (
    *("Sales, whole rate", "Partial rows", "Sales, partial rate"),
    *("Other rows, no tax", "Their sales"),
)


def _key(cell):
    text = "" if cell in {None, NOTHING, "not known"} else str(cell)
    return WORDS.get(text, text).removeprefix("not due: ")


def compared(outputs):
    """The facts on which outputs differ: each with what every output says of it."""
    facts = {}
    for output, figures in outputs.items():
        for fact, figure in figures.items():
            facts.setdefault(fact, {})[output] = figure
    return {fact: said for fact, said in facts.items() if len({*said.values()}) > 1}


def facts_shared(outputs):
    """How many outputs state each fact."""
    return Counter(fact for figures in outputs.values() for fact in figures)


def _total(values):
    return sum((value for value in values if value is not None), Decimal(0))


def _of_sentences(text):
    """The figures of sentences that several outputs have."""
    found = {}
    ready = re.search(r"([\d,]+) of ([\d,]+) rows? (?:is|are) ready to use", text)
    if ready:
        found[USES, "ready", "Rows"], found["rows",] = map(number, ready.groups())
    needs = re.search(r"([\d,]+) of ([\d,]+) rows? requires? review", text)
    if needs:
        found["rows to review",], found["rows",] = map(number, needs.groups())
    stake = re.search(r"of the (\S+) (?:at stake|of sales)", text)
    if stake and needs:
        found["dollars to review",] = number(stake[1])
    of = r"(?:of it|these dollars) (\S+) (?:is )?an estimate for ([\d,]+) row"
    estimate = re.search(of, text)
    if estimate:
        found["estimated",], found["rows estimated",] = map(number, estimate.groups())
    more = re.search(r"and ([\d,]+) rows? in ([\d,]+) more groups", text)
    if more:
        found["rows of more groups",] = number(more[1])
    return found


def of_frame(taxed, collected=None):
    """What the methods of a frame say: each method is an output."""
    summary, split, review = summarize(Enriched(taxed)), taxed.svc.split(), taxed.svc.review()
    money = summary.money
    outputs = {"summary": {("rows",): summary.rows}, "split": {}, "review": {}}
    said = outputs["summary"]
    said |= {("rests on",): summary.rests_on.sentence} | _rests(summary.rests_on)
    said |= {("Rows by status", one.name, "Rows"): one.rows for one in summary.by_status}
    said |= {("rows of", one.state): one.totals.rows for one in summary.states}
    if money is not None:
        said |= {
            ("sales",): money.sales,
            ("tax",): money.tax + money.partial_tax,
            ("sales with a tax",): money.sales - money.untaxed_sales - money.open_sales,
            ("rows with a tax",): int(taxed["tax"].notna().sum()),
        }
    said |= _of_parts(summary.by_use)
    outputs["split"] = _of_parts(split.parts) | {
        ("rows",): sum(part.rows for part in split.parts),
        ("sales",): _total(part.sales for part in split.parts),
        ("tax",): _total(part.tax for part in split.parts),
    }
    if "tax_due" in taxed.columns:
        outputs["split"]["due",] = _total(part.due for part in split.parts)
    outputs["review"] = {
        ("rows",): review.totals.frame_rows,
        ("rows to review",): review.totals.rows,
        ("dollars to review",): review.totals.dollars or Decimal(0),
        **_of_groups(review.state_reasons),
    }
    outputs["review rows"] = {
        ("rows to review",): len(review.rows),
        ("dollars to review",): _total(review.rows["review_dollars"].dropna().tolist()),
    }
    outputs["review places"] = {
        ("rows to review",): int(review.groups["rows"].sum()),
        ("dollars to review",): _total(review.groups["dollars"].dropna().tolist()),
    }
    outputs["review text"] = _of_sentences(str(review))
    if collected is not None:
        outputs["reconcile"] = _of_reconciliation(taxed.svc.reconcile(collected))
    if "lookup_jurisdictions" in taxed.columns:
        outputs["filing"] = _of_returns(taxed, summary)
    return outputs


def _rests(rests):
    return {
        ("rests on", name, key): getattr(getattr(rests, name), key) or Decimal(0)
        for name in ("other_date", "incomplete", "untaxed")
        for key in ("rows", "sales", "tax")
        if (name, key) != ("untaxed", "tax")
    }


def _of_parts(parts):
    found = {}
    for part in parts:
        found[USES, part.label, "Rows"] = part.rows
        for head, value in (("Sales", part.sales), ("Tax", part.tax), ("Tax due", part.due)):
            if value is not None or head != "Tax due":
                found[USES, part.label, head] = value or Decimal(0)
    return found


def _of_groups(groups):
    found = {("review groups",): len(groups)}
    for one in groups:
        line = sorted([one.state, one.reason])
        found[REVIEW, *line, "Rows"] = one.rows
        found[REVIEW, *line, "Dollars"] = one.dollars or Decimal(0)
    return found


def _of_reconciliation(made):
    sums = made.totals
    expected = _total([sums.expected, sums.expected_without_collected])
    said = {
        ("rows",): sums.rows,
        ("due" if made.expected == "tax_due" else "tax",): expected,
        ("rests on",): made.rests_on.sentence,
        **_rests(made.rests_on),
    }
    assert made.rests_on.sentence in " ".join(str(made).split())
    of_states = zip(made.by_state["state"], made.by_state["rows"], strict=True)
    return said | {
        ("rows of", "" if str(one) in {"None", "<NA>", "nan"} else one): int(rows)
        for one, rows in of_states
    }


_ALL_RETURNS, _SOME_RETURNS = 100, 3
"""Rows of a frame of which the returns of all states are added up; else some are compared."""


def _of_returns(taxed, summary):
    """The returns of the states; those of all together: rows without a state are in none."""
    states = [one.state for one in summary.states if one.state]
    every = len(taxed) < _ALL_RETURNS
    made = {state: taxed.svc.filing(state) for state in states[: None if every else _SOME_RETURNS]}
    said = {
        ("rows of", state): one.totals.rows + one.totals.left_out_rows
        for state, one in made.items()
    }
    if not every:
        return said
    for name in ("other_date", "incomplete", "untaxed"):
        for key in ("rows", "sales", "tax"):
            parts = [getattr(getattr(one.rests_on, name), key) for one in made.values()]
            if (name, key) != ("untaxed", "tax"):
                said["rests on", name, key] = _total(parts)
    said["due" if "tax_due" in taxed.columns else "tax",] = _total(
        one.totals.tax for one in made.values()
    )
    return said


class _Page(HTMLParser):
    """The tables and texts of a page."""

    def __init__(self, text):
        super().__init__()
        self.grids, self.texts, self.cards, self._into, self._open = [], [], {}, None, []
        self._card = self._title = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):  # noqa: ARG002 - as it is called
        self._open.append(tag)
        if tag == "table":
            self.grids.append(Grid("", [], []))
        elif tag == "tr" and self.grids:
            self.grids[-1].rows.append([])
        elif tag in {"td", "th"}:
            self.grids[-1].rows[-1].append("")
        elif tag == "caption":
            self._title = ""

    def handle_endtag(self, tag):
        if tag == "caption":
            self.grids[-1] = self.grids[-1]._replace(title=self._title.strip())
        elif tag == "table":
            title, _, rows = self.grids[-1]
            heads, *body = rows or [[]]
            self.grids[-1] = Grid(title or self._folded, heads, body)

    _folded = ""

    def handle_data(self, data):
        tag = self._open[-1] if self._open else ""
        self.texts.append(data)
        if "caption" in self._open[-3:] and tag == "caption":
            self._title += data
        if self.grids and self.grids[-1].rows and tag in {"td", "th"}:
            self.grids[-1].rows[-1][-1] += data
        if tag == "summary":
            self._folded = data.partition(":")[0]
        if tag == "b":
            self._card = data
        elif tag == "span" and self._card:
            self.cards[data], self._card = self._card, ""


def grids_of(text):
    """The tables of a piece of HTML."""
    return [one for one in _Page(text).grids if one.heads]


def of_page(path):
    """What a report as a page says."""
    page = _Page(path.read_text("utf-8"))
    cards = {name: number(value) for name, value in page.cards.items()}
    text = " ".join(" ".join(page.texts).split())
    said = of_grids(page.grids) | _of_sentences(text)
    headline = re.search(r'class="headline">(.*?)</p>', path.read_text("utf-8"))
    said["rests on",] = unescape(headline[1]) if headline else ""
    said["rows",], said["rows to review",] = cards["Rows"], cards["Rows to review"]
    said |= _of_states(said)
    if "Sales" in cards:
        said["sales",] = cards["Sales"]
        said["tax",] = cards["Tax computed"] + cards.get(
            "Tax from partial rates, in addition", Decimal(0)
        )
        said["sales with a tax",] = cards["Sales"] - cards["Sales with no tax"]
    if "Tax that the seller owes" in cards:
        said["due",] = cards["Tax that the seller owes"]
    groups = [one for one in page.grids if one.title == REVIEW]
    said["review groups",] = len(groups[0].rows) if groups else 0
    return said


def _of_states(said):
    return {
        ("rows of", fact[1]): figure
        for fact, figure in said.items()
        if fact[0] == STATES and fact[2] == "Rows" and fact[1] != "Total"
    }


def of_workbook(path):
    """What a report as a workbook says."""
    book = openpyxl.load_workbook(path)
    cells = [list(row) for row in book["Summary"].iter_rows(values_only=True)]
    sheet = [list(row) for row in book["Sources"].iter_rows(values_only=True)]
    said = of_grids([*_sections(cells), *_sections(sheet)])
    said |= _of_sentences(" ".join(str(row[0]) for row in cells))
    facts = {row[0]: row[1] for row in cells if row[0] and row[1] is not None}
    said["rests on",] = cells[1][0] or ""
    said["rests on", "other_date", "rows"] = facts["Rows at the rate of another date"]
    said["rows",], said["rows to review",] = facts["Rows"], facts["Rows to review"]
    said |= _of_states(said)
    if "Sales" in facts:
        said["sales",] = number(float(facts["Sales"]))
        partial = number(float(facts.get("Tax from partial rates, besides", 0)))
        said["tax",] = number(float(facts["Tax computed"])) + partial
        without = number(float(facts["Sales with no tax"]))
        said["sales with a tax",] = said["sales",] - without
        (of_dates,) = (
            value
            for name, value in facts.items()
            if name.endswith("of another date") and name.startswith("Tax")
        )
        said["rests on", "other_date", "tax"] = number(float(of_dates or 0))
    return said


def _sections(cells):
    """The tables of a sheet: a title, heads below it, and the lines up to an empty one."""
    grids = []
    for at, row in enumerate(cells[:-1]):
        heads = [str(cell or "").strip() for cell in cells[at + 1]]
        if row[0] and not any(row[1:]) and {"Rows", "Tax"} & {*heads}:
            lines = []
            for line in cells[at + 2 :]:
                if line[0] is None:
                    break
                lines.append(line)
            grids.append(Grid(str(row[0]), heads, lines))
    return grids


def of_run(run):
    """What the result of a file, the command's JSON and its text say."""
    plain, totals = run.as_json(), run.totals
    said = {
        ("rows",): plain["rows"],
        ("rows to review",): plain["needs_review"],
        **{("Rows by status", name, "Rows"): rows for name, rows in plain["statuses"].items()},
        **_of_parts(totals.by_use),
        **_of_groups(totals.review.groups()),
    }
    if "tax" in plain:
        said["tax",], said["sales with a tax",] = map(Decimal, (plain["tax"], plain["sales"]))
        said["rows with a tax",] = plain["rows_with_tax"]
    if "tax_due" in plain:
        said["due",] = Decimal(plain["tax_due"])
    return {"json": said, "result": of_text(str(run))}


def of_text(text):
    """What the command prints, in lines wide enough for its tables."""
    grids, lines = [], text.splitlines()
    for at, line in enumerate(lines):
        if re.fullmatch(r"\s*[-─]{8,}\s*", line):
            heads = re.split(r"\s{2,}", lines[at - 1].strip())
            title = lines[at - 2].strip()
            rows = []
            for row in lines[at + 1 :]:
                if not row.strip() or row.strip().startswith("and "):
                    break
                rows.append(re.split(r"\s{2,}", row.strip()))
            grids.append(Grid(title, heads, rows))
    flat = " ".join(text.split())
    said = of_grids(grids) | _of_sentences(flat)
    rows = re.search(r"([\d,]+) rows?, [\d,]+ distinct", flat)
    if rows:
        said["rows",] = number(rows[1])
    taxed = re.search(r"Rows with a tax: ([\d,]+), (\S+) of sales", flat)
    if taxed:
        said["rows with a tax",], said["sales with a tax",] = map(number, taxed.groups())
        said["tax",] = number(re.search(r"(\S+) of tax\. Rows without: ([\d,]+)", flat)[1])
    due = re.search(r"Of it due from you: (\S+)\.", flat)
    if due:
        said["due",] = number(due[1])
    return said


def of_panel(tab):
    """What the panel's tab File says of its result."""
    view = tab.result
    parts = (view.split, view.statuses, view.money, view.reasons)
    grids = [grid for part in parts for grid in grids_of(part.value)]
    text = " ".join(_Page(view.split.value).texts)
    said = of_grids(grids) | _of_sentences(text)
    for grid in grids:
        if grid.title == "Tax":
            facts = {row[0]: number(row[1]) for row in grid.rows}
            said["rows with a tax",] = facts["Rows with a tax"]
            said["sales with a tax",] = facts["Their sales, dollars"]
            said["tax",] = facts["Their tax, dollars"]
    if view.reason.options:
        whole = re.search(r"\(([\d,]+) rows?(?:, (\S+))?\)", view.reason.options[0][0])
        said["rows of groups",] = number(whole[1])
    message = " ".join(_Page(tab.message.html).texts)
    done = re.search(r"([\d,]+) rows? of ([\d,]+) to review", message)
    if done:
        said["rows to review",], said["rows",] = map(number, done.groups())
    return said
