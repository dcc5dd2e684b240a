from __future__ import annotations

import json
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry

from examples.replay.playing import play
from examples.replay.tools import declarations_of, make_catalog, profile_of
from tooltel import Tooltel
from tooltel.testing import capture, parse_samples

if TYPE_CHECKING:
    from examples.replay.conversations import Conversation
    from tests.replay.conftest import Recording


def test_each_profile_shows_the_size_of_what_its_last_conversation_was_sent(recording: Recording) -> None:
    last = {profile_of(one.conversation): declarations_of(one.conversation) for one in recording.played}
    samples = parse_samples(recording.tel.view)
    for profile, sent in last.items():
        labels = frozenset({"profile": profile, "owner": "platform"}.items())
        chars = sum(len(json.dumps(each, ensure_ascii=False, separators=(",", ":"))) for each in sent)
        assert samples["tooltel_declaration_chars", labels] == chars
        assert samples["tooltel_profile_tools", labels] == len(sent)
    assert len(last) == 20


def test_every_conversation_logs_once_which_tools_it_was_offered(
    right_conversations: list[Conversation],
) -> None:
    tel = Tooltel(make_catalog(right_conversations), registry=CollectorRegistry())
    with capture(tel) as seen:
        for _ in play(tel, right_conversations[:20]):
            pass
    offered = [tuple(facts["tools"]) for facts in seen.logged("tools_offered")]
    assert offered == [
        tuple(tool["name"] for tool in declarations_of(conversation)) for conversation in right_conversations[:20]
    ]
    assert len(seen.logged("tool_call")) == sum(len(list(one.steps)) for one in right_conversations[:20])
