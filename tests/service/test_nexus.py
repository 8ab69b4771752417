"""The nexus records of an account over HTTP (SPEC 4.1, WIRE "Requests")."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svc_sdk.models import NexusList, NexusRecord, NexusRemoval
from svc_tools.service.keys import KeyStore, hash_key, new_key
from svc_tools.service.params import NEXUS_TYPES, STATES

PATH = "/v1/portability/nexus"
FIELDS = ["state", "nexus_type", "registered_at", "address", "notes", "created_at", "updated_at"]


@pytest.fixture
def service(shared_on_both):
    """A service without records, over a database of each kind."""
    for record in shared_on_both.store.list_nexus("local"):
        shared_on_both.store.remove_nexus("local", record["state"])
    return shared_on_both


def put(service, **body):
    response = service.client.post(PATH, json=body)
    assert response.status_code == 200, response.text
    return response.json()


def listed(service, **params):
    response = service.client.get(PATH, params=params)
    assert response.status_code == 200, response.text
    return response.json()


def test_a_record_is_kept_as_given(service):
    given_fields = {
        "state": "TX",
        "nexus_type": "economic",
        "registered_at": "2024-02-29",
        "address": "500 W 2nd St\nAustin",
        "notes": "Zürich \N{EURO SIGN} 'quoted'; --",
    }
    record = put(service, **given_fields)
    assert list(record) == FIELDS
    assert {name: record[name] for name in given_fields} == given_fields
    assert record["created_at"] == record["updated_at"]
    assert record["created_at"].endswith("Z")
    assert listed(service) == {"nexus": [record], "count": 1}
    assert NexusRecord.model_validate(record).registered_at == "2024-02-29"
    assert NexusList.model_validate(listed(service)).count == 1


def test_little_is_required(service):
    record = put(service, state="tx")
    assert (record["state"], record["nexus_type"]) == ("TX", "physical")
    assert record["registered_at"] is record["address"] is record["notes"] is None


def test_the_same_state_and_type_is_the_same_record(service):
    first = put(service, state="TX", registered_at="2024-01-01", address="A", notes="N")
    again = put(service, state="tx", nexus_type="physical", registered_at="2024-01-01")
    assert {**again, "updated_at": None} == {**first, "updated_at": None}
    assert again["updated_at"] >= first["updated_at"]
    assert listed(service)["count"] == 1


def test_a_given_field_replaces_and_an_omitted_one_stays(service):
    put(service, state="TX", registered_at="2024-01-01", address="A", notes="N")
    record = put(service, state="TX", notes="M")
    assert (record["registered_at"], record["address"], record["notes"]) == ("2024-01-01", "A", "M")
    record = put(service, state="TX", address=None)
    assert (record["registered_at"], record["address"], record["notes"]) == (
        "2024-01-01",
        None,
        "M",
    )
    record = put(service, state="TX")
    assert (record["registered_at"], record["address"], record["notes"]) == (
        "2024-01-01",
        None,
        "M",
    )


def test_records_come_ordered_by_state_then_type_and_filtered(service):
    for state, kind in [
        ("WA", "physical"),
        ("CA", "physical"),
        ("CA", "economic"),
        ("NY", "marketplace"),
    ]:
        put(service, state=state, nexus_type=kind)
    order = [(row["state"], row["nexus_type"]) for row in listed(service)["nexus"]]
    assert order == [
        ("CA", "economic"),
        ("CA", "physical"),
        ("NY", "marketplace"),
        ("WA", "physical"),
    ]
    assert listed(service, state="ca")["count"] == 2
    assert listed(service, nexus_type="physical")["count"] == 2
    assert listed(service, state="CA", nexus_type="physical")["count"] == 1
    assert listed(service, state="TX") == {"nexus": [], "count": 0}


def remove(service, path):
    response = service.client.delete(f"{PATH}/{path}")
    assert response.status_code == 200, response.text
    NexusRemoval.model_validate(response.json())
    return response.json()


def test_removing_one_type_leaves_the_others(service):
    for kind in NEXUS_TYPES:
        put(service, state="TX", nexus_type=kind)
    put(service, state="CA", nexus_type="economic")
    removed = remove(service, "tx?nexus_type=economic")
    assert removed == {"deleted": 1, "state": "TX", "nexus_type": "economic"}
    left = [(row["state"], row["nexus_type"]) for row in listed(service)["nexus"]]
    assert left == [("CA", "economic"), ("TX", "marketplace"), ("TX", "physical")]


def test_removing_a_state_removes_all_its_types(service):
    for kind in NEXUS_TYPES:
        put(service, state="TX", nexus_type=kind)
    put(service, state="CA")
    assert remove(service, "TX") == {"deleted": 3, "state": "TX", "nexus_type": None}
    assert [row["state"] for row in listed(service)["nexus"]] == ["CA"]


def test_removing_what_is_not_there_is_no_error(service):
    assert remove(service, "TX") == {"deleted": 0, "state": "TX", "nexus_type": None}


def test_a_removed_record_comes_back_new(service):
    put(service, state="TX", notes="old")
    remove(service, "TX")
    assert put(service, state="TX")["notes"] is None


def all_types(service):
    """One record of each type, and a listing that says so."""
    for kind in NEXUS_TYPES:
        put(service, state="TX", nexus_type=kind)
    return listed(service)


@pytest.mark.parametrize(
    ("query", "items"),
    [
        ("nexustype=economic", [("nexustype", "extra_forbidden", "economic")]),
        ("type=economic", [("type", "extra_forbidden", "economic")]),
        ("Nexus_Type=economic", [("Nexus_Type", "extra_forbidden", "economic")]),
        ("nexus_type=economic&x", [("x", "extra_forbidden", "")]),
        ("%FF=economic", [("\N{REPLACEMENT CHARACTER}", "extra_forbidden", "economic")]),
        ("nexus_type=economic&nexus_type=physical", [("nexus_type", "repeated", "physical")]),
        ("nexus_type=economic&nexus_type=economic", [("nexus_type", "repeated", "economic")]),
        ("nexus_type=%FF", [("nexus_type", "string_unicode", "\N{REPLACEMENT CHARACTER}")]),
        (
            "state=TX&nexus_type=&nexus_type=digital&kind=economic",
            [
                ("state", "extra_forbidden", "TX"),
                ("nexus_type", "repeated", "digital"),
                ("kind", "extra_forbidden", "economic"),
            ],
        ),
    ],
)
def test_a_malformed_removal_is_a_422_and_removes_nothing(service, query, items):
    before = all_types(service)
    response = service.client.delete(f"{PATH}/TX?{query}")
    assert response.status_code == 422
    assert response.headers["x-request-id"]
    detail = response.json()["detail"]
    assert [(one["loc"], one["type"], one["input"]) for one in detail] == [
        (["query", name], kind, given) for name, kind, given in items
    ]
    for one in detail:
        assert one.keys() == {"loc", "msg", "type", "input", "ctx"}
        assert f"expected {one['ctx']['expected']}. Nothing was removed" in one["msg"]
        assert "misspelt nexus_type" in one["msg"]
    assert listed(service) == before


def test_thousands_of_mistakes_get_a_short_answer(shared):
    response = shared.client.delete(f"{PATH}/TX?{'&'.join(['a='] * 2_000)}")
    assert response.status_code == 422
    assert len(response.json()["detail"]) == 10
    response = shared.client.delete(f"{PATH}/TX?{'a' * 5_000}={'b' * 2_000}")
    assert response.status_code == 422
    assert len(response.content) < 1_000


names = st.text(st.characters(codec="utf-8"), max_size=12).filter(lambda name: name != "nexus_type")


@settings(max_examples=25, deadline=None)
@given(st.dictionaries(names, st.text(max_size=8).map(lambda text: text.encode(errors="replace"))))
def test_no_unknown_parameter_removes_anything(shared_on_both, unknown):
    put(shared_on_both, state="VT")
    response = shared_on_both.client.delete(f"{PATH}/VT", params=unknown)
    assert response.status_code == (422 if unknown else 200)
    assert listed(shared_on_both, state="VT")["count"] == (1 if unknown else 0)
    remove(shared_on_both, "VT")


def test_a_type_that_stands_in_a_body_does_not_remove_the_others(service):
    for nexus_type in ("economic", "physical"):
        service.client.post(PATH, json={"state": "TX", "nexus_type": nexus_type})
    response = service.client.request("DELETE", f"{PATH}/TX", json={"nexus_type": "economic"})
    assert response.status_code == 422
    (one,) = response.json()["detail"]
    assert one["loc"] == ["body"]
    assert "?nexus_type=economic" in one["msg"]
    assert service.client.get(PATH).json()["count"] == 2


@pytest.mark.parametrize("query", ["?nexus_type=", "?nexus_type=Economic", "?nexus_type=all"])
def test_a_removal_of_an_unknown_type_removes_nothing(service, query):
    put(service, state="TX", nexus_type="physical")
    response = service.client.delete(f"{PATH}/TX{query}")
    assert response.status_code == 400
    assert response.json()["error"]["code"] == "INVALID_INPUT"
    assert listed(service)["count"] == 1


@pytest.mark.parametrize("state", ["ZZ", "PR", "Texas", "T", "48", "TX%20", "%E2%82%AC%E2%82%AC"])
def test_a_state_that_does_not_exist(shared, state):
    response = shared.client.delete(f"{PATH}/{state}")
    assert response.status_code == 400
    error = response.json()["error"]
    assert error["code"] == "INVALID_INPUT"
    assert error["message"].startswith("state: given ")
    assert "AK, AL, AR" in error["message"]


@pytest.mark.parametrize(
    ("body", "wrong"),
    [
        ({"state": "ZZ"}, "state"),
        ({"state": ""}, "state"),
        ({"state": "Texas"}, "state"),
        ({"state": "TX", "nexus_type": "Physical"}, "nexus_type"),
        ({"state": "TX", "nexus_type": ""}, "nexus_type"),
    ],
)
def test_a_record_of_an_unknown_state_or_type(service, body, wrong):
    response = service.client.post(PATH, json=body)
    assert response.status_code == 400
    assert response.json()["error"]["detail"]["parameter"] == wrong
    assert listed(service)["count"] == 0


@pytest.mark.parametrize(
    "query",
    ["?state=ZZ", "?state=", "?nexus_type=", "?nexus_type=x", "?state=TX&state=CA"],
)
def test_a_filter_that_is_not_understood(shared, query):
    response = shared.client.get(PATH + query)
    assert response.status_code == 400
    assert response.json()["error"]["code"] == "INVALID_INPUT"


def test_all_51_states_can_have_records(service):
    assert len(set(STATES)) == 51
    for state in STATES:
        service.store.put_nexus("local", state, "physical", {})
    assert [row["state"] for row in listed(service)["nexus"]] == sorted(STATES)


def test_accounts_do_not_see_each_other(service):
    other = new_key()
    KeyStore(service.store.database).create(hash_key(other), account="other")
    headers = {"X-API-Key": other.get_secret_value()}
    put(service, state="TX", notes="mine")
    assert service.anonymous("GET", PATH, headers=headers).json()["count"] == 0
    theirs = service.anonymous("POST", PATH, headers=headers, json={"state": "TX"}).json()
    assert theirs["notes"] is None
    assert service.anonymous("DELETE", f"{PATH}/TX", headers=headers).json()["deleted"] == 1
    assert listed(service)["nexus"][0]["notes"] == "mine"


def test_many_callers_writing_one_record_never_fail(service):
    def write(number):
        if number % 7 == 6:
            return service.client.delete(f"{PATH}/TX")
        return service.client.post(PATH, json={"state": "TX", "notes": str(number)})

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(write, range(56)))
    assert {answer.status_code for answer in answers} == {200}
    assert listed(service)["count"] in {0, 1}


characters = st.characters(codec="utf-8", exclude_characters="\0")
fields = st.fixed_dictionaries(
    {},
    optional={
        "registered_at": st.none() | st.dates().map(str),
        "address": st.none() | st.text(characters, max_size=30),
        "notes": st.none() | st.text(characters, max_size=30),
    },
)


@settings(max_examples=25, deadline=None)
@given(st.lists(fields, min_size=1, max_size=4))
def test_a_record_is_the_sum_of_its_updates(shared_on_both, updates):
    shared = shared_on_both
    remove(shared, "VT")
    expected = {"registered_at": None, "address": None, "notes": None}
    for update in updates:
        expected |= update
        record = put(shared, state="VT", **update)
    assert {name: record[name] for name in expected} == expected
    assert listed(shared, state="VT")["nexus"] == [record]
    remove(shared, "VT")
