"""What is due of a tax: registrations, channels, dates; the guide of its codes."""

from __future__ import annotations

import datetime as dt
import json
import re
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from support.looked_up import dollars, found, looked_up, taxed

from svc_tools.frames.lookup_columns import TAX_COLUMNS, TAX_OPTION_COLUMNS
from svc_tools.frames.taxes.rounding import ROUNDINGS
from svc_tools.frames.taxes.tax import CAPS, ORIGIN_SOURCED
from svc_tools.nexus import RegisterError, read_register
from svc_tools.places import STATES

CA_AND_NY = [
    {"state": "California", "nexus_type": "physical", "registered_at": "2026-03-01"},
    {"state": "NY", "nexus_type": "Economic", "registered_at": None},
]


def days(*texts):
    values = [None if text is None else dt.date.fromisoformat(text) for text in texts]
    return pd.Series(values, dtype=pd.ArrowDtype(pa.date32()))


def test_tax_is_due_where_a_record_covers_the_sale():
    result = taxed(
        ["10.00"] * 4,
        {"nexus": CA_AND_NY},
        resolved_state=["CA", "CA", "NY", "TX"],
        lookup_as_of=days("2026-02-28", "2026-03-01", "2020-01-01", "2026-05-01"),
    )
    assert found(result, "tax_due") == dollars([None, "0.83", "0.83", None])
    assert found(result, "tax_due_reason") == ["not_registered_yet", None, None, "no_nexus"]
    assert found(result, "tax") == dollars(["0.83"] * 4)  # the tax at the destination stays


@pytest.mark.parametrize(
    "form", [list, tuple, iter, pd.DataFrame, read_register], ids=lambda form: form.__name__
)
def test_a_register_of_every_form(form):
    result = taxed(["10.00"] * 2, {"nexus": form(CA_AND_NY)}, resolved_state=["NY", "TX"])
    assert found(result, "tax_due") == dollars(["0.83", None])


def test_a_register_in_a_csv_file(tmp_path):
    path = tmp_path / "nexus.csv"
    pd.DataFrame(CA_AND_NY).to_csv(path, index=False)
    for nexus in (path, str(path)):
        result = taxed(["10.00"] * 2, {"nexus": nexus}, resolved_state=["NY", "TX"])
        assert found(result, "tax_due") == dollars(["0.83", None])
    said = result.attrs["svc_tax_terms"][""]["nexus"]
    assert said == {"file": "nexus.csv", "records": 2, "states": ["CA", "NY"]}
    assert json.loads(json.dumps(result.attrs["svc_tax_terms"])) == result.attrs["svc_tax_terms"]


def test_registers_read_by_pandas_with_times_and_gaps():
    register = pd.DataFrame(
        {
            "State Code": ["CA", "NY"],
            "Nexus Type": ["physical", "economic"],
            "Registered At": pd.to_datetime(["2026-03-01", None]),
        }
    )
    result = taxed(
        ["10.00"] * 2,
        {"nexus": register},
        resolved_state=["CA", "NY"],
        lookup_as_of=days("2026-02-28", "2026-02-28"),
    )
    assert found(result, "tax_due_reason") == ["not_registered_yet", None]


def test_the_first_record_of_a_state_counts():
    register = [
        {"state": "CA", "nexus_type": "economic", "registered_at": "2026-06-01"},
        {"state": "CA", "nexus_type": "physical", "registered_at": "2026-03-01"},
    ]
    columns = {"resolved_state": "CA", "lookup_as_of": days("2026-04-01")}
    assert found(taxed(["10.00"], {"nexus": register}, **columns), "tax_due") == dollars(["0.83"])


def test_a_marketplace_pays_the_tax_of_its_own_sales():
    channels = ["Direct", "MARKETPLACE", "marketplace-facilitator", None, "fax", "web_store"]
    result = taxed(["10.00"] * 6, {"channel": "channel"}, channel=channels)
    assert found(result, "tax_due") == dollars(["0.83", None, None, None, None, "0.83"])
    assert found(result, "tax_due_reason") == [
        None,
        "marketplace_facilitated",
        "marketplace_facilitated",
        "channel_unknown",
        "channel_unknown",
        None,
    ]
    assert found(result, "tax_review") == [None, None, None, *["channel_unknown"] * 2, None]


