"""Counting what is executed without asking whoever executes it: the interpreter tells of every function it enters."""

from __future__ import annotations

import sys
from collections import Counter
from types import CodeType, FrameType
from typing import Any, Self

from examples.replay.conversations import APIS
from examples.replay.tools import methods


class Executions:
    """
    Counts entries into the code of the tools, by name, while its block runs.

    A tool that another one calls on its own instance is not counted: no model asked for it.
    """

    def __init__(self) -> None:
        self.found: Counter[str] = Counter()
        self._codes: dict[CodeType, str] = {
            method.__code__: name for api in APIS for name, method in methods(api).items()
        }
        self._before: Any = None

    def __enter__(self) -> Self:
        self._before = sys.getprofile()
        sys.setprofile(self._seen)
        return self

    def __exit__(self, *exc_info: object) -> None:
        sys.setprofile(self._before)

    def _seen(self, frame: FrameType, event: str, arg: object) -> None:
        name = self._codes.get(frame.f_code) if event == "call" else None
        if name is not None and (frame.f_back is None or frame.f_back.f_code not in self._codes):
            self.found[name] += 1
