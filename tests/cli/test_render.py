"""`tooltel render` writes what changed, and `--check` names what is stale."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tooltel.demo
from tooltel.cli import main

EXAMPLE = Path(tooltel.demo.__file__).with_name("tools.toml")


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = main(["render", *map(str, arguments)])
    said = capsys.readouterr()
    return code, said.out, said.err


@pytest.fixture
def rendered(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    assert run(capsys, "--catalog", EXAMPLE, "--out", tmp_path)[0] == 0
    return tmp_path


def test_the_first_run_writes_everything_and_the_second_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = run(capsys, "--catalog", EXAMPLE, "--out", tmp_path)
    assert code == 0
    assert f"new  {tmp_path / 'alerts/alertmanager.yml'}\n" in out
    assert out.splitlines()[-1].endswith(" written, 0 unchanged")
    code, out, _ = run(capsys, "--catalog", EXAMPLE, "--out", tmp_path)
    assert code == 0
    assert len(out.splitlines()) == 1
    assert ": 0 written, " in out


def test_check_is_content_with_what_was_just_rendered(rendered: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "--catalog", EXAMPLE, "--out", rendered, "--check")
    assert code == 0
    assert out.endswith(": all as rendered\n")


def test_check_shows_how_a_stale_file_differs_and_writes_nothing(
    rendered: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = rendered / "alerts/alertmanager.yml"
    stale = path.read_text().replace("repeat_interval: 4h", "repeat_interval: 5h")
    path.write_text(stale)
    code, out, _ = run(capsys, "--catalog", EXAMPLE, "--out", rendered, "--check")
    assert code == 1
    assert "stale: alerts/alertmanager.yml\n" in out
    assert "  -      repeat_interval: 5h\n" in out
    assert "  +      repeat_interval: 4h\n" in out
    assert out.splitlines()[-1].startswith("not as rendered from ")
    assert path.read_text() == stale


def test_check_names_missing_and_left_over_files(rendered: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (rendered / "alerts/alertmanager.yml").read_text()
    (rendered / "alerts/alertmanager.yml").rename(rendered / "alerts/old.yml")
    code, out, _ = run(capsys, "--catalog", EXAMPLE, "--out", rendered, "--check")
    assert code == 1
    assert "missing: alerts/alertmanager.yml\n" in out
    assert "left over: alerts/old.yml: no longer rendered, delete it\n" in out
    code, out, _ = run(capsys, "--catalog", EXAMPLE, "--out", rendered)
    assert code == 0
    assert "left over: alerts/old.yml" in out
    assert (rendered / "alerts/old.yml").read_text() == text


def test_a_part_is_rendered_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "--catalog", EXAMPLE, "--out", tmp_path, "--only", "routes")
    assert code == 0
    assert out.splitlines()[-1] == "2 files: 2 written, 0 unchanged"
    assert not (tmp_path / "dashboards").exists()


def test_a_partial_check_takes_nothing_for_left_over(rendered: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "--catalog", EXAMPLE, "--out", rendered, "--only", "routes", "--check")[0] == 0


def test_a_file_that_somebody_wrote_is_not_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = tmp_path / "alerts/alertmanager.yml"
    own.parent.mkdir()
    own.write_text("route: {receiver: ours}\n")
    code, _, err = run(capsys, "--catalog", EXAMPLE, "--out", tmp_path)
    assert code == 2
    assert f"{own}: was not written by `tooltel render`: move it away" in err
    assert own.read_text() == "route: {receiver: ours}\n"
    assert [path.name for path in own.parent.iterdir()] == ["alertmanager.yml"]


def test_every_problem_is_told_with_file_and_line_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    catalog = tmp_path / "tools.toml"
    catalog.write_text(
        '[catalog]\nplatform_owner = "platform"\n\n'
        "[owners.platform]\n"
        'page = { webhook_configs = [{ url_file = "/etc/url" }] }\n\n'
        '[render]\njob = ""\n'
    )
    code, out, err = run(capsys, "--catalog", catalog, "--out", tmp_path / "out")
    assert code == 1
    assert out == ""
    assert f"2 problems in {catalog}:" in err
    assert f"{catalog}:5: error: owners.platform.page.webhook_configs[0].url_file: Alertmanager 0.25 has no" in err
    assert f"{catalog}:8: error: render.job: " in err
    assert not (tmp_path / "out").exists()


def test_problems_stand_in_the_order_of_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    catalog = tmp_path / "tools.toml"
    catalog.write_text(
        '[catalog]\nplatform_owner = "platform"\n\n'
        "[owners.platform]\n"
        'page = { webhook_configs = [{ url_file = "/etc/url" }] }\n\n'
        '[tools.order_lookup]\nowner = "platfrom"\n'
    )
    code, _, err = run(capsys, "--catalog", catalog, "--out", tmp_path)
    lines = [int(line.split(":")[1]) for line in err.splitlines() if line.startswith("  ")]
    assert code == 1
    assert lines == sorted(lines)
    assert {5, 8} <= set(lines)


def test_links_that_lead_nowhere_are_told_beside_what_is_written_until_they_are_set(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    catalog = tmp_path / "tools.toml"
    owner = '[owners.platform]\npage = { webhook_configs = [{ url = "http://127.0.0.1:9099/notify/platform" }] }\n'
    text = f'[catalog]\nplatform_owner = "platform"\n\n{owner}\n[render]\n'
    said = []
    for more in ("", 'dashboards_url = "https://g.example.org"\n', 'runbooks_url = "https://r.example.org"\n'):
        text += more
        catalog.write_text(text)
        said.append(run(capsys, "--catalog", catalog, "--out", tmp_path / "ops")[2])
    assert said[0] == (
        "note: pages link to https://grafana.example.com and https://runbooks.example.com/tooltel, which lead nowhere: "
        "say yours in [render] dashboards_url and runbooks_url\n"
    )
    assert said[1].startswith("note: pages link to https://runbooks.example.com/tooltel, ")
    assert said[2] == ""
    catalog.write_text(text.partition("[render]")[0])
    assert run(capsys, "--catalog", catalog, "--out", tmp_path / "ops", "--only", "routes")[2] == ""
    assert run(capsys, "--catalog", catalog, "--out", tmp_path / "ops", "--check")[2] == ""


def test_a_catalog_made_in_code_is_rendered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own_tools.py").write_text(
        "from tooltel import Catalog, Owner\n"
        "PAGER = {'pagerduty_configs': [{'routing_key_file': '/etc/key'}]}\n"
        "CATALOG = Catalog(owners=[Owner('p', page=PAGER)], platform_owner='p')\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    code, _, err = run(capsys, "--catalog", "own_tools:CATALOG", "--only", "routes")
    assert (code, err) == (0, "")
    assert "own_tools" in (tmp_path / "alerts/alertmanager.yml").read_text().splitlines()[0]


def test_the_report_for_machines_says_what_was_written(rendered: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (rendered / "alerts/alertmanager.yml").unlink()
    arguments = ("--catalog", EXAMPLE, "--out", rendered, "--format", "json")
    code, out, _ = run(capsys, *arguments, "--check")
    report = json.loads(out)
    assert code == 1
    assert report["checked"] is True
    assert report["missing"] == ["alerts/alertmanager.yml"]
    assert (report["stale"], report["left_over"], report["foreign"]) == ([], [], [])
    assert not (rendered / "alerts/alertmanager.yml").exists()
    code, out, _ = run(capsys, *arguments)
    assert code == 0
    assert json.loads(out)["missing"] == ["alerts/alertmanager.yml"]
    assert (rendered / "alerts/alertmanager.yml").exists()


def test_terminal_escapes_in_a_stale_file_do_not_reach_the_terminal(
    rendered: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = rendered / "alerts/alertmanager.yml"
    path.write_text(path.read_text() + "# \x1b[31mred\n")
    _, out, _ = run(capsys, "--catalog", EXAMPLE, "--out", rendered, "--check")
    assert "\x1b" not in out
    assert r"\x1b[31mred" in out


def test_the_render_table_gives_the_dead_mans_switch_a_receiver_and_alertmanager_its_global_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    catalog = tmp_path / "tools.toml"
    text = (
        '[catalog]\nplatform_owner = "platform"\n\n'
        "[owners.platform]\n"
        'page = { email_configs = [{ to = "platform@example.com" }] }\n\n'
        '[render]\nalertmanager_version = "0.26"\n'
        'deadman = { webhook_configs = [{ url_file = "/etc/deadman" }] }\n\n'
        '[render.alertmanager.global]\nsmtp_smarthost = "smtp.example.com:587"\nsmtp_from = "a@example.com"\n'
    )
    catalog.write_text(text)
    assert run(capsys, "--catalog", catalog, "--out", tmp_path, "--only", "routes")[0] == 0
    config = (tmp_path / "alerts/alertmanager.yml").read_text()
    assert 'smtp_smarthost: "smtp.example.com:587"\n' in config
    assert '- name: watchdog\n  webhook_configs:\n  - url_file: "/etc/deadman"\n' in config
    catalog.write_text(text.replace("url_file", "uri"))
    code, _, err = run(capsys, "--catalog", catalog, "--out", tmp_path)
    assert code == 1
    assert f"{catalog}:9: error: render.deadman.webhook_configs[0].uri: Alertmanager has no field 'uri' here" in err