def test_one_channel_for_all_rows():
    assert found(taxed(["10.00"], {"channel": "direct"}), "tax_due") == dollars(["0.83"])
    assert found(taxed(["10.00"], {"channel": "marketplace"}), "tax_due") == [None]
    with pytest.raises(ValueError, match="'direct' or 'marketplace'"):
        taxed(["10.00"], {"channel": "chanel"})


def test_which_reason_comes_first():
    result = taxed(
        ["10.00", "10.00", "ten", "10.00", "10.00"],
        {"nexus": CA_AND_NY, "channel": "channel"},
        channel=["marketplace", "unclear", "direct", "unclear", "direct"],
        resolved_state=["TX", "TX", "NY", "NY", None],
    )
    assert found(result, "tax_due_reason") == [
        "marketplace_facilitated",
        "no_nexus",
        "no_tax",
        "channel_unknown",
        "state_unknown",
    ]
    assert result["tax_due"].isna().all()


def test_direct_sales_into_a_state_with_a_marketplace_record_only_are_marked():
    register = [
        {"state": "TX", "nexus_type": "marketplace"},
        {"state": "NY", "nexus_type": "marketplace"},
        {"state": "NY", "nexus_type": "physical"},
    ]
    result = taxed(
        ["10.00"] * 3,
        {"nexus": register, "channel": "channel"},
        channel=["direct", "marketplace", "direct"],
        resolved_state=["TX", "TX", "NY"],
    )
    assert found(result, "tax_review") == ["marketplace_record_only", None, None]
    assert found(result, "tax_due") == dollars(["0.83", None, "0.83"])


@pytest.mark.parametrize(
    ("grain", "asked", "reason"),
    [
        ("month", "2026-02-01", "not_registered_yet"),
        ("month", "2026-03-01", None),
        ("quarter", "2026-01-01", "registered_in_period"),
        ("quarter", "2026-03-01", "registered_in_period"),
        ("quarter", "2026-04-01", None),
        ("day", "2026-03-01", None),
    ],
)
def test_what_stands_for_a_whole_period_is_not_dated_more_finely(grain, asked, reason):
    frame = looked_up(amount=["10.00"], resolved_state="CA", lookup_as_of=days(asked))
    frame.attrs["svc_lookup"] = {"grain": grain}
    result = frame.svc.tax(nexus=CA_AND_NY, progress=False)
    assert found(result, "tax_due_reason") == [reason]


def test_a_record_within_the_month_asked_about():
    register = [{"state": "CA", "nexus_type": "physical", "registered_at": "2026-03-15"}]
    frame = looked_up(amount=["10.00"], resolved_state="CA", lookup_as_of=days("2026-03-01"))
    frame.attrs["svc_lookup"] = {"grain": "month"}
    result = frame.svc.tax(nexus=register, progress=False)
    assert found(result, "tax_due_reason") == ["registered_in_period"]


@pytest.mark.parametrize("form", ["text", "datetime64", "object"])
def test_dates_as_files_bring_them_back(form):
    dates = {
        "text": ["2026-02-28", "2026-03-01", None],
        "datetime64": pd.to_datetime(["2026-02-28", "2026-03-01", None]),
        "object": [dt.date(2026, 2, 28), dt.date(2026, 3, 1), None],
    }[form]
    frame = looked_up(amount=["10.00"] * 3, resolved_state="CA", lookup_as_of=dates)
    result = frame.svc.tax(nexus=CA_AND_NY, progress=False)
    assert found(result, "tax_due_reason") == ["not_registered_yet", None, "date_unknown"]


def test_without_register_and_channel_nothing_is_said_of_what_is_due():
    assert {"tax_due", "tax_due_reason"}.isdisjoint(taxed(["10.00"]).columns)


