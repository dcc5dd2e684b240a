"""
A real Prometheus that already holds a past: OpenMetrics text in, a server to query out.

    with backfilled(servers, text) as prometheus:
        prometheus.query("sum(up)", at=END)

The text may come from anywhere: synthetic data, a demo, a replay.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from tests.servers import Servers

LISTENING: Final = re.compile(r"Listening on.*address=\S*:(\d+)")
READY: Final = "Server is ready to receive web requests"  # it listens before, and refuses queries until then
# As long as promtool makes blocks: a month in blocks of two hours takes half a minute to write and load.
BLOCK: Final = "1000h"


@dataclass(frozen=True)
class Prometheus:
    """A running server. Times are Unix seconds; values come as Prometheus' JSON has them."""

    url: str

    def query(self, expr: str, *, at: float) -> list[dict[str, Any]]:
        """The result of an instant query."""
        return self._results("query", query=expr, time=str(at))

    def query_range(self, expr: str, *, start: float, end: float, step: int) -> list[dict[str, Any]]:
        """The result of a range query."""
        return self._results("query_range", query=expr, start=str(start), end=str(end), step=str(step))

    def label_values(self, label: str, series: str, *, start: float, end: float) -> list[str]:
        """Values of a label of the series that a selector finds, as a variable asks for them."""
        found: list[str] = self._get(
            f"label/{label}/values", **{"match[]": series, "start": str(start), "end": str(end)}
        )
        return found

    def _results(self, path: str, **parameters: str) -> list[dict[str, Any]]:
        results: list[dict[str, Any]] = self._get(path, **parameters)["result"]
        return results

    def _get(self, path: str, **parameters: str) -> Any:
        url = f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        try:
            with urllib.request.urlopen(url, timeout=60) as answer:  # noqa: S310 - loopback, our own server
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            raise QueryError(f"{json.load(error).get('error')}: {parameters}") from error


class QueryError(Exception):
    """Prometheus refused a query; the message is its own, and the query."""


@contextmanager
def backfilled(servers: Servers, text: str) -> Iterator[Prometheus]:
    """Run the Prometheus of *servers* over the samples in *text*, on a free port of loopback, until left."""
    with tempfile.TemporaryDirectory() as name:
        data = Path(name, "data")
        write_blocks(servers, text, data)
        with serving(servers, data) as prometheus:
            yield prometheus


def write_blocks(servers: Servers, text: str, data: Path) -> None:
    """Add the samples in *text* to the storage in *data*, which no server may be using."""
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".om") as source:
        source.write(text)
        source.flush()
        blocks = ["tsdb", "create-blocks-from", f"--max-block-duration={BLOCK}", "openmetrics"]
        command: list[str | Path] = [servers.promtool, *blocks, source.name, data]
        made = subprocess.run(command, capture_output=True, text=True, check=False)
    if made.returncode != 0:
        raise ValueError(f"promtool cannot read the samples: {made.stderr or made.stdout}")


@contextmanager
def serving(servers: Servers, data: Path, *, rules: Iterable[Path] = ()) -> Iterator[Prometheus]:
    """Run the Prometheus of *servers* over the storage in *data*, on a free port of loopback, until left."""
    config = data.parent / "prometheus.yml"
    # JSON is YAML too.
    config.write_text(json.dumps({"global": {}, "rule_files": [str(path) for path in rules]}), encoding="utf-8")
    command: list[str | Path] = [
        servers.prometheus,
        f"--config.file={config}",
        f"--storage.tsdb.path={data}",
        "--storage.tsdb.retention.time=10y",
        "--web.listen-address=127.0.0.1:0",
        "--log.level=info",
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield Prometheus(f"http://127.0.0.1:{_port(process.stderr)}")
        finally:
            process.terminate()
            if process.stderr is not None:
                process.stderr.read()  # to its end, or a full pipe would keep the server from stopping


def _port(log: IO[str] | None) -> int:
    lines: list[str] = []
    port, ready = None, False
    for line in log or ():
        lines.append(line)
        if found := LISTENING.search(line):
            port = int(found[1])
        ready = ready or READY in line
        if ready and port is not None:
            return port
    raise RuntimeError(f"Prometheus did not start:\n{''.join(lines[-20:])}")
