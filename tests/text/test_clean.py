"""What a model or a stranger wrote becomes one bounded, printable line, whatever it was."""

from __future__ import annotations

import enum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tooltel.signals import NAME_LIMIT
from tooltel.text import ELLIPSIS, clean


@pytest.mark.parametrize(
    "text",
    [
        "order_lookup",
        "Größe",
        "注文を探す",
        "طلب",
        "a b",
        'say "hi"',
        "C:\\temp",
        "🛒 cart",
        "e\u0301",
        "%s {} $x",
    ],
)
def test_what_a_person_can_read_is_left_as_it_is(text: str) -> None:
    assert clean(text) == text


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("", ""),
        ("a\nERROR forged", "a\\nERROR forged"),
        ("a\r\nb", "a\\r\\nb"),
        ("tab\there", "tab\\there"),
        ("nul\x00", "nul\\x00"),
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("\x9b31m", "\\x9b31m"),  # a one-character terminal sequence
        ("\x07\x08", "\\x07\\x08"),
        ("line\u2028sep\u2029par", "line\\u2028sep\\u2029par"),
        ("next\x85line", "next\\x85line"),
        ("\u202eevil", "\\u202eevil"),
        ("\u2066isolate\u2069", "\\u2066isolate\\u2069"),
        ("zero\u200bwidth", "zero\\u200bwidth"),
        ("\ufeffbom", "\\ufeffbom"),
        ("\ud800", "\\ud800"),
        ("pair\udfff\ud800", "pair\\udfff\\ud800"),
        ("\U000e0041tag", "\\U000e0041tag"),  # invisible letters that a model reads
        ("no\xa0break", "no\\xa0break"),
        (b"bytes\n", "b'bytes\\n'"),
        (None, "None"),
        (12, "12"),
        (["a\nb"], "['a\\nb']"),
    ],
)
def test_what_could_forge_a_line_or_move_a_cursor_is_escaped(hostile: object, shown: str) -> None:
    assert clean(hostile) == shown


@pytest.mark.parametrize("text", ["x" * 3000, "\n" * 3000, "\ud800" * 129, "🛒" * 200, "a" * 127 + "\n"])
def test_a_long_text_is_cut_with_a_mark_and_never_exceeds_its_limit(text: str) -> None:
    cleaned = clean(text)
    assert len(cleaned) == NAME_LIMIT
    assert cleaned.endswith(ELLIPSIS)


@pytest.mark.parametrize("length", [NAME_LIMIT - 1, NAME_LIMIT])
def test_a_text_that_just_fits_is_not_cut(length: int) -> None:
    assert clean("x" * length) == "x" * length


def test_only_as_much_is_looked_at_as_can_be_kept() -> None:
    class Huge(str):
        __slots__ = ()

        def __iter__(self) -> Any:
            raise AssertionError("walked through the whole text")

    assert len(clean(Huge("\n" * 1_000_000))) == NAME_LIMIT


@pytest.mark.parametrize("error", [ValueError("no"), RecursionError(), MemoryError(), UnicodeError()])
def test_an_object_that_cannot_be_shown_is_named_by_its_kind(error: Exception) -> None:
    class Secretive:
        def __str__(self) -> str:
            raise error

    assert clean(Secretive()) == "<unprintable Secretive>"
    assert clean(10**5000) == "<unprintable int>", "Python itself refuses to print some numbers"


def test_the_text_of_a_string_subclass_is_taken_and_its_methods_are_not_trusted() -> None:
    class Liar(str):
        __slots__ = ()

        def __str__(self) -> str:
            return self

        def isascii(self) -> bool:
            return True

        def isprintable(self) -> bool:
            return True

        def __getitem__(self, key: Any) -> str:
            return "forged\n"

    class Word(enum.StrEnum):
        ORDER = "order\n"

    for given_text in (Liar("a\nb"), Word.ORDER):
        cleaned = clean(given_text)
        assert type(cleaned) is str
        assert "\n" not in cleaned
    assert clean(Liar("a\nb")) == "a\\nb"


@given(st.text(st.characters(exclude_categories=())), st.integers(2, 200))
def test_any_text_comes_out_bounded_printable_and_encodable_and_stays_as_it_is_then(text: str, limit: int) -> None:
    cleaned = clean(text, limit=limit)
    assert len(cleaned) <= limit
    assert cleaned.isprintable()
    assert cleaned.splitlines() in ([], [cleaned])
    assert cleaned.encode("utf-8").decode("utf-8") == cleaned
    assert clean(cleaned, limit=limit) == cleaned
