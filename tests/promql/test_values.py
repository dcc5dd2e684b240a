"""Values and durations as PromQL writes them."""

from __future__ import annotations

import promql_parser
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tooltel import promql

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


@given(TEXT)
def test_a_quoted_value_is_read_back_as_it_was(value: str) -> None:
    selector = promql_parser.parse(f"up{{job={promql.quote(value)}}}")
    assert isinstance(selector, promql_parser.VectorSelector)
    assert selector.matchers.matchers[0].value == value


@given(st.lists(TEXT, min_size=1, max_size=3))
def test_a_list_of_names_is_a_valid_pattern_whatever_the_names(names: list[str]) -> None:
    match = promql.one_of(*names)
    promql_parser.parse(f"up{{job{match.operator}{promql.quote(match.value)}}}")


def test_a_name_with_letters_of_patterns_matches_only_itself() -> None:
    assert promql.one_of("a.b", "c|d", "e f") == ("=~", r"a\.b|c\|d|e f")
    assert promql.none_of("a+") == ("!~", r"a\+")


@pytest.mark.parametrize(("text", "length"), [("15m", 900), ("1d12h", 129_600), ("30d", 2_592_000), ("1w", 604_800)])
def test_durations_are_read_as_seconds(text: str, length: int) -> None:
    assert promql.seconds(text) == length


@pytest.mark.parametrize("text", ["", "15", "m", "1.5h", "15m ", "-1h", "1h]"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no duration"):
        promql.seconds(text)


@given(st.integers(1, 10**7))
def test_a_written_duration_is_read_back_exactly(length: int) -> None:
    assert promql.seconds(promql.duration(length)) == length


@pytest.mark.parametrize(("value", "text"), [(5, "5"), (5.0, "5"), (0.05, "0.05"), (14.4, "14.4"), (1e-05, "1e-05")])
def test_numbers_have_no_needless_fraction(value: float, text: str) -> None:
    assert promql.number(value) == text
