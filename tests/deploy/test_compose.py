"""docker-compose.yml, as far as it can be checked where no engine is: what it says, and that all it names is there."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.deploy.stack import (
    COMPOSE,
    MOUNTED,
    ROOT,
    VARIABLE,
    compose,
    config,
    environment,
    listens,
    mounts,
    services,
    strings,
)

SCHEMA = Path(__file__).with_name("schemas") / "compose-spec.json"
NAMES = sorted(services())
DOCKERFILES = sorted(MOUNTED.glob("*.Dockerfile"))
ADDRESS = re.compile(r"(?<![\w.@-])([a-z][a-z0-9-]*):(\d{2,5})(?!\d)")

# Programs that each image is known to have, by what is before the tag. Loki's holds one program, the collector's and
# Tempo's too: those two are built upon, with busybox beside.
PROGRAMS = {
    "prom/prometheus": {"wget"},  # its base is busybox
    "prom/alertmanager": {"wget"},
    "grafana/grafana": {"wget"},  # its base is Alpine
    "grafana/loki": {"/usr/bin/loki"},
    "probed.Dockerfile": {"/probe/busybox"},
    "deploy/compose/tooltel.Dockerfile": {"python"},
}


def test_it_is_what_the_compose_specification_describes() -> None:
    jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text("utf-8"))).validate(compose())


def test_every_variable_has_a_value_and_every_value_a_use() -> None:
    used = {found[1] or found[2] for found in VARIABLE.finditer(COMPOSE.read_text("utf-8"))}
    assert used == set(environment())
    assert all(environment().values())


def test_every_image_is_pinned_in_one_place() -> None:
    for name, image in environment().items():
        if name.endswith("_IMAGE"):
            assert re.fullmatch(r"[a-z0-9/_-]+:v?\d+\.\d+[\w.-]*", image), name
    for service in services().values():
        assert service["image"] in environment().values() or "build" in service
    assert not re.search(r"image: \S+:\d|image: \S+/", COMPOSE.read_text("utf-8")), "an image outside of .env"


@pytest.mark.parametrize("path", DOCKERFILES, ids=lambda path: path.name)
def test_a_dockerfile_builds_upon_what_is_pinned_and_nothing_else(path: Path) -> None:
    text = path.read_text("utf-8")
    arguments = set(re.findall(r"^ARG (\w+)$", text, re.MULTILINE))
    for base in re.findall(r"^FROM (\S+)", text, re.MULTILINE):
        assert re.fullmatch(r"\$\{(\w+)\}", base)
        assert base[2:-1] in arguments
    for service in services().values():
        build = service.get("build", {})
        if Path(build.get("dockerfile", "")).name == path.name:
            assert set(build["args"]) == arguments


def test_every_dockerfile_is_used_and_every_one_used_is_there() -> None:
    builds = [service["build"] for service in services().values() if "build" in service]
    assert {(ROOT / each["context"] / each["dockerfile"]).resolve() for each in builds} == set(DOCKERFILES)


def test_images_that_are_built_have_names_of_their_own() -> None:
    """Two services that build one name at the same time get in each other's way."""
    built = [service["image"] for service in services().values() if "build" in service]
    assert len(built) == len(set(built))


@pytest.mark.parametrize("name", NAMES)
def test_a_port_is_open_on_this_machine_only_and_somebody_listens_there(name: str) -> None:
    for port in services()[name].get("ports", ()):
        address, published, target = port.split(":")
        assert address == "127.0.0.1"
        assert published.isdecimal()
        assert int(target) in listens()[name]


def test_no_two_services_want_the_same_port() -> None:
    published = [port.split(":")[1] for service in services().values() for port in service.get("ports", ())]
    assert len(published) == len(set(published))


@pytest.mark.parametrize("name", NAMES)
def test_what_is_mounted_is_in_the_repository_and_cannot_be_written_to(name: str) -> None:
    for mount in mounts(name):
        assert mount.source.exists(), mount
        assert mount.source.is_relative_to(ROOT)
        assert mount.mode == "ro"
    assert "docker.sock" not in json.dumps(services()[name])


@pytest.mark.parametrize("name", NAMES)
def test_a_volume_is_declared(name: str) -> None:
    named = [each.split(":")[0] for each in services()[name].get("volumes", ()) if not each.startswith((".", "/"))]
    assert set(named) <= set(compose()["volumes"])


