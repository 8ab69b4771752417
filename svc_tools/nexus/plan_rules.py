"""Which records could be removed: the rules, one line each, over the facts of one record. Pure.

A record is a candidate only where a reason for it holds and nothing asks for a person's eye; a
reason to look at it always wins. Sales never make a physical record a candidate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import date

    from svc_tools.nexus.plan import Decision
    from svc_tools.nexus.plan_seen import Seen
    from svc_tools.nexus.register import Registration
    from svc_tools.nexus.thresholds import Threshold

__all__ = ["NO_SALES_TAX", "RULES", "Facts", "Listed", "Rule", "decided"]

NO_SALES_TAX = frozenset({"DE", "MT", "NH", "OR"})
"""States without a general sales tax. Alaska has none of the state's, and many local ones."""

Listed = Literal["", "same", "only_mine", "only_service", "differs"]
"""What the service says of a record; "" where it was not asked."""

_ABOVE = {"over", "missing"}


@dataclass(frozen=True, slots=True)
class Facts:
    """All that the suggestion for one record rests on.

    Attributes:
        record: the record.
        as_of: the day of the plan.
        threshold: the state's threshold on that day; `None` where none is known.
        sales_given: whether there is an exposure.
        seen: what the exposure says of the state; `None` where it has no row for it.
        several: whether there are other records of this state and type.
        listed: what the service says of the record.
    """

    record: Registration
    as_of: date
    threshold: Threshold | None = None
    sales_given: bool = False
    seen: Seen | None = None
    several: bool = False
    listed: Listed = ""

    @property
    def untaxed(self) -> bool:
        """Whether the state has no general sales tax, by its name and by its threshold."""
        none = self.threshold is None or self.threshold.logic == "none"
        seen = self.seen is None or self.seen.band == "no tax"
        return self.record.state in NO_SALES_TAX and none and seen

    @property
    def physical(self) -> bool:
        """Whether the record rests on a place."""
        return self.record.nexus_type == "physical"

    @property
    def by_sales(self) -> bool:
        """Whether sales can say anything of the record."""
        return not self.physical and not self.untaxed

    @property
    def by_table(self) -> bool:
        """Whether the suggestion rests on the table of thresholds."""
        return not self.physical or self.untaxed

    @property
    def above(self) -> bool:
        """Whether sales are at or above the threshold, as far as is known."""
        return self.seen is not None and self.seen.band in _ABOVE

    @property
    def untold(self) -> bool:
        """Whether a fact is missing without which no sales are known to be below."""
        return self.by_sales and (
            self.threshold is None
            or None
            in {
                self.threshold.base,
                self.threshold.marketplace_counts,
                self.threshold.trailing_months,
            }
        )

    @property
    def from_repealed(self) -> bool:
        """Whether the record dates from when a transaction test was in force that is no more."""
        dropped = None if self.threshold is None else self.threshold.transactions_dropped_on
        since = self.record.registered_at
        return (
            self.record.nexus_type == "economic"
            and dropped is not None
            and since is not None
            and since < dropped <= self.as_of
        )


class Rule(NamedTuple):
    """A reason, what it asks for, and when it holds; a decision of "" only adds its sentence."""

    code: str
    decision: Decision | Literal[""]
    holds: Callable[[Facts], bool]


def _checked_long_ago(facts: Facts) -> bool:
    days = [one.checked_on for one in (facts.threshold, facts.seen) if one is not None]
    return facts.by_table and any(
        day is not None and (day.year + 1, day.month, day.day) < _parts(facts.as_of) for day in days
    )


def _parts(day: date) -> tuple[int, int, int]:
    return day.year, day.month, day.day


def _low(facts: Facts) -> bool:
    rows = (facts.threshold, facts.seen)
    return facts.by_table and any(one is not None and one.certainty == "low" for one in rows)


def _unsettled(facts: Facts) -> bool:
    """Sales that do not say whether they were below: too few of them, or for a reason of theirs."""
    seen = facts.seen
    if not facts.by_sales or facts.above or seen is None or seen.below_all is not None:
        return False
    return not seen.period_covered or not facts.untold


