"""What may be kept of a payload: off by default, bounded, without secrets, and never in the way of a tool."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry

from tooltel import Tooltel
from tooltel.redact import ENOUGH, LIMIT, REDACTED, redact
from tooltel.settings import Settings
from tooltel.testing import capture

ARGUMENTS, RESULT = "gen_ai.tool.call.arguments", "gen_ai.tool.call.result"


@pytest.mark.parametrize(
    "secret",
    [
        {"password": "hunter2"},
        {"user": {"apiKey": "abc"}},
        {"headers": {"Authorization": "Basic dXNlcjpwYXNz"}},
        {"list": [{"card_number": "4111 1111 1111 1111"}]},
        {"note": "use Bearer abcdefgh12345678 please"},
        {"note": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.sig"},
        {"note": "pay with 4111-1111-1111-1111"},
        {"number": 4111111111111111},
        {"url": "https://user:pass@example.com/x"},
        {"key": "sk-abcdefghijklmnop"},
        {"pwd": "hunter2"},
        {"cache": "redis://:pass@example.com/0"},
        {"file": "NAME=x\nsk-abcdefghijklmnop\n\t4111 1111 1111 1111\r\neyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.sig"},
        {"key": "-----BEGIN RSA PRIVATE KEY-----\nhunter2\nabc\n-----END RSA PRIVATE KEY-----"},
        {"key": "-----BEGIN PRIVATE KEY-----\nhunter2" + "x" * LIMIT},
        {"token_of": ["eyJhbGciOiJIUzI1NiJ9.eyJ" + "x" * LIMIT]},
        {"note": "eyJhbGciOiJIUzI1NiJ9." + "x" * LIMIT},
    ],
)
def test_what_looks_like_a_secret_is_replaced(secret: dict[str, Any]) -> None:
    kept = redact(secret)
    assert REDACTED in kept
    for word in ("hunter2", "abc", "dXNlcjpwYXNz", "4111", "eyJ", "pass@", "sk-abc"):
        assert word not in kept


def test_what_is_no_secret_is_kept_as_json() -> None:
    payload = {"order_id": "o-17", "lines": [1, 2.5, None, True], "note": "pineapple pinning"}
    assert json.loads(redact(payload)) == payload


def test_what_stands_around_a_private_key_is_kept() -> None:
    key = "-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----"
    assert redact(f"before {key} after {key} end") == f'"before {REDACTED} after {REDACTED} end"'


class Counted:
    """A value that counts how often it is looked at."""

    looks = 0

    def __str__(self) -> str:
        Counted.looks += 1
        return "x"


def test_a_payload_that_holds_its_parts_many_times_is_looked_at_only_as_far_as_it_is_kept() -> None:
    """As what a reader of YAML makes of a few lines: 64 to the power of 7 values."""
    payload: object = Counted()
    for _ in range(7):
        payload = [payload] * 64
    assert len(redact(payload)) <= LIMIT
    assert 0 < Counted.looks <= ENOUGH


@pytest.mark.parametrize("text", ["a", "eyJ-", "1 ", "a://b:", "a://b", "bearer ", "-----BEGIN ", "sk-", "\n"])
def test_no_text_takes_long_to_search(text: str) -> None:
    """A model writes the arguments, and may know the patterns; each of these once took minutes, or might."""
    before = time.process_time()
    redact([[text * (LIMIT // len(text))] * 64] * 64)
    assert time.process_time() - before < 5


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=30,
)


@given(json_values)
def test_whatever_comes_it_is_one_bounded_printable_line(payload: object) -> None:
    kept = redact(payload)
    assert len(kept) <= LIMIT
    assert kept.isprintable()


def test_a_payload_of_megabytes_and_one_that_holds_itself_are_cut() -> None:
    assert len(redact({"text": "x" * 5_000_000})) <= LIMIT
    endless: list[object] = []
    endless.append(endless)
    assert len(redact(endless)) <= LIMIT
    assert len(redact(10**4000)) <= LIMIT


def make(**options: Any) -> Tooltel:
    return Tooltel(registry=CollectorRegistry(), **options)


def pay(card_number: str, amount: int) -> dict[str, object]:
    """Pay an amount with a payment card, once, and say so."""
    return {"paid": amount, "token": "t-1", "card": card_number[-4:]}


def test_payloads_are_off_by_default() -> None:
    tel = make()
    tool = tel.tool(pay, owner="payments")
    with capture(tel) as seen:
        tool("4111", 5)
    assert not {ARGUMENTS, RESULT} & set(seen.spans[0].attributes or {})


def test_payloads_are_redacted_on_the_span_when_asked_for() -> None:
    tel = make(settings=Settings(capture_payloads=True))
    tool = tel.tool(pay, owner="payments")
    with capture(tel) as seen:
        assert tool("4111", amount=5) == {"paid": 5, "token": "t-1", "card": "4111"}
    attributes = dict(seen.spans[0].attributes or {})
    assert json.loads(str(attributes[ARGUMENTS])) == {"card_number": REDACTED, "amount": 5}
    assert json.loads(str(attributes[RESULT])) == {"paid": 5, "token": REDACTED, "card": "4111"}


def test_the_instance_of_a_method_is_no_argument() -> None:
    tel = make(settings=Settings(capture_payloads=True))

    class Desk:
        @tel.tool(owner="desk", name="desk_close")
        def close(self, ticket: str) -> str:
            """Close a ticket of the desk, once it has been answered."""
            return ticket

    with capture(tel) as seen:
        Desk().close("t-1")
    assert json.loads(str((seen.spans[0].attributes or {})[ARGUMENTS])) == {"ticket": "t-1"}


def fails(_payload: object) -> str:
    raise RuntimeError("no")


def gives_nonsense(_payload: object) -> Any:
    return 17


@pytest.mark.parametrize("redactor", [fails, gives_nonsense])
def test_a_redactor_that_fails_keeps_nothing_and_leaves_the_result_alone(redactor: Any) -> None:
    tel = make(settings=Settings(capture_payloads=True), redactor=redactor)
    tool = tel.tool(pay, owner="payments")
    assert tool("4111", 5)["paid"] == 5
    samples = {
        sample.labels["component"]: sample.value
        for family in tel.view.collect()
        for sample in family.samples
        if sample.name == "tooltel_internal_errors_total"
    }
    assert samples["redact"] == 2.0
    with capture(tel), pytest.raises((RuntimeError, TypeError)):
        tool("4111", 5)


def test_a_redactor_of_ones_own_is_cleaned_and_bounded_too() -> None:
    tel = make(settings=Settings(capture_payloads=True), redactor=lambda _: "a\nb" + "x" * 100_000)
    tool = tel.tool(pay, owner="payments")
    with capture(tel) as seen:
        tool("4111", 5)
    kept = str((seen.spans[0].attributes or {})[ARGUMENTS])
    assert len(kept) <= LIMIT
    assert "\n" not in kept
