"""The sheet Nexus of a small Excel: its rows, ticks, and rows that are typed."""

from __future__ import annotations

from svc_tools.excel.workbook.writing import NEXUS_COLUMNS as HEADINGS

HEAD = 14


def nexus_sheet(book):
    """The sheet in a workbook, with its headings and the cell of its message."""
    sheet = book.add("Nexus")
    for column, heading in enumerate(HEADINGS, 1):
        sheet.type((HEAD, column), heading)
    sheet["A12"] = "…"
    book.names["SVC_NEXUS_MESSAGE"] = sheet.Range("A12")
    book.names["SVC_NEXUS_HEADINGS"] = sheet.Range(f"A{HEAD}:K{HEAD}")
    return sheet


def rows(sheet):
    """What stands below the headings, by heading."""
    found = []
    row = HEAD + 1
    while (row, 2) in sheet.cells:
        cells = [sheet.cells.get((row, column)) for column in range(1, len(HEADINGS) + 1)]
        values = [None if cell is None else cell.value for cell in cells]
        found.append(dict(zip(HEADINGS, values, strict=True)))
        row += 1
    return found


def tick(sheet, state="DE", kind="economic"):
    for row, one in enumerate(rows(sheet), HEAD + 1):
        if (one["state"], one["type"]) == (state, kind):
            sheet.type((row, 1), "x")


def type_row(sheet, *values):
    """A record typed by hand below the headings."""
    for column, value in enumerate((None, *values), 1):
        sheet.type((HEAD + 1, column), value)


def type_below(sheet, *values, mark="add"):
    """A row typed below the others; gives where it stands."""
    at = HEAD + 1 + len(rows(sheet))
    for column, value in enumerate((mark, *values), 1):
        sheet.type((at, column), value)
    return at


def cell(sheet, at, heading):
    found = sheet.cells.get((at, HEADINGS.index(heading) + 1))
    return None if found is None else found.value


def confirmed(excel, macro="SVC_NEXUS_REMOVE", typed="1"):
    """Run a macro, press "yes", and type the number of requests."""
    excel.app.pressed, excel.app.typed = ["yes"], [typed]
    return excel.macro(macro)
