"""What fails on company computers: advice, and what of it can be found on a computer.

A finding follows from the data of a `Computer` alone: folder, variables, and registry of Windows.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path, PureWindowsPath
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

CheckMark: TypeAlias = Literal["ok", "wrong", "not set up"]


@dataclass(frozen=True, slots=True)
class Advice:
    """What is seen where something of a company stands in the way, what it means, what to do.

    Attributes:
        name: what it is about, in a few words.
        hosts: the hosts whose sheet Start has it.
    """

    name: str
    hosts: Sequence[str]
    seen: str
    means: str
    todo: str


ADVICE: Mapping[str, Advice] = {
    key: Advice(**texts)
    for key, texts in tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8")).items()
}


class RegistryKey(NamedTuple):
    """A key of the registry; an empty one where there is none, or it cannot be read."""

    values: Mapping[str, Any]
    keys: Sequence[str] = ()


class Way(NamedTuple):
    """How the service of the cells is reached.

    Attributes:
        service: its address; empty for the embedded service, or where none can be read.
        proxy: host and port of the proxy; empty without one.
        problem: why a proxy or certificates that are set cannot be used; no password is in it.
    """

    service: str = ""
    proxy: str = ""
    problem: str = ""


class Computer(NamedTuple):
    """What is looked at.

    Attributes:
        folder: the folder of the workbooks.
        workbooks: their names.
        pythons: the paths of this Python, and of that from which its environment was made.
        variables: those that are set, of `VARIABLES`.
        registry: reads a key by its path, which begins with its root.
        way: how the service is reached.
    """

    folder: str
    workbooks: Sequence[str]
    pythons: Sequence[str]
    variables: Mapping[str, str]
    registry: Callable[[str], RegistryKey]
    way: Way


CompanyFinding: TypeAlias = tuple[CheckMark, str, str]
"""The mark, what was found, and what to do."""
_CLOUDS = ("OneDrive", "OneDriveCommercial", "OneDriveConsumer")
_PROXIES = tuple(f"{kind}_PROXY" for kind in ("HTTPS", "HTTP", "ALL", "NO"))
NETWORK = (*_PROXIES, *map(str.lower, _PROXIES), "SSL_CERT_FILE", "SSL_CERT_DIR")
"""The variables that decide how a service is reached; one may hold a password."""
VARIABLES = (*_CLOUDS, *NETWORK)
"""The variables that a finding may need; their values are not shown."""

_USER, _MACHINE = "HKEY_CURRENT_USER", "HKEY_LOCAL_MACHINE"
_MOUNTS = rf"{_USER}\Software\SyncEngines\Providers\OneDrive"
_SECURITY = r"Microsoft\Office\16.0\Excel\Security"
_DEFENDER = r"Microsoft\Windows Defender"
_RULES = r"Windows Defender Exploit Guard\ASR\Rules"
_NO_CHILDREN = "d4f940ab-401b-4efc-aadc-ad5f3c50688a"
"""Defender's rule "Block all Office applications from creating child processes"."""
_STOPS = {"1": "blocks", "6": "warns of"}
"""The states of a rule that stop a program; 0 is off, and 2 only records."""
_EXCEL = rf"{_MACHINE}\SOFTWARE\Microsoft\Windows\CurrentVersion\App Paths\excel.exe"
_SHELLS = (
    rf"{_MACHINE}\SOFTWARE\Policies\Microsoft\Windows\PowerShell",
    rf"{_USER}\Software\Policies\Microsoft\Windows\PowerShell",
    rf"{_USER}\Software\Microsoft\PowerShell\1\ShellIds\Microsoft.PowerShell",
    rf"{_MACHINE}\SOFTWARE\Microsoft\PowerShell\1\ShellIds\Microsoft.PowerShell",
)
"""Where PowerShell's execution policy is set; the first one counts."""
_INTERNET = rf"{_USER}\Software\Microsoft\Windows\CurrentVersion\Internet Settings"


def cloud(computer: Computer) -> CompanyFinding:
    """Whether the workbooks of the folder are in OneDrive or SharePoint."""
    if not computer.workbooks:
        return "ok", "no workbook is in this folder", ""
    mounts = (computer.registry(rf"{_MOUNTS}\{mount}") for mount in computer.registry(_MOUNTS).keys)
    roots = [computer.variables.get(name) for name in _CLOUDS]
    roots += [str(mount.values.get("MountPoint", "")) for mount in mounts]
    folder = PureWindowsPath(computer.folder)
    is_web = re.search(r"DavWWWRoot|\.sharepoint\.|^https?:", computer.folder, re.IGNORECASE)
    if is_web or any(folder.is_relative_to(PureWindowsPath(root)) for root in roots if root):
        text = f"{', '.join(computer.workbooks)} is in OneDrive or SharePoint: {computer.folder}"
        return "wrong", text, ADVICE["cloud"].todo
    return "ok", "the workbooks of this folder are in a folder of this computer", ""


