"""What the tab "File" says of a run, and the run as Python. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc_tools.config import EmbeddedSvc
from svc_tools.lookup.trouble import Trouble
from svc_tools.shown import capital, counted
from svc_tools.widgets.code import Name, as_code

if TYPE_CHECKING:
    from pathlib import Path

    from svc_sdk import Svc
    from svc_tools.frames.files.file_run import FileRun
    from svc_tools.frames.files.file_terms import Terms
    from svc_tools.widgets.file_choice import Reading

__all__ = ["NO_SERVICE", "code_of", "ended"]

_TAKE_IT = " Take the result away: what is kept here is removed when the panel's kernel ends."
NO_SERVICE = Trouble(
    "There is no service to ask",
    "No key was given, and the embedded service was not chosen.",
    "Do one of the two at the top of the panel, then try again.",
)


def code_of(client: Svc, source: Path, output: Path, terms: Terms, reading: Reading) -> str:
    """The call of `enrich_file` that does what the tab does; never the key."""
    embedded = isinstance(client, EmbeddedSvc)
    connect = as_code("svc_tools.connect", *(["embedded"] if embedded else []))
    call = as_code(
        "enrich_file",
        source,
        output,
        lookup=dict(terms.lookup) or None,
        tax=None if terms.tax is None else dict(terms.tax),
        date_format=terms.date_format,
        tz=terms.tz,
        prefix=terms.prefix or None,
        **reading,
        client=Name("client"),
    )
    head = "import svc_tools\nfrom svc_tools.frames import enrich_file"
    return f"{head}\n\nclient = {connect}\nrun = {call}"


def ended(run: FileRun, *, goes: bool) -> Trouble | str:
    """How a run ended, and what can be done now.

    Args:
        run: the run.
        goes: whether the result goes with the panel.
    """
    if run.stopped is None:
        return f"{_done(run)}{_TAKE_IT if goes else ''}"
    left = run.totals.statuses["not_attempted"]
    there = "No file was written."
    if run.written is not None:
        open_rows = f"; {counted(left, 'row')} are still to be asked for" if left else ""
        there = f"What was found is in {run.written.name}{open_rows}."
    again = "“Go on” asks only for what is left: every answer is kept."
    if not run.resumable:
        again = "No cache keeps the answers, so “Go on” asks for all places again."
    if run.interrupted:
        return f"It was stopped. {there} {again}"
    return Trouble("The run ended early", f"{capital(run.stopped)}. {there}", again)


def _done(run: FileRun) -> str:
    totals = run.totals
    if run.all_known and not totals.review:
        rated = "Every row has a whole rate"
        return f"{rated}." if totals.taxed is None else f"{rated} and its tax."
    failed = totals.statuses["failed"]
    again = f" “Run” asks again only for what failed: {counted(failed, 'row')}." if failed else ""
    return (
        f"Done. {counted(totals.review, 'row')} of {totals.rows:,} need review: the table below"
        f" says why.{again}"
    )
