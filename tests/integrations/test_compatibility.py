"""The table of what each plug-in sees."""

from __future__ import annotations

import pytest

from tooltel.integrations.compatibility import ROWS, Moment, rows_of

FRAMEWORKS = sorted({row.framework for row in ROWS})


def test_a_framework_and_moment_has_one_row() -> None:
    assert len({(row.framework, row.moment) for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_framework_says_something_of_every_moment(framework: str) -> None:
    assert set(rows_of(framework)) == set(Moment)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.framework}-{row.moment.name}")
def test_a_row_says_how_it_is_seen_or_why_it_is_not(row: object) -> None:
    from tooltel.integrations.compatibility import Row

    assert isinstance(row, Row)
    assert bool(row.how) is row.seen
    assert bool(row.why_not) is not row.seen
    assert row.versions
