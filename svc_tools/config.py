"""Configuration: key, address, cache, zone and folders, from arguments or environment; clients.

This is the only module that reads the environment. It also tells a wrong address from a place that
the service does not know: see `address_checked`.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
import sys
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias
from weakref import WeakSet

import httpx
import pydantic
from pydantic import SecretStr

from svc_sdk import AsyncSvc, NotFoundError, ServiceError, Svc, SvcError, __version__, wire
from svc_sdk.wire import Failure, Reply, UnusableVariableError, checked_url
from svc_tools.base.extras import require, require_pydantic
from svc_tools.base.operating_system import user_folder
from svc_tools.base.shares import LIKELY_SHARE, SURE_SHARE, share_text
from svc_tools.show.notebook import in_notebook
from svc_tools.tables.dates import time_zone

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import tzinfo

    from svc_sdk.wire import Call
    from svc_tools.service.embedded import Computation as Computation  # noqa: PLC0414 - of its runs
    from svc_tools.service.embedded import EmbeddedService, LocalResponse
    from svc_tools.service.embedded import Located as Located  # noqa: PLC0414 - the same

KEY_VARIABLE = "SVC_API_KEY"
URL_VARIABLE = "SVC_BASE_URL"
SERVE_KEY_VARIABLE = "SVC_SERVE_KEY"
"""The key that `svc-tools serve` accepts for one run."""
DATABASE_VARIABLE = "SVC_DATABASE_URL"
"""The database of the embedded service, however it is started: a path, or a server's address."""

CACHE_VARIABLE = "SVC_CACHE"
"""The cache: a path, or "off" for none."""
_CACHE_HOURS_VARIABLE = "SVC_CACHE_HOURS"
"""How many hours rates of today are cached, where that is longer than until the day's end."""
_ZONE_VARIABLE = "SVC_TZ"
"""The seller's time zone: times in UTC have their date there."""
_DELIVERY_VARIABLE = "SVC_DELIVERY"
"""Whether the seller's buyers can avoid the charge for delivery: see `DeliveryAs`."""
GEOCODE_VARIABLE = "SVC_GEOCODE"
"""Whether lookups of street addresses use a geocoder: "census"."""
_GEOCODE_URL_VARIABLE = "SVC_GEOCODE_URL"
"""Where that geocoder is, such as a copy of it in the own network."""
_CENSUS_URL = "https://geocoding.geo.census.gov/geocoder"
_REVIEW_VARIABLE = "SVC_REVIEW_BELOW"
"""Below which share of a ZIP's housing its rate requires review: see `review_below`."""
_RECEIPTS_VARIABLE = "SVC_RECEIPTS"
"""The folder of the receipts of nexus removals."""
EXCEL_VARIABLE = "SVC_EXCEL"
"""The folder of the spreadsheet adapters' settings: the service's address, the local server."""

OF_SPREADSHEETS = (
    DATABASE_VARIABLE,
    CACHE_VARIABLE,
    _CACHE_HOURS_VARIABLE,
    _ZONE_VARIABLE,
    _REVIEW_VARIABLE,
    _RECEIPTS_VARIABLE,
)
"""What changes the results of cells, besides the account and the folder of the settings."""

_EMBEDDED_LIBRARIES = (
    "fastapi",
    "uvicorn",
    "sqlalchemy",
    "usaddress",
    "shapely",
    "bokeh_sampledata",
)
EMBEDDED_NAME = "embedded service"
"""The name of the embedded service for display."""
_BEFORE_THE_PORT = "http://127.0.0.1"
"""The address in the settings of a client of the embedded service while that has no port."""
DeliveryAs: TypeAlias = Literal["optional", "only"]
"""Whether buyers can avoid the charge for delivery, such as by picking the goods up: "optional"
where they can, "only" for a shop that only ships."""
DELIVERIES: tuple[DeliveryAs, ...] = ("optional", "only")
_OFF = {"off", "no", "none", "false", "0"}
"""The words for "off": none of them names a file."""
_MOST_HOURS = 8_784
_LONGEST_WORD = 12

