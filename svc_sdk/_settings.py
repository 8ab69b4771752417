"""The settings of a client, validated once for both clients (SPEC 4.4 and 5). No I/O."""

from __future__ import annotations

import functools
import logging
import math
import re
import ssl
import warnings
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import TYPE_CHECKING

import httpx

from svc_sdk._responses import Failure, Reply
from svc_sdk._route import Route, address_of, is_host_name, route_to
from svc_sdk._version import __version__

if TYPE_CHECKING:
    from pydantic import SecretStr

    from svc_sdk._requests import Call


DEFAULT_BASE_URL = "http://127.0.0.1:8642"
"""The default address of `svc-tools serve`."""

CLOSED = Failure(
    "The client is closed: make a new one, or close it after its last request",
    retryable=False,
    final=True,
)
"""The result of a request whose HTTP client was closed before or meanwhile."""
OTHER_LOOP = Failure(
    "The client was used in another event loop: make one for each (asyncio.run() starts a new one)",
    retryable=False,
)
"""The result of a request on a connection of another event loop."""

_LONG_WAIT = 600.0
"""Seconds: a longer pause is logged, so that a program that waits does not look stuck."""
_KEY_HEADER = "X-API-Key"
_LAST_PORT = 65_535
_PROXY_LOGIN = 407
_HIDDEN = "[API key]"
_UNTRUSTED = "CERTIFICATE_VERIFY_FAILED"
"""The name that OpenSSL has for it, in every system's text."""
# A shorter key could be a part of any text: hiding it would only garble the message.
_HIDE_FROM = 4


@dataclass(frozen=True, slots=True)
class Settings:
    """The validated arguments of a client's constructor."""

    key: SecretStr
    base_url: str
    timeout: float
    max_retries: int
    default_address: bool = False
    """Whether the constructor was given no address."""
    route: Route = field(default=Route(), repr=False, compare=False)
    """How our own HTTP client reaches the service; an injected one knows that by itself."""

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
        settings = cls(
            _checked_key(api_key),
            str(url).rstrip("/"),
            float(timeout),
            max_retries,
            default_address=base_url is DEFAULT_BASE_URL,
        )
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
        address = address_of(host)
        return address is not None and address.is_loopback

    def routed(self) -> Settings:
        """The settings with the route that the environment names now. Raises as `route_to`."""
        return replace(self, route=route_to(self.base_url, loopback=self.loopback))

    def request(self, client: httpx.Client | httpx.AsyncClient, call: Call) -> httpx.Request:
        """The request of a call, with the key set last: no local variable ever holds it."""
        request = client.build_request(
            call.method,
            self.base_url + call.path,
            params=list(call.params) or None,
            json=call.json,
            headers={
                "Accept": "application/json",
                "Accept-Encoding": "identity",  # a body of 700 bytes is not worth unpacking
                "User-Agent": f"svc-tools/{__version__}",
            },
            # waiting for a free connection is not a delay of the service
            timeout=(self.timeout, self.timeout, self.timeout, None),
        )
        request.headers[_KEY_HEADER] = self.key.get_secret_value()
        return request

    def reply(self, response: httpx.Response, body: bytes) -> Reply | Failure:
        """The response as a plain value. A key that a gateway echoes is hidden.

        A 407 over http is no response of the service: our proxy refused to pass the request on.
        """
        is_plain = self.base_url.startswith("http://")
        if response.status_code == _PROXY_LOGIN and is_plain and self.route.proxy is not None:
            return self._refused_by_proxy()
        headers = {name.lower(): value for name, value in response.headers.items()}
        return self.without_key(response.status_code, headers, body)

    def without_key(self, status: int, headers: dict[str, str], body: bytes) -> Reply:
        """The response of these parts, header names in lower case, without the key."""
        if b"\0" in body:  # UTF-16, which JSON is not in: no text holds this
            body = body.replace(b"\0", b"")
        key = self.key.get_secret_value()
        if len(key) >= _HIDE_FROM:
            body = body.replace(key.encode(), _HIDDEN.encode())
            if b"\\" in body or b"%" in body:
                body = self.hide(body.decode("latin-1")).encode("latin-1")
            headers = {name: self.hide(value) for name, value in headers.items()}
        return Reply(status, headers, body)

    def hide(self, text: str) -> str:
        """The text without the key, plain or escaped as in JSON or in a URL."""
        key = self.key.get_secret_value()
        if len(key) < _HIDE_FROM:
            return text
        text = text.replace(key, _HIDDEN)
        if "\\" not in text and "%" not in text:
            return text
        return re.sub("".join(map(_escaped, key)), _HIDDEN, text)

    def failure(self, error: Exception) -> Failure:
        """The failure of an exception. Timeouts and failures to connect may be retried."""
        where = httpx.URL(self.base_url).netloc.decode() + self.route.by
        if isinstance(error, httpx.TimeoutException | TimeoutError):
            return Failure(
                f"No complete response from {where} within {self.timeout:g} s",
                retryable=True,
                sent=not isinstance(error, httpx.ConnectTimeout | httpx.PoolTimeout),
            )
        reason = self.hide(str(error) or type(error).__name__)
        if isinstance(error, httpx.ProxyError) and reason.startswith(str(_PROXY_LOGIN)):
            return self._refused_by_proxy()
        if isinstance(error, httpx.ConnectError | ssl.SSLCertVerificationError):
            message = f"Could not connect to {where}: {reason}{self._advice(reason)}"
            return Failure(message, retryable=_UNTRUSTED not in reason, sent=False)
        if not isinstance(error, httpx.RequestError | ConnectionError | ssl.SSLError):
            return Failure(f"The response from {where} cannot be read: {reason}", retryable=False)
        message = f"The connection to {where} broke: {reason}"
        return Failure(message, retryable=False, sent=not isinstance(error, httpx.ProxyError))

    def _refused_by_proxy(self) -> Failure:
        service = httpx.URL(self.base_url).netloc.decode()
        message = f"Could not connect to {service}: {self.route.login}"
        return Failure(message, retryable=False, sent=False)

    def _advice(self, reason: str) -> str:
        if _UNTRUSTED in reason:
            return (
                ". On a company's network it may be its proxy that responds: name a file with the"
                " certificate of the company in SSL_CERT_FILE"
            )
        if not self.default_address:
            return ""
        return (
            ". No address was given, and this is the default: give the address of your service"
            " (base_url=, or SVC_BASE_URL for svc_tools.connect()), or start `svc-tools serve`"
        )

    def log_wait(self, seconds: float) -> None:
        """Log a long pause before the next attempt, which the service requested (SPEC 8)."""
        if seconds >= _LONG_WAIT:
            until = datetime.now().astimezone() + timedelta(seconds=seconds)
            logging.getLogger("svc_sdk").warning(
                "%s requests a pause of %s: the next attempt is at %s",
                httpx.URL(self.base_url).netloc.decode(),
                timedelta(seconds=round(seconds)),
                until.isoformat(" ", "seconds"),
            )


