"""Options of a lookup: zones, grain, columns, detail, cache, deadline; its notes."""

from __future__ import annotations

import copy
import json
import pickle
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from zoneinfo import ZoneInfo

import pandas as pd
import pytest
from support.faults import answer, echoing
from support.frames import queries_of

import svc_tools
from svc_tools.config import ConfigurationError
from svc_tools.demo.run import orders as demo_orders
from svc_tools.frames.added.enriched import Enriched
from svc_tools.frames.lookup.enrich import LookupFailedError
from svc_tools.frames.lookup.freeze import changed_rows
from svc_tools.frames.lookup.results import decode, lookups_of
from svc_tools.lookup.columns import DETAIL_COLUMNS, LOOKUP_COLUMNS, lookup_columns
from svc_tools.tables.roles import DatesAmbiguous
from svc_tools.tables.text_dtype import text_dtype

PLACE = {"state": "TX", "zip": "78701"}
LATE = "2024-03-01 02:30:00+00:00"
"""Still the day before in the whole of the United States."""


def looked(frame, client, **arguments):
    return frame.svc.lookup(client=client, progress=False, **{"cache": False, **arguments})


def asked_days(faults):
    return sorted(seen.target.partition("as_of=")[2] for seen in faults.seen)


@pytest.mark.parametrize(
    "dates",
    [
        pd.to_datetime([LATE]),
        pd.array([pd.Timestamp(LATE)], dtype="timestamp[us, tz=UTC][pyarrow]"),
        pd.Categorical(pd.to_datetime([LATE])),
        pd.Series([datetime.fromisoformat(LATE)], dtype=object),
        [LATE],
        ["2024-03-01T02:30:00Z"],
        [datetime.fromisoformat(LATE).astimezone(timezone(timedelta(hours=9))).isoformat()],
    ],
    ids=["datetime64", "arrow", "categorical", "object", "text", "Z", "text-of-another-zone"],
)
def test_moments_have_their_date_in_the_zone_that_is_named(scripted, faults, dates):
    frame = pd.DataFrame(PLACE | {"sold_at": dates})
    result = looked(frame, scripted, tz="America/Chicago")
    assert list(result["lookup_as_of"]) == [date(2024, 2, 29)]
    assert asked_days(faults) == ["2024-02-29"]
    assert result.attrs["svc"]["lookups"][""]["inputs"]["tz"] == "America/Chicago"


@pytest.mark.parametrize(
    "dates",
    [
        pd.to_datetime([LATE, "2024-03-05 12:00Z"], format="ISO8601"),
        pd.array([LATE, "2024-03-05T12:00Z"], dtype="timestamp[us, tz=UTC][pyarrow]"),
        [LATE, "2024-03-05 12:00:00 UTC"],
    ],
    ids=["datetime64", "arrow", "text"],
)
def test_times_in_utc_have_their_date_where_the_seller_is(scripted, faults, monkeypatch, dates):
    frame = pd.DataFrame([PLACE] * 2).assign(sold_at=dates)
    utc = looked(frame, scripted)
    assert [str(day) for day in utc["lookup_as_of"]] == ["2024-03-01", "2024-03-05"]
    assert any("US time zone: 1 of 2" in note for note in utc.attrs["svc"]["lookups"][""]["notes"])
    monkeypatch.setenv("SVC_TZ", "America/Chicago")
    own = looked(frame, scripted)
    assert [str(day) for day in own["lookup_as_of"]] == ["2024-02-29", "2024-03-05"]
    (note,) = [one for one in own.attrs["svc"]["lookups"][""]["notes"] if "UTC" in one]
    assert "date in America/Chicago counts" in note
    assert "another one there: 1 of 2" in note
    given = looked(frame, scripted, tz="UTC")
    assert list(given["lookup_as_of"]) == list(utc["lookup_as_of"])
    assert not any("UTC" in one for one in given.attrs["svc"]["lookups"][""]["notes"])
    monkeypatch.setenv("SVC_TZ", "Texas")
    with pytest.raises(ConfigurationError, match=r"SVC_TZ.*'Texas'"):
        looked(frame, scripted)


