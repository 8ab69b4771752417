"""The public API as a type checker sees it. Checked by mypy, never run."""

from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from pathlib import Path

import httpx
import pandas as pd
from matplotlib.figure import Figure

import svc_tools
from svc_sdk import (
    Advisory,
    AsyncSvc,
    Freshness,
    HealthResponse,
    NexusList,
    NexusRecord,
    NexusRemoval,
    RateLimitError,
    Svc,
    SvcError,
    TaxResponse,
    rate_to_decimal,
    rate_to_float,
    rate_to_units,
    units_to_rate,
)
from svc_tools import nexus
from svc_tools.frames import SvcAccessor, exposure_of_file
from svc_tools.frames.analysis.filing import Filing
from svc_tools.frames.analysis.reconcile import Reconciliation
from svc_tools.frames.lookup.freeze import Frozen
from svc_tools.frames.review.review import Review
from svc_tools.frames.review.split import Split
from svc_tools.lookup import Outcome
from svc_tools.lookup.plan import Plan
from svc_tools.widgets.panel import Panel


def sync(client: Svc) -> None:
    """Every method of the synchronous client."""
    answer: TaxResponse = client.lookup("TX", zip="78701", as_of=date(2026, 5, 1))
    client.lookup("TX", address="500 W 2nd St", city="Austin", zip="78701", mode="full")
    client.lookup("TX", location="Austin", period="20263")
    client.lookup("TX", lat=30.2, lng=-97.7, as_of="2026-05-01")
    exact: Decimal | None = answer.combined_rate_decimal
    text: str | None = answer.combined_rate_string
    number: float | None = answer.rate.state_rate_as_float()
    warnings: list[str | Advisory] = answer.warnings
    health: HealthResponse = client.health()
    fresh: Freshness = client.freshness()
    records: NexusList = client.list_nexus("TX", "economic")
    record: NexusRecord = client.add_nexus("TX", nexus_type="economic")
    removed: NexusRemoval = client.remove_nexus("TX", nexus_type="economic")
    print(exact, text, number, warnings, health, fresh, records, record, removed.deleted)
    client.close()


async def aio(key: str) -> None:
    """The asynchronous client."""
    async with (
        httpx.AsyncClient() as http,
        AsyncSvc(key, base_url="https://rates.example", timeout=5, http_client=http) as client,
    ):
        answer: TaxResponse = await client.lookup("TX", zip="78701")
        removed: NexusRemoval = await client.remove_nexus("TX")
        print(answer, removed)


def rates(maybe: str | None, sure: str) -> None:
    """A rate that is there stays there; one that may be missing may be missing."""
    exact: Decimal = rate_to_decimal(sure)
    number: float | None = rate_to_float(maybe)
    units: int = rate_to_units(sure)
    text: str = units_to_rate(units)
    print(exact, number, text)


def failing(error: SvcError) -> Mapping[str, object]:
    """What an error carries."""
    wait: float | None = error.retry_after if isinstance(error, RateLimitError) else None
    return {
        "status": error.status_code,
        "code": error.error_code,
        "reference": error.support_reference,
        "body": error.response_body,
        "wait": wait,
    }


def frames(orders: pd.DataFrame) -> pd.DataFrame:
    """The accessor's twin: `df.svc` itself is invisible to type checkers."""
    client: Svc = svc_tools.connect("embedded")
    twin: SvcAccessor = svc_tools.svc(orders)
    plan: Plan = twin.plan(zip="postal", as_of="sold", client=client, price="0.004")
    same: Plan = twin.lookup(zip="postal", as_of="sold", dry_run=True)
    cost: Decimal | None = plan.cost
    print(cost, same.to_ask, plan.grains["month"])
    looked: pd.DataFrame = twin.lookup(
        zip="postal",
        as_of="sold",
        tz="America/Chicago",
        as_of_grain="month",
        client=client,
        columns=["combined_rate", "needs_review"],
        cache=False,
        deadline=60.0,
    )
    return SvcAccessor(looked).tax("amount", partial="use")