def _escaped(character: str) -> str:
    """A pattern of one character of the key: plain, or escaped once or a few times."""
    plain, digits = re.escape(character), f"{ord(character):02x}"
    # bounded: a long row of backslashes would be searched for each of them
    slashes = r"\\{1,8}"
    slashed = f"|{slashes}{plain}" if character in r'"\/' else ""
    return f"(?:{plain}|(?i:{slashes}u00{digits}|%{digits}){slashed})"


def as_secret(api_key: str | SecretStr) -> SecretStr:
    """The key as a secret, so that no local variable of a constructor shows it.

    Raises:
        ValueError: `None`, as of a variable that is not set.
        TypeError: not a string.
    """
    from pydantic import SecretStr  # noqa: PLC0415 - 50 ms that an import does not need

    if api_key is None:
        raise ValueError("api_key: there is none (None); is SVC_API_KEY set? Give your API key")
    if not isinstance(api_key, str | SecretStr):
        raise TypeError(f"api_key: expected a string, not {type(api_key).__name__}")
    return SecretStr(api_key) if isinstance(api_key, str) else api_key


def _checked_key(secret: SecretStr) -> SecretStr:
    # no local variable holds the text: a traceback with locals would show it
    stripped = type(secret)(secret.get_secret_value().strip())
    if not stripped.get_secret_value():
        raise ValueError("api_key: the key is empty; give the API key of your account")
    if "://" in stripped.get_secret_value():
        raise ValueError(
            "api_key: this is an address, not a key; the address of the service is base_url"
        )
    if not (stripped.get_secret_value().isascii() and stripped.get_secret_value().isprintable()):
        raise ValueError("api_key: the key holds characters that cannot stand in an HTTP header")
    return stripped


def checked_url(base_url: str) -> httpx.URL:
    """The address of a service, or the `ValueError`/`TypeError` that says what is expected."""
    expected = "expected an address such as 'https://rates.example' or 'http://127.0.0.1:8642'"
    if not isinstance(base_url, str):
        raise TypeError(f"base_url: {expected}, not {type(base_url).__name__}")
    # what was given is not repeated: it may be the key
    try:
        url = httpx.URL(base_url.strip())
        host = url.host
    except (httpx.InvalidURL, UnicodeError):
        raise ValueError(f"base_url: this is not an address; {expected}") from None
    if url.scheme not in {"http", "https"}:
        raise ValueError(f"base_url: this does not begin with http:// or https://; {expected}")
    if url.port is not None and not 0 < url.port <= _LAST_PORT:
        raise ValueError(f"base_url: {url.port} is no port; {expected}")
    if url.userinfo:
        raise ValueError("base_url: holds a user name or password; a secret never goes in a URL")
    if not (":" in host or is_host_name(host)):
        raise ValueError(f"base_url: this names no host; {expected}")
    if set(base_url) & {"?", "#"}:
        raise ValueError(f"base_url: this has more than a path after the host (? or #); {expected}")
    return url


@functools.cache
def _warn_of_plain_http(host: str) -> None:
    warnings.warn(
        f"The API key travels unencrypted to {host}: use https://{host} instead of http",
        UserWarning,
        stacklevel=4,
    )


def no_cookies() -> CookieJar:
    """A cookie jar that stores none: an account is identified by its key alone."""
    return CookieJar(DefaultCookiePolicy(allowed_domains=[]))
