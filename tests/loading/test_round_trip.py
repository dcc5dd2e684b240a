from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.loading.writing import catalogs, layouts, write
from tooltel.catalog import find_problems
from tooltel.loading import load, read
from tooltel.loading.places import Places

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tooltel.catalog import Catalog


# A catalog has many parts to draw, and a shared machine's pauses are not the code's.
unhurried = settings(suppress_health_check=[HealthCheck.too_slow], max_examples=60)


@unhurried
@given(catalogs(), layouts)
def test_a_catalog_that_is_written_as_toml_loads_equal(catalog: Catalog, layout: Mapping[str, bool]) -> None:
    assert find_problems(catalog) == []
    with TemporaryDirectory() as folder:
        path = Path(folder, "tools.toml")
        path.write_text(write(catalog, layout).text, encoding="utf-8", newline="")
        loaded = load(path)
    assert _said(loaded) == _said(catalog)
    assert loaded.sha == catalog.sha


def _said(catalog: Catalog) -> dict[str, Any]:
    return {key: value for key, value in vars(catalog).items() if key != "source" and not key.startswith("_")} | {
        "sha": catalog.sha,
        "aliases": dict(catalog.aliases),
        "retired": dict(catalog.retired),
    }


@unhurried
@given(catalogs(), layouts)
def test_the_line_of_every_key_is_known(catalog: Catalog, layout: Mapping[str, bool]) -> None:
    written = write(catalog, layout)
    places = Places(written.text)
    assert {path: places.line_of(path) for path in written.places} == written.places


@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace")))
def test_any_bytes_give_a_catalog_or_problems_and_never_an_exception(data: bytes) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "tools.toml")
        path.write_bytes(data)
        catalog, problems = read(path)
    assert catalog is not None or problems
    assert all(problem.file == str(path) for problem in problems)


@unhurried
@given(catalogs(), layouts, st.data())
def test_a_catalog_that_is_cut_up_gives_problems_with_lines_and_never_an_exception(
    catalog: Catalog, layout: Mapping[str, bool], data: st.DataObject
) -> None:
    text = write(catalog, layout).text
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = start + data.draw(st.integers(0, 20))
        text = text[:start] + data.draw(st.text("\"'=[]{}#\\\n,.ax1", max_size=4)) + text[end:]
    with TemporaryDirectory() as folder:
        path = Path(folder, "tools.toml")
        path.write_text(text, encoding="utf-8", newline="")
        found, problems = read(path)
    assert found is not None or problems
    last = text.count("\n") + 1
    assert all(problem.line is None or 1 <= problem.line <= last for problem in problems)
    if found is not None and not problems:
        assert find_problems(found) == []
