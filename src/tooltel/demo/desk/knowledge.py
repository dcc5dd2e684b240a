"""The knowledge team's tools."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Annotated

from tooltel.demo.books import ARTICLES, DEADLINE, Books, IndexCorruptError
from tooltel.errors import Rejected

if TYPE_CHECKING:
    from tooltel.demo.pace import Pace

BAD_SHARD = "voucher"  # the word whose part of the index cannot be read
SLOW_WORD = "everything"  # the word that makes the search read all of it


class Knowledge:
    """Help articles: found, read as they arrive, corrected."""

    def __init__(self, books: Books, pace: Pace) -> None:
        self._books = books
        self._pace = pace

    async def article_search(
        self,
        query: Annotated[str, "What the customer asked, in a few words"],
        limit: Annotated[int, "How many articles to give, 1 to 10"] = 3,
    ) -> list[dict[str, str]]:
        """Find help articles by words of the customer's question, best match first."""
        if SLOW_WORD in query:
            await self._pace.pause(DEADLINE)
            raise TimeoutError(f"the search gave no answer within {DEADLINE} s")
        await self._pace.pause(self._books.latency("search", query))
        if BAD_SHARD in query:
            raise IndexCorruptError("shard 7 of 12 cannot be read")
        words = query.casefold().split()
        hits = [(sum(word in title.casefold() for word in words), id_, title) for id_, (title, _) in ARTICLES.items()]
        return [{"id": id_, "title": title} for _, id_, title in sorted(hits, reverse=True)[:limit]]

    async def article_read(self, article_id: Annotated[str, "An article's id, like a-101"]) -> AsyncIterator[str]:
        """Read one help article section by section, so that the answer can start early."""
        title, sections = ARTICLES[article_id]
        for number, section in enumerate(sections):
            await self._pace.pause(self._books.latency("articles", f"{article_id}/{number}"))
            yield f"{title}, {section}"

    def article_suggest_edit(
        self,
        article_id: Annotated[str, "An article's id, like a-101"],
        section: Annotated[str, "The section's heading, as it stands now"],
        text: Annotated[str, "The section as it should read, at most 2,000 characters"],
    ) -> dict[str, str]:
        """Suggest a correction of one help article; an editor of the knowledge team reviews it."""
        self._pace.wait(self._books.latency("articles", f"{article_id}/{section}"))
        if section not in ARTICLES[article_id][1]:
            raise Rejected("section", problem="the article has no such section", expected="a heading of the article")
        return {"article": article_id, "status": "waiting for review", "characters": str(len(text))}