@pytest.mark.parametrize(
    "dates",
    [
        pd.to_datetime([LATE]).tz_convert("America/Chicago"),
        pd.Categorical(pd.to_datetime([LATE]).tz_convert("America/Chicago")),
        ["2024-02-29 20:30:00 -0600"],
        ["2024-02-29T20:30:00-06:00"],
        [datetime.fromisoformat(LATE).astimezone(timezone(timedelta(hours=-6)))],
    ],
    ids=["datetime64", "categorical", "shopify", "iso", "object"],
)
def test_a_time_with_an_offset_counts_as_the_day_that_is_written(scripted, monkeypatch, dates):
    frame = pd.DataFrame(PLACE | {"sold_at": dates})
    for home in ("", "Pacific/Honolulu", "Asia/Tokyo"):
        monkeypatch.setenv("SVC_TZ", home)
        assert list(looked(frame, scripted)["lookup_as_of"]) == [date(2024, 2, 29)]
    assert list(looked(frame, scripted, tz="UTC")["lookup_as_of"]) == [date(2024, 3, 1)]


def test_one_time_for_all_rows_is_read_as_a_column_is(scripted, faults):
    frame = pd.DataFrame([PLACE])
    for value in (datetime.fromisoformat(LATE), LATE):
        looked(frame, scripted, as_of=value)
        looked(frame, scripted, as_of=value, tz=ZoneInfo("America/New_York"))
    looked(frame, scripted, as_of="02/29/2024")
    looked(frame, scripted, as_of="03/02/2024", date_format="month first")
    assert asked_days(faults) == ["2024-02-29"] * 3 + ["2024-03-01"] * 2 + ["2024-03-02"]
    with pytest.raises(DatesAmbiguous, match="'03/02/2024'"):
        looked(frame, scripted, as_of="03/02/2024")


@pytest.mark.parametrize(
    ("grain", "days"),
    [
        ("day", ["2024-02-29", "2024-03-01", "2024-03-31", "2024-05-15"]),
        ("month", ["2024-02-01", "2024-03-01", "2024-05-01"]),
        ("quarter", ["2024-01-01", "2024-04-01"]),
    ],
)
def test_a_coarser_grain_asks_about_the_first_day_of_the_period(scripted, faults, grain, days):
    published = {"effective_date": "2024-01-01", "effective_date_basis": "publisher_effective_date"}
    faults.will(echoing(**published))
    own = ["2024-02-29", "2024-03-01", "2024-03-31", "2024-05-15"]
    result = looked(pd.DataFrame(PLACE | {"order_date": own}), scripted, as_of_grain=grain)
    assert asked_days(faults) == days
    assert sorted({str(day) for day in result["lookup_as_of"]}) == days
    same = [str(day) == mine for day, mine in zip(result["lookup_as_of"], own, strict=True)]
    expected = ["verified" if equal else "unverified" for equal in same]
    assert list(result["as_of_status"]) == expected
    assert result.attrs["svc"]["lookups"][""]["grain"] == grain
    assert not result["needs_review"].any()


def test_a_rate_that_became_law_within_the_month_is_flagged_by_the_rows_own_day(scripted, faults):
    faults.will(
        echoing(effective_date="2024-03-10", effective_date_basis="publisher_effective_date")
    )
    frame = pd.DataFrame(PLACE | {"order_date": ["2024-03-09", "2024-03-10"]})
    result = looked(frame, scripted)
    assert list(result["lookup_review_reason"].astype(text_dtype()).fillna("")) == [
        "effective_after_sale",
        "",
    ]
    assert list(result["needs_review"]) == [True, False]


def test_only_the_columns_that_were_asked_for_and_what_failed(scripted):
    frame = pd.DataFrame({"state": ["TX", "ZZ"], "zip": ["78701", "1"], "confidence": ["a", "b"]})
    result = looked(frame, scripted, columns=["combined_rate"])
    assert list(result.columns) == [*frame.columns, "combined_rate", *_ALWAYS]
    assert list(result["confidence"]) == ["a", "b"]
    again = looked(result, scripted, columns=["resolved_city"])
    assert list(again.columns) == [*frame.columns, *_ALWAYS, "resolved_city"]


@pytest.mark.parametrize("options", [{}, {"detail": True}, {"as_of_grain": "month"}])
def test_what_the_cache_answers_is_the_very_same_frame(served, tmp_path, options):
    orders = demo_orders().iloc[::15]
    path = tmp_path / "answers.db"
    cold = looked(orders, served, cache=path, **options)
    warm = looked(orders, served, cache=path, **options)
    assert warm.attrs["svc"]["lookups"][""]["requests"] == 0
    pd.testing.assert_frame_equal(warm, cold)
    shuffled = looked(orders.sample(frac=1, random_state=4), served, cache=path, **options)
    pd.testing.assert_frame_equal(shuffled.sort_index(), cold)
    without = looked(orders, served, **options)
    pd.testing.assert_frame_equal(without.drop(columns=_OF_A_RUN), cold.drop(columns=_OF_A_RUN))


