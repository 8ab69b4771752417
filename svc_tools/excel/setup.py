"""What is set up on this computer: service, Excel's Python, certificate, add-in; what is wrong.

A step returns or yields sentences, or raises what `settings` does. Only `choose_certificate` and
`install` change anything, each after it said what. `check` changes nothing, and nothing is billed.
"""

from __future__ import annotations

import platform
import plistlib
import shutil
import ssl
import subprocess
import sys
import tomllib
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import partial
from importlib import import_module, metadata
from pathlib import Path, PureWindowsPath
from typing import TYPE_CHECKING, Any

from pydantic import SecretStr

from svc_sdk import AuthError, SvcError, __version__
from svc_sdk.wire import Settings, UnusableVariableError
from svc_tools import config
from svc_tools.base import operating_system
from svc_tools.base.extras import needs, require
from svc_tools.base.operating_system import is_windows, typed
from svc_tools.config import (
    KEY_VARIABLE,
    URL_VARIABLE,
    ConfigurationError,
    EmbeddedSvc,
    open_account,
)
from svc_tools.excel import company, settings
from svc_tools.excel.workbook import XLWINGS
from svc_tools.lookup.key_check import check_key
from svc_tools.lookup.troubles import explained, is_foreign
from svc_tools.show.display import from_template

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from svc_tools.excel.company import CheckMark, CompanyFinding

DATA: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_TIMEOUT = 5.0
"""Seconds for a response of the service."""
_PACKAGES = ("xlwings", "xlsxwriter", "fastapi", "uvicorn", "keyring", "filelock")
_ACCOUNT = "For your account: svc-tools excel install --base-url ADDRESS"
HTTPS, AT_LOGON = "svc-tools excel serve --https", "svc-tools excel serve --at-logon"
_START = f"At each logon: {AT_LOGON}. Now: svc-tools excel serve"
_RENEW = f"Make a new one: {HTTPS}, or name another with --cert and --key"
_OTHER_SERVICE = (
    "Stop that process, then start it again here: svc-tools excel serve. A server that starts at"
    " logon needs a stored account: svc-tools excel install --base-url ADDRESS"
)
_UNTRUSTED = "CERTIFICATE_VERIFY_FAILED"
"""OpenSSL's code for a certificate that is not trusted, in the message of the error."""
_UNBLOCK = (
    "Windows blocks the macros of a workbook from the internet or a mail. Unblock the downloaded"
    " file before you open it: right-click it in the Explorer > Properties > Unblock > OK."
)
_VARIABLES = (
    "Excel sees the variables that Windows stores for you (Settings > Edit environment variables),"
    " not those of this terminal."
)
_STORED_VARIABLES = (
    r"HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Control\Session Manager\Environment",
    r"HKEY_CURRENT_USER\Environment",
)
"""Where Windows stores variables; those of the user replace those of the computer."""
_ORIGINS = {
    "environment": f"from {URL_VARIABLE} and {KEY_VARIABLE} in the environment",
    "settings": "from `svc-tools excel install`",
    "nothing": "because no other is set up",
}


def current_service() -> str:
    """The service that the cells use; nothing is changed."""
    mark, text, todo = _service()
    if mark == "wrong":
        raise ConfigurationError(text)
    return f"The cells use {text}. {todo}"


def use_account(address: str, key: SecretStr) -> str:
    """Use the service at an address, with a key.

    Raises:
        ConfigurationError: the service does not accept the key, another program responds, or the
            key cannot be sent there or stored; nothing was changed.
        ImportError: the package that reaches the keyring is not installed.
    """
    address = settings.checked_address(address)
    checked = "The service accepts the key."
    account = (key, address)
    with open_account(account, timeout=_TIMEOUT, max_retries=0) as client:
        try:
            check_key(client)
        except AuthError:
            raise ConfigurationError(
                f"{address} does not accept the key: nothing was changed. Check the address and"
                " the key, then try again"
            ) from None
        except SvcError as error:
            if is_foreign(error):
                raise ConfigurationError(
                    f"What responds at {address} is not the service ({error.message}): nothing was"
                    " changed. Check the address, then try again"
                ) from None
            checked = f"The key could not be checked: {error.message}. Later: svc-tools excel check"
    settings.remember(address, key)
    return f"The cells use {address}; its key is in {settings.keyring_name()}. {checked}"


