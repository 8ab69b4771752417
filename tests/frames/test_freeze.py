"""`freeze` and `locked`: the same figures again, without a service."""

from __future__ import annotations

import copy
import pickle
from datetime import date, datetime

import pandas as pd
import pytest
from support.faults import KEY

from svc_tools.frames.added.enriched import Enriched
from svc_tools.frames.lookup import enrich
from svc_tools.frames.lookup.freeze import changed_rows
from svc_tools.lookup.cache import clear_cache
from svc_tools.lookup.columns import LOOKUP_COLUMNS
from svc_tools.lookup.lock_file import read_lock


@pytest.fixture
def orders():
    return pd.DataFrame(
        {
            "order": range(8),
            "state": ["TX", "WA", "NY", "TX", "CA", "XX", "OR", "NY"],
            "zip": ["78701", "98101", "10001", "78701", "00000", "78701", "97201", "10001"],
            "city": ["Austin", "Seattle", None, "Houston", None, None, None, None],
            "date": pd.to_datetime(["2026-04-03"] * 6 + ["2026-05-01", None]),
            "amount": [19.99, 100.0, 5.55, 7.0, 3.0, 2.0, 1.0, 4.0],
        },
        index=list("abcdefgh"),
    )


@pytest.fixture
def looked_up(orders, embedded):
    return orders.svc.lookup(client=embedded, progress=False)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "2026-05.svclock"


@pytest.fixture
def alone(monkeypatch, looked_up):
    """From here on, whoever asks a service fails the test."""

    def fail(*_args, **_named):
        pytest.fail("a service was asked")

    for name in ("connect", "unconfigured", "source_for", "opened_cache"):
        monkeypatch.setattr(enrich, name, fail)


def without_source(frame):
    return frame.drop(columns="lookup_source")


@pytest.mark.parametrize("options", [{}, {"detail": True}, {"as_of_grain": "quarter"}])
def test_a_locked_run_gives_the_same_frame_without_a_service(
    orders, embedded, path, monkeypatch, options
):
    first = orders.svc.lookup(client=embedded, progress=False, **options)
    frozen = first.svc.freeze(path)
    assert frozen.answers == 5
    assert str(frozen) == "5 results are frozen in 2026-05.svclock"
    for name in ("connect", "unconfigured", "source_for", "opened_cache"):
        monkeypatch.setattr(enrich, name, None)
    again = orders.svc.lookup(locked=path, progress=False, **options)
    pd.testing.assert_frame_equal(without_source(again), without_source(first))
    sources = again["lookup_source"].dropna().unique()
    day = read_lock(path).frozen_at.date()
    assert all(f"as frozen on {day} (2026-05.svclock)" in source for source in sources)
    assert f"results as frozen on {day}" in " ".join(again.attrs["svc"]["lookups"][""]["notes"])
    with pytest.raises(ValueError, match="locked"):
        orders.svc.lookup(locked=path, client=embedded)
    taxed, before = (one.svc.tax("amount", progress=False) for one in (again, first))
    pd.testing.assert_frame_equal(without_source(taxed), without_source(before))


@pytest.mark.usefixtures("alone")
def test_rows_of_places_or_dates_that_are_not_in_it_are_not_attempted(looked_up, orders, path):
    looked_up.loc[["a", "b"]].svc.freeze(path)
    again = orders.svc.lookup(locked=path, progress=False)
    absent = again["lookup_status"] == "not_attempted"
    assert absent.tolist() == [False, False, True, False, True, False, True, False]
    assert again["combined_rate"].isna()[absent].all()
    assert again["combined_rate"].notna()[["a", "b", "d"]].all()  # "d" asks what "a" asked
    assert "2026-05.svclock, frozen on" in again["lookup_error"]["c"]
    later = orders.assign(date=pd.Timestamp("2026-04-02")).svc.lookup(locked=path, progress=False)
    assert set(later["lookup_status"]) == {"not_attempted", "invalid"}


def test_only_the_answers_of_the_rows_that_are_left_are_frozen(looked_up, path):
    frozen = looked_up[looked_up["state"] == "WA"].svc.freeze(path)
    assert frozen.answers == 1
    assert str(frozen) == "1 result is frozen in 2026-05.svclock"
    (place,) = read_lock(path).results
    assert place.zip == "98101"


def test_rows_without_a_date_keep_the_day_on_which_they_were_asked(orders, embedded, path):
    today = orders.drop(columns="date").svc.lookup(client=embedded, progress=False)
    today.svc.freeze(path)
    again = orders.drop(columns="date").svc.lookup(locked=path, progress=False)
    assert again["lookup_as_of"].equals(today["lookup_as_of"])
    assert str(read_lock(path).today) == str(today["lookup_as_of"].iloc[0])


