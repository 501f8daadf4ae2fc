"""The plugin of the kind that stores artifacts, and of the prologue that stores input blobs."""

from __future__ import annotations

from newel.artifacts import kinds
from newel.artifacts.input_blobs import save_input_blobs
from newel_kernel import Descriptor, Kind, Prologue, hookimpl


@hookimpl
def register_kinds() -> list[Kind[Descriptor]]:
    """The stores of artifacts."""
    return [Kind(kinds.ArtifactBackend, kinds.register_artifact_backends)]


@hookimpl
def register_prologues() -> list[Prologue]:
    """The prologue `input_blobs`: the data in a message is kept as artifacts, if the RunConfig says so."""
    return [Prologue(name="input_blobs", run=save_input_blobs, follows=True)]
