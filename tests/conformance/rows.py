"""Every table row and numbered rule of the specification, and what is checked of each.

`SPEC-` rows stand in the order of its sections 2 to 9; `WIRE-` rows are the choices made where it
is silent. `row` and `rows` name a test after its row: `pytest -k SPEC --collect-only` reads as the
specification. Section 3 and section 6 say of themselves that there is nothing in them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Mapping

MILWAUKEE = {"location": "Milwaukee", "as_of": "2026-05-01"}
"""A lookup in Wisconsin: a state, a county and a city rate, each dated by its source."""

ROWS = {
    # 2.1 lookup response
    "SPEC-2.1-rate": "a lookup answers with the rate",
    "SPEC-2.1-meta": "and with the diagnostics",
    "SPEC-2.1-combined_rate": "the accessor is the float of the total rate",
    "SPEC-2.1-combined_rate_string": "the accessor is the total rate as on the wire",
    "SPEC-2.1-confidence": "the accessor is one of exact, high, medium, low, none",
    "SPEC-2.1-confidence-review": "a row whose confidence is none of these requires review",
    "SPEC-2.1-warnings": "the accessor is the list of advisories",
    # 2.2 rate object
    "SPEC-2.2-five_decimals": "every rate is a string with five decimals, never a number",
    "SPEC-2.2-state": "the state code",
    "SPEC-2.2-zip": "the postal code",
    "SPEC-2.2-city": "the city",
    "SPEC-2.2-county": "the county",
    "SPEC-2.2-country": "the country",
    "SPEC-2.2-country_rate": "zero for the US",
    "SPEC-2.2-state_rate": "the state's part",
    "SPEC-2.2-county_rate": "the county's part",
    "SPEC-2.2-city_rate": "the city's part",
    "SPEC-2.2-combined_district_rate": "the sum of the special districts",
    "SPEC-2.2-combined_rate": "the total: the five parts add up to it exactly",
    "SPEC-2.2-combined_rate-review": "a total that cannot be, or not of its parts, requires review",
    "SPEC-2.2-freight_taxable": "whether freight is taxable",
    "SPEC-2.2-freight_taxable-words": "a word such as false or Y is read by its meaning",
    "SPEC-2.2-freight_taxable-tax": "delivery has no tax where a word says neither",
    "SPEC-2.2-as_float": "every rate field has its float accessor",
    "SPEC-2.2-rate_to_float": "the helper makes a float of a rate string",
    # 2.3 meta object
    "SPEC-2.3-resolved_via": "how the place was resolved",
    "SPEC-2.3-confidence": "the same as at the top",
    "SPEC-2.3-effective_date": "an ISO date where the source publishes one",
    "SPEC-2.3-effective_date-null": "null where the source publishes none",
    "SPEC-2.3-effective_date_basis": "one of three words, in keeping with the date",
    "SPEC-2.3-period": "deprecated: the quarter that was asked for, else null",
    "SPEC-2.3-warnings": "a list, empty where there is nothing to say",
    # 2.4 warnings
    "SPEC-2.4-items": "a warning is a string or an object with a code",
    "SPEC-2.4-place_input_mismatch": "names the place given and the place resolved",
    "SPEC-2.4-other_shapes": "an advisory of another shape does not cost the rate",
    "SPEC-2.4-review": "a row with an advisory that cannot be read requires review",
    # 2.5 verbose body
    "SPEC-2.5-full": "mode=full adds candidates, components and the resolved place",
    # 2.6 health
    "SPEC-2.6-status": "a status string when the API is alive",
    # 2.7 nexus record
    "SPEC-2.7-identity": "one record for each state and type",
    "SPEC-2.7-types": "physical, marketplace and economic, nothing else",
    # 2.8 model tolerance
    "SPEC-2.8-extra": "unknown fields do not fail and are in model_dump()",
    # 4.1 remove nexus registrations
    "SPEC-4.1-all": "without nexus_type all records of the state are removed",
    "SPEC-4.1-of_type": "with nexus_type only records of that type are removed",
    "SPEC-4.1-state": "the state is in the path",
    "SPEC-4.1-nexus_type": "physical, economic and marketplace are taken",
    "SPEC-4.1-key": "the API key header is required",
    "SPEC-4.1-200": "the deleted count, the state and the nexus_type aimed at",
    "SPEC-4.1-204": "a removal without a count is a removal, and so is one with text",
    "SPEC-4.1-400": "an invalid state or nexus_type has an error body",
    "SPEC-4.1-401": "a missing or an invalid key has an error body",
    "SPEC-4.1-422": "malformed input has the validation body",
    "SPEC-4.1-422-loc": "required: an array",
    "SPEC-4.1-422-msg": "required: a string",
    "SPEC-4.1-422-type": "required: a string",
    "SPEC-4.1-422-input": "what was given, of any type",
    "SPEC-4.1-422-ctx": "an object, where there is one",
    # 4.2 health check
    "SPEC-4.2-healthz": "GET /healthz has the status and needs no key",
    "SPEC-4.2-damaged": "503 without a status where the database is damaged",
    # 4.3 rate lookup
    "SPEC-4.3-any_date": "from the first day of the calendar to the last",
    "SPEC-4.3-inputs": "the inputs are those of the client's lookup",
    "SPEC-4.3-mode": "the query parameter mode accepts full",
    # 4.4 client library contract
    "SPEC-4.4-names": "Svc, AsyncSvc, SvcError in svc_sdk",
    "SPEC-4.4-dependencies": "an HTTP client and a data-model library, nothing else",
    "SPEC-4.4-surface": "AsyncSvc has the surface of Svc",
    "SPEC-4.4-api_key": "required; an empty one raises ValueError",
    "SPEC-4.4-base_url": "a trailing slash is stripped",
    "SPEC-4.4-timeout": "10 seconds unless given, for each request",
    "SPEC-4.4-timeout-attempt": "it bounds one whole attempt, to the last byte",
    "SPEC-4.4-max_retries": "3 unless given",
    "SPEC-4.4-http_client": "an injected client is used and never closed",
    "SPEC-4.4-lookup-address": "state, address, optional city, optional zip",
    "SPEC-4.4-lookup-zip": "state and zip",
    "SPEC-4.4-lookup-place": "state and location",
    "SPEC-4.4-lookup-coordinates": "state, lat and lng",
    "SPEC-4.4-lookup-one_mode": "none or two modes raise ValueError and send nothing",
    "SPEC-4.4-lookup-as_of": "a date makes the lookup historical",
    "SPEC-4.4-lookup-period": "a year and quarter pins the period",
    "SPEC-4.4-lookup-period-form": "2026Q3 is sent as 20263",
    "SPEC-4.4-health": "a method calls GET /healthz",
    "SPEC-4.4-context": "leaving the context closes the client's own HTTP client",
    "SPEC-4.4-closed": "a call of a closed client raises SvcError",
    "SPEC-4.4-awaitable": "every I/O method of AsyncSvc is awaitable",
    "SPEC-4.4-gather": "one failed lookup does not cancel the others",
    # 5 authentication
    "SPEC-5.1": "calls are authenticated with an API key",
    "SPEC-5.2-missing": "a missing key yields 401",
    "SPEC-5.2-invalid": "an invalid key yields 401",
    "SPEC-5.3-402": "an account past due yields 402",
    "SPEC-5.3-403": "a plan without the feature yields 403",
    "SPEC-5.4": "the client takes the key, and rejects an empty one locally",
    "SPEC-5.5": "the header is X-API-Key (WIRE); no key is ever in a URL",
    "SPEC-5.5-echo": "a key that a service echoes is removed, escaped or not",
    # 7 errors
    "SPEC-7-401": "AuthError",
    "SPEC-7-402": "PaymentRequiredError",
    "SPEC-7-403": "ForbiddenError",
    "SPEC-7-404": "NotFoundError: the place could not be resolved",
    "SPEC-7-429": "RateLimitError with retry_after",
    "SPEC-7-400": "ValidationError",
    "SPEC-7-422": "ValidationError",
    "SPEC-7-5xx": "ServiceError",
    "SPEC-7-base": "every exception is an SvcError",
    "SPEC-7-status_code": "every exception carries the status",
    "SPEC-7-error_code": "every exception carries the machine-readable code",
    "SPEC-7-support_reference": "every exception carries what to quote to support",
    "SPEC-7-response_body": "every exception carries the parsed body",
    "SPEC-7-shapes": "code, message and reference are found in every usual body",
    "SPEC-7.1": "a 4xx other than 429 raises at once",
    "SPEC-7.2": "429 and 5xx are retried before the exception is raised",
    "SPEC-7.3-400": "nexus removal: 400 for an invalid state or type",
    "SPEC-7.3-422": "nexus removal: 422 with the validation body for malformed input",
    # 8 limits
    "SPEC-8-timeout": "10.0 seconds for each request by default",
    "SPEC-8-max_retries": "3 retries by default",
    "SPEC-8-retried-429": "429 is retried",
    "SPEC-8-retried-5xx": "5xx is retried",
    "SPEC-8-retried-timeout": "a timeout is retried",
    "SPEC-8-backoff": "0.5, 1, 2, 4, 8, 16, then 30 seconds",
    "SPEC-8-retry_after": "the header's value is the delay",
    "SPEC-8-retry_after-long": "an hour and more is honored, with one line in the log",
    # 9 versioning
    "SPEC-9.1": "paths begin with /v1/, the health path does not",
    "SPEC-9.2": "the client library says its own version",
    "SPEC-9.3": "rate fields stay five-decimal strings, never floats",
    "SPEC-9.4": "effective_date and its basis are there beside period",
    "SPEC-9.5": "new fields of the API do not break the client",
    # requests, where the specification is silent
    "WIRE-request-lookup": "GET /v1/tax/{state}, the code in any case",
    "WIRE-request-segment": "the client encodes the state into one segment of the path",
    "WIRE-request-sent": "each mode of the client is sent with its own parameters alone",
    "WIRE-request-address": "one line of 10 to 200 characters",
    "WIRE-request-street": "street and city, zip if you like",
    "WIRE-request-zip": "five digits or ZIP+4",
    "WIRE-request-location": "a name of 1 to 64 characters",
    "WIRE-request-coordinates": "lat and lng",
    "WIRE-request-as_of": "YYYY-MM-DD",
    "WIRE-request-period": "YYYYQ",
    "WIRE-request-mode": "full or simple, simple by default",
    "WIRE-request-key": "X-API-Key, or Authorization: Bearer",
    "WIRE-request-identity": "User-Agent and Accept",
    "WIRE-request-nexus-post": "adds a record, or updates the one of that state and type",
    "WIRE-request-nexus-get": "the records in order of state then type, and their count",
    "WIRE-request-nexus-get-absent": "a service without the list is one that cannot list",
    "WIRE-request-nexus-delete": "removing what is not there is 200 with deleted 0",
    "WIRE-request-health": "status ok, no key needed",
    "WIRE-request-freshness": "per state: source, edition, loaded_at, coverage",
    # the client, where the specification is silent
    "WIRE-client-methods": "lookup, health, nexus in three, freshness, close or aclose",
    "WIRE-client-timeout": "applies through an injected client too",
    "WIRE-client-limit": "a body is read within a limit, packed or unpacked",
    "WIRE-client-list": "a list of records is iterated and counted",
    "WIRE-client-base_url": "the default is where svc-tools serve listens",
    "WIRE-client-no_address": "where none was given the connection error says what to do",
    "WIRE-client-transport": "timeouts and failures to connect end in TransportError",
    "WIRE-client-reset": "a reset connection and a broken body are not tried again by one call",
    "WIRE-client-bulk": "bulk lookups try these again, within max_retries + 1 attempts a place",
    "WIRE-client-quota": "a used-up quota is retried as every 429",
    "WIRE-client-retry_after": "the body sets the attribute, the header alone the delay",
    "WIRE-client-redirect": "a redirect is an SvcError and is not followed",
    "WIRE-client-other": "a status that section 7 does not name is a plain SvcError",
    "WIRE-client-reference": "the body's reference, else the X-Request-Id header",
    "WIRE-client-body": "the body is the parsed JSON, else its text, cut",
    "WIRE-client-pickle": "errors pickle",
    "WIRE-client-required": "the rate is required in an answer, the meta is not",
    "WIRE-client-malformed": "a rate that is no rate is a ServiceError with status 200",
    "WIRE-client-verbatim": "a rate string stays as it came, whatever its decimals",
    "WIRE-client-number": "a rate as a number keeps its own digits",
    "WIRE-client-both_dates": "as_of with period is passed on",
    # answers
    "WIRE-answer-missing": "a missing rate is None, never zero",
    "WIRE-answer-resolved_via": "the finest thing that decided",
    "WIRE-answer-codes": "our warnings carry codes and the fields behind them",
    "WIRE-answer-full": "candidates, components and the place, each with its fields",
    "WIRE-answer-subset": "the simple body is a subset of the full one",
    "WIRE-answer-request_id": "every answer carries X-Request-Id",
    # errors
    "WIRE-error-envelope": "code, message and support_reference: the request's id",
    "WIRE-error-MISSING_INPUT": "400 where no place is named",
    "WIRE-error-INVALID_INPUT": "400 where a value is not understood",
    "WIRE-error-INPUT_CONFLICT": "400 where the place is named twice",
    "WIRE-error-UNAUTHORIZED": "401",
    "WIRE-error-BILLING_REQUIRED": "402",
    "WIRE-error-TIER_INSUFFICIENT": "403",
    "WIRE-error-STATE_NOT_SUPPORTED": "404 for what is no state",
    "WIRE-error-NOT_FOUND": "404 for a place that is not there",
    "WIRE-error-RATE_LIMITED": "429 with Retry-After",
    "WIRE-error-QUOTA_EXCEEDED": "429 without Retry-After",
    "WIRE-error-TEMPORARILY_UNAVAILABLE": "503 where the service cannot serve just now",
    "WIRE-error-INTERNAL": "a 500 is a ServiceError",
    "WIRE-error-UPSTREAM_ERROR": "a 502 is a ServiceError",
    "WIRE-error-retry_after": "seconds or an HTTP date, on 429 and 5xx alike",
    "WIRE-error-no_json": "a 200 that is no JSON is a ServiceError with the body",
    "WIRE-error-wrong_shape": "a 200 of the wrong shape is a ServiceError with the body",
}
"""Id -> the sentence that is checked, in the order of the documents."""


def row(name: str) -> pytest.MarkDecorator:
    """Name a test after one row; the test takes the id as `spec`."""
    return pytest.mark.parametrize("spec", [pytest.param(name, id=_title(name))])


def rows(table: Mapping[str, object]) -> pytest.MarkDecorator:
    """Name a test after several rows; it takes the id as `spec` and its value as `expected`."""
    return pytest.mark.parametrize(
        ("spec", "expected"),
        [pytest.param(name, value, id=_title(name)) for name, value in table.items()],
    )


def _title(name: str) -> str:
    return f"{name}: {ROWS[name]}"