def use_embedded() -> str:
    """Use the embedded service."""
    settings.choose_embedded()
    return "The cells use the embedded service with its own rate book."


def forget_key() -> str:
    """Remove the key from the keyring."""
    address = settings.forget_key()
    if address is None:
        return "The service in use has no key in the keyring. Keys for other services stay there."
    return f"The key of {address} was removed. Cells show an error until there is another."


def install() -> Iterator[str]:
    """Prepare Excel on this computer: its Python, and the add-in.

    Raises:
        ConfigurationError: Excel starts another Python, or its add-ins cannot be changed.
        ImportError: xlwings is not installed.
    """
    yield "Excel and `svc-tools excel serve` follow a change once they are started again."
    if settings.describe().known_from == "environment":
        yield f"What {URL_VARIABLE} and {KEY_VARIABLE} say in the environment comes first."
    yield use_this_python()
    yield load_addin()
    if is_windows():
        yield _UNBLOCK


def use_this_python() -> str:
    """Have Excel start this Python, by the file of xlwings; an existing one is not changed.

    Raises:
        ConfigurationError: the file names another Python.
        ImportError: xlwings is not installed.
    """
    if not is_windows():
        return "Functions through xlwings need Excel on Windows: nothing was written for it here."
    with needs("Excel through xlwings", "excel"):
        import xlwings  # noqa: PLC0415 - of the extra, and it takes most of a second
        from xlwings.cli import config_create  # noqa: PLC0415 - the same
    path = Path(xlwings.USER_CONFIG_FILE)
    if not path.exists():
        config_create(None)  # type: ignore[no-untyped-call]  # as `xlwings config create` does, also for conda
    mark, text, todo = _python()
    if mark == "wrong":
        raise ConfigurationError(f"{text}. {todo}")
    return f"{text}, as {path} says."


def manifest_path() -> Path:
    """The manifest of the add-in, which `svc-tools excel serve` writes."""
    return config.excel_folder() / "svc-tools-manifest.xml"


def load_addin(*, remove: bool = False) -> str:
    """Have Excel on this computer load the add-in whose manifest the server wrote, or no longer.

    Raises:
        ConfigurationError: Windows or macOS does not allow it.
    """
    manifest, addin = manifest_path(), DATA["addin"]
    folder = Path(_filled(addin["folder"]))
    if not (manifest.exists() or remove):
        return f"Excel's add-in is not set up. If you want it: {HTTPS}, then run this again."
    try:
        if is_windows():
            _write_registry(addin["registry"], addin["id"], None if remove else str(manifest))
        elif operating_system.NAME == "darwin" and not remove:
            folder.mkdir(exist_ok=True)  # the one around it is there once Excel was started
            shutil.copy(manifest, folder)
        elif operating_system.NAME == "darwin":
            (folder / manifest.name).unlink(missing_ok=True)
        elif not remove:
            return f"Excel on the web: Home > Add-ins > More Add-ins > Upload My Add-in: {manifest}"
    except OSError as error:
        raise ConfigurationError(
            f"The add-ins of Excel cannot be changed ({error}). Start Excel once, then try again."
            " On a computer of your company the administrator may have to allow it"
        ) from None
    if remove:
        return "Excel no longer loads the add-in once it is started again."
    return "Excel loads the add-in once it is started again: Home > Add-ins > Sales tax rates."


def _write_registry(path: str, name: str, text: str | None) -> None:
    """Write a text value under HKEY_CURRENT_USER; `None` removes it."""
    winreg = import_module("winreg")  # of Windows alone
    with winreg.CreateKey(winreg.HKEY_CURRENT_USER, path) as key:
        if text is not None:
            winreg.SetValueEx(key, name, 0, winreg.REG_SZ, text)
            return
        with suppress(FileNotFoundError):  # it is not there
            winreg.DeleteValue(key, name)


def _registry(path: str) -> company.RegistryKey:
    """A key of the registry."""
    root, _, rest = path.partition("\\")
    try:
        winreg = import_module("winreg")  # of Windows alone
        with winreg.OpenKey(getattr(winreg, root), rest) as key:
            keys, values, _ = winreg.QueryInfoKey(key)
            found = (winreg.EnumValue(key, at)[:2] for at in range(values))
            return company.RegistryKey(dict(found), [winreg.EnumKey(key, at) for at in range(keys)])
    except (OSError, ImportError):  # it is not there, or an administrator closed it
        return company.RegistryKey({})


