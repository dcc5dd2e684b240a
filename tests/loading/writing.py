"""Catalogs for tests: random valid ones, and their TOML with the line of every key."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from tooltel.catalog import Catalog, HouseRules, McpServer, Owner, Profile, Signature, Source, Tool
from tooltel.catalog.paths import key_path
from tooltel.errors import Level
from tooltel.signals import BUCKETS, NAME_LIMIT, Risk, Status

if TYPE_CHECKING:
    from collections.abc import Mapping

RESERVED = {"other", "none", "unowned"}
LOOSE = {"*", "latest", "any", "stable", "main"}


class Written:
    """TOML text under construction, and where each key went; `layout` says in which of TOML's forms."""

    def __init__(self, layout: Mapping[str, bool]) -> None:
        self.lines: list[str] = ["# made by a test"]
        self.places: dict[str, int] = {}
        self._layout = layout

    @property
    def text(self) -> str:
        return "\n".join(self.lines) + "\n"

    def header(self, *path: str | int, array: bool = False) -> None:
        if self._layout["blank"]:
            self.lines += ["", "# [tools.not_a_table]"]
        dotted = ".".join(_key(part) for part in path if isinstance(part, str))
        self.lines.append(f"[[ {dotted} ]]" if array else f"[{dotted}]  # a comment = 'with' signs [")
        self.places.setdefault(key_path(*path), len(self.lines))

    def pair(self, table: tuple[str | int, ...], key: str, value: object) -> None:
        self.lines.append(f"{_key(key)} = ")
        self.places.setdefault(key_path(*table, key), len(self.lines))
        self._value((*table, key), value)

    def _add(self, text: str) -> None:
        first, *rest = text.split("\n")
        self.lines[-1] += first
        self.lines += rest

    def _value(self, path: tuple[str | int, ...], value: object) -> None:
        if isinstance(value, dict):
            self._add("{ ")
            for place, (key, inner) in enumerate(value.items()):
                self._add(f"{', ' if place else ''}{_key(key)} = ")
                self.places.setdefault(key_path(*path, key), len(self.lines))
                self._value((*path, key), inner)
            self._add(" }")
        elif isinstance(value, (list, tuple)):
            self._add("[")
            for place, inner in enumerate(value):
                self._add("\n  # ] not the end\n  " if self._layout["tall"] else " ")
                self.places.setdefault(key_path(*path, place), len(self.lines))
                self._value((*path, place), inner)
                self._add(",")
            self._add("\n]" if self._layout["tall"] else " ]")
        elif isinstance(value, str) and self._layout["long"]:
            body = "".join(sign if sign == "\n" else _escaped(sign) for sign in value)
            self._add(f'"""\n{body}"""')
        elif isinstance(value, str) and self._layout["literal"] and value.isprintable() and "'" not in value:
            self._add(f"'{value}'")
        else:
            self._add(_escaped(value, quoted=True) if isinstance(value, str) else json.dumps(value))


def _key(key: str) -> str:
    return key if key.replace("_", "a").isalnum() and key.isascii() else _escaped(key, quoted=True)


def _escaped(text: str, *, quoted: bool = False) -> str:
    # JSON's escapes are TOML's, but for the two halves of a character beyond the first plane, and DEL.
    body = json.dumps(text, ensure_ascii=False)[1:-1].replace("\x7f", "\\u007f")
    return f'"{body}"' if quoted else body


def write(catalog: Catalog, layout: Mapping[str, bool]) -> Written:
    """Write *catalog* as TOML."""
    out = Written(layout)
    out.header("catalog")
    house = catalog.house
    settings: dict[str, Any] = {
        "session_retention": f"{int(catalog.session_retention)}s",
        "platform_owner": catalog.platform_owner,
        "security_owner": catalog.security_owner,
        "name_pattern": house.name_pattern,
        "description_min_chars": house.description_min_chars,
        "budget_chars": house.budget_chars,
        "levels": {rule: str(level) for rule, level in house.levels.items()},
    }
    _pairs(out, ("catalog",), settings)
    sections: tuple[tuple[tuple[str, ...], Mapping[str, Any], tuple[str, ...]], ...] = (
        (("tools",), catalog.tools, TOOL_KEYS),
        (("owners",), catalog.owners, ("page", "ticket", "digest")),
        (("profiles",), catalog.profiles, ("owner", "budget_chars")),
        (("mcp",), catalog.mcp, ("owner", "version", "allow")),
        (("sidecar", "sources"), catalog.sources, ("files", "format", "profile", "framework", "plugin")),
    )
    for section, nouns, keys in sections:
        for name, noun in nouns.items():
            out.header(*section, name)
            _pairs(out, (*section, name), {key: getattr(noun, key) for key in keys})
    for place, signature in enumerate(catalog.signatures):
        out.header("signatures", place, array=True)
        keys = ("moment", "pattern", "logger", "level")
        _pairs(out, ("signatures", place), {key: getattr(signature, key) for key in keys})
    out.header("render")
    _pairs(out, ("render",), dict(catalog.render))
    return out


