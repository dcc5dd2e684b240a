"""The page shows notices by owner, and nothing that somebody wrote into one can act on it."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from types import MappingProxyType
from typing import Any

import pytest

from tooltel.demo.duty import Notice
from tooltel.demo.duty.page import POLICY, page_of
from tooltel.demo.hostile import HOSTILE

ATTACKS = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</section></body><h1>fine</h1>",
    "' onmouseover='alert(1)",
    "</style><script>alert(1)</script>",
    "{{ $labels.tool }}",
    *(name for name, _ in HOSTILE if isinstance(name, str)),
)
OURS = {
    "html", "head", "meta", "title", "style", "body", "header", "h1", "h2", "p", "section", "article", "div", "span",
    "strong", "time", "code", "small", "a",
}  # fmt: skip


def notice(**facts: Any) -> Notice:
    known = {
        "receiver": "orders-page", "alert": "Burn", "owner": "orders", "severity": "page", "is_firing": True,
        "summary": "", "description": "", "labels": MappingProxyType({}), "dashboard": "", "runbook": "", "since": "",
        "at": 100.0,
    }  # fmt: skip
    return Notice(**{**known, **facts})


class Reading(HTMLParser):
    """The elements and the text of a page, as a browser has them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize("text", ATTACKS)
def test_hostile_text_in_any_place_is_text_and_makes_no_element(text: str) -> None:
    facts = dict.fromkeys(("receiver", "alert", "owner", "severity", "summary", "description", "since"), text)
    hostile = notice(
        **facts, labels=MappingProxyType({text: text}), dashboard=f"http://x/{text}", runbook="http://x/?" + text
    )
    read, plain = (
        Reading(page_of([hostile], 100)),
        Reading(page_of([notice(since="t", dashboard="d", runbook="r")], 100)),
    )
    assert {tag for tag, _ in read.elements} <= OURS
    assert len(read.elements) == len(plain.elements) + 1  # the label's own
    assert text.strip() in read.text
    for _, attributes in read.elements:
        assert not [key for key in attributes if key.startswith("on")]


def test_links_keep_their_address_and_give_nothing_away() -> None:
    address = 'http://127.0.0.1:3000/d/x?a=1&b="2"'
    read = Reading(page_of([notice(dashboard=address)], 100))
    (link,) = [attributes for tag, attributes in read.elements if tag == "a"]
    assert link == {"href": address, "rel": "noreferrer noopener"}


def test_the_policy_lets_only_the_pages_own_style_in() -> None:
    assert POLICY.startswith("default-src 'none'; style-src 'sha256-")
    assert "script" not in POLICY
    assert "unsafe" not in POLICY
    assert "style=" not in page_of([notice()], 100)


def test_notices_stand_under_their_owner_who_is_paged_now_first() -> None:
    calm = notice(owner="alpha", severity="ticket")
    over = notice(owner="beta", is_firing=False)
    page = page_of([calm, over, notice(owner="zeta")], 100)
    assert re.findall(r"<h2>(\w+)", page) == ["zeta", "alpha", "beta"]
    assert "1 firing, 0 over" in page
    assert "0 firing, 1 over" in page
    assert "<title>(1) Who was told" in page


def test_a_page_stands_before_an_owners_tickets_however_late_they_come() -> None:
    page = page_of([notice(alert="Later", severity="ticket"), notice(alert="Paged")], 100)
    assert page.index("Paged") < page.index("Later")


def test_what_is_over_is_told_apart_from_what_fires() -> None:
    page = page_of([notice(alert="Ended", is_firing=False), notice(alert="Burning")], 100)
    assert page.index("Burning") < page.index("Ended")
    assert "page, over" in page


def test_the_dead_mans_switch_is_a_line_of_its_own_and_nobodys_notice() -> None:
    page = page_of([notice(receiver="watchdog", alert="TooltelWatchdog", at=70)], 100)
    assert "was last heard 30 s ago" in page
    assert "TooltelWatchdog" not in page
    assert "Nobody has been told" in page
    assert "was heard yet: where it goes is the catalog's [render] deadman" in page_of([], 100)


@pytest.mark.parametrize(("age", "said"), [(0, "0 s ago"), (119, "119 s ago"), (120, "2 min ago"), (7200, "2 h ago")])
def test_ages_are_said_shortly(age: int, said: str) -> None:
    assert said in page_of([notice()], 100 + age)


def test_an_alert_of_nobody_stands_under_nobody() -> None:
    assert "<h2>nobody" in page_of([notice(owner="")], 100)