_UNCONFIGURED = (
    "No service is configured, so the rates come from the EMBEDDED service and its own rate book"
    f" (edition {{edition}}). For your account set {URL_VARIABLE} and {KEY_VARIABLE}, or pass"
    ' client=svc_tools.connect(...). client=svc_tools.connect("embedded") chooses the embedded'
    " service without this message."
)


class ConfigurationError(ValueError):
    """A setting is missing or unusable; the message says what to set."""


class _InProcess:
    """The embedded service as that of a client in the same process (`wire.LocalService`)."""

    def __init__(self, service: EmbeddedService) -> None:
        self._service = service

    @property
    def address(self) -> str | None:
        """Where its port is, once there is one."""
        return self._service.address

    def respond(self, call: Call) -> LocalResponse | Failure | None:
        """The response to a lookup, which is computed here; `None` for other requests.

        Their port is served from now on. Where the service was closed, that is the failure of
        every request; where its port cannot be served, of all but lookups.
        """
        if self._service.running:
            found = self._service.look_up(call.method, call.path, call.params)
            if found is not None:
                return found
        if trouble := self._service.trouble:
            code, why = trouble
            return Failure(why, retryable=False, sent=False, final=True, code=code)
        return None


class _OfEmbedded:
    """The properties of both clients of the embedded service."""

    _service: EmbeddedService

    @property
    def base_url(self) -> str:
        """The address of the service, which listens there from now on.

        Raises:
            ConfigurationError: it cannot start, such as for its database.
            ImportError: the extra for it is not installed.
        """
        with _started():
            return self._service.base_url

    def __repr__(self) -> str:
        """The rate book in use; no port is opened for it."""
        return f"{type(self).__name__}(book_edition={self.book_edition!r})"

    @property
    def book_edition(self) -> str:
        """The edition of its rate book."""
        return self._service.book_edition

    @property
    def book_digest(self) -> str:
        """The SHA-256 of that rate book, in hex; an import of the user's files changes it."""
        return self._service.book_digest

    @property
    def database_name(self) -> str:
        """The database of its nexus records, without a password.

        Raises:
            ConfigurationError: it is on a server, and cannot be opened.
            ImportError: it is on a server, and the extra for it is not installed.
        """
        with _started():
            return self._service.database_name

    @property
    def is_here(self) -> bool:
        """Whether its lookups are computed in this process: a forked child's are its parent's."""
        return self._service.running

    @property
    def closed(self) -> bool:
        """Whether the service was closed: no request succeeds anymore."""
        return self._service.closed

    def computation(self) -> Computation | None:
        """A run of many lookups over the rate book as it is now; to be closed.

        `None` where lookups are not computed in this process: the service was closed, or is a
        parent's.

        Raises:
            Exception: the book cannot be read; `refusal` has the error of each lookup.
        """
        return self._service.computation() if self.is_here else None

    def refusal(self, error: Exception, path: str) -> SvcError:
        """The error of the lookup in which this was raised, as that of a request to its path."""
        assert isinstance(self, Svc | AsyncSvc)  # noqa: S101 - as both clients are
        reply = wire.settings_of(self).without_key(*self._service.refused(error, path))
        try:
            wire.parse_lookup(reply, 1)
        except SvcError as refused:
            return refused
        raise AssertionError(reply.status)


class EmbeddedSvc(_OfEmbedded, wire.LocalClient, Svc):
    """A client of the embedded service, which keeps running until the process ends.

    Its lookups are computed in this process; its other requests go over the service's port.
    """

    def __init__(
        self, service: EmbeddedService, *, timeout: float = 10.0, max_retries: int = 3
    ) -> None:
        self._service = service
        super().__init__(
            service.api_key, base_url=_BEFORE_THE_PORT, timeout=timeout, max_retries=max_retries
        )
        wire.attach_local(self, _InProcess(service))


