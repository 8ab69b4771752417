"""Enriched frames that stored what they remember under six keys are read as they were then.

`tests/data/stored/six_keys` has such frames as Parquet and pickle, the files that
`svc-tools enrich` wrote of an export, and in `figures.json` what was made of each. They are never
written again: where one of them is read in another way, the program is at fault.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import shutil
import tomllib
from dataclasses import asdict
from pathlib import Path

import openpyxl
import pandas as pd
import pytest
from support.examples import spread

import svc_tools.frames  # noqa: F401 - registers df.svc

STORED = Path(__file__).parents[1] / "data" / "stored" / "six_keys"
PLACES = {"zip": "To Zip", "state": "To State", "city": "Town", "as_of": "Sold on"}
SALES = {"amount": "Net", "date": "Sold on", "state": "To State", "channel": "Route"}
TAXED = {
    "collected": "Charged",
    "states": ["NY", "LA"],
    "lookup": PLACES,
    "exposure": SALES,
    "tax": {
        "amount": "Net",
        "shipping": "Freight",
        "exempt": "Tax free",
        "invoice": "Bill",
        "rounding": "half_even",
        "channel": "Route",
        "delivery": "only",
        "partial": "use",
        "ship_from": "TX",
        "nexus": STORED / "register.csv",
    },
}
SHOP = {"collected": "Taxes", "states": ["OH"], "tax": {"nexus": STORED / "register.csv"}}
CALLS = {
    "taxed": TAXED,
    "parts": TAXED,
    "two": {
        "prefix": "to_",
        "collected": "Charged",
        "lookup": PLACES,
        "exposure": SALES,
        "tax": {"amount": "Net", "shipping": "4.95"},
    },
    "short": {
        "prefix": "svc_",
        "collected": "Charged",
        "lookup": {**PLACES, "columns": "short"},
        "exposure": SALES,
        "tax": {"amount": "Net", "exempt": "Tax free", "invoice": "Bill", "rounding": "down"},
    },
    "read": {
        "collected": "Sales tax",
        "lookup": {"date_format": "day first"},
        "tax": {
            "amount": "Line amount",
            "shipping": "Order shipping",
            "once": ["Order shipping"],
            "order": "Order number",
            "decimal": "comma",
            "contains_tax": False,
        },
    },
    "looked": {"collected": "Taxes", "review": {"amount": "Subtotal"}, "tax": {}},
    "quarter": {
        "collected": "Charged",
        "states": ["TX"],
        "lookup": PLACES,
        "exposure": SALES,
        "tax": {"amount": "Net", "shipping": "Freight", "nexus": STORED / "register.csv"},
    },
    "file": SHOP,
}
"""The arguments of the methods, by sample."""
NEEDS_PANDAS_3 = pytest.mark.skipif(
    pd.__version__.startswith("2."), reason="pandas 2 reads no pickle of pandas 3"
)
FILES = sorted(
    one.name for one in STORED.iterdir() if one.name.split(".")[0] in CALLS and one.suffix != ".db"
)


def readable(names):
    """The files as parameters; pickles where this pandas can read them."""
    return [pytest.param(one, marks=[NEEDS_PANDAS_3] if ".pickle" in one else []) for one in names]


def read(name):
    """An enriched frame, as a user reads it."""
    path = STORED / name
    if ".pickle" in name:
        return pd.read_pickle(path)
    if path.suffix == ".parquet":
        return pd.read_parquet(path)
    if path.suffix == ".xlsx":
        return pd.read_excel(path, dtype=str)
    return pd.read_csv(path, dtype=str)


def figures_of(name, frame, client, folder):
    """What the methods make of an enriched frame, as JSON has it."""
    given = CALLS[name.split(".")[0]]
    prefix = given.get("prefix", "")
    svc, amount = frame.svc, given["tax"].get("amount", "Subtotal")
    quiet = {"prefix": prefix, "progress": False}

    def taxed_again():
        with contextlib.redirect_stderr(io.StringIO()) as shown:
            again = svc.tax(**given["tax"], prefix=prefix)
        names = [prefix + one for one in ("tax", "tax_due", "tax_due_reason", "at_stake")]
        return {
            "figures": {one: texts(again[one]) for one in names if one in again},
            "notes": facts_of(shown.getvalue()),
        }

    figures = {
        "review": lambda: reviewed(svc.review(prefix=prefix, **given.get("review", {}))),
        "split": lambda: [
            [part.name, part.rows, part.sales, part.tax] for part in svc.split(prefix=prefix).parts
        ],
        "reconcile": lambda: reconciled(svc.reconcile(given["collected"], prefix=prefix)),
        "cut": lambda: facts_of(
            frame.iloc[1:-1].svc.reconcile(given["collected"], prefix=prefix).notes
        ),
        "edited": lambda: facts_of(
            frame.assign(**{amount: "7.77"}).svc.reconcile(given["collected"], prefix=prefix).notes
        ),
        "filing": lambda: [
            filed(svc.filing(state, period="month", prefix=prefix)) for state in given["states"]
        ],
        "report": lambda: sheets_of(svc.report(folder / "report.xlsx", prefix=prefix)),
        "layout": lambda: saved(svc.layout(prefix=prefix), folder),
        "exposure": lambda: sold(svc.exposure(**given.get("exposure", {}), progress=False)),
        "tax": taxed_again,
        "lookup": lambda: [
            *svc.lookup(client=client, cache=False, **quiet, **given.get("lookup", {})).columns
        ],
        "plain": lambda: [
            label
            for label, dtype in svc.plain().dtypes.items()
            if isinstance(dtype, pd.CategoricalDtype)
        ],
        "freeze": lambda: frozen(frame, folder),
        "other": lambda: {
            "review": reviewed(svc.review(prefix="from_", amount="Net")),
            "report": sheets_of(svc.report(folder / "other.xlsx", prefix="from_")),
            "layout": saved(svc.layout(prefix="from_"), folder),
        },
    }
    if "states" not in given:
        del figures["filing"]
    if not name.startswith("quarter"):  # the rates of another book are others
        del figures["freeze"]
    if prefix != "to_":  # one lookup
        del figures["other"]
    made = {what: make() if what == "report" else tried(make) for what, make in figures.items()}
    return json.loads(json.dumps(made, default=str))


def tried(make):
    """What a function makes, or which error it raises, with the names and figures in it."""
    try:
        return make()
    except (TypeError, ValueError) as error:
        return [type(error).__name__, *facts_of(error)]


def facts_of(text):
    """The columns, codes and figures that a text names, without its wording."""
    return re.findall(r"'[^'\n]*'|\b[a-z]+(?:_[a-z]+)+\b|\d[\d,.:-]*\d|\d", str(text))


def texts(column):
    return [None if pd.isna(one) else str(one) for one in column]


def table(frame, *columns):
    return [texts(row) for row in frame[[*columns]].itertuples(index=False)]


def reviewed(review):
    added = [f"{review.prefix}review_{one}" for one in ("dollars", "basis", "reasons", "place")]
    return {
        "rows": [texts(row) for row in review.rows[added].itertuples()],
        "by state": table(review.by_state, "state", "reason", "rows", "dollars"),
        "groups": table(review.groups, "state", "reason", "place", "reasons", "rows", "dollars"),
        "totals": {one: getattr(review.totals, one) for one in ("rows", "dollars", "estimated")},
        "not due": [[one.reason, one.rows, one.sales] for one in review.not_due],
        "notes": facts_of(review.notes),
    }


def reconciled(found):
    return {
        "totals": asdict(found.totals),
        "by state": found.by_state.to_csv(index=False),
        "by reason": table(found.by_reason, *found.by_reason.columns.drop("meaning", "ignore")),
        "worst": found.worst.index.tolist(),
        "notes": facts_of(found.notes),
    }


def filed(filing):
    names = ["period", "code", "rate", "rows", "taxable", "exempt", "tax"]
    sums = ("rows", "taxable", "exempt", "tax", "review_tax", "left_out_sales")
    filing.check()
    return {
        "table": table(filing.table, *names),
        "left out": table(filing.left_out, "reason", "sales"),
        "totals": {one: getattr(filing.totals, one) for one in sums},
        "lines": filing.lines.index.tolist(),
        "ties": [[one.table, one.lines] for one in filing.ties],
        "notes": facts_of(filing.notes),
    }


def sheets_of(path):
    """The rows of a report's sheets that have figures, and the columns of its lines."""
    book = openpyxl.load_workbook(path, read_only=True)
    sheets = {sheet.title: [*sheet.iter_rows(values_only=True)] for sheet in book}
    book.close()
    sums = [*sheets["Summary"], *sheets["Sources"]]
    return {
        "sums": [found for row in sums if (found := figures_in(row))],
        "lines": [one for one in sheets["Lines"][0] if one is not None],
    }


