"""Registers `df.svc` with pandas and polars, `ddf.svc` with Dask, cards with IPython.

That is done once they are loaded, and what polars needs is loaded when its `df.svc` is used.

Loading them for that would cost a command or a server that needs no frames half a second.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from svc_tools.base.extras import MissingExtraError, PandasTooOldError, missing, needs

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.abc import Loader
    from importlib.machinery import ModuleSpec
    from types import ModuleType

    from svc_sdk import TaxResponse

_REGISTERS = {"pandas": "svc_tools.frames", "dask.dataframe": "svc_tools.frames.dask"}
"""The module whose import registers the accessor, by library."""


def when_frames_are_loaded() -> None:
    """Register the accessors now, or right after their libraries are imported."""
    for name in (*_REGISTERS, "polars"):
        if name in sys.modules:
            _register(name)
        else:
            sys.meta_path.insert(0, _Finder(name))


def show_cards() -> None:
    """Have the running IPython shell, if there is one, show results of lookups as cards."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    if shell is not None:
        formatter = shell.display_formatter.formatters["text/html"]
        formatter.for_type_by_name("svc_sdk.models", "TaxResponse", _card)


def _card(result: TaxResponse) -> str | None:
    from svc_tools.lookup.options import review_threshold  # noqa: PLC0415 - a script needs none
    from svc_tools.lookup.outcomes import of_other_country, of_response, without_rates  # noqa: PLC0415 - as above
    from svc_tools.lookup.reviewing import remarks  # noqa: PLC0415 - as above
    from svc_tools.show.codes import all_warnings  # noqa: PLC0415 - a script needs none
    from svc_tools.show.display import card  # noqa: PLC0415 - as above

    try:
        outcome = of_response(None, result)
        warnings = remarks(outcome, all_warnings(result), below=review_threshold())
        return card(
            without_rates(result) if of_other_country(result) else result, warnings=warnings
        )
    except MissingExtraError:  # IPython shows the text then
        return None


def _register(name: str) -> None:
    if name == "polars":
        _register_polars()
        return
    try:
        # the module registers the accessor, also where it is what loads the library
        importlib.import_module(_REGISTERS[name])
    except Exception as error:  # noqa: BLE001 - an error here must not break `import pandas`
        _register_reminder(name, error)


def _register_polars() -> None:
    """Register accessors that load pandas when they are used: polars itself does without it."""
    api = sys.modules["polars"].api

    def of_frame(frame: object) -> object:
        """Sales-tax rates for the rows of a frame: `df.svc.lookup(...)`, then `df.svc.tax(...)`."""
        return _polars().PolarsSvcAccessor(frame)

    def of_lazy_frame(frame: object) -> object:
        """A `LazyFrame` has no rows to look up: collect it first."""
        return _polars().PolarsLazySvcAccessor(frame)

    with suppress(Exception):  # an error here must not break `import polars`
        api.register_dataframe_namespace("svc")(of_frame)
        api.register_lazyframe_namespace("svc")(of_lazy_frame)


def _polars() -> ModuleType:
    with needs("df.svc", "polars"):
        return importlib.import_module("svc_tools.frames.polars")


def _register_reminder(name: str, error: Exception) -> None:
    """Register an accessor that raises, when it is used, what is missing or broken."""
    accessor, extra = ("df.svc", "pandas") if name == "pandas" else ("ddf.svc", "dask")

    class Reminder:
        def __init__(self, _frame: object) -> None:
            if isinstance(error, PandasTooOldError):
                raise error
            if isinstance(error, ModuleNotFoundError):
                raise missing(accessor, extra, error.name or str(error))
            raise ImportError(
                f"{accessor} cannot be used: loading it failed ({type(error).__name__}: {error})"
            ) from error

    extensions = importlib.import_module(f"{name}{'.api' if name == 'pandas' else ''}.extensions")
    extensions.register_dataframe_accessor("svc")(Reminder)


class _Finder:  # a MetaPathFinder; importlib.abc would take 10 ms to load
    """Finds a library through the other finders, and wraps its loader."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._finding = False

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002 - the finder's signature
        target: ModuleType | None = None,  # noqa: ARG002 - as above
    ) -> ModuleSpec | None:
        """Find the watched module with a loader that registers `df.svc` once the module is loaded.

        `None` for every other module. The other finders are used for it, without this one.
        """
        if fullname != self._name or self._finding:
            return None
        self._finding = True
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._finding = False
        if spec is not None and spec.loader is not None:
            spec.loader = cast("Loader", _Loader(spec.loader, self))
        return spec


class _Loader:
    """Loads a module with its own loader, then registers the accessor."""

    def __init__(self, loader: Loader, finder: _Finder) -> None:
        self._loader = loader
        self._finder = finder

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - what the library's own loader offers
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        spec = module.__spec__
        if spec is not None:
            spec.loader = self._loader
        module.__loader__ = self._loader
        # not earlier: a `find_spec` that only checks for the library loads nothing
        if self._finder in sys.meta_path:
            sys.meta_path.remove(self._finder)
        self._loader.exec_module(module)
        _register(module.__name__)