@pytest.mark.parametrize("name", NAMES)
def test_a_service_can_do_no_more_than_it_must(name: str) -> None:
    service = services()[name]
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert not {"privileged", "cap_add", "network_mode", "pid", "devices", "user"} & set(service)
    assert service["logging"]["options"]["max-size"]


@pytest.mark.parametrize("name", NAMES)
def test_a_health_check_asks_with_a_program_that_the_image_has_at_a_port_where_it_listens(name: str) -> None:
    service = services()[name]
    kind, program, *arguments = service["healthcheck"]["test"]
    assert kind == "CMD"  # CMD-SHELL needs a shell, which not every image has
    image = service["build"]["dockerfile"] if "build" in service else service["image"].partition(":")[0]
    assert program in PROGRAMS[image]
    asked = re.findall(r"http://127\.0\.0\.1:(\d+)/", " ".join(arguments))
    assert [int(port) in listens()[name] for port in asked] in ([True], [])
    assert asked or arguments == ["-health"]  # Loki asks itself


def test_the_program_that_is_laid_beside_is_where_the_health_checks_expect_it() -> None:
    text = (MOUNTED / "probed.Dockerfile").read_text("utf-8")
    (program,) = PROGRAMS["probed.Dockerfile"]
    assert re.search(rf"^COPY --from=busybox --chmod=0555 /bin/busybox {program}$", text, re.MULTILINE)
    assert "musl" in environment()["BUSYBOX_IMAGE"]  # static: it runs where no library is


@pytest.mark.parametrize("name", NAMES)
def test_a_service_waits_for_others_that_tell_when_they_are_ready_and_never_for_itself(name: str) -> None:
    def needs(service: str, seen: tuple[str, ...] = ()) -> None:
        assert service not in seen, f"{' waits for '.join(seen)} waits for {service}"
        for other, how in services()[service].get("depends_on", {}).items():
            assert how == {"condition": "service_healthy"}
            needs(other, (*seen, service))

    needs(name)


def read_configs() -> dict[str, list[str]]:
    """Every text that may hold an address, by where it stands."""
    found: dict[str, list[str]] = {}
    for path in sorted(MOUNTED.rglob("*.y*ml")):
        relative = str(path.relative_to(MOUNTED))
        found[relative] = strings(config(relative))
    for name, service in services().items():
        found[f"environment of {name}"] = strings(service.get("environment", {}))
        found[f"command of {name}"] = strings(service.get("command", []))
    return found


def test_every_address_in_every_configuration_is_a_services_and_somebody_listens_there() -> None:
    named = set()
    for place, texts in read_configs().items():
        for text in texts:
            for host, port in ADDRESS.findall(text):
                assert int(port) in listens().get(host, set()), f"{place}: {text}"
                named.add(host)
    assert named >= {"agent", "alertmanager", "collector", "loki", "pager", "prometheus", "tempo"}


@pytest.mark.parametrize("name", NAMES)
def test_every_file_that_a_command_names_is_mounted(name: str) -> None:
    targets = [mount.target for mount in mounts(name)]
    volumes = [each.split(":")[1] for each in services()[name].get("volumes", ())]
    for path in re.findall(
        r"(?<![\w/:])/(?:etc|var|prometheus|alertmanager)[\w./-]*",
        " ".join(strings(services()[name].get("command", []))),
    ):
        assert any(path == target or path.startswith(f"{target}/") for target in (*targets, *volumes)), path


def test_no_password_is_left_open_and_none_is_written_down() -> None:
    assert not re.search(r"PASSWORD|SECRET|TOKEN", COMPOSE.read_text("utf-8") + (ROOT / ".env").read_text("utf-8"))


def test_the_compose_file_says_at_which_addresses_to_look() -> None:
    head = COMPOSE.read_text("utf-8").partition("\nname:")[0]
    for variable in ("GRAFANA_PORT", "PAGER_PORT", "PROMETHEUS_PORT", "ALERTMANAGER_PORT"):
        assert f"http://127.0.0.1:{environment()[variable]}" in head


def as_mounted(name: str, target: str) -> Any:
    """What a service finds at *target*."""
    (mount,) = [each for each in mounts(name) if each.target == target]
    return mount.source


def test_rules_and_runbooks_are_those_of_the_repository() -> None:
    assert as_mounted("prometheus", "/etc/prometheus/rules") == ROOT / "alerts" / "rules"
    assert as_mounted("pager", "/etc/tooltel/runbooks") == ROOT / "alerts" / "runbooks"
