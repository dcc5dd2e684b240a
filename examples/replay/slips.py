"""
What a careless model makes of the same conversations: the troubles that right answers do not have.

The tools are the real ones, and so is what becomes of each slip. An omitted argument never reaches the tool; nulled
ones do, and mostly break it; an invented name reaches nothing; a call made again takes effect again.
"""

from __future__ import annotations

import inspect
import random
from collections.abc import Iterable, Iterator
from dataclasses import replace

from examples.replay.conversations import Conversation, Step
from examples.replay.playing import Method, bare_tools

SHARE = 0.05  # of all calls, for each kind of slip


def careless(conversations: Iterable[Conversation], *, seed: int = 1) -> Iterator[Conversation]:
    """The same *conversations*, with slips at random: the same ones for the same *seed*."""
    chance = random.Random(seed)  # noqa: S311 - seeded on purpose
    tools = {name: method for methods in bare_tools().values() for name, method in methods.items()}
    for conversation in conversations:
        turns = tuple(
            tuple(slipped for step in turn for slipped in _slip(step, tools[step.name], chance))
            for turn in conversation.turns
        )
        yield replace(conversation, turns=turns)


def _slip(step: Step, method: Method, chance: random.Random) -> Iterator[Step]:
    drawn = chance.random() / SHARE
    if drawn < 1 and step.kwargs:
        yield _without_one(step, method, chance)
    elif 1 <= drawn < 2:
        yield Step(step.name, tuple(None for _ in step.args), dict.fromkeys(step.kwargs))
    elif 2 <= drawn < 3:
        yield Step(f"functions.{step.name}", step.args, step.kwargs)
    elif 3 <= drawn < 4:
        yield step
        yield step
    else:
        yield step


def _without_one(step: Step, method: Method, chance: random.Random) -> Step:
    parameters = inspect.signature(method).parameters
    required = [name for name in step.kwargs if parameters[name].default is inspect.Parameter.empty]
    left_out = chance.choice(required) if required else None
    return Step(step.name, step.args, {name: value for name, value in step.kwargs.items() if name != left_out})
