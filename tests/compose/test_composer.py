"""The host: settings, replacing and disabling, plugin objects, and everything it refuses, each by name."""

from __future__ import annotations

import inspect
import re
import types
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from newel.agents import LlmAgent
from newel.memory.kinds import MemoryBackend
from newel.models.kinds import ModelProvider, default_model, model_of
from newel.planners.kinds import Planner
from newel.plugins import BasePlugin
from newel.sessions.kinds import SessionBackend
from newel.testing import ScriptedModel
from newel.tools.kinds import ToolAdapter, ToolFactory, adapt_tool
from newel_compose import Distribution, compose, extend
from newel_kernel import (
    CompositionError,
    ConfigurationError,
    FeatureUnavailableError,
    HookSignatureError,
    ModelError,
    PluginError,
    RequestProcessor,
    hookimpl,
)

MINE = """
    from newel_kernel import RequestProcessor, hookimpl

    async def run(ctx, request):
        request.append_instructions(["mine"])

    @hookimpl
    def register_request_processors():
        return [RequestProcessor(name="contents", run=run)]
    """
LOUD = """
    from pydantic import BaseModel
    from newel.tools.kinds import ToolFactory
    from newel_kernel import hookimpl

    class Settings(BaseModel, extra="forbid"):
        volume: int = 3
        names: list[str] = []

    @hookimpl
    def register_settings():
        return Settings

    @hookimpl
    def register_tool_factories(settings):
        return [ToolFactory(name=f"loud-{settings['loud'].volume}", create=dict)]
    """


async def nothing(ctx: Any, request: Any) -> None:
    return None


def providing(name: str, **hooks: Any) -> Any:
    """A plugin object whose registration hooks return `hooks`."""

    def method(result: Any) -> Any:
        return hookimpl(lambda self: result)

    made = type("Plugin", (), {hook: method(result) for hook, result in hooks.items()})()
    made.name = name
    return made


def chain(composed: Any) -> list[str]:
    return [stage.name for stage in composed.request_chain]


def refusal(*plugins: Any, distribution: Any = "adk", kind: type[Exception] = CompositionError) -> str:
    with pytest.raises(kind) as caught:
        compose(distribution, plugins=plugins)
    return str(caught.value)


class TestSettings:
    @pytest.fixture(autouse=True)
    def _loud(self, site: Any) -> None:
        site.install("newel-loud", "0.3", plugins={"loud": "fake_loud"}, fake_loud=LOUD)

    def test_defaults_apply_where_the_distribution_says_nothing(self) -> None:
        composed = compose("standard")
        assert composed.settings["loud"].volume == 3
        assert composed.registry.find(ToolFactory, "loud-3").create is dict

    def test_the_distribution_sets_them_before_anything_registers(self, extending: Any) -> None:
        composed = compose(extending("adk", "plugins: [loud]\nsettings: {loud: {volume: 11}}"))
        assert composed.settings["loud"].volume == 11
        assert composed.registry.find(ToolFactory, "loud-11").create is dict

    @pytest.mark.parametrize(
        ("values", "words"),
        [
            ("{volumes: 1}", "volumes: Extra inputs are not permitted"),
            ("{volume: loud}", "volume: Input should be a valid integer"),
            ("{names: [1]}", "names.0: Input should be a valid string"),
        ],
    )
    def test_a_wrong_value_names_file_plugin_and_key(self, extending: Any, values: str, words: str) -> None:
        path = extending("standard", f"settings: {{loud: {values}}}")
        with pytest.raises(ConfigurationError) as caught:
            compose(path)
        assert str(caught.value).startswith(f"{path}: settings of 'loud' (newel-loud 0.3): {words}")

    def test_settings_of_a_plugin_that_has_none_are_refused(self, extending: Any) -> None:
        with pytest.raises(ConfigurationError, match=r"the plugin 'basic' \(newel 0.1.0\) has no settings"):
            compose(extending("adk", "settings: {basic: {x: 1}}"))

    def test_settings_of_a_plugin_that_is_not_installed_are_refused_with_a_hint(self, extending: Any) -> None:
        with pytest.raises(CompositionError, match=r"`settings` names the plugin 'lout', .*; did you mean 'loud'"):
            compose(extending("standard", "settings: {lout: {volume: 1}}"))

    def test_settings_of_a_disabled_plugin_are_passed_over(self, extending: Any) -> None:
        composed = compose(extending("standard", "settings: {loud: {volume: 1}}\ndisable: [loud]"))
        assert "loud" not in composed.settings

    def test_a_plugin_given_directly_has_settings_like_any_other(self, extending: Any) -> None:
        class Settings(BaseModel, extra="forbid"):
            cups: int = 1

        plugin = providing("kettle", register_settings=Settings)
        assert compose("minimal", plugins=[plugin]).settings["kettle"].cups == 1  # type: ignore[attr-defined]
        set_to_five = extending("minimal", "settings: {kettle: {cups: 5}}")
        assert compose(set_to_five, plugins=[plugin]).settings["kettle"].cups == 5  # type: ignore[attr-defined]

    def test_a_plugin_may_say_that_it_has_none(self) -> None:
        assert "kettle" not in compose("minimal", plugins=[providing("kettle", register_settings=None)]).settings

    @pytest.mark.parametrize("wrong", [{"volume": 1}, int, "Settings"])
    def test_settings_that_are_no_model_are_refused_by_name(self, wrong: Any) -> None:
        message = refusal(providing("kettle", register_settings=wrong), kind=HookSignatureError)
        assert message.startswith("the plugin 'kettle': register_settings returned")


