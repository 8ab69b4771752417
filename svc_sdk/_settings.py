"""What a client is made with, checked once for both clients (SPEC 4.4 and 5). No I/O."""

from __future__ import annotations

import functools
import ipaddress
import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import httpx

from svc_sdk._responses import Failure, Reply
from svc_sdk._version import __version__

if TYPE_CHECKING:
    import ssl

    from pydantic import SecretStr

    from svc_sdk._requests import Call

__all__ = ["DEFAULT_BASE_URL", "Settings", "shared_tls"]

DEFAULT_BASE_URL = "http://127.0.0.1:8642"
"""Where `svc-tools serve` listens unless told otherwise."""

_KEY_HEADER = "X-API-Key"
_LAST_PORT = 65_535
# A key shorter than this could be a part of any text: hiding it would only garble the message.
_HIDE_FROM = 8


@dataclass(frozen=True, slots=True)
class Settings:
    """The checked arguments of a client's constructor."""

    key: SecretStr
    base_url: str
    timeout: float
    max_retries: int

    @classmethod
    def checked(
        cls, api_key: str | SecretStr, base_url: str, timeout: float, max_retries: int
    ) -> Settings:
        """Settings of the constructor's arguments, or the `ValueError`/`TypeError` naming one."""
        url = _checked_url(base_url)
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
        host = httpx.URL(self.base_url).host
        if host == "localhost" or host.endswith(".localhost"):
            return True
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return False

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
            timeout=self.timeout,
        )
        request.headers[_KEY_HEADER] = self.key.get_secret_value()
        return request

    def reply(self, response: httpx.Response) -> Reply:
        """The answer as a plain value; a key that a failing gateway echoes is hidden."""
        body = response.content
        key = self.key.get_secret_value().encode()
        if not response.is_success and len(key) >= _HIDE_FROM:
            body = body.replace(key, b"[API key]")
        headers = {name.lower(): value for name, value in response.headers.items()}
        return Reply(response.status_code, headers, body)

    def failure(self, error: httpx.RequestError) -> Failure:
        """What kept an answer from coming. Timeouts and failures to connect may be retried."""
        where = httpx.URL(self.base_url).netloc.decode()
        if isinstance(error, httpx.TimeoutException):
            return Failure(f"No answer from {where} within {self.timeout:g} s", retryable=True)
        if isinstance(error, httpx.ConnectError):
            return Failure(f"Could not connect to {where}: {error}", retryable=True)
        reason = str(error) or type(error).__name__
        return Failure(f"The connection to {where} broke: {reason}", retryable=False)


def _checked_key(api_key: str | SecretStr) -> SecretStr:
    from pydantic import SecretStr  # noqa: PLC0415 - 50 ms that an import does not need

    if not isinstance(api_key, str | SecretStr):
        raise TypeError(f"api_key: expected a string, not {type(api_key).__name__}")
    key = (api_key.get_secret_value() if isinstance(api_key, SecretStr) else api_key).strip()
    if not key:
        raise ValueError("api_key: the key is empty; give the API key of your account")
    if not (key.isascii() and key.isprintable()):
        raise ValueError("api_key: the key holds characters that cannot stand in an HTTP header")
    return SecretStr(key)


def _checked_url(base_url: str) -> httpx.URL:
    expected = "expected an address such as 'https://rates.example' or 'http://127.0.0.1:8642'"
    if not isinstance(base_url, str):
        raise TypeError(f"base_url: {expected}, not {type(base_url).__name__}")
    try:
        url = httpx.URL(base_url.strip())
    except httpx.InvalidURL as error:
        raise ValueError(f"base_url: {error}; {expected}") from None
    if url.port is not None and not 0 < url.port <= _LAST_PORT:
        raise ValueError(f"base_url: {url.port} is no port; {expected}")
    if url.userinfo:
        raise ValueError("base_url: holds a user name or password; a secret never goes in a URL")
    if url.scheme not in {"http", "https"} or not url.host or url.query or url.fragment:
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
