"""Catalogs made in code, named as `module:attribute`."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Final

from tooltel.catalog import Catalog
from tooltel.catalog.paths import shown
from tooltel.errors import Problem
from tooltel.text import clean

UNIMPORTABLE: Final = "unreadable_module"
_NAME: Final = r"[^\W\d]\w*(?:\.[^\W\d]\w*)*"
_SPEC: Final = re.compile(f"{_NAME}:{_NAME}")


def is_spec(text: str) -> bool:
    """Whether *text* means `module:attribute`; a file of that very name wins."""
    return _SPEC.fullmatch(text) is not None and not Path(text).exists()


def import_catalog(spec: str) -> tuple[Catalog | None, Problem | None]:
    """Import the Catalog that *spec* names, or say why there is none."""
    module, _, attribute = spec.partition(":")
    try:
        value = import_module(module)
        for name in attribute.split("."):
            value = getattr(value, name)
    except ModuleNotFoundError as error:
        what, fix = clean(error), "run where the module can be imported, or set PYTHONPATH"
    except AttributeError as error:
        what, fix = clean(error), f"define {attribute} = tooltel.Catalog(...) in {module}"
    except Exception as error:  # noqa: BLE001 - a module of the user's raises what it likes when it is imported
        what, fix = f"raised {type(error).__name__} when imported: {clean(error)}", "correct the module"
    else:
        if isinstance(value, Catalog):
            return value, None
        what = f"is a {type(value).__name__}"
        fix = f"{shown(attribute)} must be a tooltel.Catalog" + (", not a function" if callable(value) else "")
    return None, Problem(UNIMPORTABLE, spec, what, fix)
