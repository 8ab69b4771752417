"""Who may ask the page's server for something. Pure.

The server listens on loopback, where every program and every user of the machine can reach it, and
where a web page elsewhere can send the browser (DNS rebinding, forms). So every request, of any
kind, needs the cookie that the opened address gave, under the server's own name, from its own page.
"""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass, field
from typing import Literal

from pydantic import SecretStr

__all__ = ["Asked", "Gate", "Verdict"]

Verdict = Literal["allowed", "welcome", "launched", "unknown", "foreign"]
"""`welcome`: the token fits, so the cookie is given. `launched`: the same, for the token that is
good once. `unknown`: there is none of them. `foreign`: under another name than the server's, or
from the page of another server."""

_READS = {"GET", "HEAD"}
_TOKEN_BYTES = 24
_PLACE_BYTES = 12


def _secret() -> SecretStr:
    return SecretStr(secrets.token_urlsafe(_TOKEN_BYTES))


def _place() -> str:
    return f"/{secrets.token_hex(_PLACE_BYTES)}/"


@dataclass(frozen=True, slots=True)
class Asked:
    """What is known of a request.

    Attributes:
        method: the HTTP method.
        path: the path, without the query.
        host: the header `Host`.
        token: the token in the query, or nothing.
        cookie: the value of the gate's cookie, or nothing.
        origin: the header `Origin`: the page that asks.
        site: the header `Sec-Fetch-Site`: how that page stands to this server.
        destination: the header `Sec-Fetch-Dest`: `document` where a person opens a page.
        upgrade: whether it asks for a websocket.
    """

    method: str
    path: str
    host: str
    token: str = ""
    cookie: str = ""
    origin: str | None = None
    site: str | None = None
    destination: str | None = None
    upgrade: bool = False


@dataclass(frozen=True, slots=True)
class Gate:
    """The token of one run, the cookie that follows it, and the names of the server.

    Attributes:
        port: the port that the server listens on.
        token: stands in the address that is printed.
        launch: stands in the address that a browser is started with, where the list of processes
            shows it: it is good for one opening.
        ticket: the value of the cookie: another secret, so that none tells the others.
        place: the path that the page lives under. A browser sends the cookies of 127.0.0.1 to
            every port of it, but a cookie of a path to that path alone: no other server gets it.
    """

    port: int
    token: SecretStr = field(default_factory=_secret)
    launch: SecretStr = field(default_factory=_secret)
    ticket: SecretStr = field(default_factory=_secret)
    place: str = field(default_factory=_place, repr=False)

    @property
    def cookie(self) -> str:
        """The name of the cookie: browsers keep the cookies of all ports of a machine together."""
        return f"svc-panel-{self.port}"

    @property
    def address(self) -> str:
        """The address of the server, without the token."""
        return f"http://127.0.0.1:{self.port}/"

    def address_with(self, token: SecretStr) -> str:
        """The address to open, with a token."""
        return f"{self.address}?token={token.get_secret_value()}"

    def judge(self, asked: Asked) -> Verdict:
        """Whether a request is let in."""
        if asked.host.lower() not in self._hosts() or self._is_foreign(asked):
            return "foreign"
        if asked.token and asked.path == "/" and asked.method == "GET" and not asked.upgrade:
            if _same(asked.token, self.launch):
                return "launched"
            return "welcome" if _same(asked.token, self.token) else "unknown"
        return "allowed" if _same(asked.cookie, self.ticket) else "unknown"

    def _hosts(self) -> set[str]:
        return {f"127.0.0.1:{self.port}", f"localhost:{self.port}"}

    def _is_foreign(self, asked: Asked) -> bool:
        """Whether another page than ours sends the request (a person's own click is no page's)."""
        own = f"http://{asked.host.lower()}"
        if asked.origin is not None and asked.origin.lower() != own:
            return True
        if asked.origin is None and (asked.upgrade or asked.method not in _READS):
            return True  # browsers always say it of these
        opens_a_page = asked.method in _READS and asked.destination == "document"
        return asked.site not in {None, "none", "same-origin"} and not opens_a_page


def _same(given: str, secret: SecretStr) -> bool:
    return hmac.compare_digest(given.encode(), secret.get_secret_value().encode())
