"""
The fields that Alertmanager's receivers have, by the version that brought them.

Alertmanager refuses a whole configuration for one unknown field, so a receiver is checked against the version
that is rendered for. The first and the last version here are confirmed by tests against real binaries; the
versions between them are those of Alertmanager's change log.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

Version = tuple[int, int]

OLDEST: Final[Version] = (0, 25)

# Below the name of each table: the fields of the oldest version, then those that a later version brought,
# after its number. Integrations first, then the tables inside them, then what they fall back to.
_TABLES: Final = """
discord_configs
    http_config message send_resolved title webhook_url
    0.27 webhook_url_file
    0.28 avatar_url content username
email_configs
    auth_identity auth_password auth_password_file auth_secret auth_username from headers hello html
    require_tls send_resolved smarthost text tls_config to
    0.30 threading
    0.31 auth_secret_file force_implicit_tls
incidentio_configs
    0.29 alert_source_token alert_source_token_file http_config max_alerts send_resolved timeout url
         url_file
jira_configs
    0.28 api_url description fields http_config issue_type labels priority project reopen_duration
         reopen_transition resolve_transition send_resolved summary wont_fix_resolution
    0.29 api_type
mattermost_configs
    0.30 attachments author_icon author_link author_name channel color fallback fields footer
         footer_icon http_config icon_emoji icon_url image_url pretext priority props send_resolved
         text thumb_url title title_link type username webhook_url webhook_url_file
msteams_configs
    0.26 http_config send_resolved text title webhook_url
    0.27 summary webhook_url_file
msteamsv2_configs
    0.28 http_config send_resolved text title webhook_url webhook_url_file
opsgenie_configs
    actions api_key api_key_file api_url description details entity http_config message note
    priority responders send_resolved source tags update_alerts
pagerduty_configs
    class client client_url component description details group http_config images links routing_key
    routing_key_file send_resolved service_key service_key_file severity source url
    0.30 timeout
pushover_configs
    expire html http_config message priority retry send_resolved sound title token url url_title
    user_key
    0.26 device token_file user_key_file
    0.27 ttl
    0.29 monospace
rocketchat_configs
    0.28 actions api_url channel color emoji fields http_config icon_url image_url link_names
         send_resolved short_fields text thumb_url title title_link token token_file token_id
         token_id_file
slack_configs
    actions api_url api_url_file callback_id channel color fallback fields footer http_config
    icon_emoji icon_url image_url link_names mrkdwn_in pretext send_resolved short_fields text
    thumb_url title title_link username
    0.30 app_token app_token_file app_url timeout
    0.31 message_text
    0.32 update_message
sns_configs
    api_url attributes http_config message phone_number send_resolved sigv4 subject target_arn
    topic_arn
    0.33 use_aws_http_client
telegram_configs
    api_url bot_token chat_id disable_notifications http_config message parse_mode send_resolved
    0.26 bot_token_file
    0.28 message_thread_id
    0.31 chat_id_file
victorops_configs
    api_key api_key_file api_url custom_fields entity_display_name http_config message_type
    monitoring_tool routing_key send_resolved state_message
webex_configs
    api_url http_config message room_id send_resolved
webhook_configs
    http_config max_alerts send_resolved url
    0.26 url_file
    0.28 timeout
    0.32 payload
wechat_configs
    agent_id api_secret api_url corp_id http_config message message_type send_resolved to_party
    to_tag to_user
    0.31 api_secret_file

http_config
    authorization basic_auth bearer_token bearer_token_file enable_http2 follow_redirects oauth2
    proxy_connect_header proxy_url tls_config
    0.26 no_proxy proxy_from_environment
    0.28 http_headers
tls_config
    ca_file cert_file insecure_skip_verify key_file max_version min_version server_name
    0.26 ca cert key
    0.28 ca_ref cert_ref key_ref
basic_auth
    password password_file username
    0.27 username_file
    0.28 password_ref username_ref
authorization
    credentials credentials_file type
    0.28 credentials_ref
oauth2
    client_id client_secret client_secret_file endpoint_params proxy_url scopes tls_config token_url
    0.26 no_proxy proxy_connect_header proxy_from_environment
    0.28 client_secret_ref
    0.33 audience claims client_certificate_key client_certificate_key_file
         client_certificate_key_id client_certificate_key_ref grant_type iss signature_algorithm
sigv4
    access_key profile region role_arn secret_key
    0.33 external_id service_name use_fips_sts_endpoint
email_configs.threading
    0.30 enabled thread_by_date
opsgenie_configs.responders
    id name type username
pagerduty_configs.images
    alt href src
pagerduty_configs.links
    href text
slack_configs.actions
    confirm name style text type url value
slack_configs.actions.confirm
    dismiss_text ok_text text title
slack_configs.fields
    short title value

