"""Choices: which parts of plugins a distribution disables, and which it replaces.

``disable: [planning.response_chain]`` leaves one kind of a plugin out, ``code_execution.planning`` one item of it;
``replace: {sessions/sqlite: mine}`` names kind and item. A kind is named by its hook without ``register_``, by its
order, or by the plugin that declares it.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from newel_compose._internal.distribution import Distribution
from newel_compose._internal.manager import Manager
from newel_compose._internal.ordering import Owned, Placed
from newel_kernel import Kind, Stage, did_you_mean


def part_of(entry: str, plugins: Collection[str]) -> tuple[str, str] | None:
    """The plugin and the part of it that an entry of `disable` names; None if it names no part of a plugin."""
    heads = [name for name in plugins if entry.startswith(f"{name}.")] if entry not in plugins else []
    return (head := max(heads, key=len), entry.removeprefix(f"{head}.")) if heads else None


class Choices:
    """What a distribution disables and replaces among the items of the plugins that take part."""

    def __init__(self, distribution: Distribution, manager: Manager, sources: Mapping[str, str]) -> None:
        self._distribution = distribution
        self._manager = manager
        self._sources = sources
        #: The names of each hook's kind.
        self._names = {hook: _kind_names(manager, hook) for hook in manager.kinds}
        #: Plugin -> its parts that are disabled.
        self._disabled: dict[str, set[str]] = {}
        for plugin, part in (found for one in distribution.disable if (found := part_of(one, sources))):
            self._disabled.setdefault(plugin, set()).add(part)
        #: Plugin that the distribution disables in part, or that replaces something -> the names of what it provides.
        self._provided: dict[str, set[str]] = {one: set() for one in (*self._disabled, *distribution.replace.values())}
        for plugin, hooks in manager.hooks().items() if self._provided else ():
            if plugin in self._provided:
                self._provided[plugin].update(name for hook in hooks for name in self._names.get(hook, ()))
        #: The keys under `replace` that have replaced something.
        self._used: set[str] = set()
        #: Hook and name of an item that replaces another one -> the plugin of the latter.
        self._replaced: dict[tuple[str, str], str] = {}
        #: Plugin -> what is left out of it, each with the reason.
        self.left_out: dict[str, list[str]] = {}

    def enabled(self, hook: str, items: Iterable[tuple[str, Any]], reasons: dict[str, str]) -> list[tuple[str, Any]]:
        """The items of a kind, each with its plugin, that are not disabled; `reasons` gets the names of the others."""
        kept = []
        for plugin, item in items:
            if plugin not in self._provided:
                kept.append((plugin, item))
                continue
            texts = self._texts(hook, item.name)
            self._provided[plugin].update(texts)
            parts = self._disabled.get(plugin, set()) & {*self._names[hook], *texts}
            if not parts:
                kept.append((plugin, item))
                continue
            entry = f"{plugin}.{min(parts)}"
            reasons[item.name] = (
                f"the distribution {self._distribution.name!r} disables {entry!r} ({self._sources[plugin]})"
            )
            self._leave_out(hook, plugin, item.name, f"the distribution disables {entry!r}")
        return kept

    def chosen(self, hook: str, owned: Sequence[Owned], spine: Collection[str]) -> list[Owned]:
        """The items of a kind without those that another plugin's replace; the latter have the places of the former.

        A replacement applies in the kinds in which its plugin provides that name; other kinds may have the name, too.
        """
        if not self._distribution.replace:
            return list(owned)
        new: dict[str, Owned] = {}
        for one in owned:
            key = self._key(hook, one.item.name)
            if key is not None and self._distribution.replace[key] == one.plugin:
                new[one.item.name] = one
                self._used.add(key)
        old = {one.item.name: one for one in reversed(owned) if new.get(one.item.name, one).plugin != one.plugin}
        for one in old.values():
            self._replaced[hook, one.item.name] = one.plugin
            self._leave_out(hook, one.plugin, one.item.name, f"the plugin {new[one.item.name].plugin!r} replaces it")
        return [
            _in_place(one, old.get(one.item.name), one.item.name in spine) if new.get(one.item.name) is one else one
            for one in owned
            if new.get(one.item.name, one).plugin == one.plugin
        ]

    def explained(self, hook: str, placed: tuple[Placed, ...]) -> tuple[Placed, ...]:
        """The stages of an order; those that replace another one say so."""
        if not self._replaced:
            return placed
        olds = [self._replaced.get((hook, one.stage.name)) for one in placed]
        return tuple(
            one._replace(why=f"{one.why}, in place of that of {old!r}") if old is not None else one
            for one, old in zip(placed, olds, strict=True)
        )

    def problems(self, replacing: Collection[str]) -> Iterator[str]:
        """What is disabled or replaced and does not exist; `replacing` are the plugins that could replace something."""
        label = self._distribution.label
        for plugin, parts in self._disabled.items():
            known = self._provided[plugin]
            for part in sorted(parts - known):
                yield (
                    f"{label}: `disable` names {part!r} of the plugin {plugin!r} ({self._sources[plugin]}), which has "
                    f"no such item or kind{did_you_mean(part, known)} (there are: {', '.join(sorted(known)) or 'none'})"
                )
        kinds = sorted({name for names in self._names.values() for name in names})
        for key, plugin in self._distribution.replace.items():
            if key in self._used or plugin not in replacing:
                continue  # a plugin of a group that takes no part here cannot replace anything here
            kind, slash, _ = key.partition("/")
            if slash and kind not in kinds:
                hint = did_you_mean(kind, kinds) or f" (there are: {', '.join(kinds)})"
                yield f"{label}: `replace` names the kind {kind!r}, which no enabled plugin declares{hint}"
            else:
                hint = did_you_mean(key, self._provided.get(plugin, ()))
                yield f"{label}: `replace` takes {key!r} from {plugin!r}, a plugin that does not provide it{hint}"

    def name(self, kind: Kind[Any]) -> str:
        """The most precise name of a kind."""
        return self._names[kind.hook][0]

    def _key(self, hook: str, name: str) -> str | None:
        """The key under `replace` that names an item; one with the kind goes before one without."""
        keys = sorted(self._texts(hook, name), key=lambda text: text == name)
        return next((key for key in keys if key in self._distribution.replace), None)

    def _texts(self, hook: str, name: str) -> list[str]:
        """How an item may be named."""
        return [*(f"{kind}/{name}" for kind in self._names[hook]), name]

    def _leave_out(self, hook: str, plugin: str, name: str, why: str) -> None:
        self.left_out.setdefault(plugin, []).append(f"{self._names[hook][0]}/{name}: {why}")


def _kind_names(manager: Manager, hook: str) -> list[str]:
    """How the kind of a hook may be named, the most precise first."""
    names = [hook.removeprefix("register_"), manager.kinds[hook].order, manager.owners[hook]]
    return [name for name in dict.fromkeys(names) if name and name not in ("the kernel", "the host")]


def _in_place(new: Owned, old: Owned | None, listed: bool) -> Owned:
    """The replacement with the anchors of what it replaces, or with none if the distribution lists its place."""
    if not isinstance(new.item, Stage) or (old is None and not listed):
        return new
    item = copy.copy(new.item)  # `dataclasses.replace` would call the constructor of a plugin's own class
    for side in ("after", "before"):
        object.__setattr__(item, side, () if listed or old is None else getattr(old.item, side))
    return new._replace(item=item)
