from __future__ import annotations

from pathlib import Path

import pytest

from tooltel.loading import read

GOLDEN = Path(__file__).parent / "golden"
CASES = sorted(path.stem for path in GOLDEN.glob("*.toml"))


@pytest.mark.parametrize("case", CASES)
def test_a_bad_catalog_gives_exactly_the_problems_written_beside_it(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every problem at once, with file and line, what is wrong and what to write instead."""
    monkeypatch.chdir(GOLDEN)
    _, problems = read(f"{case}.toml")
    assert [str(problem) for problem in problems] == _expected(case)


def test_every_subject_has_a_bad_catalog() -> None:
    assert {"names", "references", "values", "types", "secrets", "merge", "syntax", "keys"} <= set(CASES)
    assert all(_expected(case) for case in CASES)


@pytest.mark.parametrize("case", CASES)
def test_no_problem_repeats_a_secret(case: str) -> None:
    secrets = ("0123456789abcdef", "hunter2", "services/T0", "user:secret", "token=abc", "PRIVATE KEY")
    assert not [line for line in _expected(case) if any(secret in line for secret in secrets)]


def _expected(case: str) -> list[str]:
    return (GOLDEN / f"{case}.txt").read_text(encoding="utf-8").splitlines()
