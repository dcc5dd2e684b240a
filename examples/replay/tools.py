"""
The catalog of the eight APIs: an owner each, and the risk of every method, judged by what the method does.

- `read`: tells or computes something. Moving the session's own position (`cd`) counts too: nothing is kept of it.
- `write`: changes something that another tool of the same API, or the same one called again, can change back.
- `irreversible`: no tool can take it back: money is moved, somebody else has seen it, or what was there is gone.

The names are the real ones (`ls`, `startEngine`), so the house rule for names is off.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from examples.replay.conversations import APIS, Conversation, load_class, load_declarations, version
from tooltel import Catalog, HouseRules, Owner, Profile, Tool
from tooltel.errors import Level
from tooltel.signals import Risk

PLATFORM: Final = "platform"
AGENT: Final = "assistant"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgment:
    """Who owns an API, and how risky each of its methods is; names are separated by spaces."""

    owner: str
    read: str = ""
    write: str = ""
    irreversible: str = ""

    def risks(self) -> Iterator[tuple[str, Risk]]:
        """Every judged method with its risk."""
        for risk in Risk:
            for name in getattr(self, risk.value).split():
                yield name, risk


JUDGMENTS: Final[Mapping[str, Judgment]] = {
    "GorillaFileSystem": Judgment(
        owner="files",
        read="cat cd diff du find grep ls pwd sort tail wc",  # sort gives sorted lines, and leaves the file alone
        write="cp mkdir mv rmdir touch",  # none of them overwrites; rmdir wants an empty directory
        irreversible="echo rm",  # echo replaces what a file held
    ),
    "MathAPI": Judgment(
        owner="math",
        read="absolute_value add divide imperial_si_conversion logarithm max_value mean min_value multiply "
        "percentage power round_number si_unit_conversion square_root standard_deviation subtract sum_values",
    ),
    "MessageAPI": Judgment(
        owner="messaging",
        read="get_message_stats get_user_id list_users message_get_login_status search_messages view_messages_sent",
        write="add_contact message_login",
        irreversible="delete_message send_message",  # a sent message may have been read, a deleted one is gone
    ),
    "TicketAPI": Judgment(
        owner="support",
        read="get_ticket get_user_tickets ticket_get_login_status",
        # edit_ticket can set any status again
        write="close_ticket create_ticket edit_ticket logout resolve_ticket ticket_login",
    ),
    "TradingBot": Judgment(
        owner="trading",
        read="filter_stocks_by_price get_account_info get_available_stocks get_current_time get_order_details "
        "get_order_history get_stock_info get_symbol_by_name get_transaction_history get_watchlist "
        "notify_price_change trading_get_login_status",  # notify_price_change only tells its caller
        write="add_to_watchlist remove_stock_from_watchlist trading_login trading_logout",
        # an order may be filled at once, and a canceled one has lost its place; the other two move money
        irreversible="cancel_order fund_account place_order withdraw_funds",
    ),
    "TravelAPI": Judgment(
        owner="travel",
        read="compute_exchange_rate get_all_credit_cards get_booking_history get_budget_fiscal_year "
        "get_credit_card_balance get_flight_cost get_nearest_airport_by_city list_all_airports retrieve_invoice "
        "travel_get_login_status verify_traveler_information",
        write="authenticate_travel register_credit_card set_budget_limit",
        # a booking charges a card and cancel_booking deletes its record; a person reads what support is told
        irreversible="book_flight cancel_booking contact_customer_support purchase_insurance",
    ),
    "TwitterAPI": Judgment(
        owner="social",
        read="get_tweet get_tweet_comments get_user_stats get_user_tweets list_all_following "
        "posting_get_login_status search_tweets",
        write="authenticate_twitter follow_user unfollow_user",
        irreversible="comment mention post_tweet retweet",  # public, and no tool deletes
    ),
    "VehicleControlAPI": Judgment(
        owner="vehicle",
        read="check_tire_pressure displayCarStatus display_log estimate_distance "
        "estimate_drive_feasibility_by_mileage find_nearest_tire_shop gallon_to_liter get_current_speed "
        "get_outside_temperature_from_google get_outside_temperature_from_weather_com get_zipcode_based_on_city "
        "liter_to_gallon",
        write="activateParkingBrake adjustClimateControl lockDoors pressBrakePedal releaseBrakePedal "
        "setCruiseControl setHeadlights set_navigation startEngine",
        irreversible="fillFuelTank",  # paid for, and no tool takes fuel out
    ),
}


def methods(api: str) -> dict[str, Any]:
    """The public methods of *api*, by name: its tools."""
    found = inspect.getmembers(load_class(api), inspect.isfunction)
    return {name: method for name, method in found if not name.startswith("_")}


def profile_of(conversation: Conversation) -> str:
    """The profile of agents that see the APIs of *conversation*: their owners' names, joined."""
    return "_".join(sorted(JUDGMENTS[api].owner for api in conversation.apis))


def declarations_of(conversation: Conversation) -> list[dict[str, Any]]:
    """What a model is really sent in *conversation*: the declarations of its APIs, less the excluded ones."""
    return [
        declaration
        for api in conversation.apis
        for declaration in load_declarations(api)
        if declaration["name"] not in conversation.excluded
    ]


def make_catalog(conversations: Iterable[Conversation]) -> Catalog:
    """The catalog of all eight APIs, with a profile for each set of them that *conversations* use."""
    sets: dict[str, tuple[str, ...]] = {}
    for conversation in conversations:
        sets.setdefault(profile_of(conversation), conversation.apis)
    return Catalog(
        tools=[tool for api in APIS for tool in _tools(api, sets)],
        owners=[Owner(name, page=_receiver(name)) for name in (PLATFORM, *_owners())],
        profiles=[Profile(name, PLATFORM) for name in sets],
        platform_owner=PLATFORM,
        house=HouseRules(levels={"name_pattern": Level.OFF}),
        source="examples/replay",
    )


def _tools(api: str, sets: Mapping[str, tuple[str, ...]]) -> Iterator[Tool]:
    risks = dict(JUDGMENTS[api].risks())
    described = {declaration["name"]: declaration["description"] for declaration in load_declarations(api)}
    if not set(methods(api)) == set(risks) == set(described):
        unclear = sorted(set(methods(api)) ^ set(risks) | set(risks) ^ set(described))
        raise ValueError(f"{api}: methods, judgments and declarations differ in {', '.join(unclear)}")
    profiles = tuple(name for name, apis in sets.items() if api in apis)
    for name, risk in risks.items():
        yield Tool(
            name, JUDGMENTS[api].owner, risk=risk, version=version(), profiles=profiles, description=described[name]
        )


def _owners() -> Iterator[str]:
    return (judgment.owner for judgment in JUDGMENTS.values())


def _receiver(owner: str) -> Mapping[str, Any]:
    return {"webhook_configs": [{"url_file": f"/etc/alertmanager/secrets/{owner}"}]}
