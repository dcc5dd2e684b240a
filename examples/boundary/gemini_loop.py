"""A home-made loop around contents of Gemini's shape: what the model asks for is judged before anything runs."""

from __future__ import annotations

from typing import Any

from desk import CATALOG, DESCRIPTION, SCHEMA, answer, order_lookup

import tooltel

DECLARATIONS = [
    {
        "function_declarations": [
            {"name": "order_lookup", "description": DESCRIPTION, "parameters_json_schema": SCHEMA},
        ]
    }
]
# What a model answered, scripted: parts, without ids.
CONTENT: dict[str, Any] = {
    "role": "model",
    "parts": [
        {"function_call": {"name": "order_lookup", "args": {"order_id": "o-1"}}},
        {"function_call": {"name": "functions.order_lookup", "args": {"order_id": "o-1"}}},
        {"function_call": {"name": "order_lookup", "args": {"order_id": "o-1", "color": "red"}}},
    ],
}


def run(tel: tooltel.Tooltel) -> list[dict[str, object]]:
    """Play one turn; give the parts that go back to the model."""
    tools = {"order_lookup": tel.tool(order_lookup)}
    tel.offered(DECLARATIONS)
    replies: list[dict[str, object]] = []
    for part in CONTENT["parts"]:
        call = part["function_call"]
        requested = tel.requested(call["name"], call["args"])
        response = {"name": call["name"], "response": {"result": answer(requested, tools)}}
        replies.append({"function_response": response})
    return replies


if __name__ == "__main__":
    tel = tooltel.configure(CATALOG)
    with tel.session(profile="support", id="s-1"):
        for reply in run(tel):
            print(reply)
