from __future__ import annotations

from dataclasses import FrozenInstanceError, replace
from time import thread_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tooltel.catalog import Alias, Catalog, HouseRules, McpServer, Owner, Profile, Signature, Source, Tool
from tooltel.catalog.nearest import Nearest
from tooltel.catalog.paths import key_path, shown
from tooltel.signals import NAME_LIMIT, Reason

DESK = Catalog(
    tools=[
        Tool("order_lookup", "orders", profiles=("support",), aliases=("get_order",), retired=("order_find",)),
        Tool("payout_release", "payments", risk="irreversible", profiles=("back_office",)),
    ],
    owners=[Owner("orders"), Owner("payments"), Owner("platform")],
    profiles=[Profile("support", "orders"), Profile("back_office", "payments")],
    platform_owner="platform",
)

HOSTILE = [
    "x" * 3_000,
    "order\nlookup",
    "\n2026-11-30 ERROR forged record",
    "order\0lookup",
    "\ud800",
    "a\udfffb",
    "\x1b[2J\x1b[31mowned",
    "functions.<|channel|>commentary",
    "\u202eredro",
    "🦊" * 300,
]


@pytest.mark.parametrize(
    ("requested", "profile", "reason", "owner", "nearest"),
    [
        ("order_lookup", "back_office", Reason.NOT_IN_PROFILE, "orders", None),
        ("payout_release", None, Reason.NOT_IN_PROFILE, "payments", None),
        ("get_order", "support", Reason.RENAMED, "orders", "order_lookup"),
        ("order_find", "back_office", Reason.RENAMED, "orders", "order_lookup"),
        ("order_lookupp", "support", Reason.UNKNOWN, "orders", "order_lookup"),
        ("functions.order_lookup", "back_office", Reason.UNKNOWN, "payments", "order_lookup"),
        ("order_lookup<|channel|>json", "support", Reason.UNKNOWN, "orders", "order_lookup"),
        ("ORDER_LOOKUP", "support", Reason.UNKNOWN, "orders", "order_lookup"),
        ("get_orders", "support", Reason.UNKNOWN, "orders", "order_lookup"),
        ("weather", "support", Reason.UNKNOWN, "orders", None),
        ("weather", "nobody_knows", Reason.UNKNOWN, "platform", None),
        ("weather", None, Reason.UNKNOWN, "platform", None),
        ("", "support", Reason.EMPTY, "orders", None),
        (" \t\n", None, Reason.EMPTY, "platform", None),
        (None, "support", Reason.EMPTY, "orders", None),
        (5, "support", Reason.UNKNOWN, "orders", None),
    ],
)
def test_a_call_that_reached_no_tool_is_explained(
    requested: object, profile: str | None, reason: Reason, owner: str, nearest: str | None
) -> None:
    missing = DESK.explain(requested, profile)
    assert (missing.reason, missing.owner, missing.nearest) == (reason, owner, nearest)
    assert missing.known == (reason in (Reason.RENAMED, Reason.NOT_IN_PROFILE))


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_is_unknown_and_comes_back_clean(name: str) -> None:
    missing = DESK.explain(name, "support")
    assert (missing.reason, missing.known, missing.owner) == (Reason.UNKNOWN, False, "orders")
    assert missing.requested.isprintable()
    assert len(missing.requested) <= NAME_LIMIT
    missing.requested.encode("utf-8")


@given(st.text() | st.binary() | st.integers() | st.none() | st.lists(st.text()))
def test_whatever_a_model_asks_for_gets_an_explanation(requested: object) -> None:
    missing = DESK.explain(requested, "support")
    assert missing.requested.isprintable()
    assert missing.nearest is None or missing.nearest in DESK.tools


def test_an_object_whose_text_raises_gets_an_explanation() -> None:
    class Hostile:
        def __str__(self) -> str:
            raise RuntimeError

    assert DESK.explain(Hostile(), None).reason is Reason.UNKNOWN


def test_a_catalog_without_a_platform_owner_leaves_a_made_up_call_unowned() -> None:
    assert Catalog().explain("weather", None).owner == "unowned"


def test_labels_of_profiles_are_bounded() -> None:
    assert DESK.profile_label("support") == "support"
    assert DESK.profile_label(None) == "none"
    assert DESK.profile_label("made up") == "other"


