"""What became of a file, for a person to read: in 80 columns, in 50, with colour or without."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc_tools.lookup import STATUSES
from svc_tools.lookup.alike import counted_alike
from svc_tools.lookup.review import REVIEW_REASONS
from svc_tools.meanings import MEANINGS
from svc_tools.printing import print_table, print_text
from svc_tools.progress_words import duration
from svc_tools.shown import the_service

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from svc_tools.frames.files.file_run import FileRun
    from svc_tools.lookup.plan import Plan

__all__ = ["show_plan", "show_run"]

_MOST = 6
_LONGEST = 400  # characters: whole for every reason of ours; a service may send a page


def show_run(console: Console, run: FileRun, *, taxed: bool) -> None:
    """Print what became of the rows, where the file is, and what to do next."""
    if run.written is not None:
        print_text(console, _headline(run))
        print_text(console)
        _statuses(console, run)
        if taxed:
            _money(console, run)
        _reasons(console, run, taxed=taxed)
    if run.written is not None and str(run.written) != "-":
        named = "Written" if run.stopped is None else "Written, incomplete"
        # no wrapping: a path is there to be copied
        line = f"{named}: {run.written}"
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    steps = _next_steps(run)
    if steps:
        print_text(console)
        print_text(console, ("What to do next", "bold"))
        print_table(console, ("", "~"), [("-", text) for text in steps])


def _headline(run: FileRun) -> str:
    rows = f"{run.source.name}: {run.totals.rows:,} {_plural('row', run.totals.rows)}"
    parts = [f"{run.asked:,} asked of {the_service(run.service)}"] if run.asked else []
    if run.cached:
        parts.insert(0, f"{run.cached:,} from the cache")
    how = f" ({', '.join(parts)})" if parts else ""
    places = f"{run.places:,} distinct {_plural('place', run.places)}"
    return f"{rows}, {places}{how}, {duration(run.seconds)}"


def _statuses(console: Console, run: FileRun) -> None:
    counts = run.totals.statuses
    rows = [
        (name, f"{counts[name]:,}", MEANINGS.get(name, "")) for name in STATUSES if counts[name]
    ]
    if rows:
        _section(console, "Rows by status", ("Status", ">Rows", "~Meaning"), rows)


def _money(console: Console, run: FileRun) -> None:
    totals = run.totals
    rows = [("Rows with a tax", f"{totals.taxed or 0:,}")]
    rows += [("Their sales, dollars", f"{totals.sales:,.2f}"), ("Tax", f"{totals.tax:,.2f}")]
    if totals.due is not None:
        rows.append(("Of it due from you (tax_due)", f"{totals.due:,.2f}"))
    if totals.at_stake:
        rows.append(("At stake: what it may be off by", f"{totals.at_stake:,.2f}"))
    _section(console, "Tax", ("", ">"), rows)


def _reasons(console: Console, run: FileRun, *, taxed: bool) -> None:
    totals = run.totals
    without = totals.rows - totals.statuses["ok"]
    found = ((status, why, rows) for (status, why), rows in totals.reasons.items())
    most = counted_alike(found)[:_MOST]
    _table(
        console,
        "Why rows have no whole rate",
        [((status, MEANINGS.get(why, why)), rows) for status, why, rows in most],
        without,
        ("Status", "~Reason"),
    )
    if taxed:
        untaxed = counted_alike(("", why, rows) for why, rows in totals.untaxed.items())
        _table(
            console,
            "Why rows with a rate have no tax",
            [((why,), rows) for _, why, rows in untaxed[:_MOST]],
            totals.untaxed.total(),
            ("~Reason",),
        )
    if totals.review:
        # why rows have no whole rate is told above
        every = totals.review_codes.most_common()
        codes = [pair for pair in every if pair[0] not in STATUSES][:_MOST]
        rows = [(code, f"{count:,}", _review_meaning(code)) for code, count in codes]
        title = f"Rows that need review: {totals.review:,} of {totals.rows:,}"
        title += "; their codes beside the statuses above" if codes else ""
        if rows:
            _section(console, title, ("Code", ">Rows", "~Meaning"), rows)
        else:
            print_text(console, (title, "bold"))
            print_text(console)


def _table(
    console: Console,
    title: str,
    most: Sequence[tuple[tuple[str, ...], int]],
    total: int,
    heads: tuple[str, ...],
) -> None:
    """Reasons with their rows, the most frequent first, and how many rows have others."""
    if not most:
        return
    rows = [(*(_short(text) for text in texts), f"{count:,}") for texts, count in most]
    others = total - sum(count for _, count in most)
    if others > 0:
        rows.append((*[""] * (len(heads) - 1), "other reasons", f"{others:,}"))
    rows = [(row[-1], *row[:-1]) for row in rows]
    _section(console, title, (">Rows", *heads), rows)


def _next_steps(run: FileRun) -> list[str]:
    totals, steps = run.totals, []
    if run.interrupted and run.written is None:
        left = run.places - run.cached - run.asked
        steps.append(
            "Interrupted; no file was written. The answers so far are kept: the same command asks"
            f" only for the rest ({left:,} of {run.places:,} places)."
        )
    elif run.stopped is not None:
        again = (
            " When that is mended, the same command asks only for what is left."
            if run.resumable
            else " No cache keeps the answers: the same command asks for all places again."
        )
        steps.append(f"Ended early: {run.stopped}.{again}")
    elif totals.statuses["failed"]:
        steps.append("Run the same command again (with --force): only what failed is asked for.")
    former = run.output.with_name(f"{run.output.stem}-incomplete{run.output.suffix}")
    if run.stopped is None and former.exists():
        steps.append(f"{former.name} beside it is of an earlier run that ended early: delete it.")
    if any("is not an ISO date" in why for _, why in totals.reasons):
        steps.append("Say how the dates are written, for instance with --date-format %m/%d/%Y.")
    if totals.review or totals.rows > totals.statuses["ok"]:
        steps.append(
            "The columns lookup_status, lookup_error and lookup_review_reason say for each row"
            " what is missing."
        )
    return steps


def show_plan(console: Console, plan: Plan, *, name: str) -> None:
    """Print what a run would ask, of which nothing is asked yet."""
    of = f", of {the_service(plan.service)}; nothing was asked"
    print_text(console, (f"Plan for {name}", "bold"), of)
    rows = [("Rows", f"{plan.rows:,}"), ("Distinct places", f"{plan.places:,}")]
    if plan.cached is not None:
        rows.append(("  of them in the cache", f"{plan.cached:,}"))
    rows.append(("  to be asked (billable lookups)", f"{plan.to_ask:,}"))
    if plan.cost is not None:
        rows.append(("  their price, dollars at most", f"{plan.cost:,.2f}"))
    for grain, count in plan.grains.items():
        if count < plan.to_ask:
            rows.append((f"  with --as-of-grain {grain}", f"{count:,}"))
    if plan.quota_remaining is not None:
        rows.append(("Lookups left, when last told", f"{plan.quota_remaining:,}"))
    refused = sum(one.rows for one in plan.refused)
    if refused:
        rows.append(("Rows that are never asked for", f"{refused:,}"))
    print_table(console, ("~", ">"), rows, indent=2)
    if plan.fits_quota is False:
        print_text(console, ("The account has not enough lookups left for it.", "bold"))
    if refused:
        print_text(console)
    most = [((one.status, one.reason), one.rows) for one in plan.refused_alike()[:_MOST]]
    _table(console, "Why rows are never asked for", most, refused, ("Status", "~Reason"))


def _section(
    console: Console, title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]
) -> None:
    print_text(console, (title, "bold"))
    print_table(console, heads, rows)
    print_text(console)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _plural(word: str, count: int) -> str:
    return word if count == 1 else f"{word}s"


def _review_meaning(code: str) -> str:
    return REVIEW_REASONS[code][0] if code in REVIEW_REASONS else MEANINGS.get(code, "")
