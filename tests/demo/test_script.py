from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.demo.playing import play
from tooltel import signals
from tooltel.demo.plots import CALM
from tooltel.demo.script import LEAST, write_script
from tooltel.demo.troubles import TROUBLES, bank_is_down
from tooltel.signals import ItemStatus, Reason, RejectionKind, Risk, Status

if TYPE_CHECKING:
    from tooltel.demo.steps import Step, Visit


def steps_of(visits: tuple[Visit, ...]) -> list[tuple[Visit, Step]]:
    return [(visit, step) for visit in visits for beat in visit.beats for step in beat.steps]


@pytest.mark.parametrize("sessions", [LEAST, 300])
def test_the_same_seed_writes_the_same_script(sessions: int) -> None:
    assert write_script(3, sessions).visits == write_script(3, sessions).visits


def test_another_seed_writes_another_script() -> None:
    assert write_script(3, 100).visits != write_script(4, 100).visits


def test_a_script_has_as_many_sessions_as_were_asked_for() -> None:
    for sessions in (LEAST, LEAST + 1, 99, 300, 1000):
        assert len(write_script(1, sessions).visits) == sessions


def test_too_few_sessions_are_refused_with_the_least_number() -> None:
    with pytest.raises(ValueError, match=rf"at least {LEAST} sessions, not {LEAST - 1}"):
        write_script(1, LEAST - 1)


@pytest.mark.parametrize("sessions", [LEAST, 300, 1000])
def test_each_trouble_happens_its_known_number_of_times(sessions: int) -> None:
    told = Counter(visit.plot for visit in write_script(5, sessions).visits)
    known: Counter[str] = Counter()
    for trouble in TROUBLES:
        known[trouble.plot.__name__] += trouble.times(sessions)
    assert {name: told[name] for name in known} == dict(known)
    assert told[bank_is_down.__name__] >= 6


@pytest.mark.parametrize("sessions", [LEAST, 300])
def test_even_the_shortest_shift_has_good_sessions_of_both_agents(sessions: int) -> None:
    calm = [visit for visit in write_script(5, sessions).visits if visit.plot in CALM]
    assert {visit.profile for visit in calm} == {"support", "back_office"}


def test_the_bank_is_down_in_one_stretch_of_the_shift() -> None:
    visits = write_script(5, 300).visits
    places = [visit.number for visit in visits if visit.plot == bank_is_down.__name__]
    assert min(places) >= 0.35 * 300
    assert max(places) < 0.50 * 300


def test_a_shift_has_every_outcome_reason_and_kind_of_item_that_there_is() -> None:
    fates = [step.fate for _, step in steps_of(write_script(1, LEAST).visits)]
    assert {fate.status for fate in fates} == set(Status)
    assert {fate.reason for fate in fates} - {None} == set(Reason)
    assert {fate.kind for fate in fates} - {None} == set(RejectionKind)
    assert {status for fate in fates for status in fate.items} == set(ItemStatus)
    assert any(fate.repeated for fate in fates)


def test_only_an_irreversible_tool_has_a_burst_of_errors() -> None:
    ledger = play(1, 300).ledger
    errors = Counter({key.tool: count for key, count in ledger.settled.items() if key.outcome == Status.ERROR})
    (tool, count), *others = errors.most_common()
    assert (tool, count) == ("payment_refund", 24)
    assert sum(count for _, count in others) <= 3


def test_the_irreversible_calls_that_are_made_twice_are_the_payments_teams() -> None:
    tally = play(1, 300).ledger.tally
    repeated = [dict(key.labels) for key in tally if key.metric == signals.REPEATED_CALLS.name]
    assert {(each["owner"], each["risk"]) for each in repeated} == {("payments", str(Risk.IRREVERSIBLE))}