def start_at_logon() -> Iterator[str]:
    """Write the file by which the system starts the server at each logon, with the commands for it.

    Nothing else is changed: the user runs the commands, or does not.

    Raises:
        ConfigurationError: this system has no such file, or the server would use another service
            at logon than it does in this terminal.
        OSError: it cannot be written.
    """
    logon = DATA["logon"].get(operating_system.NAME)
    words = [sys.executable, "-m", "svc_tools", "excel", "serve"]
    if logon is None:
        raise ConfigurationError(
            "--at-logon knows Windows and macOS. Here add this command to the programs that your"
            f" desktop starts at login: {typed(words)}"
        )
    stored = _stored_variables()
    _check_account_at_logon(stored)
    folder = config.excel_folder()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / logon["file"]
    yield from _unseen_at_logon(stored, path)
    if is_windows():
        program, *arguments = words
        of = config.variables(("USERDOMAIN", "USERNAME"))
        user = "\\".join(of.values())
        values = {"user": user, "program": program, "arguments": typed(arguments)}
        text = from_template("excel/logon.xml", **values, folder=folder)
        path.write_bytes(text.encode("utf-16"))  # the only encoding that schtasks reads
    else:
        log = str(folder / "serve.log")
        job = {**logon["job"], "ProgramArguments": words}
        job |= {"StandardOutPath": log, "StandardErrorPath": log}
        job["EnvironmentVariables"] = {"SVC_EXCEL": str(folder)}  # launchd has none of a terminal's
        path.write_bytes(plistlib.dumps(job))
    yield f"Made {path}. It starts the server at each logon once you run:"
    for kind, before in (("start", ""), ("stop", "To remove it:")):
        if before:
            yield before
        for command in logon[kind]:
            filled = [word.format(file=path, home=Path.home()) for word in command]
            yield f"  {typed(filled)}"


def _stored_variables() -> dict[str, str]:
    """The variables that Windows stores, which the server sees at logon, in upper case."""
    if not is_windows():
        return {}
    every = [_registry(path).values.items() for path in _STORED_VARIABLES]
    return {name.upper(): str(value).strip() for values in every for name, value in values}


def _check_account_at_logon(stored: Mapping[str, str]) -> None:
    """Raise where the account of this terminal is not the one that the server has at logon."""
    account = config.configured()
    if account is None:
        return
    key, address = account[0], settings.checked_address(account[1])
    names = f"{URL_VARIABLE} and {KEY_VARIABLE}"
    if {URL_VARIABLE, KEY_VARIABLE} & stored.keys():
        here = config.variables((URL_VARIABLE, KEY_VARIABLE))
        if any(stored.get(name) != value for name, value in here.items()):
            raise ConfigurationError(
                f"Windows stores other values of {names} than this terminal has, and the server"
                " that starts at logon would use those: nothing was written. Correct them"
                " (Settings > Edit environment variables), then run this in a new terminal"
            )
        return
    is_known = False
    with suppress(ConfigurationError, ImportError):  # no keyring, so no key in it
        known = settings.chosen() == address and settings.stored_key(address)
        is_known = bool(known) and known == key
    if not is_known:
        raise ConfigurationError(
            f"The server that starts at logon does not see {names} of this terminal, and would use"
            " another service: nothing was written. Store the account first:"
            f" svc-tools excel install --base-url {address}, then run this again"
        )


def _unseen_at_logon(stored: Mapping[str, str], path: Path) -> Iterator[str]:
    """Which further variables of this terminal the server does not see, and what to do."""
    names = (*config.OF_SPREADSHEETS, *company.NETWORK)
    if is_windows():  # the other file has it
        names = (config.EXCEL_VARIABLE, *names)
    here = config.variables(names)
    if is_windows():  # where upper and lower case are the same name
        here = {name.upper(): value for name, value in here.items()}
    unseen = [name for name, value in here.items() if stored.get(name) != value]
    if unseen:
        todo = f"add them to EnvironmentVariables in {path} first"
        if is_windows():
            todo = "store them first (Settings > Edit environment variables)"
        named = ", ".join(unseen)
        yield f"Variables of this terminal that the server does not see at logon: {named}."
        yield f"If it needs them, {todo}."


