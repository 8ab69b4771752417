"""How a service is reached: the proxy and the certificates that the environment names.

httpx reads the same variables. What it cannot use is there an exception that names none of them.
"""

from __future__ import annotations

import functools
import ipaddress
import os
import re
import ssl
import stat
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias
from urllib.request import getproxies

import httpx

if TYPE_CHECKING:
    from pydantic import SecretStr

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

_FILE, _FOLDER, _KEY_LOG = "SSL_CERT_FILE", "SSL_CERT_DIR", "SSLKEYLOGFILE"
_PROXY_EXPECTED = (
    "expected an address such as http://proxy.example:8080. In a user name or password write"
    " % as %25, @ as %40, : as %3A, / as %2F, # as %23 and ? as %3F"
)
_NO_PROXY_EXPECTED = (
    "expected names of hosts (rates.example, .example), addresses (10.1.2.3, ::1) or networks"
    " (10.0.0.0/8, fd00::/8), separated by commas"
)
_PEM = (
    "expected a file of certificates in PEM form (-----BEGIN CERTIFICATE-----), such as the one"
    " that your company gives out"
)
_NO_PROXY_WORDS = {"direct", "none"}
"""What some write for no proxy, as a file of rules does."""
_NO_ADDRESS = (
    "it is no address. For no proxy remove the variable, or name the host of the service in"
    " NO_PROXY"
)
_PORTS = {"http": 80, "https": 443}
_LAST_PORT = 65_535
_LONGEST_LABEL = 63
_LONGEST_SOCKS = 255
"""Bytes of a user name or password: SOCKS 5 has one byte for their number."""
_HASHED = re.compile(r"[0-9a-f]{8}\.\d+")
"""The names by which OpenSSL finds the certificates of a folder."""


class UnusableVariableError(ValueError):
    """A variable of the environment that cannot be used; the message shows no password."""


@dataclass(frozen=True, slots=True)
class Route:
    """How a service is reached: as here with nothing given, it is httpx that decides."""

    proxy: httpx.Proxy | None = field(default=None, repr=False)  # a user name may be a token
    tls: ssl.SSLContext | Literal[True] = True
    variable: str = ""
    """What names the proxy; for one of the system's settings, the variable that goes first."""

    @property
    def by(self) -> str:
        """The proxy for a message; empty where there is none."""
        return f" (through the proxy {self.proxy.url.netloc.decode()})" if self.proxy else ""

    @property
    def login(self) -> str:
        """What a proxy that refuses a request (407) wants, and what to do; without a password."""
        if self.proxy is None:
            return (
                "the proxy wants a user name and a password (407): give them to the proxy of your"
                " HTTP client"
            )
        host = self.proxy.url.netloc.decode()
        example = f"{self.variable}={self.proxy.url.scheme}://name:password@{host}"
        if self.proxy.auth is None:
            return f"the proxy {host} wants a user name and a password (407): set {example}"
        return (
            f"the proxy {host} does not accept the user name and the password of {self.variable}"
            f" (407): correct {example}, with special characters by their codes (@ as %40)"
        )


def route_to(base_url: str, *, loopback: bool) -> Route:
    """The route to a service: no proxy for one on this machine, no certificates without TLS.

    Raises:
        UnusableVariableError: a proxy, an exception from it, or the certificates cannot be used.
    """
    url = httpx.URL(base_url)
    proxy, variable = (None, "") if loopback else _proxy(url)
    tls_to_proxy = proxy is not None and proxy.url.scheme == "https"
    tls = _trusted() if url.scheme == "https" or tls_to_proxy else _untrusting()
    if proxy is not None and tls_to_proxy:
        proxy.ssl_context = tls
    return Route(proxy, tls, variable)


