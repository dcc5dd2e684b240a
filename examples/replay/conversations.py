"""
The conversations: read from the Berkeley Function Calling Leaderboard's own files, as PyPI's bfcl-eval ships them.

200 conversations of several turns, each with the APIs that it uses, the state that they start in, and the calls
that a right answer makes. The calls are written as Python expressions; they are parsed, never evaluated.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module, metadata, resources
from types import MappingProxyType
from typing import Any, Final, NamedTuple

PACKAGE: Final = "bfcl_eval"
DISTRIBUTION: Final = "bfcl-eval"
HOW_TO_GET: Final = f"the replay needs PyPI's {DISTRIBUTION}, without its dependencies: make setup"
_SOURCES: Final = "eval_checker.multi_turn_eval.func_source_code"
_CONVERSATIONS: Final = "BFCL_v4_multi_turn_base.json"

# Class -> the module that holds it, which is also the name of the file with its declarations.
APIS: Final[Mapping[str, str]] = {
    "GorillaFileSystem": "gorilla_file_system",
    "MathAPI": "math_api",
    "MessageAPI": "message_api",
    "TicketAPI": "ticket_api",
    "TradingBot": "trading_bot",
    "TravelAPI": "travel_booking",
    "TwitterAPI": "posting_api",
    "VehicleControlAPI": "vehicle_control",
}


class MissingDataError(ImportError):
    """The data is not installed; the message says how to get it."""

    def __init__(self) -> None:
        super().__init__(HOW_TO_GET)


class Step(NamedTuple):
    """One call that the model makes: a name and arguments, as it wrote them."""

    name: str
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Conversation:
    """
    One conversation: the APIs it may use, with their state at its start, and the calls of each turn.

    `excluded` are the tools of those APIs that this conversation is not offered.
    """

    id: str
    apis: tuple[str, ...]
    config: Mapping[str, Any]
    turns: tuple[tuple[Step, ...], ...]
    excluded: frozenset[str] = frozenset()

    @property
    def steps(self) -> Iterator[Step]:
        """The calls of all turns, in their order."""
        for turn in self.turns:
            yield from turn


def version() -> str:
    """The version of the installed data; raises MissingDataError."""
    try:
        return metadata.version(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        raise MissingDataError from None


def load_class(api: str) -> type[Any]:
    """The class that implements *api*."""
    try:
        module = import_module(f"{PACKAGE}.{_SOURCES}.{APIS[api]}")
    except ModuleNotFoundError as error:
        raise MissingDataError from error
    found: type[Any] = getattr(module, api)
    return found


@cache
def load_declarations(api: str) -> tuple[dict[str, Any], ...]:
    """The declarations of *api*'s tools, as the benchmark shows them to a model."""
    return tuple(_lines("multi_turn_func_doc", f"{APIS[api]}.json"))


def load_conversations() -> list[Conversation]:
    """All conversations, in the order of the file, each with its right calls."""
    answers = {row["id"]: row["ground_truth"] for row in _lines("possible_answer", _CONVERSATIONS)}
    return [
        Conversation(
            row["id"],
            tuple(row["involved_classes"]),
            row["initial_config"],
            tuple(tuple(map(parse_step, turn)) for turn in answers[row["id"]]),
            frozenset(row.get("excluded_function", ())),
        )
        for row in _lines(_CONVERSATIONS)
    ]


def parse_step(text: str) -> Step:
    """Read `cp(source='a', destination='b')`; raises ValueError for anything but a call with literal arguments."""
    call = ast.parse(text, mode="eval").body
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        raise ValueError(  # noqa: TRY004 - the text is wrong, not its type
            f"{text!r} is no call of a tool by its name"
        )
    args = tuple(ast.literal_eval(argument) for argument in call.args)
    kwargs = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
    return Step(call.func.id, args, kwargs)


def _lines(*path: str) -> Iterator[dict[str, Any]]:
    try:
        file = resources.files(PACKAGE).joinpath("data", *path)
        text = file.read_text(encoding="utf-8")
    except (ModuleNotFoundError, FileNotFoundError) as error:
        raise MissingDataError from error
    yield from map(json.loads, text.splitlines())
