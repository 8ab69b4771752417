"""Answers that were given once are not asked for again."""

from __future__ import annotations

import dataclasses
import itertools
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from support.answers import NOW, OTHER, OUTCOMES, PAST, PLACES, SOURCE, found, ok, zip_place
from support.examples import examples
from support.faults import KEY
from support.systems import homes, posix

import svc_tools
from svc_sdk import Svc
from svc_tools import config
from svc_tools.base.positions import Position
from svc_tools.config import Source, account_fingerprint, source_of
from svc_tools.lookup import cache as cache_module
from svc_tools.lookup.cache import Cache, opened_cache
from svc_tools.lookup.cache_store import place_key
from svc_tools.lookup.expiry import FOR_EVER, LocalDays, keeps_until
from svc_tools.lookup.outcomes import Component, Outcome
from svc_tools.tables.places import Place


@pytest.fixture
def clock():
    class Clock:
        now = NOW

        def __call__(self):
            return self.now

    return Clock()


@pytest.fixture
def cache(tmp_path, clock):
    return Cache(tmp_path / "folder" / "answers.db", clock=clock)


def held(cache, place, source=SOURCE, *, detail=False):
    """The answer that the cache has for a place."""
    return cache.known(source, [place], detail=detail).get(place)


def as_cached(outcome):
    return dataclasses.replace(outcome, cached=True)


_numbers = itertools.count()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(OUTCOMES, max_size=5))
def test_every_field_of_every_result_survives(cache, outcomes):
    given = [(zip_place(next(_numbers)), outcome) for outcome in outcomes]
    cache.store(SOURCE, given, detail=False)
    expected = {
        place: outcome
        for place, outcome in given
        if outcome.status == "unresolved" or (outcome.status in {"ok", "partial"} and outcome.found)
    }
    known = cache.known(SOURCE, [place for place, _ in given], detail=False)
    assert known == expected
    assert repr(known) == repr(expected)  # 1 and True are equal, and not the same
    assert cache.notes == []


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(OUTCOMES, max_size=5))
def test_equal_results_of_several_places_keep_each_its_moment(cache, outcomes):
    moments = [NOW - timedelta(seconds=one) for one in (1, 2.5, 3, 3)]
    given = [
        (zip_place(next(_numbers)), dataclasses.replace(one, looked_up_at=moment))
        for moment in moments
        for one in outcomes
        if one.status == "unresolved" or (one.status in {"ok", "partial"} and one.found)
    ]
    cache.store(SOURCE, given, detail=False)
    known = cache.known(SOURCE, [place for place, _ in given], detail=False)
    assert repr(known) == repr({place: as_cached(one) for place, one in given})


def test_a_field_that_is_new_cannot_be_forgotten():
    """Whoever adds a field to an outcome has to say how the cache keeps it; `Found` says so."""
    assert len(dataclasses.fields(Outcome)) == 7
    assert len(dataclasses.fields(Component)) == 4


@examples(7, of=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(PLACES, st.integers(1, 99_999), max_size=20))
def test_any_places_are_stored_each_with_its_own_result(cache, rates):
    assume(len({place_key(place) for place in rates}) == len(rates))
    results = [(place, ok(combined=rate)) for place, rate in rates.items()]
    cache.store(SOURCE, results, detail=False)
    known = cache.known(SOURCE, list(rates), detail=False)
    assert {place: one.found.combined for place, one in known.items()} == rates


def test_more_places_than_one_query_takes(cache):
    places = [zip_place(number) for number in range(20_050)]
    cache.store(SOURCE, [(place, ok(resolved_zip=place.zip)) for place in places], detail=False)
    known = cache.known(SOURCE, places[::-1], detail=False)
    assert list(known) == places[::-1]
    assert all(known[place].found.resolved_zip == place.zip for place in places[::997])
    with Svc(KEY) as client:
        cache.store(source_of(client), [(zip_place(1), ok())], detail=False)
    assert all(KEY.encode() not in path.read_bytes() for path in cache.path.parent.iterdir())


@pytest.mark.parametrize(
    ("place", "source"),
    [
        (zip_place(1), OTHER),
        (zip_place(1), Source("https://other.example", SOURCE.account)),
        (zip_place(1, date(2024, 5, 2)), SOURCE),
        (zip_place(1, None), SOURCE),
    ],
)
def test_other_accounts_services_places_and_dates_do_not_share(cache, place, source):
    cache.store(SOURCE, [(zip_place(1), ok())], detail=False)
    assert held(cache, place, source) is None


