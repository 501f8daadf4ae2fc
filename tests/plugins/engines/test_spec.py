"""Whatever a field of a spec is given: an engine gives it back as it was, or the error names the field."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from newel.engines import InvocationSpec, SpecRefusedError, check_same, spec_json
from newel.engines.messages import with_message
from newel.engines.spec import MOST_BYTES, new_spec, size_of
from newel.policies.failure_events import is_failure
from newel_kernel import Event
from newel_types import Content

BASE: dict[str, Any] = {"app_name": "shop", "user_id": "u", "session_id": "s", "invocation_id": "e-1"}

ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(),
    st.text(st.characters(categories=["Cs", "Cc", "Lu"])),
    st.binary(),
    st.builds(object),
    st.sets(st.integers()),
    st.just(10**400),
    st.just("x" * (MOST_BYTES + 1)),
)
VALUES = st.recursive(
    ODD,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner, inner),
        st.dictionaries(st.one_of(st.text(max_size=3), st.integers(), st.none()), inner, max_size=3),
    ),
    max_leaves=6,
)


FIELDS = st.sampled_from([*InvocationSpec.model_fields, "colour"])


@settings(max_examples=400, deadline=None)
@given(name=FIELDS, value=st.one_of(VALUES, st.builds(dict, a=VALUES)))
def test_a_field_comes_back_or_is_named(name: str, value: Any) -> None:
    spec, problem = None, ""
    try:
        spec = new_spec(**{**BASE, name: value})
    except SpecRefusedError as error:
        problem = str(error)
    if spec is None:
        assert name in problem
        assert len(problem) < 2000
    else:
        again = InvocationSpec.model_validate_json(spec_json(spec))
        assert again == spec
        check_same(again, spec)


def _deep(depth: int) -> Any:
    value: Any = 0
    for _ in range(depth):
        value = [value]
    return value


def _endless() -> Any:
    value: list[Any] = []
    value.append(value)
    return value


NOT_JSON = {
    "a set": {1, 2},
    "nan": float("nan"),
    "bytes": b"x",
    "an object": object(),
    "deep": _deep(600),
    "too deep": _deep(100_000),
    "endless": _endless(),
}


@pytest.mark.parametrize("name", ["message", "state_delta", "custom_metadata"])
@pytest.mark.parametrize("what", NOT_JSON)
def test_what_is_not_json_is_refused_with_what_json_is(name: str, what: str) -> None:
    with pytest.raises(SpecRefusedError, match=rf"^{name}: .*must be JSON"):
        new_spec(**BASE, **{name: {"x": NOT_JSON[what]}})


@pytest.mark.parametrize("seconds", [float("inf"), float("nan"), 1e300, 0, -1])
def test_a_deadline_is_a_time_that_comes(seconds: float) -> None:
    with pytest.raises(SpecRefusedError, match=r"^seconds: "):
        new_spec(**BASE, seconds=seconds)


def test_the_largest_spec_can_be_read_after_a_retry() -> None:
    spec = new_spec(**BASE, state_delta={"x": ""})
    spec = new_spec(**BASE, state_delta={"x": "x" * (MOST_BYTES - size_of(spec))})
    assert size_of(spec) == MOST_BYTES
    again = spec.model_copy(update={"attempt": spec.attempt + 1})
    assert InvocationSpec.model_validate_json(spec_json(again)) == again


def test_the_spec_of_a_newer_release_is_read_and_stored_again_as_it_was() -> None:
    spec = InvocationSpec.model_validate({**BASE, "colour": "red"})
    again = InvocationSpec.model_validate_json(spec_json(spec.model_copy(update={"attempt": 2})))
    assert again.model_extra == {"colour": "red"}
    check_same(again, new_spec(**BASE))


def test_a_client_cannot_say_what_newel_itself_notes_in_events() -> None:
    with pytest.raises(SpecRefusedError, match=r"^custom_metadata: the key 'newel.failure' is newel's own"):
        new_spec(**BASE, custom_metadata={"newel.failure": True})
    assert not is_failure(Event(author="a", error_code="x", custom_metadata={"failure": True}))


def test_a_message_that_is_an_artifact_leaves_too_little_room() -> None:
    spec = new_spec(**BASE)
    spec = new_spec(**BASE, state_delta={"x": "x" * (MOST_BYTES - size_of(spec) - 20)})
    with pytest.raises(SpecRefusedError, match=r"^state_delta: "):
        with_message(spec, Content.model_validate({"parts": [{"text": "hello"}]}))


def test_a_submission_takes_only_its_options() -> None:
    from tests.plugins.engines.test_submissions import WHERE, _runner

    async def main() -> None:
        async with _runner("never") as runner:
            other: dict[str, Any]
            for other in ({"app_name": "x"}, {"message_artifact": "x"}, {"lock": "x"}, {"attempt": 2}):
                with pytest.raises(SpecRefusedError, match=r": submit takes no such option"):
                    await runner.submit(**WHERE, new_message="hi", **other)

    asyncio.run(main())
