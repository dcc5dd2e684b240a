"""A home-made loop around messages of Anthropic's shape: what the model asks for is judged before anything runs."""

from __future__ import annotations

from typing import Any

from desk import CATALOG, DESCRIPTION, SCHEMA, answer, order_lookup

import tooltel

DECLARATIONS = [{"name": "order_lookup", "description": DESCRIPTION, "input_schema": SCHEMA}]
# What a model answered, scripted: arguments are data here.
MESSAGE: dict[str, Any] = {
    "role": "assistant",
    "content": [
        {"type": "text", "text": "Let me look."},
        {"type": "tool_use", "id": "1", "name": "order_lookup", "input": {"order_id": "o-1"}},
        {"type": "tool_use", "id": "2", "name": "order_find", "input": {"order_id": "o-1"}},
        {"type": "tool_use", "id": "3", "name": "order_lookup", "input": {"limit": "ten"}},
    ],
}


def run(tel: tooltel.Tooltel) -> list[dict[str, object]]:
    """Play one turn; give the content blocks that go back to the model."""
    tools = {"order_lookup": tel.tool(order_lookup)}
    tel.offered(DECLARATIONS)
    replies = []
    for block in MESSAGE["content"]:
        if block["type"] == "tool_use":
            requested = tel.requested(block["name"], block["input"], call_id=block["id"])
            reply = {"type": "tool_result", "tool_use_id": block["id"], "content": answer(requested, tools)}
            replies.append({**reply, "is_error": not requested.is_good})
    return replies


if __name__ == "__main__":
    tel = tooltel.configure(CATALOG)
    with tel.session(profile="support", id="s-1"):
        for reply in run(tel):
            print(reply)