def test_a_full_result_serves_a_simple_query_and_not_the_other_way_round(cache):
    simple, full = ok(), ok(combined=9000)
    cache.store(SOURCE, [(zip_place(1), simple)], detail=False)
    assert held(cache, zip_place(1)) == as_cached(simple)
    assert held(cache, zip_place(1), detail=True) is None
    cache.store(SOURCE, [(zip_place(1), full)], detail=True)
    assert held(cache, zip_place(1), detail=True) == as_cached(full)
    assert held(cache, zip_place(1), detail=False) == as_cached(full)
    cache.store(SOURCE, [(zip_place(1), simple)], detail=False)  # another process, a bit late
    assert held(cache, zip_place(1), detail=True) == as_cached(full)


def test_a_result_expires_when_its_time_is_over(cache, clock):
    patient = Cache(cache.path, hours=72, clock=clock)
    unknown = Outcome("unresolved", "no", looked_up_at=NOW)
    cache.store(SOURCE, [(zip_place(1, None), ok()), (zip_place(3), unknown)], detail=False)
    patient.store(SOURCE, [(zip_place(2, None), ok())], detail=False)
    places = [zip_place(1, None), zip_place(2, None), zip_place(3)]
    for hours, there in ((0.99, [1, 2, 3]), (1, [1, 2]), (48, [2])):
        clock.now = NOW + timedelta(hours=hours)
        known = cache.known(SOURCE, places, detail=False)
        assert [int(place.zip) for place in known] == there


@pytest.mark.parametrize("hours", [None, 72])
def test_results_dated_after_now_are_not_used_and_replaced(cache, clock, hours):
    patient = Cache(cache.path, hours=hours, clock=clock)
    ahead = [zip_place(1, None), zip_place(2), zip_place(3, None)]
    clock.now = NOW + timedelta(days=365)  # the clock is wrong
    for place, detail in zip(ahead, (False, False, True), strict=True):
        patient.store(SOURCE, [(place, ok(clock.now, combined=1))], detail=detail)
    clock.now = NOW + timedelta(minutes=4)  # another machine, a little ahead
    patient.store(SOURCE, [(zip_place(4, None), ok(clock.now))], detail=False)
    for moment in (NOW + timedelta(days=365), NOW, NOW + timedelta(minutes=1)):
        clock.now = moment
        for use in (lambda: None, cache_module._stores.close):  # from memory, and from the file
            use()
            known = patient.known(SOURCE, [*ahead, zip_place(4, None)], detail=False)
            assert (ahead[0] in known) is (moment > NOW + timedelta(days=1))
            assert (zip_place(4, None) in known) is (moment < NOW + timedelta(days=1))
    known = patient.known(SOURCE, ahead, detail=False)
    assert known == {}
    patient.store(SOURCE, [(place, ok(clock.now)) for place in ahead], detail=False)
    known = patient.known(SOURCE, ahead, detail=False)
    assert [one.found.combined for one in known.values()] == [8250] * 3


def test_the_quota_is_remembered_for_its_month(cache, clock):
    assert cache.quota(SOURCE) is None
    cache.store_quota(SOURCE, 4711)
    assert cache.quota(SOURCE) == 4711
    cache.store(SOURCE, [(zip_place(1), ok())], detail=False)  # writes it too
    assert cache.quota(SOURCE) == 4711
    assert cache.quota(OTHER) is None
    cache.store_quota(SOURCE, 0)
    assert cache.quota(SOURCE) == 0
    clock.now = datetime(2026, 6, 1, tzinfo=UTC)
    assert cache.quota(SOURCE) is None


def test_threads_share_a_cache(cache):
    def work(number):
        for step in range(20):
            place = zip_place(1000 * number + step)
            cache.store(SOURCE, [(place, ok(combined=int(place.zip)))], detail=False)
            assert held(cache, place).found.combined == int(place.zip)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(work, range(1, 5)))
    places = [zip_place(1000 * number + step) for number in range(1, 5) for step in range(20)]
    assert len(cache.known(SOURCE, places, detail=False)) == 80
    assert cache.notes == []


def test_the_account_is_told_by_a_fingerprint_that_is_not_the_key():
    with Svc(KEY, base_url="http://127.0.0.1:1/") as client, Svc("other key") as another:
        source = source_of(client)
        assert source.service == "http://127.0.0.1:1"
        assert source.account == account_fingerprint(client)
        assert len(source.account) == 16
        assert KEY not in source.account
        assert account_fingerprint(another) != source.account


