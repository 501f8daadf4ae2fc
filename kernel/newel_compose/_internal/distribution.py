"""Distributions: YAML files that say which plugins make a runtime, in which order, with which settings."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationError

from newel_compose._internal.strict_yaml import line_of, load_yaml, read_text
from newel_kernel import ConfigurationError, Json, did_you_mean
from newel_types import read_model_plugins

read_model_plugins()

#: The orders that a distribution lists under keys of their own; it lists every other one under `orders`.
CHAINS = ("request_chain", "response_chain", "result_chain", "tool_chain")


class Distribution(BaseModel):
    """A composed configuration. Chains list processors; `plugins`, `disable` and `settings` name plugins."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    extends: str | None = None
    #: Whether installed plugins that the file does not name take part.
    autoload: bool = False
    #: Whether an installed plugin that cannot take part is an error, instead of left out with a line on stderr.
    strict: bool = False
    #: The packages whose plugins are not guarded: calling their steps costs less, but errors do not name the plugin,
    #: and results are not checked.
    trust: tuple[str, ...] = ()
    #: The plugins that must load, in the order of their lifecycle hooks.
    plugins: tuple[str, ...] = ()
    request_chain: tuple[str, ...] = ()
    response_chain: tuple[str, ...] = ()
    result_chain: tuple[str, ...] = ()
    #: The policies around a tool call, outermost first.
    tool_chain: tuple[str, ...] = ()
    #: The other orders: the name -> its stages.
    orders: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    #: Plugins left out, and parts of plugins: ``plugin.item``, ``plugin.kind`` or ``plugin.kind/item``.
    disable: tuple[str, ...] = ()
    #: Name of a processor or another descriptor, or ``kind/name`` -> the plugin whose descriptor replaces it.
    replace: dict[str, str] = Field(default_factory=dict)
    #: Kind of store -> URI, as ``session: sqlite:///file.db``; '' means no store.
    services: dict[str, str] = Field(default_factory=dict)
    #: Plugin name -> its settings, validated by the plugin.
    settings: dict[str, Json] = Field(default_factory=dict)
    #: The file it came from, for messages.
    source: str = ""
    #: ``plugin.key`` of each setting -> the file that sets it.
    _origins: dict[str, str] = PrivateAttr(default_factory=dict)

    @property
    def label(self) -> str:
        """Its name in messages: its file, or `name` if it has none."""
        return self.source or self.name

    def origin(self, plugin: str, key: str) -> str:
        """The file that sets a setting; empty if none does."""
        return self._origins.get(f"{plugin}.{key}", "")

    def spine(self, order: str) -> tuple[str, ...]:
        """The stages of an order that it lists."""
        listed: tuple[str, ...] = getattr(self, order) if order in CHAINS else self.orders.get(order, ())
        return listed


def plugins_of(distribution: Distribution) -> set[str]:
    """The plugins that a distribution names and does not disable."""
    return {*distribution.plugins, *distribution.settings, *distribution.replace.values()} - {*distribution.disable}


def read_distribution(name_or_path: str | Path, folders: Mapping[str, Path]) -> Distribution:
    """A distribution by name (``adk``) or file, with everything it extends merged in.

    `folders` maps the known names to their files.
    """
    chain: list[Distribution] = []
    seen: list[str] = []
    name: str | None = str(name_or_path)
    base: Path | None = None
    while name is not None:
        if name in seen:
            raise ConfigurationError(f"distributions extend each other in a cycle: {' -> '.join([*seen, name])}")
        seen.append(name)
        path = _find(name, folders, base)
        chain.append(_parse(path))
        base, name = path.parent, chain[-1].extends
    merged = chain.pop()
    while chain:
        merged = _merge(merged, chain.pop())
    return merged


def _find(name: str, folders: Mapping[str, Path], base: Path | None) -> Path:
    if name in folders:
        return folders[name]
    path = Path(name) if base is None or Path(name).is_absolute() else base / name
    if path.suffix in (".yaml", ".yml") and path.is_file():
        return path
    raise ConfigurationError(
        f"unknown distribution {name!r}{did_you_mean(name, folders)} "
        f"(known: {', '.join(sorted(folders))}; or give a YAML file)"
    )


