"""`/openapi.json` describes the interface as it is: addresses, parameters, statuses, headers."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import jsonschema_rs
import pytest
from support.examples import ALL
from support.serving import make_key

from svc_sdk.models import TaxResponse
from svc_tools.service.faults import KINDS, FaultPlan
from svc_tools.service.keys import KeyStore
from svc_tools.service.params import STATES, LookupParams

ADDRESSES = {
    ("/healthz", "get"): "health",
    ("/v1/freshness", "get"): "freshness",
    ("/v1/portability/nexus", "get"): "list_nexus",
    ("/v1/portability/nexus", "post"): "add_nexus",
    ("/v1/portability/nexus/{state}", "delete"): "remove_nexus",
    ("/v1/tax/{state}", "get"): "lookup",
}
OF_ALL = {"200", "400", "403", "500", "503"}
OF_KEYED = OF_ALL | {"401", "402", "429"}
# what only `--faults` sends, on any address that needs a key
ON_PURPOSE = {"404", "422", "502", "504"}
STATUSES = {
    "health": OF_ALL,
    "freshness": OF_KEYED,
    "list_nexus": OF_KEYED,
    "add_nexus": OF_KEYED | {"422"},
    "remove_nexus": OF_KEYED | {"422"},
    "lookup": OF_KEYED | {"404", "424"},
}
# one place a state, in each of the ways of naming one
QUESTIONS = [
    ("TX", {"zip": "78701"}),
    ("WA", {"zip": "98101-1234"}),
    ("CA", {"address": "1 Dr Carlton B Goodlett Pl, San Francisco, CA 94102"}),
    ("NY", {"street": "350 5th Ave", "city": "New York"}),
    ("MN", {"street": "350 S 5th St", "city": "Minneapolis", "zip": "55415"}),
    ("WI", {"lat": "43.0389", "lng": "-87.9065"}),
    ("NJ", {"zip": "07030", "as_of": "2010-01-01"}),
    ("OH", {"zip": "43215", "period": "20261"}),
    ("FL", {"zip": "33101", "as_of": "2031-01-01"}),
    ("CA", {"street": "1 Main St", "city": "Nowhere at all", "zip": "95112"}),
    ("PR", {"zip": "00901"}),
    ("NJ", {"zip": "99999"}),
    ("NJ", {}),
    ("NJ", {"zip": "07030", "location": "Hoboken"}),
    ("NJ", {"zip": "0703"}),
]


@pytest.fixture(scope="module")
def described(shared):
    response = shared.anonymous("GET", "/openapi.json")
    assert response.status_code == 200
    assert response.headers["x-request-id"]
    return response.json()


def operations(described):
    return {
        operation["operationId"]: operation
        for methods in described["paths"].values()
        for operation in methods.values()
    }


@pytest.fixture(scope="module")
def conforms(described):
    """Asserts that an answer is one that its operation describes: status, headers, body."""

    def check(name, response):
        found = operations(described)[name]["responses"].get(str(response.status_code))
        assert found, (name, response.status_code)
        for header, told in found["headers"].items():
            value = response.headers.get(header)
            assert value is not None or not told["required"], header
            if value is not None:
                given = int(value) if told["schema"]["type"] == "integer" else value
                jsonschema_rs.validate(told["schema"], given)
        schema = found["content"]["application/json"]["schema"]
        whole = {**schema, "components": described["components"]}
        validator = jsonschema_rs.Draft202012Validator(whole, validate_formats=True)
        assert not [error.message for error in validator.iter_errors(response.json())]

    return check


def test_every_address_is_described(described):
    found = {
        (path, method): operation["operationId"]
        for path, methods in described["paths"].items()
        for method, operation in methods.items()
    }
    assert found == ADDRESSES
    assert described["components"]["securitySchemes"]["ApiKey"]["name"] == "X-API-Key"
    for name, operation in operations(described).items():
        assert operation["summary"]
        assert operation["tags"]
        assert ("security" in operation) == (name != "health")


def test_every_status_is_described_with_its_body(described):
    schemas = described["components"]["schemas"]
    for name, operation in operations(described).items():
        on_purpose = set() if name == "health" else ON_PURPOSE - STATUSES[name]
        assert operation["responses"].keys() == STATUSES[name] | on_purpose
        for status, response in operation["responses"].items():
            assert response["description"]
            assert ("on purpose" in response["description"]) == (status in on_purpose)
            ((media, content),) = response["content"].items()
            assert media == "application/json"
            model = content["schema"]["$ref"].rpartition("/")[2]
            expected = {"200": model, "422": "HTTPValidationError"}.get(status, "ErrorEnvelope")
            assert model == expected
            assert model in schemas


def test_a_lookup_describes_its_parameters(described):
    operation = operations(described)["lookup"]
    parameters = operation["parameters"]
    assert [one["name"] for one in parameters] == list(LookupParams.model_fields)
    assert [one["required"] for one in parameters] == [True] + [False] * (len(parameters) - 1)
    assert all(one["description"] and one["schema"]["type"] for one in parameters)
    assert "exactly one way" in operation["description"]


def test_a_record_describes_its_fields(described):
    shape = described["components"]["schemas"]["NexusInput"]
    assert shape["required"] == ["state"]
    fields = shape["properties"]
    assert fields.keys() == {"state", "nexus_type", "registered_at", "address", "notes"}
    assert fields["nexus_type"]["enum"] == ["economic", "marketplace", "physical"]
    assert shape["examples"][0]["state"] == "TX"
    state = jsonschema_rs.validator_for(fields["state"])
    assert all(state.is_valid(code) and state.is_valid(code.lower()) for code in STATES)
    assert not any(state.is_valid(code) for code in ("ZZ", "PR", "T", "TEX", "", "TX\n"))


@pytest.mark.parametrize("mode", ["simple", "full"])
@pytest.mark.parametrize(("state", "params"), QUESTIONS)
def test_the_answer_to_a_lookup_is_as_described(shared, conforms, state, params, mode):
    response = shared.client.get(f"/v1/tax/{state}", params={**params, "mode": mode})
    conforms("lookup", response)
    if response.status_code == 200:
        answer = TaxResponse.model_validate_json(response.content)
        assert answer.combined_rate_string
        assert ("candidates" in answer.model_dump()) == (mode == "full")


@pytest.mark.parametrize(
    ("name", "method", "path"),
    [
        ("lookup", "GET", "/v1/tax/NJ?zip=07030"),
        ("add_nexus", "POST", "/v1/portability/nexus"),
    ],
)
def test_what_fails_on_purpose_is_as_described(run, conforms, name, method, path):
    body = {"state": "TX"} if name == "add_nexus" else None
    kinds = sorted(kind for kind in KINDS if kind[0].isdigit())
    service = run(faults=FaultPlan.read(",".join(f"{kind}:8%" for kind in kinds), seed=5))
    seen = set()
    for _ in range(100):
        response = service.client.request(method, path, json=body)
        seen.add(response.headers.get("x-fault"))
        conforms(name, response)
    assert seen == {None, *kinds}


@pytest.mark.parametrize(
    ("given", "status", "code"),
    [
        ({"past_due": True}, 402, "BILLING_REQUIRED"),
        ({"features": "-history"}, 403, "TIER_INSUFFICIENT"),
        ({"rate_per_minute": 1, "burst": 1}, 429, "RATE_LIMITED"),
        ({"monthly_quota": 1}, 429, "QUOTA_EXCEEDED"),
        ({"rate_per_minute": 600, "burst": 5, "monthly_quota": 9}, 200, None),
    ],
)
def test_what_the_plan_of_a_key_decides_is_as_described(service, conforms, given, status, code):
    _, headers = make_key(KeyStore(service.store.database), **given)
    params = {"zip": "07030", "as_of": "2024-01-01"}
    for _ in range(2):
        response = service.anonymous("GET", "/v1/tax/NJ", params=params, headers=headers)
        conforms("lookup", response)
    assert response.status_code == status
    if code:
        assert response.json()["error"]["code"] == code
    assert ("retry-after" in response.headers) == (code == "RATE_LIMITED")
    limited = status in {200, 429}
    assert any(name.startswith(("ratelimit-", "x-quota-")) for name in response.headers) == limited


HOOKS = Path(__file__).parents[1] / "support" / "schemathesis_hooks.py"
CONFIGURATION = """
hooks = {hooks}
headers = {{ X-API-Key = "{key}" }}
generation.deterministic = true
generation.database = "none"
generation.max-examples = {examples}