class TestReplaceAndDisable:
    def test_a_replaced_processor_keeps_its_place(self, site: Any, extending: Any) -> None:
        site.install("mine", plugins={"mine": "fake_mine"}, fake_mine=MINE)
        composed = compose(extending("adk", "plugins: [mine]\nreplace: {contents: mine}"))
        assert chain(composed) == chain(compose("adk"))
        (placed,) = (p for p in composed.placed["request_chain"] if p.stage.name == "contents")
        assert (placed.plugin, placed.source) == ("mine", "mine 1.0")

    def test_a_plugin_given_directly_can_replace(self, extending: Any) -> None:
        mine = providing("mine", register_request_processors=[RequestProcessor(name="contents", run=nothing)])
        composed = compose(extending("adk", "replace: {contents: mine}"), plugins=[mine])
        (placed,) = (p for p in composed.placed["request_chain"] if p.stage.name == "contents")
        assert (placed.plugin, inspect.unwrap(placed.stage.run)) == ("mine", nothing)

    def test_two_providers_of_a_stage_are_both_named(self, site: Any, extending: Any) -> None:
        site.install("mine", plugins={"mine": "fake_mine"}, fake_mine=MINE)
        with pytest.raises(CompositionError, match=r"'contents' is provided 2 times, by mine 1.0, newel 0.1.0"):
            compose(extending("adk", "plugins: [mine]"))

    def test_two_providers_of_a_service_are_both_named_with_the_remedy(self) -> None:
        plugins = [
            providing(
                name, register_tool_factories=[ToolFactory(name="speed", create=dict)], register_model_providers=[echo]
            )
            for name, echo in (
                ("one", ModelProvider(name="echo", create=ScriptedModel)),
                ("two", ModelProvider(name="two", create=ScriptedModel)),
            )
        ]
        with pytest.raises(CompositionError) as caught:
            compose("adk", plugins=plugins)
        speed, echo = sorted(caught.value.problems, reverse=True)
        if "speed" not in speed:
            speed, echo = echo, speed
        assert "ToolFactory 'speed' is provided by the plugins 'one'" in speed
        assert "'two'" in speed
        assert "ModelProvider 'echo' is provided by the plugins 'one'" in echo
        assert "'echo' (newel 0.1.0)" in echo
        assert "name one under `replace:` or disable the other" in echo

    def test_a_replacement_must_provide_what_it_replaces(self, extending: Any) -> None:
        path = extending("adk", "replace: {contents: planning, speed: echo}")
        with pytest.raises(CompositionError) as caught:
            compose(path)
        assert f"{path}: `replace` takes 'contents' from 'planning', a plugin that does not provide it" in str(
            caught.value
        )
        assert "`replace` takes 'speed' from 'echo'" in str(caught.value)

    @pytest.mark.parametrize(
        ("body", "words"),
        [
            ("disable: [plannning]", "`disable` names the plugin 'plannning', .*; did you mean 'planning'"),
            ("replace: {contents: mien}", "`replace` names the plugin 'mien', which is not installed"),
        ],
    )
    def test_a_name_that_no_plugin_has_is_refused(self, extending: Any, body: str, words: str) -> None:
        with pytest.raises(CompositionError, match=words):
            compose(extending("adk", body))

    def test_disabled_is_out_of_every_chain_and_registry(self, extending: Any) -> None:
        composed = compose(extending("adk", "disable: [planning, echo]"))
        assert "planning" not in chain(composed)
        assert [stage.name for stage in composed.response_chain] == ["code_execution"]
        assert "echo" not in composed.registry.owned(ModelProvider)
        records = {record.name: (record.state, record.why) for record in composed.plugins}
        assert records["planning"] == records["echo"] == ("disabled", "disabled by the distribution")

    def test_an_anchor_to_a_disabled_stage_says_which_distribution_disabled_it(self, site: Any, extending: Any) -> None:
        site.stage("rag", after=("planning",))
        with pytest.raises(CompositionError) as caught:
            compose(extending("standard", "disable: [planning]\nplugins: [rag]"))
        assert caught.value.problems == (
            "request_chain: 'rag' (newel-extra 1.0) is anchored to 'planning', but the distribution 'house' "
            "disables the plugin 'planning' (newel 0.1.0)",
        )

    def test_what_is_missing_at_run_time_mentions_what_is_disabled(self, extending: Any) -> None:
        composed = compose(extending("adk", "disable: [echo, memory_sessions, function_tools]"))
        hint = "; distribution 'house' disables echo, memory_sessions, function_tools"
        for error, ask in (
            (ModelError, lambda: model_of(composed, "echo:")),
            (FeatureUnavailableError, lambda: composed.open_service(SessionBackend)),
            (ConfigurationError, lambda: adapt_tool(composed, len)),
            (ConfigurationError, lambda: composed.registry.find(ModelProvider, "echo")),
        ):
            with pytest.raises(error) as caught:
                ask()
            assert str(caught.value).endswith(hint)