def address_of(host: str) -> Address | None:
    """The address that a host is; the IPv4 address where it is written as one of IPv6."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


def is_host_name(host: str) -> bool:
    """Whether each part of a host between the dots has a length that a name may have."""
    return all(0 < len(label) <= _LONGEST_LABEL for label in host.rstrip(".").split("."))


def _proxy(url: httpx.URL) -> tuple[httpx.Proxy | None, str]:
    """The proxy for a service, and the variable that names it or can."""
    kind, given = _given(url.scheme)
    if given is None or _is_excepted(url):
        return None, ""
    is_word = given.get_secret_value().lower() in _NO_PROXY_WORDS
    read = _NO_ADDRESS if is_word else _read(given)
    if isinstance(read, str):
        raise UnusableVariableError(f"{_variable(kind)} cannot be used as a proxy: {read}")
    return read, max(_variables(kind), default=f"{kind}_proxy".upper())


def _given(scheme: str) -> tuple[str, SecretStr | None]:
    """The proxy for a scheme as it is written, which may be with a password."""
    from pydantic import SecretStr  # noqa: PLC0415 - 50 ms that an import does not need

    proxies = getproxies()
    for kind in (scheme, "all"):
        if text := proxies.get(kind, "").strip():
            return kind, SecretStr(text)
    return "", None


def _variable(kind: str) -> str:
    """The name of the variable that `getproxies` read: lower case goes before upper case."""
    return max(_variables(kind), default=f"The {kind} proxy in the settings of this computer")


def _variables(kind: str) -> list[str]:
    return [name for name in os.environ if name.lower() == f"{kind}_proxy" and os.environ[name]]


def _read(given: SecretStr) -> httpx.Proxy | str:
    """The proxy, or why it cannot be used. Raises nothing: a traceback would show the text."""
    text = given.get_secret_value()
    try:
        url = httpx.URL(text if "://" in text else f"http://{text}")
        # httpcore has the proxy resolve the names of hosts in both
        proxy = httpx.Proxy(url.copy_with(scheme="socks5") if url.scheme == "socks5h" else url)
        is_host = ":" in url.host or is_host_name(url.host)
    except (httpx.InvalidURL, ValueError):  # as a UnicodeError is, of a host that is no name
        return f"it is not an address of http, https or socks5; {_PROXY_EXPECTED}"
    port = 1 if url.port is None else url.port
    if not is_host or not 0 < port <= _LAST_PORT:
        return f"it names no host, or no port from 1 to {_LAST_PORT}; {_PROXY_EXPECTED}"
    if url.path not in {"", "/"} or set(text) & {"?", "#"}:
        return f"it has more than a host and a port; {_PROXY_EXPECTED}"
    if proxy.url.scheme == "socks5":
        if any(len(part.encode()) > _LONGEST_SOCKS for part in proxy.auth or ()):
            return f"its user name or password has more than {_LONGEST_SOCKS} bytes"
        if find_spec("socksio") is None:
            return 'a SOCKS proxy needs the package socksio: pip install "httpx[socks]"'
    return proxy


def _is_excepted(url: httpx.URL) -> bool:
    """Whether `NO_PROXY` names the host of an address.

    An entry that cannot be read is a fault only where no other one decides.
    """
    entries = re.split(r"[,;\s]+", getproxies().get("no", ""))
    found = {entry: _names(entry, url) for entry in entries if entry}
    if any(found.values()):
        return True
    unread = next((entry for entry, named in found.items() if named is None), None)
    if unread is None:
        return False
    shown = "an entry" if "@" in unread else repr(unread[:40])
    raise UnusableVariableError(
        f"{_variable('no')} cannot be used: {shown} is neither host nor network;"
        f" {_NO_PROXY_EXPECTED}"
    )


def _names(entry: str, url: httpx.URL) -> bool | None:
    """Whether an entry of `NO_PROXY` names the host of an address; `None` if it cannot be read."""
    scheme, marked, rest = entry.lower().rpartition("://")
    if scheme not in {"", "all", url.scheme}:
        return False
    host = rest.partition("/")[0] if marked else rest
    port = _PORTS[url.scheme] if url.port is None else url.port
    is_port = True
    if found := re.fullmatch(r"(\[[^]]*\]|[^:]*):([0-9]{1,5})", host):
        host, is_port = found[1], int(found[2]) == port
    host = host.replace("[", "").replace("]", "")
    address, wanted = address_of(url.host), address_of(host)
    if "/" in host:
        network = _network(host)
        return None if network is None else is_port and address is not None and address in network
    if wanted is not None or ":" in host:
        return None if wanted is None else is_port and wanted == address
    names = (url.host, url.raw_host.decode())
    return is_port and any(_is_below(name, host.rstrip(".")) for name in names)


def _network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    start, _, bits = text.partition("/")
    if re.fullmatch(r"[0-9]+(\.[0-9]+){0,2}", start):  # 169.254/16, as macOS writes it
        start += ".0" * (3 - start.count("."))
    try:
        return ipaddress.ip_network(f"{start}/{bits}", strict=False)
    except ValueError:
        return None


def _is_below(name: str, domain: str) -> bool:
    """Whether a host is a domain or below it; with a dot before the domain, below it alone."""
    name = name.lower().rstrip(".")
    if "*" in domain:
        return fnmatchcase(name, domain)
    return name == domain or name.endswith(f".{domain.removeprefix('.')}")


def _trusted() -> ssl.SSLContext:
    """The TLS context with the certificates that the environment names, else those of certifi."""
    file, folder, key_log = (os.environ.get(name, "") for name in (_FILE, _FOLDER, _KEY_LOG))
    if file:
        return _context(file, "", key_log, _state(file))
    if folder and not any(map(_has_certificate, folder.split(os.pathsep))):
        raise UnusableVariableError(
            f"{_FOLDER} is {folder!r}: there is no certificate that OpenSSL finds; put the"
            " certificates (PEM) into the folder and run `openssl rehash` on it"
        )
    return _context("", folder, key_log, None)


def _state(file: str) -> tuple[int, int, int]:
    """What changes when a file is replaced or written to."""
    why = "it is not a file"
    try:
        found = Path(file).stat()
        if stat.S_ISREG(found.st_mode):  # to read a pipe could take forever
            return found.st_ino, found.st_size, found.st_mtime_ns
    except OSError as error:
        why = error.strerror or type(error).__name__
    raise UnusableVariableError(f"{_FILE} is {file[:200]!r}, which cannot be read: {why}; {_PEM}")


def _has_certificate(folder: str) -> bool:
    try:
        files = [file for file in Path(folder).iterdir() if _HASHED.fullmatch(file.name)]
    except OSError:
        return False
    return any(_is_certificate(file) for file in files)


def _is_certificate(file: Path) -> bool:
    try:
        _untrusting().load_verify_locations(file)
    except OSError:  # as an ssl.SSLError is
        return False
    return True


@functools.lru_cache(maxsize=4)
def _context(
    file: str, folder: str, key_log: str, _state_of_file: tuple[int, int, int] | None
) -> ssl.SSLContext:
    """One context for every client that trusts the same: making one costs 50 ms."""
    try:
        if file or folder:
            return ssl.create_default_context(cafile=file or None, capath=folder or None)
        return httpx.create_ssl_context(trust_env=False)
    except ssl.SSLError:
        why = f"{_FILE} is {file!r}: no certificate can be read from it; {_PEM}"
    except OSError as error:
        if key_log and error.filename:  # the certificates have no name there
            why = f"{_KEY_LOG} is {key_log!r}, which cannot be written: {error.strerror};"
            why += " expected a file in a folder of yours, or no such variable"
        else:
            why = f"{_FILE} is {file!r}, which cannot be read: {error.strerror}; {_PEM}"
    raise UnusableVariableError(why)


def _untrusting() -> ssl.SSLContext:
    """A context for what is not encrypted: it trusts no certificate, and reads none."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
