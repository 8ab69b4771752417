"""Street addresses get their position from the geocoder of the Census Bureau."""

from __future__ import annotations

import re
import threading
import time

import pandas as pd
import pytest
from support.census import FRONTENAC, Census, form_of, line, matched, page, unmatched
from support.faults import HANG, RESET, answer

import svc_tools
from svc_tools.base.progress import NoProgress
from svc_tools.frames import enrich_file
from svc_tools.geocoding import census, geocoders
from svc_tools.geocoding.store import addresses_info, addresses_path
from svc_tools.lookup.outcomes import STOPPED

DAY = "2026-08-01"
NEARER, AT_THE_LIMIT = (37.46, -94.69), (37.462, -94.695)
"""Points of Frontenac 393 and 35 m from a limit beyond which the rate is another."""
COLUMNS = {"address": "street", "city": "city", "state": "state", "zip": "zip"}
BY_ZIP, BY_POINT = "0.09000", "0.09500"
"""The rates of the ZIP 66762 (Pittsburg), and of Frontenac, which is in it, too."""


@pytest.fixture
def bureau(faults, monkeypatch):
    """The geocoder on loopback; its pauses between attempts are short."""
    monkeypatch.setenv("SVC_GEOCODE_URL", f"{faults.base_url}/geocoder")
    monkeypatch.setattr(geocoders, "_POLL", 0.01)
    stand_in = Census()
    faults.will(stand_in)
    return stand_in


@pytest.fixture
def at_once(monkeypatch):
    """A failed request is repeated without a pause."""
    monkeypatch.setattr(geocoders, "_paused", lambda _, ends: ends.why() is None)


def orders(*streets, city="Pittsburg", zip_code="66762", state="KS"):
    return pd.DataFrame(
        {
            "Order": [f"#{1001 + at}" for at in range(len(streets))],
            "Name": "Jane Buyer",
            "Email": "jane@example.com",
            "Total": "419.99",
            "street": streets,
            "city": city,
            "state": state,
            "zip": zip_code,
        }
    )


@pytest.fixture
def look_up(embedded, tmp_path):
    def looked_up(frame, **options):
        given = {"as_of": DAY, "cache": tmp_path / "results.db", "progress": False}
        given |= {"geocode": "census", "client": embedded, **COLUMNS}
        return frame.svc.lookup(**given | options)

    return looked_up


def rates(frame):
    return [str(rate) for rate in frame["combined_rate"]]


def notes(frame):
    (record,) = frame.attrs["svc"]["lookups"].values()
    return record["notes"]


def test_a_matched_address_has_the_rate_of_its_point(bureau, look_up):
    frame = orders("100 N McKay St")
    assert rates(look_up(frame, geocode=None)) == [BY_ZIP]
    assert not bureau.sent
    assert rates(look_up(frame)) == [BY_POINT]
    assert bureau.fields == [{"benchmark": "Public_AR_Current"}]


def test_only_street_city_state_and_zip_are_sent(bureau, faults, look_up):
    frame = orders("100 N McKay St Apt 4", "C/O Jane Buyer, 7 Oak St", "9 Elm St (Jane's door)")
    look_up(frame)
    assert sorted(bureau.addresses) == [
        ("100 N MCKAY ST", "PITTSBURG", "KS", "66762"),
        ("7 OAK ST", "PITTSBURG", "KS", "66762"),
        ("9 ELM ST", "PITTSBURG", "KS", "66762"),
    ]
    (seen,) = faults.seen
    everything = f"{seen.target} {seen.headers} {seen.body.decode()}".lower()
    for word in ("jane", "buyer", "example.com", "419.99", "#1001", "order", "apt"):
        assert word not in everything
    assert {*seen.headers} <= {
        *("host", "accept", "accept-encoding", "connection", "user-agent"),
        *("content-length", "content-type"),
    }


def test_distinct_addresses_are_sent_once_and_others_never(bureau, look_up):
    frame = pd.concat(
        [
            orders("100 N McKay St", "100  n mckay st.".rstrip("."), "PO Box 7", "Main Street"),
            orders("1 Beacon St", city="Boston", state="MA", zip_code="02108"),
            orders("1 Main St", city="Columbus", state="OH", zip_code="43215"),
            orders(None),
        ]
    )
    look_up(frame)
    assert bureau.addresses == [("100 N MCKAY ST", "PITTSBURG", "KS", "66762")]


def test_a_row_with_a_point_of_its_own_is_not_sent(bureau, look_up):
    frame = orders("1 Yes St", "2 Yes St")
    frame["lat"], frame["lng"] = [FRONTENAC[0], None], [FRONTENAC[1], None]
    assert rates(look_up(frame, lat="lat", lng="lng")) == [BY_POINT] * 2
    assert [address[0] for address in bureau.addresses] == ["2 YES ST"]


