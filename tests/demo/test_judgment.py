from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.demo.playing import play
from tooltel import signals
from tooltel.demo.judgment import Notice, judge
from tooltel.demo.readback import Scrape
from tooltel.demo.telemetry import CATALOG
from tooltel.loading import read

if TYPE_CHECKING:
    from tooltel.catalog import Catalog

REFUND = 'tool="payment_refund",owner="payments"'


def catalog() -> Catalog:
    found, _ = read(str(CATALOG))
    assert found is not None
    return found


def judged(*lines: str) -> list[Notice]:
    return judge(catalog(), Scrape("".join(f"{line}\n" for line in lines)))


def calls(outcome: str, count: int, tool: str = REFUND) -> str:
    return f'tooltel_tool_calls_total{{{tool},outcome="{outcome}"}} {count}'


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3, 7])
@pytest.mark.parametrize("sessions", [40, 120, 300, 900])
def test_nobody_but_payments_is_paged(seed: int, sessions: int) -> None:
    pages = [notice for notice in play(seed, sessions).notices if notice.is_page]
    assert {page.owner for page in pages} == {"payments"}
    assert ("TooltelToolErrorBudgetBurn", "payment_refund") in {(page.alert, page.tool) for page in pages}


def test_pages_come_before_tickets() -> None:
    severities = [notice.severity for notice in play(7, 300).notices]
    assert severities == sorted(severities)
    assert set(severities) == {"page", "ticket"}


@pytest.mark.parametrize(
    ("good", "bad", "severities"),
    [
        (85, 15, ["page"]),  # 15 times the budget of 1 %
        (86, 14, ["ticket"]),  # 14 times: burns, not fast enough to wake somebody
        (97, 3, []),  # 3 times
        (4, 4, []),  # fewer than five failures are no pattern
        (5, 5, ["page"]),
        (100, 0, []),
    ],
)
def test_a_budget_burns_fast_slowly_or_not_at_all(good: int, bad: int, severities: list[str]) -> None:
    found = judged(calls("ok", good), calls("error", bad))
    assert [notice.severity for notice in found] == severities
    assert {notice.alert for notice in found} <= {"TooltelToolErrorBudgetBurn"}


def test_neutral_outcomes_burn_nothing() -> None:
    neutral = [calls(outcome, 500) for outcome in signals.NEUTRAL]
    assert judged(*neutral, calls("ok", 10), calls("error", 1)) == []


def test_a_repeated_irreversible_call_pages_and_a_repeated_write_does_not() -> None:
    row = signals.REPEATED_CALLS.name
    found = judged(
        f'{row}{{{REFUND},risk="irreversible"}} 1',
        f'{row}{{tool="order_cancel",owner="orders",risk="write"}} 9',
    )
    assert [(notice.severity, notice.owner, notice.tool) for notice in found] == [
        ("page", "payments", "payment_refund")
    ]


def test_a_refused_irreversible_call_is_a_ticket_for_security() -> None:
    row = signals.POLICY_REFUSALS.name
    (found,) = judged(f'{row}{{{REFUND},risk="irreversible",policy="limit"}} 1')
    assert (found.alert, found.severity) == ("TooltelIrreversibleCallRefused", "ticket")
    assert found.owner == "platform"


@pytest.mark.parametrize(
    ("reason", "count", "alert"),
    [
        ("renamed", 1, "TooltelToolRenamedCalled"),
        ("not_in_profile", 1, "TooltelToolNotInProfile"),
        ("unknown", 3, "TooltelToolInvented"),
        ("unknown", 2, None),
        ("empty", 50, None),
    ],
)
def test_a_name_that_is_no_tool_is_a_ticket_for_its_owner(reason: str, count: int, alert: str | None) -> None:
    labels = f'profile="support",owner="orders",reason="{reason}",requested="x"'
    found = judged(f"{signals.NOT_FOUND.name}{{{labels}}} {count}")
    assert [(notice.alert, notice.owner) for notice in found] == ([(alert, "orders")] if alert else [])


def test_slow_calls_of_a_tool_page_where_the_catalog_says_so() -> None:
    """The refund's own override makes this ticket a page."""
    name = signals.DURATION.name
    labels = 'gen_ai_tool_name="payment_refund",error_type="",owner="payments",risk="irreversible"'
    buckets = [f'{name}_bucket{{{labels},le="2.56"}} 90', f'{name}_bucket{{{labels},le="+Inf"}} 100']
    (found,) = judged(calls("ok", 100), f"# TYPE {name} histogram", *buckets)
    assert (found.alert, found.severity) == ("TooltelToolLatencyHigh", "page")
    assert "10% of 100 calls took longer than 2.56 s" in found.why


def test_structural_faults_count_once_however_many_sources_saw_them() -> None:
    row = signals.REJECTIONS.name
    seen = [f'{row}{{{REFUND},kind="structural",source="{source}"}} 5' for source in ("framework", "schema")]
    assert judged(calls("ok", 50), *seen) == []  # 5 of 50 is not over a tenth
    (found,) = judged(calls("ok", 49), *seen)
    assert found.alert == "TooltelStructuralRejections"


def test_declarations_over_budget_are_a_ticket_for_the_profile_s_owner() -> None:
    labels = '{profile="support",owner="platform"}'
    chars, budget = signals.DECLARATION_CHARS.name, signals.DECLARATION_BUDGET.name
    assert judged(f"{chars}{labels} 6000", f"{budget}{labels} 6000") == []
    (found,) = judged(f"{chars}{labels} 6001", f"{budget}{labels} 6000")
    assert (found.alert, found.owner) == ("TooltelDeclarationOverBudget", "platform")