global
    http_config opsgenie_api_key opsgenie_api_key_file opsgenie_api_url pagerduty_url
    resolve_timeout slack_api_url slack_api_url_file smtp_auth_identity smtp_auth_password
    smtp_auth_password_file smtp_auth_secret smtp_auth_username smtp_from smtp_hello
    smtp_require_tls smtp_smarthost telegram_api_url victorops_api_key victorops_api_key_file
    victorops_api_url webex_api_url wechat_api_corp_id wechat_api_secret wechat_api_url
    0.28 jira_api_url rocketchat_api_url rocketchat_token rocketchat_token_file rocketchat_token_id
         rocketchat_token_id_file smtp_tls_config
    0.30 slack_app_token slack_app_token_file slack_app_url
    0.31 smtp_auth_secret_file smtp_force_implicit_tls telegram_bot_token telegram_bot_token_file
         wechat_api_secret_file
    0.32 mattermost_webhook_url mattermost_webhook_url_file
global.smtp_tls_config
    0.28 ca ca_file ca_ref cert cert_file cert_ref insecure_skip_verify key key_file key_ref max_version
         min_version server_name
"""


class Need(NamedTuple):
    """What an integration cannot do without: one of its `own` fields, or one `shared` in the global table."""

    own: tuple[str, ...]
    shared: tuple[str, ...] = ()


def _need(own: str, shared: str = "") -> Need:
    return Need(tuple(own.split()), tuple(shared.split()))


# `http_config.authorization` and the like are not asked for: what a service accepts is the owner's to know.
NEEDS: Final[Mapping[str, tuple[Need, ...]]] = MappingProxyType({
    "discord_configs": (_need("webhook_url webhook_url_file"),),
    "email_configs": (_need("to"), _need("smarthost", "smtp_smarthost"), _need("from", "smtp_from")),
    "incidentio_configs": (_need("url url_file"),),
    "jira_configs": (_need("api_url", "jira_api_url"), _need("project"), _need("issue_type")),
    "mattermost_configs": (
        _need("webhook_url webhook_url_file", "mattermost_webhook_url mattermost_webhook_url_file"),
    ),
    "msteams_configs": (_need("webhook_url webhook_url_file"),),
    "msteamsv2_configs": (_need("webhook_url webhook_url_file"),),
    "opsgenie_configs": (_need("api_key api_key_file", "opsgenie_api_key opsgenie_api_key_file"),),
    "pagerduty_configs": (_need("routing_key routing_key_file service_key service_key_file"),),
    "pushover_configs": (_need("user_key user_key_file"), _need("token token_file")),
    "rocketchat_configs": (
        _need("token token_file", "rocketchat_token rocketchat_token_file"),
        _need("token_id token_id_file", "rocketchat_token_id rocketchat_token_id_file"),
    ),
    "slack_configs": (
        _need(
            "api_url api_url_file app_token app_token_file",
            "slack_api_url slack_api_url_file slack_app_token slack_app_token_file",
        ),
    ),
    "sns_configs": (_need("topic_arn phone_number target_arn"),),
    "telegram_configs": (
        _need("bot_token bot_token_file", "telegram_bot_token telegram_bot_token_file"),
        _need("chat_id chat_id_file"),
    ),
    "victorops_configs": (
        _need("routing_key"),
        _need("api_key api_key_file", "victorops_api_key victorops_api_key_file"),
    ),
    "webex_configs": (_need("room_id"), _need("http_config")),
    "webhook_configs": (_need("url url_file"),),
    "wechat_configs": (
        _need("corp_id", "wechat_api_corp_id"),
        _need("api_secret api_secret_file", "wechat_api_secret wechat_api_secret_file"),
    ),
})  # fmt: skip


def read_version(text: str) -> Version:
    """Major and minor of a version such as `0.33` or `0.33.1`."""
    major, minor = text.split(".")[:2]
    return int(major), int(minor)


def _read_tables(text: str) -> Mapping[str, Mapping[str, Version]]:
    tables: dict[str, dict[str, Version]] = {}
    table, since = "", OLDEST
    for line in filter(None, text.splitlines()):
        if not line.startswith(" "):
            table, since = line, OLDEST
            tables[table] = {}
            continue
        for word in line.split():
            if word[0].isdigit():
                since = read_version(word)
            else:
                tables[table][word] = since
    return MappingProxyType({name: MappingProxyType(fields) for name, fields in tables.items()})


FIELDS: Final = _read_tables(_TABLES)
INTEGRATIONS: Final[Mapping[str, Version]] = MappingProxyType(
    {table: min(FIELDS[table].values()) for table in FIELDS if table.endswith("_configs")}
)


def table_of(parent: str, field: str) -> str | None:
    """The table that describes the value of *field* in *parent*, or None where any value is passed on."""
    for name in (f"{parent}.{field}", field):
        if name in FIELDS and name not in INTEGRATIONS:
            return name
    return None


def known(fields: Iterable[str], table: str, version: Version) -> tuple[str, ...]:
    """Those of *fields* that *table* has in *version*."""
    return tuple(field for field in fields if FIELDS[table].get(field, version) <= version)
