"""
Playing conversations: with the bare methods, or through tooltel's wrappers.

Both ways run through the same lines, so that all that differs is the wrapping. Each conversation gets instances of
its own, loaded with the state that the benchmark prescribes.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from examples.replay.conversations import APIS, Conversation, Step, load_class
from examples.replay.tools import AGENT, declarations_of, methods, profile_of

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

    from tooltel import Tooltel

CONVERSATION_SPAN: Final = "conversation"  # the root span, as a host's own tracing would have one

Method = Callable[..., Any]
Toolbox = Mapping[str, Mapping[str, Method]]  # API -> name -> method, the instance being its first argument


class Answer(NamedTuple):
    """What the model is told: a result, or an exception. `found` is False where there is no such tool."""

    step: Step
    result: Any = None
    error: Exception | None = None
    found: bool = True


class Played(NamedTuple):
    """A finished conversation: every answer, and the instances as they were left."""

    conversation: Conversation
    answers: tuple[Answer, ...]
    instances: Mapping[str, Any]


def bare_tools() -> Toolbox:
    """Every method of the eight APIs as it is."""
    return {api: methods(api) for api in APIS}


def wrapped_tools(tel: Tooltel) -> Toolbox:
    """
    Every method of the eight APIs in a wrapper of *tel*.

    The classes are left alone: what a method calls on its own instance is its own business, and no call of the
    model's.
    """
    return {api: {name: tel.tool(method) for name, method in methods(api).items()} for api in APIS}


def play_bare(conversations: Iterable[Conversation]) -> Iterator[Played]:
    """Play *conversations* with nothing around the methods."""
    tools = bare_tools()
    for conversation in conversations:
        yield _play(conversation, tools, not_found=str)


def play(tel: Tooltel, conversations: Iterable[Conversation], *, tracer: Tracer | None = None) -> Iterator[Played]:
    """
    Play *conversations* through the wrappers of *tel*: a session and a declaration of tools for each.

    Yields after each conversation, so that a caller may scrape in between. With *tracer*, the calls of a
    conversation are children of a root span.
    """
    tools = wrapped_tools(tel)
    for conversation in conversations:
        profile = profile_of(conversation)
        with tel.session(profile=profile, agent=AGENT, id=conversation.id):
            tel.declared(profile, declarations_of(conversation))
            if tracer is None:
                yield _play(conversation, tools, not_found=tel.not_found)
            else:
                with tracer.start_as_current_span(CONVERSATION_SPAN):
                    played = _play(conversation, tools, not_found=tel.not_found)
                yield played


def _play(conversation: Conversation, tools: Toolbox, *, not_found: Callable[[str], object]) -> Played:
    instances = {api: _instance(api, conversation) for api in conversation.apis}
    bound = {
        name: (method, instances[api])
        for api in conversation.apis
        for name, method in tools[api].items()
        if name not in conversation.excluded
    }
    answers: list[Answer] = []
    for step in conversation.steps:
        if step.name not in bound:
            not_found(step.name)
            answers.append(Answer(step, found=False))
            continue
        method, instance = bound[step.name]
        try:
            # A copy, as some tools keep the very list that they are given.
            result = method(instance, *copy.deepcopy(step.args), **copy.deepcopy(dict(step.kwargs)))
        except Exception as error:  # noqa: BLE001 - an agent's loop hands any exception to the model
            answers.append(Answer(step, error=error))
        else:
            answers.append(Answer(step, result=copy.deepcopy(result)))
    return Played(conversation, tuple(answers), instances)


def _instance(api: str, conversation: Conversation) -> Any:
    instance = load_class(api)()
    if hasattr(instance, "_load_scenario"):  # an API without state has nothing to load
        config = copy.deepcopy(conversation.config.get(api, {}))
        instance._load_scenario(config, long_context=False)  # noqa: SLF001 - how the benchmark itself starts one
    return instance
