"""The page of the local server: how its certificate is made and its add-in loaded. No secrets."""

# MERGED page: The page of the task pane: the static file with its addresses and the list of functions.
# MERGED pane: What the task pane shows and does, as JSON-ready answers. The routes are the app's.
#
# MERGED pane: What goes wrong is an answer, too: `{"trouble": {title, text, what_to_do, reference}}`, with the
# MERGED pane: `field` of the form that is at fault where it is one. No key is in any of them.
# MERGED script: `functions.js` as Excel loads it: the shipped file, with the server's address and token.
# MERGED manifest: The manifest that Excel loads: an add-in only manifest with functions, one runtime and a button.
#
# MERGED manifest: It names the server's address and token, so it is made for one user of one machine; both stay the
# MERGED manifest: same from run to run, and so does the manifest.
# MERGED metadata: What Excel is told of the functions: the JSON metadata of custom functions, from the registry.
#
# MERGED metadata: Excel puts the add-in's namespace before every name, so SVC_RATE is `=SVC.RATE(...)` there. An id
# MERGED metadata: names a function in saved workbooks: it never changes once it was out.

from __future__ import annotations

import json
import re
from dataclasses import asdict
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import quote

from svc_sdk import AuthError, Svc, SvcError, TransportError, __version__
from svc_tools import config
from svc_tools.atomic import whole_file
from svc_tools.config import ConfigurationError
from svc_tools.display import capital
from svc_tools.excel import settings
from svc_tools.excel.officejs.gate import ROOT
from svc_tools.excel.registry import EXAMPLES, FUNCTIONS, formula
from svc_tools.lookup.outcomes import Trouble, is_foreign, told_of_service

if TYPE_CHECKING:
    from pydantic import SecretStr

    from svc_tools.excel.desk import Desk
    from svc_tools.excel.officejs.gate import Gate
    from svc_tools.excel.registry import Function, Parameter

_STATES = {
    "http": "Plain http: LibreOffice Calc takes it. Excel asks for https: see the next section.",
    "https": "https: Excel takes it once this computer trusts the certificate.",
}

OFFICE_JS = "https://appsforoffice.microsoft.com/lib/1/hosted/office.js"
"""Where Office add-ins must load the host's library from: the one address outside this computer."""

Told: TypeAlias = dict[str, object]
"""An answer that JSON can hold."""
_LOCKED = (
    f"Address and key come from the environment ({config.URL_VARIABLE} and {config.KEY_VARIABLE})."
    " Change them there, then start svc-tools excel serve again."
)
_CONFIGURATION = "The configuration cannot be used"
_OFFER = "Give address and key under “Service and key”, or choose the embedded service."

_PLACE = "__CONFIG__"
_STARTS = {
    "http": "svc-tools excel serve",
    "https": "svc-tools excel serve --cert FILE --key FILE",
}
"""What a person types where the server does not run: over http, Excel would not reach it."""

NAMESPACE = "SVC"
"""What stands before the dot of every function in Excel."""
_PREFIX = f"{NAMESPACE}_"
_ZERO_IS_A_VALUE = {("SVC_TAX", "amount"), ("SVC_SUM", "range")}
"""The arguments where the number 0 is something else than an empty cell."""

_HELP_FILE = Path(__file__).parent / "templates" / "help.html"


def help_page(gate: Gate) -> str:
    """The page, as HTML; anybody on this machine may read it."""
    return Template(_HELP_FILE.read_text(encoding="utf-8")).substitute(
        origin=escape(gate.origin),
        scheme=gate.scheme,
        state=_STATES[gate.scheme],
        functions="\n".join(map(_row, FUNCTIONS)),
    )


def _row(function: Function) -> str:
    signature, told = (escape(host_text(text)) for text in (function.signature, function.help))
    name = host_name(function.name)
    return f'<tr id="{name}"><td><code>={signature}</code></td><td>{told}</td></tr>'


def page(token: str, *, office: bool) -> str:
    """The page.

    Args:
        token: what the addresses of its files carry.
        office: whether it is opened by an Office host: then it loads the host's library and the
            functions, too, and is the page of the shared runtime.
    """
    quoted = quote(token, safe="")
    scripts = (OFFICE_JS, f"functions.js?token={quoted}") if office else ()
    text = files(__package__).joinpath("static", "taskpane.html").read_text(encoding="utf-8")
    for name, content in (
        ("office", "\n".join(f'<script src="{escape(one)}"></script>' for one in scripts)),
        ("functions", "\n".join(map(_item, FUNCTIONS))),
        ("token", escape(quoted)),
    ):
        text = text.replace(f"{{{{{name}}}}}", content)
    return text


