"""A host that logs JSON by python-json-logger: its lines carry the call's keys, and a drop among them counts once."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from pythonjsonlogger.json import JsonFormatter

from tests.processors.kit import CALLER, CATALOG, DROPS, adk
from tooltel.match import Judge, builtin_rules
from tooltel.processors.stdlib import install
from tooltel.sidecar.judging import LineJudge

if TYPE_CHECKING:
    from tooltel import Tooltel
    from tooltel.testing import Captured


class Host:
    """A logger with a JSON handler, and what it wrote."""

    def __init__(self, logger: logging.Logger) -> None:
        self.stream = io.StringIO()
        self.handler = logging.StreamHandler(self.stream)
        self.handler.setFormatter(JsonFormatter("%(levelname)s %(name)s %(message)s"))
        self.logger = logger
        logger.addHandler(self.handler)

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.stream.getvalue().splitlines()]


@pytest.fixture
def host(tel: Tooltel, log: logging.Logger) -> Iterator[Host]:
    made = Host(log)
    with install(tel, loggers=[log.name]):
        yield made
    log.removeHandler(made.handler)


def test_a_line_inside_a_call_carries_the_calls_keys(tel: Tooltel, host: Host) -> None:
    with tel.session(profile="support", id="s-1"), tel.call("order_find"):
        host.logger.info("looking for %s", "o-1", extra={"order_id": "o-1"})
    host.logger.info("done")
    inside, outside = host.lines()
    assert inside.items() >= {
        "message": "looking for o-1", "order_id": "o-1", "gen_ai.tool.name": "order_find", "tool.owner": "orders",
        "tool.risk": "read", "tool.profile": "support", "gen_ai.conversation.id": "s-1",
    }.items()  # fmt: skip
    assert outside == {"levelname": "INFO", "name": CALLER, "message": "done"}


def test_a_drop_counts_once_in_the_process_and_once_for_a_sidecar_that_reads_the_line(
    tel: Tooltel, seen: Captured, host: Host
) -> None:
    with tel.session(profile="support"):
        host.logger.warning(adk("order_fnd"))
        host.logger.warning("Tool %r is slow", "order_find")
    assert seen.increase(DROPS) == 1
    judging = LineJudge(Judge(builtin_rules(), CATALOG, "support"), skipped=lambda _cause: pytest.fail("skipped"))
    log = bytearray(host.stream.getvalue().encode())
    judging.take(log, 0, len(log), {}, is_patient=False)
    ((matched, times),) = judging.drain()
    assert matched.outcome.missing is not None
    assert (matched.outcome.missing.requested, times) == ("order_fnd", 1)
