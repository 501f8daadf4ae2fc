"""A session copied with the artifacts that its events refer to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from newel.artifacts.contract import ArtifactStore
from newel.artifacts.stored_part import withdrawn
from newel.sessions.artifact_references import referred_versions
from newel.sessions.contract import SessionStore
from newel_kernel import ConfigurationError, Event, Json, Session, SessionNotFoundError, brief


async def fork_session(
    store: object,
    artifacts: object,
    *,
    app_name: str,
    user_id: str,
    session_id: str,
    new_session_id: str | None = None,
    events: int | None = None,
) -> Session:
    """A new session with the first `events` events of one (all if None); see `SessionStore.fork`.

    It gets copies of the artifact versions that these events and its state refer to, under the same numbers, so that
    either session can be deleted without the other. If copying fails there is no fork. Artifacts in a store of a
    foreign kind are not copied.
    """
    if not isinstance(store, SessionStore):
        raise ConfigurationError(f"{type(store).__name__} cannot fork sessions: it is not a SessionStore")
    where: Json = {"app_name": app_name, "user_id": user_id}
    source = await store.get_session(**where, session_id=session_id)
    if source is None:
        raise SessionNotFoundError(f"the session {brief(session_id)!r} does not exist")
    fork = await store.fork(**where, session_id=session_id, new_session_id=new_session_id, events=events)
    if isinstance(artifacts, ArtifactStore):
        try:
            await _copy(artifacts, source, fork)
        except BaseException:
            await store.delete_session(**where, session_id=fork.id)
            raise
    return fork


async def _copy(store: ArtifactStore, source: Session, fork: Session) -> None:
    """Copy the versions that the fork refers to; if that fails, none of them is left."""
    old: Json = {"app_name": source.app_name, "user_id": source.user_id, "session_id": source.id}
    new: Json = {**old, "session_id": fork.id}
    mine = {name for name in await store.list_artifact_keys(**new) if not name.startswith("user:")}
    if mine:
        raise ConfigurationError(
            f"there are artifacts of an earlier session {brief(fork.id)!r} ({', '.join(sorted(mine))[:200]}): give the "
            f"fork another id, or remove them with `newel artifacts gc`"
        )
    names = [name for name in await store.list_artifact_keys(**old) if not name.startswith("user:")]
    versions = {name: await store.list_versions(**old, filename=name) for name in names}
    versions = _until(versions, source.events[len(fork.events) :])
    references: dict[str, set[int]] = defaultdict(set)
    for name, number in referred_versions(fork, versions):
        if number in versions.get(name, ()):
            references[name].add(number)
    try:
        for name, numbers in sorted(references.items()):
            await _copy_versions(store, {**old, "filename": name}, {**new, "filename": name}, numbers)
    except BaseException:
        await store.delete_session(**new)
        raise


def _until(versions: Mapping[str, Sequence[int]], later: Sequence[Event]) -> dict[str, list[int]]:
    """The versions that existed before the events that the fork does not have."""
    first: dict[str, int] = {}
    for event in later:
        if event.touched_actions is not None:
            for name, number in event.touched_actions.artifact_delta.items():
                first.setdefault(name, number)
    return {name: [n for n in numbers if n < first.get(name, n + 1)] for name, numbers in versions.items()}


async def _copy_versions(store: ArtifactStore, old: Json, new: Json, numbers: Collection[int]) -> None:
    """Copy versions of an artifact under their numbers. Stores number in order, so empty ones fill the gaps first."""
    fillers = []
    for number in range(max(numbers) + 1):
        part, metadata = withdrawn(), None
        if number in numbers:
            part = await store.load_artifact(**old, version=number) or part  # else withdrawn, as in the source
            entry = await store.get_artifact_version(**old, version=number)
            metadata = entry.custom_metadata if entry is not None else None
        else:
            fillers.append(number)
        await store.save_artifact(**new, artifact=part, custom_metadata=metadata)
    for number in fillers:
        await store.delete_version(**new, version=number)
