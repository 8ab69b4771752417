"""Extras that are not installed: one error, with the command that installs what is missing."""

from __future__ import annotations

import json
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_PROJECT = "svc-tax-tools"
_PANDAS = (2, 3)
"""The oldest pandas under which the tests of frames and of nexus run."""
_PYDANTIC = (2, 7)
"""The oldest pydantic of the extras; the core, which the client library shares, allows older."""
EXTRA_MISSING, NOT_STARTED = "EXTRA_MISSING", "NOT_STARTED"
"""The codes of requests that the embedded service cannot serve as it is installed and set up."""


class MissingExtraError(ModuleNotFoundError):
    """An optional dependency is not installed; `extra` is the extra that brings it."""

    extra: str = ""


class PandasTooOldError(MissingExtraError):
    """The installed pandas is older than the extra needs."""


@contextmanager
def needs(what: str, extra: str) -> Iterator[None]:
    """Around imports of optional dependencies: what is missing is raised as `MissingExtraError`.

    Args:
        what: what needs them, as the subject of the sentence.
        extra: the extra that brings them. Of nested blocks the outer one names the extra: it
            brings those of the inner ones.
    """
    try:
        yield
    except PandasTooOldError:
        raise
    except ModuleNotFoundError as error:
        # one sentence is enough: the lines that led to the import say no more
        raise missing(what, extra, error.name or str(error)) from None


def require(what: str, extra: str, *libraries: str) -> None:
    """Raise `MissingExtraError` unless all libraries are installed; none of them is loaded."""
    for library in libraries:
        if find_spec(library) is None:
            raise missing(what, extra, library)


def missing(what: str, extra: str, library: str) -> MissingExtraError:
    """The error for a library that is not installed; see `needs`."""
    error = MissingExtraError(
        f"{what} needs the extra {extra!r}, which is not installed ({library} is missing)."
        f" Install it with: {install_command(extra)}",
        name=library,
    )
    error.extra = extra
    return error


def require_pandas(what: str, release: str) -> None:
    """Raise `PandasTooOldError` under an older pandas, whose days and texts may be read wrongly."""
    if _is_older(release, _PANDAS):
        needed = ".".join(map(str, _PANDAS))
        error = PandasTooOldError(
            f"{what} needs pandas {needed} or newer, and this environment has pandas {release},"
            f" under which days and missing texts could be read wrongly. Install it with:"
            f" {install_command('pandas')} (in an environment of its own where other code needs"
            " the older one)",
            name="pandas",
        )
        error.extra = "pandas"
        raise error


def require_pydantic(what: str, release: str) -> None:
    """Raise `MissingExtraError` under a pydantic that the client library alone can use."""
    if _is_older(release, _PYDANTIC):
        needed = ".".join(map(str, _PYDANTIC))
        error = MissingExtraError(
            f"{what} needs pydantic {needed} or newer, and this environment has pydantic {release}."
            f" Install it with: {install_command('service')}",
            name="pydantic",
        )
        error.extra = "service"
        raise error


def _is_older(release: str, than: tuple[int, int]) -> bool:
    return tuple(int(part) for part in release.split(".")[:2]) < than


_WAYS = {
    "polars.DataFrame": "df.svc works with it as it is, once svc_tools and polars are imported",
    "polars.LazyFrame": "collect it first: lf.collect().svc",
    "pyarrow": "make it one with .to_pandas(types_mapper=pandas.ArrowDtype)",
    "pyspark": "make it one with .toPandas()",
    "duckdb": "make it one with .df()",
    "modin": "make it one with .modin.to_pandas()",
    "dask": "it has ddf.svc, once svc_tools and dask.dataframe are imported",
    "cudf": "make it one with .to_pandas()",
    "ibis": "make it one with .to_pandas()",
    "narwhals": "take the frame in it with .to_native()",
    "vaex": "make it one with .to_pandas_df()",
}
"""How frames of other libraries become one of pandas, by library or by class."""


def not_pandas(value: object) -> str:
    """What a value is instead of a frame of pandas, and how it becomes one where it is a frame."""
    kind = type(value)
    library = kind.__module__.partition(".")[0]
    name = kind.__name__ if library == "builtins" else f"{library}.{kind.__name__}"
    way = _WAYS.get(name) or _WAYS.get(library)
    if way is None and isinstance(value, list | tuple | dict):
        way = "make it one with pandas.DataFrame(…)"
    return f"{name}; {way}" if way else name


def install_command(extra: str) -> str:
    """The command that installs an extra from where this package came from.

    In double quotes, which every shell reads. A package index is only named where the package was
    installed from one: a clone or a wheel need not be on any.
    """
    folder = Path(__file__).parents[2]
    with suppress(OSError, UnicodeDecodeError):
        if f'name = "{_PROJECT}"' in (folder / "pyproject.toml").read_text(encoding="utf-8"):
            return f'pip install -e "{folder}[{extra}]"'
    origin = _origin()
    return f'pip install "{_PROJECT}[{extra}]{f" @ {origin}" if origin else ""}"'


def _origin() -> str | None:
    """The address that the package was installed from; `None` for an index (PEP 610)."""
    from importlib.metadata import PackageNotFoundError, distribution  # noqa: PLC0415 - seldom used

    try:
        found = json.loads(distribution(_PROJECT).read_text("direct_url.json") or "{}")
        if version := found.get("vcs_info"):
            return f"{version['vcs']}+{found['url']}@{version['commit_id']}"
        return str(found["url"])
    except (PackageNotFoundError, ValueError, KeyError, AttributeError, TypeError):
        return None
