"""The kind `AgentType`."""

from __future__ import annotations

from newel_compose import Loader


class AgentType(Loader):
    """An agent class that an agent file can name."""
