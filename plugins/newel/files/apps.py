"""Apps in files: the plan of an app, and the readers of its own fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from newel import plugins
from newel.apps.app import App
from newel.apps.base_events_summarizer import BaseEventsSummarizer
from newel.apps.configs import EventsCompactionConfig
from newel.apps.llm_event_summarizer import LlmEventSummarizer
from newel.artifacts.kinds import ArtifactBackend
from newel.auth.kinds import CredentialBackend
from newel.files.agents import AgentPlan
from newel.files.compilation import SUFFIXES, Compilation, Constant, Factory, Place, Reader, check_suffix, kind_of
from newel.files.document import unknown_key
from newel.files.fields import FieldKind
from newel.files.names import call, importer, instance, list_of, read_agent, read_code
from newel.files.plans import Form, ModelPlan
from newel.files.references import CodeConfig
from newel.memory.kinds import MemoryBackend
from newel.models.kinds import model_of
from newel.sessions.kinds import SessionBackend
from newel_compose import Backend, Composition, compose_once
from newel_kernel import BaseAgent, Json, NewelError

#: A file with one of these keys is an app's; they mean the same.
ROOTS = ("root_agent", "agent")
NOUN = "an app file"


def load_file(path: str | Path, composition: Composition | None = None) -> App | BaseAgent:
    """The agent of an agent's file, or the App of an app's file, which has `root_agent` among its keys."""
    file = check_suffix(Path(path), NOUN)
    compilation = Compilation(file.parent, composition or compose_once(), AgentPlan)
    return cast(App | BaseAgent, compilation.result(file, _plan))


def app_fields(path: Path, composition: Composition | None = None) -> dict[str, object]:
    """The fields of the App that a file describes: an agent's file, or one with `root_agent` among its keys."""
    app = load_file(path, composition)
    if isinstance(app, App):
        return {name: getattr(app, name) for name in app.model_fields_set}
    return {"name": app.name, "root_agent": app}


def plugin_names() -> list[str]:
    """The plugin classes that a file can name without a module."""
    return sorted(name for name in dir(plugins) if name.endswith("Plugin") and name != "BasePlugin")


def _plan(top: Place) -> Factory:
    if not any(key in top.file.document.data for key in ROOTS):
        return AgentPlan(top)
    plan = ModelPlan(top, FORM)
    plan.check(App)
    return plan


def _read_root(place: Place) -> Factory:
    value = place.value
    if isinstance(value, str) and not value.endswith(SUFFIXES):
        raise place.error(f"{place.key} {value!r} is not a YAML file; write `code: {value}` for an agent of the code")
    return read_agent(place)


def _read_plugin(place: Place) -> Factory:
    """A plugin of `newel.plugins` by its class's name, or one of the app: an object, a class or a factory."""
    config = place.parsed(CodeConfig)
    names = plugin_names()
    if config.name in names:
        return instance(place, config, lambda: getattr(plugins, config.name))
    if "." not in config.name:
        message = unknown_key(config.name, "plugins", names).replace("unknown key", "there is no plugin", 1)
        raise place.error(f"{message}; or name one of the app's folder as module.name")
    return instance(place, config, importer(place, config.name))


def _read_compaction(place: Place) -> Factory:
    value = place.value
    if not isinstance(value, Mapping):
        raise place.error(f"{place.key}: expected a mapping, not {kind_of(value)}")
    rest = {key: item for key, item in value.items() if key != "summarizer"}
    config = replace(place, value=rest).parsed(EventsCompactionConfig)
    if value.get("summarizer") is None:
        return Constant(config)
    make = _read_summarizer(place.child("summarizer", value["summarizer"]))
    return lambda: config.model_copy(update={"summarizer": make()})


def _read_summarizer(place: Place) -> Factory:
    """`LlmEventSummarizer` with `llm` as a model's address, or one of the app's code."""
    config = place.parsed(CodeConfig)
    if config.name != LlmEventSummarizer.__name__:
        make = instance(place, config, importer(place, config.name))
    else:
        make = _own_summarizer(place, config)

    def make_summarizer() -> BaseEventsSummarizer:
        summarizer = make()
        if not isinstance(summarizer, BaseEventsSummarizer):
            kind = type(summarizer).__name__
            raise place.error(f"{place.key}: {kind} is not a BaseEventsSummarizer; name one")
        return summarizer

    return make_summarizer


def _own_summarizer(place: Place, config: CodeConfig) -> Factory:
    args: Json = config.keywords
    if config.positional or args.keys() - {"llm", "prompt_template"} or not isinstance(args.get("llm"), str):
        raise place.error("LlmEventSummarizer has the args `llm`, a model's address, and `prompt_template`")

    def make() -> LlmEventSummarizer:
        model = call(place, config.name, lambda: model_of(place.app.composition, args["llm"]))
        return LlmEventSummarizer(model, args.get("prompt_template"))

    return make


def _service(kind: type[Backend[Any]]) -> Reader:
    """The reader of a store: a URI, or a mapping that names a store of the app's code."""

    def read(place: Place) -> Factory:
        uri = place.value
        if isinstance(uri, Mapping):
            config = place.parsed(CodeConfig)
            return instance(place, config, importer(place, config.name))
        if not isinstance(uri, str) or ":" not in uri:
            raise place.error(f"{place.key}: expected a URI, such as memory: (or {{name: module.object}})")
        address = uri

        def open_store() -> object:
            try:
                return place.app.composition.open_service(kind, address)
            except (NewelError, OSError, ValueError) as error:
                raise place.error(f"{place.key}: {error}") from error

        return open_store

    return read


_STORES = (SessionBackend, ArtifactBackend, MemoryBackend, CredentialBackend)
FIELDS: dict[str, FieldKind] = {
    "auth_provider_registry": FieldKind(read_code, "code"),
    "events_compaction_config": FieldKind(_read_compaction, "compaction"),
    "plugins": FieldKind(list_of(_read_plugin), "plugins"),
    "root_agent": FieldKind(_read_root, "agentReference"),
    **{f"{kind.service}_service": FieldKind(_service(kind), "service") for kind in _STORES},
}
FORM = Form(FIELDS, spellings={"agent": "root_agent"}, noun=NOUN)
