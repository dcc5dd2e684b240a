"""The hotel's tools as both MCP SDKs take them; no framework is needed for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, get_type_hints

from tests.integrations import hotel

if TYPE_CHECKING:
    from tooltel import Tooltel


class Hotel(hotel.Hotel):
    """The hotel's tools; *tool_error* is what a framework has for refusals."""

    def __init__(self, tool_error: type[Exception] = ValueError) -> None:
        super().__init__()
        self.tool_error = tool_error

    def book_table(self, size: int, how: str = "fine") -> dict[str, Any]:
        """Book a table in the restaurant, for some people."""
        self._note("book_table", size, how)
        if how == "say":
            raise self.tool_error(f"{size} is too many")
        return hotel.table(size, how)

    def tools(self, tel: Tooltel | None = None) -> dict[str, Callable[..., Any]]:
        """By name, wrapped by *tel* when it is given; one is there under its old name too."""
        functions = {function.__name__: function for function in self.functions()}
        if tel is None:
            return {**functions, "search_rooms": self.find_rooms}
        wrapped = {name: tel.tool(function) for name, function in functions.items()}
        return {**wrapped, "search_rooms": tel.alias("search_rooms", wrapped["find_rooms"])}


for function in (getattr(Hotel, name) for name in hotel.NAMES):  # as mcp 1.10 looks for types in a decorator's module
    function.__annotations__ = get_type_hints(function)
