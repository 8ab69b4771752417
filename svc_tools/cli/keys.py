"""`svc-tools keys ...`: the API keys of the embedded service, and what each of them may do."""

from __future__ import annotations

import codecs
import json
import os
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer
from pydantic import SecretStr
from rich.console import Console

from svc_tools import config
from svc_tools.base.operating_system import is_readable_by_others
from svc_tools.cli.common import admin, explained, grouped
from svc_tools.show.display import print_table, printable, prose

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_WORDS = {"none": -1, "plan": None}

_FEATURES = ("history", "full", "nexus")
_COLUMNS = (
    "Id",
    "Plan",
    "Rate",
    "This month",
    "Features",
    "Status",
    prose("Account, name"),
)

keys = typer.Typer(
    no_args_is_help=True,
    help="API keys of the embedded service: their plans, their limits, what they used. A service"
    " that runs follows a change within five seconds.",
)
_Db = Annotated[
    str | None,
    typer.Option(
        "--db",
        help="The database of the service: a path, or a postgresql:// address; else"
        f" {config.DATABASE_VARIABLE}, else a file in the user's data folder.",
    ),
]


@dataclass(frozen=True)
class Terms:
    """The options that say what a key may do."""

    plan: Annotated[
        str | None,
        typer.Option(
            help="free: 60 requests a minute, 1,000 lookups a month, none of the features below;"
            " standard: 600, 100,000, all of them; unlimited: no limit, all of them (the default"
            " of a new key)."
        ),
    ] = None
    rate: Annotated[
        str | None,
        typer.Option(
            "--rate-per-minute", help="Requests a minute; none for no limit, plan for the plan's."
        ),
    ] = None
    burst: Annotated[
        str | None, typer.Option(help="How many requests may come at once; plan for the plan's.")
    ] = None
    quota: Annotated[
        str | None,
        typer.Option(help="Lookups a calendar month; none for no limit, plan for the plan's."),
    ] = None
    history: Annotated[
        bool | None, typer.Option("--history/--no-history", help="Lookups of days before today.")
    ] = None
    full: Annotated[
        bool | None, typer.Option("--full/--no-full", help="Lookups with mode=full.")
    ] = None
    nexus: Annotated[
        bool | None, typer.Option("--nexus/--no-nexus", help="Nexus registrations.")
    ] = None
    past_due: Annotated[
        bool | None,
        typer.Option("--past-due/--paid", help="Past due: every request is refused with 402."),
    ] = None

    @property
    def limits(self) -> dict[str, int | None]:
        """The limits that were given, by the names of their columns."""
        given = {"rate_per_minute": self.rate, "burst": self.burst, "monthly_quota": self.quota}
        return {name: _figure_of(name, text) for name, text in given.items() if text is not None}

    @property
    def features(self) -> dict[str, bool]:
        """The features that were given."""
        given = {name: getattr(self, name) for name in _FEATURES}
        return {name: added for name, added in given.items() if added is not None}


_KeyId = Annotated[
    str, typer.Argument(help="The id that `keys list` shows, such as key_7f3a91c2d0.")
]


@contextmanager
def _store(db: str | None, *, make: bool = False) -> Iterator[Any]:
    """The keys of a database, and failures as sentences."""
    with explained():
        door = admin()
        try:
            yield door.KeyAdmin(config.database(db), make=make)
        except door.StartError as error:
            raise ValueError(str(error)) from None


@keys.command()
@grouped
def create(
    *,
    name: Annotated[str | None, typer.Option(help="What the key is for.")] = None,
    account: Annotated[
        str, typer.Option(help="Whose nexus records it reaches; made where it is new.")
    ] = "local",
    terms: Terms,
    expires: Annotated[
        str | None,
        typer.Option(help="When it ends: a day (the last one, UTC) as 2027-01-31, or 90d."),
    ] = None,
    db: _Db = None,
) -> None:
    """Make a key and print it, this once: only its hash is stored."""
    with _store(db, make=True) as store:
        row, key = store.issue(
            account=account,
            name=name,
            plan=terms.plan,
            limits=terms.limits,
            features=terms.features,
            expires_at=_expiry(expires),
            past_due=bool(terms.past_due),
        )
        _print(f"Made {row.id}: {_terms_in_words(row)}.", stderr=True)
        typer.echo(key.get_secret_value())
        _print("Keep the key: it is shown this once, and only its hash is stored.", stderr=True)


@keys.command("list")
def list_keys(
    *,
    as_json: Annotated[bool, typer.Option("--json", help="JSON for a program.")] = False,
    db: _Db = None,
) -> None:
    """Show the keys: what they may do and what they used this month; never the keys themselves."""
    with _store(db) as store:
        described = store.describe()
    if as_json:
        typer.echo(json.dumps(described, indent=2))
        return
    if not described:
        typer.echo("There is no key yet; make one with `svc-tools keys create`.")
        return
    rows = [(*_facts(key), _remarks(key)) for key in described]
    print_table(Console(highlight=False), _COLUMNS, rows)


@keys.command()
def revoke(key_id: _KeyId, db: _Db = None) -> None:
    """Make a key invalid, for good."""
    with _store(db) as store:
        row = store.revoke(key_id)
        typer.echo(f"{row.id} of account {row.account} is revoked since {row.revoked_at}.")
        typer.echo("A service that runs refuses it within five seconds.")


