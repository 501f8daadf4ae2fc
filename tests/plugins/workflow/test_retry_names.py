"""The names of exceptions in a RetryConfig are those of exceptions."""

from __future__ import annotations

import builtins

import pytest
from pydantic import ValidationError

from newel.workflow import RetryConfig

NAMES = sorted(
    name
    for name, kind in vars(builtins).items()
    if isinstance(kind, type) and issubclass(kind, BaseException) and len(name) > 8
)


class OwnError(Exception):
    """Of the app."""


@pytest.mark.parametrize("name", NAMES)
def test_a_name_without_one_of_its_letters_is_refused_with_the_right_one(name: str) -> None:
    assert RetryConfig(exceptions=[name]).exceptions == [name]
    for position in (1, len(name) // 2, len(name) - 1):
        wrong = name[:position] + name[position + 1 :]
        if not hasattr(builtins, wrong):
            with pytest.raises(ValidationError, match="no exception is named") as caught:
                RetryConfig(exceptions=[wrong])
            assert "did you mean" in str(caught.value)


@pytest.mark.parametrize(
    "name", ["", "nothing at all", "dict ", "no.such.Error", "json.loads", "json.JSONDecoderError"]
)
def test_what_is_no_exception_is_refused(name: str) -> None:
    with pytest.raises(ValidationError, match="RetryConfig"):
        RetryConfig(exceptions=[name])


@pytest.mark.parametrize(
    ("entry", "error", "covered"),
    [
        ("OwnError", OwnError(), True),
        (OwnError, OwnError(), True),
        ("json.JSONDecodeError", ValueError(), False),
        ("concurrent.futures.BrokenExecutor", RuntimeError(), False),
        ("builtins.OSError", ConnectionError(), True),
        ("LookupError", KeyError(), True),
    ],
)
def test_names_match_the_class_and_its_subclasses(entry: object, error: Exception, covered: bool) -> None:
    config = RetryConfig(exceptions=[entry], initial_delay=0)
    assert (config.delay(error, 1) is not None) == covered


def test_a_name_with_its_module_matches_the_class_that_the_module_has() -> None:
    from json import JSONDecodeError

    config = RetryConfig(exceptions=["json.JSONDecodeError"], initial_delay=0)
    assert config.delay(JSONDecodeError("x", "x", 0), 1) == 0
