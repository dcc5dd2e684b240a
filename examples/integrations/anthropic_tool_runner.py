"""
anthropic's tool runner with tooltel: made by `TooltelRunners`, it records every call, and every name that is no tool.

No network and no key: a scripted API asks for a tool, then for one that it made up, then for one with odd arguments.
Run it: `pip install ".[anthropic]"`, then `python examples/integrations/anthropic_tool_runner.py`.
"""

from __future__ import annotations

import json
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from anthropic import Anthropic, beta_tool
from prometheus_client import CollectorRegistry

from tooltel import Catalog, Owner, Profile, Tool, Tooltel
from tooltel.integrations.anthropic import TooltelRunners

httpx = import_module("httpx2" if find_spec("httpx2") else "httpx")  # whichever the SDK itself uses

CATALOG = Catalog(
    owners=[Owner("orders"), Owner("support-platform")],
    profiles=[Profile("support", "support-platform")],
    tools=[
        Tool(
            "order_lookup",
            "orders",
            profiles=["support"],
            description="Look up one order: what was bought, and where it is now.",
        ),
    ],
)

ASKED = iter(
    [
        ("order_lookup", {"order_id": "o-1"}),
        ("order_teleport", {}),  # no such tool
        ("order_lookup", {"order": "o-2"}),  # arguments that do not fit
    ]
)


@beta_tool
def order_lookup(order_id: str) -> str:
    """Look up one order: what was bought, and where it is now."""
    return json.dumps({"order": order_id, "where": "on its way"})


def scripted(_: Any) -> Any:
    """Answer a request as the API would: with the next call, and with words at the end."""
    name, arguments = next(ASKED, ("", {}))
    words = {"type": "text", "text": "Your order is on its way."}
    call = {"type": "tool_use", "id": f"call-{name}", "name": name, "input": arguments}
    message = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "scripted",
        "content": [call if name else words], "stop_reason": "tool_use" if name else "end_turn",
        "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1},
    }  # fmt: skip
    return httpx.Response(200, json=message)


def main() -> None:
    """Let a runner work once, and show what was counted."""
    client = Anthropic(api_key="none", http_client=httpx.Client(transport=httpx.MockTransport(scripted)))
    with Tooltel(CATALOG, registry=CollectorRegistry()) as tel:
        runners = TooltelRunners(tel, profile="support", agent="support_agent")
        runner = runners.tool_runner(
            client,
            conversation_id="s-42",
            model="scripted",
            max_tokens=100,
            tools=[order_lookup],
            messages=[{"role": "user", "content": "Where is my order?"}],
        )
        print(runner.until_done().content[0].text)
        for family in tel.view.collect():
            for sample in family.samples:
                if sample.value and sample.name.endswith(("calls_total", "not_found_total", "rejections_total")):
                    print(f"{sample.name} {sample.labels} {sample.value:g}")


if __name__ == "__main__":
    main()
