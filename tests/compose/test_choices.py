"""Parts of plugins: one stage or one kind is disabled, an item of a kind is replaced, in the old place."""

from __future__ import annotations

from typing import Any

import pytest

from newel.models.kinds import ModelProvider
from newel.sessions.kinds import SessionBackend
from newel.testing import ScriptedModel
from newel_compose import compose
from newel_kernel import CompositionError, Epilogue, RequestProcessor, ResponseProcessor, hookimpl


async def nothing(*_: Any) -> None:
    """Does nothing."""


def providing(name: str, **hooks: Any) -> Any:
    """A plugin object whose registration hooks return `hooks`."""

    def method(result: Any) -> Any:
        return hookimpl(lambda self: result)

    made = type("Plugin", (), {f"register_{hook}": method(result) for hook, result in hooks.items()})()
    made.name = name
    return made


def chains(composed: Any) -> dict[str, list[str]]:
    return {order: [one.stage.name for one in placed] for order, placed in composed.placed.items()}


def refusal(path: Any, *plugins: Any) -> str:
    with pytest.raises(CompositionError) as caught:
        compose(path, plugins=plugins)
    return str(caught.value)


class TestDisable:
    @pytest.mark.parametrize(
        "entry",
        [
            "planning.response_processors",
            "planning.response_chain",
            "planning.response_chain/planning",
            "planning.response_processors/planning",
        ],
    )
    def test_one_kind_of_a_plugin(self, extending: Any, entry: str) -> None:
        composed = compose(extending("standard", f"disable: [{entry}]"))
        assert chains(composed)["response_chain"] == ["code_execution", "tool_calls"]
        assert "planning" in chains(composed)["request_chain"]
        record = next(one for one in composed.plugins if one.name == "planning")
        assert record.state == "enabled"
        assert record.left_out == (f"response_processors/planning: the distribution disables '{entry}'",)

    def test_one_item_of_a_plugin(self, extending: Any) -> None:
        whole = compose("standard")
        composed = compose(extending("standard", "disable: [live.screening, pairing.pairing, openai.openai]"))
        for order, names in chains(whole).items():
            assert chains(composed)[order] == [one for one in names if one not in ("screening", "pairing", "openai")]
        assert {one.name for one in whole.registry.all(ModelProvider)} - {
            one.name for one in composed.registry.all(ModelProvider)
        } == {"openai"}

    def test_what_is_anchored_to_it_is_told(self, extending: Any) -> None:
        plugin = providing("mine", response_processors=[ResponseProcessor(name="x", run=nothing, after=("planning",))])
        message = refusal(extending("standard", "disable: [planning.response_chain]"), plugin)
        assert (
            "is anchored to 'planning', but the distribution 'house' disables 'planning.response_chain' (newel 0.1.0)"
        ) in message

    def test_a_hook_that_registers_nothing_now_may_be_disabled(self, extending: Any) -> None:
        assert "auth" not in chains(compose(extending("adk", "disable: [auth.prologues]")))["prologues"]

    @pytest.mark.parametrize(
        ("entry", "words"),
        [
            ("planning.respons_chain", "has no such item or kind; did you mean 'response_chain'?"),
            ("planning.plannin", "`disable` names 'plannin' of the plugin 'planning' (newel 0.1.0), which has no such"),
            ("planing.response_chain", "`disable` names the plugin 'planing', which is not installed; did you mean"),
            ("basic.response_chain", "(there are: basic, request_chain, request_chain/basic, request_processors"),
        ],
    )
    def test_a_typo_is_an_error(self, extending: Any, entry: str, words: str) -> None:
        assert words in refusal(extending("standard", f"disable: [{entry}]"))

    def test_a_part_of_a_plugin_that_takes_no_part_is_no_error(self, extending: Any) -> None:
        compose(extending("minimal", "disable: [planning.response_chain, rubrics.metrics]"))

    def test_a_part_of_a_given_plugin(self, extending: Any) -> None:
        given = providing("mine", epilogues=[Epilogue(name="a", run=nothing), Epilogue(name="b", run=nothing)])
        composed = compose(extending("minimal", "disable: [mine.a]"), plugins=[given])
        assert [one.name for one in composed.epilogues] == ["turns", "agent_calls", "b"]


