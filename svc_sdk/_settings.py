"""The settings of a client, validated once for both clients (SPEC 4.4 and 5). No I/O."""

from __future__ import annotations

import functools
import ipaddress
import math
import warnings
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import TYPE_CHECKING, Any

import httpx

from svc_sdk._responses import Failure, Reply
from svc_sdk._version import __version__

if TYPE_CHECKING:
    import ssl

    from pydantic import SecretStr

    from svc_sdk._requests import Call
    from svc_sdk.errors import SvcError


DEFAULT_BASE_URL = "http://127.0.0.1:8642"
"""The default address of `svc-tools serve`."""

_KEY_HEADER = "X-API-Key"
_LAST_PORT = 65_535
_LONGEST_LABEL = 63
_HIDDEN = "[API key]"
# A shorter key could be a part of any text: hiding it would only garble the message.
_HIDE_FROM = 4


@dataclass(frozen=True, slots=True)
class Settings:
    """The validated arguments of a client's constructor."""

    key: SecretStr
    base_url: str
    timeout: float
    max_retries: int

    @classmethod
    def checked(
        cls, api_key: SecretStr, base_url: str, timeout: float, max_retries: int
    ) -> Settings:
        """Settings of the constructor's arguments, or a `ValueError`/`TypeError` naming one."""
        url = checked_url(base_url)
        if isinstance(timeout, bool) or not isinstance(timeout, int | float):
            raise TypeError(f"timeout: expected seconds as a number, not {timeout!r}")
        if not (math.isfinite(timeout) and timeout > 0):
            raise ValueError(f"timeout: expected a number of seconds above 0, not {timeout!r}")
        if isinstance(max_retries, bool) or not isinstance(max_retries, int):
            raise TypeError(f"max_retries: expected a whole number, not {max_retries!r}")
        if max_retries < 0:
            raise ValueError(f"max_retries: expected 0 or more, not {max_retries}")
        settings = cls(_checked_key(api_key), str(url).rstrip("/"), float(timeout), max_retries)
        if url.scheme == "http" and not settings.loopback:
            # one frame up is the constructor, two its caller
            _warn_of_plain_http(url.host)
        return settings

    @property
    def loopback(self) -> bool:
        """Whether the service is on this machine."""
        host = httpx.URL(self.base_url).host.rstrip(".")
        if host == "localhost" or host.endswith(".localhost"):
            return True
        try:
            address = ipaddress.ip_address(host)
        except ValueError:
            return False
        mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
        return (mapped or address).is_loopback

    @property
    def trust_env(self) -> bool:
        """Whether proxies of the environment are used: not for a service on this machine."""
        return not self.loopback

    def request(self, client: httpx.Client | httpx.AsyncClient, call: Call) -> httpx.Request:
        """The request of a call, with the key set last: no local variable ever holds it."""
        request = client.build_request(
            call.method,
            self.base_url + call.path,
            params=list(call.params) or None,
            json=call.json,
            headers={"Accept": "application/json", "User-Agent": f"svc-tools/{__version__}"},
            # waiting for a free connection is not a delay of the service
            timeout=httpx.Timeout(self.timeout, pool=None),
        )
        request.headers[_KEY_HEADER] = self.key.get_secret_value()
        return request

    def reply(self, response: httpx.Response, body: bytes) -> Reply:
        """The response as a plain value. A key that a gateway echoes is hidden."""
        headers = {name.lower(): value for name, value in response.headers.items()}
        return self.without_key(response.status_code, headers, body)

    def without_key(self, status: int, headers: dict[str, str], body: bytes) -> Reply:
        """The response of these parts, header names in lower case, without the key."""
        key = self.key.get_secret_value()
        if len(key) >= _HIDE_FROM:
            body = body.replace(key.encode(), _HIDDEN.encode())
            headers = {name: value.replace(key, _HIDDEN) for name, value in headers.items()}
        return Reply(status, headers, body)

    def failure(self, error: Exception) -> Failure:
        """The failure of an exception. Timeouts and failures to connect may be retried."""
        where = httpx.URL(self.base_url).netloc.decode()
        if isinstance(error, httpx.TimeoutException):
            return Failure(f"No response from {where} within {self.timeout:g} s", retryable=True)
        reason = self.hide(str(error) or type(error).__name__)
        if isinstance(error, httpx.ConnectError):
            return Failure(f"Could not connect to {where}: {reason}", retryable=True)
        if not isinstance(error, httpx.RequestError):
            return Failure(f"The response from {where} cannot be read: {reason}", retryable=False)
        return Failure(f"The connection to {where} broke: {reason}", retryable=False)

    def hide(self, value: Any) -> Any:  # noqa: ANN401 - parsed JSON of any shape
        """The value without the key, wherever in it the key occurs as text."""
        from pydantic import BaseModel  # noqa: PLC0415 - only where an error is made

        key = self.key.get_secret_value()
        if len(key) < _HIDE_FROM:
            return value
        if isinstance(value, str):
            return value.replace(key, _HIDDEN)
        if isinstance(value, dict):
            return {self.hide(name): self.hide(item) for name, item in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(self.hide(item) for item in value)
        if isinstance(value, BaseModel):
            return type(value).model_validate(self.hide(value.model_dump()))
        return value

    def hide_in(self, error: SvcError) -> SvcError:
        """The error without the key, which a body may have written with escapes."""
        for name in ("message", "error_code", "support_reference", "response_body", "detail"):
            try:
                setattr(error, name, self.hide(getattr(error, name)))
            except RecursionError:
                setattr(error, name, "(nested too deeply to be shown)")
        error.args = self.hide(error.args)
        return error


def as_secret(api_key: str | SecretStr) -> SecretStr:
    """The key as a secret, so that no local variable of a constructor shows it.

    Raises:
        TypeError: not a string.
    """
    from pydantic import SecretStr  # noqa: PLC0415 - 50 ms that an import does not need

    if not isinstance(api_key, str | SecretStr):
        raise TypeError(f"api_key: expected a string, not {type(api_key).__name__}")
    return SecretStr(api_key) if isinstance(api_key, str) else api_key


def _checked_key(secret: SecretStr) -> SecretStr:
    # no local variable holds the text: a traceback with locals would show it
    stripped = type(secret)(secret.get_secret_value().strip())
    if not stripped.get_secret_value():
        raise ValueError("api_key: the key is empty; give the API key of your account")
    if not (stripped.get_secret_value().isascii() and stripped.get_secret_value().isprintable()):
        raise ValueError("api_key: the key holds characters that cannot stand in an HTTP header")
    return stripped


def checked_url(base_url: str) -> httpx.URL:
    """The address of a service, or the `ValueError`/`TypeError` that says what is expected."""
    expected = "expected an address such as 'https://rates.example' or 'http://127.0.0.1:8642'"
    if not isinstance(base_url, str):
        raise TypeError(f"base_url: {expected}, not {type(base_url).__name__}")
    try:
        url = httpx.URL(base_url.strip())
    except (httpx.InvalidURL, UnicodeError) as error:
        raise ValueError(f"base_url: {error}; {expected}") from None
    if url.port is not None and not 0 < url.port <= _LAST_PORT:
        raise ValueError(f"base_url: {url.port} is no port; {expected}")
    if url.userinfo:
        raise ValueError("base_url: holds a user name or password; a secret never goes in a URL")
    labels = url.host.rstrip(".").split(".")
    named = all(0 < len(label) <= _LONGEST_LABEL for label in labels) or ":" in url.host
    if url.scheme not in {"http", "https"} or not named or set(base_url) & {"?", "#"}:
        raise ValueError(f"base_url: {base_url!r} is not usable; {expected}")
    return url


@functools.cache
def _warn_of_plain_http(host: str) -> None:
    warnings.warn(
        f"The API key travels unencrypted to {host}: use https://{host} instead of http",
        UserWarning,
        stacklevel=4,
    )


@functools.cache
def shared_tls() -> ssl.SSLContext:
    """One TLS context for every client: making one costs 50 ms."""
    return httpx.create_ssl_context()


def no_cookies() -> CookieJar:
    """A cookie jar that stores none: an account is identified by its key alone."""
    return CookieJar(DefaultCookiePolicy(allowed_domains=[]))
