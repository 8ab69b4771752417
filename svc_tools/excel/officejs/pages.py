"""What the add-in loads from the local server, and what its task pane shows and does.

Excel loads metadata of the functions, a manifest and `functions.js`. It puts the add-in's namespace
before every name, so SVC_RATE is `=SVC.RATE(...)` there. The id of a function is stored in
workbooks: it never changes once released. The manifest contains the server's address and token, so
it is made for one user of one machine; both stay the same from run to run.

The task pane's results are JSON objects; an error is one, too: `{"problem": {title, text,
what_to_do, reference}}`, with the `field` of the form that is wrong, if any. They contain no key.
The page with instructions (`help_page`) contains no secrets.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import quote

from svc_sdk import Svc, SvcError, __version__
from svc_sdk.wire import UnusableVariableError
from svc_tools import config, nexus
from svc_tools.config import ConfigurationError
from svc_tools.excel import settings, setup
from svc_tools.excel.desk import PATIENCE, PER_PLACE
from svc_tools.excel.officejs.guard import ROOT, origin_of
from svc_tools.excel.registry import EXAMPLES, FUNCTIONS, formula
from svc_tools.lookup.key_check import check_key, field_at_fault
from svc_tools.lookup.troubles import Trouble, explained
from svc_tools.nexus.edit import new_record
from svc_tools.nexus.notices import ADDING_NOTE
from svc_tools.show.codes import codes_of, meaning_of
from svc_tools.show.display import capital, from_template

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pydantic import SecretStr

    from svc_tools.base.loopback import LocalGuard
    from svc_tools.excel.desk import Desk, RefreshPlan
    from svc_tools.excel.registry import Function

NAMESPACE = "SVC"
"""The part before the dot in the name of every function in Excel."""
OFFICE_JS = "https://appsforoffice.microsoft.com/lib/1/hosted/office.js"
"""Where Office add-ins must load the host's library from: the only address elsewhere."""
_NAME = re.compile(rf"\b{NAMESPACE}_(?=[A-Z])")
_LOCKED = (
    f"Address and key come from the environment ({config.URL_VARIABLE} and {config.KEY_VARIABLE})."
    " Change them there, then start svc-tools excel serve again."
)
_OFFER = "Give address and key under “Service and key”, or choose the embedded service."
JsonObject: TypeAlias = dict[str, Any]


def functions_metadata(guard: LocalGuard) -> JsonObject:
    """The content of `functions.json`.

    Every argument is a matrix: so one that was left out (null) differs from an empty cell (a matrix
    of one), and a range gives a range. Errors of the sheet are passed as values. The help of each
    function is its row of `help_page`, which requires no token.
    """
    any_range = {"type": "any", "dimensionality": "matrix"}
    functions = [
        {
            "id": function_id(definition.name),
            "name": definition.name.removeprefix(f"{NAMESPACE}."),
            "description": definition.help,
            "helpUrl": f"{origin_of(guard)}{ROOT}#{definition.name}",
            "parameters": [
                {"name": each.name, "description": each.help, "optional": each.optional} | any_range
                for each in definition.parameters
            ],
            "result": any_range,
            "options": {"cancelable": True, "volatile": definition.volatile},
        }
        for definition, _ in _in_excel()
    ]
    return {"allowErrorForDataTypeAny": True, "functions": functions}


def _in_excel() -> Iterator[tuple[Function, str]]:
    """Every function as Excel names it, with its example."""
    for definition in FUNCTIONS:
        arguments = tuple(
            replace(each, help=host_text(each.help)) for each in definition.parameters
        )
        name = host_text(definition.name)
        shown = replace(
            definition, name=name, help=host_text(definition.help), parameters=arguments
        )
        yield shown, formula(name, EXAMPLES[definition.name])


def functions_script(guard: LocalGuard) -> str:
    """The JavaScript that registers every function and sends its calls to this server."""
    values = {
        "url": f"{origin_of(guard)}{ROOT}batch",
        "token": _token(guard),
        "start": "svc-tools excel serve",
        "patience": 1000 * PATIENCE,  # in milliseconds
        "per_place": 1000 * PER_PLACE,
        "functions": [
            {"id": function_id(definition.name), "f": definition.name, "zeros": definition.zeros}
            for definition in FUNCTIONS
        ],
    }
    script = Path(__file__).with_name("static").joinpath("functions.js").read_text("utf-8")
    return script.replace("__CONFIG__", json.dumps(values), 1)


