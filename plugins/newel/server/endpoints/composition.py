"""Composition: the plugins of the server, and why each one takes part or not."""

from __future__ import annotations

from newel.server.calls import Call
from newel_kernel import Json


async def show_composition(call: Call) -> object:
    """The distribution, its plugins with their state and reason, the order of each chain."""
    composition = call.server.composition
    chains: Json = {
        chain: [{"name": one.stage.name, "plugin": one.plugin, "source": one.source, "why": one.why} for one in placed]
        for chain, placed in composition.placed.items()
    }
    provided: dict[str, list[Json]] = {}
    for kind, descriptors in composition.registry.kinds():
        for name, owned in descriptors.items():
            provided.setdefault(owned.plugin, []).append({"kind": kind.__name__, "name": name})
    plugins = [{**one._asdict(), "provides": provided.get(one.name, [])} for one in composition.plugins]
    return {"distribution": composition.distribution.name, "plugins": plugins, "chains": chains}