def choose_certificate(
    cert: Path | None,
    key: Path | None,
    *,
    https: bool | None,
    say: Callable[[str], None],
    confirm: Callable[[], bool] | None,
) -> tuple[Path, ...]:
    """The certificate to serve with and its key, stored for the next run; () for plain http.

    They are those given, those of the last run, or new ones: a program for it makes them and has
    this computer trust them, once the user confirmed its command. Where there is no such program,
    or nobody to `confirm`, commands are only shown. The arguments are those of `serving.serve`.

    Raises:
        ValueError: those given or stored cannot be used, or https is wanted and there are none.
        ConfigurationError: the program failed, or the settings cannot be used.
    """
    if (cert is None) != (key is None):
        raise ValueError("--cert and --key belong together: the certificate and its private key")
    if cert is not None and key is not None:
        check_certificate(cert, key)
        return settings.remember_certificate(cert, key)
    (known, chosen), usual = settings.certificate(), _usual_files()
    if https is False or (https is None and chosen is False):
        return settings.remember_certificate()
    problems = []
    for pair in dict.fromkeys(
        candidate for candidate in (known, usual[0].exists() and usual) if candidate
    ):
        try:
            check_certificate(*pair)
        except ValueError as error:
            problems.append(str(error))
        else:
            return settings.remember_certificate(*pair)
    if problems and not https:
        raise ValueError(f"{'. '.join(problems)}. {_RENEW}")
    made = _make_certificate(say, confirm)
    if https and not made:
        raise ValueError(". ".join(problems) or "There is no certificate yet to serve https with")
    return () if made is None else settings.remember_certificate(*made)


def _make_certificate(
    say: Callable[[str], None], confirm: Callable[[], bool] | None
) -> tuple[Path, ...] | None:
    """The new files; () where the user declined, `None` where commands were only shown."""
    say("Excel requires https, with a certificate for localhost that your computer trusts.")
    tool = next(
        (candidate for candidate in DATA["tools"] if shutil.which(candidate["command"][0])), None
    )
    if tool is None:
        shell = " in the Command Prompt" if is_windows() else ""
        run = f"Run these commands{shell}, then start the server again:"
        say("\n  ".join([run, *certificate_commands()]))
        return None
    name, *words = tool["command"]
    command = [str(shutil.which(name)), *map(_filled, words)]
    say("This command makes one, and has your computer trust its issuer. The system may ask")
    say(f"for your consent or password. {tool['note']}".rstrip())
    say(f"  {typed(command)}")
    if confirm is None:
        say(f"To run it, type {HTTPS} in a terminal, or add --yes.")
        return None
    if not confirm():
        return ()
    code = subprocess.run(command, check=False).returncode  # noqa: S603 - shown and confirmed
    cert, key = (Path(_filled(file)) for file in tool["files"])
    try:
        if code:
            raise ValueError(f"it ended with {code}")  # noqa: TRY301 - as where the files cannot be used
        check_certificate(cert, key)
    except ValueError as error:
        raise ConfigurationError(
            f"{name} made no certificate that is trusted: {error}. The page of"
            " `svc-tools excel serve --http --open` has commands that do without it"
        ) from None
    return cert, key


def certificate_commands() -> list[str]:
    """Commands for this system that make a certificate and have it trusted."""
    program, trust = DATA["openssl"]["program"], DATA["trust"]
    system = operating_system.NAME
    openssl = [program.get(system, "openssl"), *DATA["openssl"]["arguments"]]
    commands = [openssl, *trust.get(system, trust["linux"])]
    return [typed([_filled(word) for word in command]) for command in commands]


def _filled(text: str) -> str:
    cert, key = _usual_files()
    return text.format(cert=cert, key=key, home=Path.home())


def _usual_files() -> tuple[Path, Path]:
    """The certificate and its key where the commands write them."""
    folder = config.excel_folder()
    return folder / "svc-cert.pem", folder / "svc-key.pem"