@keys.command()
@grouped
def update(
    key_id: _KeyId,
    *,
    terms: Terms,
    db: _Db = None,
) -> None:
    """Change what a key may do; what is not given stays."""
    with _store(db) as store:
        row = store.update(
            key_id,
            plan=terms.plan,
            limits=terms.limits,
            features=terms.features,
            past_due=terms.past_due,
        )
        _print(f"{row.id}: {_terms_in_words(row)}.")


@keys.command("account")
def bill_account(
    account: Annotated[str, typer.Argument(help="The account.")],
    past_due: Annotated[
        bool,
        typer.Option("--past-due/--paid", help="Past due: its keys are refused with 402."),
    ],
    db: _Db = None,
) -> None:
    """Set whether an account has paid its bills."""
    with _store(db) as store:
        count = store.set_account_past_due(account, past_due=past_due)
        status = "past due" if past_due else "paid up"
        typer.echo(f"Account {account} is {status}; keys of it: {count}.")


_LONGEST_FILE = 65_536


def run_key(given: str | None, file: Path | None) -> SecretStr | None:
    """The key of a run of `serve`: an option's, else that of the environment, else `None`.

    No message shows it: what was given instead of a key may be one, too.

    Raises:
        ValueError: both options were given, or the file holds no key.
        OSError: the file cannot be read.
    """
    if given is not None and file is not None:
        raise ValueError("--api-key and --key-file both name the key; give one of them")
    if given == "-" or (file is not None and str(file) == "-"):
        return SecretStr(sys.stdin.readline().rstrip("\r\n"))
    if file is not None:
        return _key_in(file)
    if given is None:
        return config.serve_key()
    _warn(
        "The list of processes shows this key to other users of the machine; give it in"
        f" {config.SERVE_KEY_VARIABLE}, or with --key-file"
    )
    return SecretStr(given)


def _key_in(path: Path) -> SecretStr:
    """The key in a file, with a warning where other users can read it."""
    with path.open("rb") as file:
        mode = os.fstat(file.fileno()).st_mode
        content = file.read(_LONGEST_FILE + 1)
    lines = [line.strip() for line in content.removeprefix(codecs.BOM_UTF8).splitlines()]
    lines = [line for line in lines if line]
    if is_readable_by_others(mode):
        _warn(f"Other users can read {path}; to change that: chmod 600 {path}")
    if len(lines) != 1 or len(content) > _LONGEST_FILE:
        found = "it is empty" if not lines else "it holds more than that"
        raise ValueError(f"--key-file: {path} should hold one key on one line; {found}")
    return SecretStr(lines[0].decode("ascii", "replace"))


def _warn(sentence: str) -> None:
    _print(f"Warning: {sentence}.", stderr=True)


def _figure_of(name: str, text: str) -> int | None:
    if text in _WORDS:
        return _WORDS[text]
    if not (text.isascii() and text.isdigit()):
        raise ValueError(
            f"{name.replace('_', ' ')}: given {text!r}, expected a whole number, none or plan"
        )
    return int(text)


def _expiry(text: str | None) -> str | None:
    """The first moment at which a key is no longer valid, in UTC."""
    if text is None:
        return None
    now = datetime.now(UTC)
    days = text.removesuffix("d")
    try:
        if text.endswith("d") and days.isascii() and days.isdigit():
            ends = now + timedelta(days=int(days))
        else:
            last = datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC)
            ends = last + timedelta(days=1)
    except (ValueError, OverflowError):
        raise ValueError(
            f"expires: given {text!r}, expected a day as 2027-01-31, or a number of days as 90d"
        ) from None
    if ends <= now:
        raise ValueError(f"expires: {text} is over; expected today or later")
    return ends.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _print(sentence: str, *, stderr: bool = False) -> None:
    """Print a sentence, wrapped on a terminal and in one line elsewhere."""
    console = Console(stderr=stderr, markup=False, highlight=False)
    console.print(sentence, soft_wrap=not console.is_terminal)


def _terms_in_words(row: Any) -> str:  # noqa: ANN401 - the service's own type stays behind the door
    """What a key may do, in one sentence."""
    terms = row.terms
    rate = terms.rate
    speed = f"{rate.per_minute:,} requests a minute, {rate.burst:,} at once" if rate else "any rate"
    quota = "any number of" if terms.monthly_quota is None else f"{terms.monthly_quota:,}"
    features = ", ".join(name for name in _FEATURES if name in terms.features) or "none"
    due = "; past due" if row.past_due else ""
    return (
        f"account {row.account}, plan {row.plan}: {speed}, {quota} lookups a month;"
        f" features: {features}{due}"
    )


def _facts(key: dict[str, Any]) -> tuple[str, ...]:
    rate, quota = key["rate_per_minute"], key["monthly_quota"]
    return (
        key["id"],
        key["plan"],
        "any" if rate is None else f"{rate:,}/min",
        "no quota" if quota is None else f"{key['used']:,} of {quota:,}",
        _feature_text(key["features"]),
        key["status"].replace("_", " "),
    )


def _feature_text(features: list[str]) -> str:
    missing = [name for name in _FEATURES if name not in features]
    if len(missing) == 1:
        return f"no {missing[0]}"
    return (
        (" ".join(name for name in _FEATURES if name in features) or "none") if missing else "all"
    )


def _remarks(key: dict[str, Any]) -> str:
    """Account, name and end of a key, where it has them."""
    until = key["expires_at"] or ""
    parts = (
        "" if key["account"] == "local" else key["account"],
        key["name"] or "",
        until and f"valid until {until[:16].replace('T', ' ')} UTC",
    )
    return printable(", ".join(part for part in parts if part))
