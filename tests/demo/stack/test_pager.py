"""The pager writes down what Alertmanager sends, and wakes whoever waits for it."""

from __future__ import annotations

import json
import threading
import time
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any

import pytest

from tooltel.demo.stack import Notification, Pager
from tooltel.demo.stack.pager import LARGEST

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

FIRING = {"status": "firing", "labels": {"alertname": "A", "owner": "payments"}, "annotations": {"summary": "s"}}
OVER = {"status": "resolved", "labels": {"alertname": "B"}, "annotations": {}}


@pytest.fixture
def pager() -> Iterator[Pager]:
    with Pager() as running:
        yield running


def send(url: str, message: Any, *, raw: bytes | None = None) -> int:
    data = json.dumps(message).encode() if raw is None else raw
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data=data), timeout=10) as answer:  # noqa: S310 - ours
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def test_a_notification_is_kept_with_its_receiver_its_state_and_its_time(pager: Pager) -> None:
    before = time.monotonic()
    assert send(pager.url("payments-page"), {"status": "firing", "alerts": [FIRING, OVER]}) == 200
    (taken,) = pager.notifications
    assert (taken.receiver, taken.status, taken.alerts) == ("payments-page", "firing", (FIRING, OVER))
    assert before <= taken.at <= time.monotonic()
    assert taken.names("alertname") == {"A", "B"}
    assert taken.names("owner") == {"payments", ""}


@pytest.mark.parametrize("name", ["a b/c?d#e", "Ünïcode ☃", '"quoted"', "%2F", "../.."])
def test_any_receiver_name_comes_back_as_it_was(pager: Pager, name: str) -> None:
    assert send(pager.url(name), {"status": "firing", "alerts": []}) == 200
    assert [each.receiver for each in pager.notifications] == [name]


@pytest.mark.parametrize("raw", [b"not json", b"[]", b"{}", b'{"status": "firing"}', b"\xff"])
def test_what_is_no_notification_is_refused_and_not_kept(pager: Pager, raw: bytes) -> None:
    assert send(pager.url("x"), None, raw=raw) == 400
    assert pager.notifications == ()


def test_a_message_without_a_size_or_with_a_huge_one_is_refused(pager: Pager) -> None:
    assert send(pager.url("x"), None, raw=b"") == 413
    request = urllib.request.Request(pager.url("x"), data=b"{}", headers={"Content-Length": str(LARGEST + 1)})  # noqa: S310
    with pytest.raises(urllib.error.HTTPError, match="413"):
        urllib.request.urlopen(request, timeout=10)  # noqa: S310 - the pager above
    assert pager.notifications == ()


def test_waiting_ends_with_the_arrival_that_was_waited_for(pager: Pager) -> None:
    def second(everything: Sequence[Notification]) -> Notification | None:
        return everything[1] if len(everything) > 1 else None

    def post() -> None:
        for name in ("first", "second"):
            send(pager.url(name), {"status": "firing", "alerts": []})

    sender = threading.Thread(target=post)
    sender.start()
    found = pager.wait_for(second, seconds=30)
    sender.join()
    assert found is not None
    assert found.receiver == "second"


def test_waiting_finds_what_has_arrived_before(pager: Pager) -> None:
    send(pager.url("early"), {"status": "firing", "alerts": []})
    assert pager.wait_for(lambda everything: everything or None, seconds=0) == pager.notifications


def test_waiting_gives_up(pager: Pager) -> None:
    assert pager.wait_for(lambda everything: everything or None, seconds=0.01) is None


def test_a_closed_pager_takes_no_more_connections() -> None:
    with Pager() as closed:
        url = closed.url("x")
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(url, timeout=1)  # noqa: S310 - the pager above