_UNUSABLE = {
    "KEY_VALUES_MISMATCH": "they do not belong together",
    "EE_KEY_TOO_SMALL": "its key is too short: use at least 2048 bits",
    9: "it is not valid yet",
    10: "it has expired",
    26: "it is not for a server: its extendedKeyUsage has to name serverAuth",
    62: "it is not for localhost: its subjectAltName has to name DNS:localhost",
}
"""Why a certificate cannot be used, by OpenSSL's reason or code of verification."""


def check_certificate(cert: Path, key: Path) -> date:
    """Check a certificate for `localhost`, and return its last day.

    A handshake in memory tries it: a browser inside Excel shows no reason where it does not fit.
    Whether this computer trusts it is not checked.

    Raises:
        ValueError: a file is missing or unreadable, the two do not belong together, the key has a
            password, or the certificate is for another name or not valid today.
    """
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        server.load_cert_chain(cert, key, password="")  # OpenSSL would prompt for one
        client = ssl.create_default_context(cafile=cert)
        client.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # its issuer is not checked
        client.hostname_checks_common_name = False  # as browsers
        to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
        calling = client.wrap_bio(to_client, to_server, server_hostname="localhost")
        serving = server.wrap_bio(to_server, to_client, server_side=True)
        for side in (calling, serving) * 3:  # more turns than a handshake needs
            with suppress(ssl.SSLWantReadError):
                side.do_handshake()
        until = (calling.getpeercert() or {})["notAfter"]
        return datetime.fromtimestamp(ssl.cert_time_to_seconds(str(until)), UTC).date()
    except FileNotFoundError:
        raise ValueError(f"{key if cert.exists() else cert} does not exist") from None
    except OSError as error:
        reason = getattr(error, "verify_code", None) or getattr(error, "reason", None)
        why = _UNUSABLE.get(reason, "PEM files are expected, the key without a password")
        raise ValueError(f"{cert} with the key {key} cannot be used: {why}") from None


@dataclass(frozen=True, slots=True)
class Line:
    """The check of one part between a cell and the service.

    Attributes:
        name: what was checked.
        mark: whether it works; `not set up` is not an error: that adapter is not used here.
        said: what was found; never a key.
        todo: what to do; `None` for nothing.
    """

    name: str
    mark: CheckMark
    said: str
    todo: str | None = None


def check() -> Iterator[Line]:
    """Check this machine, and yield each line once it is known."""
    require("Checking spreadsheets", "excel", "xlwings")  # hardly anything is installed
    config.excel_folder()  # raises where it is no path
    computer = _computer()
    parts: dict[str, Callable[[], CompanyFinding]] = {"Packages": _packages}
    if is_windows():
        parts |= {"Excel's Python": _python, "Downloaded files": _downloads}
        parts |= {name: partial(look, computer) for name, look in company.WINDOWS.items()}
    if (found := company.proxy(computer)) is not None:
        parts["Proxy"] = lambda: found
    parts["Service"] = _service
    if settings.describe().problem is None:
        parts["Response"] = _response
    parts |= {"Certificate": _certificate, "Server": _server}
    for name, look_at in parts.items():
        try:
            mark, text, todo = look_at()
        except SvcError as error:
            trouble = explained(error)
            mark, text, todo = "wrong", f"{trouble.title}: {trouble.text}", trouble.what_to_do
            if _UNTRUSTED in error.message:
                todo = f"{todo} {company.ADVICE['proxy'].todo}"
        except (ImportError, OSError, ValueError) as error:
            mark, text, todo = "wrong", str(error), ""
        yield Line(name, mark, text, todo or None)


def _packages() -> CompanyFinding:
    require("A spreadsheet", "excel", *_PACKAGES, *["pywintypes"] * (is_windows()))
    if (xlwings := metadata.version("xlwings")) != XLWINGS:
        unlike = f"xlwings {xlwings}; the macros of the workbook are those of xlwings {XLWINGS}"
        return "wrong", unlike, f"Run: pip install xlwings=={XLWINGS}"
    python = f"Python {platform.python_version()}: {sys.executable}"
    return "ok", f"svc-tax-tools {__version__}, {python}", ""