@pytest.mark.parametrize(
    "change",
    [
        lambda frame: frame.copy(),
        copy.deepcopy,
        lambda frame: frame.sort_values("amount").reset_index(drop=True),
        lambda frame: pd.concat([frame[4:], frame[:4]]),
        lambda frame: frame.merge(frame[["order"]], on="order"),
        lambda frame: frame.assign(note="x").rename(columns={"order": "id"}),
        lambda frame: frame.svc.tax("amount", progress=False),
    ],
)
def test_a_frame_remembers_through_what_people_do_with_it(looked_up, path, change):
    assert change(looked_up).svc.freeze(path).answers == 5


def test_a_column_that_is_gone_freezes_the_answers_of_all_rows(looked_up, path):
    frozen = looked_up[["zip", "lookup_status"]].head(1).svc.freeze(path)
    assert frozen.answers == 5
    assert "no column 'state' any more" in str(frozen)


def test_a_date_that_is_changed_to_one_of_two_meanings_was_not_looked_up(embedded, path):
    sold = pd.DataFrame({"state": "TX", "zip": "78701", "sold": ["2026-05-01", "2026-05-02"]})
    found = sold.svc.lookup(client=embedded, progress=False)
    changed = found.assign(sold=["2026-05-01", "03/04/2026"])
    with pytest.raises(ValueError, match="whose rate is not that of their place and date: 1"):
        changed.svc.freeze(path)


def test_places_that_were_changed_since_are_refused(looked_up, path):
    changed = looked_up.assign(zip="75201")
    with pytest.raises(ValueError, match=r"not the one that was looked up: [1-9]"):
        changed.svc.freeze(path)
    assert not path.exists()


@pytest.mark.parametrize("rates", ["decimal", "string", "float"])
def test_places_that_were_swapped_since_are_refused(orders, embedded, path, rates):
    swapped = orders.svc.lookup(client=embedded, progress=False, rates=rates)
    places = ["state", "zip"]
    swapped.loc[["a", "c"], places] = swapped.loc[["c", "a"], places].to_numpy()
    with pytest.raises(ValueError, match="rate is not that of their place and date: 2;"):
        swapped.svc.freeze(path)
    assert changed_rows(Enriched(swapped)) == 2
    assert not path.exists()


def test_frames_that_were_put_together_are_refused_with_what_to_do(orders, embedded, path):
    halves = [
        half.svc.lookup(client=embedded, progress=False) for half in (orders[:2], orders[2:4])
    ]
    with pytest.raises(ValueError, match=r"put together from several frames.*look the frame up"):
        pd.concat(halves).svc.freeze(path)
    with pytest.raises(ValueError, match="no lookup is stored"):
        orders.svc.freeze(path)


def test_two_lookups_of_one_frame_are_frozen_together_or_one_by_one(orders, embedded, path):
    both = orders.svc.lookup(client=embedded, progress=False, prefix="sold_").svc.lookup(
        client=embedded, progress=False, prefix="may_", as_of="2026-05-01"
    )
    assert both.svc.freeze(path).answers == 9
    assert both.svc.freeze(path, prefix="may_").answers == 5
    with pytest.raises(ValueError, match="with prefix='x_'"):
        both.svc.freeze(path, prefix="x_")
    with pytest.raises(ValueError, match="with prefix='may_'"):
        both.drop(columns="may_lookup_status").svc.freeze(path, prefix="may_")


def test_lookups_of_several_services_are_not_frozen_into_one_file(looked_up, scripted, path):
    both = looked_up.svc.lookup(client=scripted, progress=False, prefix="other_", errors="coerce")
    with pytest.raises(ValueError, match=r"of several services.*one by one"):
        both.svc.freeze(path)
    assert both.svc.freeze(path, prefix="").answers == 5


def test_a_file_that_cannot_be_written_leaves_the_former_one(looked_up, path, tmp_path):
    looked_up.svc.freeze(path)
    before = path.read_bytes()
    with pytest.raises(FileNotFoundError):
        looked_up.svc.freeze(tmp_path / "nowhere" / "x.svclock")
    looked_up["zip"] = "75201"
    with pytest.raises(ValueError, match="changed"):
        looked_up.svc.freeze(path)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


def test_a_locked_run_can_be_frozen_again(orders, looked_up, path, tmp_path):
    looked_up.svc.freeze(path)
    again = tmp_path / "again.svclock"
    orders.svc.lookup(locked=path, progress=False).svc.freeze(again)
    assert again.read_text().splitlines()[1:-1] == path.read_text().splitlines()[1:-1]


def test_no_key_is_in_it(orders, scripted, path):
    orders.svc.lookup(client=scripted, progress=False, errors="coerce").svc.freeze(path)
    assert KEY not in path.read_text()


def written(frame, tmp_path, form):
    if form == "pickle":
        return pickle.loads(pickle.dumps(frame))
    frame.to_parquet(tmp_path / "x.parquet")
    return pd.read_parquet(tmp_path / "x.parquet")