def manifest(guard: LocalGuard) -> str:
    """The manifest of the add-in, as XML."""
    return from_template(
        "excel/manifest.xml",
        id=setup.DATA["addin"]["id"],
        version=".".join([*re.findall(r"\d+", __version__), "0"][:4]),  # four numbers
        origin=origin_of(guard),
        root=f"{origin_of(guard)}{ROOT}".rstrip("/"),
        token=quote(_token(guard), safe=""),
        namespace=NAMESPACE,
    )


def _token(guard: LocalGuard) -> str:
    return "" if guard.token is None else guard.token.get_secret_value()


def taskpane_page(guard: LocalGuard, *, office: bool) -> str:
    """The page of the task pane, as HTML.

    For an Office host it also loads the host's library and the functions: it is the page of the
    shared runtime.
    """
    token = quote(_token(guard), safe="")
    codes = (*codes_of("review"), *codes_of("warning"), *codes_of("confidence"))
    return from_template(
        "excel/taskpane.html",
        token=token,
        scripts=(OFFICE_JS, f"functions.js?token={token}") if office else (),
        functions=_in_excel(),
        nexus_types=nexus.NEXUS_TYPES,
        meanings=json.dumps({code: meaning_of(code) for code in codes}),
    )


def help_page(guard: LocalGuard) -> str:
    """The page with instructions, as HTML; anybody on this machine may read it."""
    return from_template(
        "excel/help.html",
        origin=origin_of(guard),
        scheme=guard.scheme,
        certificate=setup.certificate_commands(),
        functions=_in_excel(),
    )


def host_text(text: str) -> str:
    """A text with the functions' names in Excel: SVC_RATE is SVC.RATE."""
    return _NAME.sub(f"{NAMESPACE}.", text)


def function_id(name: str) -> str:
    """The id of a function: letters, digits and periods, which every rule for ids allows."""
    return host_text(name).removeprefix(f"{NAMESPACE}.").replace("_", ".")


def status(desk: Desk) -> JsonObject:
    """The service, whether it responds, and the cached results; sends one unbilled request."""
    described = settings.describe()
    locked = _LOCKED if described.known_from == "environment" else None
    address = None if described.service == settings.EMBEDDED else described.service
    result: JsonObject = {
        "service": "No service",
        "source": "",
        "words": desk.source,
        "notes": " ".join(desk.notes),
        "embedded": False,
        "has_key": bool(address) and not locked,
        "locked": locked,
        "address": address or "",
        "cached": desk.cached,
        "oldest": desk.oldest.isoformat() if desk.oldest else None,
        "spent": desk.spent,
        "left": None,
        "problem": None,
    }
    try:
        client, result["left"] = desk.client, desk.left
        service, embedded = desk.service, isinstance(desk.client, config.EmbeddedSvc)
        name = capital(service.name) if embedded else service.name
        source = f"Rate book of {service.edition}" if service.edition else ""
        result |= {"service": name, "embedded": embedded, "source": source}
        check_key(client)
    except (ValueError, ImportError, SvcError) as error:
        return result | _problem(error, "The configuration cannot be used", locked or _OFFER)
    return result


def plan(plan: RefreshPlan) -> JsonObject:
    """What a refresh would look up, as a sentence and numbers."""
    numbers = {"cells": plan.cells, "places": len(plan.places), "unknown": plan.unknown}
    return {"message": plan.sentence, **numbers}


def refresh(desk: Desk, plan: RefreshPlan) -> JsonObject:
    """Look the places of a plan up again; the report as a sentence and numbers."""
    report = desk.refresh(plan.places)
    shown = {"message": report.sentence, "happened": report.happened}
    return asdict(report) | shown | {"since": report.since.isoformat()}


def registrations(desk: Desk) -> JsonObject:
    """The account's registrations, as rows of texts."""
    try:
        register = nexus.list_register(desk.client)
    except (ValueError, ImportError, SvcError) as error:
        return _problem(error, "The registrations cannot be listed")
    return {"message": register.sentence, "rows": [record.texts for record in register.records]}


