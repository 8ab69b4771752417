"""The page's web application: the gate before every handler, refusals, results to download."""

from __future__ import annotations

from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tornado import web

from svc_tools.page.gate import Asked, Gate, Verdict

if TYPE_CHECKING:
    from tornado.httputil import HTTPServerRequest

__all__ = ["HEADERS", "GuardedApplication", "ResultFileHandler"]

RESULTS = "results"
"""The folders whose files can be downloaded; uploads beside them cannot."""

HEADERS = {
    # the widgets' own scripts are inline and blobs; nothing is loaded from anywhere else
    "Content-Security-Policy": (
        "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:;"
        " style-src 'self' 'unsafe-inline' blob:; img-src 'self' data: blob:;"
        " font-src 'self' data:; connect-src 'self' data: blob:; object-src 'none';"
        " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}

_REFUSALS: dict[Verdict, tuple[str, str]] = {
    "unknown": (
        "This page needs its own address",
        "The address holds a token that is new with every start; without it nobody gets in.",
    ),
    "foreign": (
        "This page answers only itself",
        "The request came under another name than 127.0.0.1, or from another page.",
    ),
}


class GuardedApplication(web.Application):
    """A web application that asks its gate before any handler is even chosen."""

    def __init__(self, gate: Gate, **settings: Any) -> None:  # noqa: ANN401 - Tornado's settings
        super().__init__(**settings)
        self._gate = gate
        self._launched = False

    def find_handler(self, request: HTTPServerRequest, **kwargs: Any) -> Any:  # noqa: ANN401 - Tornado's own type is private
        """The handler of a request that may be answered, else one that says why it is not."""
        verdict = self._gate.judge(_asked(request, self._gate))
        if verdict == "allowed":
            return super().find_handler(request, **kwargs)
        if verdict == "launched":
            verdict, self._launched = ("unknown" if self._launched else "welcome"), True
        if verdict == "welcome":
            return self.get_handler_delegate(request, _WelcomeHandler, {"gate": self._gate})
        return self.get_handler_delegate(request, _RefusingHandler, {"verdict": verdict})


class ResultFileHandler(web.StaticFileHandler):
    """Files in the folders `results` of the page's work folder, as downloads."""

    def validate_absolute_path(self, root: str, absolute_path: str) -> str | None:
        """The path, where it is a result and lies inside, also after every link is followed."""
        try:
            base, found = Path(root).resolve(), Path(absolute_path).resolve()
            inside = found.is_relative_to(base) and RESULTS in found.relative_to(base).parts[:-1]
            offered = inside and found.is_file()
        except (OSError, ValueError):  # a name that no file can have
            offered = False
        if not offered:
            raise web.HTTPError(HTTPStatus.NOT_FOUND)
        return str(found)

    def set_extra_headers(self, path: str) -> None:
        """Downloads; kept nowhere on the way."""
        del path
        self.set_header("Content-Disposition", "attachment")
        self.set_header("Cache-Control", "no-store")
        for name, value in HEADERS.items():
            self.set_header(name, value)


class _WelcomeHandler(web.RequestHandler):
    """Gives the cookie for the token, and leads to the page, whose address lacks the token."""

    def initialize(self, gate: Gate) -> None:
        self._gate = gate

    def get(self) -> None:
        self.set_cookie(
            self._gate.cookie,
            self._gate.ticket.get_secret_value(),
            path=self._gate.place,
            httponly=True,
            samesite="Lax",  # "Strict" would be lost where another program's page links here
        )
        self.set_header("Referrer-Policy", "no-referrer")
        self.redirect(self._gate.place)


class _RefusingHandler(web.RequestHandler):
    """Says to any method why there is no answer."""

    def initialize(self, verdict: Verdict) -> None:
        self._title, self._text = _REFUSALS[verdict]

    def prepare(self) -> None:
        self.set_status(HTTPStatus.FORBIDDEN)
        for name, value in HEADERS.items():
            self.set_header(name, value)
        template = self.settings["voila_jinja2_env"].get_template("error.html")
        self.finish(template.render(status_message=self._title, message=self._text))


def _asked(request: HTTPServerRequest, gate: Gate) -> Asked:
    headers = request.headers
    cookie = request.cookies.get(gate.cookie)
    tokens = request.query_arguments.get("token", [])
    return Asked(
        method=request.method or "",
        path=request.path,
        host=request.host,
        token=tokens[0].decode("utf-8", "replace") if tokens else "",
        cookie=cookie.value if cookie else "",
        origin=headers.get("Origin"),
        site=headers.get("Sec-Fetch-Site"),
        destination=headers.get("Sec-Fetch-Dest"),
        upgrade=headers.get("Upgrade", "").lower() == "websocket",
    )
