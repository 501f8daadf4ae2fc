"""The lock: a composition is held to names, distributions and versions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newel_compose import compose, lock_of, write_lock
from newel_compose._internal.lock import _digest, check_lock
from newel_kernel import CompositionError, LockError


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    path = tmp_path / "newel.lock"
    write_lock(compose("minimal"), path)
    return path


def edit(lock: Path, **plugins: Any) -> None:
    """Set plugins in a lock file; None takes one out."""
    data = json.loads(lock.read_text())
    for name, entry in plugins.items():
        data["plugins"].pop(name, None)
        if entry is not None:
            data["plugins"][name] = entry
    lock.write_text(json.dumps(data))


def test_a_lock_holds_names_distributions_and_versions(lock: Path) -> None:
    data = json.loads(lock.read_text())
    assert data == lock_of(compose("minimal"))
    assert data["distribution"] == "minimal"
    assert data["plugins"]["contents"] == {"distribution": "newel", "version": "0.1.0"}
    assert "planning" not in data["plugins"]  # installed, but not part of it


def test_writing_twice_gives_the_same_bytes_and_leaves_nothing_else(lock: Path) -> None:
    before = lock.read_bytes()
    write_lock(compose("minimal"), lock)
    assert lock.read_bytes() == before
    assert list(lock.parent.iterdir()) == [lock]


def test_what_is_locked_composes(lock: Path) -> None:
    assert compose("minimal", lock=lock).distribution.name == "minimal"


def test_every_difference_is_listed(lock: Path) -> None:
    edit(
        lock, contents={"distribution": "newel", "version": "9"}, echo=None, rag={"distribution": "rag", "version": "1"}
    )
    with pytest.raises(LockError) as caught:
        compose("minimal", lock=lock)
    assert isinstance(caught.value, CompositionError)
    assert caught.value.problems[:-1] == (
        "plugin 'contents': newel 0.1.0, locked: newel 9",
        "plugin 'echo': newel 0.1.0, locked: absent",
        "plugin 'rag': absent, locked: rag 1",
    )
    assert "newel lock" in caught.value.problems[-1]


def test_another_distribution_is_refused(lock: Path) -> None:
    with pytest.raises(LockError, match="the distribution is 'adk', locked: 'minimal'"):
        compose("adk", lock=lock)


def test_a_plugin_given_directly_is_part_of_the_lock(lock: Path) -> None:
    class Plugin:
        name = "loud"

    with pytest.raises(LockError, match=r"plugin 'loud': given directly, .*, locked: absent"):
        compose("minimal", plugins=[Plugin()], lock=lock)


@pytest.mark.parametrize("text", ["", "not json", "[]", "{}", '{"plugins": 3}', "null"])
def test_a_damaged_lock_is_refused_with_the_remedy(lock: Path, text: str) -> None:
    lock.write_text(text)
    with pytest.raises(LockError, match=r"is not a lock file .*; write it again with `newel lock`"):
        check_lock(compose("minimal"), lock)


def test_a_lock_beside_the_choice_binds_it(lock: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(lock.parent)
    monkeypatch.setenv("NEWEL_DISTRIBUTION", "minimal")
    assert compose().distribution.name == "minimal"
    edit(lock, contents=None)
    with pytest.raises(LockError, match="plugin 'contents'"):
        compose()
    assert compose("minimal").distribution.name == "minimal"  # an argument is a choice of its own


#: What a file over `standard` says -> what a composition that was locked without it must tell.
CHANGES = {
    "settings: {turns: {max_steps: 7}}": "the settings of 'turns' are others than the locked ones",
    "services: {session: 'sqlite:///other.db'}": "the URI of the session store is another than the locked one",
    "response_chain: [code_execution, planning, tool_calls]": "the order 'response_chain': code_execution of",
    "trust: []": "`trust`: nothing, locked: newel",
}


def lock_and_change(extending: Any, tmp_path: Path, before: str, after: str) -> LockError:
    path = tmp_path / "newel.lock"
    write_lock(compose(extending("standard", before)), path)
    compose(extending("standard", before), lock=path)
    with pytest.raises(LockError) as caught:
        compose(extending("standard", after), lock=path)
    return caught.value


@pytest.mark.parametrize(("body", "text"), CHANGES.items())
@pytest.mark.parametrize("swapped", [False, True])
def test_another_order_setting_or_choice_is_refused(
    extending: Any, tmp_path: Path, body: str, text: str, swapped: bool
) -> None:
    before, after = (body, "") if swapped else ("", body)
    problems = lock_and_change(extending, tmp_path, before, after).problems
    assert [problem.partition(":")[0] for problem in problems[:-1]] == [text.partition(":")[0]]
    assert swapped or problems[0].startswith(text)


@given(
    st.dictionaries(st.sampled_from(["max_steps", "x"]), st.integers(1, 9), max_size=1),
    st.dictionaries(st.sampled_from(["max_steps", "x"]), st.integers(1, 9), max_size=1),
)
def test_a_digest_differs_exactly_with_its_value(one: dict[str, int], other: dict[str, int]) -> None:
    assert (_digest(one) == _digest(other)) is (one == other)


def test_the_order_of_hooks_is_locked(site: Any, extending: Any, tmp_path: Path) -> None:
    source = """
        from newel_kernel import hookimpl

        @hookimpl
        def before_model_callback(callback_context, llm_request):
            return None
        """
    site.install("acme", plugins={"one": "acme_one", "two": "acme_two"}, acme_one=source, acme_two=source)
    error = lock_and_change(extending, tmp_path, "plugins: [one, two]", "plugins: [two, one]")
    assert error.problems[:-1] == (
        "the hook 'before_model_callback': 'two' (acme 1.0), 'one' (acme 1.0), "
        "locked: 'one' (acme 1.0), 'two' (acme 1.0)",
    )


def test_no_value_of_a_setting_or_password_is_in_the_lock(extending: Any, tmp_path: Path) -> None:
    body = "settings: {turns: {max_steps: 76543}}\nservices: {session: 'postgresql://me:hunter2@host/base'}"
    path = tmp_path / "newel.lock"
    write_lock(compose(extending("standard", body)), path)
    assert not [word for word in ("76543", "hunter2", "host") if word in path.read_text()]
    other = compose(extending("standard", body.replace("hunter2", "renewed")), lock=path)  # a password may be renewed
    assert other.distribution.name == "house"


def test_a_lock_of_plugins_alone_is_refused_with_the_remedy(lock: Path) -> None:
    data = json.loads(lock.read_text())
    lock.write_text(json.dumps({key: data[key] for key in ("distribution", "plugins")}))
    with pytest.raises(LockError, match=r"orders: Field required.*write it again with `newel lock`"):
        compose("minimal", lock=lock)