class TestPluginsGivenDirectly:
    def test_an_object_with_marked_methods(self) -> None:
        plugin = providing(
            "rag", register_request_processors=[RequestProcessor(name="rag", run=nothing, after=("contents",))]
        )
        composed = compose("minimal", plugins=[plugin])
        assert chain(composed)[-1] == "rag"
        first = composed.plugins[0]
        assert (first.name, first.state, first.why) == ("rag", "enabled", "given directly")
        assert first.hooks == ("register_request_processors",)
        assert "given directly" in composed.placed["request_chain"][-1].source

    def test_a_module(self) -> None:
        module = types.ModuleType("my_plugin")
        module.__file__ = "my_plugin.py"

        @hookimpl
        def register_tool_factories() -> list[ToolFactory]:
            return [ToolFactory(name="speed", create=dict)]

        module.register_tool_factories = register_tool_factories  # type: ignore[attr-defined]
        composed = compose("minimal", plugins=[module])
        assert composed.registry.owned(ToolFactory)["speed"].plugin == "my_plugin"

    def test_an_object_without_a_name_is_named_after_its_class(self) -> None:
        class Rag:
            @hookimpl
            def register_tool_factories(self) -> list[ToolFactory]:
                return []

        assert [r.name for r in compose("minimal", plugins=[Rag(), Rag()]).plugins[:2]] == ["Rag-0", "Rag-1"]

    def test_a_base_plugin_has_the_hooks_that_it_overrides(self) -> None:
        class Watch(BasePlugin):
            async def before_run_callback(self, *, invocation_context: Any) -> None:
                """Nothing."""

            async def helper(self) -> None:
                """No hook."""

        composed = compose("minimal", plugins=[Watch(name="watch")])
        assert composed.plugins[0].hooks == ("before_run_callback",)
        assert list(composed.hooks) == ["before_run_callback"]

    def test_a_base_plugin_without_any_costs_nothing(self) -> None:
        assert compose("minimal", plugins=[BasePlugin(name="idle")]).hooks == {}

    def test_two_of_one_name_are_refused(self) -> None:
        assert refusal(BasePlugin(name="x"), BasePlugin(name="x")) == "the plugin 'x' is registered twice"
        assert refusal(BasePlugin(name="contents")) == "the plugin 'contents' is registered twice"

    def test_they_come_before_what_is_installed(self) -> None:
        """A tool adapter of the caller's sees a callable before the one that takes every callable."""

        class Special:
            def __call__(self) -> str:
                return "x"

        adapter = ToolAdapter(name="special", accepts=lambda e: isinstance(e, Special), adapt=lambda e: "adapted")
        composed = compose("adk", plugins=[providing("mine", register_tool_adapters=[adapter])])
        assert adapt_tool(composed, Special()) == "adapted"
        assert adapt_tool(composed, len).name == "len"

    def test_tryfirst_and_trylast_order_what_is_registered(self) -> None:
        def plugin(name: str, **options: bool) -> Any:
            class Plugin:
                @hookimpl(**options)
                def register_tool_factories(self) -> list[ToolFactory]:
                    return [ToolFactory(name=name, create=dict)]

            made = Plugin()
            made.name = name  # type: ignore[attr-defined]
            return made

        given = [plugin("a", trylast=True), plugin("b"), plugin("c"), plugin("d", tryfirst=True)]
        assert list(compose("minimal", plugins=given).registry.owned(ToolFactory)) == ["d", "b", "c", "a"]


