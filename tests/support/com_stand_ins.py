"""xlwings' own COM code on any system: what Windows would bring is stood in for, nothing else.

`xlwings._xlwindows`, `xlwings.udfs` and `xlwings.com_server` are the real ones: a call goes the way
that the generated VBA sends it, over the workbook of `com_excel`.
"""

from __future__ import annotations

import ctypes
import importlib
import io
import sys
from contextlib import contextmanager
from unittest.mock import MagicMock

import pytest

from support.com_excel import MISSING, App, ComError
from svc_tools.excel.workbook import MODULE_TEXT
from svc_tools.excel.workbook.writing import MODULE

_WINDOWS = (
    *("pywintypes", "pythoncom", "win32api", "win32con", "win32event", "win32gui", "win32process"),
    *("win32timezone", "win32com", "win32com.client", "win32com.server", "win32com.server.util"),
    *("win32com.server.dispatcher", "win32com.server.policy", "win32com.client.dynamic"),
)
_OURS = (
    MODULE,
    "svc_tools.excel.com.udfs",
    "svc_tools.excel.com.nexus",
    "svc_tools.excel.com.macros",
)
YES_NO = 4
NO_CALLER = -2146826265
"""What Application.Caller is where no cell calls: #REF!."""
_REAL = ("xlwings._xlwindows", "xlwings._win32patch", "xlwings.udfs", "xlwings.com_server")


class Excel:
    """Excel with xlwings: a workbook, and the way from a formula or a macro to Python.

    Attributes:
        app: the small Excel.
        book: its workbook.
        udfs: `xlwings.udfs`, the real one.
        module: the module that the workbook has beside itself.
    """

    def __init__(self, real):
        self.udfs, self._server = real["xlwings.udfs"], real["xlwings.com_server"]
        self.app = App(call=lambda name, given, cell: self.call(name, *given, cell=cell))
        self.book = self.app.book()
        self.module = importlib.import_module(MODULE)
        windows = real["xlwings._xlwindows"]
        windows.BOOK_CALLER = None
        windows.win32api.MessageBox = self._message

    def _message(self, _, text, __, style):
        self.app.told.append(text)
        button = self.app.pressed.pop(0) if style == YES_NO else "ok"
        return {"ok": 1, "cancel": 2, "yes": 6, "no": 7}[button]

    def call(self, name, *arguments, cell=None):
        """What a formula gets: the call as VBA sends it, what is left out marked as VBA does."""
        infos = getattr(self.module, name).__xlfunc__["args"]
        own = [info for info in infos if not info["vba"]]
        given = [*arguments, *[MISSING] * (len(own) - len(arguments))]
        given += [cell for info in infos if info["vba"]]
        return self._server.XLPython().CallUDF(MODULE, name, tuple(given), self.book, cell)

    def macro(self, name):
        """Run a macro as Alt+F8 does; gives its last message."""
        self.call(name, cell=NO_CALLER)
        return self.app.told[-1]

    def vba(self):
        """The VBA that xlwings makes of the module."""
        written = io.StringIO()
        self.udfs.generate_vba_wrapper(MODULE, self.module, written, self.book)
        return written.getvalue()


@contextmanager
def windows(tmp_path_factory):
    """The modules that Windows would bring, and the real COM code of xlwings over them."""
    with pytest.MonkeyPatch.context() as patch:
        for name in _WINDOWS:
            made = _module(name)
            patch.setitem(sys.modules, name, made)
            parent, _, last = name.rpartition(".")
            if parent:
                setattr(sys.modules[parent], last, made)
        for name in (*_REAL, *_OURS):
            patch.delitem(sys.modules, name, raising=False)
        import xlwings as xw  # noqa: PLC0415 - it costs most of a second

        real = _imported()
        udfs, server = real["xlwings.udfs"], real["xlwings.com_server"]
        for name, function in (
            ("func", udfs.xlfunc),
            ("sub", udfs.xlsub),
            ("arg", udfs.xlarg),
            ("ret", udfs.xlret),
        ):
            patch.setattr(xw, name, function, raising=False)
        patch.setattr(xw.engines, "engines", [])
        patch.setattr(xw.engines, "engines_by_name", {})
        patch.setattr(xw.engines, "active", None)
        xw.engines.add(xw.Engine(impl=real["xlwings._xlwindows"].engine))
        folder = tmp_path_factory.mktemp("beside-the-workbook")
        (folder / f"{MODULE}.py").write_text(MODULE_TEXT, encoding="utf-8")
        patch.syspath_prepend(folder)
        try:
            yield real
        finally:
            server.loop.close()
            for name in (*_REAL, *_OURS):
                sys.modules.pop(name, None)
                package, _, last = name.rpartition(".")
                if package and hasattr(sys.modules[package], last):
                    delattr(sys.modules[package], last)


@pytest.fixture(scope="module")
def com(tmp_path_factory):
    """xlwings' own COM code, which only Windows has, over stand-ins for Windows."""
    with windows(tmp_path_factory) as real:
        yield real


def _imported():
    """The real modules; only their import needs the system's libraries to be stood in for."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("windll", "oledll"):
            patch.setattr(ctypes, name, MagicMock(), raising=False)
        patch.setattr(ctypes, "PyDLL", MagicMock())
        patch.setattr("atexit.register", lambda function: function)
        return {name: importlib.import_module(name) for name in _REAL}


def _module(name):
    made = MagicMock(name=name)
    made.__spec__ = None
    if name == "pywintypes":
        made.com_error = ComError
        made.error = type("error", (Exception,), {})
        made.TimeType = type("TimeType", (), {})
        made.IID = str
    if name == "win32process":
        made.GetWindowThreadProcessId = lambda _: (1, 1)
    if name == "win32con":
        made.MB_OK, made.MB_OKCANCEL, made.MB_YESNOCANCEL, made.MB_YESNO = 0, 1, 3, YES_NO
    if name == "pythoncom":
        made.__file__ = "pythoncom.dll"
        made.ole_error = ComError
        made.TypeIIDs = {made.IID_IDispatch: type("PyIDispatch", (), {})}
    if name == "win32com.client":
        for kind in ("CDispatch", "CoClassBaseClass", "DispatchBaseClass"):
            setattr(made, kind, type(kind, (), {}))
        made.Dispatch = lambda found, **_: found
    if name == "win32com.server.util":
        made.unwrap = _no_python_object
    return made


def _no_python_object(_):
    raise ComError("what VBA sends is no Python object")