def test_a_tie_and_no_match_leave_the_zip_to_decide_and_the_row_says_so(bureau, look_up):
    kinds = {"1 TIE ST": "Tie", "2 NO ST": "No_Match"}
    bureau.says = lambda row: (
        unmatched(row, kinds[row[1]]) if row[1] in kinds else matched(row, *FRONTENAC)
    )
    found = look_up(orders("1 Tie St", "2 No St", "3 Yes St"))
    assert rates(found) == [BY_ZIP, BY_ZIP, BY_POINT]
    warned = ["address_not_matched" in str(codes) for codes in found["warnings"]]
    assert warned == [True, True, False]
    counts = "1 exact match, 1 with several matches, 1 without a match; sent now: 3"
    assert any(counts in note for note in notes(found))


@pytest.mark.parametrize(
    ("point", "differs", "expected"),
    [
        (FRONTENAC, {}, (BY_POINT, "high", None)),
        (FRONTENAC, {"kind": "Non_Exact"}, (BY_POINT, "medium", None)),
        (NEARER, {}, (BY_POINT, "medium", None)),
        (NEARER, {"kind": "Non_Exact"}, (BY_ZIP, "low", "address_near_boundary")),
        (AT_THE_LIMIT, {}, (BY_ZIP, "low", "address_near_boundary")),
        (FRONTENAC, {"zip_code": "66763"}, (BY_ZIP, "low", "address_match_contradicts")),
        (FRONTENAC, {"city": "FRONTENAC"}, (BY_ZIP, "low", "address_match_contradicts")),
        (FRONTENAC, {"state": "MO"}, (BY_ZIP, "low", "address_match_contradicts")),
        ((38.95, -95.25), {}, (BY_ZIP, "low", "address_match_contradicts")),
    ],
)
def test_how_sure_a_match_is_depends_on_its_kind_its_place_and_what_it_matched(
    bureau, look_up, point, differs, expected
):
    bureau.says = lambda row: matched(row, *point, **differs)
    found = look_up(orders("1 Oak St"))
    rate, confidence, warning = expected
    assert (rates(found), found["confidence"][0]) == ([rate], confidence)
    assert warning is None or warning in found["warnings"][0]
    assert found["needs_review"][0] == (warning is not None)
    if warning is not None:
        assert warning in found["lookup_review_reason"][0]


def test_quoted_commas_quotes_and_letters_of_any_kind_are_read(bureau, look_up):
    frame = orders('12 "O" St, Rear', "14 Peñasco Rd", "16 A & B Ln", city="Pittsburg, Kansas")
    assert rates(look_up(frame)) == [BY_POINT] * 3
    assert len(bureau.addresses) == 3
    assert ("14 PEÑASCO RD", "PITTSBURG", "KS", "66762") in bureau.addresses


@pytest.mark.timeout(300)  # 10,001 points are looked up
def test_many_addresses_go_in_several_batches(bureau, look_up, monkeypatch):
    frame = orders(*(f"{number} Oak St" for number in range(1, 10_002)))
    assert set(rates(look_up(frame))) == {BY_POINT}
    sizes = [len(rows) for rows in bureau.sent]
    assert sum(sizes) == 10_001
    assert max(sizes) <= 10_000
    numbers = [row[0] for rows in bureau.sent for row in rows]
    assert len({*numbers}) == len(numbers)  # a late response fits no other batch


def test_stored_addresses_are_never_sent_again(bureau, look_up, tmp_path):
    bureau.says = lambda row: (
        unmatched(row) if row[1] == "2 NO ST" else matched(row, *FRONTENAC, "Non_Exact")
    )
    frame = orders("1 Yes St", "2 No St")
    first = look_up(frame)
    again = look_up(frame)
    assert rates(first) == rates(again)
    assert len(bureau.sent) == 1
    (info,) = addresses_info(addresses_path(tmp_path / "results.db")).geocoders
    assert (info.geocoder, info.similar, info.unmatched, info.exact) == ("census", 1, 1, 0)
    assert info.oldest == info.newest == str(pd.Timestamp.now().date())
    look_up(frame, cache=False)  # nothing is stored, or read
    assert len(bureau.sent) == 2


ERROR_PAGE = page("<html><body>The service is busy, 1,2,Match</body></html>", kind="text/html")