_OF_A_RUN = ["looked_up_at", "support_reference"]


@pytest.mark.parametrize("options", [{}, {"detail": True}, {"as_of_grain": "month"}])
def test_what_the_embedded_service_computes_is_the_same_frame_and_never_cached(
    embedded, served, tmp_path, options
):
    orders = demo_orders().iloc[::15]
    path = tmp_path / "answers.db"
    cold = looked(orders, embedded, cache=path, **options)
    warm = looked(orders, embedded, cache=path, **options)
    note = warm.attrs["svc"]["lookups"][""]
    assert (note["requests"], note["cached"], note["grain"]) == (0, 0, "day")
    assert list(tmp_path.iterdir()) == []
    pd.testing.assert_frame_equal(
        warm.drop(columns="looked_up_at"), cold.drop(columns="looked_up_at")
    )
    assert len({*cold["looked_up_at"].dropna()}) == 1  # the moment of the run
    shuffled = looked(orders.sample(frac=1, random_state=4), embedded, **options)
    pd.testing.assert_frame_equal(
        shuffled.sort_index().drop(columns="looked_up_at"), cold.drop(columns="looked_up_at")
    )
    requested = looked(orders, served, **{**options, "as_of_grain": "day"})
    differ = [*_OF_A_RUN, "lookup_source", "lookup_edition"]  # which one it is, no response says
    pd.testing.assert_frame_equal(requested.drop(columns=differ), cold.drop(columns=differ))
    found = requested["lookup_edition"].dropna()
    assert found.astype(str).equals(cold.loc[found.index, "lookup_edition"].astype(str))
    assert cold["support_reference"].isna().all()


@pytest.mark.parametrize("prefix", ["", "svc_"])
def test_a_column_that_was_not_selected_is_named_where_it_is_needed(scripted, prefix):
    frame = pd.DataFrame([PLACE | {"amount": 1}])
    few = looked(frame, scripted, columns=["confidence"], prefix=prefix)
    said = rf"no column '{prefix}combined_rate'.*some columns only.*'combined_rate'"
    with pytest.raises(ValueError, match=said):
        few.svc.tax("amount", prefix=prefix)
    with pytest.raises(ValueError, match=r"look the rates up first"):
        frame.svc.tax("amount", prefix=prefix)


def test_a_prefix_that_makes_names_of_ours_is_refused_before_anything_is_asked(scripted, faults):
    for prefix in ("state_", "combined_district_", "shipping_"):
        with pytest.raises(ValueError, match=rf"'{prefix}tax'.*another"):
            looked(pd.DataFrame([PLACE]), scripted, prefix=prefix)
    assert faults.seen == []


def test_the_exception_of_a_failed_lookup_keeps_its_frame_between_processes(scripted):
    with pytest.raises(LookupFailedError) as caught:
        looked(pd.DataFrame({"state": ["ZZ"], "zip": ["1"]}), scripted, errors="raise")
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)
    pd.testing.assert_frame_equal(again.frame, caught.value.frame)


_ALWAYS = ("lookup_status", "lookup_error")


def test_a_selection_is_replaced_by_all_columns_and_a_column_of_yours_is_not(scripted):
    frame = pd.DataFrame([PLACE])
    few = looked(frame, scripted, columns=["combined_rate", "confidence"])
    assert list(looked(few, scripted).columns) == [*frame.columns, *LOOKUP_COLUMNS]
    mine = few.assign(confidence=[0.5])
    with pytest.raises(ValueError, match=r"'confidence'.*prefix='svc_'"):
        looked(mine, scripted)


@pytest.mark.parametrize(
    ("columns", "error", "said"),
    [
        (["combined_rat"], ValueError, "did you mean 'combined_rate'"),
        (["lookup_jurisdictions"], ValueError, "is a detail"),
        ("combined_rate", TypeError, "list"),
        (7, TypeError, "list"),
    ],
)
def test_columns_that_there_are_not_are_refused_before_anything_is_asked(
    scripted, faults, columns, error, said
):
    with pytest.raises(error, match=said):
        looked(pd.DataFrame([PLACE]), scripted, columns=columns)
    assert faults.seen == []