@pytest.mark.usefixtures("_own_home")
def test_the_embedded_service_is_told_by_its_book_not_by_its_port():
    with svc_tools.connect("embedded") as client:
        source = source_of(client)
        assert client.book_digest in source.service
        assert client.base_url not in source.service
        assert source.account == ""
        assert source == config.embedded_source(client.book_digest)
        assert config.embedded_source("another") != source


def test_where_the_cache_is(monkeypatch, tmp_path):
    for off in ("OFF", "no", "None", "false", "0"):
        monkeypatch.setenv("SVC_CACHE", off)
        assert config.cache_path() is None
    monkeypatch.setenv("SVC_CACHE", "~nobody-of-this-name/answers.db")
    with pytest.raises(config.ConfigurationError, match="is no path here"):
        config.cache_path()
    monkeypatch.setenv("SVC_CACHE", "~/mine.db")
    assert config.cache_path().name == "mine.db"
    assert config.cache_path().is_absolute()
    monkeypatch.setenv("SVC_CACHE", "")
    for name, value in homes(tmp_path).items():
        monkeypatch.setenv(name, value)
    path = config.cache_path()
    assert (path.name, path.is_relative_to(tmp_path)) == ("results.db", True)
    path.parent.mkdir(parents=True)
    older = path.with_name("answers.db")  # of an earlier version: no result is paid for twice
    older.touch()
    assert config.cache_path() == older
    path.touch()
    assert config.cache_path() == path


@pytest.mark.parametrize("told", ["soon", "0", "-1", "nan", "inf", "9000"])
def test_a_time_that_makes_no_sense_is_refused(monkeypatch, told):
    monkeypatch.setenv("SVC_CACHE_HOURS", told)
    with pytest.raises(config.ConfigurationError, match="SVC_CACHE_HOURS"):
        config.cache_hours()
    monkeypatch.setenv("SVC_CACHE_HOURS", "36.5")
    assert config.cache_hours() == 36.5


def test_the_cache_that_a_user_chooses(monkeypatch, tmp_path, cache):
    with opened_cache(False) as none, opened_cache() as off:  # noqa: FBT003 - and SVC_CACHE=off
        assert none is off is None
    monkeypatch.setenv("SVC_CACHE", str(tmp_path / "a.db"))
    with opened_cache() as configured, opened_cache(str(tmp_path / "b.db")) as named:
        assert (configured.path.name, named.path.name) == ("a.db", "b.db")
    with opened_cache(cache) as same:
        assert same is cache
    with pytest.raises(TypeError, match="cache"), opened_cache(7):
        pass


def test_equal_results_on_many_days_are_in_memory_once_and_full_ones_apart(tmp_path):
    path = tmp_path / "answers.db"
    now = datetime.now(UTC)
    places = [zip_place(1, date(2024, 5, day)) for day in range(1, 29)]
    full = ok(now, components=(Component("state", "Texas", "48", 6250),))
    first = Cache(path)
    first.store(SOURCE, [(place, ok(now)) for place in places[2:]], detail=False)
    first.store(SOURCE, [(place, full) for place in places[:2]], detail=True)
    cache_module._stores.close()  # as a new process: nothing is in memory
    known = Cache(path).known(SOURCE, places, detail=False)
    assert [known[place] for place in places] == [
        as_cached(full if place in places[:2] else ok(now)) for place in places
    ]
    assert len({id(known[place].found) for place in places[2:]}) == 1


@given(PLACES, PLACES)
def test_different_places_have_different_keys_and_equal_ones_the_same(one, other):
    assert (place_key(one) == place_key(other)) == (one == other)


@given(PLACES, PLACES, st.data())
def test_one_field_that_differs_is_enough(one, other, data):
    name = data.draw(st.sampled_from([field.name for field in dataclasses.fields(Place)]))
    changed = dataclasses.replace(one, **{name: getattr(other, name)})
    assert (place_key(one) == place_key(changed)) == (one == changed)


