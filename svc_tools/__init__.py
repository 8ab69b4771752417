"""US sales-tax rates where analysts work: exact, dated, and honest about what is not known.

    import pandas as pd
    import svc_tools

    orders = pd.read_csv("orders.csv").svc.lookup().svc.tax(amount="amount")

Importing the package gives every frame the accessor `df.svc` (where pandas is installed), and has
a notebook show the result of a lookup as a card.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from svc_tools._register import show_cards, when_frames_are_loaded
from svc_tools.base.extras import needs

if TYPE_CHECKING:
    from svc_sdk import AsyncSvc, Svc, SvcError, __version__
    from svc_tools import config as config
    from svc_tools.config import ConfigurationError, aconnect, connect
    from svc_tools.frames import LookupFailedError, svc
    from svc_tools.lookup import alookup_many, lookup_many
    from svc_tools.widgets.panel import panel

__all__ = [
    "AsyncSvc",
    "ConfigurationError",
    "LookupFailedError",
    "Svc",
    "SvcError",
    "__version__",
    "aconnect",
    "alookup_many",
    "connect",
    "lookup_many",
    "panel",
    "svc",
]

_SUBPACKAGES = ("frames", "nexus")
"""Public packages that are loaded when they are first used."""
_HOMES = {
    **dict.fromkeys(("AsyncSvc", "Svc", "SvcError", "__version__"), "svc_sdk"),
    **dict.fromkeys(("ConfigurationError", "aconnect", "connect"), "svc_tools.config"),
    **dict.fromkeys(("alookup_many", "lookup_many"), "svc_tools.lookup"),
    **dict.fromkeys(("LookupFailedError", "svc"), "svc_tools.frames"),
}
"""The modules of the names, loaded when a name of theirs is first used: the command line, which
imports this package, needs none of them to show its help."""
_LIBRARIES = {
    "LookupFailedError": ("pandas", "pyarrow"),
    "frames": ("pandas", "pyarrow"),
    "panel": ("ipywidgets", "anywidget"),
    "svc": ("pandas", "pyarrow"),
}
"""The libraries that a name needs, which an extra installs."""

when_frames_are_loaded()
show_cards()


def __getattr__(name: str) -> object:
    """Load a name when it is first used."""
    if name in _HOMES:
        found = globals()[name] = getattr(import_module(_HOMES[name]), name)
        return found
    if name == "panel":
        with needs("The panel", "notebook"):
            from svc_tools.widgets import panel  # noqa: PLC0415 - loads ipywidgets
        return panel.panel
    if name in {*_SUBPACKAGES, "config"}:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names that can be used here: completion loads what it lists."""
    return sorted(
        name
        for name in (*__all__, *_SUBPACKAGES)
        if all(find_spec(library) for library in _LIBRARIES.get(name, ()))
    )


def load_ipython_extension(_shell: object) -> None:
    """`%load_ext svc_tools`: cards also in a shell that was started after the import."""
    show_cards()