class TestRefusals:
    def test_a_misspelt_hook_name(self) -> None:
        class Plugin:
            name = "typo"

            @hookimpl
            def before_modle_callback(self, callback_context: Any) -> None:
                """Never called."""

        assert refusal(Plugin()) == (
            "the plugin 'typo' implements 'before_modle_callback', which is not a hook; "
            "did you mean 'before_model_callback'?"
        )

    def test_a_hook_of_another_version_may_be_optional(self) -> None:
        class Plugin:
            name = "modern"

            @hookimpl(optionalhook=True)
            def register_holograms(self) -> list[Any]:
                return []

        assert compose("minimal", plugins=[Plugin()]).plugins[0].name == "modern"

    def test_a_registration_hook_with_an_unknown_argument(self) -> None:
        class Plugin:
            name = "greedy"

            @hookimpl
            def register_tool_factories(self, settings: Any, kettle: Any) -> list[ToolFactory]:
                return []

        message = refusal(Plugin())
        assert message.startswith("the plugin 'greedy' does not fit the hook specifications")
        assert "register_tool_factories" in message
        assert "kettle" in message

    @pytest.mark.parametrize(
        ("signature", "shown"),
        [
            ("self, *, callback_context, request", "callback_context, request"),
            ("self, *, ctx, llm_request", "ctx, llm_request"),
            ("self, a, b, c", "a, b, c"),
        ],
    )
    def test_a_lifecycle_hook_with_other_arguments(self, signature: str, shown: str) -> None:
        namespace: dict[str, Any] = {"BasePlugin": BasePlugin}
        exec(  # a class per signature
            f"class Odd(BasePlugin):\n    async def before_model_callback({signature}):\n        pass", namespace
        )
        with pytest.raises((HookSignatureError, CompositionError)) as caught:
            compose("minimal", plugins=[namespace["Odd"](name="odd")])
        message = str(caught.value)
        assert "'odd'" in message
        assert "before_model_callback" in message

    @pytest.mark.parametrize(
        ("hook", "function", "names"),
        [
            ("before_agent_callback", lambda: None, None),
            ("before_agent_callback", lambda callback_context: None, None),
            ("before_agent_callback", lambda anything: None, None),
            ("before_agent_callback", lambda ctx, extra=1: None, None),
            ("before_agent_callback", lambda *args: None, None),
            ("before_agent_callback", lambda **kwargs: None, None),
            ("before_agent_callback", lambda a, b: None, "callback_context"),
            ("before_model_callback", lambda llm_request: None, None),
            ("before_model_callback", lambda ctx, request: None, None),
            ("before_model_callback", lambda ctx, /, request: None, None),
            ("before_model_callback", lambda callback_context, /, llm_request: None, None),
            (
                "before_model_callback",
                lambda callback_context, llm_request, more: None,
                "callback_context, llm_request",
            ),
            ("before_model_callback", lambda ctx, *, request: None, "callback_context, llm_request"),
            ("after_tool_callback", lambda tool, args, tool_context, tool_response: None, None),
            ("after_tool_callback", lambda tool, a, t: None, "tool, args, tool_context, tool_response"),
        ],
    )
    def test_an_agents_callback_is_checked_when_the_agent_is_made(
        self, hook: str, function: Any, names: str | None
    ) -> None:
        if names is None:
            assert LlmAgent(name="waiter", **{hook: function}).__newel__.callbacks(hook)
            return
        with pytest.raises(HookSignatureError) as caught:
            LlmAgent(name="waiter", **{hook: function})
        message = str(caught.value)
        assert message.startswith(f"agent 'waiter': {hook} ")
        assert re.search(rf"it must take \({re.escape(names)}\) \(test_composer\.py:\d+\)$", message)

    def test_a_callback_that_cannot_be_called(self) -> None:
        with pytest.raises(
            HookSignatureError, match="agent 'waiter': after_agent_callback must be a callable or a list"
        ):
            LlmAgent(name="waiter", after_agent_callback=[len, "no"])

    @pytest.mark.parametrize(
        ("result", "words"),
        [
            (None, "returned NoneType, not a list of ToolFactory"),
            (ToolFactory(name="speed", create=dict), "returned ToolFactory, not a list of ToolFactory"),
            ([ToolFactory(name="speed", create=dict), "speed"], "returned 'speed', not a ToolFactory"),
            ([ModelProvider(name="speed", create=ScriptedModel)], "not a ToolFactory"),
            ((m for m in ()), "returned generator, not a list of ToolFactory"),
        ],
    )
    def test_a_registration_hook_that_returns_something_else(self, result: Any, words: str) -> None:
        message = refusal(providing("odd", register_tool_factories=result), kind=HookSignatureError)
        assert message.startswith("the plugin 'odd': register_tool_factories ")
        assert words in message

    def test_a_registration_hook_that_is_a_coroutine(self) -> None:
        class Plugin:
            name = "odd"

            @hookimpl
            async def register_tool_factories(self) -> list[ToolFactory]:
                return []

        assert "register_tool_factories returned coroutine, not a list" in refusal(Plugin(), kind=HookSignatureError)

    def test_a_registration_hook_that_raises(self) -> None:
        class Plugin:
            name = "odd"

            @hookimpl
            def register_tool_factories(self) -> list[ToolFactory]:
                raise KeyError("kettle")

        with pytest.raises(PluginError, match=r"the plugin 'odd' failed in .*: KeyError: 'kettle' .test_") as caught:
            compose("minimal", plugins=[Plugin()])
        assert isinstance(caught.value.__cause__, KeyError)

    def test_the_faults_of_all_chains_and_registries_stand_in_one_error(self, extending: Any) -> None:
        plugin = providing(
            "odd",
            register_request_processors=[RequestProcessor(name="x", run=nothing, after=("content",))],
            register_model_providers=[ModelProvider(name="echo", create=ScriptedModel)],
        )
        path = extending("adk", "response_chain: [planning, nonsense, code_execution]")
        with pytest.raises(CompositionError) as caught:
            compose(path, plugins=[plugin])
        assert len(caught.value.problems) == 3


