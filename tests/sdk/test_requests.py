"""What is sent: input modes, dates, retries' limits (SPEC 4.4; WIRE, Requests)."""

from __future__ import annotations

import json
import math
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from urllib.parse import parse_qsl, unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.faults import KEY, answer

from svc_sdk.wire import remove_nexus_call

LISTED = answer(body=b'{"nexus": [], "count": 0}')


def sent(faults):
    """The path and the parameters of the last request."""
    target = urlsplit(faults.seen[-1].target)
    return target.path, dict(parse_qsl(target.query, keep_blank_values=True))


STREET = "500 W 2nd St, Austin"


@pytest.mark.parametrize("period", ["20263", "2026Q3", "2026-Q3", "2026 Q3", "2026q3", "2026-q3"])
def test_a_quarter_may_be_written_as_usual(connect, faults, period):
    connect(faults.base_url).lookup("TX", zip="78701", period=period)
    assert sent(faults)[1] == {"zip": "78701", "period": "20263"}


@pytest.mark.parametrize(
    ("arguments", "changed"),
    [
        *(
            (arguments, {})  # sent as they are
            for arguments in (
                {"zip": "78701"},
                {"location": "Coeur d'Alene"},
                {"address": f"{STREET}, TX 78701"},
                {"zip": "78701", "as_of": "2024-02-29"},
                {"zip": "78701", "period": "20263"},
                {"zip": "78701", "period": "20263", "as_of": "2026-07-01"},
                {"zip": "78701", "mode": "full"},
            )
        ),
        ({"zip": " 78701-1234 "}, {"zip": "78701-1234"}),
        ({"zip": "78701", "mode": "simple"}, {"mode": None}),
        ({"lat": 30.27, "lng": -97}, {"lat": "30.27", "lng": "-97"}),
        ({"lat": 1e-7, "lng": Decimal("-97.50")}, {"lat": "0.0000001", "lng": "-97.50"}),
        ({"lat": 90, "lng": -180.0}, {"lat": "90", "lng": "-180.0"}),
        ({"lat": -90.0, "lng": 180}, {"lat": "-90.0", "lng": "180"}),
        ({"lat": Fraction(1, 2), "lng": 0}, {"lat": "0.5", "lng": "0"}),
        *(
            (
                {"address": "1 Elm St", "city": "Austin", **zips},
                {"street": "1 Elm St", "address": None},
            )
            for zips in ({}, {"zip": "78701"})
        ),
        *(
            ({"zip": "78701", "as_of": moment}, {"as_of": "2024-02-29"})
            for moment in (
                date(2024, 2, 29),
                datetime(2024, 2, 29, 23, 59, tzinfo=UTC),
                "2024-02-29T23:59:00-11:00",
            )
        ),
        *(
            ({"address": given_address, "zip": zips}, {"address": sent_address, "zip": None})
            for given_address, zips, sent_address in (
                (STREET, "78701", f"{STREET}, TX 78701"),
                (f"{STREET}, tx", "78701", f"{STREET}, tx 78701"),
                (f"{STREET} TX 78701-0042", "78701", f"{STREET} TX 78701-0042"),
                (f"{STREET} TX 78701", "78701", f"{STREET} TX 78701"),
                (f"{STREET} TX 78701", "78701-1234", f"{STREET} TX 78701-1234"),
                ("78701 Long Rd, Austin", "78701", "78701 Long Rd, Austin, TX 78701"),
                (
                    f"{STREET} TX 78701-0042",
                    "78701-1234",
                    f"{STREET} TX 78701-0042, TX 78701-1234",
                ),
                ("787 Main St, Austin", "787", "787 Main St, Austin, TX 787"),
                ("78701234 Long Rd, Austin", "78701", "78701234 Long Rd, Austin, TX 78701"),
            )
        ),
    ],
)
def test_each_mode_becomes_its_parameters(connect, faults, arguments, changed):
    connect(faults.base_url).lookup("TX", **arguments)
    params = {name: value for name, value in (arguments | changed).items() if value is not None}
    assert sent(faults) == ("/v1/tax/TX", params)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({}, "address"),
        ({"zip": "78701", "location": "Austin"}, "zip"),
        ({"zip": "78701", "lat": 30.0, "lng": -97.0}, "lat"),
        ({"address": "500 W 2nd St", "location": "Austin"}, "location"),
        ({"address": "500 W 2nd St", "lat": 30.0, "lng": -97.0}, "lat"),
        ({"location": "Austin", "lat": 30.0, "lng": -97.0}, "location"),
        ({"lat": 30.0}, "lng"),
        ({"lng": -97.0}, "lat"),
        ({"city": "Austin"}, "city"),
        ({"city": "Austin", "zip": "78701"}, "city"),
        ({"city": "Austin", "location": "Austin"}, "city"),
        ({"zip": ""}, "zip"),
        ({"zip": "  "}, "zip"),
        ({"location": ""}, "location"),
        ({"address": ""}, "address"),
        ({"address": "500 W 2nd St", "city": ""}, "city"),
        ({"address": "500 W 2nd St", "zip": ""}, "zip"),
        ({"lat": math.nan, "lng": -97.0}, "lat"),
        ({"lat": 30.0, "lng": math.inf}, "lng"),
        ({"lat": 90.1, "lng": 0.0}, "lat"),
        ({"lat": 0.0, "lng": -180.5}, "lng"),
        ({"lat": 10**400, "lng": 0.0}, "lat"),
        ({"lat": Decimal("90.00000000000000000000000000000001"), "lng": 0.0}, "lat"),
        ({"lat": Decimal("1e-70000"), "lng": 0.0}, "lat"),
        ({"address": "x" * 70_000}, "address"),
        ({"location": "Austin\udc80"}, "location"),
        ({"zip": "78701", "mode": []}, "mode"),
        ({"zip": "78701", "period": "2026Q5"}, "period"),
        ({"zip": "78701", "period": "2026-3"}, "period"),  # March, or the third quarter
        ({"zip": "78701", "period": "20265"}, "period"),
        ({"zip": "78701", "period": "20260"}, "period"),
        ({"zip": "78701", "period": ""}, "period"),
        ({"zip": "78701", "period": "20263\n"}, "period"),
        ({"zip": "78701", "as_of": "yesterday"}, "as_of"),
        ({"zip": "78701", "as_of": "2026-02-30"}, "as_of"),
        ({"zip": "78701", "as_of": ""}, "as_of"),
        ({"zip": "78701", "mode": "verbose"}, "mode"),
    ],
)
def test_what_cannot_be_right_is_refused_before_any_request(connect, faults, arguments, named):
    with pytest.raises(ValueError, match=named):
        connect(faults.base_url).lookup("TX", **arguments)
    assert faults.seen == []


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"zip": 78701}, "zip"),
        ({"location": b"Austin"}, "location"),
        ({"lat": "30", "lng": -97.0}, "lat"),
        ({"lat": True, "lng": -97.0}, "lat"),
        ({"zip": "78701", "as_of": 20240229}, "as_of"),
        ({"zip": "78701", "as_of": 1.5}, "as_of"),
    ],
)
def test_a_wrong_type_is_a_type_error_that_names_the_argument(connect, faults, arguments, named):
    with pytest.raises(TypeError, match=named):
        connect(faults.base_url).lookup("TX", **arguments)
    assert faults.seen == []


