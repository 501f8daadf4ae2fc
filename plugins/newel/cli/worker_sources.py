"""Worker sources: the agents of a worker, by all the names under which their runs are submitted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from newel.cli.terminal import say
from newel.files.agent_places import agent_places, places_in
from newel.files.agent_source import AgentSource, load_source
from newel_compose import Composition
from newel_kernel import ConfigurationError, brief, check_tree


def worker_sources(references: Sequence[str], composition: Composition) -> dict[str, AgentSource]:
    """The agents by the names of their places, as a server has them, and by their own, as commands do.

    A reference is what `newel api_server` takes: a folder of agents, one agent, or a package of agents.
    """
    found: dict[str, AgentSource] = {}
    for reference in references:
        folder, places = agent_places(reference)
        places = places_in(folder) if folder is not None else places
        if not places:
            raise ConfigurationError(f"no agent is in the folder {reference}; each needs a folder of its own there")
        for name, place in sorted(places.items()):
            if name in found:
                raise ConfigurationError(f"two agents are named {name!r}: a run says by its name whose it is")
            found[name] = load_source(place.reference, composition)
            check_tree(found[name].agent)
    owns = Counter(source.name for source in found.values())
    for source in [*found.values()]:
        if owns[source.name] == 1:
            found.setdefault(source.name, source)
    for name in sorted(name for name, count in owns.items() if count > 1 and name not in found):
        say(
            f"warning: {owns[name]} agents call themselves {brief(name)!r}, and `newel submit` would not say which is "
            f"meant: only runs that a server submits, by the names of their folders, are taken",
            err=True,
        )
    return found
