"""Where this machine keeps a Prometheus and an Alertmanager."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

FOLDER_VARIABLE: Final = "TOOLTEL_SERVERS"
HOW_TO_GET: Final = (
    "install Prometheus and Alertmanager (Debian: apt install prometheus prometheus-alertmanager; macOS: brew "
    f"install prometheus alertmanager), or set {FOLDER_VARIABLE} to a folder with both"
)

_PROMETHEUS: Final = ("prometheus",)
_ALERTMANAGER: Final = ("prometheus-alertmanager", "alertmanager")  # Debian's name first: another program has ours
_CHECKOUT: Final = Path(__file__).resolve().parents[4]
_GENERATIONS: Final = ("new", "stable")  # as `make servers` names them, below .servers/


@dataclass(frozen=True, slots=True)
class Binaries:
    """The two programs that a stack runs."""

    prometheus: Path
    alertmanager: Path


def find_binaries(environ: Mapping[str, str] | None = None, *, checkout: Path = _CHECKOUT) -> Binaries | None:
    """
    Find both programs in one place: $TOOLTEL_SERVERS alone where it is set, else PATH, else the checkout's .servers/.

    None where they are not: then HOW_TO_GET says what to do. *environ* defaults to the process's own.
    """
    settings = os.environ if environ is None else environ
    for path in _search(settings, checkout):
        prometheus, alertmanager = (_which(names, path) for names in (_PROMETHEUS, _ALERTMANAGER))
        if prometheus and alertmanager:
            return Binaries(prometheus, alertmanager)
    return None


def _search(environ: Mapping[str, str], checkout: Path) -> Iterator[str]:
    if folder := environ.get(FOLDER_VARIABLE):
        yield folder
        return
    yield environ.get("PATH", os.defpath)
    yield from (str(checkout / ".servers" / generation) for generation in _GENERATIONS)


def _which(names: tuple[str, ...], path: str) -> Path | None:
    found = (shutil.which(name, path=path) for name in names)
    return next((Path(each) for each in found if each), None)
