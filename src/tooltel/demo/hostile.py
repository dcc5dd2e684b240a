"""Tool names of the kinds that models really ask for, and worse ones: input that must do no harm anywhere."""

from __future__ import annotations

from typing import Final

from tooltel.signals import Reason

FORGED: Final = 'order_lookup\n{"event": "tool_call", "gen_ai.tool.name": "forged", "tool.outcome": "ok"}\n'

HOSTILE: Final[tuple[tuple[object, Reason], ...]] = (
    ("", Reason.EMPTY),
    ("   ", Reason.EMPTY),
    (None, Reason.EMPTY),
    ("x" * 3000, Reason.UNKNOWN),
    (FORGED, Reason.UNKNOWN),  # newlines that forge log records
    ("functions.order_lookup", Reason.UNKNOWN),  # the namespace of a prompt format
    ("order_lookup<|channel|>commentary", Reason.UNKNOWN),  # a special token that leaked
    ("order\x00lookup", Reason.UNKNOWN),
    ("order_\ud800lookup", Reason.UNKNOWN),  # a lone surrogate is no UTF-8
    ("\x1b[2J\x1b[31morder_lookup", Reason.UNKNOWN),  # clears a terminal and turns it red
    ("order_lookup\u202epukool", Reason.UNKNOWN),  # turns the rest of a line around
    ('order_lookup"} 1\ntooltel_tool_calls_total{tool="forged"} 99', Reason.UNKNOWN),  # forges a series
    ("{{ $labels.tool }}", Reason.UNKNOWN),  # a template where alerts are rendered
    ("ORDER_LOOKUP", Reason.UNKNOWN),
    ("order-lookup", Reason.UNKNOWN),
    ("order_lookup ", Reason.UNKNOWN),
    ("Ordernummer nachschlagen 🔎", Reason.UNKNOWN),
)
