"""A collector for tests: takes OTLP over HTTP, and keeps what it was sent."""

from __future__ import annotations

import gzip
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass
class Collector:
    """`spans` and `logs` are OTLP's own messages, in the order of arrival; `services` who sent them."""

    url: str
    spans: list[Any] = field(default_factory=list)
    logs: list[Any] = field(default_factory=list)
    services: set[str] = field(default_factory=set)
    arrived: threading.Condition = field(default_factory=threading.Condition)

    def take(self, path: str, body: bytes) -> None:
        with self.arrived:
            if path == "/v1/traces":
                for per_resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                    self._note(per_resource.resource)
                    self.spans += [span for scope in per_resource.scope_spans for span in scope.spans]
            else:
                for per_resource in ExportLogsServiceRequest.FromString(body).resource_logs:
                    self._note(per_resource.resource)
                    self.logs += [record for scope in per_resource.scope_logs for record in scope.log_records]
            self.arrived.notify_all()

    def _note(self, resource: Any) -> None:
        self.services |= {each.value.string_value for each in resource.attributes if each.key == "service.name"}


@contextmanager
def collecting() -> Iterator[Collector]:
    """A collector on loopback, for the block."""
    found: list[Collector] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            found[0].take(self.path, gzip.decompress(body) if self.headers["Content-Encoding"] == "gzip" else body)
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class' name
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found.append(Collector(f"http://127.0.0.1:{server.server_port}"))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield found[0]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def attributes(record: Any) -> dict[str, str]:
    """The text attributes of a span or a log record."""
    return {each.key: each.value.string_value for each in record.attributes if each.value.HasField("string_value")}
