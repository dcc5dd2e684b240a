"""Nothing that the documentation points to is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.pages import LINKED, ROOT, read_anchors, read_links


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", LINKED, ids=name_of)
def test_every_relative_link_leads_to_a_file_and_every_anchor_to_a_heading(page: Path) -> None:
    broken = []
    for link in read_links(page):
        if "://" in link or link.startswith("mailto:"):
            continue
        target, _, anchor = link.partition("#")
        path = (page.parent / target).resolve() if target else page
        is_there = path.exists() and path.is_relative_to(ROOT)
        if not is_there or (anchor and anchor not in read_anchors(path)):
            broken.append(link)
    assert broken == []


def test_every_page_of_the_documentation_is_reached_from_the_readme() -> None:
    reached = {ROOT / "README.md"}
    waiting = [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        targets = [link.partition("#")[0] for link in read_links(page) if "://" not in link]
        for path in {(page.parent / target).resolve() for target in targets if target.endswith(".md")} - reached:
            reached.add(path)
            waiting.append(path)
    assert [name_of(page) for page in LINKED if page not in reached] == []
