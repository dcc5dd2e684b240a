from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.demo.playing import play
from tooltel.artifacts.options import RenderOptions
from tooltel.artifacts.routes.config import FIRING, RESOLVED
from tooltel.demo.delivery import Delivery, Told, deliveries, find_told
from tooltel.demo.judgment import BURN
from tooltel.demo.stack import Notification

BURNING = "TooltelToolErrorBudgetBurn"


def alert(status: str = FIRING, *, name: str = BURNING, severity: str = "page", **labels: str) -> dict[str, Any]:
    facts = {"alertname": name, "severity": severity, "owner": "payments", "tool": "payment_refund", **labels}
    return {"status": status, "labels": facts, "annotations": {}}


def notification(at: float, *alerts: dict[str, Any], receiver: str = "payments-page") -> Notification:
    status = FIRING if any(each["status"] == FIRING for each in alerts) else RESOLVED
    return Notification(receiver, at, status, alerts)


def read(*notifications: Notification, causes: dict[tuple[str, str], float] | None = None) -> list[Delivery]:
    return deliveries(notifications, causes or {}, RenderOptions())


def test_a_delivery_is_timed_from_its_cause_and_until_its_end() -> None:
    causes = {("payment_refund", BURN): 7.0}
    (found,) = read(notification(10.0, alert()), notification(40.0, alert(RESOLVED)), causes=causes)
    assert (found.seconds, found.lasted) == (3.0, 30.0)
    assert found.told == Told("payments-page", BURNING, "payments", "payment_refund")


def test_what_lasts_has_no_end_and_what_has_no_known_cause_no_time() -> None:
    (found,) = read(notification(10.0, alert()))
    assert (found.seconds, found.lasted) == (None, None)


def test_an_alert_that_is_sent_again_is_one_delivery() -> None:
    (found,) = read(notification(10.0, alert()), notification(13.0, alert()), notification(16.0, alert()))
    assert found.is_page


def test_an_alert_that_comes_back_is_not_over() -> None:
    sent = (notification(10.0, alert()), notification(20.0, alert(RESOLVED)), notification(30.0, alert()))
    (found,) = read(*sent)
    assert found.lasted is None


def test_alerts_of_one_group_are_told_apart() -> None:
    other = alert(name="TooltelIrreversibleCallRepeated")
    found = read(notification(10.0, alert(), other), notification(20.0, alert(RESOLVED), other))
    assert [(each.told.alert, each.lasted) for each in found] == [
        (BURNING, 10.0),
        ("TooltelIrreversibleCallRepeated", None),
    ]


def test_pages_and_tickets_are_told_apart_and_the_dead_man_s_switch_is_neither() -> None:
    kinds = [
        (each.is_page, each.is_ticket)
        for severity in ("page", "ticket", "none")
        for each in read(notification(1.0, alert(severity=severity)))
    ]
    assert kinds == [(True, False), (False, True), (False, False)]


@pytest.mark.parametrize(
    ("wanted", "is_found"),
    [
        ({}, True),
        ({"receiver": "orders-page"}, False),
        ({"alert": "TooltelToolSilent"}, False),
        ({"tool": "payout_release"}, False),
        ({"status": RESOLVED}, False),
    ],
)
def test_a_notification_is_found_by_receiver_alert_tool_and_status(wanted: dict[str, str], is_found: bool) -> None:
    asked = {"receiver": "payments-page", "alert": BURNING, "tool": "payment_refund", "status": FIRING, **wanted}
    assert (find_told([notification(1.0, alert())], **asked) is not None) is is_found


def test_a_page_to_the_wrong_team_and_a_missing_page_are_both_wrong() -> None:
    report = play(7, 40)
    right = Delivery(Told("payments-page", BURNING, "payments", "payment_refund"), "page", 1.0, None)
    wrong = Delivery(Told("orders-page", "TooltelToolSilent", "orders", "order_lookup"), "page", 1.0, None)
    ticket = Delivery(Told("orders-ticket", "TooltelToolSilent", "orders", "order_lookup"), "ticket", None, None)
    assert replace(report, delivered=None).misdirected == []
    assert replace(report, delivered=(right, ticket)).misdirected == []
    assert replace(report, delivered=(right, wrong)).misdirected == ["orders-page was paged by TooltelToolSilent"]
    assert replace(report, delivered=(ticket,)).misdirected == ["payments-page was not paged"]