def _item(function: Function) -> str:
    name = host_name(function.name)
    signature = function.signature.replace(function.name, name, 1)
    example = escape(formula(name, EXAMPLES[function.name]))
    arguments = "".join(map(_argument, function.parameters))
    return (
        f"      <li><details><summary><code>{escape(signature)}</code></summary>"
        f'<div class="body"><p>{escape(host_text(function.help))}</p>'
        + (f"<dl>{arguments}</dl>" if arguments else "")
        + f"<pre><code>{example}</code></pre>"
        f'<div class="actions"><button type="button" data-formula="{example}"'
        f' aria-label="Example of {escape(name)}">Copy the example</button></div>'
        "</div></details></li>"
    )


def _argument(one: Parameter) -> str:
    optional = " <span>(may be left out)</span>" if one.optional else ""
    return f"<div><dt>{escape(one.name)}{optional}</dt><dd>{escape(host_text(one.help))}</dd></div>"


def status(desk: Desk) -> Told:
    """Who answers, whether it does, and what is kept. It asks one request that is not billed."""
    described = settings.describe()
    told: Told = {
        "service": "No service",
        "source": "",
        "words": desk.source,
        "notes": " ".join(desk.notes),
        "embedded": False,
        "has_key": described.key == "keyring",
        "locked": _LOCKED if described.known_from == "environment" else None,
        "address": _address(),
        "kept": desk.answered,
        "oldest": desk.oldest.isoformat() if desk.oldest else None,
        "trouble": None,
    }
    try:
        client = desk.client
    except (ConfigurationError, ImportError) as error:
        what_to_do = _LOCKED if told["locked"] else _OFFER
        return told | _trouble(Trouble(_CONFIGURATION, str(error), what_to_do))
    who = desk.service
    embedded = isinstance(client, config.EmbeddedSvc)
    told |= {"service": capital(who.name) if embedded else who.name, "embedded": embedded}
    if who.edition:
        told |= {"source": f"Rate book of {who.edition}"}
    try:
        settings.check_key(client)
    except SvcError as error:
        return told | _trouble(told_of_service(error))
    return told


def refresh(desk: Desk) -> Told:
    """Ask anew for every place of the session; what came of it, in a sentence and in numbers."""
    report = desk.refresh()
    return {
        "said": report.sentence,
        "asked": report.asked,
        "changed": report.changed,
        "failed": report.failed,
    }


def use_key(desk: Desk, address: str, key: SecretStr) -> Told:
    """Have the service at an address answer with a key, kept in the system's keyring.

    The service is asked first whether it takes the key: what it refuses is not kept, and whoever
    answered before goes on.
    """
    if settings.describe().known_from == "environment":
        return _locked()
    try:
        address = settings.checked_address(address)
    except ConfigurationError as error:
        text = str(error).removeprefix("The address cannot be used: ")
        return _trouble(Trouble("This is no address", text, "Correct it."), "address")
    try:
        with Svc(key, base_url=address, max_retries=0) as client:
            settings.check_key(client)
    except ValueError as error:  # an empty key, or one that no header can hold
        text = capital(str(error).removeprefix("api_key: "))
        what_to_do = "Copy the key again, without anything around it."
        return _trouble(Trouble("This cannot be a key", text, what_to_do), "key")
    except SvcError as error:
        return _trouble(told_of_service(error), _field_at_fault(error))
    try:
        address = settings.remember(address, key)
        keyring = settings.keyring_name()
    except (ConfigurationError, ImportError) as error:
        return _trouble(Trouble("The key cannot be kept", str(error), "It was not used."), "key")
    desk.use(None)
    return {"said": f"{address} takes the key. It is kept in {keyring}, and cells ask there now."}


def forget_key(desk: Desk) -> Told:
    """Remove the key from the keyring. The address stays, so that nobody else answers unnoticed."""
    if settings.describe().known_from == "environment":
        return _locked()
    try:
        address = settings.forget_key()
    except (ConfigurationError, ImportError) as error:
        return _trouble(Trouble("The key cannot be removed", str(error), "Then try again."))
    desk.use(None)
    if address is None:
        return {"said": "There was no key to forget."}
    return {"said": f"The key for {address} is removed. Cells say so until there is another."}


def use_embedded(desk: Desk) -> Told:
    """Have the embedded service answer, because a person chose it. Keys in the keyring stay."""
    if settings.describe().known_from == "environment":
        return _locked()
    try:
        settings.choose_embedded()
        desk.use(None)
        source = desk.client and desk.source
    except (ConfigurationError, ImportError) as error:
        title = "The embedded service cannot be used"
        return _trouble(Trouble(title, str(error), "Or give address and key."))
    return {"said": f"The {source} answers now."}


