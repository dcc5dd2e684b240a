"""What `make preview` stands on: pinned and free packages, a folder of its own, and one line where a tool lacks."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.preview import draw
from tests.preview.draw import FOLDER, HERE, ROOT
from tests.preview.pasts import MissingError


def read(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((HERE / name).read_text(encoding="utf-8"))
    return found


def test_every_package_is_pinned_to_what_the_lock_file_has() -> None:
    wanted = read("package.json")["dependencies"]
    locked = read("package-lock.json")["packages"]
    assert locked[""]["dependencies"] == wanted
    assert {name: locked[f"node_modules/{name}"]["version"] for name in wanted} == wanted


def test_grafanas_parts_are_free_to_take_and_nothing_is_under_the_gpl() -> None:
    licenses = {name: str(each.get("license", "")) for name, each in read("package-lock.json")["packages"].items()}
    grafana = {name: text for name, text in licenses.items() if name.startswith("node_modules/@grafana/")}
    assert grafana
    assert set(grafana.values()) <= {"Apache-2.0", "MIT"}
    assert [name for name, text in licenses.items() if "GPL" in text] == []


def test_the_lock_file_names_no_registry_and_checks_what_it_gets() -> None:
    packages = {name: each for name, each in read("package-lock.json")["packages"].items() if name}
    assert [name for name, each in packages.items() if "resolved" in each] == []
    assert [name for name, each in packages.items() if not each.get("integrity")] == []


def test_it_calls_itself_a_stand_in() -> None:
    for text in (read("package.json")["description"], draw.__doc__ or "", (HERE / "page" / "main.jsx").read_text()):
        assert "stand-in" in text


def test_the_package_does_not_depend_on_it() -> None:
    mentions = [path for path in (ROOT / "src").rglob("*.py") if "tests.preview" in path.read_text(encoding="utf-8")]
    assert mentions == []


@pytest.mark.parametrize("path", [FOLDER / "demo" / "fleet-1280-light.png", HERE / "node_modules" / "react"])
def test_what_it_makes_is_never_committed(path: Path) -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("no repository")
    ran = subprocess.run(["git", "check-ignore", "--quiet", path.relative_to(ROOT)], cwd=ROOT, check=False)
    assert ran.returncode == 0


def test_without_a_browser_one_line_says_how_to_get_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(draw, "MAC_BROWSER", tmp_path / "Chromium")
    assert draw.main(["demo"]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert "apt-get install chromium" in said.err


def test_without_npm_one_line_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingError, match=r"apt-get install nodejs npm"):
        draw.prepare_page(tmp_path)


@pytest.mark.parametrize("board", draw.BOARDS)
def test_the_documentation_has_a_small_picture_of_each_dashboard(board: str) -> None:
    picture = ROOT / "docs" / "images" / f"{board}.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size < 200_000
    assert f"](images/{board}.png)" in (ROOT / "docs" / "dashboards.md").read_text(encoding="utf-8")