class EmbeddedAsyncSvc(_OfEmbedded, wire.LocalClient, AsyncSvc):
    """The same for asynchronous code; close it, as any `AsyncSvc`, with `async with`."""

    def __init__(
        self, service: EmbeddedService, *, timeout: float = 10.0, max_retries: int = 3
    ) -> None:
        self._service = service
        super().__init__(
            service.api_key, base_url=_BEFORE_THE_PORT, timeout=timeout, max_retries=max_retries
        )
        wire.attach_local(self, _InProcess(service))


def connect(
    target: Literal["embedded"] | None = None,
    *,
    api_key: str | SecretStr | None = None,
    base_url: str | None = None,
    timeout: float = 10.0,
    max_retries: int = 3,
) -> Svc:
    """A ready client: of a service with an account, or of the embedded one.

    `connect("embedded")` is the embedded service: lookups are computed in this process, and a free
    loopback port serves all else, with a generated key, from the first request that needs it until
    the process ends. `connect()` takes
    the key and the address from the arguments, else from `SVC_API_KEY` and `SVC_BASE_URL`; where
    neither is set it is the embedded service too, with a warning that says so (a note in a
    notebook).

    Args:
        target: "embedded", or nothing.
        api_key: the key of the account.
        base_url: the address of the service.
        timeout: seconds, for each attempt as a whole; no limit for the lookups that are computed in
            this process, which take milliseconds.
        max_retries: how often a 429, a 5xx or a timeout is tried again (SPEC 8).

    Raises:
        ConfigurationError: only one of key and address is known, both "embedded" and one of
            them were given, the embedded service cannot start, or a proxy or certificates that the
            environment names cannot be used.
        ImportError: the embedded service is wanted, and pydantic is older than 2.7.
    """
    if _wants_embedded(target, api_key, base_url):
        return EmbeddedSvc(_embedded(), timeout=timeout, max_retries=max_retries)
    account = configured(api_key=api_key, base_url=base_url)
    if account is None:
        return unconfigured(stacklevel=3, timeout=timeout, max_retries=max_retries)
    return open_account(account, timeout=timeout, max_retries=max_retries)


def aconnect(
    target: Literal["embedded"] | None = None,
    *,
    api_key: str | SecretStr | None = None,
    base_url: str | None = None,
    timeout: float = 10.0,
    max_retries: int = 3,
) -> AsyncSvc:
    """As `connect`, for asynchronous code: a client whose calls are awaited.

        async with svc_tools.aconnect("embedded") as service:
            answer = await service.lookup("NJ", zip="07030")

    Args:
        target: "embedded", or nothing.
        api_key: the key of the account.
        base_url: the address of the service.
        timeout: seconds, for each attempt as a whole; no limit for the lookups that are computed in
            this process, which take milliseconds.
        max_retries: how often a 429, a 5xx or a timeout is tried again (SPEC 8).

    Raises:
        ConfigurationError: as `connect`; so for the other.
        ImportError: the embedded service is wanted, and pydantic is older than 2.7.
    """
    if _wants_embedded(target, api_key, base_url):
        return EmbeddedAsyncSvc(_embedded(), timeout=timeout, max_retries=max_retries)
    account = configured(api_key=api_key, base_url=base_url)
    if account is None:
        service = _embedded()
        _warn_unconfigured(service.book_edition, stacklevel=3)
        return EmbeddedAsyncSvc(service, timeout=timeout, max_retries=max_retries)
    with _usable_variables():
        return AsyncSvc(account[0], base_url=account[1], timeout=timeout, max_retries=max_retries)


def open_account(
    account: tuple[SecretStr, str], *, timeout: float = 10.0, max_retries: int = 3
) -> Svc:
    """A client of an account: its key, and the address of its service.

    Raises:
        ConfigurationError: a proxy or certificates that the environment names cannot be used.
        ValueError: so for key, address, timeout or number of retries.
    """
    with _usable_variables():
        return Svc(account[0], base_url=account[1], timeout=timeout, max_retries=max_retries)


@contextmanager
def _usable_variables() -> Iterator[None]:
    try:
        yield
    except UnusableVariableError as error:
        raise ConfigurationError(str(error)) from None


