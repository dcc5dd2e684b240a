"""Imports point down. The table here is the architecture: change it here, and say why in the commit."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

SOURCE = Path(__file__).resolve().parent.parent / "src"

# A room is a module, or a package with all that is in it. A module imports only from rooms of a lower rank,
# and freely within its own package. Imports inside functions and under TYPE_CHECKING count: they are
# knowledge of the other room all the same.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("_version", "errors", "late"),
    ("signals",),
    ("listening", "text"),  # strangers' connections and strangers' text, bounded
    ("catalog", "promql", "readings", "settings"),
    ("outcome",),
    ("declarations", "drops", "misfits", "recording", "redact", "repeats"),
    ("loading",),  # of a catalog, and the assertion that it and its declarations are fine
    ("call", "starting"),  # its life: it asks what was repeated and hands its outcome to the fan-out
    ("awaiting",),  # a call whose result is still to come, which a shell hands on
    ("artifacts", "boundary", "match", "observed", "wrap"),
    ("processors",),  # of logs: what a line tells of a drop is judged by the signatures
    ("recorders", "wrapping"),  # a log event carries the same keys as an enriched line; a decision ends in a shell
    ("declaring", "exposition"),  # what is shown of the recorders' series
    ("runtime", "sidecar"),
    ("integrations", "testing"),
    ("demo", "top"),
    ("cli",),  # above these two, which are verbs of it
    ("__main__",),
)
RANKS = {f"tooltel.{room}": rank for rank, rooms in enumerate(LAYERS) for room in rooms}
RANKS["tooltel"] = len(LAYERS)  # the façade itself, not what is below it


def room_of(module: str) -> str | None:
    """The table's entry for `module`, or None. The façade's entry stands for the façade alone."""
    if module in RANKS:
        return module
    room = ".".join(module.split(".")[:2])
    return room if module != "tooltel" and room in RANKS else None


def read_modules(source: Path) -> dict[str, Path]:
    """Every module below `source`, by its dotted name; a package is named without `__init__`."""
    modules = {}
    for path in source.rglob("*.py"):
        parts = path.relative_to(source).with_suffix("").parts
        modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return modules


def imported(tree: ast.AST, *, package: str, modules: Collection[str]) -> Iterator[tuple[int, str]]:
    """Line and module of each import, also by importlib; `from a import b` is of `a.b` where that is one."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, alias.name) for alias in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                above = package.split(".")[: len(package.split(".")) - level + 1] if level else []
                base = ".".join([*above, *([module] if module else [])])
                for alias in names:
                    submodule = f"{base}.{alias.name}"
                    yield node.lineno, submodule if submodule in modules else base
            case ast.Call(func=ast.Attribute(attr="import_module") | ast.Name(id="import_module" | "__import__")):
                match node.args:
                    case [ast.Constant(value=str(name)), *_]:
                        yield node.lineno, name


def read_faults(modules: dict[str, Path]) -> list[str]:
    """One sentence for each module outside the table and each import that does not point down."""
    faults = []
    for module, path in sorted(modules.items()):
        room = room_of(module)
        if room is None:
            faults.append(f"{module}: in no room of the table")
            continue
        package = module if path.name == "__init__.py" else module.rpartition(".")[0]
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for line, target in sorted(set(imported(tree, package=package, modules=modules))):
            if target.split(".")[0] != "tooltel":
                continue
            other = room_of(target)
            if other is None:
                faults.append(f"{module}:{line} imports {target}, which is in no room of the table")
            elif other != room and RANKS[other] >= RANKS[room]:
                faults.append(f"{module}:{line} imports {target}, which is not below {room}")
    return faults


def test_every_module_is_in_the_table_and_imports_only_from_lower_ranks() -> None:
    modules = read_modules(SOURCE)
    assert "tooltel.signals" in modules
    assert read_faults(modules) == []


def test_the_facade_is_the_top() -> None:
    assert max(RANKS.values()) == RANKS["tooltel"]


SIGNALS = "tooltel/signals.py"


@pytest.mark.parametrize(
    ("module", "text", "fault"),
    [
        (SIGNALS, "from tooltel.catalog import Tool", ":1 imports tooltel.catalog"),
        (SIGNALS, "from tooltel import catalog", ":1 imports tooltel.catalog"),
        (SIGNALS, "from . import catalog", ":1 imports tooltel.catalog"),
        (SIGNALS, "from tooltel import tool", ":1 imports tooltel"),
        (SIGNALS, "if TYPE_CHECKING:\n    import tooltel.cli", ":2 imports tooltel.cli"),
        (SIGNALS, "def late():\n    import tooltel.cli", ":2 imports tooltel.cli"),
        (SIGNALS, "importlib.import_module('tooltel.cli')", ":1 imports tooltel.cli"),
        (SIGNALS, "import tooltel.utils", ":1 imports tooltel.utils"),
        ("tooltel/recorders/spans.py", "from ..cli import main", ":1 imports tooltel.cli"),
        ("tooltel/recorders/__init__.py", "from ..exposition import f", ":1 imports tooltel.exposition"),
        ("tooltel/utils.py", "", ": in no room of the table"),
    ],
)
def test_an_import_that_does_not_point_down_is_found(tmp_path: Path, module: str, text: str, fault: str) -> None:
    (found,) = read_faults(layout(tmp_path, {module: text}))
    name = module.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    assert found.split(",")[0] == name + fault


@pytest.mark.parametrize(
    ("module", "text"),
    [
        ("tooltel/catalog/tool.py", "from tooltel.errors import CatalogError"),
        (SIGNALS, "from tooltel import errors"),
        ("tooltel/recorders/spans.py", "from . import logs"),
        ("tooltel/recorders/spans.py", "from ..outcome import Outcome"),
        ("tooltel/recorders/__init__.py", "from .spans import record"),
        ("tooltel/__init__.py", "from tooltel.cli import main"),
        ("tooltel/__main__.py", "from tooltel.cli import main"),
        ("tooltel/signals.py", "import tooltelephony.cli"),
    ],
)
def test_an_import_that_points_down_or_stays_in_its_room_is_allowed(tmp_path: Path, module: str, text: str) -> None:
    assert read_faults(layout(tmp_path, {module: text})) == []


def layout(source: Path, files: dict[str, str]) -> dict[str, Path]:
    """A package with the usual rooms, and `files` on top."""
    rooms = ("", "errors", "outcome", "wrap", "catalog/", "cli/", "recorders/", "recorders/logs")
    usual = {f"tooltel/{room}{'__init__' if room[-1:] in ('', '/') else ''}.py": "" for room in rooms}
    for name, text in {**usual, **files}.items():
        path = source / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return read_modules(source)
