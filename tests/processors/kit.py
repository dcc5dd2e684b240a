"""What the tests of the log processors share."""

from __future__ import annotations

from tooltel import Catalog, HouseRules, Profile, Tool
from tooltel.errors import Level

CALLER = "google_adk.google.adk.flows.llm_flows.tools._caller"
CATALOG = Catalog(
    [Tool("order_find", "orders", profiles=["support"]), Tool("order_refund", "payments", profiles=["sales"])],
    profiles=[Profile("support", "desk"), Profile("sales", "desk")],
    house=HouseRules(levels={"description": Level.OFF}),
    open=True,
)
DROPS = "tooltel_tool_not_found_total"


def adk(name: str) -> str:
    return f"Tool '{name}' not found.\nAvailable tools: order_find\n\nPossible causes:\n  1. LLM hallucinated"
