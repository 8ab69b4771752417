"""Who may ask the local server for something. Pure.

It listens on loopback, where every program and every user of the machine can reach it, and where a
web page elsewhere can send the browser (DNS rebinding, forms). So it answers under its own names
only, to its own page, and to whoever has the token: in a header, or for the files that Excel itself
loads in their addresses.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from pydantic import SecretStr

__all__ = ["ACTIONS", "METADATA", "ROOT", "Asked", "Gate", "Verdict"]

Verdict = Literal["allowed", "unknown", "foreign"]
"""`unknown`: the token is missing or not ours. `foreign`: under another name than the server's, or
from the page of another server."""

ROOT = "/excel/"
"""What every path begins with."""

METADATA = f"{ROOT}functions.json"
"""The one file that pages of Excel on the web read from their own address: names and help texts."""

ACTIONS = frozenset(f"{ROOT}{name}" for name in ("batch", "status", "refresh", "key", "embedded"))
"""What computes or changes something: never by a token in an address, which browsers remember."""

_READS = {"GET", "HEAD"}
_USUAL_PORTS = {"http": 80, "https": 443}
_SCHEME = "bearer "


@dataclass(frozen=True, slots=True)
class Asked:
    """What is known of a request.

    Attributes:
        method: the HTTP method.
        path: the path, without the query.
        host: the header `Host`.
        origin: the header `Origin`: the page that asks, if a page does.
        authorization: the header `Authorization`.
        token: the token in the query, or nothing.
    """

    method: str
    path: str
    host: str
    origin: str | None = None
    authorization: str = ""
    token: str = ""


@dataclass(frozen=True, slots=True)
class Gate:
    """The names of the server, and the token of those who may ask it.

    Attributes:
        port: the port that the server listens on.
        token: what its callers prove themselves with.
        scheme: http, or https where it has a certificate.
    """

    port: int
    token: SecretStr
    scheme: Literal["http", "https"] = "http"

    @property
    def origin(self) -> str:
        """The server's address, without a path, as Excel is told it."""
        return f"{self.scheme}://localhost:{self.port}"

    def judge(self, asked: Asked) -> Verdict:
        """Whether a request is let in."""
        host = asked.host.lower()
        if host not in self._hosts():
            return "foreign"
        if asked.path == METADATA and asked.method == "OPTIONS":
            return "allowed"  # a browser asks whether it may ask
        reads_metadata = asked.path == METADATA and asked.method in _READS
        own = f"{self.scheme}://{host}"
        if asked.origin is not None and asked.origin.lower() != own and not reads_metadata:
            return "foreign"
        if asked.method in _READS and _is_open(asked.path):
            return "allowed"
        return "allowed" if self._knows(asked) else "unknown"

    def _hosts(self) -> set[str]:
        names = {"localhost", "127.0.0.1", "[::1]"}
        usual = self.port == _USUAL_PORTS[self.scheme]  # which no browser names
        return {f"{name}:{self.port}" for name in names} | (names if usual else set())

    def _knows(self, asked: Asked) -> bool:
        if asked.authorization[: len(_SCHEME)].lower() == _SCHEME:
            return self._is_token(asked.authorization[len(_SCHEME) :].strip())
        takes_query = asked.method in _READS and asked.path not in ACTIONS
        return takes_query and self._is_token(asked.token)

    def _is_token(self, given: str) -> bool:
        known = self.token.get_secret_value().encode()
        return hmac.compare_digest(given.encode(errors="surrogatepass"), known)


def _is_open(path: str) -> bool:
    """Whether a path holds nothing of anybody: the page with instructions, and the pictures."""
    return path == ROOT or (path.startswith(f"{ROOT}icon-") and path.endswith(".png"))
