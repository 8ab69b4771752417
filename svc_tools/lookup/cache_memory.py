"""What this process read from the cache already: a second look costs next to nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from svc_tools.config import Source
    from svc_tools.lookup.outcomes import Outcome
    from svc_tools.places import Place

__all__ = ["Layer", "Memory"]

_MOST = 100_000
"""Answers in memory for one source: about 60 MB."""


class Layer:
    """The answers of one source, all of them good until the first of them expires."""

    def __init__(self, changes: int) -> None:
        self.changes = changes
        self.holds_until: int | None = None
        self._answers: dict[Place, Outcome] = {}

    def known(self, places: Collection[Place]) -> dict[Place, Outcome]:
        """The answers that are in memory."""
        get = self._answers.get
        if not self._answers:
            return {}
        return {place: outcome for place in places if (outcome := get(place)) is not None}

    def add(self, answers: Mapping[Place, Outcome], until: int) -> None:
        """Remember answers; too many of them push out the former ones."""
        if len(answers) > _MOST:
            return
        if len(self._answers) + len(answers) > _MOST:
            self._answers = {}
            self.holds_until = None
        self._answers.update(answers)
        self.holds_until = until if self.holds_until is None else min(self.holds_until, until)

    def forget(self, places: Iterable[Place]) -> None:
        """These were answered anew."""
        for place in places:
            self._answers.pop(place, None)


class Memory:
    """The layers of all sources, each for simple and for full answers."""

    def __init__(self) -> None:
        self._layers: dict[tuple[Source, bool], Layer] = {}

    def of(self, source: Source, *, detail: bool, changes: int, now: int) -> Layer:
        """The layer of a source; an empty one where the file changed, or an answer expired."""
        layer = self._layers.get((source, detail))
        if (
            layer is None
            or layer.changes != changes
            or (layer.holds_until is not None and layer.holds_until <= now)
        ):
            layer = self._layers[source, detail] = Layer(changes)
        return layer

    def forget(self, source: Source, places: Iterable[Place]) -> None:
        """These places of a source were answered anew."""
        for detail in (False, True):
            layer = self._layers.get((source, detail))
            if layer is not None:
                layer.forget(places)

    def clear(self) -> None:
        """Forget all."""
        self._layers.clear()