class TestExtend:
    class Watch(BasePlugin):
        async def before_run_callback(self, *, invocation_context: Any) -> None:
            """Nothing."""

    def test_no_plugins_change_nothing(self) -> None:
        composed = compose("minimal")
        assert extend(composed, []) is composed

    def test_hooks_come_before_those_that_are_there(self) -> None:
        composed = extend(compose("minimal", plugins=[self.Watch(name="a")]), [self.Watch(name="b")])
        plugins, fallbacks = composed.hooks["before_run_callback"]
        assert [bound.owner.split("'")[1] for bound in plugins] == ["b", "a"]
        assert fallbacks == ()
        assert composed.request_chain == compose("minimal").request_chain

    def test_one_that_registers_something_composes_anew_and_loses_nothing(self) -> None:
        one = providing("one", register_tool_factories=[ToolFactory(name="one", create=dict)])
        first = compose("minimal", plugins=[one])
        second = extend(first, [self.Watch(name="watch")])
        third = extend(second, [providing("two", register_tool_factories=[ToolFactory(name="two", create=dict)])])
        assert sorted(third.registry.owned(ToolFactory)) == ["one", "two"]
        assert list(third.hooks) == ["before_run_callback"]
        assert not {"one", "two"} & set(compose("minimal").registry.owned(ToolFactory))

    def test_what_does_not_fit_is_refused(self) -> None:
        with pytest.raises(CompositionError, match="'x' is registered twice"):
            extend(compose("minimal"), [self.Watch(name="x"), self.Watch(name="x")])


