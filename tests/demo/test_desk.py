from __future__ import annotations

import inspect
import json
from typing import TYPE_CHECKING, Annotated, Any

import jsonschema
import pytest
from prometheus_client import CollectorRegistry

from tests.demo.playing import play
from tooltel import signals
from tooltel.demo.books import ARTICLES, Books, Order
from tooltel.demo.declarations import declare
from tooltel.demo.desk import Desk
from tooltel.demo.desk.payments import Payments
from tooltel.demo.pace import SimulatedTime
from tooltel.demo.telemetry import CATALOG
from tooltel.loading import read
from tooltel.runtime import Tooltel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tooltel.catalog import Catalog


@pytest.fixture
def desk() -> Iterator[Desk]:
    with Tooltel(CATALOG, registry=CollectorRegistry()) as tel:
        yield Desk(tel, Books(1), SimulatedTime())


def catalog() -> Catalog:
    found, problems = read(str(CATALOG))
    assert found is not None
    assert problems == []
    return found


def test_the_example_catalog_has_no_problem() -> None:
    assert {"knowledge", "orders", "payments", "platform"} == set(catalog().owners)


def test_the_desk_has_every_tool_and_every_alias_of_the_catalog(desk: Desk) -> None:
    assert set(desk.tools) == {*catalog().tools, *catalog().aliases}


def test_the_desk_has_a_tool_of_each_kind_of_callable(desk: Desk) -> None:
    kinds = {
        (
            inspect.iscoroutinefunction(tool),
            inspect.isgeneratorfunction(tool),
            inspect.isasyncgenfunction(tool),
        )
        for tool in desk.tools.values()
    }
    assert len(kinds) == 4


def test_the_catalog_has_a_tool_of_each_risk_an_alias_a_retired_name_and_two_profiles() -> None:
    found = catalog()
    assert {tool.risk for tool in found.tools.values()} == {str(risk) for risk in signals.Risk}
    assert found.aliases
    assert found.retired
    assert len(found.profiles) == 2
    assert all(tool.latency_bound in (None, *signals.BUCKETS) for tool in found.tools.values())


def test_what_the_model_is_shown_is_what_the_catalog_says(desk: Desk) -> None:
    for tool in catalog().tools.values():
        assert declare(tool.name, desk.tools[tool.name])["description"] == tool.description


def test_each_declaration_is_a_json_schema_with_described_parameters(desk: Desk) -> None:
    for name in catalog().tools:
        schema = declare(name, desk.tools[name])["parameters"]
        jsonschema.Draft202012Validator.check_schema(schema)
        assert all(each["description"] for each in schema["properties"].values())
        assert set(schema["required"]) <= set(schema["properties"])


def test_a_declaration_tells_types_defaults_and_lists() -> None:
    def tool(
        name: Annotated[str, "Who"],
        tags: Annotated[list[str], "Which"],
        limit: Annotated[int, "How many"] = 3,
        key: Annotated[str | None, "Which attempt"] = None,
        exact: bool = False,
    ) -> dict[str, Any]:
        """Find it."""
        raise NotImplementedError((name, tags, limit, key, exact))

    assert declare("find", tool) == {
        "name": "find",
        "description": "Find it.",
        "parameters": {
            "type": "object",
            "properties": {
                "name": {"type": "string", "description": "Who"},
                "tags": {"type": "array", "items": {"type": "string"}, "description": "Which"},
                "limit": {"type": "integer", "description": "How many"},
                "key": {"type": "string", "description": "Which attempt"},
                "exact": {"type": "boolean"},
            },
            "required": ["name", "tags"],
            "additionalProperties": False,
        },
    }


def test_both_profiles_keep_within_their_budgets_without_much_to_spare() -> None:
    scrape = play(7, 40).scrape
    for profile in catalog().profiles.values():
        chars = scrape.total(signals.DECLARATION_CHARS, profile=profile.name)
        assert profile.budget_chars is not None
        assert 0.5 < chars / profile.budget_chars < 1


def test_a_refund_with_a_key_is_made_once() -> None:
    """The fake backend keeps its promises: this is what makes `replayed` true and not only said."""
    books = Books(1)
    order = books.open(Order("o-1", "c-1", 1000))
    payments = Payments(books, SimulatedTime())
    results = [run(payments.payment_refund("o-1", 400, "broken", key="k")) for _ in range(3)]
    assert [result.get("replayed") for result in results] == [None, True, True]
    assert order.refunded == 400


def run(coroutine: Any) -> Any:
    try:
        while True:
            coroutine.send(None)
    except StopIteration as stop:
        return stop.value


def test_a_team_s_own_log_line_inside_a_call_tells_whose_tool_it_is_about() -> None:
    lines = map(json.loads, play(1, 120).folder.logs.read_text("utf-8").splitlines())
    own = [line for line in lines if line["event"] == "acquirer_failed"]
    assert own
    for line in own:
        assert line[signals.OWNER] == "payments"
        assert line[signals.RISK] == "irreversible"
        assert line[signals.VERSION] == "5"
        assert len(line[signals.KEY_TRACE_ID]) == 32


def test_latencies_are_the_same_for_the_same_seed_and_never_hold_up_a_shift() -> None:
    first, again, other = Books(1), Books(1), Books(2)
    keys = [f"o-{number}" for number in range(500)]
    times = [first.latency("acquirer", key) for key in keys]
    assert times == [again.latency("acquirer", key) for key in keys]
    assert times != [other.latency("acquirer", key) for key in keys]
    assert min(times) > 0
    assert max(times) <= 1.6


def test_every_article_can_be_searched_and_read() -> None:
    assert all(title and sections for title, sections in ARTICLES.values())
