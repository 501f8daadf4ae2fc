"""Composition: the plugins of the server, and why each one takes part or not."""

from __future__ import annotations

from pydantic import BaseModel

from newel.server.calls import Call, endpoint
from newel_compose import Composition


class ProvidedAnswer(BaseModel):
    """What a plugin provides."""

    kind: str
    name: str


class PluginAnswer(BaseModel):
    """A plugin, its state and the reason."""

    name: str
    distribution: str
    version: str
    state: str
    why: str
    provides: list[ProvidedAnswer]


class StageAnswer(BaseModel):
    """A place in a chain: what stands there, from whom, and what placed it."""

    name: str
    plugin: str
    source: str
    why: str


class CompositionAnswer(BaseModel):
    """What the server is made of."""

    distribution: str
    plugins: list[PluginAnswer]
    chains: dict[str, list[StageAnswer]]


@endpoint(answer=CompositionAnswer)
async def show_composition(call: Call) -> object:
    """The distribution, its plugins with their state and reason, the order of each chain."""
    composition = call.server.composition
    provided = _provided(composition)
    return CompositionAnswer(
        distribution=composition.distribution.name,
        plugins=[
            PluginAnswer(
                name=one.name,
                distribution=one.distribution,
                version=one.version,
                state=one.state,
                why=one.why,
                provides=provided.get(one.name, []),
            )
            for one in composition.plugins
        ],
        chains={
            chain: [
                StageAnswer(name=one.stage.name, plugin=one.plugin, source=one.source, why=one.why) for one in placed
            ]
            for chain, placed in composition.placed.items()
        },
    )


def _provided(composition: Composition) -> dict[str, list[ProvidedAnswer]]:
    """What each plugin provides."""
    found: dict[str, list[ProvidedAnswer]] = {}
    for kind, descriptors in composition.registry.kinds():
        for name, owned in descriptors.items():
            found.setdefault(owned.plugin, []).append(ProvidedAnswer(kind=kind.__name__, name=name))
    return found
