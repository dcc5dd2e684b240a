"""Tooltel: the object that holds catalog, recorders and settings together; `configure()` and the default instance."""

from __future__ import annotations

import logging
import os
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, Literal, Self, TypeVar, Unpack, overload

from opentelemetry import trace

from tooltel import boundary, declaring, late, signals, wrapping
from tooltel._version import version as VERSION  # noqa: N812 - a constant of the package
from tooltel.boundary import Requested
from tooltel.call import Binding, Block, Services, Session, current_call, current_session, entered
from tooltel.catalog import Catalog, Tool
from tooltel.errors import CatalogError, MissingExtraError, NotConfiguredError, Problem
from tooltel.exposition import CatalogCollector, Exposition, View, asgi_app, default_registry, wsgi_app
from tooltel.observed import Observed
from tooltel.outcome import Origin, Outcome, Rejection
from tooltel.recorders.prometheus import TOOLS_WITH_FIELDS, Instruments, is_multiprocess, make_recorder
from tooltel.recorders.spans import Spans
from tooltel.recording import FanOut, Guard
from tooltel.redact import Payloads, redact
from tooltel.repeats import Repeats
from tooltel.settings import Settings
from tooltel.signals import Component, Event, RejectionKind, RejectionSource, Status
from tooltel.starting import admit, read_catalog
from tooltel.text import clean

if TYPE_CHECKING:
    from opentelemetry.trace import Span, TracerProvider
    from prometheus_client.registry import CollectorRegistry

    from tooltel.outcome import Recorder
    from tooltel.starting import CatalogLike
    from tooltel.wrapping import ToolFields

F = TypeVar("F", bound=Callable[..., Any])

PORT: Final = 9464  # the port OpenTelemetry's Prometheus exporters listen on
_NONE: Final[frozenset[str]] = frozenset()
_WARNED_NAMES: Final = 100  # unknown profiles that get a warning of their own


