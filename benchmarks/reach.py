"""`python -m benchmarks.reach [--files]`: how many product files one request enters, as a table.

A file counts where a function of it runs, in any thread; what runs at import does not. Each
operation runs once before it is counted, with another place, so that everything is loaded.
`--files` lists the files.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType, FrameType

ROOT = Path(__file__).parents[1]
PARTS = {"svc_sdk": "svc_sdk", "svc_tools": "svc_tools", "service": "svc_tools/service"}
"""Folders; a file belongs to the last one that it is in."""
ZIPS = ("94105", "90012", "92101", "95814", "93721", "90210", "94607")
"""One for each operation, so that none is answered from memory."""
DAYS = ("2026-01-15", "2026-05-15", "2026-09-15")
"""Those of the rows of a file."""
_PARTS_OF_FUNCTIONS = {"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"}


class Reach:
    """The functions entered while counting, over all threads started since it was made."""

    def __init__(self) -> None:
        self.codes: set[CodeType] = set()
        self.counting = False
        threading.setprofile(self._profile)
        sys.setprofile(self._profile)

    def _profile(self, frame: FrameType, event: str, _: object) -> None:
        if self.counting and event == "call":
            self.codes.add(frame.f_code)

    def of(self, work: Callable[[], object]) -> dict[str, dict[str, set[str]]]:
        """The names of the functions that work enters, by part of the product and file."""
        self.codes.clear()
        self.counting = True
        try:
            work()
        finally:
            self.counting = False
        found: dict[str, dict[str, set[str]]] = {part: {} for part in PARTS}
        for code in list(self.codes):
            path = Path(code.co_filename)
            if code.co_name == "<module>" or not path.is_relative_to(ROOT):
                continue
            name = path.relative_to(ROOT).as_posix()
            inside = [part for part, folder in PARTS.items() if name.startswith(f"{folder}/")]
            if inside:
                functions = found[inside[-1]].setdefault(name, set())
                if code.co_name not in _PARTS_OF_FUNCTIONS:
                    functions.add(f"{code.co_qualname}:{code.co_firstlineno}")
        return found


def operations(folder: Path) -> dict[str, Callable[[str, str], Callable[[], object]]]:
    """What is counted: each takes a state and a ZIP, and gives the work, with files in a folder."""
    import httpx  # noqa: PLC0415 - profiled from its first call on
    import pandas as pd  # noqa: PLC0415 - as above

    import svc_tools  # noqa: PLC0415 - as above
    from svc_tools.excel.desk import Desk  # noqa: PLC0415 - as above
    from svc_tools.excel.functions import FunctionCall, evaluate  # noqa: PLC0415 - as above
    from svc_tools.frames import enrich_file  # noqa: PLC0415 - as above

    client = svc_tools.connect("embedded")
    desk = Desk(client)
    key = client._service.api_key.get_secret_value()  # noqa: SLF001 - the key of this process alone
    http = httpx.Client(
        base_url=client._service.base_url,  # noqa: SLF001 - as above
        headers={"X-API-Key": key},
        trust_env=False,
    )

    def frame(state: str, zip5: str) -> pd.DataFrame:
        return pd.DataFrame({"state": [state], "zip": [zip5], "amount": ["100.00"]})

    def lookup(state: str, zip5: str) -> pd.DataFrame:
        return frame(state, zip5).svc.lookup(client=client)

    def tax(state: str, zip5: str) -> Callable[[], object]:
        found = lookup(state, zip5)
        return lambda: found.svc.tax(amount="amount")

    def taxed(state: str, zip5: str) -> pd.DataFrame:
        return lookup(state, zip5).svc.tax(amount="amount")

    def review(state: str, zip5: str) -> Callable[[], object]:
        rows = taxed(state, zip5)
        return rows.svc.review

    def report(state: str, zip5: str) -> Callable[[], object]:
        rows = taxed(state, zip5)
        return lambda: rows.svc.report(folder / f"{zip5}.html")

    def enrich(state: str, zip5: str) -> Callable[[], object]:
        orders = frame(state, zip5).merge(pd.DataFrame({"order_date": DAYS}), how="cross")
        source, output = folder / f"{zip5}.csv", folder / f"{zip5}-rates.csv"
        orders.to_csv(source, index=False)
        return lambda: enrich_file(source, output, tax={"amount": "amount"}, client=client)

    return {
        "df.svc.lookup": lambda state, zip5: lambda: lookup(state, zip5),
        "df.svc.tax": tax,
        "df.svc.review": review,
        "df.svc.report": report,
        "SVC_RATE": lambda state, zip5: (
            lambda: evaluate(desk, [FunctionCall("SVC_RATE", (state, zip5))])
        ),
        "GET /v1/tax/CA": lambda state, zip5: (
            lambda: http.get(f"/v1/tax/{state}", params={"zip": zip5}).raise_for_status()
        ),
        f"enrich, {len(DAYS)} rows": enrich,
    }


def table(found: dict[str, dict[str, dict[str, set[str]]]]) -> str:
    """Files and functions of each operation, by part, as a table, which is Markdown too."""
    rows = [["one ZIP through", *PARTS, "files", "functions"]]
    for name, parts in found.items():
        counts = [(len(files), sum(map(len, files.values()))) for files in parts.values()]
        totals = map(sum, zip(*counts, strict=True))
        rows.append([name, *(f"{files} ({functions})" for files, functions in counts)])
        rows[-1] += map(str, totals)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rows.insert(1, ["-" * width for width in widths])
    padded = ([cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in rows)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in padded)


def main() -> None:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        os.environ["SVC_DATABASE_URL"] = str(Path(folder, "service.db"))
        os.environ["SVC_CACHE"] = str(Path(folder, "results.db"))
        reach = Reach()
        found = {}
        with contextlib.redirect_stderr(io.StringIO()):  # what the operations tell the user
            for (name, prepare), zip5 in zip(operations(Path(folder)).items(), ZIPS, strict=True):
                prepare("TX", "78701")()
                found[name] = reach.of(prepare("CA", zip5))
        sys.setprofile(None)
    print("product files entered, and functions in brackets")
    print(table(found))
    if "--files" in sys.argv[1:]:
        for name, parts in found.items():
            files = sorted(file for files in parts.values() for file in files)
            print("", name, *(f"  {file}" for file in files), sep="\n")


if __name__ == "__main__":
    main()
