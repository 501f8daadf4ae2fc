"""Artifact references: which versions of a session's artifacts its events and its state refer to."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping

from newel_kernel import Session


def referred_versions(session: Session, versions: Mapping[str, Collection[int]]) -> set[tuple[str, int]]:
    """The versions that the session refers to, as (name, number); `versions` are the existing ones.

    An event's `artifact_delta` names one version, and so does ``name#version`` in an address, as in saved audio. A name
    in a text, a result or the state means the latest version: loading by name gives that one.
    """
    references: set[tuple[str, int]] = set()
    for event in session.events:
        if event.touched_actions is not None:
            references.update(event.touched_actions.artifact_delta.items())
    texts = [event.model_dump_json(by_alias=True, exclude_none=True) for event in session.events]
    text = _plain("\n".join([*texts, json.dumps(dict(session.state), ensure_ascii=False, default=str)]))
    for name, numbers in versions.items():
        # Both forms of JSON: as the models write it, and with non-ASCII characters escaped.
        forms = {_plain(json.dumps(name, ensure_ascii=escaped)[1:-1]) for escaped in (False, True)}
        if numbers and any(one in text for one in forms):
            references.add((name, max(numbers)))
            references.update((name, number) for number in numbers if any(f"{one}#{number}" in text for one in forms))
    return references


def _plain(text: str) -> str:
    """JSON without its backslashes: their number depends on how often the text is quoted within other JSON."""
    return text.replace("\\", "")
