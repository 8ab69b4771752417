"""The geocoders that can be chosen: the Census Bureau's, one of geopy, or a function.

The addresses of a run are sent one after the other, or batch after batch, and each result is passed
on at once, so that an interrupted run loses none.
"""

from __future__ import annotations

import random
import re
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from concurrent.futures import Future
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from urllib.parse import urlsplit

import httpx

from svc_sdk.wire import Failure, Reply, decide
from svc_tools.config import geocoder, geocoder_url
from svc_tools.geocoding import census
from svc_tools.geocoding.addresses import AddressMatch
from svc_tools.lookup.options import is_geocoded
from svc_tools.show.display import plain
from svc_tools.tables.places import is_in_us

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import TypeAlias

    from svc_tools.geocoding.addresses import StreetAddress
    from svc_tools.lookup.computed import Ends

    Take: TypeAlias = Callable[[Mapping[StreetAddress, AddressMatch]], None]

_TIMEOUT = 120.0
"""Seconds for a batch: the service may take minutes for its largest ones."""
_RETRIES = 3
_LONGEST_PAUSE = 60.0
_POLL = 0.1
"""Seconds between two looks of a waiting run at what may end it."""
_FAILURES = 3
"""How many requests in a row may fail before the run stops: batches, or addresses of a geocoder of
the user."""
_PARTS = 10
"""In how many parts a batch that failed is sent again."""
_COMMIT = 0.1
"""Seconds of which the results are stored together: a slow geocoder's each by itself."""


class GeocoderError(Exception):
    """A geocoder failed in this run; the message gives the reason.

    Attributes:
        partly: whether it was used for all other addresses.
    """

    def __init__(self, reason: str, *, partly: bool = False) -> None:
        super().__init__(reason)
        self.partly = partly


class Geocoder(ABC):
    """A geocoder.

    Attributes:
        name: the name that its results are stored under; empty where they cannot be.
        where: what it is and where addresses go, in words.
        not_stored: why its results cannot be stored, in words; empty where they can.
        last_error: the last error that an address raised, in words; empty without any.
    """

    name: str
    where: str
    not_stored: str = ""
    last_error: str = ""

    @abstractmethod
    def find(self, addresses: Sequence[StreetAddress], ends: Ends, take: Take) -> None:
        """Pass on what it finds of the addresses, a few at a time; end early where the run does.

        Raises:
            GeocoderError: it cannot be used any further in this run, or failed for some addresses.
        """


def chosen_geocoder(choice: object) -> Geocoder | None:
    """The geocoder of an argument `geocode`; `None` where none is wanted.

    Args:
        choice: "census", "off" or `False`, a geocoder of geopy, a function of an address; `None`
            for what `SVC_GEOCODE` says.

    Raises:
        ConfigurationError: `SVC_GEOCODE` or `SVC_GEOCODE_URL` cannot be used.
    """
    if choice is None:
        choice = geocoder()
    if not is_geocoded(choice):
        return None
    if choice == census.SERVICE:
        return Census(geocoder_url())
    return OfUser(choice)


class _BatchError(Exception):
    """A batch failed; `is_final` where the geocoder asks for a longer pause than a run makes."""

    def __init__(self, reason: str, *, is_final: bool) -> None:
        super().__init__(reason)
        self.is_final = is_final


class _Batch(NamedTuple):
    """Addresses of one request: sent for the first time, as part of one that failed, or again."""

    addresses: Sequence[StreetAddress]
    kind: Literal["first", "part", "again"] = "first"


def _in_parts(addresses: Sequence[StreetAddress], size: int) -> Iterator[Sequence[StreetAddress]]:
    return (addresses[start : start + size] for start in range(0, len(addresses), size))


