"""What a replay must have recorded, worked out from the bare methods and their answers alone."""

from __future__ import annotations

import inspect
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from examples.replay.conversations import APIS
from examples.replay.tools import JUDGMENTS, methods

if TYPE_CHECKING:
    from examples.replay.playing import Answer, Played

RISKS = {name: risk.value for judgment in JUDGMENTS.values() for name, risk in judgment.risks()}
OWNERS = {name: judgment.owner for judgment in JUDGMENTS.values() for name, _ in judgment.risks()}


@cache
def signature_of(name: str) -> inspect.Signature:
    """The signature of the bare method that is tool *name*, its instance included."""
    (method,) = (methods(api)[name] for api in APIS if name in methods(api))
    return inspect.signature(method)


class Expected(NamedTuple):
    """One call of a tool, and how it must have settled."""

    tool: str
    outcome: str
    error_type: str


def expected(answer: Answer) -> Expected:
    """How the call that got *answer* must settle: judged before the call by its signature, after it by its error."""
    name = answer.step.name
    if bound(answer) is None:
        return Expected(name, "invalid_arguments", "invalid_arguments")
    if answer.error is not None:
        return Expected(name, "error", type(answer.error).__name__)
    return Expected(name, "ok", "")  # whatever it answered: no tool here answers in an unmistakable shape


def bound(answer: Answer) -> dict[str, Any] | None:
    """The arguments by name, defaults filled in; None where they do not fit the method."""
    signature = signature_of(answer.step.name)
    try:
        arguments = signature.bind(None, *answer.step.args, **answer.step.kwargs)
    except TypeError:
        return None
    arguments.apply_defaults()
    return dict(arguments.arguments)


def calls(played: Iterable[Played]) -> Iterator[tuple[Played, Answer]]:
    """Every call that reached a tool."""
    return ((one, answer) for one in played for answer in one.answers if answer.found)


def missing_fields(played: Iterable[Played]) -> Counter[tuple[str, str]]:
    """Required arguments that were left out, by tool and name."""
    found: Counter[tuple[str, str]] = Counter()
    for _, answer in calls(played):
        if bound(answer) is None:
            parameters = list(signature_of(answer.step.name).parameters.values())[1:]
            given = {parameter.name for parameter in parameters[: len(answer.step.args)]} | set(answer.step.kwargs)
            required = {parameter.name for parameter in parameters if parameter.default is parameter.empty}
            found.update((answer.step.name, field) for field in required - given)
    return found


def repeats(played: Iterable[Played]) -> Counter[str]:
    """Calls of tools that are not `read`, made before in the same conversation with equal arguments, by tool."""
    found: Counter[str] = Counter()
    for one in played:
        effective: set[tuple[str, str]] = set()
        for answer in one.answers:
            arguments = bound(answer) if answer.found else None
            if arguments is None or RISKS[answer.step.name] == "read":
                continue
            key = (answer.step.name, json.dumps(arguments, sort_keys=True))
            if key in effective:
                found[answer.step.name] += 1
            if answer.error is None:
                effective.add(key)
    return found