@pytest.mark.parametrize(
    "fault", [answer(500), answer(503), answer(429), RESET, ERROR_PAGE, page(""), page("\0\n1,2\n")]
)
def test_a_failure_that_passes_costs_only_time(bureau, faults, look_up, fault, at_once):
    faults.will(fault, fault, bureau)
    assert rates(look_up(orders("1 Yes St"))) == [BY_POINT]
    assert len(bureau.sent) == 1


@pytest.mark.parametrize(
    "fault",
    [
        (answer(500), "status 500", 4),
        (ERROR_PAGE, "not a list of the addresses", 4),
        (RESET, "no connection", 4),
        (answer(404), "status 404", 1),
        (answer(302, location="http://127.0.0.1:9/"), "status 302", 1),
        (answer(503, retry_after="7200"), "status 503", 1),
    ],
)
def test_a_failure_that_stays_leaves_the_zip_to_decide(bureau, faults, look_up, at_once, fault):
    fault, why, times = fault
    faults.will(fault)
    with pytest.warns(UserWarning, match="geocoder .* cannot be used now: .*their ZIP decides"):
        found = look_up(orders("1 Yes St"))
    assert rates(found) == [BY_ZIP]
    assert len(faults.seen) == times
    (trouble,) = [note for note in notes(found) if "cannot be used now" in note]
    assert why in trouble
    assert any("1 without a response, so that its ZIP decides" in note for note in notes(found))
    faults.will(bureau)  # nothing of it was stored
    assert rates(look_up(orders("1 Yes St"))) == [BY_POINT]


def test_a_broken_line_costs_its_own_address_alone_and_is_requested_again(bureau, look_up):
    broken = {
        "1 A ST": lambda row: f'"{row[0]}","x","Match","Exact","1 A ST, P, KS, 66762","-94.6',
        "2 B ST": lambda row: line(row[0], "x", "Match", "Exact", "2 B ST", "37.45", "1", "L"),
        "3 C ST": lambda row: line(row[0], "x", "Match", "Perfect", "3 C ST", "-94.6,37.4", 1, "L"),
        "4 D ST": lambda row: matched(row, -94.69, 37.45),  # swapped
        "5 E ST": lambda _: line("one", "x", "No_Match"),
        "6 F ST": lambda row: line(row[0]),
        "7 G ST": lambda row: matched(row, 0, 0),
        "8 H ST": lambda row: matched(row, "nan", "nan"),
    }
    bureau.says = lambda row: (
        matched(row, *FRONTENAC)
        if len(bureau.sent) > 1 or row[1] not in broken
        else broken[row[1]](row)
    )
    frame = orders(*(street.title() for street in broken), "9 Good St")
    assert set(rates(look_up(frame))) == {BY_POINT}
    first, second = bureau.sent
    assert (len(first), len(second)) == (9, 8)


OTHERS = [f"{number} Oak St" for number in range(1, 40)]


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("fault", [answer(500), answer(400), RESET, ERROR_PAGE])
def test_a_batch_that_is_refused_keeps_no_other_from_being_sent(
    bureau, faults, look_up, monkeypatch, fault
):
    monkeypatch.setattr(census, "BATCH", 20)
    faults.will(lambda seen: fault if b"BAD" in seen.body else bureau(seen))
    with pytest.warns(UserWarning, match=r"geocoder .* failed for some addresses: .*run it again"):
        found = look_up(orders("1 Bad St", *OTHERS))
    assert rates(found).count(BY_POINT) == 38  # a part of it has two addresses
    assert any("2 without a response, so that their ZIP decides" in note for note in notes(found))
    assert sorted(len(rows) for rows in bureau.sent) == [2] * 9 + [20]


def test_what_shares_a_batch_with_an_address_that_is_refused_has_its_turn(
    bureau, faults, look_up, monkeypatch
):
    monkeypatch.setattr(census, "BATCH", 20)
    faults.will(lambda seen: answer(400) if b"BAD" in seen.body else bureau(seen))
    frame = orders("1 Bad St", "2 Bad St", "3 Bad St", *OTHERS)
    for _ in range(20):  # the order is another one in each
        with pytest.warns(UserWarning, match="geocoder"):
            found = rates(look_up(frame))
        if found.count(BY_POINT) == len(OTHERS):
            break
    assert found == [BY_ZIP] * 3 + [BY_POINT] * len(OTHERS)


@pytest.mark.parametrize(
    "case",
    [
        ("1111", 3, "cannot be used now"),
        ("110110", 6, "failed for some addresses"),
        ("01110", 4, "cannot be used now"),
        ("11", 2, "cannot be used now"),
    ],
)
def test_a_run_stops_after_three_failures_in_a_row(bureau, faults, look_up, monkeypatch, case):
    refused, requests, words = case
    monkeypatch.setattr(census, "BATCH", 1)
    faults.will(*(answer(400) if one == "1" else bureau for one in refused))
    with pytest.warns(UserWarning, match=f"{words}: it responded with status 400"):
        look_up(orders(*OTHERS[: len(refused)]))
    assert len(faults.seen) == requests


