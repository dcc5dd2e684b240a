"""The Kubernetes examples: valid for the cluster, and true of the command that they start."""

from __future__ import annotations

import copy
import re
import shutil
import subprocess
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import kubernetes_validate
import pytest
import yaml

from tests.deploy.stack import ROOT
from tests.sidecar.kit import Sidecar, append, expected, line
from tests.sidecar.test_serving import get, scrape_of
from tooltel.cli.app import app
from tooltel.cli.sidecar import sidecar as command
from tooltel.loading import read_catalog
from tooltel.match import find_signature_problems
from tooltel.sidecar.serving import Server

FOLDER: Final = ROOT / "deploy" / "kubernetes"
WORKLOADS: Final = {"sidecar": "Deployment", "daemonset": "DaemonSet"}
EXAMPLES: Final = tuple(WORKLOADS)
VERSIONS: Final = ("1.29", kubernetes_validate.latest_version())  # where sidecar containers came, and the newest
WITHOUT_SCHEMA: Final = ("PodMonitor", "Kustomization")


@lru_cache
def documents(example: str) -> dict[str, dict[str, Any]]:
    """What the files of an example hold, by kind."""
    files = sorted((FOLDER / example).glob("*.yaml"))
    found = [document for file in files for document in yaml.safe_load_all(file.read_text("utf-8"))]
    return {document["kind"]: document for document in found}


def pod(example: str) -> dict[str, Any]:
    """The pod of an example: template with metadata and spec."""
    return dict(documents(example)[WORKLOADS[example]]["spec"]["template"])


def container(example: str) -> dict[str, Any]:
    """The container that runs tooltel."""
    spec = pod(example)["spec"]
    (found,) = [each for each in (*spec.get("initContainers", ()), *spec["containers"]) if each["name"] == "tooltel"]
    return dict(found)


def options(example: str) -> dict[str, Any]:
    """The options that our own command line reads out of the container's arguments."""
    name, *arguments = container(example)["args"]
    assert name == command.name
    return command.make_context(name, list(arguments), **app.context_settings).params


def mounts(example: str) -> dict[str, dict[str, Any]]:
    """What is mounted into the container, by path."""
    return {mount["mountPath"]: mount for mount in container(example)["volumeMounts"]}


def mount_of(example: str, path: str) -> dict[str, Any]:
    """The mount that *path* is in."""
    folders = [str(each) for each in (Path(path), *Path(path).parents)]
    return next(mounts(example)[folder] for folder in folders if folder in mounts(example))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("example", EXAMPLES)
def test_a_cluster_knows_every_field(example: str, version: str) -> None:
    checked = [each for kind, each in documents(example).items() if kind not in WITHOUT_SCHEMA]
    assert checked
    for document in checked:
        kubernetes_validate.validate(document, version, strict=True)


@pytest.mark.parametrize("damage", ["unknown field", "wrong type", "missing"])
def test_a_damaged_example_is_refused(damage: str) -> None:
    """Else the test above proves nothing."""
    damaged = copy.deepcopy(documents("sidecar")["Deployment"])
    spec = damaged["spec"]["template"]["spec"]
    if damage == "unknown field":
        spec["initContainers"][0]["restartPolcy"] = "Always"
    elif damage == "wrong type":
        spec["initContainers"][0]["ports"][0]["containerPort"] = "9464"
    else:
        del damaged["spec"]["selector"]
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(damaged, VERSIONS[-1], strict=True)


