"""What pydantic says of arguments that do not fit, as faults."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tooltel.outcome import MAX_FAULTS, Fault
from tooltel.text import clean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import ValidationError


def faults_of(error: ValidationError) -> Sequence[Fault]:
    """The arguments that *error* names, by their path (`items.0.sku`); the rejected values are left out."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    return [Fault(clean(".".join(map(str, problem["loc"]))), clean(problem["msg"])) for problem in found[:MAX_FAULTS]]