def test_a_geocoder_that_takes_nothing_is_sent_three_requests(bureau, faults, look_up):
    faults.will(answer(400))
    with pytest.warns(UserWarning, match="cannot be used now: it responded with status 400"):
        look_up(orders(*OTHERS))
    assert len(faults.seen) == 3


def test_a_geocoder_that_asks_for_a_long_pause_is_sent_nothing_more(
    bureau, faults, look_up, monkeypatch
):
    monkeypatch.setattr(census, "BATCH", 1)
    faults.will(bureau, answer(429, retry_after="3600"))
    with pytest.warns(UserWarning, match="cannot be used now: it responded with status 429"):
        found = look_up(orders(*OTHERS[:5]))
    assert rates(found).count(BY_POINT) == 1
    assert len(faults.seen) == 2


def test_a_byte_order_mark_before_the_list_loses_no_line(bureau, faults, look_up):
    sent = []

    def marked(seen):
        sent.append(seen)
        rows = form_of(seen)[1]
        return page(
            "\ufeff" + "\r\n".join(matched(row, *FRONTENAC).replace('"', "", 2) for row in rows)
        )

    faults.will(marked)
    assert rates(look_up(orders("1 Yes St", "2 Yes St"))) == [BY_POINT] * 2
    assert len(sent) == 1


def test_lines_that_stay_broken_are_counted_and_sent_by_the_next_run(bureau, look_up):
    bureau.says = lambda row: None if row[1] == "1 A ST" else matched(row, *FRONTENAC)
    frame = orders("1 A St", "2 B St")
    found = look_up(frame)
    assert rates(found) == [BY_ZIP, BY_POINT]
    assert any("1 without a response" in note for note in notes(found))
    bureau.says = lambda row: matched(row, *FRONTENAC)
    assert rates(look_up(frame)) == [BY_POINT] * 2
    assert bureau.sent[-1] == [["1", "1 A ST", "PITTSBURG", "KS", "66762"]]


def test_a_deadline_ends_a_geocoder_that_hangs_and_what_was_found_stays(
    bureau, faults, look_up, monkeypatch
):
    monkeypatch.setattr(census, "BATCH", 2)
    frame = orders(*(f"{number} Oak St" for number in range(1, 6)))
    faults.will(bureau, HANG)
    began = time.monotonic()
    with pytest.warns(UserWarning, match="deadline"):
        found = look_up(frame, deadline=1.0)
    assert time.monotonic() - began < 10
    assert set(found["lookup_status"]) == {"not_attempted"}
    faults.will(bureau)
    assert set(rates(look_up(frame))) == {BY_POINT}
    assert sorted(address[0] for address in bureau.addresses) == [
        f"{number} OAK ST" for number in range(1, 6)
    ]


def test_a_geocoder_that_never_responds_is_given_up(bureau, faults, look_up, monkeypatch, at_once):
    monkeypatch.setattr(geocoders, "_TIMEOUT", 0.1)
    faults.will(HANG)
    with pytest.warns(UserWarning, match="did not respond in time"):
        found = look_up(orders("1 Oak St"))
    assert rates(found) == [BY_ZIP]


def test_a_run_that_is_stopped_ends_at_once(bureau, faults, embedded, tmp_path):
    faults.will(HANG)
    source = tmp_path / "orders.csv"
    orders("1 Oak St").to_csv(source, index=False)
    stop = threading.Event()
    threading.Thread(target=lambda: (faults.asked.wait(20), stop.set()), daemon=True).start()
    made = enrich_file(
        *(source, tmp_path / "out.csv"),
        lookup={"address": "street", "zip": "zip", "as_of": DAY},
        geocode="census",
        client=embedded,
        cache=tmp_path / "results.db",
        stop=stop,
    )
    assert made.stopped == STOPPED


def test_progress_counts_addresses(bureau, embedded, tmp_path):
    source = tmp_path / "orders.csv"
    orders("1 Oak St", "2 Oak St", "2 Oak St").to_csv(source, index=False)
    stages = []

    class Shown(NoProgress):
        def start(self, name, total, unit):
            stages.append([name, total, unit, 0])

        def advance(self, count=1):
            stages[-1][3] += count

    made = enrich_file(
        *(source, tmp_path / "out.csv"),
        lookup={"address": "street", "zip": "zip", "as_of": DAY},
        geocode="census",
        client=embedded,
        cache=tmp_path / "results.db",
        progress=Shown(),
    )
    assert ["Geocoding", 2, "addresses", 2] in stages
    assert any(re.search(r"2 exact matches; sent now: 2", note) for note in made.notes)


