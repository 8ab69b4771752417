"""The rows of the sheet on which a register is cleaned up: found by their headings."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from svc_tools.excel.com.areas import Area
from svc_tools.excel.dates import FIRST_DAY, FROM_1904
from svc_tools.excel.workbook.layout import NEXUS, NEXUS_COLUMNS, NEXUS_MARKS, NEXUS_MESSAGE
from svc_tools.nexus import PlanError
from svc_tools.nexus.plan_file import plan_header, plan_of, plan_rows
from svc_tools.nexus.sheet import cell_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from svc_tools.excel.com.workbook import Sheet, Workbook
    from svc_tools.excel.values import Scalar
    from svc_tools.nexus import Plan, ReceiptItem

__all__ = ["NexusRows"]


class NexusRows:
    """The rows below the headings, up to the first without a state.

    Args:
        workbook: the workbook.

    Raises:
        ValueError: there are no such headings.
    """

    def __init__(self, workbook: Workbook) -> None:
        self._workbook = workbook
        self.sheet, self._head, self._left = _found(workbook)
        self.all = NEXUS_COLUMNS + NEXUS_MARKS

    @property
    def rows(self) -> list[dict[str, Scalar]]:
        """The rows, by heading, in order."""
        used = self.sheet.used
        last = used.row + used.height - 1
        if last <= self._head:
            return []
        block = self.sheet.values(self._block(last - self._head))
        found: list[dict[str, Scalar]] = []
        for cells in block:
            row = dict(zip(self.all, cells, strict=True))
            if cell_of(row["state"]) is None:
                break
            found.append(row)
        return found

    def fill(self, plan: Plan) -> None:
        """Write a plan over the rows that are there.

        Raises:
            ValueError: something else stands in the way; nothing was changed.
        """
        marks = {"plan": plan_header(plan)}
        lines = [
            row | marks | {"type": row["nexus_type"], "outcome": "", "receipt": ""}
            for row in plan_rows(plan)
        ]
        old = len(self.rows)
        self._require_room(old, len(lines))
        if lines:
            self._write(lines)
        if old > len(lines):  # last: rows that a person typed are there until the plan is
            first = self._head + 1 + len(lines)
            self.sheet.clear(Area(first, self._left, old - len(lines), len(self.all)))

    def _write(self, lines: Sequence[Mapping[str, str]]) -> None:
        self.sheet.put(
            Area(self._head, self._left + len(NEXUS_COLUMNS), 1, len(NEXUS_MARKS)), [NEXUS_MARKS]
        )
        cells = [[line[name] for name in self.all] for line in lines]
        self.sheet.put(self._block(len(lines)), cells)

    def plan(self) -> Plan:
        """The plan, as it is ticked on the sheet.

        Raises:
            PlanError: rows were changed, are of no plan, or the ticks contradict one another.
        """
        rows = self.rows
        plans = {_text(row["plan"]) for row in rows}
        if len(plans) != 1 or "" in plans:
            raise PlanError([f"the rows of the sheet {NEXUS} are not of one plan; list them again"])
        cells = [
            {name: _text(cell) for name, cell in row.items()}
            | {"nexus_type": row["type"], "registered_at": self._day(row["registered_at"])}
            for row in rows
        ]
        lines = enumerate(cells, self._head + 1)
        return plan_of("".join(plans), lines, name=f"The sheet {NEXUS}")

    @property
    def register(self) -> list[dict[str, object]]:
        """The rows as records, as `read_register` takes them."""
        fields = ("state", "registered_at", "address", "notes")
        return [
            {
                name: self._day(row[name]) if name == "registered_at" else row[name]
                for name in fields
            }
            | {"nexus_type": row["type"]}
            for row in self.rows
        ]

    @property
    def are_planned(self) -> bool:
        """Whether the rows are those of a plan."""
        return any(cell_of(row["plan"]) is not None for row in self.rows)

    def outcomes(self, items: Iterable[ReceiptItem], receipt: str = "") -> None:
        """Write what became, or would become, of each row that an item is about."""
        by_key = {item.key: item for item in items}
        for number, row in enumerate(self.rows, self._head + 1):
            item = by_key.get((_text(row["state"]), _text(row["type"])))
            if item is not None:
                self._put(number, "outcome", _outcome(item))
                if receipt:
                    self._put(number, "receipt", receipt)

    @property
    def receipts(self) -> list[str]:
        """The receipts that the selected rows name, each once; else those that any row names."""
        chosen = self._workbook.selected()
        rows = self.rows
        of_selected = [
            _text(row["receipt"])
            for number, row in enumerate(rows, self._head + 1)
            if chosen is not None
            and chosen[0].name == self.sheet.name
            and any(area.row <= number < area.row + area.height for area in chosen[1])
        ]
        of_any = [_text(row["receipt"]) for row in rows]
        return [path for path in dict.fromkeys(of_selected if any(of_selected) else of_any) if path]

    def say(self, text: str) -> None:
        """Show a text in the cell that is there for it."""
        cells = self._workbook.named(NEXUS_MESSAGE)
        if cells is not None:
            sheet, area = cells
            sheet.put(Area(area.row, area.column), [[text]])

    def _block(self, height: int) -> Area:
        return Area(self._head + 1, self._left, height, len(self.all))

    def _day(self, value: Scalar) -> object:
        """A day of the sheet: a date cell is a number there.

        Raises:
            ValueError: the workbook counts dates from 1904.
        """
        if isinstance(value, float) and not isinstance(value, bool):
            if self._workbook.counts_from_1904:
                raise ValueError(FROM_1904)
            return FIRST_DAY + timedelta(days=int(value))
        return value

    def _put(self, row: int, name: str, text: str) -> None:
        self.sheet.put(Area(row, self._left + self.all.index(name)), [[text]])

    def _require_room(self, old: int, wanted: int) -> None:
        """Refuse to write over what is not a row of the register.

        Raises:
            ValueError: something else stands in the way; nothing was changed.
        """
        if wanted <= old:
            return
        first = self._head + 1 + old
        below = self.sheet.values(Area(first, self._left, wanted - old, len(self.all)))
        for row, cells in enumerate(below, first):
            if any(cell_of(cell) is not None for cell in cells):
                raise ValueError(
                    f"The records need {wanted:,} rows of the sheet {NEXUS}, and something else"
                    f" stands in row {row}. Nothing was changed; clear that row, or move it."
                )


def _found(workbook: Workbook) -> tuple[Sheet, int, int]:
    """The sheet, and where its row of headings begins."""
    sheet = workbook.sheet(NEXUS)
    if sheet is not None:
        used = sheet.used
        for down, cells in enumerate(sheet.values(used)):
            told = ["" if cell is None else str(cell).strip().casefold() for cell in cells]
            for across in range(len(told) - len(NEXUS_COLUMNS) + 1):
                if tuple(told[across : across + len(NEXUS_COLUMNS)]) == NEXUS_COLUMNS:
                    return sheet, used.row + down, used.column + across
    raise ValueError(
        f'There is no sheet "{NEXUS}" with the headings {", ".join(NEXUS_COLUMNS)} side by side.'
        " The workbook that svc-tools makes has one: svc-tools excel workbook"
    )


def _outcome(item: ReceiptItem) -> str:
    word = item.status.replace("_", " ")
    shown = word.upper() if item.status == "removed_only" else word
    return f"{shown}: {item.message}" if item.message else shown


def _text(value: Scalar) -> str:
    if isinstance(value, float) and not isinstance(value, bool):
        return f"{value:g}" if value != int(value) else str(int(value))
    return "" if value is None else str(value)