@pytest.mark.parametrize("state", ["", "  "])
def test_an_empty_state_is_refused(connect, faults, state):
    client = connect(faults.base_url)
    for call in (
        lambda: client.lookup(state, zip="78701"),
        lambda: client.add_nexus(state),
        lambda: client.remove_nexus(state),
        lambda: client.list_nexus(state),
    ):
        with pytest.raises(ValueError, match="state"):
            call()
    assert faults.seen == []


def test_a_state_in_small_letters_ends_an_address_in_capitals(connect, faults):
    connect(faults.base_url).lookup("tx", address="500 W 2nd St, Austin", zip="78701")
    assert sent(faults)[1] == {"address": "500 W 2nd St, Austin, TX 78701"}


def test_whether_a_state_exists_is_the_services_to_say(connect, faults):
    connect(faults.base_url).lookup("zz", zip="78701")
    assert sent(faults)[0] == "/v1/tax/zz"


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip))
def test_any_state_stays_one_path_segment(state):
    call = remove_nexus_call(state, None)
    prefix, _, last = call.path.rpartition("/")
    assert prefix == "/v1/portability/nexus"
    assert unquote(last) == state.strip()
    assert not set(last) & set("./?#")


@pytest.mark.parametrize("state", ["..", ".", "../../healthz", "TX/..", "TX?x=1", "%2e%2e"])
def test_a_hostile_state_climbs_nowhere(connect, faults, state):
    connect(faults.base_url).lookup(state, zip="78701")
    path, params = sent(faults)
    assert path.startswith("/v1/tax/")
    assert path.count("/") == 3
    assert unquote(path.removeprefix("/v1/tax/")) == state
    assert params == {"zip": "78701"}


