from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from examples.replay.conversations import APIS, load_declarations, parse_step
from examples.replay.tools import JUDGMENTS, make_catalog, methods
from tooltel import HouseRules
from tooltel.catalog import find_problems

if TYPE_CHECKING:
    from examples.replay.conversations import Conversation


def test_every_method_of_every_api_is_judged_exactly_once(
    right_conversations: list[Conversation],
) -> None:
    assert set(JUDGMENTS) == set(APIS)
    judged = [name for judgment in JUDGMENTS.values() for name, _ in judgment.risks()]
    assert len(judged) == len(set(judged)) == 128
    for api, judgment in JUDGMENTS.items():
        assert {name for name, _ in judgment.risks()} == set(methods(api))
    assert set(make_catalog(right_conversations).tools) == set(judged)


def test_an_owner_answers_for_each_api(right_conversations: list[Conversation]) -> None:
    catalog = make_catalog(right_conversations)
    for api, judgment in JUDGMENTS.items():
        assert {catalog.tools[name].owner for name in methods(api)} == {judgment.owner}
    assert len({judgment.owner for judgment in JUDGMENTS.values()}) == 8


def test_the_catalog_has_no_problem_but_the_real_names_once_their_rule_is_off(
    right_conversations: list[Conversation],
) -> None:
    catalog = make_catalog(right_conversations)
    assert find_problems(catalog) == []
    strict = find_problems(replace(catalog, house=HouseRules()))
    assert {problem.rule for problem in strict} == {"name_pattern"}
    assert {"tools.ls", "tools.startEngine"} <= {problem.path.removesuffix(".name") for problem in strict}


def test_a_method_that_nobody_judged_is_an_error_that_names_it(
    right_conversations: list[Conversation], monkeypatch: pytest.MonkeyPatch
) -> None:
    files = JUDGMENTS["GorillaFileSystem"]
    careless = {**JUDGMENTS, "GorillaFileSystem": replace(files, irreversible="echo")}
    monkeypatch.setattr("examples.replay.tools.JUDGMENTS", careless)
    with pytest.raises(ValueError, match=r"GorillaFileSystem: .* differ in rm$"):
        make_catalog(right_conversations)


def test_every_conversation_calls_only_what_it_is_offered(right_conversations: list[Conversation]) -> None:
    for conversation in right_conversations:
        offered = {tool["name"] for api in conversation.apis for tool in load_declarations(api)}
        assert {step.name for step in conversation.steps} <= offered - conversation.excluded


@pytest.mark.parametrize(
    "text", ["__import__('os').system('true')", "cd(folder=open('x'))", "cd", "lambda: cd()", "cd(*[1])"]
)
def test_a_call_that_is_no_plain_one_is_refused_and_never_evaluated(text: str) -> None:
    with pytest.raises(ValueError, match=r"is no call|malformed node"):
        parse_step(text)