def _wants_embedded(
    target: str | None, api_key: str | SecretStr | None, base_url: str | None
) -> bool:
    """Whether the embedded service was chosen by name; raises where other arguments contradict."""
    if target is None:
        return False
    if target != "embedded":
        # a longer text may be the key
        given = repr(target) if len(target) <= _LONGEST_WORD and target.isalpha() else "the target"
        raise ConfigurationError(
            f"connect: {given} is not known; expected 'embedded', or api_key= and base_url="
        )
    if api_key is not None or base_url is not None:
        raise ConfigurationError("connect: 'embedded' brings its own key and address")
    return True


def database(given: str | None = None) -> SecretStr | None:
    """The database of the embedded service: as given, else `SVC_DATABASE_URL`, else `None`.

    Secret, because the address of a server often holds a password.
    """
    target = given or _variable(DATABASE_VARIABLE)
    return SecretStr(target) if target else None


def serve_key() -> SecretStr | None:
    """`SVC_SERVE_KEY`: the key that `svc-tools serve` accepts, else `None`."""
    key = _variable(SERVE_KEY_VARIABLE)
    return SecretStr(key) if key else None


def unconfigured(*, stacklevel: int, timeout: float = 10.0, max_retries: int = 3) -> EmbeddedSvc:
    """The embedded service where nothing is configured, with a warning (or note) that says so."""
    service = _embedded()
    _warn_unconfigured(service.book_edition, stacklevel=stacklevel + 1)
    return EmbeddedSvc(service, timeout=timeout, max_retries=max_retries)


def _warn_unconfigured(edition: str, *, stacklevel: int) -> None:
    message = _UNCONFIGURED.format(edition=edition)
    if in_notebook():  # a warning is a red block there, and this is the usual way
        print(f"svc: {message}")  # noqa: T201 - for the user, as the notes of a lookup
    else:
        warnings.warn(message, UserWarning, stacklevel=stacklevel)


def configured(
    *, api_key: str | SecretStr | None = None, base_url: str | None = None
) -> tuple[SecretStr, str] | None:
    """The key and the address: the arguments, then the environment; `None` where neither is set.

    Raises:
        ConfigurationError: one of the two is missing, or is not what it should be.
    """
    key = SecretStr(api_key) if isinstance(api_key, str) else api_key
    if not (key is None or isinstance(key, SecretStr)):
        raise ConfigurationError(
            f"api_key: expected the key as a string or SecretStr, not {type(key).__name__}"
        )
    key = key or SecretStr(_variable(KEY_VARIABLE))
    url = base_url or _variable(URL_VARIABLE)
    if "://" in key.get_secret_value():
        raise ConfigurationError(
            f"api_key: this is an address, not a key: set {KEY_VARIABLE} (or api_key=) to the key,"
            f" and {URL_VARIABLE} (or base_url=) to the address"
        )
    if url:
        _check_address(url)
    if key.get_secret_value() and url:
        return key, url
    if key.get_secret_value():
        raise ConfigurationError(
            f"There is a key but no address: set {URL_VARIABLE} (or pass base_url=) to the address"
            f' of the service, or use connect("embedded"), --embedded on the command line'
        )
    if url:
        raise ConfigurationError(
            f"There is an address ({url}) but no key: set {KEY_VARIABLE} (or pass api_key=)"
        )
    return None


def _check_address(url: str) -> None:
    """Raise a `ConfigurationError` that does not repeat the address: it may be the key."""
    try:
        checked_url(url)
    except ValueError as error:
        raise ConfigurationError(f"{error} ({URL_VARIABLE}, or base_url=)") from None


def address() -> str | None:
    """The address of the configured service, with or without a key for it; `None` if unusable."""
    url = _variable(URL_VARIABLE)
    try:
        _check_address(url)
    except ConfigurationError:
        return None
    return url


def running_embedded() -> EmbeddedSvc | None:
    """A client of the embedded service where this process runs it already; nothing is started."""
    embedded = sys.modules.get("svc_tools.service.embedded")
    service = None if embedded is None else embedded.running(database())
    return None if service is None else EmbeddedSvc(service)


def service_name(client: Svc | AsyncSvc) -> str:
    """The service's name for display: the embedded service, or its address."""
    return EMBEDDED_NAME if isinstance(client, _OfEmbedded) else client.base_url