def positioned(match, **found):
    return Place("TX", "zip", zip="78701", position=Position(30.27, -97.74, match, **found))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Place("TX", "zip", zip="78701"), Place("TX", "zip", zip="78701 -")),
        (Place("TX", "zip", zip="78701"), Place("TX", "place", location="78701")),
        (Place("TX", "zip", zip="78701"), Place("TX", "address", address="", zip="78701")),
        (Place("TX", "place", location="-"), Place("TX", "place")),
        (Place("TX", "address", 'a" "b', None), Place("TX", "address", "a", "b")),
        (Place('"TX" - -', "zip", zip="inf"), Place("TX", "zip", zip="inf", lat=1.0)),
        (Place("TX", "coordinates", lat=0.1), Place("TX", "coordinates", lat=0.1 + 2**-55)),
        (positioned("exact"), Place("TX", "zip", zip="78701")),
        (positioned("exact"), positioned("similar")),
        (positioned("exact", city="A"), positioned("exact", state="A")),
    ],
)
def test_what_looks_alike_is_separate(one, other):
    assert place_key(one) != place_key(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Place("TX", "zip", as_of=datetime(2024, 5, 1, 23)), Place("TX", "zip", as_of=PAST)),  # noqa: DTZ001
        (
            Place("TX", "coordinates", lat=30, lng=-0.0),
            Place("TX", "coordinates", lat=30.0, lng=0.0),
        ),
    ],
)
def test_equal_numbers_and_moments_of_one_day_are_one_query(one, other):
    assert place_key(one) == place_key(other)


TODAY = NOW.date()
ENDS = datetime(2026, 5, 21, 5, tzinfo=UTC)
DAYS_30 = NOW + timedelta(days=30)


@pytest.mark.parametrize(
    ("outcome", "as_of", "hours", "expected"),
    [
        (ok(), PAST, None, FOR_EVER),
        (ok(), PAST, 48, FOR_EVER),
        (ok(effective_date=PAST.isoformat()), PAST, None, FOR_EVER),
        # what does not prove a past date
        *(
            (ok(**changes), PAST, None, DAYS_30)
            for changes in (
                {"effective_date_basis": "edition_only"},
                {"effective_date_basis": "no_published_date"},
                {"effective_date_basis": None},
                {"effective_date": None},
                {"effective_date": "soon"},
                {"effective_date": "2024-05-02"},
                {"warnings": ("as_of_before_history",)},
                {"warnings": ("zip_spans_jurisdictions", "as_of_after_edition")},
            )
        ),
        (Outcome("partial", "districts_not_covered", found()), PAST, None, DAYS_30),
        # rates of today and later
        *(
            (ok(), day, hours, NOW + timedelta(hours=48) if hours == 48 else ENDS)
            for day in (None, TODAY, TODAY + timedelta(days=1), date(2030, 1, 1))
            for hours in (None, 0.5, 48)
        ),
        (Outcome("unresolved", "no such ZIP"), PAST, None, NOW + timedelta(hours=1)),
        *(
            (Outcome(status, "why"), PAST, None, None)
            for status in ("failed", "not_attempted", "invalid", "unsupported")
        ),
    ],
)
def test_how_long_a_result_is_cached(outcome, as_of, hours, expected):
    ends = {"responded_at": NOW, "today": TODAY, "day_ends": ENDS}
    assert keeps_until(outcome, as_of, hours=hours, **ends) == expected


def test_a_day_that_is_still_today_for_the_service_is_not_past():
    late = datetime(2026, 5, 20, 22, tzinfo=UTC)  # in Sydney it is the 21st already
    rules = {"responded_at": late, "today": date(2026, 5, 21), "day_ends": ENDS}
    assert keeps_until(ok(), date(2026, 5, 20), **rules) == ENDS
    assert keeps_until(ok(), date(2026, 5, 19), **rules) == FOR_EVER


@pytest.fixture
def chicago(monkeypatch):
    monkeypatch.setenv("TZ", "America/Chicago")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@posix
@pytest.mark.parametrize(
    ("moment", "day", "ends"),
    [
        ("2026-05-20T17:00", "2026-05-20", "2026-05-21T05:00"),
        ("2026-05-21T04:59", "2026-05-20", "2026-05-21T05:00"),
        ("2026-05-21T05:00", "2026-05-21", "2026-05-22T05:00"),
        ("2026-03-08T12:00", "2026-03-08", "2026-03-09T05:00"),  # the clocks went forward
        ("2026-11-01T12:00", "2026-11-01", "2026-11-02T06:00"),  # and back
    ],
)
def test_the_day_is_the_one_where_the_person_is(chicago, moment, day, ends):
    days = LocalDays()
    for _ in range(2):  # the second time from memory
        found = days.of(datetime.fromisoformat(moment).replace(tzinfo=UTC))
        assert found == (
            date.fromisoformat(day),
            datetime.fromisoformat(ends).replace(tzinfo=UTC),
        )


def test_the_guide_says_the_same_as_the_code():
    lines = map(str.strip, keeps_until.__doc__.splitlines())
    table = [line for line in lines if line.startswith("|")]
    guide = (Path(__file__).parents[2] / "docs" / "CACHE.md").read_text()
    assert len(table) == 7
    assert "\n".join(table) in guide
