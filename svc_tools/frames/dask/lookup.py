"""`ddf.svc.lookup`: distinct places over the whole cluster, asked once; joined by partition."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from dask.delayed import delayed

from svc_tools.config import configured
from svc_tools.frames.answers import answer_columns, results
from svc_tools.frames.columns import find_inputs
from svc_tools.frames.dask.asking import asking_for
from svc_tools.frames.dask.distinct import distinct
from svc_tools.frames.dask.first_values import first_values
from svc_tools.frames.dask.pace import cluster
from svc_tools.frames.dask.table import Table
from svc_tools.frames.dask.worker_task import introduce
from svc_tools.frames.enrich import with_columns
from svc_tools.frames.enriched import NOTE
from svc_tools.frames.failing import raise_for, warn_of_early_end
from svc_tools.frames.lookup_note import note_of
from svc_tools.frames.notes import ending, progress_bar, repairs, say
from svc_tools.frames.ownership import free_columns, remember_columns
from svc_tools.frames.planning import plan_of, service_of
from svc_tools.frames.questions import ask
from svc_tools.frames.used_answers import remember
from svc_tools.lookup.cache import opened_cache

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping
    from decimal import Decimal

    import dask.dataframe as dd
    import pandas as pd

    from svc_tools.config import Source
    from svc_tools.frames.columns import Inputs
    from svc_tools.frames.dask.worker_task import Factory, Introduced
    from svc_tools.frames.options import Options
    from svc_tools.frames.questions import Asked
    from svc_tools.lookup.plan import Plan

__all__ = ["look_up_frame", "plan_frame"]


def look_up_frame(
    ddf: dd.DataFrame, given: Mapping[str, object], options: Options, factory: Factory | None
) -> dd.DataFrame:
    """Look every row up; see `DaskSvcAccessor.lookup` for the meaning of the arguments."""
    told = _collected(ddf, given, options)
    places = dict.fromkeys(told.asked.places())
    with asking_for(options, factory, stacklevel=4) as asker:
        notes = [*told.inputs.notes, *repairs(told.asked), *asker.notes]
        if options.progress:
            say(notes)
        with progress_bar(len(places), shown=options.progress) as on_outcome:
            run = asker.ask(places, on_outcome)
        later = [note for note in asker.notes if note not in notes]
    columns = answer_columns(
        told.asked,
        run.outcomes,
        asker.who,
        options.rates,
        names=options.names,
        detail=options.detail,
        today=asker.today,
    )
    table = Table(told.frame, told.labels, options.prefix, columns)
    meta = _joined(ddf._meta, table)  # noqa: SLF001 - Dask's empty frame
    remember_columns(meta, options.prefix, columns)
    meta.attrs[NOTE] = note_of(
        run,
        told.inputs,
        prefix=options.prefix,
        rows=int(told.asked.rows.sum()),
        service=asker.who.name,
        notes=[*notes, *later],
        detail=options.detail,
        grain=options.as_of_grain,
    )
    remember(
        meta,
        prefix=options.prefix,
        inputs=told.inputs,
        outcomes=run.outcomes,
        source=asker.source,
        answerer=asker.who,
        detail=options.detail,
    )
    table.attrs = dict(meta.attrs)
    # the options may hold a client: nothing of them goes into the graph
    enriched: dd.DataFrame = ddf.map_partitions(_joined, delayed(table, pure=True), meta=meta)
    if options.progress:
        say([*later, *ending(told.asked, results(told.asked, run.outcomes), run, asker.kept)])
    if options.errors == "raise":
        raise_for(told.asked, run, enriched)  # type: ignore[arg-type]  # lazy
    elif run.stopped:
        warn_of_early_end(run, enriched)  # type: ignore[arg-type]  # lazy
    return enriched


def plan_frame(
    ddf: dd.DataFrame,
    given: Mapping[str, object],
    options: Options,
    factory: Factory | None,
    price: Decimal | None,
) -> Plan:
    """What `look_up_frame` with the same arguments will take; asks nothing."""
    told = _collected(ddf, given, options)
    service, source = _service(options, factory)
    with opened_cache(options.cache) as cache:
        return plan_of(
            told.asked,
            service=service,
            source=source,
            cache=cache,
            options=options,
            price=price,
            notes=(*told.inputs.notes, *repairs(told.asked)),
        )


def _service(options: Options, factory: Factory | None) -> tuple[str, Source | None]:
    """Who would be asked, and whose answers in the cache count."""
    workers = cluster()
    if workers is not None and options.client is None and (factory or not configured()):
        met: Introduced = workers.submit(introduce, factory, pure=False).result()
        return met.answerer.name, met.source
    if factory is not None:
        options = replace(options, client=factory())
    return service_of(options)


@dataclass(frozen=True, slots=True)
class _Collected:
    """What a Dask frame asks."""

    inputs: Inputs
    labels: list[Hashable]
    frame: pd.DataFrame
    """The distinct combinations of the columns that ask."""
    asked: Asked
    """The question of each row of `frame`, with the number of rows of the whole that ask it."""


def _collected(ddf: dd.DataFrame, given: Mapping[str, object], options: Options) -> _Collected:
    free_columns(ddf._meta, options.prefix, options.names)  # noqa: SLF001 - Dask's empty frame
    inputs = find_inputs(first_values(ddf), given, options.zone, options.as_of_grain)
    labels = list(dict.fromkeys(inputs.columns.values()))
    frame, rows = distinct(ddf, labels)
    asked = ask(frame, inputs)
    counts = np.zeros(len(asked.questions), np.int64)
    np.add.at(counts, asked.codes, rows)
    return _Collected(inputs, labels, frame, replace(asked, rows=counts))


def _joined(partition: pd.DataFrame, table: Table) -> pd.DataFrame:
    """A partition with the columns of its answers."""
    kept = free_columns(partition, table.prefix, table.names)
    enriched = with_columns(kept, table.prefix, table.columns(partition))
    enriched.attrs |= table.attrs
    return enriched