@dataclass(frozen=True, slots=True)
class Source:
    """The source of results: one service for one account.

    Attributes:
        service: the address of the service; of the embedded one the digest of its rate book and
            the release, which alone decide its results.
        account: the fingerprint of the key; empty for the embedded service.
    """

    service: str
    account: str


def source_of(client: Svc | AsyncSvc) -> Source:
    """The source of a client's results."""
    if isinstance(client, _OfEmbedded):
        return embedded_source(client.book_digest)
    return Source(client.base_url, account_fingerprint(client))


def embedded_source(book_digest: str) -> Source:
    """The source that is the embedded service with this rate book."""
    return Source(f"{_OF_EMBEDDED}{book_digest}/{__version__}", "")


def embedded() -> EmbeddedSvc:
    """A client of the embedded service.

    Raises:
        ConfigurationError: it cannot start.
    """
    return EmbeddedSvc(_embedded())


def is_embedded(source: Source) -> bool:
    """Whether results are those of the embedded service, with whatever rate book."""
    return source.service.startswith(_OF_EMBEDDED)


_OF_EMBEDDED = "embedded:"


def account_fingerprint(client: Svc | AsyncSvc) -> str:
    """16 hexadecimal digits that identify an account, from which its key cannot be recovered."""
    key = wire.settings_of(client).key
    return hashlib.blake2b(
        key.get_secret_value().encode(), digest_size=8, person=b"svc cache"
    ).hexdigest()


def account_of(client: Svc) -> Source:
    """The owner of the nexus records that a client changes: service name and account.

    The embedded service makes a new key at each start, all of them of one account: there the
    fingerprint is that of its database.
    """
    if isinstance(client, EmbeddedSvc):
        name = client.database_name.encode()
        account = hashlib.blake2b(name, digest_size=8, person=b"svc nexus").hexdigest()
    else:
        account = account_fingerprint(client)
    return Source(service_name(client), account)


def receipt_folder() -> Path:
    """Where receipts of nexus removals are: `SVC_RECEIPTS`, else in the user's data folder.

    Raises:
        ConfigurationError: `SVC_RECEIPTS` is not a path.
    """
    return _folder(_RECEIPTS_VARIABLE) or user_folder("data") / "nexus"


def excel_folder() -> Path:
    """Where the spreadsheet adapters' settings are: `SVC_EXCEL`, else in the user's folder.

    Raises:
        ConfigurationError: `SVC_EXCEL` is not a path.
    """
    return _folder(EXCEL_VARIABLE) or user_folder("config") / "excel"


def _folder(variable: str) -> Path | None:
    """The folder that a variable names."""
    value = _variable(variable)
    return _path(variable, value) if value else None


def cache_path() -> Path | None:
    """Where results are cached: `SVC_CACHE`, else a file in the user's cache folder.

    `None` where `SVC_CACHE` is "off".

    Raises:
        ConfigurationError: `SVC_CACHE` is not a path.
    """
    value = _variable(CACHE_VARIABLE)
    if value.casefold() in _OFF:
        return None
    if value:
        return _path(CACHE_VARIABLE, value)
    path = user_folder("cache") / "results.db"
    older = path.with_name("answers.db")  # its name until 0.3: what was paid for is still read
    return older if older.exists() and not path.exists() else path


def cache_hours() -> float | None:
    """`SVC_CACHE_HOURS`: how long rates of today are cached; `None` for until the day's end.

    Raises:
        ConfigurationError: it is not a number of hours above 0.
    """
    value = _variable(_CACHE_HOURS_VARIABLE)
    if not value:
        return None
    try:
        hours = float(value)
    except ValueError:
        hours = math.nan
    if not 0 < hours <= _MOST_HOURS:
        raise ConfigurationError(
            f"{_CACHE_HOURS_VARIABLE} is {value!r}; expected a number of hours above 0, such as 24,"
            f" and up to {_MOST_HOURS} (a year)"
        )
    return hours


