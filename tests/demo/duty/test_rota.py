"""The rota keeps the latest word on each alert and receiver, in bounded memory, with every text cleaned and cut."""

from __future__ import annotations

from typing import Any

import pytest

from tooltel.demo.duty import Rota
from tooltel.demo.duty.rota import MOST_ALERTS, MOST_NOTICES
from tooltel.demo.hostile import HOSTILE


def alert(name: str = "A", status: str = "firing", **labels: str) -> dict[str, Any]:
    return {"status": status, "labels": {"alertname": name, **labels}, "annotations": {}, "fingerprint": name}


def message(*alerts: dict[str, Any]) -> dict[str, Any]:
    return {"alerts": list(alerts)}


def test_a_notice_says_who_was_told_of_what_when_and_where_to_look() -> None:
    rota = Rota()
    said = {
        **alert("Burn", owner="payments", severity="page", tool="payment_refund"),
        "annotations": {
            "summary": "it burns",
            "description": "a lot",
            "dashboard_url": "http://127.0.0.1:3000/d/x?var-tool=payment_refund",
            "runbook_url": "https://runbooks.example.com/Burn.md",
        },
        "startsAt": "2030-01-01T00:00:00Z",
    }
    assert rota.take("payments-page", message(said), 5.0) == 1
    (notice,) = rota.notices()
    assert (notice.receiver, notice.alert, notice.owner, notice.severity) == (
        "payments-page", "Burn", "payments", "page",
    )  # fmt: skip
    assert (notice.summary, notice.description, notice.since, notice.at) == (
        "it burns",
        "a lot",
        "2030-01-01T00:00:00Z",
        5,
    )
    assert dict(notice.labels) == {"tool": "payment_refund"}
    assert notice.dashboard == "http://127.0.0.1:3000/d/x?var-tool=payment_refund"
    assert notice.runbook == "https://runbooks.example.com/Burn.md"
    assert notice.is_firing


def test_the_latest_word_replaces_the_earlier_and_comes_first() -> None:
    rota = Rota()
    rota.take("x", message(alert("A"), alert("B")), 1)
    rota.take("x", message(alert("A", "resolved")), 2)
    first, second = rota.notices()
    assert (first.alert, first.is_firing, first.times, first.at) == ("A", False, 2, 2)
    assert (second.alert, second.is_firing, second.times) == ("B", True, 1)


def test_the_same_alert_to_two_receivers_is_two_notices() -> None:
    rota = Rota()
    for receiver in ("page", "ticket"):
        rota.take(receiver, message(alert()), 1)
    assert {each.receiver for each in rota.notices()} == {"page", "ticket"}


def test_memory_is_bounded_and_the_oldest_word_is_forgotten_first() -> None:
    rota = Rota()
    for number in range(MOST_NOTICES + 10):
        rota.take("x", message(alert(f"A{number}")), number)
    kept = rota.notices()
    assert len(kept) == MOST_NOTICES
    assert kept[-1].alert == "A10"
    assert rota.take("y", message(*(alert(f"B{number}") for number in range(MOST_ALERTS + 50))), 0) == MOST_ALERTS


def test_a_giant_among_texts_is_cut() -> None:
    rota = Rota()
    huge = {f"label{number}": "v" * 10**5 for number in range(100)}
    said = {**alert("A" * 10**5, **huge), "annotations": {"description": "d" * 10**6}, "fingerprint": "f" * 10**6}
    rota.take("r" * 10**5, message(said), 1)
    (notice,) = rota.notices()
    texts = [notice.alert, notice.receiver, notice.description, *notice.labels, *notice.labels.values()]
    assert sum(map(len, texts)) < 10_000


@pytest.mark.parametrize("name", [name for name, _ in HOSTILE if isinstance(name, str)])
def test_no_name_that_a_model_makes_breaks_a_line(name: str) -> None:
    rota = Rota()
    rota.take(name, message(alert(name, owner=name, severity=name, tool=name)), 1)
    (notice,) = rota.notices()
    for text in (notice.receiver, notice.alert, notice.owner, notice.severity, *notice.labels.values()):
        assert text.isprintable()
        assert len(text) <= 200


@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(1)",
        "data:text/html,x",
        "//evil",
        "/d/x",
        "http://",
        "http://[",
        "http://x/" + "y" * 3000,
        "http://x\n",
    ],
)
def test_only_addresses_of_the_web_become_links(address: str) -> None:
    rota = Rota()
    rota.take("x", message({**alert(), "annotations": {"dashboard_url": address, "runbook_url": address}}), 1)
    (notice,) = rota.notices()
    assert (notice.dashboard, notice.runbook) == ("", "")


@pytest.mark.parametrize("broken", [{}, {"alerts": 3}, {"alerts": ["x"]}, {"alerts": [alert(), None]}])
def test_what_is_no_notification_is_refused_whole(broken: dict[str, Any]) -> None:
    rota = Rota()
    with pytest.raises(ValueError, match="list of alerts"):
        rota.take("x", broken, 1)
    assert rota.notices() == []


def test_an_alert_whose_parts_are_of_the_wrong_kind_is_kept_without_them() -> None:
    rota = Rota()
    rota.take("x", {"alerts": [{"labels": [1], "annotations": 3, "startsAt": {}, "fingerprint": 5, "status": None}]}, 1)
    (notice,) = rota.notices()
    assert (notice.alert, notice.owner, dict(notice.labels)) == ("", "", {})
