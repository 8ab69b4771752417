"""What is due of a tax: registrations, channels, dates; the guide of its codes."""

from __future__ import annotations

import datetime as dt
import json

import pandas as pd
import pyarrow as pa
import pytest
from support.frames import dollars, found, rated, tax_of

from svc_tools.nexus import RegisterError, read_register

CA_AND_NY = [
    {"state": "California", "nexus_type": "physical", "registered_at": "2026-03-01"},
    {"state": "NY", "nexus_type": "Economic", "registered_at": None},
]


def days(*texts):
    values = [None if text is None else dt.date.fromisoformat(text) for text in texts]
    return pd.Series(values, dtype=pd.ArrowDtype(pa.date32()))


def test_tax_is_due_where_a_record_covers_the_sale():
    result = tax_of(
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
    result = tax_of(["10.00"] * 2, {"nexus": form(CA_AND_NY)}, resolved_state=["NY", "TX"])
    assert found(result, "tax_due") == dollars(["0.83", None])


def test_a_register_in_a_csv_file(tmp_path):
    path = tmp_path / "nexus.csv"
    pd.DataFrame(CA_AND_NY).to_csv(path, index=False)
    for nexus in (path, str(path)):
        result = tax_of(["10.00"] * 2, {"nexus": nexus}, resolved_state=["NY", "TX"])
        assert found(result, "tax_due") == dollars(["0.83", None])
    said = result.attrs["svc"]["terms"][""]["nexus"]
    assert said == {"file": "nexus.csv", "records": 2, "states": ["CA", "NY"]}
    assert json.loads(json.dumps(result.attrs["svc"]["terms"])) == result.attrs["svc"]["terms"]


def test_a_marketplace_pays_the_tax_of_its_own_sales():
    channels = ["Direct", "MARKETPLACE", "marketplace-facilitator", None, "fax", "web_store"]
    result = tax_of(["10.00"] * 6, {"channel": "channel"}, channel=channels)
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
    assert found(tax_of(["10.00"], {"channel": "direct"}), "tax_due") == dollars(["0.83"])
    assert found(tax_of(["10.00"], {"channel": "marketplace"}), "tax_due") == [None]
    with pytest.raises(ValueError, match="'direct' or 'marketplace'"):
        tax_of(["10.00"], {"channel": "chanel"})


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
    frame = rated(amount=["10.00"], resolved_state="CA", lookup_as_of=days(asked))
    frame.attrs["svc_lookup"] = {"grain": grain}
    result = frame.svc.tax(nexus=CA_AND_NY, progress=False)
    assert found(result, "tax_due_reason") == [reason]


@pytest.mark.parametrize("form", ["text", "datetime64", "object"])
def test_dates_as_files_bring_them_back(form):
    dates = {
        "text": ["2026-02-28", "2026-03-01", None],
        "datetime64": pd.to_datetime(["2026-02-28", "2026-03-01", None]),
        "object": [dt.date(2026, 2, 28), dt.date(2026, 3, 1), None],
    }[form]
    frame = rated(amount=["10.00"] * 3, resolved_state="CA", lookup_as_of=dates)
    result = frame.svc.tax(nexus=CA_AND_NY, progress=False)
    assert found(result, "tax_due_reason") == ["not_registered_yet", None, "date_unknown"]


@pytest.mark.parametrize("form", [str, dt.date.fromisoformat, pd.Timestamp])
def test_days_far_away_are_days_too(form):
    """No clock in nanoseconds reaches them."""
    far = [form("1500-01-01"), form("9999-12-31"), form("2026-03-01")]
    frame = rated(
        amount=["10.00"] * 3, resolved_state="CA", lookup_as_of=pd.Series(far, dtype=object)
    )
    result = frame.svc.tax(nexus=CA_AND_NY, progress=False)
    assert found(result, "tax_due_reason") == ["not_registered_yet", None, None]


def test_registers_that_cannot_be_used():
    with pytest.raises(RegisterError, match="row 1: state 'Nowhere'"):
        tax_of(["10.00"], {"nexus": [{"state": "Nowhere", "nexus_type": "physical"}]})
    with pytest.raises(ValueError, match="no records"):
        tax_of(["10.00"], {"nexus": []})
    with pytest.raises(FileNotFoundError, match="no-such-file"):
        tax_of(["10.00"], {"nexus": "no-such-file.csv"})
    with pytest.raises(ValueError, match="lookup_as_of"):
        rated(amount=[1]).drop(columns="lookup_as_of").svc.tax(nexus=CA_AND_NY)
    with pytest.raises(ValueError, match="resolved_state"):
        rated(amount=[1]).drop(columns="resolved_state").svc.tax(nexus=CA_AND_NY)


def test_channels_that_say_neither_are_told(capsys):
    rated(amount=["1.00"] * 2, channel=["fax", "direct"]).svc.tax(channel="channel")
    assert "neither direct nor marketplace: 'fax'" in capsys.readouterr().err


def test_a_period_in_which_a_record_of_another_kind_begins_is_marked():
    register = [
        {"state": "TX", "nexus_type": "marketplace"},
        {"state": "TX", "nexus_type": "physical", "registered_at": "2026-03-15"},
    ]
    frame = rated(
        amount=["10.00"] * 2, resolved_state="TX", lookup_as_of=days("2026-03-01", "2026-04-01")
    )
    frame.attrs["svc_lookup"] = {"grain": "month"}
    result = frame.svc.tax(nexus=register, progress=False)
    assert found(result, "tax_review") == ["marketplace_record_only", None]


def test_amounts_over_a_cap_on_local_tax_are_marked_and_not_changed():
    result = tax_of(
        ["5000.00", "5000.01", "-5000.01", "1600.00", "1600.01", "9000.00", "5000.01"],
        resolved_state=["FL", "FL", "FL", "TN", "TN", "NY", "FL"],
        combined_rate=["0.07000"] * 6 + ["0.06000"],
        state_rate="0.06000",
        county_rate=["0.01000"] * 6 + ["0.00000"],
        city_rate="0.00000",
        combined_district_rate="0.00000",
    )
    over = "over_cap"
    assert found(result, "tax_review") == [None, over, over, None, over, None, None]
    assert found(result, "tax")[1] == dollars(["350.00"])[0]


def test_sales_within_a_state_that_sources_by_origin_are_marked():
    result = tax_of(
        ["10.00"] * 6,
        {"ship_from": "warehouse"},
        resolved_state=["TX", "TX", "NY", "CA", "TX", "NY"],
        warehouse=["Texas", "NY", "NY", "ca", None, None],
    )
    assert found(result, "tax_review") == [
        "origin_sourced",
        None,
        None,
        "origin_sourced",
        "origin_unknown",
        None,
    ]
    assert found(result, "tax") == dollars(["0.83"] * 6)


def test_goods_from_abroad_are_not_of_the_state():
    result = tax_of(
        ["10.00"] * 2, {"ship_from": "from"}, resolved_state="TX", **{"from": ["Ontario", "Mars"]}
    )
    assert found(result, "tax_review") == [None, "origin_unknown"]