def seller_zone() -> tzinfo | None:
    """`SVC_TZ`: the seller's time zone, such as America/Chicago; `None` where it is not set.

    Raises:
        ConfigurationError: it is not the name of a time zone.
    """
    try:
        return time_zone(_variable(_ZONE_VARIABLE) or None)
    except ValueError as error:
        raise ConfigurationError(f"{_ZONE_VARIABLE}: {error}") from None


def seller_delivery() -> DeliveryAs | None:
    """`SVC_DELIVERY`: whether buyers can avoid the charge for delivery; `None` where it is not set.

    Raises:
        ConfigurationError: it is neither "optional" nor "only".
    """
    value = _variable(_DELIVERY_VARIABLE).casefold()
    found = next((delivery for delivery in DELIVERIES if delivery == value), None)
    if value and found is None:
        raise ConfigurationError(
            f"{_DELIVERY_VARIABLE} is {value!r}; expected optional (buyers can avoid the charge for"
            " delivery, such as by picking the goods up) or only (every order is shipped)"
        )
    return found


def geocoder() -> Literal["census"] | None:
    """`SVC_GEOCODE`: the geocoder of lookups that name none; `None` where they use none.

    Raises:
        ConfigurationError: it is neither "census" nor "off".
    """
    value = _variable(GEOCODE_VARIABLE).casefold()
    if not value or value in _OFF:
        return None
    if value == "census":
        return "census"
    raise ConfigurationError(
        f"{GEOCODE_VARIABLE} is {value!r}; expected census (addresses are sent to the geocoder of"
        " the US Census Bureau) or off"
    )


def geocoder_url() -> str:
    """`SVC_GEOCODE_URL`: the address of the Census Bureau's geocoder, or of a copy of it.

    Raises:
        ConfigurationError: it is no address.
    """
    url = _variable(_GEOCODE_URL_VARIABLE) or _CENSUS_URL
    try:
        checked_url(url)
    except ValueError as error:
        reason = str(error).removeprefix("base_url: ")
        raise ConfigurationError(f"{_GEOCODE_URL_VARIABLE}: {reason}") from None
    return url.rstrip("/")


def review_below(given: object = None) -> Decimal:
    """The share of a ZIP's housing below which its most likely rate requires review.

    Args:
        given: a share from 0 to 0.98 with at most four decimals, as a number or text; `None` for
            that of `SVC_REVIEW_BELOW`, else 0.90.

    Returns:
        The share, with four decimals.

    Raises:
        TypeError: what is given is no number.
        ValueError: it is not such a share.
        ConfigurationError: so for `SVC_REVIEW_BELOW`.
    """
    if given is not None:
        if isinstance(given, bool) or not isinstance(given, int | float | Decimal | str):
            raise TypeError(f"review_below: expected a number, not {given!r}; {_SHARE_EXPECTED}")
        found = _share(str(given))
        if found is None:
            raise ValueError(f"review_below: {given!r} cannot be used; {_SHARE_EXPECTED}")
        return found
    value = _variable(_REVIEW_VARIABLE)
    found = _share(value) if value else _REVIEW_BELOW
    if found is None:
        raise ConfigurationError(f"{_REVIEW_VARIABLE} is {value!r}; {_SHARE_EXPECTED}")
    return found


_REVIEW_BELOW = Decimal(share_text(LIKELY_SHARE))
_MOST_BELOW = Decimal(share_text(SURE_SHARE))
_SHARE_EXPECTED = "expected a share from 0 to 0.98 with at most four decimals, such as 0.90"
_SHARE = re.compile(r"[0-9]*\.?[0-9]{0,20}", re.ASCII)


def _share(text: str) -> Decimal | None:
    """A share that a threshold can be, with four decimals; `None` for anything else."""
    text = text.strip()
    if not _SHARE.fullmatch(text) or not text.strip("."):
        return None
    found = Decimal(text)
    if found > _MOST_BELOW or found != (rounded := found.quantize(_MOST_BELOW)):
        return None
    return rounded


def is_python_chosen() -> bool:
    """Whether variables lead the programs of this terminal to one Python and its modules."""
    return any(map(_variable, ("VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONHOME", "PYTHONPATH")))