def _address() -> str:
    """What the form begins with."""
    try:
        chosen = settings.chosen()
    except ConfigurationError:
        return ""
    return "" if chosen in {None, settings.EMBEDDED} else str(chosen)


def _field_at_fault(error: SvcError) -> str:
    if isinstance(error, TransportError) or (
        is_foreign(error) and not isinstance(error, AuthError)
    ):
        return "address"
    return "key"


def _locked() -> Told:
    return _trouble(Trouble("The environment decides who answers", _LOCKED, "Nothing was changed."))


def _trouble(trouble: Trouble, field: str | None = None) -> Told:
    return {"trouble": asdict(trouble) | {"field": field}}


_FILE = Path(__file__).parent / "static" / "functions.js"


def functions_script(gate: Gate) -> str:
    """The JavaScript that associates every function of the registry and asks this server."""
    config = {
        "url": f"{gate.origin}{ROOT}batch",
        "token": gate.token.get_secret_value(),
        "start": _STARTS[gate.scheme],
        "functions": [
            {"id": function_id(one.name), "f": one.name, "zeros": zeros_kept(one)}
            for one in FUNCTIONS
        ],
    }
    return _FILE.read_text(encoding="utf-8").replace(_PLACE, json.dumps(config), 1)


_MANIFEST_FILE = Path(__file__).parent / "templates" / "manifest.xml"


def manifest(gate: Gate) -> str:
    """The manifest of the add-in that asks this server, as XML."""
    values = {
        "version": _version(),
        "origin": gate.origin,
        "root": f"{gate.origin}{ROOT}".rstrip("/"),
        "token": quote(gate.token.get_secret_value(), safe=""),
        "namespace": NAMESPACE,
    }
    return Template(_MANIFEST_FILE.read_text(encoding="utf-8")).substitute(values)


def write_manifest(path: Path, gate: Gate) -> None:
    """Write the manifest to a file that only its owner can read, for the token is in it.

    Raises:
        OSError: it cannot be written.
    """
    with whole_file(path) as draft:
        draft.chmod(0o600)  # before anything is in it
        draft.write_text(manifest(gate), encoding="utf-8")


def _version() -> str:
    """The release in the four numbers that a manifest has."""
    numbers = re.findall(r"\d+", __version__)[:4]
    return ".".join([*numbers, "0", "0", "0", "0"][:4])


_NAME = re.compile(rf"\b{_PREFIX}[A-Z_]+\b")


def host_name(name: str) -> str:
    """How a function of the registry is written in Excel: SVC_RATE is SVC.RATE."""
    return f"{NAMESPACE}.{name.removeprefix(_PREFIX)}"


def host_text(text: str) -> str:
    """A help text of the registry with the functions as they are written in Excel."""
    return _NAME.sub(lambda found: host_name(found[0]), text)


def function_id(name: str) -> str:
    """The id of a function: letters, digits and periods, which every rule for ids allows."""
    return name.removeprefix(_PREFIX).replace("_", ".")


def zeros_kept(function: Function) -> list[int]:
    """The positions of the arguments whose zeros are meant.

    Desktop Excel hands over the empty cells of a range as the number 0, Excel on the web as null.
    No state, ZIP, day or name is 0, and no place of the country lies at 0 degrees: there a 0 is an
    empty cell. In the others an empty cell counts as much as a 0.
    """
    return [
        position
        for position, one in enumerate(function.parameters)
        if (function.name, one.name) in _ZERO_IS_A_VALUE
    ]


def metadata() -> dict[str, Any]:
    """The content of `functions.json`.

    Every argument is a matrix: so one that was left out (null) is told from an empty cell (a
    matrix of one), and a range gives a range. Errors of the sheet come in as values.
    """
    return {
        "allowErrorForDataTypeAny": True,
        "functions": [_described(function) for function in FUNCTIONS],
    }


def _described(function: Function) -> dict[str, Any]:
    return {
        "id": function_id(function.name),
        "name": function.name.removeprefix(_PREFIX),
        "description": host_text(function.help),
        "parameters": [
            {
                "name": one.name,
                "description": host_text(one.help),
                "type": "any",
                "dimensionality": "matrix",
                "optional": one.optional,
            }
            for one in function.parameters
        ],
        "result": {"type": "any", "dimensionality": "matrix"},
        "options": {"cancelable": True, "volatile": function.volatile},
    }
