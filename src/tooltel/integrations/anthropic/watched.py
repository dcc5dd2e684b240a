"""
Runners that tell what they give.

A runner is made by a client, so its class is taken over afterwards: by a subclass of it that overrides the public ways
in, `next` and `for` (which `until_done` goes by), and tools that come and go. Nothing stands between the runner and its
tools, so the warnings that it gives still point where they did.
"""

from __future__ import annotations

import functools
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    Methods = dict[str, Callable[..., Any]]


@functools.lru_cache(maxsize=64)
def watched(kind: type[Any]) -> type[Any]:
    """The class of runners that are of class *kind*, and tell their Run what they give."""
    methods = _asynchronous(kind) if hasattr(kind, "__anext__") else _synchronous(kind)
    if hasattr(kind, "add_tools"):  # since 1.10
        methods.update(_changing(kind))
    names: dict[str, Any] = {"__module__": kind.__module__, "__qualname__": kind.__qualname__, "__doc__": kind.__doc__}
    # With another base beside it, the layout would differ, and an object could not change its class.
    return types.new_class(kind.__name__, (kind,), exec_body=lambda body: body.update(names | methods))


def _synchronous(kind: type[Any]) -> Methods:
    def give_next(self: Any) -> Any:
        try:
            item = kind.__next__(self)
        finally:
            self.tooltel.went_on()
        self.tooltel.got(item)
        return item

    def give_all(self: Any) -> Iterator[Any]:
        while True:
            try:
                item = give_next(self)
            except StopIteration:
                return
            yield item

    return {"__next__": give_next, "__iter__": give_all}


def _asynchronous(kind: type[Any]) -> Methods:
    async def give_next(self: Any) -> Any:
        try:
            item = await kind.__anext__(self)
        finally:
            self.tooltel.went_on()
        self.tooltel.got(item)
        return item

    async def give_all(self: Any) -> AsyncIterator[Any]:
        while True:
            try:
                item = await give_next(self)
            except StopAsyncIteration:
                return
            yield item

    return {"__anext__": give_next, "__aiter__": give_all}


def _changing(kind: type[Any]) -> Methods:
    def add_tools(self: Any, *tools: Any) -> None:
        kind.add_tools(self, *self.tooltel.watched(tools))
        for tool in tools:
            self.tooltel.know(tool)

    def remove_tools(self: Any, *tools: Any) -> None:
        kind.remove_tools(self, *tools)
        for tool in tools:
            self.tooltel.forget(tool)

    return {"add_tools": add_tools, "remove_tools": remove_tools}
