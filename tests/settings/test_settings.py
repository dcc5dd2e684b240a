from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from tooltel import signals
from tooltel.errors import SettingError
from tooltel.settings import BY_NAME, ROWS, Settings


def test_defaults_need_no_environment() -> None:
    settings = Settings.read({})
    assert settings == Settings() == Settings.read(None)
    assert (settings.disabled, settings.log_calls, settings.repeat_window_seconds) == (False, "auto", 86400.0)
    assert settings.attribute_owner == signals.OWNER


def test_every_row_has_a_variable_a_default_that_can_be_read_and_a_sentence() -> None:
    assert list(BY_NAME) == [row.name for row in ROWS]
    for row in ROWS:
        assert row.variable == f"TOOLTEL_{row.name.upper()}"
        assert row.read(row.default) == row.default
        assert row.sentence.endswith(".")


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("disabled", "1", True),
        ("disabled", " True ", True),
        ("disabled", "yes", True),
        ("disabled", "ON", True),
        ("disabled", "0", False),
        ("disabled", "off", False),
        ("disabled", "", False),
        ("log_calls", "FAILURES", "failures"),
        ("repeat_window_seconds", "0.5", 0.5),
        ("repeat_sessions", "7", 7),
        ("attribute_owner", "acme.tool-owner", "acme.tool-owner"),
    ],
)
def test_a_variable_is_read_as_its_type(name: str, text: str, value: object) -> None:
    assert getattr(Settings.read({f"TOOLTEL_{name.upper()}": text}), name) == value


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("disabled", "maybe"),
        ("disabled", "2"),
        ("log_calls", "some"),
        ("log_calls", ""),
        ("repeat_window_seconds", "1d"),
        ("repeat_window_seconds", "nan"),
        ("repeat_window_seconds", "inf"),
        ("repeat_window_seconds", "0"),
        ("repeat_sessions", "-1"),
        ("repeat_sessions", "0"),
        ("repeat_sessions", "1.5"),
        ("repeat_calls", "many"),
        ("attribute_risk", ""),
        ("attribute_risk", "tool risk"),
        ("attribute_risk", "tool.risk\n"),
        ("attribute_risk", "a" * 129),
    ],
)
def test_a_value_that_cannot_be_read_is_refused_with_the_variable_named(name: str, text: str) -> None:
    variable = f"TOOLTEL_{name.upper()}"
    with pytest.raises(SettingError) as caught:
        Settings.read({variable: text})
    assert caught.value.name == variable
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("value", [True, "x", 0, None, 1.5])
def test_an_override_of_a_wrong_type_is_refused(value: Any) -> None:
    with pytest.raises(SettingError, match="repeat_sessions"):
        Settings.read({}, repeat_sessions=value)
    with pytest.raises(SettingError, match="repeat_sessions"):
        Settings(repeat_sessions=value)


def test_an_unknown_variable_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(SettingError, match="did you mean TOOLTEL_DISABLED") as caught:
        Settings.read({"TOOLTEL_DISABLE": "1"})
    assert caught.value.name == "TOOLTEL_DISABLE"
    with pytest.raises(SettingError, match="known are TOOLTEL_DISABLED, "):
        Settings.read({"TOOLTEL_XQZ": "1"})


def test_an_unknown_override_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(SettingError, match="did you mean log_calls"):
        Settings.read({}, log_call="all")


def test_the_variables_of_others_are_left_alone() -> None:
    assert Settings.read({"PATH": "/bin", "tooltel_disabled": "1", "MY_TOOLTEL_DISABLED": "1"}) == Settings()


@pytest.mark.parametrize(
    "variable",
    [
        "TOOLTEL_SERVICE_HOST",
        "TOOLTEL_SERVICE_PORT",
        "TOOLTEL_SERVICE_PORT_METRICS",
        "TOOLTEL_PORT",
        "TOOLTEL_PORT_9464_TCP",
        "TOOLTEL_PORT_9464_TCP_PROTO",
        "TOOLTEL_PORT_9464_TCP_ADDR",
        "TOOLTEL_SIDECAR_SERVICE_HOST",
        "TOOLTEL_SIDECAR_PORT_9464_TCP",
    ],
)
def test_what_kubernetes_sets_for_a_service_called_tooltel_is_no_setting(variable: str) -> None:
    assert Settings.read({variable: "tcp://10.0.0.1:9464"}) == Settings()


def test_an_override_wins_over_the_environment_even_over_nonsense() -> None:
    assert Settings.read({"TOOLTEL_LOG_CALLS": "all"}, log_calls="off").log_calls == "off"
    assert Settings.read({"TOOLTEL_LOG_CALLS": "nonsense"}, log_calls="off").log_calls == "off"


def test_two_facts_never_share_one_attribute() -> None:
    with pytest.raises(SettingError, match=r"'tool\.owner' names two attributes"):
        Settings.read({"TOOLTEL_ATTRIBUTE_RISK": "tool.owner"})
    with pytest.raises(SettingError, match=signals.TOOL_NAME):
        Settings(attribute_risk=signals.TOOL_NAME)
    swapped = Settings(attribute_risk=signals.OWNER, attribute_owner=signals.RISK)
    assert (swapped.attribute_risk, swapped.attribute_owner) == (signals.OWNER, signals.RISK)


def test_settings_are_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        Settings().disabled = True  # type: ignore[misc]


def test_nothing_reads_the_environment_at_import() -> None:
    """A setting that would be refused disturbs no import, only who asks for the settings."""
    code = "import os, tooltel.settings as s\ntry: s.Settings.read(os.environ)\nexcept ValueError: print('refused')"
    environment = {**os.environ, "TOOLTEL_NONSENSE": "1", "TOOLTEL_DISABLED": "maybe"}
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stdout, done.stderr) == (0, "refused\n", "")
