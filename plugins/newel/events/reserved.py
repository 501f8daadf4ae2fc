"""Reserved names: what newel itself notes in the `custom_metadata` of events, and acts on."""

from __future__ import annotations

from newel_kernel import Json, brief

#: With what each such key begins.
_PREFIX = "newel."


def unreserved(metadata: Json | None) -> Json | None:
    """The metadata that a client gives a run; ValueError if it has a key of newel's own: each event would bear it."""
    for key in metadata or ():
        if key.startswith(_PREFIX):
            raise ValueError(f"the key {brief(key)!r} is newel's own: choose one that does not begin with {_PREFIX!r}")
    return metadata
