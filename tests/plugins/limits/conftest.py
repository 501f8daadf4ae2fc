"""The session stores that keep limits are those that keep budgets."""

from __future__ import annotations

from tests.plugins.budgets.conftest import Make as Make
from tests.plugins.budgets.conftest import make_sessions as make_sessions
