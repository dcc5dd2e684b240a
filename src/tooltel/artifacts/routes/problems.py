"""What is wrong with the receivers of a catalog, for one version of Alertmanager; pure, and all at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from tooltel.artifacts.routes.fields import (
    FIELDS,
    INTEGRATIONS,
    NEEDS,
    Version,
    known,
    read_version,
    table_of,
)
from tooltel.artifacts.routes.receivers import KINDS, platform_of
from tooltel.catalog import Catalog, Owner, find_problems
from tooltel.catalog.paths import key_path, shown
from tooltel.errors import Problem

if TYPE_CHECKING:
    from tooltel.artifacts.options import RenderOptions

FILE: Final = "_file"  # ending of a field that names a file to read its twin's value from

Path = tuple[str | int, ...]


def find_receiver_problems(catalog: Catalog, options: RenderOptions) -> list[Problem]:
    """
    Find every receiver that `options.alertmanager_version` would refuse, and the lack of the platform's.

    Checks names of integrations and fields, what an integration cannot do without, and fields that exclude
    each other; values are passed on as they are. Paths look like
    `owners.orders.page.webhook_configs[0].url_file`.
    """
    check = _Check(read_version(options.alertmanager_version), options.alertmanager.get("global", {}))
    problems = [*_platform_problems(catalog), *check.shared_problems()]
    for owner in catalog.owners.values():
        for kind in KINDS:
            problems += check.body_problems(getattr(owner, kind), ("owners", owner.name, kind))
    problems += check.body_problems(options.deadman, ("render", "deadman"))
    return [*problems, *_deadman_secrets(options)]


def _deadman_secrets(options: RenderOptions) -> Iterator[Problem]:
    # The catalog's own checks look at owners only, so a stranger with this receiver is shown to them.
    stranger = Catalog(owners=[Owner("deadman", page=options.deadman)])
    for problem in find_problems(stranger):
        if problem.rule == "inline_secret":
            yield replace(problem, path=problem.path.replace("owners.deadman.page", "render.deadman"))


def _platform_problems(catalog: Catalog) -> Iterator[Problem]:
    platform = platform_of(catalog)
    if platform is None:
        yield Problem(
            "no_platform_owner",
            "catalog.platform_owner",
            "alerts of tools without an owner have nowhere to go",
            "name the owner that answers for the platform",
        )
    elif not platform.page:
        yield Problem(
            "no_platform_receiver",
            key_path("owners", platform.name, "page"),
            "the platform's owner has no page receiver, and pages of owners without one go there",
            "add one, e.g. page = { pagerduty_configs = [{ ... }] }",
        )


class _Check:
    """The checks of one version, with the `global` table that receivers fall back to."""

    def __init__(self, version: Version, shared: object) -> None:
        self._version = version
        self._shared = shared if isinstance(shared, Mapping) else {}

    def shared_problems(self) -> Iterator[Problem]:
        """Problems of the `global` table; every value of it that a file could hold is a secret."""
        place: Path = ("render", "alertmanager", "global")
        yield from self._field_problems(self._shared, "global", place)
        for field, value in self._shared.items():
            if value and f"{field}{FILE}" in FIELDS["global"]:
                fix = f'write {field}{FILE} = "/etc/alertmanager/secrets/..."'
                yield Problem("inline_secret", key_path(*place, field), "a secret is written inline", fix)

    def body_problems(self, body: object, path: Path) -> Iterator[Problem]:
        """Problems of a receiver without its name: lists of integrations."""
        if not isinstance(body, Mapping):
            yield _malformed(path, "a table of lists as Alertmanager has them: { webhook_configs = [{ ... }] }")
            return
        for integration, entries in body.items():
            place = (*path, str(integration))
            if integration not in INTEGRATIONS:
                yield self._unknown(integration, "integration", INTEGRATIONS, place)
            elif INTEGRATIONS[integration] > self._version:
                yield self._too_new(integration, INTEGRATIONS[integration], place)
            elif not isinstance(entries, (list, tuple)) or not entries:
                yield _malformed(place, f"a list of tables: {integration} = [{{ ... }}]")
            else:
                for at, entry in enumerate(entries):
                    yield from self._entry_problems(entry, integration, (*place, at))

    def _entry_problems(self, entry: object, integration: str, path: Path) -> Iterator[Problem]:
        if not isinstance(entry, Mapping):
            yield _malformed(path, "a table of fields")
            return
        yield from self._field_problems(entry, integration, path)
        for need in NEEDS[integration]:
            if not (any(map(entry.get, need.own)) or any(map(self._shared.get, need.shared))):
                own = " or ".join(known(need.own, integration, self._version))
                shared = " or ".join(known(need.shared, "global", self._version))
                fix = f"add {own}" + (f", or {shared} to [render.alertmanager.global]" if shared else "")
                yield Problem("missing_field", key_path(*path), f"{integration} needs {own}", fix)

    def _field_problems(self, given: Mapping[str, Any], table: str, path: Path) -> Iterator[Problem]:
        for field, value in given.items():
            place = (*path, str(field))
            since = FIELDS[table].get(field)
            if since is None:
                yield self._unknown(field, "field", FIELDS[table], place)
            elif since > self._version:
                yield self._too_new(field, since, place)
            elif field.endswith(FILE) and (plain := field.removesuffix(FILE)) in given:
                yield Problem("conflicting_fields", key_path(*place), f"{plain} is given, too", f"keep {field} alone")
            if inner := table_of(table, field):
                yield from self._inner_problems(value, inner, place)

    def _inner_problems(self, value: object, table: str, path: Path) -> Iterator[Problem]:
        entries = enumerate(value) if isinstance(value, (list, tuple)) else [(None, value)]
        for at, entry in entries:
            place = path if at is None else (*path, at)
            if isinstance(entry, Mapping):
                yield from self._field_problems(entry, table, place)
            else:
                yield _malformed(place, "a table of fields")

    def _unknown(self, name: str, noun: str, fields: Mapping[str, Version], path: Path) -> Problem:
        usable = ", ".join(sorted(field for field, since in fields.items() if since <= self._version))
        what = f"Alertmanager has no {noun} {shown(name)} here"
        return Problem(f"unknown_{noun}", key_path(*path), what, f"use one of {usable}")

    def _too_new(self, name: str, since: Version, path: Path) -> Problem:
        have, want = (".".join(str(part) for part in version) for version in (self._version, since))
        what = f"Alertmanager {have} has no {name}: it came with {want}"
        fix = f'leave it out, or set alertmanager_version = "{want}" in [render]'
        return Problem("newer_alertmanager", key_path(*path), what, fix)


def _malformed(path: Path, wanted: str) -> Problem:
    return Problem("bad_receiver", key_path(*path), "has the wrong shape", f"write {wanted}")
