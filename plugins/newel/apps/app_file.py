"""App files: an app in YAML. A module of its own, because an App that is made in code needs no YAML."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from newel.agents.common_configs import CodeConfig
from newel.agents.yaml_agents import SUFFIXES, read_agent
from newel.agents.yaml_calls import applied
from newel.agents.yaml_loader import AgentFile, AgentLoader, checked_suffix
from newel.agents.yaml_positions import Document, problems, unknown_key
from newel.agents.yaml_reading import Make, Reader, Ready, called, items, located, parsed, read_code, shown
from newel.agents.yaml_syntax import Steps
from newel.apps.app import App
from newel.apps.base_events_summarizer import BaseEventsSummarizer
from newel.apps.configs import EventsCompactionConfig
from newel.apps.llm_event_summarizer import LlmEventSummarizer
from newel_compose import compose_once
from newel_compose import Composition
from newel_kernel import BaseAgent
from newel_kernel import NewelError

#: `agent` is another name for `root_agent`.
_ROOTS = ("root_agent", "agent")
_NOUN = "an app file"


def read_app(path: str | Path, composition: Composition | None = None) -> Any:
    """The agent of an agent's file, or the App of an app's file, which has `root_agent` among its keys."""
    file = checked_suffix(Path(path), _NOUN)
    loader = AgentLoader(file.parent, composition or compose_once())

    def plan() -> Make:
        document = loader.read(file)
        read = loader.file(document)
        return _plan(read) if is_app(document.data) else read.plan()

    return loader.make(plan)


def read_fields(path: Path, composition: Composition | None = None) -> dict[str, Any]:
    """The fields of the App that a file describes: an agent's file, or one with `root_agent` among its keys."""
    found = read_app(path, composition)
    if isinstance(found, App):
        return {name: getattr(found, name) for name in found.model_fields_set}
    return {"name": found.name, "root_agent": found}


def is_app(data: Mapping[str, Any]) -> bool:
    """Whether a file's data is an app's."""
    return any(key in data for key in _ROOTS)


def _plan(file: AgentFile) -> Make:
    """Check every key, then the data, then what refers to files and code."""
    data = file.document.data
    makes: dict[str, Make] = {}
    plain: dict[str, Any] = {}
    for key, value in data.items():
        field = "root_agent" if key in _ROOTS else key
        if field not in App.model_fields:
            raise file.error((key,), unknown_key(key, _NOUN, App.model_fields))
        if field == "root_agent" and len(data.keys() & set(_ROOTS)) > 1:
            raise file.error(("agent",), "'agent' means the same as 'root_agent'; keep one of them")
        if field not in READERS:
            plain[key] = value
    _check(file.document, plain)
    for key, value in data.items():
        field = "root_agent" if key in _ROOTS else key
        makes[field] = READERS[field](file, (key,), value) if field in READERS else Ready(value)

    def make() -> App:
        try:
            return App(**{field: one() for field, one in makes.items()})
        except ValidationError as error:
            raise file.document.errors(problems(error, (), App.model_fields)) from error

    return make


def _check(document: Document, plain: dict[str, Any]) -> None:
    """What an App's validation says of the data; the agent is another one's matter."""
    try:
        App(**plain, root_agent=BaseAgent(name="any"))
    except ValidationError as error:
        found = list(problems(error, (), App.model_fields))
    else:
        return
    raise document.errors(found)


def _read_root(file: AgentFile, steps: Steps, value: Any) -> Make:
    if isinstance(value, str) and not value.endswith(SUFFIXES):
        raise file.error(steps, f"{steps[0]} {value!r} is no YAML file; write `code: {value}` for an agent of the code")
    return read_agent(file, steps, value)


def _read_plugins(file: AgentFile, steps: Steps, value: Any) -> Make:
    makes = [_read_plugin(file, place, item) for place, item in items(file, steps, value)]
    return lambda: [make() for make in makes]