def test_registers_that_cannot_be_used():
    with pytest.raises(RegisterError, match="row 1: state 'Nowhere'"):
        taxed(["10.00"], {"nexus": [{"state": "Nowhere", "nexus_type": "physical"}]})
    with pytest.raises(ValueError, match="no records"):
        taxed(["10.00"], {"nexus": []})
    with pytest.raises(FileNotFoundError, match="no-such-file"):
        taxed(["10.00"], {"nexus": "no-such-file.csv"})
    with pytest.raises(ValueError, match="lookup_as_of"):
        looked_up(amount=[1]).drop(columns="lookup_as_of").svc.tax(nexus=CA_AND_NY)
    with pytest.raises(ValueError, match="resolved_state"):
        looked_up(amount=[1]).drop(columns="resolved_state").svc.tax(nexus=CA_AND_NY)


def test_channels_that_say_neither_are_told(capsys):
    looked_up(amount=["1.00"] * 2, channel=["fax", "direct"]).svc.tax(channel="channel")
    assert "neither direct nor marketplace: 'fax'" in capsys.readouterr().err


def test_a_record_of_another_kind_counts_from_its_own_day():
    register = [
        {"state": "TX", "nexus_type": "marketplace", "registered_at": "2024-01-01"},
        {"state": "TX", "nexus_type": "physical", "registered_at": "2026-01-01"},
    ]
    result = taxed(
        ["10.00"] * 4,
        {"nexus": register},
        resolved_state=["TX"] * 4,
        lookup_as_of=days("2023-12-31", "2024-01-01", "2025-12-31", "2026-01-01"),
    )
    assert found(result, "tax_due") == dollars([None, "0.83", "0.83", "0.83"])
    only = "marketplace_record_only"
    assert found(result, "tax_review") == [None, only, only, None]


def test_a_period_in_which_a_record_of_another_kind_begins_is_marked():
    register = [
        {"state": "TX", "nexus_type": "marketplace"},
        {"state": "TX", "nexus_type": "physical", "registered_at": "2026-03-15"},
    ]
    frame = looked_up(
        amount=["10.00"] * 2,
        resolved_state="TX",
        lookup_as_of=days("2026-03-01", "2026-04-01"),
    )
    frame.attrs["svc_lookup"] = {"grain": "month"}
    result = frame.svc.tax(nexus=register, progress=False)
    assert found(result, "tax_review") == ["marketplace_record_only", None]


GUIDE = (Path(__file__).parents[2] / "docs" / "TAX.md").read_text(encoding="utf-8")


def table(first):
    """The rows of the table whose first heading is `first`; there may be several such tables."""
    found_tables = []
    for block in re.findall(r"(?:^\|.*\n)+", GUIDE, re.MULTILINE):
        rows = [
            [cell.strip() for cell in line.strip("|\n").split("|")] for line in block.splitlines()
        ]
        if rows[0][0] == first:
            found_tables.append((rows[0], rows[2:]))
    return found_tables


def test_every_column_is_described_in_order():
    ((_, rows),) = table("column")
    assert [row[0].strip("`") for row in rows] == [*TAX_COLUMNS, *TAX_OPTION_COLUMNS]


def test_the_rules_of_states_are_those_of_the_code():
    (_, origin), (_, caps) = table("state")
    assert origin == [[STATES[code], *rule] for code, rule in ORIGIN_SOURCED.items()]
    assert caps == [
        [STATES[code], f"${rule.cents // 100:,}", *rule[1:]] for code, rule in CAPS.items()
    ]


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_the_rounding_of_the_examples(rounding):
    ((header, rows),) = table("`rounding=`")
    (cells,) = (row for row in rows if row[0] == f"`{rounding}`")
    amounts = [Decimal(exact) * 1000 for exact in header[2:]]
    rate = ["0.00100"] * len(amounts)
    result = taxed(amounts, {"rounding": rounding}, combined_rate=rate)
    assert found(result, "tax") == dollars(cells[2:])
    assert len(rows) == len(ROUNDINGS)


def test_the_example_of_an_invoice():
    said = re.search(r"0\.2601 together: 0\.26, as (.*)\.$", GUIDE, re.MULTILINE)
    amounts = ["1.00", "1.00", "1.00", "0.06"]
    result = taxed(amounts, {"invoice": "order"}, combined_rate="0.08500", order=1)
    assert found(result, "tax") == dollars(re.findall(r"[0-9.]*[0-9]", said[1]))