def figures_in(row):
    """The figures of a row of a sheet, its codes, and the columns that it names."""
    texts = [one for one in row if isinstance(one, str) and not one.startswith("=")]
    found = [str(one) for one in row if isinstance(one, int | float)]
    found += [name for text in texts for name in re.findall(r"'[^'\n]*'", text)]
    return found and [one for one in texts if re.fullmatch(r"[a-z_]+|[A-Z]{2}", one)] + found


def saved(layout, folder):
    layout.save(folder / "layout.toml")
    return tomllib.loads((folder / "layout.toml").read_text(encoding="utf-8"))


def sold(exposure):
    sales = exposure[exposure["transactions"].gt(0)].sort_values("state")
    return table(sales, "state", *[one for one in sales if str(one).endswith("sales")])


def frozen(frame, folder):
    """The results in a lock file of stored results, and the rates by it."""
    cache, lock = shutil.copy(STORED / "quarter.db", folder), folder / "frozen.svclock"
    frame.svc.freeze(lock, cache=cache)
    grain = {"as_of_grain": "quarter", "detail": True, "city": False, "prefix": "again_"}
    places = {**CALLS["quarter"]["lookup"], **grain}
    again = frame.svc.lookup(locked=lock, **places, progress=False)
    return table(again, "again_combined_rate", "again_lookup_as_of", "again_lookup_status")