@pytest.mark.parametrize("example", EXAMPLES)
def test_kustomize_puts_it_together(example: str) -> None:
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        pytest.skip("no kubectl: install it to have the kustomizations built")
    said = subprocess.run([kubectl, "kustomize", FOLDER / example], capture_output=True, text=True, check=True)
    built = {document["kind"]: document for document in yaml.safe_load_all(said.stdout)}
    for document in built.values():
        kubernetes_validate.validate(document, VERSIONS[-1], strict=True)
    workload = built[WORKLOADS[example]]
    spec = workload["spec"]["template"]["spec"]
    (catalog,) = [volume["configMap"]["name"] for volume in spec["volumes"] if "configMap" in volume]
    assert catalog == built["ConfigMap"]["metadata"]["name"] != "tooltel-catalog"
    assert built["ConfigMap"]["data"]["tools.toml"] == (FOLDER / example / "tools.toml").read_text("utf-8")
    images = [each["image"] for each in (*spec.get("initContainers", ()), *spec["containers"])]
    assert all(re.fullmatch(r"registry\.example\.com/[\w-]+:\d+\.\d+\.\d+", image) for image in images)


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_catalog_has_no_problem_and_its_sources_lie_in_a_mount(example: str) -> None:
    catalog, problems = read_catalog(str(FOLDER / example / "tools.toml"))
    assert catalog is not None
    assert problems == []
    assert find_signature_problems(catalog) == []
    files = [pattern for source in catalog.sources.values() for pattern in source.files]
    assert files
    for pattern in files:
        assert mount_of(example, pattern)["readOnly"] is True
    assert {source.format for source in catalog.sources.values()} == ({"auto"} if example == "sidecar" else {"cri"})


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_argument_is_an_option_and_every_path_is_mounted(example: str) -> None:
    given = options(example)
    catalog, state = mount_of(example, given["catalog"]), mount_of(example, str(given["state"]))
    assert (catalog["name"], catalog["readOnly"], Path(given["catalog"]).name) == ("catalog", True, "tools.toml")
    assert state["name"] == "state"
    assert "readOnly" not in state
    volumes = {volume["name"] for volume in pod(example)["spec"]["volumes"]}
    assert {mount["name"] for mount in mounts(example).values()} == volumes
    assert not given["once"]
    assert not given["stdin"]
    assert given["command"] == ()


@pytest.mark.parametrize("example", EXAMPLES)
def test_one_port_is_listened_on_probed_scraped_and_let_through(example: str) -> None:
    (port,) = container(example)["ports"]
    host, _, number = options(example)["listen"].rpartition(":")
    assert (host, int(number)) == ("0.0.0.0", port["containerPort"])  # noqa: S104 - the pod's own address
    annotations = pod(example)["metadata"]["annotations"]
    assert annotations["prometheus.io/port"] == number
    probes = [value for key, value in container(example).items() if key.endswith("Probe")]
    assert {probe["httpGet"]["port"] for probe in probes} == {port["name"]}
    (endpoint,) = documents(example)["PodMonitor"]["spec"]["podMetricsEndpoints"]
    assert endpoint["port"] == port["name"]
    assert endpoint["path"] == annotations["prometheus.io/path"]
    if example == "daemonset":
        (rule,) = documents(example)["NetworkPolicy"]["spec"]["ingress"]
        assert [each["port"] for each in rule["ports"]] == [port["name"]]
        assert documents(example)["NetworkPolicy"]["spec"]["egress"] == []


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_probed_path_is_answered(example: str, tmp_path: Path) -> None:
    probes = {value["httpGet"]["path"] for key, value in container(example).items() if key.endswith("Probe")}
    assert probes == {"/healthz", "/readyz"}
    bench = Sidecar(tmp_path)
    bench.crank()
    clock = bench.clock.monotonic
    with Server(bench.engine, scrape_of(bench), host="127.0.0.1", port=0, monotonic=clock) as server:
        for path in (*probes, pod(example)["metadata"]["annotations"]["prometheus.io/path"]):
            assert get(server, path)[0] == 200
        assert get(server, "/health")[0] == 404


@pytest.mark.parametrize("example", EXAMPLES)
def test_selectors_fit_the_pod(example: str) -> None:
    labels = pod(example)["metadata"]["labels"]
    selecting = [
        documents(example)["PodMonitor"]["spec"]["selector"],
        documents(example)[WORKLOADS[example]]["spec"]["selector"],
    ]
    if example == "daemonset":
        selecting.append(documents(example)["NetworkPolicy"]["spec"]["podSelector"])
    for selector in selecting:
        assert selector["matchLabels"].items() <= labels.items()


def test_what_the_agent_wrote_before_its_end_is_read_when_the_sidecar_is_told_to_stop(tmp_path: Path) -> None:
    append(tmp_path / "app.log", line(1))
    bench = Sidecar(tmp_path)

    class LastWords:
        def wait(self, seconds: float) -> bool:
            bench.clock.advance(0.1)
            append(tmp_path / "app.log", line(2))
            return False

    bench.engine.run(LastWords())
    assert bench.names() == expected(1, 2)


