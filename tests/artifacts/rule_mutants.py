"""Small damages to a rule, each of which the unit tests must notice."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from tooltel.promql import duration, seconds

Rule = dict[str, Any]

_METRIC: Final = re.compile(
    r"(?<![\w:\"])(?:[a-z_]+:)?(?!gen_ai_tool_name)(?:tooltel|gen_ai|prometheus)_[\w:]+|(?<![\w:\"])up\b"
)
_LISTED: Final = re.compile(r"\b(?:by|on) \(([^)]*)\)")
_MATCHED: Final = re.compile(r"[{,] ?(\w+)(=~|!~|!=|=)(?=\")")
_COMPARED: Final = re.compile(r" (>=|<=|==|!=|>|<) (?:on \(|\d)|\n *(>=|<=|==|>|<) on \(")
_LIMIT: Final = re.compile(r"(?:>=|<=|==|!=|>|<) (\d+(?:\.\d+)?)|(?<![\w.])(\d+(?:\.\d+)?) \*")
_RANGE: Final = re.compile(r"\[(\w+)(?=[:\]])")
_OFFSET: Final = re.compile(r"offset (\w+)")
_JOINED: Final = re.compile(r"( *)(and|unless|or)( on \(.*\))?")

FLIPPED: Final = {">": "<", "<": ">", ">=": "<", "<=": ">", "==": "!=", "!=": "==", "=": "!=", "=~": "!~", "!~": "=~"}


class Mutant(NamedTuple):
    """A damaged rule, and what was done to it."""

    what: str
    rule: Rule


def mutants(rule: Rule) -> list[Mutant]:
    """Every damage to *rule* that is known here, each by itself."""
    expr = rule["expr"]
    found = [Mutant(f"{name} removed", _without(rule, name)) for name in ("for", "keep_firing_for") if name in rule]
    return found + [Mutant(what, {**rule, "expr": text}) for what, text in _damaged(expr) if text != expr]


def _without(rule: Rule, name: str) -> Rule:
    return {key: value for key, value in rule.items() if key != name}


def _damaged(expr: str) -> Iterator[tuple[str, str]]:
    for found in _METRIC.finditer(expr):
        yield f"metric {found[0]} renamed", _put(expr, found.span(), f"{found[0]}_x")
    for found in _LISTED.finditer(expr):
        for label in re.finditer(r"\w+", found[1]):
            start = found.start(1)
            span = (start + label.start(), start + label.end())
            yield f"label {label[0]} renamed in {found[0]}", _put(expr, span, f"{label[0]}_x")
    for found in _MATCHED.finditer(expr):
        yield f"label {found[1]} renamed in a matcher", _put(expr, found.span(1), f"{found[1]}_x")
        yield f"matcher of {found[1]} flipped", _put(expr, found.span(2), FLIPPED[found[2]])
    for found in _COMPARED.finditer(expr):
        group = 1 if found[1] else 2
        yield f"comparison {found[group]} flipped", _put(expr, found.span(group), FLIPPED[found[group]])
    for found in _LIMIT.finditer(expr):
        group = 1 if found[1] else 2
        value = float(found[group])
        for changed in (value * 10, value / 10) if value else (10.0,):
            yield f"threshold {found[group]} changed to {changed:g}", _put(expr, found.span(group), f"{changed:g}")
    yield from _windows(expr)
    yield from _dropped(expr)


def _windows(expr: str) -> Iterator[tuple[str, str]]:
    for found in _RANGE.finditer(expr):
        length = seconds(found[1])
        for other in (length * 10, length // 10):
            yield f"window {found[1]} changed to {duration(other)}", _put(expr, found.span(1), duration(other))
    for found in _OFFSET.finditer(expr):
        later = duration(seconds(found[1]) * 10)
        yield f"offset {found[1]} changed to {later}", _put(expr, found.span(1), later)


def _dropped(expr: str) -> Iterator[tuple[str, str]]:
    """Each operand of a set operator left out; the layout tells where it starts and ends."""
    lines = expr.split("\n")
    for at, line in enumerate(lines):
        if joined := _JOINED.fullmatch(line):
            deep = len(joined[1])
            end = next((i for i in range(at + 1, len(lines)) if _ends(lines[i], deep)), len(lines))
            yield f"arm dropped after {line.strip()}", "\n".join(lines[:at] + lines[end:])
            if joined[2] == "or":
                start = next((i for i in range(at - 1, -1, -1) if _ends(lines[i], deep)), -1) + 1
                yield "arm dropped before or", "\n".join(lines[:start] + lines[at + 1 :])


def _ends(line: str, deep: int) -> bool:
    """Whether a line is no part of an operand that stands *deep*."""
    depth = len(line) - len(line.lstrip())
    return depth < deep or (depth == deep and (bool(_JOINED.fullmatch(line)) or line.lstrip().startswith(",")))


def _put(text: str, span: tuple[int, int], new: str) -> str:
    return text[: span[0]] + new + text[span[1] :]
