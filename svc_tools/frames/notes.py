"""What a person sees while a lookup runs: what was decided, and how far it is."""

from __future__ import annotations

import contextlib
import sys
import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["progress_bar", "say"]


def say(notes: Iterable[str]) -> None:
    """Print notes beside the progress bar, on standard error: the output stays the caller's."""
    for note in notes:
        print(f"svc: {note}", file=sys.stderr)  # noqa: T201 - said to the person, as tqdm does


@contextlib.contextmanager
def progress_bar(total: int, *, shown: bool) -> Iterator[Callable[[], object] | None]:
    """A progress bar where there is somebody to see it; text where the notebook has no widgets."""
    if not shown or not total:
        yield None
        return
    try:
        from tqdm import TqdmWarning  # noqa: PLC0415 - only where a bar is shown
    except ModuleNotFoundError:
        yield None
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TqdmWarning)  # "IProgress not found": the text bar serves
        from tqdm.auto import tqdm  # noqa: PLC0415 - as above

        # a bar of text belongs on a terminal, not in a log; a notebook draws its own
        shown_as_text = tqdm.__module__ == "tqdm.asyncio"
        bar = tqdm(
            total=total,
            desc="places",
            unit="place",
            leave=False,
            disable=None if shown_as_text else False,
        )
    with bar:
        yield bar.update