def test_every_road_gives_the_same(bureau, run, tmp_path):
    frame = orders("1 Yes St", "2 No St", "1 Yes St", "4 Yes St")
    bureau.says = lambda row: unmatched(row) if row[1] == "2 NO ST" else matched(row, *FRONTENAC)
    found = run(
        frame,
        **COLUMNS,
        as_of=DAY,
        geocode="census",
        cache=tmp_path / "results.db",
    )
    assert rates(found) == [BY_POINT, BY_ZIP, BY_POINT, BY_POINT]
    assert len(bureau.addresses) == 3


def test_the_plan_says_how_many_addresses_would_be_sent_where_to(
    bureau, look_up, embedded, tmp_path
):
    frame = orders("1 Yes St", "2 Yes St", "2 Yes St", "PO Box 5")
    given = {"client": embedded, "as_of": DAY, "cache": tmp_path / "results.db", **COLUMNS}
    look_up(frame[:1])
    plan = frame.svc.plan(**given, geocode="census")
    assert (plan.to_geocode, plan.geocoded) == (1, 1)
    assert "the US Census Bureau's geocoder (127.0.0.1" in plan.geocoder
    assert "1 street address would be sent to the US Census Bureau's geocoder" in str(plan)
    assert len(bureau.sent) == 1
    assert frame.svc.plan(**given).geocoder is None


def test_a_frozen_lookup_needs_no_geocoder(bureau, look_up, tmp_path):
    frame, lock = orders("1 Yes St"), tmp_path / "kept.svclock"
    look_up(frame).svc.freeze(lock)
    assert rates(look_up(frame, geocode=None, client=None, locked=lock)) == [BY_POINT]
    with pytest.raises(ValueError, match="locked and geocode"):
        look_up(frame, client=None, locked=lock)


def test_a_frame_from_a_file_is_frozen_by_the_positions_that_are_stored(bureau, look_up, tmp_path):
    frame, lock = orders("1 Yes St", "2 Yes St"), tmp_path / "kept.svclock"
    look_up(frame).to_parquet(tmp_path / "rated.parquet")
    again = pd.read_parquet(tmp_path / "rated.parquet")
    again.svc.freeze(lock, cache=tmp_path / "results.db")
    found = look_up(frame, geocode=None, client=None, locked=lock)
    assert rates(found) == [BY_POINT] * 2
    with pytest.raises(ValueError, match="look the frame up again"):
        again.svc.freeze(lock, cache=tmp_path / "another.db")
    assert len(bureau.sent) == 1


def test_the_environment_chooses_it_and_an_argument_takes_it_back(bureau, look_up, monkeypatch):
    monkeypatch.setenv("SVC_GEOCODE", "Census")
    frame = orders("1 Yes St")
    assert rates(look_up(frame, geocode="off")) == [BY_ZIP]
    assert rates(look_up(frame, geocode=False)) == [BY_ZIP]
    assert rates(look_up(frame, geocode=None)) == [BY_POINT]
    monkeypatch.setenv("SVC_GEOCODE", "google")
    with pytest.raises(svc_tools.ConfigurationError, match="SVC_GEOCODE is 'google'; expected cen"):
        look_up(frame, geocode=None)
    monkeypatch.setenv("SVC_GEOCODE", "")
    monkeypatch.setenv("SVC_GEOCODE_URL", "ftp://here")
    with pytest.raises(svc_tools.ConfigurationError, match="SVC_GEOCODE_URL: this does not begin"):
        look_up(frame)


def test_a_service_over_http_resolves_addresses_itself(bureau, served, look_up, monkeypatch):
    with pytest.raises(
        ValueError, match=r"the service .* resolves addresses itself; leave geocode"
    ):
        look_up(orders("1 Yes St"), client=served)
    monkeypatch.setenv("SVC_GEOCODE", "census")
    found = look_up(orders("1 Yes St"), client=served, geocode=None)
    assert any("SVC_GEOCODE is not used" in note for note in notes(found))
    assert not bureau.sent


@pytest.mark.parametrize("wrong", ["google", 7, object()])
def test_what_is_no_geocoder_is_refused(look_up, wrong):
    with pytest.raises((ValueError, TypeError), match=r"geocode: .*expected 'census'|geocode: exp"):
        look_up(orders("1 Yes St"), geocode=wrong)