class Tooltel:
    """
    Watches the tool calls of one process.

    *catalog* is a path to a catalog file, a Catalog made in code, or None: then tools are declared where they are
    wrapped. *profile* and *agent* are what calls outside any session carry. *registry* defaults to the host's
    `prometheus_client.REGISTRY`, *tracer_provider* to OpenTelemetry's global one, *clock* gives seconds as
    `time.perf_counter` does. *recorders* are further sinks, called with every Outcome. *declarations* are what each
    profile sends to the model, judged at start-up. *count_tokens* maps declaration text to a number of tokens.
    *redactor* says what is kept of a payload where the setting `capture_payloads` is on.

    Raises CatalogError with every problem of the catalog; `on_problem="warn"` turns house rules into warnings.
    """

    def __init__(  # noqa: PLR0913, PLR0915 - everything it uses is a parameter, so that nothing is ambient
        self,
        catalog: CatalogLike = None,
        *,
        profile: str | None = None,
        agent: str | None = None,
        registry: CollectorRegistry | None = None,
        tracer_provider: TracerProvider | None = None,
        clock: Callable[[], float] = time.perf_counter,
        recorders: Iterable[Recorder] = (),
        on_problem: Literal["raise", "warn"] = "raise",
        declarations: Mapping[str, Sequence[Any]] | None = None,
        count_tokens: Callable[[str], int] | None = None,
        redactor: Callable[[object], str] = redact,
        settings: Settings | None = None,
    ) -> None:
        # Late: structlog costs as much to import as everything else here together.
        from tooltel.recorders.logs import EventLog, LogRecorder

        self.settings = settings if settings is not None else Settings.read(os.environ)
        self._source = catalog
        self._on_problem = on_problem
        self._keys = _attribute_keys(self.settings)
        self.events = EventLog(self._keys)
        self.guard = Guard()
        self._warned: set[str] = set()
        self._lock = threading.RLock()
        self._bindings: weakref.WeakSet[Binding] = weakref.WeakSet()
        self._inline: dict[str, Tool] = {}
        self._shown: dict[str, object] = {}  # the schema last noted, by the name that the model was shown
        self._strangers: dict[str, Binding] = {}  # by name, old ones too; each holds until its tool is replaced
        loaded, problems = read_catalog(catalog, declarations)
        self._say_problems(admit(problems, on_problem, source=loaded.source if loaded else str(catalog)))
        assert loaded is not None  # noqa: S101 - admit() has raised otherwise
        self._catalog = loaded.relaxed() if on_problem == "warn" else loaded
        self._loaded_at = time.time()

        self.registry = registry if registry is not None else default_registry()
        self._collector = CatalogCollector(lambda: self._catalog, lambda: self._loaded_at, VERSION)
        self._instruments = Instruments(self.registry, beside=self._collector)
        self._metrics = make_recorder(self._instruments, exemplars=self.settings.exemplars)
        self._metrics.bear_catalog(self._catalog)
        self.view = View(
            self.registry,
            catalog=self._collector,
            born=self._metrics.born,
            contain=partial(self.guard.contain, Component.EXPOSITION),
        )
        tracer = trace.get_tracer(signals.SCOPE, VERSION, tracer_provider)
        spans = Spans(tracer, keys=self._keys, record_exceptions=self.settings.record_exceptions)
        self.logs = LogRecorder(self.events, log_calls=self.settings.log_calls)
        self.guard.count = self._count_internal_error
        self.guard.say = self._say_internal_error
        sinks: list[tuple[Component, Recorder]] = [
            (Component.METRICS, self._metrics.settled),
            (Component.LOGS, self.logs.settled),
        ]
        sinks += [(Component.RECORDER, recorder) for recorder in recorders]
        sinks.append((Component.SPANS, spans.settled))  # last: a sink may still link to the open span
        enabled = not self.settings.disabled
        self.services = Services(
            clock=clock,
            guard=self.guard,
            fan_out=FanOut(self.guard, tuple(sinks) if enabled else ()),
            openers=((Component.SPANS, spans.opened), (Component.METRICS, self._metrics.opened)) if enabled else (),
            repeats=Repeats(
                sessions=self.settings.repeat_sessions,
                calls=self.settings.repeat_calls,
                window=self.settings.repeat_window_seconds,
            ),
            session=Session(self._origin(profile, agent, None), asked_profile=profile),
        )
        self.services.fan_out.shorten({spans.settled: spans.went_well, self._metrics.settled: self._metrics.went_well})
        self.services.keys = self._keys
        self.services.payloads = Payloads(redactor) if self.settings.capture_payloads else None
        self.spans = spans
        self._declared = declaring.Declared(self._instruments, count_tokens)
        for name, sent in (declarations or {}).items():
            self.declared(name, sent)
        self.logs.on_nobody_listens = lambda: self.services.fan_out.spare(self.logs.settled)
        _watch_forks(self)
        late.watch_collections()

    # --- the catalog ---

    @property
    def catalog(self) -> Catalog:
        """The catalog in use, tools declared in code included."""
        return self._catalog

    def reload(self, catalog: CatalogLike = None) -> tuple[Problem, ...]:
        """
        Read the catalog file again, or take *catalog* instead; give the problems that kept the old one in use.

        Nothing is replaced unless everything is right. Running calls keep the Tool they started with. Never raises:
        a bad file is counted and logged.
        """
        with self._lock:  # all of it: a tool wrapped meanwhile must be asked about, too
            return self._reload(self._source if catalog is None else catalog)

    def _reload(self, source: CatalogLike) -> tuple[Problem, ...]:
        try:
            new, problems = read_catalog(source, None)
            problems = [*problems, *(wrapping.left_out(self._bindings, new, self._inline) if new else ())]
            for tool in self._inline.values():
                new = new.with_tool(tool) if new else None
            warned = admit(problems, self._on_problem, source=str(new.source if new else source))
        except CatalogError as error:
            return self._keep_catalog(error.problems)
        except Exception as error:  # noqa: BLE001 - a reload may run in a signal handler
            what = f"cannot be read: {clean(error)}"
            return self._keep_catalog((Problem("unreadable", str(source), what, "give a readable catalog file"),))
        assert new is not None  # noqa: S101 - admit() has raised otherwise
        self._say_problems(warned)
        self._source = source
        self._catalog = new.relaxed() if self._on_problem == "warn" else new
        self._loaded_at = time.time()
        self._shown = {}  # a name may now be another tool's
        for binding in tuple(self._bindings):
            binding.bind(new.tools[binding.tool.name])
            self._metrics.bear_tool(binding.tool)
        self._metrics.bear_catalog(new)
        self._declared.follow(new)
        asked, origin = self.services.session.asked_profile, self.services.session.origin
        self.services.session = Session(self._origin(asked, origin.agent, None), asked_profile=asked)
        self._say("info", Event.CATALOG_RELOADED, sha=new.sha, tools=len(new.tools))
        return ()

    def _keep_catalog(self, problems: tuple[Problem, ...]) -> tuple[Problem, ...]:
        self._instruments.count(signals.CATALOG_RELOAD_FAILURES)
        self._say("error", Event.CATALOG_RELOAD_FAILED, problems=[str(problem) for problem in problems])
        return problems

    def _say_problems(self, problems: Iterable[Problem]) -> None:
        for problem in problems:
            self._say("warning", Event.CATALOG_PROBLEM, problem=str(problem))

    # --- wrapping ---

    @overload
    def tool(self, fn: F, /, **declared: Unpack[ToolFields]) -> F: ...
    @overload
    def tool(self, /, **declared: Unpack[ToolFields]) -> Callable[[F], F]: ...
    def tool(self, fn: Any = None, /, **declared: Unpack[ToolFields]) -> Any:
        """
        Wrap a tool, so that every call of it is recorded: `@tel.tool` or `@tel.tool(owner=..., risk=...)`.

        The tool is the catalog's of that name (`name=`, else the function's own), or is declared here with at least
        an owner; to declare what the catalog contradicts is an error. Functions, coroutine functions, generators and
        async generators, methods (also static and class methods), partials and callable objects stay what they are.
        """
        if fn is None:
            return lambda given: self.tool(given, **declared)
        if isinstance(fn, (staticmethod, classmethod)):
            return type(fn)(self.tool(fn.__func__, **declared))
        wrapping.refuse_class(fn)
        if self.settings.disabled or wrapping.is_wrapped(fn, self.services, declared.get("name")):
            return fn
        with self._lock:
            tool, catalog, problems = wrapping.resolve(self._catalog, fn, declared)
            self._say_problems(admit(problems, self._on_problem, source=wrapping.place_of(fn)))
            if catalog is not self._catalog:
                self._catalog = catalog
                self._inline[tool.name] = tool
            return self._bind(fn, tool, None)

    def alias(self, name: str, target: Callable[..., Any], /) -> Callable[..., Any]:
        """
        Give *target*, a wrapped tool, under its old *name*.

        It works as before, and its calls are counted as alias calls, so that one can see when the old name may go.
        The name must be among the tool's `aliases`; otherwise CatalogError says what to add.
        """
        if self.settings.disabled:
            return target
        if isinstance(target, (staticmethod, classmethod)):
            return type(target)(self.alias(name, target.__func__))
        binding = wrapping.binding_of(target)
        if name not in binding.tool.aliases:
            problem = wrapping.unknown_alias(name, binding.tool, place=wrapping.place_of(target))
            raise CatalogError([problem], source=self._catalog.source)
        return self._bind(wrapping.unwrapped(target), binding.tool, name)

    def _bind(self, fn: Callable[..., Any], tool: Tool, alias: str | None) -> Callable[..., Any]:
        binding = Binding(tool, self.services, fn, alias)
        self._bindings.add(binding)
        self._metrics.bear_tool(tool)
        self._metrics.know_fields(tool.name, wrapping.parameter_names(binding))
        return wrapping.shell(fn, binding)

    # --- sessions and calls ---

    def session(
        self,
        *,
        profile: str | None = None,
        agent: str | None = None,
        id: str | None = None,  # noqa: A002 - the noun's own word
    ) -> AbstractContextManager[Session]:
        """
        One conversation: every call inside the block carries its profile, agent name and id.

        What is left out is the process default. A profile that the catalog does not hold is recorded as `other`, and
        warned about once. Sessions nest, and follow tasks and copied contexts.
        """
        default = self.services.session
        asked = default.asked_profile if profile is None else profile
        agent = default.origin.agent if agent is None else agent
        session_id = None if id == "" else id
        origin, key = self._origin(asked, agent, session_id), _session_key(session_id)
        profile_key = self._keys[signals.PROFILE]
        made = Session(origin, asked_profile=asked, key=key, within=current_call(), profile_key=profile_key)
        return entered(made, forget=self.services.repeats.forget if session_id is None else None)

    def _origin(self, profile: str | None, agent: str | None, session_id: str | None) -> Origin:
        label = self._catalog.profile_label(profile)
        if profile is not None and label != profile:
            self._warn_once(f"profile {clean(profile)!r} is not in the catalog; its calls are recorded as {label!r}")
        return Origin(label, None if agent is None else clean(agent), None if session_id is None else clean(session_id))

    def origin(self) -> Origin:
        """Where a call made now would come from: the session of this context, or the process default."""
        return (current_session() or self.services.session).origin

    def call(self, name: str, arguments: Mapping[str, Any] | None = None, *, call_id: str | None = None) -> Block:
        """
        Record a call of tool *name* that no decorator wraps: `with tel.call("kb_search") as call: ...`.

        `call.returned(result)` judges a result by its shape. An old name counts as an alias call; a name that the
        catalog does not hold is recorded with owner `unowned`.
        """
        binding = self._stranger(name)
        return Block(binding, arguments, None if call_id is None else clean(call_id))

    def _stranger(self, name: str) -> Binding:
        """The binding of a call that no shell makes: of the catalog's tool, or of one that nobody owns."""
        catalog = self._catalog
        known = self._strangers.get(name)
        if known is not None and catalog.tools.get(known.tool.name) is known.tool:
            return known
        alias = catalog.aliases.get(name)
        tool = catalog.tools.get(alias.tool if alias else name)
        if tool is None:  # not kept: a model may have made the name up
            return Binding(Tool(clean(name), signals.UNOWNED, signals.UNKNOWN_RISK, ""), self.services, None)
        made = self._strangers[name] = Binding(tool, self.services, None, alias.name if alias else None)
        return made

    def observe(
        self,
        name: str,
        arguments: Mapping[str, Any] | str | None = None,
        *,
        call_id: str | None = None,
        span: Span | None = None,
        session: Session | None = None,
    ) -> Observed:
        """
        Record a call that a framework runs, from now until one of the verbs of what is returned: for plug-ins.

        *arguments* may be the model's own JSON text, which is read only where something is to be known of it.
        With the framework's own *span* that span is tagged; without one, a span is made. A wrapper around the tool
        itself tells this call what it saw, instead of counting a second one. *session* is the framework's
        conversation, where no block could set one; the call and what it calls are of that session.
        """
        call = Observed(call_id=None if call_id is None else clean(call_id), span=span, session=session)
        binding = self._stranger(name)
        if isinstance(arguments, str):
            is_wanted = binding.counts_repeats or self.services.payloads is not None
            arguments = boundary.read_object(arguments) if is_wanted else None
        call.begin(binding, (), arguments)
        return call

    def raw_arguments(
        self,
        name: str,
        arguments: Mapping[str, Any] | str,  # noqa: ARG002 - the seam
        schema: object,
    ) -> None:
        """
        Take note of *arguments* as the model wrote them, before a framework coerces or drops any: for plug-ins.

        They are data, or JSON text. *schema* is the JSON Schema that the model was shown for tool *name*. Its
        properties become the names by which a rejection may be told. Never raises.
        """
        try:
            if self._shown.get(name) is schema:  # as at nearly every call
                return
            # dict first: an abstract class asks longer, and this is asked at every call of a framework's.
            properties = schema.get("properties") if isinstance(schema, (dict, Mapping)) else None
            if isinstance(properties, (dict, Mapping)) and not self.settings.disabled:
                alias = self._catalog.aliases.get(name)
                tool = alias.tool if alias else name
                if not properties.keys() <= self._metrics.fields.get(tool, _NONE):  # nearly always known already
                    names = frozenset(field for field in properties if isinstance(field, str))
                    self._metrics.know_fields(tool, names)
            if len(self._shown) < TOOLS_WITH_FIELDS:
                self._shown[name] = schema
        except Exception as error:  # noqa: BLE001 - called inside the host's tool loop, with a foreign schema
            self.guard.contain(Component.DECLARATIONS, error)

    def not_found(
        self,
        requested: object,
        *,
        call_id: str | None = None,
        span: Span | None = None,
        session: Session | None = None,
        call: Observed | None = None,
    ) -> Outcome:
        """
        Record that the model asked for *requested*, which is no tool of this session; give what is known about it.

        `outcome.missing.reason` tells a rename from a hallucination, `outcome.missing.nearest` is the tool that was
        probably meant. Any object is accepted; it is cleaned before it is kept. *session* is a framework's
        conversation, as in `observe`. An observed *call* that turned out to be one to no tool is ended by this, and
        counts as no call.
        """
        session = call.session if call is not None else (session or current_session() or self.services.session)
        missing = self._catalog.explain(requested, session.asked_profile)
        if call is not None:
            return call.missed(missing)
        outcome = Outcome(
            Status.NOT_FOUND, None, session.origin, error_type=signals.ERROR_NOT_FOUND, parent=_parent_name(),
            call_id=None if call_id is None else clean(call_id), missing=missing, span=span, borrowed=span is not None,
        )  # fmt: skip
        return self.services.publish_drop(outcome)

    def declared(self, profile: str, declarations: Iterable[Any]) -> None:
        """
        Record what the model was really sent: the declarations of *profile*, in any framework's shape.

        Sets declaration size, number of tools, budget and fingerprints, and logs the tools that the session was
        offered, once per change. Never raises: an odd declaration is measured as far as it can be.
        """
        if self.settings.disabled:
            return
        try:
            session = current_session() or self.services.session
            noted = self._declared.note(profile, declarations, self._catalog)
            for name, properties in noted.properties.items():
                self._metrics.know_fields(name, properties)
            for warning in noted.warnings:
                self._warn_once(warning)
            for event, facts in noted.events:
                self.events.emit("warning", event, **facts)
            if session.offered != noted.names:
                session.offered = noted.names
                if self.events.is_enabled(logging.INFO):  # a long list, for every new conversation
                    facts = {self._keys[signals.PROFILE]: profile, signals.KEY_TOOLS: noted.names}
                    self.events.emit("info", Event.TOOLS_OFFERED, **facts)
            failure = noted.failure
        except Exception as error:  # noqa: BLE001 - called inside the host's model loop
            failure = error
        if failure is not None:
            self.guard.contain(Component.DECLARATIONS, failure)

    # --- the boundary of a home-made loop ---

    def offered(self, declarations: Iterable[Any], *, profile: str | None = None) -> None:
        """
        Record what the model is offered now, in any provider's shape: `requested` is judged against it.

        The same as `declared` for the session's profile, and for the session. Never raises.
        """
        sent = list(declarations)
        session = current_session() or self.services.session
        self.declared(profile or session.asked_profile or signals.NO_PROFILE, sent)
        try:
            session.schemas = boundary.read_schemas(sent)
        except Exception as error:  # noqa: BLE001 - called inside the host's model loop
            self.guard.contain(Component.DECLARATIONS, error)

    def requested(self, name: object, arguments: object = None, *, call_id: str | None = None) -> Requested:
        """
        Judge a tool call that the model asks for, before anything runs; *arguments* are data or JSON text.

        A name that was not offered is recorded as not found, with its reason. Raw arguments that do not match the
        schema that was offered are counted as a structural rejection (source `schema`), whatever a framework would
        have made of them. Never raises.
        """
        session = current_session() or self.services.session
        text = name if isinstance(name, str) else clean(name)
        known = session.schemas if session.schemas is not None else self._catalog.tools
        data, faults = boundary.read_arguments(arguments)
        if text not in known and text not in self._catalog.aliases:
            return Requested(text, self.not_found(name, call_id=call_id).missing, (), data)
        try:
            schema = (session.schemas or {}).get(text)
            faults = faults or boundary.find_faults({} if data is None else data, schema)
            if faults and not self.settings.disabled:
                rejection = Rejection(RejectionKind.STRUCTURAL, RejectionSource.SCHEMA, faults)
                tool = self._stranger(text).tool
                self._metrics.count_rejection(rejection, tool)
                self.logs.rejected(rejection, tool, session.origin)
        except MissingExtraError as error:
            self._warn_once(str(error))
        except Exception as error:  # noqa: BLE001 - a schema is the host's, arguments are the model's
            self.guard.contain(Component.DECLARATIONS, error)
        return Requested(text, None, faults, data)

    # --- exposition ---

    def serve(self, port: int = PORT, *, host: str = "127.0.0.1") -> Exposition:
        """Serve /metrics on *host*:*port* (0: any free port) from a thread of its own; close() what is returned."""
        return Exposition(self.view, host=host, port=port)

    def asgi_app(self) -> Callable[..., Any]:
        """An ASGI application that answers scrapes, to be mounted by the host."""
        return asgi_app(self.view)

    def wsgi_app(self) -> Callable[..., Any]:
        """A WSGI application that answers scrapes, to be mounted by the host."""
        return wsgi_app(self.view)

    def close(self) -> None:
        """Take the series off the registry. Wrapped tools keep working, and are recorded nowhere else than before."""
        self._instruments.unregister()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    # --- what goes wrong inside ---

    def _warn_once(self, sentence: str) -> None:
        if sentence in self._warned or len(self._warned) >= _WARNED_NAMES:
            return
        self._warned.add(sentence)
        self._say("warning", Event.CATALOG_PROBLEM, problem=sentence)

    def _say(self, level: str, event: Event, **facts: Any) -> None:
        try:
            self.events.emit(level, event, **facts)
        except Exception as error:  # noqa: BLE001 - the log is the host's: wrapping and sessions go on without it
            self.guard.contain(Component.LOGS, error)

    def _count_internal_error(self, component: Component) -> None:
        self._instruments.count(signals.INTERNAL_ERRORS, component.value)

    def _say_internal_error(self, component: Component, error: Exception, suppressed: int) -> None:
        said = f"{type(error).__qualname__}: {clean(error)}"
        facts = {
            signals.KEY_COMPONENT: component.value,
            signals.KEY_PROBLEM: said,
            signals.KEY_SUPPRESSED: suppressed or None,
        }
        self.events.emit("error", Event.TELEMETRY_ERROR, **facts)

    def forked(self) -> None:
        """Take note, in the child, that the process has forked."""
        # No logging here, and locks anew: another thread may have held them when the process forked.
        self._lock = threading.RLock()
        self._declared.forked()
        self.services.repeats.forked()
        if self.services.drops is not None:
            self.services.drops.forked()
        self._metrics.forget_children()
        if not is_multiprocess():
            self._metrics.on_first_use = self._warn_of_fork

    def _warn_of_fork(self) -> None:
        self._metrics.on_first_use = None
        warnings.warn(
            "this process was forked after tooltel was configured: its calls are counted in a copy that nobody "
            "scrapes; set PROMETHEUS_MULTIPROC_DIR before prometheus_client is imported",
            RuntimeWarning,
            stacklevel=2,
        )