def _read_plugin(file: AgentFile, steps: Steps, value: Any) -> Make:
    """A plugin of `newel.plugins` by its class's name, or one of the app: an object, a class or a factory."""
    config = parsed(file, steps, value, CodeConfig)
    known = plugin_names()
    if config.name in known:
        return _instance(file, steps, config, lambda: getattr(import_module("newel.plugins"), config.name))
    if "." not in config.name:
        message = unknown_key(config.name, "plugins", known).replace("unknown key", "there is no plugin", 1)
        raise file.error(steps, f"{message}; or name one of the app's folder as module.name")
    return _instance(file, steps, config, located(file, steps, config.name))


def plugin_names() -> list[str]:
    """The classes of plugins that a file can name alone."""
    names = dir(import_module("newel.plugins"))
    return sorted(name for name in names if name.endswith("Plugin") and name != "BasePlugin")


def _instance(file: AgentFile, steps: Steps, config: CodeConfig, find: Make) -> Make:
    """What a name means where an object is wanted: a class is instantiated, also without arguments."""

    def make() -> Any:
        found = find()
        if config.args is not None or inspect.isclass(found):
            return called(file, steps, config.name, lambda: applied(found, config))
        return found

    return make


def _read_compaction(file: AgentFile, steps: Steps, value: Any) -> Make:
    if not isinstance(value, Mapping):
        raise file.error(steps, f"{steps[-1]}: a mapping is wanted, not {shown(value)}")
    config = parsed(
        file, steps, {key: item for key, item in value.items() if key != "summarizer"}, EventsCompactionConfig
    )
    if value.get("summarizer") is None:
        return Ready(config)
    make = _read_summarizer(file, (*steps, "summarizer"), value["summarizer"])
    return lambda: config.model_copy(update={"summarizer": make()})


def _read_summarizer(file: AgentFile, steps: Steps, value: Any) -> Make:
    """`LlmEventSummarizer` with `llm` as a model's address, or one of the app's code."""
    config = parsed(file, steps, value, CodeConfig)
    if config.name != LlmEventSummarizer.__name__:
        make = _instance(file, steps, config, located(file, steps, config.name))
    else:
        make = _own_summarizer(file, steps, config)

    def checked() -> BaseEventsSummarizer:
        found = make()
        if not isinstance(found, BaseEventsSummarizer):
            raise file.error(steps, f"{steps[-1]}: {type(found).__name__} is no BaseEventsSummarizer; name one")
        return found

    return checked


def _own_summarizer(file: AgentFile, steps: Steps, config: CodeConfig) -> Make:
    given = config.keywords
    if config.positional or given.keys() - {"llm", "prompt_template"} or not isinstance(given.get("llm"), str):
        raise file.error(steps, "LlmEventSummarizer has the args `llm`, a model's address, and `prompt_template`")

    def make() -> LlmEventSummarizer:
        model = called(file, steps, config.name, lambda: file.composition.model(given["llm"]))
        return LlmEventSummarizer(model, given.get("prompt_template"))

    return make


def _service(kind: str) -> Reader:
    """The reader of a store, from its URI; one of the app's code is a mapping with its name."""

    def read(file: AgentFile, steps: Steps, value: Any) -> Make:
        if isinstance(value, Mapping):
            config = parsed(file, steps, value, CodeConfig)
            return _instance(file, steps, config, located(file, steps, config.name))
        if not isinstance(value, str) or ":" not in value:
            raise file.error(steps, f"{steps[-1]}: a URI is wanted, such as memory: (or {{name: module.object}})")
        return lambda: _opened(lambda: file.composition.service(kind, value), file, steps)

    return read


def _opened(open_it: Callable[[], Any], file: AgentFile, steps: Steps) -> Any:
    try:
        return open_it()
    except (NewelError, OSError, ValueError) as error:
        raise file.error(steps, f"{steps[-1]}: {error}") from error


READERS: dict[str, Reader] = {
    "auth_provider_registry": read_code,
    "events_compaction_config": _read_compaction,
    "plugins": _read_plugins,
    "root_agent": _read_root,
    **{f"{kind}_service": _service(kind) for kind in ("session", "artifact", "memory", "credential")},
}

