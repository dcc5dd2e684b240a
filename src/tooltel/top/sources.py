"""
The two things that can be looked at: one process's /metrics, and a Prometheus that scrapes a fleet.

Which of them a URL is, is asked: nobody has to say.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from tooltel import signals
from tooltel.errors import NoMetricsError
from tooltel.promql import LE, Expr, Scope, differs, duration, either
from tooltel.text import clean
from tooltel.top.asking import TIMEOUT, Address, Answer, ask, read_address
from tooltel.top.gains import KIND, OUTCOME, OWNER, REQUESTED, SOURCE, TOOL, TOOL_OF_DURATION, Key, Part, What, part_of
from tooltel.top.looks import Firing, Look, Window, firing_of
from tooltel.top.pages import NAMES, Page, looks_like_metrics, read_page

WINDOW_OF_PAGES: Final = 60.0  # seconds: a page is read every few
WINDOW_OF_QUERIES: Final = 300.0  # seconds: a rate needs some scrapes, and those come every 15 to 60

# The text format is the cheaper one to make; what answers with OpenMetrics all the same is read as well.
ACCEPT: Final = "text/plain;version=0.0.4, application/openmetrics-text;q=0.5, */*;q=0.1"
_METRICS: Final = "/metrics"
_QUERY: Final = "/api/v1/query"
_WHAT_TO_GIVE: Final = "give the URL of an agent's /metrics or of Prometheus"
_WEB_PAGES: Final = frozenset(
    {"graph", "query", "alerts", "targets", "rules"}
)  # of Prometheus, as a browser shows them
_SAID: Final = 200  # characters of what a server says
_ALERTNAME, _STATE, _SEVERITY, *_ = signals.ALERTS.labels
_FIRING: Final = "firing"
_NOBODYS: Final = "none"


def find_source(
    url: str, *, token: str = "", window: float | None = None, timeout: float = TIMEOUT
) -> MetricsPage | PrometheusServer:
    """
    Find out what *url* is by asking it. Raises NoMetricsError where it is neither.

    *window* is over how many seconds gains are counted; a default of its own for either kind. *timeout* is for each
    request.
    """
    address = _without_page(read_address(url, token=token))
    if address.path.endswith(_METRICS):
        return _page(address, window, timeout)
    answer = ask(
        address.below(_QUERY, shown=address.title),
        {"query": "vector(1)", "name[]": NAMES},
        accept=ACCEPT,
        timeout=timeout,
    )
    _refuse_strangers(answer, address)
    if answer.status == 200 and _is_prometheus(answer):
        return PrometheusServer(address, window=window or WINDOW_OF_QUERIES, timeout=timeout)
    # prometheus_client's own server shows its metrics at every path: then that was the first look already.
    first = answer if answer.status == 200 and looks_like_metrics(answer.text) else None
    try:
        return _page(address.below(_METRICS), window, timeout, first)
    except NoMetricsError:
        if address.path in {"", "/"}:
            raise
        return _page(address, window, timeout)


def _page(address: Address, window: float | None, timeout: float, first: Answer | None = None) -> MetricsPage:
    source = MetricsPage(address, window=window or WINDOW_OF_PAGES, timeout=timeout)
    source.begin(first)
    return source


def _without_page(address: Address) -> Address:
    """The address of a Prometheus, where that of a page of its web interface was given."""
    base, _, page = address.base.rstrip("/").rpartition("/")
    return Address(base, "", address.authorization) if page in _WEB_PAGES else address


class MetricsPage:
    """
    The /metrics page of one process, looked at again and again.

    *clock* is monotonic and *unix_time* is what the page's own times are compared with; both in seconds.
    """

    def __init__(
        self,
        address: Address,
        *,
        window: float,
        timeout: float = TIMEOUT,
        clock: Callable[[], float] = time.monotonic,
        unix_time: Callable[[], float] = time.time,
    ) -> None:
        self.title = address.title
        self.window = window
        self._address = address
        self._timeout = timeout
        self._clock, self._unix_time = clock, unix_time
        self._seen = Window(window)
        self._first: Look | None = None

    def begin(self, answer: Answer | None = None) -> None:
        """Take the first look, from an *answer* that is there already, or by asking. Raises as `look` does."""
        self._first = self._read(self._ask() if answer is None else answer)

    def look(self) -> Look:
        """What was gained within the window; at first, since the process began. Raises NoMetricsError."""
        if self._first is not None:
            first, self._first = self._first, None
            return first
        return self._read(self._ask())

    def _ask(self) -> Answer:
        # An exporter that knows `name[]` leaves all other series out; one that does not, shows everything.
        _refuse_strangers(
            answer := ask(self._address, {"name[]": NAMES}, accept=ACCEPT, timeout=self._timeout), self._address
        )
        return answer

    def _read(self, answer: Answer) -> Look:
        page = read_page(answer.text, self._seen.page)
        if problem := _find_problem(answer, page, self.title):
            raise NoMetricsError(problem)
        return self._seen.add(page, at=self._clock(), now=self._unix_time())


class PrometheusServer:
    """A Prometheus, or what answers its queries: the whole fleet, and what fires."""

    def __init__(self, address: Address, *, window: float, timeout: float = TIMEOUT) -> None:
        self.title = address.title
        self.window = window
        self._address = address
        self._timeout = timeout
        self._queries = queries(duration(window))

    def look(self) -> Look:
        """What was gained within the window, and the alerts that fire now."""
        gains: dict[Part, float] = {}
        keys: set[Key] = set()
        with ThreadPoolExecutor(len(self._queries) + 1) as pool:
            alerts = pool.submit(self._ask, firing_query())
            answers = list(pool.map(self._ask, self._queries.values()))
        for what, samples in zip(self._queries, answers, strict=True):
            for labels, value in samples:
                part = part_of(what, labels)
                if part is not None:
                    if what is not What.NOT_FOUND:
                        keys.add(part.key)
                    gains[part] = gains.get(part, 0.0) + value
        if not gains:
            raise NoMetricsError(
                f"{self.title} is a Prometheus without calls of tools in the last {duration(self.window)}: add the "
                "agents' /metrics to its scrape_configs, or look back further with --window 1h"
            )
        names = (_ALERTNAME, _SEVERITY, OWNER, TOOL)
        firing: tuple[Firing, ...] = firing_of((labels for labels, _ in alerts.result()), names)
        return Look(gains, frozenset(keys), self.window, firing=firing)

    def _ask(self, query: Expr) -> list[tuple[Mapping[str, str], float]]:
        answer = ask(self._address.below(_QUERY, shown=self.title), {"query": query.text}, timeout=self._timeout)
        _refuse_strangers(answer, self._address)
        found = _read_json(answer)
        if found.get("status") != "success":
            said = clean(found.get("error") or f"{answer.status} {answer.content_type}", limit=_SAID)
            raise NoMetricsError(f"{self.title} refuses a query: {said}: try a shorter --window, or a longer --timeout")
        return list(_samples(found))


def queries(window: str) -> dict[What, Expr]:
    """What Prometheus is asked, by what the answers are: gains within *window*, summed over all but a row's labels."""
    scope = Scope()
    return {
        What.CALLS: scope.total(scope.increase(signals.TOOL_CALLS, window), TOOL, OWNER, OUTCOME),
        What.DURATION: scope.total(_durations(scope, window), TOOL_OF_DURATION, OWNER, LE),
        What.REJECTED: scope.total(scope.increase(signals.REJECTIONS, window), TOOL, OWNER, KIND, SOURCE),
        What.NOT_FOUND: scope.total(scope.first_seen_or_increase(signals.NOT_FOUND, window), OWNER, REQUESTED),
    }


