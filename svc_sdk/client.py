"""`Svc`: the client for ordinary code (SPEC 4.4)."""

from __future__ import annotations

from time import sleep
from typing import TYPE_CHECKING, Literal, NoReturn, Self

import httpx

from svc_sdk import _requests, _responses
from svc_sdk._attempt import FAILURES, read_body, within
from svc_sdk._process import OfProcess
from svc_sdk._retry import decide
from svc_sdk._settings import (
    CLOSED,
    DEFAULT_BASE_URL,
    Settings,
    as_secret,
    no_cookies,
)
from svc_sdk.errors import SvcError

if TYPE_CHECKING:
    from datetime import date
    from types import TracebackType

    import httpx2
    from pydantic import SecretStr

    from svc_sdk._responses import Answer, Failure, Read, Reply
    from svc_sdk.models import (
        Freshness,
        HealthResponse,
        NexusList,
        NexusRecord,
        NexusRemoval,
        TaxResponse,
    )

__all__ = ["Svc"]


class Svc(OfProcess[httpx.Client]):
    """A client of the rate lookup service.

    Use it as a context manager, or call `close()`. It may be shared by threads.

    Args:
        api_key: the key of your account; sent as a header with every request, shown nowhere.
        base_url: the address of the service; a trailing slash is dropped.
        timeout: seconds allowed for one attempt as a whole: connecting, sending, and the complete
            response. Waiting for a free connection is not counted.
        max_retries: how often a 429, a 5xx, a timeout or a failure to connect is tried again.
        http_client: an HTTP client of your own, of httpx or httpx2 (`Client`): it is used with
            its headers, proxies and certificates, and never closed by this library. A forked
            process needs its own.

    Raises:
        ValueError: the key is empty, or the address, timeout or number of retries is not usable,
            or a proxy or certificates that the environment names.
        TypeError: an argument of the wrong type.
    """

    _at_first_request = ("encodings.idna",)

    def __init__(
        self,
        api_key: str | SecretStr,
        *,
        base_url: str = DEFAULT_BASE_URL,
        timeout: float = 10.0,
        max_retries: int = 3,
        http_client: httpx.Client | httpx2.Client | None = None,
    ) -> None:
        api_key = as_secret(api_key)
        self._given = Settings.checked(api_key, base_url, timeout, max_retries)
        self._use(http_client, httpx.Client)

    def lookup(
        self,
        state: str,
        *,
        address: str | None = None,
        city: str | None = None,
        zip: str | None = None,  # noqa: A002 - the specification's name (SPEC 4.4)
        location: str | None = None,
        lat: float | None = None,
        lng: float | None = None,
        as_of: date | str | None = None,
        period: str | None = None,
        mode: Literal["simple", "full"] = "simple",
    ) -> TaxResponse:
        """The sales-tax rate of one place (SPEC 4.4).

        Exactly one input mode: an address (with city and ZIP, if known), a ZIP alone, a place
        name, or coordinates.

        Args:
            state: two-letter state code; whether it exists is the service's to say.
            address: street address; the whole line, or the street alone when `city` is given.
            city: city of the address.
            zip: ZIP or ZIP+4, alone or with an address.
            location: place name.
            lat: latitude in degrees, with `lng`.
            lng: longitude in degrees, with `lat`.
            as_of: the rate in force on this date; an ISO string or a datetime counts as its
                calendar date. Today's rate where left out.
            period: a quarter instead of a date, such as "2026Q3" or "20263" (advanced).
            mode: "full" adds candidates, components and the resolved place.

        Returns:
            The rate and how it was found; rates are fractions ("0.08250" is 8.25%).

        Raises:
            ValueError: no input mode or several, or a value that cannot be right; nothing is sent.
            TypeError: an argument of the wrong type; nothing is sent.
            SvcError: the call failed (SPEC 7), after the retries of SPEC 8.
        """
        call = _requests.lookup_call(
            state,
            address=address,
            city=city,
            zip=zip,
            location=location,
            lat=lat,
            lng=lng,
            as_of=as_of,
            period=period,
            mode=mode,
        )
        return self._send(call, _responses.parse_lookup)

    def health(self) -> HealthResponse:
        """Whether the service is alive (SPEC 4.2).

        Raises:
            SvcError: it did not say so.
        """
        return self._send(_requests.HEALTH, _responses.parse_health)

    def freshness(self) -> Freshness:
        """How old and how complete the service's data is, per state.

        Raises:
            SvcError: the call failed (SPEC 7).
        """
        return self._send(_requests.FRESHNESS, _responses.parse_freshness)

    def list_nexus(self, state: str | None = None, nexus_type: str | None = None) -> NexusList:
        """The account's nexus registrations, ordered by state, then type: iterate over the result.

        Args:
            state: only those of this state.
            nexus_type: only those of this type: physical, economic or marketplace.

        Raises:
            NotFoundError: also where a service does not list (404, or 405).
            SvcError: the call failed (SPEC 7).
        """
        call = _requests.list_nexus_call(state, nexus_type)
        return self._send(call, _responses.parse_nexus_list)

    def add_nexus(
        self,
        state: str,
        *,
        nexus_type: str = "physical",
        registered_at: date | str | None = None,
        address: str | None = None,
        notes: str | None = None,
    ) -> NexusRecord:
        """Add a nexus registration, or update the one of this state and type.

        Args:
            state: two-letter state code.
            nexus_type: physical, economic or marketplace.
            registered_at: the date of the registration.
            address: the place that gives rise to it.
            notes: free text.

        Raises:
            ValueError: an empty state or type, or an invalid date; nothing is sent.
            SvcError: the call failed (SPEC 7).
        """
        call = _requests.add_nexus_call(
            state,
            nexus_type=nexus_type,
            registered_at=registered_at,
            address=address,
            notes=notes,
        )
        return self._send(call, _responses.parse_nexus_record)

    def remove_nexus(self, state: str, nexus_type: str | None = None) -> NexusRemoval:
        """Remove nexus registrations of a state (SPEC 4.1).

        Removing what is not there is no error: `deleted` is 0 then, and `None` where the service
        accepts the removal without a count (such as 202 or 204). After a lost response the call is
        sent again (SPEC 8), so `deleted` counts what the last try removed.

        Args:
            state: two-letter state code.
            nexus_type: only records of this type; where left out, ALL records of the state.

        Raises:
            ValueError: an empty state or type; nothing is sent.
            SvcError: the call failed (SPEC 7).
        """
        call = _requests.remove_nexus_call(state, nexus_type)
        return self._send(call, _responses.parse_nexus_removal)

    def close(self) -> None:
        """Close the connections; an injected HTTP client is left open (SPEC 4.4)."""
        if self._owns_http and not self._ends_unmade():
            self._http.close()

    def __enter__(self) -> Self:
        """The client itself; it is closed when the block ends."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the connections."""
        self.close()

    @property
    def base_url(self) -> str:
        """The address of the service, without a trailing slash."""
        return self._settings.base_url

    def __repr__(self) -> str:
        """The address only: the key is shown nowhere."""
        settings = getattr(self, "_settings", None)  # absent while the constructor refuses
        return f"{type(self).__name__}(base_url={settings.base_url if settings else None!r})"

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled: the pickle would hold the key."""
        raise TypeError(f"{type(self).__name__} cannot be pickled; make one where it is used")

    def _new_http(self) -> httpx.Client:
        route = self._settings.route
        return httpx.Client(
            timeout=self._settings.timeout,
            follow_redirects=False,
            trust_env=False,
            transport=httpx.HTTPTransport(verify=route.tls, proxy=route.proxy),
            cookies=no_cookies(),
        )

    def _send(self, call: _requests.Call, read: Read[Answer]) -> Answer:
        attempt = 0
        while True:
            outcome = self._exchange(call)
            wait = decide(attempt, self._settings.max_retries, outcome)
            attempt += 1
            if wait is None:
                break
            self._settings.log_wait(wait)
            sleep(wait)
        try:
            return read(outcome, attempt)
        except SvcError as error:
            # the frames below hold the parsed body
            raise error.with_traceback(None) from None

    def _exchange(self, call: _requests.Call) -> Reply | Failure:
        """Make one attempt: in this process where it is served here, else over HTTP.

        The connection is given back or closed, whatever happens. No key is in what is returned.
        """
        if served := self._served(call):
            return served
        http = self._http
        request = self._settings.request(http, call)
        response: httpx.Response | None = None
        try:
            with within(request, self._settings.timeout) as deadline:
                response = http.send(request, stream=True, follow_redirects=False)
                body = read_body(response, deadline)
        except httpx.HTTPStatusError as error:  # an event hook of the injected client
            return self._settings.reply(error.response, b"")
        except FAILURES as error:
            if response is None or response.is_success:
                return self._settings.failure(error)
            body = b""  # the status alone decides
        except RuntimeError:
            if not http.is_closed:
                raise
            return CLOSED
        finally:
            if response is not None:
                response.close()
        return self._settings.reply(response, body)
