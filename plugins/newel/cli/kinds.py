"""The kind `Command`."""

from __future__ import annotations

from dataclasses import dataclass

from newel_compose import Loader


@dataclass(frozen=True, slots=True, kw_only=True)
class Command(Loader):
    """A click command of the command line."""

    help: str = ""
