"""Alerts of a past fire as Prometheus would let them: after their wait, and a while longer."""

from __future__ import annotations

from tests.preview.alerting import EVERY, firing


def minutes(*numbers: int) -> list[int]:
    return [EVERY * number for number in numbers]


def test_without_a_wait_an_alert_fires_while_it_is_true() -> None:
    assert firing(minutes(3, 4, 7), wait=0, keep=0, end=600) == minutes(3, 4, 7)


def test_it_fires_once_it_was_true_for_the_whole_wait() -> None:
    assert firing(minutes(1, 2, 3, 4), wait=2 * EVERY, keep=0, end=600) == minutes(3, 4)


def test_a_pause_begins_the_wait_anew() -> None:
    assert firing(minutes(1, 2, 4, 5, 6), wait=2 * EVERY, keep=0, end=600) == minutes(6)


def test_it_is_kept_after_it_was_last_true() -> None:
    assert firing(minutes(1), wait=0, keep=3 * EVERY, end=600) == minutes(1, 2, 3)


def test_what_never_fired_is_not_kept() -> None:
    assert firing(minutes(1), wait=EVERY, keep=3 * EVERY, end=600) == []


def test_nothing_fires_after_the_end() -> None:
    assert firing(minutes(1), wait=0, keep=60 * EVERY, end=3 * EVERY) == minutes(1, 2, 3)