def test_every_request_says_who_asks_and_what_it_reads(connect, faults):
    faults.will(answer(body=b'{"status": "ok"}'))
    connect(faults.base_url + "/").health()
    seen = faults.seen[0]
    assert (seen.method, seen.target) == ("GET", "/healthz")
    assert seen.headers["x-api-key"] == KEY
    assert seen.headers["accept"] == "application/json"
    assert seen.headers["user-agent"].startswith("svc-tools/")


def test_a_path_in_the_address_is_kept(connect, faults):
    connect(faults.base_url + "/tax-api//").lookup("TX", zip="78701")
    assert sent(faults)[0] == "/tax-api/v1/tax/TX"


def test_listing_filters_by_what_is_given(connect, faults):
    faults.will(LISTED)
    client = connect(faults.base_url)
    client.list_nexus()
    assert sent(faults) == ("/v1/portability/nexus", {})
    client.list_nexus("TX", "economic")
    assert sent(faults) == ("/v1/portability/nexus", {"state": "TX", "nexus_type": "economic"})


def test_a_record_is_added_as_json(connect, faults):
    faults.will(answer(body=b'{"state": "TX", "nexus_type": "economic", "notes": ""}'))
    client = connect(faults.base_url)
    record = client.add_nexus(
        "TX", nexus_type="economic", registered_at=date(2024, 5, 1), address="Austin", notes=""
    )
    assert record.nexus_type == "economic"
    seen = faults.seen[-1]
    assert (seen.method, seen.target) == ("POST", "/v1/portability/nexus")
    assert json.loads(seen.body) == {
        "state": "TX",
        "nexus_type": "economic",
        "registered_at": "2024-05-01",
        "address": "Austin",
        "notes": "",
    }
    client.add_nexus("TX")
    assert json.loads(faults.seen[-1].body) == {"state": "TX", "nexus_type": "physical"}


def test_a_removal_aims_at_a_type_only_when_told(connect, faults):
    faults.will(answer(body=b'{"deleted": 2, "state": "TX", "nexus_type": null}'))
    client = connect(faults.base_url)
    assert client.remove_nexus("TX").deleted == 2
    assert faults.seen[-1].method == "DELETE"
    assert sent(faults) == ("/v1/portability/nexus/TX", {})
    client.remove_nexus("TX", nexus_type="economic")
    assert sent(faults) == ("/v1/portability/nexus/TX", {"nexus_type": "economic"})


def test_an_empty_type_never_comes_to_mean_every_type(connect, faults):
    with pytest.raises(ValueError, match="nexus_type"):
        connect(faults.base_url).remove_nexus("TX", nexus_type="")
    assert faults.seen == []