@pytest.mark.parametrize("away", [False, True], ids=["reader there", "reader away"])
def test_the_kubelets_rotation_and_new_containers_lose_nothing(tmp_path: Path, away: bool) -> None:
    """The node's folder, as the glob of the example names it: links into /var/log/pods, where files are renamed."""
    catalog, _ = read_catalog(str(FOLDER / "daemonset" / "tools.toml"))
    assert catalog is not None
    (pattern,) = catalog.sources["support"].files
    (tmp_path / "var/log/containers").mkdir(parents=True)
    logs = tmp_path / "var/log/pods/agents_support-agent-x1_uid/agent"
    logs.mkdir(parents=True)

    def said(log: Path, *numbers: int) -> None:
        append(log, *(b"2026-11-30T17:49:25.123456789Z stdout F " + line(number) for number in numbers))

    def started(container_id: str, log: Path) -> None:
        name = pattern.replace("support-agent-*", "support-agent-x1").replace(
            "agent-*.log", f"agent-{container_id}.log"
        )
        (tmp_path / name.lstrip("/")).symlink_to(log)

    first, second = logs / "0.log", logs / "1.log"
    said(first, *range(30))
    started("aa", first)
    reader = Sidecar(tmp_path, pattern.lstrip("/"), source={"format": "cri"})
    reader.settle()
    if away:
        reader.kill()
    for number in (30, 40):
        said(first, *range(number, number + 5))
        rotated = first.rename(logs / f"0.log.20261130-17{number}00")
        said(rotated, *range(number + 5, number + 10))  # the runtime has not opened the new file yet
    said(first, *range(50, 55))
    said(second, *range(55, 60))
    started("bb", second)
    if away:
        reader.start()
    reader.settle()
    assert reader.names() == expected(*range(60))


def test_the_sidecar_starts_before_the_agent_and_ends_after_it() -> None:
    spec = pod("sidecar")["spec"]
    (found,) = spec["initContainers"]
    assert (found["name"], found["restartPolicy"]) == ("tooltel", "Always")
    (agent,) = spec["containers"]
    assert mounts("sidecar")["/var/log/agent"]["name"] in {mount["name"] for mount in agent["volumeMounts"]}


@pytest.mark.parametrize("example", EXAMPLES)
def test_nothing_is_allowed_that_is_not_needed(example: str) -> None:
    spec = pod(example)["spec"]
    assert spec["automountServiceAccountToken"] is False
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    for each in (*spec.get("initContainers", ()), *spec["containers"]):
        allowed = each["securityContext"]
        assert allowed["readOnlyRootFilesystem"] is True
        assert allowed["allowPrivilegeEscalation"] is False
        assert allowed["capabilities"] == {"drop": ["ALL"]}
        assert {"memory", "ephemeral-storage"} <= each["resources"]["limits"].keys()
    for key in ("hostNetwork", "hostPID", "hostIPC", "serviceAccountName"):
        assert key not in spec
    if example == "sidecar":
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert all("hostPath" not in volume for volume in spec["volumes"])


def test_the_node_lends_its_logs_to_read_and_one_folder_to_write() -> None:
    lent = {
        each["name"]: each["hostPath"]["path"] for each in pod("daemonset")["spec"]["volumes"] if "hostPath" in each
    }
    assert lent == {"logs": "/var/log", "state": "/var/lib/tooltel"}
    assert mounts("daemonset")["/var/log"]["readOnly"] is True
    rolling = documents("daemonset")["DaemonSet"]["spec"]["updateStrategy"]["rollingUpdate"]
    assert rolling["maxSurge"] == 0, "two readers on a node would be one too many for the state"


def test_the_image_has_what_the_sidecar_needs() -> None:
    text = (FOLDER / "Dockerfile").read_text("utf-8")
    assert '".[cli,sidecar]"' in text
    assert re.search(r'^ENTRYPOINT \["tooltel"\]$', text, re.MULTILINE)
    user = re.search(r"^USER (\d+):(\d+)$", text, re.MULTILINE)
    assert user
    assert int(user[1]) == pod("sidecar")["spec"]["securityContext"]["runAsUser"] != 0
    for name in re.findall(r"^COPY (?!--from)(.+) \S+$", text, re.MULTILINE)[0].split():
        assert (ROOT / name).exists()