def test_collections_are_given_as_iterables_or_mappings_and_kept_by_name() -> None:
    tool = Tool("order_lookup", "orders")
    assert Catalog(tools=(each for each in [tool])) == Catalog(tools={"order_lookup": tool})
    assert Catalog(tools={"another key": tool}).tools == {"order_lookup": tool}


def test_what_lost_to_a_later_one_of_the_same_name_is_kept_as_a_duplicate() -> None:
    first, second = Tool("order_lookup", "orders"), Tool("order_lookup", "payments")
    catalog = Catalog(tools=[first, second])
    assert catalog.tools == {"order_lookup": second}
    assert catalog.duplicates == (first,)
    assert catalog.with_tool(Tool("order_find", "orders")).duplicates == (first,)


def test_a_catalog_is_immutable() -> None:
    tools: Any = DESK.tools
    with pytest.raises(TypeError):
        tools["x"] = Tool("x", "y")
    with pytest.raises(FrozenInstanceError):
        DESK.source = "x"  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        DESK.tools["order_lookup"].owner = "x"  # type: ignore[misc]


def test_aliases_and_retired_names_lead_to_their_tool() -> None:
    assert DESK.aliases == {"get_order": Alias("get_order", "order_lookup", "orders")}
    assert DESK.retired == {"order_find": DESK.tools["order_lookup"]}


def test_equal_catalogs_have_equal_fingerprints_wherever_they_come_from() -> None:
    again = replace(DESK, source="elsewhere.toml", tools=dict(reversed(list(DESK.tools.items()))))
    assert again.sha == DESK.sha
    assert len(DESK.sha) == 12


@pytest.mark.parametrize(
    "change",
    [
        {"platform_owner": "orders"},
        {"security_owner": "orders"},
        {"session_retention": 1.0},
        {"render": {"job": "x"}},
        {"house": HouseRules(budget_chars=1)},
        {"owners": [Owner("orders", page={"slack_configs": [{"channel": "#x"}]})]},
        {"profiles": [Profile("support", "orders", 5)]},
        {"mcp": [McpServer("kb", "orders", "1.0")]},
        {"sources": [Source("a", ("x",))]},
        {"signatures": [Signature("not_found", "x")]},
        {"tools": [Tool("order_lookup", "orders", alerts={"ToolErrors": {"severity": "page"}})]},
    ],
)
def test_whatever_a_catalog_says_is_in_its_fingerprint(change: dict[str, Any]) -> None:
    assert replace(DESK, **change).sha != DESK.sha


# --- nearest names -----------------------------------------------------------------------------------------


def test_the_nearest_name_is_the_same_every_time() -> None:
    names = [f"order_{letter}" for letter in "abcdefgh"]
    assert Nearest(names).find("order_x") == Nearest(names).find("order_x") == "order_a"


def test_nothing_is_near_where_nothing_is_alike() -> None:
    assert Nearest(["order_lookup"]).find("zebra") is None
    assert Nearest([]).find("order_lookup") is None
    assert Nearest(["order_lookup"]).find("") is None


def test_finding_a_name_among_ten_thousand_is_bounded_whatever_is_asked_for() -> None:
    """Alike names are the worst case: every one shares every trigram with what is asked for."""
    catalog = Catalog(tools=[Tool(f"order_lookup_{number:05d}", "orders") for number in range(10_000)])
    catalog.nearest("order_lookup")  # builds the index
    start = thread_time()
    assert catalog.nearest("order_lookup_0499") is not None
    for name in HOSTILE:
        catalog.nearest(name)
    catalog.nearest("order_lookup_" * 10_000)
    assert thread_time() - start < 1.0


# --- writing -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parts", "written"),
    [
        (("tools", "refund", "aliases"), "tools.refund.aliases"),
        (("signatures", 0, "pattern"), "signatures[0].pattern"),
        (("tools", "a.b", "owner"), 'tools."a.b".owner'),
        (("tools", "", "owner"), 'tools."".owner'),
        (("tools", "a\nb"), 'tools."a\\nb"'),
        (("tools", "é"), 'tools."é"'),
        ((), ""),
    ],
)
def test_a_path_is_written_as_toml_would(parts: tuple[str | int, ...], written: str) -> None:
    assert key_path(*parts) == written


@given(st.text() | st.integers())
def test_a_value_is_shown_as_one_short_line(value: object) -> None:
    assert shown(value).isprintable()
    assert len(shown(value)) <= 82
