"""A home-made loop around messages of OpenAI's shape: what the model asks for is judged before anything runs."""

from __future__ import annotations

from typing import Any

from desk import CATALOG, DESCRIPTION, SCHEMA, answer, order_lookup

import tooltel

DECLARATIONS = [
    {"type": "function", "function": {"name": "order_lookup", "description": DESCRIPTION, "parameters": SCHEMA}}
]
# What a model answered, scripted: arguments are JSON text here.
MESSAGE: dict[str, Any] = {
    "role": "assistant",
    "tool_calls": [
        {"id": "1", "type": "function", "function": {"name": "order_lookup", "arguments": '{"order_id": "o-1"}'}},
        {"id": "2", "type": "function", "function": {"name": "order_find", "arguments": '{"order_id": "o-1"}'}},
        {"id": "3", "type": "function", "function": {"name": "order_lookup", "arguments": '{"order_id": 7}'}},
        {"id": "4", "type": "function", "function": {"name": "order_lookup", "arguments": '{"order_id": '}},
    ],
}


def run(tel: tooltel.Tooltel) -> list[dict[str, object]]:
    """Play one turn; give the messages that go back to the model."""
    tools = {"order_lookup": tel.tool(order_lookup)}
    tel.offered(DECLARATIONS)
    replies = []
    for call in MESSAGE["tool_calls"]:
        requested = tel.requested(call["function"]["name"], call["function"]["arguments"], call_id=call["id"])
        replies.append({"role": "tool", "tool_call_id": call["id"], "content": answer(requested, tools)})
    return replies


if __name__ == "__main__":
    tel = tooltel.configure(CATALOG)
    with tel.session(profile="support", id="s-1"):
        for reply in run(tel):
            print(reply)