def _python() -> CompanyFinding:
    """Whether Excel starts this Python, as the file of xlwings says."""
    from xlwings.cli import get_conda_settings  # noqa: PLC0415 - takes most of a second
    from xlwings.utils import read_user_config  # noqa: PLC0415 - the same

    found = read_user_config()  # type: ignore[no-untyped-call]
    python, environment, this = found.get("interpreter_win"), found.get("conda env"), False
    if python is not None:
        this = PureWindowsPath(python) == PureWindowsPath(sys.executable)
    elif environment is not None:
        python = f"the conda environment {environment}"
        this = get_conda_settings()[1] == environment  # type: ignore[no-untyped-call]
    if this:
        return "ok", f"Excel starts {python}, which is this Python", ""
    todo = f'In .xlwings/xlwings.conf of your user folder: "INTERPRETER_WIN","{sys.executable}"'
    return "wrong", f"Excel starts {python or 'another Python'}, not {sys.executable}", todo


def _computer() -> company.Computer:
    """The data of this computer from which the findings about it follow."""
    found = config.variables(company.VARIABLES)
    workbooks = [workbook.name for workbook in _workbooks()]
    pythons = (sys.executable, sys.base_prefix)  # that of an environment is elsewhere
    return company.Computer(str(Path.cwd()), workbooks, pythons, found, _registry, _way())


def _way() -> company.Way:
    """How a client reaches the service that the cells use; no request is sent."""
    service = settings.describe().service
    if service in {None, settings.EMBEDDED}:
        return company.Way()
    reached = Settings.checked(SecretStr("none"), str(service), _TIMEOUT, 0)
    try:
        proxy = reached.routed().route.proxy
    except UnusableVariableError as error:
        return company.Way(reached.base_url, problem=str(error))
    return company.Way(reached.base_url, proxy.url.netloc.decode() if proxy else "")


def _workbooks() -> list[Path]:
    return sorted([*Path.cwd().glob("*.xls?"), *Path.cwd().glob("svc_udfs.py")])


def _downloads() -> CompanyFinding:
    """Whether Windows blocks a workbook of this folder."""
    files = _workbooks()
    blocked = [file.name for file in files if Path(f"{file}:Zone.Identifier").exists()]
    found = f"blocked: {', '.join(blocked)}" if blocked else "none in this folder is blocked"
    return "wrong" if blocked else "ok", found, _UNBLOCK


def _service() -> CompanyFinding:
    """The service that the cells use, and where it is configured."""
    described = settings.describe()
    if described.problem is not None:
        return "wrong", described.problem, ""
    origin = _ORIGINS[described.known_from]
    if described.service == settings.EMBEDDED:
        todo = _ACCOUNT if described.known_from == "nothing" else ""
        return "ok", f"the embedded service and its own rate book, {origin}", todo
    is_seen = not is_windows() or described.known_from != "environment"
    return "ok", f"{described.service}, {origin}", "" if is_seen else _VARIABLES


def _response() -> CompanyFinding:
    """Whether the service responds and accepts the key, by one unbilled request."""
    with settings.client(timeout=_TIMEOUT, max_retries=0) as client:
        check_key(client)
        if isinstance(client, EmbeddedSvc):
            return "ok", f"rate book of edition {client.book_edition}", ""
        return "ok", "the service accepts the key", ""


def _certificate() -> CompanyFinding:
    """Whether the certificate for https can be used."""
    pair, _ = settings.certificate()
    if not pair:
        return "not set up", "none yet; Calc needs none", f"For Excel's add-in: {HTTPS}"
    try:
        return "ok", f"{pair[0]}, valid until {check_certificate(*pair)}", ""
    except ValueError as error:
        return "wrong", str(error), _RENEW


def _server() -> CompanyFinding:
    """Whether the local server runs, which Calc and Excel's add-in need; it is sent nothing."""
    server = settings.read_server()
    if server is None:
        return "not set up", "not started yet; Excel's add-in and Calc need it", _START
    if not settings.is_server_running():
        return "not set up", f"it is not running; it last ran at {server.url}", _START
    found = f"running at {server.url} (process {server.pid})"
    used, here = server.service, settings.describe().service
    if None not in {used, here} and used != here:
        used, here = (
            "the embedded service" if address == settings.EMBEDDED else address
            for address in (used, here)
        )
        return "wrong", f"{found}, but it uses {used}, not {here}", _OTHER_SERVICE
    if server.certificate is not None:
        return "ok", f"{found}; this computer has to trust its certificate", ""
    return "ok", found, f"Calc accepts plain http; for Excel's add-in: {HTTPS}"