def test_a_replacement_leaves_other_kinds_alone() -> None:
    tea = providing("tea", register_tool_factories=[ToolFactory(name="echo", create=dict)])
    chosen = Distribution(name="house", plugins=("models", "tools", "echo"), replace={"echo": "tea"})
    composed = compose(chosen, plugins=[tea])
    assert composed.registry.owned(ToolFactory)["echo"].plugin == "tea"
    assert composed.registry.owned(ModelProvider)["echo"].plugin == "echo"


class TestRegistries:
    def test_an_unknown_name_lists_those_there_are(self) -> None:
        with pytest.raises(ConfigurationError) as caught:
            compose("minimal").registry.find(ModelProvider, "ecko")
        assert str(caught.value).startswith(
            "no plugin provides the model provider 'ecko'; did you mean 'echo'? (there are: "
        )
        with pytest.raises(ConfigurationError, match="the planner 'x': no enabled plugin declares what a planner is"):
            compose("minimal").registry.find(Planner, "x")

    def test_an_address_finds_its_model_once(self) -> None:
        composed = compose("minimal")
        assert model_of(composed, "echo:") is model_of(composed, "echo:")
        assert model_of(composed, "echo:") is not model_of(compose("minimal"), "echo:")

    def test_a_name_finds_the_provider_whose_pattern_fits_all_of_it(self) -> None:
        made: list[str] = []

        def create(address: str) -> Any:
            made.append(address)
            return ScriptedModel()

        provider = ModelProvider(name="parrot", create=create, patterns=("polly-.*",))
        composed = compose("minimal", plugins=[providing("parrot", register_model_providers=[provider])])
        model_of(composed, "polly-1")
        model_of(composed, "parrot:polly-2")
        model_of(composed, "polly-3:beta")
        assert made == ["polly-1", "parrot:polly-2", "polly-3:beta"]
        with pytest.raises(ModelError, match="unknown model 'old polly-1'"):
            model_of(composed, "old polly-1")

    def test_a_name_that_two_providers_claim_is_an_error_that_names_both_plugins(self) -> None:
        plugins = [
            providing(
                f"{name}_plugin",
                register_model_providers=[ModelProvider(name=name, create=ScriptedModel, patterns=("polly-.*",))],
            )
            for name in ("parrot", "ara")
        ]
        composed = compose("minimal", plugins=plugins)
        with pytest.raises(ModelError) as caught:
            model_of(composed, "polly-1")
        assert "claimed by the plugin 'ara_plugin'" in str(caught.value)
        assert "and the plugin 'parrot_plugin'" in str(caught.value)
        assert "write 'ara:polly-1' or 'parrot:polly-1'" in str(caught.value)

    def test_a_default_comes_from_the_first_provider_that_has_one(self) -> None:
        def provider(name: str, address: str | None, fallback: bool = False) -> Any:
            made = ModelProvider(name=name, create=lambda a: a, default=lambda: address, fallback=fallback)  # type: ignore[arg-type,return-value]
            return providing(name, register_model_providers=[made])

        plugins = [provider("last", "last:", True), provider("none", None), provider("one", "one:x")]
        bare = Distribution(name="bare", plugins=("models",))
        assert default_model(compose(bare, plugins=plugins)) == "one:x"
        assert default_model(compose(bare, plugins=plugins[:2])) == "last:"
        with pytest.raises(ModelError, match="no model is set and no provider offers a default"):
            default_model(compose(bare, plugins=plugins[1:2]))

    def test_a_store_is_opened_by_the_scheme_of_its_uri(self) -> None:
        composed = compose("minimal")
        assert type(composed.open_service(SessionBackend)).__name__ == "InMemorySessionService"
        assert composed.open_service(MemoryBackend) is None
        with pytest.raises(FeatureUnavailableError, match="no plugin provides a session store for 'memry:'; did you"):
            composed.open_service(SessionBackend, "memry:")

    def test_a_distribution_object_composes(self, tmp_path: Path) -> None:
        assert compose(Distribution(name="bare")).request_chain == ()