TOOL_KEYS = (
    "owner",
    "risk",
    "version",
    "profiles",
    "description",
    "aliases",
    "retired",
    "objective",
    "latency_bound",
    "repeatable",
    "result_shape",
    "alerts",
)


def _pairs(out: Written, table: tuple[str | int, ...], values: Mapping[str, Any]) -> None:
    for key, value in values.items():
        if value is not None:
            out.pair(table, key, dict(value) if hasattr(value, "items") else value)


layouts = st.fixed_dictionaries({key: st.booleans() for key in ("blank", "tall", "long", "literal")})

_printable = st.characters(codec="utf-8", exclude_categories=("C", "Z")) | st.sampled_from(" .[]\"'\\#=_")
names = (
    st.text(_printable, min_size=1, max_size=12) | st.just("n" * NAME_LIMIT) | st.sampled_from(["a.b", '"', "[x]"])
).filter(lambda name: name.isprintable() and name == name.strip() and name not in RESERVED)
_texts = (
    st.text(st.characters(codec="utf-8"), max_size=30)
    # Text that looks like a table must fool nobody.
    | st.sampled_from(["\n[tools.fake]\nowner = 1\n", "[x]", "# no comment", 'a = "b"', "'''", '"""'])
)
_receivers = st.dictionaries(
    st.sampled_from(["slack_configs", "pagerduty_configs"]),
    st.lists(st.dictionaries(st.sampled_from(["channel", "title", "routing_key_file"]), _texts), max_size=2),
    max_size=2,
).map(lambda table: {key: [_without_urls(each) for each in value] for key, value in table.items()})


def _without_urls(table: dict[str, str]) -> dict[str, str]:
    return {key: value.replace("://", "") for key, value in table.items()}


@st.composite
def catalogs(draw: st.DrawFn) -> Catalog:
    """A random catalog without problems."""
    some = draw(st.lists(names, unique=True, min_size=4, max_size=24))
    owners = [Owner(n, draw(_receivers), draw(_receivers), draw(_receivers)) for n in some[:2]]
    owner = st.sampled_from([each.name for each in owners])
    budgets = st.none() | st.integers(0, 10**6)
    profiles = [Profile(n, draw(owner), draw(budgets)) for n in some[2:4]]
    profile = st.sampled_from([each.name for each in profiles])
    rest = some[4:]
    tools = []
    while rest:
        own, *old = rest[: draw(st.integers(1, 4))]
        rest = rest[1 + len(old) :]
        cut = draw(st.integers(0, len(old)))
        tools.append(
            Tool(
                own,
                draw(owner),
                draw(st.sampled_from(list(Risk))),
                draw(st.sampled_from(["1", "1.10", "2026-11-30", "über"])),
                profiles=tuple(draw(st.lists(profile, unique=True))),
                description=draw(st.none() | _texts),
                aliases=tuple(old[:cut]),
                retired=tuple(old[cut:]),
                objective=draw(st.none() | st.floats(0.95, 0.9999)),
                latency_bound=draw(st.none() | st.sampled_from(BUCKETS)),
                repeatable=draw(st.none() | st.booleans()),
                result_shape=draw(st.booleans()),
                alerts=draw(st.dictionaries(names, st.dictionaries(names, st.integers(0, 9)), max_size=2)),
            )
        )
    return Catalog(
        tools=tools,
        owners=owners,
        profiles=profiles,
        mcp=[McpServer(n, draw(owner), "1.4.2", tuple(draw(st.lists(names, unique=True)))) for n in some[:1]],
        sources=[
            Source(n, ("/var/log/*.log",), draw(st.sampled_from(["auto", "cri"])), draw(st.none() | profile))
            for n in some[:1]
        ],
        signatures=[
            Signature(draw(st.sampled_from(list(Status))), r"no such \w+ \[x\]", draw(st.none() | names))
            for _ in range(draw(st.integers(0, 2)))
        ],
        house=HouseRules(
            name_pattern=".*",
            description_min_chars=0,
            budget_chars=draw(budgets),
            levels=draw(st.dictionaries(st.sampled_from(["budget", "description"]), st.sampled_from(list(Level)))),
        ),
        platform_owner=draw(st.none() | owner),
        security_owner=draw(st.none() | owner),
        session_retention=float(draw(st.integers(1, 10**8))),
        render=draw(st.dictionaries(names, st.integers() | st.booleans(), max_size=2)),
        source="tools.toml",
    )
