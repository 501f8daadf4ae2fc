"""Artifact references: which versions of a session's artifacts its events and its state speak of."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping

from newel_kernel import Session


def referred_versions(session: Session, versions: Mapping[str, Collection[int]]) -> set[tuple[str, int]]:
    """The versions that the session refers to, as names with numbers; `versions` are those there are.

    An event's `artifact_delta` names one version, and so does ``name#version`` in an address, as saved audio has it. A
    name in a text, a result or the state means the latest: it is what loading by name gives.
    """
    references: set[tuple[str, int]] = set()
    for event in session.events:
        if event.touched_actions is not None:
            references.update(event.touched_actions.artifact_delta.items())
    texts = [event.model_dump_json(by_alias=True, exclude_none=True) for event in session.events]
    text = _plain("\n".join([*texts, json.dumps(dict(session.state), ensure_ascii=False, default=str)]))
    for name, numbers in versions.items():
        # Both forms of JSON: as the models write it, and with what is not ASCII escaped.
        forms = {_plain(json.dumps(name, ensure_ascii=escaped)[1:-1]) for escaped in (False, True)}
        if numbers and any(one in text for one in forms):
            references.add((name, max(numbers)))
            references.update((name, number) for number in numbers if any(f"{one}#{number}" in text for one in forms))
    return references


def _plain(text: str) -> str:
    """JSON without its backslashes: how many there are depends on how deep it is in texts that are JSON again."""
    return text.replace("\\", "")