def test_the_range_of_the_candidates_stands_beside_the_rate(scripted, faults):
    doubt = {
        "code": "zip_spans_jurisdictions",
        "lowest_combined_rate": "0.06250",
        "highest_combined_rate": "0.09000",
    }
    faults.will(echoing(warnings=[doubt]))
    result = looked(pd.DataFrame([PLACE]), scripted)
    row = result.iloc[0]
    assert (str(row["rate_low"]), str(row["rate_high"])) == ("0.06250", "0.09000")
    assert row["needs_review"]
    assert row["lookup_review_reason"] == "several_rates"
    text = looked(pd.DataFrame([PLACE]), scripted, rates="string").iloc[0]
    assert (text["rate_low"], text["rate_high"]) == ("0.06250", "0.09000")


def test_detail_asks_the_full_answer_and_keeps_the_official_codes(embedded):
    frame = pd.DataFrame({"state": ["WA", "WA"], "zip": ["98101", "nowhere"]})
    result = looked(frame, embedded, detail=True, as_of="2026-05-01")
    assert list(result.columns) == [*frame.columns, *lookup_columns(detail=True)]
    assert set(lookup_columns(detail=True)) == {*LOOKUP_COLUMNS, *DETAIL_COLUMNS}
    parts = decode(result["lookup_jurisdictions"].iloc[0])
    assert [(part.level, part.code) for part in parts] == [("state", "53"), ("city", "1726")]
    assert sum(part.units for part in parts) == 10_550
    assert pd.isna(result["lookup_jurisdictions"].iloc[1])


def test_what_support_asks_for_stands_in_the_row_that_failed(scripted, faults):
    error = b'{"error": {"code": "X", "message": "odd", "support_reference": "ref-7"}}'
    faults.will(answer(400, error))
    row = looked(pd.DataFrame([PLACE]), scripted).iloc[0]
    assert (row["lookup_status"], row["support_reference"]) == ("failed", "ref-7")
    assert "ref-7" not in row["lookup_error"]
    assert (row["needs_review"], row["lookup_review_reason"]) == (True, "failed")


def test_when_the_service_answered_is_in_utc_and_missing_where_it_was_not_asked(scripted):
    before = pd.Timestamp.now("UTC").floor("us")
    frame = pd.DataFrame({"state": ["TX", "ZZ"], "zip": ["78701", "1"]})
    moments = looked(frame, scripted)["looked_up_at"]
    assert str(moments.dtype) == "timestamp[us, tz=UTC][pyarrow]"
    assert before <= moments.iloc[0] <= pd.Timestamp.now("UTC")
    assert pd.isna(moments.iloc[1])


@pytest.mark.parametrize("cached", [False, True])
def test_a_deadline_ends_the_run_and_says_how_far_it_came(scripted, faults, tmp_path, cached):
    def late(seen):
        faults.over.wait(0.2)
        return echoing()(seen)

    faults.will(late)
    frame = pd.DataFrame({"state": "TX", "zip": [f"78{n:03d}" for n in range(200)]})
    cache = tmp_path / "rates.db" if cached else False
    with pytest.warns(UserWarning, match="ended early") as caught:
        result = looked(frame, scripted, deadline=0.3, concurrency=2, cache=cache)
    found = int((result["lookup_status"] != "not_attempted").sum())
    assert 0 < found < len(result) == 200
    text = str(caught[0].message)
    assert f"{found} of 200 places have a result" in text
    assert (str(tmp_path / "rates.db") in text) == cached
    assert ("nothing is cached" in text) == (not cached)


@pytest.mark.parametrize("cached", [False, True])
def test_where_nothing_is_cached_no_cache_is_recommended(embedded, tmp_path, cached):
    frame = pd.DataFrame({"state": "TX", "zip": [f"78{n:03d}" for n in range(200)]})
    cache = tmp_path / "rates.db" if cached else False
    with pytest.warns(UserWarning, match="ended early") as caught:
        looked(frame, embedded, deadline=1e-9, cache=cache)
    text = str(caught[0].message)
    assert "begins again" in text
    assert "with a cache" not in text
    assert "rates.db" not in text


def test_a_place_that_failed_does_not_count_as_found(scripted, faults):
    faults.will(answer(401, b"{}"))
    frame = pd.DataFrame({"state": "TX", "zip": ["78701", "78702"]})
    with pytest.warns(UserWarning, match="0 of 2 places have a result"):
        result = looked(frame, scripted, concurrency=1, cache=False)
    assert result["lookup_status"].tolist() == ["failed", "not_attempted"]


