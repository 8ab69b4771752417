"""`df.svc.plan` and a dry run: everything is counted, nobody is asked, nothing is started."""

from __future__ import annotations

import subprocess
import sys
from decimal import Decimal

import pandas as pd
import pytest
from support.faults import answer

import svc_tools  # noqa: F401 - registers df.svc

ORDERS = pd.DataFrame(
    {
        "state": ["TX", "tx", "Texas", "TX", "TX", "ZZ", "PR", "TX"],
        "zip": ["78701", "78701", "78701", "78702", "78701", "1", "00901", "78701"],
        "order_date": [
            "2024-01-05",
            "2024-01-05",
            "2024-01-20",
            "2024-01-05",
            "2024-02-01",
            "2024-01-05",
            "2024-01-05",
            None,
        ],
    }
)


def test_everything_is_counted_and_nothing_is_asked(scripted, faults, tmp_path):
    plan = ORDERS.svc.plan(client=scripted, cache=tmp_path / "a.db", price="0.004")
    assert faults.seen == []
    assert (plan.rows, plan.places, plan.cached, plan.to_ask) == (8, 4, 0, 4)
    assert plan.grains == {"day": 4, "month": 3, "quarter": 2}
    assert plan.cost == Decimal("0.016")
    assert (plan.refused_rows("invalid"), plan.refused_rows("unsupported")) == (2, 1)
    assert any("no date" in one.reason for one in plan.refused)
    assert "zip from column 'zip'" in " ".join(plan.notes)


@pytest.mark.parametrize("grain", ["day", "month", "quarter"])
def test_the_lookup_then_sends_as_many_requests_as_the_plan_said(scripted, faults, tmp_path, grain):
    arguments = {"client": scripted, "cache": tmp_path / "a.db", "as_of_grain": grain}
    plan = ORDERS.svc.plan(**arguments)
    assert plan.to_ask == plan.grains[grain]
    ORDERS.svc.lookup(**arguments, progress=False)
    assert len(faults.seen) == plan.to_ask
    after = ORDERS.svc.plan(**arguments)
    assert (after.cached, after.to_ask) == (plan.places, 0)
    assert after.grains[grain] == 0


def test_a_dry_run_is_the_plan(scripted, faults):
    dry = ORDERS.svc.lookup(client=scripted, cache=False, dry_run=True, prefix="x_")
    assert dry == ORDERS.svc.plan(client=scripted, cache=False)
    assert faults.seen == []


def test_a_dry_run_refuses_what_the_lookup_would_refuse(scripted):
    with pytest.raises(ValueError, match="confidence"):
        ORDERS.assign(confidence=1).svc.lookup(client=scripted, dry_run=True)
    with pytest.raises(ValueError, match="locked"):
        ORDERS.svc.lookup(locked="a.svclock", dry_run=True)
    with pytest.raises(ValueError, match="price"):
        ORDERS.svc.plan(client=scripted, price="cheap")


def test_the_lookups_that_are_left_are_those_that_the_service_said_last(scripted, faults, tmp_path):
    arguments = {"client": scripted, "cache": tmp_path / "a.db"}
    orders = ORDERS.loc[[0, 2, 4]]
    assert orders.svc.plan(**arguments).quota_remaining is None
    faults.will(*(answer(X_Quota_Remaining=str(left)) for left in (4, 3, 2)))
    orders.svc.lookup(**arguments, concurrency=1, progress=False)
    plan = orders.assign(zip=["78701", "78702", "78703"]).svc.plan(**arguments)
    assert (plan.to_ask, plan.quota_remaining, plan.fits_quota) == (2, 2, True)
    plan = orders.assign(zip=["78702", "78703", "78704"]).svc.plan(**arguments)
    assert (plan.to_ask, plan.fits_quota) == (3, False)


def test_an_empty_frame_takes_nothing(scripted):
    plan = ORDERS.iloc[:0].svc.plan(client=scripted, cache=False)
    assert (plan.rows, plan.places, plan.to_ask, plan.refused) == (0, 0, 0, ())


def test_places_without_a_date_take_the_same_at_every_grain(scripted):
    plan = ORDERS.svc.plan(client=scripted, cache=False, as_of="today")
    assert plan.grains == {"day": 2, "month": 2, "quarter": 2}


def test_no_service_is_started_for_a_plan_and_its_cache_is_then_unknown(tmp_path):
    code = (
        "import sys, pandas as pd, svc_tools;"
        " frame = pd.DataFrame({'state': ['TX'], 'zip': ['78701']});"
        " plan = frame.svc.plan(cache=sys.argv[1]);"
        " assert 'svc_tools.service.embedded' not in sys.modules;"
        " assert (plan.cached, plan.to_ask, plan.service) == (None, 1, 'embedded service'), plan"
    )
    path = tmp_path / "a.db"
    subprocess.run([sys.executable, "-W", "error", "-c", code, path], check=True)


def test_the_cache_of_the_embedded_service_counts_where_it_runs(embedded, tmp_path):
    frame = pd.DataFrame({"state": ["CA"], "zip": ["94105"], "order_date": ["2026-02-01"]})
    cache = tmp_path / "a.db"
    frame.svc.lookup(client=embedded, cache=cache, progress=False)
    assert frame.svc.plan(cache=cache).cached == 1
    assert frame.svc.plan(cache=cache, client=embedded).cached == 1
