"""A conversation over a fresh composition."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from newel.testing import Conversation


@pytest.fixture
def talk() -> Callable[..., Conversation]:
    """Starts a conversation: ``talk(agent, plugins=[...]).say("tea")``."""
    return partial(Conversation, distribution="adk", app_name="tearoom", user_id="ada", session_id="s1")
