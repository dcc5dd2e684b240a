"""The page: notices by owner, as HTML without a script. Every text of a notice is escaped here, and only here."""

from __future__ import annotations

import base64
import hashlib
from datetime import UTC, datetime
from html import escape
from typing import TYPE_CHECKING, Final

from tooltel.artifacts.defaults import PAGE, TICKET
from tooltel.artifacts.routes.receivers import WATCHDOG

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tooltel.demo.duty.rota import Notice

SECONDS_TO_RELOAD: Final = 5
NOBODY: Final = "nobody"

_STYLE: Final = """
:root { color-scheme: light dark; --line: #8884; --soft: #8882; --page: #d4453b; --ticket: #b26a00; --calm: #777; }
body { font: 15px/1.45 system-ui, sans-serif; margin: 0 auto; padding: 1.5rem; max-width: 70rem; }
h1 { font-size: 1.3rem; margin: 0; }
h2 { font-size: 1.1rem; margin: 2rem 0 .3rem; overflow-wrap: anywhere; }
h2 small, header p, time { color: var(--calm); font-weight: normal; font-size: .9rem; }
header { display: flex; flex-wrap: wrap; gap: .3rem 1.5rem; align-items: baseline; }
header p { margin: 0; }
article { border: 1px solid var(--line); border-left: .35rem solid var(--calm); border-radius: .3rem;
  margin: .5rem 0; padding: .6rem .9rem; overflow-wrap: anywhere; }
article.page { border-left-color: var(--page); }
article.ticket { border-left-color: var(--ticket); }
article.over { border-left-color: var(--line); opacity: .65; }
article p { margin: .3rem 0 0; }
.head { display: flex; flex-wrap: wrap; gap: .2rem .7rem; align-items: baseline; }
.tag { border-radius: .2rem; padding: 0 .4rem; color: #fff; background: var(--calm); font-size: .8rem; }
.page .tag { background: var(--page); }
.ticket .tag { background: var(--ticket); }
.over .tag { background: var(--calm); }
.facts { color: var(--calm); font-size: .85rem; }
code { background: var(--soft); border-radius: .2rem; padding: 0 .25rem; }
"""
_HASH: Final = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()

# Nothing but the one style and links: whatever slipped through the escaping could still load and run nothing.
POLICY: Final = (
    f"default-src 'none'; style-src 'sha256-{_HASH}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def page_of(notices: Sequence[Notice], now: float) -> str:
    """The whole page at Unix time *now*; *notices* come latest first."""
    told = [each for each in notices if each.receiver != WATCHDOG]  # which concerns nobody as long as it is heard
    heard = max((each.at for each in notices if each.receiver == WATCHDOG), default=None)
    sections = "\n".join(_section(owner, told, now) for owner in _owners(told))
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="refresh" content="{SECONDS_TO_RELOAD}">
<title>{_title(told)}</title>
<style>{_STYLE}</style>
</head>
<body>
<header><h1>Who was told</h1><p>{_switch(heard, now)}</p></header>
{sections or "<p>Nobody has been told of anything yet.</p>"}
</body>
</html>
"""


def _owners(notices: Iterable[Notice]) -> list[str]:
    """Owners by name, those who are being paged first."""
    worst: dict[str, int] = {}
    for each in notices:
        rank = 0 if _is_paging(each) else 1
        worst[each.owner] = min(rank, worst.get(each.owner, rank))
    return sorted(worst, key=lambda owner: (worst[owner], owner))


def _is_paging(notice: Notice) -> bool:
    return notice.is_firing and notice.severity == PAGE


def _title(notices: Iterable[Notice]) -> str:
    pages = sum(map(_is_paging, notices))
    return f"({pages}) Who was told" if pages else "Who was told"


def _switch(heard: float | None, now: float) -> str:
    if heard is None:
        return "No dead-man's switch was heard yet: where it goes is the catalog's [render] deadman."
    return f"The dead-man's switch was last heard {_ago(heard, now)}."


def _section(owner: str, notices: Iterable[Notice], now: float) -> str:
    theirs = [each for each in notices if each.owner == owner]
    firing = sorted((each for each in theirs if each.is_firing), key=lambda each: not _is_paging(each))
    over = [each for each in theirs if not each.is_firing]
    said = f"{len(firing)} firing, {len(over)} over"
    articles = "\n".join(_article(each, now) for each in (*firing, *over))
    return f"<section><h2>{escape(owner) or NOBODY} <small>{said}</small></h2>\n{articles}</section>"


def _article(notice: Notice, now: float) -> str:
    kind = notice.severity if notice.severity in (PAGE, TICKET) else "info"
    state = "" if notice.is_firing else " over"
    tag = escape(notice.severity) or "no severity"
    at = datetime.fromtimestamp(notice.at, UTC)
    when = f'<time datetime="{at:%Y-%m-%dT%H:%M:%SZ}">{_ago(notice.at, now)}</time>'
    head = (
        f'<span class="tag">{tag}{"" if notice.is_firing else ", over"}</span><strong>{escape(notice.alert)}</strong>'
    )
    return (
        f'<article class="{kind}{state}"><div class="head">{head} {when}{_links(notice)}</div>\n'
        f"<p>{escape(notice.summary)}</p><p>{escape(notice.description)}</p>\n"
        f'<p class="facts">to <code>{escape(notice.receiver)}</code>, {_count(notice.times)}'
        f"{', since ' + escape(notice.since) if notice.since else ''} {_labels(notice)}</p></article>"
    )


def _links(notice: Notice) -> str:
    links = (("dashboard", notice.dashboard), ("runbook", notice.runbook))
    return "".join(
        f' <a rel="noreferrer noopener" href="{escape(address, quote=True)}">{name}</a>'
        for name, address in links
        if address
    )


def _labels(notice: Notice) -> str:
    return " ".join(f"<code>{escape(key)}={escape(value)}</code>" for key, value in notice.labels.items())


def _count(times: int) -> str:
    return "said once" if times == 1 else f"said {times} times"


def _ago(at: float, now: float) -> str:
    seconds = max(0, round(now - at))
    if seconds < 120:
        return f"{seconds} s ago"
    return f"{seconds // 60} min ago" if seconds < 7200 else f"{seconds // 3600} h ago"