def test_the_frame_says_what_its_lookup_used_in_plain_values(scripted):
    frame = pd.DataFrame({"state": ["TX"], 5: ["78701"]})
    noted = looked(frame, scripted, zip=5, as_of=date(2024, 5, 1)).attrs["svc"]["lookups"][""]
    assert json.loads(json.dumps(noted)) == noted
    assert noted["inputs"] == {
        "columns": {"zip": 5, "state": "state"},
        "scalars": {"as_of": "2024-05-01"},
        "tz": None,
    }
    assert (noted["rows"], noted["asked"], noted["stopped"]) == (1, 1, None)


def test_nothing_of_the_users_frame_changes_not_even_its_attributes(scripted):
    frame = pd.DataFrame([PLACE])
    frame.attrs["mine"] = {"a": [1]}
    before = frame.copy(deep=True)
    attributes = copy.deepcopy(frame.attrs)
    result = looked(frame, scripted)
    pd.testing.assert_frame_equal(frame, before)
    assert frame.attrs == attributes
    assert result.attrs["mine"] == {"a": [1]}


def test_the_typed_twin_is_the_accessor(scripted):
    frame = pd.DataFrame([PLACE])
    twin = svc_tools.svc(frame).lookup(client=scripted, columns=["combined_rate"], progress=False)
    pd.testing.assert_frame_equal(twin, looked(frame, scripted, columns=["combined_rate"]))
    with pytest.raises(TypeError, match=r"pandas\.DataFrame"):
        svc_tools.svc([1])


@pytest.mark.parametrize("method", ["lookup", "plan"])
def test_a_misspelled_argument_names_the_method_and_the_close_one(method):
    frame = pd.DataFrame([PLACE])
    with pytest.raises(TypeError, match=rf"^{method}\(\) has no argument 'zipp'.*'zip'"):
        getattr(frame.svc, method)(zipp="zip")


def test_a_misspelled_argument_of_tax_names_the_close_one():
    with pytest.raises(TypeError, match=r"^tax\(\) has no argument 'shiping'.*'shipping'"):
        pd.DataFrame([PLACE]).svc.tax("amount", shiping="shipping")


SAMPLES = Path(__file__).parents[1] / "data" / "exports"


def test_the_convention_of_an_export_decides_where_its_dates_could_be_either(scripted):
    sold = pd.read_csv(SAMPLES / "etsy.csv", dtype=str).head(3)
    either = sold.assign(**{"Sale Date": ["03/02/26", "04/02/26", "05/02/26"]})
    found = looked(either, scripted)
    assert [day.month for day in found["lookup_as_of"]] == [3, 4, 5]
    again = looked(either, scripted, date_format="day first")
    assert {day.month for day in again["lookup_as_of"]} == {2}
    with pytest.raises(DatesAmbiguous):
        looked(pd.DataFrame([PLACE] * 3).assign(sale_date=either["Sale Date"]), scripted)


def test_times_of_an_export_in_utc_have_their_date_where_the_seller_is(scripted, monkeypatch):
    paid = pd.read_csv(SAMPLES / "stripe.csv", dtype=str).head(2)
    label = looked(paid, scripted).attrs["svc"]["lookups"][""]["inputs"]["columns"]["as_of"]
    paid[label] = ["2026-05-01 03:00:00", "2026-05-01 13:00:00"]
    assert [str(day) for day in looked(paid, scripted)["lookup_as_of"]] == ["2026-05-01"] * 2
    monkeypatch.setenv("SVC_TZ", "America/Chicago")
    for column in (paid[label], pd.to_datetime(paid[label])):
        found = looked(paid.assign(**{label: column}), scripted)
        assert [str(day) for day in found["lookup_as_of"]] == ["2026-04-30", "2026-05-01"]
        assert any("1 of 2" in note for note in found.attrs["svc"]["lookups"][""]["notes"])


def test_rows_chosen_after_a_lookup_have_the_dates_that_all_rows_decided(scripted, tmp_path):
    days = ["03/02/2026", "04/02/2026", "12/31/2025"]
    found = looked(pd.DataFrame([PLACE] * 3).assign(order_date=days, amount=1), scripted)
    some = found.iloc[:2]
    assert changed_rows(Enriched(some)) == 0
    assert changed_rows(Enriched(some.assign(order_date=["02/03/2026", "04/02/2026"]))) == 1
    assert list(some.svc.tax("amount", progress=False)["tax"].notna()) == [True, True]
    found.to_parquet(tmp_path / "found.parquet")
    (stored,) = lookups_of(pd.read_parquet(tmp_path / "found.parquet"))
    assert [str(day) for _, day in queries_of(some, stored.inputs)] == [
        "2026-03-02",
        "2026-04-02",
    ]
