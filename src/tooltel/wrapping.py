"""What `tel.tool` and `tel.alias` decide: which tool a callable is, whether that is allowed, and what it is called."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from types import MethodType
from typing import Any, Final, TypedDict

from tooltel.call import Binding, Services
from tooltel.catalog import Catalog, Tool, find_tool_problems
from tooltel.errors import Level, Problem, UnknownToolError
from tooltel.wrap import wrap

_MARK: Final = "__tooltel__"  # on a shell: its binding


class ToolFields(TypedDict, total=False):
    """What may be declared where a tool is wrapped; see `tooltel.catalog.Tool`."""

    name: str
    owner: str
    version: str | int
    risk: str
    profiles: Iterable[str]
    description: str
    aliases: Iterable[str]
    retired: Iterable[str]
    objective: float
    latency_bound: float
    repeatable: bool
    result_shape: bool


def refuse_class(fn: object) -> None:
    """Raise TypeError for what cannot be wrapped without changing what it is."""
    if inspect.isclass(fn) or not callable(fn):
        what = f"the class {fn.__name__}" if inspect.isclass(fn) else f"{type(fn).__name__} object"
        raise TypeError(f"tel.tool wraps functions, methods and callable objects, not {what}; wrap the method it calls")


def is_wrapped(fn: Callable[..., Any], services: Services, name: str | None) -> bool:
    """Whether *services* are told of calls of *fn* already, as the tool *name*, by a shell around or in it."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    binding = getattr(fn, _MARK, None)
    return isinstance(binding, Binding) and binding.services is services and name in (None, binding.tool.name)


def binding_of(target: Callable[..., Any]) -> Binding:
    """The binding of a wrapped tool; raises TypeError for anything else."""
    binding = getattr(target, _MARK, None)
    if not isinstance(binding, Binding):
        raise TypeError(f"{getattr(target, '__name__', target)!r} is not wrapped: use tel.tool on it before tel.alias")
    return binding


def unwrapped(target: Callable[..., Any]) -> Callable[..., Any]:
    """The callable inside the shell, bound to what the shell is bound to."""
    fn = binding_of(target).fn
    assert fn is not None  # noqa: S101 - a shell has always wrapped something
    return MethodType(fn, target.__self__) if inspect.ismethod(target) else fn


def shell(fn: Callable[..., Any], binding: Binding) -> Callable[..., Any]:
    """*fn* in its shell, marked so that it is not wrapped twice."""
    made = wrap(fn, binding)
    setattr(made, _MARK, binding)
    return made


def resolve(catalog: Catalog, fn: Callable[..., Any], declared: ToolFields) -> tuple[Tool, Catalog, list[Problem]]:
    """
    The tool that *fn* is, the catalog that holds it, and what is wrong.

    Raises UnknownToolError when neither the catalog nor *declared* says who owns it.
    """
    fields: dict[str, Any] = dict(declared)
    name = fields.pop("name", None) or _name_of(fn)
    known = catalog.tools.get(name)
    if known is not None:
        problems = _contradictions(known, fields, fn)
    elif "owner" in fields:
        known = Tool(name, **fields)
        catalog = catalog.with_tool(known)
        problems = [_placed(problem, fn) for problem in find_tool_problems(catalog, known)]
    else:
        raise UnknownToolError(name, nearest=catalog.nearest(name), where=place_of(fn))
    return known, catalog, problems + _description_problems(catalog, known, fn)


def _contradictions(known: Tool, fields: Mapping[str, Any], fn: Callable[..., Any]) -> list[Problem]:
    if not fields:
        return []
    said = replace(known, **fields)
    return [
        _placed(
            Problem(
                "contradiction",
                f"tools.{known.name}.{key}",
                f"declared here as {getattr(said, key)!r}, and in the catalog as {getattr(known, key)!r}",
                "say it in one place",
            ),
            fn,
        )
        for key in fields
        if getattr(said, key) != getattr(known, key)
    ]


def _description_problems(catalog: Catalog, tool: Tool, fn: Callable[..., Any]) -> list[Problem]:
    # What the catalog describes was judged with the catalog; only the docstring is known here first.
    level = catalog.house.level("description")
    minimum = catalog.house.description_min_chars
    if tool.description is not None or level is Level.OFF:
        return []
    text = inspect.getdoc(fn) or ""
    if len(text) >= minimum:
        return []
    what = f"the docstring has {len(text)} characters" if text else "has neither a description nor a docstring"
    fix = f"describe it for the model in {minimum} characters or more"
    return [_placed(Problem("description", f"tools.{tool.name}.description", what, fix, level=level, house=True), fn)]


def unknown_alias(name: str, tool: Tool, *, place: str) -> Problem:
    """The problem of an alias that the catalog does not list."""
    what = f"{place} uses the alias {name!r}, which is not listed"
    fix = f"write aliases = {json.dumps([*tool.aliases, name])}"
    return Problem("unknown_alias", f"tools.{tool.name}.aliases", what, fix)


def left_out(bindings: Iterable[Binding], catalog: Catalog, inline: Mapping[str, Tool]) -> list[Problem]:
    """What a new catalog lacks that running code has wrapped."""
    problems = []
    for binding in tuple(bindings):
        name = binding.tool.name
        tool = catalog.tools.get(name) or inline.get(name)
        if tool is None:
            fix = f"keep [tools.{name}] until no running process wraps it"
            problems.append(Problem("wrapped_tool_missing", f"tools.{name}", "is wrapped in this process", fix))
        elif binding.alias is not None and binding.alias not in tool.aliases:
            problems.append(unknown_alias(binding.alias, tool, place="this process"))
    return problems


def parameter_names(binding: Binding) -> frozenset[str]:
    """The arguments that a wrapped callable takes by name: what a rejected field may be called."""
    if binding.signature is None:
        return frozenset()
    names = [
        parameter.name
        for parameter in binding.signature.parameters.values()
        if parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
    ]
    return frozenset(names[1:] if binding.skip_first else names)


def _name_of(fn: Callable[..., Any]) -> str:
    while isinstance(fn, functools.partial):
        fn = fn.func
    return str(getattr(fn, "__name__", type(fn).__name__))


def place_of(fn: Callable[..., Any]) -> str:
    """Where *fn* is defined, as `file:line`, or its name."""
    file, line = _place(fn)
    return f"{file}:{line}" if file else _name_of(fn)


def _place(fn: Callable[..., Any]) -> tuple[str | None, int | None]:
    while isinstance(fn, functools.partial):
        fn = fn.func
    try:
        inner = inspect.unwrap(fn)
    except ValueError:  # a stub that answers to every name unwraps without end
        inner = fn
    if not inspect.isroutine(inner):
        inner = type(inner).__call__
    code = getattr(inner, "__code__", None)
    return (code.co_filename, code.co_firstlineno) if code is not None else (None, None)


def _placed(problem: Problem, fn: Callable[..., Any]) -> Problem:
    file, line = _place(fn)
    return replace(problem, file=file, line=line)