def _parse(path: Path) -> Distribution:
    text = read_text(path)
    data = load_yaml(text, str(path))
    if not isinstance(data, dict):
        raise ConfigurationError(f"{path}:1: a distribution is a mapping, not {type(data).__name__}")
    try:
        distribution = Distribution.model_validate({"name": path.stem, **data, "source": str(path)})
    except ValidationError as error:
        raise ConfigurationError(describe(error, text, str(path), Distribution.model_fields)) from None
    distribution._origins.update(
        {f"{plugin}.{key}": str(path) for plugin, values in distribution.settings.items() for key in values}
    )
    if both := [name for name in distribution.plugins if name in distribution.disable]:
        where = f"{path}:{line_of(text, 'disable')}"
        raise ConfigurationError(
            f"{where}: {both[0]!r} is listed under `plugins` and under `disable`; take it out of one of them"
        )
    return distribution


def describe(error: ValidationError, text: str, source: str, keys: Collection[str]) -> str:
    """The problems of a validation as one line each: ``file:line: key: what is wrong``."""
    lines = []
    for problem in error.errors(include_url=False, include_context=False):
        key = next((str(step) for step in problem["loc"] if isinstance(step, str)), "")
        where = ".".join(str(step) for step in problem["loc"])
        if problem["type"] == "extra_forbidden":
            key = str(problem["loc"][-1])
            message = f"unknown key {key!r}{did_you_mean(key, keys)}"
        else:
            message = f"{where}: {_complaint(problem)}"
        lines.append(f"{source}:{line_of(text, key)}: {message}")
    return "\n".join(lines)


#: Type of a validation problem -> the expected value, in words.
_EXPECTED = {"tuple_type": "a list", "list_type": "a list", "dict_type": "a mapping", "string_type": "a string"}


def _complaint(problem: Mapping[str, Any]) -> str:
    """What is wrong with a value, in the words of YAML."""
    expected, value = _EXPECTED.get(problem["type"]), problem["input"]
    if expected is None:
        return str(problem["msg"]).removeprefix("Value error, ")
    kinds = {"str": "a string", "list": "a list", "dict": "a mapping", "NoneType": "nothing"}
    kind = kinds.get(type(value).__name__, type(value).__name__)
    hint = f"; write [{value}]" if expected == "a list" and isinstance(value, str) else ""
    hint = hint or ("; remove the line or give it a value" if value is None else "")
    return f"expected {expected}, not {kind}{hint}"


def _merge(base: Distribution, child: Distribution) -> Distribution:
    """`child` over `base`: chains and scalars replace, lists of plugins and mappings are merged.

    A plugin that `child` names takes part, even if `base` disables it; one that `child` disables does not, even if
    `base` names it. What `child` only configures cannot be off because `base` disables it: that is an error.
    """
    fields = child.model_fields_set
    configured = plugins_of(child) - {*child.plugins}
    if idle := sorted(configured.intersection(base.disable)):
        raise ConfigurationError(
            f"{child.label}: configures the plugin {idle[0]!r}, which {base.label} disables; list it under `plugins`, "
            f"or take its entry out"
        )
    update: dict[str, object] = {name: getattr(child, name) for name in fields if name != "extends"}
    update["plugins"] = tuple(dict.fromkeys((*base.plugins, *child.plugins)))
    disabled = [name for name in base.disable if name not in child.plugins]
    update["disable"] = tuple(dict.fromkeys((*disabled, *child.disable)))
    for name in ("orders", "replace", "services"):
        update[name] = {**getattr(base, name), **getattr(child, name)}
    plugins = dict.fromkeys((*base.settings, *child.settings))
    update["settings"] = {name: {**base.settings.get(name, {}), **child.settings.get(name, {})} for name in plugins}
    update["extends"] = child.extends
    merged = base.model_copy(update=update)
    merged._origins = {**base._origins, **child._origins}
    return merged
