"""What an exception raised by a tool says about its call."""

from __future__ import annotations

import asyncio
import concurrent.futures
import gc
import subprocess
import sys
import weakref

import pytest

import tooltel
from tooltel.outcome import MAX_FAULTS, Fault, Rejection, judge_exception, structural
from tooltel.signals import RejectionKind, RejectionSource, Status


class NeverSays(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


class TooSlow(TimeoutError):
    pass


@pytest.mark.parametrize(
    ("error", "status", "error_type"),
    [
        (ValueError("x"), Status.ERROR, "ValueError"),
        (NeverSays(), Status.ERROR, "NeverSays"),
        (KeyboardInterrupt(), Status.ERROR, "KeyboardInterrupt"),
        (SystemExit(3), Status.ERROR, "SystemExit"),
        (StopIteration(1), Status.ERROR, "StopIteration"),
        (StopAsyncIteration(), Status.ERROR, "StopAsyncIteration"),
        (ExceptionGroup("many", [TimeoutError(), ValueError()]), Status.ERROR, "ExceptionGroup"),
        (BaseExceptionGroup("many", [KeyboardInterrupt()]), Status.ERROR, "BaseExceptionGroup"),
        (TypeError("raised by the tool itself"), Status.ERROR, "TypeError"),
        (PermissionError("the file system's, no policy's"), Status.ERROR, "PermissionError"),
        (subprocess.CalledProcessError(1, "ls"), Status.ERROR, "CalledProcessError"),
        (TimeoutError(), Status.TIMEOUT, "timeout"),
        (TooSlow(), Status.TIMEOUT, "timeout"),
        (concurrent.futures.TimeoutError(), Status.TIMEOUT, "timeout"),  # the same class since Python 3.11
        (asyncio.CancelledError(), Status.CANCELLED, "cancelled"),
        (concurrent.futures.CancelledError(), Status.CANCELLED, "cancelled"),
        (GeneratorExit(), Status.ABANDONED, "abandoned"),
        (tooltel.Refused("no", policy="refunds"), Status.REFUSED, "refused"),
        (tooltel.Rejected("limit"), Status.INVALID_ARGUMENTS, "invalid_arguments"),
    ],
)
def test_each_kind_of_exception_settles_a_call_in_one_outcome(
    error: BaseException, status: Status, error_type: str
) -> None:
    verdict = judge_exception(error)
    assert (verdict.status, verdict.error_type) == (status, error_type)


def test_trios_cancellation_counts_as_one_where_trio_was_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    class Cancelled(BaseException):
        pass

    trio = type(sys)("trio")
    trio.Cancelled = Cancelled  # type: ignore[attr-defined]  # a module made for this test
    namesake = type("Cancelled", (BaseException,), {})
    assert judge_exception(namesake()).status is Status.ERROR
    monkeypatch.setitem(sys.modules, "trio", trio)
    assert judge_exception(Cancelled()).status is Status.CANCELLED
    assert judge_exception(namesake()).status is Status.ERROR


def test_classes_of_errors_may_be_any_number() -> None:
    """Verdicts are kept by class, some of them: what a host makes by the thousand is judged right, and let go."""
    made = [type(f"Fault{number}", (Exception,), {}) for number in range(2000)]
    assert [judge_exception(kind()).error_type for kind in made] == [kind.__name__ for kind in made]
    last = weakref.ref(made[0])
    made.clear()
    gc.collect()
    assert last() is None


def test_an_exception_whose_class_has_no_name_has_a_type_all_the_same() -> None:
    """No type would say that there was no error."""
    assert judge_exception(type("", (Exception,), {})()).error_type == "other"


def test_an_exceptions_type_is_a_clean_bounded_name_and_its_message_is_nowhere() -> None:
    hostile = type("Bad\nName" + "x" * 500, (Exception,), {})
    verdict = judge_exception(hostile("the customer's card number"))
    assert verdict.error_type.startswith("Bad\\nName")
    assert len(verdict.error_type) <= 128
    assert "card" not in repr(verdict)


def test_a_rejection_names_field_problem_and_what_was_expected() -> None:
    error = tooltel.Rejected("limit", problem="5000 is out of range", expected="integer from 1 to 100")
    (rejection,) = judge_exception(error).rejections
    fault = Fault("limit", "5000 is out of range", "integer from 1 to 100")
    assert rejection == Rejection(RejectionKind.DOMAIN, RejectionSource.TOOL, (fault,))


def test_what_a_rejection_quotes_from_the_model_is_cleaned() -> None:
    (rejection,) = judge_exception(tooltel.Rejected("a\nb", problem="\x1b[2J", expected="\u202e" * 500)).rejections
    (fault,) = rejection.faults
    assert fault.field == "a\\nb"
    assert fault.problem == "\\x1b[2J"
    assert fault.expected is not None
    assert len(fault.expected) <= 128
    assert fault.expected.isprintable()


@pytest.mark.parametrize(("policy", "label"), [("refunds", "refunds"), ("a\nb", "a\\nb"), ("p" * 500, "p" * 127 + "…")])
def test_a_refusal_names_its_policy_cleaned(policy: str, label: str) -> None:
    assert judge_exception(tooltel.Refused("no", policy=policy)).policy == label


def test_subclasses_of_rejected_and_refused_are_judged_as_such() -> None:
    class OutOfRange(tooltel.Rejected):
        pass

    class FourEyes(tooltel.Refused):
        def __init__(self) -> None:
            super().__init__("needs a second person", policy="four_eyes")

    assert judge_exception(OutOfRange("limit")).status is Status.INVALID_ARGUMENTS
    assert judge_exception(FourEyes()).policy == "four_eyes"


def test_a_structural_verdict_keeps_a_bounded_number_of_faults() -> None:
    verdict = structural([Fault(f"field_{n}", "unexpected") for n in range(1000)])
    assert verdict.status is Status.INVALID_ARGUMENTS
    (rejection,) = verdict.rejections
    assert (rejection.kind, rejection.source) == (RejectionKind.STRUCTURAL, RejectionSource.FRAMEWORK)
    assert len(rejection.faults) == MAX_FAULTS