@pytest.mark.parametrize("form", ["parquet", "pickle"])
def test_a_frame_from_a_file_is_frozen_from_the_cache(orders, served, path, tmp_path, form):
    cache = tmp_path / "answers.db"
    first = orders.svc.lookup(client=served, progress=False, cache=cache)
    back = written(first, tmp_path, form)
    frozen = back.svc.freeze(path, cache=cache)
    assert frozen.answers == 4
    assert "a file does not store them, so they are not in it: 1" in str(frozen)
    again = orders.svc.lookup(locked=path, progress=False)
    assert again["combined_rate"].equals(first["combined_rate"])
    with pytest.raises(ValueError, match="the cache does not have all of those"):
        back.svc.freeze(path, cache=False)
    with pytest.raises(ValueError, match="no column 'zip' any more"):
        back.drop(columns="zip").svc.freeze(path, cache=cache)
    clear_cache(cache)
    orders.svc.lookup(client=served, progress=False, cache=cache)  # later answers
    with pytest.raises(ValueError, match="the cache does not have all of those"):
        back.svc.freeze(path, cache=cache)


@pytest.mark.parametrize(("form", "detail"), [("parquet", False), ("pickle", True)])
def test_a_frame_from_a_file_is_frozen_by_the_same_book(  # noqa: PLR0917 - fixtures
    orders, embedded, path, tmp_path, form, detail
):
    first = orders.svc.lookup(client=embedded, progress=False, detail=detail)
    back = written(first, tmp_path, form)
    frozen = back.svc.freeze(path, cache=False)
    assert frozen.answers == 4
    assert "a file does not store them, so they are not in it: 1" in str(frozen)
    again = orders.svc.lookup(locked=path, progress=False, detail=detail)
    rated = first["combined_rate"].notna()
    assert rated.sum() == 5
    pd.testing.assert_frame_equal(
        without_source(again[rated]), without_source(first[rated]), check_categorical=False
    )
    with pytest.raises(ValueError, match="no column 'zip' any more"):
        back.drop(columns="zip").svc.freeze(path)
    swapped = back.assign(combined_rate=back["combined_rate"].to_numpy()[::-1])
    with pytest.raises(ValueError, match="rate is not that of their place and date"):
        swapped.svc.freeze(path)
    record = back.attrs["svc"]["lookups"][""]
    record["address"] = record["address"].replace("embedded:", "embedded:0")
    with pytest.raises(ValueError, match="the rate book is another one by now"):
        back.svc.freeze(path)


def test_rows_without_a_date_are_frozen_by_the_day_on_which_they_were_looked_up(
    orders, embedded, path, tmp_path
):
    undated, day = orders.drop(columns="date"), date(2020, 1, 15)
    then = undated.svc.lookup(client=embedded, progress=False, as_of=day)
    now = undated.svc.lookup(client=embedded, progress=False)
    assert not now["warnings"].equals(then["warnings"])
    moment = pd.Timestamp(2020, 1, 15, 12).tz_localize(datetime.now().astimezone().tzinfo)
    first = now.assign(**{name: then[name] for name in LOOKUP_COLUMNS})
    first["looked_up_at"] = then["looked_up_at"].where(then["looked_up_at"].isna(), moment)
    written(first, tmp_path, "parquet").svc.freeze(path)
    assert read_lock(path).today == day
    again = undated.svc.lookup(locked=path, progress=False)
    rated = first["combined_rate"].notna()
    for name in ("combined_rate", "warnings", "effective_date", "lookup_as_of", "looked_up_at"):
        assert again.loc[rated, name].equals(first.loc[rated, name]), name


@pytest.mark.parametrize("grain", ["month", "quarter"])
def test_what_the_embedded_service_computed_is_locked_by_day(orders, embedded, path, grain):
    first = orders.svc.lookup(client=embedded, progress=False, as_of_grain=grain)
    assert first["lookup_as_of"].dropna().astype(str).unique().tolist() == [
        "2026-04-03",
        "2026-05-01",
    ]
    assert first.svc.freeze(path).answers == 5
    for again in (
        orders.svc.lookup(locked=path, progress=False, as_of_grain=grain),
        orders.svc.lookup(locked=path, progress=False),
    ):
        pd.testing.assert_frame_equal(without_source(again), without_source(first))
        assert not any("first day" in note for note in again.attrs["svc"]["lookups"][""]["notes"])


def test_what_a_service_looked_up_by_month_is_locked_by_month(orders, served, path):
    first = orders.svc.lookup(client=served, progress=False, as_of_grain="month")
    first.svc.freeze(path)
    again = orders.svc.lookup(locked=path, progress=False, as_of_grain="month")
    pd.testing.assert_frame_equal(without_source(again), without_source(first))
    days = orders.svc.lookup(locked=path, progress=False)
    assert days["lookup_status"].tolist().count("not_attempted") == 5


@pytest.mark.parametrize(
    "attributes",
    [
        *({"svc": one} for one in ("", {}, {"lookups": {"": {}}}, {"lookups": 7}, [], 7, None)),
        *({"svc_answers": one} for one in ("", "{}", '{"of": [{}]}', '{"of": 7}', "[]", 7, None)),
    ],
)
def test_an_attribute_that_is_not_ours_is_no_memory(looked_up, path, attributes):
    looked_up.attrs = attributes
    with pytest.raises(ValueError, match="no lookup is stored"):
        looked_up.svc.freeze(path)
