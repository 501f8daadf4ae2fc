"""Versions: which worker fits a run, by the app's version and the lock of its distribution."""

from __future__ import annotations

import json
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from newel.engines.places import AppRunner
from newel.engines.settings import Settings
from newel.engines.spec import InvocationSpec, queue_name
from newel_compose import LOCK_FILE


class Version(NamedTuple):
    """What a worker has of an app: its version, and the digest of the lock file here, empty if there is none."""

    version: str
    lock: str

    def queue(self, app_name: str) -> str:
        """The queue of the runs that fit."""
        return queue_name(app_name, self.version, self.lock)

    def misfit(self, spec: InvocationSpec) -> str | None:
        """Why a run does not fit; None: it does."""
        if spec.version != self.version:
            return f"it needs version {spec.version or '(none)'!r} of the app; this worker has {self.version!r}"
        if spec.lock != self.lock:
            return "its plugins are locked to others than this worker has"
        return None


def version_of(runner: AppRunner) -> Version:
    """What this process has of the runner's app."""
    return Version(runner.composition.settings_of("engines", Settings).version, _lock_here(str(Path.cwd())))


@cache
def _lock_here(folder: str) -> str:
    """The digest of the lock that binds a composition in the folder: composing has compared the two."""
    try:
        lock = json.loads((Path(folder) / LOCK_FILE).read_bytes())
    except FileNotFoundError:
        return ""
    return sha256(json.dumps(lock, sort_keys=True).encode()).hexdigest()