[warnings]
# that most lookups are 400 or 404 is what random places come to
enabled = false

[[operations]]
include-operation-id = "lookup"
# what the description allows may name the place in no way or in two (400), or a place that is
# not there (404)
checks.positive_data_acceptance.expected-statuses = [200, 400, 404]
"""


def schemathesis(service, folder, **environment):
    """What one run says."""
    configuration = folder / "schemathesis.toml"
    text = CONFIGURATION.format(
        hooks=json.dumps(str(HOOKS)), key=service.key, examples=25 if ALL else 5
    )
    configuration.write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "schemathesis.cli", "--config-file", str(configuration)]
    command += ["run", f"{service.base_url}/openapi.json", "--no-color", "--continue-on-failure"]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        cwd=folder,
        env={**os.environ, "PYTHONWARNINGS": "error", **environment},
    )


@pytest.mark.timeout(360)  # some thousand requests
def test_the_description_and_the_service_agree(service, tmp_path):
    ended = schemathesis(service, tmp_path, SVC_TEST_TOLD=str(tmp_path / "told"))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    for said in ("No issues found", "Operations:       6 selected / 6 total", "Tested: 6"):
        assert said in ended.stdout
    assert "2 covered / 2 selected / 2 total" in ended.stdout
    phases = re.findall(r"✅ (Examples|Coverage|Fuzzing|Stateful)$", ended.stdout, re.MULTILINE)
    assert phases == ["Examples", "Coverage", "Fuzzing", "Stateful"]
    # our own checks took part: an answer of each address went through the client library's model
    assert set((tmp_path / "told").read_text().split()) == {
        "lookup",
        "freshness",
        "health",
        "list_nexus",
        "add_nexus",
        "remove_nexus",
    }