def _held_by_repealed(facts: Facts) -> bool:
    """Nothing that is in force today was met; what was, when the record was made, is repealed."""
    seen = facts.seen
    below = seen is not None and (seen.below_all is True or seen.below_now is True)
    return facts.by_sales and facts.from_repealed and below and not facts.above


RULES: tuple[Rule, ...] = (
    Rule("only_service", "review", lambda facts: facts.listed == "only_service"),
    Rule("only_mine", "review", lambda facts: facts.listed == "only_mine"),
    Rule("differs", "review", lambda facts: facts.listed == "differs"),
    Rule("duplicate", "review", lambda facts: facts.several),
    Rule(
        "physical_without_address",
        "review",
        lambda facts: facts.physical and not facts.record.address,
    ),
    Rule(
        "marketplace_only",
        "review",
        lambda facts: facts.by_table and facts.seen is not None and facts.seen.marketplace_only,
    ),
    Rule("no_threshold", "review", lambda facts: facts.by_table and facts.threshold is None),
    Rule("low_certainty", "review", _low),
    Rule("stale_threshold", "review", _checked_long_ago),
    Rule(
        "unknown_base",
        "review",
        lambda facts: (
            facts.by_sales and facts.threshold is not None and facts.threshold.base is None
        ),
    ),
    Rule(
        "unknown_marketplace",
        "review",
        lambda facts: (
            facts.by_sales
            and facts.threshold is not None
            and facts.threshold.marketplace_counts is None
        ),
    ),
    Rule(
        # how long a duty lasts after sales have fallen is no question while they have not
        "unknown_trailing",
        "review",
        lambda facts: (
            facts.by_sales
            and facts.threshold is not None
            and facts.threshold.trailing_months is None
            and not facts.above
        ),
    ),
    Rule("not_covered", "review", _unsettled),
    Rule(
        "no_sales_of_state",
        "review",
        lambda facts: facts.by_sales and facts.sales_given and facts.seen is None,
    ),
    Rule(
        "maybe_repealed",
        "review",
        lambda facts: facts.by_sales and not facts.sales_given and facts.from_repealed,
    ),
    Rule(
        "near",
        "review",
        lambda facts: facts.by_sales and facts.seen is not None and facts.seen.band == "90-100",
    ),
    Rule("no_sales_tax", "candidate", lambda facts: facts.untaxed),
    Rule(
        "below_all",
        "candidate",
        lambda facts: (
            facts.by_sales
            and facts.seen is not None
            and facts.seen.below_all is True
            and not facts.above
        ),
    ),
    Rule("repealed_test", "candidate", _held_by_repealed),
    Rule("over", "keep", lambda facts: facts.by_sales and facts.above),
    Rule(
        "still_trailing",
        "keep",
        lambda facts: (
            facts.by_sales
            and not facts.above
            and facts.seen is not None
            and facts.seen.below_all is False
            and not _held_by_repealed(facts)
        ),
    ),
    Rule("physical", "keep", lambda facts: facts.physical and not facts.untaxed),
    Rule("sales_not_given", "keep", lambda facts: facts.by_sales and not facts.sales_given),
    Rule(
        "watch",
        "",
        lambda facts: facts.by_sales and facts.seen is not None and facts.seen.band == "70-90",
    ),
    Rule("alaska", "", lambda facts: facts.by_table and facts.record.state == "AK"),
)
"""All of them, in the order in which their sentences are told."""


def decided(facts: Facts) -> tuple[Decision, tuple[str, ...]]:
    """What is suggested for a record, and the codes of the reasons, those for it first.

    The codes of what else holds follow: a record to review may also say what speaks for removing
    it. Every record has a reason.
    """
    holding = [rule for rule in RULES if rule.holds(facts)]
    asked = {rule.decision for rule in holding}
    decision: Decision = (
        "review" if "review" in asked else "candidate" if "candidate" in asked else "keep"
    )
    first = [rule.code for rule in holding if rule.decision == decision]
    return decision, (*first, *(rule.code for rule in holding if rule.code not in first))
