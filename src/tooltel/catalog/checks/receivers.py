"""Receivers: Alertmanager's own tables, without a name, and without a secret written inline."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from tooltel.catalog.hints import Hints
from tooltel.catalog.paths import key_path
from tooltel.errors import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tooltel.catalog.catalog import Catalog

KINDS: Final = tuple(
    f"{name}_configs"
    for name in (
        "pagerduty", "slack", "email", "webhook", "opsgenie", "msteams", "msteamsv2", "discord", "telegram",
        "webex", "pushover", "victorops", "sns", "wechat", "jira", "rocketchat", "mattermost", "incidentio",
    )
)  # fmt: skip

# Fields of type Secret or SecretURL in Alertmanager's configuration, below any kind of receiver, that have a
# sibling which names a file.
_SECRETS: Final = frozenset({
    "alert_source_token", "api_key", "api_secret", "app_token", "auth_password", "auth_secret", "bearer_token",
    "bot_token", "client_certificate_key", "client_secret", "credentials", "mattermost_webhook_url", "password",
    "rocketchat_token_id", "routing_key", "service_key", "slack_api_url", "token", "token_id", "user_key",
    "webhook_url",
})  # fmt: skip
# The same word is a secret in one kind of receiver and none in another.
_SECRETS_OF: Final = {"slack_configs": frozenset({"api_url"})}
_PLAIN_OF: Final = {"victorops_configs": frozenset({"routing_key"})}
_NO_FILE: Final = {
    "access_key": "give Alertmanager the key by its environment or role, and remove it here",
    "secret_key": "give Alertmanager the key by its environment or role, and remove it here",
    "key": 'write key_file = "/etc/alertmanager/secrets/..."',
    "secrets": 'write files = ["/etc/alertmanager/secrets/..."]',
}  # fmt: skip
_FREE: Final = frozenset({"details", "headers", "fields", "images", "links"})  # keys of the user's own choice
# What a field of a later Alertmanager is probably called.
_LIKELY: Final = re.compile(r"(^|_)(password|passphrase|secret|token|credentials?|api_?key|private_key)$")
_LEAKY: Final = re.compile(
    r"^[a-z][a-z0-9+.-]*://(?:"
    r"[^/?#\s]*@"  # user and password before the host
    r"|hooks\.slack\.com/(?:services|workflows|triggers)/."
    r"|(?:[a-z]+\.)?discord(?:app)?\.com/api/webhooks/."
    r"|[^/?#\s]*\.webhook\.office\.com/."
    r"|api\.telegram\.org/bot."
    r"|[^?#\s]*\?(?:[^#\s]*&)?(?:token|key|sig|signature|secret|password|auth|api_?key|access_token)=[^&\s]"
    r")",
    re.IGNORECASE,
)


def find_receiver_problems(catalog: Catalog) -> Iterator[Problem]:
    """Receivers of a wrong form, and every secret that belongs into a file."""
    kinds = Hints(KINDS)
    for owner in catalog.owners.values():
        for way in ("page", "ticket", "digest"):
            receiver = getattr(owner, way)
            yield from _receiver(receiver, ("owners", owner.name, way), kinds)
    # Options may pass receivers and global settings through to Alertmanager, too.
    yield from _secrets(catalog.render, ("render",), "")


def _receiver(receiver: Mapping[Any, Any], path: tuple[str, ...], kinds: Hints) -> Iterator[Problem]:
    for kind, configs in receiver.items():
        place = (*path, str(kind))
        if kind not in KINDS:
            yield _unknown_kind(str(kind), place, kinds)
        if not isinstance(configs, (list, tuple)):
            if kind in KINDS:
                fix = f"write {kind} = [{{ ... }}]"
                yield Problem("receiver", key_path(*place), "is no list of tables", fix)
            yield from _secrets(configs, place, str(kind))
            continue
        for index, config in enumerate(configs):
            if not isinstance(config, Mapping):
                yield Problem("receiver", key_path(*place, index), "is no table", f"write {kind} = [{{ ... }}]")
            yield from _secrets(config, (*place, index), str(kind))


def _unknown_kind(kind: str, place: tuple[str, ...], kinds: Hints) -> Problem:
    if kind == "name":
        return Problem("receiver", key_path(*place), "receivers have no name here", "remove it: rendering names them")
    return Problem("receiver", key_path(*place), "is no kind of receiver", kinds.fix(kind))


def _secrets(value: object, path: tuple[str | int, ...], kind: str) -> Iterator[Problem]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            place = (*path, str(key))
            if fix := _secret_fix(str(key), inner, kind):
                yield Problem("inline_secret", key_path(*place), "a secret is written inline", fix)
            elif key in _FREE and isinstance(inner, Mapping):
                yield from _leaks(inner, place)
            else:
                yield from _secrets(inner, place, str(key) if key in KINDS else kind)
    elif isinstance(value, (list, tuple)):
        for index, inner in enumerate(value):
            yield from _secrets(inner, (*path, index), kind)
    elif isinstance(value, str) and _LEAKY.match(value):
        yield _leak(path)


def _leaks(table: Mapping[Any, Any], path: tuple[str | int, ...]) -> Iterator[Problem]:
    for key, value in table.items():
        if isinstance(value, str) and _LEAKY.match(value):
            yield _leak((*path, str(key)))


def _leak(path: tuple[str | int, ...]) -> Problem:
    field = next((part for part in reversed(path) if isinstance(part, str)), "url")
    fix = f'write {field}_file = "/etc/alertmanager/secrets/...", or a URL without credentials'
    return Problem("inline_secret", key_path(*path), "the URL holds a secret", fix)


def _secret_fix(key: str, value: object, kind: str) -> str | None:
    """What to write instead of a secret *value*; None where *key* holds none."""
    if not value or isinstance(value, (Mapping, bool)):
        return None
    if key in _PLAIN_OF.get(kind, ()):
        return None
    if key in _NO_FILE:
        return _NO_FILE[key]
    if key in _SECRETS or key in _SECRETS_OF.get(kind, ()) or _LIKELY.search(key):
        return f'write {key}_file = "/etc/alertmanager/secrets/..."'
    return None