def contents(**anchors: Any) -> RequestProcessor:
    return RequestProcessor(name="contents", run=nothing, **anchors)


class TestReplace:
    @pytest.mark.parametrize("key", ["contents", "request_chain/contents", "request_processors/contents"])
    @pytest.mark.parametrize(
        "anchors", [{}, {"before": ("basic",)}, {"after": ("agent_transfer",)}, {"after": ("nobody",)}]
    )
    def test_it_stands_in_the_old_place_whatever_it_brings(self, extending: Any, key: str, anchors: Any) -> None:
        neighbour = RequestProcessor(name="beside", run=nothing, after=("contents",))
        mine = providing("mine", request_processors=[contents(**anchors), neighbour])
        composed = compose(extending("standard", f"replace: {{{key}: mine}}"), plugins=[mine])
        other = compose("standard", plugins=[providing("mine", request_processors=[neighbour])])
        assert chains(composed) == chains(other)
        place = next(one for one in composed.placed["request_chain"] if one.stage.name == "contents")
        assert (place.plugin, place.why) == ("mine", "distribution, in place of that of 'contents'")
        record = next(one for one in composed.plugins if one.name == "contents")
        assert record.left_out == ("request_processors/contents: the plugin 'mine' replaces it",)

    def test_a_stage_that_is_not_listed_is_replaced_in_its_place(self, extending: Any) -> None:
        first = providing("first", epilogues=[Epilogue(name="x", run=nothing, after=("turns",))])
        second = providing("second", epilogues=[Epilogue(name="x", run=nothing, before=("failure_events",))])
        for mine in ([first, second], [second, first]):
            composed = compose(extending("standard", "replace: {epilogues/x: second}"), plugins=mine)
            assert chains(composed)["epilogues"][:2] == ["turns", "x"]
            assert composed.placed["epilogues"][1].plugin == "second"

    def test_it_stands_in_the_listed_place_of_a_plugin_that_is_disabled(self, extending: Any) -> None:
        mine = providing("mine", request_processors=[contents(before=("basic",))])
        path = extending("minimal", "disable: [contents]\nreplace: {contents: mine}")
        assert chains(compose(path, plugins=[mine]))["request_chain"] == [
            "basic",
            "instructions",
            "identity",
            "contents",
        ]

    @pytest.mark.parametrize("kind", ["sessions", "session_backends"])
    def test_an_item_of_a_kind_leaves_other_kinds_alone(self, extending: Any, kind: str) -> None:
        def opened(uri: str) -> Any:
            raise NotImplementedError

        mine = providing(
            "mine",
            session_backends=[SessionBackend(name="sqlite", open=opened)],
            model_providers=[ModelProvider(name="parrot", create=ScriptedModel)],
        )
        composed = compose(extending("standard", f"replace: {{{kind}/sqlite: mine}}"), plugins=[mine])
        assert composed.registry.owned(SessionBackend)["sqlite"].plugin == "mine"
        assert {
            kind.__name__: owned["sqlite"].plugin for kind, owned in composed.registry.kinds() if "sqlite" in owned
        } == {"SessionBackend": "mine", "MemoryBackend": "sqlite_memory"}

    @pytest.mark.parametrize(
        ("key", "words"),
        [
            (
                "content",
                "`replace` takes 'content' from 'mine', a plugin that does not provide it; did you mean 'contents'",
            ),
            (
                "request_chian/contents",
                "`replace` names the kind 'request_chian', which no enabled plugin declares; did",
            ),
            (
                "request_chain/content",
                "takes 'request_chain/content' from 'mine', a plugin that does not provide it; did",
            ),
            (
                "response_chain/contents",
                "takes 'response_chain/contents' from 'mine', a plugin that does not provide it",
            ),
        ],
    )
    def test_a_typo_is_an_error(self, extending: Any, key: str, words: str) -> None:
        mine = providing("mine", request_processors=[contents()])
        assert words in refusal(extending("standard", f"replace: {{{key}: mine}}\ndisable: [contents]"), mine)

    def test_a_plugin_that_is_not_installed(self, extending: Any) -> None:
        message = refusal(extending("standard", "replace: {sessions/sqlite: planing}"))
        assert "`replace` names the plugin 'planing', which is not installed; did you mean 'planning'?" in message