def add_registration(desk: Desk, row: Mapping[str, str], typed: str | None) -> JsonObject:
    """Show the request that adds a registration; once its state is typed, send it.

    Where nothing was `typed` (`None`), this is the preview, which only reads.
    """
    try:
        client, record = desk.client, new_record(row)
        dry = nexus.add_registrations(client, [record])
        confirm = bool(dry.requests) or any(item.step for item in dry.items)  # of a broken-off run
        if typed is None or not confirm:
            left_alone = [item.message for item in dry.items if item.status != "planned"]
            return {
                "message": " ".join([dry.sentence, *left_alone]),
                "requests": [request.text for request in dry.requests],
                "notes": f"{dry.restore_note} {ADDING_NOTE}",
                "state": record["state"],
                "confirm": confirm,
            }
        if typed.strip().upper() != record["state"]:
            expected = f"Type {record['state']} to add it. Nothing was changed."
            return _problem("", "This is not the state", expected, "nexus-typed")
        receipt = nexus.add_registrations(client, [record], dry_run=False)
    except (ValueError, ImportError, SvcError) as error:
        return _problem(error, "The registration cannot be added")
    desk.refresh_register()
    sentences = [
        receipt.sentence,
        *(item.message for item in receipt.items if item.outcome != "done"),
    ]
    sentences += receipt.advice
    if receipt.undoable and receipt.path:
        embedded = isinstance(client, config.EmbeddedSvc)
        service = "--embedded" if embedded else f"--base-url {client.base_url}"
        sentences.append(
            f"Its receipt undoes it (svc-tools nexus restore {receipt.path.name} {service})."
        )
    return {"message": " ".join(sentences)}


def use_key(desk: Desk, address: str, key: SecretStr) -> JsonObject:
    """Use the service at an address with a key, stored in the system's keyring.

    The key is checked first: one that the service rejects is not stored, and the former service
    stays in use.
    """
    if locked := _locked():
        return locked
    title, what_to_do, field = "The address cannot be used", "Correct it.", "address"
    try:
        address = settings.checked_address(address)
        title, field = "This cannot be a key", "key"  # an empty one, or one that no header can hold
        what_to_do = "Copy the key again, without anything around it."
        with Svc(key, base_url=address, max_retries=0) as client:
            check_key(client)
        title, what_to_do = "The key cannot be stored", "It was not used."
        settings.remember(address, key)
        keyring = settings.keyring_name()
    except SvcError as error:
        return _problem(error, title, field=field_at_fault(error))
    except UnusableVariableError as error:
        return _problem(error, "The configuration cannot be used", "Correct it, then try again.")
    except (ValueError, ImportError) as error:
        text = str(error).removeprefix("api_key: ").removeprefix(f"{title}: ")
        return _problem(capital(text), title, what_to_do, field)
    _use_settings(desk)
    return {"message": f"{address} accepts the key. It is stored in {keyring}."}


def forget_key(desk: Desk) -> JsonObject:
    """Remove the key from the keyring. The address stays: no other service is used unnoticed."""
    return _changed(desk, "The key cannot be removed", "Then try again.", setup.forget_key)


def use_embedded(desk: Desk) -> JsonObject:
    """Use the embedded service; keys in the keyring stay."""
    title, what_to_do = "The embedded service cannot be used", "Or give address and key."
    return _changed(desk, title, what_to_do, setup.use_embedded)


def _changed(desk: Desk, title: str, what_to_do: str, change: Callable[[], str]) -> JsonObject:
    """Change the settings, and have the desk use them."""
    if locked := _locked():
        return locked
    try:
        message = change()
    except (ConfigurationError, ImportError) as error:
        return _problem(error, title, what_to_do)
    _use_settings(desk)
    return {"message": message}


def _use_settings(desk: Desk) -> None:
    desk.use(None)
    settings.renew_service()


def _locked() -> JsonObject | None:
    """The problem of a service that the environment names: the pane cannot change it."""
    if settings.describe().known_from != "environment":
        return None
    return _problem(_LOCKED, "The environment names the service", "Nothing was changed.")


def _problem(
    error: Exception | str, title: str, what_to_do: str = "", field: str | None = None
) -> JsonObject:
    """A problem as the pane shows it; an error of the service has its own title and advice."""
    own = Trouble(title, str(error), what_to_do)
    trouble = explained(error) if isinstance(error, SvcError) else own
    return {"problem": asdict(trouble) | {"field": field}}