def _parent_name() -> str | None:
    call = current_call()
    return call.tool.name if call is not None else None


def _session_key(session_id: str | None) -> Hashable:
    """What tells sessions apart, in bounded memory; a session without an id is like no other."""
    if session_id is None:
        return object()
    text = str(session_id)
    if len(text) <= signals.NAME_LIMIT:
        return text
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _attribute_keys(settings: Settings) -> Mapping[str, str]:
    return {
        signals.OWNER: settings.attribute_owner,
        signals.VERSION: settings.attribute_version,
        signals.RISK: settings.attribute_risk,
        signals.PROFILE: settings.attribute_profile,
    }


def _watch_forks(tel: Tooltel) -> None:
    alive = weakref.ref(tel)

    def after() -> None:
        known = alive()
        if known is not None:
            known.forked()

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=after)


# --- the default instance ------------------------------------------------------------------------------

_default: Tooltel | None = None
_default_lock: Final = threading.Lock()


def configure(catalog: CatalogLike = None, **options: Any) -> Tooltel:
    """
    Make the process' default Tooltel, and give it; the options are those of `Tooltel`.

    Called again, it replaces the default: the old one's series leave the registry first.
    """
    global _default
    with _default_lock:
        old, _default = _default, None
        if old is not None:
            old.close()
        _default = Tooltel(catalog, **options)
        return _default


def default() -> Tooltel:
    """The default instance; raises NotConfiguredError before `configure()`."""
    if _default is None:
        raise NotConfiguredError
    return _default
