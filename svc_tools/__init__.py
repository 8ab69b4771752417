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

from svc_sdk import AsyncSvc, Svc, SvcError, __version__
from svc_tools._register import show_cards, when_frames_are_loaded
from svc_tools.config import ConfigurationError, aconnect, connect
from svc_tools.extras import needs

if TYPE_CHECKING:
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
    """Load a name that needs pandas, or takes time to load, when it is used."""
    if name in {"alookup_many", "lookup_many"}:
        from svc_tools import lookup  # noqa: PLC0415 - 50 ms that a script may not need

        return getattr(lookup, name)
    if name in {"LookupFailedError", "svc"}:
        from svc_tools import frames  # noqa: PLC0415 - loads pandas

        return getattr(frames, name)
    if name == "panel":
        with needs("The panel", "notebook"):
            from svc_tools.widgets import panel  # noqa: PLC0415 - loads ipywidgets
        return panel.panel
    if name in _SUBPACKAGES:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names that can be used here: completion loads what it lists."""
    return sorted(
        name
        for name in (*__all__, *_SUBPACKAGES)
        if all(find_spec(library) for library in _LIBRARIES.get(name, ()))
    )


def load_ipython_extension(shell: object) -> None:
    """`%load_ext svc_tools`: the magic `%svc TX 78701`."""
    with needs("%svc", "notebook"):
        from svc_tools.widgets.magic import register  # noqa: PLC0415 - only IPython asks for it
    show_cards()
    register(shell)