def following(taxed: pd.DataFrame) -> None:
    """What follows a lookup, by the twin."""
    twin: SvcAccessor = svc_tools.svc(taxed)
    owed: pd.DataFrame = twin.tax(
        "amount",
        shipping="delivery",
        exempt="resale",
        rounding="half_even",
        invoice="order_id",
        nexus=[{"state": "TX", "nexus_type": "physical"}],
        channel="channel",
        ship_from="TX",
    )
    review: Review = svc_tools.svc(owed).review(share=80)
    groups: Split = svc_tools.svc(owed).split(amount="amount")
    short: pd.DataFrame = twin.lookup(columns="short")
    ready: pd.DataFrame = svc_tools.svc(groups.ready).plain()
    print(len(short), len(ready), groups["to_check"], groups.parts[0].sales)
    compared: Reconciliation = twin.reconcile("tax_collected", tolerance="0.05", period="quarter")
    filed: Filing = twin.filing("WA", period="month")
    frozen: Frozen = twin.freeze("2026-10.svclock")
    again: pd.DataFrame = twin.lookup(locked=frozen.path)
    written: Path = twin.report("orders.xlsx", amount="amount", title="October")
    drawn: list[Figure] = [twin.plot.rates(by=None), twin.plot.tax_map(width=7)]
    print(review.sentence, review.totals.dollars, compared.by_state, filed.left_out, again)
    print(frozen.answers, written.name, drawn)
    filed.check()


def many(client: Svc) -> None:
    """Places without a table: each comes out as it was given."""
    for item, outcome in svc_tools.lookup_many([{"state": "TX", "zip": "78701"}], client=client):
        given: dict[str, str] = item
        answered: Outcome = outcome
        print(given["zip"], answered.status, answered.found and answered.found.combined)


def cleaning_up(client: Svc, sales: pd.DataFrame) -> None:
    """The register, its plan, the removal and the way back."""
    listed: nexus.Register = nexus.list_register(client)
    mine: nexus.Register = nexus.read_register(Path("own.csv"))
    differing: pd.DataFrame = nexus.differences(mine, listed)
    thresholds: nexus.Thresholds = nexus.read_thresholds("thresholds.csv")
    row: nexus.Threshold | None = thresholds.of("TX", date(2026, 11, 21))
    exposed: pd.DataFrame = svc_tools.svc(sales).exposure(
        amount="amount", date="sold", state="state", register=listed, thresholds=thresholds
    )
    of_file: pd.DataFrame = exposure_of_file("sales.csv", "more.csv", as_of=date(2026, 11, 21))
    plan: nexus.Plan = nexus.make_plan(mine, exposure=exposed, listed=listed)
    first: nexus.PlanRow = plan.rows[0]
    since: date | None = first.registered_at
    ticked: nexus.Plan = plan.tick(1, ("OR", "economic")).untick(2)
    file: Path = ticked.write("plan.csv")
    able: nexus.Abilities = nexus.abilities(client)
    requests: tuple[nexus.PlannedRequest, ...] = nexus.preview(nexus.read_plan(file))
    receipt: nexus.Receipt = nexus.apply_plan(ticked, client, dry_run=False, folder="receipts")
    item: nexus.ReceiptItem = receipt.items[0]
    undone: nexus.Receipt = nexus.restore(nexus.read_receipt("receipt.jsonl"), client)
    kept: pd.DataFrame = nexus.receipts()
    whole: nexus.Receipt = nexus.remove_state(client, "TX", typed="TX")
    added: nexus.Receipt = nexus.add_registration(client, "TX", nexus_type="economic")
    several: nexus.Receipt = nexus.add_registrations(
        client, [{"state": "TX", "nexus_type": "economic"}]
    )
    edited: nexus.Receipt = nexus.edit_registration(client, "TX", nexus_type="economic", notes="")
    print(differing, row, of_file, since, able.lists, requests[0].line, item.status, undone.counts)
    print(kept, whole.sentence, added.sentence, several.sentence, edited.sentence)


def shown(client: Svc) -> None:
    """The panel, where it is installed."""
    opened: Panel = svc_tools.panel(client, register="own.csv")
    print(opened.session.service_name)


async def amany() -> None:
    """The same in asynchronous code."""
    client: AsyncSvc = svc_tools.aconnect("embedded")
    async for item, outcome in svc_tools.alookup_many([("TX", "78701")], client=client):
        given: tuple[str, str] = item
        answered: Outcome = outcome
        print(given, answered.support_reference)
