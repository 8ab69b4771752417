"""`/openapi.json` describes the interface as it is."""

from __future__ import annotations

import pytest

from svc_tools.service.lookups import PARAMETERS

ADDRESSES = {
    ("/healthz", "get"),
    ("/v1/freshness", "get"),
    ("/v1/portability/nexus", "get"),
    ("/v1/portability/nexus", "post"),
    ("/v1/portability/nexus/{state}", "delete"),
    ("/v1/tax/{state}", "get"),
}


@pytest.fixture(scope="module")
def described(shared):
    response = shared.anonymous("GET", "/openapi.json")
    assert response.status_code == 200
    assert response.headers["x-request-id"]
    return response.json()


def operations(described):
    return {
        (path, method): operation
        for path, methods in described["paths"].items()
        for method, operation in methods.items()
    }


def test_every_address_is_described(described):
    assert operations(described).keys() == ADDRESSES


def test_a_lookup_describes_its_parameters(described):
    parameters = operations(described)["/v1/tax/{state}", "get"]["parameters"]
    assert [one["name"] for one in parameters] == ["state", *PARAMETERS]
    assert [one["required"] for one in parameters] == [True] + [False] * len(PARAMETERS)
    assert all(one["description"] and one["schema"]["type"] for one in parameters)


def test_answers_have_models(described):
    schemas = described["components"]["schemas"]
    for where, operation in operations(described).items():
        for status, response in operation["responses"].items():
            ((media, content),) = response["content"].items()
            assert media == "application/json", where
            name = content["schema"]["$ref"].rpartition("/")[2]
            assert name in schemas
            expected = {"200": name, "422": "HTTPValidationError"}.get(status, "ErrorEnvelope")
            assert name == expected, (where, status)
    assert "combined_rate" in schemas["Rate"]["properties"]
    assert schemas["ErrorBody"]["required"] == ["code", "message", "support_reference"]


def test_all_but_health_need_a_key(described):
    assert described["components"]["securitySchemes"]["ApiKey"]["name"] == "X-API-Key"
    for (path, _), operation in operations(described).items():
        assert ("security" in operation) == path.startswith("/v1/")


def test_a_record_describes_its_fields(described):
    assert described["components"]["schemas"]["NexusInput"]["required"] == ["state"]
    properties = described["components"]["schemas"]["NexusInput"]["properties"]
    assert properties.keys() == {"state", "nexus_type", "registered_at", "address", "notes"}