def child(computer: Computer) -> CompanyFinding:
    """Whether Excel may start Python."""
    states: dict[str, Any] = {}
    for path in (rf"{_MACHINE}\SOFTWARE", rf"{_MACHINE}\SOFTWARE\Policies"):
        states.update(computer.registry(rf"{path}\{_DEFENDER}\{_RULES}").values)
    managed = computer.registry(rf"{_MACHINE}\SOFTWARE\Policies\{_DEFENDER}\Policy Manager").values
    pairs = (text.partition("=") for text in str(managed.get("ASRRules", "")).split("|"))
    states.update({rule: state for rule, _, state in pairs})
    state = {rule.casefold(): str(setting).strip() for rule, setting in states.items()}.get(
        _NO_CHILDREN
    )
    if state in _STOPS:
        text = f"a rule of Windows {_STOPS[state]} programs that Office starts"
        return "wrong", text, ADVICE["child"].todo
    return "ok", "no rule was found that keeps Excel from starting Python", ""


def vba(computer: Computer) -> CompanyFinding:
    """Whether the functions can be imported into a workbook."""
    policy = computer.registry(rf"{_USER}\Software\Policies\{_SECURITY}").values
    if policy.get("VBAWarnings") == 4:  # noqa: PLR2004 - all of them, without a message
        return "wrong", "a policy disables all macros of Excel", ADVICE["vba"].todo
    trusted = policy.get("AccessVBOM")
    if trusted == 0:
        return "wrong", "a policy locks the access to the VBA project", ADVICE["vba"].todo
    own = computer.registry(rf"{_USER}\Software\{_SECURITY}").values
    if 1 in {trusted, own.get("AccessVBOM")}:
        return "ok", "Excel trusts the access to the VBA project", ""
    todo = (
        "For the import of the functions: File > Options > Trust Center > Trust Center Settings >"
        " Macro Settings, “Trust access to the VBA project object model”"
    )
    return "not set up", "Excel does not trust the access to the VBA project", todo


def store(computer: Computer) -> CompanyFinding:
    """Whether Excel or Python is from the Microsoft Store."""
    excel = str(computer.registry(_EXCEL).values.get("", ""))
    found = [
        f"{name} is from the Microsoft Store: {path}"
        for name, path in (("Excel", excel), *(("Python", python) for python in computer.pythons))
        if "windowsapps" in path.casefold()
    ]
    if found:
        return "wrong", "; ".join(found), ADVICE["store"].todo
    if not excel:
        return "not set up", "Excel is not installed on this computer", ""
    return "ok", f"Excel is {excel}", ""


def powershell(computer: Computer) -> CompanyFinding:
    """Whether PowerShell runs Activate.ps1, which svc-tools can do without."""
    keys = [computer.registry(path).values for path in _SHELLS]
    named = (
        "Restricted" if values.get("EnableScripts") == 0 else values.get("ExecutionPolicy")
        for values in keys
    )
    policy = next((str(value) for value in named if value and value != "Undefined"), "Restricted")
    if policy.casefold() in {"restricted", "allsigned"}:
        text = f"its execution policy is {policy}: it does not run Activate.ps1"
        return "not set up", text, ADVICE["powershell"].todo
    return "ok", f"its execution policy is {policy}", ""


def proxy(computer: Computer) -> CompanyFinding | None:
    """How the service is reached through a proxy; `None` where nothing is set for one."""
    way = computer.way
    if way.problem:
        return "wrong", way.problem, "Correct or remove it, then start Excel and the server again."
    if way.proxy:
        return "ok", f"requests to {way.service} go through the proxy {way.proxy}", ""
    if any(name.upper() in _PROXIES for name in computer.variables):
        return "ok", f"{way.service or 'the embedded service'} is reached without a proxy", ""
    if way.service and computer.registry(_INTERNET).values.get("AutoConfigURL"):
        text = "Windows finds the proxy with a script, which Python does not read"
        todo = (
            "Ask your administrator for the address of the proxy, and set HTTPS_PROXY to it among"
            " the variables that Windows stores for you. Then start Excel and the server again."
        )
        return "not set up", text, todo
    return None


WINDOWS: Mapping[str, Callable[[Computer], CompanyFinding]] = {
    "Folder": cloud,
    "Child processes": child,
    "VBA trust": vba,
    "Store": store,
    "PowerShell": powershell,
}
"""What is looked at on Windows, by the name of its line."""
