"""Both clients over real HTTP against the real service (WIRE)."""

from __future__ import annotations

import uuid
from decimal import Decimal

import pytest

from svc_sdk import AuthError, NotFoundError, ValidationError


@pytest.fixture
def client(connect, service):
    return connect(service)


def test_it_is_alive_and_needs_no_valid_key_to_say_so(connect, service):
    assert connect(service, "any-key").health().status == "ok"


@pytest.mark.parametrize(
    ("arguments", "rate"),
    [
        ({"zip": "94105"}, "0.08625"),
        ({"location": "San Francisco"}, "0.08625"),
        ({"lat": 34.0537, "lng": -118.2428}, "0.09750"),
        ({"address": "1 Market St, San Francisco, CA 94105"}, "0.08625"),
        ({"address": "1 Market St", "city": "San Francisco", "zip": "94105"}, "0.08625"),
        ({"address": "1 Market St, San Francisco", "zip": "94105"}, "0.08625"),
    ],
)
def test_every_mode_gets_its_rate(client, arguments, rate):
    answered = client.lookup("CA", **arguments)
    assert answered.combined_rate_string == rate
    parts = ("country_rate", "state_rate", "county_rate", "city_rate", "combined_district_rate")
    assert sum(answered.rate.as_decimal(part) for part in parts) == Decimal(rate)


def test_the_verbose_body_fits_the_same_model(client):
    full = client.lookup("CA", zip="94105", mode="full").model_dump()
    simple = client.lookup("CA", zip="94105").model_dump()
    assert {"candidates", "components", "resolved_place"} <= set(full)
    assert {key: full[key] for key in simple} == simple


def test_errors_of_the_service_arrive_as_their_classes(connect, client, service):
    with pytest.raises(AuthError) as unauthorized:
        connect(service, "wrong-key").lookup("CA", zip="94105")
    assert unauthorized.value.error_code == "UNAUTHORIZED"
    assert unauthorized.value.support_reference
    with pytest.raises(NotFoundError) as missing:
        client.lookup("CA", zip="00000")
    assert missing.value.error_code == "NOT_FOUND"
    with pytest.raises(NotFoundError) as unsupported:
        client.lookup("ZZ", zip="94105")
    assert unsupported.value.error_code == "STATE_NOT_SUPPORTED"
    with pytest.raises(ValidationError) as invalid:
        client.lookup("CA", zip="9410")
    assert (invalid.value.status_code, invalid.value.error_code) == (400, "INVALID_INPUT")
    with pytest.raises(ValidationError) as conflict:
        client.lookup("CA", zip="94105", as_of="2026-01-01", period="20263")
    assert conflict.value.error_code == "INPUT_CONFLICT"


def test_freshness_covers_every_state(client):
    states = {one.state: one for one in client.freshness().states}
    assert len(states) == 51
    assert all(one.source and one.edition and one.loaded_at for one in states.values())


def test_nexus_records_are_added_updated_listed_and_removed(client, connect):
    # a state of its own for each kind of client: they share one service and one account
    state = {"sync": "WY", "async": "ND"}[connect.kind]
    note = uuid.uuid4().hex
    client.remove_nexus(state)
    client.add_nexus(state, nexus_type="economic", registered_at="2024-05-01", notes=note)
    updated = client.add_nexus(state, nexus_type="economic", address="12 Main St")
    assert (updated.state, updated.registered_at, updated.notes) == (state, "2024-05-01", note)
    client.add_nexus(state)
    listed = client.list_nexus(state)
    assert [one.nexus_type for one in listed.nexus] == ["economic", "physical"]
    assert listed.count == 2
    removed = client.remove_nexus(state.lower(), nexus_type="economic")
    assert (removed.deleted, removed.state, removed.nexus_type) == (1, state, "economic")
    assert client.remove_nexus(state, nexus_type="economic").deleted == 0
    rest = client.remove_nexus(state)
    assert (rest.deleted, rest.nexus_type) == (1, None)
    with pytest.raises(ValidationError) as invalid:
        client.remove_nexus(state, nexus_type="imaginary")
    assert invalid.value.status_code == 400
    with pytest.raises(ValidationError):
        client.remove_nexus("ZZ")
