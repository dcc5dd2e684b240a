"""The collector: every part is defined, used, and in the distribution; spans and lines go their ways."""

from __future__ import annotations

from typing import Any

import pytest

from tests.deploy.stack import config, environment, services

# Of the manifest of otelcol-contrib (github.com/open-telemetry/opentelemetry-collector-releases), the parts that this
# stack may want, by the names that a configuration uses since v0.144.0, which renamed otlp and otlphttp.
SHIPPED = {
    "receivers": {"otlp", "filelog", "nop"},
    "processors": {"memory_limiter", "batch", "attributes", "filter", "resource", "transform", "redaction"},
    "exporters": {"otlp_grpc", "otlp_http", "debug", "nop", "file", "prometheus", "prometheusremotewrite"},
    "extensions": {"health_check", "pprof", "zpages", "file_storage"},
    "connectors": {"forward", "count", "spanmetrics"},
}


def collector() -> dict[str, Any]:
    """The configuration as it is mounted."""
    found: dict[str, Any] = config("collector/config.yaml")
    return found


def pipelines() -> dict[str, dict[str, list[str]]]:
    """Every pipeline by name."""
    found: dict[str, dict[str, list[str]]] = collector()["service"]["pipelines"]
    return found


def test_it_has_only_the_sections_that_there_are() -> None:
    assert set(collector()) <= {*SHIPPED, "service"}
    assert set(collector()["service"]) == {"extensions", "pipelines"}


@pytest.mark.parametrize("section", SHIPPED)
def test_every_part_is_one_that_the_pinned_distribution_ships(section: str) -> None:
    kinds = {name.partition("/")[0] for name in collector().get(section, {})}
    assert kinds <= SHIPPED[section]


def test_the_names_are_those_of_the_pinned_version() -> None:
    image, _, version = environment()["COLLECTOR_IMAGE"].partition(":")
    assert image == "otel/opentelemetry-collector-contrib"
    assert tuple(map(int, version.split("."))) >= (0, 144, 0)


@pytest.mark.parametrize("section", ["receivers", "processors", "exporters"])
def test_every_part_is_used_and_every_one_used_is_defined(section: str) -> None:
    used = {name for pipeline in pipelines().values() for name in pipeline.get(section, ())}
    assert used == set(collector()[section])


def test_every_extension_is_started() -> None:
    assert set(collector()["service"]["extensions"]) == set(collector()["extensions"])


@pytest.mark.parametrize("kind", ["traces", "logs"])
def test_memory_is_bounded_first_and_batches_come_last(kind: str) -> None:
    assert pipelines()[kind]["processors"] == ["memory_limiter", "batch"]


def test_spans_go_to_tempo_and_lines_to_loki() -> None:
    assert set(pipelines()) == {"traces", "logs"}  # metrics are scraped
    ends = {
        kind: [collector()["exporters"][name]["endpoint"] for name in each["exporters"]]
        for kind, each in pipelines().items()
    }
    # OTLP over HTTP: Loki takes it below /otlp, the exporter adds the rest.
    assert ends == {"traces": ["tempo:4317"], "logs": ["http://loki:3100/otlp"]}


def test_the_agent_pushes_where_the_collector_listens_in_the_protocol_of_that_port() -> None:
    environ = services()["agent"]["environment"]
    protocols = collector()["receivers"]["otlp"]["protocols"]
    port = protocols["http"]["endpoint"].rpartition(":")[2]
    assert environ["OTEL_EXPORTER_OTLP_ENDPOINT"] == f"http://collector:{port}"
    assert environ["OTEL_EXPORTER_OTLP_PROTOCOL"] == "http/protobuf"


def test_loki_keeps_what_stands_beside_a_line_and_forgets_after_a_while() -> None:
    loki = config("loki/loki.yaml")
    assert loki["limits_config"]["allow_structured_metadata"] is True
    (schema,) = loki["schema_config"]["configs"]
    assert (schema["store"], schema["schema"]) == ("tsdb", "v13")  # the first that has structured metadata
    assert loki["compactor"]["retention_enabled"] is True
    assert loki["limits_config"]["retention_period"]


@pytest.mark.parametrize(("service", "path"), [("tempo", "tempo/tempo.yaml"), ("loki", "loki/loki.yaml")])
def test_a_store_writes_into_its_volume_only(service: str, path: str) -> None:
    (volume,) = [each.split(":")[1] for each in services()[service]["volumes"] if not each.startswith(".")]
    text = str(config(path))
    folders = [word for word in text.replace("'", " ").replace(",", " ").split() if word.startswith(("/var", "/loki"))]
    assert folders
    assert all(folder.startswith(volume) for folder in folders)
    assert services()[service]["read_only"] is True