@pytest.fixture(scope="module")
def figures():
    """What was made of each sample; that of a single file where it is another."""
    return json.loads((STORED / "figures.json").read_text(encoding="utf-8"))


COLUMNS_SINCE = {"lookup_share"}
"""Columns of a lookup that the samples do not have."""


def differences(made, expected):
    """The figures that are others than expected; a report may have further rows.

    A new lookup has the columns of now.
    """
    made["lookup"] = [label for label in made["lookup"] if label not in COLUMNS_SINCE]
    report, former = made.pop("report"), expected.pop("report")
    lost = [row for row in former["sums"] if row not in report["sums"]]
    lost += [report["lines"]] if report["lines"] != former["lines"] else []
    changed = {what: made.get(what) for what in expected if made.get(what) != expected[what]}
    return changed | ({"report": lost} if lost else {})


@pytest.mark.parametrize("name", readable(spread(FILES, 4, kind=lambda one: Path(one).suffix)))
def test_a_stored_frame_has_its_figures(name, figures, embedded, tmp_path):
    expected = figures[name.split(".")[0]] | figures.get(name, {})
    assert differences(figures_of(name, read(name), embedded, tmp_path), expected) == {}


@pytest.mark.parametrize("name", spread([one for one in FILES if one.endswith(".parquet")], 2))
def test_two_parts_of_a_stored_frame_are_the_frame_again(name, figures, embedded, tmp_path):
    frame = read(name)
    joined = pd.concat([frame.iloc[:5], frame.iloc[5:]])
    expected = {**figures[name.split(".")[0]]}
    assert differences(figures_of(name, joined, embedded, tmp_path), expected) == {}