def variables(names: Iterable[str]) -> dict[str, str]:
    """Those of these variables that are set. A proxy's may hold a password."""
    return {name: value for name in names if (value := _variable(name))}


def _variable(name: str) -> str:
    return os.environ.get(name, "").strip()


def _path(variable: str, value: str) -> Path:
    try:
        return Path(value).expanduser().absolute()
    except RuntimeError as error:  # "~somebody"
        raise ConfigurationError(f"{variable} {value!r} is no path here: {error}") from error


def require_embedded() -> None:
    """Raise `MissingExtraError` unless the embedded service can serve every request.

    Lookups in this process need none of these libraries but for an address or a point.
    """
    require("The embedded service", "service", *_EMBEDDED_LIBRARIES)


def _embedded() -> EmbeddedService:
    require_pydantic("The embedded service", pydantic.VERSION)
    from svc_tools.service import embedded  # noqa: PLC0415 - a lazy door (DESIGN)

    with _started():
        return embedded.start(database())


@contextmanager
def _started() -> Iterator[None]:
    from svc_tools.service import embedded  # noqa: PLC0415 - as above

    try:
        yield
    except embedded.StartError as error:  # its message is a sentence
        raise ConfigurationError(f"The embedded service cannot start. {error}") from None


NO_PATH = "PATH_NOT_FOUND"
"""The code with which the service of this toolkit says that a path does not exist."""
_REFUSED = range(400, 500)
_PREFIX = re.compile(r"/v1(?:/.*)?$")
# a wrong address, such as one that ends in /v1, gives 404 for every place, as a service does that
# knows none of them; the health check has no place, so its 404 is the address's
_proven: WeakSet[Svc | AsyncSvc] = WeakSet()
"""The clients whose address is known to be right: they had a success, or a health check."""


class WrongAddressError(ServiceError):
    """No service is at the address: its health check is not there either."""


@contextmanager
def address_checked(client: Svc) -> Iterator[None]:
    """Around a single request: its 404 is its own only where the address is right.

    The health is requested once, where no request of the client has succeeded so far.

    Raises:
        WrongAddressError: a request within was a 404, and so is the health check.
    """
    try:
        yield
    except NotFoundError as error:
        if not is_right_address(client):
            health = wire.exchange_once(client, wire.HEALTH)
            if fault := address_fault(client, error, health):
                raise fault from None
        raise
    note_right_address(client)


def is_right_address(client: Svc | AsyncSvc) -> bool:
    """Whether a client's address is known to be right; that of the embedded service always is."""
    return isinstance(client, EmbeddedSvc | EmbeddedAsyncSvc) or client in _proven


def note_right_address(client: Svc | AsyncSvc) -> None:
    """Note that a request of a client succeeded."""
    _proven.add(client)


def address_fault(
    client: Svc | AsyncSvc, error: SvcError, health: Reply | Failure
) -> WrongAddressError | None:
    """The fault of the address behind the 404 of a lookup; `None` where the place is not known.

    Args:
        client: the client.
        error: the 404 of the lookup.
        health: the response to the health check.
    """
    status = health.status if isinstance(health, Reply) else None
    if status == HTTPStatus.OK:
        note_right_address(client)
    # below another path of the service's own, such as /v1/tax, the health check is another 4xx
    elsewhere = error.error_code == NO_PATH and status in _REFUSED
    return wrong_address(client, status) if status == HTTPStatus.NOT_FOUND or elsewhere else None


def wrong_address(client: Svc | AsyncSvc, status: int | None) -> WrongAddressError:
    """The error of an address at which there is no service; `status` is its health check's."""
    settings = wire.settings_of(client)  # a key in an address is hidden
    address = settings.hide(client.base_url)
    prefix = _PREFIX.search(httpx.URL(client.base_url).path)
    advice = f"leave out {settings.hide(prefix[0])} at its end" if prefix else "correct it"
    return WrongAddressError(
        f"The address of the service is wrong: {address} has no health check (/healthz); {advice}",
        status_code=status,
    )