class Census(Geocoder):
    """The batch geocoder of the Census Bureau, batch after batch."""

    name = census.SERVICE

    def __init__(self, url: str) -> None:
        self._url = url
        self.where = f"the US Census Bureau's geocoder ({urlsplit(url).netloc})"

    def find(self, addresses: Sequence[StreetAddress], ends: Ends, take: Take) -> None:
        """See `Geocoder.find`; addresses that a response lacks are sent a second time.

        A batch that fails keeps no other from being sent, and is sent again in ten parts: one
        address that the geocoder cannot take holds back few. The order is another one in each run,
        so that these have their turn later.
        """
        mixed = random.sample(addresses, len(addresses))
        todo = deque(_Batch(some) for some in _in_parts(mixed, census.BATCH))
        missing: list[StreetAddress] = []
        numbers, in_a_row, is_used, reason = count(1), 0, False, ""
        with httpx.Client(timeout=_TIMEOUT) as client:
            while todo or missing:
                if not todo:
                    todo.extend(_Batch(some, "again") for some in _in_parts(missing, census.BATCH))
                    missing = []
                batch = todo.popleft()
                # no number is used twice: a late response to an earlier batch fits no other
                numbered = {next(numbers): address for address in batch.addresses}
                try:
                    found = self._requested(client, numbered, ends, again=batch.kind == "again")
                except _BatchError as error:
                    in_a_row += 1
                    if error.is_final or in_a_row == _FAILURES:
                        raise GeocoderError(str(error)) from error
                    if batch.kind == "first" and len(numbered) > 1:
                        size = -(-len(numbered) // _PARTS)
                        todo.extend(
                            _Batch(some, "part") for some in _in_parts(batch.addresses, size)
                        )
                    else:
                        reason = str(error)
                    continue
                if found is None:
                    return
                in_a_row, is_used = 0, True
                take(found)
                if batch.kind != "again":
                    missing += [address for address in batch.addresses if address not in found]
        if reason:
            raise GeocoderError(reason, partly=is_used)

    def _requested(
        self,
        client: httpx.Client,
        numbered: Mapping[int, StreetAddress],
        ends: Ends,
        *,
        again: bool,
    ) -> dict[StreetAddress, AddressMatch] | None:
        """What the geocoder found of a batch; `None` where the run ends.

        Of addresses that are sent `again` there may be no line that can be read.

        Raises:
            _BatchError: it failed.
        """
        for attempt in count():
            send = partial(census.census_request, client, self._url, numbered)
            outcome = _awaited(send, ends)
            if isinstance(outcome, Reply) and outcome.status == census.OK:
                try:
                    return census.found_in(outcome, numbered)
                except census.NotTheGeocoderError as error:
                    if again:
                        return {}
                    outcome = Failure(str(error), retryable=True)
            if outcome is None:
                return None
            wait = decide(attempt, _RETRIES, outcome)
            if wait is None or wait > _LONGEST_PAUSE:
                raise _BatchError(_reason(outcome), is_final=wait is not None)
            if not _paused(wait, ends):
                return None
        raise AssertionError(numbered)


def _reason(outcome: Reply | Failure) -> str:
    if isinstance(outcome, Failure):
        return outcome.message
    return f"it responded with status {outcome.status}"


def _awaited(work: Callable[[], Reply | Failure], ends: Ends) -> Reply | Failure | None:
    """The result of a request, in a thread of its own; `None` where the run ends before.

    A daemon thread: one that hangs keeps no program from ending, and a Ctrl+C is seen at once.
    """
    done: Future[Reply | Failure] = Future()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as error:  # noqa: BLE001 - raised where it is awaited
            done.set_exception(error)

    threading.Thread(target=run, name="svc-geocode", daemon=True).start()
    until = time.monotonic() + _TIMEOUT + 1.0  # a response that trickles never times out by itself
    while ends.why() is None:
        try:
            return done.result(_POLL)
        except TimeoutError:
            if done.done():
                raise
        if time.monotonic() > until:
            return Failure("it did not respond in time", retryable=True)
    return None


def _paused(seconds: float, ends: Ends) -> bool:
    """Wait; False where the run ends meanwhile."""
    until = time.monotonic() + seconds
    while ends.why() is None:
        left = until - time.monotonic()
        if left <= 0:
            return True
        time.sleep(min(left, _POLL))
    return False


class Stored(Geocoder):
    """A geocoder of an earlier run, of which only what is stored is used."""

    def __init__(self, name: str) -> None:
        self.name = self.where = name

    def find(self, addresses: Sequence[StreetAddress], ends: Ends, take: Take) -> None:
        """See `Geocoder.find`: nothing is sent."""


class OfUser(Geocoder):
    """A geocoder of the user: one of geopy, or a function. It is called in the caller's thread."""

    def __init__(self, choice: object) -> None:
        method = getattr(choice, "geocode", None)
        self._call: Callable[[str], object] = method if callable(method) else choice  # type: ignore[assignment]  # `LookupOptions` checks it
        # geopy's RateLimiter: None may be an error that it did not raise, which is not to be stored
        self._may_hide_errors = getattr(choice, "swallow_exceptions", False) is True
        self.name, self.where, self.not_stored = _names_of(choice)

    def find(self, addresses: Sequence[StreetAddress], ends: Ends, take: Take) -> None:
        """See `Geocoder.find`."""
        found: dict[StreetAddress, AddressMatch] = {}
        failures, since, self.last_error = 0, time.monotonic(), ""
        try:
            for address in addresses:
                if ends.why() is not None:
                    break
                try:
                    degrees = _degrees(self._call(str(address)))
                except Exception as error:
                    failures += 1
                    self.last_error = _in_words(error)
                    if failures == _FAILURES:
                        raise GeocoderError(self.last_error) from error
                    continue
                failures = 0
                if degrees is not None or not self._may_hide_errors:
                    found[address] = _found(degrees)
                if time.monotonic() - since >= _COMMIT:
                    take(found)
                    found, since = {}, time.monotonic()
        finally:
            if found:
                take(found)


_URL_QUERY = re.compile(r"\?[^\s?'\")>]*=[^\s'\")>]*")
"""The arguments of a web address, among which a key may be."""
_LONGEST_ERROR = 200


def _in_words(error: Exception) -> str:
    """The type and the text of an error, on one line and without the arguments of an address."""
    text = _URL_QUERY.sub("?…", " ".join(str(error).split()))
    kind = type(error).__name__
    return plain(f"{kind}: {text}" if text else kind, _LONGEST_ERROR)


def _degrees(result: object) -> tuple[float, float] | None:
    """What a geocoder of the user returned: a location of geopy, a pair of degrees, or nothing.

    Raises:
        TypeError: it is something else.
    """
    if result is None:
        return None
    pair: Any = getattr(result, "latitude", None), getattr(result, "longitude", None)
    if pair[0] is None and pair[1] is None:  # a tuple, a list or an array, and no text
        pair = None if isinstance(result, str | bytes | Mapping | AbstractSet) else result
    try:
        lat, lng = pair
        return None if lat is None and lng is None else (float(lat), float(lng))
    except (TypeError, ValueError):
        raise TypeError(
            "geocode: expected a location with latitude and longitude, a pair of them, or None for"
            f" no match, not {type(result).__name__}"
        ) from None


def _found(degrees: tuple[float, float] | None) -> AddressMatch:
    """The match of latitude and longitude; none without them, and outside of the US.

    Raises:
        ValueError: they have the longitude first.
    """
    if degrees is None:
        return AddressMatch("none")
    lat, lng = degrees
    if is_in_us(lat, lng):
        return AddressMatch("similar", lat, lng)
    if is_in_us(lng, lat):
        raise ValueError(
            f"geocode: the geocoder returned longitude first, {lat:g}, {lng:g}: expected (latitude,"
            " longitude); exchange them"
        )
    return AddressMatch("none")


def _names_of(choice: object) -> tuple[str, str, str]:
    """The name that results are stored under, what the geocoder is, and why none are stored."""
    inner = choice
    while hasattr(inner, "func"):  # geopy's RateLimiter, or a partial function
        inner = inner.func
    owner = getattr(inner, "__self__", None)
    qualname = getattr(inner, "__qualname__", None)
    if owner is None and qualname is not None:
        module = getattr(inner, "__module__", "")
        where = f"the function {module}.{qualname}"
    else:
        owner = inner if owner is None else owner
        kind = owner if isinstance(owner, type) else type(owner)
        module, where, domain = kind.__module__, kind.__name__, getattr(owner, "domain", None)
        if isinstance(domain, str) and domain:
            where = f"{where} ({domain})"
    name = _unique_name(choice)
    if name:
        return name, where, ""
    if module == "__main__":  # so is that of every other notebook and script
        return "", where, "what a notebook or script defines may change and keep its name"
    if "<lambda>" in where:
        return "", where, "a function without a name cannot be recognized by the next run"
    return "", where, "another one may have the same name"


def _unique_name(choice: object) -> str:
    """The name of a geocoder that no other one has, now and in the next run; empty without one.

    A geocoder of geopy has that of its class and domain, and a function that of its module where it
    is found there: not the functions that one function makes, partial ones, and other objects.
    """
    if _is_of_geopy(choice) and hasattr(choice, "func"):
        choice = choice.func  # of its RateLimiter
    owner = getattr(choice, "__self__", choice)
    if _is_of_geopy(owner):
        kind, domain = type(owner), getattr(owner, "domain", None)
        is_its_own = owner is choice or getattr(choice, "__name__", None) == "geocode"
        if not (is_its_own and isinstance(domain, str) and domain):
            return ""
        return f"{kind.__module__}.{kind.__qualname__} ({domain})"
    module, name = getattr(choice, "__module__", None), getattr(choice, "__qualname__", "")
    if module is None or module == "__main__" or isinstance(choice, type):
        return ""
    return f"{module}.{name}" if getattr(sys.modules.get(module), name, None) is choice else ""


def _is_of_geopy(thing: object) -> bool:
    return type(thing).__module__.startswith("geopy.")