def _durations(scope: Scope, window: str) -> Expr:
    """
    Gains of the histogram's buckets.

    Its series are born with the first call, which an increase cannot see: what was not there before the window
    counts with all that it holds. Where that is too much, as behind a Prometheus that has just begun, a quantile still
    is one of that tool; a rate of calls would be nonsense, so those are not read like this.
    """
    series = scope.series(signals.DURATION, "_bucket")
    born = Expr(f"{series.text} unless {series.text} offset {window}", series.labels, loose=True, reads=series.reads)
    return either(born, scope.increase(signals.DURATION, window, "_bucket"))


def firing_query() -> Expr:
    """
    The alerts that fire and have an owner: those of tooltel's own rules, and whose else says whom they are for.

    Without the watchdog, which fires as long as all is well; its severity is that of nobody's business.
    """
    return Scope().series(signals.ALERTS, alertstate=_FIRING, owner=differs(""), severity=differs(_NOBODYS))


def _is_prometheus(answer: Answer) -> bool:
    found = _read_json(answer)
    return found.get("status") == "success" and isinstance(found.get("data"), dict)


def _read_json(answer: Answer) -> dict[str, Any]:
    try:
        found = json.loads(answer.text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _samples(found: dict[str, Any]) -> Iterator[tuple[Mapping[str, str], float]]:
    """Labels and value of each sample of an instant vector; whatever else there is, is passed over."""
    data = found.get("data")
    results = data.get("result") if isinstance(data, dict) else None
    for each in results if isinstance(results, list) else ():
        try:
            labels, value = each["metric"], float(each["value"][1])
        except (KeyError, IndexError, TypeError, ValueError):
            continue
        if isinstance(labels, dict) and all(isinstance(text, str) for text in labels.values()) and value >= 0:
            yield labels, value if value != float("inf") else 0.0


def _refuse_strangers(answer: Answer, address: Address) -> None:
    """Raise where a password is wanted: no other URL of the same server would do better."""
    if answer.status in {401, 403}:
        raise NoMetricsError(
            f"{address.title} lets nobody in who does not say who it is ({answer.status}): put a user into the URL, "
            "as in https://USER:PASSWORD@host, or give --token-file"
        )


def _find_problem(answer: Answer, page: Page, title: str) -> str | None:
    """Why an answer shows nothing of tooltel's, with what to do; None where it does."""
    if answer.status == 503:
        return f"{title} is not ready yet (503): {clean(answer.text.strip(), limit=_SAID)}: try again in a moment"
    if answer.status != 200:
        return f"{title} answers {answer.status}, and is no Prometheus either: {_WHAT_TO_GIVE}"
    if page.known:
        return None
    if answer.text.strip() and not looks_like_metrics(answer.text):
        kind = clean(answer.content_type.partition(";")[0] or "something", limit=_SAID)
        return f"{title} answers with {kind}, not with metrics: {_WHAT_TO_GIVE}"
    return (
        f"{title} shows metrics, but none of tooltel's: give the URL that tel.serve() or tooltel sidecar listens on; "
        "of a Prometheus, give the URL without /metrics"
    )
